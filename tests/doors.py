"""Catalogue problems rewritten for the other doors, node by node: the same mathematics in CVXPY's and Pyomo's words.

A problem is compiled to rows a(y) x <= b(y), whose a and b are graphs of NumPy operations on the index. `Vectors` plays
such a graph again on an index of the CVXPY door, `Elements` writes single elements with Pyomo's intrinsics.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

import lsip
from lsip.expressions import arrangements, graph, kinks, operations
from lsip.expressions.monomials import Monomials
from lsip.model import RowFamily
from lsip.model.program import Program


class NotThroughThisDoor(Exception):  # noqa: N818 - not a failure: the door does not offer what the problem needs
    """Why a problem cannot be written on the other side."""


# ---- CVXPY -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Vectors:
    """A graph evaluated with NumPy's functions, every node as a flat vector, on whatever stands for the index."""

    indices: dict[graph.Index, Any]
    known: dict[int, Any] = field(default_factory=dict)

    def __call__(self, node: graph.Expression) -> Any:
        if id(node) not in self.known:
            self.known[id(node)] = self._apply(node, [self(arg) for arg in node.args])
        return self.known[id(node)]

    def _apply(self, node: graph.Expression, args: list[Any]) -> Any:
        match node:
            case graph.Constant():
                return node.value.ravel()
            case graph.Index():
                return self.indices[node].reshape(-1)
            case operations.Apply():
                return getattr(np, node.function.name)(*args)
            case operations.Power():
                return args[0] ** node.exponents.ravel()
            case Monomials():
                return np.prod(args[0] ** node.exponents, axis=-1)
            case operations.Add():
                return args[0] + args[1]
            case operations.Multiply():
                return args[0] * args[1]
            case operations.Divide():
                return args[0] / args[1]
            case operations.Negate():
                return -args[0]
            case arrangements.Gather():
                return args[0][node.index]
            case arrangements.Join():
                return np.concatenate(args)
            case arrangements.Sum():
                return args[0].reshape(-1, node.k).sum(axis=-1)
            case arrangements.Linear():
                return node.matrix @ args[0]
            case kinks.Absolute():
                return abs(args[0])
            case kinks.Select() if node.continuous:
                return np.maximum(args[1], args[2])
        raise NotThroughThisDoor(f"{type(node).__name__} has no translation")


def to_cvxpy(problem: lsip.Problem) -> Any:
    """The problem as a model of the CVXPY door, with one CVXPY variable for each of its own."""
    import cvxpy as cp

    from lsip.interop.cvxpy import Problem

    program = problem.compile()
    variables, start = [], 0
    for v in problem.variables:
        part = slice(start, start := start + v.size)
        bounded = np.isfinite(program.lower[part]).any() or np.isfinite(program.upper[part]).any()
        bounds = [program.lower[part], program.upper[part]] if bounded else None
        variables.append(cp.Variable(v.size, name=v.name, bounds=bounds))
    x = cp.hstack(variables)
    value = program.c @ x + program.constant
    equal = program.row_lower == program.row_upper
    constraints: list[Any] = []
    if equal.any():
        constraints.append(program.A[equal] @ x == program.row_upper[equal])
    if not equal.all():
        constraints.append(program.A[~equal] @ x <= program.row_upper[~equal])
    constraints += [_cvxpy_family(family, x) for family in program.families]
    return Problem(cp.Maximize(-value) if program.maximise else cp.Minimize(value), constraints, name=problem.name)


def _cvxpy_family(family: RowFamily, x: Any) -> Any:
    import cvxpy as cp

    from lsip.interop.cvxpy import Index, forall

    indices = {i: Index(i.name, i.domain) for i in family.legend.indices}
    play, (rows, width) = Vectors(indices), family.columns.shape
    a, b = (play(output) for output in family.source.outputs)
    chosen = cp.reshape(x[family.columns.ravel()], (rows, width), order="C")
    return forall(tuple(indices.values()), cp.sum(cp.multiply(a.reshape(rows, width), chosen), axis=1) <= b)


# ---- Pyomo -----------------------------------------------------------------------------------------------------------

PYOMO_NAMES = {"arcsin": "asin", "arccos": "acos", "arctan": "atan"}
PYOMO_FUNCTIONS = {"exp", "log", "sqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh", "asin", "acos", "atan"}
PYOMO_FUNCTIONS |= {"square", "reciprocal"}  # which are operators there


@dataclass(frozen=True, eq=False)
class Elements:
    """Single elements of a graph as Pyomo expressions; with numbers for the coordinates they are numbers."""

    coordinates: dict[graph.Index, tuple[Any, ...]]
    known: dict[tuple[int, int], Any] = field(default_factory=dict)

    def __call__(self, node: graph.Expression, i: int) -> Any:
        i = 0 if node.size == 1 else i  # a scalar serves every element of a larger array
        key = (id(node), i)
        if key not in self.known:
            self.known[key] = self._element(node, i)
        return self.known[key]

    def _element(self, node: graph.Expression, i: int) -> Any:
        match node:
            case graph.Constant():
                return float(node.value.ravel()[i])
            case graph.Index():
                return self.coordinates[node][i]
            case operations.Apply():
                return _pyomo_function(node.function.name, self(node.args[0], i))
            case operations.Power():
                k = float(node.exponents.ravel()[0 if node.exponents.size == 1 else i])
                return self(node.args[0], i) ** (int(k) if k.is_integer() else k)
            case Monomials():
                powers = [(self(node.args[0], j), int(k)) for j, k in enumerate(node.exponents[i]) if k]
                return prod([u if k == 1 else u**k for u, k in powers], start=1.0)
            case operations.Add():
                return self(node.args[0], i) + self(node.args[1], i)
            case operations.Multiply():
                return self(node.args[0], i) * self(node.args[1], i)
            case operations.Divide():
                return self(node.args[0], i) / self(node.args[1], i)
            case operations.Negate():
                return -self(node.args[0], i)
            case arrangements.Gather():
                return self(node.args[0], int(node.index[i]))
            case arrangements.Join():
                part = int(np.searchsorted(np.cumsum(node.sizes), i, side="right"))
                return self(node.args[part], i - sum(node.sizes[:part]))
            case arrangements.Sum():
                return sum(self(node.args[0], i * node.k + j) for j in range(node.k))
            case arrangements.Linear():
                row = node.matrix[[i]]
                row = np.asarray(row.toarray() if hasattr(row, "toarray") else row).ravel()
                return sum(float(row[j]) * self(node.args[0], int(j)) for j in np.flatnonzero(row))
            case kinks.Absolute():
                return abs(self(node.args[0], i))
            case kinks.Select() if node.continuous:
                return _larger(self(node.args[1], i), self(node.args[2], i))
        raise NotThroughThisDoor(f"{type(node).__name__} has no translation")


def _pyomo_function(name: str, u: Any) -> Any:
    import pyomo.environ as pyo

    if isinstance(u, int | float):  # a number is what NumPy says, so that log 0 is no error
        with np.errstate(divide="ignore"):
            return float(getattr(np, name)(u))
    match _pyomo_name(name):
        case "square":
            return u**2
        case "reciprocal":
            return 1 / u
        case known:
            return getattr(pyo, known)(u)


def _pyomo_name(name: str) -> str:
    known = PYOMO_NAMES.get(name, name)
    if known not in PYOMO_FUNCTIONS:
        raise NotThroughThisDoor(f"Pyomo has no {name}")
    return known


def _larger(a: Any, b: Any) -> Any:
    import pyomo.environ as pyo

    if isinstance(a, int | float) and isinstance(b, int | float):  # Pyomo would make an expression of two numbers
        return max(a, b)
    return pyo.Expr_if(a >= b, a, b)


def pieces(domain: lsip.Domain) -> list[list[Any]]:
    """The domain as a union of products: for each piece one (lower, upper), or a list of points, a coordinate."""
    match domain:
        case lsip.Interval() | lsip.Box():
            return [list(zip(domain.lower.tolist(), domain.upper.tolist(), strict=True))]
        case lsip.Finite() if domain.dim == 1:
            return [[domain.points.ravel().tolist()]]
        case lsip.Union():
            return [piece for part in domain.members for piece in pieces(part)]
        case lsip.Product():
            found: list[list[Any]] = [[]]
            for part in domain.factors:
                found = [before + after for before in found for after in pieces(part)]
            return found
    raise NotThroughThisDoor(f"a {type(domain).__name__} is no product of ContinuousSets and Sets")


def refused_by_pyomo(program: Program) -> str | None:
    """Why Pyomo cannot say it; None if it can."""
    try:
        for family in program.families:
            pieces(family.domain)
            waiting, seen = list(family.source.outputs), set()
            while waiting:
                node = waiting.pop()
                if id(node) not in seen:
                    seen.add(id(node))
                    waiting.extend(node.args)
                    if isinstance(node, operations.Apply):
                        _pyomo_name(node.function.name)
    except NotThroughThisDoor as reason:
        return str(reason)
    return None


def to_pyomo(problem: lsip.Problem) -> Any:
    """The problem as a Pyomo model over ContinuousSets, and ordinary Sets where an index is finite."""
    import pyomo.environ as pyo

    program = problem.compile()
    if (reason := refused_by_pyomo(program)) is not None:
        raise NotThroughThisDoor(reason)
    parts = [(family, piece) for family in program.families for piece in pieces(family.domain)]
    m = pyo.ConcreteModel(name=problem.name)
    m.x = pyo.Var(range(program.n), bounds=lambda m, j: (_side(program.lower[j]), _side(program.upper[j])))
    value = sum(float(c) * m.x[j] for j, c in enumerate(program.c) if c) + program.constant
    m.value = pyo.Objective(expr=-value if program.maximise else value, sense=-1 if program.maximise else 1)
    m.finite = pyo.ConstraintList()
    for expression in _finite_rows(program, m.x):
        m.finite.add(expression)
    for number, (family, piece) in enumerate(parts):
        _add_family(m, f"family{number}", family, piece)
    return m


def _side(bound: float) -> float | None:
    return float(bound) if np.isfinite(bound) else None


def _finite_rows(program: Program, x: Any) -> list[Any]:
    rows = []
    for i in range(program.A.shape[0]):
        row = program.A[[i]].tocoo()
        body = sum(float(a) * x[int(j)] for j, a in zip(row.col, row.data, strict=True))
        upper = float(program.row_upper[i])
        rows.append(body == upper if program.row_lower[i] == upper else body <= upper)
    return rows


def _add_family(m: Any, name: str, family: RowFamily, piece: list[Any]) -> None:
    """One constraint for all rows of a family over one piece of its domain."""
    import pyomo.environ as pyo
    from pyomo.dae import ContinuousSet

    sets = []
    for k, axis in enumerate(piece):
        axis_set = ContinuousSet(bounds=axis) if isinstance(axis, tuple) else pyo.Set(initialize=axis)
        m.add_component(f"{name}_y{k}", axis_set)
        sets.append(axis_set)
    rows, width = family.columns.shape

    def rule(m: Any, i: int, *y: Any) -> Any:
        coordinates, start = {}, 0
        for index in family.legend.indices:
            coordinates[index] = y[start : (start := start + index.domain.dim)]
        element = Elements(coordinates)
        a, b = family.source.outputs
        terms = (element(a, i * width + k) * m.x[int(family.columns[i, k])] for k in range(width))
        return sum(terms) <= element(b, i)

    m.add_component(name, pyo.Constraint(range(rows), *sets, rule=rule))
