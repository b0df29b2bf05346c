"""A solution as text for a terminal, and as HTML for a notebook: values, bounds, what is proven, active points."""

from __future__ import annotations

from ..html import card, table
from .messages import message
from .outward_rounding import above, below
from .result import Result

MOST_POINTS = 10  # active points that are listed


def summary(result: Result) -> str:
    """Some lines for a terminal."""
    lines = [f"{result.status.name}: {message(result)}"]
    if result.status.has_point:
        low, high = _bounds(result)
        lines.append(f"value     {result.value:.10g}")
        lines.append(f"bounds    [{low}, {high}], relative gap {above(result.gap, 2):.2g}")
        lines.append(f"violation {_violation(result)}")
    if result.active:
        lines.append("active    " + "\n          ".join(map(str, result.active[:MOST_POINTS])))
    return "\n".join(lines)


def notebook(result: Result) -> str:
    """A card for a notebook."""
    facts: list[tuple[str, str]] = []
    if result.status.has_point:
        facts += [
            ("value", f"{result.value:.10g}"),
            ("bounds", " to ".join(_bounds(result))),
            ("relative gap", f"{above(result.gap, 2):.2g}"),
            ("violation", _violation(result)),
        ]
    facts += [
        ("certified", "yes, for every index point" if result.certified else "no"),
        ("time", f"{result.seconds:.3g} s, {len(result.history)} iteration{'s' * (len(result.history) != 1)}"),
        ("oracle", result.oracle),
    ]
    active = [(a.row, a.place, f"{a.multiplier:.6g}") for a in result.active[:MOST_POINTS]]
    parts = [table((), facts)]
    if active:
        parts.append(table(("active constraint", "at", "multiplier"), active))
    left = len(result.active) - len(active)
    if left:
        parts.append(table((), [(f"and {left} more",)]))
    return card(result.status.name, message(result), *parts)


def _bounds(result: Result) -> tuple[str, str]:
    return f"{below(result.lower, 10):.10g}", f"{above(result.upper, 10):.10g}"


def _violation(result: Result) -> str:
    worst = result.max_violation
    return f"{above(worst, 3):.3g} at most" if result.violation_proven else f"{worst:.3g} found"
