"""The model as a person writes it: an objective, constraints, constraints for all indices; compiled to a `Program`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from ..errors import ModelError
from ..expressions.affine import Affine, Constraint, Variable
from ..expressions.graph import Condition, Expression, Index
from ..expressions.operators import Operators, Statement, bare
from ..expressions.parameter import Parameter, current
from ..expressions.printing import latex, text
from ..files import blamed, read_json, write_json
from ..validation import shown
from .callables import FamilyOn
from .compilation import Parts, Written
from .discretisation import Chosen, FiniteLP, discretise, to_cvxpy
from .identities import matched
from .method import Answer, Method, chosen_method
from .problem_file import WHAT, problem_data, read_problem
from .program import Program
from .statements import ForAll, Objective, check_indices, titled
from .status import Status
from .unbounded import compactified
from .worst_violation import Values, WorstViolation, flat, worst_violation

# One, or lists of them; NumPy's annotations take a comparison of what its functions give for an array.
Statements = Statement | NDArray[np.bool_] | Sequence["Statements"]


def minimize(expression: Affine | Expression | float | NDArray[Any]) -> Objective:
    """The objective of a minimisation."""
    return Objective(_objective(expression), False)


def maximize(expression: Affine | Expression | float | NDArray[Any]) -> Objective:
    """The objective of a maximisation."""
    return Objective(_objective(expression), True)


def _objective(expression: Affine | Expression | float | NDArray[Any]) -> Affine:
    affine = Affine.of(expression)
    if affine.size != 1:
        raise ModelError(
            f"An objective is one number; {text(expression)} has shape {affine.shape}. Did you mean .sum()?"
        )
    if affine.indices():
        names = ", ".join(i.name for i in affine.indices())
        raise ModelError(
            f"The objective depends on the index {names}; introduce a variable and bound it with forall instead."
        )
    return affine


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
        raise ModelError(f"forall needs an Index or a tuple of them first; got {index!r}.")
    if len({i.name for i in indices}) < len(indices):
        names = ", ".join(i.name for i in indices)
        raise ModelError(f"forall was given the same index twice, or two of one name: {names}. Give each its own name.")
    constraint = bare(constraint)
    if isinstance(constraint, list | tuple):
        return [forall(indices, c, name=name and f"{name}[{i}]") for i, c in enumerate(constraint)]
    if isinstance(constraint, Condition):
        raise ModelError(f"{text(constraint)} has no decision variable in it, so there is nothing to constrain.")
    if not isinstance(constraint, Constraint):
        raise ModelError(f"forall needs a constraint such as `a @ x <= b`, or a list of them; {_instead(constraint)}")
    if not constraint.body.size:
        raise ModelError(f"{constraint} has no element (its shape is {constraint.body.shape}): leave it out.")
    check_indices(str(constraint), indices, constraint.body.indices())
    constraint = constraint if name is None else constraint.named(name)
    endless = not all(i.domain.bounded for i in indices)
    if (constraint.equality or endless) and constraint.body.parameters:
        names = ", ".join(sorted(p.name for p in constraint.body.parameters))
        reason = "over an unbounded set" if endless else "that is an equality"
        raise ModelError(
            f"{text(constraint)}: a constraint for all {indices[0].name} {reason} is rewritten with numbers, and takes "
            f"no parameter; got {names}. Write its value, {names}.value, and the constraint again when that changes."
        )
    if constraint.equality:
        return matched(indices, constraint)
    if endless:
        return [ForAll(*part) for part in compactified(indices, constraint)]
    return ForAll(indices, constraint)


def _instead(given: object) -> str:
    """What came in the place of a constraint, and what to do."""
    if callable(given):
        return "got a function: call it, as in forall(t, rule(t)); lsip.Family(domain, a, b) takes functions of points."
    if isinstance(given, bool | np.bool_):
        return f"got the bool {given}: a comparison collapsed, of numbers or of whole objects."
    if isinstance(given, Operators):
        return f"got {given}, which is not compared with anything: write <= or >=."
    advice = (
        "" if isinstance(given, Statement | str) else " An expression on the left keeps arrays of others out of it."
    )
    return f"got {shown(given)}.{advice}"


class Problem:
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
        if not isinstance(objective, Objective):
            raise ModelError(f"The objective must be minimize(...) or maximize(...); got {type(objective).__name__}.")
        if isinstance(constraints, Constraint | ForAll | FamilyOn):
            raise ModelError(f"The constraints are a list, even of one: [{constraints}].")
        self.objective = objective
        self.name = name
        self.constraints: list[Constraint | ForAll | FamilyOn] = list(_flatten(constraints))
        self._parts = Parts()
        self._last: Answer | None = None
        self._check()

    def __getstate__(self) -> dict[str, Any]:
        """Without what can be compiled again."""
        return {**vars(self), "_parts": Parts()}

    def _check(self) -> None:
        """Find the variables, and refuse two of one name."""
        found: dict[Variable, None] = {}
        for affine in [self.objective.expression, *map(_body, self.constraints)]:
            found.update(dict.fromkeys(term.variable for term in affine.terms))
        if not found:
            raise ModelError("The model has no decision variable.")
        variables = tuple(sorted(found, key=lambda v: v.number))
        _check_names([v.name for v in variables], "variables")
        indices = (i for c in self.constraints if isinstance(c, ForAll) for i in c.indices)
        _check_names([i.name for i in dict.fromkeys(indices)], "indices")
        _check_names([c.name for c in self.constraints if not isinstance(c, FamilyOn) and c.name], "constraints")
        _check_names([p.name for p in self.parameters], "parameters")
        self.variables: tuple[Variable, ...] = variables

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The parameters in its objective and constraints."""
        affine = [self.objective.expression, *map(_body, self.constraints)]
        return tuple(dict.fromkeys(p for a in affine for p in a.parameters))

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
        told = f"called {which!r}; it has {', '.join(names) or 'none with a name'}" if isinstance(which, str) else which
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

    def solve(
        self, *given: object, method: Method[Problem] | None = None, verbose: bool = True, **options: object
    ) -> Answer:
        """Solve with proof; what comes back is an `lsip.Solution`.

        Options are the fields of `Exchange`, by name: `tol`, `oracle`, `max_iterations`, `time_limit`, `seed`,
        `callback`, `warm_start`, …

        Once it has been solved, a problem that has changed since (other values of parameters, other bounds, constraints
        added or removed) starts from its last answer, unless `warm_start=None` is given. One that has not is solved
        anew, so that a run can be repeated.
        """
        warm = self._last if self._last is not None and self._changed() else None
        if warm is None:
            self._parts.forget()
        elif getattr(method, "warm_start", None) is None:
            options = {"warm_start": warm, **options}
        answer = chosen_method(given, method, options).solve(self, verbose=verbose)
        self._last = answer
        for variable in self.variables:
            variable.found(None if answer.status in (Status.INFEASIBLE, Status.UNBOUNDED) else answer[variable])
        return answer

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
        return worst_violation(self.compile(), flat(self.variables, x), tol, time_limit)

    def data(self) -> dict[str, Any]:
        """The problem as plain data, as `save` writes it; a ModelError says what cannot be written that way."""
        bounds = {v: (v.lower, v.upper) for v in self.variables}
        return problem_data(self.name, self.objective, self.constraints, bounds, {p: p.value for p in self.parameters})

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
        objective, constraints, name = read_problem(data)
        return cls(objective, constraints, name=name)

    def compile(self) -> Program:
        """The arrays and families that a solver works on."""
        return self.written().compile(self._parts)

    def written(self) -> Written:
        """The model as it stands now."""
        values = current(self.parameters)
        groups: dict[tuple[Index, ...], list[ForAll]] = {}
        for c in self.constraints:
            if isinstance(c, ForAll):
                groups.setdefault(c.indices, []).append(c)
        return Written(
            owner=self,
            name=self.name,
            objective=self.objective.expression,
            maximise=self.objective.maximise,
            rows=tuple(c for c in self.constraints if isinstance(c, Constraint)),
            groups=tuple(map(tuple, groups.values())),
            applied=tuple(c for c in self.constraints if isinstance(c, FamilyOn)),
            variables=self.variables,
            lower=np.concatenate([v.lower for v in self.variables]),
            upper=np.concatenate([v.upper for v in self.variables]),
            values=values,
        )

    def __str__(self) -> str:
        lines = [str(self.objective)]
        for i, c in enumerate(self.constraints):
            lines.append(f"{'subject to' if i == 0 else '':<10} {c}")
        for v in self.variables:
            lines.extend(f"{'':<10} {b}" for b in _bounds(v))
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_latex_(self) -> str:
        rows = [rf"\{'max' if self.objective.maximise else 'min'} \quad & {latex(self.objective.expression)}"]
        for i, c in enumerate(self.constraints):
            if isinstance(c, FamilyOn):
                rows.append((r"\text{s.t.} \quad & " if i == 0 else "& ") + c.latex())
                continue
            body = titled(c)
            where = rf" \quad \forall {c.where}" if isinstance(c, ForAll) else ""
            rows.append((r"\text{s.t.} \quad & " if i == 0 else "& ") + body + where)
        rows += [f"& {b}" for v in self.variables for b in _bounds(v, tex=True)]
        return "$$\\begin{aligned}" + r" \\ ".join(rows) + "\\end{aligned}$$"


def _check_names(names: Iterable[str], kind: str) -> None:
    """Refuse two variables, or two indices, of one name: a printed model, and `solution["x"]`, could mean either."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            advice = "; or make one, and use it in all constraints" if kind == "indices" else ""
            raise ModelError(f"Two {kind} of the problem are called {name!r}; give each its own `name`{advice}.")
        seen.add(name)


def _flatten(items: Iterable[Any]) -> Iterable[Constraint | ForAll | FamilyOn]:
    for item in map(bare, items):
        if isinstance(item, list | tuple):
            yield from _flatten(item)
        elif isinstance(item, ForAll | FamilyOn):
            yield item
        elif isinstance(item, Constraint):
            if item.body.indices():
                names = ", ".join(i.name for i in item.body.indices())
                raise ModelError(f"{item} depends on the index {names}: wrap it in forall({names}, …).")
            yield item
        else:
            raise ModelError(f"A constraint was expected, {_instead(item)}")


def _body(c: Constraint | ForAll | FamilyOn) -> Affine:
    return c.constraint.body if isinstance(c, ForAll) else c.body


def _bounds(v: Variable, tex: bool = False) -> list[str]:
    """The bounds of a variable, as a reader would write them."""
    shown = []
    show = latex if tex else text
    for bound, symbol, none in ((v.lower, ">=", -np.inf), (v.upper, "<=", np.inf)):
        if (bound != none).any():
            shown.append(show((symbol, v, bound[0] if (bound == bound[0]).all() else bound)))
    return shown
