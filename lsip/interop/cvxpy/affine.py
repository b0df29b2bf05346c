"""From CVXPY's affine expressions to lsip's: a(y) and b(y), read off once and exactly, as formulas of the index.

CVXPY canonicalises an expression that is affine in its variables, with parameters as coefficients, to a tensor of
numbers. Index expressions are such parameters, so one tensor usually holds everything. Where parameters are multiplied
by parameters CVXPY has no tensor; such an expression is read atom by atom, each of which has one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from ...errors import ModelError, NotAffineError
from ...expressions.affine import Affine, Variable
from ...expressions.arrangements import Gather, Join, Linear
from ...expressions.graph import Constant, Expression, as_expression
from ...expressions.operations import Negate
from ...masters.base import is_sparse
from ...validation import numbers
from .index import IndexExpression
from .package import Leaf, Node, cp
from .rule import StandIn, decided, rules_in

Array = NDArray[np.float64]
BACKEND = "SCIPY"  # CVXPY's canonicalisation that knows arrays of any dimension

_FUNCTIONS: dict[str, Callable[..., Any]] = {  # CVXPY atoms that may be applied to an index alone
    "exp": np.exp,
    "log": np.log,
    "log1p": np.log1p,
    "abs": np.abs,
    "maximum": np.maximum,
    "minimum": np.minimum,
}


@dataclass(frozen=True, eq=False)
class LeafLayout:
    """Where every element of the CVXPY variables sits in one long vector; matrices column by column."""

    variables: tuple[Leaf, ...]
    whole: Variable  # that vector, in lsip's language

    @staticmethod
    def of(variables: list[Leaf]) -> LeafLayout:
        leaves = decided(variables)
        return LeafLayout(tuple(leaves), Variable(max(sum(v.size for v in leaves), 1), name="x"))

    @property
    def starts(self) -> dict[int, int]:
        """The first position of each variable, by its CVXPY id."""
        sizes = np.cumsum([0] + [v.size for v in self.variables])
        return {v.id: int(start) for v, start in zip(self.variables, sizes, strict=False)}

    def part(self, variable: Leaf) -> Affine:
        """One variable, or rule, as a vector."""
        if isinstance(variable, StandIn):
            return variable.rule.rows(self.whole, self.starts[variable.rule.behind.id])
        start = self.starts[variable.id]
        part: Affine = self.whole.gather(np.arange(start, start + variable.size))
        return part

    def vector(self) -> Any:
        """All variables as one CVXPY vector."""
        return cp.hstack([cp.vec(v, order="F") for v in self.variables])

    def integer(self) -> NDArray[np.bool_]:
        """Which elements are whole."""
        return self._marked("integer") | self._marked("boolean")

    def binary(self) -> list[Any]:
        """The bounds of elements that are 0 or 1."""
        places = np.flatnonzero(self._marked("boolean"))
        return [self.vector()[places] >= 0, self.vector()[places] <= 1] if len(places) else []

    def _marked(self, kind: str) -> NDArray[np.bool_]:
        """The elements that have an attribute."""
        marks = [np.zeros(v.shape, dtype=bool) for v in self.variables]
        for v, mark in zip(self.variables, marks, strict=True):
            mark[tuple(getattr(v, f"{kind}_idx")) if v.shape else ()] = bool(v.attributes[kind])
        return np.concatenate([mark.ravel(order="F") for mark in marks])

    def values(self) -> Array:
        """The variables' current values."""
        return np.concatenate([dense(v._value_impl()).ravel(order="F") for v in self.variables])

    def split(self, x: Array) -> dict[int, Array]:
        """A long vector as one array a variable, by its CVXPY id."""
        starts = self.starts
        return {v.id: x[starts[v.id] : starts[v.id] + v.size].reshape(v.shape, order="F") for v in self.variables}


def dense(value: ArrayLike | sparse.csr_matrix) -> Array:
    """A CVXPY value as an array."""
    return numbers(value.toarray() if is_sparse(value) else value, "Values in a CVXPY model", nan=True)


def fixed(expression: Node) -> Node:
    """The same with the user's own parameters at their current values."""
    mine = [p for p in expression.parameters() if not isinstance(p, IndexExpression)]
    for p in mine:
        if p.value is None:
            raise ModelError(f"The parameter {p.name()} has no value; set {p.name()}.value before solving.")
    return expression.tree_copy({id(p): cp.Constant(p.value) for p in mine}) if mine else expression


def read_affine(expression: Node, layout: LeafLayout) -> Affine:
    """A CVXPY expression that is affine in the variables as a vector (column by column) in lsip's language."""
    rules: dict[int, Node] = {id(rule): rule.stand_in for rule in rules_in(expression.variables())}
    return _read(fixed(expression.tree_copy(rules) if rules else expression), layout)


def _read(e: Node, layout: LeafLayout) -> Affine:
    if isinstance(e, IndexExpression):
        return Affine.of(_column_major(e.formula))
    if not e.variables() and not e.parameters():
        return Affine.of(Constant(dense(e.value).ravel(order="F")))
    if has_tensor(e):
        parts = [(v, layout.part(v)) for v in e.variables()]
        return _compose(
            e, parts, [(p, _column_major(p.formula)) for p in e.parameters() if isinstance(p, IndexExpression)]
        )
    if isinstance(e, cp.Expression) and type(e).__name__ == "DivExpression":
        return _quotient(*(_read(arg, layout) for arg in e.args))
    if not e.variables() and not has_tensor(_template(e)[0]):
        return Affine.of(_formula(e, [_read(arg, layout).offset for arg in e.args]))
    template, variables, parameters = _template(e)
    if not has_tensor(template):
        raise NotAffineError(
            f"{e} cannot be read as affine in the variables with coefficients that depend on an index."
        )
    return _compose(
        template,
        [(v, _read(arg, layout)) for v, arg in variables],
        [(p, _read(arg, layout).offset) for p, arg in parameters],
    )


def _column_major(formula: Expression) -> Expression:
    """All elements of a formula as a vector, in CVXPY's order."""
    return Gather(formula, np.arange(formula.size).reshape(formula.shape).ravel(order="F"))


def has_tensor(e: Node) -> bool:
    """Whether CVXPY can canonicalise it with the parameters left open."""
    if not all(issubclass(atom, cp.atoms.affine.affine_atom.AffAtom) for atom in e.atoms()):
        return False
    with cp.utilities.scopes.dpp_scope():
        return bool(e.is_affine())


def _template(e: Node) -> tuple[Node, list[tuple[Leaf, Node]], list[tuple[Leaf, Node]]]:
    """The atom at the top with plain leaves below: a variable, a parameter or a constant for each argument."""
    variables, parameters, leaves = [], [], []
    for arg in e.args:
        if arg.variables():
            leaf = cp.Variable(arg.shape)
            variables.append((leaf, arg))
        elif arg.parameters():
            leaf = cp.Parameter(arg.shape)
            parameters.append((leaf, arg))
        else:
            leaf = arg
        leaves.append(leaf)
    return e.copy(leaves), variables, parameters


def tensor(expressions: list[Node], variables: list[Leaf], parameters: list[Leaf]) -> tuple[Any, int]:
    """CVXPY's coefficients, ((n + 1) rows, parameters + 1), and how many rows there are; the constants come last."""
    asked = SimpleNamespace(variables=lambda: variables, parameters=lambda: parameters, constraints=[])
    inverse = cp.reductions.inverse_data.InverseData(asked)
    extractor = cp.utilities.coeff_extractor.CoeffExtractor(inverse, BACKEND)
    try:
        return sparse.csr_array(extractor.affine(expressions)), sum(e.size for e in expressions)
    except NotImplementedError as error:  # such as cp.cumsum, which CVXPY rewrites before
        names = "; ".join(map(str, expressions))
        raise ModelError(f"CVXPY has no matrix for {names}: write a matrix times the variables instead.") from error


def _compose(template: Node, variables: list[tuple[Leaf, Affine]], parameters: list[tuple[Leaf, Expression]]) -> Affine:
    """A template with affine arrays in the place of its variables and formulas in that of its parameters."""
    table, rows = tensor([template], [v for v, _ in variables], [p for p, _ in parameters])
    formulas = [f for _, f in parameters]
    n = sum(v.size for v, _ in variables)
    offset = combine(table[n * rows :], formulas)
    place = np.flatnonzero(np.diff(table[: n * rows].indptr))
    if not len(place):
        return Affine((rows,), (), offset)
    coefficient = combine(table[place], formulas)
    column, row = place // rows, (place % rows).astype(np.intp)
    below = Affine.join([a for _, a in variables]) if len(variables) > 1 else variables[0][1]
    entries = below.gather(column)
    terms = tuple(replace(t.scaled(coefficient), rows=row[t.rows]) for t in entries.terms)
    if entries.offset_matters:
        adder = sparse.csr_matrix((np.ones(len(row)), (row, np.arange(len(row)))), shape=(rows, len(row)))
        offset = as_expression(offset + Linear(adder, as_expression(coefficient * entries.offset), (rows,)))
    return Affine((rows,), terms, offset)


def combine(table: sparse.csr_array, formulas: list[Expression]) -> Expression:
    """table (r, P + 1) times all elements of the formulas and a final 1; rows with one entry stay exact."""
    table = sparse.csr_array(table)
    count, last = np.diff(table.indptr), table.shape[1] - 1
    first = np.append(table.indices, last)[table.indptr[:-1]]
    value = np.append(table.data, 0.0)[table.indptr[:-1]]
    known = (count == 0) | ((count == 1) & (first == last))
    if known.all():
        return Constant(np.where(count == 0, 0.0, value))
    every: Expression = Join(tuple(formulas)) if len(formulas) > 1 else formulas[0]
    single = (count == 1) & ~known
    groups: list[tuple[Any, Expression]] = [
        (np.flatnonzero(known), Constant(np.where(count == 0, 0.0, value)[known])),
        (np.flatnonzero(single), _scaled(Gather(every, first[single].astype(np.intp)), value[single])),
    ]
    rest = np.flatnonzero(count > 1)
    if len(rest):
        matrix = sparse.csr_matrix(table[rest])
        groups.append((rest, Linear(matrix, Join((every, Constant(np.ones(1)))), (len(rest),))))
    groups = [(where, part) for where, part in groups if len(where)]
    order = np.argsort(np.concatenate([where for where, _ in groups]), kind="stable")
    together = Join(tuple(part for _, part in groups)) if len(groups) > 1 else groups[0][1]
    return Gather(together, order)


def _scaled(u: Expression, factor: Array) -> Expression:
    if (factor == 1).all():
        return u
    return Negate(u) if (factor == -1).all() else as_expression(u * factor)


def _quotient(a: Affine, b: Affine) -> Affine:
    if b.terms:
        raise NotAffineError("A constraint for all y cannot divide by a decision variable.")
    size = max(a.size, b.size)
    quotient: Affine = Affine.of(a).broadcast((size,)) / b.offset
    return quotient


def _formula(e: Node, args: list[Expression]) -> Expression:
    """A CVXPY function of the index alone."""
    name = type(e).__name__
    if name.lower().startswith("power") and hasattr(e, "p"):
        return as_expression(args[0] ** float(e.p.value))
    if name not in _FUNCTIONS:
        raise ModelError(
            f"{e} applies CVXPY's {name} to an index; use the NumPy function instead, which keeps its formula."
        )
    size = max(a.size for a in args)
    return as_expression(_FUNCTIONS[name](*(a if a.size == size else Gather(a, np.zeros(size, np.intp)) for a in args)))
