"""The answers of CVXPY models: lsip's `Solution`, asked for CVXPY variables."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import ModelError
from ...oracles import Oracle
from ...solution.solution import Solution
from .package import cp
from .rule import Rule, decided, rules_in

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class ModelSolution(Solution):
    """A solution of a CVXPY model: `solution[x]` for CVXPY variables and expressions.

    `x`, `program` and `certificate` are about the canonical program that CVXPY makes of the model.
    """

    values: dict[int, Array] = field(default_factory=dict)  # of the CVXPY variables, by id
    written: Any = field(repr=False, default=None)  # the CVXPY model

    @property
    def problem(self) -> Any:
        """The model as it was written, with CVXPY."""
        return self.written

    def __getitem__(self, item: cp.Expression) -> Any:
        """The value of a CVXPY variable or expression at this solution, whatever was solved since.

        Of a rule, the rule that was found.
        """
        if not isinstance(item, cp.Expression):
            raise ModelError(f"solution[…] takes a CVXPY variable or expression; got {type(item).__name__}.")
        missing = [v.name() for v in decided(item.variables()) if v.id not in self.values]
        if missing:
            raise ModelError(f"{', '.join(missing)} has no value in this solution ({self.status.name}).")
        if isinstance(item, Rule):
            return item.found(self.values[item.behind.id])
        for rule in rules_in(item.variables()):
            raise ModelError(f"{item} depends on an index; solution[…] takes the rule {rule} itself, or what has none.")
        if isinstance(item, cp.Variable):
            return self.values[item.id].copy()
        return item.tree_copy({id(v): cp.Constant(self.values[v.id]) for v in item.variables()}).value

    def verify(
        self,
        tol: float | None = None,
        *,
        atol: float | None = None,
        oracle: Oracle | None = None,
        time_limit: float | None = None,
    ) -> ModelSolution:
        """Re-check the proof from the certificate alone, without a solver and without CVXPY; ProofError if it fails."""
        super().verify(tol, atol=atol, oracle=oracle, time_limit=time_limit)
        return self


@dataclass(frozen=True, eq=False, repr=False)
class ConvexSolution(ModelSolution):
    """A solution of a CVXPY model with a convex finite part.

    Its `program` has `cones`, and what is proven is proven of them: `x` is a point of CVXPY's canonical form, epigraph
    variables included, and keeps every row, cone and index exactly, or lies within `certificate.box` of one that does;
    the multipliers lie in the dual cones, and balance exactly.
    """

    def save(self, path: str | Path) -> None:
        """Refused: the proof is about a CVXPY model, and no file without code can hold that."""
        raise ModelError(
            "A solution of a convex CVXPY model is not saved, because its proof needs the model. Save the "
            "values of the variables, and solve again where the proof is wanted."
        )
