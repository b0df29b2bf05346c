"""Bases of functions of an index: vectors to be multiplied with variables, as in `chebyshev(t, 5) @ x`.

They take an index, any scalar expression of one, or numbers; an array of shape s gives shape (*s, degree + 1), so that
they serve a `Family` too. Chebyshev polynomials are built by halving the degree, which keeps rounding and the width of
enclosures small: T_2k = 2 T_k^2 - 1 and T_2k+1 = 2 T_k T_k+1 - t. Legendre polynomials are averages of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import comb
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .domains import Interval
from .errors import ModelError
from .validation import fits, numbers, shown, whole


def monomial(t: ArrayLike, degree: int) -> Any:
    """The powers 1, t, …, t^degree.

    Few other bases are enclosed as sharply; beyond a degree of ten or so, coefficients become very large.

    Examples
    --------
    >>> import lsip
    >>> t = lsip.Index("t", lsip.Interval(0, 1))
    >>> print(lsip.bases.monomial(t, 3))
    t^[0 1 2 3]
    >>> lsip.bases.monomial(0.5, 3)
    array([1.   , 0.5  , 0.25 , 0.125])
    """
    whole("degree", degree, 0)
    fits("A basis", int(degree) + 1, most=2**20)
    t = _read(t)
    base: Any = np.expand_dims(t, -1) if np.ndim(t) else t
    return base ** np.arange(degree + 1.0)


def chebyshev(t: ArrayLike, degree: int, domain: Interval | tuple[float, float] | None = None) -> Any:
    """The Chebyshev polynomials T_0, …, T_degree of the first kind, for t between -1 and 1.

    Parameters
    ----------
    t
        An index, a scalar expression of one, or numbers.
    degree
        The highest degree.
    domain
        An interval [a, b] that is mapped to [-1, 1] first, as an `lsip.Interval` or a pair.

    Examples
    --------
    The polynomial of degree 2 that is nearest to exp on [-1, 1]:

    >>> import numpy as np, lsip
    >>> x, error = lsip.Variable(3, name="x"), lsip.Variable(name="error")
    >>> t = lsip.Index("t", lsip.Interval(-1, 1))
    >>> residual = lsip.bases.chebyshev(t, 2) @ x - np.exp(t)
    >>> problem = lsip.Problem(lsip.minimize(error), [lsip.forall(t, [residual <= error, -residual <= error])])
    >>> solution = problem.solve(verbose=False)
    >>> round(solution.value, 6), solution.certified
    (0.045017, True)
    """
    whole("degree", degree, 0)
    fits("A basis", int(degree) + 1, most=2**20)
    u = _mapped(t, domain)
    found = [np.ones(np.shape(u)), u]
    for k in range(2, int(degree) + 1):
        half = found[k // 2]
        found.append(2 * np.square(half) - 1 if k % 2 == 0 else 2 * half * found[k // 2 + 1] - u)
    return np.stack(found[: int(degree) + 1], axis=-1)


def legendre(t: ArrayLike, degree: int, domain: Interval | tuple[float, float] | None = None) -> Any:
    """The Legendre polynomials P_0, …, P_degree, for t between -1 and 1; parameters as for `chebyshev`.

    Examples
    --------
    >>> import lsip
    >>> lsip.bases.legendre(0.5, 3)
    array([ 1.    ,  0.5   , -0.125 , -0.4375])
    """
    return chebyshev(t, degree, domain) @ _averages(degree).T


def bernstein(t: ArrayLike, degree: int, domain: Interval | tuple[float, float] | None = None) -> Any:
    """The Bernstein polynomials of a degree, for t between 0 and 1, or on another interval `domain`.

    They are not negative there, and add up to 1; a polynomial lies between the least and the largest of its
    coefficients.

    Examples
    --------
    >>> import lsip
    >>> lsip.bases.bernstein(0.5, 3)
    array([0.125, 0.375, 0.375, 0.125])
    """
    whole("degree", degree, 0)
    fits("A basis", int(degree) + 1, most=2**20)
    low, high = (0.0, 1.0) if domain is None else _ends(domain)
    t, k = _read(t), np.arange(degree + 1.0)
    base: Any = np.expand_dims(t, -1) if np.ndim(t) else t
    u = base if (low, high) == (0.0, 1.0) else (base - low) / (high - low)
    weights = np.array([float(comb(int(degree), j)) for j in range(int(degree) + 1)])
    return weights * u**k * (1 - u) ** (degree - k)


def trigonometric(t: ArrayLike, degree: int, period: float = 2 * np.pi) -> Any:
    """Waves of a period: 1, cos(w), …, cos(degree w), sin(w), …, sin(degree w), where w is 2 π t / period.

    Examples
    --------
    >>> import lsip
    >>> t = lsip.Index("t", lsip.Interval(0, 1))
    >>> lsip.bases.trigonometric(t, 2, period=1).shape
    (5,)
    """
    whole("degree", degree, 0)
    fits("A basis", 2 * int(degree) + 1, most=2**20)
    turn = numbers(period, "`period`")
    if turn.shape != () or not 0 < turn < np.inf:
        raise ModelError(f"`period` must be a positive number; got {shown(period)}.")
    t, k = _read(t), np.arange(degree + 1.0)
    base: Any = np.expand_dims(t, -1) if np.ndim(t) else t
    angle = (2 * np.pi / float(turn)) * k * base  # with the default period, 2 π / period is 1 exactly
    return np.concatenate([np.cos(angle), np.sin(angle[..., 1:])], axis=-1)


def bspline(t: ArrayLike, knots: ArrayLike, degree: int = 3) -> Any:
    """The B-splines of a degree on a sequence of knots, one for each of len(knots) - degree - 1 coefficients.

    Parameters
    ----------
    t
        An index, a scalar expression of one, or numbers, between `knots[degree]` and `knots[-degree - 1]`.
    knots
        As for `scipy.interpolate.BSpline`: not decreasing; the first and the last knot are usually repeated degree + 1
        times.
    degree
        3 for cubic splines, which have two continuous derivatives.

    Examples
    --------
    An increasing cubic spline through 0 and 1, as low as possible in the middle:

    >>> import numpy as np, lsip
    >>> knots = np.concatenate([[0] * 3, np.linspace(0, 1, 5), [1] * 3])
    >>> t = lsip.Index("t", lsip.Interval(0, 1))
    >>> c = lsip.Variable(7, name="c")
    >>> curve, middle = lsip.bases.bspline(t, knots) @ c, lsip.bases.bspline(0.5, knots) @ c
    >>> increasing = lsip.forall(t, lsip.derivative(curve, t) >= 0.5)
    >>> problem = lsip.Problem(lsip.minimize(middle), [c[0] == 0, c[-1] == 1, increasing])
    >>> round(problem.solve(verbose=False).value, 6)
    0.25
    """
    from scipy.interpolate import BSpline

    from .expressions.splines import spline

    whole("degree", degree, 0)
    x, k = numbers(knots, "`knots`"), int(degree)
    if x.ndim != 1 or len(x) < 2 * k + 2 or not np.isfinite(x).all() or not (np.diff(x) >= 0).all():
        raise ModelError(
            f"`knots` must be {2 * k + 2} or more numbers for degree {k}, in increasing order; got {shown(knots)}."
        )
    fits("A basis", len(x) - k - 1, most=2**16)
    return spline(BSpline(x, np.eye(len(x) - k - 1), k, extrapolate=False), t)


def _averages(degree: int) -> NDArray[np.float64]:
    """Row n: P_n = sum over j of g_j g_n-j T_|n-2j| with g_j = (2j over j) / 4^j; weights that add up to 1."""
    g = [Fraction(comb(2 * j, j), 4**j) for j in range(degree + 1)]
    table = [[Fraction(0)] * (degree + 1) for _ in range(degree + 1)]
    for n in range(degree + 1):
        for j in range(n + 1):
            table[n][abs(n - 2 * j)] += g[j] * g[n - j]
    return np.array([[float(v) for v in row] for row in table])


def _mapped(t: ArrayLike, domain: Interval | tuple[float, float] | None) -> Any:
    """t, with the domain mapped to [-1, 1]."""
    t = _read(t)
    if domain is None:
        return t
    low, high = _ends(domain)
    u: Any = t
    return (u - (low + high) / 2) / ((high - low) / 2)


def _ends(domain: Interval | tuple[float, float]) -> tuple[float, float]:
    ends = [domain.lower[0], domain.upper[0]] if isinstance(domain, Interval) else domain
    low, high = (float(v) for v in _pair(ends))
    return low, high


def _read(t: ArrayLike) -> Any:
    """An expression as it is, of this language or of another door; anything else as numbers."""
    symbolic = hasattr(t, "__array_function__") and not isinstance(t, np.ndarray | np.generic)
    return t if symbolic else numbers(t, "`t`", nan=True)


def _pair(ends: Sequence[float]) -> NDArray[np.float64]:
    pair = numbers(ends, "`domain`")
    if pair.shape != (2,) or not np.isfinite(pair).all() or not pair[0] < pair[1]:
        raise ModelError(f"`domain` must be an lsip.Interval or a pair (a, b) with a < b; got {shown(ends)}.")
    return pair
