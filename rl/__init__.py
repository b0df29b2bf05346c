"""Semi-infinitely constrained Markov decision processes: planning and learning on top of lsip."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

import lsip

from . import baselines, plotting, theory
from .binary import BinaryModel
from .certify import CertifyTuning, Guarantee, certify
from .constraint import SemiInfiniteCost, Worst
from .dataset import Dataset, OptimisticSet
from .errors import InfeasibleError, NoGoodPolicyWarning
from .evaluation import Exact, MonteCarlo, TemporalDifference
from .plan import Plan, plan, plan_optimistically
from .si_crl import Learned, si_crl, si_crl_steps
from .sicmdp import SICMDP, Specification, policy_of, uniform_policy
from .simulator import Simulator

if TYPE_CHECKING:
    from .policies import MLPCategorical, MLPGaussian, SoftmaxTable
    from .rollouts_ray import RayRollouts
    from .si_cpo import SICPO
    from .si_cppo import SICPPO
    from .si_cppo_config import SICPPOConfig
    from .updates import NPG, PPO, TRPO, FisherNPG, PolicyGradient
    from .wrappers import WorstCost, WorstPoint

__all__ = [
    "NPG",
    "PPO",
    "SICMDP",
    "SICPO",
    "SICPPO",
    "TRPO",
    "BinaryModel",
    "CertifyTuning",
    "Dataset",
    "Exact",
    "FisherNPG",
    "Guarantee",
    "InfeasibleError",
    "Learned",
    "MLPCategorical",
    "MLPGaussian",
    "MonteCarlo",
    "NoGoodPolicyWarning",
    "OptimisticSet",
    "Plan",
    "PolicyGradient",
    "RayRollouts",
    "SICPPOConfig",
    "SemiInfiniteCost",
    "Simulator",
    "SoftmaxTable",
    "Specification",
    "TemporalDifference",
    "Worst",
    "WorstCost",
    "WorstPoint",
    "baselines",
    "certify",
    "plan",
    "plan_optimistically",
    "plotting",
    "policy_of",
    "si_crl",
    "si_crl_steps",
    "theory",
    "uniform_policy",
]

_LATE = {  # names that need torch or Gymnasium, and the room of each
    "MLPCategorical": "policies",
    "MLPGaussian": "policies",
    "SoftmaxTable": "policies",
    "RayRollouts": "rollouts_ray",
    "SICPO": "si_cpo",
    "SICPPO": "si_cppo",
    "SICPPOConfig": "si_cppo_config",
    "WorstCost": "wrappers",
    "WorstPoint": "wrappers",
    **dict.fromkeys(["NPG", "PPO", "TRPO", "FisherNPG", "PolicyGradient"], "updates"),
}


def __getattr__(name: str) -> Any:
    if name not in _LATE:
        raise AttributeError(f"module 'rl' has no attribute {name!r}")
    try:
        return getattr(import_module(f".{_LATE[name]}", __name__), name)
    except ModuleNotFoundError as error:
        if error.name not in ("torch", "gymnasium"):
            raise
        raise lsip.MissingExtraError(f"rl.{name} needs {error.name}: pip install 'lsip[rl]'.") from error
