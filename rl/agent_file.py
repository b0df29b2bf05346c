"""What the file of an agent must fit: the environment that it goes on in, and the networks that are made for it."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import gymnasium as gym
from numpy.typing import NDArray

import lsip

from .constraint import SemiInfiniteCost
from .episodic import innermost
from .player import width
from .rollouts import AnyEnv, as_vector
from .several import Several
from .si_cppo_config import SICPPOConfig

Array = NDArray[Any]


def check_sizes(
    path: str | Path, config: SICPPOConfig, env: AnyEnv, constraint: object, arrays: Mapping[str, Array]
) -> None:
    """Refuse networks of other sizes than the file holds, before any are made: a file may ask for anything."""
    space = as_vector(env).single_observation_space
    if not isinstance(constraint, SemiInfiniteCost | Several):
        return
    if not isinstance(space, gym.spaces.Box | gym.spaces.Discrete):
        return  # whoever is to learn says what is wrong with them
    seen = width(space)
    for critic, first in (("reward", seen), ("cost", seen + constraint.width)):
        for i, (before, after) in enumerate(pairwise([first, *config.hidden, 1])):
            name = f"critics/{critic}.{2 * i}.weight"
            if arrays[name].shape == (after, before):
                continue
            if not i and arrays[name].shape == (after, arrays[name].size // after):
                raise lsip.ModelError(
                    f"{path} was made for other observations, actions or index sets than these: {name} has shape "
                    f"{arrays[name].shape} instead of {(after, before)}."
                )
            raise ValueError(f"its networks have layers {tuple(config.hidden)}, but {name} has {arrays[name].shape}")


def own_constraint(env: AnyEnv) -> SemiInfiniteCost:
    """The constraint that an environment brings along."""
    make = getattr(innermost(env), "constraint", None)
    if not callable(make):
        raise lsip.ModelError(
            "The environment does not bring its constraint along; give it: load(path, env, constraint)."
        )
    constraint: SemiInfiniteCost = make()
    return constraint
