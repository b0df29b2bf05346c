"""Planning in sparse models: random graphs with a few successors a pair, whose factors would fill up."""

from __future__ import annotations

import rl

from .harness.clock import timed
from .harness.figures import machine, table
from .harness.growing_plans import random_graph
from .harness.registry import Figures, Options, benchmark, say

SIZES, QUICK = (1000, 2000, 5000), (500,)
LIMIT = 120.0


def show(figures: Figures) -> str:
    heads = {"states": "states", "seconds": "s", "certified": "proven", "gap": "gap", "active": "active y"}
    return table(figures["plans"], heads)


@benchmark("planning", "rl.plan in sparse models of up to 5,000 states", show)
def run(options: Options) -> Figures:
    plans = []
    for states in QUICK if options.quick else SIZES:
        mdp = random_graph(states, options.seed)
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
