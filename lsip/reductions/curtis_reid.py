"""The units of an equilibrated program: a fit of exponents after Curtis & Reid (1972), then the level of each part."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from ..deadline import EFFORT, PACE, afford
from ..model.peaks import largest, points_of
from ..model.program import STORAGE, Program
from ..oracles.base import Ints
from ..proof.certificate import Array

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class ScalingTuning:
    """How units are chosen in which a program is equilibrated.

    Parameters
    ----------
    iterations
        Of the fit of factors in large models.
    reweighted
        How often entries are weighed anew by how small they came out, at most.
    """

    iterations: int = 200
    reweighted: int = 20


TUNING = ScalingTuning()
DOUBLES = np.finfo(np.float64)


def fitted_units(program: Program) -> tuple[Array, Array, tuple[Array, ...], float] | None:
    """Powers of two for columns, finite rows, rows of families and the objective; None where there are no numbers.

    They bring entries near 1, then rows to size 1, right-hand sides to about 1, and the objective to size 1.
    """
    i, j, size, sides = _entries(program)
    if not len(size):
        return None
    entry = np.log2(size)
    parts = _parts(i, j, len(sides), program.n)
    rows, columns = _fitted(i, j, entry, sides, parts)  # exponents of factors
    most = np.full(len(rows), -np.inf)
    np.maximum.at(most, i, entry + columns[j])
    rows = np.where(np.isfinite(most), -most, 0.0)
    part_of_row, part_of_column = parts
    known = (sides > 0) & np.isfinite(sides) & np.isfinite(most)
    told = np.log2(sides[known]) + rows[known]
    level = _levels(
        told, part_of_row[known], _bound_level(program, columns), max(part_of_row.max(), part_of_column.max())
    )
    columns, rows = columns + level[part_of_column], rows - level[part_of_row]
    costs, dear = _costs(program, (i, j, entry + rows[i] + columns[j]), columns, len(rows))
    columns = columns - 0.5 * dear
    again = np.full(len(rows), -np.inf)
    np.maximum.at(again, i, entry + columns[j])
    rows = np.where(np.isfinite(most), -again, rows)
    starts = np.cumsum([program.A.shape[0], *(len(f.columns) for f in program.families)])
    finite, *families = np.split(power_of_two(rows), starts[:-1])
    return power_of_two(columns), finite, tuple(families), float(power_of_two(np.array(-costs)))


def _costs(program: Program, entries: tuple[Ints, Ints, Array], columns: Array, rows: int) -> tuple[float, Array]:
    """The size of the costs that matter, and by how much each column costs more than that (n,), as exponents.

    Where the objective pulls a variable to a finite bound, only a row that is broken there makes anyone pay for it, and
    the cheapest column that moves the row will do: what another one costs says nothing of the objective. A variable in
    no row just stays at its bound, and its cost counts.
    """
    i, j, entry = entries
    c = program.c
    some = c != 0
    cost = np.where(some, np.log2(np.abs(c, where=some, out=np.ones(len(c)))) + columns, -np.inf)
    bound = np.where(c > 0, program.lower, program.upper)
    paid = some & np.isfinite(bound)
    if not some.any():
        return 0.0, np.zeros(len(c))
    in_rows = np.bincount(j, minlength=len(c)) > 0
    usual = float(cost[some & ~(paid & in_rows)].max(initial=-np.inf))
    price = np.full(rows, np.inf)
    np.minimum.at(price, i[paid[j]], (cost[j] - entry)[paid[j]])
    needed = np.isfinite(price) & (price > usual)
    if needed.any():
        broken = needed & _broken(program, np.where(paid, bound, np.clip(0.0, program.lower, program.upper)))
        usual = max(usual, float(price[broken if broken.any() else needed].max()))
    return usual, np.where(paid, np.maximum(cost - usual, 0.0), 0.0)


def _broken(program: Program, x: Array) -> Mask:
    """Which rows do not hold at x, as far as a few index points tell."""
    value = program.A @ x
    parts = [(value < program.row_lower) | (value > program.row_upper)]
    parts += [
        (program.violation(f, x).values(points_of(family)) > 0).any(axis=0) for f, family in enumerate(program.families)
    ]
    return np.concatenate(parts)


def _levels(told: Array, part: Ints, by_bounds: float | None, last: int) -> Array:
    """The size of the variables in every part, by right-hand sides, unless bounds say that these are nothing.

    A spike between the sampled points leaves right-hand sides of 1e-100. Bounds alone tell little: most are generous.
    """
    usual = float(np.median(told)) if len(told) else by_bounds or 0.0
    level = np.full(int(last) + 1, usual)
    for p in np.unique(part) if last else ():  # parts that share no variable have nothing else in common
        level[p] = np.median(told[part == p])
    return level if by_bounds is None else np.where(level < by_bounds - DOUBLES.nmant, by_bounds, level)


def _bound_level(program: Program, columns: Array) -> float | None:
    """What the bounds of variables say of their size; None without any."""
    bounds = np.abs(np.concatenate([program.lower, program.upper]))
    known = (bounds > 0) & np.isfinite(bounds)
    return float(np.median(np.log2(bounds[known]) - np.tile(columns, 2)[known])) if known.any() else None


def _parts(i: Ints, j: Ints, rows: int, columns: int) -> tuple[Ints, Ints]:
    """Which rows and columns hang together; columns in no row belong to the first part."""
    if len(i) and np.bincount(i).max() >= columns and np.bincount(j, minlength=columns).max() >= rows:
        return np.zeros(rows, dtype=np.intp), np.zeros(columns, dtype=np.intp)  # a row and a column that meet all
    graph = sparse.csr_matrix((np.ones(len(i)), (i, rows + j)), (rows + columns, rows + columns))
    _, part = connected_components(graph, directed=False)
    _, part = np.unique(part, return_inverse=True)
    of_row, of_column = part[:rows], part[rows:]
    return of_row, np.where(np.isin(of_column, of_row), of_column, of_row[:1].max(initial=0))


def power_of_two(exponents: Array) -> Array:
    """Powers of two next to these exponents, two of which can be multiplied with each other."""
    farthest = (DOUBLES.maxexp - DOUBLES.nmant) // 2
    found: Array = 2.0 ** np.clip(np.round(exponents), -farthest, farthest)
    return found


Exponents: TypeAlias = tuple[Array, Array]  # of the factors of rows and of columns


class Entries(NamedTuple):
    """Exponents of entries with their rows and columns, those of right-hand sides with their rows, and the parts."""

    i: Ints
    j: Ints
    entry: Array
    told: Ints
    level: Array
    parts: tuple[Ints, Ints]


def _fitted(i: Ints, j: Ints, entry: Array, sides: Array, parts: tuple[Ints, Ints]) -> Exponents:
    """Exponents with which entries and right-hand sides are as near to 1 as can be (after Curtis & Reid, 1972).

    These are least squares, in which right-hand sides are a column without a factor; entries that come out far below 1
    count by how far and not by its square, since they do no harm: they are negligible. In other units of the model the
    exponents are others by just these units, so that the program that is solved is the same.
    """
    rows, columns = len(sides), len(parts[1])
    told = np.flatnonzero((sides > 0) & np.isfinite(sides))
    level = np.log2(sides[told])
    small = min(rows, columns) <= STORAGE.most_dense and rows * columns <= EFFORT.entries
    fit = _eliminated if small else _iterated
    weights, r, c = np.ones(len(entry)), np.zeros(rows), np.zeros(columns)
    for _ in range(TUNING.reweighted):
        before = r[i] + c[j]
        r, c = fit(Entries(i, j, entry, told, level, parts), weights, (r, c))
        left = entry + r[i] + c[j]
        weights = 1.0 / np.maximum(-left, 1.0)
        # Powers of two are rounded by half an exponent.
        if (weights == 1.0).all() or np.abs(r[i] + c[j] - before).max() < 0.5:
            break
    return r, c


def _iterated(e: Entries, weights: Array, near: Exponents) -> Exponents:
    """The solution of these least squares in large models, from one that may be near."""
    from scipy.sparse.linalg import lsqr

    i, j, entry, told, level, parts = e
    rows, columns, roots = len(parts[0]), len(parts[1]), np.sqrt(weights)
    every, right = np.arange(len(i)), len(i) + np.arange(len(told))
    at, of = np.concatenate([every, every, right]), np.concatenate([i, rows + j, told])
    target = -np.concatenate([roots * entry, level])
    values = np.concatenate([roots, roots, np.ones(len(told))])
    matrix = sparse.csr_matrix((values, (at, of)), (len(target), rows + columns))
    afford(TUNING.iterations * matrix.nnz / PACE.sparse, "units")  # two products each
    accuracy, x0 = np.sqrt(DOUBLES.eps), np.concatenate(near)
    found = lsqr(matrix, target, atol=accuracy, btol=accuracy, iter_lim=TUNING.iterations, x0=x0)[0]
    return found[:rows], found[rows:]


def _eliminated(e: Entries, weights: Array, near: Exponents) -> Exponents:
    """The shortest solution of these least squares, by their normal equations: of rows and columns, the more go first.

    Where no right-hand side is told, what rows gain columns may lose; there the exponents of those that stay are held
    together by a term that vanishes at the solution.
    """
    i, j, entry, told, level, parts = e
    shape = len(parts[0]), len(parts[1])
    table = np.bincount(i * shape[1] + j, weights, minlength=shape[0] * shape[1]).reshape(shape)
    counts = [table.sum(axis=1) + np.bincount(told, minlength=shape[0]), table.sum(axis=0)]
    target = [-np.bincount(i, weights * entry, shape[0]), -np.bincount(j, weights * entry, shape[1])]
    np.subtract.at(target[0], told, level)
    stay, go = (0, 1) if shape[0] <= shape[1] else (1, 0)
    across = table if stay == 0 else table.T
    share = across / np.where(counts[go] > 0, counts[go], 1.0)
    loose = ~np.isin(parts[stay], parts[0][told])
    system = np.diag(np.where(counts[stay] > 0, counts[stay], 1.0)) - share @ across.T
    system += loose[:, None] & loose & (parts[stay][:, None] == parts[stay])
    found: list[Array] = [np.zeros(0), np.zeros(0)]
    found[stay] = np.asarray(np.linalg.solve(system, target[stay] - share @ target[go]), dtype=np.float64)
    found[go] = (target[go] - across.T @ found[stay]) / np.where(counts[go] > 0, counts[go], 1.0)
    used = counts[0] > 0, counts[1] > 0
    for part in np.setdiff1d(parts[0][used[0]], parts[0][told]):
        ours = [(parts[k] == part) & used[k] for k in (0, 1)]
        shift = (found[0][ours[0]].sum() - found[1][ours[1]].sum()) / (ours[0].sum() + ours[1].sum())
        found[0][ours[0]] -= shift
        found[1][ours[1]] += shift
    return found[0], found[1]


def _entries(program: Program) -> tuple[Ints, Ints, Array, Array]:
    """Nonzero sizes with rows and columns, of finite rows and of families, one row each; and sizes of the sides."""
    A = program.A
    i = [np.repeat(np.arange(A.shape[0]), np.diff(A.indptr))]
    j, size = [np.asarray(A.indices, dtype=np.intp)], [np.abs(A.data)]
    low, high = (np.where(np.isfinite(v), np.abs(v), 0.0) for v in (program.row_lower, program.row_upper))
    sides = [np.maximum(low, high)]
    start = A.shape[0]
    for family in program.families:
        most, right = largest(family)
        i.append(np.repeat(start + np.arange(len(most)), most.shape[1]))
        j.append(family.columns.ravel())
        size.append(most.ravel())
        sides.append(right)
        start += len(most)
    rows, columns, sizes = np.concatenate(i), np.concatenate(j), np.concatenate(size)
    known = (sizes > 0) & np.isfinite(sizes)
    return rows[known], columns[known], sizes[known], np.concatenate(sides)
