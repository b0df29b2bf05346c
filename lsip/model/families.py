"""Families of rows a(y) x <= b(y), one for every y in a domain: declared in the language, or given by functions.

A `FamilyViolation` is such a family at a given x: what separation oracles maximise.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Protocol, Self, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..domains import Cell, Domain, Product
from ..errors import ModelError
from ..expressions.arrangements import Join, picked
from ..expressions.chart import CellChart
from ..expressions.directions import WorstDirection
from ..expressions.graph import Expression, Index
from ..expressions.interval import EPS, Interval, down, up
from ..expressions.jets import tetrahedron, triangle
from ..expressions.lanes import enclose_lanes, evaluate_lanes
from ..expressions.parameter import Values, current, depending
from ..expressions.parametric_region import at_values, moved_by
from ..expressions.polynomials import Polynomials
from ..expressions.quadratics import Quadratic
from ..expressions.ring import Polynomial
from ..expressions.slopes import Slopes
from ..expressions.tape import Tape
from ..expressions.undefined import UndefinedPlace, coordinates, where_undefined
from ..expressions.waves import Waves
from ..oracles.attained import discrete_points
from ..oracles.base import Array, Enclosure, Ints, Pieces, Renewal, Rows
from ..oracles.bounders import without_boxes
from ..oracles.memory import Memory
from ..validation import numbers
from .bilinear import BilinearRows
from .linear_form import LinearForm


@dataclass(frozen=True)
class FamilyTuning:
    """How the rows of families are evaluated and told apart.

    Parameters
    ----------
    many_rows
        With more rows an index, only those that are asked for are evaluated, where NumPy does it.
    few_rows, most_numbers
        Numbers, derivatives included, that the compiled kernel evaluates of all rows; of more, only those asked for,
        unless there are so few rows that leaving some out gains nothing.
    compared_points
        Points at which functions without a formula are compared.
    cancelled
        Rows at points that are enclosed less sharply than this, in units in the last place of the largest entry of
        their columns, have lost digits to large terms that cancel: polynomials are evaluated in rational numbers then.
    """

    many_rows: int = 16
    few_rows: int = 2
    most_numbers: int = 200_000
    compared_points: int = 16
    cancelled: float = 64.0


TUNING = FamilyTuning()


@runtime_checkable
class RowFamily(Rows, Protocol):
    """p rows for every index point: row i holds `coefficients[i] . x[columns[i]] <= rhs[i]`."""

    @property
    def labels(self) -> tuple[str, ...]:
        """(p,), what each row is called in reports."""

    @property
    def coordinates(self) -> tuple[str, ...]:
        """(m,), names of the coordinates of y."""

    @property
    def indices(self) -> tuple[Index, ...]:
        """The indices of the model that y consists of; none where the rows are functions."""

    @property
    def shown(self) -> int:
        """How many coordinates of y people see: all but those of directions, which come last."""

    @property
    def lipschitz(self) -> tuple[float, float] | None:
        """Constants given for coefficients and right-hand sides, in the sup norm; None for a formula."""

    @property
    def linear(self) -> LinearForm | None:
        """The rows as functions of the index, if they are known to be affine in it."""

    def rows(self, y: Array) -> tuple[Array, Array]:
        """Coefficients (N, p, K) and right-hand sides (N, p) at the points y (N, m)."""

    def chosen(self, y: Array, component: Ints) -> tuple[Array, Array]:
        """Coefficients (N, K) and right-hand sides (N,) of row `component[n]` at the point y[n]."""

    def chosen_derivatives(self, y: Array, component: Ints) -> tuple[Array, Array, Array] | None:
        """The same with derivatives, rhs as last column: (N, K + 1), (m, N, K + 1), packed Hessians; or None."""

    def fractions(self, y: Array, component: Ints) -> list[list[Fraction]] | None:
        """The coefficients of row `component[n]` at the point y[n] in rational numbers; None if they are not known."""

    def largest(self) -> float:
        """A bound of |a(y)|, for every coefficient and over the whole index set; inf if there is none."""

    def steepest(self) -> float:
        """A Lipschitz constant of every coefficient over the box around the index set, in the sup norm; inf if none."""

    def affine_in(self, used: NDArray[np.bool_]) -> LinearForm | None:
        """Coefficients of the variables that are `used` (n,), zero for others, without the rhs; None if not affine."""

    def undefined_at(self) -> str | None:
        """Where some number has no bounds however small the box, and which, as a sentence; None if nowhere."""

    def identity(self) -> Iterator[object]:
        """What makes the rows what they are, beside index set and columns: equal for equal rows."""


FOUND_OUT = (
    "linear",
    "polynomials",
    "coefficient_polynomials",
    "waves",
    "undefined",
    "form",
    "convex",
)  # about the formulas of a family, when asked


class DeclaredFamily:
    """A family written in the language: it has derivatives and enclosures."""

    enclosable = True
    differentiable = True
    convex = False
    lipschitz = None
    finite = False  # whether it stands for rows without an index

    def __init__(
        self,
        name: str | Callable[[], str],
        indices: tuple[Index, ...],
        domain: Domain,
        coefficient: Expression,
        columns: Ints,
        rhs: Expression,
        labels: tuple[str, ...] | Callable[[], tuple[str, ...]],
        values: Values | None = None,
    ) -> None:
        """Name and labels may be functions: a formula is long to write, and seldom read."""
        self._name, self._labels = name, labels
        self.indices, self.written_domain, self.columns = indices, domain, columns
        self.domain = at_values(domain, current(moved_by(domain)) if values is None else values)
        self.coordinates = coordinates(indices)
        self.outputs = (coefficient, rhs)
        self.tape = Tape(self.outputs, indices, values=values)
        own = object()  # so that no other family is taken for this one
        self.origins: tuple[Hashable, ...] = tuple((own, i) for i in range(len(columns)))
        self.memory = Memory()
        self._parts: dict[bytes, Tape] = {}  # of numbers that depend on parameters

    def __getstate__(self) -> dict[str, Any]:
        """Without what was found out about it."""
        kept = {k: v for k, v in vars(self).items() if k not in FOUND_OUT}
        return {**kept, "_name": self.name, "_labels": self.labels, "memory": Memory(), "_parts": {}}

    @cached_property
    def name(self) -> str:
        return self._name() if callable(self._name) else self._name

    @cached_property
    def labels(self) -> tuple[str, ...]:
        return self._labels() if callable(self._labels) else self._labels

    def bound(self, values: Values) -> DeclaredFamily:
        """The family for these values of its parameters; it shares its memory, which keeps the data of boxes apart."""
        tape, domain = self.tape.bound(values), at_values(self.written_domain, values)
        if tape is self.tape and domain is self.domain:
            return self
        other = self._alike()
        for found in FOUND_OUT:
            other.__dict__.pop(found, None)
        other.tape, other.domain = tape, domain
        return other

    def _alike(self) -> Self:
        """Another family that has all that this one has, its memory too, which a copy would not."""
        other = object.__new__(type(self))
        vars(other).update(vars(self))
        return other

    @property
    def data_key(self) -> Hashable:
        """Which rows they are, how many coefficients they have, and the values of parameters."""
        values = tuple((p, v.tobytes()) for p, v in self.tape.known.items())
        return self.origins, self.columns.shape[1], values

    @property
    def visible(self) -> Domain:
        return self.domain

    @property
    def shown(self) -> int:
        return 0 if self.finite else self.domain.dim

    @property
    def count(self) -> int:
        return len(self.columns)

    @cached_property
    def linear(self) -> LinearForm | None:
        """The rows as functions of the index, if they are affine in it."""
        found = self.tape.linear()
        if found is None:
            return None
        (p, k), every = self.columns.shape, np.arange(self.columns.size + self.count)
        places = np.where(every < p * k, every + every // max(k, 1), (every - p * k + 1) * (k + 1) - 1)
        return LinearForm.of(found, places, (p, k + 1), self.domain.dim)

    @property
    def form(self) -> LinearForm | BilinearRows | None:
        """What the rows are evaluated by, if they are sums of numbers times coordinates."""
        return self.linear

    def affine_in(self, used: NDArray[np.bool_]) -> LinearForm | None:
        """Coefficients of the variables that are `used` (n,), zero for others, without the rhs; None if not affine."""
        places = np.flatnonzero(used[self.columns].ravel())
        if not len(places):
            found: Slopes | None = Slopes.none(Interval.point(np.zeros(0)))
        else:
            found = Tape((picked(self.outputs[0], places),), self.indices, values=self.tape.known).linear()
        return None if found is None else LinearForm.of(found, places, self.columns.shape, self.domain.dim)

    def _split(self, flat: Array) -> tuple[Array, Array]:
        p, k = self.columns.shape
        return flat[..., : p * k].reshape(*flat.shape[:-1], p, k), flat[..., p * k :]

    def rows(self, y: Array) -> tuple[Array, Array]:
        if self.form is not None:
            table = self.form.table(y)
            return table[..., :-1], table[..., -1]
        flat = self.tape.values(y)
        self._check(y, np.isfinite(flat))
        return self._split(flat)

    def _check(self, y: Array, finite: NDArray[np.bool_]) -> None:
        if not finite.all():
            bad = y[int(np.argmin(finite.all(axis=-1)))]
            where = ", ".join(f"{c} = {v:.6g}" for c, v in zip(self.coordinates, bad, strict=True))
            raise ModelError(
                f"{self.name} is not defined at {where}: a coefficient or right-hand side is nan or infinite there. "
                "Restrict the domain or rewrite the expression."
            )

    def chosen(self, y: Array, component: Ints) -> tuple[Array, Array]:
        """Coefficients (N, K) and right-hand sides (N,) of row `component[n]` at the point y[n]."""
        if self.form is not None:
            table = self.form.at(y, component)
            return table[:, :-1], table[:, -1]
        if self._asks_little(len(y), 1):
            values = self.pairs(y, component, 0)[0]
            self._check(y, np.isfinite(values))
            return values[:, :-1], values[:, -1]
        if self.count == 1:
            a, b = self.rows(y)
            return a[:, 0], b[:, 0]
        points, back = unique_runs(y)
        a, b = self.rows(points)
        return a[back, component], b[back, component]

    def chosen_derivatives(self, y: Array, component: Ints) -> tuple[Array, Array, Array] | None:
        """As `chosen` with the rhs as last column: values (N, K + 1), gradients (m, N, K + 1), packed Hessians."""
        if self.linear is not None:
            slope = self.linear.slopes(component)
            return self.linear.at(y, component), slope, np.zeros((0, *slope.shape[1:]))
        if self._asks_little(len(y), 1 + self.tape.dim + len(triangle(self.tape.dim)[0])):
            return self.pairs(y, component, 2)
        if self.count == 1:
            return self.tape.derivatives(y)
        n = np.arange(len(y))
        v, g, h = (part[..., n, component, :] for part in self.derivatives(y))
        return v, g, h

    def derivatives(self, y: Array) -> tuple[Array, Array, Array]:
        """As `rows`, with the rhs as last column (N, p, K + 1): values, gradients (m, ...), packed Hessians."""
        return tuple(self._together(flat) for flat in self.tape.derivatives(y))  # type: ignore[return-value]

    def _together(self, flat: Array) -> Array:
        """All numbers of a point (..., p K + p) as rows with the rhs last (..., p, K + 1)."""
        if self.count == 1:
            return flat[..., None, :]
        a, b = self._split(flat)
        return np.concatenate([a, b[..., None]], axis=-1)

    def largest(self) -> float:
        """A proven bound of |a(y)|, for every coefficient and over the whole index set; inf if there is none."""
        box = self.tape.enclose(self.domain.lower[None, :], self.domain.upper[None, :])
        sizes = np.maximum(np.abs(box.lo), np.abs(box.hi))[:, : self.columns.size]
        return float(np.where(np.isnan(sizes), np.inf, sizes).max(initial=0.0))

    def steepest(self) -> float:
        """A proven Lipschitz constant of every coefficient over the box around the index set; inf if there is none."""
        box = self.tape.gradients(self.domain.lower[None, :], self.domain.upper[None, :])
        sizes = np.maximum(np.abs(box.lo), np.abs(box.hi))[..., : self.columns.size].sum(axis=0)
        return float(np.where(np.isnan(sizes), np.inf, sizes).max(initial=0.0)) * (1 + 1e-12)

    def enclosed(self, lower: Array, upper: Array, component: Ints) -> tuple[Interval, Interval]:
        """Outward-rounded coefficients (N, K) and right-hand sides (N,) of row `component[n]` over the n-th box."""
        if self.form is not None and (self.linear is not None or (lower == upper).all()):
            box = self.form.enclosed(lower, upper, component)
            return box[:, :-1], box[:, -1]
        if self.count > TUNING.many_rows and not self.tape.kink_count:
            box = enclose_lanes(self.tape, lower, upper, self._lanes(component))
            return box[:, :-1], box[:, -1]
        (p, k), n = self.columns.shape, np.arange(len(lower))
        box = self.tape.enclose(lower, upper)
        if (lower == upper).all():
            box = self._sharpened(lower, box)
        return box[:, : p * k].reshape(len(lower), p, k)[n, component], box[:, p * k :][n, component]

    def _sharpened(self, y: Array, box: Interval) -> Interval:
        """All numbers at points, (N, p K + p), again without rounding where large terms have cancelled."""
        size = np.maximum(np.abs(box.lo), np.abs(box.hi)).max(axis=0, initial=0.0)
        wide = np.flatnonzero((box.hi - box.lo > TUNING.cancelled * EPS * size).any(axis=1))
        if not len(wide) or self.polynomials is None:
            return box
        exact = self.polynomials.at(y[wide], [range(box.shape[1])] * len(wide))
        lo, hi = box.lo.copy(), box.hi.copy()
        lo[wide], hi[wide] = exact.lo, exact.hi
        return Interval(lo, hi)

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

    @property
    def smooth(self) -> bool:
        """Whether no formula has a kink."""
        return not self.tape.kink_count

    @cached_property
    def waves(self) -> Waves | None:
        """The numbers of all rows, rhs last in each, as multiples of cosines and sines; None if none of them is one."""
        found = Waves.of(self.tape) if Waves.suits(self.tape) else None
        return None if found is None else found.only(self._lanes(np.arange(self.count)).ravel())

    def fractions(self, y: Array, component: Ints) -> list[list[Fraction]] | None:
        """The coefficients of row `component[n]` at the point y[n] in rational numbers; None if no polynomials."""
        known = self.coefficient_polynomials
        return None if known is None else known.fractions(y, self._lanes(component)[:, :-1].tolist())

    def polynomial(self, component: int, weights: Array) -> Polynomial | None:
        """Row `component`, rhs last, times weights, as a polynomial in the index, in rational numbers; None if not."""
        if self.polynomials is None or not np.isfinite(weights).all():
            return None
        outputs = self._lanes(np.array([component]))[0].tolist()
        return self.polynomials.combined(outputs, weights.tolist())

    def trusts(self, domain: Domain) -> tuple[str, ...]:
        """Nothing where all formulas are proven to be defined: they are enclosed as they are written."""
        return () if self.undefined is None else (self.undefined.assumption(self.name, self.coordinates),)

    @cached_property
    def undefined(self) -> UndefinedPlace | None:
        """Where in the index set some formula may be nan or infinite; None if all are proven to be finite."""
        if self.linear is not None:
            return None
        return where_undefined(self.outputs, self.indices, self.domain, self.tape.known)

    def undefined_at(self) -> str | None:
        """The same as a sentence."""
        return None if self.undefined is None else self.undefined.sentence(self.coordinates)

    def identity(self) -> Iterator[object]:
        """The steps that compute the rows."""
        tape = self.tape
        for node, args in zip(tape.written.nodes, tape.written.args, strict=True):
            own = (tape.offsets[node],) if isinstance(node, Index) else node.content()
            yield type(node).__name__, args, own

    def renewal(self, cell: Cell, before: Hashable) -> Renewal | None:
        """The numbers of other rows, and those that depend on parameters with other values than before."""
        if not isinstance(before, tuple) or len(before) != 3 or self.tape.kink_count:
            return None
        origins, width, values = before
        place = {origin: i for i, origin in enumerate(origins)}
        rows = np.array([place.get(origin, -1) for origin in self.origins], dtype=np.intp)
        if width != self.columns.shape[1] or (rows < 0).all():
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

    def _asks_little(self, points: int, levels: int) -> bool:
        """Whether a row at each of so many points is so little of all rows there that the others are left out."""
        if self.count <= TUNING.few_rows:
            return False
        if self.tape.compiled:
            return points * levels * self.columns.size > TUNING.most_numbers
        return self.count > TUNING.many_rows

    def _lanes(self, component: Ints) -> Ints:
        p, k = self.columns.shape
        return np.concatenate([component[:, None] * k + np.arange(k), p * k + component[:, None]], axis=1)

    def pairs(self, y: Array, component: Ints, order: int) -> tuple[Array, Array, Array]:
        """Row `component[n]` at the point y[n], rhs last: values (N, K + 1) and, up to `order`, derivatives."""
        return evaluate_lanes(self.tape, y, self._lanes(component), order)

    def quadratics(self, cell: Cell) -> Enclosure:
        chart, known = CellChart(cell, self.indices), self.tape.known
        if cell.inside is None and not cell.place:
            return self.tape.quadratics
        if cell.inside is None:
            return Tape(self.outputs, chart.indices, chart.instead, known).quadratics
        inside = cell.inside(chart.coordinates)
        tape = Tape((*self.outputs, inside), chart.indices, chart.instead, known)

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


class DirectedFamily(DeclaredFamily):
    """A family over indices and directions, of which a worst one is known in closed form for every index.

    Its rows are those of any other family. Beside them it knows the `entries` that they are made of, which depend on
    the indices alone, so that whoever proves something needs boxes of the indices only.
    """

    def __init__(self, *made: Any, worst: WorstDirection, entries: DeclaredFamily, shown: int) -> None:
        super().__init__(*made)
        self.worst, self.entries, self._shown = worst, entries, shown
        rows = np.empty(len(entries.columns), dtype=np.intp)  # to which row each entry belongs
        rows[worst.base] = np.arange(len(worst.base))
        for block in worst.blocks:
            rows[block.entries] = block.rows[:, None]
        # Where the weight of each coefficient of an entry stands among those of its row.
        meets, k = self.columns[rows][:, None, :] == entries.columns[:, :, None], self.columns.shape[1]
        self._places = rows[:, None], np.concatenate([meets.argmax(axis=2), np.full((len(rows), 1), k)], axis=1)

    @property
    def visible(self) -> Domain:
        return self.entries.domain

    @property
    def shown(self) -> int:
        return self._shown

    @cached_property
    def convex(self) -> bool:  # type: ignore[override]
        """Whether the rows are convex in the index, and largest at one of few vertices, or for one choice of pieces."""
        return without_boxes(self, self.visible) is not None

    def bound(self, values: Values) -> DirectedFamily:
        """The family for these values of its parameters."""
        other: Any = super().bound(values)
        entries = self.entries.bound(values)
        if entries is not self.entries:
            other = self._alike() if other is self else other
            other.entries = entries
        return other

    @cached_property
    def form(self) -> BilinearRows | None:
        """The rows as sums over entries that are affine in the index, times a coordinate of the direction each."""
        form = self.entries.linear if self.worst.plain else None
        return None if form is None else BilinearRows(self.worst, form, *self._places)

    def _sharpened(self, y: Array, box: Interval) -> Interval:
        """As they are without an index: of a matrix of 20 rows, the polynomials have 400 terms each."""
        return super()._sharpened(y, box) if self._shown else box

    def of_entries(self, weights: Array) -> Array:
        """Weights (p, K + 1) of rows as those of the entries."""
        return weights[self._places]

    def renewal(self, cell: Cell, before: Hashable) -> None:
        """Entries are enclosed anew."""

    def indices_of(self, domain: Domain) -> Domain | None:
        """The set of the indices alone, where `domain` is a product of one with the set of all directions."""
        every, tail = _factors(domain), _factors(self.worst.index.domain)
        factors = every[: len(every) - len(tail)]
        if not factors or every[len(factors) :] != tail:
            return None
        return factors[0] if len(factors) == 1 else Product(*factors)


class BlackBoxFamily:
    """A family given by batched callables; enclosed only when Lipschitz constants are given."""

    differentiable = False
    linear = None
    convex = False
    indices: tuple[Index, ...] = ()
    data_key: Hashable = ()

    def __init__(
        self,
        name: str,
        domain: Domain,
        a: Callable[[Array], Any],
        b: Callable[[Array], Any],
        n: int,
        lipschitz: tuple[float, float] | None,
    ) -> None:
        self.name, self.domain, self.a, self.b = name, domain, a, b
        self.columns: Ints = np.arange(n)[None, :]
        self.labels = (name,)
        self.coordinates = ("y",) if domain.dim == 1 else tuple(f"y[{k}]" for k in range(domain.dim))
        self.lipschitz = lipschitz
        self.enclosable = lipschitz is not None
        self.memory = Memory()

    @property
    def visible(self) -> Domain:
        return self.domain

    @property
    def shown(self) -> int:
        return self.domain.dim

    @property
    def count(self) -> int:
        return 1

    def __getstate__(self) -> dict[str, Any]:
        """Without what was found out about it."""
        return {**vars(self), "memory": Memory()}

    def bound(self, values: Values) -> BlackBoxFamily:
        """Itself: functions have no parameters."""
        return self

    def rows(self, y: Array) -> tuple[Array, Array]:
        n = self.columns.shape[1]
        a = self.a(y)
        a = numbers(a.toarray() if sparse.issparse(a) else a, "`a(y)`", nan=True)
        b = numbers(self.b(y), "`b(y)`", nan=True)
        if a.shape != (len(y), n):
            raise ModelError(
                f"`a(y)` must give one coefficient per variable, shape ({len(y)}, {n}); got {a.shape} for y of "
                f"shape {y.shape}."
            )
        if b.shape != (len(y),):
            raise ModelError(
                f"`b(y)` must give one number per point, shape ({len(y)},); got {b.shape} for y of shape {y.shape}."
            )
        if not (np.isfinite(a).all() and np.isfinite(b).all()):
            bad = y[int(np.argmin(np.isfinite(a).all(axis=1) & np.isfinite(b)))]
            raise ModelError(f"{self.name} is not finite at y = {bad}. Restrict the domain or mend the function.")
        return a[:, None, :], b[:, None]

    def chosen(self, y: Array, component: Ints) -> tuple[Array, Array]:
        a, b = self.rows(y)
        return a[:, 0], b[:, 0]

    def chosen_derivatives(self, y: Array, component: Ints) -> tuple[Array, Array, Array] | None:
        return None

    def largest(self) -> float:
        """A bound of |a(y)|, of all coefficients over the whole index set, if `lipschitz` is right; inf without it."""
        if self.lipschitz is None:
            return np.inf
        centre = self.domain.project(0.5 * (self.domain.lower + self.domain.upper)[None, :])
        reach = np.maximum(self.domain.upper - centre, centre - self.domain.lower).max()
        return float(np.abs(self.rows(centre)[0]).max(initial=0.0) + self.lipschitz[0] * reach) * (1 + 1e-12)

    def steepest(self) -> float:
        """The Lipschitz constant that was given; inf without it."""
        return np.inf if self.lipschitz is None else self.lipschitz[0]

    def enclosed(self, lower: Array, upper: Array, component: Ints) -> tuple[Interval, Interval]:
        """The functions are taken at their word: points, not intervals, but for the Lipschitz constants over a box."""
        y = np.clip(0.5 * lower + 0.5 * upper, lower, upper)
        a, b = self.chosen(y, component)
        width = up(np.maximum(upper - y, y - lower).max(axis=1, initial=0.0)) * (upper > lower).any(axis=1)
        if not width.any():
            return Interval.point(a), Interval.point(b)
        l_a, l_b = self.lipschitz or (np.inf, np.inf)
        with np.errstate(invalid="ignore"):
            wide = np.where(width > 0, up(l_a * width), 0.0)[:, None], np.where(width > 0, up(l_b * width), 0.0)
        return tuple(Interval(down(v - w), up(v + w)) for v, w in zip((a, b), wide, strict=True))  # type: ignore[return-value]

    def polynomial(self, component: int, weights: Array) -> Polynomial | None:
        """Not known of a function."""
        return None

    def fractions(self, y: Array, component: Ints) -> list[list[Fraction]] | None:
        """Not known of a function."""
        return None

    def trusts(self, domain: Domain) -> tuple[str, ...]:
        """The Lipschitz constants between points; at points, the functions are the model."""
        if discrete_points(domain) is not None:  # every point is tried, and there is nothing between them
            return ()
        return (f"the Lipschitz constants given for {' '.join(self.name.split())} are right",)

    def affine_in(self, used: NDArray[np.bool_]) -> LinearForm | None:
        """Not known of a function."""
        return None

    def undefined_at(self) -> str | None:
        """Not known of a function."""
        return None

    def identity(self) -> Iterator[object]:
        """The constants, and values at some points."""
        yield self.lipschitz, *self.rows(self.domain.spread(TUNING.compared_points))

    def quadratics(self, cell: Cell) -> Enclosure:
        """Constants at the centre, with the Lipschitz constants as error."""
        assert self.lipschitz is not None
        l_a, l_b = self.lipschitz
        chart = CellChart(cell, (Index("y", self.domain),))
        sides = None if cell.inside is None else Tape((cell.inside(chart.coordinates),), chart.indices)

        def enclose(
            lower: Array, upper: Array, pieces: Pieces, order: int
        ) -> tuple[Quadratic, Quadratic | None, NDArray[np.bool_] | None]:
            cut = None if sides is None else sides.quadratics(lower, upper)[0]
            m, width = lower.shape[1], 0.5 * (upper - lower).T[:, :, None]
            lower, upper = chart.enclosed(lower, upper)
            # A Lipschitz bound needs the value at a point of the domain; the centre of a box may lie outside.
            # A point of a finite set is where it is, however near to others.
            centre = np.where((lower == upper).all(axis=1)[:, None], lower, self.domain.project(0.5 * (lower + upper)))
            reach = np.maximum(upper - centre, centre - lower).max(axis=1, keepdims=True)
            a, b = self.rows(centre)
            value = np.concatenate([a[:, 0], b], axis=1)
            n, k = value.shape
            slope = np.concatenate([np.full(k - 1, l_a), [l_b]])
            bends = np.zeros((len(triangle(m)[0]), n, k))
            cubic = np.zeros((len(tetrahedron(m)[0]) if order == 3 else 0, n, k))
            flat = Quadratic(value, np.zeros((m, n, k)), bends, cubic, width * slope, reach * slope * (1 + 1e-15))
            return flat, cut, None

        return enclose


def _factors(domain: Domain) -> tuple[Domain, ...]:
    return domain.factors if isinstance(domain, Product) else (domain,)


def unique_runs(y: Array) -> tuple[Array, Ints]:
    """Merge equal neighbours, so that rows with several components are evaluated once a point."""
    if len(y) < 2:
        return y, np.zeros(len(y), dtype=np.intp)
    change = np.concatenate([[True], (y[1:] != y[:-1]).any(axis=1)])
    return y[change], np.cumsum(change) - 1


def contract(d: Array, h: Array, w: Array) -> tuple[Array, Array]:
    """Gradients (k, m) and Hessians (k, m, m) of w (k, J) times rows with derivatives d (m, k, J), h (packed, k, J).

    Without any packed Hessian, rows are affine. Derivatives may be infinite, as those of sqrt(y) at 0: a weight of zero
    makes nan of them, which says that nothing is known, as it should.
    """
    m = len(d)
    with np.errstate(invalid="ignore"):
        gradient = (d * w).sum(axis=2).T
        if not len(h):
            return gradient, np.zeros((d.shape[1], m, m))
        i, j = triangle(m)
        hessian = np.empty((d.shape[1], m, m))
        hessian[:, i, j] = hessian[:, j, i] = (h * w).sum(axis=2).T
    return gradient, hessian


@dataclass(eq=False)
class FamilyViolation:
    """g(y) = a(y) x - scale b(y) for a family at a given x; `scale` is 0 when x is a direction.

    With a `radius`, x stands for a box, and g(y) is the largest value over all x' in it: a bound that is proven of g
    holds for every one of them.

    Parameters
    ----------
    family
        The rows.
    x
        The point, (n,): the middle of a box, if there is a radius.
    scale
        Of the right-hand side.
    radius
        Half-widths (n,) >= 0 of the box around x; None for the point alone.
    part
        The part of the family's index set to ask about; None for all of it.
    """

    family: RowFamily
    x: Array
    scale: float = 1.0
    radius: Array | None = None
    part: Domain | None = None
    weights: Array = field(init=False)  # (p, K + 1), the middles of (x, -scale) in each row
    spread: Array | None = field(init=False)  # (p, K + 1), their half-widths

    def __post_init__(self) -> None:
        gathered = self.x[self.family.columns]
        self.weights = np.concatenate([gathered, np.full((len(gathered), 1), -self.scale)], axis=1)
        self.spread = None
        if self.radius is not None:
            known = np.zeros((len(gathered), 1))
            self.spread = np.concatenate([self.radius[self.family.columns], known], axis=1)

    @property
    def components(self) -> int:
        return len(self.weights)

    @property
    def domain(self) -> Domain:
        return self.family.domain if self.part is None else self.part

    def over(self, part: Domain) -> FamilyViolation:
        """The same function over a part of the family's index set."""
        whole = self.family.domain
        if part.dim != whole.dim or (part.lower < whole.lower).any() or (part.upper > whole.upper).any():
            raise ModelError(f"{self.family.name} is about {whole}; {part} is not a part of it.")
        return replace(self, part=part)

    def values(self, y: Array) -> Array:
        a, b = self.family.rows(y)
        middle = np.einsum("npk,pk->np", a, self.weights[:, :-1]) - self.scale * b
        if self.spread is None:
            return middle
        return middle + np.einsum("npk,pk->np", np.abs(a), self.spread[:, :-1])

    def at(self, y: Array, component: Ints) -> Array:
        """Component `component[n]` at the point y[n]: shape (N,)."""
        a, b = self.family.chosen(y, component)
        middle = np.einsum("nk,nk->n", a, self.weights[component, :-1]) - self.scale * b
        if self.spread is None:
            return middle
        return middle + np.einsum("nk,nk->n", np.abs(a), self.spread[component, :-1])

    def derivatives(self, y: Array, component: Ints) -> tuple[Array, Array, Array] | None:
        parts = self.family.chosen_derivatives(y, component)
        if parts is None:
            return None
        v, g, h = parts
        w = self.weights[component]
        if self.spread is not None:  # the worst corner of the box of x, where coefficients keep their signs
            w = w + np.sign(v) * self.spread[component]
        return (v * w).sum(axis=1), *contract(g, h, w)


@dataclass(eq=False)
class SeenViolation:
    """g(y) = sup over all directions of a(y, v) x - scale b(y, v): what people see of a family with directions."""

    family: DirectedFamily
    x: Array
    scale: float = 1.0

    @property
    def components(self) -> int:
        return len(self.family.columns)

    @property
    def domain(self) -> Domain:
        return self.family.visible

    def values(self, y: Array) -> Array:
        """g at the points y (N, m): shape (N, p)."""
        points = y if self.family.shown else np.zeros((len(y), 1))
        a, b = self.family.entries.rows(points)
        q = np.einsum("npk,pk->np", a, self.x[self.family.entries.columns]) - self.scale * b
        return self.family.worst.value(q)

    def at(self, y: Array, component: Ints) -> Array:
        """Component `component[n]` at the point y[n]: shape (N,)."""
        found: Array = self.values(y)[np.arange(len(y)), component]
        return found

    def derivatives(self, y: Array, component: Ints) -> None:
        """None: where the worst direction changes, there are none."""


def formulas(family: RowFamily) -> DeclaredFamily | None:
    """The family, if its rows are formulas of the index and nothing else."""
    return family if type(family) is DeclaredFamily else None


Seen: TypeAlias = FamilyViolation | SeenViolation  # what people see of a family at a given x
