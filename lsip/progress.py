"""What is printed while work goes on: a table during a solve, one line an iteration, and a bar for many steps."""

from __future__ import annotations

import math
import os
import shutil
import sys
import textwrap
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, TextIO

from .legible import say
from .solution.outward_rounding import above, below

if TYPE_CHECKING:
    from .solution.result import Iterate
from .solution.solution import Solution

__all__ = ["Bar", "Table", "clock", "number", "power", "summary"]

COLUMNS = (
    ("iter", 4),
    ("rows", 6),
    ("relaxed", 12),
    ("lower", 13),
    ("upper", 13),
    ("violation", 9),
    ("gap", 8),
    ("time", 7),
)
WIDTH = sum(width + 1 for _, width in COLUMNS)  # that of a terminal
EXPLANATION = (
    " relaxed: optimum over the rows so far, which still have this violation",
    " lower, upper: proven bounds on the optimum; gap: their relative distance",
)
BOUND_DIGITS = 9  # of a bound, where there is room


class Table:
    """Prints a solve as it happens.

    `relaxed` is the value of the relaxation; `lower` and `upper` are proven bounds on the optimal value; `violation` is
    the largest violation found, and `gap` is `Solution.gap`. An unknown number is ``-``. The row `end` holds the bounds
    of the answer. Two lines above the table explain the columns, once.

    Parameters
    ----------
    stream : where to print; standard output when None
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream
        self._lines = 0
        self._page = shutil.get_terminal_size().lines  # after which titles have scrolled away
        self.rest: Callable[[], None] = _nothing  # called after every line: no sign of life is needed for a while

    def start(self, lines: list[str]) -> None:
        """Print what is about to be solved, and how."""
        for line in lines:
            for part in textwrap.wrap(line, WIDTH, subsequent_indent="  "):
                self._print(part)
        if lines:
            self._print("")

    def row(self, iterate: Iterate) -> None:
        """Print one iteration, given as a row of `Solution.history`."""
        if not self._lines:
            for line in EXPLANATION:
                self._print(line)
        if self._lines % self._page == 0:
            self._titles()
        self._lines += 1
        cells = (
            str(iterate.iteration),
            str(iterate.rows),
            *_bounds(iterate),
            power(iterate.violation, 1),
            power(above(iterate.gap, 2), 1),
            clock(iterate.seconds),
        )
        self._cells(cells)
        self.rest()

    def _end(self, solution: Solution) -> None:
        """A last row, with what was proven after the last iteration."""
        cells = (
            "end",
            str(len(solution.cuts)),
            *_bounds(solution),
            power(above(solution.max_violation, 2), 1) if solution.violation_proven else "-",
            power(above(solution.gap, 2), 1),
            clock(solution.seconds),
        )
        self._cells(cells)

    def _cells(self, cells: tuple[str, ...]) -> None:
        self._print("".join(f" {cell:>{width}}" for cell, (_, width) in zip(cells, COLUMNS, strict=True)))

    def beat(self, doing: str, seconds: float) -> None:
        """Print a sign of life while one iteration takes long: what is being done."""
        self._print(f" {'·':>5} {doing:<{WIDTH - 17}} {clock(seconds):>8}")

    def _titles(self) -> None:
        self._print("".join(f" {title:>{width}}" for title, width in COLUMNS))

    def finish(self, solution: Solution) -> None:
        """Print the result and what is proven about it."""
        if self._lines:
            if math.isfinite(solution.value):
                self._end(solution)
            self._print(" " + "-" * (WIDTH - 1))
        for line in summary(solution):
            self._print(line)

    def _print(self, line: str) -> None:
        with suppress(OSError):  # a full disk is no reason to lose a solve; Python says so at its end
            say(line.rstrip(), stream=self._stream)


def _nothing() -> None:
    pass


def _bounds(known: Iterate | Solution) -> tuple[str, str, str]:
    """The value and its bounds, with as many digits as their columns have room for."""
    widths = dict(COLUMNS)
    return (
        _fitted(known.value, widths["relaxed"], lambda value, digits: value),
        _fitted(known.lower, widths["lower"], below),
        _fitted(known.upper, widths["upper"], above),
    )


def _fitted(value: float, width: int, rounded: Callable[[float, int], float]) -> str:
    texts = (number(rounded(value, digits), digits) for digits in range(BOUND_DIGITS, 0, -1))
    return next(text for text in texts if len(text) <= width)


def summary(solution: Solution) -> list[str]:
    """The result in a few aligned lines."""
    title = solution.status.name.replace("_", " ")
    by = f" to atol = {above(solution.atol, 2):.2g} only" if solution.wide else ""
    lines = [f" {title}{by}{', certified' if solution.certified else ''}"]
    lines += textwrap.wrap(solution.message, WIDTH, initial_indent="   ", subsequent_indent="   ")
    if math.isfinite(solution.value):
        lines.append(f"   value      {solution.value:.12g}")
        lines.append(f"   {'bounds' if solution.certificate.trusts else 'proven'}     {_enclosure(solution)}")
    lines += _violations(solution) if math.isfinite(solution.value) else []
    if solution.active:
        count = len(solution.active)
        lines.append(f"   active     {count} index point{'s' if count != 1 else ''} with a positive multiplier")
    count = len(solution.history)
    shares = [part.rsplit(" ", 1) for part in str(solution.effort).split(", ") if part]
    most = sorted(shares, key=lambda share: -int(share[1].rstrip("%")))[:2]  # as many as a line has room for
    share = f" ({', '.join(map(' '.join, most))})" if most else ""
    lines.append(f"   effort     {count} iteration{'s' if count != 1 else ''}, {solution.seconds:.3g} s{share}")
    return lines


def _violations(solution: Solution) -> list[str]:
    """By how much x breaks the constraints over an index, and the finite ones where they are broken at all."""
    lines = []
    worst, finite = solution.max_violation, solution.certificate.finite_violation
    if solution.program.families and solution.violation_proven:
        lines.append(f"   violation  {power(above(worst, 3))} (proven bound over all index points)")
    elif solution.program.families and math.isfinite(worst):
        lines.append(f"   violation  {power(worst)} (largest found; larger ones are possible)")
    if len(solution.certificate.box) and math.isfinite(solution.certificate.upper):
        reach = power(above(float(solution.certificate.box.max()), 3))
        lines.append(f"   exact      a point within {reach} of x satisfies everything exactly")
    elif finite > 0:
        lines.append(f"   finite     {power(finite)} (violation of finite rows or bounds)")
    return lines


def _enclosure(solution: Solution) -> str:
    """What is proven about the optimal value."""
    lower, upper = number(below(solution.lower, 12), 12), number(above(solution.upper, 12), 12)
    if math.isfinite(solution.lower) and math.isfinite(solution.upper):
        apart = f", {power(above(solution.upper - solution.lower, 3))} apart" if solution.wide else ""
        return f"{lower} <= optimum <= {upper}, gap {power(above(solution.gap, 3))}{apart}"
    if math.isfinite(solution.lower):
        return f"{lower} <= optimum, no upper bound"
    if math.isfinite(solution.upper):
        return f"optimum <= {upper}, no lower bound"
    return "nothing about the optimum"


def number(value: float, digits: int = BOUND_DIGITS) -> str:
    """A bound on the optimal value: `digits` significant digits, ``-`` where nothing is known."""
    return f"{value:#.{digits}g}" if math.isfinite(value) else "-"


def power(value: float, decimals: int = 2) -> str:
    """A small quantity in scientific notation; ``-`` where nothing is known."""
    return f"{value:.{decimals}e}" if math.isfinite(value) else "-"


def clock(seconds: float) -> str:
    """Seconds with two decimals while that fits, whole seconds afterwards."""
    return f"{seconds:.2f}s" if seconds < 1000 else f"{seconds:.0f}s"


class Bar:
    """A progress bar on standard error: how many of how many steps are done; silent where that is not a terminal."""

    def __init__(self) -> None:
        self.began, self.length = time.monotonic(), 0
        self.shown = sys.stderr is not None and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"

    def at(self, done: int, total: int, name: str) -> None:
        """Draw the bar; `name` is the step that has begun."""
        if not self.shown:
            return
        bar_width = WIDTH // 3
        filled = bar_width * done // max(total, 1)
        bar = "#" * filled + "." * (bar_width - filled)
        line = f"[{bar}] {done}/{total}  {time.monotonic() - self.began:.0f} s  {name}"
        say(line.ljust(self.length), start="\r", end="", stream=sys.stderr)
        self.length = len(line)

    def clear(self) -> None:
        """Remove the bar, so that a line can be printed in its place."""
        if self.shown and self.length:
            say(" " * self.length, start="\r", end="\r", stream=sys.stderr)
            self.length = 0
