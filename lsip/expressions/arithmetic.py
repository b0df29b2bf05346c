"""The rules of the language: what each operator and NumPy function builds from index expressions.

Whatever has a decision variable among its operands is passed on to `affine`, which knows the few operations that stay
linear.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

import numpy as np
from scipy import sparse

from ..errors import ModelError
from .affine import Affine, Condition, compare, linear_rule, pairing, refuse
from .angle import Angle
from .functions import FUNCTIONS
from .graph import (
    Absolute,
    Add,
    Apply,
    Constant,
    Divide,
    Expression,
    Gather,
    Index,
    Join,
    Least,
    Linear,
    Multiply,
    Negate,
    Power,
    Select,
    Sum,
    as_expression,
    broadcast,
    full,
)
from .interval import TINY
from .monomials import Monomials
from .operators import FUNCTION_RULES, RULES, Operators

POLES = ("log", "log1p")  # infinite at the end of their domain
HIGHEST = 1000  # degree of monomials that are looked up in a table of powers


def rule(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register an operation for index expressions; affine operands go to their own rule of the same name."""

    def register(build: Callable[..., Any]) -> Callable[..., Any]:
        op = names[0]

        @wraps(build)
        def apply(*operands: Any) -> Any:
            operands = tuple(o if isinstance(o, Operators) else _numbers(o, op) for o in operands)
            if any(isinstance(o, Affine) for o in operands):
                return linear_rule(op, operands)
            by_matrix = any(hasattr(o, "tocoo") for o in operands)
            result = _sparse_map(*operands) if by_matrix else build(*(as_expression(o) for o in operands))
            if not any(result is o for o in operands):
                result.origin = (op, *operands)
            return result

        for name in names:
            RULES[name] = apply
        return apply

    return register


def _numbers(value: Any, op: str = "") -> Any:
    """Plain numbers as an array; lists and object arrays that hold expressions are stacked."""
    if hasattr(value, "tocoo"):
        if op != "matmul":
            raise ModelError(f"A sparse matrix can only be applied with `@`, not with np.{op}; use .toarray().")
        return value
    array = np.asarray(value)
    if array.dtype == object and any(isinstance(v, Operators) for v in array.ravel()):
        parts = list(array.ravel())
        shape = next(v.shape for v in parts if isinstance(v, Operators))
        stacked = FUNCTION_RULES[np.stack](parts)
        return stacked if array.ndim == 1 else FUNCTION_RULES[np.reshape](stacked, array.shape + shape)
    if array.dtype.kind not in "biuf":
        raise ModelError(f"A number or an array of numbers was expected; got {value!r} of type {type(value).__name__}.")
    if np.isnan(array).any():
        raise ModelError(f"A constant in the model is nan: {array if array.size <= 6 else 'an array with nan'}.")
    if op in ("multiply", "divide", "matmul", "power") and np.isinf(array).any():
        raise ModelError(f"A coefficient in the model is infinite, in np.{op}; leave the term or the constraint out.")
    return value if isinstance(value, int | float | np.ndarray | np.generic) else array


def _sparse_map(a: Any, b: Any) -> Expression:
    """A constant sparse matrix times a vector, from either side."""
    matrix, u = (a.tocsr().astype(float), b) if hasattr(a, "tocoo") else (b.T.tocsr().astype(float), a)
    if u.ndim != 1 or matrix.shape[1] != u.size:
        raise ModelError(f"`@` needs (r, n) @ (n,); got shapes {a.shape} and {b.shape}.")
    return Linear(matrix, u, (matrix.shape[0],))


def _common(*operands: Expression) -> tuple[int, ...]:
    try:
        return np.broadcast_shapes(*(o.shape for o in operands))
    except ValueError:
        shapes = " and ".join(str(o.shape) for o in operands)
        raise ModelError(f"Shapes {shapes} do not broadcast together in {', '.join(map(str, operands))}.") from None


def _scalar(u: Expression) -> float | None:
    """The number that a constant scalar holds."""
    return float(u.value.ravel()[0]) if isinstance(u, Constant) and u.size == 1 else None


@rule("add")
def add(a: Expression, b: Expression) -> Expression:
    shape = _common(a, b)
    return Add(broadcast(a, shape), broadcast(b, shape), shape)


@rule("subtract")
def subtract(a: Expression, b: Expression) -> Expression:
    _common(a, b)  # so that a mismatch is reported in the operands as they were written
    return add(a, Constant(-b.value, b.rounded) if isinstance(b, Constant) else Negate(b))


@rule("multiply")
def multiply(a: Expression, b: Expression) -> Expression:
    shape = _common(a, b)
    return Multiply(broadcast(a, shape), broadcast(b, shape), shape)


@rule("divide", "true_divide")
def divide(a: Expression, b: Expression) -> Expression:
    if isinstance(b, Constant):
        if (b.value == 0).any():
            raise ModelError(f"Division by zero in ({a}) / ({b}).")
        # The reciprocal of a power of two is exact.
        mantissa, _ = np.frexp(b.value)
        if (np.abs(mantissa) == 0.5).all() and not b.rounded:
            return multiply(a, 1.0 / b.value)
        shape = _common(a, b)
        divisor = b if b.size == 1 else Constant(np.broadcast_to(b.value, shape), b.rounded)
        return Divide(broadcast(a, shape), divisor, shape)
    inverse = Apply(FUNCTIONS["reciprocal"], b)
    return inverse if _scalar(a) == 1.0 and a.shape == () else multiply(a, inverse)


@rule("negative")
def negative(u: Expression) -> Expression:
    return Negate(u)


@rule("positive")
def positive(u: Expression) -> Expression:
    return u


@rule("power", "float_power")
def power(u: Expression, k: Expression) -> Expression:
    shape = _common(u, k)
    if isinstance(k, Constant):
        if _scalar(k) == 1.0 and u.shape == shape:
            return Gather(u, np.arange(u.size).reshape(u.shape))
        if _scalar(k) == 2.0:
            return Apply(FUNCTIONS["square"], full(u, shape))
        if _scalar(k) == 0.5:
            return Apply(FUNCTIONS["sqrt"], full(u, shape))
        if isinstance(u, Index) and u.shape == () and k.size > 1 and _table(k.value):
            return Monomials(u, k.value.reshape(-1, 1).astype(np.intp), shape)
        return Power(broadcast(u, shape), np.broadcast_to(k.value, shape) if k.size > 1 else k.value, shape)
    if isinstance(u, Constant) and (u.value <= 0).any():
        raise ModelError(f"({u}) ** ({k}) needs a positive base, since its exponent depends on the index.")
    base = Constant(np.log(u.value), rounded=True) if isinstance(u, Constant) else Apply(FUNCTIONS["log"], u)
    return Apply(FUNCTIONS["exp"], multiply(k, base))


def _elementary(name: str) -> None:
    @rule(name)
    def apply(u: Expression) -> Expression:
        return Apply(FUNCTIONS[name], u)


for _name in FUNCTIONS:
    _elementary(_name)

_LOG2, _LOG10, _DEGREE, _PI = (Constant(v, rounded=True) for v in (np.log(2.0), np.log(10.0), np.pi / 180.0, np.pi))
_COMPOSED: dict[str, Callable[..., Any]] = {
    "exp2": lambda u: RULES["exp"](u * _LOG2),
    "log2": lambda u: RULES["log"](u) * (1.0 / _LOG2),
    "log10": lambda u: RULES["log"](u) * (1.0 / _LOG10),
    "arcsinh": lambda u: RULES["log"](u + RULES["sqrt"](RULES["square"](u) + 1.0)),
    "arccosh": lambda u: RULES["log"](u + RULES["sqrt"](RULES["square"](u) - 1.0)),
    "arctanh": lambda u: 0.5 * RULES["log"]((1.0 + u) / (1.0 - u)),
    "hypot": lambda u, v: RULES["sqrt"](RULES["square"](u) + RULES["square"](v)),
    "erfc": lambda u: 1.0 - RULES["erf"](u),
    "expit": lambda u: 1.0 / (1.0 + RULES["exp"](-u)),
    "deg2rad": lambda u: u * _DEGREE,
    "sinc": lambda u: Apply(FUNCTIONS["sinc"], u * _PI),
}
for _name, _build in _COMPOSED.items():
    rule(_name)(_build)
RULES["radians"] = RULES["deg2rad"]


@rule("absolute", "fabs")
def absolute(u: Expression) -> Expression:
    return Absolute(u)


@rule("maximum", "fmax")
def maximum(a: Expression, b: Expression) -> Expression:
    shape = _common(a, b)
    a, b = full(a, shape), full(b, shape)
    difference = a if _scalar(b) == 0.0 or (isinstance(b, Constant) and not b.value.any()) else subtract(a, b)
    return Select(difference, a, b, continuous=True)


@rule("minimum", "fmin")
def minimum(a: Expression, b: Expression) -> Expression:
    return Negate(maximum(negative(a), Constant(-b.value) if isinstance(b, Constant) else negative(b)))


@rule("arctan2")
def arctan2(y: Expression, x: Expression) -> Expression:
    shape = _common(y, x)
    return Angle(broadcast(y, shape), broadcast(x, shape), shape)


@rule("matmul")
def matmul(a: Expression, b: Expression) -> Expression:
    """Products with a constant matrix are one linear map; two expressions multiply element by element and sum."""
    if isinstance(a, Constant) and a.ndim >= 2 and b.ndim == 1 and a.shape[-1] == b.shape[0]:
        return Linear(a.value.reshape(-1, b.size), b, a.shape[:-1])
    if isinstance(b, Constant) and b.ndim == 2 and a.ndim == 1 and a.shape[0] == b.shape[0]:
        return Linear(b.value.T, a, (b.shape[1],))
    left, right = pairing(a.shape, b.shape)
    return Sum(Multiply(Gather(a, left), Gather(b, right), left.shape), left.shape[-1])


_dense_product = RULES["matmul"]


def product(a: Any, b: Any) -> Any:
    """`@`, with a sparse matrix of constants as one linear map."""
    if hasattr(a, "tocsr") and isinstance(b, Expression):
        if b.ndim != 1 or a.shape[1] != b.size:
            raise ModelError(f"`@` needs (r, n) @ (n,); got shapes {a.shape} and {b.shape}.")
        result = Linear(a.tocsr().astype(float), b, (a.shape[0],))
        result.origin = ("matmul", a, b)
        return result
    return _dense_product(a, b)


RULES["matmul"] = product


def getitem(u: Any, key: Any) -> Any:
    """Slices and fancy indices, as NumPy has them."""
    try:
        index = np.arange(u.size).reshape(u.shape)[key]
    except IndexError as error:
        raise ModelError(f"{u} has shape {u.shape}: {error}.") from None
    result = u.gather(index) if isinstance(u, Affine) else Gather(u, np.asarray(index))
    result.origin = ("getitem", u, key)
    return result


RULES["getitem"] = getitem


def _comparison(symbol: str) -> Callable[..., Any]:
    def apply(a: Any, b: Any, flipped: bool = False) -> Any:
        a, b = (o if isinstance(o, Operators) else _numbers(o) for o in (a, b))
        return compare(a, b, symbol, flipped)

    return apply


RULES["less_equal"], RULES["less"] = _comparison("<="), _comparison("<")
RULES["equal"] = _comparison("==")


def _structural(function: Any) -> None:
    """A NumPy function that only moves elements: let it move their positions, then gather."""

    def apply(u: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            index = np.asarray(function(np.arange(u.size).reshape(u.shape), *args, **kwargs))
        except (ValueError, IndexError) as error:
            raise ModelError(f"np.{function.__name__} of {u}, which has shape {u.shape}: {error}.") from None
        result = u.gather(index) if isinstance(u, Affine) else Gather(u, index)
        result.origin = (function.__name__, u)
        return result

    FUNCTION_RULES[function] = apply


for _function in (
    np.reshape, np.ravel, np.transpose, np.squeeze, np.expand_dims, np.broadcast_to, np.tile, np.repeat, np.roll,
    np.flip, np.moveaxis, np.swapaxes, np.take, np.atleast_1d, np.atleast_2d, np.diagonal,
):  # fmt: skip
    _structural(_function)


def _stacking(function: Any) -> None:
    """A NumPy function that puts arrays together: let it arrange positions in their concatenation, then gather."""

    def apply(parts: Sequence[Any], *args: Any, **kwargs: Any) -> Any:
        affine = any(isinstance(p, Affine) for p in parts)
        items: list[Any] = [Affine.of(p) if affine else as_expression(p) for p in parts]
        starts = np.cumsum([0] + [p.size for p in items])
        positions = [s + np.arange(p.size).reshape(p.shape) for s, p in zip(starts, items, strict=False)]
        try:
            index = np.asarray(function(positions, *args, **kwargs))
        except ValueError as error:
            shapes = ", ".join(str(p.shape) for p in items)
            raise ModelError(f"np.{function.__name__} of arrays of shapes {shapes}: {error}.") from None
        result = Affine.join(items).gather(index) if affine else Gather(Join(tuple(items)), index)
        result.origin = ("stack", *parts)
        return result

    FUNCTION_RULES[function] = apply


for _joining in (np.concatenate, np.stack, np.vstack, np.hstack, np.column_stack):
    _stacking(_joining)


def _last(u: Any, axis: Any) -> tuple[Any, tuple[int, ...]]:
    """Bring the reduced axes to the end as one; returns the rearranged operand of shape (*rest, k)."""
    try:
        axes = tuple(range(u.ndim)) if axis is None else np.lib.array_utils.normalize_axis_tuple(axis, u.ndim)
    except ValueError as error:  # NumPy's AxisError is one too
        raise ModelError(f"{u} has shape {u.shape}: {error}.") from None
    rest = tuple(a for a in range(u.ndim) if a not in axes)
    shape = tuple(u.shape[a] for a in rest)
    index = np.transpose(np.arange(u.size).reshape(u.shape), rest + axes).reshape(*shape, -1)
    if index.shape == u.shape and (index.ravel() == np.arange(u.size)).all():
        return u, shape
    return (u.gather(index) if isinstance(u, Affine) else Gather(u, index)), shape


def total(u: Any, axis: Any = None, **kwargs: Any) -> Any:
    """np.sum."""
    _plain(kwargs, "sum")
    moved, _ = _last(u, axis)
    if not moved.size and isinstance(moved, Expression):
        return Constant(np.zeros(moved.shape[:-1]))
    result = moved.sum_last() if isinstance(u, Affine) else Sum(moved, moved.shape[-1])
    result.origin = ("sum", u) if axis is None else ("sum", u, axis)
    return result


def _fold(name: str) -> Callable[..., Any]:
    """A reduction by halves with a two-operand rule, along one axis or all."""

    def apply(u: Any, axis: Any = None, **kwargs: Any) -> Any:
        _plain(kwargs, name)
        spoken = {"multiply": "prod", "maximum": "max", "minimum": "min"}[name]
        if isinstance(u, Affine):
            raise refuse(f"np.{spoken}", (u,))
        moved, _ = _last(u, axis)
        known = _monomials(moved) if name == "multiply" else None
        if known is not None:
            known.origin = ("prod", u)
            return known
        while moved.shape[-1] > 1:
            k = moved.shape[-1]
            half = RULES[name](moved[..., : k // 2], moved[..., k // 2 : 2 * (k // 2)])
            moved = half if k % 2 == 0 else FUNCTION_RULES[np.concatenate]([half, moved[..., -1:]], axis=-1)
        result = moved[..., 0]
        result.origin = (spoken, u)
        return result

    return apply


def _table(exponents: Any) -> bool:
    """Whether these are whole numbers, small enough for a table of all powers up to the largest."""
    return bool((exponents == np.round(np.abs(exponents))).all() and exponents.max(initial=0.0) <= HIGHEST)


def _monomials(u: Expression) -> Monomials | None:
    """The product over the last axis, if it is one of whole powers of the coordinates of an index."""
    if not isinstance(u, Power) or u.ndim < 1:
        return None
    base, exponents = u.args[0], np.broadcast_to(u.exponents, (1, u.size)).reshape(u.shape)
    repeated = isinstance(base, Gather) and isinstance(base.args[0], Index)
    index: Any = base.args[0] if repeated else base
    if not isinstance(index, Index) or index.shape != u.shape[-1:] or not _table(exponents):
        return None
    if isinstance(base, Gather) and (base.index.reshape(u.shape) != np.arange(index.size)).any():
        return None
    return Monomials(index, exponents.reshape(-1, index.size).astype(np.intp), u.shape[:-1])


def _plain(kwargs: dict[str, Any], name: str, known: str = "`axis`") -> None:
    given = {k for k, v in kwargs.items() if v is not None and v is not np._NoValue and v is not False}
    if given:
        raise ModelError(f"{name} takes only {known} here; got {', '.join(sorted(given))}.")


def mean(u: Any, axis: Any = None, **kwargs: Any) -> Any:
    s = total(u, axis, **kwargs)
    result = s / (u.size / s.size)
    result.origin = ("mean", u)
    return result


def _operand(v: Any) -> Any:
    return v if isinstance(v, Operators) else as_expression(_numbers(v))


def dot(a: Any, b: Any) -> Any:
    a, b = _operand(a), _operand(b)
    if not a.shape or not b.shape:
        return RULES["multiply"](a, b)
    if max(a.ndim, b.ndim) > 2:
        raise ModelError(f"np.dot takes at most two axes here; got shapes {a.shape} and {b.shape}. Use `@`.")
    return RULES["matmul"](a, b)


def inner(a: Any, b: Any) -> Any:
    """The sum over the last axes of both."""
    b = _operand(b)
    return dot(a, b.T if b.ndim == 2 else b)


def vdot(a: Any, b: Any) -> Any:
    """The sum over all elements of both."""
    a, b = (v if v.ndim == 1 else v.ravel() for v in map(_operand, (a, b)))
    return dot(a, b)


def norm(u: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """np.linalg.norm of vectors: the 2-norm, 1, inf, or any p >= 1."""
    if isinstance(u, Affine):
        raise refuse("np.linalg.norm", (u,))
    matrices = u.ndim > 1 if axis is None else np.size(axis) > 1
    if keepdims or (matrices and ord is not None):
        raise ModelError("np.linalg.norm is available for vectors (give one `axis`), without keepdims.")
    if ord is not None and not (isinstance(ord, int | float) and ord >= 1):
        raise ModelError(f"np.linalg.norm needs ord >= 1 or np.inf; got {ord!r}.")
    if ord in (None, 2):
        result = RULES["sqrt"](total(RULES["square"](u), axis))
    elif ord == np.inf:
        result = FUNCTION_RULES[np.max](RULES["absolute"](u), axis=axis)
    else:
        result = total(RULES["absolute"](u) ** float(ord), axis) ** (1.0 / ord) if ord != 1 else total(abs(u), axis)
    result.origin = ("norm", u)
    return result


def where(condition: Any, a: Any, b: Any) -> Any:
    """np.where with a comparison of index expressions, or a constant mask, as its condition."""
    if not isinstance(condition, Condition | Expression | Affine) and np.asarray(condition).dtype == bool:
        return _masked(np.asarray(condition), a, b)
    if isinstance(a, Affine) or isinstance(b, Affine):
        raise refuse("np.where", (condition, a, b))
    if not isinstance(condition, Condition):
        raise ModelError("np.where needs a comparison of index expressions, such as np.where(t <= 0.5, a, b).")
    a, b = as_expression(a), as_expression(b)
    shape = _common(condition.u, a, b)
    u, yes, no = full(condition.u, shape), full(a, shape), full(b, shape)
    # A node chooses its first branch where u >= 0; "if u > 0" is "unless -u >= 0".
    choice = (Negate(u), no, yes) if condition.strict else (u, yes, no)
    result = Select(*choice, continuous=False, otherwise=condition.strict, **_definedness(u))
    result.origin = ("where", condition, a, b)
    return result


def _definedness(u: Expression) -> dict[str, Any]:
    """`defined`, a scalar that is nonnegative only where u is defined (nothing if that is everywhere), and `decisive`.

    Whether an inner np.where is defined is up to the branch that it takes. Where it takes several, element by element,
    it is not decisive that one of its parts is undefined.
    """
    margins: list[Expression] = []
    decisive = True
    seen: set[int] = set()
    waiting = [u]
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, Select) and not node.continuous:
            if node.size == 1:
                margins += _of_branches(node)
                continue
            decisive = False
        waiting.extend(node.args)
        if isinstance(node, Apply) and node.function.partial:
            v, f = node.args[0], node.function
            room = TINY if f.name in POLES else 0.0  # where the end itself is a pole, it does not count
            margins += [v - f.low - room] if f.low > -np.inf else []
            margins += [f.high - v - room] if f.high < np.inf else []
        elif isinstance(node, Power) and (node.exponents != np.round(node.exponents)).any():
            margins.append(node.args[0])
        if (isinstance(node, Apply) and node.function is FUNCTIONS["reciprocal"]) or (
            isinstance(node, Power) and (node.exponents < 0).any()
        ):
            margins.append(Apply(FUNCTIONS["square"], node.args[0]) - TINY)
    if not margins:
        return {}
    return {"defined": Least(Join(tuple(margins)) if len(margins) > 1 else margins[0]), "decisive": decisive}


def _of_branches(node: Select) -> list[Expression]:
    """Where the branch that an inner np.where takes is defined, by the same choice."""
    parts = [_definedness(branch) for branch in node.args[1:3]]
    if not any(parts):
        return []
    first, second = (part.get("defined", Constant(1.0)) for part in parts)
    defined = node.args[3] if len(node.args) > 3 else None
    decisive = node.decisive and all(part.get("decisive", True) for part in parts)
    u = node.args[0] if node.args[0].shape == () else Gather(node.args[0], np.zeros((), dtype=np.intp))
    return [Select(u, first, second, False, node.otherwise, defined, decisive)]


def _masked(mask: Any, a: Any, b: Any) -> Any:
    """Elements of a where the mask is true, of b elsewhere."""
    affine = isinstance(a, Affine) or isinstance(b, Affine)
    parts: list[Any] = [Affine.of(v) if affine else as_expression(v) for v in (a, b)]
    first, second = (np.arange(p.size).reshape(p.shape) for p in parts)
    try:
        index = np.where(mask, first, first.size + second)
    except ValueError:
        shapes = f"{mask.shape}, {first.shape} and {second.shape}"
        raise ModelError(f"Shapes {shapes} do not broadcast together in np.where.") from None
    result = Affine.join(parts).gather(index) if affine else Gather(Join(tuple(parts)), index)
    result.origin = ("where", mask, a, b)
    return result


def clip(u: Any, a_min: Any = None, a_max: Any = None, out: Any = None, **kwargs: Any) -> Any:
    """np.clip, under both of the names that NumPy has for its limits."""
    low, high = (_limit(side) for side in (kwargs.pop("min", a_min), kwargs.pop("max", a_max)))
    _plain({"out": out, **kwargs}, "clip", "limits")
    result = u if low is None else RULES["maximum"](u, low)
    return result if high is None else RULES["minimum"](result, high)


def _limit(side: Any) -> Any:
    """A limit of np.clip; None if it is infinite, which is none."""
    return None if isinstance(side, int | float) and np.isinf(side) else side


def trace(u: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, **kwargs: Any) -> Any:
    """np.trace: the sum along a diagonal."""
    _plain(kwargs, "trace", "`offset` and two axes")
    result = total(FUNCTION_RULES[np.diagonal](u, offset, axis1, axis2), axis=-1)
    result.origin = ("trace", u)
    return result


def cumsum(u: Any, axis: Any = None, **kwargs: Any) -> Any:
    """np.cumsum: one sparse matrix of ones, applied to all elements."""
    _plain(kwargs, "cumsum")
    if axis is None:
        return cumsum(u if u.ndim == 1 else u.ravel(), 0)
    place = np.arange(u.size).reshape(u.shape)
    try:
        lines = np.moveaxis(place, axis, -1).reshape(-1, u.shape[axis])  # positions that are added up in turn
    except (ValueError, IndexError) as error:  # NumPy's AxisError is both
        raise ModelError(f"np.cumsum of {u}, which has shape {u.shape}: {error}.") from None
    later, earlier = np.tril_indices(lines.shape[1])
    rows, columns = lines[:, later].ravel(), lines[:, earlier].ravel()
    ones = sparse.csr_matrix((np.ones(rows.size), (rows, columns)), shape=(u.size, u.size))
    result = RULES["matmul"](ones, u.ravel()).reshape(u.shape)
    result.origin = ("cumsum", u)
    return result


def polyval(p: Any, x: Any) -> Any:
    """np.polyval by Horner's rule; coefficients may be numbers, index expressions or variables, the highest first."""
    coefficients = list(p) if isinstance(p, list | tuple | np.poly1d) or np.ndim(p) == 1 else []
    if not coefficients:
        raise ModelError(f"np.polyval needs a vector of coefficients, the highest power first; got {p}.")
    result = _operand(coefficients[0]) * np.ones(np.shape(x)) if np.shape(x) else _operand(coefficients[0])
    for coefficient in coefficients[1:]:
        result = result * x + coefficient
    return result


def outer_product(a: Any, b: Any) -> Any:
    column, row = _operand(a), _operand(b)
    result = column.reshape(-1, 1) * row.reshape(1, -1)
    result.origin = ("outer", a, b)
    return result


FUNCTION_RULES.update(
    {
        np.sum: total,
        np.prod: _fold("multiply"),
        np.max: _fold("maximum"),
        np.min: _fold("minimum"),
        np.mean: mean,
        np.dot: dot,
        np.inner: inner,
        np.vdot: vdot,
        np.linalg.norm: norm,
        np.where: where,
        np.clip: clip,
        np.outer: outer_product,
        np.trace: trace,
        np.cumsum: cumsum,
        np.polyval: polyval,
        np.sinc: RULES["sinc"],
        np.shape: lambda u: u.shape,
        np.ndim: lambda u: len(u.shape),
        np.size: lambda u: u.size,
        np.zeros_like: lambda u, **_: np.zeros(u.shape),
        np.ones_like: lambda u, **_: np.ones(u.shape),
        np.full_like: lambda u, v, **_: np.full(u.shape, v),
    }
)
