"""What is known of the coefficients of a family beyond enclosures: how large and how steep, and exact forms."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ..oracles.base import Array, Ints
from .black_box_rows import BlackBoxRows
from .declared_rows import DeclaredRows
from .families import RowFamily
from .linear_form import LinearForm, in_units

OUTWARD = 1 + 1e-12  # more than the sums below are rounded by


def largest_coefficient(family: RowFamily) -> float:
    """A bound of |a(y)|, for every coefficient and over the whole index set; inf if there is none.

    It is proven, or as right as the Lipschitz constants of functions are.
    """
    rows, domain = family.source, family.domain
    if isinstance(rows, BlackBoxRows):
        if rows.lipschitz is None:
            return np.inf
        centre = domain.project(0.5 * (domain.lower + domain.upper)[None, :])
        reach = np.maximum(domain.upper - centre, centre - domain.lower).max()
        sizes = np.abs(rows.rows(centre)[0][0]) + rows.lipschitz[0] * reach
    else:
        every = np.arange(len(family.columns))
        lower, upper = (np.tile(end, (len(every), 1)) for end in (domain.lower, domain.upper))
        box = rows.enclosed(lower, upper, every)
        sizes = np.maximum(np.abs(box.lo), np.abs(box.hi))[:, :-1]
    return _most(family, sizes)


def steepest_coefficient(family: RowFamily) -> float:
    """A Lipschitz constant of every coefficient over the box around the index set, in the sup norm; inf if none.

    It is proven, or the one that was given for functions.
    """
    rows, domain = family.source, family.domain
    if not isinstance(rows, DeclaredRows):
        known = getattr(rows, "lipschitz", None)
        return np.inf if known is None else _most(family, np.full(family.columns.shape, known[0]))
    box = rows.tape.gradients(domain.lower[None, :], domain.upper[None, :])
    sizes = np.maximum(np.abs(box.lo), np.abs(box.hi))[..., : family.columns.size].sum(axis=0)
    return _most(family, sizes.reshape(family.columns.shape))


def _most(family: RowFamily, sizes: Array) -> float:
    """The largest of sizes (p, K), in the units of the family."""
    sizes = sizes if family.units is None else sizes * family.units[:, :-1]
    return float(np.where(np.isnan(sizes), np.inf, sizes).max(initial=0.0)) * OUTWARD


def formulas(family: RowFamily) -> DeclaredRows | None:
    """The rows of a family, if they are formulas of the index and nothing else."""
    rows = family.source
    return rows if type(rows) is DeclaredRows and family.units is None else None


def smooth(family: RowFamily) -> bool:
    """Whether the rows are formulas without kinks."""
    rows = family.source
    return isinstance(rows, DeclaredRows) and not rows.tape.kink_count


def affine_in(family: RowFamily, used: NDArray[np.bool_]) -> LinearForm | None:
    """Coefficients of the variables that are `used` (n,), zero for others, without the rhs; None if not affine."""
    rows = family.source
    form = rows.affine_in(used[family.columns].ravel()) if isinstance(rows, DeclaredRows) else None
    return form if family.units is None else in_units(form, family.units[:, :-1])


def fractions(family: RowFamily, y: Array, component: Ints) -> list[list[Fraction]] | None:
    """The coefficients of row `component[n]` at the point y[n] in rational numbers; None if they are not known."""
    rows = family.source
    found = rows.fractions(y, component) if isinstance(rows, DeclaredRows) else None
    if found is None or family.units is None:
        return found
    factors = [[Fraction(v) for v in row] for row in family.units[:, :-1].tolist()]
    return [[u * v for u, v in zip(row, factors[c], strict=True)] for row, c in zip(found, component, strict=True)]


def undefined_at(family: RowFamily) -> str | None:
    """Where some number has no bounds however small the box, and which, as a sentence; None if nowhere."""
    rows = family.source
    place = rows.undefined if isinstance(rows, DeclaredRows) else None
    return None if place is None else place.sentence(family.legend.coordinates)
