"""Quadratic rows over a ball: bounds by the S-lemma hold, and are attained."""

from fractions import Fraction

import numpy as np
import pytest

import lsip
from lsip.oracles.s_lemma import SLemma, _about, _largest

KINDS = ("any", "form", "negative", "plane", "sphere", "constant", "hard")


def case(kind, rng):
    """A quadratic v + d y + y H y, and a ball."""
    m = int(rng.integers(1, 7))
    centre, radius = rng.standard_normal(m), float(rng.uniform(0.1, 3))
    G = rng.standard_normal((m, m))
    H, d, v = (G + G.T) / 2, rng.standard_normal(m), float(rng.standard_normal())
    if kind in ("form", "negative"):
        d[:] = centre[:] = 0
    if kind == "negative":
        H, v = -G @ G.T - 0.1 * np.eye(m), 0.0
        H = (H + H.T) / 2
    if kind == "sphere":
        H = np.eye(m)
    if kind in ("plane", "constant"):
        H[:] = 0
    if kind == "constant":
        d[:] = 0
    if kind == "hard":  # nothing of d along the last eigenvector
        centre[:] = 0
        last = np.linalg.eigh(H)[1][:, -1]
        d -= last * (last @ d)
    return v, d, H, lsip.Ball(centre, radius)


def polynomial(v, d, H):
    """The same in rational numbers, by powers."""
    m, row = len(d), {}
    unit = np.eye(m, dtype=int)
    terms = [((0,) * m, v), *((tuple(unit[i]), d[i]) for i in range(m))]
    terms += [(tuple(unit[i] + unit[j]), H[i, j]) for i in range(m) for j in range(m)]
    for powers, a in terms:
        powers = tuple(int(power) for power in powers)
        row[powers] = row.get(powers, Fraction(0)) + Fraction(float(a))
    return row


def exactly(row, y):
    return sum((a * np.prod([u**k for u, k in zip(y, powers, strict=True)]) for powers, a in row.items()), Fraction(0))


@pytest.mark.parametrize("kind", KINDS)
def test_bounds_hold_in_exact_arithmetic_and_are_attained(kind):
    rng = np.random.default_rng(KINDS.index(kind))
    for _ in range(15):
        v, d, H, ball = case(kind, rng)
        row = polynomial(v, d, H)
        top, ends = _largest(*_about(row, ball, len(d)))
        directions = rng.standard_normal((6, len(d)))
        inside = [*ends, *directions, *(0.3 * directions)]
        found = []
        for z in inside:
            z = z / max(np.linalg.norm(z) * (1 + 1e-15), 1.0)
            if sum(Fraction(float(u)) ** 2 for u in z) <= 1:
                y = [
                    Fraction(float(c)) + Fraction(ball.radius) * Fraction(float(u))
                    for c, u in zip(ball.centre, z, strict=True)
                ]
                found.append(exactly(row, y))
        assert max(found) <= Fraction(top)
        size = abs(v) + np.abs(d).sum() + np.abs(H).sum() * (ball.radius + np.abs(ball.centre).max()) ** 2
        assert top - float(max(found)) <= 1e-11 * size
        if kind == "negative":
            assert top == 0.0  # exactly, so that rows which vanish at the centre are proven


def forms(n, seed=1):
    """The least largest value of a form over the unit ball, as rows and as a matrix."""
    rng = np.random.default_rng(seed)
    M = rng.standard_normal((6, n, n))
    M = (M + M.transpose(0, 2, 1)) / 2
    x, e, y = (
        lsip.Variable(5, name="x", lower=-1, upper=1),
        lsip.Variable(name="e"),
        lsip.Index("y", lsip.Ball([0.0] * n, 1)),
    )
    form = [sum(A[i, j] * y[i] * y[j] for i in range(n) for j in range(n)) for A in M]
    rows = lsip.forall(y, form[0] + sum(x[k] * form[k + 1] for k in range(5)) <= e)
    matrix = lsip.psd(e * np.eye(n) - M[0] - sum(x[k] * M[k + 1] for k in range(5)))
    return lsip.Problem(lsip.minimize(e), [rows]), lsip.Problem(lsip.minimize(e), [matrix, e >= 0])


@pytest.mark.parametrize("n", [3, 8])
def test_forms_over_balls_agree_with_the_matrix(n):
    rows, matrix = forms(n)
    solution, other = rows.solve(verbose=False), matrix.solve(verbose=False)
    assert solution.certified
    assert solution.verify().certified
    assert solution.lower <= other.upper
    assert other.lower <= solution.upper


def test_other_rows_and_other_sets_are_left_to_boxes():
    x, y = lsip.Variable(2, name="x"), lsip.Index("y", lsip.Ball([0.0, 0.0], 1))
    cube = lsip.Index("y", lsip.Box([-1.0, -1.0], [1.0, 1.0]))
    for index, row in ((y, x[0] * y[0] ** 3), (y, x[0] * np.exp(y[0])), (cube, x[0] * cube[0] ** 2)):
        family = lsip.Problem(lsip.minimize(x[1]), [lsip.forall(index, row <= x[1])]).compile().families[0]
        assert SLemma.of(family, family.domain) is None
