"""PPO-Lagrangian: one multiplier prices the cost at the worst index point; a violation raises it, slack lowers it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Unpack

import lsip

from .. import validation
from ..constraint import SemiInfiniteCost, Worst
from ..rollouts import AnyEnv
from ..si_cppo import SICPPO, Array
from ..si_cppo_config import Settings, SICPPOConfig

if TYPE_CHECKING:
    from ..rollouts_ray import RayRollouts


class Options(Settings, total=False):
    """All options of `SICPPO`."""

    oracle: lsip.oracles.Oracle | None
    seed: int | None
    device: str
    tensorboard: str | Path | None
    workers: Literal["ray"] | RayRollouts | None


class PPOLagrangian(SICPPO):
    """SI-CPPO, but for the switch: every step is on the reward minus lambda times the worst cost.

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

    CHANGING = (*SICPPO.CHANGING, "multiplier")

    def __init__(
        self,
        env: AnyEnv,
        constraint: SemiInfiniteCost,
        config: SICPPOConfig | None = None,
        *,
        multiplier: float = 0.0,
        multiplier_rate: float = 0.1,
        **options: Unpack[Options],
    ) -> None:
        price = validation.number("multiplier", multiplier, "amount")
        rate = validation.number("multiplier_rate", multiplier_rate, "positive")
        super().__init__(env, constraint, config, **options)
        self.multiplier, self.multiplier_rate = price, rate  # lambda, the price of the worst cost

    def _chosen(self, of_reward: Array, of_cost: Array, worst: Worst, good: bool) -> Array:
        self.multiplier = max(0.0, self.multiplier + self.multiplier_rate * worst.value)
        return (of_reward - self.multiplier * of_cost) / (1 + self.multiplier)

    def _facts(self) -> dict[str, Any]:
        return {"multiplier": self.multiplier, "multiplier_rate": self.multiplier_rate}

    def _restore(self, path: str | Path, facts: dict[str, Any], arrays: dict[str, Any]) -> None:
        super()._restore(path, facts, arrays)
        self.multiplier, self.multiplier_rate = facts["multiplier"], facts["multiplier_rate"]
