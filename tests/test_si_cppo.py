"""SI-CPPO as a run: advantages by hand, the switch, learning, the same seed, resuming, files, and what is refused."""

from __future__ import annotations

import copy
import csv
import dataclasses
import json
import os
import signal
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space

import lsip
import rl
from tests.test_rollouts import Walk, vector

torch = pytest.importorskip("torch")

from rl.baselines import FixedGrid  # noqa: E402
from rl.episode_violation import EpisodeViolation  # noqa: E402
from rl.policies import flat_parameters  # noqa: E402
from rl.rules import Objective  # noqa: E402
from rl.si_cppo import SICPPO, SICPPOConfig  # noqa: E402
from rl.state import Report, State, pack  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent
GPU = pytest.mark.skipif(not torch.cuda.is_available(), reason="torch sees no GPU here")
# TensorBoard's own imports warn, on some versions of Python and NumPy.
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning:tensorboard"),
    pytest.mark.filterwarnings("ignore::rl.NoGoodPolicyWarning"),  # which has a test of its own
]


class Pull(gym.vector.VectorEnv):
    """The action is the reward, for some steps; seen are a random number and the time."""

    metadata: dict[str, Any] = {"autoreset_mode": AutoresetMode.NEXT_STEP}  # noqa: RUF012

    def __init__(
        self, n: int = 8, steps: int = 5, actions: gym.Space | None = None, ends: bool = True, shift: float = 0.0
    ) -> None:
        self.num_envs, self.steps, self.ends, self.shift = n, steps, ends, shift
        self.single_observation_space = gym.spaces.Box(-np.inf, np.inf, (2,), np.float32)
        self.single_action_space = actions or gym.spaces.Box(-10, 10, (1,), np.float32)
        self.observation_space = batch_space(self.single_observation_space, n)
        self.action_space = batch_space(self.single_action_space, n)
        self.asked: list[np.ndarray] = []

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        self.time = 0
        return self.look(), {}

    def look(self) -> np.ndarray:
        noise = self.np_random.uniform(-1, 1, self.num_envs)
        return np.stack([noise + self.shift, np.full(self.num_envs, self.time / self.steps)], 1).astype(np.float32)

    def step(self, actions: np.ndarray) -> tuple[Any, ...]:
        self.asked.append(np.array(actions))
        self.time += 1
        over, never = np.full(self.num_envs, self.time >= self.steps), np.zeros(self.num_envs, dtype=bool)
        ended, cut = (over, never) if self.ends else (never, over)
        return self.look(), force(actions).astype(float), ended, cut, {}


def force(actions: Any) -> np.ndarray:
    """The first coordinate of real actions, or the number of a discrete one."""
    return np.reshape(actions, (len(actions), -1))[:, 0]


def limit(bound: float = 2.5, **options: Any) -> rl.SemiInfiniteCost:
    """The sum of y a must stay below a bound, for y in [0, 1]: that of a, then."""

    def cost(y: np.ndarray, observations: np.ndarray, actions: np.ndarray) -> np.ndarray:
        return y[:, :1] * force(actions)

    return rl.SemiInfiniteCost(lsip.Interval(0, 1), cost, bound, **options)


TWO = gym.spaces.Discrete(2)
STEPS = 40  # of an iteration of the quick agent


def agent(env: Any = None, constraint: Any = None, **options: Any) -> SICPPO:
    """A quick one."""
    quick = {"hidden": (8,), "episodes": 8, "epochs": 3, "minibatch": 20, "device": "cpu"}
    quick |= {"scale_actions": False, "evaluation_episodes": 8}
    return SICPPO(env if env is not None else Pull(), constraint or limit(), **{**quick, **options})


def assert_same_reports(some: list[Report], others: list[Report]) -> None:
    """Everything but the clock."""
    for a, b in zip(some, others, strict=True):
        for name in ("iteration", "steps", "reward", "violation", "good", "arrived"):
            assert getattr(a, name) == getattr(b, name), name
        np.testing.assert_array_equal(a.y, b.y)


def assert_same_run(one: SICPPO, other: SICPPO) -> None:
    """All that the rest of the run depends on, and all that it has left."""
    for name in ("config", "seed", "iteration", "total_steps", "good_count"):
        assert getattr(one, name) == getattr(other, name), name
    (facts, arrays), (others, more) = pack(one.state), pack(other.state)
    assert facts == others
    assert arrays.keys() == more.keys()
    for name in arrays:
        if "seconds" not in name and "per_second" not in name:
            np.testing.assert_array_equal(arrays[name], more[name], name)
    seen = np.linspace(-1, 1, 2 * one.env.single_observation_space.shape[0]).reshape(2, -1)
    np.testing.assert_array_equal(one.predict(seen)[0], other.predict(seen)[0])


class Oracle:
    """An oracle whose violations are given beforehand, at points of one's own."""

    def __init__(self, violations: Any, points: Any = ((0.25,), (0.5,), (0.75,))) -> None:
        self.violations, self.points = iter(violations), np.array(points, dtype=float)
        self.asked: list[tuple[float, int, np.ndarray]] = []

    def maximise(self, violation: Any, *, target: float = 0.0, seed: int = 0) -> lsip.oracles.Separation:
        values = np.atleast_1d(np.array(next(self.violations), dtype=float))
        points = self.points[: len(values)]
        self.asked.append((target, seed, violation.values(points)[:, 0]))
        return lsip.oracles.Separation(points, values, np.inf, np.zeros(len(values), dtype=np.intp))


class Always(Oracle):
    """The same answer whenever asked."""

    def __init__(self, violation: float, point: float = 1.0) -> None:
        super().__init__(iter(lambda: violation, None), [[point]])


# ---- the switch ------------------------------------------------------------------------------------------------------


def test_the_step_is_on_the_reward_exactly_when_the_violation_is_at_most_eta():
    eta = 0.125
    violations = [-1.0, eta, np.nextafter(eta, 1), 0.0, 5.0, np.nextafter(eta, 0)]
    oracle = Oracle(violations)
    made = agent(oracle=oracle, eta=eta).learn(6 * STEPS, evaluate_every=100)
    assert [r.good for r in made.history] == [True, True, False, True, False, True]
    assert [r.violation for r in made.history] == violations
    assert made.good_count == 4
    assert [target for target, _, _ in oracle.asked] == [eta] * 6
    assert len({seed for _, seed, _ in oracle.asked}) == 6


def test_zero_is_a_tolerance():
    made = agent(oracle=Oracle([0.0, 5e-324]), eta=0).learn(2 * STEPS)
    assert [r.good for r in made.history] == [True, False]


def test_the_worst_of_the_points_found_counts():
    made = agent(oracle=Oracle([[0.3, 0.9, 0.5]])).learn(STEPS)
    assert made.history[0].y == [0.5]
    assert made.history[0].violation == 0.9


@pytest.mark.parametrize("bound", [10, 0.2])
def test_the_oracle_sees_the_violation_of_the_episodes(bound):
    """The cost is that of the actions that were carried out, inside their space."""
    oracle, env = Oracle([[0.0] * 3] * 3), Pull(actions=gym.spaces.Box(-bound, bound, (1,), np.float32))
    agent(env, oracle=oracle).learn(3 * STEPS)
    for k, (_, _, values) in enumerate(oracle.asked):
        mean = np.stack(env.asked[5 * k : 5 * k + 5]).sum(axis=0).mean()
        np.testing.assert_allclose(values, np.array([0.25, 0.5, 0.75]) * mean - 2.5, rtol=1e-5)
        assert np.abs(env.asked[k]).max() <= bound + 1e-6


@pytest.mark.parametrize(("only_arrived", "ends"), [(True, True), (True, False), (False, True), (False, False)])
def test_only_when_all_have_arrived_as_an_option(only_arrived, ends):
    made = agent(Pull(ends=ends), oracle=Oracle([1.0]), only_arrived=only_arrived).learn(STEPS)
    assert made.history[0].good == (only_arrived and not ends)
    assert made.history[0].arrived == ends


# ---- advantages and steps by hand ------------------------------------------------------------------------------------


def walk_cost(y: np.ndarray, observations: np.ndarray, actions: np.ndarray) -> np.ndarray:
    return y[:, :1] * actions + y[:, :1] ** 2 * observations[:, 2]


def recursion(rewards: Any, values: Any, after: float, gamma: float, trace: float) -> np.ndarray:
    """Advantages of one episode, from its end; `after` is what the rest is worth."""
    found, running, ahead = [], 0.0, after
    for r, v in zip(rewards[::-1], values[::-1], strict=True):
        running = r + gamma * ahead - v + gamma * trace * running
        ahead = v
        found.append(running)
    return np.array(found[::-1])


@pytest.mark.parametrize("good", [True, False])
@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_advantages_bootstrap_where_episodes_are_cut_off_and_not_where_they_end(good, mode, monkeypatch):
    constraint = rl.SemiInfiniteCost(lsip.Interval(0, 2), walk_cost, 1.0, gamma=0.8)
    made = agent(
        vector(6, mode), constraint, episodes=12, oracle=Always(-1.0 if good else 1.0, 1.5), gamma=0.9, trace=0.7
    )
    critics = copy.deepcopy((made.state.critics["reward"], made.state.critics["cost"]))
    seen: dict[str, Any] = {}

    def fit(lesson: Any, state: Any) -> Any:
        seen.update(episodes=lesson.episodes, to=lesson.targets.numpy(), y=2 * torch.stack(lesson.indices).numpy())
        return torch.zeros(())

    def step(policy: Any, batch: Any, *rest: Any) -> dict[str, Any]:
        seen.update(gains=batch.advantages.numpy())
        return {}

    monkeypatch.setattr(made.world, "_fit", fit)
    object.__setattr__(made.update, "step", step)
    made.learn(1)
    e = seen["episodes"]
    assert e.terminated.any()
    assert not e.terminated.all()

    def value(critic: Any, observations: np.ndarray, y: float | None = None) -> np.ndarray:
        if y is not None:
            observations = np.column_stack([observations, np.full(len(observations), y / 2)])  # Y scaled to [0, 1]
        with torch.no_grad():
            return critic(torch.as_tensor(observations, dtype=torch.float32)).numpy()[:, 0].astype(float)

    def on(rewards: np.ndarray, critic: Any, gamma: float, y: float | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Advantages and targets in the order of time, then copies."""
        gains, targets = np.zeros(e.live.shape), np.zeros(e.live.shape)
        for i in range(e.count):
            T = int(e.live[:, i].sum())
            v = value(critic, e.observations[:T, i], y)
            after = 0.0 if e.terminated[i] else value(critic, e.last[i : i + 1], y)[0]
            gains[:T, i] = recursion(rewards[:T, i], v, after, gamma, 0.7)
            targets[:T, i] = gains[:T, i] + v
        return gains[e.live], targets[e.live]

    gains, targets = on(e.rewards, critics[0], 0.9)
    np.testing.assert_allclose(seen["to"][0], targets, rtol=1e-4, atol=1e-4)
    assert seen["y"][0] == [1.5]
    for k, (y,) in enumerate(seen["y"]):
        costs = y * e.actions + y**2 * e.observations[:, :, 2]
        of_cost, targets = on(costs, critics[1], 0.8, y)
        np.testing.assert_allclose(seen["to"][k + 1], targets, rtol=1e-4, atol=1e-4)
        if k == 0 and not good:
            gains = -of_cost
    np.testing.assert_allclose(seen["gains"], (gains - gains.mean()) / gains.std(), rtol=1e-4, atol=1e-4)


NARROW = gym.spaces.Box(-0.2, 0.2, (1,), np.float32)
CASES = {
    "wide": ({}, {}),
    "discrete": ({"actions": TWO}, {}),
    "clipped": ({"actions": NARROW}, {}),
    "normalised": ({"shift": 3.0}, {"normalise": True}),
}


@pytest.mark.parametrize("case", CASES)
def test_every_update_starts_at_the_policy_that_has_played(case, monkeypatch):
    """The ratio of the clipped steps begins at 1: log-probabilities are of the same actions and observations."""
    env, options = CASES[case]
    made = agent(Pull(**env), minibatch=1000, learning_rate=0.02, **options)
    sample, update, ratios = made.policy.sample, made.update, []
    drawn: list[Any] = []

    def playing(observations: Any, generator: Any, deterministic: bool = False) -> Any:
        actions = sample(observations, generator, deterministic)
        drawn.append(made.policy.log_prob(observations, actions).detach())
        return actions

    def step(policy: Any, batch: Any, *rest: Any) -> Any:
        ratios.append((np.sort(torch.cat(drawn)), np.sort(batch.log_probs), batch.weights.sum()))
        return type(update).step(update, policy, batch, *rest)

    monkeypatch.setattr(made.policy, "sample", playing)
    object.__setattr__(made.update, "step", step)
    for _ in range(3):
        drawn.clear(), ratios.clear()
        made.learn(made.total_steps + 1, evaluate_every=100)
        ((then, now, total),) = ratios
        np.testing.assert_allclose(now, then, atol=1e-4)
        assert float(total) == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("actions", [TWO, None], ids=["discrete", "real"])
def test_a_step_is_that_of_autograd_on_the_clipped_objective(actions):
    made = agent(Pull(actions=actions), minibatch=1000, epochs=1, clip=0.2, learning_rate=0.01)
    state, world = made.state, made.world
    played = world.play(state)
    batch = world.batch(played, Objective(1.0, np.array([[0.5]]), np.zeros(1)), made.update, state)
    generator = torch.Generator().manual_seed(1)  # so that much is clipped
    old = batch.log_probs + 0.4 * torch.randn(batch.log_probs.shape, generator=generator)
    gain = torch.randn(old.shape, generator=generator)
    gain = gain / gain.square().mean().sqrt()
    other = copy.deepcopy(made.policy)
    batch = dataclasses.replace(batch, log_probs=old, advantages=gain)
    made.update.step(made.policy, batch, 0.01, np.random.default_rng(0), {})
    optimiser = torch.optim.Adam(other.parameters(), lr=0.01)
    ratio = torch.exp(other.log_prob(batch.observations, batch.actions) - old)
    clipped = ratio.clamp(0.8, 1.2)
    assert 0.2 < (ratio != clipped).float().mean() < 0.9
    (-torch.minimum(ratio * gain, clipped * gain).mean()).backward()
    torch.nn.utils.clip_grad_norm_(other.parameters(), 0.5)
    optimiser.step()
    torch.testing.assert_close(flat_parameters(made.policy), flat_parameters(other), rtol=1e-3, atol=1e-4)


def test_reward_steps_raise_the_return():
    made = agent(oracle=Always(-1.0), learning_rate=0.01, episodes=16).learn(30 * 80)
    assert made.evaluations[-1].reward > made.evaluations[0].reward + 1.5
    assert made.good_count == made.iteration


@pytest.mark.parametrize("y", [0.8, -0.8])
def test_cost_steps_lower_the_cost_at_the_worst_point(y):
    def far(y: np.ndarray, observations: np.ndarray, actions: np.ndarray) -> np.ndarray:
        return (y[:, :1] - force(actions)) ** 2

    constraint = rl.SemiInfiniteCost(lsip.Interval(-1, 1), far, 0.0)
    made = agent(constraint=constraint, oracle=Always(1.0, y), learning_rate=0.01, episodes=16, log_std=-1.5)
    observations = np.random.default_rng(0).uniform(0, 1, (50, 2))
    before = np.abs(made.predict(observations)[0] - y).mean()
    made.learn(40 * 80)
    after = np.abs(made.predict(observations)[0] - y).mean()
    assert before > 0.7
    assert after < 0.25
    assert made.good_count == 0


# ---- learning --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("actions", [TWO, None], ids=["discrete", "real"])
def test_the_toy_is_learned_up_to_its_bound(actions):
    options = {"episodes": 32, "learning_rate": 0.01, "epochs": 5, "minibatch": 80, "log_std": -1.5}
    made = agent(Pull(32, actions=actions), limit(3.5), **options).learn(45 * 160)
    last = made.history[-15:]
    assert np.mean([r.reward for r in last]) == pytest.approx(3.5, abs=0.3)
    assert np.mean([r.violation for r in last]) < 0.3
    assert 0 < made.good_count < made.iteration
    assert all(r.y > 0.9 for r in last)


def test_discrete_actions_are_learned_where_nothing_is_in_the_way():
    made = agent(Pull(16, actions=TWO), limit(9), episodes=16, learning_rate=0.02).learn(30 * 80)
    assert made.history[0].reward < 4
    assert made.evaluations[-1].reward == 5
    assert made.history[-1].reward > 4.5


def test_finitely_many_costs():
    constraint = rl.SemiInfiniteCost.finite(
        [lambda o, a: force(a), lambda o, a: -force(a), lambda o, a: 0 * force(a)], [1.5, -1.0, 1.0]
    )
    options = {"episodes": 32, "learning_rate": 0.01, "epochs": 5, "minibatch": 80, "log_std": -2.0}
    made = agent(Pull(32), constraint, **options).learn(45 * 160)
    for r in made.history:
        expected = max(r.reward - 1.5, 1 - r.reward, -1.0)
        assert r.violation == pytest.approx(expected, abs=1e-5)
        assert r.y == (0 if r.reward - 1.5 > 1 - r.reward else 1)
    assert {float(r.y[0]) for r in made.history} == {0.0, 1.0}
    assert np.mean([r.reward for r in made.history[-15:]]) == pytest.approx(1.5, abs=0.25)


def test_one_cost():
    constraint = rl.SemiInfiniteCost.finite([lambda o, a: force(a)], [1.0])
    options = {"episodes": 32, "learning_rate": 0.01, "epochs": 5, "minibatch": 80, "log_std": -2.0}
    made = agent(Pull(32), constraint, **options).learn(35 * 160)
    assert all(r.violation == pytest.approx(r.reward - 1, abs=1e-5) for r in made.history)
    assert np.mean([r.reward for r in made.history[-15:]]) == pytest.approx(1.0, abs=0.25)
    assert torch.isfinite(flat_parameters(made.state.critics["cost"])).all()


def test_the_ship_learns_its_way():
    envs = pytest.importorskip("envs")
    ships = gym.make_vec("lsip/ShipRoute-v0", num_envs=32)
    made = SICPPO(ships, envs.ship.constraint(), episodes=32, minibatch=256, device="cpu").learn(45_000)
    first, last = made.history[:2], made.history[-5:]
    assert np.mean([r.reward for r in first]) < -3
    assert np.mean([r.reward for r in last]) > 0.5
    assert np.mean([r.arrived for r in last]) > 0.9
    assert np.mean([r.violation for r in last]) < 0.3


def test_a_single_environment_is_learned_from():
    made = agent(Walk(), rl.SemiInfiniteCost(lsip.Interval(0, 2), walk_cost, 1e6), episodes=4).learn(30)
    assert made.total_steps >= 30
    assert made.env.num_envs == 1


def test_more_episodes_than_copies_are_played_in_rounds():
    made = agent(Pull(4), episodes=10).learn(1)
    assert made.total_steps == 12 * 5


def test_steps_are_counted_over_all_calls():
    made = agent().learn(3 * STEPS - 1)
    assert made.total_steps == 3 * STEPS
    assert [r.steps for r in made.history] == [STEPS, 2 * STEPS, 3 * STEPS]
    assert [r.iteration for r in made.history] == [0, 1, 2]
    assert made.learn(3 * STEPS).iteration == 3
    assert made.learn(3 * STEPS + 1) is made
    assert made.iteration == 4


def test_rewards_are_discounted_as_asked():
    env = Pull()
    made = agent(env, gamma=0.5).learn(STEPS)
    totals = 0.5 ** np.arange(5) @ np.stack(env.asked)[:, :, 0]
    assert made.history[0].reward == pytest.approx(totals.mean(), rel=1e-5)


# ---- the same seed ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=GPU)])
@pytest.mark.parametrize("actions", [None, TWO], ids=["real", "discrete"])
def test_the_same_seed_gives_the_same_run(actions, device):
    one, other, third = (
        agent(Pull(actions=actions), seed=seed, device=device).learn(6 * STEPS, evaluate_every=2) for seed in (7, 7, 8)
    )
    assert_same_run(one, other)
    assert not torch.equal(flat_parameters(one.policy), flat_parameters(third.policy))
    assert [r.violation for r in one.history] != [r.violation for r in third.history]


def test_the_rest_of_torch_plays_no_part():
    before = torch.get_rng_state()
    one = agent().learn(2 * STEPS)
    assert torch.equal(torch.get_rng_state(), before)
    torch.manual_seed(12345)
    assert_same_run(one, agent().learn(2 * STEPS))


def test_learning_in_parts_is_learning_at_once():
    in_parts = agent(seed=1)
    for part in (2, 3, 7):
        in_parts.learn(part * STEPS, evaluate_every=3)
    assert_same_run(agent(seed=1).learn(7 * STEPS, evaluate_every=3), in_parts)


def test_iterations_play_different_episodes():
    env = Pull()
    agent(env, learning_rate=1e-9, critic_rate=1e-9).learn(2 * STEPS)
    assert not np.allclose(env.asked[0], env.asked[5], atol=1e-3)


@pytest.mark.parametrize("deterministic", [True, False])
def test_looking_at_a_run_does_not_change_it(deterministic):
    def look(made: SICPPO, report: Report) -> None:
        made.evaluate(deterministic=deterministic, seed=report.iteration)
        made.predict(np.zeros(2), deterministic=deterministic)

    plain = agent(seed=4).learn(5 * STEPS, evaluate_every=2)
    assert_same_run(plain, agent(seed=4).learn(5 * STEPS, evaluate_every=2, callback=look))


# ---- resuming --------------------------------------------------------------------------------------------------------

RUNS = {
    "real": ({}, {}),
    "discrete": ({"actions": TWO}, {}),
    "normalised": ({"shift": 2.0}, {"normalise": True}),
    "cut off": ({"ends": False}, {"gamma": 0.9, "trace": 0.5, "index_points": 0}),
    "deep": ({}, {"hidden": (6, 5, 4, 3, 4, 5)}),  # more than ten parts, whose order is not that of their names
}


@pytest.mark.parametrize("run", RUNS)
def test_a_resumed_run_is_the_uninterrupted_one(run, tmp_path):
    env, options = RUNS[run]
    how = {"evaluate_every": 3, "feasible": 9.0, "checkpoint": tmp_path / "c.npz"}
    agent(Pull(**env), seed=5, **options).learn(7 * STEPS, **how)
    resumed = SICPPO.load(tmp_path / "c.npz", Pull(**env), limit(), device="cpu")
    assert resumed.iteration == 7
    assert len(resumed.evaluations) == 2
    assert resumed.best is not None
    whole = agent(Pull(**env), seed=5, **options).learn(7 * STEPS, **how)
    assert_same_run(whole, resumed)
    assert_same_run(whole.learn(13 * STEPS, **how), resumed.learn(13 * STEPS, **how))


def test_the_ship_goes_on_from_a_checkpoint(tmp_path):
    envs = pytest.importorskip("envs")

    def ships() -> Any:
        return gym.make_vec("lsip/ShipRoute-v0", num_envs=4, max_episode_steps=30)

    made = SICPPO(ships(), envs.ship.constraint(), episodes=4, normalise=True, device="cpu")
    made.learn(240, evaluate_every=1).save(tmp_path / "c.npz")
    resumed = SICPPO.load(tmp_path / "c.npz", ships(), envs.ship.constraint(), device="cpu")
    assert_same_run(made.learn(480, evaluate_every=1), resumed.learn(480, evaluate_every=1))


@pytest.mark.parametrize("iterations", [0, 1, 4])
def test_a_run_can_be_saved_before_its_first_evaluation(iterations, tmp_path):
    made = agent(seed=3)
    if iterations:
        made.learn(iterations * STEPS)
    made.save(tmp_path / "c.npz")
    assert not made.evaluations
    resumed = SICPPO.load(tmp_path / "c.npz", Pull(), limit(), device="cpu")
    assert_same_run(made.learn(6 * STEPS), resumed.learn(6 * STEPS))


def test_a_checkpoint_is_written_every_so_often_and_at_the_end(tmp_path):
    path, seen = tmp_path / "c.npz", []

    def look(made: SICPPO, report: Report) -> None:
        seen.append(SICPPO.load(path, Pull(), limit()).iteration if path.exists() else 0)

    agent().learn(8 * STEPS, evaluate_every=1, checkpoint=path, every=3, callback=look)
    assert seen == [0, 0, 3, 3, 3, 6, 6, 6]
    assert SICPPO.load(path, Pull(), limit()).iteration == 8
    assert [p.name for p in tmp_path.iterdir()] == ["c.npz"]


VICTIM = """
import sys
from tests.test_si_cppo import STEPS, agent

def tell(made, report):
    print(report.iteration, flush=True)

agent(seed=5, tensorboard=sys.argv[2]).learn(
    100_000 * STEPS, evaluate_every=1, checkpoint=sys.argv[1], every=4, callback=tell
)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no SIGKILL here")
def test_a_killed_run_loses_at_most_what_came_after_its_last_checkpoint(tmp_path):
    path, folder = tmp_path / "c.npz", tmp_path / "log"
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    victim = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", VICTIM, str(path), str(folder)],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
    )
    with victim:
        for line in victim.stdout:
            if int(line) == 13:
                victim.send_signal(signal.SIGKILL)
                break
        rest = [int(line) for line in victim.stdout]
    assert victim.returncode == -signal.SIGKILL
    done = max([13, *rest]) + 1
    resumed = SICPPO.load(path, Pull(), limit(), device="cpu", tensorboard=folder)
    assert resumed.iteration % 4 == 0
    assert done - 4 <= resumed.iteration <= done + 1
    end = (resumed.iteration + 3) * STEPS
    resumed.learn(end, evaluate_every=1)
    whole = agent(seed=5, tensorboard=tmp_path / "whole").learn(end, evaluate_every=1)
    assert_same_run(whole, resumed)
    assert rows_of(folder) == rows_of(tmp_path / "whole")


def test_a_run_that_a_callback_stops_still_ends_with_a_checkpoint(tmp_path):
    path = tmp_path / "c.npz"
    made = agent().learn(50 * STEPS, evaluate_every=2, checkpoint=path, callback=lambda made, r: r.iteration == 3)
    assert made.iteration == 4
    assert_same_run(made, SICPPO.load(path, Pull(), limit(), device="cpu"))


def test_a_checkpoint_in_a_new_folder_is_written_or_refused_before_any_work(tmp_path):
    made, path = agent(), tmp_path / "new" / "c.npz"
    try:
        made.learn(2 * STEPS, checkpoint=path)
    except lsip.ModelError:
        assert made.iteration == 0
    else:
        assert path.exists()


def test_a_crash_while_saving_leaves_the_old_file(tmp_path, monkeypatch):
    made, path = saved(tmp_path)
    before = path.read_bytes()
    made.learn(made.total_steps + 1)

    def crash(self: Path, *args: Any) -> Any:
        raise OSError("disk full")

    for step in ("write_bytes", "replace"):
        with monkeypatch.context() as patch:
            patch.setattr(Path, step, crash)
            with pytest.raises(lsip.ModelError, match=r"c\.npz cannot be written: disk full"):
                made.save(path)
        assert path.read_bytes() == before
    made.save(path)
    assert path.read_bytes() != before
    assert [p.name for p in tmp_path.iterdir()] == ["c.npz"]


@pytest.mark.parametrize(
    "settings",
    [
        {"learning_rate": np.float32(1e-3)},
        {"hidden": (np.int64(8),)},
        {"hidden": np.array([8])},
        {"normalise": np.bool_(True)},
        {"index_points": np.int64(2)},
        {"seed": np.int64(3)},
    ],
    ids=str,
)
def test_numbers_of_numpy_can_be_saved_or_are_refused_at_once(settings, tmp_path):
    try:
        made = agent(**settings)
    except lsip.ModelError:
        return
    made.learn(2 * STEPS, evaluate_every=1).save(tmp_path / "c.npz")
    resumed = SICPPO.load(tmp_path / "c.npz", Pull(), limit(), device="cpu")
    assert_same_reports(made.learn(3 * STEPS).history, resumed.learn(3 * STEPS).history)


class WithConstraint(Pull):
    """An environment that knows what it must not do."""

    def constraint(self) -> rl.SemiInfiniteCost:
        return limit(2.0)


def test_an_environment_may_bring_its_constraint_along(tmp_path):
    _, path = saved(tmp_path)
    resumed = SICPPO.load(path, WithConstraint())
    assert resumed.constraint.bounds(np.array([[0.5]])) == [2.0]
    resumed = SICPPO.load(path, gym.wrappers.vector.RecordEpisodeStatistics(WithConstraint()))
    assert resumed.constraint.bounds(np.array([[0.5]])) == [2.0]
    with pytest.raises(lsip.ModelError, match=r"load\(path, env, constraint\)"):
        SICPPO.load(path, Pull())


# ---- files that are not what they should be --------------------------------------------------------------------------


def saved(folder: Path) -> tuple[SICPPO, Path]:
    path = folder / "c.npz"
    return agent(seed=2).learn(2 * STEPS, evaluate_every=1, checkpoint=path), path


def archive(path: Path, **parts: Any) -> None:
    with path.open("wb") as stream:
        np.savez(stream, **parts)


def parts_of(path: Path) -> dict[str, Any]:
    with np.load(path, allow_pickle=False) as data:
        return {name: data[name] for name in data.files}


def test_a_missing_checkpoint_is_named(tmp_path):
    with pytest.raises(lsip.ModelError, match=r"gone\.npz"):
        SICPPO.load(tmp_path / "gone.npz", Pull(), limit())
    with pytest.raises(lsip.ModelError, match=r"is a directory, not a file written by SICPPO"):
        SICPPO.load(tmp_path, Pull(), limit())


@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 0.99])
def test_half_a_file_is_no_checkpoint(share, tmp_path):
    _, path = saved(tmp_path)
    data = path.read_bytes()
    path.write_bytes(data[: int(share * len(data))])
    with pytest.raises(lsip.ModelError, match=r"c\.npz is not a file written by"):
        SICPPO.load(path, Pull(), limit())


def test_a_changed_byte_is_noticed_or_harmless(tmp_path):
    made, path = saved(tmp_path)
    data = path.read_bytes()
    rng = np.random.default_rng(0)
    for position in rng.choice(len(data), 150, replace=False):
        changed = bytearray(data)
        changed[position] ^= int(rng.integers(1, 256))
        path.write_bytes(changed)
        try:
            found = SICPPO.load(path, Pull(), limit(), device="cpu")
        except lsip.ModelError:
            continue
        assert_same_run(made, found)


def lone_array(path: Path) -> None:
    with path.open("wb") as stream:
        np.save(stream, np.zeros(3))


def with_facts(facts: Any) -> Any:
    return lambda path: archive(path, facts=np.array(json.dumps(facts)))


FOREIGN = {
    "text": lambda path: path.write_text("iteration,reward\n"),
    "array": lone_array,
    "archive": lambda path: archive(path, x=np.zeros(3)),
    "pickle": lambda path: archive(path, facts=np.array({"kind": "SICPPO"}, dtype=object)),
    "not json": lambda path: archive(path, facts=np.array("kind")),
    "another kind": with_facts({"kind": "SICPO"}),
    "a list": with_facts(["SICPPO"]),
    "a number": with_facts(3),
    "nothing": with_facts(None),
    "too little": with_facts({"kind": "SICPPO"}),
    "no settings": with_facts({"kind": "SICPPO", "settings": {"config": {}}}),
    "unknown settings": with_facts({"kind": "SICPPO", "settings": {"config": {"hidden": [8], "speed": 3}}}),
    "bad settings": with_facts({"kind": "SICPPO", "settings": {"config": {"hidden": [8], "eta": "x"}}}),
    "settings only": with_facts({"kind": "SICPPO", "settings": {"config": {"hidden": [8]}}}),
    "a zip file": lambda path: zipfile.ZipFile(path, "w").close(),
}


@pytest.mark.parametrize("what", FOREIGN)
def test_a_foreign_file_is_no_checkpoint(what, tmp_path):
    path = tmp_path / "c.npz"
    FOREIGN[what](path)
    with pytest.raises(lsip.ModelError, match=r"c\.npz"):
        SICPPO.load(path, Pull(), limit())


ARRAYS = [
    "policy/net.0.weight",
    "critics/cost.0.weight",
    "memory/mean",
    "critic_memory/square",
    "observed/mean",
    "history/y",
    "evaluations/reward",
    "best/parameters",
]


@pytest.mark.parametrize("gone", ARRAYS)
def test_arrays_that_are_missing_are_noticed(gone, tmp_path):
    made, path = saved(tmp_path)
    assert made.best is not None
    parts = parts_of(path)
    del parts[gone]
    archive(path, **parts)
    with pytest.raises(lsip.ModelError, match=r"c\.npz"):
        SICPPO.load(path, Pull(), limit())


@pytest.mark.parametrize("name", ARRAYS)
def test_arrays_of_another_shape_are_noticed(name, tmp_path):
    _, path = saved(tmp_path)
    parts = parts_of(path)
    archive(path, **{**parts, name: np.zeros((1, 3))})
    with pytest.raises(lsip.ModelError, match=r"c\.npz"):
        SICPPO.load(path, Pull(), limit())


@pytest.mark.parametrize(
    "gone", ["settings/seed", "settings/rule", "state/iteration", "state/steps", "state/rng/state", "state/best"]
)
def test_facts_that_are_missing_are_noticed(gone, tmp_path):
    path = tmp_path / "c.npz"
    agent(seed=2).learn(2 * STEPS, checkpoint=path)
    parts = parts_of(path)
    facts = json.loads(str(parts["facts"]))
    room, name = gone.split("/", 1)
    del facts[room][name]
    archive(path, **{**parts, "facts": np.array(json.dumps(facts))})
    with pytest.raises(lsip.ModelError, match=r"c\.npz"):
        SICPPO.load(path, Pull(), limit())


@pytest.mark.parametrize(
    ("version", "who"),
    [
        ({}, "a version of lsip that did not leave its number, and lsip"),
        ({"version": "0.0.7"}, r"lsip 0\.0\.7, and lsip"),
        ({"version": lsip.__version__}, r"is not a file written by SICPPO\.save, or it is damaged"),
    ],
    ids=["without its number", "earlier", "this one"],
)
@pytest.mark.parametrize("part", ["state", "settings"])
def test_a_run_of_another_version_says_so(version, who, part, tmp_path):
    _, path = saved(tmp_path)
    parts = parts_of(path)
    facts = json.loads(str(parts["facts"]))
    assert facts.pop("version") == lsip.__version__
    name = {"state": "steps", "settings": "config"}[part]
    facts[part]["other"] = facts[part].pop(name)
    archive(path, **{**parts, "facts": np.array(json.dumps(facts | version))})
    with pytest.raises(lsip.ModelError, match=rf"c\.npz (was written by )?{who}.*{name} is missing"):
        SICPPO.load(path, Pull(), limit())


class Trap:
    """Unpickling it leaves a mark."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> Any:
        return Path.touch, (self.mark,)


def test_no_code_is_run_on_loading(tmp_path):
    _, path = saved(tmp_path)
    parts = parts_of(path)
    assert all(part.dtype != object for part in parts.values())
    mark = tmp_path / "mark"
    for name in ("facts", "best/parameters", "extra"):
        archive(path, **{**parts, name: np.array([Trap(mark)], dtype=object)})
        with pytest.raises(lsip.ModelError, match=r"c\.npz is not a file written by"):
            SICPPO.load(path, Pull(), limit())
        assert not mark.exists()


class Wide(Pull):
    """Three numbers are seen."""

    def __init__(self) -> None:
        super().__init__()
        self.single_observation_space = gym.spaces.Box(-1, 1, (3,), np.float32)


def plane() -> rl.SemiInfiniteCost:
    return rl.SemiInfiniteCost(lsip.Box([0, 0], [1, 1]), lambda y, o, a: y[:, :1] * force(a), 1.0)


@pytest.mark.parametrize(
    ("env", "constraint"),
    [(Wide(), limit()), (Pull(actions=TWO), limit()), (Pull(), plane())],
    ids=["observations", "actions", "index set"],
)
def test_a_checkpoint_of_another_problem_says_so(env, constraint, tmp_path):
    _, path = saved(tmp_path)
    with pytest.raises(lsip.ModelError, match=r"c\.npz was made for other observations, actions or index sets"):
        SICPPO.load(path, env, constraint)


# ---- evaluations and the best policy ---------------------------------------------------------------------------------


def test_the_best_feasible_policy_is_kept(monkeypatch):
    """Which evaluations are feasible is told beforehand; they ask for a violation of 0, iterations for eta."""
    rewards: list[tuple[float, bool, Any]] = []
    feasible = [False, True, True, False, True, False, True, False]
    oracle = Oracle([v for ok in feasible for v in (0.0, 0.3 if ok else 0.4)])
    monkeypatch.setattr(EpisodeViolation, "spread", lambda self, y: 0.0)

    def note(made: SICPPO, report: Report) -> None:
        found = made.evaluations[-1]
        rewards.append((found.reward, found.violation <= 0.3, flat_parameters(made.policy)))
        good = [(r, p) for r, ok, p in rewards if ok]
        if not good:
            assert made.best is None
        else:
            reward, parameters = max(good, key=lambda pair: pair[0])
            assert made.best is not None
            assert made.best[0] == reward
            assert torch.equal(made.best[1], parameters)

    made = agent(oracle=oracle, eta=0.125, learning_rate=0.02)
    monkeypatch.setattr(made, "judge", lambda feasible: made.keep_best(made.evaluate(), feasible))
    made.learn(8 * STEPS, evaluate_every=1, feasible=0.3, callback=note)
    assert [ok for _, ok, _ in rewards] == feasible
    assert {target for target, _, _ in oracle.asked[1::2]} == {0.0}


@pytest.mark.parametrize("normalise", [False, True])
def test_predictions_are_those_of_the_best_policy_when_it_was_found(normalise, tmp_path, monkeypatch):
    """Later iterations, and later observations, do not change what has been found feasible."""
    monkeypatch.setattr(EpisodeViolation, "spread", lambda self, y: 0.0)
    env, look = Pull(shift=1.0), np.random.default_rng(0).normal(size=(20, 2))
    oracle = Oracle([-1.0, -1.0, -1.0] + [-1.0, 1.0] * 4)  # only the first evaluation, and its repetition, is feasible
    made = agent(env, oracle=oracle, learning_rate=0.02, normalise=normalise).learn(STEPS, evaluate_every=1)
    best = made.predict(look)[0]
    env.shift = 4.0
    made.learn(5 * STEPS, evaluate_every=1)
    np.testing.assert_allclose(made.predict(look)[0], best, rtol=1e-6)
    made.save(tmp_path / "c.npz")
    np.testing.assert_allclose(
        SICPPO.load(tmp_path / "c.npz", env, limit(), oracle=oracle).predict(look)[0], best, rtol=1e-6
    )


def test_evaluations_come_every_so_many_iterations():
    made = agent().learn(7 * STEPS, evaluate_every=3)
    assert [r.iteration for r in made.evaluations] == [3, 6]


def test_an_evaluation_plays_the_current_policy_without_noise():
    made = agent().learn(2 * STEPS)
    env = Pull()
    made.world.env = env
    report = made.evaluate()
    actions = np.stack(env.asked)
    assert actions.shape == (5, 8, 1)
    env.reset(seed=0)
    np.testing.assert_allclose(actions[0], made.predict(env.reset(seed=0)[0])[0])
    assert report.reward == pytest.approx(actions.sum(axis=0).mean(), rel=1e-5)
    assert report.violation == pytest.approx(max(report.reward, 0) - 2.5, abs=1e-5)
    assert report.arrived == 1
    made.evaluate(20)
    assert len(env.asked) == 5 + 15


@pytest.mark.parametrize("normalise", [False, True])
def test_the_normaliser_knows_mean_and_deviation(normalise):
    env = Pull(shift=1000.0)
    seen, plain = [], env.look
    env.look = lambda: seen.append(plain()) or seen[-1]
    made = agent(env, normalise=normalise).learn(4 * STEPS, evaluate_every=100)
    kept = np.concatenate([s for k, s in enumerate(seen) if k % 6 < 5]).astype(float)  # but what comes after the end
    values = made.world.player(made.state).tensor(kept.astype(np.float32)).numpy()
    if normalise:
        assert made.state.observed.seen == len(kept) == 4 * STEPS
        np.testing.assert_allclose(made.state.observed.mean, kept.mean(axis=0), rtol=1e-6)
        np.testing.assert_allclose(values.mean(axis=0), 0, atol=0.05)
        np.testing.assert_allclose(values.std(axis=0), 1, rtol=0.05)
    else:
        np.testing.assert_array_equal(values, kept.astype(np.float32))


# ---- stopping, callbacks, logs ---------------------------------------------------------------------------------------


def rows_of(folder: Path) -> list[dict[str, str]]:
    with (folder / "progress.csv").open(newline="", encoding="utf-8") as stream:
        return [{k: v for k, v in row.items() if k != "steps_per_second"} for row in csv.DictReader(stream)]


def test_a_run_stops_at_its_target():
    made = agent(oracle=Always(-1.0)).learn(100 * STEPS, evaluate_every=4, target=-1e9)
    assert made.iteration == 4
    made = agent(oracle=Always(1.0)).learn(9 * STEPS, evaluate_every=4, target=-1e9)
    assert made.iteration == 9  # nothing was feasible
    made = agent(oracle=Always(-1.0)).learn(9 * STEPS, evaluate_every=4, target=1e9)
    assert made.iteration == 9


def test_a_callback_sees_every_iteration_and_may_stop(tmp_path):
    seen = []

    def stop(made: SICPPO, report: Report) -> bool:
        assert made.history[-1] is report
        seen.append(report.iteration)
        return report.iteration == 2

    made = agent(tensorboard=tmp_path).learn(10 * STEPS, callback=stop)
    assert seen == [0, 1, 2]
    assert made.iteration == len(made.history) == len(rows_of(tmp_path)) == 3


def test_the_table_holds_every_iteration(tmp_path):
    made = agent(tensorboard=tmp_path / "deep" / "log").learn(4 * STEPS)
    rows = rows_of(tmp_path / "deep" / "log")
    assert list(rows[0]) == [
        *["run", "iteration", "steps", "reward", "violation", "good", "good_share", "undiscounted", "arrived"],
        *["kl", "loss", "critic_loss", "explained_variance", "entropy", "y0"],
        *["evaluation_reward", "evaluation_violation"],
    ]
    for row, report in zip(rows, made.history, strict=True):
        assert (int(row["iteration"]), int(row["steps"])) == (report.iteration, report.steps)
        assert (float(row["reward"]), float(row["violation"])) == (report.reward, report.violation)
        assert row["good"] == str(report.good)
        assert (float(row["arrived"]), float(row["y0"])) == (report.arrived, report.y[0])


def test_the_table_of_a_resumed_run_is_that_of_the_uninterrupted_one(tmp_path):
    agent(tensorboard=tmp_path / "whole").learn(9 * STEPS, evaluate_every=1)
    stopped = agent(tensorboard=tmp_path / "parts").learn(4 * STEPS, evaluate_every=1, checkpoint=tmp_path / "c.npz")
    stopped.learn(6 * STEPS)
    assert len(rows_of(tmp_path / "parts")) == 6
    resumed = SICPPO.load(tmp_path / "c.npz", Pull(), limit(), device="cpu", tensorboard=tmp_path / "parts")
    resumed.learn(9 * STEPS, evaluate_every=1)
    assert rows_of(tmp_path / "parts") == rows_of(tmp_path / "whole")


def test_a_resumed_run_never_takes_old_rows_off_the_disk(tmp_path):
    """It may be killed at any time, and its checkpoint still says that these rows are written."""
    agent(tensorboard=tmp_path).learn(4 * STEPS, evaluate_every=1, checkpoint=tmp_path / "c.npz")
    resumed = SICPPO.load(tmp_path / "c.npz", Pull(), limit(), device="cpu", tensorboard=tmp_path)
    on_disk = []
    resumed.learn(6 * STEPS, callback=lambda made, report: on_disk.append(len(rows_of(tmp_path))))
    assert min(on_disk) >= 4


def test_tensorboard_gets_the_same_numbers(tmp_path):
    reader = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    made = agent(tensorboard=tmp_path).learn(3 * STEPS)
    board = reader.EventAccumulator(str(tmp_path)).Reload()
    np.testing.assert_allclose([e.value for e in board.Scalars("reward")], [r.reward for r in made.history], rtol=1e-6)


def test_progress_is_shown_when_asked_for(capsys):
    agent().learn(2 * STEPS)
    assert capsys.readouterr().err == ""
    agent().learn(2 * STEPS, verbose=True)
    assert f"{2 * STEPS}/{2 * STEPS}" in capsys.readouterr().err


@pytest.mark.parametrize("fails", [False, True])
def test_the_threads_of_torch_are_given_back(fails):
    before, inside = torch.get_num_threads(), []

    def look(made: SICPPO, report: Report) -> None:
        inside.append(torch.get_num_threads())
        if fails:
            raise RuntimeError("stop")

    try:
        torch.set_num_threads(2)
        if fails:
            with pytest.raises(RuntimeError, match="stop"):
                agent(threads=1).learn(STEPS, callback=look)
        else:
            agent(threads=1).learn(STEPS, callback=look)
        assert inside == [1]
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


# ---- predictions -----------------------------------------------------------------------------------------------------


def test_predictions_for_one_and_for_many():
    made = agent(Pull(actions=gym.spaces.Box(-1, 2, (3,), np.float32))).learn(STEPS)
    look = np.random.default_rng(0).normal(size=(6, 2))
    actions, state = made.predict(look)
    assert state is None
    assert actions.shape == (6, 3)
    for one, action in zip(look, actions, strict=True):
        single, _ = made.predict(one)
        assert single.shape == (3,)
        np.testing.assert_allclose(single, action, rtol=1e-5, atol=1e-7)
    np.testing.assert_array_equal(made.predict(look.tolist())[0], actions)


def test_predictions_are_the_mean_or_drawn_around_it():
    made = agent(log_std=-1.0, oracle=Always(1.0)).learn(STEPS)
    look = np.tile([0.3, 0.2], (4000, 1))
    mean = made.policy.describe(torch.tensor([[0.3, 0.2]]))["mean"].item()
    np.testing.assert_allclose(made.predict(look)[0], mean, rtol=1e-5)
    drawn = made.predict(look, deterministic=False)[0]
    deviation = made.policy.log_std.detach().exp().item()
    assert drawn.mean() == pytest.approx(mean, abs=4 * deviation / np.sqrt(4000))
    assert drawn.std() == pytest.approx(deviation, rel=0.06)


def test_predictions_of_discrete_actions():
    made = agent(Pull(actions=gym.spaces.Discrete(4))).learn(STEPS)
    look = np.random.default_rng(0).normal(size=(200, 2))
    drawn = made.predict(look, deterministic=False)[0]
    assert drawn.shape == (200,)
    assert set(drawn) == {0, 1, 2, 3}
    assert made.env.single_action_space.contains(made.predict(look[0])[0])
    logits = made.policy.logits(torch.as_tensor(look, dtype=torch.float32)).detach().numpy()
    np.testing.assert_array_equal(made.predict(look)[0], logits.argmax(axis=1))


def test_actions_are_inside_their_space():
    env = Pull(actions=gym.spaces.Box(np.float32(0.1), np.float32(0.2), (1,), np.float32))
    made = agent(env).learn(STEPS)
    look = np.zeros((50, 2))
    for actions in (*env.asked, made.predict(look)[0], made.predict(look, deterministic=False)[0]):
        assert all(env.single_action_space.contains(a) for a in actions)


def test_discrete_actions_may_start_elsewhere():
    env = Pull(actions=gym.spaces.Discrete(2, start=5))
    made = agent(env).learn(2 * STEPS)
    assert {int(a) for a in np.ravel(env.asked)} == {5, 6}
    assert made.predict(np.zeros(2))[0] in (5, 6)


@pytest.mark.parametrize("mode", [None, "sync", "vector_entry_point", "async"])
def test_headings_of_ships_are_not_clipped(mode):
    """Any real number is a heading there, alone or in a vector of any kind."""
    envs, name = pytest.importorskip("envs"), "lsip/ShipRoute-v0"
    spawned = {"vector_kwargs": {"context": "spawn"}} if mode == "async" else {}
    ship = gym.make(name) if mode is None else gym.make_vec(name, num_envs=1, vectorization_mode=mode, **spawned)
    try:
        made = SICPPO(ship, envs.ship.constraint(), hidden=(8,), device="cpu")
        headings = made.predict(np.zeros((200, 6)), deterministic=False)[0]
        assert (headings < 0).mean() > 0.3
    finally:
        ship.close()


# ---- CRPO ------------------------------------------------------------------------------------------------------------


def test_a_fixed_grid_gives_crpo():
    def hill(y: np.ndarray, observations: np.ndarray, actions: np.ndarray) -> np.ndarray:
        return np.exp(-((y[:, :1] - force(actions)) ** 2))

    constraint = rl.SemiInfiniteCost(lsip.Interval(-1, 1), hill, 4.0)
    made = agent(constraint=constraint, oracle=FixedGrid(5)).learn(4 * STEPS, evaluate_every=1)
    assert all(np.isin(r.y, [-1, -0.5, 0, 0.5, 1]).all() for r in made.history + made.evaluations)
    free = agent(constraint=constraint).learn(STEPS)
    assert free.history[0].violation > made.history[0].violation
    assert not np.isin(free.history[0].y, [-1, -0.5, 0, 0.5, 1]).any()


def test_crpo_looks_at_its_grid_only_on_the_ship():
    envs = pytest.importorskip("envs")
    ships = gym.make_vec("lsip/ShipRoute-v0", num_envs=8)
    made = SICPPO(ships, envs.ship.constraint(), oracle=FixedGrid(6), episodes=8, device="cpu").learn(1)
    np.testing.assert_allclose(made.history[0].y, np.round(5 * made.history[0].y) / 5, atol=1e-12)


# ---- what is asked for -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"episodes": 0}, "`episodes` must be a positive integer; got 0"),
        ({"episodes": 2.5}, "`episodes` must be a positive integer; got 2.5"),
        ({"epochs": -1}, "`epochs` must be a positive integer; got -1"),
        ({"minibatch": 0}, "`minibatch` must be a positive integer; got 0"),
        ({"threads": 0}, "`threads` must be a positive integer; got 0"),
        ({"entropy": "x"}, "`entropy`"),
        ({"penalty": "l2"}, "`penalty`"),
        ({"switch": "all"}, "`switch`"),
        ({"evaluation_episodes": 0}, "`evaluation_episodes`"),
        ({"eta": float("nan")}, "`eta`"),
        ({"gamma": 1.1}, "`gamma`"),
        ({"gamma": -0.1}, "`gamma`"),
        ({"trace": 2}, "`trace`"),
        ({"learning_rate": 0.0}, "`learning_rate`"),
        ({"learning_rate": -1e-3}, "`learning_rate`"),
        ({"learning_rate": float("nan")}, "`learning_rate`"),
        ({"critic_rate": -1e-3}, "`critic_rate`"),
        ({"clip": -0.1}, "`clip`"),
        ({"divergence": -0.1}, "`divergence`"),
        ({"index_points": -1}, "`index_points`"),
        ({"hidden": 64}, "`hidden`"),
        ({"hidden": (64, 0)}, "`hidden`"),
        ({"speed": 3, "haste": 1}, "Unknown settings haste, speed; there are .*clip.*trace"),
    ],
)
def test_settings_are_checked(settings, message):
    with pytest.raises(lsip.ModelError, match=message):
        agent(**settings)


def test_settings_by_name_win_over_the_config():
    made = SICPPO(Pull(), limit(), SICPPOConfig(episodes=16, eta=0.5), eta=0.25, device="cpu")
    assert (made.config.episodes, made.config.eta) == (16, 0.25)


def test_the_settings_of_the_paper():
    config = SICPPOConfig.paper()
    assert tuple(config.hidden) == (512, 512)
    assert config.learning_rate == config.critic_rate == 1e-4
    made = SICPPO(Pull(), limit(), config, device="cpu")
    critic = made.state.critics["cost"]
    assert [m.out_features for m in critic if isinstance(m, torch.nn.Linear)] == [512, 512, 1]
    assert critic[0].in_features == 2 + 1
    assert (made.update.clip, made.update.penalty, made.update.divergence) == (0.3, "kl", 0.05)
    assert all(isinstance(m, torch.nn.Linear | torch.nn.Tanh) for m in made.policy.net)


@pytest.mark.parametrize(
    "space",
    [
        gym.spaces.MultiDiscrete([2, 2]),
        gym.spaces.MultiBinary(2),
        gym.spaces.Box(0, 1, (2, 2)),
        gym.spaces.Tuple((TWO, TWO)),
    ],
    ids=str,
)
def test_actions_are_discrete_or_vectors(space):
    with pytest.raises(lsip.ModelError, match=r"Actions must be Discrete or a Box of shape \(k,\); got "):
        agent(Pull(actions=space))


@pytest.mark.parametrize("env", [None, "CartPole-v1", Walk])
def test_what_is_no_environment_is_refused(env):
    with pytest.raises(lsip.ModelError, match="`env` must be a Gymnasium environment"):
        SICPPO(env, limit())


@pytest.mark.parametrize("constraint", [None, 3.0, lsip.Interval(0, 1)])
def test_what_is_no_constraint_is_refused(constraint):
    with pytest.raises(lsip.ModelError, match="SemiInfiniteCost"):
        SICPPO(Pull(), constraint, device="cpu")


def test_a_tabular_cost_is_refused():
    y = lsip.Index("y", lsip.Interval(0, 1))
    tabular = rl.SemiInfiniteCost(y, y * np.ones(3), 1)
    with pytest.raises(lsip.ModelError, match=r"cost\(y, observations, actions\)"):
        agent(constraint=tabular).learn(1)


@pytest.mark.parametrize("total", [0, -5])
def test_steps_are_positive(total):
    with pytest.raises(lsip.ModelError, match="`total_steps` must be positive"):
        agent().learn(total)


def test_steps_may_be_written_as_1e2(capsys):
    assert agent().learn(1e2, verbose=True).total_steps == 3 * STEPS


@pytest.mark.parametrize("option", ["evaluate_every", "every"])
def test_nothing_comes_every_zero_iterations(option, tmp_path):
    made = agent()
    with pytest.raises(lsip.ModelError, match=f"`{option}`"):
        made.learn(1, checkpoint=tmp_path / "c.npz", **{option: 0})
    assert made.iteration == 0


@pytest.mark.parametrize("device", ["cpu", "auto", pytest.param("cuda", marks=GPU)])
def test_devices(device, tmp_path):
    made = agent(device=device).learn(2 * STEPS, evaluate_every=1)
    assert device == "auto" or made.device.type == device
    assert all(p.device.type == made.device.type for p in made.policy.parameters())
    assert isinstance(made.predict(np.zeros(2))[0], np.ndarray)
    made.save(tmp_path / "c.npz")
    assert_same_run(made, SICPPO.load(tmp_path / "c.npz", Pull(), limit(), device=device))


def test_a_checkpoint_holds_nothing_of_a_device(tmp_path):
    """So that one written on a GPU is read elsewhere: random numbers come from seeds, and all else is plain numbers."""
    _, path = saved(tmp_path)
    parts = parts_of(path)
    facts = json.loads(str(parts.pop("facts")))
    assert not {"device", "generator"} & {*facts["settings"], *facts["settings"]["config"], *facts["state"]}
    fields = {name.partition("/")[0] for name in (*parts, *facts["state"])}
    assert fields == {f.name for f in dataclasses.fields(State)}
    assert {part.dtype.kind for part in parts.values()} <= set("fib")


@GPU
def test_a_run_can_move_to_another_device(tmp_path):
    agent(device="cuda").learn(2 * STEPS, evaluate_every=1, checkpoint=tmp_path / "c.npz")
    moved = SICPPO.load(tmp_path / "c.npz", Pull(), limit(), device="cpu")
    assert moved.learn(3 * STEPS).iteration == 3


def test_devices_have_names():
    with pytest.raises(lsip.ModelError, match="`device` is"):
        agent(device="gpu")
