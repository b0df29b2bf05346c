"""What objectives and constraints say, as plain data: affine arrays, and support functions of others (`atoms`).

    affine   shape, terms (variable, rows, columns; the step that makes their coefficients, and what rounding left of
             them), constants (rows, value, rest), and `varying`, the step of what depends on an index or a parameter
    convex   an affine array, and atoms: the kind of a support function, the array `of` whose rows it is taken, the
             elements `rows` to which they are added, and `signs`

The kinds are absolute, largest, euclidean (the norm), squares (their sum) and definite (the largest eigenvalue of a
square matrix).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isqrt, prod
from typing import Any

import numpy as np

from ..deadline import EFFORT
from ..expressions.affine import Affine, Term, Variable
from ..expressions.convex import Atoms, Convex
from ..expressions.directions import Definite, Directions, Euclidean, Largest, Magnitude
from ..expressions.graph import Constant, Expression
from ..expressions.limits import LIMITS
from ..expressions.serialize import Data, Writer
from ..expressions.squares import SumOfSquares
from ..expressions.sums import DoubleDouble, Scattered
from ..expressions.unparse import AffineEntry, ConvexEntry
from ..schema import Either, Schema, demand, missing, number, text, whole

INFINITE = {"inf": np.inf, "-inf": -np.inf}
KINDS: dict[str, type[Directions]] = {
    "absolute": Magnitude,
    "largest": Largest,
    "euclidean": Euclidean,
    "squares": SumOfSquares,
    "definite": Definite,
}


def infinite(value: object) -> bool:
    """An infinity, as a word."""
    return isinstance(value, str) and value in INFINITE


_REST: Schema = Either([number], missing)
AFFINE: dict[str, Schema] = {
    "shape": [whole],
    "terms": [{"variable": whole, "rows": [whole], "columns": [whole], "coefficient": whole, "rest": _REST}],
    "constants": [{"rows": [whole], "value": [Either(number, infinite)], "rest": _REST}],
    "varying": Either(whole, missing),
}
CONVEX: dict[str, Schema] = {
    "affine": AFFINE,
    "atoms": [{"kind": text, "of": AFFINE, "rows": [whole], "signs": [number]}],
}


class FormulaWriter:
    """Formulas as plain data; their coefficients go into the steps of a `Writer`."""

    def __init__(self, steps: Writer, variables: Sequence[Variable]) -> None:
        self.steps, self.place = steps, {v: i for i, v in enumerate(variables)}

    def affine(self, body: Affine, beside: int = 0) -> Data:
        """An affine array; so many entries are said `beside` it."""
        listed = sum(len(t.rows) for t in body.terms) + sum(len(c.rows) for c in body.constants) + beside
        _check_size(body.size, listed + (0 if body.varying is None else body.size))
        return {
            "shape": list(body.shape),
            "terms": [
                {
                    "variable": self.place[t.variable],
                    "rows": t.rows.tolist(),
                    "columns": t.columns.tolist(),
                    "coefficient": self.steps.place(t.coefficient),
                    "rest": None if t.rest is None else t.rest.ravel().tolist(),
                }
                for t in body.terms
            ],
            "constants": [
                {
                    "rows": c.rows.tolist(),
                    "value": [str(v) if np.isinf(v) else v for v in c.numbers.value.ravel().tolist()],
                    "rest": None if c.numbers.rest is None else c.numbers.rest.ravel().tolist(),
                }
                for c in body.constants
            ],
            "varying": None if body.varying is None else self.steps.place(body.varying),
        }

    def convex(self, body: Convex) -> Data:
        """A convex or concave one."""
        words = {kind: word for word, kind in KINDS.items()}
        return {
            "affine": self.affine(body.affine, sum(len(a.rows) for a in body.atoms)),
            "atoms": [
                {
                    "kind": words[type(a.kind)],
                    "of": self.affine(a.q),
                    "rows": a.rows.tolist(),
                    "signs": a.signs.tolist(),
                }
                for a in body.atoms
            ],
        }


class FormulaReader:
    """The same formulas again, of these variables, with these steps; how many numbers all may have is counted."""

    def __init__(self, variables: Sequence[Variable], steps: Sequence[Expression]) -> None:
        self.variables, self.steps, self.numbers = variables, steps, 0

    def affine(self, data: Data, beside: int = 0) -> Affine:
        """An affine array; so many entries are said `beside` it."""
        shape, varying = tuple(data["shape"]), data["varying"]
        listed = sum(len(part["rows"]) for part in (*data["terms"], *data["constants"])) + beside
        if varying is None:  # else a step makes so many numbers
            _check_size(prod(shape), listed)
        self.numbers += prod(shape)
        demand(self.numbers <= LIMITS.most_numbers, "its arrays are too large for a file.")
        demand(varying is None or varying < len(self.steps), "a formula is made by no step.")
        terms = tuple(self._term(t, prod(shape)) for t in data["terms"])
        constants = tuple(_constants(c, prod(shape)) for c in data["constants"])
        offset = None if varying is None else self.steps[varying]
        demand(offset is None or offset.shape == shape, "a formula has another shape than what it is part of.")
        body = Affine(shape, terms, offset, constants)
        body.origin = AffineEntry.typed(body)
        return body

    def _term(self, t: Data, size: int) -> Term:
        known = t["variable"] < len(self.variables) and t["coefficient"] < len(self.steps)
        demand(known, "a term has no variable, or no step.")
        variable, coefficient = self.variables[t["variable"]], self.steps[t["coefficient"]]
        fits = len(t["rows"]) == len(t["columns"]) == coefficient.size and coefficient.shape == (coefficient.size,)
        demand(fits and (t["rest"] is None or len(t["rest"]) == coefficient.size), "a term has parts of other lengths.")
        exact = isinstance(coefficient, Constant) and not coefficient.rounded
        demand(t["rest"] is None or exact, "only numbers have a rest.")
        return Term(
            variable, _places(t["rows"], size), _places(t["columns"], variable.size), coefficient, _rest(t["rest"])
        )

    def convex(self, data: Data) -> Convex:
        """A convex or concave one."""
        affine = self.affine(data["affine"], sum(len(a["rows"]) for a in data["atoms"]))
        body = Convex(affine, [self._atoms(a, affine.size) for a in data["atoms"]])
        body.origin = ConvexEntry.typed(body)
        return body

    def _atoms(self, data: Data, size: int) -> Atoms:
        kind, of, signs = data["kind"], self.affine(data["of"]), np.array(data["signs"], dtype=float)
        demand(kind in KINDS, f"{kind} is no kind of convex function that is known here.")
        fits = len(of.shape) == 2 and of.shape[0] == len(data["rows"]) == len(signs) and of.shape[1]
        demand(fits and (np.abs(signs) == 1).all(), "a convex part has parts of other lengths, or signs that are none.")
        width = of.shape[1]
        demand(kind != "absolute" or width == 1, "an absolute value is that of one number.")
        square = isqrt(width) ** 2 == width <= EFFORT.entries
        demand(kind != "definite" or square, f"a matrix is square, with {EFFORT.entries} entries at most.")
        finite = all(np.isfinite(c.numbers.value).all() for c in of.constants)
        demand(finite, "a convex part is of something infinite.")
        return Atoms(KINDS[kind](), of, _places(data["rows"], size), signs)


def _check_size(size: int, listed: int) -> None:
    """Refuse arrays nearly all of whose elements nothing is said about: a few words could ask for any memory."""
    demand(size <= 2 * listed + LIMITS.most_unlisted, f"an array has {size} elements, and only {listed} entries.")


def _constants(data: Data, size: int) -> Scattered:
    value = np.array([INFINITE[v] if isinstance(v, str) else v for v in data["value"]], dtype=float)
    fits = len(data["rows"]) == len(value) and (data["rest"] is None or len(data["rest"]) == len(value))
    demand(fits, "constants have parts of other lengths.")
    return Scattered(_places(data["rows"], size), DoubleDouble(value, _rest(data["rest"])))


def _places(values: list[int], end: int) -> Any:
    demand(all(v < end for v in values), "a place is outside of its array.")
    return np.array(values, dtype=np.intp)


def _rest(values: list[float] | None) -> Any:
    return None if values is None else np.array(values, dtype=float)
