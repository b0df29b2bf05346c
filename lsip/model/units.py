"""Numbers times powers of two: nothing rounds but what under- or overflows, which is accounted for."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..expressions.interval import NORMAL, TINY, Interval
from ..oracles.base import Array
from .linear_form import LinearForm


def in_units(form: LinearForm | None, factors: Array) -> LinearForm | None:
    """The numbers of rows times factors; what underflows is doubt. None if something overflows."""
    if form is None:
        return None
    own = factors.ravel()[form.place]
    with np.errstate(over="ignore", under="ignore"):
        value, slope = form.value * factors, form.slope * own
        found = replace(
            form,
            value=value,
            value_doubt=_doubt(form.value_doubt, value, form.value, factors),
            slope=slope,
            slope_doubt=_doubt(form.slope_doubt, slope, form.slope, own),
        )
    numbers = (found.value, found.value_doubt, found.slope, found.slope_doubt)
    return found if all(np.isfinite(part).all() for part in numbers) else None


def _doubt(doubt: Array, scaled: Array, given: Array, factors: Array) -> Array:
    """The doubt about scaled numbers: that about the given ones, and what underflow may have taken of either."""
    lost = (doubt > 0) | (scaled / factors != given)
    return np.where(lost, np.nextafter(doubt * factors, np.inf) + TINY, 0.0)


def multiplied(u: Interval, factor: Array | float) -> Interval:
    """Intervals times factors; what underflows is rounded outward."""
    lo, hi = u.lo * factor, u.hi * factor
    lost = lo / factor != u.lo, hi / factor != u.hi
    if u.exact and not lost[0].any():
        return Interval(lo, lo)
    lo = np.where(lost[0] & (np.abs(lo) < NORMAL), np.nextafter(lo, -np.inf), lo)
    hi = np.where(lost[1] & (np.abs(hi) < NORMAL), np.nextafter(hi, np.inf), hi)
    large = np.finfo(float).max  # what overflows is larger than every double, and no more is known of it
    lo = np.where((lo == np.inf) & (u.lo < np.inf), large, lo)
    return Interval(lo, np.where((hi == -np.inf) & (u.hi > -np.inf), -large, hi))
