"""The search over Y on a learner's device: the same violations as on the host, and hardly anything is copied back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lsip
import rl

torch = pytest.importorskip("torch")
gymnasium = pytest.importorskip("gymnasium")

import envs  # noqa: E402
from envs.classic import Angles, Distances  # noqa: E402
from rl.device_costs import DeviceCosts, on_device, speaks_tensors  # noqa: E402
from rl.episode_violation import EpisodeViolation  # noqa: E402
from rl.lifted import Lifted, lifted  # noqa: E402
from rl.rollouts import Episodes  # noqa: E402
from rl.upper_violation import UpperViolation  # noqa: E402

CPU = torch.device("cpu")
GPU = pytest.mark.skipif(not torch.cuda.is_available(), reason="torch sees no GPU here")
DEVICES = [CPU, pytest.param(torch.device("cuda"), marks=GPU)]


def hills(y: Any, observations: Any, actions: Any) -> Any:
    return torch.exp(-20 * ((y[:, None, :] - observations[:, :2]) ** 2).sum(dim=-1)) * (1 + 0.1 * actions[:, 0])


def hills_of_numpy(y: Any, observations: Any, actions: Any) -> Any:
    return np.exp(-20 * ((y.reshape(len(y), 1, 2) - observations[:, :2]) ** 2).sum(axis=-1)) * (1 + 0.1 * actions[:, 0])


def constraint(cost: Any = hills, **options: Any) -> rl.SemiInfiniteCost:
    domain = lsip.Box([0, 0], [1, 1])
    return rl.SemiInfiniteCost(domain, cost, lambda y: 0.1 + 0.1 * y[:, 0], gamma=0.9, **options)


def episodes(count: int = 40, T: int = 12, seed: int = 0) -> Episodes:
    rng = np.random.default_rng(seed)
    seen = rng.uniform(size=(T, count, 4))
    live = np.arange(T)[:, None] < rng.integers(1, T + 1, size=count)
    actions = rng.uniform(size=(T, count, 3))
    return Episodes(seen, actions, actions, live * 1.0, live, np.ones(count, dtype=bool), seen[-1])


@pytest.fixture
def copied(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many numbers each copy to the host had."""
    sizes: list[int] = []
    plain = torch.Tensor.cpu
    monkeypatch.setattr(torch.Tensor, "cpu", lambda self: sizes.append(self.numel()) or plain(self))
    return sizes


@pytest.mark.parametrize("device", DEVICES, ids=str)
def test_a_cost_of_torch_is_the_same_on_host_and_device(device):
    there = EpisodeViolation(constraint(tensors=True), episodes(), device)
    here = EpisodeViolation(constraint(hills_of_numpy), episodes(), CPU)
    assert there.on_device is not None
    assert here.on_device is None  # NumPy on the host needs no tensors
    y = np.random.default_rng(1).uniform(size=(30, 2))
    np.testing.assert_allclose(there.values(y), here.values(y), atol=1e-12)
    np.testing.assert_allclose(there.costs(y), here.costs(y), atol=1e-6)
    raised = UpperViolation(there.constraint, episodes(), device, chance=0.03)
    plain = UpperViolation(here.constraint, episodes(), CPU, chance=0.03)
    assert raised.on_device is not None
    np.testing.assert_allclose(raised.values(y), plain.values(y), rtol=1e-9)
    assert (raised.values(y) > there.values(y)).all()
    found = rl.BatchedSearch().maximise(raised)
    assert found.worst >= raised.values(y).max()


LANGUAGE = {
    "hills": constraint(hills_of_numpy),
    "angles": Angles().constraint(),
    "distances": Distances().constraint(),
    "ship": envs.ship.constraint(),
    "spraying": envs.spraying.constraint(),
}


@pytest.mark.parametrize("name", LANGUAGE)
def test_costs_in_the_language_speak_tensors(name):
    c, e = LANGUAGE[name], episodes()
    host = EpisodeViolation(c, e)
    assert speaks_tensors(c, host.observations, host.actions)
    there = DeviceCosts(c, host.observations, host.actions, host.weights, CPU)
    y = c.domain.sample(50, 0)
    np.testing.assert_allclose(there.values(y), host.values(y)[:, 0], rtol=1e-9, atol=1e-9)


def test_other_costs_stay_on_the_host():
    def stubborn(y: Any, observations: Any, actions: Any) -> Any:
        return np.array([[float(np.sum(o)) for o in np.asarray(observations)]] * len(y))

    def wrong(y: Any, observations: Any, actions: Any) -> Any:  # the same shape, and other numbers
        return hills_of_numpy(y, observations, actions) * (2.0 if isinstance(y, np.ndarray) else 1.0)

    host = EpisodeViolation(constraint(hills_of_numpy), episodes())
    for cost in (stubborn, wrong):
        c = constraint(cost)
        assert not speaks_tensors(c, host.observations, host.actions)
        assert on_device(c, host.observations, host.actions, host.weights, torch.device("meta")) is None


def test_derivatives_are_those_of_differences():
    there = EpisodeViolation(constraint(tensors=True), episodes(), CPU)
    here = EpisodeViolation(constraint(hills_of_numpy), episodes())
    y, zero = np.random.default_rng(2).uniform(0.2, 0.8, size=(7, 2)), np.zeros(7, dtype=np.intp)
    found = there.derivatives(y, zero)
    assert found is not None
    for exact, close in zip(found, lsip.oracles.differences.derivatives(here, y, zero), strict=True):
        np.testing.assert_allclose(exact, close, atol=1e-5)


def test_oracles_read_one_number_a_point(copied):
    violation = EpisodeViolation(constraint(tensors=True), episodes(), CPU)
    lsip.oracles.RandomSearch(points=300).maximise(violation, seed=1)
    assert sum(copied) == 300
    copied.clear()
    lsip.oracles.Grid(points=400).maximise(violation)
    assert sum(copied) == 400


def test_the_batched_search_reads_its_answer_and_nothing_else(copied):
    violation = EpisodeViolation(constraint(tensors=True), episodes(), CPU)
    found = rl.BatchedSearch(points=200, starts=8, iterations=60).maximise(violation, seed=0)
    assert copied == [8 * 3]  # points and values, once
    best = violation.values(lsip.Box([0, 0], [1, 1]).grid(401)).max()
    assert best - 1e-3 <= found.worst <= best + 1e-3
    assert (np.diff(found.values) <= 0).all()
    assert found.bound == np.inf
    np.testing.assert_allclose(violation.values(found.points)[:, 0], found.values, atol=1e-12)


def test_the_batched_search_asks_for_no_number_on_the_way():
    """On the device "meta", which has shapes and no numbers, every read would be an error."""
    e = EpisodeViolation(constraint(tensors=True), episodes())
    costs = DeviceCosts(e.constraint, e.observations, e.actions, e.weights, torch.device("meta"))
    best, values = rl.BatchedSearch(points=50, starts=5).climbed(costs, torch.empty(50, 2, device="meta"))
    assert (best.shape, values.shape, best.device.type) == ((5, 2), (5,), "meta")


def test_points_of_a_set_that_is_no_box_are_in_it(copied):
    c = constraint(tensors=True)
    c.domain = lsip.Ball([0.5, 0.5], 0.3)
    violation = EpisodeViolation(c, episodes(), CPU)
    found = rl.BatchedSearch(points=50, starts=4).maximise(violation)
    assert c.domain.contains(found.points).all()
    np.testing.assert_allclose(violation.values(found.points)[:, 0], found.values, atol=1e-12)


@pytest.mark.parametrize("lipschitz", [None, (10.0, 0.1)], ids=["none", "given"])
def test_learners_search_where_they_are(lipschitz, copied):
    ships = gymnasium.make_vec("lsip/ShipRoute-v0", num_envs=8)
    c = constraint(tensors=True, lipschitz=lipschitz)
    agent = rl.SICPPO(ships, c, episodes=8, device="cpu", oracle=rl.BatchedSearch(points=64, starts=4, iterations=5))
    agent.learn(1, evaluate_every=10**9)
    # Eight actions are read at every step. The search reads its four points once, and then the rule what chance does to
    # the points that are left of these and of all that it knew, once too; a critic's targets are never read.
    search, moments = (n for n in copied if n != 8)
    assert search == 4 * (2 + 1)
    assert moments <= 3 * 4


def test_written_in_torch_it_is_the_default_and_is_loaded(tmp_path):
    ships = gymnasium.make_vec("lsip/ShipRoute-v0", num_envs=4)
    agent = rl.SICPPO(ships, constraint(tensors=True), episodes=4, device="cpu")
    assert agent.oracle == rl.BatchedSearch()
    agent.learn(1)
    agent.save(tmp_path / "agent.npz")
    assert rl.SICPPO.load(tmp_path / "agent.npz", ships, constraint(tensors=True)).oracle == rl.BatchedSearch()
    proven = rl.SICPPO(ships, constraint(tensors=True, lipschitz=(10.0, 0.1)), device="cpu")
    assert isinstance(proven.oracle, lsip.oracles.BranchAndBound)


def test_costs_of_torch_are_certified_from_their_lipschitz_constants():
    def bound(y: Any) -> Any:
        return 0.2 + torch.sin(y[:, 0])

    def plain(y: Any) -> Any:
        return 0.2 + np.sin(y[:, 0])

    given: dict[str, Any] = {"gamma": 0.9, "range": (0.0, 1.1), "lipschitz": (20.0, 1.0)}
    box = lsip.Box([0, 0], [1, 1])
    found = rl.certify(rl.SemiInfiniteCost(box, hills, bound, tensors=True, **given), episodes(10, 4), horizon=4)
    other = rl.certify(rl.SemiInfiniteCost(box, hills_of_numpy, plain, **given), episodes(10, 4), horizon=4)
    assert "Lipschitz" in found.assumptions[0]
    assert found.mean_violation == pytest.approx(other.mean_violation, abs=1e-2)
    assert other.bound - 1e-2 <= found.bound < np.inf  # enclosures of what can be traced are sharper
    with pytest.raises(lsip.ModelError, match="give Lipschitz constants"):
        rl.certify(constraint(tensors=True, range=(0.0, 1.1)), episodes(), horizon=12)


def test_wrong_use_is_a_sentence():
    host = EpisodeViolation(constraint(hills_of_numpy), episodes(), CPU)
    with pytest.raises(lsip.ModelError, match=r"written in torch.*tensors=True.*Multistart"):
        rl.BatchedSearch().maximise(host)
    flat = EpisodeViolation(constraint(lambda y, o, a: o[:, 0], tensors=True), episodes(), CPU)
    with pytest.raises(lsip.ModelError, match=r"must give a tensor of shape \(1, \d+\); got a tensor of shape"):
        flat.values(np.zeros((1, 2)))
    broken = EpisodeViolation(constraint(lambda y, o, a: hills(y, o, a) / 0, tensors=True), episodes(), CPU)
    with pytest.raises(lsip.ModelError, match="not finite at y"):
        broken.values(np.zeros((1, 2)))
    with pytest.raises(lsip.ModelError, match="points"):
        rl.BatchedSearch(points=0)


def test_arrays_in_disguise_refuse_to_be_numbers():
    with pytest.raises(TypeError, match="not an array"):
        np.asarray(Lifted(torch.zeros(3)))
    assert float(lifted(lambda x: np.where(x > 1, x**2, 0.1).sum())(torch.tensor([1.0, 3.0], dtype=torch.float64))) == (
        pytest.approx(9.1, abs=1e-12)
    )
