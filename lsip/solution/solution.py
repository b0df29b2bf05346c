"""What a person reads after a solve: values, bounds, the dual measure, and the proof behind them."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from ..deadline import check, within
from ..errors import ModelError, OutOfTime, ProofError
from ..expressions.affine import Affine, Constraint, Value, Variable
from ..expressions.convex import Convex
from ..expressions.graph import Expression
from ..expressions.parameter import Values, current
from ..expressions.rule import Rule
from ..expressions.sums import Kept, together, totals
from ..expressions.tape import constant_value
from ..files import blamed, read_arrays, read_facts, whole_file, write_json
from ..legible import legibly
from ..model.callables import FamilyOn
from ..model.compilation import Written
from ..model.families import Seen
from ..model.fingerprint import check_same, differing, fingerprint
from ..model.problem import Problem
from ..model.problem_file import written_data
from ..model.program import Compilable, Program
from ..model.statements import ForAll
from ..model.status import Status
from ..oracles import Oracle
from ..proof.certificate import (
    BoundAssumption,
    Certificate,
    DataAssumption,
    RegionAssumption,
    Support,
    TreeAssumption,
    TrustAssumption,
)
from ..proof.gap import relative_gap
from ..reductions.chain import restate
from ..schema import Either, Schema, anything, conform, double, flag, missing, text
from ..schema import whole as whole_number
from ..validation import flag as check_flag
from ..validation import having, real, shown, whole
from .active import ActivePoint as ActivePoint
from .effort import Effort
from .model_file import write_relaxation
from .reading import Reading
from .rounding import above, below
from .uncertified import reason
from .verify import check_numbers, verify
from .views import shown_by
from .written import WrittenFamily

if TYPE_CHECKING:
    import pandas as pd

Array = NDArray[np.float64]
POSITIONS = ("dependent", "balanced", "basis")  # arrays of a file that hold whole numbers
ASSUMPTIONS = (DataAssumption, TrustAssumption, RegionAssumption, TreeAssumption)
WHAT = "a solution written by Solution.save"
ARRAYS = ("x", "numbers", "rows", "units", "violation", "drift", "direction", "box", *POSITIONS)


def digests(value: object) -> bool:
    """A digest for each part of a model."""
    return isinstance(value, dict) and all(isinstance(part, str) for part in value.values())


_ATOMS: Schema = [(whole_number, whole_number, [double], double)]
FACTS: dict[str, Schema] = {  # of a file, beside its arrays
    "status": text,
    "kind": text,
    "oracle": text,
    "seconds": double,
    "tol": double,
    "atol": double,
    "model": Either(digests, missing),
    "problem": anything,
    "evidence": text,
    "effort": {"date": text, "options": [(text, text)], "seconds": [(text, double)]},
    "assumptions": [(text, text)],
    "support": _ATOMS,
    "confined": flag,
    "cuts": _ATOMS,
    "negligible": double,
    "history": [(whole_number, *(double,) * 5, whole_number, whole_number, double)],
}


@dataclass(frozen=True, eq=False)
class Iterate:
    """One iteration of the exchange, in the sense of the user's objective."""

    iteration: int
    value: float  # of the relaxation
    lower: float
    upper: float
    violation: float  # worst found
    bound: float  # proven over all of Y; inf if unproven
    cuts: int  # added in this iteration
    rows: int  # cuts held by the master
    seconds: float
    x: Array = field(repr=False, default_factory=lambda: np.zeros(0))
    points: tuple[Array, ...] = field(repr=False, default=())  # a family: the new index points
    columns: int = 0  # points of X held by the master, in a decomposition

    @property
    def gap(self) -> float:
        """(upper - lower) / max(|lower|, |upper|), as in `Solution.gap`."""
        return relative_gap(self.lower, self.upper)


@dataclass(frozen=True, eq=False)
class Solution:
    """The answer, and what is known about it.

    `lower <= optimum <= upper` in the sense of the objective as it was written, and `value` lies between them, too;
    `gap` is their distance, relative to the larger of them in size.
    When `certified`, these are theorems: `x` satisfies every constraint for every index, and `certificate` holds the
    proof.
    """

    status: Status
    program: Program
    certificate: Certificate
    history: tuple[Iterate, ...]
    seconds: float
    tol: float
    oracle: str
    variables: tuple[Variable, ...] = ()
    model: Any = None  # the Problem, when there is one
    cuts: tuple[Support, ...] = ()  # all index points in the last master, for warm starts
    evidence: str = ""  # what was found, where it could not be proven
    oracles: tuple[Oracle, ...] = field(repr=False, default=())  # that were asked, one a family
    atol: float = 0.0  # the distance of the bounds that will do whatever the gap, in units of the objective
    kept: Any = field(repr=False, default=None)  # what its solver keeps for the next solve
    negligible: float = 1e-9  # the share of all multipliers below which an atom is no active point
    checked: bool = True  # False for what was read from a file and not verified since
    effort: Effort = field(repr=False, default=Effort())

    def __getstate__(self) -> dict[str, Any]:
        """Without what a solver keeps for the next solve, and what can be read again."""
        return {**{k: v for k, v in vars(self).items() if k not in ("active", "_reading")}, "kept": None}

    @property
    def problem(self) -> Problem | Program:
        """What was solved, as it was written: the `Problem`; the `Program` where there was none, as with `linsip`.

        `program` is what solvers see of it.
        """
        written: Problem | None = self.model
        return self.program if written is None else written

    @cached_property
    def active(self) -> tuple[ActivePoint, ...]:
        """The dual measure for a reader: the index points that hold the solution, heaviest first.

        Points and multipliers are those of the constraints as they were written; `ActivePoint` says what is shown where
        a written row has no multiplier, as at infinity.
        """
        return self._reading.active(self.negligible)

    @cached_property
    def _reading(self) -> Reading:
        return Reading.of(self.program, self.certificate)

    @property
    def families(self) -> tuple[WrittenFamily, ...]:
        """The families of constraints over an index as they were written; `program.families` are those of solvers."""
        return self._reading.families

    @property
    def _sign(self) -> float:
        return -1.0 if self.program.maximise else 1.0

    @property
    def x(self) -> Array:
        """All variables, flat, in the order in which they were made."""
        return self.certificate.x[: sum(v.size for v in self.variables)] if self.variables else self.certificate.x

    @property
    def value(self) -> float:
        """The objective at `x`, which lies between `lower` and `upper` in every answer.

        Where `x` is not proven to be feasible, its objective may be better than any feasible point's; then this is the
        bound next to it. It is nan for an infeasible problem, and infinite for an unbounded one.
        """
        if self.status is Status.INFEASIBLE:
            return float("nan")
        if self.status is Status.UNBOUNDED:
            return -self._sign * np.inf
        value = self._sign * float(self.program.c @ self.certificate.x + self.program.constant)
        return min(max(value, self.lower), self.upper)

    @property
    def lower(self) -> float:
        """No feasible point has a smaller objective (for a maximum: what `x` attains)."""
        return -self.certificate.upper if self.program.maximise else self.certificate.lower

    @property
    def upper(self) -> float:
        """What `x` attains (for a maximum: no feasible point has a larger objective)."""
        return -self.certificate.lower if self.program.maximise else self.certificate.upper

    @property
    def gap(self) -> float:
        """(upper - lower) / max(|lower|, |upper|): 0 where both are the same, infinite where one of them is not known.

        An answer is OPTIMAL where this is at most `tol`, or upper - lower at most `atol`.
        """
        if self.status in (Status.INFEASIBLE, Status.UNBOUNDED):
            return float("nan")
        return relative_gap(self.lower, self.upper)

    @property
    def wide(self) -> bool:
        """Whether an optimum is proven to `atol` only: its gap is more than `tol`."""
        return self.status is Status.OPTIMAL and self.gap > self.tol

    @property
    def certified(self) -> bool:
        """Whether the status is a theorem: proven for every index and every x, with nothing taken on trust."""
        return self.checked and self._claims_proof and not self.certificate.trusts

    @property
    def _claims_proof(self) -> bool:
        return self.status in (Status.OPTIMAL, Status.INFEASIBLE, Status.UNBOUNDED)

    @property
    def max_violation(self) -> float:
        """The largest a(y) x - b(y) of the constraints over an index: a bound over all of Y when `violation_proven`.

        Otherwise it is the largest that was found, and larger ones are not excluded.
        """
        proven = self._proven_violation
        if np.isfinite(proven):
            return proven
        return self.history[-1].violation if self.history else np.inf

    @property
    def violation_proven(self) -> bool:
        """Whether `max_violation` bounds the violation at every index point, rather than where somebody looked."""
        trusted = any(not isinstance(a, BoundAssumption) for a in self.certificate.trusts)
        return self.checked and not trusted and bool(np.isfinite(self._proven_violation))

    @property
    def _proven_violation(self) -> float:
        """The largest violation that is proven; inf where nothing is known of some constraint."""
        known = len(self.certificate.violation) == len(self.program.families)
        return float(max(self.certificate.violation, default=0.0)) if known else np.inf

    @property
    def message(self) -> str:
        """What the status means and what to do next."""
        if not self.checked and self._claims_proof:
            return "What a file says, which nobody has checked; verify() returns it proven, or raises ProofError."
        if self.evidence:
            return self.evidence if self.status is Status.UNCERTIFIED else self._on_conditions(self.evidence)
        if self.wide:
            return (
                "Proven: the point is feasible for every index, and no feasible point is better by more than "
                f"{above(self.upper - self.lower, 2):.2g}. That is at most atol = {above(self.atol, 2):.2g}, which "
                f"alone closed the gap: relative to the bounds it is {above(self.gap, 2):.2g}, and tol {self.tol:.2g}."
            )
        if self.status is not Status.UNCERTIFIED:
            return self._on_conditions(self.status.value)
        if self.certificate.trusts and np.isfinite(self.certificate.upper):
            return f"The bounds rest on what is taken on trust. {' '.join(self.certificate.trusts)}"
        why = reason(self.program, self.certificate.violation, self.oracle, "oracle" in self.effort.options)
        return f"No violation found, but one is not excluded: {why}"

    def _on_conditions(self, said: str) -> str:
        """A sentence with those about what bounds rest on, where a limit or rounding came before these were proven."""
        trusts = self.certificate.trusts
        said = said.replace("he bounds are valid", "he bounds are valid on a condition") if trusts else said
        return " ".join([said, *trusts])

    @overload
    def __getitem__(self, item: Variable[Value]) -> Value: ...

    @overload
    def __getitem__(self, item: Affine | Convex | Expression | str) -> Array | Any: ...

    def __getitem__(self, item: Affine | Convex | Expression | str) -> Any:
        """The value of a variable or an expression without index: `solution[x]`, `solution["x"]`, `solution[2 * x]`.

        Of a rule, the rule that was found.
        """
        if isinstance(item, str):
            item = self._named(item)
        if isinstance(item, Rule):
            return item.found(self[item.coefficients])
        if isinstance(item, Expression):
            item = Affine.of(item)
        if isinstance(item, Convex) and not item.indices():
            return item.evaluated(self.__getitem__)
        if not isinstance(item, Affine) or item.indices():
            raise ModelError(
                "solution[...] takes a variable, or an expression of variables without an index; of one with an index, "
                "e.at({y: points}) gives the values."
            )
        starts = dict(zip(self.variables, np.cumsum([0] + [v.size for v in self.variables]).tolist(), strict=False))
        if isinstance(item, Variable) and item in starts:
            mine = self.x[starts[item] : starts[item] + item.size]
            return mine.reshape(item.shape).copy() if item.shape else float(mine[0])
        values = self._parameters(item)
        parts = [Kept(np.ravel(constant_value(item.offset, values)))]  # type: ignore[arg-type]
        rows = [np.arange(item.size)]
        for term in item.terms:
            if term.variable not in starts:
                raise ModelError(f"{term.variable.name} is not a variable of this problem.")
            formula = constant_value(term.coefficient, values) if term.numbers is None else None
            coefficients = term.numbers or Kept(np.ravel(formula))  # type: ignore[arg-type]
            parts.append(coefficients.times(self.x[starts[term.variable] + term.columns]))
            rows.append(term.rows)
        total = totals(np.concatenate(rows), together(parts)).value
        return total.reshape(item.shape) if item.shape else float(total[0])

    def _parameters(self, item: Affine) -> Values:
        """The values of parameters, as they were in the solve."""
        layout = self.program.layout
        known = {} if layout is None else getattr(layout.written, "values", {})
        return {p: known[p] if p in known else current([p])[p] for p in item.parameters}

    def dual(self, constraint: Constraint | ForAll | FamilyOn | str) -> Array | float | tuple[ActivePoint, ...]:
        """The multipliers of a constraint, given as it was written or by its name.

        Of a finite one, numbers in its shape; of one for all y, the active points, each with its multiplier. They are
        >= 0, but for equalities: what one unit of room, on the right of <= or ==, or on the left of >=, is worth. For a
        problem without a solution, they are the weights of the contradiction. With integer variables they are those of
        the problem in which these are fixed at their values, or of the one in which they need not be whole, where that
        proves the optimum. Of an equality for all y, there is a number for every equation that stands for it; of a
        semidefinite matrix, the number is the trace of the dual matrix.
        """
        statement = self._statement(constraint)
        said: tuple[Any, ...] = self.program.layout.restated.get(statement, ())  # type: ignore[union-attr]
        if said and statement.constraint.equality:
            return self.dual(said[0])
        if statement in self._reading.places:
            number, start, end = self._reading.places[statement]
            held = range(start, end)
            atoms = tuple(a for a in self.active if a.family == number and a.component in held)
            if not isinstance(statement, Constraint):
                return atoms
            found = np.array([sum(a.multiplier for a in atoms if a.component == i) for i in held])
        else:
            place = self.program.layout.places[statement]  # type: ignore[union-attr]
            found = self.row_multipliers()[place.start : place.end]
            found = found if place.factors is None else place.factors * found
        found = statement.shared(found)
        return found.reshape(statement.shape) if statement.shape else float(found[0])

    def _statement(self, asked: object) -> Any:
        """A constraint of the problem as it was solved: this one, or the one of that name."""
        layout = self.program.layout
        statements = () if layout is None else (*layout.restated, *layout.places)
        for statement in statements:
            if statement is asked or (isinstance(asked, str) and getattr(statement, "name", None) == asked):
                return statement
        names = ", ".join(s.name for s in statements if getattr(s, "name", None)) or "no constraint has one"
        told = f"called {asked!r}; the names are: {names}" if isinstance(asked, str) else shown(asked)
        raise ModelError(f"The problem that was solved has no constraint {told}.")

    def reduced_costs(self, variable: Variable) -> Array | float:
        """What the objective would change by with one more unit of a variable, all other constraints paid for.

        It is zero for a variable between its bounds, and what moving a bound is worth for one that is at it.
        """
        found = self.all_reduced_costs()[self._places(variable)]
        return found.reshape(variable.shape) if variable.shape else float(found[0])

    def all_reduced_costs(self) -> Array:
        """Those of all variables, flat, in the order of `x`."""
        reduced = self._reading.reduced - self._reading.balance.costs
        reduced = self._sign * reduced
        return reduced[: sum(v.size for v in self.variables)] if self.variables else reduced

    def row_multipliers(self) -> Array:
        """Those of all finite constraints, row by row, in the sense of the minimisation that was solved."""
        return self._reading.balance.rows

    def _places(self, variable: Variable) -> slice:
        """Where a variable stands in x."""
        if not any(variable is v for v in self.variables):
            raise ModelError(f"{shown(variable)} is not a variable of this problem.")
        start = 0
        for v in self.variables:
            if v is variable:
                break
            start += v.size
        return slice(start, start + variable.size)

    def _named(self, name: str) -> Affine:
        """The variable of that name."""
        known = {v.name: v for v in self.variables}
        if name not in known:
            raise ModelError(
                f"There is no variable called {name!r}; the variables are {', '.join(known) or 'not named'}."
            )
        return getattr(known[name], "rule", known[name])

    def violation(self, family: int = 0) -> Seen:
        """a(y) x - b(y) of a family at the solution, as a function of y: of one of `families`, by its number."""
        whole("family", family, 0)
        if family >= len(self.families):
            known = ", ".join(map(str, range(len(self.families)))) or "none"
            raise ModelError(
                f"`family` is the number of a constraint over an index, counted from 0 ({known}); got {family}."
            )
        return self.families[family].seen(self.certificate.x)

    def verify(
        self,
        tol: float | None = None,
        *,
        atol: float | None = None,
        oracle: Oracle | None = None,
        time_limit: float | None = None,
    ) -> Solution:
        """Re-check the proof from the certificate alone, with nothing kept from the solve; ProofError if it fails.

        Returns the solution; one that was read from a file and not checked before is `certified` from then on, and its
        `max_violation` is what was proven now, where it was said to be less.

        The `gap` of an optimum has to be at most `tol`, by default that of the solve; or its bounds differ by at most
        `atol`, by default what rounding leaves of the model's own terms, whatever a solve or a file may have said.
        Where lsip has no proof of its own, the `oracle` is asked, by default that of the solve; a solution that was
        read from a file has none unless given. After `time_limit` seconds the check ends with `OutOfTime`, which says
        nothing about the proof.
        """
        if time_limit is not None:
            real("time_limit", time_limit, "is a number of seconds, or None for no limit", lambda v: v >= 0)
        for name, value in (("tol", tol), ("atol", atol)):
            if value is not None:
                real(name, value, "is a number >= 0", lambda v: v >= 0)
        if oracle is not None:
            having("oracle", oracle, "maximise", "lsip.oracles.BranchAndBound()")
        try:
            with within(time_limit):
                proven = self._verify(tol, atol, oracle)
        except OutOfTime as late:
            raise OutOfTime(
                f"The proof could not be checked within {time_limit} seconds; nothing was found to be wrong with it."
            ) from late
        if self.checked:
            return self
        return replace(self, checked=True, certificate=replace(self.certificate, violation=proven))

    def _verify(self, tol: float | None, atol: float | None, oracle: Oracle | None) -> tuple[float, ...]:
        program = self._compiled() if self.model is not None else self._forgetful()
        asked = (oracle,) * len(program.families) if oracle is not None else self.oracles or None
        tol = self.tol if tol is None else tol
        try:
            return verify(program, self.certificate, self.status, tol, atol=atol, oracles=asked)
        except ProofError:
            check("verification")  # a proof that was stopped is not as sharp
            raise

    def _compiled(self) -> Program:
        """The program of the model, as it was when it was solved, which has to be the one that is shown."""
        layout = self.program.layout
        changed = layout is not None and layout.owner is self.model  # perhaps, since then
        program = restate(layout.written if changed else self.model)  # type: ignore[union-attr]
        different = differing(fingerprint(program), fingerprint(self.program))
        if different:
            raise ProofError(f"The program of the solution is not that of its model: {', '.join(different)} differ.")
        return program

    def _forgetful(self) -> Program:
        """The program without what the solver remembered about its families."""
        for family in self.program.families:
            family.memory.forget()
        return self.program

    def plot(self, path: str | Path | None = None, *, family: int | str | None = None, kind: str | None = None) -> Any:
        """Draw the violation over Y with the active points, or `kind="variables"`, or `kind="convergence"`."""
        return shown_by("plot")(self, path, family=family, kind=kind)

    def report(self, path: str | Path) -> Path:
        """Write one self-contained page (HTML) about the model, the proof, the violation over Y and the solve."""
        written: Path = shown_by("report")(self, path)
        return written

    def to_frame(self, what: str = "variables") -> pd.DataFrame:
        """A table of pandas, with one row for each element of the variables; or of something else.

        Parameters
        ----------
        what
            "variables": name, place in the array, value, bounds and reduced cost; "active": the index points that hold
            the solution, with their coordinates and multipliers; "rows": the finite constraints, with value, sides and
            multiplier; "history": the iterations.
        """
        return shown_by("to_frame")(self, what)

    def _repr_html_(self) -> str:
        page: str = shown_by("notebook")(self)
        return page

    def save(self, path: str | Path) -> None:
        """Write the answer and its certificate to an .npz file (no code is stored, and none is run on loading).

        The problem is in it as it was solved, wherever `Problem.save` can write it.
        """
        joined = self._joined()
        c = joined.certificate
        facts = {
            "status": self.status.name,
            "kind": c.kind,
            "oracle": self.oracle,
            "seconds": self.seconds,
            "tol": self.tol,
            "atol": self.atol,
            "model": fingerprint(joined.program),
            "problem": self._written(),
            "evidence": self.evidence,
            "effort": self.effort.facts(),
            "assumptions": [[type(a).__name__, a] for a in c.assumptions],
            "support": _rows(c.support),
            "confined": c.confined,
            "cuts": _rows(joined.cuts),
            "negligible": self.negligible,
            "history": [
                [h.iteration, h.value, h.lower, h.upper, h.violation, h.bound, h.cuts, h.rows, h.seconds]
                for h in self.history
            ],
        }
        arrays = {
            "x": c.x,
            "numbers": np.array([c.lower, c.upper, c.radius, c.finite_violation]),
            "rows": c.row_multipliers,
            "units": c.units,
            "violation": np.array(c.violation),
            "drift": np.array(c.drift),
            "direction": np.zeros(0) if c.direction is None else c.direction,
            "box": c.box,
            "dependent": c.dependent,
            "balanced": c.balanced,
            "basis": c.basis,
        }
        with whole_file(path, "solution.npz") as part, part.open("wb") as stream:
            np.savez(stream, facts=np.array(json.dumps(facts)), **arrays)  # type: ignore[arg-type]

    def _joined(self) -> Solution:
        """The same of the program as a new problem has it, where constraints that came later stayed apart."""
        layout = self.program.layout
        written = None if layout is None else layout.written
        if layout is None or not isinstance(written, Written) or written.together is written:
            return self
        program, c = restate(written.together), self.certificate
        assert program.layout is not None
        there = layout.moves(program.layout)

        def most(values: tuple[float, ...]) -> tuple[float, ...]:
            found = [-np.inf] * len(program.families)
            for (before, _), (now, _) in there.items():
                found[now] = max(found[now], values[before])
            return tuple(found)

        def moved(atoms: tuple[Support, ...]) -> tuple[Support, ...]:
            return tuple(s.at(*there[s.family, s.component]) for s in atoms)

        return replace(
            self,
            program=program,
            certificate=replace(
                c,
                support=moved(c.support),
                violation=most(c.violation) if c.violation else (),
                drift=most(c.drift) if c.drift else (),
            ),
            cuts=moved(self.cuts),
            oracles=(),
        )

    def _written(self) -> dict[str, Any] | None:
        """The problem as plain data, as it was solved; None where there is none that can be written."""
        written = None if self.program.layout is None else self.program.layout.written
        try:
            return written_data(written) if isinstance(written, Written) and self.model is not None else None
        except ModelError:
            return None

    def export(self, path: str | Path) -> None:
        """Write the model and its proof as JSON, for `lsip check`: a checker that shares no code with lsip.

        Only what is certified can be exported, and only models whose constraints are formulas; a ModelError says why
        another one is not.
        """
        from ..proof.export import proof_data

        data = proof_data(self.program, self.certificate, self.status, self.tol, self.atol)
        write_json(path, "proof.json", data)

    def write(self, path: str | Path) -> None:
        """Write the last finite relaxation to an .mps or .lp file: the finite part, and rows at the index points held.

        Variables and constraints have their names, those without one are numbered (c0, c1, …), and rows at index points
        are called name@y, with ~ for a minus and _ between coordinates. Its optimal value is the bound that the solve
        ended with, up to the tolerance, as any solver that reads the file can tell.

        Examples
        --------
        >>> import numpy as np, lsip
        >>> x, t = lsip.Variable(2, name="x"), lsip.Index("t", lsip.Interval(0, 1))
        >>> above = lsip.forall(t, x[0] + x[1] * t >= np.exp(t), name="above")
        >>> solution = lsip.Problem(lsip.minimize(x[0] + x[1] / 2), [above]).solve(verbose=False)
        >>> solution.write("relaxation.mps")  # doctest: +SKIP
        """
        if self.program.integer.any() and self.program.families and not self.cuts:
            raise ModelError(
                "This answer comes from one branch and bound over the robust counterpart, which holds no rows at index "
                "points that could be written; write that of solve(method=lsip.Exchange())."
            )
        held = {s.place: s for s in (*self.certificate.support, *self.cuts)}
        cuts = tuple((s, self._reading.point(s)) for s in held.values())
        write_relaxation(path, self.program, cuts, self.variables)

    @classmethod
    def load(cls, path: str | Path, problem: Program | Compilable | None = None, *, verify: bool = True) -> Solution:
        """Read a solution of `problem` back; a file of another model is refused.

        Without a `problem`, it is the one that the file holds: `solution.problem`. What is proven is proven of that.

        A file is believed nothing: where it claims a proof, that is checked as in `verify()`, and ProofError is raised
        if it fails. With `verify=False`, only shapes and numbers are looked at, and nothing is `certified` until
        `verify()` returns it so; other answers than proofs are always left to that.

        Models are compared by what they contain, not by their names; functions without a formula by their values at a
        few points.
        """
        check_flag("verify", verify)
        program = None if problem is None else restate(problem)
        held = read_facts(path, WHAT)
        with blamed(path, WHAT):
            facts = {"model": None, "problem": None, **held}
            conform(facts, FACTS, "it")
            data = read_arrays(path, WHAT, ARRAYS.__contains__)
            arrays = {name: _vector(data[name], name) for name in ARRAYS}
            if program is None or problem is None:
                problem = _stored(path, facts["problem"])
                program = restate(problem)
            if arrays["x"].shape != (program.n,):
                raise ModelError(f"{path} holds {arrays['x'].size} variables, the problem has {program.n}.")
            check_same(path, facts["model"], program)
            found = cls._read(facts, arrays, program, problem)
        return found.verify() if verify and found._claims_proof else found

    @classmethod
    def _read(
        cls, facts: dict[str, Any], arrays: dict[str, Any], program: Program, problem: Program | Compilable
    ) -> Solution:
        """A solution from what a file holds, once its numbers are such as a certificate needs."""

        def atoms(rows: list[Any]) -> tuple[Support, ...]:
            return tuple(Support(int(f), int(c), np.array(y, dtype=float), float(v)) for f, c, y, v in rows)

        floats = {k: np.asarray(v, dtype=float) for k, v in arrays.items() if k not in POSITIONS}
        places = {k: np.asarray(arrays[k], dtype=np.intp) for k in POSITIONS}
        kinds = {kind.__name__: kind for kind in ASSUMPTIONS}
        lower, upper, radius, finite = map(float, floats["numbers"])
        certificate = Certificate(
            kind=facts["kind"],
            x=floats["x"],
            lower=lower,
            upper=upper,
            radius=radius,
            support=atoms(facts["support"]),
            row_multipliers=floats["rows"],
            units=floats["units"],
            violation=tuple(map(float, floats["violation"])),
            finite_violation=finite,
            direction=floats["direction"] if len(floats["direction"]) else None,
            drift=tuple(map(float, floats["drift"])),
            box=floats["box"],
            confined=bool(facts["confined"]),
            assumptions=tuple(kinds[kind](sentence) for kind, sentence in facts["assumptions"]),
            **places,
        )
        status, tol = Status[facts["status"]], float(facts["tol"])
        check_numbers(program, certificate, tol)
        return cls(
            status=status,
            program=program,
            certificate=certificate,
            history=tuple(Iterate(*row) for row in facts["history"]),
            seconds=float(facts["seconds"]),
            tol=tol,
            atol=float(facts["atol"]),
            oracle=str(facts["oracle"]),
            variables=problem.variables if isinstance(problem, Problem) else (),
            model=None if problem is program else problem,
            cuts=atoms(facts["cuts"]),
            evidence=str(facts["evidence"]),
            negligible=float(facts["negligible"]),
            effort=Effort.read(facts["effort"]),
            checked=False,
        )

    @legibly
    def __str__(self) -> str:
        lines = [f"{self.status.name}: {self.message}"]
        if self.status not in (Status.INFEASIBLE, Status.UNBOUNDED):
            lines.append(f"value     {self.value:.10g}")
            low, high = below(self.lower, 10), above(self.upper, 10)
            lines.append(f"bounds    [{low:.10g}, {high:.10g}], relative gap {above(self.gap, 2):.2g}")
            lines.append(
                f"violation {above(self.max_violation, 3):.3g} at most"
                if self.violation_proven
                else f"violation {self.max_violation:.3g} found"
            )
        if self.active:
            lines.append("active    " + "\n          ".join(str(a) for a in self.active[:10]))
        return "\n".join(lines)

    __repr__ = __str__


def _vector(array: Any, name: str) -> Any:
    """An array of a file, which is a row of numbers; positions are whole."""
    if array.ndim != 1 or (name in POSITIONS and array.size and array.dtype.kind not in "iu"):
        raise ModelError(f"{name} must be a row of numbers; got {array.dtype} of shape {array.shape}.")
    return array


def _stored(path: str | Path, data: dict[str, Any] | None) -> Problem:
    """The problem in a file of a solution."""
    if data is None:
        raise ModelError(f"{path} does not hold the problem, which no file can; give it: load({str(path)!r}, problem).")
    return Problem.from_data(data)


def _rows(support: tuple[Support, ...]) -> list[list[Any]]:
    """Atoms as plain lists."""
    return [[s.family, s.component, s.point.tolist(), s.multiplier] for s in support]
