"""Proofs as plain data: what is written, and what cannot be."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import lsip
from benchmarks.harness.mutants import EXAMPLES, _violations, exported
from lsip import catalogue
from lsip.errors import ModelError
from lsip.proof.export import FORMAT, VERSION


def small() -> lsip.Solution:
    x, t = lsip.Variable(2, name="x"), lsip.Index("t", lsip.Interval(0, 1))
    model = [lsip.forall(t, x[0] + x[1] * t >= np.exp(t)), x[0] <= 5]
    return lsip.Problem(lsip.minimize(x[0] + x[1] / 2), model).solve(verbose=False)


def test_a_file_holds_plain_data_and_loses_no_digit(tmp_path: Path) -> None:
    solution, path = small(), tmp_path / "proof.json"
    solution.export(path)
    data = json.loads(path.read_text(encoding="utf-8"))
    assert data == exported(solution)
    assert (data["format"], data["version"], data["status"]) == (FORMAT, VERSION, "OPTIMAL")
    assert data["point"]["x"] == solution.x.tolist()
    assert data["claim"] == {"lower": solution.certificate.lower, "upper": solution.certificate.upper}
    assert data["model"]["lower"] == [None, None]
    assert [s["multiplier"] for s in data["measure"]["atoms"]] == [s.multiplier for s in solution.certificate.support]
    assert [path] == list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["abs_d10", "scarf", "disc_cubic", "fir_linear", "envelopes", "pde_defect"])
def test_steps_come_in_order(name: str) -> None:
    data = exported(catalogue.get(name).build().solve(verbose=False))
    for family in data["model"]["families"]:
        for k, step in enumerate(family["steps"]):
            assert all(0 <= a < k for a in step["args"])
        assert {i for row in family["coefficients"] for i in row} | set(family["rhs"]) <= set(
            range(len(family["steps"]))
        )


def test_equal_steps_are_written_once_and_all_are_needed() -> None:
    for name in ("disc_cubic", "envelopes", "fir_linear"):
        for family in exported(catalogue.get(name).build().solve(verbose=False))["model"]["families"]:
            steps = family["steps"]
            assert len({json.dumps(step, sort_keys=True) for step in steps}) == len(steps)
            used = {a for step in steps for a in step["args"]} | {i for row in family["coefficients"] for i in row}
            assert used | set(family["rhs"]) == set(range(len(steps)))


def test_atoms_lie_in_their_sets_exactly() -> None:
    x, y = lsip.Variable(name="x"), lsip.Index("y", lsip.Ball([0.1, 0.2], 0.7))
    solution = lsip.Problem(lsip.minimize(x), [lsip.forall(y, x >= y[0] + 3 * y[1])]).solve(verbose=False)
    atoms = exported(solution)["measure"]["atoms"]
    assert atoms
    for atom in atoms:
        offsets = [Fraction(v) - Fraction(c) for v, c in zip(atom["point"], (0.1, 0.2), strict=True)]
        assert sum(v**2 for v in offsets) <= Fraction(0.7) ** 2


def test_the_data_mean_what_the_family_means() -> None:
    solution = EXAMPLES["chord"].build().solve(verbose=False)
    family = exported(solution)["model"]["families"][0]
    for t in (0.0, 0.25, 0.75):
        x = [Fraction(v) for v in solution.x.tolist()]
        found = float(_violations(family, x, Fraction(t), Fraction(1))[0])
        assert found == pytest.approx(float(solution.violation().values(np.array([[t]]))[0, 0]), abs=1e-15)


def test_what_is_not_certified_is_not_exported(tmp_path: Path) -> None:
    solution = catalogue.get("abs_d10").build().solve(verbose=False, max_iterations=1)
    assert not solution.certified
    with pytest.raises(ModelError, match="certified"):
        solution.export(tmp_path / "proof.json")
    assert list(tmp_path.iterdir()) == []


def test_black_boxes_have_no_formula(tmp_path: Path) -> None:
    above = lsip.Family(
        lsip.Interval(0, 1), lambda y: -(y ** np.arange(2)), lambda y: -np.array([v / 2 for v in y[:, 0].tolist()])
    )
    solution = lsip.Program.from_arrays([1, 1], bounds=(-9, 9), families=[above]).solve(verbose=False)
    with pytest.raises(ModelError, match=r"formula|certified"):
        solution.export(tmp_path / "proof.json")


def test_what_the_format_has_no_name_for_is_not_written(tmp_path: Path) -> None:
    z, t = lsip.Variable(name="z"), lsip.Index("t", lsip.Interval(0, 1))
    y = lsip.Index("y", lsip.Interval(0, 1).where(lambda y: np.interp(y, [0, 1], [0, 0.5]) <= 0.25))
    for constraint in (lsip.forall(t, z >= np.interp(t, [0, 1], [0, 0.5])), lsip.forall(y, z >= y)):
        solution = lsip.Problem(lsip.minimize(z), [constraint]).solve(verbose=False)
        assert solution.certified
        with pytest.raises(ModelError, match="The format of proofs has no"):
            solution.export(tmp_path / "proof.json")


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="directory"):
        small().export(tmp_path)
