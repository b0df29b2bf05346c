"""The directive `command-help`: what `lsip COMMAND --help` prints, asked for while the site is built."""

from __future__ import annotations

import os
import re
from contextlib import redirect_stdout, suppress
from io import StringIO
from unittest.mock import patch

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from lsip.cli import main


def help_of(*command: str) -> str:
    """The help page of a command, as it looks in a terminal of 100 columns."""
    page = StringIO()
    wide = patch.dict(os.environ, {"COLUMNS": "100", "NO_COLOR": "1"})
    with wide, redirect_stdout(page), suppress(SystemExit):
        main([*command, "--help"])
    return page.getvalue().rstrip()


def commands() -> list[str]:
    """Every command that `lsip --help` lists."""
    listed = help_of().partition("\ncommands:")[2]
    return re.findall(r"^ {4}([a-z][\w-]*)", listed, re.MULTILINE)


class CommandHelp(SphinxDirective):
    """All help pages, one section a command."""

    def run(self) -> list[nodes.Node]:
        found = [_page("lsip", help_of())]
        for command in commands():
            name = f"lsip {command}"
            section = nodes.section(ids=[nodes.make_id(name)], names=[nodes.fully_normalize_name(name)])
            section += nodes.title(name, "", nodes.literal(name, name))
            section += _page(name, help_of(command))
            found.append(section)
        return found


def _page(name: str, text: str) -> nodes.literal_block:
    if not text:
        raise ValueError(f"`{name} --help` printed nothing.")
    return nodes.literal_block(text, text, language="text")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("command-help", CommandHelp)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
