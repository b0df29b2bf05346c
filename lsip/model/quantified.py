"""Constraints for all values of indices as families of rows: over which columns, with which coefficients."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..domains import Domain, Finite, Product
from ..errors import ModelError
from ..expressions.affine import Affine, Constraint, Term, Variable, enclosed
from ..expressions.arrangements import Gather, Join, Linear
from ..expressions.convex_rows import ConvexConstraint
from ..expressions.graph import Constant, Expression, Index
from ..expressions.operations import Negate
from ..expressions.parameter import Parameter, Values
from ..expressions.sums import DoubleDouble, together, totals
from ..expressions.undefined import coordinates
from .callables import FamilyOn, compile_family
from .declared_rows import DeclaredRows
from .directed_rows import DirectedRows
from .families import RowFamily
from .legend import Legend

Offsets = dict[Variable, Any]


class Quantified(Protocol):
    """A constraint for every value of its indices; `ForAll` is it."""

    @property
    def indices(self) -> tuple[Index, ...]: ...
    @property
    def directions(self) -> tuple[Index, ...]: ...
    @property
    def constraint(self) -> Constraint: ...
    @property
    def parameters(self) -> tuple[Parameter, ...]: ...
    @property
    def label(self) -> str: ...


@runtime_checkable
class Reworded(Protocol):
    """A statement that is solved in other words; `Restated` is it."""

    def said(self, values: Values) -> tuple[Any, ...]:
        """The statements that stand for it, the same ones for the same values of parameters."""

    def anew(self, values: Values) -> tuple[Any, ...]:
        """Such statements, made now."""


Groups: TypeAlias = tuple[tuple[Quantified, ...], ...]  # of constraints that share one family
ONCE = Index("once", Finite([[0.0]]))  # the one point over which rows with enclosed coefficients are a family


@dataclass(frozen=True, eq=False)
class Once:
    """A finite row whose coefficients are enclosed, as a constraint over one point."""

    constraint: Constraint
    indices: tuple[Index, ...] = (ONCE,)
    directions: tuple[Index, ...] = ()

    def __post_init__(self) -> None:
        if any(np.isinf(part.numbers.value).any() for part in self.constraint.body.constants):
            raise ModelError(f"{self.label} always holds, since no number is infinite: leave it out.")
        if self.constraint.equality:
            raise ModelError(
                f"{self.label} is an equality with coefficients that no doubles are, such as integrals, and no x is "
                "proven to satisfy it exactly. Write two inequalities with some room between them."
            )

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        return self.constraint.parameters

    @property
    def label(self) -> str:
        return self.constraint.label


def labels_of(constraint: Constraint) -> tuple[str, ...]:
    """What each row of a constraint is called."""
    name, body = constraint.label, constraint.body
    several = f"{name if constraint.name else f'({name})'}[{{}}]".format
    if isinstance(constraint, ConvexConstraint) and constraint.elements is not None:
        one = constraint.written.size == 1
        return tuple(name if one or i < 0 else several(i) for i in constraint.elements.tolist())
    return (name,) if body.size == 1 else tuple(several(i) for i in range(body.size))


def family_of(members: tuple[Quantified, ...], offsets: Offsets, values: Values) -> RowFamily:
    """Constraints over the same indices as one family, so that they share all work on the index."""
    indices = members[0].indices
    if members[0].directions:
        return _directed(members[0], offsets, values)
    bodies = [m.constraint.body for m in members]
    body = Affine.join(bodies) if len(members) > 1 else bodies[0]

    def name() -> str:
        return "; ".join(m.label for m in members)

    def labels() -> tuple[str, ...]:
        return tuple(label for m in members for label in labels_of(m.constraint))

    legend = Legend(name, labels, coordinates(indices), indices, 0 if isinstance(members[0], Once) else None)
    return declared_family(legend, _product([i.domain for i in indices]), body, offsets, values, _origins(members))


def _origins(members: tuple[Quantified, ...]) -> tuple[Hashable, ...]:
    return tuple((m, i) for m in members for i in range(m.constraint.body.size))


def _directed(member: Quantified, offsets: Offsets, values: Values) -> RowFamily:
    """A constraint for all directions, of which a worst one is known in closed form for every index."""
    constraint = member.constraint
    assert isinstance(constraint, ConvexConstraint)
    assert constraint.worst is not None
    assert constraint.entries is not None
    indices = member.indices or (Index("nothing", Finite([[0.0]])),)
    every = (*indices, *member.directions)
    domains = [i.domain for i in every]
    seen = Legend(member.label, (), coordinates(indices), indices)
    entries = declared_family(seen, _product(domains[:-1]), constraint.entries, offsets, values)
    shown = sum(i.domain.dim for i in member.indices)
    legend = Legend(member.label, labels_of(constraint), coordinates(every), every, shown)
    outputs, columns = arranged(constraint.body, offsets)
    made = legend, _product(domains), outputs, values, _origins((member,))
    return RowFamily(DirectedRows(*made, worst=constraint.worst, entries=entries, columns=columns), columns)


def _product(domains: Sequence[Domain]) -> Domain:
    return domains[0] if len(domains) == 1 else Product(*domains)


def applied_family(c: FamilyOn, offsets: Offsets) -> RowFamily:
    """A family of functions, over the variables that it is applied to."""
    place = np.zeros(c.body.size, dtype=np.intp)
    for term in c.body.terms:
        place[term.rows] = term.columns + offsets[term.variable]
    return compile_family(c.family, str(c), c.body.size, place)


def declared_family(
    legend: Legend,
    domain: Domain,
    body: Affine,
    offsets: Offsets,
    values: Values | None = None,
    origins: tuple[Hashable, ...] = (),
) -> RowFamily:
    """The rows `body` <= 0."""
    outputs, columns = arranged(body, offsets)
    return RowFamily(DeclaredRows(legend, domain, outputs, values, origins), columns)


def arranged(body: Affine, offsets: Offsets) -> tuple[tuple[Expression, Expression], NDArray[np.intp]]:
    """`body` <= 0 as K coefficients a row with right-hand sides, and columns; triplets at one place are added up."""
    p = body.size
    rows, columns, entries = _entries(body.terms, offsets)
    n = int(columns.max()) + 1
    places, inverse = np.unique(rows * n + columns, return_inverse=True)
    if len(places) < len(rows):
        shape = (len(places), len(rows))
        adder: Any = sparse.csr_matrix((np.ones(len(rows)), (inverse, np.arange(len(rows)))), shape=shape)
        entries = Linear(adder if adder.shape[0] > 200 else adder.toarray(), entries, (len(places),))
        order = np.arange(len(places))
    else:
        order = np.argsort(inverse)
    place_rows, place_columns = places // n, places % n
    counts = np.bincount(place_rows, minlength=p)
    width = int(counts.max())
    slot = np.arange(len(places)) - np.repeat(np.cumsum(counts) - counts, counts)
    layout = np.full((p, width), len(places))  # the extra element is a zero
    layout[place_rows, slot] = order
    padded = np.zeros((p, width), dtype=np.intp)
    padded[place_rows, slot] = place_columns
    if (counts < width).any():
        entries = Join((entries, Constant(np.zeros(1))))
    offset = body.offset
    rhs: Expression = Constant(-offset.value) if isinstance(offset, Constant) else Negate(offset)
    return (Gather(entries, layout.ravel()), rhs), padded


def _entries(terms: tuple[Term, ...], offsets: Offsets) -> tuple[Any, Any, Expression]:
    """Rows, columns and coefficients of all triplets; numbers that meet are added up, and enclosed if that rounds."""
    parts = [(t.rows, t.columns + offsets[t.variable], t.coefficient) for t in terms]
    known = [(rows, columns, t.numbers) for t, (rows, columns, _) in zip(terms, parts, strict=True) if t.numbers]
    if len(known) > 1 or (known and len(known[0][0]) > 1):
        rows, columns = (np.concatenate([k[i] for k in known]) for i in (0, 1))
        n = int(columns.max()) + 1
        if _meet(rows, columns):
            found = totals(rows * n + columns, together([k[2] for k in known]))
            if not np.isfinite(found.value).all():
                raise ModelError("A coefficient is infinite: terms in one variable add up to more than any double.")
            merged = (found.places // n, found.places % n, enclosed(DoubleDouble(found.value, found.rest)))
            parts = [merged, *(part for t, part in zip(terms, parts, strict=True) if not t.numbers)]
    rows, columns = (np.concatenate([part[i] for part in parts]) for i in (0, 1))
    return rows, columns, Join(tuple(part[2] for part in parts)) if len(parts) > 1 else parts[0][2]


def _meet(rows: NDArray[np.intp], columns: NDArray[np.intp]) -> bool:
    """Whether two entries of a matrix are at the same place."""
    return len(np.unique(rows * (int(columns.max()) + 1) + columns)) < len(rows)
