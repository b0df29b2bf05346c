"""Index sets without room inside, rows that are undefined on a small part of their set, and whole numbers beyond 2**53.

Equalities for all points of a set are judged as the equations that they mean: the set is known as the image of
polynomials, and along these the coefficients have to match, in fractions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, product
from typing import Any

import numpy as np

import lsip

from .draw import Rng, dyadic, short
from .formulas import Formula, apply, coordinate, number
from .hard_rows import T
from .models import Family, Model, Row, Truth
from .sets import Box, IndexSet, solve

Polynomial = dict[tuple[int, ...], Fraction]  # in at most two parameters: exponents, coefficients
Image = tuple[Polynomial, ...]  # the coordinates of the points of a set
CONSECUTIVE = 2.0**53
UNTRUE = "cannot hold for all index points"  # what lsip says of equalities that no x keeps


def _number(value: float | Fraction) -> Polynomial:
    return {(0, 0): Fraction(value)}


def _parameter(k: int, slope: float = 1.0, shift: float = 0.0) -> Polynomial:
    return {(1, 0) if k == 0 else (0, 1): Fraction(slope), (0, 0): Fraction(shift)}


def _times(p: Polynomial, q: Polynomial) -> Polynomial:
    total: Polynomial = {}
    for (a, b), c in p.items():
        for (d, e), f in q.items():
            total[a + d, b + e] = total.get((a + d, b + e), Fraction(0)) + c * f
    return total


@dataclass(frozen=True)
class Known:
    """An index set of lsip, written, and the same as images of boxes with room inside."""

    write: Callable[[], Any]
    images: tuple[Image, ...]


# ---- sets without room, and some with ------------------------------------------------------------------------------


def _point(rng: Rng) -> Known:
    """One number, written as an interval that inequalities leave nothing else of."""
    at, power = dyadic(rng.uniform(-0.9, 0.9), 4), int(rng.choice([1, 2, 4]))
    cut: Callable[[Any], Any] = lambda t: (np.abs(t - at) if power == 1 else (t - at) ** power) <= 0  # noqa: E731
    draw = rng.random()
    if draw < 0.2:
        return Known(lambda: lsip.Interval(at, at), ((_number(at),),))
    if draw < 0.4:
        p = lsip.Parameter(name="p", value=0.0)
        return Known(lambda: lsip.Interval(-1, 1).where(lambda t: (t - at) ** 2 <= p), ((_number(at),),))
    return Known(lambda: lsip.Interval(-1, 1).where(cut), ((_number(at),),))


def _stretch(rng: Rng) -> Known:
    """An interval, cut or not: with room."""
    half = 2.0 ** -int(rng.integers(0, 6))
    image = ((_parameter(0),),)
    if rng.random() < 0.5:
        return Known(lambda: lsip.Interval(-half, half), image)
    return Known(lambda: lsip.Interval(-1, 1).where(lambda t: t**2 <= half * half), image)


def _line(rng: Rng) -> Known:
    """A line through a box, y[0] = slope y[1] + shift, or a point of it."""
    slope, shift = float(rng.choice([-1.0, -0.5, 0.5, 1.0])), float(rng.choice([0.0, 0.25]))
    away: Callable[[Any], Any] = lambda y: y[0] - slope * y[1] - shift  # noqa: E731
    kinds: list[Callable[[Any], Any]] = [
        lambda y: [away(y) <= 0, away(y) >= 0],
        lambda y: [away(y) <= 0, -2 * away(y) <= 0, y[0] ** 2 + y[1] ** 2 <= 1],
        lambda y: away(y) ** 2 <= 0,
        lambda y: np.maximum(away(y), -away(y)) <= 0,
    ]
    cut = kinds[int(rng.integers(len(kinds)))]
    image = ((_parameter(0, slope, shift), _parameter(0)),)
    if rng.random() < 0.2:
        rows = np.array([[1.0, -slope], [-1.0, slope], [0.0, 1.0], [0.0, -1.0]])
        return Known(lambda: lsip.Polytope(rows, [shift, -shift, 1.0, 1.0]), image)
    return Known(lambda: lsip.Box([-2, -1], [2, 1]).where(cut), image)


def _flat_box(rng: Rng) -> Known:
    """A box with a coordinate of no width."""
    at = dyadic(rng.uniform(-1, 1), 3)
    if rng.random() < 0.5:
        return Known(lambda: lsip.Box([0, at], [1, at]), ((_parameter(0), _number(at)),))
    return Known(lambda: lsip.Interval(0, 1) * lsip.Finite([[at]]), ((_parameter(0), _number(at)),))


def _disc(rng: Rng) -> Known:
    """A set in the plane with room inside."""
    kinds: list[Callable[[], Any]] = [
        lambda: lsip.Ball([0, 0], 1),
        lambda: lsip.Box([-1, -1], [1, 1]).where(lambda y: y[0] ** 2 <= y[1]),
        lambda: lsip.Budget(2, 1),
    ]
    return Known(kinds[int(rng.integers(len(kinds)))], ((_parameter(0), _parameter(1)),))


def _product(rng: Rng) -> Known:
    one, other = _stretch(rng), _point(rng)
    image = one.images[0] + other.images[0]
    return Known(lambda: one.write() * other.write(), (image,))


def _union(rng: Rng) -> Known:
    """Points, and stretches beside them."""
    parts = [_point(rng), _point(rng) if rng.random() < 0.6 else _stretch(rng)]
    return Known(lambda: parts[0].write() | parts[1].write(), parts[0].images + parts[1].images)


SETS = (_point, _stretch, _line, _flat_box, _disc, _product, _union)


# ---- equalities over them --------------------------------------------------------------------------------------------


def flat_set(rng: Rng) -> Model:
    """An equality of polynomials for all points of a set that may be flat, and what it means in fractions."""
    if rng.random() < 0.15:
        return _divided(rng)
    known = SETS[int(rng.integers(len(SETS)))](rng)
    m, n = len(known.images[0]), int(rng.integers(2, 4))
    powers = list(product(range(3), repeat=m))
    chosen = [powers[int(k)] for k in rng.choice(len(powers), n, replace=False)]
    target = [float(rng.integers(-3, 4)) for _ in chosen]  # x = target keeps the equality, if it is within the bounds
    beside = float(rng.choice([0.0, 0.0, 0.0, 1.0]))  # something that no variable matches, but for flat sets
    extra = powers[int(rng.integers(len(powers)))]
    rows = [
        Row(tuple(map(float, a)), "==", float(b))
        for image in known.images
        for a, b in _equations(chosen, target, beside, extra, image)
    ]

    def equality(y: Any, x: Any) -> Any:
        at = y if m > 1 or y.shape else [y]
        mono = [_monomial(at, e) for e in (*chosen, extra)]
        left = sum(x[k] * mono[k] for k in range(n))
        right = sum(v * mono[k] for k, v in enumerate(target)) + beside * mono[-1]
        return left == right

    fixed = (
        [Row(tuple(float(j == 0) for j in range(n)), "==", float(rng.integers(-2, 3)))] if rng.random() < 0.3 else []
    )
    return _vertices(rng, n, [*rows, *fixed], _written(known, equality, len(fixed)))


def _divided(rng: Rng) -> Model:
    """Rows that vanish where two coordinates are equal, over a box of which a third one has no width."""
    at, bend = dyadic(rng.uniform(-2, 2), 2), float(rng.integers(1, 4))
    known = Known(lambda: lsip.Box([0, 0, at], [1, 1, at]), ())

    def below(y: Any, x: Any) -> Any:
        away = y[0] - y[1]
        return away * (x[0] + x[1] * y[2]) - bend * away**2 <= 0

    return _vertices(rng, 2, [Row((1.0, at), "==", 0.0)], _written(known, below, 0))


def _monomial(y: Any, exponents: tuple[int, ...]) -> Any:
    found: Any = 1.0
    for k, e in enumerate(exponents):
        found = found * y[k] ** e if e else found
    return found


def _equations(
    chosen: list[tuple[int, ...]], target: list[float], beside: float, extra: tuple[int, ...], image: Image
) -> list[tuple[list[Fraction], Fraction]]:
    """The coefficients of the polynomials along an image of a box: numbers in front of x, and right-hand sides."""
    along = []
    for exponents in (*chosen, extra):
        p: Polynomial = _number(1.0)
        for k, e in enumerate(exponents):
            for _ in range(e):
                p = _times(p, image[k])
        along.append(p)
    found = []
    for e in dict.fromkeys(e for p in along for e in p):
        a = [p.get(e, Fraction(0)) for p in along]
        b = sum((Fraction(v) * c for v, c in zip(target, a, strict=False)), Fraction(beside) * a[-1])
        if any(a[:-1]) or b:
            found.append((a[:-1], b))
    return found


def _written(known: Known, statement: Callable[[Any, Any], Any], fixed: int) -> Callable[..., Any]:
    def written(model: Model, options: dict[str, Any]) -> Any:
        x = lsip.Variable(model.n, name="x", lower=np.array(model.lower), upper=np.array(model.upper))
        y = lsip.Index("y", known.write())
        rows = [x[0] == row.b for row in model.rows[len(model.rows) - fixed :]] if fixed else []
        sense = lsip.maximize if model.maximise else lsip.minimize
        try:
            problem = lsip.Problem(sense(np.array(model.c) @ x), [lsip.forall(y, statement(y, x)), *rows])
        except lsip.ModelError as error:
            if UNTRUE in str(error) and model.truth.feasible:
                raise AssertionError(f"An untrue refusal: {error}") from None
            raise
        return problem.solve(verbose=False, **options)

    return written


def _vertices(rng: Rng, n: int, rows: list[Row], written: Callable[..., Any]) -> Model:
    """A model with these equations, and its optimum: the best corner of a polytope, in fractions."""
    lower, upper = (-float(rng.integers(3, 9)),) * n, (float(rng.integers(3, 9)),) * n
    c = tuple(float(v) for v in rng.integers(-3, 4, n))
    a, b = [list(map(Fraction, row.a)) for row in rows], [Fraction(row.b) for row in rows]
    corners = list(_corners(a, b, lower, upper))
    values = [sum((Fraction(u) * v for u, v in zip(c, x, strict=True)), Fraction(0)) for x in corners]
    maximise = bool(rng.random() < 0.5)
    best = (max if maximise else min)(values) if values else None
    truth = Truth(feasible=bool(corners), least=best, most=best)
    return Model(c, lower, upper, (), tuple(rows), maximise=maximise, truth=truth, written=written)


def _corners(
    a: list[list[Fraction]], b: list[Fraction], lower: Sequence[float], upper: Sequence[float]
) -> list[tuple[Fraction, ...]]:
    """The corners of {x : a x = b, lower <= x <= upper}: some variables at their bounds, which decides the others."""
    n, found = len(lower), []
    for count in range(n + 1):
        for held in combinations(range(n), count):
            for ends in product(*((lower[j], upper[j]) for j in held)):
                given = {j: Fraction(v) for j, v in zip(held, ends, strict=True)}
                x = _completed(a, b, given, n)
                if x is not None and all(low <= v <= high for v, low, high in zip(x, lower, upper, strict=True)):
                    found.append(x)
    return found


def _completed(
    a: list[list[Fraction]], b: list[Fraction], given: dict[int, Fraction], n: int
) -> tuple[Fraction, ...] | None:
    """The only x with a x = b and these elements; None if there is none, or many."""
    free = [j for j in range(n) if j not in given]
    matrix = [[row[j] for j in free] for row in a]
    right = [v - sum(row[j] * w for j, w in given.items()) for row, v in zip(a, b, strict=True)]
    gram = [[sum((row[i] * row[j] for row in matrix), Fraction(0)) for j in range(len(free))] for i in range(len(free))]
    side = [sum((row[i] * v for row, v in zip(matrix, right, strict=True)), Fraction(0)) for i in range(len(free))]
    z = solve(gram, side) if free else []
    if z is None or any(
        sum(u * v for u, v in zip(row, z, strict=True)) != w for row, w in zip(matrix, right, strict=True)
    ):
        return None
    every = {**given, **dict(zip(free, z, strict=True))}
    return tuple(every[j] for j in range(n))


# ---- rows that are undefined on a part of their set -----------------------------------------------------------------


def partly_undefined(rng: Rng) -> Model:
    """A function of what is negative on a small part of an index set, or only just is not, or is guarded there."""
    over: IndexSet = Box((0.0,), (1.0,), scalar=True) if rng.random() < 0.7 else Box((0.0, 0.0), (1.0, 1.0))
    centre = [short(v, 6) for v in rng.uniform(0.1, 0.9, over.dim)]
    half = 10 ** rng.uniform(-6, -1.5)
    square, *others = [apply("square", coordinate(k) - c) for k, c in enumerate(centre)]
    for other in others:
        square = square + other
    missing = bool(rng.random() < 0.7)
    gap = short(half * half, 3)
    dip = square - gap if missing else (square + gap if rng.random() < 0.5 else square)
    formula, guarded = _partial(rng, dip, missing)
    scale = short(rng.uniform(0.5, 2))
    undefined = missing and not guarded
    columns = (number(1.0), formula) if rng.random() < 0.3 else (number(1.0), number(0.0))
    b = T * 1.0 if columns[1] is formula else formula * scale
    return Model(
        c=(1.0, 0.0),
        lower=(-100.0, 0.0),
        upper=(100.0, 1.0),
        families=(Family(over, columns, b, above=True),),
        truth=Truth(meaningless=undefined),
    )


def _partial(rng: Rng, dip: Formula, missing: bool) -> tuple[Formula, bool]:
    """A function that is undefined where `dip` is negative, and whether np.where takes another branch there."""
    kinds: list[Callable[[], Formula]] = [
        lambda: apply("sqrt", dip),
        lambda: dip ** float(rng.choice([0.5, 1.5, 2.5])),
        lambda: apply("arccosh", dip + 1.0),
        lambda: apply("arcsin", 1.0 - dip) if missing else apply("arcsin", apply("maximum", 1.0 - dip, -1.0)),
        lambda: apply("sqrt", apply("expm1", dip)),
    ]
    formula = kinds[int(rng.integers(len(kinds) if missing else 3))]()
    if missing and rng.random() < 0.15:
        return apply("where_less", dip, 0.0, 0.5, formula), True
    if rng.random() < 0.2:
        return apply("maximum", formula, 0.25), False
    return formula, False


# ---- whole numbers that doubles do not tell apart --------------------------------------------------------------------


def exact_integers(rng: Rng) -> Model:
    """Equations x = 2**53 + k for a small k: doubles round the odd ones to others, which are within the bounds."""
    k, unit = int(rng.integers(-4, 5)), 2.0 ** int(rng.integers(-6, 7))
    room = float(rng.integers(-2, 3)) * 2.0
    whole = Fraction(CONSECUTIVE) + k
    upper, integer = CONSECUTIVE + room, bool(rng.random() < 0.3)
    kind, sense = str(rng.choice(["integral", "square", "identity", "mean"])), str(rng.choice(["==", ">="]))
    sense = "==" if kind == "identity" else sense
    feasible = whole <= Fraction(upper)

    def written(model: Model, options: dict[str, Any]) -> Any:
        x = lsip.Variable(name="x", lower=0.0, upper=upper, integer=integer)
        one = lsip.Variable(name="one", lower=1.0, upper=1.0)  # so that a row of the judge can have 2**53 + k in it
        t = lsip.Index("t", lsip.Interval(0, 1))
        left: Any = {
            "integral": lambda: lsip.integral(unit * (2 * t * x - (CONSECUTIVE + 2 * k * t)), t),
            "square": lambda: lsip.integral(unit * (3 * t**2 * x - (CONSECUTIVE + 3 * k * t**2)), t),
            "mean": lambda: lsip.expectation(unit * (x - CONSECUTIVE - 2 * k * t), t),
            "identity": lambda: unit * (x * t - CONSECUTIVE * t - k * t),
        }[kind]()
        row = left == 0 if sense == "==" else left >= 0
        row = lsip.forall(t, row) if kind == "identity" else row
        return lsip.Problem(lsip.minimize(x + 0 * one), [row]).solve(verbose=False, **options)

    return Model(
        c=(1.0, 0.0),
        lower=(0.0, 1.0),
        upper=(upper, 1.0),
        families=(),
        rows=(Row((1.0, -float(k)), sense, CONSECUTIVE),),
        truth=Truth(feasible=feasible, least=whole if feasible else None, most=whole if feasible else None),
        written=written,
    )
