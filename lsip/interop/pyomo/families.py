"""The families of rows that a solver sees: formulas together, index set by index set, and black boxes one by one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ...expressions.affine import Affine, Constraint, Term, Variable
from ...expressions.folds import unfolded_body
from ...expressions.graph import Constant, Expression, Index
from ...model.black_box_rows import BlackBoxRows
from ...model.constraints import minimize
from ...model.families import RowFamily
from ...model.identities import matched
from ...model.legend import Legend
from ...model.problem import Problem
from ...model.statements import ForAll
from .basis import Basis
from .columns import Columns
from .continuum import ContinuumPiece
from .evaluation import Numbers, numbers
from .tracing import TracedFormula, check_points

Array = NDArray[np.float64]
UPPER, LOWER = 1, -1  # the signs of a row's sides


class RowSource(Protocol):
    """Where rows come from: a component of a model, for all values of what it depends on."""

    @property
    def name(self) -> str:
        """How it is called in messages."""

    @property
    def component(self) -> Any:
        """What Pyomo knows it as."""

    def key(self, point: Sequence[float]) -> Any:
        """What Pyomo's users call a point of the index set."""

    def built(self) -> list[tuple[Any, Any]]:
        """Indices at which Pyomo has built the component, with what it has there."""

    def extend(self, point: Array) -> None:
        """Make a point one of those."""


@dataclass(frozen=True, eq=False)
class Owner:
    """Which side of which piece a row of a family is."""

    piece: RowSource
    side: int  # UPPER for body <= upper, LOWER for lower <= body

    def label(self, both: bool) -> str:
        """How the row is called, with its side if the piece has `both`."""
        return f"{self.piece.name}, {'upper' if self.side == UPPER else 'lower'} side" if both else self.piece.name


def declared(
    formulas: list[tuple[RowSource, TracedFormula]], n: int, bent: bool
) -> list[tuple[Any, tuple[Owner, ...]]]:
    """Families of formulas, with the owner of every row; constraints over the same indices share one.

    Where rules are `bent`, those with such are over indices with their parts.
    """
    groups: dict[tuple[tuple[Index, ...], bool], list[_Line]] = {}
    for piece, formula in formulas:
        groups.setdefault((formula.indices, bent and formula.in_pieces), []).extend(_lines(piece, formula))
    if not groups:
        return []
    x = Variable(n, name="x")
    bodies = [unfolded_body(i, _affine(x, lines), "A constraint") for (i, _), lines in groups.items()]
    rows = [ForAll(i, Constraint(body, False, ("name", "rows"))) for i, body in bodies]
    found: list[tuple[Any, tuple[Owner, ...]]] = []
    compiled: tuple[Any, ...] = Problem(minimize(x[0]), rows).compile().families
    for family, lines in zip(compiled, groups.values(), strict=True):
        name = "; ".join(dict.fromkeys(line.owner.piece.component.name for line in lines))
        known = family.legend
        legend = Legend(name, tuple(line.label for line in lines), known.coordinates, known.indices, known.shown)
        named = replace(family, source=family.source.changed(legend=legend))
        found.append((named, tuple(line.owner for line in lines)))
    return found


@dataclass(frozen=True, eq=False)
class _Line:
    """coefficients . x + offset <= 0, for every index."""

    owner: Owner
    label: str
    coefficients: dict[int, Any]
    offset: Any


def _lines(piece: RowSource, formula: TracedFormula) -> list[_Line]:
    """body - upper <= 0 and lower - body <= 0, as far as there are such sides."""
    body, found = formula.body, []
    both = formula.upper is not None and formula.lower is not None
    if formula.upper is not None:
        owner = Owner(piece, UPPER)
        found.append(_Line(owner, owner.label(both), body.coefficients, body.offset - formula.upper))
    if formula.lower is not None:
        owner = Owner(piece, LOWER)
        negated = {j: -a for j, a in body.coefficients.items()}
        found.append(_Line(owner, owner.label(both), negated, formula.lower - body.offset))
    return found


def _affine(x: Variable, lines: list[_Line]) -> Affine:
    """All lines of a group as one vector; a line whose variables are all fixed has the coefficient 0 somewhere."""
    basis, rows, columns, weights = Basis(), [], [], []
    for i, line in enumerate(lines):
        for j, a in (line.coefficients or {0: 0.0}).items():
            rows.append(i)
            columns.append(j)
            weights.append(basis.weights(a))
    offsets = [basis.weights(line.offset) for line in lines]
    term = Term(x, np.array(rows, dtype=np.intp), np.array(columns, dtype=np.intp), basis.combine(weights))
    return Affine((len(lines),), (term,), basis.combine(offsets))


def identity(place: RowSource, formula: TracedFormula, n: int) -> list[tuple[dict[int, float], float]]:
    """An equality for all indices as those of coefficients: rows over n columns, and their right-hand sides."""
    offset = formula.body.offset - formula.upper
    line = _Line(Owner(place, UPPER), place.name, formula.body.coefficients, offset)
    indices, body = unfolded_body(formula.indices, _affine(Variable(n, name="x"), [line]), place.name)
    found = matched(indices, Constraint(body, True, ("name", place.name)), {}).body
    rows = [(dict[int, float](), -side) for side in np.broadcast_to(_known(found.offset), found.shape).tolist()]
    for term in found.terms:
        for i, j, value in zip(term.rows.tolist(), term.columns.tolist(), _known(term.coefficient), strict=True):
            rows[i][0][j] = rows[i][0].get(j, 0.0) + float(value)
    return rows


def _known(formula: Expression) -> Array:
    """The numbers of what depends on no index."""
    assert isinstance(formula, Constant)
    return np.asarray(formula.value)


class Incomplete(Exception):  # noqa: N818 - a signal to compile again, never shown
    """A rule used a variable, or gave a side, that it had not at any point before."""


@dataclass(eq=False)
class BlackBox:
    """A rule that is asked for numbers, once a point."""

    piece: ContinuumPiece
    columns: Columns
    reason: str
    known: dict[bytes, Numbers | None] = field(default_factory=dict)
    used: dict[int, None] = field(default_factory=dict)  # columns
    sides: dict[int, None] = field(default_factory=dict)
    compiled: bool = False

    def __post_init__(self) -> None:
        for point in check_points(self.piece):
            self.at(point)

    def at(self, point: Array) -> Numbers | None:
        """The row at a point; `Incomplete` if it does not fit into what was compiled."""
        place = point.tobytes()
        if place in self.known:
            return self.known[place]
        row = self.known[place] = numbers(self.piece, point, self.columns)
        if row is not None:
            before = len(self.used), len(self.sides)
            self.used.update(dict.fromkeys(row.coefficients))
            sides = ((UPPER, row.upper), (LOWER, row.lower))
            self.sides.update({side: None for side, bound in sides if np.isfinite(bound)})
            if self.compiled and before != (len(self.used), len(self.sides)):
                raise Incomplete
        return row

    def families(self) -> list[tuple[Any, tuple[Owner, ...]]]:
        """One family a side, over the columns that the rule has used so far."""
        self.compiled = True
        used = np.array([*self.used] or [0], dtype=np.intp)
        found: list[tuple[Any, tuple[Owner, ...]]] = []
        for side in self.sides:
            owner = Owner(self.piece, side)
            name = owner.label(len(self.sides) > 1)
            a, b = self._functions(side, used)
            legend = Legend(name, (name,), self.piece.coordinates)
            rows = BlackBoxRows(legend, self.piece.domain, a, b, len(used), None)
            found.append((RowFamily(rows, used[None, :]), (owner,)))
        return found

    def _functions(
        self, side: int, used: NDArray[np.intp], free: float = 1.0
    ) -> tuple[Callable[[Array], Array], Callable[[Array], Array]]:
        """Coefficients and right-hand sides of side (body - bound) <= 0 at points; 0 <= free where a rule skips."""
        place = {int(j): k for k, j in enumerate(used)}

        def bound(row: Numbers | None) -> float:
            found = np.inf if row is None else side * (row.upper if side == UPPER else row.lower)
            return found if np.isfinite(found) else free

        def coefficients(row: Numbers | None) -> Array:
            out = np.zeros(len(used))
            if row is not None and np.isfinite(row.upper if side == UPPER else row.lower):
                for j, v in row.coefficients.items():
                    out[place[j]] = side * v
            return out

        return (
            lambda y: np.array([coefficients(self.at(p)) for p in y]),
            lambda y: np.array([bound(self.at(p)) for p in y]),
        )
