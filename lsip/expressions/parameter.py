"""Parameters: numbers of a model that may change between two solves, without anything being compiled again."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from itertools import count
from typing import ClassVar, NoReturn, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..errors import ConversionError, ModelError
from ..html import card, table
from ..schema import whole
from ..validation import Array, Data, kept, numbers, shape_of, shown, title
from .arrangements import Gather, Join
from .graph import Expression, Fields, Part, element_of
from .printing import Origin, text

_NUMBER = count()


class Parameter(Expression):
    """A number or array in a model that can change between solves: assign `value`, and solve again.

    Parameters
    ----------
    shape
        Nothing or () for a scalar, n for a vector, a tuple for an array.
    name
        How it prints.
    value
        Finite numbers that broadcast to that shape; they may be given later, before a solve.

    Examples
    --------
    >>> import numpy as np, lsip
    >>> x, t = lsip.Variable(2, name="x"), lsip.Index("t", lsip.Interval(0, 1))
    >>> p = lsip.Parameter(name="p", value=1)
    >>> problem = lsip.Problem(lsip.minimize(x[0] + x[1] / 2), [lsip.forall(t, x[0] + x[1] * t >= np.exp(p * t))])
    >>> round(problem.solve(verbose=False).value, 6)
    1.859141
    >>> p.value = 2
    >>> round(problem.solve(verbose=False).value, 6)
    4.194528
    """

    op = "parameter"
    schema: ClassVar[Fields] = {"parameter": whole}
    hint = "Assign its `value`."

    def __init__(
        self, shape: int | tuple[int, ...] = (), *, name: str | None = None, value: Data | None = None
    ) -> None:
        self.shape = shape_of(shape, "A parameter")
        self.name = title("a parameter", name) if name is not None else f"p{next(_NUMBER)}"
        self._value: Array | None = None
        self.origin = ("name", self.name)
        if value is not None:
            self.value = value

    def _repr_html_(self) -> str:
        value = "none yet" if self._value is None else text(self._value)
        return card(f"parameter {self.name}", "", table((), [("shape", self.shape), ("value", value)]))

    @property
    def value(self) -> Array | float | None:
        """The numbers, in its shape; None until some are given."""
        return float(self._value) if self._value is not None and not self.shape else self._value

    @value.setter
    def value(self, value: Data) -> None:
        object.__setattr__(self, "_value", self._read(value))

    def __setattr__(self, name: str, value: object) -> None:
        if name == "value":
            object.__setattr__(self, name, value)
        else:
            super().__setattr__(name, value)

    def _read(self, value: Data) -> Array:
        given = numbers(value, f"`value` of {self.name}", nan=True)
        try:
            found = np.broadcast_to(given, self.shape)
        except ValueError:
            raise ModelError(f"`value` of {self.name} must broadcast to {self.shape}; got {given.shape}.") from None
        if not np.isfinite(found).all():
            raise ModelError(f"`value` of {self.name} must be finite; got {shown(value)}.")
        return kept(found)

    def _no_number(self, *_: object) -> NoReturn:
        raise ConversionError(f"Numbers are needed here, and {self} is a parameter: write {self}.value.")

    def key(self) -> None:
        return None

    def typed(self, k: int, part: Part) -> Origin:
        return element_of(self, k)


Values: TypeAlias = Mapping[Parameter, Array]


def current(parameters: Iterable[Parameter]) -> dict[Parameter, Array]:
    """The values that parameters have now; a ModelError says which has none."""
    found = {}
    for p in parameters:
        if p._value is None:
            raise ModelError(f"The parameter {p.name} has no value: assign one, {p.name}.value = …, and solve then.")
        found[p] = p._value
    return found


def parameters_in(*expressions: Expression) -> tuple[Parameter, ...]:
    """The parameters that expressions depend on, in order of appearance."""
    return tuple(dict.fromkeys(node for e in expressions for node in e.nodes() if isinstance(node, Parameter)))


def depending(e: Expression, parameters: Collection[Parameter]) -> NDArray[np.bool_]:
    """Which elements of an expression, flat, depend on some of the parameters, as far as rearrangements show it."""
    if isinstance(e, Gather):
        return depending(e.args[0], parameters)[e.index]
    if isinstance(e, Join):
        return np.concatenate([depending(part, parameters) for part in e.args])
    return np.full(e.size, any(node in parameters for node in e.nodes() if isinstance(node, Parameter)))
