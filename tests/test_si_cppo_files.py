"""Runs of SI-CPPO in files: resuming, and files that are not what they should be."""

from __future__ import annotations

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

import lsip
import rl

torch = pytest.importorskip("torch")

from rl.si_cppo import SICPPO  # noqa: E402
from rl.state import Report, State  # noqa: E402
from tests.test_si_cpo_files import assert_the_old_file_stays  # noqa: E402
from tests.test_si_cppo import (  # noqa: E402
    STEPS,
    TWO,
    Pull,
    agent,
    assert_same_reports,
    assert_same_run,
    force,
    limit,
    rows_of,
)

ROOT = Path(__file__).resolve().parent.parent
GPU = pytest.mark.skipif(not torch.cuda.is_available(), reason="torch sees no GPU here")
# TensorBoard's own imports warn, on some versions of Python and NumPy.
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning:tensorboard"),
    pytest.mark.filterwarnings("ignore::rl.NoGoodPolicyWarning"),  # which has a test of its own
]


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

    made = SICPPO(ships(), envs.ship.constraint(), episodes=4, normalise=True, evaluation_episodes=4, device="cpu")
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
    assert_the_old_file_stays(made, path, made.total_steps + 1, monkeypatch)


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


def test_the_head_of_an_array_that_never_ends_is_damage(tmp_path):
    _, path = saved(tmp_path)
    data = path.read_bytes()
    ends = [i for i in range(len(data)) if data.startswith(b", }", i)]
    assert len(ends) > 3
    for end in (ends[1], ends[-1]):
        path.write_bytes(data[: end + 2] + b"(" + data[end + 3 :])
        with pytest.raises(lsip.ModelError, match=r"c\.npz is not a file written by"):
            SICPPO.load(path, Pull(), limit())


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
    with pytest.raises(lsip.ModelError, match=rf"c\.npz (was written by )?{who}.*({name} is missing|fields .*{name})"):
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
    for name in ("facts", "best/parameters"):
        archive(path, **{**parts, name: np.array([Trap(mark)], dtype=object)})
        with pytest.raises(lsip.ModelError, match=r"c\.npz is not a file written by"):
            SICPPO.load(path, Pull(), limit())
        assert not mark.exists()
    archive(path, **{**parts, "extra": np.array([Trap(mark)], dtype=object)})
    SICPPO.load(path, Pull(), limit())  # what nobody asks for is not read
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
