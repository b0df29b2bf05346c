"""Several constraints of one environment, each with its own index set, bound and discount, as one.

Their index sets are put side by side: a point (k, y, 0, …) is the point y of the k-th set, padded to the longest. Rules
and critics see such points, and an oracle searches each set by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import lsip

from . import validation
from .constraint import SemiInfiniteCost
from .episode_violation import EpisodeViolation
from .rollouts import Episodes

if TYPE_CHECKING:
    import torch

    from .rollout import Rollout

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class SideBySide:
    """Index sets side by side."""

    parts: tuple[lsip.Domain, ...]

    @property
    def dim(self) -> int:
        """The number of the set, and the coordinates of the longest point."""
        return 1 + max(part.dim for part in self.parts)

    def lift(self, k: int, points: Array) -> Array:
        """Points (N, m) of the k-th set as points of all: (N, dim)."""
        table = np.zeros((len(points), self.dim))
        table[:, 0], table[:, 1 : 1 + self.parts[k].dim] = k, points
        return table

    def split(self, points: Array) -> Iterator[tuple[int, NDArray[np.bool_], Array]]:
        """Each set that any of the points (N, dim) are in: its number, which are, and their own coordinates."""
        for k, part in enumerate(self.parts):
            mine = points[:, 0] == k
            if mine.any():
                yield k, mine, points[mine, 1 : 1 + part.dim]

    def sample(self, count: int, seed: int) -> Array:
        """Random points, of each set in turn."""
        first = seed % len(self.parts)
        chosen = (first + np.arange(count)) % len(self.parts)
        drawn = [self.lift(k, part.sample(int((chosen == k).sum()), seed)) for k, part in enumerate(self.parts)]
        return np.concatenate(drawn) if count else np.zeros((0, self.dim))

    def width(self, point: Array) -> Array:
        """How wide the set of a point (dim,) is in each coordinate; no point of another set is as near as one."""
        part = self.parts[int(point[0])]
        widths = np.ones(self.dim)
        widths[1 : 1 + part.dim] = np.where(part.upper > part.lower, part.upper - part.lower, 1.0)
        return widths


class Several:
    """Constraints that all must be kept, as a learner sees them."""

    lipschitz = candidates = None

    def __init__(self, parts: Sequence[SemiInfiniteCost]) -> None:
        if not parts or not all(isinstance(part, SemiInfiniteCost) for part in parts):
            raise lsip.ModelError(
                f"Several constraints are a list of rl.SemiInfiniteCost, at least one; got {validation.shown(parts)}."
            )
        self.parts = tuple(part.for_steps() for part in parts)
        self.domain = SideBySide(tuple(part.domain for part in self.parts))
        self.asks = tuple(sorted({name for part in self.parts for name in part.asks}))
        self.tensors = all(part.tensors for part in self.parts)
        self.gamma = max(part.gamma for part in self.parts)

    @property
    def width(self) -> int:
        """How many numbers a critic sees of an index point."""
        return len(self.parts) + self.domain.dim - 1

    def features(self, points: Array) -> Array:
        """What it sees: which constraint it is, as a unit vector, and the point, scaled to the unit box."""
        table = np.zeros((len(points), self.width))
        for k, mine, y in self.domain.split(points):
            table[mine, k] = 1.0
            table[mine, len(self.parts) : len(self.parts) + y.shape[1]] = self.parts[k].features(y)
        return table

    def discounts(self, points: Array) -> Array:
        """The discount factors of the costs at points: (N,)."""
        return np.array([self.parts[int(k)].gamma for k in points[:, 0]])

    def bounds(self, points: Array) -> Array:
        """u at points: (N,)."""
        found = np.zeros(len(points))
        for k, mine, y in self.domain.split(points):
            found[mine] = self.parts[k].bounds(y)
        return found


@dataclass(eq=False)
class Violations:
    """The violations of several constraints, each a function on its own set, as one on all sets."""

    constraint: Several
    parts: list[EpisodeViolation]
    components: int = 1

    @property
    def domain(self) -> Any:
        """All index sets."""
        return self.constraint.domain

    @property
    def episodes(self) -> Episodes | Rollout:
        """What was played."""
        return self.parts[0].episodes

    @property
    def device(self) -> torch.device | None:
        """Of the learner."""
        return self.parts[0].device

    @property
    def tail(self) -> list[Any]:
        """What follows episodes that were cut off, for each constraint."""
        return [part.tail for part in self.parts]

    @cached_property
    def host(self) -> Episodes:
        """What was played, in arrays."""
        return self.parts[0].host

    def values(self, points: Array) -> Array:
        """At points (N, dim): (N, 1)."""
        points = np.asarray(points, dtype=float)
        found = np.zeros((len(points), 1))
        for k, mine, y in self.domain.split(points):
            found[mine] = self.parts[k].values(y)
        return found

    def moments(self, points: Array) -> Array:
        """Values at points (N, dim), and deviation and maximum minus mean of what episodes cost: (3, N)."""
        found = np.zeros((3, len(points)))
        for k, mine, y in self.domain.split(points):
            found[:, mine] = self.parts[k].moments(y)
        return found

    def candidates(self) -> Array | None:
        """Those of all: (k, dim)."""
        named = [(k, part.candidates()) for k, part in enumerate(self.parts)]
        lifted = [self.domain.lift(k, points) for k, points in named if points is not None]
        return np.concatenate(lifted) if lifted else None

    def step_costs(self, points: Array, device: torch.device) -> torch.Tensor:
        """Costs at points (N, dim) and all steps: (N, steps)."""
        import torch

        rows = [(np.flatnonzero(mine), self.parts[k].step_costs(y, device)) for k, mine, y in self.domain.split(points)]
        order = np.argsort(np.concatenate([where for where, _ in rows]), kind="stable")
        return torch.cat([costs for _, costs in rows])[torch.as_tensor(order, device=device)]


def violation_of(
    constraint: SemiInfiniteCost | Several,
    episodes: Episodes | Rollout,
    device: torch.device | None,
    kind: Callable[..., EpisodeViolation] = EpisodeViolation,
    **options: Any,
) -> Any:
    """The violation that episodes show, of one constraint or of several."""
    if isinstance(constraint, SemiInfiniteCost):
        return kind(constraint, episodes, device, **options)
    tails = options.pop("tail", None) or [None] * len(constraint.parts)
    parts = zip(constraint.parts, tails, strict=True)
    return Violations(constraint, [kind(part, episodes, device, tail=tail, **options) for part, tail in parts])
