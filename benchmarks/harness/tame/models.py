"""Tame models: smooth rows of moderate size over every index set, with a strictly feasible point and a bounded optimum.

Rows are written once, as functions of the coordinates of y, and are evaluated on arrays for the reference and on
indices for lsip. A point x0 keeps every row by `MARGIN` at least, by construction:

- `around`: a(y) x <= a(y) x0 + MARGIN + h(y), where h >= 0 is a sum of waves, squares and exponentials;
- `above`:  a(y) x + x_last >= f(y), as in one-sided approximation; x_last is large enough in x0.

The objective is minus a mixture of rows at points of Y (plus something on variables with bounds), so that multipliers
exist, and the optimum is bounded whatever variables are free. Columns of free variables are far from dependent.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr

import lsip

Array = NDArray[np.float64]
Term = Callable[[Sequence[Any]], Any]  # of the coordinates of y
MARGIN = 0.1
BOUND = 10.0  # of variables that have bounds, at most
SIZE = 6.0  # that no function exceeds on its index set: linear forms are at most 3 there
MIXED = 40  # points of Y in the objective, a family
CHECKED, APART = 200, 1e-3  # points at which columns are compared, and how far from dependent free ones are


@dataclass(frozen=True, eq=False)
class Rows:
    """a(y) x <= b(y) for every y in `domain`."""

    domain: lsip.Domain
    terms: tuple[Term, ...]  # (n,)
    rhs: Term

    def at(self, y: Array) -> tuple[Array, Array]:
        """Coefficients (N, n) and right-hand sides (N,) at points (N, m)."""
        coordinates = list(y.T)
        ones = np.ones(len(y))
        return np.stack([t(coordinates) * ones for t in self.terms], axis=1), self.rhs(coordinates) * ones


@dataclass(frozen=True, eq=False)
class Tame:
    """min c x with rows for every y, some finite rows, and bounds; x0 is strictly feasible."""

    c: Array
    lower: Array
    upper: Array
    families: tuple[Rows, ...]
    matrix: Array  # (k, n), of the finite rows
    right: Array
    equal: NDArray[np.bool_]
    inside: Array  # x0

    def problem(self) -> lsip.Problem:
        """The model as lsip is given it."""
        x = lsip.Variable(len(self.c), name="x", lower=self.lower, upper=self.upper)
        said: list[Any] = []
        for f, family in enumerate(self.families):
            y = lsip.Index(f"y{f}", family.domain)
            coordinates = [y] if family.domain.scalar else [y[k] for k in range(family.domain.dim)]
            left = sum(t(coordinates) * x[j] for j, t in enumerate(family.terms))
            said.append(lsip.forall(y, left <= family.rhs(coordinates)))
        for row, right, equal in zip(self.matrix, self.right, self.equal, strict=True):
            said.append(row @ x == right if equal else row @ x <= right)
        return lsip.Problem(lsip.minimize(self.c @ x), said)


def _polytope(rng: np.random.Generator) -> lsip.Domain:
    """A polygon with four to seven sides, or a cube with two or three corners cut off."""
    if rng.random() < 0.5:
        sides = int(rng.integers(4, 8))
        angle = 2 * np.pi * (np.arange(sides) + rng.uniform(-0.3, 0.3, sides)) / sides
        normals = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    else:
        cuts = np.sign(rng.normal(size=(int(rng.integers(2, 4)), 3))) * rng.uniform(0.4, 0.8, 3)
        normals = np.concatenate([np.eye(3), -np.eye(3), cuts])
    normals = normals.round(3)
    centre = rng.uniform(-0.5, 0.5, normals.shape[1]).round(3)
    return lsip.Polytope(normals, (normals @ centre + rng.uniform(0.5, 1.0, len(normals))).round(3))


def _box(rng: np.random.Generator, m: int) -> lsip.Domain:
    lower = rng.uniform(-1, 0.5, m).round(3)
    return lsip.Box(lower, lower + rng.uniform(0.5, 1.5, m).round(3))


def _ball(rng: np.random.Generator, m: int) -> lsip.Domain:
    return lsip.Ball(rng.uniform(-0.5, 0.5, m).round(3), round(rng.uniform(0.5, 1.2), 3))


def _interval(rng: np.random.Generator) -> lsip.Domain:
    lower = round(rng.uniform(-1, 0.5), 3)
    return lsip.Interval(lower, lower + round(rng.uniform(0.5, 2.0), 3))


DOMAINS: dict[str, Callable[[np.random.Generator], lsip.Domain]] = {
    "interval": _interval,
    "box2": lambda rng: _box(rng, 2),
    "box3": lambda rng: _box(rng, 3),
    "ball2": lambda rng: _ball(rng, 2),
    "ball3": lambda rng: _ball(rng, 3),
    "simplex2": lambda rng: lsip.Simplex(2),
    "simplex3": lambda rng: lsip.Simplex(3),
    "budget": lambda rng: lsip.Budget(m := int(rng.integers(2, 4)), round(rng.uniform(1.0, m), 3)),
    "polytope": _polytope,
    "union": lambda rng: lsip.Union(_ball(rng, 2), _box(rng, 2)),
    "product": lambda rng: lsip.Product(_interval(rng), _ball(rng, 2) if rng.random() < 0.5 else lsip.Simplex(2)),
}


def generate(kind: str, seed: int) -> Tame:
    """The model of a kind of index set and a seed."""
    rng = np.random.default_rng([seed, list(DOMAINS).index(kind)])
    n = int(rng.integers(2, 9))
    inside = rng.uniform(-1, 1, n).round(3)
    families = []
    for _ in range(int(rng.integers(1, 3))):
        domain = DOMAINS[kind](rng)
        terms = [_term(rng, domain.dim) for _ in range(n)]
        make = _above if rng.random() < 0.5 else _around
        families.append(make(rng, domain, terms, inside))
    rows = int(rng.integers(0, 2)) if n > 2 else 0
    equal = rng.random(rows) < 0.5
    matrix = rng.uniform(-1, 1, (rows, n)).round(2)
    right = (matrix @ inside) + np.where(equal, 0.0, rng.uniform(0.2, 2.0, rows))
    free = _independent(families, rng.random(n) < 0.5)
    reach = rng.uniform(3, BOUND, n).round(2)
    lower, upper = np.where(free, -np.inf, inside - reach), np.where(free, np.inf, inside + reach)
    c = sum(_pull(rng, family) for family in families) + np.where(free, 0.0, rng.uniform(-0.5, 0.5, n))
    return Tame(c, lower, upper, tuple(families), matrix, right, equal, inside)


def _independent(families: list[Rows], free: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Those of the free variables whose columns are far from dependent: otherwise rounding decides what is bounded."""
    columns = np.flatnonzero(free)
    if not len(columns):
        return free
    table = np.concatenate([family.at(family.domain.spread(CHECKED))[0][:, columns] for family in families])
    _, r, order = qr(table, mode="economic", pivoting=True)
    sizes = np.abs(np.diag(r))
    kept = np.zeros_like(free)
    kept[columns[order[: len(sizes)][sizes > APART * sizes[0]]]] = True
    return kept


def _pull(rng: np.random.Generator, family: Rows) -> Array:
    """Minus a mixture of rows: with multipliers in these proportions, free columns cancel."""
    a, _ = family.at(family.domain.sample(MIXED, int(rng.integers(1 << 30))))
    weights = rng.exponential(size=len(a))
    return -(weights / weights.sum()) @ a


def _around(rng: np.random.Generator, domain: lsip.Domain, terms: list[Term], inside: Array) -> Rows:
    """The right-hand side is a(y) x0 + MARGIN + h(y), h >= 0."""
    extra = [_positive(rng, domain.dim) for _ in range(int(rng.integers(1, 4)))]

    def rhs(y: Sequence[Any]) -> Any:
        return sum(float(v) * t(y) for v, t in zip(inside, terms, strict=True)) + MARGIN + sum(e(y) for e in extra)

    return Rows(domain, tuple(terms), rhs)


def _above(rng: np.random.Generator, domain: lsip.Domain, terms: list[Term], inside: Array) -> Rows:
    """The last variable lifts a combination of functions above another: -a(y) x - x_last <= -f(y)."""
    target = [_term(rng, domain.dim) for _ in range(2)]
    below = [_negated(t) for t in terms[:-1]]

    def raw(y: Sequence[Any]) -> Any:
        return -sum(t(y) for t in target)

    # x0 lies above f by MARGIN at least: no function exceeds SIZE.
    lift = MARGIN + SIZE * (len(target) + float(np.abs(inside[:-1]).sum())) - float(inside[-1])

    def rhs(y: Sequence[Any]) -> Any:
        return raw(y) + lift

    return Rows(domain, (*below, _constant), rhs)


def _constant(y: Sequence[Any]) -> float:
    return -1.0


def _negated(term: Term) -> Term:
    return lambda y: -1.0 * term(y)


def _form(rng: np.random.Generator, m: int) -> Term:
    """A linear form w y + s with coefficients that add up to one at most."""
    w, s = rng.uniform(-1, 1, m).round(2), round(rng.uniform(-0.5, 0.5), 2)
    w = w / max(1.0, float(np.abs(w).sum()))
    return lambda y: sum(float(v) * y[k] for k, v in enumerate(w)) + s


def _term(rng: np.random.Generator, m: int) -> Term:
    """A smooth function, at most SIZE on every index set here."""
    form, rate = _form(rng, m), round(rng.uniform(0.5, 3.0), 2)
    other = _form(rng, m)
    return [
        lambda y: np.sin(rate * form(y)),
        lambda y: np.cos(rate * form(y)),
        lambda y: np.exp(0.5 * form(y)),
        lambda y: form(y),
        lambda y: 0.5 * form(y) ** 2,
        lambda y: 0.5 * form(y) * other(y),
        lambda y: 0.2 * form(y) ** 3,
        lambda y: 1.0 / (1.0 + form(y) ** 2),
        lambda y: form(y) / (2.0 + other(y) ** 2),
    ][int(rng.integers(9))]


def _positive(rng: np.random.Generator, m: int) -> Term:
    """A smooth function that is nowhere negative."""
    form, rate = _form(rng, m), round(rng.uniform(1.0, 4.0), 2)
    return [
        lambda y: 0.5 * (1.0 + np.sin(rate * form(y))),
        lambda y: 0.5 * (1.0 - np.cos(rate * form(y))),
        lambda y: form(y) ** 2,
        lambda y: 0.5 * np.exp(form(y)),
        lambda y: 1.0 / (1.0 + 2.0 * form(y) ** 2),
    ][int(rng.integers(5))]
