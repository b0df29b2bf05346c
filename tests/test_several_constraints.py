"""Several constraints at once: continua and finite ones, each with its own set, bound and discount."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lsip
import rl

torch = pytest.importorskip("torch")
gymnasium = pytest.importorskip("gymnasium")

from envs.tensors import ShipRouteTensors  # noqa: E402
from rl.episode_violation import EpisodeViolation  # noqa: E402
from rl.several import Several, violation_of  # noqa: E402
from tests.test_step_costs import Drifts, moved, told, vector  # noqa: E402


def beyond(y: Any, observations: Any, actions: Any) -> Any:
    return np.maximum(observations[:, 0] - y.reshape(len(y), 1), 0.0)


def far(cost: Any = beyond, **options: Any) -> rl.SemiInfiniteCost:
    """How far beyond y a walker is, for all y."""
    return rl.SemiInfiniteCost(lsip.Interval(0, 2), cost, 0.5, gamma=0.9, range=(0.0, 4.0), **options)


def pair() -> rl.SemiInfiniteCost:
    """Two more, of which the second cannot be kept."""
    costs = [lambda o, a: abs(a[:, 0]), lambda o, a: 1.0 + 0 * a[:, 0]]
    return rl.SemiInfiniteCost.finite(costs, [9.0, 1.0], range=(0.0, 1.0))


def sea() -> rl.SemiInfiniteCost:
    """In two coordinates."""
    return rl.SemiInfiniteCost(
        lsip.Box([0, 0], [10, 1]), lambda y, o, a: np.exp(-((y[:, :1] - 5) ** 2) - y[:, 1:]) + 0 * o[:, 0], 90.0
    )


@pytest.fixture
def agent() -> rl.SICPPO:
    return rl.SICPPO(vector(), [far(), pair(), sea()], episodes=6, hidden=(8,), device="cpu")


def test_their_index_sets_lie_side_by_side(agent):
    several = agent.constraint
    assert isinstance(several, Several)
    assert (several.domain.dim, several.width) == (3, 5)
    points = several.domain.sample(9, 4)
    assert sorted(points[:, 0]) == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    for k, mine, y in several.domain.split(points):
        part = several.parts[k]
        assert part.domain.project(y) == pytest.approx(y)
        assert several.bounds(points)[mine] == pytest.approx(part.bounds(y))
        features = several.features(points)[mine]
        assert (features[:, k] == 1).all()
        assert features.sum(axis=1) == pytest.approx(1 + part.features(y).sum(axis=1))
    assert several.discounts(points[:, :]) == pytest.approx(np.where(points[:, 0] == 0, 0.9, 1.0))


def test_the_worst_of_all_is_found_and_reported_with_its_number(agent):
    evaluation = agent.world.evaluate(agent.state)
    points = np.array([[0, 0.5, 0], [1, 1, 0], [2, 5, 0], [0, 0, 0]])
    own = agent.constraint.parts
    episodes = evaluation.data.episodes
    costs, values = evaluation.violation.step_costs(points, agent.device), evaluation.violation.values(points)
    assert costs.shape == (4, 24)
    for row, value, (k, *y) in zip(costs, values, points, strict=True):
        part = EpisodeViolation(own[int(k)], episodes)
        there = np.array([y[: part.domain.dim]])
        assert value == pytest.approx(part.values(there)[0])
        assert row.numpy() == pytest.approx(part.costs(there)[0], rel=1e-5)
    report = agent.learn(60).history[0]
    assert report.violation == pytest.approx(3.0)  # four steps that cost one each
    assert report.y.tolist() == [1, 1, 0]


@pytest.mark.parametrize("rule", ["switch", "exchange", "lagrangian"])
def test_rules_files_and_guarantees_know_several(rule, tmp_path):
    make: Any = {"switch": rl.SICPPO, "exchange": rl.EPO, "lagrangian": rl.baselines.PPOLagrangian}[rule]
    constraints = [far(), pair()]
    options = {"switch": "set"} if rule == "switch" else {}
    agent = make(vector(), constraints, episodes=6, hidden=(8,), device="cpu", **options)
    agent.learn(120, evaluate_every=2)
    assert agent.state.points.shape[1] == 2
    agent.save(tmp_path / "agent.npz")
    kind = type(agent)
    again = kind.load(tmp_path / "agent.npz", vector(), constraints, device="cpu")
    agent.learn(240, evaluate_every=2)
    again.learn(240, evaluate_every=2)
    assert [r.violation for r in agent.history] == [r.violation for r in again.history]
    with pytest.warns(rl.NoGoodPolicyWarning):
        found = agent.certify(30, horizon=4)
    assert found.policy == "deterministic"
    assert found.bound >= 3  # what the second of the pair costs
    assert found.y.shape == (2,)
    with pytest.raises(lsip.ModelError, match="was made for other"):
        kind.load(tmp_path / "agent.npz", vector(), [far()], device="cpu")


def test_near_points_of_two_sets_are_two_points(agent):
    violation = agent.world.evaluate(agent.state).violation
    points = np.array([[0, 0.5, 0], [1, 0, 0], [1, 1, 0], [2, 0.5, 0.5]])
    ranked = rl.separation.RankedPoints(violation, points, np.ones(4))
    assert len(ranked.joined(points[:1] + 1e-3 * np.array([0, 1, 0]), 0.01)) == 4
    narrow = points[3:] + np.array([0, 0.05, 0.005])  # within a hundredth of the box of that set
    assert len(ranked.joined(narrow, 0.01)) == 4


def test_those_of_tensors_stay_on_the_device():
    env = Drifts(6, device="cpu", max_episode_steps=4)
    limits = [rl.SemiInfiniteCost(lsip.Interval(0, 1), cost, 1.0, gamma=0.5, tensors=True) for cost in (told, moved)]
    agent = rl.SICPPO(
        env, [*limits, far(lambda y, o, a: (o[:, 0] - y).relu(), tensors=True)], episodes=6, hidden=(8,), device="cpu"
    )
    assert isinstance(agent.oracle, rl.BatchedSearch)
    assert agent.learn(60).iteration >= 2
    ships = ShipRouteTensors(4, device="cpu")
    assert rl.SICPPO(ships, [ships.constraint(), far()], episodes=4, device="cpu").world.costs_in_tensors


def test_what_is_no_list_of_constraints_is_refused():
    for wrong in ([], [far(), 1.0], "far"):
        with pytest.raises(lsip.ModelError, match=r"rl\.SemiInfiniteCost"):
            rl.SICPPO(vector(), wrong, device="cpu")
    assert isinstance(violation_of(far(), rl.rollouts.collect(vector(), lambda o: o * 0, 3, 0), None), EpisodeViolation)
