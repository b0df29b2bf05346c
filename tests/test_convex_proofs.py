"""Certificates of convex models, judged in ball arithmetic of 300 bits that shares no code with the proofs."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import lsip
from lsip.cones import ConeRows, Exponential, Power, SecondOrder, Semidefinite
from lsip.proof.dual_repair import _least_norm
from lsip.proof.primal import broken_rows

cp = pytest.importorskip("cvxpy")
flint = pytest.importorskip("flint")

from lsip.interop.cvxpy import Index, Problem, forall  # noqa: E402

arb = flint.arb
T = Index("t", lsip.Interval(0, 1))


@pytest.fixture(autouse=True)
def precision():
    before = flint.ctx.prec
    flint.ctx.prec = 300
    yield
    flint.ctx.prec = before


# ---- models whose rows are known in ball arithmetic ------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Known:
    """sum_k x_k cos(speed_k t + phase_k) <= unit (level + cos(5 t) / 4) for all t, and a convex finite part."""

    problem: Any
    x: Any
    speed: np.ndarray
    phase: np.ndarray
    level: float
    unit: float

    def row(self, t: float) -> tuple[list[arb], arb]:
        """Coefficients of the elements of x, and the right-hand side."""
        pairs = zip(self.speed, self.phase, strict=True)
        a = [(arb(float(s)) * arb(t) + arb(float(p))).cos() for s, p in pairs]
        return a, arb(self.unit) * (arb(self.level) + (arb(5) * arb(t)).cos() * arb(0.25))


def known(kind: str, seed: int, unit: float, rows: float) -> Known:
    """A random model; variables are measured in `unit`s, and the finite rows are multiplied by `rows`."""
    rng = np.random.default_rng(seed)
    n = 3 if kind == "psd" else int(rng.integers(2, 5))
    x, target = cp.Variable(n, name="x"), unit * rng.normal(size=n)
    speed, phase, level = rng.uniform(1, 5, n), rng.uniform(0, 6, n), float(rng.uniform(0.4, 1))
    finite: list[Any] = [rows * cp.norm(x) <= rows * 8 * unit]
    if kind == "norm":
        objective = cp.norm(x - target) / unit
    elif kind == "squares":
        objective = cp.sum_squares((x - target) / unit)
        finite.append(rows * cp.sum(x) == rows * 0.25 * unit)
    elif kind == "exp":
        objective = cp.log_sum_exp((target - x) / unit) + cp.norm1(x / unit) / 8
    elif kind == "entropy":
        objective = -cp.sum(cp.entr(x / unit + 3)) + cp.sum(x - target) / unit
    elif kind == "power":
        objective = cp.sum(cp.power(cp.abs(x - target) / unit, 2.5, approx=False))
    else:
        objective = cp.lambda_max(cp.bmat([[x[0], x[1]], [x[1], x[2]]]) / unit) - x[0] / (2 * unit)
    above = forall(T, np.cos(speed * T + phase) @ x <= unit * (level + np.cos(5 * T) / 4))
    return Known(Problem(cp.Minimize(objective), [above, *finite]), x, speed, phase, level, unit)


# ---- the judge -------------------------------------------------------------------------------------------------------


def balls(values: Any) -> list[arb]:
    return [arb(float(v)) for v in np.ravel(values)]


def dot(a: Any, b: Any) -> arb:
    return sum((p * q for p, q in zip(a, b, strict=True)), arb(0))


def semidefinite(s: list[arb], order: int) -> bool:
    """Elimination with pivots that are certainly positive."""
    m = [[arb(0)] * order for _ in range(order)]
    for value, (column, row) in zip(s, zip(*np.tril_indices(order), strict=True), strict=True):
        m[row][column] = m[column][row] = value if row == column else value / arb(2).sqrt()
    for k in range(order):
        if not m[k][k] > 0:
            return False
        for i in range(k + 1, order):
            factor = m[i][k] / m[k][k]
            m[i] = [m[i][j] - factor * m[k][j] for j in range(order)]
    return True


def in_cone(cone: Any, s: list[arb], dual: bool) -> bool:
    if isinstance(cone, SecondOrder):
        return bool(s[0] >= sum((v * v for v in s[1:]), arb(0)).sqrt())
    if isinstance(cone, Semidefinite):
        return semidefinite(s, cone.order)
    if isinstance(cone, Exponential):
        if dual:
            return bool(s[0] < 0) and bool(-s[0] * (s[1] / s[0] - 1).exp() <= s[2])
        return bool(s[1] > 0) and bool(s[1] * (s[0] / s[1]).exp() <= s[2])
    assert isinstance(cone, Power)
    total = sum(balls(cone.exponents), arb(0))
    a = [v / total for v in balls(cone.exponents)]
    terms = [u / v if dual else u for u, v in zip(s, a, strict=False)]
    return all(bool(u > 0) for u in terms) and bool(dot(a, [u.log() for u in terms]) >= abs(s[-1]).log())


def cones_hold(program: Any, s: list[arb], dual: bool) -> bool:
    start = 0
    for cone in program.cones.cones:
        if not in_cone(cone, s[start : start + cone.size], dual):
            return False
        start += cone.size
    return True


def feasible_point(program: Any, certificate: Any) -> list[arb]:
    """An exact solution of the equalities within the box: the one that moves in proportion to it."""
    x = balls(certificate.x)
    empty = ~program.A.toarray().any(axis=1) & (program.row_upper == 0)  # 0 = 0
    equal = np.flatnonzero((program.row_lower == program.row_upper) & ~empty)
    if not len(equal):
        assert not certificate.box.any()
        return x
    A = [balls(row) for row in program.A[equal].toarray()]
    left = [arb(float(program.row_upper[i])) - dot(a, x) for i, a in zip(equal, A, strict=True)]
    if not certificate.box.any():  # the point itself is said to be one
        exact = [Fraction(float(v)) for v in certificate.x]
        for i in equal:
            row = zip(program.A[[i]].toarray()[0], exact, strict=True)
            assert sum(Fraction(float(a)) * v for a, v in row) == Fraction(float(program.row_upper[i]))
        return x
    box = balls(certificate.box)
    square = flint.arb_mat([[dot([p * w for p, w in zip(a, box, strict=True)], b) for b in A] for a in A])
    u = square.solve(flint.arb_mat([[v] for v in left]))
    moves = [w * dot([a[j] for a in A], [u[i, 0] for i in range(len(A))]) for j, w in enumerate(box)]
    assert all(bool(abs(m) <= w) or (m.is_zero() and w.is_zero()) for m, w in zip(moves, box, strict=True))
    return [v + m for v, m in zip(x, moves, strict=True)]


def judge_primal(model: Known, solution: Any) -> None:
    program, certificate = solution.program, solution.certificate
    x = feasible_point(program, certificate)
    for j, v in enumerate(x):
        assert bool(v >= arb(program.lower[j])) or np.isinf(program.lower[j]) or v.is_zero()
        assert bool(v <= arb(program.upper[j])) or np.isinf(program.upper[j]) or v.is_zero()
    for i in np.flatnonzero(program.row_lower < program.row_upper):
        assert dot(balls(program.A[[i]].toarray()), x) <= arb(float(program.row_upper[i]))
    slack = [
        arb(float(b)) - dot(balls(row), x) for b, row in zip(program.cones.b, program.cones.A.toarray(), strict=True)
    ]
    assert cones_hold(program, slack, dual=False)
    place = program.families[0].columns[0]
    for t in np.linspace(0, 1, 257):
        a, b = model.row(float(t))
        assert dot(a, [x[j] for j in place]) <= b
    assert dot(balls(program.c), x) + arb(program.constant) <= arb(certificate.upper)


def judge_dual(model: Known, solution: Any) -> None:
    """Multipliers that balance exactly, next to those of the certificate, prove the lower bound."""
    program, certificate = solution.program, solution.certificate
    place = program.families[0].columns[0]
    rows, sides = [], []
    for s in certificate.support:
        a, b = model.row(float(s.point[0]))
        row = [arb(0)] * program.n
        for j, v in zip(place, a, strict=True):
            row[j] = row[j] + v
        rows.append(row)
        sides.append(b)
    rows += [balls(row) for row in (*program.A.toarray(), *program.cones.A.toarray())]
    sides += balls([*program.row_upper, *program.cones.b])
    weights = balls([*(s.multiplier for s in certificate.support), *certificate.row_multipliers])
    basis, columns = certificate.basis.tolist(), certificate.balanced.tolist()
    if basis:
        left = [arb(float(program.c[j])) + dot(weights, [row[j] for row in rows]) for j in columns]
        block = flint.arb_mat([[rows[i][j] for i in basis] for j in columns])
        step = block.solve(flint.arb_mat([[-v] for v in left]))
        for k, i in enumerate(basis):
            weights[i] = weights[i] + step[k, 0]
    k, r = len(certificate.support), program.A.shape[0]
    equal = program.row_lower == program.row_upper
    assert all(bool(w >= 0) for w in weights[:k])
    assert all(bool(w >= 0) for w, e in zip(weights[k : k + r], equal, strict=True) if not e)
    assert cones_hold(program, weights[k + r :], dual=True)
    lower, upper = balls(program.lower), balls(program.upper)
    for i in np.flatnonzero((np.diff(program.A.indptr) == 1) & ~equal):  # rows that say how large one variable may be
        j, entry = program.A.indices[program.A.indptr[i]], arb(float(program.A.data[program.A.indptr[i]]))
        bound = arb(float(program.row_upper[i])) / entry
        if bool(entry > 0) and bool(bound < upper[j]):
            upper[j] = bound
        elif bool(entry < 0) and bool(bound > lower[j]):
            lower[j] = bound
    value = arb(program.constant) - dot(weights, sides)
    for j in range(program.n):
        left = arb(float(program.c[j])) + dot(weights, [row[j] for row in rows])
        if j in columns or left.is_zero():
            assert left.contains(0)
            continue
        assert bool(left > 0) or bool(left < 0)
        bound = lower[j] if bool(left > 0) else upper[j]
        assert bound.is_finite()
        value += left * bound
    assert value >= arb(certificate.lower)


# ---- the cases -------------------------------------------------------------------------------------------------------

KINDS = ("norm", "squares", "exp", "entropy", "power", "psd")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("seed", "unit", "rows"), [(0, 1.0, 1.0), (1, 1.0, 1e-12), (2, 1e9, 1e6), (3, 1e-9, 1.0)])
def test_certificates_hold_in_ball_arithmetic(kind, seed, unit, rows):
    model = known(kind, seed, unit, rows)
    solution = model.problem.solve()
    assert solution.status is lsip.Status.OPTIMAL, solution.message
    assert solution.certified
    assert solution.certificate.assumptions == ()
    solution.verify()
    judge_primal(model, solution)
    judge_dual(model, solution)


# ---- numbers that are out of range -----------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("size", [5e-324, 1e-310, 1e300])
def test_tiny_and_huge_rows_are_no_crash(size):
    z = cp.Variable(2, name="z")
    for objective in (cp.Minimize(cp.sum(z)), cp.Minimize(size * z[0]), cp.Minimize(cp.sum_squares(z))):
        for finite in ([size * cp.norm(z - 3) <= size], [cp.norm(size * z) <= size]):
            Problem(objective, [*finite, forall(T, z[0] >= T - 1)]).solve(time_limit=20)


def test_a_combination_that_is_no_number_has_no_correction():
    room, target = np.ones(2), np.ones(2)
    for entry in (np.inf, np.nan):
        assert _least_norm(np.array([[1.0, 0.0], [entry, 1.0]]), room, target) is None
        assert _least_norm(np.eye(2), room, np.array([1.0, entry])) is None


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_a_point_that_is_no_number_keeps_no_row(value):
    rows = np.array([[1.0, -1.0], [0.0, 1.0]])
    program = lsip.Program.from_arrays([1, 1], rows, [1.0, 1.0], bounds=(None, None))
    with np.errstate(all="ignore"):
        assert list(broken_rows(program, np.array([value, 0.0]), None)) == [0]
        cones = ConeRows(sparse.csr_matrix(rows), np.zeros(2), (SecondOrder(2),))
        assert cones.unproven(np.array([value, 0.0])) == 1
