"""Losses: the largest of some functions that are affine in x, of one random index; at samples, and elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from ..errors import ModelError
from ..expressions.affine import Affine, Term, Variable
from ..expressions.enclosed import known
from ..expressions.graph import Expression, Index
from ..expressions.polynomials import Polynomials
from ..expressions.printing import text
from ..expressions.tape import Tape
from ..model import forall
from ..validation import Array, Data, shown

Piece: TypeAlias = Affine | Expression | Data
Loss: TypeAlias = Piece | Sequence[Piece]
_NUMBER = count()


class UpperBound(NamedTuple):
    """A bound that is affine in variables, and what these have to satisfy for it to be one.

    Minimise its `value`, or bound that from above, and list its `constraints` among those of the problem.
    """

    value: Affine
    constraints: list[Any]


def fresh(name: str) -> str:
    """A name that no other part of a model has."""
    return f"{name}.{next(_NUMBER)}"


@dataclass(frozen=True, eq=False)
class LossPieces:
    """The functions whose largest one is the loss, and the index that is random."""

    pieces: tuple[Affine, ...]
    index: Index

    @staticmethod
    def of(loss: Loss, name: str) -> LossPieces:
        given = list(loss) if isinstance(loss, list | tuple) else [loss]
        if not given:
            raise ModelError(
                f"lsip.{name} needs a loss, or a list of those of which it is the largest; got an empty list."
            )
        pieces = tuple(map(Affine.of, given))
        for piece in pieces:
            if piece.size != 1:
                raise ModelError(
                    f"A loss is one number; {shown(text(piece))} has shape {piece.shape}. Give a list of numbers, of "
                    "which the largest counts."
                )
            if piece.parameters:
                raise ModelError(f"lsip.{name} takes no parameter; got {piece.parameters[0].name}. Write its value.")
        indices = tuple(dict.fromkeys(i for piece in pieces for i in piece.indices()))
        if len(indices) != 1:
            names = ", ".join(i.name for i in indices) or "none"
            raise ModelError(f"The loss of lsip.{name} depends on one index, the random one; got {names}.")
        return LossPieces(tuple(piece.reshape(()) if piece.shape else piece for piece in pieces), indices[0])

    def less(self, level: Affine) -> LossPieces:
        """max(loss - level, 0)."""
        return LossPieces((*(piece - level for piece in self.pieces), Affine.of(0.0)), self.index)

    def below(self, bound: Affine) -> list[Any]:
        """Constraints with which no piece exceeds a bound at any index point."""
        rows = [bound >= piece for piece in self.pieces]
        return [forall(self.index, row) if row.body.indices() else row for row in rows]

    def at(self, points: Array) -> list[Affine]:
        """Every piece at points (N, m): arrays of shape (N,) without the index."""
        return [at_points(piece, self.index, points) for piece in self.pieces]

    def moved(self, other: Expression) -> list[Affine]:
        """Every piece with an expression in the place of the index."""
        return [_substituted(piece, self.index, other) for piece in self.pieces]

    def slopes(self) -> list[Affine] | None:
        """The gradients (m,) of all pieces; None where one is not affine in the index."""
        m = self.index.domain.dim
        found = []
        for piece in self.pieces:
            formulas = (piece.offset, *(t.coefficient for t in piece.terms))
            known = Polynomials.of(Tape(formulas, (self.index,)))
            if known is None or any(sum(e) > 1 for terms in known.terms for e in terms):
                return None
            values = at_points(piece, self.index, np.vstack([np.zeros(m), np.eye(m)]))
            found.append(values[1:] - values[0])
        return found


def at_points(piece: Affine, index: Index, points: Array) -> Affine:
    """A number that is affine in x at points (N, m) of its index: an array (N,), with enclosed coefficients."""
    if not piece.indices():
        return piece.broadcast((len(points),))
    n, terms = np.arange(len(points)), list[Term]()
    for term in piece.terms:
        width = len(term.columns)
        coefficient = _values(term.coefficient, index, points)
        terms.append(Term(term.variable, np.repeat(n, width), np.tile(term.columns, len(points)), coefficient))
    offset = _values(piece.offset, index, points) if piece.offset_matters else None
    return Affine((len(points),), tuple(terms), offset)


def _values(formula: Expression, index: Index, points: Array) -> Expression:
    """All elements of a formula at points, one point after the other: exact where polynomials allow it."""
    tape = Tape((formula,), (index,))
    exact = Polynomials.of(tape)
    every = [range(formula.size)] * len(points)
    found = tape.enclose(points, points) if exact is None else exact.at(points, every)
    if not (np.isfinite(found.lo) & np.isfinite(found.hi)).all():
        raise ModelError(f"{shown(text(formula))} is not finite at every sample.")
    return known(found.lo.ravel().copy(), found.hi.ravel().copy())


def _substituted(piece: Affine, index: Index, other: Expression) -> Affine:
    found = piece.substituted({index: other})
    found.origin = piece.origin  # it prints as it was written
    return found


def averaged(loss: LossPieces, points: Array) -> UpperBound:
    """The average of a loss over points (N, m)."""
    shares = Variable(len(points), name=fresh("s"))  # of the average, so that all numbers are doubles
    return UpperBound(shares.sum(), [float(len(points)) * shares >= at for at in loss.at(points)])
