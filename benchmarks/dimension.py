"""How far proofs reach in the dimension of the index, beside MAiNGO, a global solver, in the same run.

(a) `bumps`: the largest value of eight rational bumps on [0, 1]^m, proven to an absolute gap of 1e-6. MAiNGO is asked
    for the same gap, and both start from the formula, one after the other on every instance. MAiNGO has a minute for
    each; once it has run out of it on more than half of the instances, its median is a minute at least, and the others
    are left out. Without `maingopy` (the extra `bench` has it) only our own figures are there.
(b) `programs`: a linear combination of ten such bumps that lies above another function everywhere and is least in the
    mean: n = 10 variables, m = 1 to 6, from the model to the certified answer.
"""

from __future__ import annotations

import contextlib
import tempfile
from typing import Any

import numpy as np

import lsip

from .harness.figures import machine, median, table
from .harness.outcome import clocked
from .harness.registry import Figures, Options, benchmark, say

GAP = 1e-6
LIMIT = 60.0  # seconds
BUMPS = 8
BASIS = 10


def bumps_of(m: int, seed: int, count: int = BUMPS) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Centres, sharpness and heights of random bumps."""
    rng = np.random.default_rng([m, seed])
    return rng.random((count, m)), rng.uniform(5, 50, count), rng.uniform(0.5, 1.5, count)


def ours(m: int, seed: int) -> dict[str, float]:
    """The supremum by branch-and-bound, from the formula."""
    y = lsip.Index("y", lsip.Box(np.zeros(m), np.ones(m)))
    centres, sharp, heights = bumps_of(m, seed)
    x = lsip.Variable(1, name="x")
    height = (heights / (1 + sharp * ((y - centres) ** 2).sum(axis=-1))).sum()
    program = lsip.Problem(lsip.minimize(x[0]), [lsip.forall(y, x[0] >= height)]).compile()
    found = lsip.oracles.supremum(program.violation(0, np.zeros(1)), tol=GAP)
    value = float(found.values.max())
    return {"value": value, "gap": float(found.bound) - value}


def theirs(m: int, seed: int) -> dict[str, float] | None:
    """The same by MAiNGO; None if it is not installed."""
    try:
        import maingopy as mg
    except ImportError:
        return None
    centres, sharp, heights = (part.tolist() for part in bumps_of(m, seed))

    class Bumps(mg.MAiNGOmodel):
        def __init__(self) -> None:
            mg.MAiNGOmodel.__init__(self)

        def get_variables(self) -> list[Any]:
            return [mg.OptimizationVariable(mg.Bounds(0, 1), mg.VT_CONTINUOUS, f"y{i}") for i in range(m)]

        def evaluate(self, y: list[Any]) -> Any:
            total = 0
            for centre, s, height in zip(centres, sharp, heights, strict=True):
                total = total + height / (1 + s * sum(mg.sqr(v - c) for v, c in zip(y, centre, strict=True)))
            result = mg.EvaluationContainer()
            result.objective = -total
            return result

    model = Bumps()
    solver = mg.MAiNGO(model)
    for name, value in (("epsilonA", GAP), ("epsilonR", 1e-9), ("maxTime", LIMIT), ("loggingDestination", 0)):
        solver.set_option(name, value)
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):  # it leaves a file where it is
        done = solver.solve() == mg.GLOBALLY_OPTIMAL
    return {"value": -float(solver.get_objective_value()), "done": done}


def side_by_side(m: int, instances: int) -> dict[str, Any]:
    """Both on the same instances, in turns."""
    mine, other = [], []
    for seed in range(instances):
        spent, found = clocked(lambda seed=seed: ours(m, seed))
        mine.append(found | spent)
        if sum(not o["done"] for o in other) > instances / 2:
            continue
        spent, rival = clocked(lambda seed=seed: theirs(m, seed))
        if rival is not None:
            other.append(rival | spent)
            assert not rival["done"] or abs(found["value"] - rival["value"]) <= 1e-5, (m, seed, found, rival)
    late = [LIMIT] * (instances - len(other)) if other else []  # more than half were, and these count as such
    seconds, processor = (median([o[key] for o in other] + late) if other else None for key in ("seconds", "cpu"))
    fast = median(a["seconds"] for a in mine)
    return {
        "m": m,
        "ours": fast,
        "maingo": seconds,
        "ratio": None if seconds is None else seconds / fast,
        "worst": max(a["seconds"] for a in mine),
        "largest_gap": max(a["gap"] for a in mine),
        "processor": median(a["cpu"] for a in mine),
        "maingo_processor": processor,
        "maingo_within": f"{sum(o['done'] for o in other)} of {len(other)}" if other else None,
    }  # fmt: skip


def program(m: int, seed: int) -> lsip.Problem:
    """The least combination of ten functions that lies above eight bumps."""
    y, x = lsip.Index("y", lsip.Box(np.zeros(m), np.ones(m))), lsip.Variable(BASIS, name="x")
    centres, sharp, _ = bumps_of(m, 1000 + seed, BASIS - 1)
    basis = 1 / (1 + sharp * ((y - centres) ** 2).sum(axis=-1))
    places, sharper, heights = bumps_of(m, seed)
    target = (heights / (1 + sharper * ((y - places) ** 2).sum(axis=-1))).sum()
    points = np.random.default_rng(seed).random((2000, m))
    mean = (1 / (1 + sharp * ((points[:, None] - centres) ** 2).sum(axis=-1))).mean(axis=0)
    cost = x[0] + mean @ x[1:]
    return lsip.Problem(lsip.minimize(cost), [lsip.forall(y, x[0] + basis @ x[1:] >= target), x <= 10, x >= -10])


def show(figures: Figures) -> str:
    """Both tables."""
    bumps = {"m": "m", "ours": "ours (s)", "maingo": "MAiNGO (s)", "ratio": "MAiNGO/ours", "worst": "our worst (s)"}
    bumps |= {"maingo_within": "MAiNGO within a minute"}
    solved = {"m": "m", "certified": "certified", "median": "median (s)", "worst": "worst (s)"}
    return table(figures["bumps"], bumps) + "\n\n" + table(figures["programs"], solved)


@benchmark("dimension", "proofs over indices of two to eight coordinates, beside MAiNGO", show)
def run(options: Options) -> Figures:
    instances = 2 if options.quick else 10
    bumps, programs = [], []
    for m in range(2, 6 if options.quick else 9):
        say(f"bumps, m = {m}")
        bumps.append(side_by_side(m, instances))
    for m in range(1, 5 if options.quick else 7):
        say(f"programs, m = {m}")
        solutions = [program(m, seed).solve(verbose=False, time_limit=LIMIT) for seed in range(min(instances, 3))]
        seconds = [s.seconds for s in solutions]
        certified = sum(s.certified for s in solutions)
        programs.append({"m": m, "certified": certified, "median": median(seconds), "worst": max(seconds)})
    goals = reached(bumps, programs)
    return {"machine": machine(), "gap": GAP, "goals": goals, "bumps": bumps, "programs": programs}


def reached(bumps: list[Figures], programs: list[Figures]) -> list[Figures]:
    """Faster than MAiNGO in the median at every m; seconds for m = 6 and 8; how soon programs are certified."""
    wanted = [
        ("least ratio of MAiNGO's median to ours, over all m", [b["ratio"] for b in bumps if b["ratio"]], min, 1.0),
        ("median seconds, bumps, m = 6", [b["ours"] for b in bumps if b["m"] == 6], max, 1.0),
        ("median seconds, bumps, m = 8", [b["ours"] for b in bumps if b["m"] == 8], max, 20.0),
        ("worst seconds of a program, n = 10", [p["worst"] for p in programs], max, 10.0),
    ]
    return [
        {"goal": goal, "figure": worst(figures), "target": target, "met": (worst(figures) <= target) == (worst is max)}
        for goal, figures, worst, target in wanted
        if figures
    ]
