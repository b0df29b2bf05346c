"""Index sets cut by inequalities in the index: `Box([0, -1], [1, 1]).where(lambda y: y[0] ** 3 >= y[1] ** 2)`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from ..deadline import EFFORT
from ..domains import Box, Cell, Domain, Finite, Interval, Union
from ..domains.base import Array, Seed, Vector, as_points, no_witness
from ..domains.intersection import intersect
from ..domains.points import constant
from ..errors import ModelError
from ..legible import legibly
from ..schema import Schema
from ..validation import answer, shown
from .arrangements import Linear
from .graph import Condition, Constant, Expression, Index, as_expression
from .inequalities import Inequalities
from .printing import latex, text
from .substitution import substituted
from .tape import Tape

Rule = Callable[[Any], object]


@final
@dataclass(frozen=True, init=False, eq=False, repr=False)
class Region(Domain):
    """The points of a set at which inequalities hold: what `domain.where(lambda y: …)` makes.

    The inequalities are comparisons of index expressions, one or a list of them, and count with their boundary. It is
    proven that the set is not empty. The nearest points (`project`) are found by a local search from several points.

    >>> from lsip.domains import Box
    >>> cusp = Box([0, -1], [1, 1]).where(lambda y: y[0] ** 3 >= y[1] ** 2)
    >>> cusp.contains([[0.5, 0.3], [0.5, 0.4]])
    array([ True, False])
    """

    filed: ClassVar[Schema] = (Domain,)

    base: Domain
    conditions: tuple[Condition, ...]
    _inequalities: Inequalities
    _points: Array  # (K, m), points of the set

    def __init__(self, base: Domain, index: Index, conditions: tuple[Condition, ...]) -> None:
        u = as_expression(np.concatenate([np.reshape(c.u, (-1,)) for c in conditions]))
        inequalities = Inequalities(index, u)
        self._set(base=base, conditions=conditions, _inequalities=inequalities)
        lower, upper = self._outer_box()
        self._set(lower=constant(lower, "lower", 1), upper=constant(upper, "upper", 1))
        self._set(_points=self._found())

    @property
    def index(self) -> Index:
        """The index in the inequalities."""
        return self._inequalities.index

    @property
    def tape(self) -> Tape:
        """The inequalities, in order: formulas that are nowhere negative on the set."""
        return self._inequalities.tape

    def _outer_box(self) -> tuple[Array, Array]:
        cells = self.base.cells()
        spread = self.base.spread(EFFORT.unwatched)
        known = spread[self._keeps(spread)]
        found = [self._on(cell).outer_box(cell.lower, cell.upper, known) for cell in cells]
        boxes = [box for box in found if box is not None]
        if not boxes:
            raise ModelError(f"{self} is empty: its inequalities hold nowhere on {self.base}, which is proven.")
        lower, upper = np.min([low for low, _ in boxes], axis=0), np.max([high for _, high in boxes], axis=0)
        return np.maximum(lower, self.base.lower), np.minimum(upper, self.base.upper)

    def _on(self, cell: Cell) -> Inequalities:
        """The inequalities together with those of a cell of the base."""
        y = self._inequalities.index
        if cell.inside is None:
            return self._inequalities
        flat: Any = np.reshape(y, (-1,))
        own = as_expression(cell.inside(flat))
        return Inequalities(y, as_expression(np.concatenate([self._inequalities.u, own])))

    def _found(self) -> Array:
        """Points of the set, which are proven to lie in it."""
        spread = np.concatenate([self.base.spread(EFFORT.unwatched), self._near_boundary()])
        points = spread[self._keeps(spread)]
        lower, upper = self.base.witness(points) if len(points) else no_witness(points)
        proven = (lower == upper).all(axis=1) & self._inequalities.hold(points, points)
        proven &= (lower == points).all(axis=1)
        if not proven.any():
            lower, upper = self.base.witness(points) if len(points) else no_witness(points)
            proven = np.asarray(~np.isnan(lower).any(axis=1))
            proven[proven] = self._inequalities.hold(lower[proven], upper[proven])
            points = np.where(proven[:, None], lower, points)
        if not proven.any():
            raise ModelError(
                f"No point is proven to lie in {self}: it is empty, or has no room inside. Give the set by fewer "
                "coordinates, or loosen an inequality a little."
            )
        return points[proven]

    def _near_boundary(self) -> Array:
        """Points of the bounding box, moved to where the inequalities hold: a thin set is missed by spread points."""
        size = self._size
        start = Box(self.lower, self.upper).spread(EFFORT.unwatched // 10)
        parts = [self._on(cell) for cell in self.base.cells()]
        moved = [part.nearest(start, start, self.lower, self.upper, size) for part in parts]
        return np.concatenate([start, *(self.base.project(z[kept]) for z, kept in moved if kept.any())])

    @property
    def _size(self) -> float:
        return float(np.linalg.norm(self.upper - self.lower)) or 1.0

    @property
    def scalar(self) -> bool:  # type: ignore[override]
        """As the index of the set that it is cut from."""
        return self.base.scalar

    @property
    def diameter(self) -> float:
        """The diagonal of the bounding box, or the diameter of what it is cut from: an upper bound."""
        return min(float(np.linalg.norm(self.upper - self.lower)), self.base.diameter)

    @cached_property
    def measure(self) -> tuple[int, float]:
        """The share of the set that it is cut from, estimated by samples."""
        drawn = self._around.sample(self._most_draws)
        dimension, volume = self._around.measure
        return dimension, volume * max(float(np.mean(self._keeps(drawn))), 1.0 / self._most_draws)

    @property
    def _most_draws(self) -> int:
        """Samples drawn at a time; where none of so many lies inside, there are no uniform samples."""
        return EFFORT.batch // self.dim

    @cached_property
    def _around(self) -> Domain:
        """What samples are drawn from."""
        if isinstance(self.base, Interval):
            return Interval(float(self.lower[0]), float(self.upper[0]))
        return Box(self.lower, self.upper) if isinstance(self.base, Box) else self.base

    def _keeps(self, y: Array) -> NDArray[np.bool_]:
        """Which points of the base keep the inequalities, as far as floats can tell."""
        with np.errstate(all="ignore"):
            return np.asarray((self._inequalities.values(y) >= 0).all(axis=1))

    def contains(self, y: ArrayLike, tol: float = 1e-9) -> NDArray[np.bool_]:
        """Whether the base contains the point and the inequalities hold, or a point within `tol` is one of the set."""
        points = as_points(y, self.dim, finite=False)
        slack = self._slack(tol)
        inside: NDArray[np.bool_] = np.asarray(np.isfinite(points).all(axis=1))
        inside &= ((points >= self.lower - slack) & (points <= self.upper + slack)).all(axis=1)
        inside[inside] = self.base.contains(points[inside], tol)
        open_rows = np.flatnonzero(inside)
        open_rows = open_rows[~(self._keeps(points[open_rows]) & self.base.contains(points[open_rows], 0.0))]
        # Where inequalities are proven to fail all around, there is nothing to look for.
        failed = self._inequalities.fail(points[open_rows] - slack, points[open_rows] + slack)
        inside[open_rows[failed]] = False
        open_rows = open_rows[~failed]
        if len(open_rows):
            nearest = self.project(points[open_rows])
            inside[open_rows] = np.linalg.norm(nearest - points[open_rows], axis=1) <= slack
        return inside

    def project(self, y: ArrayLike) -> Array:
        """The nearest of the points that a local search finds from several points of the set."""
        points = as_points(y, self.dim)
        found = self.base.project(points)
        outside = np.flatnonzero(~self._keeps(found))
        if len(outside):
            found[outside] = self._nearest(points[outside], found[outside])
        return found

    def _nearest(self, y: Array, start: Array) -> Array:
        distances = ((y[:, None] - self._points) ** 2).sum(axis=2) if len(y) * len(self._points) < 1e7 else None
        if distances is None:
            half = len(y) // 2
            return np.concatenate([self._nearest(y[:half], start[:half]), self._nearest(y[half:], start[half:])])
        near = np.argsort(distances, axis=1)[:, :2]
        best = self._points[near[:, 0]]
        shortest = distances[np.arange(len(y)), near[:, 0]]
        for part in [self._on(cell) for cell in self.base.cells()]:
            for begin in (start, *(self._points[near[:, k]] for k in range(near.shape[1]))):
                z, kept = part.nearest(y, begin, self.lower, self.upper, self._size)
                length = ((z - y) ** 2).sum(axis=1)
                better = kept & (length < shortest)
                best, shortest = np.where(better[:, None], z, best), np.where(better, length, shortest)
        return best

    @property
    def parameters(self) -> int:
        """Those of the set that it is cut from."""
        return self._around.parameters

    def place(self, u: Array) -> Array:
        """As the set that it is cut from, and what lies outside to the nearest point."""
        return self.project(self._around.place(u))

    def sample(self, n: int, seed: Seed = 0) -> Array:
        """Draw from the set that it is cut from, and keep what is inside."""
        rng = np.random.default_rng(seed)
        kept, draws = np.empty((0, self.dim)), 2 * n + 16
        while len(kept) < n:
            drawn = self._around.sample(draws, rng)
            inside = drawn[self._keeps(drawn)]
            if not len(inside) and draws >= self._most_draws:
                raise ModelError(f"{self} is too thin for uniform samples: of {draws} draws, none lies inside.")
            kept = np.concatenate([kept, inside])
            draws = min(2 * draws, self._most_draws) if len(inside) < draws // 4 else draws
        return kept[:n]

    def witness(self, y: ArrayLike) -> tuple[Array, Array]:
        """Move inwards, by an ulp, two, four, …, until the base and the inequalities are proven to hold.

        At a cusp no inequality says where that is: some axis does, or the way to a point that is known to lie inside.
        """
        start = self.project(y)
        lower, upper = self._proven(start)
        nearest = self._points[((start[:, None] - self._points) ** 2).sum(axis=2).argmin(axis=1)] - start
        axes = self._size * np.concatenate([np.eye(self.dim), -np.eye(self.dim)])
        ways = [self._inward(start), nearest, *(np.broadcast_to(axis, start.shape) for axis in axes)]
        for i in range(51):  # doublings of an ulp, until the point is proven to lie inside
            for along in ways:
                todo = np.flatnonzero(np.isnan(lower).any(axis=1))
                if not len(todo):
                    return lower, upper
                step = 2.0 ** (i - 50)
                lower[todo], upper[todo] = self._proven(start[todo] + step * along[todo])
        return lower, upper

    def _proven(self, y: Array) -> tuple[Array, Array]:
        """Boxes near points, with a point of the base, on which the inequalities hold; nan where that is not known."""
        lower, upper = self.base.witness(y)
        known = np.asarray(~np.isnan(lower).any(axis=1))
        known[known] = self._inequalities.hold(lower[known], upper[known])
        return np.where(known[:, None], lower, np.nan), np.where(known[:, None], upper, np.nan)

    def _inward(self, y: Array) -> Array:
        """Where all inequalities that are almost equalities grow, with the length of the set."""
        with np.errstate(all="ignore"):
            value, slope, _ = self._inequalities.tape.derivatives(y, 1)
            length = np.linalg.norm(slope, axis=0)
            close = np.isfinite(length) & (length > 0) & (value < 1e-6 * length * self._size)
            unit = np.where(close, slope / np.where(close, length, 1.0), 0.0).sum(axis=2).T
        size = np.linalg.norm(unit, axis=1, keepdims=True)
        return self._size * np.where(size > 0, unit / np.where(size > 0, size, 1.0), 0.0)

    def cells(self) -> tuple[Cell, ...]:
        """Those of the base within the bounding box, cut by the inequalities too."""
        return tuple(cut for cell in self.base.cells() if (cut := self._cut(cell)) is not None)

    def flat_cells(self) -> tuple[Cell, ...]:
        """The same in few coordinates."""
        return tuple(cut for cell in self.base.flat_cells() if (cut := self._cut(cell)) is not None)

    def _cut(self, cell: Cell) -> Cell | None:
        lower, upper = cell.lower, cell.upper
        if cell.place is None:
            lower, upper = np.maximum(lower, self.lower), np.minimum(upper, self.upper)
        left = (lower <= upper).all(axis=1)
        if not left.any():
            return None
        return Cell(lower[left], upper[left], _Inside(self._inequalities, cell), cell.place)

    def _arguments(self) -> tuple[object, ...]:
        return self.base, *self._steps

    @cached_property
    def _steps(self) -> tuple[object, ...]:
        """What makes the inequalities what they are: the steps that compute them."""
        written = self.tape.written
        return tuple((type(node).__name__, args, _detail(node)) for _, node, args in written.steps())

    def __reduce__(self) -> tuple[object, ...]:
        return Region, (self.base, self._inequalities.index, self.conditions)

    @legibly
    def __repr__(self) -> str:
        return f"Region({self.base!r}, {', '.join(map(text, self.conditions))!r})"

    @legibly
    def __str__(self) -> str:
        name = text(self._inequalities.index)
        return f"{{{name} ∈ {self.base} : {', '.join(map(text, self.conditions))}}}"

    def latex(self) -> str:
        """The base, and the inequalities."""
        name = latex(self._inequalities.index)
        return rf"\{{{name} \in {self.base.latex()} : {', '.join(map(latex, self.conditions))}\}}"


@dataclass(frozen=True, eq=False)
class _Inside:
    """The inequalities of a cell of the base, then those that cut it, of the coordinates of the cell."""

    inequalities: Inequalities
    cell: Cell

    def __call__(self, z: Vector) -> Any:
        y: Any = z if self.cell.place is None else self.cell.place(z)
        index = self.inequalities.index
        if isinstance(y, Expression):
            own: Any = substituted(self.inequalities.u, {index: as_expression(np.reshape(y, index.shape))})
        else:
            own = self.inequalities.values(np.asarray(y, dtype=float)[None])[0]
        return own if self.cell.inside is None else np.concatenate([self.cell.inside(z), own])


def _detail(node: Expression) -> object:
    """What a step is beside its kind and its arguments."""
    if isinstance(node, Constant):
        return node.rounded, node.shape, node.value.tobytes()
    if isinstance(node, Linear):
        matrix = sparse.csr_array(node.matrix)
        return matrix.shape, *(part.tobytes() for part in (matrix.indptr, matrix.indices, matrix.data))
    return 0 if isinstance(node, Index) else node.key()


def cut(domain: Domain, rule: Rule) -> Domain:
    """What `domain.where(rule)` is for numbers: a Region, or the same of members of a union and of single points."""
    if isinstance(domain, Union):
        return _every([(member, rule) for member in domain.members])
    if isinstance(domain, Region):
        index = domain._inequalities.index
        return Region(domain.base, index, (*domain.conditions, *asked(rule, index)))
    index = Index("t" if domain.scalar else "y", domain)
    conditions = asked(rule, index)
    return _points(domain, index, conditions) if isinstance(domain, Finite) else Region(domain, index, conditions)


def asked(rule: Rule, index: Index) -> tuple[Condition, ...]:
    """The inequalities that a function of the index gives."""
    if not callable(rule):
        raise ModelError(f"where takes a function, as in domain.where(lambda y: y[0] >= 0); got {shown(rule)}.")
    given = answer("where", rule, index)
    found = tuple(given) if isinstance(given, list | tuple) else (given,)
    for condition in found:
        if not isinstance(condition, Condition):
            raise ModelError(
                "where needs comparisons of index expressions, one or a list of them, as in domain.where(lambda y: "
                f"y[0] ** 3 >= y[1] ** 2); got {shown(condition)}."
            )
        if condition.strict:
            raise ModelError(f"An index set counts with its boundary: write <= or >= in {condition}.")
        others = [i.name for i in condition.u.indices() if i is not index]
        if others or not condition.u.indices():
            raise ModelError(
                f"{condition} must be about {index.name}, the argument of the function, alone; it depends on "
                f"{', '.join(others) or 'no index at all'}."
            )
    if not found:
        raise ModelError("where was given no comparison.")
    return found


def _points(domain: Finite, index: Index, conditions: tuple[Condition, ...]) -> Finite:
    """The points at which inequalities hold."""
    u = as_expression(np.concatenate([np.reshape(c.u, (-1,)) for c in conditions]))
    inequalities = Inequalities(index, u)
    held, failed = (ask(domain.points, domain.points) for ask in (inequalities.hold, inequalities.fail))
    if not (held | failed).all():
        unclear = domain.points[int(np.argmin(held | failed))]
        raise ModelError(
            f"Rounding leaves open whether the point {unclear.tolist()} keeps the inequalities; leave it out."
        )
    if not held.any():
        raise ModelError(f"The set is empty: no point of {domain} keeps the inequalities.")
    return Finite(domain.points[held])


def _every(parts: list[tuple[Domain, Rule]]) -> Domain:
    """The union of those parts that are not empty."""
    found, reason = [], None
    for domain, rule in parts:
        try:
            found.append(cut(domain, rule))
        except ModelError as error:
            if "is empty: " not in str(error):
                raise
            reason = error
    if not found:
        assert reason is not None
        raise reason
    return found[0] if len(found) == 1 else Union(*found)


def meet(a: Domain, b: Domain) -> Domain:
    """a & b, where one of them may be cut by inequalities."""
    if not isinstance(a, Region):
        a, b = b, a
    if not isinstance(a, Region):
        return intersect(b, a)
    if isinstance(b, Union | Finite):
        return intersect(b, a)
    base = a.base & (b.base if isinstance(b, Region) else b)
    index = Index(a._inequalities.index.name, base)
    if index.shape != a._inequalities.index.shape:
        raise ModelError(f"{a} has a number as its index, and {b} a vector: write both alike, with Interval or Box.")
    conditions = [
        replace(c, u=substituted(c.u, {part._inequalities.index: index}))
        for part in (a, b)
        if isinstance(part, Region)
        for c in part.conditions
    ]
    return Region(base, index, tuple(conditions))
