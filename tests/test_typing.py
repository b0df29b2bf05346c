"""What editors and type checkers know: files that say it, read by mypy."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import lsip

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "tests" / "typing"


def complaints(name: str) -> dict[int, str]:
    """The kinds of errors that mypy has for a file, by line."""
    options = ["--strict", "--follow-imports=silent", "--config-file", str(ROOT / "pyproject.toml")]
    command = [sys.executable, "-m", "mypy", *options, f"tests/typing/{name}"]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=600)
    assert found.returncode in (0, 1), found.stdout + found.stderr
    pattern = re.compile(rf"typing/{name}:(\d+): error: (.*)")
    told = {int(line): rest for line, rest in pattern.findall(found.stdout)}
    assert bool(told) == (found.returncode == 1), found.stdout
    return told


@pytest.mark.slow
def test_expressions_and_solutions_have_types() -> None:
    assert complaints("language.py") == {}


@pytest.mark.slow
def test_mistakes_are_seen_before_anything_runs() -> None:
    lines = (FOLDER / "mistakes.py").read_text(encoding="utf-8").splitlines()
    expected = {i: line.rpartition("  # ")[2] for i, line in enumerate(lines, start=1) if "  # " in line}
    found = {line: text.rpartition("[")[2].rstrip("]") for line, text in complaints("mistakes.py").items()}
    assert found == expected


def test_what_is_typed_is_what_happens() -> None:
    """The names that the file of types uses exist, and a model of it solves."""
    x, t = lsip.Variable(3, name="x"), lsip.Index("t", lsip.Interval(0, 1))
    z = lsip.Variable(name="z", lower=0)
    problem = lsip.Problem(lsip.minimize(x.sum() + z), [lsip.forall(t, x[0] + x[1] * t >= t), x >= -1])
    solution = problem.solve(verbose=False)
    assert isinstance(solution[z], float)
    assert solution[x].shape == (3,)
