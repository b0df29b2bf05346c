"""Costs and bounds as they are given: what they may be, and what is said where they are wrong."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import ArrayLike, NDArray

import lsip
from lsip.validation import answer

from . import validation
from .errors import code_of

Array = NDArray[np.float64]
Steps = NDArray[Any]  # observations or actions (B, …), of whatever type an environment has
Values = ArrayLike | lsip.Expression  # what a function of points gives: an expression where it is traced
Points: TypeAlias = Any  # index points: arrays, tensors or an index
More = Mapping[str, Any]  # what a cost asks for besides: arrays, or dictionaries of them
Entries = Sequence["lsip.Expression | float | Entries"]  # a table that is written down entry by entry
Function = Callable[[Array], Values] | Callable[[Array, Steps, Steps], ArrayLike]
Cost = lsip.Expression | ArrayLike | Entries | Function
Bound = lsip.Expression | float | Array | Callable[[Array], Values]  # an array without axes is a number, too


def in_tensors(more: More) -> More:
    """The same with tensors for arrays."""
    import torch

    return {
        name: in_tensors(part) if isinstance(part, Mapping) else torch.as_tensor(np.asarray(part))
        for name, part in more.items()
    }


def called(call: str, function: Callable[..., Any], *arguments: object) -> Any:
    """What a function of a constraint gives; its own errors become a sentence."""
    given = [getattr(part, "shape", ()) for part in arguments]
    shapes = " and ".join(str(tuple(shape) if isinstance(shape, tuple) else ()) for shape in given)
    with code_of(f"`{call}`", f" It was given shape{'s' * (len(arguments) > 1)} {shapes}."):
        return answer(call, function, *arguments)


def read_domain(domain: lsip.Domain | lsip.Index, cost: Cost, bound: Bound) -> tuple[lsip.Index | None, lsip.Domain]:
    """The index that expressions are written in (None for functions), and its domain."""
    indices: dict[lsip.Index, None] = {}
    for part in (cost, bound):
        if isinstance(part, lsip.Expression):
            indices.update(dict.fromkeys(part.indices()))
    if len(indices) > 1:
        names = ", ".join(i.name for i in indices)
        raise lsip.ModelError(f"`cost` and `bound` must share one index; they use {names}. Use one over a product.")
    index = next(iter(indices), None)
    if isinstance(domain, lsip.Index):
        if index is not None and index is not domain:
            raise lsip.ModelError(
                f"`cost` and `bound` depend on {index.name}, but `domain` is the index {domain.name}."
            )
        return (index, domain.domain) if index is None else (domain, domain.domain)
    if not isinstance(domain, lsip.Domain):
        raise lsip.ModelError(
            f"`domain` must be an index set such as lsip.Box([0, 0], [1, 1]); got {validation.shown(domain)}."
        )
    if index is not None and index.domain != domain:
        raise lsip.ModelError(f"The index {index.name} lives on {index.domain}, but `domain` is {domain}.")
    return index, domain


def read_range(ends: tuple[float, float]) -> tuple[float, float]:
    """Lowest and highest cost of a step."""
    pair = validation.array("range", ends)
    if pair.shape != (2,) or pair[0] > pair[1]:
        raise lsip.ModelError(f"`range` is a pair (lowest, highest) of costs of a step; got {validation.shown(ends)}.")
    return float(pair[0]), float(pair[1])


def read_cost(cost: Cost) -> lsip.Expression | Array | Function:
    """Lists of numbers or of expressions as arrays; anything else as it is."""
    if isinstance(cost, lsip.Expression) or callable(cost):
        return cost
    plain: Any = cost
    if not isinstance(plain, list | tuple | np.ndarray):
        return validation.array("cost", plain)
    try:
        table = np.asarray(plain)
    except ValueError:
        raise lsip.ModelError("`cost` must be an array; got lists of unequal lengths.") from None
    if table.dtype != object:
        return validation.array("cost", table)
    if not table.ndim or not any(isinstance(entry, lsip.Expression) for entry in table.flat):
        raise lsip.ModelError(
            f"`cost` must be an expression in the index, a function of points or numbers; got {validation.shown(cost)}."
        )
    rows = [np.stack(list(row)) if np.ndim(row) else row for row in table]
    return np.stack(rows)


def is_function(part: Cost | Bound) -> TypeGuard[Callable[..., Values]]:
    """Whether a cost or a bound is a function of points."""
    return callable(part) and not isinstance(part, lsip.Expression)


def refuse_infinite(values: Array, call: str, y: Array) -> Array:
    """The values (N, …) of a function at points y, none of which is nan or infinite."""
    if not np.isfinite(values).all():
        at = np.argwhere(~np.isfinite(values))[0]
        raise lsip.ModelError(f"`{call}` is not finite at y = {y[at[0]]}: it is {values[tuple(at)]} there.")
    return values


def constant(value: ArrayLike) -> Callable[[Any], Any]:
    """The same for every point, in arrays or, of a number, in tensors."""
    array = np.asarray(value, dtype=float)

    def same(y: Points) -> Any:
        if isinstance(y, np.ndarray | lsip.Expression) or array.ndim:
            return np.broadcast_to(array, (len(y), *array.shape))
        return 0.0 * y[:, 0] + float(array)

    return same
