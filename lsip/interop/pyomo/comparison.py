"""Comparisons of index expressions, and what is chosen by them: a maximum or a minimum where that is what it says.

`Expr_if(a >= b, a, b)` is continuous, which enclosures of a general choice cannot know.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ...expressions.graph import Expression

Value = float | Expression  # a number, or what it is as a function of the index


@dataclass(frozen=True, eq=False)
class Comparison:
    """small <= large, or small < large when `strict`: numbers and index expressions, not both numbers."""

    small: Value
    large: Value
    strict: bool

    @cached_property
    def condition(self) -> Any:
        """What np.where takes."""
        return self.small < self.large if self.strict else self.small <= self.large


def compare(small: Value, large: Value, strict: bool) -> Comparison | bool:
    """The comparison; of numbers, its truth."""
    if isinstance(small, Expression) or isinstance(large, Expression):
        return Comparison(small, large, strict)
    return bool(small < large if strict else small <= large)


def choose(comparison: Comparison, a: Value, b: Value) -> Any:
    """a where the comparison holds, b elsewhere."""
    small, large = comparison.small, comparison.large
    if isinstance(a, float) and isinstance(b, float) and a == b:
        return a
    if alike(a, large) and alike(b, small):  # at equality, where strictness matters, both are the same
        return np.maximum(a, b)
    if alike(a, small) and alike(b, large):
        return np.minimum(a, b)
    return np.where(comparison.condition, a, b)


def alike(a: Value, b: Value) -> bool:
    """Whether two values are the same number, or index expressions that are built alike."""
    if not (isinstance(a, Expression) and isinstance(b, Expression)):
        return isinstance(a, float) and isinstance(b, float) and a == b
    waiting, seen = [(a, b)], set()
    while waiting:
        u, v = waiting.pop()
        if u is v or (id(u), id(v)) in seen:
            continue
        seen.add((id(u), id(v)))
        key = u.key()
        if type(u) is not type(v) or u.shape != v.shape or key is None or key != v.key() or len(u.args) != len(v.args):
            return False
        waiting += zip(u.args, v.args, strict=True)
    return True
