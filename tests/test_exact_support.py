"""Largest values of linear functions over index sets, in rational numbers, beside those at all corners."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

import lsip
from lsip.domains import Domain
from lsip.domains.exact_support import exact_support

from .exact import eliminated

Point = tuple[Fraction, ...]
QUARTERS = st.integers(-12, 12).map(lambda k: k / 4)
SLOPES = st.fractions(-5, 5, max_denominator=9)


def corners(A: np.ndarray, b: np.ndarray) -> list[Point]:
    """Those of A y <= b, by solving all square systems of its rows."""
    found = []
    for rows in combinations(range(len(A)), A.shape[1]):
        point = eliminated([[Fraction(float(v)) for v in A[i]] for i in rows], [Fraction(float(b[i])) for i in rows])
        if point is not None and all(
            sum(Fraction(float(a)) * v for a, v in zip(A[i], point, strict=True)) <= Fraction(float(b[i]))
            for i in range(len(A))
        ):
            found.append(tuple(point))
    return found


def largest(points: list[Point], slopes: list[Fraction]) -> Fraction:
    return max(sum((s * v for s, v in zip(slopes, p, strict=True)), Fraction(0)) for p in points)


@st.composite
def cut_boxes(draw: st.DrawFn) -> tuple[Domain, list[Point]]:
    m = draw(st.integers(1, 3))
    low = np.array([draw(QUARTERS) for _ in range(m)])
    high = low + np.array([draw(st.integers(1, 8)) / 4 for _ in range(m)])
    normal = np.array([float(draw(st.integers(-2, 2))) for _ in range(m)])
    A = np.vstack([np.eye(m), -np.eye(m), normal])
    b = np.concatenate([high, -low, [normal @ ((low + high) / 2) + draw(st.sampled_from([0.25, 0.5, 1.0]))]])
    return lsip.Polytope(A, b), corners(A, b)


@given(cut_boxes(), st.data())
def test_polytopes(made: tuple[Domain, list[Point]], data: st.DataObject) -> None:
    domain, points = made
    slopes = [data.draw(SLOPES) for _ in range(domain.dim)]
    found = exact_support(domain, slopes)
    assert found == largest(points, slopes)


@given(st.integers(2, 3), st.integers(1, 12), st.data())
def test_budgets(m: int, quarters: int, data: st.DataObject) -> None:
    budget = min(quarters / 4, float(m))
    signs = np.array(list(product([-1.0, 1.0], repeat=m)))
    A = np.vstack([signs, np.eye(m), -np.eye(m)])
    b = np.concatenate([np.full(len(signs), budget), np.ones(2 * m)])
    slopes = [data.draw(SLOPES) for _ in range(m)]
    assert exact_support(lsip.Budget(m, budget), slopes) == largest(corners(A, b), slopes)


@given(cut_boxes(), st.lists(SLOPES, min_size=6, max_size=6))
def test_products_unions_simplices_and_scenarios(
    made: tuple[Domain, list[Point]], given_slopes: list[Fraction]
) -> None:
    (domain, points), m = made, made[0].dim
    simplex = [tuple(Fraction(int(i == j)) for i in range(3)) for j in range(3)]
    both = exact_support(lsip.Product(domain, lsip.Simplex(3)), given_slopes[: m + 3])
    assert both == largest(points, given_slopes[:m]) + largest(simplex, given_slopes[m : m + 3])
    scenarios = lsip.Finite(np.arange(2.0 * m).reshape(2, m))
    rows = [tuple(map(Fraction, row)) for row in scenarios.points.tolist()]
    assert exact_support(domain | scenarios, given_slopes[:m]) == largest([*points, *rows], given_slopes[:m])


def test_curved_sets_are_not_known() -> None:
    assert exact_support(lsip.Ball([0, 0], 1), [Fraction(1), Fraction(0)]) is None
    assert exact_support(lsip.Interval(0, 1) * lsip.Ball([0, 0], 1), [Fraction(1)] * 3) is None


@pytest.mark.parametrize(
    "data",
    [
        lsip.Polytope([[1, 0], [-1, 0], [0, 1], [0, -1], [1, 1]], [0.7, 0.3, 1.1, 0.9, 1.3]),
        lsip.Budget(2, 1.5),
        lsip.Simplex(2),
        lsip.Interval(0.1, 0.7) * lsip.Budget(2, 1),
    ],
    ids=str,
)
def test_rules_that_may_follow_the_data_for_ever_are_unbounded(data: Domain) -> None:
    """What is bought and sold again by a rule of any size costs nothing, and the rest of the model earns by it."""
    z, w = lsip.Index("z", data), lsip.Variable(name="w")
    buy, sell = lsip.Rule(of=z, name="buy"), lsip.Rule(of=z, name="sell")
    rows = [3 * buy - 3 * sell >= w / 4, 12 * buy - 12 * sell <= w + 1, w <= 0]  # buy - sell = w / 12 along it
    solution = lsip.Problem(lsip.minimize(w), [lsip.forall(z, rows[0]), lsip.forall(z, rows[1]), rows[2]]).solve(
        verbose=False
    )
    assert solution.status is lsip.Status.UNBOUNDED, solution.message
    assert solution.certified
    solution.verify()
