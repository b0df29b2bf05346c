"""What a model is, in a few digests: a solution read from a file must belong to the model that it is read for.

Everything that decides about optima counts: objective, bounds, finite rows, index sets, formulas with their constants.
Names do not. A function without a formula is known only by its values, so it counts with those at a few fixed points.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from ..domains import Domain
from ..errors import ModelError
from .program import Program


def fingerprint(program: Program) -> dict[str, str]:
    """A digest of each part of the model, by the part's name."""
    rows = (program.A, program.row_lower, program.row_upper)
    parts: dict[str, Any] = {
        "the objective": (program.maximise, program.c, program.constant),
        "the bounds of the variables": (program.lower, program.upper),
        "the finite constraints": rows if program.A.shape[0] else (),
    }
    if program.integer.any():
        parts["the variables of whole values"] = program.integer
    for f, family in enumerate(program.families):
        parts[f"the constraints over index points (family {f})"] = (
            family.domain,
            family.columns,
            *family.source.identity(),
        )
    return {name: sha256(b"".join(_bytes(part))).hexdigest()[:24] for name, part in parts.items()}


def differing(one: dict[str, str], other: dict[str, str]) -> list[str]:
    """The names of the parts in which two models differ."""
    return [name for name in {**one, **other} if one.get(name) != other.get(name)]


def check_same(path: str | Path, stored: dict[str, str] | None, program: Program) -> None:
    """Refuse a file that was written for another model, and say what differs."""
    if stored is None:
        raise ModelError(
            f"{path} was written by a version of lsip that did not store which model it belongs to. Solve the model "
            "again, and save the solution anew."
        )
    different = differing(stored, fingerprint(program))
    if different:
        raise ModelError(f"{path} holds the solution of another model: {', '.join(different)} differ.")


def _bytes(part: object) -> Iterator[bytes]:
    """Every number and word of a structure, each with its kind and length, so that different ones differ."""
    if isinstance(part, tuple | list):
        yield f"({len(part)}".encode()
        for item in part:
            yield from _bytes(item)
    elif sparse.issparse(part):
        rows = sparse.csr_matrix(part, copy=True)
        rows.sum_duplicates()
        yield from _bytes((rows.shape, rows.indptr.astype(np.int64), rows.indices.astype(np.int64), rows.data))
    elif isinstance(part, np.ndarray | np.generic | float):
        array = np.asarray(part)
        array = array.astype(np.float64) + 0.0 if array.dtype.kind == "f" else array.astype(np.int64)  # no -0.0
        yield f"a{array.dtype.kind}{array.shape}".encode()
        yield array.tobytes()
    elif isinstance(part, bytes):
        yield f"b{len(part)}:".encode()
        yield part
    elif isinstance(part, Domain):
        yield from _bytes((type(part).__name__, part._arguments()))
    else:
        yield f"{part!r};".encode()
