"""Environments with a continuum of cost constraints, one per file; those that one can step through need Gymnasium."""

from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

import lsip

from .drone import drone
from .load_balancing import load_balancing
from .sewage import sewage

__all__ = ["drone", "load_balancing", "sewage", "ship"]

if find_spec("gymnasium") is not None:
    from gymnasium.envs.registration import register, registry

    if "lsip/ShipRoute-v0" not in registry:
        register(
            "lsip/ShipRoute-v0",
            entry_point="envs.ship:ShipRoute",
            vector_entry_point="envs.ship:ShipRouteVector",
            max_episode_steps=100,
        )


def __getattr__(name: str) -> ModuleType:
    if name != "ship":
        raise AttributeError(f"module 'envs' has no attribute {name!r}")
    try:
        return import_module(".ship", __name__)
    except ModuleNotFoundError as error:
        if error.name != "gymnasium":
            raise
        raise lsip.MissingExtraError("envs.ship needs gymnasium: pip install 'lsip[rl]'.") from error
