"""Sides that cut off a part of a box: bounds that make use of them hold on what is left."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from lsip.expressions.jets import triangle
from lsip.oracles.quadratic_bound import bound_rows
from lsip.oracles.sides import evaluate, use_sides


class View(dict[str, Any]):
    """Some boxes, by what is kept of them."""

    def __len__(self) -> int:
        return len(self["side"])


@pytest.mark.parametrize("m", [1, 2, 3])
@pytest.mark.parametrize("sides", [1, 2, 3])
def test_bounds_that_use_sides_hold_wherever_these_may_be_positive(m: int, sides: int) -> None:
    """A side is known up to an error: a point counts where each of them may be nonnegative."""
    rng, n, levels = np.random.default_rng(10 * m + sides), 200, 1 + m + len(triangle(m)[0])
    q, side = rng.normal(size=(n, levels)), rng.normal(size=(n, sides, levels))
    error = 0.3 * rng.random((n, sides)) * np.abs(side).sum(axis=2)
    bound, at = bound_rows(q, m)
    before, view = bound.copy(), View(side=side, side_error=error, matters=np.ones((n, sides), dtype=bool))
    use_sides(view, q, np.zeros(n), bound, at)
    assert (bound <= before).all()
    assert (bound < before - 1e-6).any()
    inside = rng.uniform(-1, 1, size=(400, m))
    for p in (*product((-1.0, 1.0), repeat=m), *inside, *np.clip(2 * inside, -1, 1)):
        where = np.broadcast_to(p, (n, m))
        counts = np.all([evaluate(side[:, k], where, m) + error[:, k] >= 0 for k in range(sides)], axis=0)
        assert (evaluate(q, where, m)[counts] <= bound[counts]).all()
