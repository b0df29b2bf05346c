"""Bases of polynomials in an index: vectors to be multiplied with variables, as in `chebyshev(t, 5) @ x`.

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
    ends = [domain.lower[0], domain.upper[0]] if isinstance(domain, Interval) else domain
    low, high = (float(v) for v in _pair(ends))
    u: Any = t
    return (u - (low + high) / 2) / ((high - low) / 2)


def _read(t: ArrayLike) -> Any:
    """An expression as it is, of this language or of another door; anything else as numbers."""
    symbolic = hasattr(t, "__array_function__") and not isinstance(t, np.ndarray | np.generic)
    return t if symbolic else numbers(t, "`t`", nan=True)


def _pair(ends: Sequence[float]) -> NDArray[np.float64]:
    pair = numbers(ends, "`domain`")
    if pair.shape != (2,) or not np.isfinite(pair).all() or not pair[0] < pair[1]:
        raise ModelError(f"`domain` must be an lsip.Interval or a pair (a, b) with a < b; got {shown(ends)}.")
    return pair
