"""What runs on one system only: files in an encoding that it chooses, modules that Windows lacks, forked processes."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("lsip", "rl", "envs", "benchmarks", "docs", "lsip-rl", ".ci")
UNIX = {"fcntl", "grp", "posix", "pty", "pwd", "readline", "resource", "termios", "tty"}
POSIX = {"benchmarks/interrupts.py"}  # about signals, which other systems lack
FORKS = {"os.fork", "os.forkpty", "Pool", "multiprocessing.Pool", "multiprocessing.Process"}
TEXT = {"open": 3, "read_text": 0, "write_text": 1}  # calls on text, and how many arguments may come before an encoding
PLACES = ("/tmp", "/dev/", "/proc/", "/usr/", "/home/", "C:\\")


def complaints(source: str) -> Iterator[str]:
    """Sentences about what another system does otherwise."""
    tree = ast.parse(source)
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and isinstance(node.body[0], ast.Expr)
    }
    for node in tree.body:
        modules = [a.name for a in node.names] if isinstance(node, ast.Import) else [getattr(node, "module", None)]
        yield from (f"line {node.lineno}: import {m} where it is needed" for m in modules if m in UNIX)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield from _call(node)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield from (
                f"line {node.lineno}: {node.value!r} is a place of one system" for p in PLACES if p in node.value
            )


def _call(node: ast.Call) -> Iterator[str]:
    name = ast.unparse(node.func)
    if name in FORKS or (name.endswith("ProcessPoolExecutor") and "spawn" not in ast.unparse(node)):
        yield f'line {node.lineno}: start processes by get_context("spawn")'
    called = name.rpartition(".")[2]
    if called not in TEXT or name in ("tarfile.open", "os.open"):
        return
    words = {keyword.arg for keyword in node.keywords}
    modes = [a.value for a in node.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
    modes += [k.value.value for k in node.keywords if k.arg == "mode" and isinstance(k.value, ast.Constant)]
    binary = called == "open" and any("b" in mode and len(mode) <= 3 for mode in modes)
    ours = called == "open" and "." in name and not words and any(not isinstance(a, ast.Constant) for a in node.args)
    if "encoding" not in words and len(node.args) <= TEXT[called] and not binary and not ours:
        yield f'line {node.lineno}: {name}(…) needs encoding="utf-8"'


@pytest.mark.parametrize("folder", FOLDERS)
def test_nothing_depends_on_the_system(folder):
    files = sorted((ROOT / folder).rglob("*.py"))
    assert files
    found = {p.relative_to(ROOT).as_posix(): list(complaints(p.read_text(encoding="utf-8"))) for p in files}
    for path in POSIX & found.keys():
        assert any("spawn" in line for line in found[path]), "it needs no exception any more"
        found[path] = [line for line in found[path] if "spawn" not in line]
    assert not {path: lines for path, lines in found.items() if lines}


SAMPLES = {
    "open": ("with open(path) as stream: pass", "encoding"),
    "to write": ("path.open('w', newline='')", "encoding"),
    "a mode by name": ("open(path, mode='w')", "encoding"),
    "read_text": ("Path('x').read_text()", "encoding"),
    "write_text": ("path.write_text('hello')", "encoding"),
    "a module of Unix": ("import resource", "where it is needed"),
    "a function of it": ("from fcntl import flock", "where it is needed"),
    "a pool": ("ProcessPoolExecutor(2)", "spawn"),
    "fork": ("os.fork()", "spawn"),
    "a place": ("path = '/tmp/x'", "one system"),
}
FINE = {
    "binary": "open(path, 'rb')",
    "binary, by a path": "path.open('wb')",
    "utf-8": "path.write_text('hello', encoding='utf-8')",
    "inside": "def f():\n    import resource",
    "spawn": "ProcessPoolExecutor(2, get_context('spawn'))",
    "said": "'''Not in /tmp.'''",
    "by its place": "path.read_text('utf-8')",
    "a method of ours": "master.open(factory)",
}


@pytest.mark.parametrize(("source", "said"), SAMPLES.values(), ids=list(SAMPLES))
def test_what_depends_on_the_system_is_found(source, said):
    (found,) = complaints(source)
    assert said in found


@pytest.mark.parametrize("source", FINE.values(), ids=list(FINE))
def test_what_does_not_passes(source):
    assert list(complaints(source)) == []
