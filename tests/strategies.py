"""Random index expressions, boxes and index sets, valid by construction.

An expression is drawn as the line of NumPy that a person would type (`Formula.source`), so that the same line runs on
an index, on floats, and on extended precision, and a failing example is its own reproduction. Every part carries a
bound on its absolute value, by which arguments of logarithms, roots and quotients are shifted into their domain.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.special import erf, expit

import lsip

Array = NDArray[np.float64]
Shape = tuple[int, ...]
Draw = Callable[[st.SearchStrategy[Any]], Any]

REACH = 2.0  # coordinates of index points lie in [-REACH, REACH]
LARGEST = 1e4  # parts that may become larger than this are scaled down


@dataclass(frozen=True)
class Formula:
    """A line of NumPy in `y`, the index: a scalar when `scalar`, else a vector of length `dim`."""

    source: str
    shape: Shape
    bound: float  # |value| <= bound for coordinates in [-REACH, REACH]
    dim: int
    scalar: bool = False
    smooth: bool = True  # twice continuously differentiable with bounded derivatives
    continuous: bool = True

    def __call__(self, y: Any, **names: Any) -> Any:
        """The value at one point, or the expression of an index."""
        return eval(self.source, {"np": np, "erf": erf, "expit": expit, **names, "y": y})

    def at(self, points: Array) -> Array:
        """Plain NumPy, one point at a time: shape (N, size)."""
        rows = [np.ravel(self(p[0] if self.scalar else p)) for p in points]
        return np.array(rows, dtype=float).reshape(len(points), -1)

    def index(self, domain: lsip.Domain | None = None) -> lsip.Index:
        """An index that this formula can take, over the largest box by default."""
        if domain is None:
            domain = lsip.Interval(-REACH, REACH) if self.scalar else lsip.Box([-REACH] * self.dim, [REACH] * self.dim)
        return lsip.Index("y", domain)

    def __repr__(self) -> str:
        return self.source


def numbers(low: float, high: float) -> st.SearchStrategy[float]:
    """Short decimals and other floats: the former meet kinks and corners, the latter round."""
    return st.one_of(
        st.integers(int(np.ceil(2 * low)), int(np.floor(2 * high))).map(lambda k: k / 2),
        st.floats(low, high, allow_subnormal=False).map(lambda v: float(np.round(v, 3))),
        st.floats(low, high, allow_subnormal=False),
    )


@dataclass(frozen=True)
class Kind:
    """What may occur in a formula."""

    dim: int
    scalar: bool = False
    kinks: bool = True
    jumps: bool = True
    rough: bool = True  # roots and norms where their derivative is unbounded

    def part(self, source: str, shape: Shape, bound: float, *parts: Formula, **facts: bool) -> Formula:
        smooth = facts.get("smooth", True) and all(p.smooth for p in parts)
        continuous = facts.get("continuous", True) and all(p.continuous for p in parts)
        whole = Formula(source, shape, bound, self.dim, self.scalar, smooth, continuous)
        if bound <= LARGEST:
            return whole
        factor = float(f"{1 / bound:.3g}")
        return Formula(f"({factor} * ({source}))", shape, 1.01, self.dim, self.scalar, smooth, continuous)


def _literal(value: Array) -> str:
    return f"np.array({value.tolist()})" if value.shape else repr(float(value))


def _constant(draw: Draw, kind: Kind, shape: Shape) -> Formula:
    """Numbers in [-2, 2]; arrays come from a seed, which is quicker than drawing their elements."""
    seed = draw(st.integers(0, 200))
    rng, digits = np.random.default_rng(seed), (0, 1, 3, 17)[seed % 4]
    value = np.round(rng.uniform(-2, 2, shape), digits)
    return kind.part(_literal(value), shape, float(np.abs(value).max(initial=0.0)))


def _leaf(draw: Draw, kind: Kind, shape: Shape) -> Formula:
    if kind.scalar:
        if shape == () and draw(st.booleans()):
            return kind.part("y", (), REACH)
        return _constant(draw, kind, shape) if draw(st.booleans()) else _affine(draw, kind, shape, "y")
    if shape == (kind.dim,) and draw(st.booleans()):
        return kind.part("y", shape, REACH)
    if len(shape) == 2 and shape[1] == kind.dim and draw(st.booleans()):
        return _affine(draw, kind, shape, "y")
    if len(shape) <= 1 and draw(st.integers(0, 3)) == 0:
        return _monomials(draw, kind, shape)
    coordinate = f"y[{draw(st.integers(-kind.dim, kind.dim - 1))}]"
    if shape == ():
        return kind.part(coordinate, (), REACH) if draw(st.booleans()) else _constant(draw, kind, ())
    return _affine(draw, kind, shape, coordinate)


def _monomials(draw: Draw, kind: Kind, shape: Shape) -> Formula:
    """Products of whole powers of the coordinates, one a row of exponents."""
    rng = np.random.default_rng(draw(st.integers(0, 50)))
    exponents = rng.integers(0, 4, (*shape, kind.dim)).astype(float)
    bound = REACH ** float(exponents.sum(axis=-1).max())
    return kind.part(f"np.prod(y ** {_literal(exponents)}, axis=-1)", shape, bound)


def _affine(draw: Draw, kind: Kind, shape: Shape, y: str) -> Formula:
    """Something like `y - p`, broadcast to the shape."""
    offset = _constant(draw, kind, shape)
    return kind.part(f"({y} - {offset.source})", shape, REACH + offset.bound)


def _shrunk(u: Formula, most: float) -> str:
    """`u`, scaled so that its absolute value is at most `most`."""
    return u.source if u.bound <= most else f"{float(f'{0.99 * most / u.bound:.3g}')} * ({u.source})"


def _shifted(u: Formula, least: float = 0.5) -> tuple[str, float]:
    """`u`, shifted so that it is at least `least`; and a bound."""
    shift = float(f"{u.bound + least + 0.01:.4g}")
    return f"({shift} + {u.source})", shift + u.bound


# name, the largest |u| that is allowed, the bound of |f| for |u| <= reach
_UNARY: list[tuple[str, float, Callable[[float], float]]] = [
    ("np.sin", np.inf, lambda b: 1.0),
    ("np.cos", np.inf, lambda b: 1.0),
    ("np.tan", 1.2, np.tan),
    ("np.arcsin", 0.9, np.arcsin),
    ("np.arccos", 0.9, lambda b: np.pi),
    ("np.arctan", np.inf, lambda b: np.pi / 2),
    ("np.sinh", 3.0, np.sinh),
    ("np.cosh", 3.0, np.cosh),
    ("np.tanh", np.inf, lambda b: 1.0),
    ("np.exp", 3.0, np.exp),
    ("np.exp2", 3.0, np.exp2),
    ("np.expm1", 3.0, np.exp),
    ("np.log1p", 0.9, lambda b: 3.0),
    ("np.arcsinh", np.inf, np.arcsinh),
    ("np.arctanh", 0.9, np.arctanh),
    ("erf", np.inf, lambda b: 1.0),
    ("expit", np.inf, lambda b: 1.0),
    ("np.square", 50.0, np.square),
    ("np.sinc", np.inf, lambda b: 1.0),
    ("np.negative", np.inf, lambda b: b),
    ("np.deg2rad", np.inf, lambda b: b),
]
_POSITIVE: list[tuple[str, Callable[[float], float]]] = [
    ("np.log({})", lambda b: max(1.0, np.log(b))),
    ("np.log2({})", lambda b: max(1.0, np.log2(b))),
    ("np.log10({})", lambda b: max(1.0, np.log10(b))),
    ("np.sqrt({})", np.sqrt),
    ("1 / {}", lambda b: 2.0),
    ("np.reciprocal({})", lambda b: 2.0),
    ("2.5 / {}", lambda b: 5.0),
    ("{} ** -1.5", lambda b: 3.0),
    ("{} ** 0.7", lambda b: max(1.0, b)),
    ("{} ** -2", lambda b: 4.0),
    ("{} ** 0.3", lambda b: max(1.0, b)),
    ("np.arccosh(1 + {})", lambda b: np.log(2 * b + 3)),
    ("1.5 ** -{}", lambda b: 1.0),
]


def _elementwise(draw: Draw, kind: Kind, shape: Shape, depth: int) -> Formula:
    u = _formula(draw, kind, shape, depth - 1)
    if draw(st.integers(0, 2)) == 0:
        template, bound = draw(st.sampled_from(_POSITIVE))
        inner, reach = _shifted(u)
        return kind.part(f"({template.format(inner)})", shape, float(bound(reach)), u)
    name, most, bound = draw(st.sampled_from(_UNARY))
    return kind.part(f"{name}({_shrunk(u, most)})", shape, float(bound(min(u.bound, most))), u)


def _broadcast_shapes(draw: Draw, shape: Shape) -> tuple[Shape, Shape]:
    """Two shapes that broadcast to `shape`."""
    smaller: list[Shape] = [shape, ()]
    if shape:
        smaller += [shape[1:], (1, *shape[1:]), (*shape[:-1], 1)]
    other = draw(st.sampled_from(smaller))
    return (shape, other) if draw(st.booleans()) else (other, shape)


def _binary(draw: Draw, kind: Kind, shape: Shape, depth: int) -> Formula:
    first, second = _broadcast_shapes(draw, shape)
    a, b = _formula(draw, kind, first, depth - 1), _formula(draw, kind, second, depth - 1)
    op = draw(st.sampled_from(["+", "-", "*", "*", "/", "hypot", "power", "arctan2"]))
    if op in "+-":
        return kind.part(f"({a.source} {op} {b.source})", shape, a.bound + b.bound, a, b)
    if op == "*":
        return kind.part(f"({a.source} * {b.source})", shape, a.bound * b.bound, a, b)
    if op == "/":
        inner, _ = _shifted(b)
        return kind.part(f"({a.source} / {inner})", shape, 2 * a.bound, a, b)
    if op == "hypot":
        inner, reach = _shifted(b)
        return kind.part(f"np.hypot({a.source}, {inner})", shape, a.bound + reach, a, b)
    if op == "arctan2":
        inner, _ = _shifted(b)
        return kind.part(f"np.arctan2({a.source}, {inner})", shape, np.pi / 2, a, b)
    inner, reach = _shifted(a)
    exponent = _shrunk(b, 2.0)
    return kind.part(f"({inner} ** ({exponent}))", shape, max(reach, 2.0) ** 2, a, b)


def _powers(draw: Draw, kind: Kind, shape: Shape, depth: int) -> Formula:
    """Constant exponents: whole numbers of either sign, reals, or an array of them."""
    base_shape: Shape = () if draw(st.booleans()) else shape
    u = _formula(draw, kind, base_shape, depth - 1)
    size = int(np.prod(shape, dtype=int))
    if draw(st.booleans()):
        start = draw(st.integers(0, 4))
        exponents = (start + np.arange(size)).reshape(shape) % 5
        bound = max(1.0, u.bound) ** float(exponents.max(initial=0))
        return kind.part(f"({u.source}) ** {_literal(exponents.astype(float))}", shape, bound, u)
    choices = np.array([-3.0, 0.25, 1.0, -0.5, 0.0, 2.5, 0.5, -2.0, 1.5, 2.0, -1.0, 3.0])
    exponents = choices[(draw(st.integers(0, 11)) + np.arange(size)).reshape(shape) % 12]
    inner, reach = _shifted(u)
    bound = max(8.0, reach ** float(exponents.max(initial=0.0)))
    return kind.part(f"{inner} ** {_literal(exponents)}", shape, bound, u)


def _kinked(draw: Draw, kind: Kind, shape: Shape, depth: int) -> Formula:
    a, b = _formula(draw, kind, shape, depth - 1), _formula(draw, kind, draw(st.sampled_from([shape, ()])), depth - 1)
    bound = max(a.bound, b.bound)
    ops = ["abs", "maximum", "minimum", "clip"] + ["where", "strict", "angle"] * kind.jumps
    op = draw(st.sampled_from(ops))
    if op == "abs":
        return kind.part(f"np.abs({a.source})", shape, a.bound, a, smooth=False)
    if op in ("maximum", "minimum"):
        return kind.part(f"np.{op}({a.source}, {b.source})", shape, bound, a, b, smooth=False)
    if op == "clip":
        return kind.part(f"np.clip({a.source}, -0.5, {b.bound + 0.5})", shape, max(bound, 0.5) + 0.5, a, smooth=False)
    if op == "angle":  # on its cut, -0.0 counts as 0.0
        source = f"np.arctan2({a.source} + 0.0, {b.source})"
        return kind.part(source, shape, np.pi, a, b, smooth=False, continuous=False)
    c = _formula(draw, kind, shape, depth - 1)
    symbol = draw(st.sampled_from(["<", ">"] if op == "strict" else ["<=", ">="]))
    source = f"np.where({a.source} {symbol} {b.source}, {c.source}, {b.source})"
    return kind.part(source, shape, max(c.bound, b.bound), a, b, c, smooth=False, continuous=False)


def _rough(draw: Draw, kind: Kind, shape: Shape, depth: int) -> Formula:
    """Derivatives that are unbounded, or enclosures that touch the edge of a domain."""
    u = _formula(draw, kind, shape, depth - 1)
    template = draw(
        st.sampled_from(
            [
                "np.sqrt(np.abs({}))",
                "np.abs({}) ** 0.6",
                "np.abs({}) ** 1.5",
                "np.sqrt(np.square({}))",
                "np.maximum({}, 0) ** 0.5",
                "np.arcsin(np.clip({}, -1, 1))",
                "np.abs({}) ** 3",
            ]
        )
    )
    return kind.part(template.format(u.source), shape, max(2.0, u.bound) ** 3, u, smooth=False)


def _reduction(draw: Draw, kind: Kind, shape: Shape, depth: int) -> Formula:
    """The last or the first axis of something larger is reduced."""
    k = draw(st.integers(1, 4))
    last = draw(st.booleans())
    u = _formula(draw, kind, (*shape, k) if last else (k, *shape), depth - 1)
    axis = len(shape) if last else 0
    ops = ["sum", "mean", "prod", "dot"] + ["max", "min"] * kind.kinks + ["norm"] * kind.rough
    op = draw(st.sampled_from(ops))
    if op == "prod":
        return kind.part(f"np.prod({u.source}, axis={axis})", shape, max(1.0, u.bound) ** k, u)
    if op == "norm":
        ord = draw(st.sampled_from([None, 1, 2, np.inf, 3]))
        name = "np.inf" if ord == np.inf else ord
        source = f"np.linalg.norm({u.source}, {name}, axis={axis})"
        return kind.part(source, shape, k * u.bound, u, smooth=False)
    if op == "dot":
        w = _formula(draw, kind, (k,), depth - 1)
        source = f"({u.source} @ {w.source})" if last else f"({w.source} @ {u.source})"
        return kind.part(source, shape, k * u.bound * w.bound, u, w)
    reached = k * u.bound if op == "sum" else u.bound
    source = f"({u.source}).{op}(axis={axis})" if draw(st.booleans()) else f"np.{op}({u.source}, axis={axis})"
    return kind.part(source, shape, reached, u, smooth=op not in ("max", "min"))


def _stacked(draw: Draw, kind: Kind, shape: Shape, depth: int) -> Formula:
    parts = [_formula(draw, kind, shape[1:], depth - 1) for _ in range(shape[0])]
    bound = max(p.bound for p in parts)
    listed = ", ".join(p.source for p in parts)
    if len(shape) == 1 and shape[0] > 1 and draw(st.booleans()):
        head = _formula(draw, kind, (shape[0] - 1,), depth - 1)
        source = f"np.concatenate([{head.source}, np.atleast_1d({parts[0].source})])"
        return kind.part(source, shape, max(head.bound, parts[0].bound), head, parts[0])
    return kind.part(f"np.stack([{listed}])", shape, bound, *parts)


def _linear(draw: Draw, kind: Kind, shape: Shape, depth: int) -> Formula:
    """A constant matrix times a vector."""
    k = draw(st.integers(1, 4))
    u = _formula(draw, kind, (k,), depth - 1)
    if draw(st.booleans()):
        matrix = _constant(draw, kind, (shape[0], k))
        return kind.part(f"({matrix.source} @ {u.source})", shape, k * matrix.bound * u.bound, u)
    matrix = _constant(draw, kind, (k, shape[0]))
    return kind.part(f"({u.source} @ {matrix.source})", shape, k * matrix.bound * u.bound, u)


def _moved(draw: Draw, kind: Kind, shape: Shape, depth: int) -> Formula:
    """Slices, transposes, repetitions."""
    if len(shape) == 2:
        u = _formula(draw, kind, shape[::-1], depth - 1)
        source = draw(st.sampled_from(["np.transpose({})", "({}).T"])).format(f"np.atleast_2d({u.source})")
        return kind.part(source, shape, u.bound, u)
    n = shape[0]
    gather = f"[{', '.join(str((3 * i) % n) for i in range(n))}]"
    templates = [
        "({})[::-1]",
        "({})[1:]",
        "({})[:-1]",
        "np.roll({}, 1)",
        f"np.reshape({{}}, (1, {n}))[0]",
        f"({{}})[{gather}]",
    ]
    template = draw(st.sampled_from(templates))
    u = _formula(
        draw, kind, (n + 1,) if "1:]" in template or ":-1]" in template.replace("::-1", "") else (n,), depth - 1
    )
    return kind.part(template.format(u.source), shape, u.bound, u)


def _formula(draw: Draw, kind: Kind, shape: Shape, depth: int) -> Formula:
    if depth <= 0:
        return _leaf(draw, kind, shape)
    builders = [_leaf, _elementwise, _elementwise, _binary, _binary, _powers, _reduction]
    if len(shape) == 2:
        builders = [_elementwise, _binary, _stacked, _moved]
    if len(shape) == 1:
        builders += [_stacked, _linear, _moved]
    builders += [_kinked] * (2 * kind.kinks) + [_rough] * kind.rough
    build = draw(st.sampled_from(builders))
    return _leaf(draw, kind, shape) if build is _leaf else build(draw, kind, shape, depth)


@st.composite
def formulas(
    draw: Draw,
    dim: st.SearchStrategy[int] | int | None = None,
    shape: Shape | None = (),
    depth: int = 3,
    *,
    scalar: bool | None = None,
    smooth: bool = False,
    jumps: bool = True,
) -> Formula:
    """A random formula; `smooth` leaves out kinks and roots, `scalar` makes y a number rather than a vector."""
    m = dim if isinstance(dim, int) else draw(dim if dim is not None else st.integers(1, 3))
    number = (m == 1 and draw(st.booleans())) if scalar is None else scalar
    if shape is None:
        shape = draw(st.sampled_from([(), (1,), (2,), (3,), (2, 3), (1, 2)]))
    kind = Kind(m, number, kinks=not smooth, jumps=jumps and not smooth, rough=not smooth)
    return _formula(draw, kind, shape, depth)


@st.composite
def boxes(draw: Draw, dim: int, count: int = 4) -> tuple[Array, Array]:
    """Lower and upper corners (count, dim) in the reach: wide, narrow, and of no width at all."""
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    lower = rng.uniform(-REACH, REACH, (count, dim))
    lower = np.where(rng.random(lower.shape) < 0.5, np.round(2 * lower) / 2, lower)  # short ones meet kinks exactly
    width = rng.choice([0.0, 1e-9, 1e-3, 0.1, 0.5, 1.0, 4.0], (count, dim))
    return lower, np.minimum(lower + width, REACH)


def points_in(lower: Array, upper: Array, count: int = 12, seed: int = 0) -> Array:
    """Points (count, N, m) of N boxes: corners, the centre, points on faces and inside."""
    rng = np.random.default_rng(seed)
    share = rng.random((count, *lower.shape))
    share[0], share[1], share[2] = 0.0, 1.0, 0.5
    share[3 : 3 + count // 3] = np.round(share[3 : 3 + count // 3])
    face = share[3 + count // 3 : 3 + count // 2]
    face[...] = np.where(rng.random(face.shape) < 0.5, np.round(face), face)
    return np.clip(lower + share * (upper - lower), lower, upper)


@st.composite
def domains(draw: Draw, dim: int | None = None) -> lsip.Domain:
    """Every kind of index set, inside the reach."""
    m = draw(st.integers(1, 3)) if dim is None else dim
    kinds = ["box", "flat", "ball", "simplex", "polytope", "finite", "union", "product"] + ["interval"] * (m == 1)
    kind = draw(st.sampled_from(kinds))
    low = np.array(draw(st.lists(numbers(-REACH, 0.0), min_size=m, max_size=m)))
    high = np.minimum(low + np.array(draw(st.lists(numbers(0.5, 2.0), min_size=m, max_size=m))), REACH)
    if kind == "interval":
        return lsip.Interval(low[0], high[0])
    if kind == "flat":
        return lsip.Box(low, np.where(np.arange(m) == 0, low, high))
    if kind == "ball":
        most = float((REACH - np.abs(low + high) / 2).min())
        return lsip.Ball((low + high) / 2, min(draw(st.sampled_from([0.25, 0.5, 1.0])), most))
    if kind == "simplex":
        return lsip.Simplex(m)
    if kind == "polytope":
        cut = np.ones((1, m))
        matrix = np.vstack([np.eye(m), -np.eye(m), cut])
        right = np.concatenate([high, -low, cut @ (0.4 * low + 0.6 * high)])
        return lsip.Polytope(matrix, right)
    if kind == "finite":
        count = draw(st.integers(1, 5))
        return lsip.Finite(low + (high - low) * np.random.default_rng(count).random((count, m)))
    if kind == "union":
        return lsip.Box(low, (low + high) / 2) | lsip.Ball(high - 0.1, 0.1) | lsip.Finite([low.tolist(), high.tolist()])
    if kind == "product" and m > 1:
        rest = lsip.Ball((low + high)[1:] / 2, 0.5) if draw(st.booleans()) else lsip.Box(low[1:], high[1:])
        first = lsip.Interval(low[0], high[0]) if draw(st.booleans()) else lsip.Finite([[low[0]], [high[0]]])
        return first * rest
    return lsip.Box(low, high)


AFFINE_SHAPES: dict[str, Shape] = {"x": (3,), "z": (), "w": (2, 2)}  # the variables of a random model


@dataclass(frozen=True)
class AffineFormula:
    """A line of NumPy in y and in the variables x (3,), z () and w (2, 2), affine in the latter."""

    source: str
    shape: Shape
    dim: int
    scalar: bool

    def __call__(self, y: Any, x: Any, z: Any, w: Any) -> Any:
        return eval(self.source, {"np": np, "erf": erf, "expit": expit, "y": y, "x": x, "z": z, "w": w})

    def __repr__(self) -> str:
        return self.source


def _affine_number(draw: Draw, kind: Kind, depth: int) -> str:
    """A scalar that is affine in the variables."""

    def f(shape: Shape) -> str:
        return f"({_formula(draw, kind, shape, 1).source})"

    if depth > 0 and draw(st.booleans()):
        a, b = _affine_number(draw, kind, depth - 1), _affine_number(draw, kind, depth - 1)
        return draw(st.sampled_from(["({a} + {b})", "({a} - {b})", "(-{a} + {b})", "({f} * {a} - {b})"])).format(
            a=a, b=b, f=f(())
        )
    term = draw(
        st.sampled_from(
            [
                "x[0]", "x[-1]", "z", "w[0, 1]", "x.sum()", "np.sum(w)", "x.mean()", "3", "{f}", "{f} * z", "z / 4",
                "z / (9000 + {f})", "{f3} @ x", "x @ {f3}", "np.dot({f3}, x)", "({f3} * x).sum()", "{f2} @ x[1:]",
                "({f22} * w).sum()", "w.sum(axis=0)[1]", "w[1] @ {f2}", "(x - {f3}) @ {f3}",
                "sum({f3}[i] * x[i] for i in range(3))", "2 * (z - x[1])", "np.vdot({f3}, x)", "x[::2].sum() * {f}",
                "np.where(np.array([True, False, True]), x, {f3}).sum()", "w.ravel()[3]", "w.T[0, 1] * {f}",
                "np.trace(w)", "np.trace({f22} @ w)", "np.polyval(x, {f})", "np.cumsum(x)[1]",
                "np.polyval([2, {f}], z)",
                "np.cumsum({f3} * x - {f3})[-1]", "np.cumsum(w, axis=1)[0, 1] * {f}",
            ]
        )
    )  # fmt: skip
    return "(" + term.format(**{k: f(s) for k, s in _USED.items() if f"{{{k}}}" in term}) + ")"


_USED: dict[str, Shape] = {"f": (), "f2": (2,), "f3": (3,), "f22": (2, 2), "f23": (2, 3)}


def _affine_vector(draw: Draw, kind: Kind, depth: int) -> str:
    """A vector of length 2 that is affine in the variables."""

    def f(shape: Shape) -> str:
        return f"({_formula(draw, kind, shape, 1).source})"

    a, b = _affine_number(draw, kind, depth - 1), _affine_number(draw, kind, depth - 1)
    term = draw(
        st.sampled_from(
            [
                "np.stack([{a}, {b}])", "{f2} * {a}", "{f2} * {a} + {b}", "{f23} @ x", "x[:2]", "w[0]",
                "w[:, 1] - {f2}", "w.sum(axis=1)",
                "w @ {f2}", "{f2} @ w", "w.T @ {f2}", "({f22} @ w)[0]", "(w @ {f22}).sum(axis=0)",
                "(w - {f22}) @ {f2}", "np.concatenate([x[:1], w[1, :1]])", "({f22} * w).sum(axis=0)",
                "x[[2, 0]] * {f}", "{f2} - x[1:]",
                "np.array([[1.0, 0.0, 2.0], [0.5, -1.0, 0.0]]) @ x", "x @ ({f23}).T", "np.broadcast_to({a}, (2,))",
            ]
        )
    )  # fmt: skip
    return "(" + term.format(a=a, b=b, **{k: f(s) for k, s in _USED.items() if f"{{{k}}}" in term}) + ")"


@st.composite
def affine_formulas(draw: Draw, dim: int, scalar: bool, shape: Shape = ()) -> AffineFormula:
    """A random line that is affine in the variables, of shape () or (2,)."""
    kind = Kind(dim, scalar, jumps=False)
    source = _affine_number(draw, kind, 2) if shape == () else _affine_vector(draw, kind, 2)
    return AffineFormula(source, shape, dim, scalar)
