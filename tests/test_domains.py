"""Index sets: the promises shared by all of them, then what is particular to each."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lsip.domains import (
    Ball,
    Box,
    Budget,
    Domain,
    Ellipsoid,
    Finite,
    Intersection,
    Interval,
    Polytope,
    Product,
    Simplex,
    Union,
)
from lsip.errors import ModelError

from .extensions.domain_checks import check_domain

TRIANGLE = Polytope([[-1, 0], [0, -1], [1, 1]], [0, 0, 1])
FLAT = Polytope(np.vstack([-np.eye(3), np.ones((1, 3)), -np.ones((1, 3))]), [0, 0, 0, 1, -1])
EXAMPLES = [
    Interval(0, 1),
    Interval(-2, -2),
    Box([0, -1], [1, 3]),
    Box([0, 1, 2], [1, 1, 5]),
    Ball([1, 2], 0.5),
    Ball([0], 1),
    Ball([0, 0, 0], 2),
    Budget(1, 0.5),
    Budget(2, 1.5),
    Budget(3, 3),
    Budget(6, 1.1),
    Simplex(1),
    Simplex(2),
    Simplex(4),
    TRIANGLE,
    FLAT,
    Polytope([[1, 0], [-1, 0], [0, 1], [0, -1]], [1, -1, 2, -2]),
    Polytope([[1], [-2], [0]], [3, 4, 0]),
    Polytope(np.vstack([np.eye(7), -np.ones((1, 7))]), np.append(np.ones(7), 0.0)),
    Finite([0, 1, 4, 1]),
    Finite([[0, 0], [1, 2], [3, 1]]),
    Interval(0, 1) * Ball([0, 0], 1),
    Simplex(3) * Finite([1, 2]),
    Interval(0, 1) | Interval(0.5, 3),
    Interval(0, 1) | Finite([2, 3]),
    Box([0, 0], [1, 1]) | Ball([1, 1], 1) | TRIANGLE,
    (Interval(0, 1) | Finite([2, 3])) * Ball([5], 2),
    Ball([1e5, -1e5], 3),
    Ellipsoid([1, 2], [[2, 0.5], [0.5, 1]]),
    Ellipsoid([0, 0], [0.001, 100]),
    Ellipsoid([0, 0, 0], [[2, 0.5, 0], [0.5, 1, 0.1], [0, 0.1, 3]]),
    Ellipsoid([1e5, -1e5], [3, 1]),
    Polytope.from_vertices([[0.1, 0.2], [0.7, 0.3], [0.4, 0.9], [0.4, 0.4]]),
    Polytope.from_vertices([[0.1, 0.2, 0.3], [0.4, 0.5, 0.6], [0, 1, 0]]),
    Ball([0, 0], 1) & Box([0, 0], [1, 1]),
    Ball([0, 0], 1) & Ball([1, 0], 1) & Ball([0.5, 0.7], 1),
    Ball([0, 0], 1) & Polytope([[-1, 0], [0, -1], [1, 1]], [0, 0, 1.2]),
    Simplex(3) & Ball([0.33, 0.33, 0.33], 0.5),
    Ellipsoid([0, 0], [2, 1]) & Ellipsoid([0, 0], [1, 2]),
    Budget(3, 1.5) & Ball([0, 0, 0], 1.1),
]

numbers = st.floats(-5, 5, allow_nan=False).map(lambda v: round(v, 3))
widths = st.floats(0.05, 4).map(lambda v: round(v, 3))
seeds = st.integers(0, 2**32 - 1)


def _vector(elements: st.SearchStrategy[float], m: int) -> st.SearchStrategy[list[float]]:
    return st.lists(elements, min_size=m, max_size=m)


@st.composite
def polytopes(draw: st.DrawFn, m: int) -> Polytope:
    """A box around a point, cut by planes that leave that point inside."""
    centre = np.array(draw(_vector(numbers, m)))
    rng = np.random.default_rng(draw(seeds))
    cuts = rng.normal(size=(draw(st.integers(0, 4)), m))
    rows = np.vstack([np.eye(m), -np.eye(m), cuts])
    sides = rows @ centre + np.append(np.repeat(draw(widths), 2 * m), rng.uniform(0.05, 1, size=len(cuts)))
    return Polytope(rows, sides)


@st.composite
def ellipsoids(draw: st.DrawFn, m: int, centre: np.ndarray) -> Ellipsoid:
    """Half-axes of any of the widths, turned anyhow."""
    turn = np.linalg.qr(np.random.default_rng(draw(seeds)).normal(size=(m, m)))[0]
    shape = (turn * np.array(draw(_vector(widths, m))) ** 2) @ turn.T
    return Ellipsoid(centre, (shape + shape.T) / 2)


@st.composite
def simple_domains(draw: st.DrawFn, m: int) -> Domain:
    """A domain of dimension m that is neither a product nor a union."""
    lower = np.array(draw(_vector(numbers, m)))
    kinds: list[Callable[[], Domain]] = [
        lambda: Box(lower, lower + draw(_vector(widths, m))),
        lambda: Ball(lower, draw(widths)),
        lambda: Simplex(m),
        lambda: draw(polytopes(m)),
        lambda: draw(ellipsoids(m, lower)),
        lambda: Polytope.from_vertices(draw(st.lists(_vector(numbers, m), min_size=m + 1, max_size=8))),
        lambda: draw(ellipsoids(m, lower)) & Box(lower - draw(_vector(widths, m)), lower + draw(_vector(widths, m))),
        lambda: Finite(draw(st.lists(_vector(numbers, m), min_size=1, max_size=8))),
    ]
    if m == 1:
        kinds.append(lambda: Interval(lower[0], lower[0] + draw(widths)))
    return draw(st.sampled_from(kinds))()


@st.composite
def domains(draw: st.DrawFn) -> Domain:
    """Any domain, of dimension 1 to 4."""
    m = draw(st.integers(1, 3))
    kind = draw(st.sampled_from(["simple", "product", "union"]))
    first = draw(simple_domains(m))
    if kind == "product":
        return first * draw(simple_domains(1))
    if kind == "union":
        return first | draw(simple_domains(m))
    return first


@pytest.mark.parametrize("domain", EXAMPLES, ids=str)
def test_examples_keep_the_promises(domain: Domain) -> None:
    check_domain(domain)


@settings(max_examples=40, deadline=None)
@given(domains(), seeds)
def test_random_domains_keep_the_promises(domain: Domain, seed: int) -> None:
    check_domain(domain, seed)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 3).flatmap(lambda m: st.tuples(polytopes(m), _vector(st.floats(-20, 20), m))))
def test_projection_onto_a_polytope_satisfies_the_optimality_conditions(case: tuple[Polytope, list[float]]) -> None:
    from scipy.optimize import nnls

    polytope, point = case
    nearest = polytope.project(point)[0]
    active = polytope.b - polytope.A @ nearest <= 1e-9 * (1 + np.abs(polytope.b))
    assert polytope.contains(nearest, tol=1e-12).all()
    normals = np.vstack([polytope.A[active], np.zeros(polytope.dim)])  # never empty
    assert nnls(normals.T, point - nearest)[1] <= 1e-8, "what is left is a combination of active normals"


@given(st.integers(1, 3).flatmap(lambda m: st.tuples(_vector(numbers, m), _vector(widths, m), _vector(numbers, m))))
def test_a_box_contains_its_projections_exactly(case: tuple[list[float], list[float], list[float]]) -> None:
    lower, width, point = map(np.array, case)
    projected = Box(lower, lower + width).project(point)
    assert ((projected >= lower) & (projected <= lower + width)).all()


def test_points_come_as_one_many_or_numbers() -> None:
    assert Interval(0, 1).contains(0.5).tolist() == [True]
    assert Interval(0, 1).contains([0.5, 2]).tolist() == [True, False]
    assert Interval(0, 1).contains([[0.5], [2]]).tolist() == [True, False]
    assert Box([0, 0], [1, 1]).contains([0.5, 2]).tolist() == [False]
    assert Box([0, 0], [1, 1]).project([[0.5, 2], [3, -1]]).tolist() == [[0.5, 1], [1, 0]]
    with pytest.raises(ModelError, match=r"2 coordinates: expected shape \(2,\) or \(N, 2\); got \(3,\)"):
        Box([0, 0], [1, 1]).contains([1, 2, 3])
    with pytest.raises(ModelError, match="real numbers"):
        Interval(0, 1).contains("a")


def test_only_an_interval_has_a_scalar_index() -> None:
    assert Interval(0, 1).scalar
    assert not any(d.scalar for d in (Box([0], [1]), Ball([0], 1), Finite([1]), Interval(0, 1) * Interval(0, 1)))


def test_sizes_in_closed_form() -> None:
    assert Interval(1, 4).diameter == 3
    assert Box([0, 0], [3, 4]).diameter == 5
    assert Box([0, 0, 1], [3, 4, 1]).measure == (2, 12)
    assert Ball([0, 0], 2).measure == (2, pytest.approx(4 * np.pi))
    assert Simplex(3).measure == (2, pytest.approx(np.sqrt(3) / 2))
    assert Simplex(5).diameter == pytest.approx(np.sqrt(2))
    assert TRIANGLE.measure == (2, pytest.approx(0.5))
    assert TRIANGLE.diameter == pytest.approx(np.sqrt(2))
    assert FLAT.measure == (2, pytest.approx(np.sqrt(3) / 2))
    assert Finite([0, 3, 7]).diameter == 7
    assert Finite(np.arange(5000)).diameter == 4999
    assert (Interval(0, 3) * Interval(0, 4)).diameter == 5
    assert (Interval(0, 1) | Interval(4, 5)).diameter == 5
    assert (Interval(0, 1) * Ball([0, 0], 1)).measure == (3, pytest.approx(np.pi))


def test_a_polytope_knows_its_corners() -> None:
    assert sorted(TRIANGLE.vertices.round(12).tolist()) == [[0, 0], [0, 1], [1, 0]]
    assert sorted(FLAT.vertices.round(12).tolist()) == [[0, 0, 1], [0, 1, 0], [1, 0, 0]]
    cube = Polytope(np.vstack([np.eye(4), -np.eye(4)]), np.ones(8))
    assert sorted(cube.vertices.round(12).tolist()) == [list(v) for v in product([-1, 1], repeat=4)]
    assert cube.measure == (4, pytest.approx(16))


def test_the_hull_of_points_has_the_facets_of_the_hull() -> None:
    cube = Polytope.from_vertices([list(v) for v in product([0, 1], repeat=3)])
    assert sorted(map(tuple, np.column_stack([cube.A, cube.b]).tolist())) == sorted(
        tuple(row) for row in np.vstack([np.c_[np.eye(3), np.ones(3)], np.c_[-np.eye(3), np.zeros(3)]]).tolist()
    )
    points = np.random.default_rng(1).normal(size=(30, 3))
    hull = Polytope.from_vertices(points)
    for row, side in zip(hull.A, hull.b, strict=True):
        heights = [sum(Fraction(a) * Fraction(v) for a, v in zip(row, p, strict=True)) for p in points.tolist()]
        assert max(heights) <= Fraction(side), "no given point is left out, in rational numbers"
        assert float(Fraction(side) - max(heights)) <= 1e-15 * max(1.0, abs(side)), "and facets touch one"
    assert Polytope.from_vertices([[1, 2], [1, 2]]).measure == (0, 1.0)
    with pytest.raises(ModelError, match="`points` must be a matrix"):
        Polytope.from_vertices([1, 2])


def test_an_ellipsoid_is_a_stretched_ball() -> None:
    ellipse = Ellipsoid([1, 0], [2, 1])
    assert ellipse.measure == (2, pytest.approx(2 * np.pi))
    assert ellipse.diameter == 4
    assert ellipse.lower.tolist() == pytest.approx([-1, -1])
    y, top = ellipse.support([[3, 4]])
    assert top == pytest.approx(3 + np.sqrt(9 * 4 + 16))
    assert y[0] == pytest.approx([1 + 12 / np.sqrt(52), 4 / np.sqrt(52)])
    normal, curvature = ellipse.bend(np.array([[3.0, 0.0], [1.0, 1.0], [1.0, 0.0]]))
    assert curvature[:2] == pytest.approx([2, 0.25])  # a / b² and b / a²
    assert normal.tolist() == [[1, 0], [0, 1], [0, 0]]


def test_the_intersection_of_simple_sets_is_a_simple_set() -> None:
    assert Interval(0, 2) & Interval(1, 3) == Interval(1, 2)
    assert Box([0, 0], [2, 2]) & Box([1, 1], [3, 3]) == Box([1, 1], [2, 2])
    assert (Interval(0, 1) | Interval(2, 3)) & Interval(0.5, 2.5) == Interval(0.5, 1) | Interval(2, 2.5)
    assert Finite([[0, 0], [1, 1]]) & Ball([0, 0], 1) == Finite([[0, 0]])
    assert (Interval(0, 1) * Ball([0, 0], 1)) & Box([0, -2, -2], [0.5, 2, 2]) == Interval(0, 0.5) * (
        Ball([0, 0], 1) & Box([-2, -2], [2, 2])
    )
    assert isinstance(TRIANGLE & Box([0, 0], [0.5, 2]), Polytope)
    assert isinstance(Simplex(2) & Box([0.2, 0], [1, 1]), Polytope)
    ball = Ball([0, 0], 1)
    assert (ball & Box([0, 0], [1, 1])) & Ball([1, 0], 1) == Intersection(Box([0, 0], [1, 1]), ball, Ball([1, 0], 1))
    with pytest.raises(TypeError):
        ball & 3  # type: ignore[operator]


def test_the_support_of_an_intersection_is_proven_and_sharp() -> None:
    quarter = Ball(np.zeros(20), 2) & Box(np.zeros(20), np.full(20, 0.6))
    d = np.random.default_rng(0).normal(size=(50, 20))
    y, top = quarter.support(d)
    assert (top - (d * y).sum(axis=1)).max() <= 1e-12
    assert (np.linalg.norm(y, axis=1) <= 2 + 1e-12).all()


def test_a_flat_polytope_is_projected_onto_like_the_simplex() -> None:
    points = np.random.default_rng(0).normal(size=(50, 3))
    assert np.abs(FLAT.project(points) - Simplex(3).project(points)).max() <= 1e-12


def test_projection_from_far_away_keeps_its_digits() -> None:
    assert np.allclose(TRIANGLE.project([1e6, 1e6 + 0.5]), [[0.25, 0.75]], atol=1e-9)
    assert np.allclose(Simplex(3).project([1e8, 1e8, 0]), [[0.5, 0.5, 0]], atol=1e-15)


def test_grids_are_the_expected_points() -> None:
    assert Interval(0, 1).grid(1).tolist() == [[0.5]]
    assert Interval(0, 1).grid(3).ravel().tolist() == [0, 0.5, 1]
    assert Box([0, 0], [1, 2]).grid(2).tolist() == [[0, 0], [0, 2], [1, 0], [1, 2]]
    assert Box([0, 1], [1, 1]).grid(2).tolist() == [[0, 1], [1, 1]]
    assert Simplex(3).grid(2).tolist() == [[0, 0, 1], [0, 1, 0], [1, 0, 0]]
    assert len(Simplex(4).grid(6)) == 56
    assert Finite([3, 1, 2]).grid(100).ravel().tolist() == [3, 1, 2]
    assert Finite([0, 1, 5]).grid(1).tolist() == [[1]]
    assert len((Interval(0, 1) * Finite([0, 1])).grid(5)) == 10
    sphere = np.abs(np.linalg.norm(Ball([0, 0], 1).grid(9), axis=1) - 1) < 1e-12
    assert sphere.sum() >= 12, "a curved boundary is covered by projections"


def test_a_grid_that_cannot_fit_in_memory_is_refused() -> None:
    with pytest.raises(ModelError, match=r"more than 5e\+07; use fewer"):
        Box(np.zeros(8), np.ones(8)).grid(100)
    with pytest.raises(ModelError, match="more than"):
        (Box(np.zeros(3), np.ones(3)) * Box(np.zeros(3), np.ones(3))).grid(100)


def test_spread_points_leave_no_large_hole() -> None:
    gaps = np.diff(np.sort(Interval(0, 1).spread(100).ravel()), prepend=0, append=1)
    assert gaps.max() <= 2.7 / 100
    centre = Box([0, 0], [2, 4]).spread(1)
    assert centre.tolist() == [[1, 2]]
    everywhere = (Interval(0, 1) | Finite([5, 6])).spread(20)
    assert {5.0, 6.0} <= set(everywhere.ravel()), "members of lower dimension are not left out"
    assert Finite(np.arange(10)).spread(5).ravel().tolist() == [0, 2, 4, 6, 8]


def test_a_union_is_sampled_by_volume_with_overlaps_counted_once() -> None:
    overlap = (Interval(0, 1) | Interval(0.5, 2)).sample(20_000)
    assert np.mean(overlap < 1) == pytest.approx(0.5, abs=0.02)
    assert (Interval(0, 1) | Finite([7])).sample(1000).max() <= 1
    assert np.mean((Finite([0, 1]) | Finite([1, 2])).sample(20_000) == 1) == pytest.approx(1 / 3, abs=0.02)


def test_cells_of_finite_sets_are_points_and_multiply() -> None:
    (cell,) = (Finite([1, 2]) * Box([0, 0], [1, 1])).cells()
    assert cell.inside is None
    assert cell.lower.tolist() == [[1, 0, 0], [2, 0, 0]]
    assert cell.upper.tolist() == [[1, 1, 1], [2, 1, 1]]
    (cell,) = (Interval(0, 1) | Interval(2, 3) | Finite([4])).cells()
    assert cell.lower.ravel().tolist() == [0, 2, 4]
    assert len((Ball([0], 1) | Interval(2, 3) | Ball([5], 1)).cells()) == 3
    assert len(((Ball([0], 1) | Interval(2, 3)) * (Ball([0], 1) | Interval(2, 3))).cells()) == 4


def test_products_and_unions_are_flattened() -> None:
    a, b, c = Interval(0, 1), Ball([0, 0], 1), Simplex(2)
    assert (a * b) * c == a * (b * c) == Product(a, b, c)
    assert [part.shape for part in (a * b * c).split(np.zeros((5, 5)))] == [(5, 1), (5, 2), (5, 2)]
    assert (b | c) | b == Union(b, c)
    with pytest.raises(TypeError):
        a * 3  # type: ignore[operator]
    with pytest.raises(TypeError):
        a | 3  # type: ignore[operator]


def test_equality_is_by_value() -> None:
    assert Box([0, 0], [1, 1]) == Box([-0.0, 0], [1, 1.0])
    assert Box([0, 0], [1, 1]) != Box([0, 0], [1, 2])
    assert Interval(0, 1) != Box([0], [1])
    assert len(set(EXAMPLES + EXAMPLES)) == len(EXAMPLES)
    assert Polytope(TRIANGLE.A.copy(), TRIANGLE.b.copy()) == TRIANGLE


def test_a_domain_does_not_follow_its_arguments() -> None:
    lower = np.zeros(2)
    box = Box(lower, np.ones(2))
    lower[0] = 5
    assert box.lower[0] == 0


@pytest.mark.parametrize(
    ("domain", "text", "latex"),
    [
        (Interval(0, 1), "[0, 1]", "[0, 1]"),
        (Box([0, 0], [1, 1]), "[0, 1]²", "[0, 1]^{2}"),
        (Box([0, 0], [1, 2]), "[0, 1] × [0, 2]", r"[0, 1] \times [0, 2]"),
        (Ball([0, 1], 2), "B((0, 1), 2)", "B((0, 1), 2)"),
        (Simplex(3), "Δ²", r"\Delta^{2}"),
        (TRIANGLE, "{y ∈ ℝ² : A y ≤ b} (3 rows)", r"\{y \in \mathbb{R}^{2} : A y \le b\}"),
        (Finite([1, 2]), "{1, 2}", r"\{1, 2\}"),
        (Finite(np.arange(9)), "{0, …, 8} (9 points)", r"\{0, \dots, 8\}"),
        (Interval(0, 1) * Simplex(2), "[0, 1] × Δ¹", r"[0, 1] \times \Delta^{1}"),
        (Interval(0, 1) * Interval(0, 1), "[0, 1]²", "[0, 1]^{2}"),
        (
            (Interval(0, 1) | Interval(2, 3)) * Simplex(2),
            "([0, 1] ∪ [2, 3]) × Δ¹",
            r"([0, 1] \cup [2, 3]) \times \Delta^{1}",
        ),
    ],
)
def test_domains_read_like_mathematics(domain: Domain, text: str, latex: str) -> None:
    assert str(domain) == text
    assert domain.latex() == latex
    assert domain._repr_latex_() == f"${latex}$"


@pytest.mark.parametrize("domain", EXAMPLES, ids=str)
def test_repr_builds_the_domain_again(domain: Domain) -> None:
    assert eval(repr(domain)) == domain


def test_repr_of_a_large_domain_stays_short() -> None:
    assert repr(Finite(np.arange(1000))) == "Finite(<array of shape (1000, 1)>)"


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Interval(1, 0), "lower <= upper; got Interval\\(1, 0\\)"),
        (lambda: Interval(np.inf, np.inf), "lower <= upper"),
        (lambda: Ball([0, np.inf], 1), "must be finite, because index sets are bounded"),
        (lambda: Interval(0, np.inf).sample(3), r"\[0, ∞\) is unbounded: over it, lsip.forall takes formulas"),
        (lambda: Box([0, 0], [1, np.inf]).grid(3), "is unbounded"),
        (lambda: Interval("a", 1), "real numbers"),
        (lambda: Box(0, 1), "`lower` must be a vector"),
        (lambda: Box([0, 0], [1]), "one length; got 2 and 1"),
        (lambda: Box([0, 2], [1, 1]), "got 2 and 1 in coordinate 1"),
        (lambda: Ball([0, 0], 0), "positive radius; got 0"),
        (lambda: Ball([0, np.nan], 1), "finite"),
        (lambda: Simplex(0), "at least one coordinate"),
        (lambda: Simplex(1.5), "an integer"),
        (lambda: Finite([]), "`points` must be a matrix"),
        (lambda: Finite(3), "`points` must be a matrix"),
        (lambda: Polytope([[1, 0]], [1, 2]), "got 1 rows, 2"),
        (lambda: Polytope([[1, 0], [-1, 0]], [1, 1]), r"unbounded: y\[1\] has no bound"),
        (lambda: Polytope([[1], [-1]], [0, -1]), r"empty: of A y <= b, 1 × row 0 \+ 1 × row 1 says 0 <= -1"),
        (lambda: Polytope([[0, 0]], [-1]), "empty: row 0 of A y <= b says 0 <= -1"),
        (lambda: Polytope([[0, 0]], [1]), "unbounded: all rows"),
        (lambda: Polytope([[1, 1], [-1, -1]], [1, -1]), "unbounded"),
        (lambda: Polytope([[1, 0], [-1, 0], [0, 1]], [1, -1, 1]), "unbounded"),
        (lambda: Ellipsoid([0, 0], [[1, 0.5], [0.4, 1]]), "symmetric `shape`, \\(2, 2\\)"),
        (lambda: Ellipsoid([0, 0], [1, 1, 1]), "symmetric"),
        (lambda: Ellipsoid([0, 0], [[1, 2], [2, 1]]), r"positive definite `shape`; this one has .* \(-1, 3\)"),
        (lambda: Ellipsoid([0, 0], [[1, 1], [1, 1]]), "close to singular|positive definite"),
        (lambda: Interval(0, 1) & Interval(2, 3), r"\[0, 1\] ∩ \[2, 3\] is empty"),
        (lambda: Ball([0, 0], 1) & Ball([1.5, 1.5], 1), "is empty"),
        (lambda: Ball([0, 0], 1) & Box([0.8, 0.8], [1, 1]), "is empty"),
        (lambda: Finite([[2, 0]]) & Ball([0, 0], 1), "is empty"),
        (lambda: Ball([0, 0], 1) & Ball([2 + 1e-15, 0], 1), "is empty|floats cannot tell"),
        (lambda: Ball([0, 0], 1) & Interval(0, 1), "one dimension"),
        (lambda: Product(), "needs domains"),
        (lambda: Product(Interval(0, 1), 3), "needs domains"),
        (lambda: Union(), "needs domains"),
        (lambda: Union(Interval(0, 1), Simplex(2)), r"\[0, 1\] of dimension 1, Δ¹ of dimension 2"),
    ],
)
def test_meaningless_domains_are_refused(build: Callable[[], Domain], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        build()


@pytest.mark.parametrize("thickness", [1e-1, 1e-3, 1e-5])
@pytest.mark.parametrize("m", [2, 3, 5])
def test_thin_caps_have_sharp_bounds(m: int, thickness: float) -> None:
    """A plane that cuts little from a ball meets it at a small angle; the furthest points are known in closed form."""
    cap = Ball(np.zeros(m), 1) & Box([1 - thickness, *[-1.0] * (m - 1)], np.ones(m))
    d = np.random.default_rng(0).normal(size=(30, m))
    y, top = cap.support(d)
    low, edge = 1 - thickness, np.sqrt(1 - (1 - thickness) ** 2)
    across = np.linalg.norm(d[:, 1:], axis=1)
    length = np.hypot(d[:, 0], across)
    exact = np.where(d[:, 0] / length >= low, length, d[:, 0] * low + across * edge)
    size = float(np.linalg.norm(cap.upper - cap.lower))
    assert cap.contains(y, 1e-12).all()
    assert (top >= exact - 1e-15 * (1 + np.abs(exact))).all()
    assert (top - exact).max() <= 1e-9 * size
    assert (exact - (d * y).sum(axis=1)).max() <= 1e-8 * size
