"""The numbers that steer the exchange, in one place: what each one is, and why it has its value."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..expressions.interval import EPS
from ..validation import Configuration, Count, Distance, Factor, Natural, Positive, Share
from .clock import ClockTuning
from .conditioning import ConditioningTuning
from .remez import RemezTuning
from .sampling import SamplingTuning


@dataclass(frozen=True)
class MarginTuning(Configuration):
    """The margins that cuts are kept by, and what a lack of room means.

    Parameters
    ----------
    first
        The share of `tol`, in units of right-hand sides, before anything is known about what a margin costs.
    largest
        The largest margin, relative to the size of right-hand sides.
    calm
        A margin between these two multiples of the one wanted is left alone; otherwise the relaxation is solved again.
    most_tried
        Margins that are tried until the relaxation has a solution.
    broken
        Relative to the size of right-hand sides: cuts that miss by more contradict each other.
    flat, least_room
        The share of the margin, and of the size of right-hand sides: less room than either is none.
    below_flat
        Relative to that size: how far beyond the least violation a model without interior is solved.
    """

    first: Positive = 0.1
    largest: Positive = 1e-3
    calm: tuple[Positive, Positive] = (0.3, 1.2)
    most_tried: Count = 40
    broken: Positive = 1e-9
    flat: Positive = 1e-3
    least_room: Positive = 1e-11
    below_flat: Positive = 1e-10


@dataclass(frozen=True)
class BoxTuning(Configuration):
    """The box that stands in for infinite bounds, in the coordinates of the master.

    Parameters
    ----------
    reach
        How far it reaches at first, times the largest right-hand side, or 1 if that is more.
    stretch
        How much farther it reaches each time that this proves too little.
    near_edge
        The share of it beyond which a coordinate leans on it.
    price
        The share of `tol` that it may cost and still not matter.
    """

    reach: Positive = 1e4
    stretch: Factor = 10.0
    near_edge: Share = 0.99
    price: Share = 0.05


@dataclass(frozen=True)
class SmallerTuning(Configuration):
    """Of many optimal points, a small one is looked for where the first leans on the box.

    Parameters
    ----------
    cost
        The share of the gap that a smaller point may cost.
    most_broken
        Smaller points that break constraints, before one that leans on the box will do.
    most_entries
        Numbers in rows, beyond which the linear program would take long.
    """

    cost: Share = 0.1
    most_broken: Count = 20
    most_entries: Count = 200_000


@dataclass(frozen=True)
class ZoomTuning(Configuration):
    """Margins that an LP solver cannot see are magnified around its last point.

    Parameters
    ----------
    fine
        Margins below this are too small for the 1e-10 to which an LP solver keeps rows.
    visible
        What they become.
    most
        How often, in one solve.
    largest_power
        The largest magnification, as a power of two.
    """

    fine: Positive = 2e-9
    visible: Positive = 2e-8
    most: Count = 6
    largest_power: Count = 24


@dataclass(frozen=True)
class MasterTuning(Configuration):
    """The finite linear program of an exchange.

    Parameters
    ----------
    largest_side
        The largest right-hand side. LP solvers take numbers beyond 1e20 for infinite, and the box for infinite bounds
        reaches a thousand times as far.
    most_cornered
        The dimension up to which corners of the index set are among the first points; there are too many beyond.
    inset
        Room that finite inequalities keep, in units of their largest entry: more than a solver's tolerance.
    ill_scaled
        Sampled rows have entries about 1: a cut with larger ones than this sees what they do not, and coordinates are
        chosen anew.
    many, many_flat, many_anyway
        Cuts a variable beyond which idle ones are forgotten, the same on a flat optimal face, and as many in any case.
    most_idle
        Iterations without a multiplier after which a cut is idle.
    worth_dropping
        The share of all cuts that has to be idle: a smaller master costs a factorisation.
    touching
        The share of its terms: a cut with less room than that at the last point holds it, whatever its multiplier.
    """

    largest_side: Positive = 1e16
    most_cornered: Count = 8
    inset: Positive = 4e-10
    ill_scaled: Positive = 1e3
    many: Count = 3
    many_flat: Count = 30
    many_anyway: Count = 200
    most_idle: Count = 4
    worth_dropping: Share = 0.2
    touching: Share = 1e-6


@dataclass(frozen=True)
class NewtonTuning(Configuration):
    """When Newton steps on the active index points are tried.

    Parameters
    ----------
    steps
        Steps from one point; near a solution, few reach machine precision.
    nearly
        Violations of so many margins, or fewer, are left to the next relaxation.
    close
        The share of the size of right-hand sides and value: from larger violations Newton leads nowhere.
    widest
        Entries of a row: in large models, wider ones would fill the reduced system.
    """

    steps: Count = 6
    nearly: Positive = 20.0
    close: Positive = 0.1
    widest: Count = 50


@dataclass(frozen=True)
class IntegerTuning(Configuration):
    """How problems with integer variables are solved.

    Parameters
    ----------
    relaxed_share
        The share of a time limit that the problem without integrality may take.
    whole_share
        The share that the branch and bound of a robust counterpart may take.
    first_nodes
        Nodes of its first tree: where that is not enough, what it has found is proven before the next one begins.
    first_margin, margins, margin_step
        The share of `tol` by which the rows of such a counterpart are kept first with its integers fixed, how many
        margins are tried, and how much smaller, or larger, the next one is.
    tree_share, fixed_share
        The shares of `tol` that the last branch and bound, and a problem with fixed integers, are solved to.
    first_gap, gap_share, sooner
        The relative gap of the first branch and bound, the share of the known gap that a later one is solved to, and
        how much smaller its gap is made where the last one brought no cuts: before the cuts that matter are known, an
        exact tree is wasted.
    room_gap, retreats
        The relative gap of a branch and bound that is only asked for a point with room, and how often it is asked, each
        time for twice as much.
    near
        How far from whole numbers the integer variables of a relaxation may be to be rounded at once; and from zero,
        relative to the largest, others where there is no room.
    """

    relaxed_share: Share = 0.5
    whole_share: Share = 0.8
    first_nodes: Count = 100
    first_margin: Share = 0.1
    margins: Count = 4
    margin_step: Share = 0.1
    tree_share: Share = 0.1
    fixed_share: Share = 0.4
    first_gap: Share = 0.01
    gap_share: Share = 0.3
    sooner: Share = 0.2
    room_gap: Share = 0.2
    retreats: Count = 5
    near: Distance = 1e-6


@dataclass(frozen=True)
class DecompositionTuning(Configuration):
    """How points of X and index points come together in `decompose`.

    Parameters
    ----------
    new_rows
        Rows that are taken from one sample, or one proof.
    rounds
        Rounds of new rows before the next point of X is asked for.
    worth
        The share of the gap: rows that are broken by less wait.
    large
        From so many variables on, a point of X costs more than a proof, and a feasible point is sought at once.
    smoothing
        How much of the best multipliers so far is mixed into those of the master, which keeps them from swinging.
    shaved
        Taken off lower bounds, relative to their size: a fresh call of `maximise` may bound less sharply.
    margin_share
        The share of the gap, and of the room of a point inside, that margins may cost.
    first_points
        Points of X that are asked for until some mixture keeps the known rows.
    deepenings
        Points of X that are asked for until some mixture has room.
    rounded
        How far beyond a bound, relative to its size, a coordinate is taken for one that was rounded.
    """

    new_rows: Count = 8
    rounds: Count = 4
    worth: Share = 0.1
    large: Count = 300
    smoothing: Share = 0.5
    shaved: Share = 1e-12
    margin_share: Share = 0.3
    first_points: Count = 1000
    deepenings: Count = 3
    rounded: Share = 4 * EPS


@dataclass(frozen=True)
class Tuning(Configuration):
    """How the exchange decides; the defaults serve the whole catalogue, and few models gain from others.

    What belongs to one part of it is a group of its own: ``Tuning(newton=NewtonTuning(steps=4))``. The groups are in
    `lsip.solver`.

    Parameters
    ----------
    margin_share
        The share of the gap that margins of cuts may cost. Cuts are kept a little inside, so that the last point is
        exactly feasible; a larger share ends sooner and leaves less of the gap to the lower bound.
    finest_margin
        The least margin, in equilibrated rows; below it rounding hides it.
    too_small
        The share of `tol`: margins for a gap below it are finer than LP solvers are accurate.
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
    unclosed
        Lower bounds that leave the gap open, before the next ones wait: for half as many iterations as there were
        more of them. Where the infimum is not attained none closes it, and 0.85 of the time went into such bounds.
    unproven_rays
        Directions that could not be proven, after which none is looked for any more: the optimum may lie far out.
    stretches
        How often the box that stands in for infinite bounds grows tenfold.
    first_lower, first_upper
        Without a time limit: iterations after which a lower and an upper bound are first proven, to be shown and for
        the case of an interrupt; again after twice as many, and so on.
    touching
        The share of the margin: index points at which less of it is left are cut off, too.
    margins, box, smaller, zoom
        Of linear relaxations: margins of cuts, the box for infinite bounds, small points among many, and margins that
        LP solvers cannot see.
    master, conditioning, sampling
        Of their finite program: its rows, its coordinates, and sampled rows that look for violations before proofs do.
    newton
        Newton steps on the active index points.
    remez
        References of best approximations in one dimension.
    decomposition
        Points of X, and their mixtures.
    integers
        Branch and bound over integer variables, and the problems in which they are fixed.
    clock
        The time for the last proofs.
    """

    margin_share: Share = 0.4
    finest_margin: Positive = 2e-14
    too_small: Share = 1e-3
    row_share: Share = 0.1
    proof_share: Share = 0.1
    patience: Count = 8
    soon: Count = 2
    frozen: Count = 6
    regional: Count = 3
    unclosed: Count = 4
    unproven_rays: Count = 3
    stretches: Count = 12
    first_lower: Natural = 8
    first_upper: Natural = 32
    touching: Share = 0.5
    margins: MarginTuning = field(default=MarginTuning())
    box: BoxTuning = field(default=BoxTuning())
    smaller: SmallerTuning = field(default=SmallerTuning())
    zoom: ZoomTuning = field(default=ZoomTuning())
    master: MasterTuning = field(default=MasterTuning())
    conditioning: ConditioningTuning = field(default=ConditioningTuning())
    sampling: SamplingTuning = field(default=SamplingTuning())
    newton: NewtonTuning = field(default=NewtonTuning())
    remez: RemezTuning = field(default=RemezTuning())
    decomposition: DecompositionTuning = field(default=DecompositionTuning())
    integers: IntegerTuning = field(default=IntegerTuning())
    clock: ClockTuning = field(default=ClockTuning())
