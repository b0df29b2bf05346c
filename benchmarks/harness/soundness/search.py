"""The hardest index points for a point x: a search in floats, refined and decided at exact members in balls."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .balls import Point, at, ball, precise
from .models import Family

Array = NDArray[np.float64]
SAMPLES = 500  # index points to begin with
STARTS = 6  # of them from which the search goes on
NEIGHBOURS = 24  # points tried around each, a round
ROUNDS = 14
SHRINK = 0.3  # of the neighbourhood, a round
DECIDED = 8  # points that are looked at in balls
DIGITS = 160  # bits of a coordinate
STEPS = tuple(10.0**-k for k in range(4, 16))  # of the last search, relative to the set


@dataclass(frozen=True)
class Worst:
    """The largest violation that was found, at an exact member of the index set."""

    point: Point
    value: Any  # a ball: how far a x exceeds b


def violation(family: Family, x: Sequence[Any], y: Point) -> Any:
    """How far a(y) x exceeds b(y), or falls short of it, as a ball; `x` are balls."""
    gap = sum((at(a, y) * v for a, v in zip(family.a, x, strict=True)), -at(family.b, y))
    return -gap if family.above else gap


def worst(family: Family, x: Sequence[Fraction], hints: Iterable[Sequence[float]], seed: int = 0) -> Worst:
    """The largest violation that a thorough search finds; `hints` are index points to begin with."""
    candidates = _search(family, np.array(x, dtype=float), list(hints), np.random.default_rng(seed))
    with precise():
        exact = [ball(v) for v in x]
        points = dict.fromkeys(family.over.exact(y) for y in candidates)
        found = [Worst(y, violation(family, exact, y)) for y in points]
        found = [w for w in found if w.value.is_finite()] or found[:1]
        return _climb(family, exact, max(found, key=_middle))


def _middle(found: Worst) -> float:
    return float(found.value.mid()) if found.value.is_finite() else -np.inf


def _values(family: Family, x: Array, y: Array) -> Array:
    """The violation at points (N, m), in floats; -inf where it is not defined."""
    coordinates = list(y.T)
    with np.errstate(all="ignore"):
        gap = sum((np.asarray(a(coordinates)) * v for a, v in zip(family.a, x, strict=True)), 0.0)
        gap = np.broadcast_to((gap - family.b(coordinates)) * (-1 if family.above else 1), len(y))
    return np.where(np.isnan(gap), -np.inf, gap)


def _search(family: Family, x: Array, hints: list[Sequence[float]], rng: np.random.Generator) -> Array:
    """Zoom in on the highest points."""
    over = family.over
    low, high = over.box
    start = [np.array(h, dtype=float).reshape(1, -1) for h in hints]
    points = np.concatenate([*start, over.corners(), over.sample(rng, SAMPLES)])
    values = _values(family, x, points)
    kept = _apart(points, values, (high - low) / 50)
    best, heights, reach = points[kept], values[kept], (high - low) / 20
    for _ in range(ROUNDS):
        steps = rng.standard_normal((len(best), NEIGHBOURS, over.dim)) * reach
        tried = over.pull((best[:, None] + steps).reshape(-1, over.dim)).reshape(steps.shape)
        found = _values(family, x, tried.reshape(-1, over.dim)).reshape(len(best), NEIGHBOURS)
        top = found.argmax(axis=1)
        better = found[np.arange(len(best)), top] > heights
        best = np.where(better[:, None], tried[np.arange(len(best)), top], best)
        heights = np.where(better, found[np.arange(len(best)), top], heights)
        reach = reach * SHRINK
    every = np.concatenate([best, points])
    order = np.argsort(-np.concatenate([heights, values]), kind="stable")[:DECIDED]
    return np.concatenate([every[order], *start])


def _apart(points: Array, values: Array, distance: Array) -> list[int]:
    """The highest points that are not close to a higher one."""
    kept: list[int] = []
    for i in np.argsort(-values, kind="stable"):
        if all((np.abs(points[i] - points[j]) > distance).any() for j in kept):
            kept.append(int(i))
        if len(kept) == STARTS:
            break
    return kept


def _climb(family: Family, x: Sequence[Any], start: Worst) -> Worst:
    """Compass search with ever smaller steps: what floats cannot tell apart, balls can."""
    low, high = family.over.box
    width = [Fraction(float(w)) for w in high - low]
    best = start
    for step in STEPS:
        for j, w in enumerate(width):
            for side in (-1, 1):
                moved = list(best.point)
                moved[j] += side * Fraction(step) * w
                y = family.over.nearest([_shortened(v) for v in moved])
                if y == best.point:
                    continue
                here = Worst(y, violation(family, x, y))
                if here.value > best.value:
                    best = here
    return best


def _shortened(v: Fraction) -> Fraction:
    """Nearly the same number with a short denominator: otherwise every step of the search makes fractions longer."""
    if v.denominator.bit_length() <= DIGITS:
        return v
    places = max(DIGITS - v.numerator.bit_length() + v.denominator.bit_length(), 0)
    return Fraction(round(v * 2**places), 2**places)
