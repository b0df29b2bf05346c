"""The benchmarks are listed, run, and print what they promise; the figures themselves depend on the machine."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lsip
from benchmarks import control, reproof
from benchmarks.__main__ import main
from benchmarks.harness import discretise, linear
from benchmarks.harness.clock import forget, interleave, phases
from benchmarks.harness.figures import median, plain, table
from benchmarks.harness.registry import Options, benchmarks
from benchmarks.harness.worker import Worker
from benchmarks.lsip import goals, summarise
from lsip import catalogue

ROOT = Path(__file__).resolve().parent.parent


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "benchmarks", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)


@pytest.fixture(scope="module")
def figures() -> dict[str, Any]:
    """One run over a problem with m = 1, one with m = 2, and an infeasible one."""
    done = run("lsip", "--json", "--quick", "--only", "abs_d2,sum_of_functions,infeasible_plane")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_every_benchmark_is_listed_with_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == sorted(benchmarks())
    assert {"lsip", "separation"} <= set(benchmarks())
    assert all(len(line.split()) > 3 for line in lines)


def test_unknown_names_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["nonsense"])
    assert "choose from" in capsys.readouterr().err
    assert main(["lsip", "--only", "no_such_problem"]) == 1
    assert "matches none" in capsys.readouterr().err


def test_patterns_choose_problems() -> None:
    names = ["abs_d2", "abs_d10", "monic8"]
    assert Options().choose(names) == names
    assert Options("abs").choose(names) == ["abs_d2", "abs_d10"]
    assert Options("*8, abs_d2").choose(names) == ["abs_d2", "monic8"]


def test_json_has_the_promised_figures(figures: dict[str, Any]) -> None:
    assert figures["benchmark"] == "lsip"
    assert figures["quick"] is True
    assert {"machine", "seconds", "goals", "summary", "problems"} <= set(figures)
    summary = figures["summary"]
    assert summary["failures"] == []
    assert {"median_seconds", "p95_seconds", "fraction_under_150_ms", "slowest", "wrong"} <= set(summary["solve"])
    assert {"median_ratio_m2", "worst_ratio", "slower_than_2x", "lower_bounds_m2"} <= set(summary["discretisation"])
    assert {"median_ratio_small", "worst_ratio_large", "large"} <= set(summary["cold"])
    assert {"median_fresh_ratio", "median_warm_ratio"} <= set(summary["separation"])
    assert all({"goal", "figure", "target", "met"} == set(goal) for goal in figures["goals"])
    assert all(p["why"] for p in summary["solve"]["slowest"])


def test_every_problem_has_its_figures(figures: dict[str, Any]) -> None:
    one, two, none = figures["problems"]
    facts = {"status", "error", "certified", "gap", "iterations", "boxes", "seconds", "n", "m", "phases", "right"}
    assert facts <= set(one)
    assert (one["name"], one["m"], one["status"], one["right"]) == ("abs_d2", 1, "OPTIMAL", True)
    assert {"seconds", "ratio", "rows", "per_axis", "lower_bound", "capped", "way"} <= set(one["discretisation"])
    assert one["cold"]["seconds"] > 0
    assert "separation" not in one
    assert two["m"] == 2
    assert two["separation"]["points"] == pytest.approx(1e5, rel=0.01)
    assert {"fresh_ratio", "warm_ratio", "proven"} <= set(two["separation"])
    assert none["status"] == "INFEASIBLE"
    assert none["value"] is None
    assert none["discretisation"]["status"] == "infeasible"
    assert "cold" not in none


def test_tables_are_readable() -> None:
    done = run("separation", "--quick", "--only", "tfi2_tan_n3")
    assert done.returncode == 0, done.stderr
    assert "BranchAndBound" in done.stdout
    assert "RandomSearch" in done.stdout
    text = table([{"name": "a", "x": 0.123456}, {"name": "bcd"}], {"name": "name", "x": "x"})
    assert text.splitlines() == ["name      x", "a     0.123", "bcd       -"]


def test_goals_tell_figures_that_miss_from_those_that_are_missing() -> None:
    problem = {"name": "p", "m": 2, "n": 3, "status": "OPTIMAL", "right": True, "certified": True, "seconds": 0.2}
    problem |= {"boxes": 9, "iterations": 4, "rows_an_index": 1, "finite_rows": 0}
    problem |= {"phases": {"compile": 0.0, "separation": 0.15, "master": 0.03, "rest": 0.02}}
    compared = {"ratio": 0.3, "ratio_without_compile": 0.2, "lower_bound": True}
    summary = summarise([problem | {"discretisation": compared}, {"name": "q", "failure": "stopped"}])
    kept = {goal["goal"]: goal["met"] for goal in goals(summary)}
    assert kept["median seconds of a solve"] is False
    assert kept["95th percentile of the seconds of a solve"] is True
    assert kept["discretisation over ours, worst"] is None
    assert summary["discretisation"]["undecided"] == ["p"]
    assert summary["solve"]["wrong"] == ["q"]
    assert summary["failures"] == [{"name": "q", "failure": "stopped"}]
    assert "boxes" in summary["solve"]["slowest"][0]["why"]


def test_figures_fit_into_json() -> None:
    given = {
        "a": np.float64(1 / 3),
        "b": [np.inf, np.nan, np.int64(2)],
        "c": np.True_,
        "d": None,
        "e": lsip.Status.OPTIMAL,
    }
    assert plain(given) == {"a": 0.333333, "b": [None, None, 2], "c": True, "d": None, "e": "OPTIMAL"}
    assert median([None, 3.0, 1.0, 2.0]) == 2.0
    assert median([]) is None


def test_the_rival_is_a_true_discretisation() -> None:
    """Its value is nearly right, its violation is small, and half as many points are not enough."""
    problem = catalogue.get("tfi2_tan_n3").build()
    rival = discretise.Search(problem, False, 10_000, 10.0, 30.0).run()
    assert rival.fine
    assert rival.capped is None
    assert 0 < rival.violation <= discretise.TOLERATED
    assert rival.shot.rows == rival.per_axis
    program = problem.compile()
    assert program.c @ rival.shot.x == pytest.approx(catalogue.get("tfi2_tan_n3").value, abs=1e-5)
    coarse = discretise.one_shot(problem, rival.per_axis // 2, "simplex", 10.0)
    assert discretise.true_violation(program, coarse.x)[0] > discretise.TOLERATED


def test_all_ways_of_the_rival_agree() -> None:
    problem = catalogue.get("monic6_zero").build()
    program = problem.compile()
    shots = [discretise.one_shot(problem, 33, way, 10.0) for way in discretise.WAYS]
    assert {s.status for s in shots} == {"optimal"}
    assert np.ptp([program.c @ s.x for s in shots]) < 1e-7


def test_the_cap_on_rows_is_kept_and_marked() -> None:
    rival = discretise.Search(catalogue.get("watson8_2d").build(), False, 500, 10.0, 30.0).run()
    assert rival.capped == "rows"
    assert not rival.fine
    assert rival.per_axis == 22  # 22^2 <= 500 < 23^2


def test_rows_match_the_violation() -> None:
    for name in ("arches_1000", "power_grid_20", "fir_linear"):
        program = catalogue.get(name).build().compile()
        x = np.cos(np.arange(program.n))
        points = [(f, family.domain.grid(3)) for f, family in enumerate(program.families)]
        rows = linear.rows_at(program, points)
        expected = np.concatenate([program.violation(f, x).values(y).ravel() for f, y in points])
        assert rows.matrix @ x - rows.rhs == pytest.approx(expected, abs=1e-9)
        support = [lsip.proof.certificate.Support(f, 0, y[1], 1.0) for f, y in points]
        single = linear.rows_of(program, support)
        values = [program.violation(f, x).values(y[1:2])[0, 0] for f, y in points]
        assert single.matrix @ x - single.rhs == pytest.approx(values, abs=1e-9)


def test_contestants_take_turns_and_slow_ones_sit_out() -> None:
    calls: list[str] = []

    def contestant(name: str, seconds: float) -> Any:
        def go() -> float:
            calls.append(name)
            return seconds

        return go

    given = {"a": contestant("a", 1.0), "b": contestant("b", 5.0), "c": contestant("c", 9.0)}
    assert interleave(given, 3, 4.0, {"c": 7.0}) == {"a": 1.0, "b": 5.0, "c": 7.0}
    assert calls == ["a", "b", "a", "a"]


def test_phases_watch_a_solve_and_leave_no_trace() -> None:
    before = lsip.oracles.BranchAndBound.maximise
    with phases() as spent:
        catalogue.get("abs_d2").build().solve(verbose=False)
    assert all(seconds > 0 for seconds in spent.values())
    assert lsip.oracles.BranchAndBound.maximise is before


def test_forgetting_empties_caches() -> None:
    from lsip.expressions.monomials import _orders

    _orders(2, 2)
    assert _orders.cache_info().currsize > 0
    forget()
    assert _orders.cache_info().currsize == 0


def misbehave(how: str) -> Iterator[dict[str, Any]]:
    """Stand-in for a measurement that goes wrong after its first part."""
    import os
    import time

    yield {"first": 1}
    if how == "raise":
        raise ValueError("so it goes")
    if how == "hang":
        time.sleep(60)
    if how == "die":
        os._exit(3)
    yield {"second": 2}


def test_workers_survive_what_they_measure() -> None:
    worker = Worker(misbehave)
    try:
        assert worker.run("raise", seconds=30) == {"first": 1, "failure": "ValueError: so it goes"}
        assert worker.run("die", seconds=30)["failure"].startswith("the process died")
        assert worker.run("fine", seconds=30) == {"first": 1, "second": 2}
        assert worker.run("hang", seconds=1.0) == {"first": 1, "failure": "stopped after 1 s"}
        assert worker.run("fine", seconds=30) == {"first": 1, "second": 2}
    finally:
        worker.stop()


def test_peers_agree_and_are_timed() -> None:
    """Those that are installed find the same values; the filters and grids are there too."""
    pytest.importorskip("cvxpy")
    done = run("peers", "--json", "--quick", "--only", "box,filters,grids")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    ours = [row for row in found["robust"] if row["tool"] == "lsip"]
    assert [row["n"] for row in ours] == [5, 20]
    for row in found["robust"]:
        if row["failure"] is None:
            assert row["off"] <= 1e-6
            assert row["seconds"] > 0
        else:
            assert row["tool"] in ("RSOME", "PyROS")  # not installed everywhere
    assert {row["tool"] for row in found["robust"] if row["failure"] is None} >= {"lsip", "CVXPY, by hand"}
    assert all(row["above_optimum"] > -1e-9 for row in found["filters"])
    assert any(row["proven"] for row in found["filters"])
    assert {row["tool"] for row in found["discretisation"]} == {"CVXPY", "Pyomo with pyomo.dae"}
    assert found["summary"]["robust_programs"] == 2


def test_growth_is_measured_and_drawn(tmp_path: Path) -> None:
    """A run that was kept goes on where it ended, and its curves are drawn."""
    pytest.importorskip("matplotlib")
    kept = tmp_path / "growth.json"
    asked = ["growth", "--quick", "--only", "masts", "--keep", str(kept)]
    done = run(*asked)
    assert done.returncode == 0, done.stderr
    found = json.loads(kept.read_text(encoding="utf-8"))
    assert [row["size"] for row in found["rows"]] == [100, 200]
    for row in found["rows"]:
        assert row["certified"]
        assert float(row["value"]) == pytest.approx(float(row["rival_value"]), rel=1e-6)
    assert found["summary"]["series"][0]["exponent"] is not None
    again = run(*asked, "--json")
    assert json.loads(again.stdout)["rows"] == found["rows"]
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "docs"))
    try:
        from growth_curves import draw  # type: ignore[import-not-found]
    finally:
        sys.path.pop(0)
    draw(found, tmp_path / "growth.png")
    assert (tmp_path / "growth.png").stat().st_size > 5000


def test_methods_are_compared_on_the_same_terms(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    asked = ["methods", "--quick", "--only", "cartpole: EPO,cartpole: CRPO", "--json", "--seed", "3"]
    asked += ["--keep", str(tmp_path / "kept.json")]
    done = run(*asked)
    assert done.returncode == 0, done.stderr
    kept = json.loads((tmp_path / "kept.json").read_text(encoding="utf-8"))
    assert [kept[part] for part in ("cells", "rows")] == [json.loads(done.stdout)[part] for part in ("cells", "rows")]
    again = run(*asked)
    assert json.loads(again.stdout)["cells"] == kept["cells"]
    assert "seed 3" not in again.stderr  # nothing was run again
    rows = json.loads(done.stdout)["rows"]
    assert [row["method"] for row in rows] == ["EPO", "CRPO"]
    assert len({(row["environment"], row["seeds"], row["steps"]) for row in rows}) == 1
    assert all({"mean_return", "worst_violation", "found_feasible"} <= set(row) for row in rows)
    assert "seed 3" in done.stderr


def test_dynamic_programming_knows_what_the_pendulum_can_keep() -> None:
    pytest.importorskip("gymnasium")
    from benchmarks.harness.pendulum import Mesh, known

    free, least, best = known(8, Mesh(angles=61, speeds=41, torques=5, thresholds=10, starts=100))
    assert free["violation"] > 0.2  # who only follows the reward breaks the constraint,
    assert least["violation"] < min(free["violation"] - 0.5, 0.0)  # which can be kept
    assert least["return"] < best["return"] < free["return"] + 0.5
    assert best["violation"] < free["violation"]


@pytest.mark.parametrize("option", ["--seeds", "--tries", "--jobs"])
def test_counts_are_at_least_one(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["si_cppo", option, "0"])
    assert "at least 1" in capsys.readouterr().err


def test_ships_of_the_benchmark_are_certified(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a seed's row says, for a run that is too short to learn anything."""
    pytest.importorskip("torch")
    from benchmarks import si_cppo

    monkeypatch.setattr(si_cppo, "EPISODES", 300)
    with pytest.warns(UserWarning, match="No evaluation has found"):
        (row,) = si_cppo.learning(range(7, 8), 1, 1.0)
    assert row["seed"] == 7
    assert row["bound"] > row["violation"] + 0.9 * 100 * np.log(1 / 0.05) / 300  # what 300 episodes cannot exclude
    assert row["good"] is False


def test_pictures_of_ships_have_the_costs_of_ships() -> None:
    pytest.importorskip("torch")
    import gymnasium

    import envs
    from benchmarks.harness import pictured

    ships = gymnasium.make_vec("lsip/ShipRoute-v0", num_envs=3)
    bare, seen = gymnasium.make_vec("lsip/ShipRoute-v0", num_envs=3), pictured.PicturedShips(ships)
    (plain, _), (drawn, _) = bare.reset(seed=1), seen.reset(seed=1)
    for heading in (0, 3, 1):
        plain, drawn = bare.step(np.full((3, 1), heading * np.pi / 6))[0], seen.step(np.full(3, heading))[0]
        assert seen.observation_space.contains(drawn)
    y, still = np.array([[0.4, 0.4], [0.9, 0.1]]), np.zeros((3, 1))
    np.testing.assert_array_equal(
        pictured.constraint().steps(y, drawn, still), envs.ship.constraint().steps(y, plain, still)
    )
    assert drawn[0, 0].argmax() == 36 * round(35 * plain[0, 1]) + round(35 * plain[0, 0])


def test_throughput_shares_and_gradients_are_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    from benchmarks import learn

    monkeypatch.setattr(learn, "SIZES", {"2 x 8": (8, 8)})
    monkeypatch.setattr(learn, "_theirs", lambda hidden: None)  # whether or not it is installed
    (row,) = learn.throughput(1)
    assert min(row["all_passes"], row["as_configured"]) > 0
    assert row["sb3"] is row["times"] is None
    shares = learn.shares(1)
    assert [r["networks"] for r in shares] == ["2 x 8", "convolutional"]
    for r in shares:
        assert sum(r[part] for part in ("play", "batch", "step", "critics", "search and rest")) == pytest.approx(1)
    rows = learn.gradients(1)
    assert [r["step"] for r in rows] == ["NPG", "PPO", "an iteration of SI-CPPO"]
    assert all(r["by_hand_ms"] > 0 and r["autograd_ms"] > 0 and r["times"] > 0 for r in rows)


def test_proofs_that_numpy_makes_too_late_or_not_at_all_do_not_count() -> None:
    proven = {"certified": True, "solve": 1.0, "why": ""}
    found = reproof.summarise(
        [
            {"name": "soon", **proven, "verify": 2.0},
            {"name": "late", **proven, "verify": 11.0},
            {"name": "wide", **proven, "verify": 1.0, "why": "ProofError: …"},
            {"name": "open", "certified": False, "solve": 1.0},
        ]
    )
    assert (found["certified"], found["proven_again"], found["in_time"]) == (3, 2, 1)
    assert found["otherwise"] == ["late", "wide"]


def test_a_proof_is_made_again_without_the_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    """With NumPy's proof taken away, nothing is left that could make it."""
    solution = catalogue.get("abs_d2").build().solve(verbose=False)
    assert reproof._refused(solution, 60.0) == ""
    nothing = lsip.proof.families.Bounds((np.inf,) * len(solution.program.families))
    monkeypatch.setattr("lsip.solution.verify.family_bounds", lambda *_, **__: nothing)
    assert "proven only inf" in reproof._refused(solution, 60.0)


def test_control_is_bounded_by_its_horizon_too() -> None:
    found = {"model": "zermelo_3", "lower": 1.0, "wanted": 1.0438, "processor": 1.0}
    assert [g["met"] for g in control.reached([found])] == [False, True]
    assert all(control.HORIZONS[name.split("_")[0]] > wanted for name, wanted in control.WANTED.items())
