"""The page: sections, style and script in one file that asks nothing of a network."""

from __future__ import annotations

import base64
import hashlib
from importlib.resources import files
from pathlib import Path

from ..files import whole_file
from ..legible import html as escape
from ..solution.solution import DRAWN, Solution
from . import sections
from .payload import families, largest, payload

SCRIPTS = ("drawing.js", "reading.js", "heat.js", "violation.js", "convergence.js", "tables.js", "start.js")


def write_report(solution: Solution, path: str | Path) -> Path:
    """Write the page to `path` and return it; the file appears complete or not at all.

    Raises
    ------
    ModelError
        When the folder does not exist, or `path` is one.
    """
    with whole_file(path, "report.html") as part:
        part.write_text(page(solution), encoding="utf-8")
    return Path(path)


DRAWN["report"] = write_report


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
