"""The directive `house`: every file of a package with the first line of its docstring, read while the site is built."""

from __future__ import annotations

import ast
from pathlib import Path

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

ROOT = Path(__file__).resolve().parent.parent.parent


def rooms(package: str) -> list[tuple[str, str]]:
    """(path, first line of the docstring) of every Python file of a package that has one."""
    found = []
    for path in sorted((ROOT / package).rglob("*.py"), key=lambda p: (p.parent, p.name)):
        docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
        if docstring:
            found.append((path.relative_to(ROOT).as_posix(), docstring.splitlines()[0]))
    return found


class House(SphinxDirective):
    """A table of the rooms of one package."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        rows = ["| file | what it holds |", "| --- | --- |"]
        rows += [f"| `{path}` | {line.replace('|', chr(92) + '|')} |" for path, line in rooms(self.arguments[0])]
        holder = nodes.Element()
        self.state.nested_parse(StringList(rows, source=f"house {self.arguments[0]}"), self.content_offset, holder)
        return holder.children


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("house", House)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
