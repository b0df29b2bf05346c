"""The directive `benchmark-runs`: the goals of every run whose JSON is in a folder, with its machine and date."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

HEADS = ("goal", "measured", "target", "reached")


def runs(folder: Path) -> list[dict[str, Any]]:
    """What `python -m benchmarks NAME --json` has left in a folder, by name."""
    found = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))]
    kept = [run for run in found if isinstance(run, dict) and run.get("goals") and "benchmark" in run]
    return sorted(kept, key=lambda run: str(run["benchmark"]))


def told(run: dict[str, Any]) -> str:
    """What was run, where and when, and how busy the machine was."""
    machine = run.get("machine", {})
    parts = [f"{machine[key]} {word}" for key, word in (("cores", "cores"),) if key in machine]
    parts += [f"Python {machine['python']}"] if "python" in machine else []
    parts += [f"load {machine['load']:.1f} at the end"] if machine.get("load") is not None else []
    parts += [str(machine["date"])] if "date" in machine else []
    quick = " --quick" if run.get("quick") else ""
    return f"python -m benchmarks {run['benchmark']}{quick}: {', '.join(parts)}."


def figure(value: Any) -> str:
    """A number for reading."""
    return "-" if value is None else f"{value:.3g}" if isinstance(value, float) else str(value)


class BenchmarkRuns(SphinxDirective):
    """A sentence and a table a run."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        _, name = self.env.relfn2path(self.arguments[0])
        for path in Path(name).glob("*.json"):
            self.env.note_dependency(str(path))
        return [node for run in runs(Path(name)) for node in (_sentence(told(run)), _table(run["goals"]))]


def _sentence(text: str) -> nodes.paragraph:
    return nodes.paragraph(text, text)


def _table(goals: list[dict[str, Any]]) -> nodes.table:
    group = nodes.tgroup(cols=len(HEADS))
    group += [nodes.colspec(colwidth=1) for _ in HEADS]
    head, body = nodes.thead(), nodes.tbody()
    head += _row(HEADS)
    for goal in goals:
        reached = {True: "yes", False: "no"}.get(goal.get("met"), "-")  # type: ignore[arg-type]
        body += _row((str(goal["goal"]), figure(goal.get("figure")), figure(goal.get("target")), reached))
    group += [head, body]
    return nodes.table("", group, classes=["benchmark-runs"])


def _row(cells: tuple[str, ...]) -> nodes.row:
    row = nodes.row()
    row += [nodes.entry("", nodes.paragraph(text, text)) for text in cells]
    return row


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("benchmark-runs", BenchmarkRuns)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
