"""Gradients by hand against autograd, and one vector for all parameters."""

from __future__ import annotations

import copy
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from rl import backprop  # noqa: E402
from rl.flat import Flat  # noqa: E402
from rl.policies import MLPCategorical, MLPGaussian, flat_parameters, layers, set_flat_parameters  # noqa: E402

CLOSE: dict[str, Any] = {"rtol": 1e-4, "atol": 1e-6}


def draws(seed: int, *shape: int) -> Any:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def net(*sizes: int) -> Any:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return layers(sizes)


@pytest.mark.parametrize("sizes", [(3, 2), (3, 8, 1), (5, 16, 7, 2), (4, 6, 5, 4, 3)])
def test_gradients_of_a_network_are_those_of_autograd(sizes):
    by_hand, other = net(*sizes), net(*sizes)
    Flat(by_hand)
    inputs, weights = draws(1, 50, sizes[0]), draws(2, 50, sizes[-1])
    (other(inputs) * weights).sum().backward()
    assert backprop.by_hand(by_hand)
    for _ in range(2):  # overwritten, not added to
        values, back = backprop.outputs(by_hand, inputs)
        torch.testing.assert_close(values, other(inputs), **CLOSE)
        back(weights)
        for a, b in zip(by_hand.parameters(), other.parameters(), strict=True):
            torch.testing.assert_close(a.grad, b.grad, rtol=1e-4, atol=1e-5)


def policies(discrete: bool) -> tuple[Any, Any, Any]:
    with torch.random.fork_rng():
        torch.manual_seed(3)
        policy = MLPCategorical(4, 5, (8, 8)) if discrete else MLPGaussian(4, 3, (8, 8), -0.4)
    set_flat_parameters(policy, flat_parameters(policy) + 0.3 * draws(4, len(flat_parameters(policy))))
    actions = torch.randint(5, (60,), generator=torch.Generator().manual_seed(5)) if discrete else draws(5, 60, 3)
    return policy, copy.deepcopy(policy), actions


@pytest.mark.parametrize("discrete", [True, False])
def test_gradients_of_log_probabilities_are_those_of_autograd(discrete):
    by_hand, other, actions = policies(discrete)
    Flat(by_hand)
    seen, slope = draws(6, 60, 4), draws(7, 60)
    expected = other.log_prob(seen, actions)
    (expected * slope).sum().backward()
    found, back = backprop.log_probabilities(by_hand, seen, actions)
    torch.testing.assert_close(found, expected, **CLOSE)
    back(slope)
    for (name, a), b in zip(by_hand.named_parameters(), other.parameters(), strict=True):
        torch.testing.assert_close(a.grad, b.grad, rtol=1e-4, atol=1e-5, msg=lambda text, name=name: f"{name}: {text}")


@pytest.mark.parametrize("discrete", [True, False])
def test_other_networks_go_by_autograd(discrete):
    policy, other, actions = policies(discrete)
    for each in (policy, other):
        each.net[1] = torch.nn.ReLU()
    Flat(policy)
    seen, slope = draws(6, 60, 4), draws(7, 60)
    assert not backprop.by_hand(policy.net)
    (other.log_prob(seen, actions) * slope).sum().backward()
    for _ in range(2):  # overwritten, not added to
        found, back = backprop.log_probabilities(policy, seen, actions)
        assert not found.requires_grad
        back(slope)
        for a, b in zip(policy.parameters(), other.parameters(), strict=True):
            torch.testing.assert_close(a.grad, b.grad)


@pytest.mark.parametrize("most", [None, 0.5, 1e6])
def test_steps_are_those_of_adam_tensor_by_tensor(most):
    one, other = net(3, 8, 2), net(3, 8, 2)
    flat, memory, plain = Flat(one), {}, torch.optim.Adam(other.parameters(), lr=0.01)
    for k in range(20):
        inputs, slope = draws(10 + k, 30, 3), draws(50 + k, 30, 2)
        backprop.outputs(one, inputs)[1](slope)
        flat.adam(memory, 0.01, most)
        plain.zero_grad()
        (other(inputs) * slope).sum().backward()
        if most is not None:
            torch.nn.utils.clip_grad_norm_(other.parameters(), most)
        plain.step()
    torch.testing.assert_close(flat_parameters(one), flat_parameters(other), rtol=1e-3, atol=1e-4)


def test_parameters_and_gradients_are_parts_of_the_vector():
    one, two = net(2, 3, 1), net(4, 1)
    before = torch.cat([flat_parameters(one), flat_parameters(two)])
    flat = Flat(one, two)
    assert torch.equal(flat.vector, before)
    set_flat_parameters(two, torch.zeros(5))
    assert torch.equal(flat.vector[-5:], torch.zeros(5))
    flat.gradient.fill_(1.0)
    assert all((p.grad == 1).all() for p in (*one.parameters(), *two.parameters()))
    flat.adam({}, 0.1)
    torch.testing.assert_close(flat_parameters(two), torch.full((5,), -0.1), rtol=1e-4, atol=1e-5)
