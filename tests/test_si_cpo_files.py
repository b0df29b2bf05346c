"""Runs of SI-CPO in files: resuming, and files that are not what they should be."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lsip
import rl
from tests.test_simulator import Hidden

torch = pytest.importorskip("torch")

from tests.test_si_cpo import agent, assert_same_run, network, rows_of  # noqa: E402
from tests.test_updates import EVALUATIONS, UPDATES, toy  # noqa: E402

# ---- resuming --------------------------------------------------------------------------------------------------------


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


def test_a_hidden_model_is_learned_from_and_resumed(tmp_path):
    options = {"evaluation": rl.MonteCarlo(100, 6, mode="paths"), "seed": 9}
    first = agent(Hidden(toy()), **options).learn(4)
    first.save(tmp_path / "c.npz")
    again = rl.SICPO.load(tmp_path / "c.npz", Hidden(toy()))
    assert_same_run(first.learn(4), again.learn(4))


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
    assert_the_old_file_stays(made, path, 2, monkeypatch)


def assert_the_old_file_stays(made: Any, path: Path, more: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a learner that learns more, and whose disk is full then for a while."""
    before = path.read_bytes()
    made.learn(more)

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
    assert [p.name for p in path.parent.iterdir()] == ["c.npz"]


def test_no_code_is_in_a_checkpoint(tmp_path):
    _, path = saved(tmp_path)
    with np.load(path, allow_pickle=False) as data:
        assert all(data[name].dtype != object for name in data.files)
