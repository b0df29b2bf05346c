"""Updates under a mode that watches every operation of torch: where tensors are made, and what goes to the host."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

import lsip

torch = pytest.importorskip("torch")

from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

from rl.policies import MLPCategorical, MLPGaussian, Policy, SoftmaxTable, pick_device  # noqa: E402
from rl.updates import NPG, PPO, TRPO, Batch, PolicyGradient  # noqa: E402
from tests.test_updates import Convolved  # noqa: E402

GPUS = [
    pytest.param("cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="torch sees no GPU here")),
    pytest.param("mps", marks=pytest.mark.skipif(not torch.backends.mps.is_available(), reason="there is no MPS here")),
]
DEVICES = ["cpu", *GPUS]


class Watch(TorchDispatchMode):
    """Counts numbers that are read on the host, and notes tensors that appear elsewhere than on a device."""

    def __init__(self, device: str) -> None:
        super().__init__()
        self.device, self.read, self.strays = device, 0, Counter[str]()

    def __torch_dispatch__(self, function: Any, types: Any, given: Any = (), options: Any = None) -> Any:
        found = function(*given, **(options or {}))
        name = function.overloadpacket.__name__
        if name in ("_local_scalar_dense", "equal", "is_nonzero"):
            self.read += 1
        for made in found if isinstance(found, tuple | list) else (found,):
            if isinstance(made, torch.Tensor) and made.device.type != self.device and name != "_to_copy":
                self.strays[name] += 1
            if isinstance(made, torch.Tensor) and name == "_to_copy" and made.device.type == "cpu" != self.device:
                self.read += made.numel()
        return found


N = 64
UPDATES: dict[str, tuple[Any, int]] = {  # and how many numbers it may read: one a trial step
    "PolicyGradient": (PolicyGradient(), 0),
    "NPG": (NPG(samples=N), 1),
    "NPG, a part": (NPG(samples=N // 2), 1),
    "NPG by cg": (NPG(solver="cg"), 0),
    "TRPO": (TRPO(halvings=4), 4),
    "PPO": (PPO(epochs=3), 0),
    "PPO that stops": (PPO(epochs=3, divergence=1e9), 3),
    "PPO with a penalty": (PPO(epochs=3, penalty="kl", divergence=0.01, entropy=0.1), 0),
}
POLICIES: dict[str, Any] = {
    "table": lambda: SoftmaxTable(5, 3).float(),
    "network": lambda: MLPCategorical(4, 3, (8, 8)),
    "real actions": lambda: MLPGaussian(4, 2, (8, 8)),
    "pictures": Convolved,
}


def batch(policy: Policy, kind: str, device: str) -> Batch:
    generator = torch.Generator().manual_seed(0)
    seen = {
        "table": torch.randint(5, (N,), generator=generator),
        "pictures": torch.randn(N, 1, 5, 5, generator=generator),
    }.get(kind, torch.randn(N, 4, generator=generator))
    actions = torch.randint(3, (N,), generator=generator)
    if kind == "real actions":
        actions = torch.randn(N, 2, generator=generator)
    advantages = torch.randn(N, generator=generator)
    parts = [part.to(device) for part in (seen, actions, advantages, torch.full((N,), 1 / N))]
    with torch.no_grad():
        return Batch(*parts, policy.log_prob(parts[0], parts[1]), 10.0)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("kind", POLICIES)
@pytest.mark.parametrize("name", UPDATES)
def test_an_update_stays_on_its_device(name, kind, device):
    torch.manual_seed(0)
    update, most = UPDATES[name]
    policy = POLICIES[kind]().to(device)
    given, memory = batch(policy, kind, device), {}
    before = torch.cat([p.detach().reshape(-1) for p in policy.parameters()])
    with Watch(device) as watch:
        told = update.step(policy, given, 0.05, np.random.default_rng(0), memory)
    # A table is cut into blocks, one a state, and their length is read once.
    assert watch.read <= most + (kind == "table" and name.startswith("NPG") and "cg" not in name)
    # What a permutation on the host becomes on the device is no tensor of the host's.
    assert not {name: count for name, count in watch.strays.items() if name != "lift_fresh"}
    assert all(t.device.type == device for t in told.values())
    assert all(t.device.type == device for t in memory.values() if isinstance(t, torch.Tensor))
    after = torch.cat([p.detach().reshape(-1) for p in policy.parameters()])
    assert torch.isfinite(after).all()
    assert not torch.equal(before, after)


@pytest.mark.parametrize("name", UPDATES)
@pytest.mark.parametrize("kind", POLICIES)
def test_no_update_asks_what_the_numbers_are(name, kind):
    """On the device "meta", which has shapes and no numbers, every read on the host would be an error."""
    update, most = UPDATES[name]
    if most or name == "NPG":
        pytest.skip("it has trial steps")
    torch.manual_seed(0)
    policy = POLICIES[kind]().to("meta")
    given = batch(POLICIES[kind](), kind, "cpu")
    parts = {k: v.to("meta") for k, v in vars(given).items() if isinstance(v, torch.Tensor)}
    told = update.step(policy, Batch(**parts, horizon=10.0), 0.05, np.random.default_rng(0), {})
    assert all(t.device.type == "meta" and t.shape == () for t in told.values())


@pytest.mark.parametrize("device", GPUS)
@pytest.mark.parametrize("kind", POLICIES)
@pytest.mark.parametrize("name", UPDATES)
def test_a_step_on_a_gpu_is_the_step_on_the_cpu(name, kind, device):
    update, found = UPDATES[name][0], []
    if name == "NPG, a part":
        pytest.skip("which part is drawn depends on the device")
    for place in ("cpu", device):
        torch.manual_seed(0)
        policy = POLICIES[kind]().to(place)
        update.step(policy, batch(policy, kind, place), 0.05, np.random.default_rng(0), {})
        found.append(torch.cat([p.detach().reshape(-1).cpu() for p in policy.parameters()]))
    torch.testing.assert_close(*found, rtol=1e-2, atol=1e-3)


@pytest.mark.parametrize("device", ["cuda", "mps", "cuda:0"])
def test_devices_go_by_name(device):
    there = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}[device.partition(":")[0]]
    if there:
        assert pick_device(device).type == device.partition(":")[0]
        return
    with pytest.raises(lsip.ModelError, match=rf"device='{device}'.*torch sees no (GPU|MPS) here"):
        pick_device(device)
