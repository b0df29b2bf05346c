"""The command line: exit codes, and one readable paragraph whatever goes wrong."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest

import lsip
from lsip import cli
from lsip.cli import bench, entry
from lsip.oracles.choice import ORACLES

GOOD = """
    import numpy as np, lsip
    x = lsip.Variable(2, name="x")
    t = lsip.Index("t", lsip.Interval(0, 1))
    problem = lsip.Problem(lsip.minimize(x[0] + x[1] / 2), [lsip.forall(t, x[0] + x[1] * t >= np.exp(t))])
"""
INFEASIBLE = """
    import lsip
    x = lsip.Variable(1, name="x")
    t = lsip.Index("t", lsip.Interval(0, 1))
    problem = lsip.Problem(lsip.minimize(x[0]), [lsip.forall(t, x[0] * (t - 0.5) >= 1)])
"""
UNBOUNDED = """
    import lsip
    x = lsip.Variable(1, name="x")
    t = lsip.Index("t", lsip.Interval(0, 1))
    problem = lsip.Problem(lsip.minimize(x[0]), [lsip.forall(t, x[0] * t <= 1)])
"""

Model = Callable[[str], str]


@pytest.fixture
def model(tmp_path: Path) -> Model:
    """Write a model file and give its path."""

    def write(text: str) -> str:
        path = tmp_path / "model.py"
        path.write_text(textwrap.dedent(text).lstrip())
        return str(path)

    return write


def assert_one_paragraph(text: str) -> None:
    assert text.startswith("lsip: ")
    assert "Traceback" not in text
    assert "\n\n" not in text.strip()
    assert max(map(len, text.splitlines())) <= 160


def test_solve_prints_the_table_and_the_answer(model: Model, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["solve", model(GOOD)]) == 0
    out, err = capsys.readouterr()
    assert not err
    assert "1.85914" in out
    assert "violation" in out
    assert "x = [" in out


def test_solve_takes_the_only_problem_whatever_its_name(model: Model, capsys: pytest.CaptureFixture[str]) -> None:
    renamed = GOOD.replace("problem = ", "tariff = ") + "    same = tariff\n"
    assert cli.main(["solve", model(renamed), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["status"] == "OPTIMAL"


def test_solve_as_json_prints_nothing_else(model: Model, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    saved, picture = tmp_path / "s.npz", tmp_path / "s.png"
    talkative = GOOD + "    print('hello')\n"
    arguments = ["--json", "--tol", "1e-7", "--save", str(saved), "--plot", str(picture)]
    assert cli.main(["solve", model(talkative), *arguments]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["certified"] is True
    assert result["value"] == pytest.approx(1.859141, abs=1e-5)
    assert len(result["x"]["x"]) == 2
    assert all(set(a) == {"constraint", "point", "multiplier"} for a in result["active"])
    assert saved.stat().st_size > 0
    assert picture.read_bytes().startswith(b"\x89PNG")


CVXPY = """
    import cvxpy as cp, numpy as np, lsip
    from lsip.interop.cvxpy import Index, Problem, forall
    x, t = cp.Variable(2, name="x"), Index("t", lsip.Interval(0, 1))
    fit = Problem(cp.Minimize(x[0] + x[1] / 2), [forall(t, x[0] + x[1] * t >= np.exp(t))], name="fit")
"""
CONVEX = CVXPY.replace("x[0] + x[1] / 2", "cp.norm(x)")
PYOMO = """
    import pyomo.environ as pyo
    from pyomo.dae import ContinuousSet
    model = pyo.ConcreteModel("fit")
    model.x = pyo.Var(range(2))
    model.t = ContinuousSet(bounds=(0, 1))
    model.cost = pyo.Objective(expr=model.x[0] + model.x[1] / 2)
    model.above = pyo.Constraint(model.t, rule=lambda m, t: m.x[0] + m.x[1] * t >= pyo.exp(t))
"""
DOORS = {
    "cvxpy": (CVXPY, {"x"}, 1.859141),
    "convex": (CONVEX, {"x"}, None),
    "pyomo": (PYOMO, {"x[0]", "x[1]"}, 1.859141),
}


@pytest.mark.parametrize("door", sorted(DOORS))
def test_models_of_other_languages_are_solved(door: str, model: Model, capsys: pytest.CaptureFixture[str]) -> None:
    text, names, value = DOORS[door]
    assert cli.main(["solve", model(text), "--json", "--tol", "1e-6", "--time-limit", "60"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["certified"]
    assert set(result["x"]) == names
    assert result["name"] == "fit"
    assert value is None or result["value"] == pytest.approx(value, abs=1e-5)
    assert cli.main(["solve", model(text), "--tol", "1e-6"]) == 0
    assert all(f"{name} = " in capsys.readouterr().out for name in sorted(names)[:1])


def test_a_pyomo_model_that_cannot_be_read_is_told_in_a_sentence(
    model: Model, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["solve", model(PYOMO.replace("model.x[1] / 2", "model.x[1] ** 2")), "--quiet"]) == 1
    assert_one_paragraph(capsys.readouterr().err)
    assert cli.main(["solve", model(CONVEX), "--master", "highs", "--quiet"]) == 1
    assert "Unknown option master of a convex model" in " ".join(capsys.readouterr().err.split())


def test_a_saved_solution_is_started_from(model: Model, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    saved, relaxation = tmp_path / "s.npz", tmp_path / "r.mps"
    assert cli.main(["solve", model(GOOD), "--quiet", "--save", str(saved), "--write", str(relaxation)]) == 0
    assert relaxation.read_text().startswith("NAME")
    words = ["--warm-start", str(saved), "--no-polish", "--no-sample-first", "--atol", "1e-6", "--json"]
    assert cli.main(["solve", model(GOOD), *words]) == 0
    assert json.loads(capsys.readouterr().out)["certified"]
    assert cli.main(["solve", model(INFEASIBLE), "--quiet", "--warm-start", str(saved)]) == 1
    assert "the problem has 1" in " ".join(capsys.readouterr().err.split())


def test_solve_writes_a_report_and_says_where(model: Model, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "report.html"
    assert cli.main(["solve", model(GOOD), "--report", str(path)]) == 0
    assert f"The report is in {path}" in capsys.readouterr().out
    assert path.read_text(encoding="utf-8").startswith("<!doctype html>")


@pytest.mark.parametrize("text", [INFEASIBLE, UNBOUNDED])
def test_what_is_impossible_is_reported_too(model: Model, text: str, tmp_path: Path) -> None:
    assert cli.main(["solve", model(text), "--quiet", "--report", str(tmp_path / "r.html")]) == 3
    assert (tmp_path / "r.html").stat().st_size > 10_000


def test_quiet_says_nothing_unless_something_goes_wrong(model: Model, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["solve", model(GOOD), "--quiet"]) == 0
    assert capsys.readouterr() == ("", "")
    assert cli.main(["solve", model(INFEASIBLE), "--quiet"]) == 3
    out, err = capsys.readouterr()
    assert not out
    assert_one_paragraph(err)


def test_the_method_can_be_chosen(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, Any] = {}
    solve = lsip.Problem.solve

    def spy(problem: lsip.Problem, **options: Any) -> lsip.Solution:
        seen.update(options)
        return solve(problem, **options)

    monkeypatch.setattr(lsip.Problem, "solve", spy)
    arguments = ["--master", "highs", "--seed", "7", "--max-iterations", "50", "--time-limit", "20", "--tol", "1e-6"]
    assert cli.main(["solve", model(GOOD), "--quiet", *arguments]) == 0
    assert seen == {
        "verbose": False,
        "master": "highs",
        "seed": 7,
        "max_iterations": 50,
        "time_limit": 20.0,
        "tol": 1e-6,
    }


def test_a_wrong_option_is_told_before_the_model_is_run(model: Model, capsys: pytest.CaptureFixture[str]) -> None:
    talkative = GOOD + "    print('hello')\n"
    for option, expected in (
        (("--master", "nobody"), "no master called 'nobody'"),
        (("--tol", "2"), "between 0 and 1"),
    ):
        with pytest.raises(SystemExit) as stop:
            cli.main(["solve", model(talkative), *option])
        assert stop.value.code == 2
        out, err = capsys.readouterr()
        assert not out
        assert_one_paragraph(err)
        assert expected in " ".join(err.split())


def test_a_limit_of_iterations_is_a_failure_with_advice(model: Model, capsys: pytest.CaptureFixture[str]) -> None:
    hard = "from lsip.cli.clean_air import clean_air\nproblem = clean_air()\n"
    assert cli.main(["solve", model(hard), "--max-iterations", "1", "--quiet"]) == 1
    err = capsys.readouterr().err
    assert_one_paragraph(err)
    assert "max_iterations" in err


def test_a_function_that_fails_during_the_solve_is_the_models_fault(
    model: Model, capsys: pytest.CaptureFixture[str]
) -> None:
    text = """
        import numpy as np, lsip
        x, calls = lsip.Variable(2, name="x"), []
        def a(y):
            calls.append(y)
            if len(calls) > 3:
                raise ValueError("the sensor is off")
            return np.array([[float(v), 1.0] for v in y[:, 0]])
        def b(y):
            return np.array([float(v) + 1 for v in y[:, 0]])
        problem = lsip.Problem(lsip.maximize(x.sum()), [lsip.Family(lsip.Interval(0, 1), a, b).on(x)])
    """
    assert cli.main(["solve", model(text)]) == 1
    err = capsys.readouterr().err
    assert_one_paragraph(err)
    assert 'line 6 (`raise ValueError("the sensor is off")`): ValueError' in " ".join(err.split())
    assert "bug" not in err


@pytest.mark.parametrize("oracle", sorted(ORACLES))
def test_every_oracle_can_be_chosen(model: Model, oracle: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = GOOD.replace("np.exp(t)", "2 - t") if oracle == "support" else GOOD  # it needs rows that are affine in t
    assert cli.main(["solve", model(text), "--json", "--oracle", oracle, "--tol", "1e-2"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["certified"] is (oracle in ("branch-and-bound", "support"))
    assert ORACLES[oracle].__name__ in result["oracle"]


@pytest.mark.parametrize(("text", "word"), [(INFEASIBLE, "infeasible"), (UNBOUNDED, "unbounded")])
def test_proven_impossible_is_exit_code_3(
    model: Model, text: str, word: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["solve", model(text)]) == 3
    err = capsys.readouterr().err
    assert_one_paragraph(err)
    assert word in err
    assert cli.main(["solve", model(text), "--json"]) == 3
    result = json.loads(capsys.readouterr().out)
    assert result["status"] == word.upper()
    assert result["certified"] is True
    assert (result["x"] is None) is (word == "infeasible")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("import numpy as np\n1 / 0\n", "line 2 (`1 / 0`): ZeroDivisionError"),
        ("problem = (\n", "line 1 is not Python"),
        ("raise ValueError\n", "line 1 (`raise ValueError`): ValueError: no message"),
        ("\0\1\2", "is not Python"),
        ("import nowhere_to_be_found\n", "ModuleNotFoundError: No module named 'nowhere_to_be_found'"),
        ("x = 1\n", "declares no lsip.Problem"),
        (
            "problem = 3\n",
            "`problem` must be an lsip.Problem, an lsip.interop.cvxpy.Problem or a Pyomo ConcreteModel; it is of",
        ),
        (GOOD.replace("problem = ", "a = ") + GOOD.replace("problem = ", "b = "), "declares 2 problems (a, b)"),
        (GOOD.replace("x[1] * t", "x[1] * x[0]"), "line 4"),
        (GOOD + "    raise SystemExit('enough')\n", "SystemExit: enough"),
        (GOOD.replace("np.exp(t)", "np.exp(t)[5]"), "line 4"),
    ],
)
def test_a_bad_model_is_told_in_one_paragraph(
    model: Model, text: str, expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["solve", model(text)]) == 1
    out, err = capsys.readouterr()
    assert not out
    assert_one_paragraph(err)
    assert expected in " ".join(err.split())


def test_a_model_may_import_its_neighbours(model: Model, tmp_path: Path) -> None:
    (tmp_path / "neighbour_of_the_model.py").write_text("limit = 3\n")
    before = list(sys.path)
    assert cli.main(["solve", model("    from neighbour_of_the_model import limit" + GOOD), "--json"]) == 0
    assert sys.path == before


@pytest.mark.parametrize(
    ("arguments", "code", "expected"),
    [
        (["solve", "no_such_model.py"], 1, "no file no_such_model.py"),
        (["solve", "."], 1, ". is a directory"),
        (["check", "no_such_proof.json"], 2, "no file no_such_proof.json"),
        (["catalogue", "no such problem anywhere"], 2, "No problem of the catalogue"),
    ],
)
def test_what_does_not_exist_is_told(
    arguments: list[str], code: int, expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(arguments) == code
    err = capsys.readouterr().err
    assert_one_paragraph(err)
    assert expected in err


@pytest.mark.parametrize("option", ["--plot=file.png", "--save=file.npz", "--report=file.html"])
def test_what_cannot_be_written_is_told_before_the_solve(
    model: Model, option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    name, _, file = option.partition("=")
    path = model(GOOD)
    for target, expected in ((f"{path}/{file}", "a file of that name is in the way"), ("file.xyz", "should end in")):
        assert cli.main(["solve", path, name, target]) == 1
        out, err = capsys.readouterr()
        assert not out
        assert_one_paragraph(err)
        assert expected in " ".join(err.split())


def test_folders_are_made_for_what_is_written(model: Model, tmp_path: Path) -> None:
    folder = tmp_path / "new" / "folder"
    assert cli.main(["solve", model(GOOD), "--quiet", "--save", str(folder / "s.npz")]) == 0
    assert [path.name for path in folder.iterdir()] == ["s.npz"]


@pytest.mark.parametrize("below", ["", "sub/folder"])
def test_a_demo_cannot_be_written_into_a_file(model: Model, below: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["demo", "--out", str(Path(model(GOOD)) / below)]) == 1
    out, err = capsys.readouterr()
    assert not out
    assert_one_paragraph(err)
    assert "a file of that name is in the way" in " ".join(err.split())


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["unknown"],
        ["solve"],
        ["solve", "m.py", "--tol", "-1"],
        ["solve", "m.py", "--tol", "small"],
        ["solve", "m.py", "--oracle", "delphi"],
        ["solve", "m.py", "--seed", "-1"],
        ["solve", "m.py", "--max-iterations", "0"],
        ["solve", "m.py", "--unknown"],
    ],
)
def test_wrong_usage_is_exit_code_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        cli.main(arguments)
    assert stop.value.code == 2
    err = capsys.readouterr().err
    assert_one_paragraph(err)
    command = "lsip solve --help" if arguments[:1] == ["solve"] else "lsip --help"
    assert f"`{command}`" in err, "the hint is on one line, to be copied"


@pytest.mark.parametrize("command", [[], ["demo"], ["solve"], ["catalogue"], ["bench"]])
def test_every_help_has_an_example_and_the_exit_codes(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        cli.main([*command, "--help"])
    assert stop.value.code == 0
    out = capsys.readouterr().out
    assert "example" in out
    assert f"  lsip {' '.join(command)}".rstrip() in out
    assert "exit code: 0" in out
    assert max(map(len, out.splitlines())) <= 80


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        cli.main(["--version"])
    assert stop.value.code == 0
    assert capsys.readouterr().out == f"{lsip.info()}\n"
    assert f"lsip {lsip.__version__}\nkernel: " in str(lsip.info())


def test_a_time_limit_is_a_failure_with_advice(model: Model, capsys: pytest.CaptureFixture[str]) -> None:
    hard = "from lsip.cli.clean_air import clean_air\nproblem = clean_air()\n"
    assert cli.main(["solve", model(hard), "--time-limit", "1e-9"]) == 1
    assert_one_paragraph(capsys.readouterr().err)


def test_interruption_is_exit_code_130(
    model: Model, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["solve", model("raise KeyboardInterrupt\n")]) == 130
    assert_one_paragraph(capsys.readouterr().err)

    def interrupt(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(lsip.Problem, "solve", interrupt)
    assert cli.main(["solve", model(GOOD)]) == 130
    assert_one_paragraph(capsys.readouterr().err)


def test_a_bug_is_one_paragraph_too(
    model: Model, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise RuntimeError("wires crossed")

    monkeypatch.setattr(lsip.Problem, "solve", fail)
    assert cli.main(["solve", model(GOOD)]) == 1
    err = capsys.readouterr().err
    assert_one_paragraph(err)
    assert "wires crossed" in err


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
def test_ctrl_c_while_a_model_loads_ends_a_real_process_quietly(model: Model) -> None:
    path = model("import time\nprint('loading', flush=True)\ntime.sleep(30)\n")
    command = [sys.executable, "-m", "lsip", "solve", path]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "loading\n"
        time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=20)
    assert process.returncode == 130
    assert_one_paragraph(err)


def test_catalogue_lists_searches_and_solves(capsys: pytest.CaptureFixture[str]) -> None:
    from lsip.catalogue import entries

    assert cli.main(["catalogue"]) == 0
    listed = capsys.readouterr().out
    assert all(entry.name in listed for entry in entries())
    easy = next(entry for entry in entries() if entry.status == "optimal" and entry.slater)
    assert cli.main(["catalogue", easy.name, "--json"]) == 0
    assert easy.name in [row["name"] for row in json.loads(capsys.readouterr().out)]
    assert cli.main(["catalogue", "--tag", easy.tags[0]]) == 0
    assert easy.name in capsys.readouterr().out


def test_catalogue_solves_and_compares(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    from dataclasses import replace

    from lsip import catalogue

    entry = next(entry for entry in catalogue.entries() if entry.status == "optimal" and entry.slater)
    monkeypatch.setattr(catalogue, "search", lambda text, tags: (entry,))
    assert cli.main(["catalogue", "--solve"]) == 0
    assert "agree" in capsys.readouterr().out
    wrong = replace(entry, value=entry.value + 1)
    monkeypatch.setattr(catalogue, "search", lambda text, tags: (wrong,))
    assert cli.main(["catalogue", "--solve", "--json"]) == 1
    out, err = capsys.readouterr()
    assert json.loads(out)[0]["agrees"] is False
    assert_one_paragraph(err)


def test_demo_models_solves_verifies_and_draws(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["demo", "--out", str(tmp_path / "new")]) == 0
    out = capsys.readouterr().out
    assert "minimize" in out
    assert "certified" in out
    assert "re-checked" in out
    assert (tmp_path / "new" / "demo.png").read_bytes().startswith(b"\x89PNG")
    assert "demo.html" in out
    assert (tmp_path / "new" / "demo.html").read_text(encoding="utf-8").startswith("<!doctype html>")


def test_demo_as_json_prints_nothing_else(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["demo", "--json", "--out", str(tmp_path)]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["certified"] is True
    assert result["name"] == "clean air"


def _greet(commands: Any) -> None:
    parser = commands.add_parser("greet", help="say hello")
    parser.set_defaults(run=lambda options: print("hello") or 0)


def _broken(commands: Any) -> None:
    raise ImportError("torch is not installed")


def test_other_packages_add_commands(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    points = [
        EntryPoint("greet", f"{__name__}:_greet", "lsip.commands"),
        EntryPoint("train", f"{__name__}:_broken", "lsip.commands"),
    ]
    monkeypatch.setattr(entry, "entry_points", lambda group: points if group == "lsip.commands" else [])
    assert cli.main(["greet"]) == 0
    assert capsys.readouterr().out == "hello\n"
    assert cli.main(["train", "ship", "--steps", "3"]) == 1
    err = capsys.readouterr().err
    assert_one_paragraph(err)
    assert "torch is not installed" in err


def test_benchmarks_are_listed_and_run(capfd: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["bench", "--json"]) == 0
    listed = json.loads(capfd.readouterr().out)
    assert {"lsip", "separation"} <= {row["name"] for row in listed}
    assert all(row["title"] for row in listed)
    assert cli.main(["bench", "lsip", "--quick", "--json", "--only", "abs_d2"]) == 0
    figures = json.loads(capfd.readouterr().out)
    assert figures["benchmark"] == "lsip"
    assert cli.main(["bench", "soundness", "--json", "--only", "interval", "--tries", "1", "--seed", "7"]) == 0
    figures = json.loads(capfd.readouterr().out)
    assert (figures["seed"], figures["summary"]["tries"]) == (7, 1)
    assert cli.main(["bench", "no_such_benchmark"]) == 2
    err = capfd.readouterr().err
    assert_one_paragraph(err)
    assert "choose from ablation, certify, check," in err


def test_benchmarks_need_a_checkout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bench, "PACKAGE", tmp_path)
    monkeypatch.chdir(tmp_path)
    assert cli.main(["bench"]) == 1
    err = capsys.readouterr().err
    assert_one_paragraph(err)
    assert "checkout" in err


def run_process(*words: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "lsip", *words]
    return subprocess.run(command, capture_output=True, env={**os.environ, **environment}, check=False, timeout=60)


def test_a_terminal_that_cannot_spell_mathematics_is_no_error(model: Model) -> None:
    done = run_process("solve", model(GOOD), PYTHONIOENCODING="ascii")
    assert done.returncode == 0, done.stderr
    assert b"x[0] + x[1] t >= exp(t)" in done.stdout


def test_output_that_is_no_terminal_has_no_colours_and_no_bar(model: Model) -> None:
    done = run_process("catalogue", "abs_d2", "--solve", FORCE_COLOR="1", TERM="xterm")
    assert done.returncode == 0
    assert done.stderr == b""
    assert b"\x1b" not in done.stdout
    assert b"\r" not in done.stdout


@pytest.mark.skipif(os.name == "nt", reason="POSIX pipes")
def test_a_reader_that_goes_away_is_no_error(model: Model) -> None:
    for words in (["catalogue"], ["solve", model(GOOD)]):
        command = [sys.executable, "-m", "lsip", *words]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            process.stdout.close()
            assert process.stderr.read() == b""
        assert process.returncode == 0


@pytest.mark.skipif(os.name == "nt", reason="POSIX terminals")
def test_a_terminal_sees_a_bar_that_is_removed() -> None:
    import pty

    master, slave = pty.openpty()
    command = [sys.executable, "-m", "lsip", "catalogue", "abs_d2", "--solve"]
    environment = {**os.environ, "TERM": "xterm"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=slave, env=environment) as process:
        os.close(slave)
        assert process.stdout is not None
        out = process.stdout.read()
    drawn = os.read(master, 65536).decode()
    os.close(master)
    assert b"all 1 agree" in out
    assert re.search(r"\[\.{20,}\] 0/1", drawn)
    assert drawn.endswith("\r")
    assert not drawn.split("\r")[-2].strip(), "blanks over the bar"
