"""What is affine in the decision variables: sums of (index expression) x (variable), and the constraints made of them.

An `Affine` array is stored as triplets: entry e says that row `rows[e]` of the flattened array holds `coefficient[e]`
times element `columns[e]` of a variable. Every operation that stays linear only moves or multiplies triplets. The
numbers of the constant part are kept in the same way, so that nothing is added up before all terms are there.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import count
from math import prod
from typing import TYPE_CHECKING, Any, Generic, NoReturn, TypeAlias, overload

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy import sparse

from ..errors import ModelError, NotAffineError, UsageError
from ..html import card, table
from ..legible import legibly, printable
from ..validation import Array, Data, is_sparse, kept, numbers, shape_of, shown, title
from .addends import numbers_in, without_numbers
from .arrangements import Gather, Join, Linear, Sum, full
from .enclosed import Enclosed
from .graph import Condition, Constant, Expression, Index, as_expression
from .habits import VARIABLE, pointer
from .interval import NORMAL
from .operands import Ints
from .operations import Add
from .operators import RULES, Operators, Statement, operand
from .parameter import Parameter, parameters_in
from .printing import Item, latex, text
from .substitution import substituted
from .sums import DoubleDouble, Scattered, together, totals
from .tape import constant_value
from .triplets import moved

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    Value = TypeVar("Value", covariant=True, default=Any)  # of a variable: an array, or a number
else:
    from typing import TypeVar

    Value = TypeVar("Value", covariant=True)

STRUCTURED: dict[str, Callable[..., Any]] = {}  # what makes a variable that is "symmetric" or "complex"
Place: TypeAlias = tuple[int, bytes, bytes]  # of a term: the identity of the variable, rows and columns


@dataclass(frozen=True, eq=False)
class Term:
    """Triplets in one variable."""

    variable: Variable
    rows: Ints
    columns: Ints
    coefficient: Expression  # flat, one element an entry

    rest: Array | None = None  # what rounding left of coefficients that are numbers

    @property
    def numbers(self) -> DoubleDouble | None:
        """The coefficients, if they are numbers."""
        e = self.coefficient
        return DoubleDouble(e.value, self.rest) if isinstance(e, Constant) and not e.rounded else None

    @property
    def place(self) -> Place:
        """Terms with the same one differ in their coefficients only."""
        return id(self.variable), self.rows.tobytes(), self.columns.tobytes()

    def scaled(self, factor: Expression) -> Term:
        """Times `factor`, which has one element a row."""
        known = self.numbers
        if isinstance(factor, Constant) and not factor.rounded and known is not None:
            return self._having(_within(known, factor.value.ravel()[self.rows], "multiply"))
        per_entry = Gather(factor, self.rows)
        if known is None:
            return replace(self, coefficient=as_expression(per_entry * self.coefficient))
        if known.rest is None and (known.value == 1.0).all():
            return replace(self, coefficient=per_entry)
        return replace(self, coefficient=as_expression(per_entry * enclosed(known)), rest=None)

    def divided(self, divisor: Array) -> Term:
        """Divided by numbers, one a row; 49 x / 49 is x."""
        known = self.numbers
        if known is not None:
            return self._having(_within(known, divisor[self.rows], "divide"))
        return replace(self, coefficient=as_expression(self.coefficient / divisor[self.rows]))

    def _having(self, numbers: DoubleDouble) -> Term:
        return replace(self, coefficient=Constant(numbers.value), rest=numbers.rest)


Parts: TypeAlias = tuple[tuple["Term", ...], Expression | None, tuple[Scattered, ...]]  # terms, varying, constants


class Affine(Operators["Affine | Expression", "Affine", "Constraint"]):
    """An array that is affine in the variables, with index expressions as coefficients."""

    def __init__(
        self,
        shape: tuple[int, ...],
        terms: tuple[Term, ...],
        offset: Expression | None = None,
        constants: tuple[Scattered, ...] = (),
        addends: tuple[Affine, ...] = (),
    ) -> None:
        """An array of terms, an offset and constants; or the sum of `addends`, all of which have this shape.

        Those are not added up before the sum is asked for its parts, so that a loop of sums is one sum.
        """
        self.shape, self._addends = shape, addends
        if isinstance(offset, Constant) and not offset.rounded:
            constants, offset = (*constants, Scattered.of(np.broadcast_to(offset.value, shape))), None
        varying = None if offset is None else full(offset, shape)
        parts = terms, varying, tuple(c for c in constants if c.rows.size)
        self._known: Parts | None = None if addends else parts
        self.origin: tuple[Any, ...] = ()

    if TYPE_CHECKING:

        def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[AffineElement]: ...

    @property
    def _parts(self) -> Parts:
        if self._known is None:
            parts = _addends(self)
            varying = [p.varying for p in parts if p.varying is not None]
            terms, constants = _united(t for p in parts for t in p.terms), tuple(c for p in parts for c in p.constants)
            object.__setattr__(self, "_known", (terms, _added(varying, self.shape) if varying else None, constants))
            object.__setattr__(self, "_addends", ())  # they have served, and are not kept
        known: Parts = self._known  # type: ignore[assignment]
        return known

    @property
    def terms(self) -> tuple[Term, ...]:
        """The variables in it, with what is in front of them."""
        return self._parts[0]

    @property
    def varying(self) -> Expression | None:
        """What depends on an index or a parameter, and on no variable."""
        return self._parts[1]

    @property
    def constants(self) -> tuple[Scattered, ...]:
        """The numbers."""
        return self._parts[2]

    @cached_property
    def width(self) -> int:
        """How many coefficients a row has at most."""
        rows = np.concatenate([np.zeros(0, dtype=np.intp), *(t.rows for t in self.terms)])
        return int(np.bincount(rows).max(initial=0))

    @cached_property
    def offset(self) -> Expression:
        """All that no variable is in: the numbers, added up, and what depends on the index."""
        beside, several = ([], False) if self.varying is None else numbers_in(self.varying)
        rows = np.concatenate([c.rows for c in (*self.constants, *beside)]) if beside else np.zeros(0, dtype=np.intp)
        if several or np.bincount(rows).max(initial=0) > 1:  # else there is nothing to add up
            constants = (*self.constants, *beside)
            return Affine(self.shape, (), without_numbers(self.varying), constants).offset  # type: ignore[arg-type]
        known = enclosed(self._number())
        if self.varying is None:
            return known
        return self.varying if not self.constants else Add(self.varying, known, self.shape)

    def _number(self) -> DoubleDouble:
        """The sum of the numbers in every element, rounded once, and what that left."""
        value = np.zeros(self.size)
        if not self.constants:
            return DoubleDouble(value.reshape(self.shape))
        found = totals(np.concatenate([c.rows for c in self.constants]), together([c.numbers for c in self.constants]))
        given = any(np.isinf(c.numbers.value).any() for c in self.constants)
        if not given and not np.isfinite(found.value).all():
            raise ModelError(
                "The numbers beside the variables, on both sides of a constraint or in an objective, add up to more "
                "than any double. Measure in larger units, or leave out a constraint that always holds."
            )
        value[found.places] = found.value
        if not found.rest.any():
            return DoubleDouble(value.reshape(self.shape))
        rest = np.zeros(self.size)
        rest[found.places] = found.rest
        return DoubleDouble(value.reshape(self.shape), rest.reshape(self.shape))

    @staticmethod
    def of(value: object) -> Affine:
        """An affine array as it is; an index expression or numbers as one without variables."""
        found = operand(value)
        if isinstance(found, Affine):
            return found
        e = as_expression(found)
        result = Affine(e.shape, (), e)
        result.origin = e.origin
        return result

    def gather(self, index: Ints | np.intp) -> Affine:
        """Rows in any arrangement: `index` holds positions in the flattened array, and its shape is the new one."""
        index = np.asarray(index, dtype=np.intp)
        flat = index.ravel()
        terms = []
        for term in self.terms:
            rows, entries = moved(term.rows, self.size, flat)
            if rows.size:
                rest = None if term.rest is None else term.rest[entries]
                terms.append(Term(term.variable, rows, term.columns[entries], _take(term.coefficient, entries), rest))
        constants = []
        for part in self.constants:
            rows, entries = moved(part.rows, self.size, flat)
            constants.append(Scattered(rows, part.numbers.at(entries)))
        varying = None if self.varying is None else _take(self.varying, index)
        return Affine(index.shape, tuple(terms), varying, tuple(constants))

    def sum_last(self) -> Affine:
        """The sum over the last axis."""
        k = self.shape[-1]
        terms = tuple(replace(t, rows=t.rows // k) for t in self.terms)
        varying = None if self.varying is None else as_expression(self.varying.sum(axis=-1))
        return Affine(self.shape[:-1], terms, varying, tuple(c.moved(c.rows // k) for c in self.constants))

    @property
    def offset_matters(self) -> bool:
        return not (isinstance(self.offset, Constant) and not self.offset.value.any())

    @staticmethod
    def join(parts: list[Affine]) -> Affine:
        """The flattened parts, one after another."""
        starts = np.cumsum([0] + [p.size for p in parts])
        placed = list(zip(parts, starts.tolist(), strict=False))
        terms = tuple(replace(t, rows=t.rows + start) for part, start in placed for t in part.terms)
        constants = tuple(c.moved(c.rows + start) for part, start in placed for c in part.constants)
        varying = (
            Join(tuple(Constant(np.zeros(p.shape)) if p.varying is None else p.varying for p in parts))
            if any(p.varying is not None for p in parts)
            else None
        )
        return Affine((int(starts[-1]),), terms, varying, constants)

    def substituted(self, instead: Mapping[Expression, Expression]) -> Affine:
        """With other formulas in the places of some."""
        terms = tuple(replace(t, coefficient=substituted(t.coefficient, instead)) for t in self.terms)
        varying = None if self.varying is None else substituted(self.varying, instead)
        return Affine(self.shape, terms, varying, self.constants)

    def broadcast(self, shape: tuple[int, ...]) -> Affine:
        if self.shape == shape:
            return self
        return self.gather(np.broadcast_to(np.arange(self.size).reshape(self.shape), shape))

    def indices(self) -> tuple[Index, ...]:
        """The indices on which the coefficients depend."""
        found: dict[Index, None] = dict.fromkeys(self.varying.indices() if self.varying is not None else ())
        for term in self.terms:
            found.update(dict.fromkeys(term.coefficient.indices()))
        return tuple(found)

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """The parameters in it."""
        varying = () if self.varying is None else (self.varying,)
        return parameters_in(*varying, *(term.coefficient for term in self.terms))

    def __getstate__(self) -> dict[str, Any]:
        _ = self.terms  # added up
        return {name: value for name, value in vars(self).items() if name not in ("offset", "parameters")}

    @cached_property
    def uncertain(self) -> bool:
        """Whether some number in it is known by an enclosure only."""
        formulas = [t.coefficient for t in self.terms if t.numbers is None]
        if self.varying is not None:
            formulas.append(self.varying)
        return any(isinstance(node, Enclosed) for e in formulas for node in e.nodes())

    @legibly
    def __str__(self) -> str:
        return text(self)

    __repr__ = __str__

    def _repr_latex_(self) -> str:
        return f"${latex(self)}$"


if TYPE_CHECKING:

    class AffineElement(Affine, np.generic):  # type: ignore[misc]
        """What NumPy's annotations take for an element, so that c @ x is left to our operators, np.sum(x) is one."""


Read: TypeAlias = Affine | Expression | Array  # an operand that has been read: an expression, or numbers
_NUMBER = count()


class Variable(Affine, Generic[Value]):
    """A decision variable: a scalar, or an array of the given shape.

    Parameters
    ----------
    shape
        Nothing or () for a scalar, n for a vector, a tuple for an array.
    name
        How it prints.
    lower, upper
        Bounds, numbers or arrays of that shape, or formulas of parameters; free by default. They can be assigned later,
        between two solves.
    integer
        Whether its values are whole numbers.
    boolean
        Whether they are 0 or 1; bounds may leave only one of the two.
    symmetric
        Whether it is a symmetric matrix: one triangle of it is decided.
    complex
        Whether its values are complex: `real` and `imag` are two variables of the problem.

    After `Problem.solve`, `value` holds its optimal value.

    Examples
    --------
    >>> import lsip
    >>> x = lsip.Variable(3, name="x", lower=0)
    >>> print(x[0] + 2 * x[1])
    x[0] + 2 x[1]
    """

    _value: Value | None
    hint = "Assign its bounds `lower` and `upper`, or write constraints such as x >= 0."
    hidden = False  # whether it stands for a part of the model, and is not shown

    def __new__(cls, *args: object, **options: object) -> Any:
        structure = [word for word in STRUCTURED if options.get(word) is True] if cls is Variable else []
        if not structure:
            return super().__new__(cls)
        if len(structure) > 1:
            raise ModelError("A variable is symmetric or complex, not both: give X.real and X.imag a structure each.")
        return STRUCTURED[structure[0]](*args, **{k: v for k, v in options.items() if k not in STRUCTURED})

    @overload
    def __init__(
        self: Variable[float],
        shape: tuple[()] = (),
        *,
        name: str | None = None,
        lower: Data | Expression = ...,
        upper: Data | Expression = ...,
        integer: bool = False,
        boolean: bool = False,
    ) -> None: ...

    @overload
    def __init__(
        self: Variable[Array],
        shape: int | tuple[int, ...],
        *,
        name: str | None = None,
        lower: Data | Expression = ...,
        upper: Data | Expression = ...,
        integer: bool = False,
        boolean: bool = False,
    ) -> None: ...

    def __init__(
        self,
        shape: int | tuple[int, ...] = (),
        *,
        name: str | None = None,
        lower: Data | Expression = -np.inf,
        upper: Data | Expression = np.inf,
        integer: bool = False,
        boolean: bool = False,
        symmetric: bool = False,
        complex: bool = False,  # noqa: A002
        **unknown: object,
    ) -> None:
        for word in unknown:
            raise UsageError(f"lsip.Variable has no argument `{word}`.{pointer(VARIABLE, word)}")
        for word, value in (("symmetric", symmetric), ("complex", complex)):
            if value is not False:
                raise ModelError(f"`{word}` is True or False; got {shown(value)}.")
        self.shape = shape_of(shape, "A variable")
        if name is not None:
            title("a variable", name)
        for word, value in (("integer", integer), ("boolean", boolean)):
            if not isinstance(value, bool | np.bool_):
                raise ModelError(f"`{word}` is True or False, for all elements of a variable; got {shown(value)}.")
        self.boolean, self.integer = bool(boolean), bool(integer or boolean)
        self.number = next(_NUMBER)
        self.name = name if name is not None else f"x{self.number}"
        self._lower, self._upper = self._ends(lower, upper)
        self._value = None
        self._complete()

    def _complete(self) -> None:
        """Make it the sum of its own elements."""
        everything = np.arange(self.size)
        super().__init__(self.shape, (Term(self, everything, everything, Constant(np.ones(self.size))),))
        self.origin = ("name", self.name)

    def __getstate__(self) -> dict[str, Any]:
        derived = {"_known", "_addends", "origin", "offset", "parameters"}
        return {name: value for name, value in vars(self).items() if name not in derived}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Variables that are made from now on come after it, in problems and in the names that they are given."""
        global _NUMBER
        _NUMBER = count(max(next(_NUMBER), state["number"] + 1))
        ends = {name: state[name] for name in ("_lower", "_upper")}
        fixed = {name: end if isinstance(end, Expression) else kept(end) for name, end in ends.items()}
        vars(self).update({**state, **fixed})
        self._complete()

    @property
    def lower(self) -> Array:
        """Lower bounds, flat; assign a number, an array of its shape, or a formula of parameters."""
        return self._now()[0]

    @lower.setter
    def lower(self, value: Data | Expression) -> None:
        object.__setattr__(self, "_lower", self._ends(value, self._shaped(self._upper))[0])

    @property
    def upper(self) -> Array:
        """Upper bounds, flat; assign a number, an array of its shape, or a formula of parameters."""
        return self._now()[1]

    @upper.setter
    def upper(self, value: Data | Expression) -> None:
        object.__setattr__(self, "_upper", self._ends(self._shaped(self._lower), value)[1])

    @property
    def bounds(self) -> tuple[Array | Expression, Array | Expression]:
        """Lower and upper ones as they were given: numbers, flat, or formulas of parameters."""
        return self._lower, self._upper

    def _shaped(self, end: Array | Expression) -> Array | Expression:
        return end if isinstance(end, Expression) else end.reshape(self.shape)

    def _now(self) -> tuple[Array, Array]:
        """What the bounds are for the values that parameters have."""
        ends = self._lower, self._upper
        if not any(isinstance(end, Expression) for end in ends):
            return ends  # type: ignore[return-value]
        found = (constant_value(e) if isinstance(e, Expression) else e.reshape(self.shape) for e in ends)
        low, high = found
        return self._bounds(low, high)  # type: ignore[arg-type]

    def _ends(self, *ends: Data | Expression) -> tuple[Array | Expression, ...]:
        """Bounds as they are kept; those with parameters are known when these have values."""
        formulas = [self._formula(end, label) for end, label in zip(ends, ("lower", "upper"), strict=True)]
        none = (-np.inf, np.inf)
        known = (e if f is None else nothing for e, f, nothing in zip(ends, formulas, none, strict=True))
        fixed = self._bounds(*known)  # type: ignore[arg-type]
        return tuple(e if f is None else f for e, f in zip(fixed, formulas, strict=True))

    def _formula(self, end: Data | Expression, label: str) -> Expression | None:
        """A bound as a formula of parameters; None where it is numbers."""
        if isinstance(end, Affine):
            raise ModelError(
                f"`{label}` of {self.name} is a bound, without variables; write {text(end)} as a constraint."
            )
        if not isinstance(end, Expression):
            return None
        if end.indices():
            raise ModelError(
                f"`{label}` of {self.name} depends on the index {end.indices()[0].name}; write it as a constraint, "
                "with forall."
            )
        try:
            np.broadcast_to(np.empty(end.shape), self.shape)
        except ValueError:
            raise ModelError(f"`{label}` of {self.name} must broadcast to {self.shape}; got {end.shape}.") from None
        return end

    def __setattr__(self, name: str, value: object) -> None:
        if name in ("lower", "upper"):
            object.__setattr__(self, name, value)
        else:
            super().__setattr__(name, value)

    def _repr_html_(self) -> str:
        if any(isinstance(end, Expression) for end in self.bounds):
            bounds = [" to ".join(map(text, self.bounds))]
        else:
            bounds = [f"{a:.6g} to {b:.6g}" for a, b in zip(self.lower.tolist(), self.upper.tolist(), strict=True)]
        facts = [("shape", self.shape), ("bounds", bounds[0] if len(set(bounds)) == 1 else ", ".join(bounds[:6]))]
        value: Any = self._value
        facts += [("value", text(value))] if value is not None else []
        return card(f"variable {self.name}", "", table((), facts))

    @property
    def value(self) -> Value | None:
        """What the last solution of a problem has for it, in its shape; None without one."""
        return self._value

    def element(self, i: int) -> str:
        """What an element, counted flat, is called."""
        return self.name + (f"[{', '.join(map(str, np.unravel_index(i, self.shape)))}]" if self.shape else "")

    def found(self, value: Array | float | None) -> None:
        """Take what a solution has for it; `Problem.solve` says so."""
        object.__setattr__(self, "_value", value)

    def _bounds(self, lower: Data, upper: Data) -> tuple[Array, Array]:
        low, high = self._bound(lower, "lower"), self._bound(upper, "upper")
        if (low == np.inf).any() or (high == -np.inf).any():
            raise ModelError(f"{self.name}: no number is as large as the lower bound or as small as the upper bound.")
        if (low > high).any():
            i = int(np.argmax(low > high))
            raise ModelError(f"{self.name}: lower bound {low[i]} exceeds upper bound {high[i]} at element {i}.")
        if self.boolean:
            low, high = kept(np.maximum(low, 0.0)), kept(np.minimum(high, 1.0))
        empty = np.ceil(low) > np.floor(high)
        if self.integer and empty.any():
            i, none = int(np.argmax(empty)), "neither 0 nor 1" if self.boolean else "no whole number"
            raise ModelError(f"{self.name}: {none} lies between the bounds of element {i}, {low[i]:g} and {high[i]:g}.")
        return low, high

    def gather(self, index: Ints | np.intp) -> Affine:
        """Elements in any arrangement, in a time that does not depend on how many others there are."""
        columns = np.asarray(index, dtype=np.intp)
        ones = Constant(np.ones(columns.size))
        return Affine(
            columns.shape, (Term(self, np.arange(columns.size), columns.ravel(), ones),) if columns.size else ()
        )

    def _bound(self, value: Data, label: str) -> Array:
        given = numbers(value, f"`{label}` of {self.name}", nan=True)
        try:
            bound = np.broadcast_to(given, self.shape).ravel()
        except ValueError:
            raise ModelError(f"`{label}` of {self.name} must broadcast to {self.shape}; got {given.shape}.") from None
        if np.isnan(bound).any():
            raise ModelError(f"`{label}` of {self.name} holds nan; use -inf or inf for no bound.")
        return kept(bound)


@dataclass(frozen=True, eq=False)
class Constraint(Statement):
    """body <= 0 or body == 0, element by element.

    Examples
    --------
    >>> import lsip
    >>> x = lsip.Variable(2, name="x")
    >>> cap = (x.sum() <= 3).named("cap")
    >>> print(cap)
    cap: Σ x ≤ 3
    >>> print(cap.violation({x: [1, 4]}))
    2.0
    """

    body: Affine
    equality: bool
    origin: tuple[Any, ...]
    name: str | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        return self.body.shape

    @property
    def indices(self) -> tuple[Index, ...]:
        """The indices that it depends on."""
        return self.body.indices()

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The parameters in it."""
        return self.body.parameters

    @property
    def directions(self) -> tuple[Index, ...]:
        """Further indices, for all of which the body is <= 0, that nobody sees."""
        return ()

    @property
    def constraint(self) -> Constraint:
        """Itself: what holds for all values of its indices."""
        return self

    def shared(self, multipliers: Array) -> Array:
        """Multipliers of its rows as those of its elements, flat."""
        return multipliers

    def named(self, name: str) -> Constraint:
        """The same constraint with a name, by which tables, plots, reports and messages call it."""
        return replace(self, name=title("a constraint", name))

    def violation(self, values: Mapping[Any, Any] | None = None) -> Array | float:
        """By how much it is broken, in its shape, at values of its variables, by default those of the last solution."""
        found = self.body.at(values)
        return np.abs(found) if self.equality else np.maximum(found, 0.0)

    @cached_property
    def label(self) -> str:
        """Its name, or its formula."""
        return text(self) if self.name is None else self.name

    def advice(self) -> str:
        return (
            f"The constraint {text(self)} cannot be used as a bool or a number; pass it to forall or Problem. Write "
            "`0 <= e` and `e <= 1` instead of `0 <= e <= 1`. Constraints do not work in `if`, `and`, max or sum. To "
            "compare an np.array of expressions, use np.stack([…]); with pandas or xarray, write x @ df.T <= b."
        )

    def __array_function__(
        self,
        func: Callable[..., Any],
        types: Collection[type],
        args: tuple[object, ...],
        kwargs: Mapping[str, object],
    ) -> NoReturn:
        raise NotAffineError(f"np.{func.__name__} cannot depend on {text(self)}, which holds decision variables.")

    @legibly
    def __str__(self) -> str:
        return text(self) if self.name is None else f"{printable(self.name)}: {text(self)}"

    __repr__ = __str__

    def _repr_latex_(self) -> str:
        return f"${latex(self)}$"


def enclosed(numbers: DoubleDouble) -> Expression:
    """Numbers as an expression, whose enclosures hold what rounding left of them too."""
    value = Constant(numbers.value)
    if numbers.rest is None or not numbers.rest.any():
        return value
    return Add(value, Constant(numbers.rest), value.shape)


def _take(e: Expression, index: Ints) -> Expression:
    return Constant(e.value.ravel()[index]) if isinstance(e, Constant) else Gather(e, index)


def refuse(op: str, operands: tuple[Item, ...]) -> NotAffineError:
    """The error for an operation that is not affine in the variables; names the term."""
    listed = ", ".join(text(o) for o in operands)
    names = sorted({t.variable.name for o in operands if isinstance(o, Affine) for t in o.terms})
    return NotAffineError(
        f"{op}({listed}) is not affine in the decision variable{'s' if len(names) > 1 else ''} {', '.join(names)}. "
        "Coefficients may depend on the index, not on the variables."
    )


def refuse_product(symbol: str, a: Affine, b: Affine) -> NotAffineError:
    """The error for a product of different variables."""
    return NotAffineError(
        f"({a}) {symbol} ({b}) is a product of decision variables, which is neither affine nor convex.\nFix one of the "
        "two, as an lsip.Parameter. Only squares are known: r**2, lsip.sum_squares(r), x @ P @ x."
    )


def linear_rule(op: str, operands: tuple[Read | sparse.csr_array, ...]) -> Affine:
    """Build an operation that has an affine operand, or refuse it where it is written."""
    if op not in _LINEAR:
        raise refuse(f"np.{op}", operands)
    result = _LINEAR[op](*operands)
    result.origin = (op, *operands)
    return result


def _add(left: Read, right: Read) -> Affine:
    a, b = Affine.of(left), Affine.of(right)
    try:
        shape = np.broadcast_shapes(a.shape, b.shape)
    except (ValueError, RuntimeError):  # NumPy knows up to 32 axes here
        raise ModelError(f"Cannot add {a} of shape {a.shape} and {b} of shape {b.shape}.") from None
    return Affine(shape, (), addends=(a.broadcast(shape), b.broadcast(shape)))


def _addends(total: Affine) -> list[Affine]:
    """The summands of a sum of sums, in order, as far as they are not added up yet; without recursion."""
    found, stack = [], [total]
    while stack:
        part = stack.pop()
        addends = part._addends  # before it is asked whether another thread has added them up
        if part._known is None:
            stack.extend(reversed(addends))
        else:
            found.append(part)
    return found


def _added(parts: list[Expression], shape: tuple[int, ...], few: int = 8) -> Expression:
    """The sum of expressions of one shape: as it would be written for a `few`, in one step for many."""
    if len(parts) <= few:
        total = parts[0]
        for part in parts[1:]:
            total = as_expression(total + part)
        return total
    size = prod(shape)
    index = np.arange(size)[:, None] + size * np.arange(len(parts))
    return Sum(Gather(Join(tuple(full(part, shape) for part in parts)), index.reshape(*shape, len(parts))), len(parts))


def _united(terms: Iterable[Term]) -> tuple[Term, ...]:
    """Terms with formulas at one place become one.

    Else the sums of Clenshaw, c = p + 2 t c, would have as many terms as there are ways to write a number as a sum of
    ones and twos. Numbers are left apart, to be added up at the end without rounding.
    """
    found: list[Term] = []
    meeting: dict[Place, tuple[int, list[Expression]]] = {}
    for term in terms:
        place = term.place if term.numbers is None else None
        if place is not None and place in meeting:
            meeting[place][1].append(term.coefficient)
            continue
        if place is not None:
            meeting[place] = len(found), [term.coefficient]
        found.append(term)
    for i, parts in meeting.values():
        if len(parts) > 1:
            found[i] = replace(found[i], coefficient=_added(parts, parts[0].shape))
    return tuple(found)


def _negative(a: Affine) -> Affine:
    return _multiply(a, -1.0)


def _multiply(a: Read, b: Read | float) -> Affine:
    if isinstance(a, Affine) and isinstance(b, Affine):
        if a.terms and b.terms:
            raise refuse_product("*", a, b)
        a, b = (a, b.offset) if a.terms else (b, a.offset)
    affine, factor = (a, as_expression(b)) if isinstance(a, Affine) else (Affine.of(b), as_expression(a))
    shape = _together(affine, factor, "multiply")
    affine, factor = affine.broadcast(shape), full(factor, shape)
    terms = tuple(t.scaled(factor) for t in affine.terms)
    if isinstance(factor, Constant) and not factor.rounded:
        numbers = factor.value.ravel()
        constants = tuple(Scattered(c.rows, _within(c.numbers, numbers[c.rows], "multiply")) for c in affine.constants)
        varying = None if affine.varying is None else as_expression(factor * affine.varying)
        return Affine(shape, terms, varying, constants)
    terms = _united(terms)
    if not affine.constants and affine.varying is None:
        return Affine(shape, terms)
    return Affine(shape, terms, as_expression(factor * affine.offset))


def _divide(a: Read, b: Read) -> Affine:
    if isinstance(b, Affine):
        raise NotAffineError(
            f"({text(a)}) / ({text(b)}) divides by a decision variable; a constraint must be affine in them."
        )
    if isinstance(b, Expression):
        return _multiply(a, RULES["reciprocal"](b))
    if (b == 0).any():
        raise ModelError(f"Division by zero in ({a}) / ({text(b)}).")
    affine = Affine.of(a)
    shape = _together(affine, b, "divide")
    affine, divisor = affine.broadcast(shape), np.broadcast_to(b, shape)
    flat = divisor.ravel()
    terms = tuple(t.divided(flat) for t in affine.terms)
    constants = tuple(Scattered(c.rows, _within(c.numbers, flat[c.rows], "divide")) for c in affine.constants)
    varying = None if affine.varying is None else as_expression(affine.varying / divisor)
    return Affine(shape, terms, varying, constants)


def _together(a: Affine, b: Expression | Array, verb: str) -> tuple[int, ...]:
    """The shape of both, broadcast."""
    try:
        return np.broadcast_shapes(a.shape, b.shape)
    except ValueError:
        raise ModelError(f"Cannot {verb} shapes {b.shape} and {a.shape}: {text(b)} * {a}.") from None


def _within(numbers: DoubleDouble, operand: Array, name: str) -> DoubleDouble:
    """Numbers times or by numbers, refused where they are beyond all doubles, or so small that digits are lost."""
    found = numbers.times(operand) if name == "multiply" else numbers.over(operand)
    if not np.isfinite(found.value).all():
        raise ModelError(f"A coefficient in the model is infinite, in np.{name} with {text(operand)}.")
    small = (np.abs(found.value) < NORMAL) & (numbers.value != 0) & (operand != 0)
    for k in np.flatnonzero(small).tolist():
        a, b = Fraction(float(numbers.value[k])), Fraction(float(operand[k]))
        if (a * b if name == "multiply" else a / b) != Fraction(float(found.value[k])):
            raise ModelError(
                f"A coefficient in the model is too small for a double with all its digits, in np.{name} with "
                f"{text(operand)}; measure in other units."
            )
    return found


def pairing(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[Ints, Ints]:
    """`@` of shapes a and b as positions in both: multiply what they point at, and sum over the last axis."""
    if not a or not b:
        raise ModelError("`@` needs at least one axis on both sides; use * for scalars.")
    if a[-1] != b[-2 if len(b) > 1 else 0]:
        raise ModelError(f"`@` needs matching inner sizes; got shapes {a} and {b}.")
    left, right = (np.arange(prod(shape)).reshape(shape) for shape in (a, b))
    if len(b) > 1:
        left, right = left[..., None, :], np.swapaxes(right, -1, -2)
        right = right[..., None, :, :] if len(a) > 1 else right
    try:
        both = np.broadcast_arrays(left, right)
    except ValueError:
        raise ModelError(f"`@` cannot stack matrices of shapes {a} and {b}.") from None
    return both[0], both[1]


def _matmul(a: Read | sparse.csr_array, b: Read | sparse.csr_array) -> Affine:
    if is_sparse(a):
        return _sparse_product(a.tocoo(), Affine.of(b))
    if is_sparse(b):
        turned, x = b.T.tocoo(), Affine.of(a)
        return _sparse_product(turned, x) if x.ndim == 1 else _sparse_product(turned, x.T).T
    if isinstance(a, Affine) and isinstance(b, Affine) and a.terms and b.terms:
        raise refuse_product("@", a, b)
    operands = [o if isinstance(o, Affine) else as_expression(o) for o in (a, b)]
    places = pairing(operands[0].shape, operands[1].shape)
    left, right = (o.gather(i) if isinstance(o, Affine) else _take(o, i) for o, i in zip(operands, places, strict=True))
    return _multiply(left, right).sum_last()


def _sparse_product(matrix: sparse.coo_array, x: Affine) -> Affine:
    """A constant sparse matrix times a vector or matrix of variables, one triplet a stored entry and column."""
    if x.ndim not in (1, 2) or matrix.shape[1] != x.shape[0]:
        raise ModelError(f"`@` with a sparse matrix needs (r, n) @ (n,) or (n, k); got {matrix.shape} and {x.shape}.")
    k = x.shape[1] if x.ndim == 2 else 1
    columns = np.arange(k)
    entries = x.gather(matrix.col[:, None].astype(np.intp) * k + columns)
    place = (matrix.row[:, None].astype(np.intp) * k + columns).ravel()
    factor = Constant(np.repeat(matrix.data, k))
    shape = (matrix.shape[0], *x.shape[1:])
    scaled = _multiply(entries, factor.value.reshape(entries.shape))
    terms = tuple(replace(t, rows=place[t.rows]) for t in scaled.terms)
    constants = tuple(c.moved(place[c.rows]) for c in scaled.constants)
    if x.varying is None:
        return Affine(shape, terms, None, constants)
    table = sparse.kron(matrix, sparse.eye_array(k), format="csr")
    return Affine(shape, terms, Linear(table, x.varying, shape), constants)


_LINEAR: dict[str, Callable[..., Affine]] = {
    "add": _add,
    "subtract": lambda a, b: _add(a, _negative(b) if isinstance(b, Affine) else _neg_expression(b)),
    "negative": _negative,
    "positive": lambda a: a.broadcast(a.shape),
    "multiply": _multiply,
    "divide": _divide,
    "matmul": _matmul,
}


def _neg_expression(b: Expression | Array) -> Expression | Array:
    return RULES["negative"](b) if isinstance(b, Expression) else -b


def compare(a: Read, b: Read, symbol: str, flipped: bool) -> Constraint | Condition:
    """a <= b (or ==): a constraint when variables take part, a condition for np.where otherwise."""
    origin = (">" + symbol[1:], b, a) if flipped else (symbol, a, b)
    if isinstance(a, Affine) or isinstance(b, Affine):
        if symbol == "<":
            raise ModelError(
                f"Strict inequalities have no minimum: write <= or >= in {text(origin)}. A comparison with a variable "
                "is a constraint; it cannot be used as a bool, as `if`, max, min and sorted do."
            )
        body = _LINEAR["subtract"](a, b) if isinstance(a, Affine) else _add(a, _negative(Affine.of(b)))
        ends = body.offset.value if isinstance(body.offset, Constant) else np.zeros(0)
        if (ends == np.inf).any() or (symbol == "==" and np.isinf(ends).any()):
            raise ModelError(f"{text(origin)} cannot hold, since no number is infinite.")
        return Constraint(body, symbol == "==", origin)
    if symbol == "==":
        raise ModelError(
            f"{text(origin)} compares expressions without variables: np.where takes <, <=, > and >= (write two of them "
            "for ==), and a constraint needs a variable. To ask whether two expressions are one object, use `is`."
        )
    return Condition(as_expression(RULES["subtract"](b, a)), symbol == "<", origin)
