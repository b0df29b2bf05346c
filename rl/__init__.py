"""Semi-infinitely constrained Markov decision processes: planning and learning on top of lsip."""

import warnings
from importlib import import_module
from typing import TYPE_CHECKING, Any

import lsip
from lsip.installed import replaced

from . import baselines, plotting, theory
from .binary import BinaryModel
from .certify import CertifyTuning, Guarantee, certify
from .constraint import SemiInfiniteCost, Worst
from .dataset import Dataset, OptimisticSet
from .errors import GivenCodeError, InfeasibleError, NoGoodPolicyWarning, OracleError, OracleWarning
from .evaluation import Exact, MonteCarlo, TemporalDifference
from .finite_horizon import finite_horizon
from .kinds import chance, cvar, dominance, statewise
from .plan import Plan
from .planning import plan, plan_optimistically
from .policy_table import policy_of, uniform_policy
from .si_crl import Learned, si_crl, si_crl_steps
from .sicmdp import SICMDP, Specification
from .simulator import Simulator

if TYPE_CHECKING:
    from . import rules
    from .batched_search import BatchedSearch
    from .epo import EPO
    from .policies import MLPCategorical, MLPGaussian, SoftmaxTable
    from .rollouts_ray import RayRollouts
    from .running_total import RunningTotal
    from .schedules import Linear
    from .si_cpo import SICPO
    from .si_cppo import SICPPO
    from .si_cppo_config import SICPPOConfig
    from .updates import NPG, PPO, TRPO, PolicyGradient
    from .wrappers import WorstCost, WorstPoint

__all__ = [
    "EPO",
    "NPG",
    "PPO",
    "SICMDP",
    "SICPO",
    "SICPPO",
    "TRPO",
    "BatchedSearch",
    "BinaryModel",
    "CertifyTuning",
    "Dataset",
    "Exact",
    "GivenCodeError",
    "Guarantee",
    "InfeasibleError",
    "Learned",
    "Linear",
    "MLPCategorical",
    "MLPGaussian",
    "MonteCarlo",
    "NoGoodPolicyWarning",
    "OptimisticSet",
    "OracleError",
    "OracleWarning",
    "Plan",
    "PolicyGradient",
    "RayRollouts",
    "RunningTotal",
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
    "chance",
    "cvar",
    "dominance",
    "finite_horizon",
    "plan",
    "plan_optimistically",
    "plotting",
    "policy_of",
    "rules",
    "si_crl",
    "si_crl_steps",
    "statewise",
    "theory",
    "uniform_policy",
]

_LATE = {  # names that need torch or Gymnasium, and the room of each
    "BatchedSearch": "batched_search",
    "EPO": "epo",
    "Linear": "schedules",
    "MLPCategorical": "policies",
    "MLPGaussian": "policies",
    "SoftmaxTable": "policies",
    "RayRollouts": "rollouts_ray",
    "rules": "rules",
    "SICPO": "si_cpo",
    "SICPPO": "si_cppo",
    "SICPPOConfig": "si_cppo_config",
    "RunningTotal": "running_total",
    "WorstCost": "wrappers",
    "WorstPoint": "wrappers",
    **dict.fromkeys(["NPG", "PPO", "TRPO", "PolicyGradient"], "updates"),
}

if _taken := replaced("envs", "lsip-rl"):
    warnings.warn(_taken, stacklevel=2)


def __getattr__(name: str) -> Any:
    if name not in _LATE:
        raise AttributeError(f"module 'rl' has no attribute {name!r}")
    try:
        room = import_module(f".{_LATE[name]}", __name__)
        return room if name == _LATE[name] else getattr(room, name)
    except ModuleNotFoundError as error:
        if error.name not in ("torch", "gymnasium"):
            raise
        raise lsip.MissingExtraError(f"rl.{name} needs {error.name}: pip install 'lsip[rl]'.") from error
