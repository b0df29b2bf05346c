"""Transition probabilities of a tabular model: how they are read, and how many visits they lead to."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

import lsip
from lsip.deadline import EFFORT

from . import validation
from .dataset import Matrix

Array = NDArray[np.float64]
Transitions: TypeAlias = ArrayLike | sparse.spmatrix | sparse.sparray


@dataclass(frozen=True)
class ModelTuning:
    """What is accepted as a model, and how carefully it is summed.

    Parameters
    ----------
    off
        How far probabilities may be from a sum of one.
    clear
        Of what a discount leaves: where sums may be rounded by more, they are computed to the last bit.
    """

    off: float = 1e-9
    clear: float = 1e-3


TUNING = ModelTuning()


def read_transitions(P: Transitions, ends: bool = False) -> tuple[Matrix, int, int]:
    """P as rows (S * A, S), with S and A; where it `ends`, a row may be zero: nothing follows."""
    if sparse.issparse(P):
        rows = sparse.csr_matrix(P, dtype=float)
        states = rows.shape[1]
        if rows.shape[0] % states or not rows.shape[0]:
            raise lsip.ModelError(f"A sparse `P` has shape (S * A, S), row s * A + a; got {rows.shape}.")
        actions = rows.shape[0] // states
        low, total = rows.data.min(initial=0.0), np.asarray(rows.sum(axis=1)).ravel()
        finite = np.isfinite(rows.data).all()
    else:
        dense = validation.array("P", P)
        if dense.ndim != 3 or dense.shape[0] != dense.shape[2] or not dense.size:
            raise lsip.ModelError(f"`P` must have shape (S, A, S), P[s, a, t] = P(t | s, a); got {dense.shape}.")
        states, actions = dense.shape[:2]
        rows = dense.reshape(states * actions, states)
        low, total, finite = rows.min(), rows.sum(axis=1), True
    if not finite:
        raise lsip.ModelError("`P` must be finite; got nan or inf.")
    if low < 0:
        raise lsip.ModelError(f"`P` holds a negative probability, {low:.6g}.")
    wrong = np.flatnonzero((np.abs(total - 1) > TUNING.off) & ~((total == 0) & ends))
    if len(wrong):
        s, a = divmod(int(wrong[0]), actions)
        raise lsip.ModelError(
            f"Probabilities must sum to one: P[{s}, {a}, :] sums to {total[wrong[0]]:.9g}"
            + (f", and {len(wrong) - 1} more rows are off." if len(wrong) > 1 else ".")
        )
    return rows, states, actions


def horizon(gamma: float, rows: Matrix, more: Array | None = None) -> float:
    """1 / (1 - gamma rho), rounded up, where rho is the largest sum of a row of transition probabilities, at least 1.

    Sums miss 1 a little, and with a discount next to 1 that decides how many visits there are: they are taken as they
    are. `more` (S * A,) is added to the sums. Where gamma rho may be 1, visits would grow without end.
    """
    extra = 0.0 if more is None else more
    doubt = (rows.shape[1] + 8) * np.finfo(float).eps
    most = max(1.0, float((np.asarray(rows.sum(axis=1)).ravel() + extra).max()))
    left = 1.0 - gamma * most
    if doubt > TUNING.clear * left:  # a sum that is rounded once
        each = rows if isinstance(rows, np.ndarray) else _stored(rows)
        most = max(1.0, float((np.array([math.fsum(row) for row in each]) + extra).max()))
        left, doubt = 1.0 - gamma * most, 4 * np.finfo(float).eps
    left -= doubt
    if not left > 0:
        raise lsip.ModelError(
            f"Probabilities sum to as much as 1 + {most - 1:.3g}, which the discount {gamma!r} does not shrink: visits "
            "would grow without end. Divide the probabilities of every pair by their sum, or lower gamma."
        )
    return 1.0 / left


def visits_until_end(gamma: float, rows: Matrix) -> float:
    """How many discounted visits there are at most before the end, rounded up, where no state is ever seen again."""
    states = rows.shape[1]
    actions, ahead = rows.shape[0] // states, np.zeros(states)
    for _ in range(states + 1):
        before, ahead = ahead, 1.0 + gamma * np.asarray(rows @ ahead).reshape(states, actions).max(axis=1)
        if (ahead == before).all():
            return float(ahead.max()) * (1 + (states + 8) ** 2 * float(np.finfo(float).eps))
    raise lsip.ModelError("`steps` is for models that end: here a state can be seen again. Use rl.finite_horizon.")


def stationary(chain: Matrix) -> Array:
    """The distribution (S,) that a chain keeps; ModelError where there are several."""
    dense = chain if isinstance(chain, np.ndarray) else chain.toarray()
    system = np.eye(len(dense)) - dense.T
    system[-1] = 1.0
    total = np.zeros(len(dense))
    total[-1] = 1.0
    try:
        found = np.linalg.solve(system, total)
    except np.linalg.LinAlgError:
        found = np.full(len(dense), -1.0)
    if not found.min() > -np.sqrt(np.finfo(float).eps):
        raise lsip.ModelError(
            "Under this policy, averages over all time depend on the start: it has several recurrent classes."
        )
    return np.maximum(found, 0.0)


def mixing(chain: Matrix) -> float:
    """How many times as large as what is left over in d = d P, at most, the error of a distribution d is.

    All in sums of absolute values, and at least 1. Let L = (P + 1) / 2, which has the same stationary distribution p,
    and let the minima of the columns of L^k sum to c > 0 (Doeblin): L^k shrinks differences of distributions by 1 - c.
    For d of sum 1, |d - p| <= |d - d L^k| + (1 - c) |d - p| and so |d - p| <= |d - d L| k / c, with d - d L = (d - d P)
    / 2. Infinite where no such k is found: several sets of states may be closed, or mix very slowly.
    """
    states = chain.shape[0]
    if states**2 > EFFORT.entries:  # powers are not sparse
        return np.inf
    power = 0.5 * (np.eye(states) + (chain if isinstance(chain, np.ndarray) else chain.toarray()))
    eps = (states + 8) * float(np.finfo(float).eps)
    # Of a row of the power, at most: those of P sum to nearly one.
    wrong, k = eps + float(np.abs(power.sum(axis=1) - 1).max()), 1
    while wrong < 0.25:
        common = (float(power.min(axis=0).sum()) - states * wrong) * (1 - eps)
        if common > 0.25:
            return max(0.5 * k / common, 1.0)
        power, wrong, k = power @ power, 2.1 * wrong + eps, 2 * k
    return np.inf


def _stored(rows: sparse.csr_matrix) -> Iterator[Array]:
    for start, end in zip(rows.indptr[:-1], rows.indptr[1:], strict=True):
        yield rows.data[start:end]


def check_distribution(rows: Array, name: str, where: Callable[[int], str]) -> None:
    """Refuse rows of numbers that are no probabilities."""
    if (rows < 0).any():
        i = int(np.argmax((rows < 0).any(axis=1)))
        raise lsip.ModelError(f"`{name}` holds a negative probability{where(i)}: {rows[i].min():.6g}.")
    off = np.abs(rows.sum(axis=1) - 1)
    if (off > TUNING.off).any():
        i = int(np.argmax(off))
        raise lsip.ModelError(f"`{name}` must sum to one{where(i)}; it sums to {rows[i].sum():.9g}.")
