"""Certified separation: a proven upper bound of the violation over the whole index set, by splitting boxes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from ..errors import ModelError
from ..validation import real, whole
from .base import EnclosableViolation, Separation, Violation, Weighted, can_enclose, maximises, unscaled
from .box_search import BoxSearch
from .memory import Partitions


@dataclass(frozen=True)
class BranchAndBound:
    """Prove `sup g <= bound`, and find the worst points on the way.

    Boxes are bounded by quadratic enclosures (third-order accurate) and split while their bound exceeds both the
    target and twice the worst violation found. What does not depend on x is kept in the family's `memory`, and reused
    by later calls about the same index set.

    Parameters
    ----------
    tol
        Sharpness of the bound where no violation is found: boxes are split until their bound is within `tol` of the
        target or of the largest value attained.
    max_boxes
        Give up proving more when a family holds this many boxes; the bound returned is still valid.
    rounds
        Splitting rounds once a violation has been found; a cut is worth more than a proof then.
    points
        The most points returned by one call (one for every row an index has, if that is more).
    seconds
        Stop splitting after this long; the bound returned is still valid. The deadline of a solve counts, too.
    near
        Values this little below the target count as violations: a cut is cheaper than proving so fine a difference.

    Examples
    --------
    >>> import lsip
    >>> t, h = lsip.Index("t", lsip.Interval(0, 1)), lsip.Variable(name="h", lower=0, upper=2)
    >>> problem = lsip.Problem(lsip.minimize(h), [lsip.forall(t, h >= t * (1 - t))])
    >>> solution = problem.solve(oracle=lsip.oracles.BranchAndBound(max_boxes=10_000), tol=1e-3, verbose=False)
    >>> round(solution.value, 2), solution.certified
    (0.25, True)
    """

    tol: float = 0.0
    max_boxes: int = 200_000
    rounds: int = 4
    points: int = 64
    seconds: float = np.inf
    near: float = 0.0
    costly: ClassVar[bool] = True

    def __post_init__(self) -> None:
        for name in ("tol", "near"):
            real(name, getattr(self, name), "must be at least 0", lambda v: 0 <= v < np.inf)
        real("seconds", self.seconds, "must be a number", lambda v: v == v)
        for name, least in (("max_boxes", 1), ("rounds", 0), ("points", 1)):
            whole(name, getattr(self, name), least)

    def within(self, seconds: float, near: float) -> BranchAndBound:
        """The same search, ending after `seconds` at the latest, with `near` as given."""
        return replace(self, seconds=min(self.seconds, seconds), near=near)

    @maximises
    def maximise(self, violation: Violation, *, target: float = 0.0, seed: int = 0) -> Separation:
        """The worst points found, the worst first, and a proven bound. Deterministic: `seed` plays no part."""
        if not can_enclose(violation):
            raise ModelError(
                "BranchAndBound needs a violation that can be enclosed: write the constraint in the language, or give "
                "`lipschitz` for a black box; otherwise use Multistart, Grid or RandomSearch."
            )
        return searched(violation, unscaled(violation), target, self)


def searched(violation: EnclosableViolation, rows: Weighted, target: float, options: BranchAndBound) -> Separation:
    """What a search finds that bounds these rows, which are those of the violation, or stand for them."""
    memory = rows.family.memory
    taken: Partitions = memory.take(rows.family, violation.domain)
    search = BoxSearch(violation, rows, taken.cells, target + options.tol, options)
    try:
        search.run()
    finally:
        memory.keep(taken)
    return search.result()
