"""A Pyomo model, read as a `Program`: finite rows by Pyomo's standard representation, families from the rules."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from ...errors import ModelError, NotAffineError
from ...expressions.folds import Pieces, is_affine
from ...model.program import Program
from .columns import Columns, ModelVariable
from .comparison import Value
from .continuum import ContinuumPiece, factors, is_continuum, is_semi_infinite, parts, pieces
from .evaluation import linear
from .families import BlackBox, Owner, RowSource, declared, identity
from .formula import AffineRow
from .implied import largest_coefficient, spread_points, through_equalities
from .recourse import Bends, Recourse, RecourseFunction
from .tracing import Symbols, TracedFormula, trace

if TYPE_CHECKING:
    from pyomo.core.base.block import BlockData
    from pyomo.core.base.component import Component
    from pyomo.core.base.constraint import ConstraintData
    from pyomo.core.base.objective import ObjectiveData
    from pyomo.environ import Constraint, Var


@dataclass(eq=False)
class PyomoModel:
    """A model as far as it does not depend on how often its black boxes have been asked."""

    name: str
    columns: Columns
    maximise: bool
    objective: tuple[dict[int, float], float]
    finite: list[tuple[ConstraintData, dict[int, float], float, float]]  # constraint, coefficients, lower, upper
    symbols: Symbols = field(default_factory=lambda: Symbols({}))
    formulas: list[tuple[RowSource, TracedFormula]] = field(default_factory=list)
    equalities: list[tuple[RowSource, TracedFormula]] = field(default_factory=list)  # for all indices
    boxes: list[BlackBox] = field(default_factory=list)
    skipped: list[ContinuumPiece] = field(default_factory=list)
    functions: dict[int, RecourseFunction] = field(default_factory=dict)  # variables over ContinuousSets, by id
    rules: list[tuple[Any, Any, Recourse]] = field(default_factory=list)  # a variable, and which of its members
    confined: list[tuple[Recourse, float]] = field(default_factory=list)  # bounds of all coefficients of rules
    dependent: list[tuple[ModelVariable, dict[int, Value]]] = field(default_factory=list)  # values to load, as rows

    def compile(self) -> tuple[Program, list[tuple[Owner, ...]]]:
        """The program, and the owners of the rows of its families."""
        n = len(self.columns.variables)
        found = declared(self.formulas, n, any(rule.bends.parts for _, _, rule in self.rules))
        found += [pair for box in self.boxes for pair in box.families()]
        n = len(self.columns.variables)
        lower, upper = self.columns.bounds()
        sign = -1.0 if self.maximise else 1.0
        cost = np.zeros(n)
        cost[list(self.objective[0])] = list(self.objective[0].values())
        rows = [(c.name, row, low, high) for c, row, low, high in self.finite]
        for place, formula in self.equalities:
            rows += [(place.name, row, side, side) for row, side in identity(place, formula, n)]
        for rule, most in self.confined:
            lower[list(rule.columns)], upper[list(rule.columns)] = -most, most
        every = {j for _, _, rule in self.rules for j in rule.columns}
        through_equalities([(row, low, high) for _, row, low, high in rows], lower, upper, every)
        program = Program(
            c=sign * cost,
            constant=sign * self.objective[1],
            lower=lower,
            upper=upper,
            A=_matrix([row for _, row, _, _ in rows], n),
            row_lower=np.array([low for _, _, low, _ in rows]),
            row_upper=np.array([high for _, _, _, high in rows]),
            families=tuple(family for family, _ in found),
            row_labels=tuple(name for name, _, _, _ in rows),
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


def read(model: BlockData, degree: int | None = None, bent: Pieces = 1) -> PyomoModel:
    """Take a Pyomo model apart; says what it cannot hold, and what to do about it.

    With a `degree`, variables over ContinuousSets are decision rules of that degree, or affine in pieces if `bent`.
    """
    check(model, degree)
    reading = PyomoModel(title(model), Columns(), False, ({}, 0.0), [])
    if degree is not None:
        for variable in variables_over_continua(model):
            _adjust(variable, degree, bent, reading)
    sense = objective_of(model)
    reading.maximise = is_maximised(sense)
    reading.objective = linear(sense.expr, reading.columns, f"The objective '{sense.name}'")
    reading.finite += _finite(model, reading.columns)
    for component in constraints(model):
        if is_semi_infinite(component):
            for piece in pieces(component):
                _take(piece, reading)
    columns = reading.columns
    if not columns.variables:
        raise ModelError(f"Model '{model.name}' has no variable that is not fixed, so there is nothing to decide.")
    return reading


def title(model: BlockData) -> str:
    """How a model is called."""
    return "Pyomo model" if model.name == "unknown" else str(model.name)  # Pyomo calls unnamed models so


def _adjust(variable: Var, degree: int, bent: Pieces, reading: PyomoModel) -> None:
    """Let a variable over a ContinuousSet be a rule, whose bounds hold for all of its values."""
    function = RecourseFunction(variable, tuple(s for s in factors(variable) if is_continuum(s)), {})
    for piece in parts(variable):
        indices, _ = reading.symbols.of(piece)
        bends = Bends.none() if is_affine(bent) else Bends.along(indices, bent)
        rule = Recourse.of(piece.name, piece.coordinates, degree, reading.columns, bends)
        members = tuple(part for member in piece.members for part in member)
        slots = [i for i, member in enumerate(piece.members) for _ in member or (0,)]
        function.rules[tuple(k for k, i in enumerate(slots) if i in piece.slots), members] = rule
        reading.rules.append((variable, members[0] if len(members) == 1 else members or None, rule))
        lower, upper = _common_bounds(piece)
        if lower is not None or upper is not None:
            reading.formulas.append((piece, TracedFormula(indices, AffineRow(rule.row(indices)), lower, upper)))
        if lower is not None and upper is not None:
            places = spread_points(piece.domain, len(rule.columns))
            reading.confined.append((rule, largest_coefficient(rule, places, max(-lower, upper))))
    reading.functions[id(variable)] = reading.columns.functions[id(variable)] = function


def _common_bounds(piece: ContinuumPiece) -> tuple[float | None, float | None]:
    """The bounds of a variable over a ContinuousSet, which are the same at all of its points."""
    data = [data for _, data in piece.written]
    wrong = (
        "is fixed at some of its points; write a constraint there"
        if any(v.is_fixed() for v in data)
        else "is whole, and a rule is not; let it be continuous"
        if not all(v.is_continuous() for v in data)
        else "has bounds that differ from point to point; write them as a constraint over the ContinuousSet"
        if len({v.bounds for v in data}) > 1
        else None
    )
    if wrong is not None:
        raise ModelError(f"Variable '{piece.name}' is a decision rule, and {wrong}.")
    found: tuple[float | None, float | None] = data[0].bounds
    return found


def _take(piece: ContinuumPiece, reading: PyomoModel) -> None:
    found = trace(piece, reading.columns, reading.symbols, reading.functions)
    if found is None:
        reading.skipped.append(piece)
    elif isinstance(found, str):
        reading.boxes.append(_box(piece, reading.columns, found))
    else:
        reading.formulas.append((piece, found))


def _box(piece: ContinuumPiece, columns: Columns, reason: str) -> BlackBox:
    try:
        return BlackBox(piece, columns, reason)
    except NotAffineError:
        raise
    except ModelError as error:
        raise ModelError(f"{error} It has to be asked for numbers because {reason}.") from error


def constraints(model: BlockData) -> Iterator[Constraint]:
    """All constraints of a model that are switched on."""
    from pyomo.environ import Constraint

    yield from model.component_objects(Constraint, active=True, descend_into=True)


def variables_over_continua(model: BlockData) -> Iterator[Var]:
    """All variables of a model that are functions."""
    from pyomo.environ import Var

    for variable in model.component_objects(Var, active=True, descend_into=True):
        if is_semi_infinite(variable):
            yield variable


def is_maximised(objective: ObjectiveData) -> bool:
    """Whether the objective is to be large."""
    from pyomo.environ import maximize

    return bool(objective.sense == maximize)


def objective_of(model: BlockData) -> ObjectiveData:
    """The objective of a model, which has one."""
    from pyomo.environ import Objective

    found = list(model.component_data_objects(Objective, active=True, descend_into=True))
    if len(found) != 1:
        names = ", ".join(f"'{o.name}'" for o in found)
        advice = f"deactivate all but one of {names}" if found else "add one, such as Objective(expr=0)"
        raise ModelError(
            f"Model '{model.name}' must have exactly one active objective, and has {len(found)}: {advice}."
        )
    return found[0]


def _finite(model: BlockData, columns: Columns) -> Iterator[tuple[ConstraintData, dict[int, float], float, float]]:
    """The rows of constraints over ordinary sets; those without a variable only if they are broken."""
    for component in constraints(model):
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


def check(model: object, degree: int | None = None) -> None:
    """Refuse what is not a linear program with a continuum of constraints and, given a `degree`, decision rules."""
    from pyomo.core.base.block import BlockData

    if not isinstance(model, BlockData):
        raise ModelError(f"A Pyomo model or block was expected; got {type(model).__name__}.")
    if not model.is_constructed():
        raise ModelError(f"Model '{model.name}' is abstract: solve the result of its create_instance(…).")
    for block in model.block_data_objects(active=True, descend_into=True):
        for ctype in block.collect_ctypes(active=None, descend_into=False):
            for component in block.component_objects(ctype, descend_into=False):
                _admit(component, degree)


def _admit(component: Component, degree: int | None) -> None:
    from pyomo import dae
    from pyomo.environ import Block, Constraint, Expression, Objective, Param, Suffix, Var

    kind = component.ctype
    if kind in (dae.DerivativeVar, dae.Integral):
        raise ModelError(f"'{component.name}' is of the type {kind.__name__}. {_DYNAMIC}")
    if kind is Var and degree is None and component.is_indexed() and is_semi_infinite(component):
        raise ModelError(
            f"Variable '{component.name}' is indexed by the ContinuousSet {_sets(component)}. {_DYNAMIC} If it may be "
            "an affine function of its index, a decision rule, solve with decision_rule_order=1."
        )
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
