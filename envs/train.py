"""`lsip train`, `lsip evaluate` and `lsip render`: SI-CPPO on the environments of this package, by name."""

from __future__ import annotations

import argparse
import ast
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

import lsip
import rl
from lsip.legible import say

from . import tasks
from .cli import Commands, _count
from .evaluate import evaluate, judged, lines
from .render import render
from .tasks import TASKS

if TYPE_CHECKING:
    from rl.state import Report

EVALUATE_EVERY = SAVE_EVERY = 5  # iterations
SHOW_EVERY = 10  # iterations, where progress is not a bar
METHODS: dict[str, tuple[Callable[[], Any], tuple[str, ...]]] = {  # looked up late, as they import torch; and options
    "si-cppo": (lambda: rl.SICPPO, ()),
    "epo": (lambda: rl.EPO, ("rate", "merge", "gain", "saturation")),
    "lagrangian": (lambda: rl.baselines.PPOLagrangian, ("multiplier", "multiplier_rate")),
}
OF_THE_RUN = ("seed", "method", "eta", "paper", "set")  # options that a run keeps once it has begun
EXIT_CODES = "Exit code: 0 done; 1 an error; 130 interrupted."


# ---- the commands ----------------------------------------------------------------------------------------------------


def add_train(commands: Commands) -> None:
    """Add `lsip train` to the subparsers of `lsip`."""
    parser = commands.add_parser(
        "train",
        help="train a policy under a continuum of constraints",
        description="Train a policy with SI-CPPO. Tasks: " + "; ".join(f"{n} ({t.title})" for n, t in TASKS.items()),
        epilog="Training saves the agent every few iterations and can be resumed from the file. Ctrl-C finishes the "
        f"iteration and saves. {EXIT_CODES}",
    )
    parser.add_argument(
        "task",
        help=f"task: {', '.join(TASKS)}; or module:function, a function that returns an environment and its constraint",
    )
    parser.add_argument(
        "--steps",
        type=_count,
        metavar="N",
        help="least total number of environment steps; the last iteration is completed (default: the task's)",
    )
    parser.add_argument("--seed", type=_seed, metavar="S", help="random seed (default: 0)")
    parser.add_argument("--out", type=Path, metavar="FILE", help="output file (default: TASK.zip)")
    parser.add_argument("--overwrite", action="store_true", help="replace FILE if it exists")
    parser.add_argument(
        "--resume", type=Path, metavar="FILE", help="continue training this agent (overwrites it without --out)"
    )
    parser.add_argument("--log", type=Path, metavar="DIR", help="write progress.csv and TensorBoard events there")
    parser.add_argument("--method", choices=METHODS, help="training method (default: si-cppo)")
    parser.add_argument("--eta", type=float, metavar="E", help="tolerance of the switch (default: 0; paper: 0.01)")
    parser.add_argument(
        "--set",
        action="append",
        type=_setting,
        metavar="NAME=VALUE",
        help="a field of rl.SICPPOConfig, such as gamma=0.99 or hidden=(128,128), or an option of the method's "
        "multipliers, such as rate=0.5 of epo; may be repeated",
    )
    parser.add_argument(
        "--paper", action="store_true", default=None, help="the paper's networks, batches and search over Y; slow"
    )
    parser.add_argument(
        "--threads", type=_count, metavar="N", help="threads of torch (default: 1, the fastest for small networks)"
    )
    parser.add_argument(
        "--ray", type=_count, metavar="N", help="play episodes in N processes on Ray (default: in this process)"
    )
    _add_device(parser)
    parser.add_argument("--quiet", action="store_true", help="print errors only")
    parser.set_defaults(run=train)


def add_evaluate(commands: Commands) -> None:
    """Add `lsip evaluate` to the subparsers of `lsip`."""
    parser = commands.add_parser(
        "evaluate",
        help="evaluate a trained agent: return, worst violation, arrivals",
        description="Evaluate a trained agent: its return, its worst violation over Y and how often it arrives. This "
        "uses the best policy that training found feasible, or else the last policy.",
        epilog=f"The violation is the largest on a fine grid of Y and at the points that the constraint names; it may "
        f"be larger between these points. {EXIT_CODES}",
    )
    _add_agent(parser)
    parser.add_argument("--episodes", type=_count, default=64, metavar="N", help="number of episodes (default: 64)")
    parser.add_argument(
        "--stochastic", action="store_true", help="sample actions as in training (default: most likely action)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON only")
    parser.set_defaults(run=evaluate)


def add_render(commands: Commands) -> None:
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
    parser.add_argument("--task", default=next(iter(TASKS)), help="the task of the training (default: %(default)s)")
    parser.add_argument("--seed", type=_seed, default=0, metavar="S", help="random seed of the episodes (default: 0)")
    _add_device(parser)


def _add_device(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda, cuda:0, … (default: auto)")


def _setting(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        raise argparse.ArgumentTypeError(f"NAME=VALUE is needed; got {text!r}")
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return name, value


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
    task = tasks.find(options.task)
    out = options.out or options.resume or Path(f"{options.task.rpartition(':')[2]}.zip")
    tasks.check_writable(out)
    if out.exists() and options.resume is None and not options.overwrite:
        raise lsip.ModelError(
            f"{out} exists. Go on with it: --resume {out}; replace it: --overwrite; or name another file with --out."
        )
    agent = _begun(options, task) if options.resume is None else _resumed(options, task)
    try:
        return _learned(agent, options, task, out)
    finally:
        agent.close()


def _learned(agent: rl.SICPPO, options: argparse.Namespace, task: tasks.Task, out: Path) -> int:
    if options.threads is not None:
        agent.config = replace(agent.config, threads=options.threads)
    steps = options.steps or task.steps
    if agent.total_steps >= steps:
        raise lsip.ModelError(
            f"{options.resume} has made {agent.total_steps:,} steps already, and --steps counts all: ask for more than "
            f"{steps:,}."
        )
    bar = sys.stderr is not None and sys.stderr.isatty() and not options.quiet
    if not options.quiet:
        whole = f"rounded up to whole iterations of {agent.config.episodes} episodes or more"
        say(f"{task.title}: {type(agent).__name__}, {steps - agent.total_steps:,} steps, {whole}")
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
        say(f"lsip: Interrupted after {agent.total_steps:,} steps. Go on with: {resume}", stream=sys.stderr)
        return 130
    if not options.quiet:
        say("\n".join(lines(task, judged(agent, task.copies))))
        say(f"wrote {out}")
    return 0


def _begun(options: argparse.Namespace, task: tasks.Task) -> rl.SICPPO:
    from .experiments import ship_si_cppo

    method = options.method or "si-cppo"
    kind, own = METHODS[method]
    config = rl.SICPPOConfig.paper() if options.paper else rl.SICPPOConfig(**task.settings)
    settings = dict(options.set or [])
    if options.eta is not None:
        settings["eta"] = options.eta
    prices = {name: settings.pop(name) for name in own if name in settings}
    unknown = set(settings) - {f.name for f in fields(config)}
    if unknown:
        known = ", ".join([*(f.name for f in fields(config)), *own])
        raise lsip.ModelError(f"There is no setting {', '.join(sorted(unknown))}; the settings are {known}.")
    config = replace(config, **settings)
    agent: rl.SICPPO = kind()(
        task.vector(),
        task.constraint(),
        config,
        **prices,
        seed=options.seed or 0,
        device=options.device,
        tensorboard=options.log,
        workers=_workers(options),
        **(ship_si_cppo.SEARCH if options.paper else {}),
    )
    return agent


def _resumed(options: argparse.Namespace, task: tasks.Task) -> rl.SICPPO:
    fixed = [f"--{name}" for name in OF_THE_RUN if getattr(options, name) is not None]
    if fixed:
        raise lsip.ModelError(f"A resumed run keeps its own {', '.join(fixed)}: leave that out.")
    return tasks.loaded(options.resume, task, task.copies, options.device, options.log, _workers(options))


def _workers(options: argparse.Namespace) -> rl.RayRollouts | None:
    return None if options.ray is None else rl.RayRollouts(actors=options.ray)


def _watch(agent: rl.SICPPO, report: Report, *, steps: int, show: bool, interrupted: list[bool]) -> bool:
    """After an iteration: a line where there is no bar; and at the end of the run, its last policy is judged too.

    A run that is interrupted judges nothing more, so that it goes on as if it had never stopped.
    """
    stops = bool(interrupted) or agent.total_steps >= steps
    if agent.total_steps >= steps and agent.iteration % EVALUATE_EVERY:
        state = agent.state
        aims = state.trial, state.most  # of a run that goes on, as if it had not been judged here
        agent.judge()
        state.trial, state.most = aims
    if show and (stops or agent.iteration % SHOW_EVERY == 0):
        text = f"{agent.total_steps:>11,} steps  return {report.reward:8.3f}  violation {report.violation:+9.4f}"
        say(f"{text}  arrived {report.arrived:4.0%}", stream=sys.stderr)
    return bool(interrupted)


@contextmanager
def _interruptible() -> Iterator[list[bool]]:
    """The first Ctrl-C or SIGTERM is noted, so that the iteration can end and be saved; the second stops at once."""
    pressed: list[bool] = []
    if threading.current_thread() is not threading.main_thread():  # there, Python does not hear of signals
        yield pressed
        return

    def note(number: int, frame: FrameType | None) -> None:
        if pressed:
            raise KeyboardInterrupt
        pressed.append(True)
        say("\nFinishing this iteration; Ctrl-C once more stops at once.", stream=sys.stderr)

    before = {each: signal.signal(each, note) for each in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield pressed
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
