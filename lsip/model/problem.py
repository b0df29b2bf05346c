"""The model as a person writes it: an objective, constraints, constraints for all indices; compiled to a `Program`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..domains import Domain, Product
from ..errors import ModelError
from ..expressions.affine import Affine, Constraint, Term, Variable, enclosed
from ..expressions.graph import Condition, Constant, Expression, Gather, Index, Join, Linear, Negate
from ..expressions.operators import Operators, Statement
from ..expressions.printing import latex, text
from ..expressions.sums import Kept, together, totals
from ..expressions.tape import constant_value
from ..validation import shown
from .callables import FamilyOn, compile_family
from .discretisation import Chosen, FiniteLP, discretise, to_cvxpy
from .families import BlackBoxFamily, DeclaredFamily
from .identities import matched
from .method import Answer, Method, chosen_method
from .program import Program
from .unbounded import compactified
from .worst_violation import Values, WorstViolation, flat, worst_violation

# One, or lists of them; NumPy's annotations take a comparison of what its functions give for an array.
Statements = Statement | NDArray[np.bool_] | Sequence["Statements"]


@dataclass(frozen=True, eq=False)
class Objective:
    """What to minimise or maximise."""

    expression: Affine
    maximise: bool

    def __str__(self) -> str:
        return f"{'maximize' if self.maximise else 'minimize'} {text(self.expression)}"


@dataclass(frozen=True, eq=False)
class ForAll:
    """A constraint that holds for every value of its indices."""

    indices: tuple[Index, ...]
    constraint: Constraint

    def __str__(self) -> str:
        where = ", ".join(f"{i.name} ∈ {i.domain}" for i in self.indices)
        return f"{self.constraint}   for all {where}"


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


def forall(index: Index | Sequence[Index], constraint: Statements) -> Any:
    """A constraint, or a list of them, for every value of an index (or of several).

    An equality of polynomials becomes that of their coefficients, and a constraint over an unbounded box some over
    bounded ones.

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
    if isinstance(constraint, list | tuple):
        return [forall(indices, c) for c in constraint]
    if isinstance(constraint, Condition):
        raise ModelError(f"{text(constraint)} has no decision variable in it, so there is nothing to constrain.")
    if not isinstance(constraint, Constraint):
        raise ModelError(f"forall needs a constraint such as `a @ x <= b`, or a list of them; {_instead(constraint)}")
    if not constraint.body.size:
        raise ModelError(f"{constraint} has no element (its shape is {constraint.body.shape}): leave it out.")
    check_indices(str(constraint), indices, constraint.body.indices())
    if constraint.equality:
        return matched(indices, constraint)
    if not all(i.domain.bounded for i in indices):
        return [ForAll(*part) for part in compactified(indices, constraint)]
    return ForAll(indices, constraint)


def check_indices(constraint: str, indices: Sequence[Index], found: Sequence[Index]) -> None:
    """Refuse a constraint for all `indices` that depends on another index, or on none of these."""
    names = [i.name for i in indices]
    free = [i.name for i in found if all(i is not j for j in indices)]
    if any(name in names for name in free):
        name = next(name for name in free if name in names)
        raise ModelError(
            f"{constraint} depends on another index that is called {name} too, made by a call of its own: make one "
            "Index, and use it in the constraint and in forall."
        )
    if free:
        raise ModelError(f"{constraint} depends on {', '.join(free)} too; list every index: forall((…), …).")
    if not found:
        raise ModelError(f"{constraint} does not depend on {', '.join(names)}: leave it outside of forall.")


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
        found: dict[Variable, None] = {}
        for affine in [objective.expression, *(_body(c) for c in self.constraints)]:
            found.update(dict.fromkeys(term.variable for term in affine.terms))
        if not found:
            raise ModelError("The model has no decision variable.")
        self.variables: tuple[Variable, ...] = tuple(sorted(found, key=lambda v: v.number))
        _check_names(self.variables, "variables")
        indices = (i for c in self.constraints if isinstance(c, ForAll) for i in c.indices)
        _check_names(tuple(dict.fromkeys(indices)), "indices")

    def solve(
        self, *given: object, method: Method[Problem] | None = None, verbose: bool = True, **options: object
    ) -> Answer:
        """Solve with proof; what comes back is an `lsip.Solution`.

        Options are the fields of `Exchange`, by name: `tol`, `oracle`, `max_iterations`, `time_limit`, `seed`,
        `callback`, `warm_start`, …
        """
        return chosen_method(given, method, options).solve(self, verbose=verbose)

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

    def compile(self) -> Program:
        """The arrays and families that a solver works on."""
        offsets = dict(zip(self.variables, np.cumsum([0] + [v.size for v in self.variables]), strict=False))
        n = sum(v.size for v in self.variables)
        sign = -1.0 if self.objective.maximise else 1.0
        c_rows, c0 = _finite(self.objective.expression, offsets, n)
        finite = [c for c in self.constraints if isinstance(c, Constraint)]
        blocks = [_finite(c.body, offsets, n) for c in finite]
        matrix = sparse.vstack([a for a, _ in blocks], format="csr") if blocks else sparse.csr_matrix((0, n))
        right = np.concatenate([-b for _, b in blocks]) if blocks else np.zeros(0)
        equal = (
            np.concatenate([np.full(len(b), c.equality) for c, (_, b) in zip(finite, blocks, strict=True)])
            if blocks
            else None
        )
        labels = tuple(
            name if len(b) == 1 else f"({name})[{i}]"
            for name, (_, b) in zip(map(str, finite), blocks, strict=True)
            for i in range(len(b))
        )
        return Program(
            c=sign * np.asarray(c_rows.toarray()).ravel(),
            constant=sign * float(c0[0]),
            lower=np.concatenate([v.lower for v in self.variables]),
            upper=np.concatenate([v.upper for v in self.variables]),
            A=matrix,
            row_lower=np.where(equal, right, -np.inf) if equal is not None else right,
            row_upper=right,
            families=(
                *_families([c for c in self.constraints if isinstance(c, ForAll)], offsets),
                *(_applied(c, offsets) for c in self.constraints if isinstance(c, FamilyOn)),
            ),
            row_labels=labels,
            maximise=self.objective.maximise,
            name=self.name,
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
            body = latex(c.constraint) if isinstance(c, ForAll) else latex(c)
            where = (
                r" \quad \forall " + ", ".join(rf"{latex(i)} \in {i.domain.latex()}" for i in c.indices)
                if isinstance(c, ForAll)
                else ""
            )
            rows.append((r"\text{s.t.} \quad & " if i == 0 else "& ") + body + where)
        rows += [f"& {b}" for v in self.variables for b in _bounds(v, tex=True)]
        return "$$\\begin{aligned}" + r" \\ ".join(rows) + "\\end{aligned}$$"


def _check_names(parts: Sequence[Variable | Index], kind: str) -> None:
    """Refuse two variables, or two indices, of one name: a printed model, and `solution["x"]`, could mean either."""
    seen: set[str] = set()
    for part in parts:
        if part.name in seen:
            advice = "; or make one, and use it in all constraints" if kind == "indices" else ""
            raise ModelError(f"Two {kind} of the problem are called {part.name!r}; give each its own `name`{advice}.")
        seen.add(part.name)


def _flatten(items: Iterable[Any]) -> Iterable[Constraint | ForAll | FamilyOn]:
    for item in items:
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


def _finite(affine: Affine, offsets: dict[Variable, Any], n: int) -> tuple[sparse.csr_matrix, Any]:
    """The matrix and the constant of an affine array without indices; terms that meet are added up and rounded once."""
    constant = np.ravel(constant_value(affine.offset))  # type: ignore[arg-type]
    if not affine.terms:
        return sparse.csr_matrix((affine.size, n)), constant
    rows = np.concatenate([t.rows for t in affine.terms])
    columns = np.concatenate([t.columns + offsets[t.variable] for t in affine.terms])
    numbers = together([_numbers(t) for t in affine.terms])
    table = sparse.csr_matrix((numbers.value, (rows, columns)), shape=(affine.size, n))
    if table.nnz == len(rows):
        return table, constant
    found = totals(rows * n + columns, numbers)
    if not np.isfinite(found.value).all():
        raise ModelError(
            f"A coefficient of {affine} is infinite: terms in one variable add up to more than any double."
        )
    return sparse.csr_matrix((found.value, (found.places // n, found.places % n)), shape=(affine.size, n)), constant


def _numbers(term: Term) -> Kept:
    """The coefficients of a term without indices."""
    return term.numbers or Kept(np.ravel(constant_value(term.coefficient)))  # type: ignore[arg-type]


def _families(constraints: list[ForAll], offsets: dict[Variable, Any]) -> Iterable[DeclaredFamily]:
    """Constraints over the same indices share one family, so that they share all work on the index."""
    groups: dict[tuple[Index, ...], list[ForAll]] = {}
    for c in constraints:
        groups.setdefault(c.indices, []).append(c)
    for indices, members in groups.items():
        body = Affine.join([m.constraint.body for m in members]) if len(members) > 1 else members[0].constraint.body
        names = [text(m.constraint) for m in members]
        labels = tuple(
            name if m.constraint.body.size == 1 else f"({name})[{i}]"
            for name, m in zip(names, members, strict=True)
            for i in range(m.constraint.body.size)
        )
        domains = [i.domain for i in indices]
        domain: Domain = domains[0] if len(domains) == 1 else Product(*domains)
        yield declared_family("; ".join(names), indices, domain, body, labels, offsets)


def _applied(c: FamilyOn, offsets: dict[Variable, Any]) -> DeclaredFamily | BlackBoxFamily:
    """A family of functions, with its columns moved to the variables that it is applied to."""
    family = compile_family(c.family, str(c), c.body.size)
    place = np.zeros(c.body.size, dtype=np.intp)
    for term in c.body.terms:
        place[term.rows] = term.columns + offsets[term.variable]
    family.columns = place[family.columns]
    return family


def declared_family(
    name: str,
    indices: tuple[Index, ...],
    domain: Domain,
    body: Affine,
    labels: tuple[str, ...],
    offsets: dict[Variable, Any],
) -> DeclaredFamily:
    """Arrange the triplets of `body` <= 0 as K coefficients a row; several triplets at one place are added up."""
    p = body.size
    rows, columns, entries = _entries(body.terms, offsets)
    n = int(columns.max()) + 1
    places, inverse = np.unique(rows * n + columns, return_inverse=True)
    if len(places) < len(rows):
        shape = (len(places), len(rows))
        adder: Any = sparse.csr_matrix((np.ones(len(rows)), (inverse, np.arange(len(rows)))), shape=shape)
        entries = Linear(adder if adder.shape[0] > 200 else adder.toarray(), entries, (len(places),))
        order = np.arange(len(places))
    else:
        order = np.argsort(inverse)
    place_rows, place_columns = places // n, places % n
    counts = np.bincount(place_rows, minlength=p)
    width = int(counts.max())
    slot = np.arange(len(places)) - np.repeat(np.cumsum(counts) - counts, counts)
    layout = np.full((p, width), len(places))  # the extra element is a zero
    layout[place_rows, slot] = order
    padded = np.zeros((p, width), dtype=np.intp)
    padded[place_rows, slot] = place_columns
    if (counts < width).any():
        entries = Join((entries, Constant(np.zeros(1))))
    offset = body.offset
    rhs: Expression = Constant(-offset.value) if isinstance(offset, Constant) else Negate(offset)
    return DeclaredFamily(name, indices, domain, Gather(entries, layout.ravel()), padded, rhs, labels)


def _entries(terms: tuple[Term, ...], offsets: dict[Variable, Any]) -> tuple[Any, Any, Expression]:
    """Rows, columns and coefficients of all triplets; numbers that meet are added up, and enclosed if that rounds."""
    parts = [(t.rows, t.columns + offsets[t.variable], t.coefficient) for t in terms]
    known = [(rows, columns, t.numbers) for t, (rows, columns, _) in zip(terms, parts, strict=True) if t.numbers]
    if len(known) > 1 or (known and len(known[0][0]) > 1):
        rows, columns = (np.concatenate([k[i] for k in known]) for i in (0, 1))
        n = int(columns.max()) + 1
        if _meet(rows, columns):
            found = totals(rows * n + columns, together([k[2] for k in known]))
            if not np.isfinite(found.value).all():
                raise ModelError("A coefficient is infinite: terms in one variable add up to more than any double.")
            merged = (found.places // n, found.places % n, enclosed(Kept(found.value, found.rest)))
            parts = [merged, *(part for t, part in zip(terms, parts, strict=True) if not t.numbers)]
    rows, columns = (np.concatenate([part[i] for part in parts]) for i in (0, 1))
    return rows, columns, Join(tuple(part[2] for part in parts)) if len(parts) > 1 else parts[0][2]


def _meet(rows: Any, columns: Any) -> bool:
    """Whether two entries of a matrix are at the same place."""
    ones = np.ones(len(rows), dtype=np.int8)
    return int(sparse.csr_matrix((ones, (rows, columns))).nnz) < len(rows)
