"""Index expressions as plain data: steps, each an operation {op, args, …} on the arrays that earlier ones made.

The words are those of the format of proofs (`lsip/proof/export.py`): index, constant, irrational, add, multiply,
divide, negate, absolute, maximum, select, angle, power, linear, and elementary functions by their names in numpy. Where
a proof has one step for every number, a step here makes an array of some shape; so there are steps that only arrange
numbers (gather, join) or add them up along the last axis (sum), tables of monomials, splines with their pieces,
parameters. Numbers `between` others may be known as fractions besides. What a step holds is declared with the class of
the node that it makes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import isfinite
from typing import Any, TypeAlias

from ..errors import ModelError
from ..schema import Tagged, demand
from . import bessel, divided_differences, enclosed, far, monomials, splines  # noqa: F401  (each declares words)
from .elementary import DERIVATIVES, FUNCTIONS
from .graph import WORDS, Expression, Index, Word, in_order
from .limits import LIMITS
from .operations import Apply
from .parameter import Parameter
from .unparse import Element

Data: TypeAlias = dict[str, Any]
FUNCTION = Word(Apply, Apply.schema, Apply.read)  # what files know of elementary functions
TOO_LARGE = f"makes more than {LIMITS.most_numbers:,} numbers in all, which is too much for a file; pickle the problem."


def step_schema() -> Tagged:
    """What a step must look like."""
    words = {**dict.fromkeys((*FUNCTIONS, *DERIVATIVES), FUNCTION), **WORDS}
    return Tagged("op", {name: word.schema for name, word in words.items()})


class Writer:
    """Expressions as steps; each node is written once, and after what it is made of."""

    def __init__(self, indices: Sequence[Index], parameters: Sequence[Parameter]) -> None:
        self.steps: list[Data] = []
        self.numbers = 0
        self._leaves = {id(leaf): i for group in (indices, parameters) for i, leaf in enumerate(group)}
        self._places: dict[int, int] = {}
        self._held: list[Expression] = []  # identities belong to nodes that are there

    def place(self, root: Expression) -> int:
        """The step that makes an expression."""
        for node in in_order(root, lambda node: () if id(node) in self._places else node.filed):
            if id(node) in self._places:
                continue
            step = self._step(node)
            self._places[id(node)] = len(self.steps)
            self.steps.append(step)
            self._held.append(node)
            self.numbers += node.size
            if self.numbers > LIMITS.most_numbers:  # an expression takes long to print
                raise ModelError(f"{root} {TOO_LARGE}")
        return self._places[id(root)]

    def _step(self, node: Expression) -> Data:
        word = WORDS.get(node.word, FUNCTION)
        data = node.file_data() if word.kind is type(node) else None  # a kind of one of them is another one
        if data is None:
            raise ModelError(f"A file has no word for {type(node).__name__}, as in {node}. Pickle the problem instead.")
        if id(node) in self._leaves:
            return {"op": node.word, node.word: self._leaves[id(node)]}
        args, shape = [self._places[id(a)] for a in node.filed], list(node.shape)
        return {"op": node.word, **{k: v for k, v in (("args", args), ("shape", shape)) if k in word.schema}, **data}


def finite_or_none(value: float) -> float | None:
    """A number, or None for an infinity, which JSON has no word for."""
    return float(value) if isfinite(value) else None


def read_steps(steps: Iterable[Data], indices: Sequence[Index], parameters: Sequence[Parameter]) -> list[Expression]:
    """The expressions that steps make; they have been compared with the schema, and are in order here if they fit."""
    nodes: list[Expression] = []
    numbers = 0
    for i, step in enumerate(steps):
        op, where = step["op"], f"Step {i}, {step['op']},"
        if op in ("index", "parameter"):
            leaves: Sequence[Expression] = indices if op == "index" else parameters
            demand(step[op] < len(leaves), f"{where} is one that there is not.")
            nodes.append(leaves[step[op]])
            continue
        places, word = step.get("args", []), WORDS.get(op, FUNCTION)
        demand(all(a < i for a in places), f"{where} needs results of later steps.")
        fits = len(places) == word.arity if word.arity else places
        demand(fits or "args" not in word.schema, f"{where} has {len(places)} arguments.")
        node = word.read(step, [nodes[a] for a in places], where)
        if not node.origin:
            node.origin = Element.typed(node)
        numbers += node.size
        demand(numbers <= LIMITS.most_numbers, f"{where} {TOO_LARGE}")
        nodes.append(node)
    return nodes
