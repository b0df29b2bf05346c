"""np.einsum, np.kron, np.convolve and np.diff: sums of products of elements, of index expressions and of variables."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from scipy import sparse

from ..errors import ModelError
from ..validation import numbers, shown
from .arithmetic import Given, Symbol, operand_of, total
from .arrangements import full
from .graph import Expression
from .operands import Ints
from .operators import FUNCTION_RULES, RULES


def einsum(subscripts: Any, *operands: Given, **kwargs: object) -> Symbol:
    """np.einsum of letters, with an output or without; of several operands, one at most holds variables."""
    if any(v not in (None, False) for v in kwargs.values()):
        raise ModelError(f"np.einsum takes subscripts and operands only here; got {', '.join(kwargs)}.")
    if not isinstance(subscripts, str) or "." in subscripts:
        raise ModelError(
            f"np.einsum needs subscripts as text without ellipses, as in 'ij,j->i'; got {shown(subscripts)}."
        )
    read = [operand_of(v, "einsum") for v in operands]
    inputs, arrow, output = subscripts.replace(" ", "").partition("->")
    labels = inputs.split(",")
    if len(labels) != len(read) or any(len(name) != v.ndim for name, v in zip(labels, read, strict=False)):
        shapes = ", ".join(str(v.shape) for v in read)
        raise ModelError(f"np.einsum({subscripts!r}) does not fit operands of shapes {shapes}.")
    if not arrow:
        output = "".join(sorted(c for c in set(inputs) if c != "," and inputs.count(c) == 1))
    sizes: dict[str, int] = {}
    for name, v in zip(labels, read, strict=True):
        for c, size in zip(name, v.shape, strict=True):
            if sizes.setdefault(c, size) != size:
                raise ModelError(f"np.einsum({subscripts!r}): {c!r} has the sizes {sizes[c]} and {size}.")
    if len(set(output)) < len(output) or not set(output) <= set(sizes):
        raise ModelError(f"np.einsum({subscripts!r}): the output {output!r} must name each of its letters once.")
    letters = output + "".join(c for c in sizes if c not in output)
    shape = tuple(sizes[c] for c in letters)
    grid = np.indices(shape, sparse=True) if shape else ()
    result: Any = None
    for name, v in zip(labels, read, strict=True):
        strides: list[int] = np.cumprod([1, *v.shape[:0:-1]])[::-1].tolist() if v.ndim else []
        index: Any = sum((grid[letters.index(c)] * s for c, s in zip(name, strides, strict=True)), np.zeros((), int))
        part = _gathered(v, np.broadcast_to(index, shape))
        result = part if result is None else RULES["multiply"](result, part)
    summed = prod(shape[len(output) :])
    kept = tuple(sizes[c] for c in output)
    if len(letters) > len(output):
        result = total(result.reshape(*kept, summed), axis=-1)
    result.origin = ("einsum", *read)
    return result


def _gathered(u: Symbol, index: Ints) -> Any:
    if u.ndim:
        return RULES["getitem"](u.ravel(), index)
    return full(u, index.shape) if isinstance(u, Expression) else u * np.ones(index.shape)


def kron(a: Given, b: Given) -> Symbol:
    """np.kron of vectors or matrices."""
    left, right = operand_of(a, "kron"), operand_of(b, "kron")
    if left.ndim != right.ndim or left.ndim not in (1, 2):
        raise ModelError(f"np.kron takes two vectors or two matrices here; got shapes {left.shape} and {right.shape}.")
    shape = tuple(p * q for p, q in zip(left.shape, right.shape, strict=True))
    names = ("i,k->ik",) if left.ndim == 1 else ("ij,kl->ikjl",)
    result = einsum(*names, left, right).reshape(shape)
    result.origin = ("kron", a, b)
    return result


def convolve(a: Given, v: Given, mode: str = "full") -> Symbol:
    """np.convolve of two vectors."""
    left, right = operand_of(a, "convolve"), operand_of(v, "convolve")
    if left.ndim != 1 or right.ndim != 1 or not left.size or not right.size:
        raise ModelError(f"np.convolve takes two vectors; got shapes {left.shape} and {right.shape}.")
    if mode not in ("full", "same", "valid"):
        raise ModelError(f"np.convolve has the modes 'full', 'same' and 'valid'; got {shown(mode)}.")
    n, m = left.size, right.size
    i, j = (part.ravel() for part in np.indices((n, m)))
    ones = sparse.csr_matrix((np.ones(n * m), (i + j, np.arange(n * m))), shape=(n + m - 1, n * m))
    result: Any = RULES["matmul"](ones, FUNCTION_RULES[np.outer](left, right).ravel())
    if mode != "full":
        length = max(n, m) if mode == "same" else max(n, m) - min(n, m) + 1
        start = (min(n, m) - 1) // 2 if mode == "same" else min(n, m) - 1
        result = result[start : start + length]
    result.origin = ("convolve", a, v)
    return result


def diff(u: Symbol, n: int = 1, axis: int = -1, prepend: object = np._NoValue, append: object = np._NoValue) -> Symbol:
    """np.diff: differences of neighbours."""
    if prepend is not np._NoValue or append is not np._NoValue:
        raise ModelError("np.diff takes only `n` and `axis` here; put numbers at the ends with np.concatenate.")
    times = int(numbers(n, "`n`"))
    result: Any = u
    for _ in range(times):
        try:
            size = result.shape[axis]
        except IndexError:
            raise ModelError(f"np.diff of {u}, which has shape {u.shape}: there is no axis {axis}.") from None
        places = np.arange(result.size).reshape(result.shape)
        later, earlier = (np.take(places, np.arange(s, size - 1 + s), axis=axis) for s in (1, 0))
        flat = result.ravel()
        result = flat[later] - flat[earlier]
    if result is not u:
        result.origin = ("diff", u)
    return result


FUNCTION_RULES.update({np.einsum: einsum, np.kron: kron, np.convolve: convolve, np.diff: diff})
