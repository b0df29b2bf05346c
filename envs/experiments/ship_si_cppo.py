"""Ship Route Planning with SI-CPPO: three figures and a table that compare it with CRPO on fixed grids of Y.

Both sides are the same algorithm with correct advantages; only the search over Y differs. Curves show the stochastic
policy, played afresh every few iterations and judged on 64 x 64 places and at the ships' own positions; routes are
those of the deterministic policy that a run keeps. Every run is kept in a file beside the figures.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
from numpy.typing import NDArray

import lsip
import rl
from rl import plotting

from .registry import Experiment, Outcome, Progress, written
from .runs import kept, one_thread, spread

if TYPE_CHECKING:
    from rl.si_cppo_config import Settings
    from rl.state import Report

Array = NDArray[np.float64]
METHODS = {"SI-CPPO": 0, "CRPO, N = 250": 16, "CRPO, N = 500": 23, "CRPO, N = 1000": 33}  # places along a side
OPPONENT = "CRPO, N = 1000"  # in the maps
SEEDS, PAPER_SEEDS = 1, 20
ITERATIONS, FULL_ITERATIONS = 40, 120
EVERY = 5  # iterations between two points of a curve
SEARCH: dict[str, lsip.oracles.Oracle] = {  # the paper's: a trust region method, and where it fails, random points
    "oracle": lsip.oracles.Multistart(),
    "fallback": lsip.oracles.RandomSearch(points=100),
}
JUDGE = lsip.oracles.Grid(points=64 * 64, cuts=1)
HEAT, MESH = 5.0, 121  # the paper's heat is this times the violation
SHARES = (0.1, 0.5, 0.9)  # of the bound, that a route uses up along the lines of the maps
SECONDS = {"SI-CPPO": 11.39, "CRPO, N = 250": 8.91, "CRPO, N = 500": 10.05, "CRPO, N = 1000": 11.78}  # the paper's
WORKERS = 2
SHIPS = 128
LARGE = (512, 512)  # the paper's networks,
LARGE_SHIPS = 64  # and about its batches: 6,400 steps, while ships wander for a hundred
TURNS, FULL_TURNS = 1, 3  # of the clock, at the paper's sizes

PRINTED: Settings = {  # the paper's rules, on small networks
    "eta": 0.01,
    "switch": "worst",
    "normalise": False,
    "normalise_rewards": False,
    "normalise_costs": False,
    "trace": 0.95,
    "learning_rate": 1e-3,
    "entropy": 0.0,
}


@dataclass(frozen=True)
class ShipRun:
    """One method and seed."""

    method: str
    seed: int
    iterations: int
    ships: int = SHIPS

    def file(self, folder: Path) -> Path:
        """Where its outcome is kept."""
        slug = self.method.lower().replace(", n = ", "_").replace("-", "_")
        return folder / f"{slug}_seed{self.seed}_T{self.iterations}.json"


def agent(method: str, seed: int, ships: int = SHIPS, **settings: Unpack[Settings]) -> rl.SICPPO:
    """A learner that has not begun."""
    import gymnasium

    from .. import ship

    env = gymnasium.make_vec("lsip/ShipRoute-v0", num_envs=ships)
    search = {"oracle": rl.baselines.FixedGrid(METHODS[method])} if METHODS[method] else SEARCH
    options: Settings = {"episodes": ships, **PRINTED, **settings}
    return rl.SICPPO(env, ship.constraint(), seed=seed, device="cpu", **search, **options)


def learn(run: ShipRun) -> dict[str, Any]:
    """The curves of one run, its final route, and what an iteration took."""
    learner = agent(run.method, run.seed, run.ships)
    when, rewards, worst = [], [], []
    spent = 0.0
    while learner.iteration < run.iterations:
        began = time.process_time()
        learner.learn(10**9, callback=partial(_reached, goal=learner.iteration + EVERY))
        spent += time.process_time() - began
        with one_thread():
            seen = learner.evaluate(deterministic=False, oracle=JUDGE, seed=learner.iteration)
        when.append(learner.iteration)
        rewards.append(seen.reward)
        worst.append(seen.violation)
    positions, total = route(learner)
    return {
        "run": asdict(run),
        "iteration": when,
        "reward": rewards,
        "violation": worst,
        "positions": positions.tolist(),
        "return": total,
        "route_violation": route_violation(positions),
        "cpu_seconds_an_iteration": spent / learner.iteration,
        "steps": learner.total_steps,
    }


def _reached(learner: rl.SICPPO, report: Report, goal: int) -> bool:
    return learner.iteration >= goal


def route(learner: rl.SICPPO) -> tuple[Array, float]:
    """Positions s_0, …, s_T and return of the deterministic policy that a run keeps."""
    import gymnasium

    env = gymnasium.make("lsip/ShipRoute-v0")
    observation, _ = env.reset(seed=0)
    positions, total, done = [observation[:2].astype(float)], 0.0, False
    while not done:
        with warnings.catch_warnings():  # a route that is not feasible is drawn, too
            warnings.simplefilter("ignore", rl.NoGoodPolicyWarning)
            heading = learner.predict(observation)[0]
        observation, reward, ended, cut, _ = env.step(heading)
        positions.append(observation[:2].astype(float))
        total, done = total + float(reward), ended or cut
    return np.array(positions), total


def route_violation(positions: Array) -> float:
    """The worst violation of a route, on 201 x 201 places and at its own positions."""
    from .. import ship

    side = np.linspace(0, 1, 201)
    places = np.concatenate([np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2), positions])
    return float(ship.violations(positions, places).max())


def outcome(run: ShipRun, folder: Path) -> dict[str, Any]:
    """What a run found, from its file if there is one of the same settings."""
    return kept(run.file(folder), asdict(run), lambda: learn(run))


def outcomes(methods: Sequence[str], out: Path, full: bool, seeds: int | None, progress: Progress) -> dict[str, Any]:
    """For every method, its runs over seeds."""
    count = seeds or (PAPER_SEEDS if full else SEEDS)
    iterations, folder = FULL_ITERATIONS if full else ITERATIONS, out / "ship_si_cppo"
    runs = [ShipRun(method, seed, iterations, SHIPS) for seed in range(count) for method in methods]
    spread(partial(outcome, folder=folder), runs, WORKERS, progress)
    return {method: [outcome(run, folder) for run in runs if run.method == method] for method in methods}


# ---- Figure_Route_Heat ----------------------------------------------------------------------------------------------


def route_heat(out: Path, full: bool, seeds: int | None, progress: Progress) -> Outcome:
    """The routes of SI-CPPO and of CRPO for the first seed, over the violation that they cause."""
    from .. import ship

    picture = plotting.figure(2)
    results = outcomes(["SI-CPPO", OPPONENT], out, full, seeds if full else seeds or 1, progress)
    side = np.linspace(0, 1, MESH)
    mesh = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    routes = {name: np.array(each[0]["positions"]) for name, each in results.items()}
    maps = {name: HEAT * np.maximum(ship.violations(r, mesh), 0).reshape(MESH, MESH) for name, r in routes.items()}
    top = max(*(float(m.max()) for m in maps.values()), 0.1)
    panels = list(picture.axes)
    for axes, name in zip(panels, results, strict=True):
        image = axes.pcolormesh(side, side, maps[name], shading="gouraud", cmap="OrRd", vmin=0.0, vmax=top)
        x, y = routes[name].T
        share = 1 + ship.violations(routes[name], mesh) / ship.constraint().bounds(mesh)
        lines_of = axes.contour(side, side, share.reshape(MESH, MESH), SHARES, colors=plotting.GREY, linewidths=0.8)
        axes.clabel(lines_of, fmt=lambda level: f"{level:.0%}", fontsize=8)
        axes.plot(x, y, "o--", color=plotting.BLUE, markersize=4, linewidth=1.5, clip_on=False)
        axes.plot(ship.MPA, ship.MPA, "P", color="#047857", markersize=10, markeredgecolor="white")
        axes.set(xlim=(0, 1), ylim=(0, 1), aspect="equal", xlabel="$y_1$", ylabel="$y_2$")
        first = results[name][0]
        shown = f"{first['route_violation']:+.4f}".replace("-", "−")
        axes.set_title(f"{name}: return {first['return']:.3f}, violation {shown}", loc="left")
    picture.colorbar(image, ax=panels, label=r"$5\,(V_{c_y} - u_y)_+$", shrink=0.9)
    numbers = {
        name: [{k: f[k] for k in ("return", "route_violation", "positions")} for f in each]
        for name, each in results.items()
    }
    lines = [
        f"{name:14} return {each[0]['return']:.4f}, worst violation {each[0]['route_violation']:+.4f} (first seed)"
        for name, each in results.items()
    ]
    return written(out, "route_heat", picture, numbers, lines)


# ---- Figure_Route_Reward, Figure_Route_Violat -----------------------------------------------------------------------


def route_reward(out: Path, full: bool, seeds: int | None, progress: Progress) -> Outcome:
    """Return of the stochastic policy against iterations."""
    return _curve("route_reward", "reward", "return", out, full, seeds, progress)


def route_violat(out: Path, full: bool, seeds: int | None, progress: Progress) -> Outcome:
    """Worst violation of the stochastic policy against iterations."""
    return _curve("route_violat", "violation", "worst violation", out, full, seeds, progress)


def _curve(name: str, what: str, label: str, out: Path, full: bool, seeds: int | None, progress: Progress) -> Outcome:
    """One panel a method, because the curves lie on each other: every seed, and their interquartile mean."""
    picture = plotting.figure(len(METHODS), size=(3.4, 3.4))
    results = outcomes(list(METHODS), out, full, seeds, progress)
    series = {method: (each[0]["iteration"], np.array([f[what] for f in each])) for method, each in results.items()}
    count = len(next(iter(results.values())))
    every = np.concatenate([values.ravel() for _, values in series.values()])
    panels = list(picture.axes)
    for axes, colour, (method, (x, values)) in zip(panels, plotting.LINES, series.items(), strict=False):
        axes.plot(x, values.T, color=colour, linewidth=0.8, alpha=0.5)
        axes.plot(x, plotting.interquartile(values)[0], color=colour, linewidth=2)
        axes.set(xlabel="iterations", xlim=(0, max(x)))
        axes.set_title(method, loc="left")
        if what == "violation":
            axes.axhline(0.0, color=plotting.GREY, linewidth=1)
        axes.set_ylim(*_around(every))
    panels[0].set_ylabel(label)
    numbers: dict[str, Any] = {"seeds": count}
    lines = []
    for method, (x, values) in series.items():
        middle, low, high = plotting.interquartile(values)
        numbers[method] = {"iteration": list(x), "iqm": middle.tolist(), "low": low.tolist(), "high": high.tolist()}
        lines.append(f"{method:14} {label} {middle[-1]:.4f} [{low[-1]:.4f}, {high[-1]:.4f}] after {x[-1]} iterations")
    return written(out, name, picture, numbers, lines)


def _around(values: Array) -> tuple[float, float]:
    low, high = float(values.min()), float(values.max())
    margin = 0.05 * (high - low) + 1e-3
    return low - margin, high + margin


# ---- Table_time_route -----------------------------------------------------------------------------------------------


def time_route(out: Path, full: bool, seeds: int | None, progress: Progress) -> Outcome:
    """Seconds an iteration of SI-CPPO and CRPO on three grids: in the runs of the curves, and at the paper's sizes."""
    picture = plotting.figure(size=(7.0, 4.2))
    results = outcomes(list(METHODS), out, full, seeds, progress)
    numbers, lines, large = {}, [], large_seconds(FULL_TURNS if full else TURNS)
    for method, each in results.items():
        times = np.array([f["cpu_seconds_an_iteration"] for f in each])
        mean, deviation = float(times.mean()), float(times.std())
        numbers[method] = {"cpu_seconds": mean, "deviation": deviation, "paper": SECONDS[method]}
        numbers[method] |= {"cpu_seconds_2x512": large[method]}
        lines.append(
            f"{method:14} {mean:.3f} ± {deviation:.3f} s of the processor an iteration at 2 x 64, {large[method]:.2f} "
            f"at 2 x 512; the paper: {SECONDS[method]:.2f} s at 2 x 512, on a GPU"
        )
    axes, places = picture.axes[0], np.arange(len(METHODS))
    axes.bar(places - 0.2, [n["cpu_seconds"] for n in numbers.values()], 0.4, color=plotting.BLUE, label="2 × 64")
    axes.bar(places + 0.2, list(large.values()), 0.4, color=plotting.GREY, label="2 × 512")
    axes.set_xticks(places, list(METHODS))
    axes.set_yscale("log")
    axes.set_ylim(top=5 * max(large.values()))  # room for the legend
    axes.set_ylabel("seconds of one core an iteration")
    axes.legend()
    return written(out, "time_route", picture, numbers, lines)


def large_seconds(turns: int) -> dict[str, float]:
    """Seconds of the processor an iteration with the paper's settings; the methods take turns."""
    paper = asdict(rl.SICPPOConfig.paper()) | {"hidden": LARGE, "episodes": LARGE_SHIPS}
    learners = {method: agent(method, 0, LARGE_SHIPS, **paper) for method in METHODS}
    spent: dict[str, list[float]] = {method: [] for method in METHODS}
    for _ in range(turns):
        for method, learner in learners.items():
            began = time.process_time()
            learner.learn(learner.total_steps + 1, evaluate_every=10**9)
            spent[method].append(time.process_time() - began)
    return {method: float(np.median(each)) for method, each in spent.items()}


EXPERIMENTS = (
    Experiment("route_heat", "Figure_Route_Heat", "Ship Route Planning: routes over the violation", route_heat),
    Experiment("route_reward", "Figure_Route_Reward", "Ship Route Planning: return against iterations", route_reward),
    Experiment("route_violat", "Figure_Route_Violat", "Ship Route Planning: worst violation", route_violat),
    Experiment("time_route", "Table_time_route", "Ship Route Planning: seconds an iteration", time_route),
)
