"""Datasets: counting, files, sampling from a model, and the optimistic set that the data allow."""

from __future__ import annotations

from math import log, sqrt
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import lsip
import rl
from tests.strategies import Draw

T = lsip.Index("t", lsip.Interval(0, 1))


@st.composite
def transitions(draw: Draw, largest: int = 40) -> tuple[np.ndarray, int, int]:
    """A list of transitions (n, 3), with the numbers of states and actions."""
    states, actions, n = draw(st.integers(1, 4)), draw(st.integers(1, 3)), draw(st.integers(1, largest))
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    return rng.integers([states, actions, states], size=(n, 3)), states, actions


def chains(seed: int, states: int, actions: int) -> np.ndarray:
    """Transition probabilities, about a third of them zero."""
    rng = np.random.default_rng(seed)
    P = rng.random((states, actions, states)) * (rng.random((states, actions, states)) < 2 / 3)
    P[np.arange(states), :, np.arange(states)] += 0.1
    return P / P.sum(axis=2, keepdims=True)


def model(P: Any) -> rl.SICMDP:
    """A model with these transitions, in which nothing else matters."""
    states = P.shape[-1]
    return rl.SICMDP(P, np.zeros(states), np.ones(states) * T, 1.0, T)


# ---- counting --------------------------------------------------------------------------------------------------------


@given(transitions())
def test_counts_are_counts(case):
    seen, states, actions = case
    data = rl.Dataset.from_transitions(seen, states=states, actions=actions)
    expected = np.zeros((states, actions, states), dtype=int)
    for s, a, t in seen:
        expected[s, a, t] += 1
    np.testing.assert_array_equal(data.counts, expected)
    assert (data.states, data.actions, data.total) == (states, actions, len(seen))
    np.testing.assert_array_equal(data.visits, expected.sum(axis=2))
    tried = data.visits > 0
    np.testing.assert_allclose(data.frequencies[tried].sum(axis=1), 1)
    np.testing.assert_array_equal(data.frequencies[~tried], 0)
    np.testing.assert_allclose(data.frequencies * data.visits[:, :, None], expected)
    twice = data + data
    np.testing.assert_array_equal(twice.counts, 2 * expected)
    np.testing.assert_allclose(twice.frequencies, data.frequencies)


@given(transitions())
def test_rows_and_columns_say_the_same(case):
    seen, states, actions = case
    size = {"states": states, "actions": actions}
    by_row = rl.Dataset.from_transitions(seen, **size).counts
    as_lists = rl.Dataset.from_transitions([tuple(row) for row in seen.tolist()], **size).counts
    as_floats = rl.Dataset.from_transitions(seen.astype(float), **size).counts
    np.testing.assert_array_equal(as_lists, by_row)
    np.testing.assert_array_equal(as_floats, by_row)
    if len(seen) != 3:
        by_column = rl.Dataset.from_transitions(tuple(seen.T), **size).counts
        np.testing.assert_array_equal(by_column, by_row)


def test_three_arrays_of_three_are_columns():
    s, a, t = np.array([0, 1, 0]), np.array([0, 0, 1]), np.array([1, 1, 1])
    data = rl.Dataset.from_transitions((s, a, t), states=2, actions=2)
    assert data.counts[0, 0, 1] == data.counts[1, 0, 1] == data.counts[0, 1, 1] == 1


def test_no_transitions_are_a_dataset_too():
    data = rl.Dataset.from_transitions(np.zeros((0, 3), dtype=int), states=2, actions=1)
    assert data.total == 0
    assert str(data) == "Dataset of 0 transitions, 2 states, 1 actions, 2 pairs never tried"


def test_a_dataset_keeps_its_own_copy():
    counts = np.ones((2, 1, 2), dtype=np.int32)
    data = rl.Dataset(counts)
    counts[:] = 5
    assert data.total == 4
    assert data.counts.dtype == np.int64
    assert str(data) == "Dataset of 4 transitions, 2 states, 1 actions"


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        (np.ones((2, 2), dtype=int), r"`counts` must have shape \(S, A, S\); got \(2, 2\)"),
        (np.ones((2, 1, 3), dtype=int), r"`counts` must have shape \(S, A, S\); got \(2, 1, 3\)"),
        (np.zeros((0, 0, 0), dtype=int), r"got \(0, 0, 0\)"),
        (np.ones((2, 1, 2)), "`counts` must be nonnegative integers"),
        (-np.ones((2, 1, 2), dtype=int), "`counts` must be nonnegative integers"),
    ],
)
def test_wrong_counts_are_refused(counts, message):
    with pytest.raises(lsip.ModelError, match=message):
        rl.Dataset(counts)


@pytest.mark.parametrize(
    ("seen", "message"),
    [
        ([(0, 0, 1), (0, 0, 2)], r"Transition 1 is \(0, 0, 2\); states run from 0 to 1, actions .*0"),
        ([(0, 0, 1), (0, 1, 0)], r"Transition 1 is \(0, 1, 0\)"),
        ([(0, 0, 1), (1, 0, 1), (-1, 0, 0)], r"Transition 2 is \(-1, 0, 0\)"),
        ([(0, 0.5, 1)], "`transitions` must hold integers"),
        ([(0, 0)], r"`transitions` must have shape \(n, 3\), rows \(s, a, s'\); got \(1, 2\)"),
        ([(0, 0, 1), (0, 0)], r"`transitions` must be an array \(n, 3\)"),
        (([0, 1], [0], [1, 1]), r"`transitions` must be an array \(n, 3\)"),
        ([0, 0, 1], r"got \(3,\)"),
        ([], r"got \(0,\)"),
    ],
)
def test_wrong_transitions_are_refused(seen, message):
    with pytest.raises(lsip.ModelError, match=message):
        rl.Dataset.from_transitions(seen, states=2, actions=1)


@pytest.mark.parametrize("shape", [(1, 2, 1), (3, 2, 3)])
def test_datasets_of_different_models_do_not_add(shape):
    with pytest.raises(lsip.ModelError, match="states"):
        _ = rl.Dataset(np.ones((2, 2, 2), dtype=int)) + rl.Dataset(np.ones(shape, dtype=int))


# ---- files -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("header", ["", "s,a,s_next\n", "state, action, next state\n"])
def test_csv_round_trip(tmp_path, header):
    rng = np.random.default_rng(0)
    seen = rng.integers([4, 2, 4], size=(50, 3))
    path = tmp_path / "data.csv"
    path.write_text(header + "\n".join(",".join(map(str, row)) for row in seen.tolist()) + "\n", encoding="utf-8")
    for name in (path, str(path)):
        data = rl.Dataset.from_csv(name, states=4, actions=2)
        np.testing.assert_array_equal(data.counts, rl.Dataset.from_transitions(seen, states=4, actions=2).counts)


def test_csv_with_blanks(tmp_path):
    path = tmp_path / "data.csv"
    path.write_bytes(b" 0 , 0 , 1 \r\n\r\n1,0,0\r\n\r\n")
    data = rl.Dataset.from_csv(path, states=2, actions=1)
    assert data.counts.tolist() == [[[0, 1]], [[1, 0]]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0,0,1\nx,0,0\n", r"data.csv, line 2: three integers s, a, s' expected; got 'x,0,0'"),
        ("s,a,t\n\n0,0,1\n0,0.5,0\n", "line 4: three integers.* got '0,0.5,0'"),
        ("0,0\n", "line 1: three integers.* got '0,0'"),
        ("0,0,1\n0,0,1,2\n", "line 2: three integers.* got '0,0,1,2'"),
        ("", "data.csv holds no transition"),
        ("s,a,t\n", "data.csv holds no transition"),
        ("0,0,1\n1,0,0\n0,0,2\n", r"line 3: .0,0,2. is out of range"),
    ],
)
def test_wrong_files_are_refused_by_line(tmp_path, text, message):
    path = tmp_path / "data.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(lsip.ModelError, match=message):
        rl.Dataset.from_csv(path, states=2, actions=1)


def test_files_that_cannot_be_read_are_named(tmp_path):
    with pytest.raises(lsip.ModelError, match=r"absent.csv cannot be read: No such file"):
        rl.Dataset.from_csv(tmp_path / "absent.csv", states=2, actions=1)


@pytest.mark.parametrize("first", ["0,0,x", "0,0,0.5"])
def test_a_first_line_with_numbers_is_no_header(tmp_path, first):
    path = tmp_path / "data.csv"
    path.write_text(f"{first}\n1,0,0\n", encoding="utf-8")
    with pytest.raises(lsip.ModelError, match="line 1"):
        rl.Dataset.from_csv(path, states=2, actions=1)


def test_a_byte_order_mark_is_no_header(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("0,0,1\n1,0,0\n", encoding="utf-8-sig")
    assert rl.Dataset.from_csv(path, states=2, actions=1).total == 2


def test_states_out_of_range_are_named_by_line(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("s,a,t\n\n0,0,1\n0,0,2\n", encoding="utf-8")
    with pytest.raises(lsip.ModelError, match="line 4"):
        rl.Dataset.from_csv(path, states=2, actions=1)


def test_files_that_are_not_text_are_refused(tmp_path):
    path = tmp_path / "data.csv"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(lsip.ModelError, match="cannot be read"):
        rl.Dataset.from_csv(path, states=2, actions=1)


# ---- sampling --------------------------------------------------------------------------------------------------------


@given(st.integers(0, 1000), st.integers(1, 5), st.integers(1, 3), st.integers(1, 50))
def test_every_pair_gets_its_samples(seed, states, actions, per_pair):
    P = chains(seed, states, actions)
    mdp = model(P)
    data = mdp.sample(per_pair=per_pair, seed=seed)
    assert (data.visits == per_pair).all()
    assert (data.counts[P == 0] == 0).all()
    again, thin = mdp.sample(per_pair=per_pair, seed=seed), model(sparse.csr_matrix(P.reshape(-1, states)))
    np.testing.assert_array_equal(again.counts, data.counts)
    np.testing.assert_array_equal(thin.sample(per_pair=per_pair, seed=seed).counts, data.counts)


@given(st.integers(0, 1000), st.integers(1, 5), st.integers(1, 3), st.integers(1, 200))
def test_pairs_are_drawn_from_the_measure(seed, states, actions, n):
    P = chains(seed, states, actions)
    rng = np.random.default_rng(seed)
    measure = rng.random((states, actions)) * (rng.random((states, actions)) < 0.5) + 1e-3 * np.eye(states, actions)
    measure /= measure.sum()
    mdp = model(P)
    data = mdp.sample(n, measure=measure, seed=seed)
    assert data.total == n
    assert (data.visits[measure == 0] == 0).all()
    assert (data.counts[P == 0] == 0).all()
    np.testing.assert_array_equal(mdp.sample(n, measure=measure, seed=seed).counts, data.counts)
    assert mdp.sample(n, seed=seed).total == n


def test_seeds_and_generators():
    mdp = model(chains(1, 4, 2))
    a, b, c = (mdp.sample(per_pair=50, seed=s).counts for s in (1, 1, 2))
    assert (a == b).all()
    assert (a != c).any()
    rng = np.random.default_rng(1)
    first, second = mdp.sample(per_pair=50, seed=rng).counts, mdp.sample(per_pair=50, seed=rng).counts
    assert (first == a).all()
    assert (first != second).any()


def test_large_models_are_sampled_in_blocks():
    states = 700
    P = sparse.csr_matrix(np.roll(np.repeat(np.eye(states), 2, axis=0), 1, axis=1))
    data = model(P).sample(per_pair=3, seed=0)
    assert (data.visits == 3).all()
    assert (data.counts[np.arange(states), :, (np.arange(states) + 1) % states] == 3).all()


def test_frequencies_are_unbiased():
    P = chains(2, 3, 2)
    mdp, repeats, per_pair = model(P), 400, 5
    mean = np.mean([mdp.sample(per_pair=per_pair, seed=s).frequencies for s in range(repeats)], axis=0)
    deviation = np.sqrt(P * (1 - P) / (repeats * per_pair))
    assert (np.abs(mean - P) <= 4 * deviation).all()


def test_visits_follow_the_measure():
    P, n = chains(3, 3, 2), 100_000
    measure = np.array([[0.5, 0.1], [0.0, 0.2], [0.15, 0.05]])
    data = model(P).sample(n, measure=measure, seed=0)
    assert (np.abs(data.visits - n * measure) <= 4 * np.sqrt(n * measure * (1 - measure))).all()
    tried = measure > 0
    spread = np.sqrt(P * (1 - P) / np.maximum(data.visits, 1)[:, :, None])
    assert (np.abs(data.frequencies - P) <= 4 * spread)[tried].all()
    uniform = model(P).sample(n, seed=0).visits
    assert (np.abs(uniform - n / 6) <= 4 * np.sqrt(n / 6 * 5 / 6)).all()


# ---- the optimistic set ----------------------------------------------------------------------------------------------


@given(transitions(), st.floats(1e-6, 0.999), st.sampled_from(["pair", "triple"]))
def test_the_radius_is_the_smaller_of_two_bounds(case, delta, denominator):
    seen, states, actions = case
    data = rl.Dataset.from_transitions(seen, states=states, actions=actions)
    optimistic = data.optimistic_set(delta, denominator=denominator)
    if states == 1:  # the only distribution that there is
        assert (optimistic.lower == 1).all()
        assert (optimistic.upper == 1).all()
        return
    for s in range(states):
        for a in range(actions):
            pair = sum(1 for row in seen if (row[0], row[1]) == (s, a))
            for t in range(states):
                triple = sum(1 for row in seen if tuple(row) == (s, a, t))
                n = pair if denominator == "pair" else triple
                p = triple / pair if pair else 0.0
                low, high = optimistic.lower[s, a, t], optimistic.upper[s, a, t]
                if n == 0:
                    assert (low, high) == (0, 1)
                    continue
                bernstein = sqrt(2 * p * (1 - p) * log(4 / delta) / n) + 4 * log(4 / delta) / n
                hoeffding = sqrt(log(2 / delta) / (2 * n))
                radius = min(bernstein, hoeffding)
                assert optimistic.radius[s, a, t] == pytest.approx(radius, rel=1e-12)
                assert low == pytest.approx(max(0.0, p - radius), abs=1e-12)
                assert high == pytest.approx(min(1.0, p + radius), abs=1e-12)
    assert optimistic.failure == pytest.approx(min(1.0, 2 * states**2 * actions * delta))
    tried = data.visits > 0
    inside = np.where(tried[:, :, None], data.frequencies, 1 / states)
    assert optimistic.contains(inside)


@given(st.integers(0, 500), st.integers(5, 60))
@settings(max_examples=20)
def test_less_confidence_gives_a_smaller_set(seed, per_pair):
    data = model(chains(seed, 3, 2)).sample(per_pair=per_pair, seed=seed)
    wide, narrow = data.optimistic_set(0.001), data.optimistic_set(0.1)
    assert (narrow.radius <= wide.radius).all()
    more = rl.Dataset(100 * data.counts).optimistic_set(0.1)
    assert (more.radius < narrow.radius).all()


def test_impossible_transitions_stay_impossible():
    counts = np.array([[[3, 0, 0]], [[0, 0, 0]], [[1, 1, 1]]])
    possible = np.array([[[True, True, False]], [[False, True, True]], [[True, True, True]]])
    plain = rl.Dataset(counts).optimistic_set(0.1)
    known = rl.Dataset(counts, possible).optimistic_set(0.1)
    assert (known.upper[~possible] == 0).all()
    np.testing.assert_array_equal(known.upper[possible], plain.upper[possible])
    np.testing.assert_array_equal(known.lower[possible], plain.lower[possible])
    doubled = rl.Dataset(counts, possible) + rl.Dataset(counts)
    assert (doubled.optimistic_set(0.1).upper[~possible] == 0).all()


@pytest.mark.parametrize("possible", [np.ones((2, 2), dtype=bool), np.zeros((2, 1, 2), dtype=bool)])
def test_what_was_seen_must_be_possible(possible):
    with pytest.raises(lsip.ModelError, match="`possible` must have the shape of `counts` and allow every transition"):
        rl.Dataset(np.ones((2, 1, 2), dtype=int), possible)


def test_sums_keep_what_either_knows():
    counts, possible = np.array([[[3, 0]], [[1, 1]]]), np.array([[[True, False]], [[True, True]]])
    both = rl.Dataset(counts) + rl.Dataset(counts, possible)
    assert both.optimistic_set(0.1).upper[0, 0, 1] == 0


@pytest.mark.parametrize("per_pair", [1, 5, 50])
def test_the_true_model_is_inside_at_the_promised_rate(per_pair):
    states, actions = 3, 2
    delta = 0.5 / (2 * states**2 * actions)
    mdp = model(chains(7, states, actions))
    sets = [mdp.sample(per_pair=per_pair, seed=s).optimistic_set(delta) for s in range(200)]
    assert sets[0].failure == pytest.approx(0.5)
    assert np.mean([m.contains(mdp.P) for m in sets]) >= 1 - sets[0].failure


def test_a_set_excludes_what_the_data_rule_out():
    data = rl.Dataset(np.array([[[1000, 1000]], [[0, 0]]]))
    optimistic = data.optimistic_set(0.01)
    assert optimistic.contains([[[0.5, 0.5]], [[0.9, 0.1]]])
    assert not optimistic.contains([[[0.6, 0.4]], [[0.9, 0.1]]])


def test_a_known_model_is_a_set_of_one():
    P = chains(0, 3, 2)
    known = rl.OptimisticSet.known(P)
    assert known.failure == 0
    assert known.contains(P)
    assert not known.contains(np.full(P.shape, 1 / 3))
    np.testing.assert_array_equal(known.lower, known.upper)


@pytest.mark.parametrize("delta", [0, 1, -0.5, np.nan])
def test_delta_is_a_probability(delta):
    with pytest.raises(lsip.ModelError, match=f"`delta` is a probability between 0 and 1; got {delta}"):
        rl.Dataset(np.ones((2, 1, 2), dtype=int)).optimistic_set(delta)


def test_the_denominator_is_one_of_two():
    with pytest.raises(lsip.ModelError, match='`denominator` is "pair" or "triple"; got \'state\''):
        rl.Dataset(np.ones((2, 1, 2), dtype=int)).optimistic_set(0.1, denominator="state")
