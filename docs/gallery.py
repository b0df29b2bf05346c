"""The pictures of the gallery: `python docs/gallery.py` runs the page's code and draws docs/figures/gallery/*.png.

A picture a section, on light and on dark paper, drawn from the names that the section's code leaves behind.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

HERE = Path(__file__).resolve().parent
FIGURES = HERE / "figures" / "gallery"
SECTION = re.compile(r"^## (.+)$", re.MULTILINE)
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


PAPERS = {
    "light": Paper("#ffffff", "#4b5563", "#2b5c8a", "#c0392b"),
    "dark": Paper("#1a1c1e", "#aeb6c1", "#6aaae0", "#ff7a66"),
}
Names = dict[str, Any]
Draw = Callable[[Axes, Names, Paper], None]
DRAWN: dict[str, Draw] = {}


def drawn(title: str) -> Callable[[Draw], Draw]:
    """Register the picture of a section."""

    def register(draw: Draw) -> Draw:
        DRAWN[title] = draw
        return draw

    return register


def slug(title: str) -> str:
    """The name of a section in addresses."""
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")


def sections(page: str) -> Iterator[tuple[str, str]]:
    """The title and the text of every section; what comes before the first has the title ""."""
    parts = SECTION.split(page)
    yield "", parts[0]
    yield from zip(parts[1::2], parts[2::2], strict=True)


def mark(axes: Axes, paper: Paper, x: Any, y: Any) -> None:
    """Active points."""
    axes.scatter(x, y, s=46, color=paper.point, edgecolor="#1f2937", linewidth=0.9, zorder=6, clip_on=False)


def active(names: Names, family: int | None = None) -> np.ndarray:
    """The first coordinates of the active points."""
    return np.array([a.point[0] for a in names["solution"].active if family in (None, a.family)])


@drawn("A parabola above tan")
def _tan(axes: Axes, names: Names, paper: Paper) -> None:
    t, x, at = np.linspace(0, 1, 300), names["solution"].x, active(names)
    axes.fill_between(t, -0.1, np.tan(t), color=paper.area, alpha=0.15, linewidth=0)
    axes.plot(t, np.tan(t), color=paper.ink, linewidth=1.4)
    axes.plot(t, np.polyval(x[::-1], t), color=paper.line, linewidth=2.4)
    mark(axes, paper, at, np.tan(at))


@drawn("Masts in a town")
def _masts(axes: Axes, names: Names, paper: Paper) -> None:
    side, solution = np.linspace(0, 1, 200), names["solution"]
    mesh = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    room = solution.violation(0).values(mesh)[:, 0].reshape(200, 200)
    axes.imshow(room, origin="lower", extent=(0, 1, 0, 1), cmap="Blues_r", aspect="auto", interpolation="bilinear")
    axes.contour(side, side, room, 8, colors="white", linewidths=0.6, alpha=0.6)
    axes.plot(*names["masts"].T, "^", color="#111827", markersize=7, markeredgecolor="white")
    mark(axes, paper, *np.array([a.point for a in solution.active]).T)


@drawn("The best polynomial")
def _best(axes: Axes, names: Names, paper: Paper) -> None:
    t, solution = np.linspace(-1, 1, 600), names["solution"]
    p, h, at = solution[names["p"]], solution.value, active(names)

    def error(s: Any) -> Any:
        return np.polyval(p[::-1], s) - np.abs(s)

    for level in (h, -h):
        axes.axhline(level, color=paper.area, linewidth=1.2, linestyle=(0, (4, 3)))
    axes.axhline(0, color=paper.ink, linewidth=0.8)
    axes.plot(t, error(t), color=paper.line, linewidth=2.2)
    mark(axes, paper, at, error(at))


@drawn("A low-pass filter")
def _filter(axes: Axes, names: Names, paper: Paper) -> None:
    f, solution = np.linspace(0, 0.5, 800), names["solution"]
    taps, ripple = solution[names["a"]], solution.value

    def gain(s: Any) -> Any:
        return np.cos(2 * np.pi * np.outer(s, np.arange(11))) @ taps

    for low, high, middle in ((0, 0.2, 1.0), (0.28, 0.5, 0.0)):
        axes.fill_between([low, high], middle - ripple, middle + ripple, color=paper.ink, alpha=0.3, linewidth=0)
    axes.plot(f, gain(f), color=paper.line, linewidth=2)
    at = active(names)
    mark(axes, paper, at, gain(at))


@drawn("A robust portfolio")
def _portfolio(axes: Axes, names: Names, paper: Paper) -> None:
    solution, mean, spread = names["solution"], names["mean"], names["spread"]
    w = solution[names["shares"]]
    rng = np.random.default_rng(0)
    u = rng.normal(size=(4000, 4))
    u *= (rng.random(4000) ** 0.25 / np.linalg.norm(u, axis=1))[:, None]
    axes.hist((mean + u @ spread.T) @ w, bins=60, color=paper.line, alpha=0.75)
    axes.hist((mean + u @ spread.T) @ np.eye(4)[3], bins=60, color=paper.ink, alpha=0.35)
    axes.axvline(solution.value, color=paper.area, linewidth=1.6)
    mark(axes, paper, [solution.value], [0])


@drawn("The largest disc")
def _disc(axes: Axes, names: Names, paper: Paper) -> None:
    s, solution = np.linspace(0, 2 * np.pi, 500), names["solution"]

    def h(v: Any) -> Any:
        return 1 + 0.25 * np.cos(v) + 0.1 * np.cos(3 * v)

    def slope(v: Any) -> Any:
        return -0.25 * np.sin(v) - 0.3 * np.sin(3 * v)

    outline = np.stack([h(s) * np.cos(s) - slope(s) * np.sin(s), h(s) * np.sin(s) + slope(s) * np.cos(s)])
    c, r = solution[names["c"]], solution.value
    axes.fill(*outline, color=paper.ink, alpha=0.22, linewidth=0)
    axes.plot(*outline, color=paper.ink, linewidth=1.4)
    axes.fill(c[0] + r * np.cos(s), c[1] + r * np.sin(s), color=paper.line, alpha=0.45, linewidth=0)
    axes.plot(c[0] + r * np.cos(s), c[1] + r * np.sin(s), color=paper.line, linewidth=2)
    at = active(names)
    mark(axes, paper, c[0] + r * np.cos(at), c[1] + r * np.sin(at))
    axes.set_aspect("equal")


@drawn("A curve between two regions")
def _regions(axes: Axes, names: Names, paper: Paper) -> None:
    from matplotlib.patches import Circle, Rectangle

    solution = names["solution"]
    w = solution[names["w"]]
    a, b = np.meshgrid(np.linspace(-1.6, 1.9, 200), np.linspace(-1.5, 1.6, 200))
    q = w[0] + w[1] * a + w[2] * b + w[3] * a**2 + w[4] * a * b + w[5] * b**2
    axes.contour(a, b, q, levels=[0.0], colors=[paper.ink], linewidths=2)
    axes.contour(a, b, q, levels=[-1.0, 1.0], colors=[paper.ink], linewidths=0.9, linestyles="dashed")
    axes.add_patch(Circle((0.5, 0.6), 0.8, color=paper.line, alpha=0.5, linewidth=0))
    axes.add_patch(Rectangle((-1, -1.2), 2.2, 0.6, color=paper.area, alpha=0.45, linewidth=0))
    mark(axes, paper, *np.array([p.point for p in solution.active]).T)
    axes.set_aspect("equal")


@drawn("Kissing spheres")
def _kissing(axes: Axes, names: Names, paper: Paper) -> None:
    t, solution = np.linspace(-1, 0.62, 500), names["solution"]

    def value(s: Any) -> Any:
        return 1 + sum(c * g(s) for c, g in zip(solution.x, names["basis"], strict=True))

    axes.fill_between([-1, 0.5], 0, 2.2, color=paper.area, alpha=0.15, linewidth=0)
    axes.axhline(0, color=paper.ink, linewidth=0.9)
    axes.plot(t, value(t), color=paper.line, linewidth=2.2)
    at = active(names)
    mark(axes, paper, at, value(at))
    axes.set_ylim(-2.2, 2.2)


@drawn("Hedging at the least cost")
def _hedge(axes: Axes, names: Names, paper: Paper) -> None:
    s, solution = np.linspace(0, 3, 500), names["solution"]
    calls = np.maximum(s[:, None] - names["strikes"], 0) @ solution[names["calls"]]
    hedge = solution[names["cash"]] + solution[names["share"]] * s + calls
    axes.fill_between(s, 0, np.abs(s - 1), color=paper.area, alpha=0.15, linewidth=0)
    axes.plot(s, np.abs(s - 1), color=paper.ink, linewidth=1.4)
    axes.plot(s, hedge, color=paper.line, linewidth=2.4)
    at = active(names)
    mark(axes, paper, at, np.abs(at - 1))


@drawn("Warm everywhere")
def _heat(axes: Axes, names: Names, paper: Paper) -> None:
    z, solution = np.linspace(0, 1, 500), names["solution"]

    def warmth(s: Any) -> Any:
        return np.exp(-30 * (np.asarray(s)[:, None] - names["places"]) ** 2) @ solution[names["heat"]]

    least = 1 + 0.2 * np.sin(6 * z)
    axes.fill_between(z, 0.6, least, color=paper.area, alpha=0.15, linewidth=0)
    axes.fill_between(z, 1.6, 1.75, color=paper.area, alpha=0.15, linewidth=0)
    axes.plot(z, least, color=paper.ink, linewidth=1.2)
    axes.axhline(1.6, color=paper.ink, linewidth=1.2)
    axes.plot(z, warmth(z), color=paper.line, linewidth=2.2)
    axes.bar(names["places"], 0.12 * solution[names["heat"]], bottom=0.6, width=0.02, color=paper.line, alpha=0.6)
    at = active(names)
    mark(axes, paper, at, warmth(at))


@drawn("A fit that only rises")
def _rises(axes: Axes, names: Names, paper: Paper) -> None:
    t, solution = np.linspace(0, 1, 400), names["solution"]

    def fit(s: Any) -> Any:
        return np.polyval(solution[names["c"]][::-1], s)

    free = np.polynomial.Polynomial.fit(names["at"], names["data"], 7)
    axes.plot(t, free(t), color=paper.ink, linewidth=1.1, linestyle=(0, (4, 3)))
    axes.plot(names["at"], names["data"], "o", color=paper.ink, markersize=4, alpha=0.8)
    axes.plot(t, fit(t), color=paper.line, linewidth=2.4)
    at = active(names)
    mark(axes, paper, at, fit(at))


@drawn("A tail from four moments")
def _tail(axes: Axes, names: Names, paper: Paper) -> None:
    t, solution = np.linspace(0, 1, 500), names["solution"]

    def q(s: Any) -> Any:
        return np.polyval(solution.x[::-1], s)

    axes.fill_between([0.8, 1], 0, 1, color=paper.ink, alpha=0.25, linewidth=0)
    axes.plot([0, 0.8, 0.8, 1], [0, 0, 1, 1], color=paper.ink, linewidth=1.4)
    axes.plot(t, q(t), color=paper.line, linewidth=2.4)
    at = active(names)
    mark(axes, paper, at, q(at))


def draw(title: str, names: Names) -> None:
    """Both pictures of one section."""
    for name, paper in PAPERS.items():
        figure = plt.figure(figsize=SIZE, facecolor=paper.ground)
        axes = figure.add_axes((0.03, 0.04, 0.94, 0.92), facecolor=paper.ground)
        DRAWN[title](axes, names, paper)
        axes.set_xticks([])
        axes.set_yticks([])
        axes.spines[:].set_visible(False)
        figure.savefig(FIGURES / f"{slug(title)}_{name}.png", dpi=DPI, facecolor=paper.ground)
        plt.close(figure)


def main() -> None:
    """Run the page, and draw after each of its sections."""
    FIGURES.mkdir(parents=True, exist_ok=True)
    names: Names = {}
    for title, text in sections((HERE / "gallery.md").read_text(encoding="utf-8")):
        with redirect_stdout(StringIO()):
            for code in CODE.findall(text):
                exec(compile(code, title, "exec"), names)
        if title:
            draw(title, names)


if __name__ == "__main__":
    main()
