"""All distributions with given moments: expectations are bounded by quadratics above the loss.

The largest expectation of a loss l over them is at most t + q . 0 + ⟨Q, covariance⟩ + r . deviation for every majorant

    t + q . (ξ - mean) + (ξ - mean)' Q (ξ - mean) + r . |ξ - mean| >= l(ξ)   for all ξ in the support,   r >= 0,

and the least of these bounds is attained by a distribution, in the limit (Isii 1960; Scarf 1958 for the newsvendor).

Where the support is the whole space and the loss is the larger one of two affine pieces u and v, as in a CVaR, only the
mean and the deviation of w = u - v matter: the largest E max(w, 0) is (E w + √((E w)² + var w)) / 2, a norm.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ..errors import ModelError
from ..expressions.affine import Affine, Variable
from ..expressions.interval import EPS
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
        closed = self._closed(loss)
        if closed is not None:
            return closed
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

    def tail(self, loss: LossPieces, level: float) -> UpperBound | None:
        """The largest CVaR of an affine loss: its mean and √(level / (1 - level)) deviations; None for others."""
        known = self._affine(loss) if len(loss.pieces) == 1 else None
        if known is None:
            return None
        (mean,), (slope,), root = known
        odds = float(Fraction(level) / (1 - Fraction(level)))
        far, size = np.sqrt(odds) * (1 + 16 * EPS), Variable(name=fresh("norm"))  # products with it round, too
        return UpperBound(mean + size, [np.linalg.norm(slope @ (far * root)) <= size])

    def _closed(self, loss: LossPieces) -> UpperBound | None:
        """One affine piece over the whole space, or two; None for others."""
        known = self._affine(loss) if len(loss.pieces) <= 2 else None
        if known is None:
            return None
        (first, *others), slopes, root = known
        if not others:
            mean = Variable(name=fresh("mean"))
            return UpperBound(mean * 1.0, [mean >= first])
        (second,) = others
        excess, size = first - second, Variable(name=fresh("norm"))
        spread = np.concatenate([excess.reshape((1,)), (slopes[0] - slopes[1]) @ root])
        return UpperBound(second + 0.5 * (excess + size), [np.linalg.norm(spread) <= size])

    def _affine(self, loss: LossPieces) -> tuple[list[Affine], list[Affine], Array] | None:
        """Means and slopes of affine pieces over the whole space, and a root of the covariance; None for others."""
        domain, slopes = loss.index.domain, loss.slopes()
        everywhere = np.isinf(domain.lower).all() and np.isinf(domain.upper).all()
        if self.deviation is not None or self.covariance is None or not everywhere or slopes is None:
            return None
        root = _root(self.covariance)
        return None if root is None else ([at.reshape(()) for at in loss.at(self.mean[None])], slopes, root)


def _root(covariance: Array) -> Array | None:
    """A matrix F such that F F' is the covariance and some units of rounding more, so that bounds hold; None if none.

    What a Cholesky factorisation leaves of an entry is a share of the deviations that belong to it (Higham, Accuracy
    and Stability, theorem 10.3), and so much more is put on the diagonal first. Singular covariances have a root, too.
    """
    random = np.flatnonzero(np.diag(covariance) > 0)
    inner, found = covariance[np.ix_(random, random)], np.zeros_like(covariance)
    more = 2 * len(random) * (len(random) + 4) * EPS
    try:
        found[np.ix_(random, random)] = np.linalg.cholesky(inner + np.diag(more * np.diag(inner)))
    except np.linalg.LinAlgError:
        return None
    return found if np.count_nonzero(covariance) == np.count_nonzero(inner) else None


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
