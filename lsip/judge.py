"""What a point is worth that comes from elsewhere: its largest violation over all index points, with proof."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .checking import real
from .errors import ModelError
from .oracles import Multistart, prover, supremum

if TYPE_CHECKING:
    from .problem import Problem

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class WorstViolation:
    """The largest value of a(y) x - b(y) over all constraints and index points: positive where x is infeasible."""

    value: float  # attained at `point`
    bound: float  # proven: no index point has more; inf where a black box allows no proof
    constraint: str
    point: Array  # (m,)

    @property
    def certified(self) -> bool:
        """Whether `bound` is a theorem about every index point."""
        return bool(np.isfinite(self.bound))

    def __float__(self) -> float:
        return self.value


def worst_violation(problem: Problem, x: Any, tol: float) -> WorstViolation:
    """The worst index point of all families at x; `tol` is how sharp the bound should be."""
    real("tol", tol, "is how far the bound may lie above the value, a number >= 0", lambda v: v >= 0)
    program = problem.compile()
    point = flat(problem, x)
    worst: WorstViolation | None = None
    bound = -np.inf
    for f, family in enumerate(program.families):
        violation: Any = program.violation(f, point)
        if prover(family) is None:
            found = Multistart().maximise(violation, family.domain)
        else:
            found = supremum(violation, family.domain, tol=tol)
        bound = max(bound, found.bound)
        if worst is None or found.worst > worst.value:
            at = int(np.argmax(found.values))
            label = family.labels[int(found.components[at])]
            worst = WorstViolation(found.worst, np.inf, label, found.points[at])
    if worst is None:
        raise ModelError("The problem has no constraint over an index, so nothing can be violated there.")
    return WorstViolation(worst.value, bound, worst.constraint, worst.point)


def flat(problem: Problem, x: Any) -> Array:
    """All variables as one vector: from one, or from a mapping {variable: values}."""
    if isinstance(x, Mapping):
        missing = [v.name for v in problem.variables if v not in x]
        if missing or len(x) > len(problem.variables):
            names = ", ".join(v.name for v in problem.variables)
            raise ModelError(f"A mapping needs the values of exactly the problem's variables, {names}.")
        parts = [_floats(x[v], v.name) for v in problem.variables]
        for part, v in zip(parts, problem.variables, strict=True):
            if part.size != v.size:
                raise ModelError(f"{v.name} has {v.size} elements; got {part.size}.")
        vector = np.concatenate(parts)
    else:
        vector = _floats(x, "x")
    n = sum(v.size for v in problem.variables)
    if vector.size != n or not np.isfinite(vector).all():
        raise ModelError(f"x needs {n} finite numbers, all variables in a row, or a mapping; got {vector.size}.")
    return vector


def _floats(values: Any, name: str) -> Array:
    try:
        return np.ravel(np.asarray(values, dtype=float))
    except (TypeError, ValueError):
        raise ModelError(f"{name} needs numbers; got {values!r}.") from None
