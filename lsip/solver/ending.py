"""The end of a solve: the best bounds that can still be proven, and the solution in the units of the model."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from ..deadline import within
from ..errors import OutOfTime
from ..masters import MasterError
from ..model.program import Program
from ..model.status import Status
from ..proof.certificate import Array, Certificate
from ..proof.dual import Dual
from ..proof.prove import DualBound, optimal, rounding_of, row_terms
from ..reductions.chain import inverse
from ..reductions.factor_out_zeros import tight
from ..solution import messages
from ..solution.result import Iterate
from .anytime_bounds import slater_combination
from .certification import ask_oracles, best_lower_bound, remember
from .relaxation import Search, objective, oracle_names, violation_bounds
from .state import End


def last_fields(search: Search, end: End) -> dict[str, Any]:
    """What a solution says at the end; without a certificate, with the best bounds that can be proven now."""
    if end.certificate is None:
        end = _stopped(search, end.status, end.evidence)
    assert end.certificate is not None
    relaxation, state = search.relaxation, search.state
    status, certificate, evidence = end.status, end.certificate, end.evidence
    if not relaxation.scaling.returns(certificate) and status.claims_proof:
        status, evidence = Status.UNCERTIFIED, messages.UNITS
    certificate = inverse(search.program, certificate)
    return {
        "status": status,
        "certificate": certificate,
        "history": _history(search, certificate),
        "negligible": relaxation.negligible,
        "atol": relaxation.atol,
        "oracle": oracle_names(relaxation.oracles),
        "cuts": tuple(relaxation.held.cuts),
        "evidence": evidence,
        "oracles": tuple(relaxation.oracles),
        **relaxation.extras(state.best, state.proposal),
    }


def nothing(given: Program) -> Certificate:
    """What is known of a program before anything is."""
    x = np.clip(np.zeros(given.n), given.lower, given.upper)
    return Certificate("none", x, -np.inf, np.inf, finite_violation=max(given.finite_violation(x), 0.0))


def _history(search: Search, certificate: Certificate) -> tuple[Iterate, ...]:
    """The iterations; the last one with the bounds that were proven after it."""
    if not search.state.history:
        return ()
    *before, last = search.state.history
    lower, upper = certificate.lower, certificate.upper
    lower, upper = (-upper, -lower) if search.given.maximise else (lower, upper)
    return (*before, replace(last, lower=lower, upper=upper, seconds=search.clock.used()))


# ---- the last proofs ------------------------------------------------------------------------------------------------


def _stopped(search: Search, status: Status, evidence: str) -> End:
    hurried = status in (Status.TIME_LIMIT, Status.INTERRUPTED)
    if hurried:
        search.clock.allow_last_proofs(status is Status.INTERRUPTED)
    with search.clock.on("proof"), search.clock.running(), np.errstate(over="ignore", invalid="ignore"):
        return _last_proofs(search, status, evidence, hurried)


def _last_proofs(search: Search, status: Status, evidence: str, hurried: bool) -> End:
    state, program = search.state, search.program
    state.scaled_gap = state.closing = True
    with suppress(OutOfTime, MasterError):
        if not state.begun or len(state.proposal.rows) != program.finite_rows:
            search.relaxation.propose(state)
    here = None  # what is proven around x itself
    if hurried and state.begun:  # most of the time for the lower bound, where there is none
        with suppress(OutOfTime), within((0.5 if state.proven is not None else 0.8) * search.clock.left()):
            allowed = state.allowed(objective(program, state.x))
            here = search.relaxation.lower_bound(state, state.proposal, state.x, allowed)
            state.keep_lower(here)
    with suppress(OutOfTime):
        if state.incumbent is None and state.obstacle is None and state.violation.worst <= 0:
            remember(search, state.proposal, state.violation)
        slater_combination(search)
        evidence = _no_room(search) if status is Status.NO_INTERIOR else evidence
    best = state.best
    x = state.x if best is None else best.point.x
    lower = _last_lower(search, x, here if best is None else None, hurried)
    lower = lower if best is None else lower.at(program, best.point)
    certificate = optimal(program, best, lower, state.x, state.violation)
    if best is not None and search.closed(best, lower):
        status = Status.UNCERTIFIED if certificate.trusts else Status.OPTIMAL
    return End(status, _evidence(search, status, lower, evidence), certificate)


def _last_lower(search: Search, x: Array, here: DualBound | None, hurried: bool) -> DualBound:
    """The best bound that is proven, or can be proven in the time left; `here` is one around x."""
    known = search.state.proven
    try:
        if known is None and here is not None:
            return here
        if known is None or not hurried:
            allowed = search.state.allowed(objective(search.program, x))
            return best_lower_bound(search, search.state.proposal, x, allowed)
        return known.around(search.program, x)
    except OutOfTime:
        return DualBound(-np.inf, Dual((), np.zeros(search.program.finite_rows))) if known is None else known


# ---- messages -------------------------------------------------------------------------------------------------------


def _evidence(search: Search, status: Status, lower: DualBound, known: str) -> str:
    """What to say about a solve without a proof: what is `known`, or why there is none."""
    state, best = search.state, search.state.best
    if status is Status.OPTIMAL:
        return ""
    if status is Status.STALLED and best is not None and best.upper - lower.value <= search.options.tol:
        return messages.small_value((best.upper - lower.value) / search.relaxation.scaling.objective)
    if known:
        return known
    if status is Status.STALLED and state.direction is None:
        with suppress(OutOfTime):
            place = messages.no_bounds(search.given.families) if best is None else ""
            if place:
                return f"Stopped without a feasible point: {place}"
            return _cancels(search, state.x if best is None else best.point.x)
    if status is Status.UNCERTIFIED and best is None and np.isfinite(state.estimate):
        return messages.sampled_only(search.given, _doubt(search, lower), state.estimate <= 0)
    if status in (Status.UNCERTIFIED, Status.TIME_LIMIT) and state.incumbent is None:
        return messages.proof_unfinished(search.given, status, state.work)
    return ""


def _cancels(search: Search, x: Array) -> str:
    """A sentence about the family with the largest terms at x, if their rounding costs more than the gap to reach."""
    state, rows = search.state, search.state.proposal.support
    sizes = row_terms(search.program, x, rows)
    cost = rounding_of(max(sizes, default=0.0)) * sum(s.multiplier for s in rows)
    if not cost > max(state.tol * abs(objective(search.program, x)), state.atol):
        return ""
    return messages.cancelled(search.given.families[rows[int(np.argmax(sizes))].family], max(sizes))


def _doubt(search: Search, lower: DualBound) -> float:
    """How far the value is off at most, relative to it, if the violation is not larger than it seems."""
    value = objective(search.program, search.state.x)
    missed = max(search.state.estimate, 0.0) * sum(s.multiplier for s in lower.dual.support)
    return (abs(value - lower.value) + missed) / max(abs(value), abs(lower.value))


def _no_room(search: Search) -> str:
    """By how much the last point may violate which constraints, where no point has room in all."""
    state, given = search.state, search.given
    if state.violation.worst == np.inf:
        state.violation = violation_bounds(search.relaxation, ask_oracles(search, state.proposal))
    pairs = enumerate(zip(given.families, state.violation.values, strict=True))
    scaling = search.relaxation.scaling
    broken = [(family.legend.name, scaling.violation(f, v)) for f, (family, v) in pairs if 0 < v < np.inf]
    return messages.no_interior(broken, tight(given))
