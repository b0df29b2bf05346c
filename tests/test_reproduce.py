"""`lsip reproduce` and its pictures, on environments so small that a figure takes a second."""

from __future__ import annotations

import builtins
import io
import json
import re
import tomllib
from dataclasses import replace
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import envs
import lsip
import rl
from envs.experiments import EXPERIMENTS, sewage_si_cpo, sewage_si_crl, ship_si_cppo
from envs.experiments.sewage_si_crl import SICRLSetting, Trial
from lsip import cli
from lsip.progress import Bar
from rl import plotting

pytest.importorskip("matplotlib")

ROOT = Path(__file__).resolve().parent.parent
TINY = SICRLSetting(states=3, actions=2)
QUICK = sewage_si_cpo.SICPOSetting(states=3, actions=2, paths=1000, horizon=30, samples=50, eta=0.05, points=20)
TINIER = sewage_si_cpo.SICPOSetting(states=2, actions=2, paths=1000, horizon=30, samples=50, eta=0.05, points=20)
PNG = b"\x89PNG"


def quiet(done: int, total: int) -> None:
    assert 0 <= done <= total


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small models, short lists, coarse pictures."""
    for name, value in {
        "PAPER": TINY,
        "LARGER": SICRLSetting(states=3, actions=3),
        "ITERATIONS": (1, 2, 4),
        "SIDES": (1, 3),
        "ACCURACIES": (1e-1, 1e-12),
        "MOST_ITERATIONS": 3,
        "MOST_SIDE": 3,
        "REPEATS": 1,
    }.items():
        monkeypatch.setattr(sewage_si_crl, name, value)
    settled = replace(QUICK, steps="constant", learning_rate=0.1)
    short = {"ITERATIONS": 25, "EVERY": 10, "ROUNDS": 2, "BLOCK": 2, "WORKERS": 1}
    for name, value in {"PAPER": QUICK, "SETTLED": settled, **short}.items():
        monkeypatch.setattr(sewage_si_cpo, name, value)
    ships = {"ITERATIONS": 2, "EVERY": 1, "WORKERS": 1, "SHIPS": 4, "MESH": 21, "LARGE": (8, 8), "LARGE_SHIPS": 4}
    for name, value in ships.items():
        monkeypatch.setattr(ship_si_cppo, name, value)
    monkeypatch.setattr(plotting, "MESH", 21)


@pytest.fixture
def declared(monkeypatch: pytest.MonkeyPatch) -> None:
    """The commands that lsip-rl declares, whether or not this version is installed."""
    table = tomllib.loads((ROOT / "lsip-rl" / "pyproject.toml").read_text(encoding="utf-8"))
    points = [
        EntryPoint(name, value, "lsip.commands")
        for name, value in table["project"]["entry-points"]["lsip.commands"].items()
        if name == "reproduce"
    ]
    assert points
    monkeypatch.setattr("lsip.cli.entry.entry_points", lambda group: points if group == "lsip.commands" else [])


def assert_one_paragraph(text: str) -> None:
    assert text.startswith("lsip: ")
    assert "Traceback" not in text
    assert "\n\n" not in text.strip()


# ---- the command ----------------------------------------------------------------------------------------------------


def test_without_a_name_it_lists_them(declared, capsys):
    assert cli.main(["reproduce"]) == 0
    printed = capsys.readouterr().out
    for name, experiment in EXPERIMENTS.items():
        assert name in printed
        assert experiment.label in printed
        assert experiment.title in printed


def test_all_writes_every_figure_with_its_numbers(declared, small, capsys, tmp_path):
    out = tmp_path / "deep" / "down"
    assert cli.main(["reproduce", "all", "--seeds", "1", "--out", str(out)]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""  # no bar where nobody watches
    for name in EXPERIMENTS:
        assert (out / f"{name}.png").read_bytes().startswith(PNG)
        assert isinstance(json.loads((out / f"{name}.json").read_text(encoding="utf-8")), dict)
        assert f"wrote {out / name}.png" in printed.out
        assert f"wrote {out / name}.json" in printed.out
    assert {path.stem for path in out.iterdir()} == {*EXPERIMENTS, "sewage_si_cpo", "ship_si_cppo"}  # folders of runs


def test_a_wrong_name_is_answered_with_the_right_ones(declared, capsys, tmp_path):
    assert cli.main(["reproduce", "sewage_hat", "--out", str(tmp_path / "out")]) == 2
    err = capsys.readouterr().err
    assert_one_paragraph(err)
    assert "sewage_heat" in err
    assert not (tmp_path / "out").exists()


def test_a_folder_that_cannot_be_written_is_refused_at_once(declared, capsys, tmp_path, monkeypatch):
    def never(*_: Any) -> Any:
        raise AssertionError("nothing is computed")

    monkeypatch.setattr(sewage_si_crl, "Trial", never)
    (tmp_path / "file").write_text("", encoding="utf-8")
    assert cli.main(["reproduce", "sewage_heat", "--out", str(tmp_path / "file" / "out")]) == 1
    assert_one_paragraph(capsys.readouterr().err)
    monkeypatch.setattr("os.access", lambda path, mode: False)
    assert cli.main(["reproduce", "sewage_heat", "--out", str(tmp_path)]) == 1
    err = capsys.readouterr().err
    assert_one_paragraph(err)
    assert "--out" in err


@pytest.mark.parametrize("seeds", ["0", "-3", "many", "1.5"])
def test_seeds_are_counted_from_one(declared, capsys, seeds):
    with pytest.raises(SystemExit) as end:
        cli.main(["reproduce", "sewage_heat", "--seeds", seeds])
    assert end.value.code == 2
    assert "positive whole number" in capsys.readouterr().err


def test_help(declared, capsys):
    with pytest.raises(SystemExit) as end:
        cli.main(["reproduce", "--help"])
    assert end.value.code == 0
    printed = capsys.readouterr().out
    assert all(option in printed for option in ("--full", "--seeds", "--out"))


def test_without_matplotlib_nothing_is_computed(declared, capsys, tmp_path, monkeypatch):
    real = builtins.__import__

    def missing(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.partition(".")[0] == "matplotlib":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", missing)
    for name in EXPERIMENTS:
        assert cli.main(["reproduce", name, "--out", str(tmp_path)]) == 1
        err = capsys.readouterr().err
        assert_one_paragraph(err)
        assert "lsip[plot]" in err


def test_the_bar_is_drawn_on_a_terminal(monkeypatch):
    terminal = io.StringIO()
    terminal.isatty = lambda: True  # type: ignore[method-assign]
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.delenv("TERM", raising=False)
    bar = Bar()
    bar.at(1, 2, "figure")
    bar.clear()
    drawn = re.search(r"\[(#+)(\.+)\] 1/2", terminal.getvalue())
    assert drawn is not None
    assert abs(len(drawn[1]) - len(drawn[2])) <= 1
    assert terminal.getvalue().endswith("\r")


def test_numbers_as_json(tmp_path, capsys, monkeypatch):
    """Standard output is one object; the list of experiments is one too."""
    monkeypatch.setattr(plotting, "MESH", 21)
    assert cli.main(["reproduce", "--json"]) == 0
    assert set(json.loads(capsys.readouterr().out)) == set(EXPERIMENTS)
    assert cli.main(["reproduce", "sewage_heat", "--seeds", "1", "--json", "--out", str(tmp_path)]) == 0
    found = json.loads(capsys.readouterr().out)["sewage_heat"]
    assert [Path(p).suffix for p in found["paths"]] == [".png", ".json"]
    assert found["numbers"]["drawn"]["SI-CRL"]["violation"] > 0


# ---- the figures ----------------------------------------------------------------------------------------------------


def test_heat_compares_as_many_index_points_on_both_sides(tmp_path, monkeypatch):
    monkeypatch.setattr(plotting, "MESH", 41)
    outcome = EXPERIMENTS["sewage_heat"].run(tmp_path, False, 1, quiet)
    numbers = json.loads(outcome.paths[1].read_text(encoding="utf-8"))
    drawn = numbers["drawn"]
    assert len(drawn["SI-CRL"]["points"]) == len(drawn["baseline"]["points"]) == 9
    assert 0 < drawn["SI-CRL"]["violation"] < 0.2 * drawn["baseline"]["violation"]
    assert drawn["baseline"]["heat"] > drawn["SI-CRL"]["heat"] > 0
    assert numbers["setting"]["delta"] == 0.005 / (8 * 8 * 4)


def test_node_starts_both_sides_from_the_same_point(small, tmp_path):
    outcome = EXPERIMENTS["sewage_node"].run(tmp_path, False, 2, quiet)
    numbers = json.loads(outcome.paths[1].read_text(encoding="utf-8"))
    learned, naive = numbers["SI-CRL"], numbers["baseline"]
    assert (learned["T"], naive["N"]) == ([1, 2, 4], [1, 9])
    assert learned["mean"][0] == pytest.approx(naive["mean"][0], rel=1e-4)  # T = 1 and N = 1 are the centre of Y
    assert learned["mean"][-1] < 0.1 * learned["mean"][0]
    assert numbers["seeds"] == 2


def test_time_says_when_an_accuracy_is_not_reached(small, tmp_path):
    outcome = EXPERIMENTS["sewage_time"].run(tmp_path, True, 1, quiet)
    numbers = json.loads(outcome.paths[1].read_text(encoding="utf-8"))
    assert [study["setting"]["actions"] for study in numbers["studies"]] == [2, 3]
    for study in numbers["studies"]:
        rough, fine = study["accuracies"]
        for name in ("SI-CRL", "baseline"):
            assert rough[name]["seconds"] > 0
            assert fine[name]["reached"] == 0
            assert fine[name]["points"] == (3 if name == "SI-CRL" else 9)
    assert any("not reached" in line for line in outcome.lines)


def test_the_error_of_the_reference_is_nothing():
    trial = Trial(TINY, 0)
    best = rl.plan(trial.mdp, tol=1e-9)
    assert trial.error(best.policy) <= 1e-8
    assert trial.error(rl.uniform_policy(3, 2)) > 1e-3


def test_a_reference_that_is_not_optimal_is_refused(monkeypatch):
    trial = Trial(TINY, 0)
    rough = rl.plan(trial.mdp, tol=1e-3)
    monkeypatch.setattr(rl, "plan", lambda mdp, tol: rough)
    with pytest.raises(lsip.ProofError, match="reference"):
        trial.error(rough.policy)


def test_grids_grow_up_to_the_largest():
    sides = list(sewage_si_crl._sides())
    assert sides[:9] == list(range(1, 10))
    assert sides[-1] == sewage_si_crl.MOST_SIDE
    assert (np.diff(sides) > 0).all()


# ---- the figures of SI-CPO ------------------------------------------------------------------------------------------


def test_both_policies_of_the_heat_maps_are_measured(small, tmp_path):
    outcome = EXPERIMENTS["sewage_heat_pg"].run(tmp_path, False, 1, quiet)
    assert outcome.paths[0].read_bytes().startswith(PNG)
    numbers = json.loads(outcome.paths[1].read_text(encoding="utf-8"))
    for name in ("SI-CPO", "CRPO, N = 500"):
        drawn = numbers["drawn"][name]
        assert drawn["heat"] <= 18 * drawn["violation"] + 1e-6
        assert drawn["error"] >= drawn["violation"] == numbers[name]["violation_mean"]
    np.testing.assert_allclose(sewage_si_cpo._heat(np.array([-1.0, 0.0, 0.5])), [0, 0, 9])


def test_the_error_of_si_cpo_goes_down(small, tmp_path):
    outcome = EXPERIMENTS["sewage_sicpo_node"].run(tmp_path, False, 2, quiet)
    numbers = json.loads(outcome.paths[1].read_text(encoding="utf-8"))
    for name in sewage_si_cpo.METHODS:
        line = numbers[name]
        assert line["iteration"] == [10, 20, 25]
        for choice in ("average", "uniform", "best"):
            assert len(line[choice]["final"]) == 2
            assert line[choice]["mean"][-1] == pytest.approx(np.mean(line[choice]["final"]))
        assert 0 < line["good_share"] <= 1
    assert numbers["SI-CPO"]["average"]["mean"][-1] < numbers["SI-CPO"]["average"]["mean"][0]


def test_errors_are_those_of_the_true_model():
    run = sewage_si_cpo.SewageRun(QUICK, "SI-CPO", 0, 4, 4)
    found = sewage_si_cpo.learn(run)
    mdp = QUICK.environment(0)
    for choice in sewage_si_cpo.CHOICES:
        policy = np.array(found["policy"][choice])
        gap, violation = rl.plan(mdp).value - mdp.value(policy), mdp.worst_violation(policy).value
        assert sewage_si_cpo.errors(found, choice) == [pytest.approx(max(gap, violation, 0), abs=2e-6)]


def test_runs_that_are_there_are_not_run_again(small, tmp_path, monkeypatch):
    run = sewage_si_cpo.SewageRun(QUICK, "CRPO, N = 250", 3, 4, 2)
    first = sewage_si_cpo.outcome(run, tmp_path)
    other = sewage_si_cpo.SewageRun(TINIER, "CRPO, N = 250", 3, 4, 2)
    assert other.file(tmp_path) == run.file(tmp_path)
    calls: list[Any] = []
    monkeypatch.setattr(sewage_si_cpo, "learn", lambda run: calls.append(run) or {"run": {}})
    assert sewage_si_cpo.outcome(run, tmp_path) == first
    assert calls == []
    sewage_si_cpo.outcome(other, tmp_path)  # of other settings
    assert calls == [other]


def test_runs_are_shared_among_processes(small, tmp_path, monkeypatch):
    runs = sewage_si_cpo.runs_of(QUICK, ["SI-CPO", "CRPO, N = 250"], 1, 4)
    alone = sewage_si_cpo.outcomes(runs, tmp_path / "alone", quiet)
    monkeypatch.setattr(sewage_si_cpo, "WORKERS", 2)
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    together = sewage_si_cpo.outcomes(runs, tmp_path / "together", quiet)
    assert [f["average"] for f in together] == [f["average"] for f in alone]  # the same seed, the same run
    assert [f["policy"] for f in together] == [f["policy"] for f in alone]


def test_the_table_of_times_has_the_papers_beside_ours(small, tmp_path):
    outcome = EXPERIMENTS["time_discharge"].run(tmp_path, False, 1, quiet)
    numbers = json.loads(outcome.paths[1].read_text(encoding="utf-8"))
    assert [numbers[name]["paper"] for name in sewage_si_cpo.METHODS] == [0.19, 0.23, 0.30, 0.45]
    assert all(numbers[name]["seconds"] > 0 for name in sewage_si_cpo.METHODS)
    assert len(outcome.lines) == 4


def test_the_table_of_ships_has_small_and_large_networks(small, tmp_path):
    outcome = EXPERIMENTS["time_route"].run(tmp_path, False, 1, quiet)
    numbers = json.loads(outcome.paths[1].read_text(encoding="utf-8"))
    assert [numbers[name]["paper"] for name in ship_si_cppo.METHODS] == [11.39, 8.91, 10.05, 11.78]
    assert all(min(row["cpu_seconds"], row["cpu_seconds_2x512"]) > 0 for row in numbers.values())
    assert len(outcome.lines) == 4


# ---- the pictures ---------------------------------------------------------------------------------------------------


def test_the_colouring_is_the_papers():
    v = np.array([-0.3, 0.0, 1e-6, 2e-3])
    expected = np.log(np.maximum(v, 0) + 5e-6) - np.log(5e-6)
    np.testing.assert_allclose(plotting.heat(v), expected)
    np.testing.assert_array_equal(plotting.heat(v, "signed"), v)
    np.testing.assert_array_equal(plotting.heat(v, "positive"), np.maximum(v, 0))
    np.testing.assert_array_equal(plotting.heat(v, np.exp), np.exp(v))
    with pytest.raises(lsip.ModelError, match="colouring"):
        plotting.heat(v, "rainbow")


@pytest.mark.parametrize("colouring", ["log", "positive", "signed", np.tanh])
def test_a_map_shows_points_and_outfalls(small, tmp_path, colouring):
    mdp = envs.sewage(3, 2, seed=0)
    policy = [0, 1, 0]
    picture = plotting.violation_map(
        mdp, policy, points=[[0.5, 0.5]], colouring=colouring, title="map", path=tmp_path / "map.png"
    )
    assert (tmp_path / "map.png").read_bytes().startswith(PNG)
    axes = picture.axes[0]
    marked = {line.get_label(): line.get_xydata() for line in axes.lines}
    np.testing.assert_allclose(marked["outfalls"], mdp.outfalls)
    np.testing.assert_allclose(marked["index points"], [[0.5, 0.5]])
    drawn = axes.collections[0].get_array().reshape(21, 21)
    np.testing.assert_allclose(
        drawn[20, 0], plotting.heat(mdp.violations(policy, [[0.0, 1.0]]), colouring)[0], atol=1e-12
    )


def _model(domain: lsip.Domain) -> rl.SICMDP:
    y = lsip.Index("y", domain)
    distance = (y**2).sum() if not domain.scalar else y**2
    P = np.array([[[1.0, 0.0], [0.0, 1.0]]] * 2)
    return rl.SICMDP(P, [0, 1], np.array([0.0, 1.0]) * (1 - distance / 2), 1.0, y, [1, 0], 0.5)


def test_nothing_is_drawn_outside_of_the_index_set(small):
    mdp = _model(lsip.Ball([0, 0], 1))
    drawn = plotting.violation_map(mdp, [1, 1], colouring="signed").axes[0].collections[0].get_array().reshape(21, 21)
    assert np.ma.getmaskarray(np.ma.masked_invalid(drawn))[0, 0]
    assert drawn[10, 10] == pytest.approx(mdp.violations([1, 1], [[0.0, 0.0]])[0])


def test_a_curve_over_one_index(tmp_path):
    mdp = _model(lsip.Interval(-1, 1))
    picture = plotting.violation_curve(
        mdp, [1, 1], points=[[0.0]], label="policy", title="curve", path=tmp_path / "curve.svg"
    )
    assert (tmp_path / "curve.svg").stat().st_size > 0
    x, v = picture.axes[0].lines[0].get_data()
    np.testing.assert_allclose(v, mdp.violations([1, 1], np.asarray(x)[:, None]))


def test_maps_and_curves_need_the_right_dimension():
    with pytest.raises(lsip.ModelError, match="violation_curve"):
        plotting.violation_map(_model(lsip.Interval(-1, 1)), [1, 1])
    with pytest.raises(lsip.ModelError, match="dimension 1"):
        plotting.violation_curve(_model(lsip.Ball([0, 0], 1)), [1, 1])


def test_lines_are_means_over_seeds_with_their_standard_error(tmp_path):
    values = [[1.0, 2.0], [3.0, np.nan], [5.0, 4.0]]
    mean, error = plotting.mean_and_error(values)
    np.testing.assert_allclose(mean, [3, 3])
    np.testing.assert_allclose(error, [2 / np.sqrt(3), np.sqrt(2) / np.sqrt(2)])
    picture = plotting.curves({"a": ([1, 10], values), "b": ([1], [[1.0]])}, path=tmp_path / "curves.png")
    np.testing.assert_allclose(picture.axes[0].lines[0].get_ydata(), mean)
    with pytest.raises(lsip.ModelError, match="can be saved as"):
        plotting.save(picture, tmp_path / "curves.txt")
