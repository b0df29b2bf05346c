"""Sums of cosines and sines of a scalar index, bounded in closed form, whatever their weights.

Over boxes [lower, upper] around centres c, with u = (y - c) / r, the Taylor series of such a sum g is known to any
order m: its coefficients are products of a table of cos(f c) and sin(f c) with the weights times powers of f, and its
rest is at most the sum of |weight| (f r)^m / m!. Then, with the coefficients T_j,

    g <= T_0 + T_1 u + (T_2 + R) u^2,   R = |T_3| + ... + |T_m-1| + rest,   for |u| <= 1,

which is as sharp at a maximum as T_1 is small: boxes are centred anew at the maximum of their Taylor series. Terms that
cancel do so in the coefficients, where a `Cover` encloses one function at a time; as in Bernstein's inequality, the
largest frequency says how large derivatives may be.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import frexp
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..deadline import check
from ..domains.proven import LOST
from ..expressions.functions import FUNCTIONS
from ..expressions.interval import EPS, down, up
from ..expressions.waves import OTHER, SINE, Waves
from .base import Array, EnclosableViolation, Ints, Separation, Wavy, Weighted
from .distinct import distinct, one_a_row

_COS = FUNCTIONS["cos"]


# Bits of a frequency, relative to the least one, up to which centres are chosen so that their products are exact.
FREQUENCY_BITS = 24


@dataclass(frozen=True)
class HarmonicTuning:
    """How an interval is cut, and how far series go.

    Parameters
    ----------
    order
        Terms of a series; maxima are looked for in the first half of it.
    most_first
        The first boxes at most, and those that are open at most for each of them.
    block
        Terms that are added up before these sums are: rounding grows with the larger of both numbers.
    """

    order: int = 16
    most_first: int = 20_000
    block: int = 16


TUNING = HarmonicTuning()


class Found(NamedTuple):
    """A bound of a sum, and where it is largest."""

    bound: float
    points: Array  # (k,)
    components: Ints


def by_waves(
    violation: EnclosableViolation, rows: Weighted, target: float, alert: float, most: int
) -> Separation | None:
    """The maxima of rows that are sums of waves over an interval, so many at most, and a bound; None if that fails."""
    cells, family = violation.domain.flat_cells(), rows.family
    waves = family.waves if isinstance(family, Wavy) else None
    whole = len(cells) == 1 and len(cells[0].lower) == 1 and cells[0].inside is None and cells[0].place is None
    if waves is None or not whole or (waves.kind == OTHER).any():
        return None
    lower, upper = float(cells[0].lower[0, 0]), float(cells[0].upper[0, 0])
    with np.errstate(over="ignore", invalid="ignore"):  # of what is not finite nothing is proven here
        found = Harmonic(waves, rows.weights, rows.spread).largest(lower, upper, target, alert)
    if found is None:
        return None
    y = violation.domain.project(found.points[:, None])
    value = violation.at(y, found.components)
    radius = np.array([0.1 * (upper - lower) / max(len(y), 1)])  # nearer maxima are one
    if violation.components > most:
        chosen = one_a_row(value, found.components)
    else:
        chosen = distinct(y, value, found.components, radius, most)
    bound = max(found.bound, float(value.max(initial=-np.inf)))
    trusts = family.trusts(violation.domain)
    return Separation(y[chosen], value[chosen], bound, found.components[chosen], trusts=trusts)


class Harmonic:
    """Sums g_i(y) = sum_k weights[k, i] wave_k(y), i < p, with half-widths of the weights."""

    def __init__(self, waves: Waves, weights: Array, spread: Array | None) -> None:
        """Waves (p K,) row by row, and their weights (p, K)."""
        p = len(weights)
        flat = (waves.factor * weights.ravel(), waves.kind == SINE, waves.frequency)
        frequency, sine = np.abs(flat[2]), flat[1]
        value = np.where(sine & (flat[2] < 0), -flat[0], flat[0])  # sin is odd, cos is even
        order = np.lexsort((sine, frequency))
        first = np.concatenate([[True], (np.diff(frequency[order]) != 0) | (np.diff(sine[order].astype(int)) != 0)])
        place = np.empty(len(order), dtype=np.intp)
        place[order] = np.cumsum(first) - 1
        self.frequency, self.sine = frequency[order][first], sine[order][first]
        count, row = len(self.frequency), np.repeat(np.arange(p), weights.shape[1])
        self.q, self.sizes = np.zeros((2, count, p))
        np.add.at(self.q, (place, row), value)
        np.add.at(self.sizes, (place, row), np.abs(value))
        self.meeting = int(np.bincount(place * p + row).max())  # terms that were added up, at most
        self.swing = np.zeros(p)
        if spread is not None:
            self.swing = up(
                (np.abs(waves.factor.reshape(p, -1)) * spread).sum(axis=1) * (1 + (weights.shape[1] + 4) * EPS)
            )
        self.p, self.fastest = p, float(self.frequency.max()) or 1.0
        self.unit = 2.0 ** frexp(self.fastest)[1]  # so that dividing by it rounds nothing
        self.bits = max(_bits(v) for v in self.frequency.tolist())
        self._prepare()

    def _prepare(self) -> None:
        """Weights times powers of frequencies, in blocks, and what is lost by rounding for each order."""
        order, block = TUNING.order, TUNING.block
        count = len(self.frequency)
        powers = np.ones((count, order + 1))
        powers[:, 1:] = (self.frequency / self.unit)[:, None]
        np.cumprod(powers, axis=1, out=powers)
        terms = self.q[:, :, None] * powers[:, None, :order]  # (count, p, order)
        # cos, -sin, -cos, sin are the derivatives of cos, which those of sin begin with one earlier.
        turn = (np.arange(order) - self.sine[:, None]) % 4
        blocks = -(-count // block)
        table = np.zeros((2, blocks * block, self.p * order))
        for k, signs in enumerate(([1.0, 0.0, -1.0, 0.0], [0.0, -1.0, 0.0, 1.0])):
            table[k, :count] = (np.array(signs)[turn][:, None, :] * terms).reshape(count, -1)
        # Cosines and sines of a block stand side by side, so that one product adds up both.
        self.table = table.reshape(2, blocks, block, -1).transpose(1, 0, 2, 3).reshape(blocks, 2 * block, -1)
        self.most = np.einsum("kp,kj->pj", self.sizes, powers)  # (p, order + 1)
        self.turned = np.einsum("kp,kj->pj", self.sizes * self.frequency[:, None], powers)  # for arguments that round
        # Of the function; of a block, where half of the entries are zero, and of all blocks; of powers and factorials.
        self.lost = EPS * (_COS.ulps + 0.5 * (block + blocks + self.meeting) + 4.0 + 4.0 * np.arange(order + 1))
        self.lost[order] = 1.0  # what is left out altogether

    def expanded(self, c: Array, r: Array) -> tuple[Array, Array]:
        """Coefficients (B, p, order) in u, and what they are off by, the rest last: (B, p, order + 1)."""
        order, count, blocks = TUNING.order, len(self.frequency), len(self.table)
        angle = c[:, None] * self.frequency
        waves = np.zeros((2, len(c), blocks * TUNING.block))
        np.cos(angle, out=waves[0, :, :count])
        np.sin(angle, out=waves[1, :, :count])
        side = waves.reshape(2, len(c), blocks, -1).transpose(2, 1, 0, 3).reshape(blocks, len(c), -1)
        scale = np.ones((len(c), 1, order + 1))
        scale[..., 1:] = (self.unit * r)[:, None, None] / np.arange(1, order + 1)
        np.cumprod(scale, axis=2, out=scale)
        series = np.matmul(side, self.table).sum(axis=0).reshape(len(c), self.p, order) * scale[..., :order]
        doubt = scale * (self.most * self.lost)
        if self.bits > FREQUENCY_BITS:
            doubt = doubt + EPS * np.abs(c)[:, None, None] * scale * self.turned
        return series, doubt * (1 + 1e-9) + LOST

    def centres(self, y: Array, largest: float) -> Array:
        """Numbers next to y whose products with all frequencies are exact, where there are such."""
        if self.bits > FREQUENCY_BITS or not largest:
            return y
        grid = 2.0 ** (frexp(largest)[1] - (52 - self.bits))
        return np.round(y / grid) * grid

    def largest(self, lower: float, upper: float, target: float, alert: float) -> Found | None:
        """A bound over an interval: at most the `target`, or about twice what is attained; None if that fails."""
        size = max(abs(lower), abs(upper))
        if not np.isfinite(self.most).all() or size * self.unit > min(_COS.checked[1], 2.0**40):
            return None
        # So narrow that series converge fast, and are concave around a maximum.
        waves = (upper - lower) * self.fastest / (2.0 * 0.75)
        if not waves < TUNING.most_first:
            return None
        first = int(waves) + 1
        edges = np.linspace(lower, upper, first + 1)
        edges[-1] = upper
        lo, hi = edges[:-1], edges[1:]
        at, fresh = 0.5 * lo + 0.5 * hi, np.ones(first, dtype=bool)
        bound = best = -np.inf
        maxima: list[tuple[Array, Array]] = []
        for _ in range(24):  # where more rounds are needed, rounding keeps the bound up
            check("branch-and-bound")
            c = self.centres(at, size)
            r = up(np.maximum(hi - c, c - lo))
            series, doubt = self.expanded(c, r)
            low, high = (lo - c) / r, (hi - c) / r
            ends = low - 4 * EPS * np.abs(low), high + 4 * EPS * np.abs(high)
            tops = _bounds(series, doubt, *ends) + self.swing
            if not np.isfinite(tops).all():
                return None
            values, where = series[..., 0] + self.swing, np.broadcast_to(c[:, None], series.shape[:2]).copy()
            unsure = np.flatnonzero(tops.max(axis=1) > target)
            if len(unsure):
                u = _maxima(series[unsure, :, : TUNING.order // 2], ends[0][unsure], ends[1][unsure])
                values[unsure] = _at(series[unsure], u[..., None])[..., 0] + self.swing
                where[unsure] += r[unsure, None] * u
            maxima.append((np.clip(where, lower, upper), values))
            best = max(best, float(values.max()))
            goal = max(target, 2 * best - alert) if best > alert else target
            left = np.flatnonzero(tops.max(axis=1) > goal)
            bound = max(bound, float(np.delete(tops, left, axis=0).max(initial=-np.inf)))
            if not len(left):
                return self._found(bound, maxima, alert)
            if len(left) > 8 * first or (hi <= lo)[left].any():
                return None
            # Around a centre that is a maximum, a part of the box may be bounded well enough.
            share, old = np.zeros(len(left)), np.flatnonzero(~fresh[left])
            for part in (0.5, 0.25, 0.125) if len(old) else ():
                some, powers = left[old], part ** np.arange(TUNING.order + 1.0)
                low, high = (np.clip(end[some] / part, -1.0, 1.0) for end in ends)
                inner = _bounds(series[some] * powers[:-1], doubt[some] * powers, low, high) + self.swing
                good = inner.max(axis=1) <= goal
                bound = max(bound, float(inner[good].max(initial=-np.inf)))
                share[old[good]] = part
                old = old[~good]
            peak = where[left, tops[left].argmax(axis=1)]
            lo, hi, at, fresh = _cut(lo[left], hi[left], peak, fresh[left], c[left], 0.999 * share * r[left])
        return None

    def _found(self, bound: float, maxima: list[tuple[Array, Array]], alert: float) -> Found:
        """Maxima that violate, or the largest of all."""
        y, value = (np.concatenate(part) for part in zip(*maxima, strict=True))
        best = value.max()
        # Nearly as large ones are told as well.
        box, component = np.nonzero(value > (alert if best > alert else best - 0.1 * abs(best)))
        return Found(bound, y[box, component], component)


def _bits(f: float) -> int:
    """How many binary digits a number has."""
    return int(f.as_integer_ratio()[0]).bit_length() if f < 2.0**53 else 64


def _bounds(series: Array, doubt: Array, low: Array, high: Array) -> Array:
    """Upper bounds (B, p) of series that are off by `doubt` for u between both ends, within [-1, 1] or next to it."""
    higher = np.abs(series[..., 3:]).sum(axis=-1) + doubt[..., 2:].sum(axis=-1)
    bend = series[..., 2] + higher + 64 * EPS * (np.abs(series[..., 2]) + higher)
    concave, rise = bend < 0, np.zeros(bend.shape)
    low, high = low[:, None], high[:, None]
    rounding = 16 * EPS * (np.abs(series[..., 1]) + np.abs(bend))
    for sign, near, far in (
        (1.0, np.maximum(low, 0.0), np.maximum(high, 0.0)),
        (-1.0, np.minimum(high, 0.0), np.minimum(low, 0.0)),
    ):
        slope = series[..., 1] + sign * (doubt[..., 1] + rounding)
        top = np.where(concave, -slope / np.where(concave, 2 * bend, 1.0), 0.0)
        for u in (near, far, np.clip(top, np.minimum(near, far), np.maximum(near, far))):
            rise = np.maximum(rise, slope * u + bend * u * u)
    value = series[..., 0] + doubt[..., 0]
    return value + rise + 8 * EPS * (np.abs(value) + rise + rounding)


def _maxima(series: Array, low: Array, high: Array) -> Array:
    """Where series (B, p, order) are largest between both ends, nearly."""
    low, high = low[:, None, None], high[:, None, None]
    tried = low + (high - low) * np.linspace(0.0, 1.0, 5)  # (B, 1, 5)
    u = np.take_along_axis(np.broadcast_to(tried, (*series.shape[:2], 5)), _at(series, tried).argmax(-1)[..., None], -1)
    slopes = series[..., 1:] * np.arange(1, series.shape[-1])
    bends = slopes[..., 1:] * np.arange(1, slopes.shape[-1])
    for _ in range(2):
        bend = _at(bends, u)
        u = np.clip(u - np.where(bend < 0, _at(slopes, u) / np.where(bend < 0, bend, 1.0), 0.0), low, high)
    found: Array = u[..., 0]
    return found


def _at(series: Array, u: Array) -> Array:
    """Series (B, p, order) at points (B, p or 1, k), by Horner's rule."""
    total = np.zeros(np.broadcast_shapes(series[..., :1].shape, u.shape))
    for j in range(series.shape[-1] - 1, -1, -1):
        total = total * u + series[..., j : j + 1]
    return total


def _cut(
    lo: Array, hi: Array, peak: Array, fresh: NDArray[np.bool_], c: Array, done: Array
) -> tuple[Array, Array, Array, NDArray[np.bool_]]:
    """What is left of boxes: without what is `done` around their centres, or centred anew at their maxima.

    Where that was done before and nothing is, they are cut on both sides of the maximum. Rounding leaves more rather
    than less.
    """
    peak = np.clip(peak, lo, hi)
    quarter = 0.25 * (hi - lo)
    some = done > 0
    left = np.where(some, np.clip(up(c - done), lo, hi), np.maximum(lo, peak - quarter))
    right = np.where(some, np.clip(down(c + done), lo, hi), np.minimum(hi, peak + quarter))
    old, middle = ~fresh, ~fresh & ~some
    parts = [
        (lo[fresh], hi[fresh], peak[fresh]),
        (left[middle], right[middle], peak[middle]),
        (lo[old], left[old], 0.5 * lo[old] + 0.5 * left[old]),
        (right[old], hi[old], 0.5 * right[old] + 0.5 * hi[old]),
    ]
    lower, upper, at = (np.concatenate(part) for part in zip(*parts, strict=True))
    new = np.arange(len(lower)) >= len(parts[0][0]) + len(parts[1][0])  # not centred at a maximum yet
    kept = upper > lower
    return lower[kept], upper[kept], at[kept], new[kept]
