"""Models for which one mechanism of the solver was written: without it, most of them have no answer, or a late one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import lsip
from lsip import Index, Interval, Problem, Rule, Variable, forall, maximize, minimize

from .drawn import Rng, drawn
from .items import within_limits


def _data(rng: Rng, m: int) -> lsip.domains.Domain:
    """A set of data, with or without corners that differ."""
    kind = int(rng.integers(4))
    if kind == 0:
        return lsip.Budget(m, round(rng.uniform(1, m), 1))
    if kind == 1:
        return lsip.Simplex(m)
    if kind == 2:
        return Interval(0.1, 0.7) * lsip.Budget(2, 1)
    sides = np.concatenate([np.eye(m), -np.eye(m), np.ones((1, m))])
    return lsip.Polytope(sides, np.round(rng.uniform(0.3, 1.3, 2 * m + 1), 1))


@drawn(24)
def idle_moves(rng: Rng) -> Problem:
    """What is bought and sold again by a rule of any size costs nothing, and the rest earns by it without end."""
    z, w = Index("z", _data(rng, int(rng.integers(2, 4)))), Variable(name="w")
    buy, sell, price, times = Rule(of=z, name="buy"), Rule(of=z, name="sell"), rng.integers(2, 10), rng.integers(3, 6)
    price, times = int(price), int(times)
    said = [price * buy - price * sell >= w / times, price * times * buy - price * times * sell <= w + 1]
    return Problem(minimize(w), [forall(z, said[0]), forall(z, said[1]), w <= 0])


@drawn(12)
def contradicted_rules(rng: Rng) -> Problem:
    """Rules that no data leave room for: the counterpart says by which constraints."""
    m = int(rng.integers(2, 5))
    sets = [lsip.Budget(m, 1.5), lsip.Box(-np.ones(m), np.ones(m)), lsip.Simplex(m)]
    z, rule = Index("z", sets[int(rng.integers(3))]), Variable(name="worst")
    act, A, B = Rule(8, of=z, name="act"), rng.normal(size=(12, 8)), rng.normal(size=(12, m))
    said = [A @ act <= B @ z - rng.uniform(0.1, 1), act <= 1, act >= -1, act.sum() <= rule]
    return Problem(minimize(rule), [forall(z, said)])


def _one_more(models: tuple[Problem, Problem]) -> Any:
    """Solve a model, and with one more constraint again, from its answer."""
    first, more = models
    return within_limits(more, warm_start=within_limits(first))


@drawn(10, _one_more)
def one_more_side(rng: Rng) -> tuple[Problem, Problem]:
    """A polynomial above two curves, and a third one."""
    n, t = int(rng.integers(4, 20)), Index("t", Interval(0, 1))
    x = Variable(n, name="x", lower=-50, upper=50)

    def side() -> Any:
        curve = np.sin(rng.uniform(1, 6) * t + rng.uniform(0, 3)) + rng.uniform(-1, 1) * t
        return forall(t, t ** np.arange(n) @ x >= curve)

    cost, two = minimize((1 / np.arange(1, n + 1)) @ x), [side(), side()]
    return Problem(cost, two), Problem(cost, [*two, side()])


@drawn(10, _one_more)
def one_more_field(rng: Rng) -> tuple[Problem, Problem]:
    """A limit on a field, and another on a wider one."""
    n, y = int(rng.integers(5, 40)), Index("y", lsip.Box([0, 0], [1, 1]))
    places, x = rng.uniform(0, 1, (n, 2)), Variable(n, name="x", lower=0, upper=1)

    def field(width: float) -> Any:
        return np.exp(-width * ((y - places) ** 2).sum(axis=-1)) @ x

    narrow = forall(y, field(20) <= 3)
    more = forall(y, field(10) <= 1 + y[0] * rng.uniform(1, 3))
    return Problem(maximize(x.sum()), [narrow]), Problem(maximize(x.sum()), [narrow, more])


@drawn(18)
def cones_in_odd_units(rng: Rng) -> Problem:
    """A residual or a largest eigenvalue in variables whose natural sizes are many decades apart."""
    n, t = int(rng.integers(2, 6)), Index("t", Interval(0, 1))
    unit, x = 10.0 ** rng.uniform(-8, 8, n), Variable(n, name="x")
    if rng.random() < 0.4:
        M, e = rng.normal(size=(n + 1, 3, 3)), Variable(name="e")
        M = (M + M.transpose(0, 2, 1)) / 2
        moved = e * np.eye(3) - M[0] - sum(x[i] * M[i + 1] / unit[i] for i in range(n))
        return Problem(minimize(e), [lsip.psd(moved), x <= unit, x >= -unit])
    residual = (rng.normal(size=(3 * n, n)) / unit) @ x - rng.normal(size=3 * n)
    size = 10.0 ** rng.uniform(-7, 7) if rng.random() < 0.5 else 1.0
    cost: Callable[..., Any] = np.linalg.norm
    return Problem(
        minimize(cost(size * residual)), [forall(t, x[0] / unit[0] + x[1] / unit[1] * t >= 0.1 * np.sin(5 * t))]
    )


@drawn(8)
def least_of_zero(rng: Rng) -> Problem:
    """The least jerk of a trajectory of constant speed is 0, and one coordinate alone proves that."""
    degree, time = int(rng.integers(5, 10)), float(rng.choice([1.0, 5.0, 10.0]))
    t, jerk, said = Index("t", Interval(0, time)), Variable(name="jerk"), []
    for k in range(2):
        c, speed = Variable(degree + 1, name=f"c{k}"), round(rng.normal(), 2)
        path = (t / time) ** np.arange(degree + 1) @ c
        third = lsip.derivative(path, t, order=3)
        said += [forall(t, third <= jerk), forall(t, -third <= jerk), c[0] == 0.5, c.sum() == 0.5 + speed * time]
        if k == 0 and rng.random() < 0.7:
            said.append(forall(t, lsip.derivative(path, t) <= speed + 0.5))
    return Problem(minimize(jerk), said)
