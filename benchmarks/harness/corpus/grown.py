"""Models that grow: more columns, families, coordinates, taps or degrees, until a solve takes seconds."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any

import numpy as np

import lsip
from lsip import Index, Interval, Problem, Variable, forall, maximize, minimize

from .items import Item, within_limits

GROWN: dict[str, Item] = {}
Build = Callable[..., Problem]


def grown(*sizes: int, **options: Any) -> Callable[[Build], Build]:
    """Add the model of the decorated function in each of these sizes to the corpus."""

    def register(build: Build) -> Build:
        for size in sizes:
            GROWN[f"{build.__name__}/{size}"] = Item(partial(build, size), partial(within_limits, **options))
        return build

    return register


@grown(10, 30, 60, 100, 200, 400, 600)
def masts(n: int) -> Problem:
    """As much power as a limit on the field allows, everywhere in a square: columns."""
    places = np.random.default_rng(0).uniform(0, 1, (n, 2))
    x, y = Variable(n, name="x", lower=0, upper=1), Index("y", lsip.Box([0, 0], [1, 1]))
    return Problem(maximize(x.sum()), [forall(y, np.exp(-20 * ((y - places) ** 2).sum(axis=-1)) @ x <= 3)])


@grown(2, 5, 10, 20, 50, 100, 200)
def fits(k: int) -> Problem:
    """Independent fits with one row in common: families."""
    x, t = Variable((k, 3), name="x"), Index("t", Interval(0, 1))
    said = [forall(t, x[i, 0] + x[i, 1] * t + x[i, 2] * t**2 >= np.sin((3 + i / k) * t)) for i in range(k)]
    return Problem(minimize((x @ np.array([1, 1 / 2, 1 / 3])).sum()), [*said, x[:, 0].sum() <= 2 * k])


@grown(11, 21, 41, 81, 161, 321, 641, 901)
def taps(n: int) -> Problem:
    """A linear-phase low-pass filter: sums of cosines."""
    n = (n + 1) // 2
    h, e, k = Variable(n, name="h"), Variable(name="e"), np.arange(n)
    u, v = Index("u", Interval(0, 0.2 * np.pi)), Index("v", Interval(0.2 * np.pi + 6 / n, np.pi))
    return Problem(minimize(e), [forall(u, abs(np.cos(k * u) @ h - 1) <= e), forall(v, abs(np.cos(k * v) @ h) <= e)])


@grown(3, 6, 10, 16, 24, 40, 60)
def degree(n: int) -> Problem:
    """The best polynomial for a function with a steep front, in Chebyshev's basis."""
    x, e, t = Variable(n, name="x"), Variable(name="e"), Index("t", Interval(-1, 1))
    error = lsip.bases.chebyshev(t, n - 1) @ x - 1 / (1 + 25 * t**2)
    return Problem(minimize(e), [forall(t, [error <= e, -error <= e])])


@grown(1, 2, 3, tol=1e-6)
def coordinates(m: int) -> Problem:
    """The best polynomial of degree two in m coordinates."""
    y, e = Index("y", lsip.Box(-np.ones(m), np.ones(m))), Variable(name="e")
    powers = [p for p in product(range(3), repeat=m) if sum(p) <= 2]
    terms = [np.prod(np.stack([y[i] ** k for i, k in enumerate(p)] + [1 + 0 * y[0]])) for p in powers]
    x = Variable(len(powers), name="x")
    error = np.stack(terms) @ x - np.exp(y.sum() / m) * np.cos(y[0])
    return Problem(minimize(e), [forall(y, [error <= e, -error <= e])])


@grown(2, 4, 8, 16, 32, 64, 128)
def robust_rows(m: int) -> Problem:
    """A robust linear program over a ball: coordinates of rows that are affine in their index."""
    rng = np.random.default_rng(m)
    x, y = Variable(2 * m, name="x", lower=0), Index("y", lsip.Ball(np.zeros(m), 1.0))
    nominal, turned = rng.uniform(0.5, 1.5, (4, 2 * m)), rng.uniform(-0.3, 0.3, (4, m, 2 * m)) / np.sqrt(m)
    rows = [forall(y, (a + y @ p) @ x <= 2) for a, p in zip(nominal, turned, strict=True)]
    return Problem(maximize(rng.uniform(0.5, 1.5, 2 * m) @ x), rows)


@grown(2, 4, 8, 12)
def least_squares(n: int) -> Problem:
    """A norm without an index."""
    rng = np.random.default_rng(n)
    x, t = Variable(n, name="x"), Index("t", Interval(0, 1))
    residual = rng.normal(size=(3 * n, n)) @ x - rng.normal(size=3 * n)
    return Problem(minimize(np.linalg.norm(residual)), [forall(t, x[0] + x[1] * t >= 0.1 * np.sin(5 * t))])


@grown(2, 4, 6, 10, 14)
def eigenvalue(k: int) -> Problem:
    """The least largest eigenvalue of a combination of matrices."""
    M = np.random.default_rng(k).normal(size=(4, k, k))
    M = (M + M.transpose(0, 2, 1)) / 2
    x, e = Variable(3, name="x", lower=-1, upper=1), Variable(name="e")
    return Problem(minimize(e), [lsip.psd(e * np.eye(k) - M[0] - sum(x[i] * M[i + 1] for i in range(3)))])
