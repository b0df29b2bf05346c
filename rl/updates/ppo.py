"""Proximal policy optimisation: several passes over one batch, with gains that stop paying away from the old policy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from .. import validation
from .base import NOISE, Learner, check_counts, collect, tensors

Array = NDArray[np.float64]


@dataclass(frozen=True)
class PPO:
    """Adam on the clipped surrogate.

    Parameters
    ----------
    paths, horizon, trace
        As in `PolicyGradient`.
    clip
        How far the ratio of probabilities may move before a gain stops counting.
    epochs, minibatches
        Passes over the batch, and into how many parts it is shuffled in each.
    step_size
        Of Adam, for a learning rate of one. Its state begins anew with every update.
    """

    paths: int = 500
    horizon: int = 50
    trace: float = 0.95
    clip: float = 0.2
    epochs: int = 4
    minibatches: int = 4
    step_size: float = 0.02

    def __post_init__(self) -> None:
        check_counts(paths=self.paths, horizon=self.horizon, epochs=self.epochs, minibatches=self.minibatches)
        validation.number("trace", self.trace, "share")
        validation.number("clip", self.clip, "positive")
        validation.number("step_size", self.step_size, "positive")

    def step(
        self, learner: Learner, criterion: Array, sign: float, rate: float, rng: np.random.Generator
    ) -> dict[str, float]:
        policy = learner.policy
        batch = collect(learner.simulator, learner.table(), criterion, self.paths, self.horizon, self.trace, rng)
        seen, actions, advantages, weights = tensors(learner, batch)
        scale = torch.sqrt((weights * advantages**2).sum())
        if float(scale) <= NOISE * (1 + float(np.abs(criterion).max())) / (1 - learner.simulator.specification.gamma):
            return {"divergence": 0.0}  # nothing but rounding: no action is better than another
        gains = sign * advantages / scale
        old = policy.log_prob(seen, actions).detach()
        optimiser = torch.optim.Adam(policy.parameters(), lr=self.step_size * rate)
        for _ in range(self.epochs):
            for part in np.array_split(rng.permutation(len(actions)), self.minibatches):
                mine = torch.as_tensor(part, device=seen.device)
                ratio = torch.exp(policy.log_prob(seen[mine], actions[mine]) - old[mine])
                clipped = ratio.clamp(1 - self.clip, 1 + self.clip)
                share = weights[mine] * self.minibatches
                loss = -(share * torch.minimum(ratio * gains[mine], clipped * gains[mine])).sum()
                optimiser.zero_grad()
                loss.backward()  # type: ignore[no-untyped-call]
                optimiser.step()
        with torch.no_grad():
            moved = (weights * (old - policy.log_prob(seen, actions))).sum()
        return {"divergence": float(moved)}
