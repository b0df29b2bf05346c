"""Robust counterparts: one finite program, and the same proof as any other answer has."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import lsip
from lsip import Counterpart, Exchange, Index, Problem, ProofError, Rule, Variable, forall, maximize, minimize
from lsip.domains.lifted import lifted
from lsip.proof.dual import Dual
from lsip.proof.dual_bound_tightening import confined
from lsip.reductions.robust_counterpart import counterpart
from lsip.solution.verify import verify

SETS: dict[str, Any] = {
    "box": lambda: lsip.Box([-1, 0, -0.5], [1, 2, 0.5]),
    "budget": lambda: lsip.Budget(3, 1.5),
    "simplex": lambda: lsip.Simplex(3),
    "polytope": lambda: lsip.Polytope(np.vstack([np.eye(3), -np.eye(3), np.ones((1, 3))]), [1, 1, 1, 0, 0, 0, 1.5]),
    "finite": lambda: lsip.Finite([[0, 0, 1.0], [1, 0, 0], [0, 1, 0.5], [-1, -1, 0]]),
    "ball": lambda: lsip.Ball([0, 0.5, 0], 1.0),
    "ellipsoid": lambda: lsip.Ellipsoid([0, 0, 0], [1, 0.5, 2]),
    "product": lambda: lsip.Interval(-1, 1) * lsip.Ball([0, 0], 1.0),
    "intersection": lambda: lsip.Ball([0, 0, 0], 1.0) & lsip.Box([-0.5] * 3, [0.7] * 3),
    "union": lambda: lsip.Box([-1, 0, 0], [0, 1, 1]) | lsip.Ball([1, 0, 0], 0.5),
}


def program(domain: lsip.Domain, seed: int = 0) -> Problem:
    """Nonnegative variables with coefficients that move with the index, in two rows."""
    rng = np.random.default_rng(seed)
    x, y = Variable(4, name="x", lower=0), Index("y", domain)
    rows = (3 + rng.uniform(-1, 1, (2, 4)) + rng.uniform(-0.8, 0.8, (2, 4, domain.dim)) @ y) @ x <= [1.0, 2.0]
    return Problem(maximize(rng.uniform(0.5, 1.5, 4) @ x), [forall(y, rows), x.sum() <= 5])


@pytest.mark.parametrize("name", SETS)
def test_the_value_of_an_exchange(name: str) -> None:
    problem = program(SETS[name]())
    found, other = (problem.solve(method=m, verbose=False) for m in (Counterpart(), Exchange()))
    assert found.certified
    assert other.certified
    assert len(found.history) == 1
    assert found.value == pytest.approx(other.value, rel=2e-8)
    assert found.lower <= other.upper
    assert other.lower <= found.upper
    found.verify()
    assert {a.constraint for a in found.active}
    assert sum(a.multiplier for a in found.active) > 0


@pytest.mark.parametrize("name", SETS)
def test_sets_are_described_as_they_are(name: str) -> None:
    """Support functions by the description, which a linear or cone program finds, and by the set itself."""
    domain = SETS[name]()
    parts = lifted(domain)
    assert len(parts) == (2 if name == "union" else 1)
    members = domain.members if name == "union" else (domain,)
    for part, member in zip(parts, members, strict=True):
        assert part.corners or member.contains((part.place @ part.centre + part.origin)[None])[0]
        slack = part.sides - part.rows @ part.centre
        assert (np.abs(slack[part.equal]) <= 1e-9).all()
        assert (slack[~part.equal] > 0).all()
        assert (part.centre[: part.size - sum(part.cones)] > 0).all()
    height, y = Variable(name="h"), Index("y", domain)
    for d in np.random.default_rng(1).normal(size=(4, domain.dim)):
        solution = Problem(minimize(height), [forall(y, height >= d @ y)]).solve(method=Counterpart(), verbose=False)
        assert solution.value == pytest.approx(float(domain.support(d[None])[1][0]), rel=1e-7, abs=1e-7)


def stores(count: int) -> tuple[Problem, Rule, Variable]:
    """Stocks at stores, and transports between them that follow the demand."""
    place = 10 * np.random.RandomState(0).rand(2, count)
    cost = np.hypot(place[0][:, None] - place[0], place[1][:, None] - place[1])
    rows = np.vstack([np.eye(count), -np.eye(count), np.ones((1, count))])
    z = Index("z", lsip.Polytope(rows, np.r_[np.ones(count), np.zeros(count), np.sqrt(count)]))
    stock, spent = Variable(count, name="stock", lower=0, upper=20), Variable(name="spent")
    move = Rule((count, count), of=z, name="move")
    limits = [(cost * move).sum() <= spent, 20 * z <= move.sum(axis=0) - move.sum(axis=1) + stock, move >= 0]
    return Problem(minimize(20 * stock.sum() + spent), [forall(z, limits)]), move, spent


@pytest.mark.parametrize("count", [3, 5])
def test_rules_of_many_coefficients_are_proven(count: int) -> None:
    problem, move, _ = stores(count)
    found = problem.solve(method=Counterpart(tol=1e-7), verbose=False)
    assert found.certified
    assert found.certificate.confined
    assert len(found.history) == 1
    found.verify()
    other = problem.solve(method=Exchange(oracle="support", tol=1e-6), verbose=False, warm_start=None)
    assert other.certified
    assert found.value == pytest.approx(other.value, rel=2e-6)
    demand = problem.constraints[0].indices[0].domain.sample(200)
    assert (found[move](demand) >= -1e-9).all()


def confinement(problem: Problem, tol: float = 1e-6) -> tuple[Any, Any, Any]:
    """A program in equilibrated units, the proof of its solution, and rows with the bounds that this proves."""
    from lsip.reductions.chain import forward, reduce

    solution = problem.solve(method=Counterpart(tol=tol), verbose=False)
    inner = reduce(solution.program)
    proof = forward(inner, solution.certificate)
    bounded = confined(inner, Dual(proof.support, proof.row_multipliers), proof.x, None, proof.upper)
    return inner, proof, bounded


def test_no_point_that_is_as_good_lies_outside() -> None:
    """Along every variable, the farthest feasible point that is no worse is within the bounds that are proven."""
    problem, *_ = stores(3)
    inner, proof, bounded = confinement(problem)
    assert bounded is not None
    low, high = bounded.bounds
    finite = counterpart(inner)
    from scipy import sparse

    from lsip.masters.checked import linear_program

    A = sparse.csr_matrix(sparse.vstack([finite.A, sparse.csr_array(finite.c[None, :])]))
    sides = np.append(finite.row_lower, -np.inf), np.append(finite.row_upper, proof.upper - inner.constant)
    reached = 0
    for j in range(inner.n):
        for sign in (1.0, -1.0):
            c = np.zeros(A.shape[1])
            c[j] = -sign
            found = linear_program(c, np.maximum(finite.lower, -1e7), np.minimum(finite.upper, 1e7), A, *sides)
            assert found is not None
            if abs(found[j]) < 1e6:  # others are not bounded, in truth
                reached += 1
                assert low[j] - 1e-6 <= found[j] <= high[j] + 1e-6
            else:
                assert np.isinf(high[j] if sign > 0 else low[j])
    assert reached > inner.n


def test_multipliers_that_are_not_inside_confine_nothing() -> None:
    """At the ends of index sets, slacks say nothing of slopes on both sides."""
    problem, *_ = stores(3)
    inner, proof, _ = confinement(problem)
    moved = tuple(replace(s, point=np.round(s.point)) for s in proof.support)
    assert confined(inner, Dual(moved, proof.row_multipliers), proof.x, None, proof.upper) is None


def test_a_forged_bound_is_refused() -> None:
    problem, *_ = stores(3)
    solution = problem.solve(method=Counterpart(tol=1e-6), verbose=False)
    proof = solution.certificate
    wrong = replace(proof, lower=proof.lower + 0.9 * (proof.upper - proof.lower))
    with pytest.raises(ProofError, match="exceeds what the multipliers prove"):
        verify(solution.program, wrong, solution.status, 1e-6)
    with pytest.raises(ProofError):
        verify(solution.program, replace(proof, confined=False), solution.status, 1e-6)
    few = replace(proof, support=proof.support[1:])
    with pytest.raises(ProofError):
        verify(solution.program, few, solution.status, 1e-6)


def test_an_unbounded_variable_that_rounding_meets_is_not_confined() -> None:
    """min x over x >= z - 1e-13 v, with v free: the multipliers seem to balance, and there is no minimum."""
    x, v = Variable(name="x"), Variable(name="v")
    z = Index("z", lsip.Box([-1, -1, -1], [1, 1, 1]))
    problem = Problem(minimize(x), [forall(z, x + 1e-13 * v >= z[0])])
    solution = problem.solve(method=Counterpart(), verbose=False)
    assert not (solution.certified and solution.status is lsip.Status.OPTIMAL)


def test_saved_and_loaded(tmp_path: Any) -> None:
    problem, *_ = stores(3)
    solution = problem.solve(method=Counterpart(), verbose=False)
    solution.save(tmp_path / "s.npz")
    assert lsip.Solution.load(tmp_path / "s.npz", problem).certificate.confined
    with pytest.raises(lsip.ModelError, match="confines the variables"):
        solution.export(tmp_path / "p.json")


def test_infeasible_and_unbounded_models_are_left_to_the_exchange() -> None:
    x, z = Variable(2, name="x"), Index("z", lsip.Box([0, 0], [1, 1]))
    none = Problem(minimize(x[0]), [forall(z, [x[0] >= z[0], x[0] <= 0.5 - z[1]])])
    assert none.solve(method=Counterpart(), verbose=False).status is lsip.Status.INFEASIBLE
    endless = Problem(minimize(x[0]), [forall(z, x[0] <= z[0])])
    assert endless.solve(method=Counterpart(), verbose=False).status is lsip.Status.UNBOUNDED


def test_what_has_no_counterpart_is_named() -> None:
    x, t = Variable(name="x"), Index("t", lsip.Interval(0, 1))
    curved = Problem(minimize(x), [forall(t, x >= t * (1 - t))])
    with pytest.raises(lsip.ModelError, match=r"x ≥ t .* is not affine in the index"):
        curved.solve(method=Counterpart(), verbose=False)
    y = Index("y", lsip.Box([-1, -1], [1, 1]).where(lambda y: y[0] ** 2 <= y[1]))
    cut = Problem(minimize(x), [forall(y, x >= y[0])])
    with pytest.raises(lsip.ModelError, match="is not known to be convex"):
        cut.solve(method=Counterpart(), verbose=False)


def test_a_counterpart_is_chosen_for_many_coefficients() -> None:
    problem, *_ = stores(5)
    assert len(problem.solve(tol=1e-6, verbose=False).history) == 1
    small, *_ = stores(2)
    assert small.compile().n < 30
    assert small.solve(tol=1e-6, verbose=False).cuts
    named = Exchange(oracle="support", tol=1e-4)
    assert len(problem.solve(method=named, verbose=False, warm_start=None).history) > 1
    assert len(problem.solve(method=Exchange(tol=1e-4), verbose=False, warm_start=None).history) == 1


def test_units_do_not_matter() -> None:
    rng = np.random.default_rng(3)
    values = []
    for size in (1.0, 1e6, 1e-6):
        x, z = Variable(4, name="x", lower=0), Index("z", lsip.Box([-1] * 3, [1] * 3))
        rng = np.random.default_rng(3)
        rows = (3 + rng.uniform(-1, 1, (2, 4)) + rng.uniform(-0.8, 0.8, (2, 4, 3)) @ z) @ (size * x) <= size
        solution = Problem(maximize(x.sum() / size), [forall(z, rows)]).solve(method=Counterpart(), verbose=False)
        assert solution.certified
        values.append(solution.value * size)
    np.testing.assert_allclose(values, values[0], rtol=1e-7)


def test_unbounded_with_an_equality():
    x, z = lsip.Variable(2, name="x"), lsip.Index("z", lsip.Box([0, 0, 0], [1, 1, 1]))
    rows = [x[0] + x[1] == 0, lsip.forall(z, x[0] * z[0] <= z[1] + 1)]
    solution = lsip.Problem(lsip.minimize(x[0]), rows).solve(method=lsip.Counterpart(), verbose=False)
    assert solution.status is lsip.Status.UNBOUNDED


@pytest.mark.parametrize("periods", [6, 12, 24])
def test_rules_that_no_coefficients_make_feasible_are_proven_so_at_once(periods: int) -> None:
    """Demand that the capacity cannot follow: the multipliers of the least violation contradict each other."""
    z, worst = Index("z", lsip.Box([-1] * periods, [1] * periods)), Variable(name="worst")
    make = [Rule(3, of=z[:t], name=f"make{t}") for t in range(periods)]
    wave, stock, rows = 1 + 0.5 * np.sin(np.pi * np.arange(periods) / 12), 500.0, []
    for t in range(periods):
        stock = stock + make[t].sum() - 1000 * wave[t] * (1 + 0.2 * z[t])
        rows += [make[t] >= 0, make[t] <= 467, stock >= 500, stock <= 2000]
    problem = Problem(minimize(worst), [forall(z, [*rows, sum(m.sum() for m in make) <= worst])])
    solution = problem.solve(method=Counterpart(), verbose=False)
    assert solution.status is lsip.Status.INFEASIBLE
    assert solution.certified
    solution.verify()
    assert not solution.history  # no exchange was needed


def test_a_small_optimum_is_reached_to_the_gap_that_was_asked_for() -> None:
    """A gap is relative to the value also where that is far from 1; what is left to an exchange takes long."""
    n, i = 150, np.arange(1, 151)
    mean, spread = 1.15 + i * 0.05 / 150, 0.05 / 450 * np.sqrt(2 * i * n * (n + 1))
    down, x, k = Index("down", lsip.Box([0] * n, [1] * n)), Variable(n, name="x", lower=0), Variable(name="k", lower=0)
    rows = [forall(down, (mean - spread * down) @ x >= 1.17 - k * down.sum()), x.sum() == 1]
    solution = Problem(minimize(k), rows).solve(method=Counterpart(tol=1e-6), verbose=False)
    assert solution.certified
    assert solution.gap <= 1e-6
    assert len(solution.history) == 1
    assert solution.value == pytest.approx(0.0011582806228486206, rel=2e-6)  # of the counterpart's own linear program


def test_what_a_counterpart_proves_is_kept_by_the_exchange_after_it() -> None:
    """Rules over a simplex, whose coefficients are not unique: bounds do not fall behind those of the first step."""
    y, worst = Index("y", lsip.Simplex(4)), Variable(name="worst")
    rule = Rule(3, of=y, name="rule")
    rows = [rule >= np.array([[1, 2, 3, 4], [2, 0, 1, 0], [0, 1, 0, 3.0]]) @ y, rule.sum() <= worst]
    solution = Problem(minimize(worst), [forall(y, rows)]).solve(method=Counterpart(), verbose=False)
    assert solution.certified
    uppers = [h.upper for h in solution.history]
    assert all(a >= b - 1e-12 for a, b in pairwise(uppers))
    assert solution.value == pytest.approx(7.0, abs=1e-6)


@pytest.mark.parametrize("integer", [False, True])
@pytest.mark.parametrize("bounded", [False, True])
def test_a_program_without_an_index_is_its_own_counterpart(integer: bool, bounded: bool) -> None:
    x = lsip.Variable(2, name="x", lower=0, upper=3, integer=integer)
    rows = [x[0] + x[1] <= 4] if bounded else []
    found = lsip.Problem(lsip.maximize(x.sum()), rows).solve(method=lsip.Counterpart(), verbose=False)
    assert found.certified
    assert found.value == pytest.approx(4 if bounded else 6, rel=1e-7)
