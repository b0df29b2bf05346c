"""Indices together with their parts above breakpoints, for rules in pieces.

Such a rule is affine in these parts. `forall` puts the index with its parts in the place of the index, wherever a
constraint has a rule in pieces; over a box that is the same constraint, over other sets it is a stronger one.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from operator import index as whole
from weakref import ref

import numpy as np

from ..domains.folded import Breaks, bent, folded
from ..errors import ModelError
from ..lifetime import departing
from ..validation import Array, Data, fits, numbers, shown
from .affine import Affine, Constraint
from .arrangements import Gather, Join
from .graph import Expression, Index, as_expression
from .operands import Ints
from .substitution import substituted

Pieces = int | Data


class Folded(Index):
    """An index z, followed by the parts of its entries above their breakpoints."""

    def __init__(self, of: Index, breaks: Breaks) -> None:
        self.of, self.breaks = of, breaks
        super().__init__(of.name, folded(of.domain, breaks))

    @property
    def declared(self) -> Index:
        return self.of

    @property
    def data(self) -> Expression:
        """The index itself, in its shape."""
        return Gather(self, np.arange(self.of.domain.dim).reshape(self.of.shape))

    @property
    def spelled(self) -> Expression:
        """All of its coordinates as formulas in the index itself."""
        z = self.of if self.of.shape else self.of.reshape(1)
        each = [(z[j], *ends) for j in range(len(self.breaks)) for ends in self.limits(j)]
        return Join((z, *(as_expression(np.clip(entry, a, b)) - a for entry, a, b in each)))

    def parts(self, entry: int) -> Ints:
        """Where the parts of an entry stand."""
        start = self.of.domain.dim + sum(map(len, self.breaks[:entry]))
        return np.arange(start, start + len(self.breaks[entry]))

    def part(self, place: int) -> Expression:
        """One of the parts, which stands there, as a number."""
        return Gather(self, np.array(place))

    def limits(self, entry: int) -> list[tuple[float, float]]:
        """Between which numbers the parts of an entry lie."""
        ends = (*self.breaks[entry], float(self.of.domain.upper[entry]))
        return list(pairwise(ends))


_known: dict[tuple[int, Breaks], ref[Folded]] = {}  # each holds its index


def fold(index: Index, breaks: Breaks) -> Folded:
    """The index with its parts, the same for the same breakpoints."""
    key = (id(index), breaks)
    known = _known.get(key)
    found = known() if known is not None else None
    if found is None:
        found = Folded(index, breaks)
        _known[key] = departing(found, _known, key)
    return found


def is_affine(pieces: Pieces) -> bool:
    """Whether there is one piece only; a ModelError where it is not a number of them, nor breakpoints."""
    count = _count(pieces)
    given = numbers(pieces, "`pieces` of a rule") if count is None else np.zeros(0)
    if count is None and given.ndim == 1 and len(given) and (np.diff(given) > 0).all():
        return False
    if isinstance(pieces, bool | np.bool_) or count is None or count < 1:
        raise ModelError(
            "`pieces` of a rule is how many there are in every entry, 1 for an affine rule, or a list of the points "
            f"where they meet, each more than the one before; got {shown(pieces)}."
        )
    return count == 1


def _count(pieces: Pieces) -> int | None:
    """How many pieces there are, where it is that which is given."""
    try:
        count = whole(pieces)  # type: ignore[arg-type]
    except TypeError:
        return None
    fits("Where pieces of a rule meet", count, most=10**6)
    return count


def breaks_of(index: Index, pieces: Pieces, origin: Array | float = 0.0, scale: Array | float = 1.0) -> Breaks:
    """The breakpoints inside the range of every entry. Those of a budget have 0 among them.

    Points where pieces meet are those of `origin` + `scale` z, entry by entry.
    """
    lower, upper = index.domain.lower, index.domain.upper
    if not index.domain.bounded:
        raise ModelError(
            f"Rules in pieces are of data in a bounded set; got {index.domain}. Take one that holds all of it, or let "
            "there be one piece."
        )
    count = _count(pieces)
    if count is None:
        given = numbers(pieces, "`pieces` of a rule").ravel()
        each = [np.unique(column) for column in ((given[:, None] - origin + 0 * lower) / scale).T]
    else:
        shares = np.arange(1, count) / count
        each = [a + (b - a) * shares for a, b in zip(lower, upper, strict=True)]
    for j in bent(index.domain):
        each[j] = np.union1d(each[j], [0.0])
    return tuple(
        tuple(p for p in points.tolist() if a < p < b) for points, a, b in zip(each, lower, upper, strict=True)
    )


def refuse_outside(pieces: Pieces, names: str, lower: Array, upper: Array) -> None:
    """A ModelError for points that lie in no range from `lower` to `upper`, those of entries of what is so called."""
    if _count(pieces) is not None:
        return
    for point in numbers(pieces, "`pieces` of a rule").tolist():
        if not ((lower < point) & (point < upper)).any():
            raise ModelError(
                f"No entry of {names} has its range around the point {point:.6g} of `pieces`: they range from "
                f"{lower.min():.6g} to {upper.max():.6g}. Leave it out, or choose a point within."
            )


def unfolded(indices: tuple[Index, ...], constraint: Constraint) -> tuple[tuple[Index, ...], Constraint]:
    """A constraint that has rules in pieces, for all indices with their parts; any other as it is."""
    folds = _folds(indices, constraint.indices, constraint)
    if not folds:
        return indices, constraint
    if type(constraint) is not Constraint:
        raise ModelError(f"{constraint} is convex, and has a rule in pieces: only affine constraints take those.")
    return _with_parts(indices, folds), replace(constraint, body=_in_parts(constraint.body, folds))


def unfolded_body(indices: tuple[Index, ...], body: Affine, name: str) -> tuple[tuple[Index, ...], Affine]:
    """The same for the body of a constraint, which messages call by its name."""
    folds = _folds(indices, body.indices(), name)
    return _with_parts(indices, folds), _in_parts(body, folds)


def _folds(indices: tuple[Index, ...], present: tuple[Index, ...], what: object) -> dict[int, Folded]:
    """What rules in pieces see of the indices, by the id of each; a ModelError if two see different parts of one."""
    folds: dict[int, Folded] = {}
    for found in present:
        if not isinstance(found, Folded) or all(found.of is not i for i in indices):
            continue
        other = folds.setdefault(id(found.of), found)
        if other is not found:
            raise ModelError(
                f"{what} has rules of {found.name} with different pieces. Give all rules in pieces that stand in one "
                "constraint the same `pieces`."
            )
    return folds


def declared_places(indices: tuple[Index, ...]) -> Ints:
    """Which coordinates of all indices are those of the indices as they were declared, which come first in each."""
    starts = np.cumsum([0, *(i.domain.dim for i in indices)]).tolist()
    return np.concatenate([start + np.arange(i.declared.domain.dim) for start, i in zip(starts, indices, strict=False)])


def _with_parts(indices: tuple[Index, ...], folds: dict[int, Folded]) -> tuple[Index, ...]:
    return tuple(folds.get(id(i), i) for i in indices)


def _in_parts(body: Affine, folds: dict[int, Folded]) -> Affine:
    for folded_index in folds.values():
        body = body.substituted({folded_index.of: folded_index.data})
    return body


def written_out(formula: Expression) -> Expression:
    """A formula with others in the index itself in the place of its parts."""
    return substituted(formula, {i: i.spelled for i in formula.indices() if isinstance(i, Folded)})


def spelled(body: Affine) -> Affine:
    """With formulas in the index in the place of its parts: rules in pieces as the functions that they are."""
    for found in body.indices():
        if isinstance(found, Folded):
            body = body.substituted({found: found.spelled})
    return body
