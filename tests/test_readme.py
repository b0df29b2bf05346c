"""The README and the docs do what they print: every Python block runs, and the text block after it is its output."""

from __future__ import annotations

import re
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import NamedTuple

import pytest

import lsip
from benchmarks.harness.registry import benchmarks
from envs.experiments import EXPERIMENTS
from lsip.expressions.functions import FUNCTIONS
from lsip.expressions.operators import FUNCTION_RULES, RULES

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"^```([\w{}-]*)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LANGUAGES = {"python", "text", "console", "sh", "toml", "julia", "py"}  # py: Python that needs what is not installed
SITE = {"{toctree}", "{image}", "{eval-rst}", "{include}"}
DIRECTIVES = SITE | {
    "{house}",
    "{numbers}",
    "{command-help}",
    "{published-models}",
    "{learning-methods}",
}  # of the site


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else path.name


class Block(NamedTuple):
    """A fenced block of Markdown."""

    language: str
    body: str
    line: int


def blocks(page: str) -> list[Block]:
    return [Block(m[1], m[2], page.count("\n", 0, m.start()) + 1) for m in FENCE.finditer(page)]


def tidy(output: str) -> str:
    return "\n".join(line.rstrip() for line in output.strip().splitlines())


@pytest.fixture
def language():
    """What a page adds to the language is gone after it."""
    tables = (RULES, FUNCTIONS)
    before = [dict(table) for table in tables]
    yield
    for table, entries in zip(tables, before, strict=True):
        table.clear()
        table.update(entries)


@pytest.mark.usefixtures("language")
@pytest.mark.parametrize("path", PAGES, ids=name_of)
def test_every_snippet_runs_as_printed(path, tmp_path, monkeypatch):
    """Blocks of one page share their names, as in a reader's session; a `console` block is a picture, not compared."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    found = blocks(path.read_text(encoding="utf-8"))
    for i, block in enumerate(found):
        if block.language != "python":
            continue
        printed = StringIO()
        with redirect_stdout(printed):
            exec(compile("\n" * block.line + block.body, str(path), "exec"), names)
        if i + 1 < len(found) and found[i + 1].language == "text":
            assert tidy(printed.getvalue()) == tidy(found[i + 1].body), f"{path.name}, line {block.line}"


@pytest.mark.parametrize("path", PAGES, ids=name_of)
def test_fences_have_a_language_that_is_known(path):
    page = path.read_text(encoding="utf-8")
    assert page.count("\n```") % 2 == 0
    assert {b.language for b in blocks(page)} <= LANGUAGES | DIRECTIVES


@pytest.mark.parametrize("path", PAGES, ids=name_of)
def test_links_lead_somewhere(path):
    for target in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", FENCE.sub("", path.read_text(encoding="utf-8"))):
        assert (path.parent / target).exists(), f"{path.name} links to {target}"


def test_the_readme_explains_every_status():
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    assert [s.name for s in lsip.Status if f"`{s.name}`" not in page] == []


def test_the_language_page_has_everything():
    page = (ROOT / "docs" / "language.md").read_text(encoding="utf-8")
    operators = {"add", "subtract", "multiply", "divide", "true_divide", "negative", "positive", "matmul", "getitem"}
    operators |= {"less_equal", "less", "equal"}
    functions = {function.__name__ for function in FUNCTION_RULES} | (set(RULES) - operators)
    assert sorted(functions - set(re.findall(r"\w+", page))) == []
    for domain in set(lsip.domains.__all__) - {"Cell", "Domain", "as_points"}:  # for those who write sets of their own
        assert f"lsip.{domain}(" in page


def test_the_oracles_page_has_every_oracle():
    page = (ROOT / "docs" / "oracles.md").read_text(encoding="utf-8")
    for name in lsip.oracles.__all__:
        assert name in page


def test_the_benchmarks_page_has_every_benchmark():
    page = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    assert [name for name in benchmarks() if f"| `{name}` |" not in page] == []


def test_the_reproduction_page_has_every_figure():
    page = (ROOT / "docs" / "reproduction.md").read_text(encoding="utf-8")
    assert [name for name in EXPERIMENTS if f"`{name}`" not in page] == []


def test_a_wrong_output_would_be_noticed(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```python\nprint(1)\n```\n\n```text\n2\n```\n", encoding="utf-8")
    with pytest.raises(AssertionError, match=r"page.md, line 1"), pytest.MonkeyPatch.context() as patch:
        test_every_snippet_runs_as_printed(page, tmp_path, patch)
