"""Evaluating some elements only gives what evaluating all of them and picking would have given."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import lsip
from lsip.expressions.graph import as_expression
from lsip.expressions.lanes import enclose_lanes, evaluate_lanes
from lsip.expressions.tape import Tape

from .strategies import REACH, Formula, formulas


@st.composite
def outputs(draw: Any, smooth: bool = False) -> list[Formula]:
    """Several formulas of one index: they share a graph."""
    first = draw(formulas(shape=None, smooth=smooth, jumps=False))
    options = {"dim": first.dim, "scalar": first.scalar, "smooth": smooth, "jumps": False, "depth": 2}
    return [first, draw(formulas(shape=None, **options)), draw(formulas(shape=(), **options))]


def tape_of(parts: list[Formula]) -> Tape:
    index = parts[0].index()
    return Tape(tuple(as_expression(f(index)) for f in parts), (index,))


def points_and_lanes(tape: Tape, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    n, s = rng.integers(1, 6), rng.integers(1, 5)
    return rng.uniform(-REACH, REACH, (n, tape.dim)), rng.integers(0, sum(tape.sizes), (n, s))


@settings(max_examples=100)
@given(outputs(), st.integers(0, 1000), st.sampled_from([0, 1, 2]))
def test_values_and_derivatives_of_lanes(parts: list[Formula], seed: int, order: int) -> None:
    tape = tape_of(parts)
    y, lanes = points_and_lanes(tape, seed)
    picked = evaluate_lanes(tape, y, lanes, order)
    for got, all_of_them in zip(picked, tape.derivatives(y, order), strict=True):
        where = np.broadcast_to(lanes, (*all_of_them.shape[:-2], *lanes.shape))
        expected = np.take_along_axis(all_of_them, where, axis=-1)
        assert got.shape == expected.shape
        bound = 1 + max(p.bound for p in parts)
        np.testing.assert_allclose(got, expected, rtol=1e-11, atol=1e-12 * bound)


@settings(max_examples=100)
@given(outputs(smooth=True), st.integers(0, 1000))
def test_enclosures_of_lanes(parts: list[Formula], seed: int) -> None:
    tape = tape_of(parts)
    assume(not tape.kink_count)
    y, lanes = points_and_lanes(tape, seed)
    box = enclose_lanes(tape, y, y, lanes)
    values = np.take_along_axis(tape.values(y), lanes, axis=1)
    assert box.lo.shape == box.hi.shape == lanes.shape
    assert not (values < box.lo).any(), parts
    assert not (values > box.hi).any(), parts
    whole = tape.enclose(y, y)
    np.testing.assert_allclose(box.lo, np.take_along_axis(whole.lo, lanes, axis=1), rtol=1e-11, atol=1e-9)
    np.testing.assert_allclose(box.hi, np.take_along_axis(whole.hi, lanes, axis=1), rtol=1e-11, atol=1e-9)


@settings(max_examples=20)
@given(st.integers(0, 1000))
def test_chosen_rows_of_a_family_with_many(seed: int) -> None:
    """Rows are picked one a point; a family with many of them takes another way to the same numbers."""
    rng = np.random.default_rng(seed)
    count, m = 300, int(rng.integers(1, 4))
    y = lsip.Index("y", lsip.Box([-1] * m, [1] * m))
    centres, x = rng.uniform(-1, 1, (count, m)), lsip.Variable(count, name="x")
    hills = np.exp(-((y - centres) ** 2).sum(axis=-1))
    shared = lsip.Variable(name="z")
    body = hills * x + shared * np.cos(y[0]) - x[::-1] * (1 + y[-1] ** 2)
    program = lsip.Problem(lsip.minimize(shared), [lsip.forall(y, body <= np.sin(centres @ y))]).compile()
    family, points = program.families[0], rng.uniform(-1, 1, (7, m))
    component = rng.integers(0, count, 7)
    violation = program.violation(0, rng.normal(size=count + 1))
    np.testing.assert_allclose(
        violation.at(points, component), violation.values(points)[np.arange(7), component], atol=1e-12
    )
    a, b = family.rows(points)
    low, right = family.enclosed(points, points, component)
    picked = a[np.arange(7), component], b[np.arange(7), component]
    for box, value in zip((low, right), picked, strict=True):
        assert (box.lo <= value).all()
        assert (value <= box.hi).all()
        np.testing.assert_allclose(box.hi - box.lo, 0, atol=1e-13)
    derivatives = violation.derivatives(points, component)
    assert derivatives is not None
    value, gradient, hessian = derivatives
    np.testing.assert_allclose(value, violation.at(points, component), atol=1e-12)
    h = 1e-5
    for i, e in enumerate(np.eye(m)):
        slope = (violation.at(points + h * e, component) - violation.at(points - h * e, component)) / (2 * h)
        np.testing.assert_allclose(gradient[:, i], slope, atol=1e-7)
        ahead, behind = (violation.derivatives(points + s * h * e, component)[1] for s in (1, -1))
        np.testing.assert_allclose(hessian[:, i], (ahead - behind) / (2 * h), atol=1e-6)


def test_scalars_that_differ_in_constants_are_one_array() -> None:
    """Formulas that a loop makes are computed side by side, with the values that each has by itself."""
    t = lsip.Index("t", lsip.Interval(0, 1))
    alone = [np.sin((3 + i / 7) * t) - i * t**2 / (1 + t) for i in range(40)]
    others = [np.cos(t), 1 + 0 * t, np.cos(t), abs(t - 0.3), abs(t - 0.4)]
    whole = Tape((np.stack([*alone, *others]),), (t,))
    assert len(whole.steps) < 40
    points = np.linspace(0, 1, 9)[:, None]
    found = whole.enclose(points[:-1], points[1:])
    for i, each in enumerate([*alone, *others]):
        tape = Tape((each,), (t,))
        np.testing.assert_array_equal(whole.values(points)[:, i], tape.values(points)[:, 0])
        box = tape.enclose(points[:-1], points[1:])
        np.testing.assert_array_equal(found.lo[:, i], box.lo[:, 0])
        np.testing.assert_array_equal(found.hi[:, i], box.hi[:, 0])
    lanes = np.array([[3, 39], [40, 44], [7, 7]])
    values = evaluate_lanes(whole, points[:3], lanes, 2)[0]
    np.testing.assert_array_equal(values, np.take_along_axis(whole.values(points[:3]), lanes, axis=1))


def test_a_chain_of_thousands_of_operations_does_not_recurse() -> None:
    t = lsip.Index("t", lsip.Interval(0, 1))
    u = t * np.linspace(0, 1, 40)
    for _ in range(3_000):
        u = np.sin(u) + 1
    tape, y = Tape((u,), (t,)), np.linspace(0, 1, 7)[:, None]
    lanes = np.arange(7)[:, None]
    value, *_ = evaluate_lanes(tape, y, lanes, 1)
    assert value == pytest.approx(np.take_along_axis(tape.values(y), lanes, axis=1))
