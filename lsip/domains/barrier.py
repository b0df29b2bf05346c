"""The furthest points of an intersection, by following the central path of its inequalities.

Every set is one of linear inequalities and of balls that were stretched, in the coordinates themselves and, for a
budget, in a few more. The logarithmic barrier keeps points strictly inside of all of them; along the path, what each
set pushes with adds up to the direction, and so is a price of that set, whose support function proves a bound. Sets
that touch at a small angle, as a ball and a plane that cuts a thin cap from it, take no more steps than others. All of
this is a guess, in floats.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..deadline import check
from .ball import Ball
from .base import Array, Domain
from .box import Box
from .budget import Budget
from .ellipsoid import Ellipsoid
from .interval import Interval
from .polytope import Polytope
from .product import Product


@dataclass(frozen=True, eq=False)
class Round:
    """A stretched ball: |F v + f| <= 1."""

    F: Array  # (r, k)
    f: Array  # (r,)
    owner: int


@dataclass(frozen=True, eq=False)
class Barrier:
    """Sets as inequalities G v <= h and stretched balls, where v is a point (m,), followed by what budgets need."""

    m: int
    G: Array  # (q, k)
    h: Array  # (q,)
    owner: NDArray[np.intp]  # (q,), the set that each of them belongs to
    rounds: tuple[Round, ...]
    start: Array  # (k,), strictly inside
    members: int

    @staticmethod
    def of(members: Sequence[Domain], inside: Array) -> Barrier | None:
        """The barrier of sets around a point inside; None where one is not known so, or leaves no room there."""
        m = len(inside)
        more = m * sum(isinstance(part, Budget) for d in members for part, _ in _factors(d))
        rows, sides, owner, rounds = list[Array](), list[float](), list[int](), list[Round]()
        start, used = np.append(inside, np.zeros(more)), m
        for number, member in enumerate(members):
            for part, first in _factors(member):
                unit = np.eye(m + more)[first : first + part.dim]
                at = inside[first : first + part.dim]
                match part:
                    case Interval() | Box():
                        G, h = np.concatenate([unit, -unit]), np.concatenate([part.upper, -part.lower])
                    case Polytope():
                        G, h = part.A @ unit, part.b
                    case Budget():
                        size = np.eye(m + more)[used : used + part.dim]
                        room = (part.budget - np.abs(at).sum()) / (2 * part.dim)
                        start[used : used + part.dim], used = np.abs(at) + room, used + part.dim
                        G = np.concatenate([unit - size, -unit - size, unit, -unit, size.sum(axis=0)[None]])
                        h = np.concatenate([np.zeros(2 * part.dim), part.upper, -part.lower, [part.budget]])
                    case Ball() | Ellipsoid():
                        turned = _turned(part)
                        rounds.append(Round(turned @ unit, -turned @ part.centre, number))
                        continue
                    case _:
                        return None
                rows.append(G)
                sides += h.tolist()
                owner += [number] * len(h)
        table = np.concatenate(rows) if rows else np.zeros((0, m + more))
        moved = np.abs(table).sum(axis=0) + sum((np.abs(r.F).sum(axis=0) for r in rounds), np.zeros(m + more))
        table, start = table[:, moved > 0], start[moved > 0]  # what no budget needs
        rounds = [Round(r.F[:, moved > 0], r.f, r.owner) for r in rounds]
        held = (table @ start < np.array(sides)).all() and all(np.sum((r.F @ start + r.f) ** 2) < 1 for r in rounds)
        found = Barrier(m, table, np.array(sides), np.array(owner, dtype=np.intp), tuple(rounds), start, len(members))
        return found if held and (moved[:m] > 0).all() else None

    def furthest(self, d: Array, size: float) -> tuple[Array, Array]:
        """Points (N, m) inside, about furthest along directions d (N, m) of length 1, and prices (sets, N, m)."""
        pull = np.concatenate([d, np.zeros((len(d), len(self.start) - self.m))], axis=1)
        count = len(self.h) + 2 * len(self.rounds)
        strength, moved = count / size, np.zeros_like(pull)
        reached, going = np.full(len(d), strength), np.ones(len(d), dtype=bool)
        while strength < count / (1e-10 * size) and going.any():  # the gap that is left
            strength *= 30.0
            found, settled = self._centred(moved[going], strength * pull[going])
            going[going] = settled
            moved[going], reached[going] = found[settled], strength
        prices = self._prices(moved) / reached[:, None]
        # Rounding leaves a little over. A ball is smooth, so that it costs least there.
        last = self.rounds[0].owner if self.rounds else self.members - 1
        prices[last] += d - prices.sum(axis=0)
        return (self.start + moved)[:, : self.m], prices

    def _centred(self, moved: Array, pull: Array) -> tuple[Array, NDArray[np.bool_]]:
        """The points of the path for pulls, by damped steps of Newton's method, and where rounding leaves them be."""
        settled = np.zeros(len(moved), dtype=bool)
        for _ in range(30):
            check("intersection of index sets")
            gradient, hessian = self._derivatives(moved)
            try:
                step = np.linalg.solve(hessian, (pull - gradient)[..., None])[..., 0]
            except np.linalg.LinAlgError:
                break
            decrement = ((pull - gradient) * step).sum(axis=1)
            length = np.sqrt(np.maximum(decrement, 0.0))
            # Damped as for self-concordant functions, and whole where the decrement is small.
            step = np.where(settled[:, None], 0.0, step / np.where(length > 0.25, 1 + length, 1.0)[:, None])
            inside = np.isfinite(step).all(axis=1)
            inside[inside] = self._holds(moved[inside] + step[inside])
            moved = np.where(inside[:, None], moved + step, moved)
            settled |= inside & (decrement <= 1e-9)
            if (settled | ~inside).all():
                break
        return moved, settled

    @cached_property
    def _room(self) -> tuple[Array, list[tuple[Array, float]]]:
        """What the inequalities and balls leave at the start: points are known by how far they are from it."""
        at = [r.F @ self.start + r.f for r in self.rounds]
        return self.h - self.G @ self.start, [(a, 1 - float(a @ a)) for a in at]

    def _left(self, moved: Array) -> tuple[Array, list[tuple[Array, Array]]]:
        """What inequalities leave (N, q), and for each ball F v + f (N, r), and what it leaves (N,)."""
        room, rounds = self._room
        found = []
        for r, (at, left) in zip(self.rounds, rounds, strict=True):
            more = moved @ r.F.T
            found.append((at + more, left - ((2 * at + more) * more).sum(axis=1)))
        return room - moved @ self.G.T, found

    def _holds(self, moved: Array) -> NDArray[np.bool_]:
        rows, rounds = self._left(moved)
        return np.logical_and.reduce([(rows > 0).all(axis=1), *(left > 0 for _, left in rounds)])

    def _derivatives(self, moved: Array) -> tuple[Array, Array]:
        rows, rounds = self._left(moved)
        weight = 1 / rows
        gradient, hessian = weight @ self.G, (weight[:, None, :] ** 2 * self.G.T) @ self.G
        for r, (at, left) in zip(self.rounds, rounds, strict=True):
            normal = 2 * at @ r.F / left[:, None]
            gradient = gradient + normal
            hessian += 2 * (r.F.T @ r.F) / left[:, None, None] + normal[:, :, None] * normal[:, None, :]
        return gradient, hessian

    def _prices(self, moved: Array) -> Array:
        """What each set pushes with (sets, N, m)."""
        rows, rounds = self._left(moved)
        found, weight = np.zeros((self.members, len(moved), self.m)), 1 / rows
        for number in range(self.members):
            mine = self.owner == number
            found[number] = weight[:, mine] @ self.G[mine, : self.m]
        for r, (at, left) in zip(self.rounds, rounds, strict=True):
            found[r.owner] += (2 * at @ r.F / left[:, None])[:, : self.m]
        return found


def _factors(domain: Domain) -> list[tuple[Domain, int]]:
    """The factors of a set, each with its first coordinate."""
    if not isinstance(domain, Product):
        return [(domain, 0)]
    found, start = list[tuple[Domain, int]](), 0
    for factor in domain.factors:
        found += [(part, start + first) for part, first in _factors(factor)]
        start += factor.dim
    return found


def _turned(part: Ball | Ellipsoid) -> Array:
    """The matrix that makes a unit ball of the set, around its centre."""
    if isinstance(part, Ball):
        return np.eye(part.dim) / part.radius
    found: Array = np.linalg.inv(np.linalg.cholesky(part.shape))
    return found
