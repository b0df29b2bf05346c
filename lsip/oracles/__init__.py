"""Separation oracles: each maximises a `Violation` over its domain, one method a file."""

from .adaptive_search import AdaptiveSearch
from .asking import ask
from .base import (
    EnclosableViolation,
    Oracle,
    Rows,
    Separation,
    Timed,
    Violation,
    Work,
    is_costly,
    is_instant,
    tuned,
)
from .branch_and_bound import BranchAndBound
from .choice import is_prover, pick_oracle, prover
from .grid import Grid
from .memory import Memory
from .multistart import Multistart
from .projected_subgradient import ProjectedSubgradient
from .random_search import RandomSearch
from .support_function import SupportFunction
from .supremum import sought, supremum

__all__ = [
    "AdaptiveSearch",
    "BranchAndBound",
    "EnclosableViolation",
    "Grid",
    "Memory",
    "Multistart",
    "Oracle",
    "ProjectedSubgradient",
    "RandomSearch",
    "Rows",
    "Separation",
    "SupportFunction",
    "Timed",
    "Violation",
    "Work",
    "ask",
    "is_costly",
    "is_instant",
    "is_prover",
    "pick_oracle",
    "prover",
    "sought",
    "supremum",
    "tuned",
]
