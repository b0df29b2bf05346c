"""Operations on arrays, element by element: elementary functions, powers, sums, products, quotients by constants."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any, ClassVar, Self

import numpy as np

from ..errors import ModelError
from ..schema import demand, flag
from . import jets
from .compiled import Assembler
from .defined import SURE, WILD, Doubt, vanishing, worst
from .elementary import DASH, DERIVATIVES, FUNCTIONS, Function, Span, known
from .graph import (
    NUMBERS,
    PLACES,
    Constant,
    Expression,
    Fields,
    Index,
    Lanes,
    Part,
    Pass,
    ProofSteps,
    Step,
    as_expression,
    together,
    varying,
)
from .interval import Array, Interval
from .jets import Jet, Numbers
from .operands import Ints, Shape
from .powers import LARGEST_EXPONENT, power, power_doubt, power_first, power_second, power_third
from .printing import Origin, multiple, total
from .ring import Ring, Terms, repeated, summed
from .slopes import Slopes, added, multiplied


class Apply(Expression):
    """An elementary function, element by element: what there is to know of it, the function declares.

    `spelled_out` says that it ends the formula of a function of NumPy's which is defined more often than its parts:
    1 ** nan is 1, and hypot(inf, nan) is inf.
    """

    schema: ClassVar[Fields] = {"args": PLACES, "spelled_out": flag}
    elementwise = True

    def __init__(self, function: Function, u: Expression, spelled_out: bool = False) -> None:
        self.function, self.args, self.shape, self.spelled_out = function, (u,), u.shape, spelled_out

    def with_args(self, *args: Expression) -> Expression:
        return type(self)(self.function, args[0], self.spelled_out)

    def forward(self, args: list[Jet[Numbers]], run: Pass) -> Jet[Numbers]:
        f = self.function
        return jets.chain(args[0], f, f.first, f.second, f.third, run.order)

    def derivative(self, args: list[Expression | None]) -> Expression:
        f, (du,) = self.function, varying(args)
        if f.exponent == -1:
            return as_expression(-du / self.args[0] ** 2)
        if f.derivative is None and f.name in DERIVATIVES:
            raise ModelError(f"Derivatives of {f.name.rstrip(DASH)} are known up to the third.")
        if f.derivative is not None:
            return as_expression(Apply(f.derivative, self.args[0]) * du)
        slope: Any = f.first  # written with operators, and so for formulas, too
        return as_expression(slope(self.args[0], self) * du)

    @property
    def partial(self) -> bool:
        return self.function.partial

    @property
    def defined(self) -> Span:
        return self.function.domain

    def doubt(self, args: list[Interval], doubts: list[Doubt], value: Interval, run: Pass) -> Doubt:
        found = worst(super().doubt(args, doubts, value, run), self.function.doubt(args[0]))
        return np.where(found == SURE, SURE, WILD) if self.spelled_out else found

    def key(self) -> tuple[Any, ...] | None:
        return (self.function.name, self.spelled_out)

    def typed(self, k: int, part: Part) -> Origin:
        if self.function.exponent == -1:
            return ("divide", 1.0, part(0, k))
        return (self.function.name.partition("_")[0], part(0, k))

    @property
    def word(self) -> str:
        return self.function.word

    def file_data(self) -> Step | None:
        return self.function.file_data(self.spelled_out)

    @classmethod
    def read(cls, step: Step, args: list[Expression], where: str) -> Expression:
        return Apply(known(step["op"]), args[0], step["spelled_out"])

    def proven(self, steps: ProofSteps, args: list[list[int]]) -> list[int]:
        f = self.function
        if f.name not in FUNCTIONS:
            raise ModelError(f"The format of proofs has no name for a {f.name.partition('_')[0]}, as in {self}.")
        return [steps.step(f.name, a) if np.isnan(f.exponent) else steps.power(a, f.exponent) for a in args[0]]

    def assemble(self, made: Assembler, args: tuple[int, ...], kink: int) -> int:
        return made.apply(self.function.name, self.size, args, straight=self.function.third is None)

    @property
    def polynomial(self) -> bool:
        return self.function.exponent == 2

    def expand(self, ring: Ring, args: list[Terms]) -> Terms:
        return [ring.product(u, u) for u in args[0]]


class Power(Expression):
    """u ** k with constant exponents; a scalar u may meet an array of exponents."""

    op = "power"
    schema: ClassVar[Fields] = {**Expression.schema, "exponents": NUMBERS}
    elementwise = True

    def __init__(self, u: Expression, k: Array, shape: Shape) -> None:
        if (np.abs(k) > LARGEST_EXPONENT).any():  # k - 1 would round to another parity
            raise ModelError(
                f"({u}) ** {np.abs(k).max():.6g} has an exponent beyond 2 ** 52, where floats no longer tell odd from "
                "even; write np.exp(k * np.log(u)) for a positive base."
            )
        self.exponents, self.args, self.shape = k.reshape(1, -1), (u,), shape

    def with_args(self, *args: Expression) -> Expression:
        return Power(args[0], self.exponents, self.shape)

    def forward(self, args: list[Jet[Numbers]], run: Pass) -> Jet[Numbers]:
        return _powers(args[0], self.exponents, run.order)

    def derivative(self, args: list[Expression | None]) -> Expression:
        u, (du,) = self.args[0], varying(args)
        k = np.broadcast_to(self.exponents.ravel(), self.size).reshape(self.shape)
        whole = (k - 1.0) + 1.0 == k  # else k - 1 is rounded, and u ** k / u stands for the power
        if whole.all():
            return as_expression(k * u ** np.where(k == 0, 0.0, k - 1.0) * du)
        return as_expression(k * (self / u) * du)

    @property
    def partial(self) -> bool:
        return bool((self.exponents != np.round(self.exponents)).any())

    @property
    def defined(self) -> Span:
        return 0.0, np.inf

    def doubt(self, args: list[Interval], doubts: list[Doubt], value: Interval, run: Pass) -> Doubt:
        found = worst(super().doubt(args, doubts, value, run), power_doubt(args[0], self.exponents))
        return np.where(self.exponents == 0, SURE, found)  # nan ** 0 is 1

    def key(self) -> tuple[Any, ...] | None:
        return (self.shape, self.exponents.tobytes())

    def typed(self, k: int, part: Part) -> Origin:
        return ("power", part(0, k), self.exponents.ravel()[min(k, self.exponents.size - 1)])

    def file_data(self) -> Step | None:
        return {"exponents": self.exponents.ravel().tolist()}

    @classmethod
    def read(cls, step: Step, args: list[Expression], where: str) -> Expression:
        k, (u,), shape = np.array(step["exponents"], dtype=float), args, tuple(step["shape"])
        fits = {u.size, k.size} <= {1, prod(shape)} and prod(shape) in (u.size, k.size)
        demand(fits, f"{where} has exponents or an argument of another size than its shape says.")
        return Power(u, k, shape)

    def proven(self, steps: ProofSteps, args: list[list[int]]) -> list[int]:
        return [steps.power(a, k) for a, k in together([args[0], self.exponents.ravel().tolist()])]

    def assemble(self, made: Assembler, args: tuple[int, ...], kink: int) -> int:
        return made.power(self.size, args, np.broadcast_to(self.exponents.ravel(), self.size))

    def expand(self, ring: Ring, args: list[Terms]) -> Terms:
        size = max(len(args[0]), self.exponents.size)
        exponents = np.broadcast_to(self.exponents.ravel(), (size,)).tolist()
        return [ring.power(u, k) for u, k in zip(repeated(args[0], size), exponents, strict=True)]

    def lanes(self, lanes: Ints, run: Pass) -> Lanes:
        k = self.exponents.ravel()[lanes if self.exponents.size > 1 else np.zeros_like(lanes)]
        return _powers((yield 0, lanes), k, run.order)


def _powers(u: Jet[Numbers], k: Array, order: int) -> Jet[Numbers]:
    return jets.chain(u, lambda v: power(v, k), power_first(k), power_second(k), power_third(k), order)


class Pairwise(Expression):
    """An operation on two arrays, element by element; a scalar stands for as many elements as are needed."""

    elementwise, arity = True, 2

    def __init__(self, a: Expression, b: Expression, shape: Shape) -> None:
        self.args, self.shape = (a, b), shape

    def with_args(self, *args: Expression) -> Expression:
        return type(self)(args[0], args[1], self.shape)

    @classmethod
    def read(cls, step: Step, args: list[Expression], where: str) -> Self:
        shape, sizes = tuple(step["shape"]), [a.size for a in args]
        fits = all(s in (1, prod(shape)) for s in sizes) and prod(shape) in sizes
        demand(fits, f"{where} has arguments of other sizes than its shape says.")
        return cls(args[0], args[1], shape)


class Add(Pairwise):
    """a + b, element by element."""

    op = "add"

    def forward(self, args: list[Jet[Numbers]], run: Pass) -> Jet[Numbers]:
        return jets.add(args[0], args[1])

    def derivative(self, args: list[Expression | None]) -> Expression:
        first, *others = varying(args)
        return as_expression(first + others[0]) if others else first

    def typed(self, k: int, part: Part) -> Origin:
        return ("spelled", total([v for v in (part(0, k), part(1, k)) if v.number != 0]))

    def slopes(self, args: list[Slopes], offsets: Mapping[Index, int], m: int) -> Slopes | None:
        return added(args[0].spread(self.size), args[1].spread(self.size), m)

    def expand(self, ring: Ring, args: list[Terms]) -> Terms:
        a, b = (repeated(u, self.size) for u in args)
        return [summed([u, v]) for u, v in zip(a, b, strict=True)]


class Multiply(Pairwise):
    """a b, element by element."""

    op = "multiply"

    def forward(self, args: list[Jet[Numbers]], run: Pass) -> Jet[Numbers]:
        return jets.multiply(args[0], args[1], run.order)

    def derivative(self, args: list[Expression | None]) -> Expression:
        terms = [d * other for d, other in zip(args, self.args[::-1], strict=True) if d is not None]
        return as_expression(terms[0] if len(terms) == 1 else terms[0] + terms[1])

    def doubt(self, args: list[Interval], doubts: list[Doubt], value: Interval, run: Pass) -> Doubt:
        return worst(super().doubt(args, doubts, value, run), vanishing(args[0], args[1]))

    def typed(self, k: int, part: Part) -> Origin:
        a, b = part(0, k), part(1, k)
        for factor, other in ((a, b), (b, a)):
            if factor.number in (1.0, -1.0):
                return ("spelled", multiple(factor.number, other))
        return ("multiply", a, b)

    def assemble(self, made: Assembler, args: tuple[int, ...], kink: int) -> int:
        depths = [made.depth(a) for a in args]
        return made.put("multiply", self.size, min(3, sum(depths)) if min(depths) > 0 else max(depths), args)

    def slopes(self, args: list[Slopes], offsets: Mapping[Index, int], m: int) -> Slopes | None:
        return multiplied(args[0].spread(self.size), args[1].spread(self.size), m)

    def expand(self, ring: Ring, args: list[Terms]) -> Terms:
        a, b = (repeated(u, self.size) for u in args)
        return [ring.product(u, v) for u, v in zip(a, b, strict=True)]


class Divide(Pairwise):
    """u / c for constants c, element by element."""

    op = "divide"

    def forward(self, args: list[Jet[Numbers]], run: Pass) -> Jet[Numbers]:
        c = args[1].value
        return jets.each(args[0], lambda v: v / c)

    def derivative(self, args: list[Expression | None]) -> Expression:
        (du,) = varying(args)
        return as_expression(du / self.args[1])

    @classmethod
    def read(cls, step: Step, args: list[Expression], where: str) -> Self:
        made = super().read(step, args, where)
        known = isinstance(args[1], Constant) and bool((args[1].value != 0).all())
        demand(known, f"{where} divides by something else than numbers other than 0.")
        return made

    def slopes(self, args: list[Slopes], offsets: Mapping[Index, int], m: int) -> Slopes | None:
        u, c = args[0].spread(self.size), args[1].spread(self.size).value
        return Slopes(u.value / c, u.row, u.axis, u.slope / c[u.row])

    def expand(self, ring: Ring, args: list[Terms]) -> Terms:
        a, b = (repeated(u, self.size) for u in args)
        return [{e: c / v[ring.zero] for e, c in u.items()} for u, v in zip(a, b, strict=True)]


class Unary(Expression):
    """An operation on one array, element by element."""

    schema: ClassVar[Fields] = {"args": PLACES}
    elementwise = True

    def __init__(self, u: Expression) -> None:
        self.args, self.shape = (u,), u.shape

    def with_args(self, *args: Expression) -> Expression:
        return type(self)(*args)

    @classmethod
    def read(cls, step: Step, args: list[Expression], where: str) -> Self:
        return cls(args[0])


class Negate(Unary):
    """-u."""

    op = "negate"

    def forward(self, args: list[Jet[Numbers]], run: Pass) -> Jet[Numbers]:
        return jets.negate(args[0])

    def derivative(self, args: list[Expression | None]) -> Expression:
        (du,) = varying(args)
        return as_expression(-du)

    def typed(self, k: int, part: Part) -> Origin:
        return ("negative", part(0, k))

    def slopes(self, args: list[Slopes], offsets: Mapping[Index, int], m: int) -> Slopes | None:
        return Slopes(-args[0].value, args[0].row, args[0].axis, -args[0].slope)

    def expand(self, ring: Ring, args: list[Terms]) -> Terms:
        return [{e: -c for e, c in p.items()} for p in args[0]]
