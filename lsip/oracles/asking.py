"""Asking an oracle: the answer of one that a user wrote is looked at once, here, before anything is made of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..errors import ModelError
from ..validation import double, having, numbers, shown
from .base import Array, Ints, Oracle, Separation, Violation, Work, check_violation


def ask(oracle: Oracle, violation: Violation, *, target: float = 0.0, seed: int = 0) -> Separation:
    """Call an oracle and check its result."""
    own, name = type(oracle).__module__.startswith("lsip."), type(oracle).__name__
    having("oracle", oracle, "maximise", "lsip.oracles.BranchAndBound()")
    if not own:
        check_violation("violation", violation)
    try:
        found = oracle.maximise(violation, target=target, seed=seed)
    except TypeError as error:
        if error.__traceback__ is None or error.__traceback__.tb_next is not None:
            raise
        raise ModelError(f"`maximise` of {name} is called with (violation, target=…, seed=…): {error}.") from error
    return found if own else _checked(found, name, violation)


def _checked(found: object, name: str, violation: Violation) -> Separation:
    if not isinstance(found, Separation):
        raise ModelError(f"`maximise` of {name} must give an lsip.oracles.Separation; got {shown(found)}.")
    what = f"of the Separation that {name} gave"
    points = _numbers(found.points, f"`points` {what}")
    k = len(points) if points.ndim else 0
    if points.shape != (k, violation.domain.dim):
        raise ModelError(f"`points` {what} must be (k, {violation.domain.dim}); got {points.shape}.")
    if not violation.domain.contains(points).all():
        raise ModelError(f"`points` {what} must be in the index set {violation.domain}; some are not.")
    values = _numbers(found.values, f"`values` {what}")
    if values.shape != (k,):
        raise ModelError(f"`values` {what} must be ({k},), one for each point; got {values.shape}.")
    bound, estimate = (_number(getattr(found, field), f"`{field}` {what}") for field in ("bound", "estimate"))
    trusts = found.trusts
    if not isinstance(trusts, tuple) or not all(isinstance(sentence, str) and sentence for sentence in trusts):
        raise ModelError(f"`trusts` {what} must be a tuple of sentences; got {shown(trusts)}.")
    if found.work is not None and not isinstance(found.work, Work):
        raise ModelError(f"`work` {what} must be an lsip.oracles.Work or None; got {shown(found.work)}.")
    components = _rows(found, points, violation, what)
    return replace(
        found, points=points, values=values, bound=bound, estimate=estimate, components=components, rows=None
    )


def _numbers(given: object, what: str) -> Array:
    values = numbers(given, what)
    if not np.isfinite(values).all():
        raise ModelError(f"{what} must be finite; got inf among them.")
    return values


def _number(given: object, what: str) -> float:
    value = double(given)
    if np.isnan(value) and not isinstance(given, float | np.floating):
        raise ModelError(f"{what} must be a number; got {shown(given)}.")
    return value


def _rows(found: Separation, points: Array, violation: Violation, what: str) -> Ints:
    """The row of every point; where none are said, the one that is violated most."""
    k, given = len(points), numbers(found.components, f"`components` {what}")
    if k and given.shape == (0,):
        one = violation.components == 1
        return np.zeros(k, dtype=np.intp) if one else np.argmax(violation.values(points), axis=1).astype(np.intp)
    rows = given.astype(np.intp)
    fits = (rows == given) & (rows >= 0) & (rows < violation.components)
    if given.shape != (k,) or not fits.all():
        raise ModelError(
            f"`components` {what} must be ({k},) rows below {violation.components}; got {shown(found.components)}."
        )
    return rows
