"""Work in other processes: the same answers whoever works, whatever becomes of single workers, and no orphans."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lsip
from lsip.workers import Alone, Shipped, WorkerLostError, opened
from lsip.workers.pool import TUNING

ROOT = Path(__file__).resolve().parent.parent


def square(item):
    return item * item


def slow_square(item):
    time.sleep(0.05)
    return item * item


def refused(item):
    raise lsip.ModelError(f"{item} is refused.")


def deadly(item):
    os.kill(os.getpid(), signal.SIGTERM)


def coefficients(y):
    y = np.asarray(y, dtype=float)
    return -((y @ np.ones((1, 1))) ** np.arange(3))


def sides(y):
    return -np.tan(np.asarray(y, dtype=float)[:, 0])


def slow_sides(y):
    y = np.asarray(y, dtype=float)
    time.sleep(1e-3 * len(y))
    return -np.tan(y[:, 0])


def black_box(right=sides):
    x = lsip.Variable(3, name="x")
    family = lsip.Family(lsip.Interval(0, 1), coefficients, right)
    return lsip.Problem(lsip.minimize(x[0] + x[1] / 2 + x[2] / 3), [family.on(x)])


def bits(solution):
    return solution.status, solution.x.tobytes(), solution.lower, solution.upper, len(solution.history)


@pytest.fixture(scope="module")
def pair():
    with opened(2) as pool:
        yield pool


def ready(pool):
    """Whoever asks works alone until there is somebody."""
    while len(pool._idle) < pool.size:
        pool.map(Shipped(slow_square), list(range(4)))
    return pool


@settings(max_examples=15, deadline=None)
@given(items=st.lists(st.integers(-(10**6), 10**6), max_size=12))
def test_results_come_in_the_order_of_the_items(pair, items):
    told = {}
    assert pair.map(Shipped(square), items, told.__setitem__) == [square(i) for i in items]
    assert told == dict(enumerate(map(square, items)))
    assert Alone().map(Shipped(square), items) == [square(i) for i in items]


def test_errors_of_the_work_are_raised_as_they_are_and_the_pool_goes_on(pair):
    with pytest.raises(lsip.ModelError, match="is refused"):
        pair.map(Shipped(refused), [1, 2, 3])
    assert pair.map(Shipped(square), [4, 5]) == [16, 25]


def test_a_killed_worker_is_replaced():
    with opened(2) as pool:
        ready(pool)
        killed = []

        def kill(k, result):
            if k == 20:
                killed.append(pool._idle[-1])
                killed[-1].process.kill()

        assert pool.map(Shipped(slow_square), list(range(40)), kill) == [i * i for i in range(40)]
        assert killed


def test_work_that_takes_workers_down_is_given_up():
    with opened(2) as pool:
        ready(pool)
        with pytest.raises(WorkerLostError, match=f"took {TUNING.tries} workers down"):
            pool.map(Shipped(deadly), [3, 3])


@pytest.mark.parametrize("workers", [0, -1, 1.5, "four", True, np.array([1.0, 2.0]), np.array([[None]])])
def test_workers_are_a_number_or_a_cluster(workers):
    with pytest.raises(lsip.ModelError, match="workers"):
        lsip.Exchange(workers=workers)


def test_what_cannot_be_sent_is_told():
    problem = black_box(lambda y: sides(y))
    with pytest.raises(lsip.ModelError, match="at the top of a module") as told:
        problem.solve(workers=2, verbose=False)
    assert len(str(told.value).splitlines()) == 1
    assert problem.solve(workers=1, verbose=False).value == pytest.approx(0.6490421, abs=1e-6)


def test_black_boxes_have_the_same_answer_for_every_number_of_workers():
    alone = bits(black_box().solve(verbose=False, workers=1))
    for workers in (2, 3):
        assert bits(black_box().solve(verbose=False, workers=workers)) == alone
    steps = lsip.exchange(black_box(), lsip.Exchange(workers=2))
    assert len(list(steps)) == alone[-1]


def test_time_limits_hold_with_workers():
    problem, began = black_box(slow_sides), time.perf_counter()
    problem.compile()
    solution = problem.solve(verbose=False, workers=2, time_limit=0.3)
    assert solution.status is lsip.Status.TIME_LIMIT
    assert time.perf_counter() - began < 30


SCRIPT = """
import sys, time
sys.path.insert(0, {root!r})
from tests import test_workers
from lsip.workers import Shipped, opened
{guard}
    with opened(2) as pool:
        test_workers.ready(pool)
        print(*(w.process.pid for w in pool._idle), flush=True)
        time.sleep(60)
"""


def run(tmp_path, guard):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.format(root=str(ROOT), guard=guard), encoding="utf-8")
    return subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_scripts_that_run_when_they_are_imported_are_told(tmp_path):
    process = run(tmp_path, "if True:")
    _, said = process.communicate(timeout=120)
    assert 'if __name__ == "__main__":' in said
    assert said.count("Traceback") == 1


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no such signal here")
def test_workers_end_with_whoever_started_them(tmp_path):
    process = run(tmp_path, "if __name__ == '__main__':")
    assert process.stdout is not None
    workers = [int(pid) for pid in process.stdout.readline().split()]
    assert workers
    process.kill()
    process.communicate()
    for _ in range(100):
        if not any(map(alive, workers)):
            break
        time.sleep(0.1)
    assert not any(map(alive, workers))


def alive(pid):
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    try:
        return ") Z" not in Path("/proc", str(pid), "stat").read_text(encoding="utf-8")
    except OSError:
        return False
