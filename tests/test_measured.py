"""The page of figures is what the runs say."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from benchmarks.harness.registry import benchmarks

DOCS = Path(__file__).resolve().parent.parent / "docs"
sys.path.append(str(DOCS))
import measured  # noqa: E402

RUN = {
    "benchmark": "resolve",
    "title": "does solving again save time?",
    "command": "python -m benchmarks resolve --quick --json",
    "machine": {"date": "2026-11-17", "python": "3.11.7", "cores": 2, "load": 3.84, "processor": "x86_64"},
    "seconds": 61.2,
    "goals": [
        {"goal": "share of the time", "figure": 0.342934, "target": 0.3, "met": False},
        {"goal": "not equal", "figure": 0, "target": 0, "met": True},
    ],
    "summary": {"models": 294, "kinds": {"right_sides": 0.48123}, "open": ["a|b"], "rows": [{"x": 1}], "none": []},
}
SECTION = """## resolve

Does solving again save time? `python -m benchmarks resolve --quick --json`: 2 cores, x86_64, Python 3.11.7, load 3.8, 61 s in all, 2026-11-17.

| goal | measured | target | reached |
| --- | --- | --- | --- |
| share of the time | 0.343 | 0.3 | no |
| not equal | 0 | 0 | yes |

| figure | value |
| --- | --- |
| models | 294 |
| kinds: right sides | 0.481 |
| open | a\\|b |
"""  # noqa: E501


def test_a_run_is_told_with_machine_and_date(tmp_path):
    (tmp_path / "resolve.json").write_text(json.dumps(RUN), encoding="utf-8")
    (found,) = measured.runs(tmp_path)
    assert measured.section(found) == SECTION
    whole = measured.page([found])
    assert "| [resolve](#resolve) | 1 of 2 | 2026-11-17 |" in whole
    assert whole.endswith("| open | a\\|b |\n")


def test_tables_are_those_of_runs():
    run = {**RUN, "benchmark": "fuzz", "summary": {"tries": 20000, "raw": 0}}
    kinds = {**run, "benchmark": "files", "kinds": [{"kind": "plan", "tries": 5, "raw": 1}]}
    text = "Calls:\n<!-- run: fuzz -->\nold\n<!-- end -->\nFiles:\n<!-- run: files -->\n<!-- end -->\n"
    found = measured.filled(text, [run, kinds])
    assert "old" not in found
    assert "| tries | raw |\n| --- | --- |\n| 20,000 | 0 |\n" in found
    assert "| kind | tries | raw |\n| --- | --- | --- |\n| plan | 5 | 1 |\n| all | 20,000 | 0 |\n" in found
    assert "`python -m benchmarks resolve --quick --json`: 2 cores" in found
    assert "Not run yet." in measured.filled(text, [])
    assert measured.filled(found, [run, kinds]) == found


def test_the_pages_are_made_from_the_runs():
    """If this fails: `python docs/measured.py`."""
    found = measured.runs(measured.RESULTS)
    assert found
    assert measured.PAGE.read_text(encoding="utf-8") == measured.page(found)
    tables = measured.TABLES.read_text(encoding="utf-8")
    assert measured.PLACE.findall(tables) == ["fuzz", "files", "leaks", "masters", "interrupts", "keep"]
    assert tables == measured.filled(tables, found)
    assert all(run["benchmark"] in benchmarks() and run["machine"]["date"] for run in found)
