"""Values with derivatives up to the third in the index, over plain arrays and over intervals alike.

A `Jet` holds a value of shape (N, size), the gradient as (m, N, size), and of the symmetric second and third
derivatives the entries with i <= j (<= k), stacked along the first axis in the order of `triangle` and `tetrahedron`.
A missing derivative is zero. The same rules serve both algebras, because arrays and `Interval` share their operators.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Generic, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from .interval import Array, Interval

Numbers: TypeAlias = Array | Interval


N = TypeVar("N", bound=Numbers, covariant=True)


class Jet(NamedTuple, Generic[N]):
    """A batch of values and their derivatives."""

    value: N
    gradient: N | None = None
    hessian: N | None = None
    third: N | None = None


@cache
def triangle(m: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Rows and columns of the upper triangle, in the order in which Hessians are stored."""
    i, j = np.triu_indices(m)
    return i, j


@cache
def tetrahedron(m: int) -> tuple[NDArray[np.intp], ...]:
    """i <= j <= k in the order in which third derivatives are stored, and where jk, ik and ij stand in `triangle`."""
    i, j, k = (
        np.array([(a, b, c) for a in range(m) for b in range(a, m) for c in range(b, m)], dtype=np.intp)
        .reshape(-1, 3)
        .T
    )
    place = np.zeros((m, m), dtype=np.intp)
    rows, columns = triangle(m)
    place[rows, columns] = place[columns, rows] = np.arange(len(rows))
    return i, j, k, place[j, k], place[i, k], place[i, j]


def square(u: Numbers) -> Numbers:
    return u.square() if isinstance(u, Interval) else u * u


def _plus(a: Numbers | None, b: Numbers | None) -> Numbers | None:
    if a is None:
        return b
    return a if b is None else a + b


def _widen(a: Numbers | None, size: int) -> Numbers | None:
    """Repeat a derivative along the last axis, when a scalar was added to an array of constants."""
    return a if a is None or a.shape[-1] == size else a[..., np.zeros(size, dtype=np.intp)]


def _times(a: Numbers, b: Numbers | None) -> Numbers | None:
    return None if b is None else a * b


def add(a: Jet[Numbers], b: Jet[Numbers]) -> Jet[Numbers]:
    value = a.value + b.value
    size = value.shape[-1]
    return Jet(value, *(_widen(_plus(d, e), size) for d, e in zip(a[1:], b[1:], strict=True)))


def subtract(a: Jet[Numbers], b: Jet[Numbers]) -> Jet[Numbers]:
    return add(a, negate(b))


def negate(a: Jet[Numbers]) -> Jet[Numbers]:
    return Jet(-a.value, *(None if d is None else -d for d in a[1:]))


def multiply(a: Jet[Numbers], b: Jet[Numbers], order: int) -> Jet[Numbers]:
    """The product rule; `a is b` squares, which intervals do more sharply."""
    if a is b:
        return chain(a, square, lambda u, _: 2.0 * u, lambda u, _: np.full((1, 1), 2.0), None, order)
    value = a.value * b.value
    if order == 0:
        return Jet(value)
    gradient = _plus(_times(a.value, b.gradient), _times(b.value, a.gradient))
    if order == 1:
        return Jet(value, gradient)
    hessian = _plus(_times(a.value, b.hessian), _times(b.value, a.hessian))
    if a.gradient is not None and b.gradient is not None:
        i, j = triangle(a.gradient.shape[0])
        if len(i) == 1:
            cross = 2.0 * (a.gradient * b.gradient)
        else:
            cross = a.gradient[i] * b.gradient[j] + a.gradient[j] * b.gradient[i]
        hessian = _plus(hessian, cross)
    if order == 2:
        return Jet(value, gradient, hessian)
    third = _plus(_times(a.value, b.third), _times(b.value, a.third))
    for u, v in ((a, b), (b, a)):
        third = _plus(third, _mixed(u.gradient, v.hessian))
    return Jet(value, gradient, hessian, third)


def _mixed(gradient: Numbers | None, hessian: Numbers | None) -> Numbers | None:
    """u_i v_jk + u_j v_ik + u_k v_ij."""
    if gradient is None or hessian is None:
        return None
    i, j, k, jk, ik, ij = tetrahedron(gradient.shape[0])
    if len(i) == 1:
        return 3.0 * (gradient * hessian)
    return gradient[i] * hessian[jk] + gradient[j] * hessian[ik] + gradient[k] * hessian[ij]


def chain(
    u: Jet[Numbers],
    function: Callable[[Numbers], Numbers],
    first: Callable[[Numbers, Numbers], Numbers],
    second: Callable[[Numbers, Numbers], Numbers],
    third: Callable[[Numbers, Numbers], Numbers] | None,
    order: int,
) -> Jet[Numbers]:
    """The chain rule for f(u); derivatives are functions of u and f(u), and None stands for a zero third one."""
    value = function(u.value)
    if order == 0 or u.gradient is None:
        return Jet(value)
    slope = first(u.value, value)
    gradient = slope * u.gradient
    if order == 1:
        return Jet(value, gradient)
    bend, squares = second(u.value, value), outer(u.gradient)
    hessian = _plus(bend * squares, _times(slope, u.hessian))
    if order == 2:
        return Jet(value, gradient, hessian)
    cubic = None
    if third is not None:
        i, _, _, jk, _, _ = tetrahedron(u.gradient.shape[0])
        cubic = third(u.value, value) * (u.gradient[i] * squares[jk])
    cubic = _plus(cubic, _times(slope, u.third))
    return Jet(value, gradient, hessian, _plus(cubic, _times(bend, _mixed(u.gradient, u.hessian))))


def outer(gradient: Numbers) -> Numbers:
    """The upper triangle of gradient times its transpose."""
    i, j = triangle(gradient.shape[0])
    if len(i) == 1:
        return square(gradient)
    product = gradient[i] * gradient[j]
    if isinstance(product, Interval) and not product.exact:  # squares on the diagonal cannot be negative
        product = Interval(np.where((i == j)[:, None, None], np.maximum(product.lo, 0.0), product.lo), product.hi)
    return product


def each(u: Jet[Numbers], operation: Callable[[Numbers], Numbers]) -> Jet[Numbers]:
    """Apply a linear operation on the last axis to the value and to every derivative."""
    return Jet(operation(u.value), *(None if d is None else operation(d) for d in u[1:]))
