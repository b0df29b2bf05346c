"""The picture of the front page: `python docs/front_picture.py` writes docs/figures/front_light.png and front_dark.png.

Four masts send as much as they can while the field stays below a limit at every place of a town: once with the limit on
a grid of places only, once with it everywhere. Colours show by how much of itself the limit is exceeded.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import highspy
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import TwoSlopeNorm

import lsip

FIGURES = Path(__file__).resolve().parent / "figures"
MASTS = np.array([[0.2, 0.3], [0.4, 0.7], [0.6, 0.4], [0.9, 0.6]])
SIDE = 10  # points of the grid along an axis
MESH = 301
PAPERS = {"light": ("#ffffff", "#1f2937"), "dark": ("#131416", "#e5e7eb")}  # paper and ink


def share(y: Any) -> Any:
    """How much of the limit at places y (…, 2) one unit of power of each mast takes: shape (…, 4)."""
    field = 1 / (1 + 60 * ((y[..., None, :] - MASTS) ** 2).sum(axis=-1))
    return field / (1 + y[..., :1] / 2)


def everywhere() -> lsip.Solution:
    """The limit at every place of the town."""
    x = lsip.Variable(4, name="x", lower=0)
    y = lsip.Index("y", lsip.Box([0, 0], [1, 1]))
    return lsip.Problem(lsip.maximize(x.sum()), [lsip.forall(y, share(y) @ x <= 1)]).solve(verbose=False)


def on_grid(places: np.ndarray) -> np.ndarray:
    """The limit at the places of a grid: one linear program."""
    lp = highspy.Highs()
    lp.silent()
    x = [lp.addVariable(lb=0.0) for _ in MASTS]
    for row in share(places):
        lp.addConstr(sum(float(a) * v for a, v in zip(row, x, strict=True)) <= 1.0)
    lp.maximize(sum(x))
    return np.array(lp.getSolution().col_value)


def panel(axes: Axes, power: np.ndarray, title: str, note: str, ink: str) -> None:
    """The excess over the limit for these powers."""
    side = np.linspace(0, 1, MESH)
    mesh = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    excess = 100 * (share(mesh) @ power - 1).reshape(MESH, MESH)
    norm = TwoSlopeNorm(0.0, -80.0, 12.0)
    image = axes.imshow(excess, origin="lower", extent=(0, 1, 0, 1), cmap="RdBu_r", norm=norm, interpolation="bilinear")
    if excess.max() > 1e-3:
        axes.contour(side, side, excess, levels=[0.0], colors="#7f1d1d", linewidths=1.2)
    axes.plot(*MASTS.T, "^", color="#111827", markersize=7, markeredgecolor="white")
    axes.set_title(title, loc="left", color=ink, fontsize=12, fontweight="bold")
    axes.set_xlabel(note, color=ink, fontsize=10.5, loc="left")
    axes.set_xticks([])
    axes.set_yticks([])
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.image = image


def draw(paper: str, ink: str, path: Path) -> None:
    """Both panels on one sheet."""
    solution = everywhere()
    side = np.linspace(0, 1, SIDE)
    places = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    naive = on_grid(places)
    worst = lsip.oracles.supremum(solution.program.violation(0, naive), tol=1e-6).worst
    figure, (left, right) = plt.subplots(1, 2, figsize=(10.2, 5.2), layout="constrained", facecolor=paper)
    found = f"kept at all {SIDE**2} places; between them, up to {100 * worst:.0f} % over"
    panel(left, naive, f"a grid of {SIDE} × {SIDE} places", found, ink)
    left.plot(*places.T, "o", color="#111827", markersize=3.6, markeredgecolor="#ffffff", markeredgewidth=0.5)
    proven = f"over it nowhere: proven, and optimal to {solution.gap:.0e}"
    panel(right, solution.x, "lsip: every place", proven, ink)
    for active in solution.active:
        right.plot(
            *active.point, "o", markersize=13, markerfacecolor="none", markeredgecolor="#b91c1c", markeredgewidth=2
        )
    figure.get_layout_engine().set(wspace=0.04)
    bar = figure.colorbar(left.image, ax=[left, right], shrink=0.82, pad=0.015, ticks=[-80, -40, 0, 5, 10])
    bar.set_label("over the limit, %", color=ink)
    bar.ax.tick_params(colors=ink)
    bar.outline.set_visible(False)
    figure.savefig(path, dpi=110, facecolor=paper)
    plt.close(figure)


def main() -> None:
    """Write both pictures."""
    for name, (paper, ink) in PAPERS.items():
        draw(paper, ink, FIGURES / f"front_{name}.png")


if __name__ == "__main__":
    main()
