"""The directive `learning-methods`: the table that `python -m benchmarks methods --keep FILE` leaves in its file."""

from __future__ import annotations

import json
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

HEADS = ("environment", "method", "seeds", "return, mean (lowest)", "worst violation, mean (largest)", "found feasible")


def number(value: float) -> str:
    """A number for reading, with a true minus."""
    return f"{value:.4g}".replace("-", "−")


def cells(row: dict[str, Any]) -> tuple[str, ...]:
    """What a row of the table says."""
    several = row["seeds"] > 1
    returned, violated = number(row["mean_return"]), number(row["mean_violation"])
    if several:
        returned += f" ({number(row['lowest_return'])})"
        violated += f" ({number(row['worst_violation'])})"
    where = f"{row['environment']}, {row['steps']:,} {'iterations' if row['environment'] == 'sewage' else 'steps'}"
    return where, row["method"], str(row["seeds"]), returned, violated, f"{row['found_feasible']} of {row['seeds']}"


def spans(numbers: list[int]) -> str:
    """Sorted whole numbers, those that follow each other as one span."""
    starts = [k for k in numbers if k - 1 not in numbers]
    ends = [k for k in numbers if k + 1 not in numbers]
    return ", ".join(str(a) if a == b else f"{a} to {b}" for a, b in zip(starts, ends, strict=True))


class LearningMethods(SphinxDirective):
    """One row an environment and method, and a sentence about the machine."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        path, name = self.env.relfn2path(self.arguments[0])
        self.env.note_dependency(path)
        with open(name, encoding="utf-8") as file:
            figures = json.load(file)
        group = nodes.tgroup(cols=len(HEADS))
        group += [nodes.colspec(colwidth=1) for _ in HEADS]
        head, body = nodes.thead(), nodes.tbody()
        head += _row(HEADS)
        body += [_row(cells(row)) for row in figures["rows"]]
        group += [head, body]
        seeds = sorted({each["seed"] for each in figures["cells"]})
        told = f"Seeds {spans(seeds)}; {figures['machine']['cores']} cores, {figures['machine']['date']}."
        return [nodes.table("", group, classes=["learning-methods"]), nodes.paragraph(told, told)]


def _row(texts: tuple[str, ...]) -> nodes.row:
    row = nodes.row()
    row += [nodes.entry("", nodes.paragraph(text, text)) for text in texts]
    return row


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("learning-methods", LearningMethods)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
