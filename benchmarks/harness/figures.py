"""Figures: statistics that leave gaps out, values that JSON can hold, and columns that people can read."""

from __future__ import annotations

import math
import os
import platform
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import date
from enum import Enum
from typing import Any

import numpy as np


def median(values: Iterable[float | None]) -> float | None:
    """The median of the values that exist; None when there is none."""
    return quantile(values, 0.5)


def quantile(values: Iterable[float | None], q: float) -> float | None:
    """A quantile of the values that exist, by linear interpolation; None when there is none."""
    known = [v for v in values if v is not None]
    return float(np.quantile(known, q)) if known else None


def ratio(above: float | None, below: float | None) -> float | None:
    """A quotient, or None where a part is missing."""
    return None if above is None or not below else above / below


def counted(done: Sequence[dict[str, Any]], outcomes: Sequence[str]) -> dict[str, int]:
    """How many tries there were, and how many ended in each outcome."""
    counts = Counter(d["outcome"] for d in done)
    return {"tries": len(done), **{o: counts[o] for o in outcomes}}


def plain(value: Any) -> Any:
    """The value in JSON's types, numbers to six digits; what is not finite becomes null."""
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [plain(v) for v in value]
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, float | np.floating):
        return float(f"{value:.6g}") if math.isfinite(value) else None
    return value.name if isinstance(value, Enum) else value


def machine() -> dict[str, Any]:
    """What the figures were measured on, and how busy it was."""
    import highspy
    import scipy

    return {
        "date": date.today().isoformat(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "highs": highspy.Highs().version(),
        "system": platform.system(),
        "processor": platform.machine(),
        "cores": os.cpu_count(),
        "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
    }


def table(rows: Sequence[dict[str, Any]], columns: dict[str, str]) -> str:
    """Rows as aligned text; `columns` maps keys to headings."""
    lines = [list(columns.values())] + [[_cell(row.get(key)) for key in columns] for row in rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(columns))]
    return "\n".join(
        "  ".join([line[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(line[1:], widths[1:], strict=True))]).rstrip()
        for line in lines
    )


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.3g}" if isinstance(value, float) else str(value)
