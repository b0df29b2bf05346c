"""What editors and type checkers know: files that say it, read by mypy."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
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


def of_any(source: str) -> Iterator[str]:
    """The parameters whose type says nothing, in the order of a file."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            given = node.args
            each = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
            for arg in each:
                if arg is not None and arg.annotation is not None and ast.unparse(arg.annotation) == "Any":
                    yield f"{node.name}({arg.arg})"


def test_parameters_whose_type_says_nothing_are_few() -> None:
    """Any is for what others make and no type of theirs describes; whatever may come is an object."""
    files = [path for folder in ("lsip", "rl", "envs") for path in sorted((ROOT / folder).rglob("*.py"))]
    found = [f"{path.relative_to(ROOT)}: {each}" for path in files for each in of_any(path.read_text(encoding="utf-8"))]
    assert len(found) < 90, "\n".join(found)


def test_a_planted_parameter_of_any_is_counted() -> None:
    planted = "def f(a: Any, /, b: int, *c: Any, d: list[Any], **e: Any):\n    async def g(h: 'Any'): ..."
    assert list(of_any(planted)) == ["f(a)", "f(c)", "f(e)"]
