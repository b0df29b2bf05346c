"""Rules that need numbers: their rows at index points, through CVXPY's canonicalisation.

A rule gives a new CVXPY expression for every point, nearly always of the same build with other numbers in it. Such an
expression is canonicalised once with parameters in the place of its numbers, which makes every further point cheap.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ...model.callables import Family, black_box
from ...model.families import RowFamily
from ...oracles.attained import discrete_points
from .affine import LeafLayout, dense, has_tensor, tensor
from .constraint import QuantifiedConstraint
from .package import Leaf, Node, cp, is_leaf

Array = NDArray[np.float64]


def black_boxes(c: QuantifiedConstraint, name: str, layout: LeafLayout) -> list[RowFamily]:
    """One family for each element of a rule that is only known at points."""
    constants = Family(c.domain, c.at, c.at, c.lipschitz).constants
    if constants is None and discrete_points(c.domain) is not None:
        constants = (0.0, 0.0)  # every index point can be tried, and between them there is nothing to bound
    table, starts = _ValueTable(c), layout.starts
    columns = np.concatenate([np.arange(starts[v.id], starts[v.id] + v.size) for v in table.variables])
    boxes = []
    for i in range(c.size):
        a, b = (partial(table.part, which, i) for which in (0, 1))
        rows = black_box(name if c.size == 1 else f"{name}[{i}]", c.domain, a, b, len(columns), constants)
        boxes.append(RowFamily(rows, columns[None, :].astype(np.intp)))
    return boxes


class _ValueTable:
    """Rows of a rule at points; the last answer is kept, since coefficients and right-hand sides are asked apart."""

    def __init__(self, c: QuantifiedConstraint) -> None:
        self.c, self.variables = c, list(c.variables())
        self.builds: dict[Any, Any] = {}  # CVXPY's coefficients for each build of the expression; None if it has none
        self.key: bytes | None = None
        self.last: tuple[Array, Array] = (np.zeros(0), np.zeros(0))

    def rows(self, y: Array) -> tuple[Array, Array]:
        """Coefficients (N, p, n) and right-hand sides (N, p)."""
        if self.key != y.tobytes():
            n, p = sum(v.size for v in self.variables), self.c.size
            flat = np.array([self._row(self.c.body_at(point)) for point in y]).reshape(len(y), n + 1, p)
            self.last = flat[:, :n].transpose(0, 2, 1), -flat[:, n]
            self.key = y.tobytes()
        return self.last

    def part(self, which: int, element: int, y: Array) -> Array:
        """The coefficients (which = 0) or right-hand sides (1) of one element of the constraint."""
        return self.rows(y)[which][:, element]

    def _row(self, body: Node) -> Array:
        """All coefficients of one expression, variable by variable, the constants last."""
        numbers: list[Leaf] = []
        build = _build(body, numbers)
        if build not in self.builds:
            stand_ins = [cp.Parameter(leaf.shape) for leaf in numbers]
            template = body.tree_copy({id(leaf): p for leaf, p in zip(numbers, stand_ins, strict=True)})
            known = has_tensor(template)
            self.builds[build] = tensor([template], self.variables, stand_ins)[0] if known else None
        table = self.builds[build]
        if table is None:  # numbers times numbers: canonicalise this very expression
            return np.asarray(sparse.csr_array(tensor([body], self.variables, [])[0]).toarray()).ravel()
        values = [dense(leaf.value).ravel(order="F") for leaf in numbers]
        return np.asarray(table @ np.concatenate([*values, [1.0]]))


def _build(e: Node, numbers: list[Leaf]) -> Any:
    """How an expression is put together; its constants are collected in `numbers`."""
    if isinstance(e, cp.Constant):
        numbers.append(e)
        return e.shape
    if is_leaf(e):
        return e.id
    return (type(e), e.shape, _exactly(e.get_data()), *(_build(arg, numbers) for arg in e.args))


class _Same:
    """Stands for an object in a key: equal to itself alone, and kept alive, so that no other takes its place."""

    def __init__(self, value: object) -> None:
        self.value = value

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.value is self.value


def _exactly(data: Any) -> Any:
    """The data of an atom as a key, bit by bit: what prints alike need not be alike."""
    if data is None or isinstance(data, bool | int | str | bytes):
        return type(data), data
    if isinstance(data, float | complex | np.generic):
        data = np.asarray(data)
    if isinstance(data, np.ndarray) and data.dtype != object:
        return data.dtype.str, data.shape, data.tobytes()
    if isinstance(data, np.ndarray):
        return data.shape, tuple(map(_exactly, data.ravel().tolist()))
    if isinstance(data, list | tuple):
        return type(data), tuple(map(_exactly, data))
    if isinstance(data, slice):
        return slice, _exactly(data.start), _exactly(data.stop), _exactly(data.step)
    return _Same(data)
