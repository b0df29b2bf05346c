"""Boxes without enclosures, and the heap of the kernel: bounds are those of NumPy, and nothing depends on the clock."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import lsip
from benchmarks.kernel import STEPS, Y
from lsip.deadline import EFFORT, PaceTuning
from lsip.kernel import native
from lsip.oracles import BranchAndBound, box_search, compiled_search, partition
from lsip.oracles.base import unscaled
from lsip.oracles.compiled_search import Limits, again, search
from lsip.oracles.partition import BoxPartition
from lsip.oracles.taylor import Taylor

pytestmark = pytest.mark.skipif(not native.in_use(), reason="there is no compiled kernel")
NEVER = float("inf")


@st.composite
def formulas(draw: st.DrawFn) -> lsip.Expression:
    """A random formula in two coordinates, and all that it is made of."""
    parts = [Y[0], Y[1], 0.7 * Y[0] + Y[1], Y[0] - 0.3]
    for step in draw(st.lists(st.sampled_from(STEPS), min_size=1, max_size=8)):
        parts.append(step(draw(st.sampled_from(parts)), draw(st.sampled_from(parts))))
    return np.stack(parts[3:])


def rows_of(formula: lsip.Expression, p: int, y: lsip.Index = Y) -> Any:
    """A family of p rows with the elements of a formula as coefficients."""
    k = formula.size // p
    x = lsip.Variable(k, name="x")
    table = formula[: p * k].reshape(p, k)
    rhs = np.sin(y.sum()) * np.ones(p)
    return lsip.Problem(lsip.minimize(x[0]), [lsip.forall(y, table @ x <= rhs)]).compile().families[0]


def waves(m: int, seed: int = 0) -> tuple[Any, Any]:
    """Three rows of cosines over a box of m coordinates, weights, and a goal that takes some thousand boxes."""
    y = lsip.Index("y", lsip.Box(np.zeros(m), np.ones(m)))
    rng = np.random.default_rng(seed)
    formula = np.cos(3 * (rng.normal(size=(9, m)) @ y) + rng.normal(size=9))
    family = rows_of(formula, 3, y)
    return family, rng.normal(size=(3, 4))


def anew(family: Any, order: int) -> Any:
    """The first boxes, enclosed for all weights anew."""
    return BoxPartition(Taylor(family, family.domain.cells()[0], order, kept=False))


def searched(family: Any, weights: Any, order: int = 3, most: int = 4000, room: int = 10**5) -> tuple[Any, float, Any]:
    """A search from the first boxes on, its goal, and how many boxes it enclosed and split."""
    cover = anew(family, order)
    bound = again(cover, cover.bounder, weights, None, NEVER)[0]
    goal = float(np.quantile(bound.max(axis=1), 0.05)) - 2.0
    found = search(cover, cover.bounder, weights, None, Limits(goal, NEVER, room, most, NEVER))
    assert found[1]
    return cover, goal, found


@settings(max_examples=40, deadline=None)
@given(formulas(), st.integers(0, 10**6), st.integers(1, 2), st.sampled_from([2, 3]), st.booleans())
@np.errstate(all="ignore")  # as in a solve
def test_bounds_are_those_of_numpy_and_hold(
    formula: lsip.Expression, seed: int, p: int, order: int, uncertain: bool
) -> None:
    family, rng = rows_of(formula, p), np.random.default_rng(seed)
    cell = family.domain.cells()[0]
    assume(Taylor(family, cell).tape is not None)  # no kinks
    weights = rng.normal(size=(p, formula.size // p + 1))
    spread = 1e-3 * rng.random(weights.shape) if uncertain else None
    bare, whole = anew(family, order), BoxPartition(Taylor(family, cell, order))
    bound, points, *_ = bare.bounds(weights, slice(None), spread)
    with native.by_reference():  # from the same enclosures
        other = whole.bounds(weights, slice(None), spread)
        assert other is not None
        kept, made = BoxPartition(Taylor(family, cell, order)), anew(family, order)  # both enclosed by NumPy
        assert np.array_equal(
            made.bounds(weights, slice(None), spread)[0], kept.bounds(weights, slice(None), spread)[0]
        )
        assert np.array_equal(made.boxes()["pays"], kept.bounder.influence(kept.boxes(), weights))
    assert np.allclose(bound, other[0], rtol=1e-7, atol=1e-9, equal_nan=True)
    assert (points >= whole.lower[:, None]).all()
    assert (points <= whole.upper[:, None]).all()
    assert np.allclose(whole.bounder.influence(whole.boxes(), weights), bare.boxes()["pays"], rtol=1e-7, atol=1e-9)
    y = whole.lower + rng.random((30, whole.n, 2)) * (whole.upper - whole.lower)
    flat = family.source.tape.values(y.reshape(-1, 2)).reshape(30, whole.n, -1)
    k = formula.size // p
    moved = weights if spread is None else weights + spread * rng.choice([-1.0, 1.0], size=weights.shape)
    value = (flat[..., : p * k].reshape(30, -1, p, k) * moved[:, :-1]).sum(axis=-1) + flat[..., p * k :] * moved[:, -1]
    assert not (value > bound + 1e-12 * (1 + np.abs(value))).any()


@pytest.mark.parametrize(("m", "order"), [(2, 2), (2, 3), (3, 3), (3, 2)])
def test_a_search_cuts_boxes_into_parts_with_the_bounds_that_they_have(m: int, order: int) -> None:
    family, weights = waves(m)
    cover, goal, found = searched(family, weights, order)
    bounds = cover.boxes()["bound"]
    assert cover.n == len(bounds) > 500
    assert np.prod(cover.upper - cover.lower, axis=1).sum() == pytest.approx(1.0, rel=1e-12)
    assert np.array_equal(cover.bounds(weights)[0], bounds)
    assert found[0] >= 4000 or (bounds <= goal).all()


def test_the_largest_bounds_are_split_first(monkeypatch: pytest.MonkeyPatch) -> None:
    few = replace(EFFORT, unwatched=5 << partition.TUNING.most_halvings)
    monkeypatch.setattr(compiled_search, "EFFORT", few)
    family, weights = waves(2)
    cover = searched(family, weights, most=1)[0]  # one batch
    first = anew(family, 3)
    height = first.bounds(weights)[0].max(axis=1)
    ends = {(*low, *high) for low, high in zip(cover.lower.tolist(), cover.upper.tolist(), strict=True)}
    whole = [(*low, *high) in ends for low, high in zip(first.lower.tolist(), first.upper.tolist(), strict=True)]
    assert np.array_equal(np.flatnonzero(~np.array(whole)), np.sort(np.argsort(-height)[:5]))


@pytest.mark.parametrize("threads", [1, 3])
def test_neither_threads_nor_the_clock_change_anything(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    family, weights = waves(3)
    first, _, one = searched(family, weights)
    monkeypatch.setattr(native, "cores", lambda: threads)
    monkeypatch.setattr(native, "TUNING", native.KernelTuning(share=1.0))
    monkeypatch.setattr(compiled_search, "PACE", PaceTuning(every=0.0))  # it comes back after every batch
    second, _, other = searched(family, weights)
    assert one == other
    assert np.array_equal(first.lower, second.lower)
    assert np.array_equal(first.boxes()["bound"], second.boxes()["bound"])


def test_there_are_never_more_boxes_than_allowed() -> None:
    family, weights = waves(2)
    for room in (3, 100, 2000):
        cover = searched(family, weights, most=10**9, room=room)[0]
        began = anew(family, 3).n
        assert began < cover.n <= began + room
        assert cover.n > began + room - 3


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.floats(-12, 0), st.booleans())
def test_bounds_that_are_kept_for_another_x_hold(seed: int, exponent: float, uncertain: bool) -> None:
    """What is not bounded anew is no less than what bounding anew would prove at least: values that are attained."""
    family, weights = waves(2, seed % 7)
    cover = searched(family, weights, most=500)[0]
    alert = float(np.median(cover.boxes()["bound"].max(axis=1))) + 0.1
    rng = np.random.default_rng(seed)
    other = weights + 10.0**exponent * rng.normal(size=weights.shape)
    spread = 10.0 ** (exponent - 1) * rng.random(weights.shape) if uncertain else None
    bound, points, *_ = again(cover, cover.bounder, other, spread, alert)
    assert len(points) <= cover.n
    assert exponent > -6 or len(points) < 0.6 * cover.n  # most are kept
    y = cover.lower + rng.random((20, cover.n, 2)) * (cover.upper - cover.lower)
    flat = family.source.tape.values(y.reshape(-1, 2)).reshape(20, cover.n, -1)
    moved = other if spread is None else other + spread * rng.choice([-1.0, 1.0], size=other.shape)
    value = (flat[..., :9].reshape(20, -1, 3, 3) * moved[:, :-1]).sum(axis=-1) + flat[..., 9:] * moved[:, -1]
    assert not (value > bound + 1e-13 * (1 + np.abs(value))).any()


def hills(m: int, height: float) -> Any:
    """A violation with ridges of height 1 that nearly touch the given height all along: proofs take many boxes."""
    y = lsip.Index("y", lsip.Box(np.zeros(m), np.ones(m)))
    x = lsip.Variable(2, name="x")
    wild = np.cos(9 * y.sum()) * np.exp(-0.01 * y[0])
    program = lsip.Problem(lsip.minimize(x[0]), [lsip.forall(y, x[0] + x[1] * np.sin(y[0]) >= wild)]).compile()
    return program.violation(0, np.array([height, 0.0]))


@pytest.mark.parametrize(("m", "height"), [(2, 1 - 1e-6), (2, 1 + 1e-7), (2, 1 + 1e-6), (3, 1 - 1e-7), (3, 1 - 1e-3)])
def test_verdicts_are_those_of_numpy(m: int, height: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(box_search, "TUNING", replace(box_search.TUNING, crowded=20))
    violation = hills(m, height)
    oracle = BranchAndBound()
    found = oracle.maximise(violation)
    kept = violation.family.memory.take(violation.family, violation.domain)
    assert not any(cell.bounder.kept for cell in kept.cells)
    with native.by_reference():
        other = oracle.maximise(violation)
    assert (found.bound <= 0) == (other.bound <= 0)
    assert (found.values[0] > 0) == (other.values[0] > 0)
    assert found.bound >= other.values[0]
    assert other.bound >= found.values[0]


def leaves(violation: Any, target: float) -> Any:
    """The boxes that a whole search ends with, sorted by their corners, and their bounds."""
    family = violation.family
    cells = [BoxPartition(Taylor(family, cell, 2, kept=False)) for cell in violation.domain.flat_cells()]
    search = box_search.BoxSearch(violation, unscaled(violation), cells, target, BranchAndBound())
    search.run()
    (cell,) = search.partitions
    order = np.lexsort(np.concatenate([cell.lower, cell.upper], axis=1).T)
    return cell.lower[order], cell.upper[order], search.bounds[0][order]


@pytest.mark.parametrize("m", [2, 3])
@pytest.mark.parametrize("seed", range(3))
def test_both_hosts_split_the_same_boxes(m: int, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The path is the same bit for bit, where enclosures and the number of cuts in a round are.

    Sums of monomials are enclosed alike. Of other formulas the kernel knows quadratics that are carried from node to
    node, too, and has functions of its own. Where rounds are cheap, NumPy cuts a box more often in one of them, and it
    splits all open boxes of a round, of which the kernel takes the 256 with the largest bounds. A coordinate along
    which a quadratic only just rises or falls throughout may be taken either way: on boxes at the origin, many do.
    """
    monkeypatch.setattr(partition, "TUNING", replace(partition.TUNING, cheap=1))
    rng, y = np.random.default_rng(seed), lsip.Index("y", lsip.Box(np.full(m, 0.3), np.full(m, 1.3)))
    powers = rng.integers(0, 4, size=(12, m)).astype(float)
    basis, x = np.prod(y**powers, axis=-1), lsip.Variable(12, name="x")
    program = lsip.Problem(lsip.minimize(x[0]), [lsip.forall(y, basis @ x <= 0)]).compile()
    violation = program.violation(0, rng.normal(size=12))
    top = violation.values(violation.domain.grid(61)).max()
    found = leaves(violation, target := float(top) + 3e-3)
    with native.by_reference():
        other = leaves(violation, target)
    assert len(found[0]) > 2 ** (m + 1)
    assert (found[2] <= target).all()
    for mine, theirs in zip(found[:2], other[:2], strict=True):
        assert np.array_equal(mine, theirs)
    assert np.allclose(found[2], other[2], rtol=1e-9, atol=1e-9)


def test_time_is_kept() -> None:
    violation = hills(3, 2.0)
    found = BranchAndBound(seconds=0.0).maximise(violation)
    assert found.bound >= found.values[0]


@settings(max_examples=60, deadline=None)
@given(formulas(), st.data())
def test_a_tape_of_some_outputs_computes_what_the_whole_one_does(formula: lsip.Expression, data: st.DataObject) -> None:
    """Enclosures of chosen numbers are the same, bit for bit, whichever others are left out."""
    tape = rows_of(formula, 1).source.tape
    assume(tape.instructions is not None and not tape.kink_count)
    count = tape.native.outputs
    outputs = np.array(sorted(data.draw(st.sets(st.integers(0, count - 1), min_size=1))))
    few = tape.instructions.only(outputs).native()
    lower = np.random.default_rng(0).random((5, 2)) * 0.5
    for order in (2, 3):
        whole, part = (each.quadratics(lower, lower + 0.25, None, order)[0] for each in (tape.native, few))
        for a, b in zip(whole, part, strict=True):
            np.testing.assert_array_equal(a[..., outputs], b)


def test_columns_without_weight_are_left_out_of_a_search() -> None:
    """Of forty columns three have weight: bounds are those of a family that has no others."""
    centres = np.random.default_rng(1).random((40, 2))
    x, few = lsip.Variable(40, name="x"), np.array([3, 17, 30])

    def family(places: Any) -> Any:
        bumps = np.exp(-20 * ((Y - centres[places]) ** 2).sum(axis=-1))
        return lsip.Problem(lsip.minimize(x[0]), [lsip.forall(Y, bumps @ x[places] <= 3)]).compile().families[0]

    weights = np.zeros((1, 41))
    weights[0, [*few, 40]] = 1.0, -2.0, 1.5, -3.0
    wide, narrow = anew(family(np.arange(40)), 3), anew(family(few), 3)
    tape, scaled = wide.bounder.narrowed(weights, None)
    assert tape.outputs == 4
    assert scaled.weights.shape == (1, 4)
    boxes = narrow.lower, narrow.upper
    known = BoxPartition(wide.bounder, boxes).bounds(weights)
    np.testing.assert_allclose(known.upper, narrow.bounds(weights[:, [*few, 40]]).upper, rtol=1e-12)
