"""Quotients with a removable singularity: sin(w) / u, (exp(w) - 1) / u, (2 ** w - 1) / u, where w is a multiple of u.

They become np.sinc without its factor, and scipy.special.exprel, which are smooth where u = 0. Only quotients whose
denominator may vanish over the index sets are touched.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .functions import FUNCTIONS
from .graph import LOG2, Constant, Expression, Index, as_expression
from .operations import Add, Apply, Divide, Multiply, Negate
from .operators import RULES
from .steps import full_range

_divide: Callable[..., Any] = RULES["divide"]


def divide(a: Any, b: Any) -> Any:
    """a / b, or what it is where both vanish."""
    if isinstance(a, Expression) and isinstance(b, Expression) and not isinstance(b, Constant):
        found = _without_singularity(a, b)
        if found is not None:
            found.origin = ("divide", a, b)
            return found
    return _divide(a, b)


def _without_singularity(a: Expression, b: Expression) -> Expression | None:
    numerator = _vanishing(a)
    if numerator is None:
        return None
    name, w, factor = numerator
    ratio = _ratio(w, b)
    if ratio is None:
        return None
    low, high = full_range(b)
    if low > 0 or high < 0:
        return None
    return as_expression(factor * (Apply(FUNCTIONS[name], as_expression(factor * w)) * ratio))


def _vanishing(a: Expression) -> tuple[str, Expression, Any] | None:
    """A function that vanishes with w, as w times a function of the table: its name, w, and a factor of w in it."""
    if isinstance(a, Apply) and a.function.name in ("sin", "expm1"):
        return ("sinc" if a.function.name == "sin" else "exprel"), a.args[0], 1.0
    if isinstance(a, Add):
        for u, one in (a.args, a.args[::-1]):
            power = isinstance(u, Apply) and u.function.name in ("exp", "exp2")
            if power and isinstance(one, Constant) and not one.rounded and (one.value == -1.0).all():
                assert isinstance(u, Apply)
                return "exprel", u.args[0], LOG2 if u.function.name == "exp2" else 1.0
    return None


def _ratio(w: Expression, b: Expression) -> Any:
    """w / b, if that is a constant; None if it is not seen to be one."""
    (one, above), (other, below) = _core(w), _core(b)
    return as_expression(above) / below if _same(one, other) else None


def _core(e: Expression) -> tuple[Expression, Any]:
    """What an expression is a multiple of, and the factor."""
    factor: Any = 1.0
    while True:
        if isinstance(e, Negate):
            e, factor = e.args[0], -factor
        elif isinstance(e, Divide):
            e, factor = e.args[0], as_expression(factor) / e.args[1]
        elif isinstance(e, Multiply) and (fixed := [u for u in e.args if not u.indices()]):
            e, factor = next(u for u in e.args if u is not fixed[0]), factor * fixed[0]
        else:
            return e, factor


def _same(a: Expression, b: Expression) -> bool:
    """Whether two expressions are written alike."""
    stack = [(a, b)]
    while stack:
        a, b = stack.pop()
        if a is b:
            continue
        if isinstance(a, Index) or type(a) is not type(b) or a.key() is None or a.key() != b.key():
            return False
        if len(a.args) != len(b.args) or a.shape != b.shape:
            return False
        stack.extend(zip(a.args, b.args, strict=True))
    return True


for _name in ("divide", "true_divide"):
    RULES[_name] = divide
