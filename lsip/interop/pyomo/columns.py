"""The variables of a Pyomo model as columns, in the order in which they are met; rules are rows of several."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ...errors import ModelError
from .comparison import Value

Array = NDArray[np.float64]


class ModelVariable(Protocol):
    """What is needed of a variable of a Pyomo model."""

    name: str
    domain: Any  # what Pyomo calls so: the reals, the integers, …
    bounds: tuple[float | None, float | None]

    def parent_component(self) -> Any: ...

    def is_continuous(self) -> bool: ...

    def is_integer(self) -> bool: ...

    def is_binary(self) -> bool: ...

    def set_value(self, value: float, skip_validation: bool = ...) -> None: ...


class RuleRows(Protocol):
    """What is needed of a variable that is a rule."""

    def row(self, data: Any) -> dict[int, Value]: ...


@dataclass(frozen=True, eq=False)
class Unknown:
    """A column that no variable of the model stands for: a coefficient of a rule, or the worst case."""

    name: str
    domain: str = "Reals"
    bounds: tuple[None, None] = (None, None)

    def is_continuous(self) -> bool:
        return True

    def is_integer(self) -> bool:
        return False

    is_binary = is_integer


class Columns:
    """Gives every variable that is not fixed a column when it is first met."""

    def __init__(self) -> None:
        self.variables: list[ModelVariable | Unknown] = []
        self.functions: dict[int, RuleRows] = {}  # variables over ContinuousSets that are rules, by their ids
        self._rows: dict[int, dict[int, Value]] = {}
        self._free: set[int] = set()

    def __call__(self, variable: ModelVariable) -> dict[int, Value]:
        """The columns that a variable consists of, with their coefficients: one, unless it is a rule at a point."""
        row = self._rows.get(id(variable))
        if row is not None:
            return row
        function = self.functions.get(id(variable.parent_component())) if self.functions else None
        if function is not None:
            return function.row(variable)
        if not (variable.is_continuous() or _whole(variable)):
            raise ModelError(
                f"Variable '{variable.name}' has the domain {variable.domain}, which is neither an interval of numbers "
                "nor one of integers: give it such a domain, or fix it."
            )
        row = self._rows[id(variable)] = {self._new(variable): 1.0}
        return row

    def added(self, name: str) -> int:
        """A column of its own."""
        return self._new(Unknown(name))

    def _new(self, variable: ModelVariable | Unknown) -> int:
        self.variables.append(variable)
        return len(self.variables) - 1

    def free(self, variable: ModelVariable) -> None:
        """Leave the bounds of a variable to rows."""
        self._free.add(id(variable))

    @property
    def plain(self) -> list[tuple[int, ModelVariable]]:
        """The columns that are variables of the model."""
        return [(j, v) for j, v in enumerate(self.variables) if not isinstance(v, Unknown)]

    def integer(self) -> NDArray[np.bool_]:
        """Which variables are whole (n,)."""
        return np.array([_whole(v) for v in self.variables], dtype=bool)

    def bounds(self) -> tuple[Array, Array]:
        """Lower and upper bounds (n,), with those of the variables' domains."""
        pairs = [(None, None) if id(v) in self._free else v.bounds for v in self.variables]
        lower = np.array([-np.inf if low is None else float(low) for low, _ in pairs])
        upper = np.array([np.inf if high is None else float(high) for _, high in pairs])
        if (lower > upper).any():
            i = int(np.argmax(lower > upper))
            raise ModelError(
                f"Variable '{self.variables[i].name}' has no value: its lower bound is {lower[i]:g}, its upper bound "
                f"{upper[i]:g}."
            )
        return lower, upper


def _whole(variable: ModelVariable | Unknown) -> bool:
    return variable.is_integer() or variable.is_binary()
