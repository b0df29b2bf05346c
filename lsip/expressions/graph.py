"""Index expressions: a graph of NumPy operations on the index y, and nothing else.

Every node knows its shape, its arguments, and how to push a `Jet` forward. Values travel flat, shape (N, size), so
that all structural operations (slices, reshapes, broadcasts, stacks) are one node, `Gather`. `origin` remembers what
the user typed, for printing only.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from math import comb
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ..domains import Domain
from ..errors import ModelError, NotAffineError
from ..legible import legibly
from ..validation import Data, shown, title
from . import jets
from .defined import MAYBE, NEVER, SURE, WILD, Doubt, either, silent, vanishing, worst
from .elementary import Function
from .interval import Array, Interval, Matrix, absolute, apply_matrix, down, up
from .jets import Jet, Numbers
from .operands import Mask, Shape
from .operators import Operators, Statement, call, operand
from .powers import LARGEST_EXPONENT, power, power_doubt, power_first, power_second, power_third
from .printing import latex, text


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


class Expression(Operators["Expression", "Expression", "Condition"]):
    """A NumPy-like array that depends on the index and not on the decision variables."""

    shape: Shape
    args: tuple[Expression, ...] = ()
    origin: tuple[Any, ...] = ()

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

    def key(self) -> tuple[Any, ...] | None:
        """What, beside the arguments, makes two nodes the same; None when a node is only equal to itself."""
        return ()

    def with_index(self, y: Expression) -> Expression | None:
        """The same of an expression in the place of the index, where a node needs the index itself; None if not."""
        return None

    @legibly
    def __str__(self) -> str:
        return text(self)

    __repr__ = __str__

    def _repr_latex_(self) -> str:
        return f"${latex(self)}$"

    def nodes(self) -> Iterator[Expression]:
        """The expression and all that it is made of, each once."""
        return self._walk(lambda node: node.args)

    def _walk(self, parts: Callable[[Expression], tuple[Expression, ...]]) -> Iterator[Expression]:
        """The expression, its parts and theirs, each once."""
        seen: set[int] = set()
        stack: list[Expression] = [self]
        while stack:
            node = stack.pop()
            if id(node) not in seen:
                seen.add(id(node))
                yield node
                stack.extend(reversed(parts(node)))

    def indices(self) -> tuple[Index, ...]:
        """The indices that this expression depends on, in order of appearance.

        They are kept: sums that are built in a loop have all that was there before in them.
        """
        if "_indices" not in self.__dict__:
            found: dict[Index, None] = {}
            for node in self._walk(lambda node: () if "_indices" in node.__dict__ else node.args):
                known = (node,) if isinstance(node, Index) else node.__dict__.get("_indices", ())
                found.update(dict.fromkeys(known))
            self.__dict__["_indices"] = tuple(found)
        kept: tuple[Index, ...] = self.__dict__["_indices"]
        return kept


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
            f"{text(self)} is a comparison of index expressions: it has no truth value and is no number. Use it in "
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


class Irrational(Constant):
    """A scalar that is no float: its name, and a float that is off by less than one unit in the last place."""

    rounded = True

    def __init__(self, name: str, value: float) -> None:
        self.name = name
        super().__init__(value)

    def numbers(self, value: Array, run: Pass) -> Numbers:
        return Interval(down(value), up(value)) if isinstance(run.y, Interval) else value

    def key(self) -> tuple[Any, ...] | None:
        return (self.name, self.value.tobytes())


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

    def forward(self, args: list[Jet[Numbers]], run: Pass) -> Jet[Numbers]:
        m, start = run.y.shape[-1], run.offsets[self]
        value = run.y[:, start : start + self.domain.dim]
        return Jet(value, run.known(np.eye(m)[:, None, start : start + self.domain.dim]) if run.order else None)

    def key(self) -> tuple[Any, ...] | None:
        return None


class Apply(Expression):
    """An elementary function, element by element.

    `spelled_out` says that it ends the formula of a function of NumPy's which is defined more often than its parts:
    1 ** nan is 1, and hypot(inf, nan) is inf.
    """

    def __init__(self, function: Function, u: Expression, spelled_out: bool = False) -> None:
        self.function, self.args, self.shape, self.spelled_out = function, (u,), u.shape, spelled_out

    def forward(self, args: list[Jet[Numbers]], run: Pass) -> Jet[Numbers]:
        f = self.function
        return jets.chain(args[0], f, f.first, f.second, f.third, run.order)

    @property
    def partial(self) -> bool:
        return self.function.partial

    def doubt(self, args: list[Interval], doubts: list[Doubt], value: Interval, run: Pass) -> Doubt:
        found = worst(super().doubt(args, doubts, value, run), self.function.doubt(args[0]))
        return np.where(found == SURE, SURE, WILD) if self.spelled_out else found

    def key(self) -> tuple[Any, ...] | None:
        return (self.function.name, self.spelled_out)


class Power(Expression):
    """u ** k with constant exponents; a scalar u may meet an array of exponents."""

    def __init__(self, u: Expression, k: Array, shape: Shape) -> None:
        if (np.abs(k) > LARGEST_EXPONENT).any():  # k - 1 would round to another parity
            raise ModelError(
                f"({u}) ** {np.abs(k).max():.6g} has an exponent beyond 2 ** 52, where floats no longer tell odd from "
                "even; write np.exp(k * np.log(u)) for a positive base."
            )
        self.exponents, self.args, self.shape = k.reshape(1, -1), (u,), shape

    def forward(self, args: list[Jet[Numbers]], run: Pass) -> Jet[Numbers]:
        k = self.exponents
        return jets.chain(args[0], lambda u: power(u, k), power_first(k), power_second(k), power_third(k), run.order)

    @property
    def partial(self) -> bool:
        return bool((self.exponents != np.round(self.exponents)).any())

    def doubt(self, args: list[Interval], doubts: list[Doubt], value: Interval, run: Pass) -> Doubt:
        found = worst(super().doubt(args, doubts, value, run), power_doubt(args[0], self.exponents))
        return np.where(self.exponents == 0, SURE, found)  # nan ** 0 is 1

    def key(self) -> tuple[Any, ...] | None:
        return (self.shape, self.exponents.tobytes())


class Add(Expression):
    """a + b, element by element."""

    def __init__(self, a: Expression, b: Expression, shape: Shape) -> None:
        self.args, self.shape = (a, b), shape

    def forward(self, args: list[Jet[Numbers]], run: Pass) -> Jet[Numbers]:
        return jets.add(args[0], args[1])


class Multiply(Expression):
    """a b, element by element."""

    def __init__(self, a: Expression, b: Expression, shape: Shape) -> None:
        self.args, self.shape = (a, b), shape

    def forward(self, args: list[Jet[Numbers]], run: Pass) -> Jet[Numbers]:
        return jets.multiply(args[0], args[1], run.order)

    def doubt(self, args: list[Interval], doubts: list[Doubt], value: Interval, run: Pass) -> Doubt:
        return worst(super().doubt(args, doubts, value, run), vanishing(args[0], args[1]))


class Divide(Expression):
    """u / c for constants c, element by element."""

    def __init__(self, u: Expression, c: Constant, shape: Shape) -> None:
        self.args, self.shape = (u, c), shape

    def forward(self, args: list[Jet[Numbers]], run: Pass) -> Jet[Numbers]:
        c = args[1].value
        return jets.each(args[0], lambda v: v / c)


class Negate(Expression):
    """-u."""

    def __init__(self, u: Expression) -> None:
        self.args, self.shape = (u,), u.shape

    def forward(self, args: list[Jet[Numbers]], run: Pass) -> Jet[Numbers]:
        return jets.negate(args[0])


class Gather(Expression):
    """Elements of the argument, in any arrangement: every slice, reshape, transpose and broadcast is one of these."""

    def __init__(self, u: Expression, index: NDArray[np.intp]) -> None:
        self.index, self.args, self.shape = index.ravel(), (u,), index.shape

    @property
    def identity(self) -> bool:
        """Whether every element stays at its place."""
        return self.index.size == self.args[0].size and bool((self.index == np.arange(self.index.size)).all())

    def forward(self, args: list[Jet[Numbers]], run: Pass) -> Jet[Numbers]:
        return jets.each(args[0], lambda v: v[..., self.index])

    def doubt(self, args: list[Interval], doubts: list[Doubt], value: Interval, run: Pass) -> Doubt:
        return doubts[0][..., self.index]

    def key(self) -> tuple[Any, ...] | None:
        return (self.shape, self.index.tobytes())


class Join(Expression):
    """All elements of several arguments, one after another."""

    def __init__(self, parts: tuple[Expression, ...]) -> None:
        self.sizes = [p.size for p in parts]
        self.args, self.shape = parts, (sum(self.sizes),)

    def forward(self, args: list[Jet[Numbers]], run: Pass) -> Jet[Numbers]:
        parts: list[Any] = [join([jet[d] for jet in args], self.sizes) for d in range(run.order + 1)]
        return Jet(*parts)

    def doubt(self, args: list[Interval], doubts: list[Doubt], value: Interval, run: Pass) -> Doubt:
        n = max(len(d) for d in doubts)
        return np.concatenate([np.broadcast_to(d, (n, s)) for d, s in zip(doubts, self.sizes, strict=True)], axis=1)


class Sum(Expression):
    """The sum over the last axis, of length `k`."""

    def __init__(self, u: Expression, k: int) -> None:
        self.k, self.args, self.shape = k, (u,), u.shape[:-1]

    def forward(self, args: list[Jet[Numbers]], run: Pass) -> Jet[Numbers]:
        def total(v: Numbers) -> Numbers:
            v = v.reshape(*v.shape[:-1], self.size, self.k)
            return v.sum() if isinstance(v, Interval) else v.sum(-1)

        return jets.each(args[0], total)

    def doubt(self, args: list[Interval], doubts: list[Doubt], value: Interval, run: Pass) -> Doubt:
        terms = doubts[0].reshape(len(doubts[0]), self.size, self.k).max(-1, initial=SURE)
        return super().doubt(args, [terms], value, run)

    def key(self) -> tuple[Any, ...] | None:
        return (self.k,)


class Linear(Expression):
    """A constant matrix, dense or sparse, applied to all elements of the argument."""

    def __init__(self, matrix: Matrix, u: Expression, shape: Shape) -> None:
        self.matrix, self.args, self.shape = matrix, (u,), shape

    def forward(self, args: list[Jet[Numbers]], run: Pass) -> Jet[Numbers]:
        m = self.matrix
        return jets.each(args[0], lambda v: v.linear(m) if isinstance(v, Interval) else apply_matrix(m, v))

    def doubt(self, args: list[Interval], doubts: list[Doubt], value: Interval, run: Pass) -> Doubt:
        """A zero of the matrix makes nan of what is infinite, unless it is not stored: then nobody knows."""
        u = args[0]
        doubtful = (doubts[0] != SURE) | np.isinf(u.lo) | np.isinf(u.hi)
        return super().doubt(args, [np.where(doubtful.any(-1, keepdims=True), WILD, SURE)], value, run)

    def key(self) -> tuple[Any, ...] | None:
        return None


class Select(Expression):
    """a where u >= 0, b elsewhere; `np.where` in general, and `np.maximum` when u is a - b.

    Each element of u is a kink. On a box where u keeps its sign, or on a fixed piece, the node is as smooth as its
    branch. Where u is undefined, NumPy has nan, and a comparison with that is false: b is chosen, or a if `otherwise`.
    """

    def __init__(self, u: Expression, a: Expression, b: Expression, continuous: bool, otherwise: bool = False) -> None:
        self.args, self.shape, self.continuous, self.otherwise = (u, a, b), u.shape, continuous, otherwise

    def forward(self, args: list[Jet[Numbers]], run: Pass) -> Jet[Numbers]:
        known: list[Jet[Any]] = args  # arrays at points, intervals over boxes
        u, a, b = known
        if not isinstance(run.y, Interval):
            return self._at_points(u, a, b, run)
        value = self._doubtful(u.value, run.doubts[id(self)]) if id(self) in run.doubts else u.value
        plus, minus = run.sides[id(self)] = branches(value, run, run.kinks[id(self)], closed=self.continuous)
        # Across a jump not even the gradient is bounded; across a kink it lies between those of the branches.
        hull = (True, self.continuous, False, False)
        chosen: list[Any] = [choose(plus, minus, a[d], b[d], hull[d], run.entries(d)) for d in range(run.order + 1)]
        if self.continuous and not (plus | minus).all():
            chosen[0] = _larger(plus | minus, chosen[0], a.value, b.value)
        return Jet(*chosen)

    def _doubtful(self, u: Interval, doubt: Doubt) -> Interval:
        """u, reaching over to the branch that is taken where it is undefined, if it may be."""
        if not doubt.any():
            return u
        end = np.inf if self.otherwise else -np.inf
        maybe, wild, never = doubt == MAYBE, doubt == WILD, doubt == NEVER
        lo = np.where(wild | (maybe & (end < 0)), -np.inf, np.where(never, end, u.lo))
        hi = np.where(wild | (maybe & (end > 0)), np.inf, np.where(never, end, u.hi))
        return Interval(lo, hi)

    def doubt(self, args: list[Interval], doubts: list[Doubt], value: Interval, run: Pass) -> Doubt:
        """Whether np.where is defined is up to the branch that it takes; a maximum is if both of its operands are."""
        if self.continuous:
            return super().doubt(args, doubts[1:], value, run)
        plus, minus = run.sides[id(self)]
        _, a, b = doubts
        return worst(silent(value), np.where(plus, a, np.where(minus, b, either(a, b))))

    def _at_points(self, u: Jet[Array], a: Jet[Array], b: Jet[Array], run: Pass) -> Jet[Numbers]:
        """As NumPy has it: a maximum with an undefined operand is undefined, and an undefined condition is false."""
        if self.continuous:
            plus, value = a.value >= b.value, np.maximum(a.value, b.value)
        else:
            plus = ~(u.value < 0) if self.otherwise else u.value >= 0
            value = np.where(plus, a.value, b.value)
        return Jet(value, *(choose(plus, ~plus, a[d], b[d], True, run.entries(d)) for d in range(1, run.order + 1)))

    def key(self) -> tuple[Any, ...] | None:
        return (self.continuous, self.otherwise)


class Absolute(Expression):
    """|u|, a kink where u = 0."""

    def __init__(self, u: Expression) -> None:
        self.args, self.shape = (u,), u.shape

    def forward(self, args: list[Jet[Numbers]], run: Pass) -> Jet[Numbers]:
        u: Jet[Any] = args[0]  # arrays at points, intervals over boxes
        if not isinstance(run.y, Interval):
            return Jet(*(None if d is None else np.where(u.value >= 0, d, -d) for d in u))
        plus, minus = branches(u.value, run, run.kinks[id(self)], closed=True)
        value: Any = choose(plus, minus, u.value, -u.value, True, 0)
        mixed, size = ~(plus | minus), absolute(u.value)
        value = Interval(np.where(mixed, size.lo, value.lo), np.where(mixed, size.hi, value.hi))
        if u.gradient is None:
            return Jet(value)
        higher = (choose(plus, minus, u[d], _minus(u[d]), d == 1, run.entries(d)) for d in range(1, run.order + 1))
        return Jet(value, *higher)


def _larger(decided: Mask, value: Interval, a: Interval, b: Interval) -> Interval:
    """A maximum on boxes where either operand may be the larger one: as large as both, where both are known."""
    lo, hi = np.maximum(a.lo, b.lo), np.maximum(a.hi, b.hi)
    kept = decided | np.isnan(lo) | np.isnan(hi)
    return Interval(np.where(kept, value.lo, lo), np.where(kept, value.hi, hi))


def _minus(d: Numbers | None) -> Numbers | None:
    return None if d is None else -d


def branches(u: Interval, run: Pass, where: slice, closed: bool) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which boxes lie on the branch u >= 0 and which on the other; the rest are recorded as straddling.

    A branch that is `closed` may touch u = 0; below a jump, u = 0 still has the value of the branch above.
    """
    n = run.y.shape[0]
    plus = np.broadcast_to(u.lo >= 0, (n, u.shape[-1]))
    minus = np.broadcast_to(u.hi <= 0 if closed else u.hi < 0, (n, u.shape[-1]))
    if run.straddles is not None:
        run.straddles[:, where] = ~(plus | minus)
    if run.pieces is not None:
        fixed = run.pieces[:, where]
        plus, minus = np.where(fixed == 0, plus, fixed > 0), np.where(fixed == 0, minus & ~plus, fixed < 0)
    return plus, minus & ~plus


def choose(plus: Mask, minus: Mask, a: Numbers | None, b: Numbers | None, hull: bool, entries: int) -> Numbers | None:
    """a on the boxes in `plus`, b on those in `minus`; on the rest both (`hull`), or nothing is known.

    A missing derivative is zero; `entries` is how many numbers a derivative of this order has (0 for values).
    """
    if a is None and b is None and (hull or (plus | minus).all()):
        return None
    if a is None or b is None:
        zero = np.zeros((entries, 1, 1) if entries else (1, 1))
        a, b = (zero if v is None else v for v in (a, b))
    decided = (plus | minus).all()
    if not isinstance(a, Interval) and not isinstance(b, Interval) and decided:
        return np.where(plus, a, b)
    a, b = (v if isinstance(v, Interval) else Interval.point(v) for v in (a, b))
    if a.exact and b.exact and decided:
        return Interval.point(np.where(plus, a.lo, b.lo))
    lo = np.minimum(a.lo, b.lo) if hull else -np.inf
    hi = np.maximum(a.hi, b.hi) if hull else np.inf
    return Interval(np.where(plus, a.lo, np.where(minus, b.lo, lo)), np.where(plus, a.hi, np.where(minus, b.hi, hi)))


def join(parts: list[Numbers | None], sizes: list[int]) -> Numbers | None:
    """Concatenate along the last axis; a missing part is zero, and parts that are constant are repeated as needed."""
    alike: list[Any] = parts  # all of them arrays, or all intervals
    known = [p for p in alike if p is not None]
    if not known:
        return None
    batches = [p.shape[-2] for p in known]  # 1 for what is constant
    lead, n = known[0].shape[:-2], max(batches) if min(batches) else 0
    if not isinstance(known[0], Interval):
        return _side_by_side(alike, sizes, (*lead, n))
    lo = _side_by_side([None if p is None else p.lo for p in alike], sizes, (*lead, n))
    if all(p.exact for p in known):
        return Interval(lo, lo)
    return Interval(lo, _side_by_side([None if p is None else p.hi for p in alike], sizes, (*lead, n)))


def _side_by_side(parts: list[Array | None], sizes: list[int], lead: Shape) -> Array:
    out = np.zeros((*lead, sum(sizes)))
    start = 0
    for part, size in zip(parts, sizes, strict=True):
        if part is not None:
            out[..., start : start + size] = part
        start += size
    return out


def picked(e: Expression, index: NDArray[np.intp]) -> Expression:
    """Some elements of an expression, without the parts of it that none of them comes from."""
    while isinstance(e, Gather):
        index = e.index[index]
        e = e.args[0]
    if isinstance(e, Negate):
        return Negate(picked(e.args[0], index))
    if not isinstance(e, Join):
        return Gather(e, index)
    starts = np.cumsum([0, *e.sizes])
    part = np.searchsorted(starts, index, side="right") - 1
    used, order = np.unique(part), np.argsort(part, kind="stable")
    parts = tuple(picked(e.args[k], index[part == k] - starts[k]) for k in used)
    return Gather(Join(parts), np.argsort(order, kind="stable"))


def as_expression(value: object) -> Expression:
    """An expression as it is, numbers as a `Constant`; what else there is in the language has variables in it."""
    found = operand(value)
    if isinstance(found, Operators) and not isinstance(found, Expression):
        raise NotAffineError(f"{found} has decision variables in it, where only numbers and the index may be.")
    return found if isinstance(found, Expression) else Constant(found)


def broadcast(u: Expression, shape: Shape) -> Expression:
    """`u` repeated to `shape`; scalars stay scalars, since every rule broadcasts them."""
    if u.shape == shape or u.size == 1:
        return u
    if isinstance(u, Constant) and not u.rounded:
        return Constant(np.broadcast_to(u.value, shape))
    return Gather(u, np.broadcast_to(np.arange(u.size).reshape(u.shape), shape))


def full(u: Expression, shape: Shape) -> Expression:
    """`u` repeated to exactly `shape`."""
    if u.shape == shape:
        return u
    if isinstance(u, Constant) and not u.rounded:
        return Constant(np.broadcast_to(u.value, shape))
    return Gather(u, np.broadcast_to(np.arange(u.size).reshape(u.shape), shape))
