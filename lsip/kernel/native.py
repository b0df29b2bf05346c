"""The compiled kernel as Python sees it: tapes of instructions, and their enclosures over boxes.

It is one shared library without a line of Python in it, called through `ctypes`, which lets go of the interpreter's
lock meanwhile. Where it was not built, does not load, or fails its own test, there is none, and NumPy does the work.
`LSIP_KERNEL` chooses: `numpy` for none, `portable` for one without AVX2.
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple
from weakref import ref

import numpy as np
from numpy.typing import NDArray

VERSION = 7
FIELDS = (
    "op",
    "size",
    "depth",
    "arguments",
    "args",
    "function",
    "offset",
    "width",
    "degree",
    "kink",
    "data",
    "numbers",
)
OPS = (
    "constant", "index", "negate", "add", "multiply", "divide", "gather", "join", "sum", "linear", "power", "apply",
    "absolute", "maximum", "monomials",
)  # fmt: skip
FUNCTIONS = ("exp", "log", "sin", "cos", "tan", "sqrt", "reciprocal", "square")
MOST_DIMENSIONS = 12
FULL, DUE, LATE = 2, 3, 4  # how a search ends, of what `search.cpp` knows


@dataclass(frozen=True)
class KernelTuning:
    """How work is shared.

    Parameters
    ----------
    share
        Bytes of results that a thread is worth: a millisecond or two of work, where starting one takes 0.05.
    """

    share: float = 2e7


TUNING = KernelTuning()

Array = NDArray[np.float64]


class Kernel(NamedTuple):
    """The library, which engine it uses, and why there is none."""

    library: Any
    engine: str
    reason: str = ""


_loaded: list[Kernel] = []  # as a module is: once


def kernel() -> Kernel:
    """The kernel that is in use; one without a library if there is none, and why."""
    if not _loaded:
        _loaded.append(_load())
    return _loaded[0]


def _load() -> Kernel:
    wanted = os.environ.get("LSIP_KERNEL", "")
    if wanted == "numpy":
        return Kernel(None, "numpy", "LSIP_KERNEL=numpy asks for NumPy")
    found = importlib.util.find_spec("lsip.kernel._native")
    if found is None or found.origin is None:
        return Kernel(None, "numpy", "it was not built; a C++ compiler builds it when lsip is installed")
    try:
        library = ctypes.CDLL(found.origin)
        version = library.lsip_kernel_version()
    except (OSError, AttributeError) as error:
        return Kernel(None, "numpy", f"it does not load: {error}")
    if version != VERSION:
        return Kernel(None, "numpy", f"it is of version {version}, and {VERSION} is needed; install lsip again")
    _declare(library)
    engine = "AVX2" if library.lsip_kernel_choose(wanted != "portable") else "portable"
    if not _rounds_outward(library):
        return Kernel(None, "numpy", "it does not round outward on this machine")
    return Kernel(library, engine)


_reference: ContextVar[bool] = ContextVar("reference", default=False)


@contextmanager
def by_reference(wanted: bool = True) -> Iterator[None]:
    """While this lasts, NumPy does all enclosures: what the kernel found is proven again without it; or not, within."""
    token = _reference.set(wanted)
    try:
        yield
    finally:
        _reference.reset(token)


def in_use() -> bool:
    """Whether enclosures are left to the kernel here and now."""
    return not _reference.get() and kernel().library is not None


@cache
def cores() -> int:
    """Threads for large batches: as many as `LSIP_THREADS` says, or as there are cores for this process."""
    given = os.environ.get("LSIP_THREADS", "")
    if given.isdigit() and int(given) > 0:
        return int(given)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _declare(library: Any) -> None:
    """The types of arguments; what takes many of them is given a structure with named fields."""
    pointer, whole, double = ctypes.c_void_p, ctypes.c_int64, ctypes.c_double
    declared: dict[str, tuple[Any, list[Any]]] = {
        "tape_new": (pointer, [pointer]),
        "tape_free": (None, [pointer]),
        "tape_bytes": (double, [pointer, whole]),
        "quadratics": (ctypes.c_int, [pointer, pointer]),
        "points": (ctypes.c_int, [pointer, whole, whole, pointer, pointer, whole]),
        "bound": (None, [whole, whole, whole, pointer, pointer, pointer]),
        "layout": (None, [pointer]),
        "distinct": (whole, [whole, whole, pointer, pointer, pointer, whole, pointer]),
        "function": (None, [whole, double, whole, pointer, pointer, pointer]),
        "search": (ctypes.c_int, [pointer, pointer]),
    }
    for name, (result, arguments) in declared.items():
        function = getattr(library, f"lsip_{name}")
        function.restype, function.argtypes = result, arguments


def _rounds_outward(library: Any) -> bool:
    """Whether the compiler and the processor did as they were told: 1 / 3 and its square lie strictly between."""
    x, low, high = np.array([3.0]), np.zeros(1), np.zeros(1)
    inside = []
    for function, exponent in ((FUNCTIONS.index("reciprocal"), 0.0), (-1, -2.0), (FUNCTIONS.index("exp"), 0.0)):
        library.lsip_function(function, exponent, 1, _at(x), _at(low), _at(high))
        inside.append(low[0] < high[0])
    return all(inside) and 1.0 / 3.0 * 3.0 == 1.0  # and everything is as it was


def _at(array: NDArray[Any] | None) -> int | None:
    return None if array is None else int(array.__array_interface__["data"][0])


def values(function: str | float, x: Array) -> tuple[Array, Array]:
    """Enclosures of a function, or of a power with that exponent, at points; for tests."""
    x = np.ascontiguousarray(x, dtype=float)
    low, high = np.empty_like(x), np.empty_like(x)
    number, exponent = (FUNCTIONS.index(function), 0.0) if isinstance(function, str) else (-1, float(function))
    kernel().library.lsip_function(number, exponent, x.size, _at(x), _at(low), _at(high))
    return low, high


_held: dict[ref[NativeTape], tuple[Any, int]] = {}  # tapes in the library's memory
_gone: list[ref[NativeTape]] = []  # whose Python half is gone: no code of Python runs then (see lsip.lifetime)


def _free() -> None:
    with suppress(IndexError):
        while True:
            library, tape = _held.pop(_gone.pop())
            library.lsip_tape_free(tape)


class NativeTape:
    """A tape of instructions in the library's memory."""

    def __init__(
        self, dim: int, output: int, fields: NDArray[np.int32], whole: NDArray[np.int32], real: Array,
        kink_arguments: NDArray[np.int32], sizes: tuple[int, int],
    ) -> None:  # fmt: skip
        _free()
        self._library = kernel().library
        self.dim, (self.outputs, self.kinks) = dim, sizes
        parts: list[NDArray[Any]] = [fields, whole, real, kink_arguments]
        call = TapeCall(dim, output, self.kinks, *map(len, parts), *map(_at, parts))
        self._tape = self._library.lsip_tape_new(ctypes.byref(call))
        if not self._tape:
            raise ValueError("The kernel does not take this tape.")
        _held[ref(self, _gone.append)] = self._library, self._tape
        self._bytes = [float(self._library.lsip_tape_bytes(self._tape, order)) for order in range(4)]

    def _threads(self, boxes: int, order: int) -> int:
        """One for every share of the work that takes much longer than starting a thread does."""
        work = boxes * self._bytes[order]
        return int(min(max(work / TUNING.share, 1.0), cores()))

    def quadratics(
        self, lower: Array, upper: Array, pieces: NDArray[np.int8] | None, order: int
    ) -> tuple[list[Array], list[Array], NDArray[np.bool_] | None]:
        """Polynomials around the outputs and around the arguments of kinks, and which kinks straddle nought."""
        n, m = lower.shape
        second = m * (m + 1) // 2
        ends = np.cumsum([1, m, second, second * (m + 2) // 3 if order == 3 else 0])
        outputs, sides = (
            (np.zeros((n, ends[-1], count)), np.zeros((n, m, count)), np.zeros((n, count)))
            for count in (self.outputs, self.kinks)
        )
        straddles = np.zeros((n, self.kinks), dtype=bool) if self.kinks else None
        lower, upper = np.ascontiguousarray(lower), np.ascontiguousarray(upper)
        pieces = None if pieces is None else np.ascontiguousarray(pieces)
        given: list[NDArray[Any] | None] = [lower, upper, pieces, straddles, *outputs, *sides]
        call = QuadraticsCall(order, n, self._threads(n, order), *map(_at, given))
        if self._library.lsip_quadratics(self._tape, ctypes.byref(call)):
            raise MemoryError("The kernel has no memory for its results.")
        return _parts(*outputs, ends), _parts(*sides, ends), straddles

    def points(self, y: Array, order: int, levels: int = 1) -> Array:
        """Values and derivatives of the outputs at points (N, m): (levels, N, outputs), zeros beyond `order`."""
        n, y = len(y), np.ascontiguousarray(y, dtype=float)
        out = np.zeros((levels, n, self.outputs))
        if self._library.lsip_points(self._tape, order, n, _at(y), _at(out), self._threads(n, order)):
            raise MemoryError("The kernel has no memory for its results.")
        return out

    def search(
        self,
        order: int,
        leaves: Leaves,
        known: tuple[int, int],
        rows: Weights,
        goals: tuple[float, float],
        effort: SearchLimits,
    ) -> Searched:
        """Split those of the first boxes whose bounds exceed the first of the `goals`, the largest ones first.

        There are `known[0]` boxes, of which all from `known[1]` on are bounded before. It ends where none is left, a
        point above the second goal is found, derivatives are unbounded, or there is no room or time.
        """
        threads = self._threads(max(effort.batch << effort.halvings, known[0] - known[1]), order)
        p, width = rows.weights.shape
        given = [None if part is None else np.ascontiguousarray(part) for part in rows[:4]]
        call = SearchCall(
            order, p, width, *known, len(leaves.lower), effort.batch, effort.most, effort.halvings, threads,
            *goals, rows.rounding, effort.seconds, *(_at(part) for part in (*given, *leaves)),
        )  # fmt: skip
        ended = self._library.lsip_search(self._tape, ctypes.byref(call))
        if ended < 0:
            raise MemoryError("The kernel has no memory for its results.")
        return Searched(call.boxes, call.enclosed, call.split, ended == FULL, ended in (DUE, LATE))


def _fields(kind: object, names: str) -> tuple[tuple[str, Any], ...]:
    return tuple((name, kind) for name in names.split())


class TapeCall(ctypes.Structure):
    """What `lsip_tape_new` is given; all such structures are field by field as in C++."""

    _fields_ = (
        *_fields(ctypes.c_int64, "dim output kinks nodes integers numbers arguments"),
        *_fields(ctypes.c_void_p, "fields whole real kink_arguments"),
    )


class QuadraticsCall(ctypes.Structure):
    """What `lsip_quadratics` is given."""

    _fields_ = (
        *_fields(ctypes.c_int64, "order count threads"),
        *_fields(ctypes.c_void_p, "lower upper pieces straddles table rough error side_table side_rough side_error"),
    )


class LayoutCall(ctypes.Structure):
    """What `lsip_layout` is given."""

    _fields_ = (
        *_fields(ctypes.c_int64, "n p width levels"),
        ("rounding", ctypes.c_double),
        ("parts", ctypes.c_void_p * 4),
        ("shapes", ctypes.c_int64 * 3 * 4),
        *_fields(ctypes.c_void_p, "error table errors"),
    )


class SearchCall(ctypes.Structure):
    """What `lsip_search` is given, and tells afterwards."""

    _fields_ = (
        *_fields(ctypes.c_int64, "order components width boxes known capacity batch most halvings threads"),
        *_fields(ctypes.c_double, "goal alert rounding seconds"),
        *_fields(ctypes.c_void_p, "weights spread lost scale lower upper pays rough bound points model touched"),
        *_fields(ctypes.c_int64, "enclosed split"),
    )


class Leaves(NamedTuple):
    """Boxes without their enclosures, in arrays that have room for more."""

    lower: Array  # (room, m)
    upper: Array
    pays: Array  # (room, m), along which axes splitting pays
    rough: Array  # (room, m), how wild rows are along each axis: nought where derivatives are bounded
    bound: Array  # (room, p)
    points: Array  # (room, p, m), where rows may be as large
    model: Array  # (room, p), what they are there, about
    touched: NDArray[np.uint8]  # (room,), whether a box is new


class SearchLimits(NamedTuple):
    """How far a search goes in one call."""

    batch: int  # boxes that are split at once; nought if boxes are only to be bounded
    most: int  # boxes to be enclosed
    halvings: int
    seconds: float


class Searched(NamedTuple):
    """What a search did: boxes in the end, those enclosed and split on the way, and how it ended."""

    boxes: int
    enclosed: int
    split: int
    full: bool  # for want of room
    due: bool  # since so many were enclosed, or for want of time


class Weights(NamedTuple):
    """With what rows (p, K + 1) are multiplied."""

    weights: Array  # (p, K + 1)
    spread: Array | None  # by how much each may differ
    lost: Array  # (p,), more than what underflows
    scale: Array  # (m,), how wide boxes may be
    rounding: float  # of a product with weights, relative to its terms


def _parts(table: Array, rough: Array, error: Array, ends: NDArray[np.intp]) -> list[Array]:
    """Values, gradients, second and third derivatives (levels, N, K), roughness and errors, as views."""
    levels = table.transpose(1, 0, 2)
    orders = [levels[a:b] for a, b in pairwise(ends)]
    return [levels[0], *orders, rough.transpose(1, 0, 2), error]


def bound(table: Array, m: int) -> tuple[Array, Array]:
    """Upper bounds (M,) of quadratics (M, levels) over the cube, and the points (M, m) behind them."""
    table = np.ascontiguousarray(table)
    bounds, points = np.empty(len(table)), np.empty((len(table), m))
    kernel().library.lsip_bound(m, len(table), table.shape[1], _at(table), _at(bounds), _at(points))
    return bounds, points


def layout(parts: list[Array], error: Array, p: int, width: int, rounding: float) -> tuple[Array, Array]:
    """Coefficients (n, p, levels, width) and errors (n, p, width) from polynomials, level by level (levels, n, K)."""
    parts = [part if part.strides[2] == part.itemsize else np.ascontiguousarray(part) for part in parts]
    error = np.ascontiguousarray(error)
    shapes = [(len(part), *(s // part.itemsize for s in part.strides[:2])) for part in parts]
    n, levels = len(error), sum(map(len, parts))
    table, errors = np.empty((n, p, levels, width)), np.empty((n, p, width))
    call = LayoutCall(
        n, p, width, levels, rounding, tuple(map(_at, parts)), tuple(shapes), _at(error), _at(table), _at(errors)
    )
    kernel().library.lsip_layout(ctypes.byref(call))
    return table, errors


def distinct(points: Array, components: NDArray[np.intp], reach: Array, limit: int) -> NDArray[np.intp]:
    """The places of points, the first ones first, that no earlier one of their component lies within `reach` of."""
    points, reach = np.ascontiguousarray(points), np.ascontiguousarray(reach)
    components = np.ascontiguousarray(components, dtype=np.int64)
    taken = np.empty(min(limit, len(points)), dtype=np.int64)
    found = kernel().library.lsip_distinct(
        len(points), points.shape[1], _at(points), _at(components), _at(reach), len(taken), _at(taken)
    )
    return taken[:found].astype(np.intp)
