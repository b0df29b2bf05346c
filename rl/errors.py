"""What can be wrong with a decision problem or a policy, beyond what `lsip` already says."""

from __future__ import annotations

import lsip
from lsip.model import Answer


class InfeasibleError(lsip.LSIPError):
    """No policy keeps every constraint; `points` are the index points whose constraints contradict each other."""

    def __init__(
        self,
        message: str,
        points: tuple[lsip.ActivePoint, ...] = (),
        solution: Answer | lsip.Decomposition | None = None,
    ) -> None:
        super().__init__(message)
        self.points, self.solution = points, solution


class NoGoodPolicyWarning(UserWarning):
    """The policy that was asked for has broken a constraint, because no iterate so far has kept them all."""


class OracleError(lsip.LSIPError, RuntimeError):
    """An oracle has failed, or what it found is no number."""


class OracleWarning(UserWarning):
    """An oracle has failed, and another one was asked instead."""
