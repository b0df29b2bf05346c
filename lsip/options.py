"""Checks that every way of solving makes of its options."""

from __future__ import annotations

from typing import Any

from .errors import ModelError
from .oracles import Oracle


def check_options(tol: float, max_iterations: int, oracle: Any) -> None:
    """Refuse what cannot mean anything, before any work."""
    if not 0 < tol < 1:
        raise ModelError(f"`tol` is a relative gap between 0 and 1; got {tol}.")
    if max_iterations < 1:
        raise ModelError(f"`max_iterations` must be at least 1; got {max_iterations}.")
    if oracle is not None and not isinstance(oracle, Oracle):
        raise ModelError(f"`oracle` must have a method maximise(violation, domain, …); got {oracle!r}.")
