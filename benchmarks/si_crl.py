"""SI-CRL on Discharge of Sewage: exchange against a grid of Y, sparse against literal, decompose against one LP.

One clock for both sides: writing the program, compiling, evaluating rows, building LPs and solving them all count, and
both sides use HiGHS and the sparse form. A grid counts as reaching a violation when the true violation of its solution,
proven over all of Y, is at most that; the coarsest such grid is searched without being timed, and it is timed with the
faster of HiGHS's default and its simplex without presolve. Ours counts when a policy without any violation is *proven*
to be within that relative distance of the optimum, which is more than the grid gives. Data are drawn with so many
samples a pair that the error is that of the index points, not of the statistics.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

import envs
import lsip
from rl.occupancy import optimistic_program
from rl.planning import plan_optimistically

from .harness import linear
from .harness.clock import interleave, timed
from .harness.figures import machine, median, ratio, table
from .harness.registry import Figures, Options, benchmark, say

SAMPLES = 10**8  # a pair
LEVELS = (1e-4, 1e-5, 1e-6, 1e-8)
FINEST = 120  # points an axis: no larger grid is tried
REPEATS = 3


def case(states: int, actions: int, seed: int, region: float = 1.0, samples: int = SAMPLES) -> tuple[Any, Any]:
    """Specification and optimistic set of one random model."""
    mdp = envs.sewage(states, actions, seed=seed, region=region)
    data = mdp.sample(per_pair=samples, seed=seed)
    return mdp.specification, data.optimistic_set(0.005 / (states**2 * actions))


# ---- ours and theirs -------------------------------------------------------------------------------------------------


def exchange_seconds(spec: Any, models: Any, level: float, method: str = "lp") -> float:
    """Seconds from nothing to a policy that is proven to violate nothing, with a relative gap of at most `level`."""
    seconds, plan = timed(lambda: plan_optimistically(spec, models, method=method, tol=level))
    return seconds if plan.solution.max_violation <= level and plan.gap <= 2 * level else np.inf


def exchange_points(spec: Any, models: Any, most: int = 60) -> list[dict[str, float]]:
    """One index point at a time: how many there are, and the proven violation of the solution with them."""
    program = optimistic_program(spec, models)
    domain = spec.constraint.domain
    centre = domain.project(0.5 * (domain.lower + domain.upper)[None, :])
    method = lsip.Exchange(
        start=[centre],
        oracle=lsip.oracles.BranchAndBound(points=1),
        polish=False,
        sample_first=False,
        tol=1e-9,
        max_iterations=most,
    )
    trail = []
    for iterate in lsip.exchange(program.problem, method):
        trail.append({"points": iterate.iteration, "violation": max(iterate.violation, 0.0), "value": iterate.value})
        if iterate.violation <= 1e-8:
            break
    return trail


def grid_solve(spec: Any, models: Any, per_axis: int, options: dict[str, Any]) -> tuple[Any, Any]:
    """The one-shot LP, from nothing."""
    program = optimistic_program(spec, models).problem.compile()
    rows = linear.rows_at(program, [(0, spec.constraint.domain.grid(per_axis))])
    matrix, sides = linear.with_finite(program, rows)
    _, x = linear.solve(program.c, (program.lower, program.upper), matrix, sides, options, 60.0, 1e-10)
    return program, x


def grid_violation(spec: Any, models: Any, per_axis: int, level: float, reference: Any) -> float:
    """The true violation of the grid's solution."""
    _, x = grid_solve(spec, models, per_axis, linear.DEFAULT)
    return max(lsip.oracles.supremum(reference.violation(0, x), tol=0.1 * level).worst, 0.0)


def coarsest(
    spec: Any, models: Any, level: float, first: int, reference: Any
) -> tuple[int, bool, list[dict[str, float]]]:
    """The coarsest grid at a level, whether it is fine enough, and what was seen on the way."""
    trail, k = [], first
    while True:
        violation = grid_violation(spec, models, k, level, reference)
        trail.append({"points": k * k, "violation": violation})
        if violation <= level:
            return k, True, trail
        if k >= FINEST:
            return k, False, trail
        k = min(k + 1 if k < 12 else int(1.25 * k), FINEST)


def grid_seconds(spec: Any, models: Any, per_axis: int) -> float:
    """Seconds of the one-shot LP in the faster of two ways."""

    def contestant(options: dict[str, Any]) -> Callable[[], float]:
        return lambda: timed(lambda: grid_solve(spec, models, per_axis, options))[0]

    ways = {"default": contestant(linear.DEFAULT), "simplex": contestant(linear.SIMPLEX)}
    return min(interleave(ways, REPEATS, 5.0).values())


# ---- the parts -------------------------------------------------------------------------------------------------------


def against_grid(states: int, actions: int, seeds: int, region: float, levels: tuple[float, ...]) -> Figures:
    """Points and seconds at every level, over seeds."""
    cases = []
    for seed in range(seeds):
        spec, models = case(states, actions, seed, region)
        trail = exchange_points(spec, models)
        reference, grid_trail, k, found = optimistic_program(spec, models).problem.compile(), [], 2, []
        for level in levels:
            k, fine, seen = coarsest(spec, models, level, k, reference)
            grid_trail += seen
            rival = grid_seconds(spec, models, k)
            mine = next((t["points"] for t in trail if t["violation"] <= level), None)
            seconds = median(exchange_seconds(spec, models, level) for _ in range(REPEATS))
            generated = median(exchange_seconds(spec, models, level, "decompose") for _ in range(REPEATS))
            found.append(
                {
                    "level": level,
                    "points": mine,
                    "grid_points": k * k,
                    "grid_fine_enough": fine,
                    "seconds": seconds,
                    "grid_seconds": rival,
                    "speed": ratio(rival, seconds),
                    "decompose_seconds": generated,
                    "decompose_speed": ratio(rival, generated),
                }
            )
        cases.append({"seed": seed, "levels": found, "exchange": trail, "grid": grid_trail})
        say(f"S={states} seed {seed}: " + ", ".join(f"{f['level']:g}: {f['speed']:.2g}x" for f in found))
    return {"states": states, "actions": actions, "region": region, "levels": _levels(cases, levels), "cases": cases}


def _levels(cases: list[Figures], levels: tuple[float, ...]) -> list[Figures]:
    summary = []
    for i, level in enumerate(levels):
        mine = [c["levels"][i] for c in cases]
        summary.append(
            {
                "level": level,
                "mean_points": float(np.mean([m["points"] or np.nan for m in mine])),
                "mean_grid_points": float(np.mean([m["grid_points"] for m in mine])),
                "points_share": median(ratio(m["points"], m["grid_points"]) for m in mine),
                "grids_too_coarse": sum(not m["grid_fine_enough"] for m in mine),
                "median_seconds": median(m["seconds"] for m in mine),
                "median_grid_seconds": median(m["grid_seconds"] for m in mine),
                "median_speed": median(m["speed"] for m in mine),
                "worst_speed": min(m["speed"] for m in mine),
                "median_decompose_speed": median(m["decompose_speed"] for m in mine),
            }
        )
    return summary


def forms(sizes: list[tuple[int, int]]) -> list[Figures]:
    """The sparse program against the literal one, both solved by the exchange to the same gap."""
    rows = []
    for states, actions in sizes:
        spec, models = case(states, actions, 0, 2.0, 10_000)
        values: dict[str, float] = {}

        def run(form: str, spec: Any = spec, models: Any = models, values: dict[str, float] = values) -> float:
            seconds, plan = timed(lambda: plan_optimistically(spec, models, form=form, method="lp"))
            values[form] = plan.value
            return seconds

        seconds = interleave({form: lambda form=form: run(form) for form in ("sparse", "literal")}, REPEATS, 20.0)
        rows.append(
            {
                "states": states,
                "actions": actions,
                "sparse_seconds": seconds["sparse"],
                "literal_seconds": seconds["literal"],
                "speed": ratio(seconds["literal"], seconds["sparse"]),
                "difference": abs(values["sparse"] - values["literal"]),
            }
        )
        say(f"forms S={states}: {rows[-1]['speed']:.2g}x")
    return rows


def scale(sizes: list[int], tol: float) -> list[Figures]:
    """`decompose` against the extended LSIP as one LP, at the same relative gap."""
    rows = []
    for states in sizes:
        spec, models = case(states, 5, 0, 2.0, 10_000)
        plans: dict[str, Any] = {}

        def run(method: str, spec: Any = spec, models: Any = models, plans: dict[str, Any] = plans) -> float:
            seconds, plans[method] = timed(lambda: plan_optimistically(spec, models, method=method, tol=tol))
            return seconds

        seconds = interleave({m: lambda m=m: run(m) for m in ("decompose", "lp")}, REPEATS, 5.0)
        rows.append(
            {
                "states": states,
                "actions": 5,
                "tol": tol,
                "decompose_seconds": seconds["decompose"],
                "lp_seconds": seconds["lp"],
                "speed": ratio(seconds["lp"], seconds["decompose"]),
                "gap": plans["decompose"].gap,
                "agree": bool(abs(plans["decompose"].value - plans["lp"].value) <= 2 * tol * abs(plans["lp"].value)),
            }
        )
        say(f"scale S={states}: {rows[-1]['speed']:.3g}x")
    return rows


def growth(sizes: list[int], actions: int, tol: float) -> list[Figures]:
    """`decompose` alone on larger models."""
    rows = []
    for states in sizes:
        spec, models = case(states, actions, 0, 2.0, 10_000)
        seconds, plan = timed(
            lambda spec=spec, models=models: plan_optimistically(spec, models, method="decompose", tol=tol)
        )
        rows.append(
            {
                "states": states,
                "actions": actions,
                "seconds": seconds,
                "gap": plan.gap,
                "proven": plan.certified,
                "calls": plan.solution.calls,
            }
        )
        say(f"growth S={states}: {seconds:.3g} s, gap {plan.gap:.2g}")
    return rows


# ---- the benchmark ---------------------------------------------------------------------------------------------------


def show(figures: Figures) -> str:
    """A table a part."""
    columns = {"level": "violation", "mean_points": "points", "mean_grid_points": "grid points"}
    columns |= {"median_seconds": "seconds", "median_grid_seconds": "grid seconds"}
    columns |= {
        "median_speed": "times faster",
        "worst_speed": "worst",
        "median_decompose_speed": "decompose",
        "grids_too_coarse": "not reached by grids",
    }
    text = []
    for part in ("small", "large"):
        f = figures[part]
        text.append(
            f"|S| = {f['states']}, |A| = {f['actions']}, {len(f['cases'])} seeds\n" + table(f["levels"], columns)
        )
    text.append(table(figures["forms"], {k: k.replace("_", " ") for k in figures["forms"][0]}))
    text.append(table(figures["scale"], {k: k.replace("_", " ") for k in figures["scale"][0]}))
    text.append(table(figures["growth"], {k: k.replace("_", " ") for k in figures["growth"][0]}))
    text.append(f"time of decompose grows like |S|^{figures['exponent']:.2g}")
    return "\n\n".join(text)


@benchmark("si_crl", "SI-CRL against a grid of Y, sparse against literal, decompose against one LP", show)
def run(options: Options) -> Figures:
    before, start = machine(), time.perf_counter()
    quick = options.quick
    spec, models = case(4, 2, 0)
    exchange_seconds(spec, models, 1e-6), grid_solve(spec, models, 3, linear.DEFAULT)  # everything is loaded now
    small = against_grid(8, 4, 4 if quick else 20, 1.0, LEVELS)
    large = against_grid(20, 5, 2 if quick else 5, 2.0, (1e-4, 1e-6))
    literal = forms([(8, 4)] if quick else [(8, 4), (12, 4), (16, 5), (20, 5)])
    scaled = scale([20, 40] if quick else [20, 40, 80], 1e-4)
    grown = growth([125, 250] if quick else [125, 250, 500, 1000], 10, 1e-4)
    slope = np.polyfit(np.log([g["states"] for g in grown]), np.log([g["seconds"] for g in grown]), 1)[0]
    return {
        "quick": quick,
        "machine": before,
        "seconds": time.perf_counter() - start,
        "small": small,
        "large": large,
        "forms": literal,
        "scale": scaled,
        "growth": grown,
        "exponent": float(slope),
    }
