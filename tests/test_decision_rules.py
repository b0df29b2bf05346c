"""Decision rules: written like variables, read like functions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lsip
from lsip import Box, Index, Interval, LSIPError, Problem, Rule, Variable, forall, maximize, minimize

Z = Index("z", Box([0, 0, 0], [1, 1, 1]))
T = Index("t", Interval(0, 2))


def newsvendor(degree: int = 1, seen: Any = None) -> tuple[Problem, Rule]:
    """The affine newsvendor of JuMPeR's tests: stock now, sell what the demand of five products allows."""
    mean = np.array([28, 32, 38, 40, 46.0])
    z = Index("z", lsip.Budget(5, 2.0))
    stock, profit = Variable(name="stock", lower=0), Variable(name="profit", upper=1000)
    sell = Rule(5, of=z if seen is None else seen(z), name="sell", degree=degree)
    rows = [profit <= sell.sum() - 0.5 * stock, sell <= mean * (1 + 0.5 * z), sell >= 0, sell.sum() <= stock]
    return Problem(maximize(profit), [forall(z, rows)]), sell


def test_the_published_value_and_the_rule_behind_it() -> None:
    problem, sell = newsvendor()
    solution = problem.solve(verbose=False)
    assert solution.certified
    assert solution.value == pytest.approx(70.5, abs=1e-5)
    rule = solution[sell]
    assert rule.constant.shape == (5,)
    assert rule.slopes.shape == (5, 5)
    data = np.random.default_rng(0).uniform(-0.4, 0.4, (50, 5))
    sold = rule(data)
    assert sold.shape == (50, 5)
    np.testing.assert_allclose(sold, rule.constant + data @ rule.slopes.T, atol=1e-9)
    assert (sold >= -1e-9).all()
    assert (sold.sum(axis=1) <= solution["stock"] + 1e-9).all()
    np.testing.assert_allclose(rule(data[0]), sell.at({problem.constraints[0].indices[0]: data[0]}), atol=1e-9)


def test_what_a_rule_does_not_see_it_does_not_depend_on() -> None:
    values = [newsvendor(seen=lambda z, k=k: z[:k])[0].solve(verbose=False).value for k in (0, 2, 5)]
    assert values[0] == pytest.approx(46.0, abs=1e-5)  # the static value of the same source
    assert values[0] < values[1] - 1 < values[2] - 2


def test_a_polynomial_rule_is_at_least_as_good() -> None:
    """The least height of a rule above t (2 - t), t in [0, 2], is a parabola's; an affine rule has to stay above."""
    found = []
    for degree in (1, 2):
        rule, height = Rule(of=T, name="r", degree=degree), Variable(name="h")
        rows = [rule >= T * (2 - T), rule - T * (2 - T) <= height]
        solution = Problem(minimize(height), [forall(T, rows)]).solve(verbose=False)
        assert solution.certified
        found.append((solution.value, solution[rule]))
    assert found[0][0] == pytest.approx(1.0, abs=1e-6)
    assert found[1][0] == pytest.approx(0.0, abs=1e-6)
    np.testing.assert_allclose(found[1][1].coefficients, [0, 2, -1], atol=1e-3)
    np.testing.assert_allclose(found[1][1]([0.0, 1.0, 2.0]), [0, 1, 0], atol=1e-3)


def test_rules_of_several_indices() -> None:
    u = Index("u", Interval(-1, 1))
    rule, height = Rule(of=[Z[1], u], name="r", degree=2), Variable(name="h")
    rows = [rule >= Z[1] * u, rule <= Z[1] * u + height]
    solution = Problem(minimize(height), [forall((Z, u), rows)]).solve(verbose=False)
    assert solution.certified
    assert solution.value == pytest.approx(0.0, abs=1e-6)
    assert solution[rule].exponents.tolist() == [[0, 0], [1, 0], [0, 1], [2, 0], [1, 1], [0, 2]]
    assert solution[rule]([0.5, -0.5]) == pytest.approx(-0.25, abs=1e-4)


def test_a_rule_that_sees_nothing_is_a_variable() -> None:
    now, later = Rule(2, of=Z[:0], name="now"), Rule(of=Z[:1], name="later")
    cost = Variable(name="cost")
    rows = [now >= 1, later >= Z[0], cost >= now.sum() + later]
    problem = Problem(minimize(cost), [forall(Z, rows), Rule(name="other") >= 0])
    solution = problem.solve(verbose=False)
    assert solution.value == pytest.approx(3.0, abs=1e-6)
    assert str(solution[now]).startswith("now[0] = 1")
    np.testing.assert_allclose(solution[now](), [1, 1], atol=1e-6)
    assert Rule(name="alone").indices() == ()


def test_printing() -> None:
    make = Rule((2, 2), of=Z[:2], name="make")
    assert str(make) == "make(z[:2])"
    assert str(make[0, 1]) == "make(z[:2])[0, 1]"
    assert str(Rule(of=[Z[0], T], name="q")) == "q(z[0], t)"
    assert make._repr_latex_() == r"$\mathrm{make}\left(z_{:2}\right)$"
    rule = make.found(np.arange(12.0).reshape(2, 2, 3) - 4)
    assert str(rule).splitlines()[:2] == [
        "make[0, 0](z[0], z[1]) = -4 - 3 z[0] - 2 z[1]",
        "make[0, 1](z[0], z[1]) = -1 + z[1]",
    ]
    assert r"\mathrm{make}_{0, 0}\left(z_{0}, z_{1}\right) &= -4" in rule._repr_latex_()
    square = Rule(of=T, name="s", degree=2).found(np.array([1.0, 0.0, 2.0]))
    assert str(square) == "s(t) = 1 + 2 t^2"


def test_reports_name_the_coefficients(tmp_path: Any) -> None:
    problem, _ = newsvendor()
    page = problem.solve(verbose=False).report(tmp_path / "r.html").read_text()
    assert "sell[0]: 1" in page
    assert "sell[4]: z[3]" in page


def test_the_value_of_a_rule_is_that_of_the_last_solution() -> None:
    problem, sell = newsvendor()
    assert sell.value is None
    solution = problem.solve(verbose=False)
    assert sell.value is not None
    assert (sell.value.coefficients == solution["sell"].coefficients).all()
    assert (solution[sell.coefficients] == sell.value.coefficients).all()


def endless() -> list[Any]:
    inner: list[Any] = []
    inner.append(inner)
    return inner


ATTEMPTS = {
    "formula": (lambda: Rule(of=2 * Z), "and 2 z is a formula"),
    "number": (lambda: Rule(of=3), "has entries of an index, such as z"),  # type: ignore[arg-type]
    "text": (lambda: Rule(of="z"), "has entries of an index, such as z"),
    "twice": (lambda: Rule(of=[Z[0], Z[:2]]), "has an entry twice"),
    "endless": (lambda: Rule(of=endless()), "lists in lists without end"),
    "degree": (lambda: Rule(of=Z, degree=0), "degree of a rule is a whole number"),
    "half": (lambda: Rule(of=Z, degree=1.5), "degree of a rule is a whole number"),  # type: ignore[arg-type]
    "many": (lambda: Rule(of=Index("w", Box([0] * 40, [1] * 40)), degree=5), "lower the degree, or let it see less"),
    "outside": (lambda: Problem(minimize(0), [Rule(of=Z, name="r") >= 0]), r"wrap it in forall\(z, …\)"),
    "another": (lambda: forall(T, Rule(of=Z, name="r") >= T), "depends on z too; list every index"),
    "objective": (lambda: minimize(Rule(of=Z, name="r")), "objective depends on the index z"),
    "product": (lambda: Rule(of=Z, name="r") * Rule(of=Z, name="q"), "product of decision variables"),
    "changed": (lambda: setattr(Rule(of=Z, name="r"), "name", "q"), "cannot be set"),
    "data": (lambda: Rule(of=Z, name="r").found(np.zeros(4))([1.0, 2.0]), "function of .*: data of shape"),
}


@pytest.mark.parametrize("name", ATTEMPTS)
def test_what_a_rule_cannot_be(name: str) -> None:
    attempt, message = ATTEMPTS[name]
    with pytest.raises(LSIPError, match=message):
        attempt()


@pytest.mark.parametrize("degree", [1, 2])
def test_rules_of_a_whole_simplex_are_written_in_one_way(degree: int) -> None:
    """Coordinates of a simplex add up to 1: without a constant part a rule says the same, and is bounded by proof."""
    y, worst = lsip.Index("y", lsip.Simplex(4)), lsip.Variable(name="worst")
    rule = lsip.Rule(3, of=y, degree=degree, name="rule")
    need = np.array([[1, 2, 3, 4], [2, 0, 1, 0], [0, 1, 0, 3.0]])
    problem = lsip.Problem(lsip.minimize(worst), [lsip.forall(y, [rule >= need @ y + 1, rule.sum() <= worst])])
    if degree == 1:
        solution = problem.solve(method=lsip.Counterpart(), verbose=False)
        assert solution.certified
        assert len(solution.history) == 1
        assert solution.value == pytest.approx(10.0, abs=1e-6)
        points = np.random.default_rng(0).dirichlet(np.ones(4), 100)
        assert (solution[rule](points) >= points @ need.T + 1 - 1e-9).all()
    assert (rule.coefficients.upper == 0).reshape(3, -1)[0].tolist() == [bool(e.sum() < degree) for e in rule.exponents]
    part = lsip.Rule(of=y[:3], name="part")
    assert np.isinf(part.coefficients.upper).all()
