"""A reference for the optimum of a tame model: a dense linear program, refined near its active points.

The program over a sample of Y is a relaxation, so that its value is a lower bound of the optimum, up to the tolerance
of the solver. Its solution breaks rows between the points by a little; the points of the worst breaches, found by a
search on many points and around the best of them, join the sample. What is left of the breach is taken away by a step
towards the point that is strictly feasible, which gives an upper bound as far as the search has seen everything.
Index points that a solver calls active are looked at too: a bound that rests on them is wrong only if they do not show.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

import lsip

from .models import MARGIN, Rows, Tame

Array = NDArray[np.float64]
FIRST, LOOKED = 600, 6000  # points of the first program, and of a search
BEST, AROUND, SHRUNK = 16, 24, 22  # starts of a search, points around each, rounds
APART, SORTED = 0.08, 400  # of two starts, relative to the index set; how many of the worst points are candidates
ROUNDS = 25
SWEEPS = 6  # over the sides of a polytope
CLOSE = 1e-9  # of a breach, relative to the size of the row


@dataclass(frozen=True)
class Reference:
    """lower <= optimum <= upper, each to about 1e-9 of the size of the objective."""

    lower: float
    upper: float
    size: float  # of the terms of the objective and of the multipliers

    @property
    def gap(self) -> float:
        """Relative to the size."""
        return (self.upper - self.lower) / self.size


def reference(model: Tame, seed: int, hints: list[Array] | None = None) -> Reference | None:
    """Bounds of the optimum, None where the linear programs fail; `hints` are index points, one array a family."""
    rng = np.random.default_rng([seed, 7])
    points = [family.domain.spread(FIRST) for family in model.families]
    for f, more in enumerate(hints or []):
        points[f] = np.concatenate([points[f], more[model.families[f].domain.contains(more)]])
    wide = [np.concatenate([f.domain.spread(LOOKED), f.domain.grid(2)]) for f in model.families]
    bounds = np.stack([model.lower, model.upper], axis=1)
    for _ in range(ROUNDS):
        parts = [family.at(y) for family, y in zip(model.families, points, strict=True)]
        a = np.concatenate([p[0] for p in parts] + [model.matrix[~model.equal]])
        b = np.concatenate([p[1] for p in parts] + [model.right[~model.equal]])
        equal = {"A_eq": model.matrix[model.equal], "b_eq": model.right[model.equal]} if model.equal.any() else {}
        options = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
        found: Any = linprog(model.c, a, b, bounds=bounds, method="highs", options=options, **equal)
        if found.status != 0:
            return None
        x, breach = found.x, 0.0
        for f, family in enumerate(model.families):
            worst, values = _search(family, x, np.concatenate([points[f], wide[f]]), rng)
            breach = max(breach, float(values.max()))
            points[f] = np.concatenate([points[f], worst[values > 0.1 * CLOSE]])
        if breach <= CLOSE:
            break
    step = max(breach, 0.0) / (max(breach, 0.0) + MARGIN)
    size = max(1.0, float(np.abs(model.c * x).sum()), float(np.abs(found.ineqlin.marginals * b).sum()))
    return Reference(float(found.fun), float(model.c @ (x + step * (model.inside - x))), size)


def _search(family: Rows, x: Array, wide: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """Points where a(y) x - b(y) is largest nearby, and its values there."""

    def breach(y: Array) -> Array:
        a, b = family.at(y)
        return a @ x - b

    values = breach(wide)
    order = np.argsort(-values)[:SORTED]
    chosen: list[int] = []
    span = np.maximum(family.domain.upper - family.domain.lower, 1e-9)
    for i in order:  # starts that are apart
        if all(np.abs((wide[i] - wide[j]) / span).max() > APART for j in chosen):
            chosen.append(int(i))
        if len(chosen) == BEST:
            break
    y, best = wide[chosen].copy(), values[chosen].copy()
    radius = 0.05
    for _ in range(SHRUNK):
        moves = rng.normal(size=(len(y), AROUND, y.shape[1])) * span * radius
        tried = _back(family.domain, (y[:, None, :] + moves).reshape(-1, y.shape[1]))
        g = breach(tried).reshape(len(y), AROUND)
        at = g.argmax(axis=1)
        better = g[np.arange(len(y)), at] > best
        y[better] = tried.reshape(len(y), AROUND, -1)[np.arange(len(y)), at][better]
        best = np.maximum(best, g.max(axis=1))
        radius *= 0.55
    return y, best


def _back(domain: lsip.Domain, y: Array) -> Array:
    """Points of the domain near the points y; for polytopes not the nearest ones, which would take long to find."""
    if not isinstance(domain, lsip.Polytope):
        return domain.project(y)
    A, b = domain.A, domain.b
    sizes = (A**2).sum(axis=1)
    for _ in range(SWEEPS):
        for normal, right, size in zip(A, b, sizes, strict=True):
            y = y - np.maximum(y @ normal - right, 0.0)[:, None] * normal / size
    centre = domain.spread(64).mean(axis=0)
    room, used = b - A @ centre, (y - centre) @ A.T
    share = np.where(used > room, room / np.where(used > 0, used, 1.0), 1.0).min(axis=1)
    return centre + share[:, None] * (y - centre)
