"""Rows that are equalities at some index points, whatever x is: they are divided by what vanishes there.

A curve that starts at zero and is nowhere negative, p(0) = 0 and p(t) >= 0 for all t in [0, 1], has no strictly
feasible point, for p(0) > 0 is impossible; and without one, nothing that an exchange finds is proven to be feasible.
But p(t) is t times another polynomial q(t), and q(t) >= 0 for all t says the same, with room.

In general, a row g(y) = a(y) x - b(y) of polynomials is divided by a factor: by y_i - l at the least value of a
coordinate, by u - y_i at the largest, by t - s inside of an interval, by y_i - y_j where two coordinates are equal.
What is left over does not depend on y_i. If it vanishes for every x that keeps the equalities, which is decided in
rational numbers (`affine_hull`), g is the factor times the quotient q for all these x, and

- where the factor is positive but at the end, g and q are nonpositive for the same x: the end is a limit of points
  where that is so;
- where it changes its sign inside of the index set, q has to vanish where the factor does, if g <= 0 on both sides.
  These are equations too, the program gets them as finite rows, and q is divided by the same factor once more.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import prod
from typing import NamedTuple, TypeAlias

import numpy as np

from ..deadline import EFFORT
from ..domains import Domain
from ..expressions.ring import Polynomial, division
from ..legible import shortened
from ..model.coefficients import formulas
from ..model.families import RowFamily
from ..model.program import STORAGE, Program
from ..model.solid import Flat
from ..model.unbounded import power_text
from ..proof.certificate import Array, Certificate, DataAssumption
from ..proof.linear_algebra import ROUNDING
from .affine_hull import AffineHull, Implied, IndexRow
from .implied_equations import Face, implied, implied_sides, index_points, is_box, meant_rows
from .reduction import Map
from .row_polynomials import RowPolynomials, equations, named_numbers, replaced, row_polynomials, sampled_rows


@dataclass(frozen=True)
class DivisionTuning:
    """Which rows are looked at.

    Parameters
    ----------
    most_entries
        Coefficients of all rows of a family.
    inside, nearly
        Parts of an interval among which points are looked for at which a row vanishes, simple fractions with
        denominators up to that; and what is left of the row there, relative to the row elsewhere. Rows are compared
        with each other at a quarter as many.
    """

    most_entries: int = 2000
    inside: int = 64
    nearly: float = 0.05


TUNING = DivisionTuning()


class Factor(NamedTuple):
    """y_axis - end, or y_axis - y_other: of that `sign` all over the index set, or of both if it is 0."""

    axis: int
    end: Fraction
    other: int | None
    sign: int

    def division(self, rows: RowPolynomials) -> tuple[RowPolynomials, RowPolynomials]:
        """Quotients and rests of polynomials by y_axis - end, or y_axis - y_other."""
        dim = next((len(e) for p in rows for e in p), 0)
        root: Polynomial = {(0,) * dim: self.end} if self.end else {}
        if self.other is not None:
            root = {tuple(int(k == self.other) for k in range(dim)): Fraction(1)}
        pairs = [division(p, self.axis, root) for p in rows]
        return [quotient for quotient, _ in pairs], [rest for _, rest in pairs]

    def at(self, points: Array) -> Array:
        """Points of the index set, moved to where the factor vanishes."""
        moved = points.copy()
        moved[:, self.axis] = float(self.end) if self.other is None else points[:, self.other]
        return moved

    def largest(self, domain: Domain) -> float:
        """What the factor does not exceed in size anywhere."""
        low, high = domain.lower, domain.upper
        first, last = (
            (float(self.end),) * 2 if self.other is None else (float(low[self.other]), float(high[self.other]))
        )
        return max(abs(float(high[self.axis]) - first), abs(last - float(low[self.axis])))

    def text(self, names: tuple[str, ...], power: int) -> str:
        """As one writes it: (1 - t)²."""
        name, end = names[self.axis], f"{abs(float(self.end)):g}"
        if self.other is not None:
            inner = f"({name} - {names[self.other]})"
        elif self.sign < 0:
            inner = f"({'-' * (self.end < 0)}{end} - {name})" if self.end else f"(-{name})"
        else:
            inner = f"({name} {'-' if self.end > 0 else '+'} {end})" if self.end else name
        return power_text(inner, power)

    def value(self, y: Array) -> float:
        """What it is at a point (m,), as rows are divided by it: not below 0, but for what changes its sign."""
        difference = float(y[self.axis]) - (float(self.end) if self.other is None else float(y[self.other]))
        return difference if self.sign >= 0 else -difference


Factored: TypeAlias = dict[int, tuple[tuple[Factor, int], ...]]  # rows: by what they are divided, and its powers


class FactorOutZeros:
    """Quotients in place of rows that vanish at some index points for all x that matter, and equations that follow."""

    def accepts(self, program: Program) -> bool:
        """Whether the program is small enough, and was not looked at before."""
        small = max(program.n, program.A.shape[0]) <= STORAGE.most_dense
        return small and not Quotients.of(program).factors

    def apply(self, program: Program) -> Program:
        """The same program with quotients; itself, where there are none."""
        declared = {
            f: family
            for f, family in enumerate(program.families)
            if formulas(family) is not None and family.columns.size <= TUNING.most_entries
        }
        families, before = list(program.families), -1
        factors: dict[int, Factored] = {}
        points = {
            f: index_points(family, TUNING.inside // 4)
            for f, family in declared.items()
            if is_box(family.domain) and 2**family.domain.dim * len(family.columns) * (program.n + 1) <= EFFORT.batch
        }
        hull = AffineHull.of(
            program, meant_rows(program, [Face(declared[f], declared[f], {}, at) for f, at in points.items()])
        )
        while before != (before := len(hull.added)):  # equations that one family implies may help another
            faces = [
                Face(declared[f], families[f], _divisors(declared[f], factors.get(f, {})), at)
                for f, at in points.items()
            ]
            hull = implied(program, faces, hull)
            for f, family in declared.items():
                families[f], factors[f], hull = _divided(family, hull)
        idle = implied_sides(program, hull)
        if not idle.any() and not hull.added and all(map(operator.is_, families, program.families)):
            return program
        quotients = Quotients(program, factors, tuple(source for _, source in hull.added), _rounding(program, hull))
        reduced = replace(
            program,
            families=tuple(families),
            row_upper=np.where(idle[0], np.inf, program.row_upper),
            row_lower=np.where(idle[1], -np.inf, program.row_lower),
        )
        return replace(hull.stated(reduced), maps=(*program.maps, quotients))


def _rounding(program: Program, hull: AffineHull) -> str:
    """A sentence about finite rows that are taken for others, and equations that doubles do not hold, if there are."""
    rows = sorted({number % program.A.shape[0] for number in hull.sides})
    labels = [program.row_labels[i] if i < len(program.row_labels) else f"row {i}" for i in rows]
    labels = list(dict.fromkeys([*labels, *hull.rounded]))
    if not labels:
        return ""
    most = 4
    more = f" and {len(labels) - most} more" if len(labels) > most else ""
    return (
        "Equations at index points agree with constraints for all index points up to the rounding of their numbers "
        f"to doubles, which is taken for the rounding of the data: {'; '.join(labels[:most])}{more}."
    )


def _divisors(family: RowFamily, factored: Factored) -> dict[int, str]:
    """What rows are divided by, as one writes it."""
    names = family.legend.coordinates
    return {i: " ".join(f.text(names, power) for f, power in factors) for i, factors in factored.items()}


@dataclass(frozen=True, eq=False)
class Quotients(Map):
    """The factors of divided rows, by family and row, and where the last finite rows come from, which nobody wrote."""

    factors: dict[int, Factored] = field(default_factory=dict)
    implied: tuple[Implied, ...] = ()
    rounding: str = ""  # what is taken for the rounding of the data

    def undivided(
        self, family: int, row: int, y: Array, nearly: float
    ) -> tuple[float, list[tuple[Factor, int]], Array]:
        """What a quotient is of the written row at a point: a number, times factors that vanish there, and the point.

        Below the share `nearly` of its range a factor vanishes.
        """
        share, missing = 1.0, []
        for factor, power in self.factors.get(family, {}).get(row, ()):
            value = factor.value(y)
            if abs(value) <= nearly * factor.largest(self.given.families[family].domain):
                missing.append((factor, power))
                y = factor.at(y[None])[0]
            else:
                share /= value**power
        return share, missing, y

    def inverse(self, certificate: Certificate) -> Certificate:
        """Violations are those of the rows that were written: where quotients are 0 at most, 0."""
        if self.rounding and certificate.kind != "none":
            certificate = replace(certificate, assumptions=(*certificate.assumptions, DataAssumption(self.rounding)))
        found = list(certificate.violation)
        for f, rows in self.factors.items() if found else ():
            if rows:
                domain = self.given.families[f].domain
                divisors = (
                    prod(factor.largest(domain) ** power * (1 + power * ROUNDING) for factor, power in row)
                    for row in rows.values()
                )
                found[f] = max(found[f], found[f] * max(divisors) * (1 + ROUNDING), 0.0)
        return replace(certificate, violation=tuple(found))


def tight(program: Program) -> str:
    """A sentence about a row that seems to be an equality at some index points whatever x is, if there is one."""
    hull = AffineHull.of(program)
    for family in (f for f in program.families if formulas(f) is not None):
        for i, (factor, *_) in _suspicious(family, hull).items():
            text = factor.text(family.legend.coordinates, 1)
            row = shortened(family.labels[i], 60)
            return f"{row} seems to be an equality where {text} = 0, whatever x is: divide it by {text}."
    return ""


def _divided(family: RowFamily, hull: AffineHull) -> tuple[RowFamily, Factored, AffineHull]:
    """The family with quotients in place of some rows, their factors, and equations that follow."""
    made: dict[int, RowPolynomials] = {}
    labels: dict[int, str] = {}
    factored: Factored = {}
    # Coordinates of no width are numbers: a rest that is to vanish for all index points says nothing beyond that.
    ends = zip(family.domain.lower.tolist(), family.domain.upper.tolist(), strict=True)
    flat = Flat(True, {j: Fraction(low) for j, (low, high) in enumerate(ends) if low == high})
    for i, factors in _suspicious(family, hull).items():
        rows, columns = row_polynomials(family, i), family.columns[i].tolist()
        if rows is None:
            continue
        rows = [flat.reduced(p) for p in rows]
        if not any(map(hull.reduced, equations(rows, columns, hull.n))):
            made[i] = _idle(columns, family.domain.dim)
            labels[i], factored[i] = "{}, an equality for every index", ()
            continue
        found: dict[Factor, int] = {}
        for factor in factors:
            while True:  # of polynomials, whose degrees fall
                once = _once(rows, columns, factor, hull, _source(family, i, factor, found))
                if once is None:
                    break
                rows, hull = once[0] if any(once[0]) else _idle(columns, family.domain.dim), once[1]
                found[factor] = found.get(factor, 0) + (2 if factor.sign == 0 else 1)
        if found:
            made[i] = rows
            factored[i] = tuple(found.items())
            by = [factor.text(family.legend.coordinates, power) for factor, power in found.items()]
            labels[i] = "({}) / " + (by[0] if len(by) == 1 else f"({' '.join(by)})")
    return (replaced(family, made, labels) if made else family), factored, hull


def _idle(columns: list[int], dim: int) -> RowPolynomials:
    """0 <= 1, which says as little as a row that is an equality for every index."""
    return [*({} for _ in columns), {(0,) * dim: Fraction(1)}]


def _source(family: RowFamily, i: int, factor: Factor, found: dict[Factor, int]) -> Implied:
    """Where equations come from that a division leaves: a row where a factor vanishes that changes its sign."""
    label = f"{family.labels[i]} where {factor.text(family.legend.coordinates, 1)} = 0"
    at = np.full(family.domain.dim, np.nan)
    if factor.other is None:
        at[factor.axis] = float(factor.end)
    by = {**found, factor: found.get(factor, 0) + 1}
    divisors = " ".join(f.text(family.legend.coordinates, power) for f, power in by.items())
    return Implied(label, (IndexRow(family, i, at, divisors),))


def _factors(family: RowFamily, hull: AffineHull) -> Iterator[Factor]:
    """What rows may be divided by: over boxes, and in one dimension, where no point is apart from others."""
    domain = family.domain
    ends = list(zip(domain.lower.tolist(), domain.upper.tolist(), strict=True))
    cells = domain.cells() if domain.bounded and domain.dim == 1 else ()
    line = bool(cells) and all(cell.inside is None and (cell.lower < cell.upper).all() for cell in cells)
    if not (line or is_box(domain)):
        return
    for i, (low, high) in enumerate(ends):
        if low < high:
            yield Factor(i, Fraction(low), None, 1)
            yield Factor(i, Fraction(high), None, -1)
    if domain.dim == 1:
        yield from (Factor(0, Fraction(t), None, 0) for t in _inside(family, hull) if ends[0][0] < t < ends[0][1])
    for j in range(1, domain.dim):
        for i in range(j):
            if min(ends[i][1], ends[j][1]) > max(ends[i][0], ends[j][0]):
                yield Factor(j, Fraction(0), i, 0)


def _inside(family: RowFamily, hull: AffineHull) -> list[float]:
    """Points inside of an interval at which some row may vanish for all x that matter: simple numbers."""
    low, high = family.domain.lower[0], family.domain.upper[0]
    if not is_box(family.domain):
        return []

    def left(points: Array) -> Array:
        """What is left of rows (N, p), beside equalities."""
        return np.abs(hull.projected(sampled_rows(family, hull.n, points[:, None]))).max(axis=-1)

    grid = np.linspace(low, high, TUNING.inside + 1)
    with np.errstate(all="ignore"):
        size = left(grid)
        share = (size / size.max(axis=0)).min(axis=1)
        dips = 1 + np.flatnonzero((share[1:-1] <= np.minimum(share[:-2], share[2:])) & (share[1:-1] < TUNING.nearly))
        found = set()
        for k in dips.tolist():
            near = np.linspace(grid[k - 1], grid[k + 1], TUNING.inside + 1)
            t = near[(left(near) / size.max(axis=0)).min(axis=1).argmin()]
            found |= {float(Fraction(t / unit).limit_denominator(TUNING.inside)) * unit for unit in (1.0, high - low)}
            found |= {v for v in named_numbers(family) if grid[k - 1] < v < grid[k + 1]}
    return sorted(found)


def _suspicious(family: RowFamily, hull: AffineHull) -> dict[int, list[Factor]]:
    """For some rows, the factors where they look as if they vanished for all x that matter."""
    m = family.domain.dim
    if m * m * (m + 3) // 2 * len(family.columns) * (hull.n + 1) > EFFORT.entries:  # what is looked at of all factors
        return {}
    factors = list(_factors(family, hull))
    if not factors:
        return {}
    points = family.domain.spread(m)
    with np.errstate(all="ignore"):
        rows = sampled_rows(family, hull.n, np.concatenate([factor.at(points) for factor in factors]))
        likely = np.isfinite(rows).all(axis=-1) & hull.likely(np.nan_to_num(rows))
    each = np.asarray(likely.reshape(len(factors), len(points), -1).all(axis=1))
    return {
        i: [factor for factor, here in zip(factors, each[:, i], strict=True) if here]
        for i in np.flatnonzero(each.any(axis=0)).tolist()
    }


def _once(
    rows: RowPolynomials, columns: list[int], factor: Factor, hull: AffineHull, source: Implied
) -> tuple[RowPolynomials, AffineHull] | None:
    """A row divided by a factor, twice where that changes its sign, and what follows; None where something is left."""
    quotients, rests = factor.division(rows)
    if not any(quotients) or any(map(hull.reduced, equations(rests, columns, hull.n))):
        return None
    if factor.sign == 0:
        quotients, rests = factor.division(quotients)
        more = hull.extended(equations(rests, columns, hull.n), source)
        return None if more is None else (quotients, more)
    return [{e: factor.sign * c for e, c in q.items()} for q in quotients], hull
