"""The numbers that masters share: what each one is, and why it has its value."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class MasterTuning:
    """How finite programs are handed to solvers, and which answers are taken.

    Parameters
    ----------
    least_coefficient
        Coefficients of a divided cut that are smaller are left out: HiGHS does so itself, and for the others it is done
        here.
    least_divisor
        Cuts are divided by their largest coefficient, and by no less than this: rows of nearly nothing stay small.
    close
        Residuals at which an answer that its solver doubts is used; the certificate checks it anyway.
    least_seconds
        The least time limit that a solver is told: some take none at all for no limit.
    interior_iterations
        Steps of HiGHS's interior point method, which is tried last: on badly scaled programs of two variables it took
        more than half a million.
    simplex_rows
        Up to so many rows, a program that is solved as a whole is begun by the simplex method: rules for inventories
        and supply chains with 200 to 1300 rows took it half as long as an interior point method, with 2500 half longer.
    integrality
        How far a whole variable may be from a whole number inside of a branch and bound, and by how much its rows may
        be broken; Gurobi takes no less. The exchange rounds, and proves what comes of it.
    cone_share, cone_accuracy
        How accurate cone programs are: this share of `tol`, but no more than what interior point methods can reach.
    gurobi_unit, usual_unit
        How many times programs are magnified for Gurobi, whose tolerances cannot be set below 1e-9, and for solvers
        that nothing is known of: tolerances of 1e-7 are usual. Powers of two, so that nothing is rounded.
    """

    least_coefficient: float = 1e-12
    least_divisor: float = 1e-8
    close: float = 1e-7
    least_seconds: float = 0.01
    interior_iterations: int = 500
    simplex_rows: int = 2000
    integrality: float = 1e-9
    cone_share: float = 1e-3
    cone_accuracy: float = 1e-11
    gurobi_unit: float = 16.0
    usual_unit: float = 1024.0


MASTERS = MasterTuning()
