"""Points of an index set in whose convex hull it lies, where they are few: there, convex functions are largest."""

from __future__ import annotations

from itertools import chain, combinations, product
from math import comb

import numpy as np

from .base import Array, Domain
from .budget import Budget
from .product import Product
from .simplex import Simplex
from .union import Union


def vertices(domain: Domain, most: float) -> Array | None:
    """Points (V, m) of the domain whose convex hull holds it; None where they are not known, or more than `most`."""
    if not domain.bounded:
        return None
    if isinstance(domain, Simplex):
        return np.eye(domain.dim) if domain.dim <= most else None
    if isinstance(domain, Budget):
        return _of_budget(domain, most)
    if isinstance(domain, Product | Union):
        parts = [vertices(part, most) for part in (domain.factors if isinstance(domain, Product) else domain.members)]
        known = [part for part in parts if part is not None]
        if len(known) < len(parts):
            return None
        if isinstance(domain, Union):
            return np.concatenate(known) if sum(map(len, known)) <= most else None
        if np.prod([float(len(part)) for part in known]) > most:
            return None
        return np.array([list(chain(*rows)) for rows in product(*(part.tolist() for part in known))])
    cells = domain.cells()
    if any(cell.inside is not None or cell.place is not None for cell in cells):
        return None
    wide = [cell.upper > cell.lower for cell in cells]
    if sum(float((2.0 ** w.sum(axis=1)).sum()) for w in wide) > most:
        return None
    found = []
    for cell in cells:
        for lower, upper in zip(cell.lower, cell.upper, strict=True):
            ends = [(a, b) if a < b else (a,) for a, b in zip(lower.tolist(), upper.tolist(), strict=True)]
            found += list(product(*ends))
    return np.array(found)


def _of_budget(domain: Budget, most: float) -> Array | None:
    """Full deviations, as many as the budget allows, and one that takes the rest of it."""
    m, full = domain.dim, int(domain.budget)
    rest = domain.budget - full
    used = full + (rest > 0)
    if comb(m, full) * ((m - full) if rest else 1) * 2.0**used > most:
        return None
    found = []
    for chosen in combinations(range(m), full):
        for last in set(range(m)).difference(chosen) if rest else (-1,):
            sizes = np.zeros(m)
            sizes[list(chosen)] = 1.0
            if rest:
                sizes[last] = rest
            places = np.flatnonzero(sizes)
            signs = np.array(list(product((-1.0, 1.0), repeat=len(places))))
            points = np.zeros((len(signs), m))
            points[:, places] = signs * sizes[places]
            found.append(points)
    return np.concatenate(found)
