"""Who may import whom: the layers of the house, read from the source with `ast`, so that nothing needs to be installed.

An import at module level costs everyone who imports the package; one inside a function (or under `TYPE_CHECKING`) costs
only those who call it. Layer rules hold for both; rules about outside packages depend on where the import stands.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("lsip", "rl", "envs")
OURS = (*PACKAGES, "tests", "benchmarks")

CORE = {"numpy", "scipy", "highspy", "clarabel"}  # what lsip may import at module level, besides the standard library
SLOW = ("scipy.stats", "scipy.optimize")  # parts of the core that would make `import lsip` slow
OWNERS = {  # optional packages: the only files of lsip that may import them, inside functions
    "matplotlib": {"lsip/plotting.py"},
    "gurobipy": {"lsip/masters/gurobi.py"},
    "typing_extensions": {"lsip/expressions/affine.py"},  # for the type checker, which has it
    "pandas": {"lsip/solution/frames.py", "lsip/solution/solution.py"},
    "ray": {"lsip/workers/cluster.py"},
    "torch": {"lsip/interop/torch.py"},
    "cvxpy": {"lsip/model/discretisation.py", "lsip/masters/cvxpy.py", "lsip/interop/cvxpy/package.py"},
    "pyomo": {
        "lsip/masters/pyomo.py",
        *(
            f"lsip/interop/pyomo/{room}.py"
            for room in (
                *("evaluation", "continuum", "formula", "model", "results", "robust", "solver", "tracing"),
                "uncertainty",
            )
        ),
    },
}
BASE = {
    "lsip.deadline",
    "lsip.errors",
    "lsip.html",
    "lsip.legible",
    "lsip.lifetime",
    "lsip.registered",
    "lsip.schema",
    "lsip.validation",
}
LANGUAGE = {*BASE, "lsip.rounding", "lsip.kernel", "lsip.domains", "lsip.expressions"}
ENGINE = {*LANGUAGE, "lsip.cones", "lsip.masters", "lsip.oracles", "lsip.model"}
ANSWERS = {*ENGINE, "lsip.files", "lsip.proof", "lsip.reductions", "lsip.solution"}
ONLY = {  # every room of lsip, the innermost first: all that it may import from other rooms
    "lsip.legible": set(),
    "lsip.errors": {"lsip.legible"},
    "lsip.version": set(),
    "lsip.deadline": {"lsip.errors"},
    "lsip.validation": {"lsip.errors"},
    "lsip.files": {"lsip.errors", "lsip.validation"},
    "lsip.html": {"lsip.legible"},
    "lsip.lifetime": set(),
    "lsip.registered": set(),
    "lsip.rounding": {"lsip.errors"},
    "lsip.schema": {"lsip.errors"},
    "lsip.kernel": set(),
    "lsip.about": {"lsip.kernel", "lsip.legible", "lsip.version"},
    "lsip.installed": set(),
    "lsip.workers": {"lsip.deadline", "lsip.errors", "lsip.validation"},
    "lsip.domains": BASE,
    "lsip.bases": LANGUAGE,
    "lsip.expressions": {*BASE, "lsip.kernel", "lsip.domains"},
    "lsip.cones": {"lsip.errors", "lsip.expressions"},
    "lsip.masters": {"lsip.deadline", "lsip.errors", "lsip.validation"},
    "lsip.oracles": LANGUAGE,
    "lsip.model": {*LANGUAGE, "lsip.cones", "lsip.files", "lsip.masters", "lsip.oracles", "lsip.workers"},
    "lsip.proof": ENGINE,
    "lsip.reductions": {*ENGINE, "lsip.proof"},
    "lsip.integrals": LANGUAGE,
    "lsip.ambiguity": {*LANGUAGE, "lsip.integrals", "lsip.model"},
    "lsip.solution": {*ENGINE, "lsip.files", "lsip.proof", "lsip.reductions"},
    "lsip.progress": {"lsip.legible", "lsip.solution"},
    "lsip.solver": {*ANSWERS, "lsip.progress", "lsip.workers"},
    "lsip.plotting": ANSWERS,
    "lsip.report": {*ANSWERS, "lsip.version"},
    "lsip.catalogue": {*LANGUAGE, "lsip.model"},
    "lsip.interop": {*ANSWERS, "lsip.progress", "lsip.solver", "lsip.version"},
    "lsip.cli": {
        *ANSWERS,
        *(f"lsip.{r}" for r in ("catalogue", "about", "installed", "interop", "progress", "solver")),
    },
    "lsip.public": {
        *ANSWERS,
        *(
            f"lsip.{r}"
            for r in ("ambiguity", "bases", "catalogue", "about", "integrals", "plotting", "report", "solver")
        ),
    },
    "lsip.__main__": {"lsip.cli"},
}
NEVER = {  # a package: what it must not import
    "lsip": ("rl", "envs", "tests", "benchmarks"),
    "rl": ("envs", "tests", "benchmarks"),
    "envs": ("tests", "benchmarks"),
}
ALONE = {"lsip/proof/checker.py": "flint"}  # a file that shares no code with ours: all that it may import from outside
DOOR = "lsip.cli"  # the outermost room: nothing imports it but `python -m lsip`


@dataclass(frozen=True)
class Import:
    """One module that a file imports, by its absolute name."""

    module: str
    line: int
    lazy: bool  # inside a function, or for the type checker only

    def within(self, package: str) -> bool:
        return self.module == package or self.module.startswith(package + ".")


@cache
def parsed(source: str) -> ast.Module:
    """The syntax tree of a file, made once for all tests, which only read it."""
    return ast.parse(source)


def module_name(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def imports(path: str, source: str) -> list[Import]:
    """All imports of a file; `from a import b` counts as a.b, because b may be a module."""
    name = module_name(path)
    package = name if path.endswith("/__init__.py") else name.rpartition(".")[0]
    return list(_walk(parsed(source), package, lazy=False))


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
    if path in ALONE:
        top = item.module.partition(".")[0]
        if top != ALONE[path] and top not in sys.stdlib_module_names:
            yield f"{path} imports {ALONE[path]} and the standard library only"
        return
    for package, banned in NEVER.items():
        if name == package or name.startswith(package + "."):
            yield from (f"{package} must not import {other}" for other in banned if item.within(other))
    if item.within(DOOR) and not name.startswith(DOOR) and name != "lsip.__main__":
        yield "nothing imports the command line"
    if here.startswith("lsip.") and here not in ONLY:
        yield f"{here} has no list of what it may import"
    elif here in ONLY and item.within("lsip") and not any(item.within(other) for other in ONLY[here] | {here}):
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


@cache
def sources() -> dict[str, str]:
    """All files of the three packages, by path from the root."""
    paths = (path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py")))
    return {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in paths}


def test_every_import_keeps_to_the_layers() -> None:
    files = sources()
    assert {"lsip/domains/base.py", "rl/__init__.py", "envs/__init__.py"} <= set(files)
    assert complaints(files) == []


PLANTED = {
    "lsip must not import rl": ("lsip/model/problem.py", "import rl"),
    "lsip must not import envs": ("lsip/catalogue/a.py", "def f():\n    from envs.ship import Ship"),
    "lsip must not import benchmarks": (
        "lsip/cli/a.py",
        "from importlib import import_module\nimport_module('benchmarks.x')",
    ),
    "rl must not import envs": ("rl/updates/npg.py", "import envs as e"),
    "lsip.domains may import only lsip.deadline, lsip.domains, lsip.errors, lsip.html, lsip.legible, lsip.lifetime": (
        "lsip/domains/ball.py",
        "from ..model.problem import Problem",
    ),
    "lsip.domains may import only": ("lsip/domains/ball.py", "import lsip"),
    "lsip.expressions may import only": ("lsip/expressions/graph.py", "from .. import oracles"),
    "lsip.errors may import only": ("lsip/errors.py", "from .domains import Box"),
    "lsip.masters may import only": ("lsip/masters/highs.py", "from ..model.program import Program"),
    "lsip.oracles may import only": ("lsip/oracles/grid.py", "from ..solver import Exchange"),
    "lsip.model may import only": ("lsip/model/program.py", "def solve():\n    from ..solver import solve"),
    "lsip.proof may import only": ("lsip/proof/prove.py", "from ..solution import Solution"),
    "lsip.solution may import only": (
        "lsip/solution/solution.py",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from ..report import write_report",
    ),
    "lsip.solver may import only": ("lsip/solver/loop.py", "from lsip import catalogue"),
    "lsip.catalogue may import only": ("lsip/catalogue/kissing.py", "import lsip"),
    "lsip.interop may import only": ("lsip/interop/cvxpy/problem.py", "from ...report import write_report"),
    "lsip.attic has no list of what it may import": ("lsip/attic/chest.py", "import numpy"),
    "nothing imports the command line": ("lsip/__init__.py", "from .cli import main"),
    "(none)": ("lsip/model/program.py", "import xarray"),
    "outside packages live in the file that owns them (lsip/plotting.py)": (
        "lsip/solution/solution.py",
        "def plot():\n    import matplotlib.pyplot",
    ),
    "imports flint and the standard library only": ("lsip/proof/checker.py", "import numpy as np"),
    "flint and the standard library only": ("lsip/proof/checker.py", "from .rows import Rows"),
    "inside the function": ("lsip/plotting.py", "from matplotlib import pyplot"),
    "slow to import": ("lsip/oracles/partition.py", "from scipy import optimize"),
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
        ("lsip/domains/hull.py", "def f():\n    from scipy.optimize import linprog"),
        ("lsip/__main__.py", "from .cli import main"),
        ("lsip/proof/checker.py", "import json\nfrom flint import arb"),
        ("rl/policies.py", "import torch\nimport lsip"),
        ("envs/ship.py", "import rl\nimport gymnasium"),
    ],
)
def test_a_good_import_passes(path: str, source: str) -> None:
    assert complaints({path: source}) == []


# ---- no circles ------------------------------------------------------------------------------------------------------


def graph(files: dict[str, str]) -> dict[str, set[str]]:
    """Which of these modules a module imports; imports in functions, or for the type checker, count like any other."""
    names = {module_name(path) for path in files}
    found: dict[str, set[str]] = {name: set() for name in names}
    for path, source in files.items():
        for item in imports(path, source):
            module = item.module
            while module and module not in names:  # `from a.b import c` names a.b, unless c is a module
                module = module.rpartition(".")[0]
            found[module_name(path)] |= {module} - {"", module_name(path)}
        nodes = list(ast.walk(parsed(source)))
        text = {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}
        if any(isinstance(node, ast.Call) and _is_dynamic(node) for node in nodes):  # names in its package count, too
            package = module_name(path) if path.endswith("/__init__.py") else module_name(path).rpartition(".")[0]
            text |= {f"{package}.{name}" for name in text}
        found[module_name(path)] |= text & names - {*PACKAGES, module_name(path)}  # imported by a name kept in a table
    return found


def circle(edges: dict[str, set[str]]) -> list[str]:
    """Some modules that import each other in a circle, the first one again at the end; none if there are none."""
    done: set[str] = set()
    for start in sorted(edges):
        way: list[tuple[str, Iterator[str]]] = [(start, iter(sorted(edges[start])))]
        while way and start not in done:
            here, others = way[-1]
            for other in others:
                on_the_way = [name for name, _ in way]
                if other in on_the_way:
                    return [*on_the_way[on_the_way.index(other) :], other]
                if other not in done:
                    way.append((other, iter(sorted(edges[other]))))
                    break
            else:
                done.add(here)
                way.pop()
    return []


@pytest.mark.parametrize(
    ("package", "importer", "imported"),
    [
        ("lsip", "lsip.solver.loop", "lsip.model.program"),
        ("rl", "rl", "rl.si_cppo"),  # by a name in a table
        ("envs", "envs.cli", "envs.experiments"),  # inside a function
    ],
)
def test_no_module_imports_itself_by_a_detour(package: str, importer: str, imported: str) -> None:
    edges = graph({path: source for path, source in sources().items() if path.startswith(f"{package}/")})
    assert imported in edges[importer]
    assert circle(edges) == []


def test_no_room_of_lsip_imports_itself_by_a_detour() -> None:
    assert set(ONLY) == {room(name) for name in map(module_name, sources()) if name.startswith("lsip.")}
    assert circle({name: set(allowed) - {name} for name, allowed in ONLY.items()}) == []


@pytest.mark.parametrize(
    "back",
    [
        "from .b import f",
        "def g():\n    from lsip.b import f",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from . import b",
        "import lsip",
        "from importlib import import_module\nimport_module('lsip.b')",
        "TABLE = {'b': 'lsip.b'}",
        "from importlib import import_module\nLATE = {'B': 'b'}\nimport_module(f'.{LATE[\"B\"]}', 'lsip')",
    ],
)
@pytest.mark.parametrize("package", ["lsip", "rl"])
def test_a_planted_circle_is_found(back: str, package: str) -> None:
    files = {f"{package}/__init__.py": "from . import b", f"{package}/b.py": "from .a import g"}
    files[f"{package}/a.py"] = back.replace("lsip", package)
    assert set(circle(graph(files))) >= {f"{package}.a", f"{package}.b"}
    assert circle(graph(files | {f"{package}/a.py": "import numpy"})) == []


# ---- public names ----------------------------------------------------------------------------------------------------


def private_names(files: dict[str, str], public: dict[str, set[str]]) -> list[str]:
    """Every name of lsip in `rl` and `envs` that is in no list of public names, as a sentence."""
    found = []
    for path, source in files.items():
        tree = parsed(source)
        used = [(item.line, item.module) for item in imports(path, source) if item.within("lsip")]
        used += [(node.lineno, ast.unparse(node)) for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
        used = [(line, name) for line, name in used if re.fullmatch(r"lsip(\.\w+)+|lsip", name)]
        found += [f"{path}:{line} uses {name}" for line, name in used if not _is_public(name, public)]
    return sorted(set(found))


def _is_public(name: str, public: dict[str, set[str]]) -> bool:
    """Whether a dotted name begins with a room and one of the names in its `__all__`; what follows is up to that."""
    parts = name.split(".")
    if name in public or name == "lsip.__version__":  # which is public by custom, and in no list of names
        return True
    rooms = [".".join(parts[:k]) for k in range(len(parts) - 1, 0, -1)]
    home = next(r for r in rooms if r in public)
    return parts[home.count(".") + 1] in public[home]


def public_names() -> dict[str, set[str]]:
    """The `__all__` of lsip, which is in `public.py`, and of each of its rooms: of a package that of its `__init__`."""
    found = {}
    for path, source in sources().items():
        name = module_name(path)
        name = "lsip" if name == "lsip.public" else name
        if name != "lsip" and (name != room(name) or not name.startswith("lsip.")):
            continue
        for node in parsed(source).body:
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
                found[name] = set(ast.literal_eval(node.value))
    return found


def outer_sources() -> dict[str, str]:
    return {path: source for path, source in sources().items() if path.startswith(("rl/", "envs/"))}


def test_rl_and_envs_use_public_names_only() -> None:
    public = public_names()
    assert "Problem" in public["lsip"]
    assert "Support" in public["lsip.proof"]
    assert private_names(outer_sources(), public) == []


@pytest.mark.parametrize(
    "source",
    [
        "from lsip.proof.certificate import Support",
        "from lsip.solver.decomposition import Atom",
        "def f():\n    from lsip.solver import driver",
        "import lsip\nlsip.solver.loop.solve(1)",
        "import lsip.model.program",
        "from lsip import _secret",
        "from lsip.files import _half",
    ],
)
def test_a_planted_private_name_is_caught(source: str) -> None:
    assert len(private_names({"rl/a.py": source}, public_names())) >= 1
    good = "import lsip\nfrom lsip.proof import Support\nfrom lsip import ModelError\nlsip.oracles.Grid(3).maximise"
    assert private_names({"envs/a.py": good}, public_names()) == []


def test_dir_shows_what_users_use() -> None:
    import lsip

    assert set(dir(lsip)) == {*lsip.__all__, "__version__"}


# ---- capabilities, not classes ---------------------------------------------------------------------------------------

SEAMS = {  # what implements a seam: the method by which such a class is known, and where its name may be tested
    "lsip/oracles/": "maximise",
    "lsip/model/": "chosen",
}


def implementations(files: dict[str, str]) -> dict[str, str]:
    """Concrete oracles and families by name, each with the only place that may tell it from others."""
    found = {}
    for path, source in files.items():
        for node in ast.walk(parsed(source)):
            if not isinstance(node, ast.ClassDef) or any("Protocol" in ast.unparse(base) for base in node.bases):
                continue
            methods = {item.name for item in node.body if isinstance(item, ast.FunctionDef)}
            for home, known in SEAMS.items():
                if path.startswith(home) and known in methods:
                    found[node.name] = home
    return found


@cache
def known_implementations() -> dict[str, str]:
    return implementations(sources())


def classes_asked_for(source: str) -> Iterator[tuple[int, str]]:
    """Names that isinstance, issubclass, `type(x) is …` and `case …()` compare with, with their lines."""
    for node in ast.walk(parsed(source)):
        asked: list[ast.expr] = []
        if isinstance(node, ast.Call) and ast.unparse(node.func) in {"isinstance", "issubclass"}:
            asked = node.args[1:]
        elif isinstance(node, ast.Compare) and any("type(" in ast.unparse(e) for e in (node.left, *node.comparators)):
            asked = [node.left, *node.comparators]
        elif isinstance(node, ast.MatchClass):
            asked = [node.cls]
        for part in asked:
            for name in ast.walk(part):
                if isinstance(name, ast.Name | ast.Attribute):
                    yield node.lineno, name.id if isinstance(name, ast.Name) else name.attr


def told_apart(files: dict[str, str], known: dict[str, str]) -> list[str]:
    """Every test on a concrete oracle or family outside its own room, as a sentence."""
    return sorted(
        f"{path}:{line} asks for {name}; ask for what it can do (lsip.oracles.base has the protocols)"
        for path, source in files.items()
        for line, name in classes_asked_for(source)
        if name in known and not path.startswith(known[name])
    )


def test_nobody_asks_for_a_concrete_oracle_or_family() -> None:
    files, known = sources(), known_implementations()
    assert {"BranchAndBound", "SupportFunction", "Grid", "Multistart", "DeclaredRows", "BlackBoxRows"} <= set(known)
    assert not {"Oracle", "RowFunctions"} & set(known)
    assert told_apart(files, known) == []


@pytest.mark.parametrize(
    "source",
    [
        "isinstance(oracle, BranchAndBound)",
        "isinstance(oracle, (int, lsip.oracles.BranchAndBound))",
        "isinstance(rows, DeclaredRows | BlackBoxRows)",
        "type(oracle) is BranchAndBound",
        "type(oracle) in (Grid, Multistart)",
        "match oracle:\n    case BranchAndBound():\n        pass",
    ],
)
def test_a_planted_test_on_a_class_is_caught(source: str) -> None:
    known = known_implementations()
    assert told_apart({"lsip/solver/loop.py": source}, known)
    home = "lsip/model/families.py" if "Rows" in source else "lsip/oracles/choice.py"
    assert told_apart({home: source, "rl/a.py": "isinstance(oracle, Oracle)"}, known) == []


def test_importing_lsip_loads_nothing_slow() -> None:
    code = "import sys, lsip, lsip.domains; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT).stdout
    assert "lsip.domains" in loaded.split()
    assert not {*SLOW, "matplotlib", "torch", "cvxpy", "pyomo", "ray"} & set(loaded.split())
