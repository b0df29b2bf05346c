"""The algebras tell the truth: enclosures hold every value, derivatives match differences, rounding goes outward."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.special import erf

import lsip
from lsip.expressions.functions import FUNCTIONS
from lsip.expressions.graph import Pass, as_expression
from lsip.expressions.interval import EPS, TINY, Interval, reciprocal
from lsip.expressions.jets import tetrahedron, triangle
from lsip.expressions.powers import power
from lsip.expressions.quadratics import Quadratic, cubic_weights, middle, quadratic_weights
from lsip.expressions.sinc import sinc
from lsip.expressions.tape import Tape
from lsip.oracles.quadratic_bound import bound_quadratics

from . import exact
from .strategies import REACH, Formula, boxes, formulas, points_in

Array = NDArray[np.float64]

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # intervals overflow and divide by zero on purpose


def tape_of(formula: Formula) -> Tape:
    index = formula.index()
    return Tape((as_expression(formula(index)),), (index,))


def kink_arguments(tape: Tape, y: Array) -> Array:
    """What changes sign at the kinks of a tape, at the points y (N, m): shape (N, kinks)."""
    nodes = tuple(tape.nodes[i] for i in tape.kink_arguments)
    return Tape(nodes, tuple(tape.offsets)).values(y) if nodes else np.zeros((len(y), 0))


# ---- enclosures of random expressions ------------------------------------------------------------------------------


def assert_contains(box: Interval, values: Array, what: object) -> None:
    """Every value lies in its interval; an end that is nan promises nothing."""
    outside = (values < box.lo) | (values > box.hi)
    if outside.any():
        at = tuple(np.argwhere(outside)[0])
        lo, hi = np.broadcast_to(box.lo, values.shape)[at], np.broadcast_to(box.hi, values.shape)[at]
        pytest.fail(f"{what}: {values[at]!r} is not in [{lo!r}, {hi!r}] (at {at})")


@st.composite
def formulas_on_boxes(draw: Any, **options: Any) -> tuple[Formula, Array, Array]:
    formula = draw(formulas(**options))
    return (formula, *draw(boxes(formula.dim)))


@settings(max_examples=120)
@given(formulas_on_boxes(shape=None))
def test_enclosures_contain_every_sampled_value(case: tuple[Formula, Array, Array]) -> None:
    formula, lower, upper = case
    tape = tape_of(formula)
    box = tape.enclose(lower, upper)
    for y in points_in(lower, upper):
        assert_contains(box, tape.values(y), formula)


@settings(max_examples=80)
@given(formulas_on_boxes(shape=None, depth=2))
def test_gradient_enclosures_contain_every_sampled_gradient(case: tuple[Formula, Array, Array]) -> None:
    formula, lower, upper = case
    tape = tape_of(formula)
    box = tape.gradients(lower, upper)
    for y in points_in(lower, upper):
        gradient = tape.derivatives(y, order=1)[1]
        # At a kink itself there is no derivative; the one that is reported may belong to the other side of the box.
        smooth = (kink_arguments(tape, y) != 0).all(axis=1)[:, None] & np.isfinite(gradient)
        assert_contains(box, np.where(smooth, gradient, np.nan), formula)


@settings(max_examples=40)
@given(formulas_on_boxes(shape=None, smooth=True, depth=2))
def test_the_exact_value_at_a_point_is_enclosed(case: tuple[Formula, Array, Array]) -> None:
    """Against extended precision, which rounds differently: boxes of no width must cover their own rounding."""
    if np.finfo(np.longdouble).eps > 1e-18:
        pytest.skip("long double is no longer than double here")
    formula, lower, _ = case
    box = tape_of(formula).enclose(lower, lower)
    for i, point in enumerate(lower):
        value = in_long_doubles(formula, point.astype(np.longdouble))
        slack = 64 * np.finfo(np.longdouble).eps * (1 + np.abs(value))
        assert not (value + slack < box.lo[i]).any(), (formula, point, value, box.lo[i])
        assert not (value - slack > box.hi[i]).any(), (formula, point, value, box.hi[i])


def expansion_at(q: Quadratic, d: Array) -> tuple[Array, Array]:
    """The models at the scaled points d (N, m), and the size of their terms."""
    m = d.shape[1]
    i, j = triangle(m)
    a, b, c = tetrahedron(m)[:3]
    second = quadratic_weights(m) * d[:, i] * d[:, j]
    third = (cubic_weights(m) * d[:, a] * d[:, b] * d[:, c])[:, : len(q.third)]
    with np.errstate(all="ignore"):
        terms = [q.gradient * d.T[..., None], q.hessian * second.T[..., None], q.third * third.T[..., None]]
        terms = np.concatenate([q.value[None], *terms])
    return terms.sum(0), np.abs(terms).sum(0)


def assert_expansions_contain(
    q: Quadratic, values: Array, d: Array, where: Any, formula: Formula, what: str = ""
) -> None:
    """The values differ from the models by the error at most, up to the rounding of both."""
    model, size = expansion_at(q, d)
    assert (q.error >= 0).all(), formula  # in particular no nan
    off = (np.abs(values - model) > q.error + 64 * EPS * (size + formula.bound)) & where
    if off.any():
        at = tuple(np.argwhere(off)[0])
        got = f"|{values[at]!r} - {model[at]!r}| > {q.error[at]!r} at d = {d[at[0]]} of box {at[0]}"
        pytest.fail(f"{what} {formula}: {got}")


@settings(max_examples=100)
@given(formulas_on_boxes(shape=None), st.sampled_from([2, 3]))
def test_expansions_enclose_every_sampled_value(case: tuple[Formula, Array, Array], order: int) -> None:
    formula, lower, upper = case
    tape = tape_of(formula)
    outputs, _, _ = tape.quadratics(lower, upper, order=order)
    centre, radius = middle(lower, upper)
    for y in points_in(lower, upper):
        d = np.where(radius > 0, (y - centre) / np.where(radius > 0, radius, 1.0), 0.0)
        assert (np.abs(d) <= 1).all()
        assert_expansions_contain(outputs, tape.values(y), d, True, formula)


@settings(max_examples=120)
@given(formulas_on_boxes(shape=None), st.integers(0, 2**20), st.sampled_from([2, 3]))
def test_expansions_on_pieces_enclose_what_lies_on_the_piece(
    case: tuple[Formula, Array, Array], bits: int, order: int
) -> None:
    """A kink with a fixed branch is smooth, and right wherever its argument has that sign; so are the arguments."""
    formula, lower, upper = case
    tape = tape_of(formula)
    assume(tape.kink_count)
    _, _, straddles = tape.quadratics(lower, upper)
    assert straddles is not None
    assert straddles.shape == (len(lower), tape.kink_count)
    signs = np.where((bits >> np.arange(tape.kink_count) % 20) & 1, 1, -1)
    pieces = np.where(straddles, signs, 0).astype(np.int8)
    outputs, kinks, still = tape.quadratics(lower, upper, pieces, order)
    assert kinks is not None
    assert still is not None
    centre, radius = middle(lower, upper)
    for y in points_in(lower, upper, count=24):
        u = kink_arguments(tape, y)
        d = np.where(radius > 0, (y - centre) / np.where(radius > 0, radius, 1.0), 0.0)
        counts = ((pieces == 0) | (np.sign(u) == pieces)).all(axis=1, keepdims=True)
        assert_expansions_contain(outputs, tape.values(y), d, counts, formula)
        assert_expansions_contain(kinks, u, d, counts, formula, "kinks of")


@settings(max_examples=40)
@given(formulas_on_boxes(shape=None, depth=2))
def test_a_kink_that_does_not_straddle_keeps_its_sign(case: tuple[Formula, Array, Array]) -> None:
    formula, lower, upper = case
    tape = tape_of(formula)
    assume(tape.kink_count)
    _, _, straddles = tape.quadratics(lower, upper)
    u = np.stack([kink_arguments(tape, y) for y in points_in(lower, upper)])
    assert ((u >= 0).all(0) | (u <= 0).all(0) | straddles).all(), formula


@pytest.mark.parametrize("condition", ["t <= 0.5", "t >= 0.5", "t < 0.5", "t > 0.5", "0.5 >= t", "0.5 < t"])
def test_a_jump_at_the_end_of_a_box_belongs_to_the_box(condition: str) -> None:
    """The value exactly on the jump counts, also where the box only touches it."""
    t = lsip.Index("t", lsip.Interval(0, 1))
    tape = Tape((np.where(eval(condition, {"t": t}), 1.0, 0.0),), (t,))
    edge = np.array([[0.5]])
    value = tape.values(edge)
    np.testing.assert_array_equal(value, [[float(eval(condition, {"t": 0.5}))]])
    for lower, upper in ((0.0, 0.5), (0.5, 1.0), (0.5, 0.5)):
        box = np.array([[lower]]), np.array([[upper]])
        assert_contains(tape.enclose(*box), value, f"np.where({condition}, 1, 0) over [{lower}, {upper}]")


@pytest.mark.parametrize(
    "source",
    [
        "np.where(y[0] <= y[1], 1.0, 2.0) * y[0] ** 2",
        "np.where(y <= 0.25, 1.0, 2.0) @ y",
        "np.concatenate([np.where(y <= 0.25, 1.0, 2.0), np.exp(y)])",
        "np.exp(np.where(y <= 0.25, 1.0, 2.0)).sum()",
        "np.concatenate([np.abs(y), np.exp(y)])",
        "np.stack([np.exp(y[0]), np.abs(y[1])])",
        "np.abs(y).sum() ** 2 * np.abs(y[0] - y[1])",
        "np.square(np.where(y[0] <= 0, y[1], 3.0))",
    ],
)
@pytest.mark.parametrize("order", [2, 3])
@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_derivatives_of_kinks_that_straddle_have_the_right_shape(source: str, count: int, order: int) -> None:
    """However many boxes there are, also when it is as many as coordinates."""
    formula = Formula(source, (), 10.0, 2)
    rng = np.random.default_rng(count)
    lower = rng.uniform(-1, 0, (count, 2))
    upper = rng.uniform(0.3, 1, (count, 2))
    tape = tape_of(formula)
    outputs, _, _ = tape.quadratics(lower, upper, order=order)
    box, slopes = tape.enclose(lower, upper), tape.gradients(lower, upper)
    assert slopes.shape == (2, count, outputs.value.shape[-1])
    centre, radius = middle(lower, upper)
    for y in points_in(lower, upper):
        values, gradient, _ = tape.derivatives(y)
        assert_contains(box, values, source)
        assert_contains(slopes, gradient, source)
        assert_expansions_contain(outputs, values, (y - centre) / radius, True, formula)


moderate = st.one_of(st.floats(-1e6, 1e6).map(lambda v: round(v, 6)), st.integers(-8, 8).map(float))

LINEAR = {
    "sum": (lambda y, c: (c * y).sum(), lambda c: sum(c, Fraction(0))),
    "dot": (lambda y, c: c @ np.stack([y] * len(c)), lambda c: sum(c, Fraction(0))),
    "product": (lambda y, c: y * c[0] * c[1] * c[2], lambda c: c[0] * c[1] * c[2]),
    "repeated sum": (lambda y, c: y * c[0] + y * c[1] + y * c[2], lambda c: c[0] + c[1] + c[2]),
    "two matrices": (
        lambda y, c: (np.outer(c, c) @ (np.outer(c, [1.0]) @ np.stack([y])))[0],
        lambda c: c[0] * sum((v * v for v in c), Fraction(0)),
    ),
    "quotient": (lambda y, c: y / (abs(c[0]) + 3.0) / 7.0, lambda c: 1 / Fraction(float(abs(c[0]) + 3.0)) / 7),
}


@pytest.mark.parametrize("kind", LINEAR)
@settings(max_examples=40)
@given(st.lists(st.one_of(moderate, st.sampled_from([1e16, -1e16, 0.1, 1 / 3, 1e-170])), min_size=3, max_size=6))
@example([1e16, 1.0, -1e16])
@example([0.1, 0.2, 0.3])
def test_slopes_of_linear_expressions_round_outward(kind: str, numbers: list[float]) -> None:
    """A constant derivative is the result of arithmetic too; around 0 nothing else covers its rounding."""
    build, slope = LINEAR[kind]
    t = lsip.Index("t", lsip.Interval(-1, 1))
    tape = Tape((as_expression(build(t, np.array(numbers))),), (t,))
    lower, upper = np.array([[-0.5]]), np.array([[0.5]])
    exact_slope = slope([Fraction(v) for v in numbers])
    box = tape.gradients(lower, upper)
    assert exact.contains(box.lo[0, 0, 0], box.hi[0, 0, 0], exact_slope), (float(exact_slope), box.lo, box.hi)
    for order in (2, 3):
        q, _, _ = tape.quadratics(lower, upper, order=order)
        for d in (-1, 1):
            model = Fraction(float(q.value[0, 0])) + d * Fraction(float(q.gradient[0, 0, 0]))
            model += Fraction(float(q.hessian[0, 0, 0])) / 2
            off = abs(exact_slope * d / 2 - model)
            assert off <= Fraction(float(q.error[0, 0])), (float(exact_slope / 2), float(model), q.error)


TWO, TEN = Decimal(2), Decimal(10)
BASE, SMALL, BELOW = (Decimal(float(v)) for v in ("0.7", "0.3", "-1.7"))  # the floats, not the decimals
HIDDEN = {  # expression, value, derivative
    "np.exp2(t)": (lambda t: TWO**t, lambda t: TWO**t * TWO.ln()),
    "np.log10(t)": (lambda t: t.log10(), lambda t: 1 / (t * TEN.ln())),
    "np.log2(t)": (lambda t: t.ln() / TWO.ln(), lambda t: 1 / (t * TWO.ln())),
    "np.deg2rad(t)": (lambda t: t * exact.PI / 180, lambda t: exact.PI / 180),
    "0.7 ** t": (lambda t: BASE**t, lambda t: BASE**t * BASE.ln()),
    "t ** 0.3": (lambda t: t**SMALL, lambda t: SMALL * t ** (SMALL - 1)),
    "t ** -1.7": (lambda t: t**BELOW, lambda t: BELOW * t ** (BELOW - 1)),
    "t / 7": (lambda t: t / 7, lambda t: 1 / Decimal(7)),
    "np.stack([t, t, 2 * t]).mean()": (lambda t: 4 * t / 3, lambda t: 4 / Decimal(3)),
    "erf(t)": (lambda t: exact.evaluate("erf", float(t)), lambda t: 2 * (-t * t).exp() / exact.PI.sqrt()),
}


@pytest.mark.parametrize("source", HIDDEN)
@settings(max_examples=40)
@given(t=st.floats(1e-6, 1e3))
def test_constants_behind_a_function_round_outward(source: str, t: float) -> None:
    """log 2, pi / 180, 1 / 7 and 0.3 - 1 are no floats; what is made with them must say so."""
    index = lsip.Index("t", lsip.Interval(0, 1e3))
    tape = Tape((eval(source, {"np": np, "erf": erf, "t": index}),), (index,))
    box = np.array([[t]])
    with localcontext() as context:
        context.prec = 100
        value, slope = (f(Decimal(t)) for f in HIDDEN[source])
    assume(abs(value) < 1e300)
    for enclosure, expected in ((tape.enclose(box, box)[0, 0], value), (tape.gradients(box, box)[0, 0, 0], slope)):
        assert exact.contains(enclosure.lo, enclosure.hi, expected), (enclosure.lo, enclosure.hi, float(expected))


# ---- derivatives ---------------------------------------------------------------------------------------------------


def _long_erf(u: Any) -> Any:
    """erf in extended precision: its power series, with Kummer's transformation, which has no cancellation."""
    u = np.asarray(u, dtype=np.longdouble)
    term = total = u * 2 / np.sqrt(np.arctan(np.longdouble(1)) * 4)
    for k in range(1, 400):
        term = term * 2 * u * u / (2 * k + 1)
        total = total + term
    return np.where(np.abs(u) < 7, total * np.exp(-u * u), np.sign(u))


def in_long_doubles(formula: Formula, point: Any) -> Any:
    def expit(u: Any) -> Any:
        return 1 / (1 + np.exp(-u))

    value = formula(point[0] if formula.scalar else point, erf=_long_erf, expit=expit)
    return np.ravel(np.asarray(value, dtype=np.longdouble))


def differences(f: Callable[[Any], Any], point: Any, h: float) -> list[tuple[Any, Any]]:
    """First and second central differences, (m, K) and (m (m+1) / 2, K), extrapolated; and what they may be off by."""
    m = len(point)
    unit = np.eye(m, dtype=np.longdouble)

    def once(step: float) -> tuple[Any, Any]:
        first = [(f(point + step * e) - f(point - step * e)) / (2 * step) for e in unit]
        second = []
        for i, j in zip(*triangle(m), strict=True):
            a, b = step * unit[i], step * unit[j]
            second.append((f(point + a + b) - f(point + a - b) - f(point - a + b) + f(point - a - b)) / (4 * step**2))
        return np.array(first), np.array(second)

    coarse, fine = once(2 * h), once(h)
    return [((4 * b - a) / 3, np.abs(a - b)) for a, b in zip(coarse, fine, strict=True)]


@settings(max_examples=60)
@given(formulas(shape=None, smooth=True), st.integers(0, 1000))
def test_derivatives_match_differences(formula: Formula, seed: int) -> None:
    if np.finfo(np.longdouble).eps > 1e-18:
        pytest.skip("long double is no longer than double here")
    y = np.random.default_rng(seed).uniform(-REACH + 0.1, REACH - 0.1, (2, formula.dim))
    value, gradient, hessian = tape_of(formula).derivatives(y)
    for n, point in enumerate(y.astype(np.longdouble)):
        expected = in_long_doubles(formula, point)
        np.testing.assert_allclose(value[n], expected.astype(float), rtol=1e-12, atol=1e-13 * (1 + formula.bound))
        found = differences(lambda p: in_long_doubles(formula, p), point, 1e-4)
        for got, (wanted, doubt) in zip((gradient[:, n], hessian[:, n]), found, strict=True):
            assert (np.abs(got - wanted) <= 1e-9 * (1 + formula.bound + np.abs(wanted)) + 0.1 * doubt).all(), formula
            assert (doubt <= 1e-3 * (1 + formula.bound + np.abs(wanted))).all(), "the differences mean nothing"


@settings(max_examples=40)
@given(formulas(shape=None, smooth=True), st.integers(0, 1000))
def test_third_derivatives_match_differences_of_second_ones(formula: Formula, seed: int) -> None:
    y = np.random.default_rng(seed).uniform(-REACH + 0.1, REACH - 0.1, (2, formula.dim))
    tape = tape_of(formula)
    jet, _ = tape._run(Pass(y, 3, tape.offsets))
    i, _, _, jk, _, _ = tetrahedron(formula.dim)
    third = np.zeros((len(i), 2, jet.value.shape[-1])) if jet.third is None else jet.third

    def slopes(h: float) -> Array:
        ahead, behind = (np.stack([tape.derivatives(y + s * h * e)[2] for e in np.eye(formula.dim)]) for s in (1, -1))
        return (ahead - behind)[i, jk] / (2 * h)

    expected = (4 * slopes(1e-4) - slopes(2e-4)) / 3
    scale = 1 + formula.bound + np.abs(tape.derivatives(y)[2]).max(initial=0.0)
    np.testing.assert_allclose(np.broadcast_to(third, expected.shape), expected, rtol=1e-5, atol=1e-7 * scale)


@settings(max_examples=20)
@given(formulas(dim=3, shape=(), scalar=False, depth=3), st.integers(0, 1000))
def test_hessians_do_not_depend_on_the_order_of_coordinates(formula: Formula, seed: int) -> None:
    """Only a triangle is stored; swapping coordinates stores the other one."""
    swap = [2, 0, 1]
    y = np.random.default_rng(seed).uniform(-1, 1, (3, 3))
    index = formula.index()
    tape = Tape((as_expression(formula(index)),), (index,))
    swapped = Tape((as_expression(formula(index[np.argsort(swap)])),), (index,))
    _, gradient, hessian = tape.derivatives(y)
    _, other_gradient, other_hessian = swapped.derivatives(y[:, swap])
    full, other = np.zeros((2, 3, 3, 3))
    i, j = triangle(3)
    full[i, j] = full[j, i] = hessian[..., 0]
    other[i, j] = other[j, i] = other_hessian[..., 0]
    known = np.isfinite(full) & np.isfinite(other[np.ix_(np.argsort(swap), np.argsort(swap))])
    first, second = gradient[..., 0], other_gradient[np.argsort(swap), :, 0]
    both = np.isfinite(first) & np.isfinite(second)
    # At a kink, more is known of a product in which no power is of a coordinate.
    assert not formula.smooth or (np.isfinite(first) == np.isfinite(second)).all()
    np.testing.assert_allclose(np.where(both, first, 0), np.where(both, second, 0), rtol=1e-9, atol=1e-12)
    moved = other[np.ix_(np.argsort(swap), np.argsort(swap))]
    np.testing.assert_allclose(np.where(known, full, 0), np.where(known, moved, 0), rtol=1e-9, atol=1e-12)


@settings(max_examples=20)
@given(formulas(shape=None), st.integers(0, 1000))
def test_values_are_the_same_in_every_order_of_derivative_and_batch(formula: Formula, seed: int) -> None:
    y = np.random.default_rng(seed).uniform(-REACH, REACH, (5, formula.dim))
    tape = tape_of(formula)
    values = tape.values(y)
    assert values.shape == (5, int(np.prod(formula.shape, dtype=int)))
    for order in (0, 1, 2):
        np.testing.assert_array_equal(tape.derivatives(y, order)[0], values)
    np.testing.assert_allclose(np.concatenate([tape.values(p[None]) for p in y]), values, rtol=1e-14, atol=1e-300)


# ---- intervals against rational arithmetic -------------------------------------------------------------------------

SPECIAL = [0.0, -0.0, TINY, -TINY, 1e-310, 2.0**-1022, 1.0, -1.0, 1 + EPS, 3.0, 1e300, -1e300, 1.7976931348623157e308]
floats = st.one_of(
    st.floats(-10, 10),
    st.sampled_from(SPECIAL),
    st.floats(allow_nan=False, allow_infinity=False),
    st.integers(-8, 8).map(float),
)


COUNT = 5


@st.composite
def intervals(draw: Any, count: int = COUNT, infinite: bool = True, ends: Any = floats) -> Interval:
    """Intervals of all sizes; some are points, some are unbounded."""
    drawn = np.array(draw(st.lists(ends, min_size=2 * count, max_size=2 * count))).reshape(2, count)
    lo, hi = drawn.min(0), drawn.max(0)
    kind = np.array(draw(st.lists(st.integers(0, 5), min_size=count, max_size=count)))
    hi = np.where(kind == 1, lo, hi)
    if infinite:
        lo = np.where((kind == 2) | (kind == 4), -np.inf, lo)
        hi = np.where((kind == 3) | (kind == 4), np.inf, hi)
    return Interval(lo, hi)


def members(u: Interval, i: int) -> list[Fraction]:
    """Some numbers in an interval: finite ends, the middle, something small and something huge."""
    lo, hi = float(u.lo[i]), float(u.hi[i])
    found = {v for v in (lo, hi, 0.5 * lo + 0.5 * hi, 0.0, TINY, -1.5, 1e200) if np.isfinite(v) and lo <= v <= hi}
    return [Fraction(v) for v in sorted(found)]


def assert_exact(result: Interval, i: int, value: Fraction, what: str) -> None:
    assert exact.contains(result.lo[i], result.hi[i], value), (
        f"{what} = {float(value)!r}, {result.lo[i]!r}, {result.hi[i]!r}"
    )


OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
}


@pytest.mark.parametrize("op", OPERATIONS)
@settings(max_examples=45)
@given(intervals(), intervals())
def test_arithmetic_contains_the_exact_result(op: str, a: Interval, b: Interval) -> None:
    apply = OPERATIONS[op]
    result = apply(a, b)
    for i in range(len(a.lo)):
        for v in members(a, i):
            for w in members(b, i):
                if op != "/" or w != 0:
                    assert_exact(result, i, apply(v, w), f"{float(v)!r} {op} {float(w)!r}")


@pytest.mark.parametrize("op", OPERATIONS)
@pytest.mark.parametrize("reflected", [False, True])
@settings(max_examples=20)
@given(intervals(), st.lists(floats, min_size=COUNT, max_size=COUNT))
def test_arithmetic_with_numbers_contains_the_exact_result(
    op: str, reflected: bool, a: Interval, b: list[float]
) -> None:
    apply, numbers = OPERATIONS[op], np.array(b)
    result = apply(numbers, a) if reflected else apply(a, numbers)
    for i, w in enumerate(map(Fraction, b)):
        for v in members(a, i):
            left, right = (w, v) if reflected else (v, w)
            if op != "/" or right != 0:
                assert_exact(result, i, apply(left, right), f"{float(left)!r} {op} {float(right)!r}")


@pytest.mark.parametrize("op", OPERATIONS)
@settings(max_examples=20)
@given(intervals(infinite=False, ends=moderate), intervals(infinite=False, ends=moderate))
def test_arithmetic_is_sharp(op: str, a: Interval, b: Interval) -> None:
    """Moderate data give ends within a few units in the last place of the exact ones."""
    apply = OPERATIONS[op]
    result = apply(a, b)
    for i in range(len(a.lo)):
        if op == "/" and b.lo[i] <= 0 <= b.hi[i]:
            continue
        corners = [(Fraction(float(v)), Fraction(float(w))) for v in (a.lo[i], a.hi[i]) for w in (b.lo[i], b.hi[i])]
        ends = [apply(v, w) for v, w in corners]
        slack = 6 * Fraction(EPS) * max(map(abs, ends)) + Fraction(1, 2**1000)
        assert min(ends) - slack <= Fraction(float(result.lo[i])), (op, i)
        assert Fraction(float(result.hi[i])) <= max(ends) + slack, (op, i)


@settings(max_examples=40)
@given(intervals(infinite=False), st.lists(st.integers(-(2**20), 2**20), min_size=COUNT, max_size=COUNT))
def test_sums_that_do_not_round_are_not_widened(a: Interval, b: list[int]) -> None:
    numbers = np.array(b) / 64.0
    result = a + numbers
    for end, got in ((a.lo, result.lo), (a.hi, result.hi)):
        total = end + numbers
        fits = np.array(
            [
                np.isfinite(t) and Fraction(float(e)) + Fraction(float(n)) == Fraction(float(t))
                for e, n, t in zip(end, numbers, total, strict=True)
            ]
        )
        np.testing.assert_array_equal(got[fits], total[fits])


@settings(max_examples=45)
@given(intervals())
@example(Interval(np.array([-0.0, 0.0, -TINY]), np.array([0.0, TINY, -0.0])))
def test_squares_reciprocals_and_negations_contain_the_exact_result(a: Interval) -> None:
    squared, inverse, negated = a.square(), reciprocal(a), -a
    assert not (squared.lo < 0).any()
    for i in range(len(a.lo)):
        for v in members(a, i):
            assert_exact(squared, i, v * v, f"{float(v)!r} squared")
            assert_exact(negated, i, -v, f"-{float(v)!r}")
            if v:
                assert_exact(inverse, i, 1 / v, f"1 / {float(v)!r}")


@settings(max_examples=45)
@given(intervals(), st.integers(-6, 6))
def test_whole_powers_contain_the_exact_result(a: Interval, k: int) -> None:
    result = power(a, np.array([float(k)]))
    for i in range(len(a.lo)):
        for v in members(a, i):
            if v or k >= 0:
                assert_exact(result, i, v**k, f"{float(v)!r} ** {k}")


@settings(max_examples=45)
@given(
    st.lists(st.one_of(st.floats(1e-300, 1e300), st.floats(0.01, 10)), min_size=6, max_size=6),
    st.sampled_from([0.1, 1 / 3, 0.3, 0.5, 0.7, 0.999, 1.5, 2.5, np.pi, -0.3, -0.5, -1.5]),
)
def test_real_powers_contain_the_exact_result(values: list[float], k: float) -> None:
    v = np.array(values)
    for a in (Interval(v, v), Interval(np.minimum(v, v[::-1]), np.maximum(v, v[::-1])), Interval(0.0 * v, v)):
        result = power(a, np.array([k]))
        for i, u in enumerate(v):
            value = exact.power(u, k)
            assert exact.contains(result.lo[i], result.hi[i], value), (u, k, value, result.lo[i], result.hi[i])


@settings(max_examples=45)
@given(st.integers(1, 9), st.data())
def test_sums_contain_the_exact_result(k: int, data: st.DataObject) -> None:
    a = data.draw(intervals(count=k))
    result = Interval(a.lo[None], a.hi[None]).sum()
    for pick in (min, max, lambda v: v[len(v) // 2]):
        total = sum((pick(members(a, i)) for i in range(k) if members(a, i)), Fraction(0))
        if all(members(a, i) for i in range(k)):
            assert_exact(result, 0, total, "sum")


@settings(max_examples=45)
@given(st.integers(1, 5), st.integers(1, 4), st.booleans(), st.data())
def test_linear_maps_contain_the_exact_result(k: int, r: int, sparse: bool, data: st.DataObject) -> None:
    from scipy.sparse import csr_matrix

    a = data.draw(intervals(count=k))
    matrix = np.array(data.draw(st.lists(floats, min_size=r * k, max_size=r * k))).reshape(r, k)
    result = Interval(a.lo[None], a.hi[None]).linear(csr_matrix(matrix) if sparse else matrix)[0]
    lists = [members(a, i) for i in range(k)]
    assume(all(lists))
    for row in range(r):
        for pick in (min, max, lambda v: v[len(v) // 2]):
            total = sum((Fraction(float(matrix[row, i])) * pick(lists[i]) for i in range(k)), Fraction(0))
            assert_exact(result, row, total, f"row {matrix[row]}")
        signs = matrix[row] >= 0
        top = sum(
            (Fraction(float(matrix[row, i])) * (max if signs[i] else min)(lists[i]) for i in range(k)), Fraction(0)
        )
        assert_exact(result, row, top, f"row {matrix[row]}")


@settings(max_examples=100)
@given(st.integers(1, 5), st.integers(1, 4), st.booleans(), st.data())
def test_linear_maps_of_points_contain_the_exact_result(k: int, r: int, sparse: bool, data: st.DataObject) -> None:
    """Sums that are taken for exact are: of whole numbers, or with one term and a factor that does not scale it."""
    from scipy.sparse import csr_matrix

    numbers = st.one_of(st.sampled_from([0.0, 0.0, 1.0, -1.0, 2.0, 0.1, 2.0**51, 5e-324]), floats)
    v = np.array(data.draw(st.lists(numbers, min_size=k, max_size=k)))
    matrix = np.array(data.draw(st.lists(numbers, min_size=r * k, max_size=r * k))).reshape(r, k)
    result = Interval.point(v[None]).linear(csr_matrix(matrix) if sparse else matrix)[0]
    for row in range(r):
        total = sum((Fraction(float(a)) * Fraction(float(b)) for a, b in zip(matrix[row], v, strict=True)), Fraction(0))
        assert_exact(result, row, total, f"row {matrix[row]} at {v}")


@pytest.mark.parametrize("sparse", [False, True])
def test_linear_maps_of_points_are_points_where_nothing_rounds(sparse: bool) -> None:
    from scipy.sparse import csr_matrix

    matrix = np.array([[0.1, 0.2, 0.0], [1.0, -1.0, 0.0], [0.0, 0.0, 1.0], [0.1, 0.1, 0.1]])
    result = Interval.point([[1.0, 0.0, 0.3], [1.0, 1.0, 7.0]]).linear(csr_matrix(matrix) if sparse else matrix)
    known = result.lo == result.hi
    assert known.tolist() == [[True, True, True, False], [False, True, True, False]]
    assert result.lo[known].tolist() == [0.1, 1.0, 0.3, 0.0, 7.0]


ARGUMENTS: dict[str, st.SearchStrategy[float]] = {
    "arcsin": st.floats(-1, 1),
    "arccos": st.floats(-1, 1),
    "log": st.one_of(st.floats(1e-300, 1e300), st.floats(0.5, 2)),
    "log2": st.one_of(st.floats(1e-300, 1e300), st.floats(0.5, 2)),
    "log10": st.one_of(st.floats(1e-300, 1e300), st.floats(0.5, 2)),
    "log1p": st.one_of(st.floats(-0.999, 1e10), st.floats(-1e-5, 1e-5)),
    "sqrt": st.one_of(st.floats(0, 1e300), st.floats(0, 4)),
    "exp": st.one_of(st.floats(-700, 700), st.floats(-1, 1)),
    "exp2": st.one_of(st.floats(-1000, 1000), st.floats(-1, 1)),
    "expm1": st.one_of(st.floats(-700, 700), st.floats(-1e-3, 1e-3)),
    "sinh": st.one_of(st.floats(-700, 700), st.floats(-1, 1)),
    "cosh": st.one_of(st.floats(-700, 700), st.floats(-1, 1)),
    "tanh": st.one_of(st.floats(-30, 30), st.floats(-1e-3, 1e-3)),
    "arcsinh": st.one_of(st.floats(-1e300, 1e300), st.floats(-2, 2), st.floats(-1e-3, 1e-3)),
    "arccosh": st.one_of(st.floats(1, 1e300), st.floats(1, 2)),
    "arctanh": st.one_of(st.floats(-0.999, 0.999), st.floats(-1e-3, 1e-3)),
    "expit": st.one_of(st.floats(-700, 700), st.floats(-1, 1)),
    "erfc": st.floats(-8, 8),
    "erf": st.one_of(st.floats(-8, 8), st.floats(-1e-3, 1e-3)),
    "tan": st.one_of(st.floats(-10, 10), st.floats(-1e6, 1e6)),
    "ndtr": st.one_of(st.floats(-8, 8), st.floats(-1e-3, 1e-3)),
    "gamma": st.one_of(st.floats(1e-6, 170), st.floats(0.5, 3)),
    "gammaln": st.one_of(st.floats(1e-6, 1e6), st.floats(0.5, 3)),
    "entr": st.one_of(st.floats(0, 1e6), st.floats(0, 2)),
    "exprel": st.one_of(st.floats(-700, 700), st.floats(-1, 1)),
}
_WAVES = st.one_of(st.floats(-10, 10), st.floats(-1e6, 1e6), st.floats(-1e-3, 1e-3))


@pytest.mark.parametrize("name", FUNCTIONS)
@settings(max_examples=15)
@given(st.data())
def test_elementary_functions_contain_the_exact_values(name: str, data: st.DataObject) -> None:
    values = np.array(data.draw(st.lists(ARGUMENTS.get(name, _WAVES), min_size=4, max_size=4)))
    f = FUNCTIONS[name]
    other = np.roll(values, 1)
    point, wide = f(Interval(values, values)), f(Interval(np.minimum(values, other), np.maximum(values, other)))
    inside = np.clip(0.5 * values + 0.5 * other, np.minimum(values, other), np.maximum(values, other))
    for i, (u, v) in enumerate(zip(values, inside, strict=True)):
        if name != "reciprocal" or u != 0:
            value = exact.evaluate(name, u)
            for box in (point, wide):
                assert exact.contains(box.lo[i], box.hi[i], value), (
                    f"{name}({u!r}) = {value:.25}, {box.lo[i]!r}, {box.hi[i]!r}"
                )
        if name != "reciprocal" or v != 0:
            value = exact.evaluate(name, v)
            assert exact.contains(wide.lo[i], wide.hi[i], value), (
                f"{name}({v!r}) = {value:.25}, {wide.lo[i]!r}, {wide.hi[i]!r}"
            )


@pytest.mark.parametrize("order", range(4))
@settings(max_examples=25)
@given(st.lists(st.one_of(_WAVES, st.floats(-1.5, 1.5), st.just(0.0)), min_size=4, max_size=4))
def test_derivatives_of_sinc_contain_the_exact_values(order: int, values: list[float]) -> None:
    u = np.array(values)
    other = np.roll(u, 1)
    lower, upper = np.minimum(u, other), np.maximum(u, other)
    point, wide = sinc(Interval(u, u), order), sinc(Interval(lower, upper), order)
    assert (point.hi - point.lo <= 1e-13).all()
    for v in (u, other, 0.3 * u + 0.7 * other):
        for i in range(len(u)):
            with localcontext() as context:
                context.prec = 400
                value = exact.sinc(Decimal(float(v[i])), order)
            assert exact.contains(wide.lo[i], wide.hi[i], value)
            if v is u:
                assert exact.contains(point.lo[i], point.hi[i], value)
                assert abs(float(value) - float(sinc(u[i], order))) <= 3e-14


def test_sinc_over_everything() -> None:
    box = sinc(Interval(np.array([-np.inf, 0.0]), np.array([np.inf, np.inf])))
    assert (box.lo <= -0.217).all()
    assert (box.hi >= 1).all()
    assert np.isfinite(box.hi).all()


CORNERS = st.sampled_from([-2.0, -1.0, -0.5, -1e-9, -0.0, 0.0, 1e-9, 0.5, 1.0, 2.0])
SIDES = st.tuples(CORNERS, CORNERS, st.floats(-2, 2), st.floats(-2, 2))


@settings(max_examples=150)
@example((-2.0, -0.5, 0.0, 0.0), (-1.0, 0.0, 0.0, 0.0), True, 0)  # the cut is the upper side of the box
@example((-2.0, 0.0, 0.0, 0.0), (-1.0, 0.5, 0.0, 0.0), True, 0)  # and here the lower one, up to which it is smooth
@given(SIDES, SIDES, st.booleans(), st.integers(0, 1000))
def test_angles_contain_their_values_and_know_their_cut(
    first: tuple[float, ...], second: tuple[float, ...], rounded: bool, seed: int
) -> None:
    """Boxes around and beside the origin and the cut; the angle itself is checked in long decimals."""
    ends = np.sort(np.array([first[:2], second[:2]] if rounded else [first[2:], second[2:]]), axis=0)
    lower, upper = ends[:1], ends[1:]
    index = lsip.Index("y", lsip.Box([-2, -2], [2, 2]))
    tape = Tape((np.arctan2(index[1], index[0]),), (index,))
    box, slopes = tape.enclose(lower, upper), tape.gradients(lower, upper)
    outputs, _, _ = tape.quadratics(lower, upper, order=2 + seed % 2)
    rng = np.random.default_rng(seed)
    share = np.concatenate([rng.uniform(size=(20, 2)), [[0, 0], [0, 1], [1, 0], [1, 1], [0.5, 0.5]]])
    points = np.clip(lower + share * (upper - lower), lower, upper)
    zero = np.clip(np.zeros(2), lower[0], upper[0])
    points = np.concatenate([points, points * [1, 0] + zero * [0, 1], zero[None]]) + 0.0  # on the axis if it is there
    values, gradients = tape.derivatives(points)[:2]
    np.testing.assert_allclose(values[:, 0], np.arctan2(points[:, 1], points[:, 0]), rtol=1e-15)
    for point in points[::4]:
        assert exact.contains(box.lo[0, 0], box.hi[0, 0], exact.angle(*point))
    assert_contains(box, values, "arctan2")
    finite = np.isfinite(gradients)
    assert_contains(slopes, np.where(finite, gradients, np.nan), "the slopes of arctan2")
    centre, radius = middle(lower, upper)
    d = np.where(radius > 0, (points - centre) / np.where(radius > 0, radius, 1.0), 0.0)
    one = Formula("arctan2", (), np.pi, 2)
    for k in range(len(points)):
        assert_expansions_contain(outputs, values[k : k + 1], d[k : k + 1], True, one)


@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
@settings(max_examples=20)
@given(k=st.integers(-200_000, 200_000), shift=st.integers(-3, 3), width=st.sampled_from([0, 1, 2, 5]))
def test_turning_points_and_poles_are_never_missed(name: str, k: int, shift: int, width: int) -> None:
    """Boxes of a few floats around multiples of pi / 2."""
    middle_float = k * (np.pi / 2)
    lo = middle_float + shift * np.spacing(abs(middle_float))
    hi = lo + width * np.spacing(abs(middle_float))
    box = FUNCTIONS[name](Interval(np.array([lo]), np.array([hi])))
    for u in (lo, hi):
        assert exact.contains(box.lo[0], box.hi[0], exact.evaluate(name, u)), (u, box.lo, box.hi)
    turns = exact.Decimal(k) * exact.PI / 2
    if name != "tan" and exact.Decimal(float(lo)) <= turns <= exact.Decimal(float(hi)):
        top = {"sin": (0, 1, 0, -1), "cos": (1, 0, -1, 0)}[name][k % 4]
        assert box.lo[0] <= top <= box.hi[0]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_elementary_functions_say_nothing_outside_their_domain(name: str) -> None:
    """Where an argument leaves the domain nothing is claimed; where it leaves in part, the rest is enclosed."""
    f = FUNCTIONS[name]
    u = Interval(np.array([-3.0, -3.0, -np.inf, 0.0]), np.array([-2.0, 0.5, np.inf, np.inf]))
    box = f(u)
    for i, v in ((0, -2.5), (1, 0.25), (1, 0.5), (2, 0.25), (3, 0.25), (3, 1.0), (2, -0.75), (1, -0.75)):
        value = f.value(np.float64(v))
        if np.isfinite(value):
            assert not value < box.lo[i], (name, v)
            assert not value > box.hi[i], (name, v)
        elif i == 0:
            assert np.isnan(box.lo[i])
            assert np.isnan(box.hi[i])


# ---- bounds of quadratics ------------------------------------------------------------------------------------------


@settings(max_examples=80)
@given(
    m=st.integers(1, 4),
    seed=st.integers(0, 10_000),
    kind=st.sampled_from(["any", "concave", "convex", "flat", "huge", "mixed", "whole"]),
)
def test_bounds_of_quadratics_hold_everywhere(m: int, seed: int, kind: str) -> None:
    rng = np.random.default_rng(seed)
    count, (i, j) = 6, triangle(m)
    v, g = rng.normal(size=count), rng.normal(size=(count, m))
    root = rng.normal(size=(count, m, m))
    h = root @ np.swapaxes(root, 1, 2) if kind in ("concave", "convex") else root + np.swapaxes(root, 1, 2)
    h = -h if kind == "concave" else h
    if kind == "flat":
        h, g = h * rng.choice([0.0, 1e-12], (count, 1, 1)), g * rng.choice([0.0, 1.0], (count, m))
    if kind == "huge":
        scale = 10.0 ** rng.uniform(-150, 150, count)
        v, g, h = v * scale, g * scale[:, None], h * scale[:, None, None]
    if kind == "mixed":
        g, h = g * 10.0 ** rng.uniform(-8, 8, (count, m)), h * 10.0 ** rng.uniform(-8, 8, (count, 1, 1))
    if kind == "whole":
        v, g = np.round(v), np.round(2 * g)
        h = np.round(h)
        h = np.triu(h) + np.swapaxes(np.triu(h, 1), 1, 2)
    q = h[:, i, j]
    bound, d = bound_quadratics(v, g, q)
    assert (np.abs(d) <= 1 + 1e-12).all()
    tried = np.concatenate([rng.uniform(-1, 1, (200, m)), rng.choice([-1.0, 0.0, 1.0], (100, m)), np.clip(d, -1, 1)])
    weight = np.where(i == j, 0.5, 1.0) * tried[:, i] * tried[:, j]
    values = v[:, None] + g @ tried.T + q @ weight.T
    best = values.argmax(1)
    for n in range(count):
        e = [Fraction(float(t)) for t in tried[best[n]]]
        top = Fraction(float(v[n])) + sum(Fraction(float(g[n, a])) * e[a] for a in range(m))
        top += sum(
            Fraction(float(q[n, k])) * e[a] * e[b] / (2 if a == b else 1)
            for k, (a, b) in enumerate(zip(i, j, strict=True))
        )
        assert top <= Fraction(float(bound[n])), (v[n], g[n], q[n], tried[best[n]], bound[n])
    if m == 1 or kind == "concave":
        size = np.abs(v) + np.abs(g).sum(1) + np.abs(q).sum(1)
        assert (bound - values.max(1) <= (1e-12 if m == 1 else 0.2) * size + 1e-300).all()


def test_bounds_of_quadratics_with_unknown_numbers_are_not_small() -> None:
    """Nothing that is infinite or nan may come out as a finite bound."""
    for m in (1, 2, 3):
        k = m * (m + 1) // 2
        for bad in (np.inf, -np.inf, np.nan):
            for place in ("g", "q"):
                v, g, q = np.zeros(1), np.ones((1, m)), -np.ones((1, k))
                (g if place == "g" else q)[0, 0] = bad
                with np.errstate(all="ignore"):
                    bound, _ = bound_quadratics(v, g, q)
                assert not np.isfinite(bound[0]) or (place == "q" and bad == -np.inf), (m, bad, place, bound)
