"""Monomials in the coordinates of the index, with derivatives in closed form.

`np.prod(y ** exponents, axis=-1)` is how polynomials in several variables are written. Every derivative of a monomial
is a multiple of another monomial, so one table of powers a coordinate serves the values and all derivatives; pushing
jets through the product would cost several times as much, and intervals would widen on the way.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache, reduce
from itertools import pairwise
from math import prod
from operator import mul
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..errors import ModelError
from ..schema import demand
from .compiled import Assembler
from .defined import MAYBE, SURE, Doubt
from .graph import PLACES, Expression, Fields, Index, Part, Pass, ProofSteps, Step, as_expression, varying
from .interval import Array, Interval
from .jets import Jet, Numbers, tetrahedron, triangle
from .limits import LIMITS
from .powers import power
from .printing import Origin
from .ring import Ring, Terms


class Monomials(Expression):
    """y^e for every row e of `exponents` (K, m), whole numbers >= 0."""

    op = "monomials"
    schema: ClassVar[Fields] = {**Expression.schema, "exponents": [PLACES]}
    args: tuple[Index]

    def __init__(self, index: Index, exponents: NDArray[np.intp], shape: tuple[int, ...]) -> None:
        self.args, self.exponents, self.shape = (index,), exponents, shape
        self._plans: dict[int, tuple[list[Any], Array, list[int]]] = {}

    def key(self) -> tuple[Any, ...] | None:
        return (self.shape, self.exponents.tobytes())

    def forward(self, args: list[Jet[Numbers]], run: Pass) -> Jet[Numbers]:
        y = args[0].value  # (N, m)
        dim, start = run.y.shape[-1], run.offsets[self.args[0]]
        m = self.exponents.shape[1]
        if run.order not in self._plans:
            self._plans[run.order] = self._plan(run.order)
        lookup, factor, ends = self._plans[run.order]
        result: Any = None
        for i, left in enumerate(lookup):
            table = power(y[:, i : i + 1], np.arange(left.max(initial=0) + 1.0))  # (N, degree + 1)
            part = table[:, left]  # (N, levels, K)
            result = part if result is None else result * part
        result = result * factor if run.order else result
        blocks = [_levels_first(result[:, a:b]) for a, b in pairwise(ends)]
        return Jet(blocks[0][0], *(_embed(b, d, m, dim, start) for d, b in enumerate(blocks[1:], start=1)))

    def derivative(self, args: list[Expression | None]) -> Expression:
        along: Any = varying(args)[0]  # constant, in the direction of one coordinate
        (k,) = np.flatnonzero(along.value)
        lower = self.exponents.copy()
        lower[:, k] = np.maximum(lower[:, k] - 1, 0)
        factor = self.exponents[:, k].astype(float).reshape(self.shape)
        return as_expression(factor * Monomials(self.args[0], lower, self.shape))

    def with_index(self, y: Expression) -> Expression:
        factors = [np.reshape(y, (-1,))[i] ** e.astype(float) for i, e in enumerate(self.exponents.T)]
        return as_expression(np.reshape(reduce(mul, factors), self.shape))

    def typed(self, k: int, part: Part) -> Origin:
        powers = [(j, int(e)) for j, e in enumerate(self.exponents[k]) if e]
        factors: list[Any] = [("power", part(0, j), e) if e > 1 else part(0, j) for j, e in powers]
        return ("spelled", reduce(lambda a, b: ("multiply", a, b), factors) if factors else 1.0)

    def file_data(self) -> Step | None:
        few = self.exponents.max(initial=0) <= LIMITS.most_unlisted
        return {"exponents": self.exponents.tolist()} if few else None

    @classmethod
    def read(cls, step: Step, args: list[Expression], where: str) -> Expression:
        exponents, (u,), shape = step["exponents"], args, tuple(step["shape"])
        if not isinstance(u, Index):
            raise ModelError(f"{where} needs an index as its argument.")
        fits = len(exponents) == prod(shape) > 0 and all(len(row) == u.size for row in exponents)
        demand(fits, f"{where} has other exponents than its shape and its argument say.")
        most = LIMITS.most_unlisted
        demand(max(map(max, exponents)) <= most, f"{where} has an exponent above {most}.")
        return Monomials(u, np.array(exponents, dtype=np.intp), shape)

    def proven(self, steps: ProofSteps, args: list[list[int]]) -> list[int]:
        return [_product(steps, args[0], row) for row in self.exponents.tolist()]

    def assemble(self, made: Assembler, args: tuple[int, ...], kink: int) -> int:
        start, width, degree = made.offsets[self.args[0]], self.exponents.shape[1], int(self.exponents.max(initial=0))
        data = made.listed(self.exponents)
        return made.put("monomials", self.size, 3, (), data=data, offset=start, width=width, degree=degree)

    def expand(self, ring: Ring, args: list[Terms]) -> Terms:
        start, m = ring.offsets[self.args[0]], self.exponents.shape[1]
        before, after = (0,) * start, (0,) * (ring.dim - start - m)
        return [{(*before, *map(int, e), *after): Fraction(1)} for e in self.exponents.tolist()]

    def doubt(self, args: list[Interval], doubts: list[Doubt], value: Interval, run: Pass) -> Doubt:
        """Coordinates are finite; their powers may overflow, and meet a zero."""
        return np.where(np.isfinite(value.lo) & np.isfinite(value.hi), SURE, MAYBE)

    def _plan(self, order: int) -> tuple[list[Any], Array, list[int]]:
        """For every coordinate the power left of it (levels, K) in each derivative, factors, and where orders begin."""
        counts = _orders(self.exponents.shape[1], order)[:, None, :]  # (levels, 1, m)
        factor = np.ones((len(counts), len(self.exponents)))
        for step in range(order):
            factor *= np.where(counts > step, np.maximum(self.exponents - step, 0), 1).prod(axis=2)
        ends = np.cumsum([0] + [len(o) for o in _by_order(self.exponents.shape[1], order)]).tolist()
        return list(np.moveaxis(np.maximum(self.exponents - counts, 0), 2, 0)), factor, ends


def _product(steps: ProofSteps, index: list[int], exponents: list[int]) -> int:
    """A product of powers of coordinates, as a step of a proof."""
    powers = [steps.power(a, k) for a, k in zip(index, exponents, strict=True) if k]
    found = powers[0] if powers else steps.step("constant", value=1.0)
    for factor in powers[1:]:
        found = steps.step("multiply", found, factor)
    return found


def _levels_first(block: Numbers) -> Numbers:
    """(N, levels, K) as (levels, N, K)."""
    if isinstance(block, np.ndarray):
        return block.transpose(1, 0, 2)
    return block.each(lambda v: v.transpose(1, 0, 2))


@cache
def _by_order(m: int, order: int) -> tuple[Any, ...]:
    """How often each coordinate is differentiated, for every stored derivative of each order."""
    unit = np.eye(m, dtype=np.intp)
    i, j = triangle(m)
    a, b, c = tetrahedron(m)[:3]
    return (np.zeros((1, m), dtype=np.intp), unit, unit[i] + unit[j], unit[a] + unit[b] + unit[c])[: order + 1]


@cache
def _orders(m: int, order: int) -> Any:
    return np.concatenate(_by_order(m, order))


def _embed(block: Numbers, order: int, m: int, dim: int, start: int) -> Numbers:
    """Derivatives in the coordinates of one index as derivatives in all coordinates of the family."""
    if dim == m:
        return block
    full = _by_order(dim, order)[order]
    position = {tuple(row): k for k, row in enumerate(full.tolist())}
    rows = []
    for row in _by_order(m, order)[order].tolist():
        wide = [0] * dim
        wide[start : start + m] = row
        rows.append(position[tuple(wide)])

    def spread(v: Array) -> Array:
        out = np.zeros((len(full), *v.shape[1:]))
        out[rows] = v
        return out

    return spread(block) if isinstance(block, np.ndarray) else block.each(spread)
