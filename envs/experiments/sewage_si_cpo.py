"""Discharge of Sewage with SI-CPO: two figures and a table that compare it with CRPO on fixed grids of Y.

Both sides are the same loop with the same evaluation and the same update; only the search over Y differs: a hundred
fresh random points in every iteration, or always the same grid. A third figure, which is not in the paper, has other
steps, under which the loop settles sooner, and a search that misses nothing. Policies are judged in the true model, by

    max{ (V_r* - V_r)_+, (sup_y V_{c_y} - u_y)_+ },

with V_r* planned to 1e-9 and suprema over Y proven to 1e-6. Every run over one environment is kept in a file beside the
figures, and not run again while that is there.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

import lsip
import rl
from rl import plotting

from ..sewage import Sewage, sewage
from .registry import Experiment, Outcome, Progress, written
from .runs import kept, one_thread, spread

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Array = NDArray[np.float64]
GRIDS = {"CRPO, N = 250": 250, "CRPO, N = 500": 500, "CRPO, N = 1000": 1000}  # points
CERTIFIED = "SI-CPO, certified"  # with branch-and-bound over Y
METHODS = ("SI-CPO", *GRIDS)
SETTLED_METHODS = ("SI-CPO", *GRIDS, CERTIFIED)
OPPONENT = "CRPO, N = 500"  # in the heat maps
CHOICES = ("average", "uniform", "best")  # of the policy to judge; figures show the first, as the authors' do
SEEDS, PAPER_SEEDS = 2, 20
ITERATIONS, PAPER_ITERATIONS, SETTLED_ITERATIONS = 1_000, 10_000, 3_000  # T
EVERY, MARKS = 100, 17  # iterations between two points of a curve, of which a picture marks some
HEAT = 18.0  # the paper's heat is this times the violation
SECONDS = {"SI-CPO": 0.19, "CRPO, N = 250": 0.23, "CRPO, N = 500": 0.30, "CRPO, N = 1000": 0.45}  # the paper's, a GPU
ROUNDS, BLOCK = 10, 20  # of the clock: the methods take turns, so many iterations at a time
WORKERS = 2  # processes, of one thread each
TOLERANCE = 1e-6  # of the proven suprema


@dataclass(frozen=True)
class SICPOSetting:
    """The random environments and the settings of both algorithms; by default, the paper's."""

    states: int = 8
    actions: int = 4
    gamma: float = 0.9
    slack: float = 1e-6  # Delta
    region: float = 1.0
    eta: float = 0.013
    learning_rate: float = 1.0  # alpha
    paths: int = 100_000  # K_eval
    horizon: int = 100  # H
    samples: int = 1000  # K_sgd
    radius: float = 1000.0  # W
    steps: Literal["decreasing", "constant"] = "decreasing"  # of the inner descent
    points: int = 100  # M, of the random search

    def environment(self, seed: int) -> Sewage:
        """The environment of a seed."""
        return sewage(self.states, self.actions, self.gamma, seed=seed, region=self.region, slack=self.slack)

    def options(self, seed: int) -> dict[str, Any]:
        """The arguments of a learner that all methods share; its randomness is not the environment's."""
        return {
            "update": rl.NPG(self.samples, self.horizon, self.radius, self.steps),
            "evaluation": rl.MonteCarlo(paths=self.paths, horizon=self.horizon),
            "eta": self.eta,
            "learning_rate": self.learning_rate,
            "seed": 10_000 + seed,
            "device": "cpu",
        }

    @property
    def search(self) -> lsip.oracles.Oracle:
        """How SI-CPO looks for the worst place."""
        return lsip.oracles.RandomSearch(points=self.points)

    def agent(self, method: str, mdp: Sewage, seed: int) -> rl.SICPO:
        """A learner that has not begun."""
        if method in GRIDS:
            return rl.baselines.CRPO(mdp, GRIDS[method], **self.options(seed))
        oracle = lsip.oracles.BranchAndBound() if method == CERTIFIED else self.search
        return rl.SICPO(mdp, oracle=oracle, **self.options(seed))


PAPER = SICPOSetting()
SETTLED = SICPOSetting(steps="constant", learning_rate=0.1)


# ---- runs over one environment --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SewageRun:
    """One method in one environment."""

    setting: SICPOSetting
    method: str
    seed: int
    iterations: int  # T
    every: int  # iterations between two points of the curve

    def file(self, folder: Path) -> Path:
        """Where its outcome is kept."""
        slug = self.method.lower().replace("n = ", "").replace(", ", "_").replace("-", "_")
        return folder / f"{slug}_seed{self.seed}_T{self.iterations}.json"


def outcome(run: SewageRun, folder: Path) -> dict[str, Any]:
    """What a run found, from its file if there is one of the same settings.

    The curves `gap`, (V_r* - V_r)_+, and `violation`, (sup_y V_{c_y} - u_y)_+, have one entry for each entry of
    `iteration`, for every choice of the policy; `policy` holds the final ones.
    """
    return kept(run.file(folder), asdict(run), lambda: learn(run))


def learn(run: SewageRun) -> dict[str, Any]:
    """Learn, and look at the policy from time to time."""
    mdp = run.setting.environment(run.seed)
    best = rl.plan(mdp, tol=1e-9)
    agent = run.setting.agent(run.method, mdp, run.seed)
    curves: dict[str, dict[str, list[float]]] = {c: {"gap": [], "violation": []} for c in CHOICES}
    when: list[int] = []
    spent = 0.0
    while agent.iteration < run.iterations:
        began = time.process_time()
        with one_thread():
            agent.learn(min(run.every, run.iterations - agent.iteration))
        spent += time.process_time() - began
        when.append(agent.iteration)
        for choice, curve in curves.items():
            policy = agent.choose(choice)
            curve["gap"].append(max(best.value - mdp.value(policy), 0.0))
            curve["violation"].append(max(mdp.worst_violation(policy, tol=TOLERANCE).value, 0.0))
    return {
        "run": asdict(run),
        "optimum": best.value,
        "iteration": when,
        **curves,
        "good_share": agent.good_count / agent.iteration,
        "cpu_seconds_an_iteration": spent / agent.iteration,
        "policy": {choice: agent.choose(choice).tolist() for choice in CHOICES},
    }


def runs_of(setting: SICPOSetting, methods: Sequence[str], seeds: int, iterations: int) -> list[SewageRun]:
    """All methods in the first environment, then all in the second, and so on."""
    return [SewageRun(setting, method, seed, iterations, EVERY) for seed in range(seeds) for method in methods]


def outcomes(runs: Sequence[SewageRun], folder: Path, progress: Progress) -> list[dict[str, Any]]:
    """What all runs found; those that have no file yet are shared among processes."""
    spread(partial(outcome, folder=folder), runs, WORKERS, progress)
    return [outcome(run, folder) for run in runs]


def errors(results: dict[str, Any], choice: str = CHOICES[0]) -> list[float]:
    """The error term along a run."""
    return [max(gap, violation) for gap, violation in zip(*results[choice].values(), strict=True)]


# ---- Figure_Sewage_Heat_PG ------------------------------------------------------------------------------------------


def sewage_heat_pg(out: Path, full: bool, seeds: int | None, progress: Progress) -> Outcome:
    """The violation over Y of the policies that SI-CPO and CRPO return: drawn for the first environment."""
    picture = plotting.figure(2)
    iterations, count = _sizes(full, seeds)
    count = count if full or seeds else 1
    names = ("SI-CPO", OPPONENT)
    runs = runs_of(PAPER, names, count, iterations)
    results = outcomes(runs, out / "sewage_si_cpo", progress)
    mdp, drawn = PAPER.environment(0), dict(zip(names, results[:2], strict=True))
    policies = {name: np.array(f["policy"][CHOICES[0]]) for name, f in drawn.items()}
    mesh = mdp.domain.grid(plotting.MESH)
    warmth = {name: float(_heat(mdp.violations(policy, mesh)).max()) for name, policy in policies.items()}
    panels = list(picture.axes)
    for axes, name in zip(panels, names, strict=True):
        limits = (0.0, max(*warmth.values(), 1e-9))
        plotting.violation_map(mdp, policies[name], axes, colouring=_heat, limits=limits, bar=False, title=name)
    plotting.colour_bar(picture, panels[0].collections[0], panels, _heat)
    picture.axes[-1].set_ylabel(r"$18\,(V_{c_y} - u_y)_+$")
    picture.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", frameon=False)
    numbers: dict[str, Any] = {"setting": asdict(PAPER), "T": iterations, "seeds": count, "drawn": {"seed": 0}}
    lines = []
    for i, name in enumerate(names):
        violations = [f[CHOICES[0]]["violation"][-1] for f in results[i::2]]
        numbers["drawn"][name] = {"heat": warmth[name], "violation": violations[0], "error": errors(drawn[name])[-1]}
        numbers[name] = {"violation_mean": float(np.mean(violations))}
        lines.append(
            f"{name:14} T = {iterations}: violation {violations[0]:.4f}, heat {warmth[name]:.3f} in the picture; "
            f"mean violation {np.mean(violations):.4f} over {count} environment{'s' if count > 1 else ''}"
        )
    return written(out, "sewage_heat_pg", picture, numbers, lines)


def _heat(violation: Array) -> Array:
    return HEAT * np.maximum(violation, 0.0)


# ---- Figure_Sewage_SICPO_Node ---------------------------------------------------------------------------------------


def sewage_sicpo_node(out: Path, full: bool, seeds: int | None, progress: Progress) -> Outcome:
    """The error term against iterations, for SI-CPO and for CRPO on three grids."""
    return _learning_curves(out, "sewage_sicpo_node", PAPER, METHODS, *_sizes(full, seeds), progress)


def sewage_sicpo_settled(out: Path, full: bool, seeds: int | None, progress: Progress) -> Outcome:
    """The same with constant steps and a smaller learning rate, and with a search over Y that proves its maximum."""
    iterations = SETTLED_ITERATIONS if full else ITERATIONS
    return _learning_curves(
        out, "sewage_sicpo_settled", SETTLED, SETTLED_METHODS, iterations, _sizes(full, seeds)[1], progress
    )


def _learning_curves(
    out: Path, name: str, setting: SICPOSetting, methods: Sequence[str], iterations: int, count: int, progress: Progress
) -> Outcome:
    picture = plotting.figure(size=(7.0, 4.8))
    folder = "sewage_si_cpo" if setting == PAPER else name
    results = outcomes(runs_of(setting, methods, count, iterations), out / folder, progress)
    by_method = {method: results[i :: len(methods)] for i, method in enumerate(methods)}
    axes, when = picture.axes[0], np.array(results[0]["iteration"])
    shown = np.unique(np.linspace(0, len(when) - 1, MARKS).round().astype(int))
    plotting.curves(
        {method: (when[shown], np.array([errors(f) for f in each])[:, shown]) for method, each in by_method.items()},
        axes,
        xlabel="iterations",
        ylabel="error term",
        title=f"mean over {count} environment{'s' if count > 1 else ''}",
    )
    axes.set_xscale("linear")
    axes.axhline(setting.eta, color=plotting.GREY, linewidth=1, linestyle=(0, (4, 3)), zorder=1)
    axes.annotate(
        r"$\eta$", (1.0, setting.eta), xycoords=("axes fraction", "data"), xytext=(4, -3), textcoords="offset points"
    )
    numbers: dict[str, Any] = {"setting": asdict(setting), "T": iterations, "seeds": count}
    lines = []
    for method, each in by_method.items():
        numbers[method] = summary(each)
        final = {choice: numbers[method][choice]["mean"][-1] for choice in CHOICES}
        lines.append(
            f"{method:17} mean final error " + ", ".join(f"{choice} {error:.4f}" for choice, error in final.items())
        )
    return written(out, name, picture, numbers, lines)


def summary(each: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Means over environments of one method's runs: the error term, and the final gap and violation behind it."""
    numbers: dict[str, Any] = {"iteration": each[0]["iteration"]}
    for choice in CHOICES:
        mean, spread = plotting.mean_and_error([errors(f, choice) for f in each])
        numbers[choice] = {
            "mean": mean.tolist(),
            "standard_error": spread.tolist(),
            "final": [errors(f, choice)[-1] for f in each],
            "final_gap": float(np.mean([f[choice]["gap"][-1] for f in each])),
            "final_violation": float(np.mean([f[choice]["violation"][-1] for f in each])),
        }
    numbers["good_share"] = float(np.mean([f["good_share"] for f in each]))
    numbers["cpu_seconds_an_iteration"] = float(np.mean([f["cpu_seconds_an_iteration"] for f in each]))
    return numbers


# ---- Table_time_discharge -------------------------------------------------------------------------------------------


def time_discharge(out: Path, full: bool, seeds: int | None, progress: Progress) -> Outcome:
    """Seconds an iteration, for SI-CPO and CRPO on three grids; the methods take turns.

    On one thread, seconds of the processor are seconds on the wall of a machine that does nothing else; the table gives
    both, and the picture the former.
    """
    picture = plotting.figure(size=(7.0, 4.2))
    count = seeds or (PAPER_SEEDS if full else SEEDS)
    samples: dict[str, list[tuple[float, float]]] = {name: [] for name in METHODS}
    for seed in range(count):
        mdp = PAPER.environment(seed)
        agents = {name: PAPER.agent(name, mdp, seed).learn(1) for name in METHODS}  # tables are made, code is loaded
        for k in range(ROUNDS):
            progress(seed * ROUNDS + k, count * ROUNDS)
            for name, agent in agents.items():
                began = time.process_time(), time.perf_counter()
                with one_thread():
                    agent.learn(BLOCK)
                ended = time.process_time(), time.perf_counter()
                samples[name].append(((ended[0] - began[0]) / BLOCK, (ended[1] - began[1]) / BLOCK))
    progress(count * ROUNDS, count * ROUNDS)
    numbers: dict[str, Any] = {"setting": asdict(PAPER), "seeds": count, "rounds": ROUNDS, "block": BLOCK}
    lines = []
    for name, each in samples.items():
        mean, deviation = np.mean(each, axis=0), np.std(each, axis=0)
        numbers[name] = {
            "cpu_seconds": float(mean[0]),
            "cpu_deviation": float(deviation[0]),
            "seconds": float(mean[1]),
            "deviation": float(deviation[1]),
            "paper": SECONDS[name],
        }
        processor, wall = (f"{1000 * m:.1f} ± {1000 * d:.1f} ms" for m, d in zip(mean, deviation, strict=True))
        lines.append(f"{name:14} {processor} of the processor an iteration, {wall} on the wall; {_paper(name)}")
    _draw_times(picture.axes[0], numbers)
    return written(out, "time_discharge", picture, numbers, lines)


def _paper(name: str) -> str:
    return f"the paper, on a GPU: {1000 * SECONDS[name]:.0f} ms"


def _draw_times(axes: Axes, numbers: dict[str, Any]) -> None:
    places, rows = np.arange(len(METHODS)), [numbers[name] for name in METHODS]
    ours = [1000 * row["cpu_seconds"] for row in rows]
    theirs = [1000 * row["paper"] for row in rows]
    spread = np.minimum([1000 * row["cpu_deviation"] for row in rows], 0.9 * np.array(ours))
    axes.bar(places - 0.2, ours, 0.38, yerr=spread, capsize=3, color=plotting.BLUE, label="here, one CPU core")
    axes.bar(places + 0.2, theirs, 0.38, color=plotting.GREY, label="the paper, a GPU")
    for x, value in [*zip(places - 0.2, ours, strict=True), *zip(places + 0.2, theirs, strict=True)]:
        axes.annotate(f"{value:.3g}", (x, 1.25 * value), ha="center", va="bottom")
    axes.set(yscale="log", ylabel="milliseconds an iteration", ylim=(1, 3 * max(theirs)))
    axes.set_xticks(places, list(METHODS))
    axes.legend(frameon=False, loc="upper left", ncols=2)


# ---- what they share ------------------------------------------------------------------------------------------------


def _sizes(full: bool, seeds: int | None) -> tuple[int, int]:
    """Iterations, and environments."""
    return (PAPER_ITERATIONS if full else ITERATIONS), seeds or (PAPER_SEEDS if full else SEEDS)


EXPERIMENTS = (
    Experiment(
        "sewage_heat_pg",
        "Figure_Sewage_Heat_PG",
        "Discharge of Sewage: violation over Y, SI-CPO beside CRPO on a grid of about 500 points",
        sewage_heat_pg,
    ),
    Experiment(
        "sewage_sicpo_node",
        "Figure_Sewage_SICPO_Node",
        "Discharge of Sewage: error of SI-CPO and of CRPO on three grids against iterations",
        sewage_sicpo_node,
    ),
    Experiment(
        "sewage_sicpo_settled",
        "not in the paper",
        "Discharge of Sewage: the same with steps that settle sooner, and with a certified search over Y",
        sewage_sicpo_settled,
    ),
    Experiment(
        "time_discharge",
        "Table_time_discharge",
        "Discharge of Sewage: seconds an iteration of SI-CPO and of CRPO on three grids",
        time_discharge,
    ),
)
