"""Decision rules beside CVXPY variables: to CVXPY a rule is a variable, and when rows are read, its coefficients are.

Within `forall` a rule stands where a variable could, so CVXPY's own operators and its rules of convexity apply to it.
What the rule means, monomials in what it sees, is said by the `lsip.Rule` that it carries.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from ...errors import FixedError, ModelError
from ...expressions.affine import Affine, Variable
from ...expressions.decision_rule import DecisionRule
from ...expressions.graph import Expression
from ...expressions.graph import Index as Formula
from ...expressions.rule import Rule as Meaning
from ...validation import shown
from .index import IndexExpression, unwrap
from .package import Leaf, cp


class Rule(cp.Variable):  # type: ignore[misc]
    """A decision that depends on entries of an index: within `forall`, it stands where a CVXPY variable could.

    Parameters
    ----------
    shape
        Nothing or () for one decision, n for a vector of them, a tuple for an array.
    of
        The entries of the index that the decision may depend on, such as `z[:t]`, a list of such, or nothing.
    name, options
        How it prints, and whatever else `lsip.Rule` takes, such as `degree` and `pieces`.

    Attributes
    ----------
    coefficients
        A CVXPY variable with one more axis: the constant part, then one for each entry. Finite constraints and the
        objective may use it.

    Examples
    --------
    >>> import cvxpy as cp, lsip
    >>> from lsip.interop.cvxpy import Index, Problem, Rule, forall
    >>> z, most = Index("z", lsip.Box([0, 0], [1, 1])), cp.Variable(name="most")
    >>> order = Rule(of=z[:1], name="order")
    >>> meet = forall(z, [order >= z[0] + z[1], order <= z[0] + most])
    >>> print(meet[0])
    (z[0] + z[1]) ≤ order(z[:1])   for all z ∈ [0, 1]²
    >>> solution = Problem(cp.Minimize(most), [*meet, most >= 1]).solve()
    >>> print(round(solution.value, 6), order.value([[0.25], [0.5]]).round(6))
    1.0 [1.25 1.5 ]
    """

    def __init__(
        self, shape: int | tuple[int, ...] = (), *, of: Any = None, name: str | None = None, **options: Any
    ) -> None:
        _refuse_other(of)
        self.meaning = Meaning(shape, of=unwrap(of), name=name, **options)
        super().__init__(self.meaning.shape, name=str(self.meaning))
        self.stand_in = StandIn(self)
        whole = self.meaning.coefficients
        self.behind: Any = _coefficients(whole) if self.indices else self
        self.coefficients: Any = self.behind if self.indices else cp.reshape(self, whole.shape, order="C")

    __hash__ = object.__hash__

    @property
    def indices(self) -> tuple[Formula, ...]:
        """The indices that it sees something of."""
        return tuple(dict.fromkeys(i for i, _ in self.meaning.entries))

    @property
    def value(self) -> DecisionRule | None:
        """The rule that the last solution of a problem has: its coefficients, and a function of data."""
        found = self.behind._value_impl()
        return None if found is None else self.found(found)

    @value.setter
    def value(self, given: object) -> None:
        raise FixedError(f"The value of the rule {self} is what a solve finds. Set that of its `coefficients` instead.")

    def canonicalize(self) -> Any:
        """Refused, unless it sees nothing: to cp.Problem it would be a variable, the same for all indices."""
        if self.indices:
            raise ModelError(
                f"{self} is a decision rule, and cp.Problem does not know what it sees: use it within forall, in a "
                "Problem of lsip.interop.cvxpy."
            )
        return super().canonicalize()

    def _value_impl(self) -> Any:
        return self._value  # numbers, for expressions with a rule that sees nothing

    def found(self, coefficients: Any) -> DecisionRule:
        """The rule with these values of what is behind it."""
        return self.meaning.found(np.asarray(coefficients).reshape(self.meaning.coefficients.shape))

    def rows(self, whole: Variable, start: int) -> Affine:
        """The decision as a vector, column by column, where `whole` has its coefficients from `start` on."""
        shape, inner = self.shape, self.meaning.coefficients
        place = np.arange(inner.size).reshape(inner.shape, order="F").ravel()
        terms = tuple(replace(t, variable=whole, columns=start + place[t.columns]) for t in self.meaning.terms)
        found: Affine = Affine(shape, terms).gather(np.arange(self.size).reshape(shape).ravel(order="F"))
        return found


class StandIn(cp.Variable):  # type: ignore[misc]
    """What CVXPY is given in the place of a rule when rows are read."""

    def __init__(self, rule: Rule) -> None:
        super().__init__(rule.shape)
        self.rule = rule


def rules_in(variables: Iterable[Leaf]) -> list[Rule]:
    """The rules among variables that depend on an index."""
    return [v for v in variables if isinstance(v, Rule) and v.indices]


def decided(variables: Iterable[Leaf]) -> list[Leaf]:
    """What is decided here and now: the variables, with their coefficients in the place of rules."""
    found = [v.behind if isinstance(v, Rule) else v for v in variables]
    return list({v.id: v for v in found}.values())


def _coefficients(whole: Variable) -> Leaf:
    """The coefficients as a CVXPY variable; those that others say as well are 0, as in the language."""
    bounds = [np.reshape(ends, whole.shape) for ends in (whole.lower, whole.upper)]
    free = np.isinf(whole.lower).all()
    return cp.Variable(whole.shape, name=whole.name, bounds=None if free else bounds)


def _refuse_other(of: Any) -> None:
    parts = [of]
    while parts:
        part = parts.pop()
        if isinstance(part, list | tuple):
            parts.extend(reversed(part))
        elif isinstance(part, Expression):
            raise ModelError(
                f"`of` of a rule in a CVXPY model has entries of an Index of lsip.interop.cvxpy; {part} is one of lsip "
                "itself. Make the index by `from lsip.interop.cvxpy import Index`, and use it everywhere."
            )
        elif isinstance(part, cp.Expression) and not isinstance(part, IndexExpression):
            raise ModelError(f"`of` of a rule has entries of an index, such as z[:2]; got {shown(part)}.")
