"""Time limits: one deadline reaches masters, proofs, factorisations and checks, and the bounds known are returned."""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import lsip
from lsip import deadline
from lsip.kernel.native import kernel
from lsip.masters import MasterError, open_master
from lsip.masters.highs import new_highs, run
from lsip.oracles import BranchAndBound, Grid, box_search
from lsip.proof.families import Bounds
from lsip.proof.linear_algebra import solve as enclosed_solve
from lsip.solution import verify
from lsip.solver import method, relaxation
from lsip.solver.anytime_bounds import interior_incumbent
from lsip.solver.clock import Clock
from lsip.solver.state import End


def hard(m: int = 3) -> lsip.Problem:
    """A proof that takes many boxes."""
    h, y = lsip.Variable(name="h"), lsip.Index("y", lsip.Box([0] * m, [1] * m))
    e = np.sin(9 * y.sum()) * np.cos(7 * y[0] * y[1]) * np.exp(y[2] * np.sin(8 * y[0]))
    return lsip.Problem(lsip.minimize(h), [lsip.forall(y, e <= h)])


def easy() -> lsip.Problem:
    x, t = lsip.Variable(2, name="x"), lsip.Index("t", lsip.Interval(0, 1))
    return lsip.Problem(lsip.minimize(x[0] + x[1] / 2), [lsip.forall(t, x[0] + x[1] * t >= np.sin(3 * t))])


def test_deadlines_nest_and_the_earliest_counts() -> None:
    assert deadline.left() == np.inf
    deadline.check("nothing")
    with deadline.within(100):
        with deadline.within(1000):
            assert deadline.left() <= 100
        with deadline.within(None):
            assert deadline.left() <= 100
        with deadline.within(-1), pytest.raises(lsip.OutOfTime):
            deadline.check("something")
        deadline.afford(1.0, "something")
        with pytest.raises(lsip.OutOfTime):
            deadline.afford(1e6, "something")
    assert deadline.left() == np.inf


def test_signs_of_life_come_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr(deadline, "PACE", deadline.PaceTuning(every=0.0))
    assert not deadline.watching()
    with deadline.watched(said.append):
        assert deadline.watching()
        deadline.beat("one")
        deadline.check("two")
    deadline.beat("three")
    assert said == ["one", "two"]
    monkeypatch.setattr(deadline, "PACE", deadline.PaceTuning(every=1e6))
    with deadline.watched(said.append):
        deadline.beat("too soon")
    assert said == ["one", "two"]


def test_a_long_proof_is_seen_in_the_table(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(deadline, "PACE", deadline.PaceTuning(every=0.0))
    hard().solve(time_limit=0.5)
    assert "branch-and-bound" in capsys.readouterr().out


# ---- masters ---------------------------------------------------------------------------------------------------------


def dense_lp(n: int = 150, k: int = 400) -> tuple[Any, ...]:
    rng = np.random.default_rng(0)
    rows, rhs = rng.normal(size=(k, n)), np.ones(k)
    box = np.full(n, 10.0)
    return (rng.normal(size=n), -box, box, sparse.csr_matrix((0, n)), np.zeros(0), np.zeros(0), 1e-8), rows, rhs


@pytest.mark.parametrize("name", ["highs", "cvxpy", "pyomo", "gurobi"])
def test_a_master_that_is_out_of_time_says_so_and_can_go_on(name: str) -> None:
    pytest.importorskip({"highs": "highspy", "gurobi": "gurobipy"}.get(name, name))
    lp, rows, rhs = dense_lp(20, 40)
    master = open_master(name)(*lp)
    master.add(rows, rhs)
    with deadline.within(-1.0), pytest.raises(lsip.OutOfTime):
        master.solve(0.0)
    free, other = master.solve(0.0), open_master("highs")(*lp)
    other.add(rows, rhs)
    assert free.status == "optimal"
    assert free.objective == pytest.approx(other.solve(0.0).objective, rel=1e-6)
    with deadline.within(60.0):
        assert master.best_margin(1.0).status == "optimal"


def test_highs_stops_in_the_middle_and_goes_on_later() -> None:
    lp, rows, rhs = dense_lp(400, 1200)
    master = open_master("highs")(*lp)
    master.add(rows, rhs)
    began = time.perf_counter()
    with deadline.within(0.05), pytest.raises(lsip.OutOfTime):
        master.solve(0.0)
    assert time.perf_counter() - began < 10
    with deadline.within(0.0), pytest.raises(lsip.OutOfTime):
        master.centre(0.0)
    master.drop(np.arange(1200) < 100)
    assert master.solve(0.0).status == "optimal"  # no limit is left behind


def test_the_ladder_of_highs_stops_at_the_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    import highspy

    tried = []

    class Stuck:
        """A model that HiGHS never solves."""

        def __getattr__(self, name: str) -> Any:
            return lambda *args: None

        def getRunTime(self) -> float:
            return 0.0

        def getModelStatus(self) -> Any:
            late = len(tried) >= 2
            return highspy.HighsModelStatus.kTimeLimit if late else highspy.HighsModelStatus.kUnknown

        def run(self) -> None:
            tried.append(1)

    with pytest.raises(lsip.OutOfTime):
        run(Stuck())
    assert len(tried) == 2
    assert not issubclass(lsip.OutOfTime, MasterError)
    assert new_highs(1e-8) is not None


# ---- proofs ----------------------------------------------------------------------------------------------------------


def test_factorisations_are_estimated_first() -> None:
    rng = np.random.default_rng(0)
    matrix = rng.normal(size=(400, 400))
    right = lsip.proof.linear_algebra.Interval(np.ones(400), np.ones(400))
    with deadline.within(1e-3), pytest.raises(lsip.OutOfTime):
        enclosed_solve(matrix, None, right)
    assert enclosed_solve(matrix, None, right) is not None
    band = sparse.diags_array([np.ones(20000), np.full(20001, 3.0), np.ones(20000)], offsets=[-1, 0, 1]).tocsc()
    places = rng.integers(0, 20000, (2, 120000))
    full = sparse.coo_array((rng.random(120000), tuple(places)), shape=(20000, 20000)).tocsc() + sparse.eye_array(20000)
    with deadline.within(30.0):
        deadline.afford_factors(band)
        with pytest.raises(lsip.OutOfTime):
            deadline.afford_factors(full)


def test_a_proof_out_of_time_returns_a_valid_bound() -> None:
    program = hard().compile()
    violation = program.violation(0, np.array([1.0]))
    for seconds in (0.05, 0.5, 5.0):  # on a busy machine the first may be over before anything is known
        with contextlib.suppress(lsip.OutOfTime), deadline.within(seconds):
            found = BranchAndBound().maximise(violation)
            assert found.worst <= found.bound
            return
    pytest.fail("there was never time for a first bound")


# ---- solves ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("limit", [0.0, 1e-6, 0.3, 1.0])
def test_a_solve_returns_what_is_known(limit: float) -> None:
    began = time.perf_counter()
    found = hard().solve(verbose=False, time_limit=limit)
    assert time.perf_counter() - began < 10 * limit + 5
    assert found.status in (lsip.Status.TIME_LIMIT, lsip.Status.OPTIMAL)
    assert found.lower <= found.upper
    found.verify()


def test_time_that_is_up_before_the_first_relaxation(monkeypatch: pytest.MonkeyPatch) -> None:
    def late(*args: Any) -> Any:
        raise lsip.OutOfTime("now")

    monkeypatch.setattr(method, "LinearRelaxation", late)
    found = easy().solve(time_limit=5.0)
    assert found.status is lsip.Status.TIME_LIMIT
    assert (found.lower, found.upper) == (-np.inf, np.inf)
    assert found.x.shape == (2,)
    found.verify()


def test_bounds_are_kept_for_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the last proofs run out of time, those from the way count."""
    run_ = method.opened(hard(), lsip.Exchange(time_limit=60.0))
    run_.anytime.due = 0.0
    steps = run_.iterates()
    for _ in range(2):
        row = next(steps)
    assert np.isfinite(row.lower), "proven on the way"

    def late(*args: Any) -> Any:
        raise lsip.OutOfTime("now")

    monkeypatch.setattr(relaxation, "prove_lower", late)
    found = run_.stop(End(lsip.Status.TIME_LIMIT))
    assert np.isfinite(found.lower)
    found.verify()


def test_iterates_show_proven_bounds_only() -> None:
    best = easy().solve(verbose=False)
    for row in best.history:
        assert row.lower == -np.inf or row.lower <= best.upper
        assert row.lower == -np.inf or row.lower <= best.value + 1e-12
    assert any(np.isfinite(row.value) for row in best.history)


@dataclass(frozen=True)
class Slow:
    """An oracle that takes its time."""

    seconds: float = 0.2

    def maximise(self, violation: Any, *, target: float = 0.0, seed: int = 0) -> Any:
        time.sleep(self.seconds)
        return Grid(points=20).maximise(violation, target=target, seed=seed)


def test_a_slow_oracle_ends_the_solve_soon_after_the_limit() -> None:
    began = time.perf_counter()
    found = easy().solve(oracle=Slow(), verbose=False, time_limit=0.5, max_iterations=10_000)
    assert time.perf_counter() - began < 5
    assert found.lower <= found.upper


def test_a_part_of_the_limit_is_kept_for_the_last_proofs() -> None:
    clock = Clock(10.0)
    assert 8.0 <= clock.left() < 9.0
    clock.keep(0.0)
    assert 9.0 < clock.left() < 10.0
    clock.allow_last_proofs()
    assert clock.left() <= 11.0
    assert Clock().left() == np.inf


def test_decompositions_keep_their_limit() -> None:
    x = lsip.Variable(2, lower=-1, upper=1, name="x")
    t = lsip.Index("t", lsip.Interval(0, 1))
    problem = lsip.Problem(lsip.maximize(x[0] + x[1]), [lsip.forall(t, t * x[0] + (1 - t) * x[1] <= 0.6 + t**2)])

    def disc(w: Any) -> lsip.Extreme:
        time.sleep(0.1)
        deadline.check("disc")
        return lsip.Extreme(w / np.linalg.norm(w), np.linalg.norm(w) * (1 + 1e-15))

    found = lsip.decompose(problem, disc, time_limit=0.25)
    assert found.status is lsip.Status.TIME_LIMIT
    assert found.lower <= found.upper


# ---- checks ----------------------------------------------------------------------------------------------------------


def test_worst_violations_have_a_limit() -> None:
    problem = hard()
    quick, thorough = (problem.worst_violation([1.0], time_limit=s) for s in (0.05, 20.0))
    assert thorough.value <= quick.bound
    with pytest.raises(lsip.ModelError):
        problem.worst_violation([1.0], time_limit=-1)


def test_a_check_that_runs_out_of_time_says_nothing_about_the_proof() -> None:
    found = hard().solve(verbose=False, tol=1e-3)
    assert found.verify(time_limit=120.0) is found
    with pytest.raises(lsip.OutOfTime, match="nothing was found to be wrong"):
        found.verify(time_limit=0.0)
    with pytest.raises(lsip.ModelError):
        found.verify(time_limit=-1)


@pytest.mark.skipif(kernel().library is None, reason="there is no kernel to go on with")
def test_numpy_checks_for_a_while_and_the_kernel_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """A proof that takes NumPy thousands of boxes takes about as long as with the kernel alone."""
    found = hard().solve(verbose=False, tol=1e-3)
    assert found.certified
    boxes: list[float] = []
    monkeypatch.setattr(box_search, "boxes_left", lambda *_: boxes.append(1) or 1.0)
    spent = {}
    for seconds in (0.0, 0.1):
        monkeypatch.setattr(verify, "TUNING", verify.VerifyTuning(reference_seconds=seconds))
        began = time.process_time()
        assert found.verify() is found
        spent[seconds] = time.process_time() - began
    assert spent[0.1] <= spent[0.0] + 1.0
    assert not boxes  # nobody asks a check how much is left
    monkeypatch.setattr(verify, "family_bounds", lambda *_, **__: Bounds((np.inf,)))
    with pytest.raises(lsip.ProofError, match="proven only inf"):
        found.verify()


def test_a_larger_margin_gives_feasible_points_on_the_way() -> None:
    """They are proven, keep cuts by less each time, and come closer to the optimum."""
    run_ = method.opened(hard(), lsip.Exchange(time_limit=600.0, polish=False))
    steps, found = run_.iterates(), []
    next(steps)
    for _ in range(60):
        margin = run_.state.inner_margin
        interior_incumbent(run_)
        best = run_.state.incumbent
        if best is not None and (not found or best.upper < found[-1]):
            found.append(best.upper)
            assert margin == 0 or run_.state.inner_margin < margin
        if len(found) > 2:
            break
    assert len(found) > 2
    assert run_.state.relaxed <= found[-1]
    answer = run_.stop(End(lsip.Status.TIME_LIMIT))
    assert np.isfinite(answer.upper)
    answer.verify()


@pytest.mark.parametrize("method", [lsip.Exchange, lsip.Counterpart])
@pytest.mark.parametrize("integer", [False, True])
def test_compiling_counts(method, integer, monkeypatch):
    """The limit of a solve is that of all that it does, and what there is before the first relaxation is an answer."""
    x, t = lsip.Variable(2, lower=0, upper=9, name="x", integer=integer), lsip.Index("t", lsip.Interval(0, 1))
    problem = lsip.Problem(lsip.minimize(x.sum()), [lsip.forall(t, x[0] + x[1] * t >= 1 + t)])
    real = lsip.Problem.compile

    def slow(self):
        time.sleep(0.3)
        return real(self)

    monkeypatch.setattr(lsip.Problem, "compile", slow)
    solution = problem.solve(method=method(time_limit=0.25), verbose=False)
    assert solution.status is lsip.Status.TIME_LIMIT
    assert solution.seconds >= 0.3
    assert problem.solve(method=method(time_limit=60), verbose=False).certified
