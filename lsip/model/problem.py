"""The model as a person writes it: an objective, constraints, constraints for all indices; compiled to a `Program`."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import ModelError
from ..expressions.affine import Affine, Constraint, Variable
from ..expressions.graph import Expression
from ..expressions.naming import name_matrices, names_in, recall
from ..expressions.parameter import Parameter, current, parameters_in
from ..expressions.printing import text
from ..files import blamed, read_json, write_json
from ..legible import legibly
from ..validation import shown, title
from .batch import Rows, solve_many
from .callables import FamilyOn
from .compilation import Parts, Written
from .constraints import Statements, flattened, objective_of
from .discretisation import Chosen, FiniteLP, discretise, to_cvxpy
from .method import Answer, Method, Solvable, ready
from .printed import model_latex, model_text
from .problem_file import WHAT, goal_of, problem_data, read_problem
from .program import Program
from .statements import ForAll, Objective
from .status import Status
from .worst_violation import Values, WorstViolation, flat, worst_violation


class Problem(Solvable):
    """A linear semi-infinite program.

    Parameters
    ----------
    objective
        `minimize(...)` or `maximize(...)`.
    constraints
        Finite constraints and `forall(...)`, in any order, nested lists allowed.
    name
        How it is called in reports.

    Examples
    --------
    >>> import numpy as np, lsip
    >>> x = lsip.Variable(2, name="x")
    >>> t = lsip.Index("t", lsip.Interval(0, 1))
    >>> problem = lsip.Problem(lsip.minimize(x[0] + x[1] / 2), [lsip.forall(t, x[0] + x[1] * t >= np.exp(t))])
    >>> solution = problem.solve(verbose=False)
    >>> round(solution.value, 6), solution.certified
    (1.859141, True)
    """

    def __init__(self, objective: Objective, constraints: Iterable[Any] = (), *, name: str = "problem") -> None:
        _check_objective(objective)
        if isinstance(constraints, Constraint | ForAll | FamilyOn):
            raise ModelError(f"The constraints are a list, even of one: [{constraints}].")
        self._objective = objective
        self.name = title("a problem", name)
        self.constraints: list[Constraint | ForAll | FamilyOn] = list(flattened(constraints))
        self._parts = Parts()
        self._last: Answer | None = None
        self._check()
        caller = sys._getframe(1)
        name_matrices(self._typed(), caller.f_locals, caller.f_globals)
        ready()

    def __getstate__(self) -> dict[str, Any]:
        """Without what can be compiled again, and with the names of matrices."""
        return {**vars(self), "_parts": Parts(), "_names": names_in(self._typed())}

    def __setstate__(self, state: dict[str, Any]) -> None:
        recall(state.pop("_names"))
        vars(self).update(state)

    def _typed(self) -> list[object]:
        """What was typed, in which matrices have names."""
        return [self.objective.expression, *map(_typed, self.constraints)]

    @property
    def objective(self) -> Objective:
        """What is minimised or maximised; another one can be assigned."""
        return self._objective

    @objective.setter
    def objective(self, objective: Objective) -> None:
        _check_objective(objective)
        before, self._objective = self._objective, objective
        if before.epigraph or objective.epigraph:  # the variable that stands for it is another
            self._check()

    def _check(self) -> None:
        """Find the variables, and refuse two of one name."""
        found = {term.variable: None for affine in self._affine() for term in affine.terms}
        variables = tuple(sorted((v for v in found if not v.hidden), key=lambda v: v.number))
        if not variables:
            raise ModelError("The model has no decision variable.")
        _check_names([v.name for v in variables], "variables")
        indices = (i for c in self._statements() if isinstance(c, ForAll) for i in c.indices)
        _check_names([i.name for i in dict.fromkeys(i.declared for i in indices)], "indices")
        _check_names([c.name for c in self.constraints if not isinstance(c, FamilyOn) and c.name], "constraints")
        _check_names([p.name for p in self.parameters], "parameters")
        self.variables: tuple[Variable, ...] = variables
        self._hidden = tuple(v for v in found if v.hidden)  # of epigraphs, behind the others in x

    def _affine(self) -> list[Affine]:
        """All that it consists of."""
        return [self.objective.expression, *map(_body, self._statements())]

    def _statements(self) -> list[Constraint | ForAll | FamilyOn]:
        """The constraints, and those that bound a convex objective."""
        return [*self.constraints, *self.objective.epigraph]

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The parameters in its objective, constraints and index sets, and in the bounds of its variables."""
        found = [p for affine in self._affine() for p in affine.parameters]
        sets = [p for c in self._statements() if isinstance(c, ForAll) for p in c.parameters]
        return tuple(dict.fromkeys([*found, *sets, *parameters_in(*self._moving_bounds())]))

    def _moving_bounds(self) -> list[Expression]:
        """Bounds of variables that are formulas of parameters."""
        variables = {t.variable: None for affine in self._affine() for t in affine.terms}
        return [end for v in variables for end in v.bounds if isinstance(end, Expression)]

    def add(self, constraint: Statements | ForAll | FamilyOn) -> None:
        """Add a constraint, or a list of them; the next solve starts from the last one."""
        new = list(flattened([constraint]))
        twice = next((c for c in new if any(c is old for old in self.constraints)), None)
        if twice is not None:
            raise ModelError(f"{twice} is a constraint of the problem already.")
        self._change([*self.constraints, *new])

    def remove(self, constraint: Statements | ForAll | FamilyOn | str) -> None:
        """Remove a constraint, or a list of them, each by its name or as it was given; the next solve starts so."""
        if isinstance(constraint, list | tuple):
            gone = [self.constraint(c) for c in constraint]
        else:
            gone = [self.constraint(constraint)]
        self._change([c for c in self.constraints if not any(c is g for g in gone)])

    def _change(self, constraints: list[Constraint | ForAll | FamilyOn]) -> None:
        """Take other constraints, or stay as it was where they cannot be."""
        before, self.constraints = self.constraints, constraints
        try:
            self._check()
        except ModelError:
            self.constraints = before
            raise

    def constraint(self, which: object) -> Constraint | ForAll | FamilyOn:
        """The constraint of that name, or the given one if it is one of the problem's."""
        for c in self.constraints:
            if c is which or (isinstance(which, str) and not isinstance(c, FamilyOn) and c.name == which):
                return c
        names = [c.name for c in self.constraints if not isinstance(c, FamilyOn) and c.name]
        told = (
            f"called {which!r}; it has {', '.join(names) or 'none with a name'}"
            if isinstance(which, str)
            else shown(which)
        )
        raise ModelError(f"The problem has no constraint {told}. Give the object that it was made with, or a name.")

    @property
    def solution(self) -> Answer | None:
        """The answer of the last `solve`; None before the first."""
        return self._last

    @property
    def value(self) -> float | None:
        """The optimal value that the last `solve` found; None before the first."""
        return None if self._last is None else self._last.value

    @property
    def status(self) -> Status | None:
        """How the last `solve` ended; None before the first."""
        return None if self._last is None else self._last.status

    def _solved(
        self, given: tuple[object, ...], method: Method[Any] | None, options: dict[str, object], verbose: bool
    ) -> Answer:
        warm = self._last if self._last is not None and self._changed() else None
        if warm is None:
            self._parts.forget()
        elif getattr(method, "warm_start", None) is None:
            options = {"warm_start": warm, **options}
        resumed = warm is not None and options.get("warm_start") is warm and options.get("start") is None
        with self._parts.apart() if resumed and getattr(method, "start", None) is None else nullcontext():
            answer = super()._solved(given, method, options, verbose)
        self._last = answer
        for variable in self.variables:
            variable.found(answer[variable] if answer.status.has_point else None)
        return answer

    def solve_many(
        self, values: Rows, *, workers: int | str | None = None, verbose: bool = True, **options: Any
    ) -> list[Answer | None]:
        """Solve for many values of the parameters: a solution for each row, in their order.

        Rows start from solutions of others, in parts: the answers are the same for every number of workers. The problem
        itself, its parameters and its last solution stay as they are.

        Parameters
        ----------
        values
            {parameter: array}, each with one row per solve: shape (N,) for a number, (N, 3) for a parameter of shape 3.
            Or a list of {parameter: value}. Parameters may be given by their names; others keep their values.
        workers
            How many processes solve, or "ray" for a Ray cluster; None: this one. Functions in the model must be defined
            at the top of a module then.
        verbose
            Show a progress bar on a terminal.
        options
            Those of `solve`, for every row: `method`, `tol`, `time_limit`, …

        Returns
        -------
        list
            A solution for each row. After Ctrl-C, those that are done, and None for the others.

        Examples
        --------
        >>> import numpy as np, lsip
        >>> x, t = lsip.Variable(2, name="x"), lsip.Index("t", lsip.Interval(0, 1))
        >>> p = lsip.Parameter(name="p")
        >>> problem = lsip.Problem(lsip.minimize(x[0] + x[1] / 2), [lsip.forall(t, x[0] + x[1] * t >= np.exp(p * t))])
        >>> solutions = problem.solve_many({p: [1.0, 1.5, 2.0]})
        >>> [round(solution.value, 6) for solution in solutions]
        [1.859141, 2.740845, 4.194528]
        """
        return solve_many(self, values, workers, options, verbose)

    def _changed(self) -> bool:
        """Whether it is another model than the one that was solved last."""
        layout = getattr(self._last, "program", None) and self._last.program.layout  # type: ignore[union-attr]
        return layout is not None and not self.written().same(layout.written)

    def discretise(self, points: Chosen) -> FiniteLP:
        """The finite linear program with the constraints at these index points only, as plain arrays.

        Its value is a bound on that of the problem, below it for a minimum and above it for a maximum, and says nothing
        about the index points in between.

        Parameters
        ----------
        points
            A number, for the grid of so many points an axis on every index set; an array (k, m), when all constraints
            share their indices; a list with one of these for each group of constraints that does; or a mapping
            {index: points}.

        Examples
        --------
        >>> import numpy as np, lsip
        >>> x, t = lsip.Variable(2, name="x"), lsip.Index("t", lsip.Interval(0, 1))
        >>> problem = lsip.Problem(lsip.minimize(x[0] + x[1] / 2), [lsip.forall(t, x[0] + x[1] * t >= np.exp(t))])
        >>> lp = problem.discretise(5)
        >>> lp
        FiniteLP problem: minimise over 2 variables, 5 inequalities, 0 equalities, at 5 index points
        >>> lp.labels[1]
        'x[0] + x[1] t ≥ exp(t) at t = 0.25'
        >>> round(lp.solve().value, 6) <= 1.859141  # the optimum
        True
        """
        return discretise(self.compile(), points)

    def to_scipy(self, points: Chosen) -> dict[str, Any]:
        """`discretise(points)` as keyword arguments: `scipy.optimize.linprog(**problem.to_scipy(50))`.

        `linprog` minimises: for a maximum, `c` has its sign turned, and so has the value that comes back. A constant in
        the objective is left out.
        """
        return self.discretise(points).to_scipy()

    def to_cvxpy(self, points: Chosen) -> Any:
        """`discretise(points)` as a `cvxpy.Problem` in the sense of this one, with its variables by name and shape.

        `problem.to_cvxpy(50).solve()` gives the value of the relaxation, and `var_dict["x"].value` a variable.
        """
        return to_cvxpy(self.discretise(points), self.variables)

    def worst_violation(self, x: Values, tol: float = 1e-9, *, time_limit: float | None = None) -> WorstViolation:
        """By how much a point breaks the constraints over all index points at most, where, and a proven bound.

        Parameters
        ----------
        x
            All variables in a row, or a mapping {variable: values}; from anywhere, a discretisation for example.
        tol
            How far the proven bound may be above the value found.
        time_limit
            Seconds after which the search ends: the bound is valid then, and may lie farther above the value.

        Examples
        --------
        >>> import numpy as np, lsip
        >>> x, t = lsip.Variable(2, name="x"), lsip.Index("t", lsip.Interval(0, 1))
        >>> problem = lsip.Problem(lsip.minimize(x[0] + x[1] / 2), [lsip.forall(t, x[0] + x[1] * t >= np.sin(3 * t))])
        >>> worst = problem.worst_violation(problem.discretise(4).solve().x)  # feasible on four points, and between?
        >>> print(f"{worst.value:.4f} at t = {worst.point[0]:.4f}, nowhere more than {worst.bound:.4f}")
        0.1221 at t = 0.5010, nowhere more than 0.1221
        """
        hidden = np.zeros(sum(v.size for v in self._hidden))  # of epigraphs in finite rows, and of no consequence
        every = np.concatenate([flat(self.variables, x), hidden])
        return worst_violation(self._constrained(), every, tol, time_limit)

    def _constrained(self) -> Program:
        """The program without what bounds a convex objective, which is no constraint."""
        if not self.objective.epigraph:
            return self.compile()
        return self._written(self.constraints).compile()

    def data(self) -> dict[str, Any]:
        """The problem as plain data, as `save` writes it; a ModelError says what cannot be written that way."""
        if moving := self._moving_bounds():
            raise ModelError(
                f"A file has numbers for the bounds of variables, and no parameters; got {text(moving[0])}. Write the "
                "bound as a constraint."
            )
        bounds = {v: (v.lower, v.upper) for v in self.variables}
        goal = goal_of(self.objective.expression, self.objective.maximise)
        return problem_data(self.name, goal, self.constraints, bounds, {p: p.value for p in self.parameters})

    def save(self, path: str | Path) -> None:
        """Write the problem as plain data (JSON), for `Problem.load`; no code is stored, and none is run on loading.

        Variables, parameters with their values, index sets, formulas and names are in it, solutions are not. What is
        given by functions cannot be written, and is refused.
        """
        write_json(path, "problem.json", self.data())

    @classmethod
    def load(cls, path: str | Path) -> Problem:
        """Read a problem that `save` has written; a ModelError says what is wrong with any other file.

        It is the same model; what it prints like is read off its formulas, not as it was typed.
        """
        data = read_json(path, WHAT)
        with blamed(path, WHAT):
            return cls.from_data(data)

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> Problem:
        """The problem that `data` tells of; a ModelError says what is wrong with them."""
        goal, constraints, name = read_problem(data)
        return cls(objective_of(goal.expression, goal.maximise, goal.over or None), constraints, name=name)

    def compile(self) -> Program:
        """The arrays and families that a solver works on."""
        return self.written().compile(self._parts)

    def written(self) -> Written:
        """The model as it stands now."""
        return self._written(self._statements())

    def _written(self, statements: Sequence[Constraint | ForAll | FamilyOn]) -> Written:
        variables = (*self.variables, *self._hidden)
        return Written(
            owner=self,
            name=self.name,
            objective=self.objective.expression,
            maximise=self.objective.maximise,
            statements=tuple(statements),
            variables=variables,
            lower=np.concatenate([v.lower for v in variables]),
            upper=np.concatenate([v.upper for v in variables]),
            values=current(self.parameters),
            epigraph=self.objective.epigraph,
        )

    @legibly
    def __str__(self) -> str:
        return model_text(self.objective, self.constraints, self.variables)

    __repr__ = __str__

    def _repr_latex_(self) -> str:
        return model_latex(self.objective, self.constraints, self.variables)


def _check_objective(objective: object) -> None:
    if not isinstance(objective, Objective):
        raise ModelError(f"The objective must be minimize(...) or maximize(...); got {type(objective).__name__}.")


def _check_names(names: Iterable[str], kind: str) -> None:
    """Refuse two variables, or two indices, of one name: a printed model, and `solution["x"]`, could mean either."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            advice = "; or make one, and use it in all constraints" if kind == "indices" else ""
            raise ModelError(f"Two {kind} of the problem are called {name!r}; give each its own `name`{advice}.")
        seen.add(name)


def _typed(statement: Constraint | ForAll | FamilyOn) -> object:
    """What holds the formula of a constraint."""
    return statement.constraint if isinstance(statement, ForAll) else statement


def _body(c: Constraint | ForAll | FamilyOn) -> Affine:
    return c.constraint.body if isinstance(c, ForAll) else c.body
