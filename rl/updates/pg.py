"""The policy gradient: one step along the gradient of the value."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .. import validation
from ..policies import flat_parameters, set_flat_parameters
from .base import Learner, check_counts, collect, policy_gradient, tensors

Array = NDArray[np.float64]


@dataclass(frozen=True)
class PolicyGradient:
    """theta +- alpha times E over the occupancy of grad log pi A, divided by 1 - gamma.

    Parameters
    ----------
    paths, horizon
        What to sample for one step.
    trace
        lambda of the advantage estimates.
    """

    paths: int = 1000
    horizon: int = 50
    trace: float = 0.95

    def __post_init__(self) -> None:
        check_counts(paths=self.paths, horizon=self.horizon)
        validation.number("trace", self.trace, "share")

    def step(
        self, learner: Learner, criterion: Array, sign: float, rate: float, rng: np.random.Generator
    ) -> dict[str, float]:
        batch = collect(learner.simulator, learner.table(), criterion, self.paths, self.horizon, self.trace, rng)
        seen, actions, advantages, weights = tensors(learner, batch)
        gradient = policy_gradient(learner, seen, actions, weights * advantages)
        set_flat_parameters(learner.policy, flat_parameters(learner.policy) + sign * rate * gradient)
        return {"step": rate * float(gradient.abs().max())}
