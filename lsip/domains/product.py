"""Products of domains: several indices at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise, product
from math import prod, sqrt
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import ModelError
from ..legible import legibly
from ..schema import Schema
from ..validation import shown
from .base import COMBINED, Array, Cell, Domain, Seed, Vector, as_points, check_grid
from .notation import latex_power, power
from .points import constant
from .proven import raised
from .union import Union


@final
@dataclass(frozen=True, init=False, eq=False, repr=False)
class Product(Domain):
    """The points whose consecutive coordinates lie in each of the factors; products of products are flattened.

    >>> from lsip.domains import Ball, Interval
    >>> (Interval(0, 1) * Ball([0, 0], 1)).dim
    3
    """

    filed: ClassVar[Schema] = [Domain]

    factors: tuple[Domain, ...]

    def __init__(self, *factors: Domain) -> None:
        if not factors or not all(isinstance(f, Domain) for f in factors):
            raise ModelError(
                f"A product needs domains, Product(Y1, Y2, …); got {', '.join(map(shown, factors)) or 'none'}."
            )
        flat = tuple(part for f in factors for part in (f.factors if isinstance(f, Product) else (f,)))
        self._set(
            factors=flat,
            lower=constant(np.concatenate([f.lower for f in flat]), "lower", 1),
            upper=constant(np.concatenate([f.upper for f in flat]), "upper", 1),
        )

    @property
    def convex(self) -> bool:  # type: ignore[override]
        """Whether all factors are."""
        return all(f.convex for f in self.factors)

    def _slices(self) -> list[slice]:
        """Where each factor's coordinates are."""
        ends = np.cumsum([0] + [f.dim for f in self.factors])
        return [slice(int(a), int(b)) for a, b in pairwise(ends)]

    def split(self, y: ArrayLike) -> list[Array]:
        """The coordinates of the points (N, m) that belong to each factor."""
        points = as_points(y, self.dim, finite=False)
        return [points[:, part] for part in self._slices()]

    @property
    def diameter(self) -> float:
        """The diameters of the factors are the sides of a right angle."""
        return sqrt(sum(f.diameter**2 for f in self.factors))

    @property
    def measure(self) -> tuple[int, float]:
        """The product of the factors' volumes."""
        measures = [f.measure for f in self.factors]
        return sum(k for k, _ in measures), prod(volume for _, volume in measures)

    def contains(self, y: ArrayLike, tol: float = 1e-9) -> NDArray[np.bool_]:
        """Whether every factor contains its part."""
        inside: NDArray[np.bool_] = np.logical_and.reduce(
            [f.contains(part, tol) for f, part in zip(self.factors, self.split(y), strict=True)]
        )
        return inside

    def project(self, y: ArrayLike) -> Array:
        """Project each part onto its factor."""
        return np.hstack([f.project(part) for f, part in zip(self.factors, self.split(y), strict=True)])

    @property
    def parameters(self) -> int:
        """Those of all factors together."""
        return sum(f.parameters for f in self.factors)

    def place(self, u: Array) -> Array:
        """Place each part in its factor."""
        ends = np.cumsum([0] + [f.parameters for f in self.factors])
        return np.hstack([f.place(u[:, a:b]) for f, (a, b) in zip(self.factors, pairwise(ends), strict=True)])

    def sample(self, n: int, seed: Seed = 0) -> Array:
        """Draw the parts independently."""
        rng = np.random.default_rng(seed)
        return np.hstack([f.sample(n, rng) for f in self.factors])

    def grid(self, per_axis: int) -> Array:
        """All combinations of the factors' grid points."""
        grids = [f.grid(per_axis) for f in self.factors]
        check_grid(prod(len(g) for g in grids), 1)
        return _combine(grids)

    def support(self, d: ArrayLike) -> tuple[Array, Array] | None:
        """Each part by its factor."""
        found = [f.support(part) for f, part in zip(self.factors, self.split(d), strict=True)]
        parts = [part for part in found if part is not None]
        if len(parts) < len(found):
            return None
        tops = np.stack([top for _, top in parts], axis=1)
        with np.errstate(over="ignore"):
            total = raised(tops.sum(axis=1), np.abs(tops).sum(axis=1), len(parts))
        return np.hstack([y for y, _ in parts]), total

    def corners(self, y: Array) -> tuple[Array, Array]:
        """All combinations of those of the factors; a factor without any stays where it is."""
        points, shares, moved = np.asarray(y, dtype=float)[:, None, :], np.ones((len(y), 1)), False
        for factor, part, own in zip(self.factors, self._slices(), self.split(y), strict=True):
            ends, each = factor.corners(own)
            if each.shape[1]:
                count = shares.shape[1]
                points = np.repeat(points, each.shape[1], axis=1)
                points[:, :, part] = np.tile(ends, (1, count, 1))
                product = np.repeat(shares, each.shape[1], axis=1) * np.tile(each, (1, count))
                shares, moved = np.nextafter(product, 0.0) if moved else product, True
        return (points, shares) if moved else super().corners(y)

    def witness(self, y: ArrayLike) -> tuple[Array, Array]:
        """Each part by its factor; nothing where one of them proves nothing."""
        found = [f.witness(part) for f, part in zip(self.factors, self.split(y), strict=True)]
        lower, upper = np.hstack([part[0] for part in found]), np.hstack([part[1] for part in found])
        unknown = np.isnan(lower).any(axis=1)
        lower[unknown] = upper[unknown] = np.nan
        return lower, upper

    def cells(self) -> tuple[Cell, ...]:
        """All combinations of the factors' cells."""
        return tuple(_joint(cells) for cells in product(*(f.cells() for f in self.factors)))

    def flat_cells(self) -> tuple[Cell, ...]:
        """The same for those of the factors in few coordinates."""
        return tuple(_joint(cells) for cells in product(*(f.flat_cells() for f in self.factors)))

    def _arguments(self) -> tuple[object, ...]:
        return self.factors

    @legibly
    def __str__(self) -> str:
        return power([f"({f})" if isinstance(f, Union) else str(f) for f in self.factors])

    def latex(self) -> str:
        """The factors, times each other."""
        return latex_power([f"({f.latex()})" if isinstance(f, Union) else f.latex() for f in self.factors])


def _combine(parts: list[Array]) -> Array:
    """All combinations of rows of the parts, side by side; the last part varies fastest."""
    found = parts[0]
    for part in parts[1:]:  # one after the other, since NumPy's own grids have at most 32 axes
        found = np.hstack([np.repeat(found, len(part), axis=0), np.tile(part, (len(found), 1))])
    return found


def _joint(cells: tuple[Cell, ...]) -> Cell:
    """Cells of all factors as one."""
    lower, upper = _combine([c.lower for c in cells]), _combine([c.upper for c in cells])
    ends = np.cumsum([c.lower.shape[1] for c in cells]).tolist()
    parts = [slice(end - c.lower.shape[1], end) for end, c in zip(ends, cells, strict=True)]
    cuts = [(part, c.inside) for part, c in zip(parts, cells, strict=True) if c.inside is not None]
    places = [(part, c.place or _itself) for part, c in zip(parts, cells, strict=True)]
    flat = any(c.place for c in cells)
    return Cell(lower, upper, _together(cuts) if cuts else None, _together(places) if flat else None)


def _itself(z: Vector) -> Vector:
    return z


def _together(functions: list[tuple[slice, Callable[[Vector], Any]]]) -> Callable[[Vector], Any]:
    """What several factors say, each of its own coordinates."""

    def joined(z: Vector) -> Any:
        values = [function(z[part]) for part, function in functions]
        return values[0] if len(values) == 1 else np.concatenate(values)

    return joined


COMBINED["*"] = Product
