"""Exchange Policy Optimisation: a working set of index points with multipliers, in tabular models and environments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import lsip

from . import validation
from .constraint import SemiInfiniteCost
from .rules import Exchange
from .si_cpo import SICPO
from .si_cppo import SICPPO
from .si_cppo_config import SICPPOConfig


def EPO(
    problem: Any,
    constraint: SemiInfiniteCost | Sequence[SemiInfiniteCost] | None = None,
    config: SICPPOConfig | None = None,
    *,
    eta: float | None = None,
    rate: float | None = None,
    merge: float = 0.01,
    gain: float | None = None,
    saturation: float | None = None,
    **options: Any,
) -> SICPO | SICPPO:
    """A learner that follows `rl.rules.Exchange`, with the same updates, evaluations and oracles as all others.

    Parameters
    ----------
    problem, constraint, config
        An `rl.SICMDP` or a simulator, as for `rl.SICPO`; or a Gymnasium environment with its constraint and settings,
        as for `rl.SICPPO`.
    eta, rate, merge, gain, saturation
        Of the exchange: the violation above which a point joins the working set (0.01, or as the config says), the
        learning rate of the multipliers, how near two points count as one, how much the violations of now add to
        the multipliers, which damps their swings, and what violations and slack count as at most, so that those of a
        beginner are no debt. In a tabular model the defaults are those of `rl.rules.Exchange`; in an environment they
        are 0.3, 3 and 1 of the deviations of returns and costs between episodes, which are what these numbers count.
    options
        All others of `rl.SICPO`, or of `rl.SICPPO`; these also load its files.

    Examples
    --------
    >>> import envs, rl
    >>> mdp = envs.sewage(states=4, actions=2, seed=1)
    >>> agent = rl.EPO(mdp, update=rl.NPG(samples=200), evaluation=rl.Exact(), learning_rate=0.2)
    >>> points, multipliers = agent.learn(50).working_set
    """
    if constraint is None:
        if hasattr(problem, "observation_space"):
            raise lsip.ModelError("An environment comes with its constraint: rl.EPO(env, rl.SemiInfiniteCost(…)).")
        validation.unused("a tabular model", config=config)
        plain = Exchange(0.01 if eta is None else eta, merge=merge)
        return SICPO(problem, rule=_with(plain, rate, gain, saturation), **options)
    if config is not None and not isinstance(config, SICPPOConfig):
        raise lsip.ModelError(f"`config` is an rl.SICPPOConfig; got {validation.shown(config)}.")
    settings = config or SICPPOConfig()
    damped = Exchange(settings.eta if eta is None else eta, rate=0.3, merge=merge, gain=3.0, saturation=1.0)
    rule = _with(damped, rate, gain, saturation)
    return SICPPO(problem, constraint, settings, rule=rule, **options)


def _with(rule: Exchange, rate: float | None, gain: float | None, saturation: float | None) -> Exchange:
    """The rule with what was given."""
    given = {"rate": rate, "gain": gain, "saturation": saturation}
    return replace(rule, **{name: value for name, value in given.items() if value is not None})
