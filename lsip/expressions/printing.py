"""Expressions as a person would write them: Unicode for the terminal, LaTeX for Jupyter.

What is printed is the tree of operations that the user typed (`origin`), never the nodes that they compile to.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, Protocol, TypeAlias
from unicodedata import lookup

import numpy as np
from numpy.typing import NDArray

from ..legible import mathematics, printable
from ..validation import Data, Foreign, Scalar, Sparse, is_sparse
from .elementary import FUNCTIONS
from .naming import called
from .operands import Axis, Key, Place


class HasOrigin(Protocol):
    """What remembers how it was typed: the name of an operation, and its operands."""

    @property
    def origin(self) -> tuple[Any, ...]: ...


Origin: TypeAlias = tuple[Any, ...]
# An operand as it was typed: an expression, a comparison, numbers, lists of them, or an origin itself.
Item: TypeAlias = HasOrigin | Scalar | Foreign | Sparse | Sequence["Item"]

_SUPERSCRIPT = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
_LETTERS = {
    "alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "kappa", "lambda", "mu", "nu", "xi", "pi",
    "rho", "sigma", "tau", "phi", "chi", "psi", "omega",
}  # fmt: skip
_GREEK = {name: name for name in _LETTERS} | {
    lookup(f"GREEK SMALL LETTER {name.replace('lambda', 'lamda')}"): name for name in _LETTERS
}
_COMMANDS = {"sin", "cos", "tan", "arcsin", "arccos", "arctan", "sinh", "cosh", "tanh", "log", "max", "min"}
MINUS, SUM, QUOTIENT, PRODUCT, POWER, ATOM = range(6)  # MINUS: a negative number
# Operands that are printed; in the place of others there is an ellipsis. A recurrence uses what it found before twice,
# and would fill books: T_30 has a million operands.
MOST_OPERANDS = 2000


def number(v: float, tex: bool = False) -> str:
    """A float in the fewest digits that still look like it."""
    digits, _, exponent = f"{v:.6g}".partition("e")
    if not exponent:
        return digits.replace("inf", r"\infty") if tex else digits
    if not tex:
        return f"{digits}e{int(exponent)}"
    power = f"10^{{{int(exponent)}}}"
    return power if digits == "1" else ("-" + power if digits == "-1" else rf"{digits} \cdot {power}")


def _array(v: Data, tex: bool, whole: bool = False) -> str:
    """Numbers; an array of equal ones as one number, unless it is needed `whole`."""
    if (name := called(v)) is not None and name.typed:
        return named(name.text, tex)
    v = np.asarray(v)
    if v.ndim == 0 or (not whole and v.size and (v.ravel() == v.ravel()[0]).all()):
        return number(float(v.ravel()[0]), tex)
    if v.ndim == 1:
        shown = [number(float(e), tex) for e in (v if v.size <= 6 else [*v[:3], *v[-1:]])]
        if v.size > 6:
            shown.insert(3, r"\dots" if tex else "…")
        return ("(" + ", ".join(shown) + ")") if tex else "[" + " ".join(shown) + "]"
    return _sized(v, tex)


def _sized(matrix: NDArray[Any] | Sparse, tex: bool) -> str:
    """A matrix by its name, or by a letter and its size."""
    name = called(matrix)
    if name is not None and name.typed:
        return named(name.text, tex)
    letter, size = "A" if name is None else name.text, "×".join(map(str, matrix.shape))
    return letter + "_{" + size.replace("×", r"\times ") + "}" if tex else f"{letter}({size})"


def named(name: str, tex: bool) -> str:
    """A name; in LaTeX with what follows its first underscore, and its digits, below the line."""
    if not tex:
        return printable(name)
    if not name.isidentifier():
        return rf"\mathrm{{{mathematics(name)}}}"
    stem, _, below = name.partition("_")
    letters = stem.rstrip("0123456789")
    lowered = ", ".join(filter(None, (stem[len(letters) :], mathematics(below))))
    lowered = lowered if len(lowered) <= 1 or lowered.isdigit() else rf"\mathrm{{{lowered}}}"
    if not letters:
        upright = r"\_"
    elif letters in _GREEK:
        upright = rf"\{_GREEK[letters]}"
    else:
        upright = letters if letters.isascii() and len(letters) == 1 else rf"\mathrm{{{mathematics(letters)}}}"
    return f"{upright}_{{{lowered}}}" if lowered else upright


def _key(key: Key, tex: bool) -> str:
    parts = key if isinstance(key, tuple) else (key,)

    def one(k: Place) -> str:
        if isinstance(k, slice):
            return ":".join("" if v is None else str(v) for v in (k.start, k.stop, k.step))[: None if k.step else -1]
        if k is Ellipsis:
            return r"\dots" if tex else "…"
        if isinstance(k, list | np.ndarray) and np.ndim(k) == 1:
            return _array(k, tex, whole=True)
        return "None" if k is None else str(k).replace("\n", "")

    return ", ".join(one(k) for k in parts)


@dataclass(frozen=True, eq=False)
class Typed:
    """What was typed, and nothing else."""

    origin: tuple[Any, ...]


class Printer:
    """Renders a tree of origins; `tex` chooses the alphabet."""

    def __init__(self, tex: bool) -> None:
        self.tex, self.left, self.depth = tex, MOST_OPERANDS, 0
        self.dots = r"\dots" if tex else "…"

    def show(self, item: Item) -> str:
        return self.render(item)[0]

    def signed(self, item: Item, level: int) -> tuple[str, str]:
        """The sign of an operand that is a negation or a negative number, and the rest, bound as tightly as `level`."""
        origin: tuple[Any, ...] = getattr(item, "origin", None) or ()
        if origin[:1] == ("negative",):
            return "-", self.wrapped(origin[1], level)
        body, own = self.render(item)
        if own == MINUS:
            return "-", body[1:]
        return "", self._bound(body, own, level)

    def wrapped(self, item: Item, level: int) -> str:
        return self._bound(*self.render(item), level)

    def _bound(self, body: str, own: int, level: int) -> str:
        if own >= level:
            return body
        return rf"\left({body}\right)" if self.tex else f"({body})"

    def render(self, item: Item) -> tuple[str, int]:
        """The text of an operand and how tightly it binds."""
        self.left -= 1
        if self.left < 0 or self.depth >= 100:  # operations inside of each other
            return self.dots, ATOM
        self.depth += 1
        try:
            return self._rendered(item)
        finally:
            self.depth -= 1

    def _rendered(self, item: Item) -> tuple[str, int]:
        origin = item if isinstance(item, tuple) else getattr(item, "origin", None)
        if isinstance(item, list):
            if any(hasattr(part, "origin") for part in item):
                return self._stack(*item)
            item = np.asarray(item)
        if not origin:
            body = f"({self.dots})"
            if isinstance(item, int | float | np.ndarray | np.generic):
                body = _array(item, self.tex)
            return body, _binding(body)
        op, args = origin[0], origin[1:]
        handler = getattr(self, f"_{op}", None)
        if handler is not None:
            result: tuple[str, int] = handler(*args)
            return result
        if op in FUNCTIONS and (notation := FUNCTIONS[op].notation) is not None:
            pattern = notation.latex if self.tex else notation.text
            tight = notation.latex_tight if self.tex else notation.text_tight
            return pattern.format(self.show(args[0])), ATOM if tight else POWER
        if op in ("<=", ">=", "==", "<", ">"):
            symbol = {"<=": r"\le" if self.tex else "≤", ">=": r"\ge" if self.tex else "≥", "==": "="}.get(op, op)
            return f"{self.show(args[0])} {symbol} {self.show(args[1])}", SUM
        return self._call(op, args)

    def _call(self, op: str, args: tuple[Any, ...]) -> tuple[str, int]:
        inside = ", ".join(self.show(a) for a in args)
        if self.tex:
            name = rf"\{op}" if op in _COMMANDS else rf"\operatorname{{{op}}}".replace("_", r"\_")
            return rf"{name}\left({inside}\right)", ATOM
        return f"{op}({inside})", ATOM

    def _constant(self, value: Data) -> tuple[str, int]:
        body = _array(value, self.tex)
        return body, _binding(body)

    def _spelled(self, item: Item) -> tuple[str, int]:
        return self.render(item)

    def _name(self, name: str) -> tuple[str, int]:
        return named(name, self.tex), ATOM

    def _derivative(self, body: Item, index: Item, order: int) -> tuple[str, int]:
        """d/dt of a formula, or ∂/∂y[0]."""
        along, of = self.show(index), self.wrapped(body, ATOM)
        partial = getattr(index, "origin", ())[:1] == ("getitem",)
        if self.tex:
            d, raised = r"\partial" if partial else "d", f"^{order}" if order > 1 else ""
            return rf"\frac{{{d}{raised}}}{{{d} {along}{raised}}} {of}", PRODUCT
        d, raised = "∂" if partial else "d", {1: "", 2: "²", 3: "³"}.get(order, f"^{order}")
        return f"{d}{raised}/{d}{along}{raised} {of}", PRODUCT

    def _gradient(self, body: Item, index: Item) -> tuple[str, int]:
        """∇ of a formula, with its index below the line."""
        of = self.wrapped(body, ATOM)
        return (rf"\nabla_{{{self.show(index)}}} {of}" if self.tex else f"∇{of}"), ATOM

    def _rule(self, name: str, *seen: Item) -> tuple[str, int]:
        inside = ", ".join(self.show(part) for part in seen)
        return self._name(name)[0] + (rf"\left({inside}\right)" if self.tex else f"({inside})"), ATOM

    def _add(self, a: Item, b: Item) -> tuple[str, int]:
        return self._chain("add", a, b)

    def _subtract(self, a: Item, b: Item) -> tuple[str, int]:
        return self._chain("subtract", a, b)

    def _chain(self, op: str, a: Item, b: Item) -> tuple[str, int]:
        """A sum of sums, which a loop makes as deep as it is long, from its first summand on."""
        first, later = a, [(op, b)]
        while (parts := _summands(first)) is not None:
            op, first, last = parts
            later.append((op, last))
        total = self.wrapped(first, MINUS)
        for op, item in reversed(later):
            if self.left < 0:
                return f"{total} + {self.render(item)[0]}", SUM
            right = self.wrapped(item, MINUS if op == "add" else QUOTIENT)
            if total == "0" and op == "add":  # where Python's sum() starts
                total = right
            elif op == "subtract" or right.startswith("-"):
                total += f" - {right if op == 'subtract' else right[1:]}"
            else:
                total += f" + {right}"
        return total, SUM

    def _multiply(self, a: Item, b: Item) -> tuple[str, int]:
        sign, left = self.signed(a, PRODUCT)
        right = self.wrapped(b, PRODUCT)
        level = SUM if sign else PRODUCT
        if right == "1":
            return f"{sign}{left}", level
        if left == "1":
            return f"{sign}{right}", level
        if right[0].isdigit():
            dot = r"\cdot" if self.tex else "·"
            return f"{sign}{left} {dot} {right}", level
        return f"{sign}{left} {right}", level

    def _divide(self, a: Item, b: Item) -> tuple[str, int]:
        if self.tex:
            origin: tuple[Any, ...] = getattr(a, "origin", ())
            negated = origin[:1] == ("negative",)
            fraction = rf"\frac{{{self.show(origin[1] if negated else a)}}}{{{self.show(b)}}}"
            return ("-" + fraction, SUM) if negated else (fraction, ATOM)
        sign, top = self.signed(a, QUOTIENT)
        return f"{sign}{top} / {self.wrapped(b, POWER)}", SUM if sign else QUOTIENT

    def _negative(self, u: Item) -> tuple[str, int]:
        return f"-{self.wrapped(u, QUOTIENT)}", SUM

    def _power(self, u: Item, k: Item) -> tuple[str, int]:
        base = self.wrapped(u, ATOM)
        if (exponent := self.show(k)) in ("0", "1"):  # as loops over degrees make them
            return ("1", ATOM) if exponent == "0" else self.render(u)
        if self.tex:
            if base.startswith(r"\frac"):  # a fraction needs no parentheses, but its power does
                base = rf"\left({base}\right)"
            return f"{base}^{{{exponent}}}", POWER
        if exponent.lstrip("-").isdigit():
            return base + exponent.translate(_SUPERSCRIPT), POWER
        return f"{base}^{self.wrapped(k, ATOM)}", POWER

    def _square(self, u: Item) -> tuple[str, int]:
        return self._power(u, 2)

    def _matmul(self, a: Item, b: Item) -> tuple[str, int]:
        dot = r"\cdot" if self.tex else "·"
        return f"{self._factor(a)} {dot} {self._factor(b)}", QUOTIENT

    def _factor(self, v: Item) -> str:
        """One side of `@`; numbers are never shortened to one number, since they are summed over."""
        if is_sparse(v):
            return _sized(v, self.tex)
        origin: tuple[Any, ...] = getattr(v, "origin", ())
        if origin[:1] == ("constant",):
            v = origin[1]
        return _array(v, self.tex, whole=True) if isinstance(v, list | np.ndarray) else self.wrapped(v, PRODUCT)

    def _getitem(self, u: Item, key: Key) -> tuple[str, int]:
        base = self.wrapped(u, ATOM)
        if self.tex:  # braces, since what has an index already takes no other
            return f"{{{base}}}_{{{_key(key, True)}}}" if "_" in base else f"{base}_{{{_key(key, True)}}}", ATOM
        return f"{base}[{_key(key, False)}]", ATOM

    def _transpose(self, u: Item) -> tuple[str, int]:
        return self.wrapped(u, ATOM) + (r"^{\top}" if self.tex else "ᵀ"), POWER

    def _maximum(self, *parts: Item) -> tuple[str, int]:
        return self._call("max", parts)

    def _minimum(self, *parts: Item) -> tuple[str, int]:
        return self._call("min", parts)

    def _sum(self, u: Item, axis: Axis = None) -> tuple[str, int]:
        body = self.wrapped(u, PRODUCT)
        return (rf"\sum {body}" if self.tex else f"Σ {body}"), SUM

    def _absolute(self, u: Item) -> tuple[str, int]:
        return (rf"\left|{self.show(u)}\right|" if self.tex else f"|{self.show(u)}|"), ATOM

    def _norm(self, u: Item, order: float = 2) -> tuple[str, int]:
        below = {1: "₁", 2: "", np.inf: "∞"}.get(order, f"_{number(order)}")
        if self.tex:
            below = "" if order == 2 else f"_{{{number(order, True)}}}"
            return rf"\left\|{self.show(u)}\right\|{below}", ATOM
        return f"‖{self.show(u)}‖{below}", ATOM

    def _sum_squares(self, u: Item) -> tuple[str, int]:
        return self._norm(u)[0] + ("^2" if self.tex else "²"), POWER

    def _psd(self, matrix: Item) -> tuple[str, int]:
        return (rf"{self.show(matrix)} \succeq 0" if self.tex else f"{self.show(matrix)} ⪰ 0"), SUM

    def _integral(self, u: Item, *indices: Item) -> tuple[str, int]:
        body, named = self.wrapped(u, PRODUCT), [f"d{self.show(i)}" for i in indices]
        return rf"\int {body} \, " + r" \, ".join(named) if self.tex else f"∫ {body} {' '.join(named)}", PRODUCT

    def _expectation(self, u: Item, *indices: Item) -> tuple[str, int]:
        return (rf"\mathbb{{E}}\left[{self.show(u)}\right]" if self.tex else f"E[{self.show(u)}]"), ATOM

    def _stack(self, *parts: Item) -> tuple[str, int]:
        inside = ", ".join(self.show(p) for p in parts[:6]) + (f", {self.dots}" if len(parts) > 6 else "")
        return f"({inside})", ATOM

    def _where(self, condition: Item, a: Item, b: Item) -> tuple[str, int]:
        c = self.show(condition)
        return (
            rf"\begin{{cases}}{self.show(a)} & {c}\\{self.show(b)} & \text{{else}}\end{{cases}}"
            if self.tex
            else f"({self.show(a)} if {c} else {self.show(b)})"
        ), ATOM


def _summands(item: Item) -> tuple[str, Item, Item] | None:
    """A sum or difference: which of them, and its two sides; None if it is neither."""
    origin: tuple[Any, ...] = getattr(item, "origin", None) or ()
    return (origin[0], origin[1], origin[2]) if origin[:1] in (("add",), ("subtract",)) else None


def total(terms: list[Any]) -> Any:
    """A sum of operands that nobody typed."""
    return reduce(lambda a, b: ("add", a, b), terms) if terms else 0.0


def multiple(factor: float, item: object) -> Any:
    """A number times an operand."""
    return item if factor == 1 else ("negative", item) if factor == -1 else ("multiply", factor, item)


def _binding(body: str) -> int:
    """How tightly a number binds."""
    return MINUS if body.startswith("-") else ATOM


def text(item: Item) -> str:
    """Unicode mathematics."""
    return Printer(tex=False).show(item)


def latex(item: Item) -> str:
    """LaTeX, without dollar signs."""
    return Printer(tex=True).show(item)
