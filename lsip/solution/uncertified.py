"""Why a violation could not be excluded: the sentence that ends a solve without proof."""

from __future__ import annotations

import math

from ..model.program import Program
from ..oracles.choice import PROVERS


def reason(program: Program, violation: tuple[float, ...], oracle: str) -> str:
    """What kept the first family without a proof from having one, and what to do."""
    names = ", ".join(name for name in oracle.split(", ") if name not in PROVERS)
    each = list(zip(program.families, violation, strict=False))
    open_families = [f for f, v in each if not v <= 0] or program.families
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
    return "its bounds are not sharp enough for this `tol`. Loosen it, or give BranchAndBound a larger `max_boxes`."
