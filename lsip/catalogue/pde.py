"""Inclusions for boundary value problems: the maximum principle turns them into LSIPs."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..domains import Box, Interval
from ..expressions import Index, Variable
from ..model import Problem, forall, maximize, minimize
from .bases import exponents, monomials
from .entry import known


@known(
    0.5892597369295602,
    digits=10,
    tags=("pde", "badly_scaled", "unbounded_start"),
    source="Collatz (1959), one-sided inclusion for the torsion of a square bar",
    note="A lower bound on the exact 0.5893708 at the centre.",
)
def torsion4() -> Problem:
    """The best lower bound at the centre of a twisted square bar from four harmonic polynomials."""
    a = Variable(4, name="a")
    t = Index("t", Interval(0, 1))
    k = np.arange(4)
    # On the edge z = 1 + it: the real part of z^(4k).
    harmonics = (1 + t**2) ** (2 * k) * np.cos(4 * k * np.arctan(t))
    return Problem(maximize(a[0]), [forall(t, harmonics @ a <= (1 + t**2) / 2)])


@known(
    0.012252910212732723,
    digits=10,
    tags=("pde", "chebyshev", "2d", "mixed_dim", "multi_family", "degenerate"),
    source="Anderson (thesis, 1975); Krabs (1979)",
    note="The interior is an index set of dimension 2, the edges are of dimension 1.",
)
def pde_defect() -> Problem:
    """The polynomial of degree 6 with the smallest defect for -Laplace u = 2, u = 0 on the edges of a square."""
    powers = exponents(2, 6)
    u = Variable(len(powers), name="u")
    defect = Variable(name="defect")
    y = Index("y", Box([-1, -1], [1, 1]))
    s: Any = Index("s", Interval(-1, 1))
    equation = laplacian(y, powers) @ u + 2
    edges = np.stack([monomials(np.stack(edge), powers) for edge in ((s, -1), (s, 1), (-1, s), (1, s))]) @ u
    return Problem(
        minimize(defect),
        [
            forall(y, [equation <= defect, equation >= -defect]),
            forall(s, [edges <= defect, edges >= -defect]),
        ],
    )


def laplacian(y: Index, powers: NDArray[np.int64]) -> Any:
    """The Laplacians of the monomials of `y` with these exponents."""
    total: Any = 0.0
    for axis in (0, 1):
        k = powers[:, axis]
        lowered = powers.copy()
        lowered[:, axis] = np.maximum(k - 2, 0)
        total = total + k * (k - 1) * monomials(y, lowered)
    return total
