"""SampledRowss find what is there and claim nothing about the rest."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

import lsip
from lsip import catalogue
from lsip.expressions.arrangements import Linear
from lsip.expressions.operations import Multiply
from lsip.expressions.tape import Tape
from lsip.model import FamilyViolation
from lsip.oracles import BranchAndBound
from lsip.solver.sampling import SampledRows


@pytest.mark.parametrize("name", ["tfi2_tan_n3", "monic8", "watson8_2d", "disc_cubic", "robust_union", "basket4"])
def test_what_a_scout_finds_is_attained(name: str) -> None:
    """Points lie in the domain, values and rows are those of the family, and nothing is proven."""
    family = catalogue.get(name).build().compile().families[0]
    sampled = SampledRows(family, family.domain.grid(3))
    n = int(family.columns.max()) + 1
    for seed in range(3):
        violation = FamilyViolation(family, np.random.default_rng(seed).normal(size=n))
        found = sampled.separate(violation, threshold=0.0)
        assert family.domain.contains(found.points).all()
        assert (found.values > 0).all()
        assert found.bound == np.inf
        assert found.rows is not None
        a, b = family.chosen(found.points, found.components)
        np.testing.assert_allclose(found.rows[0], a)
        np.testing.assert_allclose(found.rows[1], b)
        np.testing.assert_allclose(violation.at(found.points, found.components), found.values, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", ["tfi2_tan_n3", "watson8_2d", "reemtsen1_d2"])
def test_a_scout_comes_close_to_the_supremum(name: str) -> None:
    """Smooth violations are climbed to almost the top, which a branch-and-bound knows."""
    program = catalogue.get(name).build().compile()
    family = program.families[0]
    sampled = SampledRows(family, family.domain.grid(3))
    violation = program.violation(0, np.zeros(program.n))
    proven = BranchAndBound(rounds=20).maximise(violation)
    first, second = sampled.separate(violation, -1.0), sampled.separate(violation, -1.0)
    assert first.worst <= second.worst + 1e-12 <= proven.bound + 2e-12
    assert second.worst >= proven.worst - 1e-6 * (1 + abs(proven.worst))


def test_solutions_carry_a_proof_even_if_the_last_look_did_not() -> None:
    """Stopped after one iteration, whose sample found violations, a solve still reports a proven violation."""
    solution = catalogue.get("watson8_2d").build().solve(verbose=False, max_iterations=1)
    assert solution.status is lsip.Status.ITERATION_LIMIT
    assert np.isfinite(solution.max_violation)
    assert solution.lower <= catalogue.get("watson8_2d").value + 1e-9
    solution.verify()


# ---- graphs that were made simpler ----------------------------------------------------------------------------------


def tape_of(expression: Any, t: Any) -> Tape:
    return Tape((expression,), (t,))


def test_signs_cost_nothing() -> None:
    t = lsip.Index("t", lsip.Interval(0, 1))
    twice = tape_of(-1.0 * (-(np.sin(t) * 1.0)), t)
    assert [type(twice.nodes[i]).__name__ for i, *_ in twice.steps] == ["Index", "Apply", "Join"]
    y = np.array([[0.25], [0.5]])
    np.testing.assert_array_equal(twice.values(y), np.sin(y))


def test_many_multiples_of_few_functions_are_one_matrix() -> None:
    """x_ij = sum_k c_ijk f_k(t) is a matrix times f; where entries would have to be added, it is left alone."""
    t = lsip.Index("t", lsip.Interval(0, 1))
    f = np.stack([np.cos(t), np.sin(t), np.exp(t)])
    rng = np.random.default_rng(0)
    c, pick = rng.normal(size=(2, 300)), rng.integers(0, 3, 300)
    products = np.concatenate([f[pick] * c[0], f[(pick + 1) % 3] * c[1]])
    adder = sparse.hstack([sparse.eye(300), sparse.eye(300)], format="csr")
    y = np.array([[0.25], [0.5]])
    plain = np.stack([np.cos(y[:, 0]), np.sin(y[:, 0]), np.exp(y[:, 0])], axis=1)
    for tape, other in (
        (tape_of(Linear(adder, products, (300,)), t), (pick + 1) % 3),
        (tape_of(Linear(adder, np.concatenate([f[pick] * c[0], f[pick] * c[1]]), (300,)), t), pick),
    ):
        expected = plain[:, pick] * c[0] + plain[:, other] * c[1]
        np.testing.assert_allclose(tape.values(y), expected, rtol=1e-13, atol=1e-13)
        box = tape.enclose(y, y)
        assert ((box.lo <= expected) & (expected <= box.hi)).all()
        assert any(isinstance(tape.nodes[i], Multiply) for i, *_ in tape.steps) == (other is pick)
