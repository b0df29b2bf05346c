"""PPO-Lagrangian: one multiplier prices the cost at the worst index point; a violation raises it, slack lowers it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Unpack

import lsip

from .. import validation
from ..constraint import SemiInfiniteCost
from ..policies import Policy
from ..rollouts import AnyEnv
from ..rules import Lagrangian
from ..si_cppo import SICPPO
from ..si_cppo_config import Settings, SICPPOConfig
from ..updates import Update

if TYPE_CHECKING:
    from ..rollouts_ray import RayRollouts


class LagrangianOptions(Settings, total=False):
    """All options of `SICPPO`, but for the rule."""

    update: Update | None
    oracle: lsip.oracles.Oracle | None
    fallback: lsip.oracles.Oracle | None
    policy: Policy | None
    seed: int | None
    device: str
    tensorboard: str | Path | None
    workers: Literal["ray"] | RayRollouts | None
    evaluation_env: AnyEnv | None


class PPOLagrangian(SICPPO):
    """SI-CPPO with a multiplier instead of the switch: each step is on the reward minus lambda times the worst cost.

    In every iteration the worst index point y and its violation v = V_{c_y} - u_y are found as in SI-CPPO; then

        lambda <- max(0, lambda + multiplier_rate * v),

    a projected gradient ascent step on the dual of the constraint at y, and the policy follows the advantages
    (A_r - lambda A_{c_y}) / (1 + lambda), each from its own critic. One multiplier serves all of Y: it prices whichever
    point is the worst. Violation and price tend to swing, as with all such methods. `eta` only decides which iterations
    are reported as good, and `only_arrived` plays no part.

    Parameters
    ----------
    env, constraint, config, options
        As in `SICPPO`, and so are `learn`, `predict`, `evaluate`, `save` and `load`.
    multiplier
        lambda at the beginning.
    multiplier_rate
        Its learning rate.
    """

    kind = "PPOLagrangian"

    def __init__(
        self,
        env: AnyEnv,
        constraint: SemiInfiniteCost | Sequence[SemiInfiniteCost],
        config: SICPPOConfig | None = None,
        *,
        multiplier: float = 0.0,
        multiplier_rate: float = 0.1,
        **options: Unpack[LagrangianOptions],
    ) -> None:
        if config is not None and not isinstance(config, SICPPOConfig):
            raise lsip.ModelError(f"`config` is an rl.SICPPOConfig; got {validation.shown(config)}.")
        eta = options.pop("eta", (config or SICPPOConfig()).eta)
        super().__init__(env, constraint, config, rule=Lagrangian(eta, multiplier_rate, multiplier), **options)

    @property
    def multiplier(self) -> float:
        """lambda, the price of the worst cost."""
        return float(self.state.prices[0]) if len(self.state.prices) else self.rule.multiplier

    @property
    def multiplier_rate(self) -> float:
        """Its learning rate."""
        return float(self.rule.rate)
