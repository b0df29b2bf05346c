"""Optima that are far away, models that are almost unbounded, or infeasible but for points far away, or truly so."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import inf

from .balls import rounded
from .draw import Rng, affine, any_set, elementary, fit, function, power_of_ten, short
from .formulas import number
from .hard_rows import UNIT, T
from .models import Atom, Family, Model, Row
from .planted import Plan, known, planted


def slow_ray(rng: Rng) -> Model:
    """Along (1, 1) the objective grows and a constraint rises by 1e-17 a unit: the maximum exists, far away."""
    slope, power = power_of_ten(rng, -18, -3), int(rng.integers(1, 4))
    along = T if power == 1 else T ** float(power)
    extra = int(rng.integers(0, 2))  # a variable that has nothing to do with it
    far = rounded(1 / Fraction(slope), up=False)
    model = Model(
        c=(1.0, 0.0, *(0.0,) * extra),
        lower=(-inf,) * (2 + extra),
        upper=(inf,) * (2 + extra),
        families=(Family(UNIT, (number(1.0), along * slope - 1.0, *(T,) * extra), number(1.0)),),
        rows=(Row((-1.0, 1.0, *(0.0,) * extra), "<=", 0.0),),
        maximise=True,
        atoms=(Atom(0, (Fraction(1),), 1 / slope), Atom(0, None, 1 / slope)),
    )
    if extra:  # keep it out of the balance
        model = replace(model, families=(replace(model.families[0], a=(*model.families[0].a[:2], number(0.0))),))
        model = replace(model, rows=(*model.rows, Row((0.0, 0.0, 1.0), "<=", 1.0)))
    return known(model, (Fraction(far), Fraction(far), *[Fraction(0)] * extra))


def far_optimum(rng: Rng) -> Model:
    """A slope that is almost nothing, over a distance that is large."""
    slope, reach = 1.0 + power_of_ten(rng, -14, -3), float(round(power_of_ten(rng, 2, 13)))
    wave = T * (1.0 - T)
    best = Fraction(5, 4) - (Fraction(slope) - 1) * Fraction(reach)
    model = Model(
        c=(1.0, 0.0, 0.0),
        lower=(-inf,) * 3,
        upper=(inf,) * 3,
        families=(Family(UNIT, (number(1.0), number(slope), number(-1.0)), 1.0 + wave, above=True),),
        rows=(Row((0.0, 1.0, 1.0), "<=", 2 * reach), Row((0.0, 1.0, -1.0), "==", 0.0)),
        tol=float(rng.choice([1e-3, 1e-6, 1e-8])),
        atoms=(Atom(0, (Fraction(1, 2),), 1.0), Atom(0, None, (slope - 1) / 2 or 1e-17), Atom(1, None, 1.0)),
    )
    return known(model, (Fraction(rounded(best, up=True)), Fraction(reach), Fraction(reach)))


def far_feasible(rng: Rng) -> Model:
    """Feasible points exist, but only far away."""
    slope = power_of_ten(rng, -16, -3)
    far = Fraction(rounded(1 / Fraction(slope), up=True))
    model = Model(
        c=(1.0, 0.0),
        lower=(-inf,) * 2,
        upper=(inf,) * 2,
        families=(Family(UNIT, (1.0 + T * slope, number(-1.0)), T, above=True),),
        rows=(Row((1.0, -1.0), "<=", 0.0),),
        atoms=(Atom(0, (Fraction(1),), 1 / slope), Atom(0, None, 1 / slope)),
    )
    return known(model, (far, far))


def unbounded(rng: Rng) -> Model:
    """A planted model with two more variables, along whose sum no constraint rises and the objective improves."""
    base = planted(rng, Plan(any_set, variables=(1, 3), rows=(0, 1)))
    families = []
    for family in base.families:
        u = function(rng, family.over).formula
        rises = rng.random() < 0.5
        other = -u if not rises else fit(elementary(rng, affine(rng, family.over)), 0.1, 1.0).formula - u
        pair = (u, other) if family.above else (-u, -other)
        families.append(replace(family, a=(*family.a, *pair)))
    gain = short(rng.uniform(0.1, 2))
    model = replace(
        base,
        probe=(),
        point=(*base.point, Fraction(0), Fraction(0)),
        c=(*base.c, base.sign * -gain, 0.0),
        lower=(*base.lower, *rng.choice([-inf, 0.0], 2).tolist()),
        upper=(*base.upper, inf, inf),
        families=tuple(families),
        rows=tuple(replace(r, a=(*r.a, 0.0, 0.0)) for r in base.rows),
        atoms=(),
        truth=replace(base.truth, unbounded=True, least=None, most=None),
    )
    return model
