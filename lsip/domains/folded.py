"""Index sets whose points carry their parts above breakpoints with them: rules in pieces are affine there.

A point z[j] between b[0] < … < b[K] is b[0] + u[0] + … + u[K - 1], where u[k] is what of it lies between b[k] and
b[k + 1]. All such (z, u[1], …) are a curve, whose hull is u[0] / w[0] >= u[1] / w[1] >= … >= 0 with the widths w, and
what is affine in them is largest at a corner of the hull: over a box, nothing is lost. Over other sets the hull of each
entry is taken by itself, within the set: these are more points than there are, so that what holds for all of them holds
(Georghiou, Wiesemann & Kuhn, 2015).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ..errors import ModelError
from .base import Array, Domain
from .box import Box
from .budget import Budget
from .intersection import Intersection
from .interval import Interval
from .polytope import Polytope
from .product import Product
from .simplex import Simplex

Breaks = tuple[tuple[float, ...], ...]  # of every entry, from below, within its range
Row = tuple[Array, float]  # the coefficients of an inequality, and its right-hand side


def bent(domain: Domain) -> list[int]:
    """Entries that need 0 among their breakpoints: those of budgets, where |z| bends."""
    return [start + j for part, start in _parts(domain) if isinstance(part, Budget) for j in range(part.dim)]


def folded(domain: Domain, breaks: Breaks) -> Domain:
    """The points of a set, followed by their parts above each breakpoint: first those of z[0], then of z[1], …."""
    if not (domain.bounded and domain.convex) or domain.support(np.zeros((1, domain.dim))) is None:
        raise ModelError(
            "Rules in pieces are of data in a convex set, such as a Box, a Budget, a Polytope or a Ball; got "
            f"{domain}. Take one of these that holds all of it."
        )
    m, size = domain.dim, domain.dim + sum(map(len, breaks))
    rows: list[Row] = []
    spent = np.eye(m, size)  # |z|, where 0 is a breakpoint, or an end
    widths: list[float] = []
    for j, inner in enumerate(breaks):
        places = m + len(widths) + np.arange(len(inner), dtype=np.intp)
        ends = np.array([domain.lower[j], *inner, domain.upper[j]])
        if domain.lower[j] < 0:  # |z| is twice what is positive, without z
            spent[j] *= -1
            spent[j, places[np.array(inner) >= 0]] = 2.0
        rows += _chain(size, j, places, ends)
        widths += np.nextafter(np.diff(ends[1:]), np.inf).tolist()
    planes = [_planes(part, first, spent) for part, first in _parts(domain)]
    rows += [row for found in planes if found is not None for row in found]
    hull = Polytope(np.array([row for row, _ in rows]), np.array([side for _, side in rows]))
    if all(found is not None for found in planes):
        return hull
    curved = [d for d in _members(domain) if any(_planes(part, first, spent) is None for part, first in _parts(d))]
    rest = Box(np.zeros(size - m), np.array(widths))
    return Intersection(hull, *(d * rest for d in curved))


def _members(domain: Domain) -> tuple[Domain, ...]:
    return domain.members if isinstance(domain, Intersection) else (domain,)


def _parts(domain: Domain, start: int = 0) -> Iterator[tuple[Domain, int]]:
    """The factors and members of a set, each with its first coordinate."""
    if isinstance(domain, Intersection):
        for member in domain.members:
            yield from _parts(member, start)
    elif isinstance(domain, Product):
        for factor in domain.factors:
            yield from _parts(factor, start)
            start += factor.dim
    else:
        yield domain, start


def _planes(part: Domain, first: int, spent: Array) -> list[Row] | None:
    """What a part says of its entries besides their ranges; None where that is curved."""
    unit, size = np.eye(spent.shape[1])[first : first + part.dim], spent[first : first + part.dim]
    match part:
        case Interval() | Box():
            return []
        case Budget():
            return [(size.sum(axis=0), part.budget)]
        case Polytope():
            return list(zip(part.A @ unit, part.b.tolist(), strict=True))
        case Simplex():
            return [(unit.sum(axis=0), 1.0), (-unit.sum(axis=0), -1.0)]
    return None


def _chain(size: int, j: int, places: NDArray[np.intp], ends: Array) -> list[Row]:
    """The rows for entry j, whose parts stand at these places: no part begins before the one below it is full.

    Widths are rounded; the sides are raised by more than that can matter.
    """
    unit, width = np.eye(size), np.diff(ends)
    first = unit[j] - unit[places].sum(axis=0)  # what is below the first breakpoint
    if not len(places):
        return [(first, float(ends[1])), (-first, -float(ends[0]))]
    parts = [first, *unit[places]]
    found = [(first, float(ends[1])), (-parts[-1], 0.0)]
    room = 8 * np.finfo(float).eps * float(width.max() * np.abs(ends).max())
    for k in range(len(places)):
        start = float(ends[0]) if k == 0 else 0.0
        found.append((width[k] * parts[k + 1] - width[k + 1] * parts[k], -float(width[k + 1]) * start + room))
    return found
