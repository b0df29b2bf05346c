"""The search over Y of the paper's experiments is the one that docs/paper.md tells of."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import pytest

import envs
import lsip
import rl

pytest.importorskip("torch")

from envs.experiments import ship_si_cppo
from envs.train import _begun, add_train

PAGE = Path(__file__).parent.parent / "docs" / "paper.md"


def searches_as_the_paper(agent: Any) -> bool:
    """By a trust region method from many starts, and at 100 random points where that fails."""
    oracle = agent.oracle
    trust = isinstance(oracle, lsip.oracles.Multistart) and oracle.method == "trust-region" and oracle.starts > 1
    return trust and agent.fallback == lsip.oracles.RandomSearch(points=100)


def trained(*arguments: str) -> Any:
    """The learner that `lsip train` begins with."""
    from envs import tasks

    parser = argparse.ArgumentParser()
    add_train(parser.add_subparsers())
    options = parser.parse_args(["train", *arguments, "--device", "cpu"])
    return _begun(options, tasks.find(options.task))


def test_the_page_says_so() -> None:
    row = next(line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| search over Y |"))
    _, open_point, here, other = (part.strip() for part in row.strip("|").split("|"))
    assert "100 random points" in open_point
    assert "trust region from many starts" in here
    assert "100 random points" in here
    assert "BranchAndBound(max_boxes=1024)" in other


def test_the_paper_in_one_call() -> None:
    assert searches_as_the_paper(rl.SICPPO(**envs.paper.ship(copies=2), device="cpu"))


def test_the_experiments_and_the_command() -> None:
    assert searches_as_the_paper(ship_si_cppo.agent("SI-CPPO", 0, ships=2))
    grid = ship_si_cppo.agent("CRPO, N = 250", 0, ships=2)
    assert (grid.oracle, grid.fallback) == (rl.baselines.FixedGrid(16), None)
    assert searches_as_the_paper(trained("ship", "--paper"))


def test_branch_and_bound_is_what_one_gets_without_a_word() -> None:
    for agent in (rl.SICPPO(ship_si_cppo.agent("SI-CPPO", 0, ships=2).env, envs.ship.constraint()), trained("ship")):
        assert agent.oracle == lsip.oracles.BranchAndBound(max_boxes=1024)
        assert agent.fallback is None
