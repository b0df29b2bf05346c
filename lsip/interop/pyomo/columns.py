"""The variables of a Pyomo model as columns, in the order in which they are met."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ...errors import ModelError

Array = NDArray[np.float64]


class ModelVariable(Protocol):
    """What is needed of a variable of a Pyomo model."""

    name: str
    domain: Any  # what Pyomo calls so: the reals, the integers, …
    bounds: tuple[float | None, float | None]

    def is_continuous(self) -> bool: ...

    def is_integer(self) -> bool: ...

    def is_binary(self) -> bool: ...

    def set_value(self, value: float, skip_validation: bool = ...) -> None: ...


class Columns:
    """Gives every variable that is not fixed a column when it is first met."""

    def __init__(self) -> None:
        self.variables: list[ModelVariable] = []
        self._place: dict[int, int] = {}

    def __call__(self, variable: ModelVariable) -> int:
        place = self._place.get(id(variable))
        if place is not None:
            return place
        if not (variable.is_continuous() or _whole(variable)):
            raise ModelError(
                f"Variable '{variable.name}' has the domain {variable.domain}, which is neither an interval of numbers "
                "nor one of integers: give it such a domain, or fix it."
            )
        self._place[id(variable)] = len(self.variables)
        self.variables.append(variable)
        return len(self.variables) - 1

    def integer(self) -> NDArray[np.bool_]:
        """Which variables are whole (n,)."""
        return np.array([_whole(v) for v in self.variables], dtype=bool)

    def bounds(self) -> tuple[Array, Array]:
        """Lower and upper bounds (n,), with those of the variables' domains."""
        pairs = [v.bounds for v in self.variables]
        lower = np.array([-np.inf if low is None else float(low) for low, _ in pairs])
        upper = np.array([np.inf if high is None else float(high) for _, high in pairs])
        if (lower > upper).any():
            i = int(np.argmax(lower > upper))
            raise ModelError(
                f"Variable '{self.variables[i].name}' has no value: its lower bound is {lower[i]:g}, its upper bound "
                f"{upper[i]:g}."
            )
        return lower, upper


def _whole(variable: ModelVariable) -> bool:
    return variable.is_integer() or variable.is_binary()
