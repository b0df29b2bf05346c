"""The `linprog`-shaped door: traced functions equal declared models, black boxes are honest, input reads as SciPy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize, sparse

import lsip
from lsip import Family, Status, linsip
from lsip.errors import ModelError
from lsip.model.black_box_rows import BlackBoxRows
from lsip.model.declared_rows import DeclaredRows

UNIT = lsip.Interval(0, 1)
SQUARE = lsip.Box([0, 0], [1, 1])


def number(y):
    """Needs numbers: an index expression has no `astype`, so nothing that calls this can be traced."""
    return y.astype(float)


def powers(y):
    return -(y ** np.arange(3))


def tangent(y):
    return -np.tan(y[:, 0])


def hidden(y):
    return -np.tan(number(y[:, 0]))


ABOVE_TAN = 0.6490421  # the least integral of a quadratic above tan on [0, 1]


def kind(solution):
    return [type(family.source) for family in solution.program.families]


def assert_certified(solution, value, tol=1e-7):
    assert solution.status is Status.OPTIMAL
    assert solution.certified
    assert solution.value == pytest.approx(value, rel=tol, abs=tol)
    assert solution.lower <= solution.upper
    solution.verify()


def assert_conditional(solution, value, tol):
    """The bounds meet, on trust in the Lipschitz constants: that is said, and is not called certified."""
    assert solution.status is Status.UNCERTIFIED
    assert not solution.certified
    assert any("Lipschitz" in sentence for sentence in solution.certificate.assumptions)
    assert "Lipschitz" in solution.message
    assert solution.value == pytest.approx(value, rel=tol, abs=tol)
    assert solution.lower <= value <= solution.upper
    assert solution.upper - solution.lower <= tol * max(1.0, abs(value))
    assert solution.max_violation <= 0
    solution.verify()


# ---- traced functions ------------------------------------------------------------------------------------------------


def declared_tan():
    x, t = lsip.Variable(3), lsip.Index("t", UNIT)
    return lsip.Problem(lsip.minimize(x[0] + x[1] / 2 + x[2] / 3), [lsip.forall(t, t ** np.arange(3) @ x >= np.tan(t))])


def declared_ball():
    x, y = lsip.Variable(2, lower=0), lsip.Index("y", lsip.Ball([0.5, 0.5], 0.25))
    return lsip.Problem(
        lsip.maximize(x[0] + x[1]), [lsip.forall(y, np.exp(-y[0]) * x[0] + (1 + y[1] ** 2) * x[1] <= 2 + y[0])]
    )


CENTRES = np.array([[0.2, 0.3], [0.7, 0.6], [0.5, 0.9]])


def declared_sources():
    x, y = lsip.Variable(3, lower=0, upper=1), lsip.Index("y", SQUARE)
    reach = 1 / (1 + 20 * ((y - CENTRES) ** 2).sum(axis=-1))
    limit = 1 - 0.5 * np.exp(-8 * ((y - 0.5) ** 2).sum())
    return lsip.Problem(lsip.maximize(np.array([1.0, 2.0, 1.5]) @ x), [lsip.forall(y, reach @ x <= limit)])


def declared_union():
    x, y = lsip.Variable(1), lsip.Index("y", lsip.Interval(0, 1) | lsip.Interval(2, 3))
    return lsip.Problem(lsip.minimize(x[0]), [lsip.forall(y, x[0] >= np.abs(np.sin(y)) + np.maximum(y, 1.5))])


def sources(y):
    return 1 / (1 + 20 * ((y[:, None, :] - CENTRES) ** 2).sum(axis=-1))


def sources_limit(y):
    return 1 - 0.5 * np.exp(-8 * ((y - 0.5) ** 2).sum(axis=1))


PAIRS = {
    "powers": (
        declared_tan,
        lambda: linsip([1, 1 / 2, 1 / 3], [Family(UNIT, powers, tangent)], bounds=(None, None)),
    ),
    "columns": (
        declared_tan,
        lambda: linsip(
            [1, 1 / 2, 1 / 3],
            [Family(UNIT, lambda y: np.column_stack([-np.ones(len(y)), -y[:, 0], -(y[:, 0] ** 2)]), tangent)],
            bounds=(None, None),
        ),
    ),
    "an array of rows, transposed": (
        declared_tan,
        lambda: linsip(
            [1, 1 / 2, 1 / 3],
            [Family(UNIT, lambda y: -np.array([np.ones(len(y)), y[:, 0], y[:, 0] ** 2]).T, tangent)],
            bounds=(None, None),
        ),
    ),
    "a ball, maximised": (
        declared_ball,
        lambda: linsip(
            [1, 1],
            [
                Family(
                    lsip.Ball([0.5, 0.5], 0.25),
                    lambda y: np.stack([np.exp(-y[:, 0]), 1 + y[:, 1] ** 2], axis=1),
                    lambda y: 2 + y[:, 0],
                )
            ],
            sense="max",
        ),
    ),
    "broadcasting": (
        declared_sources,
        lambda: linsip([1, 2, 1.5], [Family(SQUARE, sources, sources_limit)], bounds=(0, 1), sense="max"),
    ),
    "kinks on a union": (
        declared_union,
        lambda: linsip(
            [1],
            [
                Family(
                    lsip.Interval(0, 1) | lsip.Interval(2, 3),
                    lambda y: -np.ones((len(y), 1)),
                    lambda y: -np.abs(np.sin(y[:, 0])) - np.maximum(y[:, 0], 1.5),
                )
            ],
            bounds=(None, None),
        ),
    ),
}


@pytest.mark.parametrize("name", PAIRS)
def test_a_traced_family_equals_the_declared_model(name):
    declare, call = PAIRS[name]
    expected, solution = declare().solve(verbose=False), call()
    assert kind(solution) == [DeclaredRows]
    assert_certified(solution, expected.value)
    assert solution.x == pytest.approx(expected.x, abs=1e-5)
    y = solution.program.families[0].domain.sample(50, seed=3)
    a, b = solution.program.families[0].rows(y)
    assert (a[:, 0] @ solution.x[solution.program.families[0].columns[0]] <= b[:, 0] + 1e-12).all()


def test_several_families_and_finite_rows():
    first = Family(UNIT, powers, tangent)
    second = Family(SQUARE, lambda y: np.column_stack([y, np.zeros(len(y))]), lambda y: 1 + y[:, 0] * y[:, 1])
    solution = linsip([1, 1 / 2, 1 / 3], [first, second], A_ub=[[0, 1, 1]], b_ub=[1.6], bounds=(None, None))
    x, t, y = lsip.Variable(3), lsip.Index("t", UNIT), lsip.Index("y", SQUARE)
    declared = lsip.Problem(
        lsip.minimize(x[0] + x[1] / 2 + x[2] / 3),
        [
            lsip.forall(t, t ** np.arange(3) @ x >= np.tan(t)),
            lsip.forall(y, y @ x[:2] <= 1 + y[0] * y[1]),
            x[1] + x[2] <= 1.6,
        ],
    )
    expected = declared.solve(verbose=False)
    assert expected.status is Status.OPTIMAL
    assert kind(solution) == [DeclaredRows, DeclaredRows]
    assert_certified(solution, expected.value)
    assert {a.constraint for a in solution.active} <= {"families[0]", "families[1]"}


def test_coefficients_that_vanish_take_no_column():
    def a(y):
        zero = np.zeros(len(y))
        return np.column_stack([zero, -np.ones(len(y)), zero, -y[:, 0], zero])

    solution = linsip([1, 1, 1, 1 / 2, 1], [Family(UNIT, a, lambda y: -np.exp(y[:, 0]))])
    assert kind(solution) == [DeclaredRows]
    assert solution.program.families[0].columns.tolist() == [[1, 3]]
    assert_certified(solution, 0.5 + np.e / 2)
    assert solution.x == pytest.approx([0, 1, 0, np.e - 1, 0], abs=1e-6)


def test_sparse_rows_that_do_not_depend_on_the_index_are_traced():
    rows = Family(UNIT, lambda y: sparse.csr_array(np.tile([0.0, -1.0], (len(y), 1))), lambda y: -np.exp(y[:, 0]))
    solution = linsip([1, 1], [rows])
    assert kind(solution) == [DeclaredRows]
    assert_certified(solution, np.e)


def test_a_family_without_coefficients_is_a_condition_on_b():
    nothing = Family(UNIT, lambda y: np.zeros((len(y), 2)), lambda y: 0.5 - y[:, 0])
    solution = linsip([1, 1], [nothing])
    assert solution.status is Status.INFEASIBLE
    solution.verify()


def test_no_family_is_a_linear_program():
    assert_certified(linsip([1, 1], [], A_ub=[[-1, -2]], b_ub=[-3]), 1.5)
    assert linsip([-1, 1], []).status is Status.UNBOUNDED


# ---- black boxes -----------------------------------------------------------------------------------------------------


def test_a_black_box_is_not_certified():
    solution = linsip([1, 1 / 2, 1 / 3], [Family(UNIT, powers, hidden)], bounds=(None, None))
    assert kind(solution) == [BlackBoxRows]
    assert solution.status is Status.UNCERTIFIED
    assert not solution.certified
    assert solution.value == pytest.approx(ABOVE_TAN, abs=1e-6)
    assert solution.lower <= ABOVE_TAN + 1e-7
    assert solution.upper == np.inf
    solution.verify()


def test_sparse_black_boxes():
    def a(y):
        return sparse.csr_matrix(powers(number(y)))

    solution = linsip([1, 1 / 2, 1 / 3], [Family(UNIT, a, tangent)], bounds=(None, None))
    assert kind(solution) == [BlackBoxRows]
    assert solution.status is Status.UNCERTIFIED
    assert solution.value == pytest.approx(ABOVE_TAN, abs=1e-6)


@pytest.mark.parametrize("bounds", [(None, None), (-3, 3)])
def test_lipschitz_constants_certify_at_a_loose_tolerance(bounds):
    family = Family(UNIT, powers, hidden, lipschitz=(2, 3.43))
    solution = linsip([1, 1 / 2, 1 / 3], [family], bounds=bounds, tol=1e-3)
    assert kind(solution) == [BlackBoxRows]
    assert_conditional(solution, ABOVE_TAN, tol=1e-3)
    y = UNIT.grid(2001)
    assert (powers(y) @ solution.x <= hidden(y)).all()


def test_lipschitz_constants_certify_in_two_dimensions():
    def b(y):
        return np.sin(3 * number(y[:, 0])) * y[:, 1] - 1

    solution = linsip([1], [Family(SQUARE, lambda y: -np.ones((len(y), 1)), b, lipschitz=(0, 4))], tol=1e-2)
    assert_conditional(solution, 1.0, tol=1e-2)
    disc = Family(lsip.Ball([0.5, 0.5], 0.5), lambda y: -np.ones((len(y), 1)), b, lipschitz=(0, 4))
    assert_conditional(linsip([1], [disc], tol=1e-2), 1.0, tol=1e-1)


def test_a_tolerance_beyond_lipschitz_boxes_is_reported_as_such():
    """At 1e-8 the boxes run out; what they did prove about the violation is still reported, and still true."""
    solution = linsip([1, 1 / 2, 1 / 3], [Family(UNIT, powers, hidden, lipschitz=(2, 3.43))], bounds=(-3, 3))
    assert solution.status is Status.UNCERTIFIED
    assert solution.lower <= ABOVE_TAN + 1e-7
    y = UNIT.grid(20_001)
    assert (powers(y) @ solution.x - hidden(y)).max() <= solution.max_violation < 1e-5
    solution.verify()


def test_a_black_box_over_a_finite_set_is_certified():
    table = np.random.default_rng(0).normal(size=(30, 3))
    family = Family(lsip.Finite(np.arange(30)), lambda y: table[number(y[:, 0]).astype(int)], lambda y: np.ones(len(y)))
    solution = linsip([1, 1, 1], [family], bounds=(-5, 5), sense="max")
    assert kind(solution) == [BlackBoxRows]
    expected = optimize.linprog([-1, -1, -1], table, np.ones(30), bounds=(-5, 5))
    assert_certified(solution, -expected.fun)


def test_infeasible_and_unbounded_black_boxes():
    def valley(y):
        return (number(y[:, 0]) - 0.3) ** 2

    over = linsip([1], [Family(UNIT, lambda y: np.ones((len(y), 1)), lambda y: valley(y) - 1)])
    assert over.status is Status.INFEASIBLE
    over.verify()
    free = Family(UNIT, lambda y: -np.ones((len(y), 1)), lambda y: 1 + valley(y), lipschitz=2)
    endless = linsip([-1], [free])
    assert endless.status is Status.UNCERTIFIED  # the constants are taken on trust
    assert "without limit" in endless.message
    endless.verify()
    unsure = linsip([-1], [Family(UNIT, free.a, free.b)])
    assert not unsure.certified
    unsure.verify()


@pytest.mark.parametrize(
    "a",
    [
        lambda y: np.where(y == 0.3, -2.0, -1.0),  # True at one point that no sample hits
        lambda y: -np.ones((len(y), 1)) if isinstance(y, np.ndarray) else -2.0 * np.ones((len(y), 1)),
        lambda y: -np.ones((len(y), 1)) * (1.0 + (len(y) == 1)),  # depends on the batch
        lambda y: -np.ones((len(y), 1)) if 0.3 not in y else -2 * np.ones((len(y), 1)),
    ],
    ids=["equality", "type", "batch", "membership"],
)
def test_a_trace_that_would_lie_is_not_used(a):
    solution = linsip([1], [Family(UNIT, a, lambda y: -np.ones(len(y)))])
    assert kind(solution) == [BlackBoxRows]
    assert solution.status is Status.UNCERTIFIED
    assert solution.value == pytest.approx(1.0, abs=1e-6)


def test_a_comparison_with_equals_cannot_be_traced():
    solution = linsip([1], [Family(UNIT, lambda y: np.where(y == 0.3, -2.0, -1.0), lambda y: -np.ones(len(y)))])
    assert not solution.certified


def test_tracing_leaves_the_language_as_it_was():
    linsip([1], [Family(UNIT, lambda y: -np.ones((len(y), 1)), lambda y: -np.ones(len(y)))])
    with pytest.raises(TypeError, match="no length"):
        len(lsip.Index("t", UNIT))
    assert len(lsip.Index("y", SQUARE)) == 2


def test_what_a_function_raises_is_shown():
    def broken(y):
        raise KeyError("data")

    with pytest.raises(KeyError, match="data"):
        linsip([1], [Family(UNIT, broken, lambda y: np.ones(len(y)))])


# ---- the finite part -------------------------------------------------------------------------------------------------


def test_equality_rows():
    family = Family(UNIT, lambda y: np.column_stack([-np.ones(len(y)), -y[:, 0]]), lambda y: -np.exp(y[:, 0]))
    for matrix in ([[1, -1]], sparse.csr_matrix([[1, -1]]), sparse.coo_array([[1.0, -1.0]])):
        solution = linsip([1, 1], [family], A_eq=matrix, b_eq=[0])
        assert_certified(solution, np.e)
        assert solution.x == pytest.approx([np.e / 2, np.e / 2], abs=1e-6)


def finite_program(seed):
    """A random linear program that is feasible, infeasible or unbounded, with every kind of bound."""
    rng = np.random.default_rng(seed)
    n, rows = int(rng.integers(1, 4)), int(rng.integers(2, 9))
    ends = np.sort(rng.normal(size=(n, 2)) * 3, axis=1)
    bounds = [(lo if rng.random() < 0.6 else None, hi if rng.random() < 0.6 else None) for lo, hi in ends]
    shape = seed % 5
    chosen = (
        bounds
        if shape == 0
        else (None, None)
        if shape == 1
        else (0, None)
        if shape == 2
        else None
        if shape == 3
        else (-2, 2)
    )
    A, b = rng.normal(size=(rows, n)), rng.normal(size=rows) + (1.5 if seed % 2 else 0.5)
    equality = (rng.normal(size=(1, n)), rng.normal(size=1)) if n > 1 and seed % 3 == 0 else (None, None)
    return rng.normal(size=n), A, b, *equality, chosen


@pytest.mark.parametrize("traced", [True, False])
@pytest.mark.parametrize("seed", range(40))
def test_finite_index_sets_agree_with_linprog(seed, traced):
    c, A, b, A_eq, b_eq, bounds = finite_program(seed)
    expected = optimize.linprog(c, A, b, A_eq, b_eq, bounds)
    if traced:
        rows = Family(lsip.Finite(np.column_stack([A, b])), lambda y: y[:, :-1], lambda y: y[:, -1])
    else:
        order = lsip.Finite(np.arange(len(b)))
        rows = Family(order, lambda y: A[y[:, 0].astype(int)], lambda y: b[y[:, 0].astype(int)])
    solution = linsip(c, [rows], None, None, A_eq, b_eq, bounds)
    assert kind(solution) == [DeclaredRows if traced else BlackBoxRows]
    statuses = {0: Status.OPTIMAL, 2: Status.INFEASIBLE, 3: Status.UNBOUNDED}
    assert solution.status is statuses[expected.status]
    if expected.status == 0:
        assert_certified(solution, expected.fun)
    solution.verify()
    same = linsip(c, [], A, b, A_eq, b_eq, bounds)
    assert same.status is solution.status


@pytest.mark.parametrize("bounds", [(1, 2), [(1, 2)], [[1], [2]], [(1, 2)] * 3, np.array([1.0, 2.0])])
def test_one_pair_of_bounds_is_for_all_variables(bounds):
    assert linsip([1, 1, -1], [], bounds=bounds).x == pytest.approx([1, 1, 2])
    assert optimize.linprog([1, 1, -1], bounds=bounds).x == pytest.approx([1, 1, 2])


def test_variables_are_nonnegative_unless_told_otherwise():
    row = Family(UNIT, lambda y: -np.ones((len(y), 1)), lambda y: 1 + y[:, 0])
    assert linsip([1], [row]).value == pytest.approx(0, abs=1e-7)
    for empty in (None, [], [[]]):
        assert linsip([1], [row], bounds=empty).value == pytest.approx(0, abs=1e-7)
    assert linsip([1], [row], bounds=(None, None)).value == pytest.approx(-1, abs=1e-7)


def test_the_method_and_its_tolerance():
    family = Family(UNIT, powers, tangent)
    loose = linsip([1, 1 / 2, 1 / 3], [family], bounds=(-9, 9), method=lsip.Exchange(tol=1e-3, polish=False))
    assert loose.tol == 1e-3
    tight = linsip([1, 1 / 2, 1 / 3], [family], bounds=(-9, 9), method=lsip.Exchange(tol=1e-3), tol=1e-6)
    assert tight.tol == 1e-6
    grid = linsip([1, 1 / 2, 1 / 3], [family], bounds=(-9, 9), method=lsip.Exchange(oracle=lsip.oracles.Grid()))
    assert grid.status is Status.UNCERTIFIED
    assert grid.oracle == "Grid"


def test_verbose_prints_the_table(capsys):
    linsip([1, 1 / 2, 1 / 3], [Family(UNIT, powers, tangent)], bounds=(None, None), verbose=True)
    assert "OPTIMAL, certified" in capsys.readouterr().out


# ---- errors ----------------------------------------------------------------------------------------------------------

GOOD = Family(UNIT, powers, tangent)
ONES = Family(UNIT, lambda y: np.ones((len(y), 2)), lambda y: np.ones(len(y)))

MISTAKES = {
    "`domain` must be an index set such as lsip.Interval(0, 1); got (0, 1).": lambda: Family((0, 1), powers, tangent),
    "`a` must be a function of points y of shape (N, 1) that gives shape (N, n); got ndarray.": lambda: Family(
        UNIT, np.ones(3), tangent
    ),
    "`b` must be a function of points y of shape (N, 1) that gives shape (N,); got float.": lambda: Family(
        UNIT, powers, 1.0
    ),
    "`lipschitz` must be a number >= 0 or a pair (L_a, L_b) of them, or None when no constant is known; got -1.": (
        lambda: Family(UNIT, powers, tangent, lipschitz=-1)
    ),
    "got (1, 2, 3).": lambda: Family(UNIT, powers, tangent, lipschitz=(1, 2, 3)),
    "got 'steep'.": lambda: Family(UNIT, powers, tangent, lipschitz="steep"),
    "got inf.": lambda: Family(UNIT, powers, tangent, lipschitz=np.inf),
    "`c` must be a vector of shape (n,); got shape (1, 3).": lambda: linsip([[1, 2, 3]], [GOOD]),
    "`c` must be a vector of shape (n,); got shape (0,).": lambda: linsip([], [GOOD]),
    "`c` must be real numbers; got text, 'abc'. Convert it": lambda: linsip("abc", [GOOD]),
    "`c` must be finite; got nan or inf at position 1.": lambda: linsip([1, np.nan, 2], [GOOD]),
    "`families` must be a list of lsip.Family; got Family. Put it in a list.": lambda: linsip([1, 1, 1], GOOD),
    "`families` must be a list of lsip.Family; got NoneType.": lambda: linsip([1, 1, 1], None),
    "families[1] must be an lsip.Family(domain, a, b); got tuple.": lambda: linsip([1, 1, 1], [GOOD, (UNIT, 1, 2)]),
    '`sense` must be "min" or "max"; got \'maximise\'.': lambda: linsip([1, 1, 1], [GOOD], sense="maximise"),
    "an lsip.Exchange or an lsip.Counterpart, such as lsip.Exchange(oracle=…); got 'highs'.": lambda: linsip(
        [1, 1, 1], [GOOD], method="highs"
    ),
    "`tol` is a relative gap between 0 and 1; got 0": lambda: linsip([1, 1, 1], [GOOD], tol=0),
    "`a(y)` must give one coefficient per variable, shape (35, 4); got (35, 3) for y of shape (35, 1).": lambda: linsip(
        [1, 1, 1, 1], [GOOD]
    ),
    "`b(y)` must give one number per point, shape (35,); got (35, 1) for y of shape (35, 1).": lambda: linsip(
        [1, 1, 1], [Family(UNIT, powers, lambda y: y)]
    ),
    "families[0] is not finite at y = [0.]. Restrict the domain or mend the function.": lambda: linsip(
        [1], [Family(UNIT, lambda y: np.divide(1.0, y, where=y > 0, out=np.full(y.shape, np.inf)), lambda y: y[:, 0])]
    ),
    "`A_ub` was given without `b_ub`; give both or neither.": lambda: linsip([1, 1], [ONES], A_ub=[[1, 1]]),
    "`b_eq` was given without `A_eq`; give both or neither.": lambda: linsip([1, 1], [ONES], b_eq=[1]),
    "`A_ub` must have one column a variable, shape (r, 2); got shape (1, 3).": lambda: linsip(
        [1, 1], [ONES], A_ub=[[1, 1, 1]], b_ub=[1]
    ),
    "`A_ub` must have one column a variable, shape (r, 2); got shape (2,).": lambda: linsip(
        [1, 1], [ONES], A_ub=[1, 1], b_ub=[1]
    ),
    "`A_eq` must be real numbers; got text, 'a'. Convert it": lambda: linsip(
        [1, 1], [ONES], A_eq=[["a", "b"]], b_eq=[1]
    ),
    "`A_eq` must be finite; got nan or inf.": lambda: linsip([1, 1], [ONES], A_eq=[[1, np.inf]], b_eq=[1]),
    "`b_ub` must have one number a row of `A_ub`, shape (1,); got (2,).": lambda: linsip(
        [1, 1], [ONES], A_ub=[[1, 1]], b_ub=[1, 2]
    ),
    "`b_ub` must be finite; got nan or inf at position 0.": lambda: linsip(
        [1, 1], [ONES], A_ub=[[1, 1]], b_ub=[np.inf]
    ),
    "`bounds` has shape (1, 3): give one pair (lower, upper) for all variables, or 2 pairs, with None for no bound.": (
        lambda: linsip([1, 1], [ONES], bounds=(0, 1, 2))
    ),
    "`bounds` has shape (2, 3): give one pair (lower, upper) for all variables, or 3 pairs": lambda: linsip(
        [1, 1, 1], [GOOD], bounds=[[0, 0, 0], [1, 1, 1]]
    ),
    "`bounds` cannot be read: give one pair (lower, upper) for all variables, or 2 pairs, with None for no bound; ": (
        lambda: linsip([1, 1], [ONES], bounds=[(0, 1), (0,)])
    ),
    "`bounds` leave no value for variable 1: lower 3, upper 2.": lambda: linsip(
        [1, 1], [ONES], bounds=[(0, 1), (3, 2)]
    ),
    "`bounds` leave no value for variable 0: lower inf, upper inf.": lambda: linsip(
        [1, 1], [ONES], bounds=(np.inf, None)
    ),
}


@pytest.mark.parametrize("message", MISTAKES)
def test_mistakes_say_what_was_expected_what_came_and_what_to_do(message):
    with pytest.raises(ModelError) as caught, np.errstate(all="ignore"):
        MISTAKES[message]()
    assert message in str(caught.value)
