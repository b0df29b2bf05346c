"""Complex arrays, as two real ones: what NumPy's functions make of complex numbers, indices and variables.

`np.exp(1j * k * t) @ w` is a pair of arrays that are real and affine; `.real`, `.imag` and `abs` give what the rest of
the language knows, so that no solver, proof or file has to know complex numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, NoReturn

import numpy as np

from ..errors import ModelError, NotAffineError
from ..legible import legibly
from .graph import Constant
from .operands import Axis, Key
from .operators import FUNCTION_RULES, RULES, Operators, bare, register_complex
from .printing import text

Part = Any  # an expression, with variables or without, or numbers


class ComplexArray(Operators[Any, Any, Any]):
    """An array of complex numbers, expressions or variables: `real` and `imag`, of one shape."""

    def __init__(
        self, real: Part, imag: Part, conjugated: ComplexArray | None = None, form: tuple[Any, Any] | None = None
    ) -> None:
        """Two parts; what it is the conjugate of, or the x and the matrix P where it is x.conj() @ P."""
        parts = (v if isinstance(v, Operators) else np.asarray(v, dtype=float) for v in (real, imag))
        self.parts = tuple(parts)
        self.shape, self.conjugated, self.form = tuple(np.shape(self.real)), conjugated, form
        self.origin: tuple[Any, ...] = ("complex", real, imag)

    @property
    def real(self) -> Part:
        return self.parts[0]

    @property
    def imag(self) -> Part:
        return self.parts[1]

    @staticmethod
    def of(value: object) -> ComplexArray:
        """One as it is; anything else with an imaginary part of zero, or that of its numbers."""
        value = bare(value)
        if isinstance(value, ComplexArray):
            return value
        if isinstance(value, Operators):
            return ComplexArray(value, np.zeros(value.shape))
        given = np.asarray(value)
        if hasattr(value, "tocoo"):
            raise ModelError("A sparse matrix of complex numbers is not part of the language: write .toarray().")
        if given.dtype == object and given.ndim:
            each = [ComplexArray.of(v) for v in given.ravel()]
            parts = ([getattr(v, part) for v in each] for part in ("real", "imag"))
            real, imag = (FUNCTION_RULES[np.reshape](FUNCTION_RULES[np.stack](p), given.shape) for p in parts)
            return ComplexArray(real, imag)
        if not np.isfinite(given).all():
            raise ModelError(f"Complex numbers in a model are finite; got {given.ravel()[:3]}.")
        return ComplexArray(given.real.astype(float), given.imag.astype(float))

    def each(self, function: Callable[..., Any], *args: object, **kwargs: object) -> ComplexArray:
        """A function of real arrays that adds up or moves elements, of both parts."""
        real, imag = (function(part, *args, **kwargs) for part in (self.real, self.imag))
        return ComplexArray(real, imag)

    def conj(self) -> ComplexArray:
        """The complex conjugate."""
        return ComplexArray(self.real, _negative(self.imag), conjugated=self)

    conjugate = conj

    @property
    def H(self) -> ComplexArray:
        """The conjugate transpose."""
        return self.conj().T

    @property
    def T(self) -> ComplexArray:
        return self if self.ndim == 1 else self.each(np.transpose)

    @property
    def value(self) -> Any:
        """What the last solution has for it, where it is a variable or made of variables; None without one."""
        try:
            return self.at()
        except ModelError:
            return None

    def at(self, values: Mapping[Any, Any] | None = None) -> Any:
        real, imag = (part.at(values) if isinstance(part, Operators) else part for part in (self.real, self.imag))
        return real + 1j * np.asarray(imag)

    def __getitem__(self, key: Key) -> ComplexArray:
        return self.each(lambda part: part[key])

    def sum(self, axis: Axis = None) -> ComplexArray:
        return self.each(np.sum, axis=axis)

    def mean(self, axis: Axis = None) -> ComplexArray:
        return self.each(np.mean, axis=axis)

    def reshape(self, *shape: object) -> ComplexArray:
        return self.each(np.reshape, shape[0] if len(shape) == 1 else shape)

    def ravel(self) -> ComplexArray:
        return self if self.ndim == 1 else self.each(np.ravel)

    def dot(self, other: object) -> ComplexArray:
        return RULES["matmul"](self, other)

    def __array_function__(
        self,
        func: Callable[..., Any],
        types: Collection[type],
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
    ) -> Any:
        if func in (np.stack, np.concatenate, np.vstack, np.hstack, np.column_stack):
            every = [ComplexArray.of(v) for v in args[0]]
            parts = ([getattr(v, part) for v in every] for part in ("real", "imag"))
            real, imag = (func(part, *args[1:], **kwargs) for part in parts)
            return ComplexArray(real, imag)
        if func is np.linalg.norm:
            return np.linalg.norm(_stacked(args[0], *args[1:], **kwargs), axis=-1)
        if func in _PRODUCTS:
            a, b = (ComplexArray.of(v) for v in args[:2])
            return _squares(np.dot, a.conj().ravel(), b.ravel()) if func is np.vdot else _squares(func, a, b)
        if func in _PARTS:
            return _PARTS[func](ComplexArray.of(args[0]))
        if func in FUNCTION_RULES and isinstance(args[0], ComplexArray) and func not in (np.max, np.min, np.prod):
            return args[0].each(func, *args[1:], **kwargs)
        raise ModelError(f"np.{func.__name__} of {self} is not part of the language: take its .real, .imag or abs.")

    @legibly
    def __str__(self) -> str:
        return text(self)

    __repr__ = __str__


def _negative(part: Part) -> Part:
    return RULES["negative"](part) if isinstance(part, Operators) else -part


def _stacked(u: ComplexArray, ord: object = None, axis: Axis = None) -> Part:
    """Real and imaginary parts of vectors one after another, along the last axis."""
    if ord not in (None, 2):
        raise ModelError(f"np.linalg.norm of the complex {u} takes no `ord`: write abs(…).sum() or np.max(abs(…)).")
    parts = [part.ravel() if axis is None else np.moveaxis(part, axis, -1) for part in (u.real, u.imag)]
    return np.concatenate(parts, axis=-1)


def _vanishes(part: Part) -> bool:
    return not isinstance(part, Operators) and not np.any(part)


def _multiplied(product: Callable[[Part, Part], Part], a: ComplexArray, b: ComplexArray) -> ComplexArray:
    """A bilinear product, of parts that do not vanish."""

    def total(first: tuple[Part, Part], second: tuple[Part, Part], sign: int) -> Part:
        terms = [
            _negative(product(*pair)) if s < 0 else product(*pair)
            for pair, s in ((first, 1), (second, sign))
            if not any(map(_vanishes, pair))
        ]
        return sum(terms[1:], start=terms[0]) if terms else None

    parts = total((a.real, b.real), (a.imag, b.imag), -1), total((a.real, b.imag), (a.imag, b.real), 1)
    shape = next((part.shape for part in parts if part is not None), None)
    if shape is None:
        shape = np.shape(product(np.zeros(a.shape), np.zeros(b.shape)))
    real, imag = (np.zeros(shape) if part is None else part for part in parts)
    return ComplexArray(real, imag)


def _squares(product: Callable[[Part, Part], Part], a: ComplexArray, b: ComplexArray) -> ComplexArray:
    """A product, which is real where it is that of conjugates, or a Hermitian form."""
    if a.conjugated is b or b.conjugated is a:
        size = product(b.real, b.real) + product(b.imag, b.imag)
        return ComplexArray(size, np.zeros(size.shape))
    if a.form is not None and a.form[0] is b:
        P = a.form[1]
        both = np.concatenate([b.real, b.imag])
        return ComplexArray(both @ np.block([[P.real, -P.imag], [P.imag, P.real]]) @ both, 0.0)
    form = (
        a.conjugated is not None and b.ndim == 2 and not any(isinstance(part, Operators) for part in (b.real, b.imag))
    )
    found = _multiplied(product, a, b)
    return ComplexArray(found.real, found.imag, form=(a.conjugated, b)) if form else found


def _divided(a: ComplexArray, b: ComplexArray) -> ComplexArray:
    if _vanishes(b.imag):
        return a.each(lambda part: part / b.real)
    size = RULES["add"](*(RULES["square"](_known(part)) for part in (b.real, b.imag)))
    return _multiplied(RULES["multiply"], a, b.conj()).each(lambda part: part / size)


def _known(part: Part) -> Part:
    """Numbers as an expression, whose squares are enclosed."""
    return part if isinstance(part, Operators) else Constant(np.asarray(part))


def _exponential(u: ComplexArray) -> ComplexArray:
    turned = ComplexArray(RULES["cos"](u.imag), RULES["sin"](u.imag))
    return turned if _vanishes(u.real) else turned * RULES["exp"](u.real)


def _modulus(u: ComplexArray) -> Part:
    real, imag = map(_known, (u.real, u.imag))
    return RULES["absolute"](real) if _vanishes(u.imag) else RULES["hypot"](real, imag)


def _power(u: ComplexArray, k: object) -> ComplexArray:
    exponent = np.asarray(k) if not isinstance(k, Operators) else np.zeros(0)
    whole = exponent.shape == () and exponent.dtype.kind in "iuf" and exponent == np.round(exponent)
    if not whole or not 1 <= exponent <= 64:
        raise ModelError(f"({u}) ** {k}: a complex expression has a real exponent, a whole number from 1 to 64.")
    result = u
    for _ in range(int(exponent) - 1):
        result = _multiplied(RULES["multiply"], result, u)
    return result


_RULES: dict[str, Callable[..., Any]] = {
    "add": lambda a, b: ComplexArray(a.real + b.real, a.imag + b.imag),
    "subtract": lambda a, b: ComplexArray(a.real - b.real, a.imag - b.imag),
    "negative": lambda u: ComplexArray(_negative(u.real), _negative(u.imag)),
    "positive": lambda u: u,
    "multiply": lambda a, b: _squares(RULES["multiply"], a, b),
    "matmul": lambda a, b: _squares(RULES["matmul"], a, b),
    "divide": _divided,
    "exp": _exponential,
    "absolute": _modulus,
    "square": lambda u: _power(u, 2),
    "conjugate": ComplexArray.conj,
}
_PARTS: dict[Any, Callable[[ComplexArray], Any]] = {
    np.real: lambda u: u.real,
    np.imag: lambda u: u.imag,
    np.shape: lambda u: u.shape,
    np.ndim: lambda u: u.ndim,
    np.size: lambda u: u.size,
}
_PRODUCTS = (np.dot, np.inner, np.vdot, np.outer)


@register_complex(ComplexArray)
def complex_rule(op: str, operands: tuple[Any, ...]) -> Any:
    """An operation of which an operand is complex."""
    if op in ("less_equal", "less"):
        _refuse_order(operands)
    if op == "equal":
        a, b = map(ComplexArray.of, operands)
        if isinstance(a.imag, Operators) or isinstance(b.imag, Operators):
            return [a.real == b.real, a.imag == b.imag]
        if (a.imag != b.imag).any():
            raise ModelError(
                f"{text(operands[0])} == {text(operands[1])}: a side is complex, and the other one is real."
            )
        return [a.real == b.real]
    if op == "power":
        return _power(ComplexArray.of(operands[0]), operands[1])
    if op not in _RULES:
        raise NotAffineError(f"np.{op} of complex operands is not part of the language: take .real, .imag or abs.")
    return _RULES[op](*map(ComplexArray.of, operands))


def _refuse_order(operands: tuple[Any, ...]) -> NoReturn:
    raise ModelError(
        f"{text(operands[0])} <= {text(operands[1])} has a complex side, which is neither larger nor smaller.\nCompare "
        "its .real, its .imag, or its modulus: abs(…) <= 1."
    )
