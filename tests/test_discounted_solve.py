"""Discounted systems: the same answers with factors, with products alone, and dense."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import lsip
import rl
from benchmarks.harness.growing_plans import random_graph as model
from rl import discounted_solve
from rl.discounted_solve import iterate, solver


def chain_of(states: int, successors: int, seed: int) -> sparse.csr_matrix:
    rng = np.random.default_rng(seed)
    rows = np.repeat(np.arange(states), successors)
    chances = rng.dirichlet(np.full(successors, 0.5), size=states).ravel()
    return sparse.csr_matrix((chances, (rows, rng.integers(states, size=len(rows)))), shape=(states, states))


@settings(deadline=None)
@given(st.integers(2, 60), st.integers(1, 5), st.integers(0, 10**6), st.sampled_from([0.0, 0.5, 0.9, 0.999]))
def test_products_alone_solve_as_well_as_factors(states: int, successors: int, seed: int, gamma: float) -> None:
    chain, b = chain_of(states, successors, seed), np.random.default_rng(seed).normal(size=states)
    for matrix in (chain, sparse.csr_matrix(chain.T)):
        exact = np.linalg.solve(np.eye(states) - gamma * matrix.toarray(), b)
        found = iterate(matrix, gamma, b)
        size = np.abs(exact).max()
        left = np.abs(b - found + gamma * (matrix @ found)).max()
        assert left <= 1e-14 * (size + np.abs(b).max())
        assert np.abs(found - exact).max() <= 1e-13 * states * size / (1 - gamma)


def test_a_cycle_which_krylov_methods_dislike() -> None:
    S, gamma = 101, 0.99
    cycle = sparse.csr_matrix((np.ones(S), (np.arange(S), (np.arange(S) + 1) % S)), shape=(S, S))
    b = np.eye(S)[0]
    exact = gamma ** ((-np.arange(S)) % S) / (1 - gamma**S)
    assert iterate(cycle, gamma, b) == pytest.approx(exact, rel=1e-12)


@pytest.mark.parametrize("most", [0.0, np.inf])
def test_plans_are_the_same_however_systems_are_solved(monkeypatch: pytest.MonkeyPatch, most: float) -> None:
    mdp = model(120)
    dense = mdp.specification.with_transitions(mdp.P)
    monkeypatch.setattr(discounted_solve, "TUNING", replace(discounted_solve.TUNING, most_operations=most))
    plan, reference = rl.plan(mdp), rl.plan(dense)
    assert plan.certified
    assert reference.certified
    assert abs(plan.value - reference.value) <= 2e-7 * (1 + abs(reference.value))
    assert mdp.state_values(plan.policy) == pytest.approx(dense.state_values(plan.policy), rel=1e-13)
    assert mdp.occupancy(plan.policy) == pytest.approx(dense.occupancy(plan.policy), rel=1e-12, abs=1e-17)


def test_only_cheap_factors_are_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    S = 3000
    asked: list[int] = []
    monkeypatch.setattr(discounted_solve, "iterate", lambda chain, gamma, b: asked.append(len(b)) or b)
    band = sparse.csr_matrix(sparse.diags([0.5, 0.5], [-1, 1], shape=(S, S)))
    solver(band, 0.9)(np.ones(S), False)
    assert not asked
    solver(chain_of(S, 9, 0), 0.9)(np.ones(S), True)
    assert asked == [S]


def test_evaluation_keeps_to_the_time_limit() -> None:
    from lsip.deadline import within

    with within(0.0), pytest.raises(lsip.OutOfTime):
        iterate(chain_of(200, 4, 0), 0.9, np.ones(200))


def test_a_large_sparse_plan_is_proven_in_time() -> None:
    mdp = model(600)
    plan = rl.plan(mdp, time_limit=60)
    assert plan.certified
    assert mdp.worst_violation(plan.policy).bound <= 0
