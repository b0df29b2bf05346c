"""Minimax approximation: the examples of Sollya's manual (`remez`, `supnorm`, `guessdegree`).

The errors are tiny. Most models magnify them; `raw` ones do not, and those called `rest` take the Taylor polynomial off
the target first, which moves it into the unknowns.
"""

from __future__ import annotations

from math import factorial, log
from typing import Any

import numpy as np

from lsip import Index, Interval, Problem

from .claims import above, below, published, value
from .fits import best_fit, best_in_angle, chebyshev

EXP5 = 1.12956980227478675612619255125e-6
EXP5_WIDE = 0.45205513967e-4
COS8 = 0.56062678190e-10
POWER_BASIS = 9.8841323829271038e-8
POWER_CUBIC = 2.54337800593461418e-9
EXPCOS = 0.308930062002514285e-13
SERIES = 24  # terms of a Taylor series, beyond double precision


def _exp_degree_five(scale: float, lower: float, upper: float) -> Problem:
    t = Index("t", Interval(lower, upper))
    return best_fit(t, t ** np.arange(6), scale * np.exp(t))


def _power_quotient(t: Any, first: int = 0, last: int = 11, scale: float = 1.0) -> Any:
    """(2^t - 1) / t as a series, its terms from `first` to `last` only."""
    return sum(scale * log(2.0) ** (k + 1) / factorial(k + 1) * t**k for k in range(first, last))


@published("sollya_exp5_raw", "Sollya manual, remez", value(EXP5, 1e-3), "exp on [0, 1] by degree 5")
def exp5_raw() -> Problem:
    return _exp_degree_five(1.0, 0, 1)


@published("sollya_exp5_m11", "Sollya manual, supnorm", value(1e4 * EXP5_WIDE, 1e-7), "on [-1, 1], times 1e4")
def exp5_wide() -> Problem:
    return _exp_degree_five(1e4, -1, 1)


@published("sollya_exp5_rest", "Sollya manual, remez", value(1e6 * EXP5, 1e-6), "Taylor polynomial taken off, 1e6")
def exp5_rest() -> Problem:
    t = Index("t", Interval(0, 1))
    return best_fit(t, t ** np.arange(6), sum(1e6 / factorial(k) * t**k for k in range(6, SERIES)))


@published("sollya_cos_rel8_x1e10", "Sollya manual, remez, example 2", value(1e10 * COS8, 1e-3), "relative error")
def cos_relative() -> Problem:
    t = Index("t", Interval(0, np.pi / 4))
    return best_fit(t, t ** np.arange(0, 10, 2), 1e10 * np.cos(t), np.cos(t))


@published("sollya_cos_rel8_shift", "Sollya manual, remez, example 2", value(1e10 * COS8, 1e-3), "Taylor taken off")
def cos_relative_rest() -> Problem:
    t = Index("t", Interval(0, np.pi / 4))
    rest = sum((-1.0) ** k / factorial(2 * k) * 1e10 * t ** (2 * k) for k in range(5, 10))
    return best_fit(t, t ** np.arange(0, 10, 2), rest, np.cos(t))


@published("sollya_2x_funcs_x1e8", "Sollya manual, remez, example 4", value(1e8 * POWER_BASIS, 1e-5))
def power_by_functions() -> Problem:
    t = Index("t", Interval(-1 / 16, 1 / 16))
    basis = np.stack([np.exp(t), np.sin(t), np.cos(t) - 1, np.sin(t**3)])
    return best_fit(t, basis, _power_quotient(t, scale=1e8))


@published("sollya_2x_deg3_x1e9", "Sollya manual, remez, example 4", value(1e9 * POWER_CUBIC, 1e-5))
def power_cubic() -> Problem:
    t = Index("t", Interval(-1 / 16, 1 / 16))
    return best_fit(t, (16 * t) ** np.arange(4), _power_quotient(t, scale=1e9))


@published("sollya_2x_deg3_rest", "Sollya manual, remez, example 4", value(1e9 * POWER_CUBIC, 1e-5), "Taylor taken off")
def power_cubic_rest() -> Problem:
    t = Index("t", Interval(-1 / 16, 1 / 16))
    return best_fit(t, (16 * t) ** np.arange(4), _power_quotient(t, 4, 14, 1e9))


@published(
    "sollya_2x_raw_division", "Sollya manual, remez, example 4", value(POWER_CUBIC, 0.1), "0/0 inside, as printed"
)
def power_as_printed() -> Problem:
    t = Index("t", Interval(-1 / 16, 1 / 16))
    return best_fit(t, (16 * t) ** np.arange(4), (2**t - 1) / t)


@published("sollya_expcos15_x1e13", "Sollya manual, supnorm, example 2", value(1e13 * EXPCOS, 1e-2), "relative error")
def exp_of_cos() -> Problem:
    t = Index("t", Interval(1, 2))
    target = np.exp(np.cos(t) ** 2 + 1)
    return best_fit(t, chebyshev(2 * t - 3, 15), 1e13 * target, target)


def _exp_of_degree(degree: int, form: str) -> Problem:
    """1e10 times the error of the best polynomial to exp on [-1, 1], which the tool compares with 1."""
    if form == "theta":
        return best_in_angle(np.exp, degree, -1.0, 1.0, 1e10)
    t = Index("t", Interval(-1, 1))
    series = sum(1e10 / factorial(k) * t**k for k in range(degree + 1, SERIES))
    return best_fit(t, chebyshev(t, degree), series if form == "rest" else 1e10 * np.exp(t))


for _form in ("", "theta", "rest"):
    for _degree, _claim in ((9, above(1.0)), (10, below(1.0))):
        _name = f"sollya_guess_deg{_degree}{'_' * bool(_form)}{_form}"
        published(_name, "Sollya manual, guessdegree", _claim, "exp on [-1, 1], times 1e10")(
            lambda degree=_degree, form=_form: _exp_of_degree(degree, form)
        )
