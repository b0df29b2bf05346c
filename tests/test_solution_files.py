"""Solutions on disk: read back only for the model that they belong to, written completely or not at all."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import lsip
from lsip.model.fingerprint import fingerprint

Build = Callable[..., lsip.Problem]


def curve(
    factor: float = 2.0,
    end: float = 1.0,
    cost: float = 0.5,
    upper: float = 9.0,
    limit: float = 7.0,
    name: str = "x",
    maximise: bool = False,
) -> lsip.Problem:
    """A line above a curve; every argument is something that the fingerprint has to see, but for the name."""
    x, t = lsip.Variable(2, name=name, lower=-9, upper=upper), lsip.Index("t", lsip.Interval(0, end))
    objective = x[0] + cost * x[1]
    return lsip.Problem(
        lsip.maximize(-objective) if maximise else lsip.minimize(objective),
        [lsip.forall(t, x[0] + x[1] * t >= factor * np.sin(t)), x[0] + x[1] <= limit],
    )


def black_box(factor: float = 1.0) -> lsip.Problem:
    x = lsip.Variable(2, name="x", lower=-9, upper=9)

    def a(y: np.ndarray) -> np.ndarray:
        return np.array([[-1.0, -float(v)] for v in y[:, 0]])

    def b(y: np.ndarray) -> np.ndarray:
        return np.array([-factor * float(np.sin(v)) for v in y[:, 0]])

    return lsip.Problem(lsip.minimize(x[0] + x[1] / 2), [lsip.Family(lsip.Interval(0, 1), a, b).on(x)])


def saved(problem: Any, path: Path) -> Path:
    problem.solve(verbose=False, tol=1e-4).save(path)
    return path


DIFFERENT: dict[str, tuple[dict[str, Any], str]] = {
    "formula": ({"factor": 5.0}, "the constraints over index points"),
    "barely another constant": ({"factor": 2.0 + 1e-12}, "the constraints over index points"),
    "index set": ({"end": 2.0}, "the constraints over index points"),
    "cost": ({"cost": 0.6}, "the objective"),
    "sense": ({"maximise": True}, "the objective"),
    "bounds": ({"upper": 8.0}, "the bounds of the variables"),
    "finite row": ({"limit": 6.0}, "the finite constraints"),
}


@pytest.mark.parametrize("case", sorted(DIFFERENT))
def test_a_solution_of_another_model_is_refused(case: str, tmp_path: Path) -> None:
    changes, expected = DIFFERENT[case]
    path = saved(curve(), tmp_path / "s.npz")
    with pytest.raises(lsip.ModelError, match=rf"solution of another model: {expected}.* differ"):
        lsip.Solution.load(path, curve(**changes))
    assert lsip.Solution.load(path, curve(name="z")).verify().certified, "names are not content"


def test_functions_without_a_formula_are_known_by_their_values(tmp_path: Path) -> None:
    path = saved(black_box(), tmp_path / "s.npz")
    assert lsip.Solution.load(path, black_box()).x.shape == (2,)
    with pytest.raises(lsip.ModelError, match="another model"):
        lsip.Solution.load(path, black_box(1.001))


def test_programs_are_read_back_too(tmp_path: Path) -> None:
    family = lsip.Family(lsip.Interval(0, 1), lambda y: -(y ** np.arange(2)), lambda y: -np.exp(y[:, 0]))
    programs = [
        lsip.Program.from_arrays([1, c], bounds=(-9, 9), families=[family], A_ub=sparse.eye(2), b_ub=[5, 5])
        for c in (0.5, 0.5, 0.6)
    ]
    path = saved(programs[0], tmp_path / "s.npz")
    assert lsip.Solution.load(path, programs[1]).verify().certified
    with pytest.raises(lsip.ModelError, match="another model"):
        lsip.Solution.load(path, programs[2])


EVERYTHING = """
import json
import numpy as np, lsip
from lsip.model.fingerprint import fingerprint

x, w = lsip.Variable(3, name="x", lower=0), lsip.Variable((2, 2), name="w", upper=1)
t, y = lsip.Index("t", lsip.Interval(0, 1) | lsip.Interval(2, 3)), lsip.Index("y", lsip.Ball([0, 0], 1))
p = lsip.Index("p", lsip.Polytope([[-1, 0], [0, -1], [1, 1]], [0, 0, 1]))
big = np.random.default_rng(0).normal(size=(100, 2))
problem = lsip.Problem(
    lsip.minimize(x.sum() + w.sum()),
    [
        lsip.forall(t, x @ t ** np.arange(3) >= np.where(t > 0.5, np.sin(t), np.abs(t - 0.2) ** 1.5)),
        lsip.forall((t, y), w @ y + t >= -np.maximum(y[0], y[1])),
        lsip.forall(p, x[0] >= np.prod(p ** np.array([2, 1])) + (big @ p).max()),
        x[0] + w[0, 0] == 1,
    ],
)
found = json.dumps(fingerprint(problem.compile()))
"""


def test_fingerprints_are_the_same_in_every_session() -> None:
    names: dict[str, Any] = {}
    exec(EVERYTHING, names)
    command, environment = [sys.executable, "-c", EVERYTHING + "print(found)"], {**os.environ, "PYTHONHASHSEED": "7"}
    other = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert json.loads(other.stdout) == json.loads(names["found"])
    assert len(set(json.loads(names["found"]).values())) == 6


def test_equal_numbers_of_another_kind_make_the_same_model() -> None:
    assert fingerprint(curve(end=1.0, limit=7.0).compile()) == fingerprint(curve(end=1, limit=7).compile())


def test_a_file_without_a_fingerprint_is_refused(tmp_path: Path) -> None:
    path = saved(curve(), tmp_path / "s.npz")
    with np.load(path) as data:
        arrays = dict(data)
    facts = json.loads(str(arrays["facts"]))
    del facts["model"]
    arrays["facts"] = np.array(json.dumps(facts))
    np.savez(path, **arrays)
    with pytest.raises(lsip.ModelError, match=r"did not store which model it belongs to\. Solve the model again"):
        lsip.Solution.load(path, curve())


@pytest.mark.parametrize("wrong", [3, "model.py", lsip.Interval(0, 1)])
def test_only_models_have_solutions(wrong: Any, tmp_path: Path) -> None:
    path = saved(curve(), tmp_path / "s.npz")
    with pytest.raises(lsip.ModelError, match=r"lsip\.Problem or an lsip\.Program is needed"):
        lsip.Solution.load(path, wrong)


WRITERS: dict[str, Callable[[lsip.Solution, Any], Any]] = {
    "save": lambda s, path: s.save(path),
    "report": lambda s, path: s.report(path),
    "plot": lambda s, path: s.plot(path),
    "export": lambda s, path: s.export(path),
    "problem": lambda s, path: s.problem.save(path),
}


@pytest.mark.parametrize("writer", sorted(WRITERS))
def test_what_cannot_be_written_is_one_error_and_leaves_nothing(writer: str, tmp_path: Path) -> None:
    solution, write = curve().solve(verbose=False), WRITERS[writer]
    folder = tmp_path / "folder"
    folder.mkdir()
    with pytest.raises(lsip.ModelError, match=r"is a directory; name a file in it"):
        write(solution, folder)
    with pytest.raises(lsip.ModelError, match=r"There is no directory .* to write file\.png to; make it first"):
        write(solution, tmp_path / "none" / "file.png")
    with pytest.raises(lsip.ModelError, match=r"A file name such as .* is needed; got 3"):
        write(solution, 3)
    assert [path.name for path in tmp_path.rglob("*")] == ["folder"]


@pytest.mark.parametrize("writer", sorted(WRITERS))
def test_a_full_disk_keeps_the_old_file(writer: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    solution, path = curve().solve(verbose=False), tmp_path / "file.png"
    path.write_text("old")

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(lsip.ModelError, match=r"file.png cannot be written: No space left on device\."):
        WRITERS[writer](solution, path)
    assert [p.name for p in tmp_path.iterdir()] == ["file.png"]
    assert path.read_text() == "old"


def test_variables_by_name() -> None:
    x, s, auto = lsip.Variable((2, 2), name="x", lower=1), lsip.Variable(name="s", lower=2), lsip.Variable(2, lower=3)
    solution = lsip.Problem(lsip.minimize(x.sum() + s + auto.sum())).solve(verbose=False)
    assert solution["x"].shape == (2, 2)
    assert solution["s"] == solution[s]
    assert (solution[auto.name] == solution[auto]).all()
    with pytest.raises(lsip.ModelError, match=r"no variable called 'y'; the variables are x, s, x\d+"):
        solution["y"]


def test_two_variables_of_one_name_are_refused() -> None:
    a, b, t = lsip.Variable(name="x"), lsip.Variable(2, name="x"), lsip.Index("t", lsip.Interval(0, 1))
    with pytest.raises(lsip.ModelError, match="Two variables of the problem are called 'x'"):
        lsip.Problem(lsip.minimize(a), [lsip.forall(t, a + t * b[0] >= 1)])
    lsip.Problem(lsip.minimize(lsip.Variable() + lsip.Variable()))  # names that nobody gave are different


# ---- a file is believed nothing --------------------------------------------------------------------------------------


def test_what_is_read_is_proven_or_not_called_certified(tmp_path: Path) -> None:
    path = saved(curve(), tmp_path / "s.npz")
    loaded = lsip.Solution.load(path, curve())
    assert loaded.certified
    assert loaded.violation_proven
    doubtful = lsip.Solution.load(path, curve(), verify=False)
    assert not doubtful.certified
    assert not doubtful.violation_proven
    assert "not checked yet" in str(doubtful)
    proven = doubtful.verify()
    assert proven.certified
    assert str(proven) == str(loaded)


def test_a_forged_file_is_refused_at_once(tmp_path: Path) -> None:
    path = saved(curve(), tmp_path / "s.npz")
    with np.load(path) as data:
        arrays = dict(data)
    arrays["numbers"][0] += 1e-6  # the lower bound
    np.savez(path, **arrays)
    with pytest.raises(lsip.ProofError, match="lower bound"):
        lsip.Solution.load(path, curve())
    assert not lsip.Solution.load(path, curve(), verify=False).certified


def test_how_far_below_zero_violations_are_is_not_believed(tmp_path: Path) -> None:
    """A check proves that no constraint is broken; a margin that a file claims besides is no part of it."""
    path = saved(curve(), tmp_path / "s.npz")
    with np.load(path) as data:
        arrays = dict(data)
    assert arrays["violation"] < 0
    for factor in (1.1, 1e6, np.inf):
        np.savez(path, **arrays | {"violation": factor * arrays["violation"]})
        loaded = lsip.Solution.load(path, curve())
        assert loaded.certified
        assert curve().worst_violation(loaded.x).value <= loaded.max_violation <= 0


def test_answers_that_are_no_proofs_are_read_as_what_they_are(tmp_path: Path) -> None:
    stopped = curve().solve(verbose=False, max_iterations=1, sample_first=False, polish=False)
    assert not stopped.certified
    stopped.save(tmp_path / "s.npz")
    loaded = lsip.Solution.load(tmp_path / "s.npz", curve())
    assert (loaded.status, loaded.lower, loaded.message) == (stopped.status, stopped.lower, stopped.message)
    assert not loaded.violation_proven


@pytest.mark.parametrize(
    "change",
    [
        {"maximise": True},
        {"constant": 100.0},
        {"c": np.array([1.0, 0.4])},
        {"lower": np.full(2, -8.0)},
        {"row_upper": np.array([8.0])},
    ],
    ids=lambda change: next(iter(change)),
)
def test_a_program_that_is_not_that_of_the_model_is_refused(change: dict[str, Any]) -> None:
    """Whoever reads value and bounds reads them by the program that is shown."""
    solution = curve().solve(verbose=False)
    forged = replace(solution, program=replace(solution.program, **change))
    with pytest.raises(lsip.ProofError, match="is not that of its model"):
        forged.verify()


# ---- what a solution is one of ---------------------------------------------------------------------------------------


def test_a_solution_has_the_problem_as_it_was_written(tmp_path: Path) -> None:
    problem = curve()
    solution = problem.solve(verbose=False, tol=1e-4)
    assert solution.problem is problem
    assert isinstance(solution.program, lsip.Program)
    assert fingerprint(solution.program) == fingerprint(problem.compile())
    solution.save(tmp_path / "s.npz")
    loaded = lsip.Solution.load(tmp_path / "s.npz", solution.problem)
    assert loaded.problem is problem
    assert loaded.verify().x.tolist() == solution.x.tolist()


def test_without_one_it_has_the_program(tmp_path: Path) -> None:
    program = curve().compile()
    solution = program.solve(verbose=False, tol=1e-4)
    assert solution.problem is solution.program is program
    solution.save(tmp_path / "s.npz")
    assert lsip.Solution.load(tmp_path / "s.npz", solution.problem).problem is program


def test_nothing_is_proven_of_constraints_that_nobody_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    def late(*_: object) -> None:
        raise lsip.OutOfTime("The time is up.")

    monkeypatch.setattr("lsip.solver.linear.LinearRelaxation.__init__", late)  # as it is in the units of a large model
    y, t = lsip.Variable(name="y"), lsip.Index("t", lsip.Interval(0, 1))
    problem = lsip.Problem(lsip.minimize(y), [lsip.forall(t, y >= 2 + np.sin(t))])
    solution = problem.solve(verbose=False, time_limit=1e-9)
    assert solution.status is lsip.Status.TIME_LIMIT
    assert not solution.violation_proven
    assert solution.max_violation == np.inf
