"""Planning: what `rl.plan` claims, against exact evaluation and against linear programs written here."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import linprog

import envs
import lsip
import rl
from rl import planning
from rl.occupancy import optimistic_program, planning_program
from rl.optimistic import Greedy, KnownModel, Maximiser, ModelSet

Array = NDArray[np.float64]
PLAIN = [Phase.explicit, Phase.generate]  # an example is its own reproduction
METHODS = ["lp", "decompose"]
PROOF = lsip.oracles.BranchAndBound(tol=1e-9)  # that nothing exceeds 1e-9, rather than how far it stays below


# ---- random models with a policy that keeps every constraint strictly ------------------------------------------------

DOMAINS: dict[str, lsip.Domain] = {
    "interval": lsip.Interval(0, 1),
    "box": lsip.Box([0, -1], [1, 1]),
    "ball": lsip.Ball([0.5, 0.5], 0.5),
    "finite": lsip.Finite(np.random.default_rng(1).uniform(0, 1, (15, 2))),
    "union": lsip.Interval(0, 0.3) | lsip.Interval(0.6, 1),
}
# Functions of the distance from each place, for one point y (m,) or an index.
COSTS: dict[str, Any] = {
    "bumps": lambda away: 1 / (1 + 4 * (away**2).sum(axis=-1)),
    "kinks": lambda away: np.exp(-2 * np.abs(away).sum(axis=-1)),
    "waves": lambda away: 0.5 + 0.5 * np.cos(3 * away.sum(axis=-1)),
    "distances": lambda away: np.sqrt(0.01 + (away**2).sum(axis=-1)) / 2,
}


@dataclass(frozen=True)
class Model:
    """How to build an SICMDP in which a known policy keeps every constraint by `slack`."""

    domain: str = "interval"
    cost: str = "bumps"
    states: int = 4
    actions: int = 3
    gamma: float = 0.8
    by_state: bool = True
    sparse: bool = False
    slack: float = 1e-2
    seed: int = 0
    raised: float = 0.0  # of what the bound is raised by, in units of `raise_at`

    def rng(self) -> np.random.Generator:
        return np.random.default_rng(self.seed)

    def transitions(self) -> Array:
        """P (S, A, S), half of it zero when `sparse`."""
        rng = self.rng()
        P = rng.dirichlet(np.ones(self.states), size=(self.states, self.actions))
        if self.sparse:
            P *= rng.random(P.shape) < 0.5
            P[:, :, 0] += 1e-3
            P /= P.sum(axis=2, keepdims=True)
        return P

    @property
    def places(self) -> Array:
        domain = DOMAINS[self.domain]
        shape = (self.states,) if self.by_state else (self.states, self.actions)
        return domain.sample(int(np.prod(shape)), self.seed).reshape(*shape, domain.dim)

    def cost_at(self, y: Any) -> Any:
        """Costs (S,) or (S, A) at one point y (m,), or the expression of an index."""
        return COSTS[self.cost](y - self.places)

    @property
    def safe(self) -> Array:
        """A policy that keeps every constraint by `slack`."""
        return self.rng().dirichlet(np.ones(self.actions), size=self.states)

    def safe_visits(self) -> Array:
        """Discounted visits of `safe`, as the constraint weighs them."""
        chain = np.einsum("sa,sat->st", self.safe, self.transitions())
        d = np.linalg.solve(np.eye(self.states) - self.gamma * chain.T, self.mu)
        return d if self.by_state else d[:, None] * self.safe

    @property
    def mu(self) -> Array:
        return self.rng().dirichlet(np.ones(self.states))

    @property
    def r(self) -> Array:
        return np.random.default_rng(self.seed + 1).uniform(size=(self.states, self.actions))

    def raise_at(self, y: Any) -> Any:
        """A bump in the middle of the domain."""
        domain = DOMAINS[self.domain]
        centre = 0.5 * (domain.lower + domain.upper)
        return np.exp(-3 * ((y - centre) ** 2).sum(axis=-1))

    def bound_at(self, y: Any) -> Any:
        used = (self.safe_visits() * self.cost_at(y)).sum()
        return used + self.slack + self.raised * self.raise_at(y)

    def build(self) -> rl.SICMDP:
        y = lsip.Index("y", DOMAINS[self.domain])
        P: Any = self.transitions()
        if self.sparse:
            P = sparse.csr_matrix(P.reshape(-1, self.states))
        return rl.SICMDP(P, self.r, self.cost_at(y), self.bound_at(y), y, self.mu, self.gamma)


def models(**fixed: Any) -> st.SearchStrategy[Model]:
    free: dict[str, Any] = {
        "domain": st.sampled_from(list(DOMAINS)),
        "cost": st.sampled_from(list(COSTS)),
        "states": st.integers(1, 6),
        "actions": st.integers(2, 4),
        "gamma": st.sampled_from([0.0, 0.5, 0.9, 0.97]),
        "by_state": st.booleans(),
        "sparse": st.booleans(),
        "slack": st.sampled_from([1e-3, 1e-2, 1e-1]),
        "seed": st.integers(0, 10_000),
    }
    return st.builds(Model, **{**free, **{k: st.just(v) for k, v in fixed.items()}}).map(quick)


def quick(model: Model) -> Model:
    """Kinks along whole lines of a plane take seconds to prove anything about."""
    return replace(model, cost="bumps") if model.cost == "kinks" and DOMAINS[model.domain].dim > 1 else model


def constraint_rows(model: Model, points: Array) -> tuple[Array, Array]:
    """Rows over q(s, a) and right-hand sides of the constraints at some index points, in plain NumPy."""
    rows = []
    for y in points:
        cost = model.cost_at(y)
        pairs = np.repeat(cost[:, None], model.actions, axis=1) if model.by_state else cost
        rows.append(pairs.ravel() / (1 - model.gamma))
    return np.array(rows), np.array([model.bound_at(y) for y in points])


def flow(model: Model) -> tuple[Array, Array]:
    """sum_a q(s, a) - gamma sum_xb P(s | x, b) q(x, b) = (1 - gamma) mu(s)."""
    S, A = model.states, model.actions
    matrix = np.repeat(np.eye(S), A, axis=1) - model.gamma * model.transitions().reshape(S * A, S).T
    return matrix, (1 - model.gamma) * model.mu


def finite_optimum(model: Model, points: Array) -> float:
    """The value of the CMDP with constraints at these points only."""
    a, b = constraint_rows(model, points)
    matrix, right = flow(model)
    found = linprog(-model.r.ravel() / (1 - model.gamma), a, b, matrix, right, bounds=(0, None))
    assert found.status == 0, found.message
    return -found.fun


def least_violation(model: Model, points: Array, shift: float = 0.0) -> float:
    """min over policies of the largest violation at these points, the bound being lowered by `shift`."""
    a, b = constraint_rows(model, points)
    matrix, right = flow(model)
    found = linprog(
        np.eye(1, model.states * model.actions + 1, model.states * model.actions)[0],
        np.column_stack([a, -np.ones(len(a))]),
        b - shift,
        np.column_stack([matrix, np.zeros(model.states)]),
        right,
        bounds=[(0, None)] * (model.states * model.actions) + [(None, None)],
    )
    assert found.status == 0, found.message
    return found.fun


def probes(domain: lsip.Domain) -> Array:
    return np.concatenate([domain.grid(9), domain.sample(300, seed=7)])


# ---- the answer ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
@settings(max_examples=8, phases=PLAIN)
@given(model=models())
def test_the_policy_has_the_value_and_keeps_every_constraint(method, model):
    mdp = model.build()
    best = rl.plan(mdp, method=method, tol=2e-8)
    assert best.certified
    assert best.gap <= 2e-8
    assert abs(mdp.value(best.policy) - best.value) <= 1e-8 * (1 + abs(best.value))
    assert mdp.worst_violation(best.policy, PROOF).bound <= 1e-8
    assert np.allclose(mdp.occupancy(best.policy), best.occupancy, atol=1e-8)
    assert best.lower - 1e-9 <= best.value <= best.upper + 1e-9
    # Nothing is assumed of the model's own evaluation: the same in plain NumPy, at points that the solver never saw.
    a, b = constraint_rows(model, probes(mdp.domain))
    assert (a @ mdp.occupancy(best.policy).ravel() <= b + 1e-8).all()


@settings(max_examples=8, phases=PLAIN)
@given(model=models())
def test_no_policy_that_keeps_the_constraints_is_better(model):
    best = rl.plan(model.build())
    assert model.build().value(model.safe) <= best.upper + 1e-9
    above = finite_optimum(model, probes(DOMAINS[model.domain]))  # fewer constraints
    assert best.lower <= above + 1e-6 * (1 + above)


@pytest.mark.parametrize("method", METHODS)
@settings(max_examples=15, phases=PLAIN)
@given(model=models(domain="finite"))
def test_a_finite_index_set_is_an_ordinary_constrained_mdp(method, model):
    value = finite_optimum(model, DOMAINS["finite"].points)
    best = rl.plan(model.build(), method=method)
    assert abs(best.value - value) <= (2e-7 if method == "lp" else 2e-6) * (1 + value)


@settings(max_examples=8, phases=PLAIN)
@given(model=models())
def test_generating_policies_agrees_with_the_program_written_down(model):
    mdp = model.build()
    one, other = rl.plan(mdp, method="lp"), rl.plan(mdp, method="decompose", tol=2e-7)
    assert max(one.lower, other.lower) <= min(one.upper, other.upper) + 1e-9
    assert abs(one.value - other.value) <= 3e-7 * max(1.0, abs(one.value))


@settings(max_examples=10, phases=PLAIN)
@given(model=models(by_state=True))
def test_costs_of_states_are_costs_of_pairs_that_do_not_depend_on_the_action(model):
    mdp = model.build()
    cost, bound = mdp.specification.constraint.cost, mdp.specification.constraint.bound
    pairs = cost.reshape(model.states, 1) * np.ones((model.states, model.actions))
    index = mdp.specification.constraint.index
    other = rl.SICMDP(model.transitions(), model.r, pairs, bound, index, model.mu, model.gamma)
    assert rl.plan(mdp).value == pytest.approx(rl.plan(other).value, rel=4e-7, abs=4e-7)


@pytest.mark.parametrize("method", METHODS)
@settings(max_examples=10, phases=PLAIN)
@given(model=models(sparse=True))
def test_sparse_transitions_give_the_same_plan(method, model):
    sparse_one = model.build()
    spec = sparse_one.specification
    dense = spec.with_transitions(sparse_one.P)
    assert not sparse.issparse(dense.rows)
    one, other = (rl.plan(m, method=method).value for m in (sparse_one, dense))
    assert one == pytest.approx(other, rel=2e-6, abs=2e-6)


def test_gamma_zero_is_one_decision():
    """Two actions with rewards 0 and 1, and costs 0 and 1 - y: the better one may be played half the time."""
    y = lsip.Index("y", lsip.Interval(0, 1))
    mdp = rl.SICMDP(np.ones((1, 2, 1)), [[0, 1]], np.array([[0, 1]]) * (1 - y), 0.5 + y, y, gamma=0.0)
    assert rl.plan(mdp).value == pytest.approx(0.5, abs=1e-7)
    assert np.allclose(rl.plan(mdp).policy, [[0.5, 0.5]], atol=1e-6)


def test_one_policy_is_the_plan():
    """With one action there is nothing to choose, and a constraint that it keeps does not matter."""
    mdp = Model(states=3, actions=1).build()
    for method in METHODS:
        best = rl.plan(mdp, method=method)
        assert np.array_equal(best.policy, np.ones((3, 1)))
        assert best.value == pytest.approx(mdp.value(best.policy), abs=1e-9)
        assert not best.active


def test_large_models_are_decomposed_by_default():
    mdp = envs.sewage(states=60, actions=3, seed=0)
    best = rl.plan(mdp)
    assert best.method == "decompose"
    assert best.certified
    assert mdp.value(best.policy) == pytest.approx(best.value, rel=1e-8)
    assert mdp.worst_violation(best.policy).bound <= 1e-8
    assert rl.plan(envs.sewage(states=10, actions=3, seed=0)).method == "lp"


def walk(steps: int, places: int, actions: int = 5) -> rl.SICMDP:
    """A random walk expanded in time: each state is a step and a place, and the last one ends it."""
    last, pairs, chances = steps * places, [], []
    for s in range(last):
        t, place = divmod(s, places)
        for a in range(actions):
            moves = ((1, 0.5), (-a, 0.4), (0, 0.1)) if t < steps - 1 else ()
            ends = [((t + 1) * places + min(max(place + d, 0), places - 1), p) for d, p in moves] or [(last, 1.0)]
            pairs += [(s * actions + a, end) for end, _ in ends]
            chances += [p for _, p in ends]
    pairs += [(last * actions + a, last) for a in range(actions)]
    chances += [1.0] * actions
    P = sparse.csr_matrix((chances, np.transpose(pairs)), shape=((last + 1) * actions, last + 1))
    reward = np.zeros((last + 1, actions))
    reward[:last] = 1 - (np.arange(actions) / (actions - 1)) ** 2
    start = np.eye(1, last + 1, 3)[0]
    y = lsip.Index("y", lsip.Interval(0, places - 2.0))
    height = np.append(np.tile(np.arange(places), steps), -1.0)
    return rl.SICMDP(P, reward, np.maximum(height - y, 0) / steps, 3 * np.exp(-y / 3), y, start, 0.99)


def test_models_expanded_in_time_are_planned():
    """Rounding is known state by state: were it as large in every state as in all together, no plan would be proven."""
    mdp = walk(20, 15)
    best, written = rl.plan(mdp), rl.plan(mdp, method="lp")
    assert best.method == "decompose"
    assert best.certified
    assert len(best.solution.history) < 50
    assert best.value == pytest.approx(written.value, rel=2e-7)
    best.verify()


@pytest.mark.parametrize("stuck", METHODS)
def test_the_other_method_goes_on_where_one_gets_no_further(stuck, monkeypatch):
    mdp = walk(12, 10) if stuck == "decompose" else Model().build()
    real, tried = planning._solved if stuck == "lp" else planning._decomposed, []

    def stalled(*given: Any) -> rl.Plan:
        tried.append(stuck)
        found = real(*given)
        return replace(found, solution=replace(found.solution, status=lsip.Status.STALLED))

    monkeypatch.setattr(planning, "_solved" if stuck == "lp" else "_decomposed", stalled)
    assert rl.plan(mdp, method=stuck).status is lsip.Status.STALLED
    best = rl.plan(mdp)
    assert tried == [stuck] * 2
    assert best.method != stuck
    assert best.certified


def test_visits_are_within_their_radius():
    """Against fractions, for policies of a model in which some states are reached seldom or never."""
    mdp = walk(3, 4, actions=3)
    maximise = Maximiser(mdp.specification, KnownModel(mdp))
    weights = np.random.default_rng(0).normal(size=(5, maximise.size))
    for direction in weights:
        found = maximise(direction)
        chain, v = mdp.chain(found.data.actions).toarray(), [Fraction(m) for m in mdp.mu.tolist()]
        total = list(v)
        for _ in range(4):  # the last state is reached, and left out: it costs nothing
            v = [Fraction(mdp.gamma) * sum(Fraction(p) * w for p, w in zip(col, v, strict=True)) for col in chain.T]
            total = [a + b for a, b in zip(total, v, strict=True)]
        assert len(found.x) == maximise.size
        off = [abs(Fraction(x) - t) for x, t in zip(found.x[1:].tolist(), total, strict=True)][:-1]
        assert all(o <= Fraction(r) for o, r in zip(off, found.radius[1:].tolist(), strict=False))
        assert found.radius[:-1].max() <= 1e-11


# ---- costs as functions ----------------------------------------------------------------------------------------------


def from_functions(model: Model, lipschitz: Any = None, traced: bool = False) -> rl.SICMDP:
    def number(y: Any) -> Any:
        return y if traced else y.astype(float)  # an index expression has no `astype`

    visits, places, f = model.safe_visits(), model.places, COSTS[model.cost]
    axes = tuple(range(1, places.ndim))

    def cost(y: Any) -> Any:
        return f(number(y).reshape(len(y), *[1] * (places.ndim - 1), places.shape[-1]) - places)

    def bound(y: Any) -> Any:
        return (visits * cost(y)).sum(axis=axes) + model.slack

    return rl.SICMDP(
        model.transitions(), model.r, cost, bound, DOMAINS[model.domain], model.mu, model.gamma, lipschitz=lipschitz
    )


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("by_state", [True, False])
def test_functions_that_trace_are_as_good_as_expressions(method, by_state):
    model = Model("box", "bumps", by_state=by_state)
    one, other = rl.plan(model.build(), method=method), rl.plan(from_functions(model, traced=True), method=method)
    assert other.certified
    assert other.value == pytest.approx(one.value, rel=2e-6)


@pytest.mark.parametrize("gamma", [0.0, 0.6])
def test_lipschitz_constants_bound_functions_that_do_not_trace(gamma):
    """Each cost has slope at most 4 (3/4)^(3/2) < 2.6 / 2 along an interval, and the bound 1 / (1 - gamma) as much."""
    model = Model("interval", "bumps", gamma=gamma, slack=0.1)
    mdp = from_functions(model, lipschitz=(1.3, 1.3 / (1 - gamma)))
    for method in METHODS:
        best = rl.plan(mdp, method=method, tol=1e-3)
        assert not best.certified, "the constants are taken on trust"
        assert best.gap <= 1e-3
        assert best.value == pytest.approx(rl.plan(model.build()).value, abs=1e-3 * max(1.0, best.value))
        assert model.build().worst_violation(best.policy).value <= 1e-8
        best.solution.verify() if method == "lp" else best.solution.verify(maximiser(mdp))


def test_lipschitz_constants_are_those_of_the_cost_not_of_its_discounted_sum():
    """A needle of slope 1: with gamma = 0.99 its sum has slope 100, and is missed by cells that are 100 times too wide.

    `plan` may fail to certify, but what it certifies must hold at the needle.
    """
    at, width = 0.123456, 1e-3

    def cost(y: Any) -> Any:
        needle = np.maximum(width - np.abs(y.astype(float)[:, 0] - at), 0.0)
        return np.stack([np.zeros_like(needle), needle], axis=1)

    P = np.zeros((2, 2, 2))
    P[:, 0, 0] = P[:, 1, 1] = 1  # action a leads to state a
    mdp = rl.SICMDP(P, [0, 1], cost, 0.05, lsip.Interval(0, 1), [1, 0], 0.99, lipschitz=(1.0, 0.0))
    best = rl.plan(mdp, tol=1e-3, time_limit=10)
    assert best.gap <= 1e-3
    assert mdp.violations(best.policy, [[at]])[0] <= 1e-8


@pytest.mark.parametrize("method", METHODS)
def test_black_boxes_are_planned_for_but_not_certified(method):
    model = Model("interval", "waves", gamma=0.7)
    mdp = from_functions(model)
    best = rl.plan(mdp, method=method, max_iterations=60)
    assert not best.certified
    assert best.status is lsip.Status.UNCERTIFIED
    assert model.build().worst_violation(best.policy).value <= 1e-6
    assert best.value == pytest.approx(rl.plan(model.build()).value, rel=1e-5)


# ---- the proof -------------------------------------------------------------------------------------------------------


def maximiser(mdp: rl.SICMDP) -> Maximiser:
    return Maximiser(mdp.specification, KnownModel(mdp))


@settings(max_examples=10, phases=PLAIN)
@given(model=models())
def test_plans_verify(model):
    mdp = model.build()
    rl.plan(mdp, method="lp").solution.verify()
    rl.plan(mdp, method="decompose").solution.verify(maximiser(mdp))


@pytest.mark.parametrize("seed", range(3))
def test_multipliers_say_what_a_unit_of_the_bound_is_worth(seed):
    model = Model("interval", "bumps", states=5, actions=3, slack=0.02, seed=seed)
    for method in METHODS:
        best = rl.plan(model.build(), method=method, tol=1e-9)
        worth = sum(a.multiplier * model.raise_at(a.point) for a in best.active)
        assert worth > 0
        up, down = (rl.plan(replace(model, raised=h).build(), tol=1e-10).value for h in (1e-4, -1e-4))
        assert (up - down) / 2e-4 == pytest.approx(worth, rel=2e-2)


@settings(max_examples=15, phases=PLAIN)
@given(model=models(slack=0.1), raised=st.floats(-0.05, 1.0))
def test_multipliers_bound_the_value_of_every_other_bound(model, raised):
    """The value is concave in u, and the multipliers are a supergradient: whatever else is optimal, this holds."""
    best, other = rl.plan(model.build()), rl.plan(replace(model, raised=raised).build())
    worth = sum(a.multiplier * float(model.raise_at(a.point)) for a in best.active)
    assert other.value <= best.value + raised * worth + 1e-5 * (1 + abs(raised) * worth + best.value)


def test_a_maximiser_finds_the_best_policy_of_any_reward():
    """Against a linear program, from a start that belongs to another reward, with the bound above the value."""
    model = Model(states=6, actions=3, by_state=False, gamma=0.95)
    mdp, rng = model.build(), np.random.default_rng(0)
    ask = maximiser(mdp)
    matrix, right = flow(model)
    for _ in range(20):
        w = rng.normal(size=ask.size)
        found = ask(w)
        reward = (w[0] * model.r.ravel() + w[1:]) / (1 - model.gamma)
        best = -linprog(-reward, A_eq=matrix, b_eq=right, bounds=(0, None)).fun
        assert w @ found.x <= found.bound <= w @ found.x + 1e-9 * (1 + abs(best))
        assert w @ found.x == pytest.approx(best, rel=4e-7, abs=4e-7)


# ---- infeasible models -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Tight(Model):
    """A bound that no policy keeps: somewhere every policy exceeds it by more than `short`."""

    short: float = 0.1

    def bound_at(self, y: Any) -> Any:
        loose = Model(**{k: getattr(self, k) for k in Model.__dataclass_fields__})
        least = least_violation(loose, DOMAINS[self.domain].grid(9))
        return loose.bound_at(y) + least - self.short


@pytest.mark.parametrize("method", METHODS)
@settings(max_examples=8, phases=PLAIN)
@given(
    model=st.builds(
        Tight,
        domain=st.sampled_from(["interval", "box", "finite"]),
        cost=st.sampled_from(["bumps", "waves"]),
        states=st.integers(1, 5),
        actions=st.integers(1, 3),
        by_state=st.booleans(),
        seed=st.integers(0, 1000),
        short=st.sampled_from([1e-1, 1e-3]),
    )
)
def test_infeasible_models_name_index_points_that_contradict_each_other(method, model):
    mdp = model.build()
    with pytest.raises(rl.InfeasibleError, match="No policy keeps every constraint") as caught:
        rl.plan(mdp, method=method)
    error = caught.value
    assert error.points
    points = np.array([a.point for a in error.points])
    assert mdp.domain.contains(points).all()
    assert f"{points[0][0]:.6g}" in str(error)
    assert ("contradict each other" in str(error)) == (len(points) > 1)
    a, b = constraint_rows(model, points)
    matrix, right = flow(model)
    assert linprog(np.zeros(matrix.shape[1]), a, b, matrix, right, bounds=(0, None)).status == 2
    error.solution.verify() if method == "lp" else error.solution.verify(maximiser(mdp))


# ---- arguments -------------------------------------------------------------------------------------------------------


def test_unknown_methods_and_options_are_refused():
    mdp = Model().build()
    with pytest.raises(lsip.ModelError, match="'auto', 'lp', 'decompose'"):
        rl.plan(mdp, method="simplex")
    with pytest.raises(lsip.ModelError, match="form"):
        rl.plan_optimistically(mdp.specification, rl.OptimisticSet.known(mdp.P), form="dense")
    with pytest.raises(lsip.ModelError, match="option"):
        rl.plan(mdp, method="lp", iterations=3)
    with pytest.raises((lsip.ModelError, TypeError), match="iterations"):
        rl.plan(mdp, method="decompose", iterations=3)


def test_a_tolerance_that_is_asked_for_is_reached_by_every_method():
    mdp = Model("box", states=5).build()
    for method in METHODS:
        for tol in (1e-4, 1e-7, 1e-8):
            assert rl.plan(mdp, method=method, tol=tol).gap <= tol


@pytest.mark.parametrize("method", METHODS)
def test_a_plan_reads_as_sentences(method):
    text = str(rl.plan(envs.sewage(states=4, actions=2, seed=1), method=method))
    assert "proven" in text
    assert "active at y = (" in text


@pytest.mark.parametrize("method", METHODS)
def test_a_plan_that_is_stopped_early_says_so(method):
    mdp = envs.sewage(states=8, actions=4, seed=0)
    best = rl.plan(mdp, method=method, max_iterations=1)
    assert best.status is lsip.Status.ITERATION_LIMIT
    assert not best.certified
    assert best.lower - 1e-9 <= rl.plan(mdp).value <= best.upper + 1e-9
    assert mdp.worst_violation(best.policy).value <= best.solution.max_violation + 1e-9


def test_an_oracle_can_be_chosen():
    mdp = envs.sewage(states=4, actions=2, seed=1)
    best = rl.plan(mdp, oracle=lsip.oracles.Grid(50))
    assert not best.certified
    assert best.value == pytest.approx(rl.plan(mdp).value, rel=1e-5)


# ---- a set of models -------------------------------------------------------------------------------------------------


def box_around(model: Model, radius: float) -> rl.OptimisticSet:
    """A set of models: random radii, some of them zero, but not all of those of a pair unless `radius` is."""
    rng = np.random.default_rng(model.seed + 5)
    P = model.transitions()
    some = rng.random(P.shape) < 0.7
    some[:, :, :2] = True
    return rl.OptimisticSet(P, radius * rng.uniform(size=P.shape) * some)


@pytest.mark.parametrize("radius", [0.0, 0.02, 0.3, 2.0])
@settings(max_examples=6, phases=PLAIN)
@given(model=models(sparse=False))
def test_three_ways_to_plan_optimistically_agree(radius, model):
    spec, models = model.build().specification, box_around(model, radius)
    plans = [
        rl.plan_optimistically(spec, models, form="sparse", method="lp"),
        rl.plan_optimistically(spec, models, form="literal", method="lp"),
        rl.plan_optimistically(spec, models, method="decompose", tol=2e-7),
    ]
    for found in plans:
        assert found.certified
        assert found.value == pytest.approx(plans[0].value, rel=4e-7, abs=4e-7)
        assert models.contains(found.model, 1e-9)
        chosen = spec.with_transitions(found.model)
        assert chosen.value(found.policy) == pytest.approx(found.value, rel=1e-6, abs=1e-6)
        assert chosen.worst_violation(found.policy, PROOF).value <= 1e-6
    plans[0].solution.verify()
    plans[1].solution.verify()
    plans[2].solution.verify(Maximiser(spec, ModelSet(models)))


DEGENERATE = [  # optima at which most visits are zero, and probabilities whose sum is one up to rounding
    (0.0, "literal", Model("box", "distances", 3, 4, 0.9, True, False, 0.01, 552)),
    (0.0, "literal", Model("box", "distances", 2, 4, 0.5, False, False, 0.1, 62318)),
    (0.3, "literal", Model("box", "distances", 3, 3, 0.95, True, False, 0.1, 75303)),
    (0.3, "sparse", Model("box", "distances", 4, 4, 0.5, False, False, 0.01, 25686)),
    (0.3, "sparse", Model("box", "distances", 4, 2, 0.5, True, False, 0.1, 4306)),
    (0.02, "literal", Model("box", "distances", 2, 3, 0.5, True, False, 0.1, 63031)),
]


@pytest.mark.parametrize(("radius", "form", "model"), DEGENERATE)
def test_degenerate_plans_are_certified(radius, form, model):
    spec, models = model.build().specification, box_around(model, radius)
    found = rl.plan_optimistically(spec, models, form=form, method="lp")
    assert found.certified, found.solution.message
    assert found.value == pytest.approx(rl.plan_optimistically(spec, models, method="decompose").value, rel=1e-6)


@settings(max_examples=6, phases=PLAIN)
@given(model=models(sparse=False))
def test_more_models_are_more_optimistic(model):
    spec = model.build().specification
    plans = [rl.plan(model.build(), time_limit=2)]
    plans += [rl.plan_optimistically(spec, box_around(model, r), time_limit=2) for r in (0.05, 0.5)]
    assert plans[0].lower <= plans[1].upper + 1e-7
    assert plans[1].lower <= plans[2].upper + 1e-7


def test_a_model_rounded_to_ten_digits_is_a_model():
    """`SICMDP` takes sums that are one to within 1e-9, so the set of that model alone must do, too."""
    model = Model()
    P = np.floor(model.transitions() * 1e10) / 1e10
    spec = model.build().specification
    known = rl.plan(spec.with_transitions(P)).value
    for method in METHODS:
        found = rl.plan_optimistically(spec, rl.OptimisticSet.known(P), method=method)
        assert found.value == pytest.approx(known, rel=2e-6)


def test_the_literal_form_needs_an_expression():
    mdp = from_functions(Model())
    with pytest.raises(lsip.ModelError, match="sparse"):
        rl.plan_optimistically(mdp.specification, rl.OptimisticSet.known(mdp.P), form="literal")


def test_a_set_of_models_of_another_size_is_refused():
    spec = Model(states=3).build().specification
    with pytest.raises(lsip.ModelError, match="4 states"):
        rl.plan_optimistically(spec, rl.OptimisticSet.known(Model(states=4).transitions()))


# ---- sums of probabilities that miss one -----------------------------------------------------------------------------


def lonely(excess: float, left: float, rows: Any = np.array) -> rl.SICMDP:
    """One state, in which one stays: visits grow by 1 + excess, and are discounted by 1 - left."""
    y = lsip.Index("y", lsip.Interval(0, 1))
    P = rows([[[1 + excess]]])
    return rl.SICMDP(P, [1.0], np.array([1e-6]) * (1 - y**2), 1e8 + y, y, [1.0], 1 - left)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("excess", "left"), [(9e-10, 1e-9), (5e-13, 1e-12), (9e-10, 1e-8), (-1e-10, 1e-12)])
def test_visits_are_bounded_by_what_the_sums_are(method, excess, left):
    """Discounted visits are (1 - gamma) / (1 - gamma (1 + excess)) of what they would be otherwise, here up to ten."""
    mdp = lonely(excess, left)
    share = float(mdp.occupancy([0]).sum())
    assert mdp.horizon * left >= share * (1 - 1e-3)
    upper = planning_program(mdp).problem.compile().upper
    assert (upper >= share).all()
    best = rl.plan(mdp, method=method, max_iterations=5)  # which ended with the word that no policy exists
    assert best.upper >= mdp.value([0]) * (1 - 1e-3)


@pytest.mark.parametrize("rows", [np.array, lambda P: sparse.csr_matrix(np.array(P).reshape(-1, 1))])
def test_visits_that_grow_without_end_are_refused(rows):
    for excess, left in ((1e-12, 1e-12), (9e-10, 1e-10), (2.3e-16, 2.3e-16)):
        with pytest.raises(lsip.ModelError, match=r"grow without end\. Divide the probabilities"):
            lonely(excess, left, rows)
    lonely(0.0, 1e-15, rows)


@pytest.mark.parametrize("form", ["sparse", "literal"])
def test_visits_in_a_set_of_models_are_bounded_by_what_the_sums_are(form):
    rng = np.random.default_rng(3)
    model = Model(states=3)
    P, spec = model.transitions(), replace(model.build().specification, gamma=1 - 1e-12)
    models = rl.OptimisticSet(P, rng.uniform(0, 0.2, P.shape))
    upper = optimistic_program(spec, models, form).problem.compile().upper
    assert (upper >= 1).all()
    for order in map(np.array, ([0, 1, 2], [2, 1, 0])):
        maximise = Maximiser(spec, ModelSet(models))
        greedy = Greedy(np.zeros(3, dtype=np.intp), order)
        assert maximise.horizon >= maximise.visits(greedy).sum() * (1 - 1e-3)
