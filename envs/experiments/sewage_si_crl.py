"""Discharge of Sewage with SI-CRL: the three figures that compare it with a constrained MDP on a grid of Y.

Both sides learn from the same data, are optimistic over the same set of models, and solve the same form of program
with the same LP solver. Policies are judged in the true model, by the error term

    max{ (V_r* - V_r)_+, (sup_y (V_{c_y} - u_y))_+ - that of the reference },

where V_r* and the reference belong to the optimal policy of the true model, and suprema over Y are proven to 1e-9.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import lsip
import rl
from rl import plotting

from ..sewage import Sewage, sewage
from .registry import Experiment, Outcome, Progress, written

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Array = NDArray[np.float64]
SEEDS, PAPER_SEEDS = 10, 100
CHECKPOINTS = 3  # along a side of the grid of Figure_Sewage_Heat; SI-CRL has as many programs as the grid has points
ITERATIONS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 16, 20, 25)  # T
SIDES = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32)  # k, for N = k^2
ACCURACIES = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
MOST_ITERATIONS, MOST_SIDE = 40, 100  # where the search for an accuracy ends
REFERENCE = 1e-7  # how far the reference solution may be from optimal and feasible; it aims at 1e-9
REPEATS = 3  # of every timing, of which the fastest counts: other work on the machine only ever adds


@dataclass(frozen=True)
class SICRLSetting:
    """The random environments, and what is known of them.

    "m sufficiently large", as the paper has it, is 10^16 samples of every pair: the error of SI-CRL that is left when
    all of Y is taken care of falls with 1 / sqrt(m), and is then a few 1e-7.
    """

    states: int = 8
    actions: int = 4
    gamma: float = 0.9
    slack: float = 1e-6  # Delta
    region: float = 1.0
    per_pair: int = 10**16

    @property
    def delta(self) -> float:
        """0.005 / (|S|^2 |A|)."""
        return 0.005 / (self.states**2 * self.actions)

    def describe(self) -> dict[str, Any]:
        """For the JSON file."""
        return {**asdict(self), "delta": self.delta}


PAPER = SICRLSetting()
LARGER = SICRLSetting(states=20, actions=5)  # not in the paper: does the comparison change with |S|?
LARGER_SEEDS = 5


class Trial:
    """One environment with its data and its reference solution."""

    def __init__(self, setting: SICRLSetting, seed: int) -> None:
        self.setting = setting
        s = setting
        self.mdp: Sewage = sewage(s.states, s.actions, s.gamma, seed=seed, region=s.region, slack=s.slack)
        self.data = self.mdp.sample(per_pair=s.per_pair, seed=[seed, 1])  # independent of the environment's own draws

    @cached_property
    def reference(self) -> tuple[float, float]:
        """V_r* and the violation of the optimal policy, both evaluated exactly."""
        best = rl.plan(self.mdp, tol=1e-8)
        value, violation = self.mdp.value(best.policy), self.violation(best.policy)
        if not (abs(best.upper - value) <= REFERENCE and violation <= REFERENCE):
            raise lsip.ProofError(
                f"The reference solution is not good enough to measure errors with: its value {value:.9g} should be "
                f"{best.upper:.9g}, its violation {violation:.3g} zero, both to {REFERENCE:g}."
            )
        return value, violation

    def violation(self, policy: Array) -> float:
        """(sup_y V_{c_y} - u_y)_+."""
        return max(self.mdp.worst_violation(policy).value, 0.0)

    def error(self, policy: Array) -> float:
        """The error term."""
        value, violation = self.reference
        return max(value - self.mdp.value(policy), self.violation(policy) - violation, 0.0)

    def steps(self) -> Iterator[rl.Learned]:
        """SI-CRL, one program after another."""
        return rl.si_crl_steps(self.data, self.mdp.specification, self.setting.delta)

    def learn(self, iterations: int) -> rl.Learned:
        """SI-CRL, T programs."""
        return rl.si_crl(self.data, self.mdp.specification, self.setting.delta, iterations=iterations)

    def discretise(self, side: int) -> rl.baselines.Discretised:
        """The baseline on a grid of side x side points."""
        return rl.baselines.discretise(self.mdp.specification, side, data=self.data, delta=self.setting.delta)


# ---- Figure_Sewage_Heat ---------------------------------------------------------------------------------------------


def sewage_heat(out: Path, full: bool, seeds: int | None, progress: Progress) -> Outcome:
    """The violation over Y after T = 9 programs, beside that of a 3 x 3 grid: drawn for the first environment."""
    picture = plotting.figure(2)
    count = seeds or (PAPER_SEEDS if full else SEEDS)
    violations: dict[str, list[float]] = {"SI-CRL": [], "baseline": []}
    numbers: dict[str, Any] = {"setting": PAPER.describe(), "T": CHECKPOINTS**2, "N": CHECKPOINTS**2, "seeds": count}
    for seed in range(count):
        progress(seed, count)
        trial = Trial(PAPER, seed)
        results: dict[str, Any] = {"SI-CRL": trial.learn(CHECKPOINTS**2), "baseline": trial.discretise(CHECKPOINTS)}
        for name, result in results.items():
            violations[name].append(trial.violation(result.policy))
        if seed == 0:
            numbers["drawn"] = {"seed": seed, **_draw_heat(picture, trial, results)}
    progress(count, count)
    lines = []
    for name, each in violations.items():
        numbers[name] = {"violation_mean": float(np.mean(each)), "violation_median": float(np.median(each))}
        lines.append(
            f"{name:9} violation {each[0]:.2e} in the picture, mean {np.mean(each):.2e} and median "
            f"{np.median(each):.2e} over {count} environment{'s' if count > 1 else ''}"
        )
    return written(out, "sewage_heat", picture, numbers, lines)


def _draw_heat(picture: Figure, trial: Trial, results: dict[str, Any]) -> dict[str, Any]:
    mdp, panels = trial.mdp, list(picture.axes)
    mesh = mdp.domain.grid(plotting.MESH)
    warmth = {k: float(plotting.heat(mdp.violations(r.policy, mesh)).max()) for k, r in results.items()}
    titles = (f"SI-CRL, T = {CHECKPOINTS**2}", f"{CHECKPOINTS} × {CHECKPOINTS} grid")
    for axes, title, result in zip(panels, titles, results.values(), strict=True):
        limits = (0.0, max(*warmth.values(), 1e-9))
        plotting.violation_map(mdp, result.policy, axes, points=result.points, limits=limits, bar=False, title=title)
    plotting.colour_bar(picture, panels[0].collections[0], panels)
    picture.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
    return {
        name: {
            "violation": trial.violation(result.policy),
            "error": trial.error(result.policy),
            "heat": warmth[name],
            "points": result.points.tolist(),
        }
        for name, result in results.items()
    }


# ---- Figure_Sewage_Node ---------------------------------------------------------------------------------------------


def sewage_node(out: Path, full: bool, seeds: int | None, progress: Progress) -> Outcome:
    """The error of SI-CRL against T, and of the baseline against the number of its grid points."""
    picture = plotting.figure()
    count = seeds or (PAPER_SEEDS if full else SEEDS)
    learned, naive = np.zeros((count, len(ITERATIONS))), np.zeros((count, len(SIDES)))
    for seed in range(count):
        progress(seed, count)
        trial = Trial(PAPER, seed)
        learned[seed] = _errors_by_iteration(trial)
        naive[seed] = [trial.error(trial.discretise(side).policy) for side in SIDES]
    progress(count, count)
    grids = tuple(side * side for side in SIDES)
    plotting.curves(
        {"SI-CRL, $T$ programs": (ITERATIONS, learned), "uniform grid of $N$ points": (grids, naive)},
        picture.axes[0],
        xlabel="index points: $T$, or $N$",
        ylabel="error term",
        title=f"mean over {count} environments",
    )
    numbers = {
        "setting": PAPER.describe(),
        "seeds": count,
        "SI-CRL": _table("T", ITERATIONS, learned),
        "baseline": _table("N", grids, naive),
    }
    lines = []
    for name, x, errors in (("SI-CRL", ITERATIONS, learned), ("baseline", grids, naive)):
        mean = errors.mean(axis=0)
        reached = [(eps, next((n for n, e in zip(x, mean, strict=True) if e <= eps), None)) for eps in ACCURACIES[1:]]
        lines.append(f"{name:9} points for a mean error of " + ", ".join(f"{e:.0e}: {n or '-'}" for e, n in reached))
    return written(out, "sewage_node", picture, numbers, lines)


def _errors_by_iteration(trial: Trial) -> list[float]:
    """The error after T programs; once no violation is found, more programs do not change the policy."""
    errors = [trial.error(learned.policy) for learned, _ in zip(trial.steps(), range(max(ITERATIONS)), strict=False)]
    return [errors[min(T, len(errors)) - 1] for T in ITERATIONS]


# ---- Figure_Sewage_time ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Reached:
    """What an accuracy took: index points and seconds; of the largest run, as a lower bound, if it was not reached."""

    points: int
    seconds: float
    reached: bool = True


Times = dict[str, list[Reached]]  # a side: one entry for every accuracy


def sewage_time(out: Path, full: bool, seeds: int | None, progress: Progress) -> Outcome:
    """The time to a given accuracy: one clock for both sides, from the data to the policy.

    Each side is given the smallest T, or the coarsest grid, that reaches the accuracy, and only that run is timed: the
    confidence set, building the program, all LPs and, for SI-CRL, the certified separation.
    """
    studies = [(PAPER, seeds or (PAPER_SEEDS if full else SEEDS))]
    if full:
        studies.append((LARGER, min(studies[0][1], LARGER_SEEDS)))
    picture = plotting.figure(len(studies))
    total, done = sum(count for _, count in studies), 0
    numbers: dict[str, Any] = {"repeats": REPEATS, "studies": []}
    lines = []
    for axes, (setting, count) in zip(picture.axes, studies, strict=True):
        Trial(setting, 0).learn(2)  # the first call of a process also loads code; no side should pay for that
        trials: list[Times] = []
        for seed in range(count):
            progress(done, total)
            trials.append(_times(Trial(setting, seed)))
            done += 1
        rows = [_row(i, trials) for i in range(len(ACCURACIES))]
        numbers["studies"].append({"setting": setting.describe(), "seeds": count, "accuracies": rows})
        _draw_times(axes, trials, rows, f"|S| = {setting.states}, |A| = {setting.actions}, {count} environments")
        lines += [
            f"|S| = {setting.states}, error {row['accuracy']:.0e}: "
            + ", ".join(f"{name} {_cell(row[name], count)}" for name in ("SI-CRL", "baseline"))
            for row in rows
        ]
    progress(total, total)
    return written(out, "sewage_time", picture, numbers, lines)


def _times(trial: Trial) -> Times:
    return {
        "SI-CRL": _search(trial, trial.learn, range(1, MOST_ITERATIONS + 1), lambda T: T),
        "baseline": _search(trial, trial.discretise, _sides(), lambda side: side * side),
    }


def _sides() -> Iterator[int]:
    """1, 2, 3, …, then in steps of an eighth, up to MOST_SIDE."""
    side = 1
    while side < MOST_SIDE:
        yield side
        side += max(1, side // 8)
    yield MOST_SIDE


def _search(
    trial: Trial, method: Callable[[int], Any], sizes: Iterable[int], points: Callable[[int], int]
) -> list[Reached]:
    """For every accuracy, the first size that reaches it."""
    reached: list[Reached] = []
    for size in sizes:
        error = trial.error(method(size).policy)
        met = sum(error <= accuracy for accuracy in ACCURACIES)
        if met > len(reached):
            reached += [Reached(points(size), _fastest(method, size))] * (met - len(reached))
        if len(reached) == len(ACCURACIES):
            return reached
    return reached + [Reached(points(size), _fastest(method, size), False)] * (len(ACCURACIES) - len(reached))


def _fastest(method: Callable[[int], Any], size: int) -> float:
    seconds = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        method(size)
        seconds.append(time.perf_counter() - began)
    return min(seconds)


def _row(i: int, trials: list[Times]) -> dict[str, Any]:
    """Means over the environments for one accuracy; lower bounds where some did not reach it."""
    row: dict[str, Any] = {"accuracy": ACCURACIES[i]}
    for name in trials[0]:
        mean, error = plotting.mean_and_error([[t[name][i].points, t[name][i].seconds] for t in trials])
        row[name] = {
            "reached": sum(t[name][i].reached for t in trials),
            "points": float(mean[0]),
            "seconds": float(mean[1]),
            "standard_error": float(error[1]),
        }
    return row


def _draw_times(axes: Axes, trials: list[Times], rows: list[dict[str, Any]], title: str) -> None:
    names = {"SI-CRL": "SI-CRL", "baseline": "uniform grid"}
    seconds = {label: (ACCURACIES, [[r.seconds for r in t[name]] for t in trials]) for name, label in names.items()}
    plotting.curves(seconds, axes, xlabel="error term at most", ylabel="seconds, mean", title=title)
    for row in rows:
        for name in names:
            missing = len(trials) - row[name]["reached"]
            if missing:
                axes.annotate(
                    f"≥, {missing} not reached",
                    (row["accuracy"], row[name]["seconds"]),
                    (-8, 4),
                    textcoords="offset points",
                    ha="right",
                    fontsize=8.5,
                )
    axes.invert_xaxis()


def _cell(side: dict[str, Any], count: int) -> str:
    all_of_them = side["reached"] == count
    text = f"{1000 * side['seconds']:.0f} ms, {side['points']:.1f} points"
    return text if all_of_them else f"over {text} ({count - side['reached']} of {count} not reached)"


# ---- what they share ------------------------------------------------------------------------------------------------


def _table(name: str, x: tuple[int, ...], errors: Array) -> dict[str, list[float]]:
    mean, error = plotting.mean_and_error(errors)
    return {name: list(x), "mean": mean.tolist(), "standard_error": error.tolist()}


EXPERIMENTS = (
    Experiment(
        "sewage_heat",
        "Figure_Sewage_Heat",
        "Discharge of Sewage: violation over Y, SI-CRL with T = 9 beside a 3 x 3 grid",
        sewage_heat,
    ),
    Experiment(
        "sewage_node",
        "Figure_Sewage_Node",
        "Discharge of Sewage: error of SI-CRL against T, and of a grid against its points",
        sewage_node,
    ),
    Experiment(
        "sewage_time",
        "Figure_Sewage_time",
        "Discharge of Sewage: time of SI-CRL and of a grid to reach an accuracy",
        sewage_time,
    ),
)
