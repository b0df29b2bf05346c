"""Entries of sparse arrays that move with their rows."""

from __future__ import annotations

import numpy as np

from .operands import Ints


def moved(rows: Ints, size: int, index: Ints) -> tuple[Ints, Ints]:
    """Entries at `rows` of an array of that size when its elements `index` are taken: their new rows, and which."""
    order = np.argsort(rows, kind="stable")
    counts = np.bincount(rows, minlength=size)
    starts = np.cumsum(counts) - counts
    repeat = counts[index]
    new = np.repeat(np.arange(index.size), repeat)
    within = np.arange(new.size) - np.repeat(np.cumsum(repeat) - repeat, repeat)
    return new, order[np.repeat(starts[index], repeat) + within]
