"""Ctrl-C while learning: the checkpoint is written, and the run goes on as if nothing had happened."""

from __future__ import annotations

import signal
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lsip
import rl

torch = pytest.importorskip("torch")
pytest.importorskip("gymnasium")

from tests import test_si_cpo as table  # noqa: E402
from tests import test_si_cppo as deep  # noqa: E402
from tests.test_updates import toy  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::rl.NoGoodPolicyWarning")


class Counted:
    """Raises an interrupt at its n-th call, and never again."""

    def __init__(self, at: int) -> None:
        self.left = at

    def __call__(self, *args: Any) -> None:
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt


def interrupted(owner: Any, name: str, at: int, before: bool) -> Callable[[], None]:
    """Make a method of one object raise an interrupt before or after its n-th call; what is returned undoes that."""
    method, count = getattr(owner, name), Counted(at)

    def wrapped(*args: Any, **options: Any) -> Any:
        if before:
            count()
        found = method(*args, **options)
        if not before:
            count()
        return found

    object.__setattr__(owner, name, wrapped)
    return lambda: object.__delattr__(owner, name)


# ---- SI-CPO ----------------------------------------------------------------------------------------------------------

PLACES = [
    ("evaluation", "evaluate"),
    ("oracle", "maximise"),
    ("update", "step"),
    ("world", "remember"),
    ("", "_iterate"),
]


@pytest.mark.parametrize("before", [True, False], ids=["before", "after"])
@pytest.mark.parametrize(("part", "name"), PLACES)
def test_si_cpo_goes_on_from_the_checkpoint_of_an_interrupt(part, name, before, tmp_path):
    path, options = tmp_path / "c.npz", {"seed": 3, "update": rl.NPG(30, 5), "evaluation": rl.MonteCarlo(200, 6)}
    whole = table.agent(**options).learn(8)
    assert 2 <= whole.good_count < 8  # both kinds of steps
    made = table.agent(oracle=lsip.oracles.RandomSearch(points=100), **options)
    mend = interrupted(getattr(made, part) if part else made, name, 2 if name == "remember" else 4, before)
    with pytest.raises(KeyboardInterrupt):
        made.learn(8, checkpoint=path, every=100)
    mend()
    assert 0 < made.iteration < 8
    assert [p.name for p in tmp_path.iterdir()] == ["c.npz"]
    again = rl.SICPO.load(path, toy(), device="cpu")
    table.assert_same_run(again, made)  # the agent in memory is as good as the file
    table.assert_same_run(again.learn(8 - again.iteration), whole)
    table.assert_same_run(made.learn(8 - made.iteration), whole)


def test_an_interrupt_of_a_callback_keeps_the_iteration(tmp_path):
    path, stop = tmp_path / "c.npz", Counted(3)
    with pytest.raises(KeyboardInterrupt):
        table.agent(seed=1).learn(8, checkpoint=path, callback=lambda *a: stop())
    again = rl.SICPO.load(path, toy())
    assert again.iteration == 3
    table.assert_same_run(again.learn(5), table.agent(seed=1).learn(8))


def test_a_signal_is_such_an_interrupt(tmp_path):
    path = tmp_path / "c.npz"

    def press(agent: Any, row: Any) -> None:
        if row.iteration == 4:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        table.agent(seed=1).learn(9, checkpoint=path, callback=press)
    table.assert_same_run(rl.SICPO.load(path, toy()).learn(4), table.agent(seed=1).learn(9))


def test_without_a_checkpoint_the_agent_can_still_go_on():
    made, stop = table.agent(seed=1), Counted(3)
    with pytest.raises(KeyboardInterrupt):
        made.learn(8, callback=lambda *a: stop())
    table.assert_same_run(made.learn(5), table.agent(seed=1).learn(8))


# ---- SI-CPPO ---------------------------------------------------------------------------------------------------------


class Stops(deep.Pull):
    """Interrupted at its n-th step."""

    def __init__(self, at: int) -> None:
        super().__init__()
        self.count = Counted(at)

    def step(self, actions: np.ndarray) -> tuple[Any, ...]:
        self.count()
        return super().step(actions)


TOTAL = 6 * deep.STEPS


def si_cppo(kind: Any, env: Any, **options: Any) -> Any:
    quick = {"hidden": (8,), "episodes": 8, "epochs": 3, "minibatch": 20, "device": "cpu", "seed": 2, "normalise": True}
    quick["entropy"] = 0.0  # else the update is another one in every iteration
    return kind(env, deep.limit(), **{**quick, "evaluation_episodes": 8, **options})


@cache
def uninterrupted(kind: Any) -> Any:
    """The run that all others must equal; tests only read it."""
    return si_cppo(kind, deep.Pull()).learn(TOTAL, evaluate_every=2)


def resumed(kind: Any, made: Any, path: Path) -> None:
    whole = uninterrupted(kind)
    again = kind.load(path, deep.Pull(), deep.limit(), device="cpu")
    deep.assert_same_run(again, made)
    deep.assert_same_run(again.learn(TOTAL, evaluate_every=2), whole)
    deep.assert_same_run(made.learn(TOTAL, evaluate_every=2), whole)
    assert getattr(again, "multiplier", None) == getattr(whole, "multiplier", None)


@pytest.mark.parametrize("kind", [rl.SICPPO, rl.baselines.PPOLagrangian], ids=lambda k: k.__name__)
@pytest.mark.parametrize(
    ("name", "at", "before"),
    [
        ("world.evaluate", 3, False),
        ("world.batch", 3, True),
        ("world.batch", 3, False),
        ("update.step", 3, False),
        ("world._fit", 1, True),
        ("world.fit_critics", 4, False),
        ("judge", 2, False),
        ("remember", 2, False),
    ],
)
def test_si_cppo_goes_on_from_the_checkpoint_of_an_interrupt(kind, name, at, before, tmp_path):
    path = tmp_path / "c.npz"
    made = si_cppo(kind, deep.Pull())
    *owner, name = name.split(".")
    mend = interrupted(getattr(made, owner[0]) if owner else made, name, at, before)
    with pytest.raises(KeyboardInterrupt):
        made.learn(TOTAL, evaluate_every=2, checkpoint=path, every=100)
    mend()
    assert made.iteration < 6
    assert [p.name for p in tmp_path.iterdir()] == ["c.npz"]
    resumed(kind, made, path)


def test_an_environment_may_be_interrupted_too(tmp_path):
    path = tmp_path / "c.npz"
    made = si_cppo(rl.SICPPO, Stops(at=23))
    with pytest.raises(KeyboardInterrupt):
        made.learn(TOTAL, evaluate_every=2, checkpoint=path, every=100)
    resumed(rl.SICPPO, made, path)
