"""The directive `published-models`: the table of `python -m benchmarks published --json`, as a run has left it."""

from __future__ import annotations

import json
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

HEADS = ("model", "published", "proven, about", "status", "seconds")


def answer(model: dict[str, Any]) -> str:
    """Between which bounds the optimum is proven to lie, rounded for reading."""
    if model.get("status") in (None, "REFUSED", "INFEASIBLE", "UNBOUNDED"):
        return "-"
    lower, upper = (f"{float(model[end]):.7g}".replace("inf", "∞") for end in ("lower", "upper"))
    return lower if lower == upper else f"{lower} … {upper}"


def status(model: dict[str, Any]) -> str:
    """How the solve ended, and whether the published value came out."""
    ended = str(model.get("status", "stopped")).replace("_", " ").lower()
    return f"{ended}, other value" if model.get("right") is False else ended


class PublishedModels(SphinxDirective):
    """A sentence with the counts, and one row a model."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        path, name = self.env.relfn2path(self.arguments[0])
        self.env.note_dependency(path)
        with open(name, encoding="utf-8") as file:
            figures = json.load(file)
        total = figures["summary"]
        told = (
            f"{total['certified']} of {total['models']} models are certified, within {figures['time_limit']:g} s each; "
            f"{total['right']} of {total['claimed']} published values come out "
            f"({figures['machine']['cores']} cores, {figures['machine']['date']})."
        )
        return [nodes.paragraph(told, told), self._table(figures["models"])]

    def _table(self, models: list[dict[str, Any]]) -> nodes.table:
        group = nodes.tgroup(cols=len(HEADS))
        group += [nodes.colspec(colwidth=1) for _ in HEADS]
        head, body = nodes.thead(), nodes.tbody()
        head += _row(HEADS)
        for model in models:
            seconds = f"{model['seconds']:.2g}" if model.get("seconds") is not None else "-"
            claim = "-" if model["claim"] == "none" else model["claim"]
            body += _row((f"{model['name']} ({model['source']})", claim, answer(model), status(model), seconds))
        group += [head, body]
        return nodes.table("", group, classes=["published-models"])


def _row(cells: tuple[str, ...]) -> nodes.row:
    row = nodes.row()
    row += [nodes.entry("", nodes.paragraph(text, text)) for text in cells]
    return row


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("published-models", PublishedModels)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
