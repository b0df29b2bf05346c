"""Equilibration: the same program with variables, rows, families and an objective of about size one.

Whoever writes a model measures power in kilowatts or gigawatts, and a constraint in whatever it is written in. Nothing
that a solver decides may depend on that. So every program is equilibrated before anything is decided, and everything
that is said of it is translated back. Factors are powers of two: multiplying by them rounds nothing, and what is proven
of the one program is proven of the other, number for number.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ..lifetime import remembered
from ..model.peaks import largest
from ..model.program import Program
from ..oracles.base import reversible
from ..proof.certificate import Array, Certificate, RegionAssumption
from ..proof.region import sentence
from .curtis_reid import fitted_units, power_of_two
from .reduction import Map

LARGEST = np.finfo(float).max


class Equilibration:
    """Every program in units in which its numbers are about one, if they are doubles there."""

    def accepts(self, program: Program) -> bool:
        """Programs with cones are equilibrated where they are solved."""
        return program.cones is None

    def apply(self, program: Program) -> Program:
        """The program in these units."""
        return scaling_of(program).apply()


@dataclass(frozen=True, eq=False)
class Scaling(Map):
    """Powers of two: x = columns x', row' = rows row, rows of families likewise, objective' = objective times it."""

    columns: Array  # (n,)
    rows: Array  # (r,), of the finite rows
    families: tuple[Array, ...]  # (p,) each, of their rows
    objective: float

    @staticmethod
    def none(program: Program) -> Scaling:
        """The units that the program has."""
        families = tuple(np.ones(len(f.columns)) for f in program.families)
        return Scaling(program, np.ones(program.n), np.ones(program.A.shape[0]), families, 1.0)

    @cached_property
    def trivial(self) -> bool:
        """Whether there is nothing to do."""
        every = np.concatenate([self.columns, self.rows, *self.families, [self.objective]])
        return bool((every == 1.0).all())

    def apply(self) -> Program:
        """The program in these units."""
        program, maps = self.given, (*self.given.maps, self)
        if self.trivial:
            return replace(program, maps=maps)
        d, r, s = self.columns, self.rows, self.objective
        A = program.A
        if A.nnz:
            A = A.copy()
            A.data = A.data * np.repeat(r, np.diff(A.indptr)) * d[A.indices]  # in place: explicit zeros are kept
        return replace(
            program,
            c=s * (program.c * d),
            constant=s * program.constant,
            lower=program.lower / d,
            upper=program.upper / d,
            A=A,
            row_lower=r * program.row_lower,
            row_upper=r * program.row_upper,
            families=tuple(
                replace(family, units=f[:, None] * np.column_stack([d[family.columns], np.ones(len(f))]))
                for family, f in zip(program.families, self.families, strict=True)
            ),
            integer=np.zeros(0, dtype=bool),  # whole numbers are no longer whole in other units
            maps=maps,
        )

    def extended(self, program: Program) -> Scaling | None:
        """These units for a program that may have more families, which come last; None where they are none of it.

        They need not be the best.
        """
        known, rows = [len(f) for f in self.families], [len(f.columns) for f in program.families]
        alike = len(self.columns) == program.n and len(self.rows) == program.A.shape[0]
        if not alike or known != rows[: len(known)]:
            return None
        more = (largest(f)[0] * self.columns[f.columns] for f in program.families[len(known) :])
        sizes = [a.max(axis=1, initial=0.0) for a in more]
        new = (power_of_two(-np.log2(np.where((v > 0) & np.isfinite(v), v, 1.0))) for v in sizes)
        found = replace(self, given=program, families=(*self.families, *new))
        return found if found.exact else None

    @property
    def exact(self) -> bool:
        """Whether nothing of the program over- or underflows in these units: powers of two round nothing else."""
        program, d, r, s = self.given, self.columns, self.rows, self.objective
        A = program.A
        return (
            reversible(program.c, d, np.full(program.n, s))
            and reversible(program.lower, 1 / d)
            and reversible(program.upper, 1 / d)
            and reversible(A.data, np.repeat(r, np.diff(A.indptr)), d[A.indices])
            and reversible(program.row_lower, r)
            and reversible(program.row_upper, r)
            and reversible(np.array([program.constant]), np.array([s]))
        )

    def returns(self, certificate: Certificate) -> bool:
        """Whether a certificate of the program in these units is, number for number, one in given units."""
        with np.errstate(over="ignore", invalid="ignore"):
            again = self._moved(self._moved(certificate, 1), -1)
        one, other = (
            np.concatenate([c.x, c.box, c.row_multipliers, [a.multiplier for a in c.support]])
            for c in (certificate, again)
        )
        return np.array_equal(one, other)

    def violation(self, family: int, value: float) -> float:
        """The violation of a family in these units as one in given units, whichever of its rows it is that of."""
        return value / self._factor(family, value)

    def _factor(self, family: int, value: float) -> float:
        factors = self.families[family]
        return float(factors.max() if value <= 0 else factors.min())

    def forward(self, certificate: Certificate) -> Certificate:
        """In these units."""
        return self._moved(certificate, -1)

    def inverse(self, certificate: Certificate) -> Certificate:
        """In given units; what is said in words, and measured at the point, is said of the given program."""
        with np.errstate(over="ignore"):
            moved = self._moved(certificate, 1)
        x = np.clip(moved.x, -LARGEST, LARGEST)
        said = tuple(
            sentence(self.given, moved.radius, moved.units) if isinstance(a, RegionAssumption) else a
            for a in moved.assumptions
        )
        return replace(moved, x=x, finite_violation=max(self.given.finite_violation(x), 0.0), assumptions=said)

    def _moved(self, certificate: Certificate, way: int) -> Certificate:
        """All that factors multiply, if `way` is 1, or divide, if it is -1."""
        if self.trivial:
            return certificate
        d, r = self.columns**way, self.rows**way
        s = 1.0 if certificate.kind == "infeasible" else self.objective**way  # contradictions have no objective
        atoms, multipliers = certificate.support, certificate.row_multipliers

        def each(values: tuple[float, ...]) -> tuple[float, ...]:
            return tuple(v / self._factor(f, v) ** way for f, v in enumerate(values))

        return replace(
            certificate,
            x=d * certificate.x,
            lower=_divided(certificate.lower, s, -np.inf),
            upper=_divided(certificate.upper, s, np.inf),
            support=tuple(
                a.weighing(a.multiplier * (float(self.families[a.family][a.component]) ** way / s)) for a in atoms
            ),
            row_multipliers=multipliers * (r / s) if len(multipliers) else multipliers,
            units=d * certificate.units if len(certificate.units) else certificate.units,
            direction=None if certificate.direction is None else _unit(d * certificate.direction),
            box=d * certificate.box if len(certificate.box) else certificate.box,
            violation=each(certificate.violation),
            drift=each(certificate.drift),
        )


def _divided(bound: float, unit: float, outward: float) -> float:
    """A bound in another unit; one that underflows is moved outward."""
    value = bound / unit
    return float(np.nextafter(value, outward)) if value * unit != bound else value


def _unit(direction: Array) -> Array:
    """A direction of about unit length; a power of two rounds nothing."""
    longest = float(np.abs(direction).max(initial=0.0))
    return direction * 2.0 ** -np.round(np.log2(longest)) if 0 < longest < np.inf else direction


@remembered
def scaling_of(program: Program) -> Scaling:
    """The units in which a program is equilibrated; found once."""
    units = None if program.cones is not None else fitted_units(program)
    found = None if units is None else Scaling(program, *units)
    return found if found is not None and found.exact else Scaling.none(program)
