"""Indices inside CVXPY expressions: to CVXPY they are parameters, among themselves they speak lsip's language.

`x[1] * t` must be an ordinary CVXPY expression, `np.tan(t)` must keep its formula. So an index, and everything that is
computed from indices alone, is a `cvxpy.Parameter` that carries an lsip expression; once a CVXPY variable takes part,
CVXPY's own operators are used. What lsip's language refuses, an index refuses here too.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import EllipsisType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from ...domains import Domain
from ...errors import FixedError, ModelError
from ...expressions.graph import Condition, Expression
from ...expressions.graph import Index as Formula
from ...expressions.operators import FIRST, RULES, Statement, as_objects, is_complex
from ...expressions.printing import POWER, Printer
from ...legible import legibly
from ...validation import OBJECT, choice, shown
from .package import Node, cp

Place = int | slice | EllipsisType | NDArray[np.integer] | NDArray[np.bool_] | list[int] | None
Axis = int | tuple[int, ...] | None  # None for all of them
Operand = Node | ArrayLike  # index expressions are nodes too


class IndexExpression(cp.Parameter):  # type: ignore[misc]
    """What is computed from indices, as a CVXPY parameter without a value; `formula` is the lsip expression."""

    def __init__(self, formula: Expression) -> None:
        super().__init__(formula.shape, name="index")
        self.formula = formula

    __hash__ = object.__hash__
    __pandas_priority__ = FIRST

    def __setattr__(self, name: str, value: object) -> None:
        # CVXPY itself keeps what it has found out about a parameter in attributes of its own, and copies `args`.
        own = name.startswith("_") or name.endswith("__") or name in ("args", "attributes")
        if "formula" in self.__dict__ and not own:
            raise FixedError(f"`{name}` of {self} cannot be set: an index is immutable.")
        super().__setattr__(name, value)

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> Any:
        return as_objects(self, dtype, inspect.currentframe())

    def __len__(self) -> int:
        return len(self.formula)

    def name(self) -> str:
        """The formula; written when asked for, since what a recurrence reads like doubles with every step."""
        return Printer(tex=False).wrapped(self.formula, POWER)

    @legibly
    def __repr__(self) -> str:
        return str(self.formula)

    def __copy__(self) -> IndexExpression:
        return self

    def __deepcopy__(self, memo: dict[int, object]) -> IndexExpression:
        return self

    def __neg__(self) -> Any:
        return wrap(-self.formula)

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> Any:
        return wrap(abs(self.formula))

    def __getitem__(self, key: Place | tuple[Place, ...]) -> Any:
        return wrap(self.formula[key])

    def __iter__(self) -> Iterator[Any]:
        return (wrap(part) for part in self.formula)

    def __bool__(self) -> bool:
        return bool(self.formula)  # says why that has no answer

    @property
    def T(self) -> Any:
        return wrap(self.formula.T)

    def sum(self, axis: Axis = None) -> Any:
        return wrap(self.formula.sum(axis))

    def prod(self, axis: Axis = None) -> Any:
        return wrap(self.formula.prod(axis))

    def mean(self, axis: Axis = None) -> Any:
        return wrap(self.formula.mean(axis))

    def max(self, axis: Axis = None) -> Any:
        return wrap(self.formula.max(axis))

    def min(self, axis: Axis = None) -> Any:
        return wrap(self.formula.min(axis))

    def dot(self, other: Operand) -> Any:
        return self @ other

    def reshape(self, *shape: int | Sequence[int], order: str = "C") -> Any:
        """As NumPy has it; CVXPY itself asks for order "F"."""
        choice("order", order, ("C", "F"))
        if order == "C" or (self.formula.ndim < 2 and np.ndim(shape[0]) == 0 and len(shape) < 2):
            return wrap(self.formula.reshape(*shape))
        sizes = shape[0] if len(shape) == 1 else shape
        return wrap(self.formula.T.ravel().reshape(np.atleast_1d(sizes)[::-1].tolist()).T)

    def ravel(self, order: str = "C") -> Any:
        choice("order", order, ("C", "F"))
        return wrap((self.formula.T if order == "F" and self.formula.ndim > 1 else self.formula).ravel())

    flatten = ravel

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: object, **kwargs: object) -> Any:
        if not all(map(_known, inputs)):
            return super().__array_ufunc__(ufunc, method, *inputs, **kwargs)
        return wrap(self.formula.__array_ufunc__(ufunc, method, *map(unwrap, inputs), **kwargs))

    def __array_function__(
        self, func: Callable[..., Any], types: Collection[type], args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> Any:
        if not all(map(_known, (*args, *kwargs.values()))):
            raise ModelError(
                f"np.{func.__name__} cannot mix index expressions with CVXPY ones; use CVXPY's own, such as cp.hstack."
            )
        plain = {key: unwrap(value) for key, value in kwargs.items()}
        return wrap(self.formula.__array_function__(func, types, tuple(map(unwrap, args)), plain))


@dataclass(frozen=True, eq=False)
class IndexCondition(Statement):
    """A comparison of index expressions: what np.where asks."""

    formula: Condition

    def advice(self) -> str:
        return self.formula.advice()

    def __array_function__(
        self, func: Callable[..., Any], types: Collection[type], args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> Any:
        plain = {key: unwrap(value) for key, value in kwargs.items()}
        return wrap(self.formula.__array_function__(func, types, tuple(map(unwrap, args)), plain))

    def __and__(self, other: object) -> Any:
        return self.formula & other  # says what to write instead

    __or__ = __rand__ = __ror__ = __and__

    @legibly
    def __str__(self) -> str:
        return str(self.formula)


class Index(IndexExpression):
    """The index y of a continuum of constraints, ranging over `domain`, for use in CVXPY expressions.

    Over an `lsip.Interval` it is a scalar, over every other domain a vector.

    Examples
    --------
    >>> import cvxpy as cp, numpy as np, lsip
    >>> from lsip.interop.cvxpy import Index
    >>> x, t = cp.Variable(2, name="x"), Index("t", lsip.Interval(0, 1))
    >>> print(x[0] + x[1] * t >= np.tan(t) + 1)
    (tan(t) + 1) <= x[0] + x[1] * t
    """

    formula: Formula

    def __init__(self, name: str, domain: Domain) -> None:
        if not isinstance(domain, Domain):
            raise ModelError(f"An index ranges over a set such as lsip.Interval(0, 1); got {shown(domain)}.")
        super().__init__(Formula(name, domain))


def wrap(result: object) -> Any:
    """An lsip expression as one that CVXPY understands; anything else as it is."""
    if is_complex(result):
        raise ModelError(
            "Index expressions in models of CVXPY are real; got complex numbers. Write real and imaginary parts, such "
            "as np.cos(t) and np.sin(t), or the model with lsip.Variable(…, complex=True)."
        )
    return IndexExpression(result) if isinstance(result, Expression) else result


def unwrap(value: object) -> Any:
    """The lsip expression behind an index expression, also inside lists; CVXPY constants as numbers."""
    if isinstance(value, IndexExpression | IndexCondition):
        return value.formula
    if isinstance(value, cp.Constant):
        return value.value
    if isinstance(value, list | tuple):
        try:
            return type(value)(unwrap(v) for v in value)
        except RecursionError:
            raise ModelError("Lists in lists without end were given where an expression is needed.") from None
    kind = getattr(value, "dtype", None)  # of the module numpy, it is a class
    if isinstance(kind, np.dtype) and kind == OBJECT and not all(map(_known, np.asarray(value).ravel())):
        raise ModelError("An array of objects cannot hold CVXPY expressions; use CVXPY's own, such as cp.hstack.")
    if isinstance(kind, np.dtype) and kind == OBJECT:
        masked = isinstance(value, np.ma.MaskedArray)
        return _objects(np.ma.asanyarray(value) if masked else np.asarray(value), unwrap)
    return value


def _objects(array: NDArray[Any], function: Callable[[Any], Any]) -> Any:
    """An array of objects with a function applied to each of them."""
    found = array.copy()
    for k, item in enumerate(array.ravel()):
        found.reshape(-1)[k] = function(item)
    return found


def _known(value: object) -> bool:
    """Whether no CVXPY variable or parameter of the user's takes part."""
    parts = [value]
    while parts:
        part = parts.pop()
        if isinstance(part, list | tuple):
            parts.extend(part)
        elif isinstance(part, cp.Expression) and not isinstance(part, IndexExpression | cp.Constant):
            return False
    return True


def _operator(name: str, rule: str, swap: bool = False) -> Callable[..., Any]:
    """CVXPY's operator of that name, or lsip's rule when only indices and numbers take part."""
    theirs = getattr(cp.Parameter, name)

    def apply(self: IndexExpression, other: Operand) -> Any:
        if not _known(other):
            return theirs(other, self) if swap else theirs(self, other)
        a, b = self.formula, unwrap(other)
        return wrap(RULES[rule](b, a) if swap else RULES[rule](a, b))

    return apply


def _comparison(name: str, rule: str, flipped: bool) -> Callable[..., Any]:
    def compare(self: IndexExpression, other: Operand) -> Any:
        if not _known(other):
            return getattr(cp.Parameter, name)(self, other)
        a, b = self.formula, unwrap(other)
        return IndexCondition(RULES[rule](b, a, flipped=True) if flipped else RULES[rule](a, b))

    return compare


def _equal(self: IndexExpression, other: object) -> Any:
    if self is other:
        return True  # containers ask
    if not _known(other):
        return cp.Parameter.__eq__(self, other)
    raise ModelError("`==` has no meaning for an index expression; use <= and >=, or np.where for cases.")


for _name, _rule in (("add", "add"), ("sub", "subtract"), ("mul", "multiply"), ("truediv", "divide"),
                     ("pow", "power"), ("matmul", "matmul")):  # fmt: skip
    setattr(IndexExpression, f"__{_name}__", _operator(f"__{_name}__", _rule))
    setattr(IndexExpression, f"__r{_name}__", _operator(f"__{_name}__", _rule, swap=True))
for _name, _rule, _flipped in (("le", "less_equal", False), ("ge", "less_equal", True),
                               ("lt", "less", False), ("gt", "less", True)):  # fmt: skip
    setattr(IndexExpression, f"__{_name}__", _comparison(f"__{_name}__", _rule, _flipped))
IndexExpression.__eq__ = _equal  # type: ignore[method-assign,assignment]


def _step(rule: str, swap: bool = False) -> Callable[..., Any]:
    """% and //, which CVXPY does not have: of indices and numbers."""

    def apply(self: IndexExpression, other: Operand) -> Any:
        a, b = self.formula, unwrap(other)
        return wrap(RULES[rule](b, a) if swap else RULES[rule](a, b))

    return apply


for _name, _rule in (("mod", "remainder"), ("floordiv", "floor_divide")):
    setattr(IndexExpression, f"__{_name}__", _step(_rule))
    setattr(IndexExpression, f"__r{_name}__", _step(_rule, swap=True))


def _refused(name: str) -> Callable[..., Any]:
    def apply(self: IndexExpression, *arguments: object) -> Any:
        return getattr(self.formula, name)(*arguments)  # says what to write instead

    return apply


for _name in ("float", "int", "index", "complex", "round", "floor", "ceil", "trunc", "setitem", "delitem", "invert"):
    setattr(IndexExpression, f"__{_name}__", _refused(f"__{_name}__"))
for _name in ("divmod", "and", "or", "xor", "lshift", "rshift"):
    setattr(IndexExpression, f"__{_name}__", _refused(f"__{_name}__"))
    setattr(IndexExpression, f"__r{_name}__", _refused(f"__r{_name}__"))
