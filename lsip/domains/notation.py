"""Writing sets as mathematics, for a terminal and in LaTeX."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_SUPERSCRIPTS = dict(zip("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹", strict=True))


def superscript(n: int) -> str:
    """`n` as a raised number."""
    return "".join(_SUPERSCRIPTS[digit] for digit in str(n))


def power(sets: Sequence[str]) -> str:
    """A product of sets; a power when they are all the same."""
    if len(sets) > 1 and len(set(sets)) == 1:
        base = f"({sets[0]})" if sets[0][-1:] in _SUPERSCRIPTS.values() else sets[0]
        return base + superscript(len(sets))
    return " × ".join(_few(sets))


def latex_power(sets: Sequence[str]) -> str:
    """A product of sets in LaTeX; a power when they are all the same."""
    if len(sets) > 1 and len(set(sets)) == 1:
        base = rf"\left({sets[0]}\right)" if re.search(r"\^(\{\d+\}|\d)$", sets[0]) else sets[0]
        return f"{base}^{{{len(sets)}}}"
    return r" \times ".join(_few(sets, r"\dots"))


def _few(sets: Sequence[str], dots: str = "…") -> Sequence[str]:
    return sets if len(sets) <= 8 else [*sets[:3], dots, sets[-1]]


def point(values: Iterable[float]) -> str:
    """A point as (1, 2); a number when it has one coordinate."""
    numbers = [f"{value:.6g}" for value in values]
    if len(numbers) > 8:
        numbers = [*numbers[:3], "…", numbers[-1]]
    return numbers[0] if len(numbers) == 1 else f"({', '.join(numbers)})"


def interval(low: float, high: float) -> str:
    """[0, 1], and [0, ∞) where it has no end."""
    left = "(-∞" if low == float("-inf") else f"[{low:.6g}"
    return f"{left}, ∞)" if high == float("inf") else f"{left}, {high:.6g}]"
