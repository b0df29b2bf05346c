"""A master of the user's, with a look at everything that it returns: of the right kind and shape, and finite.

Whether it is true is not asked here. Bounds are recomputed from multipliers, and feasibility is proven by separation.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import LSIPError, ModelError
from .base import Array, MasterError, MasterResult

METHODS = ("add", "drop", "solve", "centre", "best_margin")
STATUSES = ("optimal", "infeasible")


class Checked:
    """The finite program that a factory called `name` has opened, with n variables and so many rows."""

    def __init__(self, opened: Any, name: str, n: int, rows: int) -> None:
        missing = [method for method in METHODS if not callable(getattr(opened, method, None))]
        if missing:
            raise ModelError(
                f"The master {name} must open a finite program with the methods {', '.join(METHODS)}; it opened "
                f"{opened!r}, which has no {', '.join(missing)}."
            )
        self._opened, self._name = opened, name
        self._n, self._rows, self._cuts = n, rows, 0

    def add(self, rows: Any, rhs: Array) -> None:
        self._asked("add", rows, rhs)
        self._cuts += len(rhs)

    def drop(self, keep: NDArray[np.bool_]) -> None:
        self._asked("drop", keep)
        self._cuts = int(keep.sum())

    def solve(self, margin: float) -> MasterResult:
        return self._checked("solve(margin)", self._asked("solve", margin))

    def best_margin(self, most: float) -> MasterResult:
        return self._checked("best_margin(most)", self._asked("best_margin", most))

    def centre(self, margin: float) -> Array | None:
        z = self._asked("centre", margin)
        if z is None:
            return None
        self._check_shape("centre(margin)", "a point or None", z, self._n)
        return z if np.isfinite(z).all() else None

    def _asked(self, method: str, *given: Any) -> Any:
        """What a method says; whatever else it raises means that the solver has failed."""
        try:
            return getattr(self._opened, method)(*given)
        except LSIPError:
            raise
        except Exception as error:
            raise MasterError(f"The master {self._name} failed: {type(error).__name__}: {error}.") from error

    def _checked(self, call: str, result: Any) -> MasterResult:
        if not isinstance(result, MasterResult):
            raise ModelError(
                f"`{call}` of the master {self._name} must give an lsip.masters.MasterResult; got {result!r}."
            )
        if result.status not in STATUSES:
            raise MasterError(f"The master {self._name} stopped with {result.status!r}.")
        sizes = {"cut_multipliers": self._cuts, "row_multipliers": self._rows}
        if result.status == "optimal":
            sizes |= {"z": self._n, "reduced_costs": self._n}
        for field, size in sizes.items():
            values = getattr(result, field)
            self._check_shape(call, f"`{field}`", values, size)
            self._check_finite(field, values)
        if result.status == "optimal":
            for field in ("slack", "objective"):
                self._check_finite(field, getattr(result, field))
        return result

    def _check_finite(self, field: str, values: Any) -> None:
        if np.asarray(values).dtype.kind not in "biuf" or not np.isfinite(values).all():
            raise MasterError(f"`{field}` of the master {self._name} is not finite.")

    def _check_shape(self, call: str, what: str, values: Any, size: int) -> None:
        if np.shape(values) != (size,):
            raise ModelError(
                f"`{call}` of the master {self._name} must give {what} of shape ({size},); got {np.shape(values)}."
            )
