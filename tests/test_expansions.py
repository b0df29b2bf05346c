"""Polynomials in two and three coordinates, expanded for given x: bounds hold in rational numbers, and are sharp."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import comb, prod

import numpy as np
import pytest
from numpy.typing import NDArray

import lsip.oracles.box_search as search
from benchmarks.harness.models import MODELS
from lsip import Ball, Box, Domain, Index, Problem, Status, Variable, forall, maximize, minimize
from lsip.expressions.ring import Polynomial
from lsip.model.program import Program
from lsip.oracles import BranchAndBound
from lsip.oracles.expansions import Expanded, Expansion
from lsip.oracles.polynomial import PolynomialBounder

Array = NDArray[np.float64]


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Expand as soon as any box is split."""
    monkeypatch.setattr(search, "TUNING", replace(search.TUNING, crowded=0))


def value(g: Polynomial, y: list[Fraction]) -> Fraction:
    return sum((c * prod(v**k for v, k in zip(y, e, strict=True)) for e, c in g.items()), Fraction(0))


def above(found: Expanded, n: int, d: list[Fraction]) -> Fraction:
    """What the n-th expansion says is not exceeded at d."""
    m, q = len(d), [Fraction(v) for v in found.quadratic[n].tolist()]
    total = q[0] + sum(q[1 + i] * d[i] for i in range(m)) + Fraction(found.rest[n])
    for k, (i, j) in enumerate(zip(*np.triu_indices(m), strict=True)):
        total += q[1 + m + k] * d[i] * d[j] / (2 if i == j else 1)
    return total


@pytest.mark.parametrize("seed", range(12))
def test_no_value_exceeds_an_expansion(seed: int) -> None:
    rng = np.random.default_rng(seed)
    m, size = 2 + seed % 2, 10.0 ** rng.integers(0, 9)
    shape = rng.integers(1, 9, size=m)
    g = {e: Fraction(size * rng.normal()) for e in np.ndindex(*shape) if rng.random() < 0.7}
    lower = rng.normal(size=m) * rng.choice([0, 1, 100])
    upper = lower + rng.random(m) * 10.0 ** rng.integers(-2, 2)
    centre = lower + (upper - lower) * rng.random((30, m))
    radius = (upper - lower) * rng.random((30, m)) * 10.0 ** rng.integers(-8, 0, size=(30, 1))
    found = Expansion(g, lower, upper).about(centre, radius)
    for n in range(30):
        for _ in range(4):
            d = [Fraction(int(v), 16) for v in np.clip(rng.integers(-24, 25, size=m), -16, 16)]
            y = [Fraction(c) + Fraction(r) * t for c, r, t in zip(centre[n], radius[n], d, strict=True)]
            assert value(g, y) <= above(found, n, d)


def steep(degree: int) -> Polynomial:
    """(1 - 2 u)^degree + (1 - 2 v)^degree, whose terms are 3^degree times as large as its values on the unit square."""
    powers = [Fraction(comb(degree, k) * (-2) ** k) for k in range(degree + 1)]
    return {(k, 0): c for k, c in enumerate(powers)} | {(0, k): (2 if k == 0 else 1) * c for k, c in enumerate(powers)}


def test_what_cancels_does_not_count() -> None:
    """Terms add up to 1e8: rounded beside them, nothing better than 1e-8 could be said."""
    g, point = steep(16), np.array([[0.3, 0.8]])
    found = Expansion(g, np.zeros(2), np.ones(2)).about(point, np.full((1, 2), 1e-9))
    exact = value(g, [Fraction(v) for v in point[0].tolist()])
    assert 0 <= above(found, 0, [Fraction(0)] * 2) - exact <= Fraction(1, 10**13)


@pytest.mark.parametrize("width", [1e-320, 1e-200, 0.0, 1e200])
@pytest.mark.parametrize("lower", [0.0, 1e-300, 1.0, 1e150])
def test_boxes_of_any_size(lower: float, width: float) -> None:
    g: Polynomial = {(3, 0): Fraction(1), (1, 1): Fraction(-2), (0, 0): Fraction(1, 3)}
    ends = np.full(2, lower), np.full(2, lower + width)
    with np.errstate(all="ignore"):
        found = Expansion(g, *ends).about(0.5 * ends[0][None] + 0.5 * ends[1][None], np.full((1, 2), 0.5 * width))
    known = np.isfinite(found.quadratic).all() and np.isfinite(found.rest).all()
    centre = [Fraction(0.5 * lower + 0.5 * (lower + width))] * 2
    assert not known or value(g, centre) <= above(found, 0, [Fraction(0)] * 2)


def rows(domain: Domain, powers: list[tuple[int, ...]]) -> Program:
    """Sums of powers, x[k] of each, stay below t."""
    x, t, y = Variable(len(powers), name="x"), Variable(name="t"), Index("y", domain)
    terms = [prod((y[i] ** k for i, k in enumerate(e)), start=1 + 0 * y[0]) for e in powers]
    return Problem(minimize(t), [forall(y, sum(x[k] * v for k, v in enumerate(terms)) <= t)]).compile()


DOMAINS = [Box([-1, 0.25], [1, 2]), Ball([0.5, -0.25], 1), Box([0, 0, -1], [1, 1, 1]), Ball([0, 0, 1], 0.5)]


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("domain", DOMAINS, ids=str)
@pytest.mark.parametrize("spread", [0.0, 1e-3])
def test_searches_bound_what_is_attained(domain: Domain, spread: float) -> None:
    rng = np.random.default_rng(3)
    powers = list(np.ndindex(*[5] * domain.dim))[:40]
    program = rows(domain, powers)
    x = np.append(rng.normal(size=len(powers)) * 10.0 ** rng.integers(0, 4, size=len(powers)), 0.0)
    x[-1] = program.violation(0, x).values(domain.grid(20)).max()  # so that there is something to split
    radius, tol = spread * np.abs(x), 1e-4 * np.abs(x).sum()
    radius[-1] = 0.0
    found = BranchAndBound(tol=tol).maximise(program.violation(0, x, radius=radius if spread else None))
    (cell,) = program.families[0].memory.take(program.families[0], domain).cells
    assert isinstance(cell.bounder, PolynomialBounder)
    points = np.concatenate([domain.sample(150, 1), domain.grid(5), found.points])
    for point in points.tolist():
        y = [Fraction(v) for v in point]
        terms = [prod(v**k for v, k in zip(y, e, strict=True)) for e in powers]
        exact = sum(Fraction(w) * v + Fraction(r) * abs(v) for w, r, v in zip(x, radius, terms, strict=False))
        assert exact - Fraction(x[-1]) <= Fraction(found.bound)
    assert spread or found.bound <= 2 * max(found.worst, 0.0) + tol


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize(("domain", "supremum"), [(Box([0, 0], [1, 1]), 2.0), (Ball([0.5, 0.5], 0.5), 1.0)], ids=str)
def test_known_suprema_are_reached_where_terms_cancel(domain: Domain, supremum: float) -> None:
    g = steep(16)
    program = rows(domain, list(g))
    x, room = np.array([*(float(c) for c in g.values()), supremum]), 1e-10 * (np.arange(len(g) + 1) == len(g))
    assert BranchAndBound().maximise(program.violation(0, x + room)).bound <= 0
    assert BranchAndBound(max_boxes=3000).maximise(program.violation(0, x - room)).bound >= 0.999e-10


@pytest.mark.usefixtures("at_once")
def test_what_cannot_be_expanded_is_left_to_other_bounders(monkeypatch: pytest.MonkeyPatch) -> None:
    """For one x it can, for another one it cannot."""
    program = rows(Ball([0, 0], 1), [(0, 0), (1, 0), (0, 3)])
    x = np.array([1.0, 1.0, 5.0, 6.1])
    assert BranchAndBound().maximise(program.violation(0, x)).bound <= 0
    monkeypatch.setattr(PolynomialBounder, "_expanded", lambda *_: None)
    assert BranchAndBound().maximise(program.violation(0, x + np.array([0, 0, 0, 1e-3]))).bound <= 0


def test_powers_of_a_map_are_certified() -> None:
    """Bounds were 1e-6 apart after twenty seconds: 15 coefficients of eighth degree that cancel."""
    solution = MODELS["julia_set_deg4"].build().solve(verbose=False, time_limit=20)
    assert solution.status is Status.OPTIMAL


def test_a_polynomial_below_in_three_coordinates() -> None:
    y, a = Index("y", Box([-1, -1, -1], [1, 1, 1])), Variable(name="a")
    motzkin = y[0] ** 2 * y[1] ** 4 + y[0] ** 4 * y[1] ** 2 + y[2] ** 6 - 3 * (y[0] * y[1] * y[2]) ** 2
    solution = Problem(maximize(a), [forall(y, motzkin + (y[0] - 0.5) ** 2 >= a)]).solve(verbose=False, time_limit=20)
    assert solution.status is Status.OPTIMAL
    assert solution.lower <= 0 <= solution.upper
