"""How a learner searches Y where nobody says how."""

from __future__ import annotations

from collections.abc import Sequence

import lsip

from .batched_search import BatchedSearch
from .constraint import SemiInfiniteCost
from .keeping import CLIMBING
from .separation import TUNING


def default_search(constraint: SemiInfiniteCost | Sequence[SemiInfiniteCost], whole: bool) -> lsip.oracles.Oracle:
    """Branch-and-bound where Lipschitz constants let it prove something with few boxes, else many searches at once.

    Nothing is proven of episodes that are not `whole`: what follows them is what critics say.
    """
    one = constraint if isinstance(constraint, SemiInfiniteCost) else None
    if whole and one is not None and one.lipschitz is not None and one.domain.dim <= TUNING.coordinates:
        return lsip.oracles.BranchAndBound(max_boxes=TUNING.boxes)
    several = constraint if isinstance(constraint, list | tuple) and constraint else [constraint]
    batched = all(getattr(part, "tensors", False) for part in several) and not any(map(finite, several))
    return BatchedSearch() if batched else CLIMBING


def finite(constraint: object) -> bool:
    """Whether there are finitely many index points, or some of several constraints have finitely many."""
    parts = getattr(constraint, "parts", (constraint,))
    return any(isinstance(getattr(part, "domain", None), lsip.Finite) for part in parts)
