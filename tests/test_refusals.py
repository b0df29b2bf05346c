"""What NumPy, pandas or Python would make of an expression, and data that are no real numbers: right, or refused."""

from __future__ import annotations

import copy
import functools
import itertools
import math
import operator
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import sparse, special

import lsip
from lsip.errors import ConversionError, FixedError, ModelError, NotAffineError
from lsip.expressions.affine import Affine, Constraint
from lsip.expressions.graph import as_expression
from lsip.validation import kept, matrix, numbers

from .checks import assert_certified

Array = NDArray[np.float64]
VALUES: dict[str, Any] = {
    "x": np.array([0.3, -0.7, 1.1]),
    "z": 0.45,
    "w": np.array([[0.3, -0.2], [0.5, 0.8]]),
    "t": 0.37,
    "y": np.array([0.2, 0.9]),
}
A = np.array([1.0, 2.0, 3.0])
S = np.array([[0.0, -1.5, 2.0], [0.5, 0.0, 2.5]])
KNOWN: dict[str, Any] = {
    "np": np,
    "P": np.polynomial,
    "lsip": lsip,
    "math": math,
    "copy": copy,
    "functools": functools,
    "itertools": itertools,
    "operator": operator,
    "special": special,
    "sparse": sparse,
    "A": A,
    "S": sparse.csr_matrix(S),
    "SA": sparse.csr_array(S),
    "Decimal": Decimal,
    "Fraction": Fraction,
}


def symbols() -> dict[str, Any]:
    return {
        "x": lsip.Variable(3, name="x"),
        "z": lsip.Variable(name="z"),
        "w": lsip.Variable((2, 2), name="w"),
        "t": lsip.Index("t", lsip.Interval(0, 1)),
        "y": lsip.Index("y", lsip.Box([0, 0], [1, 1])),
    }


def run(source: str, names: dict[str, Any]) -> Any:
    """An expression, or lines that leave their result in r."""
    names = {**KNOWN, **names}
    if ";" not in source:
        return eval(source, names)
    exec("\n".join(part.strip() for part in source.split(";")), names)
    return names["r"]


def worth(result: Any, names: dict[str, Any]) -> Array:
    """The numbers that an expression, or an array of them, has in a model: a x - b at the point and index of VALUES."""
    if isinstance(result, list | tuple) or (isinstance(result, np.ndarray) and result.dtype == object):
        return np.concatenate(
            [worth(item, names) for item in np.asarray(result, dtype=object).ravel()] or [np.zeros(0)]
        )
    constraint = result if isinstance(result, Constraint) else Affine.of(result) + 0 * names["z"] <= 0
    indices = constraint.body.indices()
    variables = [names[name] for name in "xzw"]
    objective = lsip.minimize(sum(v.sum() for v in variables))
    program = lsip.Problem(objective, [lsip.forall(indices, constraint) if indices else constraint]).compile()
    flat = np.concatenate([np.ravel(VALUES[v.name]) for v in variables])
    if not indices:
        return np.asarray(program.A @ flat - program.row_upper)
    point = np.concatenate([np.ravel(VALUES[i.name]) for i in indices])
    return program.violation(0, flat).values(point[None])[0]


# ---- what works means what NumPy means -------------------------------------------------------------------------------

EVALUATORS = {
    "chebyshev": "cheb",
    "polynomial": "poly",
    "legendre": "leg",
    "hermite": "herm",
    "hermite_e": "herme",
    "laguerre": "lag",
}
RIGHT = [
    *(f"P.{k}.{v}val(t, {c})" for k, v in EVALUATORS.items() for c in ("x", "list(x)", "[x[0], 2.0, t]")),
    *(f"P.{k}.{v}val(t, A) - z" for k, v in EVALUATORS.items()),
    *(f"P.{k}.{v}vander(t, 2) @ x" for k, v in EVALUATORS.items()),
    *(f"P.{k}(x)(t)" for k in ("Polynomial", "Chebyshev", "Legendre", "Hermite", "HermiteE", "Laguerre")),
    "P.Chebyshev(A, domain=[0, 1])(t) * z", "P.Chebyshev(x, domain=[0, 1])(t)", "P.chebyshev.chebval(0.3, x)",
    "P.polynomial.polyval([0.1, 0.2], x)", "P.chebyshev.chebval2d(y[0], y[1], w)", "P.polynomial.polyder(x)",
    "np.polyval(x, t)", "np.polyval(A, t) - z", "np.array(x) - 1.0", "np.asarray(x) * t", "np.array(t) * z",
    "np.array(y) @ np.ones(2) * z", "np.array(w).sum()", "np.array([x[0], t]).sum()", "np.array([1.0, t, t**2]) @ x",
    "np.array([x, 2 * x]).sum()", "np.array([y, y]) * z", "np.array([[t, 1.0], [1.0, t]]) @ x[:2]",
    "np.array([x[0], x[1]]) @ np.array([t, 2.0])", "np.array(x, dtype=object)", "np.full(3, t) @ x", "np.full(2, z)",
    "np.r_[1.0, t, t**2] @ x", "np.c_[x, x].sum()", "np.r_[x, t]", "np.vectorize(lambda v: 2 * v)(x)",
    "np.vectorize(lambda v: v**2)(t) * z", "np.fromiter(x, object)", "np.vander([t], 3) @ x",
    "np.full_like(x, t) * z", "np.full_like(t, 2.0) * z", "np.ones_like(x, shape=(2,)) * z", "np.size(w, 1) * z",
    "sum(np.atleast_1d(x, A)[1] * x)", "np.atleast_2d(y, x)[1].sum()", "np.concatenate([[t], [1.0], [z]])",
    "np.stack([[t, 1.0], [z, 2.0]])", "[[t, 1.0], [2.0, t]] @ x[:2]", "x * ([1, 2, 3],)",
    "np.where([True, False, True], x, [t, 1, 2])", "a = np.zeros(3, object); a[:] = x; r = a @ A",
    "a = np.zeros(2, object); a[0] = t; a[1] = 1.0; r = a @ x[:2]", "a = np.zeros(3); a = a + x; r = a",
    "x += 1; r = x", "w @= np.eye(2); r = w", "len(x) * z", "len(y) * z", "sum(reversed(list(x)))",
    "functools.reduce(operator.add, x)", "list(itertools.accumulate(x))", "math.prod([t, 2, z])",
    "copy.copy(x) - x[::-1]", "copy.deepcopy(t) * x[0] + t * z", "copy.deepcopy([t * z, x])[0]", "S @ x", "SA @ x",
    "x @ S.T", "S.T @ y @ x", "S @ (t * x)", "S.dot(x)", "sparse.linalg.aslinearoperator(S.toarray()) @ x",
    "sparse.csr_matrix(np.eye(3, dtype=np.int8) * 100) @ (x + 300.0)", "sparse.csr_matrix(np.eye(3, dtype=bool)) @ x",
    "sparse.coo_matrix((np.array([100, 100], np.int8), ([0, 0], [0, 1])), (1, 3)) @ x",
    "np.array([200, 2, 3], np.uint8) * x - 201.0", "x - np.array([200, 2, 3], np.uint8)", "np.uint8(200) - t + z",
    "x - A.astype(bool)", "(A > 1.5) @ x", "True * z", "z * 2**60", "z * np.longdouble(0.5)",
    "np.array([1, 2, 3], '>f8') @ x", "np.array([Fraction(1, 2), 1, 0.25]) * x", "x * memoryview(A)", "x * range(3)",
    "np.ma.masked_array(A) @ x", "np.add.reduce(x)", "np.add(A, x)", "np.float64(2) * t * z",
]  # fmt: skip


@pytest.mark.parametrize("source", RIGHT)
@pytest.mark.filterwarnings("ignore")
def test_what_works_means_what_numpy_means(source: str) -> None:
    names = symbols()
    got = worth(run(source, names), names)
    expected = np.ravel(np.asarray(run(source, {k: copy.copy(v) for k, v in VALUES.items()}), dtype=float))
    np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize(
    "evaluate",
    [
        np.polynomial.chebyshev.chebval,
        np.polynomial.polynomial.polyval,
        np.polynomial.legendre.legval,
        np.polynomial.hermite.hermval,
        np.polynomial.laguerre.lagval,
        lambda t, x: np.polynomial.Chebyshev(x)(t),
        lambda t, x: lsip.bases.chebyshev(t, 2) @ x,
        lambda t, x: lsip.bases.legendre(t, 2) @ x,
        lambda t, x: lsip.bases.monomial(t, 2) @ x,
    ],
)
def test_the_nearest_polynomial_of_degree_two_to_exp(evaluate: Any) -> None:
    """It was certified as 1.1752, the error of the nearest constant."""
    x, error = lsip.Variable(3, name="x"), lsip.Variable(name="error")
    t = lsip.Index("t", lsip.Interval(-1, 1))
    residual = evaluate(t, x) - np.exp(t)
    problem = lsip.Problem(lsip.minimize(error), [lsip.forall(t, [residual <= error, -residual <= error])])
    solution = problem.solve(verbose=False)
    assert_certified(problem, solution, 1e-8)
    assert solution.value == pytest.approx(0.0450173924028, abs=1e-8)


# ---- what does not is refused where it is written --------------------------------------------------------------------

NO_NUMBER = "is not a number"
CONVERSIONS = [
    "np.float64(t)", "np.float32(t)", "np.int64(t)", "np.longdouble(t)", "np.complex128(t)", "float(t)", "int(t)",
    "complex(t)", "round(t)", "round(t, 2)", "float(x[0])", "int(x)", "math.floor(t)", "math.ceil(t)",
    "math.trunc(t)", "math.sin(t)", "math.exp(z)", "math.hypot(t, 1.0)", "math.fsum([t, z])", "math.fsum(x)",
    "operator.index(t)", "[1, 2, 3][t]", "range(t)", "np.array(x, dtype=float)", "np.asarray(t, dtype=int)",
    "np.array([t, 1.0], dtype=float)", "np.vectorize(math.sin)(t)", "a = np.zeros(3); a[:] = x; r = a",
    "a = np.zeros(3); np.put(a, [0], [t]); r = a", "a = np.zeros(3); a.flat = x; r = a",
    "a = np.zeros(3); a[...] = t; r = a",
]  # fmt: skip

WRITING = [
    "a = np.zeros(3, object); a += x; r = a", "a = np.zeros(3); a += x; r = a", "a = np.ones(3); a *= t; r = a",
    "a = np.ones(3); a /= 1 + t; r = a", "np.add(A, x, out=np.zeros(3))", "np.add(A, x, np.zeros(3))",
    "np.sin(t, out=np.zeros(()))", "a = np.zeros(3); np.add.at(a, [0, 1], z); r = a",
    "np.multiply(x, 2.0, out=(np.zeros(3),))",
]  # fmt: skip

REFUSED = {
    "np.take(x, [0, 1], out=np.zeros(2, int))": "into no `out`",
    "np.concatenate([x, x], out=np.zeros(6))": "out",
    "np.concatenate([x, x], dtype=np.float32)": "dtype",
    "np.tile(A, t)": "elements of one expression",
    "np.repeat(x, t)": "elements of one expression",
    "np.where(t <= 0.5)": "np.where cannot be called like this",
    "np.mean(y, 0, float)": "np.mean cannot be called like this",
    "np.greater_equal.outer(x, A)": "np.greater_equal.outer is not part",
    "np.greater_equal(x, 1, where=[True, False, True])": "np.greater_equal with where",
    "np.add(x, 1, where=[True, False, True])": "np.add with where",
    "np.multiply(x, 2.0, dtype=np.float32)": "np.multiply with dtype",
    "np.add.outer(x, A)": "np.add.outer is not part",
    "np.add.accumulate(x)": "np.add.accumulate is not part",
    "P.polynomial.polyval2d(y[0], y[1], w)": "polyval2d is not part",
    "np.frompyfunc(lambda v: v * v, 1, 1)(t)": "is not part",
    "np.interp(0.3, [0.0, 0.5, 1.0], x)": "np.interp takes an index expression first",
    "np.einsum('i,i', x, x[::-1])": "product of decision variables",
    "np.append(x, 1.0)": "np.append is not part",
    "np.insert(x, 0, 1.0)": "np.insert is not part",
    "np.copyto(np.zeros(3), x)": "np.copyto is not part",
    "np.unwrap(t)": "np.unwrap is not part",
    "np.sort(x)": "np.sort is not part",
    "divmod(t, 1)": "`divmod` is not part",
    "7 // t": "`//` needs numbers other than 0 on its right",
    "divmod(x, 2)": "`divmod` is not part",
    "t & 1": "`&` is not part",
    "1 | x": "`|` is not part",
    "~t": "`~` is not part",
    "t << 1": "`<<` is not part",
    "pow(t, 2, 3)": "modulus",
    "S * x": "sparse matrix can only be applied with `@`",
    "SA * x": "sparse matrix can only be applied with `@`",
    "S + x": "sparse matrix",
    "S <= x": "sparse matrix",
    "sparse.csr_matrix(S * 1j) @ x": "complex",
    "sparse.csr_matrix(np.eye(2) * 1j) @ y": "complex",
    "y @ sparse.csr_array(np.eye(2) * 1j)": "complex",
    "sparse.csr_matrix(np.eye(3) * np.nan) @ x": "nan",
    "sparse.csr_matrix(([np.inf], ([0], [0])), (3, 3)) @ x": "finite; got inf",
    "sparse.coo_array(A) @ x": "two axes",
    "np.matrix(np.eye(3)) * x": "np.matrix",
    "np.matrix(np.eye(3)) @ x": "np.matrix",
    "x * np.matrix(np.eye(3))": "np.matrix",
    "np.ma.masked_array(A, mask=[1, 0, 0]) * x": "masked",
    "np.ma.masked_array(A, mask=[1, 0, 0]) @ x": "masked",
    "x * np.ma.masked_array(A, mask=[1, 0, 0])": "masked",
    "np.ma.masked_array(A) + x": "masked",
    "z * np.ma.masked": "masked",
    "np.ma.masked * z": "masked",
    "np.where(np.ma.array([True, False, True], mask=[1, 0, 0]), x, 0.0)": "masked",
    "np.stack([np.inf, t])": "infinite, in np.stack",
    "np.where(t <= 0.5, np.inf, 1.0)": "infinite, in np.where",
    "t + np.inf": "infinite, in np.add",
    "z / 5e-324": "infinite",
    "1e200 * (1e200 * z)": "infinite",
    "1e200 * (1e-200 * (1e-200 * z))": "too small",
    "1e-160 * (1e-160 * z)": "too small",
    "(z + 1e-200) * 1e-200": "too small",
    "1e-200 * z / 1e200": "too small",
    "x / np.ones(2)": r"Cannot divide shapes \(2,\) and \(3,\)",
    "lsip.Problem(lsip.minimize(1e308 * z + 1e308 * z), []).compile()": "add up to more than any double",
    "z >= np.inf": "no number is infinite",
    "z == -np.inf": "no number is infinite",
    "lsip.Variable(True)": "positive whole size",
    "lsip.Variable(3, name=7)": "is text, not blank; got 7",
    "np.array([x[0]]) <= np.array([t])": r"cannot be used as a bool.*np.stack",
    "max(x)": r"Strict.*cannot be used as a bool, as `if`, max",
    "sorted(x)": "Strict.*sorted",
    "1 if x[0] > 0.5 else 2": "constraint; it cannot be used as a bool",
    "max(t, 0.5)": r"cannot be used as a bool.*np.maximum",
    "min(t, 0.5)": r"cannot be used as a bool.*np.minimum",
    "1.0 in x": "cannot be used as a bool",
    "x in [1, 2]": "cannot be used as a bool",
    "any(x)": "cannot be used as a bool",
}  # fmt: skip


@pytest.mark.parametrize("source", CONVERSIONS)
def test_expressions_do_not_become_numbers(source: str) -> None:
    with pytest.raises(ConversionError, match=NO_NUMBER) as caught:
        run(source, symbols())
    assert isinstance(caught.value, TypeError)
    assert isinstance(caught.value, ModelError)


@pytest.mark.parametrize(
    "source", ["a = np.zeros(3); a[0] = z; r = a", "a = np.zeros(3); a.fill(t); r = a", "np.fromiter(x, float)"]
)
def test_numpy_reports_our_refusal_as_the_cause_of_its_own(source: str) -> None:
    with pytest.raises(ValueError, match="setting an array element") as caught:
        run(source, symbols())
    assert isinstance(caught.value.__cause__, ConversionError)


@pytest.mark.parametrize("source", WRITING)
def test_expressions_are_not_written_into_arrays_of_numbers(source: str) -> None:
    with pytest.raises(ModelError, match=r"cannot write an expression into an array of numbers.*write `a = a"):
        run(source, symbols())


@pytest.mark.parametrize("source", REFUSED)
@pytest.mark.filterwarnings("ignore")
def test_what_the_language_does_not_mean_is_refused(source: str) -> None:
    with pytest.raises(ModelError, match=rf"(?s){REFUSED[source]}"):
        run(source, symbols())


# ---- comparisons are neither numbers nor true or false ---------------------------------------------------------------

USES = [
    "{c} <= z", "z >= {c}", "{c} <= 2", "2 >= {c}", "{c} < 2", "{c} == True", "{c} != True", "{c} == {c}", "{c} + 1",
    "1 + {c}", "{c} - x", "{c} * 2", "z * {c}", "A * {c}", "A + {c}", "A <= {c}", "np.float64(2) * {c}", "{c} @ x",
    "{c} ** 2", "t ** {c}", "{c} / 2", "2 / {c}", "{c} // 2", "{c} % 2", "-{c}", "+{c}", "abs({c})", "~{c}",
    "not {c}", "{c} and True", "{c} or True", "1 if {c} else 2", "sum([{c}])", "max([{c}, {c}])", "all([{c}])",
    "any([{c}])", "float({c})", "int({c})", "bool({c})", "round({c})", "len({c})", "list({c})", "{c}[0]", "1 in {c}",
    "np.array({c})", "np.array([{c}, {c}])", "np.asarray([{c}, 1.0])", "np.multiply(2.0, {c})", "np.logical_not({c})",
    "np.maximum({c}, 0)", "np.less_equal({c}, 1)", "np.stack([z, {c}])", "np.where(t <= 0.5, {c}, 1.0)",
    "np.where([True], {c}, t)", "x * [{c}, 1, 2]", "[1, 2, 3][{c}]", "lsip.Variable(lower={c})", "lsip.minimize({c})",
    "np.sum([{c}, z])", "np.add.reduce([{c}, {c}])",
]  # fmt: skip


@pytest.mark.parametrize("comparison", ["(x[0] <= 1)", "(t <= 0.5)"])
@pytest.mark.parametrize("use", USES)
def test_comparisons_are_handed_on_and_nothing_else(use: str, comparison: str) -> None:
    with pytest.raises(ModelError, match=r"cannot be used as a bool|np.where cannot depend on"):
        run(use.format(c=comparison), symbols())


@pytest.mark.parametrize("use", ["{c} & {c}", "{c} | {c}", "True & {c}"])
def test_comparisons_do_not_combine(use: str) -> None:
    for comparison, message in (("(x <= 1)", "cannot be used as a bool"), ("(t <= 0.5)", "nest np.where")):
        with pytest.raises(ModelError, match=message):
            run(use.format(c=comparison), symbols())


# ---- parts of a model stay as they were made -------------------------------------------------------------------------

CHANGES = [
    "x.name = 'u'", "x.shape = (3, 1)", "x.value = A", "x.integer = True",
    "x.terms = ()", "del x.lower", "x[0] = 1", "x[:] = A", "x[0] += 1", "del x[0]", "t.domain = lsip.Interval(0, 9)",
    "t.name = 's'", "t.value = 3", "t.shape = (1,)", "y[0] = 1", "e = x + 1; e.lower = 0",
    "e = 2 * t; e.shape = (1,)", "e = np.sin(t); e.function = None", "e = A * t; e.args = ()",
    "e = x[0]; e.offset = t",
]  # fmt: skip


@pytest.mark.parametrize("source", CHANGES)
def test_parts_of_a_model_cannot_be_changed(source: str) -> None:
    with pytest.raises(FixedError, match="immutable") as caught:
        run(source + "; r = 0", symbols())
    assert isinstance(caught.value, AttributeError)


def test_bounds_are_assigned_as_a_whole_and_checked() -> None:
    x = lsip.Variable(3, name="x", upper=2)
    for wrong, message in (
        ([0, 1], "must broadcast"),
        (np.nan, "holds nan"),
        (3, "exceeds upper"),
        (np.inf, "as large"),
    ):
        with pytest.raises(ModelError, match=message):
            x.lower = wrong
        assert (x.lower == -np.inf).all()
    x.lower = 1
    assert (x.lower == 1).all()
    assert (x.upper == 2).all()
    with pytest.raises(ValueError, match="read-only"):
        x.upper[0] = 5
    with pytest.raises(FixedError, match="Assign its bounds `lower` and `upper`"):
        x.integer = True


@pytest.mark.parametrize(
    ("made", "name"),
    [
        (lambda: lsip.Interval(0, 1), "lower"),
        (lambda: lsip.Ball([0, 0], 1), "radius"),
        (lambda: lsip.Variable(2, name="x") <= 1, "equality"),
        (lambda: lsip.minimize(lsip.Variable(name="z")), "maximise"),
    ],
)
def test_values_are_frozen(made: Any, name: str) -> None:
    with pytest.raises(AttributeError, match=name):
        setattr(made(), name, 3)


def test_a_model_does_not_follow_the_arrays_that_it_was_written_with() -> None:
    names = symbols()
    x, t = names["x"], names["t"]
    a, bound, table = A.copy(), A.copy(), sparse.csr_matrix(S)
    u = lsip.Variable(3, name="u", lower=bound)
    constraints = [
        a @ x <= 4,
        x <= a,
        lsip.forall(t, t * a <= x),
        lsip.forall(t, table @ (t * a) <= x[:2]),
        table @ u <= 1,
    ]
    problem = lsip.Problem(lsip.minimize(x.sum() + u.sum()), constraints)
    before = problem.compile()
    a[:], bound[:], table.data[:] = 9, 9, 9
    after = lsip.Problem(lsip.minimize(x.sum() + u.sum()), constraints).compile()
    np.testing.assert_array_equal(before.A.toarray(), after.A.toarray())
    np.testing.assert_array_equal(before.A.toarray()[0, :3], A)
    np.testing.assert_array_equal(after.row_upper[1:4], A)
    np.testing.assert_array_equal(after.lower[3:], A)
    y = np.array([[0.5]])
    np.testing.assert_allclose(after.violation(0, np.zeros(6)).values(y)[0], 0.5 * np.concatenate([A, S @ A]))


# ---- data ------------------------------------------------------------------------------------------------------------

BAD: dict[str, tuple[Any, str]] = {
    "complex": (lambda: np.array([1 + 1j, 2, 3]), "complex.*real"),
    "complex without imaginary parts": (lambda: np.array([1 + 0j, 2, 3]), "complex.*real"),
    "complex in a list": (lambda: [1 + 0j, 2, 3], "complex.*real"),
    "complex objects": (lambda: np.array([1 + 0j, 2, 3], object), "complex.*real"),
    "masked": (lambda: np.ma.masked_array(A, mask=[1, 0, 0]), "masked.*filled"),
    "masked in a list": (lambda: [np.ma.masked, 2.0, 3.0], "masked.*filled"),
    "text": (lambda: np.array(["1", "2", "3"]), "text.*astype"),
    "text in a list": (lambda: ["1", 2, 3], "text.*astype"),
    "bytes": (lambda: np.array([b"1", b"2", b"3"]), "text.*astype"),
    "objects of text": (lambda: np.array(["1", "2", "3"], object), "text.*astype"),
    "NumPy's strings": (lambda: np.array(["1", "2", "3"], dtype=np.dtypes.StringDType()), "text.*astype"),
    "dates": (lambda: np.array([1, 2, 3], "datetime64[s]"), "dates.*unit"),
    "durations": (lambda: np.array([1, 2, 3], "timedelta64[s]"), "durations.*unit"),
    "records": (lambda: np.array([(1.0,), (2.0,), (3.0,)], dtype=[("a", float)]), "records.*field"),
    "None": (lambda: [1, None, 3], "None"),
    "large integers": (lambda: np.array([2**53 + 1, 2, 3]), r"doubles.*float\(…\)"),
    "large integers among floats": (lambda: [2**53 + 1, 0.5, 3], r"doubles.*float\(…\)"),
    "huge integers": (lambda: [10**400, 2, 3], "at most 1.8e308"),
    "decimals": (lambda: [Decimal("0.1"), 2, 3], r"doubles.*float\(…\)"),
    "fractions": (lambda: [Fraction(1, 3), 2, 3], r"doubles.*float\(…\)"),
    "a mapping": (lambda: {0: 1, 1: 2, 2: 3}, "real numbers; got {0"),
    "a set": (lambda: {1.0, 2.0, 3.0}, "real numbers; got {"),
    "a comparison": (lambda: [lsip.Index("s", lsip.Interval(0, 1)) <= 0.5, 2, 3], "cannot be used as a bool"),
    "a matrix": (lambda: np.matrix([[1.0, 2.0, 3.0]]), "np.matrix.*np.asarray"),
}  # fmt: skip

if np.finfo(np.longdouble).nmant > np.finfo(float).nmant:  # not so on every platform
    BAD["more digits"] = lambda: np.array(["0.1", "0.2", "0.3"], np.longdouble), r"doubles.*float\(…\)"


def doors() -> dict[str, Any]:
    """Every way by which data enter."""
    names = symbols()
    x, t = names["x"], names["t"]
    y = lsip.Index("y", lsip.Box([0] * 3, [1] * 3))
    family = lsip.Family(lsip.Interval(0, 1), lambda p: -np.column_stack([p**0, p, p**2]), lambda p: -np.exp(p[:, 0]))
    problem = lsip.Problem(lsip.minimize(x.sum()), [lsip.forall(t, x[0] * t + x[1] >= t)])

    def row(v: Any) -> Any:  # a function's result of shape (N, 3), of the same kind as v
        def repeated(p: Any) -> Any:
            if isinstance(v, np.ma.MaskedArray):
                return np.ma.array(np.tile(v.data, (len(p), 1)), mask=np.tile(v.mask, (len(p), 1)))
            return np.repeat(v, len(p), axis=0) if isinstance(v, np.matrix) else [v] * len(p)

        return lsip.Family(lsip.Interval(0, 1), repeated, lambda p: np.ones(len(p)))

    return {
        "x * v": lambda v: x * v, "x + v": lambda v: x + v, "x / v": lambda v: x / v, "x @ v": lambda v: x @ v,
        "x <= v": lambda v: x <= v, "x == v": lambda v: x == v, "y * v": lambda v: y * v, "y ** v": lambda v: y**v,
        "y <= v": lambda v: y <= v, "np.maximum": lambda v: np.maximum(y, v), "np.stack": lambda v: np.stack([x, v]),
        "np.concatenate": lambda v: np.concatenate([y, v]), "np.where": lambda v: np.where(y <= 0.5, v, 1.0),
        "np.where of a mask": lambda v: np.where([True, False, True], x, v), "np.dot": lambda v: np.dot(x, v),
        "np.outer": lambda v: np.outer(y, v), "np.clip": lambda v: np.clip(y, v, 9.0),
        "lower": lambda v: lsip.Variable(3, lower=v), "upper": lambda v: lsip.Variable(3, upper=v),
        "Box": lambda v: lsip.Box([0, 0, 0], v), "Ball": lambda v: lsip.Ball(v, 1), "Finite": lsip.Finite,
        "Polytope": lambda v: lsip.Polytope([v, [-1, 0, 0], [0, -1, 0], [0, 0, -1]], [1, 0, 0, 0]),
        "contains": lambda v: y.domain.contains(v), "project": lambda v: y.domain.project(v),
        "c": lambda v: lsip.linsip(v, [family]), "A_ub": lambda v: lsip.linsip([1, 1, 1], [family], A_ub=[v], b_ub=[1]),
        "b_ub": lambda v: lsip.linsip([1, 1, 1], [family], A_ub=np.eye(3), b_ub=v),
        "A_eq": lambda v: lsip.Program.from_arrays([1, 1, 1], A_eq=[v], b_eq=[1]),
        "b_eq": lambda v: lsip.Program.from_arrays([1, 1, 1], A_eq=np.eye(3), b_eq=v),
        "a(y)": lambda v: lsip.linsip([1, 1, 1], [row(v)], bounds=(-1, 1)),
        "worst_violation": problem.worst_violation,
        "worst_violation of a mapping": lambda v: problem.worst_violation({x: v}),
        "discretise": problem.discretise, "discretise of a mapping": lambda v: problem.discretise({t: v}),
    }  # fmt: skip


MAPPINGS = ("worst_violation", "discretise")  # which take them
COMPLEX = ("x * v", "x + v", "x / v", "x @ v", "x == v", "y * v")  # which make complex arrays of complex ones


@pytest.mark.parametrize(
    ("data", "door"), [(data, door) for data in BAD for door in doors() if data != "a mapping" or door not in MAPPINGS]
)
@pytest.mark.filterwarnings("ignore")
def test_data_that_are_no_real_doubles_are_refused_at_every_door(data: str, door: str) -> None:
    made, message = BAD[data]
    known = data in ("complex", "complex without imaginary parts") and door in COMPLEX
    if known and (data, door) != ("complex", "x == v"):
        found = doors()[door](made())
        assert door == "x == v" or (found.real.shape, found.imag.shape) == (found.shape, found.shape)
        return
    with pytest.raises(ModelError, match=rf"(?s){message}"):
        doors()[door](made())


@pytest.mark.parametrize("door", doors())
def test_every_door_lets_numbers_in(door: str) -> None:
    """So that the refusals above are about the data."""
    value: Any = np.array([0.25, 0.5, 0.75])
    if door == "A_eq":
        value = [Fraction(1, 4), Decimal("0.5"), 1]
    doors()[door](value)


@pytest.mark.parametrize("door", sorted(set(doors()) - {"contains", "np.clip"}))
def test_nan_is_refused_at_every_door(door: str) -> None:
    with pytest.raises(ModelError, match=r"nan|finite"):
        doors()[door]([np.nan, 2.0, 3.0])


@pytest.mark.parametrize(
    "bounds", [("0", "1"), [(0, 1j)] * 3, (0, np.nan), np.ma.masked_array([0.0, 1.0], mask=[0, 1])]
)
def test_bounds_are_numbers_or_none(bounds: Any) -> None:
    with pytest.raises(ModelError, match="`bounds` cannot be read: give one pair"):
        lsip.Program.from_arrays([1, 1, 1], bounds=bounds)
    program = lsip.Program.from_arrays([1, 1, 1], bounds=np.array([(None, 1), (0, None), (None, None)], dtype=object))
    np.testing.assert_array_equal(program.lower, [-np.inf, 0, -np.inf])
    np.testing.assert_array_equal(program.upper, [1, np.inf, np.inf])


@pytest.mark.parametrize("constant", ["1", 1j, np.nan, np.inf, [1.0]])
def test_the_constant_of_an_objective_is_a_number(constant: Any) -> None:
    with pytest.raises(ModelError, match="`constant`"):
        lsip.Program.from_arrays([1], constant=constant)


@pytest.mark.parametrize("lipschitz", ["1", (1j, 1), np.ma.masked_array([1.0, 1.0], mask=[0, 1])])
def test_lipschitz_constants_are_numbers(lipschitz: Any) -> None:
    with pytest.raises(ModelError, match="`lipschitz` must be a number >= 0"):
        lsip.Family(lsip.Interval(0, 1), lambda y: y, lambda y: y[:, 0], lipschitz)


@pytest.mark.parametrize(
    "value",
    [1, True, 2.5, 2**60, -(2**63), np.float16(0.1), np.float32(0.1), np.longdouble(0.1), Decimal("0.5"),
     Fraction(-7, 8), np.uint64(2**63), [1, 2.5, True], (Fraction(1, 2), 3), range(4), np.array([1, 2], ">i2"),
     np.array([[0.5]], object)],
)  # fmt: skip
def test_doubles_are_read_exactly(value: Any) -> None:
    got = numbers(value, "It")
    assert got.dtype == np.float64
    for found, given in zip(got.ravel().tolist(), np.ravel(np.asarray(value, dtype=object)), strict=True):
        whole = isinstance(given, int | np.integer)
        assert Fraction(found) == Fraction(*((int(given), 1) if whole else given.as_integer_ratio()))


def test_what_is_kept_is_a_copy_that_cannot_be_written() -> None:
    for array in (A.copy(), np.broadcast_to(A.copy(), (2, 3)), A.copy()[::2]):
        copied = kept(array)
        assert not copied.flags.writeable
        assert not np.shares_memory(copied, array)
    assert kept(copied) is copied


@pytest.mark.parametrize("k", [3, 49, 98, 103, 107])
def test_quotients_are_rounded_once(k: int) -> None:
    """49 times the double next to 1/49 is less than 1."""
    names = symbols()
    z, t = names["z"], names["t"]
    bodies = [(k * z) / k, (5 * z + k) / k, (k * z * t) / np.array([k, 7.0])]
    assert bodies[0].terms[0].coefficient.value == 1
    assert bodies[1].terms[0].coefficient.value == 5 / k
    assert bodies[1].offset.value == 1
    np.testing.assert_allclose(worth(bodies[2], names), VALUES["z"] * VALUES["t"] * np.array([1, k / 7]), rtol=1e-14)


def test_entries_of_sparse_matrices_are_added_as_doubles() -> None:
    twice = sparse.coo_matrix((np.array([100, 100], np.int8), ([0, 0], [1, 1])), shape=(1, 2))
    np.testing.assert_array_equal(matrix(twice, "It").toarray(), [[0.0, 200.0]])


# ---- arrays of other packages ----------------------------------------------------------------------------------------


class Labelled:
    """As pandas' Series behaves: it defers to higher priorities, and repeats whatever else an operation gives."""

    __pandas_priority__ = 4000

    def __init__(self, values: Any) -> None:
        self.values = (
            np.broadcast_to(np.asarray(values, dtype=object), 3) if not isinstance(values, np.ndarray) else values
        )

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.asarray(self.values, dtype=dtype)

    def _apply(self, other: Any, op: Any) -> Any:
        if getattr(other, "__pandas_priority__", 0) > self.__pandas_priority__:
            return NotImplemented
        return Labelled(op(self.values, other))


for _name in ("add", "sub", "mul", "truediv", "pow", "matmul", "le", "ge", "eq"):
    setattr(Labelled, f"__{_name}__", functools.partialmethod(Labelled._apply, op=getattr(operator, f"{_name}")))

SERIES = {
    "s >= x": "x - A", "s <= x": "A - x", "s == x": "x - A", "s * x": "A * x", "s + x": "A + x", "s - x": "A - x",
    "s @ x": "A @ x", "s * t @ x": "A * t @ x", "s / (1 + t) @ x": "A / (1 + t) @ x", "s ** t @ x": "A ** t @ x",
    "x <= s": "x - A",
    "x >= s": "A - x", "x * s": "A * x", "x @ s": "A @ x", "t ** s @ x": "t ** A @ x", "s * z": "A * z",
    "s >= z": "z - A",
}  # fmt: skip


def check_series(source: str, series: Any) -> None:
    names = symbols()
    got = worth(run(source, {**names, "s": series}), names)
    np.testing.assert_allclose(got, np.ravel(run(SERIES[source], VALUES)), rtol=1e-12)


@pytest.mark.parametrize("source", SERIES)
def test_labelled_arrays_leave_operations_to_expressions(source: str) -> None:
    check_series(source, Labelled(A))


@pytest.mark.parametrize("source", SERIES)
def test_pandas_on_either_side(source: str) -> None:
    check_series(source, pytest.importorskip("pandas").Series(A))


@pytest.mark.parametrize("source", [s for s in SERIES if s.startswith(("x", "t"))])
def test_xarray_on_the_right(source: str) -> None:
    check_series(source, pytest.importorskip("xarray").DataArray(A))


class Wrapper:
    """As xarray behaves: it holds whatever comes of an operation, and cannot show it."""

    def __init__(self, data: Any) -> None:
        self.data = data

    def __le__(self, other: Any) -> Any:
        return Wrapper(self.data <= other)

    def __repr__(self) -> str:
        raise AttributeError("dtype")


def test_constraints_wrapped_by_others_are_refused() -> None:
    names = symbols()
    wrapped = Wrapper(A) <= names["x"]
    for attempt in (
        lambda: lsip.forall(names["t"], wrapped),
        lambda: lsip.Problem(lsip.minimize(names["z"]), [wrapped]),
    ):
        with pytest.raises(ModelError, match=r"got an object of type Wrapper\. An expression on the left keeps"):
            attempt()


# ---- constraints for all indices, and names --------------------------------------------------------------------------

QUANTIFIED = {
    "lsip.forall(t, lambda t: z >= t)": r"got a function: call it, as in forall\(t, rule\(t\)\)",
    "lsip.forall(t, z)": "got z, which is not compared with anything",
    "lsip.forall(t, 'z >= t')": "got 'z >= t'",
    "lsip.forall(t, z >= 1)": "z ≥ 1 does not depend on t: leave it outside of forall",
    "lsip.forall((t, y), x <= 1)": "x ≤ 1 does not depend on t, y",
    "lsip.forall(t, z * t <= [])": r"has no element \(its shape is \(0,\)\)",
    "lsip.forall(lsip.Index('t', lsip.Interval(0, 1)), z >= t)": "another index that is called t too.*make one Index",
    "lsip.forall(t, z >= t * lsip.Index('t', lsip.Interval(2, 3)))": "another index that is called t too",
    "s = lsip.Index('t', y.domain); c = [lsip.forall(i, z >= i) for i in (s, t)]; lsip.Problem(lsip.minimize(z), c)":
        "Two indices of the problem are called 't'; give each its own `name`; or make one",
    "lsip.Problem(lsip.minimize(z), [z])": "got z, which is not compared",
    "lsip.Problem(lsip.minimize(z), [lambda: z >= 1])": "got a function",
}  # fmt: skip


@pytest.mark.parametrize("source", QUANTIFIED)
def test_what_is_said_about_all_indices_must_depend_on_them(source: str) -> None:
    with pytest.raises(ModelError, match=rf"(?s){QUANTIFIED[source]}"):
        run(source, symbols())


def test_variables_among_index_expressions_are_named() -> None:
    with pytest.raises(NotAffineError, match=r"\(x\[0\], 1\) has decision variables in it"):
        as_expression([symbols()["x"][0], 1.0])
