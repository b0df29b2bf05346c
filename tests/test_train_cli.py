"""`lsip train`, `lsip evaluate` and `lsip render`, with networks so small that a run takes a second."""

from __future__ import annotations

import builtins
import csv
import json
import os
import shutil
import signal
import sys
import threading
import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import envs
import lsip
import rl
from lsip import cli

pytest.importorskip("torch")
pytest.importorskip("gymnasium")

from envs import tasks

ROOT = Path(__file__).resolve().parent.parent
FEW = {"evaluation_episodes": 8, "confirmation": 2}
QUICK = {"episodes": 8, "hidden": (8,), "epochs": 2, "index_points": 1, **FEW}
STEPS = "2500"


@pytest.fixture(autouse=True)
def declared(monkeypatch: pytest.MonkeyPatch) -> None:
    """The commands that lsip-rl declares, whether or not this version is installed, and a quick task."""
    table = tomllib.loads((ROOT / "lsip-rl" / "pyproject.toml").read_text(encoding="utf-8"))
    points = [
        EntryPoint(name, value, "lsip.commands")
        for name, value in table["project"]["entry-points"]["lsip.commands"].items()
        if name in ("train", "evaluate", "render")
    ]
    assert len(points) == 3
    monkeypatch.setattr("lsip.cli.entry.entry_points", lambda group: points if group == "lsip.commands" else [])
    task = tasks.TASKS["ship"]
    quick = tasks.Task(task.title, task.environment, task.constraint, 2000, copies=8, settings=QUICK)
    monkeypatch.setitem(tasks.TASKS, "ship", quick)
    monkeypatch.setattr("envs.evaluate.GRID", 441)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An agent that most tests only read."""
    import gymnasium

    path = tmp_path_factory.mktemp("trained") / "ship.zip"
    env = gymnasium.make_vec("lsip/ShipRoute-v0", num_envs=8)
    rl.SICPPO(env, envs.ship.constraint(), seed=3, device="cpu", **QUICK).learn(
        int(STEPS), evaluate_every=1, checkpoint=path
    )
    return path


def run(*words: Any) -> int:
    return cli.main([str(word) for word in words])


def parameters(path: Path) -> dict[str, Any]:
    """Everything in an agent's file but how long it took."""
    with np.load(path) as data:
        return {name: data[name] for name in data.files if "second" not in name}


def assert_same(one: Path, other: Path) -> None:
    a, b = parameters(one), parameters(other)
    assert set(a) == set(b)
    for name in a:
        np.testing.assert_array_equal(a[name], b[name], err_msg=name)


def assert_one_paragraph(text: str) -> None:
    assert text.startswith("lsip: ")
    assert "Traceback" not in text
    assert "a bug worth reporting" not in text
    assert "\n\n" not in text.strip()


# ---- train -----------------------------------------------------------------------------------------------------------


def test_training_writes_an_agent_its_log_and_a_summary(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert run("train", "ship", "--steps", STEPS, "--log", "log", "--device", "cpu") == 0
    printed = capsys.readouterr()
    assert "SICPPO, 2,500 steps" in printed.out
    assert all(word in printed.out for word in ("return", "violation", "arrived", "wrote ship.zip"))
    assert "violation" in printed.err  # progress
    assert sorted(path.name for path in tmp_path.iterdir()) == ["log", "ship.zip"]
    with (tmp_path / "log" / "progress.csv").open(encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    assert int(rows[-1]["steps"]) >= 2500
    agent = rl.SICPPO.load("ship.zip", tasks.TASKS["ship"].vector(), envs.ship.constraint())
    assert agent.total_steps == int(rows[-1]["steps"])
    assert agent.config.episodes == 8


def test_even_one_iteration_can_be_evaluated(tmp_path, capsys):
    out = tmp_path / "one.zip"
    assert run("train", "ship", "--steps", 1, "--out", out, "--quiet", "--device", "cpu") == 0
    assert capsys.readouterr() == ("", "")
    assert run("evaluate", out) == 0


@pytest.mark.parametrize("method", ["si-cppo", "lagrangian"])
def test_a_resumed_run_is_the_uninterrupted_one(tmp_path, method):
    whole, parts = tmp_path / "whole.zip", tmp_path / "parts.zip"
    same = ("--seed", 5, "--method", method, "--device", "cpu", "--quiet")
    assert run("train", "ship", "--steps", 3000, "--out", whole, *same) == 0
    assert run("train", "ship", "--steps", 1500, "--out", parts, *same) == 0
    assert run("train", "ship", "--steps", 3000, "--resume", parts, "--device", "cpu", "--quiet") == 0
    a, b = parameters(whole), parameters(parts)
    for name in a:
        if name != "facts" and not name.startswith(("evaluations", "best")):  # the first part judged once more
            np.testing.assert_array_equal(a[name], b[name], err_msg=name)
    assert len(a["prices"]) == (method == "lagrangian")


def test_resuming_into_another_file_leaves_the_first(trained, tmp_path):
    before, out = trained.read_bytes(), tmp_path / "further.zip"
    assert run("train", "ship", "--steps", 4000, "--resume", trained, "--out", out, "--quiet") == 0
    assert trained.read_bytes() == before
    assert len(parameters(out)["history/reward"]) > len(parameters(trained)["history/reward"])


def test_settings(tmp_path):
    out = tmp_path / "a.zip"
    assert run("train", "ship", "--steps", 1, "--out", out, "--eta", 0.2, "--threads", 2, "--quiet") == 0
    with np.load(out) as data:
        config = json.loads(str(data["facts"]))["settings"]["config"]
    assert (config["eta"], config["threads"], config["episodes"]) == (0.2, 2, 8)


OWN = """
import gymnasium
import lsip
import rl


def pole():
    env = gymnasium.make_vec("CartPole-v1", num_envs=4)
    return env, rl.SemiInfiniteCost(lsip.Interval(0, 2), lambda y, o, a: 1.0 * (abs(o[:, 0]) > y), 100.0)


def nothing():
    return None
"""


@pytest.mark.parametrize("method", ["si-cppo", "epo", "lagrangian"])
def test_a_task_of_ones_own(method, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("own_tasks.py").write_text(OWN)
    words = ("train", "own_tasks:pole", "--steps", 300, "--method", method, "--device", "cpu", "--quiet")
    sets = ("episodes=4", "hidden=(4,)", "gamma=0.9", "evaluation_episodes=4", "confirmation=1")
    assert run(*words, *(word for each in sets for word in ("--set", each))) == 0
    with np.load("pole.zip") as data:
        settings = json.loads(str(data["facts"]))["settings"]
    assert (settings["config"]["hidden"], settings["config"]["gamma"]) == ([4], 0.9)
    kind = {"si-cppo": "Switch", "epo": "Exchange", "lagrangian": "Lagrangian"}[method]
    assert settings["rule"]["name"] == kind
    assert run("evaluate", "pole.zip", "--episodes", 4) == 1  # which takes it for a ship
    err = capsys.readouterr().err
    assert_one_paragraph(err)
    assert "trained on CartPole-v1, and this task is lsip/ShipRoute-v0" in err
    assert run("train", "own_tasks:pole", "--steps", 500, "--resume", "pole.zip", "--device", "cpu", "--quiet") == 0
    assert run("evaluate", "pole.zip", "--task", "own_tasks:pole", "--episodes", 4, "--json") == 0
    assert json.loads(capsys.readouterr().out)["episodes"] == 4


@pytest.mark.parametrize(
    ("method", "given", "told"),
    [
        ("epo", {"gain": 2.0, "saturation": 0.25}, {"rate": 0.3, "gain": 2.0, "saturation": 0.25}),
        ("lagrangian", {"multiplier_rate": 0.3}, {"rate": 0.3}),
    ],
)
def test_multipliers_are_set_too(method, given, told, tmp_path):
    """The defaults where nothing is said."""
    out, sets = tmp_path / "a.zip", [word for name, value in given.items() for word in ("--set", f"{name}={value}")]
    words = ("train", "spraying", "--steps", 1, "--method", method, "--out", out, "--device", "cpu", "--quiet")
    assert run(*words, *sets) == 0
    with np.load(out) as data:
        rule = json.loads(str(data["facts"]))["settings"]["rule"]
    assert told.items() <= rule["fields"].items()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("own_tasks:pole", "--set", "gain=3"), "no setting gain"),
        (("own_tasks:nothing",), "returns an environment and its constraint"),
        (("own_tasks:gone",), "gone"),
        (("no_such_module:pole",), "no_such_module"),
        (("own_tasks:pole", "--set", "speed=3"), "no setting speed"),
        (("own_tasks:pole", "--set", "gamma=3"), "`gamma` must be between 0 and 1"),
    ],
)
def test_a_task_of_ones_own_that_is_none(words, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("own_tasks.py").write_text(OWN)
    assert run("train", *words, "--device", "cpu") == 1
    err = capsys.readouterr().err
    assert_one_paragraph(err)
    assert message in err


def test_workers_on_ray_are_asked_for_and_closed(monkeypatch, tmp_path):
    seen = []

    class Pool:
        def close(self) -> None:
            seen.append("closed")

    def opened(settings: Any, env: Any, rounds: int) -> Any:
        seen.append((settings.actors, env.num_envs, rounds))
        return Pool()

    def stop(agent: Any, *_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(rl.RayRollouts, "open", opened)
    monkeypatch.setattr(rl.SICPPO, "learn", stop)
    assert run("train", "ship", "--ray", 3, "--out", tmp_path / "r.zip", "--quiet") == 130
    assert seen == [(3, 8, 1), "closed"]


def test_the_papers_settings(monkeypatch, tmp_path):
    seen = []

    def stop(agent: Any, *_: Any, **__: Any) -> None:
        seen.append(agent.config)
        raise KeyboardInterrupt

    monkeypatch.setattr(rl.SICPPO, "learn", stop)
    assert run("train", "ship", "--paper", "--out", tmp_path / "p.zip", "--quiet") == 130
    assert seen == [rl.SICPPOConfig.paper()]
    assert list(tmp_path.iterdir()) == []


def test_an_agent_is_not_replaced_by_accident(trained, tmp_path, capsys):
    out = tmp_path / "ship.zip"
    shutil.copy(trained, out)
    assert run("train", "ship", "--steps", 1, "--out", out) == 1
    err = capsys.readouterr().err
    assert_one_paragraph(err)
    assert "--resume" in err
    assert out.read_bytes() == trained.read_bytes()
    assert run("train", "ship", "--steps", 1, "--out", out, "--overwrite", "--quiet") == 0
    assert out.read_bytes() != trained.read_bytes()


@pytest.mark.parametrize("option", [("--seed", 1), ("--eta", 0.1), ("--paper",), ("--method", "lagrangian")])
def test_a_resumed_run_keeps_its_settings(trained, capsys, option):
    assert run("train", "ship", "--resume", trained, *option) == 1
    err = capsys.readouterr().err
    assert_one_paragraph(err)
    assert option[0] in err


def test_a_run_that_is_over_is_not_resumed(trained, capsys):
    before = trained.read_bytes()
    assert run("train", "ship", "--resume", trained, "--steps", 10) == 1
    assert_one_paragraph(capsys.readouterr().err)
    assert trained.read_bytes() == before


@pytest.mark.skipif(os.name == "nt", reason="signals are sent as on Unix")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["SIGINT", "SIGTERM"])
def test_ctrl_c_ends_the_iteration_and_can_be_resumed(number, tmp_path, monkeypatch, capsys):
    out, whole = tmp_path / "ship.zip", tmp_path / "whole.zip"
    iterate = rl.SICPPO._iterate

    def interrupted(agent: Any, *when: float) -> Any:
        if agent.iteration == 1:
            os.kill(os.getpid(), number)
        return iterate(agent, *when)

    before = signal.getsignal(signal.SIGINT)
    with monkeypatch.context() as patch:
        patch.setattr(rl.SICPPO, "_iterate", interrupted)
        assert run("train", "ship", "--steps", STEPS, "--out", out, "--device", "cpu") == 130
    assert signal.getsignal(signal.SIGINT) == before
    err = capsys.readouterr().err
    assert f"--resume {out}" in err
    assert len(parameters(out)["history/reward"]) == 2
    assert run("train", "ship", "--steps", STEPS, "--resume", out, "--device", "cpu", "--quiet") == 0
    assert run("train", "ship", "--steps", STEPS, "--out", whole, "--device", "cpu", "--quiet") == 0
    one, other = parameters(out), parameters(whole)
    assert set(one) == set(other)
    for name in one:
        if name != "facts" and "seconds" not in name:  # all is as if there had been no interrupt, but for the clock
            np.testing.assert_array_equal(one[name], other[name], err_msg=name)


@pytest.mark.skipif(os.name == "nt", reason="signals are sent as on Unix")
def test_the_second_ctrl_c_stops_at_once(tmp_path, monkeypatch, capsys):
    def twice(*_: Any, **__: Any) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(rl.SICPPO, "learn", twice)
    assert run("train", "ship", "--out", tmp_path / "ship.zip") == 130
    assert list(tmp_path.iterdir()) == []


def test_training_outside_of_the_main_thread(tmp_path):
    codes: list[int] = []
    out = tmp_path / "ship.zip"
    other = threading.Thread(target=lambda: codes.append(run("train", "ship", "--steps", 1, "--out", out, "--quiet")))
    other.start()
    other.join()
    assert codes == [0]


# ---- evaluate --------------------------------------------------------------------------------------------------------


def test_evaluation_in_numbers(trained, capsys):
    assert run("evaluate", trained, "--json", "--episodes", 3, "--device", "cpu") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["task"] == "ship"
    assert found["episodes"] == 3
    assert 0 <= found["arrived"] <= 1
    assert len(found["y"]) == 2
    # The same episode by hand: nothing is random in it.
    ship, agent = envs.ship.ShipRoute(), tasks.loaded(trained, tasks.TASKS["ship"], 1, "cpu")
    observation, _ = ship.reset()
    total = 0.0
    for _step in range(100):
        observation, reward, arrived, _, _ = ship.step(agent.predict(observation)[0])
        total += reward
        if arrived:
            break
    assert found["return"] == pytest.approx(total, abs=1e-4)
    assert found["steps"] == len(ship.positions) - 1
    positions = np.array(ship.positions)
    assert found["violation"] >= envs.ship.violations(positions, positions[:-1]).max() - 1e-4
    at = envs.ship.violations(positions, np.array([found["y"]]))[0]
    assert found["violation"] == pytest.approx(at, abs=1e-4)


def test_evaluation_in_words_and_at_random(trained, capsys):
    assert run("evaluate", trained, "--episodes", 10) == 0
    assert "10 episodes" in capsys.readouterr().out
    assert run("evaluate", trained, "--stochastic", "--json", "--seed", 1, "--episodes", 10) == 0
    assert json.loads(capsys.readouterr().out)["return_std"] > 0


# ---- render ----------------------------------------------------------------------------------------------------------


def test_a_picture(trained, tmp_path, capsys):
    image = pytest.importorskip("PIL.Image")
    out = tmp_path / "route.png"
    assert run("render", trained, "--out", out) == 0
    assert str(out) in capsys.readouterr().out
    with image.open(out) as picture:
        assert (picture.format, picture.size) == ("PNG", (480, 480))
        assert len(picture.getcolors(2**20)) > 10
    assert [path.name for path in tmp_path.iterdir()] == ["route.png"]


def test_a_film(trained, tmp_path, monkeypatch):
    image = pytest.importorskip("PIL.Image")
    shade = iter(range(0, 250, 2))
    monkeypatch.setattr(envs.pictures, "picture", lambda *drawn: np.full((4, 4, 3), next(shade), dtype=np.uint8))
    out = tmp_path / "route.gif"
    assert run("render", trained, "--out", out) == 0
    with image.open(out) as film:
        assert film.format == "GIF"
        assert film.n_frames > 5


def test_other_pictures_are_refused_before_the_agent_is_read(tmp_path, capsys):
    assert run("render", tmp_path / "none.zip", "--out", tmp_path / "route.bmp") == 1
    err = capsys.readouterr().err
    assert_one_paragraph(err)
    assert ".png" in err


# ---- what can be wrong -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words", [("train", "shp"), ("evaluate", "a.zip", "--task", "shp"), ("render", "a.zip", "--task", "shp")]
)
def test_an_unknown_task_is_answered_with_the_known_ones(capsys, words):
    assert run(*words) == 2
    err = capsys.readouterr().err
    assert_one_paragraph(err)
    assert "the tasks are ship, spraying, pendulum, cartpole" in err


@pytest.mark.parametrize("command", ["evaluate", "render"])
def test_a_missing_file(command, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run(command, "none.zip") == 1
    err = capsys.readouterr().err
    assert_one_paragraph(err)
    assert "none.zip" in err
    assert list(tmp_path.iterdir()) == []


def spoil(trained: Path, damage: str) -> bytes:
    """What is left of an agent's file."""
    whole = trained.read_bytes()
    return {
        "empty": b"",
        "text": b"an agent, once",
        "half": whole[: len(whole) // 2],
        "a flipped byte": whole[:5000] + bytes([whole[5000] ^ 255]) + whole[5001:],
    }[damage]


@pytest.mark.parametrize("damage", ["empty", "text", "half", "a flipped byte"])
def test_a_damaged_agent(trained, tmp_path, capsys, damage):
    path = tmp_path / "bad.zip"
    path.write_bytes(spoil(trained, damage))
    before = path.read_bytes()
    for words in (
        ("evaluate", path),
        ("render", path, "--out", tmp_path / "r.png"),
        ("train", "ship", "--resume", path),
    ):
        assert run(*words) == 1
        err = capsys.readouterr().err
        assert_one_paragraph(err)
        assert "bad.zip" in err
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["bad.zip"]


@pytest.mark.parametrize("missing", ["policy/log_std", "observed/mean", "history/reward", "facts"])
def test_an_agent_that_lacks_something(trained, tmp_path, capsys, missing):
    with np.load(trained) as data:
        kept = {name: data[name] for name in data.files if name != missing}
    with (tmp_path / "bad.zip").open("wb") as stream:
        np.savez(stream, **kept)
    assert run("evaluate", tmp_path / "bad.zip") == 1
    err = capsys.readouterr().err
    assert_one_paragraph(err)
    assert "damaged" in err


def test_targets_are_looked_at_before_anything_is_learned(trained, tmp_path, capsys, monkeypatch):
    def never(*_: Any, **__: Any) -> None:
        raise AssertionError("nothing is learned")

    monkeypatch.setattr(rl.SICPPO, "learn", never)
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    for out in (tmp_path / "file" / "ship.zip", tmp_path / "folder"):
        for words in (("train", "ship"), ("render", trained)):
            if words[0] == "train" or out.suffix:
                picture = out.with_suffix(".png") if words[0] == "render" else out
                assert run(*words, "--out", picture) == 1
                assert_one_paragraph(capsys.readouterr().err)
    monkeypatch.setattr("os.access", lambda path, mode: False)
    assert run("train", "ship", "--out", tmp_path / "ship.zip") == 1
    err = capsys.readouterr().err
    assert_one_paragraph(err)
    assert "cannot be written" in " ".join(err.split())


def test_folders_are_made(trained, tmp_path):
    assert run("render", trained, "--out", tmp_path / "new" / "folder" / "route.png") == 0
    assert (tmp_path / "new" / "folder" / "route.png").stat().st_size > 0


def test_an_unknown_device(tmp_path, capsys):
    assert run("train", "ship", "--device", "abacus", "--out", tmp_path / "ship.zip") == 1
    err = capsys.readouterr().err
    assert_one_paragraph(err)
    assert "abacus" in err


def test_without_torch(tmp_path, capsys, monkeypatch, trained):
    for name in [name for name in sys.modules if name in ("rl.si_cppo", "rl.policies")]:
        monkeypatch.delitem(sys.modules, name)
    real = builtins.__import__

    def missing(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.partition(".")[0] == "torch":
            raise ModuleNotFoundError(f"No module named {name!r}", name="torch")
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", missing)
    for words in (("train", "ship", "--out", tmp_path / "s.zip"), ("evaluate", trained), ("render", trained)):
        assert run(*words) == 1
        err = capsys.readouterr().err
        assert_one_paragraph(err)
        assert "lsip[rl]" in err
    assert list(tmp_path.iterdir()) == []


def test_without_matplotlib_there_is_no_picture(trained, tmp_path, capsys, monkeypatch):
    real = builtins.__import__

    def missing(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.partition(".")[0] == "matplotlib":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", missing)
    assert run("render", trained, "--out", tmp_path / "r.png") == 1
    err = capsys.readouterr().err
    assert_one_paragraph(err)
    assert "lsip[plot]" in err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("words", [("--steps", "0"), ("--steps", "few"), ("--seed", "-1"), ("--seed", "x")])
def test_numbers_are_checked(capsys, words):
    with pytest.raises(SystemExit) as end:
        run("train", "ship", *words)
    assert end.value.code == 2
    assert words[0] in capsys.readouterr().err


@pytest.mark.parametrize("command", ["train", "evaluate", "render"])
def test_help(command, capsys):
    with pytest.raises(SystemExit) as end:
        run(command, "--help")
    assert end.value.code == 0
    assert "Exit code" in capsys.readouterr().out


def test_another_task_is_one_more_entry(tmp_path, monkeypatch, capsys):
    def constraint() -> rl.SemiInfiniteCost:
        return rl.SemiInfiniteCost(
            lsip.Interval(0, 1), lambda y, observations, actions: np.abs(y) * np.ones(len(observations)), 1000.0
        )

    task = tasks.Task("Balancing a pole", "CartPole-v1", constraint, 100, copies=2, settings={**QUICK, "episodes": 2})
    monkeypatch.setitem(tasks.TASKS, "pole", task)
    out = tmp_path / "pole.zip"
    assert run("train", "pole", "--out", out, "--quiet") == 0
    assert run("evaluate", out, "--task", "pole", "--episodes", 2, "--json") == 0
    assert json.loads(capsys.readouterr().out)["y"] == [1.0]
    assert run("evaluate", out) == 1  # of other observations
    assert_one_paragraph(capsys.readouterr().err)
