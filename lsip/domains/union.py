"""Unions of domains."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import ModelError
from ..legible import legibly
from ..schema import Schema
from ..validation import shown
from .base import COMBINED, Array, Cell, Domain, Seed, as_points, no_witness
from .points import choose, constant, distinct


@final
@dataclass(frozen=True, init=False, eq=False, repr=False)
class Union(Domain):
    """The points that lie in at least one member; members have the same m, and unions of unions are flattened.

    Uniform means: by volume in the largest dimension that a member has, overlaps counted once. So members of lower
    dimension (points beside an interval, say) are never sampled, but do belong to `grid`, `spread` and `cells`.

    >>> from lsip.domains import Interval
    >>> (Interval(0, 1) | Interval(2, 3)).contains([0.5, 1.5, 2.5])
    array([ True, False,  True])
    """

    filed: ClassVar[Schema] = [Domain]

    members: tuple[Domain, ...]

    def __init__(self, *members: Domain) -> None:
        if not members or not all(isinstance(d, Domain) for d in members):
            raise ModelError(
                f"A union needs domains, Union(Y1, Y2, …); got {', '.join(map(shown, members)) or 'none'}."
            )
        flat = tuple(dict.fromkeys(part for d in members for part in (d.members if isinstance(d, Union) else (d,))))
        if len({d.dim for d in flat}) > 1:
            raise ModelError(
                f"Members of a union need one dimension; got {', '.join(f'{d} of dimension {d.dim}' for d in flat)}."
            )
        self._set(
            members=flat,
            lower=constant(np.min([d.lower for d in flat], axis=0), "lower", 1, bounded=False),
            upper=constant(np.max([d.upper for d in flat], axis=0), "upper", 1, bounded=False),
        )

    @property
    def scalar(self) -> bool:  # type: ignore[override]
        """A union of intervals is indexed by a number, as its members are."""
        return all(d.scalar for d in self.members)

    @property
    def diameter(self) -> float:
        """An upper bound from the members' diameters and bounding boxes; exact for boxes."""
        apart = [
            float(np.linalg.norm(np.maximum(a.upper, b.upper) - np.minimum(a.lower, b.lower)))
            for a, b in combinations(self.members, 2)
        ]
        return max([d.diameter for d in self.members] + apart)

    @property
    def measure(self) -> tuple[int, float]:
        """The members' volumes in their largest dimension, added up (an upper bound when they overlap)."""
        largest, volumes = self._volumes()
        return largest, float(volumes.sum())

    def _volumes(self) -> tuple[int, Array]:
        measures = [d.measure for d in self.members]
        largest = max(k for k, _ in measures)
        return largest, np.array([volume if k == largest else 0.0 for k, volume in measures])

    def contains(self, y: ArrayLike, tol: float = 1e-9) -> NDArray[np.bool_]:
        """Whether some member contains the point."""
        inside: NDArray[np.bool_] = np.logical_or.reduce([d.contains(y, tol) for d in self.members])
        return inside

    def project(self, y: ArrayLike) -> Array:
        """The nearest of the projections onto the members; the first one of several equally near."""
        points = as_points(y, self.dim)
        candidates = np.stack([d.project(points) for d in self.members])
        nearest = np.linalg.norm(candidates - points, axis=2).argmin(axis=0)
        projected: Array = candidates[nearest, np.arange(len(points))]
        return projected

    @property
    def parameters(self) -> int:
        """Those of the most demanding member; the first one also picks the member."""
        return max(1, *(d.parameters for d in self.members))

    def place(self, u: Array) -> Array:
        """Half of the cube by volume, half in equal parts, so that no member is left out however small."""
        self._refuse_unbounded()
        _, volumes = self._volumes()
        picked, rest = choose(u[:, 0], volumes / volumes.sum() + 1 / len(self.members))
        u = np.column_stack([rest, u[:, 1:]])
        points = np.empty((len(u), self.dim))
        for i, member in enumerate(self.members):
            mine = picked == i
            points[mine] = member.place(u[mine, : member.parameters])
        return points

    def sample(self, n: int, seed: Seed = 0) -> Array:
        """Draw by volume, and keep a point of k overlapping members with probability 1/k."""
        self._refuse_unbounded()
        rng = np.random.default_rng(seed)
        _, volumes = self._volumes()
        largest = [d for d, volume in zip(self.members, volumes, strict=True) if volume > 0]
        share = volumes[volumes > 0] / volumes.sum()
        kept = np.empty((0, self.dim))
        while len(kept) < n:
            counts = rng.multinomial(n - len(kept), share)
            drawn = np.concatenate([d.sample(int(c), rng) for d, c in zip(largest, counts, strict=True)])
            overlap = np.maximum(1, np.sum([d.contains(drawn) for d in largest], axis=0))
            kept = np.concatenate([kept, drawn[rng.random(len(drawn)) * overlap < 1]])
        return rng.permutation(kept)

    def grid(self, per_axis: int) -> Array:
        """The grid points of all members; `per_axis=1` gives the projected centre of the bounding box."""
        if per_axis == 1:
            return self.project((self.lower + self.upper)[None] / 2)
        return distinct(np.concatenate([d.grid(per_axis) for d in self.members]))

    def support(self, d: ArrayLike) -> tuple[Array, Array] | None:
        """The best of the members."""
        found = [part for part in (member.support(d) for member in self.members) if part is not None]
        if len(found) < len(self.members):
            return None
        tops = np.stack([top for _, top in found])
        best, n = tops.argmax(axis=0), np.arange(tops.shape[1])
        points: Array = np.stack([y for y, _ in found])[best, n]
        return points, tops.max(axis=0)

    def witness(self, y: ArrayLike) -> tuple[Array, Array]:
        """The nearest of those that the members around the point prove."""
        points = as_points(y, self.dim).copy()
        outside = ~self.contains(points)
        if outside.any():
            points[outside] = self.project(points[outside])
        lower, upper = no_witness(points)
        distance = np.full(len(points), np.inf)
        for member in self.members:
            mine = np.flatnonzero(member.contains(points))
            if not len(mine):
                continue
            low, high = member.witness(points[mine])
            far = np.maximum(np.abs(low - points[mine]), np.abs(high - points[mine])).max(axis=1)
            nearer = far < distance[mine]  # False where nothing is proven
            chosen = mine[nearer]
            lower[chosen], upper[chosen], distance[chosen] = low[nearer], high[nearer], far[nearer]
        return lower, upper

    def cells(self) -> tuple[Cell, ...]:
        """The cells of all members; those without inequalities are gathered in one."""
        return _gathered([c for d in self.members for c in d.cells()])

    def flat_cells(self) -> tuple[Cell, ...]:
        """The same for those in few coordinates."""
        return _gathered([c for d in self.members for c in d.flat_cells()])

    def _arguments(self) -> tuple[object, ...]:
        return self.members

    @legibly
    def __str__(self) -> str:
        return " ∪ ".join(str(d) for d in self.members)

    def latex(self) -> str:
        """The members, joined."""
        return r" \cup ".join(d.latex() for d in self.members)


def _gathered(cells: list[Cell]) -> tuple[Cell, ...]:
    """Cells, those that are no more than boxes in one."""
    boxes = [c for c in cells if c.inside is None and c.place is None]
    others = [c for c in cells if c.inside is not None or c.place is not None]
    if boxes:
        lower, upper = np.concatenate([c.lower for c in boxes]), np.concatenate([c.upper for c in boxes])
        others.insert(0, Cell(lower, upper, None))
    return tuple(others)


COMBINED["|"] = Union
