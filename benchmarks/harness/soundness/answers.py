"""What lsip answered, as plain data: all that the judge ever sees of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import inf, nan
from typing import Any

import numpy as np

import lsip
from lsip.oracles import BranchAndBound
from lsip.proof.certificate import TrustAssumption

from .doors import problem, solve, values
from .models import Model, Vector
from .seen import Duals, seen_by_users

PROBE = 0.2  # seconds for a bound at a probe
FINE, SHARP = 1e-14, 1e-3  # how close to the largest violation it should come, with one coordinate and with more
FEW = 100  # index points that say how large that is
REFUSED = "REFUSED"  # lsip raised one of its own errors


@dataclass(frozen=True)
class Multiplier:
    """The weight of a family at an index point."""

    family: int
    point: Vector
    weight: float


@dataclass(frozen=True)
class Answer:
    """The end of a solve."""

    status: str
    certified: bool = False
    x: Vector = ()
    lower: float = -inf
    upper: float = inf
    value: float = nan
    multipliers: tuple[Multiplier, ...] = ()
    row_multipliers: Vector = ()
    box: Vector = ()  # how far an exact solution of the equalities may be from x, a variable; x itself if empty
    assumptions: tuple[str, ...] = ()  # about the data
    dependent: tuple[int, ...] = ()  # rows that are said to follow from others
    trusts: tuple[str, ...] = ()  # what is taken on trust
    message: str = ""
    unverified: str | None = None  # what `verify()` said, if it did not accept a certified answer
    seconds: float = 0.0
    violation: Vector = ()  # a family: what a(y) x - b(y) is proven not to exceed; inf where nothing is proven
    direction: Vector = ()  # along which the objective improves for ever
    probed: Vector = ()  # a family: what its violation at the model's probe is proven not to exceed
    duals: Duals | None = None  # as users see them


def ask(model: Model, seconds: float, by: Callable[[Model, float], Any] = solve) -> Answer:
    """Solve the model with lsip, and have certified answers verified."""
    start = time.perf_counter()
    try:
        solution = by(model, seconds)
    except lsip.LSIPError as error:
        return Answer(REFUSED, message=f"{type(error).__name__}: {error}", seconds=time.perf_counter() - start)
    spent = time.perf_counter() - start
    proof = solution.certificate
    trusts = tuple(a for a in proof.assumptions if isinstance(a, TrustAssumption))
    return Answer(
        status=solution.status.name,
        certified=bool(solution.certified),
        x=_floats(values(model, solution)),
        lower=float(solution.lower),
        upper=float(solution.upper),
        value=float(solution.value),
        multipliers=tuple(Multiplier(int(s.family), _floats(s.point), float(s.multiplier)) for s in proof.support),
        row_multipliers=_floats(proof.row_multipliers),
        box=_floats(proof.box)[: model.n],
        assumptions=tuple(a for a in proof.assumptions if a not in trusts),
        dependent=tuple(map(int, proof.dependent)) if solution.program.A.shape[0] == len(model.rows) else (),
        trusts=trusts,
        message=solution.message,
        unverified=_verified(solution) if solution.certified else None,
        seconds=spent,
        violation=_floats(proof.violation),
        direction=() if proof.direction is None else _floats(proof.direction),
        probed=_probed(model),
        duals=seen_by_users(model, solution),
    )


def _floats(values: Iterable[Any]) -> Vector:
    return tuple(map(float, values))


def _verified(solution: Any) -> str | None:
    try:
        solution.verify()
    except lsip.LSIPError as error:
        return f"{type(error).__name__}: {error}"
    return None


def _probed(model: Model) -> Vector:
    """What branch-and-bound proves about the violations at the probe, in the time that it has."""
    if not model.probe:
        return ()
    program = problem(model).compile()
    bounds = []
    for i, family in enumerate(program.families):
        violation = program.violation(i, np.array(model.probe))
        level = float(np.max(violation.values(family.domain.spread(FEW)), initial=-inf))
        try:
            sharp = (FINE if family.domain.dim == 1 else SHARP) * (1 + abs(level))
            bounds.append(BranchAndBound(seconds=PROBE).maximise(violation, target=level + sharp).bound)
        except lsip.LSIPError:  # nothing can be proven, or is
            bounds.append(inf)
    return _floats(bounds)
