"""Logs of SI-CPO: the table, TensorBoard, the line of progress, and callbacks."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

import lsip
import rl

torch = pytest.importorskip("torch")

from tests.test_si_cpo import agent, assert_same_run, rows_of  # noqa: E402
from tests.test_updates import UPDATES, toy  # noqa: E402


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
