"""What one expects of any library for reinforcement learning, of SI-CPPO: spaces, scales, schedules, logs, failures."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any, ClassVar

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import SyncVectorEnv
from scipy import stats

import lsip
import rl

torch = pytest.importorskip("torch")

from rl.policies import flat_parameters  # noqa: E402
from rl.rollouts import as_vector  # noqa: E402
from tests.test_si_cppo import STEPS, TWO, Always, Pull, agent, assert_same_run, force, limit  # noqa: E402
from tests.test_updates import Convolved  # noqa: E402

pytestmark = [
    pytest.mark.filterwarnings("ignore::rl.NoGoodPolicyWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning:tensorboard"),
]
FREE: dict[str, Any] = {"hidden": (8,), "episodes": 8, "epochs": 3, "minibatch": 20, "device": "cpu"}


# ---- actions ---------------------------------------------------------------------------------------------------------


def test_actions_are_scaled_to_the_bounds_of_their_space():
    space = gym.spaces.Box(np.array([-2, 10, -np.inf], np.float32), np.array([6, 30, np.inf], np.float32))
    made = rl.SICPPO(Pull(actions=space), limit(), **FREE)
    player = made.world.player(made.state)
    drawn = np.array([[-1, -1, -1], [0, 0, 0], [1, 1, 1], [3, -3, 3]], dtype=np.float32)
    np.testing.assert_allclose(player.to_env(drawn), [[-2, 10, -1], [2, 20, 0], [6, 30, 1], [6, 10, 3]])
    assert player.to_env(drawn).dtype == np.float32
    plain = rl.SICPPO(Pull(actions=space), limit(), scale_actions=False, **FREE)
    np.testing.assert_allclose(plain.world.player(plain.state).to_env(drawn)[0], [-1, 10, -1])
    assert space.contains(made.predict(np.zeros(2))[0])


def test_a_wide_space_is_learned_as_fast_as_a_narrow_one():
    """The action in units of its bounds is the reward."""
    found = []
    for high in (1.0, 1000.0):

        class Scaled(Pull):
            def step(self, actions: Any, high: float = high) -> Any:
                seen, reward, *rest = super().step(actions)
                return seen, reward / high, *rest

        env = Scaled(actions=gym.spaces.Box(np.float32(-high), np.float32(high), (1,)))
        made = rl.SICPPO(env, limit(1e9), learning_rate=0.01, **FREE).learn(20 * STEPS)
        found.append([r.reward for r in made.history])
    np.testing.assert_allclose(found[0], found[1], atol=1e-2)
    assert found[0][-1] > found[0][0] + 0.5


# ---- observations ----------------------------------------------------------------------------------------------------


class Corridor(gym.Env[Any, Any]):
    """Action 1 goes to the right and pays there; what is seen is up to the space."""

    action_space = TWO

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.observation_space = {
            "number": gym.spaces.Discrete(4, start=3),
            "dictionary": gym.spaces.Dict({"at": gym.spaces.Discrete(4), "time": gym.spaces.Box(0, 1, (2,))}),
            "tuple": gym.spaces.Tuple((gym.spaces.Box(0, 4, (1,)), gym.spaces.MultiBinary(2))),
            "matrix": gym.spaces.Box(0, 4, (2, 2), np.float32),
            "one": gym.spaces.Box(0, 4, (), np.float32),
            "numbers": gym.spaces.MultiDiscrete([4, 2]),
            "bits": gym.spaces.MultiBinary(2),
        }[kind]

    def look(self) -> Any:
        x = self.x
        return {
            "number": 3 + x,
            "dictionary": {"at": x, "time": np.full(2, self.time / 6, np.float32)},
            "tuple": (np.array([x], np.float32), np.array([x % 2, x // 2], np.int8)),
            "matrix": np.full((2, 2), x, np.float32),
            "one": np.array(x, np.float32),
            "numbers": np.array([x, x % 2]),
            "bits": np.array([x % 2, x // 2], np.int8),
        }[self.kind]

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.x, self.time = 0, 0
        return self.look(), {}

    def step(self, action: Any) -> Any:
        self.x, self.time = min(self.x + 1, 3) if action else max(self.x - 1, 0), self.time + 1
        return self.look(), float(self.x), self.time == 6, False, {}


def corridors(kind: str, n: int = 8) -> SyncVectorEnv:
    return SyncVectorEnv([lambda: Corridor(kind)] * n)


WIDTHS = {"number": 4, "dictionary": 6, "tuple": 3, "matrix": 4, "one": 1, "numbers": 6, "bits": 2}


@pytest.mark.parametrize("kind", WIDTHS)
def test_all_kinds_of_observations(kind, tmp_path):
    shapes = set()

    def cost(y: Any, observations: Any, actions: Any) -> Any:
        shapes.add(observations.shape[1:])
        return y[:, :1] * np.ones(len(actions))

    constraint = rl.SemiInfiniteCost(lsip.Interval(0, 1), cost, 99.0)
    made = rl.SICPPO(corridors(kind), constraint, learning_rate=0.05, normalise=True, **FREE).learn(25 * 48)
    assert made.policy.net[0].in_features == WIDTHS[kind]
    assert shapes == {as_vector(corridors(kind)).single_observation_space.shape}
    assert np.mean([r.reward for r in made.history[-3:]]) > np.mean([r.reward for r in made.history[:3]]) + 1
    seen = as_vector(corridors(kind)).reset(seed=0)[0]
    assert made.predict(seen)[0].shape == (8,)
    assert made.predict(seen[0])[0] == made.predict(seen)[0][0]
    one, many = Corridor(kind).reset(seed=0)[0], corridors(kind).reset(seed=0)[0]  # not flattened
    assert made.predict(one)[0] == made.predict(seen)[0][0]
    np.testing.assert_array_equal(made.predict(many)[0], made.predict(seen)[0])
    made.save(tmp_path / "a.npz")
    again = rl.SICPPO.load(tmp_path / "a.npz", corridors(kind), constraint, device="cpu")
    np.testing.assert_array_equal(again.predict(seen)[0], made.predict(seen)[0])


@pytest.mark.parametrize("wrong", [{"at": 2}, {"at": 9, "time": np.zeros(2, np.float32)}, ("at", "time")])
def test_what_is_no_observation_is_refused(wrong):
    agent = rl.SICPPO(corridors("dictionary"), limit(), **FREE)
    with pytest.raises(lsip.ModelError, match=r"An observation is one of Dict\(.*, or many of them; got"):
        agent.predict(wrong)


def test_other_observations_are_refused():
    class Texts(Corridor):
        def __init__(self) -> None:
            super().__init__("one")
            self.observation_space = gym.spaces.Text(3)

    with pytest.raises(lsip.ModelError, match=r"Observations must be arrays \(a Box\).* got Text"):
        rl.SICPPO(SyncVectorEnv([Texts]), limit(), **FREE)


class Pictures(Pull):
    """Pictures of the time."""

    def __init__(self) -> None:
        super().__init__(actions=gym.spaces.Discrete(3))
        self.single_observation_space = gym.spaces.Box(-1, 1, (1, 5, 5), np.float32)

    def look(self) -> Any:
        return np.random.default_rng(self.time).normal(size=(self.num_envs, 1, 5, 5)).astype(np.float32)


@pytest.mark.parametrize("update", [None, rl.NPG(samples=30), rl.TRPO()], ids=str)
def test_a_policy_of_ones_own_sees_pictures(update, tmp_path):
    torch.manual_seed(0)
    options = {name: value for name, value in FREE.items() if update is None or name != "epochs"}
    made = rl.SICPPO(Pictures(), limit(99), policy=Convolved(), update=update, seed=1, **options).learn(8 * STEPS)
    assert torch.isfinite(flat_parameters(made.policy)).all()
    made.save(tmp_path / "a.npz")
    again = rl.SICPPO.load(tmp_path / "a.npz", Pictures(), limit(99), policy=Convolved(), device="cpu")
    made.learn(10 * STEPS), again.learn(10 * STEPS)
    assert torch.equal(flat_parameters(made.policy), flat_parameters(again.policy))


# ---- updates ---------------------------------------------------------------------------------------------------------

UPDATES = {
    "TRPO": (rl.TRPO(), 1.0),
    "NPG": (rl.NPG(samples=200), 0.02),
    "NPG by cg": (rl.NPG(solver="cg"), 0.02),
    "PolicyGradient": (rl.PolicyGradient(), 0.05),
    "PPO with a penalty": (rl.PPO(step_size=0.01, penalty="kl", divergence=0.02), 1.0),
}


@pytest.mark.parametrize("actions", [TWO, None], ids=["discrete", "real"])
@pytest.mark.parametrize("name", UPDATES)
def test_every_update_learns_in_environments(name, actions):
    update, rate = UPDATES[name]
    made = agent(Pull(32, actions=actions), limit(1e9), episodes=32, update=update, learning_rate=rate, seed=1)
    made.learn(25 * 160)
    first, last = (np.mean([r.reward for r in part]) for part in (made.history[:3], made.history[-3:]))
    assert last > first + 0.5
    told = made.history[-1].numbers
    assert {"explained_variance", "entropy", "critic_loss", "steps_per_second"} <= set(told)


# ---- scales and schedules --------------------------------------------------------------------------------------------


def test_rewards_are_normalised_on_request():
    """A critic of normalised returns does not depend on the unit of the reward."""

    class Paid(Pull):
        def step(self, actions: Any) -> Any:
            seen, reward, *rest = super().step(actions)
            return seen, 1e4 * reward, *rest

    small, large = (
        agent(env, limit(1e9), normalise_rewards=True).learn(6 * STEPS, evaluate_every=99) for env in (Pull(), Paid())
    )
    assert large.history[-1].reward == pytest.approx(1e4 * small.history[-1].reward, rel=1e-2)  # told as it was paid
    a, b = (made.history[-1].numbers["critic_loss"] for made in (small, large))
    assert a == pytest.approx(b, rel=1e-2)
    assert large.state.returned.seen == 6 * 8


def test_costs_are_normalised_on_request():
    """A critic of normalised costs does not depend on their unit."""

    def in_units(unit: float) -> rl.SemiInfiniteCost:
        plain = limit(-1.0)  # which nothing meets, so that every step is on the cost

        def cost(y: Any, observations: Any, actions: Any) -> Any:
            return unit * plain.cost(y, observations, actions)

        return rl.SemiInfiniteCost(plain.domain, cost, lambda y: unit * plain.bound(y), gamma=plain.gamma)

    def critic(made: rl.SICPPO) -> Any:
        return flat_parameters(made.state.critics["cost"])

    small, large = (agent(Pull(), in_units(u), normalise_costs=True).learn(6 * STEPS) for u in (1.0, 1e4))
    assert float(large.state.spent.deviation) == pytest.approx(1e4 * float(small.state.spent.deviation), rel=1e-2)
    torch.testing.assert_close(critic(small), critic(large), rtol=1e-2, atol=1e-3)
    plain = agent(Pull(), in_units(1e4)).learn(6 * STEPS)
    assert not torch.allclose(critic(plain), critic(large), rtol=0.1, atol=1e-2)


def test_returns_come_with_and_without_discount():
    made = agent(Pull(), gamma=0.5).learn(STEPS)
    report = made.history[0]
    played = made.world.episodes(agent(Pull(), gamma=0.5).world.player(agent().state), 8, 0, True)
    assert report.reward != report.undiscounted
    assert np.isfinite([report.reward, report.undiscounted]).all()
    evaluation = made.evaluate(8, seed=3)
    again = made.world.episodes(made.world.player(made.state), 8, 3, True)
    assert evaluation.reward == pytest.approx(again.returns(0.5).mean())
    assert evaluation.undiscounted == pytest.approx(again.rewards.sum(axis=0).mean())
    assert played.count == 8


def test_learning_rates_may_be_functions_of_what_is_done(tmp_path):
    seen: list[float] = []
    made = agent(learning_rate=lambda share: seen.append(share) or 1e-3).learn(4 * STEPS)
    assert seen == [0, 0.25, 0.5, 0.75]
    falling = agent(learning_rate=rl.Linear(0.01, 0.0), entropy=rl.Linear(0.1, 0.0)).learn(4 * STEPS)
    assert falling.update.entropy == pytest.approx(0.025)
    falling.save(tmp_path / "a.npz")
    again = rl.SICPPO.load(tmp_path / "a.npz", Pull(), limit(), device="cpu")
    assert again.learning_rate == rl.Linear(0.01, 0.0)
    assert_same_run(falling.learn(6 * STEPS), again.learn(6 * STEPS))
    made.save(tmp_path / "b.npz")
    with pytest.raises(lsip.ModelError, match="of your own"):
        rl.SICPPO.load(tmp_path / "b.npz", Pull(), limit())


@pytest.mark.parametrize("wrong", [-1e-3, np.nan, "fast"])
def test_what_a_schedule_says_is_looked_at(wrong):
    """A rate below zero would go uphill on the costs, without a word."""
    made = agent(learning_rate=lambda share: wrong if share else 1e-3)
    with pytest.raises(lsip.ModelError, match=r"`learning_rate\(0\.5\)`"):
        made.learn(2 * STEPS)
    assert made.iteration == 1


def test_a_cost_that_fails_says_what_it_was_given():
    """Numbers of states come as (B,), and not as columns."""
    failing = rl.SemiInfiniteCost(lsip.Interval(0, 1), lambda y, o, a: y * o[:, 0], 1.0)
    with pytest.raises(
        lsip.ModelError, match=r"failed with IndexError.* It was given shapes .*and \(48,\) and \(48,\)"
    ):
        rl.SICPPO(corridors("number"), failing, **FREE).learn(48)


def test_an_entropy_bonus_keeps_the_policy_broad():
    found = [agent(Pull(16, actions=TWO), limit(9), entropy=e, learning_rate=0.02).learn(15 * 80) for e in (0.0, 0.5)]
    narrow, broad = (made.history[-1].numbers["entropy"] for made in found)
    assert broad > narrow + 0.05


def test_a_negative_tolerance_is_a_margin():
    options = {"episodes": 32, "learning_rate": 0.01, "epochs": 5, "minibatch": 80, "log_std": -1.5}
    made = agent(Pull(32), limit(3.5), eta=-1.0, **options).learn(45 * 160)
    last = made.history[-15:]
    assert np.mean([r.reward for r in last]) == pytest.approx(2.5, abs=0.3)
    assert np.mean([r.violation for r in last]) == pytest.approx(-1.0, abs=0.3)


# ---- what is kept ----------------------------------------------------------------------------------------------------


class Lottery(Pull):
    """Every episode costs 3 with probability 0.4, else nothing: the mean violation is 1.2 - 0.9 = 0.3, always."""

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.unlucky = self.np_random.random(self.num_envs) < 0.4
        return self.look(), {}

    def look(self) -> Any:
        seen = super().look()
        seen[:, 0] = getattr(self, "unlucky", 0.0) if self.time == 0 else 0.0
        return seen


def lottery(bound: float = 0.9) -> rl.SemiInfiniteCost:
    return rl.SemiInfiniteCost(lsip.Interval(0, 1), lambda y, o, a: 3 * y[:, :1] * (o[:, 0] == 1), bound)


@pytest.mark.parametrize("copies", [4, 8])
def test_policies_that_look_feasible_by_luck_are_not_kept(copies):
    """Of 60 evaluations by 4 episodes of one seed, 1 in 8 would show no cost at all."""
    made = agent(Lottery(copies), lottery(), episodes=copies, epochs=1, evaluation_episodes=copies)
    made.learn(60 * 5 * copies, evaluate_every=1)
    assert len(made.evaluations) == 60
    assert made.best is None
    assert len({r.violation for r in made.evaluations}) > 1  # seeds are fresh


class Listening(rl.rules.Exchange):
    """The exchange, which writes down what room was asked for at the end y = 1, and what the episodes cost there."""

    asked: ClassVar[list[tuple[float, np.ndarray]]] = []

    def choose(self, found: Any, points: Any, prices: Any, arrived: float) -> Any:
        there = np.ones((1, 1))
        paid = np.zeros(found.violation.episodes.count)
        np.add.at(paid, found.violation.owner, found.violation.costs(there)[0])
        self.asked.append((float(found.room(there)[0]) if found.room else 0.0, paid))
        return super().choose(found, points, prices, arrived)


def test_the_room_that_a_trial_takes_is_asked_for_at_every_point():
    """A trial has 64 episodes, and the first may err with the chance 0.05 / 2."""
    quick: dict[str, Any] = {"episodes": 16, "epochs": 1, "evaluation_episodes": 16, "confirmation": 4}
    Listening.asked.clear()
    agent(Lottery(8), lottery(2.0), rule=Listening(), **quick).learn(160, evaluate_every=1)
    (first, _), (room, paid) = Listening.asked
    assert first == 0  # nothing was evaluated yet
    wanted = stats.t.ppf(0.975, 63) * paid.std(ddof=1) / 8 + (paid.max() - paid.mean()) * np.log(40) / 64
    assert room == pytest.approx(wanted)
    assert room > 0
    Listening.asked.clear()
    agent(Lottery(8), lottery(0.5), rule=Listening(), **quick).learn(160, evaluate_every=1)
    assert Listening.asked[1][0] > 0  # where it has further to go, too


class Weather(Pull):
    """Every episode earns something by luck, far more than by what is done."""

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        seen, info = super().reset(seed=seed)
        self.luck = self.np_random.normal(scale=100.0, size=self.num_envs)
        return seen, info

    def step(self, actions: Any) -> Any:
        seen, rewards, *rest = super().step(actions)
        return seen, rewards + self.luck, *rest


def test_returns_are_compared_in_the_same_episodes():
    """What an earlier policy returned in luckier episodes does not keep a better one out."""
    made = agent(Weather(8), limit(99.0), episodes=8, evaluation_episodes=8)
    last = made.policy.net[-1].bias
    returns = []
    for k in range(12):
        made.state.iteration = k  # which other seeds belong to
        with torch.no_grad():
            last += 0.01
        made.judge()
        assert torch.equal(made.best.parameters, flat_parameters(made.policy))
        returns.append(made.best.reward)
    assert np.diff(returns).min() < 0  # luck it was
    with torch.no_grad():
        last -= 0.01
    made.judge()
    assert not torch.equal(made.best.parameters, flat_parameters(made.policy))


def test_what_is_feasible_without_chance_is_kept_at_once():
    free = rl.SemiInfiniteCost(lsip.Interval(0, 1), lambda y, o, a: 0 * y * force(a), 1.0)
    made = agent(oracle=lsip.oracles.Grid(3), constraint=free)
    made.learn(2 * STEPS, evaluate_every=1)
    assert made.best is not None
    assert made.best.violation == -1.0


@pytest.mark.filterwarnings("error")
def between(y: np.ndarray, observations: np.ndarray, actions: np.ndarray) -> np.ndarray:
    """A cost that is highest at 0.45, which a coarse grid does not look at."""
    return np.repeat(1 - (y[:, :1] - 0.45) ** 2, len(observations), axis=1)


@pytest.mark.parametrize(("oracle", "kept"), [(lsip.oracles.Grid(3), False), (rl.baselines.FixedGrid(3), True)])
def test_what_a_quick_oracle_just_misses_is_not_kept(oracle, kept):
    """Five steps of 1 - 0.05² = 0.9975 at the grid, and of 1 in between; CRPO is what its grid shows."""
    constraint = rl.SemiInfiniteCost(lsip.Interval(0, 1), between, 4.99)
    made = agent(constraint=constraint, oracle=oracle, rule=rl.rules.Lagrangian(), evaluation_episodes=8)
    made.learn(2 * STEPS, evaluate_every=1)
    assert (made.best is not None) == kept
    assert made.evaluations[-1].violation == pytest.approx(-0.0025 if kept else 0.01, abs=1e-4)


def test_a_prediction_says_when_nothing_feasible_was_kept():
    made = agent(oracle=Always(1.0)).learn(STEPS, evaluate_every=1)
    with pytest.warns(rl.NoGoodPolicyWarning, match="No evaluation has found a policy feasible in 1 iterations"):
        made.predict(np.zeros(2))
    with pytest.warns(rl.NoGoodPolicyWarning):
        made.episodes(3, 0)
    fine = agent(oracle=Always(-9.0), constraint=limit(99)).learn(STEPS, evaluate_every=1)
    fine.predict(np.zeros(2))


@pytest.mark.parametrize("count", [1, 8, 11])
def test_fresh_episodes_of_the_policy_that_predicts(count):
    made = agent(oracle=Always(-9.0), constraint=limit(99), learning_rate=0.05).learn(STEPS, evaluate_every=1)
    best = made.predict(np.zeros(2))[0]
    made.learn(6 * STEPS, evaluate_every=99)
    one, other = made.episodes(count, 5), made.episodes(count, 5)
    assert one.count == count
    np.testing.assert_array_equal(one.actions, other.actions)
    np.testing.assert_allclose(made.predict(np.zeros(2))[0], best)
    np.testing.assert_allclose(one.actions[0], made.predict(one.observations[0])[0], rtol=1e-5)
    assert not np.allclose(made.episodes(count, 6).observations, one.observations)


# ---- proofs over Y ---------------------------------------------------------------------------------------------------


def wave() -> Any:
    """The costs of actions peak at a point that depends on them."""
    return {"cost": lambda y, o, a: np.cos(3 * (y[:, :1] - force(a))), "bound": lambda y: 2.0 + 0.1 * y[:, 0]}


def test_lipschitz_constants_give_a_bound_over_all_of_y():
    constraint = rl.SemiInfiniteCost(lsip.Interval(-1, 1), **wave(), lipschitz=(3.0, 0.1))
    made = agent(constraint=constraint)
    assert type(made.oracle).__name__ == "BranchAndBound"
    made.learn(3 * STEPS, evaluate_every=99)
    plain = agent(constraint=rl.SemiInfiniteCost(lsip.Interval(-1, 1), **wave()), oracle=lsip.oracles.Grid(100_001))
    plain.learn(STEPS, evaluate_every=99)
    first = made.history[0]
    assert first.violation <= plain.history[0].violation + 1e-9 <= first.numbers["violation_bound"] + 2e-9
    assert first.numbers["violation_bound"] < plain.history[0].violation + 0.5
    assert "violation_bound" not in plain.history[0].numbers


def test_the_slope_of_a_discounted_sum_is_that_of_all_its_steps():
    """A constant that is exact for one step is exact for the sum, and no bound is below what is attained."""
    cost = {"cost": lambda y, o, a: y[:, :1] * np.ones(len(a)), "bound": lambda y: np.zeros(len(y)), "gamma": 0.5}
    made = agent(constraint=rl.SemiInfiniteCost(lsip.Interval(0, 1), **cost, lipschitz=(1.0, 0.0)))
    made.learn(STEPS, evaluate_every=99)
    (report,) = made.history
    assert report.violation == pytest.approx(sum(0.5**t for t in range(5)), abs=1e-3)
    assert report.numbers["violation_bound"] >= report.violation


# ---- files and logs --------------------------------------------------------------------------------------------------


def test_an_agent_is_loaded_without_its_environment(tmp_path):
    envs = pytest.importorskip("envs")
    ships = gym.make_vec("lsip/ShipRoute-v0", num_envs=4)
    made = rl.SICPPO(ships, envs.ship.constraint(), **{**FREE, "episodes": 4}).learn(1)
    made.save(tmp_path / "a.npz")
    again = rl.SICPPO.load(tmp_path / "a.npz", device="cpu")
    seen = np.random.default_rng(0).normal(size=(5, 6))
    np.testing.assert_array_equal(again.predict(seen)[0], made.predict(seen)[0])
    whole = made.learn(made.total_steps + 1)
    again.learn(again.total_steps + 1)  # with as many copies, so that it is the same run
    assert [report.reward for report in again.history] == [report.reward for report in whole.history]
    agent().learn(STEPS, checkpoint=tmp_path / "b.npz")
    with pytest.raises(lsip.ModelError, match=r"an environment without a name.*load\(path, env\)"):
        rl.SICPPO.load(tmp_path / "b.npz")


@pytest.mark.parametrize("what", ["symmetric", "Doubled", "copies"])
def test_an_environment_that_was_changed_must_be_given(what, tmp_path, monkeypatch):
    envs = pytest.importorskip("envs")

    class Doubled(gym.vector.VectorWrapper):
        def step(self, actions):
            seen, rewards, *others = super().step(actions)
            return seen, 2 * rewards, *others

    ships = gym.make_vec("lsip/ShipRoute-v0", num_envs=4, **({"symmetric": True} if what == "symmetric" else {}))
    made = rl.SICPPO(Doubled(ships) if what == "Doubled" else ships, envs.ship.constraint(), **{**FREE, "episodes": 4})
    if what == "copies":
        told = {"name": "lsip/ShipRoute-v0", "copies": 10**9, "mode": None, "changed": []}
        monkeypatch.setattr("rl.named_env.named", lambda env: told)
    made.save(tmp_path / "a.npz")
    with pytest.raises(lsip.ModelError, match=rf"{what}.*load\(path, env\)"):
        rl.SICPPO.load(tmp_path / "a.npz", device="cpu")


def rows_of(folder: Path) -> list[dict[str, str]]:
    with (folder / "progress.csv").open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def test_evaluations_are_in_the_table_and_on_the_axis_of_steps(tmp_path):
    made = agent(tensorboard=tmp_path).learn(5 * STEPS, evaluate_every=2)
    rows = rows_of(tmp_path)
    assert [bool(row["evaluation_reward"]) for row in rows] == [False, True, False, True, False]
    assert float(rows[3]["evaluation_violation"]) == made.evaluations[1].violation
    assert all(float(row["steps_per_second"]) > 0 for row in rows)
    reader = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    board = reader.EventAccumulator(str(tmp_path)).Reload()
    assert [e.step for e in board.Scalars("kl")] == [STEPS * k for k in range(1, 6)]
    assert [e.step for e in board.Scalars("evaluation_reward")] == [2 * STEPS, 4 * STEPS]


def test_another_run_in_the_same_folder_leaves_the_first_one_alone(tmp_path):
    agent(tensorboard=tmp_path, seed=1).learn(3 * STEPS)
    before, events = (tmp_path / "progress.csv").read_text(), sorted(tmp_path.glob("events*"))
    agent(tensorboard=tmp_path, seed=2).learn(2 * STEPS)
    assert (tmp_path / "progress.csv").read_text().startswith(before)
    assert [row["run"] for row in rows_of(tmp_path)] == ["1", "1", "1", "2", "2"]
    assert sorted(tmp_path.glob("events*")) == events


# ---- failures --------------------------------------------------------------------------------------------------------


class Fails:
    """An oracle that fails in its n-th call."""

    def __init__(self, at: int) -> None:
        self.left = at

    def maximise(self, violation: Any, *, target: float = 0.0, seed: int = 0) -> Any:
        self.left -= 1
        if self.left == 0:
            raise ZeroDivisionError("division by zero")
        return lsip.oracles.Grid(11).maximise(violation, target=target, seed=seed)


@pytest.mark.parametrize("kind", ["environment", "table"])
def test_an_oracle_that_fails_ends_in_a_sentence_and_leaves_the_run_as_it_was(kind, tmp_path):
    path = tmp_path / "a.npz"
    if kind == "environment":
        made, whole = agent(oracle=Fails(4)), agent(oracle=lsip.oracles.Grid(11))
        go: Any = lambda each, **more: each.learn(6 * STEPS, evaluate_every=99, **more)  # noqa: E731
    else:
        from tests.test_si_cpo import agent as table
        from tests.test_si_cpo import assert_same_run as same

        made, whole = table(oracle=Fails(4)), table(oracle=lsip.oracles.Grid(11))
        go = lambda each, **more: each.learn(6 - each.iteration, **more)  # noqa: E731
    with pytest.raises(rl.OracleError, match="The oracle Fails failed with ZeroDivisionError: division by zero"):
        go(made, checkpoint=path)
    assert made.iteration == 3
    if kind == "environment":
        again: Any = rl.SICPPO.load(path, Pull(), limit(), oracle=lsip.oracles.Grid(11), device="cpu")
        assert_same_run(go(again), go(whole))
    else:
        from tests.test_updates import toy

        again = rl.SICPO.load(path, toy(), oracle=lsip.oracles.Grid(11))
        same(go(again), go(whole))


def test_a_run_that_fails_at_once_leaves_an_older_file_alone(tmp_path):
    path = tmp_path / "a.npz"
    agent(seed=1).learn(3 * STEPS, checkpoint=path)
    before = path.read_bytes()
    with pytest.raises(rl.OracleError):
        agent(oracle=Fails(1)).learn(3 * STEPS, checkpoint=path)
    assert path.read_bytes() == before


def test_a_fallback_is_asked_where_it_was_given():
    made = agent(oracle=Fails(2), fallback=lsip.oracles.Grid(11))
    with pytest.warns(rl.OracleWarning, match="The fallback Grid"):
        made.learn(4 * STEPS, evaluate_every=99)
    assert made.iteration == 4


def test_a_step_that_is_no_number_says_so():
    with pytest.raises(lsip.ModelError, match="lower the learning rate"):
        agent(update=rl.PolicyGradient(), learning_rate=1e300).learn(20 * STEPS)
