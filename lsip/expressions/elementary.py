"""What an elementary function declares, and how its enclosures follow from that.

Floating-point kernels err. How much is known of none of them for certain, so every function says by how many units in
the last place its own may be off, and for which arguments that has been checked against multiprecision arithmetic
(`tests/test_functions.py`). An enclosure is widened by that error; where an argument leaves the checked range, all that
remains is the image of the function.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from ..errors import ModelError
from .defined import MAYBE, NEVER, SURE, WILD, Doubt
from .interval import EPS, Array, Interval, magnitudes, widened
from .jets import Numbers

Derivative = Callable[[Numbers, Numbers], Numbers]
Span = tuple[float, float]

DASH = "'"  # f' is the derivative of f
EVERYWHERE: Span = (-np.inf, np.inf)
UNDECLARED: Span = (np.nan, np.nan)


class Notation(NamedTuple):
    """How a function of one argument is printed: braces are where that stands, and `tight` says it needs no others."""

    text: str
    latex: str
    text_tight: bool
    latex_tight: bool


@dataclass(frozen=True)
class Function:
    """A function of one real variable, with three derivatives.

    Parameters
    ----------
    name
        That of the NumPy or SciPy ufunc which stands for it in models.
    value
        The kernel: floats to floats, element by element.
    shape
        How the kernel's values at the ends of intervals enclose the function: `increasing`, `decreasing`, `even`, …
    first, second, third
        The derivatives, in terms of the argument u and the value f, written with operators and other functions of the
        table, so that they serve arrays and intervals alike; `third` is None where it vanishes. Where the domain ends,
        slopes must be unbounded.
    domain
        Arguments for which it is defined.
    image
        Floats between which all its values are known to lie, whatever the kernel says.
    ulps
        The error of `value` is at most so many units in the last place (relative to 2⁻⁵²), and 2⁻¹⁰²² where the result
        is not a normal number. Declare at least twice what the checks find.
    checked
        The arguments for which the checks hold; beyond, enclosures are the whole `image`.
    zero
        Its value at 0, where that is a float: so sin(0 t) vanishes exactly, and its column with it. Otherwise nan.
    pole
        An argument, such as 0 for 1 / u, at which the sign of a zero decides between inf and -inf; nan without one.
    exponent
        Of the power that it is: 2 for the square, -1 for the reciprocal; nan if it is none.
    notation
        How it is printed, where that is not its name and the argument in parentheses.
    after
        Its derivative, where that is a function of its own; otherwise `first` is a formula, for expressions too.
    """

    name: str
    value: Callable[[Array], Array]
    shape: Callable[[Function, Interval], Interval]
    first: Derivative
    second: Derivative
    third: Derivative | None
    domain: Span = EVERYWHERE
    image: Span = EVERYWHERE
    ulps: float = np.nan
    checked: Span = UNDECLARED
    zero: float = np.nan
    pole: float = np.nan
    exponent: float = np.nan
    notation: Notation | None = None
    after: Function | None = None

    def __post_init__(self) -> None:
        if not (0 < self.ulps < np.inf and self.checked[0] < self.checked[1]):
            raise ModelError(
                f"The elementary function {self.name!r} needs a declared error: `ulps`, a positive number of units in "
                f"the last place, and `checked`, the arguments (low, high) for which it holds; got ulps={self.ulps}, "
                f"checked={self.checked}. Measure it with `check_function` of tests/extensions/function_checks.py, and "
                "declare at least twice what it finds."
            )

    def __reduce__(self) -> tuple[Callable[[str], Function], tuple[str]]:
        return known, (self.name,)

    @property
    def derivative(self) -> Function | None:
        """Its derivative, where that is a function of its own."""
        return self.after

    @property
    def word(self) -> str:
        """What a file calls it."""
        return self.name

    def file_data(self, spelled_out: bool) -> dict[str, Any] | None:
        """What a file holds of it; None if it is not part of the language, whose functions are known by name."""
        return {"spelled_out": spelled_out} if {**FUNCTIONS, **DERIVATIVES}.get(self.name) is self else None

    @overload
    def __call__(self, u: Interval) -> Interval: ...

    @overload
    def __call__(self, u: Array) -> Array: ...

    @overload
    def __call__(self, u: Numbers) -> Numbers: ...

    def __call__(self, u: Numbers) -> Numbers:
        if not isinstance(u, Interval):
            formula = getattr(u, "applied", None)  # of an expression
            return self.value(u) if formula is None else formula(self)
        if self.partial:
            u = self._inside(u)
        box = self.shape(self, u)
        (low, high), lo, hi = self.image, box.lo, box.hi
        lo = np.maximum(lo, low) if low > -np.inf else lo
        hi = np.minimum(hi, high) if high < np.inf else hi
        if not self.checked_throughout:
            first, last = self.checked
            # Extremes cost less than comparisons; fmin and fmax pass over what is nan.
            least, most = (r.reduce(v, axis=None, initial=0.0) for r, v in ((np.fmin, u.lo), (np.fmax, u.hi)))
            if least < first or most > last:
                beyond = (u.lo < first) | (u.hi > last)
                lo, hi = np.where(beyond, low, lo), np.where(beyond, high, hi)
        if self.zero == self.zero and (at := (u.lo == 0) & (u.hi == 0)).any():
            lo, hi = np.where(at, self.zero, lo), np.where(at, self.zero, hi)
        return Interval(lo, hi)

    def enclosed(self, low: Array, high: Array) -> Interval:
        """From the least value that the kernel may mean at `low` to the largest at `high`."""
        return widened(self.value(low), self.value(high), self.ulps)

    def _inside(self, u: Interval) -> Interval:
        """The arguments for which the function is defined; nothing is known where u has none."""
        lo, hi = np.maximum(u.lo, self.domain[0]), np.minimum(u.hi, self.domain[1])
        return Interval(np.where(lo <= hi, lo, np.nan), np.where(lo <= hi, hi, np.nan))

    @cached_property
    def partial(self) -> bool:
        """Whether some arguments are outside of its domain."""
        return self.domain != EVERYWHERE

    @cached_property
    def checked_throughout(self) -> bool:
        """Whether the declared error holds on all of the domain."""
        return self.checked[0] <= self.domain[0] and self.checked[1] >= self.domain[1]

    @cached_property
    def defined_at_infinity(self) -> bool:
        """Whether infinite arguments in the domain have a value, a finite or an infinite one."""
        with np.errstate(all="ignore"):
            return not any(np.isnan(self.value(np.asarray(end))) for end in self.domain if np.isinf(end))

    def doubt(self, u: Interval) -> Doubt:
        """Where over these arguments the function may be undefined."""
        low, high = self.domain
        found = np.full(u.shape, SURE)
        if self.partial:
            found[~((u.lo >= low) & (u.hi <= high))] = MAYBE
            found[(u.hi < low) | (u.lo > high)] = NEVER
            found[(u.lo == -np.inf) & (low > -np.inf)] = WILD  # u ** 0.5 is sqrt(u), but (-inf) ** 0.5 may be inf
        if not self.defined_at_infinity:
            found[np.isinf(u.lo) | np.isinf(u.hi)] = MAYBE
        if not np.isnan(self.pole):
            found[(u.lo <= self.pole) & (u.hi >= self.pole)] = WILD
        return found


def by_order(kernel: Callable[..., Any], first: int = 0) -> tuple[Any, Any, Derivative, Derivative, Derivative]:
    """Value, shape and derivatives of a function, all of which `kernel(u, order)` has, at points and over intervals.

    The function is the derivative of order `first` of the one that the kernel has with order 0.
    """
    return (
        lambda u: kernel(u, first),
        lambda f, u: kernel(u, first),
        lambda u, f: kernel(u, first + 1),
        lambda u, f: kernel(u, first + 2),
        lambda u, f: kernel(u, first + 3),
    )


def with_derivatives(name: str, kernel: Callable[..., Any], declared: dict[str, Any]) -> Function:
    """A function whose first three derivatives are functions too, all by `kernel(u, order)` for orders up to 6.

    The image that is declared is that of the function itself.
    """
    found: list[Function] = []
    for order in (3, 2, 1, 0):
        said = declared if order == 0 else {**declared, "image": EVERYWHERE}
        after = found[-1] if found else None
        found.append(Function(name + order * DASH, *by_order(kernel, order), after=after, **said))
    DERIVATIVES.update({f.name: f for f in found[:-1]})
    return found[-1]


def of_scipy(name: str) -> Callable[..., Array]:
    """A kernel of scipy.special, which is imported when one is first called: few models need any, and it takes long."""

    def kernel(*arguments: Array | int) -> Array:
        from scipy import special

        values: Array = getattr(special, name)(*arguments)
        return values

    return kernel


FUNCTIONS: dict[str, Function] = {}  # those of the language, by name
DERIVATIVES: dict[str, Function] = {}  # others, which models have as derivatives; their errors are absolute ones


def known(name: str) -> Function:
    """The function of the language with that name: its formulas are code, which no file holds."""
    found = {**FUNCTIONS, **DERIVATIVES}.get(name)
    if found is None:
        raise ModelError(f"The elementary function {name!r} is not part of the language here; register it first.")
    return found


# ---- shapes ----------------------------------------------------------------------------------------------------------


def increasing(f: Function, u: Interval) -> Interval:
    return f.enclosed(u.lo, u.hi)


def decreasing(f: Function, u: Interval) -> Interval:
    return f.enclosed(u.hi, u.lo)


def even(f: Function, u: Interval) -> Interval:
    """Increasing in |u|."""
    return f.enclosed(*magnitudes(u))


def wave(peak: float) -> Callable[[Function, Interval], Interval]:
    """Of period 2 pi between -1 and 1, with its largest values at 2 pi k + `peak`."""

    def shape(f: Function, u: Interval) -> Interval:
        a, b = f.value(u.lo), f.value(u.hi)
        box = widened(np.minimum(a, b), np.maximum(a, b), f.ulps)
        return Interval(np.where(_reaches(u, peak + np.pi), -1.0, box.lo), np.where(_reaches(u, peak), 1.0, box.hi))

    return shape


def tangent(f: Function, u: Interval) -> Interval:
    """Increasing between poles; unbounded when one may lie in u."""
    box = f.enclosed(u.lo, u.hi)
    pole = _reaches(u, np.pi / 2) | _reaches(u, -np.pi / 2)
    return Interval(np.where(pole, -np.inf, box.lo), np.where(pole, np.inf, box.hi))


def _reaches(u: Interval, phase: float) -> NDArray[np.bool_]:
    """Whether some 2 pi k + phase may lie in u; says yes when rounding leaves a doubt.

    The phase is off by at most a unit of 4, the quotient by three roundings and by that of 2 pi: altogether less than
    3 EPS (1 + |quotient|), and adding the doubt costs another rounding.
    """
    a, b = (u.lo - phase) / (2 * np.pi), (u.hi - phase) / (2 * np.pi)
    doubt = 8 * EPS * (1 + np.maximum(np.abs(a), np.abs(b)))
    return ~(np.floor(b + doubt) < np.ceil(a - doubt))
