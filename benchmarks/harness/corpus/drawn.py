"""Random models of the parts of the language that the other benchmarks hardly enter: a function and a seed give one."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any
from zlib import crc32

import numpy as np

import lsip
from lsip import Index, Interval, Problem, Rule, Variable, forall, maximize, minimize

from .items import ITERATIONS, Item, within_limits

Rng = np.random.Generator
Build = Callable[[Rng], Any]
DRAWN: dict[str, Item] = {}


def drawn(count: int, solve: Callable[[Any], Any] = within_limits) -> Callable[[Build], Build]:
    """Add so many models of the decorated function to the corpus, a seed each."""

    def register(build: Build) -> Build:
        name = build.__name__
        for seed in range(count):
            rng = partial(np.random.default_rng, [crc32(name.encode()), seed])
            DRAWN[f"{name}/{seed}"] = Item(lambda rng=rng: build(rng()), solve)
        return build

    return register


def _one_sided(rng: Rng, n: int, t: Any, x: Any) -> Any:
    """A polynomial with coefficients x above a smooth function."""
    return t ** np.arange(n) @ x >= np.sin(rng.uniform(1, 6) * t + rng.uniform(0, 3)) + rng.uniform(-1, 1) * t


# Decision rules


@drawn(20)
def affine_rule(rng: Rng) -> Problem:
    """Orders that know the demands of earlier periods."""
    periods = int(rng.integers(2, 6))
    z = Index("z", lsip.Box(-np.ones(periods), np.ones(periods)) if rng.random() < 0.5 else lsip.Budget(periods, 2))
    mean, stock, said, worst = rng.uniform(5, 15, periods), rng.uniform(0, 5), [], Variable(name="worst")
    cost = 0.0
    for k in range(periods):
        order = Rule(of=z[:k], name=f"order{k}")
        stock = stock + order - mean[k] * (1 + 0.2 * z[k])
        said += [order >= 0, order <= 30, stock >= 0]
        cost = cost + rng.uniform(0.5, 2) * order + 0.1 * stock
    return Problem(minimize(worst), [forall(z, [*said, cost <= worst])])


@drawn(10)
def piecewise_rule(rng: Rng) -> Problem:
    """A rule in pieces that stays above a curve."""
    z = Index("z", lsip.Box([0.0, 0.0], [1.0, 1.0]))
    rule, worst = Rule(of=z[:1], name="rule", pieces=int(rng.integers(2, 6))), Variable(name="worst")
    return Problem(minimize(worst), [forall(z, [rule >= np.abs(z[0] - rng.uniform(0.2, 0.8)), rule + z[1] <= worst])])


@drawn(10)
def polynomial_rule(rng: Rng) -> Problem:
    """A rule of degree two or three over an interval."""
    z = Index("z", Interval(-1, 1))
    rule, worst = Rule(of=z, name="rule", degree=int(rng.integers(2, 4))), Variable(name="worst")
    target = np.exp(rng.uniform(-1, 1) * z)
    return Problem(minimize(worst), [forall(z, [rule - target <= worst, target - rule <= worst])])


# Integers


@drawn(15)
def integers(rng: Rng) -> Problem:
    """A knapsack whose weights may deviate."""
    n = int(rng.integers(3, 9))
    take, z = (
        Variable(n, name="take", boolean=bool(rng.random() < 0.6), integer=True, lower=0, upper=3),
        Index("z", lsip.Budget(n, 2)),
    )
    weight = rng.uniform(5, 20, n)
    return Problem(
        maximize(rng.uniform(1, 5, n) @ take),
        [forall(z, (weight + 0.2 * weight * z) @ take <= 0.5 * weight.sum())],
    )


@drawn(10)
def integer_fit(rng: Rng) -> Problem:
    """A polynomial whose first coefficient is whole."""
    t, k, x = Index("t", Interval(0, 1)), Variable(name="k", integer=True, lower=-9, upper=9), Variable(2, name="x")
    said = k + t ** np.arange(1, 3) @ x >= np.sin(rng.uniform(2, 6) * t) + rng.uniform(-2, 2)
    return Problem(minimize(1.1 * k + x @ np.array([0.5, 1 / 3])), [forall(t, said)])


# Convex pieces and cones


@drawn(15)
def least_deviation(rng: Rng) -> Problem:
    """Sums of absolute values, maxima or a norm in the objective, and a constraint for all t."""
    n, t = int(rng.integers(2, 6)), Index("t", Interval(0, 1))
    x, A, b = Variable(n, name="x", lower=-10, upper=10), rng.normal(size=(2 * n, n)), rng.normal(size=2 * n)
    residual = A @ x - b
    cost = [lsip.norm1(residual), np.max(np.abs(residual)), np.linalg.norm(residual)][int(rng.integers(3))]
    return Problem(minimize(cost), [forall(t, _one_sided(rng, n, t, x))])


@drawn(15)
def norm_for_all(rng: Rng) -> Problem:
    """The smallest ball around an arc, or a norm of a moving residual."""
    c, r, t = Variable(2, name="c"), Variable(name="r"), Index("t", Interval(0, rng.uniform(1, 3)))
    curve = np.stack([rng.uniform(0.5, 2) * np.cos(t), rng.uniform(0.5, 2) * np.sin(t) + rng.uniform(-1, 1) * t])
    return Problem(minimize(r), [forall(t, np.linalg.norm(c - curve) <= r)])


@drawn(10)
def sums_of_maxima(rng: Rng) -> Problem:
    """An inventory whose orders follow demand, with the larger of two costs in every period."""
    periods = int(rng.integers(3, 9))
    mean, z, worst = rng.uniform(5, 15, periods), Index("z", lsip.Budget(periods, 2.0)), Variable(name="worst")
    stock, cost, rows = rng.uniform(0, 10), 0, []
    for k in range(periods):
        order = Rule(of=z[:k], name=f"order{k}")
        rows += [order >= 0, order <= 20]
        stock = stock + order - mean[k] * (1 + 0.3 * z[k])
        cost = cost + order + np.maximum(0.4 * stock, -2 * stock)
    return Problem(minimize(worst), [forall(z, [*rows, cost <= worst])])


@drawn(15)
def matrix_inequality(rng: Rng) -> Problem:
    """A largest eigenvalue, for all t or without an index."""
    size, x, e = int(rng.integers(2, 4)), Variable(2, name="x", lower=-1, upper=1), Variable(name="e")
    M = rng.normal(size=(3, size, size))
    M = (M + M.transpose(0, 2, 1)) / 2
    fixed = e * np.eye(size) - M[0] - x[0] * M[1]
    if rng.random() < 0.4:
        return Problem(minimize(e), [lsip.psd(fixed - x[1] * M[2])])
    t = Index("t", Interval(0, 1))
    return Problem(minimize(e), [forall(t, lsip.psd(fixed - x[1] * M[2] - np.cos(3 * t) * M[2]))])


# Integrals, expectations, ambiguity


@drawn(15)
def integrals(rng: Rng) -> Problem:
    """The least area above a function, with a moment or a mean that is fixed."""
    n, t = int(rng.integers(2, 6)), Index("t", Interval(0, 1))
    x = Variable(n, name="x", lower=-50, upper=50)
    curve = t ** np.arange(n) @ x
    said: list[Any] = [forall(t, _one_sided(rng, n, t, x))]
    said.append(lsip.integral(curve * np.exp(-t), t) <= 20 if rng.random() < 0.5 else lsip.integral(curve, t) >= -5)
    area = lsip.integral(curve * (1 + t) if rng.random() < 0.5 else curve, t)
    return Problem(minimize(area), said)


@drawn(15)
def ambiguity(rng: Rng) -> Problem:
    """A newsvendor who knows samples, a Wasserstein ball or moments."""
    order, demand = Variable(name="order", lower=0), Index("demand", Interval(0, 30))
    samples = rng.uniform(2, 25, int(rng.integers(3, 9))).round(2)
    over = [
        samples,
        lsip.ambiguity.Wasserstein(samples, radius=rng.uniform(0.1, 2)),
        lsip.ambiguity.Moments(samples.mean(), samples.var()),
    ][int(rng.integers(3))]
    sales = lsip.worst_expectation([-demand, -order], over)
    return Problem(minimize(order + rng.uniform(1.5, 4) * sales.value), sales.constraints)


@drawn(10)
def risk(rng: Rng) -> Problem:
    """The conditional value at risk of a portfolio, over samples or a Wasserstein ball."""
    share, returns = Variable(2, name="share", lower=0), Index("r", lsip.Box([-1, -1], [1, 1]))
    data = rng.normal(0.03, 0.08, (int(rng.integers(4, 9)), 2)).clip(-0.9, 0.9)
    over = data if rng.random() < 0.4 else lsip.ambiguity.Wasserstein(data, 0.002)
    worst = lsip.cvar(-(share @ returns), 0.5, over)
    return Problem(minimize(worst.value), [worst.constraints, share.sum() == 1])


# Parameters


def _changed(problem: Problem) -> Any:
    """Solve, change the values of all parameters by a few per cent, and solve again."""
    within_limits(problem)
    for parameter in problem.parameters:
        parameter.value = 1.03 * np.asarray(parameter.value)
    return within_limits(problem)


@drawn(15, _changed)
def parameters(rng: Rng) -> Problem:
    """Parameters in a formula, in the objective and in an index set."""
    n, t = int(rng.integers(2, 5)), Index("t", Interval(0, 1))
    rate, weights = (
        lsip.Parameter(name="rate", value=rng.uniform(0.5, 2)),
        lsip.Parameter(n, name="w", value=np.ones(n)),
    )
    x = Variable(n, name="x", lower=-20, upper=20)
    if rng.random() < 0.4:
        t = Index("t", Interval(0, 2).where(lambda s: s**2 <= rate))
    return Problem(
        minimize((weights / np.arange(1, n + 1)) @ x), [forall(t, t ** np.arange(n) @ x >= np.exp(rate * t))]
    )


# Sets without ends, unions, identities, rows that only just hold, equations, black boxes


@drawn(20)
def half_line(rng: Rng) -> Problem:
    """A polynomial above a line or a constant, on half lines or the whole line."""
    z = Variable(3, name="z", lower=-50, upper=50)
    start = rng.uniform(-2, 2)
    t = Index("t", Interval(*[(start, np.inf), (-np.inf, start), (-np.inf, np.inf)][int(rng.integers(3))]))
    curve = z[0] + z[1] * t + z[2] * t**2
    floor = rng.uniform(-1, 1) + (rng.uniform(-1, 1) * t if rng.random() < 0.5 else 0)
    return Problem(minimize(z @ np.array([1, rng.uniform(-0.5, 0.5), 1])), [forall(t, curve >= floor)])


@drawn(15)
def union(rng: Rng) -> Problem:
    """A fit on two intervals, with another degree of importance in each."""
    n, e = int(rng.integers(3, 7)), Variable(name="e")
    x, t = Variable(n, name="x"), Index("t", Interval(0, rng.uniform(0.2, 0.4)) | Interval(rng.uniform(0.5, 0.7), 1))
    error = t ** np.arange(n) @ x - np.exp(rng.uniform(-3, 3) * t)
    return Problem(minimize(e), [forall(t, [error <= e, -error <= e])])


@drawn(15)
def identity(rng: Rng) -> Problem:
    """An equality of polynomials for all t or all y, that leaves some freedom."""
    x, t = Variable(5, name="x", lower=-20, upper=20), Index("t", Interval(-1, 1))
    known = np.polynomial.Polynomial(rng.integers(-3, 4, 3).astype(float))
    said = x[0] + (x[1] + x[3]) * t + (x[2] - x[4]) * t**2 == known(t)
    return Problem(minimize(rng.normal(size=5) @ x), [forall(t, said), forall(t, x[3] * t + x[4] >= np.sin(3 * t))])


@drawn(20)
def just_holds(rng: Rng) -> Problem:
    """A trajectory with fixed ends whose speed has a sign: rows vanish where the ends are fixed."""
    n = int(rng.integers(4, 8))
    c, k, peak = Variable(n, name="c", lower=-60, upper=60), np.arange(1, n), Variable(name="peak")
    t = Index("t", Interval(0, 1))
    speed = (k * c[1:]) @ t ** (k - 1)
    said = [c[0] == 0, c.sum() == 1, c[1] == 0, (k * c[1:]).sum() == 0, forall(t, speed <= peak)]
    if rng.random() < 0.6:
        said.append(forall(t, speed >= 0))
    return Problem(minimize(peak + rng.uniform(0, 0.05) * c[-1]), said)


@drawn(10)
def implied_equation(rng: Rng) -> Problem:
    """Rows that are squeezed from both sides at a point, so that an equation follows."""
    x, t = Variable(4, name="x", lower=-5, upper=5), Index("t", Interval(0, 1))
    curve, ceiling = t ** np.arange(4) @ x, rng.uniform(0.5, 2) * t
    return Problem(minimize(rng.normal(size=4) @ x), [forall(t, [curve <= ceiling, curve >= -ceiling])])


def _by_functions(data: Any) -> Any:
    c, families, bounds = data
    return lsip.linsip(c, families, bounds=bounds, tol=1e-4, method=lsip.Exchange(max_iterations=ITERATIONS))


@drawn(15, _by_functions)
def black_box(rng: Rng) -> Any:
    """Functions that cannot be traced, with Lipschitz constants or without."""
    n, rate, known = int(rng.integers(2, 4)), rng.uniform(1, 4), bool(rng.random() < 0.6)

    def a(y: Any) -> Any:
        return np.array([[-(float(v) ** k) for k in range(n)] for v in y[:, 0]])

    def b(y: Any) -> Any:
        return np.array([-np.sin(rate * float(v)) for v in y[:, 0]])

    family = lsip.Family(Interval(0, 1), a, b, lipschitz=(n, rate) if known else None)
    return 1 / np.arange(1.0, n + 1), [family], (-5, 5)
