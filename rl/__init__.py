"""Semi-infinitely constrained Markov decision processes: planning and learning on top of lsip."""

from .constraint import SemiInfiniteCost, Worst
from .dataset import Dataset, OptimisticSet
from .errors import InfeasibleError
from .sicmdp import SICMDP, Specification, policy_of, uniform_policy

__all__ = [
    "SICMDP",
    "Dataset",
    "InfeasibleError",
    "OptimisticSet",
    "SemiInfiniteCost",
    "Specification",
    "Worst",
    "policy_of",
    "uniform_policy",
]
