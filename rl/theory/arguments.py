"""What the calculators accept."""

from __future__ import annotations

import math
import sys
from numbers import Integral
from typing import SupportsFloat, SupportsIndex

from lsip import ModelError
from lsip.validation import NO_NUMBERS, double, shown


def count(name: str, value: SupportsIndex) -> int:
    """A whole number from 1 on."""
    if isinstance(value, NO_NUMBERS) or not isinstance(value, Integral):
        raise ModelError(f"`{name}` must be a whole number; got {shown(value)}. Give an int.")
    count = int(value)
    if count < 1:
        raise ModelError(f"`{name}` must be at least 1; got {count}. Give the number of elements or dimensions.")
    return count


def positive(name: str, value: float) -> float:
    """A finite number above 0."""
    if not 0 < double(value) < math.inf:
        raise ModelError(f"`{name}` must be positive and finite; got {shown(value)}. Give a number above 0.")
    return float(value)


def probability(name: str, value: float) -> float:
    """A number between 0 and 1; not so small that a share of it would underflow."""
    if not sys.float_info.min <= double(value) < 1:
        raise ModelError(f"`{name}` is a probability, strictly between 0 and 1; got {shown(value)}. Try 0.05.")
    return float(value)


def discount(gamma: float) -> float:
    """A number from 0 on, below 1."""
    if not 0 <= double(gamma) < 1:
        raise ModelError(f"`gamma` must satisfy 0 <= gamma < 1; got {shown(gamma)}. Discount the problem.")
    return float(gamma)


def size(value: SupportsFloat) -> float:
    """A finite number from 1 on."""
    try:
        size = math.nan if isinstance(value, str) else float(value)
    except (TypeError, ValueError, OverflowError):
        size = math.nan
    if not 1 <= size < math.inf:
        raise ModelError(
            f"A number of samples or iterations must be finite and at least 1; got {shown(value)}. "
            "Ask for less accuracy."
        )
    return size
