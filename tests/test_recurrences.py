"""Recurrences of orthogonal polynomials: found as people write them, and enclosed in closed form."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from numpy.polynomial import chebyshev, legendre

import lsip
from lsip.expressions.chebyshev import ChebyshevSums
from lsip.expressions.graph import as_expression
from lsip.expressions.interval import Interval
from lsip.expressions.lanes import enclose_lanes, evaluate_lanes
from lsip.expressions.tape import Tape
from lsip.proof import checker

flint = pytest.importorskip("flint")
arb = flint.arb
T = lsip.Index("t", lsip.Interval(-1, 1))


@pytest.fixture(autouse=True)
def many_digits() -> Iterator[None]:
    with flint.ctx.workprec(1000):
        yield


def tape(e, *indices):
    return Tape((as_expression(e),), indices or (T,))


def closed(e, *indices) -> list[ChebyshevSums]:
    found = tape(e, *indices)
    return [found.nodes[i] for i, *_ in found.steps if isinstance(found.nodes[i], ChebyshevSums)]


def by_recurrence(u, n, one=1.0):
    found = [one * np.ones_like(u), u]
    while len(found) <= n:
        found.append(2 * u * found[-1] - found[-2])
    return np.stack(found)


def table(n: int, x: object) -> list[list[arb]]:
    """T_k and three derivatives for k up to n, by recurrences for each, to so many digits that they are exact here."""
    found = [[arb(v) for v in (1, 0, 0, 0)], [arb(v) for v in (x, 1, 0, 0)]]
    for k in range(1, n):
        before, now = found[k - 1 :]
        found.append([2 * (x * now[j] + (j * now[j - 1] if j else 0)) - before[j] for j in range(4)])
    return found


def inside(box: Interval, exact: list[arb]) -> None:
    for lo, hi, v in zip(box.lo.ravel().tolist(), box.hi.ravel().tolist(), exact, strict=True):
        assert lo <= v <= hi


def enclosed(node: ChebyshevSums, lower, upper, order: int) -> list[Interval]:
    """Derivatives up to that order over one box, or over a column of boxes."""
    with np.errstate(all="ignore"):
        return node._enclosed(
            Interval(*(np.reshape(np.asarray(e, dtype=float), (-1, 1)) for e in (lower, upper))), order
        )


# ---- enclosures ------------------------------------------------------------------------------------------------------

DEGREES = [0, 1, 2, 3, 4, 7, 20, 51, 100, 200]
CENTRES = [0.0, 1.0, -1.0, 0.5, 1 - 2.0**-53, -1 + 2.0**-40, 0.99999, -0.9, 0.3, 1e-300, 1 + 2.0**-52, -1.001, 1.5]


@pytest.mark.parametrize("width", [0.0, 1e-16, 1e-9, 1e-4, 1e-2, 0.3])
def test_values_and_derivatives_of_chebyshev_polynomials_are_enclosed(width):
    node = ChebyshevSums(T, np.eye(201)[DEGREES])
    rng = np.random.default_rng(0)
    for c in [*CENTRES, *rng.uniform(-1, 1, 4)]:
        found = enclosed(node, c - width, c + width, 3)
        for x in [c - width, c, c + width, c + width * rng.uniform(-1, 1)]:
            exact = table(200, arb(float(x)))
            for j in range(4):
                inside(found[j], [exact[k][j] for k in DEGREES])


def test_enclosures_are_sharp():
    """At points, to a few hundred units; over boxes, to a multiple of the next derivative."""
    node = ChebyshevSums(T, np.eye(101)[[100]])
    for c, sizes in ((0.3, [1e-12, 1e-8, 1e-4]), (1.0, [1e-12, 1e-8, 1e-4])):
        at = enclosed(node, c, c, 2)
        assert [float((b.hi - b.lo).max()) < s for b, s in zip(at, sizes, strict=True)] == [True] * 3
    box = enclosed(node, 0.3, 0.3001, 2)
    assert float((box[2].hi - box[2].lo).max()) < 1.5e-4 * 100**3


@pytest.mark.parametrize("seed", range(3))
def test_sums_in_other_units_are_enclosed(seed):
    rng = np.random.default_rng(seed)
    rows, centre, radius = rng.normal(size=(3, 31)), 3.0, 0.7
    node = ChebyshevSums(T, rows, centre, radius)
    width = 10.0 ** -rng.integers(0, 8, 20)[:, None]
    middle = centre + radius * rng.uniform(-1, 1, (20, 1)) * (1 - np.minimum(width, 1))
    found = enclosed(node, middle - width * radius, middle + width * radius, 3)
    for n in range(20):
        y = arb(float(middle[n, 0])) + arb(float(width[n, 0] * radius)) * float(rng.uniform(-0.99, 0.99))
        exact = table(30, (y - centre) / radius)
        for j in range(4):
            sums = [sum(arb(a) * v[j] for a, v in zip(row.tolist(), exact, strict=True)) for row in rows]
            inside(found[j][n : n + 1], [v / arb(radius) ** j for v in sums])


def test_nothing_is_known_of_arguments_without_bounds():
    node = ChebyshevSums(T, np.eye(9)[[8]])
    for ends in ((-np.inf, np.inf), (np.nan, np.nan), (0.0, np.inf)):
        box = enclosed(node, *ends, 0)[0]
        assert not (box.lo > -np.inf and box.hi < np.inf)


def test_values_beyond_the_ends_follow_the_formula():
    y = np.array([[-1.5], [0.2], [1.2]])
    node = tape(by_recurrence(T, 20))
    assert node.values(y) == pytest.approx(chebyshev.chebvander(y[:, 0], 20), rel=1e-11)


# ---- what is recognised ----------------------------------------------------------------------------------------------


def spelled(step, n=16, first=1.0):
    def build(u):
        found = [first, u]
        for k in range(1, n):
            found.append(step(u, found[-1], found[-2], k))
        return np.stack([v + 0 * u for v in found])

    return build


SPELLINGS = {
    "2 u a - b": spelled(lambda u, a, b, k: 2 * u * a - b),
    "2 (u a) - b": spelled(lambda u, a, b, k: 2 * (u * a) - b),
    "a (2 u) - b": spelled(lambda u, a, b, k: a * (2 * u) - b),
    "-b + u a 2": spelled(lambda u, a, b, k: -b + u * a * 2),
    "(u + u) a - b": spelled(lambda u, a, b, k: (u + u) * a - b),
    "-(b - 2 u a)": spelled(lambda u, a, b, k: -(b - 2 * u * a)),
    "an array of ones": lambda u: by_recurrence(u, 16),
    "T_0 = 0 u + 1": lambda u: np.stack(list(chebyshev.chebvander(u, 16)[0])),
    "a square": lambda u: np.stack([*by_recurrence(u, 1), *by_squares(u, 16)]),
    "halving the degree": lambda u: lsip.bases.chebyshev(u, 16),
    "cos k arccos": lambda u: np.cos(np.arange(17) * np.arccos(u)),
    "cos k arccos, one by one": lambda u: np.stack([np.cos(k * np.arccos(u)) for k in range(17)]),
}


def by_squares(u, n):
    found = [u, 2 * u**2 - 1]
    while len(found) < n:
        found.append(2 * u * found[-1] - found[-2])
    return found[1:]


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("domain", [(-1, 1), (-1, 2), (0.1, 0.7)])
def test_spellings_of_chebyshev_polynomials(spelling, domain):
    a, b = domain
    s = lsip.Index("s", lsip.Interval(a, b))
    u = s if domain == (-1, 1) else (2 * s - (a + b)) / (b - a)
    if "arccos" in spelling and domain == (0.1, 0.7):
        pytest.skip("2 s - 0.8 over 0.6 leaves [-1, 1], by rounding, where no arccosine is defined")
    e = SPELLINGS[spelling](u)
    assert len(closed(e, s)) == 1, closed(e, s)
    y = np.linspace(a, b, 7)
    x = y if domain == (-1, 1) else (2 * y - (a + b)) / (b - a)
    expected = chebyshev.chebvander(np.clip(x, -1, 1), 16)
    ready = tape(e, s)
    assert ready.values(y[:, None]) == pytest.approx(expected, abs=1e-12)
    box = ready.enclose(y[:, None], y[:, None])
    assert ((box.lo <= expected + 1e-13) & (expected - 1e-13 <= box.hi)).all()
    assert (box.hi - box.lo).max() < 1e-11


OTHERS = {
    "Legendre": (spelled(lambda u, a, b, k: ((2 * k + 1) * u * a - k * b) / (k + 1)), legendre.legvander),
    "Legendre in weights": (
        spelled(lambda u, a, b, k: (2 * k + 1) / (k + 1) * u * a - k / (k + 1) * b),
        legendre.legvander,
    ),
    "NumPy's sums": (
        lambda u: np.stack([chebyshev.chebval(u, row) for row in np.eye(17)]),
        chebyshev.chebvander,
    ),
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_recurrences(name):
    build, expected = OTHERS[name]
    e = build(T)
    assert len(closed(e)) == 1
    y = np.linspace(-1, 1, 9)
    ready = tape(e)
    assert ready.values(y[:, None]) == pytest.approx(expected(y, 16), abs=1e-12)
    box = ready.enclose(y[:, None], y[:, None])
    assert ((box.lo <= expected(y, 16) + 1e-12) & (expected(y, 16) - 1e-12 <= box.hi)).all()
    assert (box.hi - box.lo).max() < 1e-11


def test_every_element_of_a_vector_has_its_own_polynomials():
    y = lsip.Index("y", lsip.Box([-1, 0], [1, 1]))
    e = by_recurrence(2 * y - y, 12, np.ones(2))
    ready = tape(e, y)
    assert len(closed(e, y)) == 1
    points = np.array([[-0.5, 0.25], [1.0, 0.75]])
    assert ready.values(points).reshape(2, 13, 2) == pytest.approx(np.moveaxis(chebyshev.chebvander(points, 12), 1, 2))
    gradient = ready.derivatives(points)[1].reshape(2, 2, 13, 2)
    assert not gradient[0, :, :, 1].any()
    assert not gradient[1, :, :, 0].any()
    assert gradient[1, 0, 12, 1] == pytest.approx(chebyshev.chebval(0.25, chebyshev.chebder(np.eye(13)[12])))


UNTOUCHED = {
    "low degrees": lambda t: by_recurrence(t, 5),
    "Horner's rule": lambda t: (((((((((t + 1) * t + 2) * t + 3) * t) + 4) * t + 5) * t + 6) * t + 7) * t + 8) * t + 9,
    "powers": lambda t: t ** np.arange(20),
    "a product": lambda t: (1 - t**2) ** 8 * t + 1,
    "an arccosine that is not defined everywhere": lambda t: np.cos(3 * np.arccos(1.5 * t)),
    "a cosine of half the angle": lambda t: np.cos(0.5 * np.arccos(t)),
    "two arguments": lambda t: 2 * t * by_recurrence(np.exp(t), 3)[2] - t,
    "no bounds": lambda t: by_recurrence(1 / t, 12),
}


@pytest.mark.parametrize("name", UNTOUCHED)
def test_what_is_no_recurrence_stays(name):
    assert not closed(UNTOUCHED[name](T))


def test_polynomials_that_are_steep_at_an_end_keep_their_digits():
    """T_23 is four millions at 1.25: sums that suit all of the index set would lose as much near 0."""
    s = lsip.Index("s", lsip.Interval(-1, 1.25))
    ready = tape(by_recurrence(s, 23), s)
    assert ready.values(np.array([[0.140625]])) == pytest.approx(chebyshev.chebvander([0.140625], 23), abs=1e-11)


def test_sums_of_clenshaw_have_as_many_terms_as_variables():
    """NumPy's chebval of variables, c = p + 2 t c, over and over."""
    x, h = lsip.Variable(31, name="x"), lsip.Variable(name="h")
    for val, index in ((chebyshev.chebval, T), (legendre.legval, T)):
        e = val(index, x)
        assert len(e.terms) < 2 * x.size
        residual = e - np.abs(index)
        problem = lsip.Problem(lsip.minimize(h), [lsip.forall(index, [residual <= h, -residual <= h])])
        assert problem.solve(verbose=False, time_limit=20).certified


def test_a_recurrence_is_not_printed_in_full():
    """T_60 has a billion operands."""
    a, b = T, 1.0
    for _ in range(60):
        a, b = 2 * T * a - b, a
    assert len(str(a)) < 20_000
    assert str(a).count("…") >= 1


def test_sums_of_variables_and_recurrences():
    """sum(x[k] T[k]), in place of a product of vectors."""
    basis, found = [1.0, T], lsip.Variable(41, name="x")
    while len(basis) < 41:
        basis.append(2 * T * basis[-1] - basis[-2])
    h = lsip.Variable(name="h")
    residual = sum(found[k] * basis[k] for k in range(41)) - np.exp(T) * np.abs(T)
    problem = lsip.Problem(lsip.minimize(h), [lsip.forall(T, [residual <= h, -residual <= h])])
    assert problem.solve(verbose=False, time_limit=20).certified


def test_the_formula_prints_as_it_was_written():
    assert str(by_recurrence(T, 2)) == "(1, t, 2 t t - 1)"
    ready = tape(by_recurrence(T, 12))
    assert not any(isinstance(node, ChebyshevSums) for _, node, _ in ready.written.steps())


def test_cells_in_other_coordinates():
    """The coordinates of a ball are functions of a distance and an angle; recurrences in them are closed too."""
    y = lsip.Index("y", lsip.Ball([0, 0], 1))
    x, h = lsip.Variable(11, name="x"), lsip.Variable(name="h")
    residual = by_recurrence(y[0], 10) @ x - np.exp(y[0] + 0 * y[1])
    problem = lsip.Problem(lsip.minimize(h), [lsip.forall(y, [residual <= h, -residual <= h])])
    solution = problem.solve(tol=1e-4, atol=1e-8, verbose=False, time_limit=20)
    assert solution.certified


def test_lanes_agree_with_the_whole():
    ready = tape(by_recurrence(T, 12))
    y = np.array([[0.3], [-0.7]])
    lanes = np.array([[12, 1], [0, 5]])
    whole, box = ready.values(y), ready.enclose(y, y)
    assert evaluate_lanes(ready, y, lanes, 2)[0] == pytest.approx(np.take_along_axis(whole, lanes, axis=1))
    part = enclose_lanes(ready, y, y, lanes)
    assert (part.lo == np.take_along_axis(box.lo, lanes, axis=1)).all()


# ---- solutions -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("basis", [by_recurrence, lambda u, n: np.cos(np.arange(n + 1) * np.arccos(u))])
def test_fits_of_high_degree_are_certified(basis):
    t = lsip.Index("t", lsip.Interval(-1, 2))
    x, h = lsip.Variable(31, name="x"), lsip.Variable(name="h")
    residual = basis((2 * t - 1) / 3, 30) @ x - np.abs(t)
    problem = lsip.Problem(lsip.minimize(h), [lsip.forall(t, [residual <= h, -residual <= h])])
    solution = problem.solve(verbose=False, time_limit=20)
    assert solution.certified
    assert solution.value == pytest.approx(0.013532105, rel=1e-7)


def test_proofs_are_about_the_recurrence_itself(tmp_path):
    """The checker, which knows nothing of closed forms, proves the chain of products as it was written."""
    x, h = lsip.Variable(13, name="x"), lsip.Variable(name="h")
    residual = by_recurrence(T, 12) @ x - np.abs(T)
    solution = lsip.Problem(lsip.minimize(h), [lsip.forall(T, [residual <= h, -residual <= h])]).solve(verbose=False)
    solution.export(tmp_path / "proof.json")
    assert checker.main([str(tmp_path / "proof.json")]) == 0
