"""Sets of distributions, and bounds of expectations, risks and probabilities over all of them."""

from .losses import UpperBound
from .moments import Moments
from .risk import Ambiguity, chance, cvar, hoeffding, scenario_count, worst_expectation
from .wasserstein import Wasserstein

__all__ = [
    "Ambiguity",
    "Moments",
    "UpperBound",
    "Wasserstein",
    "chance",
    "cvar",
    "hoeffding",
    "scenario_count",
    "worst_expectation",
]
