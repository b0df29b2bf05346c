"""SI-CPO as a run: the switch, the good set, the same seed, predictions, and what is asked for."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import lsip
import rl
from rl import evaluation as evaluations

torch = pytest.importorskip("torch")

from rl.policies import flat_parameters  # noqa: E402
from rl.updates import Pairs  # noqa: E402
from tests.test_updates import EVALUATIONS, UPDATES, toy  # noqa: E402

GPU = pytest.mark.skipif(not torch.cuda.is_available(), reason="torch sees no GPU here")


def network(seed: int = 0) -> rl.MLPCategorical:
    torch.manual_seed(seed)
    return rl.MLPCategorical(2, 2, hidden=(5,))


def agent(mdp: Any = None, **options: Any) -> rl.SICPO:
    """A quick one on the toy."""
    quick = {"update": rl.NPG(samples=30, horizon=5), "evaluation": rl.MonteCarlo(200, 6), "eta": 0.01, "device": "cpu"}
    return rl.SICPO(mdp or toy(), **{**quick, **options})


def assert_same_run(one: rl.SICPO, other: rl.SICPO) -> None:
    """Everything but the clock."""
    assert one.iteration == other.iteration
    assert one.good_count == other.good_count
    for a, b in zip(one.history, other.history, strict=True):
        assert (a.iteration, a.reward, a.violation, a.good) == (b.iteration, b.reward, b.violation, b.good)
        np.testing.assert_array_equal(a.y, b.y)
    assert torch.equal(flat_parameters(one.state.policy), flat_parameters(other.state.policy))
    for choice in ("uniform", "best", "average", "last"):
        np.testing.assert_array_equal(one.choose(choice), other.choose(choice))
    assert one.rng.bit_generator.state == other.rng.bit_generator.state


def rows_of(folder: Path) -> list[dict[str, str]]:
    with (folder / "progress.csv").open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


# ---- parts that do as they are told ----------------------------------------------------------------------------------


class Told:
    """An evaluation whose returns are given beforehand; visits are exact."""

    def __init__(self, rewards: list[float]) -> None:
        self.rewards = iter(rewards)

    def evaluate(self, simulator: Any, policy: Any, rng: Any) -> evaluations.Estimate:
        return evaluations.Estimate(rl.Exact().evaluate(simulator, policy, rng).visits, next(self.rewards))


class Oracle:
    """An oracle whose violations are given beforehand; what it was asked is kept."""

    def __init__(self, violations: list[Any]) -> None:
        self.violations, self.asked = iter(violations), []

    def maximise(self, violation: Any, *, target: float = 0.0, seed: int = 0) -> lsip.oracles.Separation:
        values = np.atleast_1d(np.array(next(self.violations), dtype=float))
        points = np.linspace(0.25, 0.75, len(values))[:, None]
        self.asked.append((target, seed, violation.values(points)))
        return lsip.oracles.Separation(points, values, np.inf, np.zeros(len(values), dtype=np.intp))


class Recorder:
    """An update that adds its number to the logit of action 0, and remembers what it was to raise, and how fast."""

    def __init__(self) -> None:
        self.calls: list[tuple[np.ndarray, float]] = []

    @property
    def sampling(self) -> Any:
        return self

    def draw(self, simulator: Any, policy: Any, criterion: Any, rng: Any) -> Any:
        self.criterion = criterion
        return Pairs(samples=1, horizon=1).draw(simulator, policy, criterion, rng)

    def step(self, policy: Any, batch: Any, rate: float, rng: Any, memory: Any) -> dict[str, Any]:
        self.calls.append((self.criterion, rate))
        with torch.no_grad():
            policy.theta[:, 0] = 0.01 * len(self.calls)
        return {}


def table_after(calls: int) -> np.ndarray:
    """The policy after so many calls of a `Recorder`."""
    p = 1 / (1 + np.exp(-0.01 * calls))
    return np.tile([p, 1 - p], (2, 1))


def told(violations: list[Any], rewards: list[float] | None = None, **options: Any) -> tuple[rl.SICPO, Recorder]:
    update = Recorder()
    made = agent(
        update=update,
        evaluation=Told(rewards or [0.0] * len(violations)),
        oracle=Oracle(violations),
        **{"eta": 0.125, **options},
    )
    made.learn(len(violations))
    return made, update


# ---- the switch ------------------------------------------------------------------------------------------------------


def test_the_step_is_on_the_reward_exactly_when_the_violation_is_at_most_eta():
    eta, mdp = 0.125, toy()
    violations = [-1.0, eta, np.nextafter(eta, 1), 0.0, 5.0, np.nextafter(eta, 0)]
    made, update = told(violations, mdp=mdp, learning_rate=0.7)
    good = [True, True, False, True, False, True]
    assert [row.good for row in made.history] == good
    assert [row.violation for row in made.history] == violations
    assert [row.iteration for row in made.history] == list(range(6))
    assert made.good_count == 4
    for (criterion, rate), fine in zip(update.calls, good, strict=True):
        assert rate == 0.7
        expected = mdp.r if fine else -np.repeat(mdp.costs.at([[0.25]])[0].T, 2, axis=1)
        np.testing.assert_allclose(criterion, expected)


def test_the_constraint_step_is_on_the_worst_point_of_those_found():
    made, update = told([[0.3, 0.9, 0.5]], eta=0.5)
    assert made.history[0].y == pytest.approx([0.5])
    assert made.history[0].violation == 0.9
    np.testing.assert_allclose(update.calls[0][0], -np.repeat(toy().costs.at([[0.5]])[0].T, 2, axis=1))


def test_costs_of_pairs_are_the_criterion_pair_by_pair():
    t = lsip.Index("t", lsip.Interval(0, 1))
    level = np.array([[0.1, 0.2], [0.3, 0.4]])
    mdp = rl.SICMDP(toy().P, toy().r, level * (1 + t), 1, t, None, 0.5)
    _, update = told([1.0], mdp=mdp)
    np.testing.assert_allclose(update.calls[0][0], -1.25 * level)


def test_the_oracle_sees_the_estimated_violation_the_tolerance_and_fresh_seeds():
    made, _ = told([0.0, 1.0, 0.0])
    oracle = made.oracle
    assert [target for target, _, _ in oracle.asked] == [0.125] * 3
    assert len({seed for _, seed, _ in oracle.asked}) == 3
    for k, (_, _, values) in enumerate(oracle.asked):
        np.testing.assert_allclose(
            values[:, 0], toy().violations(table_after(k) if k else np.full((2, 2), 0.5), [[0.25]])
        )


def test_zero_is_a_tolerance():
    made, _ = told([0.0, 5e-324], eta=0)
    assert [row.good for row in made.history] == [True, False]


# ---- the good set ----------------------------------------------------------------------------------------------------


def test_best_average_and_last():
    made, _ = told([0.0, 1.0, 0.0, 0.0, 1.0], rewards=[1.0, 9.0, 3.0, 2.0, 9.0])
    np.testing.assert_allclose(made.choose("best"), table_after(2))  # only good iterates compete
    np.testing.assert_allclose(made.choose("average"), np.mean([table_after(k) for k in (0, 2, 3)], axis=0))
    np.testing.assert_allclose(made.choose("last"), table_after(5))
    drawn = made.choose("uniform")
    assert any(np.allclose(drawn, table_after(k)) for k in (0, 2, 3))
    np.testing.assert_array_equal(made.policy, drawn)
    np.testing.assert_allclose(made.choose("last"), table_after(5))  # asking has changed nothing


def test_the_average_is_over_the_last_hundred_good_policies():
    violations = [float(k % 4 == 3) for k in range(180)]
    made, _ = told(violations)
    good = [k for k in range(180) if k % 4 != 3]
    assert made.good_count == len(good) == 135
    np.testing.assert_allclose(made.choose("average"), np.mean([table_after(k) for k in good[-100:]], axis=0))


def test_while_nothing_is_good_every_choice_is_the_last_iterate():
    fresh = agent()
    made, _ = told([1.0, 2.0, 3.0])
    assert made.good_count == 0
    for choice in ("uniform", "best", "average", "last"):
        np.testing.assert_allclose(made.choose(choice), table_after(3))
        np.testing.assert_allclose(fresh.choose(choice), 0.5)


def test_the_returned_policy_is_uniform_over_the_good_set():
    violations = [0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0]
    good = [0, 2, 3, 5, 6]
    counts = dict.fromkeys(good, 0)
    for seed in range(300):
        made, _ = told(violations, seed=seed)
        theta = np.log(made.policy[0, 0] / made.policy[0, 1])
        counts[round(100 * theta)] += 1
    assert stats.chisquare(list(counts.values())).pvalue > 1e-3


def test_choices_have_names():
    with pytest.raises(lsip.ModelError, match="'uniform', 'best', 'average', 'last'; got 'median'"):
        agent().choose("median")


# ---- the same seed ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=GPU)])
@pytest.mark.parametrize("policy", [None, network])
@pytest.mark.parametrize("update", UPDATES)
def test_the_same_seed_gives_the_same_run(update, policy, device):
    one, other, third = (
        agent(update=UPDATES[update], policy=policy and policy(), seed=seed, device=device).learn(4)
        for seed in (7, 7, 8)
    )
    assert_same_run(one, other)
    assert [row.violation for row in one.history] != [row.violation for row in third.history]
    assert not torch.equal(flat_parameters(one.state.policy), flat_parameters(third.state.policy))


@pytest.mark.parametrize("evaluation", EVALUATIONS)
def test_the_same_seed_gives_the_same_run_with_every_evaluation(evaluation):
    one, other = (agent(evaluation=EVALUATIONS[evaluation], seed=2).learn(4) for _ in range(2))
    assert_same_run(one, other)


def test_learning_in_parts_is_learning_at_once():
    at_once, in_parts = agent(seed=1).learn(9), agent(seed=1)
    for part in (2, 3, 4):
        assert in_parts.learn(part) is in_parts
    assert_same_run(at_once, in_parts)


def test_looking_at_a_run_does_not_change_it():
    def look(agent: rl.SICPO, row: Any) -> None:
        agent.choose("uniform"), agent.choose("best"), agent.predict([0, 1])

    assert_same_run(agent(seed=4).learn(8), agent(seed=4).learn(8, callback=look))


# ---- predictions -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", [None, network])
def test_predictions_follow_the_policy(policy):
    made = agent(policy=policy and policy(), seed=3).learn(6)
    states = np.tile([0, 1], (10_000, 1))
    for choice in ("uniform", "last"):
        table = made.choose(choice)
        actions = made.predict(states, choice=choice, seed=0)
        assert actions.shape == states.shape
        for s in (0, 1):
            counts = np.bincount(actions[:, s], minlength=2)
            assert stats.chisquare(counts, 10_000 * table[s]).pvalue > 1e-3
        np.testing.assert_array_equal(made.predict(states, choice=choice, seed=0), actions)
        np.testing.assert_array_equal(made.predict([0, 1], deterministic=True, choice=choice), table.argmax(axis=1))
    assert made.predict(1, deterministic=True) in (0, 1)


@pytest.mark.parametrize("states", [[0, 2], -1, [0.0], "a", None, [True]])
def test_predictions_are_for_states(states):
    with pytest.raises(lsip.ModelError, match=r"States (are integers from 0 to 1|must be real numbers); got"):
        agent().predict(states)


# ---- what is asked for -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"eta": float("nan")}, "`eta` must be a finite number; got nan"),
        ({"switch": "all"}, '`switch` is "worst" or "set"; got \'all\''),
        ({"learning_rate": 0}, "`learning_rate` must be positive; got 0"),
        ({"device": "gpu"}, "`device` is"),
        ({"policy": rl.MLPCategorical(3, 2), "features": np.zeros((5, 3))}, "one row for each of the 2 states"),
    ],
)
def test_options_are_checked(options, message):
    with pytest.raises(lsip.ModelError, match=message):
        agent(**options)


@pytest.mark.parametrize(
    "policy",
    [
        rl.SoftmaxTable(3, 2),
        rl.SoftmaxTable(1, 2),
        rl.SoftmaxTable(2, 3),
        rl.MLPCategorical(2, 3),
        rl.MLPCategorical(3, 2),
        rl.MLPGaussian(2, 2),
    ],
)
def test_a_policy_for_other_states_or_actions_is_refused(policy):
    with pytest.raises(lsip.ModelError, match="policy"):
        agent(policy=policy)


@pytest.mark.parametrize("iterations", [0, -3, 1.5, "ten"])
def test_iterations_are_counted(iterations):
    with pytest.raises(lsip.ModelError, match="`iterations` must be a whole number, at least 1"):
        agent().learn(iterations)


def test_features_are_what_a_network_sees():
    features = np.array([[1.0, 2.0, 3.0], [-1.0, 0.0, 1.0]])
    torch.manual_seed(0)
    made = agent(policy=rl.MLPCategorical(3, 2, hidden=()), features=features)
    np.testing.assert_allclose(made.world.features, features)
    linear = made.state.policy.net[0]
    logits = features @ linear.weight.detach().numpy().T + linear.bias.detach().numpy()
    np.testing.assert_allclose(
        made.choose("last"), np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True), rtol=1e-6
    )
    assert torch.equal(agent(policy=network()).world.features, torch.eye(2))
