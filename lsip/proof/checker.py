"""A second opinion: `python checker.py proof.json` proves again what `solution.export("proof.json")` has written.

This file shares no code with lsip. It trusts Python, the arithmetic of python-flint (rational numbers, and balls that
contain the exact result), and that the model in the file is the one that was meant; it trusts nothing else in the file.
It proves, about min c x + constant with lower <= x <= upper, finite rows, and a(y) x <= b(y) for all y of a set:

- OPTIMAL: a feasible point x' exists with an objective of at most `upper`: x itself or, where there are equalities, an
  exact solution of them within `box` of x. No feasible point has an objective below `lower`. The two differ by at most
  max(tol |lower|, tol |upper|, atol). A maximum is proven as the minimum of the negative objective.
- INFEASIBLE: no point satisfies all constraints.
- UNBOUNDED: such an x' exists, and a direction along which all constraints hold and the objective falls without end.

How: multipliers are rational, or the exact solution of a square linear system; they weigh constraints at points that
lie exactly in the index set. A row is proven for all y by branch-and-bound with Taylor expansions at the centres of
boxes and an enclosed remainder; where a side u(y) >= 0 of the set cuts a box, a multiple of u is added. Equalities that
follow from others up to the rounding of their data (`dependent`) are left out, and the answer says so.
Exit code: 0 proven; 1 not proven, which does not mean false; 2 not a readable proof; 3 refused, because the file holds
something that is not known here: a function, an index set, more than three coordinates of y.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from functools import cache, partial, reduce
from itertools import accumulate, combinations, pairwise, product
from math import prod
from operator import mul
from pathlib import Path
from typing import Any, NamedTuple

from flint import arb, arb_poly, arb_series, ctx, fmpq, fmpq_mat

FORMAT, VERSION = "lsip-proof", 1
ZERO, ONE, NAN = fmpq(0), fmpq(1), arb("nan")
WORDS = {1: "not proven", 2: "no proof that can be read", 3: "refused"}  # by exit codes
Number = Any  # fmpq or arb
Value = Any  # fmpq, arb or arb_series
Row = dict[int, Number]
Side = tuple[Row, Any, Any]  # a row with its lower and its upper side, None where there is none
Point = tuple[fmpq, ...]
Taylor = dict[tuple[int, ...], arb]  # coefficients of a polynomial by their exponents
Box = tuple[Point, Point, int]  # centre, half-widths, halvings so far
Map = Callable[[Sequence[Value]], list[Value]]
Piece = tuple[Point, Point, Map]  # a box by its ends, and functions of which all are nonnegative on the piece: cuts


class CheckError(Exception):
    """Why a file is not accepted, and the exit code."""


def demand(ok: object, why: str, code: int = 1) -> None:
    """Raise an error unless something holds."""
    if not ok:
        raise CheckError(why, code)


# This share of the terms of a row counts as rounding of its data, if what the row is combined from is at most so many
# times as large as its entries. The prover has the same two numbers.
DATA_ROUNDING, MODEST = fmpq(16, 2**52), 64


class CheckerTuning(NamedTuple):
    """The effort before something counts as not proven.

    Balls have `coarse` bits in branch-and-bound, and `fine` ones elsewhere and in tiny boxes; fractions with more than
    `most_bits` become balls. All rows may evaluate `most_steps` steps together, and each its own `boxes` times in
    addition.
    """

    coarse: int = 128
    fine: int = 640
    most_bits: int = 100_000
    most_steps: int = 2_500_000
    boxes: int = 500


TUNING = CheckerTuning()
budget = [0]  # steps that may still be evaluated
readable, familiar = partial(demand, code=2), partial(demand, code=3)


def number(value: Any) -> fmpq:
    """A finite number, as the fraction that it is."""
    readable(type(value) in (int, float) and abs(value) < float("inf"), f"A finite number is needed: {str(value)[:60]}")
    return fmpq(*value.as_integer_ratio())


def numbers(value: Any, count: int | None = None, gaps: bool = False) -> list[Any]:
    """A list of finite numbers, of that length if one is given; with gaps, None stands where there is no bound."""
    readable(isinstance(value, list) and count in (None, len(value)), f"A list does not fit: {str(value)[:60]}")
    return [None if gaps and v is None else number(v) for v in value]


def whole(value: Any, end: int) -> int:
    """A whole number from 0, below `end`."""
    readable(type(value) is int and 0 <= value < end, f"A whole number below {end} is needed: {str(value)[:60]}")
    return value


def ball(u: Value) -> arb:
    """A number as a ball; of a series, the range."""
    return u[0] if isinstance(u, arb_series) else u if isinstance(u, arb) else arb(u)


def flat(value: arb, slope: arb = NAN) -> arb_series:
    """A function of which only the range, and perhaps that of its slope, is known."""
    return arb_series([value, slope, *([NAN] * (ctx.cap - 2))], ctx.cap)


def applied(name: str, _: None, u: Value) -> Value:
    """An elementary function of flint, as a fraction where the value is known to be one."""
    if isinstance(u, arb_series):
        return getattr(u, name)()
    found = getattr(ball(u), name)()
    short = found.is_finite() and found.is_exact() and abs(found.man_exp()[1]) < TUNING.most_bits
    return found.fmpq() if short else found


def largest(a: Value, b: Value) -> Value:
    """The maximum of two; where either may be larger, slopes lie between theirs."""
    if (difference := ball(a - b)) >= 0 or difference <= 0:
        return a if difference >= 0 else b
    value, slopes = ball(a).max(ball(b)), [v[1] if isinstance(v, arb_series) else arb(0) for v in (a, b)]
    return flat(value, slopes[0].union(slopes[1])) if arb_series in (type(a), type(b)) else value


def shortened(u: Value, times: int = 1) -> Value:
    """The same number, as a ball if its fraction, or a power of it, has too many bits."""
    return arb(u) if isinstance(u, fmpq) and u.height_bits() * times > TUNING.most_bits else u


total = partial(reduce, lambda a, b: shortened(a + b))  # of terms: the bits of fractions add up
OPERATIONS: dict[str, Callable[..., Value]] = {  # of what a step has beside its arguments, and these
    "add": lambda _, *terms: total(terms),
    "multiply": lambda _, a, b: a * b,
    "divide": lambda _, a, b: a / b if ball(b) != 0 else NAN,
    "negate": lambda _, a: -a,
    "absolute": lambda _, a: largest(a, -a),
    "maximum": lambda _, a, b: largest(a, b),
    "power": lambda k, a: shortened(a, int(k)) ** int(k),
    "linear": lambda weights, *values: total([ZERO, *map(mul, values, weights)]),
    "between": lambda ends: ball(number(ends[0])).union(ball(number(ends[1]))),
    **{name: partial(applied, name) for name in ("sin", "cos", "tan", "exp", "log", "sqrt", "erf", "erfc")},
    **{f"arc{name}": partial(applied, f"a{name}") for name in ("sin", "cos", "tan")},
}
PARTIAL = {"divide", "tan", "log", "sqrt", "arcsin", "arccos"}  # not defined for all numbers


class Formula:
    """The rows of a family as a list of steps, each an operation on the numbers that earlier ones found."""

    def __init__(self, data: list[dict[str, Any]], domain: IndexSet, most_power: int = 1000) -> None:
        self.pieces, self.signs = domain.pieces, dict[int, bool]()  # signs: whether a step is never negative
        self.order = cache(self.needed)
        self.steps, self.total = list[tuple[str, tuple[int, ...], Any]](), list[bool]()  # total: defined everywhere
        for step in data:
            name, args, extra = step["op"], tuple(whole(a, len(self.steps)) for a in step["args"]), step.get("ends")
            familiar(name in {"index", "constant", *OPERATIONS}, f"The operation {str(name)[:60]} is not known.")
            if name == "power":
                extra = step["exponent"]
                familiar(extra in range(most_power + 1), f"The exponent {str(extra)[:60]} is not known.")
            elif name == "linear":
                extra = numbers(step["weights"], len(args))
            elif name in ("index", "constant"):
                extra = whole(step["coordinate"], domain.dim) if name == "index" else number(step["value"])
            self.append(name, args, extra)

    def append(self, name: str, args: tuple[int, ...], extra: fmpq | int | list[Number] | None) -> int:
        self.total.append(name not in PARTIAL and all(self.total[a] for a in args))
        self.steps.append((name, args, extra))
        return len(self.steps) - 1

    def combination(self, weights: Sequence[Number], steps: Sequence[int]) -> int:
        """The function sum of weights times steps, without what is 0 wherever it is defined, and defined everywhere."""
        pairs = zip(weights, steps, strict=True)
        terms = [(w, a) for w, a in pairs if not (w == 0 and self.total[a]) and self.steps[a] != ("constant", (), ZERO)]
        return self.append("linear", tuple(a for _, a in terms), [w for w, _ in terms])

    def needed(self, roots: tuple[int, ...]) -> list[int]:
        """The steps that some steps need, in order."""
        found = set(roots)
        for i in range(max(roots), -1, -1):
            found |= set(self.steps[i][1]) if i in found else set()
        return sorted(found)

    def values(self, roots: Sequence[int], y: Sequence[Value]) -> list[Value]:
        """The values of steps where the index is a rational point, a ball or a series; nan if one may be undefined."""
        exact, known = all(isinstance(v, fmpq) for v in y), dict[int, Value]()
        budget[0] -= len(order := self.order(tuple(roots)))
        demand(budget[0] >= 0, "It takes more work than is done for one proof.")
        for i in order:
            name, args, extra = self.steps[i]
            if name in ("index", "constant"):
                known[i] = y[extra] if name == "index" else extra if exact else arb(extra)
            elif name == "sqrt" and not ball(known[args[0]]) > 0 and not exact and self.never_negative(args[0]):
                known[i] = flat(arb(0).union(ball(known[args[0]]).upper().max(arb(0)).sqrt()))
            else:
                known[i] = OPERATIONS[name](extra, *(known[a] for a in args))
            known[i] = shortened(known[i])
            if not isinstance(known[i], fmpq) and not ball(known[i]).is_finite():
                return [NAN] * len(roots)
        return [known[i] for i in roots]

    def never_negative(self, step: int) -> bool:
        """Whether a step is proven to be nonnegative on the index set, though rounded ranges reach below 0."""
        if step not in self.signs:
            before, self.signs[step] = (ctx.prec, ctx.cap), False  # while it is asked
            self.signs[step] = self.never_positive(self.combination([-ONE], [step]))
            ctx.prec, ctx.cap = before
        return self.signs[step]

    def never_positive(self, root: int) -> bool:
        """Whether a step is proven to be at most 0 on the whole index set."""
        ends = [(piece, list(zip(*piece[:2], strict=True))) for piece in self.pieces]
        work = [(p, (tuple((a + b) / 2 for a, b in e), tuple((b - a) / 2 for a, b in e), 0)) for p, e in ends]
        while work:
            piece, box = work.pop()
            if box[2] > 80 or (parts := examined(self, root, piece, box)) is None:  # halvings; it is given up
                return False
            work += [(piece, part) for part in parts]
        return True


class IndexSet(NamedTuple):
    """An index set: pieces that cover it, and functions that are all nonnegative at its points and nowhere else."""

    dim: int
    pieces: list[Piece]
    sides: Map

    def cut(self, by: Map) -> IndexSet:
        """The part on which further functions are nonnegative."""
        both: Callable[[Map], Map] = lambda old: lambda y: [*old(y), *by(y)]  # noqa: E731
        return IndexSet(self.dim, [(a, b, both(cuts)) for a, b, cuts in self.pieces], both(self.sides))


def read_set(data: dict[str, Any]) -> IndexSet:
    """An index set by its name and arguments."""
    kind, given = data["kind"], data["arguments"]
    match kind, given:
        case "Interval" | "Box", [_, _]:
            return box_set(*(tuple(numbers([end] if kind == "Interval" else end)) for end in given))
        case "Ball", [centre, radius] if (m := len(centre)) <= 3:
            demand(number(radius) > 0, "A ball has no radius.")
            return ellipsoid(numbers(centre), [[number(radius) ** 2 * int(i == j) for j in range(m)] for i in range(m)])
        case "Ellipsoid", [centre, shape] if len(centre) <= 3:
            return ellipsoid(numbers(centre), [numbers(row, len(centre)) for row in shape])
        case "Polytope", [rows, sides]:
            return polytope([numbers(row) for row in rows], numbers(sides, len(rows)))
        case "Simplex", [m]:
            ends = [[-ONE * int(i == j) for j in range(m)] for i in range(whole(m, 4))]
            return polytope([*ends, [ONE] * m, [-ONE] * m], [ZERO] * m + [ONE, -ONE])
        case "Budget", [m, most]:  # sums of some coordinates, with signs, are at most that, and as many
            rows = [list(map(fmpq, signs)) for signs in product((-1, 0, 1), repeat=whole(m, 4)) if any(signs)]
            return polytope(rows, [min(sum(map(abs, row)), number(most)) for row in rows])
        case "Finite", [points]:
            parts = [box_set(tuple(numbers(y)), tuple(numbers(y))) for y in points]
        case "Region", [base]:
            formula = Formula(data["steps"], within := read_set(base))
            roots = [whole(i, len(formula.steps)) for i in data["inside"]]
            return within.cut(lambda y: formula.values(roots, y))
        case "Product" | "Union" | "Intersection", _:
            parts = [read_set(part) for part in given]
        case _:
            familiar(False, f"The index set {str(kind)[:60]}, with such arguments, is not known.")
    readable(parts and (kind == "Product" or len({p.dim for p in parts}) == 1), "No set to put together.")
    if kind == "Product":
        return product_set(parts)
    if kind == "Intersection":
        return parts[0].cut(lambda y: [side for part in parts[1:] for side in part.sides(y)])
    least: Callable[[list[Value]], Value] = lambda values: -reduce(largest, [-v for v in values])  # noqa: E731
    pieces = [piece for part in parts for piece in part.pieces]
    return IndexSet(parts[0].dim, pieces, lambda y: [reduce(largest, [least(part.sides(y)) for part in parts])])


def box_set(lower: Point, upper: Point) -> IndexSet:
    """The points between two."""
    ends = list(zip(lower, upper, strict=True))
    demand(all(a <= b for a, b in ends), "An index set is empty.")
    sides: Map = lambda y: [side for v, (a, b) in zip(y, ends, strict=True) for side in (v - a, b - v)]  # noqa: E731
    return IndexSet(len(ends), [(lower, upper, lambda _: [])], sides)


def ellipsoid(centre: list[fmpq], shape: list[list[fmpq]]) -> IndexSet:
    """The points y with (y - centre)' shape^-1 (y - centre) <= 1, and a box around them."""
    demand(shape == list(map(list, zip(*shape, strict=True))), "The shape of an ellipsoid is not symmetric.")
    minors = [fmpq_mat([row[:k] for row in shape[:k]]).det() for k in range(1, len(shape) + 1)]
    demand(all(minor > 0 for minor in minors), "An ellipsoid is flat, or none.")
    inverse = [dict(enumerate(row)) for row in fmpq_mat(shape).inv().tolist()]
    reach = [ball(row[i]).sqrt().upper().fmpq() for i, row in enumerate(shape)]

    def side(y: Sequence[Value]) -> list[Value]:
        away = [v - c for v, c in zip(y, centre, strict=True)]
        return [1 - sum((a * at(row, away) for a, row in zip(away, inverse, strict=True)), ZERO)]

    lower, upper = (tuple(c + sign * r for c, r in zip(centre, reach, strict=True)) for sign in (-1, 1))
    return box_set(lower, upper).cut(side)


def vertices(table: list[tuple[Row, fmpq]], m: int) -> set[Point]:
    """The points y with row y <= side for all, at which m of these that determine y hold with equality."""
    systems = [(fmpq_mat([list(row.values()) for row, _ in c]), [[b] for _, b in c]) for c in combinations(table, m)]
    points = {tuple(matrix.solve(fmpq_mat(right)).entries()) for matrix, right in systems if matrix.det() != 0}
    return {y for y in points if all(at(row, y) <= b for row, b in table)}


def polytope(rows: list[list[fmpq]], sides: list[fmpq], most: int = 40) -> IndexSet:
    """The points y with rows y <= sides, and the box around its corners."""
    m, table = len(rows[0]), [(dict(enumerate(row)), b) for row, b in zip(rows, sides, strict=True)]
    familiar(m <= 3 and len(rows) <= most, f"Polytopes with more than 3 coordinates or {most} rows are not known.")
    limits = [({j: fmpq(sign * int(i == j)) for j in range(m)}, ONE) for i in range(m) for sign in (-1, 1)]
    corners, ways = vertices(table, m), vertices([*((row, ZERO) for row, _ in table), *limits], m)  # ways without end
    familiar(corners and ways == {(ZERO,) * m}, "Polytopes that are empty or without bounds are not known.")
    lower, upper = (tuple(map(end, zip(*corners, strict=True))) for end in (min, max))
    return box_set(lower, upper).cut(lambda y: [b - at(row, y) for row, b in table])


def product_set(parts: list[IndexSet]) -> IndexSet:
    """The points whose consecutive coordinates lie in each of the parts."""
    dims = [part.dim for part in parts]
    familiar(sum(dims) <= 3, f"Index points with {sum(dims)} coordinates are not known; 1 to 3 are.")

    def each(functions: Sequence[Map]) -> Map:
        places = list(pairwise([0, *accumulate(dims)]))
        return lambda y: [v for f, (a, b) in zip(functions, places, strict=True) for v in f(y[a:b])]

    chosen = [zip(*pieces, strict=True) for pieces in product(*(part.pieces for part in parts))]
    pieces = [(sum(lower, ()), sum(upper, ()), each(cuts)) for lower, upper, cuts in chosen]
    return IndexSet(sum(dims), pieces, each([part.sides for part in parts]))


@cache
def directions(m: int, terms: int) -> tuple[list[tuple[int, ...]], list[tuple[list[tuple[int, ...]], list[list[arb]]]]]:
    """Directions along which expansions give all Taylor coefficients: for each degree its exponents, and the matrix."""
    # A homogeneous polynomial is known by its values at (1, u), u from a triangular grid.
    places = sorted((p for p in product(range(terms), repeat=m - 1) if sum(p) < terms), key=sum)
    lines = [(1, *((k + 1) // 2 * (-1) ** k for k in place)) for place in places]
    tables = []
    for degree in range(terms):
        powers = [e for e in product(range(degree + 1), repeat=m) if sum(e) == degree]
        rows = [[prod(b**k for b, k in zip(line, e, strict=True)) for e in powers] for line in lines[: len(powers)]]
        with ctx.workprec(TUNING.fine):
            tables.append((powers, [[arb(v) for v in row] for row in fmpq_mat(rows).inv().tolist()]))
    return lines, tables


def examined(formula: Formula, root: int, piece: Piece, box: Box) -> list[Box] | None:
    """What is left to look at: nothing where the function, a step, is at most 0; None where it is above."""
    (lower, upper, cuts), (centre, radius, depth) = piece, box
    m = len(active := [i for i, r in enumerate(radius) if r > 0])
    ctx.prec, ctx.cap = TUNING.fine if depth > 36 or not active else TUNING.coarse, 2  # a tiny box
    sides = list(map(ball, cuts([arb(c, r) if r > 0 else c for c, r in zip(centre, radius, strict=True)])))
    if any(side < 0 for side in sides) or not active:
        return [] if any(side < 0 for side in sides) or ball(formula.values([root], centre)[0]) <= 0 else None
    across, axes = [k for k, v in enumerate(sides) if not v >= 0], [[int(i == j) for j in range(m)] for i in range(m)]

    def each(line: Sequence[Any], terms: int, everywhere: bool = False) -> list[list[arb]]:
        """Taylor coefficients at the centre, or over the box, along a line: of the function, and of cuts across it."""
        ctx.cap = terms
        y: list[Value] = [arb(c, r) if everywhere and r > 0 else arb(c) for c, r in zip(centre, radius, strict=True)]
        for i, d in zip(active, line, strict=True):
            y[i] = arb_series([y[i], d * arb(radius[i])], terms) if isinstance(d, arb) or d else y[i]
        found = [*formula.values([root], y), *map((cuts(y) if across else []).__getitem__, across)]
        return [[v[k] if isinstance(v, arb_series) else ball(v) * (k == 0) for k in range(terms)] for v in found]

    shares = list[float]()
    if across:
        ways = zip(*([float(v[1].mid()) for v in each(axis, 2)] for axis in axes), strict=True)
        faces = product(zip(active, axes, strict=True), ((1, lower), (-1, upper)))
        walls = [[s * v for v in e] for (i, e), (s, end) in faces if centre[i] - s * radius[i] == end[i]]
        shares = multipliers(*ways, *walls)

    def along(line: Sequence[Any], terms: int, everywhere: bool = False) -> list[arb]:
        """The same of the function with multiples of the cuts, which is nowhere less on the set."""
        first, *others = each(line, terms, everywhere)
        return [sum((w * u[k] for w, u in zip(shares, others, strict=False) if w), v) for k, v in enumerate(first)]

    lines, tables = directions(m, terms := (12, 9, 6)[m - 1])  # by number of coordinates
    first, wide = along(lines[0], terms), along([1] if m == 1 else [arb(0, 1)] * m, terms + 1, everywhere=True)
    if (first[0] > 0 and not across) or wide[0] <= 0:
        return [] if wide[0] <= 0 else None
    rest = wide[terms].abs_upper()
    if rest.is_finite() and first[0] + rest <= 0:
        series, taylor = [first, *(along(line, terms) for line in lines[1:])], Taylor()
        for degree, (exponents, inverse) in enumerate(tables):
            for e, row in zip(exponents, inverse, strict=True):
                taylor[e] = sum((a * part[degree] for a, part in zip(row, series, strict=False)), arb(0))
        if stays_below(taylor, -rest, m, 20 + len(formula.order((root,)))):  # parts
            return []
    i = max(active, key=lambda i: radius[i] / (upper[i] - lower[i]))
    parts = [(sign * radius[i] / 2, radius[i] / 2, depth + 1) for sign in (-1, 1)]
    if not rest.is_finite() or depth > 3:  # slopes are used
        slopes = [wide[1]] if m == 1 else [along(axis, 2, True)[1] for axis in axes]
        if first[0] + sum((v.abs_upper() for v in slopes), arb(0)) <= 0:
            return []
        known = [(k, 1 if v >= 0 else -1) for k, v in zip(active, slopes, strict=True) if v >= 0 or v <= 0]
        if known and not across:  # the largest value is on one face
            i, sign = known[0]
            parts = [(sign * radius[i], ZERO, depth)]
    around: Callable[[Point, fmpq], Point] = lambda old, new: (*old[:i], new, *old[i + 1 :])  # noqa: E731
    return [(around(centre, centre[i] + by), around(radius, size), halvings) for by, size, halvings in parts]


def multipliers(first: Sequence[float], *others: Sequence[float]) -> list[float]:
    """Weights >= 0 with which the other vectors almost cancel the first one; whatever they are, they prove nothing."""
    weights, left = [0.0] * len(others), list(first)
    for _, (k, v) in product(range(30), enumerate(others)):  # sweeps
        size = sum(map(mul, v, v))
        new = max(0.0, weights[k] - sum(map(mul, v, left)) / size) if 0 < size < float("inf") else 0.0
        left = [a + (new - weights[k]) * b for a, b in zip(left, v, strict=True)]
        weights[k] = new
    return [weight if weight < float("inf") else 0.0 for weight in weights]


def stays_below(taylor: Taylor, limit: arb, m: int, most: int) -> bool:
    """Whether a polynomial is proven to be at most `limit` on the cube [-1, 1]^m, by cutting it into parts."""
    work, count = [(taylor, limit)], 0
    while work:
        (part, limit), count = work.pop(), count + 1
        over = highest(part, m) - limit
        if over <= 0:
            continue
        if count > most or part[(0,) * m] > limit or not over.is_finite():
            return False
        sizes = {e: v.abs_upper() for e, v in part.items()}
        small = {e for e in part if sum(e) > 2 and 64 * len(part) * sizes[e] < over}  # too small to matter
        limit -= sum((sizes[e] for e in small), arb(0))
        kept = {e: v for e, v in part.items() if e not in small}
        weight = [sum((e[i] * sizes[e] for e in kept), arb(0)).mid() for i in range(m)]
        axis, lines = weight.index(max(weight)), dict[tuple[int, ...], dict[int, arb]]()
        for e, v in kept.items():
            lines.setdefault((*e[:axis], 0, *e[axis + 1 :]), {})[e[axis]] = v
        for sign in (-1, 1):  # one half, in coordinates in which it is a cube again: s = (sign + s') / 2
            half, found = arb_poly([arb(sign) / 2, arb(0.5)]), Taylor()
            for e, line in lines.items():
                composed = arb_poly([line.get(k, arb(0)) for k in range(max(line) + 1)])(half)
                found |= {(*e[:axis], k, *e[axis + 1 :]): composed[k] for k in range(max(line) + 1)}
            work.append((found, limit))
    return True


def highest(taylor: Taylor, m: int) -> arb:
    """An upper bound of a polynomial on the cube [-1, 1]^m; beyond the second degree, terms count with their size."""
    # A variable in which the rest is concave may be completed to a square, and goes; of all bounds the best counts.
    unit = [tuple(int(i == j) for j in range(m)) for i in range(m)]
    slope = [taylor[u] for u in unit]
    bend = {(i, j): taylor[tuple(map(sum, zip(unit[i], unit[j], strict=True)))] for i in range(m) for j in range(m)}
    value = taylor[(0,) * m] + sum((v.abs_upper() for e, v in taylor.items() if sum(e) > 2), arb(0))
    left, best = list(range(m)), arb.pos_inf()
    while True:
        bound = value + sum((bend[i, j].abs_upper() for i, j in combinations(left, 2)), arb(0))
        for i in left:
            g, a = abs(slope[i]), bend[i, i]
            inner = a < 0 and not g >= -2 * a
            bound += g * g / (-4 * a) if inner else g + (a if g >= -2 * a or a >= 0 else a.max(arb(0)))
        best = bound if bound.upper() < best.upper() else best
        steepest = min(left, key=lambda i: bend[i, i].mid(), default=None)
        if steepest is None or not (a := bend[steepest, steepest]) < 0:
            return best
        left.remove(steepest)
        value += slope[steepest] ** 2 / (-4 * a)
        for j in left:
            slope[j] -= slope[steepest] * bend[steepest, j] / (2 * a)
        for j, k in product(left, repeat=2):
            bend[j, k] -= bend[steepest, j] * bend[steepest, k] / ((4 if j == k else 2) * a)


def combined(parts: Sequence[tuple[Number, Row]]) -> Row:
    """A sum of multiples of rows, without what is known to be 0."""
    total: Row = {}
    for factor, row in parts:
        for j, v in row.items():
            total[j] = total[j] + factor * v if j in total else factor * v
    return {j: v for j, v in total.items() if not v == 0}  # noqa: SIM201 (balls may be neither)


def at(row: Row, x: Sequence[Number] | dict[int, Number]) -> Number:
    """A row times a point."""
    return sum((v * x[j] for j, v in row.items()), ZERO)


def solved(rows: list[Row], sides: list[Number], exact_up_to: int = 40) -> list[Number]:
    """The solution of a square system, rational if it is small, or enclosed; it is proven that there is exactly one."""
    table = [row | {-1: side} for row, side in zip(rows, sides, strict=True)]
    exact = len(rows) <= exact_up_to and all(isinstance(v, fmpq) for row in table for v in row.values())
    table = [{j: v if exact else ball(v) for j, v in row.items()} for row in table]
    users = {j: {i for i, row in enumerate(table) if j in row} for j in range(-1, len(rows))}
    pivots: dict[int, int] = {}
    while len(pivots) < len(rows):  # the pivot: of the shortest row, the column that fewest others have
        i = min(set(range(len(rows))) - set(pivots), key=lambda i: len(table[i]))
        usable = [j for j, v in table[i].items() if j >= 0 and v != 0]
        demand(usable, "A linear system is not proven to have a solution.")
        column = pivots[i] = min(usable, key=lambda j: len(users[j]))
        pivot = table[i].pop(column)
        table[i] = {j: v / pivot for j, v in table[i].items()}
        for j in (column, *table[i]):
            users[j].discard(i)
        for k in users.pop(column):
            factor = table[k].pop(column)
            for j, v in table[i].items():
                table[k][j] = table[k][j] - factor * v if j in table[k] else -factor * v
                users[j].add(k)
    found: dict[int, Number] = {-1: -ONE}
    for i, column in reversed(pivots.items()):
        found[column] = -at(table[i], found)
    return [found[j] for j in range(len(rows))]


class Family:
    """Rows coefficients . x[columns] <= rhs for every point of an index set."""

    def __init__(self, data: dict[str, Any], n: int) -> None:
        self.set = read_set(data["domain"])
        familiar(1 <= self.set.dim <= 3, f"Index points with {self.set.dim} coordinates are not known; 1 to 3 are.")
        self.formula = Formula(data["steps"], self.set)
        self.rows = list(zip(data["columns"], data["coefficients"], data["rhs"], strict=True))
        for columns, steps, side in self.rows:
            readable(len(columns) == len(steps), "The coefficients of a family do not fit its columns.")
            for value, end in [(j, n) for j in columns] + [(i, len(self.formula.steps)) for i in (*steps, side)]:
                whole(value, end)

    def row(self, i: int, y: Point) -> Side:
        """One row at a rational index point, and its sides."""
        columns, steps, side = self.rows[i]
        *values, most = self.formula.values([*steps, side], y)
        return combined([(v, {j: ONE}) for j, v in zip(columns, values, strict=True)]), None, most


class Model:
    """The program: objective, bounds, finite rows, families; `dependent` equalities are said to follow from others."""

    def __init__(self, data: dict[str, Any], dependent: list[Any]) -> None:
        self.c, self.constant = numbers(data["c"]), number(data["constant"])
        places = data["rows"]["entries"]
        self.rows = [combined([(number(v), {whole(j, len(self.c)): ONE}) for j, v in row]) for row in places]
        self.lower, self.upper = (numbers(data[end], len(self.c), True) for end in ("lower", "upper"))
        self.below, self.above = (numbers(data["rows"][end], len(self.rows), True) for end in ("lower", "upper"))
        self.families = [Family(family, len(self.c)) for family in data["families"]]
        self.sides: list[Side] = list(zip(self.rows, self.below, self.above, strict=True))
        self.equal = {i for i, (row, a, b) in enumerate(self.sides) if row and a is not None and a == b}
        self.dependent = {whole(i, len(self.rows)) for i in dependent}
        demand(self.dependent <= self.equal, "Rows that are no equalities are said to follow from others.")
        self.independent = sorted(self.equal - self.dependent)
        self.used = [self.follow(i) if i in self.dependent else side for i, side in enumerate(self.sides)]

    def gram(self, weights: Sequence[fmpq]) -> list[Row]:
        """A W A' for the independent equalities A and the diagonal W of some weights."""
        columns: dict[int, Row] = {}
        for k, i in enumerate(self.independent):
            for j, v in self.rows[i].items():
                columns.setdefault(j, {})[k] = v
        rows = [self.rows[i].items() for i in self.independent]
        return [combined([(weights[j] * v, columns[j]) for j, v in row if weights[j]]) for row in rows]

    def follow(self, i: int) -> Side:
        """The combination of independent equalities that a dependent one agrees with, up to the rounding of data."""
        given = self.rows[i] | {-1: self.above[i]}
        sides = [sum((v * given[j] for j, v in self.rows[k].items() if j in given), ZERO) for k in self.independent]
        found = [ball(s).mid().fmpq() * 2**100 for s in solved(self.gram([ONE] * len(self.c)), sides)]
        shares = [fmpq((s + fmpq(1, 2)).floor(), 2**100) for s in found]  # what is almost a whole number becomes one
        parts = [(s, self.rows[k] | {-1: self.above[k]}) for k, s in zip(self.independent, shares, strict=True) if s]
        left, made = combined([(-ONE, given), *parts]), combined(parts)
        size = combined([(abs(s), {j: abs(v) for j, v in row.items()}) for s, row in [(ONE, given), *parts]])
        modest = all(abs(s * v) <= MODEST * max(map(abs, given.values())) for s, r in parts for v in r.values())
        agrees = modest and all(abs(v) <= DATA_ROUNDING * size[j] for j, v in left.items())
        demand(agrees, "Equalities that are said to follow from others do not, not even up to rounding.")
        side = made.pop(-1, ZERO)
        return made, side, side

    def exact(self, x: list[fmpq], box: list[fmpq], scale: int) -> list[Number]:
        """A point that satisfies the independent equalities, sides times `scale`: x moved in proportion to a box."""
        missing = [self.above[i] * scale - at(self.rows[i], x) for i in self.independent]
        if all(v == 0 for v in missing):
            return list(x)
        ctx.prec = TUNING.fine + 2 * len(missing)
        shares = solved(self.gram(box), missing)
        moves = combined([(s, self.rows[i]) for s, i in zip(shares, self.independent, strict=True)])
        return [v + r * moves[j] if r and j in moves else v for j, (v, r) in enumerate(zip(x, box, strict=True))]

    def prove(self, x: list[Number], scale: int) -> None:
        """All constraints hold at a point that satisfies the equalities; with 0 for their sides if `scale` is 0."""
        checks = [(at(row, x), a, b) for i, (row, a, b) in enumerate(self.sides) if i not in self.equal]
        checks += zip(x, self.lower, self.upper, strict=True)
        kept = all((a is None or v >= a * scale) and (b is None or v <= b * scale) for v, a, b in checks)
        demand(kept, "The point is not proven to keep the bounds of all variables and the finite rows.")
        for formula, (columns, steps, side) in ((f.formula, row) for f in self.families for row in f.rows):
            ctx.prec = TUNING.fine
            root = formula.combination([*(x[j] for j in columns), fmpq(-scale)], [*steps, side])
            budget[0] += TUNING.boxes * len(formula.order((root,)))
            demand(formula.never_positive(root), "A constraint is not proven for every index point.")


def lower_bound(model: Model, measure: dict[str, Any], c: list[fmpq], z: list[fmpq]) -> Number:
    """What the multipliers prove, written around a point z: c x is at least this for every feasible x."""
    table, weights = list[Side](), list[Number]()
    for atom in measure["atoms"]:
        family = model.families[whole(atom["family"], len(model.families))]
        y = tuple(numbers(atom["point"], family.set.dim))
        demand(all(side >= 0 for side in family.set.sides(y)), "An index point of the measure is not in the index set.")
        table.append(family.row(whole(atom["row"], len(family.rows)), y))
        weights.append(number(atom["multiplier"]))
    table, weights = [*table, *model.used], [*weights, *numbers(measure["rows"], len(model.rows))]
    balanced, basis = [whole(j, len(c)) for j in measure["balanced"]], [whole(k, len(table)) for k in measure["basis"]]
    demand(len(basis) == len(balanced), "As many multipliers as columns have to balance.")
    weights = [ZERO if k in basis else w for k, w in enumerate(weights)]
    reduced = combined([(ONE, dict(enumerate(c))), *((w, table[k][0]) for k, w in enumerate(weights) if w != 0)])
    system = [{k: table[b][0][j] for k, b in enumerate(basis) if j in table[b][0]} for j in balanced]
    for k, w in zip(basis, solved(system, [-reduced.get(j, ZERO) for j in balanced]), strict=True):
        weights[k] = w
    reduced = combined([(ONE, reduced), *((weights[k], table[k][0]) for k in basis)])
    total: Number = at(dict(enumerate(c)), z)
    for (row, a, b), w in zip(table, weights, strict=True):
        side = ZERO if w == 0 else b if w >= 0 or a == b else a if w <= 0 else None
        demand(side is not None, "A multiplier pushes against a side that its row does not have.")
        total -= w * (side - at(row, z))
    lower, upper = tightened(table, model.lower, model.upper)
    for j, r in ((j, r) for j, r in reduced.items() if j not in balanced):  # in balanced columns it vanishes
        ends = [end for end, asked in ((lower[j], not r <= 0), (upper[j], not r >= 0)) if asked]
        demand(all(e is not None for e in ends), "Something is left over in a variable without a bound.")
        total += min((ball((e - z[j]) * r).lower() for e in ends), default=ZERO)
    return total


def tightened(table: list[Side], lower: list[Any], upper: list[Any], passes: int = 3) -> tuple[list[Any], list[Any]]:
    """The bounds of all variables, and where one is missing what rows imply: x, y >= 0 and x + y = 1 leave x <= 1."""
    lower, upper = list(lower), list(upper)
    for row, *sides in table * passes:
        for side, sign in zip(sides, (-1, 1), strict=True):
            if side is None or not all(v > 0 or v < 0 for v in row.values()):
                continue
            factors = {j: sign * v for j, v in row.items()}
            least = {j: lower[j] if v > 0 else upper[j] for j, v in factors.items()}
            missing = [j for j, end in least.items() if end is None]
            room = sign * side - at({j: v for j, v in factors.items() if j not in missing}, least)
            for j in (missing or factors) if len(missing) <= 1 else ():
                ends = upper if factors[j] > 0 else lower
                if ends[j] is None:
                    ends[j] = ball(room + (ZERO if missing else factors[j] * least[j])) / factors[j]
    return lower, upper


def check(data: dict[str, Any]) -> str:
    """Prove what a proof claims, and say what that is; any error says that it is not proven, and why."""
    known = (data["format"], whole(data["version"], 10**9)) == (FORMAT, VERSION)
    readable(known, f"This is not a file of the format {FORMAT}, version {VERSION}.")
    ctx.prec, ctx.cap, budget[0] = TUNING.fine, 2, TUNING.most_steps
    status, tol, atol = data["status"], number(data["tol"]), number(data["atol"])
    ends = {"OPTIMAL": [True, True], "INFEASIBLE": [False, False], "UNBOUNDED": [False, True]}  # that are finite
    readable(status in ends, "The status is none that claims a proof.")
    demand(0 < tol < 1 and atol >= 0, "The tolerances are not between 0 and 1, and at least 0.")
    lower, upper = numbers([data["claim"]["lower"], data["claim"]["upper"]], 2, True)
    demand([lower is not None, upper is not None] == ends[status], "The bounds do not fit the status.")
    model, zero = Model(data["model"], data["point"]["dependent"]), [ZERO] * (n := len(data["model"]["c"]))
    demand(status == "OPTIMAL" or not model.dependent, "This must not rest on equalities up to rounding.")
    if status == "INFEASIBLE":
        demand(lower_bound(model, data["measure"], zero, zero) > 0, "The constraints do not contradict each other.")
        return "proven: no point satisfies all constraints"
    if status == "OPTIMAL":
        demand(0 <= upper - lower <= max(tol * abs(upper), tol * abs(lower), atol), "The gap is open, or reversed.")
        least = (lower_bound(model, data["measure"], model.c, z) for z in (zero, numbers(data["point"]["x"], n)))
        demand(any(v + model.constant >= lower for v in least), "The lower bound is more than the multipliers prove.")
    x, box = numbers(data["point"]["x"], n), numbers(data["point"]["box"], n) if data["point"]["box"] else zero
    near = model.exact(x, box, 1)
    demand(all(abs(a - b) <= r for a, b, r in zip(near, x, box, strict=True)), "The box holds no exact solution.")
    demand(at(dict(enumerate(model.c)), near) + model.constant <= upper, "The upper bound is too low.")
    model.prove(near, 1)
    if status == "UNBOUNDED":
        direction = numbers(data["direction"], n)
        direction = model.exact(direction, [abs(v) for v in direction], 0)
        demand(at(dict(enumerate(model.c)), direction) < 0, "The objective does not fall along the direction.")
        model.prove(direction, 0)
        return "proven: the point is feasible, and the objective improves without end from there"
    rounded = f", but for {len(model.dependent)} equalities that follow from others up to the rounding of their data"
    low, high = sorted(0 + (-v if data["model"]["maximise"] else v) for v in map(data["claim"].get, ("lower", "upper")))
    said = f"proven: the optimal value is between {low!r} and {high!r}"
    return f"{said} (tol = {data['tol']!r}, atol = {data['atol']!r}){rounded if model.dependent else ''}"


def main(arguments: list[str]) -> int:
    """Check one file; the exit code says what came of it."""
    try:
        readable(len(arguments) == 1, "usage: checker.py proof.json")
        print(check(json.loads(Path(arguments[0]).read_text(encoding="utf-8"))))
    except Exception as error:  # whatever a file makes go wrong, it is no proof
        why, code = error.args if isinstance(error, CheckError) else (error, 2)
        print(f"{WORDS[code]}: {str(why)[:500]}", file=sys.stderr)
        return code
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
