"""The finite LP at chosen points: a bound, monotone in the points, and the same in SciPy's and CVXPY's hands."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import linprog

import lsip
from lsip.model.black_box_rows import BlackBoxRows
from lsip.model.declared_rows import DeclaredRows
from lsip.model.discretisation import FiniteLP, discretise

BOUNDED = ("tfi2_tan_n3", "abs_d10", "watson8_2d", "triangle_above", "scenarios_above", "robust_disc", "kissing_dim3")


def two_families() -> tuple[lsip.Problem, lsip.Index, lsip.Index]:
    x = lsip.Variable((2, 2), name="x", lower=0, upper=[[5, 6], [7, np.inf]])
    z = lsip.Variable(name="z")
    y = lsip.Index("y", lsip.Box([0, 0], [1, 1]))
    t = lsip.Index("t", lsip.Interval(0, 1))
    constraints = [
        lsip.forall(y, x[0, 0] * y[0] + x[1, 1] <= 1 + y[1]),
        lsip.forall((y, t), x[0, 1] * np.exp(t) + x[1, 0] * y[0] <= 2 + t),
        z >= -1,
        z == x[0, 0] - 1,
    ]
    return lsip.Problem(lsip.maximize(x.sum() - 2 * z + 3), constraints, name="two"), y, t


def line(**options: object) -> tuple[lsip.Problem, lsip.Variable, lsip.Index]:
    x, t = lsip.Variable(2, name="x", **options), lsip.Index("t", lsip.Interval(0, 1))
    return lsip.Problem(lsip.minimize(x[0] + x[1] / 2), [lsip.forall(t, x[0] + x[1] * t >= np.exp(t))]), x, t


@pytest.mark.parametrize("name", BOUNDED)
def test_more_points_bound_better_and_never_too_much(name: str) -> None:
    problem = lsip.catalogue.get(name).build()
    solution = problem.solve(verbose=False)
    assert solution.certified
    values = np.array([problem.discretise(k).solve().value for k in (3, 5, 9, 17)])  # nested grids
    if problem.objective.maximise:
        values, low = -values, -solution.upper
    else:
        low = solution.upper
    slack = 1e-8 * (1 + abs(low))
    assert (np.diff(values) >= -slack).all()
    assert (values <= low + slack).all()


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6), size=st.integers(1, 20), more=st.integers(0, 20))
def test_any_points_bound_from_below(seed: int, size: int, more: int) -> None:
    problem, *_ = line(lower=-20, upper=20)
    points = np.random.default_rng(seed).random((size + more, 1))
    few, many = (problem.discretise(points[:k]).solve().value for k in (size, size + more))
    assert few <= many + 1e-9
    assert many <= (np.exp(1) + 1) / 2 + 1e-9  # the line through both ends of exp, which is convex


def test_the_active_points_of_a_solution_are_enough() -> None:
    problem = lsip.catalogue.get("tfi2_tan_n3").build()
    solution = problem.solve(verbose=False)
    points = np.array([a.point for a in solution.active])
    assert problem.discretise(points).solve().value == pytest.approx(solution.value, abs=2e-8)


def test_scipy_and_cvxpy_agree_in_the_sense_of_the_problem() -> None:
    cp = pytest.importorskip("cvxpy")
    problem, *_ = two_families()
    lp = problem.discretise(4)
    expected = lp.solve()
    assert expected.status == "optimal"
    minimised = linprog(**problem.to_scipy(4))
    assert -minimised.fun + 3 == pytest.approx(expected.value)  # linprog minimises, and knows no constant
    model = problem.to_cvxpy(4)
    assert isinstance(model, cp.Problem)
    assert model.solve(solver="CLARABEL") == pytest.approx(expected.value, abs=1e-6)
    assert {name: v.shape for name, v in model.var_dict.items()} == {"x": (2, 2), "z": ()}
    low, high = model.var_dict["x"].bounds
    assert np.array_equal(low, np.zeros((2, 2)))
    assert np.array_equal(high, [[5, 6], [7, np.inf]])
    x, z = model.var_dict["x"].value, model.var_dict["z"].value
    assert x.sum() - 2 * z + 3 == pytest.approx(expected.value, abs=1e-6)
    assert z == pytest.approx(x[0, 0] - 1, abs=1e-6)
    assert [c.size for c in model.constraints] == [1, 16, 64, 1]  # z >= -1, both families, the equality


def test_cvxpy_minimises_too_and_free_variables_stay_free() -> None:
    pytest.importorskip("cvxpy")
    problem, *_ = line()
    model = problem.to_cvxpy([0.0, 1.0])
    assert model.solve(solver="CLARABEL") == pytest.approx((np.exp(1) + 1) / 2, abs=1e-6)
    assert model.var_dict["x"].bounds is None


def test_the_arrays_are_what_was_declared() -> None:
    problem, _, _ = line(lower=[-1, -2], upper=3)
    lp = problem.discretise([0.0, 0.5])
    assert isinstance(lp.A_ub, sparse.csr_matrix)
    assert np.allclose(lp.A_ub.toarray(), [[-1, 0], [-1, -0.5]])
    assert np.allclose(lp.b_ub, [-1, -np.exp(0.5)])
    assert lp.A_eq.shape == (0, 2)
    assert lp.b_eq.shape == (0,)
    assert np.array_equal(lp.bounds, [[-1, 3], [-2, 3]])
    assert np.allclose(lp.c, [1, 0.5])
    assert not lp.maximise
    assert lp.constant == 0
    assert lp.labels == ("x[0] + x[1] t ≥ exp(t) at t = 0", "x[0] + x[1] t ≥ exp(t) at t = 0.5")
    assert repr(lp) == "FiniteLP problem: minimise over 2 variables, 2 inequalities, 0 equalities, at 2 index points"


def test_labels_name_every_row() -> None:
    problem, *_ = two_families()
    lp = problem.discretise(2)
    assert len(lp.labels) == lp.A_ub.shape[0] + lp.A_eq.shape[0] == 1 + 4 + 8 + 1
    assert lp.labels[0] == "z ≥ -1"
    assert lp.labels[2] == "x[0, 0] y[0] + x[1, 1] ≤ 1 + y[1] at y[0] = 0, y[1] = 1"
    assert lp.labels[-1] == "z = x[0, 0] - 1"


def test_every_way_to_give_points() -> None:
    problem, y, t = two_families()
    grid, ends = y.domain.grid(3), np.array([[0.0], [0.5], [1.0]])
    both = np.array([[*p, *e] for p in grid for e in ends])
    expected = problem.discretise(3).solve().value
    for points in ([3, 3], (grid, both), [grid.tolist(), 3], {y: 3, t: ends}, {y: grid, t: [0, 0.5, 1]}, np.int64(3)):
        assert problem.discretise(points).solve().value == pytest.approx(expected)
    single, _, index = line()
    for points in ([0, 0.5, 1], [[0], [0.5], [1]], [ends], np.array([0, 0.5, 1]), {index: ends}, 3, [ends.tolist()]):
        assert [len(b.points) for b in single.discretise(points).blocks] == [3]


@pytest.mark.parametrize(
    ("points", "message"),
    [
        ([3], "has 2 families of rows: give one number for all of them, or a list .* got 1 entries"),
        (np.zeros((2, 2)), "has 2 families .* got one ndarray"),
        ([[[2.0, 2.0]], 3], r"point 0, \[2. 2.\], is not in \[0, 1\]²"),
        ([np.zeros((2, 3)), 3], r"expected shape \(2,\) or \(N, 2\); got \(2, 3\)"),
        ([None, 3], r"give a number of points an axis, or an array \(k, 2\); got None"),
        ([True, 3], "got True"),
        (0, "`per_axis` must be a whole number, at least 1; got 0"),
        ([["a", "b"], 3], "must be real numbers"),
    ],
)
def test_points_that_make_no_sense(points: object, message: str) -> None:
    problem, *_ = two_families()
    with pytest.raises(lsip.ModelError, match=message):
        problem.discretise(points)


def test_mappings_that_make_no_sense() -> None:
    problem, y, t = two_families()
    other = lsip.Index("w", lsip.Interval(0, 1))
    with pytest.raises(lsip.ModelError, match="w is no index of this problem; its indices are y, t"):
        problem.discretise({y: 3, t: 3, other: 3})
    with pytest.raises(lsip.ModelError, match="no points are given for t"):
        problem.discretise({y: 3})
    box = lsip.Family(lsip.Interval(0, 1), lambda y: np.array([[float(v)] for v in y[:, 0]]), lambda y: 1 + 0 * y[:, 0])
    x = lsip.Variable(1, name="x", upper=9)
    with pytest.raises(lsip.ModelError, match="it has functions, no index"):
        lsip.Problem(lsip.maximize(x[0]), [box.on(x)]).discretise({})


def test_infeasible_and_unbounded() -> None:
    problem, x, t = line()
    unbounded = problem.discretise([0.25]).solve()
    assert unbounded.status == "unbounded"
    assert unbounded.value == -np.inf
    assert np.isnan(unbounded.x).all()
    broken = lsip.Problem(lsip.minimize(x[0]), [lsip.forall(t, x[0] >= t + 1), x[0] <= 1])
    infeasible = broken.discretise(2).solve()
    assert infeasible.status == "infeasible"
    assert np.isnan(infeasible.value)
    assert broken.discretise([0.0]).solve().value == pytest.approx(1.0)  # one point does not show it


def test_a_problem_without_families_is_its_own_relaxation() -> None:
    x = lsip.Variable(2, name="x", lower=0)
    problem = lsip.Problem(lsip.minimize(x[0] + 2 * x[1] + 1), [x[0] + x[1] >= 1])
    assert problem.discretise(7).solve().value == pytest.approx(2.0)


def test_rows_of_the_same_index_are_added_point_by_point() -> None:
    x, t = lsip.Variable(2, name="x"), lsip.Index("t", lsip.Interval(0, 1))
    both = lsip.forall(t, [x[0] + t * x[1] <= 1, x[0] >= t - 5])
    lp = lsip.Problem(lsip.maximize(x[0]), both).discretise([0.0, 1.0])
    assert np.allclose(lp.A_ub.toarray(), [[1, 0], [-1, 0], [1, 1], [-1, 0]])
    assert np.allclose(lp.b_ub, [1, 5, 1, 4])


def test_without_cvxpy(monkeypatch: pytest.MonkeyPatch) -> None:
    problem, *_ = line()
    monkeypatch.setitem(sys.modules, "cvxpy", None)
    with pytest.raises(lsip.MissingExtraError, match=r"pip install 'lsip\[cvxpy\]'"):
        problem.to_cvxpy(3)


# ---- programs from plain arrays --------------------------------------------------------------------------------------


def above_tan() -> lsip.Family:
    return lsip.Family(lsip.Interval(0, 1), lambda y: -(y ** np.arange(3)), lambda y: -np.tan(y[:, 0]))


def test_a_program_from_arrays_is_solved_with_proof() -> None:
    program = lsip.Program.from_arrays(
        [1, 1 / 2, 1 / 3], [[0, 0, 1]], [5], bounds=(None, None), families=[above_tan()], names=["p", "q", "r"]
    )
    solution = program.solve(verbose=False)
    assert solution.certified
    assert solution.value == pytest.approx(lsip.catalogue.get("tfi2_tan_n3").value, abs=1e-7)
    assert repr(program) == "Program problem: minimise over 3 variables (p, q, r), 1 finite row, 1 family of rows"
    *_, last = lsip.exchange(program)
    assert 0.6 < last.value <= solution.upper  # a relaxation of the same program
    assert discretise(program, 5).solve().value <= solution.upper


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), maximise=st.booleans())
def test_a_program_survives_the_way_to_arrays_and_back(seed: int, maximise: bool) -> None:
    rng = np.random.default_rng(seed)
    n, ub, eq = 4, rng.integers(0, 4), rng.integers(0, 3)
    arrays = {
        "c": rng.normal(size=n),
        "A_ub": rng.normal(size=(ub, n)),
        "b_ub": rng.normal(size=ub),
        "A_eq": rng.normal(size=(eq, n)),
        "b_eq": rng.normal(size=eq),
        "bounds": [(-1, None), (None, 3), (None, None), (0, 1)],
        "sense": "max" if maximise else "min",
        "names": list("abcd"),
        "constant": 1.5,
    }
    program = lsip.Program.from_arrays(**arrays)
    back = program.to_arrays()
    for key in ("c", "b_ub", "b_eq"):
        assert np.array_equal(back[key], arrays[key])
    for key in ("A_ub", "A_eq"):
        assert np.array_equal(back[key].toarray(), arrays[key])
    assert np.array_equal(back["bounds"], [(-1, np.inf), (-np.inf, 3), (-np.inf, np.inf), (0, 1)])
    assert (back["sense"], back["constant"], back["names"]) == (arrays["sense"], 1.5, tuple("abcd"))
    again = lsip.Program.from_arrays(**back)
    assert repr(again) == repr(program)
    for field in ("c", "constant", "lower", "upper", "row_lower", "row_upper"):
        assert np.array_equal(getattr(again, field), getattr(program, field))


def test_a_declared_problem_survives_it_too() -> None:
    problem, *_ = two_families()
    program = problem.compile()
    again = lsip.Program.from_arrays(**program.to_arrays())
    assert isinstance(again.families[0].source, DeclaredRows)
    assert again.solve(verbose=False).value == pytest.approx(problem.solve(verbose=False).value, abs=1e-7)


def test_rows_with_two_sides_become_two_rows() -> None:
    program = lsip.Program.from_arrays([1.0, 1.0], [[1.0, 2.0]], [3.0])
    ranged = lsip.Program(**{**vars(program), "row_lower": np.array([1.0]), "row_labels": ("sum",), "families": ()})
    arrays = ranged.to_arrays()
    assert np.array_equal(arrays["A_ub"].toarray(), [[1, 2], [-1, -2]])
    assert np.array_equal(arrays["b_ub"], [3, -1])
    lp: FiniteLP = discretise(ranged, 3)
    assert lp.labels == ("sum", "sum, lower side")
    assert lp.solve().value == pytest.approx(0.5)


def test_black_boxes_stay_black_boxes() -> None:
    opaque = lsip.Family(
        lsip.Interval(0, 1), lambda y: -np.array([[1.0, float(v)] for v in y[:, 0]]), lambda y: -np.exp(y[:, 0])
    )
    program = lsip.Program.from_arrays([1, 0.5], bounds=(None, None), families=[opaque])
    assert isinstance(lsip.Program.from_arrays(**program.to_arrays()).families[0].source, BlackBoxRows)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"names": ["a"]}, "`names` must be 2 different strings, one a variable"),
        ({"names": ["a", "a"]}, "2 different strings"),
        ({"names": "ab"}, "2 different strings"),
        ({"sense": "maximise"}, '`sense` must be "min" or "max"'),
        ({"families": [3]}, r"families\[0\] must be an lsip.Family\(domain, a, b\); got int"),
        ({"bounds": [(0, 1)] * 3}, "`bounds` has shape"),
        ({"A_ub": [[1, 2]]}, "`A_ub` was given without `b_ub`"),
    ],
)
def test_arrays_that_make_no_sense(options: dict[str, object], message: str) -> None:
    with pytest.raises(lsip.ModelError, match=message):
        lsip.Program.from_arrays([1.0, 2.0], **options)


def test_a_family_of_a_larger_program_is_refused() -> None:
    large = lsip.Program.from_arrays([1, 1, 1], families=[above_tan()])
    with pytest.raises(lsip.ModelError, match=r"families\[0\] uses variable 2; there are only 2"):
        lsip.Program.from_arrays([1, 1], families=large.families)
