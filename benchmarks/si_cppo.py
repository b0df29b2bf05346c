"""SI-CPPO on Ship Route Planning: what is learned over seeds, seconds an iteration, and throughput beside other tools.

A policy counts as good when its deterministic route returns at least 2.25 and breaks no constraint by more than 0.005,
checked on a fine grid of Y and at the ship's own positions. Throughput is steps of the environment per second of the
processor; learning is compared at the same minibatches and epochs of the policy, with Stable-Baselines3 where it is
installed.
"""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np

from envs.experiments import ship_si_cppo as experiment

from .harness.figures import machine, median, ratio, table
from .harness.registry import Figures, Options, benchmark, say

SIZES = {"2 x 64": (64, 64), "2 x 512": (512, 512)}
GOOD_RETURN, GOOD_VIOLATION = 2.25, 0.005


def learning(seeds: int, steps: int, limit: float) -> list[Figures]:
    """One run a seed, stopped after `limit` seconds at the latest."""
    rows = []
    for seed in range(seeds):
        start, cpu = time.perf_counter(), time.process_time()
        learned = experiment.agent("SI-CPPO", seed)
        learned.learn(steps, callback=lambda a, r, start=start: time.perf_counter() - start > limit)
        positions, total = experiment.route(learned)
        violation = experiment.route_violation(positions)
        rows.append(
            {
                "seed": seed,
                "return": total,
                "violation": violation,
                "good": total >= GOOD_RETURN and violation <= GOOD_VIOLATION,
                "seconds": time.perf_counter() - start,
                "cpu_seconds": time.process_time() - cpu,
                "steps": learned.total_steps,
                "iterations": learned.iteration,
            }
        )
        say(f"seed {seed}: return {total:.4f}, violation {violation:+.4f}, {rows[-1]['seconds']:.0f} s")
    return rows


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


def learning_speed(turns: int, busy: bool) -> list[Figures]:
    """Steps per second with learning, the constraint critic included; and of Stable-Baselines3's PPO, if installed.

    Both run with one thread and take turns; seconds are those of the processor, so that other work on the machine
    matters little. The ratio is the median over the turns.
    """
    stop = _keep_busy() if busy else None
    rows = []
    try:
        for size, hidden in SIZES.items():
            mine, other = _ours(hidden), _theirs(hidden)
            spent = [(mine(), other() if other is not None else None) for _ in range(turns)]
            ours, theirs = (median(rates) for rates in zip(*spent, strict=True))
            times = median(ratio(a, b) for a, b in spent)
            rows.append({"networks": size, "busy_core": busy, "ours": ours, "sb3": theirs, "times": times})
    finally:
        if stop is not None:
            stop()
    return rows


def _ours(hidden: tuple[int, ...]) -> Callable[[], float]:
    """A function that learns for an iteration and gives its steps per second."""
    one = experiment.agent("SI-CPPO", 0, hidden=hidden, episodes=384, minibatch=800)
    one.learn(1, evaluate_every=10**9)  # ships wander for 100 steps at first; that is what is measured

    def rate() -> float:
        start, before = time.process_time(), one.total_steps
        one.learn(one.total_steps + 1, evaluate_every=10**9)
        return (one.total_steps - before) / (time.process_time() - start)

    return rate


def _theirs(hidden: tuple[int, ...]) -> Callable[[], float] | None:
    try:
        import torch
        from stable_baselines3 import PPO
        from stable_baselines3.common.env_util import make_vec_env
    except ImportError:
        return None
    env = make_vec_env("lsip/ShipRoute-v0", n_envs=64)
    nets = {"activation_fn": torch.nn.Tanh, "net_arch": {"pi": list(hidden), "vf": list(hidden)}}
    model = PPO("MlpPolicy", env, n_steps=100, batch_size=800, n_epochs=10, policy_kwargs=nets, device="cpu", seed=0)

    def rate() -> float:
        threads = torch.get_num_threads()
        torch.set_num_threads(1)
        start = time.process_time()
        model.learn(3 * 6400, reset_num_timesteps=False)
        torch.set_num_threads(threads)
        return 3 * 6400 / (time.process_time() - start)

    return rate


def _spin() -> None:
    while True:
        pass


def _keep_busy() -> Any:
    """Another process that takes a core; what is returned stops it."""
    process = multiprocessing.get_context("spawn").Process(target=_spin, daemon=True)
    process.start()
    time.sleep(2)
    return process.kill


def show(figures: Figures) -> str:
    """A table a part."""
    parts = [figures["learning"], figures["iterations"], [figures["environment"]], figures["speed"]]
    tables = [table(rows, {k: k.replace("_", " ") for k in rows[0]}) for rows in parts if rows]
    return "\n\n".join([*tables, f"{figures['good']} of {len(figures['learning'])} seeds good"])


@benchmark("si_cppo", "SI-CPPO on Ship Route Planning: learning over seeds, seconds an iteration, throughput", show)
def run(options: Options) -> Figures:
    before, start = machine(), time.perf_counter()
    quick = options.quick
    learned = learning(2 if quick else 10, 350_000, 110.0)
    return {
        "quick": quick,
        "machine": before,
        "learning": learned,
        "good": sum(row["good"] for row in learned),
        "iterations": iterations(2 if quick else 3),
        "environment": environment_speed(64, 0.5 if quick else 2.0),
        "speed": [row for busy in (False, True) for row in learning_speed(2 if quick else 5, busy)],
        "seconds": time.perf_counter() - start,
    }
