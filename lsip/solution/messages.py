"""Every sentence that ends a solve, status by status: what happened, and what to do next, in at most three lines.

`Status` has the sentences for ends about which no more is known; those here have the particulars. A solver keeps one of
them as the `evidence` of its result, and `message` chooses what a person reads.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ..legible import shortened
from ..model.coefficients import undefined_at
from ..model.families import RowFamily
from ..model.program import Program
from ..model.status import Status
from ..oracles import Work, prover
from ..oracles.choice import PROVERS
from ..proof.certificate import Array
from .outward_rounding import above
from .result import Result

MOST_NAMED = 2  # constraints, variables or assumptions that one message names
LONGEST_NAME = 56  # characters of a formula in a message

UNCHECKED = "Read from a file and not checked yet. Call verify(): it returns the solution proven, or raises ProofError."
OPEN = "No violation found, but one is not excluded"


def message(result: Result) -> str:
    """What the status means and what to do next."""
    if not result.checked and result.status.claims_proof:
        return UNCHECKED
    if result.evidence:
        return result.evidence if result.status is Status.UNCERTIFIED else _on_conditions(result, result.evidence)
    if result.wide:
        return optimal_to_atol(result)
    if result.status is not Status.UNCERTIFIED:
        return _on_conditions(result, result.status.value)
    if result.certificate.trusts and math.isfinite(result.certificate.upper):
        return f"The bounds rest on assumptions that are not proven. {_assumptions(result)}"
    why = no_proof(result.program, result.certificate.violation, result.oracle, "oracle" in result.effort.options)
    return f"{OPEN}: {why}"


def _on_conditions(result: Result, sentence: str) -> str:
    """A sentence with the assumptions that bounds rest on."""
    if not result.certificate.trusts:
        return sentence
    return f"{sentence.replace('he bounds are valid', 'he bounds are valid on a condition')} {_assumptions(result)}"


def _assumptions(result: Result) -> str:
    trusts = result.certificate.trusts
    more = len(trusts) - MOST_NAMED
    return " ".join([*trusts[:MOST_NAMED], *([f"{more} more are in `certificate.trusts`."] if more > 0 else [])])


def _by_constants(family: RowFamily) -> bool:
    """Whether bounds are those of Lipschitz constants."""
    return family.enclosable and not family.source.differentiable


def _name(family: RowFamily) -> str:
    return shortened(family.legend.name, LONGEST_NAME)


# ---- OPTIMAL ---------------------------------------------------------------------------------------------------------


def optimal_to_atol(result: Result) -> str:
    """`atol` alone closed the gap."""
    return (
        "Proven: the point is feasible for every index, and no feasible point is better by more than "
        f"{above(result.upper - result.lower, 2):.2g}. That is at most atol = {above(result.atol, 2):.2g}, which "
        f"alone closed the gap: the relative gap is {above(result.gap, 2):.2g}, above tol = {result.tol:.2g}."
    )


# ---- UNCERTIFIED: a violation is not excluded ------------------------------------------------------------------------


def no_proof(program: Program, violation: tuple[float, ...], oracle: str, chosen: bool) -> str:
    """Why the first family without a proof has none; `chosen`: the user chose the oracle."""
    names = ", ".join(name for name in oracle.split(", ") if name not in PROVERS)
    each = list(zip(program.families, violation, strict=False))
    open_families = [f for f, v in each if not v <= 0] or program.families
    if names and not chosen:
        return f"{names} proves nothing. Write the constraints as formulas of the index, or give `lipschitz`."
    if names and not all(math.isfinite(v) for v in violation):
        return f"{names} proves nothing. Leave `oracle` alone where the constraints are formulas."
    if names:
        return f"the bounds of {names} are not sharp enough for this `tol`. Loosen it, or leave `oracle` alone."
    place = no_bounds(open_families)
    if place:
        return place
    for family in open_families:
        if _by_constants(family):
            return (
                f"the Lipschitz constants of {_name(family)} are too large for this `tol`. Loosen it, or write a "
                "formula."
            )
    more = "give BranchAndBound a larger `max_boxes`" if "BranchAndBound" in oracle else "give the variables bounds"
    return f"the bounds are not sharp enough for this `tol`. Loosen it, or {more}."


def no_bounds(families: Sequence[RowFamily]) -> str:
    """Where the first family of which that is true has no finite bounds; nothing if all have them everywhere."""
    places = ((family, undefined_at(family)) for family in families)
    return next((f"{_name(family)} cannot be enclosed {place}" for family, place in places if place), "")


def sampled_only(program: Program, doubt: float, resolved: bool) -> str:
    """Functions are known at points only, and the value is probably right to `doubt`; nothing where all are formulas.

    `resolved`: a model fitted to the samples predicts them to `tol`.
    """
    boxes = [family for family in program.families if prover(family) is None]
    if not boxes:
        return ""
    which = f"{_name(boxes[0])} is" if len(boxes) == 1 else f"{_name(boxes[0])} and {len(boxes) - 1} more are"
    accuracy = f"and the value is probably right to {above(doubt, 1):.0e} of itself" if doubt < 1 else "nor the value"
    samples = (
        "Samples were added until they explained it" if resolved else "Samples do not explain it to the last digit"
    )
    return (
        f"{OPEN}: {which} known at points only. {samples}, {accuracy}. For a proof, write it with NumPy functions of "
        "its argument, so that it can be traced, or give `lipschitz` and a loose `tol`."
    )


def proof_unfinished(program: Program, status: Status, work: Sequence[Work | None]) -> str:
    """Proofs ended early; nothing where none did, or where Lipschitz constants are the reason (`no_proof` says so)."""
    each = zip(program.families, work, strict=False)
    left = [(f, cost) for f, cost in each if cost is not None and not _by_constants(f)]
    if not left:
        return ""
    hardest = max(left, key=lambda pair: pair[1].boxes)[0]
    boxes, seconds = (sum(part) for part in zip(*(cost for _, cost in left), strict=True))
    stopped = "Stopped at `time_limit`; the bounds are valid. " if status is Status.TIME_LIMIT else ""
    return (
        f"{stopped}{OPEN}: the proof for {_name(hardest)} would take about {boxes:.0e} boxes more, "
        f"{duration(seconds)} at the pace of this solve. Loosen `tol`, give BranchAndBound a larger `max_boxes` and "
        "that time, or give the index fewer coordinates."
    )


def duration(seconds: float) -> str:
    """About how long, in a unit that suits."""
    for unit, length in (("years", 3.15576e7), ("days", 86400.0), ("hours", 3600.0), ("minutes", 60.0)):
        if seconds >= 2 * length:
            return f"about {seconds / length:,.0f} {unit}" if seconds < 1e4 * length else f"more than 10,000 {unit}"
    return f"about {seconds:.1g} seconds"


# ---- UNCERTIFIED: infeasible or unbounded, but not proven to be ------------------------------------------------------

PROBABLY_INFEASIBLE = (
    "No feasible point was found, and the constraints contradict each other within the region that was searched. It is "
    "not proven that no feasible point lies outside. Give the variables bounds, or tighten those that they have."
)
PROBABLY_UNBOUNDED = (
    "The objective improves as far out as the search went, but no direction is proven along which it improves without "
    "limit. Give the variables bounds."
)


def infeasible_on_trust(assumptions: Sequence[str]) -> str:
    """The contradiction rests on assumptions."""
    shown = "; ".join(assumptions[:MOST_NAMED])
    return f"The constraints contradict each other, but that rests on assumptions that are not proven: {shown}."


def unbounded_direction(program: Program, direction: Array) -> str:
    """No proof that the constraints hold all along a direction."""
    d = direction / (float(np.abs(direction).max()) or 1.0)
    largest = np.argsort(-np.abs(d), kind="stable")[:3]
    shown = ", ".join(f"{program.label(j)} by {d[j]:.3g}" for j in largest)
    return (
        f"The objective seems to improve without limit along a direction that changes {shown}. It is not proven that "
        "every constraint holds all along it. Give the variables bounds."
    )


# ---- UNCERTIFIED: other reasons --------------------------------------------------------------------------------------

UNITS = (
    "The proof cannot be written in the units of the model: some of its numbers are too large or too small for "
    "doubles. Measure in other units."
)


def branch_and_bound_on_trust(master: str) -> str:
    """The point is proven; that it is the best is not."""
    return (
        "The point is proven to be feasible for every index. That no other whole values are better by more than the "
        f"gap rests on the branch and bound of {master}, which is taken on trust."
    )


def no_whole_values(master: str, points: str) -> str:
    """Infeasible with integers, by the word of a solver."""
    return (
        f"No whole values satisfy the constraints: the branch and bound of {master} found none for {points}, which is "
        "taken on trust. Relax the constraints."
    )


UNBOUNDED_RELAXATION = (
    "Without integrality, the objective improves without limit; that it does so over whole values is not proven. Give "
    "the integer variables bounds."
)


# ---- NO_INTERIOR -----------------------------------------------------------------------------------------------------


def no_interior(broken: Sequence[tuple[str, float]], advice: str) -> str:
    """The point may break these constraints, each by so much at most; nothing where it breaks none."""
    if not broken:
        return ""
    named = "; ".join(
        f"{shortened(name, LONGEST_NAME)} by at most {above(value, 3):.3g}" for name, value in broken[:MOST_NAMED]
    )
    return (
        f"No strictly feasible point was found, so the optimum may be worse than the value. The point violates "
        f"{named}, proven for every index. "
    ) + (advice or "Relax that constraint slightly; if it has to hold with equality, write it with `==`.")


def no_interior_at_integers(violation: float) -> str:
    """The same with integers fixed."""
    return (
        f"The point violates a constraint by at most {above(violation, 3):.3g}, proven for every index. With these "
        "whole values no strictly feasible point was found, so the optimum may be worse than the value. Relax the "
        "constraint slightly."
    )


# ---- STALLED ---------------------------------------------------------------------------------------------------------


def small_value(gap: float) -> str:
    """The bounds are close, but the value is so small that the relative gap stays open."""
    return (
        f"Rounding stopped progress. The bounds are {above(gap, 3):.3g} apart: small relative to the model's terms, "
        f"which nearly cancel, but not relative to the value. To accept that, pass atol={above(gap, 1):.0e}."
    )


def cancelled(family: RowFamily, times: float) -> str:
    """The terms of a family are so much larger than their sum that rounding hides it."""
    domain, advice = family.domain, "in another basis, such as Chebyshev polynomials of the index (lsip.bases)"
    if domain.dim == 1 and domain.scalar:
        low, high = float(domain.lower[0]), float(domain.upper[0])
        middle, half = 0.5 * (low + high), 0.5 * (high - low)
        if abs(middle) > 2 * half > 0:
            away = f"{family.legend.coordinates[0]} {'-' if middle > 0 else '+'} {abs(middle):.6g}"
            advice = f"with ({away}) / {half:.6g} in place of {family.legend.coordinates[0]}"
    return (
        f"Rounding stopped progress before the gap closed; the bounds are valid. The terms of {_name(family)} are "
        f"about {times:.0e} times as large as their sum. Write it {advice}."
    )


def undecided_integers(why: str) -> str:
    """A problem with fixed integers was not decided."""
    return f"With its integers fixed, the problem was not decided: {why}"


def tree_without_bound(master: str) -> str:
    """The branch and bound is unbounded."""
    return f"The branch and bound of {master} found no bound. Give the variables bounds."
