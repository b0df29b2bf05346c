"""A solution as plain data: the model, the claim, and the numbers that prove it, for a checker that shares no code.

The schema (`FORMAT`, `VERSION`) is made of objects, lists, strings and numbers, as JSON has them. Numbers are doubles,
which JSON spells without loss; a missing bound is null. Everything is about the minimisation form.

    status      OPTIMAL, INFEASIBLE or UNBOUNDED
    tol, atol   the gap of an optimum is at most max(tol |lower|, tol |upper|, atol)
    claim       lower and upper bound of the optimal value; null where it is infinite
    model       c, constant, lower, upper; rows (entries [column, coefficient], lower, upper); families; maximise
    point       x; the half-widths `box` around it that hold an exact solution of the equalities; dependent equalities
    measure     atoms (family, row, point, multiplier), multipliers of the rows; the basis, whose multipliers stand for
                the exact ones that balance the columns `balanced`
    direction   of unboundedness, or null

A family holds the rows coefficients . x[columns] <= rhs, one for each list of columns and for every index point of
its domain {kind, arguments}; a Region, which is cut by inequalities, has steps too, and lists those that are nowhere
negative `inside`. `coefficients` and `rhs` name steps, one for each column and one for each row. A step is
an operation {op, args} on the numbers that steps before it found, and finds one number:

    index       the coordinate `coordinate` of the index point
    constant    `value`
    between     some number between the two `ends`, such as an integral: what is claimed holds for every one of them
    add         the sum of any number of arguments
    linear      their sum, each times one of `weights`
    multiply, divide, negate, absolute, maximum, and elementary functions by their names in numpy
    power       with the exponent `exponent`

The points of atoms lie in the index set exactly, wherever that could be proven.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

from ..errors import ModelError
from ..expressions.angle import Angle
from ..expressions.elementary import FUNCTIONS
from ..expressions.enclosed import Enclosed
from ..expressions.graph import (
    Absolute,
    Add,
    Apply,
    Constant,
    Divide,
    Expression,
    Gather,
    Index,
    Irrational,
    Join,
    Linear,
    Multiply,
    Negate,
    Power,
    Select,
    Sum,
)
from ..expressions.index_sets import Cut, domain_data
from ..expressions.monomials import Monomials
from ..expressions.region import Region
from ..expressions.tape import Tape
from ..model.families import RowFamily
from ..model.program import Program
from ..model.status import Status
from .certificate import Array, Certificate

FORMAT, VERSION = "lsip-proof", 1
CLAIMS = (Status.OPTIMAL, Status.INFEASIBLE, Status.UNBOUNDED)
Data = dict[str, Any]
Extra = float | str | bool | list[float]  # what a step has beside its arguments
_EXACT: dict[str, Callable[[list[Fraction]], Fraction]] = {
    "add": lambda v: sum(v, Fraction(0)),
    "multiply": lambda v: v[0] * v[1],
    "negate": lambda v: -v[0],
}


def proof_data(program: Program, certificate: Certificate, status: Status, tol: float, atol: float) -> Data:
    """All that a checker needs, as plain data; a ModelError says what cannot be written that way.

    The program is the one that was given, in whose units the certificate is, not one that a solver made of it.
    """
    if status not in CLAIMS or certificate.trusts:
        raise ModelError(
            f"Only what is certified can be exported as a proof; the status is {status.name}"
            + (f", which takes on trust: {certificate.trusts[0]}" if certificate.trusts else ".")
        )
    if program.integer.any():
        raise ModelError(f"{program.name} has integer variables, which the format of proofs does not know.")
    if certificate.confined:
        raise ModelError(
            "The proof confines the variables to a box first, which the format of proofs does not know: "
            "solution.verify() checks it, and solve(method=lsip.Exchange()) may find a proof of the other kind."
        )
    direction = certificate.direction if status is Status.UNBOUNDED else None
    return {
        "format": FORMAT,
        "version": VERSION,
        "status": status.name,
        "tol": float(tol),
        "atol": float(atol),
        "claim": {"lower": _bound(certificate.lower), "upper": _bound(certificate.upper)},
        "model": model_data(program),
        "point": {
            "x": certificate.x.tolist(),
            "box": certificate.box.tolist(),
            "dependent": certificate.dependent.tolist(),
        },
        "measure": _measure(certificate, program),
        "direction": None if direction is None else direction.tolist(),
    }


def model_data(program: Program) -> Data:
    """A compiled model as plain data."""
    if program.cones is not None:
        raise ModelError(f"{program.name} has conic constraints, which the format of proofs does not know.")
    rows = sparse.csr_matrix(program.A)
    return {
        "name": program.name,
        "maximise": program.maximise,
        "names": list(program.names),
        "c": program.c.tolist(),
        "constant": float(program.constant),
        "lower": _bounds(program.lower),
        "upper": _bounds(program.upper),
        "rows": {
            "entries": _entries(rows),
            "lower": _bounds(program.row_lower),
            "upper": _bounds(program.row_upper),
        },
        "families": [_family(family) for family in program.families],
    }


def _measure(certificate: Certificate, program: Program) -> Data:
    rows = certificate.row_multipliers
    atoms = []
    for s in certificate.support:
        lower, upper = (end[0] for end in program.families[s.family].domain.witness(s.point[None]))
        point = lower if (lower == upper).all() else s.point
        atoms.append(
            {"family": s.family, "row": s.component, "point": point.tolist(), "multiplier": float(s.multiplier)}
        )
    return {
        "atoms": atoms,
        "rows": (rows if len(rows) else np.zeros(program.finite_rows)).tolist(),
        "balanced": certificate.balanced.tolist(),
        "basis": certificate.basis.tolist(),
    }


def _bound(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _bounds(values: Array) -> list[float | None]:
    return [_bound(v) for v in values.tolist()]


def _entries(matrix: sparse.csr_matrix) -> list[list[list[Any]]]:
    """The entries of every row of a sparse matrix, [column, value]."""
    ends = matrix.indptr.tolist()
    pairs = [[j, v] for j, v in zip(matrix.indices.tolist(), matrix.data.tolist(), strict=True)]
    return [pairs[a:b] for a, b in pairwise(ends)]


def _inequalities(region: Cut) -> Data:
    """What cuts an index set, as steps, and which of them are nowhere negative on it."""
    assert isinstance(region, Region)
    steps, places = _Steps.of(region.tape)
    used, (inside,) = steps.used(places)
    return {"steps": used, "inside": inside}


def _family(family: RowFamily) -> Data:
    tape = getattr(family, "tape", None)
    if tape is None:
        raise ModelError(
            f"{family.name} is given by functions without a formula. A proof about it cannot be exported, because the "
            "checker could not evaluate it; write the constraint with an lsip.Index."
        )
    (steps, values), (rows, width) = _Steps.of(tape), family.columns.shape
    rhs = values[rows * width :]
    used, (coefficients, rhs) = steps.used(values[: rows * width], rhs if len(rhs) == rows else rhs * rows)
    return {
        "name": family.name,
        "domain": domain_data(family.domain, _inequalities),
        "columns": family.columns.tolist(),
        "steps": used,
        "coefficients": [coefficients[i * width : (i + 1) * width] for i in range(rows)],
        "rhs": rhs,
    }


class _Steps:
    """A formula in single numbers: equal steps are made once, and what is known as a double is computed at once."""

    def __init__(self, offsets: dict[Index, int]) -> None:
        self.offsets, self.steps, self.known = offsets, list[Data](), dict[Any, int]()

    @staticmethod
    def of(tape: Tape) -> tuple[_Steps, list[int]]:
        """The steps of formulas, and the places of their numbers."""
        steps, known = _Steps(tape.offsets), dict[int, list[int]]()
        for i, node, args in tape.written.steps():
            known[i] = steps.read(node, [known[a] for a in args])
        return steps, known[tape.written.output]

    def step(self, op: str, *args: int, **extra: Extra) -> int:
        """The place of a step."""
        given = [Fraction(self.steps[a]["value"]) for a in args if self.steps[a]["op"] == "constant"]
        if op in _EXACT and len(given) == len(args):
            exact = _EXACT[op](given)
            if abs(exact) < 2**1000 and Fraction(float(exact)) == exact:  # beyond, they stay steps
                return self.step("constant", value=float(exact))
        key = (op, args, str(extra))
        if key not in self.known:
            self.known[key] = len(self.steps)
            self.steps.append({"op": op, "args": list(args), **extra})
        return self.known[key]

    def used(self, *roots: list[int]) -> tuple[list[Data], list[list[int]]]:
        """The steps that are needed, and the new places of those that were asked for."""
        needed = {i for part in roots for i in part}
        for i in range(len(self.steps) - 1, -1, -1):
            needed |= set(self.steps[i]["args"]) if i in needed else set()
        place = {old: new for new, old in enumerate(sorted(needed))}
        steps = [{**self.steps[i], "args": [place[a] for a in self.steps[i]["args"]]} for i in place]
        return steps, [[place[i] for i in part] for part in roots]

    def power(self, a: int, k: float) -> int:
        """A power: of the root where the exponent is half a whole number, and the reciprocal where it is negative."""
        if k == 1:
            return a
        if k < 0:
            return self.step("divide", self.step("constant", value=1.0), self.power(a, -k))
        if k != round(k) and 2 * k == round(2 * k):
            return self.power(self.step("sqrt", a), 2 * k)
        return self.step("power", a, exponent=int(k) if k == round(k) else float(k))

    def monomial(self, index: list[int], exponents: list[int]) -> int:
        """A product of powers of coordinates."""
        powers = [self.power(a, k) for a, k in zip(index, exponents, strict=True) if k]
        found = powers[0] if powers else self.step("constant", value=1.0)
        for factor in powers[1:]:
            found = self.step("multiply", found, factor)
        return found

    def read(self, node: Expression, args: list[list[int]]) -> list[int]:
        """The steps of all numbers of a node; an argument of length 1 stands for as many equal ones as are needed."""
        match node:
            case Index():
                return [self.step("index", coordinate=self.offsets[node] + k) for k in range(node.domain.dim)]
            case Enclosed():
                ends = zip(node.lower.ravel().tolist(), node.upper.ravel().tolist(), strict=True)
                return [
                    self.step("constant", value=a) if a == b else self.step("between", ends=[a, b]) for a, b in ends
                ]
            case Irrational():
                return [self.step("irrational", name=node.name)]
            case Constant():
                if not np.isfinite(node.value).all():
                    raise ModelError("A constant of the model is infinite or nan; it cannot be exported.")
                return [self.step("constant", value=v) for v in node.value.ravel().tolist()]
            case Apply():
                powers = {"square": 2.0, "reciprocal": -1.0}
                name = node.function.name
                if name not in FUNCTIONS:
                    raise ModelError(f"The format of proofs has no name for a {name.partition('_')[0]}, as in {node}.")
                return [self.power(a, powers[name]) if name in powers else self.step(name, a) for a in args[0]]
            case Power():
                return [self.power(a, k) for a, k in _together([args[0], node.exponents.ravel().tolist()])]
            case Gather():
                return [args[0][i] for i in node.index.tolist()]
            case Join():
                return [a for part in args for a in part]
            case Sum():
                return [self.step("add", *args[0][i : i + node.k]) for i in range(0, len(args[0]), node.k)]
            case Linear():
                return [self.linear(row, args[0]) for row in _entries(sparse.csr_matrix(node.matrix))]
            case Monomials():
                return [self.monomial(args[0], row) for row in node.exponents.tolist()]
            case Select():  # a maximum is one of its last two arguments, whatever decides
                if node.continuous:
                    return [self.step("maximum", *each[1:]) for each in _together(args)]
                return [self.step("select", *each, otherwise=node.otherwise) for each in _together(args)]
        names = {Add: "add", Multiply: "multiply", Divide: "divide", Negate: "negate", Absolute: "absolute"}
        op = {**names, Angle: "angle"}.get(type(node))
        if op is None:
            raise ModelError(f"The format of proofs has no name for {type(node).__name__}, which is part of the model.")
        return [self.step(op, *each) for each in _together(args)]

    def linear(self, row: list[list[Any]], args: list[int]) -> int:
        """A sum of multiples."""
        terms = [(args[j], v) for j, v in row if v != 0]
        return self.step("linear", *(a for a, _ in terms), weights=[v for _, v in terms])


def _together(args: list[list[Any]]) -> list[tuple[Any, ...]]:
    size = max(map(len, args)) if all(args) else 0
    return list(zip(*(a * size if len(a) == 1 else a for a in args), strict=True)) if size else []
