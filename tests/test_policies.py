"""Policies against torch.distributions, on every device there is."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import lsip

torch = pytest.importorskip("torch")

from torch.distributions import Categorical, Independent, Normal, kl_divergence  # noqa: E402

from rl.policies import (  # noqa: E402
    MLPCategorical,
    MLPGaussian,
    Policy,
    SoftmaxTable,
    flat_gradient,
    flat_parameters,
    layers,
    pick_device,
    set_flat_parameters,
)

GPU = pytest.mark.skipif(not torch.cuda.is_available(), reason="torch sees no GPU here")
DEVICES = ["cpu", pytest.param("cuda", marks=GPU)]
KINDS = ["table", "categorical", "gaussian"]


def make(kind: str, device: str, seed: int) -> tuple[Policy, torch.Tensor]:
    """A policy that is not at its start, and observations for it."""
    torch.manual_seed(seed)
    if kind == "table":
        policy, seen = SoftmaxTable(4, 3), torch.randint(4, (20,))
    elif kind == "categorical":
        policy, seen = MLPCategorical(5, 3, hidden=(8,)).double(), torch.randn(20, 5, dtype=torch.float64)
    else:
        policy, seen = MLPGaussian(5, 2, hidden=(8,)).double(), torch.randn(20, 5, dtype=torch.float64)
    with torch.no_grad():
        for p in policy.parameters():
            p.add_(0.5 * torch.randn_like(p))
    return policy.to(device), seen.to(device)


def reference(policy: Policy, seen: torch.Tensor) -> torch.distributions.Distribution:
    if isinstance(policy, MLPGaussian):
        return Independent(Normal(policy.net(seen), policy.log_std.exp()), 1)
    return Categorical(logits=policy.logits(seen))


# ---- distributions ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_probabilities_entropies_and_divergences_are_those_of_torch(kind, device, seed):
    (policy, seen), (other, _) = make(kind, device, seed), make(kind, device, seed + 100)
    law, another = reference(policy, seen), reference(other, seen)
    actions = another.sample()
    for log_prob in (policy.log_prob, policy):
        torch.testing.assert_close(log_prob(seen, actions), law.log_prob(actions))
    torch.testing.assert_close(policy.entropy(seen), law.entropy())
    torch.testing.assert_close(policy.divergence(seen, other.describe(seen)), kl_divergence(another, law))
    torch.testing.assert_close(
        policy.divergence(seen, policy.describe(seen)), torch.zeros(20, device=device, dtype=torch.float64)
    )


@pytest.mark.parametrize("kind", KINDS)
def test_gradients_are_those_of_torch(kind):
    policy, seen = make(kind, "cpu", 5)
    other, _ = make(kind, "cpu", 6)
    actions = reference(policy, seen).sample()
    before = {name: part.detach() for name, part in other.describe(seen).items()}
    law = reference(policy, seen)
    pairs = [
        (policy.log_prob(seen, actions), law.log_prob(actions)),
        (policy.entropy(seen), law.entropy()),
        (policy.divergence(seen, before), kl_divergence(reference(other, seen), law)),
    ]
    for ours, theirs in pairs:
        torch.testing.assert_close(
            flat_gradient(ours.sum(), policy, retain_graph=True),
            flat_gradient(theirs.sum(), policy, retain_graph=True),
        )


def test_a_nearly_deterministic_table_stays_finite():
    policy = SoftmaxTable(1, 3)
    with torch.no_grad():
        policy.theta.copy_(torch.tensor([[0.0, 2000.0, -2000.0]]))
    zero = torch.zeros(1, dtype=torch.long)
    assert policy.entropy(zero).item() == 0
    assert policy.divergence(zero, policy.describe(zero)).item() == 0
    assert policy.log_prob(zero, torch.tensor([0])).item() == -2000


# ---- sampling --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("kind", ["table", "categorical"])
def test_discrete_actions_are_drawn_with_their_probabilities(kind, device):
    policy, seen = make(kind, device, 1)
    generator = torch.Generator(device).manual_seed(0)
    with torch.no_grad():
        many = seen[:1].expand(20_000, *seen.shape[1:])
        counts = np.bincount(policy.sample(many, generator).cpu(), minlength=3)
        p = policy.log_probs(seen[:1])[0].exp().cpu().numpy()
        assert (policy.sample(many, generator, deterministic=True) == int(p.argmax())).all()
    assert stats.chisquare(counts, 20_000 * p).pvalue > 1e-3


@pytest.mark.parametrize("device", DEVICES)
def test_continuous_actions_are_normal(device):
    policy, seen = make("gaussian", device, 1)
    with torch.no_grad():
        policy.log_std.copy_(torch.tensor([-1.0, 0.3]))
        many = seen[:1].expand(5000, 5)
        actions = policy.sample(many, torch.Generator(device).manual_seed(0)).cpu().numpy()
        mean = policy.net(seen[:1])[0].cpu().numpy()
        np.testing.assert_array_equal(
            policy.sample(many[:3], torch.Generator(device), deterministic=True).cpu(), policy.net(many[:3]).cpu()
        )
    for d, std in enumerate(np.exp([-1.0, 0.3])):
        assert stats.kstest(actions[:, d], "norm", (mean[d], std)).pvalue > 1e-3
    assert abs(np.corrcoef(actions.T)[0, 1]) < 0.06


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("kind", KINDS)
def test_the_same_generator_draws_the_same_actions(kind, device):
    policy, seen = make(kind, device, 2)
    one, other, third = (policy.sample(seen, torch.Generator(device).manual_seed(s)) for s in (3, 3, 4))
    assert torch.equal(one, other)
    assert not torch.equal(one, third)


# ---- where they begin ------------------------------------------------------------------------------------------------


def test_first_policies_hardly_depend_on_the_observation():
    torch.manual_seed(0)
    assert (SoftmaxTable(4, 3).theta == 0).all()
    seen = torch.randn(50, 6)
    with torch.no_grad():
        probabilities = MLPCategorical(6, 4).log_probs(seen).exp()
        assert (probabilities - 0.25).abs().max() < 0.02
        assert MLPGaussian(6, 2, log_std=-1.0).describe(seen)["mean"].abs().max() < 0.05
    assert (MLPGaussian(6, 2, log_std=-1.0).log_std == -1).all()


def test_layers_have_an_activation_between_them_only():
    net = layers([3, 5, 2])
    assert [type(m).__name__ for m in net] == ["Linear", "Tanh", "Linear"]
    assert [type(m).__name__ for m in layers([3, 2], torch.nn.ReLU)] == ["Linear"]


# ---- parameters as one vector ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("kind", KINDS)
def test_flat_parameters_go_there_and_back(kind, device):
    (policy, _), (other, _) = make(kind, device, 3), make(kind, device, 4)
    vector = flat_parameters(policy)
    assert vector.shape == (sum(p.numel() for p in policy.parameters()),)
    set_flat_parameters(other, vector)
    for one, two in zip(policy.parameters(), other.parameters(), strict=True):
        assert torch.equal(one, two)
    before = vector.clone()
    with torch.no_grad():
        for p in policy.parameters():
            p.add_(1)
    assert torch.equal(vector, before)  # a copy
    assert torch.equal(flat_parameters(policy), before + 1)
    assert all(p.requires_grad for p in other.parameters())


def test_flat_gradient_is_zero_for_what_does_not_matter():
    policy, seen = make("gaussian", "cpu", 3)
    gradient = flat_gradient(policy.entropy(seen).sum(), policy)
    expected = [torch.full_like(p, 20.0 if n == "log_std" else 0.0).reshape(-1) for n, p in policy.named_parameters()]
    torch.testing.assert_close(gradient, torch.cat(expected))


# ---- devices ---------------------------------------------------------------------------------------------------------


def test_pick_device():
    assert pick_device("cpu") == torch.device("cpu")
    assert pick_device(torch.device("cpu")) == torch.device("cpu")
    assert pick_device().type == ("cuda" if torch.cuda.is_available() else "cpu")


@pytest.mark.parametrize("name", ["gpu", "tpu9", "", "cpu:x", None, 1.5])
def test_pick_device_explains_names_that_mean_nothing(name):
    with pytest.raises(lsip.ModelError, match='"auto", "cpu", "cuda"'):
        pick_device(name)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
@pytest.mark.parametrize("name", ["cuda", "cuda:0", "cuda:1"])
def test_pick_device_says_when_there_is_no_gpu(name):
    with pytest.raises(lsip.ModelError, match="torch sees no GPU here"):
        pick_device(name)


@GPU
def test_pick_device_says_when_there_are_fewer_gpus():
    with pytest.raises(lsip.ModelError):
        pick_device(f"cuda:{torch.cuda.device_count()}")
