"""Python's operators and NumPy's protocols, shared by index expressions and by what is affine in the variables.

The rules themselves register in `RULES` (by ufunc name) and in `FUNCTION_RULES` (by NumPy function), so that an
operator, a ufunc and a method such as `.sum()` always mean the same thing. What would make something else of an
expression (a number, an array of one object, a truth value) is refused where it is written.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cache
from math import prod
from types import FrameType
from typing import Any, Generic, NoReturn, Self, TypeAlias

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ..errors import ConversionError, FixedError, ModelError
from ..validation import OBJECT, Array, Sparse, kept, numbers, refuse_wrapped
from .operands import Axis, Indexed, Key, Made, Operand, Taken, Told

RULES: dict[str, Callable[..., Any]] = {}
FUNCTION_RULES: dict[Callable[..., Any], Callable[..., Any]] = {}
REDUCERS: dict[str, Callable[..., Any]] = {"add": np.sum, "multiply": np.prod, "maximum": np.max, "minimum": np.min}
WHAT = "Numbers in a model"
FIRST = 10_000  # pandas leaves an operation to whatever has a higher priority than its own, at most 4,000


class Operators(Generic[Taken, Made, Told]):
    """Operators, ufuncs and array functions, looked up in the tables of rules.

    For the type checker, it knows which expressions may be the other operand, what operations make, and what a
    comparison gives. Where the other operand decides, its own reflected operator says what comes out.
    """

    shape: tuple[int, ...]
    hint = "Make a new one instead."  # to those who try to change one
    __hash__ = object.__hash__
    __pandas_priority__ = FIRST

    @property
    def size(self) -> int:
        return prod(self.shape)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def __add__(self, other: Operand[Taken]) -> Made:
        return RULES["add"](self, other)

    def __radd__(self, other: Operand[Taken]) -> Made:
        return RULES["add"](other, self)

    def __sub__(self, other: Operand[Taken]) -> Made:
        return RULES["subtract"](self, other)

    def __rsub__(self, other: Operand[Taken]) -> Made:
        return RULES["subtract"](other, self)

    def __mul__(self, other: Operand[Taken]) -> Made:
        return RULES["multiply"](self, other)

    def __rmul__(self, other: Operand[Taken]) -> Made:
        return RULES["multiply"](other, self)

    def __truediv__(self, other: Operand[Taken]) -> Made:
        return RULES["divide"](self, other)

    def __rtruediv__(self, other: Operand[Taken]) -> Made:
        return RULES["divide"](other, self)

    def __pow__(self, other: Operand[Taken], modulus: object = None) -> Made:
        if modulus is not None:
            raise ModelError("pow with a modulus is not part of the language.")
        return RULES["power"](self, other)

    def __rpow__(self, other: Operand[Taken]) -> Made:
        return RULES["power"](other, self)

    def __matmul__(self, other: Operand[Taken] | Sparse) -> Made:
        return RULES["matmul"](self, other)

    def __rmatmul__(self, other: Operand[Taken] | Sparse) -> Made:
        return RULES["matmul"](other, self)

    def __neg__(self) -> Made:
        return RULES["negative"](self)

    def __pos__(self) -> Self:
        return self

    def __abs__(self) -> Made:
        return RULES["absolute"](self)

    def __le__(self, other: Operand[Taken]) -> Told:
        return RULES["less_equal"](self, other)

    def __ge__(self, other: Operand[Taken]) -> Told:
        return RULES["less_equal"](other, self, flipped=True)

    def __lt__(self, other: Operand[Taken]) -> Told:
        return RULES["less"](self, other)

    def __gt__(self, other: Operand[Taken]) -> Told:
        return RULES["less"](other, self, flipped=True)

    def __eq__(self, other: Operand[Taken]) -> Told:  # type: ignore[override]  # no question, but a constraint
        return RULES["equal"](self, other)

    def __ne__(self, other: object) -> NoReturn:
        raise ModelError("`!=` does not define a constraint; use <=, >= or ==.")

    def __bool__(self) -> bool:
        raise ModelError(
            "An expression cannot be used as a bool. Write `0 <= e` and `e <= 1` as two constraints instead of "
            "`0 <= e <= 1`, and np.where(condition, a, b) instead of `if`."
        )

    def _no_number(self, *_: object) -> NoReturn:
        raise ConversionError(
            f"{self} is not a number and cannot be stored in an array of numbers. Use NumPy's functions, such as "
            "np.sin, instead of those of math; np.stack([…]) makes an array of expressions."
        )

    def __float__(self) -> float:
        self._no_number()

    __int__ = __index__ = __complex__ = __round__ = __floor__ = __ceil__ = __trunc__ = _no_number

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        return as_objects(self, dtype, inspect.currentframe())

    def __setattr__(self, name: str, value: object) -> None:
        # Rules write the origin, for printing, when all the rest is in place: with it an expression is complete.
        if name != "origin" and "origin" in self.__dict__:
            raise FixedError(f"`{name}` of {self} cannot be set: parts of a model are immutable. {self.hint}")
        object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        raise FixedError(f"`{name}` of {self} cannot be deleted: parts of a model are immutable.")

    def __setitem__(self, key: object, value: object) -> None:
        raise FixedError(
            f"Elements of {self} cannot be set: expressions are immutable. Write a constraint, such as "
            "x[0] == 1, to fix a variable, and np.stack([…]) to make an array of expressions."
        )

    def __delitem__(self, key: object) -> None:
        self.__setitem__(key, None)

    def __copy__(self) -> Self:
        return self  # it never changes, and a copy of a variable would be another variable

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        return self

    def __getitem__(self, key: Key) -> Made:
        return RULES["getitem"](self, key)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError(f"{self} is a scalar and has no length.")
        return self.shape[0]

    def __iter__(self) -> Iterator[Made]:
        if not self.shape:
            raise TypeError(f"{self} is a scalar and cannot be iterated over.")
        return (self[i] for i in range(self.shape[0]))

    @property
    def T(self) -> Made:
        return FUNCTION_RULES[np.transpose](self)

    def sum(self, axis: Axis = None) -> Made:
        return FUNCTION_RULES[np.sum](self, axis=axis)

    def prod(self, axis: Axis = None) -> Made:
        return FUNCTION_RULES[np.prod](self, axis=axis)

    def mean(self, axis: Axis = None) -> Made:
        return FUNCTION_RULES[np.mean](self, axis=axis)

    def max(self, axis: Axis = None) -> Made:
        return FUNCTION_RULES[np.max](self, axis=axis)

    def min(self, axis: Axis = None) -> Made:
        return FUNCTION_RULES[np.min](self, axis=axis)

    @property
    def real(self) -> Any:
        """The real part: itself, unless it is complex."""
        return self

    @property
    def imag(self) -> Any:
        """The imaginary part: zeros, unless it is complex."""
        return np.zeros(self.shape)

    def conj(self) -> Any:
        """The complex conjugate: itself, unless it is complex."""
        return self

    def dot(self, other: Operand[Taken] | Sparse) -> Made:
        return FUNCTION_RULES[np.dot](self, other)

    def reshape(self, *shape: int | Sequence[int]) -> Made:
        return FUNCTION_RULES[np.reshape](self, shape[0] if len(shape) == 1 else shape)

    def ravel(self) -> Made:
        return FUNCTION_RULES[np.ravel](self)

    def at(self, values: Mapping[Any, Any] | None = None) -> Any:
        """Its numbers for points of indices and values of variables: `e.at({y: points, x: values})`.

        With N points of an index, all of them at once, in rows (N, …). A variable that is not given has the value of
        the last solution, a parameter the one that it has now.
        """
        return _EVALUATE[0](self, {} if values is None else values)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: object, **kwargs: object) -> Any:
        name = ufunc.__name__
        if "out" in kwargs or method == "at":
            raise ModelError(
                f"np.{name} cannot write an expression into an array of numbers, as `a += x`, `out=a` and np.{name}.at "
                "would: write `a = a + x`."
            )
        if method == "reduce" and name in REDUCERS:
            if set(kwargs) - {"axis"}:
                raise ModelError(f"np.{name}.reduce takes only `axis` here; got {', '.join(sorted(kwargs))}.")
            return FUNCTION_RULES[REDUCERS[name]](inputs[0], axis=kwargs.get("axis", 0))
        if method != "__call__" or kwargs:
            what = f"np.{name}.{method}" if method != "__call__" else f"np.{name} with {', '.join(sorted(kwargs))}"
            raise ModelError(f"{what} is not part of the language; np.{name}(…) of expressions alone may be.")
        if name in ("greater_equal", "greater"):
            rule = RULES["less_equal" if name == "greater_equal" else "less"]
            return rule(inputs[1], inputs[0], flipped=True)
        if name not in RULES:
            raise ModelError(
                f"np.{name} is not part of the language. Available: {', '.join(sorted(RULES))}. A function without a "
                "formula can still be used as a black box through lsip.linsip."
            )
        return RULES[name](*inputs)

    def __array_function__(
        self,
        func: Callable[..., Any],
        types: Collection[type],
        args: tuple[object, ...],
        kwargs: Mapping[str, object],
    ) -> Any:
        own = next((t for t, _ in _COMPLEX if t in types and type(self) is not t), None)
        if own is not None:
            return own.__array_function__(self, func, types, args, kwargs)  # type: ignore[attr-defined]
        if func not in FUNCTION_RULES:
            known = sorted({f.__name__ for f in FUNCTION_RULES})
            raise ModelError(f"np.{func.__name__} is not part of the language. Available: {', '.join(known)}.")
        return call(func, args, kwargs)


Symbolic: TypeAlias = Operators[Any, Any, Any]  # an expression, with variables or without
ComplexRule = Callable[[str, tuple[Any, ...]], Any]
_COMPLEX: list[tuple[type, ComplexRule]] = []  # the class of complex arrays, and what operations make of them


def register_complex(kind: type) -> Callable[[ComplexRule], ComplexRule]:
    """Let this function build operations of which an operand is complex; such arrays are of this class."""

    def register(build: ComplexRule) -> ComplexRule:
        _COMPLEX[:] = [(kind, build)]
        return build

    return register


def is_complex(value: object) -> bool:
    """Whether an operand is complex: an array of the language, or numbers."""
    if isinstance(value, Operators):
        return any(isinstance(value, kind) for kind, _ in _COMPLEX)
    return isinstance(value, complex) or getattr(getattr(value, "dtype", None), "kind", "") == "c"


def complex_operation(op: str, operands: tuple[Any, ...]) -> Any:
    """An operation of which an operand is complex."""
    return _COMPLEX[0][1](op, operands)


Evaluate = Callable[[Symbolic, Mapping[Any, Any]], Any]
_EVALUATE: list[Evaluate] = []  # what `at` does, which knows all kinds of expressions


def register_evaluation(evaluate: Evaluate) -> Evaluate:
    """Let `at` call this function."""
    _EVALUATE[:] = [evaluate]
    return evaluate


def _refusing(symbol: str) -> Callable[..., NoReturn]:
    def refuse(self: Symbolic, *_: object) -> NoReturn:
        advice = "Write lsip.psd(M) for M >> 0, and lsip.psd(-M) for M << 0." if symbol in (">>", "<<") else ""
        raise ModelError(f"`{symbol}` is not part of the language: {self} has no formula for it. {advice}".rstrip())

    return refuse


for _name, _symbol in (("divmod", "divmod"), ("and", "&"), ("or", "|"), ("xor", "^"),
                       ("lshift", "<<"), ("rshift", ">>")):  # fmt: skip
    setattr(Operators, f"__{_name}__", _refusing(_symbol))
    setattr(Operators, f"__r{_name}__", _refusing(_symbol))
setattr(Operators, "__invert__", _refusing("~"))  # noqa: B010


class Statement:
    """What a comparison gives: neither a number nor true or false. It is handed on, and every other use is refused."""

    __hash__ = object.__hash__
    __pandas_priority__ = FIRST

    def advice(self) -> str:
        """What it is for, and what to write instead of what was tried."""
        raise NotImplementedError

    def __copy__(self) -> Self:
        return self  # it never changes, and is known by its identity

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        return self

    def refuse(self, *_: object, **__: object) -> NoReturn:
        """Say that it is no number."""
        raise ModelError(self.advice())

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        self.refuse()


_BINARY = (
    "add",
    "sub",
    "mul",
    "truediv",
    "floordiv",
    "mod",
    "divmod",
    "pow",
    "matmul",
    "and",
    "or",
    "xor",
    "lshift",
    "rshift",
)
_UNARY = (
    "neg",
    "pos",
    "abs",
    "invert",
    "bool",
    "len",
    "float",
    "int",
    "complex",
    "index",
    "round",
    "trunc",
    "floor",
    "ceil",
)
_OTHER = ("lt", "le", "eq", "ne", "gt", "ge", "getitem", "contains", "array_ufunc")
for _name in (*_BINARY, *(f"r{name}" for name in _BINARY), *_UNARY, *_OTHER):
    setattr(Statement, f"__{_name}__", Statement.refuse)


def bare(value: Any) -> Any:
    """An expression or a comparison without what wraps it: xarray does, where its array stands on the left."""
    if isinstance(value, Operators | Statement | np.ndarray | float | list):
        return value
    inner = getattr(getattr(value, "variable", None), "_data", None)
    return inner if isinstance(inner, Operators | Statement) else value


def operand(value: object) -> Symbolic | Array:
    """An expression as it is; lists and arrays of objects that hold some, stacked; anything else as fixed numbers."""
    value = bare(value)
    if isinstance(value, Operators):
        return value
    if isinstance(value, Statement):
        value.refuse()
    if isinstance(value, list | tuple):
        if _holds_some(value):
            return FUNCTION_RULES[np.stack]([operand(v) for v in value])
    elif _symbolic(value):
        refuse_wrapped(value, WHAT)
        array = np.asarray(value)
        stacked = FUNCTION_RULES[np.stack]([operand(v) for v in array.ravel()])
        return FUNCTION_RULES[np.reshape](stacked, array.shape + stacked.shape[1:])
    return kept(numbers(value, WHAT))


def _holds_some(value: list[object] | tuple[object, ...]) -> bool:
    try:
        return any(map(_symbolic, value))
    except RecursionError:
        raise ModelError(f"{WHAT} must be an array of real numbers; got lists in lists without end.") from None


def _symbolic(value: object) -> bool:
    """Whether it is, or holds, an expression or a comparison."""
    if isinstance(bare(value), Operators | Statement):
        return True
    if isinstance(value, list | tuple):
        return any(map(_symbolic, value))
    kind = getattr(value, "dtype", None)
    return isinstance(kind, np.dtype) and kind == OBJECT and any(map(_symbolic, np.asarray(value).ravel()))


def as_objects(expression: Indexed, dtype: DTypeLike | None, frame: FrameType | None) -> NDArray[Any]:
    """The elements of an expression as an array of objects: all that NumPy can make of it without losing something.

    Sparse matrices of SciPy ask for an array too, when one stands on the left of `@`; they leave the operation to the
    expression if they get a single object. `frame` is that of `__array__`, below which they show.
    """
    if dtype is not None and np.dtype(dtype) != OBJECT:
        raise ConversionError(
            f"{expression} is not a number and cannot be stored in an array of numbers ({np.dtype(dtype)}). "
            "Use it directly; np.stack([…]) makes an array of expressions."
        )
    callers = _callers(frame)
    caller = next((c for c in callers if c.startswith("scipy.interpolate.")), callers[0])
    if caller.startswith("scipy.interpolate."):
        raise ConversionError(
            f"A spline of SciPy takes numbers only; got {expression}. Write lsip.spline(f, t) of an index t.\nFor "
            "coefficients c that are variables, write lsip.bases.bspline(t, knots, degree) @ c.\nFor values y that are "
            "variables, write lsip.spline(CubicSpline(x, np.eye(len(x))), t) @ y or np.interp(t, x, y)."
        )
    if caller.startswith("scipy.stats."):
        raise ConversionError(
            f"A distribution of SciPy takes numbers only; got {expression}. With z = (u - mean) / sd, norm.cdf is "
            "scipy.special.ndtr(z), norm.sf is ndtr(-z), and norm.pdf is np.exp(-z**2 / 2) / (sd * np.sqrt(2 * np.pi))."
        )
    if caller.startswith("numpy.ma."):
        raise ConversionError(
            f"{expression} cannot be combined with a masked array. Say what its masked entries are, as in .filled(0), "
            "or leave them out with .compressed()."
        )
    places = list(np.ndindex(expression.shape)) if not caller.startswith("scipy.sparse._") else []
    objects = np.empty(max(len(places), 1), dtype=object)
    objects[0] = expression
    if not places or not expression.shape:
        return objects.reshape(())
    for k, place in enumerate(places):
        objects[k] = expression[place]
    return objects.reshape(expression.shape)


def _callers(frame: FrameType | None) -> list[str]:
    """The modules that asked for an array, as far as they are of SciPy; the nearest one in any case."""
    found = list[str]()
    frame = None if frame is None else frame.f_back
    while frame is not None and (not found or found[-1].startswith("scipy.")):
        found.append(frame.f_globals.get("__name__", ""))
        frame = frame.f_back
    return found or [""]


def call(func: Callable[..., Any], args: tuple[object, ...], kwargs: Mapping[str, object]) -> Any:
    """The rule of a NumPy function, if it can be called like this."""
    try:
        _signature(FUNCTION_RULES[func]).bind(*args, **kwargs)
    except TypeError as error:
        raise ModelError(f"np.{func.__name__} cannot be called like this with expressions: {error}.") from None
    return FUNCTION_RULES[func](*args, **kwargs)


@cache
def _signature(rule: Callable[..., Any]) -> inspect.Signature:
    return inspect.signature(rule)
