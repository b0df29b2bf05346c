"""How to add a separation oracle: a frozen dataclass with its options and one method, `maximise`.

An oracle receives a violation g: `values`, `derivatives` unless it is a black box, and the `domain` to maximise it
over. It returns a `Separation`: points of the domain, worst first; the values attained there; the component of g
that each value belongs to; and `bound`, which must be at least the supremum of g over the whole domain and all
components. An oracle that proves nothing says `inf`, and the solver then reports its answer as not certified. A finite
bound is the oracle's own word, and `trusts` says so; the solver proves the end itself, or names that word among the
assumptions.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

import lsip
from lsip.domains import Box, Domain
from lsip.oracles import Oracle, Separation, Violation, is_prover


@dataclass(frozen=True)
class Corners:
    """Look at the corners of the bounding box only (enough for a violation that is convex in y on a box)."""

    def maximise(self, violation: Violation, *, target: float = 0.0, seed: int = 0) -> Separation:
        points = violation.domain.project(violation.domain.grid(2))
        values = violation.values(points)  # (N, p)
        components = values.argmax(axis=1)
        worst = values.max(axis=1)
        order = np.argsort(-worst, kind="stable")
        return Separation(points[order], worst[order], bound=np.inf, components=components[order])


class Bowl:
    """g(y) = ||y||^2 - 1: one component, derivatives left out as for a black box."""

    components = 1
    domain: Domain = Box([0.0, 0.0], [1.0, 2.0])

    def values(self, y: np.ndarray) -> np.ndarray:
        return (y**2).sum(axis=1, keepdims=True) - 1

    def derivatives(self, y: np.ndarray, component: np.ndarray) -> None:
        return None


def test_the_template_is_an_oracle() -> None:
    assert isinstance(Corners(), Oracle)


def test_the_template_finds_the_worst_corner() -> None:
    found = Corners().maximise(Bowl())
    np.testing.assert_array_equal(found.points[0], [1.0, 2.0])
    assert found.worst == 4.0
    assert found.bound == np.inf


@dataclass(frozen=True)
class Convex:
    """The same for a violation that is convex in y over a box: there, the corners are all that matters."""

    def maximise(self, violation: Violation, *, target: float = 0.0, seed: int = 0) -> Separation:
        found = Corners().maximise(violation, target=target, seed=seed)
        return replace(found, bound=found.worst)  # `trusts` is left as it is: nobody but us says that g is convex


@pytest.mark.parametrize(("oracle", "status"), [(Corners(), "UNCERTIFIED"), (Convex(), "OPTIMAL")], ids=str)
def test_the_template_solves(oracle: Oracle, status: str) -> None:
    x, y = lsip.Variable(name="x"), lsip.Index("y", Bowl.domain)
    problem = lsip.Problem(lsip.minimize(x), [lsip.forall(y, (y**2).sum() <= x)])
    solution = problem.solve(oracle=oracle, verbose=False)
    assert solution.value == pytest.approx(5.0, abs=1e-6)
    assert solution.status.name == status  # what the second one says, lsip proves by itself


def test_a_bound_of_ones_own_is_ones_own_word() -> None:
    found = Convex().maximise(Bowl())
    assert found.bound == 4.0
    assert found.trusts == ("the bound is the oracle's own word",)
    assert not is_prover(Convex())
