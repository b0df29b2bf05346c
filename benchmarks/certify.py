"""Guarantees from fresh episodes: how often they are wrong, and how far they lie above the truth.

Every policy is synthetic, so that its violation is known: it plays one of a few routes, with known probabilities, or
walks through a small tabular model. Among them are policies that hardly ever do something else, and then something
bad, which is what a bound from samples is most likely to miss.
"""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
from scipy import special

import envs
import lsip
import rl
from rl.rollouts import Episodes, collect
from rl.simulator import TabularSimulator, rollout

from .harness.figures import machine, table
from .harness.registry import Figures, Options, benchmark, say

DELTA = 0.05
TRIES, QUICK = 1000, 40
STEPS = 6  # of an episode
DECAY = 4.0


def constraint(gamma: float) -> rl.SemiInfiniteCost:
    """Noise around a walker on [0, 1]; no two sets of routes have the same worst place."""

    def cost(y: Any, observations: Any, actions: Any) -> Any:
        return np.exp(-DECAY * (y.reshape(len(y), 1) - observations[:, 0]) ** 2)

    def bound(y: Any) -> Any:
        return 1.5 + y[:, 0]

    return rl.SemiInfiniteCost(lsip.Interval(0, 1), cost, bound, range=(0.0, 1.0), gamma=gamma)


def episodes(routes: np.ndarray, lengths: np.ndarray, chosen: np.ndarray) -> Episodes:
    """Episodes that follow routes (K, STEPS) of these lengths, one `chosen` for each."""
    seen = routes[chosen].T[:, :, None]
    zeros = np.zeros(seen.shape[:2])
    live = np.arange(STEPS)[:, None] < lengths[chosen]
    none = np.zeros((*seen.shape[:2], 1))
    return Episodes(seen, none, none, zeros, live, np.ones(len(chosen), dtype=bool), seen[-1])


def mixture(rng: np.random.Generator, n: int, rare: bool, gamma: float) -> tuple[float, rl.Guarantee]:
    """The true violation of a policy that mixes routes, and what is guaranteed from n episodes."""
    count = 2 if rare else int(rng.integers(1, 5))
    routes, lengths = rng.uniform(size=(count, STEPS)), rng.integers(1, STEPS + 1, size=count)
    chances = rng.dirichlet(np.ones(count))
    if rare:  # as likely as not unseen, and as bad as can be
        routes[1], lengths[1] = rng.uniform(), STEPS
        chances = np.array([1 - 1 / n, 1 / n]) if rng.uniform() < 0.5 else np.array([1 - 3 / n, 3 / n])
    c = constraint(gamma)
    places = np.linspace(0, 1, 2001)[:, None]
    weights = np.where(np.arange(STEPS) < lengths[:, None], gamma ** np.arange(STEPS), 0.0) * chances[:, None]
    values = c.cost(places, routes.reshape(-1, 1), None) @ weights.ravel() - c.bound(places)
    played = episodes(routes, lengths, rng.choice(count, size=n, p=chances))
    return float(values.max()), rl.certify(c, played, delta=DELTA, horizon=STEPS)


def varied(rng: np.random.Generator, n: int) -> tuple[float, rl.Guarantee]:
    """The same of a policy that never plays an episode twice: its steps are uniform on an interval."""
    low, high = np.sort(rng.uniform(size=2))
    places = np.linspace(0, 1, 2001)
    root = math.sqrt(DECAY)
    mean = special.erf(root * (high - places)) - special.erf(root * (low - places))
    values = STEPS * mean * math.sqrt(math.pi) / (2 * root * (high - low)) - constraint(1.0).bound(places[:, None])
    routes = rng.uniform(low, high, size=(n, STEPS))
    played = episodes(routes, np.full(n, STEPS), np.arange(n))
    return float(values.max()), rl.certify(constraint(1.0), played, delta=DELTA, horizon=STEPS)


def tabular(rng: np.random.Generator, n: int) -> tuple[float, rl.Guarantee]:
    """The same of a random policy in a small model, from n paths."""
    mdp = envs.sewage(states=3, actions=2, gamma=0.7, seed=rng, slack=0.05)
    policy = rng.dirichlet(np.ones(2), size=3)
    pairs = rollout(TabularSimulator(mdp), policy, 20, rng, count=n)
    visits = np.zeros((n, 6))
    for t, now in enumerate(pairs):
        np.add.at(visits, (np.arange(n), now), mdp.gamma**t)
    return mdp.worst_violation(policy).value, rl.certify(mdp.specification, visits.reshape(n, 3, 2), delta=DELTA)


KINDS = {
    "one route or a few": lambda rng: mixture(rng, 500, False, 1.0),
    "rare and bad": lambda rng: mixture(rng, 500, True, 1.0),
    "discounted": lambda rng: mixture(rng, 500, False, 0.8),
    "all different": lambda rng: varied(rng, 500),
    "tabular": lambda rng: tabular(rng, 2000),
}


def ship(count: int) -> Figures:
    """The ship always sails the curve y = x^4: how sharp the bound is, and how long it takes."""
    from envs.ship import constraint, reference_routes, route

    positions, _ = route(reference_routes()["curve y = x^4"])
    seen = np.repeat(positions[:-1, None, :], count, axis=1)
    zeros, none = np.zeros(seen.shape[:2]), np.zeros((*seen.shape[:2], 1))
    live, ended = np.ones(seen.shape[:2], dtype=bool), np.ones(count, dtype=bool)
    began = time.perf_counter()
    found = rl.certify(constraint(), Episodes(seen, none, none, zeros, live, ended, seen[-1]), delta=DELTA, horizon=100)
    return {
        "episodes": count,
        "bound": found.bound,
        "mean_violation": found.mean_violation,
        "excess": found.bound - found.mean_violation,
        "seconds": time.perf_counter() - began,
    }


def queue(count: int) -> Figures:
    """A server that is used the more the longer its queue is: how many standard errors the bound is above the mean."""
    from envs.queue import MAX_STEPS, QueueVector, constraint

    def act(seen: np.ndarray) -> np.ndarray:
        return np.clip(0.1 + 0.09 * seen[:, :1], 0.0, 1.0)

    played = collect(QueueVector(count), act, count, 1)
    found = rl.certify(constraint(), played, delta=DELTA, horizon=MAX_STEPS)
    costs = np.maximum(played.observations[:, :, 0] - found.y[0], 0.0).mean(axis=0)
    error, excess = float(costs.std(ddof=1)) / math.sqrt(count), found.bound - found.mean_violation
    return {"episodes": count, "excess": excess, "standard_error": error, "errors": excess / error}


def show(figures: Figures) -> str:
    columns = {"kind": "policies", "policies": "", "misses": "misses", "mean_excess": "bound - truth", "seconds": "s"}
    ships = {"episodes": "ship: episodes", "excess": "bound - mean", "seconds": "s"}
    queues = {"episodes": "queue: episodes", "excess": "bound - mean", "errors": "standard errors"}
    share = f"missed: {figures['missed_share']:.3g} of all, at most {DELTA:g} are allowed"
    tight = f"{table(figures['ship'], ships)}\n\n{table(figures['queue'], queues)}"
    return f"{table(figures['kinds'], columns)}\n{share}\n\n{tight}"


@benchmark("certify", "guarantees from fresh episodes: coverage and tightness on policies of known violation", show)
def run(options: Options) -> Figures:
    names = options.choose(KINDS)
    each = max((options.tries or (QUICK if options.quick else TRIES)) // len(names), 1)
    rng, kinds = np.random.default_rng(options.seed), []
    for name in names:
        began = time.perf_counter()
        pairs = [KINDS[name](rng) for _ in range(each)]
        excess = np.array([found.bound - truth for truth, found in pairs])
        kinds.append(
            {
                "kind": name,
                "policies": each,
                "misses": int((excess < 0).sum()),
                "mean_excess": float(excess.mean()),
                "smallest_excess": float(excess.min()),
                "seconds": (time.perf_counter() - began) / each,
            }
        )
        say(f"{name}: {kinds[-1]['misses']} of {each} missed, {kinds[-1]['seconds']:.2g} s each")
    policies, misses = sum(k["policies"] for k in kinds), sum(k["misses"] for k in kinds)
    return {
        "delta": DELTA,
        "policies": policies,
        "misses": misses,
        "missed_share": misses / policies,
        "mean_excess": float(np.mean([k["mean_excess"] for k in kinds])),
        "kinds": kinds,
        "ship": [ship(n) for n in (2_000, 20_000, 100_000)],
        "queue": [queue(3_000)],
        "machine": machine(),
    }
