"""What `lsip train` can learn, by name, and the files that it leaves. Another task is one more entry of `TASKS`."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import lsip
import rl
from lsip.files import make_folder


def _ship() -> rl.SemiInfiniteCost:
    from . import ship

    return ship.constraint()


def _spraying() -> rl.SemiInfiniteCost:
    from . import spraying

    return spraying.constraint()


def _pendulum() -> rl.SemiInfiniteCost:
    from .classic import Angles

    return Angles().constraint()


def _pendulums(copies: int) -> Any:
    from .classic import PendulumVector

    return PendulumVector(copies)


def _cartpole() -> rl.SemiInfiniteCost:
    from .classic import Distances

    return Distances().constraint()


@dataclass(frozen=True)
class Task:
    """What is trained under a name."""

    title: str
    environment: str | Callable[[int], Any]  # its name in Gymnasium's registry, or what makes so many copies
    constraint: Callable[[], rl.SemiInfiniteCost]
    steps: int = 100_000  # enough to learn it
    copies: int = 64  # of the environment, side by side
    settings: dict[str, Any] = field(default_factory=dict)  # the discount of rewards, and episodes an iteration

    def vector(self, copies: int | None = None) -> Any:
        """So many copies in one vector environment."""
        import gymnasium

        count = copies or self.copies
        if callable(self.environment):
            return self.environment(count)
        return gymnasium.make_vec(self.environment, num_envs=count)

    def drawable(self) -> Any:
        """One copy that can be drawn."""
        import gymnasium

        if callable(self.environment):
            raise lsip.ModelError(f"Only environments of Gymnasium's registry can be drawn; {self.title} is none.")
        return gymnasium.make(self.environment, render_mode="rgb_array", disable_env_checker=True)


TASKS: dict[str, Task] = {
    "ship": Task("Ship Route Planning", "lsip/ShipRoute-v0", _ship, steps=300_000),
    "spraying": Task(
        "Agricultural Spraying",
        "lsip/Spraying-v0",
        _spraying,
        steps=300_000,
    ),
    "pendulum": Task(
        "A pendulum with a limit for every angle",
        _pendulums,
        _pendulum,
        steps=400_000,
        copies=32,
        settings={"gamma": 0.95, "episodes": 32},
    ),
    "cartpole": Task(
        "A cart with a limit for every distance",
        "CartPole-v1",
        _cartpole,
        steps=400_000,
        copies=32,
        settings={"gamma": 0.99, "episodes": 32},
    ),
}


def find(name: str) -> Task:
    """The task of that name; `module:function` is one of your own."""
    if ":" in name:
        return _own(name)
    if name not in TASKS:
        raise lsip.UsageError(
            f"There is no task named {name!r}; the tasks are {', '.join(TASKS)}, and module:function for one of yours."
        )
    return TASKS[name]


def _own(name: str) -> Task:
    """The task of a function without arguments that returns an environment and its constraint."""
    module, _, function = name.partition(":")
    sys.path.insert(0, str(Path.cwd()))
    try:
        make = getattr(import_module(module), function)
        env, constraint = make()
    except lsip.LSIPError:
        raise
    except Exception as error:
        raise lsip.ModelError(
            f"{name} must be a function in a module that can be imported here, without arguments, which returns an "
            f"environment and its constraint; {type(error).__name__}: {error}."
        ) from error
    finally:
        sys.path.pop(0)
    return Task(name, lambda copies: env, lambda: constraint, copies=getattr(env, "num_envs", 1))


def check_writable(out: Path) -> None:
    """Make the folder of a file; find out now, rather than after minutes of work, if that cannot be written to."""
    if out.is_dir():
        raise lsip.ModelError(f"{out} is a directory; name a file with --out.")
    folder = out.resolve().parent
    make_folder(folder)
    if not os.access(folder, os.W_OK):
        raise lsip.ModelError(f"The directory {folder} cannot be written to; name a file elsewhere with --out.")


def loaded(
    path: Path,
    task: Task,
    copies: int,
    device: str,
    log: Path | None = None,
    workers: rl.RayRollouts | None = None,
) -> rl.SICPPO:
    """The agent in a file, whichever method it was trained with."""
    load, env, constraint = rl.SICPPO.load, task.vector(copies), task.constraint()
    if not path.exists():
        raise lsip.ModelError(f"There is no file {path}; `lsip train` writes one.")
    try:
        facts = rl.checkpoint.facts(path, "SICPPO")
        if facts.get("kind") == "PPOLagrangian":
            load = rl.baselines.PPOLagrangian.load
        _check_name(path, facts, env)
        return load(path, env, constraint, device=device, tensorboard=log, workers=workers)
    except lsip.LSIPError:
        raise
    except Exception as error:  # A damaged file can fail in any of the libraries that read it.
        raise lsip.ModelError(f"{path} is not an agent written by `lsip train`, or it is damaged.") from error


def _check_name(path: Path, facts: dict[str, Any], env: Any) -> None:
    """Refuse an agent of another environment, where both have names."""
    settings = facts.get("settings")
    named, now = settings.get("env") if isinstance(settings, dict) else None, getattr(env.spec, "id", None)
    before = named.get("name") if isinstance(named, dict) else None
    if isinstance(before, str) and now is not None and before != now:
        known = [name for name, task in TASKS.items() if task.environment == before]
        told = f"--task {known[0]}" if known else "--task module:function"
        raise lsip.ModelError(f"{path} was trained on {before}, and this task is {now}; name its own: {told}.")
