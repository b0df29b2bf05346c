"""How to add a strategy of the cut loop: what is called after every iteration, to find more than the relaxation does.

`search` is the running solve: its `state` has the current proposal, the margin and the incumbent, its `relaxation` the
cuts. `attempt` separates a point: it adds cuts where that is violated, and tries to end the solve where it is not. Only
what is proven counts, so a bad strategy costs time, and nothing else. Its line is in `lsip/solver/strategies.py`.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import lsip
from lsip.oracles import Separation
from lsip.solver import linear
from lsip.solver.certification import attempt
from lsip.solver.relaxation import Search
from lsip.solver.state import End


class MeanOfTwo:
    """Tries the mean of the last two proposals, with the multipliers of the last one, in the first iterations."""

    def __init__(self, most: int = 20) -> None:
        self.most, self.tried = most, 0
        self.last: np.ndarray | None = None

    def __call__(self, search: Search, separations: list[Separation]) -> End | None:
        proposal, before = search.state.proposal, self.last
        self.last = proposal.x
        if before is None or self.tried >= self.most or not proposal.bounded:
            return None
        self.tried += 1
        return attempt(search, replace(proposal, x=0.5 * (proposal.x + before)))


@pytest.mark.parametrize("name", ["tfi2_tan_n3", "abs_d10", "infeasible_abs"])
def test_the_template_changes_no_answer(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    mine, known, entry = MeanOfTwo(), linear.strategies, lsip.catalogue.get(name)
    monkeypatch.setattr(linear, "strategies", lambda *arguments: (*known(*arguments), mine))
    solution = entry.build().solve(polish=False, verbose=False)
    assert solution.status.name.lower() == entry.status
    assert solution.certified
    solution.verify()
    if solution.status is lsip.Status.OPTIMAL:
        assert mine.tried
        assert solution.value == pytest.approx(entry.value, abs=1e-6)
