"""Solutions as tables of pandas."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import MissingExtraError
from ..validation import choice
from .duals import all_reduced_costs, finite_rows
from .result import Result
from .solution_file import STEPS

if TYPE_CHECKING:
    import pandas as pd

Columns = dict[str, Any]


def frame(result: Result, what: str) -> pd.DataFrame:
    """One of the tables of a result."""
    choice("what", what, tuple(TABLES))
    try:
        import pandas as pd
    except ImportError as error:
        raise MissingExtraError("`to_frame` needs pandas: pip install 'lsip[pandas]'.") from error
    return pd.DataFrame(TABLES[what](result))


def _variables(result: Result) -> Columns:
    """Every element of every variable."""
    program = result.program
    places: list[tuple[str, tuple[int, ...]]] = [
        (v.name, place) for v in result.variables for place in np.ndindex(v.shape)
    ] or [(program.label(j), ()) for j in range(program.n)]
    count = len(places)
    return {
        "variable": [name for name, _ in places],
        "index": [place[0] if len(place) == 1 else place for _, place in places],
        "value": result.x if result.status.has_point and len(result.x) else np.full(count, np.nan),
        "lower": program.lower[:count],
        "upper": program.upper[:count],
        "reduced_cost": all_reduced_costs(result),
    }


def _active(result: Result) -> Columns:
    """The index points that hold the result."""
    families = result.families
    names = list(dict.fromkeys(name for a in result.active for name in families[a.family].coordinates))
    points = [dict(zip(families[a.family].coordinates, a.point.tolist(), strict=True)) for a in result.active]
    limits = {"divided_by": [a.divided_by for a in result.active]} if any(a.divided_by for a in result.active) else {}
    return {
        "constraint": [a.constraint for a in result.active],
        **{name: [point.get(name, np.nan) for point in points] for name in names},
        "multiplier": [a.multiplier for a in result.active],
        **limits,
    }


def _rows(result: Result) -> Columns:
    """The finite constraints, element by element."""
    rows = finite_rows(result)
    return {
        "constraint": [row.label for row in rows],
        "value": [row.value for row in rows],
        "lower": [row.lower for row in rows],
        "upper": [row.upper for row in rows],
        "multiplier": [row.multiplier for row in rows],
    }


def _history(result: Result) -> Columns:
    """The iterations."""
    return {name: [getattr(step, name) for step in result.history] for name in STEPS}


TABLES: dict[str, Callable[[Result], Columns]] = {
    "variables": _variables,
    "active": _active,
    "rows": _rows,
    "history": _history,
}
