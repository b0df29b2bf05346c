"""`SolverFactory("lsip")`: Pyomo models whose constraints range over a ContinuousSet, and everything around a solve."""

from __future__ import annotations

import builtins
import logging
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pyo = pytest.importorskip("pyomo.environ")
from pyomo.dae import ContinuousSet, DerivativeVar, Integral  # noqa: E402

import lsip  # noqa: E402
from lsip.interop.pyomo import NoSolutionError  # noqa: E402
from lsip.interop.pyomo.continuum import pieces  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent
TAN = 0.6490420972966572  # proven below by the same model in the language


def model(**options):
    """The parabola with the smallest integral, without the constraint that holds it up."""
    m = pyo.ConcreteModel()
    m.x = pyo.Var(range(3), **options)
    m.t = ContinuousSet(bounds=(0, 1))
    m.I = pyo.Set(initialize=["a", "b"])
    m.cost = pyo.Objective(expr=m.x[0] + m.x[1] / 2 + m.x[2] / 3)
    m.dual = pyo.Suffix(direction=pyo.Suffix.IMPORT)
    return m


def parabola(m, t):
    return m.x[0] + m.x[1] * t + m.x[2] * t**2


def above_tan():
    m = model()
    m.above = pyo.Constraint(m.t, rule=lambda m, t: parabola(m, t) >= pyo.tan(t))
    return m


def solve(m, **options):
    return pyo.SolverFactory("lsip").solve(m, **options)


@pytest.fixture
def heard(caplog, monkeypatch):
    """What Pyomo's loggers say, which they keep to themselves otherwise."""
    monkeypatch.setattr(logging.getLogger("pyomo"), "propagate", True)
    caplog.set_level(logging.WARNING, logger="pyomo.solvers.lsip")
    return caplog


def uncertified(m, **options):
    """Solve a model with a black box."""
    results = solve(m, **options)
    assert results.lsip.status is lsip.Status.UNCERTIFIED
    assert not pyo.check_optimal_termination(results)
    return results


# ---- a whole solve ---------------------------------------------------------------------------------------------------


def test_the_value_is_that_of_the_same_model_in_the_language():
    m = above_tan()
    results = solve(m)
    pyo.assert_optimal_termination(results)
    x, t = lsip.Variable(3), lsip.Index("t", lsip.Interval(0, 1))
    native = lsip.Problem(
        lsip.minimize(x[0] + x[1] / 2 + x[2] / 3), [lsip.forall(t, x[0] + x[1] * t + x[2] * t**2 >= np.tan(t))]
    ).solve(verbose=False)
    assert pyo.value(m.cost) == pytest.approx(native.value, abs=1e-8)
    assert native.value == pytest.approx(TAN, abs=1e-8)
    assert [pyo.value(m.x[i]) for i in range(3)] == pytest.approx(native.x, abs=1e-6)
    assert results.lsip.certified
    results.lsip.verify()


def test_results_say_what_pyomo_users_look_for():
    results = solve(above_tan(), tol=1e-6)
    assert str(results.solver.termination_condition) == "optimal"
    assert str(results.solver.status) == "ok"
    assert results.solver.message == lsip.Status.OPTIMAL.value
    assert results.problem.lower_bound <= TAN <= results.problem.upper_bound
    assert results.problem.upper_bound - results.problem.lower_bound <= 1e-6
    assert (results.problem.number_of_variables, results.problem.number_of_constraints) == (3, 1)
    assert results.problem.sense == pyo.minimize
    assert 0 < results.solver.wallclock_time < 60
    assert "Termination condition: optimal" in str(results)


def test_tee_prints_the_progress_table(capsys):
    solve(above_tan(), tee=True)
    assert "violation" in capsys.readouterr().out
    solve(above_tan())
    assert capsys.readouterr().out == ""


def test_options_by_every_door():
    with pyo.SolverFactory("lsip", tol=1e-4) as opt:
        assert opt.available()
        assert opt.license_is_valid()
        assert not opt.warm_start_capable()
        assert opt.version() == tuple(int(p) for p in lsip.__version__.split("."))
        assert opt.solve(above_tan()).lsip.tol == 1e-4
        opt.options["tol"] = 1e-5
        assert opt.solve(above_tan()).lsip.tol == 1e-5
        opt.options.tol = 1e-3
        assert opt.solve(above_tan()).lsip.tol == 1e-3
        assert opt.solve(above_tan(), options={"tol": 1e-7}).lsip.tol == 1e-7
        assert opt.solve(above_tan(), tol=1e-6).lsip.tol == 1e-6
        assert opt.solve(above_tan()).lsip.tol == 1e-3  # what was given to one solve is not kept
    assert pyo.SolverFactory("lsip", options={"tol": 1e-2}).solve(above_tan()).lsip.tol == 1e-2
    with pytest.raises(lsip.ModelError, match=r"Unknown option tolerance; the options .* tol, .* add_active_points"):
        solve(above_tan(), tolerance=1e-6)


def test_an_oracle_and_a_warm_start_pass_through():
    first = solve(above_tan())
    again = solve(above_tan(), warm_start=first)
    assert len(again.lsip.history) <= len(first.lsip.history)
    results = solve(above_tan(), oracle=lsip.oracles.Grid(50), load_solutions=False)
    assert results.lsip.oracle == "Grid"
    with pytest.raises(lsip.ModelError, match="`warm_start` takes the results of an earlier solve"):
        solve(above_tan(), warm_start=3)


def test_a_master_passes_through():
    m = above_tan()
    solve(m, master="pyomo:appsi_highs")
    assert pyo.value(m.cost) == pytest.approx(TAN, abs=1e-8)
    with pytest.raises(lsip.ModelError, match="There is no master called 'nobody'"):
        solve(above_tan(), master="nobody")


def test_an_abstract_model_is_solved_as_an_instance():
    m = pyo.AbstractModel()
    m.n = pyo.Param(within=pyo.PositiveIntegers)
    m.x = pyo.Var(pyo.RangeSet(0, m.n))
    m.t = ContinuousSet(bounds=(0, 1))
    m.cost = pyo.Objective(rule=lambda m: sum(m.x[i] / (i + 1) for i in m.x))
    m.above = pyo.Constraint(m.t, rule=lambda m, t: sum(m.x[i] * t**i for i in m.x) >= pyo.tan(t))
    with pytest.raises(lsip.ModelError, match="create_instance"):
        solve(m)
    instance = m.create_instance({None: {"n": {None: 2}}})
    solve(instance)
    assert pyo.value(instance.cost) == pytest.approx(TAN, abs=1e-8)
    copy = instance.clone()
    solve(copy)
    assert pyo.value(copy.cost) == pytest.approx(TAN, abs=1e-8)


def test_points_that_the_set_holds_are_not_the_constraint():
    m = model()
    m.u = ContinuousSet(bounds=(0, 1), initialize=[0.1, 0.7])
    m.above = pyo.Constraint(m.u, rule=lambda m, u: parabola(m, u) >= pyo.tan(u))
    solve(m)
    assert pyo.value(m.cost) == pytest.approx(TAN, abs=1e-8)


# ---- index sets ------------------------------------------------------------------------------------------------------


def test_two_continuous_sets_are_a_box():
    m = pyo.ConcreteModel()
    m.z = pyo.Var()
    m.t, m.s = ContinuousSet(bounds=(0, 1)), ContinuousSet(bounds=(-1, 2))
    m.cost = pyo.Objective(expr=m.z)
    m.dual = pyo.Suffix(direction=pyo.Suffix.IMPORT)
    m.top = pyo.Constraint(m.t, m.s, rule=lambda m, t, s: m.z >= 2 - (t - 0.25) ** 2 - (s - 0.5) ** 2)
    results = solve(m)
    assert pyo.value(m.z) == pytest.approx(2, abs=1e-7)
    assert results.lsip.certified
    ((key, dual),) = m.dual[m.top].items()
    assert key == pytest.approx((0.25, 0.5), abs=1e-3)
    assert dual == pytest.approx(1)


def test_one_continuous_set_twice_is_a_square():
    m = pyo.ConcreteModel()
    m.z = pyo.Var()
    m.t = ContinuousSet(bounds=(0, 1))
    m.cost = pyo.Objective(expr=m.z)
    m.top = pyo.Constraint(m.t, m.t, rule=lambda m, t, u: m.z >= t - u)
    results = solve(m)
    assert pyo.value(m.z) == pytest.approx(1, abs=1e-7)
    assert results.lsip.program.families[0].legend.coordinates == ("t[0]", "t[1]")


def test_ordinary_sets_give_one_row_a_member_in_one_family():
    m = model(bounds=(-9, 9))
    m.J = pyo.Set(initialize=[(1, 2), (3, 4)])
    m.c = pyo.Constraint(m.I, m.t, m.J, rule=lambda m, i, t, j, k: parabola(m, t) >= pyo.tan(t) - (i == "b") - j + 1)
    results = solve(m)
    assert pyo.value(m.cost) == pytest.approx(TAN, abs=1e-8)
    (family,) = results.lsip.program.families
    assert family.labels == ("c[a, ·, 1, 2]", "c[a, ·, 3, 4]", "c[b, ·, 1, 2]", "c[b, ·, 3, 4]")
    assert {(key[0], *key[2:]) for key in m.dual[m.c]} == {("a", 1, 2)}


def test_data_belong_to_their_members():
    """Members of several lengths, on both sides of the continuum, and a continuum that holds points."""
    m = pyo.ConcreteModel()
    m.x = pyo.Var()
    m.t = ContinuousSet(bounds=(0, 1), initialize=[0, 0.25, 1])
    m.I = pyo.Set(initialize=["a", "b"])
    m.J = pyo.Set(initialize=[1, (2, 3)], dimen=None)
    m.c = pyo.Constraint(m.I, m.t, m.J, rule=lambda m, i, t, *j: m.x >= t + sum(j))
    found = list(pieces(m.c))
    assert [piece.members for piece in found] == [((i,), (), j) for i in "ab" for j in ((1,), (2, 3))]
    for piece in found:
        assert [float(point[0]) for point, _ in piece.written] == [0, 0.25, 1]
        assert all(data is m.c[piece.key(point)] for point, data in piece.written)
    for t in m.t:
        m.c["b", t, 2, 3].deactivate()
    assert [piece.members for piece in pieces(m.c)] == [piece.members for piece in found[:3]]
    m.c["a", 0.25, 1].deactivate()
    with pytest.raises(lsip.ModelError, match=r"'c\[a, ·, 1\]' is deactivated at some points"):
        list(pieces(m.c))


def test_the_data_of_a_constraint_are_read_once(monkeypatch):
    m = model(bounds=(-9, 9))
    m.K = pyo.RangeSet(30)
    m.c = pyo.Constraint(m.K, m.t, rule=lambda m, k, t: parabola(m, t) >= pyo.tan(t) - k)
    asked, items = [], type(m.c).items
    monkeypatch.setattr(type(m.c), "items", lambda c, *args: asked.append(c) or items(c, *args))
    assert len(list(pieces(m.c))) == 30
    assert asked == [m.c]


def test_members_may_be_skipped():
    m = model(bounds=(-9, 9))

    @m.Constraint(m.t, m.I)
    def c(m, t, i):
        return parabola(m, t) >= pyo.tan(t) if i == "a" else pyo.Constraint.Skip

    results = solve(m)
    assert results.problem.number_of_constraints == 1
    assert pyo.value(m.cost) == pytest.approx(TAN, abs=1e-8)


def test_blocks_hold_constraints_variables_and_sets():
    m = model()
    m.b = pyo.Block(["u", "v"])
    for key, block in m.b.items():
        block.y = pyo.Var(bounds=(0, 1))
        block.inner = pyo.Block()
        block.inner.s = ContinuousSet(bounds=(0, 1))
        factor = 1 if key == "u" else 2
        block.inner.c = pyo.Constraint(
            block.inner.s, rule=lambda b, s, f=factor: parabola(m, s) + b.parent_block().y >= f * pyo.tan(s)
        )
    m.none = pyo.Constraint(expr=m.b["u"].y + m.b["v"].y <= 0)
    solve(m)
    assert pyo.value(m.cost) == pytest.approx(2 * TAN, abs=1e-7)
    m.b["v"].deactivate()
    m.none.set_value(m.b["u"].y <= 0)
    solve(m)
    assert pyo.value(m.cost) == pytest.approx(TAN, abs=1e-8)
    only = pyo.ConcreteModel()
    only.part = pyo.Block()
    only.part.x, only.part.t = pyo.Var(), ContinuousSet(bounds=(0, 1))
    only.part.cost = pyo.Objective(expr=only.part.x)
    only.part.c = pyo.Constraint(only.part.t, rule=lambda b, t: b.x >= t)
    solve(only.part)
    assert pyo.value(only.part.x) == pytest.approx(1, abs=1e-7)


def test_deactivated_constraints_are_left_out():
    m = above_tan()
    m.more = pyo.Constraint(m.t, rule=lambda m, t: parabola(m, t) >= 5)
    m.more.deactivate()
    m.some = pyo.Constraint(m.I, m.t, rule=lambda m, i, t: parabola(m, t) >= (7 if i == "b" else 0))
    m.some["b", :].deactivate()
    solve(m)
    assert pyo.value(m.cost) == pytest.approx(TAN, abs=1e-8)
    m.above[0].deactivate()
    with pytest.raises(lsip.ModelError, match="'above' is deactivated at some points of a continuum"):
        solve(m)


def test_a_discretised_set_is_finite():
    m = above_tan()
    pyo.TransformationFactory("dae.finite_difference").apply_to(m, wrt=m.t, nfe=4)
    results = solve(m)
    assert results.problem.number_of_constraints == 5
    found = pyo.value(m.cost)
    pyo.SolverFactory("appsi_highs").solve(m)
    assert found == pytest.approx(pyo.value(m.cost), abs=1e-7)
    assert found < TAN - 1e-3


def test_a_dynamic_model_is_solved_after_discretisation():
    m = pyo.ConcreteModel()
    m.t = ContinuousSet(bounds=(0, 1))
    m.y, m.u = pyo.Var(m.t), pyo.Var(m.t, bounds=(0, 1))
    m.dy = DerivativeVar(m.y, wrt=m.t)
    m.ode = pyo.Constraint(m.t, rule=lambda m, t: m.dy[t] == m.u[t])
    m.start = pyo.Constraint(expr=m.y[0] == 0)
    m.cost = pyo.Objective(expr=m.y[1], sense=pyo.maximize)
    with pytest.raises(lsip.ModelError, match=r"dynamic model.*discretise it first"):
        solve(m)
    pyo.TransformationFactory("dae.finite_difference").apply_to(m, nfe=5)
    solve(m)
    assert pyo.value(m.cost) == pytest.approx(1, abs=1e-7)


# ---- rules -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "rule",
    [
        lambda m, t: (pyo.tan(t), parabola(m, t), 5),
        lambda m, t: pyo.inequality(pyo.tan(t), parabola(m, t), 5 + t),
        lambda m, t: (pyo.tan(t), parabola(m, t), None),
        lambda m, t: pyo.tan(t) - parabola(m, t) <= 0,
        lambda m, t: parabola(m, t) - m.zero >= pyo.tan(t) + m.shift,
        lambda m, t: m.named >= pyo.tan(t) - m.x[1] * t - m.x[2] * t**2,
        lambda m, t: m.curve[t] >= m.target[t],
    ],
)
def test_forms_of_a_constraint(rule):
    m = model()
    m.zero = pyo.Var(initialize=0)
    m.zero.fix()
    m.shift = pyo.Param(initialize=0, mutable=True)
    m.named = pyo.Expression(expr=m.x[0])
    m.curve = pyo.Expression(m.t, rule=parabola)
    m.target = pyo.Param(m.t, initialize=lambda m, t: pyo.tan(t))
    m.c = pyo.Constraint(m.t, rule=rule)
    results = solve(m)
    assert results.lsip.certified
    assert pyo.value(m.cost) == pytest.approx(TAN, abs=1e-8)


def test_both_sides_of_a_range_hold():
    m = pyo.ConcreteModel()
    m.x = pyo.Var(range(2))
    m.t = ContinuousSet(bounds=(0, 1))
    m.cost = pyo.Objective(expr=m.x[0] + m.x[1], sense=pyo.maximize)
    m.dual = pyo.Suffix(direction=pyo.Suffix.IMPORT)
    m.c = pyo.Constraint(m.t, rule=lambda m, t: (-t, m.x[0] + m.x[1] * t, 1 + t**2))
    solve(m)
    assert pyo.value(m.cost) == pytest.approx(2, abs=1e-7)
    m.cost.sense = pyo.minimize
    solve(m)
    assert pyo.value(m.cost) == pytest.approx(-1, abs=1e-7)
    assert m.dual[m.c] == {1.0: pytest.approx(1)}


def test_fixed_variables_and_params_count_with_their_values_at_the_solve():
    m = model()
    m.scale = pyo.Param(initialize=5, mutable=True)
    m.above = pyo.Constraint(m.t, rule=lambda m, t: parabola(m, t) >= m.scale * pyo.tan(t))
    m.scale.set_value(2)
    m.x[2].fix(3)
    solve(m)
    t = np.linspace(0, 1, 100_001)
    x = [pyo.value(m.x[i]) for i in range(3)]
    assert x[2] == 3
    assert abs((x[0] + x[1] * t + 3 * t**2 - 2 * np.tan(t)).min()) < 1e-7


@pytest.mark.parametrize(
    "rule",
    [
        lambda m: 1e-12 * m.y >= 5e-12,
        lambda m: m.y <= 1 - 5e-10,
        lambda m: 1e12 * m.y <= 1e12 - 500,
        lambda m: (0.5, m.y, 1 - 1e-15),
        lambda m: m.y == 1 + 1e-15,
    ],
)
def test_rows_of_fixed_variables_hold_without_any_allowance(rule):
    m = above_tan()
    m.y = pyo.Var()
    m.y.fix(1)
    m.kept = pyo.Constraint(expr=m.y == 1)
    assert solve(m).lsip.certified
    m.broken = pyo.Constraint(rule=rule)
    assert solve(m, load_solutions=False).lsip.status is lsip.Status.INFEASIBLE


def test_a_variable_that_is_fixed_at_no_number_is_refused():
    m = above_tan()
    m.y = pyo.Var()
    m.y.fix(math.nan)
    m.broken = pyo.Constraint(expr=m.y <= 1)
    refuse(m, "Constraint 'broken' has the constant nan")


def test_a_condition_without_variables_is_judged():
    m = above_tan()
    m.low = pyo.Constraint(m.t, rule=lambda m, t: m.x[0] >= t - 2)
    m.x[0].fix(1)
    m.cost.set_value(m.x[1] + m.x[2])
    assert pyo.check_optimal_termination(solve(m))
    m.x[0].fix(-1.5)
    with pytest.raises(NoSolutionError, match="contradicts itself"):
        solve(m)


# ---- black boxes -----------------------------------------------------------------------------------------------------

TABLE = [0.0, 0.3, 1.0]
RULES = {
    "turns t into a plain number": lambda m, t: parabola(m, t) >= math.tan(t),
    "branches on t": lambda m, t: parabola(m, t) >= (pyo.tan(t) if t < 2 else 0),
    "uses t as a key": lambda m, t: parabola(m, t) >= pyo.tan(t) + {}.get(t, 0),
    "differently": lambda m, t: parabola(m, t) >= (pyo.tan(t) if isinstance(t, float | int) else t),
    "needs a number for t": lambda m, t: parabola(m, t) >= pyo.tan(t) + 0 * (t % 1),
}


@pytest.mark.parametrize("reason", RULES)
def test_a_rule_without_formula_is_a_black_box(reason, heard):
    m = model()
    m.above = pyo.Constraint(m.t, rule=RULES[reason])
    results = uncertified(m)
    assert pyo.value(m.cost) == pytest.approx(TAN, abs=1e-7)
    message = results.solver.message
    assert "'above' is asked as a black box, which proves nothing" in message
    assert reason in message
    assert message in heard.text
    assert str(results.solver.status) == "warning"
    assert results.problem.lower_bound <= TAN + 1e-9
    assert results.problem.upper_bound == math.inf
    assert min(m.dual[m.above].values()) > 0
    assert sum(m.dual[m.above].values()) == pytest.approx(1)


def test_a_black_box_leaves_other_constraints_traced():
    m = above_tan()
    m.table = pyo.Constraint(m.t, rule=lambda m, t: parabola(m, t) >= np.interp(t, TABLE, [0.0, 0.9, 0.0]))
    results = uncertified(m)
    assert [type(f.source).__name__ for f in results.lsip.program.families] == ["DeclaredRows", "BlackBoxRows"]
    t = np.linspace(0, 1, 20_001)
    values = [pyo.value(m.x[i]) for i in range(3)] @ np.array([t**0, t, t**2])
    assert (values - np.maximum(np.tan(t), np.interp(t, TABLE, [0.0, 0.9, 0.0]))).min() > -1e-6


def test_points_that_a_rule_skips_are_free():
    m = model(bounds=(-9, 9))

    @m.Constraint(m.t)
    def half(m, t):
        return parabola(m, t) >= pyo.tan(t) if t <= 0.5 else pyo.Constraint.Skip

    uncertified(m)
    native = model(bounds=(-9, 9))
    native.u = ContinuousSet(bounds=(0, 0.5))
    native.half = pyo.Constraint(native.u, rule=lambda m, u: parabola(m, u) >= pyo.tan(u))
    solve(native)
    assert pyo.value(m.cost) == pytest.approx(pyo.value(native.cost), abs=1e-4)


def test_a_black_box_may_use_a_variable_anywhere():
    m = pyo.ConcreteModel()
    m.x = pyo.Var(range(40), bounds=(0, None))
    m.t = ContinuousSet(bounds=(0, 40))
    m.cost = pyo.Objective(expr=1.0 * m.x[0])
    m.step = pyo.Constraint(m.t, rule=lambda m, t: m.x[min(int(t), 39)] >= t)
    results = uncertified(m)
    assert results.problem.number_of_variables == 40
    assert all(pyo.value(m.x[i]) >= i + 0.9 for i in range(40))


def test_a_rule_that_fails_at_a_point_is_named():
    m = model()
    m.c = pyo.Constraint(m.t, rule=lambda m, t: parabola(m, t) >= {0: 1, 1: 2}[t])
    with pytest.raises(lsip.ModelError, match=r"The rule of 'c' failed at t = 0.5 with KeyError.*uses t as a key"):
        solve(m)


# ---- what is refused -------------------------------------------------------------------------------------------------


def refuse(m, match, error=lsip.ModelError):
    with pytest.raises(error, match=match):
        solve(m)


def test_an_equality_for_all_t():
    m = model()
    m.c = pyo.Constraint(m.t, rule=lambda m, t: parabola(m, t) == t)
    refuse(m, r"'c' is an equality for all values of t.*two inequalities")


def test_what_is_not_linear():
    m = above_tan()
    m.c = pyo.Constraint(m.t, rule=lambda m, t: m.x[0] * m.x[1] >= t)
    refuse(m, r"'c' at t = 0 is not linear in the variables: x\[0\]\*x\[1\]", lsip.NotAffineError)
    m.c.deactivate()
    m.q = pyo.Constraint(expr=m.x[0] ** 2 <= 1)
    refuse(m, r"Constraint 'q' is not linear", lsip.NotAffineError)
    m.q.deactivate()
    m.cost.set_value(m.x[0] ** 2)
    refuse(m, r"The objective 'cost' is not linear", lsip.NotAffineError)


def test_choices_that_pyomo_calls_nonlinear_are_read_all_the_same():
    """A condition that is a choice itself, or holds a fixed variable, in finite rows, in rules and in the objective."""
    m = model(bounds=(-9, 9))
    m.p = pyo.Param(initialize=2, mutable=True)
    m.f = pyo.Var(initialize=0.5)
    m.f.fix()
    low = pyo.Expr_if(m.p >= 3, 0.1, m.f)
    m.c = pyo.Constraint(m.t, rule=lambda m, t: parabola(m, t) >= pyo.Expr_if(pyo.Expr_if(t >= m.f, t, m.f) >= 0, 1, 2))
    m.d = pyo.Constraint(expr=pyo.Expr_if(low <= 0.2, 2, 4) * m.x[0] + 0 * m.x[1] >= 8)
    m.cost.set_value(m.cost.expr + pyo.Expr_if(low >= 0.2, 7, m.x[0]))
    solve(m)  # the smallest integral of a parabola that is 2 at 0 and stays above 1 is that of 1 + (1 - 3 t / 2)²
    assert pyo.value(m.cost) == pytest.approx(1.25 + 7, abs=1e-7)
    assert [pyo.value(m.x[i]) for i in range(3)] == pytest.approx([2, -3, 2.25], abs=1e-3)
    m.cost.set_value(pyo.Expr_if(low >= 0.2, m.x[0] * m.x[1], 1))
    refuse(m, r"The objective 'cost' is not linear in the variables: .*; a product of variables", lsip.NotAffineError)


def test_integer_variables():
    m = above_tan()
    m.x[1].domain = pyo.Integers
    solve(m)
    m.x[1].fix(0)
    solve(m)


def test_objectives():
    m = above_tan()
    m.other = pyo.Objective(expr=m.x[0])
    refuse(m, "exactly one active objective, and has 2: deactivate all but one of 'cost', 'other'")
    m.other.deactivate()
    m.cost.deactivate()
    refuse(m, r"has 0: add one, such as Objective\(expr=0\)")
    m.none = pyo.Objective(expr=0)
    assert pyo.check_optimal_termination(solve(m))


def test_dynamic_and_unknown_components():
    m = above_tan()
    m.y = pyo.Var(m.t)
    refuse(m, "Variable 'y' is indexed by the ContinuousSet t. That makes a dynamic model")
    m.del_component(m.y)
    m.area = Integral(m.t, wrt=m.t, rule=lambda m, t: t * m.x[0])
    refuse(m, "'area' is of the type Integral. That makes a dynamic model")
    m.del_component(m.area)
    m.b = pyo.Block(m.t)
    refuse(m, "'b' is a Block indexed by the ContinuousSet t: only constraints can range over a continuum")
    m.del_component(m.b)
    m.sos = pyo.SOSConstraint(var=m.x, sos=1)
    refuse(m, "'sos' is a SOSConstraint")
    m.sos.deactivate()
    solve(m)


def test_sets_that_are_no_products():
    m = model()
    m.c = pyo.Constraint(m.t | pyo.Set(initialize=[3]), rule=lambda m, t: parabola(m, t) >= t)
    refuse(m, "combines a ContinuousSet with other sets; products")


def test_a_constraint_without_rule():
    m = model()
    m.c = pyo.Constraint(m.t, rule={0: m.x[0] >= 0, 1: m.x[0] >= 1})
    refuse(m, "'c' is indexed by a ContinuousSet but has no rule")


def test_no_model():
    refuse(3, "A Pyomo model or block was expected; got int")
    m = above_tan()
    m.x.fix(1)
    refuse(m, "has no variable that is not fixed")
    m.x.unfix()
    m.x[0].setlb(2)
    m.x[0].setub(1)
    refuse(m, r"Variable 'x\[0\]' has no value: its lower bound is 2, its upper bound 1")


# ---- ends that are no optimum ----------------------------------------------------------------------------------------


def test_infeasible_and_unbounded():
    m = above_tan()
    m.below = pyo.Constraint(m.t, rule=lambda m, t: parabola(m, t) <= pyo.tan(t) - 0.1)
    with pytest.raises(NoSolutionError, match="There is no solution to load: Proven") as caught:
        solve(m)
    assert isinstance(caught.value, RuntimeError)  # as with Pyomo's own interfaces
    assert caught.value.results.lsip.status is lsip.Status.INFEASIBLE
    results = solve(m, load_solutions=False)
    assert str(results.solver.termination_condition) == "infeasible"
    assert m.x[0].value is None
    m.above.deactivate()
    results = solve(m, load_solutions=False)
    assert str(results.solver.termination_condition) == "unbounded"


def test_limits():
    m = above_tan()
    results = solve(m, max_iterations=1, load_solutions=False)
    assert str(results.solver.termination_condition) == "maxIterations"
    results = solve(m, timelimit=1e-9, load_solutions=False)
    assert str(results.solver.termination_condition) == "maxTimeLimit"
    assert str(results.solver.status) == "aborted"
    assert results.problem.lower_bound <= TAN


def test_a_point_that_is_feasible_but_not_optimal_is_loaded_with_a_warning(heard):
    m = above_tan()
    results = solve(m, max_iterations=1)
    assert "not proven to be optimal: Stopped at `max_iterations`" in heard.text
    assert pyo.value(m.cost) == pytest.approx(results.problem.upper_bound)
    assert pyo.value(m.cost) > TAN + 1e-6


def test_finite_rows_without_variables():
    m = above_tan()
    m.true = pyo.Constraint(expr=0 * m.x[0] <= 1)
    assert solve(m).problem.number_of_constraints == 1
    m.wrong = pyo.Constraint(expr=0 * m.x[0] >= 1)
    results = solve(m, load_solutions=False)
    assert str(results.solver.termination_condition) == "infeasible"


# ---- values, duals, reduced costs ------------------------------------------------------------------------------------


def test_values_are_loaded_later_when_asked():
    m = above_tan()
    m.rc = pyo.Suffix(direction=pyo.Suffix.IMPORT)
    m.floor = pyo.Constraint(expr=m.x[0] >= 0.1)
    results = solve(m, load_solutions=False)
    assert m.x[0].value is None
    m.solutions.load_from(results)
    assert pyo.value(m.cost) == pytest.approx(results.lsip.value)
    assert m.dual[m.floor] > 0


def test_stale_flags():
    m = above_tan()
    m.unused = pyo.Var(initialize=1)
    m.x[0].value = 3
    solve(m)
    assert not m.x[0].stale
    assert m.unused.stale
    assert m.unused.value == 1


def duals_by_highs(m, points):
    """Duals of a finite model by HiGHS, with the constraint over t at these points only."""
    copy = m.clone()
    for t in points:
        if t not in copy.t:
            copy.t.add(t)
        _ = copy.curve[t]
    pyo.SolverFactory("appsi_highs").solve(copy)
    return copy


@pytest.mark.parametrize("sense", [pyo.minimize, pyo.maximize])
@pytest.mark.parametrize("upper", [True, False])
def test_duals_and_reduced_costs_are_those_of_highs_at_the_active_points(sense, upper):
    m = pyo.ConcreteModel()
    m.x = pyo.Var(range(3), bounds=(-4, 4))
    m.t = ContinuousSet(bounds=(0, 1))
    sign = 1 if sense == pyo.minimize else -1
    m.cost = pyo.Objective(expr=sign * (m.x[0] + m.x[1] / 2 + m.x[2]), sense=sense)
    m.dual, m.rc = (pyo.Suffix(direction=pyo.Suffix.IMPORT) for _ in range(2))
    rule = (lambda m, t: pyo.exp(t) - parabola(m, t) <= 0) if upper else (lambda m, t: parabola(m, t) >= pyo.exp(t))
    m.curve = pyo.Constraint(m.t, rule=rule)
    m.low, m.high = pyo.Constraint(expr=m.x[1] >= -0.2), pyo.Constraint(expr=m.x[0] - m.x[1] <= 0.9)
    m.both = pyo.Constraint(expr=(-1, m.x[0] + m.x[2], 8))
    m.balance = pyo.Constraint(expr=m.x[0] + m.x[1] == 1.5)
    solve(m)
    copy = duals_by_highs(m, m.dual[m.curve])
    assert pyo.value(copy.cost) == pytest.approx(pyo.value(m.cost), abs=1e-6)
    for name in ("low", "high", "both", "balance"):
        assert m.dual[m.component(name)] == pytest.approx(copy.dual[copy.component(name)], abs=1e-5), name
    assert m.dual[m.curve]
    for t, dual in m.dual[m.curve].items():
        assert dual == pytest.approx(copy.dual[copy.curve[t]], abs=1e-5)
    for i in range(3):
        assert m.rc[m.x[i]] == pytest.approx(copy.rc[copy.x[i]], abs=1e-5)


def test_a_bound_that_holds_has_a_reduced_cost():
    m = above_tan()
    m.x[2].setlb(2.5)
    m.rc = pyo.Suffix(direction=pyo.Suffix.IMPORT)
    solve(m)
    before = pyo.value(m.cost)
    rate = m.rc[m.x[2]]
    assert rate > 1e-3
    m.x[2].setlb(2.501)
    solve(m)
    assert (pyo.value(m.cost) - before) / 0.001 == pytest.approx(rate, rel=0.05)


def test_duals_sit_at_the_active_points():
    m = above_tan()
    results = solve(m)
    duals = m.dual[m.above]
    assert sorted(duals) == pytest.approx([1 / 3, 1])
    assert [duals[t] for t in sorted(duals)] == pytest.approx([0.75, 0.25])
    assert duals == {float(a.point[0]): a.multiplier for a in results.lsip.active}
    assert (m.dual[m.above[0]], m.dual[m.above[1]]) == (0, duals[1.0])  # what Pyomo has built has a dual too
    assert len(m.t) == 2


def test_active_points_become_data_when_asked():
    m = above_tan()
    solve(m, add_active_points=True)
    assert len(m.t) == 3
    (inner,) = (t for t in m.t if 0 < t < 1)
    assert m.dual[m.above[inner]] == pytest.approx(0.75)
    assert pyo.value(m.above[inner].body) == pytest.approx(math.tan(inner), abs=1e-7)
    solve(m, add_active_points=True)
    assert pyo.value(m.cost) == pytest.approx(TAN, abs=1e-8)


def test_a_suffix_that_is_off_is_left_alone():
    m = above_tan()
    m.dual.deactivate()
    solve(m)
    assert len(m.dual) == 0


def test_the_solution_can_be_drawn(tmp_path):
    pytest.importorskip("matplotlib")
    solve(above_tan()).lsip.plot(tmp_path / "violation.png")
    assert (tmp_path / "violation.png").stat().st_size > 1000


# ---- the package -----------------------------------------------------------------------------------------------------


def test_without_pyomo_one_line_says_what_to_install(monkeypatch):
    from lsip.interop.pyomo.solver import register

    real = builtins.__import__

    def missing(name, *args, **kwargs):
        if name.split(".")[0] == "pyomo":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(lsip.MissingExtraError, match=r"pip install 'lsip\[pyomo\]'"):
        register()


def test_importing_lsip_does_not_import_pyomo():
    code = "import sys, lsip, lsip.interop; print('pyomo' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert run.stdout.strip() == "False"
