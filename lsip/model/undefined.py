"""Where a formula has no bounds: the place that keeps a branch-and-bound from proving anything."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..domains import Domain
from ..expressions.printing import text
from ..expressions.tape import Tape

Array = NDArray[np.float64]


def where_undefined(
    tape: Tape, domain: Domain, coordinates: tuple[str, ...], *, small: float = 1e-6, boxes: int = 64
) -> str | None:
    """Where in the index set some formula has no bounds on ever smaller boxes, and which; None if nowhere.

    So many boxes are followed at a time; those that are `small`, relative to the index set, are as good as points.
    """
    lower, upper = domain.lower[None, :], domain.upper[None, :]
    while len(lower):
        box = tape.enclose(lower, upper)
        bad = ~(np.isfinite(box.lo) & np.isfinite(box.hi)).all(axis=1) & _meets(domain, lower, upper)
        lower, upper = lower[bad][:boxes], upper[bad][:boxes]
        if len(lower) and ((upper - lower) <= np.maximum(small * (domain.upper - domain.lower), _grain(domain))).all():
            break
        lower, upper = _halves(lower, upper, domain.upper - domain.lower)
    if not len(lower):
        return None
    at = domain.project(0.5 * (lower[:1] + upper[:1]))[0]
    grain = 10 * small * np.where(domain.upper > domain.lower, domain.upper - domain.lower, 1.0)
    at = grain * np.rint(at / grain) + 0.0  # digits that mean something, and no -0
    where = ", ".join(f"{c} = {v:.4g}" for c, v in zip(coordinates, at, strict=True))
    formula = tape.unbounded(lower[:1], upper[:1])
    what = "a formula in it" if formula is None else text(formula)
    return (
        f"near {where}: {what} has no bounds there. A branch that np.where does not take counts too. Write it so that "
        "it is bounded (np.sinc, np.maximum in a denominator), or keep the index away from there."
    )


def _grain(domain: Domain) -> Array:
    """The width below which a box of the domain has no middle but its ends."""
    return 2 * np.spacing(np.maximum(np.abs(domain.lower), np.abs(domain.upper)))


def _meets(domain: Domain, lower: Array, upper: Array) -> NDArray[np.bool_]:
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
