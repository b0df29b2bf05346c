"""What was solved, in the words of who wrote it: families, index points and multipliers.

Solvers see other rows than those that were written: parts of a constraint over an unbounded set (`model.unbounded`),
quotients of rows that vanish at some points (`reductions.factor_out_zeros`) with the equations that follow, rows of a
lifted index for rules in pieces (`expressions.folds`). A row of theirs is a factor times the written one, so a
multiplier times that factor is the multiplier of the written row. Where the factor is zero or infinite, the written row
has no multiplier, and that of the limit is shown, with what the row was divided by.

A quotient q = g / d is exact for all x that keep the equalities of the model only: g = d q + κ (A x - b). What κ
contributes belongs to the multipliers of these equalities, and is found by least squares.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..expressions.convex_rows import ConvexConstraint
from ..model.families import RowFamily
from ..model.program import Program
from ..model.restated import BoundedPart
from ..model.statements import ForAll
from ..model.unbounded import Placement
from ..proof.certificate import Array, Certificate, Support
from ..reductions.affine_hull import FiniteSide
from ..reductions.factor_out_zeros import Quotients
from ..reductions.unbounded_charts import Charts
from .active import TUNING, ActivePoint, near, one, room, together
from .dual_fit import MultiplierTerm, Use, WrittenMultipliers, fitted, on_bound, on_row
from .mixtures import on_graph
from .written import WrittenFamily, unbounded_family, written_family


@dataclass(frozen=True, eq=False)
class Reading:
    """A program as it was written: its families, and where the rows that solvers see stand in them."""

    program: Program
    certificate: Certificate
    negligible: float  # the share of all multipliers below which an atom is no active point
    families: tuple[WrittenFamily, ...]
    rows: dict[tuple[int, int], tuple[int, int]]  # (family, row) of solvers: the number of a written one, and its row
    places: dict[Any, tuple[int, int, int]]  # statements: the number of a written family, and from which row to which

    @classmethod
    def of(cls, program: Program, certificate: Certificate, negligible: float) -> Reading:
        """What was written, as far as the program knows, and what a certificate says of it."""
        layout = program.layout
        places = {} if layout is None else layout.places
        owners: dict[int, list[tuple[Any, Any]]] = {}  # families of parts: each part, and its place
        of_part = {part: s for s, said in ({} if layout is None else layout.restated).items() for part in said}
        for statement, place in places.items():
            if isinstance(statement, BoundedPart) and place.family is not None:
                owners.setdefault(place.family, []).append((statement, place))
        families: list[WrittenFamily] = []
        rows: dict[tuple[int, int], tuple[int, int]] = {}
        held: dict[Any, tuple[int, int, int]] = {}
        numbers: dict[int, int] = {}
        for f, family in enumerate(program.families):
            if f not in owners:
                numbers[f] = len(families)
                families.append(written_family(program.written.families[f], f))
                rows |= {(f, i): (numbers[f], i) for i in range(len(family.columns))}
                continue
            for part, place in owners[f]:
                whole = of_part[part]
                if whole not in held:
                    held[whole] = len(families), 0, whole.constraint.body.size
                    families.append(unbounded_family(program, whole, part.placement))
                number = held[whole][0]
                families[number] = replace(families[number], parts=(*families[number].parts, f))
                rows |= {(f, place.start + i): (number, i) for i in range(place.end - place.start)}
        for statement, place in places.items():
            if place.family in numbers:
                held[statement] = numbers[place.family], place.start, place.end
        return cls(program, certificate, negligible, tuple(families), rows, held)

    # ---- the dual measure --------------------------------------------------------------------------------------------

    @cached_property
    def active(self) -> tuple[ActivePoint, ...]:
        """The dual measure: atoms that lie close together are one, heaviest first, without the lightest."""
        merged = self._merged(self.certificate.support, self.negligible)
        entries = [entry for s in merged for entry in self._entries(s)] + self.multipliers.points
        joined: list[ActivePoint] = []
        for entry in entries:
            for k, other in enumerate(joined):
                if self._same(entry, other):
                    joined[k] = replace(other, multiplier=other.multiplier + entry.multiplier)
                    break
            else:
                joined.append(entry)
        return tuple(sorted(joined, key=lambda a: -abs(a.multiplier)))

    @staticmethod
    def _same(a: ActivePoint, b: ActivePoint) -> bool:
        """Whether two entries are of one constraint at one point."""
        if (a.family, a.constraint, a.divided_by) != (b.family, b.constraint, b.divided_by):
            return False
        with np.errstate(invalid="ignore"):
            here = (a.point == b.point) | (np.abs(a.point - b.point) <= TUNING.same * np.abs(a.point))
        return bool(here.all()) and (a.direction is None or bool((a.direction == b.direction).all()))

    def _merged(self, support: tuple[Support, ...], least: float) -> list[Support]:
        """Atoms of what people see of the rows of solvers, without those that weigh nothing."""
        groups: dict[tuple[int, int], list[list[Support]]] = {}
        weight = sum(max(s.multiplier, 0.0) for s in support)
        for s in sorted(support, key=lambda s: -s.multiplier):
            if s.multiplier * len(support) <= least * weight:  # nor would all that follow together be shown
                break
            family = self.program.families[s.family]
            close = near(family)
            s = replace(s, point=s.point[: family.legend.shown], multiplier=s.multiplier * room(family, s))
            clusters = groups.setdefault((s.family, self._element(s.family, s.component)), [])
            for cluster in clusters:
                if (np.abs(cluster[0].point - s.point) <= close).all() and together(family, [*cluster, s]):
                    cluster.append(s)
                    break
            else:
                clusters.append([s])
        found = [one(self.program.families[f], cluster) for (f, _), each in groups.items() for cluster in each]
        total = sum(s.multiplier for s in found)
        return [s for s in found if s.multiplier > least * total]

    def _element(self, family: int, row: int) -> int:
        """The first row that is about the same element of a constraint as this one."""
        return self._elements.get((family, row), row)

    @cached_property
    def _elements(self) -> dict[tuple[int, int], int]:
        found: dict[tuple[int, int], int] = {}
        for statement, place in {} if self.program.layout is None else self.program.layout.places.items():
            constraint = statement.constraint if isinstance(statement, ForAll) else statement
            if place.family is None or not isinstance(constraint, ConvexConstraint) or constraint.elements is None:
                continue
            first: dict[int, int] = {}
            for i, element in enumerate(constraint.elements.tolist()):
                found[place.family, place.start + i] = first.setdefault(element, place.start + i)
        return found

    def _entries(self, s: Support, divided: bool = True) -> Iterator[ActivePoint]:
        """An atom of solvers, or of its undivided row, as points of the written family with their multipliers."""
        number, row = self.rows[s.family, s.component]
        written, placement = self.families[number], self.placements.get((s.family, s.component))
        factor, missing, z = self._factor(s) if divided else (1.0, [], s.point)
        label, weight, divisors = written.labels[row], s.multiplier * factor, []
        places: list[tuple[float, Array, Array | None]]
        if placement is None:
            places = [(share, point, None) for share, point in self._declared(written, z)]
        else:
            degree, scale = placement.degrees[row], placement.scale(z)
            if not scale:  # at infinity, where the row is divided by a power of the index
                far = [(f, power) for f, power in missing if f.other is None and f.axis == placement.scale_axis]
                missing = [pair for pair in missing if pair not in far]
                degree, scale = degree - sum(power for _, power in far), placement.length
                divisors.append(placement.divisor(written.coordinates, degree))
            places = [(scale**degree, *placement.point(z))]
        names = self.program.families[s.family].legend.coordinates
        by = " ".join(filter(None, [*divisors, *(f.text(names, power) for f, power in missing)]))
        for share, point, direction in places:
            yield ActivePoint(label, point, share * weight, number, row, by, direction)

    def point(self, s: Support) -> Array:
        """The point of the declared set that a row of solvers is about."""
        placement = self.placements.get((s.family, s.component))
        return s.point if placement is None else placement.point(s.point)[0]

    def _factor(self, s: Support) -> tuple[float, list[tuple[Any, int]], Array]:
        """What the row of solvers is of the undivided one, without factors that vanish, these, and the point."""
        z, placement = s.point, self.placements.get((s.family, s.component))
        if placement is not None and placement.scale_axis is not None and placement.scale(z) <= TUNING.same:
            z = z.copy()
            z[placement.scale_axis] = 0.0
        return self.quotients.undivided(s.family, s.component, z, TUNING.vanishing)

    @cached_property
    def placements(self) -> dict[tuple[int, int], Placement]:
        """By (family, row) of solvers: where the points of charts of unbounded sets are."""
        return {row: placement for row, (placement, _) in Charts.of(self.program).placements.items()}

    @cached_property
    def quotients(self) -> Quotients:
        """What rows were divided by."""
        return Quotients.of(self.program)

    def _declared(self, written: WrittenFamily, z: Array) -> list[tuple[float, Array]]:
        """A point of the rows as points of the declared indices, with shares that add up to one."""
        if written.declared is None:
            return [(1.0, z)]
        shares = on_graph(written.rows.legend.indices, z)
        # Over other sets than boxes, rows of the lifted index say more than written ones, and need not be a mixture.
        inside = shares and written.visible.contains(np.array([point for _, point in shares]), TUNING.same).all()
        return shares if shares and inside else [(1.0, z[written.declared])]

    # ---- equations that nobody wrote ---------------------------------------------------------------------------------

    @cached_property
    def reduced(self) -> Array:
        """c plus all multipliers times their rows, as the solver has them: (n,)."""
        program, rows = self.program, self.certificate.row_multipliers
        reduced = program.c + (program.A.T @ rows[: program.A.shape[0]] if len(rows) else 0.0)
        for s in self.certificate.support:
            reduced = reduced + s.multiplier * self._row(program.families[s.family], s.component, s.point)[:-1]
        return reduced

    @cached_property
    def multipliers(self) -> WrittenMultipliers:
        """Multipliers of written rows that say what quotients, implied equations and implied bounds do."""
        program, certificate, count = self.program, self.certificate, self.program.written.A.shape[0]
        given = certificate.row_multipliers
        rows = np.zeros(program.finite_rows) if not len(given) else np.array(given)
        nothing = WrittenMultipliers(np.delete(rows, np.arange(count, program.A.shape[0])), np.zeros(program.n), [])
        divided = {f for f, rows in self.quotients.factors.items() if rows}
        unpaid = self._unpaid()
        if not divided and not self.quotients.implied and not len(unpaid):
            return nothing
        target = np.zeros(program.n + 1)
        target[unpaid] = -self.reduced[unpaid]
        target[-1] = target[unpaid] @ certificate.x[unpaid]
        for s in certificate.support:
            if s.family in divided:
                factor, missing, z = self._factor(s)
                if not missing:
                    target += s.multiplier * self._row(program.families[s.family], s.component, s.point)
                    target -= s.multiplier * factor * self._row(program.written.families[s.family], s.component, z)
        extra = rows[count : program.A.shape[0]]
        table = np.column_stack([program.A.toarray(), program.row_upper])
        target += extra @ table[count:] if len(extra) else 0.0
        if not target.any():
            return nothing
        terms = [*self._terms(table), *(self._binding(table) if len(unpaid) else ())]
        weights = fitted(target, terms)
        if weights is None:
            return nothing
        found = WrittenMultipliers(nothing.rows.copy(), np.zeros(program.n), [])
        found.costs[unpaid] += self.reduced[unpaid]
        for term, value in zip(terms, weights.tolist(), strict=True):
            if value:
                term.use(found, value)
        return found

    def _unpaid(self) -> NDArray[np.intp]:
        """Variables whose reduced cost no bound of theirs pays for.

        A proof may use bounds that rows imply, as -x = 3 does, whatever the sign; the multiplier belongs to these rows.
        """
        program, certificate = self.program, self.certificate
        if certificate.kind != "optimal" or not len(certificate.x):
            return np.zeros(0, dtype=np.intp)
        bound = np.where(self.reduced > 0, program.lower, program.upper)
        matters = np.abs(self.reduced) > TUNING.vanishing * np.abs(program.c).max(initial=0.0)
        with np.errstate(invalid="ignore"):
            slack = np.where(matters, np.abs(self.reduced * (certificate.x - bound)), 0.0)
        size = np.abs(program.c * certificate.x).max(initial=0.0)
        return np.flatnonzero(slack > 2 * (certificate.upper - certificate.lower) + TUNING.vanishing * size)

    def _binding(self, table: Array) -> Iterator[MultiplierTerm]:
        """Sides of written inequalities that hold as equations."""
        program, count = self.program, self.program.written.A.shape[0]
        value = np.asarray(program.A[:count] @ self.certificate.x)
        size = np.asarray(abs(program.A[:count]) @ np.abs(self.certificate.x))
        for sides, sign in ((program.row_upper[:count], 1.0), (program.row_lower[:count], -1.0)):
            unequal = program.row_lower[:count] != program.row_upper[:count]
            for i in np.flatnonzero(unequal & (np.abs(value - sides) <= TUNING.vanishing * size)).tolist():
                yield MultiplierTerm(sign * np.append(table[i, :-1], sides[i]), 0.0, on_row(i, sign))

    def _terms(self, table: Array) -> Iterator[MultiplierTerm]:
        """All that may stand for quotients and implied equations."""
        program, count = self.program, self.program.written.A.shape[0]
        for i in np.flatnonzero(program.row_lower[:count] == program.row_upper[:count]).tolist():
            yield MultiplierTerm(table[i], -np.inf, on_row(i))
        for j in np.flatnonzero(program.lower == program.upper).tolist():
            unit = np.zeros(program.n + 1)
            unit[j], unit[-1] = 1.0, program.lower[j]
            yield MultiplierTerm(unit, -np.inf, on_bound(j))
        for k, source in enumerate(self.quotients.implied):
            for row in source.rows:
                if isinstance(row, FiniteSide):
                    yield MultiplierTerm(row.values, 0.0, self._on_side(row.number, count))
                elif row.values is None:
                    yield MultiplierTerm(
                        table[count + k], -np.inf, self._at(row.family, row.row, row.at, row.divided_by)
                    )
                else:
                    yield MultiplierTerm(row.values, 0.0, self._at(row.family, row.row, row.at, row.divided_by))

    def _on_side(self, number: int, rows: int) -> Use:
        """Where a multiplier goes of a side of one of so many finite rows, or of a variable."""
        if number < 2 * rows:
            return on_row(number % rows, 1.0 if number < rows else -1.0)
        number -= 2 * rows
        return on_bound(number % self.program.n, 1.0 if number < self.program.n else -1.0)

    def _row(self, family: RowFamily, component: int, point: Array) -> Array:
        """A row of a family at a point (m,), with the right-hand side last: (n + 1,)."""
        a, b = family.chosen(point[None], np.array([component]))
        row = np.zeros(self.program.n + 1)
        np.add.at(row, family.columns[component], a[0])
        row[-1] = b[0]
        return row

    def _at(self, family: RowFamily, row: int, at: Array, divided_by: str = "") -> Use:
        """Where a multiplier of a row of a family at a point goes."""
        f = next(f for f, other in enumerate(self.program.written.families) if other is family)

        def use(found: WrittenMultipliers, value: float) -> None:
            entries = self._entries(Support(f, row, at, value), divided=False)
            if divided_by:
                entries = (replace(entry, multiplier=value, divided_by=divided_by) for entry in entries)
            found.points.extend(entries)

        return use
