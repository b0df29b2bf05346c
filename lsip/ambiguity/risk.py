"""Expectations in the worst case, conditional values at risk, and constraints that hold with a probability."""

from __future__ import annotations

from fractions import Fraction
from math import log, nextafter, sqrt
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np

from ..domains import Ball, Box, Domain
from ..domains.points import coordinates
from ..errors import ModelError
from ..expressions.affine import Variable
from ..integrals.integral import samples_of
from ..integrals.volume import number
from ..validation import Data, real, shown, whole
from .losses import Loss, LossPieces, UpperBound, averaged, fresh
from .moments import Moments


@runtime_checkable
class Ambiguity(Protocol):
    """A set of distributions: it bounds the expectations of a loss under all of them."""

    def worst(self, loss: LossPieces) -> UpperBound: ...


Over: TypeAlias = Ambiguity | Data  # an ambiguity set, or samples


def worst_expectation(loss: Loss, over: Over) -> UpperBound:
    """The largest expectation of a loss under all distributions of an ambiguity set, or its average over samples.

    Parameters
    ----------
    loss
        What is affine in x and depends on one index, the random one; or a list of such, of which the largest counts.
    over
        `lsip.ambiguity.Wasserstein(…)`, `lsip.ambiguity.Moments(…)`, or samples, (N, m) or (N,) for a number.

    Returns a `value` to minimise, or to bound from above, and `constraints` for the problem.

    Examples
    --------
    >>> import numpy as np, lsip
    >>> order, demand = lsip.Variable(name="order", lower=0), lsip.Index("demand", lsip.Interval(-np.inf, np.inf))
    >>> sales = lsip.worst_expectation([-demand, -order], lsip.ambiguity.Moments(10, 4))  # Scarf's newsvendor
    >>> profit = lsip.Problem(lsip.minimize(order + 5 * sales.value), sales.constraints).solve(verbose=False)
    >>> round(-profit.value, 6), round(profit[order], 4)
    (36.0, 11.5)
    """
    return _worst(LossPieces.of(loss, "worst_expectation"), over)


def _worst(loss: LossPieces, over: Over) -> UpperBound:
    if isinstance(over, Ambiguity):
        return over.worst(loss)
    return averaged(loss, samples_of(over, loss.index.domain, "worst_expectation"))


def cvar(loss: Loss, level: float, over: Over) -> UpperBound:
    """The conditional value at risk: the mean of a loss over its worst cases, of which there is a share 1 - level.

    Rockafellar and Uryasev (2000): the least t + E max(loss - t, 0) / (1 - level). With an ambiguity set, it is the
    largest over all of its distributions.

    Parameters
    ----------
    loss, over
        As `worst_expectation` takes them.
    level
        At least 0, where it is the mean, and below 1; 0.95 means the worst twentieth.

    Examples
    --------
    >>> import lsip
    >>> x, y = lsip.Variable(name="x", lower=0, upper=1), lsip.Index("y", lsip.Interval(0, 10))
    >>> risk = lsip.cvar(y - 3 * x, 0.75, [1, 2, 3, 6])
    >>> round(lsip.Problem(lsip.minimize(risk.value), risk.constraints).solve(verbose=False).value, 6)
    3.0
    """
    real("level", level, "is a number from 0 up to, but not including, 1", lambda v: 0 <= v < 1)
    closed = over.tail(LossPieces.of(loss, "cvar"), level) if isinstance(over, Moments) else None
    if closed is not None:
        return closed
    threshold, excess = Variable(name=fresh("threshold")), Variable(name=fresh("excess"))
    mean = _worst(LossPieces.of(loss, "cvar").less(threshold), over)
    share = number(1 - Fraction(float(level)))
    return UpperBound(threshold + excess, [share * excess >= mean.value, *mean.constraints])


def chance(loss: Loss, probability: float, over: Over) -> list[Any]:
    """Constraints with which loss <= 0 holds at least with a probability: that its CVaR at that level is at most 0.

    It is the tightest convex condition that depends on the loss beyond 0 (Nemirovski and Shapiro 2006), and it is
    conservative: it asks for more than the probability, since a positive loss must be little. An answer may be
    certified for this condition, while a better one has the probability too; the name of the constraint says so, in
    print and in reports. With samples, the probability is that of
    drawing one of them; with an ambiguity set, that under any of its distributions. `scenario_count` says how many
    samples are needed if all have to satisfy a constraint, instead.

    Examples
    --------
    >>> import numpy as np, lsip
    >>> x, y = lsip.Variable(name="x"), lsip.Index("y", lsip.Interval(0, 10))
    >>> enough = lsip.chance(y - x, 0.75, [1, 2, 3, 6])
    >>> round(lsip.Problem(lsip.minimize(x), enough).solve(verbose=False).value, 6)
    6.0
    """
    real("probability", probability, "is a number from 0 up to, but not including, 1", lambda v: 0 <= v < 1)
    risk = cvar(loss, probability, over)
    held = (risk.value <= 0).named(fresh(f"probability {probability:g} by CVaR, which is conservative"))
    return [held, *risk.constraints]


def scenario_count(variables: int, risk: float, confidence: float) -> int:
    """How many samples of the index a convex model must satisfy, so that its answer is broken with at most `risk`.

    Campi and Garatti (2008): with N independent samples and d variables, the probability that the answer is broken
    exceeds the risk with a probability of at most that of fewer than d successes in N trials. Returns the least N for
    which this is 1 - confidence at most.

    >>> import lsip
    >>> lsip.scenario_count(10, risk=0.05, confidence=0.999)
    447
    """
    whole("variables", variables, 1)
    risk = real("risk", risk, "is a number between 0 and 1", lambda v: 0 < v < 1)
    confidence = real("confidence", confidence, "is a number between 0 and 1", lambda v: 0 < v < 1)
    from scipy.special import bdtr

    def enough(n: int) -> bool:
        return bool(bdtr(variables - 1, n, risk) <= 1 - confidence)

    high = variables
    while high >= 2**53 or not enough(high):
        if high >= 2**53:
            raise ModelError(f"So small a risk needs more scenarios than can be counted; got {shown(risk)}.")
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high if not enough(low) else low


def hoeffding(m: int, risk: float) -> Domain:
    """An index set for m independent numbers in [-1, 1] with mean 0, over which to ask for what holds but for a risk.

    A constraint a0(x) + a(x) . z <= 0 that holds for all z of this set is broken by such random numbers with at most
    that probability, whatever their distributions (Ben-Tal and Nemirovski 2000). The set is the box, cut by the ball
    with radius √(2 log(1 / risk)).

    >>> import lsip
    >>> print(lsip.ambiguity.hoeffding(3, 0.3))
    [-1, 1]³ ∩ B((0, 0, 0), 1.55176)
    """
    m = coordinates(whole("m", m, 1), "hoeffding(m, risk)")
    risk = real("risk", risk, "is a number between 0 and 1", lambda v: 0 < v < 1)
    radius = nextafter(sqrt(2 * log(1 / risk)) * (1 + 1e-15), np.inf)
    box = Box(-np.ones(m), np.ones(m))
    return box if radius * radius >= m else box & Ball(np.zeros(m), radius)
