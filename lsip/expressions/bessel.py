"""Bessel's function J₀, scipy.special.j0, with its derivatives up to the sixth, which are combinations of J₀ to J₆.

J₀(u) is the mean of cos(u sin τ) over all angles τ. So it and all its derivatives lie between -1 and 1, and an
enclosure needs no more than the value at the middle of a box: it changes by at most as much as u does. Near its zeros,
the kernel is off by many units in the last place; what is declared is an absolute error.
"""

from __future__ import annotations

from math import comb
from typing import Any

import numpy as np

from .arithmetic import rule
from .elementary import DERIVATIVES, of_scipy, with_derivatives
from .graph import Expression
from .interval import Array, Interval, down, up
from .jets import Numbers
from .operations import Apply

# SciPy's kernels were compared with multiprecision arithmetic for these arguments; beyond, an enclosure is [-1, 1]. The
# absolute error of J₀ and of its derivatives that was measured is 1.3e-15.
CHECKED, ERROR = (-1000.0, 1000.0), 8e-15


_j0, _j1, _jn = map(of_scipy, ("j0", "j1", "jn"))


def _kernel(u: Array, order: int) -> Array:
    """J₀⁽ⁿ⁾ = 2⁻ⁿ Σ (-1)ᵏ C(n, k) J_(2k - n), with J_-n = (-1)ⁿ J_n, as J_n' = (J_n-1 - J_n+1) / 2."""
    if order == 0:
        return _j0(u)
    if order == 1:
        return -_j1(u)
    weights = [0.0] * (order + 1)  # of J_0, J_1, …
    for k in range(order + 1):
        n = 2 * k - order
        weights[abs(n)] += (-1.0) ** k * comb(order, k) * ((-1.0) ** n if n < 0 else 1.0) / 2.0**order
    return sum(w * _jn(n, u) for n, w in enumerate(weights) if w)  # type: ignore[return-value]


def j0(u: Numbers, order: int = 0) -> Any:
    """The derivative of that order of J₀, at points or over intervals."""
    if not isinstance(u, Interval):
        return _kernel(np.asarray(u, dtype=float), order)
    middle = 0.5 * u.lo + 0.5 * u.hi
    room = up(np.maximum(u.hi - middle, middle - u.lo)) + ERROR
    least, largest = CHECKED
    known = (u.lo >= least) & (u.hi <= largest)
    value = _kernel(np.where(known, middle, 0.0), order)
    lo, hi = np.maximum(down(value - room), -1.0), np.minimum(up(value + room), 1.0)
    return Interval(np.where(known, lo, -1.0), np.where(known, hi, 1.0))


BESSEL = with_derivatives("j0", j0, {"image": (-1.0, 1.0), "ulps": 1.0, "checked": CHECKED})  # `ulps` is unused
DERIVATIVES[BESSEL.name] = BESSEL


@rule("j0")
def _apply(u: Expression) -> Expression:
    return Apply(BESSEL, u)
