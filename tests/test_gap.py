"""One definition of the gap, in every place that shows or checks it, and a value that is never beyond its bounds."""

from __future__ import annotations

import inspect
import io
import json
import math
import re
from contextlib import redirect_stdout
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lsip
from lsip.proof import closed, relative_gap
from lsip.proof.gap import unresolved
from lsip.proof.linear_algebra import ROUNDING
from lsip.reductions.rounding import data_rounding
from lsip.solution.outward_rounding import above

NUMBERS = st.floats(-1e12, 1e12)
ROOT = Path(__file__).parents[1]


def small(size: float = 1.0) -> lsip.Problem:
    """An optimum of `size`, in a model whose other numbers are 1."""
    x, t = lsip.Variable(2, name="x"), lsip.Index("t", lsip.Interval(0, 1))
    return lsip.Problem(lsip.minimize(x[0] + x[1] / 2), [lsip.forall(t, x[0] + x[1] * t >= t**2 - 1 / 6 + size)])


def zero() -> lsip.Problem:
    """An optimum of 0, made of terms that are 1."""
    x, t = lsip.Variable(3, name="x"), lsip.Index("t", lsip.Interval(0, 1))
    error = x[0] + x[1] * t - (0.3 - 0.7 * t)
    return lsip.Problem(lsip.minimize(x[2]), [lsip.forall(t, [error <= x[2], -error <= x[2]])])


# ---- the definition -------------------------------------------------------------------------------------------------


@given(NUMBERS, NUMBERS)
def test_it_is_relative_to_the_larger_bound(a: float, b: float) -> None:
    lower, upper = min(a, b), max(a, b)
    gap = relative_gap(lower, upper)
    assert 0 <= gap <= 2
    assert (gap == 0) == (lower == upper)
    assert gap == relative_gap(-upper, -lower)
    assert relative_gap(1024 * lower, 1024 * upper) == pytest.approx(gap, rel=1e-15)


@given(NUMBERS, NUMBERS, st.floats(1e-12, 0.5), st.floats(0, 10))
def test_it_is_closed_by_either_tolerance_without_rounding(a: float, b: float, tol: float, atol: float) -> None:
    lower, upper = min(a, b), max(a, b)
    apart, size = Fraction(upper) - Fraction(lower), Fraction(max(abs(lower), abs(upper)))
    assert closed(lower, upper, tol, atol) == (apart <= Fraction(tol) * size or apart <= Fraction(atol))
    if closed(lower, upper, tol, 0.0):
        assert relative_gap(lower, upper) <= tol


@pytest.mark.parametrize(
    ("lower", "upper"), [(-math.inf, 1.0), (1.0, math.inf), (-math.inf, math.inf), (math.nan, 1.0)]
)
def test_it_is_infinite_where_a_bound_is_not_known(lower: float, upper: float) -> None:
    assert relative_gap(lower, upper) == math.inf
    assert not closed(lower, upper, 0.5, 1e300)


# ---- all who show it ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1.0, 1e-5, -3e4])
def test_all_displays_agree(size: float, tmp_path: Path) -> None:
    problem, page = small(size), io.StringIO()
    with redirect_stdout(page):
        solution = problem.solve(tol=1e-4)
    assert solution.certified
    expected = (solution.upper - solution.lower) / max(abs(solution.lower), abs(solution.upper))
    assert solution.gap == pytest.approx(expected, rel=1e-12)
    assert solution.gap <= solution.tol
    assert solution.history[-1].gap == solution.gap
    shown = f"{above(solution.gap, 3):.2e}"
    end = next(line for line in page.getvalue().splitlines() if line.startswith("  end"))
    assert end.split()[-2] == f"{above(solution.gap, 2):.1e}"
    assert f"gap {shown}" in page.getvalue()
    assert f"relative gap {above(solution.gap, 2):.2g}" in str(solution)
    assert f"{above(solution.gap, 2):.2g}" in solution._repr_html_()
    report = solution.report(tmp_path / "report.html").read_text(encoding="utf-8")
    assert re.search(r"<dt>Relative gap</dt><dd>\s*\S+", report)
    assert "Bounds differ by" not in report
    solution.export(tmp_path / "proof.json")
    proof = json.loads((tmp_path / "proof.json").read_text(encoding="utf-8"))
    assert closed(proof["claim"]["lower"], proof["claim"]["upper"], proof["tol"], proof["atol"])


def test_the_command_line_has_the_same() -> None:
    from lsip.cli.models import own
    from lsip.cli.results import describe

    solution = small().solve(verbose=False)
    assert describe(own(solution.problem), solution)["gap"] == solution.gap


def test_help_and_docs_have_the_same_words() -> None:
    formula = "(upper - lower) / max(|lower|, |upper|)"
    assert formula in inspect.getdoc(lsip.Problem.solve)
    assert formula in inspect.getdoc(lsip.Exchange)
    assert formula in inspect.getdoc(lsip.Solution.gap)
    assert "(upper − lower) / max(\\|lower\\|, \\|upper\\|)" in (ROOT / "docs/calls.md").read_text(encoding="utf-8")
    assert "(upper − lower) / max(|lower|, |upper|)" in (ROOT / "docs/certificates.md").read_text(encoding="utf-8")
    assert "(upper − lower) / max(\\|lower\\|, \\|upper\\|)" in (ROOT / "docs/notation.md").read_text(encoding="utf-8")
    others = [*ROOT.glob("docs/*.md"), ROOT / "README.md"]
    assert not [path.name for path in others if "atol / tol" in path.read_text(encoding="utf-8")]


# ---- the absolute gap -----------------------------------------------------------------------------------------------


def test_small_values_are_proven_to_the_relative_gap() -> None:
    """An optimum far below the other numbers of its model is no excuse."""
    for size in (1e-3, 1e-5):
        solution = small(size).solve(verbose=False)
        assert solution.certified
        assert solution.gap <= solution.tol
        assert not solution.wide


def test_an_optimum_of_zero_is_closed_by_rounding_of_its_terms(tmp_path: Path) -> None:
    solution = zero().solve(verbose=False)
    assert solution.certified
    assert solution.wide
    assert solution.upper - solution.lower <= solution.atol <= 1e-12
    assert "alone closed the gap" in solution.message
    assert "only" in io_summary(solution)
    assert "closed by atol" in solution.report(tmp_path / "r.html").read_text(encoding="utf-8")
    solution.verify()


@pytest.mark.parametrize(("degree", "time", "limited"), [(6, 5.0, True), (9, 10.0, False), (9, 1.0, True)])
def test_the_least_jerk_of_a_trajectory_may_be_zero(degree: int, time: float, limited: bool) -> None:
    """Multipliers that hardly weigh anything leave rounding in the columns of the other coordinate."""
    t, jerk, said = lsip.Index("t", lsip.Interval(0, time)), lsip.Variable(name="jerk"), []
    for k, speed in enumerate((0.4, -1.1)):
        c = lsip.Variable(degree + 1, name=f"c{k}")
        path = (t / time) ** np.arange(degree + 1) @ c
        third = lsip.derivative(path, t, order=3)
        said += [lsip.forall(t, third <= jerk), lsip.forall(t, -third <= jerk)]
        said += [c[0] == 0.5, c.sum() == 0.5 + speed * time]
        if limited and k == 0:
            said.append(lsip.forall(t, lsip.derivative(path, t) <= speed + 0.5))
    solution = lsip.Problem(lsip.minimize(jerk), said).solve(verbose=False)
    assert solution.certified
    assert solution.upper <= solution.atol <= 1e-11
    assert len(solution.history) <= 5
    solution.verify()


def io_summary(solution: lsip.Solution) -> str:
    from lsip.progress import summary

    return summary(solution)[0]


@pytest.mark.parametrize("make", [small, zero])
def test_the_default_is_computed_from_the_data_alone(make: object) -> None:
    problem = make()  # type: ignore[operator]
    before = data_rounding(problem.compile())
    first: list[float] = []
    solution = problem.solve(verbose=False, max_iterations=1)
    first.append(solution.atol)
    first.append(make().solve(verbose=False, tol=1e-3).atol)  # type: ignore[operator]
    first.append(make().solve(verbose=False).atol)  # type: ignore[operator]
    assert first == [before] * 3


@pytest.mark.parametrize("factor", [2.0**-40, 2.0**-7, 2.0**33])
def test_the_default_follows_the_units_of_the_objective(factor: float) -> None:
    x, t = lsip.Variable(2, name="x"), lsip.Index("t", lsip.Interval(0, 1))
    cost, rows = x[0] + x[1] / 2, [lsip.forall(t, x[0] + x[1] * t >= np.exp(t))]
    one = data_rounding(lsip.Problem(lsip.minimize(cost), rows).compile())
    other = data_rounding(lsip.Problem(lsip.minimize(factor * cost), rows).compile())
    assert other == factor * one


def test_the_default_is_at_most_the_rounding_of_the_terms() -> None:
    for name in ("abs_d10", "ks_exp_n20", "reemtsen1_d4", "fejer_n5", "exact_fit", "coleman_slepian"):
        solution = lsip.catalogue.get(name).build().solve(verbose=False)
        program, proof = solution.program, solution.certificate
        terms = np.abs(program.c) @ np.abs(proof.x) + abs(program.constant)
        for atom in proof.support:
            a, b = program.families[atom.family].chosen(atom.point[None], np.array([atom.component]))
            at = np.abs(proof.x)[program.families[atom.family].columns[atom.component]]
            terms += atom.multiplier * (np.abs(a[0]) @ at + abs(b[0]) + np.abs(a[0]).max())
        assert solution.atol <= 4 * ROUNDING * terms, name


def test_verify_and_files_believe_no_wider_gap(tmp_path: Path) -> None:
    solution = small().solve(verbose=False)
    loose = replace(solution.certificate, lower=solution.certificate.lower - 1e-6)
    claimed = replace(solution, certificate=loose, atol=1.0)
    with pytest.raises(lsip.ProofError, match="gap is not closed"):
        claimed.verify()
    assert claimed.verify(atol=1e-5) is claimed
    claimed.save(tmp_path / "loose.npz")
    with pytest.raises(lsip.ProofError, match="gap is not closed"):
        lsip.Solution.load(tmp_path / "loose.npz")


def test_no_open_answer_shows_a_closed_gap() -> None:
    """Whatever a solve ends with, the gap is that of the bounds that it shows."""
    problem = lsip.catalogue.get("hyperbola_inf").build()
    solution = problem.solve(verbose=False, max_iterations=6)
    assert solution.status is not lsip.Status.OPTIMAL
    assert solution.gap > solution.tol


# ---- the value ------------------------------------------------------------------------------------------------------


def squeezed(rng: np.random.Generator) -> lsip.Problem:
    """Polynomial rows that can only just hold, or not at all: without interior, infeasible, or with some room."""
    n = int(rng.integers(3, 6))
    x, t, k = lsip.Variable(n, name="x", lower=-3, upper=3), lsip.Index("t", lsip.Interval(0, 1)), np.arange(n)
    at = float(rng.choice([0.0, 0.5, 1.0]))
    touched = at ** k.astype(float) @ x
    fixed = [touched == 0, touched <= 0, touched <= 0.5][int(rng.integers(3))]
    below = [0 * t, -((t - at) ** 2), (t - at) * 1.0][int(rng.integers(3))]
    cost = np.round(rng.normal(size=n), 2) @ x
    objective = lsip.minimize(cost) if rng.random() < 0.5 else lsip.maximize(cost)
    return lsip.Problem(objective, [fixed, lsip.forall(t, x @ t**k >= below)])


def decreasing(weight: float) -> lsip.Problem:
    """A quadratic Lyapunov function of a system of two equations: both rows vanish where the system rests."""
    y, p = lsip.Index("y", lsip.Box([-1, -1], [1, 1])), lsip.Variable(3, name="p")
    value = p[0] * y[0] ** 2 + p[1] * y[0] * y[1] + p[2] * y[1] ** 2
    drift = -y[0] + y[1] * y[0] ** 2, -2 * y[1]
    change = (2 * p[0] * y[0] + p[1] * y[1]) * drift[0] + (p[1] * y[0] + 2 * p[2] * y[1]) * drift[1]
    rows = [value >= y[0] ** 2 + y[1] ** 2, change <= 0]
    return lsip.Problem(lsip.minimize(p[0] + weight * p[2]), [lsip.forall(y, row) for row in rows])


def loose(rng: np.random.Generator) -> lsip.Problem:
    """Few bounds: optimal, unbounded or open."""
    n = int(rng.integers(1, 4))
    x, t, k = lsip.Variable(n, name="x"), lsip.Index("t", lsip.Interval(-1, 1)), np.arange(n)
    rows = [lsip.forall(t, x @ t**k >= np.exp(t) + float(rng.normal()))]
    rows += [lsip.forall(t, x @ t**k <= float(rng.normal()) + 3)] if rng.random() < 0.6 else []
    cost = (rng.normal(size=n) if rng.random() < 0.5 else (1 + (-1.0) ** k) / (k + 1)) @ x
    return lsip.Problem(lsip.minimize(cost) if rng.random() < 0.5 else lsip.maximize(cost), rows)


def whole(rng: np.random.Generator) -> lsip.Problem:
    """Whole numbers."""
    x, t = lsip.Variable(3, name="x", integer=True, lower=0, upper=9), lsip.Index("t", lsip.Interval(0, 1))
    rows = [lsip.forall(t, x[0] + x[1] * t + x[2] * t**2 >= float(rng.uniform(1, 6)) * np.exp(-t))]
    return lsip.Problem(lsip.minimize(rng.uniform(-0.2, 1, 3) @ x), rows)


@pytest.mark.parametrize("make", [squeezed, loose, whole])
@pytest.mark.parametrize("seed", range(12))
def test_the_value_is_never_beyond_a_bound(make: object, seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem = make(rng)  # type: ignore[operator]
    options = [{}, {"max_iterations": 1}, {"max_iterations": 2}, {"time_limit": 0.0}, {"oracle": "grid"}][seed % 5]
    solution = problem.solve(verbose=False, **options)
    if solution.status is lsip.Status.INFEASIBLE:
        assert math.isnan(solution.value)
        return
    assert solution.lower <= solution.value <= solution.upper, solution
    assert problem.value == solution.value
    if solution.status is lsip.Status.OPTIMAL:
        assert solution.gap <= solution.tol or solution.upper - solution.lower <= solution.atol
    elif (
        solution.status is not lsip.Status.UNBOUNDED and math.isfinite(solution.gap) and not solution.certificate.trusts
    ):
        assert solution.gap > solution.tol


def test_a_point_without_room_does_not_beat_the_bound() -> None:
    """Rows that vanish at an index point for every x: the point is feasible only nearly, and its objective too good."""
    found = [decreasing(weight).solve(verbose=False, time_limit=5) for weight in (0.5, 1.0, 2.0)]
    assert all(s.status is lsip.Status.NO_INTERIOR for s in found)
    assert all(s.lower <= s.value <= s.upper for s in found)


KERNELS = {
    "gaussian": lambda distance, width: np.exp(-((distance / width) ** 2)),
    "rational": lambda distance, width: 1 / (1 + (distance / width) ** 2),
}


@pytest.mark.parametrize("width", [1e-3, 1e-5])
@pytest.mark.parametrize("kernel", KERNELS)
def test_columns_that_samples_hardly_see_excuse_no_gap(kernel: str, width: float) -> None:
    """Seventy narrow kernels: one of them was OPTIMAL with an upper bound of 1e107, others stalled."""
    t, x = lsip.Index("t", lsip.Interval(0, 1)), lsip.Variable(70, name="x", lower=0)
    centres = np.random.default_rng(0).uniform(size=70)
    rows = KERNELS[kernel](t - centres, width) @ x <= 1 + t  # type: ignore[no-untyped-call]
    solution = lsip.Problem(lsip.maximize(x.sum()), [lsip.forall(t, rows)]).solve(verbose=False, tol=1e-6)
    assert solution.certified
    assert solution.gap <= 1e-6
    assert solution.atol < 1e-8


@pytest.mark.parametrize("size", [1e-8, 1.0, 1e8])
def test_an_absolute_gap_rests_on_the_terms_of_the_proof(size: float) -> None:
    """Where a column may be large at a place that nobody has seen, `atol` is no more than the rounding of the proof."""
    y, x = lsip.Index("y", lsip.Ball([0, 0], 1)), lsip.Variable(2, name="x", lower=0, upper=size)
    corner = np.exp(-1e4 * ((y - np.array([1.0, 1.0])) ** 2).sum(axis=-1))  # which is outside of the ball
    rows = lsip.forall(y, x[0] + x[1] * corner >= size * (1 - y[0] ** 2))
    solution = lsip.Problem(lsip.minimize(x.sum()), [rows]).solve(verbose=False)
    assert solution.value == pytest.approx(size, rel=1e-6)
    terms = 2 * size
    assert unresolved(solution.program, terms, solution.certificate.support) <= 8 * 4 * ROUNDING * terms
