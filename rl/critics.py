"""The critics of a learner, V_r(o) and V_c(o, y): what they say of observations, and how they are fitted."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from . import backprop
from .flat import Flat, Memory
from .policies import layers


def critics(observations: int, coordinates: int, hidden: tuple[int, ...]) -> nn.ModuleDict:
    """Two networks, for observations of so many numbers and index points of so many coordinates."""
    reward, cost = layers([observations, *hidden, 1]), layers([observations + coordinates, *hidden, 1])
    return nn.ModuleDict({"reward": reward, "cost": cost})


def values(nets: nn.ModuleDict, seen: Tensor, indices: list[Tensor]) -> Tensor:
    """V_r, and V_c at some index points (m,), of observations (N, k): (1 + len(indices), N)."""
    with torch.no_grad():
        outputs = [backprop.outputs(nets["reward"], seen)[0].squeeze(-1)]
        outputs += [backprop.outputs(nets["cost"], beside(seen, y))[0].squeeze(-1) for y in indices]
        return torch.stack(outputs).float()


def fit(
    nets: nn.ModuleDict,
    memory: Memory,
    seen: Tensor,
    indices: list[Tensor],
    targets: Tensor,
    rng: np.random.Generator,
    *,
    epochs: int,
    minibatch: int,
    rate: float,
) -> Tensor:
    """Least squares on the same minibatches; V_c at one index point of the batch each."""
    flat, loss = Flat(nets["reward"], nets["cost"]), seen.new_zeros(())
    for _ in range(epochs):
        order = torch.as_tensor(rng.permutation(len(seen)), device=seen.device)
        for part in torch.split(order, minibatch):
            k = int(rng.integers(len(indices)))
            loss = _regress(nets["reward"], seen[part], targets[0][part])
            _regress(nets["cost"], beside(seen[part], indices[k]), targets[k + 1][part])
            flat.adam(memory, rate)
    return loss


def _regress(net: nn.Module, inputs: Tensor, targets: Tensor) -> Tensor:
    """The mean squared error, of which the gradients are set."""
    found, back = backprop.outputs(net, inputs)
    error = found.float() - targets[:, None]
    back((error * (2 / len(inputs))).to(found.dtype))
    return (error**2).mean()


def beside(seen: Tensor, y: Tensor) -> Tensor:
    """Observations with an index point beside each."""
    return torch.cat([seen, y.expand(len(seen), -1)], dim=1)
