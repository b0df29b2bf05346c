"""Quotients and products that are defined where their parts are not: a common zero at an end of a set, or inside."""

from __future__ import annotations

from dataclasses import replace
from math import inf

from .draw import Rng, dyadic, power_of_ten, short
from .formulas import Formula, apply, coordinate, number, times
from .models import Atom, Family, Model, Truth
from .sets import Box

AT_ZERO = ("sin", "tan", "arcsin", "arctan", "sinh", "tanh", "arcsinh", "arctanh", "expm1", "log1p", "erf")


def removable(rng: Rng) -> Model:
    """A bound on such a function over an interval or a square; large and small units, and tiny sets around the zero."""
    plane = rng.random() < 0.25
    zero, width = dyadic(rng.normal(), 3), float(rng.choice([1.0, 0.5, 2.0**-8, 2.0**-20]))
    below = float(rng.choice([0.0, 0.0, 0.5, 0.25]))  # where in the set the zero is
    low = zero - below * width
    over = Box((low, low) if plane else (low,), (low + width,) * (2 if plane else 1), scalar=not plane)
    w = coordinate(0) - zero if zero else coordinate(0) + 0.0
    if plane:  # it vanishes on a line across the square
        w = (w + (coordinate(1) - (low + width) if low + width else coordinate(1) + 0.0)) * 0.5
    f = _function(rng, w, one_sided=not plane and below == 0)
    if rng.random() < 0.4:
        other = _function(rng, w, one_sided=not plane and below == 0)
        f = apply(str(rng.choice(["maximum", "add", "subtract", "multiply"])), f, other)
    f = times(float(rng.choice([1.0, -1.0, short(power_of_ten(rng, -6, 6))])), f)
    bound = inf if rng.random() < 0.5 else 1e9
    points = dict.fromkeys(over.exact([low + width * k for _ in over.box[0]]) for k in (*rng.random(4), 1.0))
    model = Model(
        c=(1.0,),
        lower=(-bound,),
        upper=(bound,),
        families=(Family(over, (number(1.0),), f, above=True),),
        atoms=tuple(Atom(0, p, 0.0) for p in points if p[0] != zero and not plane),
        probe=(short(rng.normal()),),
        tol=float(rng.choice([1e-8, 1e-4])),
    )
    return replace(model, truth=Truth(feasible=True if bound == inf else None))


def _function(rng: Rng, w: Formula, one_sided: bool) -> Formula:
    """Of w in [-1, 1], which vanishes somewhere."""
    k = float(rng.choice([1.0, 1.0, 0.5, -0.5, short(rng.uniform(-0.9, 0.9))])) or 1.0
    u, square = w * k, apply("square", w)
    choices = {
        "first": lambda: apply(str(rng.choice(AT_ZERO)), u) / w,
        "upside down": lambda: w / apply(str(rng.choice(AT_ZERO)), u),
        "two": lambda: apply(str(rng.choice(AT_ZERO)), u) / apply(str(rng.choice(AT_ZERO)), w * 0.5),
        "cosine": lambda: (1.0 - apply(str(rng.choice(["cos", "cosh"])), u)) / square,
        "exponential": lambda: (apply("exp", u) - 1.0 - u) / square,
        "shifted": lambda: apply(str(rng.choice(["log", "log2", "log10"])), 1.0 + w * 0.5) / w,
        "root": lambda: (apply("sqrt", 1.0 + w * 0.5) - 1.0) / w,
        "power": lambda: ((1.0 + w * 0.5) ** float(rng.choice([1.5, 0.3, -2.0, 3.0])) - 1.0) / w,
        "square": lambda: apply("sin", square) / square,
        "cubic": lambda: (w - apply(str(rng.choice(["sin", "tanh", "arctan"])), w)) / (square * w),
    }
    if one_sided:
        choices["entropy"] = lambda: w * apply(str(rng.choice(["log", "log2"])), w)
        choices["flatter entropy"] = lambda: square * apply("log", w * 0.5)
    return choices[str(rng.choice(list(choices)))]()
