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


def read_transitions(P: Transitions) -> tuple[Matrix, int, int]:
    """P as rows (S * A, S), with S and A."""
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
    wrong = np.flatnonzero(np.abs(total - 1) > TUNING.off)
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
