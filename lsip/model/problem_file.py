"""A problem as plain data, without code: `Problem.save` and `Problem.load`.

The words are those of the format of proofs, and the file holds what was declared rather than what it compiles to:

    name, maximise
    variables     name, shape, lower, upper (null where there is no bound), integer, boolean; of a decision rule, whose
                  coefficients have one more axis, what it `sees`, [index, coordinate] each, and its degree
    parameters    name, shape, value (null if it has none)
    indices       name, domain {kind, arguments}
    steps         of all formulas, see `lsip/expressions/serialize.py`
    objective     what is affine; or what is convex or concave, and the indices that it is at its worst `over`
    constraints   body <= 0 or body == 0, or convex <= 0, with its name, what it reads like, and its indices, if any

`lsip/model/formula_file.py` has what affine and convex formulas look like. What is read is compared with this schema
before anything is made of it, and then with itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from math import comb, prod
from typing import Any, NamedTuple

import numpy as np

from ..deadline import EFFORT
from ..errors import ModelError
from ..expressions.affine import Affine, Constraint, Variable
from ..expressions.convex import Convex
from ..expressions.convex_rows import ConvexConstraint, Height, at_most_zero
from ..expressions.graph import Index
from ..expressions.index_sets import domain_data, domain_schema, inequalities, read_domain
from ..expressions.limits import LIMITS
from ..expressions.parameter import Parameter
from ..expressions.printing import text as printed
from ..expressions.rule import Coefficients, Rule
from ..expressions.serialize import Data, Writer, finite_or_none, read_steps, step_schema
from ..expressions.structured import Triangle
from ..oracles.base import Array
from ..schema import Either, Schema, conform, demand, flag, missing, number, text, whole
from ..validation import is_mapping
from .callables import FamilyOn
from .compilation import Written
from .formula_file import AFFINE, CONVEX, FormulaReader, FormulaWriter
from .restated import stated
from .statements import ForAll, check_indices

Quantity = Affine | Convex
FORMAT, VERSION = "lsip-problem", 1
WHAT = "a problem written by Problem.save"
STATE = {"shape", "number", "name", "_lower", "_upper", "_value", "integer", "boolean"}  # of a variable
_BOUNDS: Schema = [Either(number, missing)]
_VARIABLE: dict[str, Schema] = {"name": text, "shape": [whole], "lower": _BOUNDS, "upper": _BOUNDS}
_CONSTRAINT: dict[str, Schema] = {"name": Either(text, missing), "reads": text, "indices": [whole]}


def schema() -> dict[str, Schema]:
    """What a file must look like; elementary functions that were registered since are known to it, too."""
    return {
        "format": text,
        "version": whole,
        "name": text,
        "maximise": flag,
        "variables": [
            Either(
                {**_VARIABLE, "integer": flag, "boolean": flag},
                Either(
                    {**_VARIABLE, "sees": [(whole, whole)], "degree": whole},
                    {**_VARIABLE, "integer": flag, "boolean": flag, "order": whole},
                ),
            )
        ],
        "parameters": [{"name": text, "shape": [whole], "value": Either([number], missing)}],
        "indices": [{"name": text, "domain": domain_schema()}],
        "steps": [step_schema()],
        "objective": Either(AFFINE, {"convex": CONVEX, "over": [whole]}),
        "constraints": [Either({**_CONSTRAINT, "equality": flag, "body": AFFINE}, {**_CONSTRAINT, "convex": CONVEX})],
    }


class Goal(NamedTuple):
    """An objective as it was given."""

    expression: Quantity
    maximise: bool
    over: tuple[Index, ...]


def problem_data(
    name: str,
    goal: Goal,
    constraints: Sequence[Constraint | ForAll | FamilyOn],
    bounds: Mapping[Variable, tuple[Array, Array]],
    values: Mapping[Parameter, Array | float | None],
) -> Data:
    """A problem as plain data; a ModelError says what cannot be written that way.

    Variables have these `bounds`, lower and upper, and parameters these `values`.
    """
    inner = [_formula(c) for c in constraints]
    seen = [i for v in bounds if isinstance(v, Coefficients) for i, _ in v.rule.entries]
    quantified = [i for c in constraints if isinstance(c, ForAll) for i in c.indices]
    indices = list(dict.fromkeys([*quantified, *goal.over, *seen]))
    order = {index: i for i, index in enumerate(indices)}
    steps = Writer(indices, tuple(values))
    write, cut = FormulaWriter(steps, tuple(bounds)), partial(inequalities, parameters=tuple(values))
    return {
        "format": FORMAT,
        "version": VERSION,
        "name": name,
        "maximise": goal.maximise,
        "variables": [_variable(v, order, *ends) for v, ends in bounds.items()],
        "parameters": [
            {"name": p.name, "shape": list(p.shape), "value": None if value is None else np.ravel(value).tolist()}
            for p, value in values.items()
        ],
        "indices": [{"name": i.name, "domain": domain_data(i.domain, cut)} for i in indices],
        "objective": write.affine(goal.expression)
        if isinstance(goal.expression, Affine)
        else {"convex": write.convex(goal.expression), "over": [order[i] for i in goal.over]},
        "constraints": [
            {
                "name": said.name,
                "reads": printed(said),
                "indices": [order[i] for i in c.indices] if isinstance(c, ForAll) else [],
                **(
                    {"convex": write.convex(said.written)}
                    if isinstance(said, ConvexConstraint)
                    else {"equality": said.equality, "body": write.affine(said.body)}
                ),
            }
            for c, said in zip(constraints, inner, strict=True)
        ],
        "steps": steps.steps,
    }


def goal_of(expression: Affine, maximise: bool) -> Goal:
    """An objective as it was given, which may be what an epigraph variable stands for."""
    if isinstance(expression, Height):
        return Goal(expression.given, maximise, expression.over)
    return Goal(expression, maximise, ())


def _formula(c: Constraint | ForAll | FamilyOn) -> Constraint:
    """What a constraint says, without its indices; kinds that are not known here may say more than their formulas."""
    inner = c.constraint if isinstance(c, ForAll) else c
    if type(inner) in (Constraint, ConvexConstraint):
        return inner  # type: ignore[return-value]
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
    bounds = {v: (model.lower[a:b], model.upper[a:b]) for v, a, b in places if not v.hidden}
    statements: list[Any] = list(model.statements)
    if isinstance(model.objective, Height):
        statements = [c for c in statements if not _bounds_height(c, model.objective)]
    return problem_data(model.name, goal_of(model.objective, model.maximise), statements, bounds, model.values)


def _bounds_height(c: Constraint | ForAll | FamilyOn, height: Height) -> bool:
    """Whether a statement is there because of an objective."""
    body = c.constraint.body if isinstance(c, ForAll) else c.body
    return any(t.variable is height.variable for t in body.terms)


def _variable(v: Variable, order: Mapping[Index, int], *bounds: Array) -> Data:
    lower, upper = (list(map(finite_or_none, end.tolist())) for end in bounds)
    ends = {"lower": lower, "upper": upper}
    if type(v) is Coefficients:
        seen = [[order[i], k] for i, k in v.rule.entries]
        return {"name": v.name, "shape": list(v.shape[:-1]), **ends, "sees": seen, "degree": v.rule.degree}
    if type(v) is Triangle:
        kind = {"integer": v.integer, "boolean": v.boolean, "order": v.order}
        return {"name": v.name, "shape": list(v.shape), **ends, **kind}
    more = [name.lstrip("_") for name, value in v.__getstate__().items() if name not in STATE and value is not False]
    demand(
        type(v) is Variable, f"A file has no word for {type(v).__name__}, as {v.name} is. Pickle the problem instead."
    )
    demand(not more, f"{v.name} is {', '.join(more)}, for which a file has no word. Pickle the problem instead.")
    return {"name": v.name, "shape": list(v.shape), **ends, "integer": v.integer, "boolean": v.boolean}


def read_problem(data: Any) -> tuple[Goal, list[Constraint | ForAll], str]:
    """What a problem is made of: its objective, its constraints, and its name."""
    known = is_mapping(data) and data.get("format") == FORMAT and data.get("version") == VERSION
    demand(known, f"it has not the format {FORMAT}, version {VERSION}, which this version of lsip reads.")
    conform(data, schema(), "it")
    unset = [p["shape"] for p in data["parameters"] if p["value"] is None]
    demand(sum(map(prod, unset)) <= EFFORT.entries, "its parameters without values are too large for a file.")
    parameters = [_read_parameter(p) for p in data["parameters"]]
    indices = [Index(i["name"], read_domain(i["domain"], parameters)) for i in data["indices"]]
    variables = [_read_variable(v, indices) for v in data["variables"]]
    read = FormulaReader(variables, read_steps(data["steps"], indices, parameters))
    given = data["objective"]
    over = _indices(given.get("over", []), indices)
    expression: Quantity = read.convex(given["convex"]) if "convex" in given else read.affine(given)
    constraints = [_read_constraint(c, read, indices) for c in data["constraints"]]
    return Goal(expression, data["maximise"], over), constraints, data["name"]


def _read_variable(data: Data, indices: Sequence[Index]) -> Variable:
    shape, seen, degree = tuple(data["shape"]), data.get("sees"), data.get("degree", 0)
    size = prod(shape)
    if seen is not None:
        demand(0 < degree <= LIMITS.most_unlisted, f"{data['name']} has a degree beyond 1 to {LIMITS.most_unlisted}.")
        size *= comb(len(seen) + degree, degree) if seen else 1
    fits = all(len(data[end]) == size for end in ("lower", "upper"))
    demand(fits, f"{data['name']} needs {size} bounds on each side.")
    bounds = [
        np.array([none if v is None else v for v in data[end]], dtype=float)
        for end, none in (("lower", -np.inf), ("upper", np.inf))
    ]
    if seen is None:
        lower, upper = (end.reshape(shape) for end in bounds)
        kind = {word: data[word] for word in ("integer", "boolean")}
        if "order" in data:
            demand(
                shape == (comb(data["order"] + 1, 2),), f"{data['name']} has another number of entries than its order."
            )
            return Triangle(data["order"], name=data["name"], lower=lower, upper=upper, **kind)
        return Variable(shape, name=data["name"], lower=lower, upper=upper, **kind)
    known = all(i < len(indices) and k < indices[i].domain.dim for i, k in seen)
    demand(known, f"{data['name']} sees an entry of an index that there is not.")
    entries = [indices[i][k] if indices[i].shape else indices[i] for i, k in seen]
    found = Rule(shape, of=entries or None, name=data["name"], degree=degree).coefficients
    found.lower, found.upper = (end.reshape(found.shape) for end in bounds)
    return found


def _read_parameter(data: Data) -> Parameter:
    shape, value = tuple(data["shape"]), data["value"]
    demand(value is None or len(value) == prod(shape), f"{data['name']} needs {prod(shape)} values.")
    return Parameter(
        shape, name=data["name"], value=None if value is None else np.array(value, dtype=float).reshape(shape)
    )


def _indices(places: list[int], indices: Sequence[Index]) -> tuple[Index, ...]:
    demand(all(i < len(indices) for i in places), "a constraint, or the objective, has an index that there is not.")
    demand(len(set(places)) == len(places), "a constraint, or the objective, has an index twice.")
    return tuple(indices[i] for i in places)


def _read_constraint(data: Data, read: FormulaReader, indices: Sequence[Index]) -> Constraint | ForAll:
    constraint = _read_convex(read.convex(data["convex"])) if "convex" in data else _read_affine(data, read)
    if data["name"] is not None:
        constraint = constraint.named(data["name"])
    found = _indices(data["indices"], indices)
    if not found:
        return constraint
    check_indices(str(constraint), found, constraint.indices)
    bounded = all(i.domain.bounded for i in found)
    demand(bounded or not constraint.directions, "a constraint over an unbounded set is not affine.")
    return stated(found, constraint)


def _read_affine(data: Data, read: FormulaReader) -> Constraint:
    body, equality = read.affine(data["body"]), data["equality"]
    demand(body.size and any(t.rows.size for t in body.terms), "a constraint has no element, or no variable in it.")
    ends = [v for c in body.constants for v in c.numbers.value[np.isinf(c.numbers.value)].tolist()]
    demand(not any(v > 0 or equality for v in ends), "a constraint cannot hold, since no number is infinite.")
    return Constraint(body, equality, ("==" if equality else "<=", body, 0.0))


def _read_convex(body: Convex) -> Constraint:
    some = body.size and any(t.rows.size for part in body.parts for t in part.terms)
    demand(some, "a convex constraint has no element, or no variable in it.")
    return at_most_zero(body, ("<=", body, 0.0))
