"""Arguments that are wrong: of another type, shape or size, not a number, text, iterators, arrays of odd kinds."""

from __future__ import annotations

import random
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

import lsip


class Odd:
    """An object that raises at whatever it is asked for."""

    def __repr__(self) -> str:
        raise RuntimeError("no words")

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise RuntimeError("no array")

    def __len__(self) -> int:
        raise RuntimeError("no length")

    def __float__(self) -> float:
        raise RuntimeError("no number")

    def __bool__(self) -> bool:
        raise RuntimeError("no truth")


class Labelled(np.ndarray):
    """A kind of array."""


def nested(depth: int) -> list[Any]:
    """Lists in lists."""
    found: list[Any] = []
    for _ in range(depth):
        found = [found]
    return found


ANYTHING: dict[str, Callable[[], Any]] = {
    "None": lambda: None,
    "True": lambda: True,
    "np.bool_": lambda: np.bool_(False),
    "nan": lambda: float("nan"),
    "inf": lambda: float("inf"),
    "-inf": lambda: float("-inf"),
    "0": lambda: 0,
    "-1": lambda: -1,
    "0.5": lambda: 0.5,
    "-0.0": lambda: -0.0,
    "1e308": lambda: 1e308,
    "5e-324": lambda: 5e-324,
    "2**63": lambda: 2**63,
    "-2**63": lambda: -(2**63),
    "10**400": lambda: 10**400,
    "complex": lambda: 1 + 2j,
    "Fraction": lambda: Fraction(1, 3),
    "Decimal": lambda: Decimal("0.1"),
    "np.float32": lambda: np.float32(0.1),
    "np.longdouble": lambda: np.longdouble(1) / 3,
    "np.int8": lambda: np.int8(-3),
    "np.uint64": lambda: np.uint64(2**64 - 1),
    "text": lambda: "abc",
    "number as text": lambda: "1",
    "empty text": lambda: "",
    "NUL": lambda: "a\0b",
    "long text": lambda: "x" * 100_000,
    "surrogate": lambda: "\udc80",
    "bytes": lambda: b"abc",
    "bytearray": lambda: bytearray(b"1"),
    "memoryview": lambda: memoryview(b"123"),
    "date": lambda: np.datetime64("2020-01-01"),
    "duration": lambda: np.timedelta64(1, "s"),
    "[]": list,
    "()": lambda: (),
    "{}": dict,
    "set": lambda: {1.0, 2.0},
    "dict": lambda: {"a": 1},
    "ragged": lambda: [[1, 2], [3]],
    "list with None": lambda: [1.0, None],
    "list of text": lambda: ["a", "b"],
    "nested": lambda: nested(50),
    "deep": lambda: nested(3000),
    "iterator": lambda: iter([1.0, 2.0]),
    "generator": lambda: (v for v in [0.1, 0.2]),
    "range": lambda: range(3),
    "endless range": lambda: range(10**15),
    "slice": lambda: slice(None),
    "ellipsis": lambda: ...,
    "NotImplemented": lambda: NotImplemented,
    "a class": lambda: int,
    "our class": lambda: lsip.Box,
    "a module": lambda: np,
    "a function of one": lambda: lambda v: v,
    "a function of nothing": lambda: lambda: None,
    "a function to None": lambda: lambda *a, **k: None,
    "a function to nan": lambda: lambda *a, **k: np.nan,
    "a function to text": lambda: lambda *a, **k: "abc",
    "an object": object,
    "an odd object": Odd,
    "a path": lambda: Path("/nowhere/at/all"),
    "a folder": lambda: Path("/"),
    "0-d": lambda: np.array(1.0),
    "empty": lambda: np.zeros(0),
    "empty (0, 2)": lambda: np.zeros((0, 2)),
    "empty (2, 0)": lambda: np.zeros((2, 0)),
    "nan array": lambda: np.full(2, np.nan),
    "inf array": lambda: np.full((2, 2), np.inf),
    "5 axes": lambda: np.ones((1, 2, 1, 2, 1)),
    "huge view": lambda: np.broadcast_to(1.0, (10**6, 10**6)),
    "matrix": lambda: np.matrix([[1.0, 2.0], [3.0, 4.0]]),
    "row matrix": lambda: np.matrix([1.0, 2.0]),
    "masked": lambda: np.ma.masked_array([1.0, 2.0], [True, False]),
    "subclass": lambda: np.ones((2, 2)).view(Labelled),
    "read-only": lambda: np.broadcast_to(np.ones(2), (2, 2)),
    "object array": lambda: np.array([1, "a", None], dtype=object),
    "text array": lambda: np.array(["a", "b"]),
    "bool array": lambda: np.array([True, False]),
    "complex array": lambda: np.array([1j, 2.0]),
    "float16": lambda: np.ones(2, dtype=np.float16),
    "big-endian": lambda: np.ones(2, dtype=">f8"),
    "records": lambda: np.zeros(2, dtype=[("a", float), ("b", int)]),
    "dates": lambda: np.array(["2020-01-01", "2021-01-01"], dtype="M8[D]"),
    "strided": lambda: np.ones((4, 4))[::2, ::-2],
    "csr": lambda: sparse.csr_array(np.eye(2)),
    "coo": lambda: sparse.coo_matrix(np.ones((2, 3))),
    "dia": lambda: sparse.dia_matrix(np.eye(3)),
    "dok": lambda: sparse.dok_array((2, 2)),
    "lil of nothing": lambda: sparse.lil_array((0, 2)),
    "sparse with nan": lambda: sparse.csr_array(np.array([[np.nan, 1.0]])),
    "variable": lambda: lsip.Variable(2, name="v"),
    "matrix variable": lambda: lsip.Variable((2, 2), name="w"),
    "index": lambda: lsip.Index("u", lsip.Interval(0, 1)),
    "parameter": lambda: lsip.Parameter(2, name="p"),
    "constraint": lambda: lsip.Variable(2, name="v")[0] <= 1,
    "domain": lambda: lsip.Box([0, 0, 0], [1, 1, 1]),
    "objective": lambda: lsip.minimize(lsip.Variable(name="s")),
}

Change = Callable[[Any], Any]
NEAR: dict[str, Change] = {  # what is almost what it should be
    "as list": lambda v: np.asarray(v).tolist(),
    "as text": str,
    "in a list": lambda v: [v],
    "twice": lambda v: [v, v],
    "as iterator": lambda v: iter([v]) if np.ndim(v) == 0 else iter(v),
    "negated": lambda v: -v,
    "as matrix": lambda v: np.matrix(np.atleast_2d(v)),
    "as sparse": lambda v: sparse.csr_array(np.atleast_2d(v)),
    "as objects": lambda v: np.asarray(v).astype(object),
    "as float32": lambda v: np.asarray(v).astype(np.float32),
    "as longdouble": lambda v: np.asarray(v).astype(np.longdouble),
    "as complex": lambda v: np.asarray(v) + 0j,
    "as text array": lambda v: np.asarray(v).astype(str),
    "masked": lambda v: np.ma.masked_array(v, np.ones(np.shape(v))),
    "without the last": lambda v: v[:-1],
    "one more axis": lambda v: np.asarray(v)[None],
    "transposed": lambda v: np.asarray(v).T,
    "flat": lambda v: np.asarray(v).ravel(),
    "emptied": lambda v: np.asarray(v)[:0],
    "repeated": lambda v: np.repeat(np.asarray(v), 3, axis=0),
    "with nan": lambda v: _spoilt(v, np.nan),
    "with inf": lambda v: _spoilt(v, np.inf),
    "with 1e308": lambda v: _spoilt(v, 1e308),
    "times 1e300": lambda v: np.asarray(v) * 1e300,
    "times 1e-300": lambda v: np.asarray(v) * 1e-300,
    "the class of it": type,
}


def _spoilt(value: Any, by: float) -> Any:
    found = np.array(value, dtype=float)
    found.flat[0] = by
    return found


def malformed(rng: random.Random, valid: Any) -> tuple[str, Any]:
    """A wrong argument, and what it is called; near a valid one where that is an array or a number."""
    if isinstance(valid, int | float | list | tuple | np.ndarray) and rng.random() < 0.5:
        name = rng.choice(sorted(NEAR))
        try:
            return name, NEAR[name](valid)
        except Exception:  # it cannot be had of this one
            pass
    name = rng.choice(sorted(ANYTHING))
    return name, ANYTHING[name]()
