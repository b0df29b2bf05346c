"""Why a violation could not be excluded: the sentence that ends a solve without proof."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .expressions.printing import text
from .oracles import BranchAndBound, SupportFunction
from .program import Program
from .row_families import DeclaredFamily

Array = NDArray[np.float64]
SMALL = 1e-6  # boxes of this size, relative to the index set, are as good as points
BOXES = 64  # followed at a time
PROVERS = {kind.__name__ for kind in (BranchAndBound, SupportFunction)}


def reason(program: Program, violation: tuple[float, ...], oracle: str) -> str:
    """What kept the first family without a proof from having one, and what to do."""
    names = [name for name in oracle.split(", ") if name not in PROVERS]
    if names:
        return f"{', '.join(names)} proves nothing. Leave `oracle` alone where the constraints are formulas."
    open_families = [f for f, v in zip(program.families, violation, strict=False) if not v <= 0] or program.families
    for family in open_families:
        place = _undefined(family) if isinstance(family, DeclaredFamily) else None
        if place is not None:
            return f"{family.name} cannot be enclosed {place}"
        if getattr(family, "lipschitz", None):
            return (
                f"the Lipschitz constants of {family.name} are too large for this `tol`; loosen it, or write a formula."
            )
    return "its bounds are not sharp enough for this `tol`. Loosen it, or give BranchAndBound a larger `max_boxes`."


def _undefined(family: DeclaredFamily) -> str | None:
    """Where in the index set some formula has no bounds on ever smaller boxes, and which; None if nowhere."""
    domain = family.domain
    lower, upper = domain.lower[None, :], domain.upper[None, :]
    while len(lower):
        box = family.tape.enclose(lower, upper)
        bad = ~(np.isfinite(box.lo) & np.isfinite(box.hi)).all(axis=1) & _meets(domain, lower, upper)
        lower, upper = lower[bad][:BOXES], upper[bad][:BOXES]
        if len(lower) and ((upper - lower) <= SMALL * (domain.upper - domain.lower) + 1e-300).all():
            break
        lower, upper = _halves(lower, upper, domain.upper - domain.lower)
    if not len(lower):
        return None
    at = domain.project(0.5 * (lower[:1] + upper[:1]))[0]
    grain = 10 * SMALL * np.where(domain.upper > domain.lower, domain.upper - domain.lower, 1.0)
    at = grain * np.rint(at / grain) + 0.0  # digits that mean something, and no -0
    where = ", ".join(f"{c} = {v:.4g}" for c, v in zip(family.coordinates, at, strict=True))
    formula = family.tape.unbounded(lower[:1], upper[:1])
    what = "a formula in it" if formula is None else text(formula)
    return (
        f"near {where}: {what} has no bounds there. A branch that np.where does not take counts too. Write it so that "
        "it is bounded (np.sinc, np.maximum in a denominator), or keep the index away from there."
    )


def _meets(domain: Any, lower: Array, upper: Array) -> NDArray[np.bool_]:
    """Which boxes are near enough to the domain to matter; a doubtful one does."""
    centre = 0.5 * (lower + upper)
    reach = np.linalg.norm(upper - lower, axis=1)
    near: NDArray[np.bool_] = np.linalg.norm(domain.project(centre) - centre, axis=1) <= reach
    return near


def _halves(lower: Array, upper: Array, width: Array) -> tuple[Array, Array]:
    """Both halves of every box, along its longest side relative to the domain."""
    rows = np.arange(len(lower))
    axis = ((upper - lower) / np.where(width > 0, width, np.inf)).argmax(axis=1)
    middle = 0.5 * (lower[rows, axis] + upper[rows, axis])
    left, right = upper.copy(), lower.copy()
    left[rows, axis] = right[rows, axis] = middle
    return np.concatenate([lower, right]), np.concatenate([left, upper])
