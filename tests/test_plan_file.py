"""Plans prove themselves again, whichever way they were found, in memory and from a file."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, given, settings

import envs
import lsip
import rl

from .test_planning import Model, models

METHODS = ("lp", "decompose")


def altered(path: Any, facts: dict[str, Any] | None = None, **arrays: Any) -> None:
    """Change a part of a file."""
    with np.load(path, allow_pickle=False) as data:
        parts = {name: data[name] for name in data.files}
    parts["facts"] = np.array(json.dumps({**json.loads(str(parts["facts"])), **(facts or {})}))
    np.savez(path, **{**parts, **arrays})


@settings(max_examples=20, phases=[Phase.explicit, Phase.generate])
@given(models())
def test_plans_verify_and_come_back_from_files(tmp_path_factory, model):
    path, mdp = tmp_path_factory.mktemp("plans") / "plan.npz", model.build()
    for method in METHODS:
        best = rl.plan(mdp, method=method)
        assert best.verify() is best
        assert best.verify(time_limit=600) is best
        with pytest.raises(lsip.OutOfTime, match="nothing was found to be wrong"):
            best.verify(time_limit=0)
        best.save(path)
        again = rl.Plan.load(path, mdp)
        assert (again.method, again.status, again.certified) == (method, best.status, best.certified)
        for name in ("value", "lower", "upper", "gap"):
            assert getattr(again, name) == getattr(best, name), name
        for name in ("policy", "occupancy", "points"):
            np.testing.assert_array_equal(getattr(again, name), getattr(best, name))
        assert str(again) == str(best)
        assert [p.name for p in path.parent.iterdir()] == ["plan.npz"]
        again.save(path)
        assert rl.Plan.load(path, mdp).value == best.value


def test_a_large_model_is_decomposed_and_verifies_without_help(tmp_path):
    best = rl.plan(envs.sewage(states=20, actions=5, seed=0))
    assert best.method == "decompose"
    best.verify()
    best.solution.verify()
    assert best.solution.message == best.status.value
    assert isinstance(best.solution, lsip.Solution)
    assert best.solution.report(tmp_path / "page.html").exists()
    with pytest.raises(lsip.ModelError, match="maximisation over X"):
        best.solution.save(tmp_path / "solution.npz")
    with pytest.raises(lsip.ModelError, match='method="lp"'):
        best.solution.export(tmp_path / "proof.json")


@pytest.mark.parametrize("method", METHODS)
def test_the_plan_of_one_model_is_no_proof_for_another(method, tmp_path):
    rl.plan(envs.sewage(seed=0), method=method).save(tmp_path / "plan.npz")
    with pytest.raises(lsip.LSIPError):
        rl.Plan.load(tmp_path / "plan.npz", envs.sewage(seed=1))
    with pytest.raises(lsip.ModelError, match=r"plan\.npz"):
        rl.Plan.load(tmp_path / "plan.npz", envs.sewage(states=6, seed=0))
    mdp = envs.sewage(seed=0)
    tighter = rl.SICMDP(mdp.P, mdp.r, mdp.costs.constraint.cost, 0.999 * mdp.costs.constraint.bound, mdp.domain)
    with pytest.raises(lsip.LSIPError):
        rl.Plan.load(tmp_path / "plan.npz", tighter)


def forged(solution, **claims):
    return replace(solution, certificate=replace(solution.certificate, **claims))


def negated(atom):
    return replace(atom, multiplier=-atom.multiplier)


def test_what_was_tampered_with_does_not_verify():
    best = rl.plan(envs.sewage(seed=0), method="decompose")
    s, greedy = best.solution, best.solution.atoms[0].data
    other = replace(greedy, actions=(greedy.actions + 1) % 4)
    lies = [
        replace(best, policy=np.roll(best.policy, 1, axis=1)),
        replace(best, occupancy=best.occupancy[::-1]),
        replace(best, solution=forged(s, lower=s.certificate.lower + 1e-3)),
        replace(best, solution=forged(s, upper=s.certificate.upper + 1.0)),  # true, but no longer an optimum to tol
        replace(best, solution=replace(s, atoms=(replace(s.atoms[0], data=other), *s.atoms[1:]))),
        replace(best, solution=forged(s, support=tuple(map(negated, s.certificate.support)))),
    ]
    for lie in lies:
        with pytest.raises(lsip.ProofError):
            lie.verify()
    written = rl.plan(envs.sewage(seed=0), method="lp")
    with pytest.raises(lsip.ProofError):
        replace(written, policy=rl.uniform_policy(8, 4)).verify()


@pytest.mark.parametrize(
    ("facts", "arrays"),
    [
        ({"numbers": [0.0]}, {}),
        ({"status": "GREAT"}, {}),
        ({"support": 3}, {}),
        ({}, {"weights": np.ones(1)}),
        ({}, {"x": np.full(9, np.nan)}),
        ({}, {"actions": np.full((1, 8), 9)}),
        ({}, {"actions": np.zeros((1, 8))}),
    ],
)
def test_a_damaged_file_is_refused(facts, arrays, tmp_path):
    path, mdp = tmp_path / "plan.npz", envs.sewage(seed=0)
    best = rl.plan(mdp, method="decompose")
    best.save(path)
    k = len(best.solution.atoms)
    grown = {name: np.repeat(a, k, axis=0) if name == "actions" else a for name, a in arrays.items()}
    altered(path, facts, **grown)
    with pytest.raises(lsip.ModelError, match=r"plan\.npz is not a file written by Plan\.save, or it is damaged"):
        rl.Plan.load(path, mdp)


def test_a_file_with_a_false_claim_is_refused(tmp_path):
    path, mdp = tmp_path / "plan.npz", envs.sewage(seed=0)
    best = rl.plan(mdp, method="decompose")
    best.save(path)
    s = best.solution
    proof = s.certificate
    altered(path, {"numbers": [proof.lower + 1e-3, proof.upper, s.seconds, s.tol, s.atol]})
    with pytest.raises(lsip.ProofError):
        rl.Plan.load(path, mdp)


def test_files_that_are_none(tmp_path):
    mdp, text = Model().build(), tmp_path / "notes.txt"
    text.write_text("not a plan", encoding="utf-8")
    for path, message in (
        (tmp_path / "gone.npz", "There is no file"),
        (tmp_path, "is a directory"),
        (text, "is not a file written by Plan.save.*it is not an .npz file"),
    ):
        with pytest.raises(lsip.ModelError, match=message):
            rl.Plan.load(path, mdp)
    with pytest.raises(lsip.ModelError, match="A known model"):
        rl.Plan.load(text, mdp.specification)
    with pytest.raises(lsip.ModelError, match="is a directory"):
        rl.plan(mdp).save(tmp_path)
    with pytest.raises(lsip.ModelError, match="There is no directory"):
        rl.plan(mdp).save(tmp_path / "none" / "plan.npz")
    assert [p.name for p in tmp_path.iterdir()] == ["notes.txt"]


@pytest.mark.parametrize("options", [{"method": "lp"}, {"method": "decompose"}, {"two_successors": True}])
def test_what_was_learned_verifies_and_belongs_to_its_data(options, tmp_path):
    mdp = envs.sewage(states=4, actions=2, seed=1)
    learned = rl.si_crl(mdp.sample(per_pair=10**5, seed=0), mdp, 1e-4, **options)
    assert learned.verify() is learned
    with pytest.raises(lsip.ModelError, match="belongs to its data"):
        learned.save(tmp_path / "plan.npz")


def test_the_published_algorithm_proves_nothing():
    mdp = envs.sewage(states=4, actions=2, seed=1)
    learned = rl.si_crl(mdp.sample(per_pair=10**5, seed=0), mdp, 1e-4, iterations=2)
    with pytest.raises(lsip.ProofError, match="Nothing is proven"):
        learned.verify()
