"""`Problem`: a CVXPY model with constraints for all indices, solved with proof."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from ...errors import ModelError
from ...legible import legibly, say
from ...masters.clarabel import backend
from ...model.program import Program
from ...model.status import Status
from ...proof.certificate import Certificate, TrustAssumption
from ...reductions.equilibration import Scaling
from ...solution.solution import Solution
from ...solver.conic import ConicRelaxation
from ...solver.loop import CutLoop
from ...solver.method import Exchange, solve
from ...solver.options import Options
from ...validation import MOST_AXES, members, shown, title, words
from .affine import LeafLayout, dense
from .approximations import approximations
from .canonical import JUDGE, Canonical
from .carrier import Carrier
from .families import Compiled, compile_families
from .forall import ForAll, refuse_nan
from .index import IndexExpression
from .master import NamedRelaxation, NamedSolver
from .package import Node, cp
from .rule import decided, rules_in
from .solution import ConvexSolution, ModelSolution

NAMES = {  # how CVXPY calls the ends of a solve
    Status.OPTIMAL: "optimal",
    Status.INFEASIBLE: "infeasible",
    Status.UNBOUNDED: "unbounded",
    Status.UNCERTIFIED: "optimal_inaccurate",
    Status.NO_INTERIOR: "optimal_inaccurate",
    Status.STALLED: "optimal_inaccurate",
}

OPTIONS = {"oracle", "tol", "atol", "max_iterations", "time_limit", "seed", "callback", "tuning"}  # of convex models
LINEAR = (*Exchange.__dataclass_fields__, "method")  # options of models whose finite part is linear


@dataclass(frozen=True)
class ConvexOptions(Options):
    """How a convex model is solved; those of the fields that are `OPTIONS` are options of `Problem.solve`.

    Interior-point solvers keep constraints to about 1e-10, and margins must be larger than that.
    """

    tol: float = 1e-6
    max_iterations: int = 200


class Problem:
    """A CVXPY problem in which some constraints hold for all indices.

    Parameters
    ----------
    objective
        `cp.Minimize(...)` or `cp.Maximize(...)`.
    constraints
        CVXPY constraints and `forall(...)`, in any order, nested lists allowed.
    name
        How it is called in reports.

    Attributes
    ----------
    value, status, solver_stats
        As in CVXPY, after `solve`.
    solution
        What `solve` returned last.

    Examples
    --------
    >>> import cvxpy as cp, numpy as np, lsip
    >>> from lsip.interop.cvxpy import Index, Problem, forall
    >>> x, t = cp.Variable(3, name="x"), Index("t", lsip.Interval(0, 1))
    >>> problem = Problem(cp.Minimize(cp.norm(x)), [forall(t, x[0] + x[1] * t + x[2] * t**2 >= np.tan(t)), x <= 10])
    >>> solution = problem.solve()
    >>> solution.status.name, round(problem.value, 5), bool(solution.max_violation <= 1e-8)
    ('OPTIMAL', 0.89917, True)
    """

    def __init__(
        self, objective: cp.Minimize | cp.Maximize, constraints: Iterable[Any] = (), *, name: str = "problem"
    ) -> None:
        if not isinstance(objective, cp.Minimize | cp.Maximize):
            raise ModelError(f"The objective must be cp.Minimize(...) or cp.Maximize(...); got {shown(objective)}.")
        if isinstance(constraints, ForAll | cp.Constraint):
            raise ModelError(f"The constraints are a list, even of one: [{constraints}].")
        self.objective, self.name = objective, title("a problem", name)
        self.constraints: list[Any] = list(_flatten(constraints))
        self.finite: list[Any] = [c for c in self.constraints if not isinstance(c, ForAll)]
        self.foralls: list[ForAll] = [c for c in self.constraints if isinstance(c, ForAll)]
        _refuse_index(objective, f"The objective {objective}", "introduce a variable and bound it with forall instead")
        refuse_nan(objective, f"The objective {objective}")
        self.solution: Any = None
        self.status: str | None = None
        self.value: float | None = None
        self.solver_stats: Any = None
        if not self.variables():
            raise ModelError("The model has no decision variable.")
        self._refuse_kinds()

    def __deepcopy__(self, memo: dict[int, object]) -> Problem:
        """Another problem about the same CVXPY variables, as a copy of an `lsip.Problem` is."""
        return Problem(self.objective, self.constraints, name=self.name)

    def variables(self) -> list[Any]:
        """The CVXPY variables, with the coefficients of rules."""
        return decided(v for part in (self.objective, *self.constraints) for v in part.variables())

    def parameters(self) -> list[Any]:
        """The user's CVXPY parameters; change their values and solve again."""
        found = {p.id: p for part in (self.objective, *self.constraints) for p in part.parameters()}
        return list(found.values())

    def is_dcp(self) -> bool:
        """Whether the finite part is convex by CVXPY's rules; constraints for all indices are affine anyway."""
        return bool(cp.Problem(self.objective, self.finite).is_dcp())

    def _refuse_kinds(self) -> None:
        for v in self.variables():
            if any(v.attributes[kind] for kind in ("complex", "imag", "hermitian")):
                raise ModelError(f"{v.name()} is complex; only real variables are supported.")

    def solve(self, solver: str | None = None, *, verbose: bool = False, **options: object) -> ModelSolution:
        """Solve with proof, and set `value` of the variables and `dual_value` of the constraints.

        Parameters
        ----------
        solver
            The CVXPY solver of the finite relaxations, such as cp.CLARABEL (the default) or cp.SCS. Linear models go
            to lsip's own exchange with HiGHS unless a solver is named.
        verbose
            Print the progress table.
        options
            `tol` (relative gap; 1e-8 for linear models, 1e-6 for others, whose solvers are less accurate), `oracle`,
            `max_iterations`, `time_limit`, `seed`, `callback`; for linear models `method`, an `lsip.Exchange` or an
            `lsip.Counterpart`, and all fields of these. All other keywords go to the CVXPY solver, as in CVXPY's
            `solve`.

        Returns
        -------
        Solution
            lsip's, with its certificate; `solution[x]` for a CVXPY variable or expression.
        """
        if not self.is_dcp():
            raise ModelError(f"The finite part is not convex by CVXPY's rules (DCP):\n{self}")
        carrier, compiled = self._carrier()
        if carrier.program.integer.any() and (solver is not None or not carrier.canonical.linear):
            why = f"solver={solver!r} is one of convex programs" if carrier.canonical.linear else "this one is convex"
            raise ModelError(f"Integer variables need a linear model, solved by lsip's own exchange; {why}.")
        if carrier.canonical.linear and solver is None:
            found = self._exchange(carrier, verbose, options)
        else:
            found = self._convex(carrier, solver, verbose, options)
        trusts = approximations((self.objective, *self.finite, *(c.constraint for c in self.foralls if c.traced)))
        found = _on_trust(found, trusts) if trusts else found
        if trusts and verbose:
            say(found.message)
        status = NAMES.get(found.status, "user_limit")
        present = status in cp.settings.SOLUTION_PRESENT
        # The dual values are those of the proof.
        carrier.canonical.store(present, found.x[:-1], carrier.multipliers(found.certificate, found.program))
        values = {v.id: dense(v._value_impl()) for v in self.variables()} if present else {}
        return self._keep(replace(found, values=values, written=self), compiled, status)

    def compile(self) -> Program:
        """The linear program that lsip solves for a model with a linear finite part."""
        carrier, _ = self._carrier()
        if not carrier.canonical.linear:
            raise ModelError("The finite part is convex, not linear, and has no linear program.")
        return carrier.program

    def _carrier(self) -> tuple[Carrier, Compiled]:
        """CVXPY's canonical form, with all parameters at their current values."""
        layout = LeafLayout.of(self.variables())
        compiled = compile_families(self.foralls, layout)
        canonical = Canonical.of(self.objective, [*self.finite, *layout.binary()], layout)
        return Carrier.of(canonical, compiled, isinstance(self.objective, cp.Maximize), self.name), compiled

    def _exchange(self, carrier: Carrier, verbose: bool, options: dict[str, Any]) -> ModelSolution:
        """By lsip's own methods: the finite part is linear."""
        unknown = ", ".join(k for k in options if k not in LINEAR)
        if unknown:
            raise ModelError(
                f"Unknown option {unknown}; the options of a linear model are {', '.join(LINEAR)} and verbose."
            )
        found = solve(carrier.program, options.pop("method", None), verbose=verbose, **options)
        self._statistics("HIGHS", found)
        return ModelSolution(**{f.name: getattr(found, f.name) for f in fields(Solution)})

    def _convex(self, carrier: Carrier, solver: str | None, verbose: bool, options: dict[str, Any]) -> ModelSolution:
        """By the exchange with a convex solver."""
        ours = {k: v for k, v in options.items() if k in OPTIONS}
        theirs = {k: v for k, v in options.items() if k not in ours}
        linear = ", ".join(k for k in theirs if k in LINEAR)
        if linear:
            raise ModelError(
                f"Unknown option {linear} of a convex model; besides those of its solver, the options are "
                f"{', '.join(sorted(OPTIONS))} and verbose."
            )
        if solver is not None:
            words("solver", solver)
        named = solver if solver is not None and solver.upper() != JUDGE else ""
        chosen, canonical, program = ConvexOptions(**ours), carrier.canonical, Scaling.none(carrier.program).apply()
        mine = np.unique(canonical.place)  # columns of the user's variables
        layout = LeafLayout.of(self.variables())
        asked = NamedSolver(self.objective, self.finite, layout, canonical, named, theirs) if named else None

        def opened() -> ConicRelaxation:
            if asked is None:
                return ConicRelaxation(program, chosen, backend(theirs), mine)
            return NamedRelaxation(program, chosen, mine, asked)

        solution = CutLoop(carrier.program, chosen, opened, answer=ConvexSolution).drive(verbose)
        assert isinstance(solution, ConvexSolution)
        self._statistics(JUDGE, solution)
        self.solver_stats = self.solver_stats if asked is None else asked.stats
        return solution

    def _statistics(self, name: str, found: Solution) -> None:
        stats = cp.problems.problem.SolverStats
        self.solver_stats = stats(name, solve_time=found.seconds, num_iters=len(found.history))

    def _keep(self, solution: ModelSolution, compiled: Compiled, status: str) -> ModelSolution:
        """Remember what was found, where CVXPY's users look for it."""
        measure = compiled.measure(solution.active)
        for c in self.foralls:
            c.dual_value = None if status == "unbounded" else measure[id(c)]
        self.solution, self.status = solution, status
        self.value = (-1.0 if isinstance(self.objective, cp.Maximize) else 1.0) * np.inf
        if solution.status is not Status.INFEASIBLE:
            self.value = solution.value
        return solution

    @legibly
    def __str__(self) -> str:
        lines = [str(self.objective)]
        for i, c in enumerate(self.constraints):
            lines.append(f"{'subject to' if i == 0 else '':<10} {str(c).replace(' <= ', ' ≤ ')}")
        return "\n".join(lines)

    __repr__ = __str__


def _on_trust(found: ModelSolution, trusts: tuple[TrustAssumption, ...]) -> ModelSolution:
    """The same without a claim to be proven: CVXPY's canonical form, which the proof is about, is another model."""
    proof, status, evidence = found.certificate, found.status, found.evidence
    if not status.has_point:
        evidence = f"The model that CVXPY makes of this one is {NAMES[status]}. {' '.join(trusts)}"
        proof = (
            Certificate("none", proof.x, -np.inf, np.inf, finite_violation=proof.finite_violation)
            if status is Status.INFEASIBLE
            else replace(proof, kind="none", direction=None, drift=())
        )
    proof = replace(proof, assumptions=(*proof.assumptions, *trusts))
    status = Status.UNCERTIFIED if status.claims_proof else status
    return replace(found, certificate=proof, status=status, evidence=evidence)


def _flatten(items: Iterable[Any], depth: int = 0) -> Iterable[Any]:
    if depth > MOST_AXES:
        raise ModelError("Constraints are a list; got lists in lists without end.")
    for item in members("constraints", items, "constraints"):
        if isinstance(item, list | tuple):
            yield from _flatten(item, depth + 1)
        elif isinstance(item, ForAll):
            yield item
        elif isinstance(item, cp.Constraint):
            _refuse_index(item, str(item), "wrap it in forall(…)")
            refuse_nan(item, str(item))
            yield item
        else:
            raise ModelError(f"A constraint was expected; got {shown(item)}. Did a comparison collapse into a truth?")


def _refuse_index(part: Node, name: str, advice: str) -> None:
    found = {f.name for p in part.parameters() if isinstance(p, IndexExpression) for f in p.formula.indices()}
    found |= {index.name for rule in rules_in(part.variables()) for index in rule.indices}
    if found:
        raise ModelError(f"{name} depends on the index {', '.join(sorted(found))}: {advice}.")
