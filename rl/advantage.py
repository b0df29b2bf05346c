"""Advantages from paths: generalised advantage estimation, with ends of episodes treated as what they are."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def gae(
    rewards: Array,
    values: Array,
    last: Array,
    gamma: float,
    trace: float,
    ended: Array | None = None,
    cut: Array | None = None,
    after: Array | None = None,
) -> Array:
    """Generalised advantage estimates, over time along the first axis.

    A_t = sum_k (gamma trace)^k delta_{t+k} with delta_t = r_t + gamma V(s_{t+1}) - V(s_t).

    Parameters
    ----------
    rewards, values
        r_t and V(s_t), shape (T, …).
    last
        V(s_T), shape (…).
    gamma, trace
        Discount factor and lambda.
    ended
        Where an episode ends with step t for good, (T, …): nothing follows.
    cut
        Where it is only cut off after step t: its value goes on as `after`, and the sum stops there.
    after
        V of the state after each step, (T, …), where `cut` is true.
    """
    T = len(rewards)
    advantages = np.zeros(np.shape(values))
    follows = last
    running = np.zeros(np.shape(last))
    for t in range(T - 1, -1, -1):
        ahead, carry = follows, running
        if cut is not None:
            ahead = np.where(cut[t], after[t] if after is not None else follows, ahead)
            carry = np.where(cut[t], 0.0, carry)
        if ended is not None:
            ahead, carry = np.where(ended[t], 0.0, ahead), np.where(ended[t], 0.0, carry)
        running = rewards[t] + gamma * ahead - values[t] + gamma * trace * carry
        advantages[t] = running
        follows = values[t]
    return advantages
