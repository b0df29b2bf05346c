"""From constraints for all indices to the row families that lsip's oracles and certificates work on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...domains import Product
from ...expressions.affine import Affine
from ...expressions.folds import unfolded_body
from ...expressions.graph import Index
from ...expressions.undefined import coordinates
from ...model.families import RowFamily
from ...model.legend import Legend
from ...model.quantified import declared_family
from ...model.violation import FamilyViolation
from ...oracles.memory import Memory
from ...oracles.supremum import supremum
from ...solution.active import ActivePoint
from .affine import LeafLayout, read_affine
from .blackbox import black_boxes
from .constraint import QuantifiedConstraint

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Compiled:
    """Row families over the vector of all variables, and whose rows they are."""

    families: tuple[Any, ...]
    owners: tuple[
        tuple[tuple[QuantifiedConstraint, int], ...], ...
    ]  # a family, a component: the constraint and its element

    def measure(self, active: tuple[ActivePoint, ...]) -> dict[int, list[tuple[Any, Any]]]:
        """The dual measure of every constraint, by its Python id: points and multipliers, heaviest first."""
        atoms: dict[int, dict[bytes, tuple[Any, Array]]] = {id(f): {} for row in self.owners for f, _ in row}
        for s in active:
            owner, element = self.owners[s.family][s.component]
            point: Any = float(s.point[0]) if owner.domain.scalar else s.point
            found = atoms[id(owner)].setdefault(s.point.tobytes(), (point, np.zeros(owner.size)))
            found[1][element] += s.multiplier
        shapes = {id(f): f.shape for row in self.owners for f, _ in row}
        return {
            key: [(y, m.reshape(shapes[key], order="F") if shapes[key] else float(m[0])) for y, m in mine.values()]
            for key, mine in atoms.items()
        }


def compile_families(constraints: Sequence[QuantifiedConstraint], layout: LeafLayout) -> Compiled:
    """Constraints over the same indices share one family; a black box has a family for each element.

    Those with rules in pieces are over indices with their parts.
    """
    families: list[Any] = []
    owners: list[tuple[tuple[QuantifiedConstraint, int], ...]] = []
    groups: dict[tuple[Index, ...], list[tuple[QuantifiedConstraint, Affine]]] = {}
    for c in constraints:
        if c.traced:
            indices, body = unfolded_body(c.indices, read_affine(c.body, layout), _name(c))
            groups.setdefault(indices, []).append((c, body))
    for indices, pairs in groups.items():
        members, bodies = [m for m, _ in pairs], [body for _, body in pairs]
        labels = tuple(_name(m) if m.size == 1 else f"({_name(m)})[{i}]" for m in members for i in range(m.size))
        name = "; ".join(map(_name, members))
        body = Affine.join(bodies) if len(bodies) > 1 else bodies[0]
        domain = indices[0].domain if len(indices) == 1 else Product(*(i.domain for i in indices))
        families.append(
            declared_family(Legend(name, labels, coordinates(indices), indices), domain, body, {layout.whole: 0})
        )
        owners.append(tuple((m, i) for m in members for i in range(m.size)))
    for c in constraints:
        if not c.traced:
            families += black_boxes(c, _name(c), layout)
            owners += [((c, i),) for i in range(c.size)]
    return Compiled(tuple(families), tuple(owners))


def _name(c: QuantifiedConstraint) -> str:
    return str(c).partition("   for all")[0]


def agree(traced: QuantifiedConstraint, box: QuantifiedConstraint, *, checks: int = 6, close: float = 1e-9) -> bool:
    """Whether a rule gives the same rows at a few points as its trace; taken for granted without parameter values.

    There are so many checks besides the centre; numbers v are the same if they differ by at most close (1 + |v|).
    """
    if any(p.value is None for p in traced.parameters()):
        return True
    layout, points = (
        LeafLayout.of(traced.variables()),
        np.concatenate([traced.domain.spread(checks), traced.domain.grid(1)]),
    )
    if {v.id for v in box.variables()} - set(layout.starts):
        return False
    rows = []
    for c in (traced, box):
        table = np.zeros((len(points), c.size, layout.whole.size + 1))
        done = 0
        for family in compile_families([c], layout).families:
            a, b = family.rows(points)
            for i, columns in enumerate(family.columns):
                np.add.at(table[:, done].T, columns, a[:, i].T)
                table[:, done, -1] = b[:, i]
                done += 1
        rows.append(table)
    return rows[0].shape == rows[1].shape and np.allclose(rows[0], rows[1], rtol=close, atol=close)


def moved(families: tuple[RowFamily, ...], place: NDArray[np.intp]) -> tuple[RowFamily, ...]:
    """The same families over other columns: what was element i of the vector is now element place[i]."""
    return tuple(replace(f, columns=place[f.columns], memory=Memory()) for f in families)


def proven_violation(c: QuantifiedConstraint) -> float:
    """A proven bound of the largest violation at the variables' current values; at least 0."""
    layout = LeafLayout.of(c.variables())
    compiled, x = compile_families([c], layout), layout.values()
    worst = 0.0
    for family in compiled.families:
        if not family.enclosable:
            return float("inf")
        worst = max(worst, supremum(FamilyViolation(family, x)).bound)
    return worst
