"""Episodes on Ray: the same run as in one process, with any number of workers, and whatever becomes of them."""

from __future__ import annotations

import builtins
import os
import pickle
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import envs
import lsip
import rl
from rl.rollouts import as_vector
from tests.test_rollouts import Walk, assert_same_episodes, vector

torch = pytest.importorskip("torch")
ray = pytest.importorskip("ray")

from rl.rollouts_ray import RayPool, RayRollouts, WorkerLostError, _maker, _shape  # noqa: E402
from rl.si_cppo import SICPPO  # noqa: E402
from tests.test_si_cppo import assert_same_run  # noqa: E402

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="processes are looked up in /proc"),
    pytest.mark.filterwarnings("ignore::rl.NoGoodPolicyWarning"),
]
QUICK = {"episodes": 24, "hidden": (8,), "epochs": 2, "index_points": 1, "evaluation_episodes": 8, "device": "cpu"}


def ships(copies: int = 8) -> Any:
    return gym.make_vec("lsip/ShipRoute-v0", num_envs=copies)


def agent(env: Any = None, constraint: Any = None, **options: Any) -> SICPPO:
    return SICPPO(env if env is not None else ships(), constraint or envs.ship.constraint(), **{**QUICK, **options})


def played(agent: SICPPO, count: int, seed: int, deterministic: bool = False) -> Any:
    """Episodes of the current policy."""
    return agent.world.episodes(agent.world.player(agent.state), count, seed, deterministic)


def alive(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


def descendants() -> set[int]:
    """The processes that this one has started, and theirs."""
    found, parents = {os.getpid()}, {}
    for each in Path("/proc").iterdir():
        if each.name.isdigit():
            with suppress(OSError):
                parents[int(each.name)] = int((each / "stat").read_text().rpartition(")")[2].split()[1])
    while new := {child for child, parent in parents.items() if parent in found} - found:
        found |= new
    return found - {os.getpid()}


def listening(processes: set[int]) -> set[str]:
    """The addresses that processes listen on, IPv4 and IPv6, as the kernel writes them."""
    owned = set()
    for pid in processes:
        with suppress(OSError):
            for each in Path(f"/proc/{pid}/fd").iterdir():
                with suppress(OSError):
                    owned.add(os.readlink(each))
    found = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and f"socket:[{fields[9]}]" in owned:
                found.add(fields[1].partition(":")[0])
    return found


@pytest.fixture(scope="module")
def first() -> Iterator[SICPPO]:
    """An agent with two workers, on a Ray that is started for it: that takes longer than the tests do."""
    before = descendants()
    assert not ray.is_initialized()
    made = agent(workers=RayRollouts(actors=2))
    yield made
    started = descendants() - before
    assert len(started) >= 3
    made.close()
    assert not ray.is_initialized()
    deadline = time.monotonic() + 20
    while any(map(alive, started)) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not [pid for pid in started if alive(pid)]


@pytest.fixture
def on_ray(first: SICPPO) -> Iterator[Callable[..., SICPPO]]:
    """Makes agents; all of them share the workers, which are given the environment that is asked for."""
    pool = first.world.pool

    def lend(make: Callable[[], Any], shape: Any) -> None:
        actors = [*pool._idle, *pool._starting.values()]
        assert len(actors) == len(set(actors)) == 2  # none is forgotten, whatever a test has done
        pool._make, pool._shape = make, shape
        pool._idle.clear(), pool._starting.clear()
        for actor in actors:
            pool._prepare(actor)

    def make_agent(make: Callable[[], Any] = ships, env: Any = None, **options: Any) -> SICPPO:
        made = agent(make() if env is None else env, **options)
        lend(make, _shape(made.env))
        made.world.pool = pool
        return made

    yield make_agent
    lend(ships, _shape(first.env))


def processes(pool: Any) -> list[int]:
    """Of the workers, once they have started."""
    while pool._starting:
        pool._started(pool._next(list(pool._starting)))
    return ray.get([actor.__ray_call__.remote(lambda self: os.getpid()) for actor in pool._idle])


# ---- the same run ----------------------------------------------------------------------------------------------------


LOOPBACK = {"0100007F", "0000000000000000FFFF00000100007F", "00000000000000000000000001000000"}


def test_no_process_that_is_started_listens_to_other_machines(first: SICPPO) -> None:
    """Ray runs whatever code it is sent: servers, workers and this process listen on 127.0.0.1 or ::1 alone."""
    played(first, 16, 0)  # so that all workers are there
    found = listening({*descendants(), os.getpid()})
    assert found
    assert found <= LOOPBACK
    assert "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER" not in os.environ  # only while Ray starts
    assert {node["NodeManagerAddress"] for node in ray.nodes()} == {"127.0.0.1"}


@pytest.mark.parametrize("deterministic", [False, True])
def test_a_batch_is_that_of_one_process(on_ray, deterministic):
    there, here = on_ray(), agent()
    for seed in (0, 7):
        one, other = (played(each, 24, seed, deterministic) for each in (here, there))
        assert one.count == 24
        assert_same_episodes(one, other)
        np.testing.assert_array_equal(one.flat(one.drawn), other.flat(other.drawn))


def test_a_batch_of_another_seed_has_the_same_distribution(on_ray):
    """Were the noise of the workers not what it should be, their mean return would lie elsewhere."""
    mine, theirs = played(agent(), 400, 0).returns(), played(on_ray(), 400, 10_000).returns()
    assert not np.array_equal(mine, theirs)
    standard_error = np.sqrt(mine.var() / len(mine) + theirs.var() / len(theirs))
    assert abs(mine.mean() - theirs.mean()) < 4 * standard_error
    assert len(np.unique(theirs.round(6))) > 300  # workers and rounds do not repeat each other


@pytest.mark.parametrize("normalise", [False, True])
def test_learning_is_that_of_one_process(on_ray, normalise):
    options = {"seed": 3, "normalise": normalise}
    there, here = on_ray(**options), agent(**options)
    assert_same_run(here.learn(6000, evaluate_every=2), there.learn(6000, evaluate_every=2))


def test_a_run_may_be_resumed_on_ray_and_back(tmp_path, on_ray):
    path, whole = tmp_path / "a.zip", agent().learn(9000)
    on_ray().learn(3000, checkpoint=path)
    SICPPO.load(path, ships(), device="cpu").learn(6000, checkpoint=path)
    again = SICPPO.load(path, ships(), device="cpu")
    again.world.pool = on_ray().world.pool
    assert_same_run(whole, again.learn(9000))


# ---- workers that are lost -------------------------------------------------------------------------------------------


def test_lost_workers_cost_nothing_but_time(on_ray, caplog):
    there, lost = on_ray(), []

    def kill(made: SICPPO, report: Any) -> None:
        if report.iteration == 0:
            lost.append(processes(made.world.pool)[0])
            os.kill(lost[-1], signal.SIGKILL)
        if report.iteration == 2:
            lost.append(processes(made.world.pool)[0])
            ray.kill(made.world.pool._idle[0])

    there.learn(9000, callback=kill)
    assert len(set(lost)) == 2
    assert_same_run(agent().learn(9000), there)
    said = [record.getMessage() for record in caplog.records if record.name == "rl.rollouts_ray"]
    assert len(said) == 2  # once a worker
    assert all("played again" in line for line in said)
    now = processes(there.world.pool)
    assert len(now) == 2
    assert not set(now) & set(lost)


class Dying(Walk):
    """It takes its process down, every time or until a file is there."""

    def __init__(self, mark: str | None = None) -> None:
        super().__init__(discrete=False)
        self.mark = mark

    def step(self, action: Any) -> Any:
        if self.time == 1 and (self.mark is None or not Path(self.mark).exists()):
            if self.mark is not None:
                Path(self.mark).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().step(action)


def dying(mark: str | None = None) -> Any:
    return vector(4, kind=Dying, mark=mark)


def unbounded() -> rl.SemiInfiniteCost:
    return rl.SemiInfiniteCost(lsip.Interval(0, 1), lambda y, observations, actions: y + 0 * actions[:, 0], 1e6)


def test_a_worker_may_die_in_the_middle_of_a_round(on_ray, tmp_path):
    mark = tmp_path / "died"
    there = on_ray(partial(dying, str(mark)), constraint=unbounded())
    assert not mark.exists()
    found = played(there, 24, 0)
    assert mark.exists()
    assert_same_episodes(found, played(agent(dying(str(mark)), unbounded()), 24, 0))


def test_an_environment_that_always_dies_is_not_tried_forever(on_ray, monkeypatch):
    there = on_ray(dying, constraint=unbounded(), episodes=4)
    monkeypatch.setattr(there.world.pool, "_tries", 1)
    with pytest.raises(WorkerLostError, match="took 1 workers down in a row"):
        there.learn(1)


# ---- errors of the environment ---------------------------------------------------------------------------------------


class Gone:
    """A Ray whose head is no longer there."""

    exceptions = ray.exceptions

    def put(self, value: Any) -> Any:
        raise ray.exceptions.RaySystemError("the head is dead")


def test_a_ray_that_is_gone_ends_in_a_sentence_and_a_checkpoint(tmp_path):
    path, made = tmp_path / "a.npz", agent()
    pool = object.__new__(RayPool)
    pool._ray, pool._class = Gone(), object()

    def leave(made: SICPPO, report: Any) -> None:
        if report.iteration == 1:
            made.world.pool = pool

    with pytest.raises(WorkerLostError, match=r"Ray is out of reach \(.*head is dead.*\)\. The run can go on"):
        made.learn(9000, callback=leave, checkpoint=path, every=100)
    again = SICPPO.load(path, ships(), envs.ship.constraint(), device="cpu")
    assert again.iteration == 2
    assert_same_run(again.learn(9000), agent().learn(9000))


class Slow(Gone):
    """A Ray that never answers."""

    def wait(self, answers: Any, num_returns: int, timeout: float) -> Any:
        return [], answers


def test_a_ray_without_machines_is_given_up(caplog):
    pool = object.__new__(RayPool)
    pool._ray, pool._patience, pool._starting = Slow(), 5.0, {"answer": "actor"}
    with pytest.raises(WorkerLostError, match="has not started any worker for 5 s"):
        pool._next(["answer"])
    assert "has not started any worker for 1 s" in caplog.text


class Broken(Walk):
    """It can be reset, and no more."""

    def step(self, action: Any) -> Any:
        raise OverflowError("too much")


def broken() -> Any:
    return vector(4, kind=Broken, discrete=False)


def test_an_error_of_the_environment_is_the_one_that_it_would_be_here(on_ray):
    there = on_ray(broken, constraint=unbounded())
    before = set(processes(there.world.pool))
    for _ in range(2):
        with pytest.raises(lsip.ModelError, match="`step` of the environment failed with OverflowError: too much"):
            there.learn(1)
    assert set(processes(there.world.pool)) == before  # the workers live on


def cannot() -> Any:
    raise FileNotFoundError("no simulator here")


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (cannot, FileNotFoundError, "no simulator here"),
        (partial(ships, 4), lsip.ModelError, "not like the learner's"),
        (lambda: "CartPole-v1", lsip.ModelError, "must be a Gymnasium environment"),
    ],
    ids=["fails", "another", "none"],
)
def test_an_environment_that_cannot_be_made(on_ray, make, error, message):
    there = on_ray(make, ships())
    for _ in range(2):
        with pytest.raises(error, match=message):
            there.learn(1)


def test_environments_are_made_again_from_what_gymnasium_knows():
    for env in (
        gym.make("lsip/ShipRoute-v0", max_episode_steps=12, symmetric=True),
        gym.make_vec("lsip/ShipRoute-v0", num_envs=1, max_episode_steps=12, symmetric=True),
        gym.make_vec("CartPole-v1", num_envs=3, vectorization_mode="sync", wrappers=[gym.wrappers.FlattenObservation]),
    ):
        again = pickle.loads(pickle.dumps(_maker(env)))()
        assert again is not env
        assert _shape(as_vector(again)) == _shape(as_vector(env))
        assert again.spec == env.spec


@pytest.mark.parametrize(
    "env",
    [
        vector(4, discrete=False),
        Walk(discrete=False),
        gym.wrappers.vector.RecordEpisodeStatistics(ships()),
        rl.WorstCost(gym.make("lsip/ShipRoute-v0"), envs.ship.constraint()),
    ],
    ids=["vector", "single", "wrapped vector", "wrapped"],
)
def test_other_environments_need_a_maker(env):
    with pytest.raises(lsip.ModelError, match=r"RayRollouts\(make=…\)"):
        agent(env, workers="ray")


# ---- settings, and the end -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"actors": 0}, "`actors` must be a whole number, at least 1; got 0"),
        ({"tries": 0}, "`tries` must be a whole number, at least 1; got 0"),
        ({"actors": 1.5}, "`actors` must be a whole number, at least 1; got 1.5"),
        ({"cpus": 0}, "`cpus` must be positive; got 0"),
        ({"make": "ship"}, "`make` must be a function"),
    ],
)
def test_settings_are_checked(settings, message):
    with pytest.raises(lsip.ModelError, match=message):
        RayRollouts(**settings)


@pytest.mark.parametrize("workers", ["dask", 4, RayRollouts])
def test_workers_are_ray_or_none(workers):
    with pytest.raises(lsip.ModelError, match=r'`workers` is None, "ray" or an rl\.RayRollouts'):
        agent(workers=workers)


def test_an_address_where_no_ray_is(monkeypatch):
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setattr(ray, "init", lambda **options: (_ for _ in ()).throw(ConnectionError(options["address"])))
    with pytest.raises(lsip.ModelError, match="The Ray at 'nowhere:1' cannot be joined: nowhere:1"):
        agent(workers=RayRollouts(address="nowhere:1"))


def test_without_ray(monkeypatch):
    real = builtins.__import__

    def missing(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.partition(".")[0] == "ray":
            raise ModuleNotFoundError(f"No module named {name!r}", name="ray")
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(lsip.MissingExtraError, match=r"pip install 'lsip\[ray\]'"):
        agent(workers="ray")
    assert agent().learn(1).iteration == 1  # nobody else needs it


def test_another_agent_joins_and_leaves(first, caplog):
    """Also the one of `workers="ray"`: no more workers than rounds, and they end when it is closed."""
    other = rl.baselines.PPOLagrangian(ships(), envs.ship.constraint(), **{**QUICK, "episodes": 8}, workers="ray")
    assert other.world.pool.actors == 1
    # Ray may have a late word about a worker of a test before.
    assert not [record for record in caplog.records if record.name.startswith("rl")]
    other.close()
    other.close()
    assert not other.world.pool._starting
    assert ray.is_initialized()  # the first one needs it
    with pytest.raises(lsip.ModelError, match="have been closed"):
        other.learn(1)
    assert other.predict(np.zeros(6))[0].shape == (1,)
    agent(episodes=8, workers=RayRollouts(actors=2)).close()
    assert "1 rounds, too few for 2 actors" in caplog.text
    assert len(processes(first.world.pool)) == 2
