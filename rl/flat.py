"""All parameters of some modules as one vector, and Adam on it."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from .lifted import doubles

Memory = dict[str, Any]  # what is kept from one step to the next: tensors and numbers, none at first
STEPPED = ("count", "mean", "square")  # of Adam


class Flat:
    """Parameters and gradients of modules as two vectors, of which they become parts."""

    def __init__(self, *modules: nn.Module) -> None:
        parameters = [p for module in modules for p in module.parameters()]
        self.vector = torch.cat([p.detach().reshape(-1) for p in parameters])
        self.gradient = torch.zeros_like(self.vector)
        start = 0
        for p in parameters:
            part = slice(start, start + p.numel())
            p.data, p.grad = self.vector[part].view_as(p), self.gradient[part].view_as(p)
            start += p.numel()

    def adam(
        self, memory: Memory, rate: float, most: float | None = None, decay: tuple[float, float] = (0.9, 0.999)
    ) -> None:
        """One step of Adam down the gradients, which are scaled down first where they are longer than `most`.

        What it keeps for the next one is in `memory`.
        """
        if most is not None:
            self.gradient.mul_((most / (self.gradient.norm() + 1e-6)).clamp(max=1.0))
        if "count" not in memory:
            none = torch.zeros((), dtype=doubles(self.vector.device), device=self.vector.device)
            memory |= {"count": none, "mean": torch.zeros_like(self.vector), "square": torch.zeros_like(self.vector)}
        count, mean, square = memory["count"] + 1, memory["mean"], memory["square"]
        memory["count"] = count
        mean.lerp_(self.gradient, 1 - decay[0])
        square.mul_(decay[1]).addcmul_(self.gradient, self.gradient, value=1 - decay[1])
        length = (square / (1 - decay[1] ** count)).sqrt_().add_(1e-8)
        self.vector.addcdiv_(mean * (-rate / (1 - decay[0] ** count)), length)

    def moved(self, memory: Memory) -> list[Tensor]:
        """Copies of all that a step of Adam changes."""
        return [self.vector.clone(), *(memory[name].clone() for name in STEPPED if name in memory)]

    def put_back(self, memory: Memory, wanted: Tensor, before: list[Tensor]) -> None:
        """Where `wanted` is true on the device, undo all steps since `moved` gave these copies."""
        for now, then in zip([self.vector, *(memory[name] for name in STEPPED)], before, strict=True):
            now.copy_(torch.where(wanted, then, now))
