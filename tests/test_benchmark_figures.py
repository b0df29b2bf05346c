"""The benchmarks that compare versions: their models are what they say, and right answers are told from others."""

from __future__ import annotations

import ast
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lsip
from benchmarks import house, language, limits, published, record, resolve, tame, units
from benchmarks.__main__ import main
from benchmarks.harness.corpus import corpus
from benchmarks.harness.models import BY_HAND, MODELS, READ, Claim
from benchmarks.harness.outcome import lp_solves, outcome
from benchmarks.harness.scaling import Units, drawn, scalable, scaled
from benchmarks.harness.slow import QUICK, SLOW
from benchmarks.harness.tame.models import DOMAINS, MARGIN, generate
from benchmarks.harness.tame.reference import reference
from lsip import catalogue


def parts(measured: Any) -> dict[str, Any]:
    """All parts of a measurement, in this process."""
    return {key: value for part in measured for key, value in part.items()}


class Here:
    """A worker that measures in this process, where starting another would take longer."""

    def __init__(self, measure: Any) -> None:
        self.measure = measure

    def run(self, *args: Any, seconds: float) -> dict[str, Any]:
        return parts(self.measure(*args))

    def stop(self) -> None:
        """Nothing to stop."""


# ---- tame ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", DOMAINS)
@pytest.mark.parametrize("seed", [0, 3])
def test_tame_models_have_an_interior_and_are_bounded(kind: str, seed: int) -> None:
    model = generate(kind, seed)
    assert ((model.lower < model.inside) & (model.inside < model.upper)).all()
    for family in model.families:
        a, b = family.at(family.domain.spread(300))
        assert (a @ model.inside <= b - MARGIN + 1e-12).all()
        assert np.abs(a).max() <= 6.0
    assert model.matrix @ model.inside == pytest.approx(model.right) or not model.equal.all()
    program = model.problem().compile()
    for f, family in enumerate(model.families):
        y = family.domain.spread(5)
        a, b = family.at(y)
        assert program.violation(f, model.inside).values(y)[:, 0] == pytest.approx(a @ model.inside - b)


def test_the_reference_of_a_tame_model_encloses_its_optimum() -> None:
    model = generate("interval", 1)
    found, known = model.problem().solve(verbose=False), reference(model, 1)
    assert known is not None
    assert known.gap <= tame.FINE
    assert found.lower <= known.upper + 1e-7
    assert known.lower - 1e-7 <= found.upper


def test_tame_tells_wrong_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = parts(tame.measure("interval", 1))
    assert honest["certified"]
    assert honest["wrong"] == ""

    def shifted(self: lsip.Problem, **options: Any) -> lsip.Solution:
        return solve(self, **options | {"tol": 1e-2})

    solve = lsip.Problem.solve
    monkeypatch.setattr(lsip.Problem, "solve", shifted)
    monkeypatch.setattr(lsip.Solution, "upper", property(lambda s: s.certificate.lower - 1e-3))
    assert "upper" in parts(tame.measure("interval", 1))["wrong"]


# ---- units -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["tfi2_tan_n3", "arches_1000", "infeasible_plane", "power_grid_20"])
@pytest.mark.parametrize("base", [2, 10])
def test_other_units_say_the_same(name: str, base: int) -> None:
    """Rows, bounds and values are those of the program at the same point."""
    program = catalogue.get(name).build().compile()
    assert scalable(program)
    given = drawn(program, np.random.default_rng(1), base)
    other = scaled(program, given)
    x = np.cos(np.arange(program.n))
    moved = x / given.variables
    for f, family in enumerate(program.families):
        y = family.domain.spread(3)
        a, b = family.rows(y)
        there = other.families[f].rows(y)
        across = given.families[f][:, None] * given.variables[family.columns]
        np.testing.assert_allclose(there[0], a * across, rtol=1e-13)
        np.testing.assert_allclose(there[1], b * given.families[f], rtol=1e-13)
    assert other.c @ moved == pytest.approx(given.objective * (program.c @ x), rel=1e-9)
    if program.A.shape[0]:
        np.testing.assert_allclose((other.A @ moved) / given.rows, program.A @ x, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(other.lower * given.variables, program.lower, rtol=1e-15 * (base == 10))


def test_units_of_one_change_nothing() -> None:
    found = parts(units.measure("small_parabola", 5, 0))
    assert found["usual"] == "OPTIMAL"
    program = units.SMALL["small_surface"]().compile()
    ones = Units(np.ones(3), np.ones(1), (np.ones(1),), 1.0)
    same = scaled(program, ones).solve(verbose=False)
    assert same.value == pytest.approx(program.solve(verbose=False).value, abs=1e-8)
    assert units.summarise([found | {"skipped": True}])["pairs"] == 0


def test_small_models_are_what_they_are_called() -> None:
    found = {name: build().solve(verbose=False) for name, build in units.SMALL.items()}
    assert all(s.certified for s in found.values())
    assert found["small_contradiction"].status is lsip.Status.INFEASIBLE
    assert found["small_spectrum"].value == pytest.approx(math.cos(math.pi / 6), abs=1e-7)  # Fejér: cos(pi / (n + 2))
    assert found["small_cubic_fit"].value == pytest.approx(5.4479e-4, rel=1e-3)


# ---- resolve ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["rhs_fit", "family_above"])
def test_sequences_are_solved_again_and_anew(name: str) -> None:
    rows = resolve.measure(resolve.SEQUENCES[name], 3)
    assert [r["step"] for r in rows] == [1, 2]
    assert all(r["certified"] and r["agree"] for r in rows)
    summary = resolve.summarise(rows)
    assert summary["share"] == pytest.approx(summary["again"] / summary["anew"])


def test_a_step_that_is_wrong_or_slow_misses_a_goal() -> None:
    row = {"again": 1.0, "anew": 10.0, "certified": True, "agree": True, "iterations": 1}
    assert all(goal["met"] for goal in resolve.goals(resolve.summarise([row, row])))
    for wrong in ({"again": 9.0}, {"certified": False}, {"agree": False}):
        assert not all(goal["met"] for goal in resolve.goals(resolve.summarise([row, row | wrong])))


# ---- limits ----------------------------------------------------------------------------------------------------------


def test_overruns_are_counted() -> None:
    assert len(SLOW) == 30
    assert set(QUICK) <= set(SLOW)
    answer = {"seconds": 0.6, "status": "TIME_LIMIT", "lower": "0.0", "upper": "inf"}
    kept = limits.judged(answer, 0.5)
    late = limits.judged(answer | {"seconds": 1.0, "upper": "2.0"}, 0.5)
    hung = limits.judged({"built": True, "failure": "stopped after 32 s"}, 0.5)
    assert [r["kept"] for r in (kept, late, hung)] == [True, False, False]
    summary = limits.summarise([kept, late, hung])
    assert (summary["kept"], summary["stopped"], summary["open"], summary["finite"]) == (1, 1, 3, 1)
    assert summary["worst_overrun"] == hung["overrun"] == 32.0


def test_slow_models_are_stopped(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "SHORT", (0.3,))
    monkeypatch.setattr(limits, "Worker", Here)
    assert main(["limits", "--quick", "--only", "bumps_6", "--json"]) == 0
    (run,) = json.loads(capsys.readouterr().out)["runs"]
    assert run["seconds"] < 5.0


# ---- published -------------------------------------------------------------------------------------------------------


def test_claims_are_compared() -> None:
    good = ("OPTIMAL", 1.0, 1.0, 1.0)
    assert Claim().kept(*good) is None
    assert Claim("value", 1.0001, 1e-3).kept(*good)
    assert not Claim("value", 1.01, 1e-3).kept(*good)
    assert Claim("grid", 0.9, 0.2).kept(*good)  # a grid is too good
    assert not Claim("grid", 1.1, 0.2).kept(*good)
    assert Claim("above", 0.5).kept(*good)
    assert not Claim("below", 0.5).kept(*good)
    assert Claim("infeasible").kept("INFEASIBLE", math.nan, math.inf, math.inf)
    assert not Claim("value", 1.0, 1e-3).kept("INFEASIBLE", math.nan, math.inf, math.inf)


@pytest.mark.parametrize("name", ["jumper_empty_10", "jumper_unbounded_8", "sosdemo8_prob", "code_12_icosa"])
def test_published_values_come_out(name: str) -> None:
    found = parts(published.measure(name, 5.0))
    assert found["right"]
    assert found["certified"]


def test_published_models_are_built() -> None:
    assert len(MODELS) == 105
    assert all(m.source for m in MODELS.values())
    pytest.importorskip("cvxpy")
    for model in list(MODELS.values())[::4]:
        if model.claim.kind != "refused":
            model.build()


# ---- the language ----------------------------------------------------------------------------------------------------

ALIKE = (
    "boyle_lin_K40",
    "cohn_elkies_d3_N13",
    "inventory_T6",
    "jumper_l2_2",
    "pyros_cardinality_eq",
    "yalmip_lyapunov",
)


@pytest.mark.parametrize("name", ALIKE)
def test_a_model_as_it_reads_has_the_value_of_the_rewritten_one(name: str) -> None:
    read, rewritten = parts(language.measure(name, 20.0)), parts(published.measure(name, 20.0))
    assert language.solved(read)
    assert read["certified"]
    slack = 1e-6 * abs(float(rewritten["value"]))
    assert float(read["lower"]) <= float(rewritten["upper"]) + slack
    assert float(rewritten["lower"]) <= float(read["upper"]) + slack


def test_whole_values_are_solved_without_certificate() -> None:
    found = parts(language.measure("romodel_knapsack_relaxed", 20.0))
    assert found["status"] == "UNCERTIFIED"
    assert language.solved(found)
    assert not language.solved(found | {"upper": repr(2 * float(found["upper"]))})
    assert not language.solved(found | {"certified": True, "right": False})


def test_models_are_written_directly_or_by_hand() -> None:
    assert set(READ) | set(BY_HAND) <= set(MODELS)
    assert not set(READ) & set(BY_HAND)
    assert all(model.build() for model in READ.values())


def test_what_cannot_be_written_is_counted(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(published, "Worker", Here)
    assert main(["language", "--json", "--quick", "--only", "jumper_l2_2,sipr"]) == 0
    summary = json.loads(capsys.readouterr().out)["summary"]
    assert summary["solved"] == 2
    assert summary["direct_in_published"] + len(READ) + len(summary["by_hand"]) == len(MODELS)
    assert main(["language", "--quick", "--only", "jumper_l2_2"]) == 0
    assert "complex variables" in capsys.readouterr().out


# ---- records ---------------------------------------------------------------------------------------------------------


def test_records_are_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record, "Worker", Here)
    assert main(["record", "--json", "--only", "catalogue/abs_d2,catalogue/infeasible_plane"]) == 0
    before = json.loads(capsys.readouterr().out)
    assert before["summary"]["right"] == 2
    assert before["problems"][0]["lp_solves"] > 0
    one, two = before["problems"]
    assert {"name": "catalogue", "models": 2, "certified": 2}.items() <= before["summary"]["classes"][0].items()

    changed = one | {"status": "STALLED", "certified": False, "right": False}
    comparison = record.compare([one, two], [changed, two])
    assert comparison["lost"] == comparison["wrong_now"] == ["catalogue/abs_d2"]
    assert comparison["statuses"] == [{"name": "catalogue/abs_d2", "before": "OPTIMAL", "after": "STALLED"}]
    assert record.compare([changed], [one])["won"] == ["catalogue/abs_d2"]
    slow = record.compare([one, two], [one | {"cpu": 10 * one["cpu"] + 1}, two])
    assert slow["slower"][0]["name"] == "catalogue/abs_d2"
    assert slow["classes"][0]["ratio"] > 3  # the geometric mean of more than ten, and one
    moved = {key: repr(float(one[key]) + 1e-3) for key in ("lower", "upper")}
    assert record.compare([one], [one | moved])["contradictions"][0]["name"] == "catalogue/abs_d2"
    same = record.compare([one, two], [one, two])
    assert same["identical"] == 2
    assert not same["contradictions"] + same["statuses"] + same["slower"]

    file = tmp_path / "before.json"
    file.write_text(json.dumps(before))
    assert main(["record", "--only", "catalogue/abs_d2", "--compare", str(file)]) == 0
    assert "lost: none" in capsys.readouterr().out
    file.write_text("{}")
    assert main(["record", "--compare", str(file)]) == 1
    assert "is not a file of" in capsys.readouterr().err


def test_the_corpus_is_reproducible_and_of_every_kind() -> None:
    models = corpus()
    assert len(models) >= 800
    for name in ("affine_rule/0", "integers/1", "matrix_inequality/2", "integrals/3", "ambiguity/4", "half_line/5"):
        first, second = (outcome(models[name].solve(models[name].build())) for _ in range(2))
        assert first == second


def test_the_house_is_measured(tmp_path: Path) -> None:
    code = tmp_path / "code.py"
    code.write_text(
        '"""Of two\nlines."""\n\n# a comment\nclass ATuning:\n    """Text."""\n\n    x: float = 1.0\n    y: int\n'
    )
    tree = ast.parse(code.read_text())
    assert house.lines(code) == 3
    assert house.statements(tree) == 3
    assert house.steering_numbers({code: tree}) == 1
    assert house.repeated_classes({code: tree, tmp_path / "other.py": tree}) == ["ATuning"]
    walk = house.walk()
    assert 0 < walk["ping_pong_pairs"] < walk["files"] < walk["functions"]


def test_programs_are_counted() -> None:
    with lp_solves() as counted:
        solution = catalogue.get("abs_d2").build().solve(verbose=False)
    assert counted["lp_solves"] >= 1
    assert float(outcome(solution)["upper"]) == solution.upper


@pytest.mark.parametrize(
    ("module", "arguments"),
    [
        (tame, ["tame", "--tries", "1"]),
        (units, ["units", "--only", "small_surface"]),
        (published, ["published", "--only", "bpt12,jumper_empty"]),
        (limits, ["limits", "--only", "ray_simplex_2", "--quick"]),
    ],
)
def test_tables_end_with_the_goals(
    module: Any, arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(module, "Worker", Here)
    assert main(arguments) == 0
    last = capsys.readouterr().out.split("\n\n")[-1].splitlines()
    assert last[0].split() == ["goal", "figure", "target", "met"]
    assert len(last) > 1
