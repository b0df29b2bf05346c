"""The violation over Y as numbers for pictures and pages: curves, slices on a mesh, clouds of points.

Evaluated only at points of the index set. Where a mesh reaches beyond it, nodes outside carry the value at their
projection, so that a page can interpolate up to the boundary, and a finer mask says what is inside.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray

from ..deadline import EFFORT
from ..domains import Domain
from ..domains.window import window
from ..model.violation import Seen
from ..oracles.attained import is_box
from ..proof.certificate import Array


@dataclass(frozen=True)
class PictureTuning:
    """At how many points a violation is evaluated for a picture.

    Parameters
    ----------
    points
        Along a curve; of an index set that has no area; and those among which the worst one is looked for. A slice that
        is only tried has a quarter of them.
    """

    points: int = 2048


TUNING = PictureTuning()


@dataclass(frozen=True)
class Slice:
    """A plane through `through` along two axes."""

    axes: tuple[int, int]
    through: Array  # (m,)
    name: str  # of the point: "the worst point", "active point 2"
    corners: Array  # (2, 2), lower and upper, of what is shown of the plane


def evaluate(violation: Seen, y: Array, rows: Sequence[int | None]) -> Array:
    """g at the points y (N, m): a line for every row of `rows`, None being the largest of all; NaN where undefined."""
    p, k = violation.family.columns.shape
    chunk = max(1, EFFORT.entries // (p * k))
    parts = [_chosen(violation.values(y[i : i + chunk]), rows) for i in range(0, len(y), chunk)]
    return np.concatenate(parts, axis=1) if parts else np.zeros((len(rows), 0))


def _chosen(values: Array, rows: Sequence[int | None]) -> Array:
    values = np.where(np.isfinite(values), values, np.nan)
    return np.stack([np.fmax.reduce(values, axis=1) if row is None else values[:, row] for row in rows])


def line(domain: Domain, active: Array) -> Array:
    """Points (N, 1) along a one-dimensional domain, the active ones among them; gaps are single NaNs."""
    t = np.linspace(domain.lower[0], domain.upper[0], TUNING.points)
    t = np.unique(np.concatenate([t, active[:, 0]]))
    inside = domain.contains(t[:, None])
    return np.where(inside, t, np.nan)[:, None]


def along(violation: Seen, t: Array, rows: Sequence[int | None]) -> Array:
    """`evaluate` on the points of `line`, NaN in its gaps."""
    values = np.full((len(rows), len(t)), np.nan)
    inside = np.isfinite(t[:, 0])
    values[:, inside] = evaluate(violation, t[inside], rows)
    return values


def cloud(domain: Domain, active: Array) -> Array:
    """Points (N, m) of a domain that has no area to be meshed, the active ones last."""
    return np.concatenate([domain.spread(TUNING.points), active])


def worst_point(violation: Seen, domain: Domain, active: Array) -> Array:
    """The point at which the violation is largest, among many and the active ones; one of these if as good."""
    trial = np.concatenate([domain.spread(TUNING.points), active])
    g = evaluate(violation, trial, [None])[0]
    if np.isnan(g).all():
        return domain.project((domain.lower + domain.upper)[None] / 2)[0]
    if len(active) and np.nanmax(g[-len(active) :]) >= np.nanmax(g) - 1e-6 * np.nanmax(np.abs(g)):
        return active[0]
    return trial[int(np.nanargmax(g))]


def slices(violation: Seen | None, domain: Domain, active: Array, most: int) -> list[Slice]:
    """The planes to show, at most `most`: all pairs of axes through the worst point, then through active points.

    Where not all pairs fit, those come first along which the violation varies most.
    """
    start = (
        active[0] if violation is None and len(active) else domain.project((domain.lower + domain.upper)[None] / 2)[0]
    )
    worst = start if violation is None else worst_point(violation, domain, active)

    def cut(pair: tuple[int, int], through: Array = worst, name: str = "") -> Slice:
        whole = np.array([domain.lower[list(pair)], domain.upper[list(pair)]])
        return Slice(pair, through, name, whole if violation is None else window(domain, through, pair))

    if domain.dim == 2:
        return [cut((0, 1))]
    pairs = list(combinations(range(min(domain.dim, 8)), 2))
    if violation is not None and len(pairs) > min(most, 6):
        pairs.sort(key=lambda pair: -_variation(violation, domain, cut(pair)))
    pairs = sorted(pairs[:most])
    if violation is None:
        return [cut(pair) for pair in pairs]
    through = [(worst, "the worst point")]
    through += [(y, f"active point {k + 1}") for k, y in enumerate(active) if (y != worst).any()]
    through = through[: max(1, most // len(pairs))]
    return [cut(pair, point, name) for point, name in through for pair in pairs]


def mesh(cut: Slice, side: int) -> Array:
    """The points (side², m) of a square mesh on a slice, second axis slowest; they may lie outside the domain."""
    i, j = cut.axes
    y = np.tile(cut.through, (side * side, 1))
    u, v = np.linspace(cut.corners[0], cut.corners[1], side).T
    y[:, i], y[:, j] = (grid.ravel() for grid in np.meshgrid(u, v))
    return y


def surface(violation: Seen, domain: Domain, cut: Slice, side: int) -> Array:
    """The largest violation on the mesh of a slice (side, side); NaN outside the domain."""
    y = mesh(cut, side)
    inside = domain.contains(y)
    values = np.full(len(y), np.nan)
    values[inside] = evaluate(violation, y[inside], [None])[0]
    return values.reshape(side, side)


def heights(violation: Seen, domain: Domain, cut: Slice, rows: Sequence[int | None], side: int) -> Array:
    """The violation on the mesh of a slice (rows, side²); outside the domain, that of the nearest point in it."""
    y = mesh(cut, side)
    outside = ~domain.contains(y)
    if outside.any():
        y[outside] = domain.project(y[outside])
    return evaluate(violation, y, rows)


def mask(domain: Domain, cut: Slice, side: int) -> NDArray[np.uint8] | None:
    """How much of the surroundings of each node (side²) lies in the domain, in fifteenths, two nodes a byte.

    Tried at nine places around each node, so that a page can draw a smooth boundary; None when all is inside.
    """
    if is_box(domain):
        return None
    i, j = cut.axes
    counts = np.zeros(side * side)
    step = (cut.corners[1] - cut.corners[0]) / (3 * (side - 1))
    for shift in product((-1, 0, 1), repeat=2):
        y = mesh(cut, side)
        y[:, [i, j]] = np.clip(y[:, [i, j]] + np.array(shift) * step, *cut.corners)
        counts += domain.contains(y)
    if (counts == 9).all():
        return None
    levels = np.rint(counts * 15 / 9).astype(np.uint8)
    levels = np.append(levels, np.zeros(len(levels) % 2, dtype=np.uint8))
    return (16 * levels[::2] + levels[1::2]).astype(np.uint8)


def _variation(violation: Seen, domain: Domain, cut: Slice) -> float:
    g = surface(violation, domain, cut, math.isqrt(TUNING.points // 4))
    return float(np.nanstd(g)) if np.isfinite(g).any() else 0.0


def flat(domain: Domain) -> bool:
    """Whether the set has no area in its coordinates, so that a mesh would miss it."""
    return bool(domain.measure[0] < domain.dim)
