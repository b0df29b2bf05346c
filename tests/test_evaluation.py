"""Policy evaluation: every estimate against exact values, and the population against single paths, in law."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from scipy import stats

import lsip
import rl
from rl.simulator import TabularSimulator
from tests.test_sicmdp import models, random_policy
from tests.test_simulator import PI, Hidden, small

T = lsip.Index("t", lsip.Interval(0, 1))
POINTS = np.array([[0.0], [0.4], [1.0]])


def by_pair(gamma: float = 0.7) -> rl.SICMDP:
    """As `small`, with a cost of pairs."""
    mdp = small(gamma)
    level = np.array([[0.3, 0.8], [0.9, 0.1], [0.5, 0.2]])
    return rl.SICMDP(mdp.P, mdp.r, level * (1 - T * level), 1 + T, T, mdp.mu, gamma)


def finite_visits(mdp: rl.SICMDP, policy: np.ndarray, horizon: int) -> np.ndarray:
    """Expected discounted visits of the pairs in the first `horizon` steps: (S, A)."""
    d, total = mdp.mu, np.zeros(mdp.states)
    for t in range(horizon):
        total += mdp.gamma**t * d
        d = np.einsum("s,sa,sat->t", d, policy, mdp.P)
    return total[:, None] * policy


def moments(mdp: rl.SICMDP, policy: np.ndarray, cost: np.ndarray, horizon: int) -> tuple[float, float]:
    """Mean and variance of the discounted sum of a cost (S, A) along one path."""
    first = second = np.zeros(mdp.states)
    for _ in range(horizon):
        ahead, squares = mdp.P @ first, mdp.P @ second
        second = (policy * (cost**2 + 2 * mdp.gamma * cost * ahead + mdp.gamma**2 * squares)).sum(axis=1)
        first = (policy * (cost + mdp.gamma * ahead)).sum(axis=1)
    mean = mdp.mu @ first
    return mean, mdp.mu @ second - mean**2


def close_in_law(sample: np.ndarray, mean: float, variance: float) -> None:
    """Mean and variance of a sample are within four and a half of their standard errors."""
    n = len(sample)
    assert abs(sample.mean() - mean) <= 4.5 * np.sqrt(variance / n) + 1e-12
    spread = ((sample - mean) ** 2).mean()
    fourth = ((sample - mean) ** 4).mean()
    assert abs(spread - variance) <= 4.5 * np.sqrt(max(fourth - spread**2, 0) / n) + 1e-12


# ---- Monte Carlo -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", [small, by_pair])
def test_the_population_has_the_law_of_single_paths(model):
    mdp, K, H, repeats = model(), 20, 6, 800
    simulator, rng = TabularSimulator(mdp), np.random.default_rng(2)
    costs, _ = mdp.costs.at(POINTS)
    ways = {
        "population": (rl.MonteCarlo(K, H, mode="population"), simulator),
        "paths": (rl.MonteCarlo(K, H, mode="paths"), simulator),
        "hidden": (rl.MonteCarlo(K, H), Hidden(mdp)),
    }
    found = {
        name: np.array([costs @ way.evaluate(world, PI, rng).visits for _ in range(repeats)])
        for name, (way, world) in ways.items()
    }
    for i, y in enumerate(POINTS):
        mean, variance = moments(mdp, PI, mdp.costs.criterion(y, 3), H)
        for values in found.values():
            close_in_law(values[:, i], mean, variance / K)
        for name in ("paths", "hidden"):
            assert stats.ks_2samp(found["population"][:, i], found[name][:, i]).pvalue > 1e-4


@pytest.mark.parametrize("model", [small, by_pair])
def test_visits_have_the_same_covariances_in_both_modes(model):
    mdp, K, H, repeats = model(), 5, 4, 1500
    simulator, rng = TabularSimulator(mdp), np.random.default_rng(8)
    found = [
        np.array([rl.MonteCarlo(K, H, mode).evaluate(simulator, PI, rng).visits for _ in range(repeats)])
        for mode in ("population", "paths")
    ]
    for direction in np.random.default_rng(0).normal(size=(4, found[0].shape[1])):
        one, other = (values @ direction for values in found)
        assert stats.ks_2samp(one, other).pvalue > 1e-4
        cost = np.repeat(direction[:, None], 2, axis=1) if mdp.costs.by_state else direction.reshape(3, 2)
        mean, variance = moments(mdp, PI, cost, H)
        close_in_law(one, mean, variance / K)
        close_in_law(other, mean, variance / K)


@pytest.mark.parametrize("mode", ["population", "paths"])
@pytest.mark.parametrize("model", [small, by_pair])
def test_monte_carlo_is_unbiased_for_the_finite_horizon(model, mode):
    mdp, H = model(0.95), 8
    exact = finite_visits(mdp, PI, H)
    found = rl.MonteCarlo(200_000 if mode == "population" else 40_000, H, mode).evaluate(
        TabularSimulator(mdp), PI, np.random.default_rng(1)
    )
    np.testing.assert_allclose(found.visits, mdp.costs.weights(exact), atol=0.03)
    assert found.visits.sum() == pytest.approx((1 - 0.95**H) / 0.05)
    assert found.reward == pytest.approx((exact * mdp.r).sum(), abs=0.03)


@pytest.mark.parametrize("model", [small, by_pair])
def test_the_return_is_unbiased_in_both_modes(model):
    mdp, K, H = model(), 10, 5
    simulator, rng = TabularSimulator(mdp), np.random.default_rng(5)
    mean, variance = moments(mdp, PI, mdp.r, H)
    for mode in ("population", "paths"):
        rewards = [rl.MonteCarlo(K, H, mode).evaluate(simulator, PI, rng).reward for _ in range(600)]
        # Means over actions only take variance away.
        assert abs(np.mean(rewards) - mean) <= 4.5 * np.sqrt(variance / K / 600)
        assert np.var(rewards) <= 1.3 * variance / K


@given(models(gammas=(0.0, 0.5, 0.9)))
def test_one_step_and_one_path_are_enough_to_ask_for(model):
    mdp, rng = model
    policy = random_policy(mdp, rng)
    for world in (TabularSimulator(mdp), Hidden(mdp)):
        found = rl.MonteCarlo(1, 1).evaluate(world, policy, rng)
        assert found.visits.shape == (mdp.costs.size,)
        assert found.visits.sum() == 1
        found = rl.MonteCarlo(3, 4).evaluate(world, policy, rng)
        assert found.visits.sum() == pytest.approx(sum(mdp.gamma**t for t in range(4)))
        assert (found.visits >= 0).all()


def test_auto_prefers_the_population_and_many_paths_are_simulated_in_parts():
    mdp = small()
    one, other = (
        rl.MonteCarlo(50, 5, mode).evaluate(TabularSimulator(mdp), PI, np.random.default_rng(0))
        for mode in ("auto", "population")
    )
    np.testing.assert_array_equal(one.visits, other.visits)
    many = rl.MonteCarlo(25_001, 3, "paths").evaluate(Hidden(mdp), PI, np.random.default_rng(0))
    assert many.visits.sum() == pytest.approx(1 + 0.7 + 0.49)
    np.testing.assert_allclose(many.visits, finite_visits(mdp, PI, 3).sum(axis=1), atol=0.02)


@pytest.mark.parametrize("levels", [np.array([0.3, 0.9, 0.5]), np.array([[0.3, 0.8], [0.9, 0.1], [0.5, 0.2]])])
def test_models_whose_probabilities_are_rounded_can_be_evaluated(levels):
    # Models are accepted when rows sum to one within 1e-9; a sum above one must then not stop the sampling either.
    row = [0.6666666668, 0.3333333334, 0.0]
    P = np.tile(np.array(row), (3, 2, 1))
    mdp = rl.SICMDP(P, np.ones((3, 2)), levels * (1 - T / 2), 2, T, row, 0.5)
    for world in (TabularSimulator(mdp), Hidden(mdp)):
        found = rl.MonteCarlo(1000, 10).evaluate(world, rl.uniform_policy(3, 2), np.random.default_rng(0))
        assert found.visits.sum() == pytest.approx(2, rel=1e-2)


def test_sparse_models_are_evaluated_like_dense_ones():
    from scipy import sparse

    for model in (small, by_pair):
        mdp = model()
        thin = rl.SICMDP.from_specification(sparse.csr_matrix(mdp.P.reshape(6, 3)), mdp.specification)
        for way in (rl.MonteCarlo(100, 5), rl.Exact(), rl.TemporalDifference(50, 5)):
            one, other = (way.evaluate(TabularSimulator(m), PI, np.random.default_rng(3)) for m in (mdp, thin))
            np.testing.assert_allclose(one.visits, other.visits, atol=1e-12)
            assert one.reward == pytest.approx(other.reward)


# ---- temporal differences --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("trace", [0.0, 0.5, 0.9, 1.0])
@pytest.mark.parametrize("model", [small, by_pair])
def test_temporal_differences_are_consistent(model, trace):
    mdp = model(0.8)
    exact, value = mdp.visits(PI), mdp.value(PI)
    for world in (TabularSimulator(mdp), Hidden(mdp)):
        errors = []
        for paths in (20, 2000):
            way = rl.TemporalDifference(paths, 10, trace)
            found = [way.evaluate(world, PI, np.random.default_rng(seed)) for seed in range(6)]
            errors.append(np.mean([np.abs(f.visits - exact).sum() + abs(f.reward - value) for f in found]))
        assert errors[1] < 0.3 * errors[0]  # a tenth is what the square root law says
        assert errors[1] < 0.15


@pytest.mark.parametrize("trace", [0.0, 0.7, 1.0])
def test_temporal_differences_are_exact_without_chance(trace):
    # 0 -> 1 -> 2 -> 0: one lap shows everything, and bootstrapping does the rest.
    P = np.zeros((3, 1, 3))
    P[[0, 1, 2], 0, [1, 2, 0]] = 1
    mdp = rl.SICMDP(P, [[1.0], [2.0], [4.0]], np.array([0.3, 0.9, 0.5]) * T, 9, T, [1, 0, 0], 0.9)
    found = rl.TemporalDifference(2, 5, trace).evaluate(
        TabularSimulator(mdp), np.ones((3, 1)), np.random.default_rng(0)
    )
    np.testing.assert_allclose(found.visits, mdp.visits(np.ones((3, 1))), atol=1e-9)
    assert found.reward == pytest.approx(mdp.value(np.ones((3, 1))))


@pytest.mark.parametrize("trace", [0.0, 0.7, 1.0])
def test_states_seen_last_only_predict_nothing(trace):
    # 0 -> 1 -> 2, where paths end on arrival in 2: nothing was seen to follow there, so nothing is predicted.
    P = np.zeros((3, 1, 3))
    P[[0, 1, 2], 0, [1, 2, 2]] = 1
    mdp = rl.SICMDP(P, np.ones((3, 1)), np.array([0.3, 0.9, 0.5]) * T, 9, T, [1, 0, 0], 0.9)
    found = rl.TemporalDifference(4, 3, trace).evaluate(
        TabularSimulator(mdp), np.ones((3, 1)), np.random.default_rng(0)
    )
    np.testing.assert_allclose(found.visits, [1, 0.9, 0], atol=1e-9)


# ---- exact -----------------------------------------------------------------------------------------------------------


@given(models())
def test_exact_is_what_the_model_says(model):
    mdp, rng = model
    policy = random_policy(mdp, rng)
    found = rl.Exact().evaluate(TabularSimulator(mdp), policy, rng)
    np.testing.assert_allclose(found.visits, mdp.visits(policy), atol=1e-12 / (1 - mdp.gamma))
    assert found.reward == pytest.approx(mdp.value(policy), abs=1e-10 / (1 - mdp.gamma))
    y = rng.random((4, 2))
    costs, _ = mdp.costs.at(y)
    np.testing.assert_allclose(costs @ found.visits, mdp.cost_values(policy, y), atol=1e-10)


# ---- what goes wrong -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: rl.MonteCarlo(paths=0), "`paths` must be a whole number, at least 1; got 0"),
        (lambda: rl.MonteCarlo(paths=1.5), "`paths` must be a whole number, at least 1; got 1.5"),
        (lambda: rl.MonteCarlo(horizon=-1), "`horizon` must be a whole number, at least 1; got -1"),
        (lambda: rl.MonteCarlo(mode="fast"), "'auto', 'population', 'paths'; got 'fast'"),
        (lambda: rl.TemporalDifference(paths=0), "`paths` must be a whole number, at least 1"),
        (lambda: rl.TemporalDifference(horizon=1), "horizon of at least 2"),
        (lambda: rl.TemporalDifference(trace=1.1), "`trace` must be between 0 and 1; got 1.1"),
        (lambda: rl.TemporalDifference(trace=float("nan")), "`trace` must be between 0 and 1; got nan"),
    ],
)
def test_options_are_checked(make, message):
    with pytest.raises(lsip.ModelError, match=message):
        make()


@pytest.mark.parametrize("way", [rl.MonteCarlo(mode="population"), rl.Exact()])
def test_what_needs_a_model_says_so(way):
    with pytest.raises(lsip.ModelError, match=r"needs a known model, an rl\.SICMDP"):
        way.evaluate(Hidden(small()), PI, np.random.default_rng(0))


@pytest.mark.parametrize("way", [rl.Exact(), rl.MonteCarlo(10, 3), rl.TemporalDifference(10, 3)], ids=repr)
@pytest.mark.parametrize("wrong", ["simulator", "policy", "rng"])
def test_each_argument_of_evaluate_is_checked(way: Any, wrong: str) -> None:
    mdp = small()
    right = {"simulator": mdp, "policy": rl.uniform_policy(mdp.states, mdp.actions), "rng": np.random.default_rng(0)}
    assert way.evaluate(**right).visits.sum() > 0
    with pytest.raises(lsip.ModelError, match="policy" if wrong == "policy" else "must be"):
        way.evaluate(**{**right, wrong: "nonsense"})
