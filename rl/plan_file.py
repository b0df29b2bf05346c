"""Plans in files: the file of a written-out program is that of its solution; a mixture of policies has its own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import lsip
from lsip.proof import Certificate, Support, TrustAssumption
from lsip.schema import Schema, double, text, whole
from lsip.solver import Atom

from . import checkpoint
from .occupancy import planning_program
from .optimistic import Greedy, KnownModel, Maximiser
from .sicmdp import SICMDP

if TYPE_CHECKING:
    from .plan import Plan

KIND = "Plan"
LEARNED = (
    "Only the plan of a known model can be saved; what was learned belongs to its data. Keep those, as in "
    "np.save('counts.npy', data.counts), and learn from rl.Dataset(counts) again."
)
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


def save(plan: Plan, path: str | Path) -> None:
    """Write the plan of a known model."""
    checkpoint.check_target(path)
    if plan.model is not None:
        raise lsip.ModelError(LEARNED)
    if isinstance(plan.solution, lsip.Decomposition):
        checkpoint.write(path, *_parts(plan.solution))
    else:
        plan.solution.save(path)


def load(path: str | Path, mdp: SICMDP) -> Plan:
    """The plan of a known model, with its proof checked."""
    from .plan import mixture_problem, proven_value, read_mixture, read_plan

    if checkpoint.facts(path, KIND).get("kind") == KIND:
        facts, arrays = checkpoint.read(path, KIND, FACTS, ARRAYS.__contains__)
        maximise = Maximiser(mdp.specification, KnownModel(mdp))
        with checkpoint.reading(path, KIND, facts):
            solution = _decomposition(facts, arrays, mixture_problem(maximise), maximise)
        found = read_mixture(solution, maximise)
    else:
        program = planning_program(mdp)
        found = read_plan(program, lsip.Solution.load(path, program.problem, verify=False))
    found = replace(found, reached=proven_value(mdp, found.policy), mdp=mdp).verify()
    return replace(found, solution=replace(found.solution, checked=True))


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
