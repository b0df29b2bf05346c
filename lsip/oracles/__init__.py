"""Separation oracles: each maximises a `Violation` over a domain, one method a file."""

from .base import Oracle, Separation, Violation
from .branch_and_bound import BranchAndBound
from .choice import pick_oracle, prover
from .grid import Grid
from .multistart import Multistart
from .projected_subgradient import ProjectedSubgradient
from .random_search import RandomSearch
from .support_function import SupportFunction
from .supremum import supremum

__all__ = [
    "BranchAndBound",
    "Grid",
    "Multistart",
    "Oracle",
    "ProjectedSubgradient",
    "RandomSearch",
    "Separation",
    "SupportFunction",
    "Violation",
    "pick_oracle",
    "prover",
    "supremum",
]
