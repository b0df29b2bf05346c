"""Orthogonal polynomials that were written as recurrences, found on a tape and put in closed form.

T_k+1 = 2 u T_k - T_k-1 is how people write Chebyshev polynomials; those of Legendre, Gegenbauer and Hermite, and the
sums of Clenshaw by which NumPy evaluates them, look alike. Enclosures of such a chain widen exponentially with its
length. So all polynomials p q + r with deg r = |deg p - deg q|, where p and q are linear or such polynomials
themselves (T_m+n = 2 T_m T_n - T_|m-n| is the rule behind them), are expanded in Chebyshev polynomials, exactly, in
rational numbers. So is cos(k arccos u), whose derivatives would be unbounded where |u| = 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..deadline import EFFORT
from .chebyshev import CHEBYSHEV_DEGREE, ChebyshevSums
from .graph import Constant, Expression
from .interval import LARGEST, NORMAL, Array, up
from .monomials import Monomials
from .operations import Add, Apply, Divide, Multiply, Negate, Power
from .ring import summed

Polynomial = dict[int, Fraction]  # coefficients of Chebyshev polynomials by their degrees, without zeros
Args = tuple[int, ...]
Range = Callable[[int], tuple[float, float]]  # of a node, over the index set


@dataclass(frozen=True)
class RecurrenceTuning:
    """When recurrences are replaced.

    Parameters
    ----------
    least
        Degree that the largest of a chain has at least; below, products are as fast and sharp.
    steepest
        How many times as large as on half of its range a polynomial may be. A sum of Chebyshev polynomials is off by as
        much everywhere, while products have more digits where it is small.
    """

    least: int = 8
    steepest: float = 1e4


TUNING = RecurrenceTuning()


class Closed(NamedTuple):
    """Some nodes of a tape as elements of one node that computes all of them at once."""

    node: ChebyshevSums
    arg: int
    places: dict[int, NDArray[np.intp]]  # by positions on the tape


def closed_forms(nodes: list[Expression], args: list[Args], output: int, reach: Range) -> list[Closed]:
    """Closed forms of all recurrences that the output of a tape depends on."""
    scan = _Scan(nodes, args)
    found = []
    for base, chain in scan.chains.items():
        if TUNING.least <= max(scan.degree[i] for i in chain) <= CHEBYSHEV_DEGREE:
            closed = scan.close(base, _used(args, output, set(chain)), reach)
            found += [closed] if closed is not None else []
    for u, cosines in scan.cosines.items():
        closed = scan.unfold(u, cosines, reach)
        found += [closed] if closed is not None else []
    return found


def _used(args: list[Args], output: int, chain: set[int]) -> list[int]:
    """The nodes of a chain that something else is made of."""
    seen, stack = {output}, [output]
    while stack:
        i = stack.pop()
        fresh = set(() if i in chain else args[i]) - seen
        seen |= fresh
        stack += fresh
    return sorted(seen & chain)


@dataclass
class _Scan:
    """Which nodes are polynomials of one other node, the base, and which of them are recurrences.

    What is not made of sums and products is its own base, of degree 1; numbers have degree 0 and the base -1.
    """

    nodes: list[Expression]
    args: list[Args]
    base: list[int] = field(default_factory=list)
    degree: list[int] = field(default_factory=list)
    factors: dict[int, Args] = field(default_factory=dict)  # of products, up to constants and lower degrees
    chained: set[int] = field(default_factory=set)
    chains: dict[int, list[int]] = field(default_factory=dict)
    cosines: dict[int, dict[int, Array]] = field(default_factory=dict)  # degrees of T_k(u), by u and by the node

    def __post_init__(self) -> None:
        for i, (node, args) in enumerate(zip(self.nodes, self.args, strict=True)):
            read = _READ.get(type(node))
            base, degree = (read(self, i, node, args) if read else None) or (i, 1)
            self.base.append(base)
            self.degree.append(degree)

    def _constant(self, i: int, node: Constant, args: Args) -> tuple[int, int] | None:
        v = node.value
        return (-1, 0) if not node.rounded and (v.size == 1 or (v.size and (v == v.flat[0]).all())) else None

    def _scaled(self, i: int, node: Expression, args: Args) -> tuple[int, int] | None:
        """A multiple of its first argument."""
        if any(self.degree[a] for a in args[1:]) or node.size != self.nodes[args[0]].size:
            return None
        self._inherit(i, args[0])
        return self.base[args[0]], self.degree[args[0]]

    def _inherit(self, i: int, a: int) -> None:
        """A multiple of a product is one, and so of a recurrence."""
        if a in self.factors:
            self.factors[i] = self.factors[a]
        if a in self.chained:
            self._chain(i, self.base[a])

    def _chain(self, i: int, base: int) -> None:
        if i not in self.chained:
            self.chained.add(i)
            self.chains.setdefault(base, []).append(i)

    def _common(self, node: Expression, args: Args) -> int | None:
        """The base of both operands, if there is one and each of its elements has its own."""
        a, b = (self.base[k] for k in args)
        base = a if b == -1 else b
        same = (a == -1 or b == -1 or a == b) and (base == -1 or self.nodes[base].size == node.size)
        return base if same else None

    def _sum(self, i: int, node: Add, args: Args) -> tuple[int, int] | None:
        base = self._common(node, args)
        if base is None:
            return None
        for a, rest in (args, args[::-1]):
            self._recur(i, a, rest)
        return base, max(self.degree[a] for a in args)

    def _recur(self, i: int, a: int, rest: int) -> None:
        """A sum is one of a recurrence if it is made of one, or of a product of two, and of what has a lower degree.

        The lower degree of a product may come later: 2 u p + 1 + q is added up in any order.
        """
        degree = self.degree[rest]
        if a in self.chained and degree < self.degree[a]:
            self._chain(i, self.base[a])
        elif a in self.factors and all(self.degree[k] <= 2 or k in self.chained for k in self.factors[a]):
            p, q = self.factors[a]
            difference = abs(self.degree[p] - self.degree[q])
            if degree == difference:
                self._chain(i, self.base[a])
            elif degree < difference:
                self.factors[i] = (p, q)

    def _product(self, i: int, node: Multiply, args: Args) -> tuple[int, int] | None:
        base = self._common(node, args)
        if base is None:
            return None
        a, b = args
        if self.degree[a] and self.degree[b]:
            self.factors[i] = args
        elif base >= 0:
            number, other = (a, b) if self.base[a] == -1 else (b, a)
            known = self.nodes[number]
            if isinstance(known, Constant) and known.value.flat[0] == 0.0:
                return base, 0  # as in T_0 = 0 u + 1
            self._inherit(i, other)
        return base, self.degree[a] + self.degree[b]

    def _power(self, i: int, node: Expression, args: Args) -> tuple[int, int] | None:
        exponents = getattr(node, "exponents", np.array([2.0]))
        if exponents.size != 1 or exponents.flat[0] != 2.0 or node.size != self.nodes[args[0]].size:
            return None
        self.factors[i] = (args[0], args[0])
        return self.base[args[0]], 2 * self.degree[args[0]]

    def _apply(self, i: int, node: Apply, args: Args) -> tuple[int, int] | None:
        if node.function.name == "square":
            return self._power(i, node, args)
        if node.function.name == "cos":
            self._cosine(i, node, args[0])
        return None

    def _cosine(self, i: int, node: Apply, a: int) -> None:
        """cos(k arccos u) for whole numbers k >= 0 and one u."""
        k = np.ones(1)
        if isinstance(self.nodes[a], Multiply):
            for number, other in (self.args[a], self.args[a][::-1]):
                known = self.nodes[number]
                if isinstance(known, Constant) and not known.rounded:
                    a, k = other, known.value.ravel()
                    break
        inner = self.nodes[a]
        angle = isinstance(inner, Apply) and inner.function.name == "arccos" and inner.size == 1
        if (
            angle
            and node.size == k.size
            and (k == np.round(k)).all()
            and k.min() >= 0
            and 0 < k.max() <= CHEBYSHEV_DEGREE
        ):
            self.cosines.setdefault(self.args[a][0], {})[i] = k.astype(np.intp)

    def unfold(self, u: int, cosines: dict[int, Array], reach: Range) -> Closed | None:
        """cos(k arccos u) as T_k(u), if u is proven to lie between -1 and 1; elsewhere only T_k would be defined."""
        low, high = reach(u)
        if not (low >= -1.0 and high <= 1.0) and not self._within(u, reach):
            return None
        degrees = np.unique(np.concatenate(list(cosines.values())))
        node = ChebyshevSums(self.nodes[u], np.eye(degrees.max() + 1)[degrees])
        return Closed(node, u, {i: np.searchsorted(degrees, k) for i, k in cosines.items()})

    def _within(self, u: int, reach: Range) -> bool:
        """Whether a linear polynomial lies between -1 and 1, in exact arithmetic."""
        base = self.base[u]
        if self.degree[u] != 1 or base == u:
            return False
        return self._ends(u, base, reach(base)) <= 1

    def _ends(self, u: int, base: int, ends: tuple[float, float]) -> Fraction:
        """The largest size of a linear polynomial of a base between these ends."""
        if not np.isfinite(ends).all():
            return Fraction(2)
        line = self._expanded([u], {base: {1: Fraction(1)}})
        if line is None:
            return Fraction(2)
        return max(abs(line[u].get(0, Fraction(0)) + line[u].get(1, Fraction(0)) * Fraction(end)) for end in ends)

    def close(self, base: int, used: list[int], reach: Range) -> Closed | None:
        """The polynomials of a base that are used, as sums of Chebyshev polynomials; None if that is not possible."""
        ends = reach(base)
        if not used or not np.isfinite(ends).all() or not ends[0] < ends[1]:
            return None
        arg, centre, radius = self._argument(base, used[0], ends)
        line = self._expanded([arg], {base: {1: Fraction(1)}})
        if line is None or 1 not in line[arg]:
            return None
        # arg = shift + slope base = centre + radius x, and so is the base a polynomial of x.
        shift, slope = line[arg].get(0, Fraction(0)), line[arg][1]
        x = {0: (Fraction(centre) - shift) / slope, 1: Fraction(radius) / slope}
        found = self._expanded(used, {base: {k: v for k, v in x.items() if v}})
        if found is None:
            return None
        rows = np.zeros((len(used), max(max(found[i], default=0) for i in used) + 1))
        for row, i in zip(rows, used, strict=True):
            for k, v in found[i].items():
                if not NORMAL <= abs(v) <= LARGEST:
                    return None
                row[k] = float(v)
        even = _even(rows)
        if not even.any():
            return None
        node = ChebyshevSums(self.nodes[arg], rows[even], centre, radius)
        return Closed(node, arg, {used[i]: node.places(r) for r, i in enumerate(np.flatnonzero(even).tolist())})

    def _argument(self, base: int, before: int, ends: tuple[float, float]) -> tuple[int, float, float]:
        """The widest linear polynomial between -1 and 1, or the base with the centre and the radius of its range."""
        best, widest = -1, Fraction(0)
        for i in range(before):
            if self.base[i] == base and self.degree[i] == 1:
                size = self._ends(i, base, ends)
                if widest < size <= 1 + 1e-9:  # for rounding
                    best, widest = i, size
        if best >= 0:
            return best, 0.0, 1.0
        centre = 0.5 * ends[0] + 0.5 * ends[1]
        return base, centre, float(up(np.asarray(max(ends[1] - centre, centre - ends[0]))))

    def _expanded(self, roots: list[int], known: dict[int, Polynomial]) -> dict[int, Polynomial] | None:
        """Polynomials of a base that is known, exactly; None if that takes too long."""
        needed = set(roots)
        for i in range(max(roots), -1, -1):
            if i in needed and i not in known:
                needed.update(self.args[i])
        products = 0
        for i in sorted(needed - set(known)):
            node: Any = self.nodes[i]
            parts = [known[a] for a in self.args[i] if a in known]
            if isinstance(node, Constant):
                value = Fraction(float(node.value.flat[0])) if np.isfinite(node.value.flat[0]) else None
                if value is None:
                    return None
                known[i] = {0: value} if value else {}
            elif isinstance(node, Add):
                known[i] = summed(parts[:2])
            elif isinstance(node, Negate):
                known[i] = {k: -v for k, v in parts[0].items()}
            elif isinstance(node, Divide):
                if 0 not in parts[1]:
                    return None
                known[i] = {k: v / parts[1][0] for k, v in parts[0].items()}
            else:
                products += len(parts[0]) * len(parts[-1])
                if products > EFFORT.entries // 4:
                    return None
                known[i] = _multiplied(parts[0], parts[-1])
        return known


def _even(rows: Array) -> NDArray[np.bool_]:
    """Which sums of Chebyshev polynomials are not much larger somewhere than they are on half of the angles."""
    angles = np.linspace(0.0, np.pi, 4 * rows.shape[1])
    values = np.abs(rows @ np.cos(np.arange(rows.shape[1])[:, None] * angles))
    return np.abs(rows).sum(axis=1) <= TUNING.steepest * np.median(values, axis=1)


def _multiplied(p: Polynomial, q: Polynomial) -> Polynomial:
    """By 2 T_m T_n = T_m+n + T_|m-n|."""
    total: Polynomial = {}
    for m, a in p.items():
        for n, b in q.items():
            half = a * b / 2
            for k in (m + n, abs(m - n)):
                total[k] = total.get(k, Fraction(0)) + half
    return {k: v for k, v in total.items() if v}


_READ: dict[type, Callable[[_Scan, int, Any, Args], tuple[int, int] | None]] = {
    Constant: _Scan._constant,
    Negate: _Scan._scaled,
    Divide: _Scan._scaled,
    Add: _Scan._sum,
    Multiply: _Scan._product,
    Power: _Scan._power,
    Monomials: _Scan._power,
    Apply: _Scan._apply,
}
