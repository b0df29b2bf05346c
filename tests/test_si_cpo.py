"""SI-CPO as a run: the switch, the good set, the same seed, resuming, files, logs, and CRPO."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import lsip
import rl
from rl import evaluation as evaluations
from tests.test_simulator import Hidden

torch = pytest.importorskip("torch")

from rl.baselines.crpo import FixedGrid  # noqa: E402
from rl.policies import flat_parameters  # noqa: E402
from rl.updates import Pairs  # noqa: E402
from tests.test_updates import EVALUATIONS, UPDATES, toy  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent
GPU = pytest.mark.skipif(not torch.cuda.is_available(), reason="torch sees no GPU here")
Y = lsip.Index("y", lsip.Box([0, 0], [1, 1]))


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


# ---- resuming --------------------------------------------------------------------------------------------------------


def rows_of(folder: Path) -> list[dict[str, str]]:
    with (folder / "progress.csv").open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


@pytest.mark.parametrize("policy", [None, network])
@pytest.mark.parametrize("update", UPDATES)
def test_a_resumed_run_is_the_uninterrupted_one(update, policy, tmp_path):
    def fresh() -> rl.SICPO:
        return agent(update=UPDATES[update], policy=policy and policy(), learning_rate=2.0, seed=5)

    whole = fresh().learn(12, log=tmp_path / "whole", tensorboard=False)
    # The interrupted run went on for three iterations after its last checkpoint, and wrote them to its log.
    stopped = fresh().learn(6, log=tmp_path / "parts", tensorboard=False, checkpoint=tmp_path / "c.npz")
    stopped.learn(3, log=tmp_path / "parts", tensorboard=False)
    assert len(rows_of(tmp_path / "parts")) == 9
    given = {} if policy is None else {"policy": policy(1)}
    resumed = rl.SICPO.load(tmp_path / "c.npz", toy(), device="cpu", **given)
    assert resumed.iteration == 6
    resumed.learn(6, log=tmp_path / "parts", tensorboard=False)
    assert_same_run(whole, resumed)
    assert rows_of(tmp_path / "parts") == rows_of(tmp_path / "whole")
    assert whole.good_count > 0


@pytest.mark.parametrize("evaluation", EVALUATIONS)
def test_a_resumed_run_has_its_evaluation_oracle_and_settings(evaluation, tmp_path):
    oracle = lsip.oracles.Grid(7) if evaluation == "exact" else lsip.oracles.RandomSearch(9)
    first = agent(evaluation=EVALUATIONS[evaluation], oracle=oracle, eta=0.02, learning_rate=0.5, seed=11).learn(3)
    first.save(tmp_path / "c.npz")
    again = rl.SICPO.load(tmp_path / "c.npz", toy())
    assert (again.update, again.evaluation, again.oracle) == (first.update, first.evaluation, first.oracle)
    assert (again.eta, again.learning_rate, again.seed) == (0.02, 0.5, 11)
    assert_same_run(first.learn(3), again.learn(3))


@pytest.mark.parametrize(
    "oracle", [lsip.oracles.BranchAndBound(), lsip.oracles.Multistart(), lsip.oracles.ProjectedSubgradient()]
)
def test_other_oracles_can_be_saved_too(oracle, tmp_path):
    first = agent(oracle=oracle).learn(2)
    first.save(tmp_path / "c.npz")
    assert_same_run(first.learn(2), rl.SICPO.load(tmp_path / "c.npz", toy()).learn(2))


def test_an_agent_can_be_saved_before_it_has_learned(tmp_path):
    agent(seed=3).save(tmp_path / "c.npz")
    assert_same_run(rl.SICPO.load(tmp_path / "c.npz", toy()).learn(4), agent(seed=3).learn(4))


def test_a_resumed_run_may_have_no_good_policy_yet(tmp_path):
    first = agent(toy_that_cannot_be_satisfied(), seed=3).learn(3)
    assert first.good_count == 0
    first.save(tmp_path / "c.npz")
    again = rl.SICPO.load(tmp_path / "c.npz", toy_that_cannot_be_satisfied())
    assert_same_run(first.learn(3), again.learn(3))


def toy_that_cannot_be_satisfied() -> rl.SICMDP:
    t = lsip.Index("t", lsip.Interval(0, 1))
    return rl.SICMDP(toy().P, toy().r, np.array([0.1, 1.0]) * (1 + t), 0.01, t, None, 0.5)


def test_seeds_of_numpy_can_be_saved(tmp_path):
    first = agent(seed=np.random.default_rng(0).integers(100)).learn(2)
    first.save(tmp_path / "c.npz")
    assert_same_run(first.learn(2), rl.SICPO.load(tmp_path / "c.npz", toy()).learn(2))


def test_counts_of_numpy_can_be_saved(tmp_path):
    first = agent(update=rl.NPG(samples=np.int64(30), horizon=5)).learn(2)
    first.save(tmp_path / "c.npz")
    assert_same_run(first.learn(2), rl.SICPO.load(tmp_path / "c.npz", toy()).learn(2))


@dataclass(frozen=True)
class Corners:
    """An oracle of one's own."""

    scale: float = 1.0

    def maximise(self, violation: Any, *, target: float = 0.0, seed: int = 0) -> lsip.oracles.Separation:
        points = np.array([violation.domain.lower, violation.domain.upper]) * self.scale
        return lsip.oracles.Separation(points, violation.values(points)[:, 0], np.inf, np.zeros(2, dtype=np.intp))


def test_parts_of_ones_own_are_asked_for_and_taken(tmp_path):
    first = agent(oracle=Corners()).learn(3)
    first.save(tmp_path / "c.npz")
    with pytest.raises(lsip.ModelError, match=r"Corners.*load\(…, oracle=…\)"):
        rl.SICPO.load(tmp_path / "c.npz", toy())
    again = rl.SICPO.load(tmp_path / "c.npz", toy(), oracle=Corners())
    assert_same_run(first.learn(2), again.learn(2))


def test_a_checkpoint_is_written_every_so_often_and_at_the_end(tmp_path):
    seen = []
    path = tmp_path / "c.npz"

    def look(agent: rl.SICPO, row: Any) -> None:
        seen.append(rl.SICPO.load(path, toy()).iteration if path.exists() else 0)

    agent().learn(8, checkpoint=path, every=3, callback=look)
    assert seen == [0, 0, 3, 3, 3, 6, 6, 6]
    assert rl.SICPO.load(path, toy()).iteration == 8


def test_a_run_that_a_callback_stops_still_ends_with_a_checkpoint(tmp_path):
    path = tmp_path / "c.npz"
    stopped = agent(seed=6).learn(50, checkpoint=path, callback=lambda agent, row: row.iteration == 3)
    assert stopped.iteration == 4
    assert_same_run(stopped, rl.SICPO.load(path, toy()))


# ---- files that are not what they should be --------------------------------------------------------------------------


def saved(tmp_path: Path) -> tuple[rl.SICPO, Path]:
    made = agent().learn(4)
    made.save(tmp_path / "c.npz")
    return made, tmp_path / "c.npz"


def test_a_missing_file_is_named(tmp_path):
    for path in (tmp_path / "none.npz", tmp_path):
        with pytest.raises(lsip.ModelError, match=path.name):
            rl.SICPO.load(path, toy())


@pytest.mark.parametrize("keep", [0, 10, 0.2, 0.5, 0.9, 0.999])
def test_a_truncated_file_is_damaged(keep, tmp_path):
    _, path = saved(tmp_path)
    data = path.read_bytes()
    path.write_bytes(data[: int(keep * len(data)) if keep < 1 else keep])
    with pytest.raises(lsip.ModelError, match=r"not a file written by SICPO\.save, or it is damaged"):
        rl.SICPO.load(path, toy())


def test_flipped_bytes_are_noticed_or_harmless(tmp_path):
    made, path = saved(tmp_path)
    data = path.read_bytes()
    rng = np.random.default_rng(0)
    noticed = 0
    for place in rng.integers(len(data), size=150):
        broken = bytearray(data)
        broken[place] ^= 1 << int(rng.integers(8))
        path.write_bytes(broken)
        try:
            again = rl.SICPO.load(path, toy())
        except lsip.ModelError:
            noticed += 1
        else:
            assert_same_run(made, again)
    assert noticed > 100


def archive(path: Path, **arrays: Any) -> None:
    with path.open("wb") as stream:
        np.savez(stream, **arrays)


def with_facts(facts: Any) -> Any:
    return lambda path: archive(path, facts=np.array(json.dumps(facts)))


def lone_array(path: Path) -> None:
    with path.open("wb") as stream:
        np.save(stream, np.zeros(3))


FOREIGN = {
    "text": lambda path: path.write_text("iteration,reward\n"),
    "array": lone_array,
    "archive": lambda path: archive(path, x=np.zeros(3)),
    "pickle": lambda path: archive(path, facts=np.array({"kind": "SICPO"}, dtype=object)),
    "not json": lambda path: archive(path, facts=np.array("kind")),
    "another kind": with_facts({"kind": "SICPPO"}),
    "a list": with_facts(["SICPO"]),
    "a number": with_facts(3),
    "too little": with_facts({"kind": "SICPO"}),
    "no settings": with_facts({"kind": "SICPO", "settings": {}, "policy": "SoftmaxTable"}),
}


@pytest.mark.parametrize("what", FOREIGN)
def test_a_foreign_file_is_no_checkpoint(what, tmp_path):
    path = tmp_path / "c.npz"
    FOREIGN[what](path)
    ours = r"was written by a version of lsip that did not leave its number"  # as far as it says
    with pytest.raises(lsip.ModelError, match=rf"c\.npz (is not a file written by SICPO\.save|{ours})"):
        rl.SICPO.load(path, toy())


GONE = ["policy/theta", "history/reward", "history/y", "best/parameters", "drawn/parameters", "recent", "points"]


@pytest.mark.parametrize("gone", GONE)
def test_arrays_that_are_missing_are_noticed(gone, tmp_path):
    _, path = saved(tmp_path)
    with np.load(path) as data:
        assert gone in data.files
        parts = {name: data[name] for name in data.files if name != gone}
    archive(path, **parts)
    with pytest.raises(lsip.ModelError, match=r"c\.npz"):
        rl.SICPO.load(path, toy())


def other_size(states: int, actions: int) -> rl.SICMDP:
    t = lsip.Index("t", lsip.Interval(0, 1))
    return rl.SICMDP(np.full((states, actions, states), 1 / states), np.ones(states), np.ones(states) * t, 9, t)


def test_a_checkpoint_of_another_policy_or_problem_says_so(tmp_path):
    _, path = saved(tmp_path)
    with pytest.raises(lsip.ModelError, match=r"SoftmaxTable with 4 parameters; .* SoftmaxTable with 6"):
        rl.SICPO.load(path, other_size(3, 2))
    with pytest.raises(lsip.ModelError, match=r"SoftmaxTable with 4 parameters; .* MLPCategorical"):
        rl.SICPO.load(path, toy(), policy=network())
    with pytest.raises(lsip.ModelError, match=r"rl\.SICMDP"):
        rl.SICPO.load(path, None)


def test_a_problem_with_as_many_pairs_but_other_states_is_another_problem(tmp_path):
    path = tmp_path / "c.npz"
    agent(other_size(3, 2)).learn(2).save(path)
    with pytest.raises(lsip.ModelError, match=r"c\.npz"):
        rl.SICPO.load(path, other_size(2, 3))


def test_a_crash_while_saving_leaves_the_old_file(tmp_path, monkeypatch):
    made, path = saved(tmp_path)
    before = path.read_bytes()
    made.learn(2)

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


def test_no_code_is_in_a_checkpoint(tmp_path):
    _, path = saved(tmp_path)
    with np.load(path, allow_pickle=False) as data:
        assert all(data[name].dtype != object for name in data.files)


# ---- logs ------------------------------------------------------------------------------------------------------------


def test_the_log_holds_every_iteration(tmp_path):
    made = agent().learn(5, log=tmp_path / "deep" / "log", tensorboard=False)
    rows = rows_of(tmp_path / "deep" / "log")
    assert list(rows[0]) == ["run", "iteration", "reward", "violation", "good", "good_share", "step", "y0"]
    good = 0
    for row, step in zip(rows, made.history, strict=True):
        good += step.good
        assert int(row["iteration"]) == step.iteration
        assert (float(row["reward"]), float(row["violation"])) == (step.reward, step.violation)
        assert row["good"] == str(step.good)
        assert float(row["good_share"]) == good / (step.iteration + 1)
        assert float(row["y0"]) == step.y[0]


def test_a_new_run_in_an_old_folder_is_appended(tmp_path):
    first = agent().learn(3, log=tmp_path, tensorboard=False)
    before = rows_of(tmp_path)
    agent(seed=1, update=UPDATES["TRPO"]).learn(2, log=tmp_path, tensorboard=False)  # which has other columns
    first.learn(1, log=tmp_path, tensorboard=False)
    rows = rows_of(tmp_path)
    assert [(row["run"], row["iteration"]) for row in rows] == [
        *[("1", str(k)) for k in range(3)],
        *[("2", str(k)) for k in range(2)],
        ("1", "3"),
    ]
    assert [{name: row[name] for name in before[0]} for row in rows[:3]] == before
    assert rows[3]["kl"]
    assert not rows[0]["kl"]


def test_a_table_of_another_program_is_left_alone(tmp_path):
    (tmp_path / "progress.csv").write_text("iteration,reward\n0,1.5\n")
    with pytest.raises(lsip.ModelError, match="another program"):
        agent().learn(1, log=tmp_path, tensorboard=False)
    assert (tmp_path / "progress.csv").read_text() == "iteration,reward\n0,1.5\n"


def test_half_a_line_of_a_killed_run_is_dropped(tmp_path):
    whole = agent(seed=5).learn(14, log=tmp_path / "whole", tensorboard=False)
    agent(seed=5).learn(12, log=tmp_path / "parts", tensorboard=False, checkpoint=tmp_path / "c.npz")
    with (tmp_path / "parts" / "progress.csv").open("a") as stream:
        stream.write("1,1")  # of iteration 12
    resumed = rl.SICPO.load(tmp_path / "c.npz", toy()).learn(2, log=tmp_path / "parts", tensorboard=False)
    assert_same_run(whole, resumed)
    assert rows_of(tmp_path / "parts") == rows_of(tmp_path / "whole")


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(lsip.ModelError, match="file for logs cannot be made"):
        agent().learn(1, log=tmp_path / "file")


def test_tensorboard_gets_the_same_numbers(tmp_path):
    pytest.importorskip("tensorboard")
    reader = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    made = agent().learn(4, log=tmp_path)
    assert list(tmp_path.glob("events.out.tfevents.*"))
    board = reader.EventAccumulator(str(tmp_path)).Reload()
    assert set(board.Tags()["scalars"]) == {"reward", "violation", "good", "good_share", "step", "y0"}
    events = board.Scalars("violation")
    assert [e.step for e in events] == [0, 1, 2, 3]
    np.testing.assert_allclose([e.value for e in events], [row.violation for row in made.history], rtol=1e-6)


def test_tensorboard_of_a_resumed_run_shows_every_iteration_once(tmp_path):
    pytest.importorskip("tensorboard")
    reader = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    agent(seed=5).learn(3, log=tmp_path, checkpoint=tmp_path / "c.npz").learn(2, log=tmp_path)
    resumed = rl.SICPO.load(tmp_path / "c.npz", toy()).learn(4, log=tmp_path)
    events = reader.EventAccumulator(str(tmp_path)).Reload().Scalars("violation")
    assert [e.step for e in events] == list(range(7))
    np.testing.assert_allclose([e.value for e in events], [row.violation for row in resumed.history], rtol=1e-6)


def test_without_tensorboard_the_table_is_still_written(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    agent().learn(2, log=tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["progress.csv"]


def test_progress_is_shown_when_asked_for(capsys):
    agent().learn(3)
    assert capsys.readouterr().err == ""
    agent().learn(3, verbose=True)
    assert "3/3" in capsys.readouterr().err


def test_a_callback_sees_every_iteration_and_may_stop(tmp_path):
    seen = []

    def stop(agent: rl.SICPO, row: Any) -> bool:
        assert agent.history[-1] is row
        seen.append(row.iteration)
        return row.iteration == 2

    made = agent().learn(10, callback=stop, log=tmp_path, tensorboard=False)
    assert seen == [0, 1, 2]
    assert made.iteration == len(made.history) == len(rows_of(tmp_path)) == 3


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
    with pytest.raises(lsip.ModelError, match="`iterations` must be a positive integer"):
        agent().learn(iterations)


def test_checkpoints_cannot_come_every_zero_iterations(tmp_path):
    with pytest.raises(lsip.ModelError, match="`every`"):
        agent().learn(1, checkpoint=tmp_path / "c.npz", every=0)


def test_a_checkpoint_in_a_new_folder_is_written_or_refused_before_any_work(tmp_path):
    made, path = agent(), tmp_path / "new" / "c.npz"
    try:
        made.learn(2, checkpoint=path)
    except lsip.ModelError:
        assert made.iteration == 0
    else:
        assert path.exists()


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


def test_a_hidden_model_is_learned_from_and_resumed(tmp_path):
    options = {"evaluation": rl.MonteCarlo(100, 6, mode="paths"), "seed": 9}
    first = agent(Hidden(toy()), **options).learn(4)
    first.save(tmp_path / "c.npz")
    again = rl.SICPO.load(tmp_path / "c.npz", Hidden(toy()))
    assert_same_run(first.learn(4), again.learn(4))


# ---- CRPO ------------------------------------------------------------------------------------------------------------


def square() -> rl.SICMDP:
    cost = 1 / (1 + ((Y - np.array([[0.2, 0.3], [0.9, 0.6]])) ** 2).sum(axis=-1))
    return rl.SICMDP(toy().P, toy().r, cost, 1.4 + 0.2 * Y[0], Y, None, 0.5)


@pytest.mark.parametrize(
    ("points", "per_axis"), [(250, 16), (500, 23), (1000, 33), (256, 16), (529, 23), (1089, 33), (4, 2), (5, 3), (1, 1)]
)
def test_crpo_has_the_grids_of_the_paper(points, per_axis):
    made = rl.baselines.CRPO(square(), points)
    assert made.oracle == FixedGrid(per_axis)
    grid = made.specification.constraint.domain.grid(per_axis)
    assert grid.shape == (per_axis**2, 2)
    if per_axis > 1:
        np.testing.assert_allclose(np.unique(grid[:, 0]), np.linspace(0, 1, per_axis))


def test_crpo_counts_along_one_axis():
    assert rl.baselines.CRPO(toy(), 250).oracle == FixedGrid(250)


def test_a_fixed_grid_finds_its_worst_point():
    mdp = square()
    visits = mdp.visits(rl.uniform_policy(2, 2))
    found = FixedGrid(5).maximise(mdp.costs.violation(visits), seed=3)
    values = mdp.violations(rl.uniform_policy(2, 2), mdp.domain.grid(5))
    assert found.values[0] == pytest.approx(values.max())
    np.testing.assert_allclose(found.points[0], mdp.domain.grid(5)[values.argmax()])
    assert found.bound == np.inf
    with pytest.raises(lsip.ModelError, match="`per_axis` must be a positive integer; got 0"):
        FixedGrid(0)


def test_crpo_looks_at_its_grid_only():
    options = {"evaluation": rl.Exact(), "update": rl.NPG(samples=30, horizon=5)}
    made = rl.baselines.CRPO(square(), 9, **options).learn(5)
    for row in made.history:
        assert np.isin(row.y, [0, 0.5, 1]).all()
    # Apart from the oracle it is SI-CPO.
    other = rl.SICPO(square(), oracle=FixedGrid(3), **options).learn(5)
    assert_same_run(made, other)
    assert rl.baselines.CRPO(Hidden(square()), 9, update=rl.NPG(20, 5), evaluation=rl.MonteCarlo(50, 5)).learn(1)


def test_crpo_goes_on_from_its_checkpoint(tmp_path):
    options = {"evaluation": rl.MonteCarlo(100, 6), "update": rl.NPG(samples=30, horizon=5), "seed": 4}
    made = rl.baselines.CRPO(square(), 9, **options).learn(3)
    made.save(tmp_path / "c.npz")
    again = rl.baselines.CRPO.load(tmp_path / "c.npz", square())
    assert again.oracle == FixedGrid(3)
    assert_same_run(made.learn(3), again.learn(3))


def test_crpo_says_what_a_problem_is():
    with pytest.raises(lsip.ModelError, match=r"rl\.SICMDP"):
        rl.baselines.CRPO(None)


# ---- without torch ---------------------------------------------------------------------------------------------------


NEED_TORCH = [
    "SICPO",
    "EPO",
    "NPG",
    "PPO",
    "PolicyGradient",
    "TRPO",
    "SoftmaxTable",
    "MLPCategorical",
    "MLPGaussian",
]


@pytest.mark.parametrize("names", [NEED_TORCH, ["baselines.CRPO"]])
def test_without_torch_the_extra_is_named(names):
    code = f"""
import sys
sys.modules["torch"] = None
import operator, lsip, rl
rl.plan, rl.MonteCarlo, rl.TemporalDifference, rl.Exact, rl.Simulator
for name in {names}:
    try:
        operator.attrgetter(name)(rl)
    except lsip.MissingExtraError as error:
        print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [f"rl.{name} needs torch: pip install 'lsip[rl]'." for name in names]


def test_names_that_do_not_exist_are_ordinary_errors():
    for place in (rl, rl.baselines):
        with pytest.raises(AttributeError, match="SICPOO"):
            place.SICPOO  # noqa: B018
