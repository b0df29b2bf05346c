"""Simulators: draws and paths have the law of the model, and nothing impossible ever happens."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse, stats

import lsip
import rl
from rl import simulator as simulators
from rl.simulator import Draw, TabularSimulator, as_simulator, rollout
from tests.test_sicmdp import distributions, models, random_policy

T = lsip.Index("t", lsip.Interval(0, 1))
LAST = np.nextafter(1.0, 0.0)  # the largest number that NumPy's generators give


class Hidden:
    """A model behind a simulator: it can be sampled, and nothing else can be read from it."""

    def __init__(self, mdp: rl.SICMDP) -> None:
        inner = TabularSimulator(mdp)
        self.specification, self.reset, self.step = mdp.specification, inner.reset, inner.step


class Scripted:
    """A generator whose uniform numbers are given beforehand."""

    def __init__(self, numbers: np.ndarray) -> None:
        self.numbers = numbers

    def random(self, size: int) -> np.ndarray:
        assert size == len(self.numbers)
        return self.numbers.copy()


def frequencies(draw: Draw, row: int, points: int = 20_000) -> np.ndarray:
    """How often each outcome comes up over evenly spread uniform numbers: its probability, up to the spacing."""
    even: Any = Scripted((np.arange(points) + 0.5) / points)
    return np.bincount(draw(np.full(points, row), even), minlength=draw.outcomes) / points


def searched(rows: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> Draw:
    """A draw that searches, however small its table is."""
    with monkeypatch.context() as patch:
        patch.setattr(simulators, "TUNING", simulators.DrawTuning(few=0))
        draw = Draw(rows)
    assert not draw.aliased
    return draw


def fits(counts: np.ndarray, p: np.ndarray, level: float = 1e-4) -> bool:
    """Whether counts pass the chi-square test for a distribution, and are zero where it is."""
    possible = p > 0
    if counts[~possible].any():
        return False
    p = p[possible] / p[possible].sum()
    return len(p) == 1 or stats.chisquare(counts[possible], counts.sum() * p).pvalue > level


def small(gamma: float = 0.7) -> rl.SICMDP:
    """Three states, two actions; some transitions are impossible."""
    P = np.array([[[0.2, 0.8, 0], [0, 0.5, 0.5]], [[0, 0, 1], [0.6, 0.1, 0.3]], [[1, 0, 0], [0.25, 0.25, 0.5]]])
    r = np.array([[0.1, 0.9], [0.5, 0.3], [0.0, 0.7]])
    return rl.SICMDP(P, r, np.array([0.3, 0.9, 0.5]) * (1 - T / 2), 1 + T, T, [0.6, 0, 0.4], gamma)


PI = np.array([[0.3, 0.7], [0.5, 0.5], [1.0, 0.0]])


def large() -> rl.SICMDP:
    """Too large for tables of pairs, so that paths take single steps; sparse transitions."""
    rng = np.random.default_rng(4)
    P = rng.dirichlet(np.ones(30), size=(30, 3)) * (rng.random((30, 3, 30)) < 0.3) + 0.01 * np.eye(30)[:, None, :]
    P /= P.sum(axis=-1, keepdims=True)
    return rl.SICMDP(sparse.csr_matrix(P.reshape(-1, 30)), rng.random((30, 3)), rng.random(30) * T, 9, T, None, 0.8)


# ---- draws -----------------------------------------------------------------------------------------------------------


@given(st.integers(1, 4), st.integers(1, 12), st.integers(0, 10_000))
def test_draw_has_the_law_of_its_row_by_aliases_and_by_search(count, outcomes, seed):
    rows = distributions(np.random.default_rng(seed), (count, outcomes))
    alias = Draw(rows)
    assert alias.aliased
    with pytest.MonkeyPatch.context() as patch:
        search = searched(rows, patch)
    for row in range(count):
        for draw in (alias, search):
            # Every cell and every end of an interval misplaces at most one of the evenly spread numbers.
            np.testing.assert_allclose(frequencies(draw, row), rows[row], atol=2 * (outcomes + 1) / 20_000)


@pytest.mark.parametrize("outcomes", [1, 2, 7, 64, 65, 400])
def test_random_draws_pass_the_chi_square_test(outcomes):
    rng = np.random.default_rng(outcomes)
    rows = distributions(rng, (5, outcomes))
    draw = Draw(rows)
    assert draw.aliased == (outcomes <= 64)
    asked = np.repeat(np.arange(5), 40_000)
    rng.shuffle(asked)
    found = draw(asked, rng)
    for row in range(5):
        assert fits(np.bincount(found[asked == row], minlength=outcomes), rows[row])


@pytest.mark.parametrize("outcomes", [2, 9, 33, 60])
def test_aliases_and_search_agree_in_law(outcomes, monkeypatch):
    rng = np.random.default_rng(outcomes)
    rows = distributions(rng, (3, outcomes))
    alias, search = Draw(rows), searched(rows, monkeypatch)
    asked = np.repeat(np.arange(3), 30_000)
    one, other = alias(asked, rng), search(asked, rng)
    for row in range(3):
        table = np.array([np.bincount(x[asked == row], minlength=outcomes) for x in (one, other)])
        table = table[:, table.sum(axis=0) > 0]
        assert table.shape[1] == 1 or stats.chi2_contingency(table).pvalue > 1e-4


@given(st.integers(1, 5), st.integers(1, 70), st.integers(0, 10_000))
def test_impossible_outcomes_are_never_drawn(count, outcomes, seed):
    rng = np.random.default_rng(seed)
    rows = distributions(rng, (count, outcomes))
    u = np.concatenate([[0.0, 5e-324, 2**-53, 0.5, 1 - 2**-52, LAST], np.cumsum(rows[0]).clip(0, LAST), rng.random(50)])
    with pytest.MonkeyPatch.context() as patch:
        draws = [Draw(rows), searched(rows, patch)]
    for draw in draws:
        for row in range(count):
            script: Any = Scripted(u)
            found = draw(np.full(len(u), row), script)
            assert (rows[row, found] > 0).all()


def test_rows_that_round_below_one_draw_nothing_impossible():
    rows = np.array([[0.1] * 10 + [0.0]])  # the sum of ten tenths is below one
    for wide in (rows, np.pad(rows, ((0, 0), (0, 100)))):
        script: Any = Scripted(np.array([LAST]))
        assert Draw(wide)(np.zeros(1, dtype=np.intp), script)[0] <= 9


# ---- simulators ------------------------------------------------------------------------------------------------------


def test_a_model_is_reset_and_stepped_with_its_law():
    mdp, rng = small(), np.random.default_rng(0)
    simulator = TabularSimulator(mdp)
    assert isinstance(simulator, rl.Simulator)
    assert fits(np.bincount(simulator.reset(50_000, rng), minlength=3), mdp.mu)
    for s in range(3):
        for a in range(2):
            to = simulator.step(np.full(20_000, s), np.full(20_000, a), rng)
            assert fits(np.bincount(to, minlength=3), mdp.P[s, a])


def test_as_simulator_takes_models_and_simulators():
    mdp = small()
    made = as_simulator(mdp)
    assert isinstance(made, TabularSimulator)
    assert made.mdp is mdp
    hidden = as_simulator(Hidden(mdp))
    assert hidden.specification is mdp.specification
    assert as_simulator(hidden) is hidden
    assert as_simulator(made) is made


@pytest.mark.parametrize("problem", [None, 3, np.eye(2), small, object()])
def test_as_simulator_says_what_it_needs(problem):
    with pytest.raises(lsip.ModelError, match=r"rl\.SICMDP.*specification.*reset.*step"):
        as_simulator(problem)


# ---- paths -----------------------------------------------------------------------------------------------------------


def law_of_pairs(mdp: rl.SICMDP, policy: np.ndarray, horizon: int) -> np.ndarray:
    """P(s_t = s, a_t = a): (horizon, S * A)."""
    d, law = mdp.mu, np.empty((horizon, policy.size))
    for t in range(horizon):
        law[t] = (d[:, None] * policy).ravel()
        d = law[t] @ mdp.P.reshape(policy.size, -1)
    return law


@pytest.mark.parametrize("wrap", [TabularSimulator, Hidden])
@pytest.mark.parametrize("model", [small, large])
def test_paths_have_the_law_of_the_model(model, wrap):
    mdp, rng = model(), np.random.default_rng(7)
    policy = PI if mdp.states == 3 else distributions(rng, (mdp.states, mdp.actions))
    pairs = rollout(wrap(mdp), policy, 5, rng, count=40_000)
    assert pairs.shape == (5, 40_000)
    law = law_of_pairs(mdp, policy, 5)
    for t in range(5):
        seen = np.bincount(pairs[t], minlength=policy.size)
        assert not seen[law[t] == 0].any()
        common = 40_000 * law[t] >= 5  # the chi-square test needs counts
        rest = [seen[~common].sum()], [law[t][~common].sum()]
        assert fits(np.append(seen[common], rest[0]), np.append(law[t][common], rest[1]))
    # One step after another: what follows a pair depends on that pair as the model says.
    follow = (mdp.P.reshape(policy.size, -1, 1) * policy).reshape(policy.size, -1)
    last = np.argmax(np.bincount(pairs[3]))
    after = np.bincount(pairs[4][pairs[3] == last], minlength=policy.size)
    common = after.sum() * follow[last] >= 5
    assert fits(
        np.append(after[common], after[~common].sum()), np.append(follow[last][common], 1 - follow[last][common].sum())
    )


@given(models(gammas=(0.5,)))
def test_paths_visit_only_what_is_possible(model):
    mdp, rng = model
    policy = random_policy(mdp, rng)
    A = mdp.actions
    for simulator in (TabularSimulator(mdp), Hidden(mdp)):
        s, a = np.divmod(rollout(simulator, policy, 6, rng, count=50), A)
        assert (mdp.mu[s[0]] > 0).all()
        assert (policy[s, a] > 0).all()
        assert (mdp.P[s[:-1], a[:-1], s[1:]] > 0).all()


@pytest.mark.parametrize("wrap", [TabularSimulator, Hidden])
def test_paths_start_where_they_are_told(wrap):
    mdp, rng = small(), np.random.default_rng(3)
    states = np.repeat([1, 2, 0], 20_000)
    first = np.concatenate([np.full(20_000, 1), np.full(20_000, 1), np.full(20_000, -1)])
    pairs = rollout(wrap(mdp), PI, 2, rng, states=states, actions=first)
    assert (pairs[0][:20_000] == 3).all()
    assert (pairs[0][20_000:40_000] == 5).all()  # an action that the policy never takes
    assert fits(np.bincount(pairs[0][40_000:], minlength=2), PI[0])
    follow = (mdp.P.reshape(6, 3, 1) * PI).reshape(6, 6)
    assert fits(np.bincount(pairs[1][:20_000], minlength=6), follow[3])
    assert fits(np.bincount(pairs[1][20_000:40_000], minlength=6), follow[5])


def test_a_path_of_one_step_needs_no_transition():
    class Still:
        specification = small().specification

        def reset(self, count: int, rng: np.random.Generator) -> np.ndarray:
            return np.zeros(count, dtype=np.intp)

        def step(self, states: Any, actions: Any, rng: Any) -> Any:
            raise AssertionError("one step too many")

    assert (
        rollout(Still(), np.eye(3)[:, :2] + [[0, 0], [0, 0], [1, 0]], 1, np.random.default_rng(0), count=4) == 0
    ).all()


@pytest.mark.parametrize("wrap", [TabularSimulator, Hidden])
def test_the_same_seed_gives_the_same_paths(wrap):
    one, other, third = (rollout(wrap(small()), PI, 20, np.random.default_rng(s), count=30) for s in (1, 1, 2))
    np.testing.assert_array_equal(one, other)
    assert (one != third).any()


# ---- learning from a simulator alone ---------------------------------------------------------------------------------


def test_a_simulator_that_only_steps_can_be_learned_from():
    pytest.importorskip("torch")
    mdp = rl.SICMDP(small().P, [0.0, 1.0, 0.2], np.array([0.3, 0.9, 0.5]) * (1 - T / 2), 9 + T, T, [0.6, 0, 0.4], 0.5)
    agent = rl.SICPO(
        Hidden(mdp),
        update=rl.NPG(samples=300, horizon=10),
        evaluation=rl.MonteCarlo(500, 10, mode="paths"),
        learning_rate=3,
        seed=1,
    )
    agent.learn(25)
    assert all(row.good for row in agent.history)
    best = rl.plan(mdp).value
    start = mdp.value(rl.uniform_policy(3, 2))
    assert mdp.value(agent.choose("last")) > start + 0.8 * (best - start)


def test_a_simulator_may_keep_the_arrays_that_it_gives():
    pytest.importorskip("torch")

    class Keeps(Hidden):
        def __init__(self, mdp: rl.SICMDP) -> None:
            super().__init__(mdp)
            self.first = np.zeros(100, dtype=np.intp)
            self.first.setflags(write=False)
            self.reset = lambda count, rng: self.first[:count]

    simulator = Keeps(small())
    sampling = rl.NPG(samples=50, horizon=3).sampling
    sample = sampling.draw(simulator, PI, simulator.specification.r, np.random.default_rng(0))
    assert len(np.unique(sample.states)) > 1
