"""The promises that every domain makes, as one function. Call `check_domain` in the test of a new domain."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from lsip.domains import Cell, Domain
from lsip.errors import ModelError

Array = NDArray[np.float64]
Meets = Callable[[list[Fraction], list[Fraction]], bool]  # whether a box, lower and upper, has a point of the domain


def check_domain(domain: Domain, seed: int = 0, meets: Meets | None = None, nearest: bool = True) -> None:
    """Raise AssertionError, naming the promise, if `domain` breaks one.

    A box that `witness` gives is refused if the inequalities of all cells exclude it, in rational arithmetic. Where
    inequalities need more than sums, products, whole powers and absolute values, give an exact test of yours, `meets`.
    A `project` that searches among many local minima gives points of the domain, but not the nearest ones for certain:
    say `nearest=False`.
    """
    rng = np.random.default_rng(seed)
    scale = max(1.0, float(np.abs([domain.lower, domain.upper]).max()))
    inside = domain.sample(60, seed)
    around = _around(domain, 60, rng)
    _check_samples(domain, inside, seed)
    _check_projection(domain, inside, around, scale, nearest)
    _check_size(domain, inside, scale)
    _check_uniform(domain, rng)
    _check_grid(domain, scale)
    _check_spread(domain)
    _check_cells(domain, np.concatenate([inside, domain.spread(20)]), around, scale)
    _check_support(domain, inside, rng)
    _check_witness(domain, np.concatenate([inside, domain.project(around)]), around, scale, meets)
    _check_identity(domain)
    _check_errors(domain)


def in_cell(cell: Cell, y: Array, tol: float) -> bool:
    """Whether one point (m,) lies in a box of the cell and satisfies its inequalities, all up to `tol`."""
    boxed = ((cell.lower - tol <= y) & (y <= cell.upper + tol)).all(axis=1).any()
    return bool(boxed and (cell.inside is None or (_inequalities(cell, y) >= -tol).all()))


def _inequalities(cell: Cell, y: Array) -> Array:
    assert cell.inside is not None
    values = np.asarray(cell.inside(y))
    assert values.ndim == 1, f"inside(y) must be a vector of inequalities; got shape {values.shape}"
    return values


def _around(domain: Domain, n: int, rng: np.random.Generator) -> Array:
    """Points in and around the bounding box."""
    width = np.maximum(domain.upper - domain.lower, 0.1)
    points: Array = rng.uniform(domain.lower - width / 2, domain.upper + width / 2, size=(n, domain.dim))
    return points


def _check_samples(domain: Domain, points: Array, seed: int) -> None:
    assert points.shape == (60, domain.dim), "sample(n) has shape (n, m)"
    assert domain.contains(points).all(), "samples belong to the domain"
    assert np.array_equal(points, domain.sample(60, seed)), "the same seed gives the same samples"
    assert np.array_equal(points, domain.sample(60, np.random.default_rng(seed))), "a Generator is a seed too"
    assert domain.sample(0).shape == (0, domain.dim), "no samples is an empty array"


def _check_projection(domain: Domain, inside: Array, around: Array, scale: float, nearest: bool) -> None:
    projected = domain.project(around)
    assert projected.shape == around.shape, "project has shape (N, m)"
    assert domain.contains(projected).all(), "projections belong to the domain"
    assert np.abs(domain.project(projected) - projected).max() <= 1e-9 * scale, "projecting twice changes nothing"
    assert np.abs(domain.project(inside) - inside).max() <= 1e-9 * scale, "points of the domain stay where they are"
    if not nearest:
        return
    distance = np.linalg.norm(projected - around, axis=1)
    others = np.linalg.norm(around[:, None] - np.concatenate([inside, projected])[None], axis=2)
    assert (distance <= others.min(axis=1) + 1e-9 * scale).all(), "no point of the domain is nearer"
    away = distance > 1e-6 * scale
    assert not domain.contains(around[away]).any(), "a point away from its projection is outside"
    close = around[~domain.contains(around)]
    reach = np.linalg.norm(domain.project(close) - close, axis=1) if len(close) else np.zeros(0)
    for point, tol in zip(close, reach, strict=True):
        assert domain.contains(point, tol=tol * (1 + 1e-9) + 1e-12).all(), "contains is true within distance tol"


def _check_size(domain: Domain, inside: Array, scale: float) -> None:
    tol = 1e-9 * scale
    assert (inside >= domain.lower - tol).all(), "the bounding box holds"
    assert (inside <= domain.upper + tol).all(), "the bounding box holds"
    distances = np.linalg.norm(inside[:, None] - inside[None], axis=2)
    assert distances.max() <= domain.diameter + tol, "the diameter holds"
    diagonal = float(np.linalg.norm(domain.upper - domain.lower))
    assert domain.diameter <= diagonal + tol, "the diameter is at most the diagonal of the bounding box"
    # From far out along an axis, the nearest point of the domain is one with the extreme coordinate, almost.
    far = 1e4 * max(diagonal, 1e-3)
    for j in range(domain.dim):
        for side, sign in ((domain.lower, -1.0), (domain.upper, 1.0)):
            point = (domain.lower + domain.upper) / 2
            point[j] = side[j] + sign * far
            assert abs(domain.project(point)[0, j] - side[j]) <= diagonal * 1e-3 + tol, "the bounding box is tight"


def _check_uniform(domain: Domain, rng: np.random.Generator) -> None:
    """Compare samples with rejection from the bounding box, where enough points survive it."""
    intrinsic, volume = domain.measure
    assert 0 <= intrinsic <= domain.dim, "the dimension of the set is at most m"
    assert volume > 0, "the volume in that dimension is positive"
    if intrinsic < domain.dim:
        return
    candidates = rng.uniform(domain.lower, domain.upper, size=(4000, domain.dim))
    kept = candidates[domain.contains(candidates)]
    box = float(np.prod(domain.upper - domain.lower))
    share = len(kept) / len(candidates)
    noise = 6 * np.sqrt(share * (1 - share) / len(candidates)) + 1e-3
    assert share <= volume / box + noise, "the volume is not smaller than the share of the bounding box"
    if len(kept) < 400:
        return
    drawn = domain.sample(4000, rng)
    half = (domain.lower + domain.upper) / 2
    for statistic in (lambda y: y, lambda y: y**2, lambda y: (y > half).astype(float)):
        a, b = statistic(kept), statistic(drawn)
        error = 6 * np.sqrt(a.var(axis=0) / len(a) + b.var(axis=0) / len(b)) + 1e-9
        assert (np.abs(a.mean(axis=0) - b.mean(axis=0)) <= error).all(), "samples are uniform"


def _check_grid(domain: Domain, scale: float) -> None:
    assert domain.grid(1).shape[1] == domain.dim
    assert domain.contains(domain.grid(1)).all(), "grid(1) belongs to the domain"
    grid = domain.grid(4 if domain.dim <= 4 else 3)
    assert grid.ndim == 2
    assert grid.shape[1] == domain.dim, "a grid has shape (N, m)"
    assert domain.contains(grid).all(), "grid points belong to the domain"
    distances = np.linalg.norm(grid[:, None] - grid[None], axis=2) + np.eye(len(grid))
    assert distances.min() > 0, "grid points are distinct"
    corners = np.stack(np.meshgrid(*np.stack([domain.lower, domain.upper], axis=1)), axis=-1).reshape(-1, domain.dim)
    for corner in corners[domain.contains(corners)]:
        found = np.linalg.norm(grid - corner, axis=1).min()
        assert found <= 1e-8 * scale, "corners of the bounding box that belong to the domain are grid points"


def _check_spread(domain: Domain) -> None:
    points = domain.spread(50)
    assert domain.contains(points).all(), "spread points belong to the domain"
    assert np.array_equal(points, domain.spread(50)), "spread gives the same points at every call"
    assert 1 <= len(points) <= 100, "spread(n) gives about n points"


def _check_cells(domain: Domain, inside: Array, around: Array, scale: float) -> None:
    cells = domain.cells()
    for cell in cells:
        assert cell.lower.shape == cell.upper.shape == (len(cell.lower), domain.dim), "cells hold boxes (K, m)"
        assert (cell.lower <= cell.upper).all(), "boxes have lower <= upper"
    tol = 1e-9 * scale**2
    for y in inside:
        assert any(in_cell(cell, y, tol) for cell in cells), f"some cell covers every point; none covers {y}"
    for y in around[~domain.contains(around, tol=1e-6)]:
        assert not any(in_cell(cell, y, 0.0) for cell in cells), f"cells hold nothing else; one holds {y}"


def _check_support(domain: Domain, inside: Array, rng: np.random.Generator) -> None:
    """Whoever has a formula for the maximum of d · y must have the right one."""
    directions = np.concatenate([rng.normal(size=(20, domain.dim)), np.zeros((1, domain.dim)), np.eye(domain.dim)])
    found = domain.support(directions)
    if found is None:
        return
    y, top = found
    assert y.shape == directions.shape, "support gives a point a direction"
    assert domain.contains(y).all(), "maximisers belong to the domain"
    size = 1e-9 * (1 + np.abs(directions) @ np.maximum(np.abs(domain.lower), np.abs(domain.upper)))
    attained = (directions * y).sum(axis=1)
    assert (attained >= top - size).all(), "the maximum is attained"
    others = directions @ np.concatenate([inside, domain.spread(50)]).T
    assert (others.max(axis=1) <= top + size).all(), "no point of the domain is further out"
    for direction, bound, lower, upper in zip(directions, top, *domain.witness(y), strict=True):
        if not np.isnan(lower).any():
            ends = [
                sorted([Fraction(d) * a, Fraction(d) * b])
                for d, a, b in zip(direction, *_exact(lower, upper), strict=True)
            ]
            assert sum(low for low, _ in ends) <= Fraction(bound), "bounds of support hold in exact arithmetic"
        exact = domain.exact_support([Fraction(d) for d in direction.tolist()])
        if exact is not None:
            assert exact <= Fraction(bound), "the bound of support is at least the exact one"
            assert float(Fraction(bound) - exact) <= size.max(), "which is near it"


def _check_witness(domain: Domain, inside: Array, around: Array, scale: float, meets: Meets | None) -> None:
    """Boxes with a point of the domain in them: near the given points, and never a false one."""
    lower, upper = domain.witness(np.concatenate([inside, around]))
    assert lower.shape == upper.shape == (len(inside) + len(around), domain.dim), "witness gives boxes (N, m)"
    known = ~np.isnan(lower).any(axis=1)
    assert (np.isnan(lower) == np.isnan(upper)).all(), "a witness is known or not"
    assert np.isnan(lower[~known]).all(), "a witness is known or not, in all coordinates alike"
    assert (lower[known] <= upper[known]).all(), "a witness has lower <= upper"
    for box in zip(lower[known], upper[known], strict=True):
        found = (meets or (lambda a, b: any(_may_meet(cell, a, b) for cell in domain.cells())))(*_exact(*box))
        assert found, f"a witness holds a point of the domain; none is in {box}"
    near, close = known[: len(inside)], inside[known[: len(inside)]]
    for end in (lower, upper):
        moved = np.abs(end[: len(inside)][near] - close)
        assert moved.max(initial=0.0) <= 1e-8 * scale, "a witness is close to a point that belongs to the domain"


def _exact(*points: Array) -> list[list[Fraction]]:
    return [[Fraction(float(v)) for v in point] for point in points]


@dataclass(frozen=True)
class Span:
    """A closed interval of rational numbers; NumPy's operators work on arrays of them, without rounding anything."""

    low: Fraction
    high: Fraction

    @staticmethod
    def of(value: Any) -> Span:
        return value if isinstance(value, Span) else Span(Fraction(value), Fraction(value))

    def __add__(self, other: Any) -> Span:
        o = Span.of(other)
        return Span(self.low + o.low, self.high + o.high)

    def __neg__(self) -> Span:
        return Span(-self.high, -self.low)

    def __sub__(self, other: Any) -> Span:
        return self + -Span.of(other)

    def __rsub__(self, other: Any) -> Span:
        return -self + other

    def __mul__(self, other: Any) -> Span:
        o = Span.of(other)
        ends = [a * b for a in (self.low, self.high) for b in (o.low, o.high)]
        return Span(min(ends), max(ends))

    def __truediv__(self, other: float) -> Span:
        return self * (1 / Fraction(other))

    def __abs__(self) -> Span:
        inner = max(self.low, -self.high, Fraction(0))
        return Span(inner, max(abs(self.low), abs(self.high)))

    def __pow__(self, k: int) -> Span:
        if k != int(k) or k < 0:
            raise TypeError(f"only whole powers are rational; got {k}")
        base = abs(self) if k % 2 == 0 else self
        return Span(base.low ** int(k), base.high ** int(k))

    __radd__ = __add__
    __rmul__ = __mul__


def _may_meet(cell: Cell, lower: list[Fraction], upper: list[Fraction]) -> bool:
    """Whether neither boxes nor inequalities of a cell exclude a box; for a single point, whether it is in the cell."""
    parts = [
        [(max(a, Fraction(c)), min(b, Fraction(d))) for a, b, c, d in zip(lower, upper, low, high, strict=True)]
        for low, high in zip(cell.lower, cell.upper, strict=True)
    ]
    for part in parts:
        if all(a <= b for a, b in part):
            if cell.inside is None:
                return True
            try:
                values = cell.inside(np.array([Span(a, b) for a, b in part], dtype=object))
            except TypeError as error:
                raise AssertionError(f"these inequalities are not rational; give `meets` ({error})") from error
            if all(Span.of(v).high >= 0 for v in values):
                return True
    return False


def _check_identity(domain: Domain) -> None:
    again = pickle.loads(pickle.dumps(domain))
    assert again == domain, "a copy is equal"
    assert hash(again) == hash(domain), "equal domains have equal hashes"
    assert (domain == 1) is False, "a domain equals no number"
    assert repr(domain).startswith(type(domain).__name__ + "("), "repr looks like the constructor"
    assert str(domain), "str reads like mathematics"
    assert domain.latex(), "latex too"
    with pytest.raises(AttributeError):
        domain.lower = domain.upper  # type: ignore[misc]
    with pytest.raises(ValueError, match="read-only"):
        domain.lower[0] = 0.0


def _check_errors(domain: Domain) -> None:
    wrong = np.zeros((2, domain.dim + 1))
    for method in (domain.contains, domain.project, domain.witness):
        with pytest.raises(ModelError, match="expected shape"):
            method(wrong)
    with pytest.raises(ModelError, match="finite"):
        domain.project(np.full(domain.dim, np.nan))
    assert not domain.contains(np.full(domain.dim, np.nan)).any(), "nan is not in the domain"
    with pytest.raises(ModelError, match="per_axis"):
        domain.grid(0)
