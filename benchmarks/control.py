"""Proven bounds on control problems, over indices of three and four coordinates.

(a) `zermelo`: a boat crosses a current that grows with time, in the least time. A polynomial V of time and place whose
    Hamilton-Jacobi inequality holds up to some horizon, and which is at most 0 at the goal, is a lower bound of that
    time, unless the time is beyond the horizon anyway. All headings at once are a norm, so that the index is time and
    place alone (Oustry, MinTimeControl.jl: 1.0438, 1.0844 and 1.0922 for degrees 3, 4 and 5, in 24, 1,553 and 4,057 s).
(b) `sailing`: the same for a boat whose speed depends on the angle to a turning wind, where the heading is an index
    (there: 0.8795 and 0.8962 for degrees 3 and 4, in 72 and 529 s; 0.775 for degree 5, in 1,072 s).
(c) `plumes`: the cheapest cut of emissions of ten stacks on a square of 25 km.

Horizons are those of the source: the times of the controls that it found. The bound is the value at a point that is
proven to be feasible, within the limit of time or not, or the horizon, if that is less. `--only` chooses
models, `--tries` is the limit in seconds.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import lsip

from .harness.figures import machine, table
from .harness.registry import Figures, Options, benchmark, say
from .harness.slow import SLOW, Solve

LIMIT, TOL = 120.0, 1e-3
START, GOAL_RADIUS = (0.0, 0.0, -1.0), 0.05
HORIZONS = {"zermelo": 1.101, "sailing": 0.918}  # the longest of the source, over its degrees from 3 on
SIZE = 5.0  # of coefficients, at most: any that are feasible prove a bound, and small ones with fewer boxes


class Value:
    """A polynomial V in time and place, with unknown coefficients."""

    def __init__(self, degree: int) -> None:
        self.exponents = [e for e in itertools.product(range(degree + 1), repeat=3) if sum(e) <= degree]
        self.v = lsip.Variable(len(self.exponents), name="v", lower=-SIZE, upper=SIZE)

    def at(self, z: Any) -> Any:
        return sum(self.v[k] * _monomial(z, e) for k, e in enumerate(self.exponents))

    def slope(self, z: Any, axis: int) -> Any:
        """The derivative along time or one coordinate."""
        lower = [tuple(p - (i == axis) for i, p in enumerate(e)) for e in self.exponents]
        return sum(self.v[k] * (e[axis] * _monomial(z, lower[k])) for k, e in enumerate(self.exponents) if e[axis])

    def problem(self, horizon: float, *everywhere: Any) -> lsip.Problem:
        """The largest value at the start, given what holds everywhere, and no more than 0 at the goal."""
        w = lsip.Index("w", lsip.Interval(0, horizon) * lsip.Ball([0, 0], GOAL_RADIUS))
        return lsip.Problem(lsip.maximize(self.at(START)), [*everywhere, lsip.forall(w, self.at(w) <= 0)])


def _monomial(z: Any, exponents: tuple[int, ...]) -> Any:
    return math.prod((z[i] ** p for i, p in enumerate(exponents) if p), start=1.0)


def zermelo(degree: int, horizon: float = HORIZONS["zermelo"]) -> lsip.Problem:
    """Speed 1 in any direction, and a current across it."""
    value, z = Value(degree), lsip.Index("z", lsip.Box([0, -1, -1], [horizon, 1, 0]))
    across, ahead = value.slope(z, 1), value.slope(z, 2)
    drift = 0.5 * np.sin(math.pi * z[2]) * (1 + z[0])
    passing = np.hypot(across, ahead) <= 1 + value.slope(z, 0) + across * drift
    return value.problem(horizon, lsip.forall(z, passing))


def sailing(degree: int, horizon: float = HORIZONS["sailing"]) -> lsip.Problem:
    """Speed (2 + t) |sin(2 a / 3)| at an angle a to the wind, which turns; for each side of the wind one inequality."""
    value, everywhere = Value(degree), []
    for side in (1, -1):
        z = lsip.Index("z" if side > 0 else "y", lsip.Box([0, -1, -1, 0], [horizon, 1, 1, math.pi]))
        speed = (2 + z[0]) * np.sin(0.666666 * z[3])
        heading = side * z[3] + 0.5 * math.pi * (1 - 0.4 * z[0])
        moved = value.slope(z, 1) * (speed * np.cos(heading)) + value.slope(z, 2) * (speed * np.sin(heading))
        everywhere.append(lsip.forall(z, 1 + value.slope(z, 0) + moved >= 0))
    return value.problem(horizon, *everywhere)


MODELS: dict[str, Callable[[], Solve]] = {
    "zermelo_3": lambda: _to_solve(zermelo(3)),
    "zermelo_4": lambda: _to_solve(zermelo(4)),
    "zermelo_5": lambda: _to_solve(zermelo(5)),
    "sailing_3": lambda: _to_solve(sailing(3)),
    "sailing_4": lambda: _to_solve(sailing(4)),
    "sailing_5": lambda: _to_solve(sailing(5)),
    "plumes_10": SLOW["plumes_10"],
}
WANTED = {"zermelo_3": 1.0438, "zermelo_4": 1.0844, "zermelo_5": 1.095, "sailing_3": 0.8795}  # bounds, at least
WANTED |= {"sailing_4": 0.8962, "sailing_5": 0.905}
QUICK = ("zermelo_3",)


def _to_solve(problem: lsip.Problem) -> Solve:
    return lambda limit: problem.solve(tol=TOL, time_limit=limit, verbose=False)


def measure(name: str, limit: float) -> dict[str, Any]:
    """One solve."""
    say(name)
    solve = MODELS[name]()
    start, processor = time.perf_counter(), time.process_time()
    solution = solve(limit)
    return {
        "model": name,
        "status": solution.status.name,
        "lower": min(solution.lower, HORIZONS.get(name.split("_")[0], np.inf)),
        "upper": solution.upper,
        "wanted": WANTED.get(name),
        "seconds": time.perf_counter() - start,
        "processor": time.process_time() - processor,
    }


def show(figures: Figures) -> str:
    """Bounds and times."""
    columns = {"model": "model", "status": "status", "lower": "proven", "upper": "at most", "wanted": "wanted"}
    return table(figures["models"], columns | {"seconds": "wall (s)", "processor": "processor (s)"})


@benchmark("control", "proven bounds on minimum-time control and on plumes, over three and four coordinates", show)
def run(options: Options) -> Figures:
    names, state = options.choose(QUICK if options.quick else MODELS), machine()
    models = [measure(name, options.tries or LIMIT) for name in names]
    return {"machine": state, "tol": TOL, "goals": reached(models), "models": models}


def reached(models: list[Figures]) -> list[Figures]:
    """Bounds that are wanted, and the time in which there are some."""
    goals = [
        {"goal": f"{m['model']}, a proven bound", "figure": m["lower"], "target": m["wanted"]}
        | {"met": m["lower"] >= m["wanted"]}
        for m in models
        if m["wanted"] is not None
    ]
    slowest = max(m["processor"] for m in models)
    return [*goals, {"goal": "seconds of the processor", "figure": slowest, "target": LIMIT, "met": slowest <= LIMIT}]
