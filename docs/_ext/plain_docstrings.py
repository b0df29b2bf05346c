"""Docstrings are written to be read in an editor; this makes them safe and complete for Sphinx.

Outside of `code` and of examples, the signs |x|, * and x_ mean what they mean in mathematics, and an indented block is
a formula whose columns matter. The comments behind the fields of a dataclass are its documentation.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
import textwrap
from typing import Any

from sphinx.application import Sphinx

CODE = re.compile(r"(``.+?``|:\w+:`.+?`|`.+?`)")
TABLE = re.compile(r"^(\.\. list-table::|   :header-rows:|   [ *] - )")
INLINE = re.compile(r"^(\*{0,2}\w[\w, *]*?) : (\S.*)$")  # `name : what it is`, for types are in the signature
SECTION = re.compile(r"^(-{3,}|={3,})$")
ENTRY = re.compile(r"^\*{0,2}\w+(, \*{0,2}\w+)*( : .*)?$")  # how an entry of a section with entries begins


def escaped(line: str) -> str:
    """The line with signs that mark up text made plain."""
    parts = CODE.split(line)
    for i in range(0, len(parts), 2):
        parts[i] = re.sub(r"(\||(?<!\*)\*(?!\*))", r"\\\1", parts[i])  # **bold** stays
        parts[i] = re.sub(r"(?<=\w)_(?!\w)", r"\\_", parts[i])
    return "".join(parts)


def tabled(lines: list[str]) -> list[str]:
    """The docstring with Markdown tables as list tables."""
    out: list[str] = []
    for i, line in enumerate(lines):
        if not line.startswith("| "):
            out.append(line)
        elif not line.startswith("| ---"):
            first = i + 1 < len(lines) and lines[i + 1].startswith("| ---")
            if first:
                out += [".. list-table::", "   :header-rows: 1", ""]
            cells = [cell.strip() for cell in line.strip()[1:-1].split(" | ")]
            if not cells[0]:  # the row goes on
                out[-1] += " " + escaped(cells[-1])
                continue
            out += [f"   {'*' if not k else ' '} - {escaped(cell)}" for k, cell in enumerate(cells)]
    return out


def with_notes(lines: list[str]) -> list[str]:
    """The docstring with the prose behind its parameters in a section of its own: napoleon reads it as parameters."""
    out: list[str] = []
    listing = False  # whether the lines belong to parameters
    for i, line in enumerate(lines):
        if i and SECTION.match(line.strip()):
            listing = lines[i - 1].strip() in ("Parameters", "Attributes")
        headed = i + 1 < len(lines) and SECTION.match(lines[i + 1].strip())
        prose = line.strip() and not line.startswith(" ") and not ENTRY.match(line) and not SECTION.match(line)
        if listing and prose and not headed and not lines[i - 1].strip():
            out += ["Notes", "-----"]
            listing = False
        out.append(line)
    return out


def plain(lines: list[str]) -> list[str]:
    """The docstring with formulas and examples as they are and all other text escaped."""
    out: list[str] = []
    lines = [part for line in lines for part in INLINE.sub(r"\1\n    \2", line).split("\n")]
    last, gap, example, formula = 0, False, False, None  # indentation of the text, blank line before, what we are in
    for line in lines:
        if not line.strip():
            gap, example = True, False
            out.append("")
            continue
        indent = len(line) - len(line.lstrip())
        if line.startswith((".. list-table", "   ")) and TABLE.match(line):
            out.append(line)
            continue
        if formula is not None and indent >= formula:
            out.append(line)
            continue
        formula = None
        example = example or line.lstrip().startswith(">>>")
        if example:
            out.append(line)
        elif gap and indent >= last + 4:
            formula = indent
            out += [" " * last + "::", "", line]
        else:
            last = indent
            out.append(line if SECTION.match(line.strip()) else escaped(line))
        gap = False
    return out


def fields(cls: type) -> list[str]:
    """A NumPy section with the fields of a dataclass that have a comment behind them."""
    try:
        source = textwrap.dedent(inspect.getsource(cls))
    except (OSError, TypeError):
        return []
    rows = source.splitlines()
    found = []
    for node in ast.parse(source).body[0].body:  # type: ignore[attr-defined]
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            _, mark, comment = rows[(node.end_lineno or node.lineno) - 1][node.end_col_offset or 0 :].partition("# ")
            if mark:
                found += [node.target.id, "    " + comment.strip()]
    return ["", "Parameters", "----------", *found] if found else []


def process(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Rewrite a docstring in place, before the NumPy sections are read."""
    if inspect.isclass(obj) and dataclasses.is_dataclass(obj) and "Parameters" not in lines:
        lines += fields(obj)
    lines[:] = plain(tabled(with_notes(lines)))
    if what in ("property", "attribute"):
        lines[:0] = ["..", ""]  # else napoleon takes what stands before a colon in the first line for a type


def setup(app: Sphinx) -> dict[str, bool]:
    """Come before napoleon, whose priority is 500."""
    app.connect("autodoc-process-docstring", process, priority=400)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
