"""What a step is for: the switch on one point and on a set, the exchange, one multiplier; and what these learn."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import lsip
import rl

torch = pytest.importorskip("torch")

from rl.rules import Exchange, Lagrangian, Switch  # noqa: E402
from rl.separation import RankedPoints, separate  # noqa: E402
from tests.test_si_cppo import Pull, agent, force  # noqa: E402
from tests.test_updates import toy  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::rl.NoGoodPolicyWarning")
NONE = np.zeros((0, 1)), np.zeros(0)


class Hill:
    """g(y) = height - |y - 0.5| over [0, 1]."""

    components = 1

    def __init__(self, height: float) -> None:
        self.height, self.domain = height, lsip.Interval(0, 1)

    def values(self, y: Any) -> Any:
        return self.height - np.abs(y - 0.5)

    def derivatives(self, y: Any, component: Any) -> None:
        return None


def found(height: float, *points: float) -> RankedPoints:
    y = np.array(points)[:, None]
    values = Hill(height).values(y)[:, 0]
    order = np.argsort(-values, kind="stable")
    return RankedPoints(Hill(height), y[order], values[order])


# ---- the switch ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("switch", ["worst", "set"])
@pytest.mark.parametrize(("height", "eta"), [(0.1, 0.1), (-0.2, -0.2), (-0.5, 0.0)])
def test_within_the_tolerance_the_step_is_on_the_reward(switch, height, eta):
    choice = Switch(eta, switch).choose(found(height, 0.5, 0.2), np.array([[0.4]]), np.ones(1), 1.0)
    assert choice.good
    assert (choice.objective.reward, choice.objective.prices.sum()) == (1.0, 0.0)
    assert len(choice.points) == 0


def test_beyond_it_the_step_is_on_the_worst_point():
    choice = Switch(0.1).choose(found(0.2, 0.45, 0.5), *NONE, 1.0)
    assert not choice.good
    assert choice.objective.reward == 0
    np.testing.assert_array_equal(choice.objective.points, [[0.5]])
    np.testing.assert_array_equal(choice.objective.prices, [1.0])


def test_or_on_all_points_that_are_known_to_be_violated_in_proportion():
    known = np.array([[0.4], [0.9]])  # the second one is fine by now
    choice = Switch(0.05, "set").choose(found(0.2, 0.5, 0.35), known, np.ones(2), 1.0)
    np.testing.assert_allclose(choice.objective.points, [[0.4], [0.5]])
    np.testing.assert_allclose(choice.objective.prices, np.array([0.1, 0.2]) / 0.3)
    np.testing.assert_array_equal(choice.points, choice.objective.points)


def test_a_margin_weighs_points_by_how_much_they_lack():
    choice = Switch(-0.3, "set").choose(found(-0.1, 0.5, 0.4), *NONE, 1.0)
    np.testing.assert_allclose(choice.objective.prices, np.array([0.2, 0.1]) / 0.3)
    assert (choice.objective.prices > 0).all()


def test_points_that_are_near_count_as_one():
    choice = Switch(0.0, "set", merge=0.05).choose(found(0.3, 0.5, 0.52, 0.6), np.array([[0.49]]), np.ones(1), 1.0)
    np.testing.assert_allclose(choice.points, [[0.49], [0.6]])


# ---- the exchange ----------------------------------------------------------------------------------------------------


def test_violated_points_join_and_their_multipliers_follow_the_violation():
    first = Exchange(0.05, 0.5).choose(found(0.2, 0.5, 0.35, 0.9), *NONE, 1.0)
    np.testing.assert_allclose(first.points, [[0.5]])  # at 0.35 and 0.9 it is at most eta
    np.testing.assert_allclose(first.prices, [0.1])
    assert not first.good
    np.testing.assert_allclose(first.objective.reward, 1 / 1.1)
    np.testing.assert_allclose(first.objective.prices, [0.1 / 1.1])
    second = Exchange(0.05, 0.5).choose(found(0.4, 0.7, 0.5), first.points, first.prices, 1.0)
    np.testing.assert_allclose(second.points, [[0.5], [0.7]])
    np.testing.assert_allclose(second.prices, [0.1 + 0.5 * 0.4, 0.5 * 0.2])


def test_points_with_a_multiplier_of_zero_leave():
    known, prices = np.array([[0.5], [0.1]]), np.array([0.3, 0.1])
    choice = Exchange(0.05, 1.0).choose(found(-0.1, 0.5), known, prices, 1.0)
    np.testing.assert_allclose(choice.points, [[0.5]])
    np.testing.assert_allclose(choice.prices, [0.2])
    assert choice.good
    alone = Exchange(0.05, 1.0).choose(found(-0.1, 0.5), *NONE, 1.0)
    assert len(alone.points) == 0
    assert alone.objective.reward == 1.0


def test_a_gain_prices_the_violations_of_now_and_multipliers_do_not_remember_it():
    rule, known, before = Exchange(0.0, 0.5, gain=3.0), np.array([[0.5], [0.1]]), np.array([0.3, 0.8])
    choice = rule.choose(found(0.2, 0.5), known, before, 1.0)  # violations 0.2 and -0.2
    np.testing.assert_allclose(choice.prices, [0.4, 0.7])
    prices = np.array([0.4 + 3 * 0.2, 0.7 - 3 * 0.2])
    np.testing.assert_allclose(choice.objective.prices, prices / (1 + prices.sum()))
    np.testing.assert_allclose(choice.objective.reward, 1 / (1 + prices.sum()))
    slack = rule.choose(found(-0.2, 0.5), known, before, 1.0)  # a price is never negative, and its point stays
    np.testing.assert_allclose(slack.prices, [0.2, 0.5])
    assert (slack.objective.reward, slack.objective.prices.sum()) == (1.0, 0.0)


def swing(rule: Exchange) -> float:
    """The largest violation, late, where the reward rises by as much as the cost that the policy causes."""
    points, prices = NONE
    height, late = 0.2, 0.0
    for k in range(600):
        choice = rule.choose(found(height, 0.5), points, prices, 1.0)
        points, prices = choice.points, choice.prices
        height += 0.05 * (choice.objective.reward - choice.objective.prices.sum())
        late = max(late, height if k >= 400 else 0.0)
    return late


def test_a_gain_damps_the_swings_of_multipliers():
    assert swing(Exchange(0.0, 0.3)) > 0.1
    assert swing(Exchange(0.0, 0.3, gain=3.0)) < 0.001


def recovery(rule: Exchange) -> int:
    """Rounds until a point is free again that was violated by 5 for ten rounds, then kept by 0.3."""
    points, prices = NONE
    for _ in range(10):
        points, prices = (choice := rule.choose(found(5.0, 0.5), points, prices, 1.0)).points, choice.prices
    for k in range(1_000):
        if not len(points):
            return k
        points, prices = (choice := rule.choose(found(-0.3, 0.5), points, prices, 1.0)).points, choice.prices
    return 1_000


def test_what_a_beginner_violates_is_no_debt():
    assert recovery(Exchange(0.0, 0.01)) > 150
    assert recovery(Exchange(0.0, 0.01, saturation=0.5)) < 20
    choice = Exchange(0.0, 1.0, gain=2.0, saturation=0.5).choose(found(5.0, 0.5), *NONE, 1.0)
    np.testing.assert_allclose(choice.prices, [0.5])
    np.testing.assert_allclose(choice.objective.prices, [1.5 / 2.5])


def test_the_exchange_asks_for_the_room_that_a_trial_takes():
    """Kept with 0.1 to spare, where 0.3 are needed: as if it were violated by 0.2."""
    near, far = found(-0.1, 0.5), found(0.2, 0.5)
    choice = Exchange(0.0, rate=0.5).choose(replace(near, room=lambda points: np.full(len(points), 0.3)), *NONE, 1.0)
    wanted = Exchange(0.0, rate=0.5).choose(far, *NONE, 1.0)
    np.testing.assert_allclose(choice.prices, wanted.prices)
    assert (choice.good, wanted.good) == (True, False)  # what is good is as it was seen
    assert not len(Exchange(0.0, rate=0.5).choose(near, *NONE, 1.0).points)


def test_one_multiplier_prices_the_worst_point():
    first = Lagrangian(0.0, 0.5, 1.0).choose(found(0.2, 0.5), *NONE, 1.0)
    np.testing.assert_allclose(first.prices, [1.1])
    second = Lagrangian(0.0, 10.0).choose(found(-0.2, 0.5), first.points, first.prices, 1.0)
    assert second.prices == [0.0]


@pytest.mark.parametrize("rule", [Exchange(-0.3, 0.5), Lagrangian(-0.3, 0.5)], ids=["exchange", "lagrangian"])
def test_multipliers_ask_for_a_margin(rule):
    short = rule.choose(found(-0.1, 0.5), *NONE, 1.0)  # it keeps the constraint, but not the margin
    np.testing.assert_allclose(short.prices, [0.5 * 0.2])
    assert not short.good
    kept = rule.choose(found(-0.4, 0.5), short.points, short.prices, 1.0)
    np.testing.assert_allclose(kept.prices, [0.5 * 0.1])
    assert kept.good


@pytest.mark.parametrize("kind", [Switch, Exchange, Lagrangian])
def test_numbers_are_checked(kind):
    with pytest.raises(lsip.ModelError, match="`eta`"):
        kind(np.nan)
    if kind is not Lagrangian:
        with pytest.raises(lsip.ModelError, match="`merge`"):
            kind(merge=-1)
    if kind is not Switch:
        with pytest.raises(lsip.ModelError, match="rate"):
            kind(rate=0)
    if kind is Exchange:
        with pytest.raises(lsip.ModelError, match="`gain`"):
            kind(gain=-1)


# ---- what they are told ----------------------------------------------------------------------------------------------


class Boxes(Hill):
    """g over some set, and an oracle that finds many points of each hill, as branch-and-bound does."""

    costly = True

    def __init__(self, g: Any, domain: lsip.Domain, points: Any) -> None:
        self.g, self.domain = g, domain
        self.points = np.asarray(points, dtype=float).reshape(-1, domain.dim)

    def values(self, y: Any) -> Any:
        return self.g(np.asarray(y))[:, None]

    def maximise(self, violation: Any, *, target: float = 0.0, seed: int = 0) -> lsip.oracles.Separation:
        values, none = self.values(self.points)[:, 0], np.zeros(len(self.points), dtype=np.intp)
        return lsip.oracles.Separation(self.points, values, np.inf, none)


LINE, SQUARE = lsip.Interval(0, 1), lsip.Box([0, 0], [1, 1])
HILLS: dict[str, tuple[Any, lsip.Domain, Any, list[list[float]]]] = {
    "one": (lambda y: -np.abs(y[:, 0] - 0.3), LINE, LINE.grid(41), [[0.3]]),
    "three": (lambda y: np.cos(4 * np.pi * y[:, 0]) - y[:, 0] / 9, LINE, LINE.grid(41), [[0.0], [0.5], [1.0]]),
    "one point": (lambda y: y[:, 0], LINE, [0.5], [[0.5]]),
    "a plateau": (lambda y: 0 * y[:, 0], LINE, LINE.grid(9), [[0.0]]),
    "rounding": (
        lambda y: 1 + np.floor(1e3 * y[:, 0]) % 2 * 2**-52,
        LINE,
        [0.1015, *np.linspace(0, 1, 41)],
        [[0.1015]],
    ),
    "a ridge": (lambda y: y[:, 0] - 9 * np.abs(y[:, 0] - y[:, 1]), SQUARE, SQUARE.grid(9), [[1.0, 1.0]]),
    "two ridges": (lambda y: np.sin(9 * y[:, 0]) + y[:, 1], SQUARE, SQUARE.grid(9), [[0.875, 1.0], [0.125, 1.0]]),
    "intervals": (
        lambda y: y[:, 0],
        lsip.Union(lsip.Interval(0, 0.2), lsip.Interval(0.7, 1)),
        [0.1, 0.2, 0.7, 1.0],
        [[1.0], [0.2]],
    ),
    "no line": (lambda y: y[:, 0], lsip.Finite([0.0, 0.5, 0.51]), [0.0, 0.5, 0.51], [[0.51], [0.5], [0.0]]),
}


@pytest.mark.parametrize("name", HILLS)
def test_of_a_hill_a_rule_is_told_its_top(name):
    g, domain, points, tops = HILLS[name]
    violation: Any = Boxes(g, domain, points)
    told = separate(violation, violation, 0.0, 0)
    np.testing.assert_allclose(told.points, tops)
    np.testing.assert_array_equal(told.values, violation.values(told.points)[:, 0])


# ---- what they learn -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("update", [rl.NPG(samples=200, horizon=8), rl.TRPO(100, 8), rl.PPO(100, 8)], ids=str)
@pytest.mark.parametrize("method", ["set", "epo"])
def test_the_toy_is_learned(method, update):
    mdp = toy()
    rate = {"NPG": 0.3, "TRPO": 0.5, "PPO": 1.0}[type(update).__name__]
    options: dict[str, Any] = {"update": update, "evaluation": rl.Exact(), "learning_rate": rate, "seed": 1}
    options["oracle"] = lsip.oracles.BranchAndBound()
    made = rl.EPO(mdp, rate=0.5, **options) if method == "epo" else rl.SICPO(mdp, switch="set", **options)
    learned = made.learn(150).choose("best")
    best, start = rl.plan(mdp).value, mdp.value(rl.uniform_policy(2, 2))
    assert mdp.worst_violation(learned).bound <= 0.01 + 1e-6
    assert mdp.value(learned) > start + 0.9 * (best - start)
    if method == "epo":
        points, multipliers = made.working_set
        assert len(points) == len(multipliers) <= 6
        assert (multipliers > 0).all()


@pytest.mark.parametrize("method", ["set", "epo"])
def test_a_resumed_run_is_the_uninterrupted_one(method, tmp_path):
    def fresh() -> rl.SICPO:
        options: dict[str, Any] = {"update": rl.NPG(50, 5), "evaluation": rl.MonteCarlo(200, 6), "seed": 2}
        return rl.EPO(toy(), **options) if method == "epo" else rl.SICPO(toy(), switch="set", **options)

    whole, first = fresh().learn(20), fresh().learn(8)
    first.save(tmp_path / "a.npz")
    again = rl.SICPO.load(tmp_path / "a.npz", toy()).learn(12)
    assert type(again.rule).__name__ == ("Exchange" if method == "epo" else "Switch")
    for one, other in zip(whole.working_set, again.working_set, strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(whole.choose("last"), again.choose("last"))


def two_sided() -> rl.SemiInfiniteCost:
    """The mean action must be within 0.2 of every y in [0.4, 0.6]: two points at a time."""
    return rl.SemiInfiniteCost(lsip.Interval(0.4, 0.6), lambda y, o, a: 0.2 * np.abs(y[:, :1] - force(a)), 0.2)


@pytest.mark.parametrize("method", ["set", "epo"])
def test_environments_too(method):
    options: dict[str, Any] = {"episodes": 32, "learning_rate": 0.01, "epochs": 5, "minibatch": 80, "log_std": -2.0}
    options |= {"hidden": (8,), "device": "cpu", "scale_actions": False}
    if method == "epo":
        made = rl.EPO(Pull(32), two_sided(), rate=2.0, **options)
    else:
        made = agent(Pull(32), two_sided(), switch="set", **options)
    made.learn(60 * 160)
    last = made.history[-15:]
    assert np.mean([r.violation for r in last]) < 0.05
    assert np.mean([r.reward for r in last]) > 5 * 0.4  # the largest mean action that is allowed is 0.6


def test_an_environment_needs_its_constraint():
    with pytest.raises(lsip.ModelError, match=r"An environment comes with its constraint: rl.EPO\(env, "):
        rl.EPO(Pull())


def test_the_problem_decides_about_the_kind_of_learner():
    assert isinstance(rl.EPO(toy()), rl.SICPO)
    made = rl.EPO(Pull(), two_sided(), rl.SICPPOConfig(eta=0.3), device="cpu")
    assert isinstance(made, rl.SICPPO)
    assert made.rule == Exchange(0.3, rate=0.3, gain=3.0, saturation=1.0)  # of deviations between episodes
    assert rl.EPO(Pull(), two_sided(), eta=-0.1, device="cpu").eta == -0.1
    assert isinstance(made.env, gym.vector.VectorEnv)


@pytest.mark.parametrize(
    "given", [np.ones(3, dtype=bool), np.array([1.0, 2.0]), np.broadcast_to(1.0, (10**6, 10**6)), "a"]
)
def test_a_saturation_that_is_no_number_is_refused(given: object) -> None:
    with pytest.raises(lsip.ModelError, match="`saturation` must be positive"):
        Exchange(saturation=given)
