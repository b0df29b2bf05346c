"""Convex constraints and objectives as affine rows.

Few directions become a row each. Many of a finite constraint take epigraph variables, which nobody sees. Those of a
constraint for all y, of norms and of semidefinite matrices are a further index, of which the worst is known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from ..domains import Box, Product
from ..errors import ModelError, NotConvexError
from ..legible import legible_repr
from ..validation import Array
from .affine import Affine, Constraint, Read, Variable, linear_rule
from .convex import Atoms, Convex, add, few_directions, negative, rows_of, subtract
from .directions import Definite, DirectionBlock, WorstDirection
from .graph import Constant, Expression, Index
from .operands import Ints
from .operators import FUNCTION_RULES
from .printing import text
from .squares import RotatedCone, SumOfSquares, rotated


class Epigraph(Variable):
    """A variable that stands for a convex part, and is not shown."""

    hidden = True


class Height(Affine):
    """The epigraph variable of an objective, as the objective that it stands for.

    Parameters
    ----------
    given
        What was to be minimised or maximised.
    over
        The indices whose worst value counts.
    """

    def __init__(self, given: Affine | Convex, over: tuple[Index, ...] = ()) -> None:
        self.variable, self.given, self.over = Epigraph(()), given, over
        super().__init__((), self.variable.terms)
        self.origin = given.origin


@legible_repr
@dataclass(frozen=True, eq=False)
class ConvexConstraint(Constraint):
    """A convex array <= 0, and the affine rows that it means."""

    convex: Convex | None = None  # what is <= 0
    elements: Ints | None = None  # (rows,), the element that each row is about; -1 for what bounds an epigraph variable
    worst: WorstDirection | None = None  # where rows are for all directions
    entries: Affine | None = None  # of `worst`

    @property
    def shape(self) -> tuple[int, ...]:
        return self.written.shape

    @property
    def written(self) -> Convex:
        """What is <= 0, as it was written."""
        assert self.convex is not None
        return self.convex

    @property
    def indices(self) -> tuple[Index, ...]:
        return self.written.indices()

    @property
    def directions(self) -> tuple[Index, ...]:
        return () if self.worst is None else (self.worst.index,)

    def violation(self, values: Mapping[Any, Any] | None = None) -> Array | float:
        found: Array | float = np.maximum(self.written.at(values), 0.0)
        return found

    def shared(self, multipliers: Array) -> Array:
        """Multipliers of rows as those of elements: each has as much room on its right as all of its rows."""
        assert self.elements is not None
        total = np.zeros(self.written.size)
        np.add.at(total, self.elements[self.elements >= 0], multipliers[self.elements >= 0])
        return total


def compare_convex(a: Read | Convex, b: Read | Convex, symbol: str, flipped: bool) -> ConvexConstraint:
    """a <= b, where that holds on a convex set."""
    origin = (">" + symbol[1:], b, a) if flipped else (symbol, a, b)
    if symbol == "<":
        raise ModelError(
            f"Strict inequalities have no minimum: write <= or >= in {text(origin)}. A comparison with a variable "
            "cannot be used as a bool: use np.maximum and np.minimum instead of max and min."
        )
    if symbol == "==":
        raise NotConvexError(
            f"{text(origin)} is not convex: a maximum, a norm or an absolute value cannot be in an equality. Write <= "
            "and minimise the larger side, if that is enough."
        )
    return at_most_zero(subtract(a, b), origin)


def at_most_zero(body: Convex, origin: tuple[Any, ...]) -> ConvexConstraint:
    """body <= 0, where that holds on a convex set."""
    ends = body.affine.offset.value if isinstance(body.affine.offset, Constant) else np.zeros(0)
    if (ends == np.inf).any():
        raise ModelError(f"{text(origin)} cannot hold, since no number is infinite.")
    if any((atoms.signs < 0).any() for atoms in body.atoms):
        raise NotConvexError(
            f"{text(origin)} is not convex: np.abs, np.maximum, np.max, norms and squares must be on the smaller side, "
            "np.minimum and np.min on the larger side. If you know the sign of the argument, leave out np.abs; "
            "otherwise solve one problem for each sign."
        )
    return lowered(body, origin)


def lowered(body: Convex, origin: tuple[Any, ...]) -> ConvexConstraint:
    """body <= 0 as affine rows."""
    if any(isinstance(a.kind, SumOfSquares) for a in body.atoms):
        return _below_cones(body, origin)
    if few_directions(body):
        rows, elements = rows_of(body)
        return ConvexConstraint(rows, False, origin, convex=body, elements=elements)
    if body.indices() or not all(a.kind.vertices for a in body.atoms):
        return _directed(body, origin)
    rows = _with_epigraphs(body)
    elements = np.where(np.arange(rows.size) < body.size, np.arange(rows.size), -1)
    return ConvexConstraint(rows, False, origin, convex=body, elements=elements)


def _with_epigraphs(body: Convex) -> Affine:
    """Rows <= 0 that say body <= 0, the first of which are its elements, with an epigraph variable for every atom."""
    parts = [body.affine.gather(np.arange(body.size))]
    for a in body.atoms:
        s = Epigraph(len(a.rows))
        parts[0] = linear_rule("add", (parts[0], _collected(s, a.rows, body.size)))
        weights = a.kind.rows(a.q.shape[1])
        each = np.repeat(np.arange(len(a.rows)), len(weights))
        value = linear_rule("multiply", (a.chosen(each, each).q, np.tile(weights, (len(a.rows), 1)))).sum_last()
        parts.append(linear_rule("subtract", (value, s.gather(each))))
    return Affine.join(parts)


def _below_cones(body: Convex, origin: tuple[Any, ...]) -> ConvexConstraint:
    """body <= 0 with sums of squares in it, which are in rotated cones below what is left of their elements.

    Beside other convex pieces, each has an epigraph variable. Under an index there are none, and few other pieces
    become rows, each with all squares of its element.
    """
    squares = [a for a in body.atoms if isinstance(a.kind, SumOfSquares)]
    rest = Convex(body.affine.gather(np.arange(body.size)), (a for a in body.atoms if a not in squares))
    if isinstance(rest.affine.offset, Constant) and np.isinf(rest.affine.offset.value).any():
        raise ModelError(f"{text(origin)} always holds where a side is infinite: leave it out.")
    if rest.atoms and not body.indices():
        return _beside(rest, squares, body, origin)
    if not few_directions(rest):
        raise NotConvexError(
            f"{text(origin)} has squares beside norms, for all {', '.join(i.name for i in body.indices())}.\nWrite a "
            "constraint for the norms below a variable, and one for the squares below what is left."
        )
    rows, elements = rows_of(rest)
    joined, found = _by_row(squares, body.size), []
    plain = np.ones(rows.size, dtype=bool)
    for mine, q in joined:
        at = np.flatnonzero(np.isin(elements, mine))
        plain[at] = False
        r = q.gather(np.searchsorted(mine, elements[at])[:, None] * q.shape[1] + np.arange(q.shape[1]))
        numbers = rotated(r, linear_rule("negative", (rows.gather(at),)))
        found.append(Atoms(RotatedCone(), numbers, at, np.ones(len(at))))
    kept = linear_rule("multiply", (rows, plain.astype(float)))
    return _directed(Convex(kept, found), origin, body, elements)


def _by_row(squares: Sequence[Atoms], size: int) -> list[tuple[Ints, Affine]]:
    """For every number of squares: the elements (E,) that have so many, in order, and what is squared (E, k)."""
    entries = Affine.join([a.q.gather(np.arange(a.q.size)) for a in squares])
    rows = np.concatenate([np.repeat(a.rows, a.q.shape[1]) for a in squares])
    order, counts = np.argsort(rows, kind="stable"), np.bincount(rows, minlength=size)
    starts = np.cumsum(counts) - counts
    found = []
    for k in np.unique(counts[counts > 0]).tolist():
        mine = np.flatnonzero(counts == k)
        found.append((mine, entries.gather(order[starts[mine][:, None] + np.arange(k)])))
    return found


def _beside(rest: Convex, squares: Sequence[Atoms], body: Convex, origin: tuple[Any, ...]) -> ConvexConstraint:
    """Squares below epigraph variables, and other pieces with these variables in their places."""
    affine, cones, start = rest.affine, list[Atoms](), 0
    for mine, q in _by_row(squares, body.size):
        s = Epigraph(len(mine))
        affine = linear_rule("add", (affine, _collected(s, mine, body.size)))
        cones.append(Atoms(RotatedCone(), rotated(q, s), start + np.arange(len(mine)), np.ones(len(mine))))
        start += len(mine)
    rows = _with_epigraphs(Convex(affine, (a for a in rest.atoms if a.kind.vertices)))
    smooth = [a for a in rest.atoms if not a.kind.vertices]
    empty = Affine((start,), ())
    below = [Atoms(a.kind, a.q, a.rows + rows.size, a.signs) for a in cones]
    about = np.concatenate([np.arange(body.size), np.full(rows.size - body.size + start, -1)])
    return _directed(Convex(Affine.join([rows, empty]), (*smooth, *below)), origin, body, about)


def _collected(u: Affine, rows: Ints, size: int) -> Affine:
    """The elements of a vector added up where they belong."""
    ones = sparse.csr_array((np.ones(len(rows)), (rows, np.arange(len(rows)))), shape=(size, len(rows)))
    return linear_rule("matmul", (ones, u))


def _directed(
    body: Convex, origin: tuple[Any, ...], written: Convex | None = None, about: Ints | None = None
) -> ConvexConstraint:
    """body <= 0 as one row an element, for all directions; elements share them, since each holds for all.

    It may say what was `written`, and of which elements of that its own are `about`.
    """
    if isinstance(body.affine.offset, Constant) and np.isinf(body.affine.offset.value).any():
        raise ModelError(f"{text(origin)} always holds where a side is infinite: leave it out.")
    slots = [a.slots(body.size) for a in body.atoms]
    sets = [a.kind.domain(a.q.shape[1]) for a in body.atoms]
    parts = [part for part, slot in zip(sets, slots, strict=True) for _ in range(int(slot.max()) + 1)]
    boxes = all(isinstance(part, Box) for part in parts)
    signs = Box(np.full(len(parts), -1.0), np.ones(len(parts)))  # of absolute values alone
    index = Index("direction", signs if boxes else parts[0] if len(parts) == 1 else Product(*parts))
    rows, blocks, start, entry = body.affine.gather(np.arange(body.size)), [], 0, body.size
    for a, slot, part in zip(body.atoms, slots, sets, strict=True):
        count, width = int(slot.max()) + 1, a.q.shape[1]
        each = [a.kind.weights(index[start + j * part.dim : start + (j + 1) * part.dim]) for j in range(count)]
        weights = FUNCTION_RULES[np.stack](each)[slot]
        rows = linear_rule(
            "add", (rows, _collected(linear_rule("multiply", (a.q, weights)).sum_last(), a.rows, body.size))
        )
        places = start + slot[:, None] * part.dim + np.arange(part.dim)
        blocks.append(DirectionBlock(a.kind, a.rows, entry + np.arange(a.q.size).reshape(-1, width), places))
        start, entry = start + count * part.dim, entry + a.q.size
    worst = WorstDirection(index, np.arange(body.size), tuple(blocks))
    entries = Affine.join([p.gather(np.arange(p.size)) for p in body.parts])
    elements = np.arange(body.size) if about is None else about
    said = body if written is None else written
    return ConvexConstraint(rows, False, origin, convex=said, elements=elements, worst=worst, entries=entries)


def psd(matrix: Affine | Expression | Array | Sequence[object]) -> ConvexConstraint:
    """The constraint that a symmetric matrix, affine in the variables, has no negative eigenvalue.

    With an index in it, `lsip.forall(y, lsip.psd(M))` says so for all y.

    Examples
    --------
    >>> import numpy as np, lsip
    >>> x, t = lsip.Variable(name="x"), lsip.Index("t", lsip.Interval(-1, 1))
    >>> M = np.stack([np.stack([x, t]), np.stack([t, 2.0])])
    >>> solution = lsip.Problem(lsip.minimize(x), [lsip.forall(t, lsip.psd(M))]).solve(verbose=False)
    >>> round(solution.value, 6), solution.certified
    (0.5, True)
    """
    m = matrix if isinstance(matrix, Affine) else Affine.of(matrix)
    if m.ndim != 2 or m.shape[0] != m.shape[1]:
        raise ModelError(f"lsip.psd takes a square matrix; got {m} of shape {m.shape}.")
    if not m.terms:
        raise ModelError(f"{m} has no decision variable in it, so there is nothing to constrain.")
    if isinstance(m, Variable) and m.size > 1:
        raise ModelError(
            f"{m.name} is not symmetric.\nDeclare it as lsip.Variable({m.shape}, symmetric=True, name={m.name!r})."
        )
    q = linear_rule("negative", (m,)).gather(np.arange(m.size)[None, :])
    body = Convex(Affine((), ()), (Atoms(Definite(), q, np.zeros(1, dtype=np.intp), np.ones(1)),))
    return _directed(body, ("psd", m))


def convex_objective(u: Convex, maximise: bool, over: tuple[Index, ...]) -> tuple[Height, ConvexConstraint]:
    """A convex objective as an epigraph variable, and the constraint that bounds it, which reads as the objective."""
    goal = Height(u, over)
    word = "maximize" if maximise else "minimize"
    signs = [a.signs for a in u.atoms]
    if any(((s > 0) if maximise else (s < 0)).any() for s in signs):
        raise NotConvexError(
            f"{word} {u} is not convex: np.abs, np.maximum, np.max, norms and squares can be minimised, np.minimum and "
            "np.min maximised. If you know the sign of the argument, leave out np.abs."
        )
    t = goal.variable
    body = add(t, negative(u)) if maximise else add(u, linear_rule("negative", (t,)))
    return goal, lowered(body, u.origin)


def enclosed_objective(u: Affine, maximise: bool) -> tuple[Height, Constraint]:
    """An objective with numbers that are enclosed as an epigraph variable, and the constraint that bounds it."""
    goal = Height(u)
    one = u.reshape(())
    row: Constraint = goal.variable <= one if maximise else one <= goal.variable
    return goal, row.named("objective")
