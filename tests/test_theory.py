"""The paper's bounds: recomputed from their definitions, inverted, simulated, and monotone as they must be."""

from __future__ import annotations

import inspect
import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from lsip import ModelError
from rl import theory
from rl.theory import Bound, IndexSet, PolicyClass

sizes = st.integers(1, 40)
discounts = st.floats(0, 0.999)
accuracies = st.floats(1e-6, 10)
risks = st.floats(1e-9, 0.5)
index_sets = st.builds(IndexSet, st.integers(1, 4), st.floats(0.01, 10), st.floats(0.01, 10))
policy_classes = st.builds(
    PolicyClass,
    actions=st.integers(1, 50),
    lipschitz=st.floats(0.1, 10),
    smoothness=st.floats(0, 10),
    fisher=st.floats(1e-3, 1),
    weight=st.floats(0.1, 100),
    bias=st.one_of(st.just(0.0), st.floats(1e-6, 1)),
    mismatch=st.floats(1, 100),
)

INDEX = IndexSet(2, 1.0, 3.0)
SOFTMAX = PolicyClass(4, math.sqrt(2), 1.0, 0.1, 10.0, 0.01, 4.0)


def cost(function: Callable[..., Bound], *args: object, **fixed: object) -> Callable[[float, float, float], Bound]:
    """A bound as a function of eps, delta and gamma."""
    takes_delta = "delta" in inspect.signature(function).parameters

    def of(eps: float, delta: float, gamma: float) -> Bound:
        return function(*args, gamma=gamma, eps=eps, **({"delta": delta} if takes_delta else {}), **fixed)

    return of


COSTS = {  # everything that costs more for more accuracy
    "samples_two_successors": cost(theory.samples_two_successors, 8, 4),
    "samples_general": cost(theory.samples_general, 8, 4),
    "samples_measure": cost(theory.samples_measure, 8, 4, nu_min=0.01),
    "iterations_sicrl": cost(theory.iterations_sicrl, 8, 4, INDEX),
    "grid_size_sicrl": cost(theory.grid_size_sicrl, 8, 4, INDEX),
    "pga_steps_sicrl": cost(theory.pga_steps_sicrl, 8, 4, INDEX),
    "iterations_sicpo": cost(theory.iterations_sicpo, SOFTMAX),
    "horizon_sicpo": cost(theory.horizon_sicpo, SOFTMAX),
    "evaluation_paths_sicpo": cost(theory.evaluation_paths_sicpo, SOFTMAX, INDEX),
    "sgd_steps_sicpo": cost(theory.sgd_steps_sicpo, SOFTMAX),
    "grid_size_sicpo": cost(theory.grid_size_sicpo, SOFTMAX, INDEX),
    "pga_steps_sicpo": cost(theory.pga_steps_sicpo, INDEX),
    "interactions_sicpo": cost(theory.interactions_sicpo, SOFTMAX, INDEX),
}


# --- what a bound is


def test_a_bound_reads_as_a_sentence_and_as_a_number() -> None:
    bound = theory.samples_two_successors(8, 4, gamma=0.9, eps=1.0, delta=0.05)
    assert str(bound).startswith(f"{bound.value:,.0f} samples [Theorem_Sample_Complexity, explicit constants]: ")
    assert str(bound).endswith(f" {bound.value / 32:,.0f} of each pair")
    assert float(bound) == bound.value
    assert bound.exact
    rough = theory.sgd_steps_sicpo(SOFTMAX, gamma=0.9, eps=0.1, delta=0.1, constant=3.0)
    assert not rough.exact
    assert "up to a constant" in str(rough)
    assert "taken as 3" in rough.note


@pytest.mark.parametrize("name", COSTS)
def test_nothing_overflows(name: str) -> None:
    bound = COSTS[name](1e-200, 1e-300, 0.999999)
    if bound.value == math.inf:
        assert "more than any float" in str(bound)
    else:
        assert bound.value > 1
    assert COSTS[name](1e200, 0.5, 0.0).value >= 1


@pytest.mark.parametrize("name", COSTS)
@given(eps=accuracies, delta=risks, gamma=discounts, more=st.floats(1, 100))
def test_more_costs_more(name: str, eps: float, delta: float, gamma: float, more: float) -> None:
    of = COSTS[name]
    plain = of(eps, delta, gamma).value
    assert plain >= 1
    assert name == "interactions_sicpo" or plain == round(plain)
    assert of(eps / more, delta, gamma).value >= plain
    assert of(eps, delta / more, gamma).value >= plain
    assert of(eps, delta, max(gamma, 1 - (1 - gamma) / more)).value >= plain


# --- the optimistic set


@given(states=sizes, actions=sizes, delta=st.floats(1e-12, 0.5))
def test_the_failure_of_the_optimistic_set_and_its_inverse(states: int, actions: int, delta: float) -> None:
    failure = theory.optimistic_failure(states, actions, delta)
    assert failure.value == pytest.approx(min(1, 2 * states**2 * actions * delta))
    assert ("nothing" in failure.note) == (failure.value == 1)
    if failure.value < 1:
        assert theory.optimistic_delta(states, actions, failure.value).value == pytest.approx(delta)


def widths(hat: NDArray[np.float64], n: int, delta: float) -> NDArray[np.float64]:
    """d_delta of the paper, with the samples of the pair in the denominators."""
    bernstein = np.sqrt(2 * hat * (1 - hat) * math.log(4 / delta) / n) + 4 * math.log(4 / delta) / n
    return np.minimum(bernstein, math.sqrt(math.log(2 / delta) / (2 * n)))


@pytest.mark.parametrize("n", [1, 2, 5, 50])
def test_the_optimistic_set_holds_the_truth_as_often_as_promised(n: int) -> None:
    rng, failure, trials = np.random.default_rng(n), 0.4, 2000
    P = rng.dirichlet(np.full(3, 0.5), size=(3, 2))
    delta = theory.optimistic_delta(3, 2, failure).value
    hat = rng.multinomial(n, P, size=(trials, 3, 2)) / n
    missed = np.any(np.abs(hat - P) > widths(hat, n, delta), axis=(1, 2, 3)).mean()
    assert missed <= failure + 4 * math.sqrt(failure / trials)


def test_the_widths_have_room_for_the_sample_variance() -> None:
    # Maurer and Pontil: sqrt(2 V L / n) + 7 L / (3 (n - 1)) with V = n/(n - 1) p (1 - p).
    n = np.arange(3, 2000)[:, None, None]
    p = np.linspace(0, 1, 51)[None, :, None]
    L = np.log(4 / np.geomspace(1e-12, 1, 20))[None, None, :]
    needed = np.sqrt(2 * p * (1 - p) * L / (n - 1)) + 7 * L / (3 * (n - 1))
    assert np.all(needed <= np.sqrt(2 * p * (1 - p) * L / n) + 4 * L / n)


# --- samples


def test_the_twelve_of_the_leading_lemma() -> None:
    # The three terms of the proof, x = log(4/delta)/n: the condition on n bounds x by gap^2/36 and gap^3/4.
    gap = np.linspace(1e-4, 1, 400)[:, None]
    x = np.minimum(gap**2 / 36, gap**3 / 4) * np.geomspace(1e-8, 1, 100)[None, :]
    h = np.sqrt(x / 2)
    spread = 4 * np.sqrt(x) * np.sqrt(2 / gap**3)  # sqrt(8 x) sqrt(2 Var), Lemma_Bound_of_Weighted_Variance
    first = np.sqrt(8 * x) / gap * (np.sqrt(6 * h) / gap + np.sqrt(8) * (1 - gap) * h / gap**2)  # Lemma_Bound_Variance
    second = (2 ** (5 / 4) * x ** (3 / 4) + 8 * x) / gap**2  # Lemma_Distance_between_P_tilde_P
    assert np.all((1 - gap) * (spread + first + second) <= 12 * np.sqrt(x / gap**3))


def enough(n0: float, states: int, actions: int, gamma: float, eps: float, delta: float, c: float) -> bool:
    """The conditions of Lemma_Bound_on_V on the samples of each pair."""
    L = math.log(4 / (delta / (2 * states**2 * actions)))
    least = max(36 * L / (1 - gamma) ** 2, 4 * L / (1 - gamma) ** 3)
    return n0 > least and c * math.sqrt(L / (n0 * (1 - gamma) ** 3)) <= eps


@given(states=sizes, actions=sizes, gamma=discounts, eps=accuracies, delta=risks, sharp=st.booleans())
def test_samples_are_the_smallest_that_the_lemma_allows(
    states: int, actions: int, gamma: float, eps: float, delta: float, sharp: bool
) -> None:
    n = theory.samples_two_successors(states, actions, gamma=gamma, eps=eps, delta=delta, sharp=sharp).value
    n0, c = n / (states * actions), 12 if sharp else 24
    assert enough(n0 * (1 + 1e-9), states, actions, gamma, eps, delta, c)
    assert not enough((n0 - 1) * (1 - 1e-9), states, actions, gamma, eps, delta, c)


@given(states=sizes, actions=sizes, gamma=discounts, eps=accuracies, delta=risks, sharp=st.booleans())
def test_general_samples_are_those_of_the_tree(
    states: int, actions: int, gamma: float, eps: float, delta: float, sharp: bool
) -> None:
    tree = theory.binary_tree(states, actions, gamma)
    same: dict[str, Any] = {"eps": eps, "delta": delta, "sharp": sharp}
    n = theory.samples_general(states, actions, gamma=gamma, **same).value
    assert n == pytest.approx(theory.samples_two_successors(tree.states, actions, gamma=tree.gamma, **same).value, 1e-6)
    assert n >= theory.samples_two_successors(states, actions, gamma=gamma, **same).value * (1 - 1e-9)
    depth, gap = max(1, math.ceil(math.log2(states))), 1 - gamma
    L = math.log(8 * states**4 * actions**3 / delta)
    c = 12 if sharp else 24
    paper = max(c**2 * L * depth**3 / (eps**2 * gap**3), 36 * L * depth**2 / gap**2, 4 * L * depth**3 / gap**3)
    assert n <= (states**2 * actions) * actions * (paper + 1) * (1 + 1e-9)


@given(states=sizes, actions=sizes, gamma=discounts, eps=accuracies, delta=risks, share=st.floats(0.01, 1))
def test_samples_of_a_measure_cover_every_pair(
    states: int, actions: int, gamma: float, eps: float, delta: float, share: float
) -> None:
    pairs = states * actions
    nu = share / pairs
    m = theory.samples_measure(states, actions, gamma=gamma, eps=eps, delta=delta, nu_min=nu).value
    general = theory.samples_general(states, actions, gamma=gamma, eps=eps, delta=delta / 2).value
    chernoff = math.exp(-m * nu) * (2 * math.e) ** (m * nu / 2) if m * nu < 500 else 0  # P(count < m nu / 2) is less
    assert pairs * chernoff <= delta / 2 * (1 + 1e-9)
    assert m >= 10 * 2 / (1 - math.log(2)) * math.log(2 * pairs / delta) / nu
    assert m * nu / 2 * pairs >= general * (1 - 1e-9)


def test_a_measure_draws_every_pair_often_enough() -> None:
    rng = np.random.default_rng(1)
    nu = rng.dirichlet(np.full(6, 2.0))
    m = int(theory.samples_measure(3, 2, gamma=0.5, eps=1.0, delta=0.1, nu_min=nu.min()).value)
    least = rng.multinomial(m, nu, size=500).min(axis=1)
    assert np.mean(least < m * nu.min() / 2) <= 0.05


@pytest.mark.parametrize("kind", ["two_successors", "general", "measure"])
@given(states=sizes, actions=sizes, gamma=discounts, eps=accuracies, delta=risks, sharp=st.booleans())
def test_samples_and_error_are_inverse(
    kind: str, states: int, actions: int, gamma: float, eps: float, delta: float, sharp: bool
) -> None:
    samples: Callable[..., Bound] = getattr(theory, f"samples_{kind}")
    error: Callable[..., Bound] = getattr(theory, f"error_{kind}")
    same: dict[str, Any] = {"gamma": gamma, "delta": delta, "sharp": sharp}
    if kind == "measure":
        same["nu_min"] = 0.3 / (states * actions)
    n = samples(states, actions, eps=eps, **same)
    got = error(states, actions, n=n, **same)
    assert got.value <= eps * (1 + 1e-9)
    assert got.value <= 1 / (1 - gamma)
    assert error(states, actions, n=2 * n.value, **same).value <= got.value
    if got.value < 1 / (1 - gamma):
        assert samples(states, actions, eps=got.value, **same).value <= n.value * (1 + 1e-9) + 1
    assert error(states, actions, n=1, **same).value == pytest.approx(1 / (1 - gamma))


# --- the binary tree


def tree_model(P: NDArray[np.float64], r: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The model in which each transition walks down a binary tree: transitions (S', A, S') and rewards (S', A)."""
    states, actions = r.shape
    depth = max(1, math.ceil(math.log2(states)))
    waiting = 2**depth - states  # leaves that are one level too high
    rows: list[dict[int, float]] = []  # of the new states

    def new(row: dict[int, float]) -> int:
        rows.append(row)
        return states + len(rows) - 1

    wait = [new({s: 1.0}) for s in range(waiting)] if states > 1 else []

    def split(p: NDArray[np.float64], leaves: list[int], level: int) -> dict[int, float]:
        """The successors of a node at a level above the given leaves; whole subtrees to the left are the short ones."""
        if len(leaves) == 1:
            return {leaves[0]: 1.0}
        room = 2 ** (depth - level)  # leaf places below, of which short leaves take two
        taken, left = 0, 0
        while taken < room // 2:
            taken += 2 if leaves[left] < waiting else 1
            left += 1
        total = p[leaves].sum()
        row: dict[int, float] = {}
        for part in (leaves[:left], leaves[left:]):
            share = p[part].sum() / total if total > 0 else 0.5
            if len(part) == 1 and level + 1 < depth:
                child = wait[part[0]]
            elif len(part) == 1:
                child = part[0]
            else:
                child = new(split(p, part, level + 1))
            row[child] = share
        return row

    roots = [[split(P[s, a], list(range(states)), 0) for a in range(actions)] for s in range(states)]
    size = states + len(rows)
    Q = np.zeros((size, actions, size))
    for s, a in itertools.product(range(states), range(actions)):
        for successor, p in roots[s][a].items():
            Q[s, a, successor] = p
    for k, row in enumerate(rows):
        for successor, p in row.items():
            Q[states + k, :, successor] = p
    return Q, np.vstack([r, np.zeros((len(rows), actions))])


@pytest.mark.parametrize("states", range(1, 18))
@pytest.mark.parametrize("actions", [1, 3])
def test_the_tree_has_the_stated_size_and_keeps_all_values(states: int, actions: int) -> None:
    rng, gamma = np.random.default_rng(states), 0.8
    P, r = rng.dirichlet(np.ones(states), size=(states, actions)), rng.random((states, actions))
    Q, rewards = tree_model(P, r)
    tree = theory.binary_tree(states, actions, gamma)
    assert len(Q) == tree.states
    assert states == 1 or tree.states <= states**2 * actions
    assert np.count_nonzero(Q, axis=2).max() <= 2
    np.testing.assert_allclose(Q.sum(axis=2), 1)
    assert tree.gamma**tree.depth == pytest.approx(gamma)
    assert tree.gap == pytest.approx(1 - tree.gamma)
    assert tree.gap >= (1 - gamma) / tree.depth

    def values(T: NDArray[np.float64], b: NDArray[np.float64], discount: float) -> NDArray[np.float64]:
        return np.linalg.solve(np.eye(len(T)) - discount * T.mean(axis=1), b.mean(axis=1))  # of the uniform policy

    np.testing.assert_allclose(values(Q, rewards, tree.gamma)[:states], values(P, r, gamma))


# --- iterations and searches of SI-CRL


@given(index=index_sets, gamma=discounts, eps=st.floats(1e-3, 10), states=sizes, actions=sizes)
def test_iterations_are_a_packing_number(index: IndexSet, gamma: float, eps: float, states: int, actions: int) -> None:
    for sharp in (False, True):
        factor = 2 - gamma if sharp else 2 * states**2 * actions
        beta = factor * index.lipschitz / (1 - gamma)
        T = theory.iterations_sicrl(states, actions, index, gamma=gamma, eps=eps, sharp=sharp).value
        assert theory.packing_number(index, separation=eps / 2 / beta).value == T
        side = 2 * index.diameter * beta / eps
        assert (side * (1 - 1e-9)) ** index.dimension <= T <= (side * (1 + 1e-9) + 1) ** index.dimension
    steps = theory.pga_steps_sicrl(states, actions, index, gamma=gamma, eps=eps, sharp=True).value
    assert beta * math.sqrt(index.dimension) * index.diameter / math.sqrt(steps) <= eps / 2 * (1 + 1e-9)


@given(dimension=st.integers(1, 2), separation=st.floats(0.05, 1.5), seed=st.integers(0, 1000))
def test_no_packing_has_more_points(dimension: int, separation: float, seed: int) -> None:
    index = IndexSet(dimension, 1.0, 1.0)
    most = theory.packing_number(index, separation=separation).value
    greedy: list[NDArray[np.float64]] = []
    for y in np.random.default_rng(seed).random((400, dimension)).round(2):
        if all(np.abs(y - z).max() > separation for z in greedy):
            greedy.append(y)
    assert 1 <= len(greedy) <= most
    side = round(most ** (1 / dimension))
    assert side == 1 or 1 / (side - 1) > separation * (1 - 1e-9)  # the corners and so many equal steps: attained


def test_exchange_stops_within_the_packing_number() -> None:
    # An adversary: whatever is asked, some violation of eps is left unless a point within eps/beta was added before.
    beta, eps = 3.0, 0.25
    index, grid = IndexSet(1, 1.0, 1.0), np.linspace(0, 1, 2001)
    added = [0.5]
    while True:
        violation = np.min([beta * np.abs(grid - y) for y in added], axis=0)
        if violation.max() <= eps:
            break
        added.append(float(grid[np.argmax(violation > eps)]))
    assert len(added) <= theory.packing_number(index, separation=eps / beta).value


@pytest.mark.parametrize(("dimension", "radius", "failure"), [(1, 0.02, 0.1), (2, 0.1, 0.05), (3, 0.2, 0.2)])
def test_a_random_grid_hits_a_box_as_often_as_promised(dimension: int, radius: float, failure: float) -> None:
    M = int(theory.grid_size(IndexSet(dimension, 1.0, 1.0), radius=radius, failure=failure).value)
    rng, trials = np.random.default_rng(dimension), 20_000
    target = np.full(dimension, 0.4)
    points = rng.random((trials, M, dimension))
    missed = np.mean(np.abs(points - target).max(axis=2).min(axis=1) > radius)
    assert missed <= failure + 4 * math.sqrt(failure / trials)
    assert (1 - (2 * radius) ** dimension) ** (M - 1) > failure  # and no smaller grid would do


@given(index=index_sets, radius=st.floats(1e-4, 10), failure=risks, share=st.floats(0.1, 1))
def test_volume_and_depth_of_the_index_set_count(index: IndexSet, radius: float, failure: float, share: float) -> None:
    volume = share * index.diameter**index.dimension
    smaller = IndexSet(index.dimension, index.diameter, index.lipschitz, volume=volume)
    shallow = IndexSet(index.dimension, index.diameter, index.lipschitz, interior=radius / 2)
    plain = theory.grid_size(index, radius=radius, failure=failure).value
    assert theory.grid_size(smaller, radius=radius, failure=failure).value <= plain
    deep = theory.grid_size(shallow, radius=radius, failure=failure).value
    assert deep == theory.grid_size(index, radius=radius / 2, failure=failure).value >= plain


@given(index=index_sets, gamma=discounts, eps=st.floats(0.01, 10), delta=risks, sharp=st.booleans())
def test_the_random_grid_of_sicrl(index: IndexSet, gamma: float, eps: float, delta: float, sharp: bool) -> None:
    same: dict[str, Any] = {"gamma": gamma, "eps": eps, "sharp": sharp}
    T = theory.iterations_sicrl(3, 2, index, **same)
    M = theory.grid_size_sicrl(3, 2, index, **same, delta=delta)
    assert theory.grid_size_sicrl(3, 2, index, **same, delta=delta, iterations=T) == M
    beta = (2 - gamma if sharp else 36) * index.lipschitz / (1 - gamma)
    p = min(1, (eps / 2 / beta / (index.diameter / 2)) ** index.dimension)
    if 1e-15 < p < 1:
        assert M.value * -math.log1p(-p) >= math.log(T.value / delta) * (1 - 1e-9)
        assert (M.value - 1) * -math.log1p(-p) <= math.log(T.value / delta) * (1 + 1e-9)


# --- SI-CPO


@given(policy=policy_classes, index=index_sets, gamma=discounts, eps=st.floats(1e-4, 10), delta=risks)
def test_the_settings_of_sicpo_satisfy_its_lemmas(
    policy: PolicyClass, index: IndexSet, gamma: float, eps: float, delta: float
) -> None:
    gap, m = 1 - gamma, index.dimension
    eta = theory.tolerance_sicpo(policy, gamma=gamma, eps=eps).value
    T = theory.iterations_sicpo(policy, gamma=gamma, eps=eps).value
    H = theory.horizon_sicpo(policy, gamma=gamma, eps=eps).value
    K_eval = theory.evaluation_paths_sicpo(policy, index, gamma=gamma, eps=eps, delta=delta).value
    K_sgd = theory.sgd_steps_sicpo(policy, gamma=gamma, eps=eps, delta=delta).value
    alpha = theory.learning_rate_sicpo(policy, gamma=gamma, eps=eps).value
    assert alpha == pytest.approx(T**-0.5)

    def spread(K: float) -> float:
        """Lemma_WHP_Bound_Evaluation_Uniform_y for all T iterations, without the horizon."""
        cover = m * math.log1p(4 * index.diameter * index.lipschitz * math.sqrt(2 * K))
        return (1 + math.sqrt(math.log(4 * T / delta) + cover)) / (gap * math.sqrt(2 * K))

    evaluation = spread(K_eval) + gamma**H / gap
    assert evaluation <= eps / 2 * (1 + 1e-9)
    assert K_eval == 1 or spread(K_eval - 1) >= eps / 4 * (1 - 1e-9)

    # Lemma_SGD_convergence with C = 1, and the condition of Lemma_reward_bound.
    L, W = policy.lipschitz, policy.weight
    sgd = (4 * L**2 * W + 8 * L / gap) ** 2 / (gap**2 * policy.fisher) * math.log(2 * T / delta) / K_sgd
    cut = 4 * gamma**H / gap * (1 / gap + W * L)
    root = math.sqrt(policy.mismatch / gap * (policy.bias + sgd + cut))
    steps = math.log(policy.actions) / alpha + policy.smoothness * alpha * T * W**2 / (2 * gap**2)
    needed = 4 / gap * (steps / T + root)
    assert eta >= needed * (1 - 1e-9)
    # Lemma_well_define_B: |N| > T/2 would contradict the sum over both sets.
    assert T / 2 * (eta - evaluation) >= (steps / gap + T / gap * root) * (1 - 1e-9)
    # The promise: the average over the good set, and the violation of each of its members.
    floor = math.sqrt(policy.mismatch * policy.bias) / gap**1.5
    assert needed / 2 <= (eps / 2 + 2 * floor) * (1 + 1e-9)
    assert eta + evaluation + eps / 2 <= (2 * eps + 4 * floor) * (1 + 1e-9)


@given(policy=policy_classes, gamma=discounts, eps=st.floats(1e-4, 10))
def test_iterations_and_horizon_of_sicpo_are_not_larger_than_needed(
    policy: PolicyClass, gamma: float, eps: float
) -> None:
    gap = 1 - gamma
    T = theory.iterations_sicpo(policy, gamma=gamma, eps=eps).value
    a = 4 * math.log(policy.actions) / gap + 2 * policy.smoothness * policy.weight**2 / gap**3
    assert a / math.sqrt(T) <= eps / 2 * (1 + 1e-9)
    assert T == 1 or a / math.sqrt(T - 1) >= eps / 2 * (1 - 1e-9)
    H = theory.horizon_sicpo(policy, gamma=gamma, eps=eps).value
    q = eps * gap**1.5 / 8 / math.sqrt(policy.mismatch)
    excess = (q**2 + 2 * q * math.sqrt(policy.bias)) / 2

    def long_enough(steps: float, slack: float) -> bool:
        tail = gamma**steps / gap
        return max(tail / (eps / 4), 4 * tail * (1 / gap + policy.weight * policy.lipschitz) / excess) <= 1 + slack

    assert long_enough(H, 1e-9)
    assert H == 1 or not long_enough(H - 1, -1e-9)


@given(index=index_sets, gamma=discounts, eps=st.floats(1e-3, 10), delta=risks)
def test_the_searches_of_sicpo(index: IndexSet, gamma: float, eps: float, delta: float) -> None:
    T = theory.iterations_sicpo(SOFTMAX, gamma=gamma, eps=eps)
    M = theory.grid_size_sicpo(SOFTMAX, index, gamma=gamma, eps=eps, delta=delta)
    radius = eps / 2 / (2 * index.lipschitz / (1 - gamma))
    assert M.value == pytest.approx(theory.grid_size(index, radius=radius, failure=delta / 2 / T.value).value, rel=1e-9)
    steps = theory.pga_steps_sicpo(index, gamma=gamma, eps=eps).value
    distance = math.sqrt(index.dimension) * index.diameter
    assert 2 * index.lipschitz / (1 - gamma) * distance / math.sqrt(steps) <= eps / 2 * (1 + 1e-9)


def test_other_iterations_and_constants_of_sicpo() -> None:
    strict = theory.iterations_sicpo(PolicyClass(1, 1.0, 1.0, 1.0, 1.0), gamma=0.0, eps=4.0)
    assert strict.value == 2  # the smallest T above 4 a^2 / eps^2 = 1
    same: dict[str, Any] = {"gamma": 0.9, "eps": 0.1, "delta": 0.1}
    assert theory.learning_rate_sicpo(SOFTMAX, gamma=0.9, eps=0.1, iterations=10_000).value == pytest.approx(0.01)
    few = theory.evaluation_paths_sicpo(SOFTMAX, INDEX, **same, iterations=100)
    assert few.value < theory.evaluation_paths_sicpo(SOFTMAX, INDEX, **same).value
    one = theory.sgd_steps_sicpo(SOFTMAX, **same, iterations=100).value
    three = theory.sgd_steps_sicpo(SOFTMAX, **same, iterations=100, constant=3).value
    assert three == pytest.approx(3 * one, rel=1e-6)
    H = theory.horizon_sicpo(SOFTMAX, gamma=0.9, eps=0.1).value
    total = theory.interactions_sicpo(SOFTMAX, INDEX, **same, iterations=100).value
    assert total == pytest.approx(100 * (H * few.value + one * (2 * H + 9)))


# --- wrong arguments


GOOD: dict[str, Any] = {"gamma": 0.9, "eps": 0.1, "delta": 0.1}


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: theory.samples_general(0, 4, **GOOD), "`states` must be a whole number, at least 1; got 0"),
        (lambda: theory.samples_general(8, 2.5, **GOOD), "`actions` must be a whole number, at least 1; got 2.5"),  # type: ignore[arg-type]
        (lambda: theory.samples_general(8, 4, **GOOD | {"eps": 0}), "`eps` must be positive and finite; got 0"),
        (lambda: theory.samples_general(8, 4, **GOOD | {"eps": math.nan}), "`eps` must be positive"),
        (lambda: theory.samples_general(8, 4, **GOOD | {"delta": 1}), "`delta` is a probability"),
        (lambda: theory.samples_general(8, 4, **GOOD | {"gamma": 1}), "`gamma` must satisfy 0 <= gamma < 1; got 1"),
        (lambda: theory.samples_general(8, 4, **GOOD | {"gamma": -0.1}), "`gamma` must satisfy"),
        (lambda: theory.samples_measure(8, 4, **GOOD, nu_min=0.1), "`nu_min` must be the smallest probability"),
        (lambda: theory.error_general(8, 4, gamma=0.9, delta=0.1, n=0), "at least 1; got 0"),
        (lambda: theory.error_general(8, 4, gamma=0.9, delta=0.1, n=math.inf), "must be finite"),
        (lambda: theory.optimistic_delta(8, 4, 0.0), "`failure` is a probability"),
        (lambda: theory.optimistic_failure(8, -1, 0.1), "`actions` must be a whole number, at least 1; got -1"),
        (lambda: theory.packing_number(INDEX, separation=-1), "`separation` must be positive"),
        (lambda: theory.grid_size(INDEX, radius=0, failure=0.1), "`radius` must be positive"),
        (lambda: theory.sgd_steps_sicpo(SOFTMAX, **GOOD, constant=0), "`constant` must be positive"),
        (lambda: IndexSet(0, 1.0, 1.0), "`dimension` must be at least 1"),
        (lambda: IndexSet(2, 0.0, 1.0), "`diameter` must be positive"),
        (lambda: IndexSet(2, 1.0, 1.0, volume=1.5), "`volume` must be at most diameter"),
        (lambda: IndexSet(2, 1.0, 1.0, interior=-1), "`interior` must be positive"),
        (lambda: PolicyClass(4, 1.0, -1.0, 0.1, 10.0), "`smoothness` must be finite and at least 0; got -1"),
        (lambda: PolicyClass(4, 1.0, 1.0, 0.0, 10.0), "`fisher` must be positive"),
        (lambda: PolicyClass(4, 1.0, 1.0, 0.1, 10.0, mismatch=0.5), "`mismatch` must be finite and at least 1"),
    ],
)
def test_wrong_arguments_are_named(call: Callable[[], object], says: str) -> None:
    with pytest.raises(ModelError) as caught:
        call()
    assert says in str(caught.value)
