"""Linear decision rules: inventories, lot sizes, a newsvendor, a warehouse and a predictive controller."""

from __future__ import annotations

from typing import Any

import numpy as np

from lsip import Box, Budget, Index, Polytope, Problem, Variable, forall, maximize, minimize

from .claims import NOTHING, published, value

FACTORIES, LEAST, MOST, CAPACITY, ALLOWED = 3, 500.0, 2000.0, 567.0, 13600.0


def inventory(periods: int) -> Problem:
    """Three factories whose production is an affine rule of the demand so far; 24 periods in the sources."""
    season = 1 + 0.5 * np.sin(np.pi * np.arange(periods) / 12)
    z = Index("z", Box([-1] * periods, [1] * periods))
    demand, price = 1000 * season * (1 + 0.2 * z), np.array([1, 1.5, 2])[:, None] * season
    fixed = Variable((FACTORIES, periods), name="fixed")
    slope = [Variable((FACTORIES, t), name=f"slope{t}") for t in range(1, periods)]
    made = [fixed[:, 0], *(fixed[:, t] + slope[t - 1] @ z[:t] for t in range(1, periods))]
    cost, rows = Variable(name="cost"), []
    for rule in made[1:]:
        rows += [rule >= 0, rule <= CAPACITY]
    rows.append(sum(made) <= ALLOWED)
    stock: Any = LEAST
    for t, rule in enumerate(made):
        stock = stock + rule.sum() - demand[t]
        rows += [stock >= LEAST, stock <= MOST]
    rows.append(sum(price[:, t] @ rule for t, rule in enumerate(made)) <= cost)
    return Problem(minimize(cost), [forall(z, rows), fixed[:, 0] >= 0, fixed[:, 0] <= CAPACITY])


for _periods in (6, 10, 14):
    published(f"inventory_T{_periods}", "after JuMPeR, test/adp_inventory; RSOME, example_ro_inv")(
        lambda periods=_periods: inventory(periods)
    )


def lot_sizes(sites: int) -> Problem:
    """Stock at sites before demand is known, and transport between them as an affine rule of it."""
    draw = np.random.RandomState(0)  # the stream of the source
    place = 10 * draw.rand(2, sites)
    apart = np.hypot(place[0][:, None] - place[0], place[1][:, None] - place[1])
    sides = np.vstack([np.eye(sites), -np.eye(sites), np.ones((1, sites))])
    z = Index("z", Polytope(sides, np.r_[np.ones(sites), np.zeros(sites), np.sqrt(sites)]))
    stock = Variable(sites, name="stock", lower=0, upper=20)
    fixed, slope = Variable((sites, sites), name="fixed"), Variable((sites**2, sites), name="slope")
    worst = Variable(name="worst")
    sent = fixed.reshape(sites**2) + slope @ z
    table = sent.reshape(sites, sites)
    left = table.sum(axis=0) - table.sum(axis=1) + stock
    return Problem(
        minimize(20 * stock.sum() + worst), [forall(z, [apart.reshape(-1) @ sent <= worst, 20 * z <= left, sent >= 0])]
    )


for _sites in (5, 10):
    published(f"rsome_lotsizing_N{_sites}", "RSOME, example_ls")(lambda sites=_sites: lot_sizes(sites))


def _newsvendor(affine: bool) -> Problem:
    mean = np.array([28.0, 32, 38, 40, 46])
    z = Index("z", Budget(5, 2.0))
    bought, profit = Variable(name="bought", lower=0), Variable(name="profit", upper=1000)
    sold = Variable(5, name="fixed") + (Variable((5, 5), name="slope") @ z if affine else 0 * z)
    rows = [profit <= sold.sum() - 0.5 * bought, sold <= mean + 0.5 * mean * z, sold >= 0, sold.sum() <= bought]
    return Problem(maximize(profit), [forall(z, rows)])


published("jumper_news_static", "JuMPeR, test/adp_newsvendor", value(46.0, 1e-6))(lambda: _newsvendor(False))
published("jumper_news_affine", "JuMPeR, test/adp_newsvendor", value(70.5, 1e-6))(lambda: _newsvendor(True))


def _warehouse(follow: float) -> Problem:
    """Ten periods of sales between 200 and 1000; orders arrive two periods later, a tenth of the sales comes back."""
    sales = Index("s", Box([200] * 10, [1000] * 10))
    fixed, total = Variable(8, name="fixed"), Variable(name="total")
    orders = [fixed[i] + follow * sales[i] for i in range(8)]
    stock: list[Any] = [2500.0, 2500.0 - sales[0]]
    for i in range(2, 10):
        stock.append(stock[-1] - sales[i - 1] + orders[i - 2] + 0.1 * sales[i - 2])
    rows = [order >= 0 for order in orders]
    for i in range(2, 10):
        rows += [stock[i] >= 0, stock[i] <= 8000, stock[i] - sales[i] >= 0]
    return Problem(minimize(total), [forall(sales, [*rows, sum(stock) <= total])])


_SOURCE = "YALMIP, equalityinuncertainty"
published("yalmip_warehouse_open", _SOURCE, value(45120.0, 1e-6))(lambda: _warehouse(0.0))
published("yalmip_warehouse_affine1", _SOURCE, value(19660.0, 1e-6), "orders = fixed + sales")(lambda: _warehouse(1.0))


def _controller(closed: bool) -> Problem:
    """Ten steps of a system with disturbances: inputs planned ahead, or with affine feedback."""
    steps = 10
    system = np.array([[2.938, -0.7345, 0.25], [4, 0, 0], [0, 1, 0]])
    seen = np.array([-0.2072, 0.04141, 0.07256])
    powers = [seen @ np.linalg.matrix_power(system, k) for k in range(steps)]
    w = Index("w", Box([-1] * steps, [1] * steps))
    fixed, size, total = Variable(steps, name="fixed"), Variable(steps, name="size"), Variable(name="total")
    inputs: list[Any] = [fixed[k] for k in range(steps)]
    if closed:
        slope = Variable((steps, steps), name="slope")
        inputs = [u + sum(slope[k, j] * w[j] for j in range(k)) for k, u in enumerate(inputs)]
    out = [sum(powers[k - j][0] * (0.25 * inputs[j] + 0.0625 * w[j]) for j in range(k + 1)) for k in range(steps)]
    rows = [y <= 1 for y in out] + [sum(1 - y for y in out) <= total]
    finite = [size <= 1]
    for k in range(steps):
        pair = [inputs[k] <= size[k], -inputs[k] <= size[k]]
        (rows if closed and k else finite).extend(pair)
    return Problem(minimize(total + 0.01 * size.sum()), [forall(w, rows), *finite])


published("yalmip_mpc_open", "YALMIP, robustmpc", NOTHING, "open loop")(lambda: _controller(False))
published("yalmip_mpc_closed", "YALMIP, robustmpc", NOTHING, "affine feedback")(lambda: _controller(True))
