"""Optimal transport through its dual, and hedging at the lowest price."""

from __future__ import annotations

import numpy as np

from ..domains import Box, Interval
from ..expressions import Index, Variable
from ..model import Problem, forall, maximize, minimize
from .bases import monomials, quadratic_exponents
from .entry import known


@known(
    0.3333333333333333,
    digits=12,
    tags=("transport", "2d", "several_indices", "curve_active", "degenerate"),
    source="Kantorovich duality; the optimal map is t = 2s",
    note="1/3. The constraint is active along the whole graph of the optimal map.",
)
def ot_1d() -> Problem:
    """The cost of moving the uniform law on [0, 1] to that on [0, 2], with cubic potentials."""
    u = Variable(4, name="u")
    v = Variable(3, name="v")
    s = Index("s", Interval(0, 1))
    t = Index("t", Interval(0, 2))
    k = np.arange(1, 4)
    potentials = s ** np.arange(4) @ u + t**k @ v
    return Problem(
        maximize(1 / np.arange(1, 5) @ u + 2.0**k / (k + 1) @ v),
        [forall((s, t), potentials <= (s - t) ** 2)],
    )


@known(
    0.75,
    digits=12,
    tags=("transport", "4d", "several_indices", "curve_active", "degenerate", "hard"),
    source="Kantorovich duality; Brenier (1991), the optimal map is the given symmetric matrix",
    note="3/4. The constraint is active on a surface of dimension 2 in an index set of dimension 4.",
)
def ot_2d() -> Problem:
    """The cost of moving the uniform law on a square to its image under a matrix, with quadratic potentials."""
    u = Variable(6, name="u")
    v = Variable(5, name="v")
    y = Index("y", Box([0, 0], [1, 1]))
    z = Index("z", Box([0, 0], [1, 1]))
    image = np.array([[2, 0.5], [0.5, 1]]) @ z
    mean = np.array([1, 1 / 2, 1 / 2, 1 / 3, 1 / 4, 1 / 3])
    powers = quadratic_exponents()
    potentials = monomials(y, powers) @ u + monomials(z, powers[1:]) @ v
    return Problem(
        maximize(mean @ u + mean[1:] @ v),
        [forall((y, z), potentials <= ((y - image) ** 2).sum())],
    )


@known(
    0.11249999999999999,
    digits=12,
    tags=("hedging", "4d", "nonsmooth", "degenerate"),
    source="after d'Aspremont & El Ghaoui (2006)",
    note="9/80, by a linear program over the corners of the pieces: the grid {0, 1/2, 1}^4.",
)
def basket4() -> Problem:
    """The cheapest portfolio of cash, four assets and four calls that covers a call on their basket."""
    cash = Variable(name="cash")
    assets = Variable(4, name="assets")
    calls = Variable(4, name="calls")
    price = Index("price", Box(np.zeros(4), np.ones(4)))
    basket = np.array([0.4, 0.3, 0.2, 0.1]) @ price
    portfolio = cash + price @ assets + np.maximum(price - 0.5, 0) @ calls
    return Problem(
        minimize(cash + 0.5 * assets.sum() + 0.125 * calls.sum()),
        [forall(price, portfolio >= np.maximum(basket - 0.55, 0))],
    )
