"""A Pyomo model, read as a `Program`: finite rows by Pyomo's standard representation, families from the rules."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from ...errors import ModelError, NotAffineError
from ...model.program import Program
from .columns import Columns
from .continuum import Piece, factors, is_continuum, is_semi_infinite, pieces
from .evaluation import linear
from .families import BlackBox, Owner, declared
from .tracing import Formula, Symbols, trace

if TYPE_CHECKING:
    from pyomo.core.base.block import BlockData
    from pyomo.core.base.component import Component
    from pyomo.core.base.constraint import ConstraintData
    from pyomo.environ import Constraint


@dataclass(eq=False)
class Reading:
    """A model as far as it does not depend on how often its black boxes have been asked."""

    name: str
    columns: Columns
    maximise: bool
    objective: tuple[dict[int, float], float]
    finite: list[tuple[ConstraintData, dict[int, float], float, float]]  # constraint, coefficients, lower, upper
    symbols: Symbols
    formulas: list[tuple[Piece, Formula]]
    boxes: list[BlackBox]
    skipped: list[Piece]

    def compile(self) -> tuple[Program, list[tuple[Owner, ...]]]:
        """The program, and the owners of the rows of its families."""
        n = len(self.columns.variables)
        found = declared(self.formulas, self.symbols, n)
        found += [pair for box in self.boxes for pair in box.families()]
        n = len(self.columns.variables)
        lower, upper = self.columns.bounds()
        sign = -1.0 if self.maximise else 1.0
        cost = np.zeros(n)
        cost[list(self.objective[0])] = list(self.objective[0].values())
        program = Program(
            c=sign * cost,
            constant=sign * self.objective[1],
            lower=lower,
            upper=upper,
            A=_matrix([row for _, row, _, _ in self.finite], n),
            row_lower=np.array([low for _, _, low, _ in self.finite]),
            row_upper=np.array([high for _, _, _, high in self.finite]),
            families=tuple(family for family, _ in found),
            row_labels=tuple(c.name for c, _, _, _ in self.finite),
            maximise=self.maximise,
            name=self.name,
            integer=self.columns.integer(),
        )
        return program, [owners for _, owners in found]


def _matrix(rows: list[dict[int, float]], n: int) -> sparse.csr_matrix:
    starts = np.cumsum([0] + [len(row) for row in rows])
    columns = np.array([j for row in rows for j in row], dtype=np.int32)
    values = np.array([v for row in rows for v in row.values()], dtype=float)
    return sparse.csr_matrix((values, columns, starts), shape=(len(rows), n))


def read(model: BlockData) -> Reading:
    """Take a Pyomo model apart; says what it cannot hold, and what to do about it."""
    _check(model)
    columns, symbols = Columns(), Symbols({})
    maximise, objective = _objective(model, columns)
    finite = list(_finite(model, columns))
    name = "Pyomo model" if model.name == "unknown" else str(model.name)  # Pyomo calls unnamed models so
    reading = Reading(name, columns, maximise, objective, finite, symbols, [], [], [])
    for component in _constraints(model):
        if is_semi_infinite(component):
            for piece in pieces(component):
                _take(piece, reading)
    if not columns.variables:
        raise ModelError(f"Model '{model.name}' has no variable that is not fixed, so there is nothing to decide.")
    return reading


def _take(piece: Piece, reading: Reading) -> None:
    found = trace(piece, reading.columns, reading.symbols)
    if found is None:
        reading.skipped.append(piece)
    elif isinstance(found, str):
        reading.boxes.append(_box(piece, reading.columns, found))
    else:
        reading.formulas.append((piece, found))


def _box(piece: Piece, columns: Columns, reason: str) -> BlackBox:
    try:
        return BlackBox(piece, columns, reason)
    except NotAffineError:
        raise
    except ModelError as error:
        raise ModelError(f"{error} It has to be asked for numbers because {reason}.") from error


def _constraints(model: BlockData) -> Iterator[Constraint]:
    from pyomo.environ import Constraint

    yield from model.component_objects(Constraint, active=True, descend_into=True)


def _objective(model: BlockData, columns: Columns) -> tuple[bool, tuple[dict[int, float], float]]:
    from pyomo.environ import Objective, maximize

    found = list(model.component_data_objects(Objective, active=True, descend_into=True))
    if len(found) != 1:
        names = ", ".join(f"'{o.name}'" for o in found)
        advice = f"deactivate all but one of {names}" if found else "add one, such as Objective(expr=0)"
        raise ModelError(
            f"Model '{model.name}' must have exactly one active objective, and has {len(found)}: {advice}."
        )
    (objective,) = found
    return objective.sense == maximize, linear(objective.expr, columns, f"The objective '{objective.name}'")


def _finite(model: BlockData, columns: Columns) -> Iterator[tuple[ConstraintData, dict[int, float], float, float]]:
    """The rows of constraints over ordinary sets; those without a variable only if they are broken."""
    for component in _constraints(model):
        if is_semi_infinite(component):
            continue
        for data in component.values():
            if not data.active:
                continue
            row, constant = linear(data.body, columns, f"Constraint '{data.name}'")
            low = -np.inf if data.lb is None else data.lb - constant
            high = np.inf if data.ub is None else data.ub - constant
            if not np.isfinite(constant):
                raise ModelError(f"Constraint '{data.name}' has the constant {constant}; fix variables at numbers.")
            if row or not low <= 0 <= high:
                yield data, row, low, high


# ---- what a model may hold -------------------------------------------------------------------------------------------


def _check(model: object) -> None:
    from pyomo.core.base.block import BlockData

    if not isinstance(model, BlockData):
        raise ModelError(f"A Pyomo model or block was expected; got {type(model).__name__}.")
    if not model.is_constructed():
        raise ModelError(f"Model '{model.name}' is abstract: solve the result of its create_instance(…).")
    for block in model.block_data_objects(active=True, descend_into=True):
        for ctype in block.collect_ctypes(active=None, descend_into=False):
            for component in block.component_objects(ctype, descend_into=False):
                _admit(component)


def _admit(component: Component) -> None:
    """Refuse what is not a linear program with a continuum of constraints."""
    from pyomo import dae
    from pyomo.environ import Block, Constraint, Expression, Objective, Param, Suffix, Var

    kind = component.ctype
    if kind in (dae.DerivativeVar, dae.Integral):
        raise ModelError(f"'{component.name}' is of the type {kind.__name__}. {_DYNAMIC}")
    if kind is Var and component.is_indexed() and is_semi_infinite(component):
        raise ModelError(f"Variable '{component.name}' is indexed by the ContinuousSet {_sets(component)}. {_DYNAMIC}")
    if kind in (Block, Objective) and component.is_indexed() and is_semi_infinite(component) and component.active:
        raise ModelError(
            f"'{component.name}' is a {kind.__name__} indexed by the ContinuousSet {_sets(component)}: only "
            "constraints can range over a continuum; index the constraints themselves by it."
        )
    known = (Block, Constraint, Expression, Objective, Param, Suffix, Var)
    if kind not in known and getattr(component, "active", False) and kind.__name__ not in _PASSIVE:
        raise ModelError(
            f"'{component.name}' is a {kind.__name__}, which a linear program with a continuum of constraints cannot "
            "hold; deactivate it or reformulate it as linear constraints."
        )


_DYNAMIC = (
    "That makes a dynamic model, whose unknowns are functions: discretise it first, with "
    "TransformationFactory('dae.finite_difference') or 'dae.collocation'. Here the unknowns are finitely many, and "
    "only constraints range over a ContinuousSet."
)
_PASSIVE = {"ExternalFunction", "Set", "RangeSet", "ContinuousSet", "Port", "BooleanVar", "BuildAction", "BuildCheck"}


def _sets(component: Component) -> str:
    return ", ".join(s.name for s in factors(component) if is_continuum(s))
