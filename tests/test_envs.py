"""The tabular environments: seeds, what their numbers mean, feasibility by construction, and constraints that bind."""

from __future__ import annotations

from math import comb
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import envs
import lsip
import rl
from envs.drone import ACTIONS, DRAG, IDLE, INSTRUMENTS, VELOCITY

ALL: list[Any] = [envs.sewage, envs.load_balancing, envs.drone]
SURVEY, REST = ACTIONS.index("survey"), ACTIONS.index("rest")


def best_policy(mdp: rl.SICMDP) -> np.ndarray:
    """The best policy without the constraint, by policy iteration."""
    pi, states = np.zeros(mdp.states, dtype=int), np.arange(mdp.states)
    while True:
        q = mdp.q_values(pi)
        better = q.argmax(axis=1)
        if (q[states, better] <= q[states, pi] + 1e-12).all():
            return pi
        pi = better


def same(a: rl.SICMDP, b: rl.SICMDP) -> bool:
    y = a.domain.sample(5)
    parts = [(a.P, b.P), (a.r, b.r), *zip(a.costs.at(y), b.costs.at(y), strict=True)]
    return all(np.array_equal(p, q) for p, q in parts)


# ---- all of them -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("env", ALL)
def test_a_seed_makes_an_instance(env):
    assert same(env(seed=3), env(seed=3))
    assert not same(env(seed=3), env(seed=4))
    rng = np.random.default_rng(3)
    assert same(env(seed=rng), env(seed=3))
    assert not same(env(seed=rng), env(seed=3))


@pytest.mark.parametrize("env", ALL)
@pytest.mark.parametrize("seed", range(3))
def test_the_best_policy_without_the_constraint_violates_it(env, seed):
    mdp = env(seed=seed)
    worst = mdp.worst_violation(best_policy(mdp))
    assert worst.certified
    assert worst.value > 0.05
    assert worst.bound <= worst.value + 1e-8


@pytest.mark.parametrize("env", ALL)
def test_the_constraint_binds_at_the_optimum(env):
    mdp = env()
    plan = rl.plan(mdp)
    worst = mdp.worst_violation(plan.policy)
    assert plan.certified
    assert worst.value == pytest.approx(0, abs=1e-6)
    assert worst.bound <= 1e-6
    assert plan.value < mdp.value(best_policy(mdp)) - 0.1
    assert plan.value > mdp.value(rl.uniform_policy(mdp.states, mdp.actions)) + 0.1


@pytest.mark.parametrize("env", ALL)
def test_costs_lie_between_zero_and_one(env):
    for seed in range(3):
        mdp = env(seed=seed)
        cost, _ = mdp.costs.at(np.concatenate([mdp.domain.sample(2000, seed), mdp.domain.grid(5)]))
        assert cost.min() >= 0
        assert cost.max() <= 1


@pytest.mark.parametrize("env", ALL)
@pytest.mark.parametrize("gamma", [0.0, 0.5, 0.99])
def test_the_discount_is_honoured(env, gamma):
    mdp = env(gamma=gamma)
    assert mdp.gamma == gamma
    np.testing.assert_array_equal(mdp.P, env().P)
    np.testing.assert_array_equal(mdp.r, env().r)


@pytest.mark.parametrize("env", ALL)
@pytest.mark.parametrize("gamma", [1, -0.1])
def test_wrong_discounts_are_refused(env, gamma):
    with pytest.raises(lsip.ModelError, match=f"`gamma` must be at least 0 and below 1; got {gamma}"):
        env(gamma=gamma)


# ---- Discharge of Sewage ---------------------------------------------------------------------------------------------


@given(st.integers(1, 6), st.integers(1, 4), st.integers(0, 100), st.sampled_from([0.5, 1.0, 2.0]))
@settings(max_examples=20)
def test_sewage_spreads_with_distance(states, actions, seed, region):
    mdp = envs.sewage(states, actions, seed=seed, region=region, slack=0.5)
    assert mdp.P.shape == (states, actions, states)
    assert mdp.domain == lsip.Box([0, 0], [region, region])
    assert mdp.outfalls.shape == (states, 2)
    assert ((mdp.outfalls >= 0) & (mdp.outfalls <= region)).all()
    assert ((mdp.r >= 0) & (mdp.r <= 1)).all()
    y = mdp.domain.sample(20)
    pollution = 1 / (1 + ((y[:, None, :] - mdp.outfalls) ** 2).sum(axis=-1))
    cost, bound = mdp.costs.at(y)
    np.testing.assert_allclose(cost, pollution, rtol=1e-12)
    uniform = rl.uniform_policy(states, actions)
    np.testing.assert_allclose(bound, 1.5 * mdp.cost_values(uniform, y), rtol=1e-12)


@pytest.mark.parametrize(("seed", "region"), [(0, 1.0), (1, 1.0), (0, 2.0)])
def test_the_uniform_policy_keeps_sewage_within_bounds(seed, region):
    mdp = envs.sewage(seed=seed, region=region)
    worst = mdp.worst_violation(rl.uniform_policy(mdp.states, mdp.actions))
    assert worst.certified
    assert worst.bound < 0


def test_sewage_slack_scales_the_bound():
    y = lsip.Box([0, 0], [1, 1]).sample(10)
    (_, tight), (_, loose) = (envs.sewage(seed=1, slack=s).costs.at(y) for s in (0.0, 0.25))
    np.testing.assert_allclose(loose, 1.25 * tight, rtol=1e-12)


def test_sewage_options():
    plain = envs.sewage(seed=1)
    switching = envs.sewage(seed=1, switching_cost=True)
    normalised = envs.sewage(seed=1, transitions="normalised")
    np.testing.assert_array_equal(switching.P, plain.P)
    np.testing.assert_array_equal(switching.r, [[plain.P[s, a, s] for a in range(4)] for s in range(8)])
    np.testing.assert_array_equal(normalised.outfalls, plain.outfalls)
    assert not np.allclose(normalised.P, plain.P)
    # Uniform numbers, divided by their sum, stay near 1 / S; the simplex has more room.
    assert normalised.P.max() < plain.P.max()


# ---- Load Balancing --------------------------------------------------------------------------------------------------


@given(st.integers(2, 4), st.integers(1, 4), st.integers(0, 100), st.sampled_from([0.5, 1.0, 3.0]))
@settings(max_examples=20)
def test_capacity_is_what_traffic_leaves_free(sites, units, seed, region):
    mdp = envs.load_balancing(sites, units, seed=seed, region=region, reach=0.2, snr=50.0, slack=0.1)
    states = comb(units + sites - 1, sites - 1)
    assert (mdp.states, mdp.actions) == (states, sites + 1)
    assert mdp.domain == lsip.Box([0, 0], [region, region])
    assert ((mdp.sites >= 0) & (mdp.sites <= region)).all()
    assert len({tuple(row) for row in mdp.loads.tolist()}) == states
    np.testing.assert_allclose(mdp.loads.sum(axis=1), 1)
    np.testing.assert_allclose(mdp.loads * units, np.round(mdp.loads * units), atol=1e-12)
    x = mdp.domain.sample(20)
    signal = 1 / (1 + ((x[:, None, :] - mdp.sites) ** 2).sum(axis=-1) / 0.2**2)
    rate = np.log(1 + 50 * signal)
    capacity = rate @ (1 - mdp.loads).T / rate.sum(axis=1, keepdims=True)
    cost, bound = mdp.costs.at(x)
    np.testing.assert_allclose(cost, 1 - capacity, atol=1e-12)
    discounted = capacity @ mdp.visits(rl.uniform_policy(states, sites + 1))
    demand = np.exp(-((x - region / 2) ** 2).sum(axis=1) / (2 * (region / 4) ** 2))
    threshold = (1 - 0.1 * (1 - demand / 2)) * discounted
    np.testing.assert_allclose(1 / (1 - mdp.gamma) - bound, threshold, rtol=1e-9)


@pytest.mark.parametrize("slack", [0.02, 0.05, 0.5])
def test_the_uniform_policy_keeps_capacity(slack):
    mdp = envs.load_balancing(slack=slack)
    uniform = rl.uniform_policy(mdp.states, mdp.actions)
    worst = mdp.worst_violation(uniform, tol=1e-4)
    assert worst.certified
    # The margin slack (1 - D / 2) C is at least half of slack C, whose least value a fine grid gives closely.
    least = 1 / (1 - mdp.gamma) - mdp.cost_values(uniform, mdp.domain.grid(50)).max()
    assert worst.bound <= -0.49 * slack * least


def state_of(mdp: Any, *load: float) -> int:
    return int(np.flatnonzero((mdp.loads == np.array(load)).all(axis=1))[0])


def test_actions_move_one_unit_from_the_most_loaded_site():
    mdp = envs.load_balancing(3, 4, wander=0.0, handover=0.25)
    s = state_of(mdp, 0.25, 0.75, 0.0)
    assert mdp.P[s, 0, state_of(mdp, 0.5, 0.5, 0.0)] == 1
    assert mdp.P[s, 1, state_of(mdp, 0.0, 1.0, 0.0)] == 1
    assert mdp.P[s, 2, state_of(mdp, 0.25, 0.5, 0.25)] == 1
    assert mdp.P[s, 3, s] == 1
    running = 0.25 * mdp.prices[0] + 0.75 * mdp.prices[1]
    np.testing.assert_allclose(mdp.r[s], [-running - 0.25] * 3 + [-running])
    tied = state_of(mdp, 0.5, 0.5, 0.0)
    assert mdp.P[tied, 2, state_of(mdp, 0.25, 0.5, 0.25)] == 0.5
    assert mdp.P[tied, 2, state_of(mdp, 0.5, 0.25, 0.25)] == 0.5
    full = state_of(mdp, 0.0, 0.0, 1.0)
    assert mdp.P[full, 2, full] == 1
    assert mdp.r[full, 2] == mdp.r[full, 3] == pytest.approx(-mdp.prices[2])


def test_users_wander():
    mdp, still = envs.load_balancing(3, 4, wander=0.2), envs.load_balancing(3, 4, wander=0.0)
    s = state_of(mdp, 0.25, 0.75, 0.0)
    users = (mdp.P[s] - 0.8 * still.P[s]) / 0.2
    expected = np.zeros(mdp.states)
    for load, probability in [
        ((0.0, 1.0, 0.0), 0.25 / 2),
        ((0.0, 0.75, 0.25), 0.25 / 2),
        ((0.5, 0.5, 0.0), 0.75 / 2),
        ((0.25, 0.5, 0.25), 0.75 / 2),
    ]:
        expected[state_of(mdp, *load)] = probability
    np.testing.assert_allclose(users, np.tile(expected, (4, 1)), atol=1e-12)


@pytest.mark.parametrize("handover", [0.0, 0.05, 0.9])
def test_operating_costs_lie_between_zero_and_one(handover):
    mdp = envs.load_balancing(handover=handover)
    assert ((mdp.prices >= 0) & (mdp.prices <= 1 - handover)).all()
    assert ((mdp.r >= -1) & (mdp.r <= 0)).all()


def test_the_best_policy_without_the_constraint_loads_the_cheapest_site():
    mdp = envs.load_balancing()
    shares = mdp.occupancy(best_policy(mdp)).sum(axis=1) @ mdp.loads
    assert shares.argmax() == mdp.prices.argmin()
    assert shares.max() > 0.7


# ---- Underwater Drone ------------------------------------------------------------------------------------------------


@given(st.integers(1, 3), st.integers(2, 3), st.integers(0, 100), st.sampled_from([0.3, 0.8]))
@settings(max_examples=15)
def test_energy_is_thrust_through_the_water(rows, columns, seed, current):
    mdp = envs.drone(rows, columns, 2, seed=seed, current=current, thickness=0.4, battery=0.5, fade=0.2)
    cells = rows * columns
    assert (mdp.states, mdp.actions) == (2 * cells, 6)
    assert mdp.domain == lsip.Ball([0, 0], current) * lsip.Interval(0, 1)
    assert len(set(mdp.tasks.tolist())) == 2
    assert ((mdp.values >= 0.5) & (mdp.values <= 1)).all()
    eps = mdp.domain.sample(5, seed)
    most = IDLE + DRAG * (1 + current) ** 3
    cost, bound = mdp.costs.at(eps)
    for (w1, w2, z), energy, battery in zip(eps, cost.reshape(5, cells, 2, 6), bound, strict=True):
        for cell, depth in enumerate(mdp.depths):
            felt = np.exp(-(((depth - z) / 0.4) ** 2)) * np.array([w1, w2])
            power = IDLE + DRAG * np.linalg.norm(VELOCITY - felt, axis=1) ** 3
            power[SURVEY] += INSTRUMENTS
            power[REST] = IDLE
            np.testing.assert_allclose(energy[cell], np.tile(power / most, (2, 1)), rtol=1e-9)
        e = IDLE / most
        assert battery == pytest.approx((e + 0.5 * (1 - e) * (1 - 0.2 * (1 - z))) / (1 - mdp.gamma))


@pytest.mark.parametrize(("battery", "fade"), [(0.3, 0.3), (0.05, 0.9), (1.0, 0.0)])
def test_to_rest_keeps_the_battery(battery, fade):
    mdp = envs.drone(battery=battery, fade=fade)
    worst = mdp.worst_violation(np.full(mdp.states, REST))
    idle = IDLE / (IDLE + DRAG * 1.5**3)
    assert worst.certified
    assert worst.value == pytest.approx(-battery * (1 - idle) * (1 - fade) / (1 - mdp.gamma))
    assert worst.bound < 0


def test_a_battery_that_can_do_anything_constrains_nothing():
    mdp = envs.drone(battery=1.0, fade=0.0)
    assert mdp.worst_violation(best_policy(mdp), tol=1e-3).bound < 0


def test_moves_and_surveys():
    mdp = envs.drone(2, 3, 3, seed=5, slip=0.25)
    P = mdp.P.reshape(6, 3, 6, 6, 3)
    north, east, south, west = (ACTIONS.index(name) for name in ("north", "east", "south", "west"))
    for task in range(3):
        for cell, action, target in [(1, north, 4), (4, south, 1), (0, east, 1), (5, west, 4)]:
            assert P[cell, task, action, target, task] == 0.75
            assert P[cell, task, action, cell, task] == 0.25
        for cell, action in [(4, north), (1, south), (2, east), (3, west), (0, REST)]:
            assert P[cell, task, action, cell, task] == 1
        place = mdp.tasks[task]
        np.testing.assert_allclose(P[place, task, SURVEY, place], np.where(np.arange(3) == task, 0.25, 0.375))
        elsewhere = (place + 1) % 6
        assert P[elsewhere, task, SURVEY, elsewhere, task] == 1
    r = np.zeros((6, 3, 6))
    r[mdp.tasks, np.arange(3), SURVEY] = 0.75 * mdp.values
    np.testing.assert_allclose(mdp.r, r.reshape(18, 6))


def test_the_worst_current_is_the_strongest():
    mdp = envs.drone()
    worst = mdp.worst_violation(best_policy(mdp))
    assert np.linalg.norm(worst.y[:2]) == pytest.approx(0.5, abs=1e-3)


# ---- wrong settings --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("env", "settings", "message"),
    [
        (envs.sewage, {"states": 0}, "`states` must be a whole number, at least 1; got 0"),
        (envs.sewage, {"actions": 2.5}, "`actions` must be a whole number, at least 1; got 2.5"),
        (envs.sewage, {"region": 0}, "`region` must be positive; got 0"),
        (envs.sewage, {"region": np.nan}, "`region` must be positive; got nan"),
        (envs.sewage, {"transitions": "sparse"}, '`transitions` is "dirichlet" or "normalised"; got \'sparse\''),
        (envs.load_balancing, {"sites": 1}, "`sites` must be a whole number, at least 2; got 1"),
        (envs.load_balancing, {"sites": 3.0}, "`sites` must be a whole number, at least 2; got 3.0"),
        (envs.load_balancing, {"units": 0}, "`units` must be a whole number, at least 1; got 0"),
        (envs.load_balancing, {"sites": 8, "units": 9}, "There are 11440 ways to spread 9 units over 8 sites"),
        (envs.load_balancing, {"region": -1}, "`region` must be positive; got -1"),
        (envs.load_balancing, {"reach": 0}, "`reach` must be positive; got 0"),
        (envs.load_balancing, {"snr": np.inf}, "`snr` must be positive; got inf"),
        (envs.load_balancing, {"slack": 0}, "`slack` must be above 0, so that there is room, and below 1; got 0"),
        (envs.load_balancing, {"slack": 1}, "`slack` must be above 0.* got 1"),
        (envs.load_balancing, {"wander": 1}, "`wander` must be at least 0 and below 1; got 1"),
        (envs.load_balancing, {"handover": -0.1}, "`handover` must be at least 0 and below 1; got -0.1"),
        (envs.drone, {"rows": 0}, "`rows` must be a whole number, at least 1; got 0"),
        (envs.drone, {"columns": 1.5}, "`columns` must be a whole number, at least 1; got 1.5"),
        (envs.drone, {"tasks": 1}, "`tasks` must be a whole number, at least 2; got 1"),
        (envs.drone, {"rows": 1, "columns": 2}, "A map of 1 x 2 cells has no room for 3 tasks"),
        (envs.drone, {"current": 0}, "`current` must be positive; got 0"),
        (envs.drone, {"thickness": np.nan}, "`thickness` must be positive; got nan"),
        (envs.drone, {"battery": 0}, "`battery` is a mean power, 0 < battery <= 1; got 0"),
        (envs.drone, {"battery": 1.1}, "`battery` is a mean power, 0 < battery <= 1; got 1.1"),
        (envs.drone, {"fade": 1}, "`fade` must be at least 0 and below 1; got 1"),
        (envs.drone, {"slip": -0.1}, "`slip` must be at least 0 and below 1; got -0.1"),
    ],
)
def test_wrong_settings_are_refused(env, settings, message):
    with pytest.raises(lsip.ModelError, match=message):
        env(**settings)


def test_sewage_takes_whole_numbers_or_refuses_them():
    with pytest.raises(lsip.ModelError, match="`states`"):
        envs.sewage(states=3.0)


def test_sewage_refuses_an_infinite_region():
    with pytest.raises(lsip.ModelError, match="`region`"):
        envs.sewage(region=np.inf)
