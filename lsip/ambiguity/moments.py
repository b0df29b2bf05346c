"""All distributions with given moments: expectations are bounded by quadratics above the loss.

The largest expectation of a loss l over them is at most t + q . 0 + ⟨Q, covariance⟩ + r . deviation for every majorant

    t + q . (ξ - mean) + (ξ - mean)' Q (ξ - mean) + r . |ξ - mean| >= l(ξ)   for all ξ in the support,   r >= 0,

and the least of these bounds is attained by a distribution, in the limit (Isii 1960; Scarf 1958 for the newsvendor).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..errors import ModelError
from ..expressions.affine import Affine, Variable
from ..validation import Array, Data, kept, numbers, shown
from .losses import LossPieces, UpperBound, fresh


@dataclass(frozen=True, eq=False, init=False)
class Moments:
    """Distributions with a mean and, where they are given, a covariance and a bound on mean absolute deviations.

    Parameters
    ----------
    mean
        (m,), or a number for an index that is one.
    covariance
        (m, m), or the variance of a number; any by default.
    deviation
        (m,), or a number: upper bounds of the means of |ξ_j - mean_j|; any by default.

    The support is the set over which the index of the loss ranges. An unbounded one takes polynomials as losses, and a
    covariance.
    """

    mean: Array
    covariance: Array | None
    deviation: Array | None

    def __init__(self, mean: Data, covariance: Data | None = None, deviation: Data | None = None) -> None:
        centre = np.atleast_1d(numbers(mean, "`mean`"))
        if centre.ndim != 1 or not np.isfinite(centre).all():
            raise ModelError(f"`mean` is a vector of finite numbers; got shape {centre.shape}.")
        object.__setattr__(self, "mean", kept(centre))
        object.__setattr__(self, "covariance", None if covariance is None else _covariance(covariance, len(centre)))
        object.__setattr__(self, "deviation", None if deviation is None else _deviation(deviation, len(centre)))

    def worst(self, loss: LossPieces) -> UpperBound:
        """The largest expectation of a loss, as the least value of a bound."""
        index, m = loss.index, len(self.mean)
        if index.domain.dim != m:
            raise ModelError(f"`mean` has {m} entries, and the index {index.name} has {index.domain.dim}.")
        if not index.domain.contains(self.mean[None])[0]:
            raise ModelError(f"The mean {self.mean.tolist()} lies outside of {index.domain}, where the index ranges.")
        moved = index.reshape((-1,)) - self.mean
        level, slope = Variable(name=fresh("t")), Variable(m, name=fresh("q"))
        value: Affine = level * 1.0
        above = level + slope @ moved
        if self.covariance is not None:
            i, j = np.triu_indices(m)
            twice = np.where(i == j, 1.0, 2.0)
            curve = Variable(len(i), name=fresh("Q"))  # the entries on and above the diagonal
            value = value + (twice * self.covariance[i, j]) @ curve
            above = above + (twice * moved[i] * moved[j]) @ curve
        if self.deviation is not None:
            kink = Variable(m, name=fresh("r"), lower=0)
            value = value + self.deviation @ kink
            above = above + np.abs(moved) @ kink
        return UpperBound(value, loss.below(above))


def _covariance(given: Data, m: int) -> Array:
    found = np.atleast_2d(numbers(given, "`covariance`"))
    if found.shape != (m, m) or not np.isfinite(found).all():
        raise ModelError(f"`covariance` has the shape ({m}, {m}), one row for each entry of `mean`; got {found.shape}.")
    if not np.array_equal(found, found.T):
        raise ModelError(
            f"`covariance` must be symmetric; got {shown(found.tolist())}. Write (C + C.T) / 2 for a matrix that "
            "is so up to rounding."
        )
    least = float(np.linalg.eigvalsh(found).min())
    if least < -1e-12 * float(np.abs(found).max(initial=0.0)):
        raise ModelError(f"No distribution has this covariance: its least eigenvalue is {least:.6g}, below 0.")
    return kept(found)


def _deviation(given: Data, m: int) -> Array:
    found = np.atleast_1d(numbers(given, "`deviation`"))
    if found.shape != (m,) or not np.isfinite(found).all() or (found < 0).any():
        raise ModelError(f"`deviation` has {m} numbers >= 0, one for each entry of `mean`; got {found.tolist()}.")
    return kept(found)
