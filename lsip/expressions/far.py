"""Functions of r = 1 / u, for u far out: r^-k exp(-1 / r), and tails f(1 / r), both for r >= 0.

The first one is exp(-u) u^k. It is 0 with all its derivatives at r = 0, as f_k' = f_(k+2) - k f_(k+1). Tails have
limits there, or are waves between bounds.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache, reduce
from math import comb, prod
from operator import mul
from typing import Any, ClassVar

import numpy as np

from ..errors import ModelError
from ..schema import number, text, whole
from .elementary import EVERYWHERE, Function, known
from .graph import Expression, Fields, Step
from .interval import NORMAL, Array, Interval, absolute, widened
from .jets import Numbers
from .operations import Apply

MOST = 40.0  # exponents k: values that underflow are then below 1e-150
ULPS = 4096.0  # 1 / r is rounded, at most 745, so that exp(-1 / r) is off by 745 units, and the power by a few
VANISHED = 800.0  # exp(-u) underflows below it, and u^k exp(-u) decreases from there on


@dataclass(frozen=True)
class Decay(Function):
    """r^-k exp(-1 / r), and 0 at r = 0."""

    k: float = 0.0

    def __reduce__(self) -> tuple[Any, ...]:
        return decay, (self.k,)


def _decay(u: Array, k: float) -> Array:
    with np.errstate(all="ignore"):
        value = np.where(u > 0, np.exp(-1.0 / u) * u**-k, 0.0)
        return np.where(np.isnan(value), 0.0, value)  # 0 inf, far below what underflows


def _enclosed(u: Numbers, k: float) -> Any:
    """Increasing up to r = 1 / k, and decreasing from there on."""
    if not isinstance(u, Interval):
        return _decay(np.asarray(u, dtype=float), k)
    a, b = _decay(u.lo, k), _decay(u.hi, k)
    box = widened(np.minimum(a, b), np.maximum(a, b), ULPS)
    lost = NORMAL * VANISHED**k
    peak = 1.0 / k if k else np.inf
    turns = (u.lo <= peak) & (u.hi >= peak)
    top = widened(*(np.asarray(_decay(np.asarray(peak), k)),) * 2, ULPS).hi if k else np.asarray(1.0)
    return Interval(np.maximum(box.lo - lost, 0.0), np.where(turns, np.maximum(top, box.hi), box.hi + lost))


@lru_cache(maxsize=256)
def decay(k: float) -> Decay:
    """The function with that exponent."""
    if not 0 <= k <= MOST:
        raise ModelError(f"u^k exp(-u) far out is known up to k = {MOST:g}; got {k:g}.")

    def derivative(order: int) -> dict[float, float]:
        """The exponents in a derivative, and what is in front."""
        found = {k: 1.0}
        for _ in range(order):
            after: dict[float, float] = {}
            for e, c in found.items():
                after[e + 2] = after.get(e + 2, 0.0) + c
                after[e + 1] = after.get(e + 1, 0.0) - c * e
            found = after
        return {e: c for e, c in found.items() if c}

    def slope(order: int) -> Any:
        parts = derivative(order)
        return lambda u, _: sum((_enclosed(u, e) * c for e, c in parts.items()), 0.0)

    return Decay(
        name=f"decay[{k:.17g}]",
        value=lambda u: _decay(np.asarray(u, dtype=float), k),
        shape=lambda f, u: _enclosed(u, k),
        first=slope(1),
        second=slope(2),
        third=slope(3),
        domain=(0.0, np.inf),
        image=(0.0, np.inf),
        ulps=ULPS,
        checked=EVERYWHERE,
        zero=0.0,
        k=k,
    )


TAILS = {  # functions with limits far out, and waves between bounds; how fast these vanish at least, and the bounds
    **dict.fromkeys(("erf", "erfc", "ndtr"), (False, 0.0, EVERYWHERE)),
    **dict.fromkeys(("sin", "cos"), (True, 0.0, (-1.0, 1.0))),
    "j0": (True, 0.5, (-0.7979, 0.7979)),  # |J_0(u)| <= (2 / (pi u))^(1 / 2), Szegő, Orthogonal polynomials, 7.31
}


@dataclass(frozen=True)
class Tail(Function):
    """f(sign / r) r^-p, where `of` is the name of f; at r = 0 its limit, and 0 for waves."""

    of: str = ""
    sign: int = 1

    def __reduce__(self) -> tuple[Any, ...]:
        return tail, (self.of, self.sign)

    def evaluate(self, u: Array) -> Array:
        """Values at points."""
        wave, p, _ = TAILS[self.of]
        with np.errstate(all="ignore"):
            far = np.where(u > 0, self.sign / np.where(u > 0, u, 1.0), self.sign * np.inf)
            value = known(self.of).value(np.where(np.isinf(far), 0.0, far) if wave else far)
            return np.where((u > 0) | (not wave), value * (u**-p if p else 1.0), 0.0)

    def enclose(self, u: Interval) -> Interval:
        """Values over boxes."""
        _, p, (low, high) = TAILS[self.of]
        far = self._far(u)
        with np.errstate(all="ignore"):
            value = known(self.of)(far)
            if p:
                value = value * known("sqrt")(absolute(far))
        return Interval(np.fmax(value.lo, low), np.fmin(value.hi, high))

    def _far(self, u: Any) -> Any:
        """The argument of f."""
        with np.errstate(all="ignore"):
            over = 1.0 / (Interval(np.maximum(u.lo, 0.0), u.hi) if isinstance(u, Interval) else u)
        if isinstance(u, Interval):  # at r = 0 alone it is infinite
            over = Interval(np.where(u.hi <= 0, np.inf, over.lo), over.hi)
        return over if self.sign > 0 else -over

    def slope(self, u: Any, order: int) -> Any:
        """Derivatives; unknown where r may be 0."""
        p = TAILS[self.of][1]
        with np.errstate(all="ignore"):
            over, parts = absolute(self._far(u)) if isinstance(u, Interval) else 1.0 / u, self._slopes(u, order)
            root: Any = known("sqrt")(over) if p else 1.0
            found: Any = 0.0
            for j, part in enumerate(parts):  # those of r^-p are (-p) (-p - 1) … r^(-p - i)
                factor = float(comb(order, j)) * prod(-p - i for i in range(order - j))
                if factor:
                    found = found + part * reduce(mul, [over] * (order - j), root) * factor
        if not isinstance(u, Interval):
            return np.where(np.isfinite(found), found, 0.0)
        sure = (u.lo > 0) & np.isfinite(found.lo) & np.isfinite(found.hi)
        return Interval(np.where(sure, found.lo, -np.inf), np.where(sure, found.hi, np.inf))

    def _slopes(self, u: Any, order: int) -> list[Any]:
        """f(v) with v = sign / r, and its derivatives in r: -sign v^2 f', v^4 f'' + 2 v^3 f', and so on."""
        f, v = known(self.of), self._far(u)
        value, square = f(v), v * v
        first = f.first(v, value)
        second = f.second(v, value)
        third: Any = 0.0 * v if f.third is None else f.third(v, value)
        cubic = third * (square * square * square) + second * (square * square * v) * 6.0
        found: list[Any] = [
            value,
            first * square * -float(self.sign),
            second * (square * square) + first * (square * v) * 2.0,
            (cubic + first * (square * square) * 6.0) * -float(self.sign),
        ]
        return found[: order + 1]


@lru_cache(maxsize=64)
def tail(of: str, sign: int) -> Tail:
    """The function f(sign / r)."""
    if of not in TAILS:
        raise ModelError(f"{of} far out is not known.")
    return Tail(
        name=f"{of}[{sign}/]",
        value=lambda u: tail(of, sign).evaluate(np.asarray(u, dtype=float)),
        shape=lambda f, u: f.enclose(u),  # type: ignore[attr-defined]
        first=lambda u, _: tail(of, sign).slope(u, 1),
        second=lambda u, _: tail(of, sign).slope(u, 2),
        third=lambda u, _: tail(of, sign).slope(u, 3),
        domain=(0.0, np.inf),
        ulps=ULPS,
        checked=EVERYWHERE,
        of=of,
        sign=sign,
    )


class Far(Apply):
    """One of these functions, element by element."""

    op = "far"
    schema: ClassVar[Fields] = {"args": [whole], "of": text, "number": number}

    def __init__(self, function: Function, u: Expression) -> None:
        super().__init__(function, u)

    def with_args(self, *args: Expression) -> Expression:
        return Far(self.function, args[0])

    @property
    def word(self) -> str:
        return self.op

    def file_data(self) -> Step | None:
        f = self.function
        if isinstance(f, Tail):
            return {"of": f.of, "number": float(f.sign)}
        assert isinstance(f, Decay)
        return {"of": "decay", "number": f.k}

    @classmethod
    def read(cls, step: Step, args: list[Expression], where: str) -> Expression:
        of, value = step["of"], float(step["number"])
        return Far(decay(value) if of == "decay" else tail(of, 1 if value > 0 else -1), args[0])
