"""The file of a plan that is a mixture of policies; the plan of a written-out program has that of its solution."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import lsip
from lsip.proof import Certificate, Support, TrustAssumption
from lsip.schema import Schema, double, text, whole
from lsip.solver import Atom

from . import checkpoint
from .optimistic import Greedy, Maximiser

KIND = "Plan"
ARRAYS = ("x", "weights", "points", "radii", "box", "actions", "row_multipliers", "violation")
FACTS: dict[str, Schema] = {  # of a mixture, beside its arrays
    "kind": text,
    "status": text,
    "numbers": (double,) * 5,
    "oracle": text,
    "calls": whole,
    "assumptions": [text],
    "support": [(whole, whole, [double], double)],
    "history": [(whole, *(double,) * 5, whole, whole, double)],
}
STEP = ("iteration", "value", "lower", "upper", "violation", "bound", "cuts", "rows", "seconds")


def is_mixture(path: str | Path) -> bool:
    """Whether a file holds a mixture; one that does not holds the solution of a written-out program."""
    return checkpoint.facts(path, KIND).get("kind") == KIND


def save_mixture(solution: lsip.Decomposition, path: str | Path) -> None:
    """Write a mixture and its proof."""
    checkpoint.write(path, *_parts(solution))


def load_mixture(path: str | Path, problem: lsip.Problem, maximise: Maximiser) -> lsip.Decomposition:
    """The mixture of a file as a solution of `problem`; its proof is still to be checked."""
    facts, arrays = checkpoint.read(path, KIND, FACTS, ARRAYS.__contains__)
    with checkpoint.reading(path, KIND, facts):
        return _decomposition(facts, arrays, problem, maximise)


def _parts(solution: lsip.Decomposition) -> tuple[dict[str, Any], dict[str, Any]]:
    """Everything in names and numbers."""
    proof = solution.certificate
    facts = {
        "kind": KIND,
        "status": solution.status.name,
        "numbers": [proof.lower, proof.upper, solution.seconds, solution.tol, solution.atol],
        "oracle": solution.oracle,
        "calls": solution.calls,
        "assumptions": list(proof.assumptions),
        "support": [[s.family, s.component, s.point.tolist(), s.multiplier] for s in proof.support],
        "history": [[getattr(step, name) for name in STEP] for step in solution.history],
    }
    arrays = {
        "x": solution.x,
        "weights": np.array([atom.weight for atom in solution.atoms]),
        "points": np.array([atom.x for atom in solution.atoms]),
        "radii": np.array([np.broadcast_to(atom.radius, atom.x.shape) for atom in solution.atoms]),
        "box": proof.box if len(proof.box) else np.zeros(len(proof.x)),
        "actions": np.array([atom.data.actions for atom in solution.atoms]),
        "row_multipliers": proof.row_multipliers,
        "violation": np.array(proof.violation),
    }
    return facts, arrays


def _decomposition(
    facts: dict[str, Any], arrays: dict[str, Any], problem: lsip.Problem, maximise: Maximiser
) -> lsip.Decomposition:
    """The solution again; ValueError or KeyError for what does not fit."""
    (S, A), n, k = maximise.spec.r.shape, maximise.size, len(arrays["weights"])
    shapes = {"x": (n,), "box": (n,), "weights": (k,), "points": (k, n), "radii": (k, n), "actions": (k, S)}
    for name, shape in shapes.items():
        if arrays[name].shape != shape or not np.isfinite(arrays[name]).all():
            raise ValueError(f"{name} has shape {arrays[name].shape}, where this model needs finite numbers {shape}")
    actions = arrays["actions"]
    if not np.issubdtype(actions.dtype, np.integer) or (actions < 0).any() or (actions >= A).any():
        raise ValueError(f"its policies have other actions than 0 to {A - 1}")
    atoms = zip(arrays["weights"], arrays["points"], actions, arrays["radii"], strict=True)
    lower, upper, seconds, tol, atol = map(float, facts["numbers"])
    certificate = Certificate(
        kind="optimal",
        x=arrays["x"],
        lower=lower,
        upper=upper,
        support=tuple(Support(int(f), int(i), np.array(y), float(v)) for f, i, y, v in facts["support"]),
        row_multipliers=arrays["row_multipliers"],
        violation=tuple(map(float, arrays["violation"])),
        box=arrays["box"],
        assumptions=tuple(map(TrustAssumption, facts["assumptions"])),
    )
    return lsip.Decomposition(
        status=lsip.Status[facts["status"]],
        program=problem.compile(),
        certificate=certificate,
        atoms=tuple(Atom(float(w), x, Greedy(a, None), r) for w, x, a, r in atoms),
        history=tuple(lsip.Iterate(*row) for row in facts["history"]),
        seconds=seconds,
        tol=tol,
        atol=atol,
        oracle=str(facts["oracle"]),
        variables=tuple(problem.variables),
        model=problem,
        calls=int(facts["calls"]),
        maximise=maximise,
    )
