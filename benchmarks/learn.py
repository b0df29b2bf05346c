"""Learning in general: what a step of each update costs, where an iteration spends its time, and rules side by side.

Updates take one step on 1,000 samples: of a table of 8 states, of networks with two layers of 64 and of 512, and of a
small convolutional one. The shares of time are those of playing, of searching Y, of the step with its batch, and of the
critics: only the last two can gain from a GPU. On Pendulum, whose angle has a limit for every threshold, SI-CPPO on the
worst point and on a set, Exchange Policy Optimisation and PPO-Lagrangian learn with the same settings.
"""

from __future__ import annotations

import resource
import time
import warnings
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import torch
from torch import nn

import envs
import lsip
import rl
from rl.policies import Categorical, MLPGaussian, Policy, SoftmaxTable
from rl.updates import Batch

from .harness.figures import machine, median, table
from .harness.registry import Figures, Options, benchmark, say

SAMPLES = 1000
UPDATES: dict[str, Any] = {
    "NPG": rl.NPG(),
    "NPG by cg": rl.NPG(solver="cg"),
    "TRPO": rl.TRPO(),
    "PPO": rl.PPO(),
    "PolicyGradient": rl.PolicyGradient(),
}
PENDULUM = {"gamma": 0.95, "episodes": 32, "normalise": True, "log_std": -0.5, "learning_rate": 1e-3, "eta": 0.5}


class Convolutional(Categorical):
    """A small network for pictures (N, 1, 36, 36)."""

    def __init__(self) -> None:
        super().__init__()
        first, second = nn.Conv2d(1, 16, 8, 4), nn.Conv2d(16, 32, 4, 2)
        self.net = nn.Sequential(first, nn.ReLU(), second, nn.ReLU(), nn.Flatten(), nn.Linear(288, 128), nn.ReLU())
        self.head = nn.Linear(128, 4)

    def logits(self, observations: torch.Tensor) -> torch.Tensor:
        return self.head(self.net(observations))


def batches() -> dict[str, tuple[Policy, torch.Tensor, torch.Tensor]]:
    """Policies with observations and actions."""
    torch.manual_seed(0)
    discrete, real = torch.randint(4, (SAMPLES,)), torch.randn(SAMPLES, 1)
    return {
        "table 8 x 4": (SoftmaxTable(8, 4), torch.randint(8, (SAMPLES,)), discrete),
        "2 x 64": (MLPGaussian(6, 1, (64, 64)), torch.randn(SAMPLES, 6), real),
        "2 x 512": (MLPGaussian(6, 1, (512, 512)), torch.randn(SAMPLES, 6), real),
        "convolutional": (Convolutional(), torch.randn(SAMPLES, 1, 36, 36), discrete),
    }


def updates(turns: int) -> list[Figures]:
    """Milliseconds of the processor a step, and the largest memory of the process so far."""
    rows = []
    for name, (policy, seen, actions) in batches().items():
        kind = next(policy.parameters()).dtype
        with torch.no_grad():
            log_probs = policy.log_prob(seen, actions)
        advantages, weights = torch.randn(SAMPLES, dtype=kind), torch.full((SAMPLES,), 1 / SAMPLES, dtype=kind)
        batch = Batch(seen, actions, advantages, weights, log_probs, 10.0)
        for label, update in UPDATES.items():
            spent = []
            for _ in range(turns + 1):
                start = time.process_time()
                update.step(policy, batch, 1e-9, np.random.default_rng(0), {})
                spent.append(1000 * (time.process_time() - start))
            memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            rows.append({"policy": name, "update": label, "ms": median(spent[1:]), "memory_mb": memory})
        say(f"updates: {name}")
    return rows


def shares(turns: int) -> list[Figures]:
    """Where an iteration of SI-CPPO on 64 ships spends its time, at the beginning, by the size of the networks."""
    rows = []
    for name, hidden in (("2 x 64", (64, 64)), ("2 x 512", (512, 512))):
        ships = gymnasium.make_vec("lsip/ShipRoute-v0", num_envs=64)
        agent = rl.SICPPO(ships, envs.ship.constraint(), hidden=hidden, episodes=64, minibatch=800, device="cpu")
        spent = dict.fromkeys(("play", "batch", "step", "critics"), 0.0)
        places = ((agent.world, "play"), (agent.world, "batch"), (agent.update, "step"), (agent.world, "settle"))
        for part, (owner, method) in zip(spent, places, strict=True):
            object.__setattr__(owner, method, _clocked(getattr(owner, method), spent, part))
        start = time.process_time()
        for _ in range(turns):
            agent.learn(agent.total_steps + 1, evaluate_every=10**9)
        total = time.process_time() - start
        rest = total - sum(spent.values())
        rows.append(
            {"networks": name, "seconds": total / turns}
            | {part: t / total for part, t in spent.items()}
            | {"search and rest": rest / total}
        )
        say(f"shares: {name}")
    return rows


def _clocked(method: Callable[..., Any], spent: dict[str, float], part: str) -> Callable[..., Any]:
    def timed(*given: Any, **options: Any) -> Any:
        start = time.process_time()
        try:
            return method(*given, **options)
        finally:
            spent[part] += time.process_time() - start

    return timed


def upright() -> rl.SemiInfiniteCost:
    """For every threshold y: the discounted time with the pole beyond the angle y is limited, the less the larger y."""

    def cost(y: Any, observations: Any, actions: Any) -> Any:
        angle = np.abs(np.arctan2(observations[:, 1], observations[:, 0]))
        return 1 / (1 + np.exp(-8 * (angle - y[:, :1])))

    return rl.SemiInfiniteCost(lsip.Interval(0.3, 3.0), cost, lambda y: 14 - 4 * y[:, 0], gamma=0.95)


def pendulum(seeds: int, steps: int) -> list[Figures]:
    """Discounted return and worst violation of the last fifth of the iterations, and of the policy that is kept."""
    rows = []
    make: dict[str, Callable[..., Any]] = {
        "SI-CPPO, worst": rl.SICPPO,
        "SI-CPPO, set": lambda *given, **options: rl.SICPPO(*given, switch="set", **options),
        "EPO": rl.EPO,
        "PPO-Lagrangian": rl.baselines.PPOLagrangian,
    }
    for name, kind in make.items():
        late, kept = [], []
        for seed in range(seeds):
            env = gymnasium.make_vec("Pendulum-v1", num_envs=32)
            config = rl.SICPPOConfig(**PENDULUM)
            agent = kind(env, upright(), config, seed=seed, device="cpu").learn(steps, evaluate_every=10)
            tail = agent.history[-len(agent.history) // 5 :]
            late.append([np.mean([r.reward for r in tail]), np.mean([r.violation for r in tail])])
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", rl.NoGoodPolicyWarning)
                played = agent.world.played(agent.episodes(256, 10_000 + seed))
            worst = float(played.violation.values(np.linspace(0.3, 3.0, 541)[:, None]).max())
            kept.append([played.reward, worst])
            say(f"pendulum: {name}, seed {seed}: return {kept[-1][0]:.1f}, violation {kept[-1][1]:+.3f}")
        (reward, violation), (best, excess) = np.mean(late, axis=0), np.mean(kept, axis=0)
        rows.append(
            {"method": name, "seeds": seeds, "steps": steps, "late_return": reward, "late_violation": violation}
            | {"kept_return": best, "kept_violation": excess, "worst_of_kept": max(v for _, v in kept)}
        )
    return rows


def show(figures: Figures) -> str:
    """A table a part."""
    parts = [figures["updates"], figures["shares"], figures["pendulum"]]
    return "\n\n".join(table(rows, {k: k.replace("_", " ") for k in rows[0]}) for rows in parts if rows)


@benchmark("learn", "Learning: milliseconds of each update, shares of an iteration, and rules side by side", show)
def run(options: Options) -> Figures:
    before, start, threads = machine(), time.perf_counter(), torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return {
            "quick": options.quick,
            "machine": before,
            "updates": updates(3 if options.quick else 15),
            "shares": shares(1 if options.quick else 4),
            "pendulum": pendulum(1 if options.quick else 5, 20_000 if options.quick else 400_000),
            "seconds": time.perf_counter() - start,
        }
    finally:
        torch.set_num_threads(threads)
