"""Halfspaces that level steps hold, and the nearest point that lies in all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..proof.certificate import Array, Ints, Support


@dataclass(frozen=True)
class PivotTuning:
    """How a nearest point is found from a guess.

    Parameters
    ----------
    patience
        Systems that are solved in a row without fewer wrong guesses, before least squares begin anew.
    ridge
        That is added to the squared lengths of rows, which are 1: some of them may depend on each other.
    nothing
        Multipliers below this, relative to the largest, are 0.
    close, rounded
        By which rows may be broken, relative to what the first point breaks, and to their terms.
    """

    patience: int = 3
    ridge: float = 1e-13
    nothing: float = 1e-12
    close: float = 1e-9
    rounded: float = 1e-14


TUNING = PivotTuning()


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

    @property
    def keys(self) -> list[object]:
        """What each of them is, the same for copies."""
        each = zip(self.cuts, self.row.tolist(), self.sign.tolist(), self.a, self.side.tolist(), strict=True)
        return [
            cut.place if cut is not None else (row, sign) if row >= 0 else (a.tobytes(), side)
            for cut, row, sign, a, side in each
        ]

    def with_new(self, *others: Halfspaces) -> Halfspaces:
        """These and more, each once; those that come again are as good as new."""
        every = self.joined(*others)
        first: dict[object, int] = {}
        again = np.zeros(len(every), dtype=bool)
        age = every.age.copy()
        for i, key in enumerate(every.keys):
            found = first.setdefault(key, i)
            again[i], age[found] = found < i, min(age[found], age[i])
        return replace(every, age=age).kept(~again)

    def joined(self, *others: Halfspaces) -> Halfspaces:
        """These and more."""
        every = (self, *others)
        a, side, room, sign = (
            np.concatenate(part) for part in zip(*((h.a, h.side, h.room, h.sign) for h in every), strict=True)
        )
        row, age = (np.concatenate(part) for part in zip(*((h.row, h.age) for h in every), strict=True))
        return Halfspaces(a, side, room, row, sign, tuple(cut for h in every for cut in h.cuts), age)


def nearest(
    x: Array, a: Array, side: Array, empty: float, start: NDArray[np.bool_] | None = None
) -> tuple[Array | None, Array, bool]:
    """The point nearest to x with a x <= side, and multipliers; None if there is none, as the multipliers say.

    At the `start`, those with a multiplier are guessed to be these, and what x breaks. Whether least squares were
    needed, which take long, is told as well.
    """
    from scipy.optimize import nnls

    excess = a @ x - side
    most = float(excess.max(initial=0.0))
    if most <= 0:
        return x, np.zeros(len(side)), False
    guessed = None if start is None else _pivoted(x, a, side, start | (excess > 0))
    if guessed is not None:
        return *guessed, False
    system, target = np.concatenate([-a.T, excess[None] / most]), np.append(np.zeros(len(x)), 1.0)
    multipliers = nnls(system, target, maxiter=20 * len(side))[0]
    left = target - system @ multipliers
    if left[-1] <= empty:
        return None, multipliers, True
    return x - left[:-1] / left[-1] * most, multipliers, True


def _pivoted(x: Array, a: Array, side: Array, guess: NDArray[np.bool_]) -> tuple[Array, Array] | None:
    """The same by block pivoting (Portugal, Júdice & Vicente, 1994) from a guess; None where that does not settle.

    Rows that are guessed to be tight are solved for; those with a multiplier below zero leave, and broken ones join,
    all at once, as long as that makes fewer of them.
    """
    from scipy.linalg import LinAlgError, cho_factor, cho_solve
    from scipy.sparse import csr_matrix

    size = np.linalg.norm(a, axis=1)
    unit, level = csr_matrix(a / size[:, None]), side / size
    excess = unit @ x - level
    close = TUNING.close * float(excess.max()) + TUNING.rounded * float((abs(unit) @ np.abs(x) + np.abs(level)).max())
    tight, fewest, patience = guess.copy(), len(side) + 1, TUNING.patience
    while tight.sum() <= len(x):
        used = unit[tight]
        gram = (used @ used.T).toarray()
        try:
            weights = cho_solve(cho_factor(gram + TUNING.ridge * np.eye(len(gram)), check_finite=False), excess[tight])
        except LinAlgError:
            return None
        point = x - used.T @ weights
        wrong = unit @ point - level > close
        wrong[tight] = weights < 0
        count = int(wrong.sum())
        if not count:
            left = (unit @ point - level)[tight]
            if not np.abs(left).max(initial=0.0) <= close:
                return None
            multipliers = np.zeros(len(side))
            multipliers[tight] = np.where(weights > TUNING.nothing * weights.max(initial=0.0), weights, 0.0)
            return point, multipliers / size
        if count < fewest:
            fewest, patience = count, TUNING.patience
        elif patience:
            patience -= 1
        else:
            return None
        tight ^= wrong
    return None
