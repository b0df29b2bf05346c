"""`lsip train`, `lsip evaluate` and `lsip render`: SI-CPPO on the environments of this package, by name.

Another task is one more entry of `TASKS`.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import lsip
import rl

from .cli import _count

if TYPE_CHECKING:
    from rl.rollouts import Episodes

EVALUATE_EVERY = SAVE_EVERY = 5  # iterations
SHOW_EVERY = 10  # iterations, where progress is not a bar
GRID = 40_401  # points of Y at which a policy is judged: 201 x 201 in two dimensions
METHODS: dict[str, Callable[[], type[rl.SICPPO]]] = {  # looked up late: they import torch
    "si-cppo": lambda: rl.SICPPO,
    "lagrangian": lambda: rl.baselines.PPOLagrangian,
}
OF_THE_RUN = ("seed", "method", "eta", "paper")  # options that a run keeps once it has begun
EXIT_CODES = "Exit code: 0 done; 1 an error; 130 interrupted."


def _ship() -> rl.SemiInfiniteCost:
    from . import ship

    return ship.constraint()


@dataclass(frozen=True)
class Task:
    """What is trained under a name."""

    title: str
    environment: str  # its name in Gymnasium's registry
    constraint: Callable[[], rl.SemiInfiniteCost]
    steps: int  # enough to learn it
    copies: int = 64  # of the environment, side by side
    settings: dict[str, Any] = field(default_factory=dict)  # of `rl.SICPPOConfig`, where the defaults do not suit

    def vector(self, copies: int | None = None) -> Any:
        """So many copies in one vector environment."""
        import gymnasium

        return gymnasium.make_vec(self.environment, num_envs=copies or self.copies)

    def drawable(self) -> Any:
        """One copy that can be drawn."""
        import gymnasium

        return gymnasium.make(self.environment, render_mode="rgb_array", disable_env_checker=True)


TASKS: dict[str, Task] = {"ship": Task("Ship Route Planning", "lsip/ShipRoute-v0", _ship, steps=300_000)}


# ---- the commands ----------------------------------------------------------------------------------------------------


def add_train(commands: Any) -> None:
    """Add `lsip train` to the subparsers of `lsip`."""
    parser = commands.add_parser(
        "train",
        help="learn a policy that keeps a continuum of constraints",
        description="Learn a policy with SI-CPPO. Tasks: " + "; ".join(f"{n} ({t.title})" for n, t in TASKS.items()),
        epilog="The file is replaced as a whole every few iterations, so it can always be resumed; Ctrl-C finishes the "
        f"iteration and writes it. {EXIT_CODES}",
    )
    parser.add_argument("task", help=f"what to learn: {', '.join(TASKS)}")
    parser.add_argument(
        "--steps", type=_count, metavar="N", help="steps of the environment in all (default: the task's)"
    )
    parser.add_argument("--seed", type=_seed, metavar="S", help="the same seed gives the same run (default: 0)")
    parser.add_argument("--out", type=Path, metavar="FILE", help="where to write the agent (default: TASK.zip)")
    parser.add_argument("--overwrite", action="store_true", help="replace FILE if it exists")
    parser.add_argument("--resume", type=Path, metavar="FILE", help="go on with this agent (in place, without --out)")
    parser.add_argument("--log", type=Path, metavar="DIR", help="write progress.csv and TensorBoard events there")
    parser.add_argument("--method", choices=METHODS, help="how to learn (default: si-cppo)")
    parser.add_argument("--eta", type=float, metavar="E", help="tolerance of the switch (default: 0.01)")
    parser.add_argument("--paper", action="store_true", default=None, help="the paper's networks and batches; slow")
    parser.add_argument("--threads", type=_count, metavar="N", help="of torch (default: 1, the fastest for small nets)")
    _add_device(parser)
    parser.add_argument("--quiet", action="store_true", help="say nothing unless something goes wrong")
    parser.set_defaults(run=train)


def add_evaluate(commands: Any) -> None:
    """Add `lsip evaluate` to the subparsers of `lsip`."""
    parser = commands.add_parser(
        "evaluate",
        help="play with a trained agent: return, worst violation, arrivals",
        description="Play with a trained agent: its return, its worst violation over Y and how often it arrives. The "
        "best policy that training found feasible plays; if there is none, the last one.",
        epilog=f"The violation is the largest on a fine grid of Y and at the places that the constraint names; larger "
        f"ones in between are not excluded. {EXIT_CODES}",
    )
    _add_agent(parser)
    parser.add_argument("--episodes", type=_count, default=64, metavar="N", help="how many (default: 64)")
    parser.add_argument("--stochastic", action="store_true", help="draw actions as in training, not the most likely")
    parser.add_argument("--json", action="store_true", help="print JSON, and nothing else")
    parser.set_defaults(run=evaluate)


def add_render(commands: Any) -> None:
    """Add `lsip render` to the subparsers of `lsip`."""
    parser = commands.add_parser(
        "render",
        help="draw an episode of a trained agent",
        description="Draw an episode of a trained agent.",
        epilog=EXIT_CODES,
    )
    _add_agent(parser)
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("route.png"),
        metavar="FILE",
        help="a .png of the end or a .gif of every step (default: route.png)",
    )
    parser.set_defaults(run=render)


def _add_agent(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("agent", type=Path, help="a file written by `lsip train`")
    parser.add_argument("--task", default=next(iter(TASKS)), help="what it was trained on (default: %(default)s)")
    parser.add_argument("--seed", type=_seed, default=0, metavar="S", help="of the episodes (default: 0)")
    _add_device(parser)


def _add_device(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda, cuda:0, … (default: auto)")


def _seed(text: str) -> int:
    try:
        value = int(text)
    except ValueError:
        value = -1
    if not 0 <= value < 2**31:
        raise argparse.ArgumentTypeError(f"a whole number from 0 to 2^31 - 1 is needed; got {text!r}")
    return value


# ---- train -----------------------------------------------------------------------------------------------------------


def train(options: argparse.Namespace) -> int:
    """Learn, write the agent, and say how good it is."""
    task = _task(options.task)
    out = options.out or options.resume or Path(f"{options.task}.zip")
    _writable(out)
    if out.exists() and options.resume is None and not options.overwrite:
        raise lsip.ModelError(
            f"{out} exists. Go on with it: --resume {out}; replace it: --overwrite; or name another file with --out."
        )
    agent = _begun(options, task) if options.resume is None else _resumed(options, task)
    if options.threads is not None:
        agent.config = replace(agent.config, threads=options.threads)
    steps = options.steps or task.steps
    if agent.total_steps >= steps:
        raise lsip.ModelError(
            f"{options.resume} has made {agent.total_steps:,} steps already, and --steps counts all: ask for more than "
            f"{steps:,}."
        )
    bar = sys.stderr.isatty() and not options.quiet
    if not options.quiet:
        print(f"{task.title}: {type(agent).__name__}, {steps - agent.total_steps:,} steps", flush=True)
    with _interruptible() as interrupted:
        watch = partial(_watch, steps=steps, show=not options.quiet and not bar, interrupted=interrupted)
        agent.learn(
            steps,
            verbose=bar,
            evaluate_every=EVALUATE_EVERY,
            checkpoint=out,
            every=SAVE_EVERY,
            callback=watch,
        )
    if interrupted and agent.total_steps < steps:
        resume = f"lsip train {options.task} --steps {steps} --resume {out}"
        print(f"lsip: Interrupted after {agent.total_steps:,} steps. Go on with: {resume}", file=sys.stderr)
        return 130
    if not options.quiet:
        print("\n".join(_lines(task, _judged(agent, task.copies))))
        print(f"wrote {out}", flush=True)
    return 0


def _begun(options: argparse.Namespace, task: Task) -> rl.SICPPO:
    kind = METHODS[options.method or "si-cppo"]()
    config = rl.SICPPOConfig.paper() if options.paper else rl.SICPPOConfig(**task.settings)
    if options.eta is not None:
        config = replace(config, eta=options.eta)
    return kind(
        task.vector(),
        task.constraint(),
        config,
        seed=options.seed or 0,
        device=options.device,
        tensorboard=options.log,
    )


def _resumed(options: argparse.Namespace, task: Task) -> rl.SICPPO:
    given = [f"--{name}" for name in OF_THE_RUN if getattr(options, name) is not None]
    if given:
        raise lsip.ModelError(f"A resumed run keeps its own {', '.join(given)}: leave that out.")
    return _loaded(options.resume, task, task.copies, options.device, options.log)


def _watch(agent: rl.SICPPO, report: Any, *, steps: int, show: bool, interrupted: list[bool]) -> bool:
    """After an iteration: a line where there is no bar; and before the run stops, its last policy is judged too."""
    stops = bool(interrupted) or agent.total_steps >= steps
    if stops and agent.iteration % EVALUATE_EVERY:
        agent.keep_best(agent.evaluate(), 0.0)
    if show and (stops or agent.iteration % SHOW_EVERY == 0):
        text = f"{agent.total_steps:>11,} steps  return {report.reward:8.3f}  violation {report.violation:+9.4f}"
        print(f"{text}  arrived {report.arrived:4.0%}", file=sys.stderr, flush=True)
    return bool(interrupted)


@contextmanager
def _interruptible() -> Iterator[list[bool]]:
    """The first Ctrl-C is noted, so that the iteration can end and be saved; the second one stops at once."""
    pressed: list[bool] = []
    if threading.current_thread() is not threading.main_thread():  # there, Python does not hear of signals
        yield pressed
        return

    def note(number: int, frame: Any) -> None:
        if pressed:
            raise KeyboardInterrupt
        pressed.append(True)
        print("\nFinishing this iteration; Ctrl-C once more stops at once.", file=sys.stderr, flush=True)

    before = signal.signal(signal.SIGINT, note)
    try:
        yield pressed
    finally:
        signal.signal(signal.SIGINT, before)


# ---- evaluate --------------------------------------------------------------------------------------------------------


def evaluate(options: argparse.Namespace) -> int:
    """Judge a trained agent."""
    task = _task(options.task)
    agent = _loaded(options.agent, task, min(options.episodes, task.copies), options.device)
    judged = _judged(agent, options.episodes, options.seed, deterministic=not options.stochastic)
    if options.json:
        print(json.dumps({"agent": str(options.agent), "task": options.task, **judged}, indent=2))
    else:
        print("\n".join(_lines(task, judged)))
    return 0


def _judged(agent: rl.SICPPO, episodes: int, seed: int = 0, *, deterministic: bool = True) -> dict[str, Any]:
    """How the agent plays, in numbers that JSON can hold."""
    from rl.episode_violation import EpisodeViolation
    from rl.rollouts import collect

    def act(observations: Any) -> tuple[Any, Any]:
        return agent.predict(observations, deterministic)[0], np.zeros(len(observations))

    played = _first(collect(agent.env, act, episodes, seed), episodes)
    violation, domain = EpisodeViolation(agent.constraint, played), agent.constraint.domain
    places = domain.grid(lsip.oracles.Grid(GRID).per_axis(domain.dim))
    if agent.constraint.candidates is not None:
        named = domain.project(np.asarray(agent.constraint.candidates(violation.observations), dtype=float))
        places = np.concatenate([places, named])
    values = violation.values(places)[:, 0]
    k, returns = int(np.argmax(values)), played.returns(agent.config.gamma)
    return {
        "policy": "last" if agent.best is None else "best feasible",
        "training_steps": agent.total_steps,
        "episodes": played.count,
        "return": float(returns.mean()),
        "return_std": float(returns.std()),
        "steps": played.steps / played.count,
        "arrived": float(played.terminated.mean()),
        "violation": float(values[k]),
        "y": places[k].tolist(),
        "index_points": len(places),
    }


def _first(played: Episodes, count: int) -> Episodes:
    """The first so many episodes: copies play whole rounds, which may be more than was asked for."""
    over_time = ("observations", "actions", "log_probs", "rewards", "live")
    parts = {name: getattr(played, name)[:, :count] for name in over_time}
    return replace(played, **parts, terminated=played.terminated[:count], last=played.last[:count])


def _lines(task: Task, judged: dict[str, Any]) -> list[str]:
    policy = (
        "last policy (training has found no feasible one)" if judged["policy"] == "last" else "best feasible policy"
    )
    spread = f" ± {judged['return_std']:.4f}" if judged["return_std"] > 5e-5 else ""
    y = ", ".join(f"{c:.3f}" for c in judged["y"])
    return [
        f"{task.title}, {judged['training_steps']:,} steps of training, {policy}",
        f"  return     {judged['return']:.4f}{spread}",
        f"  violation  {judged['violation']:+.4f} at y = ({y}), the largest at {judged['index_points']:,} places",
        f"  arrived    {judged['arrived']:.0%} of {judged['episodes']} episodes, {judged['steps']:.1f} steps each",
    ]


# ---- render ----------------------------------------------------------------------------------------------------------


def render(options: argparse.Namespace) -> int:
    """Draw an episode."""
    task, out = _task(options.task), options.out
    kind = out.suffix.lower()
    if kind not in (".png", ".gif"):
        raise lsip.ModelError(f"Pictures are .png or .gif files; got {out.name}.")
    _writable(out)
    agent = _loaded(options.agent, task, 1, options.device)
    env = task.drawable()
    frames, total, steps = [], 0.0, 0
    observation, _ = env.reset(seed=options.seed)
    ended = cut = False
    while not (ended or cut):
        if kind == ".gif":
            frames.append(env.render())
        observation, reward, ended, cut, _ = env.step(agent.predict(observation)[0])
        total, steps = total + float(reward), steps + 1
    frames.append(env.render())
    env.close()
    _save(frames, out, 1000 // int(env.metadata.get("render_fps", 5)))
    end = "arrived" if ended else "did not arrive"
    print(f"wrote {out}: {end}, {steps} steps, return {total:.4f}")
    return 0


def _save(frames: list[Any], out: Path, milliseconds: int) -> None:
    """One picture, or a film whose last picture stays for a while; the file appears only when it is complete."""
    try:
        from PIL import Image
    except ImportError as error:
        raise lsip.MissingExtraError("Pictures need Pillow: pip install 'lsip[plot]'.") from error
    first, *others = [Image.fromarray(frame) for frame in frames]
    buffer = BytesIO()
    if out.suffix.lower() == ".png":
        first.save(buffer, "PNG")
    else:
        durations = [milliseconds] * len(others) + [10 * milliseconds]
        first.save(buffer, "GIF", save_all=True, append_images=others, duration=durations, loop=0)
    part = out.with_name(out.name + ".part")
    try:
        part.write_bytes(buffer.getvalue())
        part.replace(out)
    finally:
        part.unlink(missing_ok=True)


# ---- names and files -------------------------------------------------------------------------------------------------


def _task(name: str) -> Task:
    if name not in TASKS:
        raise lsip.ModelError(f"There is no task named {name!r}; the tasks are {', '.join(TASKS)}.")
    return TASKS[name]


def _writable(out: Path) -> None:
    """Find out now, rather than after minutes of work."""
    folder = out.resolve().parent
    if not folder.is_dir():
        raise lsip.ModelError(f"There is no directory {folder} to write {out.name} to.")
    if out.is_dir():
        raise lsip.ModelError(f"{out} is a directory; name a file with --out.")
    if not os.access(folder, os.W_OK):
        raise lsip.ModelError(f"The directory {folder} cannot be written to; name a file elsewhere with --out.")


def _loaded(path: Path, task: Task, copies: int, device: str, log: Path | None = None) -> rl.SICPPO:
    """The agent in a file, whichever method it was trained with."""
    load, env, constraint = rl.SICPPO.load, task.vector(copies), task.constraint()
    if not path.exists():
        raise lsip.ModelError(f"There is no file {path}; `lsip train` writes one.")
    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as data:
            if json.loads(str(data["facts"]))["kind"] == "PPOLagrangian":
                load = rl.baselines.PPOLagrangian.load
        return load(path, env, constraint, device=device, tensorboard=log)
    except lsip.LSIPError:
        raise
    except Exception as error:  # A damaged file can fail in any of the libraries that read it.
        raise lsip.ModelError(f"{path} is not an agent written by `lsip train`, or it is damaged.") from error
