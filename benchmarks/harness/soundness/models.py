"""A linear semi-infinite program as plain data, together with what is known about it beforehand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from .balls import Point
from .formulas import Formula
from .sets import IndexSet

Vector = tuple[float, ...]


@dataclass(frozen=True)
class Family:
    """a(y) x <= b(y) for all y of an index set, or >= when `above`."""

    over: IndexSet
    a: tuple[Formula, ...]  # one a variable
    b: Formula
    above: bool = False


@dataclass(frozen=True)
class Row:
    """A finite constraint on all variables: a x <= b, a x >= b or a x == b."""

    a: Vector
    sense: str
    b: float


@dataclass(frozen=True)
class Cone:
    """scale |x[0:size]| <= right, in the Euclidean norm."""

    size: int
    scale: float
    right: float


@dataclass(frozen=True)
class Atom:
    """A constraint with a weight: a finite row, or a family at one of its index points."""

    index: int  # of the row or the family
    point: Point | None  # None for a finite row
    weight: float  # of a x <= b, and of a x >= b turned into such; either sign for an equality


@dataclass(frozen=True)
class Truth:
    """What is known, all of it proven in fractions or balls, in the sense of the objective as it is written.

    A model may be known to have a feasible point, in which case INFEASIBLE is false; to have none; or to have one and a
    direction in which its objective improves for ever. The optimum lies between `least` and `most`.
    """

    feasible: bool | None = None
    unbounded: bool = False
    least: Fraction | None = None
    most: Fraction | None = None
    on_trust: bool = False  # nothing but another's word speaks for an answer: it must not be called certified
    meaningless: bool = False  # no answer can be right, since the model says nothing: lsip has to refuse it


@dataclass(frozen=True)
class Model:
    """Minimise, or maximise, c x + constant subject to bounds, finite rows and families."""

    c: Vector
    lower: Vector
    upper: Vector
    families: tuple[Family, ...]
    rows: tuple[Row, ...] = ()
    constant: float = 0.0
    maximise: bool = False
    cone: Cone | None = None
    tol: float = 1e-8
    atoms: tuple[Atom, ...] = ()  # where the generator expects the optimum to be held
    truth: Truth = Truth()
    point: Point = ()  # a feasible point that is known exactly
    probe: Vector = ()  # a point whose largest violation lsip is asked to bound, beside the solve
    door: str = "declared"  # how it is written: see `doors`
    written: Callable[..., Any] | None = None  # builds what is handed to lsip, where the door has no general rule
    duals: bool = False  # whether multipliers are judged as users see them
    limit: Callable[[int, Vector, str], tuple[list[Fraction], Fraction]] | None = None  # a family's rows at infinity

    @property
    def n(self) -> int:
        """The number of variables."""
        return len(self.c)

    @property
    def sign(self) -> int:
        """What the objective is multiplied by, so that it is minimised."""
        return -1 if self.maximise else 1

    def objective(self, x: Point) -> Fraction:
        """The objective at an exact point."""
        return sum((Fraction(c) * v for c, v in zip(self.c, x, strict=True)), Fraction(self.constant))
