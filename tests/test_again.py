"""Solving again: constraints added and removed, bounds that move, and warm starts that are proven like every answer."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import lsip
from lsip.model.fingerprint import fingerprint
from lsip.oracles.memory import TUNING as MEMORY
from lsip.solution.solution_file import joined
from lsip.solver.warm_start import Earlier, WarmStart

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
        assert_feasible(found.program, found)
    assert fingerprint(joined(found).program) == fingerprint(problem.compile())
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
    polished = WarmStart.polished

    def worse(self: WarmStart) -> bool:
        found = polished(self)
        self.point = replace(self.point, x=self.point.x + 0.01)
        return found

    monkeypatch.setattr(WarmStart, "polished", worse)
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


def test_boxes_in_pieces_are_whole_again_once_the_kinks_are_gone() -> None:
    """What cut a box at a kink says nothing about the parts into which it is split for other rows."""
    x, w = lsip.Variable(2, name="x"), 30.0
    smooth = lsip.forall(t, x[0] * np.sin(w * t) + x[1] * np.exp(t) <= np.cos(w * t))
    kinked = lsip.forall(t, x[0] * t + x[1] * abs(np.sin(w * t) - 0.3 * t) <= 1)
    y, rng = np.linspace(0, 1, 2001), np.random.default_rng(0)
    for _ in range(5):
        problem = lsip.Problem(lsip.minimize(x[0]), [smooth, kinked])
        problem.worst_violation(rng.normal(size=2), tol=1e-3)
        problem.remove(kinked)
        for point in rng.normal(size=(4, 2)):
            worst = problem.worst_violation(point)
            assert worst.bound >= (point[0] * np.sin(w * y) + point[1] * np.exp(y) - np.cos(w * y)).max() - 1e-12
            assert worst.bound <= worst.value + 1e-5


def test_later_constraints_stay_apart_until_they_are_many(tmp_path: Any) -> None:
    """The families of earlier ones are used as they are; a file tells of the model, not of how it came about."""
    curves = [np.cos((1 + i / 2) * t) + i / 50 for i in range(4)]
    problem, x, _ = envelope(*curves[:2])
    problem.solve(verbose=False)
    family = problem.compile().families[0]
    for i, families in ((2, 2), (3, 1)):
        problem.add(lsip.forall(t, t**powers @ x >= curves[i]))
        found: Any = problem.solve(verbose=False)
        assert found.certified
        assert len(found.program.families) == families
        assert (family in found.program.families) == (families == 2)
        found.save(tmp_path / "s.npz")
        anew = envelope(*curves[: i + 1])[0]
        loaded = lsip.Solution.load(tmp_path / "s.npz", anew)
        assert loaded.certified
        assert loaded.value == found.value == pytest.approx(anew.solve(verbose=False).value, rel=3e-8)
        assert loaded.active[0].constraint == found.active[0].constraint
        assert lsip.Solution.load(tmp_path / "s.npz").problem is not None  # and by itself
    assert len(problem.compile().families) == 1  # as a new problem has it
    problem.remove(problem.constraints[-2])
    assert_same(problem, envelope(*curves[:2], curves[3])[0])


def test_bounds_and_new_constraints_hold_the_next_answer_at_once() -> None:
    """A variable that comes to its bound, one that leaves it, an atom in the place of another: no relaxation."""
    p = lsip.Parameter(name="p", value=1.0)

    def build(limit: Any) -> tuple[lsip.Problem, lsip.Variable]:
        x = lsip.Variable(4, name="x", lower=0, upper=1)
        near = np.exp(-8 * (t - np.array([0.1, 0.35, 0.6, 0.95])) ** 2)
        return lsip.Problem(lsip.maximize(x @ [1, 1.1, 0.9, 1]), [lsip.forall(t, near @ x <= limit * (1 + t / 4))]), x

    problem, x = build(p)
    problem.solve(verbose=False)
    sides, steps = set(), []
    for value in np.linspace(1.0, 1.6, 13)[1:]:
        p.value = value
        steps.append(len(assert_same(problem, build(value)[0]).history))
        sides.add(tuple(np.isclose(x.value, 0) | np.isclose(x.value, 1)))
    assert len(sides) > 2
    assert sum(step == 1 for step in steps) >= 10
    rising, z, _ = envelope(np.cos(t))
    rising.solve(verbose=False)
    steps = []
    for i in range(1, 9):
        rising.add(lsip.forall(t, t**powers @ z >= np.cos((1 + i / 4) * t) + i / 200))
        anew = envelope(*(np.cos((1 + k / 4) * t) + k / 200 for k in range(i + 1)))[0]
        steps.append(len(assert_same(rising, anew).history))
    assert sum(step == 1 for step in steps) >= 5


@pytest.mark.parametrize("seed", range(6))
def test_random_changes(seed: int) -> None:
    """Whatever changes from solve to solve, the answer is that of solving anew, with a proof of its own."""
    rng = np.random.default_rng(seed)
    p = lsip.Parameter(2, name="p", value=[1.0, 1.0])
    y = lsip.Index("y", lsip.Box([0, 0], [1, 1]))
    rates, shifts = rng.uniform(0.5, 3, 12), rng.uniform(0, 0.5, 12)

    def rows(x: lsip.Variable, q: Any, kinds: list[int]) -> list[Any]:
        near = [np.exp(-rates[k] * ((y[0] - k / 12) ** 2 + q[0] * y[1] ** 2)) for k in kinds]
        curve = [
            lsip.forall(t, x[0] + x[1] * t + x[2] * t**2 >= q[1] * np.sin(rates[k] * t) + shifts[k]) for k in kinds
        ]
        each = zip(kinds, near, curve, strict=True)
        return [lsip.forall(y, x.sum() * a <= 4 + q[1] * y[0]) if k % 3 == 2 else c for k, a, c in each]

    def build(q: Any, kinds: list[int], lower: Any) -> tuple[lsip.Problem, lsip.Variable, list[Any]]:
        x = lsip.Variable(3, name="x", lower=lower, upper=3)
        made = rows(x, q, kinds)
        return lsip.Problem(lsip.minimize(x[0] + 0.7 * x[1] + 0.4 * x[2]), made), x, made

    kinds = [0, 1, 2]
    problem, x, made = build(p, kinds, -3.0)
    held = dict(zip(kinds, made, strict=True))
    problem.solve(verbose=False)
    for _ in range(8):
        what = rng.choice(["rhs", "coefficient", "add", "remove", "bounds"])
        if what == "rhs":
            p.value = p.value + np.array([0, rng.uniform(-0.2, 0.3)])
        elif what == "coefficient":
            p.value = p.value * np.array([rng.uniform(0.7, 1.4), 1])
        elif what == "bounds":
            x.lower = rng.uniform(-3, 0.2, 3)
        elif what == "remove" and len(held) > 1:
            problem.remove(held.pop(int(rng.choice(sorted(held)))))
        elif spare := sorted(set(range(12)) - set(held)):
            new = int(rng.choice(spare))
            held[new] = rows(x, p, [new])[0]
            problem.add(held[new])
        assert_same(problem, build(p.value, list(held), x.lower)[0])


def test_a_tape_with_other_values_is_that_of_a_new_one() -> None:
    p = lsip.Parameter(2, name="p", value=[1.0, 2.0])

    def build(q: Any) -> lsip.Problem:
        x = lsip.Variable(2, name="x")
        inner = np.exp(q[0] * t) + np.sqrt(q[1] + 1)
        return lsip.Problem(lsip.minimize(x[0]), [lsip.forall(t, x[0] * inner + np.sin(q[1] * t) * x[1] >= q[0] * t)])

    problem = build(p)
    lower, upper = np.linspace(0, 0.9, 10)[:, None], np.linspace(0.1, 1, 10)[:, None]
    for value in ([1.0, 2.0], [0.3, 2.0], [0.3, -0.5], [-7.0, 1e-300]):
        p.value, other = value, lsip.Parameter(2, name="p", value=value)
        ours, theirs = (each.compile().families[0].source.tape for each in (problem, build(other)))  # type: ignore[attr-defined]
        assert np.array_equal(ours.values(lower), theirs.values(lower))
        for one, two in zip(ours.quadratics(lower, upper)[0], theirs.quadratics(lower, upper)[0], strict=True):
            assert np.array_equal(one, two)
        one, two = ours.enclose(lower, upper), theirs.enclose(lower, upper)
        assert np.array_equal(one.lo, two.lo)
        assert np.array_equal(one.hi, two.hi)
