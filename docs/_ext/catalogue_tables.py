"""The directive `catalogue`: every problem of `lsip.catalogue`, in a table for each of its files, with a picture."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from lsip import catalogue

HEADS = ("name", "what it asks", "value", "source")
PICTURES = "figures/catalogue"


def groups() -> Iterator[tuple[str, str, list[catalogue.Entry]]]:
    """A name, what its problems have in common, and the problems; one group a file of the catalogue."""
    for module, entries in groupby(catalogue.entries(), key=lambda entry: entry.build.__module__):
        title = (sys.modules[module].__doc__ or "").partition("\n")[0].rstrip(".")
        yield module.rpartition(".")[2], title, list(entries)


def value(entry: catalogue.Entry) -> str:
    """The value to as many digits as are known, or what there is instead."""
    if not math.isfinite(entry.value):
        return entry.status
    told = f"{entry.value:.{min(entry.digits, 8)}g}"
    return told if entry.status == "optimal" else f"{told} ({entry.status})"


class Catalogue(SphinxDirective):
    """A section a file: its first line, a picture, a table."""

    def run(self) -> list[nodes.Node]:
        found: list[nodes.Node] = []
        for name, title, entries in groups():
            section = nodes.section(ids=[f"catalogue-{name}"], names=[f"catalogue-{name}"])
            section += nodes.title(title, title)
            section += self._pictures(entries)
            section += _table(entries)
            found.append(section)
        return found

    def _pictures(self, entries: list[catalogue.Entry]) -> list[nodes.Node]:
        folder = Path(self.env.srcdir) / PICTURES
        drawn = next((entry for entry in entries if (folder / f"{entry.name}.png").exists()), None)
        if drawn is None:
            return []
        note = f"{drawn.name}: the violation over the index set at the solution, with the active points"
        picture = nodes.image(uri=f"/{PICTURES}/{drawn.name}.png", alt=note, classes=["picture"])
        return [nodes.figure("", picture, nodes.caption(note, note))]


def _table(entries: list[catalogue.Entry]) -> nodes.table:
    group = nodes.tgroup(cols=len(HEADS))
    group += [nodes.colspec(colwidth=1) for _ in HEADS]
    head, body = nodes.thead(), nodes.tbody()
    head += _row([nodes.Text(text) for text in HEADS])
    for entry in entries:
        texts = [nodes.Text(text) for text in (entry.title, value(entry), entry.source)]
        body += _row([nodes.literal(entry.name, entry.name), *texts])
    group += [head, body]
    return nodes.table("", group, classes=["catalogue"])


def _row(cells: list[nodes.Node]) -> nodes.row:
    row = nodes.row()
    row += [nodes.entry("", nodes.paragraph("", "", cell)) for cell in cells]
    return row


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("catalogue", Catalogue)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
