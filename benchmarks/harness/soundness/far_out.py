"""Functions that are no polynomials over half lines and lines: their largest value is near, far out, or at infinity."""

from __future__ import annotations

from fractions import Fraction

from .draw import Rng, dyadic, short
from .dual_classes import Ray
from .formulas import Formula, apply, coordinate, number, times
from .models import Atom, Family, Model

POINTS = (0.0, 0.5, 1.0, 3.0, 20.0, 1000.0)


def far_out(rng: Rng) -> Model:
    """The least z with z g(t) >= f(t) for all t of a half line or a line."""
    sign = int(rng.choice([1, 1, -1, 0]))
    over = Ray(dyadic(rng.normal(), 2) if sign else 0.0, sign, 1.0)
    y = coordinate(0)
    u = (y - over.end) * float(sign or 1) if over.end else y * float(sign or 1)  # from 0 on, or all numbers
    f, power = _function(rng, u, line=not sign)
    g = number(1.0)
    if power > 0 or rng.random() < 0.3:
        g = apply("absolute", u) + 1.0 if power <= 1 else apply("square", u) + 1.0
    f = times(float(rng.choice([1.0, -1.0, short(rng.uniform(0.1, 9))])), f)
    points = [over.end + k * (sign or 1) for k in POINTS]
    return Model(
        c=(1.0,),
        lower=(-1e6,),
        upper=(1e6,),
        families=(Family(over, (g,), f, above=True),),
        atoms=tuple(Atom(0, (Fraction(p),), 0.0) for p in points),
        tol=float(rng.choice([1e-8, 1e-4])),
    )


def _function(rng: Rng, u: Formula, line: bool) -> tuple[Formula, int]:
    """A function of u >= 0, or of all u, and a power of u that it does not exceed."""
    a, b = float(rng.choice([1.0, 0.5, 3.0, short(rng.uniform(0.1, 4))])), short(rng.uniform(0.2, 5))
    size, square = apply("absolute", u) if line else u, apply("square", u)
    decay = apply("exp", size * -a)
    choices = {
        "rational": lambda: ((u * b + a) / (square + 1.0), 0),
        "rational of a higher degree": lambda: ((square * u + b) / (square + a), 1),
        "decay": lambda: ((u * b - a) * decay, 0),
        "powers and decay": lambda: (square * u * decay + b * decay, 0),
        "two decays": lambda: (u * decay - b * apply("exp", size * (-2.0 * a)), 0),
        "Gaussian": lambda: (apply("exp", (square - u * b) * (-0.5)) * u, 0),
        "call": lambda: (apply("maximum", u - b, number(0.0)), 1),
        "root": lambda: (apply("sqrt", square + b), 1),
        "logarithm": lambda: (apply("log1p", size * a), 1),
        "logarithm of a square": lambda: (apply("log", square + b), 2),
        "limit": lambda: (apply(str(rng.choice(["tanh", "arctan", "erf", "expit", "erfc"])), u * a - b), 0),
        "damped wave": lambda: (apply(str(rng.choice(["sin", "cos"])), u * b) * decay, 0),
        "slow wave": lambda: (apply("sin", u * b) / (square + 1.0), 0),
        "wave": lambda: (apply(str(rng.choice(["sin", "cos"])), u * a), 1),
        "quotient": lambda: (decay / (decay + b), 0),
    }
    return choices[str(rng.choice(list(choices)))]()
