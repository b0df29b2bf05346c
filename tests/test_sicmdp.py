"""The tabular model: occupancy measures, exact evaluation, the worst violation, and what it says of wrong input."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import lsip
import rl
from tests.checks import fresh_points
from tests.strategies import Draw, domains, formulas

UNIT = lsip.Interval(0, 1)
SQUARE = lsip.Box([0, 0], [1, 1])
T = lsip.Index("t", UNIT)
Y = lsip.Index("y", SQUARE)


def number(y):
    """Needs numbers: an index expression has no `astype`, so nothing that calls this can be traced."""
    return y.astype(float)


CHAIN = np.array([[[0.5, 0.5], [1, 0]], [[0, 1], [0.3, 0.7]]])
COST = np.array([0.2, 0.8]) * (1 - T)


# ---- random models ---------------------------------------------------------------------------------------------------


def distributions(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Distributions along the last axis: spread out, with zeros, or on one point."""
    n = shape[-1]
    spread = rng.dirichlet(np.ones(n), size=shape[:-1])
    few = spread * (rng.random(shape) < 0.5) + 1e-3 * np.eye(n)[rng.integers(n, size=shape[:-1])]
    one = np.eye(n)[rng.integers(n, size=shape[:-1])]
    kind = rng.integers(3, size=shape[:-1])[..., None]
    p = np.where(kind == 0, spread, np.where(kind == 1, few, one))
    return p / p.sum(axis=-1, keepdims=True)


@st.composite
def models(draw: Draw, gammas: tuple[float, ...] = (0.0, 0.5, 0.9, 0.99)) -> tuple[rl.SICMDP, np.random.Generator]:
    """A model with costs of states or of pairs, and a generator for policies and the like."""
    states, actions = draw(st.integers(1, 6)), draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 100_000)))
    P, r = distributions(rng, (states, actions, states)), rng.normal(size=(states, actions))
    shape = (states,) if draw(st.booleans()) else (states, actions)
    places = rng.random((*shape, 2))
    cost = 1 / (1 + ((Y - places) ** 2).sum(axis=-1))
    mu = None if draw(st.booleans()) else distributions(rng, (states,))
    return rl.SICMDP(P, r, cost, 1 + Y[0], Y, mu, draw(st.sampled_from(gammas))), rng


def random_policy(mdp: rl.SICMDP, rng: np.random.Generator) -> np.ndarray:
    return distributions(rng, (mdp.states, mdp.actions))


def series(mdp: rl.SICMDP, policy: np.ndarray) -> np.ndarray:
    """Discounted visits of the pairs, added up step by step until the rest does not matter."""
    d, total, weight = mdp.mu, np.zeros(mdp.states), 1.0
    while weight > 1e-14 * (1 - mdp.gamma):
        total = total + weight * d
        d = np.einsum("s,sa,sat->t", d, policy, mdp.P)
        weight *= mdp.gamma
    return total[:, None] * policy


# ---- occupancy measures ----------------------------------------------------------------------------------------------


@given(models())
def test_occupancy_is_a_flow(model):
    mdp, rng = model
    pi = random_policy(mdp, rng)
    q, z = mdp.occupancy(pi), mdp.transition_occupancy(pi)
    assert q.shape == (mdp.states, mdp.actions)
    assert (q >= -1e-16).all()
    assert q.sum() == pytest.approx(1, abs=1e-12)
    inflow = np.einsum("sa,sat->t", q, mdp.P)
    np.testing.assert_allclose(q.sum(axis=1), (1 - mdp.gamma) * mdp.mu + mdp.gamma * inflow, atol=1e-13)
    np.testing.assert_allclose(z.sum(axis=2), q, atol=1e-13)
    np.testing.assert_allclose(z.sum(axis=(0, 1)), inflow, atol=1e-13)
    np.testing.assert_allclose(q / (1 - mdp.gamma), series(mdp, pi), atol=1e-10)


@given(models())
def test_policy_of_an_occupancy_is_the_policy_where_states_are_visited(model):
    mdp, rng = model
    pi = random_policy(mdp, rng)
    q = mdp.occupancy(pi)
    back = rl.policy_of(q)
    np.testing.assert_allclose(back.sum(axis=1), 1)
    visited = q.sum(axis=1) > 1e-9
    np.testing.assert_allclose(back[visited], pi[visited], atol=1e-9)
    np.testing.assert_allclose(mdp.occupancy(back), q, atol=1e-9)
    never = q.sum(axis=1) < 1e-13
    np.testing.assert_array_equal(back[never], 1 / mdp.actions)


def test_policy_of_ignores_rounding_below_zero():
    np.testing.assert_array_equal(rl.policy_of(np.array([[0.5, -1e-18], [0.0, 0.0]])), [[1, 0], [0.5, 0.5]])


# ---- values ----------------------------------------------------------------------------------------------------------


@given(models())
def test_value_is_the_sum_of_discounted_rewards(model):
    mdp, rng = model
    pi = random_policy(mdp, rng)
    visits = series(mdp, pi)
    scale = np.abs(mdp.r).max() / (1 - mdp.gamma)
    assert mdp.value(pi) == pytest.approx((visits * mdp.r).sum(), abs=1e-11 * scale)
    assert mdp.value(pi) == pytest.approx((mdp.occupancy(pi) * mdp.r).sum() / (1 - mdp.gamma), abs=1e-11 * scale)
    other = rng.normal(size=mdp.states)  # a reward of states alone
    assert mdp.value(pi, other) == pytest.approx(visits.sum(axis=1) @ other, abs=1e-9)
    assert mdp.value(pi, np.ones(mdp.states)) == pytest.approx(1 / (1 - mdp.gamma))


@given(models())
def test_bellman_equations_and_advantages(model):
    mdp, rng = model
    pi, other = random_policy(mdp, rng), random_policy(mdp, rng)
    V, Q, A = mdp.state_values(pi), mdp.q_values(pi), mdp.advantage(pi)
    scale = 1e-12 * (1 + np.abs(V).max())
    np.testing.assert_allclose((pi * Q).sum(axis=1), V, atol=scale)
    np.testing.assert_allclose(Q, mdp.r + mdp.gamma * np.einsum("sat,t->sa", mdp.P, V), atol=scale)
    np.testing.assert_allclose(A, Q - V[:, None], atol=scale)
    np.testing.assert_allclose((pi * A).sum(axis=1), 0, atol=scale)
    assert mdp.value(pi) == pytest.approx(mdp.mu @ V, abs=scale)
    # The performance difference lemma ties values, advantages and occupancies of two policies together.
    gain = (mdp.occupancy(other) * A).sum() / (1 - mdp.gamma)
    assert mdp.value(other) - mdp.value(pi) == pytest.approx(gain, abs=10 * scale / (1 - mdp.gamma))


@given(models())
def test_costs_are_rewards_of_another_name(model):
    mdp, rng = model
    pi, y = random_policy(mdp, rng), SQUARE.sample(3, int(rng.integers(1000)))
    cost, bound = mdp.costs.at(y)
    by_hand = [mdp.value(pi, row if mdp.costs.by_state else row.reshape(mdp.r.shape)) for row in cost]
    np.testing.assert_allclose(mdp.cost_values(pi, y), by_hand, rtol=1e-9)
    np.testing.assert_allclose(bound, 1 + y[:, 0], rtol=1e-15)
    np.testing.assert_allclose(mdp.violations(pi, y), mdp.cost_values(pi, y) - bound, atol=1e-12)
    assert mdp.visits(pi).sum() == pytest.approx(1 / (1 - mdp.gamma))


@given(models())
def test_sparse_transitions_equal_dense_ones(model):
    mdp, rng = model
    rows = mdp.P.reshape(-1, mdp.states)
    c = mdp.specification.constraint
    for kind in (sparse.csr_matrix, sparse.coo_array):
        thin = rl.SICMDP(kind(rows), mdp.r, c.cost, c.bound, Y, mdp.mu, mdp.gamma)
        np.testing.assert_array_equal(thin.P, mdp.P)
        assert sparse.issparse(thin.chain(random_policy(mdp, rng)))
        pi = random_policy(mdp, rng)
        np.testing.assert_allclose(thin.chain(pi).toarray(), mdp.chain(pi), atol=1e-15)
        for name in ("state_values", "q_values", "advantage", "occupancy", "transition_occupancy", "visits"):
            np.testing.assert_allclose(getattr(thin, name)(pi), getattr(mdp, name)(pi), atol=1e-10, err_msg=name)
        same = (thin.sample(per_pair=20, seed=3).counts == mdp.sample(per_pair=20, seed=3).counts).all()
        assert same


@given(models())
def test_integers_are_a_deterministic_policy(model):
    mdp, rng = model
    actions = rng.integers(mdp.actions, size=mdp.states)
    pi = np.eye(mdp.actions)[actions]
    for policy in (actions, actions.tolist(), actions.astype(np.uint8)):
        np.testing.assert_array_equal(mdp.policy(policy), pi)
        np.testing.assert_array_equal(mdp.occupancy(policy), mdp.occupancy(pi))
    assert mdp.value(actions) == mdp.value(pi)


@given(models(gammas=(0.9,)))
@settings(max_examples=20)
def test_policy_iteration_ends_where_no_policy_is_better(model):
    mdp, rng = model
    pi = np.zeros(mdp.states, dtype=int)
    for _ in range(100):
        best = mdp.q_values(pi).argmax(axis=1)
        if np.array_equal(best, pi):
            break
        pi = best
    assert (mdp.advantage(pi) <= 1e-12).all()
    assert all(mdp.value(random_policy(mdp, rng)) <= mdp.value(pi) + 1e-9 for _ in range(5))


def test_state_rewards_are_repeated_over_actions():
    mdp = model_of(r=[1.0, 2.0])
    np.testing.assert_array_equal(mdp.r, [[1, 1], [2, 2]])


def test_a_model_keeps_its_own_copy():
    P, r = CHAIN.copy(), np.ones((2, 2))
    mdp = rl.SICMDP(P, r, COST, 1.0, T)
    P[:], r[:] = 7, 7
    np.testing.assert_array_equal(mdp.P, CHAIN)
    np.testing.assert_array_equal(mdp.r, 1)


def test_a_model_reads_as_a_sentence():
    assert str(model_of()) == "SICMDP with 2 states, 2 actions, discount 0.9, and a constraint for every y in [0, 1]"


# ---- the worst violation ---------------------------------------------------------------------------------------------


@st.composite
def constrained(draw: Draw) -> tuple[rl.SICMDP, Any, Any, np.ndarray]:
    """A model whose cost and bound are random formulas, over index sets of many kinds."""
    # Discs are slow as long as the test of a linear cost on one fails.
    domain = draw(domains(dim=draw(st.integers(1, 2))).filter(lambda d: not isinstance(d, lsip.Ball) or d.dim == 1))
    states, actions = draw(st.integers(1, 3)), draw(st.integers(1, 2))
    shape = (states,) if draw(st.booleans()) else (states, actions)
    scalar = domain.scalar
    cost = draw(formulas(domain.dim, shape, 2, scalar=scalar, jumps=False))
    bound = draw(formulas(domain.dim, (), 2, scalar=scalar, jumps=False))
    rng = np.random.default_rng(draw(st.integers(0, 1000)))
    index = lsip.Index("y", domain)
    P = distributions(rng, (states, actions, states))
    mdp = rl.SICMDP(P, np.zeros((states, actions)), cost(index), bound(index), index, gamma=0.8)
    return mdp, cost, bound, distributions(rng, (states, actions))


@given(constrained())
@settings(max_examples=40)
def test_no_sampled_violation_exceeds_the_worst_one(case):
    mdp, cost, bound, pi = case
    tol = 1e-6
    worst = mdp.worst_violation(pi, tol=tol)
    assert mdp.domain.contains(worst.y[None])[0]
    assert worst.value == pytest.approx(mdp.violations(pi, worst.y)[0], rel=1e-9, abs=1e-9)
    assert float(worst) == worst.value
    y = fresh_points(mdp.domain, worst.y[None])
    found, some = mdp.violations(pi, y), slice(None, None, max(1, len(y) // 100))
    by_hand = cost.at(y[some]) @ mdp.visits(pi) - bound.at(y[some])[:, 0]
    rounding = 1e-10 * (1 + np.abs(found).max())
    np.testing.assert_allclose(found[some], by_hand, atol=100 * rounding)
    assert found.max() <= worst.bound + rounding
    if worst.bound - worst.value <= tol:
        assert found.max() <= worst.value + tol + rounding


def test_a_linear_cost_on_a_disc_is_largest_on_its_edge():
    y = lsip.Index("y", lsip.Ball([0, 0], 0.5))
    mdp = rl.SICMDP(np.ones((1, 1, 1)), [[0.0]], np.stack([1 + y[1]]), 0.0, y, gamma=0.0)
    worst = mdp.worst_violation([0])
    assert worst.bound == pytest.approx(1.5, abs=1e-9)
    assert worst.value == pytest.approx(1.5, abs=1e-9)


def spots(places, width=4.0):
    """exp(-width |y - p|^2) for points (N, 2)."""
    return lambda y: np.exp(-width * ((y[:, None, :] - places) ** 2).sum(axis=-1))


@given(models(gammas=(0.5, 0.9)), st.booleans())
@settings(max_examples=15)
def test_traced_functions_equal_expressions(model, of_index):
    mdp, rng = model
    pi, places = random_policy(mdp, rng), rng.random((mdp.states, 2))
    expression = np.exp(-4 * ((Y - places) ** 2).sum(axis=-1))
    declared = rl.SICMDP(mdp.P, mdp.r, expression, 1 + Y[1] ** 2, Y, mdp.mu, mdp.gamma)
    domain = Y if of_index else SQUARE
    traced, hidden = (
        rl.SICMDP(mdp.P, mdp.r, function, lambda y: 1 + y[:, 1] ** 2, domain, mdp.mu, mdp.gamma)
        for function in (spots(places), lambda y: spots(places)(number(y)))
    )
    y = SQUARE.sample(20)
    for other in (traced, hidden):
        np.testing.assert_allclose(other.violations(pi, y), declared.violations(pi, y), atol=1e-12)
    a, b, c = (m.worst_violation(pi, tol=1e-7) for m in (declared, traced, hidden))
    assert a.certified
    assert b.certified
    assert b.value == pytest.approx(a.value, abs=2e-7)
    assert not c.certified
    assert c.bound == np.inf
    assert c.value <= a.bound
    assert "not proven elsewhere" in str(c)


@given(st.integers(0, 1000), st.integers(1, 2), st.floats(0.5, 3.0))
@settings(max_examples=15)
def test_lipschitz_constants_give_honest_bounds(seed, dim, slope):
    """Cones max(0, 1 - slope |y - p|) in the sup norm change exactly as fast as is said."""
    rng = np.random.default_rng(seed)
    places, tilt = rng.random((3, dim)), rng.normal(size=dim)
    domain = lsip.Box(np.zeros(dim), np.ones(dim))

    def cost(y):
        return np.maximum(0, 1 - slope * np.abs(number(y)[:, None, :] - places).max(axis=-1))

    def bound(y):
        return 1 + number(y) @ tilt

    P, pi = distributions(rng, (3, 2, 3)), distributions(rng, (3, 2))
    constants = (slope, float(np.abs(tilt).sum()))
    mdp = rl.SICMDP(P, np.zeros((3, 2)), cost, bound, domain, gamma=0.5, lipschitz=constants)
    worst = mdp.worst_violation(pi, tol=1e-2)
    y = fresh_points(domain, np.concatenate([places, worst.y[None]]))
    attained = mdp.violations(pi, np.concatenate([y, places])).max()
    assert not worst.certified, "the constants are taken on trust"
    (trusted,) = worst.assumptions
    assert "Lipschitz" in trusted
    assert f"if {trusted}" in str(worst)
    assert attained <= worst.bound + 1e-12
    assert worst.bound <= attained + 0.05
    without = rl.SICMDP(P, np.zeros((3, 2)), cost, bound, domain, gamma=0.5).worst_violation(pi)
    assert not without.certified
    assert without.value <= worst.bound


def test_a_finite_index_set_is_tried_completely():
    points = np.array([[0.0], [0.3], [0.8]])
    mdp = model_of(cost=lambda y: np.abs(np.sin(9 * number(y) + np.arange(2))), bound=1.0, domain=lsip.Finite(points))
    worst = mdp.worst_violation([0, 1])
    assert worst.certified
    assert worst.value == pytest.approx(mdp.violations([0, 1], points).max())
    assert worst.bound == pytest.approx(worst.value, abs=1e-9)


def test_an_oracle_can_be_chosen():
    mdp = model_of(cost=np.array([1.0, 2.0]) * T * (1 - T), bound=0.1)
    exact = mdp.worst_violation([0, 1])
    grid = mdp.worst_violation([0, 1], lsip.oracles.Grid(points=7))
    assert exact.certified
    assert exact.y[0] == pytest.approx(0.5, abs=1e-3)
    assert not grid.certified
    assert grid.value <= exact.bound
    random = [mdp.worst_violation([0, 1], lsip.oracles.RandomSearch(points=5), seed=s) for s in (1, 1, 2)]
    assert random[0].value == random[1].value != random[2].value
    assert exact.bound - exact.value <= 1e-9


def test_numbers_as_costs_and_bounds():
    constant = model_of(cost=np.array([0.25, 0.75]), bound=3.0, domain=SQUARE)
    assert constant.worst_violation([0, 0]).value == pytest.approx(constant.value([0, 0], [0.25, 0.75]) - 3)
    moving = model_of(cost=np.array([0.25, 0.75]), bound=3.0 + T, domain=T)
    assert moving.worst_violation([0, 0]).value == pytest.approx(constant.worst_violation([0, 0]).value)
    pairs = model_of(cost=np.array([[0.25, 0.5], [0.75, 1.0]]), bound=lambda y: 3 + y[:, 0], domain=UNIT)
    assert not pairs.costs.by_state
    assert pairs.worst_violation([0, 0]).value == pytest.approx(constant.worst_violation([0, 0]).value)


def test_a_domain_or_its_index_mean_the_same():
    a, b = model_of(domain=T), model_of(domain=UNIT)
    assert a.worst_violation([0, 1]).value == b.worst_violation([0, 1]).value
    assert a.domain == b.domain


def test_a_violation_reads_as_a_sentence():
    worst = rl.Worst(0.25, np.array([0.5]), 0.25)
    assert str(worst) == "0.25 at y = [0.5] (at most 0.25 over all of Y)"


def test_a_printed_bound_is_not_below_the_value():
    assert "at most 0.122 " not in str(rl.Worst(0.122423, np.array([0.5]), 0.122424))


# ---- the constraint in a program -------------------------------------------------------------------------------------


@pytest.mark.parametrize("by_state", [True, False])
def test_the_constraint_on_variables_is_the_scaled_cost(by_state):
    places = np.random.default_rng(1).random((3, 2) if by_state else (3, 2, 2))
    shape = places.shape[:-1]
    expression = np.exp(-4 * ((Y - places) ** 2).sum(axis=-1))

    def function(y):
        return np.exp(-4 * ((y.reshape(-1, *([1] * len(shape)), 2) - places) ** 2).sum(axis=-1))

    declared = rl.SemiInfiniteCost(Y, expression, 1 + Y[0]).table(3, 2)
    traced = rl.SemiInfiniteCost(SQUARE, function, lambda y: 1 + y[:, 0]).table(3, 2)
    assert declared.size == (3 if by_state else 6)
    x = lsip.Variable(declared.size, lower=0, name="x")
    y = SQUARE.sample(10)
    for table in (declared, traced):
        cost, bound = table.at(y)
        np.testing.assert_allclose(cost, function(y).reshape(10, -1), rtol=1e-12)
        np.testing.assert_allclose(bound, 1 + y[:, 0])
        family = lsip.Problem(lsip.maximize(x.sum()), [table.on(x, 10.0)]).compile().families[0]
        a, b = family.rows(y)
        np.testing.assert_allclose(a[:, 0], 10 * cost, rtol=1e-12)
        np.testing.assert_allclose(b[:, 0], bound)


def test_weights_are_what_the_constraint_sees():
    q = np.array([[0.1, 0.2], [0.3, 0.4]])
    by_state = rl.SemiInfiniteCost(T, COST, 1.0).table(2, 2)
    by_pair = rl.SemiInfiniteCost(T, np.ones((2, 2)) * T, 1.0).table(2, 2)
    np.testing.assert_allclose(by_state.weights(q), [0.3, 0.7])
    np.testing.assert_allclose(by_pair.weights(q), [0.1, 0.2, 0.3, 0.4])


def test_scaled_black_boxes_stay_honest():
    def peak(y):
        return np.maximum(0, 0.1 - np.abs(number(y) - 0.337)) * 10

    table = rl.SemiInfiniteCost(UNIT, peak, 0.5, lipschitz=(10.0, 0.0)).table(1, 1)
    x = lsip.Variable(1, lower=0, upper=1, name="x")
    solution = lsip.Problem(lsip.maximize(x[0]), [table.on(x, 10.0)]).solve(tol=1e-3, verbose=False)
    assert not solution.certified or 10 * solution[x][0] <= 0.5 + 1e-9


def test_a_specification_with_transitions_is_the_model_again():
    mdp = model_of()
    again = mdp.specification.with_transitions(mdp.P)
    assert again.value([0, 1]) == mdp.value([0, 1])
    assert again.worst_violation([0, 1]).value == mdp.worst_violation([0, 1]).value


def test_a_specification_of_functions_with_transitions_is_the_model_again():
    mdp = model_of(cost=lambda y: y * np.array([1.0, 2.0]), bound=lambda y: 1 + y[:, 0], domain=UNIT, mu=[0.3, 0.7])
    again = mdp.specification.with_transitions(sparse.csr_matrix(mdp.rows))
    assert again.value([0, 1]) == pytest.approx(mdp.value([0, 1]))
    assert again.worst_violation([0, 1]).value == pytest.approx(mdp.worst_violation([0, 1]).value)


def test_transitions_must_fit_the_specification():
    with pytest.raises(lsip.ModelError, match=r"`P` has 3 states and 1 actions, the specification \(2, 2\)"):
        model_of().specification.with_transitions(np.full((3, 1, 3), 1 / 3))


# ---- wrong input -----------------------------------------------------------------------------------------------------


def model_of(**changes: Any) -> rl.SICMDP:
    """A model of two states and two actions, with some of its parts replaced."""
    parts: dict[str, Any] = {"P": CHAIN, "r": [[0, 1], [1, 0.5]], "cost": COST, "bound": 1.0, "domain": T}
    return rl.SICMDP(**{**parts, **changes})


def off(s: int, a: int, total: float) -> np.ndarray:
    P = CHAIN.copy()
    P[s, a] *= total
    return P


WRONG_MODELS: list[tuple[dict[str, Any], str]] = [
    ({"P": off(1, 0, 0.9)}, r"sum to one: P\[1, 0, :\] sums to 0.9\.$"),
    ({"P": off(0, 1, 1 + 1e-6)}, r"P\[0, 1, :\] sums to 1.000001\.$"),
    ({"P": 2 * CHAIN}, r"P\[0, 0, :\] sums to 2, and 3 more rows are off"),
    ({"P": sparse.csr_matrix(off(1, 1, 0.5).reshape(4, 2))}, r"P\[1, 1, :\] sums to 0.5"),
    ({"P": CHAIN[:, :, :1]}, r"`P` must have shape \(S, A, S\).* got \(2, 2, 1\)"),
    ({"P": np.eye(2)}, r"`P` must have shape \(S, A, S\).* got \(2, 2\)"),
    ({"P": np.zeros((2, 0, 2))}, r"`P` must have shape.* got \(2, 0, 2\)"),
    ({"P": np.stack([CHAIN[0], [[2, -1], [0, 1]]])}, "negative probability, -1"),
    ({"P": np.full((2, 2, 2), np.nan)}, "`P` must be finite"),
    ({"P": "chain"}, "`P` must be real numbers; got text"),
    ({"P": sparse.csr_matrix(np.ones((3, 2)) / 2)}, r"sparse `P` has shape \(S \* A, S\).* got \(3, 2\)"),
    ({"P": sparse.csr_matrix([[np.nan, 1.0]] * 4)}, "`P` must be finite"),
    ({"P": sparse.csr_matrix([[2.0, -1.0]] * 4)}, "negative probability, -1"),
    ({"r": [1, 2, 3]}, r"`r` must have shape \(2, 2\) or \(2,\); got \(3,\)"),
    ({"r": np.ones((2, 3))}, r"`r` must have shape.* got \(2, 3\)"),
    ({"r": [[np.inf, 0], [0, 0]]}, "`r` must be finite"),
    ({"mu": [0.5, 0.6]}, "`mu` must sum to one; it sums to 1.1"),
    ({"mu": [1.5, -0.5]}, "`mu` holds a negative probability: -0.5"),
    ({"mu": [1, 0, 0]}, r"`mu` must be a distribution over the 2 states; got shape \(3,\)"),
    ({"mu": [np.nan, 1]}, "`mu` must be finite"),
    ({"gamma": 1.5}, "`gamma` must be between 0 and 1; got 1.5"),
    ({"gamma": -0.1}, "`gamma` must be between 0 and 1; got -0.1"),
    ({"gamma": np.nan}, "`gamma` must be between 0 and 1; got nan"),
    ({"cost": np.ones(3) * T}, r"`cost` must give one number a state, shape \(2,\), .* \(2, 2\), .* got shape \(3,\)"),
    ({"cost": T}, r"`cost` must give one number a state.* got shape \(\)"),
    ({"cost": lambda y: np.ones((len(y), 3)), "domain": UNIT}, r"got shape \(3,\)"),
    ({"cost": lambda y: np.ones((len(y), 2, 3)), "domain": UNIT}, r"got shape \(2, 3\)"),
    ({"bound": 1 + Y[0]}, "`cost` and `bound` must share one index; they use t, y"),
    *[({"bound": bound}, "`bound` must be a finite number; got") for bound in (None, "one", np.nan, np.inf)],
    ({"bound": lambda: 1.0, "domain": UNIT, "cost": np.ones(2)}, r"called as bound\(y\); the one given takes \(\)"),
    ({"cost": lambda y, o, a: y, "domain": UNIT}, r"called as cost\(y\); the one given takes \(y, o, a\)"),
    *[({"cost": cost}, "`cost` must be") for cost in (None, "x", [None, None], [np.nan, 1])],
    *[({"gamma": gamma}, "`gamma` must be between 0 and 1; got") for gamma in ("x", None)],
    ({"domain": Y}, "`cost` and `bound` depend on t, but `domain` is the index y"),
    ({"domain": SQUARE}, r"The index t lives on \[0, 1\], but `domain` is \[0, 1\]²"),
    ({"domain": lsip.Interval(0, 2)}, r"The index t lives on \[0, 1\], but `domain` is \[0, 2\]"),
    ({"domain": [0, 1]}, r"`domain` must be an index set such as lsip.Box.* got \[0, 1\]"),
]  # fmt: skip


@pytest.mark.parametrize(("parts", "message"), WRONG_MODELS)
def test_wrong_models_are_refused(parts, message):
    with pytest.raises(lsip.ModelError, match=message):
        model_of(**parts)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"cost": lambda y: np.full((len(y), 2), np.nan), "domain": UNIT}, "is not finite at y"),
        (
            {"cost": lambda y: y * np.ones(2), "bound": lambda y: y, "domain": UNIT},
            r"`bound\(y\)` must give one number a point, shape \(1,\)",
        ),
        ({"cost": lambda y: y * np.ones(2), "domain": UNIT, "lipschitz": -1}, "`lipschitz` must be a number >= 0"),
    ],
)
def test_wrong_constraints_are_refused_when_they_are_used(parts, message):
    with pytest.raises(lsip.ModelError, match=message):
        model_of(**parts).worst_violation([0, 1])


@pytest.mark.parametrize(
    "parts",
    [
        {"bound": lambda y: 1 + y[:, 0]},
        {"cost": lambda y: y * np.ones(2), "bound": 1 + T},
    ],
)
def test_an_expression_and_a_function_do_not_mix(parts):
    with pytest.raises(lsip.ModelError, match="both"):
        model_of(**parts)


@pytest.mark.parametrize("bound", [np.array([1.0, 2.0]), np.array([1.0, 2.0]) * T])
def test_a_bound_has_no_shape(bound):
    with pytest.raises(lsip.ModelError, match="bound"):
        model_of(bound=bound)


def test_another_finite_set_is_another_domain():
    points = np.arange(100.0)[:, None]
    y = lsip.Index("y", lsip.Finite(points))
    with pytest.raises(lsip.ModelError, match="lives on"):
        model_of(cost=np.array([0.2, 0.8]) * y[0], domain=lsip.Finite(points[::-1] / 2))


@pytest.mark.parametrize("cost", [[0.2, 0.8], [[0.2, 0.3], [0.8, 0.9]], [T, 1 - T]])
def test_lists_are_costs_too(cost):
    assert model_of(cost=cost, bound=1 + T).worst_violation([0, 1]).certified


def test_points_of_the_wrong_dimension_are_refused():
    mdp = model_of(cost=np.array([0.2, 0.8]) * Y[0], domain=Y)
    with pytest.raises(lsip.ModelError, match=r"shape \(N, 2\)"):
        mdp.violations([0, 1], np.zeros((2, 3)))


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        ([0, 2], r"deterministic policy has actions 0 to 1; got \[0, 2\]"),
        ([-1, 0], r"deterministic policy has actions 0 to 1; got \[-1, 0\]"),
        ([0.0, 1.0], r"A policy has shape \(2, 2\), or \(2,\) with integer actions; got \(2,\)"),
        ([0, 1, 0], r"A policy has shape \(2, 2\).* got \(3,\)"),
        ([[0.5, 0.5]], r"A policy has shape \(2, 2\).* got \(1, 2\)"),
        ([[0.5, 0.5], [0.5, 0.6]], "`policy` must sum to one in state 1; it sums to 1.1"),
        ([[1.5, -0.5], [0.5, 0.5]], "`policy` holds a negative probability in state 0: -0.5"),
        ([[np.nan, 1], [0, 1]], "`policy` must be finite"),
        ("greedy", "`policy` must be real numbers; got text"),
    ],
)
def test_wrong_policies_are_refused(policy, message):
    mdp = model_of()
    for use in (mdp.policy, mdp.value, mdp.occupancy, mdp.chain, mdp.worst_violation, mdp.advantage):
        with pytest.raises(lsip.ModelError, match=message):
            use(policy)


@pytest.mark.parametrize(
    ("reward", "message"),
    [([1, 2, 3], r"shape \(2, 2\) or \(2,\); got \(3,\)"), ("r", "must be real numbers; got text")],
)
def test_wrong_rewards_are_refused(reward, message):
    with pytest.raises(lsip.ModelError, match=message):
        model_of().value([0, 1], reward)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "Give either per_pair"),
        ({"n": 5, "per_pair": 5}, "Give either per_pair"),
        ({"per_pair": 5, "measure": np.full((2, 2), 0.25)}, "Give either per_pair"),
        ({"n": 0}, "at least 1; got 0"),
        ({"n": 2.5}, "at least 1; got 2.5"),
        ({"per_pair": -1}, "at least 1; got -1"),
        ({"n": 5, "measure": [0.5, 0.5]}, r"`measure` must have shape \(2, 2\); got \(2,\)"),
        ({"n": 5, "measure": np.eye(2)}, "`measure` must sum to one; it sums to 2"),
        ({"n": 5, "measure": [[1.5, -0.5], [0, 0]]}, "`measure` holds a negative probability: -0.5"),
    ],
)
def test_wrong_orders_of_samples_are_refused(arguments, message):
    with pytest.raises(lsip.ModelError, match=message):
        model_of().sample(**arguments)
