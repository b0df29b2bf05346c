"""Why a violation could not be excluded: the sentence that ends a solve without proof."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..model.families import RowFamily
from ..model.program import Program
from ..model.status import Status
from ..oracles import Work, prover
from ..oracles.choice import PROVERS
from .outward_rounding import above
from .result import Result


def searched(program: Program, doubt: float, resolved: bool) -> str:
    """What was done where functions are known at points only, how far off the value probably is, and what proves it.

    `resolved` is whether samples explain the functions as far as it takes; nothing is said where all have formulas.
    """
    names = [family.name for family in program.families if prover(family) is None]
    if not names:
        return ""
    told = f"{names[0]} is" if len(names) == 1 else f"{names[0]} and {len(names) - 1} more are"
    done = "Samples were added until they explained it" if resolved else "Samples do not explain it to the last digit"
    right = f"and the value is probably right to {above(doubt, 1):.0e} of itself" if doubt < 1 else "nor the value"
    return (
        f"No violation found, but one is not excluded: {told} known at points only. {done}, {right}. For a proof, "
        "write it with NumPy's functions of its argument, so that it can be traced, or give `lipschitz` and a loose "
        "`tol`."
    )


def unfinished(program: Program, status: Status, work: Sequence[Work | None]) -> str:
    """What the proofs that ended too early would still have taken, and what to do; nothing where none did.

    Where Lipschitz constants are all that is known, they are the reason, and `reason` says so.
    """
    each = zip(program.families, work, strict=False)
    left = [(f.name, cost) for f, cost in each if cost is not None and not f.lipschitz]
    if not left:
        return ""
    name = max(left, key=lambda named: named[1].boxes)[0]
    boxes, seconds = (sum(part) for part in zip(*(cost for _, cost in left), strict=True))
    stopped = "Stopped at `time_limit`; the bounds are valid. " if status is Status.TIME_LIMIT else ""
    return (
        f"{stopped}No violation found, but one is not excluded: the proof for {name} would take about {boxes:.0e} "
        f"boxes more, {duration(seconds)} at the pace of this solve. Loosen `tol`, give BranchAndBound a larger "
        "`max_boxes` and that time, or give the index fewer coordinates."
    )


def cancelled(family: RowFamily, times: float) -> str:
    """What to do where the terms of a family are so much larger than their sum that rounding hides it."""
    domain, advice = family.domain, "in another basis, such as Chebyshev polynomials of the index (lsip.bases)"
    if domain.dim == 1 and domain.scalar:
        low, high = float(domain.lower[0]), float(domain.upper[0])
        middle, half = 0.5 * (low + high), 0.5 * (high - low)
        if abs(middle) > 2 * half > 0:
            away = f"{family.coordinates[0]} {'-' if middle > 0 else '+'} {abs(middle):.6g}"
            advice = f"with ({away}) / {half:.6g} in place of {family.coordinates[0]}"
    return (
        f"Rounding stopped progress before the gap closed; the bounds are valid. In {family.name}, terms cancel that "
        f"are about {times:.0e} times as large as their sum, and doubles have sixteen digits. Write it {advice}."
    )


def duration(seconds: float) -> str:
    """About how long, in a unit that suits."""
    for unit, length in (("years", 3.15576e7), ("days", 86400.0), ("hours", 3600.0), ("minutes", 60.0)):
        if seconds >= 2 * length:
            return f"about {seconds / length:,.0f} {unit}" if seconds < 1e4 * length else f"more than 10,000 {unit}"
    return f"about {seconds:.1g} seconds"


def reason(program: Program, violation: tuple[float, ...], oracle: str, chosen: bool) -> str:
    """What kept the first family without a proof from having one, and what to do; `chosen`: the oracle was, by hand."""
    names = ", ".join(name for name in oracle.split(", ") if name not in PROVERS)
    each = list(zip(program.families, violation, strict=False))
    open_families = [f for f, v in each if not v <= 0] or program.families
    if names and not chosen:
        return f"{names} proves nothing. Write the constraints as formulas of the index, or give `lipschitz`."
    if names and not all(math.isfinite(v) for v in violation):
        return f"{names} proves nothing. Leave `oracle` alone where the constraints are formulas."
    if names:
        return f"the bounds of {names} are not sharp enough for this `tol`. Loosen it, or leave `oracle` alone."
    for family in open_families:
        place = family.undefined_at()
        if place is not None:
            return f"{family.name} cannot be enclosed {place}"
        if family.lipschitz:
            return (
                f"the Lipschitz constants of {family.name} are too large for this `tol`; loosen it, or write a formula."
            )
    more = "give BranchAndBound a larger `max_boxes`" if "BranchAndBound" in oracle else "give the variables bounds"
    return f"its bounds are not sharp enough for this `tol`. Loosen it, or {more}."


def message(result: Result) -> str:
    """What the status means and what to do next."""
    if not result.checked and result.claims_proof:
        return "What a file says, which nobody has checked; verify() returns it proven, or raises ProofError."
    if result.evidence:
        return result.evidence if result.status is Status.UNCERTIFIED else _on_conditions(result, result.evidence)
    if result.wide:
        return (
            "Proven: the point is feasible for every index, and no feasible point is better by more than "
            f"{above(result.upper - result.lower, 2):.2g}. That is at most atol = {above(result.atol, 2):.2g}, which "
            f"alone closed the gap: relative to the bounds it is {above(result.gap, 2):.2g}, and tol {result.tol:.2g}."
        )
    if result.status is not Status.UNCERTIFIED:
        return _on_conditions(result, result.status.value)
    if result.certificate.trusts and math.isfinite(result.certificate.upper):
        return f"The bounds rest on what is taken on trust. {' '.join(result.certificate.trusts)}"
    why = reason(result.program, result.certificate.violation, result.oracle, "oracle" in result.effort.options)
    return f"No violation found, but one is not excluded: {why}"


def _on_conditions(result: Result, said: str) -> str:
    """A sentence with those about what bounds rest on, where a limit or rounding came before these were proven."""
    trusts = result.certificate.trusts
    said = said.replace("he bounds are valid", "he bounds are valid on a condition") if trusts else said
    return " ".join([said, *trusts])
