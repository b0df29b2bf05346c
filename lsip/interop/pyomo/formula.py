"""A Pyomo expression with symbolic indices, read as a row: index expressions times variables, plus an offset.

Pyomo's own `IndexTemplate` stands for an index while a rule is called. What the rule returns is walked once, and so is
every part of it that is used in several places; what cannot be written in the language raises `Untraceable`, with the
reason in words.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache, reduce
from math import fsum
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import LSIPError
from ...expressions.graph import Expression
from .columns import ModelVariable
from .comparison import Comparison, Value, choose, compare
from .recourse import RecourseFunction

if TYPE_CHECKING:
    from pyomo.core.expr.base import ExpressionBase
    from pyomo.core.expr.numvalue import NumericValue
    from pyomo.core.expr.template_expr import GetItemExpression

FUNCTIONS: dict[str, Any] = {
    "exp": np.exp,
    "log": np.log,
    "log10": np.log10,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "sqrt": np.sqrt,
    "abs": np.absolute,
}
EXTREMES: dict[str, Any] = {"max": np.maximum, "min": np.minimum}


class Untraceable(Exception):  # noqa: N818 - caught and turned into a sentence, never shown as an error
    """Why an expression has no formula in the index."""


@dataclass(frozen=True, eq=False)
class AffineRow:
    """Something affine in the variables: numbers or index expressions, by column, and the rest."""

    coefficients: dict[int, Value] = field(default_factory=dict)
    offset: Value = 0.0

    def scaled(self, factor: Value) -> AffineRow:
        return AffineRow({j: _product(a, factor) for j, a in self.coefficients.items()}, _product(self.offset, factor))

    def divided(self, divisor: Value) -> AffineRow:
        offset = 0.0 if _is(self.offset, 0.0) else self.offset / divisor
        return AffineRow({j: a / divisor for j, a in self.coefficients.items()}, offset)


Term = Value | AffineRow  # a number of a formula, or what is affine in the variables
Truth = Comparison | bool | tuple[Comparison | bool, Comparison | bool]  # a condition, with one side or two
Read = Term | Truth  # what becomes of a node


@dataclass(frozen=True, eq=False)
class Reader:
    """Reads Pyomo expressions.

    Parameters
    ----------
    columns
        The columns that a variable that is not fixed consists of, with their coefficients.
    leaves
        What stands for an `IndexTemplate`, or for an uncertain parameter, by its id.
    functions
        The variables over ContinuousSets that are rules, by their ids.
    looked_up
        Filled with every `p[t]` that was resolved through the rule of p.
    """

    columns: Callable[[ModelVariable], dict[int, Value]]
    leaves: dict[int, Value]
    functions: dict[int, RecourseFunction] = field(default_factory=dict)
    looked_up: list[str] = field(default_factory=list)
    _known: dict[int, tuple[NumericValue, Read]] = field(default_factory=dict)  # nodes with their values, by id

    def row(self, expression: NumericValue) -> AffineRow:
        """The expression as a row; `Untraceable` if it is not affine in the variables, or has no formula."""
        try:
            value = self._walk(expression)
        except (LSIPError, ArithmeticError, ValueError) as error:
            raise Untraceable(str(error)) from error
        if isinstance(value, Comparison | tuple | bool | np.bool_):
            raise Untraceable(f"{expression} is a condition, not a number")
        return as_row(value)

    def _walk(self, expression: NumericValue) -> Any:
        from pyomo.core.expr.visitor import StreamBasedExpressionVisitor

        def start(root: NumericValue) -> tuple[bool, Read | None]:
            return self._leaf(None, root, 0)

        visitor = StreamBasedExpressionVisitor(initializeWalker=start, beforeChild=self._leaf, exitNode=self._exit)
        return visitor.walk_expression(expression)

    def _exit(self, node: ExpressionBase, data: list[Any]) -> Read:
        return self._remember(node, _combine(node, data))

    def _remember(self, node: NumericValue, value: Read) -> Read:
        """The value; the node is kept with it, so that no other one gets its id."""
        self._known[id(node)] = (node, value)
        return value

    def _leaf(self, node: ExpressionBase | None, child: NumericValue, position: int) -> tuple[bool, Read | None]:
        """(False, value) for a leaf or what is known already, (True, None) for what has to be descended into."""
        from pyomo.core.expr.template_expr import GetItemExpression

        if isinstance(child, int | float | np.number):
            return False, float(child)
        if id(child) in self._known:
            return False, self._known[id(child)][1]
        if isinstance(child, GetItemExpression):
            self.looked_up.append(str(child))
            return False, self._remember(child, self._item(child))
        if child.is_expression_type():
            return True, None
        if id(child) in self.leaves:
            return False, self.leaves[id(child)]
        if child.is_variable_type() and not child.is_fixed():
            return False, AffineRow(dict(self.columns(child)))
        if child.is_numeric_type():
            return False, float(child())
        raise Untraceable(f"{child} is not a number")

    def _item(self, item: GetItemExpression) -> Any:
        """What `p[t]` is: a rule, for a variable, and what its own rule says, for a Param or an Expression."""
        function = self.functions.get(id(item.arg(0)))
        if function is None:
            return self._walk(_looked_up(item))
        try:
            rule, values = function.split(tuple(item.args)[1:])
            own = all(getattr(v, "_set", s) is s for v, s in zip(values, function.sets, strict=True))
            known = [self.leaves[id(v)] if id(v) in self.leaves else float(v) for v in values]
        except (KeyError, TypeError):
            own = False
        if not own:
            raise Untraceable(f"{item} is a decision rule at something else than its own index")
        return AffineRow(rule.row(known))


def _looked_up(item: GetItemExpression) -> NumericValue:
    """What `p[t]` means for a Param or an Expression over a ContinuousSet: its rule, asked with the same index."""
    from pyomo.core.expr.template_expr import IndexTemplate
    from pyomo.environ import Expression as NamedExpression
    from pyomo.environ import Param

    component, key = item.arg(0), tuple(item.args)[1:]
    sets = list(component.index_set().subsets(expand_all_set_operators=False))
    fits = len(sets) == len(key) and all(
        k._set is s if isinstance(k, IndexTemplate) else not hasattr(k, "is_expression_type")
        for k, s in zip(key, sets, strict=True)
    )
    rule: Any = getattr(component, "_rule", None)
    known = rule is not None and not rule.contains_indices()  # rather than values at listed points
    if component.ctype in (Param, NamedExpression) and known and fits:
        return rule(component.parent_block(), key[0] if len(key) == 1 else key)
    raise Untraceable(f"the index is used as a key, {item}")


# ---- operations ------------------------------------------------------------------------------------------------------


def _combine(node: ExpressionBase, data: list[Any]) -> Read:
    """The value of a node from those of its arguments."""
    if node.is_named_expression_type():
        return data[0]
    for kind in type(node).__mro__:  # the variants without variables inherit from the plain ones
        if kind in _operations():
            return _operations()[kind](node, data)
    raise Untraceable(f"{type(node).__name__} is not part of the language: {node}")


@cache
def _operations() -> dict[type[ExpressionBase], Callable[[ExpressionBase, list[Any]], Read]]:
    from pyomo.core.expr import numeric_expr as numeric
    from pyomo.core.expr import relational_expr as relational

    return {
        numeric.SumExpression: lambda node, data: total(data),
        numeric.NegationExpression: lambda node, data: (
            data[0].scaled(-1.0) if isinstance(data[0], AffineRow) else -data[0]
        ),
        numeric.ProductExpression: lambda node, data: _times(*data),
        numeric.DivisionExpression: lambda node, data: _over(*data),
        numeric.PowExpression: lambda node, data: _power(*data),
        numeric.UnaryFunctionExpression: lambda node, data: _function(node.getname(), *data),
        numeric.MaxExpression: lambda node, data: reduce(EXTREMES["max"], _numbers("max", data)),
        numeric.MinExpression: lambda node, data: reduce(EXTREMES["min"], _numbers("min", data)),
        numeric.Expr_ifExpression: lambda node, data: _choice(*data),
        relational.EqualityExpression: lambda node, data: _equal(*data),
        relational.InequalityExpression: lambda node, data: _compared(data[0], data[1], strict=node._strict),
        relational.RangedExpression: lambda node, data: (
            _compared(data[0], data[1], strict=node._strict[0]),
            _compared(data[1], data[2], strict=node._strict[1]),
        ),
    }


def as_row(value: Term) -> AffineRow:
    """A number or a formula as a row without variables."""
    return value if isinstance(value, AffineRow) else AffineRow({}, value)


def total(data: Iterable[Term]) -> Term:
    """The sum, whose numbers are rounded once."""
    coefficients: dict[int, list[Value]] = {}
    offsets: list[Value] = []
    for value in data:
        row = as_row(value)
        for j, a in row.coefficients.items():
            coefficients.setdefault(j, []).append(a)
        offsets.append(row.offset)
    offset = _sum(offsets)
    return AffineRow({j: _sum(values) for j, values in coefficients.items()}, offset) if coefficients else offset


def _sum(values: list[Value]) -> Value:
    """The numbers added up and rounded once, and then the functions of the index."""
    if len(values) == 1:
        return values[0]
    number: Value = fsum(v for v in values if isinstance(v, float))
    functions = [v for v in values if not isinstance(v, float)]
    if not functions:
        return number
    total = reduce(operator.add, functions)
    return total if _is(number, 0.0) else number + total


def _is(value: Term, number: float) -> bool:
    return isinstance(value, float) and value == number


def _product(a: Value, b: Value) -> Value:
    """a b, without a node for what zeros and ones decide."""
    if _is(a, 0.0) or _is(b, 0.0):
        return 0.0
    return b if _is(a, 1.0) else a if _is(b, 1.0) else a * b


def _times(a: Term, b: Term) -> Term:
    if isinstance(b, AffineRow):
        if isinstance(a, AffineRow):
            raise Untraceable("a product of variables is not affine in them")
        return b.scaled(a)
    return a.scaled(b) if isinstance(a, AffineRow) else _product(a, b)


def _over(a: Term, b: Term) -> Term:
    if isinstance(b, AffineRow):
        raise Untraceable("a division by a variable is not affine in it")
    return a.divided(b) if isinstance(a, AffineRow) else a / b


def _power(base: Term, exponent: Term) -> Term:
    if isinstance(base, AffineRow) and _is(exponent, 1.0):
        return base
    base, exponent = _numbers("a power", [base, exponent])
    power = base**exponent
    if isinstance(power, complex):
        raise Untraceable(f"{base} to the power {exponent} is not a real number")
    return power


def _function(name: str, argument: Term) -> Value:
    (argument,) = _numbers(name, [argument])
    if name not in FUNCTIONS:
        raise Untraceable(f"{name} is not part of the language")
    with np.errstate(all="ignore"):
        value = FUNCTIONS[name](argument)
    if not isinstance(value, Expression) and not np.isfinite(value):
        raise Untraceable(f"{name}({argument}) is not a number")
    return value if isinstance(value, Expression) else float(value)


def _numbers(name: str, data: list[Term]) -> list[Value]:
    plain = [v for v in data if not isinstance(v, AffineRow)]
    if len(plain) < len(data):
        raise Untraceable(f"{name} of variables is not affine in them")
    return plain


def _compared(a: Term, b: Term, strict: bool) -> Comparison | bool:
    small, large = _numbers("a condition", [a, b])
    return compare(small, large, strict)


def _equal(a: Term, b: Term) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return a == b
    raise Untraceable("a condition with == is not part of the language")


def _choice(condition: Truth, a: Term, b: Term) -> Term:
    """`Expr_if`, coefficient by coefficient; a condition with two sides is two nested ones."""
    if isinstance(condition, tuple):
        return _choice(condition[0], _choice(condition[1], a, b), b)
    if isinstance(condition, bool | np.bool_ | float):
        return a if condition else b
    if not isinstance(condition, Comparison):
        raise Untraceable("Expr_if needs an inequality as its condition")
    yes, no = as_row(a), as_row(b)
    columns = {**yes.coefficients, **no.coefficients}
    coefficients = {j: choose(condition, yes.coefficients.get(j, 0.0), no.coefficients.get(j, 0.0)) for j in columns}
    offset = choose(condition, yes.offset, no.offset)
    return AffineRow(coefficients, offset) if coefficients else offset
