"""What follows an episode that was cut off: the critic of the costs says it, for every y."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

import lsip


@dataclass(frozen=True, eq=False)
class Tail:
    """V_c(o, y) of the last observations of n episodes, as one more step of each.

    Episodes that came to their own end count with weight zero, so that nobody has to ask how many there are.
    """

    critic: nn.Module
    seen: Tensor  # (n, k), as the critic sees them
    weights: Tensor  # (n,), discount factors, zero where nothing follows; their sum is at most n
    domain: lsip.Domain
    before: tuple[float, ...] = ()  # what a critic of several constraints sees of y besides: before its coordinates,
    after: int = 0  # and how many zeros after them
    unit: float | Tensor = 1.0  # of what the critic says

    def values(self, y: Tensor) -> Tensor:
        """At points (N, m): (N, n)."""
        low, high = (torch.as_tensor(np.array(end), dtype=y.dtype, device=y.device) for end in self._box)
        first = torch.tensor(self.before, dtype=y.dtype, device=y.device).expand(len(y), -1)
        features = torch.cat([first, (y - low) / (high - low), y.new_zeros(len(y), self.after)], dim=1).float()
        n = len(self.seen)
        both = torch.cat([self.seen.repeat(len(y), 1), features.repeat_interleave(n, dim=0)], dim=1)
        return (self.critic(both).reshape(len(y), n) * self.unit).to(y.dtype)

    def of_arrays(self, y: NDArray[Any]) -> NDArray[np.float64]:
        """The same on the host."""
        with torch.no_grad():
            points = torch.as_tensor(np.asarray(y, dtype=np.float32), device=self.seen.device)
            return self.values(points).cpu().numpy().astype(float)

    @property
    def _box(self) -> tuple[NDArray[Any], NDArray[Any]]:
        low, high = self.domain.lower, self.domain.upper
        return low, np.where(high > low, high, low + 1.0)
