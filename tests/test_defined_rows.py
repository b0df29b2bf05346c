"""Rows are certified where they are proven to be defined on the whole index set, and nowhere else."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import gammaln

import lsip
from lsip.errors import LSIPError
from lsip.expressions.signs import GuardedCell
from lsip.expressions.undefined import where_undefined

Formula = Callable[[Any], Any]
UNIT, BOTH, SQUARE = lsip.Interval(0, 1), lsip.Interval(-1, 1), lsip.Box([0, 0], [1, 1])


def dip(t: Any) -> Any:
    """Negative on a stretch of width 2e-3."""
    return (t - 0.123456) ** 2 - 1e-6


def place(domain: lsip.domains.Domain, formula: Formula) -> Any:
    y = lsip.Index("y", domain)
    return where_undefined((formula(y),), (y,), domain)


def above(domain: lsip.domains.Domain, formula: Formula) -> lsip.Problem:
    z, y = lsip.Variable(name="z", lower=-100, upper=100), lsip.Index("y", domain)
    return lsip.Problem(lsip.minimize(z), [lsip.forall(y, z >= formula(y))])


UNDEFINED: dict[str, tuple[lsip.domains.Domain, Formula]] = {
    "a root": (UNIT, lambda t: np.sqrt(dip(t))),
    "a power": (UNIT, lambda t: dip(t) ** 1.5),
    "a power of -1.5": (UNIT, lambda t: -(dip(t) ** -1.5)),
    "arccosh": (UNIT, lambda t: np.arccosh(1 + dip(t))),
    "arcsin": (UNIT, lambda t: np.arcsin(1 - dip(t))),
    "arctanh": (UNIT, lambda t: -np.arctanh(1 - dip(t))),
    "log": (UNIT, lambda t: np.log(dip(t))),
    "log1p": (UNIT, lambda t: np.log1p(dip(t) - 1)),
    "gammaln": (UNIT, lambda t: -gammaln(dip(t))),
    "a pole on the harmless side": (UNIT, lambda t: -1 / (t - 0.123456) ** 2),
    "a pole of both signs": (UNIT, lambda t: -1 / np.abs(t - 0.123456)),
    "tan": (lsip.Interval(0, 2), lambda t: -np.abs(np.tan(t))),
    "what a pole makes of 0": (UNIT, lambda t: np.exp(-1 / np.abs(t - 0.123456))),
    "a disc": (SQUARE, lambda y: np.sqrt((y[0] - 0.31) ** 2 + (y[1] - 0.72) ** 2 - 0.0025)),
    "under a maximum": (UNIT, lambda t: np.maximum(np.sqrt(dip(t)), 0.5)),
    "in a branch that is taken": (UNIT, lambda t: np.where(t <= 0.5, np.sqrt(dip(t)), 0.0)),
    "behind a guard that is too late": (UNIT, lambda t: np.where(t >= 0.1225, np.sqrt(t - 0.1226), 0.0)),
    "on a part of a union": (UNIT | lsip.Interval(2, 3), lambda t: np.sqrt((t - 2.5) ** 2 - 1e-8)),
    "overflow": (lsip.Interval(0, 1000), lambda t: -np.exp(t)),
    "at a point": (lsip.Finite([[0.5], [-0.25]]), lambda y: np.sqrt(y[0])),
}


@pytest.mark.parametrize("name", UNDEFINED)
def test_a_row_that_is_undefined_somewhere_is_not_certified(name: str) -> None:
    domain, formula = UNDEFINED[name]
    found = place(domain, formula)
    assert found is not None
    assert "nan" in found.sentence(tuple(f"y[{k}]" for k in range(domain.dim)))
    assert any(f"{c} = " in _answer(above(domain, formula)) for c in ("y", "y[0]"))


def _answer(problem: lsip.Problem) -> str:
    """What is said instead of a certified answer."""
    try:
        solution = problem.solve(verbose=False, time_limit=10)
    except LSIPError as error:
        return str(error)
    return "" if solution.certified else solution.message


DEFINED: dict[str, tuple[lsip.domains.Domain, Formula]] = {
    "a root": (UNIT, np.sqrt),
    "half a circle": (BOTH, lambda t: np.sqrt(1 - t**2)),
    "a root of a product": (UNIT, lambda t: np.sqrt(t * (1 - t))),
    "a root of a square": (UNIT, lambda t: np.sqrt((t - 0.3) ** 2)),
    "a norm": (lsip.Box([-1, -1], [1, 1]), lambda y: np.sqrt(y[0] ** 2 + y[1] ** 2)),
    "a distance": (lsip.Box([-1] * 3, [1] * 3), lambda y: np.linalg.norm(y - 0.3)),
    "a weighted distance": (lsip.Box([-1] * 3, [1] * 3), lambda y: np.sqrt(np.array([1.0, 2.0, 0.3]) @ (y - 0.3) ** 2)),
    "a half sphere": (lsip.Ball([0, 0], 1), lambda y: np.sqrt(1 - y[0] ** 2 - y[1] ** 2)),
    "what a simplex leaves": (lsip.Simplex(3), lambda y: np.sqrt(1 - y[0] - y[1])),
    "what a triangle leaves": (
        lsip.Polytope([[-1, 0], [0, -1], [1, 1]], [0, 0, 1]),
        lambda y: np.sqrt(1 - y[0] - y[1]),
    ),
    "within a region": (SQUARE.where(lambda y: y[0] ** 2 <= y[1]), lambda y: np.sqrt(y[1] - y[0] ** 2)),
    "arcsin": (BOTH, np.arcsin),
    "arccosh": (lsip.Interval(1, 2), np.arccosh),
    "monotone": (UNIT, lambda t: np.sqrt(np.exp(t) - 1)),
    "1 - cos": (BOTH, lambda t: np.sqrt(1 - np.cos(t))),
    "1 + cos": (lsip.Interval(0, 6), lambda t: np.sqrt(1 + np.cos(t))),
    "removable": (BOTH, lambda t: np.sin(t) / t),
    "guarded": (UNIT, lambda t: np.where(t >= 0.3, np.sqrt(t - 0.3), t)),
    "guarded on the other side": (UNIT, lambda t: np.where(t < 0.3, t, np.sqrt(t - 0.3))),
    "guarded twice": (
        UNIT,
        lambda t: np.where(t >= 0.2, np.where(t <= 0.7, np.sqrt((t - 0.2) * (0.7 - t)), 0.0), 0.0),
    ),
    "guarded in a sum": (UNIT, lambda t: np.where(t >= 0.3, 1 + t * np.sqrt(t - 0.3), t)),
    "guarded from a pole": (UNIT, lambda t: np.where(t >= 0.3, 1 / t, 3.0)),
    "guarded elements": (SQUARE, lambda y: np.where(y >= 0.3, np.sqrt(y - 0.3), 0.0).sum()),
    "a floor under a root": (BOTH, lambda t: np.sqrt(np.maximum(t, 0))),
    "an angle": (lsip.Box([-1, -1], [1, 1]), lambda y: np.arctan2(y[0], y[1])),
    "near a pole": (UNIT, lambda t: 1 / (1.001 - t)),
    "at points": (lsip.Finite([[0.0], [0.25]]), lambda y: np.sqrt(y[0])),
}


@pytest.mark.parametrize("name", DEFINED)
def test_a_row_that_touches_the_end_of_a_domain_is_defined(name: str) -> None:
    assert place(*DEFINED[name]) is None


@pytest.mark.parametrize("name", ["half a circle", "a norm", "removable", "guarded", "guarded elements", "monotone"])
def test_such_rows_are_certified(name: str) -> None:
    assert above(*DEFINED[name]).solve(verbose=False).certified


def test_a_guard_of_one_element_is_none_of_another() -> None:
    assert place(SQUARE, lambda y: np.where(y[::-1] >= 0.3, np.sqrt(y - 0.3), 0.0).sum()) is not None


def test_a_condition_that_may_be_nan_guards_its_first_branch_only() -> None:
    """Where the condition is nan, NumPy takes the second branch: there, its opposite need not hold."""
    assert place(UNIT, lambda t: np.where(np.sqrt(t - 0.5) >= 1, 0.0, np.sqrt(t - 0.5))) is not None


def test_values_of_parameters_count() -> None:
    q = lsip.Parameter(name="q", value=1e-6)
    problem = above(UNIT, lambda t: np.sqrt((t - 0.123456) ** 2 - q))
    assert not problem.solve(verbose=False).certified
    q.value = 0.0
    assert problem.solve(verbose=False).certified
    q.value = 1e-6
    assert not problem.solve(verbose=False).certified


def test_a_contradiction_with_an_undefined_row_is_none() -> None:
    problem = above(UNIT, lambda t: np.sqrt(dip(t)))
    z = problem.variables[0]
    assert not lsip.Problem(problem.objective, [*problem.constraints, z <= -1]).solve(verbose=False).certified


def test_violations_say_what_they_leave_out() -> None:
    found = above(UNIT, lambda t: np.sqrt(dip(t))).worst_violation([5.0])
    assert "is only required where it is defined; at y = 0.12" in found.assumptions[0]


@pytest.mark.parametrize(("row", "place"), [(lambda t: np.tan(3 * t), "0.52"), (lambda t: 1 / (t - 0.51234), "0.51")])
def test_rows_without_bounds_are_named_where_no_feasible_point_is_found(row: Any, place: str) -> None:
    solution = above(UNIT, row).solve(verbose=False)
    assert not solution.certified
    assert f"near y = {place}" in solution.message


def test_an_inequality_of_a_set_that_is_nan_does_not_hold() -> None:
    region = UNIT.where(lambda t: 1 + np.sqrt(t - 0.5) >= 0)
    lower, upper = region.witness([[0.2], [0.7]])
    known = ~np.isnan(lower).any(axis=1)
    assert known.any()
    assert (lower[known] >= 0.5).all()
    assert (upper[known] >= 0.5).all()


def test_the_checker_agrees(tmp_path: Path) -> None:
    """What is certified near the end of a domain is accepted by `lsip check`, which shares no code."""
    pytest.importorskip("flint")
    solution = above(BOTH, lambda t: np.sqrt(1 - t**2)).solve(verbose=False)
    file = tmp_path / "proof.json"
    solution.export(file)
    checked = subprocess.run([sys.executable, "-m", "lsip", "check", str(file)], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout + checked.stderr


# ---- integrals and densities -----------------------------------------------------------------------------------------

X, T = lsip.Variable(name="x"), lsip.Index("t", UNIT)
DISC = lsip.Index("y", lsip.Ball([0, 0], 1))


@pytest.mark.parametrize(
    ("density", "message"),
    [
        (6 * T - 2, "6 t - 2 is negative at t = "),
        (1 + 1e-3 - np.maximum(1 - 1e3 * np.abs(T - 0.3), 0) * 1.002, "is negative at t = "),
        (1.5 * np.sqrt(T - 0.0001), "is not|undefined|no finite bounds|integrates to"),
        (2 + 0 * T, "integrates to 2"),
    ],
)
def test_a_density_is_nowhere_negative(density: Any, message: str) -> None:
    with pytest.raises(LSIPError, match=message):
        lsip.expectation(X * T, T, density)


@pytest.mark.parametrize(
    ("index", "density", "formula", "mean"),
    [
        (T, 2 * T, T, 2 / 3),
        (T, 6 * T * (1 - T), T, 0.5),
        (T, np.pi / 2 * np.sin(np.pi * T), T, 0.5),
        (T, np.where(T >= 0.5, 2.0, 0.0), T, 0.75),
        (DISC, 2 / np.pi * (1 - DISC[0] ** 2 - DISC[1] ** 2), DISC[0] ** 2, 1 / 6),
        (T, (1 + 1e-10) * 2 * T, T, 2 / 3),  # which is divided by its integral
    ],
)
def test_densities_that_touch_zero_are_densities(index: Any, density: Any, formula: Any, mean: float) -> None:
    assert lsip.expectation(X * formula, index, density).at({X: 1}) == pytest.approx(mean, abs=2e-12)


def test_an_integrand_is_defined_everywhere() -> None:
    with pytest.raises(LSIPError, match=r"no finite bounds were found at t = \S+: √\(t - 0.5\) is nan"):
        lsip.integral(X * np.sqrt(T - 0.5), T)
    assert lsip.integral(X * np.sqrt(T), T).at({X: 1}) == pytest.approx(2 / 3)


def test_signs_are_proven_where_functions_touch_zero() -> None:
    (cell,) = UNIT.cells()
    part = GuardedCell(cell, (T,))
    assert part.open_box(np.sin(np.pi * T)) is None
    assert part.open_box(T**3 - 2 * T**2 + T) is None  # t (1 - t)²
    found = part.open_box((T - 0.3) ** 2 - 1e-12)
    assert found is not None
    assert found.negative
    assert found.lower[0] == pytest.approx(0.3, abs=1e-5)
