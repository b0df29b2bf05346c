"""Environments of tensors beside those of arrays: steps a second, kernels, and copies to the host.

Both paths make the same iterations of SI-CPPO on the ship, with the same networks and as many copies: one with
`envs.ship.ShipRouteVector`, which NumPy steps, one with `envs.tensors.ShipRouteTensors`. A turn of each follows one of
the other, in seconds of the processor, and torch has one thread. Operations are what torch dispatches in an iteration,
which are kernels to be launched on a GPU, and reads are those that would wait for it. No figure of ours comes from one;
`--only cuda` measures it where there is one.
"""

from __future__ import annotations

import time
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

import lsip
import rl
from envs.ship import ShipRouteVector
from envs.tensors import ShipRouteTensors

from .harness.figures import machine, median, ratio, table
from .harness.registry import Figures, Options, benchmark, say

COPIES = 1024
STEPS = 20
PATHS: dict[str, Any] = {"arrays": ShipRouteVector, "tensors": ShipRouteTensors}
SIZES = {"2 x 64": (64, 64), "2 x 512": (512, 512)}
VIEWS = {
    "view",
    "_unsafe_view",
    "expand",
    "select",
    "slice",
    "t",
    "transpose",
    "unsqueeze",
    "squeeze",
    "detach",
    "alias",
}
READS = {"_local_scalar_dense", "nonzero", "masked_select", "equal", "is_nonzero"}


class Operations(TorchDispatchMode):
    """Counts what torch dispatches, views aside, and what reads numbers."""

    def __init__(self) -> None:
        super().__init__()
        self.count = self.reads = 0

    def __torch_dispatch__(self, function: Any, types: Any, given: Any = (), options: Any = None) -> Any:
        name = function.overloadpacket.__name__
        self.count += name not in VIEWS
        self.reads += name in READS
        return function(*given, **(options or {}))


class Copies(TorchFunctionMode):
    """Counts tensors that become arrays or lists."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def __torch_function__(self, function: Any, types: Any, given: Any = (), options: Any = None) -> Any:
        self.count += getattr(function, "__name__", "") in ("numpy", "tolist", "__array__")
        return function(*given, **(options or {}))


def learner(path: str, hidden: tuple[int, int], device: str) -> rl.SICPPO:
    """A learner of a path, with the same search over Y as the other."""
    env = PATHS[path](COPIES, max_episode_steps=STEPS, **({"device": device} if path == "tensors" else {}))
    settings: dict[str, Any] = {"episodes": COPIES, "hidden": hidden, "epochs": 1, "critic_epochs": 1}
    return rl.SICPPO(env, env.constraint(), oracle=lsip.oracles.RandomSearch(points=8), device=device, **settings)


def once(agent: rl.SICPPO, part: str) -> tuple[float, int]:
    """Seconds of the processor that a round of episodes takes, or an iteration, and steps made."""
    started, before = time.process_time(), agent.total_steps
    if part == "playing":
        steps = agent.world.evaluate(agent.state).steps
    else:
        agent._iterate(0.0, 0.5)
        steps = agent.total_steps - before
    return time.process_time() - started, steps


def watched(agent: rl.SICPPO, part: str) -> dict[str, int]:
    """What one more asks of torch."""
    with Operations() as operations, Copies() as copies:
        once(agent, part)
    return {"operations": operations.count, "reads": operations.reads + copies.count}


@benchmark("device", "environments of tensors beside those of arrays: steps, kernels, copies", lambda f: show(f))
def run(options: Options) -> Figures:
    turns = options.tries or (1 if options.quick else 5)
    device = "cuda" if options.only == "cuda" else "cpu"
    if device == "cuda" and not torch.cuda.is_available():
        raise LookupError("torch sees no GPU here.")
    names = list(SIZES) if device == "cuda" else options.choose(SIZES)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    rows = []
    try:
        for name in names:
            agents = {path: learner(path, SIZES[name], device) for path in PATHS}
            for part in ("playing", "iteration"):
                say(f"{name}: {part}")
                speeds: dict[str, list[float]] = {path: [] for path in PATHS}
                asked = {path: watched(agent, part) for path, agent in agents.items()}  # and a first time for all
                for turn in range(turns):
                    for path in sorted(PATHS, reverse=turn % 2 == 1):
                        seconds, steps = once(agents[path], part)
                        speeds[path].append(steps / seconds)
                middle = {path: median(found) for path, found in speeds.items()}
                times = ratio(middle["tensors"], middle["arrays"])
                rows.append({"size": name, "part": part, "steps_per_second": middle, "ratio": times, "asked": asked})
    finally:
        torch.set_num_threads(threads)
    return {"machine": machine(), "device": device, "copies": COPIES, "steps": STEPS, "turns": turns, "rows": rows}


def show(figures: Figures) -> str:
    """The figures as a table."""
    columns = {"size": "networks", "part": "part", "ratio": "ratio"}
    rows = []
    for row in figures["rows"]:
        line = {name: row[name] for name in columns}
        for path in PATHS:
            asked = row["asked"][path]
            line |= {path: round(row["steps_per_second"][path]), f"{path} o": asked["operations"]}
            line |= {f"{path} r": asked["reads"]}
        rows.append(line)
    for what, title in (("", "steps/s"), (" o", "operations"), (" r", "reads")):
        columns |= {f"{path}{what}": f"{title}, {path}" for path in PATHS}
    said = f"{figures['copies']} ships of {figures['steps']} steps on the device {figures['device']}"
    return f"{said}\n{table(rows, columns)}"
