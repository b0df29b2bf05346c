"""Quotients and products that are defined where their parts are not: sin(t) / t, (1 - cos t) / t², t log t.

Both sides of a quotient are written as e = e_0 + w q, where w is affine in the index, e_0 the value of e where w = 0,
and q another formula (slopes, as Krawczyk and Neumaier have them): for a function, q is a divided difference. Where e_0
is proven to be zero on both sides, in rational numbers, w is divided out, as often as that goes. Only quotients whose
denominator may vanish over the index sets are touched.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from ..errors import ModelError
from .affine import enclosed
from .arrangements import Gather, Sum
from .divided_differences import TERMS, Divided, at_limit, divided_difference
from .elementary import DERIVATIVES, FUNCTIONS
from .graph import IRRATIONAL, Constant, Expression, Index, as_expression, in_order
from .operations import Add, Apply, Divide, Multiply, Negate, Power
from .operators import RULES
from .power_series import EXACT, exact_value
from .ring import NotPolynomialError, Polynomial, Ring, Terms, repeated
from .steps import full_range
from .sums import DoubleDouble

_divide: Callable[..., Any] = RULES["divide"]
_multiply: Callable[..., Any] = RULES["multiply"]


class Slope:
    """A formula as `at` + w `quotient`: fractions, None where they are not known, and a formula, None where it is 0."""

    def __init__(self, at: object, quotient: object) -> None:
        self.at: Any = None if at is None else np.asarray(at, dtype=object)
        self.quotient: Any = quotient

    @property
    def vanishes(self) -> bool:
        """Whether it is 0 wherever w is."""
        return self.at is not None and not any(self.at.ravel())


class _NoSlopeError(Exception):
    """A formula has no slope that is known."""


def divide(a: Expression, b: Expression) -> Any:
    """a / b, or what it is where both vanish."""
    if isinstance(a, Expression) and isinstance(b, Expression) and a.indices() and b.indices():
        low, high = full_range(b)
        found = _without_common_zeros(a, b) if low <= 0 <= high else None
        if found is not None:
            found.origin = ("divide", a, b)
            return found
    return _divide(a, b)


def multiply(a: Expression, b: Expression) -> Any:
    """a b, or what it is where one vanishes and the other is a pole: a (1 / b), w log(w)."""
    if isinstance(a, Expression) and isinstance(b, Expression):
        for u, v in ((a, b), (b, a)):
            if isinstance(v, Apply) and u.indices() and v.indices():
                found = None
                if v.function.exponent == -1:
                    low, high = full_range(v.args[0])
                    found = _without_common_zeros(u, v.args[0]) if low <= 0 <= high else None
                elif v.function.name in ("log", "log2", "log10", "log1p"):
                    found = _times_logarithm(u, v)
                if found is not None:
                    found.origin = ("multiply", a, b)
                    return found
    return _multiply(a, b)


def _without_common_zeros(a: Expression, b: Expression) -> Expression | None:
    indices = tuple(dict.fromkeys((*a.indices(), *b.indices())))
    found = False
    for w in _candidates(b, indices):
        for _ in range(TERMS):
            try:
                slopes = [Slopes(w, indices).of(e) for e in (b, a)]
            except _NoSlopeError:
                break
            if not all(s.vanishes for s in slopes):
                break
            b, a = (Constant(0.0) if s.quotient is None else s.quotient for s in slopes)
            found = True
    return as_expression(a / b) if found else None


def _times_logarithm(u: Expression, v: Apply) -> Expression | None:
    """u log(w) = -q entr(w), where u is w q."""
    w = v.args[0] if v.function.name != "log1p" else as_expression(1.0 + v.args[0])
    low, high = full_range(w)
    if low > 0 or high <= 0:
        return None
    factor: Any = {"log2": IRRATIONAL["1 / log(2)"], "log10": IRRATIONAL["1 / log(10)"]}.get(v.function.name, 1.0)
    root = u.args[0] if isinstance(u, Apply) and u.function.name == "sqrt" else None
    power, inner = (0.5, root) if root is not None else (1.0, None)
    if isinstance(u, Power) and u.exponents.size == 1 and 0 < u.exponents[0, 0] < 1:
        power, inner = float(u.exponents[0, 0]), u.args[0]
    if inner is not None:  # w^p log(w) is w^p log(w^p) / p
        return as_expression(-factor / power * Apply(FUNCTIONS["entr"], u)) if same(inner, w) else None
    indices = tuple(dict.fromkeys((*u.indices(), *w.indices())))
    try:
        slope = Slopes(_core(w, indices), indices).of(u)
        inner_slope = Slopes(_core(w, indices), indices).of(w)
    except _NoSlopeError:
        return None
    if not (slope.vanishes and inner_slope.vanishes and isinstance(inner_slope.quotient, Constant)):
        return None
    rest = 0.0 if slope.quotient is None else slope.quotient / inner_slope.quotient
    return as_expression(-factor * (rest * Apply(FUNCTIONS["entr"], w)))


def same(a: Expression, b: Expression) -> bool:
    """Whether two expressions are written alike."""
    stack = [(a, b)]
    while stack:
        a, b = stack.pop()
        if a is b:
            continue
        if isinstance(a, Index) or type(a) is not type(b) or a.key() is None or a.key() != b.key():
            return False
        if len(a.args) != len(b.args) or a.shape != b.shape:
            return False
        stack.extend(zip(a.args, b.args, strict=True))
    return True


# ---- where a denominator may vanish ----------------------------------------------------------------------------------


def written(e: Expression, ring: Ring) -> dict[int, Terms | None]:
    """The nodes of a formula as polynomials in the index; None for those that are not."""
    found: dict[int, Terms | None] = {}
    for node in e.nodes():
        parts = [found[id(u)] for u in node.args]
        known = [p for p in parts if p is not None]
        found[id(node)] = None
        if node.polynomial and len(known) == len(parts):
            try:
                found[id(node)] = node.expand(ring, known)
            except NotPolynomialError:
                continue
    return found


def _ring(indices: tuple[Index, ...]) -> Ring:
    starts = np.cumsum([0, *(i.domain.dim for i in indices)])
    return Ring(int(starts[-1]), dict(zip(indices, starts.tolist(), strict=False)))


def _linear(p: Polynomial) -> bool:
    return max(map(sum, p), default=0) == 1


def _candidates(b: Expression, indices: tuple[Index, ...]) -> Iterator[Expression]:
    """Functions that are affine in the index, and may vanish where a formula does."""
    ring = _ring(indices)
    terms = written(b, ring)
    seen = set()
    for node in list(b.nodes()):
        own, found = terms[id(node)], []
        if own is not None and all(map(_linear, own)):
            found.append(node)
        elif own is not None and len(node.indices()) == 1 and ring.dim == 1:
            found += [as_expression(node.indices()[0] - root) for root in _roots(own[0])]
        if isinstance(node, Apply) and (inner := terms[id(node.args[0])]) is not None and all(map(_linear, inner)):
            found += [as_expression(node.args[0] - float(c)) for c in EXACT.get(node.function.name, {}) if c]
        for w in found:
            w = _core(w, indices)
            key = tuple(tuple(sorted(p.items())) for p in written(w, ring)[id(w)] or [])
            if key not in seen:
                seen.add(key)
                low, high = full_range(w)
                if low <= 0 <= high:
                    yield w


def _core(w: Expression, indices: tuple[Index, ...]) -> Expression:
    """One element, where all are multiples of it."""
    ring = _ring(indices)
    terms = written(w, ring)[id(w)]
    if w.size <= 1 or terms is None or not all(map(_linear, terms)):
        return w
    first = terms[0]
    pivot = next(e for e in first if any(e))
    alike = all(p == {e: c * p.get(pivot, 0) / first[pivot] for e, c in first.items()} for p in terms)
    return as_expression(w.ravel()[0]) if alike else w


def _roots(p: Polynomial) -> list[float]:
    """Doubles at which a polynomial in one coordinate is zero."""
    degree = max((e for (e,) in p), default=0)
    if not 2 <= degree <= TERMS:
        return []
    near = np.roots([float(p.get((k,), Fraction(0))) for k in range(degree, -1, -1)])
    tried = {float(c) for v in near.tolist() for c in (round(v.real), round(v.real * 64) / 64, v.real)}
    return sorted(c for c in tried if sum(a * Fraction(c) ** e for (e,), a in p.items()) == 0)


# ---- slopes ----------------------------------------------------------------------------------------------------------


class Slopes:
    """Formulas as e_0 + w q."""

    def __init__(self, w: Expression, indices: tuple[Index, ...]) -> None:
        self.w, self.ring = w, _ring(indices)
        own = written(w, self.ring)[id(w)]
        if own is None or not all(map(_linear, own)):
            raise _NoSlopeError
        self.own: Terms = own

    def of(self, e: Expression) -> Slope:
        """Of a formula; _NoSlopeError where it has none that is known."""
        terms, found = written(e, self.ring), dict[int, Slope]()
        for node in in_order(e, lambda node: () if self._is_leaf(terms[id(node)]) else node.args):
            slope = self._affine(terms[id(node)], node)
            found[id(node)] = slope or self._made(node, [found[id(u)] for u in node.args])
        return found[id(e)]

    def _is_leaf(self, terms: Terms | None) -> bool:
        return terms is not None and all(max(map(sum, p), default=0) <= 1 for p in terms)

    def _affine(self, terms: Terms | None, node: Expression) -> Slope | None:
        """Of an affine formula, where it is a multiple of w and a number, or has nothing to do with w."""
        if terms is None or not self._is_leaf(terms):
            return None
        size = max(len(terms), len(self.own))
        if len(self.own) not in (1, len(terms)) and len(terms) != 1:
            raise _NoSlopeError
        factors, rests = [], []
        for p, w in zip(repeated(terms, size), repeated(self.own, size), strict=True):
            pivot = next(e for e in w if any(e))
            factor = p.get(pivot, Fraction(0)) / w[pivot]
            rest = {e: c - factor * w.get(e, 0) for e, c in {**dict.fromkeys(w, Fraction(0)), **p}.items()}
            factors.append(factor)
            rests.append({e: c for e, c in rest.items() if c})
        constant = all(not any(e) for rest in rests for e in rest)
        if not constant and any(factors):
            raise _NoSlopeError
        shape = node.shape if len(terms) == size else self.w.shape
        at = _array([rest.get(self.ring.zero, Fraction(0)) for rest in rests], shape) if constant else None
        return Slope(at, _number(_array(factors, shape)) if any(factors) else None)

    def _made(self, node: Expression, parts: list[Slope]) -> Slope:
        if isinstance(node, Constant):
            exact = not node.rounded and np.isfinite(node.value).all()
            return Slope(_array(map(Fraction, node.value.ravel().tolist()), node.shape) if exact else None, None)
        still = all(p.quotient is None for p in parts)
        if isinstance(node, Add):
            a, b = parts
            at = a.at + b.at if a.at is not None and b.at is not None else None
            both = [p.quotient for p in parts if p.quotient is not None]
            return Slope(at, (both[0] + both[1] if len(both) == 2 else both[0]) if both else None)
        if isinstance(node, Negate):
            (a,) = parts
            return Slope(None if a.at is None else -a.at, None if a.quotient is None else as_expression(-a.quotient))
        if isinstance(node, Multiply):
            return self._product(node.args[0], node.args[1], *parts)
        if isinstance(node, Divide):
            a, b = parts
            at = a.at / b.at if a.at is not None and b.at is not None else None
            return Slope(at, None if a.quotient is None else as_expression(a.quotient / node.args[1]))
        if isinstance(node, Apply):
            return self._function(node, *parts)
        if isinstance(node, Power) and node.exponents.size == 1:
            return self._power(node, float(node.exponents[0, 0]), *parts)
        if isinstance(node, Gather | Sum) and self.w.size == 1 and not still:
            (a,) = parts
            assert a.quotient is not None
            if isinstance(node, Gather):
                at = None if a.at is None else a.at.ravel()[node.index]
                return Slope(at, Gather(RULES["multiply"](a.quotient, np.ones(node.args[0].shape)), node.index))
            raise _NoSlopeError
        if still:
            return Slope(None, None)
        raise _NoSlopeError

    def _product(self, u: Expression, v: Expression, a: Slope, b: Slope) -> Slope:
        """u v = u_0 v_0 + w (v q_u + u_0 q_v)."""
        at = a.at * b.at if a.at is not None and b.at is not None else None
        if at is None and (a.vanishes or b.vanishes):
            at = _array([Fraction(0)] * np.broadcast(*(np.empty(e.shape) for e in (u, v))).size, _shape(u, v))
        if a.quotient is None or b.quotient is None:
            if a.quotient is None and b.quotient is None:
                return Slope(at, None)
            return Slope(at, as_expression(u * b.quotient if a.quotient is None else v * a.quotient))
        if a.at is None:
            (u, a), (v, b) = (v, b), (u, a)
        if a.at is None:
            raise _NoSlopeError
        total = v * a.quotient
        return Slope(at, as_expression(total + _number(a.at) * b.quotient if any(a.at.ravel()) else total))

    def _power(self, node: Power, k: float, a: Slope) -> Slope:
        u: Any = node.args[0]
        if a.quotient is None:
            whole = a.at is not None and k == int(k) and (k > 0 or all(a.at.ravel()))
            return Slope(a.at ** int(k) if whole else None, None)
        if a.at is None:
            raise _NoSlopeError
        if k == int(k) and k > 0 and not any(a.at.ravel()):
            return Slope(a.at, as_expression(u ** (k - 1.0) * a.quotient if k > 1 else a.quotient))
        if k == int(k) and 0 < k <= TERMS:
            terms = [u ** float(i) * _number(a.at ** (int(k) - 1 - i)) for i in range(int(k))]
            return Slope(a.at ** int(k), as_expression(sum(terms[1:], terms[0]) * a.quotient))
        if k == int(k) and -TERMS <= k < 0:
            return self.of(as_expression(1.0 / u**-k))
        if k - 0.5 == int(k - 0.5) and 0 < k <= TERMS:
            return self.of(as_expression(u ** (k - 0.5) * np.sqrt(u) if k > 1 else np.sqrt(u)))
        return self.of(as_expression(np.exp(k * np.log(u))))

    def _function(self, node: Apply, a: Slope) -> Slope:
        f, u = node.function, node.args[0]
        at = a.at
        if a.quotient is None:
            known = at is not None and f.exponent != f.exponent and not isinstance(node, Divided)
            value = [exact_value(f, v) for v in at.ravel()] if known else [float("nan")]
            return Slope(None if any(v != v for v in value) else _array(value, node.shape), None)
        if at is None:
            raise _NoSlopeError
        q: Any = a.quotient
        if f.exponent == 2:
            return Slope(at**2, as_expression((u + _number(at)) * q if any(at.ravel()) else u * q))
        if f.exponent == -1 and all(at.ravel()):
            return Slope(1 / at, as_expression(-q / (u * _number(at))))
        c = at.ravel()[0]
        if any(v != c for v in at.ravel()) or Fraction(float(c)) != c:
            raise _NoSlopeError
        if f.name == "sqrt" and (root := exact_value(f, c)) == root and c > 0:
            return Slope(_array([root] * node.size, node.shape), as_expression(q / (node + float(root))))
        try:
            return self._divided(node, c, q)
        except ModelError:  # there is no Taylor series
            raise _NoSlopeError from None

    def _divided(self, node: Apply, c: Fraction, q: Expression) -> Slope:
        f, u = node.function, node.args[0]
        of, k = f.name, 0
        if isinstance(node, Divided):
            of, k = node.function.of, node.function.k
            if node.function.n or Fraction(node.function.at) != c:
                raise _NoSlopeError
        elif f.pole == f.pole or {**DERIVATIVES, **FUNCTIONS}.get(of) is not f:
            raise _NoSlopeError
        value = at_limit(of, c, k)
        slope: Any = Divided(divided_difference(of, float(c), k + 1), u)
        slope = slope if _one(q) else slope * q
        return Slope(None if value != value else _array([Fraction(value)] * node.size, node.shape), slope)


def _one(e: Expression) -> bool:
    return isinstance(e, Constant) and e.size == 1 and e.shape == () and not e.rounded and float(e.value) == 1.0


def _shape(*parts: Expression) -> tuple[int, ...]:
    return np.broadcast_shapes(*(e.shape for e in parts))


def _array(values: Any, shape: tuple[int, ...]) -> Any:
    """Fractions in an array."""
    found = np.empty(shape, dtype=object)
    found.ravel()[:] = list(values)
    return found


def _number(values: object) -> Expression:
    """Fractions as an expression."""
    values = np.asarray(values, dtype=object)
    if all(v == values.ravel()[0] for v in values.ravel()):
        values = values.ravel()[:1].reshape(())
    near = np.vectorize(float, otypes=[float])(values)
    rest = np.vectorize(lambda a, b: float(a - Fraction(b)), otypes=[float])(values, near)
    return enclosed(DoubleDouble(near, rest))


RULES["multiply"] = multiply
for _name in ("divide", "true_divide"):
    RULES[_name] = divide
