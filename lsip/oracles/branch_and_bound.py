"""Certified separation: a proven upper bound of the violation over the whole index set, by splitting boxes."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

import numpy as np

from ..deadline import EFFORT, beat, check, left
from ..domains import Domain
from ..errors import ModelError, OutOfTime
from ..expressions.interval import up
from ..expressions.polynomials import by_powers
from ..kernel.native import in_use
from ..validation import real, whole
from .bare_cover import BareCover, tape_of
from .base import (
    Array,
    EnclosableViolation,
    Ints,
    Separation,
    Violation,
    Weighted,
    Work,
    can_enclose,
    maximises,
    unscaled,
)
from .bernstein import largest, value_at
from .cover import TUNING as COVER
from .cover import Cover
from .distinct import distinct, one_a_row
from .harmonic import by_waves
from .memory import Partition
from .polynomial_cover import PolynomialCover, expansions
from .work import TUNING as WORK
from .work import boxes_left


@dataclass(frozen=True)
class BranchAndBoundTuning:
    """How a search goes through its rounds.

    Parameters
    ----------
    crowded
        Boxes beyond which a cover is rather begun anew, with expansions of one order more.
    heavy
        Bytes of enclosures beyond which the kernel keeps boxes alone: to write so many takes longer than to make them.
    most_cubic
        Coordinates of an index up to which the compiled kernel does so. In more, third derivatives are many, and its
        quadratics are as sharp over the boxes that are small enough.
    most_points
        Points evaluated exactly in each round, or two for every row an index has, if that is more.
    first_pace
        Boxes split in a second, at most, until that has been measured.
    least_split
        Boxes that a round splits however little time is left.
    round_share
        The share of the time left that a round is to take, by the pace of the last: models with 60 functions of four
        coordinates were 0.4 s late with all of it, because parts that are new to a round cost more.
    expanded
        Boxes beyond which polynomials in two or three coordinates are expanded for every x anew, on fewer boxes, and
        those on a line are bounded in whole numbers: so many mean that rounding, not width, keeps the bound up.
    anew
        Multiplications for all boxes beyond which a cover on which they are is begun anew for the next x: it keeps
        nothing but boxes, and most of these were needed for another one.
    """

    crowded: int = 1500
    heavy: float = 2e7
    most_cubic: int = 3
    most_points: int = 64
    first_pace: float = 1000.0
    least_split: int = 8
    round_share: float = 0.4
    expanded: int = 800
    anew: float = 1e9


TUNING = BranchAndBoundTuning()


@dataclass(frozen=True)
class BranchAndBound:
    """Prove `sup g <= bound`, and find the distinct local maximisers on the way.

    Boxes are bounded by quadratic enclosures (third-order accurate) and split while their bound exceeds both the
    target and twice the worst violation found. What does not depend on x is kept in the family's `memory`, and reused
    by later calls about the same index set.

    Parameters
    ----------
    tol
        Sharpness of the bound where no violation is found: boxes are split until their bound is within `tol` of the
        target or of the largest value attained.
    max_boxes
        Give up proving more when a family holds this many boxes; the bound returned is still valid.
    rounds
        Splitting rounds once a violation has been found; a cut is worth more than a proof then.
    points
        The most points returned by one call (one for every row an index has, if that is more).
    seconds
        Stop splitting after this long; the bound returned is still valid. The deadline of a solve counts, too.
    near
        Values this little below the target count as violations: a cut is cheaper than proving so fine a difference.
    """

    tol: float = 0.0
    max_boxes: int = 200_000
    rounds: int = 4
    points: int = 64
    seconds: float = np.inf
    near: float = 0.0
    costly: ClassVar[bool] = True

    def __post_init__(self) -> None:
        for name in ("tol", "near"):
            real(name, getattr(self, name), "must be at least 0", lambda v: 0 <= v < np.inf)
        real("seconds", self.seconds, "must be a number", lambda v: v == v)
        for name, least in (("max_boxes", 1), ("rounds", 0), ("points", 1)):
            whole(name, getattr(self, name), least)

    def within(self, seconds: float, near: float) -> BranchAndBound:
        """The same search, ending after `seconds` at the latest, with `near` as given."""
        return replace(self, seconds=min(self.seconds, seconds), near=near)

    @maximises
    def maximise(self, violation: Violation, *, target: float = 0.0, seed: int = 0) -> Separation:
        """The distinct maximisers found, worst first, and a proven bound. Deterministic: `seed` plays no part."""
        if not can_enclose(violation):
            raise ModelError(
                "BranchAndBound needs a violation that can be enclosed: write the constraint in the language, or give "
                "`lipschitz` for a black box; otherwise use Multistart, Grid or RandomSearch."
            )
        rows = unscaled(violation)
        known = by_waves(violation, rows, target + self.tol, target + self.tol - self.near, self.points)
        if known is not None:
            return known
        memory = rows.family.memory
        taken: Partition = memory.take(rows.family, violation.domain)
        search = _Search(violation, rows, taken.covers, target + self.tol, self)
        try:
            search.run()
        finally:
            memory.keep(taken)
        return search.result()


class _Search:
    """One call: the bounds of all boxes for this x, and the best points so far."""

    def __init__(
        self,
        violation: EnclosableViolation,
        rows: Weighted,
        covers: list[Cover],
        target: float,
        options: BranchAndBound,
    ) -> None:
        self.violation, self.domain, self.target, self.options = violation, violation.domain, target, options
        self.family, self.weights, self.spread = rows
        self.trusts = self.family.trusts(violation.domain)
        self.covers = covers  # of the domain; replaced and refined in place
        self.bounds: list[Array] = [np.zeros((0, 0))] * len(self.covers)  # (N, p) a cover
        self.points: list[Array] = []
        self.values: list[Array] = []
        self.components: list[Ints] = []
        self.best = -np.inf
        self.alert = target - options.near
        self.polynomials: dict[int, list[Fraction] | None] = {}  # g in rational numbers, a component
        self.expandable: dict[int, bool] = {}  # whether they can be expanded on the boxes of a cover
        self.deadline = np.inf
        self.enclosed, self.seconds = 0, 0.0  # boxes that were made by splitting, and what they took
        self.needed: float | None = None  # how many would be in all, if that was estimated
        self.estimate_at: float = WORK.first  # as soon as there are so many

    def begin(self, k: int) -> None:
        """Bound all boxes of a cover, and look where they promise most."""
        cover = self.covers[k]
        if not cover.knows(self.weights):
            self.covers[k] = Cover(self.family, cover.cell, order=3)
        elif cover.direct and cover.n * cover.products(self.weights) > TUNING.anew:
            self.covers[k] = type(cover)(self.family, cover.cell)
        cover = self.covers[k]
        if isinstance(cover, BareCover):
            self.bounds[k], points, model = cover.again(self.weights, self.spread, self.alert)
        else:
            self.bounds[k], points, model = self._bounds(cover)
        self._try(points, model, True)

    def _bounds(self, cover: Cover, rows: Ints | None = None) -> tuple[Array, Array, Array]:
        """Bounds, points and models of some boxes, or of all; raises `OutOfTime` at the deadline."""
        found = []
        for start in range(0, max(cover.n if rows is None else len(rows), 1), EFFORT.unwatched):
            check("branch-and-bound")
            part = slice(start, start + EFFORT.unwatched)
            some = part if rows is None else rows[part]
            found.append(cover.bounds(self.weights, some, self.spread))
        bound, points, model = found[0] if len(found) == 1 else map(np.concatenate, zip(*found, strict=True))
        return bound, points, model

    def _try(self, points: Array, model: Array, blind: bool) -> None:
        """Evaluate exactly where the models are largest: at many points if they promise a violation, else at a few.

        A model is `blind` where derivatives are unbounded: it can be far too low, so a few points are tried anyway.
        """
        flat = model.ravel()
        worthwhile = flat > (-np.inf if not self.points else max(self.alert, self.best - 0.5 * abs(self.best)))
        # Models can be far too low where derivatives are unbounded.
        most, least = max(TUNING.most_points, 2 * model.shape[1]), TUNING.most_points // 4 if blind else 0
        count = min(most, max(int(worthwhile.sum()), least), flat.size)
        if not count:
            return
        largest = np.argpartition(-flat, count - 1)[:count]
        component = largest % model.shape[1]
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
        for k in range(len(self.covers)):
            self.begin(k)
        rounds, now = 0, time.perf_counter()
        pace = min((TUNING.first_pace, *(cover.pace for cover in self.covers)))
        self.deadline = deadline = now + min(self.options.seconds, left())
        while now <= deadline:
            open_rows = [np.flatnonzero(_largest(b) > self.goal) for b in self.bounds]
            if self._bound_exactly(open_rows):
                break
            open_rows = [rows[c.splittable(rows)] for rows, c in zip(open_rows, self.covers, strict=True)]
            if not sum(map(len, open_rows)) or (self.best > self.alert and rounds >= self.options.rounds):
                break
            share = pace * TUNING.round_share * (deadline - now)  # so that a round ends in time, if it is slower, too
            most = int(max(TUNING.least_split, min(share, 1e9)))
            beat(f"branch-and-bound, {sum(cover.n for cover in self.covers)} boxes")
            try:
                split = sum(self._split(k, rows, most) for k, rows in enumerate(open_rows) if len(rows))
                if self.enclosed >= self.estimate_at or not split:
                    self._estimate()
            except OutOfTime:
                break
            if not split:
                break
            began, now = now, time.perf_counter()
            pace = split / max(now - began, 1e-9)
            self.seconds += now - began
            rounds += 1

    @property
    def _fine(self) -> bool:
        """Whether a line has been cut so finely that what is left to tell may be less than the rounding of doubles."""
        return sum(cover.n for cover in self.covers) > TUNING.expanded and all(
            cover.dim == self.domain.dim == 1 and cover.cell.inside is None and cover.cell.place is None
            for cover in self.covers
        )

    def _swing(self) -> float:
        """How far g may move with weights within their spread, at most."""
        spread = self.spread
        if spread is None:
            return 0.0
        return max(float(cover.swing(slice(None), spread).max()) for cover in self.covers)

    def _polynomial(self, component: int) -> list[Fraction] | None:
        """One component by powers of a scalar index; None if it is no such polynomial."""
        if component not in self.polynomials:
            scalar = self.domain.dim == 1
            g = self.family.polynomial(component, self.weights[component]) if scalar else None
            self.polynomials[component] = None if g is None else by_powers(g)
        return self.polynomials[component]

    def _exact_values(self, y: Array, component: Ints, value: Array) -> Array:
        """Values again without rounding, where they are those of polynomials and rounding may have made a violation.

        Without any room below the target, a proof hangs on whether there is a violation at all.
        """
        doubtful = np.flatnonzero(value > self.alert)
        if not (self._fine or self.options.near == 0):
            return value
        exact, swing = value.copy(), self._swing()
        for i in doubtful:
            g = self._polynomial(int(component[i]))
            exact[i] = value[i] if g is None else min(value[i], value_at(g, float(y[i, 0])) + swing)
        return exact

    def _bound_exactly(self, open_rows: list[Ints]) -> bool:
        """Bound polynomials in whole numbers, where boxes are fine and nothing is found; whether nothing is left to do.

        What is found already is cut off first: no finer box would find more.
        """
        if not self._fine or not sum(map(len, open_rows)):
            return False
        if self.best > self.alert:
            return self._polynomial(0) is not None
        swing = self._swing()
        if not np.isfinite(swing):
            return False
        for k, rows in enumerate(open_rows):
            for c in range(self.violation.components):
                mine = rows[self.bounds[k][rows, c] > self.goal]
                g = self._polynomial(c) if len(mine) else None
                if len(mine) and g is None:
                    return False
                if g is not None:
                    self._bound_stretches(k, c, mine, g, swing)
        return True

    def _bound_stretches(self, k: int, component: int, rows: Ints, g: list[Fraction], swing: float) -> None:
        """The same for boxes of one cover, stretch by stretch."""
        lower, upper = self.covers[k].lower[rows, 0], self.covers[k].upper[rows, 0]
        order = np.argsort(lower, kind="stable")
        ends = np.maximum.accumulate(upper[order])
        first = np.concatenate([[True], lower[order][1:] > ends[:-1]])
        if first.sum() > 32:  # taken as one, not one by one
            first[1:] = False
        number = np.cumsum(first) - 1
        for i in range(int(first.sum())):
            part = order[number == i]
            found = largest(g, lower[part].min(), upper[part].max(), self.target - 2 * swing, self.alert - swing)
            bound = float(up(np.asarray(found.bound + swing))) if swing else found.bound
            self.bounds[k][rows[part], component] = np.minimum(self.bounds[k][rows[part], component], bound)
            self._found(np.array([[found.point]]), np.array([found.value]), np.array([component]))

    def _split(self, k: int, rows: Ints, most: int) -> int:
        """Split the worst of these boxes, `most` at most; how many it was."""
        cover = self.covers[k]
        # A round in which nearly every box is still open says as much as very many boxes.
        many = TUNING.crowded
        if self._expandable(k, len(rows)):
            return self._restart(k, PolynomialCover(self.family, cover.cell))
        if isinstance(cover, BareCover):
            return self._dig(k, cover)
        crowded = cover.n + 3 * len(rows) > many or (cover.n > many // 8 and len(rows) > 0.9 * cover.n)
        heavy = (cover.n + 3 * len(rows)) * cover.row_bytes > TUNING.heavy
        if (crowded or heavy) and tape_of(cover) is not None:
            cubic = cover.dim <= TUNING.most_cubic and self.family.differentiable
            kept = None if cubic and cover.order == 2 else (cover.lower.copy(), cover.upper.copy())
            return self._restart(k, BareCover(self.family, cover.cell, 3 if cubic else 2, kept))
        crowded &= cover.dim <= TUNING.most_cubic or not in_use()
        if cover.order == 2 and not cover.direct and crowded and self.family.differentiable:
            return self._restart(k, Cover(self.family, cover.cell, order=3))
        # On a line, so many boxes mean that rounding, not width, keeps the bound up.
        boxes = self.options.max_boxes if cover.dim > 1 else self.options.max_boxes // 10
        room = min(boxes, cover.most) - cover.n
        batch = max(min(4096, most, int(2e8 / cover.row_bytes)), 1)
        added = 2**COVER.most_halvings - 1  # boxes that one may become more, at most
        if not len(rows) or room < added:
            return 0
        taken = min(batch, room // added)
        if len(rows) > taken:
            rows = rows[np.argpartition(_largest(self.bounds[k][rows]), -taken)[-taken:]]
        before = cover.n
        children = cover.refine(rows, cover.influence(self.weights, rows))
        bound, points, model = self._bounds(cover, children)
        self.enclosed += len(children)
        # Children replaced their parents in place; the others moved to the end, or the tail closed up.
        old = self.bounds[k]
        if cover.n >= before:
            grown = np.concatenate([old, np.empty((cover.n - before, old.shape[1]))])
        else:
            gone = np.ones(before, dtype=bool)
            gone[rows[len(children) :]] = False
            grown = old[gone]
        grown[children] = bound
        self.bounds[k] = grown
        self._try(points, model, bool(cover.rough[children].any()))
        return len(rows)

    def _dig(self, k: int, cover: BareCover) -> int:
        """Let the kernel go on by itself; how many boxes it split."""
        room = min(self.options.max_boxes, cover.most) - cover.n
        most = max(int(self.estimate_at) - self.enclosed, 1)
        found = cover.dig(self.bounds[k], self.weights, self.spread, (self.goal, self.alert), room, most, self.deadline)
        if found is None:
            return 0
        self.bounds[k] = found.bounds
        self.enclosed += found.enclosed
        self._try(found.points, found.model, found.blind)
        return found.split

    def _expandable(self, k: int, count: int) -> bool:
        """Whether a cover of which so many boxes are open is rather one of polynomials."""
        cover = self.covers[k]
        if cover.direct or cover.n + 3 * count <= TUNING.expanded:
            return False
        if k not in self.expandable:
            self.expandable[k] = expansions(self.family, cover.cell, self.weights) is not None
        return self.expandable[k]

    def _restart(self, k: int, cover: Cover) -> int:
        """Go on with sharper expansions on fewer boxes."""
        self.covers[k] = cover
        self.begin(k)
        return self.covers[k].n

    def result(self) -> Separation:
        """What was found and proven."""
        bound = max((c.proven(b) for c, b in zip(self.covers, self.bounds, strict=True)), default=-np.inf)
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
        if self.best > self.alert:
            y, g, component = self._climb(y[chosen], g[chosen], component[chosen])
            chosen = distinct(y, g, component, 2 * radius, most)
        return self._answer(y[chosen], g[chosen], component[chosen], bound)

    def _answer(self, y: Array, g: Array, component: Ints, bound: float) -> Separation:
        bound = max(bound, float(g.max(initial=-np.inf)))
        return Separation(y, g, bound, component, trusts=self.trusts, work=self._work(bound))

    def _estimate(self) -> None:
        """How many boxes a proof would need, where there are many already and nothing is found."""
        if self.best > self.alert or sum(cover.n for cover in self.covers) < WORK.least:
            return
        open_rows = [np.flatnonzero(_largest(b) > self.goal) for b in self.bounds]
        each = zip(self.covers, open_rows, strict=True)
        left = sum(boxes_left(self.family, c, rows, self.weights, self.spread, self.goal) for c, rows in each)
        self.needed, self.estimate_at = self.enclosed + left, WORK.again * self.enclosed

    def _work(self, bound: float) -> Work | None:
        """What is left of the proof; None where it is done, not known, or stopped by a lack of any bound."""
        if self.needed is None or self.best > self.alert or not self.goal < bound < np.inf:
            return None
        still = sum(int((_largest(b) > self.goal).sum()) for b in self.bounds)
        boxes = max(self.needed - self.enclosed, 2.0 * still)
        pace = self.enclosed / self.seconds if self.enclosed else 4 * min(cover.pace for cover in self.covers)
        return Work(boxes, boxes / pace)

    def _climb(self, y: Array, g: Array, component: Ints) -> tuple[Array, Array, Ints]:
        """One Newton step up from every point, kept where it helps."""
        if not len(y):
            return y, g, component
        parts = self.violation.derivatives(y, component)
        if parts is None:
            return y, g, component
        better = self.domain.project(newton_step(y, parts[1], parts[2], self.domain))
        value = self.violation.at(better, component)
        up = value > g
        return np.where(up[:, None], better, y), np.where(up, value, g), component


def _largest(bounds: Array) -> Array:
    """The largest bound (N,) of every box over its rows (N, p); without a copy, where there is one."""
    return bounds[:, 0] if bounds.shape[1] == 1 else bounds.max(axis=1, initial=-np.inf)


def newton_step(y: Array, gradient: Array, hessian: Array, domain: Domain, reach: Array | None = None) -> Array:
    """Where the quadratic model at y has its maximum over the coordinates that can move inside the bounding box.

    Where the model has none, y stays; with `reach` (m,), no step is longer than that along an axis, and directions of
    positive curvature are climbed as if it were negative.
    """
    m = y.shape[1]
    pinned = ((y <= domain.lower) & (gradient < 0)) | ((y >= domain.upper) & (gradient > 0))
    diagonal = np.arange(m)
    h = np.where(pinned[:, :, None] | pinned[:, None, :], 0.0, hessian)
    h[:, diagonal, diagonal] = np.where(pinned, -1.0, h[:, diagonal, diagonal])
    if m == 1:  # a concave parabola has its top at -g / h
        bend = h[:, 0] if reach is None else -np.abs(h[:, 0])
        top = np.where(bend < 0, -gradient / np.where(bend < 0, bend, 1.0), 0.0)
        top = np.where(pinned | ~np.isfinite(top), 0.0, top)
        return np.clip(y + (top if reach is None else np.clip(top, -reach, reach)), domain.lower, domain.upper)
    usable = np.isfinite(h).all(axis=(1, 2)) & np.isfinite(gradient).all(axis=1)
    step = np.zeros_like(y)
    if usable.any():
        w, v = np.linalg.eigh(h[usable])
        if reach is not None:
            w = -np.abs(w)
        concave = w[:, -1] < 0
        inverse = np.where(w < 0, -1.0 / np.where(w < 0, w, 1.0), 0.0)
        g = np.where(pinned[usable], 0.0, gradient[usable])
        full = np.einsum("nij,nj->ni", v, inverse * np.einsum("nij,ni->nj", v, g))
        step[usable] = np.where(concave[:, None], full, 0.0)
    if reach is not None:
        step = np.clip(step, -reach, reach)
    return np.clip(y + step, domain.lower, domain.upper)
