"""Inner products of the gradients of log-probabilities, sample by sample, without storing the gradients.

The gradient by the weights of a linear layer is the outer product of what went into it and of the slope at its output,
so that the inner product of two such gradients is the product of two small ones.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from ..policies import Policy, SoftmaxTable


def gram(policy: Policy, observations: Tensor, actions: Tensor) -> tuple[Tensor, Tensor]:
    """Blocks of samples whose gradients are orthogonal to all others', and the inner products within each.

    The first tensor (B, D) holds numbers of samples in their order, and beyond the end of a block the number of
    samples K; the second (B, D, D) the inner products, zero there.
    """
    if type(policy) is SoftmaxTable:
        return _of_table(policy, observations, actions)
    place = torch.arange(len(actions), device=actions.device)[None]
    return place, _of_network(policy, observations, actions)[None]


def _of_table(policy: SoftmaxTable, states: Tensor, actions: Tensor) -> tuple[Tensor, Tensor]:
    """A step changes the row of its own state only: one block a state."""
    S, K, device = len(policy.theta), len(states), states.device
    with torch.no_grad():
        slopes = -torch.softmax(policy.theta, 1)[states]
        slopes.scatter_add_(1, actions[:, None], torch.ones_like(slopes[:, :1]))
    counts = torch.bincount(states, minlength=S)
    order = torch.argsort(states, stable=True)
    first = torch.cumsum(counts, 0) - counts
    depth = int(counts.max())
    place = torch.full((S, depth), K, device=device)
    place[states[order], torch.arange(K, device=device) - first[states[order]]] = order
    padded = torch.cat([slopes, torch.zeros_like(slopes[:1])])[place]
    return place, padded @ padded.mT


def _of_network(policy: Policy, observations: Tensor, actions: Tensor) -> Tensor:
    """Linear layers by their inputs and slopes; all other parameters by their gradients."""
    seen: dict[nn.Linear, list[tuple[Tensor, Tensor]]] = {}

    def note(layer: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        assert isinstance(layer, nn.Linear)
        seen.setdefault(layer, []).append((inputs[0].detach(), output))

    linear = [layer for layer in policy.modules() if isinstance(layer, nn.Linear)]
    hooks = [layer.register_forward_hook(note) for layer in linear]
    try:
        total = policy.log_prob(observations, actions).sum()
    finally:
        for hook in hooks:
            hook.remove()
    once = {layer: calls[0] for layer, calls in seen.items() if len(calls) == 1 and calls[0][0].ndim == 2}
    slopes = torch.autograd.grad(total, [output for _, output in once.values()])
    products = torch.zeros(len(actions), len(actions), dtype=total.dtype, device=total.device)
    for (layer, (inputs, _)), slope in zip(once.items(), slopes, strict=True):
        inner = inputs @ inputs.mT
        products.addcmul_(inner if layer.bias is None else inner.add_(1), slope @ slope.mT)
    by_hand = {id(p) for layer in once for p in layer.parameters()}
    rest = {name: p for name, p in policy.named_parameters() if id(p) not in by_hand}
    return products + sum(g @ g.mT for g in _gradients(policy, rest, observations, actions)) if rest else products


def _gradients(policy: Policy, by: dict[str, nn.Parameter], observations: Tensor, actions: Tensor) -> list[Tensor]:
    """grad log pi(a | o) by some of the parameters, for every sample: (K, size) each."""

    def log_prob(values: dict[str, Any], observation: Tensor, action: Tensor) -> Tensor:
        return torch.func.functional_call(policy, values, (observation[None], action[None]))[0]

    each = torch.func.vmap(torch.func.grad(log_prob), in_dims=(None, 0, 0))
    gradients = each({name: p.detach() for name, p in by.items()}, observations, actions)
    return [part.detach().reshape(len(actions), -1) for part in gradients.values()]
