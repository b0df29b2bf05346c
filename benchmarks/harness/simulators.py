"""Simulators that judge learners. They share no code with `rl` or `envs`: what these get wrong is seen here.

Each plays a controller, observations (n, k) -> actions (n, d), and gives the return of every episode, its cost at every
index point of a fine grid, and the bounds there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Act = Callable[[Array], Array]
Seen = tuple[Array, Array, Array]  # returns (n,), costs (n, k), bounds (k,)


def queue(act: Act, n: int, seed: int) -> Seen:
    """A server with bursts of arrivals; E of the mean of (q - y)+ over 40 steps is at most 3 exp(-y / 5)."""
    rng, y = np.random.default_rng(seed), np.linspace(0, 20, 201)
    q, burst = rng.poisson(2, n).astype(float), rng.random(n) < 0.3
    earned, costs = np.zeros(n), np.zeros((n, len(y)), np.float32)
    for t in range(40):
        used = np.clip(act(np.stack([q, burst, np.full(n, t / 40)], 1).astype(np.float32))[:, 0], 0, 1).astype(float)
        costs += np.maximum(q[:, None] - y, 0).astype(np.float32) / 40
        earned -= used**2
        q = np.minimum(np.maximum(q - rng.poisson(5 * used), 0) + rng.poisson(np.where(burst, 3.0, 1.0)), 40)
        burst = rng.random(n) < np.where(burst, 0.7, 0.15)
    return earned, costs, 3 * np.exp(-y / 5)


def inventory(act: Act, n: int, seed: int) -> Seen:
    """A shop that orders up to a level; E of the mean of (shortfall - y)+ over 30 days is at most 0.3 exp(-y / 2)."""
    rng, y = np.random.default_rng(seed), np.linspace(0, 10, 101)
    stock, high, short = np.full(n, 10.0), rng.random(n) < 0.5, np.zeros(n)
    earned, costs = np.zeros(n), np.zeros((n, len(y)), np.float32)
    for t in range(30):
        seen = np.stack([stock / 20, high, np.full(n, t / 30), short], 1).astype(np.float32)
        level = np.maximum(stock, np.rint(20 * np.clip(act(seen)[:, 0], 0, 1)))
        demand = rng.poisson(np.where(high, 6.0, 3.0))
        earned -= 0.02 * (level - stock) + 0.1 * np.maximum(level - demand, 0)
        short, stock = np.maximum(demand - level, 0), np.maximum(level - demand, 0)
        costs += np.maximum(short[:, None] - y, 0).astype(np.float32) / 30
        high = rng.random(n) < np.where(high, 0.8, 0.2)
    return earned, costs, 0.3 * np.exp(-y / 2)


def pendulum(act: Act, n: int, seed: int) -> Seen:
    """Pendulum-v1, 200 steps, discount 0.95: the time beyond |angle| y is at most 15.8 - 4.4 y."""
    rng, y = np.random.default_rng(seed), np.linspace(0.3, 3, 136)
    angle, speed = rng.uniform(-np.pi, np.pi, n), rng.uniform(-1, 1, n)
    earned, costs = np.zeros(n), np.zeros((n, len(y)), np.float32)
    for t in range(200):
        torque = np.clip(act(np.stack([np.cos(angle), np.sin(angle), speed], 1).astype(np.float32))[:, 0], -2, 2)
        upright = (angle + np.pi) % (2 * np.pi) - np.pi
        costs += (0.95**t / (1 + np.exp(-8 * (np.abs(upright)[:, None] - y)))).astype(np.float32)
        earned -= 0.95**t * (upright**2 + 0.1 * speed**2 + 0.001 * torque**2)
        speed = np.clip(speed + 0.05 * (15 * np.sin(angle) + 3 * torque), -8, 8)
        angle = angle + 0.05 * speed
    return earned, costs, 15.8 - 4.4 * y


def cartpole(act: Act, n: int, seed: int) -> Seen:
    """CartPole-v1, discount 0.99: the time beyond |position| y is at most 0.2 + 30 exp(-3.5 y)."""
    rng, y = np.random.default_rng(seed), np.linspace(0.2, 2, 91)
    x, v, angle, turn = rng.uniform(-0.05, 0.05, (4, n))
    going, earned, costs = np.ones(n, bool), np.zeros(n), np.zeros((n, len(y)), np.float32)
    for t in range(500):
        push = np.where(act(np.stack([x, v, angle, turn], 1).astype(np.float32)) == 1, 10.0, -10.0)
        beyond = 0.99**t / (1 + np.exp(-20 * (np.abs(x)[:, None] - y)))
        costs += (going[:, None] * beyond).astype(np.float32)
        earned += 0.99**t * going
        total = (push + 0.05 * turn**2 * np.sin(angle)) / 1.1
        sway = 9.8 * np.sin(angle) - np.cos(angle) * total
        sway /= 0.5 * (4 / 3 - 0.1 * np.cos(angle) ** 2 / 1.1)
        moved = total - 0.05 * sway * np.cos(angle) / 1.1
        x, v, angle, turn = x + 0.02 * v, v + 0.02 * moved, angle + 0.02 * turn, turn + 0.02 * sway
        going &= (np.abs(x) <= 2.4) & (np.abs(angle) <= 12 * np.pi / 180)
    return earned, costs, 0.2 + 30 * np.exp(-3.5 * y)


def ship(act: Act, n: int, seed: int) -> Seen:
    """Ship Route Planning: the sum of exp(-20 |y - s|) is at most 0.015 + 0.005 exp(20 |y - middle|)."""
    side = np.linspace(0, 1, 41)
    y = np.stack(np.meshgrid(side, side), -1).reshape(-1, 2)
    at, going = np.zeros((n, 2)), np.ones(n, bool)
    earned, costs = np.zeros(n), np.zeros((n, len(y)), np.float32)
    for _ in range(100):
        if not going.any():
            break
        seen = [at[:, 0], at[:, 1]]
        for target in (1.0, 0.5):
            left, ahead = at[:, 0] - at[:, 1], 2 * target - at.sum(1)
            seen += [np.arctan2(left, ahead) / np.pi, np.hypot(left, ahead) / 2]
        heading = act(np.stack(seen, 1).astype(np.float32))[:, 0].astype(float)
        costs += going[:, None] * np.exp(-20 * np.linalg.norm(at[:, None] - y, axis=2)).astype(np.float32)
        earned -= going * 0.1 * (np.linalg.norm(at - 1, axis=1) + 1)
        at = np.clip(at + 0.1 * np.stack([np.cos(heading), np.sin(heading)], 1), 0, 1)
        arrived = going & (np.linalg.norm(at - 1, axis=1) <= 0.1 + 1e-9)
        earned, going = earned + 5 * arrived, going & ~arrived
    return earned, costs, 0.015 + 0.005 * np.exp(20 * np.linalg.norm(y - 0.5, axis=1))
