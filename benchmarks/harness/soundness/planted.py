"""Random models whose optimum is known: the solution, the index points that hold it and their multipliers come first.

Columns a_j(y) are drawn, then a point x, and b(y) = a(y) x + slack(y) with a slack that is never negative and vanishes
at chosen index points. So x is feasible exactly; constants are rounded away from it. The objective is a combination of
the rows at those points, rounded to doubles: weak duality, in balls and after the fact, says how far x is from optimal.
All of it is in units that are drawn, too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from math import inf

import numpy as np

from .balls import Point, at, fraction, precise, rounded
from .draw import Rng, any_set, dyadic, fit, function, member, short
from .duality import lower_bound
from .formulas import Formula, apply, coordinate, number, times, total
from .models import Atom, Family, Model, Row, Truth
from .sets import Ball, Box, IndexSet

PROBED = 0.25  # of the models without units: a bound of their violation is asked for elsewhere, too


@dataclass(frozen=True)
class Units:
    """What variables, families, rows and the objective are multiplied by."""

    variables: tuple[float, ...]
    family: float = 1.0
    row: float = 1.0
    objective: float = 1.0


def draw_units(rng: Rng, n: int, *, exact: bool = False, row: tuple[float, float] | None = None) -> Units:
    """Powers of ten, or of two if all must stay `exact`; none at all for every other model."""

    def power(low: float, high: float) -> float:
        k = rng.integers(int(low), int(high) + 1)
        return float(2.0 ** round(k * 3.32) if exact else float(f"1e{int(k)}"))

    plain = Units((1.0,) * n, row=power(*row) if row else 1.0)
    if rng.random() < 0.5:
        return plain
    kinds = rng.random(4) < 0.45
    variables = tuple(power(-8, 8) if kinds[0] else 1.0 for _ in range(n))
    if kinds[0] and rng.random() < 0.5:
        variables = (variables[0],) * n
    return Units(
        variables,
        power(-20, 12) if kinds[1] else 1.0,
        power(*(row or (-20, 12))) if kinds[2] or row else 1.0,
        power(-12, 12) if kinds[3] else 1.0,
    )


# ---- pieces ----------------------------------------------------------------------------------------------------------


def slack(rng: Rng, over: IndexSet, points: list[Point]) -> Formula:
    """A function that is never negative on the index set, and zero at the points (to within their last digits)."""
    if not points:
        return number(short(rng.uniform(0.1, 2)))
    low, high = over.box
    if isinstance(over, Box) and len(points) == 1 and rng.random() < 0.5:
        ends = [_from_end(coordinate(j), float(points[0][j]), float(low[j]), float(high[j])) for j in range(over.dim)]
        if all(e is not None for e in ends):
            return times(short(10 ** rng.uniform(-1, 1)), total([e for e in ends if e is not None]))
    squares = [_square_distance(p, high - low) for p in points]
    joined = squares[0]
    for s in squares[1:]:
        joined = joined * s if len(points) <= 2 and rng.random() < 0.7 else apply("minimum", joined, s)
    shape = str(rng.choice(["plain", "plain", "expm1", "log1p", "saturated", "kink", "sine"]))
    if shape in ("expm1", "log1p"):
        joined = apply(shape, joined)
    elif shape == "saturated":
        joined = joined / (1.0 + joined)
    elif shape == "kink":
        joined = apply("sqrt", joined)
    elif shape == "sine" and over.dim == 1 and len(points) == 1 and high[0] > low[0]:
        joined = 1.0 - apply("cos", (coordinate(0) - float(points[0][0])) * short(3 / (high[0] - low[0])))
    joined = times(short(10 ** rng.uniform(-1.5, 1.5)), joined)
    if isinstance(over, Ball) and rng.random() < 0.5 and all(_on_sphere(over, p) for p in points):
        offset = total([apply("square", coordinate(j) - c) for j, c in enumerate(over.centre)])
        joined = joined + (over.radius**2 - offset) * short(10 ** rng.uniform(-1, 14))
    return joined


def _on_sphere(over: Ball, p: Point) -> bool:
    return sum((v - Fraction(c)) ** 2 for v, c in zip(p, over.centre, strict=True)) == Fraction(over.radius) ** 2


def _from_end(y: Formula, p: float, low: float, high: float) -> Formula | None:
    if p == low:
        return y - low
    return high - y if p == high else None


def _square_distance(p: Point, widths: np.ndarray) -> Formula:
    terms = []
    for j, (v, w) in enumerate(zip(p, widths, strict=True)):
        u = coordinate(j) - float(v)
        terms.append(apply("square", times(short(1 / w), u) if w > 0 else u))
    return total(terms)


def columns(rng: Rng, over: IndexSet, n: int) -> list[Formula]:
    """Coefficients of the variables; the first is positive everywhere, so that there are interior points."""
    first = number(1.0) if rng.random() < 0.7 else fit(function(rng, over), 0.5, 2.0).formula
    rest = [function(rng, over).formula for _ in range(n - 1)]
    if n == 1 and not first.varies:
        first = fit(function(rng, over), 0.5, 2.0).formula
    return [first, *rest]


@dataclass(frozen=True)
class Side:
    """The bounds of a variable, and whether its value is one of them."""

    lower: float
    upper: float
    active: int = 0  # -1 at the lower bound, 1 at the upper


def side(rng: Rng, value: float, kind: str) -> Side:
    """Bounds of a kind around a value."""
    size = abs(value) or 1.0
    room = [float(rng.uniform(0.5, 20)) * size for _ in range(2)]
    if kind == "free":
        return Side(-inf, inf)
    if kind == "lower":
        return Side(value - room[0], inf)
    if kind == "upper":
        return Side(-inf, value + room[1])
    if kind == "huge":
        return Side(value - 1e12 * size, value + 1e12 * size)
    if kind == "at_lower":
        return Side(value, value + room[1] if rng.random() < 0.6 else inf, -1)
    if kind == "at_upper":
        return Side(value - room[0] if rng.random() < 0.6 else -inf, value, 1)
    return Side(value - room[0], value + room[1])


# ---- the model -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Plan:
    """What a planted model is to have."""

    over: Callable[[Rng], IndexSet] = any_set
    variables: tuple[int, int] = (1, 4)  # least and most
    families: tuple[int, int] = (1, 2)
    rows: tuple[int, int] = (0, 2)  # inequalities
    held: float = 0.5  # how many of them are active
    equalities: tuple[int, int] = (0, 0)
    row_units: tuple[float, float] | None = None  # powers of ten; None for any or none
    kinds: tuple[str, ...] = (*("free", "lower", "upper", "box", "at_lower", "at_upper") * 2, "huge")
    columns: Callable[[Rng, IndexSet, int], list[Formula]] = columns
    point: Callable[[Rng, IndexSet], tuple[float, ...]] = member  # where a family may hold the solution
    slack: Callable[[Rng, IndexSet, list[Point]], Formula] = slack
    units: bool = True  # whether any are drawn


def planted(rng: Rng, plan: Plan) -> Model:
    """A model of which x is optimal, or nearly so, and known to be."""
    n = int(rng.integers(plan.variables[0], plan.variables[1] + 1))
    count = int(rng.integers(plan.families[0], plan.families[1] + 1)) if rng.random() < 0.4 else plan.families[0]
    equal = int(rng.integers(plan.equalities[0], plan.equalities[1] + 1))
    exact = equal > 0
    units = draw_units(rng, n, exact=exact, row=plan.row_units) if plan.units else Units((1.0,) * n)
    x = [dyadic(v, 3) / d for v, d in zip(rng.normal(size=n) * 2, units.variables, strict=True)]
    kinds = [str(rng.choice(plan.kinds)) for _ in range(n)]
    if kinds[0] in ("upper", "at_lower", "at_upper"):
        kinds[0] = "box"  # the way into the interior stays open
    sides = [side(rng, v, kind) for v, kind in zip(x, kinds, strict=True)]
    open_ = sum(s.active == 0 for s in sides)
    atoms_wanted = max(1, open_ - equal) if rng.random() < 0.75 else int(rng.integers(1, open_ + 2))

    overs = [plan.over(rng) for _ in range(count)]
    points: list[list[Point]] = [[] for _ in overs]
    for k in range(atoms_wanted):
        f = k % count
        points[f].append(overs[f].exact(plan.point(rng, overs[f])))
    points = [list(dict.fromkeys(p)) for p in points]
    families = [_family(rng, o, p, x, units, plan) for o, p in zip(overs, points, strict=True)]
    atoms = [
        Atom(f, p, short(rng.uniform(0.2, 3)) * units.objective / units.family)
        for f, ps in enumerate(points)
        for p in ps
    ]
    rows = [_row(rng, x, units, rng.random() < plan.held) for _ in range(int(rng.integers(*_closed(plan.rows))))]
    atoms += [
        Atom(i, None, short(rng.uniform(0.2, 3)) * units.objective / units.row)
        for i, (_, held) in enumerate(rows)
        if held
    ]
    finite = [row for row, _ in rows]
    for _ in range(equal):
        atoms.append(Atom(len(finite), None, short(rng.normal()) * units.objective / units.row))
        finite.append(_equality(rng, x, units))
    c = [
        cost(families, finite, atoms, j) - s.active * short(rng.uniform(0.1, 2)) * units.objective * units.variables[j]
        for j, s in enumerate(sides)
    ]
    model = Model(
        c=tuple(c),
        lower=tuple(s.lower for s in sides),
        upper=tuple(s.upper for s in sides),
        families=tuple(families),
        rows=tuple(finite),
        constant=float(rng.choice([0.0, 0.0, short(rng.normal() * units.objective)])),
        atoms=tuple(atoms),
        tol=float(rng.choice([1e-8, 1e-8, 1e-8, 1e-6, 1e-4])),
        door="functions" if rng.random() < 0.15 else "declared",
    )
    if model.door == "functions":
        model = replace(model, constant=0.0)
    model = turned(model) if rng.random() < 0.5 else model
    if units == Units((1.0,) * n) and rng.random() < PROBED:
        model = replace(model, probe=tuple(v + short(rng.normal()) for v in x))
    return known(model, tuple(map(Fraction, x)))


def turned(model: Model) -> Model:
    """The same as a maximum."""
    return replace(model, c=tuple(-v for v in model.c), constant=-model.constant, maximise=True)


def _closed(span: tuple[int, int]) -> tuple[int, int]:
    return span[0], span[1] + 1


def known(model: Model, x: Point | None = None) -> Model:
    """The model with what is proven about it: an exactly feasible `x`, and the bound that its atoms give."""
    least = lower_bound(model, model.atoms)
    most = None
    if x is not None:
        check(model, x)
        most = model.sign * model.objective(x)
    if model.maximise:
        least, most = (None if most is None else -most), (None if least is None else -least)
    return replace(model, truth=Truth(feasible=None if x is None else True, least=least, most=most), point=x or ())


def check(model: Model, x: Point) -> None:
    """Refuse to call a point feasible that breaks a bound or a finite row; families hold by construction."""
    inside = all(
        (low == -inf or Fraction(low) <= v) and (high == inf or v <= Fraction(high))
        for low, v, high in zip(model.lower, x, model.upper, strict=True)
    )
    sums = [(sum(Fraction(a) * v for a, v in zip(r.a, x, strict=True)), Fraction(r.b), r.sense) for r in model.rows]
    if model.cone is not None:
        square = sum(v * v for v in x[: model.cone.size])
        inside = inside and Fraction(model.cone.scale) ** 2 * square <= Fraction(model.cone.right) ** 2
    kept = all(left == b if s == "==" else (left <= b if s == "<=" else left >= b) for left, b, s in sums)
    if not (inside and kept):
        raise AssertionError(f"the planted point is not feasible: {model}")


def _family(rng: Rng, over: IndexSet, points: list[Point], x: list[float], units: Units, plan: Plan) -> Family:
    """a(y) x >= b(y) with equality at the points, or the same with both sides turned."""
    a = [times(units.family * d, f) for d, f in zip(units.variables, plan.columns(rng, over, len(x)), strict=True)]
    room = times(units.family, plan.slack(rng, over, points))
    terms = [times(v, f) for v, f in zip(x, a, strict=True) if f.varies and v != 0]
    constant = sum((Fraction(v) * Fraction(f.number) for v, f in zip(x, a, strict=True) if not f.varies), Fraction(0))
    if room.varies:
        terms.append(-room)
    else:
        constant -= Fraction(room.number)
    level = rounded(constant, up=False)
    b = total([*terms, number(level)] if level or not terms else terms)
    if rng.random() < 0.5:
        return Family(over, tuple(-f for f in a), -b)
    return Family(over, tuple(a), b, above=True)


def _row(rng: Rng, x: list[float], units: Units, held: bool) -> tuple[Row, bool]:
    """A finite inequality through x, or with room; the way into the interior, up in x[0], stays open."""
    a = [short(v, 2) for v in rng.normal(size=len(x))]
    a[0] = -abs(a[0]) if rng.random() < 0.5 else 0.0
    if not any(a):
        a[-1] = -1.0
    scaled = [units.row * d * v for d, v in zip(units.variables, a, strict=True)]
    exact = sum(Fraction(u) * Fraction(v) for u, v in zip(scaled, x, strict=True))
    room = Fraction(0) if held else Fraction(abs(short(rng.normal())) * units.row)
    b = rounded(exact + room, up=True)
    if rng.random() < 0.5:
        return Row(tuple(-v for v in scaled), ">=", -b), held
    return Row(tuple(scaled), "<=", b), held


def _equality(rng: Rng, x: list[float], units: Units) -> Row:
    """An equality through x, exactly: all numbers have few bits."""
    a = [dyadic(v, 2) for v in rng.normal(size=len(x)) * 2]
    a[0] = 0.0 if len(x) > 1 and rng.random() < 0.8 else a[0]
    if not any(a):
        a[-1] = 1.0
    scaled = [units.row * d * v for d, v in zip(units.variables, a, strict=True)]
    right = sum(Fraction(u) * Fraction(v) for u, v in zip(scaled, x, strict=True))
    return Row(tuple(scaled), "==", float(right))


def cost(families: list[Family], rows: list[Row], atoms: list[Atom], j: int) -> float:
    """-sum_i w_i a_ij with rows as a x <= b, rounded once."""
    with precise():
        whole = Fraction(0)
        for atom in atoms:
            if atom.point is None:
                row = rows[atom.index]
                turn, value = (-1 if row.sense == ">=" else 1), Fraction(row.a[j])
            else:
                family = families[atom.index]
                turn, value = (-1 if family.above else 1), fraction(at(family.a[j], atom.point).mid())
            whole -= Fraction(atom.weight) * turn * value
    return float(whole)
