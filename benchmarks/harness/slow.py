"""Models that take long, for benchmarks of time limits: each is built first, and then solved within so many seconds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import lsip
from lsip import Ball, Box, Index, Interval, Problem, Simplex, Variable, catalogue, forall, maximize, minimize

from .models import MODELS
from .models.fits import best_fit
from .models.rules import inventory, lot_sizes
from .scaling import drawn, scaled

Solve = Callable[[float], Any]  # seconds -> something with the face of a Solution
SLOW: dict[str, Callable[[], Solve]] = {}


def _add(name: str, build: Callable[[], Any]) -> None:
    """A problem, or a program, to be built and solved."""

    def ready() -> Solve:
        problem = build()
        return lambda limit: problem.solve(verbose=False, time_limit=limit)

    SLOW[name] = ready


# ---- decision rules, and published models ----------------------------------------------------------------------------

for _periods in (10, 14, 24):
    _add(f"inventory_{_periods}", lambda periods=_periods: inventory(periods))
for _sites in (5, 8, 10):
    _add(f"lot_sizes_{_sites}", lambda sites=_sites: lot_sizes(sites))
for _name in ("momentopt_volume_d20", "julia_set_deg4", "chebfun_wiggly_d100", "cvx_broadband_array"):
    _add(_name, MODELS[_name].build)
for _name in ("ring_1000", "reemtsen4_d5"):
    _add(_name, catalogue.get(_name).build)


# ---- index sets of many dimensions -----------------------------------------------------------------------------------


def _bumps(m: int) -> Problem:
    """The highest point of eight rational bumps on a cube."""
    rng = np.random.default_rng(m)
    x, y = Variable(name="x"), Index("y", Box([0] * m, [1] * m))
    hills = 0
    for height, centre in zip(rng.uniform(0.5, 1.5, 8), rng.uniform(0.1, 0.9, (8, m)), strict=True):
        hills = hills + height / (1 + 20 * sum((y[k] - centre[k]) ** 2 for k in range(m)))
    return Problem(minimize(x), [forall(y, x >= hills)])


for _m in (4, 5, 6, 7):
    _add(f"bumps_{_m}", lambda m=_m: _bumps(m))


def _plumes(stacks: int) -> Problem:
    """The cheapest reduction of emissions that keeps the air within limits, on a square of 25 km with narrow plumes."""
    rng = np.random.default_rng(3)
    cut = Variable(stacks, name="cut", lower=0, upper=1)
    y = Index("y", Box([0, 0], [25, 25]))
    total = 0
    for k in range(stacks):
        place, height = rng.uniform(2, 15, 2), rng.uniform(0.1, 0.3)
        away, aside = y[0] - place[0], y[1] - place[1]
        behind = np.maximum(away, 0.05)
        width = 0.08 * behind**0.9
        strength = rng.uniform(0.5, 1.5) / behind * np.exp(-0.5 * (aside / width) ** 2 - height / behind)
        total = total + strength * (1 - cut[k])
    return Problem(minimize(rng.uniform(1, 3, stacks) @ cut), [forall(y, total <= 0.8)])


_add("plumes_4", lambda: _plumes(4))
_add("plumes_10", lambda: _plumes(10))


def _fit_on_ball() -> Problem:
    """A linear function nearest to a wave on a ball, where the maxima of the error are flat."""
    y = Index("y", Ball([0, 0, 0], 1))
    return best_fit(y, np.stack([y[0], y[1]]), np.sin(5 * y[0] * y[1]))


def _fit_in_four_dimensions() -> Problem:
    """Sixty waves in four coordinates."""
    rng = np.random.default_rng(4)
    y = Index("y", Box([0] * 4, [1] * 4))
    waves = np.cos(rng.uniform(-3, 3, (60, 4)).round(2) @ y)
    return best_fit(y, waves, np.exp(-((y[0] - y[1]) ** 2) - y[2] * y[3]))


_add("fit_ball_3", _fit_on_ball)
_add("fit_60_waves_m4", _fit_in_four_dimensions)


# ---- many variables --------------------------------------------------------------------------------------------------


def _free_cosines(n: int) -> Problem:
    """A cosine polynomial above a kink, with free coefficients."""
    x, t = Variable(n, name="x"), Index("t", Interval(0, np.pi))
    return Problem(minimize(x[0]), [forall(t, np.cos(np.arange(n) * t) @ x >= np.abs(t - 1))])


def _wide(n: int) -> Problem:
    """Many bounded variables under one family, and two hundred dense rows."""
    rng = np.random.default_rng(5)
    x, t = Variable(n, name="x", lower=0, upper=1), Index("t", Interval(0, 1))
    rows = rng.uniform(0, 1, (200, n))
    below = forall(t, (1 + np.sin(rng.uniform(1, 6, n) * t)) @ x <= n / 20 * (1 + t))
    return Problem(maximize(rng.uniform(1, 2, n) @ x), [below, rows @ x <= n / 10])


_add("free_cosines_100", lambda: _free_cosines(100))
_add("free_cosines_300", lambda: _free_cosines(300))
_add("wide_5000", lambda: _wide(5000))


# ---- other doors -----------------------------------------------------------------------------------------------------


def _plan(states: int) -> Solve:
    """A decision process with five successors a pair, in sparse form."""
    from scipy import sparse

    import rl

    rng, actions, next_states = np.random.default_rng(6), 4, 5
    pairs = states * actions
    weights = rng.exponential(size=(pairs, next_states))
    weights /= weights.sum(axis=1, keepdims=True)
    places = (np.repeat(np.arange(pairs), next_states), rng.integers(0, states, pairs * next_states))
    chain = sparse.csr_matrix((weights.ravel(), places), shape=(pairs, states))
    chain = sparse.csr_matrix(sparse.diags_array(1 / np.asarray(chain.sum(axis=1)).ravel()) @ chain)
    y = Index("y", Interval(0, 1))
    centre = rng.uniform(0, 1, states)
    cost = np.exp(-20 * (y - centre) ** 2)
    mdp = rl.SICMDP(chain, rng.uniform(0, 1, (states, actions)), cost, 4.0 - 0.2 * y, y, None, 0.9)
    return lambda limit: rl.plan(mdp, time_limit=limit)


SLOW["plan_2000"] = lambda: _plan(2000)
SLOW["plan_5000"] = lambda: _plan(5000)


def _ray() -> Problem:
    """Four free variables over a simplex, with an objective that may have no end."""
    x, y = Variable(4, name="x"), Index("y", Simplex(2))
    left = np.sin(y[0] - y[1]) * x[0] + np.cos(2 * y[1]) * x[1] + np.exp(-y[0]) * x[2] + (y[0] * y[1] - 0.1) * x[3]
    return Problem(minimize(0.3 * x[0] - x[1] - 0.7 * x[2] + 0.2 * x[3]), [forall(y, left <= 1 + np.exp(y[0]))])


_add("ray_simplex_2", _ray)


def _in_other_units() -> lsip.Program:
    """A fit in two coordinates in units that keep HiGHS busy for minutes."""
    program = catalogue.get("reemtsen_inv_d3").build().compile()
    return scaled(program, drawn(program, np.random.default_rng([0, 3, 56]), 10))


_add("other_units", _in_other_units)


def _cvxpy_norms(n: int) -> Any:
    """The smallest coefficients that fit a wave within a band: a norm for an objective, and a family for all y."""
    import cvxpy as cp

    from lsip.interop.cvxpy import Index as CvxpyIndex
    from lsip.interop.cvxpy import Problem as CvxpyProblem
    from lsip.interop.cvxpy import forall as cvxpy_forall

    rng = np.random.default_rng(7)
    x, y = cp.Variable(n), CvxpyIndex("y", Box([0, 0], [1, 1]))
    rate = rng.uniform(-4, 4, (n, 2)).round(2)
    error = sum(np.cos(rate[k, 0] * y[0] + rate[k, 1] * y[1]) * x[k] for k in range(n)) - np.sin(3 * y[0] * y[1])
    return CvxpyProblem(
        cp.Minimize(cp.norm(x, 1) + cp.sum_squares(x)),
        [cvxpy_forall(y, error <= 0.05), cvxpy_forall(y, -error <= 0.05)],
    )


_add("cvxpy_norms_30", lambda: _cvxpy_norms(30))


def _decomposed(n: int) -> Solve:
    """A ball of n dimensions, known by its linear maximisation, under a family of rows."""
    rng = np.random.default_rng(8)
    x, y = Variable(n, name="x", lower=-1, upper=1), Index("y", Box([0, 0], [1, 1]))
    rows = np.cos(rng.uniform(-12, 12, (n, 2)).round(2) @ y + rng.uniform(0, 3, n).round(2))
    problem = Problem(maximize(rng.normal(size=n) @ x), [forall(y, rows @ x <= 0.05 + 0.05 * y[0])])

    def furthest(w: Any) -> lsip.Extreme:
        size = float(np.linalg.norm(w))
        return lsip.Extreme(w / max(size, 1e-300), size * (1 + 1e-14))

    return lambda limit: lsip.decompose(problem, furthest, time_limit=limit)


SLOW["decompose_100"] = lambda: _decomposed(100)
SLOW["decompose_1000"] = lambda: _decomposed(1000)

QUICK = ("inventory_14", "lot_sizes_8", "bumps_6", "plumes_10", "fit_60_waves_m4", "free_cosines_300", "plan_2000")
QUICK += ("cvxpy_norms_30", "decompose_1000", "other_units")
