"""Solvers, ours and those of users, with a look at all that they return: of the right kind and shape, and finite.

Whether it is true is not asked here. Bounds are recomputed from multipliers, and feasibility is proven by separation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..deadline import check
from ..errors import LSIPError, ModelError, OutOfTime
from ..validation import numbers, shown
from .base import (
    Array,
    Backend,
    Bools,
    FiniteProgram,
    FiniteResult,
    LiveProgram,
    Master,
    MasterError,
    MasterResult,
    Matrix,
    Pair,
)
from .highs import HIGHS

METHODS = ("add", "drop", "solve", "centre", "best_margin")
STATUSES = ("optimal", "infeasible")


def observed(name: str, method: Callable[..., Any], *given: object, **named: object) -> Any:
    """What a method of a solver says; whatever else it raises means that the solver has failed."""
    try:
        return method(*given, **named)
    except LSIPError:
        raise
    except Exception as error:
        raise MasterError(f"The master {name} failed: {type(error).__name__}: {error}.") from error


def open_program(backend: Backend, program: FiniteProgram, tol: float) -> CheckedProgram:
    """A finite program by a back end that can solve such programs, under observation."""
    can = backend.capabilities
    if (program.integer is not None and not can.integers) or (program.cones and not can.cones):
        raise ModelError(f"The master {backend.name} takes no {'cones' if program.cones else 'integer variables'}.")
    return CheckedProgram(observed(backend.name, backend.open, program, tol), backend.name, program)


def linear_program(
    c: Array, lower: Array, upper: Array, A: Matrix, row_lower: Array, row_upper: Array, accuracy: float = 1e-8
) -> Array | None:
    """The solution of a small linear program; None if HiGHS finds none. Raises `OutOfTime` at the deadline.

    The accuracy is that of a proposal: what comes of it is proven or not, whatever it is.
    """
    program = FiniteProgram(c, lower, upper, A, row_lower, row_upper)
    try:
        found = open_program(HIGHS, program, accuracy).optimum(interior=False, once=True)
    except OutOfTime:
        check("linear program")  # which says whether the time is really up
        found = None
    return None if found is None else found[0]


class _Growing:
    """What the solver called `name` has opened, with n variables and so many rows; others are added and dropped."""

    def __init__(self, opened: LiveProgram | Master, name: str, n: int, rows: int) -> None:
        self._opened, self._name, self._n, self._rows, self._added = opened, name, n, rows, 0

    def add(self, rows: Matrix, rhs: Array) -> None:
        observed(self._name, self._opened.add, rows, rhs)
        self._added += len(rhs)

    def drop(self, keep: Bools) -> None:
        observed(self._name, self._opened.drop, keep)
        self._added = int(keep.sum())


class CheckedProgram(_Growing):
    """A live program of the back end called `name`."""

    def __init__(self, live: LiveProgram, name: str, program: FiniteProgram) -> None:
        super().__init__(live, name, len(program.c), program.A.shape[0])
        self._live, self._integer, self._begun = live, program.integer is not None, False

    @property
    def program(self) -> FiniteProgram:
        return self._live.program

    def change(self, c: Array | None = None, bounds: Pair | None = None, sides: Pair | None = None) -> None:
        observed(self._name, self._live.change, c, bounds, sides)

    def solve(self, **options: object) -> FiniteResult:
        result: FiniteResult = observed(self._name, self._live.solve, **options)
        name, sizes = self._name, {"x": self._n, "multipliers": self._rows + self._added, "reduced_costs": self._n}
        if result.status not in ("optimal", "infeasible", "unbounded", "limit"):
            raise MasterError(f"The master {name} stopped with {result.status!r}.")
        for field, size in sizes.items():
            values = getattr(result, field)
            if values is None and result.status == "optimal" and (field == "x" or not self._integer):
                raise MasterError(f"The master {name} gave no `{field}` of an optimum.")
            if values is not None and not (np.shape(values) == (size,) and np.isfinite(values).all()):
                raise MasterError(f"`{field}` of the master {name} is not finite, or has not the size {size}.")
        if result.status == "unbounded":  # whatever number stands for that
            return replace(result, bound=-np.inf)
        if np.isnan(result.bound) or (result.bound == np.inf and result.status != "infeasible"):
            raise MasterError(f"The bound of the branch and bound of {name} is {result.bound}.")
        return result

    def optimum(self, interior: bool | None = None, once: bool = False) -> tuple[Array, Array] | None:
        """The solution and the multipliers of a linear or conic program; None without one, whatever the reason.

        If nothing else is said, large programs are begun by an interior-point method: rules for inventories and supply
        chains with 200 to 1300 rows took it twice as long as the simplex method, those with 2500 two thirds.
        """
        begun, self._begun = self._begun, True
        try:
            inside = not begun and self._rows > 2000 if interior is None else interior
            found = self.solve(interior=inside, once=once)
        except MasterError:
            return None
        if found.status != "optimal" or found.x is None or found.multipliers is None:
            return None
        return found.x, found.multipliers

    def centre(self) -> Array | None:
        x: Array | None = observed(self._name, self._live.centre)
        return x if x is not None and np.shape(x) == (self._n,) and np.isfinite(x).all() else None


class Checked(_Growing):
    """The master that a factory of a user has opened."""

    def __init__(self, opened: Master, name: str, n: int, rows: int) -> None:
        missing = [method for method in METHODS if not callable(getattr(opened, method, None))]
        if missing:
            raise ModelError(
                f"The master {name} must open a finite program with the methods {', '.join(METHODS)}; it opened "
                f"{shown(opened)}, which has no {', '.join(missing)}."
            )
        super().__init__(opened, name, n, rows)
        self._master = opened

    def solve(self, margin: float) -> MasterResult:
        return self._checked("solve(margin)", observed(self._name, self._master.solve, margin))

    def best_margin(self, most: float) -> MasterResult:
        return self._checked("best_margin(most)", observed(self._name, self._master.best_margin, most))

    def centre(self, margin: float) -> Array | None:
        z: Array | None = observed(self._name, self._master.centre, margin)
        if z is not None:
            self._check("centre(margin)", "a point or None", z, (self._n,))
        return z if z is not None and np.isfinite(z).all() else None

    def _checked(self, call: str, result: object) -> MasterResult:
        if not isinstance(result, MasterResult):
            raise ModelError(
                f"`{call}` of the master {self._name} must give an lsip.masters.MasterResult; got {shown(result)}."
            )
        if not isinstance(result.status, str) or result.status not in STATUSES:
            raise MasterError(f"The master {self._name} stopped with {result.status!r}.")
        shapes: dict[str, tuple[int, ...]] = {"cut_multipliers": (self._added,), "row_multipliers": (self._rows,)}
        if result.status == "optimal":
            shapes |= {"z": (self._n,), "reduced_costs": (self._n,), "slack": (), "objective": ()}
        for field, shape in shapes.items():
            if not np.isfinite(self._check(call, f"`{field}`", getattr(result, field), shape)).all():
                raise MasterError(f"`{field}` of the master {self._name} is not finite.")
        return result

    def _check(self, call: str, what: str, values: ArrayLike, shape: tuple[int, ...]) -> Array:
        found = numbers(values, f"What `{call}` of the master {self._name} gives for {what}", nan=True)
        if found.shape != shape:
            raise ModelError(
                f"`{call}` of the master {self._name} must give {what} of shape {shape}; got {found.shape}."
            )
        return found
