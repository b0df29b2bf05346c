"""Values of parameters for many solves: one row for each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from ..errors import ModelError
from ..expressions.parameter import Parameter
from ..registered import Registered
from ..validation import Array, Data, is_mapping, numbers, shown

Row: TypeAlias = Mapping[Parameter | str, Data]
Rows: TypeAlias = Mapping[Parameter | str, Data] | Sequence[Row]

SolveMany = Callable[..., list[Any]]
_SOLVE_MANY: Registered[SolveMany] = Registered({"solve_many": "solver"})


def register_batch(solve_many: SolveMany) -> SolveMany:
    """Let `Problem.solve_many` call this function."""
    _SOLVE_MANY["solve_many"] = solve_many
    return solve_many


def solve_many(*given: object) -> list[Any]:
    """What the solver makes of a problem and rows of values."""
    return _SOLVE_MANY["solve_many"](*given)


def read_rows(parameters: Sequence[Parameter], given: object) -> list[dict[Parameter, Array]]:
    """The values of some parameters, row by row; a ModelError says what is wrong with them."""
    if is_mapping(given):
        return _read_columns(parameters, given)
    if isinstance(given, Sequence) and not isinstance(given, str) and all(map(is_mapping, given)):
        every = [{_parameter(parameters, key): value for key, value in row.items()} for row in given]
        for k, row in enumerate(every[1:], 1):
            if {p.name for p in row} != {p.name for p in every[0]}:
                raise ModelError(
                    f"Every row gives values for the same parameters, as row 0 for {_names(every[0])}; row {k} has "
                    f"{_names(row)}."
                )
        return [{p: p._read(row[p]) for p in every[0]} for row in every]
    raise ModelError(
        "Values for many solves are {parameter: array with a row per solve}, or a list of {parameter: value}; got "
        f"{shown(given)}."
    )


def _read_columns(parameters: Sequence[Parameter], given: Mapping[Any, Any]) -> list[dict[Parameter, Array]]:
    columns = {_parameter(parameters, key): value for key, value in given.items()}
    arrays = {p: numbers(value, f"The values of {p.name}", nan=True) for p, value in columns.items()}
    if not arrays:
        raise ModelError("Values for many solves need a parameter at least, as in solve_many({p: [1.0, 2.0]}).")
    count = None
    for p, values in arrays.items():
        if values.shape[1:] != p.shape or not values.ndim:
            needed = ", ".join(["rows", *map(str, p.shape)]) + ("" if p.shape else ",")
            raise ModelError(f"The values of {p.name} have a row per solve, shape ({needed}); got {values.shape}.")
        if count is not None and len(values) != count:
            lengths = ", ".join(f"{len(v)} of {q.name}" for q, v in arrays.items())
            raise ModelError(f"All parameters need as many rows as there are solves; got {lengths}.")
        count = len(values)
    return [{p: p._read(values[k]) for p, values in arrays.items()} for k in range(count or 0)]


def _parameter(parameters: Sequence[Parameter], key: object) -> Parameter:
    for p in parameters:
        if p is key or (isinstance(key, str) and p.name == key):
            return p
    asked = key.name if isinstance(key, Parameter) else shown(key)
    raise ModelError(f"{asked} is no parameter of the problem, which has {_names(parameters) or 'none'}.")


def _names(parameters: Iterable[Parameter]) -> str:
    return ", ".join(p.name for p in parameters)
