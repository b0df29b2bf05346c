"""From the rule of a constraint to a formula in the index, checked against plain calls of the rule.

A rule is asked once with symbols. If that gives a formula, and if the formula agrees with the rule at a sample of
points, the constraint has derivatives and enclosures as if it had been declared in the language. If not, the reason is
kept in words, and the rule becomes a black box.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import ModelError
from ...expressions.arrangements import Join
from ...expressions.folds import Folded, written_out
from ...expressions.graph import Expression, Index, as_expression
from ...expressions.tape import Tape
from ...model.black_box_rows import COMPARISON
from .columns import Columns
from .comparison import Value
from .continuum import ContinuumPiece
from .evaluation import ConstraintSides, Numbers, first_line, numbers, sides
from .formula import AffineRow, Reader, Untraceable
from .recourse import RecourseFunction

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class TracedFormula:
    """lower <= body <= upper for all indices, in the language; no side at all where the rule skips."""

    indices: tuple[Index, ...]
    body: AffineRow
    lower: Any  # a number, an index expression, or None
    upper: Any

    @property
    def in_pieces(self) -> bool:
        """Whether a rule in it is one in pieces."""
        values = (v for v in self.body.coefficients.values() if isinstance(v, Expression))
        return any(isinstance(node, Folded) for v in values for node in v.indices())


@dataclass(frozen=True, eq=False)
class Symbols:
    """The indices of the language, one for every ContinuousSet; shared, so that constraints share their work."""

    found: dict[tuple[int, int], tuple[Index, Any]]

    def of(self, piece: ContinuumPiece) -> tuple[tuple[Index, ...], tuple[Any, ...]]:
        """The indices of a piece, and what stands for them in its rule."""
        from pyomo.core.expr.template_expr import IndexTemplate

        pairs = []
        for i, (set_, name) in enumerate(zip(piece.sets, piece.coordinates, strict=True)):
            place = (id(set_), sum(other is set_ for other in piece.sets[:i]))
            if place not in self.found:
                domain = ContinuumPiece(piece.component, (set_,), (0,), ((),)).domain
                taken = {index.name for index, _ in self.found.values()}
                name = f"{set_.name}{name.removeprefix(set_.local_name)}" if name in taken else name
                self.found[place] = (Index(name, domain), IndexTemplate(set_))
            pairs.append(self.found[place])
        return tuple(index for index, _ in pairs), tuple(template for _, template in pairs)


def trace(
    piece: ContinuumPiece, columns: Columns, symbols: Symbols, functions: dict[int, RecourseFunction]
) -> TracedFormula | str | None:
    """The formula of a piece, None where its rule always skips, or the reason why it has none."""
    indices, templates = symbols.of(piece)
    leaves: dict[int, Value] = {id(template): index for index, template in zip(indices, templates, strict=True)}
    reader = Reader(columns, leaves, functions)
    try:
        found = sides(piece, templates)
        formula = None if found is None else _formula(found, reader, indices)
    except ModelError:
        raise
    except Untraceable as reason:
        return str(reason)
    except Exception as error:  # Whatever a rule raises on a symbol only says that it needs numbers.
        return _explain(error, piece)
    return _compare(formula, piece, indices, columns, bool(reader.looked_up))


def _formula(found: ConstraintSides, reader: Reader, indices: tuple[Index, ...]) -> TracedFormula:
    lower, upper = (None if side is None else reader.row(side).offset for side in (found.lower, found.upper))
    return TracedFormula(indices, reader.row(found.body), lower, upper)


def _explain(error: Exception, piece: ContinuumPiece) -> str:
    """Why a rule needs numbers."""
    name, text = " or ".join(piece.coordinates), str(error)
    if "Implicit conversion of Pyomo numeric value" in text:
        return f"its rule turns {name} into a plain number (use pyo.sin, pyo.exp, … in place of math.sin, math.exp, …)"
    if "to bool" in text and "non-constant" in text:
        return f"its rule branches on {name} (pyo.Expr_if(condition, a, b) is a formula)"
    if "unhashable type" in text:
        return f"its rule uses {name} as a key"
    return f"its rule needs a number for {name} ({type(error).__name__}: {first_line(error)})"


def check_points(piece: ContinuumPiece, count: int = 8) -> Array:
    """Corners and edges, and at most `count` points each that Pyomo has built already and that are spread evenly."""
    domain = piece.domain
    corners = domain.grid(3 if domain.dim <= 2 else 2) if domain.dim <= 6 else domain.grid(1)
    written = [point for point, _ in piece.written[:count]]
    return np.concatenate([corners, domain.spread(count), np.array(written).reshape(-1, domain.dim)])


def _compare(
    formula: TracedFormula | None, piece: ContinuumPiece, indices: tuple[Index, ...], columns: Columns, looked_up: bool
) -> TracedFormula | str | None:
    """The formula, if plain calls of the rule say the same at every point that is tried; else the difference."""
    points = check_points(piece)
    values, places = _values(formula, indices, points)
    wanted = np.zeros_like(values)
    defined = np.isfinite(values[:, :-2]).all(axis=1) & ~np.isnan(values).any(axis=1)
    used = np.array(defined, dtype=bool)  # the solve will name the other points
    for i in np.flatnonzero(used):
        try:
            row = numbers(piece, points[i], columns)
        except ModelError:
            if not looked_up:  # a Param or an Expression of the model has values only where Pyomo has built them
                raise
            used[i] = False
            continue
        if (row is None) != (formula is None) or (row is not None and not set(row.coefficients) <= set(places)):
            return f"its rule treats a symbol and the number {piece.at(points[i])} differently"
        if row is not None:
            wanted[i] = _aligned(row, places)
    values, wanted = values[used], wanted[used]
    size = np.where(np.isfinite(wanted), np.abs(wanted), 0.0)
    allowed = COMPARISON.agreement * (size + size.max(axis=0, initial=0.0))
    with np.errstate(invalid="ignore"):
        same = (values == wanted) | (np.abs(values - wanted) <= allowed)
    if not same.all():
        bad = points[used][int(np.argmin(same.all(axis=1)))]
        return f"its rule treats a symbol and the number {piece.at(bad)} differently"
    return formula


def _values(formula: TracedFormula | None, indices: tuple[Index, ...], points: Array) -> tuple[Array, list[int]]:
    """Coefficients, lower and upper side at points (N, K + 2), and the columns of the coefficients."""
    if formula is None:
        return np.zeros((len(points), 2)), []
    body = formula.body
    low = None if formula.lower is None else formula.lower - body.offset
    high = None if formula.upper is None else formula.upper - body.offset
    parts = [*body.coefficients.values(), 0.0 if low is None else low, 0.0 if high is None else high]
    tape = Tape((written_out(Join(tuple(as_expression(p) for p in parts))),), indices)
    with np.errstate(all="ignore"):
        values = np.array(np.broadcast_to(tape.values(points), (len(points), len(parts))))
    values[:, -2] = -np.inf if low is None else values[:, -2]
    values[:, -1] = np.inf if high is None else values[:, -1]
    return values, list(body.coefficients)


def _aligned(row: Numbers, places: list[int]) -> Array:
    return np.array([*(row.coefficients.get(j, 0.0) for j in places), row.lower, row.upper])
