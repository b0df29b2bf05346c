"""The last finite relaxation of a solve as a file for other solvers: MPS or LP, every number to the last digit."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
from scipy import sparse

from ..errors import ModelError
from ..expressions.affine import Variable
from ..files import check_file, whole_file
from ..model.program import Program
from ..proof.certificate import Array, Support
from .result import Result

RESERVED = re.compile(  # what a reader of LP files takes for a number, or for a section
    r"[0-9.]|[eE][0-9]|(st|s\.t\.|free|inf|infinity|bounds?|bin|binar(y|ies)|gens?|generals?|int|integers?|semis?|sos|end|"
    r"max|maximi[sz]e|min|minimi[sz]e|obj)$",
    re.IGNORECASE,
)


LONGEST = 255  # characters of a name, of which readers take no more


@dataclass(frozen=True, eq=False)
class OneSidedProgram:
    """A finite program in the sense of the user's objective, every row with one side."""

    c: Array
    constant: float
    maximise: bool
    bounds: list[tuple[float, float]]
    integer: list[bool]
    rows: sparse.csr_matrix
    senses: list[str]  # "<=", ">=" or "="
    sides: list[float]
    columns: list[str]
    names: list[str]  # of the rows
    title: str


def write_relaxation(result: Result, path: str | Path) -> None:
    """Write the program with its rows at the index points that the last master held."""
    program = result.program
    if program.integer.any() and program.families and not result.cuts:
        raise ModelError(
            "This answer comes from one branch and bound over the robust counterpart, which holds no rows at index "
            "points that could be written; write that of solve(oracle='support')."
        )
    target = check_file(path, "model.mps")
    writers = {".mps": _mps, ".lp": _lp}
    if target.suffix.lower() not in writers:
        raise ModelError(f"A model is written to a file that ends in .mps or .lp; got {str(path)!r}.")
    if program.cones is not None:
        raise ModelError(f"{program.name} has conic constraints, which MPS and LP files do not know.")
    held = {s.place: s for s in (*result.certificate.support, *result.cuts)}
    cuts = tuple((s, result.as_written.point(s)) for s in held.values())
    lines = writers[target.suffix.lower()](_finite(program, cuts, result.variables))
    with whole_file(path, "model.mps") as part, part.open("w", encoding="ascii") as stream:
        stream.writelines(f"{line}\n" for line in lines)


def _finite(
    program: Program, cuts: tuple[tuple[Support, Array], ...], variables: tuple[Variable, ...]
) -> OneSidedProgram:
    rows: list[sparse.csr_matrix] = []
    senses, sides, names = list[str](), list[float](), list[str]()
    equal, called = program.row_lower == program.row_upper, _row_names(program)
    for sense, side, which in (
        ("=", program.row_upper, equal),
        ("<=", program.row_upper, np.isfinite(program.row_upper) & ~equal),
        (">=", program.row_lower, np.isfinite(program.row_lower) & ~equal),
    ):
        rows.append(program.A[which])
        senses += [sense] * int(which.sum())
        sides += side[which].tolist()
        names += [called[i] for i in np.flatnonzero(which)]
    family_names = _family_names(program)
    for s, point in cuts:
        family, component = program.families[s.family], np.array([s.component])
        a, b = family.chosen(s.point[None, :], component)
        entries = (a[0], (np.zeros(a.shape[1], dtype=np.intp), family.columns[s.component]))
        rows.append(sparse.csr_matrix(entries, shape=(1, program.n)))
        senses.append("<=")
        sides.append(float(b[0]))
        at = "_".join(f"{v:g}" for v in point.tolist()).replace("-", "~")
        names.append(f"{family_names[s.family][s.component]}@{at}")
    sign, table = -1.0 if program.maximise else 1.0, sparse.csr_matrix(sparse.vstack(rows, format="csr"))
    table.eliminate_zeros()
    return OneSidedProgram(
        c=sign * program.c + 0.0,
        constant=sign * program.constant + 0.0,
        maximise=program.maximise,
        bounds=list(zip(program.lower.tolist(), program.upper.tolist(), strict=True)),
        integer=np.broadcast_to(program.integer if program.integer.any() else np.False_, (program.n,)).tolist(),
        rows=table,
        senses=senses,
        sides=sides,
        columns=_unique(_column_names(program, variables)),
        names=_unique(names),
        title=_plain(program.name),
    )


# ---- names -----------------------------------------------------------------------------------------------------------


def _column_names(program: Program, variables: tuple[Variable, ...]) -> list[str]:
    if not variables:
        return [program.label(j) for j in range(program.n)]
    names = [
        v.name + (f"({','.join(map(str, place))})" if v.shape else "")
        for v in variables
        for place in np.ndindex(v.shape)
    ]
    return names + [f"epigraph{j}" for j in range(program.n - len(names))]


def _row_names(program: Program) -> list[str]:
    """Names of constraints, numbered where they have none."""
    if program.layout is None:
        return list(program.row_labels) or [f"row{i}" for i in range(program.A.shape[0])]
    names = [f"implied{i}" for i in range(program.A.shape[0])]
    for k, (statement, place) in enumerate(program.layout.places.items()):
        if place.family is None:
            names[place.start : place.end] = _each(statement.name or f"c{k}", place.end - place.start)
    return names


def _family_names(program: Program) -> list[list[str]]:
    if program.layout is None:
        return [_each(f"family{f}", len(family.columns)) for f, family in enumerate(program.families)]
    names = [[""] * len(family.columns) for family in program.families]
    for k, (statement, place) in enumerate(program.layout.places.items()):
        if place.family is not None:
            called = getattr(statement, "name", None) or f"c{k}"
            names[place.family][place.start : place.end] = _each(called, place.end - place.start)
    return names


def _each(name: str, count: int) -> list[str]:
    return [name] if count == 1 else [f"{name}({i})" for i in range(count)]


def _plain(name: str) -> str:
    """A name of letters, digits and what both formats allow besides."""
    plain = re.sub(r"[^A-Za-z0-9_.,;@~!#$%&?()|]", "_", name.replace("[", "(").replace("]", ")"))[:LONGEST]
    return f"_{plain}" if not plain or RESERVED.match(plain) else plain


def _unique(names: list[str]) -> list[str]:
    seen: dict[str, int] = {}
    found = []
    for name in map(_plain, names):
        seen[name] = seen.get(name, 0) + 1
        found.append(name if seen[name] == 1 else f"{name}#{seen[name]}")
    return found


# ---- the two formats -------------------------------------------------------------------------------------------------


def _mps(m: OneSidedProgram) -> Iterator[str]:
    yield f"NAME {m.title}"
    if m.maximise:
        yield "OBJSENSE\n MAX"
    yield "ROWS\n N obj"
    yield from (f" {_LETTER[sense]} {name}" for sense, name in zip(m.senses, m.names, strict=True))
    yield "COLUMNS"
    columns = sparse.csc_matrix(m.rows)
    spans = pairwise(columns.indptr.tolist())
    for j, ((start, end), name, whole) in enumerate(zip(spans, m.columns, m.integer, strict=True)):
        if whole and not (j and m.integer[j - 1]):
            yield " MARKER 'MARKER' 'INTORG'"
        yield f" {name} obj {float(m.c[j])!r}"
        for i, value in zip(columns.indices[start:end].tolist(), columns.data[start:end].tolist(), strict=True):
            yield f" {name} {m.names[i]} {value!r}"
        if whole and not (j + 1 < len(m.integer) and m.integer[j + 1]):
            yield " MARKER 'MARKER' 'INTEND'"
    yield "RHS"
    if m.constant:
        yield f" RHS obj {-m.constant!r}"
    yield from (f" RHS {name} {side!r}" for name, side in zip(m.names, m.sides, strict=True) if side)
    yield "BOUNDS"
    for name, (low, high) in zip(m.columns, m.bounds, strict=True):
        yield f" MI BOUND {name}" if low == -np.inf else f" LO BOUND {name} {low!r}"
        yield f" PL BOUND {name}" if high == np.inf else f" UP BOUND {name} {high!r}"
    yield "ENDATA"


_LETTER = {"<=": "L", ">=": "G", "=": "E"}


def _lp(m: OneSidedProgram) -> Iterator[str]:
    yield f"\\ {m.title}"
    yield "maximize" if m.maximise else "minimize"
    yield (
        " obj:" + "".join(_term(v, name) for v, name in zip(m.c.tolist(), m.columns, strict=True)) + f" {m.constant:+}"
    )
    yield "subject to"
    for (start, end), name, sense, side in zip(
        pairwise(m.rows.indptr.tolist()), m.names, m.senses, m.sides, strict=True
    ):
        entries = zip(m.rows.data[start:end].tolist(), m.rows.indices[start:end].tolist(), strict=True)
        row = "".join(_term(v, m.columns[j]) for v, j in entries) or _term(0.0, m.columns[0])
        yield f" {name}:{row} {sense} {side!r}"
    yield "bounds"
    for name, (low, high) in zip(m.columns, m.bounds, strict=True):
        yield f" {name} free" if (low, high) == (-np.inf, np.inf) else f" {low!r} <= {name} <= {high!r}"
    if any(m.integer):
        yield "general"
        yield from (f" {name}" for name, whole in zip(m.columns, m.integer, strict=True) if whole)
    yield "end"


def _term(value: float, name: str) -> str:
    return f" {'-' if value < 0 else '+'} {abs(value)!r} {name}"
