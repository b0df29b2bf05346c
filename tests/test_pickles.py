"""Pickles and copies: what is loaded works as before, and knows its variables; what can be found again is left out."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
import subprocess
import sys

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

import envs
import lsip
import rl
from lsip import catalogue
from lsip.model.fingerprint import fingerprint
from tests.checks import assert_certified


def again(value):
    return pickle.loads(pickle.dumps(value))


def tangent(p=None):
    x, t = lsip.Variable(3, name="x", lower=-5, upper=5), lsip.Index("t", lsip.Interval(0, 1))
    right = np.tan(t) if p is None else np.tan(p * t)
    limit = lsip.forall(t, x[0] + x[1] * t + x[2] * t**2 >= right, name="limit")
    problem = lsip.Problem(lsip.minimize(x[0] + x[1] / 2 + x[2] / 3), [limit, (x[0] <= 10).named("cap")])
    return problem, x, t


def domains():
    ball, box = lsip.Ball([0, 0], 1), lsip.Box([0, 0], [1, 2])
    return [
        lsip.Interval(0, 1) | lsip.Interval(2, 3),
        ball,
        lsip.Ellipsoid([0, 0], [[2, 0.5], [0.5, 1]]),
        lsip.Polytope.from_vertices([[0, 0], [1, 0], [0, 1]]),
        ball & box,
        box.where(lambda y: y[0] ** 2 >= y[1] / 4),
        lsip.Simplex(3),
        lsip.Budget(3, 1.5),
        lsip.Finite([[0.0, 1.0], [2.0, 3.0]]),
        lsip.Interval(0, 1) * ball,
    ]


@pytest.mark.parametrize("domain", domains(), ids=repr)
def test_an_index_set_is_the_same_in_a_pickle(domain):
    loaded = again(lsip.Index("y", domain))
    assert loaded.domain == domain
    assert loaded.domain.contains(domain.spread(20)).all()


def test_a_problem_its_solution_and_a_variable_stay_together():
    problem, x, _ = tangent()
    solution = problem.solve(verbose=False)
    loaded_problem, loaded, y = again((problem, solution, x))
    assert loaded.problem is loaded_problem
    assert y is loaded_problem.variables[0]
    np.testing.assert_array_equal(loaded[y], solution[x])
    np.testing.assert_array_equal(loaded[2 * y[0] + 1], solution[2 * x[0] + 1])
    assert (loaded.value, loaded.status, loaded.certified) == (solution.value, solution.status, True)
    assert str(loaded_problem) == str(problem)
    assert loaded_problem._repr_latex_() == problem._repr_latex_()
    assert len(loaded.dual(loaded_problem.constraints[0])) == len(solution.dual("limit"))
    assert loaded_problem.value == problem.value
    np.testing.assert_array_equal(y.value, x.value)
    loaded.verify()
    fresh = loaded_problem.solve(verbose=False)
    assert_certified(loaded_problem, fresh, 1e-7)
    assert fresh.value == pytest.approx(solution.value, abs=1e-8)


def test_caches_are_not_in_a_pickle():
    problem, *_ = tangent()
    before = len(pickle.dumps(problem))
    solution = problem.solve(verbose=False)
    loaded = again(solution)
    assert loaded.kept is None
    assert all(family.memory.boxes == 0 for family in loaded.program.families)
    assert loaded.problem.solve(verbose=False).certified
    del problem._last
    problem._last = None
    assert len(pickle.dumps(problem)) < 2 * before


def test_a_loaded_variable_is_no_other_one_of_the_same_number():
    """Terms of one variable are merged; those of a loaded one must not be taken for terms of another."""
    x = lsip.Variable(2, name="x")
    loaded = again(x)
    t = lsip.Index("t", lsip.Interval(0, 1))
    both = t * x + t * loaded
    assert {id(term.variable) for term in both.terms} == {id(x), id(loaded)}
    values = {x: [1.0, 2.0], loaded: [10.0, 20.0], t: 0.5}
    np.testing.assert_array_equal(both.at(values), [5.5, 11.0])


def test_variables_made_after_a_pickle_was_loaded_come_after_it():
    code = (
        "import pickle, sys, lsip\n"
        "old = pickle.loads(bytes.fromhex(sys.argv[1]))\n"
        "new = lsip.Variable()\n"
        "assert new.number > old.number and new.name != old.name, (new.name, old.name)\n"
    )
    for _ in range(3):
        x = lsip.Variable()
    subprocess.run([sys.executable, "-c", code, pickle.dumps(x).hex()], check=True, timeout=60)


def test_numbers_stay_read_only():
    p = lsip.Parameter(2, name="p", value=[1, 2])
    problem, x, _ = tangent()
    program = problem.compile()
    for array in (
        again(p).value,
        again(x).lower,
        again(program).c,
        again(program).A.data,
        again(program).families[0].columns,
    ):
        assert not array.flags.writeable


def test_parameters_change_after_loading():
    p = lsip.Parameter(name="p", value=1.0)
    problem, *_ = tangent(p)
    first = problem.solve(verbose=False).value
    loaded, q = again((problem, p))
    assert loaded.parameters == (q,)
    q.value = 0.5
    second = loaded.solve(verbose=False)
    assert second.certified
    assert second.value < first
    p.value = 0.5
    assert problem.solve(verbose=False).value == pytest.approx(second.value, abs=1e-8)


def test_long_sums_are_not_deep():
    terms = 2000
    x, t = lsip.Variable(terms, name="x", lower=0, upper=1), lsip.Index("t", lsip.Interval(0, 1))
    total = sum(x[k] * np.cos(k * t) for k in range(terms))
    formula = sum((t**k for k in range(1, terms)), np.sin(t))
    loaded, y, s = again((total + formula <= 1, x, t))
    values = np.linspace(0, 1, terms)
    assert loaded.body.at({y: values, s: 0.3}) == pytest.approx((total + formula - 1).at({x: values, t: 0.3}), abs=1e-9)
    assert str(loaded) == str(total + formula <= 1)


def test_models_with_kinks_and_splines():
    """The places of kinks are known by the identities of nodes, which a pickle does not keep."""
    x, t = lsip.Variable(2, name="x"), lsip.Index("t", lsip.Interval(0, 1))
    f = CubicSpline([0, 0.3, 0.6, 1], [0, 1, 0.5, 2])
    right = np.abs(t - 0.3) + np.maximum(t, 0.5) + lsip.spline(f, t) + np.where(t >= 0.4, t, 0.4)
    problem = lsip.Problem(lsip.minimize(x[0] + x[1] / 2), [lsip.forall(t, x[0] + x[1] * t >= right)])
    solution = problem.solve(verbose=False)
    loaded = again(solution)
    assert loaded.certified
    loaded.verify()
    assert loaded.problem.solve(verbose=False).value == pytest.approx(solution.value, abs=1e-8)


def test_a_copy_is_about_the_same_variables():
    problem, x, _ = tangent()
    problem.solve(verbose=False)
    other = copy.deepcopy(problem)
    assert other.variables[0] is x
    other.add(x[0] >= 0.2)
    assert len(problem.constraints) == 2
    assert other.solve(verbose=False)[x][0] >= 0.2
    assert problem.solve(verbose=False)[x][0] < 0.2
    assert copy.copy(problem).constraints == problem.constraints


def test_a_copied_solution_has_its_own_numbers():
    problem, x, _ = tangent()
    solution = problem.solve(verbose=False)
    other = copy.deepcopy(solution)
    np.testing.assert_array_equal(other[x], solution[x])
    assert other.certificate.x is not solution.certificate.x
    assert other.dual("limit")[0].multiplier == solution.dual("limit")[0].multiplier
    other.verify()


def test_statements_know_their_constraints_after_a_copy():
    problem, *_ = tangent()
    limit = problem.constraints[0]
    other = copy.deepcopy(problem)
    assert len(other.solve(verbose=False).dual(limit)) > 0


def spring(y):
    return -(y ** np.arange(3))


def right(y):
    return -np.tan(y[:, 0])


def test_families_of_functions_are_pickled_if_their_functions_can_be():
    x = lsip.Variable(3, name="x")
    above = lsip.Family(lsip.Interval(0, 1), spring, right)
    problem = lsip.Problem(lsip.minimize(x[0] + x[1] / 2 + x[2] / 3), [above.on(x)])
    solution = problem.solve(verbose=False)
    assert again(solution).problem.solve(verbose=False).value == pytest.approx(solution.value, abs=1e-8)


def test_a_convex_solution():
    cp = pytest.importorskip("cvxpy")
    from lsip.interop.cvxpy import Index, Problem, forall

    x, t = cp.Variable(3, name="x"), Index("t", lsip.Interval(0, 1))
    problem = Problem(cp.Minimize(cp.norm(x)), [forall(t, x[0] + x[1] * t + x[2] * t**2 >= np.tan(t)), x <= 10])
    solution = problem.solve()
    loaded, y = again((solution, x))
    np.testing.assert_array_equal(loaded[y], solution[x])
    assert (loaded.value, loaded.certified) == (solution.value, solution.certified)
    loaded.verify()
    other = copy.deepcopy(solution)
    np.testing.assert_array_equal(other[x], solution[x])
    for same in (again(problem), copy.deepcopy(problem)):
        assert same.solve().value == pytest.approx(solution.value, abs=1e-7)


def test_a_plan():
    mdp = envs.sewage(states=4, actions=2, seed=0)
    for method in ("lp", "decompose"):
        plan = rl.plan(mdp, method=method)
        loaded = again(plan)
        np.testing.assert_array_equal(loaded.policy, plan.policy)
        assert (loaded.value, loaded.lower, loaded.upper) == (plan.value, plan.lower, plan.upper)
        assert loaded.certified == plan.certified
        loaded.verify()
        assert copy.deepcopy(plan).value == plan.value


def solved(problem):
    return problem.solve(verbose=False)


def test_processes_that_are_spawned_solve_for_us():
    problem, x, _ = tangent()
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        solution = pool.map(solved, [problem])[0]
    assert solution.certified
    assert solution.value == pytest.approx(problem.solve(verbose=False).value, abs=1e-8)
    np.testing.assert_allclose(solution["x"], problem.solution[x], atol=1e-6)


@pytest.mark.parametrize("entry", catalogue.names()[::7])
def test_catalogue_problems(entry):
    problem = catalogue.get(entry).build()
    loaded = again(problem)
    assert str(loaded) == str(problem)
    assert fingerprint(loaded.compile()) == fingerprint(problem.compile())
