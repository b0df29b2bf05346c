"""Index sets cut by inequalities in the index: what they promise, and what is proven over them."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

import lsip
from lsip.domains import Ball, Box, Domain, Ellipsoid, Finite, Interval, Simplex
from lsip.errors import ModelError

from .extensions.domain_checks import check_domain
from .test_index_sets import assert_known, largest

Point = list[Fraction]


def held(rule: Callable[[Point], list[Fraction]]) -> Callable[[Point, Point], bool]:
    """Whether a point is in the set, in rational numbers, by inequalities >= 0."""
    return lambda lower, upper: lower == upper and all(value >= 0 for value in rule(lower))


HALF = Box([0, 0], [1, 1]).where(lambda y: y[0] + y[1] <= 1.25)
RING = Ball([0, 0], 2).where(lambda y: y[0] ** 2 + y[1] ** 2 >= 1)
CUSP = Box([0, -1], [1, 1]).where(lambda y: y[0] ** 3 >= y[1] ** 2)
PARABOLA = Interval(0, 3).where(lambda t: [t * (2 - t) >= 0.5])


@pytest.mark.parametrize(
    ("domain", "rule", "nearest"),
    [
        (HALF, lambda y: [Fraction(5, 4) - y[0] - y[1], *y, 1 - y[0], 1 - y[1]], True),
        (RING, lambda y: [y[0] ** 2 + y[1] ** 2 - 1, 4 - y[0] ** 2 - y[1] ** 2], True),
        (CUSP, lambda y: [y[0] ** 3 - y[1] ** 2, y[0], 1 - y[0]], False),
        (PARABOLA, lambda t: [t[0] * (2 - t[0]) - Fraction(1, 2)], True),
    ],
    ids=lambda part: str(part) if isinstance(part, Domain) else "",
)
def test_regions_keep_the_promises(domain: Domain, rule: Callable[[Point], list[Fraction]], nearest: bool) -> None:
    check_domain(domain, meets=held(rule), nearest=nearest)


def test_bounding_boxes_are_tight_and_proven() -> None:
    assert PARABOLA.lower[0] <= 1 - np.sqrt(0.5) <= PARABOLA.lower[0] + 1e-3
    assert PARABOLA.upper[0] >= 1 + np.sqrt(0.5) >= PARABOLA.upper[0] - 1e-3
    inner = Box([-1, -1], [1, 1]).where(lambda y: np.abs(y[0]) + y[1] ** 2 <= 0.5)
    assert (np.abs(inner.upper - [0.5, np.sqrt(0.5)]) <= 1e-3).all()
    assert (inner.upper >= [0.5, np.sqrt(0.5)]).all()


def test_the_largest_values_over_regions() -> None:
    assert_known(largest(CUSP, lambda y: y[1] - y[0] / 2), 0.5)
    assert_known(largest(HALF, lambda y: y[0] * y[1]), 0.625**2)
    assert_known(largest(RING, lambda y: y[0] - (y**2).sum()), 0.0)
    assert_known(largest(PARABOLA, lambda t: t), 1 + np.sqrt(0.5))
    corner = Box([0, 0, 0], [1, 1, 1]).where(lambda y: [y[0] * y[1] >= 0.1, y[2] <= np.exp(-y[0])])
    assert_known(largest(corner, lambda y: y.sum()), 2 + np.exp(-1))
    kinked = Box([-1, -1], [1, 1]).where(lambda y: np.abs(y[0]) + y[1] ** 2 <= 0.5)
    assert_known(largest(kinked, lambda y: y[0] + y[1]), 0.75)


def test_bounds_are_about_the_set_and_nothing_beside_it() -> None:
    """What is broken only outside, by however much, does not count; what is broken in one corner does."""
    x, y = lsip.Variable(name="x"), lsip.Index("y", CUSP)
    outside = 100 * np.maximum(y[1] ** 2 - y[0] ** 3, 0)
    problem = lsip.Problem(lsip.minimize(x), [lsip.forall(y, x >= outside + y[0])])
    worst = problem.worst_violation([1.0])
    assert worst.bound <= 1e-6
    wedge = Box([-1, -1], [1, 1]).where(lambda y: [y[1] <= y[0] - 0.1, y[1] >= 0.1 - y[0]])
    assert_known(largest(wedge, lambda y: -y[0] - y[1] ** 2), -0.1)


def test_points_that_the_base_leaves_out_are_never_asked_about() -> None:
    """Then sums over coordinates are enclosed over no boxes at all."""
    disc = lsip.Box([0, 0], [1, 1]).where(lambda y: ((y - 0.5) ** 2).sum() <= 0.25)
    assert not disc.contains([[3.0, 3.0], [-1.0, 0.5]]).any()
    assert disc.contains(np.zeros((0, 2))).shape == (0,)
    assert disc.contains([[3.0, 3.0], [0.5, 0.9]]).tolist() == [False, True]


def test_regions_combine() -> None:
    both = HALF & Ball([0, 0], 1)
    assert both.contains([[0.6, 0.6], [0.7, 0.69], [0.9, 0.5]]).tolist() == [True, False, False]
    assert_known(largest(both, lambda y: y[0] + y[1]), 1.25)
    twice = HALF.where(lambda y: y[0] >= 0.5)
    assert twice.lower[0] == pytest.approx(0.5, abs=1e-3)
    assert_known(largest(twice, lambda y: y[1]), 0.75)
    assert (HALF & RING).contains([[1, 0], [0.5, 0.5]]).tolist() == [True, False]
    assert Finite([0, 1, 2]).where(lambda y: y[0] >= 1) == Finite([1, 2])
    parts = (Interval(0, 1) | Interval(2, 3) | Interval(5, 6)).where(lambda t: t <= 2.5)
    assert_known(largest(parts, lambda t: -((t - 4) ** 2)), -2.25)
    assert_known(largest(Interval(0, 1) * HALF, lambda y: y[0] + y[1] + y[2]), 2.25)
    edge = Simplex(3).where(lambda y: y[0] <= 0.25)
    assert_known(largest(edge, lambda y: y[0] * y[1]), 0.1875)


def test_regions_are_equal_by_what_they_say() -> None:
    again = Box([0, -1], [1, 1]).where(lambda z: z[0] ** 3 >= z[1] ** 2)
    assert again == CUSP
    assert hash(again) == hash(CUSP)
    assert Box([0, -1], [1, 1]).where(lambda z: z[0] ** 3 >= 1.5 * z[1] ** 2) != CUSP
    curved = Box([0, -1], [1, 1]).where(lambda z: np.sin(z[0]) >= z[1])
    assert pickle.loads(pickle.dumps(curved)) == curved
    assert str(CUSP) == "{y ∈ [0, 1] × [-1, 1] : y[0]³ ≥ y[1]²}"
    assert CUSP.latex() == r"\{y \in [0, 1] \times [-1, 1] : y_{0}^{3} \ge y_{1}^{2}\}"


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Box([0, 0], [1, 1]).where(lambda y: y[0] + y[1] >= 2.001), "is empty: .* proven"),
        (lambda: Interval(0, 1).where(lambda t: t * (1 - t) >= 0.26), "is empty"),
        (lambda: Finite([1, 2]).where(lambda y: y[0] >= 3), "is empty"),
        (lambda: Ball([0, 0], 1).where(lambda y: (y[0] - 1) ** 2 + y[1] ** 2 <= 1e-30), "No point is proven"),
        (lambda: Box([0, 0], [1, 1]).where(lambda y: y[0] > y[1]), r"counts with its boundary: write <= or >= in"),
        (lambda: Box([0, 0], [1, 1]).where(lambda y: y[0]), "needs comparisons of index expressions"),
        (lambda: Box([0, 0], [1, 1]).where([]), "where takes a function, as in"),
        (lambda: Box([0, 0], [1, 1]).where(lambda y: []), "no comparison"),
        (
            lambda: Box([0, 0], [1, 1]).where(lambda y: y[0] >= lsip.Index("t", Interval(0, 1))),
            "alone; it depends on t",
        ),
    ],
)
def test_meaningless_regions_are_refused(build: Callable[[], Domain], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        build()


@pytest.mark.parametrize("seed", range(12))
def test_no_point_of_a_random_set_is_above_the_bound(seed: int) -> None:
    """Sets cut by random cubics out of boxes, balls and ellipsoids: atoms are members, and bounds hold at samples."""
    rng = np.random.default_rng(seed)
    base = (Box([-1, -1], [1, 1]), Ball([0, 0], 1.2), Ellipsoid([0, 0], [[1, 0.3], [0.3, 0.5]]))[seed % 3]
    c = rng.normal(size=(2, 4))

    def cubic(y, k):
        return c[k, 0] * y[0] ** 3 + c[k, 1] * y[0] * y[1] ** 2 + c[k, 2] * y[1] + c[k, 3] * y[0]

    domain = base.where(lambda y: cubic(y, 0) + 0.3 >= 0)
    solution = largest(domain, lambda y: cubic(y, 1), tol=1e-5)
    samples = np.concatenate([base.sample(5000, seed), base.grid(101)])
    samples = samples[cubic(samples.T, 0) + 0.3 >= 0]
    assert solution.certified
    assert solution.upper >= cubic(samples.T, 1).max()
    assert solution.lower <= cubic(samples.T, 1).max() + 0.05
    for active in solution.active:
        y = [Fraction(float(v)) for v in domain.witness(active.point)[0][0]]
        value = sum(
            Fraction(a) * m for a, m in zip(c[0].tolist(), (y[0] ** 3, y[0] * y[1] ** 2, y[1], y[0]), strict=True)
        )
        assert value + Fraction(0.3) >= 0


@pytest.mark.parametrize("slope", [0.0, 0.5, 1.0])
def test_a_maximum_at_a_cusp_is_proven(slope):
    """No gradient leads inwards there, and the way to points further inside leaves the set at first."""
    cusp = lsip.Box([0, -1], [1, 1]).where(lambda y: y[0] ** 3 >= y[1] ** 2)
    low, high = cusp.witness([[0.0, 0.0]])
    assert np.abs(np.concatenate([low, high])).max() < 1e-12
    y, h = lsip.Index("y", cusp), lsip.Variable(name="h")
    solution = lsip.Problem(lsip.minimize(h), [lsip.forall(y, h >= 1 - y[0] + slope * y[1])]).solve(verbose=False)
    assert solution.certified, solution.status
    assert solution.value == pytest.approx(1, abs=1e-7)
