"""What passes between violations, oracles and families: the set a proof is about, whose word it is, and for which x."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import lsip
from lsip.errors import ModelError
from lsip.model import FamilyViolation, RowFamily
from lsip.model.callables import black_box
from lsip.model.program import Program
from lsip.oracles import (
    BranchAndBound,
    EnclosableViolation,
    Grid,
    Multistart,
    Oracle,
    ProjectedSubgradient,
    RandomSearch,
    Separation,
    SupportFunction,
    ask,
    is_costly,
    is_instant,
    is_prover,
    supremum,
    tuned,
)
from lsip.oracles.memory import TUNING

from .strategies import numbers

Array = NDArray[np.float64]

# ---- a proof is about one index set ----------------------------------------------------------------------------------


def above_exp() -> tuple[lsip.Problem, Any]:
    """The lowest line above exp on [0, 1], at 1/2: the chord, of height (1 + e) / 2 there."""
    x, t = lsip.Variable(2, name="x"), lsip.Index("t", lsip.Interval(0, 1))
    return lsip.Problem(lsip.minimize(x[0] + x[1] / 2), [lsip.forall(t, x[0] + x[1] * t >= np.exp(t))]), x


def test_a_question_about_a_part_of_the_index_set_leaves_no_trace() -> None:
    program = above_exp()[0].compile()
    part = program.violation(0, np.array([1.0, 1.0])).over(lsip.Interval(0, 0.5))
    assert BranchAndBound().maximise(part).bound <= np.exp(0.5) - 1.5 + 1e-6
    solution = program.solve(sample_first=False, polish=False, verbose=False)
    assert solution.value == pytest.approx(0.5 * (1 + np.e), abs=1e-7)


@settings(max_examples=20)
@given(st.lists(st.tuples(numbers(0, 1), numbers(0, 1), numbers(-2, 2)), min_size=2, max_size=8))
def test_bounds_are_about_the_set_that_was_asked(questions: list[tuple[float, float, float]]) -> None:
    """Sets in any order, many of them again: each answer is what a family without a memory gives."""
    program = above_exp()[0].compile()
    for a, b, slope in [*questions, *questions]:
        violation = program.violation(0, np.array([1.0, slope]))
        part = violation.over(lsip.Interval(min(a, b), max(a, b)))
        found = supremum(part, tol=1e-9)
        ends = np.linspace(min(a, b), max(a, b), 501)[:, None]  # exp(t) - 1 - slope t is convex: largest at an end
        assert found.bound == pytest.approx(violation.values(ends).max(), abs=2e-9)
        assert part.domain.contains(found.points).all()


def test_what_is_kept_is_bounded_and_can_be_forgotten() -> None:
    program = above_exp()[0].compile()
    memory, violation = program.families[0].memory, program.violation(0, np.array([1.0, 2.0]))
    for end in np.linspace(0.1, 1.0, 3 * TUNING.most_sets):
        BranchAndBound().maximise(violation.over(lsip.Interval(0, end)))
    assert len(memory._kept) == TUNING.most_sets
    whole = memory.boxes
    BranchAndBound().maximise(violation)  # the last one asked about is still known
    assert memory.boxes == whole > 0 < memory.bytes
    memory.forget()
    assert memory.boxes == 0


def test_other_data_are_not_answered_from_memory() -> None:
    """A family whose numbers change says so with its `data_key`."""
    height = [1.0]
    rows = black_box(
        "f", lsip.Interval(0, 1), lambda y: np.ones((len(y), 1)), lambda y: np.full(len(y), height[0]), 1, (0.0, 0.0)
    )
    violation = FamilyViolation(RowFamily(rows, np.zeros((1, 1), dtype=np.intp)), np.array([2.0]))
    assert BranchAndBound().maximise(violation).bound == pytest.approx(1.0)
    height[0], rows.data_key = -5.0, "other"
    assert BranchAndBound().maximise(violation).bound == pytest.approx(7.0)


def test_a_part_must_lie_within_the_index_set() -> None:
    violation = above_exp()[0].compile().violation(0, np.zeros(2))
    for wrong in (lsip.Interval(0, 1.5), lsip.Interval(-0.1, 0.5), lsip.Box([0, 0], [1, 1])):
        with pytest.raises(ModelError, match="not a part of it"):
            violation.over(wrong)


# ---- whose word a bound is -------------------------------------------------------------------------------------------


def hidden(lipschitz: tuple[float, float] | None, domain: lsip.Domain) -> FamilyViolation:
    """sin(y) x <= |y|, by functions."""
    rows = black_box("the  hidden", domain, lambda y: np.sin(y), lambda y: np.abs(y[:, 0]), 1, lipschitz)
    return FamilyViolation(RowFamily(rows, np.zeros((1, 1), dtype=np.intp)), np.array([2.0]))


CONSTANTS = "the Lipschitz constants given for the hidden are right"


def test_a_bound_says_what_it_takes_on_trust() -> None:
    points, line = lsip.Finite([[0.0], [1.0], [2.0]]), lsip.Interval(0, 2)
    for violation, oracle, trusts in (
        (hidden((1.0, 1.0), line), BranchAndBound(max_boxes=200), (CONSTANTS,)),
        (hidden((1.0, 1.0), line).over(points), BranchAndBound(), ()),
        (hidden((0.0, 0.0), points), BranchAndBound(), ()),
        (hidden(None, points), Grid(), ()),
        (above_exp()[0].compile().violation(0, np.ones(2)), BranchAndBound(), ()),
        (above_exp()[0].compile().violation(0, np.ones(2)).over(lsip.Finite([[0.5]])), Grid(), ()),
        (boxed(affine, lsip.Box([-1, 0], [0.5, 2])).violation(0, np.ones(4)), SupportFunction(), ()),
    ):
        found = oracle.maximise(violation)
        assert np.isfinite(found.bound)
        assert found.trusts == trusts
        assert is_prover(oracle)
    assert supremum(hidden((1.0, 1.0), line), tol=1e-2).trusts == (CONSTANTS,)


def test_bounds_of_others_are_their_own_word() -> None:
    class Better(BranchAndBound):
        pass

    assert not is_prover(Better())
    assert not any(is_prover(oracle) for oracle in (RandomSearch(), Multistart(), ProjectedSubgradient()))
    assert lsip.oracles.Separation(np.zeros((1, 1)), np.zeros(1), 0.0).trusts == ("the bound is the oracle's own word",)


@settings(max_examples=30)
@given(st.lists(numbers(-1, 1), min_size=1, max_size=6), st.lists(numbers(-3, 3), min_size=4, max_size=4))
@pytest.mark.parametrize("radius", [None, np.array([1e-15, 0.5, 0.0, 1e-3])])
def test_a_grid_of_all_points_is_rounded_up(radius: Array | None, ys: list[float], x: list[float]) -> None:
    """Exact values at every point of a finite set, with the worst corner of the box of x."""
    domain = lsip.Finite(np.array([[y, 1 - y] for y in ys]))
    violation = boxed(curved, domain).violation(0, np.array(x), radius=radius)
    bound = Grid().maximise(violation).bound
    half = np.zeros(4) if radius is None else radius
    exact = max(
        sum(c * Fraction(v) + abs(c) * Fraction(r) for c, v, r in zip(a, x, half, strict=True)) - b
        for y in domain.points
        for a, b in exact_rows(curved, [Fraction(v) for v in y])
    )
    assert exact <= Fraction(bound) <= exact + Fraction(1e-12)


def test_what_can_be_enclosed_is_a_capability_not_a_class() -> None:
    """Rows by functions have the protocol as well as rows by formulas, and say what they can."""
    line = lsip.Interval(0, 1)
    for violation, enclosable in (
        (above_exp()[0].compile().violation(0, np.ones(2)), True),
        (hidden((1.0, 1.0), line), True),
        (hidden(None, line), False),
    ):
        assert isinstance(violation, EnclosableViolation)
        assert isinstance(violation.family, RowFamily)
        assert violation.family.enclosable is enclosable


class Foreign:
    """Somebody else's rows, y x <= 1 over [0, 1], behind the protocol."""

    components, weights, spread, domain = 1, np.array([[3.0, -1.0]]), None, lsip.Interval(0, 1)

    def __init__(self) -> None:
        x, t = lsip.Variable(1, name="x"), lsip.Index("t", self.domain)
        self.family = lsip.Problem(lsip.minimize(x[0]), [lsip.forall(t, t * x[0] <= 1)]).compile().families[0]

    def values(self, y: Array) -> Array:
        return 3 * y - 1

    def at(self, y: Array, component: Any) -> Array:
        return 3 * y[:, 0] - 1

    def derivatives(self, y: Array, component: Any) -> None:
        return None


@pytest.mark.parametrize("oracle", [BranchAndBound(), SupportFunction()])
def test_a_violation_of_ones_own_is_enclosed_through_the_protocol(oracle: Oracle) -> None:
    found = oracle.maximise(Foreign())
    assert found.worst == 2.0
    assert 2.0 <= found.bound <= 2.0 + 1e-12
    assert found.trusts == ()


def test_time_and_room_reach_the_oracles_that_use_them() -> None:
    other = RandomSearch()
    asked = tuned(BranchAndBound(max_boxes=7, seconds=2.0), seconds=5.0, near=0.25)
    assert asked == BranchAndBound(max_boxes=7, seconds=2.0, near=0.25)
    assert tuned(asked, seconds=1.0) == BranchAndBound(max_boxes=7, seconds=1.0)
    assert tuned(asked, seconds=-0.04).seconds == 0.0, "a deadline that is over leaves no time, and is no error"
    assert tuned(other, seconds=1.0) is other
    assert [(is_instant(o), is_costly(o)) for o in (BranchAndBound(), SupportFunction(), Grid())] == [
        (False, True),
        (True, False),
        (False, False),
    ]


# ---- a proof about every point of a box of x -------------------------------------------------------------------------


def curved(y: Any) -> list[Any]:
    return [y[0] ** 2 - 3 * y[1], y[0] * y[1] + 1, abs(y[0] - y[1] / 4), y[1] ** 3 - y[0], y[0] * y[0] * y[1]]


def affine(y: Any) -> list[Any]:
    return [y[0] - 3 * y[1], y[0] + y[1] + 1, 2 * y[1] - y[0] / 4, y[0] - 1, 3 * y[0] + y[1]]


def boxed(coefficients: Any, domain: lsip.Domain) -> Program:
    """Four coefficients and a right-hand side, in two rows that share variables."""
    x, y = lsip.Variable(4, name="x"), lsip.Index("y", domain)
    *a, b = coefficients(y)
    rows = [sum(c * x[k] for k, c in enumerate(a)) <= b, a[1] * x[0] - a[0] * x[2] + 0 * x[1] <= b + 1]
    return lsip.Problem(lsip.minimize(x.sum()), [lsip.forall(y, row) for row in rows]).compile()


def exact_rows(coefficients: Any, y: list[Fraction]) -> list[tuple[list[Fraction], Fraction]]:
    *a, b = coefficients(y)
    return [(a, b), ([a[1], Fraction(0), -a[0], Fraction(0)], b + 1)]


@pytest.mark.parametrize("scale", [1.0, 0.0])
@pytest.mark.parametrize("reach", [1e-15, 1e-6, 0.1])
@pytest.mark.parametrize(
    ("coefficients", "oracle"), [(curved, BranchAndBound()), (affine, SupportFunction()), (affine, BranchAndBound())]
)
def test_a_bound_with_a_radius_holds_for_every_point_of_the_box(
    coefficients: Any, oracle: Any, reach: float, scale: float
) -> None:
    rng = np.random.default_rng(7)
    domain = lsip.Box([-1.0, 0.0], [0.5, 2.0])
    program = boxed(coefficients, domain)
    points = [[Fraction(v) for v in y] for y in np.concatenate([domain.sample(150, 1), domain.grid(5)])]
    rows = [row for y in points for row in exact_rows(coefficients, y)]
    for _ in range(4):
        x = rng.normal(size=4) * 10.0 ** rng.integers(-3, 4, size=4)
        radius = reach * rng.random(4) * np.abs(x) * [1, 0, 1, 1]
        violation = program.violation(0, x, scale, radius)
        plain = supremum(program.violation(0, x, scale), tol=1e-9).bound
        found = oracle.maximise(violation, target=plain)
        bound = min(found.bound, supremum(violation, tol=1e-9).bound)
        worst = -np.inf
        for a, b in rows:
            # The worst corner of the box for this row, and a point of it at random.
            for u in ([1 if c > 0 else -1 for c in a], rng.uniform(-1, 1, size=4)):
                moved = [Fraction(v) + Fraction(float(t)) * Fraction(r) for v, t, r in zip(x, u, radius, strict=True)]
                value = sum(c * v for c, v in zip(a, moved, strict=True)) - Fraction(scale) * b
                assert value <= Fraction(bound)
                worst = max(worst, float(value))
        assert found.worst <= found.bound
        if reach == 0.1:  # what is claimed is needed: the bound for x alone is broken
            assert worst > plain


def test_a_violation_with_a_radius_is_the_largest_over_the_box() -> None:
    """Values, derivatives and bounds are about one function."""
    program = boxed(curved, lsip.Box([-1.0, 0.0], [0.5, 2.0]))
    x, radius = np.array([1.0, -2.0, 0.5, 3.0]), np.array([0.1, 0.0, 0.2, 0.05])
    g = program.violation(0, x, radius=radius)
    y = program.families[0].domain.sample(50, 3)
    corners = x + radius * np.stack(np.meshgrid(*[[-1, 1]] * 4), axis=-1).reshape(-1, 4)
    expected = np.max([program.violation(0, c).values(y) for c in corners], axis=0)
    np.testing.assert_allclose(g.values(y), expected, rtol=1e-13)
    rows = np.zeros(len(y), dtype=np.intp)
    np.testing.assert_allclose(g.at(y, rows), expected[:, 0], rtol=1e-13)
    value, gradient, _ = g.derivatives(y, rows)  # type: ignore[misc]
    np.testing.assert_allclose(value, expected[:, 0], rtol=1e-13)
    step = 1e-6 * np.eye(2)
    slopes = np.stack([(g.at(y + s, rows) - g.at(y - s, rows)) / 2e-6 for s in step], axis=1)
    np.testing.assert_allclose(gradient, slopes, atol=1e-7)
    assert program.violation(0, x).spread is None


# ---- what users' oracles leave out ----------------------------------------------------------------------------------


class _Worst:
    """The worst point of a grid, with no word about the row that it belongs to."""

    def __init__(self, bound: Any) -> None:
        self.bound = bound

    def maximise(self, violation: Any, *, target: float = 0.0, seed: int = 0) -> Separation:
        y = np.linspace(0, 1, 101)[:, None]
        values = violation.values(y).max(axis=1)
        worst = np.argsort(-values)[:1]
        return Separation(y[worst], values[worst], self.bound)


def test_rows_that_an_oracle_does_not_name_are_those_violated_most() -> None:
    x, t = lsip.Variable(name="x"), lsip.Index("t", lsip.Interval(0, 1))
    rows = np.array([1.0, 2.0]) * x >= np.array([1.0, 6.0]) * t
    problem = lsip.Problem(lsip.minimize(x), [lsip.forall(t, rows)])
    found = ask(_Worst(np.inf), problem.compile().violation(0, np.array([2.0])))
    np.testing.assert_array_equal(found.components, [1])
    solution = problem.solve(oracle=_Worst(np.inf), verbose=False)
    assert solution.value == pytest.approx(3.0)


@pytest.mark.parametrize("bound", [Fraction(1, 3), np.float32(0.25), 1])
def test_bounds_of_any_type_of_number_are_doubles(bound: Any) -> None:
    x, t = lsip.Variable(name="x"), lsip.Index("t", lsip.Interval(0, 1))
    problem = lsip.Problem(lsip.minimize(x), [lsip.forall(t, x >= t)])
    found = ask(_Worst(bound), problem.compile().violation(0, np.array([0.5])))
    assert type(found.bound) is float
    assert found.bound == float(bound)


def test_what_cannot_maximise_is_no_oracle() -> None:
    x, t = lsip.Variable(name="x"), lsip.Index("t", lsip.Interval(0, 1))
    problem = lsip.Problem(lsip.minimize(x), [lsip.forall(t, x >= t)])
    with pytest.raises(ModelError, match="maximise"):
        ask(lsip.Box([0], [1]), problem.compile().violation(0, np.array([0.5])))  # type: ignore[arg-type]
