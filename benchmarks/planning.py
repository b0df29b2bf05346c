"""Planning in sparse models: random graphs with a few successors a pair, whose factors would fill up."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

import lsip
import rl
from rl.discounted_solve import iterate

from .harness.clock import timed
from .harness.figures import machine, table
from .harness.registry import Figures, Options, benchmark, say

SIZES, QUICK = (1000, 2000, 5000), (500,)
ACTIONS, SUCCESSORS, GAMMA = 3, 9, 0.9
SLACK = 2.5  # over the number of states: the larger a random graph, the less policies differ in where they are
LIMIT = 120.0


def model(states: int, seed: int = 0) -> Any:
    """Sources of noise in a square, one at a time: no place may hear much more than under the uniform policy."""
    rng = np.random.default_rng(seed)
    pairs = states * ACTIONS
    following = rng.integers(states, size=(pairs, SUCCESSORS))
    chances = rng.dirichlet(np.ones(SUCCESSORS), size=pairs)
    rows = np.repeat(np.arange(pairs), SUCCESSORS)
    P = sparse.csr_matrix((chances.ravel(), (rows, following.ravel())), shape=(pairs, states))
    y = lsip.Index("y", lsip.Box([0, 0], [1, 1]))
    cost = 1 / (1 + ((y - rng.uniform(size=(states, 2))) ** 2).sum(axis=-1))
    mean = sparse.kron(sparse.eye(states), np.full((1, ACTIONS), 1 / ACTIONS)) @ P
    visits = iterate(sparse.csr_matrix(mean.T), GAMMA, np.full(states, 1 / states))
    bound = (1 + SLACK / states) * (visits @ cost)
    return rl.SICMDP(P, rng.uniform(size=(states, ACTIONS)), cost, bound, y, None, GAMMA)


def show(figures: Figures) -> str:
    heads = {"states": "states", "seconds": "s", "certified": "proven", "gap": "gap", "active": "active y"}
    return table(figures["plans"], heads)


@benchmark("planning", "rl.plan in sparse models of up to 5,000 states", show)
def run(options: Options) -> Figures:
    plans = []
    for states in QUICK if options.quick else SIZES:
        mdp = model(states, options.seed)
        seconds, plan = timed(lambda mdp=mdp: rl.plan(mdp, time_limit=LIMIT))
        plans.append(
            {
                "states": states,
                "transitions": int(mdp.rows.nnz),
                "seconds": seconds,
                "certified": plan.certified,
                "value": plan.value,
                "gap": plan.gap,
                "active": len(plan.active),
            }
        )
        say(f"{states} states: {seconds:.3g} s, {'proven' if plan.certified else plan.status.name}")
    return {"plans": plans, "machine": machine()}
