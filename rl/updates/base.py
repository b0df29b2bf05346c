"""What every policy update speaks: one step of a policy, up the advantages of a batch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from torch import Tensor

from .. import validation
from ..flat import Memory
from ..policies import Policy

Numbers = dict[str, Tensor]  # what tells of a step, each without axes, left on the device


@dataclass(frozen=True, eq=False)
class Batch:
    """Sampled steps with advantages, all on the device of the policy."""

    observations: Tensor  # (N, …), as the policy sees them
    actions: Tensor  # (N, …), as the policy drew them
    advantages: Tensor  # (N,), of what is to be raised
    weights: Tensor  # (N,), of sum one
    log_probs: Tensor  # (N,), of the actions when they were drawn
    horizon: float = 1.0  # discounted steps of an episode: values are so many times the weighted means
    distinct: tuple[Tensor, Tensor] | None = None  # each observation once, with the sum of its weights

    @property
    def visited(self) -> tuple[Tensor, Tensor]:
        """Observations and weights for sums that depend on nothing else, as short as is known."""
        return self.distinct or (self.observations, self.weights)


class Update(Protocol):
    """A way to improve a policy.

    One for tabular models may say with `sampling` what it wants to be drawn for a step, `Paths` or `Pairs`.
    """

    def step(self, policy: Policy, batch: Batch, rate: float, rng: np.random.Generator, memory: Memory) -> Numbers:
        """Move the parameters of the policy so that actions with larger advantages become more likely.

        `rate` is the learning rate alpha of the algorithm, and all chance comes from `rng`.
        """


def settled(flag: Tensor) -> bool:
    """Whether a flag is set, if a CPU has it; a GPU is not asked, and what follows must have no effect."""
    return flag.device.type == "cpu" and bool(flag)


def check_counts(**counts: int) -> None:
    """Positive integers, or a clear error."""
    for name, value in counts.items():
        validation.count(name, value)
