"""The data of the page's pictures, as JSON: the violation of every family, the active points, the iterations."""

from __future__ import annotations

import base64
import json
import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ..model.families import FamilyViolation
from ..model.status import Status
from . import sampling
from .claims import UP, brief, shortened

if TYPE_CHECKING:
    from ..solution.solution import ActivePoint, Solution

Array = NDArray[np.float64]

VALUES = 45_000  # numbers of all heat maps together: about 240 kB of the page
SIDES = (29, 161)  # least and most points along a side of a heat map
NODES = 100_000  # of all masks together: about 67 kB of the page
MASKS = (60, 240)  # least and most points along a side of a mask
MOST_MAPS = 24
MOST_FAMILIES = 12
MOST_ROWS = 6
MOST_POINTS = 200
MOST_ITERATIONS = 1000


def payload(solution: Solution, pictures: list[dict[str, Any]]) -> str:
    """JSON that is safe inside a script element: `<` never appears in it."""
    data = {
        "kind": _kind(solution),
        "families": pictures,
        "active": [_active(solution, a) for a in solution.active[:MOST_POINTS]],
        "history": history(solution),
        "value": _number(solution.value),
    }
    return json.dumps(data, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")


def _kind(solution: Solution) -> str:
    """What the pictures show: the violation, the drift along a direction, or only points."""
    if solution.status is Status.INFEASIBLE:
        return "points"
    return "drift" if _direction(solution) is not None else "violation"


def _direction(solution: Solution) -> Array | None:
    return solution.certificate.direction if solution.status is Status.UNBOUNDED else None


def shown(solution: Solution, family: int) -> FamilyViolation | None:
    """The function of y to draw: a(y)·x − b(y); along a direction d of unboundedness a(y)·d; none without any x."""
    if solution.status is Status.INFEASIBLE:
        return None
    direction = _direction(solution)
    if direction is not None:
        return solution.program.violation(family, direction, 0.0)
    return solution.program.violation(family, solution.x)


def _active(solution: Solution, active: ActivePoint) -> dict[str, Any]:
    violation = shown(solution, active.family)
    g = None if violation is None else float(violation.at(active.point[None], np.array([active.component]))[0])
    return {
        "family": active.family,
        "row": active.component,
        "constraint": shortened(active.constraint),
        "point": [float(v) for v in active.point],
        "multiplier": float(active.multiplier),
        "violation": None if g is None else _number(g),
    }


def families(solution: Solution) -> list[dict[str, Any]]:
    """One entry a family; the number of maps and their mesh are chosen so that all together fit on the page."""
    found = [_Family(solution, i) for i in range(min(len(solution.program.families), MOST_FAMILIES))]
    share = max(1, MOST_MAPS // max(1, sum(f.meshed for f in found)))
    for family in found:
        family.choose(share)
    total = sum(len(f.rows) * len(f.cuts) for f in found if f.violation is not None)
    side = int(np.clip(math.isqrt(VALUES // max(total, 1)), *SIDES))
    fine = int(np.clip(math.isqrt(NODES // max(sum(len(f.cuts) for f in found), 1)), *MASKS))
    return [family.data(side, fine) for family in found]


def largest(pictures: list[dict[str, Any]]) -> float:
    """The largest value in any picture, -inf when there is none."""
    return max((p["seen"] for p in pictures if p["seen"] is not None), default=-math.inf)


class _Family:
    """What is shown of one family."""

    def __init__(self, solution: Solution, number: int) -> None:
        self.number = number
        self.family: Any = solution.program.families[number]
        self.domain = self.family.domain
        self.violation = shown(solution, number)
        mine = [a for a in solution.active if a.family == number]
        self.active = np.array([a.point for a in mine]).reshape(-1, self.domain.dim)
        self.components = list(dict.fromkeys(a.component for a in mine))
        self.meshed = self.domain.dim > 1 and not sampling.flat(self.domain)
        self.bound = _at(
            solution.certificate.drift if solution.status is Status.UNBOUNDED else solution.certificate.violation,
            number,
        )
        self.rows: list[int | None] = [None]
        self.cuts: list[sampling.Slice] = []
        self.seen = -math.inf  # the largest value drawn

    def choose(self, share: int) -> None:
        """Which rows and slices to show, at most `share` maps."""
        p = len(self.family.labels)
        if p > 1:
            named = list(range(p)) if p <= MOST_ROWS else sorted(self.components[:MOST_ROWS])
            fit = max(0, share - 1) if self.meshed else MOST_ROWS
            self.rows += named if len(named) <= fit else []
        if self.meshed:
            self.cuts = sampling.slices(self.violation, self.domain, self.active, max(1, share // len(self.rows)))

    def data(self, side: int, fine: int) -> dict[str, Any]:
        domain, labels = self.domain, self.family.labels
        picture = self._picture(side, fine)
        return {
            "family": self.number,
            "name": shortened(str(self.family.name)),
            "set": shortened(str(domain)),
            "coordinates": list(self.family.coordinates),
            "lower": domain.lower.tolist(),
            "upper": domain.upper.tolist(),
            "bound": self.bound,
            "proven": None if self.bound is None else brief(self.bound, UP),
            "active": len(self.active),
            "rows": [None if row is None else {"row": row, "label": shortened(labels[row])} for row in self.rows],
            "count": len(labels),
            "seen": _number(self.seen),
            **picture,
        }

    def _picture(self, side: int, fine: int) -> dict[str, Any]:
        domain, g = self.domain, self.violation
        if domain.dim == 1 and domain.measure[0] == 1:
            t = sampling.line(domain, self.active)
            values = None if g is None else self._encoded(sampling.along(g, t, self.rows))
            return {"picture": "curve", "t": encoded(t, np.float64), "values": values}
        if not self.meshed:
            y = sampling.cloud(domain, self.active)
            values = None if g is None else self._encoded(sampling.evaluate(g, y, self.rows))
            return {"picture": "cloud", "points": encoded(y), "values": values}
        maps = [self._map(cut, side, fine) for cut in self.cuts]
        return {"picture": "map", "side": side, "maskSide": fine, "maps": maps}

    def _encoded(self, values: Array) -> list[str]:
        """The rows of `values`, of which the first holds the largest ones."""
        self.seen = max(self.seen, float(np.nanmax(values[0], initial=-math.inf)))
        return [encoded(row) for row in values]

    def _map(self, cut: sampling.Slice, side: int, fine: int) -> dict[str, Any]:
        g = self.violation
        projected = g is None and self.domain.dim > 2  # points of all of Y are shown, not those of a slice
        inside = None if projected else sampling.mask(self.domain, cut, fine)
        heights = np.zeros(0) if g is None else sampling.heights(g, self.domain, cut, self.rows, side)
        return {
            "axes": list(cut.axes),
            "through": cut.through.tolist(),
            "name": cut.name,
            "values": None if g is None else self._encoded(heights),
            "mask": None if inside is None else base64.b64encode(inside.tobytes()).decode(),
        }


def history(solution: Solution) -> dict[str, Any]:
    """A column a quantity; of very long solves, evenly chosen iterations."""
    rows = solution.history
    if len(rows) > MOST_ITERATIONS:
        rows = tuple(rows[i] for i in np.linspace(0, len(rows) - 1, MOST_ITERATIONS).astype(int))
    names = ("iteration", "value", "lower", "upper", "violation", "bound", "cuts", "rows", "seconds")
    return {name: [_number(getattr(row, name)) for row in rows] for name in names}


def encoded(values: Array, dtype: DTypeLike = np.float32) -> str:
    """Little-endian floats as base64."""
    with np.errstate(over="ignore"):
        return base64.b64encode(
            np.ascontiguousarray(values).astype(np.dtype(dtype).newbyteorder("<")).tobytes()
        ).decode()


def _at(values: tuple[float, ...], i: int) -> float | None:
    return _number(values[i]) if i < len(values) else None


def _number(value: float) -> float | int | None:
    if not math.isfinite(value):
        return None
    return int(value) if isinstance(value, int | np.integer) else float(value)
