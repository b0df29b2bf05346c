"""How a solution is shown by rooms that are built on it: each registers its function under the name of the method.

`Solution.plot`, `Solution.report` and `Solution.to_frame` are what people type; what they do knows solutions, and not
the other way round.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from ..registered import Registered

View = TypeVar("View", bound=Callable[..., Any])
_VIEWS: Registered[Callable[..., Any]] = Registered(
    {"plot": "plotting", "report": "report", "to_frame": "solution.frames", "notebook": "solution.notebook"}
)


def view(name: str) -> Callable[[View], View]:
    """Register what the method `name` of a solution does: a function of the solution and the method's arguments."""

    def register(function: View) -> View:
        _VIEWS[name] = function
        return function

    return register


def shown_by(name: str) -> Callable[..., Any]:
    """The function that was registered under that name."""
    return _VIEWS[name]
