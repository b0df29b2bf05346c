"""Equalities for all index points, as the finitely many that they mean: coefficients of polynomials that match.

A polynomial that vanishes on a set with room inside vanishes altogether. On a flat set it is one of fewer coordinates,
and on finitely many points there is an equality each.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from ..domains import Domain, Finite, Product
from ..errors import ModelError
from ..expressions.affine import Affine, Constraint, Term
from ..expressions.chart import Chart
from ..expressions.graph import Constant, Expression, Index
from ..expressions.parameter import Values
from ..expressions.parametric_region import at_values
from ..expressions.polynomials import Polynomial, Polynomials
from ..expressions.printing import text
from ..expressions.tape import Tape


def matched(indices: tuple[Index, ...], constraint: Constraint, values: Values) -> Constraint:
    """The equality of all coefficients; an error where it is not known what the equality means.

    Index sets are those for these `values` of parameters.
    """
    domains = [at_values(i.domain, values) for i in indices]
    domain: Domain = domains[0] if len(domains) == 1 else Product(*domains)
    if isinstance(domain, Finite):
        return _at_points(indices, constraint, domain)
    found = polynomials_of(constraint.body, indices, domain)
    if found is None:
        raise ModelError(
            f"The equality {text(constraint)} for all {', '.join(i.name for i in indices)} is matched coefficient by "
            "coefficient where both sides are polynomials in the index with doubles in front; here they are not. "
            "Write the finitely many equalities that it means for the variables, or a narrow band: -eps <= …, … <= eps."
        )
    return _equalities(constraint, *found)


def polynomials_of(
    body: Affine, indices: tuple[Index, ...], domain: Domain | None = None, values: Values | None = None
) -> tuple[list[list[Polynomial]], list[Polynomial]] | None:
    """The coefficients of every term and the offsets of all rows as polynomials; None if some are not.

    With a `domain` that is flat, they are polynomials in the coordinates of its cell.
    """
    outputs: tuple[Expression, ...] = (*(t.coefficient for t in body.terms), body.offset)
    chart = None
    if domain is not None and (domain.measure[0] < domain.dim or not domain.bounded):
        (cell, *others) = domain.flat_cells() if domain.bounded else domain.cells()
        if others or cell.place is None or (cell.lower == cell.upper).any():
            return None
        chart = Chart(cell, indices)
    tape = Tape(outputs, indices, None, values) if chart is None else Tape(outputs, chart.indices, chart.instead)
    found = Polynomials.of(tape)
    if found is None:
        return None
    every = [
        {e: Fraction(c, d) for e, c in terms.items()} for terms, d in zip(found.terms, found.denominators, strict=True)
    ]
    parts, start = [], 0
    for output in outputs:
        size = output.size
        parts.append(every[start : start + size])
        start += size
    offset = parts.pop()
    return parts, offset if len(offset) == body.size else offset * body.size


def _equalities(constraint: Constraint, parts: list[list[Polynomial]], offset: list[Polynomial]) -> Constraint:
    body = constraint.body
    places: dict[tuple[int, tuple[int, ...]], int] = {}  # a row, and a monomial: the row of an equality
    terms: list[Term] = []
    for term, coefficients in zip(body.terms, parts, strict=True):
        entries = [
            (places.setdefault((int(row), e), len(places)), int(column), float(c))
            for row, column, p in zip(term.rows, term.columns, coefficients, strict=True)
            for e, c in p.items()
            if c
        ]
        if entries:
            rows, columns, values = zip(*entries, strict=True)
            terms.append(Term(term.variable, np.array(rows), np.array(columns), Constant(np.array(values))))
    for row, p in enumerate(offset):
        for e, c in p.items():
            if c and (row, e) not in places:
                raise ModelError(
                    f"{text(constraint)} cannot hold for all index points: {_monomial(e)} has the coefficient "
                    f"{float(c):g} on one side, and no variable on the other can match it."
                )
    if not terms:
        raise ModelError(f"{text(constraint)} holds for all index points whatever the variables are: leave it out.")
    numbers = np.zeros(len(places))
    for (row, e), place in places.items():
        numbers[place] = float(offset[row].get(e, Fraction(0)))
    return Constraint(Affine((len(places),), tuple(terms), Constant(numbers)), True, constraint.origin, constraint.name)


def _monomial(exponents: tuple[int, ...]) -> str:
    powers = [f"the power {e} of coordinate {k}" for k, e in enumerate(exponents) if e]
    return " times ".join(powers) or "the constant term"


def _at_points(indices: tuple[Index, ...], constraint: Constraint, domain: Finite) -> Constraint:
    """The equality at each of finitely many points."""
    body, points = constraint.body, domain.points
    terms, p = [], body.size
    for term in body.terms:
        values = Tape((term.coefficient,), indices).values(points)  # (N, entries)
        rows = (np.arange(len(points))[:, None] * p + term.rows).ravel()
        columns = np.broadcast_to(term.columns, values.shape).ravel()
        terms.append(Term(term.variable, rows, columns, Constant(values.ravel())))
    offset = np.broadcast_to(Tape((body.offset,), indices).values(points), (len(points), p)).ravel()
    return Constraint(
        Affine((len(points) * p,), tuple(terms), Constant(offset)), True, constraint.origin, constraint.name
    )
