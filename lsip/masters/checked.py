"""Solvers, ours and those of users, with a look at all that they return: of the right kind and shape, and finite.

Whether it is true is not asked here. Bounds are recomputed from multipliers, and feasibility is proven by separation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import LSIPError, ModelError
from ..validation import numbers, shown
from .base import Array, IntegerMaster, IntegerResult, Master, MasterError, MasterResult, Matrix

if TYPE_CHECKING:
    from .whole import Whole, WholeAnswer

METHODS = ("add", "drop", "solve", "centre", "best_margin")
STATUSES = ("optimal", "infeasible")
INTEGER_STATUSES = ("optimal", "infeasible", "unbounded", "limit")


def observed(name: str, method: Callable[..., Any], *given: object) -> Any:
    """What a method of a solver says; whatever else it raises means that the solver has failed."""
    try:
        return method(*given)
    except LSIPError:
        raise
    except Exception as error:
        raise MasterError(f"The master {name} failed: {type(error).__name__}: {error}.") from error


def check_finite(name: str, field: str, values: ArrayLike) -> None:
    """Refuse what is no array of numbers, or has nan or infinities in it."""
    try:
        found = numbers(values, f"`{field}` of the master {name}", nan=True)
    except ModelError as error:
        raise MasterError(str(error)) from None
    if not np.isfinite(found).all():
        raise MasterError(f"`{field}` of the master {name} is not finite.")


class CheckedInteger:
    """The finite program over whole values that a factory called `name` has opened, with n variables."""

    def __init__(self, opened: IntegerMaster, name: str, n: int) -> None:
        self._opened, self._name, self._n = opened, name, n

    def add(self, rows: Matrix, rhs: Array) -> None:
        observed(self._name, self._opened.add, rows, rhs)

    def solve(self, gap: float, start: Array | None = None, nodes: int | None = None) -> IntegerResult:
        result: IntegerResult = observed(self._name, self._opened.solve, gap, start, nodes)
        if result.status not in INTEGER_STATUSES:
            raise MasterError(f"The branch and bound of {self._name} stopped with {result.status!r}.")
        if result.status == "unbounded":  # whatever number stands for that
            return replace(result, bound=-np.inf)
        if np.isnan(result.bound) or (result.bound == np.inf and result.status != "infeasible"):
            raise MasterError(f"The bound of the branch and bound of {self._name} is {result.bound}.")
        if result.x is not None:
            check_finite(self._name, "x", result.x)
            if np.shape(result.x) != (self._n,):
                raise MasterError(f"The branch and bound of {self._name} gave {np.shape(result.x)} for ({self._n},).")
        return result


class CheckedWhole:
    """A program that is solved as a whole, by the solver called `name`."""

    def __init__(self, opened: Whole, name: str) -> None:
        self._opened, self._name = opened, name

    def solve(self, c: Array, row_lower: Array, row_upper: Array) -> WholeAnswer | None:
        answer: WholeAnswer | None = observed(self._name, self._opened.solve, c, row_lower, row_upper)
        if answer is not None:
            check_finite(self._name, "x", answer.x)
            check_finite(self._name, "multipliers", answer.multipliers)
        return answer


class Checked:
    """The finite program that a factory called `name` has opened, with n variables and so many rows."""

    def __init__(self, opened: Master, name: str, n: int, rows: int) -> None:
        missing = [method for method in METHODS if not callable(getattr(opened, method, None))]
        if missing:
            raise ModelError(
                f"The master {name} must open a finite program with the methods {', '.join(METHODS)}; it opened "
                f"{shown(opened)}, which has no {', '.join(missing)}."
            )
        self._opened, self._name = opened, name
        self._n, self._rows, self._cuts = n, rows, 0

    def add(self, rows: Matrix, rhs: Array) -> None:
        observed(self._name, self._opened.add, rows, rhs)
        self._cuts += len(rhs)

    def drop(self, keep: NDArray[np.bool_]) -> None:
        observed(self._name, self._opened.drop, keep)
        self._cuts = int(keep.sum())

    def solve(self, margin: float) -> MasterResult:
        return self._checked("solve(margin)", observed(self._name, self._opened.solve, margin))

    def best_margin(self, most: float) -> MasterResult:
        return self._checked("best_margin(most)", observed(self._name, self._opened.best_margin, most))

    def centre(self, margin: float) -> Array | None:
        z = observed(self._name, self._opened.centre, margin)
        if z is None:
            return None
        self._check_shape("centre(margin)", "a point or None", z, self._n)
        return z if np.isfinite(z).all() else None

    def _checked(self, call: str, result: object) -> MasterResult:
        if not isinstance(result, MasterResult):
            raise ModelError(
                f"`{call}` of the master {self._name} must give an lsip.masters.MasterResult; got {shown(result)}."
            )
        if not isinstance(result.status, str) or result.status not in STATUSES:
            raise MasterError(f"The master {self._name} stopped with {result.status!r}.")
        sizes = {"cut_multipliers": self._cuts, "row_multipliers": self._rows}
        if result.status == "optimal":
            sizes |= {"z": self._n, "reduced_costs": self._n}
        for field, size in sizes.items():
            values = getattr(result, field)
            self._check_shape(call, f"`{field}`", values, size)
            check_finite(self._name, field, values)
        if result.status == "optimal":
            for field in ("slack", "objective"):
                value = getattr(result, field)
                check_finite(self._name, field, value)
                if np.ndim(value):
                    raise ModelError(
                        f"`{call}` of the master {self._name} must give a number `{field}`; got {shown(value)}."
                    )
        return result

    def _check_shape(self, call: str, what: str, values: ArrayLike, size: int) -> None:
        found = numbers(values, f"What `{call}` of the master {self._name} gives for {what}", nan=True)
        if found.shape != (size,):
            raise ModelError(
                f"`{call}` of the master {self._name} must give {what} of shape ({size},); got {found.shape}."
            )
