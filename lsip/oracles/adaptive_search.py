"""Sampling until it is resolved: for smooth black boxes in few dimensions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from ..validation import real, whole
from .attained import discrete_points, distinct
from .base import EnclosableViolation, Separation, Violation, Weighted, maximises
from .branch_and_bound import BranchAndBound, searched
from .estimated import EstimatedRows, stencil
from .multistart import Multistart
from .trust_region import ascend


@dataclass(frozen=True)
class AdaptiveSearch:
    """Split boxes until polynomials through samples explain the rows well enough, and climb from where they are worst.

    This is a `BranchAndBound` whose enclosures are estimates: cubics fitted to a few samples of every box, with a
    multiple of what they miss as error. It looks everywhere, and closely where the violation comes near the target.
    Where functions are smooth, what it finds is the supremum to many digits; it is never a proof.

    Parameters
    ----------
    tol
        How sharp the estimate should be where no violation is found.
    max_samples
        Give up refining when a family holds this many samples.
    near
        Values this little below the target count as violations.
    seconds
        Stop refining after this long. The deadline of a solve counts, too.

    Examples
    --------
    >>> import lsip
    >>> t, h = lsip.Index("t", lsip.Interval(0, 1)), lsip.Variable(name="h", lower=0, upper=2)
    >>> problem = lsip.Problem(lsip.minimize(h), [lsip.forall(t, h >= t * (1 - t))])
    >>> solution = problem.solve(oracle=lsip.oracles.AdaptiveSearch(), tol=1e-3, verbose=False)
    >>> round(solution.value, 2), solution.certified
    (0.25, False)
    """

    tol: float = 0.0
    max_samples: int = 400_000
    near: float = 0.0
    seconds: float = np.inf
    costly: ClassVar[bool] = True

    def __post_init__(self) -> None:
        for name in ("tol", "near"):
            real(name, getattr(self, name), "must be at least 0", lambda v: 0 <= v < np.inf)
        real("seconds", self.seconds, "must be a number", lambda v: v == v)
        whole("max_samples", self.max_samples, 1)

    def within(self, seconds: float, near: float) -> AdaptiveSearch:
        """The same search, ending after `seconds` at the latest, with `near` as given."""
        return replace(self, seconds=min(self.seconds, seconds), near=near)

    @maximises
    def maximise(self, violation: Violation, *, target: float = 0.0, seed: int = 0) -> Separation:
        """The distinct maxima found, worst first, and an estimate of the supremum. Deterministic."""
        if not isinstance(violation, EnclosableViolation) or discrete_points(violation.domain) is not None:
            return Multistart().maximise(violation, target=target, seed=seed)
        boxes = max(self.max_samples // len(stencil(violation.domain.dim)), 1)
        search = BranchAndBound(tol=self.tol, max_boxes=boxes, seconds=self.seconds, near=self.near)
        rows = Weighted(EstimatedRows(violation.family), violation.weights, violation.spread)
        found = searched(violation, rows, target, search)
        # Models are close to a maximum already; where it is flat, the next question goes on.
        ends, values = ascend(violation, found.points, found.components, 0.02, 12)
        width = violation.domain.upper - violation.domain.lower
        chosen = distinct(ends, values, found.components, 1e-6 * width, len(ends))  # nearer ends are one maximum
        estimate = max(found.bound, float(values.max(initial=-np.inf)))
        return Separation(ends[chosen], values[chosen], np.inf, found.components[chosen], trusts=(), estimate=estimate)
