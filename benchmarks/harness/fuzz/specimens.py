"""Objects that calls need, and that have the methods that are called: small ones, each of them valid."""

from __future__ import annotations

import operator
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

import envs
import lsip
import rl
from envs import classic, ship, spraying

mpl.use("Agg")


@cache
def folder() -> Path:
    """Where files go that a call may write."""
    return Path(tempfile.mkdtemp(prefix="lsip-fuzz-"))


def variable() -> lsip.Variable:
    return lsip.Variable(2, name="x", lower=-10, upper=10)


def index() -> lsip.Index:
    return lsip.Index("t", lsip.Interval(0, 1))


def vector() -> lsip.Index:
    return lsip.Index("y", lsip.Box([1, 1], [2, 2]))


@cache
def fixed() -> lsip.Variable:
    return variable()


def statement() -> tuple[Any, Any]:
    x, t = variable(), index()
    return t, x[0] + x[1] * t >= t**2


def formula() -> tuple[Any, lsip.Index]:
    t = index()
    return t**2 + np.sin(t), t


def questions() -> tuple[lsip.Problem, dict[str, list[float]]]:
    """A problem with a parameter, and values of it."""
    x, t, p = variable(), index(), lsip.Parameter(name="p", value=1.0)
    rows = lsip.forall(t, x[0] + x[1] * t >= p * t**2)
    return lsip.Problem(lsip.minimize(x[0] + x[1] / 2), [rows]), {"p": [1.0, 2.0]}


def problem() -> lsip.Problem:
    x, t = variable(), index()
    rows = lsip.forall(t, x[0] + x[1] * t >= t**2, name="above")
    return lsip.Problem(lsip.minimize(x[0] + x[1] / 2), [rows, x[0] <= 5])


@cache
def solution() -> lsip.Solution:
    return problem().solve(verbose=False)


@cache
def saved() -> Path:
    path = folder() / "solution.npz"
    solution().save(path)
    return path


@cache
def saved_problem() -> Path:
    path = folder() / "problem.json"
    problem().save(path)
    return path


def family() -> lsip.Family:
    return lsip.Family(
        lsip.Interval(0, 1), lambda y: -np.stack([np.ones(len(y)), y[:, 0]], 1), lambda y: -(y[:, 0] ** 2)
    )


def violation() -> Any:
    return problem().compile().violation(0, np.array([0.5, 1.0]))


def rows() -> Any:
    return problem().compile().families[0]


@cache
def mdp() -> rl.SICMDP:
    return envs.sewage(states=3, actions=2, seed=0)


def uniform() -> Any:
    return rl.uniform_policy(3, 2)


@cache
def plan() -> rl.Plan:
    return rl.plan(mdp())


@cache
def saved_plan() -> Path:
    path = folder() / "plan.npz"
    plan().save(path)
    return path


@cache
def data() -> rl.Dataset:
    return mdp().sample(20, seed=0)


@cache
def models() -> rl.OptimisticSet:
    return data().optimistic_set(0.1)


def learner() -> rl.SICPO:
    return rl.SICPO(mdp(), **quick())


def quick() -> dict[str, Any]:
    return {"update": rl.NPG(30, 5), "evaluation": rl.MonteCarlo(50, 6), "device": "cpu"}


@cache
def saved_learner() -> Path:
    path = folder() / "learner.npz"
    learned().save(path)
    return path


@cache
def learned() -> rl.SICPO:
    return learner().learn(1)


def small() -> dict[str, Any]:
    return {"hidden": (4,), "episodes": 4, "epochs": 1, "device": "cpu"}


def ships() -> ship.ShipRouteVector:
    return ship.ShipRouteVector(4, max_episode_steps=5)


def deep() -> rl.SICPPO:
    return rl.SICPPO(ships(), ship.constraint(), **small())


@cache
def saved_deep() -> Path:
    path = folder() / "deep.npz"
    deep().learn(20).save(path)
    return path


def price(y: Any, s: Any, a: Any) -> Any:
    return 0.1 * y[:, 0]


def price_everywhere(y: Any, s: Any, a: Any) -> Any:
    return 0.1 * y[:, :1] * np.ones(len(s))


def price_of_pairs(y: Any) -> Any:
    return 0.1 * y[:, 0, None, None] * np.ones((3, 2))


def price_of_steps(s: Any, a: Any) -> Any:
    return np.ones(len(s))


@cache
def line() -> rl.SICMDP:
    """A model whose index is a number."""
    model = mdp()
    return rl.SICMDP(model.P, model.r, price_of_pairs, 1.0, lsip.Interval(0, 1))


@cache
def table() -> Path:
    path = folder() / "transitions.csv"
    path.write_text("0,1,2\n1,0,0\n", encoding="utf-8")
    return path


def figure() -> Any:
    return rl.plotting.figure()


def axes() -> Any:
    return figure().gca()


def sets() -> rl.theory.IndexSet:
    return rl.theory.IndexSet(2, 1.0, 1.0, 1.0, 0.5)


def policies() -> rl.theory.PolicyClass:
    return rl.theory.PolicyClass(2, 1.0, 1.0, 1.0, 1.0)


def linear() -> tuple[Any, Any]:
    """What is affine in an index, and the index."""
    z = lsip.Index("z", lsip.Box([-1, -1], [1, 1]))
    return lsip.Variable(2, name="x") @ z, z


def over() -> tuple[Any, Any]:
    return linear()[0], lsip.ambiguity.Wasserstein(np.zeros((2, 2)), 0.1)


def decomposed() -> tuple[Any, Any]:
    """The least sum of costs over a simplex of plans, and who proposes plans."""
    x, t = lsip.Variable(2, name="x", lower=0, upper=1), index()
    model = lsip.Problem(lsip.maximize(x[0]), [lsip.forall(t, x[0] - x[1] + 0 * t <= 0.5 + t)])
    corners = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])

    def maximise(d: Any) -> lsip.Extreme:
        best = int(np.argmax(corners @ d))
        return lsip.Extreme(corners[best], float(corners[best] @ d))

    return model, maximise


def matrix() -> Any:
    x = variable()
    return x[0] * np.eye(2) + x[1] * np.ones((2, 2))


def curve() -> Any:
    from scipy.interpolate import CubicSpline

    return CubicSpline([0.0, 0.5, 1.0], [0.0, 1.0, 0.0])


def painted() -> tuple[Any, Any, Any]:
    drawn = figure()
    panel = drawn.gca()
    return drawn, panel.imshow(np.eye(2)), [panel]


def first(generator: Any, *arguments: Any, **options: Any) -> Any:
    """What a generator yields first: before that, nothing is looked at."""
    return next(iter(generator(*arguments, **options)))


def toll(observations: Any, actions: Any) -> Any:
    """The cost of a step."""
    return np.abs(np.asarray(observations)[:, 0])


def begun(env: Any) -> Any:
    env.reset(seed=0)
    return env


DOMAINS: dict[str, Any] = {
    "Ball": lambda: lsip.Ball([0, 0], 1),
    "Box": lambda: lsip.Box([0, 0], [1, 1]),
    "Budget": lambda: lsip.Budget(2, 1),
    "Ellipsoid": lambda: lsip.Ellipsoid([0, 0], np.eye(2)),
    "Finite": lambda: lsip.Finite([[0, 1], [2, 3]]),
    "Interval": lambda: lsip.Interval(0, 1),
    "Intersection": lambda: lsip.Intersection(lsip.Box([0, 0], [1, 1]), lsip.Ball([0, 0], 1)),
    "Polytope": lambda: lsip.Polytope(np.vstack([np.eye(2), -np.eye(2)]), np.ones(4)),
    "Product": lambda: lsip.Interval(0, 1) * lsip.Ball([0, 0], 1),
    "Region": lambda: lsip.Box([0, 0], [1, 1]).where(lambda y: y[0] + y[1] <= 1),
    "Simplex": lambda: lsip.Simplex(2),
    "Union": lambda: lsip.Interval(0, 1) | lsip.Interval(2, 3),
}
TERMS = (operator.add, operator.sub, operator.mul, operator.truediv, operator.matmul)
OPERATORS: dict[Any, Any] = dict.fromkeys((*TERMS, operator.le, operator.ge, operator.eq), np.array([1.0, 2.0]))
OPERATORS |= {operator.pow: 2, operator.getitem: 0}
VECTORS = (
    ("ShipRouteVector", ships, (4, 1)),
    ("SprayingVector", lambda: spraying.SprayingVector(4), (4, 3)),
    ("PendulumVector", lambda: classic.PendulumVector(4), (4, 1)),
)


# ---- what `surface.py` looks up --------------------------------------------------------------------------------------


def door() -> tuple[Any, Any, Any]:
    """A model of the CVXPY door: its variable, its index and its constraint."""
    import cvxpy as cp

    from lsip.interop import cvxpy as opened

    x, t = cp.Variable(2, name="x"), opened.Index("t", lsip.Interval(0, 1))
    return x, t, opened.forall(t, x[0] + x[1] * t >= t**2)


def door_problem() -> Any:
    import cvxpy as cp

    from lsip.interop import cvxpy as opened

    x, _, rows = door()
    return opened.Problem(cp.Minimize(x[0] + x[1] / 2), [rows, x <= 10, x >= -10])


@cache
def door_solution() -> Any:
    return door_problem().solve()


@cache
def door_convex() -> Any:
    import cvxpy as cp

    from lsip.interop import cvxpy as opened

    x, _, rows = door()
    return opened.Problem(cp.Minimize(cp.sum_squares(x)), [rows, x <= 10, x >= -10]).solve()


def pyomo_model() -> Any:
    import pyomo.environ as pyo
    from pyomo.dae import ContinuousSet

    m = pyo.ConcreteModel()
    m.x, m.t = pyo.Var(range(2), bounds=(-10, 10)), ContinuousSet(bounds=(0, 1))
    m.cost = pyo.Objective(expr=m.x[0] + m.x[1] / 2)
    m.above = pyo.Constraint(m.t, rule=lambda m, t: m.x[0] + m.x[1] * t >= t**2)
    return m


@cache
def decided() -> Any:
    """A decision rule that was found."""
    t = index()
    rule, most = lsip.Rule(of=t, name="order"), lsip.Variable(name="most", lower=-5, upper=5)
    found = lsip.Problem(lsip.minimize(most), [lsip.forall(t, rule >= t), lsip.forall(t, rule <= most)])
    return found.solve(verbose=False)[rule]


def objective_of_door() -> Any:
    import cvxpy as cp

    return cp.Minimize(cp.sum(cp.Variable(2, name="x")))


def index_of_door() -> Any:
    return door()[1]


def rows_of_door() -> Any:
    return door()[2]


@cache
def decomposition() -> Any:
    return lsip.decompose(*decomposed(), verbose=False)


@cache
def learnt() -> Any:
    return rl.si_crl(data(), mdp().specification, 0.1, iterations=3)


@cache
def saved_lagrangian() -> Path:
    from rl.baselines import PPOLagrangian

    path = folder() / "lagrangian.npz"
    PPOLagrangian(ships(), ship.constraint(), **small()).learn(20).save(path)
    return path


INSTANCES: dict[str, Any] = {  # objects of classes that are not made by a call of their own
    "Constraint": lambda: variable()[0] <= 1,
    "Convex": lambda: lsip.norm1(variable()),
    "ConvexSolution": door_convex,
    "Decomposition": decomposition,
    "DecisionRule": decided,
    "Domain": DOMAINS["Box"],
    "Expression": lambda: vector() + 1,
    "ForAll": rows_of_door,
    "Learned": learnt,
    "ModelSolution": door_solution,
    "Program": lambda: problem().compile(),
    "Region": DOMAINS["Region"],
    "SemiInfiniteCost": ship.constraint,
} | {f"cvxpy.{name}": make for name, make in (("Index", index_of_door), ("Problem", door_problem))}
ARGUMENTS: dict[str, Any] = {  # by the name of the parameter, alone or after the function's
    "Decomposition.__getitem__.item": lambda: decomposition().variables[0],
    "Decomposition.reduced_costs.variable": lambda: decomposition().variables[0],
    "Index.__init__.name": lambda: "t",
    "PPOLagrangian.load.path": saved_lagrangian,
    "Problem.objective": objective_of_door,
    "SICPPO.load.path": saved_lagrangian,
    "SemiInfiniteCost.bounds.y": lambda: np.array([[0.5]]),
    "SemiInfiniteCost.steps.actions": lambda: np.zeros((1, 1)),
    "SemiInfiniteCost.steps.observations": lambda: np.array([[0.5, 0.0]]),
    "SemiInfiniteCost.steps.y": lambda: np.array([[0.5]]),
    "RunningTotal.__init__.constraint": lambda: toll,
    "axis": lambda: 0,
    "chance.Y": DOMAINS["Interval"],
    "chance.bound": lambda: 0.5,
    "chance.cost": lambda: toll,
    "constraint": lambda: rows_of_door().constraint,
    "cvar.bound": lambda: 0.5,
    "cvar.cost": lambda: toll,
    "cvar.levels": lambda: lsip.Interval(0.1, 0.9),
    "data": lambda: np.array([[0.5]]),
    "domain": DOMAINS["Interval"],
    "dominance.Y": DOMAINS["Interval"],
    "dominance.bound": lambda: 0.5,
    "dominance.cost": lambda: toll,
    "env": ships,
    "family": lambda: 0,
    "index": index_of_door,
    "item": lambda: "x",
    "key": lambda: 0,
    "model": pyomo_model,
    "n": lambda: 3,
    "oracle": lambda: lsip.oracles.Grid(),
    "other": lambda: np.ones(2),
    "path": lambda: folder() / "drawn.png",
    "problem": problem,
    "policy": uniform,
    "report.path": lambda: folder() / "page.html",
    "r": variable,
    "rng": lambda: np.random.default_rng(0),
    "simulator": lambda: learner().simulator,
    "statewise.bound": lambda: 0.5,
    "statewise.cost": lambda: np.ones((3, 2)),
    "variable": lambda: "x",
    "violation": violation,
    "y": lambda: np.array([0.5]),
}
SEVERAL: dict[str, Any] = {"shape": lambda: [1, 2]}
PLAIN: dict[type, Any] = {str: lambda: "abc", int: lambda: 2, float: lambda: 0.5, bool: lambda: True, Path: saved}
