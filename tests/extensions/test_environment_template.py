"""How to add an environment: a function that returns an `rl.SICMDP`, or a Gymnasium environment and its constraint.

A tabular one is all arrays and expressions: transitions P (S, A, S), rewards r (S, A), costs that are expressions in an
index with shape (S,) or (S, A), a bound u, the index, the first distribution mu and gamma. What is written like that
can be planned and proven.

One with a `step` knows nothing of constraints: it is plain Gymnasium, with observations that are vectors and actions
that are Discrete or a Box of shape (k,). Beside it, a function returns the `rl.SemiInfiniteCost`: an index set, a cost
of points y (N, m), observations (B, ...) and actions (B, ...) with values (N, B), and a bound of points with values
(N,). Observations are those before each step, and actions those that were taken. Two mistakes are easily made, and have
a test below: the cost must be that of what a step really does, and observations must hold what the cost needs.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lsip
import rl

gymnasium = pytest.importorskip("gymnasium")
pytest.importorskip("torch")

from gymnasium.utils.env_checker import check_env  # noqa: E402

# ---- a tabular one ---------------------------------------------------------------------------------------------------


def corridor(states: int = 5, gamma: float = 0.9) -> rl.SICMDP:
    """Walk left or right; noise must stay below a limit at every place of the wall."""
    P = np.zeros((states, 2, states))
    for s in range(states):
        P[s, 0, max(s - 1, 0)] = P[s, 1, min(s + 1, states - 1)] = 1.0
    r = np.zeros((states, 2))
    r[-1] = 1.0  # it pays to stand at the end
    y = lsip.Index("y", lsip.Interval(0, 1))
    noise = np.exp(-4 * (y - np.linspace(0, 1, states)) ** 2)  # (S,)
    return rl.SICMDP(P, r, noise, 6.5, y, np.eye(states)[0], gamma)


def test_the_tabular_template_can_be_planned_with_proof() -> None:
    mdp = corridor()
    plan = rl.plan(mdp)
    assert plan.certified
    assert mdp.value(plan.policy) == pytest.approx(plan.value, abs=1e-6)
    assert mdp.worst_violation(plan.policy).bound <= 1e-7
    always_right = np.tile([0.0, 1.0], (5, 1))
    assert mdp.value(always_right) > plan.value  # the limit matters
    assert mdp.worst_violation(always_right).value > 0.1


# ---- one with a step -------------------------------------------------------------------------------------------------

LAMPS, REACH, CHARGE = 4, 0.25, 3.0


class Street(gymnasium.Env):
    """Light the lamps of a street, one after the other, as long as the battery lasts.

    Observations are the place of the lamp, and what is left in the battery, both from 0 to 1. Actions between -1 and 1
    mean brightness between 0 and 1, which is the reward.
    """

    def __init__(self) -> None:
        self.observation_space = gymnasium.spaces.Box(0.0, 1.0, (2,), np.float32)
        self.action_space = gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float32)
        self.lit: list[float] = []

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        self.lit = []
        return self._observe(), {}

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        brightness = min((1 + float(action[0])) / 2, CHARGE - sum(self.lit))
        self.lit.append(brightness)
        return self._observe(), brightness, len(self.lit) == LAMPS, False, {}

    def _observe(self) -> np.ndarray:
        place = min(len(self.lit) / (LAMPS - 1), 1.0)
        return np.array([place, max(1 - sum(self.lit) / CHARGE, 0.0)], dtype=np.float32)


def constraint() -> rl.SemiInfiniteCost:
    """The light at every place y of the street is limited, most of all in the middle, where people sleep."""

    def light(y: np.ndarray, observations: np.ndarray, actions: np.ndarray) -> np.ndarray:
        brightness = np.minimum((1 + actions[:, 0]) / 2, CHARGE * observations[:, 1])  # no more than there is
        return brightness * np.exp(-(((y - observations[:, 0]) / REACH) ** 2))

    def limit(y: np.ndarray) -> np.ndarray:
        return 0.4 + 4 * (y[:, 0] - 0.5) ** 2

    return rl.SemiInfiniteCost(lsip.Interval(0, 1), light, limit)


def test_gymnasium_finds_nothing_to_complain_about() -> None:
    check_env(Street(), skip_render_check=True)


@pytest.mark.parametrize("actions", [[-1.0, 0.0, 0.5, 1.0], [1.0, 1.0, 1.0, 1.0]])
def test_costs_are_those_of_what_steps_do(actions: list[float]) -> None:
    env, y = Street(), np.linspace(0, 1, 11)[:, None]
    taken = np.array(actions)[:, None]
    seen = [env.reset(seed=0)[0], *(env.step(action)[0] for action in taken)]
    costs = constraint().steps(y, np.array(seen[:-1]), taken)
    assert costs.shape == (11, LAMPS)
    places = np.linspace(0, 1, LAMPS)
    np.testing.assert_allclose(costs, np.array(env.lit) * np.exp(-(((y - places) / REACH) ** 2)), atol=1e-6)


def all_at_once() -> lsip.Problem:
    """The best that anybody can do: without chance, brightness is a list of numbers, and all is linear in them."""
    a = lsip.Variable(LAMPS, name="a", lower=0, upper=1)
    y = lsip.Index("y", lsip.Interval(0, 1))
    light = np.exp(-(((y - np.linspace(0, 1, LAMPS)) / REACH) ** 2)) @ a
    limit = 0.4 + 4 * (y - 0.5) ** 2
    return lsip.Problem(lsip.maximize(a.sum()), [a.sum() <= CHARGE, lsip.forall(y, light <= limit)])


def test_a_short_run_learns_to_keep_the_limit_everywhere() -> None:
    copies = gymnasium.vector.SyncVectorEnv([Street] * 16)
    config = rl.SICPPOConfig(
        hidden=(16,), episodes=64, minibatch=64, trace=1.0, learning_rate=3e-3, critic_rate=1e-2, log_std=-1.0
    )
    agent = rl.SICPPO(copies, constraint(), config, seed=0, device="cpu")
    agent.learn(total_steps=4000, evaluate_every=1)
    assert agent.history[0].violation > 0.1
    assert agent.best is not None  # feasible, as far as an evaluation could see
    env, over = Street(), False
    observation, _ = env.reset(seed=0)
    while not over:
        observation, _, over, _, _ = env.step(agent.predict(observation)[0])
    model = all_at_once()
    assert model.worst_violation(np.array(env.lit)).bound <= 1e-3  # at every y, with proof
    assert 0.9 < sum(env.lit) <= model.solve(verbose=False).upper
