"""SI-CPO, EPO, CRPO and PPO-Lagrangian side by side, on five environments with a continuum of constraints.

All methods of a row of environments have the same steps, networks, updates and seeds, and differ in nothing but what a
step is for (`rl.rules`) and where Y is searched. What is compared is the policy that a run returns: its return, and its
worst violation over a fine grid of Y, on fresh episodes (exact where the model is known). A method is ahead of another
if it returns more without violating more.
"""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

import lsip
import rl
from envs import sewage, tasks
from envs.experiments.registry import write_numbers
from envs.experiments.sewage_si_cpo import SETTLED

from .harness import pendulum
from .harness.figures import machine, plain, table
from .harness.registry import Figures, Options, benchmark, say

SEEDS, QUICK_SHARE = 3, 0.02
METHODS = ("SI-CPO", "SI-CPO, set", "EPO", "CRPO", "PPO-Lagrangian")
KNOWN = "pendulum: dynamic programming"
GRID = 16  # places along an axis, of CRPO


@dataclass(frozen=True)
class Arena:
    """How long is learned in an environment, and how its policies are judged.

    Parameters
    ----------
    steps
        Of the environment; iterations of a tabular model.
    fresh
        Episodes to judge by: few are enough where nothing is random.
    mesh
        Places along an axis of Y.
    every
        Iterations between two evaluations, of which the best feasible policy is kept.
    """

    steps: int
    fresh: int
    mesh: int
    every: int = 5


ARENAS = {
    "sewage": Arena(2_000, 0, 0),
    "ship": Arena(300_000, 64, 201),
    "spraying": Arena(300_000, 64, 201, every=1),
    "pendulum": Arena(400_000, 2_048, 271),
    "cartpole": Arena(300_000, 256, 181),
}


def tabular(method: str, seed: int, iterations: int) -> tuple[float, float, bool]:
    """Discharge of Sewage: return below the optimum, worst violation, and whether any policy was good."""
    mdp = sewage(seed=seed)
    given: dict[str, Any] = {**SETTLED.options(seed), "oracle": SETTLED.search}
    if method == "CRPO":
        given["oracle"] = rl.baselines.FixedGrid(GRID)
    rules: dict[str, Any] = {
        "EPO": rl.rules.Exchange(SETTLED.eta),
        "PPO-Lagrangian": rl.rules.Lagrangian(SETTLED.eta),
        "SI-CPO, set": rl.rules.Switch(SETTLED.eta, "set"),
    }
    if method in rules:
        given["rule"] = rules[method]
        del given["eta"]
    agent = rl.SICPO(mdp, **given).learn(iterations)
    policy = agent.choose("average")
    return mdp.value(policy) - rl.plan(mdp).value, mdp.worst_violation(policy).value, agent.good_count > 0


def learner(name: str, method: str, seed: int) -> rl.SICPPO:
    """A learner in one of the environments with a `step`, that has not begun."""
    task = tasks.TASKS[name]
    settings = {"episodes": task.copies, **task.settings}
    options: dict[str, Any] = {"seed": seed, "device": "cpu", **settings}
    if task.constraint().domain.dim == 1:  # so few points find the worst, and thousands of steps are evaluated at each
        options["oracle"] = lsip.oracles.Multistart(starts=4, sample=64)
    env, constraint = task.vector(), task.constraint()
    if method == "EPO":
        found = rl.EPO(env, constraint, rl.SICPPOConfig(**settings), **_without(options, settings))
        assert isinstance(found, rl.SICPPO)
        return found
    if method == "PPO-Lagrangian":
        return rl.baselines.PPOLagrangian(env, constraint, **options)
    if method == "CRPO":
        options["oracle"] = rl.baselines.FixedGrid(GRID)
    options["switch"] = "set" if method == "SI-CPO, set" else "worst"
    return rl.SICPPO(env, constraint, **options)


def _without(options: dict[str, Any], names: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if name not in names}


def episodic(name: str, method: str, seed: int, steps: int) -> tuple[float, float, bool]:
    """Return and worst violation of the policy that is returned, and whether it was found feasible."""
    arena, agent = ARENAS[name], learner(name, method, seed)
    agent.learn(steps, evaluate_every=arena.every)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rl.NoGoodPolicyWarning)
        played = agent.world.evaluation_of(agent.episodes(arena.fresh, 10_000 + seed))
    places = agent.constraint.domain.grid(arena.mesh)
    if played.candidates is not None:
        places = np.concatenate([places, agent.constraint.domain.project(played.candidates)])
    return played.reward, float(played.violation.values(places).max()), agent.best is not None


def cell(name: str, method: str, seed: int, steps: int) -> Figures:
    """What one run has learned."""
    start = time.process_time()
    found = tabular(method, seed, steps) if name == "sewage" else episodic(name, method, seed, steps)
    say(f"{name}: {method}, seed {seed}: return {found[0]:.4g}, violation {found[1]:+.4f}")
    told = dict(zip(("return", "violation", "feasible"), found, strict=True))
    run = {"environment": name, "method": method, "seed": seed, "steps": steps}
    return run | told | {"cpu_seconds": time.process_time() - start}


def cells(pairs: Sequence[tuple[str, str]], seeds: range, share: float, keep: Path | None) -> list[Figures]:
    """All runs, a seed after the other, so that every method has the same seeds wherever they end.

    Each is added to the file `keep` when it is done, and what is there already is not run again.
    """
    done: list[Figures] = json.loads(keep.read_text(encoding="utf-8"))["cells"] if keep and keep.exists() else []
    for seed in seeds:
        for name, method in pairs:
            steps = max(int(share * ARENAS[name].steps), 1)
            asked = {"environment": name, "method": method, "seed": seed, "steps": steps}
            if any(asked.items() <= each.items() for each in done):
                continue
            done.append(plain(cell(name, method, seed, steps)))
            if keep is not None:
                write_numbers(keep, plain({"machine": machine(), "rows": compared(done), "cells": done}))
    return done


def compared(done: Sequence[Figures]) -> list[Figures]:
    """A row an environment and method."""
    rows = []
    keys = ("environment", "method", "steps")
    for key in dict.fromkeys(tuple(each[k] for k in keys) for each in done):
        found = [each for each in done if tuple(each[k] for k in keys) == key]
        returns, violations = (np.array([each[key] for each in found]) for key in ("return", "violation"))
        rows.append(
            dict(zip(keys, key, strict=True))
            | {
                "seeds": len(found),
                "mean_return": returns.mean(),
                "lowest_return": returns.min(),
                "mean_violation": violations.mean(),
                "worst_violation": violations.max(),
                "found_feasible": sum(each["feasible"] for each in found),
                "cpu_seconds": np.mean([each["cpu_seconds"] for each in found]),
            }
        )
    return sorted(rows, key=lambda row: (list(ARENAS).index(row["environment"]), METHODS.index(row["method"])))


def show(figures: Figures) -> str:
    """One table, and what is known of the pendulum."""
    parts = [figures[name] for name in ("rows", "known") if figures.get(name)]
    return "\n\n".join(table(rows, {k: k.replace("_", " ") for k in rows[0]}) for rows in parts)


@benchmark("methods", "SI-CPO, EPO, CRPO and PPO-Lagrangian side by side on five environments with continua", show)
def run(options: Options) -> Figures:
    before, start, threads = machine(), time.perf_counter(), torch.get_num_threads()
    torch.set_num_threads(1)
    pairs = {f"{name}: {method}": (name, method) for name in ARENAS for method in METHODS}
    chosen, count = [*options.choose([*pairs, KNOWN])], options.seeds or (1 if options.quick else SEEDS)
    seeds, share = range(options.seed, options.seed + count), QUICK_SHARE if options.quick else 1.0
    try:
        figures: Figures = {"quick": options.quick, "machine": before}
        keep = None if options.keep is None else Path(options.keep)
        figures["cells"] = cells([pairs[name] for name in chosen if name in pairs], seeds, share, keep)
        figures["rows"] = compared(figures["cells"])
        if KNOWN in chosen:
            figures["known"] = pendulum.known(2 if options.quick else 60)
        return figures | {"seconds": time.perf_counter() - start}
    finally:
        torch.set_num_threads(threads)
