"""Names of constraints, their multipliers, and expressions at numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lsip

t = lsip.Index("t", lsip.Interval(0, 1))
y = lsip.Index("y", lsip.Box([0, 0], [1, 1]))


def model() -> tuple[lsip.Problem, dict[str, Any], dict[str, lsip.Parameter]]:
    """A model with constraints of every kind, each with a parameter on its right-hand side."""
    x, u = lsip.Variable(3, name="x", upper=2), lsip.Variable((2, 2), name="u", lower=0)
    p = {name: lsip.Parameter(name=name, value=v) for name, v in (("limit", 0), ("cap", 1), ("sum", 2), ("top", 4))}
    parts = {
        "x": x,
        "u": u,
        "limit": lsip.forall(t, x[0] + x[1] * t + x[2] * t**2 >= np.tan(t) - p["limit"], name="limit"),
        "cap": (u <= p["cap"] * np.array([[1.0, 2.0], [3.0, 4.0]])).named("cap"),
        "sum": (u.sum() + x[0] == p["sum"]).named("sum"),
        "top": x[2] >= -p["top"],
    }
    worth = np.array([[0.1, 0.2], [0.3, 0.05]])
    cost = x[0] + x[1] / 2 + x[2] / 3 - (worth * u).sum()
    return lsip.Problem(lsip.minimize(cost), [parts[k] for k in ("limit", "cap", "sum", "top")]), parts, p


def test_multipliers_have_the_shape_of_their_constraint() -> None:
    problem, parts, _ = model()
    solution: Any = problem.solve(verbose=False)
    assert solution.dual("cap").shape == (2, 2)
    assert (solution.dual(parts["cap"]) >= 0).all()
    assert isinstance(solution.dual(parts["sum"]), float)
    assert solution.dual(parts["top"]) == 0
    points = solution.dual("limit")
    assert all(isinstance(a, lsip.ActivePoint) and a.constraint == "limit" for a in points)
    assert sum(a.multiplier for a in points) > 0
    room = parts["limit"].constraint.body.at(
        {t: np.array([a.point[0] for a in points]), parts["x"]: solution[parts["x"]]}
    )
    assert room == pytest.approx(0, abs=1e-6)


def test_multipliers_are_what_room_is_worth() -> None:
    """Differences of optimal values are the multipliers, for a minimum and for a maximum."""
    step = 1e-4
    for maximise in (False, True):
        problem, parts, p = model()
        if maximise:
            problem.objective = lsip.maximize(-problem.objective.expression)
        first: Any = problem.solve(verbose=False, tol=1e-10)
        shares = {
            "limit": sum(a.multiplier for a in first.dual("limit")),
            "cap": float((first.dual("cap") * np.array([[1.0, 2.0], [3.0, 4.0]])).sum()),
            "sum": first.dual("sum"),
            "top": first.dual(parts["top"]),
        }
        for name, worth in shares.items():
            ends = []
            for sign in (1, -1):
                p[name].value = p[name].value + sign * step  # type: ignore[operator]
                ends.append(problem.solve(verbose=False, tol=1e-10).value)
                p[name].value = p[name].value - sign * step  # type: ignore[operator]
            slope = (ends[0] - ends[1]) / (2 * step)
            assert (slope if maximise else -slope) == pytest.approx(worth, abs=2e-4), name


def test_reduced_costs_are_what_bounds_are_worth() -> None:
    for maximise in (False, True):
        problem, parts, _ = model()
        if maximise:
            problem.objective = lsip.maximize(-problem.objective.expression)
        u, x = parts["u"], parts["x"]
        first: Any = problem.solve(verbose=False, tol=1e-10)
        reduced = first.reduced_costs(u)
        assert reduced.shape == (2, 2)
        assert first.reduced_costs(x) == pytest.approx(np.zeros(3), abs=1e-7)
        at_bound = np.abs(first[u]) < 1e-7
        assert at_bound.any()
        assert reduced[~at_bound] == pytest.approx(0, abs=1e-7)
        assert (reduced[at_bound] * (-1 if maximise else 1) >= -1e-9).all()
        step = 1e-4
        u.lower = np.where(at_bound, step, 0.0)
        moved = problem.solve(verbose=False, tol=1e-10).value
        assert (moved - first.value) / step == pytest.approx(reduced[at_bound].sum(), abs=1e-3)


def test_names_are_seen_everywhere(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    problem, parts, _ = model()
    assert "limit: x[0]" in str(problem)
    assert "cap: u ≤" in str(problem)
    assert r"\mathrm{limit:\ }" in problem._repr_latex_()
    solution: Any = problem.solve(verbose=True)
    assert "limit at (" in capsys.readouterr().out + str(solution)
    assert problem.compile().row_labels[:4] == ("cap[0]", "cap[1]", "cap[2]", "cap[3]")
    page = solution.report(tmp_path / "r.html").read_text(encoding="utf-8")
    assert ">limit</td>" in page
    assert '<td class="name">limit</td>' in page
    assert problem.worst_violation(np.zeros(7)).constraint == "limit"
    assert any(label.startswith("limit at t = ") for label in problem.discretise(3).labels)
    named = lsip.forall(t, [parts["x"][0] >= t, parts["x"][1] >= t], name="both")
    assert [c.name for c in named] == ["both[0]", "both[1]"]


def test_plots_find_constraints_by_name(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    x = lsip.Variable(2, name="x")
    rows = [lsip.forall(t, x[0] + x[1] * t >= t**2, name="one"), lsip.forall(t, x[0] >= t, name="two")]
    solution: Any = lsip.Problem(lsip.minimize(x[0] + x[1]), [rows, x[1] >= -1]).solve(verbose=False)
    solution.plot(tmp_path / "two.png", family="two")
    assert (tmp_path / "two.png").exists()
    with pytest.raises(lsip.ModelError, match="no family named 'three'"):
        solution.plot(family="three")


@pytest.mark.parametrize("name", ["", "  ", 3, None])
def test_names_are_text(name: Any) -> None:
    x = lsip.Variable(name="x")
    with pytest.raises(lsip.ModelError, match="name of a constraint is text"):
        (x <= 1).named(name)


def test_what_has_no_multiplier() -> None:
    problem, parts, _ = model()
    solution: Any = problem.solve(verbose=False)
    with pytest.raises(lsip.ModelError, match=r"called 'lid'; the names are: cap, sum, limit"):
        solution.dual("lid")
    with pytest.raises(lsip.ModelError, match=r"has no constraint x\[0\] ≤ 1"):
        solution.dual(parts["x"][0] <= 1)
    with pytest.raises(lsip.ModelError, match="z is not a variable of this problem"):
        solution.reduced_costs(lsip.Variable(name="z"))
    problem.remove("cap")
    assert solution.dual("cap").shape == (2, 2)  # it is about what was solved


def test_values_after_a_solve() -> None:
    problem, parts, _ = model()
    assert problem.solution is problem.value is problem.status is parts["x"].value is None
    solution = problem.solve(verbose=False)
    assert problem.solution is solution
    assert problem.value == solution.value
    assert problem.status is lsip.Status.OPTIMAL
    assert (parts["u"].value == solution[parts["u"]]).all()
    with pytest.raises(AttributeError, match="value"):
        parts["x"].value = 3


def test_violations_of_constraints() -> None:
    problem, parts, _ = model()
    x, u = parts["x"], parts["u"]
    with pytest.raises(lsip.ModelError, match="x has no value: give one"):
        parts["limit"].violation()
    with pytest.raises(lsip.ModelError, match="has no value: give one"):
        parts["cap"].violation()
    problem.solve(verbose=False)
    assert parts["limit"].violation().bound <= 1e-7
    assert np.max(parts["cap"].violation()) <= 1e-7
    assert parts["sum"].violation() <= 1e-7
    point = {x: [0.0, 1.0, 0.0], u: np.full((2, 2), 3.0)}
    assert parts["cap"].violation(point) == pytest.approx(np.array([[2.0, 1.0], [0.0, 0.0]]))
    assert parts["sum"].violation(point) == pytest.approx(10.0)
    worst = parts["limit"].violation(point)
    assert worst.certified
    assert float(worst) == pytest.approx(np.tan(1) - 1, abs=1e-8)
    assert worst.point == pytest.approx([1.0], abs=1e-6)


def test_expressions_at_numbers() -> None:
    p, x = lsip.Parameter(2, name="p", value=[1, 2]), lsip.Variable((2, 2), name="x")
    ts, ys = np.linspace(0, 1, 4), np.arange(8.0).reshape(4, 2)
    e = np.sin(t) * y + p
    assert e.at({t: 0.5, y: [1, 2]}) == pytest.approx(np.sin(0.5) * np.array([1, 2]) + [1, 2])
    assert e.at({t: ts, y: ys}) == pytest.approx(np.sin(ts)[:, None] * ys + [1, 2])
    assert e.at({t: ts, y: [1, 2], p: 0}) == pytest.approx(np.sin(ts)[:, None] * [1, 2])
    values = np.array([[1.0, 2.0], [3.0, 4.0]])
    assert (t * x @ y + x[0]).at({x: values, t: 2, y: [1, -1]}) == pytest.approx(2 * values @ [1, -1] + values[0])
    assert (x.sum() * t + 1).at({x: values, t: ts}) == pytest.approx(10 * ts + 1)
    assert x.at({x: values}) == pytest.approx(values)
    assert (2 * p).at() == pytest.approx([2, 4])
    assert isinstance((t**2).at({t: 3}), float)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({}, r"depends on the index t: give its points, at\(\{t: …\}\)"),
        ({t: [[1, 2]]}, r"t takes a number, or N of them in rows; got shape \(1, 2\)"),
        ({t: 1, y: [1, 2, 3]}, r"y takes a point of shape \(2,\), or N of them"),
        ({t: [1, 2], y: np.zeros((3, 2))}, "same number of points"),
        ({"t": 1}, "'t' is none of them"),
        (3, "takes a mapping"),
    ],
)
def test_what_is_no_place(values: Any, message: str) -> None:
    with pytest.raises(lsip.ModelError, match=message):
        (t * y).at(values)


def test_solutions_at_expressions() -> None:
    p, x = lsip.Parameter(name="p", value=2), lsip.Variable(2, name="x")
    problem = lsip.Problem(lsip.minimize(x[0] + x[1]), [lsip.forall(t, x[0] + x[1] * t >= p * t), x >= 0])
    solution: Any = problem.solve(verbose=False)
    total = solution[p * x.sum() + p]
    assert total == pytest.approx(2 * solution.x.sum() + 2)
    p.value = 3
    assert solution[p * x.sum() + p] == total  # in its own data
    with pytest.raises(lsip.ModelError, match=r"e.at\(\{y: points\}\)"):
        solution[x * t]
