"""Rules over simplices, whose coordinates add up to 1: no axis leads out of a point within the set, but corners do."""

from __future__ import annotations

import numpy as np
import pytest

import lsip
from lsip import Box, Domain, Index, Problem, Rule, Simplex, Variable, forall, minimize

SETS: dict[str, Domain] = {
    "simplex": Simplex(5),
    "with a box": Simplex(3) * Box([-1, -1], [1, 1]),
    "two": Simplex(3) * Simplex(2),
}


def supply(domain: Domain, seed: int) -> Problem:
    """What is bought before and after the demand is known; the latter is dearer."""
    rng, sites = np.random.default_rng(seed), 3
    z = Index("z", domain)
    before, worst = Variable(sites, name="before", lower=0, upper=10), Variable(name="worst")
    after = Rule(sites, of=z, name="after")
    demand, price, more = rng.uniform(1, 5, (sites, domain.dim)) @ z, rng.uniform(1, 3, sites), rng.uniform(2, 4, sites)
    rows = [after >= 0, after <= 12, before + after >= demand, price @ before + more @ after <= worst]
    return Problem(minimize(worst), [forall(z, rows)])


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", SETS)
def test_counterparts_are_proven_at_once(kind: str, seed: int) -> None:
    problem = supply(SETS[kind], seed)
    solution = problem.solve(method=lsip.Counterpart(), tol=1e-6, verbose=False)
    assert solution.certified
    assert len(solution.history) == 1
    assert solution.verify().certified
    other = problem.solve(method=lsip.Exchange(), tol=1e-6, verbose=False)
    assert solution.value == pytest.approx(other.value, rel=2e-6)


@pytest.mark.parametrize("kind", SETS)
def test_corners_are_parts_of_every_point(kind: str) -> None:
    domain = SETS[kind]
    points = domain.sample(20)
    corners, shares = domain.corners(points)
    assert shares.shape[1] > 0
    for n, k in np.ndindex(*shares.shape):
        if shares[n, k] < 1 - 1e-9:
            rest = (points[n] - shares[n, k] * corners[n, k]) / (1 - shares[n, k])
            assert domain.contains(np.stack([corners[n, k], rest])).all()


def test_other_sets_have_none() -> None:
    assert Box([0, 0], [1, 1]).corners(np.zeros((3, 2)))[0].shape == (3, 0, 2)


def test_a_rule_is_written_in_one_way() -> None:
    z = Index("z", SETS["two"])
    rule = Rule(of=z, name="r")
    free = np.isinf(rule.coefficients.lower)
    assert free.tolist() == [False, True, True, True, True, False]
