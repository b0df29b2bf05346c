"""Halfspaces that level steps hold, and the nearest point that lies in all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..proof.certificate import Array, Ints, Support


@dataclass(frozen=True, eq=False)
class Halfspaces:
    """Rows a x <= side, what each of them is, and for how many steps it has had no multiplier.

    Margins are taken from the sides of those that have room; `row` is a finite row, with its `sign`, or -1.
    """

    a: Array  # (k, n)
    side: Array
    room: Array  # 1 where a margin is kept, 0 where not
    row: Ints
    sign: Array
    cuts: tuple[Support | None, ...]  # where they are cuts
    age: Ints

    @staticmethod
    def of(
        a: Array,
        side: Array,
        room: Array | float,
        row: Ints | None = None,
        sign: float = 0.0,
        cuts: Sequence[Support] | None = None,
    ) -> Halfspaces:
        """New ones, of finite rows, of cuts, or of neither."""
        k = len(side)
        rows = np.full(k, -1, dtype=np.intp) if row is None else row
        each = (None,) * k if cuts is None else tuple(cuts)
        return Halfspaces(
            a, side, np.broadcast_to(room, k).astype(float), rows, np.full(k, sign), each, np.zeros(k, dtype=np.intp)
        )

    def __len__(self) -> int:
        return len(self.side)

    def kept(self, keep: NDArray[np.bool_]) -> Halfspaces:
        """Some of them."""
        cuts = tuple(cut for cut, k in zip(self.cuts, keep.tolist(), strict=True) if k)
        a, side, room, sign = (v[keep] for v in (self.a, self.side, self.room, self.sign))
        return Halfspaces(a, side, room, self.row[keep], sign, cuts, self.age[keep])

    def joined(self, *others: Halfspaces) -> Halfspaces:
        """These and more."""
        every = (self, *others)
        a, side, room, sign = (
            np.concatenate(part) for part in zip(*((h.a, h.side, h.room, h.sign) for h in every), strict=True)
        )
        row, age = (np.concatenate(part) for part in zip(*((h.row, h.age) for h in every), strict=True))
        return Halfspaces(a, side, room, row, sign, tuple(cut for h in every for cut in h.cuts), age)


def nearest(x: Array, a: Array, side: Array, empty: float) -> tuple[Array | None, Array]:
    """The point nearest to x with a x <= side, and multipliers; None if there is none, as the multipliers say."""
    from scipy.optimize import nnls

    excess = a @ x - side
    most = float(excess.max(initial=0.0))
    if most <= 0:
        return x, np.zeros(len(side))
    system, target = np.concatenate([-a.T, excess[None] / most]), np.append(np.zeros(len(x)), 1.0)
    multipliers = nnls(system, target, maxiter=20 * len(side))[0]
    left = target - system @ multipliers
    if left[-1] <= empty:
        return None, multipliers
    return x - left[:-1] / left[-1] * most, multipliers
