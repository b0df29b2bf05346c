"""Pictures of the environments: outfalls, ship and vehicle, over what is allowed at every place, or violated."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rl import plotting

from .registry import Experiment, Outcome, Progress, written
from .sewage_si_cpo import PAPER

Array = NDArray[np.float64]
SIZE = (4.8, 4.8)
MESH = 121  # points along a side
GREEN, AMBER = "#047857", "#d97706"


def _mesh(side: float) -> tuple[Array, Array]:
    """Points along a side, and all points of the square (MESH², 2)."""
    along = np.linspace(0, side, MESH)
    return along, np.stack(np.meshgrid(along, along), axis=-1).reshape(-1, 2)


def sewage_env(out: Path, full: bool, seeds: int | None, progress: Progress) -> Outcome:
    """Outfalls over the bound u_y of the discounted pollution."""
    drawn: Any = plotting.figure(size=SIZE)
    mdp = PAPER.environment(0)
    along, places = _mesh(PAPER.region)
    bounds = mdp.costs.at(places)[1]
    axes = drawn.axes[0]
    heat = axes.pcolormesh(along, along, bounds.reshape(MESH, MESH), shading="gouraud", cmap="Blues")
    axes.plot(*mdp.outfalls.T, "v", color=AMBER, markersize=10, markeredgecolor="white", clip_on=False)
    for s, (u, v) in enumerate(mdp.outfalls):
        axes.annotate(f"{s + 1}", (u, v), textcoords="offset points", xytext=(8, 4))
    axes.set(xlim=(0, PAPER.region), ylim=(0, PAPER.region), aspect="equal", xlabel="$y_1$", ylabel="$y_2$")
    drawn.colorbar(heat, ax=axes, shrink=0.8, label="$u_y$")
    progress(1, 1)
    numbers = {"outfalls": mdp.outfalls.tolist(), "bound": [float(bounds.min()), float(bounds.max())]}
    lines = [f"{len(mdp.outfalls)} outfalls; u_y is between {bounds.min():.3f} and {bounds.max():.3f}"]
    return written(out, "sewage_env", drawn, numbers, lines)


def route_env(out: Path, full: bool, seeds: int | None, progress: Progress) -> Outcome:
    """The sea with the protected area, and two routes over the violation of the shorter one."""
    from .. import ship

    drawn: Any = plotting.figure(size=SIZE)
    axes, lines = drawn.axes[0], []
    numbers: dict[str, Any] = {}
    for name, style in (("straight line", "o-"), ("curve y = x^4", "s-")):
        positions, total = ship.route(ship.reference_routes()[name])
        violation = ship.violations(positions, np.concatenate([_mesh(1.0)[1], positions]))
        if not numbers:
            ship.draw(axes, positions)
        else:
            axes.plot(*positions.T, style, color=GREEN, markersize=4, linewidth=1.5, clip_on=False)
        numbers[name] = {"return": total, "steps": len(positions) - 1, "violation": float(violation.max())}
        lines.append(f"{name}: return {total:.3f}, violation {violation.max():+.4f}")
    progress(1, 1)
    return written(out, "route_env", drawn, numbers, lines)


def spraying_env(out: Path, full: bool, seeds: int | None, progress: Progress) -> Outcome:
    """Crop and strip with the doses of the reference route."""
    from .. import spraying

    drawn: Any = plotting.figure(size=SIZE)
    positions, flows, total = spraying.route(spraying.reference_route())
    spraying.draw(drawn.axes[0], positions, flows)
    places = spraying.constraint().domain.grid(81)
    violation = float(spraying.violations(positions, flows, places).max())
    progress(1, 1)
    numbers = {"return": total, "steps": len(flows), "liquid": float(flows.sum()), "violation": violation}
    return written(out, "spraying_env", drawn, numbers, [f"return {total:.4f}, violation {violation:+.4f}"])


EXPERIMENTS = (
    Experiment("sewage_env", "Figure_Sewage_Env", "Discharge of Sewage: outfalls and the bound", sewage_env),
    Experiment("route_env", "Figure_Route_Env", "Ship Route Planning: the sea and two routes", route_env),
    Experiment("spraying_env", "not in the paper", "Agricultural Spraying: doses of a good route", spraying_env),
)
