"""Python's operators and NumPy's protocols, shared by index expressions and by what is affine in the variables.

The rules themselves register in `RULES` (by ufunc name) and in `FUNCTION_RULES` (by NumPy function), so that an
operator, a ufunc and a method such as `.sum()` always mean the same thing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..errors import ConversionError, ModelError

RULES: dict[str, Callable[..., Any]] = {}
FUNCTION_RULES: dict[Any, Callable[..., Any]] = {}


class Operators:
    """Operators, ufuncs and array functions, looked up in the tables of rules."""

    shape: tuple[int, ...]
    __hash__ = object.__hash__

    def __add__(self, other: Any) -> Any:
        return RULES["add"](self, other)

    def __radd__(self, other: Any) -> Any:
        return RULES["add"](other, self)

    def __sub__(self, other: Any) -> Any:
        return RULES["subtract"](self, other)

    def __rsub__(self, other: Any) -> Any:
        return RULES["subtract"](other, self)

    def __mul__(self, other: Any) -> Any:
        return RULES["multiply"](self, other)

    def __rmul__(self, other: Any) -> Any:
        return RULES["multiply"](other, self)

    def __truediv__(self, other: Any) -> Any:
        return RULES["divide"](self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return RULES["divide"](other, self)

    def __pow__(self, other: Any) -> Any:
        return RULES["power"](self, other)

    def __rpow__(self, other: Any) -> Any:
        return RULES["power"](other, self)

    def __matmul__(self, other: Any) -> Any:
        return RULES["matmul"](self, other)

    def __rmatmul__(self, other: Any) -> Any:
        return RULES["matmul"](other, self)

    def __neg__(self) -> Any:
        return RULES["negative"](self)

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> Any:
        return RULES["absolute"](self)

    def __le__(self, other: Any) -> Any:
        return RULES["less_equal"](self, other)

    def __ge__(self, other: Any) -> Any:
        return RULES["less_equal"](other, self, flipped=True)

    def __lt__(self, other: Any) -> Any:
        return RULES["less"](self, other)

    def __gt__(self, other: Any) -> Any:
        return RULES["less"](other, self, flipped=True)

    def __eq__(self, other: Any) -> Any:
        return RULES["equal"](self, other)

    def __ne__(self, other: Any) -> Any:
        raise ModelError("`!=` does not define a constraint; use <=, >= or ==.")

    def __bool__(self) -> bool:
        raise ModelError(
            "An expression has no truth value. Write `0 <= e` and `e <= 1` as two constraints, not `0 <= e <= 1`, and "
            "use np.where(condition, a, b) instead of `if`."
        )

    def __float__(self) -> float:
        raise ConversionError(
            "An expression stands for many numbers, so it cannot become one; use NumPy's functions, such as np.sin, "
            "instead of those of math."
        )

    def __getitem__(self, key: Any) -> Any:
        return RULES["getitem"](self, key)

    def __iter__(self) -> Iterator[Any]:
        if not self.shape:
            raise TypeError(f"{self} is a scalar and cannot be iterated over.")
        return (self[i] for i in range(self.shape[0]))

    @property
    def T(self) -> Any:
        return FUNCTION_RULES[np.transpose](self)

    def sum(self, axis: Any = None) -> Any:
        return FUNCTION_RULES[np.sum](self, axis=axis)

    def prod(self, axis: Any = None) -> Any:
        return FUNCTION_RULES[np.prod](self, axis=axis)

    def mean(self, axis: Any = None) -> Any:
        return FUNCTION_RULES[np.mean](self, axis=axis)

    def max(self, axis: Any = None) -> Any:
        return FUNCTION_RULES[np.max](self, axis=axis)

    def min(self, axis: Any = None) -> Any:
        return FUNCTION_RULES[np.min](self, axis=axis)

    def dot(self, other: Any) -> Any:
        return FUNCTION_RULES[np.dot](self, other)

    def reshape(self, *shape: Any) -> Any:
        return FUNCTION_RULES[np.reshape](self, shape[0] if len(shape) == 1 else shape)

    def ravel(self) -> Any:
        return FUNCTION_RULES[np.ravel](self)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        name = ufunc.__name__
        if method == "reduce" and name in ("add", "multiply", "maximum", "minimum"):
            if set(kwargs) - {"axis"}:
                raise ModelError(f"np.{name}.reduce takes only `axis` here; got {', '.join(sorted(kwargs))}.")
            reducer = {"add": np.sum, "multiply": np.prod, "maximum": np.max, "minimum": np.min}[name]
            return FUNCTION_RULES[reducer](inputs[0], axis=kwargs.get("axis", 0))
        if name in ("greater_equal", "greater"):
            rule = RULES["less_equal" if name == "greater_equal" else "less"]
            return rule(inputs[1], inputs[0], flipped=True)
        if method != "__call__" or name not in RULES or kwargs:
            raise ModelError(
                f"np.{name} is not part of the language. Available: {', '.join(sorted(RULES))}. A function without a "
                "formula can still be used as a black box through lsip.linsip."
            )
        return RULES[name](*inputs)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if func not in FUNCTION_RULES:
            known = sorted({f.__name__ for f in FUNCTION_RULES})
            raise ModelError(f"np.{func.__name__} is not part of the language. Available: {', '.join(known)}.")
        return FUNCTION_RULES[func](*args, **kwargs)
