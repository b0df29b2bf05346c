"""What every index set can do. A new one is a subclass of `Domain` in a file of its own.

`tests/extensions/test_domain_template.py` is a complete small example, and `tests/extensions/domain_checks.py` checks
that a domain keeps the promises made here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Literal, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import ModelError
from ..legible import legibly, mathematics
from ..registered import Registered
from ..schema import Either, Schema, missing, number
from ..validation import Count, Distance, Natural, Seed, checked
from .points import additive_recurrence, as_points, distinct
from .proven import ScaledDirections, raised

Array = NDArray[np.float64]
Method = Literal["__call__", "reduce", "reduceat", "accumulate", "outer", "at"]  # of a ufunc

# What the arguments of methods are, of every index set.
CHECKED = {
    "contains": checked(tol=Distance),
    "sample": checked(n=Count, seed=Seed),
    "spread": checked(n=Natural),
    "grid": checked(per_axis=Natural),
}
END = Either(number, missing)  # of an interval or a box, in a file
KINDS: dict[str, type[Domain]] = {}  # those that files know, by their names
# What *, |, &, where and fixed make; each enters itself.
COMBINED: Registered[Callable[..., Domain]] = Registered(
    {"*": "domains", "|": "domains", "&": "expressions", "where": "expressions", "fixed": "expressions"}
)


class Vector(Protocol):
    """y in a formula: the numbers of a point, or an index expression. Both know NumPy's operators and functions."""

    def __getitem__(self, key: int | slice, /) -> Vector: ...

    def __sub__(self, other: Array | float, /) -> Vector: ...

    def __rsub__(self, other: Array | float, /) -> Vector: ...

    def __pow__(self, other: int, /) -> Vector: ...

    def __rmatmul__(self, other: Array, /) -> Vector: ...

    def __array_ufunc__(self, ufunc: np.ufunc, method: Method, *inputs: object, **kwargs: object) -> Any: ...


@dataclass(frozen=True, eq=False)
class Cell:
    """Part of a domain as branch-and-bound needs it: boxes, cut by inequalities that they share.

    Where the domain is flat, the boxes may be those of fewer coordinates z, of which y is a function.
    """

    lower: Array  # (K, k), lower corners of K boxes; a box with lower == upper is a point
    upper: Array  # (K, k)
    # z of shape (k,) -> (q,), all >= 0 on the domain in exact arithmetic, and some < 0 off it, up to rounding.
    # None: the boxes belong to the domain as they are.
    inside: Callable[[Vector], Any] | None
    # z of shape (k,) -> y of shape (m,), in exact arithmetic; None: the two are the same.
    place: Callable[[Vector], Any] | None = None


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Domain(ABC):
    """A nonempty compact set of index points y in R^m. Immutable; equal when built from equal arguments.

    An Interval and a Box may be unbounded; use such a set in `lsip.forall` only.

    Methods that take points accept one point (m,), many (N, m) and, when m = 1, many numbers (N,).

    Examples
    --------
    >>> import lsip
    >>> disc = lsip.Ball([0, 0], 2)
    >>> disc.dim, disc.contains([[1, 1], [2, 2]]).tolist(), disc.project([[3, 0]]).tolist()
    (2, [True, False], [[2.0, 0.0]])
    """

    scalar: ClassVar[bool] = False  # True when the index is a number t rather than a vector y
    filed: ClassVar[Schema]  # what `_arguments` are in a file, with `Domain` for any set; none if no file may have it
    convex: ClassVar[bool] = False  # True when it is known to hold the line between any two of its points

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "filed" in vars(cls):
            KINDS[cls.__name__] = cls
        for name, check in CHECKED.items():
            if callable(vars(cls).get(name)):
                setattr(cls, name, check(vars(cls)[name]))

    lower: Array  # (m,), the bounding box: tight, but for the rounding that makes it hold the whole set
    upper: Array  # (m,)

    @property
    def dim(self) -> int:
        """The length m of an index point."""
        return len(self.lower)

    @property
    def bounded(self) -> bool:
        """Whether no coordinate is infinite; of an Interval and a Box some may be."""
        return bool(np.isfinite(self.lower).all() and np.isfinite(self.upper).all())

    def fixed(self) -> Domain:
        """The set for the values that parameters have now: itself, unless inequalities with parameters cut it."""
        return COMBINED["fixed"](self)

    def _refuse_unbounded(self) -> None:
        """Raise where a set must have ends, to be searched or drawn from."""
        if not self.bounded:
            raise ModelError(
                f"{self} is unbounded: over it, lsip.forall takes formulas of the index, and nothing else can be done "
                "with it. Bound it, or substitute an index that is bounded, such as t = s / (1 - s)."
            )

    @property
    @abstractmethod
    def diameter(self) -> float:
        """The largest Euclidean distance of two points, or an upper bound where that is hard to find."""

    @property
    @abstractmethod
    def measure(self) -> tuple[int, float]:
        """The dimension of the set itself, at most m, and its volume in that dimension (a count in dimension 0)."""

    @abstractmethod
    def contains(self, y: ArrayLike, tol: float = 1e-9) -> NDArray[np.bool_]:
        """Which points belong to the domain: shape (N,).

        True at least of all points within distance `tol` of it; for coordinates beyond 1, `tol` is relative to them.
        """

    @abstractmethod
    def project(self, y: ArrayLike) -> Array:
        """The nearest points of the domain in the Euclidean norm: shape (N, m)."""

    @abstractmethod
    def place(self, u: Array) -> Array:
        """Map the unit cube, `u` of shape (N, `parameters`), evenly onto the domain: shape (N, m).

        Uniform u should give uniform points; a domain for which it does not must override `sample`.
        """

    @property
    def parameters(self) -> int:
        """The number of coordinates that `place` takes."""
        return self.dim

    @abstractmethod
    def cells(self) -> tuple[Cell, ...]:
        """Boxes and inequalities that together describe this set, and leave out none of its points."""

    @abstractmethod
    def _arguments(self) -> tuple[object, ...]:
        """What the constructor needs to build this domain again; defines equality, hash and repr."""

    def flat_cells(self) -> tuple[Cell, ...]:
        """The same in as few coordinates as the set has dimensions, where that is known."""
        return self.cells()

    def support(self, d: ArrayLike) -> tuple[Array, Array] | None:
        """Maximisers (N, m) of d[n] · y over the domain, and proven upper bounds (N,) of the maxima.

        None where there is no formula for them; constraints that are affine in the index are separated by it.
        """
        return None

    def exact_support(self, d: Sequence[Fraction]) -> Fraction | None:
        """The largest d · y in rational numbers, where it is one that can be had; asked where rounding decides."""
        return None

    def witness(self, y: ArrayLike) -> tuple[Array, Array]:
        """Boxes, lower and upper of shape (N, m), near the points y, each proven to contain a point of the domain.

        Most are points, lower == upper. Rows are nan where nothing could be proven: by default, everywhere but in boxes
        without inequalities. "Proven" means exact arithmetic or outward rounding; `contains` and `project` only round.
        """
        points = as_points(y, self.dim)
        proven = np.zeros(len(points), dtype=bool)
        for cell in self.cells():
            if cell.inside is None:
                for lower, upper in zip(cell.lower, cell.upper, strict=True):
                    proven |= ((points >= lower) & (points <= upper)).all(axis=1)
        known = np.where(proven[:, None], points, np.nan)
        return known, known.copy()

    def corners(self, y: Array) -> tuple[Array, Array]:
        """Points p (N, k, m) of the domain and shares t (N, k): each y of it is t p + (1 - t) q for some q of it.

        They tell how a function that is affine and nonnegative on the domain grows from y, where no axis leads out of y
        within the domain; by default there are none.
        """
        return np.zeros((len(y), 0, self.dim)), np.zeros((len(y), 0))

    def bend(self, y: Array) -> tuple[Array, Array] | None:
        """Outward normals (N, m) of a smooth boundary at points (N, m) on it, zero elsewhere, and its curvatures (N,).

        None where the boundary is flat; maximisers on a boundary that is equally curved in all directions move with x.
        """
        return None

    @CHECKED["sample"]
    def sample(self, n: int, seed: Seed = 0) -> Array:
        """Draw `n` uniform points, shape (n, m); the same seed gives the same points."""
        return self.place(np.random.default_rng(seed).random((n, self.parameters)))

    @CHECKED["spread"]
    def spread(self, n: int) -> Array:
        """Give about `n` points that cover the domain evenly, the same at every call."""
        return distinct(self.place(additive_recurrence(n, self.parameters)))

    @CHECKED["grid"]
    def grid(self, per_axis: int) -> Array:
        """Points of the uniform grid on the bounding box that belong to the domain, shape (N, m).

        Grid points just outside (whose projection lies within one step along every axis) are projected, so that curved
        boundaries are covered too. `per_axis=1` gives the centre of the bounding box, projected.
        """
        check_grid(per_axis, self.dim)
        self._refuse_unbounded()
        if per_axis == 1:
            return self.project((self.lower + self.upper)[None] / 2)
        points = box_grid(self.lower, self.upper, per_axis)
        step = (self.upper - self.lower) / (per_axis - 1)
        inside = self.contains(points)
        if inside.all():
            return distinct(points)
        near = points[~inside]
        near = near[self.contains(near, tol=float(np.linalg.norm(step)))]
        projected = self.project(near) if len(near) else near
        adjacent = (np.abs(projected - near) <= step * (1 + 1e-9)).all(axis=1)
        found = distinct(np.concatenate([points[inside], projected[adjacent]]))
        return found if len(found) else self.grid(1)

    def latex(self) -> str:
        """The set as LaTeX, without dollar signs."""
        return rf"\mathrm{{{mathematics(type(self).__name__)}}}"

    def _repr_latex_(self) -> str:
        return f"${self.latex()}$"

    def _set(self, **fields: object) -> None:
        """Fill the fields of a frozen instance, from its constructor only."""
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    def _slack(self, tol: float) -> float:
        """Absolute tolerance for membership: `tol`, relative to coordinates beyond 1."""
        return tol * max(1.0, float(np.abs(self.lower).max()), float(np.abs(self.upper).max()))

    def __mul__(self, other: Domain) -> Domain:
        return COMBINED["*"](self, other) if isinstance(other, Domain) else NotImplemented

    def __or__(self, other: Domain) -> Domain:
        return COMBINED["|"](self, other) if isinstance(other, Domain) else NotImplemented

    def __and__(self, other: Domain) -> Domain:
        return COMBINED["&"](self, other) if isinstance(other, Domain) else NotImplemented

    def where(self, rule: Callable[[Any], object]) -> Domain:
        """The points at which inequalities hold: `rule` takes the index and gives comparisons, one or a list of them.

        >>> import lsip
        >>> print(lsip.Box([0, -1], [1, 1]).where(lambda y: y[0] ** 3 >= y[1] ** 2))
        {y ∈ [0, 1] × [-1, 1] : y[0]³ ≥ y[1]²}
        """
        return COMBINED["where"](self, rule)

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        assert isinstance(other, Domain)
        return self is other or self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[object, ...]:
        frozen = ((a.shape, a.tobytes()) if isinstance(a, np.ndarray) else a for a in self._arguments())
        return (type(self), *frozen)

    @legibly
    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(_show, self._arguments()))})"


def box_grid(lower: Array, upper: Array, per_axis: int) -> Array:
    """The uniform grid on a box, corners included; one value on an axis of no width. Shape (N, m)."""
    axes = [np.linspace(a, b, per_axis) if b > a else np.array([a]) for a, b in zip(lower, upper, strict=True)]
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(axes))


def box_support(d: Array, lower: Array, upper: Array) -> tuple[Array, Array]:
    """Maximisers of d · y over a box, and proven upper bounds of the maxima."""
    y = np.where(d > 0, upper, lower)
    towards = ScaledDirections.of(d)
    terms = towards.unit * y
    return y, towards.given(raised(terms.sum(axis=1), np.abs(terms).sum(axis=1), len(lower) + 2))


def exact_box_support(d: Sequence[Fraction], lower: Array, upper: Array) -> Fraction | None:
    """The largest d · y over a box in rational numbers; None where it has no end."""
    if not np.isfinite([lower, upper]).all():
        return None
    sides = zip(d, lower.tolist(), upper.tolist(), strict=True)
    return sum((max(a * Fraction(low), a * Fraction(high)) for a, low, high in sides), Fraction(0))


def no_witness(y: Array) -> tuple[Array, Array]:
    """Boxes for points (N, m) near which no point of a domain is known."""
    return np.full(y.shape, np.nan), np.full(y.shape, np.nan)


def check_grid(per_axis: int, dim: int, most: int = 50_000_000) -> None:
    """Refuse grids whose points are more than `most` and would not fit in memory."""
    if float(per_axis) ** dim > most:
        raise ModelError(
            f"A grid of {per_axis} points per axis in dimension {dim} has {float(per_axis) ** dim:.1e} points, "
            f"more than {most:.0e}; use fewer per axis, or sample() or spread()."
        )


def _show(argument: object) -> str:
    if isinstance(argument, np.ndarray):
        if argument.size > 64:
            return f"<array of shape {argument.shape}>"
        return repr(argument.tolist())
    return repr(argument)


__all__ = ["Array", "Cell", "Domain", "Seed", "as_points", "box_grid", "box_support", "check_grid", "no_witness"]
