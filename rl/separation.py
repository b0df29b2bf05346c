"""The search over Y while learning: what an oracle finds, and what happens where it fails."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import lsip

from .constraint import Worst
from .errors import OracleError, OracleWarning, code_of

Array = NDArray[np.float64]


@dataclass(frozen=True)
class SearchTuning:
    """How sampled costs are searched.

    Parameters
    ----------
    boxes
        Of branch-and-bound, which is the default where Lipschitz constants are given: on ships, 4096 find the same
        maxima to within 1e-4, and take half of an iteration;
    coordinates
        it is while Y has so many coordinates at most.
    """

    boxes: int = 1024
    coordinates: int = 3


TUNING = SearchTuning()
Room = Callable[[Array], Array]  # at points (k, m): (k,)


@dataclass(frozen=True, eq=False)
class RankedPoints:
    """Index points with their violations, the worst first."""

    violation: lsip.oracles.Violation
    points: Array  # (k, m)
    values: Array  # (k,)
    bound: float = np.inf  # proven for all of Y
    trusts: tuple[str, ...] = ()
    room: Room | None = None  # below the bounds, that a policy needs to be found feasible with confidence
    error: Room | None = None  # the standard errors of the violations, where episodes are random
    moments: Any = None  # what tells all of these at once
    units: tuple[float, float] = (1.0, 1.0)  # the deviations of returns and of costs between episodes

    @property
    def value(self) -> float:
        """The largest violation found."""
        return float(self.values[0])

    @property
    def y(self) -> Array:
        """Where it is: (m,)."""
        return self.points[0]

    @property
    def worst(self) -> Worst:
        """The worst alone."""
        return Worst(self.value, self.y, self.bound, self.trusts)

    def at(self, points: Array) -> Array:
        """The violations at other points (k, m): (k,)."""
        seen = self.violation if self.moments is None else self.moments
        return seen.values(points).max(axis=1) if len(points) else np.zeros(0)

    def lacking(self, points: Array) -> Array:
        """The violations at points (k, m), and what room is missing besides: (k,)."""
        values = self.at(points)
        return values if self.room is None or not len(points) else values + self.room(points)

    def joined(self, known: Array, merge: float, above: float = -np.inf) -> Array:
        """Known points, and those found that lack more than `above` and are not near any of them."""
        domain = self.violation.domain
        kept = [*known.reshape(-1, domain.dim)]
        lacks = self.values if self.room is None or above == -np.inf else self.values + self.room(self.points)
        for point, lack in zip(self.points, lacks, strict=True):
            near = merge * _width(domain, point)
            if lack > above and not any((np.abs(point - other) < near).all() for other in kept):
                kept.append(point)
        return np.array(kept).reshape(-1, domain.dim)


def separate(
    violation: lsip.oracles.Violation,
    oracle: lsip.oracles.Oracle,
    target: float,
    seed: int,
    *,
    fallback: lsip.oracles.Oracle | None = None,
    candidates: Array | None = None,
) -> RankedPoints:
    """What an oracle finds; the values at candidates (k, m), where there are any, count as well.

    An oracle that fails is reported, and the error raised; with a `fallback`, that one is asked instead, and a warning
    says so. Of several constraints, each is searched by itself.
    """
    if hasattr(violation, "parts"):
        return _of_parts(violation, oracle, target, seed, fallback, candidates)
    try:
        answer = _asked(violation, oracle, target, seed)
    except lsip.LSIPError as error:
        if fallback is None:
            raise
        warnings.warn(f"{error} The fallback {fallback} was asked instead.", OracleWarning, stacklevel=2)
        answer = _asked(violation, fallback, target, seed)
    points, values = _peaks(violation, answer) if lsip.oracles.is_costly(oracle) else (answer.points, answer.values)
    if candidates is not None and len(candidates) and getattr(oracle, "candidates", True) is not False:
        places = violation.domain.project(np.asarray(candidates, dtype=float))
        there = violation.values(places).max(axis=1)
        k = int(np.argmax(there))
        points, values = np.concatenate([points, places[[k]]]), np.append(values, there[k])
    order = np.argsort(-values, kind="stable")
    return RankedPoints(violation, points[order], values[order], float(answer.bound), answer.trusts)


def _peaks(violation: lsip.oracles.Violation, answer: lsip.oracles.Separation) -> tuple[Array, Array]:
    """Points of a proof, of which many lie on one hill: those with a valley between them and the nearest worse one.

    A rule steps on what is violated, and a hill is one violation. Halfway and at the quarters, places that are not in Y
    count as valleys.
    """
    order = np.argsort(-answer.values, kind="stable")
    points, values = answer.points[order], answer.values[order]
    width = _width(violation.domain, points[0])
    worse = [int(np.abs((points[:i] - points[i]) / width).max(axis=1).argmin()) for i in range(1, len(points))]
    shares = np.array([0.25, 0.5, 0.75])[:, None, None]
    between = (points[1:] + shares * (points[worse] - points[1:])).reshape(-1, points.shape[1])
    heights, inside = np.full(len(between), -np.inf), violation.domain.contains(between)
    if inside.any():
        heights[inside] = violation.values(between[inside]).max(axis=1)
    rounding = np.sqrt(np.finfo(float).eps) * np.abs(values[1:])  # which makes no valleys on a plateau
    peaks = np.append(True, (heights.reshape(3, -1) < values[1:] - rounding).any(axis=0))
    return points[peaks], values[peaks]


def _of_parts(
    violation: Any,
    oracle: lsip.oracles.Oracle,
    target: float,
    seed: int,
    fallback: lsip.oracles.Oracle | None,
    candidates: Array | None,
) -> RankedPoints:
    """What an oracle finds on each of several sets, as points of all."""
    domain = violation.domain
    named = {} if candidates is None else {k: y for k, _, y in domain.split(candidates)}
    found = [
        separate(part, oracle, target, seed, fallback=fallback, candidates=named.get(k))
        for k, part in enumerate(violation.parts)
    ]
    points = np.concatenate([domain.lift(k, each.points) for k, each in enumerate(found)])
    values = np.concatenate([each.values for each in found])
    order = np.argsort(-values, kind="stable")
    trusts = tuple(sorted({said for each in found for said in each.trusts}))
    return RankedPoints(violation, points[order], values[order], max(each.bound for each in found), trusts)


def _width(domain: object, point: Array) -> Array:
    """How wide an index set is in each coordinate; of several, that of the point."""
    of_point = getattr(domain, "width", None)
    if of_point is not None:
        return np.asarray(of_point(point))
    assert isinstance(domain, lsip.Domain)
    return np.where(domain.upper > domain.lower, domain.upper - domain.lower, 1.0)


def _asked(
    violation: lsip.oracles.Violation, oracle: lsip.oracles.Oracle, target: float, seed: int
) -> lsip.oracles.Separation:
    """The answer of one oracle: points with finite values, or an error in a sentence."""
    name = type(oracle).__name__
    with code_of(f"The oracle {name}", kind=OracleError):
        answer = lsip.oracles.ask(oracle, _shown(violation, oracle), target=target, seed=seed)
        values = np.asarray(answer.values, dtype=float)
    if not len(values) or not np.isfinite(values).all():
        what = "no point" if not len(values) else f"the violation {values[~np.isfinite(values)][0]}"
        raise OracleError(f"The oracle {name} found {what}; look at what `cost` and `bound` give, or choose another.")
    return answer


def _shown(violation: lsip.oracles.Violation, oracle: lsip.oracles.Oracle) -> lsip.oracles.Violation:
    """What an oracle is to maximise: one that searches on a device gets the tensors, others what can be proven from."""
    provable = getattr(violation, "provable", None)
    return violation if provable is None or getattr(oracle, "on_device", False) else provable()
