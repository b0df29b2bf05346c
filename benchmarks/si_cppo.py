"""SI-CPPO on Ship Route Planning: what is learned and certified over seeds, and seconds an iteration.

A policy counts as good when its deterministic route returns at least 2.25, breaks no constraint on a fine grid of Y and
at the ship's own positions, and is certified from 20,000 fresh episodes: with probability 0.95, no place at all is
polluted by more than 0.02 above its bound. (An unseen episode may be as bad as a hundred steps of cost one, so that no
bound from so many episodes can be below 0.015 plus the violation.)
"""

from __future__ import annotations

import time
from typing import Any

import gymnasium
import numpy as np

from envs.experiments import ship_si_cppo as experiment

from .harness.figures import machine, median, ratio, table
from .harness.registry import Figures, Options, benchmark, say

SIZES = {"2 x 64": (64, 64), "2 x 512": (512, 512)}
GOOD_RETURN, GOOD_VIOLATION, GOOD_BOUND = 2.25, 0.0, 0.02
EPISODES, DELTA = 20_000, 0.05  # of a guarantee
PARTS = ("learning", "iterations", "environment")


def learning(seeds: range, steps: int, limit: float) -> list[Figures]:
    """One run a seed, stopped after `limit` seconds at the latest, and a guarantee for what it keeps."""
    rows = []
    for seed in seeds:
        start, cpu = time.perf_counter(), time.process_time()
        learned = experiment.agent("SI-CPPO", seed)
        learned.learn(steps, callback=lambda a, r, start=start: time.perf_counter() - start > limit)
        positions, total = experiment.route(learned)
        violation, spent, cpu = experiment.route_violation(positions), *_since(start, cpu)
        began = time.perf_counter()
        bound = learned.certify(EPISODES, DELTA).bound
        rows.append(
            {
                "seed": seed,
                "return": total,
                "violation": violation,
                "bound": bound,
                "good": total >= GOOD_RETURN and violation <= GOOD_VIOLATION and bound <= GOOD_BOUND,
                "seconds": spent,
                "cpu_seconds": cpu,
                "certify_seconds": time.perf_counter() - began,
                "steps": learned.total_steps,
                "iterations": learned.iteration,
            }
        )
        say(f"seed {seed}: return {total:.4f}, violation {violation:+.4f}, bound {bound:+.4f}, {spent:.0f} s")
    return rows


def _since(start: float, cpu: float) -> tuple[float, float]:
    """Seconds of the clock and of the processor since then."""
    return time.perf_counter() - start, time.process_time() - cpu


def iterations(count: int) -> list[Figures]:
    """Seconds an iteration of SI-CPPO and of CRPO on fixed grids, in both sizes of networks, taking turns."""
    rows = []
    for size, hidden in SIZES.items():
        agents = {method: experiment.agent(method, 0, hidden=hidden) for method in experiment.METHODS}
        spent: dict[str, list[float]] = {name: [] for name in agents}
        for _ in range(count):
            for name, one in agents.items():
                start, before = time.perf_counter(), one.total_steps
                one.learn(one.total_steps + 1, evaluate_every=10**9)
                spent[name].append((time.perf_counter() - start) / (one.total_steps - before))
        rows += [
            {"networks": size, "method": name, "microseconds_a_step": 1e6 * (median(times) or 0.0)}
            for name, times in spent.items()
        ]
    return rows


def environment_speed(copies: int, seconds: float) -> Figures:
    """Steps per second of the vectorised ships, and of the same ships in Gymnasium's SyncVectorEnv."""

    def rate(env: Any) -> float:
        env.reset(seed=0)
        actions = np.full((copies, 1), np.pi / 4, dtype=np.float32)
        steps, start = 0, time.perf_counter()
        while time.perf_counter() - start < seconds:
            for _ in range(10):
                env.step(actions)
            steps += 10 * copies
        return steps / (time.perf_counter() - start)

    fast = rate(gymnasium.make_vec("lsip/ShipRoute-v0", num_envs=copies))
    slow = rate(gymnasium.make_vec("lsip/ShipRoute-v0", num_envs=copies, vectorization_mode="sync"))
    return {"copies": copies, "vectorised": fast, "sync": slow, "times": ratio(fast, slow)}


def show(figures: Figures) -> str:
    """A table a part."""
    parts = [figures[name] for name in PARTS if name in figures]
    tables = [table(rows, {k: k.replace("_", " ") for k in rows[0]}) for rows in parts]
    if "learning" in figures:
        tables.append(f"{figures['good']} of {len(figures['learning'])} seeds good")
    return "\n\n".join(tables)


@benchmark("si_cppo", "SI-CPPO on Ship Route Planning: learned and certified over seeds, seconds an iteration", show)
def run(options: Options) -> Figures:
    chosen, quick = options.choose(PARTS), options.quick
    figures: Figures = {"quick": quick, "machine": machine()}
    start = time.perf_counter()
    if "learning" in chosen:
        count = options.seeds or (2 if quick else 10)
        rows = learning(range(options.seed, options.seed + count), 350_000, 110.0)
        figures |= {"learning": rows, "good": sum(row["good"] for row in rows)}
    if "iterations" in chosen:
        figures["iterations"] = iterations(2 if quick else 3)
    if "environment" in chosen:
        figures["environment"] = [environment_speed(64, 0.5 if quick else 2.0)]
    return figures | {"seconds": time.perf_counter() - start}
