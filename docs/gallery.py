"""The pictures of the examples: `python docs/gallery.py [NAME …]` runs the code of docs/examples/NAME.md and draws it.

The last block of a page defines `draw(axes, paper)`, which draws the answer that the blocks before it have computed, on
light and on dark paper, into docs/figures/gallery.
"""

from __future__ import annotations

import re
import sys
from contextlib import redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.axes import Axes

HERE = Path(__file__).resolve().parent
FIGURES = HERE / "figures" / "gallery"
ENTRY = re.compile(r"^examples/([\w-]+)$", re.MULTILINE)
CODE = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SIZE, DPI = (5.6, 3.5), 100


@dataclass(frozen=True)
class Paper:
    """The colours of a picture."""

    ground: str
    ink: str  # of what is given
    line: str  # of the answer
    area: str  # of what is forbidden
    point: str = "#f5b700"

    def mark(self, axes: Axes, x: Any, y: Any) -> None:
        """Active points."""
        axes.scatter(x, y, s=46, color=self.point, edgecolor="#1f2937", linewidth=0.9, zorder=6, clip_on=False)


PAPERS = {
    "light": Paper("#ffffff", "#4b5563", "#2b5c8a", "#c0392b"),
    "dark": Paper("#1a1c1e", "#aeb6c1", "#6aaae0", "#ff7a66"),
}


def names() -> list[str]:
    """The examples, in the order of the page."""
    return ENTRY.findall((HERE / "gallery.md").read_text(encoding="utf-8"))


def page(name: str) -> str:
    """The text of an example."""
    return (HERE / "examples" / f"{name}.md").read_text(encoding="utf-8")


def title(name: str) -> str:
    """The first heading of an example."""
    return page(name).partition("\n")[0].removeprefix("# ")


def draw(name: str) -> None:
    """Both pictures of one example."""
    left: dict[str, Any] = {}  # the names that its code leaves behind
    with redirect_stdout(StringIO()):
        for code in CODE.findall(page(name)):
            exec(compile(code, name, "exec"), left)
    for tone, paper in PAPERS.items():
        figure = plt.figure(figsize=SIZE, facecolor=paper.ground)
        axes = figure.add_axes((0.03, 0.04, 0.94, 0.92), facecolor=paper.ground)
        left["draw"](axes, paper)
        axes.set_xticks([])
        axes.set_yticks([])
        axes.spines[:].set_visible(False)
        figure.savefig(FIGURES / f"{name}_{tone}.png", dpi=DPI, facecolor=paper.ground)
        plt.close(figure)


def main() -> None:
    """Draw the examples that are named, or all."""
    FIGURES.mkdir(parents=True, exist_ok=True)
    for name in sys.argv[1:] or names():
        draw(name)


if __name__ == "__main__":
    main()
