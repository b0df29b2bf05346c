"""Functions and index sets that mislead: large arguments, infinite conditions, curved edges, sets of no width."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cache
from math import inf
from typing import Any

import numpy as np
from flint import arb

import lsip

from .balls import Point, above, at, fraction, precise, rounded
from .draw import Rng, ball_set, dyadic, flat, function, power_of_ten, short, simplex
from .formulas import Formula, apply, coordinate, number, times, total
from .hard_rows import T
from .models import Atom, Family, Model, Truth
from .planted import Plan, known, planted, slack
from .sets import Ball, Box, Finite, IndexSet, Polytope

MANY = 3000  # points of a finite set


def infinite_condition(rng: Rng) -> Model:
    """A choice by the logarithm of something that is zero at one index point, where it is -inf, and no number."""
    at = dyadic(rng.normal(), 3)
    name = str(rng.choice(["log", "log2", "log10"]))
    depth, pole, elsewhere = -short(rng.uniform(20, 500)), -short(rng.uniform(1, 9)), short(rng.uniform(-0.9, 5))
    u = apply(name, T - at if at else T)
    if rng.random() < 0.5:
        chosen = apply(str(rng.choice(["where_less", "where_at_most"])), u, depth, pole, elsewhere)
    else:
        chosen = apply(str(rng.choice(["where_less", "where_at_most"])), depth, u, elsewhere, pole)
    if rng.random() < 0.5:
        points = [at, *np.linspace(at + 1, at + 2, int(rng.choice([3, 50, MANY]))).tolist()]
        over: IndexSet = Finite(tuple((p,) for p in points))
    else:
        over = Box((at,), (at + short(rng.uniform(0.5, 3)),), scalar=True)
    bound = inf if rng.random() < 0.5 else 100.0
    model = Model(
        c=(1.0,),
        lower=(-bound,),
        upper=(bound,),
        families=(Family(over, (number(1.0),), chosen),),
        maximise=True,
        atoms=(Atom(0, (Fraction(at),), 1.0),),
        probe=(0.0,),
    )
    return known(model, (Fraction(pole),))


def _argument(turns: float) -> float:
    """The double nearest to so many quarter turns."""
    with precise():
        return float((arb.pi() / 2 * int(turns)).mid())


@cache
def _hard_arguments() -> tuple[float, ...]:
    """The doubles that are closest to multiples of a quarter turn: p 2^e, with p / q a convergent of pi / 2^(e + 1)."""
    found = set()
    for exponent in range(-40, 6):
        with precise():
            rest = fraction((arb.pi() / 2).mid()) / Fraction(2) ** exponent
        p, before = 1, 0
        while p < 2**53:
            whole = rest.numerator // rest.denominator
            p, before = whole * p + before, p
            if 2**40 < p < 2**53 and 1e2 < p * 2.0**exponent < 1e16:
                found.add(p * 2.0**exponent)
            rest = 1 / (rest - whole)
    return tuple(sorted(found))


def large_argument(rng: Rng) -> Model:
    """Sines and tangents at arguments near large multiples of a quarter turn, where libraries lose digits."""
    at = float(rng.choice(_hard_arguments())) if rng.random() < 0.5 else _argument(10 ** rng.uniform(1, 14.5))
    name = str(rng.choice(["sin", "cos", "tan"]))
    factor = float(2.0 ** int(rng.integers(0, 60)))
    width = 0.0 if rng.random() < 0.6 else float(np.spacing(at)) * float(rng.integers(1, 1000))
    over = Box((at,), (at + width,), scalar=True)
    u = apply(name, T)
    bound = inf if rng.random() < 0.5 else 1e18
    points = [over.exact([at]), over.exact([at + width])]
    with precise():
        values = [factor * getattr(arb(float(p[0])), name)() for p in points]
        low = [rounded(fraction(v.lower()), up=False) for v in values]
    model = Model(
        c=(1.0,),
        lower=(-bound,),
        upper=(bound,),
        families=(Family(over, (number(1.0),), times(factor, u)),),
        maximise=True,
        atoms=(Atom(0, points[low.index(min(low))], 1.0),),
        probe=(0.0,),
    )
    if not width:
        return known(model, (Fraction(low[0]),) if abs(low[0]) <= bound else None)
    return known(model, (Fraction(-factor),) if name != "tan" and factor <= bound else None)


def outside_atoms(rng: Rng) -> Model:
    """A steep term that vanishes on the edge of the index set: a point next to the edge says something else."""
    draw = rng.random()
    if draw < 0.6:
        most = int(rng.choice([1, 1, 3]))
        plan = Plan(ball_set, (1, most), (1, 1), units=False, point=_on_sphere, slack=_steep_slack)
        return planted(rng, replace(plan, columns=_ones) if most == 1 else plan)
    steep = short(10 ** rng.uniform(3, 15)) * float(rng.choice([-1.0, 1.0]))
    model = planted(rng, Plan(simplex if draw < 0.8 else flat, units=False))
    families = tuple(replace(f, b=f.b + _vanishing(f.over) * steep) for f in model.families)
    return replace(model, families=families)


def _ones(rng: Rng, over: IndexSet, n: int) -> list[Formula]:
    return [number(1.0)] * n


def _on_sphere(rng: Rng, over: IndexSet) -> tuple[float, ...]:
    assert isinstance(over, Ball)
    away = rng.standard_normal(over.dim)
    return tuple((np.array(over.centre) + over.radius * away / np.linalg.norm(away)).tolist())


def _steep_slack(rng: Rng, over: IndexSet, points: list[Point]) -> Formula:
    """Zero at the points, never negative, and very steep away from the sphere."""
    assert isinstance(over, Ball)
    offset = total([apply("square", coordinate(j) - c) for j, c in enumerate(over.centre)])
    edge = (over.radius**2 - offset) * short(10 ** rng.uniform(3, 15))
    return slack(rng, over, points) + edge if points else edge + short(rng.uniform(0.1, 2))


def _vanishing(over: IndexSet) -> Formula:
    """Zero on the set, which is flat, and nowhere else."""
    if isinstance(over, Polytope):
        row, side = over.A[-2], over.b[-2]
        return total([coordinate(j) * v for j, v in enumerate(row) if v]) - side
    return total([coordinate(j) for j in range(over.dim)]) - 1.0


def thin_set(rng: Rng) -> Model:
    """A polytope that has no width, or less than none: an index set without points constrains nothing."""
    gap = power_of_ten(rng, -14, -1)
    at, empty = dyadic(rng.normal(), 4), rng.random() < 0.6
    A, b = ((1.0,), (-1.0,)), (at, -(at + gap)) if empty else (at + gap, -at)
    if not Fraction(b[0]) + Fraction(b[1]):
        b = (b[0], -b[0])
    set_is_empty = Fraction(b[0]) + Fraction(b[1]) < 0
    polytope = Polytope(A, b)
    shift = at + 1.0
    model = Model(c=(1.0,), lower=(0.0,), upper=(1.0,), families=(), maximise=True)
    if not set_is_empty:
        family = Family(polytope, (number(1.0),), T - shift + 1.5)
        lowest = Fraction(-b[1])
        model = replace(model, families=(family,), atoms=(Atom(0, (lowest,), 1.0),))
        return known(model, (Fraction(1, 2),))

    def written(_: Model, options: dict[str, Any]) -> Any:
        x, y = lsip.Variable(1, name="x", lower=0, upper=1), lsip.Index("y", lsip.Polytope(A, b))
        asked = lsip.forall(y, x[0] <= y[0] - shift)
        return lsip.Problem(lsip.maximize(x[0]), [asked]).solve(verbose=False, **options)

    return replace(model, written=written, truth=Truth(feasible=True, least=Fraction(1), most=Fraction(1)))


# ---- the edges of where functions are defined ------------------------------------------------------------------------


def points(rng: Rng) -> Model:
    """The least number above a function at a few points, where its last digit counts."""
    m, count = int(rng.integers(1, 3)), int(rng.integers(1, 6))
    given = {tuple(float(v) if rng.random() < 0.8 else short(v) for v in rng.random(m)) for _ in range(count)}
    over = Finite(tuple(sorted(given)))
    square = Box((0.0,) * m, (1.0,) * m)
    f = _edge(rng, coordinate(0)) if rng.random() < 0.5 else function(rng, square, int(rng.integers(1, 5))).formula
    f = times(float(rng.choice([1.0, -1.0, short(power_of_ten(rng, -6, 6))])), f)
    bound = inf if rng.random() < 0.5 else 1e9
    exact = [over.exact(y) for y in over.points]
    with precise():
        values = [(above(at(f, y)), y) for y in exact]
    top = max((v for v, _ in values if v is not None), default=None)
    model = Model(
        c=(1.0,),
        lower=(-bound,),
        upper=(bound,),
        families=(Family(over, (number(1.0),), f, above=True),),
        atoms=tuple(Atom(0, y, 1.0) for v, y in values if v == top)[:1],
        probe=(short(rng.normal()),),
    )
    defined = top is not None and len(values) == sum(v is not None for v, _ in values) and abs(top) < bound
    return known(model, (Fraction(rounded(top, up=True)),)) if defined and top is not None else model


def edges(rng: Rng) -> Model:
    """The least number above a function at an edge: of its domain, of a branch, of the range of doubles."""
    low, width = dyadic(rng.normal(), 3), float(rng.choice([1.0, 0.5, 2.0, 2.0**-20]))
    over = Box((low,), (low + width,), scalar=True)
    u = (T - low if low else T) / width if width != 1 else (T - low if low else T + 0.0)  # between 0 and 1
    f = _edge(rng, u)
    if rng.random() < 0.4:
        f = apply(str(rng.choice(["maximum", "minimum", "add", "subtract", "multiply"])), f, _edge(rng, u))
    f = times(float(rng.choice([1.0, 1.0, -1.0, short(power_of_ten(rng, -12, 12))])), f)
    bound = inf if rng.random() < 0.5 else 1e9
    points = dict.fromkeys(over.exact([low + width * k]) for k in (0.0, 0.5, 1.0, *rng.random(3)))
    model = Model(
        c=(1.0,),
        lower=(-bound,),
        upper=(bound,),
        families=(Family(over, (number(1.0),), f, above=True),),
        atoms=tuple(Atom(0, p, 0.0) for p in points),
        probe=(short(rng.normal()),),
        tol=float(rng.choice([1e-8, 1e-4])),
    )
    return replace(model, truth=Truth(feasible=True if bound == inf else None))


def _edge(rng: Rng, u: Formula) -> Formula:
    """A function of u in [0, 1] that is defined, perhaps only just."""
    around = 2.0 * u - 1.0  # between -1 and 1
    power = float(rng.choice([0.1, 0.3, 0.5, 1.5, 2.7, 3.0, 7.0]))
    tiny, large = power_of_ten(rng, -15, -2), power_of_ten(rng, 1, 8)
    split = float(rng.choice([0.0, 0.5, 1.0, short(rng.random())]))
    choices = {
        "root": lambda: apply("sqrt", u),
        "power": lambda: u**power,
        "negative power": lambda: (u + tiny) ** -float(rng.integers(1, 4)),
        "arcsin": lambda: apply(str(rng.choice(["arcsin", "arccos"])), around),
        "arccosh": lambda: apply("arccosh", 1.0 + u * large),
        "arctanh": lambda: apply("arctanh", around * (1.0 - tiny)),
        "log": lambda: apply(str(rng.choice(["log", "log2", "log10"])), u + tiny),
        "log1p": lambda: apply("log1p", u - (1.0 - tiny)),
        "entropy": lambda: (u + tiny) * apply("log", u + tiny),
        "exp": lambda: apply(
            str(rng.choice(["exp", "expm1", "exp2", "sinh", "cosh"])), around * float(rng.choice([700, 30]))
        ),
        "wave": lambda: apply(str(rng.choice(["sin", "cos"])), u * large),
        "tan": lambda: apply("tan", around * (1.5707963 - tiny)),
        "sinc": lambda: apply("sinc", around * float(rng.choice([tiny, 1.0, 20.0]))),
        "bell": lambda: apply("exp", apply("square", around * large) * -1.0),
        "step": lambda: apply(
            str(rng.choice(["tanh", "arctan", "erf", "erfc", "expit"])), around * float(rng.choice([6, 40, large]))
        ),
        "degrees": lambda: apply("cos", apply("deg2rad", u * large)),
        "angle": lambda: apply("arctan2", around, float(rng.choice([-1.0, 1.0])) * u - float(rng.choice([0.0, 0.25]))),
        "norm": lambda: apply("hypot", around, u * tiny),
        "kink": lambda: apply("absolute", apply("absolute", around) - 0.5),
        "branch": lambda: apply(str(rng.choice(["where_less", "where_at_most"])), u, split, apply("sqrt", u), 1.0 - u),
        "nested": lambda: apply("where_less", apply("sqrt", u), 0.5, apply("where_at_most", u, split, u, 2.0), -1.0),
        "arcsinh": lambda: apply("arcsinh", around * large),
        "reciprocal": lambda: apply("reciprocal", u + tiny),
        "exponent": lambda: (u + tiny) ** (u * 3.0),
        "base": lambda: short(rng.uniform(0.1, 5)) ** (around * 20.0),
    }
    return choices[str(rng.choice(list(choices)))]()


def touching(rng: Rng) -> Model:
    """Polynomials that vanish at an end of their index set, inside or on a diagonal of it, whatever x is."""
    model = planted(rng, Plan(_dyadic_box, columns=_vanishing_columns, slack=_vanishing_slack, units=False))
    return replace(model, door="declared")


def _dyadic_box(rng: Rng) -> Box:
    m = 1 if rng.random() < 0.7 else 2
    low, width = dyadic(rng.normal(), 2), float(rng.choice([0.5, 1.0, 2.0]))
    return Box((low,) * m, (low + width,) * m, scalar=m == 1)


def _contact(over: IndexSet) -> Formula:
    """Nonnegative on a box, and zero somewhere: which of some functions, its lower end says."""
    low, high = (float(end[0]) for end in over.box)
    kind, y = int(4 * low) % 4, coordinate(0)
    if kind == 0:
        return y - low
    if kind == 1:
        return high - y
    other = coordinate(1) if over.dim == 2 and kind == 2 else number(0.5 * (low + high))
    return (y - other) * (y - other)


def _vanishing_columns(rng: Rng, over: IndexSet, n: int) -> list[Formula]:
    """Powers of the last coordinate, times what vanishes."""
    factor, y, found = _contact(over), coordinate(over.dim - 1), [number(1.0)]
    for _ in range(n - 1):
        found.append(found[-1] * y + dyadic(rng.normal(), 2))
    return [factor * f for f in found]


def _vanishing_slack(rng: Rng, over: IndexSet, points: list[Point]) -> Formula:
    room = _contact(over)
    for p in points:
        room = room * total([(coordinate(j) - float(v)) * (coordinate(j) - float(v)) for j, v in enumerate(p)])
    return times(dyadic(abs(rng.normal()) + 0.5, 2), room)
