"""Bounds of sums of cosines and sines of a scalar index, in closed form, whatever their weights.

Over boxes [lower, upper] around centres c, with u = (y - c) / r, the Taylor series of such a sum g is known to any
order m: its coefficients are products of a table of cos(f c) and sin(f c) with the weights times powers of f, and its
rest is at most the sum of |weight| (f r)^m / m!. Then, with the coefficients T_j,

    g <= T_0 + T_1 u + (T_2 + R) u^2,   R = |T_3| + ... + |T_m-1| + rest,   for |u| <= 1,

which is as sharp at a maximum as T_1 is small: boxes are centred anew at the maximum of their Taylor series. Terms that
cancel do so in the coefficients, where `Taylor` encloses one function at a time; as in Bernstein's inequality, the
largest frequency says how large derivatives may be.
"""

from __future__ import annotations

from math import frexp, isqrt
from typing import Any

import numpy as np

from ..deadline import EFFORT
from ..domains import Cell
from ..domains.proven import LOST
from ..expressions.functions import FUNCTIONS
from ..expressions.interval import EPS, up
from ..expressions.waves import OTHER, SINE, Waves
from .base import Array, Pieces, Rows, Wavy, capable
from .bounder import Bounder, BoxBounds, BoxView
from .taylor import Taylor

_COS = FUNCTIONS["cos"]


# Terms of a series: what they leave of (3/4)^m / m! is about what rounding takes, where boxes span that angle.
ORDER = 16
# Bits of a frequency, relative to the least one, up to which centres are chosen so that their products are exact.
FREQUENCY_BITS = 24


class Trigonometric(Bounder):
    """Rows that are sums of waves over an interval. It keeps boxes alone."""

    def __init__(self, family: Rows, cell: Cell, waves: Waves) -> None:
        super().__init__(family, cell)
        self.waves = waves
        self._last: tuple[bytes, WaveSums] | None = None

    @staticmethod
    def of(family: Rows, cell: Cell) -> Trigonometric | None:
        """For an interval on which all rows are sums of waves, and not too many of these; None for others."""
        line = len(cell.lower) == 1 and cell.lower.shape[1] == 1 and cell.inside is None and cell.place is None
        source = capable(family) if line else None
        waves = source.waves if isinstance(source, Wavy) else None
        if waves is None or (waves.kind == OTHER).any():
            return None
        found = Trigonometric(family, cell, waves)
        return found if found._turns < EFFORT.boxes and found._reach <= min(_COS.checked[1], 2.0**40) else None

    @property
    def _turns(self) -> float:
        """How many boxes are so narrow that series converge fast, and are concave around a maximum."""
        return float((self.cell.upper - self.cell.lower)[0, 0]) * float(np.abs(self.waves.frequency).max()) / (2 * 0.75)

    @property
    def _reach(self) -> float:
        """What no angle exceeds."""
        ends = np.abs([self.cell.lower, self.cell.upper]).max()
        return float(ends) * 2.0 ** frexp(float(np.abs(self.waves.frequency).max()) or 1.0)[1]

    def first_boxes(self) -> tuple[Array, Array]:
        """Boxes to start with."""
        lower, upper = self.cell.lower[0, 0], self.cell.upper[0, 0]
        edges = np.linspace(lower, upper, int(self._turns) + 2)
        edges[-1] = upper
        return edges[:-1, None].copy(), edges[1:, None].copy()

    def enclose(self, lower: Array, upper: Array, pieces: Pieces) -> dict[str, Any]:
        """Boxes alone."""
        return {"lower": lower, "upper": upper, "rough": np.zeros_like(lower), "pays": np.ones_like(lower)}

    def bound(self, boxes: BoxView, weights: Array, spread: Array | None) -> BoxBounds | None:
        """Bounds for weights (p, K + 1) and all others within their spread; None where something overflows."""
        key = weights.tobytes() + (b"" if spread is None else spread.tobytes())
        with np.errstate(over="ignore", invalid="ignore"):
            if self._last is None or self._last[0] != key:
                self._last = key, WaveSums(self.waves, weights, spread)
            largest = float(np.abs([self.cell.lower, self.cell.upper]).max())
            found = self._last[1].bounds(boxes["lower"][:, 0], boxes["upper"][:, 0], largest)
        return found if np.isfinite(found.upper).all() else None

    def other(self, family: Rows) -> Bounder:
        """The same for other rows, if they are sums of waves."""
        return Trigonometric.of(family, self.cell) or Taylor(family, self.cell)


class WaveSums:
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
        order, count = ORDER, len(self.frequency)
        block = isqrt(count - 1) + 1  # terms that are added up before these sums are
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
        order, count, blocks = ORDER, len(self.frequency), len(self.table)
        angle = c[:, None] * self.frequency
        waves = np.zeros((2, len(c), blocks * (self.table.shape[1] // 2)))
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

    def bounds(self, lower: Array, upper: Array, largest: float) -> BoxBounds:
        """Bounds over intervals, which contain no number above the `largest`, with their maxima."""
        c = self.centres(0.5 * lower + 0.5 * upper, largest)
        top, values, where = self._about(c, lower, upper)
        # Only what exceeds all that is attained has to be sharper: it is centred anew at its maximum.
        some = np.flatnonzero(top.max(axis=1) > values.max())
        if len(some):
            peak = where[some, top[some].argmax(axis=1)]
            found = self._about(self.centres(peak, largest), lower[some], upper[some])
            top[some] = np.minimum(top[some], found[0])
            better = found[1] > values[some]
            values[some], where[some] = (
                np.where(better, a, b[some]) for a, b in zip(found[1:], (values, where), strict=True)
            )
        return BoxBounds(top, where[..., None], values)

    def _about(self, c: Array, lower: Array, upper: Array) -> tuple[Array, Array, Array]:
        """Bounds over intervals (B, p) by series around c, and about the maxima of these, and where they are."""
        r = up(np.maximum(upper - c, c - lower))
        series, doubt = self.expanded(c, r)
        low, high = (lower - c) / r, (upper - c) / r
        low, high = low - 4 * EPS * np.abs(low), high + 4 * EPS * np.abs(high)
        u = _maxima(series[..., : ORDER // 2], low, high)
        values = _at(series, u[..., None])[..., 0] + self.swing
        where = np.clip(c[:, None] + r[:, None] * u, lower[:, None], upper[:, None])
        return _bounds(series, doubt, low, high) + self.swing, values, where


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
