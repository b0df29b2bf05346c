"""The pages of figures: `python docs/measured.py` writes docs/measured.md from the runs in benchmarks/results/.

`python -m benchmarks NAME --json > benchmarks/results/NAME.json` leaves a run there. Nothing on the page is written by
hand, so that every figure has a command, a machine and a date; nor are the tables of docs/reliability.md, which it
writes, too. tests/test_measured.py compares both with the runs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PAGE, RESULTS = ROOT / "docs" / "measured.md", ROOT / "benchmarks" / "results"
TABLES = ROOT / "docs" / "reliability.md"  # its tables stand between <!-- run: NAME --> and <!-- end -->
PLACE = re.compile(r"<!-- run: (\w+) -->\n.*?<!-- end -->", re.DOTALL)
MOST_NAMES = 8  # in one cell
NAMES = {"system": "", "python": "Python", "numpy": "NumPy", "scipy": "SciPy", "highs": "HiGHS"}
HEAD = """# Figures

What runs of the [benchmarks](benchmarks.md) measured, each with its command, its machine and its date. This page is
made from `benchmarks/results/*.json` by `python docs/measured.py`, and nothing on it is written by hand; goals that
are missed stay in it. Ratios within a run can be compared with those of another; seconds of different machines, or of
a busy one (see its load), cannot.
"""
Run = dict[str, Any]


def runs(folder: Path) -> list[Run]:
    """What `python -m benchmarks NAME --json` has left in a folder, by name."""
    files = sorted(folder.glob("*.json"))
    found = [{"benchmark": path.stem, **json.loads(path.read_text(encoding="utf-8"))} for path in files]
    return sorted(found, key=lambda run: str(run["benchmark"]))


def page(found: list[Run]) -> str:
    """The whole page: a line a run, then a section a run."""
    parts = [HEAD, table(("benchmark", "goals reached", "date"), (_line(run) for run in found))]
    return "\n".join([*parts, *map(section, found)])


def section(run: Run) -> str:
    """One run: what it asks, where it was made, its goals and its figures."""
    parts = [f"## {run['benchmark']}\n", f"{_sentence(run.get('title', ''))}{told(run)}\n"]
    if run.get("goals"):
        rows = (
            (str(g["goal"]), figure(g.get("figure")), figure(g.get("target")), figure(g.get("met")))
            for g in run["goals"]
        )
        parts.append(table(("goal", "measured", "target", "reached"), rows))
    if summary := list(figures(run.get("summary", run))):
        parts.append(table(("figure", "value"), summary))
    return "\n".join(parts)


def told(run: Run) -> str:
    """What was run, where and when, and how busy the machine was."""
    machine = run.get("machine", {})
    command = run.get("command", f"python -m benchmarks {run['benchmark']}{' --quick' if run.get('quick') else ''}")
    parts = [f"{machine[key]} {word}" for key, word in (("cores", "cores"), ("processor", "")) if machine.get(key)]
    parts += [f"{name} {machine[key]}" for key, name in NAMES.items() if machine.get(key)]
    parts += [f"load {machine['load']:.1f}"] if machine.get("load") is not None else []
    parts += [f"{run['seconds']:.0f} s in all"] if isinstance(run.get("seconds"), float | int) else []
    parts += [str(machine["date"])] if "date" in machine else []
    return f"`{command}`: {', '.join(part.strip() for part in parts)}."


def filled(text: str, found: list[Run]) -> str:
    """A page with the tables of the runs that it names; without a run, it says so."""
    known = {run["benchmark"]: run for run in found}

    def put(place: re.Match[str]) -> str:
        name = place.group(1)
        parts = [_outcomes(known[name]), told(known[name])] if name in known else ["Not run yet."]
        return "\n".join([f"<!-- run: {name} -->\n", *parts, "\n<!-- end -->"])

    return PLACE.sub(put, text)


def _outcomes(run: Run) -> str:
    """How the tries of a run ended: a row for each kind, where it has kinds, and one for all."""
    rows = [*run.get("kinds", ()), {"kind": "all", **run["summary"]}] if run.get("kinds") else [run["summary"]]
    heads = [key for key, value in rows[-1].items() if isinstance(value, int | str)]
    return table(tuple(heads), ([f"{row[h]:,}" if isinstance(row[h], int) else row[h] for h in heads] for row in rows))


def figures(summary: Any, prefix: str = "") -> Iterator[tuple[str, str]]:
    """Numbers and short lists of names, with what they are called; tables within a run are left to the command."""
    for key, value in summary.items() if isinstance(summary, dict) else ():
        name = f"{prefix}{key}".replace("_", " ")
        if key in ("benchmark", "title", "command", "quick", "machine", "goals", "seconds"):
            continue
        if isinstance(value, dict):
            yield from figures(value, f"{name}: ")
        elif isinstance(value, list):
            if value and not any(isinstance(each, dict | list) for each in value):
                more = f" and {len(value) - MOST_NAMES} more" if len(value) > MOST_NAMES else ""
                yield name, ", ".join(figure(each) for each in value[:MOST_NAMES]) + more
        else:
            yield name, figure(value)


def figure(value: Any) -> str:
    """A number for reading."""
    if value is None or isinstance(value, bool):
        return {None: "-", True: "yes", False: "no"}[value]
    return f"{value:.3g}" if isinstance(value, float) else str(value).replace("|", "\\|")


def table(heads: tuple[str, ...], rows: Any) -> str:
    """A table of Markdown."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def _line(run: Run) -> tuple[str, str, str]:
    met = [goal.get("met") for goal in run.get("goals", ()) if goal.get("met") is not None]
    reached = f"{sum(met)} of {len(met)}" if met else "-"
    return f"[{run['benchmark']}](#{run['benchmark']})", reached, str(run.get("machine", {}).get("date", "-"))


def _sentence(title: str) -> str:
    return f"{title[:1].upper()}{title[1:]}{'' if title.endswith(('.', '?')) else '.'} " if title else ""


def main() -> None:
    """Write the pages."""
    found = runs(RESULTS)
    PAGE.write_text(page(found), encoding="utf-8", newline="\n")
    TABLES.write_text(filled(TABLES.read_text(encoding="utf-8"), found), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
