"""A cluster of two nodes on one machine, a raylet each, and what is left when one of them dies."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("ray")

import envs
from rl.si_cppo import SICPPO
from tests.test_rollouts_ray import agent, ships
from tests.test_si_cppo import assert_same_run

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="raylets are killed by signals"),
    pytest.mark.filterwarnings("ignore::rl.NoGoodPolicyWarning"),
    pytest.mark.slow,
]
STEPS, KILLED = 9000, 1  # of the whole run, and the iteration after which a raylet dies
RUN = f"""
import logging, os, signal, sys, warnings

warnings.simplefilter("ignore")
import ray
from ray.cluster_utils import Cluster

from rl.rollouts_ray import RayRollouts, WorkerLostError
from tests.test_rollouts_ray import agent

here, patience, victim, path = int(sys.argv[1]), float(sys.argv[2]), sys.argv[3], sys.argv[4]
cluster = Cluster(initialize_head=True, head_node_args={{"num_cpus": here, "include_dashboard": False}})
nodes = {{"head": cluster.head_node, "other": cluster.add_node(num_cpus=1)}}
ray.init(address=cluster.address, log_to_driver=False, logging_level=logging.ERROR)
made = agent(workers=RayRollouts(actors=1 + here, patience=600))
made.episodes(8, seed=0)  # until there is a worker
made.world.pool._patience = patience


def kill(made, report):
    if report.iteration == {KILLED}:
        for process in nodes[victim].all_processes["raylet"]:
            os.kill(process.process.pid, signal.SIGKILL)


try:
    made.learn({STEPS}, callback=kill, checkpoint=path)
    print("learned")
except WorkerLostError as error:
    print("lost:", error)
made.close()
ray.shutdown()
cluster.shutdown()
"""


def run(*words: str | Path | float) -> subprocess.CompletedProcess[str]:
    """What becomes of a run in a process of its own, which Ray may end."""
    environment = {**os.environ, "RAY_worker_niceness": "0", "PYTHONPATH": str(Path(__file__).parents[1])}
    command = [sys.executable, "-c", RUN, *map(str, words)]
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False, timeout=600, encoding="utf-8"
    )


def test_a_node_that_dies_is_done_without(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    done = run(1, 600, "other", path)
    assert done.returncode == 0, done.stderr
    assert "learned" in done.stdout.splitlines()
    assert_same_run(SICPPO.load(path, ships(), envs.ship.constraint(), device="cpu"), agent().learn(STEPS))


def test_a_cluster_without_workers_ends_in_a_sentence_and_a_checkpoint(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    done = run(0, 3, "other", path)
    assert done.returncode == 0, done.stderr
    assert "lost: Ray has not started any worker for 3 s: its machines may be gone" in done.stdout
    again = SICPPO.load(path, ships(), envs.ship.constraint(), device="cpu")
    assert again.iteration == KILLED + 1
    assert_same_run(again.learn(STEPS), agent().learn(STEPS))


def test_the_node_of_the_learner_itself_leaves_the_last_whole_iteration(tmp_path: Path) -> None:
    """Ray ends the process then, in words of its own, or none."""
    path = tmp_path / "a.npz"
    done = run(0, 3, "head", path)
    assert done.returncode != 0
    again = SICPPO.load(path, ships(), envs.ship.constraint(), device="cpu")
    assert again.iteration > KILLED
    assert_same_run(again.learn(STEPS), agent().learn(STEPS))
