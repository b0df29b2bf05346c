"""The reductions that stand between a program as it was written and the one that is solved, in their order.

Before rows are made, statements are restated (`RESTATEMENTS` of `model.restated`): equalities of polynomials, and what
holds over unbounded sets. `restate` applies those below to the rows that come out. What they make is equivalent to what
was written, for reasons that are decided in rational numbers: certificates speak of its rows, and whoever checks one
makes them again. So a restatement keeps the variables and the written rows in their places, may add rows behind them,
and its map changes nothing of a certificate but the violations.

`reduce` applies the `REDUCTIONS` at the beginning of a solve. Of these nothing is seen: certificates are translated
back number for number, and whoever checks one knows `UNITS` alone.

A program carries the maps of its reductions, so one call of `inverse` goes all the way back. Two more reductions are
applied where they are needed: `forcing_rows` once integers are fixed, and `robust_counterpart`, which makes a finite
program of one that is affine in its indices.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ..lifetime import remembered
from ..model.program import Compilable, Program, compiled
from ..proof.certificate import Array, Certificate
from .equilibration import Equilibration
from .factor_out_zeros import FactorOutZeros
from .reduction import Reduction
from .unbounded_charts import UnboundedCharts

RESTATEMENTS: tuple[Reduction, ...] = (
    UnboundedCharts(),  # rows over unbounded sets are rows over bounded charts
    FactorOutZeros(),  # rows that vanish at index points whatever x is are quotients, with the equations that follow
)
UNITS = Equilibration()
REDUCTIONS: tuple[Reduction, ...] = (
    UNITS,  # columns, rows, families and the objective are about one; it comes last
)


def restate(problem: Program | Compilable) -> Program:
    """The program of a problem as certificates speak of it; one that was restated before stays as it is."""
    return _restated(compiled(problem))


@remembered
def _restated(given: Program) -> Program:
    return _applied(RESTATEMENTS, given)


@remembered
def reduce(given: Program) -> Program:
    """The program that is solved; what is learnt about its families is kept as long as the given one is."""
    return _applied(REDUCTIONS, given)


def _applied(reductions: Iterable[Reduction], program: Program) -> Program:
    """What these make of a program, one after the other."""
    for reduction in reductions:
        program = reduction.apply(program) if reduction.accepts(program) else program
    return program


def forward(program: Program, certificate: Certificate) -> Certificate:
    """What is known of a program as it was written, in the terms of a reduced one."""
    for mapping in program.maps:
        certificate = mapping.forward(certificate)
    return certificate


def inverse(program: Program, certificate: Certificate) -> Certificate:
    """What was found of a reduced program, in the terms of what was written."""
    for mapping in reversed(program.maps):
        certificate = mapping.inverse(certificate)
    return certificate


def reduced_point(program: Program, x: Array) -> Array:
    """A point of what was written as one of a reduced program."""
    return forward(program, Certificate("none", x, -np.inf, np.inf)).x


def written_point(program: Program, x: Array) -> Array:
    """A point of a reduced program as one of what was written."""
    return inverse(program, Certificate("none", x, -np.inf, np.inf)).x
