"""The numbers that steer the exchange, in one place: what each one is, and why it has its value."""

from __future__ import annotations

from dataclasses import dataclass

from ..validation import real, whole


@dataclass(frozen=True)
class Tuning:
    """How the exchange decides; the defaults serve the whole catalogue, and few models gain from others.

    Parameters
    ----------
    margin_share
        The share of the gap that margins of cuts may cost. Cuts are kept a little inside, so that the last point is
        exactly feasible; a larger share ends sooner and leaves less of the gap to the lower bound.
    finest_margin
        The least margin, in equilibrated rows; below it rounding hides it.
    row_share
        The share of the gap that the room of finite rows may cost.
    proof_share
        The share of the gap that balancing multipliers may give up.
    patience
        Feasible points whose gap does not close, before the solve ends as stalled.
    soon
        How many of them, before a gap relative to the terms of the dual will do. More wait for digits that
        rounding has taken.
    frozen
        Iterations without any change of x after which rounding is to blame.
    regional
        Bounds that hold in a region only, before one is taken as the answer: further cuts may give multipliers that
        balance everywhere.
    unproven_rays
        Directions that could not be proven, after which none is looked for any more: the optimum may lie far out.
    stretches
        How often the box that stands in for infinite bounds grows tenfold.
    retreats
        Attempts to find a strictly feasible point when a solve is stopped early.
    first_shown, shown_share
        Seconds before bounds are proven only to be shown, and the share of the time that this may take.
    early, early_share, most_early
        With a time limit: the share of it after which bounds are first proven, the share that proving them may take,
        and the most that one such proof may.
    """

    margin_share: float = 0.4
    finest_margin: float = 1e-13
    row_share: float = 0.1
    proof_share: float = 0.1
    patience: int = 8
    soon: int = 2
    frozen: int = 6
    regional: int = 3
    unproven_rays: int = 3
    stretches: int = 12
    retreats: int = 6
    first_shown: float = 1.0
    shown_share: float = 0.05
    early: float = 0.1
    early_share: float = 0.1
    most_early: float = 0.3

    def __post_init__(self) -> None:
        for name in ("patience", "soon", "frozen", "regional", "unproven_rays", "stretches", "retreats"):
            whole(name, getattr(self, name), 0)
        for name in ("margin_share", "row_share", "proof_share", "shown_share", "early", "early_share", "most_early"):
            real(name, getattr(self, name), "is a share between 0 and 1", lambda v: 0 < v < 1)
        real("finest_margin", self.finest_margin, "is a positive number", lambda v: v > 0)
        real("first_shown", self.first_shown, "is a number of seconds", lambda v: v >= 0)
