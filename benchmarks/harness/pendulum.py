"""What can be reached on Pendulum-v1 with a limit for every angle: dynamic programming on a fine grid of states.

Multipliers of some thresholds follow their violations, and values are iterated for the reward minus the priced costs
(a Lagrangian method in the known model). Every controller is then played from the same many first states; the mean over
the last half of them is what a mixture of these controllers attains.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from envs.classic import Angles, PendulumVector

from .registry import Figures

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Mesh:
    """The grid.

    Parameters
    ----------
    angles, speeds, torques
        How many of each.
    thresholds
        How many y have a multiplier.
    starts
        First states that a controller is played from.
    sharpness
        Values are iterated until they change by less, relative to one plus the prices.
    """

    angles: int = 121
    speeds: int = 81
    torques: int = 9
    thresholds: int = 28
    starts: int = 2_000
    sharpness: float = 1e-3


class Model:
    """Values between the points of the grid are linear in angle and speed."""

    def __init__(self, mesh: Mesh) -> None:
        self.mesh, self.env, self.constraint = mesh, PendulumVector(mesh.starts), Angles().constraint()
        one = self.env.one
        self.fastest, self.gamma = float(one.max_speed), self.constraint.gamma
        angles = np.linspace(-np.pi, np.pi, mesh.angles, endpoint=False)
        speeds = np.linspace(-self.fastest, self.fastest, mesh.speeds)
        self.torques = np.linspace(-one.max_torque, one.max_torque, mesh.torques)
        state = [part.ravel() for part in np.meshgrid(angles, speeds, indexing="ij")]
        self.following, self.rewards = self._step(*state)
        self.y = self.constraint.domain.grid(mesh.thresholds)
        self.bounds, self.costs = self.constraint.bounds(self.y), self._costs(_seen(*state))

    def _step(self, angles: Array, speeds: Array) -> tuple[Callable[[Array], Array], Array]:
        """What values (states,) become a step later, and the rewards: of all torques, (n, torques)."""
        many = PendulumVector(len(angles) * len(self.torques))
        many.reset(seed=0)
        many.angles, many.speeds = (np.repeat(part, len(self.torques)) for part in (angles, speeds))
        _, rewards, *_ = many.step(np.tile(self.torques, len(angles))[:, None])
        n, k = self.mesh.angles, self.mesh.speeds
        turn = (many.angles + np.pi) % (2 * np.pi) / (2 * np.pi) * n
        pace = (many.speeds + self.fastest) / (2 * self.fastest) * (k - 1)
        i, j = np.floor(turn).astype(int), np.minimum(pace.astype(int), k - 2)
        a, b, shape = turn - i, pace - j, (len(angles), -1)
        corners = [((i % n) * k + j, (1 - a) * (1 - b)), ((i % n) * k + j + 1, (1 - a) * b)]
        corners += [(((i + 1) % n) * k + j, a * (1 - b)), (((i + 1) % n) * k + j + 1, a * b)]
        return lambda v: sum(share * v[place] for place, share in corners).reshape(shape), rewards.reshape(shape)

    def _costs(self, seen: Array) -> Array:
        """(n, thresholds)."""
        return self.constraint.steps(self.y, seen, seen).T

    def solved(self, reward: float, prices: Array, values: Array) -> Array:
        """The values of the best controller for the priced sum."""
        gain = reward * self.rewards - (self.costs @ prices)[:, None]
        change = np.inf
        while change > self.mesh.sharpness * (1 + prices.sum()):
            better = (gain + self.gamma * self.following(values)).max(axis=1)
            change, values = float(np.abs(better - values).max()), better
        return values

    def played(self, reward: float, values: Array) -> tuple[float, Array]:
        """Discounted return, and V_c(y) - u(y) at all thresholds, of the greedy controller."""
        env, weight = self.env, 1.0
        seen, _ = env.reset(seed=0)
        total, violations = 0.0, -self.bounds
        for _ in range(env.max_episode_steps):
            following, rewards = self._step(env.angles, env.speeds)
            chosen = (reward * rewards + self.gamma * following(values)).argmax(axis=1)
            violations = violations + weight * self._costs(seen).mean(axis=0)
            seen, earned, *_ = env.step(self.torques[chosen][:, None])
            total, weight = total + weight * float(earned.mean()), weight * self.gamma
        return total, violations


def _seen(angles: Array, speeds: Array) -> Array:
    return np.stack([np.cos(angles), np.sin(angles), speeds], axis=1)


def known(rounds: int, mesh: Mesh | None = None) -> list[Figures]:
    """The best return without constraints, the least violation, and the best return of all that violate nothing."""
    model = Model(mesh or Mesh())
    none, values = np.zeros(len(model.y)), np.zeros(len(model.costs))
    free = model.played(1.0, model.solved(1.0, none, values))
    return [
        {"controller": "reward alone", "return": free[0], "violation": free[1].max()},
        _mixed("least violation", model, rounds, 0.0, _entropic),
        _mixed("best within the bounds", model, rounds, 1.0, _ascent),
    ]


def _entropic(prices: Array, violations: Array) -> Array:
    """Prices of sum one that follow the violations."""
    raised = prices * np.exp(0.3 * violations)
    return raised / raised.sum()


def _ascent(prices: Array, violations: Array) -> Array:
    return np.maximum(prices + 0.5 * violations, 0.0)


def _mixed(name: str, model: Model, rounds: int, reward: float, raised: Callable[[Array, Array], Array]) -> Figures:
    prices, values, found = np.full(len(model.y), 1 / len(model.y)), np.zeros(len(model.costs)), []
    for _ in range(rounds):
        values = model.solved(reward, prices, values)
        found.append(model.played(reward, values))
        prices = raised(prices, found[-1][1])
    late: list[Any] = found[rounds // 2 :]
    violations = np.mean([each for _, each in late], axis=0)
    return {"controller": name, "return": float(np.mean([each for each, _ in late])), "violation": violations.max()}
