"""The ablation: mechanisms that are switched off by name, numbers that are found, and runs that are not made twice."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import ablation
from benchmarks.harness import switches
from benchmarks.harness.switches import MECHANISMS, located, numbers, times, variants
from lsip.oracles import box_search, memory, partition

MODELS = ["catalogue/abs_d2", "catalogue/lukacs8"]
OFF, NUMBER = "own bases", "oracles.partition:PartitionTuning.cheap x10"


@pytest.mark.parametrize("name", MECHANISMS)
def test_every_mechanism_exists(name: str) -> None:
    mechanism = MECHANISMS[name]
    for place in (mechanism.entered, *mechanism.patches):
        located(place)


def test_a_mechanism_that_is_gone_fails_loudly() -> None:
    with pytest.raises(AttributeError, match="take it from the table of mechanisms"):
        located("proof.dual_repair:_no_longer_there")


def test_numbers_are_found_and_multiplied_for_all_instances() -> None:
    assert "oracles.partition:PartitionTuning.cheap" in numbers()
    before, default = partition.TUNING.cheap, partition.PartitionTuning()
    with variants()[NUMBER].applied():
        assert partition.TUNING.cheap == default.cheap == partition.PartitionTuning().cheap == 10 * before
    assert partition.TUNING.cheap == default.cheap == partition.PartitionTuning().cheap == before
    assert times((1, 2.0, (3,)), 0.1) == (1, 0.2, (1,))
    assert times("text", 10) is None
    assert times(True, 10) is None


def test_a_patch_reaches_every_module_and_ends() -> None:
    original = memory.Memory.keep, box_search.sharper
    for name in ("kept boxes", "estimates of work"):
        with variants()[name].applied():
            pass
    with variants()["sharper bounders"].applied():
        assert box_search.sharper() is None
    assert (memory.Memory.keep, box_search.sharper) == original


def test_it_runs_on_a_mechanism_and_a_number_and_goes_on_from_a_file(tmp_path: Path) -> None:
    kept = tmp_path / "runs.jsonl"
    runs = ablation.Runs(str(kept))
    ablation.first_pass(runs, MODELS)
    assert switches.MECHANISMS[OFF].entered in runs.entered[MODELS[0]]["entered"]
    ablation.second_pass(runs, [OFF, NUMBER], MODELS, most=2)
    rows = ablation.measured(runs, [OFF, NUMBER], MODELS, most=2)
    assert [(r["variant"], r["tried"], r["wrong"]) for r in rows] == [(OFF, 2, []), (NUMBER, 2, [])]
    assert rows[1]["lost"] == []
    assert rows[1]["ratio"] > 0
    lines = kept.read_text().splitlines()
    assert len(lines) == 6
    assert all("failure" not in json.loads(line) for line in lines)
    again = ablation.Runs(str(kept))
    ablation.first_pass(again, MODELS)
    ablation.second_pass(again, [OFF, NUMBER], MODELS, most=2)
    assert kept.read_text().splitlines() == lines
    summary = {"mechanisms": 1, "numbers": 1, "models": 2, "wrong": 0, "idle": 1}
    assert OFF in ablation.show({"variants": rows, "summary": summary})


def test_what_is_lost_won_or_wrong_is_told_apart() -> None:
    def row(before: tuple[bool, str, str], after: tuple[bool, str, str]) -> dict[str, object]:
        told = [
            {"status": "OPTIMAL", "certified": c, "lower": low, "upper": high, "cpu": 1.0 + i}
            for i, (c, low, high) in enumerate((before, after))
        ]
        return {"model": f"{before}{after}", "before": told[0], "after": told[1]}

    yes, other, no = (True, "0.0", "1.0"), (True, "2.0", "3.0"), (False, "0.0", "1.0")
    found = ablation.judged(OFF, 4, [row(yes, yes), row(yes, no), row(no, yes), row(yes, other)])
    assert [len(found[key]) for key in ("lost", "won", "wrong")] == [1, 1, 1]
    assert found["ratio"] == pytest.approx(2.0)
    stopped = ablation.judged(OFF, 1, [{"model": "a", "before": row(yes, yes)["before"], "failure": "stopped"}])
    assert stopped["lost"] == ["a"]
    assert stopped["ratio"] is None
