"""Environments with a continuum of cost constraints, one per file; those that one can step through need Gymnasium."""

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import lsip
from lsip.installed import stranger

if _taken := stranger("rl", "lsip-rl", Path(__file__).parent.parent):
    raise lsip.MissingExtraError(_taken)

from .drone import drone
from .load_balancing import load_balancing
from .sewage import sewage

__all__ = ["classic", "drone", "load_balancing", "paper", "queue", "sewage", "ship", "spraying", "tensors"]

if find_spec("gymnasium") is not None:
    from gymnasium.envs.registration import register, registry

    for name, module, steps in (("ShipRoute", "ship", 100), ("Spraying", "spraying", 25)):
        if f"lsip/{name}-v0" not in registry:
            register(
                f"lsip/{name}-v0",
                entry_point=f"envs.{module}:{name}",
                vector_entry_point=f"envs.{module}:{name}Vector",
                max_episode_steps=steps,
            )


def __getattr__(name: str) -> ModuleType:
    if name not in ("classic", "paper", "queue", "ship", "spraying", "tensors"):
        raise AttributeError(f"module 'envs' has no attribute {name!r}")
    try:
        return import_module(f".{name}", __name__)
    except ModuleNotFoundError as error:
        if error.name not in ("gymnasium", "torch"):
            raise
        raise lsip.MissingExtraError(f"envs.{name} needs {error.name}: pip install 'lsip[rl]'.") from error
