"""The CVXPY door: indices inside CVXPY expressions, what forall takes and refuses, and linear models."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lsip

cp = pytest.importorskip("cvxpy")

from lsip.expressions.tape import Tape  # noqa: E402
from lsip.interop.cvxpy import ForAll, Index, Problem, forall  # noqa: E402
from lsip.interop.cvxpy.affine import LeafLayout, read_affine  # noqa: E402

T = Index("t", lsip.Interval(0, 1))
Y = Index("y", lsip.Box([0, 0], [1, 1]))
X = cp.Variable(3, name="x")
S = cp.Variable((2, 2), symmetric=True, name="S")
THETA = cp.Parameter(name="theta", value=3.0)
PLACES = np.array([[0.2, 0.3], [0.4, 0.7], [0.9, 0.6]])

BODIES = {
    "polynomial": lambda: X[0] + X[1] * T + X[2] * T**2 - np.tan(T),
    "index on the left": lambda: T * X[0] - np.exp(T),
    "products of indices": lambda: (X[0] * T) * np.sin(T) + (X[1] + T) * T,
    "a parameter of the user's": lambda: THETA * T * X[0] + T * THETA - X[1] / THETA,
    "quotients": lambda: X[0] / (1 + T) + (X * T)[1] / (2 - T),
    "functions of CVXPY's": lambda: cp.exp(T) * X[0] + cp.square(T) + cp.maximum(T, 0.5) * X[1] + cp.abs(T - 1),
    "arrays": lambda: X @ (1 / (1 + ((Y - PLACES) ** 2).sum(axis=-1))) - Y[0],
    "stacked by NumPy": lambda: np.stack([Y[0], Y[0] * Y[1], 1 + Y[1]]) @ X,
    "stacked by CVXPY": lambda: cp.hstack([1, T, T**2]) @ X + cp.sum(cp.multiply(X, T ** np.arange(3))),
    "a quadratic form in the index": lambda: Y @ S @ Y + cp.trace(S) * Y[1],
    "a vector": lambda: np.outer(Y, Y) @ X[:2] - X[1:] * Y[0],
    "a matrix": lambda: S * T - np.eye(2) + cp.reshape(cp.hstack([X, T]), (2, 2), order="F"),
    "kinks": lambda: np.where(T <= 0.5, T, 1 - T) * X[0] + abs(T - 0.3) * X[1] + np.maximum(T, 0.2),
    "NumPy's polynomials of coefficients in a list": lambda: np.polynomial.chebyshev.chebval(T, list(X)) + X[0],
    "NumPy's polynomial of an index": lambda: np.polynomial.Legendre([1.0, 2.0, 3.0])(T) * X[0],
    "bases": lambda: lsip.bases.chebyshev(T, 2) @ X + lsip.bases.legendre(T, 2, (0, 1)) @ X,
    "an array of objects": lambda: X[0] * (np.array([T, 1.0, T**2]) @ np.ones(3) * T),
    "constants of NumPy on the left": lambda: np.arange(3.0) @ X * T + np.float64(2) * T - np.array([1.0, 2, 3]) @ X,
}


def index_of(body):
    return next(f for p in body.parameters() if p is not THETA for f in p.formula.indices())


@pytest.mark.parametrize("name", BODIES)
@given(seed=st.integers(0, 10_000))
@settings(max_examples=5, deadline=None)
def test_coefficients_are_read_as_cvxpy_evaluates_them(name, seed):
    body, rng = BODIES[name](), np.random.default_rng(seed)
    layout, index = LeafLayout.of([X, S]), index_of(body)
    affine = read_affine(body, layout)
    half = rng.normal(size=(2, 2))
    values = {X.id: rng.normal(size=3), S.id: half + half.T}
    x = np.concatenate([values[v.id].ravel(order="F") for v in (X, S)])
    y = rng.uniform(size=(1, index.domain.dim))
    numbers = Tape((affine.offset, *(t.coefficient for t in affine.terms)), (index,)).values(y)[0]
    got, start = numbers[: affine.size].copy(), affine.size
    for term in affine.terms:
        np.add.at(got, term.rows, numbers[start : start + len(term.rows)] * x[term.columns])
        start += len(term.rows)
    known = {id(v): cp.Constant(values[v.id]) for v in (X, S)}
    for p in body.parameters():
        if p is not THETA:
            known[id(p)] = cp.Constant(Tape((p.formula,), (index,)).values(y)[0].reshape(p.shape))
    wanted = np.asarray(body.tree_copy(known).value).ravel(order="F")
    np.testing.assert_allclose(got, wanted, rtol=1e-12, atol=1e-12)


REFUSED = {
    "equality": (lambda: forall(T, X[0] == T), "leaves no room"),
    "not affine": (lambda: forall(T, cp.norm(X) <= 1 + T), "not affine in the variables.*variable of its own"),
    "no variable": (lambda: forall(T, T <= 1), "no decision variable"),
    "no index": (lambda: forall(T, X[0] <= 1), "does not depend on t"),
    "another index": (lambda: forall(T, X[0] * T <= Y[0]), "depends on y too"),
    "not a constraint": (lambda: forall(T, X[0] * T), "needs a CVXPY inequality"),
    "a cone": (lambda: forall(T, S * T >> 0), "needs a CVXPY inequality.*PSD"),
    "an index twice": (lambda: forall((T, T), X[0] >= T), "same index twice"),
    "not an index": (lambda: forall(3, X[0] >= T), "needs an Index"),
    "a native index": (lambda: forall(lsip.Index("t", lsip.Interval(0, 1)), X[0] >= T), "lsip.interop.cvxpy"),
    "a domain without a rule": (lambda: forall(lsip.Interval(0, 1), X[0] >= T), "needs a rule"),
    "no domain": (lambda: Index("t", 3), "ranges over a set"),
    "truth of an index": (lambda: bool(T), "cannot be used as a bool"),
    "truth of a comparison": (lambda: bool(T <= 0.5), "np.where"),
    "equality of indices": (lambda: T == 0.5, "no meaning"),
    "a CVXPY function of an index": (lambda: solved(forall(T, cp.entr(T) * X[0] >= 1)), "entr.*NumPy"),
    "mixed stacks": (lambda: np.stack([T, X[0]]), "cannot mix"),
    "index outside forall": (lambda: Problem(cp.Minimize(X[0]), [X[0] >= T]), "depends on the index t: wrap it"),
    "index in the objective": (lambda: Problem(cp.Minimize(X[0] * T)), "The objective .* depends on the index t"),
    "one constraint, not a list": (lambda: Problem(cp.Minimize(X[0]), X[0] >= 0), "a list, even of one"),
    "a collapsed comparison": (lambda: Problem(cp.Minimize(X[0]), [True]), "collapse"),
    "not an objective": (lambda: Problem(X[0]), "cp.Minimize"),
    "nothing to decide": (lambda: Problem(cp.Minimize(1)), "no decision variable"),
    "integers": (lambda: Problem(cp.Minimize(cp.norm(cp.Variable(2, integer=True)))).solve(), "need a linear model"),
    "not convex": (lambda: Problem(cp.Minimize(cp.sqrt(X[0])), [forall(T, X[0] >= T)]).solve(), "DCP"),
    "unknown option": (lambda: solved(forall(T, X[0] >= T), tolerance=1), "Unknown option tolerance"),
    "a rule that fails": (lambda: forall(lsip.Interval(0, 1), lambda t: X[7] >= t), "neither with an index"),
    **{
        f"one coefficient for NumPy's polynomials: {name}": (
            lambda evaluate=evaluate: forall(T, evaluate(T, X) >= np.exp(T)),
            r"is 0 at every index point.*lsip\.bases",
        )
        for name, evaluate in {
            "chebval": np.polynomial.chebyshev.chebval,
            "polyval": np.polynomial.polynomial.polyval,
            "legval": np.polynomial.legendre.legval,
            "hermval": np.polynomial.hermite.hermval,
            "lagval": np.polynomial.laguerre.lagval,
            "Polynomial": lambda t, x: np.polynomial.Polynomial(x)(t),
        }.items()
    },
    "one coefficient at two points": (
        lambda: forall(Y, np.polynomial.polynomial.polyval(Y, X[:2]) >= 0), "is 0 at every index point"
    ),
    "nan": (lambda: forall(T, np.array([1.0, np.nan, 2.0]) @ X * T <= 1), "nan"),
    "nan in a finite constraint": (lambda: Problem(cp.Minimize(X[0]), [np.array([np.nan, 1, 1]) @ X <= 1]), "nan"),
    "nan in the objective": (lambda: Problem(cp.Minimize(np.nan * X[0])), "nan"),
    "nan with an index": (lambda: T * np.nan, "nan"),
    "complex": (lambda: T * np.array([1 + 0j]), "complex"),
    "masked": (lambda: T * np.ma.masked_array([1.0, 2.0], mask=[0, 1]), "masked"),
    "text": (lambda: T * "2", "text"),
    "more digits than a double": (lambda: T * (2**53 + 1), "doubles"),
    "a number of an index": (lambda: float(T), "is not a number"),
    "a number of an index, by math": (lambda: np.vectorize(float)(T), "is not a number"),
    "an array of numbers": (lambda: np.array(Y, dtype=float), "is not a number"),
    "writing into an array": (lambda: np.add(1.0, T, out=np.zeros(())), "cannot write an expression"),
    "a remainder": (lambda: divmod(T, 1), "`divmod` is not part"),
    "a comparison as a number": (lambda: (T <= 0.5) * X[0], "cannot be used as a bool"),
    "a comparison compared": (lambda: X[0] >= (T > 0), "cannot be used as a bool"),
    "a comparison with True": (lambda: (T <= 0.5) == True, "cannot be used as a bool"),  # noqa: E712
    "a name of an index": (lambda: setattr(T, "name", "s"), "immutable"),
    "a value of an index": (lambda: setattr(T, "value", 0.5), "immutable"),
    "a domain of an index": (lambda: setattr(T, "domain", None), "immutable"),
    "an element of an index": (lambda: Y.__setitem__(0, 1.0), "cannot be set"),
    "a second index of the same name": (
        lambda: forall(Index("t", lsip.Interval(0, 1)), X[0] >= T), "another index that is called t too"
    ),
    "CVXPY expressions in an array of objects": (lambda: T * np.array([X[0], 1.0]), "cannot hold CVXPY expressions"),
    "lipschitz": (
        lambda: forall(lsip.Interval(0, 1), lambda t: X[0] >= float(t), lipschitz=-1),
        "`lipschitz` must be",
    ),
}  # fmt: skip


def solved(constraint, **options):
    problem = Problem(cp.Minimize(cp.sum(X)), [constraint, X >= -1])
    return problem.solve(**options)


def test_steps_tables_and_splines_are_those_of_the_language() -> None:
    from scipy.interpolate import CubicSpline

    curve = CubicSpline([0, 0.5, 1], [0, 1, 0])
    for e, value in (
        (T % 0.3, 0.1),
        (7 * T // 2, 1.0),
        (np.interp(T, [0, 1], [1, 3]), 1.8),
        (lsip.spline(curve, T), float(curve(0.4))),
    ):
        index = e.formula.indices()
        assert Tape((e.formula,), index).values(np.array([[0.4]]))[0, 0] == pytest.approx(value)
    assert Problem(cp.Minimize(X[0]), [forall(T, X[0] >= e)]).solve(verbose=False).certified


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_mean_anything_is_refused_with_advice(name):
    attempt, message = REFUSED[name]
    with pytest.raises(lsip.ModelError, match=rf"(?s){message}"):
        attempt()


def test_arrays_of_others_on_the_left_leave_operations_to_an_index():
    class Labelled:
        __pandas_priority__ = 4000

        def __mul__(self, other):
            return NotImplemented if getattr(other, "__pandas_priority__", 0) > 4000 else [other] * 3

        def __array__(self, dtype=None, copy=None):
            return np.arange(3.0)

    assert (Labelled() * T).shape == (3,)
    assert len(Y) == 2
    matrix = np.array([[1.0, 0.0], [2.0, 3.0]])
    from scipy import sparse

    np.testing.assert_allclose(
        Tape(((sparse.csr_array(matrix) @ Y).formula,), (Y.formula,)).values(np.array([[0.5, 0.25]]))[0],
        matrix @ [0.5, 0.25],
    )


def test_a_parameter_without_a_value_is_named():
    limit = cp.Parameter(name="limit")
    with pytest.raises(lsip.ModelError, match="limit has no value"):
        Problem(cp.Minimize(X[0]), [forall(T, X[0] >= limit * T)]).solve()


@pytest.mark.parametrize(
    ("instead", "message"),
    [("None", "needs CVXPY: "), ("types.SimpleNamespace(__version__='1.6.7')", "1.9 or newer, found 1.6.7: ")],
)
def test_without_cvxpy_the_door_says_what_to_install(instead, message):
    code = f"import sys, types; sys.modules['cvxpy'] = {instead}; import lsip; import lsip.interop.cvxpy"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "MissingExtraError" in done.stderr
    assert f"{message}pip install 'lsip[cvxpy]'." in done.stderr


def test_a_model_reads_like_mathematics():
    problem = Problem(cp.Minimize(cp.sum(X)), [forall(T, X[0] + X[1] * T >= np.tan(T) + 1), X[2] <= 10])
    assert str(problem).splitlines()[1:] == [
        "subject to (tan(t) + 1) ≤ x[0] + x[1] * t   for all t ∈ [0, 1]",
        "           x[2] ≤ 10.0",
    ]
    assert problem.is_dcp()
    assert [v.name() for v in problem.variables()] == ["x"]
    assert problem.parameters() == []


def test_lists_and_several_indices():
    several = forall(T, [X[0] >= T, X[1] >= T**2])
    assert [type(c) for c in several] == [ForAll, ForAll]
    both = forall((T, Y), T * X[0] + Y @ X[1:] <= 2)
    problem = Problem(cp.Maximize(cp.sum(X)), [both, X >= 0])
    assert problem.solve().value == pytest.approx(2.0, abs=1e-7)  # x0 + x1 + x2 <= 2 at the corner (1, 1, 1)


# ---- linear models ---------------------------------------------------------------------------------------------------


def tangent(native=False):
    """The quadratic above tan with the smallest integral."""
    if native:
        x, t = lsip.Variable(3, name="x"), lsip.Index("t", lsip.Interval(0, 1))
        objective = lsip.minimize(x[0] + x[1] / 2 + x[2] / 3)
        return lsip.Problem(objective, [lsip.forall(t, x[0] + x[1] * t + x[2] * t**2 >= np.tan(t)), x <= 10])
    above = forall(T, X[0] + X[1] * T + X[2] * T**2 >= np.tan(T))
    return Problem(cp.Minimize(X[0] + X[1] / 2 + X[2] / 3), [above, X <= 10])


def test_a_linear_model_has_the_native_value_and_proof():
    native = tangent(native=True).solve(verbose=False)
    problem = tangent()
    solution = problem.solve()
    assert solution.status is lsip.Status.OPTIMAL
    assert abs(solution.value - native.value) <= 2e-8
    assert solution.lower <= native.upper
    assert native.lower <= solution.upper
    assert problem.status == "optimal"
    assert problem.value == solution.value
    assert problem.solver_stats.solver_name == "HIGHS"
    assert problem.solver_stats.num_iters == len(solution.history)
    np.testing.assert_array_equal(solution[X], X.value)
    assert solution[2 * X[0] + 1] == pytest.approx(2 * X.value[0] + 1)
    assert solution.verify() is solution
    points, weights = zip(*problem.constraints[0].dual_value, strict=True)
    np.testing.assert_allclose(sorted(points), [1 / 3, 1], atol=1e-4)  # Gauss-Radau quadrature of degree 2
    np.testing.assert_allclose(sorted(weights), [0.25, 0.75], atol=1e-4)
    assert problem.constraints[0].violation() == 0


def test_the_violation_is_the_supremum():
    problem = tangent()
    problem.solve()
    X.value = X.value - np.array([0.01, 0, 0])
    assert problem.constraints[0].violation() == pytest.approx(0.01, abs=1e-7)


def test_piecewise_linear_atoms_are_linear_programs():
    t = np.linspace(0, 1, 20_001)
    above = forall(T, X[0] + X[1] * T + X[2] * T**2 >= np.tan(T))
    for objective in (cp.norm1(X) + cp.max(X), cp.norm_inf(X) + cp.abs(X[0] - 1), cp.sum(cp.pos(X)) + cp.norm1(X[1:])):
        problem = Problem(cp.Minimize(objective), [above])
        solution = problem.solve()
        assert type(solution).__name__ == "ModelSolution"
        assert solution.certified
        grid = cp.Problem(cp.Minimize(objective), [X[0] + X[1] * t + X[2] * t**2 >= np.tan(t)]).solve(cp.HIGHS)
        assert grid - 1e-7 <= solution.upper
        assert solution.lower <= grid + 1e-7


def test_dual_values_agree_with_a_discretised_model():
    t = np.linspace(0, 1, 1001)
    finite = [X[0] >= 0.2, X <= 5, X[1] == 0.3, X[2] - X[0] <= 4]
    for sense, sign in ((cp.Minimize, 1), (cp.Maximize, -1)):
        objective = sense(sign * (cp.norm1(X) + 3 * X[0]))
        above = forall(T, X[0] + X[1] * T + X[2] * T**2 >= np.tan(T))
        solution = Problem(objective, [*finite, above]).solve()
        mine = [np.array(c.dual_value) for c in finite]
        cuts = X[0] + X[1] * t + X[2] * t**2 >= np.tan(t)
        grid = cp.Problem(objective, [*finite, cuts])
        assert grid.solve(cp.HIGHS) == pytest.approx(solution.value, abs=1e-6)
        for got, constraint in zip(mine, finite, strict=True):
            np.testing.assert_allclose(got, constraint.dual_value, atol=1e-6)
        assert sum(m for _, m in above.dual_value) == pytest.approx(cuts.dual_value.sum(), abs=1e-6)


def test_variables_with_attributes_and_vectors():
    w, b = cp.Variable(3, nonneg=True, name="w"), cp.Variable(2, bounds=[-1, 2], name="b")
    d = cp.Variable((2, 2), diag=True, name="d")
    features = np.stack([Y[0], Y[1], 1 + 0 * Y[0]])
    left = w @ features + b @ Y + Y @ S @ Y + cp.trace(d) * Y[0]
    covering = forall(Y, cp.hstack([left, left + w[0]]) >= np.stack([np.exp(Y[0] * Y[1]), 1 + Y[1]]))
    problem = Problem(cp.Minimize(cp.sum(w) + 0.1 * cp.sum(b)), [covering, cp.norm_inf(S) <= 1, d <= 0.2, d >= -3])
    solution = problem.solve()
    assert solution.certified
    solution.verify()
    assert (w.value >= 0).all()
    assert ((b.value >= -1) & (b.value <= 2)).all()
    assert (S.value == S.value.T).all()
    point = np.random.default_rng(0).uniform(size=(500, 2))
    at = point @ w.value[:2] + w.value[2] + point @ b.value + np.einsum("ni,ij,nj->n", point, S.value, point)
    at += d.value.diagonal().sum() * point[:, 0]
    assert (at >= np.exp(point.prod(axis=1)) - 1e-12).all()
    assert (at + w.value[0] >= 1 + point[:, 1] - 1e-12).all()
    assert all(m.shape == (2,) for _, m in covering.dual_value)


def test_parameters_may_change_between_solves():
    level = cp.Parameter(nonneg=True, name="level")
    problem = Problem(cp.Minimize(cp.norm1(X) + level), [forall(T, X[0] + X[1] * T >= level * np.tan(T)), level >= X])
    assert problem.parameters() == [level]
    values = []
    for level.value in (1.0, 2.0):
        values.append(problem.solve().value)
    assert values[0] == pytest.approx(1 + np.tan(1), abs=1e-6)
    assert values[1] == pytest.approx(2 + 2 * np.tan(1), abs=1e-6)


def test_infeasible_and_unbounded_linear_models():
    problem = Problem(cp.Minimize(X[0]), [forall(T, X[0] + X[1] * T >= 1), X[:2] <= 0.1])
    solution = problem.solve()
    assert solution.status is lsip.Status.INFEASIBLE
    solution.verify()
    assert (problem.status, problem.value, X.value) == ("infeasible", np.inf, None)
    with pytest.raises(lsip.ModelError, match="no value in this solution"):
        _ = solution[X]
    problem = Problem(cp.Maximize(X[0]), [forall(T, X[0] - X[1] * T <= 1 + X[2] * T)])
    assert problem.solve().status is lsip.Status.OPTIMAL  # bounded at t = 0, where a coarse relaxation might not be
    problem = Problem(cp.Maximize(X[0]), [forall(T, X[0] - X[1] * (1 + T) <= 1)])
    assert problem.solve().status is lsip.Status.UNBOUNDED
    assert (problem.status, problem.value, X.value) == ("unbounded", np.inf, None)
    contradiction = Problem(cp.Minimize(X[0]), [forall(T, X[0] >= T), X[1] >= 2, X[1] <= 1]).solve()
    assert contradiction.status is lsip.Status.INFEASIBLE


def test_options_of_the_exchange_are_passed_on():
    stopped = tangent().solve(callback=lambda iterate: True)
    assert stopped.status is lsip.Status.INTERRUPTED
    fast = tangent().solve(oracle=lsip.oracles.Multistart())
    assert fast.status is lsip.Status.UNCERTIFIED
    assert fast.value == pytest.approx(0.6490421, abs=1e-6)


@pytest.mark.parametrize("objective", [cp.sum, cp.norm], ids=["linear", "convex"])
def test_the_problem_of_a_solution_is_the_model_as_it_was_written(objective):
    x, t = cp.Variable(2), Index("t", lsip.Interval(0, 1))
    problem = Problem(cp.Minimize(objective(x)), [forall(t, x[0] + t * x[1] >= np.exp(t)), x >= 0])
    solution = problem.solve()
    assert solution.problem is problem
    assert solution.program.families
