"""Best-first branch-and-bound over boxes: the one search behind all certified separation.

A `Bounder` bounds rows over boxes. The search splits the boxes with the largest bounds, goes on with a sharper bounder
where they become many, and evaluates rows exactly where models promise most. Where the compiled kernel has the rows, it
splits boxes by itself.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..deadline import EFFORT, beat, check, left
from ..errors import OutOfTime
from ..expressions.boxes import search_boxes
from .attained import distinct, one_a_row
from .base import Array, EnclosableViolation, Ints, Separation, Weighted, Work
from .bernstein import Bernstein, RationalRow, rational_rows
from .bounder import BoxBounds, swing
from .bounders import sharper
from .compiled_search import Limits, again, search
from .partition import TUNING as PARTITION
from .partition import BoxPartition, boxes_left
from .taylor import Taylor
from .trigonometric import Trigonometric


@dataclass(frozen=True)
class SearchTuning:
    """How a search goes through its rounds.

    Parameters
    ----------
    crowded
        Boxes of a cell beyond which it rather goes on with a sharper bounder: so many mean that what keeps bounds up is
        what the bounder leaves open, or rounding, not the width of boxes.
    """

    crowded: int = 1000


TUNING = SearchTuning()


class BoxSearch:
    """One call: the bounds of all boxes for this x, and the best points so far; the options are a `BranchAndBound`."""

    def __init__(
        self,
        violation: EnclosableViolation,
        rows: Weighted,
        partitions: list[BoxPartition],
        target: float,
        options: Any,
    ) -> None:
        self.violation, self.domain, self.target, self.options = violation, violation.domain, target, options
        self.family, self.weights, self.spread = rows
        self.trusts = self.family.source.trusts(violation.domain)
        self.kept = partitions  # of the cells of the domain, for later searches; replaced and refined in place
        self.partitions = list(partitions)
        self.bounds: list[Array] = [np.zeros((0, 0))] * len(partitions)  # (N, p) a cell
        self.points: list[Array] = []
        self.values: list[Array] = []
        self.components: list[Ints] = []
        self.best = -np.inf
        self.alert = target - options.near
        self.sharpest: set[int] = set()  # cells for which there is no sharper bounder
        self.deadline = np.inf
        self.enclosed, self.seconds = 0, 0.0  # boxes that were made by splitting, and what they took
        self.needed: float | None = None  # how many would be in all, if that was estimated
        self.estimate_at: float = 2 * EFFORT.boxes  # as soon as there are so many: probing costs some thousands

    def begin(self, k: int) -> None:
        """Bound all boxes of a cell, and look where they promise most."""
        partition = self.partitions[k]
        compiled = _compiled(partition)
        if compiled is None:
            found = self._bounds(partition)
        else:
            found = again(partition, compiled, self.weights, self.spread, self.alert)
        if found is None:
            return self._replace(k, BoxPartition(Taylor(self.family, partition.cell)))  # it knows all weights
        self.bounds[k] = found.upper
        self._try(found, True)
        return None

    def _replace(self, k: int, other: BoxPartition) -> None:
        """Go on with another bounder of a cell; waves are as good as ever for other weights."""
        if self.kept[k] is self.partitions[k] and not isinstance(self.kept[k].bounder, Trigonometric):
            self.kept[k] = other
        self.partitions[k] = other
        self.begin(k)

    def _sharpen(self, k: int) -> bool:
        """Go on with a sharper bounder of a cell, if there is one."""
        other = None if k in self.sharpest else sharper(self.partitions[k], self.family, self.weights)
        if other is None:
            self.sharpest.add(k)
            return False
        self._replace(k, other)
        return True

    def _bounds(self, partition: BoxPartition, rows: Ints | None = None) -> BoxBounds | None:
        """Bounds of some boxes, or of all; raises `OutOfTime` at the deadline."""
        found = []
        for start in range(0, max(partition.n if rows is None else len(rows), 1), EFFORT.unwatched):
            check("branch-and-bound")
            part = slice(start, start + EFFORT.unwatched)
            bounds = partition.bounds(self.weights, part if rows is None else rows[part], self.spread)
            if bounds is None:
                return None
            found.append(bounds)
        return found[0] if len(found) == 1 else BoxBounds.joined(found)

    def _try(self, bounds: BoxBounds, blind: bool) -> None:
        """Evaluate exactly where the models are largest: at many points if they promise a violation, else at a few.

        A model is `blind` where derivatives are unbounded: it can be far too low, so a few points are tried anyway.
        """
        model, points = bounds.model, bounds.points
        flat = model.ravel()
        worthwhile = flat > (-np.inf if not self.points else max(self.alert, self.best - 0.5 * abs(self.best)))
        # Models can be far too low where derivatives are unbounded.
        some = self.options.points
        most, least = max(some, 2 * model.shape[1]), some // 4 if blind else 0
        count = min(most, max(int(worthwhile.sum()), least), flat.size)
        if not count:
            return
        largest = np.argpartition(-flat, count - 1)[:count]
        component = largest % model.shape[1] if bounds.components is None else bounds.components.ravel()[largest]
        y = self.domain.project(points.reshape(-1, points.shape[-1])[largest])
        value = self.violation.at(y, component)
        self._found(y, self._exact_values(y, component, value) if value.max() > self.alert else value, component)

    def _found(self, y: Array, value: Array, component: Ints) -> None:
        self.points.append(y)
        self.values.append(value)
        self.components.append(component)
        self.best = max(self.best, float(value.max()))

    @property
    def goal(self) -> float:
        """The bound to reach: the target, or about twice the violation found (never below a value that is attained)."""
        return max(self.target, 2 * self.best - self.alert) if self.best > self.alert else self.target

    def run(self) -> None:
        """Split boxes until the goal is reached, or time and patience are up."""
        began = time.perf_counter()
        for k in range(len(self.partitions)):
            self.begin(k)
        self.now = time.perf_counter()
        bounding = (self.now - began) / max(sum(c.n for c in self.partitions), 1)
        cost = bounding + max((c.cost for c in self.partitions), default=1.0)
        self.rounds, self.stuck, self.pace = 0, False, 1 / (4 * cost)  # each becomes a few
        self.deadline = self.now + min(self.options.seconds, left())
        search_boxes(self, self.deadline)

    def open_boxes(self) -> list[Ints] | None:
        """The boxes of each cell with bounds above the goal; None if it is reached, or nothing helps any more."""
        above = [np.flatnonzero(_largest(b) > self.goal) for b in self.bounds]
        done = self.stuck or (self.best > self.alert and self.rounds >= self.options.rounds)
        return None if done or not any(map(len, above)) else above

    def split(self, chosen: list[Ints]) -> None:
        """Split the worst of these boxes, or go on with sharper bounders."""
        most = int(max(1, min(self.pace * (self.deadline - self.now), 1e9)))  # so that a round ends in time
        beat(f"branch-and-bound, {sum(c.n for c in self.partitions)} boxes")
        rows = [above[c.splittable(above)] for above, c in zip(chosen, self.partitions, strict=True)]
        try:
            split = sum(self._split(k, some, most) for k, some in enumerate(rows) if len(some))
            if not any(map(len, rows)):  # rounding, not width, keeps bounds up
                split = sum(self.partitions[k].n for k, above in enumerate(chosen) if len(above) and self._sharpen(k))
            if self.enclosed >= self.estimate_at or not split:
                self._estimate()
        except OutOfTime:
            split = 0
        self.stuck = not split
        if split:
            began, self.now = self.now, time.perf_counter()
            self.pace = min(self.pace, split / max(self.now - began, 1e-9))  # parts that are new may cost more
            self.seconds += self.now - began
            self.rounds += 1

    @cached_property
    def _rational(self) -> list[RationalRow] | None:
        """The rows in rational numbers; None if they are no polynomials of a scalar index."""
        return rational_rows(self.family, self.partitions[0].cell, self.weights)

    def _exact_values(self, y: Array, component: Ints, value: Array) -> Array:
        """Values again without rounding, where they are those of polynomials and rounding may have made a violation.

        Without any room below the target, a proof hangs on whether there is a violation at all.
        """
        exactly = self.options.near == 0 or any(isinstance(c.bounder, Bernstein) for c in self.partitions)
        rows = self._rational if exactly else None
        if rows is None:
            return value
        exact, doubtful = value.copy(), np.flatnonzero(value > self.alert)
        moved = np.zeros(len(doubtful))
        if self.spread is not None:
            each = swing(self.family, y[doubtful], y[doubtful], self.spread).reshape(len(doubtful), -1)
            moved = each[np.arange(len(doubtful)), component[doubtful]]
        for i, more in zip(doubtful.tolist(), moved.tolist(), strict=True):
            exact[i] = min(value[i], rows[component[i]].at(float(y[i, 0])) + more)
        return exact

    def _split(self, k: int, rows: Ints, most: int) -> int:
        """Split the worst of these boxes, `most` at most; how many it was."""
        partition = self.partitions[k]
        n = partition.n
        if self._crowded(partition, len(rows)) and self._sharpen(k):
            return self.partitions[k].n
        # On a line, so many boxes mean that rounding, not width, keeps the bound up.
        boxes = self.options.max_boxes if partition.dim > 1 else self.options.max_boxes // 10
        room = min(boxes, partition.most) - n
        compiled = _compiled(partition)
        if compiled is not None:
            return self._compiled(k, compiled, room)
        batch = max(min(EFFORT.unwatched, most, int(2e8 / partition.row_bytes)), 1)
        added = 2**PARTITION.most_halvings - 1  # boxes that one may become more, at most
        if not len(rows) or room < added:
            return 0
        taken = min(batch, room // added)
        if len(rows) > taken:
            rows = rows[np.argpartition(_largest(self.bounds[k][rows]), -taken)[-taken:]]
        children = partition.refine(rows, self.weights)
        found = self._bounds(partition, children)
        assert found is not None  # as of their parents
        self.enclosed += len(children)
        # Children replaced their parents in place; the others moved to the end, or the tail closed up.
        old = self.bounds[k]
        if partition.n >= n:
            grown = np.concatenate([old, np.empty((partition.n - n, old.shape[1]))])
        else:
            gone = np.ones(n, dtype=bool)
            gone[rows[len(children) :]] = False
            grown = old[gone]
        grown[children] = found.upper
        self.bounds[k] = grown
        self._try(found, bool(partition.boxes(children)["rough"].any()))
        return len(rows)

    @staticmethod
    def _crowded(partition: BoxPartition, opened: int) -> bool:
        """Whether so many boxes, of which so many are open, ask for another bounder.

        A round in which nearly every box is still open says as much as very many boxes. Where boxes need not be kept
        with their enclosures, no more than one table of these is.
        """
        n, after, bounder = partition.n, partition.n + 3 * opened, partition.bounder
        if not isinstance(bounder, Taylor):
            return False
        heavy = bounder.tape is not None and after * partition.row_bytes > 8 * EFFORT.entries
        return after > TUNING.crowded or (n > TUNING.crowded // 8 and opened > 0.9 * n) or heavy

    def _compiled(self, k: int, bounder: Taylor, room: int) -> int:
        """Let the kernel go on by itself; how many boxes it split."""
        most = int(min(max(self.estimate_at - self.enclosed, 1), 1e9))
        limits = Limits(self.goal, self.alert, room, most, self.deadline)
        enclosed, split = search(self.partitions[k], bounder, self.weights, self.spread, limits)
        if split:
            boxes = self.partitions[k].boxes()
            new = self.partitions[k].boxes(np.flatnonzero(boxes["touched"]))
            self.bounds[k] = boxes["bound"].copy()
            self.enclosed += enclosed
            found = BoxBounds(new["bound"], bounder.placed(new["points"]), new["model"])
            self._try(found, bool(new["rough"].any()))
        return split

    def result(self) -> Separation:
        """What was found and proven."""
        bound = max((c.bounder.proven(b) for c, b in zip(self.partitions, self.bounds, strict=True)), default=-np.inf)
        if not self.points:
            return Separation(np.zeros((0, self.domain.dim)), np.zeros(0), bound, trusts=self.trusts)
        y, g, component = np.concatenate(self.points), np.concatenate(self.values), np.concatenate(self.components)
        # Everything that violates is worth a cut; otherwise the few worst, which the certificate reports.
        floor = self.alert if self.best > self.alert else self.best - 0.1 * abs(self.best) - 1e-12
        keep = np.flatnonzero(g > floor)
        y, g, component = y[keep], g[keep], component[keep]
        radius = 1e-3 * (self.domain.upper - self.domain.lower)
        most = self.options.points
        if self.violation.components > most:
            chosen = one_a_row(g, component)
            return self._answer(y[chosen], g[chosen], component[chosen], bound)
        chosen = distinct(y, g, component, radius, most)
        return self._answer(y[chosen], g[chosen], component[chosen], bound)

    def _answer(self, y: Array, g: Array, component: Ints, bound: float) -> Separation:
        bound = max(bound, float(g.max(initial=-np.inf)))
        return Separation(y, g, bound, component, trusts=self.trusts, work=self._work(bound))

    def _estimate(self) -> None:
        """How many boxes a proof would need, where there are many already and nothing is found."""
        if self.best > self.alert or sum(c.n for c in self.partitions) < EFFORT.unwatched:
            return
        open_rows = [np.flatnonzero(_largest(b) > self.goal) for b in self.bounds]
        each = zip(self.partitions, open_rows, strict=True)
        left = sum(boxes_left(c, rows, self.weights, self.spread, self.goal) for c, rows in each)
        self.needed, self.estimate_at = self.enclosed + left, max(self.enclosed + left, 2 * self.enclosed)

    def _work(self, bound: float) -> Work | None:
        """What is left of the proof; None where it is done, not known, or stopped by a lack of any bound."""
        if self.needed is None or self.best > self.alert or not self.goal < bound < np.inf:
            return None
        still = sum(int((_largest(b) > self.goal).sum()) for b in self.bounds)
        boxes = max(self.needed - self.enclosed, 2.0 * still)
        cost = self.seconds / self.enclosed if self.enclosed else max(c.cost for c in self.partitions)
        return Work(boxes, boxes * cost)


def _compiled(partition: BoxPartition) -> Taylor | None:
    """The bounder of a partition that the compiled kernel splits by itself; None if it does not."""
    bounder = partition.bounder
    return bounder if isinstance(bounder, Taylor) and not bounder.kept and bounder.tape is not None else None


def _largest(bounds: Array) -> Array:
    """The largest bound (N,) of every box over its rows (N, p); without a copy, where there is one."""
    return bounds[:, 0] if bounds.shape[1] == 1 else bounds.max(axis=1, initial=-np.inf)
