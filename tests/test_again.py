"""Solving again: constraints added and removed, bounds that move, and warm starts that are proven like every answer."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import lsip
from lsip.oracles.memory import TUNING as MEMORY
from lsip.solver.again import Earlier, Resumed

from .checks import assert_feasible

t = lsip.Index("t", lsip.Interval(0, 1))
powers = np.arange(4)


def envelope(*functions: Any, **bounds: Any) -> tuple[lsip.Problem, lsip.Variable, list[Any]]:
    """A cubic above some functions."""
    x = lsip.Variable(4, name="x", **bounds)
    above = [lsip.forall(t, t**powers @ x >= f) for f in functions]
    return lsip.Problem(lsip.minimize(x @ (1 / (1 + powers))), above), x, above


def assert_same(problem: lsip.Problem, anew: lsip.Problem) -> lsip.Solution:
    """Solving again gives what solving anew gives, with a proof of its own."""
    known = anew.solve(verbose=False)
    found: Any = problem.solve(verbose=False)
    assert found.status is known.status
    assert found.certified
    if found.status is lsip.Status.OPTIMAL:
        assert found.value == pytest.approx(known.value, rel=3e-8, abs=3e-8)
        assert_feasible(problem.compile(), found)
    found.verify()
    return found


def test_added_and_removed_constraints() -> None:
    problem, x, _ = envelope(np.tan(t))
    problem.solve(verbose=False)
    more = lsip.forall(t, t**powers @ x >= 1.2 * np.cos(t), name="more")
    cap = (x.sum() <= 1.7).named("cap")
    problem.add([more, cap])
    both, z, _ = envelope(np.tan(t), 1.2 * np.cos(t))
    both.add(z.sum() <= 1.7)
    found = assert_same(problem, both)
    assert len(found.program.families) == 1  # constraints over one index share their work, whenever they came
    problem.remove("cap")
    assert_same(problem, envelope(np.tan(t), 1.2 * np.cos(t))[0])
    problem.remove(more)
    assert_same(problem, envelope(np.tan(t))[0])
    assert len(problem.constraints) == 1
    found.verify()  # about the problem as it was then


def test_a_constraint_that_changes_nothing_needs_no_relaxation() -> None:
    problem, x, _ = envelope(np.tan(t))
    first = problem.solve(verbose=False)
    problem.add(lsip.forall(t, t**powers @ x <= 9 + t))
    again: Any = problem.solve(verbose=False)
    assert len(again.history) == 1
    assert again.certified
    assert again.value == pytest.approx(first.value, rel=2e-8)


def test_a_new_variable_and_a_contradiction() -> None:
    problem, x, _ = envelope(np.tan(t))
    problem.solve(verbose=False)
    u = lsip.Variable(name="u", lower=0)
    problem.add([x[0] + u == 2, u <= 1])
    assert problem.variables == (x, u)
    anew, z, _ = envelope(np.tan(t))
    v = lsip.Variable(name="v", lower=0)
    anew.add([z[0] + v == 2, v <= 1])
    assert_same(problem, anew)
    assert u.value is not None
    impossible = lsip.forall(t, t**powers @ x <= 0.5 - t)
    problem.add(impossible)
    answer = problem.solve(verbose=False)
    assert answer.status is lsip.Status.INFEASIBLE
    assert answer.certified
    assert u.value is None
    problem.remove(impossible)
    assert_same(problem, anew)


@pytest.mark.parametrize("name", ["lower", "upper"])
def test_bounds_that_move(name: str) -> None:
    sign = 1 if name == "lower" else -1
    problem, x, _ = envelope(np.tan(t), lower=-3, upper=3)
    problem.solve(verbose=False)
    for size in (0.5, 0.3, 0.1):
        setattr(x, name, np.array([sign * -3, sign * -size, sign * -size, sign * -3]))
        anew, z, _ = envelope(np.tan(t), lower=x.lower, upper=x.upper)
        assert_same(problem, anew)
        assert (z.lower == x.lower).all()


def test_another_objective() -> None:
    problem, x, _ = envelope(np.tan(t), lower=-5, upper=5)
    problem.solve(verbose=False)
    problem.objective = lsip.minimize(x @ np.array([1, 0.3, 0.3, 0.3]))
    _, z, above = envelope(np.tan(t), lower=-5, upper=5)
    assert_same(problem, lsip.Problem(lsip.minimize(z @ np.array([1, 0.3, 0.3, 0.3])), above))


def test_an_unchanged_problem_is_solved_anew() -> None:
    problem, *_ = envelope(np.tan(t))
    one, other = (problem.solve(verbose=False) for _ in range(2))
    assert [h.value for h in one.history] == [h.value for h in other.history]
    assert (one.x == other.x).all()


def test_a_changed_one_can_be_solved_anew_too() -> None:
    p = lsip.Parameter(name="p", value=1)
    problem, *_ = envelope(p * np.tan(t))
    problem.solve(verbose=False)
    p.value = 1.1
    cold, known = problem.solve(verbose=False, warm_start=None), envelope(1.1 * np.tan(t))[0].solve(verbose=False)
    assert len(cold.history) == len(known.history)


def test_small_changes_end_at_once_and_large_ones_do_not_deceive() -> None:
    p = lsip.Parameter(name="p", value=1.0)
    problem, *_ = envelope(np.exp(p * t) + np.sin(3 * p * t))
    problem.solve(verbose=False)
    steps = []
    for value in (1.01, 1.02, 1.04, 1.5, 3.0, -2.0, 0.0, 1.0):
        p.value = value
        steps.append(len(assert_same(problem, envelope(np.exp(value * t) + np.sin(3 * value * t))[0]).history))
    assert steps[:3] == [1, 1, 1]


def test_a_solution_of_another_problem_is_a_start_too() -> None:
    one: Any = envelope(np.tan(t), lower=-5, upper=5)[0].solve(verbose=False)
    other = envelope(1.02 * np.tan(t), lower=-4, upper=5)[0]
    assert Earlier.of(one, other.compile()).support  # by its place, for the statements are others
    found: Any = other.solve(verbose=False, warm_start=one)
    assert len(found.history) == 1
    assert found.certified
    assert found.value == pytest.approx(1.02 * one.value, rel=3e-8)
    smaller = lsip.Variable(2, name="z")
    apart = lsip.Problem(lsip.minimize(smaller[0] + smaller[1]), [lsip.forall(t, smaller[0] + smaller[1] * t >= t)])
    assert apart.solve(verbose=False, warm_start=found, tol=1e-6).status is lsip.Status.OPTIMAL


def test_options_of_the_second_solve_count() -> None:
    p = lsip.Parameter(name="p", value=1)
    problem, *_ = envelope(p * np.tan(t))
    problem.solve(verbose=False)
    p.value = 1.01
    assert problem.solve(verbose=False, tol=1e-5).gap <= 1e-5
    p.value = 1.02
    grid: Any = problem.solve(verbose=False, oracle=lsip.oracles.Grid(points=50), tol=1e-4)
    assert grid.oracle == "Grid"
    p.value = 1.03
    assert problem.solve(verbose=False, polish=False).certified


def test_a_try_that_is_wrong_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever Newton's method proposes, only a proof ends a solve."""
    p = lsip.Parameter(name="p", value=1.0)
    problem, *_ = envelope(p * np.tan(t))
    problem.solve(verbose=False)
    polished = Resumed.polished

    def worse(self: Resumed) -> bool:
        found = polished(self)
        self.point = replace(self.point, x=self.point.x + 0.01)
        return found

    monkeypatch.setattr(Resumed, "polished", worse)
    p.value = 1.1
    assert_same(problem, envelope(1.1 * np.tan(t))[0])


def test_atoms_go_where_their_constraints_are() -> None:
    x = lsip.Variable(2, name="x")
    y = lsip.Index("y", lsip.Interval(0, 2))
    first, last = lsip.forall(t, x[0] + x[1] * t >= t), lsip.forall(y, x[0] + x[1] * y >= np.sin(y))
    rows = [x[0] <= 5, x[1] <= 5, x[0] + x[1] >= 1.5]
    problem = lsip.Problem(lsip.minimize(2 * x[0] + x[1]), [first, last, rows])
    solution: Any = problem.solve(verbose=False)
    problem.remove([first, rows[0]])
    earlier = Earlier.of(solution, problem.compile())
    assert all(s.family == 0 for s in earlier.support)
    assert len(earlier.support) == sum(s.family == 1 for s in solution.certificate.support)
    assert earlier.rows == pytest.approx(solution.certificate.row_multipliers[1:])


def test_boxes_do_not_pile_up() -> None:
    p = lsip.Parameter(name="p", value=1.0)
    problem, *_ = envelope(np.sin(8 * t + p))
    problem.solve(verbose=False)
    family: Any = problem.compile().families[0]
    first = family.memory.boxes
    most = 0
    for value in np.linspace(1.0, 2.0, 20)[1:]:
        p.value = value
        problem.solve(verbose=False)
        most = max(most, family.memory.boxes)
    assert most <= 2 * MEMORY.most_grown * first


def test_what_cannot_be_added_or_removed() -> None:
    problem, x, above = envelope(np.tan(t))
    cap = (x[0] <= 3).named("cap")
    problem.add(cap)
    with pytest.raises(lsip.ModelError, match="is a constraint of the problem already"):
        problem.add(cap)
    with pytest.raises(lsip.ModelError, match="Two constraints of the problem are called 'cap'"):
        problem.add((x[1] <= 3).named("cap"))
    with pytest.raises(lsip.ModelError, match="Two variables of the problem are called 'x'"):
        problem.add(lsip.Variable(name="x") <= 3)
    with pytest.raises(lsip.ModelError, match="got the bool True"):
        problem.add(True)
    for unknown, message in ((x[0] <= 3, "has no constraint x"), ("top", "called 'top'; it has cap")):
        with pytest.raises(lsip.ModelError, match=message):
            problem.remove(unknown)
    assert problem.constraints == [*above, cap]
    with pytest.raises(lsip.ModelError, match="no decision variable"):
        lsip.Problem(lsip.minimize(lsip.Parameter(name="q", value=1)), [])


def test_a_solution_of_a_changed_problem_is_saved_and_read(tmp_path: Any) -> None:
    p = lsip.Parameter(name="p", value=1)
    problem, *_ = envelope(p * np.tan(t))
    problem.solve(verbose=False)
    p.value = 1.1
    solution: Any = problem.solve(verbose=False)
    solution.save(tmp_path / "s.npz")
    assert lsip.Solution.load(tmp_path / "s.npz", problem).value == solution.value
    p.value = 1.2
    with pytest.raises(lsip.ModelError, match="holds the solution of another model"):
        lsip.Solution.load(tmp_path / "s.npz", problem)


def test_large_programs_with_a_few_rows_each() -> None:
    """Sparse rows, finite ones among them, and a parameter on their right-hand side."""
    n, p = 600, lsip.Parameter(name="p", value=1.0)

    def build(limit: Any) -> lsip.Problem:
        x = lsip.Variable(n, name="x", lower=0, upper=2)
        near = np.exp(-((10 * (t - np.linspace(0, 1, 5))) ** 2))
        return lsip.Problem(lsip.maximize(x.sum()), [lsip.forall(t, near @ x[:5] <= limit + t), x[5:] <= limit])

    problem = build(p)
    problem.solve(verbose=False)
    for value in (1.05, 1.1):
        p.value = value
        assert_same(problem, build(value))


@pytest.mark.parametrize(
    "domain",
    [
        lsip.Interval(0, 1),
        lsip.Box([0, 0], [1, 1]),
        lsip.Ball([0, 0], 1),
        lsip.Simplex(3),
        lsip.Union(lsip.Interval(0, 1), lsip.Interval(2, 3)),
    ],
    ids=str,
)
def test_kept_boxes_bound_what_there_is_now(domain: lsip.Domain) -> None:
    """Whatever values change, and whichever constraints come and go, no bound is below a value that is attained."""
    y, x = lsip.Index("y", domain), lsip.Variable(2, name="x")
    first = y if domain.scalar else y[0]
    p, rng = lsip.Parameter(3, name="p", value=[1, 1, 1]), np.random.default_rng(0)
    rows = [
        p[0] * np.sin(3 * first) * x[0] + x[1] * np.exp(first) - np.cos(p[1] * first),
        x[0] + x[1] * first**2 - p[2] * np.cos(4 * first),
        (1 + first) * x[0] - np.exp(p[1] * first) * x[1],
    ]
    held = [lsip.forall(y, row <= 0) for row in rows]
    problem = lsip.Problem(lsip.minimize(x[0]), held[:1])
    points = domain.sample(3000, seed=1)
    for step in range(12):
        if step % 4 == 1:
            problem.add(held[1 + step // 4 % 2] if held[1 + step // 4 % 2] not in problem.constraints else held[2])
        if step % 4 == 3:
            problem.remove(problem.constraints[0])
        p.value = p.value if step % 4 == 2 else rng.uniform(-2, 2, 3)
        point = rng.normal(size=2)
        worst = problem.worst_violation(point, tol=1e-6)
        shown = [
            c.constraint.body.at({y: points[:, 0] if domain.scalar else points, x: point}) for c in problem.constraints
        ]  # type: ignore[union-attr]
        assert worst.bound >= max(v.max() for v in shown) - 1e-12
        assert worst.bound <= worst.value + 1e-5
