"""Functions that are known at points only: nothing is proven, and values are right to 1e-6 all the same."""

from __future__ import annotations

import math
import time
from dataclasses import replace

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

import lsip
from lsip import Family, Status, catalogue, linsip
from lsip.model import RowFamily
from lsip.model.callables import black_box
from lsip.model.program import Program
from lsip.oracles import AdaptiveSearch, BranchAndBound
from lsip.solver.method import solve

UNIT = lsip.Interval(0, 1)


def hidden(program: Program) -> Program:
    """The same program with functions in the place of formulas: they give numbers at points, and nothing else."""
    boxes = []
    for family in program.families:
        for row, columns in enumerate(family.columns):

            def a(y, family=family, row=row, columns=columns):
                table = np.zeros((len(y), program.n))
                np.add.at(table, (slice(None), columns), family.rows(y)[0][:, row])
                return table

            def b(y, family=family, row=row):
                return family.rows(y)[1][:, row]

            rows = black_box(f"{family.legend.name}[{row}]", family.domain, a, b, program.n)
            boxes.append(RowFamily(rows, np.arange(program.n)[None, :]))
    return replace(program, families=tuple(boxes))


@pytest.mark.parametrize(
    "name",
    [
        *("abs_d10", "spike_d5", "fejer_n40", "remez_lowpass_n21", "remez_lowpass_n60", "markov_cdf8"),
        *("reemtsen1_d4", "reemtsen2_d3", "reemtsen_sqrt_d2", "disc_cubic", "triangle_below", "robust_union"),
        *("reemtsen4_d3", "reemtsen5_d2", "simplex_entropy", "ball_below"),
    ],
)
def test_models_without_their_formulas_have_the_same_value(name):
    entry = catalogue.get(name)
    solution = solve(hidden(entry.build().compile()), None, verbose=False)
    assert solution.status is Status.UNCERTIFIED
    assert solution.gap == np.inf
    assert solution.value == pytest.approx(entry.value, rel=1e-6)
    assert "probably right to" in solution.message


def logarithms(y):
    return np.array([[-1.0, *(-math.cos(k * v) for k in range(4))] for v in y[:, 0]])


def spline(y):
    knots = np.linspace(0, 1, 7)
    return CubicSpline(knots, np.sin(9 * knots) + knots)(y[:, 0])


def integral(y):
    """The integral of exp(-s v) / (1 + s) over [0, 1] by a loop over 40 nodes."""
    nodes = [(k + 0.5) / 40 for k in range(40)]
    return np.array([sum(math.exp(-3 * s * u) / (1 + s * v) for s in nodes) / 40 for u, v in y])


def test_loops_and_splines():
    """Best fits, by both sides of |f - p| <= e; the truth is that of 20,001 points."""
    both = [
        Family(UNIT, logarithms, lambda y: -spline(y)),
        Family(UNIT, lambda y: logarithms(y) * [1, -1, -1, -1, -1], spline),
    ]
    solution = linsip([1, 0, 0, 0, 0], both, bounds=(-50, 50))
    y = UNIT.grid(20_001)
    rows = np.concatenate([logarithms(y), logarithms(y) * [1, -1, -1, -1, -1]])
    assert (rows @ solution.x - np.concatenate([-spline(y), spline(y)])).max() <= 1e-9
    finite = linsip([1, 0, 0, 0, 0], [], rows, np.concatenate([-spline(y), spline(y)]), bounds=(-50, 50))
    assert solution.value == pytest.approx(finite.value, rel=1e-6)


def test_a_simulation_in_two_dimensions():
    square = lsip.Box([0, 0], [1, 1])

    def a(y):
        return -np.column_stack([np.ones(len(y)), y, y**2, y[:, 0] * y[:, 1]])

    mean = [1, 1 / 2, 1 / 2, 1 / 3, 1 / 3, 1 / 4]
    solution = linsip(mean, [Family(square, a, lambda y: -integral(y))], bounds=(-9, 9))
    t = lsip.Index("t", square)
    nodes = (np.arange(40) + 0.5) / 40
    x = lsip.Variable(6, lower=-9, upper=9)
    f = sum(np.exp(-3 * s * t[0]) / (1 + s * t[1]) for s in nodes) / 40
    p = x[0] + x[1] * t[0] + x[2] * t[1] + x[3] * t[0] ** 2 + x[4] * t[1] ** 2 + x[5] * (t[0] * t[1])
    cost = x[0] + x[1] / 2 + x[2] / 2 + x[3] / 3 + x[4] / 3 + x[5] / 4
    proven = lsip.Problem(lsip.minimize(cost), [lsip.forall(t, p >= f)]).solve(verbose=False)
    assert proven.certified
    assert solution.value == pytest.approx(proven.value, rel=1e-6)


def test_the_message_says_what_was_done_and_what_proves_it():
    message = linsip([1, 0, 0, 0, 0], [Family(UNIT, logarithms, lambda y: -spline(y))], bounds=(-50, 50)).message
    for words in ("known at points only", "Samples were added", "probably right to", "traced", "`lipschitz`"):
        assert words in message


def test_a_search_is_not_a_proof():
    program = hidden(catalogue.get("tfi2_tan_n3").build().compile())
    violation = program.violation(0, np.array([0.1, 0.8, 0.6]))
    found = AdaptiveSearch().maximise(violation)
    assert found.bound == np.inf
    assert not lsip.oracles.is_prover(AdaptiveSearch())
    with pytest.raises(lsip.ModelError, match="enclosed"):  # whatever a search has left in the memory of the family
        BranchAndBound().maximise(violation)
    t = np.linspace(0, 1, 100_001)
    assert found.worst >= (np.tan(t) - 0.1 - 0.8 * t - 0.6 * t**2).max() - 1e-12


def test_kinks_and_jumps_end():
    """Nothing resolves a jump; the search gives up in time, and says so or not, but never proves."""
    disc = lsip.Box([0, 0], [1, 1])

    def step(y):
        return np.array([-1.0 if u * u + v * v < 0.5 else -math.hypot(u - 0.3, v) for u, v in y])

    began = time.process_time()
    solution = linsip([1], [Family(disc, lambda y: -np.ones((len(y), 1)), step)])
    assert time.process_time() - began < 10
    assert solution.status is Status.UNCERTIFIED
    assert solution.value == pytest.approx(math.hypot(0.7, 1.0), rel=1e-6)


def test_a_search_in_the_place_of_a_proof_is_called_one():
    problem = catalogue.get("tfi2_tan_n3").build()
    solution = problem.solve(oracle=AdaptiveSearch(), verbose=False)
    assert solution.status is Status.UNCERTIFIED
    assert "AdaptiveSearch proves nothing. Leave `oracle` alone" in solution.message
    assert solution.value == pytest.approx(0.6490420933, rel=1e-7)


def test_a_time_limit_holds_for_slow_functions():
    cube = lsip.Box([0] * 3, [1] * 3)

    def slow(y):
        time.sleep(2e-5 * len(y))
        return -np.sin(9 * y).prod(axis=1).astype(float)

    family = Family(cube, lambda y: -np.column_stack([np.ones(len(y)), y]), slow)
    began = time.perf_counter()
    solution = linsip([1, 0.5, 0.5, 0.5], [family], bounds=(-9, 9), method=lsip.Exchange(time_limit=1.0))
    assert time.perf_counter() - began < 4
    assert solution.status in (Status.TIME_LIMIT, Status.UNCERTIFIED)


def test_the_worst_violation_of_a_black_box():
    x = lsip.Variable(5, lower=-50, upper=50)
    problem = lsip.Problem(lsip.minimize(x[0]), [Family(UNIT, logarithms, lambda y: -spline(y)).on(x)])
    point = np.array([0.1, 0.5, 0.3, -0.2, 0.1])
    found = problem.worst_violation(point)
    y = UNIT.grid(200_001)
    assert found.value >= (logarithms(y) @ point + spline(y)).max() - 1e-12
    assert found.bound == np.inf
