"""The same model written in words of NumPy, CVXPY and others, where another model could be read than the one meant."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from importlib.util import find_spec
from math import inf
from typing import Any

import numpy as np
from numpy.polynomial import chebyshev, hermite, laguerre, legendre, polynomial

import lsip

from .doors import finite
from .draw import Rng, any_set, interval, power_of_ten, short
from .formulas import Formula, coordinate, number
from .models import Cone, Model, Truth
from .planted import Plan, known, planted

# A basis: its evaluation in NumPy, and p[k+1] from k, y, p[k] and p[k-1].
BASES: dict[str, tuple[Callable[..., Any], Callable[[int, Formula, Formula, Formula], Formula]]] = {
    "polyval": (polynomial.polyval, lambda k, y, p, q: y * p),
    "chebval": (chebyshev.chebval, lambda k, y, p, q: 2.0 * y * p - q),
    "legval": (legendre.legval, lambda k, y, p, q: ((2 * k + 1.0) * y * p - float(k) * q) / (k + 1.0)),
    "hermval": (hermite.hermval, lambda k, y, p, q: 2.0 * y * p - 2.0 * k * q),
    "lagval": (laguerre.lagval, lambda k, y, p, q: ((2 * k + 1.0 - y) * p - float(k) * q) / (k + 1.0)),
}
SECOND = {"hermval": 2.0 * coordinate(0), "lagval": 1.0 - coordinate(0)}  # where p[1] is not y


def _basis(name: str, n: int) -> list[Formula]:
    y = coordinate(0)
    found: list[Formula] = [number(1.0), SECOND.get(name, y)]
    for k in range(1, n - 1):
        before = found[k - 1]
        step = BASES[name][1]
        # The first of all is a number, of which no multiple is taken in floats.
        found.append(step(k, y, found[k], before if before.varies else _one()))
    return found[:n]


def _one() -> Formula:
    """1, as a formula that varies."""
    return coordinate(0) * 0.0 + 1.0


def polynomial_basis(rng: Rng) -> Model:
    """A polynomial in a basis of NumPy, evaluated by NumPy's own function with the variables as coefficients."""
    name = str(rng.choice(list(BASES)))
    model = planted(
        rng, Plan(interval, variables=(2, 4), families=(1, 1), columns=lambda g, o, n: _basis(name, n), units=False)
    )
    backwards = name == "polyval" and rng.random() < 0.5
    family = model.families[0]

    def written(_: Model, options: dict[str, Any]) -> Any:
        x = lsip.Variable(model.n, name="x", lower=np.array(model.lower), upper=np.array(model.upper))
        t = lsip.Index("t", family.over.write())
        left = np.polyval(x[::-1], t) if backwards else BASES[name][0](t, x)
        if not family.above:
            left = -left
        right = family.b([t])
        held = lsip.forall(t, left >= right if family.above else left <= right)
        sense = lsip.maximize if model.maximise else lsip.minimize
        objective = sense(np.array(model.c) @ x + model.constant)
        return lsip.Problem(objective, [held, *(finite(r, x) for r in model.rows)]).solve(verbose=False, **options)

    return replace(model, written=written)


# ---- data that are no real numbers -----------------------------------------------------------------------------------


def foreign_data(rng: Rng) -> Model:
    """Complex numbers, masks, text: nothing that can be read as a row of a linear program."""
    given = [short(v) for v in rng.uniform(0.5, 3, 2)]
    kinds = {
        "complex": np.array(given) + 1j * np.array([short(rng.uniform(0.1, 2)), 0.0]),
        "masked": np.ma.masked_array(given, mask=[True, False]),
        "text": [str(v) for v in given],
        "bytes": np.array([str(v).encode() for v in given]),
        "object": np.array([given[0], None], dtype=object),
        "dates": np.array(["2020-01-01", "2021-01-01"], dtype="datetime64[D]"),
    }
    name = str(rng.choice(list(kinds)))
    data, place = kinds[name], str(rng.choice(["cost", "row", "family", "linsip", "linsip_row"]))

    def written(_: Model, options: dict[str, Any]) -> Any:
        x, t = lsip.Variable(2, name="x", lower=0, upper=10), lsip.Index("t", lsip.Interval(0, 1))
        above = lsip.forall(t, x[0] + x[1] * t >= np.sin(3 * t))
        if place == "cost":
            return lsip.Problem(lsip.minimize(data @ x), [above]).solve(verbose=False, **options)
        if place == "row":
            return lsip.Problem(lsip.minimize(x[0] + x[1]), [above, data @ x >= 1]).solve(verbose=False, **options)
        if place == "family":
            held = lsip.forall(t, (data * x).sum() >= t)
            return lsip.Problem(lsip.minimize(x[0] + x[1]), [held]).solve(verbose=False, **options)
        family = lsip.Family(lsip.Interval(0, 1), lambda y: -(y ** np.arange(2)), lambda y: -np.sin(3 * y[:, 0]))
        method = lsip.Exchange(**options)
        if place == "linsip":
            return lsip.linsip(data, [family], method=method)
        return lsip.linsip([1.0, 1.0], [family], [data], [5.0], method=method)

    return Model((1.0, 1.0), (0.0, 0.0), (10.0, 10.0), (), written=written, truth=Truth(meaningless=True))


# ---- CVXPY -----------------------------------------------------------------------------------------------------------


def cone(rng: Rng) -> Model:
    """A planted model with a norm in other units, through CVXPY: it holds the solution, too, or leaves it room."""
    over = interval if rng.random() < 0.7 else any_set
    kinds = ("free",) if rng.random() < 0.6 else ("free", "lower", "upper", "box", "at_lower")
    base = planted(rng, Plan(over, variables=(1, 4), families=(1, 1), rows=(0, 1), kinds=kinds, units=False))
    size, unit = int(rng.integers(1, base.n + 1)), power_of_ten(rng, -14, 4)
    x = base.point
    square = sum((v * v for v in x[:size]), Fraction(0))
    length = float(square) ** 0.5 or 1.0
    held = bool(square) and rng.random() < 0.6
    right = unit * length * (1.0 if held else short(rng.uniform(1.2, 4)))
    while Fraction(right) ** 2 < Fraction(unit) ** 2 * square:
        right = float(np.nextafter(right, inf))
    push = base.sign * short(rng.uniform(0.2, 2)) / length if held else 0.0
    c = tuple(v - push * float(u) if j < size else v for j, (v, u) in enumerate(zip(base.c, x, strict=True)))
    return known(replace(base, c=c, cone=Cone(size, unit, right), door="cvxpy", probe=()), x)


def cvxpy_installed() -> bool:
    """Whether the door can be tried."""
    return find_spec("cvxpy") is not None
