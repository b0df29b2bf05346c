"""Models from the documentation of other tools, written as their users write them: the published values come out.

The published figures are rounded; ours come with proven bounds, and each is also computed once more by a finite problem
that is known to be equivalent.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq, linprog

import lsip


def assert_reproduces(solution: lsip.Solution, published: float, digits: int) -> None:
    """Proven to be optimal, and equal to the published value in all digits that were printed."""
    assert solution.status is lsip.Status.OPTIMAL
    assert solution.certified
    solution.verify()
    half = 0.5 * 10.0**-digits
    assert published - half <= solution.upper
    assert solution.lower <= published + half
    assert round(solution.value, digits) == published


# ---- RSOME: a portfolio of 150 stocks whose returns deviate under a budget -------------------------------------------

STOCKS, BUDGET = 150, 5
NUMBER = np.arange(1, STOCKS + 1)
MEAN = 1.15 + NUMBER / 3000
DEVIATION = np.sqrt(2 * NUMBER * STOCKS * (STOCKS + 1)) / 9000
PORTFOLIO = 1.1709  # "Objective value" in RSOME's documentation, example "Robust Portfolio Optimization"


def native_portfolio() -> lsip.Solution:
    x, worst = lsip.Variable(STOCKS, name="x", lower=0), lsip.Variable(name="worst")
    z = lsip.Index("z", lsip.Budget(STOCKS, BUDGET))
    problem = lsip.Problem(
        lsip.maximize(worst), [lsip.forall(z, worst <= (MEAN + DEVIATION * z) @ x), x.sum() == 1], name="portfolio"
    )
    return problem.solve(verbose=False)


def cvxpy_portfolio() -> lsip.Solution:
    cp = pytest.importorskip("cvxpy")
    from lsip.interop.cvxpy import Index, Problem, forall

    x, worst = cp.Variable(STOCKS, nonneg=True), cp.Variable()
    z = Index("z", lsip.Budget(STOCKS, BUDGET))
    problem = Problem(cp.Maximize(worst), [forall(z, worst <= (MEAN + DEVIATION * z) @ x), cp.sum(x) == 1])
    solution: lsip.Solution = problem.solve()
    assert problem.value == solution.value
    assert x.value.sum() == pytest.approx(1, abs=1e-9)
    assert (x.value >= -1e-12).all()
    return solution


@pytest.mark.parametrize("solve", [native_portfolio, cvxpy_portfolio])
def test_rsome_portfolio(solve: Any) -> None:
    solution = solve()
    assert_reproduces(solution, PORTFOLIO, 4)
    assert solution.value == pytest.approx(portfolio_counterpart(), abs=1e-7)


def portfolio_counterpart() -> float:
    """By the dual of the worst case: worst <= p x - Gamma l - sum(q) and l + q >= delta x, over (x, worst, l, q)."""
    n, eye = STOCKS, np.eye(STOCKS)
    zero, one = np.zeros((n, 1)), np.ones(n)
    first = np.concatenate([-MEAN, [1.0, BUDGET], one])
    rest = np.hstack([np.diag(DEVIATION), zero, -np.ones((n, 1)), -eye])
    whole = np.concatenate([one, np.zeros(n + 2)])[None]
    bounds = [(0, None)] * n + [(None, None)] + [(0, None)] * (n + 1)
    c = -np.eye(2 * n + 2)[n]
    result = linprog(c, np.vstack([first, rest]), np.zeros(n + 1), whole, [1.0], bounds)
    return float(-result.fun)


# ---- MO-book: microchips whose use of copper is uncertain ------------------------------------------------------------

PROFIT, COPPER, DEMAND, PLASTIC, STOCK = (12, 9), (4, 2), (1000, 1500), 1750, 4800
BOX = 17568.75  # each use of copper within 0.05; the plan is (606.25, 1143.75)
BALL = 17603.265  # within a disc of radius 0.05; the plan is (617.755, 1132.245)
WHOLE = 17673.0  # within 0.01, a budget of 2, whole chips: the plan is (641, 1109)


def pyomo_chips() -> Any:
    pyo = pytest.importorskip("pyomo.environ")
    m = pyo.ConcreteModel("BIM")
    m.chips = pyo.Set(initialize=["logic", "memory"])
    m.x = pyo.Var(m.chips, within=pyo.NonNegativeReals)
    m.profit = pyo.Objective(expr=12 * m.x["logic"] + 9 * m.x["memory"], sense=pyo.maximize)
    m.silicon = pyo.Constraint(expr=m.x["logic"] <= 1000)
    m.germanium = pyo.Constraint(expr=m.x["memory"] <= 1500)
    m.plastic = pyo.Constraint(expr=pyo.quicksum(m.x[c] for c in m.chips) <= PLASTIC)
    return m


def solve_pyomo(m: Any) -> lsip.Solution:
    import pyomo.environ as pyo

    import lsip.interop.pyomo  # noqa: F401  (registers the solver)

    results = pyo.SolverFactory("lsip").solve(m)
    pyo.assert_optimal_termination(results)
    solution: lsip.Solution = results.lsip
    assert pyo.value(m.profit) == pytest.approx(solution.value, rel=1e-12)
    return solution


def plan(m: Any) -> list[float]:
    return [m.x["logic"].value, m.x["memory"].value]


def test_mo_book_box() -> None:
    m = pyomo_chips()
    from pyomo.dae import ContinuousSet

    m.u, m.v = ContinuousSet(bounds=(3.95, 4.05)), ContinuousSet(bounds=(1.95, 2.05))

    @m.Constraint(m.u, m.v)
    def copper(m: Any, u: Any, v: Any) -> Any:
        return u * m.x["logic"] + v * m.x["memory"] <= STOCK

    assert_reproduces(solve_pyomo(m), BOX, 2)
    assert plan(m) == pytest.approx([606.25, 1143.75], abs=1e-3)


def test_mo_book_ball_by_its_angle() -> None:
    m = pyomo_chips()
    import pyomo.environ as pyo
    from pyomo.dae import ContinuousSet

    m.angle = ContinuousSet(bounds=(0, 2 * np.pi))  # the worst point of a disc lies on its rim

    @m.Constraint(m.angle)
    def copper(m: Any, a: Any) -> Any:
        return (4 + 0.05 * pyo.cos(a)) * m.x["logic"] + (2 + 0.05 * pyo.sin(a)) * m.x["memory"] <= STOCK

    solution = solve_pyomo(m)
    assert_ball(solution)
    assert plan(m) == pytest.approx([617.755, 1132.245], abs=1e-3)


def native_chips(domain: lsip.Domain, copper: Any) -> lsip.Solution:
    x = lsip.Variable(2, name="x", lower=0, upper=DEMAND)
    z = lsip.Index("z", domain)
    constraints = [x.sum() <= PLASTIC, lsip.forall(z, copper(z) @ x <= STOCK)]
    return lsip.Problem(lsip.maximize(PROFIT @ x), constraints).solve(verbose=False)


def test_mo_book_ball() -> None:
    solution = native_chips(lsip.Ball(COPPER, 0.05), lambda z: z)
    assert_ball(solution)
    assert solution.x == pytest.approx([617.755, 1132.245], abs=1e-3)


def assert_ball(solution: lsip.Solution) -> None:
    """The optimum is 17603.26453…; a value that is optimal to 1e-8 of itself may fall short of it by 2e-4."""
    assert solution.certified
    solution.verify()
    assert solution.lower <= ball_counterpart() <= solution.upper + 1e-9
    assert round(ball_counterpart(), 3) == BALL
    assert solution.value == pytest.approx(BALL, abs=1e-3)


def ball_counterpart() -> float:
    """On the line where all plastic is used, the chips for which 4 a + 2 b + 0.05 |(a, b)| is 4800."""

    def left(a: float) -> float:
        b = PLASTIC - a
        return 4 * a + 2 * b + 0.05 * float(np.hypot(a, b)) - STOCK

    a = brentq(left, 0, 1000, xtol=1e-10)
    return 12 * a + 9 * (PLASTIC - a)


def test_mo_book_budget() -> None:
    """The book's plan is in whole chips, and profits are multiples of 3: our bound leaves no better one."""
    solution = native_chips(lsip.Budget(2, 2), lambda z: np.array(COPPER) + 0.01 * z)
    assert solution.certified
    assert solution.value == pytest.approx(17673.75, abs=1e-3)
    assert 3 * (solution.upper // 3) == WHOLE
    violation = solution.program.violation(0, np.array([641.0, 1109.0]))
    assert violation.values(solution.program.families[0].domain.grid(9)).max() <= 0


# ---- Ben-Tal and Nemirovski: drugs whose raw materials vary ----------------------------------------------------------

DRUGS = 8294.567  # the robust optimum; RawI = 877.732, DrugI = 17.467, the others 0


def test_drug_production() -> None:
    pyo = pytest.importorskip("pyomo.environ")
    from pyomo.dae import ContinuousSet

    m = pyo.ConcreteModel("drugs")
    m.raw, m.drug = (pyo.Var([1, 2], within=pyo.NonNegativeReals) for _ in range(2))
    m.cost = pyo.Expression(expr=100 * m.raw[1] + 199.9 * m.raw[2] + 700 * m.drug[1] + 800 * m.drug[2])
    m.profit = pyo.Objective(expr=6200 * m.drug[1] + 6900 * m.drug[2] - m.cost, sense=pyo.maximize)
    m.money = pyo.Constraint(expr=m.cost <= 100_000)
    m.storage = pyo.Constraint(expr=m.raw[1] + m.raw[2] <= 1000)
    m.manpower = pyo.Constraint(expr=90 * m.drug[1] + 100 * m.drug[2] <= 2000)
    m.equipment = pyo.Constraint(expr=40 * m.drug[1] + 50 * m.drug[2] <= 800)
    m.first = ContinuousSet(bounds=(0.01 * (1 - 0.005), 0.01 * (1 + 0.005)))
    m.second = ContinuousSet(bounds=(0.02 * (1 - 0.02), 0.02 * (1 + 0.02)))

    @m.Constraint(m.first, m.second)
    def agent(m: Any, a: Any, b: Any) -> Any:
        return a * m.raw[1] + b * m.raw[2] >= 0.5 * m.drug[1] + 0.6 * m.drug[2]

    assert_reproduces(solve_pyomo(m), DRUGS, 3)
    assert [v.value for v in (*m.raw.values(), *m.drug.values())] == pytest.approx([877.732, 0, 17.467, 0], abs=1e-3)


# ---- CVXPY: a filter that delays by a fraction of a sample -----------------------------------------------------------

TAPS, DELAY = 20, 8.25
FILTER = 0.5  # "final objective value" of the squared error at 300 frequencies, printed as 0.4999999999999996


def test_cvxpy_filter() -> None:
    """At the frequency pi alone the imaginary part is off by sin(pi/4), whatever the taps: so 1/2 is exact."""
    cp = pytest.importorskip("cvxpy")
    from lsip.interop.cvxpy import Index, Problem, forall

    h, t, k = cp.Variable(TAPS), cp.Variable(), np.arange(TAPS)
    w, angle = Index("w", lsip.Interval(0, np.pi)), Index("a", lsip.Interval(0, 2 * np.pi))
    error = forall((w, angle), np.cos(angle - k * w) @ h - np.cos(angle - DELAY * w) <= t)
    problem = Problem(cp.Minimize(t), [error])
    solution = problem.solve()
    assert solution.status is lsip.Status.OPTIMAL
    assert solution.certified
    solution.verify()
    assert problem.value == pytest.approx(np.sin(np.pi / 4), abs=1e-8)
    assert solution.lower**2 <= FILTER <= solution.upper**2
    assert error.violation() <= 1e-9
    assert grid_value(cp) == pytest.approx(FILTER, abs=1e-7)
    (point, multiplier), *_ = error.dual_value
    assert point[0] == pytest.approx(np.pi)
    assert multiplier == pytest.approx(1, abs=1e-6)


def grid_value(cp: Any) -> float:
    """The example itself: the largest squared error at 300 frequencies, as a second-order cone program."""
    w, h, t = np.linspace(0, np.pi, 15 * TAPS), cp.Variable(TAPS), cp.Variable()
    response, wanted = np.exp(-1j * np.outer(w, np.arange(TAPS))), np.exp(-1j * DELAY * w)
    error = cp.vstack([response.real @ h - wanted.real, response.imag @ h - wanted.imag])
    cp.Problem(cp.Minimize(t), [cp.norm(error, axis=0) <= t]).solve(solver=cp.CLARABEL)
    return float(t.value) ** 2
