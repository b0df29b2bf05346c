"""Which oracle suits a family of constraints."""

from __future__ import annotations

from typing import Any

import numpy as np

from .base import Oracle
from .branch_and_bound import BranchAndBound
from .multistart import Multistart
from .support_function import SupportFunction

DIMENSIONS = 4  # up to here, a branch-and-bound is cheap enough to be asked in every iteration


def prover(family: Any) -> Oracle | None:
    """The oracle that can prove something about the family; None if there is none."""
    if family.linear is not None and family.domain.support(np.zeros((1, family.domain.dim))) is not None:
        return SupportFunction()
    return BranchAndBound() if family.enclosable else None


def pick_oracle(family: Any) -> Oracle:
    """Certified where that is possible and cheap, else the best guess."""
    chosen = prover(family)
    cheap = isinstance(chosen, SupportFunction) or family.domain.dim <= DIMENSIONS
    return chosen if chosen is not None and cheap else Multistart()
