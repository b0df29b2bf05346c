"""What every way of solving may be told, and the checks that it makes of that."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from ..errors import ModelError
from ..masters import MasterFactory, open_master
from ..oracles import Oracle
from ..oracles.choice import open_oracle
from ..proof.certificate import Array
from ..solution.result import Iterate
from ..solution.solution import Solution
from ..validation import flag, real, shown, whole
from ..workers import Workers, check_workers
from .tuning import DEFAULTS, Tuning


@dataclass(frozen=True)
class Options:
    """How to solve: `Exchange` says what each field means; linear programs alone have a master that can be chosen."""

    oracle: Oracle | str | None = None
    master: str | MasterFactory = "highs"
    tol: float = 1e-8
    atol: float | None = None
    max_iterations: int = 1000
    time_limit: float | None = None
    polish: bool = True
    sample_first: bool = True
    seed: int = 0
    callback: Callable[[Iterate], Any] | None = None
    warm_start: Solution | None = None
    start: Sequence[Array] | None = None
    workers: Workers = None
    tuning: Tuning = field(default=DEFAULTS, repr=False)

    def __post_init__(self) -> None:
        """Refuse what cannot mean anything, before any work."""
        if isinstance(self.oracle, str):
            object.__setattr__(self, "oracle", open_oracle(self.oracle))
        oracle: Any = self.oracle
        real("tol", self.tol, "is a relative gap between 0 and 1", lambda v: 0 < v < 1)
        if self.atol is not None:
            meaning = "is an absolute gap >= 0, in units of the objective, or None"
            real("atol", self.atol, meaning, lambda v: 0 <= v < np.inf)
        if not isinstance(self.tuning, Tuning):
            raise ModelError(f"`tuning` is an lsip.Tuning(…); got {shown(self.tuning)}.")
        flag("polish", self.polish)
        flag("sample_first", self.sample_first)
        whole("max_iterations", self.max_iterations, 1)
        whole("seed", self.seed, 0)
        if self.time_limit is not None:
            real("time_limit", self.time_limit, "is a number of seconds, or None for no limit", lambda v: v >= 0)
        if isinstance(oracle, type) and isinstance(oracle, Oracle):
            raise ModelError(f"`oracle` is a class; make one with parentheses: {oracle.__name__}().")
        if oracle is not None and not isinstance(oracle, Oracle):
            raise ModelError(
                "`oracle` is a name, such as 'grid', or must have a method maximise(violation, *, target, seed), as "
                f"lsip.oracles.Grid() has; got {shown(oracle)}."
            )
        if self.callback is not None and not callable(self.callback):
            raise ModelError(f"`callback` is a function of an iterate; got {shown(self.callback)}.")
        if self.warm_start is not None and not hasattr(self.warm_start, "cuts"):
            raise ModelError(f"`warm_start` is the solution of a similar problem; got {shown(self.warm_start)}.")
        open_master(self.master)
        check_workers(self.workers)

    @property
    def separation(self) -> Oracle | None:
        """The oracle for all families; None where each has its own."""
        return None if isinstance(self.oracle, str) else self.oracle

    def given(self) -> dict[str, str]:
        """The options that are not what they are by default, in words."""
        return {f.name: _told(value) for f in fields(self) if f.repr and (value := getattr(self, f.name)) != f.default}


def _told(value: object) -> str:
    """An option in a few words."""
    if value is None or isinstance(value, bool | int | float | str):
        return f"{value:g}" if isinstance(value, float) else str(value)
    return getattr(value, "__name__", None) or type(value).__name__
