"""Environments of tensors: step for step those of NumPy, without a copy to the host, and never on two devices."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import lsip
import rl

torch = pytest.importorskip("torch")
gymnasium = pytest.importorskip("gymnasium")

from torch._subclasses.fake_tensor import FakeTensorMode  # noqa: E402
from torch.overrides import TorchFunctionMode  # noqa: E402
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

from envs import queue  # noqa: E402
from envs.classic import PendulumVector  # noqa: E402
from envs.ship import ShipRouteVector  # noqa: E402
from envs.spraying import SprayingVector  # noqa: E402
from envs.tensors import PendulumTensors, QueueTensors, ShipRouteTensors, SprayingTensors  # noqa: E402
from rl.advantage import gae  # noqa: E402
from rl.lifted import doubles  # noqa: E402
from rl.rollout import Recorder, Rollout, play  # noqa: E402
from rl.tensor_env import TensorDynamics, TensorEnv  # noqa: E402

CPU = torch.device("cpu")
COPIES = 5
ENVS: dict[str, Any] = {
    "ship": (ShipRouteTensors, ShipRouteVector),
    "spraying": (SprayingTensors, SprayingVector),
    "pendulum": (PendulumTensors, PendulumVector),
    "queue": (QueueTensors, queue.QueueVector),
}


class Told:
    """A generator of NumPy that gives the numbers it is told."""

    def __init__(self, numbers: list[np.ndarray]) -> None:
        self.numbers = numbers

    def random(self, shape: Any) -> np.ndarray:
        return self.numbers.pop(0)

    def uniform(self, low: Any, high: Any, shape: Any) -> np.ndarray:
        return low + (np.asarray(high) - low) * self.numbers.pop(0).T


@pytest.mark.parametrize("name", ENVS)
def test_tensors_and_arrays_agree_step_for_step(name, monkeypatch):
    there, here = (make(COPIES, max_episode_steps=17) for make in ENVS[name])
    assert isinstance(there, TensorEnv)
    assert there.single_observation_space == here.single_observation_space
    assert there.single_action_space == here.single_action_space
    rng, drawn = np.random.default_rng(0), list[np.ndarray]()
    table = {n: rng.random((200, COPIES, n)) for n in (0, 2, 3)}

    def uniform(count: int) -> Any:
        drawn.append(table[count][len(drawn)])
        return torch.as_tensor(drawn[-1])

    monkeypatch.setattr(there, "_uniform", uniform)
    monkeypatch.setattr(type(here), "np_random", property(lambda self: told), raising=False)
    told = Told([])
    seen, _ = there.reset()
    told.numbers = [drawn[0]]
    np.testing.assert_allclose(seen, here.reset()[0], atol=1e-6)
    ended = np.zeros(COPIES, dtype=bool)
    low, high = there.single_action_space.low, there.single_action_space.high
    for _ in range(17):
        actions = (low + rng.random((COPIES, *low.shape)) * (high - low)) * (1.3 if name != "ship" else 0.2)
        seen, rewards, terminated, truncated, info = there.step(torch.as_tensor(actions))
        told.numbers = [drawn[-2]]  # of the step; the last are those of new episodes
        final, paid, arrived, late, _ = here.step(actions)
        going = ~ended
        np.testing.assert_allclose(info["final_obs"][going], final[going], atol=1e-6)
        np.testing.assert_allclose(rewards[going], paid[going], atol=1e-9)
        np.testing.assert_array_equal(terminated[going], arrived[going])
        np.testing.assert_array_equal(truncated[going], late[going])
        ended |= arrived | late
        torch.testing.assert_close(seen[~(terminated | truncated)], info["final_obs"][~(terminated | truncated)])
    assert ended.all()


@pytest.mark.parametrize("name", ENVS)
def test_a_seed_gives_the_same_episodes_and_copies_begin_again_by_themselves(name):
    env = ENVS[name][0](COPIES, device="cpu", max_episode_steps=6)
    actions = torch.full((COPIES, *env.single_action_space.shape), 0.3)
    runs = []
    for _ in range(2):
        first, _ = env.reset(seed=7)
        steps = [env.step(actions) for _ in range(8)]
        runs.append([first, *(s[0] for s in steps), *(s[1] for s in steps)])
    torch.testing.assert_close(runs[0], runs[1], rtol=0, atol=0)
    assert steps[5][3].all()
    assert (env.steps == 2).all()
    other, _ = env.reset(seed=8)
    assert env.chance[0] == 0 or not torch.equal(other, runs[0][0])


def test_poisson_numbers_by_inversion_are_those_of_the_distribution():
    from scipy import stats

    u = (np.arange(20_000) + 0.5) / 20_000
    for mean in (0.0, 0.3, 5.0):
        found = queue.poisson(np.full(u.shape, mean), u, np, queue.COUNTS, queue.LOG_FACTORIALS)
        np.testing.assert_array_equal(found, stats.poisson.ppf(u, mean))


def test_an_environment_must_be_started_and_be_where_the_learner_is():
    with pytest.raises(gymnasium.error.ResetNeeded, match="call `reset` first"):
        ShipRouteTensors(2, device="cpu").step(torch.zeros(2, 1))
    with pytest.raises(lsip.ModelError, match="num_envs"):
        ShipRouteTensors(0)
    env = ShipRouteTensors(2, device="cpu")
    env.device = torch.device("meta")
    with pytest.raises(lsip.ModelError, match="give both the same `device`"):
        rl.SICPPO(env, env.constraint(), device="cpu")


# ---- episodes --------------------------------------------------------------------------------------------------------


def ahead(seen: Any) -> Any:
    return torch.full((len(seen), 1), math.pi / 4)


def test_played_tensors_are_the_episodes_of_the_arrays(monkeypatch):
    never = torch.zeros(3, dtype=torch.bool)
    env = ShipRouteTensors(3, device="cpu")
    for expected in (1, 5, 14, 100):
        rollout, found = play(env, ahead, ahead, 0, 0.9, expected)
        episodes = rollout.host()
        assert (rollout.steps, len(rollout.live), found.arrived) == (3 * 14, 14, 1.0)
        assert found.reward == pytest.approx(episodes.returns(0.9).mean())
        assert found.undiscounted == pytest.approx(2.53, abs=0.01)
        assert found.horizon == pytest.approx(sum(0.9**t for t in range(14)))
    plain = env.step
    monkeypatch.setattr(env, "step", lambda actions: (*plain(actions)[:3], never, {}))
    env.max_episode_steps = 5
    with pytest.raises(lsip.ModelError, match="did not end within"):
        play(env, ahead, ahead, 0, 1.0, 5)


def test_a_buffer_knows_which_steps_exist():
    rng = np.random.default_rng(0)
    live = np.arange(6)[:, None] < np.array([6, 1, 3])
    values = rng.normal(size=(6, 3, 2))
    parts = {"observations": values, "actions": values, "drawn": values, "rewards": values[..., 0], "live": live}
    episodes = rl.rollouts.Episodes(**parts, terminated=np.array([True, False, True]), last=values[-1])
    buffer = Rollout.of(episodes, CPU)
    np.testing.assert_allclose(buffer.flat(buffer.observations), values[live])
    np.testing.assert_array_equal(buffer.times, np.nonzero(live)[0])
    np.testing.assert_array_equal(buffer.final.numpy().nonzero()[0], [0, 2, 5])
    flat = torch.as_tensor(values[live].T)
    torch.testing.assert_close(buffer.unpadded(buffer.padded(flat)), flat)
    both = Rollout.joined([buffer, Rollout.of(episodes, CPU)])
    np.testing.assert_array_equal(both.host().live, np.concatenate([live, live], axis=1))
    assert both.steps == 2 * buffer.steps == int(both.live.sum())


# ---- what is read ----------------------------------------------------------------------------------------------------


class Reads(TorchDispatchMode):
    """Counts what would wait for a device: numbers that are read, and sizes that depend on numbers."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def __torch_dispatch__(self, function: Any, types: Any, given: Any = (), options: Any = None) -> Any:
        name = function.overloadpacket.__name__
        by_mask = name in ("index", "index_put", "index_put_", "_index_put_impl_") and any(
            i is not None and i.dtype in (torch.bool, torch.uint8) for i in given[1]
        )
        if by_mask or name in ("_local_scalar_dense", "nonzero", "masked_select", "equal", "is_nonzero", "_unique2"):
            self.found.append(name)
        return function(*given, **(options or {}))


class Copies(TorchFunctionMode):
    """Counts tensors that become arrays or lists: on a CPU that is no operation, so no dispatch mode sees it."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def __torch_function__(self, function: Any, types: Any, given: Any = (), options: Any = None) -> Any:
        name = getattr(function, "__name__", "")
        if name in ("numpy", "tolist", "__array__"):
            self.found.append(name)
        return function(*given, **(options or {}))


@pytest.mark.parametrize("steps", [20, 80])
@pytest.mark.parametrize("update", [None, rl.TRPO(halvings=3), rl.NPG(solver="cg", samples=20, horizon=5)])
def test_an_iteration_reads_a_handful_of_times_however_long_episodes_are(steps, update, monkeypatch):
    env = PendulumTensors(8, device="cpu", max_episode_steps=steps)
    kind = {"epochs": 3, "divergence": 0.01} if update is None else {}
    agent = rl.SICPPO(
        env, env.constraint(), device="cpu", update=update, episodes=8, hidden=(8,), normalise=True,
        normalise_rewards=True, normalise_costs=True, oracle=rl.BatchedSearch(32, 4, 3), **kind,
    )  # fmt: skip
    agent.learn(8 * steps, evaluate_every=1000)
    for module in ("ppo", "trpo"):  # what a GPU is never asked
        monkeypatch.setattr(f"rl.updates.{module}.settled", lambda flag: False)
    with Reads() as reads, Copies() as copies:
        agent._iterate(0.0, 0.5)
    assert len(reads.found) + len(copies.found) <= 5, (reads.found, copies.found)


@pytest.mark.parametrize("update", [rl.PPO(epochs=4, divergence=1e-5), rl.PPO(epochs=4), rl.TRPO(radius=0.5)])
def test_an_update_is_the_same_whether_it_may_ask_or_not(update, monkeypatch):
    found = []
    for may_ask in (True, False):
        if not may_ask:
            for module in ("ppo", "trpo"):
                monkeypatch.setattr(f"rl.updates.{module}.settled", lambda flag: False)
        env = QueueTensors(8, device="cpu")
        agent = rl.SICPPO(env, env.constraint(), device="cpu", update=update, episodes=8, hidden=(8,), seed=3)
        agent.learn(3 * 320, evaluate_every=100)
        found.append((agent.policy.state_dict(), dict(agent.state.memory), agent.history[-1].numbers["kl"]))
    (policy, memory, moved), (same_policy, same_memory, same_moved) = found
    torch.testing.assert_close(policy, same_policy, rtol=0, atol=0)
    torch.testing.assert_close(memory, same_memory, rtol=0, atol=0)
    assert moved == same_moved


class Indexed(TorchFunctionMode):
    """Indices as the operations that they stand for: a torch that knows no GPU has no others for imagined ones."""

    def __torch_function__(self, function: Any, types: Any, given: Any = (), options: Any = None) -> Any:
        axis, ops = 0, torch.ops.aten
        if function is torch.Tensor.__invert__:
            return ops.bitwise_not(*given)
        if function is not torch.Tensor.__getitem__:
            return function(*given, **(options or {}))
        values, keys = given
        for key in keys if isinstance(keys, tuple) else (keys,):
            if isinstance(key, int):
                values = ops.select.int(values, axis, key)
                continue
            if key is None:
                values = ops.unsqueeze(values, axis)
            elif isinstance(key, slice):
                values = ops.slice.Tensor(values, axis, key.start, key.stop, key.step or 1)
            else:
                values = ops.index.Tensor(values, [None] * axis + [key])
            axis += 1
        return values


@pytest.mark.parametrize("name", ENVS)
def test_nothing_is_on_two_devices_and_nothing_is_read_while_playing(name, monkeypatch):
    """On a GPU that only torch imagines: an operation on tensors of two devices, or one that reads, is an error."""
    cuda = torch.device("cuda", 0)
    monkeypatch.setattr("rl.tensor_env.pick_device", torch.device)
    with FakeTensorMode(allow_non_fake_inputs=False), Indexed():
        env = ENVS[name][0](COPIES, device=cuda, max_episode_steps=9)
        size = env.single_action_space.shape
        recorder = Recorder(env, lambda seen: torch.rand((COPIES, *size), device=cuda), lambda actions: actions, None)
        recorder.go(9)
        rollout = recorder.rollout()
        assert rollout.summary(0.9).device == cuda
        flat = rollout.flat(rollout.observations)
        signals = rollout.padded(flat.new_zeros(2, 0))
        values = torch.rand_like(signals)
        over, cut = (rollout.final & rollout.terminated)[:, None], (rollout.final & ~rollout.terminated)[:, None]
        after = torch.rand((2, COPIES), device=cuda)
        gammas = torch.ones((2, 1), device=cuda)
        found = gae(signals, values, after, gammas, 0.95, over, cut, after.expand(9, -1, -1))
        assert (found.device, found.shape) == (cuda, (9, 2, COPIES))
        with pytest.raises(RuntimeError, match="device"):
            gae(signals, values, after.cpu(), gammas, 0.95)


@pytest.mark.filterwarnings("ignore::rl.NoGoodPolicyWarning")
def test_an_environment_of_tensors_is_learned_evaluated_and_certified():
    env = ShipRouteTensors(16, device="cpu")
    agent = rl.SICPPO(env, env.constraint(), device="cpu", episodes=16, hidden=(16,), seed=0)
    assert isinstance(agent.oracle, rl.BatchedSearch)
    agent.learn(3_000, evaluate_every=2)
    assert agent.iteration >= 2
    assert agent.total_steps >= 3_000
    report = agent.evaluate(16)
    assert report.violation >= agent.evaluations[-1].violation - 1
    assert agent.predict(np.zeros(6))[0].shape == (1,)
    assert np.isfinite(agent.certify(16).bound)


def test_costs_that_only_numpy_can_compute_are_computed_on_the_host():
    env = QueueTensors(8, device="cpu")

    def cost(y: Any, observations: Any, actions: Any) -> Any:
        return np.maximum(np.asarray(observations)[:, 0] - y, 0.0)

    agent = rl.SICPPO(env, rl.SemiInfiniteCost(lsip.Interval(0, 5), cost, 100.0), device="cpu", episodes=8, hidden=(8,))
    assert not agent.world.costs_in_tensors
    assert agent.learn(500, evaluate_every=2).iteration >= 1


class Corridor(TensorDynamics):
    """A walk of one's own, in the language of the protocol."""

    chance = (1, 1)
    single_observation_space = gymnasium.spaces.Box(-9.0, 9.0, (1,), np.float32)
    single_action_space = gymnasium.spaces.Discrete(2)

    def first(self, uniform: Any) -> Any:
        return uniform

    def observe(self, state: Any, steps: Any) -> Any:
        return state.float()

    def advance(self, state: Any, actions: Any, uniform: Any) -> Any:
        state = state + 0.5 * (2.0 * actions[:, None] - 1) + 0.1 * uniform
        return state, state[:, 0], state[:, 0].abs() > 2


@pytest.mark.parametrize("update", [None, rl.PolicyGradient(), rl.TRPO()])
def test_an_environment_of_ones_own_takes_three_functions(update):
    env = Corridor(8, device="cpu", max_episode_steps=30)
    limits = rl.SemiInfiniteCost(
        lsip.Interval(0, 2), lambda y, o, a: torch.relu(o[:, 0] - y), lambda y: 0 * y[:, 0] + 2, tensors=True
    )
    agent = rl.SICPPO(env, limits, device="cpu", episodes=12, hidden=(8,), update=update)
    agent.learn(1_000)
    assert {report.arrived <= 1 for report in agent.history} == {True}
    assert env.state.dtype == doubles(CPU)


# ---- lower precision, and compiled -----------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of the compiler of torch
@pytest.mark.filterwarnings("ignore:The .grad attribute")  # which looks at more than it uses
@pytest.mark.parametrize("options", [{"amp": True}, {"compile": True}], ids=str)
def test_a_run_in_lower_precision_or_compiled_is_nearly_the_same(options, monkeypatch):
    quick = torch.compile  # traced as ever, and run without a compiler: that takes minutes on a busy machine
    monkeypatch.setattr(torch, "compile", lambda call, **more: quick(call, **{**more, "backend": "eager"}))
    env = QueueTensors(16, device="cpu", max_episode_steps=10, compile="compile" in options)
    plain, other = (
        rl.SICPPO(env, env.constraint(), device="cpu", episodes=16, hidden=(8,), critic_epochs=2, epochs=2, **more)
        for more in ({}, options)
    )
    for agent in (plain, other):
        agent.learn(2 * 160, evaluate_every=100)
        assert all(p.dtype == torch.float32 for p in agent.policy.parameters())
    rough = 0.05 if "amp" in options else 1e-3
    for now, expected in zip(other.policy.parameters(), plain.policy.parameters(), strict=True):
        torch.testing.assert_close(now, expected, rtol=rough, atol=rough)
    assert other.history[-1].reward == pytest.approx(plain.history[-1].reward, abs=0.5)
    assert other.history[0].numbers["critic_loss"] == pytest.approx(plain.history[0].numbers["critic_loss"], rel=0.05)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of the compiler of torch
def test_compiled_dynamics_are_the_same_episodes():
    made = [ShipRouteTensors(4, device="cpu", compile=flag) for flag in (False, True)]
    actions = torch.rand((12, 4, 1), generator=torch.Generator().manual_seed(0))
    runs = []
    for env in made:
        env.reset(seed=0)
        runs.append([env.step(each)[:2] for each in actions])
    torch.testing.assert_close(runs[0], runs[1])
