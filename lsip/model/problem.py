"""The model as a person writes it: an objective, constraints, constraints for all indices; compiled to a `Program`."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from ..domains.notation import latex_power, power
from ..errors import ModelError
from ..expressions.affine import Affine, Constraint, Variable
from ..expressions.convex import Convex
from ..expressions.convex_rows import convex_objective, enclosed_objective
from ..expressions.folds import unfolded
from ..expressions.graph import Condition, Expression, Index
from ..expressions.naming import name_matrices, names_in, recall
from ..expressions.operators import Operators, Statement, bare
from ..expressions.parameter import Parameter, current, parameters_in
from ..expressions.printing import latex, text
from ..expressions.rule import Coefficients
from ..files import blamed, read_json, write_json
from ..legible import legibly
from ..validation import MOST_AXES, members, shown, title, words
from .batch import Rows, solve_many
from .callables import FamilyOn
from .compilation import Parts, Written, grouped
from .discretisation import Chosen, FiniteLP, discretise, to_cvxpy
from .method import Answer, Method, Solvable, ready
from .problem_file import WHAT, goal_of, problem_data, read_problem
from .program import Program
from .restated import Restated
from .statements import ForAll, Objective, check_indices, titled
from .status import Status
from .worst_violation import Values, WorstViolation, flat, worst_violation

# One, or lists of them; NumPy's annotations take a comparison of what its functions give for an array.
Statements = Statement | NDArray[np.bool_] | Sequence["Statements"]


Value = Affine | Convex | Expression | float | NDArray[Any]  # what an objective may be


def minimize(expression: Value, *, over: Index | Sequence[Index] | None = None) -> Objective:
    """The objective of a minimisation: affine, or convex as absolute values, maxima and norms are.

    With an index, or several, that it is `over`: the largest value for all of them.

    Examples
    --------
    >>> import numpy as np, lsip
    >>> x, t = lsip.Variable(2, name="x"), lsip.Index("t", lsip.Interval(0, 1))
    >>> problem = lsip.Problem(lsip.minimize(np.abs(x[0] + x[1] * t - np.exp(t)), over=t))
    >>> print(problem)
    minimize |x[0] + x[1] t - exp(t)|   at its worst over t ∈ [0, 1]
    >>> round(problem.solve(verbose=False).value, 6)
    0.105933
    """
    return _objective(expression, False, over)


def maximize(expression: Value, *, over: Index | Sequence[Index] | None = None) -> Objective:
    """The objective of a maximisation: affine, or concave as minima are; the smallest value for all indices `over`."""
    return _objective(expression, True, over)


def _objective(expression: Value, maximise: bool, over: Index | Sequence[Index] | None) -> Objective:
    found = expression if isinstance(expression, Convex) else Affine.of(expression)
    if found.size != 1:
        raise ModelError(
            f"An objective is one number; {text(expression)} has shape {found.shape}. Did you mean .sum()?"
        )
    if found.indices() and over is None:
        names = ", ".join(i.name for i in found.indices())
        raise ModelError(
            f"The objective depends on the index {names}; say `over={names}` for its worst value, or introduce a "
            "variable and bound it with forall."
        )
    if over is None and isinstance(found, Affine):
        if not found.uncertain:
            return Objective(found, maximise)
        height, row = enclosed_objective(found, maximise)
        return Objective(height, maximise, (row,))
    indices = (over,) if isinstance(over, Index) else tuple(over) if isinstance(over, list | tuple) else ()
    body = Convex.of(found)
    body.origin = found.origin
    goal, bound = convex_objective(body, maximise, indices)
    statements = bound if over is None else forall(over, bound)
    every = tuple(statements) if isinstance(statements, list) else (statements,)
    return Objective(goal, maximise, every)


@overload
def forall(
    index: Index | Sequence[Index], constraint: Statement | NDArray[np.bool_], *, name: str | None = None
) -> ForAll | Any: ...


@overload
def forall(
    index: Index | Sequence[Index], constraint: Sequence[Statements], *, name: str | None = None
) -> list[Any]: ...


def forall(index: Index | Sequence[Index], constraint: Statements, *, name: str | None = None) -> Any:
    """A constraint, or a list of them, for every value of an index (or of several).

    An equality of polynomials becomes that of their coefficients, and a constraint over an unbounded box some over
    bounded ones. With a `name`, tables, plots, reports and messages call it that; those of a list are name[0], name[1],
    …

    Examples
    --------
    >>> import lsip
    >>> x, t = lsip.Variable(2, name="x"), lsip.Index("t", lsip.Interval(0, 1))
    >>> print(lsip.forall(t, x[0] + x[1] * t >= t**2))
    x[0] + x[1] t ≥ t²   for all t ∈ [0, 1]
    """
    indices = (index,) if isinstance(index, Index) else tuple(index) if isinstance(index, list | tuple) else ()
    if not indices or not all(isinstance(i, Index) for i in indices):
        raise ModelError(f"forall needs an Index or a tuple of them first; got {shown(index)}.")
    if len({i.name for i in indices}) < len(indices):
        names = ", ".join(i.name for i in indices)
        raise ModelError(f"forall was given the same index twice, or two of one name: {names}. Give each its own name.")
    if name is not None:
        words("name", name)
    constraint = bare(constraint)
    if isinstance(constraint, list | tuple):
        try:
            return [forall(indices, c, name=name and f"{name}[{i}]") for i, c in enumerate(constraint)]
        except RecursionError:
            raise ModelError("forall takes a constraint or a list of them; got lists in lists without end.") from None
    if isinstance(constraint, Condition):
        raise ModelError(f"{text(constraint)} has no decision variable in it, so there is nothing to constrain.")
    if not isinstance(constraint, Constraint):
        raise ModelError(f"forall needs a constraint such as `a @ x <= b`, or a list of them; {_instead(constraint)}")
    if not constraint.body.size:
        raise ModelError(f"{constraint} has no element (its shape is {constraint.body.shape}): leave it out.")
    if not constraint.indices and any(isinstance(t.variable, Coefficients) for t in constraint.body.terms):
        return constraint if name is None else constraint.named(name)  # of rules that see nothing
    indices, constraint = unfolded(indices, constraint)
    check_indices(constraint, indices, constraint.indices)
    constraint = constraint if name is None else constraint.named(name)
    endless = not all(i.domain.bounded for i in indices)
    if endless and constraint.directions:
        raise ModelError(
            f"{text(constraint)} cannot be proven over an unbounded set. Bound the set of {indices[0].name}, or write "
            "the constraint with polynomials in it and without norms."
        )
    return Restated.of(indices, constraint) if constraint.equality or endless else ForAll(indices, constraint)


def _instead(given: object) -> str:
    """What came in the place of a constraint, and what to do."""
    if callable(given):
        return "got a function: call it, as in forall(t, rule(t)); lsip.Family(domain, a, b) takes functions of points."
    if isinstance(given, bool | np.bool_):
        return (
            f"got the bool {given}: a comparison collapsed, of numbers or of whole objects. e.at({{…}}) is a number; "
            "at one index point, a constraint is the formula with a number in place of the index."
        )
    if isinstance(given, Operators):
        return f"got {given}, which is not compared with anything: write <= or >=."
    advice = (
        "" if isinstance(given, Statement | str) else " An expression on the left keeps arrays of others out of it."
    )
    return f"got {shown(given)}.{advice}"


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
        self.constraints: list[Constraint | ForAll | FamilyOn] = list(_flatten(constraints))
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
        new = list(_flatten([constraint]))
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
        return cls(_objective(goal.expression, goal.maximise, goal.over or None), constraints, name=name)

    def compile(self) -> Program:
        """The arrays and families that a solver works on."""
        return self.written().compile(self._parts)

    def written(self) -> Written:
        """The model as it stands now."""
        return self._written(self._statements())

    def _written(self, statements: Sequence[Constraint | ForAll | FamilyOn]) -> Written:
        values, variables = current(self.parameters), (*self.variables, *self._hidden)
        restated = {c: c.said(values) for c in statements if isinstance(c, Restated)}
        said: list[Constraint | ForAll | FamilyOn] = []
        for c in statements:
            said += restated[c] if isinstance(c, Restated) else (c,)
        groups: dict[tuple[Index, ...], list[Constraint | ForAll]] = {}
        for c in said:
            if isinstance(c, ForAll) or (isinstance(c, Constraint) and c.directions):
                groups.setdefault((*c.indices, *c.directions), []).append(c)
        return Written(
            owner=self,
            name=self.name,
            objective=self.objective.expression,
            maximise=self.objective.maximise,
            rows=tuple(c for c in said if isinstance(c, Constraint) and not c.directions),
            groups=tuple(group for members in groups.values() for group in grouped(members)),
            applied=tuple(c for c in said if isinstance(c, FamilyOn)),
            variables=variables,
            lower=np.concatenate([v.lower for v in variables]),
            upper=np.concatenate([v.upper for v in variables]),
            values=values,
            restated=restated,
            epigraph=self.objective.epigraph,
        )

    @legibly
    def __str__(self) -> str:
        lines = [str(self.objective)]
        for i, c in enumerate(self.constraints):
            lines.append(f"{'subject to' if i == 0 else '':<10} {c}")
        for v in self.variables:
            lines.extend(f"{'':<10} {b}" for b in _bounds(v))
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_latex_(self) -> str:
        rows = [rf"\{'max' if self.objective.maximise else 'min'} \quad & {self.objective.latex()}"]
        for i, c in enumerate(self.constraints):
            if isinstance(c, FamilyOn):
                rows.append((r"\text{s.t.} \quad & " if i == 0 else "& ") + c.latex())
                continue
            body = titled(c)
            where = rf" \quad \forall {c.where}" if isinstance(c, ForAll) else ""
            rows.append((r"\text{s.t.} \quad & " if i == 0 else "& ") + body + where)
        rows += [f"& {b}" for v in self.variables for b in _bounds(v, tex=True)]
        return "$$\\begin{aligned}" + r" \\ ".join(rows) + "\\end{aligned}$$"


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


def _flatten(items: Iterable[Any], depth: int = 0) -> Iterable[Constraint | ForAll | FamilyOn]:
    if depth > MOST_AXES:
        raise ModelError("Constraints are a list; got lists in lists without end.")
    for item in map(bare, members("constraints", items, "constraints")):
        if isinstance(item, list | tuple):
            yield from _flatten(item, depth + 1)
        elif isinstance(item, ForAll | FamilyOn):
            yield item
        elif isinstance(item, Constraint):
            if item.indices:
                names = ", ".join(i.name for i in item.indices)
                raise ModelError(f"{item} depends on the index {names}: wrap it in forall({names}, …).")
            yield item
        else:
            raise ModelError(f"A constraint was expected, {_instead(item)}")


def _typed(statement: Constraint | ForAll | FamilyOn) -> object:
    """What holds the formula of a constraint."""
    return statement.constraint if isinstance(statement, ForAll) else statement


def _body(c: Constraint | ForAll | FamilyOn) -> Affine:
    return c.constraint.body if isinstance(c, ForAll) else c.body


def _bounds(v: Variable, tex: bool = False) -> list[str]:
    """The bounds of a variable, as a reader would write them."""
    shown = []
    show = latex if tex else text
    for bound, symbol, none in zip(v.bounds, (">=", "<="), (-np.inf, np.inf), strict=True):
        if isinstance(bound, Expression):
            shown.append(show((symbol, v, bound)))
        elif (bound != none).any():
            shown.append(show((symbol, v, bound[0] if (bound == bound[0]).all() else bound)))
    if v.integer:
        values = latex_power([r"\mathbb{Z}"] * v.size) if tex else power(["ℤ"] * v.size)
        shown.append(rf"{show(v)} \in {values}" if tex else f"{show(v)} ∈ {values}")
    return shown
