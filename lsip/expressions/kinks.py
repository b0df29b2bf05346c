"""Operations that choose between branches by a sign: np.where, np.maximum, and absolute values."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..schema import demand, flag
from .compiled import Assembler, UnknownNodeError
from .defined import MAYBE, NEVER, WILD, Doubt, either, silent, worst
from .graph import (
    PLACES,
    WORDS,
    Constant,
    Expression,
    Fields,
    Part,
    Pass,
    ProofSteps,
    Step,
    Word,
    as_expression,
    together,
    varying,
)
from .interval import Array, Interval, absolute
from .jets import Jet, Numbers
from .operands import Mask
from .operations import Unary
from .operators import RULES
from .printing import Origin


class Select(Expression):
    """a where u >= 0, b elsewhere; `np.where` in general, and `np.maximum` when u is a - b.

    Each element of u is a kink. On a box where u keeps its sign, or on a fixed piece, the node is as smooth as its
    branch. Where u is undefined, NumPy has nan, and a comparison with that is false: b is chosen, or a if `otherwise`.
    """

    op, arity = "select", 3
    schema: ClassVar[Fields] = {"args": PLACES, "otherwise": flag}
    elementwise = kinked = True

    def __init__(self, u: Expression, a: Expression, b: Expression, continuous: bool, otherwise: bool = False) -> None:
        self.args, self.shape, self.continuous, self.otherwise = (u, a, b), u.shape, continuous, otherwise

    def with_args(self, *args: Expression) -> Expression:
        return Select(args[0], args[1], args[2], self.continuous, self.otherwise)

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

    def derivative(self, args: list[Expression | None]) -> Expression:
        """That of the branch which is taken: of the first one at a kink."""
        a, b = (Constant(np.zeros(self.shape)) if d is None else d for d in args[1:])
        return Select(self.args[0], a, b, continuous=False, otherwise=self.otherwise)

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

    def typed(self, k: int, part: Part) -> Origin:
        branches = part(1, k), part(2, k)
        return ("maximum", *branches) if self.continuous else ("where", (">=", part(0, k), 0.0), *branches)

    @property
    def word(self) -> str:
        return "maximum" if self.continuous else self.op

    @property
    def filed(self) -> tuple[Expression, ...]:
        return self.args[1:] if self.continuous else self.args

    def file_data(self) -> Step | None:
        return {} if self.continuous else {"otherwise": self.otherwise}

    @classmethod
    def read(cls, step: Step, args: list[Expression], where: str) -> Expression:
        _same_shape(args, where)
        return Select(args[0], args[1], args[2], continuous=False, otherwise=step["otherwise"])

    def proven(self, steps: ProofSteps, args: list[list[int]]) -> list[int]:
        if self.continuous:  # a maximum is one of its last two arguments, whatever decides
            return [steps.step("maximum", *each[1:]) for each in together(args)]
        return [steps.step("select", *each, otherwise=self.otherwise) for each in together(args)]

    def assemble(self, made: Assembler, args: tuple[int, ...], kink: int) -> int:
        if not self.continuous:
            raise UnknownNodeError
        return made.put("maximum", self.size, 3, args, kink=kink)


def _same_shape(args: list[Expression], where: str) -> None:
    demand(len({a.shape for a in args}) == 1, f"{where} needs arguments of one shape.")


def _maximum(step: Step, args: list[Expression], where: str) -> Expression:
    """Decided by the difference of its operands, and by nothing else."""
    _same_shape(args, where)
    return as_expression(RULES["maximum"](*args))


WORDS["maximum"] = Word(Select, {"args": PLACES}, _maximum, 2)


class Absolute(Unary):
    """|u|, a kink where u = 0."""

    op = "absolute"
    kinked = True

    def assemble(self, made: Assembler, args: tuple[int, ...], kink: int) -> int:
        return made.put("absolute", self.size, 3 if made.deepest(args) else 0, args, kink=kink)

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

    def derivative(self, args: list[Expression | None]) -> Expression:
        (du,) = varying(args)
        return Select(self.args[0], du, as_expression(-du), continuous=False)


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
