"""Learning with default settings: safe learners on tasks with a continuum of constraints, judged by other simulators.

Every run has the steps and the discount of its task, and nothing else is set. What is judged is the policy that
`predict` plays, by simulators that share no code with `rl` or `envs` (`harness/simulators.py`): its return, and its
largest violation over a fine grid of Y. The score is (R - R_random) / (R* - R_random), with R* the bound or the best
policy that is known of a task, if there is one. Baselines see the constraint on a grid of 17 points along each axis.

Not here yet: CPO and FOCOPS, whose updates need advantages of rewards and costs apart; spraying; load balancing as
episodes; HalfCheetah and Hopper, which need MuJoCo; Stable-Baselines3's PPO on the reward alone; ten times the budget
where no R* is known (pendulum).
"""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch

import envs
import rl
from envs.experiments.registry import write_numbers

from .harness import inventory, simulators
from .harness.figures import machine, plain, table
from .harness.registry import Figures, Options, benchmark, say

GRID, FRESH, QUICK_SHARE, LONGEST = 17, 20_000, 0.03, 600.0  # LONGEST: CPU seconds of a run
CLEAR = 3.0  # standard errors beyond which a violation is one


@dataclass(frozen=True)
class Arena:
    """A task, the simulator that judges it, and the best return that is known."""

    environment: Callable[[], Any]
    constraint: Callable[[], rl.SemiInfiniteCost]
    simulate: Callable[[simulators.Act, int, int], simulators.Seen]
    draw: Callable[[np.random.Generator, int], Any]  # actions at random
    steps: int
    best: float | None
    settings: dict[str, Any] = field(default_factory=dict)  # the discount
    episodes: int = FRESH  # to judge by; few where nothing is random


def _uniform(low: float, high: float) -> Callable[[np.random.Generator, int], Any]:
    return lambda rng, n: rng.uniform(low, high, (n, 1))


def _ships() -> Any:
    import gymnasium

    return gymnasium.make_vec("lsip/ShipRoute-v0", num_envs=64)


def _carts() -> Any:
    import gymnasium

    return gymnasium.make_vec("CartPole-v1", num_envs=32)


ARENAS = {
    # The linear program over occupations and thresholds: -6.98.
    "queue": Arena(
        lambda: envs.queue.QueueVector(128),
        envs.queue.constraint,
        simulators.queue,
        _uniform(0, 1),
        1_000_000,
        -6.98,
    ),
    "inventory": Arena(
        lambda: inventory.InventoryVector(128),
        inventory.constraint,
        simulators.inventory,
        _uniform(0, 1),
        600_000,
        None,  # the linear program of `inventory.bound`
    ),
    # The best open-loop route that is known (not proven).
    "ship": Arena(
        _ships,
        envs.ship.constraint,
        simulators.ship,
        _uniform(0, 2 * np.pi),
        300_000,
        2.2816,
        episodes=16,
    ),
    "pendulum": Arena(
        lambda: envs.classic.PendulumVector(32),
        lambda: envs.classic.Angles().constraint(),
        simulators.pendulum,
        _uniform(-2, 2),
        800_000,
        None,
        {"gamma": 0.95},
        4_000,
    ),
    # A pole that stays up for all of 500 steps.
    "cartpole": Arena(
        _carts,
        lambda: envs.classic.Distances().constraint(),
        simulators.cartpole,
        lambda rng, n: rng.integers(2, size=n),
        400_000,
        (1 - 0.99**500) / 0.01,
        {"gamma": 0.99},
        4_000,
    ),
}
METHODS = ("SICPPO", "EPO", "PPO-Lagrangian")
SEEDS = {"SICPPO": 10, "EPO": 10}
OTHERS = 5  # seeds of baselines


def learner(arena: Arena, method: str, seed: int) -> Any:
    """A learner that has not begun, with default settings."""
    env, constraint = arena.environment(), arena.constraint()
    options: dict[str, Any] = {"seed": seed, "device": "cpu", **arena.settings}
    if method == "SICPPO":
        return rl.SICPPO(env, constraint, **options)
    if method == "EPO":
        return rl.EPO(env, constraint, **options)
    options["oracle"] = rl.baselines.FixedGrid(GRID)
    return rl.baselines.PPOLagrangian(env, constraint, **options)


def run_one(task: str, method: str, seed: int, steps: int) -> Figures:
    """What one run has learned."""
    arena, start = ARENAS[task], time.process_time()
    agent = learner(arena, method, seed)
    agent.learn(steps, callback=lambda made, report: time.process_time() - start > LONGEST)
    spent = time.process_time() - start

    def act(seen: Any) -> Any:
        return agent.predict(seen)[0]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rl.NoGoodPolicyWarning)
        earned, worst, error = judged(arena, act, 50_000 + seed)
    summed = sum(max(report.violation, 0.0) * report.steps for report in _increments(agent.history))
    say(f"{task}: {method}, seed {seed}: return {earned:.4g}, violation {worst:+.4f}, {spent:.0f} s")
    return {
        "task": task,
        "method": method,
        "seed": seed,
        "steps": steps,
        "return": earned,
        "violation": worst,
        "violation_error": error,
        "kept": agent.best is not None,
        "feasible": agent.best is not None and worst <= CLEAR * error,
        "violation_of_training": summed / max(agent.total_steps, 1),
        "cpu_seconds": spent,
    }


def _increments(history: Any) -> list[Any]:
    """Reports with the steps of their own iteration."""
    before = [0, *(report.steps for report in history)]
    return [report._replace(steps=report.steps - b) for report, b in zip(history, before, strict=False)]


def judged(arena: Arena, act: simulators.Act, seed: int) -> tuple[float, float, float]:
    """Mean return, the largest mean violation over the grid, and its standard error."""
    earned, costs, bounds = arena.simulate(act, arena.episodes, seed)
    violation = costs.mean(axis=0) - bounds
    k = int(np.argmax(violation))
    return float(earned.mean()), float(violation[k]), float(costs[:, k].std(ddof=1) / len(costs) ** 0.5)


def random_return(arena: Arena) -> float:
    """What actions at random return."""
    rng = np.random.default_rng(7)
    earned, *_ = arena.simulate(lambda seen: arena.draw(rng, len(seen)), max(arena.episodes, 1_000), 8)
    return float(earned.mean())


def compared(done: list[Figures], best: dict[str, float | None], lowest: dict[str, float]) -> list[Figures]:
    """A row a task and method; scores are of runs that kept a truly feasible policy."""
    rows = []
    for name, method in dict.fromkeys((each["task"], each["method"]) for each in done):
        found = [each for each in done if (each["task"], each["method"]) == (name, method)]
        feasible = [each["return"] for each in found if each["feasible"]]
        top, low = best[name], lowest[name]
        score = None if top is None or not feasible else (np.mean(feasible) - low) / (top - low)
        rows.append(
            {
                "task": name,
                "method": method,
                "seeds": len(found),
                "kept": sum(each["kept"] for each in found),
                "feasible": len(feasible),
                "score": score,
                "return": np.mean([each["return"] for each in found]),
                "violation": np.max([each["violation"] for each in found]),
                "violation_of_training": np.mean([each["violation_of_training"] for each in found]),
                "cpu_seconds": np.mean([each["cpu_seconds"] for each in found]),
            }
        )
    return rows


def show(figures: Figures) -> str:
    """One table."""
    rows = figures["rows"]
    return table(rows, {k: k.replace("_", " ") for k in rows[0]}) if rows else "no runs"


@benchmark("learning", "Safe learners with default settings, judged by simulators that share no code with them", show)
def run(options: Options) -> Figures:
    before, threads = machine(), torch.get_num_threads()
    torch.set_num_threads(1)
    pairs = {f"{name}: {method}": (name, method) for name in ARENAS for method in METHODS}
    chosen = [pairs[name] for name in options.choose(pairs)]
    keep = None if options.keep is None else Path(options.keep)
    known = json.loads(keep.read_text(encoding="utf-8")) if keep is not None and keep.exists() else {}
    done: list[Figures] = known.get("runs", [])
    names = list(dict.fromkeys([*(name for name, _ in chosen), *(each["task"] for each in done)]))
    best = {name: inventory.bound() if name == "inventory" else ARENAS[name].best for name in names}
    lowest = {name: random_return(ARENAS[name]) for name in names}
    count = options.seeds or (1 if options.quick else max(SEEDS.values()))
    figures: Figures = {"quick": options.quick, "machine": before, "best": best, "random": lowest}
    try:
        for seed in range(options.seed, options.seed + count):
            for name, method in chosen:
                steps = int(ARENAS[name].steps * (QUICK_SHARE if options.quick else 1))
                asked = {"task": name, "method": method, "seed": seed, "steps": steps}
                over = options.seeds is None and seed - options.seed >= SEEDS.get(method, OTHERS)
                if over or any(asked.items() <= each.items() for each in done):
                    continue
                done.append(plain(run_one(**asked)))  # type: ignore[arg-type]
                if keep is not None:
                    write_numbers(keep, plain({**figures, "rows": compared(done, best, lowest), "runs": done}))
    finally:
        torch.set_num_threads(threads)
    return {**figures, "rows": compared(done, best, lowest), "runs": done}
