"""Every master on small LPs: the same values, multipliers that prove them, contradictions that are ones."""

from __future__ import annotations

import importlib.util
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import lsip
from lsip.masters import LicenceError, MasterError, MasterResult, open_master
from lsip.masters.base import Backend, FiniteProgram, FiniteResult
from lsip.masters.elastic import ElasticMaster
from lsip.masters.highs import HighsProgram
from lsip.masters.refined import Refined

from .extensions import master_checks
from .extensions.master_checks import LP

TOL = 1e-8
INSTALLED = {package: importlib.util.find_spec(package) is not None for package in ("gurobipy", "cvxpy", "pyomo")}
NAMES = [
    "highs",
    pytest.param("gurobi", marks=pytest.mark.skipif(not INSTALLED["gurobipy"], reason="needs gurobipy")),
    pytest.param("cvxpy:HIGHS", marks=pytest.mark.skipif(not INSTALLED["cvxpy"], reason="needs cvxpy")),
    pytest.param("cvxpy:CLARABEL", marks=pytest.mark.skipif(not INSTALLED["cvxpy"], reason="needs cvxpy")),
    pytest.param("pyomo:appsi_highs", marks=pytest.mark.skipif(not INSTALLED["pyomo"], reason="needs pyomo")),
]
every_master = pytest.mark.parametrize("name", NAMES)
some_settings = settings(max_examples=12, deadline=None)


@every_master
@some_settings
@given(seed=st.integers(0, 10**6), margin=st.sampled_from([0.0, 1e-8, 0.1]))
def test_the_value_is_right_and_the_multipliers_prove_it(name: str, seed: int, margin: float) -> None:
    master_checks.check_optimum(open_master(name), seed, margin)


@every_master
@some_settings
@given(seed=st.integers(0, 10**6))
def test_an_infeasible_lp_comes_with_a_contradiction(name: str, seed: int) -> None:
    master_checks.check_infeasible(open_master(name), seed)


@every_master
@some_settings
@given(seed=st.integers(0, 10**6))
def test_the_best_margin_is_the_largest_that_is_feasible(name: str, seed: int) -> None:
    master_checks.check_best_margin(open_master(name), seed)


@every_master
@some_settings
@given(seed=st.integers(0, 10**6))
def test_cuts_come_and_go(name: str, seed: int) -> None:
    master_checks.check_cuts(open_master(name), seed)


@every_master
def test_the_other_promises(name: str) -> None:
    factory = open_master(name)
    master_checks.check_contradicting_rows(factory)
    master_checks.check_box(factory)
    master_checks.check_flat_face(factory)
    master_checks.check_fresh(factory)
    master_checks.check_deadline(factory)


@every_master
def test_the_centre_of_a_flat_face(name: str) -> None:
    """Simplex solvers give corners, and know the middle of the optimal edge; an interior point gives that at once."""
    master = master_checks.box_only(open_master(name), np.ones(2), np.zeros(2), np.ones(2))
    master.add(np.array([[-1.0, -1.0]]), np.array([-1.0]))
    solved = master.solve(0.0)
    centre = master.centre(0.0)
    if name == "cvxpy:CLARABEL":
        assert centre is None
        assert solved.z == pytest.approx([0.5, 0.5], abs=1e-3)
    else:
        assert np.abs(solved.z - 0.5).max() == pytest.approx(0.5, abs=1e-6)
        assert centre == pytest.approx([0.5, 0.5], abs=1e-3)


@every_master
def test_a_solve_with_every_master_is_certified(name: str) -> None:
    entry = lsip.catalogue.get("tfi2_tan_n3")
    solution = entry.build().solve(master=name, verbose=False)
    assert solution.certified
    assert solution.value == pytest.approx(entry.value, abs=1e-7)
    solution.verify()


def test_the_default_solvers() -> None:
    pytest.importorskip("cvxpy")
    pytest.importorskip("pyomo")
    entry = lsip.catalogue.get("infeasible_abs")
    for name in ("cvxpy", "pyomo"):
        assert entry.build().solve(master=name, verbose=False).status is lsip.Status.INFEASIBLE


@some_settings
@given(seed=st.integers(0, 10**6), margin=st.sampled_from([0.0, 0.1]))
def test_a_magnified_master_means_the_same(seed: int, margin: float) -> None:
    lp, highs = LP(seed), open_master("highs")
    arguments = lp.c, lp.lower, lp.upper, lp.A, lp.row_lower, lp.row_upper, TOL
    plain, large = highs(*arguments), Refined(*arguments, make=highs, unit=1024.0, cost=1024.0)
    for master in (plain, large):
        master.add(lp.cuts, lp.rhs)
    for ask in (lambda m: m.solve(margin), lambda m: m.best_margin(1.0)):
        expected, result = ask(plain), ask(large)
        assert result.slack == pytest.approx(expected.slack, abs=1e-9)
        assert lp.least((lp.cuts.T @ result.cut_multipliers) + lp.A.T @ result.row_multipliers) == pytest.approx(
            lp.least((lp.cuts.T @ expected.cut_multipliers) + lp.A.T @ expected.row_multipliers), abs=1e-6
        )
    assert large.solve(margin).objective == pytest.approx(plain.solve(margin).objective, abs=1e-8)


def failing(result: FiniteResult | None, always: bool = False) -> Backend:
    """HiGHS, but the first program that is opened says only that, or fails; `always` all do."""
    opened: list[HighsProgram] = []

    class Failing(HighsProgram):
        def solve(self, **options: Any) -> FiniteResult:
            if self is not opened[0] and not always:
                return super().solve(**options)
            if result is None:
                raise MasterError("no idea")
            return result

    def open_program(program: FiniteProgram, tol: float) -> HighsProgram:
        opened.append(Failing(program, tol))
        return opened[-1]

    return Backend("failing", open_program)


@pytest.mark.parametrize("margin", [0.0, 0.75])  # of which only the second contradicts z <= 0.5 in [0, 1]
def test_a_contradiction_decides_where_a_solver_fails(margin: float) -> None:
    """GLPK through Pyomo says `other` of an infeasible LP; an interior point may say nothing at all."""

    def solved(backend: Backend) -> MasterResult:
        master = ElasticMaster(backend, *one_row())
        master.add(np.array([[1.0], [-1.0]]), np.array([0.5, 0.5]))
        return master.solve(margin)

    if margin:
        result = solved(failing(None))
        assert result.status == "infeasible"
        assert result.cut_multipliers == pytest.approx([1, 0])
        assert np.array_equal(solved(failing(FiniteResult("infeasible"))).cut_multipliers, result.cut_multipliers)
    else:  # feasible after all
        with pytest.raises(MasterError, match="no idea"):
            solved(failing(None))
    with pytest.raises(MasterError, match="no idea"):
        solved(failing(None, always=True))
    without = solved(failing(FiniteResult("infeasible"), always=True))
    assert without.status == "infeasible"
    assert np.array_equal(without.cut_multipliers, [0, 0])


# ---- what goes wrong -------------------------------------------------------------------------------------------------


def one_row() -> tuple[object, ...]:
    empty = sparse.csr_matrix((0, 1))
    return np.ones(1), np.zeros(1), np.ones(1), empty, np.zeros(0), np.zeros(0), TOL


def test_unknown_masters() -> None:
    with pytest.raises(lsip.ModelError, match="no master called 'higs'; choose from highs, gurobi, cvxpy, pyomo"):
        open_master("higs")
    with pytest.raises(lsip.ModelError, match="no master called 'highs:ipm': write 'highs'"):
        open_master("highs:ipm")
    with pytest.raises(lsip.ModelError, match="name a solver behind the colon"):
        open_master("cvxpy:")


def test_unknown_solvers() -> None:
    pytest.importorskip("cvxpy")
    pytest.importorskip("pyomo")
    with pytest.raises(lsip.ModelError, match=r"CVXPY has no solver 'nosuch' here; choose from .*CLARABEL"):
        open_master("cvxpy:nosuch")(*one_row())
    with pytest.raises(lsip.ModelError, match=r"Pyomo has no LP solver 'nosuch' here; choose from .*appsi_highs"):
        open_master("pyomo:nosuch")(*one_row())


@pytest.mark.parametrize(("name", "package"), [("gurobi", "gurobipy"), ("cvxpy", "cvxpy"), ("pyomo:glpk", "pyomo")])
def test_a_missing_package(name: str, package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    extra = name.partition(":")[0]
    with pytest.raises(lsip.MissingExtraError, match=rf"The master '{extra}' needs {package}: .*'lsip\[{extra}\]'"):
        open_master(name)


@pytest.fixture
def small_licence() -> None:
    """Skip where Gurobi may solve models of any size."""
    gurobipy = pytest.importorskip("gurobipy")
    with gurobipy.Env(params={"OutputFlag": 0}) as env, gurobipy.Model(env=env) as model:
        model.addMVar(2001)
        try:
            model.optimize()
        except gurobipy.GurobiError:
            return
    pytest.skip("Gurobi has a full licence here")


@pytest.mark.usefixtures("small_licence")
def test_a_model_too_large_for_the_licence() -> None:
    n = 2500
    empty = sparse.csr_matrix((0, n))
    master = open_master("gurobi")(np.ones(n), np.zeros(n), np.ones(n), empty, np.zeros(0), np.zeros(0), TOL)
    with pytest.raises(LicenceError) as caught:
        master.solve(0.0)
    message = str(caught.value)
    assert message.startswith(
        "This model has 2501 variables and 0 rows, more than Gurobi's licence allows (2000 of each"
    )
    assert message.endswith('get a full licence from gurobi.com, or use master="highs".')


@pytest.mark.usefixtures("small_licence")
@pytest.mark.parametrize("name", ["gurobi", "pyomo:appsi_gurobi"])
def test_the_licence_reaches_the_caller_of_a_solve(name: str) -> None:
    """It is no MasterError, which the exchange takes for a numerical failure."""
    pytest.importorskip(name.partition(":")[0].replace("gurobi", "gurobipy"))
    x = lsip.Variable(2100, lower=0)
    t = lsip.Index("t", lsip.Interval(0, 1))
    problem = lsip.Problem(lsip.minimize(x.sum()), [lsip.forall(t, x[0] + x[1] * t >= 1)])
    with pytest.raises(LicenceError, match=r"210\d variables"):
        problem.solve(master=name, verbose=False)


def test_no_licence_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    gurobipy = pytest.importorskip("gurobipy")

    def refuse(*_: object, **__: object) -> None:
        raise gurobipy.GurobiError(10009, "License expired 2020-01-01")

    monkeypatch.setattr(gurobipy, "Env", refuse)
    with pytest.raises(LicenceError, match=r"no valid licence \(License expired 2020-01-01\): .* use master=\"highs\""):
        open_master("gurobi")(*one_row())


@pytest.mark.parametrize("forever", [True, False])
def test_a_failing_solver_stalls_the_exchange(forever: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("cvxpy")
    from lsip.masters import cvxpy as door

    solves = iter(range(100))
    real = door._solve

    def sometimes(*arguments: object) -> str:
        k = next(solves)
        if k == 1 or (k > 1 and forever):
            raise MasterError("failed on purpose")
        return real(*arguments)

    monkeypatch.setattr(door, "_solve", sometimes)
    solution = lsip.catalogue.get("abs_d10").build().solve(master="cvxpy", verbose=False)
    # One failure, of the second solve with another margin, is made good by the next iteration.
    assert solution.status is (lsip.Status.STALLED if forever else lsip.Status.OPTIMAL)
    assert solution.lower <= lsip.catalogue.get("abs_d10").value


def test_gurobi_environments_are_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    gurobipy = pytest.importorskip("gurobipy")
    disposed = []
    real = gurobipy.Env.dispose
    monkeypatch.setattr(gurobipy.Env, "dispose", lambda env: (disposed.append(1), real(env)))
    master = open_master("gurobi")(*one_row())
    assert master.solve(0.0).objective == 0.0
    assert not disposed
    del master
    assert disposed


def test_coefficients_that_highs_leaves_out_are_an_error() -> None:
    live = HighsProgram(FiniteProgram(*np.zeros((3, 1)), sparse.csr_matrix((1, 1)), *np.ones((2, 1))), 1e-8)
    with pytest.raises(MasterError, match="refused columns"):
        live.add_columns(np.ones(1), np.full((1, 1), 1e300))
    with pytest.raises(MasterError, match="refused rows"):
        live.add(np.full((1, 1), 1e300), np.ones(1))
