"""Constraints for all indices in a CVXPY model: what `forall` takes, what it refuses, and what it remembers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...domains import Domain, Product
from ...errors import ModelError, NotAffineError
from ...expressions.graph import Expression
from ...expressions.graph import Index as Formula
from ...expressions.tape import Tape
from ...legible import legibly
from ...model.callables import Family
from ...model.statements import check_indices
from ...validation import answer
from ...validation import shown as described
from .affine import dense, fixed
from .families import agree, proven_violation
from .index import Index, IndexCondition, IndexExpression
from .package import Canonicalised, Leaf, Node, Relation, cp
from .rule import Rule, decided, rules_in

Array = NDArray[np.float64]
Function = Callable[[Any], Any]  # from an index, or from a point, to a constraint or a list of them
Given = Relation | Function | Sequence["Given"]
Lipschitz = float | tuple[float, float] | None


class ForAll:
    """A constraint of a CVXPY model that holds for every value of its indices; made by `forall`.

    Attributes
    ----------
    constraint
        The CVXPY constraint, with the index in it; None when a rule needs numbers, and is a black box.
    dual_value
        After a solve: the dual measure, a list of (point, multiplier), heaviest first. Multipliers have the
        constraint's shape; None before a solve.
    """

    def __init__(
        self,
        indices: tuple[Formula, ...],
        constraint: Relation | None,
        rule: Function | None = None,
        lipschitz: Lipschitz = None,
    ) -> None:
        self.indices, self.constraint, self.rule = indices, constraint, rule
        self.lipschitz = lipschitz
        self.dual_value: list[tuple[Any, Any]] | None = None
        domains = [i.domain for i in indices]
        self.domain: Domain = domains[0] if len(domains) == 1 else Product(*domains)
        sample = self._sample()
        self.shape: tuple[int, ...] = sample.shape
        self._known = {v.id for v in sample.variables()}

    @property
    def traced(self) -> bool:
        """Whether the constraint is known as a formula of the index."""
        return self.constraint is not None

    @property
    def size(self) -> int:
        return int(np.prod(self.shape, dtype=int))

    @property
    def body(self) -> Node:
        """The CVXPY expression that must be <= 0."""
        assert self.constraint is not None
        return _body(self.constraint)

    def at(self, point: Array) -> Relation:
        """The CVXPY constraint of a black-box rule at one index point."""
        assert self.rule is not None
        return _checked(answer("rule", self.rule, float(point[0]) if self.domain.scalar else point), "A rule")

    def body_at(self, point: Array) -> Node:
        """The CVXPY expression that must be <= 0 at one index point; for a black box."""
        relation = self.at(point)
        if relation.shape != self.shape:
            raise ModelError(
                f"A rule gives constraints of the same shape at every index point; this one has {relation.shape} at "
                f"{point}, and {self.shape} elsewhere. Write one rule for each shape, over the points that have it."
            )
        strange = [v.name() for v in relation.variables() if v.id not in self._known]
        if strange:
            raise ModelError(
                f"A rule has the same variables at every index point; this one has {', '.join(strange)} at {point}, "
                f"and not elsewhere. Write it everywhere, with coefficient zero if need be: … + 0 * {strange[0]}."
            )
        return fixed(_body(relation))

    def variables(self) -> list[Leaf]:
        """The CVXPY variables in it, those behind rules included."""
        return decided(self._sample().variables())

    def parameters(self) -> list[Leaf]:
        """The user's own CVXPY parameters in it."""
        return [p for p in self._sample().parameters() if not isinstance(p, IndexExpression)]

    def _sample(self) -> Relation:
        """The constraint, or what the rule of a black box gives at some point."""
        return self.at(self.domain.spread(1)[0]) if self.constraint is None else self.constraint

    def violation(self) -> float:
        """By how much the variables' current values violate the constraint at most, over all index points: proven.

        Zero when it holds everywhere; inf when nothing can be proven, as for black boxes without `lipschitz`.
        """
        return proven_violation(self)

    @legibly
    def __str__(self) -> str:
        where = ", ".join(f"{i.name} ∈ {i.domain}" for i in self.indices)
        body = str(self.constraint).replace(" <= ", " ≤ ") if self.traced else "rule(y)"
        return f"{body}   for all {where}"

    __repr__ = __str__


def forall(index: Index | Domain | Sequence[Index], constraint: Given, *, lipschitz: Lipschitz = None) -> Any:
    """A CVXPY constraint, or a list of them, for every value of an index.

    Parameters
    ----------
    index
        An `Index`, a tuple of them, or a domain when `constraint` is a rule.
    constraint
        A CVXPY inequality, affine in the variables and anything in the index; or a rule, a function from an index to
        one. A rule that needs numbers (math.sin, a table) is called with points, floats over an `Interval` and arrays
        (m,) elsewhere, and is a black box.
    lipschitz
        (L_a, L_b), or one number for both: how fast coefficients and right-hand sides of a black box change, as in
        `lsip.Family`. Without it a black box is never certified.

    Examples
    --------
    >>> import cvxpy as cp, numpy as np, lsip
    >>> from lsip.interop.cvxpy import Index, forall
    >>> x, t = cp.Variable(2, name="x"), Index("t", lsip.Interval(0, 1))
    >>> print(forall(t, x[0] + x[1] * t >= np.exp(t)))
    exp(t) ≤ x[0] + x[1] * t   for all t ∈ [0, 1]
    """
    if isinstance(index, Domain):
        if not callable(constraint):
            raise ModelError("forall(domain, …) needs a rule, such as lambda y: x @ y <= 1; or give an Index first.")
        index = Index("y", index)
        return _from_rule(index, constraint, lipschitz)
    indices = (index,) if isinstance(index, Index) else tuple(index) if isinstance(index, list | tuple) else ()
    if not indices or not all(isinstance(i, Index) for i in indices):
        raise ModelError(
            f"forall needs an Index of lsip.interop.cvxpy, a tuple of them, or a domain first; got {described(index)}."
        )
    if len({id(i) for i in indices}) < len(indices):
        raise ModelError("forall was given the same index twice.")
    if callable(constraint) and not isinstance(constraint, cp.Constraint):
        if len(indices) > 1:
            return forall(indices, constraint(*indices), lipschitz=lipschitz)
        return _from_rule(indices[0], constraint, lipschitz)
    if isinstance(constraint, list | tuple):
        try:
            return [forall(indices, c, lipschitz=lipschitz) for c in constraint]
        except RecursionError:
            raise ModelError("forall takes a constraint or a list of them; got lists in lists without end.") from None
    if lipschitz is not None:
        raise ModelError(
            "`lipschitz` is for rules, which are black boxes; a formula is enclosed as it is. Leave it out."
        )
    return _declared(indices, constraint)


def _declared(indices: tuple[Index, ...], constraint: object) -> ForAll | Relation:
    """A constraint with the index in it, checked; one of rules that see nothing is finite, and stays as it is."""
    if isinstance(constraint, IndexCondition):
        raise ModelError(f"{constraint} has no decision variable in it, so there is nothing to constrain.")
    relation = _checked(constraint, str(constraint))
    formulas: tuple[Any, ...] = tuple(i.formula for i in indices)
    parts = [p for p in relation.parameters() if isinstance(p, IndexExpression)]
    rules = rules_in(relation.variables())
    if not parts and not rules and any(isinstance(v, Rule) for v in relation.variables()):
        return relation
    seen = [i for rule in rules for i in rule.indices]
    check_indices(str(relation), formulas, [*(f for p in parts for f in p.formula.indices()), *seen])
    for part in relation.args:
        _refuse_vanishing(part)
    return ForAll(formulas, relation)


def _refuse_vanishing(e: Node) -> None:
    """Refuse a sum of a vector and a term that is 0 at every index point.

    NumPy's polynomials (chebval, polyval, …) take a vector of CVXPY variables for one coefficient, and give x + 0 t.
    """
    if type(e).__name__ == "AddExpression" and any(_alone(arg).size > 1 and arg.variables() for arg in e.args):
        for term in map(_alone, e.args):
            if isinstance(term, IndexExpression) and _vanishes(term.formula):
                raise ModelError(
                    f"In {e}, the term {term} is 0 at every index point: leave it out. If this came of one of NumPy's "
                    "polynomials, which take a CVXPY variable for one number, use lsip.bases.chebyshev(t, degree) @ x."
                )
    for arg in e.args:
        _refuse_vanishing(arg)


def _alone(e: Node) -> Node:
    """What CVXPY repeats to give it the shape of the other terms."""
    return e.args[0] if type(e).__name__ == "Promote" else e


def _vanishes(formula: Expression, nothing: float = 1e-300) -> bool:
    """Whether a formula is 0 everywhere: enclosed by `nothing`, more than outward rounding makes of 0."""
    indices = formula.indices()
    ends = (np.concatenate([getattr(i.domain, end) for i in indices])[None, :] for end in ("lower", "upper"))
    range_ = Tape((formula,), indices).enclose(*ends)
    return bool((range_.lo > -nothing).all() and (range_.hi < nothing).all())


def _checked(constraint: object, shown: str) -> Relation:
    """The constraint, if it is an inequality that is affine in some variable; everything else is refused."""
    kinds = cp.constraints
    if isinstance(constraint, kinds.zero.Equality | kinds.zero.Zero):
        raise ModelError(
            f"An equality for all y, {shown}, leaves no room for a proof; write the finitely many equalities that it "
            "means for the variables, or a narrow band: -eps <= … and … <= eps."
        )
    if not isinstance(constraint, kinds.nonpos.Inequality | kinds.nonpos.NonNeg | kinds.nonpos.NonPos):
        kind = type(constraint).__name__
        raise ModelError(
            f"forall needs a CVXPY inequality such as a @ x <= b, or a function that gives one; got {kind}."
        )
    refuse_nan(constraint, shown)
    if not constraint.variables():
        raise ModelError(f"{shown} has no decision variable in it, so there is nothing to constrain.")
    if not _body(constraint).is_affine():
        raise NotAffineError(
            f"{shown} is not affine in the variables, as a constraint for all y must be. Give the curved part a "
            "variable of its own, as in cp.norm(x) <= s and forall(t, s <= …)."
        )
    return constraint


def refuse_nan(part: Canonicalised, shown: str) -> None:
    """Refuse an objective or a constraint with nan among its numbers."""
    if any(np.isnan(dense(constant.value)).any() for constant in part.constants()):
        raise ModelError(f"{shown} has nan among its numbers.")


def _body(constraint: Relation) -> Node:
    return -constraint.args[0] if isinstance(constraint, cp.constraints.nonpos.NonNeg) else constraint.expr


def _from_rule(index: Index, rule: Function, lipschitz: Lipschitz) -> Any:
    """Call the rule with the index itself; if it wants numbers, or tells them something else, it is a black box."""
    try:
        constraint = rule(index)
    except Exception as error:  # Whatever a rule raises on an expression only says that it may need numbers.
        return _black_box(index.formula, rule, lipschitz, error)
    _refuse_none(constraint, "the index")
    traced = forall(index, constraint)
    try:
        boxes = _black_box(index.formula, rule, lipschitz, TypeError("it can"))
    except ModelError:
        return traced
    pairs = list(zip(_listed(traced), _listed(boxes), strict=False))
    alike = len(_listed(traced)) == len(_listed(boxes)) == len(pairs) and all(agree(a, b) for a, b in pairs)
    return traced if alike else boxes


def _listed(constraints: object) -> list[Any]:
    return constraints if isinstance(constraints, list) else [constraints]


def _black_box(index: Formula, rule: Function, lipschitz: Lipschitz, traced: Exception) -> Any:
    point = index.domain.spread(1)[0]
    try:
        sample = rule(float(point[0]) if index.domain.scalar else point)
    except Exception as error:
        raise ModelError(
            f"The rule can be called neither with an index ({traced}) nor with the point {point} ({error})."
        ) from error
    Family(index.domain, rule, rule, lipschitz)  # says what is wrong with `lipschitz`
    _refuse_none(sample, str(point))
    several = isinstance(sample, list | tuple)
    for one in sample if several else [sample]:
        for rule in rules_in(_checked(one, str(one)).variables()):
            raise ModelError(
                f"{rule} is a decision rule, and needs a constraint with a formula of the index, not one at a point: "
                f"write forall({rule.indices[0].name}, …) with the constraint itself."
            )
    count = len(sample) if several else 1

    def part(k: int) -> ForAll:
        return ForAll((index,), None, lambda y: _given(rule(y), y)[k], lipschitz)

    def _given(found: object, y: object) -> Sequence[Any]:
        given = found if isinstance(found, list | tuple) else [found]
        if len(given) != count or isinstance(found, list | tuple) != several:
            raise ModelError(
                f"A rule gives the same number of constraints at every index point; this one gives {_counted(found)} "
                f"at {y}, and {_counted(sample)} at {point}. Write one rule for each, over the points that have it."
            )
        return given

    return [part(k) for k in range(count)] if several else part(0)


def _refuse_none(found: object, where: str) -> None:
    """A rule without a constraint at one point may have some at others, which nobody would ask for."""
    if isinstance(found, list | tuple) and not len(found):
        raise ModelError(
            f"The rule gives an empty list for {where}, so there is nothing to constrain. Leave out the index points "
            "that have no constraint, or write one that always holds, such as 0 * x <= 1."
        )


def _counted(found: object) -> str:
    return f"a list of {len(found)}" if isinstance(found, list | tuple) else "one"
