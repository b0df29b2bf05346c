"""How large the code is, and how far a reader has to walk: lines, statements, steering numbers, ambiguous names.

Lines are those with code: no blank lines, comments or docstrings. Statements are counted from the syntax tree, since
lines can be made longer. The walk is that of the README's model, from `solve` to the answer: the functions and files
that are entered, calls from one room (a folder of `lsip`) to another, and pairs of files that call each other.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from types import FrameType

import numpy as np

import lsip
from lsip.model.families import RowFamily
from lsip.solver.relaxation import Relaxation

from .harness.figures import table
from .harness.registry import Figures, Options, benchmark

ROOT = Path(__file__).parent.parent
CORE = ("solver", "masters", "oracles", "model")
BOUNDS = ("oracles", "expressions")  # with the kernel, all that bounds rows
LONG_FILE, LONG_FUNCTION = 450, 60  # lines
SEAMS = (Relaxation, RowFamily)  # classes whose public methods are counted
LAYOUT = {tokenize.NEWLINE, tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.COMMENT, tokenize.ENDMARKER}
ALIASES = {"Array", "Ints", "Bools"}  # names of NumPy's types


def python(folder: str) -> dict[Path, ast.Module]:
    """The syntax trees of a folder's files."""
    return {p: ast.parse(p.read_text(encoding="utf-8")) for p in sorted((ROOT / folder).rglob("*.py"))}


def lines(path: Path) -> int:
    """Lines with code: those of all tokens, docstrings left out."""
    used: set[int] = set()
    begins = True  # a string that begins a statement is a docstring
    for token in tokenize.generate_tokens(io.StringIO(path.read_text(encoding="utf-8")).readline):
        if token.type in LAYOUT:
            begins = begins or token.type == tokenize.NEWLINE
        elif not (begins and token.type == tokenize.STRING):
            used.update(range(token.start[0], token.end[0] + 1))
            begins = False
    return len(used)


def statements(tree: ast.Module) -> int:
    """Statements that are no docstrings."""
    return sum(
        isinstance(node, ast.stmt) and not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
        for node in ast.walk(tree)
    )


def compiled_lines() -> int:
    """Lines with code of the kernel."""
    count = 0
    for path in (ROOT / "lsip" / "kernel").iterdir():
        if path.suffix in (".cpp", ".hpp", ".inl"):
            text = re.sub(r"/\*.*?\*/|//[^\n]*", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
            count += sum(bool(line.strip()) for line in text.splitlines())
    return count


def steering_numbers(trees: dict[Path, ast.Module]) -> int:
    """Fields of the classes called …Tuning."""
    classes = [
        n for t in trees.values() for n in ast.walk(t) if isinstance(n, ast.ClassDef) and n.name.endswith("Tuning")
    ]
    return sum(isinstance(field, ast.AnnAssign) and field.value is not None for c in classes for field in c.body)


def repeated_classes(trees: dict[Path, ast.Module]) -> list[str]:
    """Names of classes that are defined in two or more files."""
    where: dict[str, set[Path]] = defaultdict(set)
    for path, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                where[node.name].add(path)
    return sorted(name for name, files in where.items() if len(files) > 1 and name not in ALIASES)


def public_methods(kind: type) -> int:
    """How many public methods and properties a class has, those of its bases in lsip included."""
    owners = [c for c in kind.__mro__ if c.__module__.startswith("lsip")]
    return len(
        {
            n
            for c in owners
            for n, v in vars(c).items()
            if not n.startswith("_") and (callable(v) or isinstance(v, property | cached_property))
        }
    )


def functions(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Functions and how many lines they take, docstrings left out."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0]
            documented = ast.get_docstring(node) is not None and first.end_lineno is not None
            text = first.end_lineno - first.lineno + 1 if documented else 0
            yield node.name, (node.end_lineno or 0) - node.lineno + 1 - text


class Walk:
    """Which functions of lsip are entered, and who calls whom."""

    def __init__(self) -> None:
        self.home = str(Path(lsip.__file__).parent)
        self.functions: Counter[str] = Counter()
        self.calls: Counter[tuple[str, str]] = Counter()

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        if event != "call" or not frame.f_code.co_filename.startswith(self.home):
            return
        to = frame.f_code.co_filename
        if frame.f_code.co_name.startswith("<"):  # a comprehension or a lambda is part of its function
            return
        self.functions[f"{to}:{frame.f_code.co_qualname}"] += 1
        caller = frame.f_back
        if caller is not None and caller.f_code.co_filename.startswith(self.home):
            self.calls[caller.f_code.co_filename, to] += 1

    def figures(self) -> Figures:
        """Functions and files entered, calls from one room to another, and pairs of files that call each other."""

        def room(path: str) -> str:
            return Path(path).relative_to(self.home).parts[0]

        pairs = [(a, b) for a, b in self.calls if a != b]
        return {
            "functions": len(self.functions),
            "files": len({f.rpartition(":")[0] for f in self.functions}),
            "room_crossings": sum(n for (a, b), n in self.calls.items() if room(a) != room(b)),
            "room_crossing_pairs": sum(room(a) != room(b) for a, b in pairs),
            "ping_pong_pairs": sum((b, a) in self.calls for a, b in pairs) // 2,
        }


def readme() -> lsip.Problem:
    """The model of the README."""
    masts = np.array([[0.2, 0.3], [0.4, 0.7], [0.6, 0.4], [0.9, 0.6]])
    x, y = lsip.Variable(4, name="x", lower=0), lsip.Index("y", lsip.Box([0, 0], [1, 1]))
    field = 1 / (1 + 20 * ((y - masts) ** 2).sum(axis=-1))
    return lsip.Problem(lsip.maximize(x.sum()), [lsip.forall(y, field @ x <= 1 + y[0] / 2), x[3] <= 0.75])


def walk() -> Figures:
    """The walk through a solve, imports and first calls left out."""
    readme().solve(verbose=False)
    problem, seen = readme(), Walk()
    sys.setprofile(seen)
    try:
        problem.solve(verbose=False)
    finally:
        sys.setprofile(None)
    return seen.figures()


def show(figures: Figures) -> str:
    """A row a figure."""
    rows = [{"name": k, "value": v if not isinstance(v, list) else len(v)} for k, v in figures.items()]
    return table(rows, {"name": "measure", "value": "now"})


@benchmark("house", "how large the code is, and how far a reader has to walk", show)
def run(_: Options) -> Figures:
    library, learning, tests = python("lsip"), python("rl"), python("tests")
    core = {p: t for p, t in library.items() if p.relative_to(ROOT / "lsip").parts[0] in CORE}
    everything = library | learning | python("envs")
    bounds = {room: sum(lines(p) for p in library if p.relative_to(ROOT / "lsip").parts[0] == room) for room in BOUNDS}
    kernel = compiled_lines()
    long_files = [p for p in everything if len(p.read_text(encoding="utf-8").splitlines()) > LONG_FILE]
    return {
        "core_lines": sum(map(lines, core)),
        "core_statements": sum(map(statements, core.values())),
        "lsip_files": len(library),
        "lsip_lines": sum(map(lines, library)),
        "lsip_statements": sum(map(statements, library.values())),
        **{f"{room}_lines": count for room, count in bounds.items()},
        "kernel_lines": kernel,
        "bounds_lines": sum(bounds.values()) + kernel,
        "rl_lines": sum(map(lines, learning)),
        "test_lines": sum(map(lines, tests)),
        "steering_numbers": steering_numbers(library | learning),
        "repeated_classes": repeated_classes(library),
        **{f"public_methods_{kind.__name__}": public_methods(kind) for kind in SEAMS},
        "long_files": [p.relative_to(ROOT).as_posix() for p in long_files],
        "long_functions": [n for t in everything.values() for n, size in functions(t) if size > LONG_FUNCTION],
        **walk(),
    }
