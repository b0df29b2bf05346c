"""`Problem.solve_many`: a proven solution for each row of values, the same whoever solves which part."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import lsip
from lsip.solver import batch


def model(size=()):
    x, t = lsip.Variable(3, name="x"), lsip.Index("t", lsip.Interval(0, 1))
    p, q = lsip.Parameter(size, name="p"), lsip.Parameter(name="q", value=1)
    rate = p.sum() if size else p
    above = lsip.forall(t, x[0] + x[1] * t + x[2] * t**2 >= q * np.exp(rate * t), name="above")
    return lsip.Problem(lsip.minimize(x[0] + x[1] / 2 + x[2] / 3), [above]), x, p, q


def bits(solutions):
    return [(s.status, s.x.tobytes(), s.lower, s.upper) for s in solutions]


@settings(max_examples=8, deadline=None)
@given(values=st.lists(st.floats(0.25, 2), min_size=0, max_size=12))
def test_every_row_has_the_solution_of_a_single_solve(values):
    problem, x, p, _ = model()
    solutions = problem.solve_many({p: values}, verbose=False)
    assert len(solutions) == len(values)
    for value, solution in zip(values, solutions, strict=True):
        assert solution.certified
        solution.verify()
        p.value = value
        alone = problem.solve(verbose=False, warm_start=None)
        assert max(alone.lower, solution.lower) <= min(alone.upper, solution.upper)
        assert solution[x].shape == (3,)
        assert solution.problem is problem


def test_answers_are_the_same_for_every_number_of_workers():
    problem, x, p, q = model()
    values = {p: np.linspace(0.5, 1.5, 12), "q": np.linspace(1, 2, 12)}
    found = [problem.solve_many(values, workers=workers, verbose=False) for workers in (None, 1, 2, 3)]
    assert all(bits(one) == bits(found[0]) for one in found)
    for solution in found[2]:
        solution.verify()
        assert solution.problem is problem
        np.testing.assert_array_equal(solution[x], solution.x)
        assert len(solution.dual("above")) == len(solution.dual(problem.constraints[0])) > 0
    assert (p.value, q.value) == (None, 1.0)
    assert problem.solution is None


def test_rows_begin_from_one_another():
    problem, _, p, _ = model()
    solutions = problem.solve_many({p: np.linspace(1, 2, 30)}, verbose=False)
    assert sum(len(s.history) for s in solutions[1:]) < 2 * 29
    anew = problem.solve_many({p: np.linspace(1, 2, 30)}, verbose=False, warm_start=None)
    assert [a.value for a in anew] == pytest.approx([s.value for s in solutions], rel=1e-7)


def test_values_in_rows_and_in_columns():
    problem, _, p, q = model(2)
    columns = problem.solve_many({p: [[0.5, 0.5], [0.25, 1.0]]}, verbose=False)
    rows = problem.solve_many([{p: [0.5, 0.5]}, {"p": [0.25, 1.0]}], verbose=False)
    assert bits(columns) == bits(rows)
    assert problem.solve_many([], verbose=False) == []
    p.value = [0.5, 0.5]
    (other,) = problem.solve_many({q: [1.0]}, verbose=False)
    assert other.value == columns[0].value


def test_the_problem_stays_as_it_was():
    problem, x, p, _ = model()
    p.value = 1.5
    before = problem.solve(verbose=False)
    problem.solve_many({p: [0.5, 0.75]}, verbose=False)
    assert problem.solution is before
    assert p.value == 1.5
    np.testing.assert_array_equal(x.value, before[x])
    assert problem.solve(verbose=False).value == before.value


REFUSED = {
    "a number": (lambda p, q: 3.0, "array with a row per solve"),
    "an array": (lambda p, q: np.ones(3), "array with a row per solve"),
    "a sparse matrix": (lambda p, q: sparse.dok_array(np.eye(3)), "array with a row per solve"),
    "a list of them": (lambda p, q: [sparse.dok_array(np.eye(3))], "array with a row per solve"),
    "nothing": (lambda p, q: {}, "need a parameter"),
    "one number": (lambda p, q: {p: 1.0}, r"shape \(rows,\); got \(\)"),
    "too many columns": (lambda p, q: {p: np.ones((3, 2))}, r"shape \(rows,\); got \(3, 2\)"),
    "two lengths": (lambda p, q: {p: [1.0, 2.0], q: [1.0]}, "2 of p, 1 of q"),
    "another parameter": (lambda p, q: {lsip.Parameter(name="r"): [1.0]}, "r is no parameter of the problem"),
    "another name": (lambda p, q: {"r": [1.0]}, "'r' is no parameter of the problem, which has"),
    "nan": (lambda p, q: {p: [1.0, np.nan]}, "finite"),
    "words": (lambda p, q: {p: ["a", "b"]}, "p"),
    "rows of other parameters": (lambda p, q: [{p: 1.0}, {q: 1.0}], "row 1 has q"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_other_values_are_refused_before_anything_is_solved(name, monkeypatch):
    problem, _, p, q = model()
    monkeypatch.setattr(lsip.Problem, "solve", None)
    given_values, words = REFUSED[name]
    with pytest.raises(lsip.ModelError, match=words):
        problem.solve_many(given_values(p, q), verbose=False)


def test_an_interrupt_keeps_what_is_done(monkeypatch):
    problem, _, p, _ = model()
    real, count = lsip.Problem.solve, 0

    def solve(self, **options):
        nonlocal count
        count += 1
        if count == 4:
            raise KeyboardInterrupt
        return real(self, **options)

    monkeypatch.setattr(lsip.Problem, "solve", solve)
    solutions = problem.solve_many({p: np.linspace(1, 2, 8)}, verbose=False)
    assert [s is not None for s in solutions] == [True] * 3 + [False] * 5
    assert p.value is None


def test_an_error_names_its_row():
    problem, _, p, _ = model()
    with pytest.raises(lsip.ModelError) as told:
        problem.solve_many({p: [1.0, 1.5, 1e6]}, verbose=False)
    assert "row 2" in "".join(told.value.__notes__)


def test_a_model_that_cannot_be_sent_is_solved_by_this_process_alone():
    x, p = lsip.Variable(name="x"), lsip.Parameter(name="p", value=1)
    family = lsip.Family(lsip.Interval(0, 1), lambda y: -np.ones((len(y), 1)), lambda y: -np.floor(1 + y[:, 0]))
    problem = lsip.Problem(lsip.minimize(p * x), [family.on(x.reshape(1))])
    assert len(problem.solve_many({p: [1, 2, 3]}, verbose=False)) == 3
    with pytest.raises(lsip.ModelError, match="at the top of a module"):
        problem.solve_many({p: [1, 2, 3]}, workers=2, verbose=False)


def test_the_bar_counts_rows(monkeypatch):
    seen = []

    class Bar:
        def at(self, done, total, name):
            seen.append((done, total))

        def clear(self):
            seen.append("cleared")

    monkeypatch.setattr(batch, "Bar", Bar)
    problem, _, p, _ = model()
    problem.solve_many({p: [1.0, 1.5, 2.0]})
    assert seen == [(1, 3), (2, 3), (3, 3), "cleared"]
