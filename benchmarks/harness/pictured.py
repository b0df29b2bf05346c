"""Ships seen from above: pictures instead of positions, and four headings, for policies that are convolutional."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import VectorEnv, VectorWrapper
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

import envs
import rl

SIDE, HEADINGS = 36, 4  # pixels, and directions between east and north
Pictures = NDArray[np.float32]


class PicturedShips(VectorWrapper):
    """One pixel is the ship. The first two of the corner hold its position, which the constraint reads off."""

    def __init__(self, ships: VectorEnv[Any, Any, Any]) -> None:
        super().__init__(ships)
        self.single_observation_space = gymnasium.spaces.Box(0.0, 1.0, (1, SIDE, SIDE), np.float32)
        self.single_action_space = gymnasium.spaces.Discrete(HEADINGS)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)

    def reset(self, **options: Any) -> tuple[Pictures, dict[str, Any]]:
        seen, told = self.env.reset(**options)
        return _drawn(seen), told

    def step(self, actions: Any) -> Any:
        headings = np.linspace(0, np.pi / 2, HEADINGS)[np.asarray(actions)]
        seen, *rest = self.env.step(headings[:, None])
        return _drawn(seen), *rest


def _drawn(seen: NDArray[Any]) -> Pictures:
    drawn = np.zeros((len(seen), 1, SIDE, SIDE), dtype=np.float32)
    column, row = ((SIDE - 1) * seen[:, :2]).round().astype(int).T
    drawn[np.arange(len(seen)), 0, row, column] = 1.0
    drawn[:, 0, 0, :2] = seen[:, :2]
    return drawn


def constraint() -> rl.SemiInfiniteCost:
    """That of the ships, for pictures of them."""
    bare = envs.ship.constraint()
    return rl.SemiInfiniteCost(
        bare.domain,
        lambda y, pictures, actions: bare.cost(y, pictures[:, 0, 0, :2], actions),
        bare.bound,
        lipschitz=bare.lipschitz,
        range=bare.range,
        candidates=lambda pictures: bare.candidates(pictures[:, 0, 0, :2]),
    )
