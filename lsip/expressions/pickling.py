"""Expressions in pickles: a list of nodes, each made of earlier ones, so that a long sum is not a deep one.

Indices, parameters, variables and numbers are objects of their own there: whoever meets them a second time in the same
pickle meets the same object. What was typed (`origin`) is kept for printing; a sum of variables that only stands there
is kept as it reads, without its terms, of which a loop would make as many as it is long for every step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copyreg import __newobj__  # type: ignore[attr-defined]
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from .affine import Affine, Term, Variable
from .graph import Index
from .operators import Operators, Statement
from .printing import Typed

Node: TypeAlias = Operators[Any, Any, Any] | Statement
State: TypeAlias = dict[str, Any]


class UnpickledName(NamedTuple):
    """In the place of a node: where it stands in the list."""

    place: int


class Listed(NamedTuple):
    """A node, or terms of one: its class, and its state with places for nodes."""

    kind: type
    state: State


class Key(NamedTuple):
    """A node, and whether only what was typed matters."""

    identity: int
    typed: bool


def _state(node: Node, typed: bool) -> State:
    if typed:
        return {"origin": getattr(node, "origin", ())}
    state = node.__getstate__() or {}
    return {name: value for name, value in state.items() if name != "_indices"}  # type: ignore[attr-defined]


def _parts(value: object, typed: bool) -> Iterator[tuple[Node, bool]]:
    """The nodes in a value of a state, each with whether only what was typed matters of it."""
    if isinstance(value, Operators | Statement):
        yield value, typed and isinstance(value, Affine) and not isinstance(value, Variable)
    elif type(value) in (tuple, list):
        for item in value:  # type: ignore[attr-defined]
            yield from _parts(item, typed)
    elif isinstance(value, Term):
        yield value.coefficient, False


def _children(node: Node, typed: bool) -> list[tuple[Node, bool]]:
    if isinstance(node, Variable | Index):
        return []
    return [part for name, value in _state(node, typed).items() for part in _parts(value, name == "origin")]


def _placed(value: object, typed: bool, places: dict[Key, int]) -> Any:
    """A value with places for the nodes in it that are listed."""
    if isinstance(value, Operators | Statement):
        (_, reads), *_ = _parts(value, typed)
        place = places.get(Key(id(value), reads))
        return value if place is None else UnpickledName(place)
    if type(value) in (tuple, list):
        return type(value)(_placed(item, typed, places) for item in value)  # type: ignore[call-arg,attr-defined]
    if isinstance(value, Term) and Key(id(value.coefficient), False) in places:
        return Listed(Term, {k: _placed(v, typed, places) for k, v in vars(value).items()})
    return value


def _found(value: object, nodes: list[Any]) -> Any:
    """The other way round."""
    if isinstance(value, UnpickledName):
        return nodes[value.place]
    if isinstance(value, Listed):
        return _made(value, nodes)
    if type(value) in (tuple, list):
        return type(value)(_found(item, nodes) for item in value)  # type: ignore[call-arg,attr-defined]
    return value


def _made(listed: Listed, nodes: list[Any]) -> Any:
    made = __newobj__(listed.kind)
    vars(made).update({name: _found(value, nodes) for name, value in listed.state.items()})
    return made


def restored(listed: list[Listed]) -> Any:
    """The last of a list of nodes, each made of earlier ones."""
    nodes: list[Any] = []
    for one in listed:
        nodes.append(_made(one, nodes))
    return nodes[-1]


def _reduced(self: Node) -> tuple[Callable[..., Any], tuple[Any, ...]] | tuple[Callable[..., Any], tuple[Any], State]:
    """What a pickle holds of a node: its state if there is no other node in it, else the list of all of them."""
    if not _children(self, False):
        return __newobj__, (type(self),), _state(self, False)
    places: dict[Key, int] = {}
    listed: list[Listed] = []
    stack: list[tuple[Node, bool, bool]] = [(self, False, False)]
    while stack:
        node, typed, ready = stack.pop()
        if Key(id(node), typed) in places:
            continue
        if not ready:
            below = _children(node, typed)
            if below or typed:  # else it is an object of its own
                stack.append((node, typed, True))
                stack.extend((*part, False) for part in reversed(below))
            continue
        state = {name: _placed(v, name == "origin", places) for name, v in _state(node, typed).items()}
        places[Key(id(node), typed)] = len(listed)
        listed.append(Listed(Typed if typed else type(node), state))
    return restored, (listed,)


def _set(self: Node, state: State) -> None:
    """Fill a node that was made without its constructor; nobody can change its numbers."""
    for value in state.values():
        if isinstance(value, np.ndarray):
            value.flags.writeable = False
    vars(self).update(state)


for _kind in (Operators, Statement):
    setattr(_kind, "__reduce__", _reduced)  # noqa: B010
    setattr(_kind, "__setstate__", _set)  # noqa: B010
