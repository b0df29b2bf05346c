"""What every separation oracle speaks: it maximises a `Violation` over its domain and returns a `Separation`.

What an oracle needs beyond values and derivatives is a capability, and has a protocol of its own: enclosures of rows
over boxes are those of an `EnclosableViolation`. Oracles ask for protocols, never for the classes that implement them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, Protocol, TypeGuard, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ..domains import Cell, Domain
from ..errors import ModelError
from ..rounding import check_rounding
from ..validation import Distance, Level, Seed, checked, shown

if TYPE_CHECKING:
    from ..expressions.directions import Choices
    from ..expressions.graph import Index
    from ..expressions.interval import Interval
    from ..expressions.quadratics import Quadratic
    from ..expressions.ring import Polynomial
    from ..expressions.tape import Tape
    from ..expressions.waves import Waves

Array = NDArray[np.float64]
Ints = NDArray[np.intp]
Pieces = NDArray[np.int8] | None
Enclosure = Callable[[Array, Array, Pieces, int], tuple["Quadratic", "Quadratic | None", NDArray[np.bool_] | None]]
OWN_WORD = "the bound is the oracle's own word"


class Work(NamedTuple):
    """An estimate of the work that is left for a proof, in boxes and seconds."""

    boxes: float
    seconds: float


@dataclass(frozen=True, eq=False)
class Separation:
    """The worst index points found, and what is proven about all the others."""

    points: Array  # (k, m), all in the domain, worst first
    values: Array  # (k,), attained at the points
    bound: float  # sup over the domain (and over all components) is at most this; inf if nothing is proven
    components: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.intp))  # (k,), the row of each point
    rows: tuple[Array, Array] | None = None  # coefficients (k, K) and rhs (k,) of those rows, if they are known already
    trusts: tuple[str, ...] = (OWN_WORD,)  # what a finite bound takes on trust; empty where lsip itself has proven it
    estimate: float = np.inf  # what the supremum probably does not exceed: a guess that nothing is proven from
    work: Work | None = None  # what a proof that ended before its target would still have taken, about

    @property
    def worst(self) -> float:
        """The largest value attained (-inf when no point was returned)."""
        return float(self.values.max()) if len(self.values) else -np.inf


class Violation(Protocol):
    """A function g(y) with p components, to be maximised over y in `domain` and over the components."""

    @property
    def components(self) -> int:
        """How many components g has: p."""

    @property
    def domain(self) -> Domain:
        """The index set over which g is to be maximised; a proof is about this set and no other."""

    def values(self, y: Array) -> Array:
        """g at the points y (N, m): shape (N, p)."""

    def derivatives(self, y: Array, component: Ints) -> tuple[Array, Array, Array] | None:
        """Value (N,), gradient (N, m) and Hessian (N, m, m) of one component a point; None for a black box."""


def check_violation(name: str, value: object) -> None:
    """Refuse what is no violation: names, numbers, classes; and to prove anything where rounding is not to nearest."""
    check_rounding()
    if isinstance(value, type) or not all(hasattr(value, part) for part in ("domain", "components", "values")):
        raise ModelError(f"`{name}` is one such as problem.compile().violation(0, x); got {shown(value)}.")


def check_enclosable(name: str, value: object) -> None:
    """Refuse what is no violation whose rows are known."""
    check_violation(name, value)
    if not hasattr(value, "family"):
        raise ModelError(f"`{name}` must know its rows, as problem.compile().violation(0, x) does; got {shown(value)}.")


class AffineForm(Protocol):
    """Rows that are affine in the index: value + slope · y, known up to a doubt."""

    def weighted(self, w: Array) -> tuple[Array, Array, Array, Array]:
        """The rows times weights w (p, K + 1), as v + d · y: v (p,) and its doubt, d (p, m) and its doubt."""

    def swing(self, reach: Array, spread: Array) -> Array:
        """How far rows (p,) move with weights within `spread` (p, K + 1), at most, where |y| <= reach (m,)."""

    def fractions(self, w: Array, row: int) -> tuple[Fraction, list[Fraction]] | None:
        """A row times weights w (K + 1,), as v + d · y, in rational numbers; None where something of it is in doubt."""


class EnclosureMemory(Protocol):
    """What a branch-and-bound keeps of a family between calls; `Memory` is it."""

    def take(self, family: Rows, domain: Domain) -> Any:
        """Covers (boxes with their enclosures), one for each cell of `domain`, which are nobody else's."""

    def keep(self, partition: Any) -> None:
        """Put them back for the next call."""

    def forget(self) -> None:
        """Keep nothing: the next proof begins anew."""


class Rows(Protocol):
    """What a proof needs to know of rows a(y) x <= b(y): p of them for every index point, K coefficients each."""

    @property
    def source(self) -> RowKind:
        """What the rows are, in their own units; whether it can more, its protocols say (see `capable`)."""

    @property
    def units(self) -> Array | None:
        """(p, K + 1), powers of two that all numbers of the source are multiplied by; None for none."""

    @property
    def domain(self) -> Domain:
        """The whole index set."""

    @property
    def columns(self) -> Ints:
        """(p, K): the variables that the coefficients of each row belong to."""

    @property
    def enclosable(self) -> bool:
        """Whether `quadratics` proves anything."""

    @property
    def linear(self) -> AffineForm | None:
        """The rows as functions of the index, if they are known to be affine in it."""

    @property
    def memory(self) -> EnclosureMemory:
        """What a branch-and-bound keeps between calls, which does not depend on x."""

    @property
    def data_key(self) -> Hashable:
        """Of what else the enclosures depend on than the index set; equal for equal data."""

    def rows(self, y: Array) -> tuple[Array, Array]:
        """Coefficients (N, p, K) and right-hand sides (N, p) at the points y (N, m)."""

    def quadratics(self, cell: Cell) -> Enclosure:
        """Enclosures over boxes of a cell: of all (p, K + 1) numbers, and of functions that are >= 0 on the domain."""

    def enclosed(self, lower: Array, upper: Array, component: Ints) -> tuple[Interval, Interval]:
        """Outward-rounded coefficients (N, K) and right-hand sides (N,) of row `component[n]` over the n-th box."""

    def polynomial(self, component: int, weights: Array) -> Polynomial | None:
        """Row `component`, rhs last, times weights (K + 1,), if it is a polynomial in the index; None if not."""


class RowKind(Protocol):
    """What rows are, whatever their units: formulas, functions, samples."""

    @property
    def differentiable(self) -> bool:
        """Whether expansions of a higher order are sharper."""

    def trusts(self, domain: Domain) -> tuple[str, ...]:
        """What enclosures over this index set take on trust, in sentences; empty for a formula."""


def capable(family: Rows) -> object:
    """Whom to ask for further capabilities of rows; None where units stand in between."""
    return family.source if family.units is None else None


def visible(family: Rows) -> Domain:
    """The index set without directions: what people see of it, and what a branch-and-bound splits."""
    source: object = family.source
    return source.entries.domain if isinstance(source, Directed) else family.domain


class Renewal(NamedTuple):
    """What has changed of rows."""

    rows: Ints  # (p,), which row each was before; -1 for one that is new
    places: Ints  # which of the numbers that `quadratics` encloses differ
    enclose: Enclosure  # encloses these


@runtime_checkable
class Renewable(Protocol):
    """Rows whose numbers may change, and which know what has changed."""

    def renewal(self, cell: Cell, before: Hashable) -> Renewal | None:
        """What differs from the rows of that `data_key`; None where everything may."""


@runtime_checkable
class Taped(Protocol):
    """Rows that are formulas."""

    def taped(self, cell: Cell) -> Tape:
        """All numbers as functions of the coordinates of a cell that no inequalities cut."""


@runtime_checkable
class Wavy(Protocol):
    """Rows that may be made of cosines and sines of a scalar index."""

    @property
    def waves(self) -> Waves | None:
        """The numbers of all rows (p (K + 1),), rhs last in each, as waves; None if none of them is one."""


@runtime_checkable
class EnclosableViolation(Violation, Protocol):
    """g(y) = (a(y), b(y)) · w for rows of a family and weights w = (x, -scale), or the largest over a box of weights.

    What it can be asked for is said by its rows: `family.enclosable` and `family.linear`.
    """

    @property
    def family(self) -> Rows:
        """The rows."""

    @property
    def weights(self) -> Array:
        """(p, K + 1), the middles of the weights."""

    @property
    def spread(self) -> Array | None:
        """(p, K + 1), their half-widths; None where they are points. A bound holds for every choice of weights."""

    def at(self, y: Array, component: Ints) -> Array:
        """Component `component[n]` at the point y[n]: shape (N,)."""


class Worst(Protocol):
    """Rows that are largest over a direction in closed form, given the entries that they are made of."""

    @property
    def index(self) -> Index:
        """The directions."""

    @property
    def sharp(self) -> bool:
        """Whether worst directions attain what `value` says."""

    @property
    def choices(self) -> Sequence[Choices] | None:
        """The rows as sums of maxima of finitely many pieces; None where some direction is not among finitely many."""

    def value(self, q: Array) -> Array:
        """The rows (..., p) for entries (..., P), rounded."""

    def above(self, q: Array, doubt: Array) -> Array:
        """Proven upper bounds (..., p), for all entries that are off from q (..., P) by no more than their `doubt`."""

    def model(self, levels: Array, doubt: Array, m: int) -> tuple[Array, Array]:
        """Quadratics (..., p, levels) on boxes that rows do not exceed by more than what is left (..., p)."""

    def stretched(self, bound: Array) -> Array:
        """Bounds (..., p) of rows for all directions, from those that the others give."""

    def swing(self, doubt: Array) -> Array:
        """By how much rows move at most, where no entry moves by more than its `doubt`."""

    def worst(self, q: Array) -> Array:
        """A worst direction of every row, (..., p, dim)."""


@runtime_checkable
class Directed(Protocol):
    """Rows over indices and directions, of which a worst one is known for every index."""

    @property
    def worst(self) -> Worst:
        """How the rows come about from entries."""

    @property
    def entries(self) -> Rows:
        """The entries, which depend on the indices alone."""

    def of_entries(self, weights: Array) -> Array:
        """Weights (p, K + 1) of rows as those of the entries, (P, K + 1)."""

    def indices_of(self, domain: Domain) -> Domain | None:
        """The set of the indices alone, where `domain` is a product of one with the set of all directions."""


class Weighted(NamedTuple):
    """Rows, and the weights of an `EnclosableViolation`."""

    family: Rows
    weights: Array
    spread: Array | None


def reversible(values: Array, *factors: Array) -> bool:
    """Whether values times factors, one after the other, are undone by dividing by them."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        for factor in factors:
            moved = values * factor
            if not (moved / factor == values).all() or (np.isinf(moved) != np.isinf(values)).any():
                return False
            values = moved
    return True


def without_units(family: Rows, weights: Array, spread: Array | None) -> Weighted | None:
    """The rows as they were written, and the weights that give the same; None where these under- or overflow."""
    units = family.units
    if units is None or not all(reversible(w, units) for w in (weights, spread) if w is not None):
        return None
    written = replace(family, units=None)  # type: ignore[type-var]  # families with units are dataclasses
    return Weighted(written, weights * units, None if spread is None else spread * units)


def unscaled(violation: EnclosableViolation) -> Weighted:
    """The rows of a violation in the units that they were written in: what is known of them holds in all units."""
    parts = violation.family, violation.weights, violation.spread
    return without_units(*parts) or Weighted(*parts)


def can_enclose(violation: Violation) -> TypeGuard[EnclosableViolation]:
    """Whether the violation can be bounded over boxes."""
    return isinstance(violation, EnclosableViolation) and violation.family.enclosable


@runtime_checkable
class Oracle(Protocol):
    """A separation method. Implementations are frozen dataclasses: their options, and this one method.

    What else the solver may make use of is optional: a method `within` (see `Timed`), and the class attributes
    `instant` and `costly` (see `is_instant` and `is_costly`).
    """

    def maximise(self, violation: Violation, *, target: float = 0.0, seed: int = 0) -> Separation:
        """Look for the largest value of `violation` over its domain.

        `target` is the largest value that the caller tolerates: nothing needs to be proven more sharply than that.
        `seed` makes oracles that sample reproducible.
        """


@runtime_checkable
class Timed(Protocol):
    """An oracle that accepts a time limit."""

    def within(self, seconds: float, near: float) -> Oracle:
        """The same oracle, ending after `seconds`; values so `near` below the target count as violations."""


@checked(seconds=Level, near=Distance)
def tuned(oracle: Oracle, *, seconds: float = np.inf, near: float = 0.0) -> Oracle:
    """The oracle with that much time and room, if it can make use of them; no time at all once a deadline is over."""
    return oracle.within(max(seconds, 0.0), near) if isinstance(oracle, Timed) else oracle


maximises = checked(violation=Annotated[Any, check_violation], target=Level, seed=Seed)  # what is given to an oracle


def is_instant(oracle: Oracle) -> bool:
    """Whether an oracle costs no more than evaluating a few rows."""
    return bool(getattr(oracle, "instant", False))


def is_costly(oracle: Oracle) -> bool:
    """Whether an oracle is so expensive that it should run only after samples show no violation."""
    return bool(getattr(oracle, "costly", False))
