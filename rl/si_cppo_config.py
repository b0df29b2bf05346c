"""The settings of SI-CPPO, checked once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Literal, TypedDict

import lsip
from lsip.validation import flag

from . import schedules, validation
from .schedules import Schedule
from .updates import PPO


class Settings(TypedDict, total=False):
    """The fields of `SICPPOConfig`, where they are given by name."""

    hidden: Sequence[int]
    episodes: int
    eta: float
    switch: Literal["worst", "set", "likely"]
    gamma: float
    trace: float
    learning_rate: Schedule | None
    critic_rate: float
    clip: float
    divergence: float
    penalty: Literal["kl"] | None
    entropy: Schedule | None
    epochs: int
    critic_epochs: int
    minibatch: int
    log_std: float
    settling: float
    still: float
    index_points: int
    only_arrived: bool
    normalise: bool
    normalise_rewards: bool
    normalise_costs: bool
    scale_actions: bool
    evaluation_episodes: int
    confirmation: int
    confidence: float
    threads: int
    rollout: int | None
    amp: bool
    compile: bool


@dataclass(frozen=True)
class SICPPOConfig:
    """Settings of a run. The defaults learn small tasks in a minute or two on a CPU; `paper()` gives the paper's."""

    hidden: Sequence[int] = (64, 64)  # layers of each of the three networks
    episodes: int = 128  # an iteration
    eta: float = 0.0  # tolerance of the switch; a negative one is a margin
    switch: Literal["worst", "set", "likely"] = "likely"  # costs to step on, and when, see `rl.rules.Switch`
    gamma: float = 1.0  # discount of rewards; that of costs belongs to the constraint
    trace: float = 0.8  # lambda of the advantages: the critics are trusted more than the noise of episodes
    learning_rate: Schedule | None = None  # None: 1e-3 for PPO, 1 for another update, less as steps cross the bounds
    critic_rate: float = 2e-3
    clip: float = 0.2  # of PPO, as are the next three
    divergence: float = 0.03  # an update stops when the policy has moved this far
    penalty: Literal["kl"] | None = None  # "kl" aims at that divergence by an adaptive penalty instead
    entropy: Schedule | None = None  # bonus on the entropy of the policy; None lowers it as steps settle
    epochs: int = 10
    critic_epochs: int = 5
    minibatch: int = 512
    log_std: float = -0.7  # of the first policy, for continuous actions
    settling: float = 10.0  # without a rate: crossings of the bounds after which steps are shorter by a third,
    still: float = 0.05  # and without a bonus: how fast the noise goes down then, which what is kept plays without
    index_points: int = 2  # at which, besides the worst, the constraint critic is trained
    only_arrived: bool = False  # step on the cost only when every episode has come to its own end
    normalise: bool = True  # observations, by their running mean and deviation
    normalise_rewards: bool = True  # by the running deviation of the returns
    normalise_costs: bool = True  # by the running deviation of their sums; prices stay what they are
    scale_actions: bool = True  # the policy's -1 and 1 are the bounds of a Box of actions
    evaluation_episodes: int = 64  # at least, by which a policy is judged
    confirmation: int = 4  # times as many, by which one is judged again that looks feasible
    confidence: float = 0.95  # with which these must show it, at every y and for all that a run keeps
    threads: int = 1  # of torch, while learning
    rollout: int | None = None  # steps after which an episode is cut off; critics say what follows. None plays it whole
    amp: bool = False  # networks compute in bfloat16 where torch's autocast says that they may
    compile: bool = False  # `torch.compile` makes kernels of the networks

    def __post_init__(self) -> None:
        counts = "episodes epochs critic_epochs minibatch threads evaluation_episodes confirmation"
        for name in counts.split():
            validation.count(name, getattr(self, name))
        validation.count("index_points", self.index_points, 0)
        if self.rollout is not None:
            validation.count("rollout", self.rollout)
        for each in fields(self):
            if each.type == "bool":
                flag(each.name, getattr(self, each.name))
        validation.choice("switch", self.switch, ("worst", "set", "likely"))
        if self.penalty is not None:
            validation.choice("penalty", self.penalty, ("kl",))
        for name in ("critic_rate", "clip", "divergence"):
            validation.number(name, getattr(self, name), "positive")
        if self.learning_rate is not None:
            schedules.check("learning_rate", self.learning_rate)
        if self.entropy is not None:
            schedules.check("entropy", self.entropy, "finite")
        validation.number("settling", self.settling, "positive")
        validation.number("still", self.still, "amount")
        validation.number("eta", self.eta)
        validation.number("gamma", self.gamma, "share")
        validation.number("trace", self.trace, "share")
        validation.number("log_std", self.log_std, "logarithm")
        validation.number("confidence", self.confidence, "probability")
        object.__setattr__(self, "hidden", validation.sizes("hidden", self.hidden))

    def update(self) -> PPO:
        """The update of SI-CPPO, with a learning rate of one."""
        return PPO(
            clip=self.clip,
            epochs=self.epochs,
            minibatch=self.minibatch,
            step_size=1.0,
            divergence=self.divergence,
            penalty=self.penalty,
            entropy=0.0 if self.entropy is None or callable(self.entropy) else self.entropy,
        )

    @classmethod
    def paper(cls) -> SICPPOConfig:
        """Two layers of 512, Adam at 1e-4, clip 0.3 with an adaptive penalty, large batches."""
        return cls(
            hidden=(512, 512),
            eta=0.01,
            switch="worst",
            normalise=False,
            normalise_rewards=False,
            normalise_costs=False,
            episodes=400,
            trace=1.0,
            learning_rate=1e-4,
            entropy=0.0,
            critic_rate=1e-4,
            clip=0.3,
            divergence=0.05,
            penalty="kl",
            critic_epochs=10,
            minibatch=800,
            log_std=0.0,
        )


def configured(config: SICPPOConfig | None, settings: Settings, **parts: object) -> SICPPOConfig:
    """The settings of a run, of which those are refused that a part of one's own has no use for."""
    known = {f.name for f in fields(SICPPOConfig)}
    unknown = set(settings) - known
    if unknown:
        raise lsip.ModelError(f"Unknown settings {', '.join(sorted(unknown))}; there are {', '.join(sorted(known))}.")
    if config is not None and not isinstance(config, SICPPOConfig):
        raise lsip.ModelError(f"`config` must be an rl.SICPPOConfig(…); got {validation.shown(config)}.")
    for name, (whose, without_use) in USELESS.items():
        if parts[name] is not None:
            validation.unused(whose, **{name: value for name, value in settings.items() if name in without_use})
    return replace(config or SICPPOConfig(), **settings)


USELESS = {  # beside a part of one's own
    "rule": ("a `rule` in place of the switch", ("eta", "switch", "only_arrived")),
    "update": ("an `update` of your own", ("clip", "divergence", "penalty", "epochs")),
    "policy": ("a `policy` of your own", ("log_std",)),
}
