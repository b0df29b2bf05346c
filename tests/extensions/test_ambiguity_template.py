"""A set of distributions of your own: a method that bounds the expectations of a loss under all of them."""

from __future__ import annotations

import pytest

import lsip
from lsip.ambiguity.losses import LossPieces


class Anything:
    """All distributions on the support: the worst of them has all of its mass at one point."""

    def worst(self, loss: LossPieces) -> lsip.ambiguity.UpperBound:
        """The largest loss over the support: `loss.below(top)` are the constraints with which nothing exceeds it."""
        top = lsip.Variable(name="top")
        return lsip.ambiguity.UpperBound(top, loss.below(top))


def test_anything_can_happen():
    demand, order = lsip.Index("demand", lsip.Interval(2, 9)), lsip.Variable(name="order", lower=0)
    assert isinstance(Anything(), lsip.ambiguity.Ambiguity)
    sales = lsip.worst_expectation([-demand, -order], Anything())
    solution = lsip.Problem(lsip.minimize(order + 5 * sales.value), sales.constraints).solve(verbose=False)
    assert solution.certified
    assert solution[order] == pytest.approx(2, abs=1e-6)
    assert solution.value == pytest.approx(-8, abs=1e-6)
