"""The data of the page's pictures, as JSON: the violation of every family, the active points, the iterations."""

from __future__ import annotations

import base64
import json
import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ..legible import shortened
from ..model.status import Status
from ..model.violation import Seen
from ..solution import sampled_violation
from .claims import UP, brief
from .limits import TUNING

if TYPE_CHECKING:
    from ..solution.active import ActivePoint
from ..solution.solution import Solution

Array = NDArray[np.float64]


def payload(solution: Solution, pictures: list[dict[str, Any]]) -> str:
    """JSON that is safe inside a script element: `<` never appears in it."""
    data = {
        "kind": _kind(solution),
        "families": pictures,
        "active": [_active(solution, a) for a in solution.active[: TUNING.rows]],
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


def shown(solution: Solution, family: int) -> Seen | None:
    """The function of y to draw: a(y)·x − b(y); along a direction d of unboundedness a(y)·d; none without any x."""
    if solution.status is Status.INFEASIBLE:
        return None
    direction = _direction(solution)
    if direction is not None:
        return solution.families[family].seen(direction, 0.0)
    return solution.families[family].seen(solution.certificate.x)


def violation_at(solution: Solution, active: ActivePoint) -> float | None:
    """What is drawn of a family at one of its active points; None at infinity, and where nothing is drawn."""
    g = shown(solution, active.family)
    if g is None or not np.isfinite(active.point).all():
        return None
    return float(g.at(active.point[None], np.array([active.component]))[0])


def _active(solution: Solution, active: ActivePoint) -> dict[str, Any]:
    g = violation_at(solution, active)
    return {
        "family": active.family,
        "row": active.component,
        "constraint": shortened(active.row),
        "point": [_number(float(v)) for v in active.point],
        "multiplier": float(active.multiplier),
        "violation": None if g is None else _number(g),
    }


def families(solution: Solution) -> list[dict[str, Any]]:
    """One entry a family; the number of maps and their mesh are chosen so that all together fit on the page."""
    drawn = [i for i, family in enumerate(solution.families) if family.shown]
    found = [_Family(solution, i) for i in drawn[: TUNING.pictures]]
    share = max(1, 2 * TUNING.pictures // max(1, sum(f.meshed for f in found)))
    for family in found:
        family.choose(share)
    total = sum(len(f.rows) * len(f.cuts) for f in found if f.violation is not None)
    side = math.isqrt(TUNING.values // max(total, 1))
    cuts = sum(len(f.cuts) for f in found)
    fine = math.isqrt(TUNING.nodes // max(cuts, 1))
    return [family.data(side, fine) for family in found]


def largest(pictures: list[dict[str, Any]]) -> float:
    """The largest value in any picture, -inf when there is none."""
    return max((p["seen"] for p in pictures if p["seen"] is not None), default=-math.inf)


class _Family:
    """What is shown of one family."""

    def __init__(self, solution: Solution, number: int) -> None:
        self.number = number
        self.family = solution.families[number]
        self.violation = shown(solution, number)
        mine = [a for a in solution.active if a.family == number and np.isfinite(a.point).all()]
        self.active = np.array([a.point for a in mine]).reshape(-1, self.family.shown)
        self.domain = self.family.drawn(self.active)
        self.components = list(dict.fromkeys(a.component for a in mine))
        self.meshed = self.domain.dim > 1 and not sampled_violation.flat(self.domain)
        proven = solution.certificate.drift if solution.status is Status.UNBOUNDED else solution.certificate.violation
        bounds = [_at(proven, part) for part in self.family.parts]
        self.bound = None if any(bound is None for bound in bounds) else max(bounds)  # type: ignore[type-var]
        self.rows: list[int | None] = [None]
        self.cuts: list[sampled_violation.Slice] = []
        self.seen = -math.inf  # the largest value drawn

    def choose(self, share: int) -> None:
        """Which rows and slices to show, at most `share` maps."""
        p = len(self.family.labels)
        if p > 1:
            most = TUNING.pictures // 2
            named = list(range(p)) if p <= most else sorted(self.components[:most])
            fit = max(0, share - 1) if self.meshed else most
            self.rows += named if len(named) <= fit else []
        if self.meshed:
            self.cuts = sampled_violation.slices(
                self.violation, self.domain, self.active, max(1, share // len(self.rows))
            )

    def data(self, side: int, fine: int) -> dict[str, Any]:
        domain, labels = self.domain, self.family.labels
        picture = self._picture(side, fine)
        return {
            "family": self.number,
            "name": shortened(str(self.family.name)),
            "set": shortened(self.family.where),
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
            t = sampled_violation.line(domain, self.active)
            values = None if g is None else self._encoded(sampled_violation.along(g, t, self.rows))
            return {"picture": "curve", "t": encoded(t, np.float64), "values": values}
        if not self.meshed:
            y = sampled_violation.cloud(domain, self.active)
            values = None if g is None else self._encoded(sampled_violation.evaluate(g, y, self.rows))
            return {"picture": "cloud", "points": encoded(y), "values": values}
        maps = [self._map(cut, side, fine) for cut in self.cuts]
        return {"picture": "map", "side": side, "maskSide": fine, "maps": maps}

    def _encoded(self, values: Array) -> list[str]:
        """The rows of `values`, of which the first holds the largest ones."""
        self.seen = max(self.seen, float(np.nanmax(values[0], initial=-math.inf)))
        return [encoded(row) for row in values]

    def _map(self, cut: sampled_violation.Slice, side: int, fine: int) -> dict[str, Any]:
        g = self.violation
        projected = g is None and self.domain.dim > 2  # points of all of Y are shown, not those of a slice
        inside = None if projected else sampled_violation.mask(self.domain, cut, fine)
        heights = np.zeros(0) if g is None else sampled_violation.heights(g, self.domain, cut, self.rows, side)
        return {
            "axes": list(cut.axes),
            "through": cut.through.tolist(),
            "corners": cut.corners.tolist(),
            "name": cut.name,
            "values": None if g is None else self._encoded(heights),
            "mask": None if inside is None else base64.b64encode(inside.tobytes()).decode(),
        }


def history(solution: Solution) -> dict[str, Any]:
    """A column a quantity; of very long solves, evenly chosen iterations."""
    rows = solution.history
    if len(rows) > TUNING.rows:
        rows = tuple(rows[i] for i in np.linspace(0, len(rows) - 1, TUNING.rows).astype(int))
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
