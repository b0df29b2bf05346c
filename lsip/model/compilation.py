"""What a problem compiles to: every part once, and all of them put together for the values of its parameters.

Parts are kept by whoever solves a model again: rows and families whose constraints are still there are not made again,
whatever values parameters have by now.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from operator import is_
from typing import Any, Protocol, TypeAlias, TypeVar

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
from ..expressions.parameter import Parameter, Values, current, parameters_in
from ..expressions.printing import text
from ..expressions.sums import DoubleDouble, together, totals
from ..expressions.tape import Tape, constant_value
from ..oracles.memory import Memory
from .callables import FamilyOn, compile_family
from .families import BlackBoxFamily, DeclaredFamily, DirectedFamily
from .program import FixedMatrix, Layout, Place, Program
from .rational import WholeRows, whole_rows

Array = NDArray[np.float64]
Part = TypeVar("Part")
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


@dataclass(frozen=True)
class CompilationTuning:
    """How constraints are put together.

    Parameters
    ----------
    most_padded
        Coefficients up to which constraints over the same indices become one family, whose rows are all as wide as the
        widest; beyond, those of about the same width do.
    alike
        Widths that differ by less than this factor are about the same.
    taken_up
        Constraints that come later are a family of their own, so that nothing of the earlier ones is done again, until
        they are this share of those: then one family costs less than two.
    """

    most_padded: int = 100_000
    alike: float = 4.0
    taken_up: float = 0.5


TUNING = CompilationTuning()


class Parts:
    """What was compiled before, by what it was made of."""

    def __init__(self) -> None:
        self._known: dict[Hashable, Any] = {}
        self.families: list[DeclaredFamily | BlackBoxFamily] = []
        self.groups: Groups = ()
        self._apart = False

    def once(self, key: Hashable, make: Callable[[], Part]) -> Part:
        """What is known under that key, or is made now."""
        if key not in self._known:
            self._known[key] = make()
        found: Part = self._known[key]
        return found

    @contextmanager
    def apart(self) -> Iterator[None]:
        """While this lasts, constraints that are new have families of their own, and the others keep theirs."""
        self._apart = True
        try:
            yield
        finally:
            self._apart = False

    def arranged(self, groups: Groups) -> Groups:
        """These groups, or parts of them where new constraints stay apart."""
        return tuple(part for group in groups for part in self._parted(group)) if self._apart else groups

    def _parted(self, group: tuple[Quantified, ...]) -> Groups:
        there = set(map(id, group))
        kept = [old for old in self.groups if all(id(c) in there for c in old)]
        known = {id(c) for old in kept for c in old}
        while kept and len(known) < len(group):
            new = tuple(c for c in group if id(c) not in known)
            if TUNING.taken_up * _rows(kept[-1]) > _rows(new):
                return (*kept, new)
            known -= set(map(id, kept.pop()))
        return tuple(kept) or (group,)

    def memory(self, group: tuple[Quantified, ...]) -> Memory:
        """The boxes of that family which had most of these constraints; none where they are new."""
        mine = set(map(id, group))
        shared = [sum(id(c) in mine for c in old) for old in self.groups]
        most = max(shared, default=0)
        return self.families[shared.index(most)].memory if most else Memory()

    def keep(self, keys: set[Hashable]) -> None:
        """Forget all others."""
        self._known = {key: part for key, part in self._known.items() if key in keys}

    def forget(self) -> None:
        """Families forget what was found out about them."""
        for family in self.families:
            family.memory.forget()


@dataclass(frozen=True, eq=False)
class Written:
    """A model as it stands at one moment, with the bounds of its variables and the values of its parameters."""

    owner: object  # the problem
    name: str
    objective: Affine
    maximise: bool
    rows: tuple[Constraint, ...]
    groups: Groups
    applied: tuple[FamilyOn, ...]
    variables: tuple[Variable, ...]
    lower: Array
    upper: Array
    values: Values
    restated: Mapping[Any, tuple[Any, ...]] = field(default_factory=dict)  # statements, and what is said in their place
    epigraph: tuple[Any, ...] = ()  # the statements that bound a convex objective, which nobody wrote as constraints
    families: Groups = ()  # the parts of groups that a program has families of, where these stayed apart

    @property
    def together(self) -> Written:
        """The same, as a new problem would be compiled: itself, where no constraints stayed apart."""
        pairs = zip(self.groups, self.families or self.groups, strict=False)
        same = len(self.groups) == len(self.families) and all(
            len(a) == len(b) and all(map(is_, a, b)) for a, b in pairs
        )
        return self if same else replace(self, families=())

    def same(self, other: object) -> bool:
        """Whether it says the same as another one: the same statements, equal bounds, equal values."""
        if not isinstance(other, Written) or (self.maximise, id(self.objective)) != (
            other.maximise,
            id(other.objective),
        ):
            return False
        ours, theirs = (
            (*w.rows, None, *(c for group in w.groups for c in (*group, None)), *w.applied) for w in (self, other)
        )
        return (
            len(ours) == len(theirs)
            and all(a is b for a, b in zip(ours, theirs, strict=True))
            and np.array_equal(self.lower, other.lower)
            and np.array_equal(self.upper, other.upper)
            and all(np.array_equal(v, other.values[p]) for p, v in self.values.items())
        )

    def compile(self, parts: Parts | None = None) -> Program:
        """The arrays and families that a solver works on; what is among `parts` is not made again."""
        parts = Parts() if parts is None else parts
        offsets = dict(zip(self.variables, np.cumsum([0] + [v.size for v in self.variables]), strict=False))
        n = len(self.lower)
        keys: set[Hashable] = set()

        def once(key: tuple[Any, ...], make: Callable[[], Part]) -> Part:
            full = (*key, self.variables)
            keys.add(full)
            return parts.once(full, make)

        def finite(affine: Affine, owner: object) -> FiniteRows:
            return once((owner,), partial(FiniteRows, affine, offsets, n))

        def whole(row: Constraint) -> WholeRows | None:
            if not row.body.uncertain or row.body.parameters:
                return None
            return once((row, WholeRows), partial(whole_rows, row.body, offsets, n))

        sign = -1.0 if self.maximise else 1.0
        c, c0 = finite(self.objective, self.objective).at(self.values)
        multiplied = {row: found for row in self.rows if (found := whole(row)) is not None}
        loose = tuple(row for row in self.rows if row.body.uncertain and row not in multiplied)
        rows = tuple(row for row in self.rows if not row.body.uncertain or row in multiplied)
        blocks = [
            (multiplied[row].matrix, multiplied[row].constants)
            if row in multiplied
            else finite(row.body, row).at(self.values)
            for row in rows
        ]
        families = self.families or parts.arranged(self.groups)
        groups: Groups = (*families, tuple(map(Once, loose))) if loose else families
        parts.families = [
            *(
                once(key, partial(family_of, group, offsets, self.values, parts))
                for key, group in zip((*families, loose), groups, strict=False)
            ),
            *(once((on,), partial(_applied, on, offsets)) for on in self.applied),
        ]
        parts.groups = groups
        parts.keep(keys)
        sizes = np.array([len(b) for _, b in blocks], dtype=np.intp)
        right = np.concatenate([np.zeros(0), *(-b for _, b in blocks)])
        equal = np.repeat([row.equality for row in rows], sizes).astype(bool)
        places = dict(self._places(rows, sizes, groups))
        places |= {row: replace(places[row], factors=found.factors) for row, found in multiplied.items()}
        return Program(
            c=sign * np.asarray(c.toarray()).ravel(),
            constant=sign * float(c0[0]),
            lower=self.lower,
            upper=self.upper,
            A=sparse.vstack([a for a, _ in blocks], format="csr") if blocks else FixedMatrix.none(n),
            row_lower=np.where(equal, right, -np.inf),
            row_upper=right,
            families=tuple(f.bound(self.values) for f in parts.families),
            row_labels=tuple(label for row in rows for label in labels_of(row)),
            maximise=self.maximise,
            name=self.name,
            integer=np.concatenate([np.full(v.size, v.integer) for v in self.variables]),
            layout=Layout(replace(self, families=families), self.owner, places, self.restated),
        )

    def _places(
        self, rows: tuple[Constraint, ...], sizes: NDArray[np.intp], groups: Groups
    ) -> Iterator[tuple[Any, Place]]:
        """Where every constraint stands."""
        starts = np.concatenate([[0], np.cumsum(sizes)]).tolist()
        for row, start, end in zip(rows, starts, starts[1:], strict=False):
            yield row, Place(None, start, end)
        for f, group in enumerate(groups):
            start = 0
            for member in group:
                statement = member.constraint if isinstance(member, Once) else member
                yield statement, Place(f, start, start + member.constraint.body.size)
                start += member.constraint.body.size
        for f, on in enumerate(self.applied, start=len(groups)):
            yield on, Place(f, 0, 1)


def single(constraint: Quantified) -> Program:
    """A program with that constraint alone, over its variables."""
    body = constraint.constraint.body
    variables = tuple(dict.fromkeys(t.variable for t in body.terms))
    n = sum(v.size for v in variables)
    free = np.full(n, np.inf)
    values = current(constraint.parameters)
    nothing = Affine((), ())
    return Written(
        None, constraint.label, nothing, False, (), ((constraint,),), (), variables, -free, free, values
    ).compile()


def labels_of(constraint: Constraint) -> tuple[str, ...]:
    """What each row of a constraint is called."""
    name, body = constraint.label, constraint.body
    several = f"{name if constraint.name else f'({name})'}[{{}}]".format
    if isinstance(constraint, ConvexConstraint) and constraint.elements is not None:
        one = constraint.written.size == 1
        return tuple(name if one or i < 0 else several(i) for i in constraint.elements.tolist())
    return (name,) if body.size == 1 else tuple(several(i) for i in range(body.size))


class FiniteRows:
    """An array that is affine in the variables, without an index, as numbers: a matrix and constants."""

    def __init__(self, affine: Affine, offsets: Offsets, n: int) -> None:
        self.affine, self.n, none = affine, n, np.zeros(0, dtype=np.intp)
        self.rows = np.concatenate([none, *(t.rows for t in affine.terms)])
        self.columns = np.concatenate([none, *(t.columns + offsets[t.variable] for t in affine.terms)])
        self.formulas = (affine.offset, *(t.coefficient for t in affine.terms if t.numbers is None))
        self.tape: Tape | None = None  # where there are parameters
        self.found: tuple[sparse.csr_matrix, Array] | None = None

    def at(self, values: Values) -> tuple[sparse.csr_matrix, Array]:
        """The matrix and the constants for these values of parameters."""
        tape = self._tape(values)
        if self.found is None or tape is not self.tape:
            self.tape = tape
            self.found = self._numbers(self._values(tape))
        return self.found

    def _values(self, tape: Tape | None) -> list[Array]:
        if tape is None:
            return [np.ravel(constant_value(e)) for e in self.formulas]  # type: ignore[arg-type]
        found = tape.values(np.zeros((1, 0)))[0]
        if not np.isfinite(found).all():
            raise ModelError(f"{self.affine} has a coefficient or a constant that is nan or infinite: {_told(tape)}.")
        return np.split(found, np.cumsum(tape.sizes)[:-1])

    def _tape(self, values: Values) -> Tape | None:
        if self.found is None:
            return Tape(self.formulas, (), values=values) if parameters_in(*self.formulas) else None
        return None if self.tape is None else self.tape.bound(values)

    def _numbers(self, formulas: list[Array]) -> tuple[sparse.csr_matrix, Array]:
        """Terms that meet are added up, and rounded once."""
        affine, shape, (constant, *rest) = self.affine, (self.affine.size, self.n), formulas
        if not affine.terms:
            return sparse.csr_matrix(shape), constant
        coefficients = iter(rest)
        numbers = together([t.numbers or DoubleDouble(next(coefficients)) for t in affine.terms])
        table = sparse.csr_matrix((numbers.value, (self.rows, self.columns)), shape=shape)
        if table.nnz == len(self.rows):
            return table, constant
        total = totals(self.rows * self.n + self.columns, numbers)
        if not np.isfinite(total.value).all():
            raise ModelError(
                f"A coefficient of {affine} is infinite: terms in one variable add up to more than any double."
            )
        return sparse.csr_matrix((total.value, (total.places // self.n, total.places % self.n)), shape=shape), constant


def _told(tape: Tape) -> str:
    """The values of parameters, for messages."""
    return ", ".join(f"{p.name} is {text(v)}" for p, v in tape.known.items())


def grouped(members: Sequence[Quantified]) -> Groups:
    """Constraints over the same indices by the families that they share: all, unless that pads a lot."""
    widths = [m.constraint.body.width for m in members]
    widest = max(widths)
    if _rows(members) * widest <= TUNING.most_padded:
        return (tuple(members),)
    found: dict[int, list[Quantified]] = {}
    for member, width in zip(members, widths, strict=True):
        found.setdefault(int(np.log(widest / max(width, 1)) / np.log(TUNING.alike)), []).append(member)
    return tuple(map(tuple, found.values()))


def _rows(members: Sequence[Quantified]) -> int:
    return sum(m.constraint.body.size for m in members)


def family_of(members: tuple[Quantified, ...], offsets: Offsets, values: Values, parts: Parts) -> DeclaredFamily:
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

    domain = _product([i.domain for i in indices])
    family = declared_family(name, indices, domain, body, labels, offsets, values)
    family.origins = tuple((m, i) for m in members for i in range(m.constraint.body.size))
    family.memory = parts.memory(members)
    family.finite = isinstance(members[0], Once)
    return family


def _directed(member: Quantified, offsets: Offsets, values: Values) -> DirectedFamily:
    """A constraint for all directions, of which a worst one is known in closed form for every index."""
    constraint = member.constraint
    assert isinstance(constraint, ConvexConstraint)
    assert constraint.worst is not None
    assert constraint.entries is not None
    indices = member.indices or (Index("nothing", Finite([[0.0]])),)
    domains = [i.domain for i in (*indices, *member.directions)]
    labels, name = labels_of(constraint), member.label
    rows = arranged(constraint.body, offsets)
    entries = declared_family(name, indices, _product(domains[:-1]), constraint.entries, (), offsets, values)
    made = (name, (*indices, *member.directions), _product(domains), *rows, labels, values)
    family = DirectedFamily(
        *made, worst=constraint.worst, entries=entries, shown=sum(i.domain.dim for i in member.indices)
    )
    family.origins = tuple((member, i) for i in range(constraint.body.size))
    return family


def _product(domains: Sequence[Domain]) -> Domain:
    return domains[0] if len(domains) == 1 else Product(*domains)


def _applied(c: FamilyOn, offsets: Offsets) -> DeclaredFamily | BlackBoxFamily:
    """A family of functions, with its columns moved to the variables that it is applied to."""
    family = compile_family(c.family, str(c), c.body.size)
    place = np.zeros(c.body.size, dtype=np.intp)
    for term in c.body.terms:
        place[term.rows] = term.columns + offsets[term.variable]
    family.columns = place[family.columns]
    return family


def declared_family(
    name: str | Callable[[], str],
    indices: tuple[Index, ...],
    domain: Domain,
    body: Affine,
    labels: tuple[str, ...] | Callable[[], tuple[str, ...]],
    offsets: Offsets,
    values: Values | None = None,
) -> DeclaredFamily:
    """The rows `body` <= 0."""
    return DeclaredFamily(name, indices, domain, *arranged(body, offsets), labels, values)


def arranged(body: Affine, offsets: Offsets) -> tuple[Expression, NDArray[np.intp], Expression]:
    """`body` <= 0 as K coefficients a row, their columns, and right-hand sides; triplets at one place are added up."""
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
    return Gather(entries, layout.ravel()), padded, rhs


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


def _meet(rows: Any, columns: Any) -> bool:
    """Whether two entries of a matrix are at the same place."""
    return len(np.unique(rows * (int(columns.max()) + 1) + columns)) < len(rows)
