"""Index expressions as plain data: steps, each an operation {op, args, …} on the arrays that earlier ones made.

The words are those of the format of proofs (`lsip/proof/export.py`): index, constant, irrational, add, multiply,
divide, negate, absolute, maximum, select, angle, power, linear, and elementary functions by their names in numpy. Where
a proof has one step for every number, a step here makes an array of some shape; so there are steps that only arrange
numbers (gather, join) or add them up along the last axis (sum), tables of monomials, splines with their pieces,
parameters. Numbers `between` others may be known as fractions besides.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import prod
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse

from ..errors import ModelError
from ..schema import Either, Schema, Tagged, demand, flag, missing, number, text, whole
from .angle import Angle
from .arithmetic import DEGREE, PI
from .bessel import BESSEL
from .elementary import EVERYWHERE, FUNCTIONS
from .enclosed import Enclosed
from .graph import (
    Absolute,
    Add,
    Apply,
    Constant,
    Divide,
    Expression,
    Gather,
    Index,
    Irrational,
    Join,
    Linear,
    Multiply,
    Negate,
    Power,
    Select,
    Sum,
    as_expression,
)
from .monomials import Monomials
from .operators import RULES
from .parameter import Parameter
from .removable import LOG2
from .spelled import Element
from .splines import Spline, made

Data: TypeAlias = dict[str, Any]
NODES = {
    Absolute,
    Apply,
    Constant,
    Gather,
    Index,
    Irrational,
    Join,
    Linear,
    Monomials,
    Negate,
    Parameter,
    Power,
    Select,
}
NODES |= {Enclosed, Add, Angle, Divide, Multiply, Sum}
ARRAYS: dict[str, type[Expression]] = {"add": Add, "multiply": Multiply, "divide": Divide, "angle": Angle}
IRRATIONAL = {constant.name: constant for constant in (PI, DEGREE, LOG2)}
_NUMBERS: Schema = [number]
_PLACES: Schema = [whole]
_SHAPED: dict[str, Schema] = {"args": _PLACES, "shape": _PLACES}
_SPLINE: dict[str, Schema] = {"knots": _NUMBERS, "origins": _NUMBERS, "low": [_NUMBERS], "high": [_NUMBERS]}


MOST_DIGITS = 4_000  # of a fraction: Python reads no more than 4,300


@dataclass(frozen=True)
class PlainTuning:
    """How large formulas in files may be, whoever wrote them: a few words could ask for more than a machine has.

    Parameters
    ----------
    most_numbers
        In the results of all steps together.
    most_exponent
        In tables of monomials, which hold all powers up to it; also the largest degree of a decision rule.
    most_entries
        Of a matrix that is to be semidefinite, whose directions are as many numbers as it has; also of all parameters
        that have no value.
    most_unlisted
        Of what takes a number and no more: coordinates of simplices and budget sets, and elements of an array that
        neither a term nor a constant is in.
    """

    most_numbers: int = 20_000_000
    most_exponent: int = 10_000
    most_entries: int = 1_000_000
    most_unlisted: int = 10_000


TUNING = PlainTuning()
_FRACTION = re.compile(r"-?[0-9]+(/0*[1-9][0-9]*)?")
TOO_LARGE = f"makes more than {TUNING.most_numbers:,} numbers in all, which is too much for a file; pickle the problem."


def fraction(value: object) -> bool:
    """A fraction, such as "-1/3"."""
    return isinstance(value, str) and len(value) <= MOST_DIGITS and bool(_FRACTION.fullmatch(value))


def _short(v: Fraction) -> bool:
    """Whether a fraction has not too many digits; one takes more than three bits."""
    return v.numerator.bit_length() + v.denominator.bit_length() < 3 * (MOST_DIGITS - 4)


def functions() -> dict[str, Any]:
    """The elementary functions, by their names in files."""
    return {**FUNCTIONS, BESSEL.name: BESSEL}


def step_schema() -> Tagged:
    """What a step must look like."""
    kinds: dict[str, dict[str, Schema]] = {
        "index": {"index": whole},
        "parameter": {"parameter": whole},
        "constant": {"shape": _PLACES, "value": _NUMBERS},
        "irrational": {"name": text},
        "between": {"shape": _PLACES, "lower": _NUMBERS, "upper": _NUMBERS, "exact": Either([fraction], missing)},
        **dict.fromkeys(ARRAYS, _SHAPED),
        **{op: {"args": _PLACES} for op in ("negate", "absolute", "join", "sum")},
        "maximum": {"args": _PLACES},
        "select": {"args": _PLACES, "otherwise": flag},
        "power": {**_SHAPED, "exponents": _NUMBERS},
        "gather": {**_SHAPED, "index": _PLACES},
        "linear": {**_SHAPED, "rows": Either([_NUMBERS], [[[number]]])},
        "monomials": {**_SHAPED, "exponents": [_PLACES]},
        "spline": {"args": _PLACES, **_SPLINE, "span": Either(_NUMBERS, missing)},
    }
    return Tagged("op", {**kinds, **{op: {"args": _PLACES, "spelled_out": flag} for op in functions()}})


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
        stack = [(root, False)]
        while stack:
            node, ready = stack.pop()
            if id(node) in self._places:
                continue
            args = node.args[1:] if isinstance(node, Select) and node.continuous else node.args
            if ready or not args:
                step = self._step(node, [self._places[id(a)] for a in args])
                self._places[id(node)] = len(self.steps)
                self.steps.append(step)
                self._held.append(node)
                self.numbers += node.size
                if self.numbers > TUNING.most_numbers:  # an expression takes long to print
                    raise ModelError(f"{root} {TOO_LARGE}")
            else:
                stack.append((node, True))
                stack.extend((a, False) for a in reversed(args))
        return self._places[id(root)]

    def _step(self, node: Expression, args: list[int]) -> Data:
        shaped = {"args": args, "shape": list(node.shape)}
        if type(node) not in NODES:  # a kind of one of them is another one
            raise _unknown(node)
        match node:
            case Index():
                return {"op": "index", "index": self._leaves[id(node)]}
            case Parameter():
                return {"op": "parameter", "parameter": self._leaves[id(node)]}
            case Irrational() if node.name in IRRATIONAL:
                return {"op": "irrational", "name": node.name}
            case Enclosed() if all(_short(v) for v in node.exact or ()):
                ends = {"lower": node.lower.ravel().tolist(), "upper": node.upper.ravel().tolist()}
                exact = None if node.exact is None else [str(v) for v in node.exact]
                return {"op": "between", "shape": list(node.shape), **ends, "exact": exact}
            case Constant() if not node.rounded and np.isfinite(node.value).all():
                return {"op": "constant", "shape": list(node.shape), "value": node.value.ravel().tolist()}
            case Apply() if isinstance(node.function, Spline):
                pieces, span = node.function.pieces, node.function.span
                parts = {name: getattr(pieces, name).tolist() for name in _SPLINE}
                return {"op": "spline", "args": args, **parts, "span": None if span == EVERYWHERE else list(span)}
            case Apply() if functions().get(node.function.name) is node.function:
                return {"op": node.function.name, "args": args, "spelled_out": node.spelled_out}
            case Add() | Multiply() | Divide() | Angle():
                return {"op": next(op for op, kind in ARRAYS.items() if kind is type(node)), **shaped}
            case Negate():
                return {"op": "negate", "args": args}
            case Absolute():
                return {"op": "absolute", "args": args}
            case Join():
                return {"op": "join", "args": args}
            case Sum():
                return {"op": "sum", "args": args}
            case Select() if node.continuous:
                return {"op": "maximum", "args": args}
            case Select():
                return {"op": "select", "args": args, "otherwise": node.otherwise}
            case Power():
                return {"op": "power", **shaped, "exponents": node.exponents.ravel().tolist()}
            case Gather():
                return {"op": "gather", **shaped, "index": node.index.tolist()}
            case Linear():
                return {"op": "linear", **shaped, "rows": _rows(node.matrix)}
            case Monomials() if node.exponents.max(initial=0) <= TUNING.most_exponent:
                return {"op": "monomials", **shaped, "exponents": node.exponents.tolist()}
        raise _unknown(node)


def _unknown(node: Expression) -> ModelError:
    return ModelError(f"A file has no word for {type(node).__name__}, as in {node}. Pickle the problem instead.")


def _rows(matrix: Any) -> list[Any]:
    """A dense matrix as rows of numbers, a sparse one as rows of pairs [column, number]."""
    if not sparse.issparse(matrix):
        found: list[Any] = np.asarray(matrix).tolist()
        return found
    table = sparse.csr_array(matrix)
    pairs = [[j, v] for j, v in zip(table.indices.tolist(), table.data.tolist(), strict=True)]
    return [pairs[a:b] for a, b in pairwise(table.indptr.tolist())]


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
        places = step.get("args", [])
        demand(all(a < i for a in places), f"{where} needs results of later steps.")
        node = _node(step, [nodes[a] for a in places], where)
        if not node.origin:
            node.origin = Element.typed(node)
        numbers += node.size
        demand(numbers <= TUNING.most_numbers, f"{where} {TOO_LARGE}")
        nodes.append(node)
    return nodes


def _node(step: Data, args: list[Expression], where: str) -> Expression:
    op, shape = step["op"], tuple(step.get("shape", ()))
    if op == "constant":
        demand(prod(shape) == len(step["value"]), f"{where} has another number of values than its shape says.")
        return Constant(_fixed(np.array(step["value"], dtype=float).reshape(shape)))
    if op == "irrational":
        demand(step["name"] in IRRATIONAL, f"{where} has a name that is not known.")
        return IRRATIONAL[step["name"]]
    if op == "between":
        return _between(step, shape, where)
    counts = {"join": range(1, len(args) + 1), "maximum": (2,), "select": (3,), **dict.fromkeys(ARRAYS, (2,))}
    demand(len(args) in counts.get(op, (1,)), f"{where} has {len(args)} arguments.")
    sizes, (u, *_) = [a.size for a in args], args
    if op in ARRAYS:
        fits = all(s in (1, prod(shape)) for s in sizes) and prod(shape) in sizes
        demand(fits, f"{where} has arguments of other sizes than its shape says.")
        known = op != "divide" or (isinstance(args[1], Constant) and bool((args[1].value != 0).all()))
        demand(known, f"{where} divides by something else than numbers other than 0.")
        return ARRAYS[op](*args, shape)  # type: ignore[call-arg]
    if op in ("maximum", "select"):
        demand(len({a.shape for a in args}) == 1, f"{where} needs arguments of one shape.")
        if op == "maximum":  # decided by the difference of its operands, and by nothing else
            return as_expression(RULES["maximum"](*args))
        condition, yes, no = args
        return Select(condition, yes, no, continuous=False, otherwise=step["otherwise"])
    if op in _BUILT:
        return _BUILT[op](step, args, shape, where)
    if op == "spline":
        return Apply(_spline(step, where), u)
    return Apply(functions()[op], u, step["spelled_out"])


def _between(step: Data, shape: tuple[int, ...], where: str) -> Expression:
    lower, upper = (np.array(step[end], dtype=float) for end in ("lower", "upper"))
    exact = None if step["exact"] is None else [Fraction(v) for v in step["exact"]]
    fits = len(lower) == len(upper) == prod(shape) == (len(lower) if exact is None else len(exact))
    demand(fits, f"{where} has another number of values than its shape says.")
    within = all(a <= v <= b for a, v, b in zip(lower, exact or lower, upper, strict=True))
    demand(within and (lower <= upper).all(), f"{where} needs `lower` below `upper`, and what is exact between them.")
    return Enclosed(lower.reshape(shape), upper.reshape(shape), exact)


def _power(step: Data, args: list[Expression], shape: tuple[int, ...], where: str) -> Expression:
    k, (u,) = np.array(step["exponents"], dtype=float), args
    fits = {u.size, k.size} <= {1, prod(shape)} and prod(shape) in (u.size, k.size)
    demand(fits, f"{where} has exponents or an argument of another size than its shape says.")
    return Power(u, k, shape)


def _gather(step: Data, args: list[Expression], shape: tuple[int, ...], where: str) -> Expression:
    index, (u,) = step["index"], args
    demand(len(index) == prod(shape), f"{where} has another number of places than its shape says.")
    demand(all(j < u.size for j in index), f"{where} takes elements that its argument does not have.")
    return Gather(u, np.array(index, dtype=np.intp).reshape(shape))


def _sum(step: Data, args: list[Expression], shape: tuple[int, ...], where: str) -> Expression:
    (u,) = args
    demand(u.shape, f"{where} needs an argument with an axis.")
    return Sum(u, u.shape[-1])


def _linear(step: Data, args: list[Expression], shape: tuple[int, ...], where: str) -> Expression:
    rows, (u,) = step["rows"], args
    demand(len(rows) == prod(shape), f"{where} has another number of rows than its shape says.")
    if all(not row or not isinstance(row[0], list) for row in rows) and any(rows):
        demand(all(len(row) == u.size for row in rows), f"{where} has rows of another length than its argument.")
        return Linear(np.array(rows, dtype=float), u, shape)
    pairs = [(i, *pair) for i, row in enumerate(rows) for pair in row]
    fits = all(len(p) == 3 and whole(p[1]) and p[1] < u.size for p in pairs)
    demand(fits, f"{where} needs pairs of a column and a number.")
    i, j, v = (list(part) for part in zip(*pairs, strict=True)) if pairs else ([], [], [])
    table = sparse.coo_matrix((np.array(v, dtype=float), (i, j)), shape=(len(rows), u.size))
    demand(len({(a, b) for a, b, _ in pairs}) == len(pairs), f"{where} has two numbers at one place.")
    return Linear(sparse.csr_matrix(table), u, shape)


def _monomials(step: Data, args: list[Expression], shape: tuple[int, ...], where: str) -> Expression:
    exponents, (u,) = step["exponents"], args
    if not isinstance(u, Index):
        raise ModelError(f"{where} needs an index as its argument.")
    fits = len(exponents) == prod(shape) > 0 and all(len(row) == u.size for row in exponents)
    demand(fits, f"{where} has other exponents than its shape and its argument say.")
    demand(max(map(max, exponents)) <= TUNING.most_exponent, f"{where} has an exponent above {TUNING.most_exponent}.")
    return Monomials(u, np.array(exponents, dtype=np.intp), shape)


def _spline(step: Data, where: str) -> Spline:
    knots, origins = step["knots"], step["origins"]
    low, high = (step[end] for end in ("low", "high"))
    span = EVERYWHERE if step["span"] is None else tuple(map(float, step["span"]))
    same = {len(row) for row in (origins, *low, *high)} == {len(knots) + 1} and len(low) == len(high) > 0
    demand(same, f"{where} has other pieces than its knots say.")
    ordered = all(a < b for a, b in pairwise(knots)) and len(span) == 2 and span[0] < span[1]
    within = all(a <= b for one, other in zip(low, high, strict=True) for a, b in zip(one, other, strict=True))
    demand(ordered and within, f"{where} needs increasing knots, and coefficients between low and high.")
    parts: list[Any] = [np.array(part, dtype=float) for part in (knots, origins, low, high)]
    knots, origins, low, high = parts
    return made(knots, origins, low, high, (span[0], span[1]))


def _fixed(array: Any) -> Any:
    array.flags.writeable = False
    return array


_BUILT: dict[str, Callable[[Data, list[Expression], tuple[int, ...], str], Expression]] = {
    "negate": lambda step, args, shape, where: Negate(*args),
    "absolute": lambda step, args, shape, where: Absolute(*args),
    "join": lambda step, args, shape, where: Join(tuple(args)),
    "sum": _sum,
    "power": _power,
    "gather": _gather,
    "linear": _linear,
    "monomials": _monomials,
}
