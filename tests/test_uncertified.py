"""What a solution says about violations: proven or found, over an index or in finite rows, and why none is."""

from __future__ import annotations

import re
import warnings
from dataclasses import replace

import numpy as np
import pytest

import lsip
from lsip.expressions.undefined import where_undefined
from lsip.progress import summary
from lsip.solution import messages
from lsip.solution.messages import duration, no_proof, proof_unfinished

H, X = lsip.Variable(name="h"), lsip.Variable(3, name="x")
T, U = lsip.Index("t", lsip.Interval(0, 1)), lsip.Index("u", lsip.Interval(-1, 1))


def test_equality_rows_do_not_spoil_the_violation_over_the_index() -> None:
    rows = [X[0] / 3 + X[1] / 7 == H, X[2] - X[0] * 0.1 == 0.1]
    problem = lsip.Problem(lsip.minimize(H), [lsip.forall(U, X[0] + X[1] * U + X[2] * U**2 >= np.exp(U)), *rows])
    problem = lsip.Problem(problem.objective, [*problem.constraints, lsip.forall(U, X[1] * U <= 5)])
    solution = problem.solve(verbose=False)
    assert solution.certified
    assert solution.violation_proven
    assert solution.max_violation <= 0
    assert solution.max_violation == max(solution.certificate.violation)


def test_a_number_that_is_proven_is_called_so_whatever_the_status() -> None:
    solution = lsip.Problem(
        lsip.minimize(X[0] + X[1] / 2 + X[2] / 3),
        [lsip.forall(T, X[0] + X[1] * T + X[2] * T**2 >= np.tan(T))],
    ).solve(verbose=False, max_iterations=1)
    assert solution.status is lsip.Status.ITERATION_LIMIT
    assert solution.violation_proven
    assert f"{solution.max_violation:.1e}"[:3] in str(solution)
    assert "at most" in str(solution)
    rough = lsip.Problem(lsip.minimize(H), [lsip.forall(T, np.sin(5 * T) <= H)])
    found = rough.solve(verbose=False, oracle=lsip.oracles.RandomSearch(50))
    assert not found.violation_proven
    assert "found" in str(found)


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_the_region_of_a_bound_is_said_in_the_units_of_the_model(unit: float) -> None:
    """Two equal columns, which no rows can balance exactly; a limit that comes meanwhile takes nothing from that."""
    x, sines = lsip.Variable(4, name="x"), (1 - np.cos(3)) / 3
    height = x[0] + x[1] * np.sin(3 * T) + x[2] * T + x[3] * np.sin(3 * T)
    area = x[0] + sines * x[1] + x[2] / 2 + sines * x[3]
    solution = lsip.Problem(lsip.minimize(unit * area), [lsip.forall(T, unit * height >= np.exp(T))]).solve(
        verbose=False
    )
    assert solution.status is lsip.Status.UNCERTIFIED
    proof = solution.certificate
    named = re.findall(r"\|x\[(\d)\]\| <= (\S+),", solution.message)
    assert [int(j) for j, _ in named] == [0, 1, 2]
    for j, most in named:
        assert 0.98 <= float(most) / (proof.radius * proof.units[int(j)]) <= 1
    assert [solution.program.label(j) for j in range(4)] == ["x[0]", "x[1]", "x[2]", "x[3]"]
    late = replace(solution, status=lsip.Status.TIME_LIMIT)
    assert "the bounds are valid on a condition. Raise it" in late.message
    assert late.message.endswith(proof.trusts[0])


def test_columns_are_called_what_the_modeller_calls_them() -> None:
    h, w = lsip.Variable(name="h"), lsip.Variable((2, 2), name="w")
    late = lsip.Rule(of=T, name="late")
    rows = [h + w.sum() <= 1, lsip.forall(T, late + w[1, 0] >= T)]
    program = lsip.Problem(lsip.maximize(h), rows).compile()
    names = {"h", "w[0, 0]", "w[0, 1]", "w[1, 0]", "w[1, 1]"}
    called = [program.label(j) for j in range(program.n)]
    assert names < set(called)
    assert len(set(called)) == program.n == 7


def _said(formula: lsip.expressions.Expression, index: lsip.Index) -> str:
    place = where_undefined((formula,), (index,), index.domain)
    return "" if place is None else place.sentence((index.name,))


def test_a_place_that_floats_cannot_divide_further_is_named() -> None:
    """The index set has some six hundred doubles in it: fewer than the parts into which it would be cut."""
    u = lsip.Index("u", lsip.Interval(1271235181598.6602, 1271235181598.8157))
    formula = 16 * np.tan(u)
    assert "tan(u) has no bounds there" in _said(formula, u)


def test_an_undefined_branch_is_named_with_its_place() -> None:
    for formula, written in (
        (np.where(T > 0, 1 / T - 1 / np.tan(T), 0.0), "1 / t"),
        (np.where(T > 0, T * np.log(T) ** 2, 0), "log(t)"),
    ):
        solution = lsip.Problem(lsip.minimize(H), [lsip.forall(T, formula <= H)]).solve(verbose=False)
        assert solution.status is lsip.Status.UNCERTIFIED
        assert f"near t = 0: {written} has no bounds there" in solution.message
        assert "Use BranchAndBound" not in solution.message
        assert solution.message in str(solution)


def test_the_place_is_inside_the_index_set() -> None:
    y = lsip.Index("y", lsip.Ball([0, 0], 1))
    along = np.where(y[0] + y[1] > 1, 1 / (y[0] + y[1] - 1), 0.0)  # not defined on a line through the disc
    corner = 1 / ((y[0] - 0.9) ** 2 + (y[1] - 0.9) ** 2)  # nor here, in a corner of its bounding box
    problem = lsip.Problem(lsip.minimize(H), [lsip.forall(y, np.minimum(along, 3.0) + corner <= H)])
    solution = problem.solve(verbose=False, oracle=lsip.oracles.BranchAndBound(max_boxes=2000))
    assert solution.status is lsip.Status.UNCERTIFIED
    found = re.search(r"near y\[0\] = (\S+), y\[1\] = (\S+): 1 / \(y\[0\] \+ y\[1\] - 1\)", solution.message)
    assert found, solution.message
    place = [float(part) for part in found.groups()]
    assert np.hypot(*place) <= 1.0001
    assert sum(place) == pytest.approx(1, abs=1e-3)


def test_other_reasons_have_other_advice() -> None:
    problem = lsip.Problem(lsip.minimize(H), [lsip.forall(T, np.sin(5 * T) <= H)])
    sampled = problem.solve(verbose=False, oracle=lsip.oracles.Multistart())
    assert "Multistart proves nothing. Leave `oracle` alone" in sampled.message
    x = lsip.Variable(1, name="x")
    family = lsip.Family(
        lsip.Interval(0, 1),
        lambda y: np.array([[-1.0] for _ in y]),
        lambda y: np.array([-float(v) for v in y[:, 0]]),
        50.0,
    )
    rough = lsip.Problem(lsip.minimize(x[0]), [family.on(x)]).solve(
        verbose=False, oracle=lsip.oracles.BranchAndBound(max_boxes=2000)
    )
    assert rough.status is lsip.Status.UNCERTIFIED
    assert "Lipschitz constants" in rough.message


def test_an_optimum_that_is_wide_beside_its_value_says_so() -> None:
    """Where `atol` alone closed the gap, the message and the status line tell it, and the gap is the relative one."""
    problem = lsip.Problem(lsip.minimize(H), [lsip.forall(T, H >= T - 0.5)])
    solution = problem.solve(verbose=False)
    assert not solution.wide
    assert "than the gap" in solution.message
    loose = problem.solve(atol=0.1, verbose=False)
    certificate = replace(loose.certificate, lower=loose.certificate.upper - 0.08)
    wide = replace(loose, certificate=certificate)
    assert wide.status is lsip.Status.OPTIMAL
    assert wide.wide
    assert wide.gap == pytest.approx(0.08 / wide.upper, rel=1e-12)
    assert "better by more than 0.08" in wide.message
    assert "atol = 0.1, which alone closed the gap" in wide.message
    assert summary(wide)[0] == " OPTIMAL to atol = 0.1 only, certified"
    assert "apart" in "\n".join(summary(wide))


def test_advice_is_about_what_was_done() -> None:
    """Nobody who left `oracle` alone is told to, and no option of another oracle is praised."""
    program = lsip.Problem(lsip.minimize(H), [lsip.forall(T, T * H >= 1 - H)]).compile()
    assert "`oracle` alone" in no_proof(program, (np.inf,), "Multistart", chosen=True)
    assert "`oracle`" not in no_proof(program, (np.inf,), "Multistart", chosen=False)
    assert "max_boxes" in no_proof(program, (1e-9,), "BranchAndBound", chosen=False)
    assert "max_boxes" not in no_proof(program, (1e-9,), "SupportFunction", chosen=False)
    for status in (lsip.Status.TIME_LIMIT, lsip.Status.ITERATION_LIMIT, lsip.Status.INTERRUPTED):
        assert "warm_start=solution" in status.value


@pytest.mark.parametrize("degree", [4, 5])
def test_infinite_slopes_at_the_ends_are_no_warning(degree: int) -> None:
    """cos(k arccos t) is a polynomial, but its derivatives as written are 0 times infinity at the ends."""
    c, basis = lsip.Variable(degree, name="c"), np.cos(np.arange(degree) * np.arccos(U))
    problem = lsip.Problem(lsip.minimize(H), [lsip.forall(U, [basis @ c - np.abs(U) <= H, np.abs(U) - basis @ c <= H])])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        solution = problem.solve(verbose=False)
    assert solution.certified


def test_a_stalled_solve_says_what_helps() -> None:
    assert "Give bounds on the variables" in lsip.Status.STALLED.value


def waves(m: int) -> lsip.Problem:
    """The least combination of sums of waves, one for every coordinate, above a sum of exponentials."""
    x, y = lsip.Variable(4, name="x", lower=-10, upper=10), lsip.Index("y", lsip.Box(np.zeros(m), np.ones(m)))
    basis = np.stack([np.sin(3 * (k + 1) * y).sum() / m for k in range(3)])
    target = np.exp(y * np.linspace(0.2, 1, m)).sum() / m
    return lsip.Problem(lsip.minimize(x[0] + 0.5 * x[1:].sum()), [lsip.forall(y, x[0] + basis @ x[1:] >= target)])


def test_a_proof_out_of_reach_says_what_it_would_cost() -> None:
    solution = waves(9).solve(verbose=False, oracle=lsip.oracles.BranchAndBound(max_boxes=6000))
    assert solution.status is lsip.Status.UNCERTIFIED
    said = re.search(r"would take about (\S+) boxes more, about .* at the pace of this solve", solution.message)
    assert said, solution.message
    assert float(said.group(1)) > 1e5
    late = proof_unfinished(solution.program, lsip.Status.TIME_LIMIT, (lsip.oracles.Work(3e7, 600.0),))
    assert late.startswith("Stopped at `time_limit`; the bounds are valid. No violation found")
    assert "about 3e+07 boxes more, about 10 minutes" in late
    assert proof_unfinished(solution.program, lsip.Status.TIME_LIMIT, (None,)) == ""


def test_what_is_left_of_a_proof_is_about_what_it_takes() -> None:
    program = waves(6).compile()
    g, memory = program.violation(0, np.array([2.47, -0.5, -0.5, -0.5])), program.families[0].memory
    assert lsip.oracles.BranchAndBound().maximise(g).bound <= 0
    whole = memory.boxes
    memory.forget()
    part = lsip.oracles.BranchAndBound(max_boxes=whole // 2).maximise(g)
    assert part.bound > 0
    assert part.work is not None, whole
    assert (whole - memory.boxes) / 8 <= part.work.boxes <= 8 * (whole - memory.boxes), (part.work, whole)


def test_how_long_is_said_in_a_unit_that_suits() -> None:
    assert duration(0.42) == "about 0.4 seconds"
    assert duration(119) == "about 1e+02 seconds"
    assert duration(600) == "about 10 minutes"
    assert duration(36e3) == "about 10 hours"
    assert duration(3e12) == "more than 10,000 years"


def test_no_message_is_longer_than_three_lines() -> None:
    """Whatever the formulas: a constraint without a name is called by its own, which may take a kilobyte."""
    formula = sum(X[k % 3] * np.cos((k + 1) * T) for k in range(40))
    program = lsip.Problem(lsip.minimize(H), [lsip.forall(T, formula <= H)]).compile()
    family = program.families[0]
    assert len(family.legend.name) > 300
    work = (lsip.oracles.Work(3e7, 600.0),)
    said = [
        *(status.value for status in lsip.Status),
        messages.cancelled(family, 1e9),
        messages.no_interior([(family.legend.name, 1e-3)] * 5, ""),
        messages.no_interior_at_integers(1e-3),
        messages.no_proof(program, (1e-9,), "BranchAndBound", chosen=False),
        messages.proof_unfinished(program, lsip.Status.TIME_LIMIT, work),
        messages.small_value(1e-9),
        messages.unbounded_direction(program, np.ones(program.n)),
        messages.branch_and_bound_on_trust("gurobi"),
        *(messages.PROBABLY_INFEASIBLE, messages.PROBABLY_UNBOUNDED, messages.UNBOUNDED_RELAXATION, messages.UNITS),
    ]
    assert max(map(len, said)) <= 3 * 120
    assert all(sentence.endswith(".") for sentence in said)


def test_bounds_that_meet_when_a_solve_is_stopped_are_no_proof_if_they_rest_on_constants() -> None:
    family = lsip.Family(
        lsip.Interval(0, 1),
        lambda y: np.array([[-1.0, -float(v)] for v in y[:, 0]]),
        lambda y: np.array([-(float(v) ** 2) for v in y[:, 0]]),
        lipschitz=(1.0, 2.0),
    )
    stopped = lsip.Exchange(tol=1e-2, callback=lambda _: True)
    solution = lsip.linsip([1, 0.5], [family], bounds=(-5, 5), tol=1e-2, method=stopped)
    assert solution.gap <= 1e-2
    assert solution.certificate.trusts
    assert solution.status is lsip.Status.UNCERTIFIED
