"""Finite rows that mislead: in small units, beside large variables, contradictory by little, dependent, rounded."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import inf, pi

from .balls import Point, at, precise, rounded
from .draw import SETS, Rng, dyadic, fit, function, interval, power_of_ten, short
from .duality import lower_bound
from .formulas import Formula, apply, coordinate, number, times
from .models import Atom, Family, Model, Row, Truth
from .natural import natural
from .planted import Plan, known, planted
from .sets import Box

UNIT = Box((0.0,), (1.0,), scalar=True)
T = coordinate(0)


def small_row(rng: Rng) -> Model:
    """A finite row in small units, which holds the optimum."""
    draw = rng.random()
    if draw < 0.4:
        return planted(rng, Plan(rows=(1, 2), held=0.9, row_units=(-20, -5)))
    if draw < 0.7:
        return natural(rng, row_units=(-20, -5))
    n, unit = int(rng.integers(2, 5)), power_of_ten(rng, -20, -3)
    top, limit = short(rng.uniform(1, 5)), short(rng.uniform(0.2, 6))
    powers = [number(1.0), *(T ** float(k) for k in range(1, n))]
    row = Row((unit,) * n, "<=", unit * limit)
    most = min(Fraction(top), Fraction(row.b) / Fraction(unit))
    model = Model(
        c=(1.0,) * n,
        lower=(0.0,) * n,
        upper=(10.0,) * n,
        families=(Family(UNIT, tuple(powers), number(top)),),
        rows=(row,),
        maximise=True,
        atoms=(Atom(0, None, 1 / unit) if most < top else Atom(0, (Fraction(1),), 1.0),),
    )
    return known(model, (Fraction(rounded(most, up=False)), *[Fraction(0)] * (n - 1)))


def large_variable(rng: Rng) -> Model:
    """Beside the others, a variable that is large and has nothing to do with them."""
    if rng.random() < 0.6:
        base = planted(rng, Plan(interval, variables=(3, 4), rows=(1, 2), held=0.8, units=False))
    else:
        base = natural(rng, interval, (0, 0))
    size = power_of_ten(rng, 6, 14)
    return replace(
        base,
        probe=(),
        point=(*base.point, Fraction(size)) if base.point else (),
        c=(*base.c, 0.0),
        lower=(*base.lower, float(rng.choice([0.0, -inf]))),
        upper=(*base.upper, float(rng.choice([size, 2 * size]))),
        families=tuple(replace(f, a=(*f.a, number(0.0))) for f in base.families),
        rows=(*(replace(r, a=(*r.a, 0.0)) for r in base.rows), Row((0.0,) * base.n + (1.0,), ">=", size)),
    )


def contradicting(model: Model) -> Model:
    """The model with the truth that it has no feasible point, if its atoms prove that."""
    gap = lower_bound(model, model.atoms, objective=False)
    return replace(model, truth=Truth(feasible=False if gap is not None and gap > 0 else None))


def contradiction(rng: Rng) -> Model:
    """A finite row that forbids what the highest point of a wave asks for, by little."""
    wave, height, unit = short(rng.uniform(2, 9)), short(rng.uniform(0.5, 3)), power_of_ten(rng, -12, 6)
    limit = unit * height * (1 - power_of_ten(rng, -12, -3))
    model = Model(
        c=(1.0, -1.0),
        lower=(0.0, 0.0),
        upper=(10.0, 10.0),
        families=(Family(UNIT, (number(1.0), T), apply("sin", T * wave) * height, above=True),),
        rows=(Row((unit, unit), "<=", limit),),
        atoms=(Atom(0, UNIT.exact([pi / (2 * wave)]), 1.0), Atom(0, None, 1 / unit)),
    )
    return contradicting(model)


def _powers(m: int, n: int) -> list[Formula]:
    """1, y[0], …, y[m-1], y[0]^2, …: exact at points with few bits."""
    return [number(1.0), *(_power(k % m, 1 + k // m) for k in range(n - 1))]


def _power(j: int, k: int) -> Formula:
    return coordinate(j) if k == 1 else coordinate(j) ** float(k)


def contradicted(rng: Rng) -> Model:
    """A family against a finite row at one of its points, or against another family; variables free or bounded."""
    n, bound = int(rng.integers(2, 4)), inf if rng.random() < 0.5 else 10.0
    over = interval(rng) if rng.random() < 0.6 else SETS["box"](rng)
    low, high = over.box
    middle = [dyadic(float(a + b) / 2, 8) for a, b in zip(low, high, strict=True)]
    point = over.exact(middle)
    a, b = tuple(_powers(over.dim, n)), fit(function(rng, over), -1.0, 1.0).formula
    by = power_of_ten(rng, -10, -1)
    above = Family(over, a, b, above=True)
    if rng.random() < 0.5:
        low_enough = b + times(by, apply("square", coordinate(0) - middle[0]) - 1.0)
        families, rows = [above, Family(over, a, low_enough)], []
        atoms = [Atom(0, point, 1.0), Atom(1, point, 1.0)]
    else:
        unit = 2.0 ** int(rng.integers(-60, 30))
        families, rows = [above], [Row(_numbers(a, point, unit), "<=", unit * (_numbers((b,), point)[0] - by))]
        atoms = [Atom(0, point, 1.0), Atom(0, None, 1 / unit)]
    model = Model(
        c=tuple(short(v) for v in rng.normal(size=n)),
        lower=(-bound,) * n,
        upper=(bound,) * n,
        families=tuple(families),
        rows=tuple(rows),
        atoms=tuple(atoms),
    )
    return contradicting(model)


def _numbers(formulas: tuple[Formula, ...], point: Point, unit: float = 1.0) -> tuple[float, ...]:
    with precise():
        return tuple(unit * float(at(f, point).mid()) for f in formulas)


# ---- equalities ------------------------------------------------------------------------------------------------------


def equalities(rng: Rng) -> Model:
    """Equalities among the rows, some of them repeated in other words: exactly, or with rounded numbers."""
    model = planted(rng, Plan(variables=(2, 4), rows=(0, 1), equalities=(1, 2)))
    equal = [r for r in model.rows if r.sense == "=="]
    draw = rng.random()
    if draw < 0.4:
        return model
    if draw < 0.7:  # a multiple by a power of two, or the sum: nothing is rounded
        factor = 2.0 ** int(rng.integers(-30, 30))
        again = _mixed(equal, [factor] * len(equal) if rng.random() < 0.5 else [factor])
        return replace(model, rows=(*model.rows, again))
    # A mixture whose coefficients are rounded: in doubles, it is neither quite dependent nor quite right.
    again = _mixed(equal, [short(v, 2) for v in rng.uniform(0.1, 3, len(equal))])
    return replace(model, rows=(*model.rows, again), truth=Truth(), point=())


def contrary(rng: Rng) -> Model:
    """Equalities that contradict each other by little."""
    model = planted(rng, Plan(variables=(2, 4), rows=(0, 0), equalities=(1, 2)))
    first = next(i for i, r in enumerate(model.rows) if r.sense == "==")
    row, factor = model.rows[first], 2.0 ** int(rng.integers(-30, 30))
    size = max(abs(row.b), max(map(abs, row.a)))
    off = row.b + float(rng.choice([-1.0, 1.0])) * size * power_of_ten(rng, -13, -3)
    again = Row(tuple(factor * v for v in row.a), "==", factor * off)
    turn = 1.0 if off < row.b else -1.0
    atoms = (Atom(first, None, -turn), Atom(len(model.rows), None, turn / factor))
    return contradicting(replace(model, rows=(*model.rows, again), atoms=atoms, point=()))


def _mixed(rows: list[Row], weights: list[float]) -> Row:
    n = len(rows[0].a)
    pairs = list(zip(weights, rows, strict=False))
    return Row(tuple(sum(w * r.a[j] for w, r in pairs) for j in range(n)), "==", sum(w * r.b for w, r in pairs))
