"""What is proven holds: nothing that any oracle, grid or sample attains exceeds a certified bound."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import lsip
from lsip.errors import ModelError
from lsip.expressions.interval import EPS
from lsip.kernel import native
from lsip.model import FamilyViolation, RowFamily
from lsip.model.callables import black_box
from lsip.model.program import Program
from lsip.oracles import BranchAndBound, Grid, Multistart, ProjectedSubgradient, RandomSearch, partition, taylor

from .strategies import Formula, domains, formulas, numbers

Array = NDArray[np.float64]
QUICK = BranchAndBound(max_boxes=3000, seconds=2.0)
SEARCHES = [
    RandomSearch(60),
    Grid(points=300),
    Multistart(starts=4, sample=64),
    ProjectedSubgradient(iterations=20),
]


def program_of(parts: list[Formula], domain: lsip.Domain) -> Program:
    """Rows a(y) x <= b(y), one for every pair of parts."""
    index = parts[0].index(domain)
    x, zero = lsip.Variable(1, name="x"), 0 * np.ravel(index)[0]  # some formulas do not depend on the index
    rows = [
        lsip.forall(index, a(index) * x[0] <= b(index) + zero) for a, b in zip(parts[::2], parts[1::2], strict=True)
    ]
    return lsip.Problem(lsip.minimize(x[0]), rows).compile()


@st.composite
def families(draw: Any, smooth: bool = False, dim: int | None = None) -> tuple[lsip.Domain, list[Formula]]:
    domain = draw(domains(dim))
    count = draw(st.sampled_from([2, 2, 4]))
    options = {"dim": domain.dim, "scalar": domain.scalar, "depth": 2, "smooth": smooth}
    return domain, [draw(formulas(**options)) for _ in range(count)]


def rounding(violation: FamilyViolation, parts: list[Formula]) -> float:
    """What evaluating the violation in floats may be off by; a proof is about real numbers."""
    return 64 * EPS * (1 + abs(violation.x[0])) * sum(p.bound for p in parts)


def sampled(domain: lsip.Domain, seed: int = 0) -> Array:
    per_axis = {1: 201, 2: 21}.get(domain.dim, 7)
    return np.concatenate([domain.sample(200, seed), domain.grid(per_axis), domain.grid(2), domain.spread(100)])


@settings(max_examples=40)
@given(families(), numbers(-3, 3), st.sampled_from([-1.0, 0.0, 2.0]), st.integers(0, 100))
def test_nothing_attained_exceeds_the_certified_bound(
    case: tuple[lsip.Domain, list[Formula]], x: float, target: float, seed: int
) -> None:
    domain, parts = case
    program = program_of(parts, domain)
    violation = program.violation(0, np.array([x]))
    proven = QUICK.maximise(violation, target=target)
    slack = rounding(violation, parts)
    assert domain.contains(proven.points).all()
    attained = violation.values(proven.points)[np.arange(len(proven.points)), proven.components]
    np.testing.assert_allclose(proven.values, attained, rtol=1e-12, atol=slack)
    assert proven.worst <= proven.bound
    assert violation.values(sampled(domain, seed)).max() <= proven.bound + slack
    for search in SEARCHES:
        found = search.maximise(violation, seed=seed)
        assert found.worst <= proven.bound + slack, (search, parts, found.points[0])
        assert found.worst <= found.bound + slack


@settings(max_examples=15)
@given(families(), st.lists(numbers(-3, 3), min_size=2, max_size=4))
def test_covers_kept_from_another_x_give_valid_bounds(
    case: tuple[lsip.Domain, list[Formula]], path: list[float]
) -> None:
    """Nothing that is kept depends on x; so every bound holds, whatever was asked before."""
    domain, parts = case
    program = program_of(parts, domain)
    points = sampled(domain)
    for x in [*path, path[0]]:
        violation = program.violation(0, np.array([x]))
        bound = QUICK.maximise(violation).bound
        assert violation.values(points).max() <= bound + rounding(violation, parts)


@settings(max_examples=15)
@given(families(), numbers(-3, 3))
def test_directions_are_bounded_without_the_right_hand_side(case: tuple[lsip.Domain, list[Formula]], x: float) -> None:
    domain, parts = case
    program = program_of(parts, domain)
    violation = program.violation(0, np.array([x]), scale=0.0)
    bound = QUICK.maximise(violation).bound
    assert violation.values(sampled(domain)).max() <= bound + rounding(violation, parts)


@settings(max_examples=30)
@given(families(smooth=True, dim=1) | families(smooth=True, dim=2), numbers(-2, 2))
def test_the_bound_is_tight_for_smooth_violations(case: tuple[lsip.Domain, list[Formula]], x: float) -> None:
    """Within the tolerance of the best value that a dense grid and local searches find."""
    domain, parts = case
    program = program_of(parts, domain)
    violation = program.violation(0, np.array([x]))
    grid = violation.values(domain.grid(401 if domain.dim == 1 else 61)).max()
    best = max(grid, Multistart(starts=8, sample=256).maximise(violation).worst)
    tol = 1e-6 * (1 + abs(best))
    proven = BranchAndBound(tol=tol).maximise(violation, target=best)
    assert proven.worst <= best + tol, "the grid and the searches missed the maximum"
    assert best - rounding(violation, parts) <= proven.bound <= best + 2 * tol


@pytest.mark.parametrize(
    ("source", "domain", "supremum"),
    [
        ("np.where(y <= 0.5, 1.0, 0.0)", lsip.Interval(0.5, 1), 1.0),
        ("np.where(y < 0.5, 0.0, 1.0)", lsip.Interval(0, 0.5), 1.0),
        ("np.where(y[0] >= y[1], 0.0, 1.0)", lsip.Box([0, 0], [1, 1]), 1.0),
        ("-np.abs(y - 1 / 3)", lsip.Interval(0, 1), 0.0),
        ("-np.linalg.norm(y)", lsip.Box([-1, -1], [1, 1]), 0.0),
        ("-np.abs(y[0]) - np.abs(y[1]) - np.abs(y[0] + y[1])", lsip.Box([-1, -2], [2, 1]), 0.0),
        ("np.sqrt(y) - y", lsip.Interval(0, 1), 0.25),
        ("-np.sqrt(np.abs(y - 0.3))", lsip.Interval(0, 1), 0.0),
        ("y[0] + y[1]", lsip.Ball([0, 0], 1), np.sqrt(2)),
        ("y[0] * y[1]", lsip.Ball([0, 0], 2), 2.0),
        ("y @ np.array([1.0, 2.0, 3.0])", lsip.Simplex(3), 3.0),
        ("-(y * np.log(y + 1e-300)).sum()", lsip.Simplex(2), np.log(2)),
        ("y[0] - y[1] ** 2", lsip.Polytope([[1, 1], [-1, 1], [0, -1]], [1, 1, 0]), 1.0),
        ("np.sin(3 * y)", lsip.Finite([[0.0], [0.5], [2.0]]), np.sin(1.5)),
        ("np.minimum(y, 1 - y)", lsip.Interval(0, 1), 0.5),
        ("np.maximum(np.sin(9 * y), np.cos(9 * y))", lsip.Interval(0, 1), 1.0),
        ("1 / (1 + 25 * y ** 2)", lsip.Interval(-1, 1), 1.0),
        ("np.exp(-1000 * (y - 0.123) ** 2)", lsip.Interval(0, 1), 1.0),
        ("y ** 20 - y ** 21", lsip.Interval(0, 1), (20 / 21) ** 20 / 21),
        ("np.sin(y[0]) * np.cos(y[1]) + y[2]", lsip.Box([0, 0, 0], [2, 1, 1]), 2.0),
        ("np.cos(y[0]) + y[1]", lsip.Interval(0, 1) * lsip.Finite([[0.0], [1.0]]), 2.0),
        ("y[0]", lsip.Ball([0, 0], 1) | lsip.Box([3, 0], [4, 1]) | lsip.Finite([[5.0, 5.0]]), 5.0),
    ],
)
def test_known_suprema_are_enclosed_tightly(source: str, domain: lsip.Domain, supremum: float) -> None:
    formula = Formula(source, (), 100.0, domain.dim, domain.scalar)
    violation = program_of([formula, Formula("0.0", (), 0.0, domain.dim)], domain).violation(0, np.ones(1))
    tol = 1e-3 if "norm" in source else 1e-6  # the root of a norm has no bounded derivative where the norm is 0
    found = BranchAndBound(tol=tol).maximise(violation, target=supremum + tol)
    assert supremum - 1e-12 <= found.bound <= supremum + 2.5 * tol


@settings(max_examples=15)
@given(domains(), st.integers(0, 1000), numbers(-2, 2))
def test_lipschitz_constants_bound_black_boxes(domain: lsip.Domain, seed: int, x: float) -> None:
    """Functions with a known Lipschitz constant in the sup norm, about which nothing else is known."""
    rng = np.random.default_rng(seed)
    w, shift = rng.normal(size=(2, domain.dim)), rng.normal(size=2)
    slope = np.abs(w).sum(axis=1)
    rows = black_box(
        "black box",
        domain,
        lambda y: np.sin(y @ w[0] + shift[0])[:, None],
        lambda y: np.abs(y @ w[1] + shift[1]),
        1,
        (float(slope[0]), float(slope[1])),
    )
    violation = FamilyViolation(RowFamily(rows, np.zeros((1, 1), dtype=np.intp)), np.array([x]))
    proven = QUICK.maximise(violation, target=-1.0)
    assert violation.values(sampled(domain)).max() <= proven.bound + 1e-12
    assert proven.worst <= proven.bound


def test_black_boxes_without_constants_are_refused() -> None:
    domain = lsip.Interval(0, 1)
    rows = black_box("f", domain, lambda y: np.ones((len(y), 1)), lambda y: np.zeros(len(y)), 1)
    family = RowFamily(rows, np.zeros((1, 1), dtype=np.intp))
    with pytest.raises(ModelError, match="lipschitz"):
        BranchAndBound().maximise(FamilyViolation(family, np.zeros(1)))


def violation_of(body: Any, domain: lsip.Domain) -> FamilyViolation:
    """body(y) * x <= 0 at x = 1."""
    index, x = lsip.Index("y", domain), lsip.Variable(1, name="x")
    program = lsip.Problem(lsip.minimize(x[0]), [lsip.forall(index, body(index) * x[0] <= 0)]).compile()
    return program.violation(0, np.ones(1))


@pytest.mark.parametrize("floor", [1e-3, 0.1, 0.7])
def test_quotients_of_maxima_are_bounded_before_any_box_is_split(floor: float) -> None:
    """A branch of a maximum, extended over a box, may reach zero where the maximum itself never does."""
    domain = lsip.Box([-1, -1], [1, 1])
    violation = violation_of(lambda y: 1 / np.maximum(y[0] + 0.3 * y[1], floor) + 1 / -np.minimum(y[1], -floor), domain)
    found = BranchAndBound(max_boxes=1).maximise(violation, target=0.0)
    attained = violation.values(domain.grid(301)).max()
    assert attained <= found.bound < 10 / floor
    a, _ = violation.family.enclosed(domain.lower[None], domain.upper[None], np.zeros(1, dtype=np.intp))
    assert attained <= float(a.hi[0, 0]) <= 2.1 / floor


def test_a_search_stops_splitting_where_its_memory_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """The row is 0 everywhere, and no enclosure says so: only memory ends the search, and arrays have no more room."""
    monkeypatch.setattr(partition, "TUNING", replace(partition.TUNING, most_bytes=4.2e5))
    y, x = lsip.Index("y", lsip.Box([0, 0], [1, 1])), lsip.Variable(2, name="x")
    bump = 1 / (1 + 9 * (y[0] - y[1]) ** 2)
    program = lsip.Problem(lsip.minimize(x[0]), [lsip.forall(y, bump * x[0] + y[0] * x[1] <= bump)]).compile()
    found = BranchAndBound(rounds=10**6).maximise(program.violation(0, np.array([1.0, 0.0])))
    assert 0 <= found.bound < 1e-2
    memory = program.families[0].memory
    (held,) = memory.take(program.families[0], program.families[0].domain).cells
    assert held.most - 16 < held.n <= held.most
    assert max(len(store) for store in held.columns.values()) <= held.most


@given(st.floats(-1, 1), st.floats(-1, 1), st.floats(0.01, 0.5), st.integers(0, 2**32))
@settings(max_examples=30)
def test_what_is_said_of_a_whole_box_holds_on_its_pieces(u: float, v: float, floor: float, seed: int) -> None:
    domain = lsip.Box([-1, -1], [1, 1])

    def body(y: Any) -> Any:
        along = np.maximum(y[0] - u, floor)
        return np.exp(-(((y[1] - v) / along) ** 2)) / along - np.minimum(np.maximum(y[1], u) / along, 3.0)

    violation = violation_of(body, domain)
    proven = BranchAndBound(max_boxes=400, seconds=1.0).maximise(violation)
    assert violation.values(sampled(domain, seed)).max() <= proven.bound
    assert violation.values(domain.grid(101)).max() <= proven.bound


def test_boxes_to_start_with_are_few_in_many_dimensions() -> None:
    """Cutting every axis of thirty once would make a thousand million of them; the widest are cut."""
    m = 30
    y, x = lsip.Index("y", lsip.Box(np.zeros(m), np.r_[np.ones(m - 1), 5.0])), lsip.Variable(1, name="x")
    program = lsip.Problem(lsip.minimize(x[0]), [lsip.forall(y, x[0] >= np.exp(y.sum() / m))]).compile()
    found = BranchAndBound(max_boxes=600).maximise(program.violation(0, np.array([2 * np.exp(34 / 30)])))
    assert found.bound <= 0
    (boxes,) = program.families[0].memory.take(program.families[0], program.families[0].domain).cells
    assert boxes.n <= 600
    assert (boxes.upper - boxes.lower)[:, -1].max() <= 2.5


def test_the_oracle_is_chosen_by_what_a_first_look_costs() -> None:
    def chosen(m: int) -> str:
        y, x = lsip.Index("y", lsip.Box(np.zeros(m), np.ones(m))), lsip.Variable(1, name="x")
        problem = lsip.Problem(lsip.minimize(x[0]), [lsip.forall(y, x[0] >= np.exp(y.sum()))])
        return type(lsip.oracles.pick_oracle(problem.compile().families[0])).__name__

    assert [chosen(m) for m in (1, 5, 6)] == ["BranchAndBound"] * 3
    assert [chosen(m) for m in (9, 30)] == ["Multistart"] * 2


def test_sums_of_waves_are_bounded_up_to_the_last_double_of_an_interval() -> None:
    """They rise by 6e-6 from one double to the next here, and rounding once took the last one for proven."""
    flint = pytest.importorskip("flint")
    factors = [-4.81e7, 12645.2, 193.8, 625.2, 18674.3, -0.2527, 1.396e8, 1.537e7, -7.263e6, -4288.3]
    x = lsip.Variable(11, name="x")
    for k in range(12):
        upper = 68.23199732601555 + k * 2.0**-41
        t = lsip.Index("t", lsip.Interval(upper - 1e-3, upper))
        waves = [np.sin(j * t) if j in (1, 3, 6, 9) else np.cos(j * t) for j in range(10)]
        rows = lsip.forall(t, sum(x[j] * wave for j, wave in enumerate(waves)) + x[10] <= 0)
        program = lsip.Problem(lsip.minimize(x[10]), [rows]).compile()
        with flint.ctx.workprec(200):
            angles = [flint.arb(j) * flint.arb(upper) for j in range(10)]
            ends = [a.sin() if j in (1, 3, 6, 9) else a.cos() for j, a in enumerate(angles)]
            at_end = sum(flint.arb(f) * end for f, end in zip(factors, ends, strict=True))
            level = float(np.nextafter(-float(at_end.mid()), np.inf))
            found = lsip.oracles.BranchAndBound().maximise(program.violation(0, np.array([*factors, level])))
            assert not at_end + flint.arb(level) > flint.arb(found.bound)


@pytest.mark.parametrize("reference", [False, True])
@pytest.mark.parametrize("size", [1e-300, 1.0, 1e39])
def test_bounds_hold_in_many_dimensions_whatever_the_size_of_coefficients(size: float, reference: bool) -> None:
    m, rng = 5, np.random.default_rng(0)
    y, x = lsip.Index("y", lsip.Box(np.zeros(m), np.ones(m))), lsip.Variable(3, name="x")
    rows = size * np.stack([np.exp(y @ rng.normal(size=m)) for _ in range(3)])
    program = lsip.Problem(lsip.minimize(x[0]), [lsip.forall(y, rows @ x <= size * np.sin(y.sum()))]).compile()
    family, weights = program.families[0], np.array([[1.5, -2.0, 0.7, -1.0]])
    with native.by_reference(reference):
        boxes = partition.BoxPartition(taylor.Taylor(family, family.domain.cells()[0]))
        found = boxes.bounds(weights).upper[:, 0]
    points = boxes.lower + rng.random((40, boxes.n, m)) * (boxes.upper - boxes.lower)
    a, b = family.rows(points.reshape(-1, m))
    value = (np.concatenate([a, b[..., None]], axis=-1) @ weights[0]).reshape(40, boxes.n).max(axis=0)
    assert (value <= found + 1e-15 * size).all()
