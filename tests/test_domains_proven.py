"""What domains prove, judged by rational arithmetic: bounding boxes, cells, maxima of d · y, witnesses, emptiness."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from math import isqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import lsip
from lsip.domains import Ball, Box, Budget, Domain, Ellipsoid, Finite, Interval, Polytope, Product, Simplex, Union
from lsip.domains.furthest import furthest
from lsip.domains.proven import add_down, add_up, dot_bounds, sum_bounds
from lsip.domains.rational import as_form, deepest
from lsip.errors import ModelError

from .exact import eliminated
from .extensions.domain_checks import _may_meet

Array = NDArray[np.float64]
Point = list[Fraction]
Row = tuple[Point, Fraction]  # a · y <= b

seeds = st.integers(0, 2**32 - 1)
exponents = st.integers(-12, 12)
ZERO = Fraction(0)


def exact(values: Array) -> Point:
    return [Fraction(float(v)) for v in values]


def dot(a: Point, b: Point) -> Fraction:
    return sum((x * y for x, y in zip(a, b, strict=True)), ZERO)


# The sets themselves, in rational arithmetic.


def feasible(rows: list[Row]) -> bool:
    """Whether a · y <= b has a solution: Fourier and Motzkin's elimination."""
    for _ in range(len(rows[0][0])):
        up = [r for r in rows if r[0][-1] > 0]
        down = [r for r in rows if r[0][-1] < 0]
        rest = [(a[:-1], b) for a, b in rows if a[-1] == 0]
        for (a, b), (c, d) in ((p, q) for p in up for q in down):
            combined = [x / a[-1] - y / c[-1] for x, y in zip(a[:-1], c[:-1], strict=True)]
            rest.append((combined, b / a[-1] - d / c[-1]))
        rows = [*{(tuple(a), b): (a, b) for a, b in rest}.values()]
        if not rows:
            return True
    return all(b >= 0 for _, b in rows)


def inequalities(domain: Polytope) -> list[Row]:
    return [(exact(a), Fraction(float(b))) for a, b in zip(domain.A, domain.b, strict=True)]


def nearest_to_zero(a: Fraction, b: Fraction) -> Fraction:
    return max(a, -b, ZERO)


def meets(domain: Domain, lower: Point, upper: Point) -> bool:
    """Whether the box has a point of the domain."""
    box = list(zip(lower, upper, strict=True))
    match domain:
        case Interval() | Box():
            return all(
                max(a, c) <= min(b, d)
                for (a, b), c, d in zip(box, exact(domain.lower), exact(domain.upper), strict=True)
            )
        case Finite():
            return any(all(a <= v <= b for (a, b), v in zip(box, exact(p), strict=True)) for p in domain.points)
        case Ball():
            offsets = [nearest_to_zero(a - c, b - c) for (a, b), c in zip(box, exact(domain.centre), strict=True)]
            return dot(offsets, offsets) <= Fraction(domain.radius) ** 2
        case Simplex():
            least, most = sum(max(a, ZERO) for a in lower), sum(min(b, Fraction(1)) for b in upper)
            return least <= 1 <= most and all(b >= 0 and a <= 1 for a, b in box)
        case Budget():
            sizes = [nearest_to_zero(a, b) for a, b in box]
            return max(sizes) <= 1 and sum(sizes) <= Fraction(domain.budget)
        case Polytope():
            return meets_polytope(inequalities(domain), box)
        case Product():
            ends = np.cumsum([0] + [f.dim for f in domain.factors])
            parts = zip(domain.factors, ends, ends[1:], strict=False)
            return all(meets(f, lower[i:j], upper[i:j]) for f, i, j in parts)
        case Union():
            return any(meets(d, lower, upper) for d in domain.members)
        case _:
            raise NotImplementedError(type(domain))


def meets_polytope(rows: list[Row], box: list[tuple[Fraction, Fraction]]) -> bool:
    """Coordinates without width are put in; for the others there must be a solution."""
    wide = [j for j, (a, b) in enumerate(box) if a < b]
    point = [a if a == b else ZERO for a, b in box]
    reduced = [([a[j] for j in wide], b - dot(a, point)) for a, b in rows]
    if not wide:
        return all(b >= 0 for _, b in reduced)
    for k, j in enumerate(wide):
        unit = [Fraction(int(i == k)) for i in range(len(wide))]
        reduced += [(unit, box[j][1]), ([-u for u in unit], -box[j][0])]
    return feasible(reduced)


def corners(domain: Polytope) -> list[Point]:
    rows = inequalities(domain)
    found = (eliminated(*map(list, zip(*chosen, strict=True))) for chosen in combinations(rows, domain.dim))
    return [p for p in found if p is not None and all(dot(a, p) <= b for a, b in rows)]


def root_below(value: Fraction) -> Fraction:
    """The square root, rounded down at the hundredth digit or so."""
    shift = max(0, 700 - value.numerator.bit_length() + value.denominator.bit_length())
    shift += shift % 2
    return Fraction(isqrt((value.numerator << shift) // value.denominator), 1 << shift // 2)


def supremum(domain: Domain, d: Point) -> Fraction:
    """The largest d · y over the domain; a hair less for a ball, whose maximum is irrational."""
    match domain:
        case Interval() | Box():
            return sum(
                (max(u * a, u * b) for u, a, b in zip(d, exact(domain.lower), exact(domain.upper), strict=True)), ZERO
            )
        case Finite():
            return max(dot(d, exact(p)) for p in domain.points)
        case Ball():
            return dot(d, exact(domain.centre)) + Fraction(domain.radius) * root_below(dot(d, d))
        case Simplex():
            return max(d)
        case Budget():
            left, total = Fraction(domain.budget), ZERO
            for size in sorted(map(abs, d), reverse=True):
                total += size * min(left, Fraction(1))
                left = max(left - 1, ZERO)
            return total
        case Polytope():
            return max(dot(d, p) for p in corners(domain))
        case Product():
            ends = np.cumsum([0] + [f.dim for f in domain.factors])
            return sum((supremum(f, d[i:j]) for f, i, j in zip(domain.factors, ends, ends[1:], strict=False)), ZERO)
        case Union():
            return max(supremum(member, d) for member in domain.members)
        case _:
            raise NotImplementedError(type(domain))


def members(domain: Domain, rng: np.random.Generator) -> list[Point]:
    """Some points of the domain that need not be floats, extreme ones among them."""
    match domain:
        case Interval() | Box():
            return [exact(domain.lower), exact(domain.upper)]
        case Finite():
            return [exact(p) for p in domain.points]
        case Ball():
            ends = []
            for j in range(domain.dim):
                for sign in (-1, 1):
                    end = exact(domain.centre)
                    end[j] += sign * Fraction(domain.radius)
                    ends.append(end)
            return ends + [on_sphere(domain, rng) for _ in range(3)]
        case Simplex():
            weights = [exact(rng.random(domain.dim)) for _ in range(3)]
            return [[w / sum(row) for w in row] for row in weights] + [exact(e) for e in np.eye(domain.dim)]
        case Budget():
            weights = [exact(rng.normal(size=domain.dim)) for _ in range(3)]
            gauges = [max(max(map(abs, row)), sum(map(abs, row)) / Fraction(domain.budget)) for row in weights]
            return [[w / gauge for w in row] for row, gauge in zip(weights, gauges, strict=True)]
        case Polytope():
            ends = corners(domain)
            weights = exact(rng.random(len(ends)))
            return [*ends, [dot(weights, list(column)) / sum(weights) for column in zip(*ends, strict=True)]]
        case Product():
            parts = [members(f, rng) for f in domain.factors]
            return [[v for part in parts for v in part[k % len(part)]] for k in range(max(map(len, parts)))]
        case Union():
            return [p for member in domain.members for p in members(member, rng)]
        case _:
            raise NotImplementedError(type(domain))


def on_sphere(ball: Ball, rng: np.random.Generator) -> Point:
    """A rational point of the sphere: stereographic projection of a rational one."""
    t = exact(rng.normal(size=ball.dim - 1))
    square = dot(t, t)
    unit = [2 * v / (1 + square) for v in t] + [(square - 1) / (1 + square)]
    return [c + Fraction(ball.radius) * u for c, u in zip(exact(ball.centre), unit, strict=True)]


# Random domains: from 1e-12 to 1e12 in size, some far from the origin.


def polytope(m: int, rng: np.random.Generator, size: float, offset: float) -> Polytope:
    """A box cut by planes that leave its centre inside; rows in units of their own."""
    centre = offset * rng.normal(size=m)
    cuts = rng.normal(size=(int(rng.integers(0, 4)), m))
    rows = np.vstack([np.eye(m), -np.eye(m), cuts])
    sides = rows @ centre + size * np.append(np.ones(2 * m), rng.uniform(0.05, 1, size=len(cuts)))
    units = 10.0 ** rng.integers(-12, 13, len(rows))
    return Polytope(rows * units[:, None], sides * units)


def flat_polytope(m: int, rng: np.random.Generator, size: float) -> Polytope:
    """A box around 0, cut by planes near it and one or more through it, each plane as two opposite inequalities."""
    planes = rng.normal(size=(int(rng.integers(1, m + 1)), m)).round(int(rng.integers(1, 17)))
    planes[np.abs(planes).max(axis=1) == 0] = 1.0
    rows = np.vstack([np.eye(m), -np.eye(m), planes, -planes])
    level = size * rng.uniform(-0.5, 0.5, len(planes)) * np.abs(planes).max(axis=1) * (len(planes) == 1)
    return Polytope(rows, np.concatenate([np.full(2 * m, size), level, -level]))


def simple(m: int, rng: np.random.Generator, size: float, offset: float) -> Domain:
    centre = offset * rng.normal(size=m)
    kinds = [
        lambda: Box(centre, centre + size * rng.random(m)),
        lambda: Ball(centre, size * rng.uniform(0.1, 1)),
        lambda: Ball(np.zeros(m), size * rng.uniform(0.1, 1)),
        lambda: Simplex(m),
        lambda: Budget(m, min(size, m * rng.uniform(0.01, 1))),
        lambda: Finite(centre + size * rng.normal(size=(5, m))),
        lambda: polytope(m, rng, size, offset),
        lambda: polytope(m, rng, size, 0.0),
        lambda: flat_polytope(m, rng, size),
    ]
    if m == 1:
        kinds.append(lambda: Interval(centre[0], centre[0] + size))
    return kinds[rng.integers(len(kinds))]()


@st.composite
def cases(draw: st.DrawFn) -> tuple[Domain, np.random.Generator]:
    rng = np.random.default_rng(draw(seeds))
    m, size, offset = draw(st.integers(1, 3)), 10.0 ** draw(exponents), 10.0 ** draw(exponents)
    if offset > 1e6 * size:  # or there are no floats left to tell its points apart
        offset = 1e6 * size
    first = simple(m, rng, size, offset)
    kind = draw(st.sampled_from(["simple", "simple", "product", "union"]))
    if kind == "product":
        return first * simple(1, rng, size, offset), rng
    if kind == "union":
        return first | simple(m, rng, size, offset), rng
    return first, rng


def queries(domain: Domain, rng: np.random.Generator) -> Array:
    """Points inside, on the boundary, ulps and more away from it, and far away."""
    width = np.maximum(domain.upper - domain.lower, 1e-3 * float((domain.upper - domain.lower).max()))
    around = domain.project(rng.uniform(domain.lower - width, domain.upper + width, (12, domain.dim)))
    ulps = around * (1 + 2.0**-52 * rng.integers(-8, 9, around.shape))
    found = domain.support(rng.normal(size=(4, domain.dim)))
    assert found is not None
    return np.concatenate([domain.sample(4, rng), around, ulps, found[0], around + 10 * width])


@settings(max_examples=60, deadline=None)
@given(cases())
def test_a_witness_holds_a_point_of_the_domain_and_is_close(case: tuple[Domain, np.random.Generator]) -> None:
    domain, rng = case
    points = queries(domain, rng)
    lower, upper = domain.witness(points)
    assert not np.isnan(lower).any(), "every built-in domain has one near every point"
    for a, b in zip(lower, upper, strict=True):
        assert meets(domain, exact(a), exact(b)), f"{domain!r} has no point in [{a}, {b}]"
    size = float((domain.upper - domain.lower).max()) + 1e-250  # some are single points
    ulp = float(np.spacing(np.abs([domain.lower, domain.upper]).max()))
    assert (upper - lower).max() <= 1e-12 * size + 8 * ulp, "boxes are tiny"
    near = slice(0, 32)
    moved = np.maximum(np.abs(lower - points), np.abs(upper - points))[near].max()
    assert moved <= 1e-8 * size + 64 * ulp, "near a point of the domain"


@settings(max_examples=60, deadline=None)
@given(cases())
def test_no_point_of_the_domain_is_outside_its_bounding_box_or_its_cells(
    case: tuple[Domain, np.random.Generator],
) -> None:
    domain, rng = case
    for point in members(domain, rng):
        assert meets(domain, point, point), "the reference agrees with itself"
        assert all(a <= v <= b for a, v, b in zip(exact(domain.lower), point, exact(domain.upper), strict=True))
        assert any(_may_meet(cell, point, point) for cell in domain.cells())


@settings(max_examples=60, deadline=None)
@given(cases(), st.integers(-300, 200))
def test_bounds_of_support_hold_and_are_sharp(case: tuple[Domain, np.random.Generator], exponent: int) -> None:
    domain, rng = case
    directions = rng.normal(size=(6, domain.dim)) * 10.0 ** rng.integers(-20, 21, (6, domain.dim)) * 10.0**exponent
    directions[0] = 10.0**exponent
    directions[1] *= rng.integers(0, 2, domain.dim)
    found = domain.support(directions)
    assert found is not None
    size = np.abs([domain.lower, domain.upper]).max(axis=0)
    for d, top in zip(directions, found[1], strict=True):
        most = supremum(domain, exact(d))
        assert Fraction(float(top)) >= most
        scale = dot(exact(np.abs(d)), exact(size + 1e-280))
        assert Fraction(float(top)) - most <= scale * Fraction(1, 10**9) + Fraction(1, 10**290)


@settings(max_examples=80, deadline=None)
@given(seeds, exponents)
def test_a_polytope_is_refused_exactly_when_it_is_empty(seed: int, exponent: int) -> None:
    """Cuts whose sides almost meet: by nothing, by an ulp, by 1e-10; integers, decimals and all digits."""
    rng = np.random.default_rng(seed)
    m, size = int(rng.integers(1, 4)), 10.0**exponent
    cuts = (rng.normal(size=(int(rng.integers(1, 4)), m)) * 3).round(int(rng.choice([0, 1, 16])))
    through = size * rng.uniform(-0.5, 0.5, m).round(int(rng.choice([0, 1, 16])))
    sides = cuts @ through
    gap = size * float(rng.choice([0.0, 1e-16, -1e-16, 1e-10, -1e-10, 1e-3, -1e-3]))
    units = rng.choice([0.1, 1.0, 3.0, 1e7], 2 * len(cuts))
    rows = np.vstack([np.eye(m), -np.eye(m), cuts, -cuts])
    right = np.concatenate([np.full(2 * m, size), sides, -sides + gap])
    rows[2 * m :] *= units[:, None]
    right[2 * m :] *= units
    truth = feasible([(exact(a), Fraction(float(b))) for a, b in zip(rows, right, strict=True)])
    if truth:
        domain = Polytope(rows, right)
        lower, upper = domain.witness(domain.lower)
        assert meets(domain, exact(lower[0]), exact(upper[0]))
    else:
        with pytest.raises(ModelError, match=r"polytope is empty: .* says 0 <= -"):
            Polytope(rows, right)


def test_directions_in_which_a_set_has_no_end_leave_the_others_alone() -> None:
    """One linear program serves all directions, each from the corner of the one before, if there was one."""
    rows, sides = np.array([[-1.0, 0.0], [0.0, -1.0], [0.0, 1.0]]), np.array([0.0, 0.5, 2.0])
    towards = np.array([[-1.0, 1.0], [1.0, 0.0], [-1.0, -1.0], [2.0, 1.0], [0.0, 1.0]])
    z, multipliers, found = furthest(rows, sides, towards)
    assert found.tolist() == [True, False, True, False, True]
    assert (towards * z).sum(axis=1)[found] == pytest.approx([2.0, 0.5, 2.0])
    assert (multipliers @ sides)[found] == pytest.approx([2.0, 0.5, 2.0])


def test_many_directions_are_bounded_as_one_is() -> None:
    rng = np.random.default_rng(0)
    domain = Polytope(np.vstack([rng.normal(size=(40, 7)), np.eye(7), -np.eye(7)]), np.full(54, 1.0))
    towards = rng.normal(size=(60, 7)) * 10.0 ** rng.integers(-8, 8, (60, 1))
    points, tops = domain.support(towards)
    alone = np.array([domain.support(d[None])[1][0] for d in towards])
    np.testing.assert_allclose(tops, alone, rtol=1e-9)
    np.testing.assert_allclose((towards * points).sum(axis=1), tops, rtol=1e-9)


def test_an_empty_polytope_is_named_by_the_rows_that_clash() -> None:
    """A set without points made every model over it infeasible."""
    with pytest.raises(ModelError, match=r"1 × row 0 \+ 1 × row 1 says 0 <= -1e-10"):
        Polytope([[1.0], [-1.0]], [0.0, -1e-10])
    with pytest.raises(ModelError, match=r"1 × row 1 \+ 0.5 × row 4 says 0 <= -0.5"):
        Polytope([[1, 0], [1, 0], [0, 1], [0, -1], [-2, 0], [-1, 0]], [3, 1, 1, 1, -3, 5])
    m = 11  # the box does not reach the plane, and all of its upper sides are to blame
    with pytest.raises(ModelError, match=r"1 × row 5 \+ 6 others says 0 <= -1\."):
        Polytope(np.vstack([np.eye(m), -np.eye(m), -np.ones((1, m))]), np.append(np.ones(2 * m), -m - 1))


def test_a_polytope_that_is_too_large_to_be_examined_exactly_is_accepted_without_proof() -> None:
    m = 50
    rows = np.vstack([-np.eye(m), np.ones((1, m)), -np.ones((1, m))])
    flat = Polytope(rows, np.append(np.zeros(m), [1.0, -1.0]))
    assert np.isnan(flat.witness(np.full(m, 1 / m))).all()
    full = Polytope(rows[:-1], np.append(np.zeros(m), 1.0))
    assert not np.isnan(full.witness(np.full(m, 1 / m))).any()
    with pytest.raises(ModelError, match="seems to be empty"):
        Polytope(rows, np.append(np.zeros(m), [1.0, -2.0]))


def test_witnesses_of_points_that_floats_can_name_are_these_points() -> None:
    for domain, points in (
        (Ball([0, 0], 1), [[1, 0], [0, -1], [0, 0]]),
        (Simplex(3), [[1, 0, 0], [0, 0, 1], [0.5, 0.5, 0], [0.25, 0.25, 0.5]]),
        (Budget(2, 1.5), [[1, 0.5], [-0.5, 1], [0.75, -0.75]]),
        (Polytope([[-1, 0], [0, -1], [1, 1]], [0, 0, 1]), [[0, 0], [1, 0], [0.5, 0.5], [0.25, 0.25]]),
        (Polytope([[1, 1], [-1, -1], [-1, 0], [0, -1]], [1, -1, 0, 0]), [[1, 0], [0, 1], [0.25, 0.75]]),
        (Interval(0, 1) | Finite([3]), [[0], [1], [3]]),
    ):
        lower, upper = domain.witness(points)
        np.testing.assert_array_equal(lower, points)
        np.testing.assert_array_equal(upper, points)


def test_a_ball_smaller_than_the_gaps_between_floats_has_its_centre() -> None:
    for ball in (Ball([1e5, 0.1], 1e-12), Ball([1.0], 1e-300), Ball([0.0, 0.0], 1e-310), Ball([1e99], 1.0)):
        lower, upper = ball.witness(ball.centre + np.linspace(-2, 2, ball.dim) * ball.radius)
        assert meets(ball, exact(lower[0]), exact(upper[0]))


def test_a_point_between_two_floats_is_enclosed() -> None:
    third = Polytope([[3.0], [-3.0]], [1.0, -1.0])
    lower, upper = third.witness(1 / 3)
    assert Fraction(float(lower[0, 0])) < Fraction(1, 3) < Fraction(float(upper[0, 0]))
    assert upper[0, 0] - lower[0, 0] <= 2 * np.spacing(1 / 3)


def test_a_thin_polytope_has_witnesses_along_all_of_its_length() -> None:
    for width in (1e-6, 1e-8, 1e-12, 1e-17):
        strip = Polytope([[1, 0], [-1, 0], [1, 3], [-1, -3]], [1, 1, width, 0])
        y = np.column_stack([np.linspace(-1, 1, 9), -np.linspace(-1, 1, 9) / 3])
        lower, upper = strip.witness(y)
        assert np.abs(lower - y).max() <= 1e-7
        for a, b in zip(lower, upper, strict=True):
            assert meets(strip, exact(a), exact(b))


def test_a_polytope_in_far_or_tiny_units_keeps_its_dimension_and_its_digits() -> None:
    for lower, upper in ((0.0, 1e-12), (1e12, 1e12 + 1), (-1e12, 1e12), (1.0, 1.0 + 1e-9)):
        domain = Polytope([[1], [-1]], [upper, -lower])
        assert domain.lower == lower
        assert domain.upper == upper
        assert domain.measure == (1, pytest.approx(upper - lower, rel=1e-9))
        assert len(domain.spread(10)) == 10
        assert np.ptp(domain.sample(100)) >= 0.8 * (upper - lower)
    tiny = Polytope([[1], [-1], [1e-200]], [5, 5, -1e-200])
    assert (tiny.lower, tiny.upper) == (-5, -1), "a tiny row is a row"


def test_a_model_over_an_empty_set_cannot_be_written() -> None:
    with pytest.raises(ModelError, match="empty"):
        lsip.Index("y", lsip.Polytope([[1.0], [-1.0]], [0.0, -1e-10]))


def test_base_class_proves_points_in_boxes_only() -> None:
    class Plain(Domain):
        lower, upper = np.zeros(2), np.ones(2)
        diameter, measure = 1.0, (2, 1.0)  # type: ignore[assignment]
        contains = project = place = _arguments = None  # type: ignore[assignment]

        def __init__(self, cells: tuple[lsip.domains.Cell, ...]) -> None:
            object.__setattr__(self, "_cells", cells)

        def cells(self) -> tuple[lsip.domains.Cell, ...]:
            return self._cells  # type: ignore[attr-defined,no-any-return]

    ball, points = Ball([0, 0], 1), [[0.5, 0.5], [2.0, 2.5], [1.5, 0.5]]
    boxes = (Finite([[2, 2.5]]) | Box([0, 0], [1, 1])).cells()
    np.testing.assert_array_equal(np.isnan(Plain(boxes).witness(points)[0]).all(axis=1), [False, False, True])
    assert np.isnan(Plain(ball.cells()).witness(points)).all(), "inequalities are not looked into"


# The arithmetic behind all of this.

numbers = st.one_of(
    st.floats(-1e100, 1e100, allow_nan=False, allow_subnormal=True),
    st.integers(-100, 100).map(float),
    st.floats(-1, 1).map(lambda v: round(v, 2)),
)


@given(st.lists(st.tuples(numbers, numbers), min_size=1, max_size=8))
def test_sums_and_products_are_enclosed(pairs: list[tuple[float, float]]) -> None:
    a, b = np.array(pairs).T
    truth = dot(exact(a), exact(b))
    lower, upper = dot_bounds(a, b)
    assert Fraction(float(lower)) <= truth <= Fraction(float(upper))
    total, truth = np.concatenate([a, b]), sum(exact(a) + exact(b))
    lower, upper = sum_bounds(total)
    assert Fraction(float(lower)) <= truth <= Fraction(float(upper))
    assert upper <= np.nextafter(np.nextafter(lower, np.inf), np.inf)
    assert (
        Fraction(float(add_down(a[0], b[0]))) <= Fraction(a[0]) + Fraction(b[0]) <= Fraction(float(add_up(a[0], b[0])))
    )


@given(st.lists(st.integers(-50, 50), min_size=1, max_size=8))
def test_sums_that_round_nothing_are_exact(values: list[int]) -> None:
    lower, upper = sum_bounds(np.array(values) / 8)
    assert lower == upper == sum(values) / 8


def test_sums_that_overflow_prove_nothing() -> None:
    for terms in ([1e308, 1e308], [-1e308, -1e308], [1e308, 1e308, -1e308]):
        lower, upper = sum_bounds(np.array(terms))
        assert not lower > -1.8e308
        assert not upper < 1.8e308 or np.isnan(upper)


@settings(max_examples=60, deadline=None)
@given(seeds, st.integers(1, 4), st.integers(0, 6))
def test_the_deepest_point_comes_with_its_proof(seed: int, m: int, cuts: int) -> None:
    rng = np.random.default_rng(seed)
    rows = np.vstack([np.eye(m), -np.eye(m), rng.normal(size=(cuts, m)).round(1)])
    slacks = [as_form(-a, b) for a, b in zip(rows, rng.normal(0.2, 1, len(rows)), strict=True)]
    found = deepest(slacks, rng.normal(size=m))
    assert found is not None
    assert sum(found.multipliers) == 1
    assert min(found.multipliers) >= 0
    total = [sum((w * form[j] for w, form in zip(found.multipliers, slacks, strict=True)), ZERO) for j in range(m + 1)]
    assert total == [ZERO] * m + [found.depth]
    assert min(dot([*found.point, Fraction(1)], form) for form in slacks) == found.depth
    assert deepest(slacks[:m], np.zeros(m)) is None, "half of the space has no deepest point"


@pytest.mark.parametrize("m", [2, 3, 7])
def test_witnesses_of_a_simplex_are_points_whose_coordinates_sum_to_one(m: int) -> None:
    y = np.random.default_rng(m).dirichlet(np.ones(m), 50)
    y = y[(y > 1e-6).all(axis=1)]
    lower, upper = lsip.Simplex(m).witness(y)
    assert (lower == upper).all()
    assert np.abs(lower - y).max() <= m * 2.0**-52
    assert all(sum(map(Fraction, point.tolist())) == 1 for point in lower)


def ellipsoid(rng: np.random.Generator, size: float, offset: float) -> Ellipsoid:
    """Half-axes that differ by up to a thousand, turned anyhow."""
    m = int(rng.integers(1, 4))
    turn = np.linalg.qr(rng.normal(size=(m, m)))[0]
    shape = (turn * (size * 10.0 ** rng.uniform(-3, 0, m)) ** 2) @ turn.T
    return Ellipsoid(offset * rng.normal(size=m), (shape + shape.T) / 2)


def quadratic_form(domain: Ellipsoid, point: Point) -> Fraction:
    """(y - centre)' shape⁻¹ (y - centre), by elimination."""
    m = domain.dim
    v = [a - c for a, c in zip(point, exact(domain.centre), strict=True)]
    rows = [[*exact(row), side] for row, side in zip(domain.shape, v, strict=True)]
    for k in range(m):
        pivot = next(i for i in range(k, m) if rows[i][k])
        rows[k], rows[pivot] = rows[pivot], rows[k]
        rows[k] = [a / rows[k][k] for a in rows[k]]
        rows = [r if i == k else [a - r[k] * b for a, b in zip(r, rows[k], strict=True)] for i, r in enumerate(rows)]
    return dot(v, [row[-1] for row in rows])


@settings(max_examples=60, deadline=None)
@given(seeds, exponents, exponents)
def test_what_an_ellipsoid_proves_is_true(seed: int, scale: int, far: int) -> None:
    rng, size = np.random.default_rng(seed), 10.0**scale
    domain = ellipsoid(rng, size, min(10.0**far, 1e3 * size))
    points = queries(domain, rng)
    lower, upper = domain.witness(points)
    assert (lower == upper).all()
    assert np.abs(lower - points)[:32].max() <= 1e-8 * size + 64 * np.spacing(np.abs(points).max())
    for y in lower:
        assert quadratic_form(domain, exact(y)) <= 1
    directions = rng.normal(size=(6, domain.dim))
    for d, top in zip(directions, domain.support(directions)[1], strict=True):
        towards = exact(d)
        rest = Fraction(float(top)) - dot(towards, exact(domain.centre))
        square = dot(towards, [dot(exact(row), towards) for row in domain.shape])
        assert rest >= 0
        assert (
            square
            <= rest**2
            <= square * (1 + Fraction(1, 10**5)) + Fraction(float(np.abs(domain.upper).max() * 1e-12)) ** 2
        )
    for _ in range(6):  # points of the boundary, or a hair inside: centre + shape d / sqrt(d' shape d)
        towards = exact(rng.normal(size=domain.dim))
        moved = [dot(exact(row), towards) for row in domain.shape]
        square = dot(towards, moved)
        digits = 10**40
        length = Fraction(isqrt(square.numerator * square.denominator * digits**2) + 1, square.denominator * digits)
        point = [c + v / length for c, v in zip(exact(domain.centre), moved, strict=True)]
        assert quadratic_form(domain, point) <= 1
        assert all(a <= v <= b for a, v, b in zip(exact(domain.lower), point, exact(domain.upper), strict=True))
        assert all(_may_meet(cell, point, point) for cell in domain.cells())


@settings(max_examples=40, deadline=None)
@given(seeds, exponents)
def test_what_an_intersection_proves_is_true(seed: int, scale: int) -> None:
    rng, size = np.random.default_rng(seed), 10.0**scale
    first = ellipsoid(rng, size, size)
    middle = first.sample(1, rng)[0]
    domain = first & Box(
        middle - size * rng.uniform(1e-3, 1, first.dim), middle + size * rng.uniform(1e-3, 1, first.dim)
    )
    box = next(d for d in domain.members if isinstance(d, Box))
    points = queries(domain, rng)
    lower, upper = domain.witness(points)
    assert (lower == upper).all()
    assert np.abs(lower - points)[:32].max() <= 1e-6 * size
    directions = rng.normal(size=(6, domain.dim))
    tops = domain.support(directions)[1]
    for y in map(exact, lower):
        assert quadratic_form(first, y) <= 1
        assert meets(box, y, y)
        assert all(a <= v <= b for a, v, b in zip(exact(domain.lower), y, exact(domain.upper), strict=True))
        assert all(dot(exact(d), y) <= Fraction(float(top)) for d, top in zip(directions, tops, strict=True))
