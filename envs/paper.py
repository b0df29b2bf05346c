"""The paper's experiments in one call: everything that a learner is constructed with, as keyword arguments.

    agent = rl.SICPO(**envs.paper.sewage())
    agent = rl.SICPPO(**envs.paper.ship())

Where the text leaves room, the page "Where the paper leaves room" says what is chosen here.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import rl
from lsip.validation import Count, Flag, Natural, checked

from .experiments.sewage_si_cpo import PAPER
from .experiments.ship_si_cppo import SEARCH


@checked(seed=Count, printed=Flag)
def sewage(seed: int = 0, *, printed: bool = False) -> dict[str, Any]:
    """Discharge of Sewage with SI-CPO: 8 outfalls, 4 actions, NPG with K_sgd = 1000, K_eval = 100,000, M = 100.

    Parameters
    ----------
    seed
        Of the environment and of the learner.
    printed
        Fit w with the gradient G as the algorithm prints it, instead of the one that the text before it asks for.

    Examples
    --------
    >>> import envs, rl
    >>> agent = rl.SICPO(**envs.paper.sewage(seed=1))
    >>> agent.eta
    0.013
    """
    options = PAPER.options(seed)
    if printed:
        options["update"] = replace(options["update"], gradient="printed")
    return {"problem": PAPER.environment(seed), "oracle": PAPER.search, **options}


@checked(seed=Count, copies=Natural)
def ship(seed: int = 0, *, copies: int = 100) -> dict[str, Any]:
    """Ship Route Planning with SI-CPPO: two layers of 512, Adam at 1e-4, 400 episodes an iteration.

    Y is searched by a trust region method, and at 100 random points where that fails. `rl.SICPPO` by itself takes
    `lsip.oracles.BranchAndBound(max_boxes=1024)` here, because the constraint has Lipschitz constants.

    Parameters
    ----------
    seed
        Of the learner.
    copies
        Of the environment, side by side: they change how fast episodes are played, and nothing else.

    Examples
    --------
    >>> import envs
    >>> options = envs.paper.ship()
    >>> options["config"].hidden, options["fallback"]
    ((512, 512), RandomSearch(points=100))
    """
    import gymnasium

    from .ship import constraint

    env = gymnasium.make_vec("lsip/ShipRoute-v0", num_envs=copies)
    return {"env": env, "constraint": constraint(), "config": rl.SICPPOConfig.paper(), "seed": seed, **SEARCH}
