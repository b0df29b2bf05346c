"""What every way of solving may be told, and the checks that it makes of that."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..errors import ModelError
from ..masters import MasterFactory
from ..oracles import Oracle
from ..solution.solution import Iterate, Solution
from ..validation import real, whole
from .tuning import Tuning

Method = TypeVar("Method")


class Options(Protocol):
    """What the driver asks of a method; `Exchange` says what each means."""

    @property
    def oracle(self) -> Oracle | None: ...
    @property
    def tol(self) -> float: ...
    @property
    def atol(self) -> float | None: ...
    @property
    def max_iterations(self) -> int: ...
    @property
    def time_limit(self) -> float | None: ...
    @property
    def seed(self) -> int: ...
    @property
    def callback(self) -> Callable[[Iterate], Any] | None: ...
    @property
    def tuning(self) -> Tuning: ...


class LinearOptions(Options, Protocol):
    """And what a linear relaxation asks besides."""

    @property
    def master(self) -> str | MasterFactory: ...
    @property
    def polish(self) -> bool: ...
    @property
    def sample_first(self) -> bool: ...
    @property
    def warm_start(self) -> Solution | None: ...
    @property
    def start(self) -> Sequence[NDArray[np.float64]] | None: ...


def check_options(
    tol: object,
    max_iterations: object,
    oracle: object,
    *,
    time_limit: object = None,
    seed: object = 0,
    callback: object = None,
    warm_start: object = None,
    atol: object = None,
) -> None:
    """Refuse what cannot mean anything, before any work."""
    real("tol", tol, "is a relative gap between 0 and 1", lambda v: 0 < v < 1)
    if atol is not None:
        real("atol", atol, "is an absolute gap >= 0, in units of the objective, or None", lambda v: 0 <= v < np.inf)
    whole("max_iterations", max_iterations, 1)
    whole("seed", seed, 0)
    if time_limit is not None:
        real("time_limit", time_limit, "is a number of seconds, or None for no limit", lambda v: v >= 0)
    if isinstance(oracle, type) and isinstance(oracle, Oracle):
        raise ModelError(f"`oracle` is a class; make one with parentheses: {oracle.__name__}().")
    if oracle is not None and not isinstance(oracle, Oracle):
        raise ModelError(
            "`oracle` must have a method maximise(violation, *, target, seed), as lsip.oracles.Grid() has; "
            f"got {oracle!r}."
        )
    if callback is not None and not callable(callback):
        raise ModelError(f"`callback` is a function of an iterate; got {callback!r}.")
    if warm_start is not None and not hasattr(warm_start, "cuts"):
        raise ModelError(f"`warm_start` is a solution of the same or a similar problem; got {warm_start!r}.")


def chosen(default: Method, given: tuple[object, ...], method: object, options: dict[str, Any]) -> Method:
    """The method with the options that were given beside it; `given` are arguments without a name, which mean none."""
    kind = type(default).__name__
    if given:
        shown = ", ".join(f"{g!r}" for g in given)
        raise ModelError(
            f"solve takes its options by name, as in solve(tol=1e-6) or solve(method=lsip.{kind}()); got {shown}."
        )
    if method is not None and not isinstance(method, type(default)):
        raise ModelError(f"`method` must be an lsip.{kind}, such as lsip.{kind}(oracle=…); got {method!r}.")
    known = [f.name for f in fields(default)]  # type: ignore[arg-type]
    unknown = [name for name in options if name not in known]
    if unknown:
        raise ModelError(
            f"Unknown option {', '.join(unknown)}; the options of solve are {', '.join(known)}, method and verbose."
        )
    return replace(default if method is None else method, **options)  # type: ignore[type-var]
