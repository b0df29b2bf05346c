"""What can be wrong with a decision problem, a policy, or code that a learner was given, beyond what `lsip` says."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import lsip
from lsip.model import Answer


class InfeasibleError(lsip.LSIPError):
    """No policy satisfies every constraint; the constraints at the index points `points` contradict each other."""

    def __init__(
        self,
        message: str,
        points: tuple[lsip.ActivePoint, ...] = (),
        solution: Answer | lsip.Decomposition | None = None,
    ) -> None:
        super().__init__(message)
        self.points, self.solution = points, solution


class NoGoodPolicyWarning(UserWarning):
    """The returned policy violates a constraint, because no iterate so far satisfies all of them."""


class GivenCodeError(lsip.ModelError, RuntimeError):
    """Your code has failed in a learner: a callback, an environment, a policy, …; its error is the cause."""


class OracleError(GivenCodeError):
    """An oracle has failed, or its result is not a number."""


class OracleWarning(UserWarning):
    """An oracle has failed, and the fallback oracle was used."""


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
