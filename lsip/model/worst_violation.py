"""What a point is worth that comes from elsewhere: its largest violation over all index points, with proof."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ..deadline import within
from ..errors import ModelError, OutOfTime
from ..expressions import Variable
from ..legible import legible_repr
from ..oracles import EnclosableViolation, Separation, prover, sought, supremum
from ..oracles.base import Array
from ..validation import is_mapping, numbers, real
from .program import Program
from .unbounded import placements

Values = ArrayLike | Mapping[Variable, ArrayLike]  # of all variables in a row, or of each


@legible_repr
@dataclass(frozen=True, eq=False)
class WorstViolation:
    """The largest value of a(y) x - b(y) over all constraints and index points: positive where x is infeasible.

    Examples
    --------
    >>> import lsip
    >>> x, t = lsip.Variable(2, name="x"), lsip.Index("t", lsip.Interval(0, 1))
    >>> above = lsip.forall(t, x[0] + x[1] * t >= t**2, name="above")
    >>> problem = lsip.Problem(lsip.minimize(x[0] + x[1] / 2), [above])
    >>> worst = problem.worst_violation({x: [0.0, 0.9]})
    >>> round(worst.value, 6), worst.point, worst.certified
    (0.1, array([1.]), True)
    """

    value: float  # attained at `point`
    bound: float  # proven: no index point has more; inf where a black box allows no proof, or it may grow without end
    constraint: str
    point: Array  # (m,)
    assumptions: tuple[str, ...] = ()  # what the bound takes on trust, in sentences

    @property
    def certified(self) -> bool:
        """Whether `bound` is a theorem about every index point, with nothing taken on trust."""
        return bool(np.isfinite(self.bound)) and not self.assumptions

    def __float__(self) -> float:
        return self.value


def worst_violation(program: Program, x: Array, tol: float, time_limit: float | None = None) -> WorstViolation:
    """The worst index point of all families at x; `tol` is how sharp the bound should be.

    A proof that is stopped by the time limit gives a bound that is valid and not as sharp, or inf.
    """
    if time_limit is not None:
        real("time_limit", time_limit, "is a number of seconds, or None for no limit", lambda v: v >= 0)
    with within(time_limit):
        return _worst_violation(program, x, tol)


def _worst_violation(program: Program, x: Array, tol: float) -> WorstViolation:
    real("tol", tol, "is how far the bound may lie above the value, a number >= 0", lambda v: v >= 0)
    worst: WorstViolation | None = None
    bound = -np.inf
    trusts: dict[str, None] = {}  # in the order of the families, each once
    placed = placements(program.layout)
    for f, family in enumerate(program.families):
        violation = program.violation(f, x)
        try:
            found = sought(violation, tol=tol) if prover(family) is None else _sharp(violation, tol)
        except OutOfTime:
            bound = np.inf
            continue
        trusts |= dict.fromkeys(found.trusts)
        at = int(np.argmax(found.values))
        row, value, point = int(found.components[at]), found.worst, found.points[at, : family.legend.shown]
        if (f, row) in placed:
            placement, written = placed[f, row]
            value, point = placement.written(found.points[at], written, value)
            far = placement.scale_axis is not None
            bound = max(bound, np.inf if far and found.bound > 0 else found.bound)  # it may grow with the index
        else:
            bound = max(bound, found.bound)
        if worst is None or value > worst.value:
            worst = WorstViolation(value, np.inf, family.labels[row], point)
    if worst is None and program.families:
        raise OutOfTime("The time limit was too short to evaluate any constraint.")
    if worst is None:
        raise ModelError("The problem has no constraint over an index, so nothing can be violated there.")
    return WorstViolation(worst.value, bound, worst.constraint, worst.point, tuple(trusts))


def flat(variables: Sequence[Variable], x: Values) -> Array:
    """All variables as one vector: from one, or from a mapping {variable: values}."""
    if is_mapping(x):
        missing = [v.name for v in variables if v not in x]
        if missing or len(x) > len(variables):
            names = ", ".join(v.name for v in variables)
            raise ModelError(f"A mapping needs the values of exactly the problem's variables, {names}.")
        parts = [numbers(x[v], v.name).ravel() for v in variables]
        for part, v in zip(parts, variables, strict=True):
            if part.size != v.size:
                raise ModelError(f"{v.name} has {v.size} elements; got {part.size}.")
        vector = np.concatenate(parts)
    else:
        vector = numbers(x, "x", nan=True).ravel()
    n = sum(v.size for v in variables)
    if vector.size != n or not np.isfinite(vector).all():
        raise ModelError(f"x needs {n} finite numbers, all variables in a row, or a mapping; got {vector.size}.")
    return vector


def _sharp(violation: EnclosableViolation, tol: float) -> Separation:
    """The supremum to within `tol`, or as sharply as it takes to tell its sign."""
    found = supremum(violation, tol=tol)
    if found.worst < 0 < found.bound:
        with suppress(OutOfTime):  # what is known by then stays so
            found = supremum(violation, tol=-0.5 * found.worst)
    return found
