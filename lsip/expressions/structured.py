"""Variables with a structure: symmetric matrices, by one triangle, and complex arrays, by their parts."""

from __future__ import annotations

import numpy as np

from ..errors import ModelError
from ..validation import Array, numbers, shape_of, shown, title
from .affine import STRUCTURED, Affine, Term, Variable
from .complex_arrays import ComplexArray
from .graph import Constant


class Triangle(Variable):
    """The upper triangle of a symmetric matrix, row by row: what is decided of it."""

    def __init__(self, order: int, **options: object) -> None:
        self.order = order
        super().__init__(order * (order + 1) // 2, **options)  # type: ignore[call-overload]

    def element(self, i: int) -> str:
        row, column = (part[i] for part in np.triu_indices(self.order))
        return f"{self.name}[{row}, {column}]"

    @property
    def rule(self) -> SymmetricMatrix:
        """The matrix, as solutions give it by its name."""
        return SymmetricMatrix(self)


class SymmetricMatrix(Affine):
    """A symmetric matrix of variables; `triangle` is the variable of the problem."""

    hint = "Constraints can be written, as in X >= 0."

    def __init__(self, triangle: Triangle) -> None:
        k = triangle.order
        places = np.zeros((k, k), dtype=np.intp)
        places[np.triu_indices(k)] = np.arange(triangle.size)
        columns = np.where(np.tri(k, dtype=bool), places.T, places).ravel()
        term = Term(triangle, np.arange(k * k), columns, Constant(np.ones(k * k)))
        self.triangle, self.name = triangle, triangle.name
        super().__init__((k, k), (term,))
        self.origin = ("name", self.name)

    @property
    def value(self) -> Array | None:
        """What the last solution of a problem has for it; None without one."""
        found = self.triangle.value
        return None if found is None else np.asarray(self.at({self.triangle: found}))


def symmetric(shape: object = (), *, lower: object = -np.inf, upper: object = np.inf, **options: bool) -> Affine:
    """A symmetric matrix of variables."""
    found = shape_of(shape, "A variable")
    if len(found) != 2 or found[0] != found[1]:
        raise ModelError(
            f"A symmetric variable is a square matrix, as lsip.Variable((3, 3), symmetric=True); got {shown(shape)}."
        )
    ends = {word: _triangle(word, end, found) for word, end in (("lower", lower), ("upper", upper))}
    return SymmetricMatrix(Triangle(found[0], **ends, **options))


def _triangle(word: str, end: object, shape: tuple[int, ...]) -> Array:
    """Bounds of a symmetric matrix as those of its upper triangle."""
    try:
        full = np.broadcast_to(numbers(end, f"`{word}`", nan=True), shape)
    except ValueError:
        full = np.zeros(0)
    if full.shape != shape or not np.array_equal(full, full.T, equal_nan=True):
        raise ModelError(
            f"`{word}` of a symmetric variable is a number, or a symmetric array of shape {shape}; got {shown(end)}."
        )
    return np.asarray(full[np.triu_indices(shape[0])])


def complex_variable(shape: int | tuple[int, ...] = (), *, name: str | None = None, **options: object) -> ComplexArray:
    """A complex variable: `real` and `imag` are variables of the problem."""
    if options:
        raise ModelError(
            f"A complex variable has a shape and a name; got {', '.join(options)}.\nWrite constraints, such as "
            "abs(w) <= 1 or w.real >= 0."
        )
    stem = Variable().name if name is None else title("a variable", name)
    real, imag = (Variable(shape, name=f"{stem}.{part}") for part in ("real", "imag"))
    return ComplexArray(real, imag)


STRUCTURED.update({"symmetric": symmetric, "complex": complex_variable})
