"""What a solve came to, as figures with all digits, and whether it agrees with what is known of a catalogue entry."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from lsip import catalogue

STATUS = {"optimal": "OPTIMAL", "infimum": "OPTIMAL", "infeasible": "INFEASIBLE", "unbounded": "UNBOUNDED"}


def outcome(solution: Any) -> dict[str, Any]:
    """Status, value and bounds of a `Solution`, or of anything with its face."""
    return {
        "status": solution.status.name,
        "certified": bool(solution.certified),
        "value": digits(solution.value),
        "lower": digits(solution.lower),
        "upper": digits(solution.upper),
        "iterations": len(getattr(solution, "history", ())),
    }


def clocked(run: Callable[[], Any]) -> tuple[dict[str, float], Any]:
    """Wall and processor seconds, and what the call returned: far apart, they tell of a busy machine."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = run()
    return {"seconds": time.perf_counter() - wall, "cpu": time.process_time() - cpu}, result


def digits(value: float) -> str:
    """All digits as text: numbers among figures are rounded to six."""
    return repr(float(value))


def agrees(entry: catalogue.Entry, solution: Any) -> bool:
    """Whether a certified answer is the known one, to the digits that are known."""
    if not solution.certified or STATUS.get(entry.status) != solution.status.name:
        return False
    if math.isnan(entry.value) or entry.value == solution.value:
        return True
    close = 10.0**-entry.digits + 2 * solution.tol
    return bool(abs(solution.value - entry.value) <= close * max(1.0, abs(entry.value)))


@contextmanager
def lp_solves() -> Iterator[dict[str, int]]:
    """How often HiGHS is run through highspy meanwhile."""
    import highspy

    counted, original = {"lp_solves": 0}, highspy.Highs.run

    def run(self: Any, *args: Any, **options: Any) -> Any:
        counted["lp_solves"] += 1
        return original(self, *args, **options)

    highspy.Highs.run = run
    try:
        yield counted
    finally:
        highspy.Highs.run = original
