"""The page: sections, style and script in one file that asks nothing of a network."""

from __future__ import annotations

import base64
import hashlib
import os
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import ModelError
from . import sections
from .payload import families, largest, payload

if TYPE_CHECKING:
    from ..solution import Solution

SCRIPTS = ("drawing.js", "reading.js", "heat.js", "violation.js", "convergence.js", "tables.js", "start.js")


def write_report(solution: Solution, path: str | Path) -> Path:
    """Write the page to `path` and return it; the file appears complete or not at all.

    Raises
    ------
    ModelError
        When the folder does not exist, or `path` is one.
    """
    target = Path(path)
    if not target.resolve().parent.is_dir():
        raise ModelError(f"There is no directory {target.resolve().parent} to write {target.name} to; make it first.")
    if target.is_dir():
        raise ModelError(f"{target} is a directory; a report is a file, such as {target / 'report.html'}.")
    part = target.with_name(f"{target.name}.{os.getpid()}.part")
    try:
        part.write_text(page(solution), encoding="utf-8")
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)
    return target


def page(solution: Solution) -> str:
    """The whole page as text."""
    style = _asset("report.css")
    script = '"use strict";\n(() => {\n' + "".join(_asset(name) for name in SCRIPTS) + "})();\n"
    title = escape(sections.title(solution))
    pictures = families(solution)
    # Nothing may be fetched, and no script runs but this one, whatever a name in the model contains.
    policy = f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-{_digest(script)}'"
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n<link rel="icon" href="data:,">\n'
        f"<title>{title} · lsip</title>\n<style>\n{style}</style>\n</head>\n<body>\n"
        f"{sections.body(solution, largest(pictures))}"
        f'<script type="application/json" id="data">{payload(solution, pictures)}</script>\n<script>{script}</script>\n'
        "</body>\n</html>\n"
    )


def _asset(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
