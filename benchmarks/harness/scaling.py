"""A program in other units: variables, finite rows, rows of families and the objective, each times a number of its own.

With x = s x', a row r and an objective factor o, coefficients become r a s, right-hand sides r b, bounds of x' those of
x over s, and the value o times as large. Powers of two change no digit; powers of ten round once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from lsip import Program
from lsip.expressions.graph import Expression
from lsip.model import RowFamily
from lsip.model.declared_rows import DeclaredRows

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Units:
    """Factors: of the variables (n,), of finite rows, of the rows of every family, and of the objective."""

    variables: Array
    rows: Array
    families: tuple[Array, ...]  # (p,) each
    objective: float


def factor(rng: np.random.Generator, base: int, size: int | None = None) -> Any:
    """2^k with |k| <= 30, or 10^k with |k| <= 9."""
    most = 30 if base == 2 else 9
    return float(base) ** rng.integers(-most, most + 1, size)


def drawn(program: Program, rng: np.random.Generator, base: int) -> Units:
    """Random units, each item by itself."""
    return Units(
        variables=np.atleast_1d(factor(rng, base, program.n)),
        rows=np.atleast_1d(factor(rng, base, program.A.shape[0])),
        families=tuple(np.atleast_1d(factor(rng, base, len(family.columns))) for family in program.families),
        objective=float(factor(rng, base)),
    )


def scalable(program: Program) -> bool:
    """Whether all rows are formulas: functions of points cannot be rewritten."""
    return program.cones is None and all(isinstance(f.source, DeclaredRows) for f in program.families)


def scaled(program: Program, units: Units) -> Program:
    """The same program in other units."""
    s, rows = units.variables, sparse.diags_array(units.rows)
    matrix = sparse.csr_matrix(rows @ program.A @ sparse.diags_array(s)) if len(units.rows) else program.A
    return replace(
        program,
        c=units.objective * program.c * s,
        constant=units.objective * program.constant,
        lower=program.lower / s,
        upper=program.upper / s,
        A=matrix,
        row_lower=program.row_lower * units.rows,
        row_upper=program.row_upper * units.rows,
        families=tuple(_family(f, r, s) for f, r in zip(program.families, units.families, strict=True)),
    )


def _family(family: RowFamily, rows: Array, variables: Array) -> RowFamily:
    """Formulas times numbers are formulas: the family is proven as any other."""
    source: Any = family.source
    coefficient, rhs = source.outputs
    across = (rows[:, None] * variables[family.columns]).reshape(coefficient.shape)
    outputs = _times(coefficient, across), _times(rhs, rows.reshape(rhs.shape))
    return RowFamily(DeclaredRows(family.legend, family.domain, outputs), family.columns)


def _times(expression: Expression, numbers: Array) -> Any:
    return expression * numbers
