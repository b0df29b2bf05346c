"""An entry of the corpus: how to build a model, and how to solve it within limits that are not seconds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import lsip

ITERATIONS = 200  # of an exchange, at most


@dataclass(frozen=True)
class Item:
    """A model: `build` makes it, and `solve` answers what was built."""

    build: Callable[[], Any]
    solve: Callable[[Any], Any]


def within_limits(problem: lsip.Problem, **options: Any) -> Any:
    """Solve with a limit of iterations; boxes have the limit that oracles have by default."""
    return problem.solve(verbose=False, max_iterations=ITERATIONS, **options)
