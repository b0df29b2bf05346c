"""Solutions as tables of pandas."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import MissingExtraError
from ..model.status import Status
from ..validation import choice
from .finite import finite_rows
from .solution import Solution
from .views import view

if TYPE_CHECKING:
    import pandas as pd

Columns = dict[str, Any]


@view("to_frame")
def frame(solution: Solution, what: str) -> pd.DataFrame:
    """One of the tables of a solution."""
    choice("what", what, tuple(TABLES))
    try:
        import pandas as pd
    except ImportError as error:
        raise MissingExtraError("`to_frame` needs pandas: pip install 'lsip[pandas]'.") from error
    return pd.DataFrame(TABLES[what](solution))


def _variables(solution: Solution) -> Columns:
    """Every element of every variable."""
    program = solution.program
    found = solution.status not in (Status.INFEASIBLE, Status.UNBOUNDED)
    places: list[tuple[str, tuple[int, ...]]] = [
        (v.name, place) for v in solution.variables for place in np.ndindex(v.shape)
    ] or [(program.label(j), ()) for j in range(program.n)]
    count = len(places)
    return {
        "variable": [name for name, _ in places],
        "index": [place[0] if len(place) == 1 else place for _, place in places],
        "value": solution.x if found and len(solution.x) else np.full(count, np.nan),
        "lower": program.lower[:count],
        "upper": program.upper[:count],
        "reduced_cost": solution.all_reduced_costs(),
    }


def _active(solution: Solution) -> Columns:
    """The index points that hold the solution."""
    families = solution.families
    names = list(dict.fromkeys(name for a in solution.active for name in families[a.family].coordinates))
    points = [dict(zip(families[a.family].coordinates, a.point.tolist(), strict=True)) for a in solution.active]
    limits = (
        {"divided_by": [a.divided_by for a in solution.active]} if any(a.divided_by for a in solution.active) else {}
    )
    return {
        "constraint": [a.constraint for a in solution.active],
        **{name: [point.get(name, np.nan) for point in points] for name in names},
        "multiplier": [a.multiplier for a in solution.active],
        **limits,
    }


def _rows(solution: Solution) -> Columns:
    """The finite constraints, element by element."""
    rows = finite_rows(solution)
    return {
        "constraint": [row.label for row in rows],
        "value": [row.value for row in rows],
        "lower": [row.lower for row in rows],
        "upper": [row.upper for row in rows],
        "multiplier": [row.multiplier for row in rows],
    }


def _history(solution: Solution) -> Columns:
    """The iterations."""
    names = ("iteration", "value", "lower", "upper", "violation", "bound", "cuts", "rows", "seconds")
    return {name: [getattr(step, name) for step in solution.history] for name in names}


TABLES: dict[str, Callable[[Solution], Columns]] = {
    "variables": _variables,
    "active": _active,
    "rows": _rows,
    "history": _history,
}
