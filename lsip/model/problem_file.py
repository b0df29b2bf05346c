"""A problem as plain data, without code: `Problem.save` and `Problem.load`.

The words are those of the format of proofs, and the file holds what was declared rather than what it compiles to:

    name, maximise
    variables     name, shape, lower, upper (null where there is no bound)
    parameters    name, shape, value (null if it has none)
    indices       name, domain {kind, arguments}
    steps         of all formulas, see `lsip/expressions/plain.py`
    objective     terms (variable, rows, columns; the step that makes their coefficients, and what rounding left of
                  them), constants (rows, value, rest), and the step of what depends on an index or on a parameter
    constraints   the same for body <= 0 or body == 0, with its name, what it reads like, and its indices, if any

What is read is compared with this schema before anything is made of it, and then with itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ModelError
from ..expressions.affine import Affine, Constraint, Term, Variable
from ..expressions.graph import Constant, Expression, Index
from ..expressions.index_sets import domain_data, domain_schema, read_domain
from ..expressions.parameter import Parameter
from ..expressions.plain import TUNING, Data, Writer, read_steps, step_schema
from ..expressions.printing import text as printed
from ..expressions.spelled import Row
from ..expressions.sums import Kept, Scattered
from ..schema import Either, Schema, conform, demand, flag, missing, number, text, whole
from .callables import FamilyOn
from .compilation import Written
from .statements import ForAll, Objective, check_indices

Array = NDArray[np.float64]
FORMAT, VERSION = "lsip-problem", 1
WHAT = "a problem written by Problem.save"
STATE = {"shape", "number", "name", "_lower", "_upper", "_value", "integer", "boolean"}  # of a variable
INFINITE = {"inf": np.inf, "-inf": -np.inf}


def infinite(value: object) -> bool:
    """An infinity, as a word."""
    return isinstance(value, str) and value in INFINITE


_REST: Schema = Either([number], missing)
_BODY: dict[str, Schema] = {
    "shape": [whole],
    "terms": [{"variable": whole, "rows": [whole], "columns": [whole], "coefficient": whole, "rest": _REST}],
    "constants": [{"rows": [whole], "value": [Either(number, infinite)], "rest": _REST}],
    "varying": Either(whole, missing),
}
_BOUNDS: Schema = [Either(number, missing)]


def schema() -> dict[str, Schema]:
    """What a file must look like; elementary functions that were registered since are known to it, too."""
    constraint = {"name": Either(text, missing), "reads": text, "indices": [whole], "equality": flag, "body": _BODY}
    return {
        "format": text,
        "version": whole,
        "name": text,
        "maximise": flag,
        "variables": [
            {"name": text, "shape": [whole], "lower": _BOUNDS, "upper": _BOUNDS, "integer": flag, "boolean": flag}
        ],
        "parameters": [{"name": text, "shape": [whole], "value": Either([number], missing)}],
        "indices": [{"name": text, "domain": domain_schema()}],
        "steps": [step_schema()],
        "objective": _BODY,
        "constraints": [constraint],
    }


def problem_data(
    name: str,
    objective: Objective,
    constraints: Sequence[Constraint | ForAll | FamilyOn],
    bounds: Mapping[Variable, tuple[Array, Array]],
    values: Mapping[Parameter, Array | float | None],
) -> Data:
    """A problem as plain data; a ModelError says what cannot be written that way.

    Variables have these `bounds`, lower and upper, and parameters these `values`.
    """
    demand(
        not objective.epigraph,
        f"A file has no word for {objective}, which is no affine formula with doubles. Pickle the problem instead.",
    )
    inner = [_formula(c) for c in constraints]
    indices = list(dict.fromkeys(i for c in constraints if isinstance(c, ForAll) for i in c.indices))
    writer = Writer(indices, tuple(values))
    place, order = {v: i for i, v in enumerate(bounds)}, {index: i for i, index in enumerate(indices)}
    return {
        "format": FORMAT,
        "version": VERSION,
        "name": name,
        "maximise": objective.maximise,
        "variables": [_variable(v, *ends) for v, ends in bounds.items()],
        "parameters": [
            {"name": p.name, "shape": list(p.shape), "value": None if value is None else np.ravel(value).tolist()}
            for p, value in values.items()
        ],
        "indices": [{"name": i.name, "domain": domain_data(i.domain)} for i in indices],
        "objective": _body(objective.expression, writer, place),
        "constraints": [
            {
                "name": body.name,
                "reads": printed(body),
                "indices": [order[i] for i in c.indices] if isinstance(c, ForAll) else [],
                "equality": body.equality,
                "body": _body(body.body, writer, place),
            }
            for c, body in zip(constraints, inner, strict=True)
        ],
        "steps": writer.steps,
    }


def _formula(c: Constraint | ForAll | FamilyOn) -> Constraint:
    """What a constraint says, without its indices; others than affine ones say more than their affine parts."""
    inner = c.constraint if isinstance(c, ForAll) else c
    if type(inner) is Constraint:
        return inner
    if isinstance(inner, FamilyOn):
        raise ModelError(
            f"{c} is given by functions, which are code, and no file holds that. Write the constraint with an "
            "lsip.Index; or pickle the problem, if its functions can be."
        )
    raise ModelError(f"A file has no word for {type(inner).__name__}, as in {c}. Pickle the problem instead.")


def written_data(model: Written) -> Data:
    """The same of a model as it was at some moment, whatever became of it since."""
    ends = np.cumsum([0] + [v.size for v in model.variables]).tolist()
    places = zip(model.variables, ends, ends[1:], strict=False)
    bounds = {v: (model.lower[a:b], model.upper[a:b]) for v, a, b in places}
    statements: list[Any] = [*model.rows, *(c for group in model.groups for c in group), *model.applied]
    return problem_data(model.name, Objective(model.objective, model.maximise), statements, bounds, model.values)


def _variable(v: Variable, *bounds: Array) -> Data:
    more = [name.lstrip("_") for name, value in v.__getstate__().items() if name not in STATE and value is not False]
    demand(
        type(v) is Variable, f"A file has no word for {type(v).__name__}, as {v.name} is. Pickle the problem instead."
    )
    demand(not more, f"{v.name} is {', '.join(more)}, for which a file has no word. Pickle the problem instead.")
    lower, upper = ([e if np.isfinite(e) else None for e in end.tolist()] for end in bounds)
    kind = {"integer": v.integer, "boolean": v.boolean}
    return {"name": v.name, "shape": list(v.shape), "lower": lower, "upper": upper, **kind}


def _body(body: Affine, writer: Writer, place: dict[Variable, int]) -> Data:
    return {
        "shape": list(body.shape),
        "terms": [
            {
                "variable": place[t.variable],
                "rows": t.rows.tolist(),
                "columns": t.columns.tolist(),
                "coefficient": writer.place(t.coefficient),
                "rest": None if t.rest is None else t.rest.ravel().tolist(),
            }
            for t in body.terms
        ],
        "constants": [
            {
                "rows": c.rows.tolist(),
                "value": [str(v) if np.isinf(v) else v for v in c.numbers.value.ravel().tolist()],
                "rest": None if c.numbers.rest is None else c.numbers.rest.ravel().tolist(),
            }
            for c in body.constants
        ],
        "varying": None if body.varying is None else writer.place(body.varying),
    }


def read_problem(data: Any) -> tuple[Objective, list[Constraint | ForAll], str]:
    """What a problem is made of: its objective, its constraints, and its name."""
    known = isinstance(data, dict) and data.get("format") == FORMAT and data.get("version") == VERSION
    demand(known, f"it has not the format {FORMAT}, version {VERSION}, which this version of lsip reads.")
    conform(data, schema(), "it")
    arrays = [c["body"] for c in data["constraints"]] + [p for p in data["parameters"] if p["value"] is None]
    demand(sum(prod(a["shape"]) for a in arrays) <= TUNING.most_numbers, "its arrays are too large for a file.")
    variables = [_read_variable(v) for v in data["variables"]]
    parameters = [_read_parameter(p) for p in data["parameters"]]
    indices = [Index(i["name"], read_domain(i["domain"])) for i in data["indices"]]
    steps = read_steps(data["steps"], indices, parameters)

    def body(given: Data) -> Affine:
        return _read_body(given, variables, steps)

    objective = body(data["objective"])
    demand(objective.size == 1 and not objective.indices(), "the objective is more than one number without an index.")
    constraints = [_read_constraint(c, body(c["body"]), indices) for c in data["constraints"]]
    return Objective(objective, data["maximise"]), constraints, data["name"]


def _read_variable(data: Data) -> Variable:
    size = prod(data["shape"])
    demand(
        all(len(data[end]) == size for end in ("lower", "upper")), f"{data['name']} needs {size} bounds on each side."
    )
    shape = tuple(data["shape"])
    lower, upper = (
        np.array([none if v is None else v for v in data[end]], dtype=float).reshape(shape)
        for end, none in (("lower", -np.inf), ("upper", np.inf))
    )
    kind = {word: data[word] for word in ("integer", "boolean")}
    return Variable(shape, name=data["name"], lower=lower, upper=upper, **kind)


def _read_parameter(data: Data) -> Parameter:
    shape, value = tuple(data["shape"]), data["value"]
    demand(value is None or len(value) == prod(shape), f"{data['name']} needs {prod(shape)} values.")
    return Parameter(
        shape, name=data["name"], value=None if value is None else np.array(value, dtype=float).reshape(shape)
    )


def _read_body(data: Data, variables: Sequence[Variable], steps: Sequence[Expression]) -> Affine:
    shape = tuple(data["shape"])
    size, varying = prod(shape), data["varying"]
    demand(varying is None or varying < len(steps), "a formula is made by no step.")
    terms = []
    for t in data["terms"]:
        demand(t["variable"] < len(variables) and t["coefficient"] < len(steps), "a term has no variable, or no step.")
        variable, coefficient = variables[t["variable"]], steps[t["coefficient"]]
        fits = len(t["rows"]) == len(t["columns"]) == coefficient.size and coefficient.shape == (coefficient.size,)
        demand(fits and (t["rest"] is None or len(t["rest"]) == coefficient.size), "a term has parts of other lengths.")
        rows, columns = _places(t["rows"], size), _places(t["columns"], variable.size)
        known = isinstance(coefficient, Constant) and not coefficient.rounded
        demand(t["rest"] is None or known, "only numbers have a rest.")
        terms.append(Term(variable, rows, columns, coefficient, _rest(t["rest"])))
    constants = []
    for c in data["constants"]:
        value = np.array([INFINITE[v] if isinstance(v, str) else v for v in c["value"]], dtype=float)
        fits = len(c["rows"]) == len(value) and (c["rest"] is None or len(c["rest"]) == len(value))
        demand(fits, "constants have parts of other lengths.")
        constants.append(Scattered(_places(c["rows"], size), Kept(value, _rest(c["rest"]))))
    offset = None if varying is None else steps[varying]
    demand(offset is None or offset.shape == shape, "a formula has another shape than what it is part of.")
    body = Affine(shape, tuple(terms), offset, tuple(constants))
    body.origin = Row.typed(body)
    return body


def _places(values: list[int], end: int) -> Any:
    demand(all(v < end for v in values), "a place is outside of its array.")
    return np.array(values, dtype=np.intp)


def _rest(values: list[float] | None) -> Any:
    return None if values is None else np.array(values, dtype=float)


def _read_constraint(data: Data, body: Affine, indices: Sequence[Index]) -> Constraint | ForAll:
    demand(body.size and any(t.rows.size for t in body.terms), "a constraint has no element, or no variable in it.")
    ends = [v for c in body.constants for v in c.numbers.value[np.isinf(c.numbers.value)].tolist()]
    demand(not any(v > 0 or data["equality"] for v in ends), "a constraint cannot hold, since no number is infinite.")
    constraint = Constraint(body, data["equality"], ("==" if data["equality"] else "<=", body, 0.0))
    if data["name"] is not None:
        constraint = constraint.named(data["name"])
    if not data["indices"]:
        return constraint
    demand(max(data["indices"]) < len(indices), "a constraint has an index that there is not.")
    found = tuple(indices[i] for i in data["indices"])
    demand(len(set(found)) == len(found), "a constraint has an index twice.")
    bounded = all(i.domain.bounded for i in found) and not data["equality"]
    demand(bounded, "a constraint for all index points is an equality, or over an unbounded set.")
    check_indices(str(constraint), found, body.indices())
    return ForAll(found, constraint)
