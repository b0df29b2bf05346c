"""Discharge of Sewage: outfalls in a region, one of them active at a time, and no place may be polluted too much.

State s is the active outfall at position p_s; pollution at a place y decreases with distance,

    c_y(s) = 1 / (1 + |y - p_s|^2),

and at every place y of the region its discounted sum must stay below what a reference policy would cause,

    u_y = (1 + slack) sum_s d(s) c_y(s) / (1 - gamma),

with d the discounted state occupancy of the uniform policy. Places are the index set Y = [0, region]^2.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import lsip
import rl
from rl import validation
from rl.validation import Seed

Array = NDArray[np.float64]


class Sewage(rl.SICMDP):
    """The model of `sewage`, which also knows where its outfalls are."""

    outfalls: Array  # (S, 2)


def sewage(
    states: int = 8,
    actions: int = 4,
    gamma: float = 0.9,
    *,
    seed: Seed = 0,
    region: float = 1.0,
    slack: float = 1e-6,
    switching_cost: bool = False,
    transitions: str = "dirichlet",
) -> Sewage:
    """Discharge of Sewage at random.

    Parameters
    ----------
    states, actions, gamma
        |S| outfalls, |A| actions, the discount factor.
    seed
        An integer or a NumPy generator: positions, transition probabilities and rewards.
    region
        Side of the square in which the outfalls lie, and which is Y.
    slack
        How much more pollution is allowed than the uniform policy causes, relatively. Small: the constraint binds.
    switching_cost
        Rewards r(s, a) = P(s | s, a), which is one minus the probability of a switch, instead of uniform random ones.
    transitions
        "dirichlet": P(. | s, a) uniform on the simplex; "normalised": uniform numbers, divided by their sum.

    Examples
    --------
    >>> import envs, rl
    >>> mdp = envs.sewage(states=4, actions=2, seed=1)
    >>> mdp
    SICMDP with 4 states, 2 actions, discount 0.9, and a constraint for every y in [0, 1]²
    """
    states, actions = validation.count("states", states), validation.count("actions", actions)
    validation.fits("The transition probabilities", states, actions, states)
    region = validation.number("region", region, "positive")
    slack, gamma = validation.number("slack", slack, "amount"), validation.number("gamma", gamma, "discount")
    validation.choice("transitions", transitions, ("dirichlet", "normalised"))
    validation.flag("switching_cost", switching_cost)
    rng = validation.generator(seed)
    outfalls = rng.uniform(0, region, size=(states, 2))
    if transitions == "dirichlet":
        P = rng.dirichlet(np.ones(states), size=(states, actions))
    else:
        P = rng.uniform(size=(states, actions, states))
        P /= P.sum(axis=2, keepdims=True)
    s = np.arange(states)
    r = P[s, :, s] if switching_cost else rng.uniform(size=(states, actions))

    y = lsip.Index("y", lsip.Box([0, 0], [region, region]))
    cost = 1 / (1 + ((y - outfalls) ** 2).sum(axis=-1))
    mu = np.full(states, 1 / states)
    chain = P.mean(axis=1)
    d = np.linalg.solve(np.eye(states) - gamma * chain.T, mu)  # discounted visits, of total 1 / (1 - gamma)
    mdp = Sewage(P, r, cost, (1 + slack) * (d @ cost), y, mu, gamma)
    mdp.outfalls = outfalls
    return mdp
