"""Valid calls of everything public: each is the function, and the arguments with which it works."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from functools import cache, partial
from types import ModuleType
from typing import Any, NamedTuple, get_args, get_type_hints

import gymnasium as gym
import numpy as np

import envs
import lsip
import rl
from envs import classic, ship, spraying
from lsip import ambiguity, bases, catalogue, oracles
from rl import baselines, plotting, rules, theory

from . import specimens as own

ORACLES = (
    oracles.AdaptiveSearch,
    oracles.BranchAndBound,
    oracles.Grid,
    oracles.Multistart,
    oracles.ProjectedSubgradient,
    oracles.RandomSearch,
    oracles.SupportFunction,
)


class Call(NamedTuple):
    """A call that works."""

    function: Callable[..., Any]
    positional: tuple[Any, ...]
    named: dict[str, Any]


def call(function: Callable[..., Any], *positional: Any, **named: Any) -> Call:
    return Call(function, positional, named)


UNIT, POINTS = np.array([0.25, 0.5]), np.array([[0.0, 1.0], [2.0, 3.0]])
BOX = lsip.Box([0, 0], [1, 1])
THEORY = {"gamma": 0.9, "eps": 0.1}


def made() -> Iterator[tuple[str, Callable[[], Call]]]:
    """What makes an object."""
    yield "lsip.Ball", lambda: call(lsip.Ball, centre=UNIT.copy(), radius=1.0)
    yield "lsip.Box", lambda: call(lsip.Box, lower=np.zeros(2), upper=np.ones(2))
    yield "lsip.Budget", lambda: call(lsip.Budget, m=3, budget=2.0)
    yield "lsip.Counterpart", lambda: call(lsip.Counterpart)
    yield "lsip.Exchange", lambda: call(lsip.Exchange)
    yield "lsip.Ellipsoid", lambda: call(lsip.Ellipsoid, centre=UNIT.copy(), shape=np.eye(2))
    yield "lsip.Extreme", lambda: call(lsip.Extreme, x=UNIT.copy(), bound=1.0)
    yield "lsip.Family", lambda: call(_solved_family, **own.family().__dict__)
    yield "lsip.Finite", lambda: call(lsip.Finite, points=POINTS.copy())
    yield "lsip.Index", lambda: call(lsip.Index, name="t", domain=lsip.Interval(0, 1))
    yield "lsip.Intersection", lambda: call(lsip.Intersection, BOX, lsip.Ball([0, 0], 1))
    yield "lsip.Interval", lambda: call(lsip.Interval, lower=0.0, upper=1.0)
    yield "lsip.Parameter", lambda: call(lsip.Parameter, shape=2)
    yield "lsip.Polytope", lambda: call(lsip.Polytope, A=np.vstack([np.eye(2), -np.eye(2)]), b=np.ones(4))
    yield "lsip.Problem", lambda: call(lsip.Problem, objective=lsip.minimize(own.variable()[0]), constraints=[])
    yield "lsip.Product", lambda: call(lsip.Product, lsip.Interval(0, 1), lsip.Interval(0, 2))
    yield "lsip.Rule", lambda: call(lsip.Rule, shape=2, of=own.index())
    yield "lsip.Simplex", lambda: call(lsip.Simplex, m=3)
    yield "lsip.Tuning", lambda: call(lsip.Tuning)
    yield "lsip.Union", lambda: call(lsip.Union, lsip.Interval(0, 1), lsip.Interval(2, 3))
    yield "lsip.Variable", lambda: call(lsip.Variable, shape=2)
    for kind in ORACLES:
        yield f"lsip.oracles.{kind.__name__}", lambda kind=kind: call(kind)
    yield "lsip.ambiguity.Moments", lambda: call(ambiguity.Moments, mean=np.zeros(2), covariance=np.eye(2))
    yield "lsip.ambiguity.Wasserstein", lambda: call(ambiguity.Wasserstein, samples=POINTS.copy(), radius=0.1)
    for kind in (
        rl.NPG,
        rl.PPO,
        rl.TRPO,
        rl.BatchedSearch,
        rl.CertifyTuning,
        rl.Exact,
        rl.MonteCarlo,
        rl.PolicyGradient,
        rl.RayRollouts,
        rl.SICPPOConfig,
    ):
        yield f"rl.{kind.__name__}", lambda kind=kind: call(kind)
    yield "rl.TemporalDifference", lambda: call(rl.TemporalDifference)
    yield "rl.BinaryModel", lambda: call(rl.BinaryModel, specification=own.mdp().specification)
    yield "rl.Dataset", lambda: call(rl.Dataset, counts=np.ones((3, 2, 3), dtype=np.int64))
    yield "rl.EPO", lambda: call(rl.EPO, problem=own.mdp(), **own.quick())
    yield "rl.Linear", lambda: call(rl.Linear, start=1.0)
    yield "rl.MLPCategorical", lambda: call(rl.MLPCategorical, observations=2, actions=3)
    yield "rl.MLPGaussian", lambda: call(rl.MLPGaussian, observations=2, actions=3)
    yield "rl.SoftmaxTable", lambda: call(rl.SoftmaxTable, states=2, actions=3)
    yield "rl.OptimisticSet", lambda: call(rl.OptimisticSet, centre=own.models().centre, radius=own.models().radius)
    yield "rl.SICMDP", lambda: call(rl.SICMDP, own.mdp().P, own.mdp().r, own.price_of_pairs, 1.0, lsip.Interval(0, 1))
    yield "rl.SICPO", lambda: call(rl.SICPO, problem=own.mdp(), **own.quick())
    yield "rl.SICPPO", lambda: call(rl.SICPPO, env=own.ships(), constraint=ship.constraint(), **own.small())
    yield "rl.SemiInfiniteCost", lambda: call(rl.SemiInfiniteCost, lsip.Interval(0, 1), own.price, 2.5)
    yield (
        "rl.Specification",
        lambda: call(rl.Specification, r=own.mdp().r, constraint=own.mdp().specification.constraint),
    )
    yield "rl.WorstCost", lambda: call(rl.WorstCost, gym.make("lsip/ShipRoute-v0"), constraint=ship.constraint())
    yield "rl.RunningTotal", lambda: call(rl.RunningTotal, gym.make("lsip/ShipRoute-v0"), lambda o, a: o[:, 0])
    yield "rl.WorstPoint", lambda: call(rl.WorstPoint, constraint=ship.constraint())
    yield "rl.InfeasibleError", lambda: call(rl.InfeasibleError, message="none")
    yield "rl.baselines.CRPO", lambda: call(baselines.CRPO, problem=own.mdp(), points=9, **own.quick())
    yield "rl.baselines.FixedGrid", lambda: call(baselines.FixedGrid, per_axis=5)
    yield (
        "rl.baselines.PPOLagrangian",
        lambda: call(baselines.PPOLagrangian, env=own.ships(), constraint=ship.constraint(), **own.small()),
    )
    for kind in (rules.Switch, rules.Exchange, rules.Lagrangian):
        yield f"rl.rules.{kind.__name__}", lambda kind=kind: call(kind)
    yield "rl.theory.IndexSet", lambda: call(theory.IndexSet, dimension=2, diameter=1.0, lipschitz=1.0)
    yield "rl.theory.PolicyClass", lambda: call(theory.PolicyClass, 2, 1.0, 1.0, 1.0, 1.0)
    for kind in (classic.Angles, classic.Distances, ship.ShipRoute, spraying.Spraying):
        yield f"{kind.__module__}.{kind.__name__}", lambda kind=kind: call(kind)
    for kind in (classic.PendulumVector, ship.ShipRouteVector, spraying.SprayingVector):
        yield f"{kind.__module__}.{kind.__name__}", lambda kind=kind: call(kind, num_envs=2)


def _solved_family(**parts: Any) -> Any:
    """A family is looked at when it is used."""
    return lsip.linsip([1.0, 0.5], [lsip.Family(**parts)], bounds=(-10, 10))


def functions() -> Iterator[tuple[str, Callable[[], Call]]]:
    """What is not a class."""
    yield "lsip.chance", lambda: call(lsip.chance, own.linear()[0], 0.9, ambiguity.Moments(np.zeros(2), np.eye(2)))
    yield "lsip.cvar", lambda: call(lsip.cvar, own.linear()[0], 0.9, ambiguity.Moments(np.zeros(2), np.eye(2)))
    yield "lsip.worst_expectation", lambda: call(lsip.worst_expectation, *own.over())
    yield "lsip.decompose", lambda: call(lsip.decompose, *own.decomposed(), time_limit=1)
    yield "lsip.exchange", lambda: call(partial(own.first, lsip.exchange), own.problem())
    yield "lsip.expectation", lambda: call(lsip.expectation, *own.linear())
    yield "lsip.integral", lambda: call(lsip.integral, *own.linear())
    yield "lsip.forall", lambda: call(lsip.forall, *own.statement())
    yield "lsip.info", lambda: call(lsip.info)
    yield "lsip.linsip", lambda: call(lsip.linsip, [1.0, 0.5], [own.family()], bounds=(-10, 10))
    yield "lsip.load", lambda: call(lsip.load, path=own.saved())
    yield "lsip.maximize", lambda: call(lsip.maximize, expression=own.variable()[0])
    yield "lsip.minimize", lambda: call(lsip.minimize, expression=own.variable()[0])
    yield "lsip.norm1", lambda: call(lsip.norm1, u=own.variable())
    yield "lsip.norm_inf", lambda: call(lsip.norm_inf, u=own.variable())
    yield "lsip.psd", lambda: call(lsip.psd, matrix=own.matrix())
    yield "lsip.sum_squares", lambda: call(lsip.sum_squares, r=own.variable())
    yield "lsip.scenario_count", lambda: call(lsip.scenario_count, variables=3, risk=0.1, confidence=0.9)
    yield "lsip.spline", lambda: call(lsip.spline, own.curve(), own.index())
    yield "lsip.derivative", lambda: call(lsip.derivative, *own.formula(), order=1)
    yield "lsip.gradient", lambda: call(lsip.gradient, *own.formula())
    yield "Problem.solve_many", lambda: call((given := own.questions())[0].solve_many, given[1], verbose=False)
    for basis in (bases.monomial, bases.chebyshev, bases.legendre):
        yield f"lsip.bases.{basis.__name__}", lambda basis=basis: call(basis, t=own.index(), degree=3)
    yield "lsip.catalogue.get", lambda: call(catalogue.get, name="tfi2_tan_n3")
    yield "lsip.catalogue.search", lambda: call(catalogue.search, text="fir")
    yield "lsip.catalogue.names", lambda: call(catalogue.names)
    yield "lsip.catalogue.entries", lambda: call(catalogue.entries)
    for kind in (oracles.is_costly, oracles.is_instant, oracles.is_prover, oracles.tuned):
        yield f"lsip.oracles.{kind.__name__}", lambda f=kind: call(f, oracle=oracles.BranchAndBound())
    for kind in (oracles.pick_oracle, oracles.prover):
        yield f"lsip.oracles.{kind.__name__}", lambda f=kind: call(f, family=own.rows())
    for kind in (oracles.sought, oracles.supremum):
        yield f"lsip.oracles.{kind.__name__}", lambda f=kind: call(f, violation=own.violation())
    yield "lsip.ambiguity.hoeffding", lambda: call(ambiguity.hoeffding, m=3, risk=0.1)
    yield "rl.certify", lambda: call(rl.certify, problem=own.mdp(), evidence=own.plan())
    unit = lsip.Index("y", lsip.Interval(0, 1))
    for kind in (rl.dominance, rl.chance):
        yield f"rl.{kind.__name__}", lambda kind=kind: call(kind, [0.0, 1.0], 1 - unit / 2, unit)
    yield "rl.cvar", lambda: call(rl.cvar, [0.0, 1.0], (1 + unit) / 2, unit)
    yield "rl.statewise", lambda: call(rl.statewise, np.ones((2, 2)), 1.0, unit)
    yield "rl.plan", lambda: call(rl.plan, mdp=own.mdp(), time_limit=1.0)
    yield "rl.plan_optimistically", lambda: call(rl.plan_optimistically, own.mdp().specification, own.models())
    yield "rl.policy_of", lambda: call(rl.policy_of, occupancy=own.plan().occupancy)
    yield "rl.si_crl", lambda: call(rl.si_crl, own.data(), own.mdp().specification, 0.1, iterations=3)
    yield "rl.si_crl_steps", lambda: call(partial(own.first, rl.si_crl_steps), own.data(), own.mdp().specification, 0.1)
    yield "rl.uniform_policy", lambda: call(rl.uniform_policy, states=3, actions=2)
    yield "rl.baselines.discretise", lambda: call(baselines.discretise, problem=own.mdp(), points=3)
    yield "rl.plotting.figure", lambda: call(plotting.figure)
    yield "rl.plotting.save", lambda: call(plotting.save, own.figure(), own.folder() / "drawn.png")
    yield "rl.plotting.heat", lambda: call(plotting.heat, violation=UNIT.copy())
    yield "rl.plotting.violation_map", lambda: call(plotting.violation_map, own.mdp(), own.uniform())
    yield "rl.plotting.violation_curve", lambda: call(plotting.violation_curve, own.line(), own.uniform())
    yield "rl.plotting.colour_bar", lambda: call(plotting.colour_bar, *own.painted())
    yield "rl.plotting.curves", lambda: call(plotting.curves, {"a": (np.arange(3), np.arange(3))})
    yield "rl.plotting.bands", lambda: call(plotting.bands, {"a": (np.arange(3), np.eye(3))})
    yield "rl.plotting.interquartile", lambda: call(plotting.interquartile, values=np.eye(3), resamples=10)
    yield "rl.plotting.mean_and_error", lambda: call(plotting.mean_and_error, values=np.eye(3))
    yield from _theory()
    for kind in (envs.drone, envs.load_balancing, envs.sewage):
        yield f"envs.{kind.__name__}", lambda f=kind: call(f)
    yield "envs.paper.sewage", lambda: call(envs.paper.sewage)
    yield "envs.paper.ship", lambda: call(envs.paper.ship, copies=2)
    yield "envs.ship.constraint", lambda: call(ship.constraint)
    yield "envs.ship.route", lambda: call(ship.route, headings=np.zeros(5))
    yield "envs.ship.violations", lambda: call(ship.violations, positions=np.zeros((5, 2)), y=np.zeros((3, 2)))
    yield "envs.ship.reference_routes", lambda: call(ship.reference_routes)
    yield "envs.ship.draw", lambda: call(ship.draw, axes=own.axes(), positions=np.zeros((5, 2)))
    yield "envs.spraying.constraint", lambda: call(spraying.constraint)
    yield "envs.spraying.route", lambda: call(spraying.route, actions=np.zeros((5, 3)))
    yield "envs.spraying.violations", lambda: call(spraying.violations, np.zeros((6, 2)), np.zeros(5), np.zeros((3, 2)))
    yield "envs.spraying.optimised_route", lambda: call(spraying.optimised_route, steps=3, starts=1)
    yield "envs.spraying.reference_route", lambda: call(spraying.reference_route)
    yield "envs.spraying.draw", lambda: call(spraying.draw, own.axes(), np.zeros((6, 2)), np.zeros(5))


def _theory() -> Iterator[tuple[str, Callable[[], Call]]]:
    given: dict[str, Any] = {
        "states": 3,
        "actions": 2,
        "gamma": 0.9,
        "eps": 0.1,
        "delta": 0.1,
        "n": 1000,
        "nu_min": 0.1,
    }
    given |= {"failure": 0.1, "separation": 0.1, "radius": 0.1, "index": own.sets(), "policy": own.policies()}
    for name, function in _public(theory):
        if inspect.isfunction(function):
            needed = [p.name for p in inspect.signature(function).parameters.values() if p.default is p.empty]
            named = {p: given[p] for p in needed}
            yield f"rl.theory.{name}", lambda f=function, named=named: call(f, **named)


def methods() -> Iterator[tuple[str, Callable[[], Call]]]:
    """What objects do."""
    for name, make in own.DOMAINS.items():
        point = make().centre if hasattr(make(), "centre") else make().sample(1, 0)[0]
        for method, given in (
            ("contains", {"y": point}),
            ("project", {"y": point}),
            ("sample", {"n": 3}),
            ("spread", {"n": 3}),
            ("grid", {"per_axis": 3}),
            ("support", {"d": np.ones(make().dim)}),
            ("where", {"rule": lambda y: (y if y.ndim == 0 else y[0]) >= -5}),
        ):
            yield f"{name}.{method}", lambda make=make, m=method, g=given: call(getattr(make(), m), **g)
    x = own.variable
    for function, argument in own.OPERATORS.items():
        symbol = function.__name__
        yield f"Variable {symbol}", lambda f=function, a=argument: call(partial(f, x()), a)
        yield f"Index {symbol}", lambda f=function, a=argument: call(partial(f, own.vector()), a)
    yield "Variable.reshape", lambda: call(x().reshape, 1, 2)
    for method in ["sum", "mean", "max", "min"]:
        yield f"Variable.{method}", lambda m=method: call(getattr(x(), m), axis=0)
    yield "Variable.dot", lambda: call(x().dot, UNIT.copy())
    yield "Constraint.named", lambda: call((x()[0] <= 1).named, name="least")
    yield "Constraint.violation", lambda: call((own.fixed()[0] <= 1).violation, {own.fixed(): UNIT})
    yield "Expression.at", lambda: call((own.fixed() + 1).at, {own.fixed(): UNIT})
    yield "Problem.add", lambda: call(own.problem().add, constraint=lsip.Variable(2, name="z")[0] <= 1)
    yield "Problem.remove", lambda: call(own.problem().remove, constraint="above")
    yield "Problem.constraint", lambda: call(own.problem().constraint, which="above")
    yield "Problem.discretise", lambda: call(own.problem().discretise, points=5)
    yield "Problem.to_scipy", lambda: call(own.problem().to_scipy, points=5)
    yield "Problem.worst_violation", lambda: call(own.problem().worst_violation, x=UNIT.copy())
    yield "Problem.save", lambda: call(own.problem().save, path=own.folder() / "again.json")
    yield "Problem.load", lambda: call(lsip.Problem.load, path=own.saved_problem())
    yield "Problem.from_data", lambda: call(lsip.Problem.from_data, data=own.problem().data())
    yield "Problem.solve", lambda: call(own.problem().solve, verbose=False, time_limit=1.0)
    for kind in ORACLES:
        yield f"{kind.__name__}.maximise", lambda kind=kind: call(kind().maximise, violation=own.violation())
    yield "Exchange.solve", lambda: call(lsip.Exchange(time_limit=1).solve, problem=own.problem(), verbose=False)
    for method, given in (
        ("dual", {"constraint": "above"}),
        ("reduced_costs", {"variable": own.solution().variables[0]}),
        ("violation", {"family": 0}),
        ("verify", {}),
        ("plot", {}),
        ("to_frame", {}),
        ("report", {"path": own.folder() / "report.html"}),
        ("save", {"path": own.folder() / "again.npz"}),
        ("export", {"path": own.folder() / "proof.json"}),
        ("write", {"path": own.folder() / "again.mps"}),
        ("__getitem__", {"item": own.solution().variables[0]}),
    ):
        yield f"Solution.{method}", lambda m=method, g=given: call(getattr(own.solution(), m), **g)
    yield "Solution.load", lambda: call(lsip.Solution.load, path=own.saved())
    for method in ["policy", "value", "state_values", "q_values", "advantage", "occupancy", "worst_violation"]:
        yield f"SICMDP.{method}", lambda m=method: call(getattr(own.mdp(), m), policy=own.uniform())
    for method in ["cost_values", "violations"]:
        yield f"SICMDP.{method}", lambda m=method: call(getattr(own.mdp(), m), own.uniform(), y=np.full((1, 2), 0.5))
    yield "SICMDP.sample", lambda: call(own.mdp().sample, n=20, seed=0)
    yield "Dataset.optimistic_set", lambda: call(own.data().optimistic_set, delta=0.1)
    yield "Dataset.from_transitions", lambda: call(rl.Dataset.from_transitions, [[0, 1, 2]], states=3, actions=2)
    yield "Dataset.from_csv", lambda: call(rl.Dataset.from_csv, own.table(), states=3, actions=2)
    yield "OptimisticSet.contains", lambda: call(own.models().contains, P=own.mdp().P)
    yield "OptimisticSet.known", lambda: call(rl.OptimisticSet.known, P=own.mdp().P)
    yield "Specification.with_transitions", lambda: call(own.mdp().specification.with_transitions, P=own.mdp().P)
    yield "BinaryModel.lift", lambda: call(rl.BinaryModel(own.mdp().specification).lift, policy=own.uniform())
    yield "BinaryModel.model", lambda: call(rl.BinaryModel(own.mdp().specification).model, mdp=own.mdp())
    yield "SemiInfiniteCost.finite", lambda: call(rl.SemiInfiniteCost.finite, [own.price_of_steps], [1.0])
    yield "Plan.save", lambda: call(own.plan().save, path=own.folder() / "plan2.npz")
    yield "Plan.load", lambda: call(rl.Plan.load, path=own.saved_plan(), mdp=own.mdp())
    yield "SICPO.learn", lambda: call(own.learner().learn, iterations=1)
    yield "SICPO.choose", lambda: call(own.learned().choose, choice="last")
    yield "SICPO.predict", lambda: call(own.learned().predict, 0)
    yield "SICPO.certify", lambda: call(own.learned().certify)
    yield "SICPO.save", lambda: call(own.learned().save, path=own.folder() / "agent.npz")
    yield "SICPO.load", lambda: call(rl.SICPO.load, own.saved_learner(), problem=own.mdp(), device="cpu")
    yield "SICPPO.learn", lambda: call(own.deep().learn, 20)
    yield "SICPPO.predict", lambda: call(own.deep().predict, observation=np.zeros(6))
    yield "SICPPO.evaluate", lambda: call(own.deep().evaluate, 4)
    yield "SICPPO.episodes", lambda: call(own.deep().episodes, count=4, seed=0)
    yield "SICPPO.load", lambda: call(rl.SICPPO.load, own.saved_deep(), own.ships(), ship.constraint(), device="cpu")
    yield "WorstPoint.add", lambda: call(rl.WorstPoint(ship.constraint()).add, np.zeros((5, 2)), np.zeros((5, 1)))
    total = partial(rl.RunningTotal, gym.make("lsip/ShipRoute-v0"), lambda o, a: o[:, 0])
    for name, make, shape in (*own.VECTORS, ("RunningTotal", total, (1, 1))):
        yield f"{name}.step", lambda make=make, s=shape: call(own.begun(make()).step, actions=np.zeros(s))
        yield f"{name}.reset", lambda make=make: call(make().reset, seed=0)


@cache
def surface() -> dict[str, Callable[[], Call]]:
    """Everything that is called."""
    return dict([*made(), *functions(), *methods()])


def _public(module: ModuleType) -> Iterator[tuple[str, Any]]:
    names = getattr(module, "__all__", None) or [
        name
        for name, part in vars(module).items()
        if name[0] != "_" and callable(part) and getattr(part, "__module__", None) == module.__name__
    ]
    for name in names:
        yield name, getattr(module, name)


def parameters(function: Callable[..., Any]) -> list[str]:
    """The names that may be given; those of a typed dictionary too."""
    found = []
    for p in inspect.signature(function).parameters.values():
        if p.kind is p.VAR_KEYWORD:
            found += _options(function, p.name)
        elif p.kind is not p.VAR_POSITIONAL:
            found.append(p.name)
    return found


def _options(function: Callable[..., Any], name: str) -> list[str]:
    """The options that `**name` stands for, if it says so."""
    owner = function.__init__ if inspect.isclass(function) else function
    try:
        kinds = get_args(get_type_hints(owner)[name])
    except (NameError, KeyError, AttributeError, TypeError):
        return []
    return list(getattr(kinds[0], "__annotations__", ())) if kinds else []
