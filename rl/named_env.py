"""Environments by their names in Gymnasium's registry: what a file says of one, so that it can be made again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium as gym
from gymnasium.vector import VectorEnv
from gymnasium.wrappers.vector import FlattenObservation

import lsip
from lsip.schema import Either, Schema, missing, text, whole

Named = dict[str, Any]

SCHEMA: Schema = Either({"name": text, "copies": whole, "mode": Either(text, missing), "changed": [text]}, missing)
HOW = ("num_envs", "vectorization_mode")  # what `make_vec` adds to the options of an environment


def named(env: VectorEnv) -> Named | None:
    """Its name, how many copies there are, how they are stepped, and what was changed of it; None without a name."""
    bare: Any = env.env if isinstance(env, FlattenObservation) else env  # compound observations are always flattened
    spec, changed = getattr(bare, "spec", None), []
    if spec is None:
        return None
    while bare is not bare.unwrapped:
        changed.append(type(bare).__name__)
        bare = bare.env
    known = gym.registry.get(spec.id)
    usual = {} if known is None else {"max_episode_steps": known.max_episode_steps, **known.kwargs}
    changed += [key for key, value in spec.kwargs.items() if key not in HOW and str(usual.get(key)) != str(value)]
    mode = spec.kwargs.get("vectorization_mode")
    return {"name": spec.id, "copies": env.num_envs, "mode": mode and str(mode), "changed": changed}


def make(path: str | Path, named: Named | None, most: int) -> VectorEnv:
    """The environment that a file tells of, with at most so many copies: a file may ask for anything."""
    name = "an environment without a name" if named is None else named["name"]
    if named is None or name not in gym.registry:
        raise lsip.ModelError(
            f"{path} was trained on {name}, which Gymnasium cannot make here; give it: load(path, env)."
        )
    if named["changed"]:
        raise lsip.ModelError(
            f"{path} was trained on {name} with changes that it does not hold, {', '.join(named['changed'])}; give the "
            "environment: load(path, env)."
        )
    if not 1 <= named["copies"] <= most:
        raise lsip.ModelError(f"{path} asks for {named['copies']} copies of {name}; give them: load(path, env).")
    try:
        return gym.make_vec(name, num_envs=named["copies"], vectorization_mode=named["mode"])
    except (gym.error.Error, TypeError, ValueError) as error:
        raise lsip.ModelError(
            f"Gymnasium cannot make {name} of {path} ({type(error).__name__}: {error}); give it: load(path, env)."
        ) from error
