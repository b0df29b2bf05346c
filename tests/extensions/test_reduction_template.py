"""How to add a reduction: two methods, `accepts` and `apply`, and a `Map` with `forward` and `inverse`.

`apply` returns another program, which carries the way back as the last of its `maps`. `inverse` takes what is proven of
it, a `Certificate`, to the given program, and `forward` takes a warm start the other way. Whoever checks a certificate
does not know the reduction: every number must prove the same of the given program, with its rounding.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from numpy.typing import NDArray

import lsip
from lsip.proof.certificate import Array, Certificate
from lsip.proof.prove import upper_bound
from lsip.reductions.reduction import Map

from .reduction_checks import check_reduction

Ints = NDArray[np.intp]


class FreeRows:
    """Finite rows without a side, which say nothing, are left out."""

    def accepts(self, program: lsip.Program) -> bool:
        """Whether there are any; multipliers of cones would come behind those of the rows."""
        return program.cones is None and bool((np.isinf(program.row_lower) & np.isinf(program.row_upper)).any())

    def apply(self, program: lsip.Program) -> lsip.Program:
        """The program without them."""
        kept = np.flatnonzero(np.isfinite(program.row_lower) | np.isfinite(program.row_upper))
        return replace(
            program,
            A=program.A[kept],
            row_lower=program.row_lower[kept],
            row_upper=program.row_upper[kept],
            row_labels=tuple(program.row_labels[i] for i in kept) if program.row_labels else (),
            maps=(*program.maps, KeptRows(program, kept)),
        )


@dataclass(frozen=True, eq=False)
class KeptRows(Map):
    """Positions of the rows that are left; variables and families stay, and so do points, rays and atoms."""

    kept: Ints

    def forward(self, certificate: Certificate) -> Certificate:
        """Multipliers, and positions, of the rows that are left; those that are not have multipliers 0."""
        atoms, rows = len(certificate.support), certificate.row_multipliers
        return replace(
            certificate,
            row_multipliers=rows[self.kept] if len(rows) else rows,  # empty where nothing is said of rows
            dependent=np.searchsorted(self.kept, certificate.dependent),
            basis=_rows(certificate.basis, atoms, lambda i: np.searchsorted(self.kept, i)),
        )

    def inverse(self, certificate: Certificate) -> Certificate:
        """The others have multipliers 0."""
        atoms, rows = len(certificate.support), certificate.row_multipliers
        if len(rows):
            rows = np.zeros(self.given.A.shape[0])
            rows[self.kept] = certificate.row_multipliers
        return replace(
            certificate,
            row_multipliers=rows,
            dependent=self.kept[certificate.dependent],
            basis=_rows(certificate.basis, atoms, self.kept.__getitem__),
        )


def _rows(basis: Ints, atoms: int, move) -> Ints:
    """Positions in the support, which stay, then in the finite rows, which move."""
    moved, of_row = basis.copy(), basis >= atoms
    moved[of_row] = atoms + move(basis[of_row] - atoms)
    return moved


def program(sign: float, sides: tuple[tuple[float, float], ...]) -> lsip.Program:
    """Minimise x0 + x1 / 2, or maximise it, above exp on [0, 1], with sides for x0 - x1, x0 + x1 and x1."""
    x, t = lsip.Variable(2, name="x"), lsip.Index("t", lsip.Interval(0, 1))
    rows = [x[0] - x[1] <= 0, x[0] + x[1] <= 0, x[1] <= 0]
    problem = lsip.Problem(
        lsip.minimize(sign * (x[0] + x[1] / 2)), [lsip.forall(t, x[0] + x[1] * t >= np.exp(t)), *rows]
    )
    lower, upper = np.array(sides).T
    return replace(problem.compile(), row_lower=lower, row_upper=upper)


FREE = (-np.inf, np.inf)


@pytest.mark.parametrize(
    ("sign", "sides", "status"),
    [
        (1.0, (FREE, (-5.0, np.inf), (-np.inf, 1.6)), lsip.Status.OPTIMAL),
        (1.0, (FREE, FREE, (-np.inf, 1.6)), lsip.Status.OPTIMAL),
        (1.0, ((0.5, 0.5), FREE, (-5.0, 5.0)), lsip.Status.OPTIMAL),
        (1.0, (FREE, (-np.inf, 1.0), FREE), lsip.Status.INFEASIBLE),
        (-1.0, (FREE, (-5.0, np.inf), FREE), lsip.Status.UNBOUNDED),
    ],
)
def test_the_template_keeps_its_promises(sign, sides, status) -> None:
    assert check_reduction(FreeRows(), program(sign, sides)).status is status


def test_a_map_that_forgets_the_rows_is_found() -> None:
    class Forgetful(FreeRows):
        def apply(self, program):
            made = super().apply(program)
            return replace(made, maps=(*program.maps, Map(program)))

    with pytest.raises(AssertionError, match="multipliers are those of the reduced rows"):
        check_reduction(Forgetful(), program(1.0, (FREE, (-5.0, np.inf), (-np.inf, 1.6))))


class SpareVariable:
    """A last variable that is fixed at 0, and in no family, is left out."""

    def accepts(self, program: lsip.Program) -> bool:
        return program.lower[-1] == program.upper[-1] == 0 and all(
            (f.columns < program.n - 1).all() for f in program.families
        )

    def apply(self, program: lsip.Program) -> lsip.Program:
        c, lower, upper, A = program.c[:-1], program.lower[:-1], program.upper[:-1], program.A[:, :-1]
        return replace(program, c=c, lower=lower, upper=upper, A=A, maps=(*program.maps, Without(program)))


class Without(Map):
    """Points, directions and half-widths are 0 there."""

    def forward(self, certificate: Certificate) -> Certificate:
        return replace(certificate, **self._each(certificate, lambda values: values[:-1]))

    def inverse(self, certificate: Certificate) -> Certificate:
        """The objective is rounded otherwise where it has more terms: the upper bound is computed again."""
        made = replace(certificate, **self._each(certificate, lambda values: np.append(values, 0.0)))
        if made.upper < np.inf:
            above = upper_bound(self.given, made.x, made.box if len(made.box) else None)
            made = replace(made, upper=max(made.upper, above))
        return made

    @staticmethod
    def _each(certificate: Certificate, move) -> dict[str, Array]:
        parts = {name: getattr(certificate, name) for name in ("x", "box", "direction")}
        return {name: move(values) for name, values in parts.items() if values is not None and len(values)}


@pytest.mark.parametrize(("sign", "most"), [(1.0, 1.6), (1.0, -3.0), (-1.0, np.inf)])
def test_a_reduction_may_leave_variables_out(sign: float, most: float) -> None:
    x, z, t = lsip.Variable(2), lsip.Variable(lower=0, upper=0), lsip.Index("t", lsip.Interval(0, 1))
    rows = [lsip.forall(t, x[0] + x[1] * t >= np.exp(t)), x[1] + z <= most]
    problem = lsip.Problem(lsip.minimize(sign * (x[0] + x[1] / 2) + z), rows[: 1 + np.isfinite(most)])
    check_reduction(SpareVariable(), problem.compile())
