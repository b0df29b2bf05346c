"""Random models as people write them: nothing is planted, a right-hand side is any function.

They are feasible, since the first variable can be large and its column is positive, and bounded, since the objective is
a combination of rows. How good a lower bound is, only its multipliers tell.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from .balls import rounded
from .draw import Rng, any_set, fit, function, member, short
from .formulas import times
from .models import Atom, Family, Model, Row
from .planted import Units, columns, cost, draw_units, known, side, turned
from .sets import IndexSet

REACH = 20.0  # a value of the first variable, in its unit, that is large enough: its column is at least 0.5 …
ROOM = 6.0  # … as long as the others, whose columns are at most 1, add up to no more than this


def natural(rng: Rng, over: Callable[[Rng], IndexSet] = any_set, row_units: tuple[float, float] | None = None) -> Model:
    """Minimise a combination of rows, so that sum_j a_j(y) x_j >= b(y)."""
    n = int(rng.integers(1, 5))
    units = draw_units(rng, n, row=row_units)
    index_set = over(rng)
    a = columns(rng, index_set, n)
    a = [times(units.family * d, f) for d, f in zip(units.variables, a, strict=True)]
    b = times(units.family, fit(function(rng, index_set), -1.0, 1.0).formula)
    family = Family(index_set, tuple(a), b, above=True)
    if rng.random() < 0.5:
        family = Family(index_set, tuple(-f for f in a), -b)
    points = dict.fromkeys(index_set.exact(member(rng, index_set)) for _ in range(n + int(rng.integers(3))))
    atoms = [Atom(0, p, short(rng.uniform(0.2, 2)) * units.objective / units.family) for p in points]
    kinds = ["free", *(str(rng.choice(["free", "free", "lower", "upper", "box", "box", "huge"])) for _ in range(n - 1))]
    if rng.random() < 0.6:
        kinds = ["large", *(["box"] * (n - 1))]
    sizes = [0.0 if k in ("free", "large") else short(rng.normal()) for k in kinds]
    start = [v / d for v, d in zip(sizes, units.variables, strict=True)]
    sides = [side(rng, v, k) for v, k in zip(start, kinds, strict=True)]
    lower, upper = [s.lower for s in sides], [s.upper for s in sides]
    if kinds[0] == "large":
        lower[0], upper[0] = -50 / units.variables[0], 50 / units.variables[0]
    rows = [_row(rng, start, units) for _ in range(int(rng.integers(0, 2)) if row_units is None else 1)]
    c = [cost([family], rows, atoms, j) for j in range(n)]
    model = Model(
        c=tuple(c),
        lower=tuple(lower),
        upper=tuple(upper),
        families=(family,),
        rows=tuple(rows),
        atoms=tuple(atoms),
        tol=float(rng.choice([1e-8, 1e-8, 1e-6])),
        door="functions" if rng.random() < 0.15 else "declared",
    )
    model = turned(model) if rng.random() < 0.5 else model
    if sum(map(abs, sizes)) > ROOM:
        return known(model)
    return known(model, (Fraction(REACH / units.variables[0]), *map(Fraction, start[1:])))


def _row(rng: Rng, start: list[float], units: Units) -> Row:
    """A finite inequality that holds where x[0] is large, and is tight nearer to where the optimum would be."""
    a = [-abs(short(rng.normal())), *(short(v) for v in rng.normal(size=len(start) - 1))]
    scaled = [units.row * d * v for d, v in zip(units.variables, a, strict=True)]
    tight = [Fraction(short(rng.uniform(0.5, 6)) / units.variables[0]), *map(Fraction, start[1:])]
    level = sum((Fraction(u) * v for u, v in zip(scaled, tight, strict=True)), Fraction(0))
    return Row(tuple(scaled), "<=", rounded(level, up=True))
