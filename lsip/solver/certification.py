"""Certification: whether a proposal ends the solve, and what its multipliers prove.

A point without violation is proven to be feasible, and multipliers to bound the optimum from below; bounds that meet
are an `End` with a certificate. The proofs are in `lsip.proof`; this file decides when to ask for one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..deadline import check
from ..errors import OutOfTime
from ..model.status import Status
from ..oracles import Separation
from ..proof.certificate import Array, Certificate, Support
from ..proof.families import Bounds
from ..proof.primal import NotProven
from ..proof.prove import DualBound, infeasible, optimal, unbounded
from ..proof.ray import Ray
from ..reductions.chain import inverse
from ..solution import messages
from .relaxation import Search, promote, separate, violation_bounds
from .rows import cuts_at
from .state import End, Proposal

# ---- separation -----------------------------------------------------------------------------------------------------


def sample(search: Search, point: Proposal) -> list[Separation] | None:
    """What sampled rows show at a point, if it is worth cuts before any proof."""
    sampling = search.relaxation.sampling
    if sampling is None:
        return None
    with search.clock.on("separation"):
        return sampling(search.state, point)


def ask_oracles(search: Search, point: Proposal) -> list[Separation]:
    """What the oracles say of a point."""
    known = search.relaxation.separated
    if known is not None and known[0] is point:
        return known[1]
    left, options = max(search.clock.left(), search.clock.least), search.options
    with search.clock.on("separation"):
        return separate(search.relaxation, point, search.state.margin, left, options.seed + len(search.state.history))


def separated(search: Search, point: Proposal) -> list[Separation]:
    """What the oracles say of a point that may be the answer; remember what a proof would still have taken."""
    found = ask_oracles(search, point)
    if any(s.work is not None for s in found):
        search.state.work = tuple(s.work for s in found)
    return found


def add_cuts(search: Search, separations: list[Separation]) -> int:
    """Add cuts at index points that violate a constraint, or nearly do; return their number."""
    least, known = -0.5 * search.state.margin, {}
    for f, s in enumerate(separations):
        if s.rows is not None:
            known[f] = s.rows[0][s.values > least], s.rows[1][s.values > least]
    return search.relaxation.add(cuts_at(separations, least), known)


def attempt(search: Search, point: Proposal, also: Sequence[Support] = ()) -> End | None:
    """The end, if the point is proven to be feasible and the bounds meet; otherwise add cuts where it is not.

    Sampled rows come first, and oracles where these find too little.
    """
    found = sample(search, point) or separated(search, point)
    bounds = violation_bounds(search.relaxation, found)
    end = certify(search, point, bounds) if bounds.worst <= 0 else None
    if end is None:
        search.relaxation.add([s.weighing(0.0) for s in also])
        add_cuts(search, found)
    return end


# ---- upper and lower bounds -----------------------------------------------------------------------------------------


def finish(search: Search, separations: list[Separation]) -> End | None:
    """The end, if this iterate is one."""
    state, relaxation = search.state, search.relaxation
    worst, bound = worst_violation(separations), max((s.bound for s in separations), default=-np.inf)
    if not state.slater and 0 < worst <= bound <= search.options.tol * relaxation.held.scale:
        return End(Status.NO_INTERIOR)
    if worst > 0 or (bound > 0 and worst > -0.5 * state.margin):
        return None
    if bound > 0 and state.proposal.bounded:
        check("exchange")  # which is why a proof may have ended early
        if promote(relaxation) or relaxation.fallback is not None or not relaxation.confirm(state):
            return None
        bound = state.violation.worst  # of a point that is not far out, whose terms round less
        if not np.isfinite(bound):  # a search has looked where nothing can be proven
            state.estimate = max(min(s.bound, s.estimate) for s in separations)
        if bound > 0:
            return End(Status.UNCERTIFIED if state.slater or not np.isfinite(bound) else Status.NO_INTERIOR)
    if bound <= 0:
        if not relaxation.confirm(state):
            return None
        end = certify(search, state.proposal, state.violation)
        if end is not None or not state.proposal.at_artificial_bound:
            return end or _wait(search)
    return check_recession(search) or _enlarge_box(search)


def worst_violation(separations: list[Separation]) -> float:
    """The largest violation that was found; -inf where there are no families."""
    return max((s.worst for s in separations), default=-np.inf)


def _wait(search: Search) -> End | None:
    """A feasible point whose gap does not close: halve the margins, until that has lasted too long."""
    state, tuning = search.state, search.options.tuning
    state.patience += 1
    state.margin *= 0.5
    late = (
        state.patience > tuning.tries // 2
        and not search.relaxation.zoom(state, out=False)
        and state.accept_scaled_gap()
    )
    if late and (end := recheck(search)) is not None:
        return end
    if state.patience <= tuning.patience:
        return None
    if state.incumbent is None and state.obstacle is not None:
        return End(Status.UNCERTIFIED, f"No violation found, but {state.obstacle.why}.")
    return End(Status.STALLED if state.slater else Status.NO_INTERIOR)


def certify(search: Search, point: Proposal, bounds: Bounds) -> End | None:
    """The end, if the bounds meet; otherwise remember the point and go on.

    What an oracle of the user's says is no proof: where lsip has one of its own, that is asked for.
    """
    with search.clock.on("proof"):
        try:
            broken = remember(search, point, bounds)
        except OutOfTime:
            check("exchange")
            broken = search.state.obstacle = NotProven(
                "the time that is left is too short for a proof of its finite rows"
            )
        return _close(search, point) if broken is None else _inconsistent(search, broken)


def remember(search: Search, point: Proposal, bounds: Bounds) -> NotProven | None:
    """Keep a point that is proven to be feasible; why it is not proven otherwise."""
    known = None if bounds.trusts else bounds
    found = point.feasible(search.program, search.relaxation.oracles, known, search.clock.left())
    if isinstance(found, NotProven):
        search.state.obstacle = found
        return found
    search.state.keep_feasible(found)
    return None


def _inconsistent(search: Search, found: NotProven) -> End | None:
    """Equalities that contradict each other by more than the rounding of their data: the end, if that is proven."""
    if found.contradiction is None:
        return None
    certificate = infeasible(search.program, (), found.contradiction, search.state.x)
    if certificate is not None:
        return End(Status.INFEASIBLE, certificate=certificate)
    return End(Status.UNCERTIFIED, f"The model looks inconsistent: {found.why}.")


def _close(search: Search, point: Proposal) -> End | None:
    """The end, if these multipliers prove that no point is better than the incumbent by more than the gap."""
    state, best = search.state, search.state.incumbent
    if best is None or len(state.history) < search.due:
        return None
    try:
        lower = best_lower_bound(search, point, best.point.x, state.allowed(best.upper))
    except OutOfTime:
        check("exchange")  # otherwise it is only too much for the time that is left
        return None
    return closed_by(search, lower)


def closed_by(search: Search, lower: DualBound) -> End | None:
    """The end, if this bound and the best point are close enough."""
    state, best, tuning = search.state, search.state.incumbent, search.options.tuning
    if best is None:
        return None
    lower = lower.at(search.program, best.point)
    if not search.closed(best, lower):
        search.unclosed += 1
        search.due = len(state.history) + max(search.unclosed - tuning.tries, 0) // 2
        return None
    if np.isfinite(lower.radius) and search.regional < tuning.tries:
        search.regional += 1
        return None
    certificate = optimal(search.program, best, lower, state.x, state.violation)
    return End(Status.UNCERTIFIED if certificate.trusts else Status.OPTIMAL, certificate=certificate)


def best_lower_bound(search: Search, point: Proposal, centre: Array, allowed: float) -> DualBound:
    """The best bound so far, or what these multipliers prove if that is better."""
    state = search.state
    lower = search.relaxation.lower_bound(state, point, centre, allowed)
    state.keep_lower(lower)
    if state.proven is None or lower is state.proven or lower.value > state.proven.value + allowed:
        return lower
    return state.proven.around(search.program, centre)


def recheck(search: Search) -> End | None:
    """The end, if a feasible point found earlier is good enough for the lower bound of this iteration."""
    best, state = search.state.incumbent, search.state
    if best is None or best.upper - state.relaxed > state.allowed(best.upper):
        return None
    with search.clock.on("proof"):
        return _close(search, state.proposal)


# ---- unboundedness --------------------------------------------------------------------------------------------------


def check_recession(search: Search) -> End | None:
    """The end, if a direction of unboundedness is proven; the relaxation touches the box for infinite bounds."""
    state, relaxation = search.state, search.relaxation
    if relaxation.recession is None or search.unproven_rays >= search.options.tuning.tries:
        return None  # the optimum may lie far out instead
    ray = relaxation.recession(search.clock)
    if isinstance(ray, np.ndarray):
        search.unproven_rays += 1
        state.direction = ray
    if not isinstance(ray, Ray) or not relaxation.confirm(state):
        return None
    found = state.proposal.feasible(search.program, relaxation.oracles, None, search.clock.left())
    worst, slope = max(state.violation.values, default=0.0), max(ray.drift, default=0.0)
    if isinstance(found, NotProven) and 0 < worst < np.inf and slope < 0:
        # A direction into the interior leads to a feasible point.
        inner = Proposal(state.x + 1.1 * worst / -slope * ray.direction)
        found = inner.feasible(search.program, relaxation.oracles, None, search.clock.left())
    if isinstance(found, NotProven):
        return None
    certificate = unbounded(search.program, found, ray.direction, search.clock.left())
    return None if certificate is None else End(Status.UNBOUNDED, certificate=certificate)


def _enlarge_box(search: Search) -> End | None:
    """Look further out, or give up."""
    relaxation, d = search.relaxation, search.state.direction
    if relaxation.zoom(search.state, out=True):
        search.state.patience = 0
        return None
    evidence = relaxation.escape
    if d is not None:  # it could not be proven
        found = inverse(search.program, Certificate("none", search.state.x, -np.inf, np.inf, direction=d)).direction
        assert found is not None
        evidence = messages.unbounded_direction(search.given, found)
    return End(Status.UNCERTIFIED if evidence else Status.STALLED, evidence)
