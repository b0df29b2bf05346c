"""A robust model as PyROS has it, solved here: uncertain parameters over a set, decisions now, and decisions later.

Second-stage variables are polynomials of all uncertain parameters. Variables in neither list are states, which the
equalities determine: where their own coefficients there are numbers, they are polynomials too, of a degree that follows
from the rest, so that nothing is lost by looking for such.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ...errors import ModelError, NotAffineError
from ...expressions.folds import is_affine
from ...expressions.graph import Expression, Index
from ...expressions.polynomials import Polynomials
from ...expressions.tape import Tape
from ...legible import shortened
from ...validation import shown
from .columns import Columns, ModelVariable
from .comparison import Value
from .continuum import is_semi_infinite
from .formula import AffineRow, Reader, Untraceable, as_row, total
from .implied import largest_coefficient, spread_points
from .model import PyomoModel, check, constraints, is_maximised, objective_of, title
from .recourse import Bends, Recourse
from .tracing import TracedFormula
from .uncertainty import Image, image_of

if TYPE_CHECKING:
    from pyomo.core.base.block import BlockData
    from pyomo.core.base.component import ComponentData
    from pyomo.core.expr.numvalue import NumericValue

Array = NDArray[np.float64]
FOCUS = ("nominal", "worst_case")


@dataclass(frozen=True)
class Declaration:
    """What `SolverFactory("pyros").solve` is told about a model, in its words.

    Parameters
    ----------
    uncertain_params
        Mutable Params, or fixed Vars; indexed ones stand for all of their members.
    uncertainty_set
        A set of `pyomo.contrib.pyros` for all of them, in this order.
    first_stage_variables, second_stage_variables
        Decided before, and after the parameters are known. Other variables are states, determined by equalities.
    decision_rule_order
        The degree of second-stage variables in the uncertain parameters: 0 for static ones, 1 for affine rules.
    decision_rule_pieces
        In how many pieces of equal width affine rules are so, along every parameter, or a list of the points where
        these meet; PyROS does not have them.
    objective_focus
        "nominal" for the objective at the nominal parameters, "worst_case" for the largest over the set.
    nominal_uncertain_param_vals
        The nominal parameters; those that the model has by default.
    """

    uncertain_params: Any = ()
    uncertainty_set: Any = None
    first_stage_variables: Any = ()
    second_stage_variables: Any = ()
    decision_rule_order: int = 0
    decision_rule_pieces: Any = 1
    objective_focus: Any = "nominal"
    nominal_uncertain_param_vals: Any = None

    @staticmethod
    def taken(options: dict[str, Any]) -> Declaration | None:
        """What options declare, which are taken out of them; None where there is no uncertainty set."""
        if "uncertainty_set" not in options and "uncertain_params" not in options:
            return None
        names = [f.name for f in fields(Declaration)]
        return Declaration(**{name: options.pop(name) for name in names if name in options})

    @property
    def worst_case(self) -> bool:
        """Whether the objective is that of the worst case."""
        focus = str(getattr(self.objective_focus, "name", self.objective_focus))
        if focus not in FOCUS:
            raise ModelError(f"`objective_focus` is {' or '.join(FOCUS)}; got {shown(self.objective_focus)}.")
        return focus == "worst_case"


def order_of(degree: object, pieces: Any) -> int:
    """The degree of decision rules, checked, as are their pieces."""
    if isinstance(degree, bool) or not isinstance(degree, int | float | np.number) or degree not in (0, 1, 2):
        raise ModelError(f"`decision_rule_order` is 0, 1 or 2, the degree of decision rules; got {shown(degree)}.")
    if not is_affine(pieces) and degree != 1:
        raise ModelError(
            f"Rules with `decision_rule_pieces` are affine in each: solve with decision_rule_order=1; got {degree}."
        )
    return int(degree)


@dataclass(frozen=True, eq=False)
class Uncertain:
    """A constraint, a bound or the objective, for all parameters of the uncertainty set."""

    component: ComponentData
    image: Image

    @property
    def name(self) -> str:
        return str(self.component.name)

    def key(self, point: Iterable[float]) -> tuple[float, ...]:
        """The parameters at an index point."""
        return tuple(self.image.at(np.array(list(point))).tolist())

    def built(self) -> list[tuple[Any, Any]]:
        """None: what Pyomo has built is the constraint at the nominal parameters."""
        return []

    def extend(self, point: Array) -> None:
        raise ModelError("`add_active_points` is for ContinuousSets; an uncertainty set has no points to add.")


@dataclass(frozen=True, eq=False)
class TwoSidedRow:
    """lower <= body <= upper, where the columns of the body are variables in the order in which they were met."""

    component: ComponentData
    body: AffineRow
    lower: Value | None
    upper: Value | None
    equality: bool = False


@dataclass(eq=False)
class Met:
    """Numbers the variables of a model as they are met."""

    variables: list[Any] = field(default_factory=list)
    _place: dict[int, int] = field(default_factory=dict)

    def __call__(self, variable: ModelVariable) -> dict[int, Value]:
        if id(variable) not in self._place:
            self._place[id(variable)] = len(self.variables)
            self.variables.append(variable)
        return {self._place[id(variable)]: 1.0}


def read_robust(model: BlockData, given: Declaration) -> PyomoModel:
    """Take a model of PyROS apart; says what it cannot hold, and what to do about it."""
    check(model)
    params, image, nominal = _parameters(given)
    index = None if image.domain is None else Index("q", image.domain)
    values, met = image.values(index), Met()
    reader = Reader(met, {id(p): v for p, v in zip(params, values, strict=True)})
    objective = objective_of(model)
    cost = _row(reader, objective.expr, f"The objective '{objective.name}'")
    lines = list(_lines(model, reader))
    if not met.variables:
        raise ModelError(f"Model '{model.name}' has no variable that is not fixed, so there is nothing to decide.")
    reading = PyomoModel(title(model), Columns(), is_maximised(objective), ({}, 0.0), [])
    seen = image.independent()
    names, rows, nominal_rows = (
        tuple(str(params[i].name) for i in seen),
        list[dict[int, Value]](),
        list[dict[int, Value]](),
    )
    degrees = _degrees(met.variables, lines, given, index)
    straight = index is None or is_affine(given.decision_rule_pieces) or not any(degrees)
    bends = Bends.none() if straight or index is None else image.bends(index, seen, given.decision_rule_pieces)
    for variable, degree in zip(tuple(met.variables), degrees, strict=True):
        bounds = _bounds(variable, reader)
        if degree is None:
            rows.append(reading.columns(variable))
            nominal_rows.append(rows[-1])
            if not all(isinstance(side, float) for side in (bounds.lower, bounds.upper) if side is not None):
                reading.columns.free(variable)
                lines.append(bounds)
            continue
        if not variable.is_continuous():
            raise ModelError(f"Variable '{variable.name}' is whole, and a rule is not: list it in the first stage.")
        rule = Recourse.of(str(variable.name), names, degree, reading.columns, bends)
        rows.append(rule.row([values[i] for i in seen]))
        nominal_rows.append(rule.row([nominal[i] for i in seen]))
        reading.rules.append((variable, None, rule))
        reading.dependent.append((variable, nominal_rows[-1]))
        lines.append(bounds)
        if image.domain is not None and isinstance(bounds.lower, float) and isinstance(bounds.upper, float):
            points = spread_points(image.domain, len(rule.columns))
            places = np.array([image.at(point) for point in points])[:, seen]
            most = max(-bounds.lower, bounds.upper)
            reading.confined.append((rule, largest_coefficient(rule, places, most)))
    for line in lines:
        _take(line, rows, reading, index, image)
    if given.worst_case:
        _aim(reading, objective, _substituted(cost, rows), index, image)
    else:
        there = Reader(met, {id(p): v for p, v in zip(params, nominal, strict=True)})
        row = _substituted(_row(there, objective.expr, f"The objective '{objective.name}'"), nominal_rows)
        reading.objective = _numbers(row)
    return reading


# ---- the declaration -------------------------------------------------------------------------------------------------


def _parameters(given: Declaration) -> tuple[list[Any], Image, list[float]]:
    """The uncertain parameters, their set, and their nominal values."""
    from pyomo.environ import value

    params, image = list(_data(given.uncertain_params, "uncertain_params")), image_of(given.uncertainty_set)
    for p in params:
        if not (p.is_fixed() if p.is_variable_type() else p.parent_component().mutable):
            raise ModelError(f"'{p.name}' cannot be uncertain: that takes a Param with mutable=True, or a fixed Var.")
    if len(params) != len(image.origin):
        raise ModelError(
            f"There are {len(params)} uncertain parameters, and the uncertainty set has {len(image.origin)} dimensions."
        )
    chosen = given.nominal_uncertain_param_vals
    nominal = [value(p, exception=False) for p in params] if chosen is None or not len(chosen) else list(chosen)
    if len(nominal) != len(params) or any(v is None or not np.isfinite(v) for v in nominal):
        raise ModelError(f"The nominal parameters are {len(params)} finite numbers; got {shown(nominal)}.")
    if not given.worst_case and not given.uncertainty_set.point_in_set(nominal):
        raise ModelError(
            f"The nominal parameters {shown(nominal)} lie outside of the uncertainty set. Give others as "
            "`nominal_uncertain_param_vals`, or solve with objective_focus='worst_case'."
        )
    return params, image, [float(v) for v in nominal]


def _data(given: Any, what: str) -> Iterator[Any]:
    """Components, one by one, in the order in which they were given."""
    if hasattr(given, "is_indexed"):
        yield from given.values() if given.is_indexed() else [given]
    elif isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise ModelError(f"`{what}` takes components of the model, or a list of such; got {shown(given)}.")
    else:
        for part in given:
            yield from _data(part, what)


def _degrees(
    variables: list[Any], lines: list[TwoSidedRow], given: Declaration, index: Index | None
) -> list[int | None]:
    """The degree of every variable in the uncertain parameters; None for those that do not depend on them."""
    order = order_of(given.decision_rule_order, given.decision_rule_pieces)
    first, second = (
        {id(v) for v in _data(getattr(given, name), name)}
        for name in ("first_stage_variables", "second_stage_variables")
    )
    twice = [v.name for v in variables if id(v) in first & second]
    if twice:
        raise ModelError(f"Variable '{twice[0]}' is in the first and in the second stage: list it in one of them.")
    if index is None:
        return [None] * len(variables)
    states = [k for k, v in enumerate(variables) if id(v) not in first | second]
    later = {k for k, v in enumerate(variables) if id(v) in second}
    degree = _state_degree(states, later, variables, lines, order, index) if states else 0
    if degree > 1 and not is_affine(given.decision_rule_pieces):
        names = ", ".join(f"'{variables[k].name}'" for k in states)
        raise ModelError(
            f"The states {shortened(names)} have rules times uncertain parameters in their equalities, and are not "
            "affine in pieces: substitute them, or solve without decision_rule_pieces."
        )
    found = {**dict.fromkeys(later, order), **dict.fromkeys(states, degree)}
    return [found.get(k) or None for k in range(len(variables))]


def _state_degree(
    states: list[int], later: set[int], variables: list[Any], lines: list[TwoSidedRow], order: int, index: Index
) -> int:
    """The degree of the states: that of all the rest in their equalities, whose coefficients of states are numbers."""
    place, known = {k: i for i, k in enumerate(states)}, [line for line in lines if line.equality]
    known = [line for line in known if any(k in place for k in line.body.coefficients)]
    entries = [(i, place[k]) for i, line in enumerate(known) for k in line.body.coefficients if k in place]
    table = sparse.csr_matrix(
        (np.ones(len(entries)), tuple(np.array(entries).reshape(-1, 2).T)), (len(known), len(states))
    )
    if not known or sparse.csgraph.structural_rank(table) < len(states):
        names = ", ".join(f"'{variables[k].name}'" for k in states)
        raise ModelError(
            f"In neither stage are {shortened(names)}, so that equalities must determine them, and there are too few. "
            "List variables that are decided in first_stage_variables or second_stage_variables."
        )
    most = 0
    for line in known:
        for k, a in line.body.coefficients.items():
            if k in place and not isinstance(a, float):
                raise ModelError(
                    f"In '{line.component.name}' the state '{variables[k].name}' has a coefficient that depends on "
                    "uncertain parameters, so that it is no polynomial of them: substitute it."
                )
        parts = [(a, order if k in later else 0) for k, a in line.body.coefficients.items() if k not in place]
        for value, more in [*parts, (line.body.offset, 0), (line.upper, 0)]:
            degree = _degree(value, index)
            if degree is None:
                raise ModelError(
                    f"'{line.component.name}' determines states, and is no polynomial in the uncertain parameters: "
                    "write the states out."
                )
            most = max(most, degree + more)
    return most


def _degree(value: Value | None, index: Index) -> int | None:
    """The degree of a polynomial in the index; None for what is none."""
    if not isinstance(value, Expression):
        return 0
    found = Polynomials.of(Tape((value,), (index,)))
    return None if found is None else max((sum(e) for terms in found.terms for e in terms), default=0)


# ---- rows ------------------------------------------------------------------------------------------------------------


def _row(reader: Reader, expression: NumericValue, what: str) -> AffineRow:
    try:
        return reader.row(expression)
    except Untraceable as reason:
        raise NotAffineError(
            f"{what} is not linear in the variables with formulas of the uncertain parameters as coefficients: "
            f"{shortened(str(expression))}; {reason}."
        ) from reason


def _lines(model: BlockData, reader: Reader) -> Iterator[TwoSidedRow]:
    for component in constraints(model):
        if is_semi_infinite(component):
            raise ModelError(
                f"'{component.name}' is indexed by a ContinuousSet, and there is an uncertainty set: use one of both."
            )
        for data in component.values():
            if data.active:
                what = f"Constraint '{data.name}'"
                low, high = (None if s is None else _row(reader, s, what).offset for s in (data.lower, data.upper))
                yield TwoSidedRow(data, _row(reader, data.body, what), low, high, bool(data.equality))


def _bounds(variable: Any, reader: Reader) -> TwoSidedRow:
    what = f"A bound of '{variable.name}'"
    low, high = (None if s is None else _row(reader, s, what).offset for s in (variable.lower, variable.upper))
    return TwoSidedRow(variable, _row(reader, variable, what), low, high)


def _substituted(row: AffineRow, rows: list[dict[int, Value]]) -> AffineRow:
    """A row of variables as one of columns."""
    return as_row(total([row.offset, *(AffineRow(rows[k]).scaled(a) for k, a in row.coefficients.items())]))


def _numbers(row: AffineRow) -> tuple[dict[int, float], float]:
    return {j: float(a) for j, a in row.coefficients.items()}, float(row.offset)


def _varies(row: AffineRow, *sides: Value | None) -> bool:
    return any(isinstance(value, Expression) for value in (*row.coefficients.values(), row.offset, *sides))


def _take(
    line: TwoSidedRow, rows: list[dict[int, Value]], reading: PyomoModel, index: Index | None, image: Image
) -> None:
    """Put a row where it belongs: among finite ones, those for all parameters, or equalities for all of them."""
    body = _substituted(line.body, rows)
    if index is not None and _varies(body, line.lower, line.upper):
        if line.lower is not None or line.upper is not None:
            kind = reading.equalities if line.equality else reading.formulas
            kind.append((Uncertain(line.component, image), TracedFormula((index,), body, line.lower, line.upper)))
        return
    row, constant = _numbers(body)
    low = -np.inf if line.lower is None else float(line.lower) - constant
    high = np.inf if line.upper is None else float(line.upper) - constant
    if row or not low <= 0 <= high:
        reading.finite.append((line.component, row, low, high))


def _aim(reading: PyomoModel, objective: Any, row: AffineRow, index: Index | None, image: Image) -> None:
    """Let the objective be its worst value over the set: a column that bounds it for all parameters."""
    if index is None or not _varies(row):
        reading.objective = _numbers(row)
        return
    worst = reading.columns.added("worst case")
    body = AffineRow({**row.coefficients, worst: -1.0}, row.offset)
    lower, upper = (0.0, None) if reading.maximise else (None, 0.0)
    reading.formulas.append((Uncertain(objective, image), TracedFormula((index,), body, lower, upper)))
    reading.objective = ({worst: 1.0}, 0.0)
