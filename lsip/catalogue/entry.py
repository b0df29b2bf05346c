"""What the catalogue knows about one problem, and the decorator that puts it there."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING

from ..errors import ModelError
from ..legible import legible_repr

if TYPE_CHECKING:
    from ..model.problem import Problem

Build = Callable[[], "Problem"]

STATUSES = ("optimal", "infimum", "gap", "infeasible", "unbounded")

REGISTRY: dict[str, Entry] = {}


@legible_repr
@dataclass(frozen=True)
class Entry:
    """A declared model and the facts that any solver should reproduce.

    `status` is one of ``"optimal"`` (the value is attained), ``"infimum"`` (finite, not attained), ``"gap"`` (the limit
    of the finite relaxations differs from the value), ``"infeasible"`` and ``"unbounded"``. `value` is that of the
    objective as declared: NaN when infeasible, an infinity when unbounded.

    Examples
    --------
    >>> import lsip
    >>> entry = lsip.catalogue.get("tfi2_tan_n3")
    >>> entry.name, round(entry.value, 4), type(entry.build()).__name__
    ('tfi2_tan_n3', 0.649, 'Problem')
    """

    name: str
    title: str  # one line, what the problem asks
    build: Build  # a fresh Problem on every call
    status: str
    value: float
    digits: int  # decimal digits of `value`, relative to max(1, |value|), that independent computations agree on
    tags: tuple[str, ...]
    source: str  # where the problem, or the theorem that solves it, comes from
    note: str = ""  # the closed form or the argument behind `value`, and what makes the problem interesting
    slater: bool = True  # does some x satisfy every semi-infinite constraint with room to spare?

    def __post_init__(self) -> None:
        if self.status not in STATUSES:
            raise ModelError(f"{self.name}: the status must be one of {', '.join(STATUSES)}; got {self.status!r}.")
        expected = {"infeasible": math.isnan, "unbounded": math.isinf}.get(self.status, math.isfinite)
        if not expected(self.value):
            raise ModelError(f"{self.name}: a problem that is {self.status} cannot have the value {self.value}.")
        if self.slater and self.status in ("infeasible", "gap"):
            raise ModelError(f"{self.name}: a problem with status {self.status!r} has no Slater point.")


def known(
    value: float,
    *,
    digits: int,
    source: str,
    tags: tuple[str, ...] = (),
    status: str = "optimal",
    note: str = "",
    slater: bool = True,
) -> Callable[[Build], Build]:
    """Register the decorated function as a catalogue entry.

    The entry takes its name from the function and its title from the first line of the docstring; the other fields are
    those of `Entry`. Whatever the function builds is named after it.
    """

    def register(build: Build) -> Build:
        name = build.__name__
        title = (build.__doc__ or "").strip().partition("\n")[0].rstrip(".")
        if not title:
            raise ModelError(f"{name}: give the function a docstring; its first line is the title of the entry.")
        if name in REGISTRY:
            raise ModelError(f"{name}: the catalogue already has a problem of this name.")

        @wraps(build)
        def named() -> Problem:
            problem = build()
            problem.name = name
            return problem

        REGISTRY[name] = Entry(name, title, named, status, value, digits, tags, source, note, slater)
        return named

    return register
