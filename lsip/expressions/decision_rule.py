"""A decision rule that was found: its coefficients, and a function of what has been seen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..errors import ModelError
from ..legible import legibly
from ..validation import Array, Data, numbers
from .operands import Ints
from .printing import Printer, number


class EntrySlice(NamedTuple):
    """What of an entry lies between two numbers."""

    entry: int
    lower: float
    upper: float


@dataclass(frozen=True, eq=False)
class DecisionRule:
    """An optimal rule: a polynomial or piecewise affine function of the data. Call it with observed data.

    Parameters
    ----------
    name
        Of the rule.
    seen
        The entries of the index that it depends on, (s,).
    coefficients
        In the shape of the decision, with a last axis of length K.
    exponents
        Of the monomials that they belong to, (K, s).
    parts
        That the last coefficients belong to, where the rule is one in pieces: how much the slope along an entry is more
        between two numbers than below all of them, times what of the entry lies there.

    Examples
    --------
    >>> import lsip
    >>> z = lsip.Index("z", lsip.Interval(0, 1))
    >>> order, worst = lsip.Rule(of=z, name="order"), lsip.Variable(name="worst")
    >>> cover = lsip.forall(z, [order >= 1 + z, order <= worst])
    >>> rule = lsip.Problem(lsip.minimize(worst), [cover]).solve(verbose=False)[order]
    >>> type(rule).__name__, round(float(rule(1.0)), 6)
    ('DecisionRule', 2.0)
    """

    name: str
    seen: tuple[str, ...]
    coefficients: Array
    exponents: Ints
    parts: tuple[EntrySlice, ...] = ()

    @property
    def constant(self) -> Array:
        """What does not depend on the data, in the shape of the decision."""
        return np.asarray(self.coefficients[..., 0])

    @property
    def slopes(self) -> Array:
        """What the entries are multiplied with, in the shape of the decision, with a last axis of length s."""
        return self.coefficients[..., 1 : 1 + len(self.seen)]

    def __call__(self, seen: Data = ()) -> Any:
        """The decision for data (s,), or the decisions (N, …) for N of them in rows."""
        data, s = numbers(seen, f"Data for {self.name}", nan=True), len(self.seen)
        if s == 1 and (data.ndim == 0 or data.shape[-1:] != (1,)):  # one entry needs no axis
            data = data[..., None]
        if data.ndim > 2 or data.shape[-1:] != (s,):
            entries = ", ".join(self.seen) or "nothing"
            raise ModelError(
                f"{self.name} is a function of {entries}: data of shape ({s},), or N of them in rows; got {data.shape}."
            )
        return np.tensordot(self.terms(data), self.coefficients, axes=(-1, -1))

    def terms(self, data: Array) -> Array:
        """What the coefficients are multiplied with (…, K), for data (…, s)."""
        monomials: Array = np.prod(data[..., None, :] ** self.exponents, axis=-1)
        if not self.parts:
            return monomials
        entry, lower, upper = (np.array(column) for column in zip(*self.parts, strict=True))
        return np.concatenate([monomials, np.clip(data[..., entry], lower, upper) - lower], axis=-1)

    @legibly
    def __str__(self) -> str:
        return "\n".join(self._lines(Printer(tex=False)))

    __repr__ = __str__

    def _repr_latex_(self) -> str:
        lines = [line.replace(" = ", " &= ", 1) for line in self._lines(Printer(tex=True))]
        return "$$\\begin{aligned}" + r" \\ ".join(lines) + "\\end{aligned}$$"

    def _lines(self, printer: Printer) -> list[str]:
        """One equation for every element of the decision."""
        tex, shape = printer.tex, self.coefficients.shape[:-1]
        name = printer.show(("name", self.name))
        inside = ", ".join(self._entry(k, tex) for k in range(len(self.seen)))
        arguments = (rf"\left({inside}\right)" if tex else f"({inside})") if inside else ""
        lines: list[str] = []
        for place in np.ndindex(shape):
            if len(lines) == 12:
                lines.append(rf"\text{{{int(np.prod(shape)) - len(lines)} more}}" if tex else "…")
                break
            key = ", ".join(map(str, place))
            element = (f"{name}_{{{key}}}" if tex else f"{name}[{key}]") if place else name
            lines.append(f"{element}{arguments} = {self._sum(self.coefficients[place], tex)}")
        return lines

    def _sum(self, coefficients: Array, tex: bool) -> str:
        least = 1e-9 * float(np.abs(self.coefficients).max(initial=0.0))
        used = np.flatnonzero(np.abs(coefficients) > least).tolist()
        total = ""
        for k in used[:12]:
            value, monomial = float(coefficients[k]), self._monomial(k, tex)
            sign = ("-" if value < 0 else "") if not total else (" - " if value < 0 else " + ")
            size = number(abs(value), tex)
            total += sign + (monomial if monomial and size == "1" else f"{size} {monomial}".rstrip())
        dots = r" + \dots" if tex else " + …"
        return (total or "0") + (dots if len(used) > 12 else "")

    def monomial(self, k: int) -> str:
        """What the k-th coefficient is multiplied with."""
        return self._monomial(k, tex=False) or "1"

    def _monomial(self, k: int, tex: bool) -> str:
        if k >= len(self.exponents):
            part = self.parts[k - len(self.exponents)]
            inside = ", ".join([self._entry(part.entry, tex), number(part.lower, tex), number(part.upper, tex)])
            size = number(abs(part.lower), tex)
            less = f" - {size}" if part.lower > 0 else f" + {size}" if part.lower < 0 else ""
            clipped = rf"\operatorname{{clip}}\left({inside}\right)" if tex else f"clip({inside})"
            return f"({clipped}{less})" if less else clipped
        parts = []
        for j in np.flatnonzero(self.exponents[k]).tolist():
            entry, power = self._entry(j, tex), int(self.exponents[k, j])
            parts.append(entry if power == 1 else f"{entry}^{{{power}}}" if tex else f"{entry}^{power}")
        return " ".join(parts)

    def _entry(self, j: int, tex: bool) -> str:
        name = self.seen[j]
        return name.replace("[", "_{").replace("]", "}") if tex else name
