"""Expressions as a person would write them: Unicode for the terminal, LaTeX for Jupyter.

What is printed is the tree of operations that the user typed (`origin`), never the nodes that they compile to.
"""

from __future__ import annotations

from typing import Any

import numpy as np

_SUPERSCRIPT = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
_GREEK = {
    "alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "kappa", "lambda", "mu", "nu", "xi", "pi", "rho",
    "sigma", "tau", "phi", "chi", "psi", "omega",
}  # fmt: skip
SUM, PRODUCT, UNARY, POWER, ATOM = range(5)


def number(v: float) -> str:
    """A float in the fewest digits that still look like it."""
    return f"{v:.6g}"


def _array(v: Any, tex: bool) -> str:
    v = np.asarray(v)
    if v.ndim == 0:
        return number(float(v))
    if v.size and (v.ravel() == v.ravel()[0]).all():
        return number(float(v.ravel()[0]))
    if v.ndim == 1:
        shown = [number(float(e)) for e in (v if v.size <= 6 else [*v[:3], *v[-1:]])]
        if v.size > 6:
            shown.insert(3, r"\dots" if tex else "…")
        return ("(" + ", ".join(shown) + ")") if tex else "[" + " ".join(shown) + "]"
    size = "×".join(map(str, v.shape))
    return "A_{" + size.replace("×", r"\times ") + "}" if tex else f"A({size})"


def _key(key: Any) -> str:
    parts = key if isinstance(key, tuple) else (key,)

    def one(k: Any) -> str:
        if isinstance(k, slice):
            return ":".join("" if v is None else str(v) for v in (k.start, k.stop, k.step))[: None if k.step else -1]
        return "…" if k is Ellipsis else ("None" if k is None else str(k).replace("\n", ""))

    return ", ".join(one(k) for k in parts)


class Printer:
    """Renders a tree of origins; `tex` chooses the alphabet."""

    def __init__(self, tex: bool) -> None:
        self.tex = tex

    def show(self, item: Any) -> str:
        return self.render(item)[0]

    def wrapped(self, item: Any, level: int) -> str:
        body, own = self.render(item)
        if own >= level:
            return body
        return rf"\left({body}\right)" if self.tex else f"({body})"

    def render(self, item: Any) -> tuple[str, int]:
        """The text of an operand and how tightly it binds."""
        origin = item if isinstance(item, tuple) else getattr(item, "origin", None)
        if isinstance(item, list):
            item = np.asarray(item)
        if not origin:
            body = _array(item, self.tex) if isinstance(item, int | float | np.ndarray | np.generic) else "(…)"
            return body, ATOM if not body.startswith("-") else SUM
        op, args = origin[0], origin[1:]
        handler = getattr(self, f"_{op}", None)
        if handler is not None:
            result: tuple[str, int] = handler(*args)
            return result
        if op in ("<=", ">=", "==", "<", ">"):
            symbol = {"<=": r"\le" if self.tex else "≤", ">=": r"\ge" if self.tex else "≥", "==": "="}.get(op, op)
            return f"{self.show(args[0])} {symbol} {self.show(args[1])}", SUM
        return self._call(op, args)

    def _call(self, op: str, args: tuple[Any, ...]) -> tuple[str, int]:
        inside = ", ".join(self.show(a) for a in args)
        if self.tex:
            return rf"\operatorname{{{op}}}\left({inside}\right)", ATOM
        return f"{op}({inside})", ATOM

    def _constant(self, value: Any) -> tuple[str, int]:
        body = _array(value, self.tex)
        return body, ATOM if not body.startswith("-") else SUM

    def _name(self, name: str) -> tuple[str, int]:
        if self.tex:
            stem = name.rstrip("0123456789")
            tail = name[len(stem) :]
            stem = "\\" + stem if stem in _GREEK else (stem if len(stem) <= 1 else rf"\mathrm{{{stem}}}")
            return (f"{stem}_{{{tail}}}" if tail else stem), ATOM
        return name, ATOM

    def _add(self, a: Any, b: Any) -> tuple[str, int]:
        left, right = self.wrapped(a, SUM), self.wrapped(b, SUM)
        if right.startswith("-"):
            return f"{left} - {right[1:].lstrip()}", SUM
        return f"{left} + {right}", SUM

    def _subtract(self, a: Any, b: Any) -> tuple[str, int]:
        left, right = self.wrapped(a, SUM), self.wrapped(b, PRODUCT)
        return f"{left} - {right}", SUM

    def _multiply(self, a: Any, b: Any) -> tuple[str, int]:
        left, right = self.wrapped(a, PRODUCT), self.wrapped(b, PRODUCT)
        if left == "-1":
            return f"-{right}", SUM
        if right[0].isdigit() or (left[-1].isdigit() and right[:1].isdigit()):
            dot = r"\cdot" if self.tex else "·"
            return f"{left} {dot} {right}", PRODUCT
        return f"{left} {right}", PRODUCT

    def _divide(self, a: Any, b: Any) -> tuple[str, int]:
        if self.tex:
            return rf"\frac{{{self.show(a)}}}{{{self.show(b)}}}", ATOM
        return f"{self.wrapped(a, PRODUCT)} / {self.wrapped(b, POWER)}", PRODUCT

    def _negative(self, u: Any) -> tuple[str, int]:
        return f"-{self.wrapped(u, PRODUCT)}", SUM

    def _power(self, u: Any, k: Any) -> tuple[str, int]:
        base = self.wrapped(u, ATOM)
        if self.tex:
            return f"{base}^{{{self.show(k)}}}", POWER
        exponent = self.show(k)
        if exponent.lstrip("-").isdigit():
            return base + exponent.translate(_SUPERSCRIPT), POWER
        return f"{base}^{self.wrapped(k, ATOM)}", POWER

    def _square(self, u: Any) -> tuple[str, int]:
        return self._power(u, 2)

    def _matmul(self, a: Any, b: Any) -> tuple[str, int]:
        dot = r"\cdot" if self.tex else "·"
        if hasattr(a, "tocoo"):
            a = ("name", "A")
        return f"{self.wrapped(a, PRODUCT)} {dot} {self.wrapped(b, PRODUCT)}", PRODUCT

    def _getitem(self, u: Any, key: Any) -> tuple[str, int]:
        base = self.wrapped(u, ATOM)
        return (f"{base}_{{{_key(key)}}}" if self.tex else f"{base}[{_key(key)}]"), ATOM

    def _sum(self, u: Any, axis: Any = None) -> tuple[str, int]:
        body = self.wrapped(u, PRODUCT)
        return (rf"\sum {body}" if self.tex else f"Σ {body}"), SUM

    def _exp(self, u: Any) -> tuple[str, int]:
        return (f"e^{{{self.show(u)}}}" if self.tex else f"exp({self.show(u)})"), POWER if self.tex else ATOM

    def _sqrt(self, u: Any) -> tuple[str, int]:
        return (rf"\sqrt{{{self.show(u)}}}" if self.tex else f"√({self.show(u)})"), ATOM

    def _absolute(self, u: Any) -> tuple[str, int]:
        return (rf"\left|{self.show(u)}\right|" if self.tex else f"|{self.show(u)}|"), ATOM

    def _norm(self, u: Any) -> tuple[str, int]:
        return (rf"\left\|{self.show(u)}\right\|" if self.tex else f"‖{self.show(u)}‖"), ATOM

    def _stack(self, *parts: Any) -> tuple[str, int]:
        inside = ", ".join(self.show(p) for p in parts[:6]) + (", …" if len(parts) > 6 else "")
        return f"({inside})", ATOM

    def _where(self, condition: Any, a: Any, b: Any) -> tuple[str, int]:
        c = self.show(condition)
        return (
            rf"\begin{{cases}}{self.show(a)} & {c}\\{self.show(b)} & \text{{else}}\end{{cases}}"
            if self.tex
            else f"({self.show(a)} if {c} else {self.show(b)})"
        ), ATOM


def _trig(name: str) -> None:
    def render(self: Printer, u: Any) -> tuple[str, int]:
        return (rf"\{name}\left({self.show(u)}\right)" if self.tex else f"{name}({self.show(u)})"), ATOM

    setattr(Printer, f"_{name}", render)


for _name in ("sin", "cos", "tan", "arcsin", "arccos", "arctan", "sinh", "cosh", "tanh", "log", "max", "min"):
    _trig(_name)

_TEXT, _LATEX = Printer(tex=False), Printer(tex=True)


def text(item: Any) -> str:
    """Unicode mathematics."""
    return _TEXT.show(item)


def latex(item: Any) -> str:
    """LaTeX, without dollar signs."""
    return _LATEX.show(item)
