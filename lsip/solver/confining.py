"""Lower bounds where hundreds of variables are free, such as coefficients of rules: too many to balance exactly.

Multipliers at the centres of all index sets confine them (`lsip.proof.confinement`). A few of these are added to those
that prove a bound, and what balances them: rows that hold the slacks at the centres, which one linear program finds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from ..deadline import check
from ..expressions.interval import TINY
from ..masters.base import FiniteProgram
from ..masters.checked import open_program
from ..masters.highs import HIGHS
from ..model.counterpart import counterpart
from ..model.program import Program
from ..proof.certificate import Array, Support
from ..proof.prove import Feasible, Lower, prove_confined
from .measure import atoms
from .rows import cut_rows
from .tuning import LevelTuning


@dataclass(frozen=True, eq=False)
class Combination:
    """Multipliers with which rows add up to minus a goal, so that it is nowhere below `value`."""

    support: tuple[Support, ...]
    rows: Array  # of finite rows
    value: float = -np.inf
    mass: float = 0.0  # of multipliers of rows that are kept by a margin
    share: float = 0.0  # of the objective in it


class Confining:
    """The rows at the centres of all index sets, and what they add up to.

    Parameters
    ----------
    program
        Whose families are affine in their index.
    tuning
        How much of a gap multipliers at the centres may cost.
    """

    def __init__(self, program: Program, tuning: LevelTuning) -> None:
        self.program, self.tuning, self._whole = program, tuning, counterpart(program)
        self._central = self._whole.central()
        inner = np.flatnonzero(self._central)
        self.toll = (self._whole.A.T @ self._central)[: program.n]
        self.paid = float(self._central[inner] @ self._whole.row_upper[inner])
        self._found: Combination | None = None

    def centres(self, weight: float = 1.0) -> tuple[Support, ...]:
        """The rows at the centres, each with this multiplier."""
        return atoms(self.program, self._whole, weight * self._central)[0]

    def lower(self, dual: Combination, inner: Combination, best: Feasible, gap: float) -> Iterator[Lower]:
        """What a combination proves with more and more of the one that confines all variables."""
        least = self.tuning.spent * gap / max(self.paid - inner.value, TINY)
        for factor in self.tuning.pushes:
            check("lower bound")
            push = factor * least
            whole = 1 / (1 + push * inner.share)  # of the objective is left over
            support = [s.weighing(whole * s.multiplier) for s in dual.support]
            support += [s.weighing(whole * push * s.multiplier) for s in inner.support]
            every = (*support, *self.centres(whole * push))
            found = prove_confined(self.program, every, whole * (dual.rows + push * inner.rows), best)
            if found is not None:
                yield found

    def inner(self, cuts: Sequence[Support], best: Feasible, tol: float) -> Combination | None:
        """Rows and the objective that hold the slacks at the centres: those of the largest sum that they can have."""
        if self._found is not None:
            return self._found
        program, held = self.program, [*cuts, *self.centres()]
        rows, sides = cut_rows(program, held)
        A = sparse.csr_array(sparse.vstack([sparse.csr_array(rows), program.A, program.c[None]], format="csr"))
        upper = np.concatenate([sides, program.row_upper, [best.upper - program.constant]])
        lower = np.concatenate([np.full(len(sides), -np.inf), program.row_lower, [-np.inf]])
        finite = FiniteProgram(self.toll, program.lower, program.upper, A, lower, upper)
        found = open_program(HIGHS, finite, tol).optimum()
        if found is None:  # nothing holds them
            return None
        x, multipliers = found
        weights, of_rows, share = np.split(multipliers, [len(held), -1])
        support = tuple(s.weighing(w) for s, w in zip(held, weights.tolist(), strict=True) if w > 0)
        value = float(self.toll @ x)
        self._found = Combination(support, program.admissible(of_rows), value, share=max(float(share[0]), 0.0))
        return self._found
