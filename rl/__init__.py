"""Semi-infinitely constrained Markov decision processes: planning and learning on top of lsip."""

from . import baselines, plotting, theory
from .binary import BinaryModel
from .constraint import SemiInfiniteCost, Worst
from .dataset import Dataset, OptimisticSet
from .errors import InfeasibleError
from .plan import Plan, plan, plan_optimistically
from .si_crl import Learned, si_crl
from .sicmdp import SICMDP, Specification, policy_of, uniform_policy

__all__ = [
    "SICMDP",
    "BinaryModel",
    "Dataset",
    "InfeasibleError",
    "Learned",
    "OptimisticSet",
    "Plan",
    "SemiInfiniteCost",
    "Specification",
    "Worst",
    "baselines",
    "plan",
    "plan_optimistically",
    "plotting",
    "policy_of",
    "si_crl",
    "theory",
    "uniform_policy",
]
