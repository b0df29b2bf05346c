"""Generalised advantages against closed forms and against their definition, with ends and cuts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rl.advantage import gae


def by_definition(rewards, values, last, gamma, trace, ended, cut, after) -> np.ndarray:
    """A_t = sum_k (gamma trace)^k delta_{t+k} up to the first end, cut or the last step, for one path."""
    T = len(rewards)
    found = np.zeros(T)
    for t in range(T):
        weight = 1.0
        for k in range(t, T):
            ahead = values[k + 1] if k + 1 < T else last
            ahead = 0.0 if ended[k] else after[k] if cut[k] else ahead
            found[t] += weight * (rewards[k] + gamma * ahead - values[k])
            weight *= gamma * trace
            if ended[k] or cut[k]:
                break
    return found


@given(
    st.integers(1, 8),
    st.integers(1, 3),
    st.sampled_from([0.0, 0.5, 0.9, 1.0]),
    st.sampled_from([0.0, 0.3, 0.95, 1.0]),
    st.integers(0, 10_000),
)
def test_gae_is_its_definition_path_by_path(T, paths, gamma, trace, seed):
    rng = np.random.default_rng(seed)
    rewards, values, after = rng.normal(size=(3, T, paths))
    last = rng.normal(size=paths)
    ended, cut = rng.random((2, T, paths)) < 0.25
    found = gae(rewards, values, last, gamma, trace, ended, cut, np.where(cut, after, np.nan))
    for i in range(paths):
        expected = by_definition(
            rewards[:, i], values[:, i], last[i], gamma, trace, ended[:, i], cut[:, i], after[:, i]
        )
        np.testing.assert_allclose(found[:, i], expected, atol=1e-12)
        one = gae(rewards[:, i], values[:, i], last[i], gamma, trace, ended[:, i], cut[:, i], after[:, i])
        np.testing.assert_allclose(one, expected, atol=1e-12)


@pytest.mark.parametrize("gamma", [0.5, 0.99])
@pytest.mark.parametrize("trace", [0.0, 0.8, 1.0])
def test_gae_of_a_constant_reward_has_a_closed_form(gamma, trace):
    # With V = 0 and r = 1 all temporal differences are one: a geometric series, cut off at the end.
    T = 12
    found = gae(np.ones(T), np.zeros(T), np.zeros(()), gamma, trace)
    x = gamma * trace
    np.testing.assert_allclose(found, (1 - x ** np.arange(T, 0, -1)) / (1 - x))
    # With the right values there is no advantage anywhere, endless or bootstrapped.
    right = 1 / (1 - gamma)
    np.testing.assert_allclose(gae(np.ones(T), np.full(T, right), np.array(right), gamma, trace), 0, atol=1e-12)


def test_gae_with_full_trace_is_the_return_minus_the_value():
    rng = np.random.default_rng(0)
    rewards, values, last, gamma = rng.normal(size=9), rng.normal(size=9), 0.7, 0.9
    returns = [gamma ** np.arange(9 - t) @ rewards[t:] + gamma ** (9 - t) * last for t in range(9)]
    np.testing.assert_allclose(gae(rewards, values, np.array(last), gamma, 1.0), np.array(returns) - values)


def test_gae_without_trace_is_one_temporal_difference():
    rng = np.random.default_rng(1)
    rewards, values, last = rng.normal(size=(6, 2)), rng.normal(size=(6, 2)), rng.normal(size=2)
    ahead = np.vstack([values[1:], last])
    np.testing.assert_allclose(gae(rewards, values, last, 0.9, 0.0), rewards + 0.9 * ahead - values)


def test_an_end_hides_what_follows_and_a_cut_does_not():
    rewards, values = np.array([1.0, 2.0, 4.0]), np.array([10.0, 20.0, 30.0])
    first = np.array([True, False, False])
    ended = gae(rewards, values, np.array(5.0), 0.5, 1.0, ended=first)
    np.testing.assert_allclose(ended, [1 - 10, 2 + 0.5 * 4 + 0.25 * 5 - 20, 4 + 0.5 * 5 - 30])
    cut = gae(rewards, values, np.array(5.0), 0.5, 1.0, cut=first, after=np.array([7.0, 0, 0]))
    np.testing.assert_allclose(cut, [1 + 0.5 * 7 - 10, *ended[1:]])
    both = gae(rewards, values, np.array(5.0), 0.5, 1.0, ended=first, cut=first, after=np.array([7.0, 0, 0]))
    np.testing.assert_allclose(both, ended)


def test_values_may_be_whole_numbers():
    found = gae(np.array([0.5, 0.25]), np.zeros(2, dtype=int), np.zeros((), dtype=int), 0.5, 1.0)
    np.testing.assert_allclose(found, [0.625, 0.25])


def test_the_arguments_are_left_alone():
    rng = np.random.default_rng(2)
    rewards, values, last = rng.normal(size=(4, 3)), rng.normal(size=(4, 3)), rng.normal(size=3)
    copies = rewards.copy(), values.copy(), last.copy()
    gae(rewards, values, last, 0.9, 0.9, ended=np.zeros((4, 3), dtype=bool))
    for now, before in zip((rewards, values, last), copies, strict=True):
        np.testing.assert_array_equal(now, before)
