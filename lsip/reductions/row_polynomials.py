"""Rows of a family as polynomials in the index, and polynomials as rows of a family again."""

from __future__ import annotations

from fractions import Fraction
from functools import partial, reduce
from typing import TypeAlias

import numpy as np

from ..expressions.arrangements import Gather, Join, Linear, picked
from ..expressions.enclosed import known
from ..expressions.graph import Constant, Expression, Index
from ..expressions.monomials import Monomials
from ..expressions.operations import Multiply
from ..expressions.polynomials import Polynomials, neighbours
from ..expressions.ring import Exponents, Polynomial
from ..expressions.tape import Tape
from ..model.coefficients import formulas
from ..model.declared_rows import DeclaredRows
from ..model.families import RowFamily
from ..model.legend import Legend
from ..proof.certificate import Array
from .affine_hull import Row

RowPolynomials: TypeAlias = list[Polynomial]  # the coefficients of a row, and its right-hand side


def sampled_rows(family: RowFamily, n: int, points: Array) -> Array:
    """All rows at points (N, m), with the right-hand side last: (N, p, n + 1); nan where they are not defined."""
    p, k = family.columns.shape
    flat = _written(family).tape.values(points)
    rows = np.zeros((len(flat), p, n + 1))
    place = (np.arange(p)[:, None] * (n + 1) + family.columns).ravel()
    np.add.at(rows.reshape(len(flat), -1).T, place, flat[:, : p * k].T)  # some columns are there twice
    rows[..., -1] = flat[:, p * k :]
    return rows


def named_numbers(family: RowFamily) -> list[float]:
    """The numbers in the formulas of a family, and their opposites: (t - 0.25)² names the point 0.25."""
    nodes = (node for _, node, _ in _written(family).tape.written.steps())
    found = {
        v for node in nodes if isinstance(node, Constant) and node.value.size == 1 for v in node.value.ravel().tolist()
    }
    return sorted({s * v for v in found for s in (1.0, -1.0)})


def row_polynomials(family: RowFamily, i: int) -> RowPolynomials | None:
    """A row as polynomials in the index, if it is of that kind."""
    k, written = family.columns.shape[1], _written(family)
    outputs = picked(written.outputs[0], np.arange(i * k, (i + 1) * k)), picked(written.outputs[1], np.array([i]))
    found = Polynomials.of(Tape(outputs, written.indices, values=written.tape.known))
    return None if found is None else [found.combined([j], [1.0]) for j in range(k + 1)]


def equations(rests: RowPolynomials, columns: list[int], n: int) -> list[Row]:
    """That a row vanishes at all index points, as equations of its variables."""
    found: dict[Exponents, Row] = {}
    for column, rest in zip([*columns, n], rests, strict=True):
        for e, c in rest.items():
            row = found.setdefault(e, {})
            row[column] = row.get(column, Fraction(0)) + c
    return list(found.values())


def replaced(family: RowFamily, rows: dict[int, RowPolynomials], called: dict[int, str]) -> RowFamily:
    """The family with some of its rows replaced; how they are called has a place for their labels."""
    (p, k), new, written = family.columns.shape, list(rows), _written(family)
    coefficients = _formula([q for i in new for q in rows[i][:-1]], written.indices)
    rhs = _formula([rows[i][-1] for i in new], written.indices)
    order = np.arange(p)
    order[new] = p + np.arange(len(new))

    def labels() -> tuple[str, ...]:
        return tuple(called.get(i, "{}").format(label) for i, label in enumerate(written.legend.labels))

    known = written.legend
    legend = Legend(lambda: "; ".join(labels()), labels, known.coordinates, known.indices, known.shown)
    outputs = (
        picked(Join((written.outputs[0], coefficients)), (order[:, None] * k + np.arange(k)).ravel()),
        picked(Join((written.outputs[1], rhs)), order),
    )
    made = DeclaredRows(legend, written.written_domain, outputs, written.tape.known)
    made.domain = written.domain  # for the same values of parameters
    return RowFamily(made, family.columns)


def _written(family: RowFamily) -> DeclaredRows:
    """The formulas of a family that has some."""
    found = formulas(family)
    assert found is not None
    return found


def _formula(polynomials: RowPolynomials, indices: tuple[Index, ...]) -> Expression:
    """Polynomials as an expression: doubles, or enclosed fractions, times monomials, added up."""
    exponents = sorted({e for p in polynomials for e in p})
    if not exponents:
        return Constant(np.zeros(len(polynomials)))
    table, start = np.array(exponents, dtype=np.intp), 0
    powers: list[Expression] = []
    for index in indices:
        powers.append(Monomials(index, table[:, start : start + index.domain.dim], (len(exponents),)))
        start += index.domain.dim
    monomials = reduce(partial(Multiply, shape=(len(exponents),)), powers)
    place = {e: j for j, e in enumerate(exponents)}
    terms = [(i, place[e], c) for i, p in enumerate(polynomials) for e, c in p.items()]
    rows, columns, numbers = zip(*terms, strict=True)
    ends = np.array([neighbours(*c.as_integer_ratio()) for c in numbers])
    if (ends[:, 0] == ends[:, 1]).all():
        matrix = np.zeros((len(polynomials), len(exponents)))
        matrix[rows, columns] = ends[:, 0]
        return Linear(matrix, monomials, (len(polynomials),))
    adder = np.zeros((len(polynomials), len(terms)))
    adder[rows, np.arange(len(terms))] = 1.0
    each = Multiply(known(ends[:, 0], ends[:, 1], numbers), Gather(monomials, np.array(columns)), (len(terms),))
    return Linear(adder, each, (len(polynomials),))
