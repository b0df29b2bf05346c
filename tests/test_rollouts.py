"""Whole episodes: against episodes played by hand, under every autoreset mode; and the violation that they show."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv

import lsip
import rl
from lsip.deadline import EffortTuning
from rl.episode_violation import EpisodeViolation
from rl.rollouts import Episodes, as_vector, collect


class Walk(gym.Env):
    """2 to 6 steps by the seed; walks of even length end, others are cut off. Seen are length, time and place."""

    observation_space = gym.spaces.Box(-100, 100, (3,), np.float64)

    def __init__(self, discrete: bool = True, size: int = 1) -> None:
        self.action_space = gym.spaces.Discrete(3) if discrete else gym.spaces.Box(-10, 10, (size,), np.float64)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        self.length, self.time, self.place = int(self.np_random.integers(2, 7)), 0, self.np_random.uniform()
        return self.look(), {}

    def look(self) -> np.ndarray:
        return np.array([self.length, self.time, self.place])

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        self.time += 1
        self.place += float(np.sum(action)) + 0.1
        over, even = self.time == self.length, self.length % 2 == 0
        return self.look(), self.place * self.time, over and even, over and not even, {}


class Endless(Walk):
    """It never arrives."""

    def step(self, action: Any) -> Any:
        seen, reward, *_ = super().step(action)
        return seen, reward, False, False, {}


def picks(observations: np.ndarray) -> np.ndarray:
    """A discrete action of the observation."""
    return (observations[:, 0] + observations[:, 1]).astype(int) % 3


def steers(size: int) -> Any:
    """The same for `size` real numbers."""

    def act(observations: np.ndarray) -> np.ndarray:
        return np.sin(observations[:, :1] + np.arange(size) + observations[:, 1:2])

    return act


def vector(
    n: int = 4, mode: AutoresetMode = AutoresetMode.NEXT_STEP, copy: bool = True, kind: type[Walk] = Walk, **o: Any
) -> SyncVectorEnv:
    return SyncVectorEnv([lambda: kind(**o)] * n, copy=copy, autoreset_mode=mode)


def by_hand(env: gym.Env, act: Any, seed: int) -> dict[str, Any]:
    """One episode, step by step."""
    seen, _ = env.reset(seed=seed)
    played: dict[str, Any] = {"observations": [], "actions": [], "rewards": []}
    over = False
    while not over:
        action = act(seen[None])
        played["observations"].append(seen)
        played["actions"].append(action[0])
        seen, reward, ended, cut, _ = env.step(action[0])
        played["rewards"].append(reward)
        over = ended or cut
    return {**{name: np.array(part) for name, part in played.items()}, "terminated": ended, "last": seen}


def assert_by_hand(episodes: Episodes, env: gym.Env, act: Any, seed: int) -> None:
    """Episode i is the one that a lone copy plays from seed + i."""
    for i in range(episodes.count):
        expected = by_hand(env, act, seed + i)
        steps = len(expected["rewards"])
        np.testing.assert_array_equal(episodes.live[:, i], np.arange(len(episodes.live)) < steps)
        for name in ("observations", "actions", "rewards"):
            np.testing.assert_array_equal(getattr(episodes, name)[:steps, i], expected[name], err_msg=f"{name} of {i}")
        assert episodes.terminated[i] == expected["terminated"]
        np.testing.assert_array_equal(episodes.last[i], expected["last"])


def assert_same_episodes(one: Episodes, other: Episodes) -> None:
    np.testing.assert_array_equal(one.live, other.live)
    for name in ("observations", "actions", "rewards"):
        np.testing.assert_array_equal(one.flat(getattr(one, name)), other.flat(getattr(other, name)))
    np.testing.assert_array_equal(one.terminated, other.terminated)
    np.testing.assert_array_equal(one.last, other.last)


# ---- collecting ------------------------------------------------------------------------------------------------------

MODES = [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("seed", [0, 11])
def test_episodes_are_those_played_by_hand(mode, seed):
    episodes = collect(vector(8, mode), picks, 8, seed)
    assert_by_hand(episodes, Walk(), picks, seed)
    assert episodes.terminated.any()
    assert not episodes.terminated.all()  # of both kinds


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("size", [1, 3])
def test_real_actions_are_taken_as_they_are(mode, size):
    episodes = collect(vector(5, mode, discrete=False, size=size), steers(size), 5, 2)
    assert episodes.actions.shape == (*episodes.live.shape, size)
    assert_by_hand(episodes, Walk(False, size), steers(size), 2)


def test_shapes_and_counts():
    episodes = collect(vector(6), picks, 6, 0)
    T = len(episodes.live)
    assert episodes.observations.shape == (T, 6, 3)
    for name in ("actions", "rewards", "live"):
        assert getattr(episodes, name).shape == (T, 6)
    assert episodes.live.dtype == episodes.terminated.dtype == bool
    assert episodes.rewards.dtype == float
    assert episodes.count == 6
    assert episodes.live.sum(axis=0).max() == T  # no longer than the longest
    assert episodes.live[0].all()
    assert episodes.steps == sum(len(by_hand(Walk(), picks, i)["rewards"]) for i in range(6))
    flat = episodes.flat(episodes.observations)
    assert flat.shape == (episodes.steps, 3)
    np.testing.assert_array_equal(flat[:6], episodes.observations[0])  # time first


def test_returns_leave_out_the_padding():
    episodes = collect(vector(6), picks, 6, 3)
    assert not episodes.live.all()
    hands = [by_hand(Walk(), picks, 3 + i)["rewards"] for i in range(6)]
    np.testing.assert_allclose(episodes.returns(), [r.sum() for r in hands])
    np.testing.assert_allclose(episodes.returns(0.5), [(0.5 ** np.arange(len(r)) * r).sum() for r in hands])
    np.testing.assert_allclose(episodes.returns(0.0), [r[0] for r in hands])


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("n", "asked", "given"), [(3, 9, 9), (3, 7, 9), (4, 5, 8), (4, 1, 4), (1, 6, 6)])
def test_several_rounds_stand_side_by_side(n, asked, given, mode):
    episodes = collect(vector(n, mode), picks, asked, 5)
    assert episodes.count == given
    assert_by_hand(episodes, Walk(), picks, 5)  # every episode has a seed of its own


def test_the_same_seed_gives_the_same_episodes():
    env = vector(4)
    one = collect(env, picks, 8, 1)
    collect(env, picks, 4, 99)  # nothing is carried over
    assert_same_episodes(one, collect(env, picks, 8, 1))
    assert_same_episodes(one, collect(vector(4), picks, 8, 1))
    other = collect(env, picks, 8, 2)
    assert not np.array_equal(one.last, other.last)


@pytest.mark.parametrize("mode", MODES)
def test_environments_that_reuse_their_arrays(mode):
    assert_by_hand(collect(vector(5, mode, copy=False), picks, 10, 0), Walk(), picks, 0)


def test_copies_in_other_processes():
    env = AsyncVectorEnv([Walk] * 2, context="spawn")
    try:
        assert_by_hand(collect(env, picks, 4, 0), Walk(), picks, 0)
    finally:
        env.close()


def test_an_environment_without_autoreset_is_played_or_refused():
    try:
        episodes = collect(vector(5, AutoresetMode.DISABLED), picks, 5, 0)
    except lsip.ModelError:
        return
    assert_by_hand(episodes, Walk(), picks, 0)


def test_time_limits_cut_episodes_off():
    env = SyncVectorEnv([lambda: gym.wrappers.TimeLimit(Endless(), 4)] * 3)
    episodes = collect(env, picks, 3, 0)
    assert episodes.live.all()
    assert episodes.live.shape == (4, 3)
    assert not episodes.terminated.any()
    np.testing.assert_array_equal(episodes.last[:, 1], 4)


class Both(Walk):
    """Every end is also a cut."""

    def step(self, action: Any) -> Any:
        seen, reward, ended, cut, _ = super().step(action)
        return seen, reward, ended or cut, ended or cut, {}


def test_an_episode_that_ends_as_it_is_cut_off_has_ended():
    assert collect(vector(4, kind=Both), picks, 4, 0).terminated.all()


def test_an_episode_that_never_ends_is_noticed():
    with pytest.raises(lsip.ModelError, match="did not end within 50 steps; give the environment a time limit"):
        collect(vector(2, kind=Endless), picks, 2, 0, most_steps=50)
    assert collect(vector(6), picks, 6, 0, most_steps=6).count == 6  # the limit itself is allowed


def test_a_single_environment_is_a_vector_of_one():
    env = as_vector(Walk())
    assert env.num_envs == 1
    assert_by_hand(collect(env, picks, 3, 7), Walk(), picks, 7)
    many = vector(2)
    assert as_vector(many) is many


@pytest.mark.parametrize("env", [None, "CartPole-v1", Walk, object()])
def test_what_is_no_environment_is_refused(env):
    with pytest.raises(lsip.ModelError, match="`env` must be a Gymnasium environment"):
        as_vector(env)


def test_the_vector_of_ships_plays_as_single_ones():
    envs = pytest.importorskip("envs")
    headings = np.linspace(0.5, 1.1, 5)

    def act(observations: np.ndarray) -> np.ndarray:
        return headings[: len(observations), None].astype(np.float32)

    episodes = collect(gym.make_vec("lsip/ShipRoute-v0", num_envs=5), act, 5, 0)
    for i, heading in enumerate(headings):
        positions, total = envs.ship.route(np.full(100, heading))
        assert episodes.live[:, i].sum() == len(positions) - 1
        assert episodes.returns()[i] == pytest.approx(total, abs=1e-4)
        np.testing.assert_allclose(episodes.observations[: len(positions) - 1, i, :2], positions[:-1], atol=1e-5)
        np.testing.assert_allclose(episodes.last[i, :2], positions[-1], atol=1e-5)
        assert episodes.terminated[i] == (len(positions) - 1 < 100)


# ---- the violation ---------------------------------------------------------------------------------------------------


def cost(y: np.ndarray, observations: np.ndarray, actions: np.ndarray) -> np.ndarray:
    """A cost of point, place and action."""
    return y[:, :1] * observations[:, 2] + y[:, :1] ** 2 * (1.0 + actions)


def bound(y: np.ndarray) -> np.ndarray:
    return 1 + 3 * y[:, 0]


def continuum(**options: Any) -> rl.SemiInfiniteCost:
    return rl.SemiInfiniteCost(lsip.Interval(0, 1), cost, bound, **options)


POINTS = np.array([[0.0], [0.25], [0.6], [1.0]])


@pytest.mark.parametrize("gamma", [1.0, 0.9, 0.0])
@pytest.mark.parametrize("n", [6, 2])  # at once, and in three rounds
def test_the_violation_is_the_mean_discounted_cost_minus_the_bound(gamma, n, monkeypatch):
    violation = EpisodeViolation(continuum(gamma=gamma), collect(vector(n), picks, 6, 3))
    totals = np.zeros(len(POINTS))
    for i in range(6):
        played = by_hand(Walk(), picks, 3 + i)
        for t, (o, a) in enumerate(zip(played["observations"], played["actions"], strict=True)):
            totals += gamma**t * cost(POINTS, o[None], a[None])[:, 0] / 6
    expected = totals - bound(POINTS)
    values = violation.values(POINTS)
    assert values.shape == (4, 1)
    np.testing.assert_allclose(values[:, 0], expected)
    np.testing.assert_allclose(violation.at(POINTS, 0), expected)
    monkeypatch.setattr("rl.episode_violation.EFFORT", EffortTuning(entries=1))  # a point at a time
    np.testing.assert_allclose(violation.values(POINTS)[:, 0], expected)


def test_a_violation_at_no_points():
    violation = EpisodeViolation(continuum(), collect(vector(2), picks, 2, 0))
    assert violation.values(np.zeros((0, 1))).shape == (0, 1)


class Failing:
    """An oracle that raises, or answers with what cannot be used."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def maximise(self, violation: Any, *, target: float = 0.0, seed: int = 0) -> Any:
        if isinstance(self.answer, BaseException):
            raise self.answer
        values = np.array(self.answer, dtype=float)
        return lsip.oracles.Separation(np.full((len(values), 1), 0.5), values, np.inf)


def peaked(at: float, width: float = 1e-6, **options: Any) -> rl.SemiInfiniteCost:
    """A cost that only a tiny neighbourhood of one point shows."""

    def spike(y: np.ndarray, observations: np.ndarray, actions: np.ndarray) -> np.ndarray:
        return np.repeat((np.abs(y[:, :1] - at) < width) * 1.0, len(observations), axis=1)

    return rl.SemiInfiniteCost(lsip.Interval(0, 1), spike, 0.5, **options)


@pytest.mark.parametrize(
    "answer",
    [
        ValueError("no"),
        np.linalg.LinAlgError("singular"),
        FloatingPointError("overflow"),
        ZeroDivisionError("zero"),
        lsip.ModelError("no"),
        [],
        [np.nan],
        [np.inf],
        [1.0, np.nan],
    ],
    ids=str,
)
def test_an_oracle_that_fails_is_reported_and_a_fallback_asked_only_if_it_is_given(answer):
    episodes = collect(vector(4), picks, 4, 0)
    violation, spare = EpisodeViolation(continuum(), episodes), lsip.oracles.RandomSearch(points=100)
    with pytest.raises(lsip.LSIPError, match=r"oracle Failing (failed with|found)|Separation that Failing gave|^no$"):
        violation.worst_points(Failing(answer), 0.0, np.random.default_rng(0))
    with pytest.warns(rl.OracleWarning, match=r"The fallback RandomSearch.* was asked instead"):
        found = violation.worst_points(Failing(answer), 0.0, np.random.default_rng(0), spare)
    expected = violation.worst_points(spare, 0.0, np.random.default_rng(0))
    assert (found.value, found.y) == (expected.value, expected.y)
    assert found.bound == np.inf


def test_an_interrupt_of_an_oracle_is_no_failure():
    violation = EpisodeViolation(continuum(), collect(vector(2), picks, 2, 0))
    with pytest.raises(KeyboardInterrupt):
        violation.worst_points(Failing(KeyboardInterrupt()), 0.0, np.random.default_rng(0), lsip.oracles.Grid(3))


def slips(*given: Any) -> Any:
    raise AttributeError("a slip")


@pytest.mark.parametrize("part", ["cost", "bound", "candidates"])
def test_a_constraint_that_fails_ends_in_a_sentence(part):
    parts: dict[str, Any] = {"cost": cost, "bound": lambda y: np.ones(len(y)), "candidates": None}
    parts[part] = {"cost": lambda y, o, a: slips(), "bound": lambda y: slips(), "candidates": lambda o: slips()}[part]
    constraint = rl.SemiInfiniteCost(lsip.Interval(0, 1), **parts)
    violation = EpisodeViolation(constraint, collect(vector(2), picks, 2, 0))
    with pytest.raises(lsip.ModelError, match=rf"`{part}\(.*\)` failed with AttributeError: a slip"):
        violation.worst_points(lsip.oracles.Multistart(), 0.0, np.random.default_rng(0))


class Broken(Walk):
    """It fails where it is told to."""

    def __init__(self, at: str) -> None:
        super().__init__()
        self.at = at

    def reset(self, **options: Any) -> Any:
        return slips() if self.at == "reset" else super().reset(**options)

    def step(self, action: Any) -> Any:
        return slips() if self.at == "step" else super().step(action)


@pytest.mark.parametrize("at", ["reset", "step"])
def test_an_environment_that_fails_ends_in_a_sentence(at):
    with pytest.raises(lsip.ModelError, match=rf"`{at}` of the environment failed with AttributeError: a slip"):
        collect(vector(2, kind=Broken, at=at), picks, 2, 0)


def test_all_steps_are_counted():
    """Copies whose episode has ended go on until the last one has."""
    episodes = collect(vector(6), picks, 12, 3)
    first, second = episodes.live[:, :6], episodes.live[:, 6:]
    assert episodes.env_steps == 6 * int(first.sum(axis=0).max()) + 6 * int(second.sum(axis=0).max())
    assert episodes.env_steps > episodes.steps


def test_a_cost_of_the_wrong_shape_is_named():
    wrong = rl.SemiInfiniteCost(lsip.Interval(0, 1), lambda y, observations, actions: np.zeros(len(y)), 1.0)
    violation = EpisodeViolation(wrong, collect(vector(2), picks, 2, 0))
    with pytest.raises(lsip.ModelError, match="one number a point and step"):
        violation.worst_points(lsip.oracles.Multistart(), 0.0, np.random.default_rng(0))


def test_a_cost_that_is_not_a_number_is_an_error():
    nan = rl.SemiInfiniteCost(
        lsip.Interval(0, 1), lambda y, observations, actions: np.full((len(y), len(observations)), np.nan), 1.0
    )
    with pytest.raises(lsip.ModelError, match="not finite"):
        EpisodeViolation(nan, collect(vector(2), picks, 2, 0)).worst_points(
            lsip.oracles.Multistart(), 0.0, np.random.default_rng(0)
        )


@pytest.mark.parametrize("oracle", [lsip.oracles.Multistart(), lsip.oracles.Grid(101), lsip.oracles.RandomSearch(500)])
def test_oracles_of_lsip_maximise_it(oracle):
    violation = EpisodeViolation(continuum(), collect(vector(6), picks, 6, 3))
    worst = violation.worst_points(oracle, 0.0, np.random.default_rng(0))
    best = violation.values(np.linspace(0, 1, 1001)[:, None]).max()
    assert worst.value == pytest.approx(best, abs=1e-2 * max(abs(best), 1))
    assert worst.value == pytest.approx(violation.values(worst.y[None])[0, 0], rel=1e-12)


def test_candidates_are_looked_at():
    seen = []

    def candidates(observations: np.ndarray) -> np.ndarray:
        seen.append(observations)
        return np.array([[0.1], [0.123456789], [0.9]])

    episodes = collect(vector(3), picks, 3, 0)
    worst = EpisodeViolation(peaked(0.123456789, candidates=candidates), episodes).worst_points(
        lsip.oracles.Grid(11), 0.0, np.random.default_rng(0)
    )
    assert worst.y == [0.123456789]
    assert worst.value == pytest.approx(episodes.steps / 3 - 0.5)
    np.testing.assert_array_equal(seen[0], episodes.flat(episodes.observations))
    without = EpisodeViolation(peaked(0.123456789), episodes).worst_points(
        lsip.oracles.Grid(11), 0.0, np.random.default_rng(0)
    )
    assert without.value == -0.5


def test_what_an_oracle_finds_wins_over_worse_candidates():
    episodes = collect(vector(3), picks, 3, 0)
    constraint = peaked(0.5, candidates=lambda observations: np.array([[0.2], [0.7]]))
    worst = EpisodeViolation(constraint, episodes).worst_points(lsip.oracles.Grid(3), 0.0, np.random.default_rng(0))
    assert worst.y == [0.5]


def test_candidates_outside_the_domain_are_projected():
    episodes = collect(vector(3), picks, 3, 0)
    constraint = peaked(1.0, candidates=lambda observations: np.array([[7.0]]))
    worst = EpisodeViolation(constraint, episodes).worst_points(Failing([-9.0]), 0.0, np.random.default_rng(0))
    assert worst.y == [1.0]


@pytest.mark.parametrize("first", [True, False])
def test_all_of_many_candidates_are_looked_at(first):
    many = np.linspace(0.2, 0.9, 2 * 256)[:, None]
    special = 0.123456789
    named = np.concatenate([[[special]], many] if first else [many, [[special]]])
    episodes = collect(vector(3), picks, 3, 0)
    violation = EpisodeViolation(peaked(special, candidates=lambda observations: named), episodes)
    for seed in range(5):
        assert violation.worst_points(lsip.oracles.Grid(11), 0.0, np.random.default_rng(seed)).y == [special]


def test_there_may_be_no_candidates():
    episodes = collect(vector(3), picks, 3, 0)
    constraint = continuum(candidates=lambda observations: np.zeros((0, 1)))
    worst = EpisodeViolation(constraint, episodes).worst_points(lsip.oracles.Grid(11), 0.0, np.random.default_rng(0))
    expected = EpisodeViolation(continuum(), episodes).worst_points(
        lsip.oracles.Grid(11), 0.0, np.random.default_rng(0)
    )
    assert (worst.value, worst.y) == (expected.value, expected.y)


def test_finitely_many_costs():
    episodes = collect(vector(4), picks, 4, 0)
    constraint = rl.SemiInfiniteCost.finite(
        [lambda o, a: np.ones(len(o)), lambda o, a: 1.0 * a, lambda o, a: o[:, 2]], [1.0, 2.0, 30.0]
    )
    violation = EpisodeViolation(constraint, episodes)
    hands = [by_hand(Walk(), picks, i) for i in range(4)]
    expected = [
        np.mean([len(h["rewards"]) for h in hands]) - 1,
        np.mean([h["actions"].sum() for h in hands]) - 2,
        np.mean([h["observations"][:, 2].sum() for h in hands]) - 30,
    ]
    np.testing.assert_allclose(violation.values(constraint.domain.points)[:, 0], expected)
    worst = violation.worst_points(lsip.oracles.Multistart(), 0.0, np.random.default_rng(0))
    assert worst.value == pytest.approx(max(expected))
    assert worst.y == [np.argmax(expected)]
