"""The supremum itself, rather than a violation to cut off: value and proven bound within a tolerance of each other."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Annotated, Any

import numpy as np

from ..deadline import EFFORT, left
from ..errors import OutOfTime
from ..validation import Distance, Natural, checked
from .adaptive_search import AdaptiveSearch
from .base import Directed, EnclosableViolation, Separation, capable, check_enclosable, check_violation, is_instant
from .branch_and_bound import BranchAndBound
from .choice import TUNING as CHOICE
from .choice import dimension, prover
from .multistart import Multistart


@checked(violation=Annotated[Any, check_enclosable], tol=Distance, max_boxes=Natural)
def supremum(violation: EnclosableViolation, *, tol: float = 1e-9, max_boxes: int = 200_000) -> Separation:
    """Maximise a violation that can be enclosed, until the bound is within `tol` of the largest value found.

    A branch-and-bound is asked again and again for something larger than what it found last. If it runs out of boxes
    or of time, the bound is still valid, but not as sharp; nor is it where worst directions are known up to a factor.
    """
    exact = prover(violation.family, violation.domain)
    if exact is not None and is_instant(exact):
        return exact.maximise(violation)
    source = capable(violation.family)
    if isinstance(source, Directed) and not source.worst.sharp:
        return BranchAndBound(tol=tol, max_boxes=EFFORT.boxes).maximise(violation)  # no box makes it sharper
    oracle = BranchAndBound(tol=tol, max_boxes=EFFORT.boxes)
    best = oracle.maximise(violation, target=0.0)
    bound, trusts = best.bound, best.trusts  # of the branch-and-bound; a local search proves nothing
    climbed = False
    with suppress(OutOfTime):  # what is known by then stays so
        for _ in range(30):  # each answer halves the distance to the supremum, or is the last
            if bound <= best.worst + tol or left() < 0:
                break
            found = oracle.maximise(violation, target=best.worst)
            bound = min(bound, found.bound)
            if found.worst <= best.worst + tol and bound > best.worst + tol:
                if climbed:
                    break
                # On a curved edge, the points that boxes suggest stop short of the maximum: climb, then prove.
                local = Multistart().maximise(violation, target=best.worst)
                found = max(found, local, key=lambda s: s.worst)
                climbed, oracle = True, replace(oracle, max_boxes=max_boxes)
            if found.worst > best.worst:
                best = found
    bound = float(np.maximum(bound, best.worst))
    return Separation(best.points, best.values, bound, best.components, trusts=trusts)


@checked(violation=Annotated[Any, check_violation], tol=Distance)
def sought(violation: EnclosableViolation, *, tol: float = 1e-9) -> Separation:
    """The largest value that searches find, where nothing can be proven; a larger one by `tol` is unlikely.

    In few dimensions, what local searches found is what samples everywhere are asked to exceed.
    """
    first = Multistart().maximise(violation)
    if dimension(violation.domain) > CHOICE.most_searched:
        return first
    again = AdaptiveSearch(tol=tol).maximise(violation, target=first.worst)
    return max(first, again, key=lambda s: s.worst)
