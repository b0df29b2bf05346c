"""The promises that every master makes, as one function. Call `check_master` in the test of a new one.

A master never has to be believed, but it has to be useful: the values must be right, and the multipliers must prove
them. Values are compared with SciPy's `linprog`; proofs are evaluated here, from the rows alone.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import linprog

import lsip
from lsip.deadline import within
from lsip.masters import Master, MasterFactory, MasterResult

Array = NDArray[np.float64]
TOL = 1e-8
MARGINS = (0.0, 1e-8, 0.1)
SEEDS = range(6)


def check_master(factory: MasterFactory) -> None:
    """Raise AssertionError, naming the promise, if the finite programs that `factory` opens break one."""
    for seed in SEEDS:
        for margin in MARGINS:
            check_optimum(factory, seed, margin)
        check_infeasible(factory, seed)
        check_best_margin(factory, seed)
        check_cuts(factory, seed)
    check_contradicting_rows(factory)
    check_box(factory)
    check_flat_face(factory)
    check_fresh(factory)
    check_deadline(factory)


class LP:
    """A random LP with finite rows of every kind, cuts, and a box; feasible at a known point if `room` >= 0."""

    def __init__(self, seed: int, room: float = 0.5) -> None:
        rng = np.random.default_rng(seed)
        n, rows, cuts = rng.integers(2, 6), rng.integers(0, 4), rng.integers(1, 9)
        inside = rng.uniform(-1, 1, n)
        self.c = rng.normal(size=n)
        self.lower, self.upper = np.full(n, -5.0), np.full(n, 5.0)
        self.A = sparse.csr_matrix(rng.random((rows, n)) * (rng.random((rows, n)) < 0.7))
        at = self.A @ inside
        self.row_lower, self.row_upper = at - rng.uniform(0, 1, rows), at + rng.uniform(0, 1, rows)
        kind = rng.integers(0, 4, rows)  # both sides, only the upper, only the lower, equal
        self.row_lower[kind == 1], self.row_upper[kind == 2] = -np.inf, np.inf
        self.row_lower[kind == 3] = self.row_upper[kind == 3] = at[kind == 3]
        self.cuts = rng.normal(size=(cuts, n)) * 10.0 ** rng.integers(-2, 3, (cuts, 1))
        self.rhs = self.cuts @ inside + rng.uniform(0, 1, cuts) + room
        if room < 0:  # a pair of cuts that contradict each other
            self.cuts = np.concatenate([self.cuts, -self.cuts[:1]])
            self.rhs = np.append(self.rhs, -self.rhs[0] - 1.0)

    def open(self, factory: MasterFactory) -> Master:
        master = factory(self.c, self.lower, self.upper, self.A, self.row_lower, self.row_upper, TOL)
        master.add(self.cuts, self.rhs)
        return master

    def value(self, margin: float) -> float | None:
        """By SciPy; None when infeasible."""
        finite = [np.isfinite(self.row_upper), np.isfinite(self.row_lower)]
        matrix = sparse.vstack([self.A[finite[0]], -self.A[finite[1]], sparse.csr_matrix(self.cuts)])
        right = np.concatenate([self.row_upper[finite[0]], -self.row_lower[finite[1]], self.rhs - margin])
        box = np.stack([self.lower, self.upper], axis=1)
        result = linprog(self.c, A_ub=matrix, b_ub=right, bounds=box)
        return float(result.fun) if result.status == 0 else None

    def combination(self, result: MasterResult, margin: float) -> tuple[Array, float]:
        """The row that the multipliers make of all rows: (coefficients, right-hand side)."""
        cut, row = result.cut_multipliers, significant(result.row_multipliers)
        assert cut.shape == self.rhs.shape, "there is one multiplier a cut"
        assert row.shape == self.row_lower.shape, "there is one multiplier a finite row"
        assert (cut >= 0).all(), "multipliers of cuts are nonnegative"
        assert np.isfinite(self.row_upper[row > 0]).all(), "only rows with an upper side have positive multipliers"
        assert np.isfinite(self.row_lower[row < 0]).all(), "only rows with a lower side have negative multipliers"
        side = row[row > 0] @ self.row_upper[row > 0] + row[row < 0] @ self.row_lower[row < 0]
        return self.cuts.T @ cut + self.A.T @ row, float(cut @ (self.rhs - margin) + side)

    def least(self, coefficients: Array) -> float:
        """The smallest value of a linear function over the box."""
        return float(np.minimum(coefficients * self.lower, coefficients * self.upper).sum())


def significant(multipliers: Array) -> Array:
    """Multipliers without the dust that an interior point leaves on sides that do not exist."""
    dust = np.abs(multipliers) < 1e-8 * (1 + np.abs(multipliers).max(initial=0.0))
    return np.where(dust, 0.0, multipliers)


def box_only(factory: MasterFactory, c: Array, lower: Array, upper: Array) -> Master:
    """A program without rows."""
    return factory(c, lower, upper, sparse.csr_matrix((0, len(c))), np.zeros(0), np.zeros(0), TOL)


def check_optimum(factory: MasterFactory, seed: int, margin: float) -> None:
    lp = LP(seed)
    result = lp.open(factory).solve(margin)
    assert result.status == "optimal", "a feasible LP in a box is solved"
    assert result.slack == pytest.approx(-margin, abs=1e-9), "the slack is minus the margin"
    assert result.objective == pytest.approx(lp.c @ result.z), "the objective is c z"
    assert result.objective == pytest.approx(lp.value(margin), abs=1e-6), "the value is right"
    over = lp.cuts @ result.z - lp.rhs + margin
    assert (over <= 1e-7 * np.abs(lp.cuts).max(axis=1)).all(), "cuts keep the margin"
    assert ((result.z >= lp.lower - 1e-9) & (result.z <= lp.upper + 1e-9)).all(), "the point is in the box"
    coefficients, right = lp.combination(result, margin)
    # c z >= (c + rows) z - right for every feasible z, and the first term is smallest at a corner of the box.
    bound = lp.least(lp.c + coefficients) - right
    assert bound == pytest.approx(result.objective, abs=2e-6), "the multipliers prove the value"
    assert result.reduced_costs == pytest.approx(lp.c + coefficients, abs=1e-6), "reduced costs are c + rows"


def check_infeasible(factory: MasterFactory, seed: int) -> None:
    lp = LP(seed, room=-0.5)
    result = lp.open(factory).solve(0.0)
    assert result.status == "infeasible", "an infeasible LP is called that"
    coefficients, right = lp.combination(result, 0.0)
    size = result.cut_multipliers.sum() + np.abs(result.row_multipliers).sum()
    assert size > 0, "there is a contradiction"
    assert lp.least(coefficients) > right + 1e-4 * size, "no z in the box satisfies coefficients z <= right"


def check_best_margin(factory: MasterFactory, seed: int) -> None:
    lp = LP(seed)
    master = lp.open(factory)
    best = master.best_margin(1e3)
    assert best.status == "optimal", "there is a largest margin"
    if best.slack > -1e3 + 1:
        assert lp.value(-best.slack - 1e-6) is not None, "the best margin is feasible"
        assert lp.value(-best.slack + 1e-6) is None, "a larger one is not"
        assert best.cut_multipliers.sum() == pytest.approx(1.0, abs=1e-6), "the multipliers are the price of s, 1"
    assert master.best_margin(0.25).slack == pytest.approx(max(best.slack, -0.25), abs=1e-7), "`most` is kept"
    after = master.solve(0.0)
    assert after.objective == pytest.approx(lp.value(0.0), abs=1e-6), "afterwards the objective is c again"


def check_cuts(factory: MasterFactory, seed: int) -> None:
    """Cuts, dense and sparse, come and go between solves."""
    lp = LP(seed)
    master, rng = lp.open(factory), np.random.default_rng(seed)
    master.solve(0.0)
    keep = rng.random(len(lp.rhs)) < 0.5
    master.drop(keep)
    extra = rng.normal(size=(2, len(lp.c)))
    master.add(sparse.csr_matrix(extra), np.ones(2) * 10)
    lp.cuts, lp.rhs = np.concatenate([lp.cuts[keep], extra]), np.append(lp.rhs[keep], [10.0, 10.0])
    result = master.solve(0.0)
    assert result.objective == pytest.approx(lp.value(0.0), abs=1e-6), "only the cuts that are kept count"
    assert len(result.cut_multipliers) == len(lp.rhs), "there is one multiplier a cut, in their order"
    master.add(np.zeros((0, len(lp.c))), np.zeros(0))
    master.drop(np.ones(len(lp.rhs), dtype=bool))
    assert master.solve(0.0).objective == pytest.approx(result.objective, abs=1e-7), "nothing is nothing"


def check_contradicting_rows(factory: MasterFactory) -> None:
    """Finite rows have no slack: that of the cuts does not help where they contradict each other."""
    A = sparse.csr_matrix([[1.0, 1.0], [1.0, 1.0]])
    master = factory(np.ones(2), -np.ones(2), np.ones(2), A, np.array([1.0, -np.inf]), np.array([1.0, 0.5]), TOL)
    for result in (master.solve(0.0), master.best_margin(1.0)):
        assert result.status == "infeasible", "contradicting rows are infeasible, whatever the margin"
        row = result.row_multipliers
        assert row[0] < 0 < row[1], "a lower side has a negative multiplier, an upper side a positive one"
        assert row[0] == pytest.approx(-row[1], rel=1e-6), "they combine to a contradiction"


def check_box(factory: MasterFactory) -> None:
    """What would be unbounded ends at the box, which stands in for infinity, and its price is seen."""
    master = box_only(factory, np.array([-1.0, 2.0]), np.full(2, -1e3), np.full(2, 1e3))
    master.add(np.array([[0.0, -1.0]]), np.array([5.0]))
    result = master.solve(0.0)
    assert result.status == "optimal", "nothing is unbounded in a box"
    assert result.z == pytest.approx([1e3, -5.0], abs=1e-6), "the box holds what no row holds"
    assert result.reduced_costs == pytest.approx([-1.0, 0.0], abs=1e-6), "the price of the box is a reduced cost"


def check_flat_face(factory: MasterFactory) -> None:
    """min x + y over x + y >= 1 in the unit box: a whole edge is optimal, and its middle is (1/2, 1/2)."""
    master = box_only(factory, np.ones(2), np.zeros(2), np.ones(2))
    master.add(np.array([[-1.0, -1.0]]), np.array([-1.0]))
    master.solve(0.0)
    centre = master.centre(0.0)
    assert centre is None or centre == pytest.approx([0.5, 0.5], abs=1e-3), "`centre` is the middle, or None"
    assert master.solve(0.0).objective == pytest.approx(1.0, abs=1e-8), "the next solve is as before"


def check_fresh(factory: MasterFactory) -> None:
    """One factory opens many programs, which do not know of each other."""
    first, second = (box_only(factory, np.ones(1), np.zeros(1), np.ones(1)) for _ in range(2))
    first.add(np.array([[-1.0]]), np.array([-0.5]))
    assert second.solve(0.0).objective == pytest.approx(0.0, abs=1e-9), "every call opens a program of its own"
    assert first.solve(0.0).objective == pytest.approx(0.5, abs=1e-8), "a program lives on beside others"


def check_deadline(factory: MasterFactory) -> None:
    lp = LP(0)
    master = lp.open(factory)
    with within(-1.0), pytest.raises(lsip.OutOfTime):
        master.solve(0.0)
    with within(60.0):
        found = master.solve(0.0)
    assert found.objective == pytest.approx(lp.value(0.0), abs=1e-6), "a master that was out of time can go on"
