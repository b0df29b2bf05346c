"""The steps of sampled episodes on a device, and there what they cost at every y: only sums over steps are read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

import lsip
from lsip.deadline import EFFORT

from .constraint import SemiInfiniteCost
from .given_cost import More, called
from .lifted import doubles, lifted

if TYPE_CHECKING:
    from .tail import Tail

Array = NDArray[Any]


Estimate = Callable[[Tensor, Tensor], Tensor]  # of costs (N, B) and the weights of steps (B,): (N,)


def mean(costs: Tensor, weights: Tensor) -> Tensor:
    """The mean over episodes."""
    return costs @ weights


@dataclass(frozen=True, eq=False)
class Raised:
    """The mean over episodes, plus these shares of the deviation and of maximum minus mean of what episodes cost."""

    owner: Array  # (B,), the episode of every step
    episodes: int
    deviation: float
    excess: float

    def __call__(self, costs: Tensor, weights: Tensor) -> Tensor:
        to = torch.as_tensor(self.owner, device=costs.device)
        sums = costs.new_zeros(len(costs), self.episodes).index_add(1, to, costs * weights) * self.episodes
        middle, tiny = sums.mean(dim=1), torch.finfo(sums.dtype).tiny
        spread = sums.var(dim=1, correction=1).clamp(min=tiny).sqrt()  # whose slope is finite where it vanishes
        return middle + self.deviation * spread + self.excess * (sums.amax(dim=1) - middle)


class DeviceCosts:
    """g(y) = sum over steps of weight times c_y, minus u_y, for tensors y (N, m) of the device.

    Parameters
    ----------
    constraint
        Its cost and bound are written with torch's functions (`tensors=True`), or in the language of lsip.
    observations, actions, weights
        Of all B steps; they are copied to the device once.
    estimate
        What stands for the sum over steps.
    more
        What the cost asks for besides, of all steps.
    tail
        What follows episodes that were cut off, whose weights come last.
    """

    def __init__(
        self,
        constraint: SemiInfiniteCost,
        observations: Array | Tensor,
        actions: Array | Tensor,
        weights: Array | Tensor,
        device: torch.device,
        estimate: Estimate = mean,
        more: More | None = None,
        tail: Tail | None = None,
    ) -> None:
        self.estimate, self.tail = estimate, tail
        change: Callable[..., Any] = (lambda f: f) if constraint.tensors else lifted
        self.domain, self.device, self.kind = constraint.domain, device, doubles(device)
        cost = constraint.of_steps(self._placed(more) if more else None)
        self._cost, self._bound = change(cost), change(constraint.bound)
        self.observations, self.actions, self.weights = map(self.tensor, (observations, actions, weights))
        self.chunk = max(EFFORT.entries // max(len(weights), 1), 1)

    def _placed(self, more: More) -> More:
        """What the cost asks for besides, on the device."""
        return {k: self._placed(part) if isinstance(part, Mapping) else self.tensor(part) for k, part in more.items()}

    def tensor(self, values: Array | Tensor) -> Tensor:
        """Numbers on the device, whole ones as they are."""
        if isinstance(values, Tensor):
            return values.to(self.device, self.kind if values.is_floating_point() else values.dtype)
        array = np.array(values)
        kind = self.kind if np.issubdtype(array.dtype, np.floating) else None
        return torch.as_tensor(array, dtype=kind, device=self.device)

    def costs(self, y: Tensor) -> Tensor:
        """c_y at points (N, m) and all steps, tails included: (N, B)."""
        costs = self.step_costs(y)
        return costs if self.tail is None else torch.cat([costs, self.tail.values(y).to(costs.dtype)], dim=1)

    def step_costs(self, y: Tensor) -> Tensor:
        """The same without tails."""
        call = "cost(y, observations, actions)"
        costs = called(call, self._cost, y, self.observations, self.actions)
        return _checked(costs, (len(y), len(self.observations)), call)

    def moments(self, y: Array, owner: Tensor, episodes: int) -> Array:
        """g at points (N, m), and deviation and maximum minus mean of what episodes cost: (3, N), read at once."""
        found = []
        for part in torch.split(self.tensor(y), self.chunk):
            costs = self.costs(part) * self.weights
            sums = costs.new_zeros(len(part), episodes).index_add(1, owner, costs) * episodes
            middle = sums.mean(dim=1)
            bounds = _checked(called("bound(y)", self._bound, part), (len(part),), "bound(y)")
            found.append(torch.stack([middle - bounds, sums.std(dim=1), sums.amax(dim=1) - middle]))
        return read(torch.cat(found, dim=1))

    def violation(self, y: Tensor) -> Tensor:
        """g at points (N, m): (N,)."""
        sums = [self.estimate(self.costs(part), self.weights) for part in torch.split(y, self.chunk)]
        return torch.cat(sums) - _checked(called("bound(y)", self._bound, y), (len(y),), "bound(y)")

    def slopes(self, y: Tensor) -> tuple[Tensor, Tensor]:
        """g at points (N, m), and its gradients (N, m)."""
        with torch.enable_grad():
            points = y.detach().requires_grad_()
            values = self.violation(points)
            gradient = _gradient(values, points)
        return values.detach(), gradient.detach()

    def derivatives(self, y: Array) -> tuple[Array, Array, Array]:
        """g at points (N, m) of the host, its gradients (N, m) and Hessians (N, m, m), by automatic differentiation."""
        with torch.enable_grad():
            points = self.tensor(y).requires_grad_()
            values = self.violation(points)
            gradient = _gradient(values, points)
            rows = [_gradient(gradient[:, k], points) for k in range(y.shape[1])]
        return read(values), read(gradient), read(torch.stack(rows, dim=1))

    def values(self, y: Array) -> Array:
        """g at points (N, m) of the host, of which so many numbers are read: (N,)."""
        with torch.no_grad():
            return read(self.violation(self.tensor(y)))


def read(values: Tensor) -> Array:
    """Numbers of a device as an array of the host: the one place where any are copied."""
    return np.asarray(values.detach().cpu().numpy(), dtype=float)


def on_device(
    constraint: SemiInfiniteCost,
    observations: Array,
    actions: Array,
    weights: Array,
    device: torch.device,
    estimate: Estimate = mean,
    more: More | None = None,
    tail: Tail | None = None,
) -> DeviceCosts | None:
    """The steps on a device, where their costs can be computed there; None where the host is the place for it.

    A cost of torch goes where the learner is. One of NumPy stays on the host unless the learner is on a GPU and the
    cost is in the language of lsip. Apple's GPUs have no doubles, which a proven bound needs.
    """
    if device.type == "mps" and constraint.lipschitz is not None:
        return None
    if not constraint.tensors and (
        constraint.asks or device.type == "cpu" or not speaks_tensors(constraint, observations, actions)
    ):
        return None
    return DeviceCosts(constraint, observations, actions, weights, device, estimate, more, tail)


def speaks_tensors(constraint: SemiInfiniteCost, observations: Array, actions: Array) -> bool:
    """Whether cost and bound can be computed with tensors, found out with a step and the middle of Y."""
    domain = constraint.domain
    middle = domain.project(0.5 * (domain.lower + domain.upper)[None])
    try:
        there = DeviceCosts(constraint, observations[:1], actions[:1], np.ones(1), torch.device("cpu")).values(middle)
        here = constraint.steps(middle, observations[:1], actions[:1])[:, 0] - constraint.bounds(middle)
    except Exception:  # whatever a function of somebody's raises when its arrays are none
        return False
    return bool(np.allclose(there, here, rtol=1e-4, atol=1e-6))


def _gradient(values: Tensor, points: Tensor) -> Tensor:
    """Of values (N,), each by its own point (N, m); zero where they do not depend on it."""
    if not values.requires_grad:
        return torch.zeros_like(points)
    (gradient,) = torch.autograd.grad(values.sum(), points, create_graph=True, allow_unused=True)
    return torch.zeros_like(points) if gradient is None else gradient


def _checked(values: object, shape: tuple[int, ...], call: str) -> Tensor:
    if not isinstance(values, Tensor) or tuple(values.shape) != shape:
        what = f"a tensor of shape {tuple(values.shape)}" if isinstance(values, Tensor) else type(values).__name__
        raise lsip.ModelError(f"`{call}` must give a tensor of shape {shape}; got {what}.")
    return values
