"""What one would do without semi-infinite programming: the baselines of the paper, and PPO-Lagrangian."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

import lsip

from ..fixed_grid import FixedGrid
from .discretise import Discretised, discretise

if TYPE_CHECKING:
    from .crpo import CRPO
    from .lagrangian import PPOLagrangian

__all__ = ["CRPO", "Discretised", "FixedGrid", "PPOLagrangian", "discretise"]

_TORCH = {"CRPO": "crpo", "PPOLagrangian": "lagrangian"}  # need torch, which planning does not


def __getattr__(name: str) -> Any:
    if name not in _TORCH:
        raise AttributeError(f"module 'rl.baselines' has no attribute {name!r}")
    try:
        return getattr(import_module(f".{_TORCH[name]}", __name__), name)
    except ModuleNotFoundError as error:
        if error.name not in ("torch", "gymnasium"):
            raise
        raise lsip.MissingExtraError(f"rl.baselines.{name} needs {error.name}: pip install 'lsip[rl]'.") from error
