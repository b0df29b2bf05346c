"""Points of a convex set X that is known only through its linear maximisation, their mixtures, and rows over them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from math import fsum
from typing import Any

import numpy as np
from scipy import sparse

from ..errors import ModelError, ProofError
from ..expressions.interval import EPS, TINY
from ..model.program import Program
from ..proof.certificate import Array, Support
from ..proof.linear_algebra import product
from ..proof.primal import FinitePoint
from ..proof.prove import DualBound
from ..proof.rows import point_rows, settled
from ..validation import answer, numbers, shown
from .rows import Known


@dataclass(frozen=True, eq=False)
class Extreme:
    """The answer of a linear maximisation over X.

    Parameters
    ----------
    x
        A point of X, shape (n,), or several, (k, n): the best first, others that may be useful.
    bound
        direction @ x is at most this for every x in X. It may lie above the value at `x`; the proof rests on it.
    data
        Anything that belongs to each point; kept with it in `Decomposition.atoms`.
    radius
        Half-widths of a box around `x`, a number or an array of its shape: some point of X lies in it. Zero where
        floats hold points of X exactly.

    Examples
    --------
    >>> import lsip
    >>> import numpy as np
    >>> best = lsip.Extreme(np.array([1.0, 0.0]), bound=3.0)  # of (3, 1) · x over the probability vectors x
    >>> best.x, best.bound
    (array([1., 0.]), 3.0)
    """

    x: Array
    bound: float
    data: Any = None
    radius: Array | float = 0.0

    def __post_init__(self) -> None:
        bound = numbers(self.bound, "`bound` of an Extreme")
        if bound.ndim:
            raise ModelError(f"`bound` of an Extreme is a number; got {shown(self.bound)}.")
        object.__setattr__(self, "x", numbers(self.x, "`x` of an Extreme"))
        object.__setattr__(self, "bound", float(bound))
        object.__setattr__(self, "radius", numbers(self.radius, "`radius` of an Extreme"))


Maximise = Callable[[Array], Extreme]  # direction (n,) -> a point of X at which direction @ x is largest, with a bound


@dataclass(frozen=True, eq=False)
class Atom:
    """A point of X, known up to a box, and its weight in the solution."""

    weight: float
    x: Array
    data: Any = None
    radius: Array | float = 0.0


@dataclass(frozen=True, eq=False)
class MixedPoint(FinitePoint):
    """A mixture of points of X, in whose box an exact one lies."""

    weights: Array = field(default_factory=lambda: np.zeros(0))


@dataclass(frozen=True, eq=False)
class PricedBound(DualBound):
    """A lower bound over X, which is wherever it is written the same."""

    def around(self, program: Program, centre: Array) -> DualBound:
        return self


def beyond(program: Program, points: Array) -> Array:
    """How far each coordinate of some points lies outside the bounds of its variable; zero inside."""
    return np.maximum(np.maximum(program.lower - points, points - program.upper), 0.0)


def mixture(atoms: Sequence[Atom], n: int) -> tuple[Array, Array]:
    """The mixture of atoms with their weights, in proportion, and half-widths of a box that holds an exact one."""
    weights = np.array([a.weight for a in atoms])
    if not (len(atoms) and np.isfinite(weights).all() and (weights >= 0).all() and abs(weights.sum() - 1) <= 1e-9):
        raise ProofError("The weights of the mixture are not nonnegative with sum one.")
    points = np.array([a.x for a in atoms])
    radii = np.array([np.broadcast_to(a.radius, n) for a in atoms])
    return mixed(weights, points, radii)


def mixed(weights: Array, points: Array, radii: Array) -> tuple[Array, Array]:
    """weights @ points, and how far a mixture of points of X with exactly these proportions may be from it."""
    terms = len(weights) + 8
    x, size = weights @ points, weights @ np.abs(points)
    off = abs(fsum(weights.tolist()) - 1.0) + 2 * EPS  # what the proportions change
    return x, 1.01 * (weights @ radii + (terms * EPS + 1.01 * off) * size + terms * TINY)


class MixtureCuts:
    """All rows a x <= b of the master, enclosed: the sides of the finite rows first, then the cuts."""

    def __init__(self, program: Program) -> None:
        self.program = program
        above = np.flatnonzero(np.isfinite(program.row_upper))
        below = np.flatnonzero(np.isfinite(program.row_lower))
        self.side = np.concatenate([above, below])  # which finite row each of the first rows is
        self.sign = np.concatenate([np.ones(len(above)), -np.ones(len(below))])
        self.a = self.sign[:, None] * program.A.toarray()[self.side]
        self.doubt = np.zeros_like(self.a)
        self.b = np.concatenate([program.row_upper[above], -program.row_lower[below]])
        self.cuts: list[Support] = []
        self.reach = np.maximum(np.abs(program.lower), np.abs(program.upper))

    @property
    def scale(self) -> float:
        """The size of the right-hand sides."""
        return max(1.0, float(np.median(np.abs(self.b)))) if len(self.b) else 1.0

    def add(self, new: list[Support], known: Known | None = None) -> int:
        """Append cuts, with right-hand sides that are rounded up; how many there were."""
        cuts = settled(self.program, new)
        if cuts:
            mid, rad, b = point_rows(self.program, cuts)
            mid, rad = (m.toarray() if sparse.issparse(m) else m for m in (mid, rad))
            self.a, self.doubt = np.concatenate([self.a, mid]), np.concatenate([self.doubt, rad])
            self.b = np.concatenate([self.b, b.hi])
            self.cuts += cuts
        return len(new)

    def finite_violation(self, x: Array, box: Array | None = None) -> float:
        """The most by which x, or a point of the box around it, may break a finite row; -inf when there is none."""
        k = len(self.side)
        return float((product(self.a[:k], x, box).hi - self.b[:k]).max(initial=-np.inf))

    def sides(self, row_multipliers: Array) -> Array:
        """Multipliers of the finite rows, one a side."""
        return np.maximum(self.sign * row_multipliers[self.side], 0.0) if len(self.side) else np.zeros(0)

    def measure(self, multipliers: Array) -> tuple[tuple[Support, ...], Array]:
        """Multipliers as atoms of the dual measure, and signed ones of the finite rows."""
        k = len(self.side)
        rows = np.zeros(self.program.A.shape[0])
        np.add.at(rows, self.side[: len(multipliers)], (self.sign * np.resize(multipliers, k))[: len(multipliers)])
        atoms = zip(self.cuts, multipliers[k:], strict=False)
        return tuple(replace(cut, multiplier=float(v)) for cut, v in atoms if v > 0), rows

    def terms(self, multipliers: Array, x: Array) -> float:
        """The size of what a bound with these multipliers is made of, at x: sides, and reduced costs."""
        k, program = len(multipliers), self.program
        reduced = np.abs(program.c + multipliers @ self.a[:k])
        return float(multipliers @ np.abs(self.b[:k]) + reduced @ np.abs(x)) + abs(program.constant)

    def relaxed(
        self, objective: float, multipliers: Array, maximise: Maximise, slack: float = 1e-9
    ) -> tuple[float, Extreme]:
        """min over X of objective c x + sum lambda (a x - b), rounded down, and the point of X that is found there.

        `slack` is by how much, relative to its size, the bound of `maximise` may miss the value at its own point.
        """
        k, program = len(multipliers), self.program
        c = objective * program.c
        products = multipliers * self.b[:k]
        reduced = c + multipliers @ self.a[:k]
        size = np.abs(c) + multipliers @ np.abs(self.a[:k])
        terms = k + 8
        extreme = answer("maximise", maximise, -reduced)
        if not isinstance(extreme, Extreme):
            raise ModelError(f"`maximise` must return an lsip.Extreme(x, bound); got {type(extreme).__name__}.")
        reached = float(np.max(np.atleast_2d(extreme.x) @ -reduced)) if np.shape(extreme.x)[-1:] == c.shape else -np.inf
        if not extreme.bound >= reached - slack * (size @ self.reach):
            raise ModelError(f"`maximise` gave the bound {extreme.bound:.9g}, but its own point reaches {reached:.9g}.")
        total = objective * program.constant - float(products.sum()) - extreme.bound
        charge = ((multipliers @ self.doubt[:k]) * (1 + terms * EPS) + terms * EPS * size) @ self.reach
        charge += terms * EPS * (np.abs(products).sum() + abs(extreme.bound) + abs(program.constant))
        return float(total - charge), extreme
