"""Why a violation could not be excluded: the sentence that ends a solve without proof."""

from __future__ import annotations

import math

from ..model.program import Program
from ..oracles import prover
from ..oracles.choice import PROVERS
from .rounding import above


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
