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
from typing import Any

import numpy as np
from scipy import sparse

from ..errors import ModelError
from ..expressions.arrangements import matrix_rows
from ..expressions.graph import Index
from ..expressions.index_sets import Cut, domain_data
from ..expressions.region import Region
from ..expressions.serialize import finite_or_none
from ..expressions.tape import Tape
from ..model.families import RowFamily
from ..model.program import Program
from ..model.status import Status
from .certificate import Certificate

FORMAT, VERSION = "lsip-proof", 1
Data = dict[str, Any]
_EXACT: dict[str, Callable[[list[Fraction]], Fraction]] = {
    "add": lambda v: sum(v, Fraction(0)),
    "multiply": lambda v: v[0] * v[1],
    "negate": lambda v: -v[0],
}


def proof_data(program: Program, certificate: Certificate, status: Status, tol: float, atol: float) -> Data:
    """All that a checker needs, as plain data; a ModelError says what cannot be written that way.

    The program is the one that was given, in whose units the certificate is, not one that a solver made of it.
    """
    if not status.claims_proof or certificate.trusts:
        raise ModelError(
            f"Only what is certified can be exported as a proof; the status is {status.name}"
            + (f", which takes on trust: {certificate.trusts[0]}" if certificate.trusts else ".")
        )
    if program.integer.any():
        raise ModelError(f"{program.name} has integer variables, which the format of proofs does not know.")
    if certificate.confined:
        raise ModelError(
            "The proof confines the variables to a box first, which the format of proofs does not know: "
            "solution.verify() checks it, and solve(oracle='support') may find a proof of the other kind."
        )
    direction = certificate.direction if status is Status.UNBOUNDED else None
    return {
        "format": FORMAT,
        "version": VERSION,
        "status": status.name,
        "tol": float(tol),
        "atol": float(atol),
        "claim": {"lower": finite_or_none(certificate.lower), "upper": finite_or_none(certificate.upper)},
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
        "lower": list(map(finite_or_none, program.lower)),
        "upper": list(map(finite_or_none, program.upper)),
        "rows": {
            "entries": matrix_rows(rows),
            "lower": list(map(finite_or_none, program.row_lower)),
            "upper": list(map(finite_or_none, program.row_upper)),
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


def _inequalities(region: Cut) -> Data:
    """What cuts an index set, as steps, and which of them are nowhere negative on it."""
    assert isinstance(region, Region)
    steps, places = _ProofSteps.of(region.tape)
    used, (inside,) = steps.used(places)
    return {"steps": used, "inside": inside}


def _family(family: RowFamily) -> Data:
    tape = getattr(family.source, "tape", None)
    if tape is None:
        raise ModelError(
            f"{family.legend.name} is given by functions without a formula. A proof about it cannot be exported, "
            "because the checker could not evaluate it; write the constraint with an lsip.Index."
        )
    (steps, values), (rows, width) = _ProofSteps.of(tape), family.columns.shape
    rhs = values[rows * width :]
    used, (coefficients, rhs) = steps.used(values[: rows * width], rhs if len(rhs) == rows else rhs * rows)
    return {
        "name": family.legend.name,
        "domain": domain_data(family.domain, _inequalities),
        "columns": family.columns.tolist(),
        "steps": used,
        "coefficients": [coefficients[i * width : (i + 1) * width] for i in range(rows)],
        "rhs": rhs,
    }


class _ProofSteps:
    """A formula in single numbers: equal steps are made once, and what is known as a double is computed at once."""

    def __init__(self, offsets: dict[Index, int]) -> None:
        self.offsets, self.steps, self.known = offsets, list[Data](), dict[Any, int]()

    @staticmethod
    def of(tape: Tape) -> tuple[_ProofSteps, list[int]]:
        """The steps of formulas, and the places of their numbers."""
        steps, known = _ProofSteps(tape.offsets), dict[int, list[int]]()
        for i, node, args in tape.written.steps():
            known[i] = node.proven(steps, [known[a] for a in args])
        return steps, known[tape.written.output]

    def step(self, op: str, *args: int, **extra: object) -> int:
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
