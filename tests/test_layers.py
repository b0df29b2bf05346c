"""Who may import whom: the layers of the house, read from the source with `ast`, so that nothing needs to be installed.

An import at module level costs everyone who imports the package; one inside a function (or under `TYPE_CHECKING`) costs
only those who call it. Layer rules hold for both; rules about outside packages depend on where the import stands.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("lsip", "rl", "envs")
OURS = (*PACKAGES, "tests", "benchmarks")

CORE = {"numpy", "scipy", "highspy"}  # what lsip may import at module level, besides the standard library
SLOW = ("scipy.stats", "scipy.optimize")  # parts of the core that would make `import lsip` slow
OWNERS = {  # optional packages: the only files of lsip that may import them, inside functions
    "matplotlib": {"lsip/plotting.py"},
    "gurobipy": {"lsip/masters/gurobi.py"},
    "cvxpy": {"lsip/discretise.py", "lsip/masters/cvxpy.py", "lsip/interop/cvxpy/package.py"},
    "pyomo": {
        "lsip/masters/pyomo.py",
        *(
            f"lsip/interop/pyomo/{room}.py"
            for room in ("asked", "continuum", "formula", "model", "results", "solver", "tracing")
        ),
    },
}
ONLY = {  # a room of lsip: all that it may import from other rooms
    "lsip.errors": set(),
    "lsip.domains": {"lsip.errors"},
    "lsip.expressions": {"lsip.errors", "lsip.domains"},
}
NEVER = {  # a room: what it must not import
    "lsip": ("rl", "envs", "tests", "benchmarks"),
    "rl": ("envs", "tests", "benchmarks"),
    "envs": ("tests", "benchmarks"),
    "lsip.oracles": ("lsip.exchange", "lsip.masters", "lsip.problem"),
}
DOOR = "lsip.cli"  # the outermost room: nothing imports it but `python -m lsip`


@dataclass(frozen=True)
class Import:
    """One module that a file imports, by its absolute name."""

    module: str
    line: int
    lazy: bool  # inside a function, or for the type checker only

    def within(self, package: str) -> bool:
        return self.module == package or self.module.startswith(package + ".")


def module_name(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def imports(path: str, source: str) -> list[Import]:
    """All imports of a file; `from a import b` counts as a.b, because b may be a module."""
    name = module_name(path)
    package = name if path.endswith("/__init__.py") else name.rpartition(".")[0]
    return list(_walk(ast.parse(source, path), package, lazy=False))


def _walk(node: ast.AST, package: str, lazy: bool) -> Iterator[Import]:
    if isinstance(node, ast.Import):
        yield from (Import(alias.name, node.lineno, lazy) for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        parents = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
        base = ".".join([*parents, *([node.module] if node.module else [])])
        yield from (Import(f"{base}.{alias.name}", node.lineno, lazy) for alias in node.names)
    elif isinstance(node, ast.Call) and _is_dynamic(node):
        yield from (Import(str(a.value), node.lineno, lazy) for a in node.args[:1] if isinstance(a, ast.Constant))
    if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
        for child in node.body:
            yield from _walk(child, package, lazy=True)
        for child in node.orelse:
            yield from _walk(child, package, lazy)
        return
    inner = lazy or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
    for child in ast.iter_child_nodes(node):
        yield from _walk(child, package, inner)


def _is_dynamic(call: ast.Call) -> bool:
    return ast.unparse(call.func) in {"__import__", "import_module", "importlib.import_module"}


def room(module: str) -> str:
    """The part of a package that a module belongs to: lsip.oracles.grid is in lsip.oracles."""
    return ".".join(module.split(".")[:2])


def complaints(files: dict[str, str]) -> list[str]:
    """Every broken rule in the given sources, by path, as a sentence."""
    found = []
    for path, source in files.items():
        for item in imports(path, source):
            found += [f"{path}:{item.line} imports {item.module}: {why}" for why in _broken(path, item)]
    return sorted(set(found))


def _broken(path: str, item: Import) -> Iterator[str]:
    name = module_name(path)
    here = room(name)
    for package, banned in NEVER.items():
        if name == package or name.startswith(package + "."):
            yield from (f"{package} must not import {other}" for other in banned if item.within(other))
    if item.within(DOOR) and not name.startswith(DOOR) and name != "lsip.__main__":
        yield "nothing imports the command line"
    if here in ONLY and item.within("lsip") and not any(item.within(other) for other in ONLY[here] | {here}):
        yield f"{here} may import only {', '.join(sorted(ONLY[here] | {here}))}"
    if name == "lsip" or name.startswith("lsip."):
        yield from _outside(path, item)


def _outside(path: str, item: Import) -> Iterator[str]:
    """The rules of lsip on packages that are not ours."""
    top = item.module.partition(".")[0]
    if top in OURS or top in sys.stdlib_module_names:
        return
    if top in CORE:
        if not item.lazy and any(item.within(slow) for slow in SLOW):
            yield "it is slow to import; do so inside the function that needs it"
    elif path not in OWNERS.get(top, set()):
        owners = ", ".join(sorted(OWNERS.get(top, set()))) or "none"
        yield f"outside packages live in the file that owns them ({owners})"
    elif not item.lazy:
        yield "an optional package is imported inside the function that needs it"


def sources() -> dict[str, str]:
    """All files of the three packages, by path from the root."""
    paths = (path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py")))
    return {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in paths}


def test_every_import_keeps_to_the_layers() -> None:
    files = sources()
    assert {"lsip/domains/base.py", "rl/__init__.py", "envs/__init__.py"} <= set(files)
    assert complaints(files) == []


PLANTED = {
    "lsip must not import rl": ("lsip/problem.py", "import rl"),
    "lsip must not import envs": ("lsip/catalogue/a.py", "def f():\n    from envs.ship import Ship"),
    "lsip must not import benchmarks": (
        "lsip/a.py",
        "from importlib import import_module\nimport_module('benchmarks.x')",
    ),
    "rl must not import envs": ("rl/updates/npg.py", "import envs as e"),
    "lsip.domains may import only lsip.domains, lsip.errors": ("lsip/domains/ball.py", "from ..problem import Problem"),
    "lsip.domains may import only": ("lsip/domains/ball.py", "import lsip"),
    "lsip.expressions may import only": ("lsip/expressions/graph.py", "from .. import oracles"),
    "lsip.errors may import only": ("lsip/errors.py", "from .domains import Box"),
    "lsip.oracles must not import lsip.exchange": ("lsip/oracles/grid.py", "from ..exchange import Exchange"),
    "lsip.oracles must not import lsip.masters": ("lsip/oracles/grid.py", "from ..masters.highs import Highs"),
    "lsip.oracles must not import lsip.problem": ("lsip/oracles/grid.py", "from lsip import problem"),
    "nothing imports the command line": ("lsip/__init__.py", "from .cli import main"),
    "(none)": ("lsip/program.py", "import pandas"),
    "outside packages live in the file that owns them (lsip/plotting.py)": (
        "lsip/solution.py",
        "def plot():\n    import matplotlib.pyplot",
    ),
    "inside the function": ("lsip/plotting.py", "from matplotlib import pyplot"),
    "slow to import": ("lsip/cover.py", "from scipy import optimize"),
}


@pytest.mark.parametrize("rule", PLANTED)
def test_a_planted_bad_import_is_caught(rule: str) -> None:
    path, source = PLANTED[rule]
    found = complaints({path: source})
    assert len(found) == 1, found
    assert rule in found[0]
    assert found[0].startswith(f"{path}:")


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("lsip/domains/product.py", "from ..errors import ModelError\nfrom .base import Domain\nfrom .. import errors"),
        ("lsip/domains/__init__.py", "from .base import Domain"),
        ("lsip/expressions/graph.py", "import numpy as np\nfrom ..domains import Domain"),
        ("lsip/plotting.py", "def f():\n    from matplotlib import pyplot"),
        ("lsip/plotting.py", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import matplotlib"),
        ("lsip/masters/highs.py", "import highspy\nimport scipy.sparse as sp"),
        ("lsip/hull.py", "def f():\n    from scipy.optimize import linprog"),
        ("lsip/__main__.py", "from .cli import main"),
        ("rl/policies.py", "import torch\nimport lsip"),
        ("envs/ship.py", "import rl\nimport gymnasium"),
    ],
)
def test_a_good_import_passes(path: str, source: str) -> None:
    assert complaints({path: source}) == []


def test_importing_lsip_loads_nothing_slow() -> None:
    code = "import sys, lsip, lsip.domains; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT).stdout
    assert "lsip.domains" in loaded.split()
    assert not {*SLOW, "matplotlib", "torch", "cvxpy", "pyomo", "ray"} & set(loaded.split())
