"""Learning in general: what a step of each update costs, where an iteration spends its time, and steps a second.

Updates take one step on 1,000 samples: of a table of 8 states, of networks with two layers of 64 and of 512, and of a
small convolutional one. The shares of time are those of playing, of searching Y, of the step with its batch, and of the
critics: only the last two can gain from a GPU. Throughput is steps of the environment that are learned from per second
of the processor, beside Stable-Baselines3's PPO where it is installed. And updates and iterations with gradients by
hand are compared with the same by autograd.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import torch
from torch import nn

import envs
import rl
from rl import backprop
from rl.policies import Categorical, MLPGaussian, Policy, SoftmaxTable
from rl.updates import Batch

from .harness.figures import machine, median, ratio, table
from .harness.pictured import PicturedShips, constraint
from .harness.registry import Figures, Options, benchmark, say

SAMPLES = 1000
UPDATES: dict[str, Any] = {
    "NPG": rl.NPG(),
    "NPG by cg": rl.NPG(solver="cg"),
    "TRPO": rl.TRPO(),
    "PPO": rl.PPO(),
    "PolicyGradient": rl.PolicyGradient(),
}
SIZES = {"2 x 64": (64, 64), "2 x 512": (512, 512)}
NEVER = 1e9  # a divergence that no policy reaches
PARTS = ("updates", "shares", "throughput", "gradients")


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
    import resource  # Unix only

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
    """Where an iteration of SI-CPPO on 64 ships spends its time, at the beginning, by the networks.

    A convolutional policy sees pictures of the ships; its critics have two layers of 64 on all pixels.
    """
    rows = []
    for name in (*SIZES, "convolutional"):
        ships, options = gymnasium.make_vec("lsip/ShipRoute-v0", num_envs=64), {"episodes": 64, "minibatch": 800}
        agent = (
            rl.SICPPO(ships, envs.ship.constraint(), hidden=SIZES[name], device="cpu", **options)
            if name in SIZES
            else rl.SICPPO(PicturedShips(ships), constraint(), policy=Convolutional(), device="cpu", **options)
        )
        spent = dict.fromkeys(("play", "batch", "step", "critics"), 0.0)
        places = (
            (agent.world, "evaluate"),
            (agent.world, "batch"),
            (agent.update, "step"),
            (agent.world, "fit_critics"),
        )
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


def throughput(turns: int) -> list[Figures]:
    """Steps per second with learning, the constraint critic included; and of Stable-Baselines3's PPO, if installed.

    Both make the same passes over minibatches of the same size: ten for the policy, and ten for critics (here five for
    each of two). As configured, ours stops its passes when the policy has moved far enough, and so makes fewer. Only
    steps that are learned from are counted. All run with one thread and take turns; seconds are those of the processor,
    so that other work on the machine matters little. Ratios are the medians over the turns.
    """
    rows = []
    for size, hidden in SIZES.items():
        contestants = [_ours(hidden, NEVER), _ours(hidden, rl.SICPPOConfig.divergence), _theirs(hidden)]
        spent = [[each() if each is not None else None for each in contestants] for _ in range(turns)]
        all_passes, configured, theirs = (median(rates) for rates in zip(*spent, strict=True))
        rows.append(
            {"networks": size, "all_passes": all_passes, "as_configured": configured, "sb3": theirs}
            | {"times": median(ratio(a, c) for a, _, c in spent)}
            | {"times_as_configured": median(ratio(b, c) for _, b, c in spent)}
        )
        say(f"throughput: {size}")
    return rows


def _ours(hidden: tuple[int, ...], divergence: float) -> Callable[[], float]:
    """A function that learns for an iteration and gives its steps per second."""
    ships = gymnasium.make_vec("lsip/ShipRoute-v0", num_envs=128)
    settings: dict[str, Any] = {"hidden": hidden, "episodes": 128, "minibatch": 800, "divergence": divergence}
    one = rl.SICPPO(ships, envs.ship.constraint(), rl.SICPPOConfig(**settings), seed=0, device="cpu")
    counted: list[int] = []
    play = one.world.evaluate

    def counting(state: Any) -> Any:
        played = play(state)
        counted.append(played.data.episodes.steps)
        return played

    object.__setattr__(one.world, "evaluate", counting)
    one.learn(1, evaluate_every=10**9)  # ships wander for 100 steps at first; that is what is measured

    def rate() -> float:
        start = time.process_time()
        one.learn(one.total_steps + 1, evaluate_every=10**9)
        return counted[-1] / (time.process_time() - start)

    return rate


def _theirs(hidden: tuple[int, ...]) -> Callable[[], float] | None:
    try:
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


def gradients(turns: int) -> list[Figures]:
    """Milliseconds of updates and of an iteration of SI-CPPO: with gradients by hand, and by autograd alone.

    Updates take 1,000 samples. Both take turns, and ratios are the medians over the turns.
    """
    rows = []
    for size, hidden in SIZES.items():
        policy, seen, actions = MLPGaussian(6, 1, hidden), torch.randn(SAMPLES, 6), torch.randn(SAMPLES, 1)
        with torch.no_grad():
            log_probs = policy.log_prob(seen, actions)
        batch = Batch(seen, actions, torch.randn(SAMPLES), torch.full((SAMPLES,), 1 / SAMPLES), log_probs, 10.0)
        steps: dict[str, Callable[[], Any]] = {
            name: lambda update=update, policy=policy, batch=batch: update.step(
                policy, batch, 1e-9, np.random.default_rng(0), {}
            )
            for name, update in (("NPG", rl.NPG()), ("PPO", rl.PPO()))
        }
        steps["an iteration of SI-CPPO"] = _iteration(hidden)
        for name, step in steps.items():
            pairs = [(_spent(step), _spent(step, autograd=True)) for _ in range(turns + 1)][1:]  # the first warms up
            ours, theirs = (median(each) for each in zip(*pairs, strict=True))
            rows.append(
                {"networks": size, "step": name, "by_hand_ms": ours, "autograd_ms": theirs}
                | {"times": median(ratio(b, a) for a, b in pairs)}
            )
        say(f"gradients: {size}")
    return rows


def _iteration(hidden: tuple[int, ...]) -> Callable[[], Any]:
    """A function that learns for one iteration."""
    ships = gymnasium.make_vec("lsip/ShipRoute-v0", num_envs=128)
    agent = rl.SICPPO(ships, envs.ship.constraint(), hidden=hidden, divergence=NEVER, seed=0, device="cpu")
    return lambda: agent.learn(agent.total_steps + 1, evaluate_every=10**9)


def _spent(step: Callable[[], Any], *, autograd: bool = False) -> float:
    """Milliseconds of the processor a step, with gradients by hand or by autograd."""
    known = backprop.by_hand
    start = time.process_time()
    try:
        if autograd:
            backprop.by_hand = lambda net: False
        step()
    finally:
        backprop.by_hand = known
    return 1000 * (time.process_time() - start)


def show(figures: Figures) -> str:
    """A table a part."""
    parts = [figures[name] for name in PARTS if figures.get(name)]
    return "\n\n".join(table(rows, {k: k.replace("_", " ") for k in rows[0]}) for rows in parts)


@benchmark("learn", "Learning: milliseconds of each update, shares of an iteration, steps a second beside SB3", show)
def run(options: Options) -> Figures:
    before, start, threads = machine(), time.perf_counter(), torch.get_num_threads()
    quick, chosen = options.quick, options.choose(PARTS)
    measured: dict[str, Callable[[], list[Figures]]] = {
        "updates": lambda: updates(3 if quick else 15),
        "shares": lambda: shares(1 if quick else 4),
        "throughput": lambda: throughput(2 if quick else 7),
        "gradients": lambda: gradients(3 if quick else 9),
    }
    torch.set_num_threads(1)
    try:
        figures = {name: measured[name]() for name in chosen}
        return {"quick": quick, "machine": before, **figures, "seconds": time.perf_counter() - start}
    finally:
        torch.set_num_threads(threads)
