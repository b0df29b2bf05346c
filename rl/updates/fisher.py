"""The Fisher matrix of a policy without forming it: its products with vectors, and conjugate gradients on them."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from ..policies import Policy, flat_gradient
from .base import Batch


def fisher_product(policy: Policy, batch: Batch, damping: float) -> Callable[[Tensor], Tensor]:
    """v -> F v + damping v: the curvature of the mean divergence from the policy as it is now."""
    seen, weights = batch.visited
    before = {k: v.detach() for k, v in policy.describe(seen).items()}
    divergence = (weights * policy.divergence(seen, before)).sum()
    gradient = flat_gradient(divergence, policy, create_graph=True)

    def product(v: Tensor) -> Tensor:
        return flat_gradient(gradient @ v, policy, retain_graph=True) + damping * v

    return product


def conjugate_gradients(
    product: Callable[[Tensor], Tensor], right: Tensor, iterations: int, tol: float = 1e-10
) -> Tensor:
    """The solution of a positive definite system that is known by its products.

    Nothing is asked of the device meanwhile: once the residual is small enough, the remaining steps have length zero.
    """
    x, residual = torch.zeros_like(right), right.clone()
    towards, size = residual.clone(), residual @ residual
    enough = tol * tol * size
    for _ in range(iterations):
        image = product(towards)
        curvature = towards @ image
        going = (size > enough) & (curvature > 0)
        length = torch.where(going, size / curvature, 0.0)
        x, residual = x + length * towards, residual - length * image
        fresh = residual @ residual
        towards, size = residual + torch.where(going, fresh / size, 0.0) * towards, fresh
    return x
