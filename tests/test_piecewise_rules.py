"""Rules in pieces: another slope between breakpoints, over lifted index sets."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import lsip
from lsip import (
    Ball,
    Box,
    Budget,
    Domain,
    Ellipsoid,
    Index,
    Interval,
    LSIPError,
    Polytope,
    Problem,
    Rule,
    Simplex,
    Variable,
    forall,
    minimize,
)
from lsip.domains.folded import folded

TRIANGLE = Polytope([[-1, 0], [0, -1], [1, 1]], [0, 0, 1])


def absolute_values(domain: Domain, pieces: Any) -> tuple[Problem, list[Rule], Index]:
    """y[i] follows z[i] and is at least |z[i]|; the worst sum of both."""
    z, height = Index("z", domain), Variable(name="height")
    y = [Rule(of=z[i], name=f"y{i}", pieces=pieces) for i in range(2)]
    rows = [row for i in range(2) for row in (y[i] >= z[i], y[i] >= -z[i])]
    return Problem(minimize(height), [forall(z, [*rows, y[0] + y[1] <= height])]), y, z


@pytest.mark.parametrize("method", [lsip.Counterpart(), lsip.Exchange()], ids=["counterpart", "exchange"])
def test_pieces_are_strictly_better_under_a_budget(method: Any) -> None:
    """An affine rule above |z| on [-1, 1] is 1 in the middle; |z| itself has the budget as its largest sum."""
    found = []
    for pieces in (1, 2):
        problem, y, z = absolute_values(Budget(2, 1.0), pieces)
        solution = problem.solve(method=method, verbose=False)
        assert solution.certified
        solution.verify()
        found.append(solution.value)
    assert found == pytest.approx([2.0, 1.0], abs=1e-6)
    data = np.linspace(-1, 1, 9)
    np.testing.assert_allclose(solution[y[0]](data), np.abs(data), atol=1e-6)
    np.testing.assert_allclose(y[0].at({z: np.column_stack([data, 0 * data])}), np.abs(data), atol=1e-6)
    assert str(solution[y[0]]).startswith("y0(z[0]) = ")
    assert "clip(z[0], 0, 1)" in str(solution[y[0]])


@pytest.mark.parametrize("pieces", [2, 3, [0.2, 0.5]], ids=["two", "three", "given"])
@pytest.mark.parametrize("domain", [Box([-1, -1], [1, 1]), Budget(2, 1.5), TRIANGLE], ids=["box", "budget", "triangle"])
def test_never_worse_than_affine(domain: Domain, pieces: Any) -> None:
    rng = np.random.default_rng(3)
    for _ in range(3):
        A, b = rng.normal(size=(4, 2)), rng.normal(size=(4, 2))
        values = []
        for kind in (1, pieces):
            z, height = Index("z", domain), Variable(name="height")
            rule = Rule(2, of=z, name="rule", pieces=kind)
            rows = [rule >= b[:2] @ z, rule >= b[2:] @ z - 0.3, A @ rule <= height, rule <= 5]
            solution = Problem(minimize(height), [forall(z, rows)]).solve(verbose=False)
            assert solution.certified
            values.append(solution.value)
            y = domain.sample(500, 1)  # the rule that was found keeps the constraints, as the function that it is
            found = solution[rule](y)
            assert (found >= y @ b[:2].T - 1e-7).all()
            assert (found @ A.T <= solution.value + 1e-7).all()
        assert values[1] <= values[0] + 2e-6 * max(abs(values[0]), 1.0)


def test_the_mean_of_a_rule_in_pieces() -> None:
    """The least mean of a rule above |t|, uniformly on [-1, 1], is 1 if it is affine, and that of |t| in pieces."""
    t, means = Index("t", Interval(-1, 1)), []
    for pieces in (1, [0.0]):
        rule = Rule(of=t, name="rule", pieces=pieces)
        problem = Problem(minimize(lsip.expectation(rule, t)), [forall(t, [rule >= t, rule >= -t])])
        solution = problem.solve(verbose=False)
        assert solution.certified
        means.append(solution.value)
    assert means == pytest.approx([1.0, 0.5], abs=1e-6)
    again = pickle.loads(pickle.dumps(problem)).solve(verbose=False)
    assert again.value == pytest.approx(0.5, abs=1e-6)


SETS: dict[str, Domain] = {
    "box": Box([-1, 2], [1, 5]),
    "budget": Budget(2, 1.2),
    "triangle": TRIANGLE,
    "simplex": Simplex(2),
    "ball": Ball([0, 1], 2),
    "ellipsoid": Ellipsoid([0, 0], [[2, 0.5], [0.5, 1]]),
    "product": Interval(0, 3) * Interval(-1, 1),
    "budget, upward": Budget(2, 1.2) & Box([0, 0], [1, 1]),
    "budget, one way up": Budget(2, 1.2) & Box([-1, 0.1], [1, 1]),
    "cap": Ball([0, 0], 1) & Box([0, -1], [1, 1]),
}


@pytest.mark.parametrize("kind", SETS)
def test_lifted_sets_hold_every_point_with_its_parts(kind: str) -> None:
    domain = SETS[kind]
    breaks = tuple(tuple(a + (b - a) * np.array([0.25, 0.5])) for a, b in zip(domain.lower, domain.upper, strict=True))
    if kind == "budget":
        breaks = ((-0.3, 0.0), (0.0, 0.7))
    points = np.concatenate([domain.sample(400, 0), domain.support(np.random.default_rng(0).normal(size=(40, 2)))[0]])
    parts = [
        np.clip(points[:, j], a, b) - a
        for j in range(2)
        for a, b in zip(breaks[j], (*breaks[j][1:], domain.upper[j]), strict=True)
    ]
    lifted = folded(domain, breaks)
    assert lifted.dim == 6
    assert lifted.contains(np.column_stack([points, *parts]), 1e-12).all()
    assert domain.contains(lifted.sample(100, 0)[:, :2], 1e-9).all()  # and no others: never worse than without parts


@pytest.mark.parametrize("kind", ["simplex", "product", "with a budget", "ball"])
def test_pieces_over_other_sets_are_never_worse(kind: str) -> None:
    """What is bought later follows the demand; one that is bent costs no more, and keeps every constraint."""
    sets: dict[str, Domain] = {
        "simplex": Simplex(3),
        "product": Simplex(2) * Box([-1, -1], [1, 1]),
        "with a budget": Budget(2, 1.5) * Interval(0, 1),
        "ball": Ball([0, 0], 1),
    }
    domain, values = sets[kind], []
    share = np.arange(1, domain.dim + 1) / domain.dim
    for pieces in (1, 2):
        z, worst, now = Index("z", domain), Variable(name="worst"), Variable(2, name="now", lower=0, upper=10)
        later = Rule(2, of=z, name="later", pieces=pieces)
        needs = [now[0] + later[0] >= 2 + share @ z, now[1] + later.sum() >= 3 - share[::-1] @ z]
        rows = [later >= 0, later <= 20, *needs, now.sum() + 2 * later[0] + 3 * later[1] <= worst]
        solution = Problem(minimize(worst), [forall(z, rows)]).solve(tol=1e-6, verbose=False)
        assert solution.certified
        values.append(solution.value)
        y = domain.sample(200, 1)
        bought, first = solution[later](y), np.asarray(solution[now])
        assert bought.min() >= -1e-9
        assert (first[0] + bought[:, 0] - 2 - y @ share).min() >= -1e-9
        assert (first[1] + bought.sum(axis=1) - 3 + y @ share[::-1]).min() >= -1e-9
    assert values[1] <= values[0] + 2e-6 * abs(values[0])


def test_a_constraint_without_such_rules_stays_as_it_is() -> None:
    problem, _, z = absolute_values(Box([-1, -1], [1, 1]), 2)
    x = Variable(name="x")
    statement = forall(z, x >= z[0])
    assert statement.indices == (z,)
    assert str(problem).count("for all z ∈ [-1, 1]²") == 5


def test_refusals() -> None:
    z, two = Index("z", Box([0, 0], [1, 1])), Index("u", Interval(0, 1) | Interval(2, 3))
    one, other = Rule(of=z, name="one", pieces=2), Rule(of=z, name="other", pieces=3)
    attempts = {
        "how many there are in every entry": lambda: Rule(of=z, pieces=0),
        "not both": lambda: Rule(of=z, pieces=2, degree=2),
        "in a convex set": lambda: Rule(of=two, pieces=2),
        "range from 0 to 1": lambda: Rule(of=z, pieces=[3.0]),
        "different pieces": lambda: forall(z, one + other >= z[0]),
        "only affine constraints": lambda: forall(z, abs(one) <= 1),
    }
    for said, attempt in attempts.items():
        with pytest.raises(LSIPError, match=said):
            attempt()
