"""Filters, filter banks and antenna arrays."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..domains import Interval
from ..expressions import Index, Variable
from ..model import Problem, forall, maximize, minimize
from .entry import known

Array = NDArray[np.float64]

FIXED = "The first variable is fixed at 1."


def first_is_one(n: int, rest: float) -> Array:
    """A bound for n variables: 1 for the first, `rest` for the others."""
    return np.concatenate([[1.0], np.full(n - 1, rest)])


@known(
    0.04574489058041528,
    digits=10,
    tags=("trig", "fir", "multi_family"),
    source="Vanderbei's collection of nonlinear models, fir_linear",
)
def fir_linear() -> Problem:
    """The low-pass filter of length 20 with the smallest ripple, its stop band below 0.01."""
    h = Variable(10, name="h")
    ripple = Variable(name="ripple")
    w = Index("w", Interval(0, np.pi / 2))
    v = Index("v", Interval(2 * np.pi / 3, np.pi))
    passed = 2 * np.cos((np.arange(10) - 9.5) * w) @ h
    stopped = 2 * np.cos((np.arange(10) - 9.5) * v) @ h
    return Problem(
        minimize(ripple),
        [
            forall(w, [passed - 1 <= ripple, passed - 1 >= -ripple]),
            forall(v, [stopped <= 0.01, stopped >= -0.01]),
        ],
    )


@known(
    8.652819819867665e-05,
    digits=12,
    tags=("trig", "fir", "fixed_var", "unbounded_start"),
    source="Coleman's filter models in Vanderbei's collection; Slepian (1978)",
    note=f"{FIXED} The value is the smallest eigenvalue of the prolate matrix of order 7.",
)
def coleman_slepian() -> Problem:
    """The nonnegative spectrum of degree 6 with the smallest energy in a band."""
    r = Variable(7, name="r", lower=first_is_one(7, -np.inf), upper=first_is_one(7, np.inf))
    f = Index("f", Interval(0, 0.5))
    lag = np.arange(1, 7)
    energy = np.r_[0.5, (np.sin(1.5 * np.pi * lag) - np.sin(0.5 * np.pi * lag)) / (np.pi * lag)]
    spectrum = (first_is_one(7, 2) * np.cos(2 * np.pi * f * np.arange(7))) @ r
    return Problem(minimize(energy @ r), [forall(f, spectrum >= 0)])


def filter_bank(n: int) -> Problem:
    """The half-band filter with n free coefficients that suits an autoregressive signal best."""
    x = Variable(n + 1, name="x", lower=first_is_one(n + 1, -np.inf), upper=first_is_one(n + 1, np.inf))
    f = Index("f", Interval(0, 0.5))
    lags = np.r_[0, 2 * np.arange(n) + 1]
    gain = np.r_[0.5, 0.95 ** lags[1:]]
    response = (first_is_one(n + 1, 2) * np.cos(2 * np.pi * f * lags)) @ x
    return Problem(maximize(gain @ x), [forall(f, response >= 0)])


@known(
    0.9828983604315576,
    digits=11,
    tags=("trig", "fir", "fixed_var", "unbounded_start"),
    source="Kortanek & Moulin, in Reemtsen & Rueckmann, Semi-Infinite Programming (1998)",
    note=FIXED,
)
def qmf_ar1_N4() -> Problem:
    """The quadrature mirror filter bank with 4 coefficients for a signal of correlation 0.95."""
    return filter_bank(4)


@known(
    0.983548402726598,
    digits=12,
    tags=("trig", "fir", "fixed_var", "unbounded_start"),
    source="Kortanek & Moulin, in Reemtsen & Rueckmann, Semi-Infinite Programming (1998)",
    note=FIXED,
)
def qmf_ar1_N10() -> Problem:
    """The quadrature mirror filter bank with 10 coefficients for a signal of correlation 0.95."""
    return filter_bank(10)


def equiripple(n: int, stop: float) -> Problem:
    """The low-pass filter with 2n - 1 taps whose weighted error is smallest; the stop band counts ten times."""
    x = Variable(n, name="x")
    error = Variable(name="error")
    f = Index("f", Interval(0, 0.2))
    g = Index("g", Interval(stop, 0.5))
    passed = np.cos(2 * np.pi * f * np.arange(n)) @ x
    stopped = np.cos(2 * np.pi * g * np.arange(n)) @ x
    return Problem(
        minimize(error),
        [
            forall(f, [passed - 1 <= error, passed - 1 >= -error]),
            forall(g, [stopped <= error / 10, stopped >= -error / 10]),
        ],
    )


@known(
    0.036205576388272,
    digits=10,
    tags=("trig", "fir", "multi_family", "chebyshev"),
    source="Parks & McClellan (1972)",
)
def remez_lowpass_n21() -> Problem:
    """The equiripple low-pass filter with 39 taps."""
    return equiripple(20, 0.25)


@known(
    0.005911834666818197,
    digits=12,
    tags=("trig", "fir", "multi_family", "chebyshev", "n>=50"),
    source="Parks & McClellan (1972)",
)
def remez_lowpass_n60() -> Problem:
    """The equiripple low-pass filter with 117 taps."""
    return equiripple(59, 0.225)


@known(
    216.27810316828655,
    digits=12,
    tags=("trig", "antenna", "badly_scaled", "unbounded_start"),
    source="Dolph (1946)",
    note="T_19(1 / cos(pi/10)).",
)
def dolph_20() -> Problem:
    """The array of 20 antennas with the strongest main lobe over side lobes of height 1."""
    x = Variable(10, name="x")
    u = Index("u", Interval(0.2 * np.pi, np.pi))
    lobes = np.cos(u * (np.arange(10) + 0.5)) @ x
    return Problem(maximize(x.sum()), [forall(u, [lobes <= 1, lobes >= -1])])
