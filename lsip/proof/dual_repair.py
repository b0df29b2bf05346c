"""Finding multipliers that balance exactly: which rows can make up for rounding, and in which columns they have to.

Everything here is a proposal in floating point; `dual.lagrangian_bound` has the last word on what it proves.

The rows of the dual measure itself are enough where it has as many atoms, well apart, as there are columns to balance.
Where it has fewer, or some that weigh next to nothing, rows with no weight so far are added: a small linear program
finds a direction in the space of multipliers along which all of these grow, the combination of rows stays what it is,
and the bound suffers least. Along it, a step of some 1e-13 is enough to keep corrections of 1e-16 from making a
multiplier negative.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, cycle, islice
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import splu

from ..deadline import afford_factors, check
from ..errors import OutOfTime
from ..expressions.interval import EPS, Interval
from ..masters.base import Matrix, is_sparse
from ..model.program import Program
from .certificate import Array, Ints, Support
from .direction import direction, pushes_of, vanishing_columns
from .dual import TUNING as WEIGHING
from .dual import Dual, LagrangianBound, charges, lagrangian_bound, loose_columns
from .linear_algebra import ROUNDING, exact_sums
from .merging import merged
from .pivots import appeal_of, filled, square, strong_rows
from .rows import DualRows, Mask, centres, settled


@dataclass(frozen=True)
class BalanceTuning:
    """How multipliers are looked for that balance; whatever is found, `dual.lagrangian_bound` says what it proves.

    Parameters
    ----------
    steps
        Steps along a direction, relative to all weights, the shortest first. Some 1e-13 is enough to keep corrections
        of 1e-16 from making a multiplier negative; longer ones cost more of the bound.
    """

    steps: tuple[float, ...] = (1e-14, 1e-13, 1e-12, 3e-12, 1e-11, 1e-10, 1e-9, 1e-8)


TUNING = BalanceTuning()
Repair = tuple[Dual, LagrangianBound]  # multipliers, and what they prove
NEAR_ENDS = ROUNDING, WEIGHING.slope  # how near to a bound counts as being there, tried in turn


def balanced(
    program: Program, c: Array, dual: Dual, centre: Array, allowed: float, spare: tuple[Support, ...] = ()
) -> Repair | None:
    """Multipliers near those given that prove a bound for all x, and what they prove; None if none were found.

    At most about `allowed` is given up. `spare` are atoms without weight that may be used as well.
    """
    dual = _used(program, dual)
    wide = _Wide(program, dual, spare)
    rows = (
        wide.part if wide.needed else DualRows.of(program, dual.support)
    )  # where others are needed, all are read at once
    found = _as_it_is(c, rows, dual, centre)
    if found is None:
        return None
    paid = _paid(rows, c, dual, found, centre)
    moved = bool((paid != centre).any())
    found = (_as_it_is(c, rows, dual, paid) or found) if moved else found
    better = _searched(program, c, dual, rows, found, paid, allowed, wide)
    if better is None or not float(better[1].charge.sum()) <= allowed:
        heavy, light = _by_weight(dual)
        if light:  # which leave rounding in columns that nothing else would have to balance
            better = _best(better, balanced(program, c, heavy, centre, allowed, (*spare, *light)))
    if better is None or (better[1].stands_for(better[0]) and not moved):
        return better
    stored = better[0] if better[1].stands_for(better[0]) else better[0].reweighted(centres(better[1].weight))
    around = lagrangian_bound(c, DualRows.of(program, stored.support), stored, centre)
    return None if around is None or not around.stands_for(stored) else (stored, around)


def rebalanced(program: Program, c: Array, dual: Dual, centre: Array, allowed: float) -> Repair | None:
    """Multipliers near those given that prove a bound with the basis that they came with; None if that costs too much.

    It is the basis of an earlier proof, about a program whose numbers were a little different.
    """
    atoms = settled(program, dual.support)
    if len(atoms) < len(dual.support):
        return None
    rows = DualRows.of(program, atoms)
    usable = replace(dual, support=atoms, row_multipliers=program.admissible(dual.row_multipliers))
    made = _corrected(c, rows, usable)
    found = None if made is None else lagrangian_bound(c, rows, made, centre)
    if made is None or found is None or not found.stands_for(made) or not float(found.charge.sum()) <= allowed:
        return None
    return made, found


def _as_it_is(c: Array, rows: DualRows, dual: Dual, centre: Array) -> LagrangianBound | None:
    """What a dual proves as it is; where that is nothing, which floats can tell, only about how it weighs."""
    if rows.cones is None:
        weight = Interval(dual.weights, dual.weights)
        if not rows.usable(weight):
            return None
        middle, room = c + rows.mid.T @ weight.lo, EPS * (rows.size.T @ np.abs(weight.lo))
        reduced = Interval(middle - room, middle + room)
        charge = charges(*rows.bounds, reduced, centre)
        if not np.isfinite(charge).all():
            side = np.where(weight.lo < 0, rows.below.lo, rows.above.hi)
            slack = np.where(weight.lo != 0, weight.lo * (side - rows.mid @ centre), 0.0)
            return LagrangianBound(float(c @ centre - slack.sum()), reduced, charge, weight)
    return lagrangian_bound(c, rows, dual, centre)


def _searched(
    program: Program,
    c: Array,
    dual: Dual,
    rows: DualRows,
    found: LagrangianBound,
    centre: Array,
    allowed: float,
    wide: _Wide,
) -> Repair | None:
    """The first proposal that costs no more than is allowed, or the best of all."""
    best = (dual, found) if np.isfinite(found.lower) else None
    loose = loose_columns(found, allowed)
    if not loose.any():
        return dual, found
    try:
        for candidate, weighed in _tried(program, c, dual, rows, found, centre, loose, wide):
            if np.isfinite(weighed.lower) and (best is None or weighed.lower > best[1].lower):
                best = candidate, weighed
            # What rounding takes from a bound, no other proposal gives back.
            lost = max(allowed, ROUNDING * weighed.size)
            if float(weighed.charge.sum()) <= allowed and weighed.lower >= found.base - lost:
                return candidate, weighed
        best = _best(best, _exactly(program, c, dual, rows, centre, loose, wide))
        return best or _at_centres(program, c, dual, centre, loose, wide)
    except OutOfTime:  # what was found before counts
        return best


def _best(*found: Repair | None) -> Repair | None:
    """What proves most; None if nothing proves anything."""
    known = [pair for pair in found if pair is not None and np.isfinite(pair[1].lower)]
    return max(known, key=lambda pair: pair[1].lower, default=None)


def _exactly(
    program: Program, c: Array, dual: Dual, rows: DualRows, centre: Array, loose: Mask, wide: _Wide
) -> Repair | None:
    """The best of the first few proposals, with multipliers in rational numbers, where rows are known so."""
    ends = _at_end(program, centre, NEAR_ENDS[0])
    first = islice(_proposals(program, c, dual, rows, centre, loose, ends, wide), 2)
    weighed = [(each, lagrangian_bound(c, its_rows, each, centre)) for each, its_rows in first]
    return _best(*((each, found) for each, found in weighed if found is not None))


def _at_centres(program: Program, c: Array, dual: Dual, centre: Array, loose: Mask, wide: _Wide) -> Repair | None:
    """The dual with atoms merged that stand for one, and what that proves."""
    made = merged(program, c, dual, wide.spare, np.flatnonzero(loose))
    if made is None:
        return None
    made, its_rows = _trimmed(made, DualRows.of(program, made.support), made.basis)
    return _best((made, found)) if (found := lagrangian_bound(c, its_rows, made, centre)) is not None else None


def _tried(
    program: Program,
    c: Array,
    dual: Dual,
    rows: DualRows,
    found: LagrangianBound,
    centre: Array,
    loose: Mask,
    wide: _Wide,
) -> Iterator[Repair]:
    """All proposals whose multipliers exist, and what they prove."""
    if rows.cones is not None:
        dual = _levelled(c, rows, dual, np.flatnonzero(~np.isfinite(found.charge)))
    for near in cycle(NEAR_ENDS):  # until no columns join any more
        before, ends, again = loose.copy(), _at_end(program, centre, near), True
        while again:
            again = False
            for candidate, its_rows in _proposals(program, c, dual, rows, centre, loose, ends, wide):
                check("lower bound")
                corrected = _corrected(c, its_rows, candidate)
                weighed = None if corrected is None else lagrangian_bound(c, its_rows, corrected, centre, exactly=False)
                if corrected is None or weighed is None:
                    continue
                yield corrected, weighed
                # Corrections in some columns leave something over in others, which have to be balanced too then: at
                # once, where there are multipliers enough, and blocks are small.
                more = ~np.isfinite(weighed.charge) & ~loose
                loose |= more
                enough = len(candidate.basis) < loose.sum() <= np.count_nonzero(dual.weights)
                again = bool(more.any() and enough and not is_sparse(rows.mid))
                if again:
                    break
        if (loose == before).all() and near == NEAR_ENDS[-1]:
            break


def _corrected(c: Array, rows: DualRows, dual: Dual) -> Dual | None:
    """The dual with multipliers of the basis that balance as well as floats can; None if some have the wrong sign."""
    if not len(dual.basis):
        return dual
    weights = dual.weights
    left = exact_sums(c[dual.balanced], rows.mid[:, dual.balanced].T, weights)
    block = rows.mid[dual.basis][:, dual.balanced].T
    try:
        if is_sparse(block):
            afford_factors(block)
            step = splu(sparse.csc_matrix(block)).solve(-left.lo)
        else:
            step = np.linalg.solve(block, -left.lo)
    except (RuntimeError, np.linalg.LinAlgError):
        return None
    moved = weights.copy()
    moved[dual.basis] += step
    fits = np.isfinite(moved).all() and (rows.sided(moved) == moved).all() and (moved[: rows.atoms] >= 0).all()
    return dual.reweighted(moved) if fits else None


def _used(program: Program, dual: Dual) -> Dual:
    """Atoms of positive weight that are proven to lie in Y, multipliers of sides that exist."""
    atoms = settled(program, (s for s in dual.support if s.multiplier > 0))
    mu = dual.row_multipliers if len(dual.row_multipliers) else np.zeros(program.finite_rows)
    return Dual(atoms, program.admissible(mu))


def _by_weight(dual: Dual) -> tuple[Dual, tuple[Support, ...]]:
    """The dual without atoms that hardly weigh anything beside the heaviest, and these."""
    least = WEIGHING.likely * float(np.abs(dual.weights).max(initial=0.0))
    light = tuple(s for s in dual.support if s.multiplier <= least)
    return replace(dual, support=tuple(s for s in dual.support if s.multiplier > least)), light


def _paid(rows: DualRows, c: Array, dual: Dual, found: LagrangianBound, centre: Array) -> Array:
    """The centre with variables moved to the bounds that pay for what is left over and is no rounding.

    The bound stays what it is; but what is charged in these columns could not be balanced away.
    """
    terms = np.abs(c) + abs(rows.mid).T @ np.abs(dual.weights)
    lower, upper = rows.bounds
    up_there = (found.reduced.hi < -WEIGHING.slope * terms) & np.isfinite(upper)
    down_there = (found.reduced.lo > WEIGHING.slope * terms) & np.isfinite(lower)
    return np.where(up_there, upper, np.where(down_there, lower, centre))


def _levelled(c: Array, rows: DualRows, dual: Dual, columns: Ints) -> Dual:
    """Multipliers moved in proportion to their room, until nothing but rounding is left over in these columns.

    Interior-point solvers leave 1e-10 or so, which one basis could seldom take up within its cones.
    """
    turned = rows.mid[:, columns].T
    turned = sparse.csr_matrix(turned) if is_sparse(turned) else turned
    for _ in range(2 if len(columns) else 0):  # each time leaves over only what its own rounding adds
        weights = dual.weights
        room = rows.room(weights)
        room = filled(abs(rows.mid[:, columns]), room, rows.equal)
        left = exact_sums(c[columns], turned, weights)
        step = _least_norm(turned, room, -0.5 * (left.lo + left.hi))
        if step is None or not rows.usable(Interval(weights + room * step, weights + room * step)):
            return dual
        dual = dual.reweighted(weights + room * step)
    return dual


def _least_norm(matrix: Matrix, room: Array, target: Array) -> Array | None:
    """The shortest u with `matrix` (room u) = target, nearly; None if there is none that can be computed."""
    if not is_sparse(matrix):
        moving = matrix * room
        scale = np.abs(moving).max(axis=1)
        scale = np.where(scale > 0, scale, 1.0)
        with np.errstate(all="ignore"):
            moving, target = moving / scale[:, None], target / scale
        if not (np.isfinite(moving).all() and np.isfinite(target).all()):
            return None
        try:
            step: Array = np.linalg.lstsq(moving, target, rcond=ROUNDING)[0]
        except np.linalg.LinAlgError:
            return None
        return step if np.isfinite(step).all() else None
    moving = sparse.csr_matrix(matrix @ sparse.diags_array(room))
    scale = abs(moving).max(axis=1).toarray().ravel()
    scale = np.where(scale > 0, scale, 1.0)
    moving = sparse.diags_array(1 / scale) @ moving
    m, k = moving.shape
    system = sparse.block_array([[sparse.eye_array(k), moving.T], [moving, -ROUNDING * sparse.eye_array(m)]])
    afford_factors(system)
    try:
        found = splu(sparse.csc_matrix(system)).solve(np.concatenate([np.zeros(k), target / scale]))[:k]
    except RuntimeError:
        return None
    return found if np.isfinite(found).all() else None


def _at_end(program: Program, x: Array, share: float) -> Mask:
    """Which variables sit at a bound, or next to one: their reduced costs need a sign, not a zero."""
    near = share * float(np.abs(x).max(initial=0.0)) + 1e-9 * np.abs(x)
    return (x <= program.lower + near) | (x >= program.upper - near)


def _proposals(
    program: Program, c: Array, dual: Dual, rows: DualRows, centre: Array, loose: Mask, ends: Mask, others: _Wide
) -> Iterator[tuple[Dual, DualRows]]:
    """The rows that have weight, and others, with more and more weight given to them; first what is likely to do."""
    inner, outer = np.flatnonzero(loose & ~ends), np.flatnonzero(loose & ends)
    own, wider = _own(dual, rows, inner, outer), _wider(program, c, centre, loose, inner, outer, others)
    scarce = others.needed or np.count_nonzero(dual.weights) < len(inner)
    yield from chain(wider, own) if scarce else chain(own, wider)


def _own(dual: Dual, rows: DualRows, inner: Ints, outer: Ints) -> Iterator[tuple[Dual, DualRows]]:
    """Bases of the rows that have weight."""
    loose = np.sort(np.concatenate([inner, outer]))
    for strong, appeal in strong_rows(rows, rows.room(dual.weights), loose):
        for columns in (loose, inner) if len(outer) and strong.sum() >= len(loose) else (inner,):
            basis, balance = square(rows, columns, strong, appeal)
            if len(basis):
                yield replace(dual, balanced=balance, basis=basis), rows


def _wider(
    program: Program, c: Array, centre: Array, loose: Mask, inner: Ints, outer: Ints, others: _Wide
) -> Iterator[tuple[Dual, DualRows]]:
    """Bases that take rows without weight, which is given to them."""
    wide, every = others.dual, others.rows
    if len(every.implied[2]):
        yield _trimmed(wide, every, every.implied[2])
    room = every.room(wide.weights)
    total = float((np.abs(wide.weights) * every.norms).sum())
    free = np.isinf(program.lower) & np.isinf(program.upper)
    sided = np.flatnonzero(loose & free), np.flatnonzero(loose & ~free)  # where a sign is enough, if zero is too much
    for zero, signed in ((inner, outer), sided) if len(sided[0]) < len(inner) else ((inner, outer),):
        basis, balance = square(every, zero, ~every.conic | (room > 0), appeal_of(every, room, centre))
        pushes = pushes_of(program, centre, signed)
        held = np.flatnonzero(~loose & vanishing_columns(every, c, wide.weights))
        way = direction(every, wide.weights, basis, balance, pushes, held, centre)
        moved = [wide.weights + step * total * way for step in TUNING.steps] if way is not None else []
        if len(signed) and (c[signed] * pushes[1] > 0).all():  # without multipliers, the objective pays for itself
            least = _least_share(every, c, wide.weights, signed, pushes[1])
            moved += [(1 - share) * wide.weights for share in (least, 2 * least)]
        for weights in moved:
            dual = wide.reweighted(every.sided(weights))
            yield _trimmed(replace(dual, balanced=balance, basis=basis), every, basis)


def _least_share(rows: DualRows, c: Array, weights: Array, columns: Ints, sign: Array) -> float:
    """The share of all weights to give up so that reduced costs have their sign, which the costs have.

    Without a share s, a reduced cost -d becomes (1 - s) (-d) + s |c|, so that s = d / (|c| + d) makes it zero.
    """
    reduced = rows.combined(c, Interval(weights, weights))
    wrong = np.where(sign > 0, -reduced.lo[columns], reduced.hi[columns])
    terms = np.abs(c[columns]) + (rows.size.T @ np.abs(weights))[columns]
    wrong = np.maximum(wrong + 4 * EPS * terms, 0.0)  # what rounding of the smaller weights may add
    return float((wrong / (np.abs(c[columns]) + wrong)).max())


@dataclass(frozen=True, eq=False)
class _Wide:
    """A dual with spare atoms behind its own, read when they are first needed."""

    program: Program
    narrow: Dual
    spare: tuple[Support, ...]

    @cached_property
    def needed(self) -> bool:
        """Whether the dual has fewer multipliers than there are columns that have to balance."""
        free = int((np.isinf(self.program.lower) & np.isinf(self.program.upper)).sum())
        return len(self.narrow.support) + int((self.narrow.row_multipliers != 0).sum()) < free

    @cached_property
    def dual(self) -> Dual:
        fresh = settled(self.program, self._fresh())
        return replace(self.narrow, support=(*self.narrow.support, *fresh))

    @cached_property
    def rows(self) -> DualRows:
        return DualRows.of(self.program, self.dual.support)

    @property
    def part(self) -> DualRows:
        """The rows of the dual itself."""
        return self.rows.only(np.arange(self.rows.atoms) < len(self.narrow.support))

    def _fresh(self) -> list[Support]:
        """Spare atoms that are not in the support already: the newest, and some of all ages."""
        known = {s.place for s in self.narrow.support}
        fresh: dict[Any, Support] = {}
        for s in self.spare:
            if s.place not in known:
                fresh.setdefault(s.place, s)
        found, most = list(fresh.values()), 20 + 3 * self.program.n  # the spare ones that are looked at
        old = found[:-most]
        chosen = old[:: max(len(old) // most, 1)] + found[-most:]
        return [s.weighing(0.0) for s in chosen]


def _trimmed(dual: Dual, rows: DualRows, needed: Ints) -> tuple[Dual, DualRows]:
    """The dual, and its rows, without atoms that have no weight and are not needed otherwise."""
    k = len(dual.support)
    keep = np.array([s.multiplier > 0 for s in dual.support], dtype=bool)
    keep[needed[needed < k]] = True
    place = np.concatenate([np.cumsum(keep) - 1, keep.sum() + np.arange(len(dual.row_multipliers))])
    atoms = tuple(s for s, kept in zip(dual.support, keep, strict=True) if kept)
    return replace(dual, support=atoms, basis=place[dual.basis]), rows.only(keep)
