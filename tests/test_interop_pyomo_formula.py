"""Pyomo expressions as index expressions: every formula has the same values through both, and the same row."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pyo = pytest.importorskip("pyomo.environ")
from pyomo.core.expr.template_expr import IndexTemplate  # noqa: E402
from pyomo.dae import ContinuousSet  # noqa: E402

import lsip  # noqa: E402
from lsip.expressions.arrangements import Join  # noqa: E402
from lsip.expressions.graph import Pass, as_expression  # noqa: E402
from lsip.expressions.interval import Interval  # noqa: E402
from lsip.expressions.kinks import Select  # noqa: E402
from lsip.expressions.tape import Tape  # noqa: E402
from lsip.interop.pyomo.basis import Basis  # noqa: E402
from lsip.interop.pyomo.formula import FUNCTIONS, AffineRow, Reader, Untraceable  # noqa: E402

POINTS = np.array([[0.0, 1.0], [0.25, 0.3], [0.5, 0.5], [0.8, 0.1], [1.0, 0.0]])


class Bench:
    """A model with two ContinuousSets, two variables, and what stands for its indices."""

    def __init__(self) -> None:
        self.m = m = pyo.ConcreteModel()
        m.t, m.s = ContinuousSet(bounds=(0, 1)), ContinuousSet(bounds=(0, 1))
        m.x = pyo.Var(range(2))
        m.p = pyo.Param(initialize=1.5, mutable=True)
        m.e = pyo.Expression(expr=m.p * 2)
        self.symbols = IndexTemplate(m.t), IndexTemplate(m.s)
        self.indices = tuple(lsip.Index(name, lsip.Interval(0, 1)) for name in "ts")
        columns = {id(m.x[i]): i for i in range(2)}
        self.reader = Reader(
            lambda v: {columns[id(v)]: 1.0},
            {id(symbol): index for symbol, index in zip(self.symbols, self.indices, strict=True)},
        )

    def row(self, build) -> AffineRow:
        return self.reader.row(build(self.m, *self.symbols))

    def values(self, build) -> np.ndarray:
        """Coefficients of x[0] and x[1] and the offset, at all points, through the language."""
        row = self.row(build)
        parts = [row.coefficients.get(0, 0.0), row.coefficients.get(1, 0.0), row.offset]
        basis = Basis()
        weights = [basis.weights(part) for part in parts]
        both = (Join(tuple(as_expression(p) for p in parts)), basis.combine(weights))
        plain, combined = (np.broadcast_to(Tape((e,), self.indices).values(POINTS), (len(POINTS), 3)) for e in both)
        np.testing.assert_allclose(combined, plain, rtol=1e-12, atol=1e-12 * (1 + np.abs(plain).max()))
        return plain

    def wanted(self, build) -> np.ndarray:
        """The same by Pyomo, with numbers in place of the indices and of the variables."""

        def at(t, s, x):
            self.m.x[0].value, self.m.x[1].value = x
            return pyo.value(build(self.m, float(t), float(s)))

        rows = [[at(t, s, x) for x in ((1, 0), (0, 1), (0, 0))] for t, s in POINTS]
        table = np.array(rows)
        return np.column_stack([table[:, 0] - table[:, 2], table[:, 1] - table[:, 2], table[:, 2]])


# ---- every operation -------------------------------------------------------------------------------------------------

INSIDE = {"acosh": 1.5, "log": 0.5, "log10": 0.5, "sqrt": 0.5}  # arguments in [b, b + 0.9] are in the function's domain


@pytest.mark.parametrize("name", [n for n in FUNCTIONS if n != "abs"])
def test_every_intrinsic_function(name):
    bench, function = Bench(), getattr(pyo, name)

    def build(m, t, s):
        return function(INSIDE.get(name, 0.0) + 0.9 * t * s) * m.x[0] + function(INSIDE.get(name, 0.0) + 0.5 * t)

    np.testing.assert_allclose(bench.values(build), bench.wanted(build), rtol=1e-12, atol=1e-14)


OPERATIONS = {
    "sum": lambda m, t, s: m.x[0] + t + 2 * m.x[0] * s + sum(m.x[i] * t**i for i in range(2)) - m.x[1],
    "division": lambda m, t, s: (m.x[0] * t + s) / (1 + t) / 3,
    "power": lambda m, t, s: (1 + t) ** s * m.x[1] + t**3 + (t + 0.5) ** -2 + 2**t,
    "power one": lambda m, t, s: (m.x[0] + t) ** m.one,
    "negation": lambda m, t, s: -(m.x[0] * t - s) - t,
    "absolute": lambda m, t, s: abs(t - 0.4) * m.x[0] - abs(s - t),
    "param": lambda m, t, s: m.p * t * m.x[0] + pyo.exp(m.p) * s,
    "named": lambda m, t, s: m.e * m.x[1] + m.e * t,
    "if": lambda m, t, s: pyo.Expr_if(t <= 0.5, t, 1 - s) * m.x[0],
    "strict if": lambda m, t, s: pyo.Expr_if(t < 0.5, t, 1 - s),
    "if of variables": lambda m, t, s: pyo.Expr_if(t >= s, m.x[0] + t, 2 * m.x[1]),
    "two-sided if": lambda m, t, s: pyo.Expr_if(pyo.inequality(0.2, t, 0.6), 1, s) + m.x[0],
    "constant if": lambda m, t, s: pyo.Expr_if(m.p >= 1, t, s) * m.x[0],
    "if of ifs": lambda m, t, s: pyo.Expr_if(pyo.Expr_if(t <= 0.5, m.p, s) <= 0.4, t, 1) * m.x[0],
    "if of equal numbers": lambda m, t, s: pyo.Expr_if(m.p == 1.5, t, s) * m.x[0],
    "larger": lambda m, t, s: pyo.Expr_if(t >= s, t, s) * m.x[0] + pyo.Expr_if(t**2 > s, t**2 * m.x[1], s * m.x[1]),
    "smaller": lambda m, t, s: pyo.Expr_if(t >= s, s, t) * m.x[0] + pyo.Expr_if(t**2 < 0.3, t**2, 0.3),
    "fixed variable": lambda m, t, s: m.fixed * m.x[0] * t + m.fixed**2,
    "constant": lambda m, t, s: m.x[0] + 3,
    "linear": lambda m, t, s: pyo.quicksum([m.x[0] * 2, m.x[1], 1], linear=True) * t,
    "zero": lambda m, t, s: 0 * m.x[0] + t,
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_every_operation(name):
    bench, build = Bench(), OPERATIONS[name]
    bench.m.fixed = pyo.Var(initialize=0.7)
    bench.m.fixed.fix()
    bench.m.one = pyo.Param(initialize=1, mutable=True)
    np.testing.assert_allclose(bench.values(build), bench.wanted(build), rtol=1e-13, atol=1e-14)


# How a choice between a and b reads: a comparison of the same two is a maximum or a minimum, in either order.
CHOICES = {
    "a >= b, a": (lambda a, b: pyo.Expr_if(a >= b, a, b), max),
    "a > b, a": (lambda a, b: pyo.Expr_if(a > b, a, b), max),
    "b <= a, a": (lambda a, b: pyo.Expr_if(b <= a, a, b), max),
    "b < a, a": (lambda a, b: pyo.Expr_if(b < a, a, b), max),
    "a <= b, b": (lambda a, b: pyo.Expr_if(a <= b, b, a), max),
    "a <= b, a": (lambda a, b: pyo.Expr_if(a <= b, a, b), min),
    "a < b, a": (lambda a, b: pyo.Expr_if(a < b, a, b), min),
    "b >= a, a": (lambda a, b: pyo.Expr_if(b >= a, a, b), min),
    "b > a, a": (lambda a, b: pyo.Expr_if(b > a, a, b), min),
    "a >= b, b": (lambda a, b: pyo.Expr_if(a >= b, b, a), min),
}
OPERANDS = {
    "indices": (lambda t, s: t, lambda t, s: s),
    "built twice": (lambda t, s: t**2 + pyo.cos(s), lambda t, s: t * s + 1),
    "a number": (lambda t, s: t + s, lambda t, s: 0.75),
}


def kinks(e) -> list[Select]:
    return [node for node in Tape((e,), e.indices()).nodes if isinstance(node, Select)]


@pytest.mark.parametrize("operands", OPERANDS)
@pytest.mark.parametrize("choice", CHOICES)
def test_a_choice_by_the_same_comparison_is_a_maximum_or_a_minimum(choice, operands):
    bench, (choose, extreme), (a, b) = Bench(), CHOICES[choice], OPERANDS[operands]
    row = bench.row(lambda m, t, s: choose(a(t, s), b(t, s)) + m.x[0])
    assert [kink.continuous for kink in kinks(row.offset)] == [True]
    values = Tape((row.offset,), bench.indices).values(POINTS).ravel()
    assert values == pytest.approx([extreme(pyo.value(a(t, s)), pyo.value(b(t, s))) for t, s in POINTS], rel=1e-14)


@pytest.mark.parametrize(
    "build",
    [
        lambda m, t, s: pyo.Expr_if(t >= s, t, 2 * s),
        lambda m, t, s: pyo.Expr_if(t**2 >= s, t**3, s),
        lambda m, t, s: pyo.Expr_if(t >= 0.5, t, 0.25),
        lambda m, t, s: pyo.Expr_if(pyo.sin(t) >= s, pyo.cos(t), s),
    ],
)
def test_any_other_choice_may_jump(build):
    assert [kink.continuous for kink in kinks(Bench().row(build).offset)] == [False]


def test_numbers_are_added_up_exactly():
    row = Bench().row(lambda m, t, s: 1e16 * m.x[0] + m.x[0] - 1e16 * m.x[0] + t * m.x[1] + 1e16 + 1 - 1e16)
    assert row.coefficients[0] == 1
    assert row.offset == 1


def test_what_is_used_in_several_places_is_read_once():
    """As a tree, this recurrence has more nodes than could ever be walked."""
    bench = Bench()

    def chebyshev(m, t, s):
        before, now = 1.0, t
        for _ in range(59):
            before, now = now, 2 * t * now - before
        return now * m.x[0] + now

    row = bench.row(chebyshev)
    assert row.coefficients[0] is row.offset
    tape = Tape((row.offset,), bench.indices)
    assert len(tape.nodes) < 60 * 5
    t = POINTS[:, 0]
    np.testing.assert_allclose(tape.values(POINTS).ravel(), np.cos(60 * np.arccos(t)), atol=1e-12)


def test_the_offset_of_a_formula_reads_like_the_formula():
    row = Bench().row(lambda m, t, s: m.x[0] * t**2 + pyo.tan(t) * s)
    assert str(row.coefficients[0]) == "t²"
    assert str(row.offset) == "tan(t) s"


def test_a_param_and_an_expression_over_a_continuous_set_are_their_rules():
    bench = Bench()
    bench.m.q = pyo.Param(bench.m.t, initialize=lambda m, t: t**2 + 1)
    bench.m.c = pyo.Param(bench.m.t, initialize=0)
    bench.m.f = pyo.Expression(bench.m.t, bench.m.s, rule=lambda m, t, s: m.q[t] * m.x[0] + s)
    row = bench.row(lambda m, t, s: m.f[t, s] + m.q[t] + m.c[t])
    assert bench.reader.looked_up == ["f[{t},{s}]", "q[{t}]", "q[{t}]", "c[{t}]"]
    tape = Tape((Join((row.coefficients[0], row.offset)),), bench.indices)
    t, s = POINTS.T
    np.testing.assert_allclose(tape.values(POINTS), np.column_stack([t**2 + 1, s + t**2 + 1]))


@pytest.mark.parametrize(
    ("build", "reason"),
    [
        (lambda m, t, s: m.x[0] * m.x[1], "a product of variables is not affine in them"),
        (lambda m, t, s: t / m.x[0], "a division by a variable"),
        (lambda m, t, s: pyo.exp(m.x[0]), "exp of variables"),
        (lambda m, t, s: m.x[0] ** 2, "a power of variables"),
        (lambda m, t, s: pyo.ceil(t), "ceil is not part of the language"),
        (lambda m, t, s: m.x[t], "the index is used as a key"),
        (lambda m, t, s: m.table[t], "the index is used as a key"),
        (lambda m, t, s: m.rule[t + 0.1], "the index is used as a key"),
        (lambda m, t, s: m.rule[s], "the index is used as a key"),
        (lambda m, t, s: pyo.Expr_if(m.x[0] >= t, 1, 0), "a condition of variables"),
        (lambda m, t, s: pyo.Expr_if(t == 0.5, 1, 0), "is not part of the language"),
        (lambda m, t, s: t >= 0.5, "is a condition, not a number"),
        (lambda m, t, s: (-1 + 0 * m.p) ** t, "needs a positive base"),
        (lambda m, t, s: t / (m.p - 1.5), "Division by zero"),
        (lambda m, t, s: pyo.log(m.p - 2) * t, "is not a number"),
    ],
)
def test_what_has_no_formula_says_why(build, reason):
    bench = Bench()
    bench.m.table = pyo.Param(bench.m.t, initialize={0: 1, 1: 2})
    bench.m.rule = pyo.Param(bench.m.t, initialize=lambda m, t: t)
    with pytest.raises(Untraceable, match=reason):
        bench.row(build)


# ---- shared functions ------------------------------------------------------------------------------------------------


def test_coefficients_share_their_functions():
    bench, basis = Bench(), Basis()
    weights = [
        basis.weights(bench.row(lambda m, t, s, k=k: (k + 2 * t - 3 * t**2) * m.x[0]).coefficients[0])
        for k in range(50)
    ]
    combined = basis.combine(weights)
    assert combined.shape == (50,)
    assert [str(f) for f in combined.args[0].args] == ["1", "t", "t²"]
    assert weights[7] == {0: 7.0, 1: 2.0, 2: -3.0}


def test_only_sums_are_rounded_as_sums():
    """Numbers are enclosed by themselves, multiples of one function as those of the language."""
    bench, basis = Bench(), Basis()
    t, s = bench.indices
    values = [0.1, np.exp(t) * 0.3, 1e6 + t * s, 7.0, -np.exp(t), np.exp(t) - 2.0 * s, np.cos(t)]
    combined = basis.combine([basis.weights(v) for v in values])
    boxes = Interval(POINTS - 1e-9, POINTS + 1e-9)
    found, plain = (
        Tape((e,), bench.indices)._run(Pass(boxes, 0, {t: 0, s: 1}))[0].value
        for e in (combined, Join(tuple(as_expression(v) for v in values)))
    )
    width, least = found.hi - found.lo, plain.hi - plain.lo
    assert (found.lo <= plain.hi).all()
    assert (found.hi >= plain.lo).all()
    assert (width[:, [0, 3]] == 0).all()
    assert (width[:, [1, 4, 6]] <= least[:, [1, 4, 6]] + 4 * np.spacing(np.abs(plain.hi[:, [1, 4, 6]]))).all()


@pytest.mark.parametrize(
    ("build", "weights"),
    [
        (lambda m, t, s: 0.1 * (0.3 * t) * m.x[0], [0.1]),  # of 0.3 t: the product of the numbers would be rounded
        (lambda m, t, s: (0.1 * t + 0.2 * t) * m.x[0], [1.0]),  # and so would their sum
        (lambda m, t, s: 0.1 * (0.3 + t) * m.x[0], [1.0]),
        (lambda m, t, s: (0.1 * t - (s - 0.3)) * m.x[0], [0.1, -1.0, 0.3]),
    ],
)
def test_no_number_is_rounded_to_share_a_function(build, weights):
    found = Basis().weights(Bench().row(build).coefficients[0])
    assert sorted(found.values()) == sorted(weights)


# ---- random formulas -------------------------------------------------------------------------------------------------

SMOOTH = [pyo.sin, pyo.cos, pyo.tanh, pyo.atan, abs, lambda u: pyo.exp(-(u**2)), lambda u: pyo.sqrt(1 + u**2)]


def formulas(depth: int = 4):
    """Functions (m, t, s) -> a Pyomo expression in the indices and a Param, defined everywhere."""
    leaves = st.one_of(
        st.sampled_from([lambda m, t, s: t, lambda m, t, s: s, lambda m, t, s: m.p, lambda m, t, s: m.e]),
        st.floats(-3, 3).map(lambda c: lambda m, t, s: c),
    )

    def grow(inner):
        pairs = st.tuples(inner, inner)
        return st.one_of(
            pairs.map(lambda f: lambda m, t, s: f[0](m, t, s) + f[1](m, t, s)),
            pairs.map(lambda f: lambda m, t, s: f[0](m, t, s) - f[1](m, t, s)),
            pairs.map(lambda f: lambda m, t, s: f[0](m, t, s) * f[1](m, t, s)),
            pairs.map(lambda f: lambda m, t, s: f[0](m, t, s) / (1 + f[1](m, t, s) ** 2)),
            st.tuples(st.sampled_from(SMOOTH), inner).map(lambda f: lambda m, t, s: f[0](f[1](m, t, s))),
            pairs.map(lambda f: lambda m, t, s: pyo.Expr_if(t <= 0.45 + 0 * m.p, f[0](m, t, s), f[1](m, t, s))),
        )

    return st.recursive(leaves, grow, max_leaves=2**depth)


@settings(max_examples=80, deadline=None, derandomize=True)
@given(formulas(), formulas(), formulas())
def test_random_formulas_have_the_same_values_through_both(a, b, c):
    bench = Bench()

    def build(m, t, s):
        return a(m, t, s) * m.x[0] + (m.x[1] + c(m, t, s)) * b(m, t, s)

    wanted = bench.wanted(build)
    scale = 1 + np.abs(wanted).max()
    np.testing.assert_allclose(bench.values(build), wanted, rtol=1e-9, atol=1e-9 * scale)
