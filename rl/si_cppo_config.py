"""The settings of SI-CPPO, checked once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypedDict

import lsip

from . import validation


class Settings(TypedDict, total=False):
    """The fields of `SICPPOConfig`, where they are given by name."""

    hidden: Sequence[int]
    episodes: int
    eta: float
    gamma: float
    trace: float
    learning_rate: float
    critic_rate: float
    clip: float
    divergence: float
    epochs: int
    critic_epochs: int
    minibatch: int
    log_std: float
    index_points: int
    only_arrived: bool
    normalise: bool
    threads: int


@dataclass(frozen=True)
class SICPPOConfig:
    """Settings of a run. The defaults learn small tasks in a minute or two on a CPU; `paper()` gives the paper's."""

    hidden: Sequence[int] = (64, 64)  # layers of each of the three networks
    episodes: int = 128  # an iteration
    eta: float = 0.01  # tolerance of the switch
    gamma: float = 1.0  # discount of rewards; that of costs belongs to the constraint
    trace: float = 0.95  # lambda of the advantages
    learning_rate: float = 1e-3  # of the policy
    critic_rate: float = 2e-3
    clip: float = 0.2
    divergence: float = 0.03  # an update stops when the policy has moved this far
    epochs: int = 10
    critic_epochs: int = 5
    minibatch: int = 512
    log_std: float = -0.7  # of the first policy, for continuous actions
    index_points: int = 2  # at which, besides the worst, the constraint critic is trained
    only_arrived: bool = False  # step on the cost only when every episode has come to its own end
    normalise: bool = False  # observations, by their running mean and deviation
    threads: int = 1  # of torch, while learning

    def __post_init__(self) -> None:
        for name in ("episodes", "epochs", "critic_epochs", "minibatch", "threads"):
            validation.count(name, getattr(self, name))
        validation.count("index_points", self.index_points, 0)
        for name in ("learning_rate", "critic_rate", "clip", "divergence"):
            validation.number(name, getattr(self, name), "positive")
        validation.number("eta", self.eta, "nonnegative")
        validation.number("gamma", self.gamma, "share")
        validation.number("trace", self.trace, "share")
        validation.number("log_std", self.log_std)
        try:
            layers_ = tuple(int(size) for size in self.hidden)
        except (TypeError, ValueError):
            layers_ = (0,)
        if any(size < 1 for size in layers_):
            raise lsip.ModelError(f"`hidden` holds the sizes of layers, such as (64, 64); got {self.hidden!r}.")
        object.__setattr__(self, "hidden", layers_)

    @classmethod
    def paper(cls) -> SICPPOConfig:
        """Two layers of 512, Adam at 1e-4, clip 0.3, large batches."""
        return cls(
            hidden=(512, 512),
            episodes=400,
            trace=1.0,
            learning_rate=1e-4,
            critic_rate=1e-4,
            clip=0.3,
            divergence=0.05,
            critic_epochs=10,
            minibatch=800,
            log_std=0.0,
        )
