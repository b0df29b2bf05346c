"""A solution on the command line: as JSON, as lines of text, as an exit code."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..legible import shortened
from .arguments import FAILED, INTERRUPTED, NOTHING_TO_FIND, SOLVED, fail

if TYPE_CHECKING:
    from ..model.method import Answer
    from .models import NamedModel


def exit_code(solution: Answer) -> int:
    """0 when there is an answer; otherwise a paragraph, and a code that says what kind of failure it was."""
    status = solution.status.name
    if status in ("OPTIMAL", "UNCERTIFIED", "NO_INTERIOR"):
        return SOLVED
    if status in ("INFEASIBLE", "UNBOUNDED"):
        meaning = (
            "no x satisfies all constraints" if status == "INFEASIBLE" else "the objective can be improved forever"
        )
        return fail(f"The problem is {status.lower()}: {meaning}. {solution.message}", NOTHING_TO_FIND)
    return fail(solution.status.value, INTERRUPTED if status == "INTERRUPTED" else FAILED)


def describe(model: NamedModel, solution: Answer) -> dict[str, Any]:
    """The result as JSON can hold it; null where a number is not known, or where there is no x."""
    infeasible = solution.status.name == "INFEASIBLE"
    return {
        "name": model.name,
        "status": solution.status.name,
        "certified": bool(solution.certified),
        "value": finite(solution.value),
        "lower": finite(solution.lower),
        "upper": finite(solution.upper),
        "gap": finite(solution.gap),
        "max_violation": None if infeasible else finite(solution.max_violation),
        "iterations": len(solution.history),
        "seconds": finite(solution.seconds),
        "oracle": solution.oracle,
        "message": solution.message,
        "x": None if infeasible else {name: _numbers(value) for name, value in model.values(solution).items()},
        "active": [
            {"constraint": a.constraint, "point": _numbers(a.point), "multiplier": finite(a.multiplier)}
            | ({"divided_by": a.divided_by} if a.divided_by else {})
            for a in solution.active
        ],
    }


def finite(value: float) -> float | None:
    """A number that JSON can hold, or None."""
    return float(value) if math.isfinite(value) else None


def _numbers(values: NDArray[np.float64] | float) -> Any:
    """Nested lists of floats, with None for what is not finite."""
    return _finite(np.asarray(values).tolist())


def _finite(values: float | list[Any]) -> Any:
    return [_finite(value) for value in values] if isinstance(values, list) else finite(values)


def lines(model: NamedModel, solution: Answer) -> list[str]:
    """The variables and the active points, as a person reads them."""
    found = []
    if solution.status.name != "INFEASIBLE":
        for name, value in model.values(solution).items():
            shown = np.array2string(np.asarray(value), precision=9, threshold=20, max_line_width=100)
            found.append(f"{name} = " + shown.replace("\n", "\n" + " " * (len(name) + 3)))
    if solution.active:
        found.append("")
        found.append("multiplier     at the index point")
        for a in sorted(solution.active, key=lambda a: -abs(a.multiplier))[:20]:
            point = ", ".join(f"{coordinate:.9g}" for coordinate in a.point)
            by = f" / {a.divided_by}" if a.divided_by else ""
            found.append(f"{a.multiplier:<12.6g}   ({point})   {shortened(a.constraint, 60)}{by}")
        if len(solution.active) > 20:
            found.append(f"… and {len(solution.active) - 20} more")
    return found
