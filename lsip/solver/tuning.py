"""The numbers that steer the exchange, in one place: what each one is, and why it has its value."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..validation import Configuration, Count, Factor, Natural, Positive, Share
from .clock import ClockTuning
from .conditioning import ConditioningTuning
from .sampling import SamplingTuning


@dataclass(frozen=True)
class IntegerTuning(Configuration):
    """How problems with integer variables are solved.

    Parameters
    ----------
    time_share
        The share of a time limit that the problem without integrality, or the branch and bound of a robust counterpart,
        may take.
    first_nodes
        Nodes of its first tree: where that is not enough, what it has found is proven before the next one begins.
    first_gap, gap_share
        The relative gap of the first branch and bound, and the share of the known gap that a later one is solved to, of
        the last where that brought no cuts, and of the value where only a point with room is asked for: before the cuts
        that matter are known, an exact tree is wasted.
    """

    time_share: Share = 0.5
    first_nodes: Count = 100
    first_gap: Share = 0.01
    gap_share: Share = 0.2


@dataclass(frozen=True)
class DecompositionTuning(Configuration):
    """How points of X and index points come together in `decompose`.

    Parameters
    ----------
    new_rows
        Rows that are taken from one sample, or one proof.
    smoothing
        How much of the best multipliers so far is mixed into those of the master, which keeps them from swinging.
    """

    new_rows: Count = 8
    smoothing: Share = 0.5


@dataclass(frozen=True)
class Tuning(Configuration):
    """How the exchange decides; the defaults serve the whole catalogue, and few models gain from others.

    What belongs to one part of it is a group of its own: ``Tuning(clock=ClockTuning(grace=1))``. The groups are in
    `lsip.solver`.

    Parameters
    ----------
    margin_share
        The share of the gap that margins of cuts may cost. Cuts are kept a little inside, so that the last point is
        exactly feasible; a larger share ends sooner and leaves less of the gap to the lower bound.
    share
        The share of the gap that anything else may cost, and from which on something is worth doing: room of finite
        rows, balancing multipliers, a smaller point, the edge of the box, fewer cuts; the share of `tol` that margins
        are at first.
    tries
        How often something is tried that may fail: bounds that leave the gap open, or hold in a region only, directions
        of unboundedness, margins, references; and the iterations without a multiplier after which a cut is idle.
    patience
        Feasible points whose gap does not close, iterations without any change of x, smaller points that break
        constraints and magnifications, before rounding is to blame; and Newton steps from one point.
    first_bounds
        Without a time limit: iterations after which a lower bound is first proven, to be shown and for the case of an
        interrupt; again after twice as many, and so on. Upper bounds begin after `tries` times as many.
    touching
        The share of the margin: index points at which less of it is left are cut off, too.
    calm
        A margin between these multiples of the one wanted is left alone.
    largest_margin
        The largest margin, relative to the size of right-hand sides; less of a margin than this share is no room.
    visible
        How many times the accuracy of LP solvers the room of finite rows is. Margins that are less than its square are
        magnified to its third power; room that is so many times less than that accuracy is none.
    reach, stretch
        How far the box that stands in for infinite bounds reaches at first, times the largest right-hand side, or 1 if
        that is more, in the coordinates of the master; and how much farther each time that this proves too little.
    many
        Cuts a variable beyond which idle ones are forgotten.
    nearly
        Violations of so many margins, or fewer, are left to the next relaxation and not to Newton steps.
    conditioning, sampling
        Coordinates of the finite program, and sampled rows that look for violations before proofs do.
    decomposition
        Points of X, and their mixtures.
    integers
        Branch and bound over integer variables, and the problems in which they are fixed.
    clock
        The time for the last proofs.
    """

    margin_share: Share = 0.4
    share: Share = 0.1
    tries: Count = 4
    patience: Count = 8
    first_bounds: Natural = 8
    touching: Share = 0.5
    calm: tuple[Positive, Positive] = (0.3, 1.2)
    largest_margin: Positive = 1e-3
    visible: Factor = 5.0
    reach: Positive = 1e4
    stretch: Factor = 10.0
    many: Count = 3
    nearly: Positive = 20.0
    conditioning: ConditioningTuning = field(default=ConditioningTuning())
    sampling: SamplingTuning = field(default=SamplingTuning())
    decomposition: DecompositionTuning = field(default=DecompositionTuning())
    integers: IntegerTuning = field(default=IntegerTuning())
    clock: ClockTuning = field(default=ClockTuning())
