"""Bessel's function J₀, scipy.special.j0, with three derivatives, which are combinations of J₀ to J₃.

J₀(u) is the mean of cos(u sin τ) over all angles τ. So it and all its derivatives lie between -1 and 1, and an
enclosure needs no more than the value at the middle of a box: it changes by at most as much as u does. Near its zeros,
the kernel is off by many units in the last place; what is declared is an absolute error.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .arithmetic import rule
from .elementary import Function, by_order, of_scipy
from .graph import WORDS, Expression, Step, Word
from .interval import Array, Interval, down, up
from .jets import Numbers
from .operations import Apply

# SciPy's kernels were compared with multiprecision arithmetic for these arguments; beyond, an enclosure is [-1, 1]. The
# absolute error of J₀ and of its derivatives that was measured is 1.3e-15.
CHECKED, ERROR = (-1000.0, 1000.0), 8e-15


_j0, _j1, _jn = map(of_scipy, ("j0", "j1", "jn"))
_derivatives: tuple[Callable[[Array], Array], ...] = (
    _j0,
    lambda u: -_j1(u),
    lambda u: (_jn(2, u) - _j0(u)) / 2,
    lambda u: (3 * _j1(u) - _jn(3, u)) / 4,
)


def j0(u: Numbers, order: int = 0) -> Any:
    """The derivative of that order of J₀, at points or over intervals."""
    kernel = _derivatives[order]
    if not isinstance(u, Interval):
        return kernel(np.asarray(u, dtype=float))
    middle = 0.5 * u.lo + 0.5 * u.hi
    room = up(np.maximum(u.hi - middle, middle - u.lo)) + ERROR
    least, largest = CHECKED
    known = (u.lo >= least) & (u.hi <= largest)
    value = kernel(np.where(known, middle, 0.0))
    lo, hi = np.maximum(down(value - room), -1.0), np.minimum(up(value + room), 1.0)
    return Interval(np.where(known, lo, -1.0), np.where(known, hi, 1.0))


class Bessel(Function):
    """A function of one name, which is all that a file needs; its error is no number of units."""

    def __reduce__(self) -> Any:
        return _the_one, ()

    def file_data(self, spelled_out: bool) -> Step | None:
        return {"spelled_out": spelled_out}


BESSEL = Bessel(
    "j0",
    *by_order(j0),
    image=(-1.0, 1.0),
    ulps=1.0,  # unused: enclosures have the absolute error
    checked=CHECKED,
)


def _the_one() -> Bessel:
    return BESSEL


@rule("j0")
def _apply(u: Expression) -> Expression:
    return Apply(BESSEL, u)


def _read(step: Step, args: list[Expression], where: str) -> Expression:
    return Apply(BESSEL, args[0], step["spelled_out"])


WORDS[BESSEL.word] = Word(Apply, Apply.schema, _read)
