"""The curves of the benchmark `growth`: `python docs/growth_curves.py` draws docs/figures/growth.png from its run.

One panel a series, processor seconds against size, both logarithmic: ours, and what a user would pick instead. Sizes
that end without a proof are open circles.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt

HERE = Path(__file__).resolve().parent
RUN, PICTURE = HERE.parent / "benchmarks" / "results" / "growth.json", HERE / "figures" / "growth.png"
OURS, THEIRS, ACROSS = "#1d4ed8", "#9ca3af", 3


def draw(run: dict[str, Any], picture: Path) -> None:
    """All panels of a run."""
    series = run["summary"]["series"]
    down = -(-len(series) // ACROSS)
    figure, axes = plt.subplots(down, ACROSS, figsize=(10.5, 2.9 * down), squeeze=False, layout="constrained")
    for each, axis in zip(series, axes.flat, strict=False):
        rows = [row for row in run["rows"] if row["series"] == each["series"]]
        ours = [row for row in rows if row.get("cpu")]
        theirs = [row for row in rows if row.get("rival_cpu")]
        if theirs:
            label = f"{each['tool']}{_slope(each['rival_exponent'])}"
            axis.plot([r["size"] for r in theirs], [r["rival_cpu"] for r in theirs], "s--", color=THEIRS, label=label)
        label = f"lsip{_slope(each['exponent'])}"
        axis.plot([row["size"] for row in ours], [row["cpu"] for row in ours], color=OURS, label=label)
        for row in ours:
            axis.plot(row["size"], row["cpu"], "o", color=OURS, mfc=OURS if row["certified"] else "white")
        axis.set(xscale="log", yscale="log", title=each["series"].replace("_", " "), xlabel=each["size"])
        axis.grid(alpha=0.25)
        axis.legend(frameon=False, fontsize=8)
    for axis in list(axes.flat)[len(series) :]:
        axis.axis("off")
    for axis in axes[:, 0]:
        axis.set_ylabel("processor seconds")
    figure.savefig(picture, dpi=110)
    plt.close(figure)


def _slope(exponent: float | None) -> str:
    return "" if exponent is None else f", exponent {exponent:.2g}"


def main() -> None:
    """The picture of the run that is kept, or of the file that is named."""
    run = Path(sys.argv[1]) if len(sys.argv) > 1 else RUN
    draw(json.loads(run.read_text(encoding="utf-8")), PICTURE)


if __name__ == "__main__":
    main()
