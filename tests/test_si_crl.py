"""SI-CRL: optimism, the algorithm as published, the two-successor modification, and the naive baseline."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import envs
import lsip
import rl

from .test_planning import DOMAINS, Model, finite_optimum, from_functions, models

PLAIN = [Phase.explicit, Phase.generate]
ORACLES: list[Any] = [
    None,
    lsip.oracles.BranchAndBound(),
    lsip.oracles.Grid(101),
    lsip.oracles.Multistart(),
    lsip.oracles.ProjectedSubgradient(200),
    lsip.oracles.RandomSearch(50),
]


def names(oracle: Any) -> str:
    return "default" if oracle is None else type(oracle).__name__


def counted(P: np.ndarray, n: float) -> rl.Dataset:
    """The data of a sample of size n without chance."""
    return rl.Dataset(np.round(P * n).astype(np.int64))


# ---- optimism --------------------------------------------------------------------------------------------------------


@settings(max_examples=12, phases=PLAIN)
@given(
    model=models(sparse=False), per_pair=st.sampled_from([1, 30, 1000, 10**6]), delta=st.sampled_from([0.5, 0.1, 1e-3])
)
def test_the_optimistic_value_is_no_less_than_the_optimum_when_the_truth_is_in_the_set(model, per_pair, delta):
    mdp = model.build()
    data = mdp.sample(per_pair=per_pair, seed=model.seed)
    if not data.optimistic_set(delta).contains(mdp.P):
        return
    learned = rl.si_crl(data, mdp.specification, delta)
    best = rl.plan(mdp)
    assert learned.upper >= best.lower
    assert learned.value >= best.value - 4e-7 * (1 + best.value)


@settings(max_examples=12, phases=PLAIN)
@given(
    model=models(sparse=False),
    per_pair=st.sampled_from([1, 30, 1000]),
    method=st.sampled_from(["lp", "decompose"]),
)
def test_the_policy_earns_the_optimistic_value_in_a_model_of_the_set(model, per_pair, method):
    mdp = model.build()
    data = mdp.sample(per_pair=per_pair, seed=model.seed)
    try:
        learned = rl.si_crl(data, mdp.specification, 0.1, method=method)
    except rl.InfeasibleError:
        assert not data.optimistic_set(0.1).contains(mdp.P)
        return
    assert learned.models.contains(learned.model, 1e-9)
    assert np.allclose(learned.model.sum(axis=2), 1, atol=1e-12)
    chosen = mdp.specification.with_transitions(learned.model)
    assert chosen.value(learned.policy) == pytest.approx(learned.value, rel=4e-7, abs=4e-7)
    assert chosen.worst_violation(learned.policy, lsip.oracles.BranchAndBound(tol=1e-9)).value <= 1e-7
    assert learned.failure == pytest.approx(min(1, 2 * model.states**2 * model.actions * 0.1))


@pytest.mark.parametrize("method", ["lp", "decompose"])
@pytest.mark.parametrize("seed", range(3))
def test_with_more_data_the_optimistic_value_falls_to_the_optimum(seed, method):
    mdp = envs.sewage(states=4, actions=2, seed=seed)
    sizes = (1e2, 1e4, 1e8, 1e14)
    values = [rl.si_crl(counted(mdp.P, n), mdp.specification, 1e-3, method=method, time_limit=1.0).upper for n in sizes]
    best = rl.plan(mdp).value
    assert all(a >= b - 1e-5 for a, b in zip(values, [*values[1:], best], strict=True))
    assert values[-1] == pytest.approx(best, abs=1e-4)


@pytest.mark.parametrize("seed", [0, 21, 39, 45])
def test_what_is_called_optimal_is_proven(seed):
    """Here many policies are almost optimal, and the exchange looks at the middle of the optimal face."""
    mdp = envs.sewage(states=4, actions=2, seed=seed)
    data = mdp.sample(per_pair=100_000, seed=0)
    one, other = (
        rl.si_crl(data, mdp.specification, 1e-3, method=method, time_limit=10.0) for method in ("lp", "decompose")
    )
    assert one.lower <= one.upper
    assert one.lower <= other.upper + 1e-9
    assert other.lower <= one.upper + 1e-9
    assert one.solution.max_violation <= 1e-9
    if one.certified:
        one.solution.verify()


def test_much_data_makes_a_good_policy_in_the_true_model():
    mdp = envs.sewage(states=4, actions=2, seed=0)
    learned = rl.si_crl(counted(mdp.P, 1e12), mdp.specification, 1e-3, time_limit=1.0)
    assert mdp.value(learned.policy) >= rl.plan(mdp).value - 1e-3
    assert mdp.worst_violation(learned.policy).value <= 1e-3


def test_a_set_of_one_model_is_that_model():
    for seed in range(5):
        mdp = envs.sewage(states=4, actions=2, seed=seed)
        known = rl.plan_optimistically(mdp.specification, rl.OptimisticSet.known(mdp.P))
        assert known.value == pytest.approx(rl.plan(mdp).value, rel=4e-7)


def test_pairs_that_were_never_tried_are_allowed():
    """Without any data every model is possible: the best one pays the largest reward that the constraint allows."""
    model = Model(slack=10.0)  # never binding
    mdp = model.build()
    nothing = rl.Dataset(np.zeros((4, 3, 4), dtype=np.int64))
    learned = rl.si_crl(nothing, mdp.specification, 0.1)
    stays = model.r.max() * model.gamma / (1 - model.gamma)  # in the best state from the second step on
    assert learned.value == pytest.approx(model.mu @ model.r.max(axis=1) + stays, rel=4e-7)
    some = mdp.sample(n=20, seed=0)
    assert (some.visits == 0).any()
    assert rl.si_crl(some, mdp.specification, 0.1).value <= learned.value + 1e-7


@pytest.mark.parametrize("method", ["lp", "decompose"])
def test_states_that_are_never_visited_get_the_uniform_policy(method):
    """State 2 has no weight at the start, and it is known that nothing leads there."""
    possible = np.ones((3, 2, 3), dtype=bool)
    possible[:2, :, 2] = False
    y = lsip.Index("y", lsip.Interval(0, 1))
    cost = np.array([0.1, 1.0, 0.5]) * (1 - y / 2)
    P = np.full((3, 2, 3), 0.5) * possible
    P[2] = 1 / 3
    mdp = rl.SICMDP(P, np.arange(6).reshape(3, 2) / 6, cost, 3.0, y, [0.5, 0.5, 0], 0.8)
    data = rl.Dataset(mdp.sample(per_pair=1000, seed=0).counts, possible)
    learned = rl.si_crl(data, mdp.specification, 0.01, method=method)
    assert learned.occupancy[2] == pytest.approx([0, 0], abs=1e-12)
    assert np.array_equal(learned.policy[2], [0.5, 0.5])
    assert not learned.model[:2, :, 2].any()


def test_both_forms_and_both_denominators():
    mdp = envs.sewage(states=4, actions=2, seed=1)
    data = mdp.sample(per_pair=500, seed=1)
    one, other = (rl.si_crl(data, mdp.specification, 1e-3, form=form).value for form in ("sparse", "literal"))
    assert one == pytest.approx(other, rel=4e-7)
    wider = rl.si_crl(data, mdp.specification, 1e-3, denominator="triple")
    assert wider.value >= one - 1e-7
    assert wider.models.contains(wider.model, 1e-9)


def test_data_that_allow_no_feasible_policy_name_the_index_points():
    model = replace(Model(states=3, actions=2), slack=-1.0)
    mdp = model.build()
    for method in ("lp", "decompose"):
        with pytest.raises(rl.InfeasibleError) as caught:
            rl.si_crl(counted(mdp.P, 1e9), mdp.specification, 0.1, method=method)
        assert caught.value.points


# ---- the algorithm as published --------------------------------------------------------------------------------------

MDP = envs.sewage(states=4, actions=2, seed=3)
DATA = MDP.sample(per_pair=100_000, seed=0)
DELTA = 1e-4
OPTIMUM = rl.si_crl(DATA, MDP.specification, DELTA)


def published(**options: Any) -> rl.Learned:
    return rl.si_crl(DATA, MDP.specification, DELTA, **options)


def test_relaxations_come_down_to_the_optimum_one_point_at_a_time():
    runs = [published(iterations=k) for k in range(1, 12)]
    values = [run.value for run in runs]
    assert all(a >= b - 1e-7 for a, b in pairwise(values))
    assert all(v >= OPTIMUM.lower - 1e-7 for v in values)
    for k, run in enumerate(runs, 1):
        assert run.solution.iterations <= k
        assert len(run.points) == run.solution.iterations
        assert MDP.domain.contains(run.points).all()
    assert np.array_equal(runs[0].points, [[0.5, 0.5]])  # the centre of Y
    assert values[-1] == pytest.approx(OPTIMUM.value, rel=1e-5)


@pytest.mark.parametrize("oracle", ORACLES, ids=names)
@pytest.mark.parametrize("eta", [1e-1, 1e-3])
def test_it_stops_when_no_constraint_is_violated_by_more_than_the_tolerance(oracle, eta):
    run = published(tolerance=eta, iterations=100, oracle=oracle)
    assert run.solution.violation <= eta or run.solution.iterations == 100
    found = run.specification.costs.violation(run.specification.costs.weights(run.occupancy) / (1 - MDP.gamma))
    assert found.values(run.points).max() <= 1e-7  # the program holds at its own points
    assert run.value >= OPTIMUM.lower - 1e-7
    if run.solution.iterations > 1:
        earlier = published(iterations=run.solution.iterations - 1, oracle=oracle)
        assert earlier.solution.violation > eta


@pytest.mark.parametrize("oracle", ORACLES, ids=names)
def test_every_oracle_adds_one_point_at_a_time(oracle):
    run = published(iterations=4, oracle=oracle)
    assert len(run.points) == run.solution.iterations


def test_a_loose_tolerance_ends_with_the_first_program():
    run = published(tolerance=1e3)
    assert run.solution.iterations == 1
    assert len(run.points) == 1
    assert run.value == pytest.approx(rl.baselines.discretise(MDP.specification, run.points, models=run.models).value)


def test_the_first_points_can_be_chosen():
    start = [[0.0, 0.0], [1.0, 1.0]]
    run = published(iterations=1, start=start)
    assert np.array_equal(run.points, start)
    with pytest.raises(lsip.ModelError, match="start"):
        published(iterations=1, start=[[2.0, 0.0]])
    with pytest.raises(lsip.ModelError, match="start"):
        published(iterations=1, start=[[0.5]])


def test_the_published_algorithm_promises_no_proof():
    run = published(tolerance=1e-2)
    assert not run.certified
    assert run.lower == -np.inf
    assert run.upper >= OPTIMUM.lower
    assert run.models.contains(run.model, 1e-9)
    chosen = MDP.specification.with_transitions(run.model)
    assert chosen.value(run.policy) == pytest.approx(run.value, rel=1e-6)
    assert chosen.worst_violation(run.policy).value <= 1e-2 + 1e-6
    assert "optimum within" in str(run)


def test_the_published_algorithm_takes_functions():
    model = Model("interval", "bumps")
    mdp = from_functions(model)
    run = rl.si_crl(counted(mdp.P, 1e8), mdp.specification, 0.1, tolerance=1e-5)
    best = rl.si_crl(counted(mdp.P, 1e8), model.build().specification, 0.1)
    assert run.value == pytest.approx(best.value, rel=1e-3)


@pytest.mark.parametrize("where", ["centre", "elsewhere"])
def test_infeasible_programs_are_refused_whenever_they_turn_up(where):
    """The first point contradicts itself, or only one that is added later."""
    y = lsip.Index("y", lsip.Interval(0, 1))
    at = 0.5 if where == "centre" else 0.9
    bound = 5 - 10 * np.exp(-200 * (y - at) ** 2)  # below zero around `at`
    mdp = rl.SICMDP(np.full((2, 2, 2), 0.5), [[0, 1], [1, 0]], np.array([0.3, 0.6]) * (1 + 0 * y), bound, y, gamma=0.5)
    data = mdp.sample(per_pair=100, seed=0)
    for options in ({}, {"tolerance": 1e-3}, {"iterations": 10}):
        with pytest.raises(rl.InfeasibleError):
            rl.si_crl(data, mdp.specification, 0.1, **options)


@pytest.mark.parametrize("options", [{"iterations": 0}, {"iterations": -1}, {"tolerance": -1.0}, {"tolerance": np.nan}])
def test_wrong_stopping_rules_are_refused(options):
    with pytest.raises(lsip.ModelError):
        published(**options)


# ---- wrong input -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("states", "actions"), [(4, 3), (5, 2)])
@pytest.mark.parametrize("two", [True, False])
def test_data_of_another_model_are_refused(states, actions, two):
    other = envs.sewage(states=states, actions=actions, seed=0).sample(per_pair=3, seed=0)
    with pytest.raises(lsip.ModelError, match=f"{states} states and {actions} actions"):
        rl.si_crl(other, MDP.specification, 0.1, two_successors=two)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"delta": 0.0}, "delta"),
        ({"delta": 1.0}, "delta"),
        ({"denominator": "none"}, "denominator"),
        ({"form": "dense"}, "form"),
        ({"method": "magic"}, "method"),
        ({"oracle": "grid"}, "oracle"),
        ({"oracle": "grid", "tolerance": 0.1}, "oracle"),
    ],
)
def test_wrong_arguments_are_refused(options, message):
    with pytest.raises(lsip.ModelError, match=message):
        rl.si_crl(DATA, MDP.specification, **{"delta": 0.1, **options})


# ---- two successors --------------------------------------------------------------------------------------------------


@settings(max_examples=20, phases=PLAIN)
@given(model=st.builds(replace, models(), states=st.integers(1, 9), actions=st.integers(1, 3)))
def test_every_policy_has_the_same_values_in_the_model_of_two_successors(model):
    mdp, rng = model.build(), np.random.default_rng(model.seed)
    binary = rl.BinaryModel(mdp.specification)
    bigger = binary.model(mdp)
    S, A = model.states, model.actions
    assert ((bigger.P > 0).sum(axis=2) <= 2).all()
    assert bigger.states == S + S * A * binary.nodes
    assert bigger.gamma**binary.depth == pytest.approx(mdp.gamma)
    policy, reward = rng.dirichlet(np.ones(A), size=S), rng.normal(size=(S, A))
    lifted = binary.lift(policy)
    lifted[S:] = rng.dirichlet(np.ones(A), size=len(lifted) - S)  # what is done in the extra states does not matter
    extra = np.zeros((bigger.states - S, A))
    close = pytest.approx
    assert bigger.value(lifted) == close(mdp.value(policy), rel=1e-9, abs=1e-9)
    assert bigger.value(lifted, np.concatenate([reward, extra])) == close(mdp.value(policy, reward), rel=1e-9, abs=1e-9)
    y = DOMAINS[model.domain].sample(5, seed=1)
    assert bigger.cost_values(lifted, y) == close(mdp.cost_values(policy, y), rel=1e-9, abs=1e-9)
    assert bigger.violations(lifted, y) == close(mdp.violations(policy, y), rel=1e-9, abs=1e-9)
    assert binary.occupancy(bigger.occupancy(lifted)) == close(mdp.occupancy(policy), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(
    ("states", "depth", "nodes"), [(1, 1, 0), (2, 1, 0), (3, 2, 2), (4, 2, 2), (5, 3, 5), (8, 3, 6)]
)
def test_trees_have_as_many_nodes_as_their_levels_need(states, depth, nodes):
    """Level k has one node for every beginning of k bits: for five states 2 and 3."""
    binary = rl.BinaryModel(Model(states=states).build().specification)
    assert (binary.depth, binary.nodes) == (depth, nodes)


@settings(max_examples=15, phases=PLAIN)
@given(model=st.builds(replace, models(), states=st.integers(1, 9)), per_pair=st.sampled_from([1, 5, 1000]))
def test_counts_spread_over_the_trees_are_those_of_the_larger_model(model, per_pair):
    mdp = model.build()
    data = mdp.sample(per_pair=per_pair, seed=model.seed)
    binary = rl.BinaryModel(mdp.specification)
    larger = binary.data(data)
    assert (larger.visits[: model.states] == per_pair).all()
    estimated = binary.model(mdp.specification.with_transitions(data.frequencies)).P
    seen = larger.visits > 0
    assert np.allclose(larger.frequencies[seen], estimated[seen], atol=1e-12)
    assert (binary.model(mdp).P[~larger.possible] == 0).all()


@settings(max_examples=8, phases=PLAIN)
@given(model=models(states=3, sparse=False, gamma=0.8))
def test_the_modification_plans_for_a_model_of_two_successors(model):
    mdp = model.build()
    data = mdp.sample(per_pair=10_000, seed=model.seed)
    learned = rl.si_crl(data, mdp.specification, 0.01, two_successors=True)
    binary = rl.BinaryModel(mdp.specification)
    inner = rl.si_crl(binary.data(data), binary.specification, 0.01)
    assert learned.certified
    assert learned.value == pytest.approx(inner.value, rel=4e-7)
    transformed = binary.specification.with_transitions(inner.model)
    policy = inner.policy.copy()
    policy[: model.states] = learned.policy
    assert transformed.value(policy) == pytest.approx(learned.value, rel=1e-6)
    assert learned.occupancy.sum() == pytest.approx(1, abs=1e-9)
    assert learned.occupancy == pytest.approx(rl.BinaryModel(mdp.specification).occupancy(inner.occupancy), abs=1e-6)
    if binary.data(data).optimistic_set(0.01).contains(binary.model(mdp).P):
        assert learned.value >= rl.plan(mdp).value - 1e-6
    assert mdp.value(learned.policy) <= learned.value + 0.5


@pytest.mark.parametrize("states", [1, 2, 3, 5])
def test_the_modification_works_for_every_number_of_states(states):
    mdp = Model("interval", states=states, actions=2).build()
    data = counted(mdp.P, 1e10)
    learned = rl.si_crl(data, mdp.specification, 0.1, two_successors=True)
    assert learned.policy.shape == (states, 2)
    assert mdp.value(learned.policy) == pytest.approx(rl.plan(mdp).value, abs=1e-2)
    assert learned.value >= rl.plan(mdp).value - 1e-6


def test_the_modification_runs_as_published_too():
    exact = published(two_successors=True)
    run = published(two_successors=True, tolerance=1e-4)
    assert run.value >= exact.value - 1e-6
    assert run.value == pytest.approx(exact.value, rel=1e-2)


# ---- naive discretisation --------------------------------------------------------------------------------------------


@settings(max_examples=15, phases=PLAIN)
@given(model=models())
def test_a_finer_grid_bounds_the_optimum_more_sharply(model):
    mdp = model.build()
    best = rl.plan(mdp)
    grids = [DOMAINS[model.domain].sample(k, seed=0) for k in (1, 4, 30)]  # nested: the same seed
    grids.append(np.concatenate([grids[-1], DOMAINS[model.domain].grid(5)]))
    values = [rl.baselines.discretise(mdp, points).value for points in grids]
    assert all(a >= b - 1e-8 * (1 + a) for a, b in pairwise(values))
    assert values[-1] >= best.lower - 1e-8
    assert values[1] == pytest.approx(finite_optimum(model, grids[1]), rel=1e-6)


def test_a_grid_counts_its_points_along_each_axis():
    values = []
    for k in (2, 3, 5, 9):
        naive = rl.baselines.discretise(MDP, k)
        assert naive.points.shape == (k * k, 2)
        assert {0.0, 1.0} <= set(naive.points[:, 0])
        assert MDP.value(naive.policy) == pytest.approx(naive.value, rel=1e-8)
        assert MDP.violations(naive.policy, naive.points).max() <= 1e-8
        values.append(naive.value)
    assert values == sorted(values, reverse=True)
    assert rl.plan(MDP).value <= values[-1] + 1e-9


def test_a_grid_is_optimistic_over_data_too():
    naive = rl.baselines.discretise(MDP.specification, 5, data=DATA, delta=DELTA)
    assert naive.value >= OPTIMUM.lower - 1e-7
    assert DATA.optimistic_set(DELTA).contains(naive.model, 1e-9)
    same = rl.baselines.discretise(MDP.specification, 5, models=DATA.optimistic_set(DELTA), form="literal")
    assert same.value == pytest.approx(naive.value, rel=1e-8)


@pytest.mark.parametrize("points", [0, -1, np.zeros((0, 2)), [[0.5]], [[2.0, 0.5]], [[np.nan, 0.5]], 2.5, "fine"])
def test_wrong_grids_are_refused(points):
    with pytest.raises(lsip.ModelError):
        rl.baselines.discretise(MDP, points)


def test_a_whole_number_of_numpy_is_a_number_of_points():
    assert rl.baselines.discretise(MDP, np.int64(3)).value == rl.baselines.discretise(MDP, 3).value


def test_a_specification_needs_data_and_data_need_delta():
    with pytest.raises(lsip.ModelError, match="delta"):
        rl.baselines.discretise(MDP.specification, 3, data=DATA)
    with pytest.raises(lsip.ModelError, match="SICMDP"):
        rl.baselines.discretise(MDP.specification, 3)
    other = envs.sewage(states=3, actions=2, seed=0)
    with pytest.raises(lsip.ModelError, match="states"):
        rl.baselines.discretise(MDP.specification, 3, data=other.sample(per_pair=3, seed=0), delta=0.1)


def test_a_grid_without_a_feasible_policy_is_refused():
    with pytest.raises(rl.InfeasibleError):
        rl.baselines.discretise(replace(Model(), slack=-1.0).build(), 9)
