"""Quadratic rows over a ball: the supremum has a dual without gap (S-lemma), so that no box has to be split.

For |z| <= 1 and every multiplier λ >= 0 with M = λ I - S positive semidefinite,

    v + d z + z S z  <=  v + λ + d z - z M z  <=  v + λ + u M u + |d - 2 M u|

for every u: λ is no less than a proven bound of the largest eigenvalue of S, and u nearly the maximiser, which solves
2 M u = d. With the right λ nothing is lost (Pólik, Terlaky, A survey of the S-lemma, 2007). Rows may touch zero along
whole curves and spheres, where boxes would have to become as small as their rounding.
"""

from __future__ import annotations

from collections.abc import Hashable
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from ..domains import Ball, Cell, Domain
from ..domains.proven import LOST
from ..expressions.directions import Definite
from ..expressions.interval import EPS, TINY
from .base import Array, Directed, Pieces, Rows
from .bounder import Bounder, BoxBounds, BoxView, swing

if TYPE_CHECKING:
    from ..expressions.ring import Polynomial


class SLemma(Bounder):
    """Rows on a ball as a whole: its one box, which nobody splits, is the centre, twice."""

    peaks = True

    def __init__(self, family: Rows, ball: Ball) -> None:
        centre = np.stack([ball.centre] * 2)  # one for each of two maximisers
        super().__init__(family, Cell(centre, centre, None))
        self.ball = ball

    @staticmethod
    def of(family: Rows, domain: Domain) -> SLemma | None:
        """That of quadratics over a ball; None for all else."""
        if not isinstance(domain, Ball) or isinstance(family.source, Directed):
            return None
        ones = np.ones(family.columns.shape[1] + 1)
        for component in range(len(family.columns)):
            for j in range(len(ones)):  # each by itself, since some might cancel
                row = family.polynomial(component, np.where(np.arange(len(ones)) == j, ones, 0.0))
                if row is None or any(sum(powers) > 2 for powers in row):
                    return None
        return SLemma(family, domain)

    def other(self, family: Rows) -> SLemma:
        """The same for other rows."""
        return SLemma(family, self.ball)

    def enclose(self, lower: Array, upper: Array, pieces: Pieces) -> dict[str, Any]:
        """The points alone."""
        return {"lower": lower, "upper": upper, "rough": np.zeros_like(lower), "pays": np.zeros_like(lower)}

    def changed(self, columns: dict[str, Any], n: int, family: Rows, before: Hashable) -> Bounder | None:
        """The ball is the same for all data, but rows may be no quadratics any more."""
        return SLemma.of(family, self.ball)

    def bound(self, boxes: BoxView, weights: Array, spread: Array | None) -> BoxBounds:
        """Bounds (2, p) of the rows, and where they are largest."""
        n, p, m = len(boxes), self.p, self.dim
        upper, model, points = np.full((n, p), np.inf), np.full((n, p), -np.inf), np.zeros((n, p, m))
        points[:] = self.ball.centre
        for c, w in enumerate(weights):
            row = self.family.polynomial(c, w)
            if row is not None and all(sum(powers) <= 2 for powers in row):
                try:
                    top, ends = _largest(*_about(row, self.ball, m))
                except (OverflowError, ValueError, np.linalg.LinAlgError):  # numbers that are not finite as doubles
                    continue
                upper[:, c] = model[:, c] = top
                points[:, c] = (self.ball.centre + self.ball.radius * ends)[:n]
        if spread is not None:
            upper += swing(self.family, self.ball.lower[None], self.ball.upper[None], spread)
            upper += 2 * EPS * np.abs(upper)
        flat = self.ball.project(points.reshape(-1, m))
        return BoxBounds(np.where(np.isnan(upper), np.inf, upper), flat.reshape(n, p, m), model)


def _about(row: Polynomial, ball: Ball, m: int) -> tuple[Fraction, Array, Array, Array, Array]:
    """v, d and S of a row in z, y = centre + radius z, and what rounding d and S leaves; S is symmetric."""
    c, r = [Fraction(float(u)) for u in ball.centre], Fraction(ball.radius)
    v, d, S = Fraction(0), [Fraction(0)] * m, [[Fraction(0)] * m for _ in range(m)]
    for powers, a in row.items():
        axes = [i for i, power in enumerate(powers) for _ in range(power)]
        if not axes:
            v += a
        elif len(axes) == 1:
            v, d[axes[0]] = v + a * c[axes[0]], d[axes[0]] + a * r
        else:
            v += a * c[axes[0]] * c[axes[1]]
            for i, j in (axes, axes[::-1]):
                d[i] += a * c[j] * r
                S[i][j] += a * r * r / 2
    flat = [*d, *(s for line in S for s in line)]
    near = np.array([float(u) for u in flat])
    doubt = np.array(
        [0.0 if Fraction(u) == w else EPS * abs(u) + TINY for u, w in zip(near.tolist(), flat, strict=True)]
    )
    return v, near[:m], near[m:].reshape(m, m), doubt[:m], doubt[m:].reshape(m, m)


def _largest(v: Fraction, d: Array, S: Array, d_doubt: Array, S_doubt: Array) -> tuple[float, Array]:
    """A bound of v + d z + z S z over the unit ball, and two points (2, m) where it is nearly attained."""
    m = len(d)
    values, vectors = np.linalg.eigh(S)
    turned, rounding, multiplier = vectors.T @ d, 4 * (m + 8) * EPS, 0.0
    if S.any() or S_doubt.any():
        multiplier = max(float(Definite().above(S.ravel(), S_doubt.ravel())), 0.0)

    def at(multiplier: float) -> Array:
        gap = multiplier - values
        return np.divide(0.5 * turned, gap, out=np.zeros(m), where=gap > 0)

    def beyond(multiplier: float) -> float:
        return float(np.linalg.norm(at(multiplier))) - 1.0

    if beyond(multiplier) > 0:
        from scipy.optimize import brentq

        multiplier = float(brentq(beyond, multiplier, multiplier + float(np.linalg.norm(d)), xtol=TINY, rtol=4 * EPS))
    elif not multiplier and d.any() and not S.any():  # a plane
        multiplier = 0.5 * float(np.linalg.norm(d))
    u = vectors @ at(multiplier)
    moved, sizes = multiplier * u - S @ u, multiplier * np.abs(u) + np.abs(S) @ np.abs(u)
    bent = (
        float(u @ moved) + rounding * float(np.abs(u) @ sizes) + float(np.abs(u) @ S_doubt @ np.abs(u)) * (1 + rounding)
    )
    left = np.abs(d - 2 * moved) + rounding * (np.abs(d) + sizes) + (d_doubt + 2 * S_doubt @ np.abs(u)) * (1 + rounding)
    first = float(v)
    first = first if Fraction(first) >= v else float(np.nextafter(first, np.inf))
    parts = first, multiplier, bent, float(np.linalg.norm(left))
    most = sum(parts) + rounding * sum(map(abs, parts)) + (m * m * LOST if d.any() or d_doubt.any() else 0.0)
    # To the sphere along the last eigenvector, where the maximiser is not alone.
    short = max(1.0 - float(u @ u), 0.0) if multiplier > 0 else 0.0
    along = vectors[:, -1]
    slope = float(u @ along)
    step = np.sqrt(slope * slope + short)
    return most, np.stack([u + (step - slope) * along, u - (step + slope) * along])
