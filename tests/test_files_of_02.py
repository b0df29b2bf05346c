"""Files that lsip 0.2.0 wrote: they are read and proven again, or refused in one sentence."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import lsip
from lsip.cli import main

HERE = Path(__file__).resolve().parent / "files_of_02"
VALUES = {"": 1.8591409142, "2": 0.5796867870}  # of both problems, as 0.2.0 found them


def stated() -> lsip.Problem:
    x, t = lsip.Variable(2, name="x"), lsip.Index("t", lsip.Interval(0, 1))
    return lsip.Problem(lsip.minimize(x[0] + x[1] / 2), [lsip.forall(t, x[0] + x[1] * t >= np.exp(t))])


@pytest.mark.parametrize("which", VALUES)
def test_a_problem_is_solved_with_the_same_value(which: str) -> None:
    solution = lsip.load(HERE / f"problem{which}.json").solve(verbose=False)
    assert solution.certified
    assert solution.value == pytest.approx(VALUES[which], rel=3e-8)


@pytest.mark.parametrize("which", VALUES)
def test_a_solution_is_proven_again(which: str) -> None:
    solution = lsip.Solution.load(HERE / f"solution{which}.npz")
    assert solution.certified
    assert solution.lower <= VALUES[which] * (1 + 3e-8)
    assert solution.upper >= VALUES[which] * (1 - 3e-8)
    assert not lsip.Solution.load(HERE / f"solution{which}.npz", verify=False).certified


def test_a_solution_fits_the_problem_that_is_stated_again() -> None:
    assert lsip.Solution.load(HERE / "solution.npz", stated()).certified
    with pytest.raises(lsip.LSIPError):
        lsip.Solution.load(HERE / "solution2.npz", stated())


def test_a_solution_without_its_problem_asks_for_it() -> None:
    with pytest.raises(lsip.ModelError, match="does not hold the problem") as refused:
        lsip.Solution.load(HERE / "linsip.npz")
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("which", VALUES)
def test_a_proof_is_checked(which: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(HERE / f"proof{which}.json")]) == 0
    assert capfd.readouterr().out.startswith("proven: ")


def test_a_plan_is_proven_again() -> None:
    envs = pytest.importorskip("envs")
    rl = pytest.importorskip("rl")
    plan = rl.Plan.load(HERE / "plan.npz", envs.sewage(states=3, actions=2, seed=0))
    assert plan.certified
    assert plan.value == pytest.approx(7.593896970, rel=1e-7)


def test_a_run_of_an_agent_is_refused_in_one_sentence() -> None:
    pytest.importorskip("torch")
    import envs
    import rl

    with pytest.raises(
        lsip.ModelError, match=r"written by lsip 0\.2\.0, .* Load it with the version that wrote it"
    ) as refused:
        rl.SICPO.load(HERE / "sicpo.npz", envs.sewage(states=3, actions=2, seed=0))
    assert "\n" not in str(refused.value)
