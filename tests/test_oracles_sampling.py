"""The oracles that sample: what they return is in the domain, attained, reproducible, and as good as promised."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from lsip.domains import Ball, Box, Domain, Finite, Interval, Simplex
from lsip.errors import ModelError
from lsip.oracles import Grid, Multistart, Oracle, ProjectedSubgradient, RandomSearch
from lsip.oracles.attained import distinct
from lsip.oracles.differences import central_differences

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Function:
    """A violation from plain functions: `value(y)` of shape (N, p), and exact derivatives if they are known."""

    value: Callable[[Array], Array]
    exact: Callable[[Array, NDArray[np.intp]], tuple[Array, Array, Array]] | None = None
    components: int = 1
    domain: Domain = Interval(0.0, 1.0)  # noqa: RUF009 - domains are immutable

    def over(self, domain: Domain) -> Function:
        return replace(self, domain=domain)

    def values(self, y: Array) -> Array:
        return self.value(y).reshape(len(y), self.components)

    def derivatives(self, y: Array, component: NDArray[np.intp]) -> tuple[Array, Array, Array] | None:
        return None if self.exact is None else self.exact(y, component)


def hills(m: int, seed: int, count: int = 5, width: float = 0.2, p: int = 1, exact: bool = True) -> Function:
    """Sums of Gaussian hills in the unit cube, one sum a component."""
    rng = np.random.default_rng(seed)
    centres, heights = rng.random((p, count, m)), 0.5 + rng.random((p, count))

    def terms(y: Array, component: NDArray[np.intp]) -> tuple[Array, Array]:
        away = y[:, None, :] - centres[component]
        return away, heights[component] * np.exp(-(away**2).sum(axis=-1) / width**2)

    def value(y: Array) -> Array:
        parts = [terms(y, np.full(len(y), c))[1].sum(axis=1) for c in range(p)]
        return np.stack(parts, axis=1)

    def derivatives(y: Array, component: NDArray[np.intp]) -> tuple[Array, Array, Array]:
        away, e = terms(y, component)
        gradient = -2 / width**2 * np.einsum("nk,nki->ni", e, away)
        hessian = 4 / width**4 * np.einsum("nk,nki,nkj->nij", e, away, away)
        return e.sum(axis=1), gradient, hessian - 2 / width**2 * e.sum(axis=1)[:, None, None] * np.eye(m)

    return Function(value, derivatives if exact else None, p)


def unit_box(m: int) -> Box:
    return Box([0.0] * m, [1.0] * m)


DOMAINS: list[Domain] = [
    Interval(0.0, 1.0),
    unit_box(2),
    Box([0.0, 0.5], [1.0, 0.5]),  # flat along one axis
    Ball([0.5, 0.4], 0.3),
    Simplex(3),
    Finite([[0.1, 0.2], [0.7, 0.3], [0.4, 0.9]]),
]
ORACLES: list[Oracle] = [
    RandomSearch(50),
    ProjectedSubgradient(iterations=30),
    Grid(points=400),
    Multistart(starts=4, sample=64),
    Multistart(starts=2, sample=32, method="L-BFGS-B"),
    Multistart(starts=1, sample=32, method="trust-constr"),
]


@pytest.mark.parametrize("oracle", ORACLES, ids=repr)
@pytest.mark.parametrize("domain", DOMAINS, ids=repr)
@settings(max_examples=4, deadline=None)
@given(seed=st.integers(0, 10_000), p=st.integers(1, 3), exact=st.booleans())
def test_points_are_in_the_domain_and_values_are_attained(
    oracle: Oracle, domain: Domain, seed: int, p: int, exact: bool
) -> None:
    violation = hills(domain.dim, seed, p=p, exact=exact)
    found = oracle.maximise(violation.over(domain), seed=seed)
    assert len(found.points) == len(found.values) == len(found.components) > 0
    assert found.points.shape[1] == domain.dim
    assert domain.contains(found.points).all()
    attained = violation.values(found.points)[np.arange(len(found.points)), found.components]
    np.testing.assert_allclose(found.values, attained, rtol=1e-13, atol=1e-300)
    assert (np.diff(found.values) <= 0).all(), "worst first"
    assert found.bound == np.inf
    again = oracle.maximise(violation.over(domain), seed=seed)
    np.testing.assert_array_equal(found.points, again.points)
    np.testing.assert_array_equal(found.values, again.values)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10_000), p=st.integers(1, 3), points=st.integers(1, 200))
def test_random_search_is_the_argmax_of_its_sample(seed: int, p: int, points: int) -> None:
    violation, domain = hills(2, seed, p=p), unit_box(2)
    found = RandomSearch(points).maximise(violation.over(domain), seed=seed)
    sample = domain.sample(points, seed)
    row, component = np.unravel_index(violation.values(sample).argmax(), (points, p))
    np.testing.assert_array_equal(found.points, sample[row : row + 1])
    assert found.components.tolist() == [component]


def test_random_search_draws_anew_for_another_seed() -> None:
    first, second = (RandomSearch(5).maximise(hills(2, 0).over(unit_box(2)), seed=seed) for seed in (0, 1))
    assert not np.array_equal(first.points, second.points)


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    m=st.integers(1, 4),
    iterations=st.integers(1, 300),
    ball=st.booleans(),
    exact=st.booleans(),
)
def test_projected_subgradient_keeps_the_papers_rate_where_it_is_concave(
    seed: int, m: int, iterations: int, ball: bool, exact: bool
) -> None:
    """f = -||y - peak||_1 has L = sqrt(m): the average is within diam(Y) L / sqrt(T) of its maximum 0."""
    domain: Domain = Ball([0.5] * m, 0.5) if ball else unit_box(m)
    peak = domain.sample(1, seed)

    def derivatives(y: Array, component: NDArray[np.intp]) -> tuple[Array, Array, Array]:
        return -np.abs(y - peak).sum(axis=1), -np.sign(y - peak), np.zeros((len(y), m, m))

    violation = Function(lambda y: -np.abs(y - peak).sum(axis=1), derivatives if exact else None)
    found = ProjectedSubgradient(iterations, lipschitz=np.sqrt(m)).maximise(violation.over(domain))
    rate = domain.diameter * np.sqrt(m) / np.sqrt(iterations)
    assert (found.values >= -rate - 1e-6).all(), "both the average and the best iterate"


def test_projected_subgradient_estimates_the_slope_when_it_is_not_given() -> None:
    violation = Function(lambda y: 1 - 50 * ((y - [0.2, 0.9]) ** 2).sum(axis=1))
    found = ProjectedSubgradient(2000).maximise(violation.over(unit_box(2)))
    assert found.worst == pytest.approx(1.0, abs=0.05)


def test_projected_subgradient_returns_the_best_iterate_where_averaging_loses_it() -> None:
    """Two hills: steps that are too long jump between them, and the average lies in the valley."""
    violation = Function(lambda y: -((y[:, 0] ** 2 - 1) ** 2))
    found = ProjectedSubgradient(50, lipschitz=1.0).maximise(violation.over(Interval(-2.0, 2.01)))
    assert len(found.points) == 2
    assert found.values[0] > found.values[1]


def test_projected_subgradient_on_a_flat_violation_stays_at_the_centre() -> None:
    found = ProjectedSubgradient().maximise(Function(lambda y: np.ones(len(y))).over(unit_box(2)))
    np.testing.assert_array_equal(found.points, [[0.5, 0.5]])
    assert found.values.tolist() == [1.0]


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10_000), k=st.integers(2, 12), m=st.integers(1, 3))
def test_grid_returns_the_local_maxima_of_the_grid(seed: int, k: int, m: int) -> None:
    violation, domain = hills(m, seed, count=8, width=0.15), unit_box(m)
    grid = Grid(points=k**m, cuts=10_000)
    assert grid.per_axis(m) == k
    found = grid.maximise(violation.over(domain))
    points = domain.grid(k)
    values = violation.values(points)[:, 0]
    near = (np.abs(points[:, None] - points) <= 1.5 / (k - 1)).all(axis=2)
    peaks = values >= np.where(near, values, -np.inf).max(axis=1)
    assert found.worst == values.max()
    np.testing.assert_allclose(np.sort(found.values), np.sort(values[peaks]), rtol=1e-13)


def test_grid_finds_both_hills_and_respects_its_limit() -> None:
    violation = Function(lambda y: np.cos(4 * np.pi * y[:, 0]) + y[:, 0])
    found = Grid(points=101).maximise(violation.over(Interval(0.0, 1.0)))
    np.testing.assert_allclose(found.points[:, 0], [1.0, 0.5, 0.0], atol=0.011)
    assert len(Grid(points=101, cuts=2).maximise(violation.over(Interval(0.0, 1.0))).points) == 2


def test_grid_is_exhaustive_on_a_finite_domain() -> None:
    domain = Finite(np.random.default_rng(0).random((30, 2)))
    violation = hills(2, 1, p=2)
    found = Grid(points=1).maximise(violation.over(domain))
    assert found.worst == violation.values(domain.sample(2000)).max()
    assert found.bound == np.inf, "floats prove nothing; rows that can be enclosed do"


def test_grid_says_when_there_are_too_many_dimensions() -> None:
    with pytest.raises(ModelError, match=r"2\^20 points"):
        Grid().maximise(hills(20, 0).over(unit_box(20)))


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("m", [1, 2, 3])
def test_multistart_finds_the_highest_of_many_hills(m: int, exact: bool) -> None:
    trials, successes = 30, 0
    domain = unit_box(m)
    for seed in range(trials):
        violation = hills(m, seed, exact=exact)
        reference = violation.values(domain.grid({1: 4001, 2: 101, 3: 23}[m])).max()
        successes += Multistart().maximise(violation.over(domain)).worst >= reference - 1e-9
    assert successes >= 0.9 * trials


@pytest.mark.parametrize("method", ["trust-region", "trust-constr", "L-BFGS-B"])
@pytest.mark.parametrize("exact", [True, False])
def test_every_method_of_multistart_reaches_machine_precision(method: Any, exact: bool) -> None:
    """A quadratic with its peak inside, on an edge and at a corner of a box with very different widths."""
    domain = Box([0.0, -1000.0], [1e-3, 1000.0])
    width = domain.upper - domain.lower
    for peak in ([0.3, 0.6], [1.4, 0.6], [1.4, -0.2]):
        top = domain.lower + np.array(peak) * width

        def value(y: Array, top: Array = top) -> Array:
            return 1 - (((y - top) / width) ** 2).sum(axis=1)

        def derivatives(y: Array, component: NDArray[np.intp], top: Array = top) -> tuple[Array, Array, Array]:
            bend = np.tile(np.diag(-2 / width**2), (len(y), 1, 1))
            return 1 - (((y - top) / width) ** 2).sum(axis=1), -2 * (y - top) / width**2, bend

        function = Function(value, derivatives if exact else None)
        found = Multistart(starts=3, method=method).maximise(function.over(domain))
        expected = np.clip(peak, 0, 1)
        np.testing.assert_allclose((found.points[0] - domain.lower) / width, expected, atol=1e-6)
        assert found.worst == pytest.approx(1 - ((np.array(peak) - expected) ** 2).sum(), abs=1e-10)


@pytest.mark.parametrize("method", ["trust-region", "trust-constr", "L-BFGS-B"])
def test_multistart_climbs_along_curved_and_flat_boundaries(method: Any) -> None:
    slope = np.array([1.0, 2.0, -1.0])
    violation = Function(lambda y: y @ slope)
    found = Multistart(method=method, starts=4).maximise(violation.over(Ball([0.0, 0.0, 0.0], 2.0)))
    assert found.worst == pytest.approx(2 * np.linalg.norm(slope), abs=1e-8)
    on_simplex = Function(lambda y: -((y - [0.5, 0.9, 0.0]) ** 2).sum(axis=1))
    found = Multistart(method=method, starts=4).maximise(on_simplex.over(Simplex(3)))
    np.testing.assert_allclose(found.points[0], [0.3, 0.7, 0.0], atol=1e-6)


def test_multistart_tries_the_callers_candidates() -> None:
    """A spike that no sample meets: the caller knows where it is."""
    spike = np.array([0.123456, 0.654321])
    violation = Function(lambda y: np.exp(-1e4 * np.linalg.norm(y - spike, axis=1)))
    assert Multistart(sample=64).maximise(violation.over(unit_box(2))).worst < 0.5
    found = Multistart(sample=64, candidates=[spike, [2.0, 2.0]]).maximise(violation.over(unit_box(2)))
    assert found.worst == 1.0
    np.testing.assert_array_equal(found.points[0], spike)


def test_multistart_leaves_a_saddle() -> None:
    violation = Function(lambda y: np.cos(2 * np.pi * y[:, 0]) - (y[:, 1] - 0.5) ** 2)
    found = Multistart(sample=1, candidates=[[0.5, 0.5]]).maximise(violation.over(unit_box(2)))
    assert found.worst == pytest.approx(1.0, abs=1e-9)


def test_points_where_the_violation_is_undefined_are_never_returned() -> None:
    def value(y: Array) -> Array:
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.log(y[:, 0] - 0.4)

    for oracle in ORACLES[:4]:
        found = oracle.maximise(Function(value).over(Interval(0.0, 1.0)))
        assert np.isfinite(found.values).all()
        with pytest.raises(ModelError, match="not finite"):
            oracle.maximise(Function(value).over(Interval(0.0, 0.3)))


@pytest.mark.parametrize("oracle", ORACLES, ids=repr)
@pytest.mark.parametrize("domain", DOMAINS, ids=repr)
def test_black_boxes_are_asked_for_nothing_outside_the_domain(oracle: Oracle, domain: Domain) -> None:
    violation = hills(domain.dim, 3, exact=False)

    def guarded(y: Array) -> Array:
        assert domain.contains(y).all()
        return violation.value(y)

    if isinstance(oracle, Multistart) and oracle.method != "trust-region" and not isinstance(domain, Box | Interval):
        pytest.skip("scipy searches the bounding box")
    oracle.maximise(Function(guarded).over(domain))


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10_000), radius=st.floats(0, 0.5), limit=st.integers(0, 20), p=st.integers(1, 3))
def test_distinct_is_greedy_and_separated(seed: int, radius: float, limit: int, p: int) -> None:
    rng = np.random.default_rng(seed)
    points, values, components = rng.random((40, 2)), rng.normal(size=40), rng.integers(p, size=40)
    chosen = distinct(points, values, components, radius, limit)
    assert len(chosen) <= limit
    assert (np.diff(values[chosen]) <= 0).all()
    for a, i in enumerate(chosen):
        for j in chosen[:a]:
            assert components[i] != components[j] or np.abs(points[i] - points[j]).max() > radius
    if limit:
        assert chosen[0] == values.argmax()
    if len(chosen) < limit:  # Everything left out is close to something worse.
        for i in set(range(40)) - set(chosen.tolist()):
            same = chosen[components[chosen] == components[i]]
            assert (np.abs(points[same] - points[i]).max(axis=1) <= radius).any()


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000), m=st.integers(1, 4), corner=st.booleans())
def test_differences_match_exact_derivatives_up_to_the_boundary(seed: int, m: int, corner: bool) -> None:
    violation, domain = hills(m, seed, width=0.5, p=2), unit_box(m)
    y = domain.grid(2) if corner else domain.sample(10, seed)
    component = np.arange(len(y)) % 2
    expected = violation.derivatives(y, component)
    assert expected is not None
    value, gradient, hessian = central_differences(violation.over(domain), y, component)
    np.testing.assert_allclose(value, expected[0], rtol=1e-12)
    np.testing.assert_allclose(gradient, expected[1], atol=2e-5)
    np.testing.assert_allclose(hessian, expected[2], atol=5e-2 if corner else 1e-3)


@pytest.mark.parametrize(
    "build",
    [
        lambda: RandomSearch(0),
        lambda: ProjectedSubgradient(0),
        lambda: ProjectedSubgradient(lipschitz=-1.0),
        lambda: Grid(points=0),
        lambda: Multistart(starts=0),
        lambda: Multistart(method="simplex"),  # type: ignore[arg-type]
    ],
)
def test_senseless_options_are_refused(build: Callable[[], Oracle]) -> None:
    with pytest.raises(ModelError, match=r"must be|is one of"):
        build()
