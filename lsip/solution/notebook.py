"""A solution in a notebook: what it is worth, what is proven, and which index points hold it."""

from __future__ import annotations

from ..html import card, table
from ..model.status import Status
from .rounding import above, below
from .solution import Solution
from .views import view


@view("notebook")
def notebook(solution: Solution, most: int = 10) -> str:
    """The solution as HTML, with at most so many active points."""
    facts: list[tuple[str, str]] = []
    if solution.status not in (Status.INFEASIBLE, Status.UNBOUNDED):
        low, high = below(solution.lower, 10), above(solution.upper, 10)
        worst = solution.max_violation
        facts += [
            ("value", f"{solution.value:.10g}"),
            ("bounds", f"{low:.10g} to {high:.10g}"),
            ("relative gap", f"{above(solution.gap, 2):.2g}"),
            ("violation", f"{above(worst, 3):.3g} at most" if solution.violation_proven else f"{worst:.3g} found"),
        ]
    facts += [
        ("certified", "yes, for every index point" if solution.certified else "no"),
        ("time", f"{solution.seconds:.3g} s, {len(solution.history)} iteration{'s' * (len(solution.history) != 1)}"),
        ("oracle", solution.oracle),
    ]
    active = [(a.row, a.place, f"{a.multiplier:.6g}") for a in solution.active[:most]]
    parts = [table((), facts)]
    if active:
        parts.append(table(("active constraint", "at", "multiplier"), active))
    left = len(solution.active) - len(active)
    if left:
        parts.append(table((), [(f"and {left} more",)]))
    return card(solution.status.name, solution.message, *parts)
