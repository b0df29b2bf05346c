"""What a problem compiles to: every part once, and all of them put together for the values of its parameters."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from operator import is_
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..expressions.affine import Affine, Constraint, Variable
from ..expressions.parameter import Values, current
from .callables import FamilyOn
from .families import RowFamily, at_parameters
from .finite_rows import FiniteRows
from .parts import Parts
from .program import FixedMatrix, Layout, Place, Program
from .quantified import Groups, Offsets, Once, Quantified, applied_family, family_of, labels_of
from .rational import FiniteBlock, whole_rows

Array = NDArray[np.float64]
Part = TypeVar("Part")
Keeper = Callable[[Any, Callable[[], Any]], Any]  # what is known under a key, or made now


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

    @property
    def offsets(self) -> Offsets:
        """Where the elements of each variable begin."""
        return dict(zip(self.variables, np.cumsum([0] + [v.size for v in self.variables]).tolist(), strict=False))

    def compile(self, parts: Parts | None = None) -> Program:
        """The arrays and families that a solver works on; what is among `parts` is not made again."""
        parts = Parts() if parts is None else parts
        keys: set[Hashable] = set()

        def once(key: tuple[Any, ...], make: Callable[[], Part]) -> Part:
            full = (*key, self.variables)
            keys.add(full)
            return parts.once(full, make)

        goal, finite, loose = self._finite(once)
        families = self.families or parts.arranged(self.groups)
        groups: Groups = (*families, tuple(map(Once, loose))) if loose else families
        parts.families = [*self._families(once, (*families, loose), groups, parts)]
        parts.groups = groups
        parts.keep(keys)
        sign, n = -1.0 if self.maximise else 1.0, len(self.lower)
        sizes = np.array([len(block.constants) for block in finite.values()], dtype=np.intp)
        right = np.concatenate([np.zeros(0), *(-block.constants for block in finite.values())])
        equal = np.repeat([row.equality for row in finite], sizes).astype(bool)
        places = dict(self._places(tuple(finite), sizes, groups))
        places |= {row: replace(places[row], factors=b.factors) for row, b in finite.items() if b.factors is not None}
        return Program(
            c=sign * np.asarray(goal.matrix.toarray()).ravel(),
            constant=sign * float(goal.constants[0]),
            lower=self.lower,
            upper=self.upper,
            A=sparse.vstack([b.matrix for b in finite.values()], format="csr") if finite else FixedMatrix.none(n),
            row_lower=np.where(equal, right, -np.inf),
            row_upper=right,
            families=tuple(at_parameters(f, self.values) for f in parts.families),
            row_labels=tuple(label for row in finite for label in labels_of(row)),
            maximise=self.maximise,
            name=self.name,
            integer=np.concatenate([np.full(v.size, v.integer) for v in self.variables]),
            layout=Layout(replace(self, families=families), self.owner, places, self.restated),
        )

    def _finite(self, once: Keeper) -> tuple[FiniteBlock, dict[Constraint, FiniteBlock], list[Constraint]]:
        """The objective and finite rows as numbers; and the rows whose coefficients are only enclosed."""
        found: dict[Constraint, FiniteBlock] = {}
        loose: list[Constraint] = []
        offsets, n = self.offsets, len(self.lower)

        def numbers(affine: Affine, owner: object) -> FiniteBlock:
            return once((owner,), partial(FiniteRows, affine, offsets, n)).at(self.values)

        for row in self.rows:
            if not row.body.uncertain:
                found[row] = numbers(row.body, row)
                continue
            apart = bool(row.body.parameters)
            whole = None if apart else once((row, FiniteBlock), partial(whole_rows, row.body, offsets, n))
            if whole is None:
                loose.append(row)
            else:
                found[row] = whole
        return numbers(self.objective, self.objective), found, loose

    def _families(self, once: Keeper, keys: Iterable[object], groups: Groups, parts: Parts) -> Iterator[RowFamily]:
        """One for every group, and for every application of functions."""
        for key, group in zip(keys, groups, strict=False):
            yield once(key, partial(family_of, group, self.offsets, self.values, parts.memory))
        for on in self.applied:
            yield once((on,), partial(applied_family, on, self.offsets))

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
