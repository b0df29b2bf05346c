"""Policy updates against exact gradients, and every update with every evaluation on a small constrained problem."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lsip
import rl

torch = pytest.importorskip("torch")

from rl.policies import Categorical, MLPGaussian, Policy, flat_gradient, flat_parameters  # noqa: E402
from rl.simulator import TabularSimulator  # noqa: E402
from rl.updates import NPG, PPO, TRPO, Batch, Pairs, Paths, PolicyGradient  # noqa: E402
from rl.updates.fisher import conjugate_gradients, fisher_product  # noqa: E402
from rl.updates.gram import gram  # noqa: E402
from tests.extensions.update_checks import THETA, Tried, check_update, with_network, with_table  # noqa: E402
from tests.test_sicmdp import distributions  # noqa: E402
from tests.test_simulator import Hidden, fits, small  # noqa: E402

T = lsip.Index("t", lsip.Interval(0, 1))
UPDATES: dict[str, Any] = {
    "NPG": NPG(samples=200, horizon=8),
    "NPG by cg": NPG(samples=100, horizon=8, solver="cg"),
    "PolicyGradient": PolicyGradient(paths=100, horizon=8),
    "TRPO": TRPO(paths=100, horizon=8, radius=0.02),
    "PPO": PPO(paths=100, horizon=8, minibatches=2),
    "PPO with a penalty": PPO(paths=100, horizon=8, minibatches=2, clip=None, penalty="kl", divergence=0.02),
}
NATURAL = ("NPG", "NPG by cg")
BATCHED = (PolicyGradient, PPO, TRPO)


def softmax(theta: np.ndarray) -> np.ndarray:
    e = np.exp(theta - theta.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def natural(mdp: rl.SICMDP, theta: np.ndarray, criterion: np.ndarray | None = None) -> np.ndarray:
    """The natural gradient of a softmax table: A / (1 - gamma), shifted in every state to a sum of zero."""
    A = mdp.advantage(softmax(theta), criterion)
    return (A - A.mean(axis=1, keepdims=True)) / (1 - mdp.gamma)


def value_gradient(mdp: rl.SICMDP, theta: np.ndarray) -> np.ndarray:
    """dV/dtheta by central differences."""
    found = np.zeros_like(theta)
    for place in np.ndindex(theta.shape):
        e = np.zeros_like(theta)
        e[place] = 1e-5
        found[place] = (mdp.value(softmax(theta + e)) - mdp.value(softmax(theta - e))) / 2e-5
    return found


# ---- what all updates share ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", UPDATES)
def test_every_update_keeps_the_promises(name):
    check_update(UPDATES[name])


@pytest.mark.parametrize("name", UPDATES)
def test_another_generator_gives_another_step(name):
    found = []
    for seed in (0, 1):
        tried = with_table(small())
        tried.step(UPDATES[name], small().r, 1.0, 0.5, np.random.default_rng(seed))
        found.append(flat_parameters(tried.policy))
    assert not torch.equal(*found)


@pytest.mark.parametrize("name", UPDATES)
@pytest.mark.parametrize("make", [with_table, with_network])
def test_few_samples_of_a_problem_without_a_future_keep_the_policy_finite(name, make):
    mdp = small(0.0)
    few = {"samples" if name in NATURAL else "paths": 2, "horizon": 20}
    tried, update = make(mdp), dataclasses.replace(UPDATES[name], **few)
    for k in range(5):
        tried.step(update, mdp.r, 1.0, 0.5, np.random.default_rng(k))
    assert torch.isfinite(flat_parameters(tried.policy)).all()


def test_a_table_of_probabilities():
    np.testing.assert_allclose(with_table(small()).table(), softmax(THETA))
    table = with_network(small()).table()
    assert table.dtype == np.float64
    np.testing.assert_allclose(table.sum(axis=1), 1, atol=1e-15)


@pytest.mark.parametrize("kind", BATCHED)
def test_counts_are_checked(kind):
    for bad in (0, -1, 2.5):
        with pytest.raises(lsip.ModelError, match="`paths` must be a whole number, at least 1"):
            kind(paths=bad)
    with pytest.raises(lsip.ModelError, match="`horizon` must be a whole number, at least 1; got 0"):
        kind(horizon=0)


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        *[(kind, {"trace": bad}) for kind in (NPG, *BATCHED) for bad in (-0.1, 1.5)],
        *[(kind, {"damping": -1.0}) for kind in (NPG, TRPO)],
        *[(PPO, {name: 0}) for name in ("epochs", "minibatches", "minibatch", "most")],
        (PPO, {"penalty": "l2"}),
        (PPO, {"entropy": float("nan")}),
        *[(TRPO, {"radius": bad}) for bad in (0.0, -0.1)],
        *[(PPO, {name: bad}) for name in ("clip", "step_size") for bad in (0.0, -0.1)],
    ],
)
def test_other_options_are_checked_too(kind, options):
    with pytest.raises(lsip.ModelError, match=f"`{next(iter(options))}`"):
        kind(**options)


# ---- batches ---------------------------------------------------------------------------------------------------------


def test_a_penalty_needs_something_to_aim_at():
    with pytest.raises(lsip.ModelError, match=r"`divergence`: give it"):
        PPO(penalty="kl")


def test_batches_weigh_pairs_as_the_discounted_occupancy_and_have_the_right_advantages():
    mdp, policy = small(), softmax(THETA)
    batch = Paths(4000, 25, 0.95).draw(TabularSimulator(mdp), policy, mdp.r, np.random.default_rng(0))
    assert batch.weights.sum() == pytest.approx(1)
    pair = batch.states * 2 + batch.actions
    q = np.bincount(pair, batch.weights, minlength=6).reshape(3, 2)
    np.testing.assert_allclose(q, mdp.occupancy(policy), atol=0.01)
    mean = np.bincount(pair, batch.weights * batch.advantages, minlength=6).reshape(3, 2) / q
    np.testing.assert_allclose(mean, mdp.advantage(policy), atol=0.05)


@pytest.mark.parametrize("trace", [0.0, 0.6, 1.0])
def test_advantages_of_a_world_without_chance_are_exact(trace):
    # 0 -> 1 -> 0 whatever is done: the critic is exact after one lap, so advantages are r - E r, whatever the trace is.
    P = np.zeros((2, 2, 2))
    P[0, :, 1] = P[1, :, 0] = 1
    r = np.array([[1.0, 1.0], [3.0, 3.0]])
    mdp = rl.SICMDP(P, r, np.ones(2) * T, 99, T, None, 0.9)
    batch = Paths(10, 6, trace).draw(TabularSimulator(mdp), np.full((2, 2), 0.5), r, np.random.default_rng(0))
    np.testing.assert_allclose(batch.advantages, 0, atol=1e-10)


# ---- policy gradient -------------------------------------------------------------------------------------------------


def test_policy_gradient_is_the_gradient_of_the_value():
    mdp = small()
    exact = value_gradient(mdp, THETA)
    found = []
    for seed in range(10):
        tried = with_table(mdp)
        tried.step(PolicyGradient(2000, 30), mdp.r, 1.0, 2.0, np.random.default_rng(seed))
        found.append((tried.policy.theta.detach().numpy() - THETA) / 2)
    error = np.std(found, axis=0, ddof=1) / np.sqrt(10)
    assert (np.abs(np.mean(found, axis=0) - exact) <= 5 * error + 2e-4).all()


# ---- conjugate gradients and the Fisher matrix -----------------------------------------------------------------------


@given(st.integers(1, 8), st.integers(0, 10_000))
def test_conjugate_gradients_solve_the_system(n, seed):
    rng = np.random.default_rng(seed)
    M = rng.normal(size=(n, n))
    M = M @ M.T + 0.5 * np.eye(n)
    right = rng.normal(size=n)
    system = torch.as_tensor(M)
    found = conjugate_gradients(lambda v: system @ v, torch.as_tensor(right), 10 * n)
    np.testing.assert_allclose(found.numpy(), np.linalg.solve(M, right), rtol=1e-6, atol=1e-8)


def test_conjugate_gradients_of_nothing_and_of_a_singular_system():
    assert torch.equal(conjugate_gradients(lambda v: v, torch.zeros(3), 5), torch.zeros(3))
    M = torch.diag(torch.tensor([2.0, 0.0, 4.0], dtype=torch.float64))
    found = conjugate_gradients(lambda v: M @ v, torch.tensor([2.0, 0.0, 1.0], dtype=torch.float64), 50)
    np.testing.assert_allclose(found, [1, 0, 0.25])


def score(policy: Policy, seen: Any, action: Any) -> np.ndarray:
    """grad log pi(a | o) of one sample."""
    return flat_gradient(policy.log_prob(seen[None], action[None])[0], policy).numpy()


def dense_fisher(tried: Tried, states: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """sum over s of w(s) sum over a of pi(a | s) grad log pi grad log pi^T, formed entry by entry."""
    table = tried.table()
    total = 0.0
    mass = np.bincount(states, weights, minlength=len(table))
    for s, a in np.ndindex(table.shape):
        g = score(tried.policy, tried.world.features[s], torch.tensor(a))
        total = total + mass[s] * table[s, a] * np.outer(g, g)
    return total


@pytest.mark.parametrize("make", [with_table, with_network])
def test_fisher_products_are_those_of_the_dense_matrix(make):
    tried, rng = make(small()), np.random.default_rng(0)
    states, weights = rng.integers(3, size=40), rng.random(40)
    seen, nothing = tried.world.features[torch.as_tensor(states)], torch.zeros(40)
    product = fisher_product(tried.policy, Batch(seen, nothing, nothing, torch.as_tensor(weights), nothing), 0.01)
    F = dense_fisher(tried, states, weights)
    for _ in range(4):
        v = rng.normal(size=len(F))
        np.testing.assert_allclose(product(torch.as_tensor(v)).numpy(), F @ v + 0.01 * v, atol=1e-12)


@pytest.mark.parametrize("make", [with_table, with_network])
def test_the_direction_by_conjugate_gradients_solves_the_dense_system(make):
    mdp = small()
    tried, update = make(mdp), NPG(samples=200, horizon=10, solver="cg", iterations=300, damping=1e-3)
    start = flat_parameters(tried.policy)
    sample = update.sampling.draw(tried.world.simulator, tried.table(), mdp.r, np.random.default_rng(3))
    batch = tried.batch(update, mdp.r, np.random.default_rng(3))
    log_probs = tried.policy.log_prob(batch.observations, batch.actions)
    g = flat_gradient((batch.weights * batch.advantages * log_probs).sum(), tried.policy).numpy()
    F = dense_fisher(tried, sample.states, sample.weights)
    exact = np.linalg.solve(F + 1e-3 * np.eye(len(F)), g / (1 - mdp.gamma))
    report = tried.step(update, mdp.r, -1.0, 0.25, np.random.default_rng(3))
    moved = (flat_parameters(tried.policy) - start).numpy()
    np.testing.assert_allclose(moved, -0.25 * exact, rtol=1e-5, atol=1e-7)
    assert report["step"] == pytest.approx(0.25 * np.abs(exact).max(), rel=1e-5)


def test_conjugate_gradients_approach_the_exact_natural_gradient():
    mdp = small()
    found = []
    for seed in range(10):
        tried, update = with_table(mdp), NPG(2000, 30, solver="cg", damping=1e-8)
        tried.step(update, mdp.r, 1.0, 1.0, np.random.default_rng(seed))
        found.append(tried.policy.theta.detach().numpy() - THETA)
    error = np.std(found, axis=0, ddof=1) / np.sqrt(10)
    assert (np.abs(np.mean(found, axis=0) - natural(mdp, THETA)) <= 5 * error + 1e-3).all()


# ---- inner products of gradients -------------------------------------------------------------------------------------


class Convolved(Categorical):
    """A small network for pictures (N, 1, 5, 5), with a layer that is used twice and a parameter of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.seen = torch.nn.Sequential(torch.nn.Conv2d(1, 2, 3), torch.nn.Tanh(), torch.nn.Flatten())
        self.first, self.twice = torch.nn.Linear(18, 4, bias=False), torch.nn.Linear(4, 4)
        self.last = torch.nn.Linear(4, 3)
        self.shift = torch.nn.Parameter(torch.tensor([0.1, -0.2, 0.3]))

    def logits(self, observations: Any) -> Any:
        inside = torch.tanh(self.first(self.seen(observations)))
        return self.last(torch.tanh(self.twice(torch.tanh(self.twice(inside))))) + self.shift


def sampled(kind: str) -> tuple[Policy, Any, Any]:
    generator = torch.Generator().manual_seed(1)
    torch.manual_seed(0)
    if kind == "table":
        tried = with_table(small())
        return tried.policy, torch.randint(3, (30,), generator=generator), torch.randint(2, (30,), generator=generator)
    if kind == "real actions":
        policy = MLPGaussian(4, 2, (7, 5)).double()
        for p in policy.parameters():
            p.data += 0.2 * torch.randn(p.shape, dtype=p.dtype)
        seen = torch.randn(30, 4, generator=generator, dtype=torch.float64)
        return policy, seen, torch.randn(30, 2, generator=generator, dtype=torch.float64)
    if kind == "pictures":
        seen = torch.randn(30, 1, 5, 5, generator=generator, dtype=torch.float64)
        return Convolved().double(), seen, torch.randint(3, (30,), generator=generator)
    tried = with_network(small())
    states = torch.randint(3, (30,), generator=generator)
    return tried.policy, tried.world.features[states], torch.randint(2, (30,), generator=generator)


@pytest.mark.parametrize("kind", ["table", "network", "real actions", "pictures"])
def test_inner_products_are_those_of_the_gradients(kind):
    policy, seen, actions = sampled(kind)
    J = np.array([score(policy, o, a) for o, a in zip(seen, actions, strict=True)])
    place, inner = gram(policy, seen, actions)
    found = np.zeros((31, 31))
    found[place[:, :, None], place[:, None, :]] = inner
    np.testing.assert_allclose(found[:30, :30], J @ J.T, atol=1e-12)
    assert sorted(place[place < 30].tolist()) == list(range(30))
    assert all((np.diff(row[row < 30]) > 0).all() for row in place.numpy())  # in the order of the samples


# ---- the sample-based natural gradient -------------------------------------------------------------------------------


def as_written(gradients: np.ndarray, targets: np.ndarray, rates: np.ndarray, radius: float) -> np.ndarray:
    """Algorithm "Sample-based NPG", line by line."""
    K = len(gradients)
    w = [np.zeros(gradients.shape[1])]
    for k in range(K):
        G = 2 * (w[k] @ gradients[k] - targets[k]) * gradients[k]
        moved = w[k] - rates[k] * G
        w.append(moved * min(1.0, radius / max(np.linalg.norm(moved), 1e-300)))
    return sum(2 * k / (K * (K + 1)) * w[k] for k in range(1, K + 1))


@given(
    st.integers(1, 5),
    st.integers(1, 4),
    st.integers(1, 60),
    st.sampled_from(["decreasing", "constant"]),
    st.sampled_from([1e-3, 0.5, 2.0, 1000.0]),
    st.sampled_from([0.1, 0.5, 1.0]),
    st.integers(0, 10_000),
)
def test_side_by_side_is_the_algorithm_as_written(S, A, K, steps, radius, scale, seed):
    rng = np.random.default_rng(seed)
    theta = np.log(distributions(rng, (S, A)) + 1e-9)
    s, a, target = rng.integers(S, size=K), rng.integers(A, size=K), rng.normal(size=K)
    update, policy = NPG(samples=K, radius=radius, steps=steps), softmax(theta)
    gradients = np.zeros((K, S, A))
    gradients[np.arange(K), s] = scale * (np.eye(A)[a] - policy[s])
    gradients = gradients.reshape(K, -1)
    rates = 1 / np.arange(1, K + 1) if steps == "decreasing" else np.ones(K)
    exact = as_written(gradients, target, rates, radius)
    tolerance = 1e-11 * (1 + np.abs(exact).max())
    table = rl.SoftmaxTable(S, A)
    with torch.no_grad():
        table.theta.copy_(torch.as_tensor(theta))
    in_blocks = gram(table, torch.as_tensor(s), torch.as_tensor(a))
    at_once = torch.arange(K)[None], torch.as_tensor(gradients @ gradients.T)[None]
    for place, inner in ((in_blocks[0], scale**2 * in_blocks[1]), at_once):
        c = update.coefficients(place, inner, torch.as_tensor(target)).numpy()
        np.testing.assert_allclose(c @ gradients, exact, atol=tolerance)
    assert np.linalg.norm(exact) <= radius * (1 + 1e-12)


@pytest.mark.parametrize("radius", [1.0, 1000.0])
@pytest.mark.parametrize("gradient", ["scaled", "printed"])
@pytest.mark.parametrize("make", [with_table, with_network])
def test_npg_moves_the_parameters_along_its_direction(make, gradient, radius):
    mdp = small()
    tried, update = make(mdp), NPG(samples=80, horizon=12, radius=radius, gradient=gradient)
    start = flat_parameters(tried.policy).numpy().copy()
    batch = tried.batch(update, mdp.r, np.random.default_rng(5))
    J = np.array([score(tried.policy, o, a) for o, a in zip(batch.observations, batch.actions, strict=True)])
    scale = 1.0 if gradient == "printed" else 1 - mdp.gamma
    exact = as_written(scale * J, batch.advantages.numpy(), 1 / np.arange(1, 81), radius)
    report = tried.step(update, mdp.r, -1.0, 0.5, np.random.default_rng(5))
    np.testing.assert_allclose(flat_parameters(tried.policy).numpy() - start, -0.5 * exact, atol=1e-10)
    assert report["step"] == pytest.approx(0.5 * np.abs(exact).max())


def test_steps_that_overflow_stay_in_the_ball():
    """Gradients of length 100 at constant steps grow by a factor of 20,000 each, beyond all numbers."""
    J = 100 * np.random.default_rng(0).normal(size=(200, 3))
    update, goals = NPG(samples=200, steps="constant", radius=5.0), np.ones(200)
    place, inner = torch.arange(200)[None], torch.as_tensor(J @ J.T)[None]
    found = update.coefficients(place, inner, torch.as_tensor(goals)).numpy() @ J
    assert 0 < np.linalg.norm(found) <= 5 + 1e-6


def test_a_part_of_a_large_batch_is_drawn_by_its_weights():
    batch, update = with_table(small()).batch(Paths(50, 8), small().r, np.random.default_rng(0)), NPG(samples=4000)
    drawn = update._chosen(batch, np.random.default_rng(1))
    assert len(drawn.actions) == 4000
    for s in range(3):
        share = float(batch.weights[batch.observations == s].sum())
        assert float((drawn.observations == s).double().mean()) == pytest.approx(share, abs=0.04)


@pytest.mark.parametrize("wrap", [TabularSimulator, Hidden])
def test_pairs_come_from_the_occupancy_with_unbiased_advantages(wrap):
    mdp, policy, H, K = small(), softmax(THETA), 15, 60_000
    criterion = np.array([[1.0, -2.0], [0.5, 3.0], [-1.0, 0.0]])
    sample = Pairs(K, H).draw(wrap(mdp), policy, criterion, np.random.default_rng(6))
    pair, found = sample.states * 2 + sample.actions, sample.advantages
    assert fits(np.bincount(pair, minlength=6), mdp.occupancy(policy).ravel())
    exact = mdp.advantage(policy, criterion).ravel()
    cut = 2 * mdp.gamma**H * np.abs(criterion).max() / (1 - mdp.gamma)
    for p in range(6):
        mine = found[pair == p]
        assert abs(mine.mean() - exact[p]) <= 4.5 * mine.std() / np.sqrt(len(mine)) + cut


@pytest.mark.parametrize("gamma", [0.0, 0.5])
def test_occupied_pairs_of_a_simulator_have_a_geometric_age(gamma):
    # 0 -> 1 -> ... -> 5 -> 5: the state is the age, so P(age = t) = (1 - gamma) gamma^t.
    P = np.zeros((6, 1, 6))
    P[np.arange(6), 0, np.minimum(np.arange(1, 7), 5)] = 1
    mdp = rl.SICMDP(P, np.ones((6, 1)), np.ones(6) * T, 9, T, np.eye(6)[0], gamma)
    s = Pairs(20_000, 1).draw(Hidden(mdp), np.ones((6, 1)), mdp.r, np.random.default_rng(0)).states
    p = (1 - gamma) * gamma ** np.arange(6.0)
    p[5] = gamma**5
    assert fits(np.bincount(s, minlength=6), p)


def direction(update: NPG, mdp: rl.SICMDP, theta: np.ndarray, seed: int) -> np.ndarray:
    """Where one step goes, at a learning rate of one."""
    tried = with_table(mdp, theta)
    tried.step(update, mdp.r, 1.0, 1.0, np.random.default_rng(seed))
    return tried.policy.theta.detach().numpy() - theta


def test_the_natural_gradient_of_the_paper_is_the_exact_one():
    # Averages over constant steps have no bias for a target that the table can fit, once the start is forgotten.
    mdp = small(0.3)
    update = NPG(samples=5000, horizon=14, steps="constant")
    found = [direction(update, mdp, THETA, seed) for seed in range(12)]
    error = np.std(found, axis=0, ddof=1) / np.sqrt(12)
    assert error.max() < 0.03
    assert (np.abs(np.mean(found, axis=0) - natural(mdp, THETA)) <= 4.5 * error + 1e-3).all()


def test_decreasing_steps_approach_the_exact_natural_gradient():
    mdp = rl.SICMDP(np.ones((1, 3, 1)), [[0.2, 0.9, 0.4]], np.ones(1) * T, 99, T, None, 0.1)
    theta = np.array([[0.1, -0.2, 0.3]])
    errors = []
    for samples in (30, 6000):
        found = [direction(NPG(samples=samples, horizon=10), mdp, theta, seed) for seed in range(8)]
        errors.append(np.abs(np.mean(found, axis=0) - natural(mdp, theta)).max())
    assert errors[1] < 0.02
    assert errors[1] < 0.3 * errors[0]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"samples": 0}, "`samples` must be a whole number, at least 1; got 0"),
        ({"horizon": 1.0}, "`horizon` must be a whole number, at least 1; got 1.0"),
        ({"radius": 0}, "`radius` must be positive; got 0"),
        ({"radius": float("nan")}, "`radius` must be positive; got nan"),
        ({"steps": "slow"}, '"decreasing" or "constant"; got \'slow\''),
        ({"gradient": "g"}, '"scaled" or "printed"; got'),
        ({"solver": "lu"}, '"sgd" or "cg"; got'),
        ({"iterations": 0}, "`iterations` must be a whole number, at least 1"),
    ],
)
def test_npg_checks_its_options(settings, message):
    with pytest.raises(lsip.ModelError, match=message):
        NPG(**settings)


# ---- trust regions ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [with_table, with_network])
@pytest.mark.parametrize("radius", [1e-4, 0.01, 0.1])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_trpo_keeps_its_bound_on_the_divergence(make, radius, sign):
    mdp = small()
    update, rate = TRPO(paths=200, horizon=10, radius=radius), 0.5
    for seed in range(4):
        tried = make(mdp)
        batch = tried.batch(update, sign * mdp.r, np.random.default_rng(seed))
        seen, actions = batch.observations, batch.actions
        before = {k: v.detach() for k, v in tried.policy.describe(seen).items()}
        report = tried.step(update, mdp.r, sign, rate, np.random.default_rng(seed))
        with torch.no_grad():
            divergence = float((batch.weights * tried.policy.divergence(seen, before)).sum())
            ratio = torch.exp(tried.policy.log_prob(seen, actions) - batch.log_probs)
            gain = float((batch.weights * batch.advantages * (ratio - 1)).sum())
        assert report["kl"] == pytest.approx(divergence, abs=1e-12)
        assert gain > 0
        assert divergence > 0.2 * radius * rate
        assert divergence <= radius * rate * (1 + 1e-6)


def test_trpo_stays_where_no_step_improves():
    mdp = rl.SICMDP(np.ones((1, 2, 1)), [[0.0, 0.0]], np.ones(1) * T, 99, T, None, 0.5)
    tried = with_table(mdp, np.array([[0.3, -0.3]]))
    report = tried.step(TRPO(paths=20, horizon=5), mdp.r, 1.0, 1.0, np.random.default_rng(0))
    np.testing.assert_array_equal(tried.policy.theta.detach(), [[0.3, -0.3]])
    assert report == {"step": 0.0, "kl": 0.0, "loss": 0.0}


# ---- proximal policy optimisation ------------------------------------------------------------------------------------


def test_ppo_does_not_go_far_beyond_its_clip():
    mdp = rl.SICMDP(np.ones((1, 2, 1)), [[0.0, 1.0]], np.ones(1) * T, 99, T, None, 0.5)
    for clip in (0.05, 0.2):
        tried = with_table(mdp, np.zeros((1, 2)))
        update = PPO(paths=200, horizon=10, clip=clip, epochs=100, minibatches=1, step_size=0.005)
        tried.step(update, mdp.r, 1.0, 1.0, np.random.default_rng(0))
        ratio = tried.table()[0, 1] / 0.5
        assert 1 + 0.9 * clip < ratio < 1 + clip + 0.1  # Adam coasts a little after the gain stops


@pytest.mark.parametrize(("parts", "sizes"), [({"minibatches": 4}, [9, 9, 9, 8]), ({"minibatch": 12}, [12, 12, 11])])
def test_ppo_passes_over_every_sample_once_an_epoch(parts, sizes):
    tried, calls = with_table(small()), []
    ask = tried.policy.log_prob
    update = PPO(paths=7, horizon=5, epochs=3, **parts)
    batch = tried.batch(update, small().r, np.random.default_rng(0))
    tried.policy.log_prob = lambda seen, actions: (calls.append(len(actions)), ask(seen, actions))[1]
    update.step(tried.policy, batch, 1.0, np.random.default_rng(0), {})
    assert calls == [*sizes * 3, 35]  # how far it has moved is looked at once in the end, else on the way


@pytest.mark.parametrize("most", [0.001, 0.01])
def test_ppo_stops_when_it_has_moved_far_enough(most):
    told = []
    for divergence in (most, None):
        update = PPO(paths=100, horizon=8, epochs=30, divergence=divergence)
        told.append(with_table(small()).step(update, small().r, 1.0, 1.0, np.random.default_rng(0))["kl"])
    assert most < told[0] < told[1]


def test_a_penalty_keeps_the_policy_near_what_it_aims_at():
    aims, moved = (1e-3, 1e-2), []
    for aim in aims:
        tried = with_table(small())
        update = PPO(paths=100, horizon=8, epochs=10, clip=None, penalty="kl", divergence=aim)
        told = [tried.step(update, small().r, (-1.0) ** k, 1.0, np.random.default_rng(k)) for k in range(24)]
        moved.append(np.median([each["kl"] for each in told[12:]]))
        assert float(tried.memory["beta"]) != 1.0
    for aim, found in zip(aims, moved, strict=True):
        assert aim / 3 < found < 3 * aim


def test_an_entropy_bonus_flattens_the_policy():
    found = []
    for bonus in (0.0, 1.0):
        tried = with_table(small(), 3 * THETA)
        for k in range(10):
            tried.step(PPO(100, 8, entropy=bonus), 0 * small().r + [0.0, 1e-3], 1.0, 1.0, np.random.default_rng(k))
        with torch.no_grad():
            found.append(float(tried.policy.entropy(torch.arange(3)).mean()))
    assert found[1] > found[0] + 0.05


# ---- every pair of update and evaluation learns ----------------------------------------------------------------------


def toy() -> rl.SICMDP:
    """Action a mostly leads to state a; state 1 pays and is noisy, and the noise has a bound that binds."""
    P = np.array([[[0.9, 0.1], [0.1, 0.9]], [[0.9, 0.1], [0.1, 0.9]]])
    cost = np.array([0.1, 1.0]) * (1 - (T - 0.3) ** 2)
    return rl.SICMDP(P, [0.0, 1.0], cost, 1.0 + 0.1 * T, T, [0.8, 0.2], 0.5)


RATES = {
    "NPG": 1.0,
    "NPG by cg": 0.3,
    "PolicyGradient": 2.0,
    "TRPO": 0.5,
    "PPO": 2.0,
    "PPO with a penalty": 2.0,
}
EVALUATIONS: dict[str, Any] = {
    "population": rl.MonteCarlo(2000, 10),
    "paths": rl.MonteCarlo(500, 10, mode="paths"),
    "TD(0)": rl.TemporalDifference(200, 8),
    "TD(0.8)": rl.TemporalDifference(200, 8, trace=0.8),
    "exact": rl.Exact(),
}


@pytest.mark.parametrize("evaluation", EVALUATIONS)
@pytest.mark.parametrize("update", UPDATES)
def test_every_update_learns_with_every_evaluation(update, evaluation):
    mdp = toy()
    agent = rl.SICPO(
        mdp,
        update=UPDATES[update],
        evaluation=EVALUATIONS[evaluation],
        oracle=lsip.oracles.RandomSearch(20),
        eta=0.01,
        learning_rate=RATES[update],
        seed=3,
    )
    tables = [agent.choose("last")]
    agent.learn(60, callback=lambda agent, row: tables.append(agent.choose("last")))
    best, start = rl.plan(mdp).value, mdp.value(rl.uniform_policy(2, 2))
    good = [row.iteration for row in agent.history if row.good]
    assert 0 < len(good) < 60
    late = np.mean([tables[t] for t in good[-15:]], axis=0)
    noise = 0.02 if evaluation in ("population", "exact") else 0.08
    assert mdp.value(late) > start + 0.75 * (best - start)
    assert mdp.worst_violation(late).value <= 0.01 + noise
