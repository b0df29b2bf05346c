"""Policies with parameters (torch): a softmax table, and networks for discrete and for continuous actions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

import lsip

from . import validation
from .errors import code_of

Array = NDArray[np.float64]
METHODS = {"log_prob", "log_probs", "logits", "divergence", "describe", "entropy", "sample"}


def pick_device(device: str | torch.device = "auto") -> torch.device:
    """The device of that name; "auto" is the first GPU of CUDA where there is one, else the CPU."""
    if not isinstance(device, str | torch.device):
        raise lsip.ModelError(f'`device` is "auto", "cpu", "cuda", "cuda:0" or "mps"; got {validation.shown(device)}.')
    if device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        chosen = torch.device(device)
    except (RuntimeError, TypeError):
        raise lsip.ModelError(
            f'`device` is "auto", "cpu", "cuda", "cuda:0" or "mps"; got {validation.shown(device)}.'
        ) from None
    if not {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}.get(chosen.type, True):
        kind = "GPU" if chosen.type == "cuda" else "MPS"
        raise lsip.ModelError(f'`device={device!r}` was asked for, but torch sees no {kind} here; use "auto" or "cpu".')
    return chosen


class Policy(nn.Module):
    """A distribution over actions for every observation."""

    def __init_subclass__(cls, **options: object) -> None:
        """Updates call a policy as they like: so its methods themselves say whose they are, when they fail."""
        super().__init_subclass__(**options)
        for name in METHODS & vars(cls).keys():
            setattr(cls, name, _named(name, vars(cls)[name]))

    def log_prob(self, observations: Tensor, actions: Tensor) -> Tensor:
        """log pi(a | o): shape (N,)."""
        raise NotImplementedError

    def forward(self, observations: Tensor, actions: Tensor) -> Tensor:
        """As `log_prob`, so that torch's transformations apply."""
        return self.log_prob(observations, actions)

    def divergence(self, observations: Tensor, other: dict[str, Tensor]) -> Tensor:
        """KL(other || this), where `other` is what `describe` gave: shape (N,)."""
        raise NotImplementedError

    def describe(self, observations: Tensor) -> dict[str, Tensor]:
        """The parameters of the distributions at the observations."""
        raise NotImplementedError

    def entropy(self, observations: Tensor) -> Tensor:
        """Entropy of the distributions: shape (N,)."""
        raise NotImplementedError

    def sample(self, observations: Tensor, generator: torch.Generator, deterministic: bool = False) -> Tensor:
        """One action an observation."""
        raise NotImplementedError


def _named(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    """A method of a policy, whose errors say that they are its own."""

    @wraps(method)
    def called(self: Policy, *arguments: object, **options: object) -> Any:
        with code_of(f"`{name}` of the policy {type(self).__name__}"):
            return method(self, *arguments, **options)

    return called


class Categorical(Policy):
    """Discrete actions; subclasses give the logits."""

    def logits(self, observations: Tensor) -> Tensor:
        """Unnormalised log-probabilities (N, A)."""
        raise NotImplementedError

    def log_probs(self, observations: Tensor) -> Tensor:
        """log pi(. | o): shape (N, A)."""
        return torch.log_softmax(self.logits(observations), dim=-1)

    def log_prob(self, observations: Tensor, actions: Tensor) -> Tensor:
        return self.log_probs(observations).gather(-1, actions[..., None]).squeeze(-1)

    def describe(self, observations: Tensor) -> dict[str, Tensor]:
        return {"log_probs": self.log_probs(observations)}

    def divergence(self, observations: Tensor, other: dict[str, Tensor]) -> Tensor:
        before = other["log_probs"]
        return (before.exp() * (before - self.log_probs(observations))).sum(dim=-1)

    def entropy(self, observations: Tensor) -> Tensor:
        log_probs = self.log_probs(observations)
        return -(log_probs.exp() * log_probs).sum(dim=-1)

    def sample(self, observations: Tensor, generator: torch.Generator, deterministic: bool = False) -> Tensor:
        log_probs = self.log_probs(observations)
        if deterministic:
            return log_probs.argmax(dim=-1)
        return torch.multinomial(log_probs.exp(), 1, generator=generator).squeeze(-1)


class SoftmaxTable(Categorical):
    """pi(a | s) proportional to exp(theta[s, a]); observations are state numbers."""

    def __init__(self, states: int, actions: int) -> None:
        super().__init__()
        validation.count("states", states)
        validation.count("actions", actions)
        validation.fits("A table of states and actions", states, actions)
        self.theta = nn.Parameter(torch.zeros(states, actions, dtype=torch.float64))

    def logits(self, observations: Tensor) -> Tensor:
        return self.theta[observations]


class Tanh(nn.Tanh):
    """tanh, on CPUs as 2 sigmoid(2 x) - 1: four times as fast there as torch's own, to within 1e-7."""

    def forward(self, values: Tensor) -> Tensor:
        return (2 * values).sigmoid_().mul(2).sub_(1) if values.device.type == "cpu" else torch.tanh(values)


def layers(sizes: Sequence[int], activation: type[nn.Module] = Tanh) -> nn.Sequential:
    """Linear layers of these sizes with an activation between them."""
    parts: list[nn.Module] = []
    for i, (before, after) in enumerate(pairwise(sizes)):
        parts.append(nn.Linear(before, after))
        if i + 2 < len(sizes):
            parts.append(activation())
    return nn.Sequential(*parts)


def _sizes(observations: int, hidden: Sequence[int], actions: int) -> list[int]:
    """The sizes of all layers."""
    inner = validation.sizes("hidden", hidden)
    sizes = [validation.count("observations", observations), *inner, validation.count("actions", actions)]
    for before, after in pairwise(sizes):
        validation.fits("A layer of a network", before, after)
    return sizes


class MLPCategorical(Categorical):
    """A network from observations (N, k) to logits."""

    def __init__(self, observations: int, actions: int, hidden: Sequence[int] = (64, 64)) -> None:
        super().__init__()
        self.net = layers(_sizes(observations, hidden, actions))
        _start_small(self.net)

    def logits(self, observations: Tensor) -> Tensor:
        return self.net(observations)


class MLPGaussian(Policy):
    """A network to the mean of independent normal actions (N, d), with one standard deviation a coordinate."""

    def __init__(
        self, observations: int, actions: int, hidden: Sequence[int] = (64, 64), log_std: float = -0.5
    ) -> None:
        super().__init__()
        self.net = layers(_sizes(observations, hidden, actions))
        _start_small(self.net)
        self.log_std = nn.Parameter(torch.full((actions,), validation.number("log_std", log_std, "logarithm")))

    def describe(self, observations: Tensor) -> dict[str, Tensor]:
        mean = self.net(observations)
        return {"mean": mean, "log_std": self.log_std.expand_as(mean)}

    def log_prob(self, observations: Tensor, actions: Tensor) -> Tensor:
        mean, log_std = self.net(observations), self.log_std
        scaled = (actions - mean) * torch.exp(-log_std)
        return (-0.5 * scaled**2 - log_std - 0.5 * np.log(2 * np.pi)).sum(dim=-1)

    def divergence(self, observations: Tensor, other: dict[str, Tensor]) -> Tensor:
        mean, log_std = self.net(observations), self.log_std
        ratio = torch.exp(2 * (other["log_std"] - log_std))
        apart = ((mean - other["mean"]) * torch.exp(-log_std)) ** 2
        return (log_std - other["log_std"] + 0.5 * (ratio + apart - 1)).sum(dim=-1)

    def entropy(self, observations: Tensor) -> Tensor:
        one = (self.log_std + 0.5 * (1 + np.log(2 * np.pi))).sum()
        return one.expand(len(observations))

    def sample(self, observations: Tensor, generator: torch.Generator, deterministic: bool = False) -> Tensor:
        mean = self.net(observations)
        if deterministic:
            return mean
        noise = torch.randn(mean.shape, generator=generator, device=mean.device, dtype=mean.dtype)
        return mean + noise * torch.exp(self.log_std)


def _start_small(net: nn.Sequential) -> None:
    """Orthogonal layers, and a last one so small that the first policy hardly depends on the observation."""
    linear = [m for m in net if isinstance(m, nn.Linear)]
    for i, layer in enumerate(linear):
        nn.init.orthogonal_(layer.weight, 0.01 if i == len(linear) - 1 else np.sqrt(2))
        nn.init.zeros_(layer.bias)


def flat_parameters(policy: nn.Module) -> Tensor:
    """All parameters as one vector (a copy)."""
    return torch.cat([p.detach().reshape(-1) for p in policy.parameters()])


def set_flat_parameters(policy: nn.Module, vector: Tensor) -> None:
    """Write a vector back into the parameters."""
    start = 0
    with torch.no_grad():
        for p in policy.parameters():
            p.copy_(vector[start : start + p.numel()].reshape(p.shape))
            start += p.numel()


def flat_gradient(
    output: Tensor, policy: nn.Module, *, create_graph: bool = False, retain_graph: bool | None = None
) -> Tensor:
    """The gradient of a number by all parameters, as one vector."""
    parts = torch.autograd.grad(
        output, list(policy.parameters()), retain_graph=retain_graph, create_graph=create_graph, allow_unused=True
    )
    return torch.cat(
        [(torch.zeros_like(p) if g is None else g).reshape(-1) for g, p in zip(parts, policy.parameters(), strict=True)]
    )
