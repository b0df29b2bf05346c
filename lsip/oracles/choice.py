"""Which oracle suits a family of constraints, and whose bounds are proofs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..domains import Domain
from ..errors import ModelError
from ..validation import checked, shown
from .adaptive_search import AdaptiveSearch
from .base import Oracle, Rows, is_instant
from .branch_and_bound import BranchAndBound
from .grid import Grid
from .multistart import Multistart
from .support_function import SupportFunction

PROVERS: dict[str, type] = {kind.__name__: kind for kind in (BranchAndBound, SupportFunction, Grid)}


@dataclass(frozen=True)
class ChoiceTuning:
    """When a family is left to a search that proves nothing.

    Parameters
    ----------
    most_dimensions
        Up to so many coordinates of an index, a branch-and-bound is cheap enough to be asked in every iteration.
    most_searched
        Up to so many, boxes of a black box can be sampled until they are resolved.
    """

    most_dimensions: int = 4
    most_searched: int = 3


TUNING = ChoiceTuning()


@checked(domain=Domain | None)
def prover(family: Rows, domain: Domain | None = None) -> Oracle | None:
    """The oracle that can prove something about the family, over its domain or a part of it; None if there is none."""
    if not hasattr(family, "enclosable"):
        raise ModelError(f"A family of rows is needed, such as problem.compile().families[0]; got {shown(family)}.")
    domain = family.domain if domain is None else domain
    if family.linear is not None and domain.support(np.zeros((1, domain.dim))) is not None:
        return SupportFunction()
    return BranchAndBound() if family.enclosable else None


def pick_oracle(family: Rows) -> Oracle:
    """Certified where that is possible and cheap, else the best guess."""
    chosen = prover(family)
    if chosen is None and dimension(family.visible) <= TUNING.most_searched:
        return AdaptiveSearch()
    if chosen is None or not (is_instant(chosen) or dimension(family.visible) <= TUNING.most_dimensions):
        return Multistart()
    return chosen


def dimension(domain: Domain) -> int:
    """How many coordinates a branch-and-bound splits."""
    return max(cell.lower.shape[1] for cell in domain.flat_cells())


def is_prover(oracle: Oracle) -> bool:
    """Whether finite bounds of this oracle are lsip's own proofs. A subclass may do as it likes, and does not count."""
    return PROVERS.get(type(oracle).__name__) is type(oracle)
