"""Filters: the examples of CVX. Values that were found on a grid of frequencies are too good."""

from __future__ import annotations

from typing import Any

import numpy as np

from lsip import Index, Interval, Problem, Variable, forall, maximize, minimize

from .claims import INFEASIBLE, below, grid, published

PASS, STOP = 0.12 * np.pi, 0.24 * np.pi
LIBRARY = "CVX examples, filter_design"


def _bands(stop: float = STOP) -> tuple[Index, Index, Index]:
    """Pass band, stop band, all frequencies."""
    return Index("p", Interval(0, PASS)), Index("s", Interval(stop, np.pi)), Index("w", Interval(0, np.pi))


def _response(w: Index, taps: int) -> Any:
    """1, 2 cos(w), …, 2 cos(taps w)."""
    return np.concatenate([np.atleast_1d(1 + 0 * w), 2 * np.cos(np.arange(1, taps + 1) * w)])


def decibels(level: float) -> float:
    """A ratio of amplitudes."""
    return float(10 ** (level / 20))


@published(
    "cvx_fir_max_atten",
    f"{LIBRARY}/fir_lin_phase_lowpass_max_atten",
    grid(0.0174762, 0.25),
    "a dense LP, without lsip, has 0.01878",
)
def linear_phase() -> Problem:
    p, s, _ = _bands()
    h, t = Variable(11, name="h"), Variable(name="t")
    stopped, passed = _response(s, 10) @ h, _response(p, 10) @ h
    return Problem(
        minimize(t),
        [forall(s, [stopped <= t, -stopped <= t]), forall(p, [passed <= decibels(1), passed >= decibels(-1)])],
    )


def _magnitude(scale: float) -> Problem:
    """The autocorrelation of a filter: linear in its coefficients, and nowhere negative."""
    p, s, w = _bands()
    r, t = Variable(20, name="r"), Variable(name="t")
    passed = _response(p, 19) @ r
    return Problem(
        minimize(t),
        [
            forall(s, scale * (_response(s, 19) @ r) <= t),
            forall(p, [passed <= decibels(2), passed >= decibels(-2)]),
            forall(w, _response(w, 19) @ r >= 0),
        ],
    )


_SOURCE = f"{LIBRARY}/fir_mag_design_lowpass_max_atten"
published("cvx_fir_mag_design", _SOURCE, grid(0.000104837, 0.25))(lambda: _magnitude(1.0))
published("cvx_fir_mag_design_x1e4", _SOURCE, grid(1.04837, 0.25), "times 1e4")(lambda: _magnitude(1e4))


@published("cvx_line_array", "CVX examples, antenna_array_design/line_array_spec_fact", grid(0.00342815, 0.25))
def line_array() -> Problem:
    n, ripple, most = 20, 0.1, 2 * np.pi * 0.45
    a, b, t = Variable(n, name="a"), Variable(n - 1, name="b"), Variable(name="t")
    k = np.arange(1, n)

    def power(w: Index) -> Any:
        return a[0] + (2 * np.cos(k * w)) @ a[1:] + (2 * np.sin(k * w)) @ b

    p = Index("p", Interval(-most, -most * np.cos(np.deg2rad(40))))
    s = Index("s", Interval(-most * np.cos(np.deg2rad(50)), most))
    w = Index("w", Interval(-np.pi, np.pi))
    return Problem(
        minimize(t),
        [
            forall(s, power(s) <= t),
            forall(p, [power(p) <= decibels(2 * ripple), power(p) >= decibels(-2 * ripple)]),
            forall(w, power(w) >= 0),
        ],
    )


def _recursive(level: float) -> Problem:
    """One step of a bisection: a quotient of cosine polynomials, within `level` in the stop band; the largest slack."""
    p, s, w = _bands()
    c, d, slack = Variable(4, name="c"), Variable(3, name="d"), Variable(name="slack", upper=1.0)

    def above_line(w: Index) -> Any:
        return _response(w, 3) @ c

    def below_line(w: Index) -> Any:
        return 1 + (2 * np.cos(np.arange(1, 4) * w)) @ d

    return Problem(
        maximize(slack),
        [
            forall(
                p,
                [
                    above_line(p) + slack <= decibels(2) * below_line(p),
                    above_line(p) - slack >= decibels(-2) * below_line(p),
                ],
            ),
            forall(s, above_line(s) + slack <= level * below_line(s)),
            forall(w, [above_line(w) >= 0, below_line(w) >= slack]),
        ],
    )


_SOURCE = f"{LIBRARY}/iir_mag_design_lowpass_max_atten"
# Feasible on the grid of the source; dense LPs of our own, without lsip, give a slack of -2.7e-7.
published("cvx_iir_feas_-38.91dB", _SOURCE, below(0.0), "a step of its bisection, feasible on a grid")(
    lambda: _recursive(10**-3.891)
)
published("cvx_iir_infeas_-39.38dB", _SOURCE, below(0.0), "a step of its bisection")(lambda: _recursive(10**-3.938))


def _narrow(stop: float) -> Problem:
    """Some filter with this stop band at -30 dB, if there is one."""
    p, s, _ = _bands(stop)
    h = Variable(11, name="h")
    stopped, passed = _response(s, 10) @ h, _response(p, 10) @ h
    return Problem(
        minimize(h[0]),
        [
            forall(p, [passed <= decibels(1), passed >= decibels(-1)]),
            forall(s, [stopped <= decibels(-30), -stopped <= decibels(-30)]),
        ],
    )


_SOURCE = f"{LIBRARY}/fir_lin_phase_lowpass_min_trans"
# The source's grid of 150 frequencies leaves a gap at the edge of the band: what is feasible there is not, here
# (a dense LP, without lsip, misses by 2.0e-3).
published("cvx_min_trans_feas", _SOURCE, INFEASIBLE, "stop band from 0.2218 pi, feasible on a grid")(
    lambda: _narrow(0.2218 * np.pi)
)
published("cvx_min_trans_infeas", _SOURCE, INFEASIBLE, "stop band from 0.2190 pi")(lambda: _narrow(0.2190 * np.pi))
