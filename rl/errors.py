"""What can be wrong with a decision problem, a policy, or code that a learner was given, beyond what `lsip` says."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

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


class GivenCodeError(lsip.ModelError, RuntimeError):
    """Code that a learner was given has failed: a callback, an environment, a policy, …; its own error is the cause."""


class OracleError(GivenCodeError):
    """An oracle has failed, or what it found is no number."""


class OracleWarning(UserWarning):
    """An oracle has failed, and another one was asked instead."""


@contextmanager
def code_of(whose: str, advice: str = "", kind: type[GivenCodeError] = GivenCodeError) -> Iterator[None]:
    """Whatever is raised here comes from somebody's code, and ends in a sentence that says whose; lsip's own pass."""
    try:
        yield
    except lsip.LSIPError:
        raise
    except Exception as error:
        said = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        raise kind(f"{whose} failed with {said}.{advice}") from error
