"""What a problem compiles to: every part once, and all of them put together for the values of its parameters.

Parts are kept by whoever solves a model again: rows and families whose constraints are still there are not made again,
whatever values parameters have by now.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, partial
from operator import is_
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..expressions.affine import Affine, Constraint, Variable
from ..expressions.graph import Index
from ..expressions.parameter import Values, current
from ..oracles.base import Array
from ..oracles.memory import Memory
from .callables import FamilyOn
from .families import RowFamily, at_parameters
from .finite_rows import FiniteBlock, FiniteRows, whole_rows
from .program import FixedMatrix, Layout, Place, Program
from .quantified import Groups, Offsets, Once, Quantified, Reworded, applied_family, family_of, labels_of

Part = TypeVar("Part")


@dataclass(frozen=True)
class CompilationTuning:
    """How constraints are put together.

    Parameters
    ----------
    most_padded
        Coefficients up to which constraints over the same indices become one family, whose rows are all as wide as the
        widest; beyond, those of about the same width do.
    """

    most_padded: int = 100_000


TUNING = CompilationTuning()


class Parts:
    """What was compiled before, by what it was made of."""

    def __init__(self) -> None:
        self._known: dict[Hashable, Any] = {}
        self.families: list[RowFamily] = []
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
        """Families that were there, and one of what is new, which is put together with the last when it is as large.

        So every row is compiled again once for each doubling, and there are few families.
        """
        there = set(map(id, group))
        kept = [old for old in self.groups if all(id(c) in there for c in old)]
        known = {id(c) for old in kept for c in old}
        while kept and len(known) < len(group):
            new = tuple(c for c in group if id(c) not in known)
            if _rows(kept[-1]) > _rows(new):
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


def grouped(members: Sequence[Quantified]) -> Groups:
    """Constraints over the same indices by the families that they share: all, unless that pads a lot."""
    widths = [m.constraint.body.width for m in members]
    widest = max(widths)
    if _rows(members) * widest <= TUNING.most_padded:
        return (tuple(members),)
    found: dict[int, list[Quantified]] = {}
    for member, width in zip(members, widths, strict=True):
        found.setdefault(width.bit_length(), []).append(member)  # less than half of a row is padding
    return tuple(map(tuple, found.values()))


def _rows(members: Sequence[Quantified]) -> int:
    return sum(m.constraint.body.size for m in members)


Keeper = Callable[[Any, Callable[[], Any]], Any]  # what is known under a key, or made now


@dataclass(frozen=True, eq=False)
class Written:
    """A model as it stands at one moment, with the bounds of its variables and the values of its parameters."""

    owner: object  # the problem
    name: str
    objective: Affine
    maximise: bool
    statements: tuple[Any, ...]  # constraints, and those that bound a convex objective
    variables: tuple[Variable, ...]
    lower: Array
    upper: Array
    values: Values
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
        return (
            isinstance(other, Written)
            and self.maximise == other.maximise
            and self.objective is other.objective
            and len(self.statements) == len(other.statements)
            and all(map(is_, self.statements, other.statements))
            and np.array_equal(self.lower, other.lower)
            and np.array_equal(self.upper, other.upper)
            and all(np.array_equal(v, other.values[p]) for p, v in self.values.items())
        )

    @cached_property
    def restated(self) -> Mapping[Any, tuple[Any, ...]]:
        """Statements that are solved in other words, and what is said in their place."""
        return {c: c.said(self.values) for c in self.statements if isinstance(c, Reworded)}

    def anew(self) -> Written:
        """The same, with every restatement applied again to what was written."""
        again = {c: c.anew(self.values) for c in self.restated}
        instead = {old: new for c, said in self.restated.items() for old, new in zip(said, again[c], strict=False)}
        found = replace(self, families=tuple(tuple(instead.get(c, c) for c in group) for group in self.families))
        vars(found)["restated"] = again
        return found

    @cached_property
    def _said(self) -> tuple[Any, ...]:
        return tuple(said for c in self.statements for said in self.restated.get(c, (c,)))

    @property
    def rows(self) -> tuple[Constraint, ...]:
        """What holds without an index."""
        return tuple(c for c in self._said if isinstance(c, Constraint) and not c.directions)

    @property
    def applied(self) -> tuple[FamilyOn, ...]:
        """What is said by functions."""
        return tuple(c for c in self._said if isinstance(c, FamilyOn))

    @cached_property
    def groups(self) -> Groups:
        """What holds for all values of indices, by the families that share them."""
        found: dict[tuple[Index, ...], list[Quantified]] = {}
        for c in self._said:
            if not isinstance(c, FamilyOn) and (c.directions or not isinstance(c, Constraint)):
                found.setdefault((*c.indices, *c.directions), []).append(c)
        return tuple(group for members in found.values() for group in grouped(members))

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
            yield once(key, partial(self._family, group, parts))
        for on in self.applied:
            yield once((on,), partial(applied_family, on, self.offsets))

    def _family(self, group: tuple[Quantified, ...], parts: Parts) -> RowFamily:
        """The family of a group, with the boxes of what most of it was compiled to before."""
        found = family_of(group, self.offsets, self.values)
        return found if group[0].directions else replace(found, memory=parts.memory(group))

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
    return Written(
        None, constraint.label, Affine((), ()), False, (constraint,), variables, -free, free, values
    ).compile()
