"""Plug-ins that mislead: oracles that lie, that see little or that remember another index set, and black boxes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import lsip
from lsip.model import FamilyViolation
from lsip.oracles import BranchAndBound, Grid, Multistart, RandomSearch, Separation, Violation
from lsip.solver.method import solve

from .doors import problem, rights, rows
from .draw import SETS, Rng, any_set, interval, power_of_ten
from .models import Model
from .planted import Plan, planted
from .sets import Box, IndexSet

FEW = 2000  # boxes for a question beside the solve


@dataclass(frozen=True)
class Liar:
    """An oracle that looks at a few points and says that there is nothing more."""

    count: int
    claim: float  # how much less than what it found it claims to be the supremum

    def maximise(self, violation: Violation, *, target: float = 0.0, seed: int = 0) -> Separation:
        points = violation.domain.spread(self.count)
        values = violation.values(points)
        worst = values.max(axis=1)
        order = np.argsort(-worst, kind="stable")
        bound = float(worst.max()) - self.claim
        return Separation(points[order], worst[order], min(bound, target), values.argmax(axis=1)[order])


def any_oracle(rng: Rng) -> Model:
    """A planted model, separated by an oracle that sees little or lies: only lsip's own proof may certify."""
    model = planted(rng, Plan(any_set, variables=(1, 3), units=False))
    count = int(rng.integers(2, 30))
    oracles: list[Any] = [
        Grid(points=count),
        RandomSearch(points=count),
        Multistart(),
        Liar(count, power_of_ten(rng, -9, 1)),
    ]
    oracle = oracles[int(rng.integers(len(oracles)))]

    def written(given: Model, options: dict[str, Any]) -> Any:
        return problem(given).solve(verbose=False, oracle=oracle, **options)

    return replace(model, door="declared", written=written)


def used_oracle(rng: Rng) -> Model:
    """A branch-and-bound that has been asked about a part of the index set before it is asked about all of it."""
    model = planted(rng, Plan(interval if rng.random() < 0.7 else SETS["box"], families=(1, 1), units=False))
    half = _half(model.families[0].over).write()
    plain = bool(rng.random() < 0.5)

    def written(given: Model, options: dict[str, Any]) -> Any:
        oracle = BranchAndBound(max_boxes=FEW)
        method = {"sample_first": False, "polish": False} if plain else {}
        program = problem(given).compile()
        x = np.array(given.point, dtype=float)
        for moved in (x, x - 0.1, x + 0.1):  # the first coefficient is positive: something to find, and nothing
            oracle.maximise(FamilyViolation(program.families[0], moved, part=half))
        return solve(program, lsip.Exchange(oracle=BranchAndBound(), **method, **options), verbose=False)

    return replace(model, door="declared", written=written)


def warm_start(rng: Rng) -> Model:
    """A solve that starts from the answer to another model: its index points and multipliers prove nothing here."""
    model = planted(rng, Plan(any_set, variables=(1, 3), units=False))
    factor = float(rng.choice([-1.0, 0.5, 2.0]))
    other = replace(model, c=tuple(factor * v * float(rng.uniform(0.5, 2)) for v in model.c), rows=())
    method = {
        "polish": bool(rng.random() < 0.5),
        "seed": int(rng.integers(5)),
        "tol": float(rng.choice([1e-10, 1e-5, 1e-2])),
    }

    def written(given: Model, options: dict[str, Any]) -> Any:
        first = problem(replace(other, door="declared")).solve(verbose=False, time_limit=options["time_limit"] / 2)
        return problem(given).solve(verbose=False, warm_start=first, **{**options, **method})

    return replace(model, door="declared", written=written)


def _half(over: IndexSet) -> IndexSet:
    low, high = over.box
    return Box(tuple(low.tolist()), tuple(((low + high) / 2).tolist()), scalar=over.scalar)


def black_box(rng: Rng) -> Model:
    """Functions that cannot be traced: their Lipschitz constants, or an oracle's bound, are taken on trust."""
    model = planted(rng, Plan(interval, variables=(1, 3), families=(1, 1), rows=(0, 0), units=False))
    family = model.families[0]
    lipschitz = None if rng.random() < 0.3 else power_of_ten(rng, -3, 3)
    oracle = Liar(int(rng.integers(2, 50)), power_of_ten(rng, -9, 1)) if lipschitz is None else None

    def written(given: Model, options: dict[str, Any]) -> Any:
        box = lsip.Family(family.over.write(), _opaque(rows(family)), _opaque(rights(family)), lipschitz=lipschitz)
        bounds = [
            (low if np.isfinite(low) else None, high if np.isfinite(high) else None) for low, high in _sides(given)
        ]
        method = lsip.Exchange(**{**options, "tol": 1e-3}, **({"oracle": oracle} if oracle else {}))
        return lsip.linsip(given.c, [box], bounds=bounds, sense="max" if given.maximise else "min", method=method)

    return replace(model, door="functions", constant=0.0, written=written, truth=replace(model.truth, on_trust=True))


def _sides(model: Model) -> list[tuple[float, float]]:
    return list(zip(model.lower, model.upper, strict=True))


def _opaque(function: Any) -> Any:
    """The same function for arrays only."""

    def values(y: Any) -> Any:
        if not isinstance(y, np.ndarray):
            raise TypeError("numbers only")
        return function(y)

    return values
