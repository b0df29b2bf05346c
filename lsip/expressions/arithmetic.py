"""The rules of the language: what each operator and NumPy function builds from index expressions.

Whatever has a decision variable among its operands is passed on to `affine`, which knows the few operations that stay
linear.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, wraps
from math import prod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import DTypeLike
from scipy import sparse

from ..errors import ModelError, NotConvexError
from ..validation import Array, axes, is_sparse, mask, matrix, shown
from .affine import Affine, Read, compare, linear_rule, pairing, refuse
from .angle import Angle
from .arrangements import Gather, Join, Linear, Sum, broadcast, full
from .convex import CURVES, Convex, convex_rule, euclidean, joined, largest, product, refuse_nested
from .convex import negative as negated
from .convex_rows import compare_convex
from .elementary import Function
from .functions import FUNCTIONS
from .graph import DEGREE, PI, Condition, Constant, Expression, Index, as_expression
from .kinks import Absolute, Select
from .monomials import Monomials
from .operands import Axis, Ints, Key, Mask, Operand, Shape
from .operations import Add, Apply, Divide, Multiply, Negate, Pairwise, Power
from .operators import FUNCTION_RULES, RULES, Operators, complex_operation, is_complex, operand

Symbol: TypeAlias = Affine | Convex | Expression
Given: TypeAlias = Operand[Affine | Convex | Expression]  # an operand as it was written


def rule(*names: str) -> Callable[[Callable[..., Expression]], Callable[..., Any]]:
    """Register an operation for index expressions; affine operands go to their own rule of the same name."""

    def register(build: Callable[..., Expression]) -> Callable[..., Any]:
        op = names[0]

        @wraps(build)
        def apply(*given: object) -> Symbol:
            if any(map(is_complex, given)):
                return complex_operation(op, given)
            operands: tuple[Any, ...] = tuple(o if isinstance(o, Operators) else _numbers(o, op) for o in given)
            affine = any(isinstance(o, Affine) for o in operands)
            squared = product(op, operands)
            if squared is not None:
                squared.origin = (op, *operands)
                return squared
            if any(isinstance(o, Convex) for o in operands) or (affine and op in CURVES):
                return convex_rule(op, operands)
            if affine:
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


def _numbers(value: object, op: str = "") -> Read | sparse.csr_array:
    """Numbers as an array of doubles, lists and arrays that hold expressions as one; a sparse matrix for `@` only."""
    if is_sparse(value):
        if op != "matmul":
            raise ModelError(f"A sparse matrix can only be applied with `@`, not with np.{op}; use .toarray().")
        return matrix(value, "A sparse matrix in a model")
    found: Any = operand(value)
    if isinstance(found, Operators):
        return found
    if op and np.isinf(found).any():
        raise ModelError(f"A number in the model is infinite, in np.{op}; leave the term or the constraint out.")
    return found


def _sparse_map(a: Expression | sparse.csr_array, b: Expression | sparse.csr_array) -> Expression:
    """A constant sparse matrix times a vector, from either side."""
    right: sparse.csr_array = b
    table, u = (a, b) if is_sparse(a) else (right.T.tocsr(), a)
    if u.ndim != 1 or table.shape[1] != u.size:
        raise ModelError(f"`@` needs (r, n) @ (n,); got shapes {a.shape} and {b.shape}.")
    return Linear(table, u, (table.shape[0],))


def _common(*operands: Expression) -> tuple[int, ...]:
    try:
        return np.broadcast_shapes(*(o.shape for o in operands))
    except (ValueError, RuntimeError):  # NumPy knows up to 32 axes here
        shapes = " and ".join(str(o.shape) for o in operands)
        raise ModelError(f"Shapes {shapes} do not broadcast together in {', '.join(map(str, operands))}.") from None


def _scalar(u: Expression) -> float | None:
    """The number that a constant scalar holds."""
    return float(u.value.ravel()[0]) if isinstance(u, Constant) and u.size == 1 else None


def paired(kind: type[Pairwise]) -> Callable[[Expression, Expression], Expression]:
    """How an operation on two arrays is made of operands that broadcast together."""

    def build(a: Expression, b: Expression) -> Expression:
        shape = _common(a, b)
        return kind(broadcast(a, shape), broadcast(b, shape), shape)

    return build


add, multiply = rule("add")(paired(Add)), rule("multiply")(paired(Multiply))
rule("arctan2")(paired(Angle))


@rule("subtract")
def subtract(a: Expression, b: Expression) -> Expression:
    _common(a, b)  # so that a mismatch is reported in the operands as they were written
    return add(a, Constant(-b.value) if isinstance(b, Constant) else Negate(b))


@rule("divide", "true_divide")
def divide(a: Expression, b: Expression) -> Expression:
    if isinstance(b, Constant):
        if (b.value == 0).any():
            raise ModelError(f"Division by zero in ({a}) / ({b}).")
        # The reciprocal of a power of two is exact.
        mantissa, _ = np.frexp(b.value)
        if (np.abs(mantissa) == 0.5).all():
            return multiply(a, 1.0 / b.value)
        shape = _common(a, b)
        divisor = b if b.size == 1 else Constant(np.broadcast_to(b.value, shape))
        return Divide(broadcast(a, shape), divisor, shape)
    inverse = Apply(FUNCTIONS["reciprocal"], b)
    return inverse if _scalar(a) == 1.0 and a.shape == () else multiply(a, inverse)


RULES["conjugate"] = lambda u: complex_operation("conjugate", (u,)) if is_complex(u) else u


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
    return Apply(FUNCTIONS["exp"], multiply(k, Apply(FUNCTIONS["log"], u)), spelled_out=True)


def register(function: Function) -> None:
    """Add an elementary function to the language, under the name of the ufunc that stands for it."""
    if function.name in RULES:
        raise ModelError(f"np.{function.name} is part of the language already; register another function.")
    FUNCTIONS[function.name] = function

    @rule(function.name)
    def apply(u: Expression) -> Expression:
        return Apply(function, u)


for _function in tuple(FUNCTIONS.values()):
    register(_function)

_COMPOSED: dict[str, Callable[..., Any]] = {
    "hypot": lambda u, v: Apply(FUNCTIONS["sqrt"], RULES["square"](u) + RULES["square"](v), spelled_out=True),
    "deg2rad": lambda u: u * DEGREE,
    "sinc": lambda u: Apply(FUNCTIONS["sinc"], u * PI),
}
for _name, _build in _COMPOSED.items():
    rule(_name)(_build)
RULES["radians"] = RULES["deg2rad"]


@rule("absolute", "fabs")
def absolute(u: Expression) -> Expression:
    return Absolute(u)


@rule("maximum")
def maximum(a: Expression, b: Expression) -> Expression:
    shape = _common(a, b)
    a, b = full(a, shape), full(b, shape)
    difference = a if _scalar(b) == 0.0 or (isinstance(b, Constant) and not b.value.any()) else subtract(a, b)
    return Select(difference, a, b, continuous=True)


@rule("minimum")
def minimum(a: Expression, b: Expression) -> Expression:
    return Negate(maximum(negative(a), Constant(-b.value) if isinstance(b, Constant) else negative(b)))


@rule("fmax")
def fmax(a: Expression, b: Expression) -> Expression:
    _refuse_undefined("fmax", "maximum", a, b)
    return maximum(a, b)


@rule("fmin")
def fmin(a: Expression, b: Expression) -> Expression:
    _refuse_undefined("fmin", "minimum", a, b)
    return minimum(a, b)


def _refuse_undefined(name: str, other: str, *operands: Expression) -> None:
    """np.fmax takes the other operand where one is undefined: a jump that nobody means, and that no kink describes."""
    for u in operands:
        for node in u.nodes():
            if (isinstance(node, Apply) and (node.function.partial or not np.isnan(node.function.pole))) or (
                isinstance(node, Power) and not _table(node.exponents)
            ):
                raise ModelError(
                    f"np.{name} passes over operands that are undefined, as ({u}) may be. Write np.{other}, or "
                    "np.where with the condition under which it is defined."
                )


@rule("matmul")
def matmul(a: Expression, b: Expression) -> Expression:
    """Products with a constant matrix are one linear map; two expressions multiply element by element and sum."""
    if isinstance(a, Constant) and a.ndim >= 2 and b.ndim == 1 and a.shape[-1] == b.shape[0]:
        return Linear(a.value.reshape(-1, b.size), b, a.shape[:-1])
    if isinstance(b, Constant) and b.ndim == 2 and a.ndim == 1 and a.shape[0] == b.shape[0]:
        return Linear(b.value.T, a, (b.shape[1],))
    left, right = pairing(a.shape, b.shape)
    return Sum(Multiply(Gather(a, left), Gather(b, right), left.shape), left.shape[-1])


def gathered(u: Symbol, index: Ints) -> Symbol:
    """Elements in any arrangement: `index` holds positions in the flattened array, and its shape is the new one."""
    return u.gather(index) if isinstance(u, Affine | Convex) else Gather(u, index)


@lru_cache(maxsize=64)
def _positions(shape: Shape) -> Ints:
    """The places of all elements in a flattened array; loops over single elements ask for them again and again."""
    index = np.arange(prod(shape)).reshape(shape)
    index.setflags(write=False)
    return index


def getitem(u: Symbol, key: Key) -> Symbol:
    """Slices and fancy indices, as NumPy has them."""
    key = np.asarray(key) if hasattr(key, "__array__") else key  # without the labels of a table
    try:
        index = _positions(u.shape)[key]
    except (IndexError, OverflowError, ValueError, MemoryError) as error:
        raise ModelError(f"{u} has shape {u.shape}: {str(error) or shown(key)}.") from None
    result = gathered(u, np.asarray(index))
    result.origin = ("getitem", u, key)
    return result


RULES["getitem"] = getitem


def _comparison(symbol: str) -> Callable[..., Any]:
    def apply(a: object, b: object, flipped: bool = False) -> Any:
        if is_complex(a) or is_complex(b):
            return complex_operation({"<=": "less_equal", "<": "less", "==": "equal"}[symbol], (a, b))
        operands: list[Any] = [o if isinstance(o, Operators) else _numbers(o) for o in (a, b)]
        if any(isinstance(o, Convex) for o in operands):
            return compare_convex(operands[0], operands[1], symbol, flipped)
        return compare(operands[0], operands[1], symbol, flipped)

    return apply


RULES["less_equal"], RULES["less"] = _comparison("<="), _comparison("<")
RULES["equal"] = _comparison("==")


def _structural(function: Callable[..., Any]) -> None:
    """A NumPy function that only moves elements: let it move their positions, then gather."""

    def apply(u: object, *args: object, **kwargs: object) -> Symbol:
        others = (*args, *kwargs.values())
        placed = "out" not in kwargs and not any(isinstance(v, Operators) for v in others)
        if not isinstance(u, Affine | Convex | Expression) or not placed:
            raise ModelError(
                f"np.{function.__name__} moves the elements of one expression, to where numbers say, into no `out`."
            )
        try:
            index = np.asarray(function(np.arange(u.size).reshape(u.shape), *args, **kwargs))
        except (ValueError, IndexError, TypeError) as error:
            raise ModelError(f"np.{function.__name__} of {u}, which has shape {u.shape}: {error}.") from None
        if any(index is v for v in others):
            raise ModelError(f"np.{function.__name__} cannot write an expression into an array of numbers.")
        result = gathered(u, index)
        result.origin = (function.__name__, u)
        return result

    FUNCTION_RULES[function] = apply


for _structure in (
    np.reshape, np.ravel, np.transpose, np.squeeze, np.expand_dims, np.broadcast_to, np.tile, np.repeat, np.roll,
    np.flip, np.moveaxis, np.swapaxes, np.take, np.atleast_1d, np.atleast_2d, np.diagonal,
):  # fmt: skip
    _structural(_structure)


def _each(function: Callable[..., Any]) -> None:
    """A NumPy function that takes any number of arrays: one by one."""
    alone = FUNCTION_RULES[function]

    def apply(*arrays: object) -> Any:
        found = tuple(alone(v) if isinstance(v, Operators) else function(operand(v)) for v in arrays)
        return found[0] if len(found) == 1 else found

    FUNCTION_RULES[function] = apply


_each(np.atleast_1d)
_each(np.atleast_2d)


def _stacking(function: Callable[..., Any]) -> None:
    """A NumPy function that puts arrays together: let it arrange positions in their concatenation, then gather."""

    def apply(parts: Sequence[object], *args: object, **kwargs: object) -> Symbol:
        more = {f"argument {k}": v for k, v in enumerate(args[1:], start=3)}
        _plain({k: v for k, v in kwargs.items() if k != "axis"} | more, function.__name__)
        read = [_numbers(p, function.__name__) for p in parts]
        affine = any(isinstance(p, Affine) for p in read)
        curved = any(isinstance(p, Convex) for p in read)
        made = Convex.of if curved else Affine.of if affine else as_expression
        items: list[Any] = [made(p) for p in read]
        starts = np.cumsum([0] + [p.size for p in items])
        positions = [s + np.arange(p.size).reshape(p.shape) for s, p in zip(starts, items, strict=False)]
        try:
            index = np.asarray(function(positions, *args, **kwargs))
        except ValueError as error:
            shapes = ", ".join(str(p.shape) for p in items)
            raise ModelError(f"np.{function.__name__} of arrays of shapes {shapes}: {error}.") from None
        result = gathered(joined(items) if curved else Affine.join(items) if affine else Join(tuple(items)), index)
        result.origin = ("stack", *read)
        return result

    FUNCTION_RULES[function] = apply


for _joining in (np.concatenate, np.stack, np.vstack, np.hstack, np.column_stack):
    _stacking(_joining)


def _last(u: Symbol, axis: Axis) -> tuple[Symbol, Shape]:
    """Bring the reduced axes to the end as one; returns the rearranged operand of shape (*rest, k)."""
    try:
        axes = tuple(range(u.ndim)) if axis is None else np.lib.array_utils.normalize_axis_tuple(axis, u.ndim)
    except (TypeError, ValueError, OverflowError) as error:  # NumPy's AxisError is one too
        raise ModelError(f"`axis` is a whole number, or several; {u} has shape {u.shape}: {error}.") from None
    rest = tuple(a for a in range(u.ndim) if a not in axes)
    shape = tuple(u.shape[a] for a in rest)
    index = np.transpose(np.arange(u.size).reshape(u.shape), rest + axes)
    index = index.reshape(*shape, prod(u.shape[a] for a in axes))
    if index.shape == u.shape and (index.ravel() == np.arange(u.size)).all():
        return u, shape
    return gathered(u, index), shape


def total(u: Symbol, axis: Axis = None, **kwargs: object) -> Symbol:
    """np.sum."""
    _plain(kwargs, "sum")
    moved, _ = _last(u, axis)
    if not moved.size and isinstance(moved, Expression):
        return Constant(np.zeros(moved.shape[:-1]))
    result = moved.sum_last() if isinstance(moved, Affine | Convex) else Sum(moved, moved.shape[-1])
    result.origin = ("sum", u) if axis is None else ("sum", u, axis)
    return result


def _fold(name: str) -> Callable[..., Symbol]:
    """A reduction by halves with a two-operand rule, along one axis or all."""

    def apply(u: Symbol, axis: Axis = None, **kwargs: object) -> Symbol:
        _plain(kwargs, name)
        spoken = {"multiply": "prod", "maximum": "max", "minimum": "min"}[name]
        if isinstance(u, Affine | Convex):
            if name == "multiply":
                raise refuse(f"np.{spoken}", (u,))
            extreme = _extreme(u, axis, spoken)
            extreme.origin = (spoken, u)
            return extreme
        moved = as_expression(_last(u, axis)[0])
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


def _extreme(u: Affine | Convex, axis: Axis, name: str) -> Convex:
    """The largest or the smallest along axes."""
    moved: Any = _last(u, axis)[0]
    if not moved.size:
        raise ModelError(f"np.{name} of {u}, which has no element along some axis.")
    return largest(moved, name, u) if name == "max" else negated(largest(-moved, name, u))


def _table(exponents: Array, highest: int = 1000) -> bool:
    """Whether these are whole numbers, small enough for a table of all powers up to the largest."""
    return bool((exponents == np.round(np.abs(exponents))).all() and exponents.max(initial=0.0) <= highest)


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


def _plain(kwargs: Mapping[str, object], name: str, known: str = "`axis`") -> None:
    given = {k for k, v in kwargs.items() if v is not None and v is not np._NoValue and v is not False}
    if given:
        raise ModelError(f"{name} takes only {known} here; got {', '.join(sorted(given))}.")


def mean(u: Symbol, axis: Axis = None, **kwargs: object) -> Symbol:
    s = total(u, axis, **kwargs)
    result = s / (u.size / s.size)
    result.origin = ("mean", u)
    return result


def operand_of(v: Given, op: str = "dot") -> Symbol:
    found = _numbers(v, op)
    return found if isinstance(found, Affine | Convex | Expression) else as_expression(found)


def dot(a: Given, b: Given) -> Symbol:
    left, right = operand_of(a), operand_of(b)
    if not left.shape or not right.shape:
        return RULES["multiply"](left, right)
    if max(left.ndim, right.ndim) > 2:
        raise ModelError(f"np.dot takes at most two axes here; got shapes {left.shape} and {right.shape}. Use `@`.")
    return RULES["matmul"](left, right)


def inner(a: Given, b: Given) -> Symbol:
    """The sum over the last axes of both."""
    right = operand_of(b)
    return dot(a, right.T if right.ndim == 2 else right)


def vdot(a: Given, b: Given) -> Symbol:
    """The sum over all elements of both."""
    left, right = (v if v.ndim == 1 else v.ravel() for v in map(operand_of, (a, b)))
    return dot(left, right)


def norm(u: Symbol, ord: float | None = None, axis: Axis = None, keepdims: bool = False) -> Symbol:
    """np.linalg.norm of vectors: the 2-norm, 1, inf, or any p >= 1; of variables one of the first three."""
    if isinstance(u, Convex):
        refuse_nested("np.linalg.norm", (u,))
    if isinstance(u, Affine) and ord not in (None, 1, 2, np.inf):
        raise NotConvexError(f"np.linalg.norm({u}, {ord!r}) has variables in it: ord is 1, 2 or np.inf then.")
    matrices = u.ndim > 1 if axis is None else np.size(axis) > 1
    if keepdims or (matrices and ord is not None):
        raise ModelError("np.linalg.norm is available for vectors (give one `axis`), without keepdims.")
    if ord is not None and not (isinstance(ord, int | float) and ord >= 1):
        raise ModelError(f"np.linalg.norm needs ord >= 1 or np.inf; got {shown(ord)}.")
    if ord in (None, 2) and isinstance(u, Affine):
        result: Any = euclidean(Affine.of(_last(u, axis)[0]))
    elif ord in (None, 2):
        result = RULES["sqrt"](total(RULES["square"](u), axis))
    elif ord in (1, np.inf):
        result = norm1(u, axis) if ord == 1 else norm_inf(u, axis)
    else:
        result = total(RULES["absolute"](u) ** float(ord), axis) ** (1.0 / ord)
    result.origin = ("norm", u) if ord in (None, 2) else ("norm", u, ord)
    return result


def norm1(u: Given, axis: Axis = None) -> Symbol:
    """The sum of absolute values, over all elements or along axes.

    Examples
    --------
    >>> import lsip
    >>> x = lsip.Variable(3, name="x")
    >>> print(lsip.norm1(x - 1) <= 2)
    ‖x - 1‖₁ ≤ 2
    """
    found = operand_of(u, "norm1")
    result = total(RULES["absolute"](found), axis)
    result.origin = ("norm", found, 1)
    return result


def sum_squares(r: Given, axis: Axis = None) -> Symbol:
    """The sum of squares, over all elements or along axes: convex in the variables, as `(r**2).sum()` is.

    Examples
    --------
    >>> import lsip
    >>> x = lsip.Variable(2, name="x")
    >>> problem = lsip.Problem(lsip.minimize(lsip.sum_squares(x - [1, 2])), [x[0] + x[1] <= 1])
    >>> print(problem)
    minimize ‖x - [1 2]‖²
    subject to x[0] + x[1] ≤ 1
    >>> solution = problem.solve(verbose=False)
    >>> round(solution.value, 6), solution.certified
    (2.0, True)
    """
    if is_complex(r):
        return sum_squares(np.real(r), axis) + sum_squares(np.imag(r), axis)  # type: ignore[arg-type]
    found = operand_of(r, "sum_squares")
    result = total(RULES["square"](found), axis)
    result.origin = ("sum_squares", found)
    return result


def norm_inf(u: Given, axis: Axis = None) -> Symbol:
    """The largest absolute value, over all elements or along axes.

    Examples
    --------
    >>> import lsip
    >>> x = lsip.Variable(3, name="x")
    >>> print(lsip.norm_inf(x - 1) <= 2)
    ‖x - 1‖∞ ≤ 2
    """
    found = operand_of(u, "norm_inf")
    result = FUNCTION_RULES[np.max](RULES["absolute"](found), axis=axis)
    result.origin = ("norm", found, np.inf)
    return result


def where(condition: Condition | Given, a: Given, b: Given) -> Symbol:
    """np.where with a comparison of index expressions, or a constant mask, as its condition."""
    if not isinstance(condition, Condition | Operators) and (chosen := mask(condition, "A condition")) is not None:
        return _masked(chosen, a, b)
    if isinstance(a, Convex) or isinstance(b, Convex):
        refuse_nested("np.where", (condition, a, b))
    if isinstance(a, Affine) or isinstance(b, Affine):
        raise refuse("np.where", (condition, a, b))
    if not isinstance(condition, Condition):
        raise ModelError("np.where needs a comparison of index expressions, such as np.where(t <= 0.5, a, b).")
    first, second = (as_expression(_numbers(v, "where")) for v in (a, b))
    shape = _common(condition.u, first, second)
    u, yes, no = full(condition.u, shape), full(first, shape), full(second, shape)
    # A node chooses its first branch where u >= 0; "if u > 0" is "unless -u >= 0".
    choice = (Negate(u), no, yes) if condition.strict else (u, yes, no)
    result = Select(*choice, continuous=False, otherwise=condition.strict)
    result.origin = ("where", condition, first, second)
    return result


def _masked(mask: Mask, yes: Given, no: Given) -> Symbol:
    """Elements of one where the mask is true, of the other elsewhere."""
    a, b = _numbers(yes, "where"), _numbers(no, "where")
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


def clip(
    u: Symbol, a_min: Given | None = None, a_max: Given | None = None, out: object = None, **kwargs: object
) -> Symbol:
    """np.clip, under both of the names that NumPy has for its limits."""
    low, high = kwargs.pop("min", a_min), kwargs.pop("max", a_max)
    _plain({"out": out, **kwargs}, "clip", "limits")
    if _is(high, -np.inf) or (_is(low, np.inf) and (high is None or _is(high, np.inf))):
        raise ModelError(f"np.clip({u}, {low}, {high}) is infinite; leave the term or the constraint out.")
    # The upper limit has the last word, as in NumPy.
    low = high if _is(low, np.inf) else None if _is(low, -np.inf) else low
    result = u if low is None else RULES["maximum"](u, low)
    return result if high is None or _is(high, np.inf) else RULES["minimum"](result, high)


def _is(limit: object, number: float) -> bool:
    return isinstance(limit, int | float) and limit == number


def trace(u: Symbol, offset: int = 0, axis1: int = 0, axis2: int = 1, **kwargs: object) -> Symbol:
    """np.trace: the sum along a diagonal."""
    _plain(kwargs, "trace", "`offset` and two axes")
    result = total(FUNCTION_RULES[np.diagonal](u, offset, axis1, axis2), axis=-1)
    result.origin = ("trace", u)
    return result


def diag(v: Symbol, k: int = 0) -> Symbol:
    """np.diag: the diagonal of a matrix, or the matrix with a vector on it."""
    if v.ndim == 2:
        return FUNCTION_RULES[np.diagonal](v, k)
    if v.ndim != 1:
        raise ModelError(f"np.diag takes a vector or a matrix; got {v} of shape {v.shape}.")
    places = np.diag(np.arange(1, v.size + 1), k)  # 0 is what is not on it
    result: Symbol = FUNCTION_RULES[np.concatenate]([np.zeros(1), v])[places]
    result.origin = ("diag", v)
    return result


def cumsum(u: Symbol, axis: int | None = None, **kwargs: object) -> Symbol:
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


def polyval(p: Any, x: Any) -> Symbol:
    """np.polyval by Horner's rule; coefficients may be numbers, index expressions or variables, the highest first."""
    coefficients = list(p) if isinstance(p, list | tuple | np.poly1d) or axes(p) == 1 else []
    if not coefficients:
        raise ModelError(f"np.polyval needs a vector of coefficients, the highest power first; got {p}.")
    result = operand_of(coefficients[0]) * np.ones(np.shape(x)) if np.shape(x) else operand_of(coefficients[0])
    for coefficient in coefficients[1:]:
        result = result * x + coefficient
    return result


def full_like(
    u: Symbol,
    fill_value: Given,
    dtype: DTypeLike | None = None,
    order: str = "K",
    subok: bool = True,
    shape: int | Shape | None = None,
) -> Any:
    """np.full_like, with a number or an expression."""
    _doubles(dtype, "full_like")
    return np.broadcast_to(_numbers(fill_value, "full_like"), u.shape if shape is None else shape)


def _filled(name: str, value: float) -> Callable[..., Array]:
    """np.zeros_like or np.ones_like."""

    def apply(
        u: Symbol,
        dtype: DTypeLike | None = None,
        order: str = "K",
        subok: bool = True,
        shape: int | Shape | None = None,
    ) -> Array:
        _doubles(dtype, name)
        return np.full(u.shape if shape is None else shape, value)

    return apply


def _doubles(dtype: DTypeLike | None, name: str) -> None:
    """Refuse any type but that of all numbers in a model."""
    try:
        known = dtype is None or np.dtype(dtype) == float
    except TypeError:
        known = False
    if not known:
        raise ModelError(f"np.{name} makes doubles here; got dtype {shown(dtype)}. Leave it out; a shape is `shape=…`.")


def outer_product(a: Given, b: Given) -> Symbol:
    column, row = operand_of(a), operand_of(b)
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
        np.diag: diag,
        np.real: lambda u: u.real,
        np.imag: lambda u: u.imag,
        np.cumsum: cumsum,
        np.polyval: polyval,
        np.sinc: RULES["sinc"],
        np.shape: lambda u: u.shape,
        np.ndim: lambda u: len(u.shape),
        np.size: lambda u, axis=None: u.size if axis is None else u.shape[axis],
        np.zeros_like: _filled("zeros_like", 0.0),
        np.ones_like: _filled("ones_like", 1.0),
        np.full_like: full_like,
    }
)
