"""Robust models of other tools' documentation: in our language, and in RSOME, which solves their counterparts.

Sources: RSOME's examples (portfolio, production and inventory, its Pareto version, lot-sizing, vehicles), JuMPeR's
tests (newsvendor), YALMIP's examples (warehouse, predictive control). Data are those of the sources, or drawn as they
say.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import lsip
from lsip import Index, Problem, Rule, Variable, forall, maximize, minimize


@dataclass(frozen=True)
class Case:
    """A model: how we write it, how RSOME does, and what is published."""

    ours: Callable[[], Problem]
    rsome: Callable[[], float] | None = None
    published: float | None = None
    digits: float = 1e-6  # relative, of the published value


def portfolio(n: int = 150) -> Problem:
    i = np.arange(1, n + 1)
    x, z, worst = Variable(n, name="x", lower=0), Index("z", lsip.Budget(n, 5.0)), Variable(name="worst")
    returns = 1.15 + i * 0.05 / 150 + 0.05 / 450 * np.sqrt(2 * i * n * (n + 1)) * z
    return Problem(maximize(worst), [forall(z, returns @ x >= worst), x.sum() == 1])


def portfolio_rsome(n: int = 150) -> float:
    import rsome
    from rsome import ro

    i, model = np.arange(1, n + 1), ro.Model()
    x, z = model.dvar(n), model.rvar(n)
    returns = 1.15 + i * 0.05 / 150 + 0.05 / 450 * np.sqrt(2 * i * n * (n + 1)) * z
    model.maxmin(returns @ x, rsome.norm(z, np.inf) <= 1, rsome.norm(z, 1) <= 5)
    model.st(x.sum() == 1, x >= 0)
    return solved(model)


def _season(periods: int) -> tuple[Any, Any]:
    wave = 1 + 0.5 * np.sin(np.pi * np.arange(periods) / 12)
    return 1000 * wave, np.array([[1], [1.5], [2]]) * wave


def inventory(periods: int, most: float | None = None) -> Problem:
    """Three factories, whose production follows past demand; with `most`, the nominal cost within that worst case."""
    nominal, cost = _season(periods)
    z, spent = Index("z", lsip.Box([-1] * periods, [1] * periods)), Variable(name="spent")
    make = [Rule(3, of=z[:t], name=f"make{t}") for t in range(periods)]
    demand, stock, rows = nominal * (1 + 0.2 * z), 500.0, []
    for t in range(periods):
        stock = stock + make[t].sum() - demand[t]
        rows += [make[t] >= 0, make[t] <= 567, stock >= 500, stock <= 2000]
    total = sum(cost[:, t] @ make[t] for t in range(periods))
    rows += [sum(make) <= 13600 * max(periods / 24, 1), total <= (spent if most is None else most)]
    if most is None:
        return Problem(minimize(spent), [forall(z, rows)])
    usual = sum(cost[:, t] @ make[t].coefficients[:, 0] for t in range(periods))
    return Problem(minimize(usual), [forall(z, rows)])


def inventory_rsome(periods: int, most: float | None = None) -> float:
    from rsome import ro

    nominal, cost = _season(periods)
    model = ro.Model()
    d, p = model.rvar(periods), model.ldr((3, periods))
    for t in range(1, periods):
        p[:, t].adapt(d[:t])
    box = (d >= 0.8 * nominal, d <= 1.2 * nominal)
    if most is None:
        model.minmax((cost * p).sum(), box)
    else:
        model.minmax((cost * p).sum(), (d == nominal,))
        model.st(((cost * p).sum() <= most).forall(box))
    model.st((p >= 0).forall(box), (p <= 567).forall(box))
    model.st((p.sum(axis=1) <= 13600 * max(periods / 24, 1)).forall(box))
    for t in range(periods):
        stock = 500 + p[:, : t + 1].sum() - d[: t + 1].sum()
        model.st((stock >= 500).forall(box), (stock <= 2000).forall(box))
    return solved(model)


def _network(sites: int) -> Any:
    place = 10 * np.random.RandomState(0).rand(2, sites)
    return np.hypot(place[0][:, None] - place[0], place[1][:, None] - place[1])


def lot_sizing(sites: int) -> Problem:
    cost = _network(sites)
    rows = np.vstack([np.eye(sites), -np.eye(sites), np.ones((1, sites))])
    d = Index("d", lsip.Polytope(rows, np.r_[np.full(sites, 20.0), np.zeros(sites), 20 * np.sqrt(sites)]))
    stock, spent = Variable(sites, name="stock", lower=0, upper=20), Variable(name="spent")
    move = Rule((sites, sites), of=d, name="move")
    limits = [(cost * move).sum() <= spent, d <= move.sum(axis=0) - move.sum(axis=1) + stock, move >= 0]
    return Problem(minimize(20 * stock.sum() + spent), [forall(d, limits)])


def lot_sizing_rsome(sites: int) -> float:
    from rsome import ro

    cost, model = _network(sites), ro.Model()
    x, y, d = model.dvar(sites), model.ldr((sites, sites)), model.rvar(sites)
    y.adapt(d)
    model.minmax((20 * x).sum() + (cost * y).sum(), (d >= 0, d <= 20, d.sum() <= 20 * np.sqrt(sites)))
    model.st(d <= y.sum(axis=0) - y.sum(axis=1) + x, y >= 0, x >= 0, x <= 20)
    return solved(model)


REVENUE = np.array([4.50, 4.41, 3.61, 4.49, 4.38, 4.58, 4.53, 4.64, 4.58, 4.32])


def _samples(count: int) -> Any:
    return np.random.RandomState(1).gamma(4.0, 10.0, (count, len(REVENUE)))


def vehicles(samples: int = 40) -> Problem:
    """Allocate before demand is known; what is left over follows it."""
    seen = _samples(samples)
    d, x = Index("d", lsip.Box(seen.min(axis=0), seen.max(axis=0))), Variable(10, name="x", lower=0)
    left, worst = Rule(10, of=d, name="left"), Variable(name="worst")
    rows = [(3 - REVENUE) @ x + REVENUE @ left <= worst, left >= x - d, left >= 0]
    return Problem(minimize(worst), [forall(d, rows), x.sum() <= 400])


def vehicles_rsome(samples: int = 40) -> float:
    from rsome import ro

    seen, model = _samples(samples), ro.Model()
    d, x, y = model.rvar(10), model.dvar(10), model.ldr(10)
    y.adapt(d)
    model.minmax(((3 - REVENUE) * x).sum() + REVENUE @ y, (d <= seen.max(axis=0), d >= seen.min(axis=0)))
    model.st(y >= x - d, y >= 0, x.sum() <= 400, x >= 0)
    return solved(model)


def sample_robust(samples: int, ball: bool, reach: float = 0.25) -> Problem:
    """The same, on average over samples, for all demand near each of them: in a box, or in a ball."""
    seen = _samples(samples)
    x, each = Variable(10, name="x", lower=0), Variable(samples, name="a")
    rows = [x.sum() <= 400]
    for s, centre in enumerate(seen):
        near: lsip.Domain = lsip.Ball(centre, reach) if ball else lsip.Box(centre - reach, centre + reach)
        d = Index(f"d{s}", near)
        left = Rule(10, of=d, name=f"left{s}")
        rows += [forall(d, [REVENUE @ left <= each[s], left >= x - d, left >= 0])]
    return Problem(minimize((3 - REVENUE) @ x + each.sum() / samples), rows)


def sample_robust_rsome(samples: int, ball: bool, reach: float = 0.25) -> float:
    import rsome
    from rsome import ro

    seen, model = _samples(samples), ro.Model()
    d, x, a, y = model.rvar(10), model.dvar(10), model.dvar(samples), model.ldr((samples, 10))
    y.adapt(d)
    model.min(((3 - REVENUE) * x).sum() + (1 / samples) * a.sum())
    for s in range(samples):
        near = rsome.norm(d - seen[s], 2 if ball else np.inf) <= reach
        model.st((a[s] >= REVENUE @ y[s]).forall(near), (y[s] >= x - d).forall(near), (y[s] >= 0).forall(near))
    model.st(x.sum() <= 400, x >= 0)
    return solved(model, cones=ball)


def newsvendor(adjustable: bool) -> Problem:
    mean, z = np.array([28, 32, 38, 40, 46.0]), Index("z", lsip.Budget(5, 2.0))
    stock, profit = Variable(name="stock", lower=0), Variable(name="profit", upper=1000)
    sell = Rule(5, of=z if adjustable else None, name="sell")
    rows = [profit <= sell.sum() - 0.5 * stock, sell <= mean * (1 + 0.5 * z), sell >= 0, sell.sum() <= stock]
    return Problem(maximize(profit), [forall(z, row) if row.body.indices() else row for row in rows])


def newsvendor_rsome(adjustable: bool) -> float:
    import rsome
    from rsome import ro

    mean, model = np.array([28, 32, 38, 40, 46.0]), ro.Model()
    z, x, s = model.rvar(5), model.dvar(), model.ldr(5) if adjustable else model.dvar(5)
    if adjustable:
        s.adapt(z)
    model.maxmin(s.sum() - 0.5 * x, rsome.norm(z, np.inf) <= 1, rsome.norm(z, 1) <= 2)
    model.st(s <= mean * (1 + 0.5 * z), s >= 0, s.sum() <= x, x >= 0)
    return solved(model)


def warehouse(adjustable: bool) -> Problem:
    """Ten weeks of uncertain sales; orders arrive two weeks later, a tenth of what is sold is returned."""
    s, height = Index("s", lsip.Box([200] * 10, [1000] * 10)), Variable(name="height")
    order = [Rule(of=s[: t + 1] if adjustable else None, name=f"order{t}") for t in range(8)]
    stock: list[Any] = [2500.0, 2500.0 - s[0]]
    for t in range(2, 10):
        stock.append(stock[t - 1] - s[t - 1] + order[t - 2] + 0.1 * s[t - 2])
    rows = [order[t] >= 0 for t in range(8)]
    for t in range(2, 10):
        rows += [stock[t] <= 8000, stock[t] - s[t] >= 0]
    return Problem(minimize(height), [forall(s, [*rows, sum(stock) <= height])])


def _plant(steps: int) -> tuple[Any, Any, Any, Any]:
    A = np.array([[2.938, -0.7345, 0.25], [4, 0, 0], [0, 1, 0]])
    B, C, E = np.array([0.25, 0, 0]), np.array([-0.2072, 0.04141, 0.07256]), np.array([0.0625, 0, 0])
    return [np.linalg.matrix_power(A, k) for k in range(steps)], B, C, E


def control(adjustable: bool, steps: int = 10) -> Problem:
    """Predictive control against disturbances: an output near 1 and never above, inputs between -1 and 1."""
    power, B, C, E = _plant(steps)
    w, size, miss = Index("w", lsip.Box([-1] * steps, [1] * steps)), Variable(steps, name="size"), Variable(name="miss")
    u = [Rule(of=w[:k] if adjustable else None, name=f"u{k}") for k in range(steps)]
    y = [sum(C @ power[k - j] @ B * u[j] + C @ power[k - j] @ E * w[j] for j in range(k + 1)) for k in range(steps)]
    rows = [out <= 1 for out in y] + [sum(1 - out for out in y) <= miss]
    rows += [side for k in range(steps) for side in (u[k] <= size[k], -u[k] <= size[k])]
    return Problem(minimize(miss + 0.01 * size.sum()), [forall(w, rows), size <= 1])


def warehouse_rsome(adjustable: bool) -> float:
    from rsome import ro

    model = ro.Model()
    s, order = model.rvar(10), model.ldr(8) if adjustable else model.dvar(8)
    for t in range(8 if adjustable else 0):
        order[t].adapt(s[: t + 1])
    stock: list[Any] = [2500.0, 2500.0 - s[0]]
    for t in range(2, 10):
        stock.append(stock[t - 1] - s[t - 1] + order[t - 2] + 0.1 * s[t - 2])
    model.minmax(sum(stock), (s >= 200, s <= 1000))
    for t in range(2, 10):
        model.st(stock[t] <= 8000, stock[t] - s[t] >= 0)
    model.st(order >= 0)
    return solved(model)


def control_rsome(adjustable: bool, steps: int = 10) -> float:
    from rsome import ro

    powers, B, C, E = _plant(steps)
    model = ro.Model()
    w, size = model.rvar(steps), model.dvar(steps)
    u = model.ldr(steps) if adjustable else model.dvar(steps)
    for k in range(1, steps if adjustable else 0):
        u[k].adapt(w[:k])
    y = [sum(C @ powers[k - j] @ B * u[j] + C @ powers[k - j] @ E * w[j] for j in range(k + 1)) for k in range(steps)]
    model.minmax(sum(1 - out for out in y) + 0.01 * size.sum(), (w >= -1, w <= 1))
    for k in range(steps):
        model.st(y[k] <= 1, u[k] <= size[k], -u[k] <= size[k])
    model.st(size <= 1)
    return solved(model)


def solved(model: Any, cones: bool = False) -> float:
    from rsome import eco_solver, lpg_solver

    model.solve(eco_solver if cones else lpg_solver, display=False)
    return float(model.get())


PARETO = 44272.827493119396 * (1 + 1e-6)  # the worst case that is published, and a little room

CASES: dict[str, Case] = {
    "portfolio": Case(portfolio, portfolio_rsome, 1.1709, 1e-4),
    "newsvendor_static": Case(lambda: newsvendor(False), lambda: newsvendor_rsome(False), 46.0),
    "newsvendor_affine": Case(lambda: newsvendor(True), lambda: newsvendor_rsome(True), 70.5),
    "inventory_6": Case(lambda: inventory(6), lambda: inventory_rsome(6)),
    "inventory_12": Case(lambda: inventory(12), lambda: inventory_rsome(12)),
    "inventory_24": Case(lambda: inventory(24), lambda: inventory_rsome(24), 44272.827493119396),
    "inventory_24_pareto": Case(
        lambda: inventory(24, PARETO), lambda: inventory_rsome(24, PARETO), 35076.73675839579, 1e-4
    ),
    "inventory_60": Case(lambda: inventory(60)),  # RSOME was not done after two minutes of the processor
    "lot_sizing_5": Case(lambda: lot_sizing(5), lambda: lot_sizing_rsome(5)),
    "lot_sizing_10": Case(lambda: lot_sizing(10), lambda: lot_sizing_rsome(10)),
    "lot_sizing_20": Case(lambda: lot_sizing(20), lambda: lot_sizing_rsome(20)),
    "lot_sizing_30": Case(lambda: lot_sizing(30), lambda: lot_sizing_rsome(30)),
    "vehicles": Case(vehicles, vehicles_rsome),
    "vehicles_sample_box": Case(lambda: sample_robust(20, False), lambda: sample_robust_rsome(20, False)),
    "vehicles_sample_ball": Case(lambda: sample_robust(20, True), lambda: sample_robust_rsome(20, True)),
    "warehouse_static": Case(lambda: warehouse(False), lambda: warehouse_rsome(False), 45120.0),
    "warehouse_affine": Case(lambda: warehouse(True), lambda: warehouse_rsome(True)),
    "control_static": Case(lambda: control(False), lambda: control_rsome(False)),
    "control_affine": Case(lambda: control(True), lambda: control_rsome(True)),
}
QUICK = ("portfolio", "newsvendor_affine", "inventory_6", "lot_sizing_5", "vehicles", "warehouse_static")
MANY = (  # coefficients, 235 to 2,230: cuts alone take minutes
    "inventory_12",
    "inventory_24",
    "inventory_24_pareto",
    "lot_sizing_10",
    "supply_chain_10",
    "vehicles_sample_box",
    "vehicles_sample_ball",
)
SLOW = ("inventory_60", "lot_sizing_20", "lot_sizing_30", "supply_chain_20")  # measured once
