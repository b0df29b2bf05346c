"""Advantages from paths: generalised advantage estimation, with ends of episodes treated as what they are.

The sums A_t = delta_t + c_t A_{t+1} are all computed at once, by doubling: a pass makes each of them twice as long, so
that T steps take log2(T) passes, on whatever device the tensors are.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import torch
from torch import Tensor

Numbers: TypeAlias = Any  # arrays of NumPy, tensors of torch, or plain numbers


def gae(
    rewards: Numbers,
    values: Numbers,
    last: Numbers,
    gamma: float | Tensor,
    trace: float,
    ended: Numbers = None,
    cut: Numbers = None,
    after: Numbers = None,
) -> Tensor:
    """Generalised advantage estimates, over time along the first axis.

    A_t = sum_k (gamma trace)^k delta_{t+k} with delta_t = r_t + gamma V(s_{t+1}) - V(s_t).

    Parameters
    ----------
    rewards, values
        r_t and V(s_t), shape (T, …): tensors of one device, or arrays.
    last
        V(s_T), shape (…).
    gamma, trace
        Discount factor, which may be a tensor that fits (…), and lambda.
    ended
        Where an episode ends with step t for good, (T, …): nothing follows.
    cut
        Where it is only cut off after step t: its value goes on as `after`, and the sum stops there.
    after
        V of the state after each step, (T, …), where `cut` is true.
    """
    rewards, values, last = (torch.as_tensor(part) for part in (rewards, values, last))
    kind = torch.promote_types(torch.promote_types(rewards.dtype, values.dtype), last.dtype)
    rewards, values, last = (part.to(kind) for part in (rewards, values, last))
    follows = torch.cat([values[1:], last[None]])
    carry = torch.ones_like(values) * gamma * trace
    if cut is not None:
        where = torch.as_tensor(cut)
        follows = follows if after is None else torch.where(where, torch.as_tensor(after), follows)
        carry = carry.masked_fill(where, 0.0)
    if ended is not None:
        where = torch.as_tensor(ended)
        follows, carry = follows.masked_fill(where, 0.0), carry.masked_fill(where, 0.0)
    return discounted(rewards + gamma * follows - values, carry)


def discounted(terms: Tensor, carry: Tensor) -> Tensor:
    """A_t = terms_t + carry_t A_{t+1}, from A_T = 0, over time along the first axis: (T, …) of both."""
    length, ahead = len(terms), 1
    while ahead < length:  # A_t is the sum of `ahead` terms, and carry_t what multiplies the next
        terms = torch.cat([terms[:-ahead] + carry[:-ahead] * terms[ahead:], terms[-ahead:]])
        ahead *= 2
        if ahead < length:
            half = ahead // 2
            carry = torch.cat([carry[:-half] * carry[half:], carry[-half:]])
    return terms
