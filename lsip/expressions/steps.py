"""Functions that jump: np.sign, np.floor, np.ceil, np.mod and the operators % and //.

Each is a sum of np.where, one a jump, so that it is proven piece by piece and a jump counts with both of its limits.
How many jumps there are is up to the index sets: they are looked for in the range of the argument.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import floor
from typing import Any

import numpy as np

from ..errors import ModelError
from .arithmetic import rule
from .graph import Constant, Expression, as_expression
from .operators import RULES, Operators
from .tape import Tape


@dataclass(frozen=True)
class StepsTuning:
    """How long a staircase may be.

    Parameters
    ----------
    most
        Jumps; each is a kink, whose sides are told apart on every box.
    """

    most: int = 64


TUNING = StepsTuning()


def full_range(u: Expression) -> tuple[float, float]:
    """Between which numbers all elements of an expression lie, over its index sets, outward rounded."""
    indices = u.indices()
    lower, upper = (
        np.concatenate([np.zeros(0), *(getattr(i.domain, end) for i in indices)]) for end in ("lower", "upper")
    )
    with np.errstate(all="ignore"):
        box = Tape((u,), indices).enclose(lower[None], upper[None])
    low, high = float(box.lo.min(initial=np.inf)), float(box.hi.max(initial=-np.inf))
    return (low, high) if low <= high else (-np.inf, np.inf)


@rule("sign")
def sign(u: Expression) -> Expression:
    above, below = np.where(u > 0, 1.0, 0.0), np.where(u < 0, 1.0, 0.0)
    return as_expression(above - below)


@rule("floor")
def floored(u: Expression) -> Expression:
    return _staircase(u, 1.0)


def _staircase(a: Expression, c: Any) -> Expression:
    """floor(a / c), a sum of jumps: where a reaches a multiple of c, if that is a double, else where a / c does."""
    u = a if np.ndim(c) == 0 and c == 1.0 else as_expression(a / c)
    low, high = full_range(u)
    if not (np.isfinite(low) and np.isfinite(high)) or floor(high) - floor(low) > TUNING.most:
        raise ModelError(
            f"np.floor({u}), and % and // with it, may jump more than {TUNING.most} times over the index sets, where "
            f"its argument goes from {low:.6g} to {high:.6g}. Take smaller sets, a constraint for each of them."
        )
    result: Any = Constant(np.full(u.shape, float(floor(low))))
    for level in range(floor(low) + 1, floor(high) + 1):
        result = result + np.where(_reached(a, c, u, level), 1.0, 0.0)
    return as_expression(result)


def _reached(a: Expression, c: Any, u: Expression, level: int) -> Any:
    """a / c >= level."""
    if np.ndim(c) == 0 and Fraction(float(level * c)) == level * Fraction(float(c)):
        return a >= float(level * c) if c > 0 else a <= float(level * c)
    return u >= float(level)


@rule("ceil")
def ceiling(u: Expression) -> Expression:
    return as_expression(-floored(-u))


@rule("floor_divide")
def floor_divide(a: Expression, b: Expression) -> Expression:
    return _staircase(a, _divisor(b, "//"))


@rule("remainder", "mod")
def remainder(a: Expression, b: Expression) -> Expression:
    """a - b floor(a / b): NumPy's, which has the sign of b."""
    divisor = _divisor(b, "%")
    return as_expression(a - divisor * _staircase(a, divisor))


def _divisor(b: Expression, symbol: str) -> Any:
    if not isinstance(b, Constant) or (b.value == 0).any():
        raise ModelError(f"`{symbol}` needs numbers other than 0 on its right; got {b}.")
    return b.value if b.ndim else float(b.value)


def _operator(name: str) -> None:
    """Python's operator for a rule."""
    setattr(Operators, f"__{name}__", lambda self, other: RULES[_NAMES[name]](self, other))
    setattr(Operators, f"__r{name}__", lambda self, other: RULES[_NAMES[name]](other, self))


_NAMES = {"mod": "remainder", "floordiv": "floor_divide"}
for _name in _NAMES:
    _operator(_name)
