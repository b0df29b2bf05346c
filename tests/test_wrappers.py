"""One cost a step for libraries that know one constraint: whose it is, when it changes, and what is left as it was."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import envs
import lsip
import rl

gymnasium = pytest.importorskip("gymnasium")

from gymnasium.utils.env_checker import check_env  # noqa: E402

from rl.wrappers import WorstCost, WorstPoint  # noqa: E402

GRID = lsip.oracles.Grid(points=101)


class Line(gymnasium.Env[Any, Any]):
    """Walk along a line for four steps; observations are the position, and actions are added to it."""

    observation_space = gymnasium.spaces.Box(-10, 10, (1,))
    action_space = gymnasium.spaces.Box(-1, 1, (1,))

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.position, self.time = np.zeros(1, dtype=np.float32), 0
        return self.position, {"fresh": True}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.position += np.asarray(action, dtype=np.float32)  # in place: a wrapper must not keep a reference
        self.time += 1
        return self.position, 1.0, self.time == 4, False, {"time": self.time}


def constraint(gamma: float = 1.0, bound: float = 0.5, **options: Any) -> rl.SemiInfiniteCost:
    """The nearer to y, the more it costs: c_y(s, a) = max(0, 1 - |y - s|) + |a| / 100."""

    def cost(y: Any, observations: Any, actions: Any) -> Any:
        return np.maximum(0, 1 - np.abs(y - observations[:, 0])) + np.abs(actions[:, 0]) / 100

    return rl.SemiInfiniteCost(lsip.Interval(0, 4), cost, lambda y: bound + 0 * y[:, 0], gamma=gamma, **options)


def play(env: Any, *actions: float) -> list[dict[str, Any]]:
    """An episode from reset to end; the infos of its steps."""
    env.reset(seed=0)
    infos = []
    for action in actions:
        *_, info = env.step(np.array([action], dtype=np.float32))
        infos.append(info)
    return infos


def test_the_cost_is_that_of_the_state_where_the_action_was_taken():
    env = WorstCost(Line(), constraint(), oracle=GRID)
    assert env.y == pytest.approx([2.0])  # the centre of Y
    assert env.limit == 0.5
    assert math.isnan(env.violation)
    infos = play(env, 1, 1, 0, 0)  # at 0, 1, 2, 2
    assert [info["cost"] for info in infos] == pytest.approx([0.01, 0.01, 1, 1])
    assert all(type(info["cost"]) is float for info in infos)
    assert [info["time"] for info in infos] == [1, 2, 3, 4]
    assert env.y == pytest.approx([2.0])
    assert env.violation == pytest.approx(2.02 - 0.5)


def test_the_point_is_chosen_again_when_an_episode_ends():
    env = WorstCost(Line(), constraint(), oracle=GRID, episodes=2)
    assert [info["cost"] for info in play(env, 0, 0, 0, 0)] == [0, 0, 0, 0]  # at y = 2; it stands at 0
    assert env.y == pytest.approx([0.0])
    assert env.violation == pytest.approx(4 - 0.5)
    play(env, 1, 0, 0, 0)  # at 0, 1, 1, 1: over both episodes 0 has 5 and 1 has 3
    assert env.y == pytest.approx([0.0])
    assert env.violation == pytest.approx((4 + 1.01) / 2 - 0.5)
    play(env, 1, 0, 0, 0)  # the first episode is forgotten
    assert env.y == pytest.approx([1.0])
    assert env.violation == pytest.approx(3.01 - 0.5)


def test_costs_are_discounted_in_the_choice_and_not_in_the_info():
    env = WorstCost(Line(), constraint(gamma=0.1), oracle=GRID)
    infos = play(env, 1, 1, 0, 0)  # 0, 1, 2, 2: discounted, the first counts most
    assert infos[-1]["cost"] == pytest.approx(1)
    assert env.y == pytest.approx([0.0])


def test_abandoned_episodes_do_not_count():
    env = WorstCost(Line(), constraint(), oracle=GRID)
    env.reset()
    env.step(np.zeros(1))
    assert env.y == pytest.approx([2.0])
    play(env, 1, 1, 0, 0)
    assert env.violation == pytest.approx(2.02 - 0.5)


def test_relative_costs_have_the_limit_one():
    plain, relative = WorstCost(Line(), constraint(), oracle=GRID), WorstCost(Line(), constraint(), relative=True)
    for a, b in zip(play(plain, 1, 1, 0, 0), play(relative, 1, 1, 0, 0), strict=True):
        assert b["cost"] == pytest.approx(a["cost"] / plain.limit)
    assert relative.limit == 1.0
    with pytest.raises(lsip.ModelError, match="positive bounds"):
        play(WorstCost(Line(), constraint(bound=0.0), relative=True), 0)


def test_the_constraints_own_candidates_are_looked_at():
    spike = lsip.oracles.RandomSearch(points=1)
    env = WorstCost(Line(), constraint(candidates=lambda observations: observations), oracle=spike)
    play(env, 1, 0, 0, 0)
    assert env.y == pytest.approx([1.0])


def test_the_point_so_far_is_kept_unless_another_is_worse():
    point = WorstPoint(constraint(), oracle=lsip.oracles.RandomSearch(points=1), episodes=1)
    observations, actions = np.full((4, 1), 2.0), np.zeros((4, 1))
    for _ in range(5):
        point.add(observations, actions)
    assert point.y == pytest.approx([2.0])
    assert point.violation == pytest.approx(3.5)


def test_five_results_spaces_and_seeds_stay(recwarn):
    env = WorstCost(gymnasium.make("lsip/ShipRoute-v0"), envs.ship.constraint())
    assert env.observation_space == env.unwrapped.observation_space
    bare = gymnasium.make("lsip/ShipRoute-v0")
    (seen, info), (expected, _) = env.reset(seed=4), bare.reset(seed=4)
    np.testing.assert_array_equal(seen, expected)
    assert info == {}
    for heading in (0.3, 1.2):
        mine, theirs = env.step([heading]), bare.step([heading])
        np.testing.assert_array_equal(mine[0], theirs[0])
        assert mine[1:4] == theirs[1:4]
        assert set(mine[4]) == {"cost"}


@pytest.mark.filterwarnings("ignore")
def test_gymnasium_accepts_it():
    check_env(WorstCost(envs.ship.ShipRoute(), envs.ship.constraint()), skip_render_check=True)


def test_a_ship_over_the_protected_area():
    env = WorstCost(gymnasium.make("lsip/ShipRoute-v0"), envs.ship.constraint())
    infos = play(env, *[np.pi / 4] * 14)
    route, _ = envs.ship.route(np.full(14, np.pi / 4))
    assert env.violation == pytest.approx(1.292, abs=1e-3)
    assert env.violation == pytest.approx(float(envs.ship.violations(route, env.y[None])[0]), abs=1e-4)
    assert env.limit == pytest.approx(float(envs.ship.constraint().bounds(env.y[None])[0]))
    total = sum(info["cost"] for info in infos)  # at the centre of the sea, which was the point then
    assert total == pytest.approx(float(envs.ship.violations(route, [[0.5, 0.5]])[0]) + 0.02, abs=1e-4)


def test_a_truncated_episode_is_one_too():
    env = WorstCost(gymnasium.wrappers.TimeLimit(Line(), 2), constraint(), oracle=GRID)
    play(env, 0, 0)
    assert env.violation == pytest.approx(1.5)


def test_without_reset_there_is_no_step():
    env = WorstCost(Line(), constraint(), oracle=GRID)
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(np.zeros(1))
    play(env, 0, 0, 0, 0)
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(np.zeros(1))


def test_copies_share_a_point():
    limits = constraint()
    point = WorstPoint(limits, oracle=GRID)
    copies = gymnasium.vector.SyncVectorEnv([lambda: WorstCost(Line(), limits, point=point)] * 3)
    copies.reset(seed=0)
    for _ in range(4):
        *_, infos = copies.step(np.zeros((3, 1), dtype=np.float32))
        np.testing.assert_array_equal(infos["cost"], np.zeros(3))
    assert point.y == pytest.approx([0.0])
    *_, infos = copies.step(np.zeros((3, 1), dtype=np.float32))  # in this step all begin again
    assert "cost" not in infos
    *_, infos = copies.step(np.zeros((3, 1), dtype=np.float32))
    np.testing.assert_array_equal(infos["cost"], np.ones(3))
    assert [float(y[0]) for y in copies.get_attr("y")] == [0.0, 0.0, 0.0]


def test_what_cannot_be_meant():
    limits = constraint()
    with pytest.raises(lsip.ModelError, match="episodes"):
        WorstCost(Line(), limits, episodes=0)
    with pytest.raises(lsip.ModelError, match="WorstPoint"):
        WorstCost(Line(), limits, point=WorstPoint(limits), episodes=3)
    with pytest.raises(lsip.ModelError, match="another constraint"):
        WorstCost(Line(), limits, point=WorstPoint(constraint()))


def test_the_same_seed_chooses_the_same_points():
    def points(seed: int) -> list[float]:
        env = WorstCost(Line(), constraint(), oracle=lsip.oracles.RandomSearch(points=3), seed=seed)
        found = []
        for action in (0.1, 0.9, 0.5):
            play(env, *[action] * 4)
            found.append(float(env.y[0]))
        return found

    assert points(3) == points(3) != points(4)
