"""The directive `numbers`: every steering number of a package with its default and its reason, read from the code."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

ROOT = Path(__file__).resolve().parent.parent.parent


class Number(NamedTuple):
    """A field of a class called …Tuning."""

    owner: str
    name: str
    default: str
    reason: str


def numbers(package: str) -> dict[str, list[Number]]:
    """The steering numbers of a package, by file."""
    found: dict[str, list[Number]] = {}
    for path in sorted((ROOT / package).rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        classes = [c for c in ast.walk(tree) if isinstance(c, ast.ClassDef) and c.name.endswith("Tuning")]
        here = [number for tuning in classes for number in fields(tuning)]
        if here:
            found[path.relative_to(ROOT).as_posix()] = here
    return found


def fields(tuning: ast.ClassDef) -> Iterator[Number]:
    """The fields of one class; those that are groups of numbers have a class, and rows, of their own."""
    reasons = parameters(ast.get_docstring(tuning) or "")
    for field in tuning.body:
        if isinstance(field, ast.AnnAssign) and field.value is not None and isinstance(field.target, ast.Name):
            default = ast.unparse(field.value)
            if "Tuning(" not in default:
                yield Number(tuning.name, field.target.id, default, reasons.get(field.target.id, ""))


def parameters(docstring: str) -> dict[str, str]:
    """The descriptions in a docstring by the names that they are given for; several names may share one."""
    found: dict[str, str] = {}
    for names, text in re.findall(r"^([a-z_]+(?:, [a-z_]+)*)\n((?:    .*\n?)+)", docstring, re.MULTILINE):
        found |= dict.fromkeys(names.split(", "), " ".join(text.split()))
    return found


class Numbers(SphinxDirective):
    """One table a file."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        rows = ["| file | number | default | what it decides |", "| --- | --- | --- | --- |"]
        for path, here in numbers(self.arguments[0]).items():
            for n in here:
                cells = (f"`{path}`", f"`{n.owner}.{n.name}`", f"`{n.default}`", n.reason)
                rows.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
        holder = nodes.Element()
        self.state.nested_parse(StringList(rows, source=f"numbers {self.arguments[0]}"), self.content_offset, holder)
        return holder.children


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("numbers", Numbers)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
