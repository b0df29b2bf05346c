"""Bounds as decimals, rounded to the side on which they stay true."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context

__all__ = ["above", "below"]


def above(value: float, digits: int) -> float:
    """The least number of so many significant digits that is not below `value`: an upper bound, to be printed."""
    return _rounded(value, digits, ROUND_CEILING)


def below(value: float, digits: int) -> float:
    """The largest number of so many significant digits that is not above `value`: a lower bound, to be printed."""
    return _rounded(value, digits, ROUND_FLOOR)


def _rounded(value: float, digits: int, side: str) -> float:
    """A float that prints as the rounded decimal; doubles hold 15 digits without loss.

    A double stands for the shortest decimal that is read as it: 0.1 is not rounded up though its bits are more.
    """
    if not math.isfinite(value):
        return float(value)
    return float(Context(prec=digits, rounding=side).create_decimal(repr(float(value))))
