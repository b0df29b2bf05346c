"""Certificates: right for problems with a known optimum, honest when stopped early, and rejected when tampered with."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import lsip
from lsip.errors import ModelError, ProofError
from lsip.expressions.graph import as_expression
from lsip.expressions.tape import Tape
from lsip.proof.certificate import Certificate, Support
from lsip.solver.tuning import Tuning

from .checks import assert_certified, assert_feasible, dual_bound

Array = NDArray[np.float64]
TOL = 1e-8


# ---- random problems with a known optimum ---------------------------------------------------------------------------

DOMAINS: dict[str, lsip.Domain] = {
    "interval": lsip.Interval(-1, 2),
    "box": lsip.Box([0, -1], [1, 1]),
    "ball": lsip.Ball([0.5, 0], 1),
    "polytope": lsip.Polytope([[1, 1], [-1, 0], [0, -1]], [1, 0, 0]),
    "simplex": lsip.Simplex(3),
    "finite": lsip.Finite(np.random.default_rng(0).uniform(-1, 1, (12, 2))),
    "product": lsip.Interval(0, 1) * lsip.Finite([[0.0], [0.5], [1.0]]),
    "union": lsip.Interval(-1, 0) | lsip.Interval(0.5, 1),
}
BASES = ["powers", "waves", "bumps", "kinks"]


def coordinates(index: Any) -> list[Any]:
    return [index] if not index.shape else [index[k] for k in range(index.shape[0])]


def basis(kind: str, n: int, index: Any, seed: int, dependent: bool = False) -> Any:
    """n functions of the index, the first of them constant; on a simplex all coordinates together are `dependent`."""
    rng = np.random.default_rng(seed)
    y = coordinates(index)[: None if dependent else index.domain.measure[0] or None]
    parts: list[Any] = [1.0]
    for k in range(1, n):
        u = y[(k - 1) % len(y)]
        degree = 1 + (k - 1) // len(y)
        if kind == "powers":
            parts.append(u**degree)
        elif kind == "waves":
            parts.append(np.sin(degree * u + rng.uniform(0, 3)))
        elif kind == "bumps":
            parts.append(np.exp(-((u - rng.uniform(-1, 1)) ** 2)) * (1 + 0.5 * y[-1]))
        else:
            parts.append(np.abs(u - rng.uniform(-0.5, 0.5)) + rng.uniform(-1, 1) * u)
    return np.stack(parts)


@dataclass(frozen=True)
class Known:
    """How to build a problem from its solution: x, the active points and the multipliers come first."""

    domain: str
    basis: str
    n: int
    seed: int
    slack: str  # how the constraint leaves its active points: "square" or "sharp"
    boxed: bool
    maximise: bool
    rows: bool

    def build(self) -> tuple[lsip.Problem, float, Array]:
        rng = np.random.default_rng(self.seed)
        domain = DOMAINS[self.domain]
        index = lsip.Index("y", domain)
        a = basis(self.basis, self.n, index, self.seed)
        best = np.round(rng.normal(size=self.n), 2)
        count = min(self.n, 3) if self.boxed else self.n
        active = np.unique(domain.sample(count, self.seed), axis=0)
        at = Tape((a,), (index,)).values(active)
        c = -at.T @ rng.uniform(0.5, 2.0, len(active))
        gap: Any = 1.0
        for point in active:
            away = sum((u - v) ** 2 for u, v in zip(coordinates(index), point, strict=True))
            gap = gap * (np.sqrt(away) if self.slack == "sharp" else away)
        # With fewer active points than variables many solutions are optimal; bounds keep them together.
        bounds = {"lower": best - 3.0, "upper": best + 3.0} if self.boxed or len(active) < self.n else {}
        x = lsip.Variable(self.n, name="x", **bounds)
        constraints: list[Any] = [lsip.forall(index, a @ x <= a @ best + gap)]
        if self.rows:
            # Lowering the first variable alone leaves room in every constraint, so that a Slater point exists.
            matrix = np.round(rng.normal(size=(2, self.n)), 2)
            matrix[:, 0] = (0.5, 0.0)
            constraints += [matrix[0] @ x <= matrix[0] @ best, matrix[1] @ x == matrix[1] @ best]
            c = c - matrix.T @ np.array([1.0, rng.uniform(-1, 1)])
        objective = lsip.maximize(-c @ x) if self.maximise else lsip.minimize(c @ x)
        return lsip.Problem(objective, constraints), float((-c if self.maximise else c) @ best), best


def known_problems(domain: str | None = None, rows: bool | None = None) -> st.SearchStrategy[Known]:
    return st.builds(
        Known,
        domain=st.sampled_from(list(DOMAINS)) if domain is None else st.just(domain),
        basis=st.sampled_from(BASES),
        n=st.integers(2, 5),
        seed=st.integers(0, 10_000),
        slack=st.sampled_from(["square", "square", "sharp"]),
        boxed=st.booleans(),
        maximise=st.booleans(),
        rows=st.booleans() if rows is None else st.just(rows),
    )


# An example is its own reproduction; shrinking would only solve the same kind of problem a thousand times.
PLAIN = [Phase.explicit, Phase.generate]


@pytest.mark.parametrize("rows", [False, True], ids=["families only", "finite rows"])
@pytest.mark.parametrize("domain", DOMAINS)
@settings(max_examples=4, phases=PLAIN)
@given(st.data())
def test_problems_built_from_their_solution_are_solved_with_proof(domain: str, rows: bool, data: st.DataObject) -> None:
    check_known(data.draw(known_problems(domain, rows)))


def check_known(known: Known) -> None:
    problem, value, _ = known.build()
    solution = problem.solve(verbose=False, tol=TOL, time_limit=90.0)
    slack = 1e-9 * (1 + abs(value))
    assert solution.lower - slack <= value <= solution.upper + slack, "the bounds must hold whatever the status"
    assert_certified(problem, solution, TOL)
    assert abs(solution.value - value) <= 1e-7 * (1 + abs(value))


def test_a_row_that_is_met_exactly_where_the_family_is() -> None:
    """The finite row alone carries the multiplier; the family touches it at one index, and there is room below."""
    x, t = lsip.Variable(name="x"), lsip.Index("t", lsip.Interval(0, 1))
    problem = lsip.Problem(lsip.maximize(x), [x <= 1, lsip.forall(t, x <= 1 + (t - 1 / 3) ** 2)])
    assert_certified(problem, problem.solve(verbose=False), TOL)


@pytest.mark.parametrize("bounded", [True, False], ids=["bounded", "free"])
def test_dependent_coefficients_leave_the_value_alone(bounded: bool) -> None:
    """On the simplex 1 = y0 + y1 + y2, so that solutions form a line; the value is one number all the same."""
    y = lsip.Index("y", lsip.Simplex(3))
    x = lsip.Variable(4, name="x", **({"lower": -10, "upper": 10} if bounded else {}))
    row = x[0] + y @ x[1:]
    hill = y[0] - (y**2).sum()
    problem = lsip.Problem(lsip.minimize(4 * x[0] + x[1] + x[2] + 2 * x[3]), [lsip.forall(y, row >= hill)])
    solution = problem.solve(verbose=False, time_limit=60.0)
    assert_certified(problem, solution, TOL)
    # The best plane above a concave function touches it at the mean (1, 1, 2) / 4.
    assert solution.value == pytest.approx(4 * (1 / 4 - 6 / 16), rel=1e-7)


def test_a_problem_over_finitely_many_slices() -> None:
    """One coordinate of the index takes three values only; no multiplier may sit between them."""
    check_known(Known("product", "waves", 5, 255, "square", False, False, True))


# ---- infeasible and unbounded ---------------------------------------------------------------------------------------


@settings(max_examples=15, phases=PLAIN)
@given(st.sampled_from(list(DOMAINS)), st.sampled_from(BASES), st.integers(2, 4), st.integers(0, 10_000), st.booleans())
def test_infeasible_problems_are_proven_so(domain: str, kind: str, n: int, seed: int, finite: bool) -> None:
    """A constraint for all y against the opposite at one y, or against the opposite for all y."""
    rng = np.random.default_rng(seed)
    index = lsip.Index("y", DOMAINS[domain])
    a = basis(kind, n, index, seed)
    x, best = lsip.Variable(n, name="x"), rng.normal(size=n)
    point = DOMAINS[domain].sample(1, seed)
    row = Tape((a,), (index,)).values(point)[0]
    margin = rng.uniform(0.05, 1)
    against = row @ x >= row @ best + margin if finite else lsip.forall(index, a @ x >= a @ best + margin)
    problem = lsip.Problem(lsip.minimize(x[0]), [lsip.forall(index, a @ x <= a @ best), against])
    solution = problem.solve(verbose=False, time_limit=90.0)
    if finite and solution.status is lsip.Status.UNCERTIFIED:
        # The row of one y is rounded. Where it lies at the edge of the cone of all rows, and outside by that much,
        # there are feasible points, very far out; only evidence can be had then.
        assert "contradict" in solution.message
        return
    assert solution.status is lsip.Status.INFEASIBLE
    assert solution.certified
    assert np.isnan(solution.value)
    solution.verify()
    # Farkas, in plain NumPy: the combination has no variables left, and a negative right-hand side.
    program = problem.compile()
    left, right, size = np.zeros(n), 0.0, 0.0
    for s in solution.certificate.support:
        rows, rhs = program.families[s.family].rows(s.point[None])
        left += s.multiplier * rows[0, s.component]
        right += s.multiplier * rhs[0, s.component]
        size += s.multiplier * np.abs(rows[0, s.component]).max()
    mu = solution.certificate.row_multipliers
    if len(mu):
        left += program.A.T @ mu
        right += mu @ np.where(np.isfinite(program.row_upper), program.row_upper, program.row_lower)
    assert right < 0
    assert np.abs(left).max() <= 1e-6 * (size + np.abs(mu).sum())


@settings(max_examples=15, phases=PLAIN)
@given(st.sampled_from(list(DOMAINS)), st.sampled_from(BASES), st.integers(2, 4), st.integers(0, 10_000), st.booleans())
def test_unbounded_problems_are_proven_so(domain: str, kind: str, n: int, seed: int, maximise: bool) -> None:
    """The last coefficient is chosen so that a(y) d <= -1/2 for every y."""
    rng = np.random.default_rng(seed)
    index = lsip.Index("y", DOMAINS[domain])
    a = basis(kind, n, index, seed)
    d = np.sign(rng.normal(size=n)) * rng.uniform(0.5, 2, n)
    last = (-0.5 - (coordinates(index)[0]) ** 2 - a[:-1] @ d[:-1]) / d[-1]
    a = np.concatenate([a[:-1], np.atleast_1d(last)])
    x, start = lsip.Variable(n, name="x"), rng.normal(size=n)
    c = -np.abs(rng.normal(size=n)) * np.sign(d)
    objective = lsip.maximize(-c @ x) if maximise else lsip.minimize(c @ x)
    problem = lsip.Problem(objective, [lsip.forall(index, a @ x <= a @ start + 1)])
    solution = problem.solve(verbose=False, time_limit=90.0)
    assert solution.status is lsip.Status.UNBOUNDED
    assert solution.certified
    assert solution.value == (np.inf if maximise else -np.inf)
    solution.verify()
    program, direction = problem.compile(), solution.certificate.direction
    assert direction is not None
    assert program.c @ direction < 0
    y = DOMAINS[domain].sample(1000, 1)
    drift = program.violation(0, direction, scale=0.0).values(y)
    assert drift.max() <= 1e-11 * np.abs(direction).max()
    for far in (0.0, 1e3, 1e6):  # the ray starts at a feasible point and stays feasible
        assert program.violation(0, solution.x + far * direction).values(y).max() <= 1e-9 * (1 + far)


def test_an_unbounded_relaxation_is_not_mistaken_for_the_problem() -> None:
    """Relaxations without t = 1/3 are unbounded; the problem is not."""
    x, t = lsip.Variable(3, name="x", lower=-100, upper=100), lsip.Index("t", lsip.Interval(0, 1))
    objective = lsip.minimize(x[0] + x[1] / 3 + x[2] / 9)
    problem = lsip.Problem(objective, [lsip.forall(t, t ** np.arange(3) @ x >= np.exp(t))])
    solution = problem.solve(verbose=False)
    assert_certified(problem, solution, TOL)
    assert solution.value == pytest.approx(np.exp(1 / 3), rel=1e-7)


# ---- tampering ------------------------------------------------------------------------------------------------------


def tangent_problem(**bounds: Any) -> lsip.Problem:
    x = lsip.Variable(3, name="x", **bounds)
    t = lsip.Index("t", lsip.Interval(0, 1))
    constraint = lsip.forall(t, x[0] + x[1] * t + x[2] * t**2 >= np.tan(t))
    return lsip.Problem(lsip.minimize(x[0] + x[1] / 2 + x[2] / 3), [constraint, x[0] + x[1] <= 10])


TANGENT = (3 * np.tan(1 / 3) + np.tan(1)) / 4


@pytest.fixture(scope="module", params=["free", "boxed"])
def solved(request: Any) -> lsip.Solution:
    problem = tangent_problem() if request.param == "free" else tangent_problem(lower=-20, upper=20)
    solution = problem.solve(verbose=False)
    assert_certified(problem, solution, TOL)
    assert solution.value == pytest.approx(TANGENT, rel=1e-7)
    return solution


def moved(c: Certificate, step: float) -> Array:
    return c.x - step * np.array([1.0, 0.5, 1 / 3])


def with_support(c: Certificate, **changes: Any) -> tuple[Support, ...]:
    return (replace(c.support[0], **changes), *c.support[1:])


def heavier(c: Certificate) -> tuple[Support, ...]:
    return with_support(c, multiplier=1.01 * c.support[0].multiplier)


TAMPERED = {
    "raised lower bound": lambda c: replace(c, lower=c.lower + 1e-6),
    "infinite lower bound": lambda c: replace(c, lower=np.inf),
    "lower bound that is nan": lambda c: replace(c, lower=np.nan),
    "lowered upper bound": lambda c: replace(c, upper=c.upper - 1e-6),
    "upper bound that is nan": lambda c: replace(c, upper=np.nan),
    "upper bound of minus infinity": lambda c: replace(c, upper=-np.inf),
    "moved x": lambda c: replace(c, x=moved(c, 1e-5)),
    "moved x with its objective": lambda c: replace(c, x=moved(c, 1e-5), upper=c.upper - 1.2e-5),
    "moved x, claiming no violation": lambda c: replace(c, x=moved(c, 0.1), upper=c.upper - 0.13, violation=(0.0,)),
    "moved x with its violation": lambda c: replace(c, x=moved(c, 0.1), upper=c.upper - 0.13, violation=(1.0,)),
    "moved x with an unproven violation": lambda c: replace(c, x=moved(c, 0.1), violation=(np.inf,)),
    "moved x with a violation that is nan": lambda c: replace(c, x=moved(c, 0.1), violation=(np.nan,)),
    "no violation at all": lambda c: replace(c, x=moved(c, 0.1), violation=()),
    "x that is nan": lambda c: replace(c, x=np.full(3, np.nan)),
    "x outside a finite row": lambda c: replace(c, x=np.array([15.0, 0.0, 0.0]), upper=15.0, violation=(0.0,)),
    "x outside a finite row, admitted": lambda c: replace(
        c, x=np.array([15.0, 0.0, 0.0]), upper=15.0, violation=(0.0,), finite_violation=5.0
    ),
    "negative multiplier": lambda c: replace(c, support=with_support(c, multiplier=-c.support[0].multiplier)),
    "multiplier that is nan": lambda c: replace(c, support=with_support(c, multiplier=np.nan)),
    "infinite multiplier": lambda c: replace(c, support=with_support(c, multiplier=np.inf)),
    "larger multiplier": lambda c: replace(c, support=heavier(c)),
    "point outside the domain": lambda c: replace(c, support=with_support(c, point=np.array([1.5]))),
    "point moved": lambda c: replace(c, support=with_support(c, point=0.99 * c.support[0].point + 0.001)),
    "point that is nan": lambda c: replace(c, support=with_support(c, point=np.array([np.nan]))),
    "no support": lambda c: replace(c, support=()),
    "no support in a region of no size": lambda c: replace(c, support=(), units=np.zeros(3)),
    "no support within no radius": lambda c: replace(c, support=(), radius=0.0),
    "larger multiplier, negative radius": lambda c: replace(c, support=heavier(c), radius=-1e6),
    "larger multiplier, tiny units": lambda c: replace(c, support=heavier(c), units=1e-12 * c.units, radius=10.0),
    "row multiplier that is nan": lambda c: replace(c, row_multipliers=np.array([np.nan])),
    "a certificate of nothing": lambda c: replace(c, kind="none"),
    "a certificate of something else": lambda c: replace(c, kind="infeasible"),
    "an unknown kind": lambda c: replace(c, kind="magic"),
}  # fmt: skip


@pytest.mark.parametrize("name", TAMPERED)
def test_tampered_certificates_are_rejected(solved: lsip.Solution, name: str) -> None:
    forged = TAMPERED[name](solved.certificate)
    with pytest.raises(ProofError):
        replace(solved, certificate=forged).verify()


def test_a_status_that_the_certificate_does_not_support_is_rejected(solved: lsip.Solution) -> None:
    early = tangent_problem().solve(verbose=False, max_iterations=1, polish=False, tol=1e-12)
    assert early.status is lsip.Status.ITERATION_LIMIT
    with pytest.raises(ProofError):
        replace(early, status=lsip.Status.OPTIMAL).verify()
    with pytest.raises(ProofError):
        replace(solved, status=lsip.Status.INFEASIBLE).verify()
    with pytest.raises(ProofError):
        replace(solved, status=lsip.Status.UNBOUNDED).verify()


def test_a_certificate_of_another_problem_is_rejected(solved: lsip.Solution) -> None:
    x, t = lsip.Variable(3, name="x"), lsip.Index("t", lsip.Interval(0, 1))
    harder = lsip.Problem(
        lsip.minimize(x[0] + x[1] / 2 + x[2] / 3),
        [lsip.forall(t, x[0] + x[1] * t + x[2] * t**2 >= np.tan(t) + 1e-3), x[0] + x[1] <= 10],
    )
    with pytest.raises(ProofError):
        replace(solved, model=harder).verify()


def infeasible_problem() -> lsip.Problem:
    x, t = lsip.Variable(2, name="x"), lsip.Index("t", lsip.Interval(0, 1))
    return lsip.Problem(lsip.minimize(x[0]), [lsip.forall(t, [x[0] + t * x[1] >= t**2, x[0] + t * x[1] <= t**2 - 0.1])])


TAMPERED_INFEASIBLE = {
    "negative multiplier": lambda c: replace(c, support=with_support(c, multiplier=-1.0)),
    "multiplier that is nan": lambda c: replace(c, support=with_support(c, multiplier=np.nan)),
    "infinite multiplier": lambda c: replace(c, support=with_support(c, multiplier=np.inf)),
    "no support": lambda c: replace(c, support=()),
    "one atom left out": lambda c: replace(c, support=c.support[1:]),
    "one atom left out, nearby only": lambda c: replace(c, support=c.support[1:], radius=0.0),
    "one atom left out, in a region of no size": lambda c: replace(c, support=c.support[1:], units=np.zeros(2)),
    "point outside the domain": lambda c: replace(c, support=with_support(c, point=np.array([3.0]))),
}


@pytest.mark.parametrize("name", TAMPERED_INFEASIBLE)
def test_tampered_proofs_of_infeasibility_are_rejected(name: str) -> None:
    solution = infeasible_problem().solve(verbose=False)
    assert solution.status is lsip.Status.INFEASIBLE
    solution.verify()
    with pytest.raises(ProofError):
        replace(solution, certificate=TAMPERED_INFEASIBLE[name](solution.certificate)).verify()


def test_a_feasible_problem_cannot_be_proven_infeasible() -> None:
    """One row with a negative right-hand side contradicts nothing, however near one looks."""
    x, t = lsip.Variable(1, name="x"), lsip.Index("t", lsip.Interval(1, 2))
    problem = lsip.Problem(lsip.maximize(x[0]), [lsip.forall(t, t * x[0] <= -1)])
    solution = problem.solve(verbose=False)
    assert_certified(problem, solution, TOL)
    for radius, units in ((0.0, np.ones(1)), (0.1, np.ones(1)), (np.inf, np.zeros(1)), (10.0, np.full(1, 1e-6))):
        forged = Certificate(
            "infeasible", solution.x, np.inf, np.inf, radius, (Support(0, 0, np.array([1.0]), 1.0),), units=units
        )
        with pytest.raises(ProofError):
            replace(solution, status=lsip.Status.INFEASIBLE, certificate=forged).verify()


def unbounded_problem() -> lsip.Problem:
    x, t = lsip.Variable(2, name="x"), lsip.Index("t", lsip.Interval(0, 1))
    return lsip.Problem(lsip.minimize(x[0] + x[1]), [lsip.forall(t, x[0] - t * x[1] <= 1), x[1] <= 5])


TAMPERED_UNBOUNDED = {
    "reversed": lambda c: replace(c, direction=-c.direction),
    "turned": lambda c: replace(c, direction=np.array([1.0, -2.0])),
    "nowhere": lambda c: replace(c, direction=np.zeros(2)),
    "missing": lambda c: replace(c, direction=None),
    "not a number": lambda c: replace(c, direction=np.full(2, np.nan)),
    "from an infeasible point": lambda c: replace(c, x=np.array([1e6, 0.0])),
    "from an infeasible point, admitted": lambda c: replace(c, x=np.array([1e6, 0.0]), violation=(1e6,)),
    "turned, with its drift": lambda c: replace(c, direction=np.array([1.0, -2.0]), drift=(3.0,)),
}


@pytest.mark.parametrize("name", TAMPERED_UNBOUNDED)
def test_tampered_proofs_of_unboundedness_are_rejected(name: str) -> None:
    solution = unbounded_problem().solve(verbose=False)
    assert solution.status is lsip.Status.UNBOUNDED
    solution.verify()
    with pytest.raises(ProofError):
        replace(solution, certificate=TAMPERED_UNBOUNDED[name](solution.certificate)).verify()


@pytest.mark.parametrize("size", [1.0, 1e-6, 1e-12, 1e-16])
def test_a_bounded_problem_cannot_be_proven_unbounded(solved: lsip.Solution, size: float) -> None:
    """A direction is no better for being short."""
    direction = -size * np.array([1.0, 0.5, 1 / 3])
    for drift in (0.0, 1e-12, 2.0):
        forged = replace(solved.certificate, kind="unbounded", direction=direction, drift=(drift,))
        with pytest.raises(ProofError):
            replace(solved, status=lsip.Status.UNBOUNDED, certificate=forged).verify()


# ---- stopping early, going on, saving -------------------------------------------------------------------------------


def assert_honest(problem: lsip.Problem, solution: lsip.Solution, value: float) -> None:
    """The bounds hold, and can be verified, whatever the status says."""
    slack = 1e-9 * (1 + abs(value))
    assert solution.lower <= value + slack
    assert solution.upper >= value - slack
    assert solution.lower <= solution.upper + slack
    solution.verify()
    program = problem.compile()
    if np.isfinite(solution.certificate.upper):
        assert_feasible(program, solution)
    if np.isfinite(solution.certificate.lower):
        assert solution.certificate.lower <= dual_bound(program, solution) + 1e-6 * (1 + abs(value))
    for row in solution.history:
        assert row.lower <= value + slack
        assert row.upper >= value - slack


@pytest.mark.parametrize("sense", ["minimise", "maximise"])
@pytest.mark.parametrize("iterations", [1, 2, 3, 5])
def test_stopping_at_a_number_of_iterations(iterations: int, sense: str) -> None:
    problem = tangent_problem()
    value = TANGENT
    if sense == "maximise":
        problem = lsip.Problem(lsip.maximize(-1 * problem.objective.expression), problem.constraints)
        value = -TANGENT
    solution = problem.solve(verbose=False, max_iterations=iterations, polish=False, tol=1e-11)
    assert solution.status is lsip.Status.ITERATION_LIMIT
    assert not solution.certified
    assert len(solution.history) == iterations
    assert_honest(problem, solution, value)


def test_stopping_at_a_time_limit() -> None:
    problem = tangent_problem()
    solution = problem.solve(verbose=False, time_limit=0.0, polish=False, tol=1e-11)
    assert solution.status is lsip.Status.TIME_LIMIT
    assert not solution.certified
    assert_honest(problem, solution, TANGENT)


@pytest.mark.parametrize("after", [1, 2, 4])
def test_a_callback_can_stop(after: int) -> None:
    problem, seen = tangent_problem(), []

    def callback(iterate: lsip.Iterate) -> bool:
        seen.append(iterate)
        return len(seen) == after

    solution = problem.solve(verbose=False, callback=callback, polish=False, tol=1e-11)
    assert solution.status is lsip.Status.INTERRUPTED
    assert len(seen) == len(solution.history) == after
    assert [s.iteration for s in seen] == list(range(1, after + 1))
    assert not solution.certified
    assert_honest(problem, solution, TANGENT)


@pytest.mark.parametrize("after", [1, 3])
def test_an_interrupt_returns_the_best_so_far(after: int) -> None:
    problem, seen = tangent_problem(), []

    def callback(iterate: lsip.Iterate) -> None:
        seen.append(iterate)
        if len(seen) == after:
            raise KeyboardInterrupt

    solution = problem.solve(verbose=False, callback=callback, polish=False, tol=1e-11)
    assert solution.status is lsip.Status.INTERRUPTED
    assert len(solution.history) == after
    assert_honest(problem, solution, TANGENT)


def test_other_exceptions_in_a_callback_are_not_swallowed() -> None:
    def callback(iterate: lsip.Iterate) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        tangent_problem().solve(verbose=False, callback=callback)


@settings(max_examples=12, phases=PLAIN)
@given(known_problems(), st.integers(1, 4))
def test_bounds_hold_at_every_iteration(known: Known, iterations: int) -> None:
    problem, value, _ = known.build()
    solution = problem.solve(verbose=False, max_iterations=iterations, polish=False)
    assert_honest(problem, solution, value)


def test_a_warm_start_needs_fewer_iterations() -> None:
    problem = tangent_problem()
    cold = problem.solve(verbose=False, polish=False)
    warm = problem.solve(verbose=False, polish=False, warm_start=cold)
    assert_certified(problem, warm, TOL)
    assert len(warm.history) < len(cold.history)
    assert warm.value == pytest.approx(cold.value, rel=2e-8)


def test_a_warm_start_goes_on_after_an_interrupt() -> None:
    problem = tangent_problem()
    stopped = problem.solve(verbose=False, max_iterations=2, polish=False)
    solution = problem.solve(verbose=False, warm_start=stopped)
    assert_certified(problem, solution, TOL)


def test_a_warm_start_from_a_similar_problem() -> None:
    x, t = lsip.Variable(3, name="x"), lsip.Index("t", lsip.Interval(0, 1))
    near = lsip.Problem(
        lsip.minimize(x[0] + x[1] / 2 + x[2] / 3),
        [lsip.forall(t, x[0] + x[1] * t + x[2] * t**2 >= 1.1 * np.tan(t)), x[0] + x[1] <= 10],
    )
    solution = near.solve(verbose=False, warm_start=tangent_problem().solve(verbose=False))
    assert_certified(near, solution, TOL)
    assert solution.value == pytest.approx(1.1 * TANGENT, rel=1e-7)


def test_a_warm_start_from_an_unrelated_problem_does_no_harm() -> None:
    z, y = lsip.Variable(name="z"), lsip.Index("y", lsip.Box([5, 5], [6, 6]))
    other = lsip.Problem(lsip.minimize(z), [lsip.forall(y, z >= y[0] * y[1])]).solve(verbose=False)
    problem = tangent_problem()
    assert_certified(problem, problem.solve(verbose=False, warm_start=other), TOL)


@pytest.mark.parametrize(
    "oracle", [None, lsip.oracles.RandomSearch(50), lsip.oracles.Grid(100), lsip.oracles.Multistart()], ids=repr
)
def test_the_same_seed_gives_the_same_solution(oracle: Any) -> None:
    def rows(solution: lsip.Solution) -> list[tuple[float, ...]]:
        return [(h.value, h.lower, h.upper, h.violation, h.bound, h.cuts, h.rows) for h in solution.history]

    often = lsip.Exchange(tuning=Tuning(first_bounds=1, tries=1))  # bounds on the way go by iterations

    def solved(seed: int) -> lsip.Solution:
        return tangent_problem().solve(verbose=False, oracle=oracle, seed=seed, method=often)

    first, second = solved(3), solved(3)
    np.testing.assert_array_equal(first.x, second.x)
    assert rows(first) == rows(second)
    assert first.status is second.status
    if isinstance(oracle, lsip.oracles.RandomSearch):
        assert rows(solved(4)) != rows(first)


def test_bounds_are_proven_on_the_way_without_a_time_limit() -> None:
    """The gap closes where people see it, row by row; what is proven when depends on iterations, and on no clock."""
    often = Tuning(first_bounds=1, tries=2)

    def rows(**options: Any) -> list[tuple[float, float, float]]:
        method = lsip.Exchange(tuning=often, polish=False, tol=1e-9, **options)
        solution = tangent_problem().solve(verbose=False, method=method)
        assert all(h.lower <= solution.upper and h.upper >= solution.lower for h in solution.history)
        return [(h.value, h.lower, h.upper) for h in solution.history]

    found = rows()
    assert len(found) > 3
    lower, upper = (next(i for i, row in enumerate(found) if np.isfinite(row[k])) for k in (1, 2))
    assert lower == 1  # shown with the iteration after the proof
    assert 2 <= upper < len(found) - 1
    assert all(a[1] <= b[1] for a, b in pairwise(found))
    assert all(a[2] >= b[2] for a, b in pairwise(found))
    assert rows() == found
    heard: list[float] = []
    rows(callback=lambda row: heard.append(row.upper))
    assert heard[:-1] == [row[2] for row in found][:-1]


@pytest.mark.parametrize(
    "oracle",
    [
        lsip.oracles.RandomSearch(200),
        lsip.oracles.Grid(200),
        lsip.oracles.Multistart(starts=4, sample=64),
        lsip.oracles.ProjectedSubgradient(iterations=50),
    ],
    ids=repr,
)
def test_oracles_that_prove_nothing_are_labelled_so(oracle: Any) -> None:
    problem = tangent_problem()
    solution = problem.solve(verbose=False, oracle=oracle, max_iterations=50)
    assert not solution.certified
    assert solution.status in (lsip.Status.UNCERTIFIED, lsip.Status.ITERATION_LIMIT, lsip.Status.STALLED)
    assert type(oracle).__name__ in solution.oracle
    assert_honest(problem, solution, TANGENT)


def test_the_exchange_can_be_stepped_through() -> None:
    iterates = list(lsip.exchange(tangent_problem(), lsip.Exchange(polish=False)))
    assert [i.iteration for i in iterates] == list(range(1, len(iterates) + 1))
    values = [i.lower for i in iterates if np.isfinite(i.lower)]
    assert values == sorted(values), "lower bounds only improve"
    assert all(i.lower <= TANGENT + 1e-9 for i in iterates)


def assert_same(a: lsip.Solution, b: lsip.Solution) -> None:
    assert a.status is b.status
    np.testing.assert_array_equal(a.x, b.x)
    np.testing.assert_array_equal([a.lower, a.upper, a.value, a.gap], [b.lower, b.upper, b.value, b.gap])
    assert (a.oracle, a.seconds, a.tol, a.max_violation) == (b.oracle, b.seconds, b.tol, b.max_violation)
    assert [str(p) for p in a.active] == [str(p) for p in b.active]
    assert [h.value for h in a.history] == [h.value for h in b.history]
    assert str(a) == str(b)


@pytest.mark.parametrize("build", [tangent_problem, infeasible_problem, unbounded_problem])
def test_solutions_can_be_saved_and_loaded(tmp_path: Path, build: Any) -> None:
    problem = build()
    solution = problem.solve(verbose=False)
    path = tmp_path / "solution.npz"
    solution.save(path)
    loaded = lsip.Solution.load(path, build())
    assert_same(solution, loaded)
    loaded.verify()
    assert [p.name for p in tmp_path.iterdir()] == ["solution.npz"], "nothing else is left behind"
    loaded.save(path)
    assert_same(solution, lsip.Solution.load(path, problem))


def test_a_loaded_solution_can_warm_start(tmp_path: Path) -> None:
    problem = tangent_problem()
    cold = problem.solve(verbose=False, polish=False)
    cold.save(tmp_path / "s.npz")
    warm = problem.solve(verbose=False, polish=False, warm_start=lsip.Solution.load(tmp_path / "s.npz", problem))
    assert len(warm.history) < len(cold.history)


def test_what_is_not_a_solution_is_not_loaded(tmp_path: Path, solved: lsip.Solution) -> None:
    path = tmp_path / "s.npz"
    with pytest.raises(ModelError, match=r"s\.npz"):
        lsip.Solution.load(path, tangent_problem())
    path.write_bytes(b"not an archive")
    with pytest.raises(ModelError, match=r"s\.npz"):
        lsip.Solution.load(path, tangent_problem())
    np.savez(path, x=np.zeros(3))
    with pytest.raises(ModelError, match=r"s\.npz"):
        lsip.Solution.load(path, tangent_problem())
    solved.save(path)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ModelError, match=r"s\.npz"):
        lsip.Solution.load(path, tangent_problem())
    path.write_bytes(whole)
    with pytest.raises(ModelError, match="3 variables"):
        lsip.Solution.load(path, infeasible_problem())


def test_a_loaded_certificate_is_checked_against_the_problem_it_is_loaded_for(tmp_path: Path) -> None:
    problem = tangent_problem()
    problem.solve(verbose=False).save(tmp_path / "s.npz")
    x, t = lsip.Variable(3, name="x"), lsip.Index("t", lsip.Interval(0, 1))
    other = lsip.Problem(
        lsip.minimize(x[0] + x[1] / 2 + x[2] / 3), [lsip.forall(t, t ** np.arange(3) @ x >= np.exp(t))]
    )
    with pytest.raises(ModelError, match="another model"):
        lsip.Solution.load(tmp_path / "s.npz", other)


def test_problems_without_indices_are_linear_programs() -> None:
    x = lsip.Variable(2, name="x", lower=0)
    problem = lsip.Problem(lsip.maximize(x[0] + 2 * x[1]), [x[0] + x[1] <= 4, x[0] + 3 * x[1] <= 6])
    solution = problem.solve(verbose=False)
    assert_certified(problem, solution, TOL)
    assert solution.value == pytest.approx(5.0, rel=1e-8)
    nothing = lsip.Problem(lsip.minimize(x[0]), [x[0] <= -1]).solve(verbose=False)
    assert nothing.status is lsip.Status.INFEASIBLE
    nothing.verify()
    free = lsip.Variable(name="z")
    endless = lsip.Problem(lsip.minimize(free), [free <= 1]).solve(verbose=False)
    assert endless.status is lsip.Status.UNBOUNDED
    endless.verify()


def test_a_constant_objective_and_rows_that_hardly_depend_on_the_index() -> None:
    x, t = lsip.Variable(name="x", lower=0, upper=2), lsip.Index("t", lsip.Interval(0, 1))
    problem = lsip.Problem(lsip.minimize(0 * x + 3), [lsip.forall(t, x >= 1 + 0 * t)])
    solution = problem.solve(verbose=False)
    assert_certified(problem, solution, TOL)
    assert solution.value == pytest.approx(3.0)
    assert as_expression(1.0).indices() == ()
