"""Transitions -> counts -> the optimistic set M_delta: all transition probabilities that the data do not rule out."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

import lsip
from lsip.legible import legibly
from lsip.validation import axes, mask
from lsip.validation import file_name as check_file_name

from . import validation

Array = NDArray[np.float64]
Ints = NDArray[np.int64]
Matrix: TypeAlias = Array | sparse.csr_matrix  # of transition probabilities, dense or sparse


@dataclass(frozen=True, eq=False)
class Dataset:
    """How often every transition (s, a, s') was seen.

    Parameters
    ----------
    counts
        (S, A, S) integers.
    possible
        (S, A, S) truth values: which transitions are possible at all, if that is known. None: any.

    Examples
    --------
    >>> import rl
    >>> data = rl.Dataset.from_transitions([(0, 0, 1), (0, 0, 1), (1, 0, 0)], states=2, actions=1)
    >>> data.visits.tolist(), data.frequencies[0, 0].tolist()
    ([[2], [1]], [0.0, 1.0])
    """

    counts: Ints
    possible: NDArray[np.bool_] | None = None

    def __post_init__(self) -> None:
        table: Any = self.counts
        n = table if type(table) is np.ndarray else validation.array("counts", table)
        if isinstance(table, list | tuple) and (n == np.floor(n)).all():
            n = n.astype(np.int64)
        if n.ndim != 3 or n.shape[0] != n.shape[2] or not n.size:
            raise lsip.ModelError(f"`counts` must have shape (S, A, S); got {n.shape}.")
        if not np.issubdtype(n.dtype, np.integer) or (n < 0).any():
            raise lsip.ModelError("`counts` must be nonnegative integers.")
        object.__setattr__(self, "counts", n.astype(np.int64))
        if self.possible is not None:
            object.__setattr__(self, "possible", mask(self.possible, "`possible`"))
            if self.possible is None:
                raise lsip.ModelError("`possible` is an array of True and False, of the shape of `counts`.")
        if self.possible is not None and (self.possible.shape != n.shape or n[~self.possible].any()):
            raise lsip.ModelError(
                "`possible` must have the shape of `counts` and allow every transition that was seen."
            )

    @classmethod
    def from_transitions(cls, transitions: ArrayLike, *, states: int, actions: int) -> Dataset:
        """Count transitions: an array (n, 3) of (s, a, s'), or three arrays of length n."""
        validation.count("states", states)
        validation.count("actions", actions)
        validation.fits("The counts of all transitions", states, actions, states)
        try:
            table = validation.array("transitions", transitions)
        except lsip.ModelError as error:
            raise lsip.ModelError(f"`transitions` must be an array (n, 3) of (s, a, s'). {error}") from None
        columns = isinstance(transitions, tuple) and len(transitions) == 3 and axes(transitions[0]) == 1
        if table.ndim == 2 and table.shape[0] == 3 and (columns or table.shape[1] != 3):
            table = table.T
        if table.ndim != 2 or table.shape[1] != 3:
            raise lsip.ModelError(f"`transitions` must have shape (n, 3), rows (s, a, s'); got {table.shape}.")
        whole = table.astype(np.int64)
        if not np.array_equal(whole, table):
            raise lsip.ModelError("`transitions` must hold integers: states and actions are counted from 0.")
        shape = (states, actions, states)
        outside = (whole < 0) | (whole >= np.array(shape))
        if outside.any():
            i = int(np.argmax(outside.any(axis=1)))
            raise lsip.ModelError(
                f"Transition {i} is {tuple(whole[i].tolist())}; states run from 0 to {states - 1}, actions from 0 to "
                f"{actions - 1}."
            )
        flat = np.ravel_multi_index(tuple(whole.T), shape)
        return cls(np.bincount(flat, minlength=states * actions * states).reshape(shape))

    @classmethod
    def from_csv(cls, path: str | Path, *, states: int, actions: int) -> Dataset:
        """Count the transitions of a CSV file with columns s, a, s'; a header line is allowed."""
        validation.count("states", states)
        validation.count("actions", actions)
        check_file_name("path", path)
        try:
            lines = Path(path).read_text(encoding="utf-8-sig").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "it is not a text file"
            raise lsip.ModelError(f"{path} cannot be read: {reason}.") from error
        rows, most = [], (states, actions, states)
        for number, line in enumerate(lines, 1):
            fields = [f.strip() for f in line.split(",")]
            if fields == [""] or (number == 1 and not any(c.isdigit() for c in line)):  # a header holds no numbers
                continue
            try:
                rows.append([int(f) for f in fields])
            except ValueError:
                raise lsip.ModelError(
                    f"{path}, line {number}: three integers s, a, s' expected; got {validation.shown(line)}."
                ) from None
            if len(fields) == 3 and any(not 0 <= v < n for v, n in zip(rows[-1], most, strict=True)):
                raise lsip.ModelError(
                    f"{path}, line {number}: {line!r} is out of range; states run from 0 to {states - 1}, actions "
                    f"from 0 to {actions - 1}."
                )
            if len(fields) != 3:
                raise lsip.ModelError(
                    f"{path}, line {number}: three integers s, a, s' expected; got {validation.shown(line)}."
                )
        if not rows:
            raise lsip.ModelError(f"{path} holds no transition.")
        return cls.from_transitions(rows, states=states, actions=actions)

    @property
    def states(self) -> int:
        return self.counts.shape[0]

    @property
    def actions(self) -> int:
        return self.counts.shape[1]

    @property
    def total(self) -> int:
        """How many transitions there are."""
        return int(self.counts.sum())

    @cached_property
    def visits(self) -> Ints:
        """n(s, a)."""
        return self.counts.sum(axis=2)

    @cached_property
    def frequencies(self) -> Array:
        """P-hat(s' | s, a) = n(s, a, s') / max(1, n(s, a)); zero where a pair was never tried."""
        return self.counts / np.maximum(self.visits, 1)[:, :, None]

    def __add__(self, other: Dataset) -> Dataset:
        if self.counts.shape != as_dataset(other).counts.shape:
            raise lsip.ModelError(
                f"Datasets of different models do not add: {self.states} states and {self.actions} actions, "
                f"{other.states} states and {other.actions} actions."
            )
        known = [d.possible for d in (self, other) if d.possible is not None]
        return Dataset(self.counts + other.counts, np.logical_and.reduce(known) if known else None)

    @legibly
    def __repr__(self) -> str:
        missing = int((self.visits == 0).sum())
        return f"Dataset of {self.total} transitions, {self.states} states, {self.actions} actions" + (
            f", {missing} pairs never tried" if missing else ""
        )

    def optimistic_set(self, delta: float, *, denominator: str = "pair") -> OptimisticSet:
        """M_delta: |P'(s'|s,a) - P-hat(s'|s,a)| <= d_delta(s, a, s'), the smaller of two concentration bounds.

        With n = n(s, a) samples of a pair, L = log(4 / delta) and p = P-hat(s' | s, a):

            d = min( sqrt(2 p (1 - p) L / n) + 4 L / n,   sqrt(log(2 / delta) / (2 n)) )

        (empirical Bernstein; Hoeffding). The true model is inside with probability at least 1 - 2 S^2 A delta. A pair
        that was never tried is not constrained at all. `denominator="triple"` divides by n(s, a, s') instead, which
        no proof supports; it is there to replicate experiments that did so.
        """
        delta = validation.number("delta", delta, "probability")
        validation.choice("denominator", denominator, ("pair", "triple"))
        n = self.visits[:, :, None] if denominator == "pair" else self.counts
        known = np.broadcast_to(n > 0, self.counts.shape)
        n = np.maximum(n, 1)
        p, log = self.frequencies, np.log(4 / delta)
        bernstein = np.sqrt(2 * p * (1 - p) * log / n) + 4 * log / n
        hoeffding = np.sqrt(np.log(2 / delta) / (2 * n))
        radius = np.where(known, np.minimum(bernstein, hoeffding), 1.0)
        if self.possible is not None:
            radius = np.where(self.possible, radius, 0.0)
        return OptimisticSet(p, radius, delta)


@dataclass(frozen=True, eq=False)
class OptimisticSet:
    """Transition probabilities within `radius` of `centre`, entry by entry (and within 0 and 1).

    Examples
    --------
    >>> import envs
    >>> mdp = envs.sewage(states=3, actions=2, gamma=0.9, seed=0)
    >>> models = mdp.sample(per_pair=1_000, seed=0).optimistic_set(delta=0.01)
    >>> bool(models.contains(mdp.P))
    True
    """

    centre: Array  # (S, A, S)
    radius: Array  # (S, A, S)
    delta: float | None = None
    lower: Array = field(init=False)
    upper: Array = field(init=False)

    def __post_init__(self) -> None:
        if self.delta is not None:
            validation.number("delta", self.delta, "probability")
        centre, radius = validation.array("centre", self.centre), validation.array("radius", self.radius)
        if centre.ndim != 3 or centre.shape[0] != centre.shape[2] or radius.shape != centre.shape:
            raise lsip.ModelError(
                f"`centre` and `radius` must have shape (S, A, S); got {centre.shape}, {radius.shape}."
            )
        lower, upper = np.maximum(centre - radius, 0.0), np.minimum(centre + radius, 1.0)
        least, most = lower.sum(axis=2), upper.sum(axis=2)
        empty = (least > 1 + 1e-9) | (most < 1 - 1e-9)
        if empty.any():
            s, a = np.argwhere(empty)[0]
            raise lsip.ModelError(
                f"No distribution fits the bounds of pair ({s}, {a}): sums {least[s, a]:.6g} to {most[s, a]:.6g}."
            )
        # Where the bounds leave no choice, rounding must not leave a little too much or too little.
        for known, bounds, total in ((least >= 1 - 1e-12, lower, least), (most <= 1 + 1e-12, upper, most)):
            exact = bounds[known] / total[known][:, None]
            lower[known], upper[known] = exact, exact
        object.__setattr__(self, "lower", lower)
        object.__setattr__(self, "upper", upper)

    @classmethod
    def known(cls, P: ArrayLike) -> OptimisticSet:
        """The set that holds P alone."""
        P = validation.array("P", P)
        return cls(P, np.zeros_like(P))

    @property
    def failure(self) -> float:
        """The probability with which the true model may lie outside: 2 S^2 A delta, at most one."""
        return 0.0 if self.delta is None else min(1.0, 2 * self.centre.size * self.delta)

    def contains(self, P: ArrayLike, slack: float = 1e-12) -> bool:
        """Whether a model (S, A, S) lies in the set."""
        P, slack = validation.array("P", P), validation.number("slack", slack)
        if P.shape != self.lower.shape:
            raise lsip.ModelError(f"A model of this set has shape {self.lower.shape}; got {P.shape}.")
        return bool(((self.lower - slack <= P) & (self.upper + slack >= P)).all())


def as_dataset(data: Dataset) -> Dataset:
    """The data themselves, or an error that says where they come from."""
    if not isinstance(data, Dataset):
        raise lsip.ModelError(
            "`data` must be an rl.Dataset, as mdp.sample(…) and rl.Dataset.from_transitions(…) give; got "
            f"{validation.shown(data)}."
        )
    return data


def draw_per_pair(rows: Matrix, states: int, actions: int, per_pair: int, rng: np.random.Generator) -> Dataset:
    """`per_pair` transitions from every pair."""
    return _multinomial(rows, np.full(states * actions, per_pair), states, actions, rng)


def draw_from_measure(
    rows: Matrix, states: int, actions: int, n: int, measure: Array, rng: np.random.Generator
) -> Dataset:
    """`n` transitions from pairs drawn from a measure (S, A)."""
    weights = measure.ravel() / measure.sum()
    return _multinomial(rows, rng.multinomial(n, weights), states, actions, rng)


def _multinomial(rows: Matrix, times: Ints, states: int, actions: int, rng: np.random.Generator) -> Dataset:
    counts = np.zeros((states * actions, states), dtype=np.int64)
    for start in range(0, len(counts), 1000):  # sparse models are expanded a block at a time
        block = rows[start : start + 1000]
        p = block if isinstance(block, np.ndarray) else block.toarray()
        counts[start : start + 1000] = rng.multinomial(times[start : start + 1000], p / p.sum(axis=1, keepdims=True))
    return Dataset(counts.reshape(states, actions, states))
