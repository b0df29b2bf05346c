"""Feasibility over whole index sets, for every point of a box: what lsip's own provers say, whoever separated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ..deadline import check
from ..domains.exact_support import exact_support
from ..model.coefficients import affine_in
from ..model.families import RowFamily
from ..model.program import Program
from ..oracles import Oracle, Separation, Violation, ask, is_prover, prover, tuned
from .certificate import Array, TrustAssumption


@dataclass(frozen=True, eq=False)
class Bounds:
    """A family: sup over Y of a(y) x - b(y) is at most this, and what that takes on trust."""

    values: tuple[float, ...]
    trusts: tuple[TrustAssumption, ...] = ()

    @staticmethod
    def of(program: Program, oracles: Sequence[Oracle], separations: Sequence[Separation]) -> Bounds:
        """What the oracles say of the violation at a point; only lsip's own are taken for proofs."""
        trusts = [
            sentence
            for family, oracle, found in zip(program.families, oracles, separations, strict=True)
            if found.bound != np.inf
            for sentence in _trusts(family, oracle, found)
        ]
        values = tuple(np.inf if np.isnan(found.bound) else float(found.bound) for found in separations)
        return Bounds(values, tuple(dict.fromkeys(trusts)))

    @property
    def worst(self) -> float:
        """The largest; -inf without any family."""
        return max(self.values, default=-np.inf)


def _trusts(family: RowFamily, oracle: Oracle, found: Separation) -> list[TrustAssumption]:
    """What a bound rests on besides lsip's own arithmetic, in sentences."""
    if is_prover(oracle):
        return [TrustAssumption(f"{sentence[0].upper()}{sentence[1:]}.") for sentence in found.trusts]
    word = f"is bounded by the word of the oracle {type(oracle).__name__}, which is not checked."
    return [TrustAssumption(f"The violation of {family.legend.name} {word}")]


class _Unknown:
    """The oracle of a family about which nothing can be proven."""

    def maximise(self, violation: Violation, *, target: float = 0.0, seed: int = 0) -> Separation:
        return Separation(np.zeros((0, violation.domain.dim)), np.zeros(0), np.inf)


UNKNOWN = _Unknown()


def family_bounds(
    program: Program,
    x: Array,
    box: Array | None = None,
    *,
    scale: float = 1.0,
    target: float | Sequence[float] = 0.0,
    seconds: float = np.inf,
    oracles: Sequence[Oracle] | None = None,
) -> Bounds:
    """Proven bounds of the violation of every x' with |x' - x| <= box; inf where nothing can be proven.

    Boxes of Y are split until the bound is at most the `target`, one for all families or one for each. Where lsip has
    no proof of its own, the word of the family's oracle counts, if it gives one for a single point, and is named.
    """
    asked, found = [], []
    targets = np.broadcast_to(target, len(program.families)).tolist()
    for f, (family, goal) in enumerate(zip(program.families, targets, strict=True)):
        oracle = prover(family)
        if oracle is None and oracles is not None and box is None:
            oracle = oracles[f]
        asked.append(oracle or UNKNOWN)
        check("proof of feasibility")
        violation = program.violation(f, x, scale, box)
        found.append(ask(tuned(asked[-1], seconds=seconds), violation, target=goal))
    return Bounds.of(program, asked, found)


def never_positive(program: Program, family: int, d: Array) -> bool:
    """Whether a(y) d <= 0 for all y, in rational numbers: where what d moves is affine in an index.

    Along a direction that touches the boundary of the cone, as (1, 1) does for x[0] - x[1] <= 1, no rounded bound is
    ever below zero.
    """
    rows = program.families[family]
    form = affine_in(rows, d != 0)
    if form is None or not form.exact:
        return False
    for i, columns in enumerate(rows.columns):
        check("direction")
        weights = [Fraction(float(v)) for v in d[columns]]
        value = _dot(form.value[i], weights)
        slopes = [_dot(slope, weights) for slope in form.slopes(np.array([i]))[:, 0]]
        most = exact_support(rows.domain, slopes)
        if most is None or value + most > 0:
            return False
    return True


def _dot(a: Array, weights: list[Fraction]) -> Fraction:
    return sum((Fraction(float(v)) * w for v, w in zip(a, weights, strict=True) if v and w), Fraction(0))
