"""Duals and active points are those of what was written, whatever solvers see of it.

Nothing here looks at how a model is solved. Stationarity is re-evaluated with the points and multipliers that users see
and with coefficient functions that are written down a second time; and right-hand sides are moved, by numbers at
the reported point or by functions over the whole index set, and the change of the optimum is compared with what the
multipliers say.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lsip
from benchmarks.harness.soundness.answers import ask
from benchmarks.harness.soundness.classes import generate
from benchmarks.harness.soundness.judge import judge
from lsip import forall, maximize, minimize

inf = np.inf
Row = Callable[[Any], list[Any]]  # of an index point: coefficients as they were written
STEP = 1e-4


@dataclass
class Case:
    """A model by its arrays: what is minimised or maximised, rows over an index, and finite rows.

    Rows are coefficients(y) @ x (sign) side(y); `divided` are those of the limits that `divided_by` names.
    """

    cost: list[float]
    rows: list[tuple[str, lsip.Domain, Row, str, Callable[[Any], Any]]]  # name, set, coefficients, sign, side
    finite: list[tuple[str, list[float], str, float]] = field(default_factory=list)
    limits: dict[str, Callable[[Any], list[float]]] = field(default_factory=dict)  # by divided_by, at a point
    maximise: bool = False
    bounds: tuple[float, float] = (-9.0, 9.0)
    shifts: list[Callable[[Any], Any]] = field(default_factory=list)  # functions g >= 0 by which sides are moved
    tol: float = 1e-10

    def solve(self, moved: dict[str, Callable[[Any], Any]] | None = None, push: dict[str, float] | None = None) -> Any:
        """The solution, with sides moved by functions or by numbers."""
        n = len(self.cost)
        x = lsip.Variable(n, name="x", lower=self.bounds[0], upper=self.bounds[1])
        constraints: list[Any] = []
        for name, domain, row, sign, side in self.rows:
            y = lsip.Index(f"y_{name}", domain)
            left = sum(c * x[j] for j, c in enumerate(row(y)) if not (isinstance(c, int | float) and c == 0))
            right = side(y) + ((moved or {}).get(name, lambda _: 0.0)(y))
            constraints.append(forall(y, left >= right if sign == ">=" else left <= right, name=name))
        for name, numbers, sign, side in self.finite:
            value = np.array(numbers) @ x
            right = side + (push or {}).get(name, 0.0)
            constraint = value >= right if sign == ">=" else value <= right if sign == "<=" else value == right
            constraints.append(constraint.named(name))
        cost = np.array(self.cost) @ x
        objective = maximize(cost) if self.maximise else minimize(cost)
        return lsip.Problem(objective, constraints).solve(verbose=False, tol=self.tol)


def poly(*numbers: float) -> Callable[[Any], Any]:
    return lambda t: sum(c * t**k for k, c in enumerate(numbers))


def powers(count: int) -> Row:
    return lambda t: [1.0, *(t**k for k in range(1, count))]


bump = lambda t: 1 / (1 + t**2)  # noqa: E731


def leading(count: int, sign: float = 1.0) -> Callable[[Any], list[float]]:
    """The limit of powers divided by the highest one, at plus or minus infinity."""
    return lambda _: [0.0] * (count - 1) + [sign ** (count - 1)]


HALF = lsip.Interval(1, inf)
CASES: dict[str, Case] = {
    "interval": Case([1, 0.5, 1 / 3], [("a", lsip.Interval(0, 1), powers(3), ">=", np.tan)], shifts=[np.exp, bump]),
    "interval_below": Case(
        [1, 0.5, 0.3], [("a", lsip.Interval(0, 2), powers(3), "<=", np.cos)], maximise=True, shifts=[np.exp, bump]
    ),
    "half_line": Case(
        [1, 5], [("a", HALF, lambda t: [1.0, t**2], ">=", poly(0, 3))], shifts=[poly(1), poly(0, 1), poly(1, 1, 1)]
    ),
    "half_line_at_its_end": Case([1], [("a", HALF, lambda t: [t**2], ">=", poly(1, 0, 1))], shifts=[poly(1)]),
    "half_line_far_out": Case(
        [1], [("a", HALF, lambda t: [t**2], ">=", poly(-1, 0, 1))], limits={"y_a²": lambda _: [1]}
    ),
    "half_line_to_the_left": Case(
        [1, 3],
        [("a", lsip.Interval(-inf, 300), lambda t: [1.0, (t - 300) ** 2], ">=", lambda t: (300 - t) / 2)],
        shifts=[poly(1)],
    ),
    "half_line_to_the_left_far_out": Case(
        [1], [("a", lsip.Interval(-inf, -1), lambda t: [t], "<=", poly(1, 3))], limits={"(-y_a)": lambda _: [-1]}
    ),
    "half_line_of_a_maximum": Case(
        [1, -2], [("a", HALF, lambda t: [t, -(t**2)], "<=", poly(0.25))], maximise=True, shifts=[poly(1), poly(0, 2)]
    ),
    "whole_line": Case(
        [1, 0.2, 4], [("a", lsip.Interval(-inf, inf), powers(3), ">=", poly(0, 2, -1))], shifts=[poly(1), poly(1, 0, 1)]
    ),
    "two_half_lines": Case(
        [1, 3],
        [
            ("a", HALF, lambda t: [1.0, t**2], ">=", poly(0, 3)),
            ("b", lsip.Interval(-inf, -2), lambda t: [1.0, -t], ">=", poly(1.5)),
        ],
        shifts=[poly(1)],
    ),
    "union": Case(
        [1, 0.4], [("a", lsip.Interval(0, 1) | lsip.Interval(2, 3), powers(2), ">=", np.sin)], shifts=[np.exp, bump]
    ),
    "union_of_discs": Case(
        [1, 0.1, 0.3],
        [
            (
                "a",
                lsip.Ball([0, 0], 1) | lsip.Ball([3, 1], 0.5),
                lambda y: [1.0, y[0], y[1]],
                ">=",
                lambda y: np.exp(y[0] / 3) + y[1] ** 2,
            )
        ],
        shifts=[lambda y: np.exp(y[0]), lambda y: 1 + y[1] ** 2],
    ),
    "simplex": Case(
        [1, 1.3, 0.9],
        [("a", lsip.Simplex(3), lambda y: [y[0], y[1], y[2]], ">=", lambda y: 1 + y[0] * y[1])],
        shifts=[lambda y: np.exp(y[0]), lambda y: 1 + y[2] ** 2],
    ),
    "ellipsoid": Case(
        [1, 0.1, 0.2],
        [
            (
                "a",
                lsip.Ellipsoid([0, 0], [[2, 0.3], [0.3, 1]]),
                lambda y: [1.0, y[0], y[1]],
                ">=",
                lambda y: y[0] ** 2 / 2 - y[1],
            )
        ],
        shifts=[lambda y: np.exp(y[0]), lambda y: 1 + y[1] ** 2],
    ),
    "curved_region": Case(
        [1, 0.3, 0.2],
        [
            (
                "a",
                lsip.Box([-1, -1], [1, 1]).where(lambda y: y[0] + y[1] ** 2 <= 1),
                lambda y: [1.0, y[0], y[1]],
                ">=",
                lambda y: y[0] * y[1],
            )
        ],
        shifts=[lambda y: np.exp(y[0])],
    ),
    "box_of_half_lines": Case(
        [1, 2, 3],
        [
            (
                "a",
                lsip.Box([0, 0], [inf, inf]),
                lambda y: [1.0, y[0] ** 2, y[1] ** 2],
                ">=",
                lambda y: y[0] + 2 * y[1],
            )
        ],
        shifts=[lambda y: 1 + 0 * y[0], lambda y: y[0]],
    ),
    "finite_rows": Case(
        [1, 1, 0.5],
        [("a", lsip.Interval(0, 1), powers(3), ">=", np.exp)],
        [("cap", [0, 1, 1], "<=", 1), ("floor", [1, 0, -1], ">=", 0.4), ("sum", [1, 1, 0], "==", 1.8)],
        shifts=[np.exp],
    ),
    "bounds": Case([1, 0.5, 1 / 3], [("a", lsip.Interval(0, 1), powers(3), ">=", np.tan)], bounds=(-0.2, 1.2)),
}
DIVIDED: dict[str, Case] = {
    "at_an_end": Case(
        [0, 1, 0.3],
        [("a", lsip.Interval(0, 1), powers(3), ">=", poly(0, 1, -1))],
        [("start", [1, 0, 0], "==", 0)],
        limits={"y_a": lambda _: [0, 1, 0]},
    ),
    "with_a_longer_equality": Case(
        [0.3, 1, 0.3, 0.2],
        [("a", lsip.Interval(0, 1), powers(4), ">=", poly(1, 1, -1))],
        [("start", [2, 0, 0, 0], "==", 2), ("more", [0, 1, -1, 1], "==", 0.25)],
        limits={"y_a": lambda _: [0, 1, 0, 0]},
    ),
    "at_the_upper_end": Case(
        [2, 1, 0],
        [("a", lsip.Interval(0, 2), powers(3), "<=", poly(4, -1, -0.5))],
        [("end", [1, 2, 4], "==", 0)],
        limits={"(2 - y_a)": lambda _: [0, -1, -4]},
        maximise=True,
    ),
    "squeezed": Case(
        [0, 1, -0.2],
        [
            ("low", lsip.Interval(0, 1), powers(3), ">=", poly(0)),
            ("high", lsip.Interval(0, 1), powers(3), "<=", poly(0, 1)),
        ],
        limits={"y_low": lambda _: [0, 1, 0], "y_high": lambda _: [0, 1, 0]},
        maximise=True,
    ),
    "squeezed_by_a_finite_row": Case(
        [0.2, 1, 0.3],
        [("a", lsip.Interval(0, 1), powers(3), ">=", poly(0, 1, -1))],
        [("cap", [1, 0, 0], "<=", 0)],
        limits={"y_a": lambda _: [0, 1, 0]},
    ),
    "squeezed_by_a_bound": Case(
        [0.2, 1, 0.3],
        [("a", lsip.Interval(0, 1), lambda t: [-1.0 + 0 * t, t, t**2], ">=", poly(9, 1, -1))],
        limits={"y_a": lambda _: [0, 1, 0]},
    ),
    "inside": Case(
        [0.3, 0.1, 1, 0.1],
        [("a", lsip.Interval(-1, 1), powers(4), ">=", poly(0, 0, 0.5))],
        [("touch", [1, 0, 0, 0], "==", 0)],
        limits={"y_a": lambda _: [0, 1, 0, 0], "y_a²": lambda _: [0, 0, 1, 0]},
    ),
    "far_out": Case(
        [1, 2, 0.4],
        [("a", lsip.Interval(0, inf), powers(3), ">=", poly(0, -1))],
        [("slow", [0, 0, 1], "==", 0)],
        limits={"y_a": lambda _: [0, 1, 0], "y_a²": lambda _: [0, 0, 1]},
    ),
}


def evaluated(case: Case, solution: Any) -> np.ndarray[Any, Any]:
    """c less all that multipliers say, by the points and multipliers that users see: zero at a solution."""
    sense = -1.0 if case.maximise else 1.0
    left = sense * np.array(case.cost, dtype=float)
    for name, _, row, sign, _ in case.rows:
        for a in solution.dual(name):
            point = float(a.point[0]) if len(a.point) == 1 else a.point
            numbers = row(point) if not a.divided_by else case.limits[a.divided_by](point)
            left += (-1.0 if sign == ">=" else 1.0) * a.multiplier * np.array(numbers, dtype=float)
    for name, numbers, sign, _ in case.finite:
        left += (-1.0 if sign == ">=" else 1.0) * solution.dual(name) * np.array(numbers)
    x = next(iter(solution.variables))
    return left - sense * solution.reduced_costs(x)


@pytest.mark.parametrize("name", [*CASES, *DIVIDED])
def test_stationarity_with_what_users_see(name: str, tmp_path: Path) -> None:
    case = {**CASES, **DIVIDED}[name]
    solution = case.solve()
    assert solution.certified
    assert solution.active
    size = max(map(abs, case.cost))
    assert evaluated(case, solution) == pytest.approx(np.zeros(len(case.cost)), abs=2e-5 * size)
    x = next(iter(solution.variables))
    reduced, values = solution.reduced_costs(x) * (-1 if case.maximise else 1), solution[x]
    assert (reduced[values > case.bounds[0] + 1e-5] <= 1e-5 * size).all(), "only what is at its lower bound"
    assert (reduced[values < case.bounds[1] - 1e-5] >= -1e-5 * size).all(), "only what is at its upper bound"
    for _, domain, row, _, side in case.rows:
        for a in solution.active:
            if a.constraint == _ and not a.divided_by:  # complementary
                point = float(a.point[0]) if len(a.point) == 1 else a.point
                scale = max(1.0, float(np.abs(row(point)).max()))
                assert abs(np.dot(row(point), values) - side(point)) * a.multiplier <= 1e-5 * scale * size
            assert domain.lower.shape
    solution.save(tmp_path / "s.npz")
    back = lsip.load(tmp_path / "s.npz")
    assert evaluated(case, back) == pytest.approx(np.zeros(len(case.cost)), abs=2e-5 * size)


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.shifts])
def test_moving_right_hand_sides_costs_what_multipliers_say(name: str) -> None:
    """A side moved by a function g costs the sum of λ g(y) over the active points."""
    case = CASES[name]
    solution = case.solve()
    for g in case.shifts:
        for row, _, _, sign, _ in case.rows:
            expected = sum(
                a.multiplier * float(g(float(a.point[0]) if len(a.point) == 1 else a.point)) for a in solution.dual(row)
            )
            ends = [case.solve(moved={row: lambda y, s=s: s * STEP * g(y)}).value for s in (1, -1)]  # noqa: B023
            slope = (ends[0] - ends[1]) / (2 * STEP) * (-1 if case.maximise else 1) * (1 if sign == ">=" else -1)
            assert slope == pytest.approx(expected, rel=2e-3, abs=2e-5), (name, row)


def test_moving_finite_sides_costs_what_multipliers_say() -> None:
    case = CASES["finite_rows"]
    solution = case.solve()
    for name, _, sign, _ in case.finite:
        ends = [case.solve(push={name: s * STEP}).value for s in (1, -1)]
        slope = (ends[0] - ends[1]) / (2 * STEP)
        assert slope * (1 if sign == ">=" else -1) == pytest.approx(solution.dual(name), rel=2e-3, abs=2e-5), name


def test_a_narrow_bump_at_the_reported_point() -> None:
    """Raising the right-hand side near the point alone moves the optimum; near another point, nothing moves."""
    x, t = lsip.Variable(2, name="x", lower=-9, upper=9), lsip.Index("t", lsip.Interval(0, 1) | lsip.Interval(2, 3))

    def value(at: float, height: float) -> Any:
        raised = np.sin(t) + height * np.exp(-(((t - at) / 0.05) ** 2))
        return lsip.Problem(minimize(x[0] + 0.4 * x[1]), [forall(t, x[0] + x[1] * t >= raised, name="a")]).solve(
            verbose=False, tol=1e-10
        )

    base = value(0.0, 0.0)
    for a in base.dual("a"):
        change = value(float(a.point[0]), 1e-6).value - base.value
        assert change == pytest.approx(1e-6 * a.multiplier, rel=0.02)
    away = [p for p in np.linspace(0, 1, 7) if all(abs(p - a.point[0]) > 0.3 for a in base.dual("a"))]
    assert away
    assert all(value(p, 1e-6).value == pytest.approx(base.value, abs=1e-9) for p in away)


# ---- what is no row of arrays: norms, maxima, cones, rules, integrals, identities ------------------------------------

t = lsip.Index("t", lsip.Interval(0, 1))
Moved = Callable[[float], tuple[lsip.Problem, Any]]  # with the right-hand side moved by so much: the constraint too


def _norm(e: float) -> tuple[lsip.Problem, Any]:
    x = lsip.Variable(3, name="x", lower=-9, upper=9)
    reach = forall(t, np.linalg.norm(np.stack([x[0] - t, x[1] + t**2])) <= x[2] + e * np.exp(t))
    return lsip.Problem(minimize(x[2] + 0.1 * x[0]), [reach]), (reach, np.exp)


def _finite_norm(e: float) -> tuple[lsip.Problem, Any]:
    x = lsip.Variable(3, name="x", lower=-9, upper=9)
    ball = np.linalg.norm(x - np.array([1.0, 2, 3])) <= 2 + e
    return lsip.Problem(minimize(x.sum()), [ball, forall(t, x[0] >= t * x[1] - 9)]), (ball, None)


def _absolute(e: float) -> tuple[lsip.Problem, Any]:
    x = lsip.Variable(2, name="x", lower=-9, upper=9)
    band = forall(t, np.abs(x[0] + x[1] * t - t**2) <= 0.5 + e * (1 + t))
    return lsip.Problem(minimize(x[0] + 0.4 * x[1]), [band]), (band, lambda v: 1 + v)


def _sum_of_absolutes(e: float) -> tuple[lsip.Problem, Any]:
    x = lsip.Variable(8, name="x", lower=-9, upper=9)
    most = np.abs(x - np.arange(8)).sum() <= 3 + e
    return lsip.Problem(minimize(x @ np.linspace(1, 2, 8)), [most, forall(t, x[0] >= t - 9)]), (most, None)


def _maximum(e: float) -> tuple[lsip.Problem, Any]:
    x = lsip.Variable(2, name="x", lower=-9, upper=9)
    most = forall(t, np.maximum(x[0] * t - x[1], x[1] * (2 - t)) <= 1 + e * np.exp(t))
    return lsip.Problem(maximize(x[0] + 0.7 * x[1]), [most]), (most, np.exp)


def _semidefinite(e: float) -> tuple[lsip.Problem, Any]:
    x, s = lsip.Variable(name="x", lower=-9, upper=9), lsip.Index("s", lsip.Interval(-1, 1))
    m = np.stack([np.stack([x - 0.5, s]), np.stack([s, 2.0 + 0 * x])]) + e * np.eye(2)  # M + e I is definite
    cone = forall(s, lsip.psd(m))
    return lsip.Problem(minimize(x), [cone]), (cone, lambda v: 1.0)


def _rule(e: float) -> tuple[lsip.Problem, Any]:
    z, x = lsip.Index("z", lsip.Box([0, 0], [1, 1])), lsip.Variable(1, name="x", lower=-9, upper=9)
    order = lsip.Rule(name="order", of=z[:1])
    need = forall(z, order + x[0] >= z[0] + z[1] / 2 + e * (1 + z[0]))
    return lsip.Problem(minimize(x[0]), [need, forall(z, order <= 0.75 + z[0] / 2)]), (need, lambda v: 1 + v[0])


def _rule_in_pieces(e: float) -> tuple[lsip.Problem, Any]:
    z, x = lsip.Index("z", lsip.Box([-1, -1], [1, 1])), lsip.Variable(1, name="x", lower=-9, upper=9)
    order = lsip.Rule(name="order", of=z, pieces=2)
    need = forall(z, order >= z[0] + e)
    return (
        lsip.Problem(
            minimize(x[0]),
            [need, forall(z, order >= -z[0] / 2), forall(z, order >= z[1] / 3), forall(z, x[0] >= order)],
        ),
        (need, lambda v: 1.0),
    )


def _integral(e: float) -> tuple[lsip.Problem, Any]:
    x = lsip.Variable(3, name="x", lower=-9, upper=9)
    fit = t ** np.arange(3) @ x
    mean = lsip.integral(fit * np.exp(t), t) >= 2 + e
    return lsip.Problem(minimize(x[0] + x[1] + x[2] / 2), [forall(t, fit >= t / 3), mean]), (mean, None)


def _fractions(e: float) -> tuple[lsip.Problem, Any]:
    x = lsip.Variable(3, name="x", lower=-9, upper=9)
    fit = t ** np.arange(3) @ x
    area = lsip.integral(fit, t) == 1 + e
    return lsip.Problem(minimize(x[0] + 2 * x[1]), [area, forall(t, fit >= t / 3)]), (area, None)


MOVED: dict[str, Moved] = {
    name: globals()[f"_{name}"]
    for name in (
        "norm",
        "finite_norm",
        "absolute",
        "sum_of_absolutes",
        "maximum",
        "semidefinite",
        "rule",
        "rule_in_pieces",
        "integral",
        "fractions",
    )
}


@pytest.mark.parametrize("name", MOVED)
def test_what_one_unit_of_room_is_worth(name: str) -> None:
    make, step = MOVED[name], 2.0**-10
    tol = 1e-6 if name in ("finite_norm", "semidefinite") else 1e-9
    problem, (constraint, g) = make(0.0)
    solution: Any = problem.solve(verbose=False, tol=tol)
    assert solution.certified
    dual = solution.dual(constraint)
    if g is None:
        expected = float(np.sum(dual))
    else:
        assert all(len(a.point) == solution.families[a.family].visible.dim for a in dual)
        expected = sum(a.multiplier * float(g(a.point[0] if len(a.point) == 1 else a.point)) for a in dual)
    ends = [make(sign * step)[0].solve(verbose=False, tol=tol).value for sign in (1, -1)]
    slope = (ends[0] - ends[1]) / (2 * step) * (-1 if problem.objective.maximise else 1)
    symbol = str(constraint)
    slope = slope if "≥" in symbol and "⪰" not in symbol else -slope
    assert slope == pytest.approx(expected, rel=5e-3, abs=2e-3)
    assert expected > 0.01 or "=" in symbol


def test_multipliers_of_an_identity_are_those_of_its_coefficients() -> None:
    """An equality for all t has a multiplier for every power: what one unit more of it is worth."""
    x = lsip.Variable(3, name="x", lower=-9, upper=9)

    def solve(*more: float) -> tuple[Any, Any]:
        match = forall(t, x[0] + x[1] * t == 1 + 2 * t + more[0] + more[1] * t, name="match")
        return lsip.Problem(minimize(3 * x[0] + x[2]), [match, forall(t, x[2] >= t * x[1])]).solve(
            verbose=False, tol=1e-10
        ), match

    solution, match = solve(0, 0)
    slopes = [(solve(*step)[0].value - solution.value) / 1e-4 for step in ((1e-4, 0), (0, 1e-4))]
    assert sorted(-np.asarray(solution.dual(match))) == pytest.approx(sorted(slopes), abs=1e-5)


def test_points_of_rules_in_pieces_are_points_of_the_index() -> None:
    problem, (need, _) = _rule_in_pieces(0.0)
    solution: Any = problem.solve(verbose=False)
    frame_points = [a.point for a in solution.active]
    assert all(point.shape == (2,) for point in frame_points)
    assert all(len(family.coordinates) == 2 for family in solution.families)
    values = solution.violation(solution.dual(need)[0].family).values(np.array([[0.5, -0.5], [-1.0, 1.0]]))
    order = solution["order"]
    expected = [[z[0] - order(np.array(z)), -z[0] / 2 - order(np.array(z))] for z in ([0.5, -0.5], [-1.0, 1.0])]
    assert values[:, :2] == pytest.approx(np.array(expected), abs=1e-7)


def test_lifted_points_are_mixtures_of_points_of_the_index() -> None:
    """A point between two breakpoints whose part is not its own: the row is that of a mixture of breakpoints."""
    from lsip.expressions.folds import fold
    from lsip.solution.mixtures import on_graph

    index = lsip.Index("z", lsip.Box([-1, 0], [1, 1]))
    folded = fold(index, ((0.0,), ()))
    shares = on_graph((folded,), np.array([0.2, 0.7, 0.4]))
    assert shares is not None
    assert sum(share for share, _ in shares) == pytest.approx(1)
    mean = sum(share * point for share, point in shares)
    assert mean == pytest.approx([0.2, 0.7])
    assert sum(share * max(point[0], 0.0) for share, point in shares) == pytest.approx(0.4)
    assert on_graph((folded,), np.array([0.2, 0.7, 0.2])) == [(1.0, pytest.approx([0.2, 0.7]))]


# ---- what is shown ---------------------------------------------------------------------------------------------------


def test_the_report_and_the_tables_speak_of_what_was_written(tmp_path: Path) -> None:
    x, u = lsip.Variable(2, name="x", lower=-9, upper=9), lsip.Index("u", lsip.Interval(2, inf))
    s = lsip.Index("s", lsip.Interval(-inf, inf))
    rows = [
        forall(u, x[0] * u**2 >= u**2 + 1, name="tail"),
        forall(s, x[1] + s**2 >= 2 * s, name="line"),
        (np.linalg.norm(x) <= 8).named("ball"),
    ]
    solution: Any = lsip.Problem(minimize(x.sum() + np.abs(x[0] - x[1]) / 2), rows).solve(verbose=False)
    page = solution.report(tmp_path / "r.html").read_text(encoding="utf-8")
    assert "2 variables, 1 finite constraint, 2 families of constraints over a continuum" in page
    assert '"set":"[2, \\u221e)"' in page
    assert "1/(u - 2)" not in page
    assert "direction" not in page.split("<main>")[1].split("<footer>")[0].split("<section")[1]
    assert [family.name for family in solution.families if family.shown] == ["tail", "line"]
    assert set(solution.to_frame("active").columns) == {"constraint", "u", "s", "multiplier"}
    assert solution.to_frame()["variable"].tolist() == ["x", "x"]
    assert solution.to_frame("rows")["constraint"].tolist() == ["ball"]
    (tail,) = solution.dual("tail")
    assert tail.point == pytest.approx([2])


def test_a_point_at_infinity_is_shown_as_such(tmp_path: Path) -> None:
    x, u = lsip.Variable(name="x", lower=-9, upper=9), lsip.Index("u", lsip.Interval(2, inf))
    solution: Any = lsip.Problem(minimize(x), [forall(u, x * u**2 >= u**2 - 1, name="tail")]).solve(verbose=False)
    (point,) = solution.active
    assert point.point.tolist() == [inf]
    assert point.direction.tolist() == [1.0]
    assert point.divided_by == "u²"
    assert point.multiplier == pytest.approx(1)
    assert str(point) == "tail at (inf) with multiplier 1 of the row divided by u²"
    assert solution.to_frame("active")["divided_by"].tolist() == ["u²"]
    page = solution.report(tmp_path / "r.html").read_text(encoding="utf-8")
    assert "(tail) / u²" in page
    assert "∞</td>" in page
    assert solution.plot().axes
    assert "(tail) / u²" in solution._repr_html_()
    solution.write(tmp_path / "m.mps")
    assert "tail@inf" in (tmp_path / "m.mps").read_text()


def test_isolated_points_are_not_merged() -> None:
    """Points of a finite set that lie close together keep their own multipliers."""
    x, y = lsip.Variable(2, name="x", lower=-1e5, upper=1e5), lsip.Index("y", lsip.Finite([[0.0], [1e-4], [1.0]]))
    above = forall(y, x[0] + x[1] * y[0] >= np.where(y[0] > 0, 1.0, 0.0), name="above")
    solution: Any = lsip.Problem(minimize(x[0] + 5e-5 * x[1]), [above]).solve(verbose=False)
    assert sorted(float(a.point[0]) for a in solution.dual(above)) == [0.0, 1e-4]
    assert [a.multiplier for a in solution.dual(above)] == pytest.approx([0.5, 0.5])


def test_worst_violations_over_half_lines_are_those_of_what_was_written() -> None:
    """Near the end they are found and bounded; a violation that may grow without end has no bound."""
    x, u = lsip.Variable(name="x", lower=-9, upper=9), lsip.Index("u", lsip.Interval(2, inf))
    tail = forall(u, x * (u - 1) ** 2 + 3 >= 6 * (u - 1), name="tail")
    problem = lsip.Problem(minimize(x), [tail])
    safe = problem.worst_violation([3.5])
    assert safe.certified
    assert safe.value <= safe.bound < 0
    far = problem.worst_violation([-1.0])
    assert far.bound == inf
    assert far.value > 0
    assert not far.certified
    for value in (1.0, 2.0, 2.9):
        found = tail.violation({x: value})
        y = float(found.point[0])
        assert y >= 2
        assert found.value == pytest.approx(6 * (y - 1) - 3 - value * (y - 1) ** 2, rel=1e-6)


def test_a_violation_far_out_has_no_bound() -> None:
    """Where a relaxation breaks a constraint by a little at infinity, it is broken by any amount somewhere."""
    x, u = lsip.Variable(2, name="x", lower=-9, upper=9), lsip.Index("u", lsip.Interval(1, inf))
    rows = [forall(u, x[0] * u**2 + x[1] >= u**2 + np.array(2.0) * u)]
    solution: Any = lsip.Problem(minimize(x.sum()), rows).solve(verbose=False, max_iterations=1, polish=False)
    assert not (solution.violation_proven and solution.max_violation > 0)


def test_bounds_that_rows_imply_are_paid_by_these_rows() -> None:
    """The proof of this model uses that -x[2] == 0.375 fixes a variable; the multiplier belongs to the equality."""
    model = generate("duals", 1025)
    verdict = judge(model, ask(model, 60.0), 1025)
    assert not verdict.false
