"""Robust programs: the tests and examples of JuMPeR, RSOME, ROmodel, PyROS and YALMIP."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lsip import Ball, Box, Budget, Index, Interval, Polytope, Problem, Variable, forall, maximize, minimize

from .claims import INFEASIBLE, NOTHING, REFUSED, UNBOUNDED, published, value

JUMPER, PYROS, ROMODEL = "JuMPeR, test/uncsets", "Pyomo, pyros/tests", "ROmodel, examples"
RETURNS = np.array([0.1, 0.3, 0.5, 0.7, 0.4])


@published("jumper_l2_2", f"{JUMPER}_basic_L2 (2)", value(61.283, 2e-4), "an ellipsoid by scaling")
def ellipsoid() -> Problem:
    x = Variable(5, name="x", lower=0, upper=2 * np.arange(1, 6))
    y, b = Index("y", Box([0, 0], [6, 7])), Index("b", Ball([0, 0, 0], 1))
    u = np.stack([(5 + b[0]) / 3, y[0], y[1], (5 + b[1]) / 2, 5 + b[2]])
    return Problem(maximize(np.arange(5.0, 0.0, -1.0) @ x), [forall((y, b), u @ x <= 100)])


@published("jumper_poly_3", f"{JUMPER}_basic (3)", value(2 + 10 / 11, 1e-6))
def polytope() -> Problem:
    x = Variable(2, name="x", lower=0, upper=9)
    sides = [[1, 0], [-1, 0], [0, 1], [0, -1], [2, 4], [-2, -4]]
    u = Index("u", Polytope(sides, [1.5, -0.3, 1.5, -0.5, 5, -3]))
    return Problem(maximize(x.sum()), [forall(u, [u[0] * x[0] <= 3, u[1] * x[1] <= 1])])


@published("jumper_budget_1", f"{JUMPER}_budget (1)", value(29.7, 1e-6))
def budget() -> Problem:
    x, z = Variable(2, name="x", lower=0, upper=10), Index("z", Budget(2, 1.0))
    return Problem(maximize(0.1 * x[0] + 9.9 * x[1]), [forall(z, (np.array([2.0, 6.0]) + z) @ x <= 21)])


@published("jumper_singleton_7", f"{JUMPER}_basic (7)", value(3.0, 1e-6), "0.5 <= u <= 0.5")
def singleton() -> Problem:
    x, u = Variable(name="x", lower=0, upper=9), Index("u", Interval(0.5, 0.5))
    return Problem(maximize(x), [forall(u, u * x + u <= 2)])


@published("jumper_unbounded_8", f"{JUMPER}_basic (8)", UNBOUNDED)
def unbounded() -> Problem:
    x, u = Variable(name="x", lower=0), Index("u", Interval(8, 9))
    return Problem(maximize(x), [forall(u, u * x >= 25)])


@published("jumper_infeasible_9", f"{JUMPER}_basic (9)", INFEASIBLE)
def infeasible() -> Problem:
    x, u = Variable(name="x"), Index("u", Interval(8, 9))
    return Problem(maximize(x), [x == 3, forall(u, u * x <= 25)])


@published("jumper_empty_10", f"{JUMPER}_basic (10)", REFUSED, "an index set without points")
def empty() -> Problem:
    x, u = Variable(name="x", lower=0), Index("u", Interval(8, 7))
    return Problem(minimize(x), [forall(u, u * x >= 25)])


@published("rsome_satisficing", "RSOME, example_dro_rs_portfolio", value(22.921068194932346, 1e-5))
def satisficing() -> Problem:
    samples, stocks, weight, most, share, target = 300, 10, 10, 0.10, 0.05, 0.125
    draw, number = np.random.RandomState(1), np.arange(1, stocks + 1)  # the stream of the source
    noise = 0.05 * draw.normal(size=(samples, stocks))
    returns = noise + 0.02 * number + 0.03 * number * draw.normal(size=(samples, stocks))
    x, alpha = Variable(stocks, name="x", lower=0), Variable(name="alpha")
    k0, k1 = Variable(name="k0"), Variable(name="k1", lower=0)
    tail, d = Variable(samples, name="tail", lower=0), Index("d", Budget(stocks, 1.0))
    return Problem(
        minimize(k0 + weight * k1),
        [
            x.sum() == 1,
            returns.mean(axis=0) @ x >= target,
            alpha + tail.sum() / samples <= most,
            tail >= -(1 / share) * (returns @ x + alpha),
            forall(d, [d @ x + k0 >= 0, (1 / share) * (d @ x) + k1 >= 0]),
        ],
    )


def _portfolio(returns: Any) -> Problem:
    x, z, r = Variable(5, name="x", lower=0, upper=1), Variable(name="z", lower=0), Index("r", returns)
    return Problem(maximize(z), [x.sum() == 1, forall(r, r @ x >= z)])


@published("romodel_portfolio_ball", f"{ROMODEL}/portfolio", value(0.7 - math.sqrt(0.0005), 1e-7))
def portfolio_ball() -> Problem:
    return _portfolio(Ball(RETURNS, math.sqrt(0.0005)))


@published("romodel_portfolio_poly", f"{ROMODEL}/portfolio (polyhedral)", value(0.699, 1e-7))
def portfolio_polytope() -> Problem:
    pair = np.array([[1.0, 1], [-1, 1], [1, -1], [-1, -1]])
    sides = np.zeros((10, 5))
    sides[:4, :2] = pair
    for k in range(3):
        sides[4 + 2 * k, 2 + k], sides[5 + 2 * k, 2 + k] = 1.0, -1.0
    return _portfolio(Polytope(sides, 0.001 + sides @ RETURNS))


@published("romodel_knapsack_relaxed", f"{ROMODEL}/knapsack", NOTHING, "its relaxation; ellipsoid by a factor")
def knapsack() -> Problem:
    spread = 0.1 * np.eye(4)
    spread[0, 1] = spread[1, 0] = 0.01
    factor = np.linalg.inv(np.linalg.cholesky(spread)).T
    x, u = Variable(4, name="x", lower=0, upper=1), Index("u", Ball([0] * 4, 1))
    weight = np.array([5.0, 7, 4, 3])
    return Problem(maximize(np.array([8.0, 3, 6, 11]) @ x), [forall(u, (weight + factor @ u) @ x <= 14)])


def _cardinality(down: Any) -> Problem:
    """Four numbers around 1, of which two in all may deviate: up by `up`, down by `down`."""
    up = np.array([1, 0, 2, 0.5])
    sides = np.vstack([np.eye(8), -np.eye(8), np.ones((1, 8))])
    z, x = Index("z", Polytope(sides, np.r_[np.ones(8), np.zeros(8), 2.0])), Variable(name="x", lower=0)
    q = 1 + up * z[:4] - np.asarray(down) * z[4:]
    return Problem(minimize(x), [forall(z, x >= q[0] + q[1] - q[2] - q[3])])


published("pyros_cardinality_1", f"{PYROS}/test_grcs", value(1.0, 1e-6))(lambda: _cardinality(np.zeros(4)))
published("pyros_cardinality_2", f"{PYROS}/test_grcs", value(4.0, 1e-6))(lambda: _cardinality([0, 4.5, 0.5, 3]))


@published("pyros_mitsos_4_3_base", f"{PYROS}, build_mitsos_4_3", value(0.75 * math.exp(-2 / 3) + 0.25, 1e-7))
def mitsos() -> Problem:
    x, u = Variable(3, name="x", lower=-1000, upper=1000), Index("u", Interval(0, 1))
    return Problem(minimize(x[0] + x[1] / 2 + x[2] / 3), [forall(u, np.exp(u - 1) - u ** np.arange(3) @ x <= 0)])


@published("pyros_product", f"{PYROS}, test_solve_with_cartesian_product_set", value(5.5, 1e-6))
def product() -> Problem:
    x, q = Variable(name="x", lower=0, upper=100), Index("q", Box([0, -1, 0], [1, 1, 0.5]))
    return Problem(minimize(x), [forall(q, x >= q[0] + 4 * q[1] + q[2])])


@published("pyros_cardinality_eq", f"{PYROS}, test_two_stage_set_nonstatic_dr", value(4.0, 1e-6), "z == q by a rule")
def second_stage() -> Problem:
    x, t = Variable(name="x", lower=-2, upper=2), Variable(name="t")
    z0, z1, q = Variable(name="z0"), Variable(name="z1"), Index("q", Interval(2, 3))
    z = z0 + z1 * q
    return Problem(maximize(t), [z0 == 0, z1 == 1, forall(q, [t <= x + z, z <= 10])])


@published("yalmip_conic_ball", "YALMIP, robustoptimization", value(0.0, 1e-7))
def conic() -> Problem:
    x, w = Variable(name="x"), Index("w", Ball([0, 0], 1 / math.sqrt(2)))
    return Problem(maximize(x), [forall(w, x + w.sum() <= 1)])
