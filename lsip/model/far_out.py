"""Rows over unbounded boxes whose formulas are no polynomials: what they are far out, as functions of s = 1 / length.

With y = w / s, a formula becomes a sum of terms s^-p q, where q is continuous also at s = 0. Exponentials that vanish
are factors r^-k exp(-1 / r), with r = s^m / v: they absorb powers of s. Waves (sin, cos, J_0) have no limit, and count
where a power of s is left in front of them; so do logarithms. A row is multiplied with the power s^d of its largest
term, as polynomials are. Whatever is not proven to be of that kind is refused, with the formula that is not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..deadline import EFFORT
from ..expressions.affine import Affine, Term
from ..expressions.arrangements import Gather, Join, Linear, Sum
from ..expressions.divided_differences import Divided, at_limit
from ..expressions.elementary import FUNCTIONS, known
from ..expressions.far import TAILS, Far, decay, tail
from ..expressions.graph import IRRATIONAL, LOG2, PI, Constant, Expression, as_expression, in_order
from ..expressions.kinks import Absolute, Select
from ..expressions.operations import Add, Apply, Divide, Multiply, Negate, Power
from ..expressions.printing import text
from ..expressions.removable import written
from ..expressions.ring import Polynomial, Ring
from ..expressions.steps import full_range
from ..expressions.substitution import substituted


class FarOutError(Exception):
    """Why it is not known what a formula is far out."""


@dataclass(frozen=True, eq=False)
class Flat:
    """A factor r^-k exp(-1 / r), where r is s^m / v and v is positive."""

    r: Any
    v: Any
    m: float


@dataclass(frozen=True, eq=False)
class FarTerm:
    """s^-p q for the elements that are `used`, times (-log s)^logs and r^-k exp(-1 / r), if there are such factors."""

    p: float
    q: Any
    used: Any  # (shape,) of the formula
    flat: Flat | None = None
    k: float = 0.0
    logs: int = 0
    wave: bool = False


Terms = list[FarTerm]


class FarOut:
    """Formulas over one part of an unbounded box: `leaf` says what polynomials are there, by their degrees."""

    def __init__(self, s: Expression, ring: Ring, leaf: Callable[[list[Polynomial]], dict[int, list[Any]]]) -> None:
        self.s, self.ring, self.leaf = s, ring, leaf

    def terms(self, e: Expression, instead: Mapping[Expression, Expression]) -> Terms:
        """The terms of a formula; `instead` has the indices that do not end up far out."""
        polynomials, found = written(e, self.ring), dict[int, Terms]()
        for node in in_order(e, lambda node: () if polynomials[id(node)] is not None else node.args):
            polynomial = polynomials[id(node)]
            if polynomial is not None:
                found[id(node)] = self._polynomial(node, polynomial)
            elif set(node.indices()) <= set(instead):
                found[id(node)] = [FarTerm(0, substituted(node, instead), np.ones(node.shape, dtype=bool))]
            else:
                found[id(node)] = self._made(node, [found[id(u)] for u in node.args])
                if len(found[id(node)]) * node.size > EFFORT.batch:
                    raise FarOutError(f"{text(node)} has too many terms there")
        return found[id(e)]

    def _polynomial(self, node: Expression, polynomials: list[Polynomial]) -> Terms:
        result = []
        for degree, parts in self.leaf(polynomials).items():
            used = np.array([part is not None for part in parts]).reshape(node.shape)
            each = [Constant(0.0) if part is None else part for part in parts]
            q: Any = np.reshape(np.stack([as_expression(part) for part in each]), node.shape) if node.shape else each[0]
            result.append(FarTerm(degree, as_expression(q), used))
        return result

    def scaled(self, terms: Terms, d: ArrayLike) -> Any:
        """s^d times the sum of terms; d may be an array, and is at least p where a term is used."""
        total: Any = 0.0
        for t in map(self._plain, terms):
            left = np.where(t.used, np.asarray(d, dtype=float) - t.p, 0.0)
            if (left < 0).any() or ((t.wave or t.logs) and not (left[t.used] > 0).all()):
                raise FarOutError("a wave or a logarithm is not dominated by a power of the index")
            q = t.q
            for _ in range(t.logs):  # s^(left / logs) (-log s) is an entropy
                share = np.where(left > 0, left, 1.0) / t.logs
                q = q * (1.0 / share) * Apply(FUNCTIONS["entr"], as_expression(self._power(share)))
            if not t.logs and left.any():
                q = q * self._power(left)
            total = total + q
        return as_expression(total)

    def _power(self, k: ArrayLike) -> Any:
        """s to powers, all of them one where they are equal."""
        k = np.asarray(k, dtype=float)
        return self.s ** float(k.flat[0]) if k.size and (k == k.flat[0]).all() else as_expression(self.s) ** k

    def _plain(self, t: FarTerm) -> FarTerm:
        """A term without a factor that vanishes faster than powers of s: it is part of q."""
        if t.flat is None:
            return t
        q = t.q * Far(decay(t.k), as_expression(t.flat.r))
        return replace(t, q=as_expression(q if not t.k else q * t.flat.v**-t.k), flat=None, k=0.0)

    def _degree(self, terms: Terms) -> float:
        """The largest power; a little more where that term is a logarithm."""
        return max((t.p for t in terms), default=0.0)

    def _made(self, node: Expression, parts: list[Terms]) -> Terms:
        if isinstance(node, Constant):
            return [FarTerm(0, node, np.ones(node.shape, dtype=bool))]
        if isinstance(node, Add):
            return [self._spread(t, node.shape) for part in parts for t in part]
        if isinstance(node, Negate):
            return [replace(t, q=as_expression(-t.q)) for t in parts[0]]
        if isinstance(node, Divide):
            return [self._spread(replace(t, q=as_expression(t.q / node.args[1])), node.shape) for t in parts[0]]
        if isinstance(node, Multiply):
            return [self._product(a, b, node.shape) for a in parts[0] for b in parts[1]]
        if isinstance(node, Gather | Sum | Linear):
            return [self._arranged(node, self._plain(t)) for t in parts[0]]
        if isinstance(node, Join):
            return self._joined(node, parts)
        if isinstance(node, Absolute | Select) and getattr(node, "continuous", True):
            d = max(map(self._degree, parts))
            made = node.with_args(*(_full(self.scaled(p, d), node.shape) for p in parts))
            return [FarTerm(d, made, np.ones(node.shape, dtype=bool))]
        if isinstance(node, Power) and node.exponents.size == 1:
            return self._raised(node, float(node.exponents[0, 0]), parts[0])
        if isinstance(node, Divided):
            return self._divided(node, parts[0])
        if isinstance(node, Apply):
            return self._applied(node, parts[0])
        raise FarOutError(f"it is not known what {text(node)} is there")

    def _spread(self, t: FarTerm, shape: tuple[int, ...]) -> FarTerm:
        return replace(t, used=np.broadcast_to(t.used, shape))

    def _product(self, a: FarTerm, b: FarTerm, shape: tuple[int, ...]) -> FarTerm:
        if a.flat is None:
            a, b = b, a
        b = self._plain(b)
        p, k, used = a.p + b.p, a.k, np.broadcast_to(a.used & b.used, shape)
        logs, wave = a.logs + b.logs, a.wave or b.wave
        least = -1.0 if logs or wave else 0.0  # a power of s is left before those
        if a.flat is not None and p > least:  # s^-1 is (r v)^(-1 / m)
            p, k = least, k + (p - least) / a.flat.m
        return FarTerm(p, as_expression(a.q * b.q), used, a.flat, k, logs, wave)

    def _arranged(self, node: Expression, t: FarTerm) -> FarTerm:
        q = node.with_args(_full(t.q, node.args[0].shape))
        if isinstance(node, Linear):
            used = (abs(node.matrix) @ np.broadcast_to(t.used, node.args[0].shape).ravel().astype(float)) > 0
        elif isinstance(node, Sum):
            used = np.broadcast_to(t.used, node.args[0].shape).reshape(node.size, -1).any(axis=-1)
        else:
            assert isinstance(node, Gather)
            used = np.broadcast_to(t.used, node.args[0].shape).ravel()[node.index]
        return replace(t, q=q, used=np.reshape(used, node.shape))

    def _joined(self, node: Join, parts: list[Terms]) -> Terms:
        result = []
        for i, part in enumerate(parts):
            for t in map(self._plain, part):
                args = [Constant(np.zeros(a.shape)) for a in node.args]
                used = [np.broadcast_to(t.used & (j == i), a.shape).ravel() for j, a in enumerate(node.args)]
                q = node.with_args(*(_full(t.q, a.shape) if j == i else args[j] for j, a in enumerate(node.args)))
                result.append(replace(t, q=q, used=np.concatenate(used).reshape(node.shape)))
        return result

    def _one(self, node: Expression, terms: Terms) -> tuple[float, Expression, int]:
        """A formula as s^-p q, and the sign of q where it is proven to have one all over the part; otherwise 0."""
        p = self._degree(terms)
        q = self.scaled(terms, p)
        low, high = full_range(q)
        return p, q, 1 if low > 0 else -1 if high < 0 else 0

    def _raised(self, node: Expression, k: float, terms: Terms) -> Terms:
        if k == int(k) and 0 < k <= 8:
            return reduce(lambda a, b: [self._product(t, u, node.shape) for t in a for u in b], [terms] * int(k))
        p, q, sign = self._one(node.args[0], terms)
        if p == 0 and k > 0:
            return [FarTerm(0, as_expression(q**k), np.ones(node.shape, dtype=bool))]
        if sign < 0 and k != int(k):
            raise FarOutError(f"{text(node)} is not defined there")
        return [self._raised_alone(node.args[0], terms, k)]

    def _divided(self, node: Divided, terms: Terms) -> Terms:
        """By what it is defined as: (f(u) - a_0 - …) / (u - c)^k."""
        f, u, every = node.function, node.args[0], np.ones(node.shape, dtype=bool)
        taylor = [at_limit(f.of, Fraction(f.at), j) for j in range(f.k)]
        if f.n or any(Fraction(float(a)) != a for a in taylor if a == a) or any(a != a for a in taylor):
            raise FarOutError(f"it is not known what {text(node)} is there")
        apart = [*terms, FarTerm(0, Constant(np.full(node.shape, -f.at)), every)]
        rest = self._applied(Apply(known(f.of), u), terms)
        power: Terms = [FarTerm(0, Constant(np.ones(node.shape)), every)]
        for a in taylor:
            rest = rest + [replace(t, q=as_expression(t.q * -float(a))) for t in power if a]
            power = [self._product(t, v, node.shape) for t in power for v in apart]
        below = self._raised_alone(u, apart, -float(f.k))
        return [self._product(t, below, node.shape) for t in rest]

    def _raised_alone(self, u: Expression, terms: Terms, k: float) -> FarTerm:
        """A power of a formula that is of one sign and size far out."""
        p, q, sign = self._one(u, terms)
        if not sign:
            raise FarOutError(f"far out, {text(u)} is not of one sign and size in all directions")
        return FarTerm(p * k, as_expression(q**k), np.ones(u.shape, dtype=bool))

    def _applied(self, node: Apply, terms: Terms) -> Terms:
        f, every = node.function, np.ones(node.shape, dtype=bool)
        powers = {"square": 2.0, "reciprocal": -1.0, "sqrt": 0.5}
        if f.name in powers:
            return self._raised(node, powers[f.name], terms)
        if f.name == "log1p":
            one = FarTerm(0, Constant(np.ones(node.shape)), every)
            return self._applied(Apply(FUNCTIONS["log"], node.args[0]), [*terms, one])
        if f.name == "expm1":
            found = self._applied(Apply(FUNCTIONS["exp"], node.args[0]), terms)
            return [*found, FarTerm(0, Constant(-np.ones(node.shape)), every)]
        p, q, sign = self._one(node.args[0], terms)
        if f.name in ("log", "log2", "log10") and p != 0 and sign > 0:
            factor: Any = {"log2": IRRATIONAL["1 / log(2)"], "log10": IRRATIONAL["1 / log(10)"]}.get(f.name, 1.0)
            rest = FarTerm(0, as_expression(Apply(f, q)), every)
            return [FarTerm(0, as_expression(p * factor), every, logs=1), rest]
        if p <= 0:
            return [FarTerm(0, Apply(f, self.scaled(terms, 0.0)), every)]
        if sign and f.name in ("exp", "exp2"):
            if sign > 0:
                raise FarOutError(f"{text(node)} grows faster than any power of the index")
            v = as_expression(-q if f.name == "exp" else -q * LOG2)
            return [FarTerm(0, Constant(np.ones(node.shape)), every, Flat(self._power(p) / v, v, p))]
        size = as_expression(q * float(sign))
        if sign and f.name == "arctan":
            near = np.arctan(as_expression(self._power(p) / size))
            return [FarTerm(0, as_expression((PI / 2 - near) * float(sign)), every)]
        if sign and f.name in ("tanh", "expit"):
            e = Far(decay(0.0), as_expression(self._power(p) / (size * (2.0 if f.name == "tanh" else 1.0))))
            limit: Any = (1 - e) * float(sign) if f.name == "tanh" else 1.0 if sign > 0 else e
            return [FarTerm(0, _full(limit / (1 + e), node.shape), every)]
        if sign and f.name in TAILS:
            wave, power, _ = TAILS[f.name]
            made = Far(tail(f.name, sign), as_expression(self._power(p) / size))
            return [FarTerm(-power * p, as_expression(made if not power else made * size**-power), every, wave=wave)]
        raise FarOutError(f"it is not known what {text(node)} is there")


def _full(q: Expression | float, shape: tuple[int, ...]) -> Expression:
    """A formula in its shape."""
    q = as_expression(q)
    return q if q.shape == shape else as_expression(np.broadcast_to(q, shape))


def far_body(body: Affine, far: FarOut, instead: Mapping[Expression, Expression]) -> tuple[Affine, list[float]]:
    """The rows on a part far out, and the powers of s that they are multiplied with."""
    coefficients = [far.terms(t.coefficient, instead) for t in body.terms]
    offset = far.terms(body.offset, instead)
    rows = [*(t.rows for t in body.terms), np.arange(body.size)]
    degrees = np.full(body.size, -np.inf)
    for places, terms in zip(rows, [*coefficients, offset], strict=True):
        for t in terms:
            used = np.broadcast_to(np.ravel(t.used), (len(places),))
            np.maximum.at(degrees, places[used], t.p)
    degrees = np.where(np.isfinite(degrees), degrees, 0.0)
    made = [
        Term(t.variable, t.rows, t.columns, _full(far.scaled(terms, degrees[t.rows]), (len(t.rows),)))
        for t, terms in zip(body.terms, coefficients, strict=True)
    ]
    shift = _full(far.scaled(offset, degrees.reshape(body.shape)), body.shape)
    return Affine(body.shape, tuple(made), shift), degrees.tolist()
