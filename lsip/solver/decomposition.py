"""`decompose`: exchange over a feasible set that is known only through its linear maximisation.

The problem is min c x over x in X with a(y) x <= b(y) for all y, where X is compact and convex, too large to be written
down, but such that linear functions are easy to maximise over it; `decomposed.py` has its relaxation.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np

from ..errors import ModelError, ProofError
from ..legible import legibly
from ..model.program import Compilable, Program, compiled
from ..model.status import Status
from ..oracles import Oracle
from ..proof.families import family_bounds
from ..proof.gap import closed
from ..proof.primal import broken_rows
from ..proof.prove import upper_bound
from ..proof.rows import trusts
from ..reductions.unbounded_charts import UnboundedCharts
from ..solution.solution import Solution
from ..solution.verified import compiled_again, limited
from ..solution.verify import check_numbers
from ..validation import shown
from .decomposed import DecomposedRelaxation, least_gap
from .loop import CutLoop
from .mixture import Atom, Extreme, Maximise, MixtureCuts, beyond, mixture
from .options import Options
from .tuning import Tuning


@dataclass(frozen=True, eq=False, repr=False)
class Decomposition(Solution):
    """The answer of `decompose`: a mixture of points of X, with bounds that hold over X.

    Examples
    --------
    >>> import lsip
    >>> import numpy as np
    >>> z, t = lsip.Variable(2, name="z", lower=0, upper=1), lsip.Index("t", lsip.Interval(0, 1))
    >>> def largest(direction):  # over the probability vectors
    ...     k = int(np.argmax(direction))
    ...     return lsip.Extreme(np.eye(2)[k], bound=float(direction[k]))
    >>> problem = lsip.Problem(lsip.maximize(z[0]), [lsip.forall(t, z[0] * t <= z[1])])
    >>> mixture = lsip.decompose(problem, largest)
    >>> round(mixture.value, 6), len(mixture.atoms)
    (0.5, 2)
    """

    atoms: tuple[Atom, ...] = ()
    calls: int = 0  # of the linear maximisation
    maximise: Maximise | None = field(repr=False, default=None)  # that of the solve

    def verify(  # type: ignore[override]
        self, maximise: Maximise | None = None, *, time_limit: float | None = None
    ) -> Decomposition:
        """Re-check both bounds from the multipliers, the mixture and a fresh call of `maximise`; ProofError if not.

        Without `maximise`, that of the solve is asked again. That the atoms are points of X is taken from it. After
        `time_limit` seconds the check ends with `OutOfTime`, which says nothing about the proof.
        """
        maximise = maximise if maximise is not None else self.maximise
        if not callable(maximise):
            raise ModelError(f"verify needs the linear maximisation over X as a function; got {shown(maximise)}.")
        with limited(time_limit):
            return self._verified(maximise)

    def _verified(self, maximise: Maximise) -> Decomposition:
        program, proof = compiled_again(self, _charted), self.certificate
        check_numbers(program, proof, self.tol)
        if proof.row_multipliers.shape != (program.A.shape[0],):
            raise ProofError("The multipliers have another shape than the program asks for.")
        if proof.upper < np.inf and self.status is not Status.INFEASIBLE and proof.box.shape != (program.n,):
            raise ProofError(f"`box` needs {program.n} half-widths; it has the shape {proof.box.shape}.")
        rows = MixtureCuts(program)
        rows.add(list(proof.support))
        multipliers = np.concatenate([rows.sides(proof.row_multipliers), [s.multiplier for s in proof.support]])
        if self.status is Status.INFEASIBLE:
            if trusts(program, proof.support):
                raise ProofError("The status INFEASIBLE claims a proof, but takes constants on trust.")
            if not rows.relaxed(0.0, multipliers, maximise)[0] > 0:
                raise ProofError("The combination of constraints does not contradict itself.")
            return self
        lower = rows.relaxed(1.0, multipliers, maximise)[0]
        if not proof.lower <= lower:
            raise ProofError(f"The multipliers prove {lower:.9g}, not {proof.lower:.9g}.")
        if self.lower > self.upper:
            raise ProofError(f"The bounds contradict each other: {self.lower!r} is above {self.upper!r}.")
        if self.status is Status.OPTIMAL and not closed(proof.lower, proof.upper, self.tol, least_gap(program)):
            raise ProofError(f"The gap {self.gap:.3g} is not closed to tol = {self.tol:g}.")
        if proof.upper < np.inf:
            self._verify_mixture(program)
        return self

    def _verify_mixture(self, program: Program) -> None:
        """The point is a mixture of its atoms, keeps every constraint, and is worth what is claimed."""
        (x, box), claimed = mixture(self.atoms, program.n), self.certificate.box
        if any((beyond(program, atom.x) > atom.radius).any() for atom in self.atoms):
            raise ProofError("A point of the mixture is outside the bounds of the variables by more than its radius.")
        if not (np.abs(x - self.x) + box <= claimed).all():
            raise ProofError("The point is not the mixture of its atoms.")
        if not upper_bound(program, self.x, claimed) <= self.certificate.upper:
            raise ProofError("The objective at the point is not what is claimed.")
        bad = broken_rows(program, self.x, claimed)
        if len(bad):
            raise ProofError(f"The point is not proven to keep the finite constraint in row {bad[0]}.")
        found = family_bounds(program, self.x, claimed)
        if not found.worst <= 0:
            raise ProofError(f"A constraint over an index is not proven to hold: {found.worst:.3g}.")
        if self.certified and found.trusts:
            raise ProofError(f"The status {self.status.name} claims a proof, but takes on trust: {found.trusts[0]}")

    def save(self, path: str | Path) -> None:
        """Refused: the proof needs X, and no file without code can hold that."""
        raise ModelError(
            "A Decomposition is not saved by itself, because its proof needs the linear maximisation over X; "
            "`rl.Plan.save` keeps one of a decision process."
        )

    def export(self, path: str | Path) -> None:
        """Refused: X was never written down."""
        raise ModelError(
            "A Decomposition cannot be exported, because its program was never written down as a whole; for a decision "
            'process, method="lp" gives one that can.'
        )

    def write(self, path: str | Path) -> None:
        """Refused: X was never written down."""
        raise ModelError("The relaxations of a Decomposition have X in them, which no file can hold.")

    @legibly
    def __str__(self) -> str:
        lines = super().__str__().split("\n")
        if self.status is not Status.INFEASIBLE:
            lines.insert(3, f"mixture   of {len(self.atoms)} points, found by {self.calls} linear maximisations")
        return "\n".join(lines)

    __repr__ = __str__


def _charted(problem: Program | Compilable) -> Program:
    """The program of a problem with its rows as they are: equations that these imply belong to X, as all equalities."""
    return UnboundedCharts().apply(compiled(problem))


def decompose(
    problem: Program | Compilable,
    maximise: Maximise,
    *,
    tol: float = 1e-6,
    start: Iterable[Extreme] = (),
    oracle: Oracle | str | None = None,
    max_iterations: int = 1000,
    time_limit: float | None = None,
    seed: int = 0,
    verbose: bool = False,
) -> Decomposition:
    """Solve a problem over x in X, where X is known only through the linear maximisation `maximise`.

    Parameters
    ----------
    problem
        Objective, `forall` constraints and finite inequalities in a variable x; that x lies in X is not written in
        it. All variables need finite bounds that hold on X, with which rounding is accounted for.
    maximise
        direction (n,) -> `Extreme`: a point of X at which direction @ x is largest, and a proven bound.
    tol
        Relative gap to reach.
    start
        Points of X to begin with (their `bound` plays no part).
    oracle
        Separation over Y, as in `Exchange`.
    max_iterations, time_limit
        When to stop at the latest; seconds.
    seed
        For oracles that sample.
    verbose
        Print a line an iteration.

    Examples
    --------
    The unit disc, with its points held below a curve; linear functions are largest at their own direction:

    >>> import numpy as np, lsip
    >>> x = lsip.Variable(2, lower=-1, upper=1, name="x")
    >>> t = lsip.Index("t", lsip.Interval(0, 1))
    >>> problem = lsip.Problem(lsip.maximize(x[0] + x[1]), [lsip.forall(t, t * x[0] + (1 - t) * x[1] <= 0.6 + t**2)])
    >>> disc = lambda w: lsip.Extreme(w / np.linalg.norm(w), np.linalg.norm(w) * (1 + 1e-15))
    >>> solution = lsip.decompose(problem, disc)
    >>> solution.status.name, round(solution.value, 5)
    ('OPTIMAL', 1.39679)
    """
    # Columns come one by one: points that stay, and gaps that stay open for a while, mean nothing.
    patient = Tuning(patience=2**31)
    options = Options(oracle, tol=tol, max_iterations=max_iterations, time_limit=time_limit, seed=seed, tuning=patient)
    if not callable(maximise):
        raise ModelError(f"`maximise` is a function direction -> lsip.Extreme(x, bound); got {shown(maximise)}.")
    program = _charted(problem)
    if program.integer.any():
        raise ModelError("decompose takes no integer variables, since mixtures of its points are not whole.")
    if (program.row_lower == program.row_upper).any():
        raise ModelError("decompose takes inequalities beside x in X; equalities belong to the definition of X.")
    if not np.isfinite(np.concatenate([program.lower, program.upper])).all():
        raise ModelError("decompose needs finite bounds on every variable, valid on X: Variable(n, lower=…, upper=…).")
    if not isinstance(start, list | tuple) or not all(isinstance(point, Extreme) for point in start):
        raise ModelError(f"`start` is a list of points, lsip.Extreme(x, bound); got {shown(start)}.")
    points = tuple(start)
    run = CutLoop(
        program, options, partial(DecomposedRelaxation, program, maximise, points, options), problem, Decomposition
    )
    found = run.drive(verbose)
    assert isinstance(found, Decomposition)
    return found
