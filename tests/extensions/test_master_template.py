"""How to add a master: a frozen dataclass with its options that, when it is called, opens a finite linear program.

The program is min c z over rows `row_lower <= A z <= row_upper`, cuts `a z - s <= b`, and a finite box. Cuts are added
and dropped while it lives. `solve(margin)` holds the slack at s = -margin; `best_margin(most)` minimises s >= -most
instead of c z. Multipliers of cuts are nonnegative; those of rows are positive at an upper side and negative at a lower
one. An infeasible program comes with multipliers that combine its rows to one that no point of the box satisfies.
Nothing of this has to be believed: bounds are recomputed from the multipliers, so that a mistake costs a proof, never
its truth. A solver that gives up raises `MasterError`, and one whose time is up `OutOfTime`.

This one writes every program anew for `scipy.optimize.linprog`. It is complete, and slow: nothing is kept warm.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import linprog

import lsip
from lsip.deadline import check, left
from lsip.masters import Master, MasterError, MasterFactory, MasterResult

from .master_checks import check_master

Array = NDArray[np.float64]
SOLVED, LATE, INFEASIBLE = 0, 1, 2  # what `linprog` says
ACCURACY = 1e-10  # of rows and reduced costs; the exchange needs that much for a gap of 1e-8


@dataclass(frozen=True)
class Linprog:
    """The finite programs by SciPy: the dual simplex method, or "highs-ipm" for an interior point."""

    method: str = "highs-ds"

    def __call__(
        self, c: Array, lower: Array, upper: Array, A: sparse.csr_matrix, row_lower: Array, row_upper: Array, tol: float
    ) -> Master:
        return FiniteProgram(self.method, c, (lower, upper), A, row_lower, row_upper)


class FiniteProgram:
    """All rows as `table z <= right`: the upper sides of the finite ones, their lower sides, then the cuts."""

    def __init__(
        self, method: str, c: Array, box: tuple[Array, Array], A: sparse.csr_matrix, row_lower: Array, row_upper: Array
    ) -> None:
        self.method, self.c, self.box = method, c, box
        self.above, self.below = np.isfinite(row_upper), np.isfinite(row_lower)
        self.table = np.concatenate([A[self.above].toarray(), -A[self.below].toarray()])
        self.right = np.concatenate([row_upper[self.above], -row_lower[self.below]])
        self.finite = len(self.right)  # how many of them have no slack

    def add(self, rows: Any, rhs: Array) -> None:
        dense = rows.toarray() if sparse.issparse(rows) else rows
        self.table, self.right = np.concatenate([self.table, dense]), np.concatenate([self.right, rhs])

    def drop(self, keep: NDArray[np.bool_]) -> None:
        stays = np.concatenate([np.ones(self.finite, dtype=bool), keep])
        self.table, self.right = self.table[stays], self.right[stays]

    def solve(self, margin: float) -> MasterResult:
        right = self.right - margin * self._cuts()
        found = self._run(self.c, self.table, right, self.box)
        if found is None:
            return self._infeasible(self.table, right)
        z, multipliers = found
        return self._result(z, -margin, multipliers, self.c + self.table.T @ multipliers)

    def best_margin(self, most: float) -> MasterResult:
        found = self._elastic(self.table, self.right, self._cuts(), -most)
        if found is None:  # it is the finite rows that contradict each other
            return self._infeasible(self.table[: self.finite], self.right[: self.finite])
        z, slack, multipliers = found
        return self._result(z, slack, multipliers, self.table.T @ multipliers)

    def centre(self, margin: float) -> Array | None:
        return None  # a point in the middle of the optimal face only helps

    def _cuts(self) -> Array:
        """1 for the rows with the slack s, 0 for the others."""
        return (np.arange(len(self.right)) >= self.finite).astype(float)

    def _elastic(self, table: Array, right: Array, slack: Array, least: float) -> tuple[Array, float, Array] | None:
        """Minimise s >= least with `table z - slack s <= right`: z, s and multipliers, None if that is infeasible."""
        box = np.append(self.box[0], least), np.append(self.box[1], np.inf)
        found = self._run(np.append(0.0 * self.c, 1.0), np.column_stack([table, -slack]), right, box)
        return None if found is None else (found[0][:-1], float(found[0][-1]), found[1])

    def _infeasible(self, table: Array, right: Array) -> MasterResult:
        """With a slack for every row there is a point; the multipliers of the least slack are the contradiction."""
        found = self._elastic(table, right, np.ones(len(right)), 0.0)
        if found is None:
            raise MasterError("linprog found no least slack, though there is always one.")
        nothing, multipliers = 0.0 * self.c, np.zeros(len(self.right))
        multipliers[: len(right)] = found[2]
        return self._result(nothing, np.inf, multipliers, nothing, "infeasible")

    def _result(
        self, z: Array, slack: float, multipliers: Array, reduced_costs: Array, status: str = "optimal"
    ) -> MasterResult:
        row, sides = np.zeros(len(self.above)), multipliers[: self.finite]
        row[self.above] += sides[: self.above.sum()]
        row[self.below] -= sides[self.above.sum() :]
        value = float(self.c @ z) if status == "optimal" else np.inf
        return MasterResult(status, z, slack, value, multipliers[self.finite :], row, reduced_costs)

    def _run(self, c: Array, table: Array, right: Array, box: tuple[Array, Array]) -> tuple[Array, Array] | None:
        """A solution and multipliers >= 0, None if there is none."""
        check("linear program")
        accuracy = dict.fromkeys(("primal_feasibility_tolerance", "dual_feasibility_tolerance"), ACCURACY)
        limit = {} if left() == np.inf else {"time_limit": left()}
        result = linprog(
            c,
            table,
            right,
            bounds=np.column_stack(box),
            method=self.method,
            options={"presolve": False} | accuracy | limit,
        )
        if result.status == LATE:
            raise lsip.OutOfTime("linprog ran out of time.")
        if result.status not in (SOLVED, INFEASIBLE):
            raise MasterError(f"linprog failed on a bounded LP: {result.message}")
        if result.status == INFEASIBLE:
            return None
        return result.x, np.maximum(-result.ineqlin.marginals, 0.0)


def test_the_template_keeps_the_promises() -> None:
    check_master(Linprog())
    check_master(Linprog("highs-ipm"))


@pytest.mark.parametrize("name", ["tfi2_tan_n3", "abs_d10", "watson8_2d", "robust_budget", "ot_1d"])
def test_the_template_solves_to_a_certified_answer(name: str) -> None:
    entry = lsip.catalogue.get(name)
    solution = entry.build().solve(method=lsip.Exchange(master=Linprog()), verbose=False)
    assert solution.certified
    assert solution.value == pytest.approx(entry.value, abs=1e-7)
    solution.verify()


@pytest.mark.parametrize("name", ["infeasible_abs", "infeasible_plane", "cap_unbounded"])
def test_the_template_proves_that_there_is_no_answer(name: str) -> None:
    entry = lsip.catalogue.get(name)
    solution = entry.build().solve(master=Linprog(), verbose=False)
    assert solution.certified
    assert solution.status.name.lower() == entry.status


# ---- what the seam does with it -------------------------------------------------------------------------------------


def above_tan() -> lsip.Family:
    return lsip.Family(lsip.Interval(0, 1), lambda y: -(y ** np.arange(3)), lambda y: -np.tan(y[:, 0]))


def test_one_method_solves_again_and_again() -> None:
    method = lsip.Exchange(master=Linprog())
    for scale in (1.0, 2.0):
        c = scale * np.array([1, 1 / 2, 1 / 3])
        solution = lsip.linsip(c, [above_tan()], bounds=(None, None), method=method)
        assert solution.value == pytest.approx(scale * 0.6490421, abs=1e-6)
    assert method == lsip.Exchange(master=Linprog())


class Named(FiniteProgram):
    """A class can be given as it is, if it is opened with the data alone."""

    def __init__(self, c: Array, lower: Array, upper: Array, A: Any, row_lower: Array, row_upper: Array, tol: float):
        super().__init__("highs-ds", c, (lower, upper), A, row_lower, row_upper)


def opened(c: Array, lower: Array, upper: Array, A: Any, row_lower: Array, row_upper: Array, tol: float) -> Master:
    return FiniteProgram("highs-ds", c, (lower, upper), A, row_lower, row_upper)


@pytest.mark.parametrize(
    ("master", "name"),
    [(Linprog(), "Linprog"), (Named, "Named"), (opened, "opened"), (partial(opened), "opened"), ("highs", "highs")],
)
def test_the_table_says_who_solves(master: str | MasterFactory, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert lsip.catalogue.get("tfi2_tan_n3").build().solve(master=master).certified
    assert f", master {name}, tol 1e-08" in capsys.readouterr().out


DATA = r"\(c, lower, upper, A, row_lower, row_upper, tol\)"
EMPTY = np.ones(1), np.zeros(1), np.ones(1), sparse.csr_matrix((0, 1)), np.zeros(0), np.zeros(0), 1e-8


@pytest.mark.parametrize(
    ("master", "expected"),
    [
        (None, rf"`master` is a name, such as 'highs', or what opens a finite program .* with {DATA}; got None\.$"),
        (
            opened(*EMPTY),
            r"got an object of type FiniteProgram\. Give its class, since every solve opens a fresh one\.$",
        ),
        (Linprog, r"`master` is a class; make one with parentheses: Linprog\(\)"),
        (
            FiniteProgram,
            rf"must be what opens .* with {DATA}; FiniteProgram takes \(method, c, box, A, row_lower, row_upper\)",
        ),
        (lambda c: None, r"<lambda> takes \(c\)"),
        ("linprog", "There is no master called 'linprog'; choose from highs, gurobi, cvxpy, pyomo"),
    ],
    ids=["nothing", "a live program", "a class", "another class", "a function", "a name"],
)
def test_what_is_no_master_is_refused_at_once(master: Any, expected: str) -> None:
    with pytest.raises(lsip.ModelError, match=expected):
        lsip.Exchange(master=master)


def test_what_opens_something_else_is_found_out() -> None:
    def wrong(*data: Any) -> Any:
        return lsip.oracles.Grid()

    with pytest.raises(
        lsip.ModelError,
        match=r"The master wrong must open .* it opened Grid\(.*\), which has no add, drop, solve, centre",
    ):
        lsip.catalogue.get("tfi2_tan_n3").build().solve(master=wrong, verbose=False)


Change = Callable[[MasterResult], Any]


def altered(change: Change) -> MasterFactory:
    """The template, with its results changed."""

    class Altered(FiniteProgram):
        def solve(self, margin: float) -> MasterResult:
            return change(super().solve(margin))

        def best_margin(self, most: float) -> MasterResult:
            return change(super().best_margin(most))

    def liar(c: Array, lower: Array, upper: Array, A: Any, row_lower: Array, row_upper: Array, tol: float) -> Master:
        return Altered("highs-ds", c, (lower, upper), A, row_lower, row_upper)

    return liar


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda r: None, r"`solve\(margin\)` of the master liar must give an lsip\.masters\.MasterResult; got None"),
        (lambda r: replace(r, z=r.z[:2]), r"must give `z` of shape \(3,\); got \(2,\)"),
        (
            lambda r: replace(r, cut_multipliers=np.zeros(1)),
            r"must give `cut_multipliers` of shape \(\d+,\); got \(1,\)",
        ),
    ],
)
def test_results_of_the_wrong_shape_are_named(change: Change, expected: str) -> None:
    with pytest.raises(lsip.ModelError, match=expected):
        lsip.catalogue.get("tfi2_tan_n3").build().solve(master=altered(change), verbose=False)


LIES: dict[str, Change] = {
    "equal multipliers": lambda r: replace(r, cut_multipliers=np.ones_like(r.cut_multipliers)),
    "multipliers of the wrong sign": lambda r: replace(r, cut_multipliers=-r.cut_multipliers),
    "all is infeasible": lambda r: replace(r, status="infeasible"),
    "a point that is none": lambda r: replace(r, z=0.0 * r.z),
    "no number": lambda r: replace(r, z=np.nan * r.z),
    "a word of its own": lambda r: replace(r, status="numerical trouble"),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_master_that_lies_costs_the_proof_and_not_its_truth(lie: str) -> None:
    entry = lsip.catalogue.get("tfi2_tan_n3")
    solution = entry.build().solve(master=altered(LIES[lie]), max_iterations=10, verbose=False)
    assert not solution.certified
    assert solution.lower <= entry.value + 1e-9
    assert solution.upper >= entry.value - 1e-9
