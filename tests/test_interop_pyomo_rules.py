"""Pyomo variables over ContinuousSets as decision rules."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lsip

pyo = pytest.importorskip("pyomo.environ")

from pyomo.dae import ContinuousSet  # noqa: E402

import lsip.interop.pyomo  # noqa: E402


def shop() -> Any:
    """Buy now at 1, or later at 2 or 3 when t and s are known, for a demand of 1 + t + s; t is paid for by others."""
    m = pyo.ConcreteModel()
    m.t, m.s, m.I = ContinuousSet(bounds=(0, 1)), ContinuousSet(bounds=(0, 2)), pyo.Set(initialize=["a", "b"])
    m.now, m.worst = pyo.Var(bounds=(0, None)), pyo.Var()
    m.buy = pyo.Var(m.I, m.t, m.s, bounds=(0, 5))
    m.cost = pyo.Objective(expr=m.now + m.worst)
    m.meet = pyo.Constraint(m.t, m.s, rule=lambda m, t, s: m.now + m.buy["a", t, s] + m.buy["b", t, s] >= 1 + t + s)
    m.pay = pyo.Constraint(m.t, m.s, rule=lambda m, t, s: m.worst >= 2 * m.buy["a", t, s] + 3 * m.buy["b", t, s] - t)
    return m


def in_the_language(degree: int) -> float:
    t, s = lsip.Index("t", lsip.Interval(0, 1)), lsip.Index("s", lsip.Interval(0, 2))
    now, worst = lsip.Variable(lower=0), lsip.Variable()
    buy = lsip.Rule(2, of=[t, s], degree=degree) if degree else lsip.Variable(2)
    rows = [buy >= 0, buy <= 5, now + buy.sum() >= 1 + t + s, worst >= 2 * buy[0] + 3 * buy[1] - t]
    each = [r if not r.indices else lsip.forall((t, s), r) for r in rows]
    return float(lsip.Problem(lsip.minimize(now + worst), each).solve(verbose=False).value)


@pytest.mark.parametrize("order", [0, 1])
def test_a_variable_over_continua_is_a_rule(order: int) -> None:
    m = shop()
    results = pyo.SolverFactory("lsip").solve(m, decision_rule_order=order)
    assert results.lsip.certified
    assert pyo.value(m.cost) == pytest.approx(in_the_language(order), abs=1e-6)
    assert pyo.value(m.cost) == pytest.approx([4.0, 3.5][order], abs=1e-6)
    rule = results.rules[m.buy]["a"]
    assert rule.seen == ("t", "s")
    for (_, t, s), data in ((k, v) for k, v in m.buy.items() if k[0] == "a"):
        assert data.value == pytest.approx(rule([t, s]), abs=1e-12)
    points = np.random.default_rng(0).uniform(0, [1, 2], (50, 2))
    bought = sum(results.rules[m.buy][i](points) for i in m.I)
    assert (m.now.value + bought - 1 - points.sum(axis=1)).min() >= -1e-9


def test_duals_points_and_later_loading() -> None:
    m = shop()
    m.dual = pyo.Suffix(direction=pyo.Suffix.IMPORT)
    m.rc = pyo.Suffix(direction=pyo.Suffix.IMPORT)
    opt = pyo.SolverFactory("lsip", decision_rule_order=1)
    results = opt.solve(m, add_active_points=True)
    assert sum(m.dual[m.meet].values()) == pytest.approx(1.0, abs=1e-6)
    assert m.rc[m.now] == pytest.approx(0.0, abs=1e-6)
    key = max(m.dual[m.meet], key=m.dual[m.meet].get)
    assert pyo.value(m.meet[key].lslack()) == pytest.approx(0.0, abs=1e-6)
    again = opt.solve(m, load_solutions=False)
    assert again.lsip.value == pytest.approx(results.lsip.value, abs=1e-7)
    for data in m.buy.values():
        data.set_value(-1.0, skip_validation=True)
    m.solutions.load_from(again)
    assert min(data.value for data in m.buy.values()) >= -1e-9


def test_a_rule_at_a_point_and_over_pairs_of_members() -> None:
    m = pyo.ConcreteModel()
    m.t, m.I = ContinuousSet(bounds=(0, 1)), pyo.Set(initialize=["a", "b"])
    m.worst, m.y = pyo.Var(), pyo.Var(m.I * m.I, m.t)
    m.above = pyo.Constraint(m.I * m.I, m.t, rule=lambda m, i, j, t: m.y[i, j, t] >= t + len(i))
    m.below = pyo.Constraint(m.I * m.I, m.t, rule=lambda m, i, j, t: m.y[i, j, t] <= m.worst)
    m.start = pyo.Constraint(expr=m.y["a", "b", 0] >= 3)
    m.cut = pyo.Constraint(m.t, rule=lambda m, t: m.y["a", "b", t] <= m.y["b", "a", 1] + 5)
    m.cost = pyo.Objective(expr=m.worst + m.y["b", "b", 1])
    results = pyo.SolverFactory("lsip").solve(m, decision_rule_order=1, tol=1e-7)
    assert results.lsip.certified
    assert pyo.value(m.cost) == pytest.approx(5.0, abs=1e-5)
    assert results.rules[m.y]["a", "b"](0.0) == pytest.approx(3.0, abs=1e-4)
    assert m.y["b", "b", 1].value == pytest.approx(2.0, abs=1e-5)


def broken(change: Any) -> Any:
    m = shop()
    change(m)
    return pyo.SolverFactory("lsip").solve(m, decision_rule_order=1)


def rebounded(m: Any) -> None:
    m.buy["a", 0, 0].setub(1)


def fixed(m: Any) -> None:
    m.buy["a", 0, 0].fix(1)


def other_argument(m: Any) -> None:
    m.r = ContinuousSet(bounds=(0, 1))
    m.more = pyo.Constraint(m.r, rule=lambda m, r: m.buy["a", r, 0] >= 0)


def squared(m: Any) -> None:
    m.more = pyo.Constraint(m.t, m.s, rule=lambda m, t, s: m.buy["a", t, s] ** 2 <= 4)


def equal(m: Any) -> None:
    m.more = pyo.Constraint(m.t, m.s, rule=lambda m, t, s: m.buy["a", t, s] == t)


ATTEMPTS = {
    "rebounded": (rebounded, "has bounds that differ from point to point"),
    "fixed": (fixed, "is fixed at some of its points"),
    "other argument": (other_argument, "is a decision rule at something else than its own index"),
    "squared": (squared, "is not linear in the variables|not affine"),
    "equal": (equal, "is an equality for all values of t, s"),
}


@pytest.mark.parametrize("name", ATTEMPTS)
def test_what_a_rule_cannot_be(name: str) -> None:
    change, message = ATTEMPTS[name]
    with pytest.raises(lsip.LSIPError, match=message):
        broken(change)


def test_without_an_order_it_is_a_dynamic_model() -> None:
    with pytest.raises(lsip.ModelError, match="solve with decision_rule_order=1"):
        pyo.SolverFactory("lsip").solve(shop())
    with pytest.raises(lsip.ModelError, match="`decision_rule_order` is 0, 1 or 2"):
        pyo.SolverFactory("lsip").solve(shop(), decision_rule_order=True)


@pytest.mark.parametrize(("pieces", "worth"), [(1, 1.2), (2, 0.2), ([-0.5, 0, 0.5], 0.2)])
def test_rules_in_pieces(pieces: Any, worth: float) -> None:
    """The least value at 0, and a tenth of those at the ends, of a rule that is at least |t| on [-1, 1]."""
    m = pyo.ConcreteModel()
    m.t, m.s = ContinuousSet(initialize=[-1, 0, 1]), ContinuousSet(bounds=(0, 4))
    m.y, m.w, m.worst = pyo.Var(m.t, bounds=(-5, 5)), pyo.Var(m.t, m.s, bounds=(0, 9)), pyo.Var(bounds=(-9, 9))
    m.up = pyo.Constraint(m.t, rule=lambda m, t: m.y[t] >= t)
    m.down = pyo.Constraint(m.t, rule=lambda m, t: m.y[t] >= -t)
    m.both = pyo.Constraint(m.t, m.s, rule=lambda m, t, s: m.w[t, s] >= m.y[t] + s)
    m.most = pyo.Constraint(expr=m.worst >= m.y[0] + 0.1 * (m.y[1] + m.y[-1]))
    m.cost = pyo.Objective(expr=m.worst)
    m.dual = pyo.Suffix(direction=pyo.Suffix.IMPORT)
    options = {"decision_rule_order": 1, "decision_rule_pieces": pieces}
    results = pyo.SolverFactory("lsip").solve(m, tol=1e-7, add_active_points=True, **options)
    assert results.lsip.certified
    assert pyo.value(m.cost) == pytest.approx(worth, abs=1e-6)
    t = np.linspace(-1, 1, 41)
    assert (results.rules[m.y](t) >= np.abs(t) - 1e-9).all()
    assert m.y[0].value == pytest.approx(float(results.rules[m.y](0.0)), abs=1e-12)
    for key in (*m.dual[m.up], *m.dual[m.down]):  # a point of the set, without its parts
        assert -1 - 1e-9 <= key <= 1 + 1e-9
    assert sum(m.dual[m.up].values()) + sum(m.dual[m.down].values()) == pytest.approx(1.2, abs=1e-6)
