"""The policy gradient: one step along the gradient of the value."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from torch import Tensor

from ..flat import Memory
from ..policies import Policy, flat_gradient, flat_parameters, set_flat_parameters
from .base import Batch, Numbers
from .sampling import Paths


@dataclass(frozen=True)
class PolicyGradient:
    """theta + alpha times E over the occupancy of grad log pi A, divided by 1 - gamma.

    Parameters
    ----------
    paths, horizon, trace
        What a tabular model is sampled for, see `Paths`.
    """

    paths: int = 1000
    horizon: int = 50
    trace: float = 0.95

    def __post_init__(self) -> None:
        _ = self.sampling  # checks them

    @property
    def sampling(self) -> Paths:
        """What a step on a tabular model needs."""
        return Paths(self.paths, self.horizon, self.trace)

    def step(self, policy: Policy, batch: Batch, rate: float, rng: np.random.Generator, memory: Memory) -> Numbers:
        move = rate * value_gradient(policy, batch)
        set_flat_parameters(policy, flat_parameters(policy) + move)
        return {"step": move.abs().max()}


def value_gradient(policy: Policy, batch: Batch) -> Tensor:
    """The gradient of the value, by all parameters."""
    surrogate = (batch.weights * batch.advantages * policy.log_prob(batch.observations, batch.actions)).sum()
    return batch.horizon * flat_gradient(surrogate, policy)
