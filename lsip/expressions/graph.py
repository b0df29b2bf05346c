"""Index expressions: a graph of NumPy operations on the index y, and nothing else.

The class of a node is all that there is to declare of an operation: how it pushes a `Jet` forward, where it is defined,
and what it is in text, in files, in proofs, in the compiled kernel, as polynomials, as slopes, and for some elements
only. `Expression` lists these; what it says of them itself is true of every operation, element by element or not.

Values travel flat, shape (N, size), so that all structural operations (slices, reshapes, broadcasts, stacks) are one
node, `Gather`. `origin` remembers what the user typed, for printing only.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from math import comb, prod
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, NoReturn, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ..domains import Domain
from ..errors import ModelError, NotAffineError
from ..legible import legibly
from ..schema import Schema, demand, number, whole
from ..schema import text as words
from ..validation import Data, shown, title
from . import jets
from .compiled import Assembler
from .defined import Doubt, silent, worst
from .elementary import Function, Span
from .functions import LOG2_E, LOG10_E, LOG_2, ONE_OVER_ROOT_2_PI, TWO_OVER_ROOT_PI
from .interval import Array, Interval, down, up
from .jets import Jet, Numbers
from .operands import Ints, Shape
from .operators import RULES, Operators, Statement, call, operand
from .printing import Origin, latex, text
from .ring import NotPolynomialError, Ring, Terms
from .slopes import Slopes

Step: TypeAlias = dict[str, Any]  # an operation in a file
Lanes: TypeAlias = Generator[tuple[int, Ints], Any, Jet[Numbers]]  # asks for elements of the argument at that place
Part: TypeAlias = Callable[[int, int], Any]  # an element of the argument at that place, to be printed
Fields: TypeAlias = Mapping[str, Schema]  # what a step of a file holds
T = TypeVar("T")
PLACES: Schema = [whole]
NUMBERS: Schema = [number]


@dataclass
class Pass:
    """One evaluation of a graph: the points or boxes, the derivatives wanted, and how kinks are treated.

    `pieces` fixes the branch of every kink (+1, -1) or leaves it to the data (0); `straddles` comes back with the
    kinks whose argument changes sign on a box. `doubts` holds, for every np.where, where its condition may be undefined
    over the boxes, and `sides` the boxes on which it takes its first and its second branch.
    """

    y: Numbers  # (N, m)
    order: int
    offsets: dict[Index, int]
    kinks: dict[int, slice] = field(default_factory=dict)
    pieces: NDArray[np.int8] | None = None
    straddles: NDArray[np.bool_] | None = None
    doubts: dict[int, Doubt] = field(default_factory=dict)
    sides: dict[int, tuple[NDArray[np.bool_], NDArray[np.bool_]]] = field(default_factory=dict)

    def known(self, value: Array) -> Numbers:
        """Numbers that are exact: points among boxes."""
        return Interval(value, value) if isinstance(self.y, Interval) else value

    def entries(self, order: int) -> int:
        """How many numbers a derivative of that order has; 0 for the value."""
        return comb(self.y.shape[-1] + order - 1, order) if order else 0


class ProofSteps(Protocol):
    """The steps of a proof, each of which finds one number, by their places."""

    offsets: dict[Index, int]

    def step(self, op: str, *args: int, **extra: object) -> int: ...

    def power(self, a: int, k: float) -> int: ...


def in_order(root: T, parts: Callable[[T], Sequence[T]], identity: Callable[[T], Hashable] = id) -> Iterator[T]:
    """All that a node is made of, and the node: each once, after its parts, the first of them first.

    Every walk through a graph is this one. It does not recurse, as sums that loops make are as deep as they are long.
    """
    seen: set[Hashable] = set()
    stack: list[tuple[T, bool]] = [(root, False)]
    while stack:
        node, ready = stack.pop()
        if ready:
            yield node
        elif (known := identity(node)) not in seen:
            seen.add(known)
            stack.append((node, True))
            stack.extend((part, False) for part in reversed(parts(node)))


class Word(NamedTuple):
    """What files know by one word: a kind of node, and how it is read from a step that has been compared with `schema`.

    Its arguments are as many as `arity` says, or any number if that is 0; the text begins a sentence about the step.
    """

    kind: type[Expression]
    schema: Fields
    read: Callable[[Step, list[Expression], str], Expression]
    arity: int = 1


WORDS: dict[str, Word] = {}  # beside these, files know elementary functions by their names


class Expression(Operators["Expression", "Expression", "Condition"]):
    """A NumPy-like array that depends on the index and not on the decision variables.

    A subclass declares an operation. `forward` is needed; so is `with_args`, if it has arguments, and an `op`, if files
    and proofs are to have a word for it.

    Examples
    --------
    >>> import lsip
    >>> import numpy as np
    >>> t = lsip.Index("t", lsip.Interval(0, 1))
    >>> wave = np.sin(3 * t) + t**2
    >>> print(wave, wave.at({t: [0.0, 1.0]}).round(4))
    sin(3 t) + t² [0.     1.1411]
    """

    op: ClassVar[str] = ""  # its word in files, proofs and the kernel
    arity: ClassVar[int] = 1  # how many arguments a file gives it; 0 for any number
    schema: ClassVar[Fields] = {"args": PLACES, "shape": PLACES}  # what a file says of it
    elementwise: ClassVar[bool] = False  # whether element k is made of elements k of the arguments
    kinked: ClassVar[bool] = False  # whether elements of its first argument decide between branches by their signs

    shape: Shape
    args: tuple[Expression, ...] = ()
    origin: Origin = ()

    def __init_subclass__(cls) -> None:
        if cls.__dict__.get("op"):
            WORDS[cls.op] = Word(cls, cls.schema, cls.read, cls.arity)

    if TYPE_CHECKING:

        def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[ExpressionElement]: ...

    def forward(self, args: list[Jet[Numbers]], run: Pass) -> Jet[Numbers]:
        raise NotImplementedError

    @property
    def partial(self) -> bool:
        """Whether it may be undefined at finite arguments though its enclosure is finite."""
        return False

    def doubt(self, args: list[Interval], doubts: list[Doubt], value: Interval, run: Pass) -> Doubt:
        """Where the result may be undefined over boxes, given the arguments, what is doubtful of them, and itself."""
        return worst(silent(value), *doubts)

    def absence(self, args: list[Interval], doubts: list[Doubt], value: Interval, run: Pass) -> Doubt:
        """Where it may have no value: the same, unless a value is only ambiguous, as that of an angle on its cut."""
        return self.doubt(args, doubts, value, run)

    def derivative(self, args: list[Expression | None]) -> Expression:
        """Its derivative, as a formula, given those of its arguments, not all of which vanish (None)."""
        raise ModelError(f"{self} has no derivative as a formula. Write the derivative by hand.")

    def scaled_by(self, factor: float) -> Expression:
        """The irrational number that this float stands for, times it."""
        number = next(c for c in IRRATIONAL.values() if c.value == factor)
        return as_expression(number * self)

    def applied(self, function: Function) -> Expression:
        """A function of it."""
        return as_expression(RULES[function.name](self))

    def key(self) -> tuple[Any, ...] | None:
        """What, beside the arguments, makes two nodes the same; None when a node is only equal to itself."""
        return ()

    def content(self) -> Any:
        """What, beside kind and arguments, it is: for the digest of a model."""
        return self.key()

    def with_args(self, *args: Expression) -> Expression:
        """The same operation on other arguments."""
        raise NotImplementedError

    def with_index(self, y: Expression) -> Expression | None:
        """The same of an expression in the place of the index, where a node needs the index itself; None if not."""
        return None

    @property
    def defined(self) -> Span | None:
        """Between which numbers its argument must lie for it to have a value; None if that does not decide."""
        return None

    # ---- text, files and proofs

    def moved(self, k: int) -> tuple[Expression, int] | None:
        """Where element k comes from, if it is an element of an argument; None if it is made of some."""
        return None

    def source(self, k: int) -> tuple[Expression, int]:
        """The node that makes element k, and its place there: others only move it."""
        node: Expression = self
        while (found := node.moved(k)) is not None:
            node, k = found
        return node, min(k, node.size - 1)

    def typed(self, k: int, part: Part) -> Origin:
        """What stands for element k where nobody typed it: an operation, and its operands."""
        return (self.op or type(self).__name__, *(part(j, k) for j in range(len(self.args))))

    @property
    def word(self) -> str:
        """What a file calls it."""
        return self.op

    @property
    def filed(self) -> tuple[Expression, ...]:
        """The arguments that a file has."""
        return self.args

    def file_data(self) -> Step | None:
        """What a file holds of it beside its arguments and its shape; None if it cannot hold it."""
        return {}

    @classmethod
    def read(cls, step: Step, args: list[Expression], where: str) -> Expression:
        """The node that a step of a file, which has been compared with the schema, makes of arguments."""
        raise NotImplementedError

    def proven(self, steps: ProofSteps, args: list[list[int]]) -> list[int]:
        """The steps of all its numbers, given those of its arguments: one stands for as many as are needed."""
        if not (self.op and self.elementwise):
            raise ModelError(f"The format of proofs has no name for {type(self).__name__}, which is part of the model.")
        return [steps.step(self.op, *each) for each in together(args)]

    # ---- algebras

    def assemble(self, made: Assembler, args: tuple[int, ...], kink: int) -> int:
        """Its instruction for the compiled kernel, given those of its arguments; `kink` is that of its first branch."""
        return made.put(self.op, self.size, made.deepest(args), args)

    def slopes(self, args: list[Slopes], offsets: Mapping[Index, int], m: int) -> Slopes | None:
        """What it makes of arguments that are affine in m coordinates of indices; None if that is not affine."""
        return None

    @property
    def polynomial(self) -> bool:
        """Whether it may be a polynomial, where its arguments are."""
        return type(self).expand is not Expression.expand

    def expand(self, ring: Ring, args: list[Terms]) -> Terms:
        """The polynomials that it makes of polynomials."""
        raise NotPolynomialError

    def lanes(self, lanes: Ints, run: Pass) -> Lanes:
        """Elements lanes[n] at the point or box n, from those of the arguments that it asks for."""
        parts = []
        for j, a in enumerate(self.args):
            every = np.broadcast_to(np.arange(a.size), (len(lanes), a.size))
            parts.append((yield j, lanes if self.elementwise else every))
        found = self.forward(parts, run)
        return found if self.elementwise else jets.each(found, lambda v: _pick(v, lanes))

    @legibly
    def __str__(self) -> str:
        return text(self)

    __repr__ = __str__

    def _repr_latex_(self) -> str:
        return f"${latex(self)}$"

    def nodes(self) -> Iterator[Expression]:
        """All that the expression is made of, and itself, each once."""
        return in_order(self, lambda node: node.args)

    def indices(self) -> tuple[Index, ...]:
        """The indices that this expression depends on, in order of appearance.

        They are kept: sums that are built in a loop have all that was there before in them.
        """
        for node in in_order(self, lambda node: () if "_indices" in vars(node) else node.args):
            found = node._indices  # those of its arguments are known, so that nothing recurses
        return found

    @cached_property
    def _indices(self) -> tuple[Index, ...]:
        return tuple(dict.fromkeys(index for part in self.args for index in part._indices))


if TYPE_CHECKING:

    class ExpressionElement(Expression, np.generic):  # type: ignore[misc]
        """What NumPy's annotations take for an element, so that a @ y is left to our operators, np.sum(y) is one."""


@dataclass(frozen=True, eq=False)
class Condition(Statement):
    """u >= 0 (or u > 0 when `strict`) for an index expression u: what np.where asks."""

    u: Expression
    strict: bool
    origin: tuple[Any, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        return self.u.shape

    def advice(self) -> str:
        return (
            f"{text(self)} is a comparison of index expressions; it cannot be used as a bool or a number. Use it in "
            "np.where(condition, a, b) instead of `if`, np.where(condition, 1, 0) for 0 and 1, and np.maximum and "
            "np.minimum instead of max and min."
        )

    def __array_function__(
        self,
        func: Callable[..., Any],
        types: Collection[type],
        args: tuple[object, ...],
        kwargs: Mapping[str, object],
    ) -> Any:
        if func is not np.where:
            raise ModelError(f"np.{func.__name__} does not take the comparison {text(self)}; only np.where does.")
        return call(func, args, kwargs)

    def __and__(self, other: object) -> NoReturn:
        raise ModelError(f"Conditions do not combine; nest np.where({text(self)}, np.where(…), …) instead.")

    __or__ = __rand__ = __ror__ = __and__

    @legibly
    def __str__(self) -> str:
        return text(self)

    __repr__ = __str__


class Constant(Expression):
    """Known numbers; exact, as floats, in every algebra."""

    op = "constant"
    schema: ClassVar[Fields] = {"shape": PLACES, "value": NUMBERS}
    rounded = False  # whether the numbers stand for irrational ones

    def __init__(self, value: Data) -> None:
        self.value: Array = np.asarray(value, dtype=float)
        self.shape = self.value.shape
        self.origin = ("constant", self.value)

    def forward(self, args: list[Jet[Numbers]], run: Pass) -> Jet[Numbers]:
        return Jet(self.numbers(self.value.reshape(1, -1), run))

    def numbers(self, value: Array, run: Pass) -> Numbers:
        """Some of the numbers, as the algebra of this pass knows them."""
        return run.known(value)

    def key(self) -> tuple[Any, ...] | None:
        return (self.shape, self.value.tobytes()) if self.size <= 64 else None

    def content(self) -> Any:
        return self.value, self.rounded

    def typed(self, k: int, part: Part) -> Origin:
        return ("constant", self.value.ravel()[k])

    def file_data(self) -> Step | None:
        return {"value": self.value.ravel().tolist()} if np.isfinite(self.value).all() else None

    @classmethod
    def read(cls, step: Step, args: list[Expression], where: str) -> Expression:
        shape = tuple(step["shape"])
        demand(prod(shape) == len(step["value"]), f"{where} has another number of values than its shape says.")
        value = np.array(step["value"], dtype=float).reshape(shape)
        value.flags.writeable = False
        return Constant(value)

    def proven(self, steps: ProofSteps, args: list[list[int]]) -> list[int]:
        if not np.isfinite(self.value).all():
            raise ModelError("A constant of the model is infinite or nan; it cannot be exported.")
        return [steps.step("constant", value=v) for v in self.value.ravel().tolist()]

    def expand(self, ring: Ring, args: list[Terms]) -> Terms:
        if not np.isfinite(self.value).all():
            raise NotPolynomialError
        return [ring.number(Fraction(v)) for v in self.value.ravel().tolist()]

    def lanes(self, lanes: Ints, run: Pass) -> Lanes:
        yield from ()
        return Jet(self.numbers(self.value.ravel()[lanes], run))


class Irrational(Constant):
    """A scalar that is no float: its name, and a float that is off by less than one unit in the last place."""

    op = "irrational"
    schema: ClassVar[Fields] = {"name": words}
    rounded = True

    def __init__(self, name: str, value: float) -> None:
        self.name = name
        super().__init__(value)

    def numbers(self, value: Array, run: Pass) -> Numbers:
        return Interval(down(value), up(value)) if isinstance(run.y, Interval) else value

    def key(self) -> tuple[Any, ...] | None:
        return (self.name, self.value.tobytes())

    def typed(self, k: int, part: Part) -> Origin:
        return ("name", self.name)

    def file_data(self) -> Step | None:
        return {"name": self.name} if self.name in IRRATIONAL else None

    @classmethod
    def read(cls, step: Step, args: list[Expression], where: str) -> Expression:
        demand(step["name"] in IRRATIONAL, f"{where} has a name that is not known.")
        return IRRATIONAL[step["name"]]

    def proven(self, steps: ProofSteps, args: list[list[int]]) -> list[int]:
        return [steps.step("irrational", name=self.name)]

    def expand(self, ring: Ring, args: list[Terms]) -> Terms:
        raise NotPolynomialError


PI, DEGREE = Irrational("pi", 3.141592653589793), Irrational("pi / 180", 0.017453292519943295)
LOG2 = Irrational("log(2)", LOG_2)
_FACTORS = (  # of derivatives
    Irrational("1 / log(2)", LOG2_E),
    Irrational("1 / log(10)", LOG10_E),
    Irrational("2 / √π", TWO_OVER_ROOT_PI),
    Irrational("1 / √(2 π)", ONE_OVER_ROOT_2_PI),
)
IRRATIONAL = {constant.name: constant for constant in (PI, DEGREE, LOG2, *_FACTORS)}


class Index(Expression):
    """The index y of a continuum of constraints, ranging over `domain`.

    Over an `Interval` or a union of them it is a scalar, over every other domain a vector: `y[0]`, `y[1]`,
    `np.linalg.norm(y - p)`.

    Examples
    --------
    >>> import lsip
    >>> t = lsip.Index("t", lsip.Interval(0, 1))
    >>> print(2 * t**2 + 1)
    2 t² + 1
    """

    op = "index"
    schema: ClassVar[Fields] = {"index": whole}

    def __init__(self, name: str, domain: Domain) -> None:
        if not isinstance(domain, Domain):
            raise ModelError(
                f"An index ranges over a domain, such as Interval(0, 1) or Box([0, 0], [1, 1]); got {shown(domain)}."
            )
        self.name = title("an index", name)
        self.domain = domain
        self.shape = () if domain.scalar else (domain.dim,)
        self.origin = ("name", name)

    @property
    def declared(self) -> Index:
        """The index as it was declared: itself, unless it stands for one with more coordinates."""
        return self

    @property
    def _indices(self) -> tuple[Index, ...]:  # kept, it would hold itself
        return (self,)

    def forward(self, args: list[Jet[Numbers]], run: Pass) -> Jet[Numbers]:
        m, start = run.y.shape[-1], run.offsets[self]
        value = run.y[:, start : start + self.domain.dim]
        return Jet(value, run.known(np.eye(m)[:, None, start : start + self.domain.dim]) if run.order else None)

    def key(self) -> tuple[Any, ...] | None:
        return None

    def typed(self, k: int, part: Part) -> Origin:
        return element_of(self, k)

    def proven(self, steps: ProofSteps, args: list[list[int]]) -> list[int]:
        start = steps.offsets[self]
        return [steps.step("index", coordinate=start + k) for k in range(self.domain.dim)]

    def assemble(self, made: Assembler, args: tuple[int, ...], kink: int) -> int:
        return made.put("index", self.size, 1, offset=made.offsets[self])

    def slopes(self, args: list[Slopes], offsets: Mapping[Index, int], m: int) -> Slopes | None:
        every = np.arange(self.domain.dim)
        zero, one = (Interval.point(np.full(len(every), v)) for v in (0.0, 1.0))
        return Slopes(zero, every, offsets[self] + every, one)

    def expand(self, ring: Ring, args: list[Terms]) -> Terms:
        return [{ring.unit(ring.offsets[self] + k): Fraction(1)} for k in range(self.domain.dim)]

    def lanes(self, lanes: Ints, run: Pass) -> Lanes:
        yield from ()
        place = run.offsets[self] + lanes
        axes = np.arange(run.y.shape[-1])[:, None, None]
        value = ends(run.y, lambda v: np.take_along_axis(v, place, axis=1))
        return Jet(value, run.known((axes == place).astype(float)) if run.order else None)


def together(args: list[list[Any]]) -> list[tuple[Any, ...]]:
    """Elements at the same place; one stands for as many as are needed."""
    size = max(map(len, args)) if all(args) else 0
    return list(zip(*(a * size if len(a) == 1 else a for a in args), strict=True)) if size else []


def varying(slopes: Sequence[Expression | None]) -> list[Expression]:
    """The derivatives that do not vanish."""
    return [d for d in slopes if d is not None]


def element_of(leaf: Any, k: int) -> Origin:
    """Element k of what has a name."""
    return ("getitem", leaf, np.unravel_index(k, leaf.shape)) if leaf.shape else leaf.origin


def ends(v: Numbers, operation: Callable[[Array], Array]) -> Numbers:
    """Apply an operation that moves elements to an array, or to both ends of intervals."""
    return v.each(operation) if isinstance(v, Interval) else operation(v)


def _pick(v: Numbers, lanes: Ints) -> Numbers:
    shape = (*v.shape[:-2], len(lanes), v.shape[-1])
    where = np.broadcast_to(lanes, (*v.shape[:-2], *lanes.shape))
    return ends(v, lambda e: np.take_along_axis(np.broadcast_to(e, shape), where, axis=-1))


def as_expression(value: object) -> Expression:
    """An expression as it is, numbers as a `Constant`; what else there is in the language has variables in it."""
    found = operand(value)
    if isinstance(found, Operators) and not isinstance(found, Expression):
        raise NotAffineError(f"{found} has decision variables in it, where only numbers and the index may be.")
    return found if isinstance(found, Expression) else Constant(found)
