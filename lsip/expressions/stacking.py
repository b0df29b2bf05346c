"""Scalars that are one formula with different constants, as one array: a thousand nodes become one.

Models that are written in a loop join sin(3.1 t), sin(3.2 t), ... to a vector. What is done to each of them is the
same, and is done to all of them at once, with the constants side by side; rounding is that of each by itself.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .arrangements import Gather, Join
from .graph import Constant, Expression


class Nodes(NamedTuple):
    """Nodes in an order in which they can be computed, and the places of the arguments of each."""

    nodes: list[Expression]
    args: list[tuple[int, ...]]

    def put(self, node: Expression, args: tuple[int, ...] = ()) -> int:
        """One more; its place."""
        self.nodes.append(node)
        self.args.append(args)
        return len(self.nodes) - 1


def stacked(given: Nodes, output: int) -> tuple[Nodes, int]:
    """The same nodes, where scalars that a join puts together are arrays; and the place of the output."""
    kinds, made, place = _kinds(given), Nodes([], []), list[int]()
    for node, args in zip(*given, strict=True):
        if isinstance(node, Join) and len({kinds[a] for a in args}) < len(args):
            place.append(_joined(args, kinds, given, made, place))
        else:
            place.append(made.put(node, tuple(place[a] for a in args)))
    return made, place[output]


def _kinds(given: Nodes) -> list[int]:
    """A number for every node, the same for scalars that are one formula but for their constants."""
    known: dict[tuple[object, ...], int] = {}
    found = list[int]()
    for i, (node, args) in enumerate(zip(*given, strict=True)):
        kind: tuple[object, ...] = (i,)
        if node.size == 1 and isinstance(node, Constant) and not node.rounded:
            kind = (Constant,)
        elif node.size == 1 and node.elementwise and args and not node.kinked and node.key() is not None:
            kind = (type(node), node.key(), *(found[a] for a in args))
        found.append(known.setdefault(kind, len(known)))
    return found


def _joined(args: tuple[int, ...], kinds: list[int], given: Nodes, made: Nodes, place: list[int]) -> int:
    """A join again: elements of another one, of one array for all parts of a kind."""
    groups: dict[int, dict[int, int]] = {}  # by kind: different parts, and the place of each in its array
    for a in args:
        mine = groups.setdefault(kinds[a], {})
        mine.setdefault(a, len(mine))
    known = dict[tuple[int, ...], int]()
    parts = [_array(tuple(mine), given, made, place, known) for mine in groups.values()]
    starts = dict(zip(groups, np.cumsum([0, *(made.nodes[part].size for part in parts[:-1])]).tolist(), strict=True))
    whole = made.put(Join(tuple(made.nodes[part] for part in parts)), tuple(parts))
    sizes = [np.arange(given.nodes[a].size) + starts[kinds[a]] + groups[kinds[a]][a] for a in args]
    return made.put(Gather(made.nodes[whole], np.concatenate(sizes)), (whole,))


def _array(
    parts: tuple[int, ...], given: Nodes, made: Nodes, place: list[int], known: dict[tuple[int, ...], int]
) -> int:
    """The place of one node for nodes of a kind: each argument is that of all, or an array by itself."""
    waiting = [parts]
    while waiting:
        mine = waiting[-1]
        first, needed = mine[0], list[tuple[int, ...]]()
        if all(i == first for i in mine):
            known[mine] = place[first]
        elif mine not in known and isinstance(given.nodes[first], Constant):
            known[mine] = made.put(Constant(np.array([given.nodes[i].value.item() for i in mine])))  # type: ignore[attr-defined]
        elif mine not in known:
            columns = [tuple(column) for column in zip(*(given.args[i] for i in mine), strict=True)]
            needed = [column for column in columns if column not in known]
            if not needed:
                places = tuple(known[column] for column in columns)
                node = given.nodes[first].with_args(*(made.nodes[p] for p in places))
                node.shape = (len(mine),)
                known[mine] = made.put(node, places)
        waiting.extend(needed)
        if not needed:
            waiting.pop()
    return known[parts]
