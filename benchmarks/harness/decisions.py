"""Robust models with integers, with ambiguous distributions and with targets: in our language, and in RSOME.

After RSOME's examples (knapsack, satisficing, Wasserstein portfolio), JuMPeR's tests (portfolio over a ball), the
location and transport of Zeng & Zhao (2013) and a supply chain of two echelons; where a source draws its data, ours
are drawn alike, with seeds of our own. Right is what RSOME finds for the same data in the same run.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import lsip
from lsip import Index, Problem, Rule, Variable, forall, maximize, minimize

from .rules import Case, solved


def _sack(items: int) -> tuple[Any, Any]:
    rng = np.random.RandomState(1)
    return 2.0 * rng.randint(5, 10, items), 2.0 * rng.randint(10, 41, items)


def knapsack(items: int = 50, budget: float = 5.0) -> Problem:
    """Items whose weights deviate by up to a fifth, under a budget."""
    worth, weight = _sack(items)
    x, z = Variable(items, name="x", integer=True, lower=0, upper=1), Index("z", lsip.Budget(items, budget))
    return Problem(maximize(worth @ x), [forall(z, (weight * (1 + 0.2 * z)) @ x <= 2000)])


def knapsack_rsome(items: int = 50, budget: float = 5.0) -> float:
    import rsome
    from rsome import ro

    (worth, weight), model = _sack(items), ro.Model()
    x, z = model.dvar(items, vtype="B"), model.rvar(items)
    model.max(worth @ x)
    model.st(((weight * (1 + 0.2 * z)) @ x <= 2000).forall(rsome.norm(z, np.inf) <= 1, rsome.norm(z, 1) <= budget))
    return solved(model)


def knapsack_target(items: int = 50) -> Problem:
    """The least k with which an overweight is at most k times the deviation, for a worth of 90 % of all items."""
    worth, weight = _sack(items)
    up = Index("up", lsip.Box([0] * items, [1] * items))
    x, k = Variable(items, name="x", integer=True, lower=0, upper=1), Variable(name="k", lower=0)
    rows = [forall(up, (weight * (1 + 0.2 * up)) @ x - 2000 <= k * up.sum())]
    return Problem(minimize(k), [*rows, worth @ x >= 0.9 * worth.sum()])


def knapsack_target_rsome(items: int = 50) -> float:
    from rsome import ro

    (worth, weight), model = _sack(items), ro.Model()
    x, k, up = model.dvar(items, vtype="B"), model.dvar(), model.rvar(items)
    model.min(k)
    model.st(((weight * (1 + 0.2 * up)) @ x - 2000 <= k * up.sum()).forall(up >= 0, up <= 1))
    model.st(worth @ x >= 0.9 * worth.sum(), k >= 0)
    return solved(model)


OPEN, BUILD = np.array([400.0, 414, 326]), np.array([18.0, 25, 20])
SHIP = np.array([[22.0, 33, 24], [33, 23, 30], [20, 25, 27]])
USUAL = np.array([206.0, 274, 220])
CUTS = np.array([[1.0, 1, 1], [1, 1, 0]])


def location() -> Problem:
    """Which facilities to open and how large, before demand is known; goods are moved by an affine rule."""
    sides = np.r_[np.ones(3), np.zeros(3), 1.8, 1.2]
    g = Index("g", lsip.Polytope(np.vstack([np.eye(3), -np.eye(3), CUTS]), sides))
    is_open, built = Variable(3, name="open", integer=True, lower=0, upper=1), Variable(3, name="built", lower=0)
    moved, spent = Rule((3, 3), of=g, name="moved"), Variable(name="spent")
    rows = [(SHIP * moved).sum() <= spent, moved.sum(axis=1) <= built, moved.sum(axis=0) >= USUAL + 40 * g, moved >= 0]
    return Problem(minimize(OPEN @ is_open + BUILD @ built + spent), [forall(g, rows), built <= 800 * is_open])


def location_rsome() -> float:
    from rsome import ro

    model = ro.Model()
    is_open, built, moved, g = model.dvar(3, vtype="B"), model.dvar(3), model.ldr((3, 3)), model.rvar(3)
    moved.adapt(g)
    known = (g >= 0, g <= 1, CUTS @ g <= np.array([1.8, 1.2]))
    model.minmax(OPEN @ is_open + BUILD @ built + (SHIP * moved).sum(), known)
    model.st(moved.sum(axis=1) <= built, moved.sum(axis=0) >= USUAL + 40 * g, moved >= 0)
    model.st(built <= 800 * is_open, built >= 0)
    return solved(model)


def _chain(plants: int, shops: int) -> tuple[Any, Any, Any]:
    rng = np.random.RandomState(2)
    return rng.uniform(1, 3, plants), rng.uniform(1, 10, (plants, shops)), rng.uniform(10, 30, shops)


def supply_chain(plants: int, shops: int) -> Problem:
    """Plants make goods before demand is known; they are shipped, or missed sales paid for, when it is."""
    make, ship, usual = _chain(plants, shops)
    z, spent = Index("z", lsip.Budget(shops, np.sqrt(shops))), Variable(name="spent")
    made = Variable(plants, name="made", lower=0, upper=2 * usual.sum() / plants)
    sent, missed = Rule((plants, shops), of=z, name="sent"), Rule(shops, of=z, name="missed")
    rows = [(ship * sent).sum() + 30 * missed.sum() <= spent, sent.sum(axis=1) <= made, sent >= 0, missed >= 0]
    rows += [sent.sum(axis=0) + missed >= usual * (1 + 0.5 * z)]
    return Problem(minimize(make @ made + spent), [forall(z, rows)])


def supply_chain_rsome(plants: int, shops: int) -> float:
    import rsome
    from rsome import ro

    (make, ship, usual), model = _chain(plants, shops), ro.Model()
    made, sent, missed, z = model.dvar(plants), model.ldr((plants, shops)), model.ldr(shops), model.rvar(shops)
    sent.adapt(z)
    missed.adapt(z)
    near = (rsome.norm(z, np.inf) <= 1, rsome.norm(z, 1) <= np.sqrt(shops))
    model.minmax(make @ made + (ship * sent).sum() + 30 * missed.sum(), near)
    model.st(sent.sum(axis=1) <= made, sent >= 0, missed >= 0, sent.sum(axis=0) + missed >= usual * (1 + 0.5 * z))
    model.st(made >= 0, made <= 2 * usual.sum() / plants)
    return solved(model)


def _stocks(n: int) -> tuple[Any, Any]:
    i = np.arange(1, n + 1)
    return 1.15 + i * 0.05 / 150, 0.05 / 450 * np.sqrt(2 * i * n * (n + 1))


def portfolio_ball(n: int = 50) -> Problem:
    """Returns that deviate within a ball."""
    mean, spread = _stocks(n)
    x, z, worst = Variable(n, name="x", lower=0), Index("z", lsip.Ball([0] * n, 2.0)), Variable(name="worst")
    return Problem(maximize(worst), [forall(z, (mean + spread * z) @ x >= worst), x.sum() == 1])


def portfolio_ball_rsome(n: int = 50) -> float:
    import rsome
    from rsome import ro

    (mean, spread), model = _stocks(n), ro.Model()
    x, z = model.dvar(n), model.rvar(n)
    model.maxmin((mean + spread * z) @ x, rsome.norm(z, 2) <= 2)
    model.st(x.sum() == 1, x >= 0)
    return solved(model, cones=True)


def portfolio_target(n: int = 150) -> Problem:
    """The least k with which a return falls short of a target by at most k times the deviation."""
    mean, spread = _stocks(n)
    down, x, k = Index("down", lsip.Box([0] * n, [1] * n)), Variable(n, name="x", lower=0), Variable(name="k", lower=0)
    return Problem(minimize(k), [forall(down, (mean - spread * down) @ x >= 1.17 - k * down.sum()), x.sum() == 1])


def portfolio_target_rsome(n: int = 150) -> float:
    from rsome import ro

    (mean, spread), model = _stocks(n), ro.Model()
    x, k, down = model.dvar(n), model.dvar(), model.rvar(n)
    model.min(k)
    model.st(((mean - spread * down) @ x >= 1.17 - k * down.sum()).forall(down >= 0, down <= 1))
    model.st(x.sum() == 1, x >= 0, k >= 0)
    return solved(model)


def _returns(samples: int, n: int) -> Any:
    rng = np.random.RandomState(3)
    own = rng.normal(0.03, 0.025, (samples, n)) * np.arange(1, n + 1)
    return np.clip(rng.normal(0, 0.02, (samples, 1)) + own, -1, 1)


def portfolio_wasserstein(samples: int = 30, n: int = 10, radius: float = 0.02) -> Problem:
    """Mean and CVaR of a loss, at worst over all distributions near samples (Mohajerin Esfahani & Kuhn, 2018)."""
    seen, r = _returns(samples, n), Index("r", lsip.Box([-1] * n, [1] * n))
    x, t = Variable(n, name="x", lower=0), Variable(name="t", lower=-10, upper=10)
    loss = lsip.worst_expectation(
        [-(r @ x) + 10 * t, -51 * (r @ x) - 40 * t], lsip.ambiguity.Wasserstein(seen, radius, norm=1)
    )
    return Problem(minimize(loss.value), [loss.constraints, x.sum() == 1])


def portfolio_wasserstein_rsome(samples: int = 30, n: int = 10, radius: float = 0.02) -> float:
    import rsome
    from rsome import dro

    seen, model = _returns(samples, n), dro.Model(samples)
    r, u, x, t = model.rvar(n), model.rvar(), model.dvar(n), model.dvar()
    near, most = model.ambiguity(), model.dvar()
    for s in range(samples):
        near[s].suppset(r >= -1, r <= 1, rsome.norm(r - seen[s], 1) <= u)
    near.exptset(rsome.E(u) <= radius)
    near.probset(model.p == 1 / samples)
    most.adapt(r)
    most.adapt(u)
    for s in range(samples):
        most.adapt(s)
    model.minsup(rsome.E(most), near)
    model.st(most >= -(r @ x) + 10 * t, most >= -51 * (r @ x) - 40 * t, x.sum() == 1, x >= 0, t >= -10, t <= 10)
    return solved(model)


CASES: dict[str, Case] = {
    "knapsack": Case(knapsack, knapsack_rsome),
    "knapsack_target": Case(knapsack_target, knapsack_target_rsome),
    "location": Case(location, location_rsome),
    "supply_chain_5": Case(lambda: supply_chain(5, 5), lambda: supply_chain_rsome(5, 5)),
    "supply_chain_10": Case(lambda: supply_chain(10, 10), lambda: supply_chain_rsome(10, 10)),
    "supply_chain_20": Case(lambda: supply_chain(10, 20), lambda: supply_chain_rsome(10, 20)),
    "portfolio_ball": Case(portfolio_ball, portfolio_ball_rsome),
    "portfolio_target": Case(portfolio_target, portfolio_target_rsome),
    "portfolio_wasserstein": Case(portfolio_wasserstein, portfolio_wasserstein_rsome),
}
