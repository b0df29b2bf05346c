"""Small robust models whose optima are known without the solvers under test: over whole values, and over cones.

- integer: cost c x + d z of whole x and a z >= 0, with (a + A y) x + z >= b for all y of a box. Whatever x is, there is
  a formula for the least z, so that all values of x are gone through, in rational numbers.
- cone: cost c x, with (a + A y) x <= b for all y of a ball, a second-order cone. The value is one that is certified
  without lies, and verified.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

import lsip

MOST = 3  # that a whole variable may be
SIZE = {"integer": (4, 2), "cone": (4, 3)}  # variables, coordinates of the index


@dataclass(frozen=True, eq=False)
class Robust:
    """A model, and between which numbers its optimum lies; infinite ones where there is no point."""

    problem: lsip.Problem
    lower: float
    upper: float
    method: Any = None


def draw(kind: str, seed: int) -> Robust:
    """The model of a seed."""
    rng = np.random.default_rng([seed, len(kind)])
    n, m = SIZE[kind]
    c, a, A = rng.integers(9, 40, n) / 8, rng.integers(9, 40, n) / 8, rng.integers(-3, 4, (n, m)) / 8
    return (_integer if kind == "integer" else _cone)(rng, c, a, A)


def _integer(rng: np.random.Generator, c: Any, a: Any, A: Any) -> Robust:
    n, m = A.shape
    b, d, helps = float(rng.integers(1, 25)) / 4, float(rng.integers(1, 13)) / 4, bool(rng.random() < 0.7)
    x, z = lsip.Variable(n, name="x", lower=0, upper=MOST, integer=True), lsip.Variable(name="z", lower=0, upper=50)
    y = lsip.Index("y", lsip.Box(-np.ones(m), np.ones(m)))
    rows = lsip.forall(y, (a + A @ y) @ x + z * helps >= b)
    problem = lsip.Problem(lsip.minimize(c @ x + d * z), [rows])
    value = min(_worths(c, a, A, Fraction(b), Fraction(d), helps), default=None)
    return Robust(problem, *([np.inf] * 2 if value is None else [float(value)] * 2))


def _worths(c: Any, a: Any, A: Any, b: Fraction, d: Fraction, helps: bool) -> Iterator[Fraction]:
    """What each whole x costs that can be made feasible."""
    prices, means = [Fraction(v) for v in c.tolist()], [Fraction(v) for v in a.tolist()]
    columns = [[Fraction(v) for v in row] for row in A.T.tolist()]
    for x in product(range(MOST + 1), repeat=len(prices)):
        worst = sum(p * v for p, v in zip(means, x, strict=True)) - sum(
            abs(sum(p * v for p, v in zip(column, x, strict=True))) for column in columns
        )
        short = max(b - worst, Fraction(0))
        if short == 0 or (helps and short <= 50):
            yield sum((p * v for p, v in zip(prices, x, strict=True)), Fraction(0)) + d * short


def _cone(rng: np.random.Generator, c: Any, a: Any, A: Any) -> Robust:
    n, m = A.shape
    b = float(rng.integers(1, 9)) / 4
    x, y = lsip.Variable(n, name="x", lower=0, upper=2), lsip.Index("y", lsip.Ball(np.zeros(m), 1))
    problem = lsip.Problem(lsip.maximize(c @ x), [lsip.forall(y, (np.abs(a) + A @ y) @ x <= b)])
    honest = problem.solve(verbose=False, tol=1e-7)
    honest.verify()
    return Robust(problem, honest.lower, honest.upper, lsip.Counterpart())
