"""Families of rows a(y) x <= b(y), one for every y in a domain: declared in the language, or given by functions.

A `FamilyViolation` is such a family at a given x: what separation oracles maximise.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .domains import Cell, Domain
from .errors import ModelError
from .expressions.graph import Expression, Index
from .expressions.interval import EPS, Interval, down, up
from .expressions.jets import tetrahedron, triangle
from .expressions.lanes import enclose_lanes, evaluate_lanes
from .expressions.tape import Quadratic, Tape

Array = NDArray[np.float64]
Ints = NDArray[np.intp]
MANY_ROWS = 16  # with more rows an index, only those that are asked for are evaluated


Pieces = NDArray[np.int8] | None
Enclosure = Callable[[Array, Array, Pieces, int], tuple[Quadratic, Quadratic | None, NDArray[np.bool_] | None]]


class RowFamily(Protocol):
    """p rows for every index point: row i holds `coefficients[i] . x[columns[i]] <= rhs[i]`."""

    name: str
    domain: Domain
    labels: tuple[str, ...]  # (p,), what each row is called in reports
    coordinates: tuple[str, ...]  # (m,), names of the coordinates of y
    columns: Ints  # (p, K)
    enclosable: bool  # whether `quadratics` proves anything
    differentiable: bool  # whether expansions of a higher order are sharper
    linear: LinearForm | None  # the rows as functions of the index, if they are known to be affine in it
    covers: list[Any]  # room for a branch-and-bound to keep what does not depend on x

    def rows(self, y: Array) -> tuple[Array, Array]:
        """Coefficients (N, p, K) and right-hand sides (N, p) at the points y (N, m)."""

    def chosen(self, y: Array, component: Ints) -> tuple[Array, Array]:
        """Coefficients (N, K) and right-hand sides (N,) of row `component[n]` at the point y[n]."""

    def chosen_derivatives(self, y: Array, component: Ints) -> tuple[Array, Array, Array] | None:
        """The same with derivatives, rhs as last column: (N, K + 1), (m, N, K + 1), packed Hessians; or None."""

    def quadratics(self, cell: Cell) -> Enclosure:
        """Enclosures over boxes of a cell: of all (p, K + 1) numbers, and of functions that are >= 0 on the domain."""


class LinearForm(NamedTuple):
    """Rows that are affine in the index: value + slope · y, known up to a doubt; the rhs is the last column."""

    value: Array  # (p, K + 1)
    value_doubt: Array
    slope: Array  # (m, p, K + 1)
    slope_doubt: Array

    def at(self, y: Array, component: Ints) -> Array:
        """Row `component[n]` at the point y[n]: shape (N, K + 1)."""
        return self.value[component] + np.einsum("nm,mnk->nk", y, self.slope[:, component])

    def enclosed(self, y: Array, component: Ints) -> Interval:
        """The same, outward rounded."""
        mid, size, operations = self.at(y, component), np.abs(y), len(self.slope) + 4
        doubt = self.value_doubt[component] + operations * EPS * np.abs(self.value[component])
        slope = self.slope_doubt[:, component] + operations * EPS * np.abs(self.slope[:, component])
        doubt = (doubt + np.einsum("nm,mnk->nk", size, slope)) * (1 + operations * EPS)
        return Interval(down(mid - doubt), up(mid + doubt))


class DeclaredFamily:
    """A family written in the language: it has derivatives and enclosures."""

    enclosable = True
    differentiable = True

    def __init__(
        self,
        name: str,
        indices: tuple[Index, ...],
        domain: Domain,
        coefficient: Expression,
        columns: Ints,
        rhs: Expression,
        labels: tuple[str, ...],
    ) -> None:
        self.name, self.indices, self.domain, self.columns, self.labels = name, indices, domain, columns, labels
        self.coordinates = tuple(
            i.name if i.domain.scalar else f"{i.name}[{k}]" for i in indices for k in range(i.domain.dim)
        )
        self.outputs = (coefficient, rhs)
        self.tape = Tape(self.outputs, indices)
        self.covers: list[Any] = []

    @property
    def count(self) -> int:
        return len(self.columns)

    @cached_property
    def linear(self) -> LinearForm | None:
        """The rows as functions of the index, if they are affine in it."""
        found = self.tape.linear()
        if found is None:
            return None
        parts = []
        for ends in found:
            mid = 0.5 * (ends.lo + ends.hi)
            doubt = up(np.maximum(ends.hi - mid, mid - ends.lo), 2.0) * (ends.hi > ends.lo)
            parts += [self._together(mid), self._together(doubt)]
        return LinearForm(*parts)

    def _split(self, flat: Array) -> tuple[Array, Array]:
        p, k = self.columns.shape
        return flat[..., : p * k].reshape(*flat.shape[:-1], p, k), flat[..., p * k :]

    def rows(self, y: Array) -> tuple[Array, Array]:
        if self.linear is not None:
            table = self.linear.value + np.tensordot(y, self.linear.slope, axes=1)
            return table[..., :-1], table[..., -1]
        flat = self.tape.values(y)
        self._check(y, np.isfinite(flat))
        return self._split(flat)

    def _check(self, y: Array, finite: Any) -> None:
        if not finite.all():
            bad = y[int(np.argmin(finite.all(axis=-1)))]
            where = ", ".join(f"{c} = {v:.6g}" for c, v in zip(self.coordinates, bad, strict=True))
            raise ModelError(
                f"{self.name} is not defined at {where}: a coefficient or right-hand side is nan or infinite there. "
                "Restrict the domain or rewrite the expression."
            )

    def chosen(self, y: Array, component: Ints) -> tuple[Array, Array]:
        """Coefficients (N, K) and right-hand sides (N,) of row `component[n]` at the point y[n]."""
        if self.linear is not None:
            table = self.linear.at(y, component)
            return table[:, :-1], table[:, -1]
        if self.count > MANY_ROWS:
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
            slope = self.linear.slope[:, component]
            return self.linear.at(y, component), slope, np.zeros((0, *slope.shape[1:]))
        if self.count > MANY_ROWS:
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

    def enclosed(self, y: Array, component: Ints) -> tuple[Interval, Interval]:
        """Outward-rounded coefficients (N, K) and right-hand sides (N,) of row `component[n]` at the point y[n]."""
        if self.linear is not None:
            box = self.linear.enclosed(y, component)
            return box[:, :-1], box[:, -1]
        if self.count > MANY_ROWS and not self.tape.kink_count:
            box = enclose_lanes(self.tape, y, self._lanes(component))
            return box[:, :-1], box[:, -1]
        (p, k), n = self.columns.shape, np.arange(len(y))
        box = self.tape.enclose(y, y)
        return box[:, : p * k].reshape(len(y), p, k)[n, component], box[:, p * k :][n, component]

    def _lanes(self, component: Ints) -> Ints:
        p, k = self.columns.shape
        return np.concatenate([component[:, None] * k + np.arange(k), p * k + component[:, None]], axis=1)

    def pairs(self, y: Array, component: Ints, order: int) -> tuple[Array, Array, Array]:
        """Row `component[n]` at the point y[n], rhs last: values (N, K + 1) and, up to `order`, derivatives."""
        return evaluate_lanes(self.tape, y, self._lanes(component), order)

    def quadratics(self, cell: Cell) -> Enclosure:
        if cell.inside is None:
            return self.tape.quadratics
        inside = cell.inside(_vector(self.indices))
        tape = Tape((*self.outputs, inside), self.indices)

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


class BlackBoxFamily:
    """A family given by batched callables; enclosed only when Lipschitz constants are given."""

    differentiable = False
    linear = None

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
        self.covers: list[Any] = []

    @property
    def count(self) -> int:
        return 1

    def rows(self, y: Array) -> tuple[Array, Array]:
        n = self.columns.shape[1]
        a = self.a(y)
        a = np.asarray(a.toarray() if sparse.issparse(a) else a, dtype=float)
        b = np.asarray(self.b(y), dtype=float)
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

    def enclosed(self, y: Array, component: Ints) -> tuple[Interval, Interval]:
        """The functions are taken at their word: points, not intervals."""
        a, b = self.chosen(y, component)
        return Interval.point(a), Interval.point(b)

    def quadratics(self, cell: Cell) -> Enclosure:
        """Constants at the centre, with the Lipschitz constants as error."""
        assert self.lipschitz is not None
        l_a, l_b = self.lipschitz
        index = Index("y", self.domain)
        sides = None if cell.inside is None else Tape((cell.inside(_vector((index,))),), (index,))

        def enclose(
            lower: Array, upper: Array, pieces: Pieces, order: int
        ) -> tuple[Quadratic, Quadratic | None, NDArray[np.bool_] | None]:
            # A Lipschitz bound needs the value at a point of the domain; the centre of a box may lie outside.
            centre = self.domain.project(0.5 * (lower + upper))
            reach = np.maximum(upper - centre, centre - lower).max(axis=1, keepdims=True)
            a, b = self.rows(centre)
            value = np.concatenate([a[:, 0], b], axis=1)
            n, k = value.shape
            slope = np.concatenate([np.full(k - 1, l_a), [l_b]])
            m = self.domain.dim
            bends = np.zeros((len(triangle(m)[0]), n, k))
            cubic = np.zeros((len(tetrahedron(m)[0]) if order == 3 else 0, n, k))
            width = 0.5 * (upper - lower).T[:, :, None]
            flat = Quadratic(value, np.zeros((m, n, k)), bends, cubic, width * slope, reach * slope * (1 + 1e-15))
            return flat, (None if sides is None else sides.quadratics(lower, upper)[0]), None

        return enclose


def unique_runs(y: Array) -> tuple[Array, Ints]:
    """Merge equal neighbours, so that rows with several components are evaluated once a point."""
    if len(y) < 2:
        return y, np.zeros(len(y), dtype=np.intp)
    change = np.concatenate([[True], (y[1:] != y[:-1]).any(axis=1)])
    return y[change], np.cumsum(change) - 1


def _vector(indices: tuple[Index, ...]) -> Any:
    """All coordinates of y as one vector expression."""
    return np.concatenate([np.atleast_1d(i) for i in indices])  # type: ignore[call-overload]


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
    """g(y) = a(y) x - scale b(y) for a family at a given x; `scale` is 0 when x is a direction."""

    family: Any
    x: Array
    scale: float = 1.0
    weights: Array = field(init=False)  # (p, K + 1)

    def __post_init__(self) -> None:
        gathered = self.x[self.family.columns]
        self.weights = np.concatenate([gathered, np.full((len(gathered), 1), -self.scale)], axis=1)

    @property
    def components(self) -> int:
        return len(self.weights)

    def values(self, y: Array) -> Array:
        a, b = self.family.rows(y)
        return np.einsum("npk,pk->np", a, self.weights[:, :-1]) - self.scale * b

    def at(self, y: Array, component: Ints) -> Array:
        """Component `component[n]` at the point y[n]: shape (N,)."""
        a, b = self.family.chosen(y, component)
        return np.einsum("nk,nk->n", a, self.weights[component, :-1]) - self.scale * b

    def derivatives(self, y: Array, component: Ints) -> tuple[Array, Array, Array] | None:
        parts = self.family.chosen_derivatives(y, component)
        if parts is None:
            return None
        v, g, h = parts
        w = self.weights[component]
        return (v * w).sum(axis=1), *contract(g, h, w)
