"""The numbers that steer the exchange, in one place: what each one is, and why it has its value."""

from __future__ import annotations

from dataclasses import dataclass

from ..validation import Configuration, Count, Factor, Natural, Positive, Seconds, Share


@dataclass(frozen=True)
class Tuning(Configuration):
    """Internal parameters of the exchange method. The defaults suit the whole catalogue; few models gain from others.

    Parameters
    ----------
    margin_share
        The share of the gap that margins of cuts may cost, of what margins leave that insets of cones may, and of the
        time kept for the last proofs that is kept in any case. Cuts are kept a little inside, so that the last point is
        exactly feasible; a larger share ends sooner and leaves less of the gap to the lower bound.
    share
        The share of the gap that anything else may cost, and from which on something is worth doing: room of finite
        rows, balancing multipliers, a smaller point, the edge of the box, fewer cuts, peaks below the threshold; the
        share of `tol` that margins are at first; the share of a time limit that is kept for the last proofs at most.
        Its inverse is by how much more things grow that proved to be too small: the box that stands in for infinite
        bounds, units of cone programs, violations that are left to the next relaxation.
    tries
        How often something is tried that may fail: bounds that leave the gap open, or hold in a region only, directions
        of unboundedness, margins, references, units; the iterations without a multiplier after which a cut is idle, and
        the cuts a variable beyond which idle ones are forgotten.
    patience
        Feasible points whose gap does not close, iterations without any change of x, smaller points that break
        constraints and magnifications, before rounding is to blame; Newton steps from one point; rows that are taken
        from one sample in `decompose`; the steps of a stage in the search for a direction of unboundedness.
    first_bounds
        Without a time limit: iterations after which a lower bound is first proven, to be shown and for the case of an
        interrupt; again after twice as many, and so on. Upper bounds begin after `tries` times as many.
    largest_margin
        The largest margin, relative to the size of right-hand sides; less of a margin than this share is no room. Its
        inverse is how large x may become along a direction that no row sees.
    visible
        How many times the accuracy of LP solvers the room of finite rows is. Margins that are less than its square are
        magnified to its third power; room that is so many times less than that accuracy is none.
    reach
        How far the box that stands in for infinite bounds reaches at first, times the largest right-hand side, or 1 if
        that is more, in the coordinates of the master.
    points
        Sampled rows for every coefficient, in one, two, three and more dimensions; those of one dimension also for
        every variable of the table in which extrema of a best approximation are looked for. No more are sampled in all
        than `least_points` coefficients would have in one dimension, for each dimension.
    least_points
        The fewest sampled rows, and how many are looked at in other places; the most peaks of a sample, and the most
        rows an index and entries a row with which sampling and Newton's method are worth their price.
    grace
        After an interrupt: the seconds of the last proofs, or `share` of those used if that is more. Whoever interrupts
        does not want to wait. One look for a violation along a direction of unboundedness takes no longer either, and
        no more than `tries` times as many are kept of a time limit.

    Examples
    --------
    >>> import lsip
    >>> method = lsip.Exchange(tuning=lsip.Tuning())
    >>> method.tuning == lsip.Tuning()
    True
    """

    margin_share: Share = 0.4
    share: Share = 0.1
    tries: Count = 4
    patience: Count = 8
    first_bounds: Natural = 8
    largest_margin: Positive = 1e-3
    visible: Factor = 5.0
    reach: Positive = 1e4
    points: tuple[Natural, ...] = (8, 40, 80, 100)
    least_points: Count = 64
    grace: Seconds = 0.5

    @property
    def inset_share(self) -> float:
        """The share of the gap that insets may cost, and outsets: half of what margins leave, together."""
        return 0.25 * (1.0 - self.margin_share)

    @property
    def calm(self) -> tuple[float, float]:
        """A margin between these multiples of the one wanted is left alone: it costs at most half of the gap."""
        return self.margin_share, 0.5 / self.margin_share


DEFAULTS = Tuning()
