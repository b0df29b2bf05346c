"""The oracles: by name, in Python and on the command line, and those whose bounds are proofs."""

from __future__ import annotations

from ..errors import ModelError
from .adaptive_search import AdaptiveSearch
from .base import Oracle
from .branch_and_bound import BranchAndBound
from .grid import Grid
from .multistart import Multistart
from .projected_subgradient import ProjectedSubgradient
from .random_search import RandomSearch
from .support_function import SupportFunction

ORACLES: dict[str, type] = {
    "adaptive": AdaptiveSearch,
    "branch-and-bound": BranchAndBound,
    "grid": Grid,
    "multistart": Multistart,
    "random": RandomSearch,
    "subgradient": ProjectedSubgradient,
    "support": SupportFunction,
}
# Finite bounds of these are outward rounded, and lsip's own proofs.
PROVERS: dict[str, type] = {kind.__name__: kind for kind in (BranchAndBound, SupportFunction, Grid)}


def open_oracle(name: str) -> Oracle:
    """The oracle of that name, with its usual numbers.

    >>> open_oracle("random")
    RandomSearch(points=100)
    """
    if name not in ORACLES:
        raise ModelError(
            f"There is no oracle called {name!r}; choose from {', '.join(ORACLES)}, or give one of lsip.oracles with "
            "numbers of your own, as in lsip.oracles.Grid(points=1000)."
        )
    made: Oracle = ORACLES[name]()
    return made
