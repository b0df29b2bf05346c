"""Solutions as .npz files: arrays and plain data, no code; nothing in a file is trusted."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..errors import ModelError
from ..files import blamed, read_arrays, read_facts, whole_file
from ..model.compilation import Written
from ..model.fingerprint import check_same, fingerprint
from ..model.problem import Problem
from ..model.problem_file import written_data
from ..model.program import Compilable, Program
from ..model.status import Status
from ..proof.certificate import (
    Certificate,
    DataAssumption,
    RegionAssumption,
    Support,
    TreeAssumption,
    TrustAssumption,
)
from ..reductions.chain import restate
from ..schema import Either, Schema, anything, conform, double, flag, missing, text, whole
from .result import Effort, Iterate, Result
from .verify import check_numbers

R = TypeVar("R", bound=Result)
WHAT = "a solution written by Solution.save"
ASSUMPTIONS = {kind.__name__: kind for kind in (DataAssumption, TrustAssumption, RegionAssumption, TreeAssumption)}
POSITIONS = ("dependent", "balanced", "basis")  # arrays that hold whole numbers
VECTORS = ("x", "units", "box")  # arrays of the certificate, by its own names
ARRAYS = (*VECTORS, "numbers", "rows", "violation", "drift", "direction", *POSITIONS)
STEPS = ("iteration", "value", "lower", "upper", "violation", "bound", "cuts", "rows", "seconds")  # of an iterate


def digests(value: object) -> bool:
    """A digest for each part of a model."""
    return isinstance(value, dict) and all(isinstance(part, str) for part in value.values())


_ATOMS: Schema = [(whole, whole, [double], double)]
FACTS: dict[str, Schema] = {  # beside the arrays
    "status": text,
    "kind": text,
    "oracle": text,
    "seconds": double,
    "tol": double,
    "atol": double,
    "model": Either(digests, missing),
    "problem": anything,
    "evidence": text,
    "effort": {"date": text, "options": [(text, text)], "seconds": [(text, double)]},
    "assumptions": [(text, text)],
    "support": _ATOMS,
    "confined": flag,
    "cuts": _ATOMS,
    "negligible": double,
    "history": [(whole, *(double,) * 5, whole, whole, double)],
}


# ---- writing ---------------------------------------------------------------------------------------------------------


def save(result: Result, path: str | Path) -> None:
    """Write an answer, its certificate and, if it can be written, its problem as it was solved."""
    whole = joined(result)
    c, effort = whole.certificate, whole.effort
    facts = {
        "status": whole.status.name,
        "kind": c.kind,
        "oracle": whole.oracle,
        "seconds": whole.seconds,
        "tol": whole.tol,
        "atol": whole.atol,
        "model": fingerprint(whole.program),
        "problem": _problem_data(result),
        "evidence": whole.evidence,
        "effort": {
            "date": effort.date,
            "options": list(map(list, effort.options.items())),
            "seconds": list(map(list, effort.seconds.items())),
        },
        "assumptions": [[type(a).__name__, a] for a in c.assumptions],
        "support": _rows(c.support),
        "confined": c.confined,
        "cuts": _rows(whole.cuts),
        "negligible": whole.negligible,
        "history": [[getattr(step, name) for name in STEPS] for step in whole.history],
    }
    arrays = {
        **{name: getattr(c, name) for name in (*VECTORS, *POSITIONS)},
        "numbers": np.array([c.lower, c.upper, c.radius, c.finite_violation]),
        "rows": c.row_multipliers,
        "violation": np.array(c.violation),
        "drift": np.array(c.drift),
        "direction": np.zeros(0) if c.direction is None else c.direction,
    }
    with whole_file(path, "solution.npz") as part, part.open("wb") as stream:
        np.savez(stream, facts=np.array(json.dumps(facts)), **arrays)


def _rows(support: tuple[Support, ...]) -> list[list[Any]]:
    """Atoms as plain lists."""
    return [[s.family, s.component, s.point.tolist(), s.multiplier] for s in support]


def _problem_data(result: Result) -> dict[str, Any] | None:
    """The problem as plain data, as it was solved; None where there is none that can be written."""
    written = None if result.program.layout is None else result.program.layout.written
    try:
        return written_data(written) if isinstance(written, Written) and result.model is not None else None
    except ModelError:
        return None


def joined(result: R) -> R:
    """The same of the program as a new problem has it, where constraints that came later stayed apart."""
    layout = result.program.layout
    written = None if layout is None else layout.written
    if layout is None or not isinstance(written, Written) or written.together is written:
        return result
    program, c = restate(written.together), result.certificate
    assert program.layout is not None
    there = layout.moves(program.layout)

    def most(values: tuple[float, ...]) -> tuple[float, ...]:
        largest = [-np.inf] * len(program.families)
        for (before, _), (now, _) in there.items():
            largest[now] = max(largest[now], values[before])
        return tuple(largest)

    def moved(atoms: tuple[Support, ...]) -> tuple[Support, ...]:
        return tuple(s.at(*there[s.family, s.component]) for s in atoms)

    certificate = replace(
        c,
        support=moved(c.support),
        violation=most(c.violation) if c.violation else (),
        drift=most(c.drift) if c.drift else (),
    )
    return replace(result, program=program, certificate=certificate, cuts=moved(result.cuts), oracles=())


# ---- reading ---------------------------------------------------------------------------------------------------------


def read(kind: type[R], path: str | Path, problem: Program | Compilable | None) -> R:
    """What a file holds, unchecked; without a `problem`, it is about the one in the file."""
    program = None if problem is None else restate(problem)
    held = read_facts(path, WHAT)
    with blamed(path, WHAT):
        facts = {"model": None, "problem": None, **held}
        conform(facts, FACTS, "it")
        data = read_arrays(path, WHAT, ARRAYS.__contains__)
        arrays = {name: _vector(data[name], name) for name in ARRAYS}
        if program is None or problem is None:
            problem = _problem_in(path, facts["problem"])
            program = restate(problem)
        if arrays["x"].shape != (program.n,):
            raise ModelError(f"{path} holds {arrays['x'].size} variables, the problem has {program.n}.")
        check_same(path, facts["model"], program)
        certificate = _certificate(facts, arrays)
        check_numbers(program, certificate, float(facts["tol"]))
        effort = facts["effort"]
        return kind(
            status=Status[facts["status"]],
            program=program,
            certificate=certificate,
            history=tuple(Iterate(*row) for row in facts["history"]),
            seconds=float(facts["seconds"]),
            tol=float(facts["tol"]),
            atol=float(facts["atol"]),
            oracle=facts["oracle"],
            variables=problem.variables if isinstance(problem, Problem) else (),
            model=None if problem is program else problem,
            cuts=_atoms(facts["cuts"]),
            evidence=facts["evidence"],
            negligible=float(facts["negligible"]),
            effort=Effort(effort["date"], dict(effort["options"]), dict(effort["seconds"])),
            checked=False,
        )


def _certificate(facts: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Certificate:
    floats = {k: np.asarray(v, dtype=float) for k, v in arrays.items() if k not in POSITIONS}
    vectors: dict[str, Any] = {name: floats[name] for name in VECTORS}
    vectors |= {name: np.asarray(arrays[name], dtype=np.intp) for name in POSITIONS}
    lower, upper, radius, finite = map(float, floats["numbers"])
    return Certificate(
        kind=facts["kind"],
        lower=lower,
        upper=upper,
        radius=radius,
        support=_atoms(facts["support"]),
        row_multipliers=floats["rows"],
        violation=tuple(map(float, floats["violation"])),
        finite_violation=finite,
        direction=floats["direction"] if len(floats["direction"]) else None,
        drift=tuple(map(float, floats["drift"])),
        confined=facts["confined"],
        assumptions=tuple(ASSUMPTIONS[kind](sentence) for kind, sentence in facts["assumptions"]),
        **vectors,
    )


def _atoms(rows: list[Any]) -> tuple[Support, ...]:
    return tuple(Support(int(f), int(c), np.array(y, dtype=float), float(v)) for f, c, y, v in rows)


def _vector(array: NDArray[Any], name: str) -> NDArray[Any]:
    """An array of a file, which is a row of numbers; positions are whole."""
    if array.ndim != 1 or (name in POSITIONS and array.size and array.dtype.kind not in "iu"):
        raise ModelError(f"{name} must be a row of numbers; got {array.dtype} of shape {array.shape}.")
    return array


def _problem_in(path: str | Path, data: dict[str, Any] | None) -> Problem:
    """The problem in a file of a solution."""
    if data is None:
        raise ModelError(f"{path} does not hold the problem, which no file can; give it: load({str(path)!r}, problem).")
    return Problem.from_data(data)
