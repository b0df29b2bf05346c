"""Whether formulas have a finite value at every point of an index set: it is proven, or a place is named.

Enclosures hold the values of a formula where it is defined. So a formula may be enclosed over a box and still be nan at
some of its points, as the square root of what dips below zero is. What is certified holds for every index point, so
every function has to be defined there: boxes are halved until no argument leaves the domain of its function. An
argument that touches the end of a domain, as 1 - t**2 under a root does on [-1, 1], is settled by `signs`.

np.where counts as NumPy has it: the branch that is taken has to be defined, and the other one need not be.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..deadline import EFFORT
from ..domains import Cell, Domain
from ..errors import ModelError
from .boxes import Halving, search_boxes
from .chart import CellChart
from .graph import Expression, Index, as_expression
from .kinks import Select
from .operands import Ints
from .parameter import Values
from .printing import text
from .signs import GuardedCell
from .tape import Tape

Array = NDArray[np.float64]
Ends = tuple[float, float]


@dataclass(frozen=True, eq=False)
class UndefinedPlace:
    """Where a formula is not proven to be defined, and which formula, where that is known."""

    lower: Array  # (m,)
    upper: Array
    grain: Array  # (m,), distances that do not matter to a reader
    formula: Expression | None

    @property
    def point(self) -> bool:
        """Whether it is a point, at which the formula has no finite value."""
        return bool((self.lower == self.upper).all())

    def at(self, coordinates: tuple[str, ...]) -> str:
        """The place in words: t = 0.5, or t between 0.4 and 0.6."""
        if self.point:
            return ", ".join(f"{c} = {v:.6g}" for c, v in zip(coordinates, self.lower.tolist(), strict=True))
        # Digits that mean something, and no -0; a box that is as good as a point is named as one.
        ends = (self.grain * np.rint(v / self.grain) + 0.0 for v in (self.lower, self.upper))
        each = zip(
            coordinates, *(v.tolist() for v in ends), (self.upper - self.lower <= self.grain).tolist(), strict=True
        )
        return ", ".join(f"{c} = {a:.4g}" if same else f"{a:.4g} ≤ {c} ≤ {b:.4g}" for c, a, b, same in each)

    def sentence(self, coordinates: tuple[str, ...]) -> str:
        """What is wrong there, and what to do."""
        found = "is nan or infinite there" if self.point else "has no bounds there, or may be nan"
        return (
            f"{'at' if self.point else 'near'} {self.at(coordinates)}: {self.what} {found}. Write it so that it is "
            "defined and bounded (np.sinc, np.maximum in a denominator or under a root), or keep the index away from "
            "there."
        )

    def assumption(self, name: str, coordinates: tuple[str, ...]) -> str:
        """What all bounds rest on, if they are to hold."""
        name, where = " ".join(name.split()), self.at(coordinates)
        if self.point:
            return f"{name} is only required where it is defined; at {where}, {self.what} is nan or infinite"
        return f"{name} is defined at every index point; this is not proven for {self.what} at {where}"

    @property
    def what(self) -> str:
        return "a formula in it" if self.formula is None else text(self.formula)


def where_undefined(
    outputs: tuple[Expression, ...], indices: tuple[Index, ...], domain: Domain, values: Values | None = None
) -> UndefinedPlace | None:
    """A place of the index set where an output is not proven to be finite; None if all are, everywhere on it."""
    for cell in domain.flat_cells():
        found = _UndefinedSearch(outputs, indices, domain, values, cell).run()
        if found is not None:
            return found
    return None


def refuse_undefined(outputs: tuple[Expression, ...], indices: tuple[Index, ...], domain: Domain, what: str) -> None:
    """Raise where an output is not proven to be finite all over a set."""
    place = where_undefined(outputs, indices, domain)
    if place is not None:
        said = place.sentence(coordinates(indices))
        raise ModelError(f"{what} needs a value everywhere, and no finite bounds were found {said}")


def coordinates(indices: tuple[Index, ...]) -> tuple[str, ...]:
    """What the coordinates of index points are called."""
    return tuple(i.name if i.domain.scalar else f"{i.name}[{k}]" for i in indices for k in range(i.domain.dim))


class _UndefinedSearch(Halving):
    """The boxes of a cell on which some output may be nan or infinite."""

    what = "formulas"

    def __init__(
        self,
        outputs: tuple[Expression, ...],
        indices: tuple[Index, ...],
        domain: Domain,
        values: Values | None,
        cell: Cell,
    ) -> None:
        super().__init__(cell.lower, cell.upper)
        self.indices, self.domain, self.cell, self.values = indices, domain, cell, values
        self.chart = CellChart(cell, indices)
        self.tape = Tape(outputs, self.chart.indices, self.chart.instead or None, values)
        inside = None if cell.inside is None else as_expression(cell.inside(self.chart.coordinates))
        self.cuts = None if inside is None else Tape((inside,), self.chart.indices)
        self.within: dict[int, Ends] = {}
        self.found: UndefinedPlace | None = None
        self.first: tuple[Array, Array] | None = None  # a box that is open where there are too many

    def run(self) -> UndefinedPlace | None:
        """None if everything is defined."""
        doubtful = self._leave()
        if len(self.lower):
            self.within = dict(self._settled(doubtful))
        search_boxes(self)
        return self.found or (None if self.first is None else self._place(*self.first))

    def open_boxes(self) -> Ints | None:
        self._leave()
        grain = np.maximum(1e-6 * self.width, _grain(self.lower, self.upper))
        small = np.flatnonzero((self.upper - self.lower <= grain).all(axis=1))[:1]  # as good as points
        self.found = self._undefined_point()
        if self.found is None and len(small):
            self.found = self._place(self.lower[small], self.upper[small])
        if self.found is not None:
            return None
        if len(self.lower) > EFFORT.boxes and self.first is None:
            self.first = self.lower[:1], self.upper[:1]
        if self.first is not None:  # it is open already: a few boxes lead to a sharper place
            self.keep(slice(64))
        return self.all

    def _leave(self) -> set[int]:
        """Keep boxes that meet the set, and on which something may be undefined; which nodes are in doubt."""
        if self.cuts is not None and len(self.lower):
            with np.errstate(all="ignore"):
                self.keep(~(self.cuts.enclose(self.lower, self.upper).hi < 0).any(axis=1))
        if not len(self.lower):
            return set()
        found = self.tape.absent(self.lower, self.upper, self.within)
        self.keep(found.outputs.any(axis=1))
        return found.nodes

    def _undefined_point(self) -> UndefinedPlace | None:
        """A point of the set at which something is nan or infinite, among the middles of boxes."""
        if not len(self.lower):
            return None
        z = self.middle
        with np.errstate(all="ignore"):
            bad = np.flatnonzero(~np.isfinite(self.tape.values(z)).all(axis=1))
        points = self.chart.points(z[bad])
        held = np.flatnonzero(self.domain.contains(points, 0.0)) if len(points) else bad
        return self._place(z[bad[held[:1]]], z[bad[held[:1]]]) if len(held) else None

    def _place(self, lower: Array, upper: Array) -> UndefinedPlace:
        low, high = self.chart.enclosed(lower, upper)
        if (lower == upper).all():
            low = high = self.chart.points(lower)
        doubtful = self.tape.absent(lower, upper, self.within).nodes
        formula = self.tape.typed(min(doubtful)) if doubtful else self.tape.unbounded(lower, upper)
        width = self.domain.upper - self.domain.lower
        return UndefinedPlace(low[0], high[0], 1e-5 * np.where(width > 0, width, 1.0), formula)

    def _settled(self, doubtful: set[int]) -> Iterator[tuple[int, Ends]]:
        """Nodes whose arguments are proven to lie in the domains of their functions, and these domains."""
        guards = self._guards()
        for i in sorted(doubtful):
            node = self.tape.nodes[i]
            if node.defined is None:
                continue
            (low, high), u = node.defined, node.args[0]
            # Rules for elements of a longer array would have to know which: those of the whole array count.
            own = tuple(g for g in guards[i] if g.size in (1, u.size))
            part = GuardedCell(self.cell, self.indices, self.values, own)
            asked = [u - low] if low > -np.inf else []
            asked += [high - u] if high < np.inf else []
            if all(part.open_box(as_expression(e)) is None for e in asked):
                yield i, (low, high)

    def _guards(self) -> list[tuple[Expression, ...]]:
        """For every node, expressions that are nonnegative wherever its value counts: conditions of np.where above."""
        tape = self.tape
        known: list[dict[int, Expression] | None] = [None] * len(tape.nodes)  # None: nobody has asked for it yet
        known[tape.output] = {}
        for i in range(len(tape.nodes) - 1, -1, -1):
            above, node, args = known[i], tape.nodes[i], tape.args[i]
            if above is None:
                continue
            branches = isinstance(node, Select) and not node.continuous
            for k, a in enumerate(args):
                alike = (k if branches else node.elementwise) and tape.nodes[a].size == node.size
                mine = {j: g for j, g in above.items() if g.size == 1 or (alike and g.size == node.size)}
                if isinstance(node, Select) and branches and k and alike:
                    mine |= self._taken(node, k, args[0])
                before = known[a]
                known[a] = mine if before is None else {j: g for j, g in before.items() if j in mine}
        return [tuple((found or {}).values()) for found in known]

    def _taken(self, node: Select, branch: int, condition: int) -> dict[int, Expression]:
        """What is nonnegative where np.where takes its first or second branch; one is taken where that is nan, too."""
        u, first = node.args[0], branch == 1
        if first == node.otherwise:
            lower, upper = self.cell.lower.min(axis=0)[None], self.cell.upper.max(axis=0)[None]
            asked = Tape((u,), self.chart.indices, self.chart.instead or None, self.values)
            if asked.absent(lower, upper).outputs.any():
                return {}
        return {2 * condition + branch - 1: u if first else as_expression(-u)}


def _grain(lower: Array, upper: Array) -> Array:
    """The width below which a box has no middle but its ends."""
    return 2 * np.spacing(np.maximum(np.abs(lower), np.abs(upper)))
