"""What a step is for, given what has been found over Y: the reward, the worst costs, or both at a price.

Every rule turns what was found into an `Objective`: raise a V_r - sum of p_i V_{c_{y_i}}, with weights a and p. SI-CPO,
Exchange Policy Optimisation and PPO-Lagrangian differ in nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import special

from . import validation
from .separation import RankedPoints

Array = NDArray[np.float64]


class Objective(NamedTuple):
    """Raise `reward` V_r - sum of prices_i V_{c_{y_i}}."""

    reward: float
    points: Array  # (k, m), at least one
    prices: Array  # (k,), not negative


class Choice(NamedTuple):
    """What a rule has decided."""

    objective: Objective
    good: bool  # every constraint is kept to within the tolerance
    points: Array  # (k, m), the working set from now on
    prices: Array  # (k,), its multipliers


class Rule(Protocol):
    """A way to choose what a step is for."""

    @property
    def eta(self) -> float:
        """The tolerance: violations up to it are good. A negative one is a margin."""

    def choose(self, worst: RankedPoints, points: Array, prices: Array, arrived: float) -> Choice:
        """Decide what to step on.

        Given the index points that an oracle found, the working set so far, and the share of episodes that came to
        their own end.
        """


@dataclass(frozen=True)
class Switch:
    """SI-CPO: step on the reward where every constraint is kept to within `eta`, else on the costs that break it.

    Parameters
    ----------
    eta
        The tolerance.
    switch
        "worst" steps on the cost at the worst index point, as in the paper; "set" on those at all points that are known
        to violate their constraints by more than `eta`, in proportion to their violations. "likely" also sees that
        violations are estimates: it steps on both reward and costs, on costs with the probability that the constraint
        is violated, room for a trial included, so that chance decides about no step alone. Where nothing is random it
        is "set".
    only_arrived
        Step on costs only when every episode has come to its own end.
    merge
        Points of a set that are nearer than this share of the width of Y count as one.
    unlikely
        Points that are violated with a probability below this play no part in "likely".
    """

    eta: float = 0.01
    switch: Literal["worst", "set", "likely"] = "worst"
    only_arrived: bool = False
    merge: float = 0.01
    unlikely: float = 0.02

    def __post_init__(self) -> None:
        validation.number("eta", self.eta)
        validation.number("merge", self.merge, "share")
        validation.number("unlikely", self.unlikely, "share")
        validation.choice("switch", self.switch, ("worst", "set", "likely"))
        validation.flag("only_arrived", self.only_arrived)

    def choose(self, worst: RankedPoints, points: Array, prices: Array, arrived: float) -> Choice:
        good = worst.value <= self.eta
        none = worst.points[:0]
        if self.switch == "likely" and worst.error is not None and not (self.only_arrived and arrived < 1):
            return self._likely(worst, points, good)
        if good or (self.only_arrived and arrived < 1):
            return Choice(Objective(1.0, worst.y[None], np.zeros(1)), True, none, np.zeros(0))
        if self.switch == "worst":
            return Choice(Objective(0.0, worst.y[None], np.ones(1)), False, none, np.zeros(0))
        known = worst.joined(points, self.merge)
        values = worst.at(known)
        known, values = known[values > self.eta], values[values > self.eta]
        weights = values - min(self.eta, 0.0)  # positive, with a margin too
        return Choice(Objective(0.0, known, weights / weights.sum()), False, known, weights / weights.sum())

    def _likely(self, worst: RankedPoints, points: Array, good: bool) -> Choice:
        """Reward and costs, in the units of each, in shares of how likely it is that the constraint is violated."""
        assert worst.error is not None
        known = worst.joined(points, self.merge)
        lacks, errors = worst.lacking(known) - self.eta, worst.error(known)
        chances = special.ndtr(lacks / np.maximum(errors, 1e-12 * worst.units[1]))
        stays = chances > self.unlikely
        if not stays.any():
            return Choice(Objective(1.0, worst.y[None], np.zeros(1)), good, known[:0], np.zeros(0))
        known, chances = known[stays], chances[stays]
        share, weights = chances.max(), chances / chances.sum()
        aim = Objective((1 - share) / worst.units[0], known, share * weights / worst.units[1])
        return Choice(aim, good, known, weights)


@dataclass(frozen=True)
class Exchange:
    """Exchange Policy Optimisation (arXiv 2511.04147): a working set of index points, each with a multiplier.

    In every round, index points whose violation exceeds `eta` join the working set, and points whose multiplier has
    come down to zero leave it. The finite problem on the set is approached by primal-dual steps on all of it: the
    multipliers follow the violations of their points, lambda_i <- max(0, lambda_i + rate v_i), and the policy follows

        (A_r - sum of p_i A_{c_{y_i}}) / (1 + sum of p_i),   p_i = max(0, lambda_i + gain v_i).

    With `gain` 0 these are the multipliers themselves, which swing around what they are to be: they go on rising while
    a point is violated, however little. A gain prices the violation of now as well, as an augmented Lagrangian does,
    and so damps the swings; where all places lie near their bounds at once, nothing is feasible for long without it.
    And while a policy is still learning anything at all, multipliers add up violations that no price could have
    prevented, a debt that takes far longer to come down than it took to build up, because slack is smaller than the
    violations of a beginner. With a `saturation`, violations and slack count as at most so much.

    Where episodes are random, a policy that just keeps its bounds is found feasible every other time, and one that is
    to be kept must show it with confidence. So where the last evaluation saw no violation, the room that this takes
    at each point is asked for as well: a violation counts as v_i plus that.

    Parameters
    ----------
    eta
        The tolerance of the exchange; a negative one is a margin, which multipliers ask of their points.
    rate
        Of the multipliers.
    merge
        Points that are nearer than this share of the width of Y count as one.
    gain
        Of the violations of now; about ten times the rate damps well.
    saturation
        What violations and slack count as at most.
    """

    eta: float = 0.01
    rate: float = 0.1
    merge: float = 0.01
    gain: float = 0.0
    saturation: float = np.inf

    def __post_init__(self) -> None:
        validation.number("eta", self.eta)
        validation.number("rate", self.rate, "positive")
        validation.number("merge", self.merge, "share")
        validation.number("gain", self.gain, "amount")
        if not (isinstance(self.saturation, float) and self.saturation == np.inf):
            validation.number("saturation", self.saturation, "positive")

    def choose(self, worst: RankedPoints, points: Array, prices: Array, arrived: float) -> Choice:
        joined = worst.joined(points, self.merge, above=self.eta)
        before = np.concatenate([prices, np.zeros(len(joined) - len(prices))])
        of_return, of_cost = worst.units
        short = (worst.lacking(joined) - min(self.eta, 0.0)) / of_cost
        lacking = short.clip(-self.saturation, self.saturation) * of_return / of_cost
        after = np.maximum(0.0, before + self.rate * lacking)
        stays = after > 0
        joined, after, lacking = joined[stays], after[stays], lacking[stays]
        prices = np.maximum(0.0, after + self.gain * lacking)
        total, good = 1 + prices.sum(), worst.value <= self.eta
        aim = Objective(1 / total, joined, prices / total)
        return Choice(aim if len(joined) else Objective(1.0, worst.y[None], np.zeros(1)), good, joined, after)


@dataclass(frozen=True)
class Lagrangian:
    """One multiplier prices the cost at the worst index point; a violation raises it, slack lowers it.

    Parameters
    ----------
    eta
        Violations up to it are reported as good; a negative one is a margin, which the multiplier asks for.
    rate
        Of the multiplier.
    multiplier
        The first one.
    """

    eta: float = 0.01
    rate: float = 0.1
    multiplier: float = 0.0

    def __post_init__(self) -> None:
        validation.number("eta", self.eta)
        validation.number("multiplier_rate", self.rate, "positive")
        validation.number("multiplier", self.multiplier, "amount")

    def choose(self, worst: RankedPoints, points: Array, prices: Array, arrived: float) -> Choice:
        before = prices[0] if len(prices) else self.multiplier
        of_return, of_cost = worst.units
        price = max(0.0, before + self.rate * (worst.value - min(self.eta, 0.0)) * of_return / of_cost**2)
        y, after = worst.y[None], np.array([price])
        return Choice(Objective(1 / (1 + price), y, after / (1 + price)), worst.value <= self.eta, y, after)
