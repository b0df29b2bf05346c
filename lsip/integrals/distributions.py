"""Distributions of a number: densities in the language, moments as fractions, and what lies far out.

All of them have the form t = loc + scale u, with a density of u that is concave in logarithms. Far out, beyond R, it is
at most rho(R) exp(-s (u - R)), where s is the slope of its logarithm at R: so much of a bounded function is there, or
of one with a bounded derivative.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import comb, exp, factorial, inf, isfinite, isinf, log, prod
from typing import Any

import numpy as np

from ..domains import Box
from ..domains import Interval as Segment
from ..errors import ModelError
from ..expressions.arrangements import Gather, Join
from ..expressions.graph import Constant, Expression, Index
from ..expressions.interval import LARGEST, Interval, down, reciprocal, up
from ..expressions.polynomials import Polynomials, neighbours
from ..expressions.printing import text
from ..expressions.tape import Tape
from ..expressions.undefined import refuse_undefined
from ..validation import numbers
from .quadrature import means
from .unit_cube_map import between
from .volume import ExactNumbers
from .volume import between as enclosing

# Distances from the centre, in units of a distribution, beyond which less than 1e-18 of it lies.
NORMAL_REACH, EXPONENTIAL_REACH = 9.0, 45.0


@dataclass(frozen=True, eq=False)
class Distribution:
    """loc + scale u, for u with a density in proportion to rho between two ends."""

    name: str
    loc: float
    scale: float
    low: float
    high: float
    rho: Callable[[Any], Any]
    core: tuple[float, float]  # finite; what lies beyond is bounded
    log_rho: Callable[[float], float] | None = None  # with its derivative, where an end is infinite
    slope: Callable[[float], float] | None = None
    moment: Callable[[int], Fraction] | None = None  # the mean of u^k

    @property
    def ends(self) -> tuple[float, float]:
        """Between which numbers its values lie."""
        return self.loc + self.scale * self.low, self.loc + self.scale * self.high

    def means(self, formula: Expression, index: Index) -> ExactNumbers:
        """The means (K,) of the elements of a formula in the index."""
        found = Polynomials.of(Tape((formula,), (index,))) if self.moment is not None else None
        if found is not None:
            exact = [
                sum((Fraction(c, d) * self._raw(k) for (k,), c in terms.items()), Fraction(0))
                for terms, d in zip(found.terms, found.denominators, strict=True)
            ]
            return ExactNumbers(enclosing(exact), exact)
        self._refuse_undefined(formula, index)
        total = self._integrals(formula, index)
        return ExactNumbers(total[:-1] * reciprocal(total[-1:]))

    def _refuse_undefined(self, formula: Expression, index: Index) -> None:
        """Raise where some value of the distribution may have none of the formula."""
        tape = Tape((formula,), (index,))
        if not any(node.partial for node in tape.nodes):
            return
        exact = [Fraction(self.loc) + Fraction(self.scale) * Fraction(end) for end in self.core]
        low, high = (neighbours(v.numerator, v.denominator)[side] for side, v in enumerate(exact))
        refuse_undefined((formula,), (index,), Segment(low, high), f"What {self.name} averages")
        for end, far in ((low, -LARGEST if isinf(self.low) else low), (high, LARGEST if isinf(self.high) else high)):
            box = np.sort([end, far]).reshape(2, 1, 1)
            if end != far and tape.absent(box[0], box[1]).nan.any():
                raise ModelError(
                    f"What {self.name} averages needs a value everywhere; {text(formula)} may have none beyond {end:g}."
                )

    def _raw(self, k: int) -> Fraction:
        """The mean of t^k."""
        assert self.moment is not None
        a, b = Fraction(self.loc), Fraction(self.scale)
        return sum((comb(k, j) * a ** (k - j) * b**j * self.moment(j) for j in range(k + 1)), Fraction(0))

    def _integrals(self, formula: Expression, index: Index) -> Interval:
        """Those of all elements times rho, and of rho itself."""
        one = Constant(np.ones(1))
        both = Join((Gather(formula, np.arange(formula.size)), one))
        unit = Index("u", Box([0.0], [1.0]))
        u = between(*self.core, unit[0])
        t = self.scale * u + self.loc
        t = t.reshape(index.shape) if index.shape else t
        found = means(Tape((both * self.rho(u),), (unit,), {index: t})) * enclosing(
            [Fraction(self.core[1]) - Fraction(self.core[0])]
        )
        tape = Tape((both,), (index,))
        for end, beyond, sign in ((self.core[0], self.low, -1.0), (self.core[1], self.high, 1.0)):
            if not isfinite(beyond):
                found = found + self._tail(tape, end, sign)
        return found

    def _tail(self, tape: Tape, end: float, sign: float) -> Interval:
        """What lies beyond an end of the core: as for a constant where values are bounded, else as for a line."""
        assert self.log_rho is not None
        assert self.slope is not None
        rate, height = sign * -self.slope(end), self.log_rho(end)
        if height > 700.0:  # where densities are no doubles any more
            raise ModelError(f"{self.name} is too steep to be enclosed in doubles; give its density, or samples.")
        rho = max(exp(height), 1e-300)
        masses = [1.01 * rho * factorial(k) / rate ** (k + 1) for k in range(2)]  # room for the rounding of the bound
        at = Interval.point([[end]]) * self.scale + self.loc  # rounded, and widened beyond that
        lower = down(at.lo, 2.0) if sign > 0 else np.full((1, 1), -np.inf)
        upper = up(at.hi, 2.0) if sign < 0 else np.full((1, 1), np.inf)
        with np.errstate(all="ignore"):
            flat = tape.enclose(lower, upper)[0]
            found, known = flat * _up_to(masses[0]), np.isfinite(flat.lo) & np.isfinite(flat.hi)
            if not known.all() and not tape.jumps:
                start = tape.enclose(down(at.lo, 2.0), up(at.hi, 2.0))[0]
                steep = tape.gradients(lower, upper)[0, 0] * (sign * self.scale)
                line = start * _up_to(masses[0]) + steep * _up_to(masses[1])
                found = Interval(np.where(known, found.lo, line.lo), np.where(known, found.hi, line.hi))
        return found


def _up_to(mass: float) -> Interval:
    return Interval(np.zeros(1), np.array([mass]))


def read_distribution(given: object) -> Distribution | None:
    """A distribution of scipy.stats with its parameters; None if it is something else."""
    family = getattr(given, "dist", None)
    name = getattr(family, "name", None)
    if name is None or not hasattr(given, "kwds"):
        return None
    if name not in LAWS:
        raise ModelError(
            f"lsip.expectation knows the distributions {', '.join(sorted(LAWS))} of scipy.stats; got {name}. Write its "
            "density as an expression of the index, or give samples: distribution.rvs(1000)."
        )
    shapes, loc, scale = family._parse_args(*given.args, **given.kwds)  # type: ignore[union-attr,attr-defined]
    values = [numbers(v, f"Parameters of {name}") for v in (*shapes, loc, scale)]
    if any(v.size != 1 or not np.isfinite(v).all() for v in values[len(shapes) :]) or float(values[-1]) <= 0:
        raise ModelError(f"{name} needs numbers as parameters, and a positive scale; got {(*shapes, loc, scale)}.")
    *shape, centre, width = (float(v) for v in values)
    return LAWS[name](centre, width, *shape)


def _uniform(loc: float, scale: float) -> Distribution:
    return Distribution("uniform", loc, scale, 0.0, 1.0, lambda u: 1.0, (0.0, 1.0), moment=lambda k: Fraction(1, k + 1))


def _normal(loc: float, scale: float) -> Distribution:
    def moment(k: int) -> Fraction:
        return Fraction(0 if k % 2 else prod(range(1, k, 2)))

    return _bell("norm", loc, scale, -inf, inf, moment)


def _truncated(loc: float, scale: float, a: float, b: float) -> Distribution:
    return _bell("truncnorm", loc, scale, a, b, None)


def _bell(
    name: str, loc: float, scale: float, low: float, high: float, moment: Callable[[int], Fraction] | None
) -> Distribution:
    far = NORMAL_REACH
    core = (low if isfinite(low) else min(-far, high - far), high if isfinite(high) else max(far, low + far))
    return Distribution(
        name, loc, scale, low, high, lambda u: np.exp(u**2 * -0.5), core, lambda u: -0.5 * u * u, lambda u: -u, moment
    )


def _exponential(loc: float, scale: float) -> Distribution:
    return _gamma(loc, scale, 1.0, "expon")


def _gamma(loc: float, scale: float, a: float, name: str = "gamma") -> Distribution:
    _at_least_one(name, a)
    far = EXPONENTIAL_REACH + a + NORMAL_REACH * a**0.5
    rising = Fraction(a)
    return Distribution(
        name, loc, scale, 0.0, inf,
        lambda u: np.exp(-u) * (1.0 if a == 1.0 else u ** (a - 1.0)),
        (0.0, far), lambda u: (a - 1.0) * log(u) - u, lambda u: (a - 1.0) / u - 1.0,
        lambda k: prod((rising + i for i in range(k)), start=Fraction(1)),
    )  # fmt: skip


def _beta(loc: float, scale: float, a: float, b: float) -> Distribution:
    _at_least_one("beta", a, b)

    def rho(u: Expression) -> Any:
        return (1.0 if a == 1.0 else u ** (a - 1.0)) * (1.0 if b == 1.0 else (1.0 - u) ** (b - 1.0))

    def moment(k: int) -> Fraction:
        p, q = Fraction(a), Fraction(a) + Fraction(b)
        return prod(((p + i) / (q + i) for i in range(k)), start=Fraction(1))

    return Distribution("beta", loc, scale, 0.0, 1.0, rho, (0.0, 1.0), moment=moment)


def _triangle(loc: float, scale: float, c: float) -> Distribution:
    if not 0.0 <= c <= 1.0:
        raise ModelError(f"triang has its peak at a share c between 0 and 1; got {c}.")

    def rho(u: Expression) -> Any:
        if c in (0.0, 1.0):
            return u if c else 1.0 - u
        return np.minimum(u / c, (1.0 - u) / (Constant(np.array(1.0)) - c))  # an expression: rounded outward

    peak = Fraction(c)

    def moment(k: int) -> Fraction:
        """2 (1 + c + … + c^k) / ((k + 1) (k + 2))."""
        return 2 * sum((peak**i for i in range(k + 1)), Fraction(0)) / ((k + 1) * (k + 2))

    return Distribution("triang", loc, scale, 0.0, 1.0, rho, (0.0, 1.0), moment=moment)


def _at_least_one(name: str, *shapes: float) -> None:
    if min(shapes) < 1.0:
        raise ModelError(
            f"{name} has an infinite density with shape parameters below 1, and is not integrated then; got "
            f"{', '.join(map(str, shapes))}. Give samples instead: distribution.rvs(1000)."
        )


LAWS: dict[str, Callable[..., Distribution]] = {
    "uniform": _uniform,
    "norm": _normal,
    "truncnorm": _truncated,
    "expon": _exponential,
    "gamma": _gamma,
    "beta": _beta,
    "triang": _triangle,
}
