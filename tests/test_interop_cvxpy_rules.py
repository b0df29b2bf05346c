"""Decision rules in CVXPY models: the answers of the language, and a sentence for what they cannot be."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import lsip

cp = pytest.importorskip("cvxpy")

from lsip.interop.cvxpy import ForAll, Index, Problem, Rule, forall  # noqa: E402

MEAN = np.array([28, 32, 38, 40, 46.0])
Z = Index("z", lsip.Box([0, 0], [1, 1]))
T = Index("t", lsip.Interval(0, 2))
X = cp.Variable(2, name="x")
later = Rule(of=Z, name="r")


def newsvendor(seen: Any = lambda z: z, **options: Any) -> tuple[Problem, Rule]:
    """The affine newsvendor of JuMPeR's tests, published as 70.5; 46 without looking."""
    z = Index("z", lsip.Budget(5, 2.0))
    stock, profit = cp.Variable(name="stock", nonneg=True), cp.Variable(name="profit")
    sell = Rule(5, of=seen(z), name="sell", **options)
    demand = cp.multiply(MEAN, 1 + 0.5 * z)
    rows = [profit <= cp.sum(sell) - 0.5 * stock, sell <= demand, sell >= 0, cp.sum(sell) <= stock]
    return Problem(cp.Maximize(profit), [forall(z, rows)]), sell


@pytest.mark.parametrize(
    "method", [None, lsip.Counterpart(), lsip.Exchange()], ids=["chosen", "counterpart", "exchange"]
)
def test_the_published_value_and_the_rule_behind_it(method: Any) -> None:
    problem, sell = newsvendor()
    assert sell.value is None
    solution = problem.solve(method=method)
    assert solution.certified
    assert solution.value == pytest.approx(70.5, abs=1e-5)
    rule = solution[sell]
    assert (rule.coefficients == sell.value.coefficients).all()
    assert (rule.coefficients == sell.coefficients.value).all()
    data = np.random.default_rng(0).uniform(-0.4, 0.4, (50, 5))
    sold = rule(data)
    assert sold.shape == (50, 5)
    assert (sold >= -1e-9).all()
    assert (sold <= MEAN * (1 + 0.5 * data) + 1e-9).all()
    assert all(c.violation() <= 1e-9 for c in problem.foralls)
    solution.verify()


def test_what_a_rule_does_not_see_it_does_not_depend_on() -> None:
    values = [newsvendor(lambda z, k=k: z[:k])[0].solve().value for k in (0, 2, 5)]
    assert values[0] == pytest.approx(46.0, abs=1e-5)
    assert values[0] < values[1] - 1 < values[2] - 2


def test_matrices_of_decisions_equal_those_of_the_language() -> None:
    """Lot-sizing with three sites, whose rule is a matrix: the same optimum through both doors."""
    cost = np.array([[0, 3.0, 5], [3, 0, 4], [5, 4, 0]])
    rows = np.vstack([np.eye(3), -np.eye(3), np.ones((1, 3))])
    demand = lsip.Polytope(rows, np.r_[np.full(3, 20), np.zeros(3), 20 * np.sqrt(3)])
    d, stock, spent = lsip.Index("d", demand), lsip.Variable(3, name="stock", lower=0, upper=20), lsip.Variable()
    move = lsip.Rule((3, 3), of=d, name="move")
    meet = [(cost * move).sum() <= spent, d <= move.sum(axis=0) - move.sum(axis=1) + stock, move >= 0]
    ours = lsip.Problem(lsip.minimize(20 * stock.sum() + spent), [lsip.forall(d, meet)]).solve(verbose=False, tol=1e-7)
    d, stock, spent = Index("d", demand), cp.Variable(3, bounds=[0, 20]), cp.Variable()
    move = Rule((3, 3), of=d, name="move")
    meet = [
        cp.sum(cp.multiply(cost, move)) <= spent,
        d <= cp.sum(move, axis=0) - cp.sum(move, axis=1) + stock,
        move >= 0,
    ]
    theirs = Problem(cp.Minimize(20 * cp.sum(stock) + spent), [forall(d, meet)]).solve(tol=1e-7)
    assert ours.certified
    assert theirs.certified
    assert theirs.value == pytest.approx(ours.value, rel=1e-6)
    shipped = theirs[move](np.array([[20.0, 10, 4], [0, 0, 0]]))
    assert shipped.shape == (2, 3, 3)
    assert shipped.min() >= -1e-7


def test_a_polynomial_rule_of_two_indices_in_a_convex_model() -> None:
    """A band of width 1/2 above z t has the product itself in it, or a little more, and no affine rule."""
    for degree, width in ((1, 1.0), (2, 0.5)):
        rule, size = Rule(of=[Z[0], T], name="r", degree=degree), cp.Variable(name="size")
        rows = [rule >= Z[0] * T, rule <= Z[0] * T + size]
        solution = Problem(cp.Minimize(cp.square(size) + size), [forall((Z, T), rows), size >= 0.5]).solve()
        assert solution.certified
        assert solution.value == pytest.approx(width**2 + width, abs=1e-5)
        assert -1e-6 <= solution[rule]([0.5, 1.0]) - 0.5 <= width + 1e-6


def test_convex_costs_of_what_is_decided_now() -> None:
    """Order x at x² now and the rest at 1 a piece, for a demand in [0, 2]: 2 x = 1, and 2 - 1/2 + 1/4 at worst."""
    now, rest, worst = cp.Variable(name="now"), Rule(of=T, name="rest"), cp.Variable(name="worst")
    rows = [now + rest >= T, rest >= 0, rest <= worst]
    problem = Problem(cp.Minimize(cp.square(now) + worst), [forall(T, rows)])
    solution = problem.solve()
    assert solution.certified
    assert solution.value == pytest.approx(1.75, abs=1e-5)
    assert solution[now] == pytest.approx(0.5, abs=1e-3)
    assert solution[rest](2.0) == pytest.approx(1.5, abs=1e-3)


def test_a_rule_that_sees_nothing_is_a_variable() -> None:
    first, second = Rule(2, of=Z[:0], name="first"), Rule(of=Z[:1], name="second")
    cost = cp.Variable(name="cost")
    rows = forall(Z, [first >= 1, second >= Z[0], cost >= cp.sum(first) + second])
    assert not isinstance(rows[0], ForAll)
    solution = Problem(cp.Minimize(cost + cp.sum(first)), [*rows, first <= 5]).solve()
    assert solution.certified
    assert solution.value == pytest.approx(5.0, abs=1e-6)
    np.testing.assert_allclose(solution[first](), [1, 1], atol=1e-6)
    np.testing.assert_allclose(first.value.constant, [1, 1], atol=1e-6)
    assert solution[2 * cp.sum(first)] == pytest.approx(4.0, abs=1e-6)
    assert (2 * cp.sum(first)).value == pytest.approx(4.0, abs=1e-6)


def test_coefficients_are_a_variable_of_the_model() -> None:
    rule, worst = Rule(of=T, name="rule"), cp.Variable(name="worst")
    rows = forall(T, [rule >= T, rule <= worst])
    free = Problem(cp.Minimize(worst), rows).solve()
    flat = Problem(cp.Minimize(worst - rule.coefficients[1]), [*rows, rule.coefficients[1] <= 0.25]).solve()
    assert free.value == pytest.approx(2.0, abs=1e-6)
    assert flat.value == pytest.approx(1.75, abs=1e-6)
    assert flat[rule].slopes[0] == pytest.approx(0.25, abs=1e-6)


def test_parameters_change_and_the_rule_follows() -> None:
    level, rule, worst = cp.Parameter(name="level"), Rule(of=T, name="rule"), cp.Variable(name="worst")
    problem = Problem(cp.Minimize(worst), forall(T, [rule >= level * T, rule <= worst]))
    for level.value in (1.0, 3.0):
        problem.solve()
        assert problem.value == pytest.approx(2 * level.value, abs=1e-6)
        assert rule.value(2.0) == pytest.approx(2 * level.value, abs=1e-6)


def test_printing() -> None:
    assert str(Rule(2, of=Z[:1], name="make") <= 3) == "make(z[:1]) <= 3.0"
    assert str(forall(Z, later <= X[0])) == "r(z) ≤ x[0]   for all z ∈ [0, 1]²"


def test_whole_numbers_now_and_a_rule_later() -> None:
    """A single integer beside a rule: the least whole number above 1.5."""
    rule, most = Rule(of=T, name="rule"), cp.Variable(integer=True, name="most")
    solution = Problem(cp.Minimize(most), forall(T, [rule >= 0.75 * T, rule <= most])).solve()
    assert most.value == 2
    assert solution.upper - solution.lower <= 1e-6
    assert solution[rule](2.0) >= 1.5 - 1e-9


LINE = Index("s", lsip.Interval(-np.inf, np.inf))
OTHER = lsip.Index("z", lsip.Box([0, 0], [1, 1]))
ATTEMPTS = {
    "formula": (lambda: Rule(of=2 * Z), "and 2 z is a formula"),
    "number": (lambda: Rule(of=3), "has entries of an index, such as z"),
    "variable": (lambda: Rule(of=X), "has entries of an index, such as z"),
    "index of lsip": (lambda: Rule(of=[Z[0], OTHER]), "is one of lsip itself"),
    "twice": (lambda: Rule(of=[Z[0], Z]), "has an entry twice"),
    "degree": (lambda: Rule(of=Z, degree=0), "degree of a rule is a whole number"),
    "outside": (
        lambda: Problem(cp.Minimize(X[0]), [later <= X[0]]),
        r"r\(z\) <= x\[0\] depends on the index z: wrap it",
    ),
    "objective": (
        lambda: Problem(cp.Minimize(later), [forall(Z, later >= 0)]),
        "objective minimize r.* depends on the index z",
    ),
    "the future": (lambda: forall(T, later <= T), "depends on z too; list every index"),
    "same name": (lambda: forall(Index("z", Z.formula.domain), later <= X[0]), "another index that is called z too"),
    "product": (lambda: forall(Z, later * later <= 1), "is not affine in the variables"),
    "norm": (lambda: forall(Z, cp.abs(later) <= 1), "is not affine in the variables"),
    "equality": (lambda: forall(Z, later == Z[0]), "leaves no room for a proof"),
    "black box": (
        lambda: forall(Z.formula.domain, lambda z: later <= math.sin(z[0])),
        "needs a constraint with a formula",
    ),
    "nan": (lambda: forall(Z, later <= np.nan), "has nan among its numbers"),
    "empty set": (lambda: Index("z", lsip.Polytope([[1.0], [-1]], [0, -1])), "empty"),
    "unbounded set": (lambda: Index("z", lsip.Polytope([[1.0]], [0])), "bounded"),
    "expression": (lambda: newsvendor()[0].solve()[later + 1], "has no value in this solution"),
    "attribute": (lambda: Rule(of=Z, nonneg=True), "got nonneg. Bounds are constraints"),
    "pieces": (
        lambda: Problem(cp.Minimize(X[0]), [forall(Z, Rule(of=Z, pieces=2) + Rule(of=Z, pieces=3) <= X[0])]).solve(),
        "rules of z with different pieces",
    ),
    "value": (lambda: setattr(later, "value", 1), "is what a solve finds"),
    "cp.Problem": (lambda: cp.Problem(cp.Minimize(X[0]), [X[0] >= later]).solve(), "cp.Problem does not know"),
    "unbounded index": (
        lambda: Problem(cp.Minimize(X[0]), [forall(LINE, Rule(of=LINE) + X[0] >= LINE)]).solve(),
        "is unbounded",
    ),
    "method": (
        lambda: Problem(cp.Minimize(cp.norm(X)), [forall(Z, later + X[0] >= Z[0])]).solve(method=lsip.Counterpart()),
        "Unknown option method of a convex model",
    ),
}


@pytest.mark.parametrize("name", ATTEMPTS)
def test_what_a_rule_cannot_be(name: str) -> None:
    attempt, message = ATTEMPTS[name]
    with pytest.raises(lsip.LSIPError, match=message):
        attempt()


def test_an_expression_with_a_rule_has_no_value() -> None:
    problem, sell = newsvendor()
    solution = problem.solve()
    with pytest.raises(lsip.ModelError, match="takes the rule sell"):
        solution[2 * sell]
    assert (2 * sell).value is None


@pytest.mark.parametrize(("pieces", "worth"), [(1, 2.0), (2, 1.0)])
def test_rules_in_pieces(pieces: int, worth: float) -> None:
    """Two regions deviate by no more than 1 in all; each needs a reserve of the size of its own deviation."""
    z, worst = Index("z", lsip.Budget(2, 1)), cp.Variable(name="worst")
    reserve = [Rule(of=z[i], name=f"reserve{i}", pieces=pieces) for i in range(2)]
    rows = [side for i in range(2) for side in (reserve[i] >= z[i], reserve[i] >= -z[i])]
    constraints = forall(z, [*rows, sum(reserve) <= worst])
    problem = Problem(cp.Minimize(worst), [constraints])
    solution = problem.solve(tol=1e-7)
    assert solution.certified
    assert problem.value == pytest.approx(worth, abs=1e-6)
    data = np.linspace(-1, 1, 9)
    assert (reserve[0].value(data) >= np.abs(data) - 1e-12).all()
    for constraint in constraints:
        assert constraint.violation() <= 1e-9
        for point, _ in constraint.dual_value:  # the index as it was declared, without its parts
            assert point.shape == (2,)
            assert z.formula.domain.contains(point[None], 1e-9).all()


@pytest.mark.parametrize("options", [{}, {"degree": 2}, {"pieces": 2}], ids=["affine", "degree 2", "pieces"])
@pytest.mark.parametrize(
    "domain", [lsip.Simplex(3), lsip.Simplex(2) * lsip.Box([-1, -1], [1, 1])], ids=["simplex", "product"]
)
def test_rules_over_simplices_equal_those_of_the_language(domain: Any, options: Any) -> None:
    """Coordinates that add up to 1 leave a rule no constant part, through this door as well."""
    share, values = np.arange(1, domain.dim + 1) / domain.dim, []
    z, worst = lsip.Index("z", domain), lsip.Variable(name="worst")
    rule = lsip.Rule(2, of=z, name="rule", **options)
    rows = [rule >= 0, rule[0] >= 1 + share @ z, rule.sum() >= 3 - share[::-1] @ z, 2 * rule[0] + rule[1] <= worst]
    ours = lsip.Problem(lsip.minimize(worst), [lsip.forall(z, rows)]).solve(tol=1e-6, verbose=False)
    w, height = Index("z", domain), cp.Variable(name="height")
    bent = Rule(2, of=w, name="bent", **options)
    rows = [bent >= 0, bent[0] >= 1 + share @ w, cp.sum(bent) >= 3 - share[::-1] @ w, 2 * bent[0] + bent[1] <= height]
    theirs = Problem(cp.Minimize(height), [forall(w, rows)]).solve(tol=1e-6)
    assert ours.certified
    assert theirs.certified
    assert theirs.value == pytest.approx(ours.value, rel=3e-6)
    values = theirs[bent](domain.sample(50, 2))
    assert values.min() >= -1e-9
