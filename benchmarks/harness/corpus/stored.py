"""Models that other benchmarks have: the catalogue, published and tame ones, robust decisions, odd units, sequences."""

from __future__ import annotations

from functools import partial
from typing import Any
from zlib import crc32

import numpy as np

import lsip
from lsip import catalogue

from ... import resolve, robust
from ..models import MODELS
from ..rules import MANY, SLOW
from ..scaling import drawn, scalable, scaled
from ..soundness import classes, doors
from ..soundness.models import Model
from ..tame.models import DOMAINS, generate
from .items import ITERATIONS, Item, within_limits

TAME, JUDGED = 20, 4  # seeds of each kind of index set, and of each class of `soundness`
DECADES = 10  # of the random units
STEPS = 6  # of a sequence of models


def stored() -> dict[str, Item]:
    """All of them, by name."""
    items = {f"catalogue/{name}": Item(catalogue.get(name).build, within_limits) for name in catalogue.names()}
    items |= {f"published/{name}": Item(model.build, within_limits) for name, model in MODELS.items()}
    for name, case in robust.CASES.items():
        items[f"robust/{name}"] = Item(case.ours, partial(within_limits, tol=robust.TOL))
        if name not in (*SLOW, *MANY):
            by_cuts = partial(within_limits, method=lsip.Exchange(oracle="support", tol=robust.TOL))
            items[f"robust_by_cuts/{name}"] = Item(case.ours, by_cuts)
    for kind in DOMAINS:
        for seed in range(TAME):
            items[f"tame/{kind}-{seed}"] = Item(partial(_tame, kind, seed), within_limits)
    items |= {f"units/{name}": Item(partial(_in_odd_units, name), within_limits) for name in catalogue.names()}
    for kind in classes.CLASSES:
        for seed in range(JUDGED):
            items[f"judged/{kind}-{seed}"] = Item(partial(classes.generate, kind, seed), _judged)
    items |= {f"sequence/{name}": Item(partial(str, name), _last_of_sequence) for name in resolve.SEQUENCES}
    return items


def _tame(kind: str, seed: int) -> lsip.Problem:
    return generate(kind, seed).problem()


def _in_odd_units(name: str) -> Any:
    """An entry of the catalogue in units drawn over many decades; as it is where it cannot be scaled."""
    problem = catalogue.get(name).build()
    program = problem.compile()
    if not scalable(program):
        return problem
    return scaled(program, drawn(program, np.random.default_rng([0, 1, crc32(name.encode())]), DECADES))


def _judged(model: Model) -> Any:
    return doors.solve(model, float("inf"), max_iterations=ITERATIONS)


def _last_of_sequence(name: str) -> Any:
    """The last of a few models, each solved after a change of the one before."""
    problem, change = resolve.SEQUENCES[name].changing()
    solution = within_limits(problem, tol=resolve.TOL)
    for step in range(1, STEPS):
        change(step)
        solution = within_limits(problem, tol=resolve.TOL)
    return solution
