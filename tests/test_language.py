"""The language means what NumPy means, compiles to the rows that it says, refuses the rest, and reads like maths."""

from __future__ import annotations

import math
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import erf, erfc

import lsip
from lsip.errors import ModelError, NotAffineError
from lsip.expressions.graph import as_expression
from lsip.expressions.substitution import substituted
from lsip.expressions.tape import Tape

from .strategies import AFFINE_SHAPES, REACH, AffineFormula, Formula, affine_formulas, formulas

Array = NDArray[np.float64]


def interval_index(name: str = "t") -> lsip.Index:
    return lsip.Index(name, lsip.Interval(0, 1))


def square_index(name: str = "y") -> lsip.Index:
    return lsip.Index(name, lsip.Box([0, 0], [1, 1]))


# ---- expressions are NumPy ------------------------------------------------------------------------------------------


@settings(max_examples=120)
@given(formulas(shape=None), st.integers(0, 10_000))
def test_random_programs_have_numpy_s_shapes_and_values(formula: Formula, seed: int) -> None:
    index = formula.index()
    expression = as_expression(formula(index))
    assert expression.shape == formula.shape
    y = np.random.default_rng(seed).uniform(-REACH, REACH, (6, formula.dim))
    expected = formula.at(y)
    got = Tape((expression,), (index,)).values(y)
    if not formula.continuous:  # rounding may put a point on the other side of a jump
        other = formula.at(y + 1e-9), formula.at(y - 1e-9)
        steady = np.isclose(other[0], expected, atol=1e-4) & np.isclose(other[1], expected, atol=1e-4)
        got = np.where(steady, got, expected)
    np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-12 * (1 + formula.bound))


ARRAY_FUNCTIONS = [
    "np.sum(u)", "np.sum(u, axis=0)", "np.sum(u, axis=-1)", "np.sum(u, axis=(0, 1))", "u.sum(1)", "np.prod(u, axis=1)",
    "np.max(u, axis=0)", "np.min(u)", "u.max()", "u.min(axis=1)", "np.mean(u, axis=1)", "u.mean()", "u.prod()",
    "np.dot(u, v)", "np.dot(u, u.T)", "np.dot(2, u)", "np.inner(u, v)", "np.inner(u, u)", "np.vdot(u, u)",
    "np.vdot(v, v)", "u @ v", "v @ u.T", "u @ u.T", "u.T @ u", "np.matmul(u, v)", "u.dot(v)", "np.outer(v, v)",
    "np.outer(u, v)", "np.stack([u, u])[1] @ v", "np.ones((4, 2, 3)) @ v", "np.ones((4, 3, 2)) @ u",
    "np.ones((3, 2)) @ u @ v", "u.T", "np.transpose(u)", "u.reshape(3, 2)", "u.reshape(-1)", "np.reshape(u, (1, 6))",
    "u.ravel()", "np.ravel(u)", "np.squeeze(u[:1])", "np.expand_dims(v, 0)", "np.broadcast_to(v, (4, 3))",
    "np.tile(v, 2)", "np.repeat(v, 2)", "np.roll(u, 1, axis=1)", "np.flip(u, 0)", "np.moveaxis(u, 0, 1)",
    "np.swapaxes(u, 0, 1)", "np.take(v, [2, 0])", "np.atleast_1d(v[0])", "np.atleast_2d(v)", "np.diagonal(u)",
    "np.concatenate([v, v])", "np.concatenate([u, u], axis=1)", "np.stack([v, v], axis=1)", "np.vstack([v, u])",
    "np.hstack([v, v])", "np.column_stack([v, v])", "np.stack([v[0], 2.0])", "u[0]", "u[:, 1]", "u[..., ::2]",
    "u[None]", "u[1, [0, 2]]", "v[-1]", "v[np.array([True, False, True])]", "u[:, None, 0]",
    "np.where(v <= 0.5, v, 1.0)", "np.where(v > 0.5, 1.0, 0.0)", "np.where(u < v, u, v)", "np.where(0.3 >= v, 2, v)",
    "np.where(np.array([True, False, True]), v, 0.0)", "np.where([[True], [False]], u, -u)", "np.clip(v, 0.2, 0.8)",
    "np.clip(v, a_min=0.2, a_max=None)", "np.clip(v, None, 0.5)", "np.linalg.norm(v)",
    "np.linalg.norm(u)", "np.linalg.norm(u, axis=0)", "np.linalg.norm(v, 1)", "np.linalg.norm(v, np.inf)",
    "np.linalg.norm(u, 3, axis=1)", "np.linalg.norm(u, axis=(0, 1))", "np.maximum(u, v)", "np.minimum(0.5, v)",
    "np.fmax(v, 0)", "np.abs(-v)", "abs(u - 0.5)", "np.fabs(v)", "v ** 2", "v ** np.arange(3)", "2.0 ** v", "v ** v",
    "np.power(v, 0.3)", "v ** -1", "u / v", "1 / v", "v / 3", "v / np.array([2.0, 4.0, 8.0])", "-v", "+v", "v - 1",
    "1 - v", "np.hypot(u, v)", "np.exp2(v)", "np.log2(v)", "np.log10(v)", "np.log1p(v)", "np.expm1(v)",
    "np.arcsinh(v)", "np.arccosh(1 + v)", "np.arctanh(v / 2)", "np.sin(v)", "np.cos(v)", "np.tan(v)",
    "np.arcsin(v / 2)", "np.arccos(v / 2)", "np.arctan(v)", "np.sinh(v)", "np.cosh(v)", "np.tanh(v)", "np.exp(v)",
    "np.log(v)", "np.sqrt(v)", "np.square(v)", "np.reciprocal(v)", "np.deg2rad(v)", "np.radians(v)", "erf(v)",
    "erfc(v)", "np.zeros_like(u)", "np.ones_like(v)", "np.full_like(v, 2.0)", "np.shape(u)", "np.ndim(u)",
    "np.size(u)", "np.array([v[0], 2.0, v[1]]) * v", "[v[0], 1.0, v[2]] @ v", "sum(v)",
    "sum(a * b for a, b in zip(v, v[::-1]))",
    "np.sinc(v)", "np.sinc(u - 0.5)", "np.arctan2(u, v)", "np.arctan2(v - 1, 2)",
    "np.arctan2(-0.5, v - 2)", "np.trace(u)", "np.trace(u, 1)", "np.trace(np.stack([u, u]), axis1=1, axis2=2)",
    "np.cumsum(u)", "np.cumsum(v)", "np.cumsum(u, axis=0)", "np.cumsum(u, axis=-1)", "np.cumsum(np.stack([u, -u]), 1)",
    "np.polyval([1.0, 2.0, 3.0], v)", "np.polyval(v, 2.0)", "np.polyval(v, u)", "np.polyval([v[0], 2.0], v[1])",
    "np.clip(v, np.inf, 0.5)", "np.clip(v, -np.inf, 0.5)", "np.clip(v, 0.5, np.inf)", "np.clip(v, np.inf, u)",
    "np.clip(v, 0.8, 0.2)", "np.zeros_like(v, float)", "np.ones_like(u, np.float64, shape=(2,))",
    "np.full_like(v, 2.0, float)", "np.full_like(u, v, dtype=float)", "np.zeros_like(v, None, 'C')",
    "np.polyval(np.array([4.0]), v)", "np.polyval(np.poly1d([1, 2]), u)", "np.polyval([3.0, 1.0], v[0])",
]  # fmt: skip
if np.lib.NumpyVersion(np.__version__) >= "2.1.0":
    ARRAY_FUNCTIONS.append("np.clip(v, min=0.2, max=0.8)")


@pytest.mark.parametrize("source", ARRAY_FUNCTIONS)
def test_array_functions_are_numpy_s(source: str) -> None:
    index = lsip.Index("y", lsip.Box([0.1] * 9, [0.9] * 9))
    point = np.linspace(0.1, 0.9, 9)[[3, 1, 4, 8, 5, 0, 2, 6, 7]]
    names = {"np": np, "erf": erf, "erfc": erfc}
    expected = np.asarray(eval(source, {**names, "u": point[:6].reshape(2, 3), "v": point[6:]}))
    got = as_expression(eval(source, {**names, "u": index[:6].reshape(2, 3), "v": index[6:]}))
    assert got.shape == expected.shape
    values = Tape((got,), (index,)).values(point[None]).reshape(got.shape)
    np.testing.assert_allclose(values, expected, rtol=1e-13)


# ---- models compile to the rows that they say -----------------------------------------------------------------------


@st.composite
def models(draw: Any) -> tuple[AffineFormula, AffineFormula, str]:
    dim, shape = draw(st.integers(1, 2)), draw(st.sampled_from([(), (), (2,)]))
    scalar = dim == 1 and draw(st.booleans())
    left, right = (draw(affine_formulas(dim, scalar, shape)) for _ in range(2))
    return left, right, draw(st.sampled_from(["<=", ">="]))


def variables() -> dict[str, lsip.Variable]:
    return {name: lsip.Variable(shape, name=name) for name, shape in AFFINE_SHAPES.items()}


@settings(max_examples=80)
@given(models(), st.integers(0, 1000))
def test_compiled_rows_equal_brute_force(model: tuple[AffineFormula, AffineFormula, str], seed: int) -> None:
    left, right, symbol = model
    index = Formula("y", (), 1.0, left.dim, left.scalar).index()
    x = variables()
    anchored = {name: v + 0 for name, v in x.items()}  # the same lines must work on sums as on variables
    body = left(index, **x) - right(index, **anchored) + 0 * x["z"] + 0 * np.sum(index)
    zero = np.zeros(left.shape)
    constraint = body <= zero if symbol == "<=" else body >= zero
    objective = lsip.minimize(sum(v.sum() for v in x.values()))
    program = lsip.Problem(objective, [lsip.forall(index, constraint)]).compile()
    rng = np.random.default_rng(seed)
    values = {name: rng.normal(size=shape) for name, shape in AFFINE_SHAPES.items()}
    flat = np.concatenate([np.ravel(values[v]) for v in x])
    y = rng.uniform(-REACH, REACH, (4, left.dim))
    sign = 1 if symbol == "<=" else -1
    expected = []
    for point in y:
        where = point[0] if left.scalar else point
        expected.append(sign * np.ravel(left(where, **values) - right(where, **values)))
    got = program.violation(0, flat).values(y)
    a, _ = program.families[0].rows(y)
    np.testing.assert_allclose(got, np.array(expected), rtol=1e-8, atol=1e-8 * (1 + np.abs(a).max()))


@settings(max_examples=20)
@given(models(), st.sampled_from(["<=", ">=", "=="]), st.integers(0, 1000))
def test_finite_rows_equal_brute_force(model: tuple[AffineFormula, AffineFormula, str], symbol: str, seed: int) -> None:
    """The same random lines, at a fixed point instead of an index."""
    left, right, _ = model
    rng = np.random.default_rng(seed)
    point = rng.uniform(-REACH, REACH, left.dim)
    where = point[0] if left.scalar else point
    x = variables()
    body = left(where, **x) - right(where, **x) + 0 * x["z"]
    zero = np.zeros(left.shape)
    constraint = {"<=": lambda: body <= zero, ">=": lambda: body >= zero, "==": lambda: body == zero}[symbol]()
    objective = lsip.minimize(sum(v.sum() for v in x.values()))
    program = lsip.Problem(objective, [constraint]).compile()
    values = {name: rng.normal(size=shape) for name, shape in AFFINE_SHAPES.items()}
    flat = np.concatenate([np.ravel(values[v]) for v in x])
    expected = np.ravel(left(where, **values) - right(where, **values)) * (-1 if symbol == ">=" else 1)
    np.testing.assert_allclose(program.A @ flat - program.row_upper, expected, rtol=1e-8, atol=1e-7)
    assert (program.row_lower == program.row_upper).all() if symbol == "==" else (program.row_lower == -np.inf).all()


def test_a_model_with_everything() -> None:
    x = lsip.Variable(2, name="x", lower=[0, -np.inf], upper=5)
    z = lsip.Variable(name="z", lower=-1)
    s, t, y = interval_index("s"), lsip.Index("t", lsip.Interval(1, 2)), square_index()
    problem = lsip.Problem(
        lsip.maximize(x[0] - 2 * z + 7),
        [
            lsip.forall((s, t), x[0] * s + x[1] * t <= s * t),
            x.sum() <= 4,
            [lsip.forall(y, [y @ x <= 1, z >= y[0] * y[1]]), x[0] + z == 1],
            lsip.forall(t, t * x >= -1),
            lsip.forall((s, t), z <= s + t),
        ],
        name="everything",
    )
    program = problem.compile()
    assert problem.variables == (x, z)
    assert program.maximise
    np.testing.assert_array_equal(program.c, [-1, 0, 2])
    assert program.constant == -7
    np.testing.assert_array_equal(program.lower, [0, -np.inf, -1])
    np.testing.assert_array_equal(program.upper, [5, 5, np.inf])
    np.testing.assert_array_equal(program.A.toarray(), [[1, 1, 0], [1, 0, 1]])
    np.testing.assert_array_equal(program.row_lower, [-np.inf, 1])
    np.testing.assert_array_equal(program.row_upper, [4, 1])
    assert program.row_labels == ("Σ x ≤ 4", "x[0] + z = 1")
    # Constraints over the same indices are one family, in the order in which the indices first appear.
    assert [f.domain for f in program.families] == [s.domain * t.domain, y.domain, t.domain]
    assert [f.legend.coordinates for f in program.families] == [("s", "t"), ("y[0]", "y[1]"), ("t",)]
    assert [len(f.columns) for f in program.families] == [2, 2, 2]
    assert program.families[0].labels == ("x[0] s + x[1] t ≤ s t", "z ≤ s + t")
    assert program.families[2].labels == ("(t x ≥ -1)[0]", "(t x ≥ -1)[1]")
    flat, point = np.array([1.0, 2.0, 3.0]), np.array([[0.25, 1.5]])
    np.testing.assert_allclose(program.violation(0, flat).values(point), [[0.25 + 3 - 0.375, 3 - 1.75]])
    np.testing.assert_allclose(program.violation(1, flat).values(point), [[0.25 + 3 - 1, 0.375 - 3]])
    np.testing.assert_allclose(program.violation(2, flat).values(point[:, 1:]), [[-1.5 - 1, -3 - 1]])


def test_entries_of_one_variable_are_added_up() -> None:
    x, t = lsip.Variable(2, name="x"), interval_index()
    problem = lsip.Problem(
        lsip.minimize(x[0] + x[1] + x[0]),
        [lsip.forall(t, x[0] + t * x[0] - x[1] + x[0] * t**2 <= t + x[1]), x[0] + x[1] - 3 * x[0] <= x[1] + 1],
    )
    program = problem.compile()
    np.testing.assert_array_equal(program.c, [2, 1])
    np.testing.assert_array_equal(program.A.toarray(), [[-2, 0]])
    assert program.families[0].columns.tolist() == [[0, 1]]
    a, b = program.families[0].rows(np.array([[0.5]]))
    np.testing.assert_allclose(a, [[[1.75, -2.0]]])
    np.testing.assert_allclose(b, [[0.5]])


@pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.coo_matrix, sparse.csc_array, sparse.csr_array])
def test_sparse_matrices_apply_to_variables(kind: Any) -> None:
    rng = np.random.default_rng(0)
    dense = rng.random((4, 5)) * (rng.random((4, 5)) < 0.4)
    x, t = lsip.Variable(5, name="x"), interval_index()
    problem = lsip.Problem(
        lsip.minimize(x.sum()),
        [kind(dense) @ x <= 1, kind(dense) @ (x[::-1] + 1) >= -2, lsip.forall(t, kind(dense) @ x * t <= np.ones(4))],
    )
    program = problem.compile()
    np.testing.assert_allclose(program.A.toarray()[:4], dense)
    np.testing.assert_allclose(program.A.toarray()[4:], -dense[:, ::-1])
    np.testing.assert_allclose(program.row_upper, np.concatenate([np.ones(4), 2 + dense.sum(1)]))
    flat, y = rng.normal(size=5), np.array([[0.25], [1.0]])
    np.testing.assert_allclose(program.violation(0, flat).values(y), y * (dense @ flat) - 1, atol=1e-14)


MATRIX_SHAPES = [((2, 3), (3,)), ((3,), (3, 4)), ((2, 3), (3, 4)), ((1, 3), (3, 1)), ((5, 2, 3), (3, 4)), ((3,), (3,)),
                 ((2, 3), (5, 3, 1)), ((3,), (5, 3, 2))]  # fmt: skip


@given(
    st.sampled_from(MATRIX_SHAPES),
    st.booleans(),
    st.sampled_from(["numbers", "index", "csr", "coo"]),
    st.booleans(),
    st.integers(0, 1000),
)
def test_matrix_products_are_numpy_s(
    shapes: tuple[tuple[int, ...], tuple[int, ...]], on_the_left: bool, other: str, shifted: bool, seed: int
) -> None:
    """A variable of any shape times numbers, index expressions or a sparse matrix, on either side."""
    rng = np.random.default_rng(seed)
    mine, theirs = shapes if on_the_left else shapes[::-1]
    other = "numbers" if len(theirs) != 2 or len(mine) > 2 else other
    point, matrix, x = rng.uniform(size=2), np.round(rng.normal(size=theirs), 1), rng.normal(size=mine)
    y, variable = square_index(), lsip.Variable(mine, name="x")
    shift = rng.normal(size=mine) if shifted else 0.0
    made: dict[str, Any] = {
        "numbers": lambda y: matrix,
        "index": lambda y: np.exp(y[0]) * matrix + y[1],
        "csr": lambda y: sparse.csr_array(matrix),
        "coo": lambda y: sparse.coo_matrix(matrix),
    }
    factor, known = made[other](y), made["index" if other == "index" else "numbers"](point)
    got = (variable + shift) @ factor if on_the_left else factor @ (variable + shift)
    expected = np.asarray((x + shift) @ known if on_the_left else known @ (x + shift))
    assert got.shape == expected.shape
    program = lsip.Problem(lsip.minimize(variable.sum()), [lsip.forall(y, got + 0 * y[0] <= 0)]).compile()
    values = program.violation(0, x.ravel()).values(point[None])
    np.testing.assert_allclose(values, expected.reshape(1, -1), rtol=1e-12, atol=1e-12)


def test_sparse_matrices_apply_to_index_expressions() -> None:
    matrix = sparse.csr_array(np.array([[1.0, 0.0], [0.0, 2.0], [3.0, 0.0]]))
    y = square_index()
    point = np.array([[0.25, 0.5]])
    np.testing.assert_allclose(Tape((y @ matrix.T,), (y,)).values(point), [[0.25, 1.0, 0.75]])
    np.testing.assert_allclose(Tape((matrix @ y,), (y,)).values(point), [[0.25, 1.0, 0.75]])


def test_rows_that_use_different_variables_are_padded() -> None:
    x, z, t = lsip.Variable(3, name="x"), lsip.Variable(name="z"), interval_index()
    rows = [lsip.forall(t, [x[0] + x[1] * t + x[2] * t**2 <= 1, z >= t])]
    program = lsip.Problem(lsip.minimize(z), rows).compile()
    y = np.array([[0.5]])
    flat = np.array([1.0, 2.0, 4.0, 8.0])
    np.testing.assert_allclose(program.violation(0, flat).values(y), [[1 + 1 + 1 - 1, 0.5 - 8]])


def test_solutions_evaluate_expressions_of_variables() -> None:
    x, w = lsip.Variable(2, name="x", lower=1), lsip.Variable((2, 2), name="w", lower=2)
    t = interval_index()
    problem = lsip.Problem(lsip.minimize(x.sum() + w.sum()), [lsip.forall(t, x[0] >= t)])
    solution = problem.solve(verbose=False)
    np.testing.assert_allclose(solution[x], [1, 1], atol=1e-7)
    np.testing.assert_allclose(solution[w], [[2, 2], [2, 2]], atol=1e-7)
    np.testing.assert_allclose(solution[w[0] @ np.array([1.0, 3.0]) + x[1] - 1], 8, atol=1e-6)
    with pytest.raises(ModelError, match="not a variable of this problem"):
        solution[lsip.Variable(name="other")]
    with pytest.raises(ModelError, match="without an index"):
        solution[t * x[0]]


def test_an_undefined_coefficient_is_named_with_its_point() -> None:
    x, t = lsip.Variable(name="x"), lsip.Index("t", lsip.Interval(-1, 1))
    program = lsip.Problem(lsip.minimize(x), [lsip.forall(t, x >= np.log(t))]).compile()
    with pytest.raises(ModelError, match=r"x ≥ log\(t\) is not defined at t = -0.5"):
        program.families[0].rows(np.array([[0.5], [-0.5]]))


@pytest.mark.parametrize(
    "source",
    [
        "np.maximum(np.log(t), 0.0)",
        "np.minimum(np.sqrt(t), 1.0)",
        "1 + np.minimum(0.0, np.log(t))",
        "np.abs(np.log(t))",
        "np.clip(np.sqrt(t), 0.0, 0.5)",
        "np.where(np.log(t) <= 0.0, 1.0, 2.0)",
        "np.where(np.log(t) < 0.0, 1.0, 2.0)",
        "np.where(np.log(t) > -1.0, 1.0, 2.0)",
        "np.where(np.sqrt(t) >= 0.0, 1.0, 2.0)",
        "np.where(np.sqrt(t) > -1.0, 1.0, 2.0)",
        "np.where(t**1.5 >= 0.0, 1.0, 2.0)",
        "np.where(np.arcsin(t - 0.5) >= -2.0, 1.0, 2.0)",
        "np.where(np.arccos(2.0 * t) >= -1.0, 1.0, 2.0)",
        "np.where(np.log1p(t - 1.0) <= 0.0, 1.0, 2.0)",
        "np.where(np.sqrt(np.stack([t, t + 2.0])) >= 0.0, 1.0, 2.0).sum()",
        "np.where(t >= 0, 1.0, np.log(t))",
        "np.where(t <= 0, 1.0, np.log(np.abs(t)))",
        "np.stack([np.log(t), t]).max()",
    ],
)
def test_kinks_pass_on_what_is_undefined(source: str) -> None:
    """At every point the value is NumPy's, nan included; and a constraint that is undefined somewhere says so."""
    t = lsip.Index("t", lsip.Interval(-1, 1))
    expression = eval(source, {"np": np, "t": t})
    y = np.array([[-0.5], [0.25], [0.0], [1.0]])
    with np.errstate(all="ignore"):
        expected = np.array([eval(source, {"np": np, "t": v}) for v in y[:, 0]])
    tape = Tape((expression,), (t,))
    np.testing.assert_allclose(tape.values(y)[:, 0], expected)
    box, finite = tape.enclose(np.array([[-1.0]]), np.array([[1.0]])), expected[np.isfinite(expected)]
    assert not (finite < box.lo[0]).any()
    assert not (finite > box.hi[0]).any()
    x = lsip.Variable(name="x")
    program = lsip.Problem(lsip.minimize(x), [lsip.forall(t, x >= expression)]).compile()
    if not np.isfinite(expected[0]):
        with pytest.raises(ModelError, match=r"not defined at t = -0\.5"):
            program.families[0].rows(y[:2])


# ---- refusals -------------------------------------------------------------------------------------------------------

NOT_AFFINE = {
    "x[0] * x[1]": r"\(x\[0\]\) \* \(x\[1\]\)",
    "(x + 1) * (z - t)": r"\(x \+ 1\) \* \(z - t\)",
    "t * x[0] * z": r"\(t x\[0\]\) \* \(z\)",
    "x @ x[::-1]": r"\(x\) @ \(x\[::-1\]\)",
    "w @ w": r"\(w\) @ \(w\)",
    "x / x": r"\(x\) / \(x\)",
    "1 / z": r"\(1\) / \(z\)",
    "t / (1 + z)": r"\(t\) / \(1 \+ z\)",
    "np.sin(x)": r"np.sin\(x\)",
    "np.exp(t * z)": r"np.exp\(t z\)",
    "np.sqrt(z + 1)": r"np.sqrt\(z \+ 1\)",
    "np.log(z)": r"np.log\(z\)",
    "erf(z)": r"erf\(z\)",
    "np.prod(x)": r"np.prod\(x\)",
    "np.where(t <= 0.5, z, 1)": r"np.where\(t ≤ 0.5, z, 1\)",
    "np.where(z <= 0.5, 1, 2)": r"np.where cannot depend on z ≤ 0.5",
    "np.where(x <= t, 1, 2)": r"np.where cannot depend on x ≤ t",
    "np.clip(z, 0, 1)": r"np.minimum\(max\(z, 0\), 1\)",
    "np.linalg.norm(x, 3)": r"np.linalg.norm\(x, 3\) has variables in it: ord is 1, 2 or np.inf",
}

REFUSED = {
    "0 <= x <= 1": "x ≥ 0 cannot be used as a bool.*`0 <= e` and `e <= 1`",
    "0 <= t <= 1": "t ≥ 0 .*cannot be used as a bool.*np.where",
    "1 if t <= 0.5 else 2": "t ≤ 0.5 .*cannot be used as a bool.*np.where",
    "1 if x <= 0.5 else 2": "x ≤ 0.5 cannot be used as a bool",
    "1 if t else 2": "cannot be used as a bool.*instead of `if`",
    "not x": "cannot be used as a bool",
    "x < 1": "Strict.*x < 1",
    "t > z": "Strict.*t > z",
    "np.less(x, 1)": "Strict.*x < 1",
    "x != 1": "!=",
    "(t <= 0.5) & (t >= 0.2)": "nest np.where",
    "x[5]": r"x has shape \(3,\).*out of bounds",
    "y[2]": r"y has shape \(2,\).*out of bounds",
    "t[0]": r"t has shape \(\)",
    "x + np.ones(2)": r"x of shape \(3,\).*\(2,\)",
    "x * np.ones(2)": r"\(2,\) and \(3,\).*\* x",
    "y + np.ones(3)": r"\(2,\) and \(3,\).*y",
    "x <= np.ones(2)": r"\(3,\).*\(2,\)",
    "np.ones(2) @ x": r"\(2,\) and \(3,\)",
    "np.ones((3, 2)) @ x": r"\(3, 2\) and \(3,\)",
    "np.ones(3) @ w": r"\(3,\) and \(2, 2\)",
    "w @ np.ones(3)": r"\(2, 2\) and \(3,\)",
    "w @ sparse.eye(3)": r"\(3, 3\) and \(2, 2\)",
    "np.ones((3, 4, 2)) @ (np.ones((2, 1, 1)) * w)": r"cannot stack .*\(3, 4, 2\) and \(2, 2, 2\)",
    "y @ np.ones(3)": r"\(2,\) and \(3,\)",
    "t @ x": "`@`",
    "2 @ y": "`@`",
    "np.maximum(y, np.ones(3))": r"\(2,\) and \(3,\)",
    "np.where(y <= np.ones(3), 1, 2)": r"\(3,\) and \(2,\).* 1, y",
    "x.reshape(2, 2)": r"x, which has shape \(3,\)",
    "np.concatenate([x, z])": r"\(3,\), \(\)",
    "np.stack([y, t])": r"\(2,\), \(\)",
    "y.sum(axis=1)": r"y has shape \(2,\).*axis 1",
    "np.sum(y, axis=0, keepdims=True)": "keepdims",
    "np.linalg.norm(y, 0)": "ord",
    "np.linalg.norm(y, -np.inf)": "ord",
    "np.linalg.norm(np.outer(y, y), 2)": "vectors",
    "np.linalg.norm(np.outer(y, y), 2, axis=(0, 1))": "vectors",
    "np.clip(t, 0, 1, out=np.zeros(3))": "out",
    "np.clip(t, np.inf, None)": "is infinite",
    "np.clip(t, np.inf, np.inf)": "is infinite",
    "np.clip(t, 0, -np.inf)": "is infinite",
    "np.zeros_like(t, int)": "makes doubles here",
    "np.full_like(t, 1.5, 'no type')": "makes doubles here",
    "t ** (2.0**53 + 2)": "beyond 2",
    "t ** -(2.0**53)": "beyond 2",
    "np.linalg.norm(t * np.ones(2), 1e17)": "beyond 2",
    "np.add(x, 1, out=np.zeros(3))": "np.add",
    "np.rint(t)": "np.rint is not part of the language.*linsip",
    "np.sort(y)": "np.sort is not part of the language",
    "t / 0": r"Division by zero in \(t\) / \(0\)",
    "z / 0": r"Division by zero in \(z\) / \(0\)",
    "x / np.array([1, 0, 2])": r"Division by zero in \(x\) / ",
    "(-1) ** t": "positive base",
    "t * None": "None",
    "z + None": "None",
    "z <= None": "None",
    "t + 'a'": "'a'",
    "z * np.nan": "nan",
    "t + np.nan": "nan",
    "z <= np.nan": "nan",
    "sparse.eye(3) * x": "sparse matrix",
    "x + sparse.eye(3)": "sparse matrix",
    "lsip.Variable(0)": "positive",
    "lsip.Variable((2, 0))": r"positive.*\(2, 0\)",
    "lsip.Variable(-1)": "positive",
    "lsip.Variable(2.5)": "2.5",
    "lsip.Variable(2, name='v', lower=np.nan)": "`lower` of v holds nan",
    "lsip.Variable(2, name='v', upper=[1, np.nan])": "`upper` of v holds nan",
    "lsip.Variable(2, name='v', lower=[0, 1], upper=[1, 0])": "v: lower bound 1.0 exceeds upper bound 0.0 at element 1",
    "lsip.Variable(2, name='v', lower=[0, 0, 0])": r"`lower` of v must broadcast to \(2,\); got \(3,\)",
    "lsip.Variable(name='v', lower=np.inf)": "v: ",
    "lsip.Variable(name='v', upper=-np.inf)": "v: ",
    "lsip.minimize(x)": r"x has shape \(3,\).*sum",
    "lsip.minimize(z * t)": "depends on the index t",
    "lsip.maximize(y[0])": "depends on the index y",
    "lsip.forall(t, z >= s)": r"z ≥ s depends on s too",
    "lsip.forall(t, z == t)": r"z = t",
    "lsip.forall(t, t <= 1)": "t ≤ 1 has no decision variable",
    "lsip.forall(t, True)": "bool",
    "lsip.forall((t, t), z >= t)": "twice",
    "lsip.forall((), z >= 1)": "Index",
    "lsip.forall(z, z >= 1)": "Index",
    "lsip.forall(0.5, z >= 1)": "Index",
    "lsip.Problem(lsip.minimize(z), [z >= t])": r"z ≥ t depends on the index t: wrap it in forall\(t",
    "lsip.Problem(lsip.minimize(z), [x <= s * t])": r"x ≤ s t depends on the index s, t",
    "lsip.Problem(lsip.minimize(z), [True])": "True",
    "lsip.Problem(lsip.minimize(z), [t <= 1])": "t ≤ 1",
    "lsip.Problem(lsip.minimize(z), [z])": "constraint was expected",
    "lsip.Problem(lsip.minimize(z), z >= 1)": "z ≥ 1",
    "lsip.Problem(z, [])": "minimize",
    "lsip.Problem(lsip.minimize(3), [])": "no decision variable",
    "lsip.Problem(lsip.minimize(z), [lsip.forall(t, z >= t)]).solve(verbose=False, tolerance=1)": "tolerance.*tol",
    "lsip.Problem(lsip.minimize(z), [lsip.forall(t, z >= t)]).solve(verbose=False, tol=0)": "tol",
    "lsip.Problem(lsip.minimize(z), [lsip.forall(t, z >= t)]).solve(verbose=False, max_iterations=0)": "max_iterations",
    "lsip.Problem(lsip.minimize(z), [lsip.forall(t, z >= t)]).solve(verbose=False, oracle=3)": "oracle",
}


def names() -> dict[str, Any]:
    return {
        "np": np,
        "lsip": lsip,
        "erf": erf,
        "sparse": sparse,
        "x": lsip.Variable(3, name="x"),
        "z": lsip.Variable(name="z"),
        "w": lsip.Variable((2, 2), name="w"),
        "s": interval_index("s"),
        "t": interval_index("t"),
        "y": square_index("y"),
    }


@pytest.mark.parametrize("source", NOT_AFFINE)
def test_what_is_not_affine_is_refused_where_it_is_written(source: str) -> None:
    with pytest.raises(NotAffineError, match=NOT_AFFINE[source]) as caught:
        eval(source, names())
    assert isinstance(caught.value, TypeError)
    assert isinstance(caught.value, ModelError)


@pytest.mark.parametrize("source", REFUSED)
def test_what_cannot_mean_anything_is_refused(source: str) -> None:
    with pytest.raises(ModelError, match=REFUSED[source]):
        eval(source, names())


def test_scalars_have_no_length_and_no_elements() -> None:
    t, z = interval_index(), lsip.Variable(name="z")
    for scalar in (t, z):
        with pytest.raises(TypeError, match="scalar"):
            list(scalar)
    for conversion in (float, int):
        with pytest.raises(TypeError):
            conversion(t)
    with pytest.raises(ModelError, match=r"such as np\.sin"):
        math.sin(t)
    with pytest.raises(ModelError, match=r"Interval\(0, 1\)"):
        lsip.Index("t", [0, 1])  # type: ignore[arg-type]


# ---- it reads like maths --------------------------------------------------------------------------------------------

PRINTED = {
    "x[0] + x[1] * t + x[2] * t**2 >= np.tan(t)": (
        "x[0] + x[1] t + x[2] t² ≥ tan(t)",
        r"x_{0} + x_{1} t + x_{2} t^{2} \ge \tan\left(t\right)",
    ),
    "t ** np.arange(3) @ x <= np.exp(-t**2 / 2)": (
        "t^[0 1 2] · x ≤ exp(-t² / 2)",
        r"t^{(0, 1, 2)} \cdot x \le e^{-\frac{t^{2}}{2}}",
    ),
    "1 / (1 + ((y - P) ** 2).sum(axis=-1)) @ x <= 1": (
        "(1 / (1 + Σ (y - A(3×2))²)) · x ≤ 1",
        r"\frac{1}{1 + \sum \left(y - A_{3\times 2}\right)^{2}} \cdot x \le 1",
    ),
    "np.linalg.norm(y - np.array([0.5, 0.25])) * z <= 1": (
        "‖y - [0.5 0.25]‖ z ≤ 1",
        r"\left\|y - (0.5, 0.25)\right\| z \le 1",
    ),
    "-2 * z - (x[0] - x[1]) + (-3) <= -t": (
        "-2 z - (x[0] - x[1]) - 3 ≤ -t",
        r"-2 z - \left(x_{0} - x_{1}\right) - 3 \le -t",
    ),
    "(x[0] + z) * t / 2 == 1e-7": ("(x[0] + z) t / 2 = 1e-7", r"\frac{\left(x_{0} + z\right) t}{2} = 10^{-7}"),
    "z >= ((t - 1) / 2) ** 2": ("z ≥ ((t - 1) / 2)²", r"z \ge \left(\frac{t - 1}{2}\right)^{2}"),
    "(t / 2) * z >= t / (2 * t)": ("(t / 2) z ≥ t / (2 t)", r"\frac{t}{2} z \ge \frac{t}{2 t}"),
    "np.abs(t - 0.5) * z <= np.maximum(t, 1 - t)": (
        "|t - 0.5| z ≤ max(t, 1 - t)",
        r"\left|t - 0.5\right| z \le \max\left(t, 1 - t\right)",
    ),
    "z >= np.where(t <= 0.5, t, 1 - t)": (
        "z ≥ (t if t ≤ 0.5 else 1 - t)",
        r"z \ge \begin{cases}t & t \le 0.5\\1 - t & \text{else}\end{cases}",
    ),
    "np.sqrt(t)**2 * z + np.exp(t)**2 <= t**-1 + t**0.5 + 2**t": (
        "(√(t))² z + exp(t)² ≤ t⁻¹ + t^0.5 + 2^t",
        r"\sqrt{t}^{2} z + \left(e^{t}\right)^{2} \le t^{-1} + t^{0.5} + 2^{t}",
    ),
    "A @ x <= np.ones(2) @ y": ("A(4×3) · x ≤ [1 1] · y", r"A_{4\times 3} \cdot x \le (1, 1) \cdot y"),
    "S @ x >= 0": ("A(4×3) · x ≥ 0", r"A_{4\times 3} \cdot x \ge 0"),
    "sum(x) + x[1:].sum() - w[0, 1] + w.T[1, 0] <= 0": (
        "x[0] + x[1] + x[2] + Σ x[1:] - w[0, 1] + (wᵀ)[1, 0] ≤ 0",
        r"x_{0} + x_{1} + x_{2} + \sum x_{1:} - w_{0, 1} + \left(w^{\top}\right)_{1, 0} \le 0",
    ),
    "x[[0, 2]] * np.sin(theta1) <= np.mean(y) + t": (
        "x[[0 2]] sin(theta1) ≤ mean(y) + t",
        r"x_{(0, 2)} \sin\left(\theta_{1}\right) \le \operatorname{mean}\left(y\right) + t",
    ),
    "x_max - x[0] >= np.arange(8.0) @ np.tile(z, 8)": (
        "x_max - x[0] ≥ [0 1 2 … 7] · tile(z)",
        r"x_{\mathrm{max}} - x_{0} \ge (0, 1, 2, \dots, 7) \cdot \operatorname{tile}\left(z\right)",
    ),
}


@pytest.mark.parametrize("source", PRINTED)
def test_constraints_read_like_maths(source: str) -> None:
    matrix = np.arange(12.0).reshape(4, 3)
    more = {
        "P": np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]),
        "A": matrix,
        "S": sparse.csr_matrix(matrix),
        "theta1": lsip.Index("theta1", lsip.Interval(0, 1)),
        "x_max": lsip.Variable(name="x_max"),
    }
    constraint = eval(source, {**names(), **more})
    text, latex = PRINTED[source]
    assert str(constraint) == repr(constraint) == text
    assert constraint._repr_latex_() == f"${latex}$"


def test_problems_read_like_maths() -> None:
    x = lsip.Variable(3, name="x")
    z = lsip.Variable(name="z", lower=0, upper=2.5)
    w = lsip.Variable(2, name="w", lower=[0, 1])
    t, s = interval_index(), lsip.Index("s", lsip.Ball([0, 0], 1))
    problem = lsip.Problem(
        lsip.minimize(x[0] + x[1] / 2 + z),
        [
            lsip.forall(t, x[0] + x[1] * t + x[2] * t**2 >= np.tan(t)),
            x[0] <= 10,
            lsip.forall((s, t), s @ w + t * z <= 1),
        ],
    )
    assert str(problem).splitlines() == [
        "minimize x[0] + x[1] / 2 + z",
        "subject to x[0] + x[1] t + x[2] t² ≥ tan(t)   for all t ∈ [0, 1]",
        "           x[0] ≤ 10",
        f"           s · w + t z ≤ 1   for all s ∈ {s.domain}, t ∈ [0, 1]",
        "           z ≥ 0",
        "           z ≤ 2.5",
        "           w ≥ [0 1]",
    ]
    assert repr(problem) == str(problem)
    latex = problem._repr_latex_()
    assert latex.startswith(r"$$\begin{aligned}\min \quad & x_{0} + \frac{x_{1}}{2} + z \\ \text{s.t.} \quad & ")
    assert r"x_{0} + x_{1} t + x_{2} t^{2} \ge \tan\left(t\right) \quad \forall t \in [0, 1] \\ & x_{0} \le 10" in latex
    assert rf"\forall s \in {s.domain.latex()}, t \in [0, 1]" in latex
    assert r"z \ge 0" in latex, "bounds of variables belong to the model in LaTeX too"
    assert latex.endswith(r"\end{aligned}$$")
    assert str(lsip.Problem(lsip.maximize(z), [z <= 1])).startswith("maximize z\nsubject to z ≤ 1")


def test_parts_of_a_model_read_like_maths() -> None:
    x, t, y = lsip.Variable(3, name="x"), interval_index(), square_index()
    assert str(lsip.forall(t, x[0] >= t)) == "x[0] ≥ t   for all t ∈ [0, 1]"
    assert str(lsip.maximize(x.sum())) == "maximize Σ x"
    assert str(x) == "x"
    assert x._repr_latex_() == "$x$"
    assert (y[0] * y[1])._repr_latex_() == "$y_{0} y_{1}$"
    assert str(t <= 0.5) == "t ≤ 0.5"
    assert t.domain._repr_latex_() == "$[0, 1]$"


@settings(max_examples=40)
@given(formulas(shape=None))
def test_everything_can_be_printed(formula: Formula) -> None:
    """No random expression breaks a printer, and braces and delimiters in LaTeX are balanced."""
    expression = as_expression(formula(formula.index()))
    assert str(expression)
    latex = expression._repr_latex_()
    assert latex.count("{") == latex.count("}")
    assert latex.count(r"\left") == latex.count(r"\right")
    assert "(…)" not in str(expression)


def test_indices_are_those_of_what_stands_there_now() -> None:
    """They are kept with an expression, and a substitution makes another one of it."""
    s, t = (lsip.Index(name, lsip.Interval(0, 1)) for name in "st")
    e = as_expression(np.sin(t) + t**2)
    assert (e * s).indices() == (t, s)
    assert e.indices() == (t,)
    moved = substituted(e, {t: s})
    assert moved.indices() == (s,)
    assert (moved + t).indices() == (s, t)
    assert [i.name for i in pickle.loads(pickle.dumps(e)).indices()] == ["t"]
