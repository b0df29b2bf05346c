"""What is convex or concave in the variables: an affine part, and convex functions of others that are affine.

|r|, maxima, minima, norms and squares may be added up, multiplied by numbers, and compared. One that holds on a convex
set of variables becomes rows: one for each of few directions, some with epigraph variables that nobody sees, or one for
all directions of a `WorstDirection`. Another comparison is refused where it is written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, NoReturn, TypeAlias

import numpy as np

from ..errors import ModelError, NotConvexError
from ..legible import legibly
from ..validation import Array, Sparse, is_sparse
from .affine import Affine, Constraint, Read, linear_rule
from .arrangements import Gather
from .directions import Directions, Euclidean, Largest, Magnitude, add_at
from .enclosed import known as enclosed_numbers
from .graph import Constant, Expression, Index, as_expression
from .operands import Ints
from .operators import Operators
from .parameter import Parameter
from .printing import Item, latex, text
from .quadratic_forms import factor, root
from .squares import SumOfSquares, alike
from .triplets import moved


@dataclass(frozen=True)
class ConvexTuning:
    """How convex constraints become rows.

    Parameters
    ----------
    most_rows
        Up to so many directions an element, each becomes a row of its own. Beyond, a sum of absolute values or maxima
        takes epigraph variables, or its worst direction for every index.
    """

    most_rows: int = 16


TUNING = ConvexTuning()


@dataclass(frozen=True, eq=False)
class Atoms:
    """Support functions over one kind of directions: of q[e], times signs[e], added to element rows[e]."""

    kind: Directions
    q: Affine  # (E, size)
    rows: Ints  # (E,)
    signs: Array  # (E,), 1 or -1

    def chosen(self, rows: Ints, entries: Ints, signs: Array | None = None) -> Atoms:
        """Some of them, added to other elements."""
        width = self.q.shape[1]
        index = entries[:, None] * width + np.arange(width)
        return Atoms(self.kind, self.q.gather(index), rows, self.signs[entries] if signs is None else signs)

    def scaled(self, op: str, numbers: Array) -> Atoms:
        """Times or by numbers, one for each element; their sizes go into what the functions are of."""
        mine = numbers[self.rows]
        kept = np.flatnonzero(mine)
        part, mine = self.chosen(self.rows[kept], kept), mine[kept]
        if isinstance(self.kind, SumOfSquares):  # c r^2 = (sqrt(c) r)^2
            sizes = map(Fraction, np.abs(mine).tolist())
            ends = np.reshape([root(c if op == "multiply" else 1 / c) for c in sizes], (-1, 2))
            q = linear_rule("multiply", (part.q, enclosed_numbers(*ends.T[:, :, None])))
        else:
            q = linear_rule(op, (part.q, np.abs(mine)[:, None]))
        return replace(part, q=q, signs=part.signs * np.sign(mine))

    def slots(self, size: int) -> Ints:
        """(E,), the how manieth of its element each is."""
        order = np.argsort(self.rows, kind="stable")
        counts = np.bincount(self.rows, minlength=size)
        rank = np.empty(len(order), dtype=np.intp)
        rank[order] = np.arange(len(order)) - np.repeat(np.cumsum(counts) - counts, counts)
        return rank


class Convex(Operators["Convex | Affine | Expression", "Convex", Constraint]):
    """A convex or concave expression: an affine array plus absolute values, maxima, minima and norms.

    Examples
    --------
    >>> import lsip
    >>> import numpy as np
    >>> x = lsip.Variable(2, name="x")
    >>> length = np.linalg.norm(x - np.array([3.0, 4.0]))
    >>> problem = lsip.Problem(lsip.minimize(length), [x.sum() <= 1])
    >>> round(problem.solve(verbose=False).value, 6)
    4.242641
    """

    def __init__(self, affine: Affine, atoms: Iterable[Atoms]) -> None:
        self.affine, self.shape = affine, affine.shape
        self.atoms = tuple(a for a in atoms if len(a.rows))
        self.origin: tuple[Any, ...] = ()

    @staticmethod
    def of(value: object) -> Convex:
        return value if isinstance(value, Convex) else Convex(Affine.of(value), ())

    def gather(self, index: Ints) -> Convex:
        """Elements in any arrangement: `index` holds positions in the flattened array, and its shape is the new one."""
        index = np.asarray(index, dtype=np.intp)
        return Convex(
            self.affine.gather(index), (a.chosen(*moved(a.rows, self.size, index.ravel())) for a in self.atoms)
        )

    def sum_last(self) -> Convex:
        """The sum over the last axis."""
        k = self.shape[-1]
        return Convex(self.affine.sum_last(), (replace(a, rows=a.rows // k) for a in self.atoms))

    def scaled(self, op: str, numbers: Array) -> Convex:
        """Times or by numbers, as `op` says, in the shape of both."""
        shape = _together(self, numbers)
        u, numbers = _spread(self, shape), np.broadcast_to(numbers, shape)
        return Convex(linear_rule(op, (u.affine, numbers)), (a.scaled(op, numbers.ravel()) for a in u.atoms))

    @property
    def parts(self) -> tuple[Affine, ...]:
        """All that is affine in it."""
        return (self.affine, *(a.q for a in self.atoms))

    def indices(self) -> tuple[Index, ...]:
        """The indices on which it depends."""
        return tuple(dict.fromkeys(i for part in self.parts for i in part.indices()))

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The parameters in it."""
        return tuple(dict.fromkeys(p for part in self.parts for p in part.parameters))

    def evaluated(self, at: Callable[[Affine], Any]) -> Any:
        """Its numbers, where those of what is affine are known: in its shape, after whatever axes these have first."""
        base = np.asarray(at(self.affine), dtype=float)
        lead = base.shape[: base.ndim - self.ndim]
        total = base.reshape(*lead, self.size).copy()
        for a in self.atoms:
            q = np.asarray(at(a.q), dtype=float)
            add_at(total, a.rows, a.signs * a.kind.value(np.broadcast_to(q, (*lead, *a.q.shape))))
        found = total.reshape((*lead, *self.shape))
        return found if found.shape else float(found)

    @legibly
    def __str__(self) -> str:
        return text(self)

    __repr__ = __str__

    def _repr_latex_(self) -> str:
        return f"${latex(self)}$"


Side: TypeAlias = Convex | Read  # an operand of a rule


def convex_rule(op: str, operands: tuple[Any, ...]) -> Convex | Affine:
    """Build an operation that is convex or concave in the variables, or refuse it where it is written."""
    if op not in _CONVEX:
        refuse_nested(f"np.{op}", operands)
    result = _CONVEX[op](*operands)
    result.origin = (op, *operands)
    return result


def refuse_nested(op: str, operands: tuple[Item, ...]) -> NoReturn:
    raise NotConvexError(
        f"{op}({', '.join(map(text, operands))}) is not known to be convex or concave in the variables. Absolute "
        "values, maxima, minima, norms and squares of what is affine may be added up and multiplied by numbers. A "
        "maximum of norms, squares or long sums is below a bound where each of them is: write a constraint each."
    )


def _spread(u: Convex, shape: tuple[int, ...]) -> Convex:
    """Repeated to a shape."""
    return u if u.shape == shape else u.gather(np.broadcast_to(np.arange(u.size).reshape(u.shape), shape))


def _together(a: Side, b: Side) -> tuple[int, ...]:
    """The shape of both, broadcast."""
    try:
        return np.broadcast_shapes(a.shape, b.shape)
    except ValueError:
        shapes = f"{a.shape} and {b.shape}"
        raise ModelError(f"Shapes {shapes} do not broadcast together in {text(a)}, {text(b)}.") from None


def add(left: Side, right: Side) -> Convex:
    a, b = Convex.of(left), Convex.of(right)
    total = linear_rule("add", (a.affine, b.affine))
    return Convex(total, (*_spread(a, total.shape).atoms, *_spread(b, total.shape).atoms))


def subtract(a: Side, b: Side) -> Convex:
    """a - b; numbers on the right may be infinite, as sides of comparisons are."""
    if isinstance(b, Convex):
        return add(a, negative(b))
    u = Convex.of(a)
    total = linear_rule("subtract", (u.affine, b))
    return Convex(total, _spread(u, total.shape).atoms)


def _multiply(a: Side, b: Side) -> Convex:
    u, factor = (a, b) if isinstance(a, Convex) else (Convex.of(b), a)
    return u.scaled("multiply", _factor(u, factor, "*"))


def _factor(u: Convex, factor: Side | Sparse, symbol: str) -> Array:
    """Numbers; an index or a variable as a factor has a sign that nobody knows."""
    if is_sparse(factor):
        return np.asarray(factor.toarray())
    known = factor if isinstance(factor, Convex | Affine) else as_expression(factor)
    if (value := _constant(known)) is not None:
        return value
    curve = "(np.sqrt({}) * …)**2" if any(isinstance(a.kind, SumOfSquares) for a in u.atoms) else "np.abs({} * …)"
    inside = f"write the factor inside, as in {curve.format(text(known))}"
    advice = inside if isinstance(known, Expression) else "use numbers"
    raise NotConvexError(
        f"({u}) {symbol} ({text(known)}) is convex only where the factor is nowhere negative: {advice}."
    )


def _constant(u: object) -> Array | None:
    """Numbers, wherever they have been moved; None for all else."""
    if isinstance(u, Gather):
        inner = _constant(u.args[0])
        return None if inner is None else inner.ravel()[u.index].reshape(u.shape)
    return u.value if isinstance(u, Constant) and not u.rounded else None


def _power(a: Side, b: Side) -> Convex:
    exponent = _constant(b) if isinstance(b, Expression) else b
    if not isinstance(exponent, np.ndarray) or exponent.size != 1 or exponent.ravel()[0] != 2:
        refuse_nested("np.power", (a, b))
    return square(a)


def square(u: Side) -> Convex:
    """u^2, element by element: of what is affine, an absolute value or a norm."""
    if isinstance(u, Convex):
        return _squared(u)
    q = Affine.of(u)
    return _alone(SumOfSquares(), q.gather(np.arange(q.size)[:, None]), q.shape)


def _squared(u: Convex) -> Convex:
    plain = not u.affine.terms and not u.affine.offset_matters
    if len(u.atoms) == 1 and plain and isinstance(u.atoms[0].kind, Magnitude | Euclidean):
        (atoms,) = u.atoms
        if len(np.unique(atoms.rows)) == len(atoms.rows):
            return Convex(u.affine, (replace(atoms, kind=SumOfSquares(), signs=np.ones(len(atoms.rows))),))
    refuse_nested("np.square", (u,))


def product(op: str, operands: tuple[object, ...]) -> Convex | None:
    """A product of two that have variables, where it is known to be a sum of squares; None elsewhere."""
    if op not in ("multiply", "matmul"):  # so that sums are not asked for their terms while they grow
        return None
    a, b = (u if isinstance(u, Affine) and u.terms else None for u in operands)
    if a is None or b is None:
        return None
    if alike(a, b):
        return square(a) if op == "multiply" else square(a).sum_last() if a.ndim == 1 else None
    if op != "matmul" or a.ndim != 1 or b.ndim != 1:
        return None
    for table, inner, outer in ((_operand(a, 2), _operand(a, 1), b), (_operand(b, 1), _operand(b, 2), a)):
        if table is not None and not isinstance(table, Affine) and alike(inner, outer):
            numbers = table.toarray() if is_sparse(table) else _constant(as_expression(table))
            return None if numbers is None else _form(outer, numbers)
    return None


def _operand(u: Affine, place: int) -> Any:
    """The first or the second operand of `@`, where that made it; None elsewhere."""
    return u.origin[place] if u.origin[:1] == ("matmul",) else None


def _form(x: Affine, matrix: Array) -> Convex:
    """x' P x."""
    sign, root_of = factor(matrix, f"{text(x)} @ P @ {text(x)}")
    if root_of is None:
        return Convex(Affine((), ()), ())
    found = square(linear_rule("matmul", (root_of, x))).sum_last()
    return found if sign > 0 else negative(found)


def _divide(a: Side, b: Side) -> Convex:
    if not isinstance(a, Convex):
        refuse_nested("np.divide", (a, b))
    divisor = _factor(a, b, "/")
    if (divisor == 0).any():
        raise ModelError(f"Division by zero in ({a}) / ({text(b)}).")
    return a.scaled("divide", divisor)


def _matmul(a: Side, b: Side) -> Convex:
    u = a if isinstance(a, Convex) else Convex.of(b)
    numbers = _factor(u, b if u is a else a, "@")
    if u.ndim != 1 or numbers.ndim not in (1, 2):
        raise ModelError(f"`@` of numbers and {u} takes a vector or a matrix of numbers, and a vector.")
    table = numbers if u is b else numbers.T
    if table.shape[-1] != u.size:
        raise ModelError(f"`@` needs matching inner sizes; got shapes {a.shape} and {b.shape}.")
    return u.scaled("multiply", table).sum_last()


def largest(u: Affine | Convex, op: str, *written: Item) -> Convex:
    """The largest over the last axis, for an operation on what was written."""
    body = Convex.of(u)
    if any((a.signs < 0).any() for a in body.atoms) or not few_directions(body):
        refuse_nested(f"np.{op}", written)
    rows, elements = rows_of(body)
    group = elements // u.shape[-1]
    order, counts = np.argsort(group, kind="stable"), np.bincount(group)
    # Where an element has fewer rows than another, its last one stands for the rest.
    places = np.minimum(np.arange(counts.max()), counts[:, None] - 1)
    index = (np.cumsum(counts) - counts)[:, None] + places
    return _alone(Largest(), rows.gather(order[index]), u.shape[:-1])


def _alone(kind: Directions, q: Affine, shape: tuple[int, ...]) -> Convex:
    """An array of support functions, and nothing else."""
    n = q.shape[0]
    return Convex(Affine(shape, ()), (Atoms(kind, q, np.arange(n), np.ones(n)),))


def absolute(u: Affine | Convex) -> Convex:
    """|u|, element by element."""
    if isinstance(u, Convex):
        refuse_nested("np.abs", (u,))
    return _alone(Magnitude(), u.gather(np.arange(u.size)[:, None]), u.shape)


def euclidean(u: Affine) -> Convex:
    """The norm over the last axis."""
    return _alone(Euclidean(), u.gather(np.arange(u.size).reshape(-1, u.shape[-1])), u.shape[:-1])


def _hypot(a: Side, b: Side) -> Convex:
    if isinstance(a, Convex) or isinstance(b, Convex):
        refuse_nested("np.hypot", (a, b))
    return euclidean(_stacked(a, b).affine)


def _maximum(a: Side, b: Side) -> Convex:
    return largest(_stacked(a, b), "maximum", a, b)


def _minimum(a: Side, b: Side) -> Convex:
    return negative(largest(negative(_stacked(a, b)), "minimum", a, b))


def _stacked(a: Side, b: Side) -> Convex:
    """Both, broadcast, along a last axis."""
    shape = _together(a, b)
    both = joined([_spread(Convex.of(v), shape) for v in (a, b)])
    return both.gather(np.moveaxis(np.arange(both.size).reshape(2, *shape), 0, -1))


def negative(u: Convex) -> Convex:
    return u.scaled("multiply", np.full(u.shape, -1.0))


def joined(parts: list[Convex]) -> Convex:
    """The flattened parts, one after another."""
    starts = np.cumsum([0] + [p.size for p in parts]).tolist()
    atoms = [replace(a, rows=a.rows + start) for p, start in zip(parts, starts, strict=False) for a in p.atoms]
    return Convex(Affine.join([p.affine for p in parts]), atoms)


_CONVEX: dict[str, Callable[..., Convex]] = {
    "add": add,
    "subtract": subtract,
    "negative": negative,
    "positive": lambda u: u.gather(np.arange(u.size).reshape(u.shape)),
    "multiply": _multiply,
    "divide": _divide,
    "matmul": _matmul,
    "absolute": absolute,
    "maximum": _maximum,
    "minimum": _minimum,
    "hypot": _hypot,
    "power": _power,
    "square": square,
}
CURVES = ("absolute", "maximum", "minimum", "hypot", "power", "square")  # what is affine becomes convex by these


def rows_of(u: Convex) -> tuple[Affine, Ints]:
    """Rows (R,) whose largest, among those of an element, is the element; and the elements."""
    rows, elements = u.affine.gather(np.arange(u.size)), np.arange(u.size)
    for a in u.atoms:
        weights, slot = a.kind.rows(a.q.shape[1]), a.slots(u.size)
        for j in range(int(slot.max()) + 1):
            entry = np.full(u.size, -1)
            entry[a.rows[slot == j]] = np.flatnonzero(slot == j)
            here = entry[elements] >= 0
            stay, more = np.flatnonzero(~here), np.repeat(np.flatnonzero(here), len(weights))
            part = a.chosen(more, np.repeat(entry[elements[here]], len(weights))).q
            table = np.tile(weights, (int(here.sum()), 1))
            added = linear_rule("add", (rows.gather(more), linear_rule("multiply", (part, table)).sum_last()))
            rows = Affine.join([rows.gather(stay), added])
            elements = np.concatenate([elements[stay], elements[more]])
    return rows, elements


def few_directions(u: Convex) -> bool:
    """Whether every element is the largest of not many rows: a maximum of any length is, and a short sum of others."""
    total, logarithm = np.zeros(u.size), np.zeros(u.size)
    for a in u.atoms:
        count = len(a.kind.rows(a.q.shape[1])) if a.kind.vertices else np.inf
        np.add.at(total, a.rows, count)
        np.add.at(logarithm, a.rows, np.log2(count))
    return bool((logarithm <= np.log2(np.maximum(total, TUNING.most_rows)) + 1e-9).all() and np.isfinite(total).all())
