"""SI-CPPO as a run: the switch, advantages by hand, learning, the same seed."""

from __future__ import annotations

import copy
import csv
import dataclasses
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

from rl.policies import flat_parameters  # noqa: E402
from rl.rules import Objective  # noqa: E402
from rl.si_cppo import SICPPO  # noqa: E402
from rl.state import Report, pack  # noqa: E402

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
PLAIN: dict[str, Any] = {  # what is measured is what the environment gives, and a step is on the reward or on a cost
    "normalise": False,
    "normalise_rewards": False,
    "normalise_costs": False,
    "trace": 0.95,
    "entropy": 0.0,
}


def agent(env: Any = None, constraint: Any = None, **options: Any) -> SICPPO:
    """A quick one."""
    quick = {"hidden": (8,), "episodes": 8, "epochs": 3, "minibatch": 20, "device": "cpu", **PLAIN}
    quick |= {"scale_actions": False, "evaluation_episodes": 8}
    if options.get("rule") is None:
        quick |= {"eta": 0.01, "switch": "worst"}
    if options.get("update") is not None:
        del quick["epochs"]  # an update has its own
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


def rows_of(folder: Path) -> list[dict[str, str]]:
    with (folder / "progress.csv").open(newline="", encoding="utf-8") as stream:
        return [{k: v for k, v in row.items() if k != "steps_per_second"} for row in csv.DictReader(stream)]


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
        seen.update(
            episodes=lesson.episodes.host(), to=lesson.targets.numpy(), y=2 * torch.stack(lesson.indices).numpy()
        )
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
    played = world.evaluate(state)
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
    made = SICPPO(ships, envs.ship.constraint(), episodes=32, minibatch=256, device="cpu")
    made.learn(45_000, evaluate_every=10**6)
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
