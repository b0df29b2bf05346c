"""Random search and projected subgradient ascent over Y, from many points at once and on the learner's device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch

import lsip

from . import validation
from .device_costs import DeviceCosts, read


@dataclass(frozen=True)
class BatchedSearch:
    """Draw points of Y, and let the worst of them climb together.

    A point moves by y <- P(y + a_t g / |g|) with a_t = step diam(Y) / sqrt(t), where P is the projection on the box
    around Y; the best iterate of each counts, projected on Y in the end. One copy to the device, and one back: `starts`
    points with their values (twice where Y is not a box). Nothing is proven.

    Parameters
    ----------
    points
        How many are drawn, uniformly.
    starts
        How many of them climb.
    iterations
        How many steps they take.
    step
        The first step, as a share of the diameter of Y.
    """

    points: int = 1024
    starts: int = 16
    iterations: int = 50
    step: float = 0.1
    on_device: ClassVar[bool] = True  # it wants tensors

    def __post_init__(self) -> None:
        for name in ("points", "starts"):
            validation.count(name, getattr(self, name))
        validation.count("iterations", self.iterations, 0)
        validation.number("step", self.step, "positive")

    def maximise(
        self, violation: lsip.oracles.Violation, *, target: float = 0.0, seed: int = 0
    ) -> lsip.oracles.Separation:
        """The best points found, worst violation first."""
        costs: Any = getattr(violation, "on_device", None)
        if not isinstance(costs, DeviceCosts):
            raise lsip.ModelError(
                "BatchedSearch needs a cost that is written in torch, rl.SemiInfiniteCost(…, tensors=True), or one in "
                "the language of lsip and a learner on a GPU; use lsip.oracles.Multistart() for others."
            )
        domain = violation.domain
        drawn = domain.sample(self.points, seed)
        best, values = self.climbed(costs, costs.tensor(drawn))
        table = read(torch.cat([best, values[:, None]], dim=1))
        points, attained = table[:, :-1], table[:, -1]
        inside = domain.project(points)
        if not np.array_equal(inside, points):
            points, attained = inside, costs.values(inside)
        order = np.argsort(-attained, kind="stable")
        return lsip.oracles.Separation(points[order], attained[order], np.inf, np.zeros(len(order), dtype=np.intp))

    def climbed(self, costs: DeviceCosts, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Where the best of the points y (N, m) come to, (k, m), and the values there."""
        low, high = costs.tensor(costs.domain.lower), costs.tensor(costs.domain.upper)
        with torch.no_grad():
            values = costs.violation(y)
        values, first = torch.topk(values, min(self.starts, len(y)))
        y = best = y[first]
        for t in range(1, self.iterations + 1):
            here, gradient = costs.slopes(y)
            best, values = torch.where((here > values)[:, None], y, best), torch.maximum(here, values)
            length = gradient.norm(dim=1, keepdim=True).clamp(min=torch.finfo(gradient.dtype).tiny)
            size = self.step * costs.domain.diameter / np.sqrt(t)
            y = torch.minimum(torch.maximum(y + size * gradient / length, low), high)
        with torch.no_grad():
            here = costs.violation(y)
        return torch.where((here > values)[:, None], y, best), torch.maximum(here, values)
