"""Equalities for all index points, as the finitely many that they mean: coefficients of polynomials that match.

A polynomial that vanishes on a set with room inside vanishes altogether, so that its coefficients are zero. That a set
has room is proven (`solid`), never taken from its volume: {t : t**2 <= 0} is a point. A set is looked at in parts. A
part that is flat along some coordinates fixes these, and its polynomials are those of the others; at a point, only a
constant is left. One part with room in all coordinates decides for all.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import lcm

import numpy as np

from ..domains import Box, Cell, Domain, Finite, Interval, Product
from ..errors import ModelError
from ..expressions.affine import Affine, Constraint, Term, Variable
from ..expressions.chart import CellChart
from ..expressions.graph import Constant, Expression, Index
from ..expressions.interval import LARGEST
from ..expressions.parameter import Values
from ..expressions.parametric_region import at_values
from ..expressions.polynomials import Polynomials
from ..expressions.printing import text
from ..expressions.ring import Polynomial
from ..expressions.tape import Tape
from .finite_rows import whole_factor
from .solid import Flat, flat_parts

Entry = tuple[Variable, int]  # a variable, and one of its elements
Equation = tuple[dict[Entry, Fraction], Fraction]  # numbers in front, and the constant: their sum is zero


def matched(indices: tuple[Index, ...], constraint: Constraint, values: Values) -> Constraint:
    """The equality of all coefficients; an error where it is not known what the equality means.

    Index sets are those for these `values` of parameters.
    """
    domains = [_bounded(at_values(i.domain, values)) for i in indices]
    domain: Domain = domains[0] if len(domains) == 1 else Product(*domains)
    names = ", ".join(i.name for i in indices)
    if isinstance(domain, Finite):
        return _stated(constraint, list(_at_points(indices, constraint, domain, names)))
    cells = domain.flat_cells()
    parts = [(k, flat) for k, cell in enumerate(cells) for flat in flat_parts(cell, indices, alone=len(cells) == 1)]
    solid = [(k, flat) for k, flat in parts if flat.proven and not flat.fixed and not flat.equations]
    solid = [(k, flat) for k, flat in solid if cells[k].place is None][:1]
    unproven = next((flat for _, flat in parts if not flat.proven), None)
    if unproven is not None and not solid:
        raise ModelError(
            f"The equality {text(constraint)} for all {names} ∈ {domain}: it is not proven that this set has room "
            "inside, and without that, coefficients need not match. Write the set in as many coordinates as it has "
            "dimensions (a point as lsip.Finite), or a narrow band: -eps <= …, … <= eps."
        )
    polynomials: dict[int, Written] = {}
    for k, _ in solid or parts:
        if k not in polynomials:
            found = _polynomials_over(constraint.body, indices, cells[k])
            if found is None:
                raise _no_polynomials(constraint, names)
            polynomials[k] = found
    equations = [e for k, flat in solid or parts for e in _equations(constraint, polynomials[k], flat)]
    return _stated(constraint, equations)


def _bounded(domain: Domain) -> Domain:
    """A set over which the same polynomials vanish: along a coordinate without end, some part of it is as good."""
    if isinstance(domain, Product):
        return Product(*map(_bounded, domain.factors))
    if domain.bounded or not isinstance(domain, Interval | Box):
        return domain
    lower = np.where(np.isfinite(domain.lower), domain.lower, np.where(np.isfinite(domain.upper), domain.upper - 1, 0))
    upper = np.where(np.isfinite(domain.upper), domain.upper, lower + 1)
    lower, upper = np.minimum(lower, upper), np.where(upper > lower, upper, np.nextafter(lower, np.inf))
    return Interval(float(lower[0]), float(upper[0])) if isinstance(domain, Interval) else Box(lower, upper)


def _no_polynomials(constraint: Constraint, names: str) -> ModelError:
    return ModelError(
        f"The equality {text(constraint)} for all {names} is matched coefficient by coefficient where both sides are "
        "polynomials in the index with doubles in front; here they are not. Write the finitely many equalities that it "
        "means for the variables, or a narrow band: -eps <= …, … <= eps."
    )


Written = tuple[list[list[Polynomial]], list[Polynomial]]


def polynomials_of(body: Affine, indices: tuple[Index, ...], values: Values | None = None) -> Written | None:
    """The coefficients of every term and the offsets of all rows as polynomials in the index; None if some are not."""
    return _written(body, Tape(_outputs(body), indices, None, values))


def _polynomials_over(body: Affine, indices: tuple[Index, ...], cell: Cell) -> Written | None:
    """The same in the coordinates of a cell of the index set."""
    chart = CellChart(cell, indices)
    return _written(body, Tape(_outputs(body), chart.indices, chart.instead or None))


def _outputs(body: Affine) -> tuple[Expression, ...]:
    return (*(t.coefficient for t in body.terms), body.offset)


def _written(body: Affine, tape: Tape) -> Written | None:
    found = Polynomials.of(tape)
    if found is None:
        return None
    every = iter(found.rational)
    *parts, offset = ([next(every) for _ in range(output.size)] for output in _outputs(body))
    return parts, offset if len(offset) == body.size else offset * body.size


def _equations(constraint: Constraint, written: Written, flat: Flat) -> Iterator[Equation]:
    """That all coefficients of the rows vanish, as polynomials in the coordinates that a part of the set leaves."""
    parts, offset = written
    body = constraint.body
    rows: list[dict[tuple[int, ...], Equation]] = [{} for _ in range(body.size)]
    for term, coefficients in zip(body.terms, parts, strict=True):
        for row, column, p in zip(term.rows.tolist(), term.columns.tolist(), coefficients, strict=True):
            for e, c in flat.reduced(p).items():
                left, _ = rows[row].setdefault(e, ({}, Fraction(0)))
                entry = (term.variable, column)
                left[entry] = left.get(entry, Fraction(0)) + c
    for row, p in enumerate(offset):
        for e, c in flat.reduced(p).items():
            left, constant = rows[row].get(e, ({}, Fraction(0)))
            rows[row][e] = left, constant + c
    for row in rows:
        for e, (left, constant) in row.items():
            kept = {entry: c for entry, c in left.items() if c}
            if constant and not kept:
                raise ModelError(
                    f"{text(constraint)} cannot hold for all index points: {_monomial(e)} has the coefficient "
                    f"{float(constant):g} on one side, and no variable on the other can match it."
                )
            if kept:
                yield kept, constant


def _stated(constraint: Constraint, equations: list[Equation]) -> Constraint:
    """Equations as finite rows, each once."""
    if not equations:
        raise ModelError(f"{text(constraint)} holds for all index points whatever the variables are: leave it out.")
    entries: dict[Variable, list[tuple[int, int, float]]] = {}
    constants: list[float] = []
    seen = set()
    for left, constant in equations:
        numbers = [*left.values(), constant]
        factor = _factor(numbers) if max(map(abs, numbers)) <= LARGEST else None
        if factor is None:
            raise ModelError(
                f"{text(constraint)} for all index points has numbers that doubles do not hold, such as whole "
                "numbers beyond 2**53. Divide it by one of them, or measure in other units."
            )
        key = (frozenset((v, k, factor * c) for (v, k), c in left.items()), factor * constant)
        if key in seen:
            continue
        seen.add(key)
        for (variable, column), c in left.items():
            entries.setdefault(variable, []).append((len(constants), column, float(factor * c)))
        constants.append(float(factor * constant))
    terms = []
    for variable, found in entries.items():
        rows, columns, entry = zip(*found, strict=True)
        terms.append(Term(variable, np.array(rows), np.array(columns), Constant(np.array(entry))))
    body = Affine((len(constants),), tuple(terms), Constant(np.array(constants)))
    return Constraint(body, True, constraint.origin, constraint.name)


def _factor(numbers: list[Fraction]) -> Fraction | None:
    """With which an equation becomes one of doubles; 1 where there is none, and its numbers are rounded once.

    Decimals such as 0.1 were rounded when they were typed, and so may their sums be. Whole numbers, halves, quarters
    and so on of them, were not: None, if they are too large. Half of the digits of a double tell the two apart.
    """
    if all(Fraction(float(c)) == c for c in numbers):
        return Fraction(1)
    factor = whole_factor(numbers)
    typed = lcm(*(c.denominator for c in numbers)) <= 2**26
    return factor if factor is not None or typed else Fraction(1)


def _monomial(exponents: tuple[int, ...]) -> str:
    powers = [f"the power {e} of coordinate {k}" for k, e in enumerate(exponents) if e]
    return " times ".join(powers) or "the constant term"


def _at_points(indices: tuple[Index, ...], constraint: Constraint, domain: Finite, names: str) -> Iterator[Equation]:
    """The equality at each of finitely many points, in rational numbers."""
    body, points = constraint.body, domain.points
    tape = Tape(_outputs(body), indices)
    box = tape.enclose(points, points)
    if (box.lo == box.hi).all():
        numbers = [[Fraction(v) for v in row] for row in box.lo.tolist()]
    else:
        found, values = Polynomials.of(tape), tape.values(points)
        if not np.isfinite(values).all():
            bad = points[int(np.argmin(np.isfinite(values).all(axis=1)))]
            raise ModelError(f"{text(constraint)} is not defined at {names} = {bad.tolist()}: leave that point out.")
        if found is None:  # numbers of finite rows are rounded once
            numbers = [[Fraction(v) for v in row] for row in values.tolist()]
        else:
            numbers = found.fractions(points, [range(box.shape[1])] * len(points))
    for row in numbers:
        each = iter(row)
        parts: list[list[Polynomial]] = [[{(): next(each)} for _ in range(t.coefficient.size)] for t in body.terms]
        offset: list[Polynomial] = [{(): v} for v in each]
        written = parts, offset if len(offset) == body.size else offset * body.size
        yield from _equations(constraint, written, Flat.nothing())
