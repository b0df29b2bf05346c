"""Units: the same program with variables, rows, families and an objective of about size one, and the way back.

Whoever writes a model measures power in kilowatts or gigawatts, and a constraint in whatever it is written in. Nothing
that a solver decides may depend on that. So every program is equilibrated before anything is decided, and everything
that is said of it is translated back. Factors are powers of two: multiplying by them rounds nothing, and what is proven
of the one program is proven of the other, number for number.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from ..deadline import PACE, afford
from ..domains import Cell, Domain
from ..domains.proven import LOST
from ..expressions.graph import Index
from ..expressions.interval import NORMAL, TINY, Interval
from ..expressions.polynomials import Polynomial
from ..expressions.tape import Quadratic
from ..lifetime import Remembered
from ..model.families import RowFamily
from ..model.linear_form import LinearForm
from ..model.peaks import inherit, largest, points_of
from ..model.program import STORAGE, Program
from ..oracles.base import Enclosure, EnclosureMemory, Ints, Pieces, Weighted
from .certificate import Certificate

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class ScalingTuning:
    """How units are chosen in which a program is equilibrated.

    Parameters
    ----------
    accuracy, iterations
        Of the fit of factors in large models.
    reweighted, settled
        How often entries are weighed anew by how small they came out, at most, and the change of an exponent that ends
        it.
    most_table
        Rows times columns up to which the fit is exact, by a table.
    nothing
        Right-hand sides smaller than bounds of variables by so many powers of two say nothing.
    farthest
        The largest exponent of a factor, so that nothing over- or underflows.
    """

    accuracy: float = 1e-8
    iterations: int = 200
    reweighted: int = 20
    settled: float = 0.1
    most_table: int = 1_000_000
    nothing: int = 60
    farthest: int = 400


TUNING = ScalingTuning()


@dataclass(frozen=True, eq=False)
class Scaling:
    """Powers of two: x = columns x', row' = rows row, rows of families likewise, objective' = objective times it."""

    columns: Array  # (n,)
    rows: Array  # (r,), of the finite rows
    families: tuple[Array, ...]  # (p,) each, of their rows
    objective: float

    @cached_property
    def trivial(self) -> bool:
        """Whether there is nothing to do."""
        every = np.concatenate([self.columns, self.rows, *self.families, [self.objective]])
        return bool((every == 1.0).all())

    def apply(self, program: Program) -> Program:
        """The program in these units."""
        if self.trivial:
            return program
        d, r, s = self.columns, self.rows, self.objective
        A = program.A
        if A.nnz:
            A = A.copy()
            A.data = A.data * np.repeat(r, np.diff(A.indptr)) * d[A.indices]  # in place: explicit zeros are kept
        return replace(
            program,
            c=s * (program.c * d),
            constant=s * program.constant,
            lower=program.lower / d,
            upper=program.upper / d,
            A=A,
            row_lower=r * program.row_lower,
            row_upper=r * program.row_upper,
            families=tuple(
                ScaledFamily(family, f, d) for family, f in zip(program.families, self.families, strict=True)
            ),
            integer=np.zeros(0, dtype=bool),  # whole numbers are no longer whole in other units
        )

    def extended(self, program: Program) -> Scaling | None:
        """These units for a program that may have more families, which come last; None where they are none of it.

        They need not be the best.
        """
        known, rows = [len(f) for f in self.families], [len(f.columns) for f in program.families]
        alike = len(self.columns) == program.n and len(self.rows) == program.A.shape[0]
        if not alike or known != rows[: len(known)]:
            return None
        found = self
        if len(rows) > len(known):
            more = (largest(f)[0] * self.columns[f.columns] for f in program.families[len(known) :])
            sizes = [a.max(axis=1, initial=0.0) for a in more]
            new = (_power(-np.log2(np.where((v > 0) & np.isfinite(v), v, 1.0))) for v in sizes)
            found = replace(self, families=(*self.families, *new))
        return found if found.exact(program) else None

    def exact(self, program: Program) -> bool:
        """Whether nothing of the program over- or underflows in these units: powers of two round nothing else."""
        d, r, s = self.columns, self.rows, self.objective
        A = program.A
        return (
            _reversible(program.c, d, np.full(program.n, s))
            and _reversible(program.lower, 1 / d)
            and _reversible(program.upper, 1 / d)
            and _reversible(A.data, np.repeat(r, np.diff(A.indptr)), d[A.indices])
            and _reversible(program.row_lower, r)
            and _reversible(program.row_upper, r)
            and _reversible(np.array([program.constant]), np.array([s]))
        )

    def returns(self, certificate: Certificate) -> bool:
        """Whether a certificate of the program in these units is, number for number, one in given units."""
        if self.trivial:
            return True
        s = 1.0 if certificate.kind == "infeasible" else self.objective
        factors = np.array([float(self.families[a.family][a.component]) for a in certificate.support])
        weights = np.array([a.multiplier for a in certificate.support])
        rows = certificate.row_multipliers
        return (
            _reversible(certificate.x, self.columns)
            and (not len(certificate.box) or _reversible(certificate.box, self.columns))
            and _reversible(weights, factors, np.full(len(factors), 1 / s))
            and (not len(rows) or _reversible(rows, self.rows, np.full(len(rows), 1 / s)))
        )

    def violation(self, family: int, value: float) -> float:
        """The violation of a family in these units as one in given units, whichever of its rows it is that of."""
        factors = self.families[family]
        return value / float(factors.max() if value <= 0 else factors.min())

    def to_given(self, certificate: Certificate) -> Certificate:
        """A certificate of the program in these units as one of the program itself."""
        moved = self._moved(certificate, self.columns, self.rows, self.families, self.objective)
        return replace(moved, violation=self._each(certificate.violation), drift=self._each(certificate.drift))

    def _each(self, values: tuple[float, ...]) -> tuple[float, ...]:
        return tuple(self.violation(f, v) for f, v in enumerate(values))

    def to_scaled(self, certificate: Certificate) -> Certificate:
        """A certificate of the program as one of the program in these units."""
        moved = self._moved(
            certificate, 1 / self.columns, 1 / self.rows, tuple(1 / f for f in self.families), 1 / self.objective
        )
        each = zip(certificate.violation, self.families, strict=False)
        return replace(
            moved, violation=tuple(v * float(f.max() if v <= 0 else f.min()) for v, f in each), drift=certificate.drift
        )

    def _moved(
        self, certificate: Certificate, d: Array, r: Array, families: tuple[Array, ...], s: float
    ) -> Certificate:
        """All that these factors multiply."""
        if self.trivial:
            return certificate
        if certificate.kind == "infeasible":
            s = 1.0  # the combination of rows has no objective
        multipliers = certificate.row_multipliers
        return replace(
            certificate,
            x=d * certificate.x,
            lower=_divided(certificate.lower, s, -np.inf),
            upper=_divided(certificate.upper, s, np.inf),
            support=tuple(
                a.weighing(a.multiplier * float(families[a.family][a.component]) / s) for a in certificate.support
            ),
            row_multipliers=multipliers * r / s if len(multipliers) else multipliers,
            units=d * certificate.units if len(certificate.units) else certificate.units,
            direction=None if certificate.direction is None else _unit(d * certificate.direction),
            box=d * certificate.box if len(certificate.box) else certificate.box,
        )


def _reversible(values: Array, *factors: Array) -> bool:
    """Whether values times factors, one after the other, are undone by dividing by them."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        for factor in factors:
            moved = values * factor
            if not (moved / factor == values).all() or (np.isinf(moved) != np.isinf(values)).any():
                return False
            values = moved
    return True


def _divided(bound: float, unit: float, outward: float) -> float:
    """A bound in another unit; one that underflows is moved outward."""
    value = bound / unit
    return float(np.nextafter(value, outward)) if value * unit != bound else value


def _unit(direction: Array) -> Array:
    """A direction of about unit length; a power of two rounds nothing."""
    largest = float(np.abs(direction).max(initial=0.0))
    return direction * 2.0 ** -np.round(np.log2(largest)) if 0 < largest < np.inf else direction


def identity(program: Program) -> Scaling:
    """The units that the program has."""
    return Scaling(
        np.ones(program.n), np.ones(program.A.shape[0]), tuple(np.ones(len(f.columns)) for f in program.families), 1.0
    )


_known = Remembered[Program, Scaling]()
_scaled = Remembered[Program, Program]()


def scaling_of(program: Program) -> Scaling:
    """The units in which a program is equilibrated; found once."""
    if program not in _known:
        _known[program] = equilibrated(program)
    return _known[program]


def scaled(program: Program) -> Program:
    """The program in those units; what is learnt about its families is kept as long as the program is."""
    units = scaling_of(program)
    if units.trivial:  # a value that is its own key would be kept for ever
        return program
    if program not in _scaled:
        _scaled[program] = units.apply(program)
    return _scaled[program]


def equilibrated(program: Program) -> Scaling:
    """Units that bring entries near 1, then rows of size 1, right-hand sides about 1, an objective of size 1."""
    found = None if program.cones is not None else _balanced(program)  # those are equilibrated where they are solved
    return found if found is not None and found.exact(program) else identity(program)


def objective_unit(program: Program) -> float:
    """What the costs that matter are about 1 in, in units of the objective."""
    if program.cones is None:
        return 1.0 / scaling_of(program).objective
    found = _balanced(program)
    return 1.0 / found.objective if found is not None else float(np.abs(program.c).max(initial=0.0))


def _balanced(program: Program) -> Scaling | None:
    """These units by finite rows and families; None where there are no numbers."""
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
    objective = -costs
    starts = np.cumsum([program.A.shape[0], *(len(f.columns) for f in program.families)])
    finite, *families = np.split(_power(rows), starts[:-1])
    return Scaling(_power(columns), finite, tuple(families), float(_power(np.array(objective))))


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
    return level if by_bounds is None else np.where(level < by_bounds - TUNING.nothing, by_bounds, level)


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


def _power(exponents: Array) -> Array:
    """Powers of two next to these exponents."""
    found: Array = 2.0 ** np.clip(np.round(exponents), -TUNING.farthest, TUNING.farthest)
    return found


def _fitted(i: Ints, j: Ints, entry: Array, sides: Array, parts: tuple[Ints, Ints]) -> tuple[Array, Array]:
    """Exponents with which entries and right-hand sides are as near to 1 as can be (after Curtis & Reid, 1972).

    These are least squares, in which right-hand sides are a column without a factor; entries that come out far below 1
    count by how far and not by its square, since they do no harm: they are negligible. In other units of the model the
    exponents are others by just these units, so that the program that is solved is the same.
    """
    rows, columns = len(sides), len(parts[1])
    told = np.flatnonzero((sides > 0) & np.isfinite(sides))
    level = np.log2(sides[told])
    small = min(rows, columns) <= STORAGE.most_dense and rows * columns <= TUNING.most_table
    fit = _eliminated if small else _iterated
    weights, r, c = np.ones(len(entry)), np.zeros(rows), np.zeros(columns)
    for _ in range(TUNING.reweighted):
        before = r[i] + c[j]
        r, c = fit(i, j, entry, weights, told, level, parts, (r, c))
        left = entry + r[i] + c[j]
        weights = 1.0 / np.maximum(-left, 1.0)
        if (weights == 1.0).all() or np.abs(r[i] + c[j] - before).max() < TUNING.settled:
            break
    return r, c


def _iterated(
    i: Ints,
    j: Ints,
    entry: Array,
    weights: Array,
    told: Ints,
    level: Array,
    parts: tuple[Ints, Ints],
    near: tuple[Array, Array],
) -> tuple[Array, Array]:
    """The solution of these least squares in large models, from one that may be near."""
    from scipy.sparse.linalg import lsqr

    rows, columns, roots = len(parts[0]), len(parts[1]), np.sqrt(weights)
    every, right = np.arange(len(i)), len(i) + np.arange(len(told))
    at, of = np.concatenate([every, every, right]), np.concatenate([i, rows + j, told])
    target = -np.concatenate([roots * entry, level])
    values = np.concatenate([roots, roots, np.ones(len(told))])
    matrix = sparse.csr_matrix((values, (at, of)), (len(target), rows + columns))
    afford(TUNING.iterations * matrix.nnz / PACE.sparse, "units")  # two products each
    found = lsqr(
        matrix,
        target,
        atol=TUNING.accuracy,
        btol=TUNING.accuracy,
        iter_lim=TUNING.iterations,
        x0=np.concatenate(near),
    )[0]
    return found[:rows], found[rows:]


def _eliminated(
    i: Ints,
    j: Ints,
    entry: Array,
    weights: Array,
    told: Ints,
    level: Array,
    parts: tuple[Ints, Ints],
    near: tuple[Array, Array],
) -> tuple[Array, Array]:
    """The shortest solution of these least squares, by their normal equations: of rows and columns, the more go first.

    Where no right-hand side is told, what rows gain columns may lose; there the exponents of those that stay are held
    together by a term that vanishes at the solution.
    """
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


class ScaledFamily:
    """A family whose rows are multiplied by factors, for variables in other units."""

    def __init__(self, inner: RowFamily, factors: Array, columns: Array) -> None:
        self.inner, self._b = inner, factors
        self._a: Array = factors[:, None] * columns[inner.columns]  # (p, K)
        self._rows = np.concatenate([self._a, factors[:, None]], axis=1)  # (p, K + 1)
        self._flat = np.concatenate([self._a.ravel(), factors])  # as tapes order them
        inherit(self, inner)

    @property
    def name(self) -> str:
        return self.inner.name

    @property
    def domain(self) -> Domain:
        return self.inner.domain

    @property
    def columns(self) -> Ints:
        return self.inner.columns

    @property
    def labels(self) -> tuple[str, ...]:
        return self.inner.labels

    @property
    def coordinates(self) -> tuple[str, ...]:
        return self.inner.coordinates

    @property
    def indices(self) -> tuple[Index, ...]:
        return self.inner.indices

    @property
    def enclosable(self) -> bool:
        return self.inner.enclosable

    @property
    def differentiable(self) -> bool:
        return self.inner.differentiable

    @property
    def smooth(self) -> bool:
        return bool(getattr(self.inner, "smooth", False))

    @property
    def data_key(self) -> Hashable:
        return self.inner.data_key, self._rows.tobytes()

    @property
    def memory(self) -> EnclosureMemory:
        return self.inner.memory

    @property
    def lipschitz(self) -> tuple[float, float] | None:
        given = self.inner.lipschitz
        return None if given is None else (given[0] * float(self._a.max(initial=0.0)), given[1] * float(self._b.max()))

    @cached_property
    def linear(self) -> LinearForm | None:
        return _form(self.inner.linear, self._rows)

    @property
    def visible(self) -> Domain:
        return self.inner.visible

    @property
    def shown(self) -> int:
        return self.inner.shown

    def rows(self, y: Array) -> tuple[Array, Array]:
        a, b = self.inner.rows(y)
        return a * self._a, b * self._b

    def chosen(self, y: Array, component: Ints) -> tuple[Array, Array]:
        a, b = self.inner.chosen(y, component)
        return a * self._a[component], b * self._b[component]

    def chosen_derivatives(self, y: Array, component: Ints) -> tuple[Array, Array, Array] | None:
        parts = self.inner.chosen_derivatives(y, component)
        if parts is None:
            return None
        v, g, h = (part * self._rows[component] for part in parts)
        return v, g, h

    def largest(self) -> float:
        return self.inner.largest() * float(self._a.max(initial=0.0))

    def steepest(self) -> float:
        return self.inner.steepest() * float(self._a.max(initial=0.0))

    def affine_in(self, used: Mask) -> LinearForm | None:
        return _form(self.inner.affine_in(used), self._a)

    def enclosed(self, lower: Array, upper: Array, component: Ints) -> tuple[Interval, Interval]:
        a, b = self.inner.enclosed(lower, upper, component)
        return _multiplied(a, self._a[component]), _multiplied(b, self._b[component])

    def quadratics(self, cell: Cell) -> Enclosure:
        inner = self.inner.quadratics(cell)

        def enclose(
            lower: Array, upper: Array, pieces: Pieces, order: int
        ) -> tuple[Quadratic, Quadratic | None, Mask | None]:
            rows, sides, straddles = inner(lower, upper, pieces, order)
            found = Quadratic(*(part * self._flat for part in rows))
            return found._replace(error=found.error + LOST), sides, straddles  # whatever underflowed

        return enclose

    def unscaled(self, weights: Array, spread: Array | None) -> Weighted | None:
        for part in (weights,) if spread is None else (weights, spread):
            if not _reversible(part, self._rows):
                return None
        return Weighted(self.inner, weights * self._rows, None if spread is None else spread * self._rows)

    def fractions(self, y: Array, component: Ints) -> list[list[Fraction]] | None:
        found = self.inner.fractions(y, component)
        if found is None:
            return None
        factors = [[Fraction(v) for v in row] for row in self._rows[:, :-1].tolist()]
        return [[u * v for u, v in zip(row, factors[c], strict=True)] for row, c in zip(found, component, strict=True)]

    def polynomial(self, component: int, weights: Array) -> Polynomial | None:
        factors = self._rows[component]
        moved = weights * factors
        same = (moved / factors == weights).all()  # what underflows is another polynomial
        return self.inner.polynomial(component, moved) if same else None

    def trusts(self, domain: Domain) -> tuple[str, ...]:
        return self.inner.trusts(domain)

    def undefined_at(self) -> str | None:
        return self.inner.undefined_at()

    def identity(self) -> Iterator[object]:
        yield from self.inner.identity()
        yield self._flat


def _form(form: LinearForm | None, factors: Array) -> LinearForm | None:
    """The coefficients of rows times powers of two; what underflows is doubt. None if something overflows."""
    if form is None:
        return None
    own = factors.ravel()[form.place]
    with np.errstate(over="ignore", under="ignore"):
        value, slope = form.value * factors, form.slope * own
        found = replace(
            form,
            value=value,
            value_doubt=_doubt(form.value_doubt, value, form.value, factors),
            slope=slope,
            slope_doubt=_doubt(form.slope_doubt, slope, form.slope, own),
        )
    numbers = (found.value, found.value_doubt, found.slope, found.slope_doubt)
    return found if all(np.isfinite(part).all() for part in numbers) else None


def _doubt(doubt: Array, scaled: Array, given: Array, factors: Array) -> Array:
    """The doubt about scaled numbers: that about the given ones, and what underflow may have taken of either."""
    lost = (doubt > 0) | (scaled / factors != given)
    return np.where(lost, np.nextafter(doubt * factors, np.inf) + TINY, 0.0)


def _multiplied(u: Interval, factor: Array | float) -> Interval:
    """Intervals times powers of two; what underflows is rounded outward."""
    lo, hi = u.lo * factor, u.hi * factor
    lost = lo / factor != u.lo, hi / factor != u.hi
    if u.exact and not lost[0].any():
        return Interval(lo, lo)
    lo = np.where(lost[0] & (np.abs(lo) < NORMAL), np.nextafter(lo, -np.inf), lo)
    hi = np.where(lost[1] & (np.abs(hi) < NORMAL), np.nextafter(hi, np.inf), hi)
    large = np.finfo(float).max  # what overflows is larger than every double, and no more is known of it
    lo = np.where((lo == np.inf) & (u.lo < np.inf), large, lo)
    return Interval(lo, np.where((hi == -np.inf) & (u.hi > -np.inf), -large, hi))
