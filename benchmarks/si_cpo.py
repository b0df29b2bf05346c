"""SI-CPO on Discharge of Sewage with the paper's settings: time of an iteration, of an evaluation, and what is learned.

SI-CPO and CRPO on its three grids take turns, some iterations at a time, in the same environments; so do the two ways
to evaluate a policy with 100,000 paths of 100 steps, as a population and path by path. Seconds are medians over turns,
of wall time and of processor time. Everything runs on one thread, so the two agree where nothing else is running; goals
are about processor time, which other work on the machine hardly changes. Learning is judged in the true model, as in
`envs.experiments.sewage_si_cpo`.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import rl
from envs.experiments import sewage_si_cpo as experiment
from rl.rules import Objective
from rl.simulator import TabularSimulator

from .harness.figures import machine, median, ratio, table
from .harness.registry import Figures, Options, benchmark, say

ITERATION = 0.010  # seconds, of SI-CPO
POPULATION = 20.0  # times faster than path by path
FINEST = 1.5  # times as long as SI-CPO: CRPO with N = 1000
ERROR = 0.02  # mean final error of SI-CPO
FIRST, LAST = "SI-CPO", "CRPO, N = 1000"


def clocked(work: Callable[[], Any]) -> tuple[float, float]:
    """Seconds on the wall and of the processor."""
    wall, processor = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - wall, time.process_time() - processor


def turns(contestants: dict[str, Callable[[], Any]], rounds: int, share: int = 1) -> dict[str, Figures]:
    """Median seconds of each contestant, divided by `share`, with all turns; they take turns."""
    samples: dict[str, list[tuple[float, float]]] = {name: [] for name in contestants}
    for _ in range(rounds):
        for name, work in contestants.items():
            samples[name].append(clocked(work))
    found = {}
    for name, each in samples.items():
        wall, processor = (np.array(part) / share for part in zip(*each, strict=True))
        found[name] = {
            "seconds": median(wall),
            "cpu_seconds": median(processor),
            "fastest": float(wall.min()),
            "deviation": float(wall.std()),
        }
    return found


# ---- the parts -------------------------------------------------------------------------------------------------------


def iterations(seeds: int, rounds: int, block: int) -> Figures:
    """Seconds an iteration of every method, in several environments."""
    contestants: dict[str, list[Figures]] = {name: [] for name in experiment.METHODS}
    for seed in range(seeds):
        mdp = experiment.PAPER.environment(seed)
        agents = {name: experiment.PAPER.agent(name, mdp, seed).learn(block) for name in experiment.METHODS}
        work = {name: lambda agent=agent: agent.learn(block) for name, agent in agents.items()}
        for name, figures in turns(work, rounds, block).items():
            contestants[name].append({"seed": seed, **figures})
        say(f"iterations, seed {seed}: " + _line({n: each[-1] for n, each in contestants.items()}))
    methods = [
        {
            "method": name,
            **{k: median(f[k] for f in each) for k in ("seconds", "cpu_seconds", "fastest", "deviation")},
            "paper_seconds": experiment.SECONDS[name],
            "seeds": each,
        }
        for name, each in contestants.items()
    ]
    return {"block": block, "rounds": rounds, "methods": methods}


def parts(rounds: int) -> Figures:
    """Where an iteration of SI-CPO spends its time: evaluation, search over Y, update, and the rest."""
    setting = experiment.PAPER
    mdp = setting.environment(0)
    agent = setting.agent(FIRST, mdp, 0).learn(20)
    rng, spec = np.random.default_rng(0), mdp.specification
    policy = agent.world.table()
    visits = agent.evaluation.evaluate(agent.simulator, policy, rng).visits
    reward = Objective(1.0, mdp.domain.project(mdp.domain.lower[None]), np.zeros(1))
    played = agent.world.evaluate(agent.state)

    def sample() -> Any:
        return agent.world.batch(played, reward, agent.update, agent.state)

    work: dict[str, Callable[[], Any]] = {
        "evaluation": lambda: agent.evaluation.evaluate(agent.simulator, policy, rng),
        "search": lambda: agent.oracle.maximise(spec.costs.violation(visits), target=setting.eta, seed=0),
        "update": lambda: agent.update.step(agent.state.policy, sample(), 1e-9, rng, {}),
        "iteration": lambda: agent.learn(1),
    }
    return {name: figures["cpu_seconds"] for name, figures in turns(work, rounds).items()}


def evaluation(rounds: int) -> Figures:
    """A population of paths against paths one by one: the same law, the same size, in turns."""
    setting = experiment.PAPER
    mdp = setting.environment(0)
    simulator, policy = TabularSimulator(mdp), rl.uniform_policy(mdp.states, mdp.actions)
    ways = {m: rl.MonteCarlo(setting.paths, setting.horizon, mode=m) for m in ("population", "paths")}
    rng = np.random.default_rng(0)
    estimates: dict[str, list[Any]] = {mode: [] for mode in ways}

    def work(mode: str) -> Callable[[], Any]:
        return lambda: estimates[mode].append(ways[mode].evaluate(simulator, policy, rng).visits)

    for mode in ways:
        work(mode)()  # tables are made
    found = turns({mode: work(mode) for mode in ways}, rounds)
    apart = [float(np.abs(np.mean(e, axis=0) - mdp.visits(policy)).max()) for e in estimates.values()]
    speed = ratio(found["paths"]["cpu_seconds"], found["population"]["cpu_seconds"])
    say(f"evaluation: {speed:.3g}x")
    return {**found, "speed": speed, "error": dict(zip(ways, apart, strict=True))}


def learning(setting: experiment.SICPOSetting, names: Sequence[str], seeds: int, length: int) -> Figures:
    """Final errors over environments, by method and by choice of the policy."""
    runs = experiment.runs_of(setting, names, seeds, length)
    with tempfile.TemporaryDirectory() as folder:
        found = experiment.outcomes(runs, Path(folder), lambda done, total: say(f"learning: {done}/{total} runs"))
    methods = []
    for i, name in enumerate(names):
        means = experiment.summary(found[i :: len(names)])
        row: Figures = {"method": name, "good_share": means["good_share"]}
        for choice in experiment.CHOICES:
            row[choice] = means[choice]["mean"][-1]
            row[f"{choice}_standard_error"] = means[choice]["standard_error"][-1]
            row[f"{choice}_gap"] = means[choice]["final_gap"]
            row[f"{choice}_violation"] = means[choice]["final_violation"]
        methods.append(row)
    return {"seeds": seeds, "iterations": length, "methods": methods}


# ---- the benchmark ---------------------------------------------------------------------------------------------------


def goals(figures: Figures) -> list[Figures]:
    """What the figures should be; the error is a goal at full length only."""
    seconds = {m["method"]: m["cpu_seconds"] for m in figures["iterations"]["methods"]}
    final = {m["method"]: m["average"] for m in figures["learning"]["methods"]}
    finest = ratio(seconds[LAST], seconds[FIRST])
    speed = figures["evaluation"]["speed"]
    long_enough = figures["learning"]["iterations"] >= experiment.PAPER_ITERATIONS
    best = min(error for name, error in final.items() if name != FIRST)
    rows = [
        ("milliseconds an iteration of SI-CPO", 1000 * seconds[FIRST], 1000 * ITERATION, seconds[FIRST] <= ITERATION),
        ("path by path over population, times", speed, POPULATION, speed >= POPULATION),
        ("CRPO with N = 1000 over SI-CPO, times", finest, FINEST, finest <= FINEST),
        ("mean final error of SI-CPO", final[FIRST], ERROR, final[FIRST] <= ERROR if long_enough else None),
        ("the same, against the best CRPO", final[FIRST], best, final[FIRST] < best if long_enough else None),
    ]
    return [{"goal": goal, "figure": figure, "target": target, "met": met} for goal, figure, target, met in rows]


def show(figures: Figures) -> str:
    """A table a part."""
    columns = {"method": "method", "seconds": "seconds", "cpu_seconds": "processor", "paper_seconds": "paper (GPU)"}
    learned = {"method": "after learning"} | {c: f"error, {c}" for c in experiment.CHOICES}
    learned |= {"average_gap": "gap", "average_violation": "violation", "good_share": "good share"}
    ways = [{"way": way, **figures["evaluation"][way]} for way in ("population", "paths")]
    return "\n\n".join(
        [
            table(figures["iterations"]["methods"], columns),
            "of an iteration: " + ", ".join(f"{k} {1000 * v:.3g} ms" for k, v in figures["parts"].items()),
            table(ways, {"way": "evaluation", "seconds": "seconds", "cpu_seconds": "processor"}),
            *(
                f"{figures[part]['seeds']} environments, T = {figures[part]['iterations']}, {steps}\n"
                + table(figures[part]["methods"], learned)
                for part, steps in (("learning", "the paper's steps"), ("settled", "constant steps, alpha = 0.1"))
            ),
            table(figures["goals"], {"goal": "goal", "figure": "figure", "target": "target", "met": "met"}),
        ]
    )


def _line(methods: dict[str, Figures]) -> str:
    return ", ".join(f"{name} {1000 * figures['cpu_seconds']:.3g} ms" for name, figures in methods.items())


@benchmark("si_cpo", "SI-CPO against CRPO: time of an iteration, of an evaluation, and final errors", show)
def run(options: Options) -> Figures:
    before, start = machine(), time.perf_counter()
    quick = options.quick
    with experiment.one_thread():
        clock = {
            "iterations": iterations(1 if quick else 3, 5 if quick else 20, 10),
            "parts": parts(20 if quick else 100),
            "evaluation": evaluation(3 if quick else 10),
        }
    figures = {
        "quick": quick,
        "machine": before,
        **clock,
        "learning": learning(
            experiment.PAPER, experiment.METHODS, 1 if quick else 3, 200 if quick else experiment.PAPER_ITERATIONS
        ),
        "settled": learning(
            experiment.SETTLED,
            experiment.SETTLED_METHODS,
            1 if quick else 3,
            100 if quick else experiment.SETTLED_ITERATIONS,
        ),
    }
    return figures | {"goals": goals(figures), "seconds": time.perf_counter() - start}
