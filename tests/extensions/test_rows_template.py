"""A new kind of rows: functions that are known as tables, with straight lines in between.

Implement `RowFunctions` of `lsip/model/families.py`: values at points, enclosures over boxes, and None for what is not
known. `RowFamily` adds the variables, the units and the memory of proofs. What is enclosed is proven, so enclosures
have to hold for every point of a box, rounding included.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import lsip
from lsip.expressions.interval import Interval, down, up
from lsip.expressions.quadratics import Quadratic
from lsip.model import RowFamily
from lsip.model.families import RowFunctions
from lsip.model.legend import Legend
from lsip.oracles.base import Array, Enclosure, Ints


@dataclass(eq=False)
class TableRows:
    """One row whose numbers, the right-hand side last, are those of a table between which one goes straight."""

    nodes: Array  # (N,), increasing
    table: Array  # (N, K + 1)

    enclosable = True
    differentiable = False
    linear = None

    def __post_init__(self) -> None:
        self.legend = Legend("table", ("table",), ("t",))
        self.domain = lsip.Interval(self.nodes[0], self.nodes[-1])
        self.shape = (1, self.table.shape[1] - 1)
        self.data_key = self.nodes.tobytes(), self.table.tobytes()

    def at(self, t: Array) -> Array:
        """All numbers at points (N,): (N, K + 1)."""
        return np.column_stack([np.interp(t, self.nodes, column) for column in self.table.T])

    def rows(self, y: Array) -> tuple[Array, Array]:
        found = self.at(y[:, 0])
        return found[:, None, :-1], found[:, None, -1]

    def chosen(self, y: Array, component: Ints) -> tuple[Array, Array]:
        found = self.at(y[:, 0])
        return found[:, :-1], found[:, -1]

    def chosen_derivatives(self, y: Array, component: Ints) -> None:
        """Not known at nodes."""

    def enclosed(self, lower: Array, upper: Array, component: Ints) -> Interval:
        """The least and the largest of what is at the ends and at nodes in between; interpolation rounds."""
        ends = np.stack([self.at(lower[:, 0]), self.at(upper[:, 0])])
        inside = (self.nodes > lower) & (self.nodes < upper)  # (N, nodes)
        each = self.table[None]
        least = np.where(inside[..., None], each, np.inf).min(axis=1)
        most = np.where(inside[..., None], each, -np.inf).max(axis=1)
        error = 8 * np.finfo(float).eps * np.abs(self.table).max(axis=0)
        low, high = np.minimum(least, ends.min(axis=0)) - error, np.maximum(most, ends.max(axis=0)) + error
        return Interval(down(low), up(high))

    def quadratics(self, cell: Any) -> Enclosure:
        """Constants with what they miss as error: nothing is known of slopes."""

        def enclose(lower: Array, upper: Array, pieces: Any, order: int) -> tuple[Quadratic, None, None]:
            box = self.enclosed(lower, upper, np.zeros(len(lower), dtype=np.intp))
            middle = 0.5 * (box.lo + box.hi)
            n, k = middle.shape
            error = up(np.maximum(box.hi - middle, middle - box.lo))
            flat = np.zeros((1, n, k))
            return Quadratic(middle, flat, flat, flat[: order == 3], flat, error), None, None

        return enclose

    def polynomial(self, component: int, weights: Array) -> None:
        """It is none."""

    def trusts(self, domain: lsip.domains.Domain) -> tuple[str, ...]:
        return ()

    def bound(self, values: Any) -> TableRows:
        return self

    def identity(self) -> Iterator[object]:
        yield self.nodes, self.table


def tent() -> RowFamily:
    """-x[0] - t x[1] <= -(a tent of height 1 at 1/2)."""
    nodes = np.array([0.0, 0.5, 1.0])
    rows: RowFunctions = TableRows(nodes, np.column_stack([-np.ones(3), -nodes, [0.0, -1.0, 0.0]]))
    return RowFamily(rows, np.array([[0, 1]]))


@pytest.mark.parametrize("unit", [1.0, 2.0**40, 2.0**-40])
def test_rows_of_a_new_kind_are_proven(unit: float) -> None:
    program = lsip.Program.from_arrays([unit, 0.5 * unit], bounds=(0, None), families=[tent()])
    solution = program.solve(tol=1e-3, verbose=False)
    assert solution.certified
    assert solution.value == pytest.approx(unit, rel=2e-3)  # x = (1, 0): at least 1 at the top of the tent
    assert solution.verify().certified


def test_enclosures_hold() -> None:
    rows = tent().source
    rng = np.random.default_rng(0)
    ends = np.sort(rng.random((50, 2)), axis=1)
    box = rows.enclosed(ends[:, :1], ends[:, 1:], np.zeros(50, dtype=np.intp))
    for share in np.linspace(0, 1, 9):
        a, b = rows.chosen(ends[:, :1] + share * (ends[:, 1:] - ends[:, :1]), np.zeros(50, dtype=np.intp))
        table = np.column_stack([a, b])
        assert ((box.lo <= table) & (table <= box.hi)).all()
