"""Nothing is used that is newer than the versions that pyproject.toml asks for, as far as their documentation tells.

NumPy, SciPy, pandas and matplotlib say in their docstrings since when a function, a class or a parameter is there. So
every name that our files take from them, and every keyword that they pass, is looked up; `.ci/versions.py` runs the
tests with the oldest versions themselves.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
TOLD = ("numpy", "scipy", "pandas", "matplotlib")  # packages that say `versionadded`
FILES = sorted(
    path for package in ("lsip", "rl", "envs", "benchmarks", "tests") for path in (ROOT / package).rglob("*.py")
)
ADDED = re.compile(r"^( *)\.\. versionadded:: *(\d+(?:\.\d+)*)", re.MULTILINE)
Version = tuple[int, ...]


def version(text: str) -> Version:
    """A version to compare: 2.0.0 is 2.0."""
    numbers = [int(part) for part in text.split(".")]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)


def minimum() -> dict[str, Version]:
    """The oldest version of each package that is asked for, by the extra that has it or by lsip itself."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    asked = [*project["dependencies"], *(line for extra in project["optional-dependencies"].values() for line in extra)]
    found = (re.fullmatch(r"([\w-]+)>=([\d.]+)", line) for line in asked)
    return {match[1]: version(match[2]) for match in found if match}


def names(tree: ast.AST) -> dict[str, str]:
    """What names in a file stand for: np is numpy, `from scipy import sparse` is scipy.sparse."""
    known: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                known[alias.asname or alias.name.partition(".")[0]] = (
                    alias.name if alias.asname else alias.name.partition(".")[0]
                )
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            known |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
    return {name: full for name, full in known.items() if full.partition(".")[0] in TOLD}


def dotted(node: ast.AST) -> str | None:
    if isinstance(node, ast.Name):
        return node.id
    inner = dotted(node.value) if isinstance(node, ast.Attribute) else None
    return None if inner is None else f"{inner}.{node.attr}"  # type: ignore[attr-defined]


def uses(source: str) -> Iterator[tuple[int, str, tuple[str, ...]]]:
    """The line, the full name and the keywords of all that a file takes from these packages."""
    tree = ast.parse(source)
    known = names(tree)
    calls = {id(node.func): node for node in ast.walk(tree) if isinstance(node, ast.Call)}
    for node in ast.walk(tree):
        name = dotted(node) if isinstance(node, ast.Attribute | ast.Name) else None
        first, _, rest = (name or "").partition(".")
        if first in known:
            given = calls[id(node)].keywords if id(node) in calls else []
            full = ".".join(filter(None, [known[first], rest]))
            yield node.lineno, full, tuple(keyword.arg for keyword in given if keyword.arg)


def found(name: str) -> Any:
    """The object of a full name; None for one that is not there, such as a name that a file uses for something else."""
    parts = name.split(".")
    for i in range(len(parts), 0, -1):
        try:
            thing: Any = importlib.import_module(".".join(parts[:i]))
        except ImportError:
            continue
        for part in parts[i:]:
            thing = getattr(thing, part, None)
        return thing
    return None


@cache
def since(name: str) -> dict[str, Version]:
    """Since when a thing is there, under the name "", and those of its parameters that came later."""
    thing = found(name)
    told = "" if inspect.ismodule(thing) else inspect.getdoc(thing) or ""
    added: dict[str, Version] = {}
    for match in ADDED.finditer(told):
        before = told[: match.start()]
        if not match[1] and not re.search(r"^(Parameters|Returns|Notes|Attributes)$", before, re.MULTILINE):
            added.setdefault("", version(match[2]))
        elif match[1] and "\nParameters\n" in before:
            header = re.findall(r"^(\w[\w, ]*?) *(?::.*)?$", before, re.MULTILINE)
            added |= {name.strip(): version(match[2]) for name in (header[-1] if header else "").split(",")}
    return added


def newer(source: str, oldest: dict[str, Version]) -> list[str]:
    """What a file uses that older versions do not have."""
    wrong = set()
    for line, name, keywords in uses(source):
        package = name.partition(".")[0]
        added = since(name) if package in oldest else {}
        for part in ("", *keywords):
            if added.get(part, ()) > oldest[package]:
                what = f"{name}({part}=…)" if part else name
                wrong.add(f"line {line}: {what} is new in {package} {'.'.join(map(str, added[part]))}")
    return sorted(wrong)


@pytest.mark.parametrize("package", ["lsip", "rl", "envs", "benchmarks", "tests"])
def test_nothing_is_newer_than_what_we_ask_for(package):
    oldest = minimum()
    assert set(TOLD) <= set(oldest)
    files = [path for path in FILES if path.is_relative_to(ROOT / package)]
    assert files
    sources = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in files}
    wrong = [f"{path}, {line}" for path, source in sources.items() for line in newer(source, oldest)]
    assert not wrong, "Ask for more in pyproject.toml, or do without:\n" + "\n".join(wrong)


SAMPLES = {
    "function": ("import numpy as np\nnp.matvec(A, x)", "2.0", "line 2: numpy.matvec is new in numpy 2.2"),
    "there by then": ("import numpy as np\nnp.matvec(A, x)", "2.2", None),
    "other name": ("from numpy import unstack as u\nu(x)", "2.0", "line 2: numpy.unstack is new in numpy 2.1"),
    "inside": ("def f():\n    import numpy\n    numpy.vecmat(x, A)", "2.1", "line 3: numpy.vecmat is new in numpy 2.2"),
    "keyword": (
        "import numpy as np\nnp.unique(x, sorted=False)",
        "2.2",
        "line 2: numpy.unique(sorted=…) is new in numpy 2.3",
    ),
    "old keyword": ("import numpy as np\nnp.unique(x, axis=0)", "2.0", None),
}


@pytest.mark.parametrize(("source", "oldest", "wrong"), SAMPLES.values(), ids=list(SAMPLES))
def test_newer_names_are_seen(source, oldest, wrong):
    assert newer(source, {"numpy": version(oldest)}) == ([wrong] if wrong else [])
