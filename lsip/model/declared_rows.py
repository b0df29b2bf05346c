"""Rows that are formulas of the index: values, derivatives, enclosures, and what is known in rational numbers."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from copy import copy
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from ..deadline import EFFORT
from ..domains import Cell, Domain
from ..errors import ModelError
from ..expressions.arrangements import Join, picked
from ..expressions.chart import CellChart
from ..expressions.graph import Expression, Index
from ..expressions.interval import EPS, Interval
from ..expressions.jets import triangle
from ..expressions.lanes import enclose_lanes, evaluate_lanes
from ..expressions.parameter import Values, current, depending
from ..expressions.parametric_region import at_values, moved_by
from ..expressions.polynomials import Polynomials
from ..expressions.quadratics import Quadratic
from ..expressions.ring import Polynomial
from ..expressions.slopes import Slopes
from ..expressions.tape import Tape
from ..expressions.undefined import UndefinedPlace, where_undefined
from ..expressions.waves import Waves
from ..oracles.base import Array, Enclosure, Ints, Pieces, Renewal
from .bilinear import BilinearRows
from .legend import Legend
from .linear_form import LinearForm


@dataclass(frozen=True)
class RowsTuning:
    """Which rows are evaluated.

    Parameters
    ----------
    many
        With more rows an index, those that nobody asks for are left out; fewer are evaluated together about as fast.
    """

    many: int = 16


TUNING = RowsTuning()


class DeclaredRows:
    """p rows of K coefficients and a right-hand side: the expressions `outputs`, (p K,) and (p,)."""

    enclosable = True
    differentiable = True
    FOUND_OUT: ClassVar[tuple[str, ...]] = (
        "linear",
        "polynomials",
        "coefficient_polynomials",
        "waves",
        "undefined",
    )  # when asked

    def __init__(
        self,
        legend: Legend,
        domain: Domain,
        outputs: tuple[Expression, Expression],
        values: Values | None = None,
        origins: tuple[Hashable, ...] = (),
    ) -> None:
        """`origins` (p,) say where the rows come from: rows of one origin differ by parameters alone."""
        self.legend, self.indices = legend, legend.indices
        self.written_domain, self.outputs = domain, outputs
        self.domain = at_values(domain, current(moved_by(domain)) if values is None else values)
        self.tape = Tape(outputs, self.indices, values=values)
        p = outputs[1].size
        self.shape = p, outputs[0].size // p
        own = object()  # so that no other rows are taken for these
        self.origins = origins or tuple((own, i) for i in range(p))
        self._parts: dict[bytes, Tape] = {}  # of numbers that depend on parameters

    def __getstate__(self) -> dict[str, Any]:
        """Without what was found out about it."""
        return {**{k: v for k, v in vars(self).items() if k not in self.FOUND_OUT}, "_parts": {}}

    def bound(self, values: Values) -> Self:
        """The rows for these values of their parameters."""
        tape, domain = self.tape.bound(values), at_values(self.written_domain, values)
        return self if tape is self.tape and domain is self.domain else self.changed(tape=tape, domain=domain)

    def changed(self, **parts: object) -> Self:
        """The same rows but for some parts, without what was found out about them."""
        other = copy(self)
        vars(other).update(parts, _parts=self._parts)
        return other

    @property
    def data_key(self) -> Hashable:
        """Which rows they are, how many coefficients they have, and the values of parameters."""
        return self.origins, self.shape[1], tuple((p, v.tobytes()) for p, v in self.tape.known.items())

    def identity(self) -> Iterator[object]:
        """The steps that compute the rows."""
        tape = self.tape
        for node, args in zip(tape.written.nodes, tape.written.args, strict=True):
            own = (tape.offsets[node],) if isinstance(node, Index) else node.content()
            yield type(node).__name__, args, own

    # ---- values and derivatives --------------------------------------------------------------------------------------

    @property
    def form(self) -> LinearForm | BilinearRows | None:
        """What the rows are evaluated by, if they are sums of numbers times coordinates."""
        return self.linear

    def rows(self, y: Array) -> tuple[Array, Array]:
        if self.form is not None:
            table = self.form.table(y)
            return table[..., :-1], table[..., -1]
        p, k = self.shape
        flat = self._finite(y, self.tape.values(y))
        return flat[:, : p * k].reshape(-1, p, k), flat[:, p * k :]

    def _finite(self, y: Array, values: Array) -> Array:
        """Values (N, …) at points (N, m), if all of them are finite."""
        known = np.isfinite(values).all(axis=-1)
        if not known.all():
            bad = y[int(np.argmin(known))]
            where = ", ".join(f"{c} = {v:.6g}" for c, v in zip(self.legend.coordinates, bad, strict=True))
            raise ModelError(
                f"{self.legend.name} is not defined at {where}: a coefficient or right-hand side is nan or infinite "
                "there. Restrict the domain or rewrite the expression."
            )
        return values

    def chosen(self, y: Array, component: Ints) -> tuple[Array, Array]:
        if self.form is not None:
            table = self.form.at(y, component)
        elif self._asks_little(len(y), 1):
            table = self._finite(y, evaluate_lanes(self.tape, y, self.lanes(component), 0)[0])
        else:
            points, back = _unique_runs(y)
            a, b = self.rows(points)
            return a[back, component], b[back, component]
        return table[:, :-1], table[:, -1]

    def chosen_derivatives(self, y: Array, component: Ints) -> tuple[Array, Array, Array]:
        if self.linear is not None:
            slope = self.linear.slopes(component)
            return self.linear.at(y, component), slope, np.zeros((0, *slope.shape[1:]))
        lanes, levels = self.lanes(component), 1 + self.tape.dim + len(triangle(self.tape.dim)[0])
        if self._asks_little(len(y), levels):
            return evaluate_lanes(self.tape, y, lanes, 2)
        v, g, h = self.tape.derivatives(y)
        if self.shape[0] == 1:
            return v, g, h
        return tuple(np.take_along_axis(part, lanes[(None,) * (part.ndim - 2)], axis=-1) for part in (v, g, h))  # type: ignore[return-value]

    def lanes(self, component: Ints) -> Ints:
        """Which of all numbers are those of some rows, with the right-hand side last."""
        p, k = self.shape
        return np.concatenate([component[:, None] * k + np.arange(k), p * k + component[:, None]], axis=1)

    def _asks_little(self, points: int, levels: int) -> bool:
        """Whether a row at each of so many points is so little of all rows there that the others are left out."""
        p, k = self.shape
        return p > TUNING.many and (not self.tape.compiled or points * levels * p * k > EFFORT.batch)

    # ---- enclosures --------------------------------------------------------------------------------------------------

    def enclosed(self, lower: Array, upper: Array, component: Ints) -> Interval:
        if self.form is not None and (self.linear is not None or (lower == upper).all()):
            return self.form.enclosed(lower, upper, component)
        lanes = self.lanes(component)
        if self.shape[0] > TUNING.many and not self.tape.kink_count:
            return enclose_lanes(self.tape, lower, upper, lanes)
        box = self.tape.enclose(lower, upper)
        if (lower == upper).all():
            box = self._sharpened(lower, box)
        return box[np.arange(len(lower))[:, None], lanes]

    def _sharpened(self, y: Array, box: Interval) -> Interval:
        """All numbers at points, (N, p K + p), again without rounding where enclosures are wide.

        They are where large terms have cancelled, or many steps have followed each other, as in recurrences.
        """
        size = np.maximum(np.abs(box.lo), np.abs(box.hi)).max(axis=0, initial=0.0)
        wide = np.flatnonzero((box.hi - box.lo > 64 * EPS * size).any(axis=1))
        if not len(wide) or self.polynomials is None:
            return box
        exact = self.polynomials.at(y[wide], [range(box.shape[1])] * len(wide))
        lo, hi = box.lo.copy(), box.hi.copy()
        lo[wide], hi[wide] = exact.lo, exact.hi
        return Interval(lo, hi)

    def beside_jumps(self, y: Array, component: Ints) -> Array:
        """Points next to y with the same rows, where y itself sits on a jump.

        Doubles do not tell there on which side of the jump y is, so that an enclosure of a row has both.
        """
        if not self.tape.jumps:
            return y
        value, moved = np.column_stack(self.chosen(y, component)), y.copy()
        for n in np.flatnonzero(self._doubtful(y, component)):
            axes = np.spacing(np.abs(y[n]).max(initial=1.0)) * np.eye(y.shape[1])
            beside = [y[n] + 4.0**k * sign * axes for k in range(8) for sign in (1.0, -1.0)]
            moved[n] = self._first_alike(np.concatenate(beside), int(component[n]), value[n], y[n])
        return moved

    def _first_alike(self, points: Array, component: int, value: Array, otherwise: Array) -> Array:
        """The first of some points of the set at which a row is enclosed and has this value."""
        lower, upper = self.domain.witness(points)
        points = points[(lower == points).all(axis=1) & (upper == points).all(axis=1)]
        if not len(points):
            return otherwise
        rows = np.full(len(points), component)
        off = np.abs(np.column_stack(self.chosen(points, rows)) - value).max(axis=1)
        near = off <= np.sqrt(EPS) * np.abs(value).max()
        fits = np.flatnonzero(near & ~self._doubtful(points, rows))
        return np.asarray(points[fits[0]]) if len(fits) else otherwise

    def _doubtful(self, y: Array, component: Ints) -> NDArray[np.bool_]:
        """At which points a row is enclosed less sharply than rounding explains."""
        box = self.enclosed(y, y, component)
        size = np.maximum(np.abs(box.lo), np.abs(box.hi)).max(axis=1, initial=0.0)
        found: NDArray[np.bool_] = ~((box.hi - box.lo).max(axis=1, initial=0.0) <= np.sqrt(EPS) * size)
        return found

    def taped(self, cell: Cell) -> Tape:
        """All numbers as functions of the coordinates of a cell that no inequalities cut."""
        return self._over(CellChart(cell, self.indices)) if cell.place else self.tape

    def _over(self, chart: CellChart, *others: Expression) -> Tape:
        return Tape((*self.outputs, *others), chart.indices, chart.instead, self.tape.known)

    def quadratics(self, cell: Cell) -> Enclosure:
        if cell.inside is None:
            return self.taped(cell).quadratics
        chart = CellChart(cell, self.indices)
        inside = cell.inside(chart.coordinates)
        tape = self._over(chart, inside)

        def enclose(
            lower: Array, upper: Array, pieces: Pieces, order: int
        ) -> tuple[Quadratic, Quadratic | None, NDArray[np.bool_] | None]:
            outputs, kinks, straddles = tape.quadratics(lower, upper, pieces, order)
            size = outputs.value.shape[-1] - inside.size
            rows = Quadratic(*(f[..., :size] for f in outputs))
            sides = Quadratic(*(f[..., size:] for f in outputs))
            if kinks is not None:
                sides = Quadratic(*(np.concatenate([k, s], axis=-1) for k, s in zip(kinks, sides, strict=True)))
            return rows, sides, straddles

        return enclose

    def renewal(self, cell: Cell, before: Hashable) -> Renewal | None:
        """The numbers of other rows, and those that depend on parameters with other values than before."""
        if not isinstance(before, tuple) or len(before) != 3 or self.tape.kink_count:
            return None
        origins, width, values = before
        place = {origin: i for i, origin in enumerate(origins)}
        rows = np.array([place.get(origin, -1) for origin in self.origins], dtype=np.intp)
        if width != self.shape[1] or (rows < 0).all():
            return None
        then = dict(values)
        changed = {p for p, now in self.tape.known.items() if now.tobytes() != then.get(p)}
        other = np.concatenate([np.repeat(rows < 0, width), rows < 0])
        places = np.flatnonzero(other | np.concatenate([depending(e, changed) for e in self.outputs]))
        return Renewal(rows, places, self._part(cell, places).quadratics)

    def _part(self, cell: Cell, places: Ints) -> Tape:
        """The tape of some of the numbers; it is kept, as the next values of parameters change the same ones."""
        key, known = places.tobytes(), self.tape.known
        if cell.place is None and key in self._parts:
            return self._parts[key].bound(known)
        chart = CellChart(cell, self.indices)
        tape = Tape((picked(Join(self.outputs), places),), chart.indices, chart.instead, known)
        if cell.place is None:
            self._parts[key] = tape
        return tape

    # ---- what formulas are -------------------------------------------------------------------------------------------

    @cached_property
    def linear(self) -> LinearForm | None:
        """The rows as functions of the index, if they are affine in it."""
        found = self.tape.linear()
        (p, k), every = self.shape, np.arange(sum(e.size for e in self.outputs))
        places = np.where(every < p * k, every + every // max(k, 1), (every - p * k + 1) * (k + 1) - 1)
        return None if found is None else LinearForm.of(found, places, (p, k + 1), self.domain.dim)

    def affine_in(self, used: NDArray[np.bool_]) -> LinearForm | None:
        """Those coefficients (p, K) that are `used`, zero for the others, without the rhs; None if not affine."""
        places = np.flatnonzero(used)
        if not len(places):
            found: Slopes | None = Slopes.none(Interval.point(np.zeros(0)))
        else:
            found = Tape((picked(self.outputs[0], places),), self.indices, values=self.tape.known).linear()
        return None if found is None else LinearForm.of(found, places, self.shape, self.domain.dim)

    @cached_property
    def polynomials(self) -> Polynomials | None:
        """The coefficients, row by row, then the right-hand sides, as polynomials in the index, if they are some."""
        return None if self.tape.kink_count else Polynomials.of(self.tape)

    @cached_property
    def coefficient_polynomials(self) -> Polynomials | None:
        """The coefficients alone, where right-hand sides may be anything else."""
        if self.polynomials is not None or self.tape.kink_count:
            return self.polynomials
        return Polynomials.of(Tape(self.outputs[:1], self.indices, values=self.tape.known))

    def polynomial(self, component: int, weights: Array) -> Polynomial | None:
        if self.polynomials is None or not np.isfinite(weights).all():
            return None
        return self.polynomials.combined(self.lanes(np.array([component]))[0].tolist(), weights.tolist())

    def fractions(self, y: Array, component: Ints) -> list[list[Fraction]] | None:
        """The coefficients of row `component[n]` at the point y[n] in rational numbers; None if no polynomials."""
        known = self.coefficient_polynomials
        return None if known is None else known.fractions(y, self.lanes(component)[:, :-1].tolist())

    @cached_property
    def waves(self) -> Waves | None:
        """The numbers of all rows, rhs last in each, as multiples of cosines and sines; None if none of them is one."""
        found = Waves.of(self.tape) if Waves.suits(self.tape) else None
        return None if found is None else found.only(self.lanes(np.arange(self.shape[0])).ravel())

    @cached_property
    def undefined(self) -> UndefinedPlace | None:
        """Where in the index set some formula may be nan or infinite; None if all are proven to be finite."""
        if self.linear is not None:
            return None
        return where_undefined(self.outputs, self.indices, self.domain, self.tape.known)

    def trusts(self, domain: Domain) -> tuple[str, ...]:
        """Nothing where all formulas are proven to be defined: they are enclosed as they are written."""
        known = self.legend
        return () if self.undefined is None else (self.undefined.assumption(known.name, known.coordinates),)


def _unique_runs(y: Array) -> tuple[Array, Ints]:
    """Merge equal neighbours, so that rows with several components are evaluated once a point."""
    if len(y) < 2:
        return y, np.zeros(len(y), dtype=np.intp)
    change = np.concatenate([[True], (y[1:] != y[:-1]).any(axis=1)])
    return y[change], np.cumsum(change) - 1
