"""Policies of tabular models, as probabilities (S, A)."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

import lsip

from . import validation
from .transitions import check_distribution

Array = NDArray[np.float64]


class HasPolicy(Protocol):
    """What has found a policy, such as a `Plan`, and can stand for it."""

    @property
    def policy(self) -> ArrayLike:
        """Probabilities (S, A)."""


PolicyLike = ArrayLike | HasPolicy


def read_policy(policy: PolicyLike, states: int, actions: int) -> Array:
    """A policy as probabilities (S, A); integers (S,) are the actions of a deterministic one.

    What has a policy, such as a `Plan`, stands for it.
    """
    bare: Any = getattr(policy, "policy", policy)  # an array, or what can be made one
    table = bare if isinstance(bare, np.ndarray) else validation.array("policy", bare)
    if isinstance(bare, list | tuple) and all(isinstance(v, int | np.integer) for v in bare):
        table = table.astype(np.intp)
    if table.shape == (states,) and np.issubdtype(table.dtype, np.integer):
        if (table < 0).any() or (table >= actions).any():
            raise lsip.ModelError(f"A deterministic policy has actions 0 to {actions - 1}; got {table.tolist()}.")
        return np.eye(actions)[table]
    pi = validation.array("policy", bare)
    if pi.shape != (states, actions):
        raise lsip.ModelError(
            f"A policy has shape ({states}, {actions}), or ({states},) with integer actions; got {pi.shape}."
        )
    check_distribution(pi, "policy", lambda i: f" in state {i}")
    return pi


def uniform_policy(states: int, actions: int) -> Array:
    """Every action with the same probability."""
    validation.count("states", states)
    validation.count("actions", actions)
    validation.fits("A policy", states, actions)
    return np.full((states, actions), 1 / actions)


def policy_of(occupancy: Array, least: float = 1e-12) -> Array:
    """The policy behind an occupancy measure (S, A): q(s, a) / sum_b q(s, b).

    States that are visited less than `least` carry no information; there, every action gets the same probability.
    """
    q = np.maximum(validation.array("occupancy", occupancy), 0.0)
    if q.ndim != 2 or not q.size:
        raise lsip.ModelError(f"An occupancy measure has the shape (S, A); got {q.shape}.")
    validation.number("least", least)
    total = q.sum(axis=1, keepdims=True)
    seen = total > least
    return np.where(seen, q / np.where(seen, total, 1.0), 1 / q.shape[1])
