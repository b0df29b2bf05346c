"""Proximal policy optimisation: several passes over one batch, with gains that stop paying away from the old policy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor

import lsip

from .. import backprop, validation
from ..flat import Flat, Memory
from ..policies import Policy
from .base import Batch, Numbers, check_counts, settled
from .sampling import Paths


@dataclass(frozen=True)
class PPO:
    """Adam on the clipped surrogate, on one with a penalty on the divergence, or on both.

    Parameters
    ----------
    paths, horizon, trace
        What a tabular model is sampled for, see `Paths`.
    clip
        How far the ratio of probabilities may move before a gain stops counting; None does not clip.
    epochs, minibatches
        Passes over the batch, and into how many parts it is shuffled in each.
    minibatch
        Of how many samples a part is, about, instead.
    step_size
        Of Adam, for a learning rate of one.
    divergence
        The passes end when the policy has moved this far, as the first part of the next one shows; None lets them all
        be made. With a penalty, what it aims at.
    penalty
        "kl" adds beta times the mean divergence from the old policy, as in the paper: beta is doubled after an update
        that moved more than 1.5 times `divergence`, and halved after one that moved less than 1 / 1.5 of it.
    entropy
        A bonus of so much times the mean entropy.
    most
        Longer gradients are scaled down to this length.
    """

    paths: int = 500
    horizon: int = 50
    trace: float = 0.95
    clip: float | None = 0.2
    epochs: int = 4
    minibatches: int = 4
    minibatch: int | None = None
    step_size: float = 0.02
    divergence: float | None = None
    penalty: Literal["kl"] | None = None
    entropy: float = 0.0
    most: float = 0.5

    def __post_init__(self) -> None:
        check_counts(epochs=self.epochs, minibatches=self.minibatches)
        if self.minibatch is not None:
            check_counts(minibatch=self.minibatch)
        for name in ("clip", "divergence"):
            if getattr(self, name) is not None:
                validation.number(name, getattr(self, name), "positive")
        validation.number("step_size", self.step_size, "positive")
        validation.number("most", self.most, "positive")
        validation.number("entropy", self.entropy)
        if self.penalty is not None and (not isinstance(self.penalty, str) or self.penalty != "kl"):
            raise lsip.ModelError(f'`penalty` is None or "kl"; got {validation.shown(self.penalty)}.')
        if self.penalty and self.divergence is None:
            raise lsip.ModelError(
                "A penalty aims at a `divergence`: give it, as in rl.PPO(penalty='kl', divergence=0.05)."
            )
        _ = self.sampling  # checks the rest

    @property
    def sampling(self) -> Paths:
        """What a step on a tabular model needs."""
        return Paths(self.paths, self.horizon, self.trace)

    def step(self, policy: Policy, batch: Batch, rate: float, rng: np.random.Generator, memory: Memory) -> Numbers:
        flat, seen, old = Flat(policy), batch.observations, batch.log_probs
        gains = batch.advantages / (batch.weights @ batch.advantages**2).sqrt().clamp(min=1e-30)
        before = {k: v.detach() for k, v in policy.describe(seen).items()} if self.penalty else {}
        beta = memory.setdefault("beta", torch.ones_like(gains[0])) if self.penalty else None
        pull = (
            None if beta is None else beta * (gains != 0).any()
        )  # where nothing gains, rounding must not move, either
        limit, loss = None if self.penalty else self.divergence, torch.zeros_like(gains[0])
        far, kept = torch.zeros_like(loss, dtype=torch.bool), list[Tensor]()
        for again, count, part in self._parts(len(gains), rng, seen.device):
            log_probs, back = backprop.log_probabilities(policy, seen[part], batch.actions[part])
            change, share = log_probs - old[part], batch.weights[part] * count
            if again and limit is not None:  # on a device nobody asks: what follows is made, and undone in the end
                now = flat.moved(memory)
                kept = [torch.where(far, then, here) for then, here in zip(kept or now, now, strict=True)]
                far = far | (_moved(change, share) > limit)
                if settled(far):
                    break
            slope, loss = self._surrogate(torch.exp(change), gains[part], share)
            back(slope)
            self._extra(policy, seen[part], {k: v[part] for k, v in before.items()}, share, pull)
            flat.adam(memory, self.step_size * rate, self.most)
        if kept:
            flat.put_back(memory, far, kept)
        with torch.no_grad():
            moved = _moved(backprop.log_probabilities(policy, seen, batch.actions)[0] - old, batch.weights)
        if beta is not None and self.divergence is not None:
            up, down = moved > 1.5 * self.divergence, moved < self.divergence / 1.5
            memory["beta"] = beta * torch.where(up, 2.0, torch.where(down, 0.5, 1.0))
        return {"kl": moved, "loss": loss}

    def _surrogate(self, ratio: Tensor, gain: Tensor, share: Tensor) -> tuple[Tensor, Tensor]:
        """The slope of the loss by log-probabilities, and the loss.

        The smaller of ratio * gain and clamp(ratio) * gain is flat where the policy has moved far enough.
        """
        value = ratio * gain
        if self.clip is None:
            return -share * value, -(share @ value)
        enough = torch.where(gain > 0, ratio > 1 + self.clip, ratio < 1 - self.clip)
        clipped = torch.minimum(value, ratio.clamp(1 - self.clip, 1 + self.clip) * gain)
        return -share * value.masked_fill(enough, 0.0), -(share @ clipped)

    def _extra(
        self, policy: Policy, seen: Tensor, before: dict[str, Tensor], share: Tensor, pull: Tensor | None
    ) -> None:
        """Add the gradients of the penalty and of the bonus, where they were asked for."""
        if pull is not None:
            (pull * (share @ policy.divergence(seen, before))).backward()  # type: ignore[no-untyped-call]
        if self.entropy:
            (-self.entropy * (share @ policy.entropy(seen))).backward()  # type: ignore[no-untyped-call]

    def _parts(
        self, samples: int, rng: np.random.Generator, device: torch.device
    ) -> Iterator[tuple[bool, int, Tensor]]:
        """All parts of all passes: whether one begins a pass that is not the first, of how many it is, its samples."""
        count = min(self.minibatches if self.minibatch is None else -(-samples // self.minibatch), samples)
        orders = [rng.permutation(samples) for _ in range(self.epochs)]  # where passes end early, chance goes on alike
        for epoch, drawn in enumerate(orders):
            order = torch.as_tensor(drawn, device=device)
            for i, part in enumerate(torch.tensor_split(order, count)):
                yield epoch > 0 and i == 0, count, part


def _moved(change: Tensor, weights: Tensor) -> Tensor:
    """The mean divergence from the old policy, of samples whose log-probabilities have changed so much."""
    return weights @ (torch.expm1(change) - change)
