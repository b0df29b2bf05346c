"""Operations across the elements of arrays: rearranging, joining, adding up, and multiplying with a constant matrix."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from itertools import pairwise
from math import prod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..schema import Either, demand, number, whole
from . import jets
from .compiled import Assembler
from .defined import SURE, WILD, Doubt
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
    ends,
    varying,
)
from .interval import Array, Interval, Matrix, apply_matrix
from .jets import Jet, Numbers
from .kinks import choose
from .operands import Ints, Shape
from .operations import Negate
from .printing import Origin, multiple, total
from .ring import Ring, Terms, repeated, summed
from .slopes import Slopes, appended, combined, run_totals


class Gather(Expression):
    """Elements of the argument, in any arrangement: every slice, reshape, transpose and broadcast is one of these."""

    op = "gather"
    schema: ClassVar[Fields] = {**Expression.schema, "index": PLACES}

    def __init__(self, u: Expression, index: NDArray[np.intp]) -> None:
        self.index, self.args, self.shape = index.ravel(), (u,), index.shape

    def with_args(self, *args: Expression) -> Expression:
        return Gather(args[0], self.index.reshape(self.shape))

    @property
    def identity(self) -> bool:
        """Whether every element stays at its place."""
        return self.index.size == self.args[0].size and bool((self.index == np.arange(self.index.size)).all())

    def forward(self, args: list[Jet[Numbers]], run: Pass) -> Jet[Numbers]:
        return jets.each(args[0], lambda v: v[..., self.index])

    def derivative(self, args: list[Expression | None]) -> Expression:
        return self.with_args(*varying(args))

    def doubt(self, args: list[Interval], doubts: list[Doubt], value: Interval, run: Pass) -> Doubt:
        return doubts[0][..., self.index]

    def key(self) -> tuple[Any, ...] | None:
        return (self.shape, self.index.tobytes())

    def moved(self, k: int) -> tuple[Expression, int]:
        return self.args[0], int(self.index[k])

    def file_data(self) -> Step | None:
        return {"index": self.index.tolist()}

    @classmethod
    def read(cls, step: Step, args: list[Expression], where: str) -> Expression:
        index, (u,), shape = step["index"], args, tuple(step["shape"])
        demand(len(index) == prod(shape), f"{where} has another number of places than its shape says.")
        demand(all(j < u.size for j in index), f"{where} takes elements that its argument does not have.")
        return Gather(u, np.array(index, dtype=np.intp).reshape(shape))

    def proven(self, steps: ProofSteps, args: list[list[int]]) -> list[int]:
        return [args[0][i] for i in self.index.tolist()]

    def assemble(self, made: Assembler, args: tuple[int, ...], kink: int) -> int:
        return made.put("gather", self.size, made.deepest(args), args, data=made.listed(self.index))

    def slopes(self, args: list[Slopes], offsets: Mapping[Index, int], m: int) -> Slopes | None:
        return args[0].gathered(self.index)

    def expand(self, ring: Ring, args: list[Terms]) -> Terms:
        return [args[0][k] for k in self.index.tolist()]

    def lanes(self, lanes: Ints, run: Pass) -> Lanes:
        return (yield 0, self.index[lanes])


class Join(Expression):
    """All elements of several arguments, one after another."""

    op, arity = "join", 0
    schema: ClassVar[Fields] = {"args": PLACES}

    def __init__(self, parts: tuple[Expression, ...]) -> None:
        self.sizes = [p.size for p in parts]
        self.args, self.shape = parts, (sum(self.sizes),)

    def with_args(self, *args: Expression) -> Expression:
        return Join(args)

    def forward(self, args: list[Jet[Numbers]], run: Pass) -> Jet[Numbers]:
        parts: list[Any] = [join([jet[d] for jet in args], self.sizes) for d in range(run.order + 1)]
        return Jet(*parts)

    def derivative(self, args: list[Expression | None]) -> Expression:
        zeros = (Constant(np.zeros(part.shape)) for part in self.args)
        return Join(tuple(zero if d is None else d for d, zero in zip(args, zeros, strict=True)))

    def doubt(self, args: list[Interval], doubts: list[Doubt], value: Interval, run: Pass) -> Doubt:
        n = max(len(d) for d in doubts)
        return np.concatenate([np.broadcast_to(d, (n, s)) for d, s in zip(doubts, self.sizes, strict=True)], axis=1)

    def moved(self, k: int) -> tuple[Expression, int]:
        part = int(np.searchsorted(np.cumsum(self.sizes), k, side="right"))
        return self.args[part], k - sum(self.sizes[:part])

    @classmethod
    def read(cls, step: Step, args: list[Expression], where: str) -> Expression:
        return Join(tuple(args))

    def proven(self, steps: ProofSteps, args: list[list[int]]) -> list[int]:
        return [a for part in args for a in part]

    def slopes(self, args: list[Slopes], offsets: Mapping[Index, int], m: int) -> Slopes | None:
        return appended(args)

    def expand(self, ring: Ring, args: list[Terms]) -> Terms:
        return [p for part, size in zip(args, self.sizes, strict=True) for p in repeated(part, size)]

    def lanes(self, lanes: Ints, run: Pass) -> Lanes:
        parts: list[Any] = [None] * 4
        start = 0
        for j, size in enumerate(self.sizes):
            mine = (lanes >= start) & (lanes < start + size)
            if mine.any():
                jet = yield j, np.clip(lanes - start, 0, size - 1)
                for d, part in enumerate(jet):
                    if part is not None:
                        parts[d] = choose(mine, ~mine, part, parts[d], True, run.entries(d))
            start += size
        return Jet(*parts)


class Sum(Expression):
    """The sum over the last axis, of length `k`."""

    op = "sum"
    schema: ClassVar[Fields] = {"args": PLACES}

    def __init__(self, u: Expression, k: int) -> None:
        self.k, self.args, self.shape = k, (u,), u.shape[:-1]

    def with_args(self, *args: Expression) -> Expression:
        return Sum(args[0], self.k)

    def forward(self, args: list[Jet[Numbers]], run: Pass) -> Jet[Numbers]:
        return self._totals(args[0], self.size)

    def derivative(self, args: list[Expression | None]) -> Expression:
        return self.with_args(*varying(args))

    def _totals(self, u: Jet[Numbers], size: int) -> Jet[Numbers]:
        def along(v: Numbers) -> Numbers:
            v = v.reshape(*v.shape[:-1], size, self.k)
            return v.sum() if isinstance(v, Interval) else v.sum(-1)

        return jets.each(u, along)

    def doubt(self, args: list[Interval], doubts: list[Doubt], value: Interval, run: Pass) -> Doubt:
        terms = doubts[0].reshape(len(doubts[0]), self.size, self.k).max(-1, initial=SURE)
        return super().doubt(args, [terms], value, run)

    def key(self) -> tuple[Any, ...] | None:
        return (self.k,)

    def typed(self, k: int, part: Part) -> Origin:
        return ("spelled", total([part(0, k * self.k + j) for j in range(self.k)]))

    @classmethod
    def read(cls, step: Step, args: list[Expression], where: str) -> Expression:
        (u,) = args
        demand(u.shape, f"{where} needs an argument with an axis.")
        return Sum(u, u.shape[-1])

    def proven(self, steps: ProofSteps, args: list[list[int]]) -> list[int]:
        return [steps.step("add", *args[0][i : i + self.k]) for i in range(0, len(args[0]), self.k)]

    def assemble(self, made: Assembler, args: tuple[int, ...], kink: int) -> int:
        return made.put("sum", self.size, made.deepest(args), args, width=self.k)

    def slopes(self, args: list[Slopes], offsets: Mapping[Index, int], m: int) -> Slopes | None:
        return run_totals(args[0], self.k, m)

    def expand(self, ring: Ring, args: list[Terms]) -> Terms:
        return [summed(args[0][i : i + self.k]) for i in range(0, len(args[0]), self.k)]

    def lanes(self, lanes: Ints, run: Pass) -> Lanes:
        n, s = lanes.shape
        wide = (lanes[:, :, None] * self.k + np.arange(self.k)).reshape(n, s * self.k)
        u = jets.each((yield 0, wide), lambda v: ends(v, lambda e: np.broadcast_to(e, (*e.shape[:-2], n, s * self.k))))
        return self._totals(u, s)


class Linear(Expression):
    """A constant matrix, dense or sparse, applied to all elements of the argument."""

    op = "linear"
    schema: ClassVar[Fields] = {**Expression.schema, "rows": Either([NUMBERS], [[[number]]])}

    def __init__(self, matrix: Matrix, u: Expression, shape: Shape) -> None:
        self.matrix, self.args, self.shape = matrix, (u,), shape

    def with_args(self, *args: Expression) -> Expression:
        return Linear(self.matrix, args[0], self.shape)

    def forward(self, args: list[Jet[Numbers]], run: Pass) -> Jet[Numbers]:
        m = self.matrix
        return jets.each(args[0], lambda v: v.linear(m) if isinstance(v, Interval) else apply_matrix(m, v))

    def derivative(self, args: list[Expression | None]) -> Expression:
        return self.with_args(*varying(args))

    def doubt(self, args: list[Interval], doubts: list[Doubt], value: Interval, run: Pass) -> Doubt:
        """A zero of the matrix makes nan of what is infinite, unless it is not stored: then nobody knows."""
        u = args[0]
        doubtful = (doubts[0] != SURE) | np.isinf(u.lo) | np.isinf(u.hi)
        return super().doubt(args, [np.where(doubtful.any(-1, keepdims=True), WILD, SURE)], value, run)

    def key(self) -> tuple[Any, ...] | None:
        return None

    def content(self) -> Any:
        return (self.matrix,)

    def typed(self, k: int, part: Part) -> Origin:
        dense = isinstance(self.matrix, np.ndarray)
        row = sparse.csr_array(np.atleast_2d(self.matrix[k]) if dense else self.matrix[[k]])
        entries = zip(row.indices.tolist(), row.data.tolist(), strict=True)
        return ("spelled", total([multiple(v, part(0, j)) for j, v in entries if v]))

    def file_data(self) -> Step | None:
        return {"rows": matrix_rows(self.matrix)}

    @classmethod
    def read(cls, step: Step, args: list[Expression], where: str) -> Expression:
        rows, (u,), shape = step["rows"], args, tuple(step["shape"])
        demand(len(rows) == prod(shape), f"{where} has another number of rows than its shape says.")
        if all(not row or not isinstance(row[0], list) for row in rows) and any(rows):
            demand(all(len(row) == u.size for row in rows), f"{where} has rows of another length than its argument.")
            return Linear(np.array(rows, dtype=float), u, shape)
        pairs = [(i, *pair) for i, row in enumerate(rows) for pair in row]
        fits = all(len(p) == 3 and whole(p[1]) and p[1] < u.size for p in pairs)
        demand(fits, f"{where} needs pairs of a column and a number.")
        i, j, v = (list(part) for part in zip(*pairs, strict=True)) if pairs else ([], [], [])
        table = sparse.coo_matrix((np.array(v, dtype=float), (i, j)), shape=(len(rows), u.size))
        demand(len({(a, b) for a, b, _ in pairs}) == len(pairs), f"{where} has two numbers at one place.")
        return Linear(sparse.csr_matrix(table), u, shape)

    def proven(self, steps: ProofSteps, args: list[list[int]]) -> list[int]:
        return [_weighted(steps, row, args[0]) for row in matrix_rows(sparse.csr_matrix(self.matrix))]

    def assemble(self, made: Assembler, args: tuple[int, ...], kink: int) -> int:
        matrix = sparse.csr_array(self.matrix)
        data, numbers = made.listed(np.concatenate([matrix.indptr, matrix.indices])), made.numbers(matrix.data)
        return made.put("linear", self.size, made.deepest(args), args, data=data, numbers=numbers)

    def slopes(self, args: list[Slopes], offsets: Mapping[Index, int], m: int) -> Slopes | None:
        return combined(self.matrix, args[0], m)

    def expand(self, ring: Ring, args: list[Terms]) -> Terms:
        matrix = sparse.coo_array(self.matrix)
        found: Terms = [{} for _ in range(matrix.shape[0])]
        for i, j, v in zip(matrix.row.tolist(), matrix.col.tolist(), matrix.data.tolist(), strict=True):
            if v and args[0][j]:
                factor, total = Fraction(v), found[i]
                for e, c in args[0][j].items():
                    total[e] = total.get(e, 0) + factor * c
        return [{e: c for e, c in p.items() if c} for p in found]


def matrix_rows(matrix: Any) -> list[Any]:
    """A dense matrix as rows of numbers, a sparse one as rows of pairs [column, number]."""
    if not sparse.issparse(matrix):
        found: list[Any] = np.asarray(matrix).tolist()
        return found
    table = sparse.csr_array(matrix)
    pairs = [[j, v] for j, v in zip(table.indices.tolist(), table.data.tolist(), strict=True)]
    return [pairs[a:b] for a, b in pairwise(table.indptr.tolist())]


def _weighted(steps: ProofSteps, row: list[list[Any]], args: list[int]) -> int:
    """A sum of multiples, as a step of a proof."""
    terms = [(args[j], v) for j, v in row if v != 0]
    return steps.step("linear", *(a for a, _ in terms), weights=[v for _, v in terms])


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


def broadcast(u: Expression, shape: Shape) -> Expression:
    """`u` repeated to `shape`; scalars stay scalars, since every rule broadcasts them."""
    return u if u.size == 1 else full(u, shape)


def full(u: Expression, shape: Shape) -> Expression:
    """`u` repeated to exactly `shape`."""
    if u.shape == shape:
        return u
    if isinstance(u, Constant) and not u.rounded:
        return Constant(np.broadcast_to(u.value, shape))
    return Gather(u, np.broadcast_to(np.arange(u.size).reshape(u.shape), shape))
