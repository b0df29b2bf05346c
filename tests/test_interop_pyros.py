"""PyROS's models declared to our solver: its sets, its stages, and the values of an independent program."""

from __future__ import annotations

import logging
from itertools import product
from typing import Any

import numpy as np
import pytest

import lsip

cp = pytest.importorskip("cvxpy")
pyo = pytest.importorskip("pyomo.environ")
pyros = pytest.importorskip("pyomo.contrib.pyros")

import lsip.interop.pyomo  # noqa: E402
from lsip.interop.pyomo.columns import Columns  # noqa: E402
from lsip.interop.pyomo.implied import largest_coefficient  # noqa: E402
from lsip.interop.pyomo.recourse import Bends, Recourse  # noqa: E402

NOMINAL = np.array([10.0, 12, 8])
BOX = [(8.0, 12.0), (10.0, 15.0), (6.0, 9.0)]
TILTED = np.array([[4.0, 1, 0], [1, 5, 1], [0, 1, 3]])
FACTORS = np.array([[1, 0.5], [0.5, 1], [0.2, 0.7]])
PLANES = ([[1, 1, 1], [-1, 0, 0], [0, -1, 0], [0, 0, -1]], [33, -8, -10, -6])


def warehouse() -> Any:
    """Stock now, ship later, and what is left is a state; at most 9 can be shipped in all."""
    m = pyo.ConcreteModel()
    m.I = pyo.RangeSet(0, 2)
    m.q = pyo.Param(m.I, initialize=dict(enumerate(NOMINAL.tolist())), mutable=True)
    m.stock = pyo.Var(m.I, bounds=(0, 30), initialize=10.0)
    m.ship = pyo.Var(m.I, bounds=(0, None), initialize=0.0)
    m.left = pyo.Var(m.I, initialize=0.0)
    m.balance = pyo.Constraint(m.I, rule=lambda m, i: m.left[i] == m.stock[i] + m.ship[i] - m.q[i])
    m.enough = pyo.Constraint(m.I, rule=lambda m, i: m.left[i] >= 0)
    m.trucks = pyo.Constraint(expr=sum(m.ship[i] for i in m.I) <= 9)
    m.cost = pyo.Objective(expr=sum(2 * m.stock[i] + 3 * m.ship[i] + 0.1 * m.left[i] for i in m.I))
    return m


def declared(m: Any, set_: Any, order: int, focus: str = "worst_case") -> dict[str, Any]:
    return {
        "first_stage_variables": [m.stock],
        "second_stage_variables": [m.ship],
        "uncertain_params": [m.q],
        "uncertainty_set": set_,
        "decision_rule_order": order,
        "objective_focus": focus,
    }


def reference(worst: Any, order: int, focus: str) -> float:
    """The same by hand: `worst` gives constraints with which slope . q + rest <= 0 on the set."""
    stock, bound = cp.Variable(3), cp.Variable()
    start, slopes = cp.Variable(3), cp.Variable((3, 3)) if order else np.zeros((3, 3))
    eye = np.eye(3)
    rows = [stock >= 0, stock <= 30]
    for i in range(3):
        rows += worst(-slopes[i], -start[i])  # ship[i] >= 0
        rows += worst(eye[i] - slopes[i], -start[i] - stock[i])  # left[i] >= 0
    rows += worst(sum(slopes[i] for i in range(3)), cp.sum(start) - 9)
    slope = sum(3.1 * slopes[i] for i in range(3)) - 0.1 * np.ones(3)
    fixed = 2.1 * cp.sum(stock) + 3.1 * cp.sum(start)
    rows += worst(slope, fixed - bound) if focus == "worst_case" else [slope @ NOMINAL + fixed <= bound]
    problem = cp.Problem(cp.Minimize(bound), rows)
    return float(problem.solve(solver=cp.CLARABEL))


def at(points: Any) -> Any:
    """The worst of finitely many points: corners of a polytope, or scenarios."""
    return lambda slope, rest: [point @ slope + rest <= 0 for point in np.asarray(points, dtype=float)]


def ellipsoid(centre: Any, axes: Any) -> Any:
    return lambda slope, rest: [centre @ slope + cp.norm(np.asarray(axes).T @ slope) + rest <= 0]


def spent(gamma: float, up: Any, down: Any) -> Any:
    """Corners of deviations of which `gamma` = 1.5 may be spent: one in full and another half, or fewer."""
    shares = [s for s in product((-1, -0.5, 0, 0.5, 1), repeat=3) if np.abs(s).sum() <= gamma]
    return [NOMINAL + np.where(np.array(s) > 0, up, down) * s for s in shares]


def corners(rows: Any, sides: Any) -> Any:
    return lsip.Polytope(rows, sides).vertices


DEVIATIONS = spent(1.5, [2, 3, 1], [2, 2, 2])
SETS: dict[str, tuple[Any, Any]] = {
    "BoxSet": (pyros.BoxSet(BOX), at(list(product(*BOX)))),
    "CardinalitySet": (
        pyros.CardinalitySet(NOMINAL, [2, 3, 1], 1.5, [2, 2, 2]),
        at(DEVIATIONS),
    ),
    "CardinalitySet, symmetric": (
        pyros.CardinalitySet(NOMINAL, [2, 3, 1], 1.5, [2, 3, 1]),
        at(spent(1.5, [2, 3, 1], [2, 3, 1])),
    ),
    "BudgetSet": (
        pyros.BudgetSet([[1, 1, 0], [0, 1, 1]], [3, 2], [9, 11, 7]),
        at(corners([[1, 1, 0], [0, 1, 1], [-1, 0, 0], [0, -1, 0], [0, 0, -1]], [23, 20, -9, -11, -7])),
    ),
    "PolyhedralSet": (pyros.PolyhedralSet(*PLANES), at(corners(*PLANES))),
    "FactorModelSet": (
        pyros.FactorModelSet(NOMINAL, 2, FACTORS, 0.5),
        at([NOMINAL + FACTORS @ f for f in ((1, 0), (0, 1), (1, -1), (-1, 1), (-1, 0), (0, -1))]),
    ),
    "AxisAlignedEllipsoidalSet": (
        pyros.AxisAlignedEllipsoidalSet(NOMINAL, [2, 3, 0]),
        ellipsoid(NOMINAL, np.diag([2.0, 3, 0])),
    ),
    "EllipsoidalSet": (
        pyros.EllipsoidalSet(NOMINAL, TILTED, 0.5),
        ellipsoid(NOMINAL, np.linalg.cholesky(0.5 * TILTED)),
    ),
    "DiscreteScenarioSet": (
        pyros.DiscreteScenarioSet([(10, 12, 8), (12, 14, 9), (9, 15, 7)]),
        at([(10, 12, 8), (12, 14, 9), (9, 15, 7)]),
    ),
    "IntersectionSet": (
        pyros.IntersectionSet(
            a=pyros.BoxSet([(8, 11), (10, 15), (6, 9)]), b=pyros.CardinalitySet(NOMINAL, [2, 3, 1], 1.5, [2, 2, 2])
        ),
        at((lsip.Polytope.from_vertices(DEVIATIONS) & lsip.Box([8, 10, 6], [11, 15, 9])).vertices),
    ),
    "IntersectionSet of planes": (
        pyros.IntersectionSet(a=pyros.PolyhedralSet(*PLANES), b=pyros.BudgetSet([[1, 1, 1]], [5], [8, 10, 6])),
        at(corners([[1, 1, 1], [-1, 0, 0], [0, -1, 0], [0, 0, -1]], [29, -8, -10, -6])),
    ),
    "CartesianProductSet": (
        pyros.CartesianProductSet([pyros.BoxSet([(8, 12)]), pyros.CardinalitySet([12, 8], [2, 1], 1, [2, 1])]),
        at([(a, 12 + b, 8 + c) for a in (8, 12) for b, c in ((2, 0), (-2, 0), (0, 1), (0, -1))]),
    ),
}


@pytest.mark.parametrize("order", [0, 1])
@pytest.mark.parametrize("name", SETS)
def test_every_set_gives_the_value_of_the_program_by_hand(name: str, order: int) -> None:
    m, (set_, worst) = warehouse(), SETS[name]
    results = pyo.SolverFactory("lsip").solve(m, **declared(m, set_, order))
    assert results.lsip.certified
    results.lsip.verify()
    assert results.lsip.value == pytest.approx(reference(worst, order, "worst_case"), rel=1e-6)


@pytest.mark.parametrize("order", [0, 1])
def test_the_nominal_objective_and_the_values_that_are_loaded(order: int) -> None:
    m, (set_, worst) = warehouse(), SETS["BoxSet"]
    m.dual = pyo.Suffix(direction=pyo.Suffix.IMPORT)
    results = pyo.SolverFactory("lsip").solve(m, **declared(m, set_, order, "nominal"), local_solver=None)
    pyo.assert_optimal_termination(results)
    assert pyo.value(m.cost) == pytest.approx(reference(worst, order, "nominal"), rel=1e-6)
    assert pyo.value(m.cost) == pytest.approx(results.lsip.value, rel=1e-9)  # at the nominal parameters
    for i in m.I:
        assert pyo.value(m.balance[i].body) - pyo.value(m.balance[i].upper) == pytest.approx(0, abs=1e-7)
    if order:
        rule = results.rules[m.ship[1]]
        assert rule.seen == ("q[0]", "q[1]", "q[2]")
        assert rule(NOMINAL) == pytest.approx(m.ship[1].value, abs=1e-9)
        left = results.rules[m.left[1]]
        demand = np.random.default_rng(0).uniform(*np.array(BOX).T, (40, 3))
        np.testing.assert_allclose(left(demand), m.stock[1].value + rule(demand) - demand[:, 1], atol=1e-7)
        assert left(demand).min() >= -1e-9
    duals = m.dual[m.enough[0]]
    assert all(len(q) == 3 for q in duals)


def test_pyros_itself_says_the_same() -> None:
    solver = pyo.SolverFactory("gurobi_direct")
    if not solver.available(exception_flag=False):
        pytest.skip("PyROS needs a solver of its own")
    silent = logging.getLogger("tests.pyros")
    silent.setLevel(logging.CRITICAL)
    m, theirs = warehouse(), warehouse()
    set_ = SETS["BoxSet"][0]
    results = pyo.SolverFactory("lsip").solve(m, **declared(m, set_, 1))
    options = {"solve_master_globally": True, "bypass_local_separation": True, "progress_logger": silent}
    done = pyo.SolverFactory("pyros").solve(
        model=theirs,
        local_solver=solver,
        global_solver=solver,
        **{**declared(theirs, set_, 1), "objective_focus": pyros.ObjectiveType.worst_case},
        **options,
    )
    assert results.lsip.value == pytest.approx(done.final_objective_value, rel=1e-4)  # its own tolerance
    ours = pyo.SolverFactory("lsip").solve(
        warehouse_ := warehouse(),
        local_solver=solver,
        global_solver=solver,
        **{**declared(warehouse_, set_, 1), "objective_focus": pyros.ObjectiveType.worst_case},
        **options,
    )
    assert ours.lsip.value == pytest.approx(results.lsip.value, rel=1e-9)  # the same call, with another name


def test_bounds_and_coefficients_may_be_uncertain() -> None:
    """max x + y with x <= q now, y <= q - 1 later and q y <= 6, for q in [2, 3]: x = 2, y = q - 1."""
    m = pyo.ConcreteModel()
    m.q = pyo.Param(initialize=2.5, mutable=True)
    m.x, m.y = pyo.Var(bounds=(0, m.q)), pyo.Var(bounds=(0, m.q - 1))
    m.area = pyo.Constraint(expr=m.q * m.y <= 6)
    m.gain = pyo.Objective(expr=m.x + m.y, sense=pyo.maximize)
    results = pyo.SolverFactory("lsip").solve(
        m,
        uncertain_params=m.q,
        uncertainty_set=pyros.BoxSet([(2, 3)]),
        first_stage_variables=m.x,
        second_stage_variables=m.y,
        decision_rule_order=1,
        nominal_uncertain_param_vals=[3],
    )
    assert results.lsip.certified
    assert pyo.value(m.x) == pytest.approx(2, abs=1e-6)
    assert pyo.value(m.y) == pytest.approx(2, abs=1e-6)  # at q = 3
    assert results.rules[m.y](2.0) <= 1 + 1e-9


def test_a_fixed_variable_may_be_uncertain() -> None:
    m = pyo.ConcreteModel()
    m.q, m.x = pyo.Var(initialize=0.5), pyo.Var()
    m.q.fix()
    m.above = pyo.Constraint(expr=m.x >= m.q**2)
    m.cost = pyo.Objective(expr=m.x)
    results = pyo.SolverFactory("lsip").solve(
        m, uncertain_params=m.q, uncertainty_set=pyros.BoxSet([(-2, 1)]), first_stage_variables=m.x
    )
    assert results.lsip.certified
    assert pyo.value(m.x) == pytest.approx(4, abs=1e-6)


def test_states_have_the_degree_that_their_equalities_give_them() -> None:
    """y = q z with z = 1 + q later: y is a parabola, and its largest value on [0, 1] is 2."""
    m = pyo.ConcreteModel()
    m.q = pyo.Param(initialize=0.5, mutable=True)
    m.z, m.y = pyo.Var(), pyo.Var()
    m.later = pyo.Constraint(expr=m.z == 1 + m.q)
    m.state = pyo.Constraint(expr=m.y == m.q * m.z)
    m.cost = pyo.Objective(expr=m.y)
    results = pyo.SolverFactory("lsip").solve(
        m,
        uncertain_params=[m.q],
        uncertainty_set=pyros.BoxSet([(0, 1)]),
        second_stage_variables=[m.z],
        decision_rule_order=1,
        objective_focus="worst_case",
    )
    assert results.lsip.value == pytest.approx(2, abs=1e-6)
    np.testing.assert_allclose(results.rules[m.y].coefficients, [0, 1, 1], atol=1e-6)


@pytest.mark.parametrize("seed", range(8))
def test_random_models_with_states_agree_with_their_corners(seed: int) -> None:
    """y = (A + q Q) x + B z + C q, y <= b, over a box: coefficients of no special kind, and free states."""
    rng = np.random.default_rng(seed)
    A, Q, B, C = (np.round(rng.normal(size=shape), 2) for shape in ((4, 3), (4, 3, 2), (4, 2), (4, 2)))
    b, c, d, low = (np.round(rng.uniform(*ends), 2) for ends in ((1, 3, 4), (-1, 1, 3), (-1, 1, 2), (-1, 0, 2)))
    m = pyo.ConcreteModel()
    m.q = pyo.Param(range(2), initialize=dict(enumerate(low)), mutable=True)
    m.x, m.z, m.y = pyo.Var(range(3), bounds=(-3, 4)), pyo.Var(range(2), bounds=(-5, 5)), pyo.Var(range(4))

    @m.Constraint(range(4))
    def state(m: Any, i: int) -> Any:
        moved = [float(A[i, j]) + sum(float(Q[i, j, k]) * m.q[k] for k in range(2)) for j in range(3)]
        later = sum(float(B[i, k]) * m.z[k] + float(C[i, k]) * m.q[k] for k in range(2))
        return m.y[i] == sum(moved[j] * m.x[j] for j in range(3)) + later

    m.limit = pyo.Constraint(range(4), rule=lambda m, i: m.y[i] <= float(b[i]))
    cost = sum(float(c[j]) * m.x[j] for j in range(3)) + sum(float(d[k]) * m.z[k] for k in range(2))
    m.cost = pyo.Objective(expr=cost + 0.5 * m.y[0])
    results = pyo.SolverFactory("lsip").solve(
        m,
        uncertain_params=m.q,
        uncertainty_set=pyros.BoxSet(np.stack([low, low + 1], axis=1)),
        first_stage_variables=m.x,
        second_stage_variables=m.z,
        decision_rule_order=1,
        objective_focus="worst_case",
    )
    x, start, slopes, worst = cp.Variable(3), cp.Variable(2), cp.Variable((2, 2)), cp.Variable()
    rows = [x >= -3, x <= 4]
    for corner in product((0, 1), repeat=2):
        q = low + corner
        z = start + slopes @ q
        y = (A + Q @ q) @ x + B @ z + C @ q
        rows += [z >= -5, z <= 5, y <= b, c @ x + d @ z + 0.5 * y[0] <= worst]
    assert results.lsip.certified
    assert results.lsip.value == pytest.approx(cp.Problem(cp.Minimize(worst), rows).solve(solver=cp.HIGHS), rel=1e-6)


@pytest.mark.parametrize("degree", [1, 2])
def test_bounds_of_decisions_bound_coefficients(degree: int) -> None:
    """Of polynomials of size 1 on a box, the largest coefficients that a linear program finds."""
    from scipy.optimize import linprog

    columns = Columns()
    rule, box = Recourse.of("r", ("a", "b"), degree, columns, Bends.none()), lsip.Box([1, -1], [2, 3])
    places = box.spread(4 * len(rule.columns) + 1)
    most = largest_coefficient(rule, places, 1.0)
    monomials = np.prod(places[:, None, :] ** rule.exponents, axis=-1)
    for k in range(len(rule.columns)):
        cost = -np.eye(len(rule.columns))[k]
        found = linprog(cost, np.vstack([monomials, -monomials]), np.ones(2 * len(places)), bounds=(None, None))
        assert -found.fun <= most
    assert most < 1e3
    assert largest_coefficient(rule, places[:1], 1.0) == np.inf
    assert largest_coefficient(rule, np.ones((20, 2)), 1.0) == np.inf


def test_whole_numbers_now_and_rules_later() -> None:
    m = warehouse()
    for i in m.I:
        m.stock[i].domain = pyo.Integers
    results = pyo.SolverFactory("lsip").solve(m, **declared(m, SETS["BoxSet"][0], 1))
    relaxed = pyo.SolverFactory("lsip").solve(w := warehouse(), **declared(w, SETS["BoxSet"][0], 1))
    assert results.lsip.upper - results.lsip.lower <= 1e-5
    assert all(m.stock[i].value == round(m.stock[i].value) for i in m.I)
    assert relaxed.lsip.value - 1e-6 <= results.lsip.value <= relaxed.lsip.value + 3 * 2.1


def test_results_that_are_loaded_later_know_constraints_alone() -> None:
    """Where there is one parameter only, bounds of rules are rows like others, but no constraints of the model."""
    m = pyo.ConcreteModel()
    m.q = pyo.Param(initialize=0.5, mutable=True)
    m.x, m.r = pyo.Var(bounds=(-20, 20)), pyo.Var(bounds=(-4, 4))
    m.above = pyo.Constraint(expr=m.x + 2 * m.r >= m.q)
    m.cost = pyo.Objective(expr=m.x + m.r)
    m.dual = pyo.Suffix(direction=pyo.Suffix.IMPORT)
    declaration = {
        "uncertain_params": m.q,
        "uncertainty_set": pyros.FactorModelSet([0.5], 1, [[2]], 0),
        "first_stage_variables": m.x,
        "second_stage_variables": m.r,
        "decision_rule_order": 1,
    }
    results = pyo.SolverFactory("lsip").solve(m, **declaration, load_solutions=False)
    m.solutions.load_from(results)
    assert pyo.value(m.cost) == pytest.approx(-3.5, abs=1e-6)
    pyo.SolverFactory("lsip").solve(m, **declaration)
    assert {key.ctype for key in m.dual} == {pyo.Constraint}


def test_a_set_with_one_point_is_the_nominal_model() -> None:
    m = warehouse()
    one = pyros.BoxSet([(v, v) for v in NOMINAL])
    results = pyo.SolverFactory("lsip").solve(m, **declared(m, one, 1))
    assert results.lsip.value == pytest.approx(2 * NOMINAL.sum(), rel=1e-7)


class Own(pyros.BoxSet.__mro__[1]):  # type: ignore[misc]
    """A set that nobody knows."""

    dim, type, geometry, parameter_bounds = 3, "own", None, []

    def set_as_constraint(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError

    def compute_auxiliary_uncertain_param_vals(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError


def changed(set_: Any = None, **more: Any) -> Any:
    """Solve the warehouse with another declaration."""

    def attempt() -> Any:
        m = warehouse()
        given = {**declared(m, set_ or pyros.BoxSet(BOX), 1), **{k: v(m) for k, v in more.items()}}
        return pyo.SolverFactory("lsip").solve(m, **given)

    return attempt


def with_part(**parts: Any) -> Any:
    def attempt() -> Any:
        m = warehouse()
        for name, make in parts.items():
            m.add_component(name, make(m))
        return pyo.SolverFactory("lsip").solve(m, **declared(m, pyros.BoxSet(BOX), 1))

    return attempt


ENDLESS = pyros.PolyhedralSet([[1, 0, 0]], [1])
ATTEMPTS = {
    "own set": (changed(Own()), "it is a set of your own. Known are BoxSet"),
    "no set": (changed(uncertainty_set=lambda m: 3), "`uncertainty_set` is a set of pyomo.contrib.pyros"),
    "empty": (
        changed(pyros.PolyhedralSet([[1, 0, 0], [-1, 0, 0]], [0, -1])),
        "PolyhedralSet, cannot be read: The poly.* is",
    ),
    "unbounded": (changed(ENDLESS), "cannot be read: The polytope is unbounded"),
    "no scenario": (
        changed(pyros.IntersectionSet(a=pyros.DiscreteScenarioSet([(0, 0, 0)]), b=pyros.BoxSet(BOX))),
        "no scenario lies in all sets",
    ),
    "nan": (changed(nominal_uncertain_param_vals=lambda m: [np.nan, 1, 1]), "nominal parameters are 3 finite numbers"),
    "outside": (
        changed(nominal_uncertain_param_vals=lambda m: [0, 0, 0], objective_focus=lambda m: "nominal"),
        "lie outside of the uncertainty set",
    ),
    "two of deviations": (
        changed(
            pyros.IntersectionSet(
                a=pyros.CardinalitySet(NOMINAL, [2, 3, 1], 1), b=pyros.FactorModelSet(NOMINAL, 2, FACTORS, 0.5)
            )
        ),
        "at most one may be of deviations or factors",
    ),
    "dimension": (changed(pyros.BoxSet([(0, 1)])), "3 uncertain parameters, and the uncertainty set has 1"),
    "order": (changed(decision_rule_order=lambda m: 3), "`decision_rule_order` is 0, 1 or 2"),
    "focus": (changed(objective_focus=lambda m: "best"), "`objective_focus` is nominal or worst_case"),
    "twice": (changed(first_stage_variables=lambda m: [m.stock, m.ship]), "in the first and in the second stage"),
    "no stage": (changed(second_stage_variables=lambda m: []), "equalities must determine them, and there are too few"),
    "text": (changed(first_stage_variables=lambda m: "stock"), "`first_stage_variables` takes components"),
    "free variable": (changed(uncertain_params=lambda m: [m.stock]), "cannot be uncertain"),
    "future": (
        with_part(bad=lambda m: pyo.Constraint(expr=m.ship[0] * m.ship[1] <= 1)),
        "Constraint 'bad' is not linear in the variables",
    ),
    "state": (
        with_part(y=lambda m: pyo.Var(), bad=lambda m: pyo.Constraint(expr=m.q[0] * m.y == 1)),
        "has a coefficient that depends on uncertain parameters",
    ),
    "no polynomial": (
        with_part(y=lambda m: pyo.Var(), bad=lambda m: pyo.Constraint(expr=m.y == pyo.exp(m.q[0]))),
        "is no polynomial in the uncertain parameters",
    ),
    "whole": (
        with_part(y=lambda m: pyo.Var(within=pyo.Integers), bad=lambda m: pyo.Constraint(expr=m.y == m.q[0])),
        "is whole, and a rule is not",
    ),
    "points": (changed(add_active_points=lambda m: True), "`add_active_points` is for ContinuousSets"),
}


@pytest.mark.parametrize("name", ATTEMPTS)
def test_what_is_not_read_gets_one_clear_sentence(name: str) -> None:
    attempt, message = ATTEMPTS[name]
    with pytest.raises(lsip.LSIPError, match=message):
        attempt()


def test_an_immutable_parameter_is_no_uncertain_one() -> None:
    m = pyo.ConcreteModel()
    m.q, m.x = pyo.Param(initialize=1.0), pyo.Var()
    m.cost = pyo.Objective(expr=m.x)
    with pytest.raises(lsip.ModelError, match="cannot be uncertain: that takes a Param with mutable=True"):
        pyo.SolverFactory("lsip").solve(m, uncertain_params=[m.q], uncertainty_set=pyros.BoxSet([(0, 1)]))


def reserves(uncertainty_set: Any, pieces: Any) -> tuple[Any, Any]:
    """Reserves of the size of two deviations, and a state that adds them up; the worst sum."""
    m = pyo.ConcreteModel()
    m.q = pyo.Param(range(2), initialize=0.0, mutable=True)
    m.y, m.sum, m.worst = pyo.Var(range(2), bounds=(0, 9)), pyo.Var(bounds=(0, 20)), pyo.Var(bounds=(0, 20))
    m.up = pyo.Constraint(range(2), rule=lambda m, i: m.y[i] >= m.q[i])
    m.down = pyo.Constraint(range(2), rule=lambda m, i: m.y[i] >= -m.q[i])
    m.total = pyo.Constraint(expr=m.sum == m.y[0] + m.y[1] + m.q[0])
    m.most = pyo.Constraint(expr=m.sum - m.q[0] <= m.worst)
    m.cost = pyo.Objective(expr=m.worst)
    results = pyo.SolverFactory("lsip").solve(
        m,
        uncertain_params=m.q,
        uncertainty_set=uncertainty_set,
        first_stage_variables=m.worst,
        second_stage_variables=m.y,
        decision_rule_order=1,
        decision_rule_pieces=pieces,
        objective_focus="worst_case",
        tol=1e-7,
    )
    return m, results


@pytest.mark.parametrize(
    ("given", "pieces", "worth"),
    [
        (pyros.CardinalitySet([0, 0], [1, 2], 1, [1, 2]), 1, 3.0),
        (pyros.CardinalitySet([0, 0], [1, 2], 1, [1, 2]), 2, 2.0),
        (pyros.CardinalitySet([0, 0], [1, 2], 1, [1, 2]), [0.0, 0.5], 2.0),
        (pyros.BoxSet([(-1, 1), (-2, 2)]), 2, 3.0),
        (pyros.PolyhedralSet([[1, 1], [1, -1], [-1, 1], [-1, -1]], [1, 1, 1, 1]), 1, 2.0),
        (pyros.CardinalitySet([1, 1], [0, 0], 1, [1, 2]), 2, 2.0),
    ],
)
def test_rules_in_pieces_follow_uncertain_parameters(given: Any, pieces: Any, worth: float) -> None:
    """Where deviations share a budget, bent rules need no more than the budget; parameters may be deviations scaled."""
    m, results = reserves(given, pieces)
    assert results.lsip.upper - results.lsip.lower <= 1e-5
    assert results.lsip.value == pytest.approx(worth, abs=1e-5)
    rule = results.rules[m.y[1]]
    for q in np.random.default_rng(0).uniform(-2, 2, (300, 2)):
        if given.point_in_set(q):
            assert float(rule(q if len(rule.seen) == 2 else q[1:])) >= abs(q[1]) - 1e-6
