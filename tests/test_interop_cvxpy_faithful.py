"""The CVXPY door: what is certified is the model as it was written, at every index point and in every atom."""

from __future__ import annotations

import warnings
from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

import lsip

cp = pytest.importorskip("cvxpy")

from lsip.interop.cvxpy import Index, Problem, forall  # noqa: E402
from lsip.interop.cvxpy.affine import LeafLayout  # noqa: E402
from lsip.interop.cvxpy.blackbox import black_boxes  # noqa: E402

T = Index("t", lsip.Interval(0, 1))
partial = cp.transforms.partial_optimize.partial_optimize
TWO, THREE = lsip.Finite([0.0, 1.0]), lsip.Finite([0.0, 1.0, 2.0])


# ---- rules -----------------------------------------------------------------------------------------------------------


def test_long_index_arrays_are_told_apart():
    """NumPy abbreviates arrays of more than a thousand entries when it prints them."""
    x = cp.Variable(1200)
    sets = [np.arange(1100), np.arange(1100)]
    sets[1][500] = 1150
    rule = forall(TWO, lambda y: cp.sum(x[sets[int(y[0])]]) <= 10.0)
    solution = Problem(cp.Maximize(x[1150]), [rule, x >= 0, x <= 100]).solve()
    assert solution.certified
    assert solution.value == pytest.approx(10)


class Weights(np.ndarray):
    """Numbers that print alike, whatever they are."""

    __str__ = __repr__ = lambda self: "weights"


RULES = {
    "numbers that print alike": lambda x, k: cp.multiply(np.full(3, 1 + k * 1e-17 + k).view(Weights), x) <= 1,
    "masks": lambda x, k: x[np.arange(3) != k] <= 1.0,
    "slices": lambda x, k: x[k : k + 2] <= 1.0,
    "orders of reshaping": lambda x, k: cp.reshape(cp.hstack([x, k]), (2, 2), order="CF"[k])[0] <= 1.0,
    "axes of a sum": lambda x, k: cp.sum(cp.reshape(cp.hstack([x, 1]), (2, 2), order="F"), axis=k) <= 1.0,
    "powers of ten": lambda x, k: x * 10.0 ** (-20 * k) <= 1.0,
    "sparse matrices": lambda x, k: sparse.eye_array(3, format="csr") * (1.0 + k) @ x <= 1.0,
}


@pytest.mark.parametrize("name", RULES)
def test_rows_of_a_rule_are_those_that_cvxpy_evaluates(name):
    x = cp.Variable(3)
    box = forall(TWO, lambda y: RULES[name](x, int(y[0])))
    families = black_boxes(box, "rule", LeafLayout.of([x]))
    for k in (0, 1):
        x.value = np.array([0.3, -2.0, 7.0])
        rows = [f.rows(np.array([[float(k)]])) for f in families]
        found = np.array([a[0, 0] @ x.value - b[0, 0] for a, b in rows])
        assert found == pytest.approx(np.ravel(RULES[name](x, k).expr.value, order="F"), rel=1e-12)


X, Z = cp.Variable(2, name="x"), cp.Variable(name="z")
UNEVEN = {
    "longer": (lambda k: [X[0] <= 1] if k != 1 else [X[0] <= 3, X[0] <= -2], "same number of constraints"),
    "shorter": (lambda k: [X[0] <= 1, X[1] <= 1] if k != 1 else [X[0] <= -2], "same number of constraints"),
    "none at first": (lambda k: [] if k != 1 else [X[0] <= -2], "an empty list"),
    "none": (lambda k: [X[0] <= 1] if k != 1 else [], "same number of constraints"),
    "one in the place of a list": (lambda k: [X[0] <= 1] if k != 1 else X[0] <= -2, "same number of constraints"),
    "a list in the place of one": (lambda k: X[0] <= 1 if k != 1 else [X[0] <= 3, X[0] <= -2], "same number of"),
    "other sizes": (lambda k: X[:1] <= 1 if k != 1 else X <= -2, "same shape"),
    "other shapes": (lambda k: X[0] <= 1 if k != 1 else X[:1] <= -2, "same shape"),
    "other variables": (lambda k: X[0] <= 1 if k != 1 else X[0] + Z <= -2, "0 \\* z"),
    "other variables in a list": (lambda k: [X[0] <= 1] if k != 1 else [Z <= -2], "0 \\* z"),
}


@pytest.mark.parametrize("name", UNEVEN)
def test_a_rule_gives_the_same_kind_of_constraint_at_every_point(name):
    rule, message = UNEVEN[name]

    def solve():
        limits = forall(THREE, lambda y: rule(int(y[0])))
        Problem(cp.Maximize(X[0] + 0 * Z), [limits, X <= 5, X >= -5, Z >= -5]).solve()

    with pytest.raises(lsip.ModelError, match=message):
        solve()


def test_a_rule_may_leave_variables_out():
    limits = forall(THREE, lambda y: X[0] + Z <= 1 if int(y[0]) != 1 else X[0] <= -2)
    solution = Problem(cp.Maximize(X[0] + Z), [limits, X <= 5, X >= -5, Z <= 2]).solve()
    assert solution.certified
    assert solution.value == pytest.approx(0)


def test_a_rule_with_another_list_for_numbers_than_for_an_index_is_a_black_box():
    limits = forall(TWO, lambda y: [X[0] <= 1 + y[0]] if isinstance(y, Index) else [X[0] <= 3, X[0] <= -2])
    assert len(limits) == 2
    assert not any(c.traced for c in limits)


def test_an_affine_atom_without_a_matrix_is_refused():
    with pytest.raises(lsip.ModelError, match="no matrix for"):
        Problem(cp.Maximize(X[0]), [forall(T, cp.cumsum(X)[1] * T <= 1), X >= 0]).solve()
    black_box = forall(TWO, lambda y: cp.cumsum(X)[int(y[0])] <= 1)
    with pytest.raises(lsip.ModelError, match="no matrix for"):
        Problem(cp.Maximize(X[0]), [black_box, X >= 0]).solve()


# ---- atoms -----------------------------------------------------------------------------------------------------------


def solved(objective, constraints, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # CVXPY's own word about rational exponents
        return Problem(objective, constraints).solve(**options)


S = cp.Variable(name="s")
V = cp.Variable(3, name="v")
P1 = np.diag([1.0, 1e-10])
BOUNDED = [V >= 1, V <= 4]
APPROXIMATE = {  # an atom in a model, and how a message names it
    "a small pivot": (cp.Maximize(X[1]), [cp.quad_form(X, P1) <= 1], "QuadForm"),
    "a small pivot, sparse": (cp.Maximize(X[1]), [cp.quad_form(X, sparse.diags_array([1, 1e-12])) <= 1], "QuadForm"),
    "a rounded factor": (cp.Minimize(cp.quad_form(X, np.array([[2.0, 1], [1, 2]]))), [], "QuadForm"),
    "hardly convex": (cp.Minimize(cp.quad_form(X, np.diag([1.0, -1e-13]))), [X <= 4, X >= -4], "QuadForm"),
    "below other atoms": (cp.Minimize(cp.exp(cp.quad_form(X, np.diag([1.0, 2.0])) + 1)), [], "QuadForm"),
    "a power": (cp.Minimize(cp.power(S, 1.0004887)), [S >= 1000], "Power"),
    "a power of about 2": (cp.Minimize(cp.power(S, 2.000487804878049)), [], "Power"),
    "a power of about 1, which is linear": (cp.Minimize(cp.power(S, 1.0001)), [], "Power"),
    "a third, rounded": (cp.Maximize(cp.power(S, 1 / 3)), [S <= 4], "Power"),
    "an even power of negative numbers": (cp.Minimize(cp.power(S - 2, Fraction(4, 3)) + S), [], "Power"),
    "a power beyond its cone": (cp.Minimize(cp.power(S, 1.0004887, approx=False)), [], "Power"),
    "a mean": (cp.Maximize(cp.geo_mean(V, (1.0004887, 1, 1))), BOUNDED, "GeoMean"),
    "tenths": (cp.Maximize(cp.geo_mean(V, (0.1, 0.2, 0.7))), BOUNDED, "GeoMean"),
    "a norm": (cp.Minimize(cp.pnorm(V, 1.7004887)), BOUNDED, "Pnorm"),
    "a norm below one": (cp.Maximize(cp.pnorm(V, 0.3)), BOUNDED, "Pnorm"),
    "entropy by quadrature": (
        cp.Minimize(cp.quantum_rel_entr(cp.diag(V), np.eye(3))), BOUNDED, "quantum_rel_entr",
    ),
    "a part that is optimised": (
        cp.Minimize(
            partial(cp.Problem(cp.Minimize(cp.power(S, 1.0004887) + Z), [Z >= S]), dont_opt_vars=[S])
        ),
        [S <= 4], "Power",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", APPROXIMATE)
def test_what_cvxpy_approximates_is_not_certified(name):
    objective, constraints, atom = APPROXIMATE[name]
    mine = {v.id for part in (objective, *constraints) for v in part.variables()}
    limits = [forall(T, v >= T) for v in (S,) if v.id in mine] or [forall(T, cp.sum(V if V.id in mine else X) >= T)]
    solution = solved(objective, [*constraints, *limits])
    assert not solution.certified
    assert solution.status not in (lsip.Status.OPTIMAL, lsip.Status.INFEASIBLE, lsip.Status.UNBOUNDED)
    sentence = solution.certificate.trusts[-1]
    assert atom in sentence
    assert sentence in solution.message
    solution.verify()


EXACT = {
    "a factor without rounding": lambda: cp.quad_form(X, np.array([[4.0, 2.0], [2.0, 5.0]])),
    "a diagonal": lambda: cp.quad_form(X, np.diag([1.0, 0.25])),
    "a sum of squares": lambda: cp.sum_squares(np.array([[1.0, 0.3], [0.0, 0.7]]) @ X),
    "squares": lambda: cp.sum(X**2) + cp.sum(cp.square(X)),
    "three halves": lambda: cp.sum(cp.power(X, 1.5)),
    "a fraction": lambda: cp.sum(cp.power(X, Fraction(5, 3))),
    "an inverse": lambda: cp.sum(cp.inv_pos(X)) + cp.sum(X),
    "a root": lambda: cp.sum(X) - cp.sum(cp.sqrt(X)),
    "a mean of integers": lambda: cp.sum(X) - cp.geo_mean(X, (1, 2)),
    "a mean": lambda: cp.sum(X) - cp.geo_mean(X),
    "an inverse product": lambda: cp.inv_prod(X) + cp.sum(X),
    "a norm": lambda: cp.pnorm(X, 3) + cp.norm(X),
    "a norm in power cones": lambda: cp.pnorm(X, 2.7, approx=False),
    "a power in power cones": lambda: cp.sum(cp.power(X, 2.0004887, approx=False)),
    "a fraction in power cones": lambda: (
        cp.sum(cp.power(X, Fraction(4, 3), approx=False)) + cp.pnorm(X, Fraction(7, 3))
    ),
    "an inverse in power cones": lambda: cp.sum(cp.power(X, -0.7, approx=False)) + cp.sum(X),
    "a root in power cones": lambda: 2 * cp.sum(X) - cp.sum(cp.power(X, 0.7, approx=False)),
    "a mean in power cones": lambda: cp.sum(X) - cp.geo_mean(X, (0.1, 0.9), approx=False),
    "a constant": lambda: cp.norm(X) + cp.power(cp.Constant(3.0), 1.0004887),
    "a part that is optimised": lambda: partial(
        cp.Problem(cp.Minimize(cp.norm(X) + Z), [X[0] <= Z]), dont_opt_vars=[X]
    ),
}


def test_an_optimum_of_zero_needs_an_absolute_gap():
    """x = (1, 1) is best, and costs nothing: no gap is small beside that."""
    cost, rows = (
        cp.sum(X) - cp.sum(cp.power(X, 0.7, approx=False)),
        [forall(T, X[0] + T * X[1] >= 1 + T), X >= 0.125, X <= 8],
    )
    open_answer = solved(cp.Minimize(cost), rows)
    assert open_answer.certified or "atol=" in open_answer.message
    solution = solved(cp.Minimize(cost), rows, atol=1e-6)
    assert solution.certified
    assert solution.lower <= 0 <= solution.upper


@pytest.mark.parametrize("name", EXACT)
def test_what_cvxpy_writes_exactly_is_certified(name):
    solution = solved(cp.Minimize(EXACT[name]()), [forall(T, X[0] + T * X[1] >= 1 + T), X >= 0.125, X <= 8])
    assert solution.certified, solution.message
    solution.verify()


def test_infeasible_and_unbounded_approximations_have_no_bounds():
    """diag(1, 1e-10) loses its second pivot, so that X[1] seems to be free."""
    unbounded = solved(cp.Maximize(X[1]), [cp.quad_form(X, P1) <= 1, forall(T, X[0] <= 2 - T)])
    assert np.isinf(unbounded.upper)
    assert "unbounded" in unbounded.message
    infeasible = solved(cp.Minimize(S), [cp.power(S, 1.0004887) <= 1004.8, forall(T, S >= 999 + T)])
    assert (infeasible.lower, infeasible.upper) == (-np.inf, np.inf)
    assert "infeasible" in infeasible.message
    for solution in (unbounded, infeasible):
        assert solution.status is lsip.Status.UNCERTIFIED
        assert solution.certificate.trusts[0] in solution.message


def test_a_parameter_as_the_matrix_counts_with_its_value():
    P = cp.Parameter((2, 2), PSD=True, value=np.eye(2))
    problem = Problem(cp.Minimize(cp.quad_form(X, P)), [forall(T, X[0] + T * X[1] >= 1 + T)])
    assert problem.solve().certified
    P.value = np.diag([1.0, 3.0])
    assert not problem.solve().certified
