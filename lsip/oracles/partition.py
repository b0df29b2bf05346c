"""A partition of one cell of an index set into boxes.

It is only ever refined, so later iterations start where earlier ones left off.
"""

from __future__ import annotations

import math
import time
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..deadline import EFFORT, check
from ..domains import Cell
from ..expressions.boxes import halves
from ..expressions.interval import EPS
from ..expressions.jets import triangle
from .base import Array, Ints, Pieces, Rows
from .bounder import Bounder, BoxBounds, BoxView, Selection


@dataclass(frozen=True)
class PartitionTuning:
    """How finely an index set is cut.

    Parameters
    ----------
    first_boxes
        Boxes to start with, about, where their enclosures are cheap; two along each axis in any case.
    most_halvings
        Cuts of one box in each round, at most; one less for each coordinate, at least. A round on a few boxes costs as
        much as one on many: where few are left, more cuts save rounds.
    cheap
        Coefficients enclosed at once that cost little more than one; so many are cut to start with and in each round,
        within these limits.
    most_bytes
        Memory for the boxes of a partition; none is split beyond.
    """

    first_boxes: int = 64
    most_halvings: int = 4
    cheap: int = 3000
    most_bytes: float = 1.8e9


TUNING = PartitionTuning()


class BoxPartition:
    """Boxes of one cell, with what a bounder keeps of them.

    A partition belongs to one search at a time. While boxes are replaced it is not `whole`: what an interrupt leaves
    then covers only a part of the cell, and must not be asked again.
    """

    def __init__(self, bounder: Bounder, boxes: tuple[Array, Array] | None = None) -> None:
        """Boxes to start with, or those given."""
        self.bounder, self.cell, self.dim = bounder, bounder.cell, bounder.cell.lower.shape[1]
        self.whole = True
        self.known: Array | None = None  # the weights that the column `bound` is about, if there is one
        lower, upper = boxes or _first_boxes(bounder.cell, TUNING.cheap / (bounder.p * bounder.width))
        began = time.perf_counter()
        self.columns = bounder.enclose(lower, upper, None)
        self.n = len(self.columns["lower"])
        self.cost = (time.perf_counter() - began) / max(self.n, 1)  # seconds that enclosing a box takes, about

    @property
    def lower(self) -> Array:
        """Lower corners (n, m)."""
        return np.asarray(self.columns["lower"][: self.n])

    @property
    def upper(self) -> Array:
        """Upper corners (n, m)."""
        return np.asarray(self.columns["upper"][: self.n])

    def boxes(self, rows: Selection = slice(None)) -> BoxView:
        """Some of them, or all."""
        return BoxView(self.columns, self.n, rows)

    def bounds(self, weights: Array, rows: Selection = slice(None), spread: Array | None = None) -> BoxBounds | None:
        """Bounds over some boxes, or all."""
        return self.bounder.bound(self.boxes(rows), weights, spread)

    def renewed(self, family: Rows, before: Hashable) -> BoxPartition:
        """The same boxes, for rows with other numbers than those of the data `before`; this one is used up."""
        if "pieces" not in self.columns:
            self.whole = False
            bounder = self.bounder.changed(self.columns, self.n, family, before)
            self.whole = True
            if bounder is not None:
                self.bounder = bounder
                return self
        both = np.concatenate([self.lower, self.upper], axis=1)
        if "pieces" in self.columns:  # those of a box are one again
            both = np.unique(both, axis=0)
        return BoxPartition(self.bounder.other(family), (both[:, : self.dim].copy(), both[:, self.dim :].copy()))

    @property
    def row_bytes(self) -> int:
        """Memory that one box takes, its bounds included."""
        return 8 * self.bounder.p + sum(s.itemsize * math.prod(s.shape[1:]) for s in self.columns.values())

    @property
    def most(self) -> int:
        """Boxes that fit into memory."""
        return int(TUNING.most_bytes / self.row_bytes)

    @property
    def least_halvings(self) -> int:
        """Cuts of a box in every round, at least."""
        return max(TUNING.most_halvings - self.dim, 1)

    def refine(self, rows: Ints, weights: Array) -> Ints:
        """Split boxes, along the axes where it pays for these weights, and return the positions of their parts."""
        boxes, bounder = self.boxes(rows), self.bounder
        pays, lower, upper = bounder.influence(boxes, weights), boxes["lower"], boxes["upper"]
        pieces = boxes.get("pieces")
        room = np.log2(max(TUNING.cheap / (bounder.p * bounder.width * len(rows)), 1.0))
        halvings = int(np.clip(room, self.least_halvings, TUNING.most_halvings))
        # Where no part can turn out empty, a few boxes at a time: what is enclosed is put where it stays while it is
        # still in the processor's cache.
        step = len(rows) if "side" in boxes else max(bounder.at_once >> halvings, 1)
        places = []
        for start in range(0, len(rows), step):
            some = slice(start, start + step)
            parts = lower[some], upper[some], pays[some], None if pieces is None else pieces[some]
            for _ in range(halvings):
                parts = _halve(*parts)
            places.append(self._replace(rows[some], bounder.enclose(parts[0], parts[1], parts[3])))
        return np.concatenate(places)

    def _replace(self, rows: Ints, new: dict[str, Any]) -> Ints:
        """Put parts in the places of the boxes `rows`, and return where they are."""
        self.whole = False  # until the last of the arrays is written
        count = len(new["lower"])
        first = min(len(rows), count)
        total = self.n - (len(rows) - first) + (count - first)
        # Room for twice as many, or for all that there may be: both copies are in memory for a moment, and what is not
        # written to is in none.
        self.grow(2 * total if 4 * total <= self.most else max(self.most, total), total)
        # Children take their parents' places; the rest go to the end, and places left empty are filled from the end.
        for key, value in new.items():
            column = self.columns[key]
            column[rows[:first]] = value[:first]
            if count > first:
                column[self.n : total] = value[first:]
            elif first < len(rows):
                keep = np.ones(self.n, dtype=bool)
                keep[rows[first:]] = False
                column[: int(keep.sum())] = column[: self.n][keep]
        if first < len(rows):
            keep = np.ones(self.n, dtype=bool)
            keep[rows[first:]] = False
            places = (np.cumsum(keep) - 1)[rows[:first]]
        else:
            places = np.concatenate([rows[:first], np.arange(self.n, total)])
        self.n = total
        self.whole = True
        return places

    def grow(self, room: int, least: int) -> None:
        """Room for so many boxes, where there is not even room for the least."""
        for name, column in self.columns.items():
            if len(column) < least:
                grown = np.zeros((room, *column.shape[1:]), dtype=column.dtype)
                grown[: self.n] = column[: self.n]
                self.columns[name] = grown

    def splittable(self, rows: Ints) -> NDArray[np.bool_]:
        """Whether a box still has two floats worth telling apart."""
        found = np.empty(len(rows), dtype=bool)
        for start in range(0, len(rows), EFFORT.batch // 8):  # copies of all ends of very many boxes would not be small
            lower, upper = (ends[rows[start : start + EFFORT.batch // 8]] for ends in (self.lower, self.upper))
            wide: NDArray[np.bool_] = upper - lower > 8 * EPS * np.maximum(np.abs(lower), np.abs(upper)) + 1e-300
            found[start : start + len(wide)] = wide.any(axis=1)
        return found


def _halve(lower: Array, upper: Array, pays: Array, pieces: Pieces) -> tuple[Array, Array, Array, Pieces]:
    """Cut every box in two along the axis where that pays most."""
    axis = np.where(upper > lower, pays, -1.0).argmax(1)
    right, left = halves(lower, upper, axis)
    half = pays.copy()
    half[np.arange(len(lower)), axis] *= 0.5
    double = None if pieces is None else np.concatenate([pieces, pieces])
    return np.concatenate([lower, right]), np.concatenate([left, upper]), np.concatenate([half, half]), double


def first_work(family: Rows, cell: Cell) -> int:
    """Numbers that the first boxes of a cell take for every coefficient of a family: what a first look costs."""
    m = cell.lower.shape[1]
    p, k = family.columns.shape
    boxes = len(cell.lower) if _cut_already(cell) else math.prod(_first_cuts(cell, TUNING.cheap / (p * (k + 1))))
    return boxes * (1 + m + len(triangle(m)[0]))


def _cut_already(cell: Cell) -> bool:
    """Whether a cell consists of boxes, or of one that cannot be cut."""
    return len(cell.lower) > 1 or bool((cell.lower == cell.upper).all())


def _first_cuts(cell: Cell, cheap: float) -> list[int]:
    """Into how many parts a cell that is one box is cut along each axis: about as many in all as are cheap."""
    width = cell.upper[0] - cell.lower[0]
    m, wide = len(width), int((width > 0).sum())
    count = max(int(min(cheap, TUNING.first_boxes) ** (1.0 / m) * (1 + 4 * EPS)), 2)
    # Where every axis cut once makes more boxes, only the widest are cut.
    axes = min(wide, int(math.log2(512) / math.log2(count)))
    cut = np.argsort(-width, kind="stable")[:axes]
    return [count if k in cut else 1 for k in range(m)]


def _first_boxes(cell: Cell, cheap: float) -> tuple[Array, Array]:
    """A cell that is one box is cut along each axis, into about as many as are cheap."""
    if _cut_already(cell):
        return cell.lower.astype(float), cell.upper.astype(float)
    edges = []
    for k, count in enumerate(_first_cuts(cell, cheap)):
        cuts = np.linspace(cell.lower[0, k], cell.upper[0, k], count + 1)
        edges.append((cuts[:-1], cuts[1:]))
    lower = np.stack([g.ravel() for g in np.meshgrid(*(e[0] for e in edges), indexing="ij")], axis=1)
    upper = np.stack([g.ravel() for g in np.meshgrid(*(e[1] for e in edges), indexing="ij")], axis=1)
    return lower, upper


def boxes_left(partition: BoxPartition, rows: Ints, weights: Array, spread: Array | None, goal: float) -> float:
    """How many boxes would have to be enclosed, about, until no bound of these boxes exceeds the goal."""
    rng = np.random.default_rng(0)
    total, count = 0.0, float(len(rows))
    lower, upper = partition.lower[rows], partition.upper[rows]
    for _ in range(100):  # then the rest is taken for endless
        check("branch-and-bound")
        if count <= 0.01 * total:
            return total
        some = rng.permutation(len(lower))[:100]
        parts = BoxPartition(partition.bounder, (lower[some], upper[some]))
        parts.bounds(weights, slice(None), spread)  # says where splitting pays
        parts.refine(np.arange(parts.n), weights)
        total += count * parts.n / len(some)
        found = parts.bounds(weights, slice(None), spread)
        if found is None:
            break
        still = np.flatnonzero((found.upper.max(axis=1, initial=-np.inf) > goal) & parts.splittable(np.arange(parts.n)))
        count *= len(still) / len(some)
        lower, upper = parts.lower[still], parts.upper[still]
    return np.inf
