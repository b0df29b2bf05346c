"""The supremum itself, rather than a violation to cut off: value and proven bound within a tolerance of each other."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..domains import Domain
from .base import Separation
from .branch_and_bound import BranchAndBound
from .choice import prover
from .multistart import Multistart
from .support_function import SupportFunction

FEW_BOXES = 20_000  # before local searches are tried
ROUNDS = 30  # each at least halves the distance to the supremum, or ends


def supremum(violation: Any, domain: Domain, *, tol: float = 1e-9, max_boxes: int = 200_000) -> Separation:
    """Maximise a violation that can be enclosed, until the bound is within `tol` of the largest value found.

    A branch-and-bound is asked again and again for something larger than what it found last. If it runs out of boxes,
    the bound is still valid, but not as sharp.
    """
    exact = prover(violation.family)
    if isinstance(exact, SupportFunction):
        return exact.maximise(violation, domain)
    oracle = BranchAndBound(tol=tol, max_boxes=FEW_BOXES)
    best = oracle.maximise(violation, domain, target=0.0)
    bound = best.bound
    climbed = False
    for _ in range(ROUNDS):
        if bound <= best.worst + tol:
            break
        found = oracle.maximise(violation, domain, target=best.worst)
        bound = min(bound, found.bound)
        if found.worst <= best.worst + tol and bound > best.worst + tol:
            if climbed:
                break
            # On a curved edge, the points that boxes suggest stop short of the maximum: climb, then prove.
            local = Multistart().maximise(violation, domain, target=best.worst)
            found = max(found, local, key=lambda s: s.worst)
            climbed, oracle = True, replace(oracle, max_boxes=max_boxes)
        if found.worst > best.worst:
            best = found
    return Separation(best.points, best.values, float(np.maximum(bound, best.worst)), best.components)
