"""The door for people who have functions rather than expressions: `linsip`, shaped like `scipy.optimize.linprog`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from numpy.typing import ArrayLike

from ..model.arrays import Pairs, Table
from ..model.callables import Family
from ..model.program import Program
from ..solution.solution import Solution
from .method import Exchange, solve


def linsip(
    c: ArrayLike,
    families: Iterable[Family],
    A_ub: Table | None = None,
    b_ub: ArrayLike | None = None,
    A_eq: Table | None = None,
    b_eq: ArrayLike | None = None,
    bounds: Pairs | None = (0, None),
    *,
    integrality: ArrayLike | None = None,
    sense: str = "min",
    tol: float = Exchange.tol,
    method: Exchange | None = None,
    verbose: bool = False,
) -> Solution:
    """Minimise c @ x subject to a(y) @ x <= b(y) for every y of every family, and the rows of `scipy.optimize.linprog`.

    Parameters
    ----------
    c
        Objective, (n,).
    families
        Each a `Family`; none gives an ordinary linear program.
    A_ub, b_ub
        A_ub @ x <= b_ub, shapes (r, n) and (r,), dense or sparse.
    A_eq, b_eq
        A_eq @ x == b_eq.
    bounds
        A pair (lower, upper) for all variables, or one pair a variable; None for no bound. As in `linprog`, variables
        are nonnegative unless this says otherwise: give (None, None) for free ones.
    integrality
        As in `linprog`: 1 for a variable of whole values, 0 for one of any; a number for all.
    sense
        "min" or "max".
    tol
        Relative gap to reach. The `tol` of a `method` counts when this one is left alone.
    method
        An `Exchange`: the oracle, limits, a warm start.
    verbose
        Print the progress table.

    Returns
    -------
    Solution
        With `x` in the order of `c`. Certified when every family can be traced; with Lipschitz constants only where
        these are sharp enough for `tol`, which must be loose then; other black boxes only over a finite set. Where they
        are smooth, in at most three dimensions, their values are right to 1e-6 all the same, and the message says how
        accurate they probably are.

    Examples
    --------
    The polynomial of degree 2 above tan on [0, 1] with the smallest integral:

    >>> import numpy as np, lsip
    >>> above = lsip.Family(lsip.Interval(0, 1), lambda y: -(y ** np.arange(3)), lambda y: -np.tan(y[:, 0]))
    >>> solution = lsip.linsip([1, 1 / 2, 1 / 3], [above], bounds=(None, None))
    >>> solution.status.name, round(solution.value, 7)
    ('OPTIMAL', 0.6490421)
    """
    program = Program.from_arrays(c, A_ub, b_ub, A_eq, b_eq, bounds, families, sense, integrality=integrality)
    kept = method is not None and isinstance(tol, float) and tol == Exchange.tol
    options: dict[str, float] = {} if kept else {"tol": tol}
    return solve(replace(program, name="linsip"), method, verbose=verbose, **options)
