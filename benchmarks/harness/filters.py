"""Low-pass filters with linear phase: the exchange of Parks and McClellan against ours.

H(w) = sum a_k cos(k w) is to be near 1 on [0, 0.4 pi] and near 0 on [0.5 pi, pi], with the least largest error. For
more than 61 taps the bands are nearer to each other, so that the error stays what it is for 61; otherwise it would soon
be less than the rounding of doubles. `remez` works on a grid of frequencies; what its filter does between them is found
out here, with proof. The finest grid is for an error that is as small as ours.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import lsip

Array = NDArray[np.float64]
PASS, STOP = 0.4 * np.pi, 0.5 * np.pi
TAPS = (21, 41, 61, 101, 201, 301, 501)
DENSITIES = (16, 256, 4096)  # points of remez's grid for every coefficient


def stop(taps: int) -> float:
    """Where the stop band begins."""
    return PASS + (STOP - PASS) * min(1.0, 60 / (taps - 1))


def design(taps: int) -> lsip.Problem:
    """The least error delta such that |H - 1| <= delta in the pass band and |H| <= delta in the stop band."""
    a, delta = lsip.Variable(taps // 2 + 1, name="a"), lsip.Variable(name="delta", lower=0)
    k = np.arange(taps // 2 + 1)
    low, high = lsip.Index("w", lsip.Interval(0, PASS)), lsip.Index("v", lsip.Interval(stop(taps), np.pi))
    near_one, near_zero = np.cos(k * low) @ a - 1, np.cos(k * high) @ a
    return lsip.Problem(
        lsip.minimize(delta),
        [
            lsip.forall(low, [near_one <= delta, -delta <= near_one]),
            lsip.forall(high, [near_zero <= delta, -delta <= near_zero]),
        ],
    )


def by_lsip(taps: int) -> lsip.Solution:
    """A proven gap of one part in a million."""
    return design(taps).solve(tol=1e-7, verbose=False)


def by_remez(taps: int, density: int) -> Array:
    """The cosine coefficients of SciPy's filter."""
    from scipy.signal import remez

    h = remez(taps, [0, PASS, stop(taps), np.pi], [1, 0], fs=2 * np.pi, grid_density=density, maxiter=100)
    middle = taps // 2
    return np.concatenate([[h[middle]], 2 * h[middle + 1 :]])


def true_error(taps: int, a: Array) -> float:
    """The largest error of a filter over all frequencies, proven."""
    program = design(taps).compile()
    x = np.append(a, 0.0)
    worst = [lsip.oracles.supremum(program.violation(f, x), tol=1e-9) for f in range(len(program.families))]
    return max(s.bound for s in worst)
