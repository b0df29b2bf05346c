"""Robust linear programs of growing size, solved by their makers' tools and by ours.

    max c x   with   (A_i + P_i y) x <= b_i for every y in Y and every row i,   x >= 0,

where Y is a box, a ball, or a budget of deviations. The closed form of each supremum turns them into linear or
second-order cone programs, which is what the other tools solve; ours is only told the set.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import lsip

Array = NDArray[np.float64]
KINDS = ("box", "ball", "budget")
SIZES = ((5, 5, 3), (20, 10, 5), (50, 20, 10), (100, 50, 20))  # variables, dimension of y, rows
TOL = 1e-6  # relative gap that ours must prove; the others use their solvers' defaults


@dataclass(frozen=True, eq=False)
class Robust:
    """The data of one program."""

    kind: str
    c: Array  # (n,)
    A: Array  # (rows, n)
    P: Array  # (rows, n, m)
    b: Array  # (rows,)

    @property
    def m(self) -> int:
        """The dimension of the uncertainty."""
        return int(self.P.shape[-1])

    @property
    def budget(self) -> float:
        """How many full deviations there may be at once."""
        return float(np.sqrt(self.m))


def draw(kind: str, n: int, m: int, rows: int, seed: int = 0) -> Robust:
    """Positive nominal coefficients, and deviations that grow with the root of the dimension at most."""
    rng = np.random.default_rng(seed)
    c, A = rng.uniform(0.5, 1.5, n), rng.uniform(0.5, 1.5, (rows, n))
    return Robust(kind, c, A, rng.uniform(-0.4, 0.4, (rows, n, m)) / np.sqrt(m), rng.uniform(1, 3, rows))


def by_lsip(r: Robust) -> float:
    """The model as it is written, and the value that is proven."""
    sets: dict[str, Callable[[], lsip.Domain]] = {
        "box": lambda: lsip.Box(-np.ones(r.m), np.ones(r.m)),
        "ball": lambda: lsip.Ball(np.zeros(r.m), 1.0),
        "budget": lambda: lsip.Budget(r.m, r.budget),
    }
    x, y = lsip.Variable(len(r.c), name="x", lower=0), lsip.Index("y", sets[r.kind]())
    problem = lsip.Problem(lsip.maximize(r.c @ x), [lsip.forall(y, (r.A + r.P @ y) @ x <= r.b)])
    solution = problem.solve(tol=TOL, verbose=False)
    if not solution.certified:
        raise RuntimeError(f"{r.kind} with {len(r.c)} variables ended with {solution.status.name}")
    return float(solution.value)


def by_cvxpy(r: Robust) -> float:
    """The reformulation by hand: the support function of the set, as CVXPY writes it."""
    import cvxpy as cp

    x = cp.Variable(len(r.c), nonneg=True)
    rows = []
    for a, p, b in zip(r.A, r.P, r.b, strict=True):
        d = p.T @ x
        if r.kind == "budget":
            price = cp.Variable(nonneg=True)
            worst = r.budget * price + cp.sum(cp.pos(cp.abs(d) - price))
        else:
            worst = cp.norm1(d) if r.kind == "box" else cp.norm2(d)
        rows.append(a @ x + worst <= b)
    problem = cp.Problem(cp.Maximize(r.c @ x), rows)
    problem.solve(solver=cp.CLARABEL)
    return float(problem.value)


def by_rsome(r: Robust) -> float:
    """The same model in RSOME, which reformulates it; linear programs by SciPy's HiGHS, cones by ECOS."""
    import rsome
    from rsome import eco_solver, lpg_solver, ro

    model = ro.Model()
    x, y = model.dvar(len(r.c)), model.rvar(r.m)
    norms: dict[str, Callable[[], tuple[Any, ...]]] = {
        "box": lambda: (rsome.norm(y, np.inf) <= 1,),
        "ball": lambda: (rsome.norm(y, 2) <= 1,),
        "budget": lambda: (rsome.norm(y, np.inf) <= 1, rsome.norm(y, 1) <= r.budget),
    }
    model.max(r.c @ x)
    model.st(x >= 0)
    for a, p, b in zip(r.A, r.P, r.b, strict=True):
        model.st(((a + p @ y) @ x <= b).forall(*norms[r.kind]()))
    model.solve(eco_solver if r.kind == "ball" else lpg_solver, display=False)
    return float(model.get())


def by_pyros(r: Robust) -> float:
    """The same model in Pyomo, by its robust solver with Gurobi for masters and separation."""
    import logging

    import pyomo.contrib.pyros as pyros
    import pyomo.environ as pyo

    silent = logging.getLogger("benchmarks.pyros")
    silent.setLevel(logging.CRITICAL)
    m, n = pyo.ConcreteModel(), len(r.c)
    m.x = pyo.Var(range(n), within=pyo.NonNegativeReals, initialize=0.0)
    m.y = pyo.Param(range(r.m), initialize=0.0, mutable=True)
    m.value = pyo.Objective(expr=sum(r.c[j] * m.x[j] for j in range(n)), sense=pyo.maximize)
    m.row = pyo.Constraint(
        range(len(r.b)),
        rule=lambda m, i: (
            sum((r.A[i, j] + sum(r.P[i, j, k] * m.y[k] for k in range(r.m))) * m.x[j] for j in range(n)) <= r.b[i]
        ),
    )
    eye = np.eye(r.m)
    sets: dict[str, Callable[[], Any]] = {
        "box": lambda: pyros.BoxSet([(-1, 1)] * r.m),
        "ball": lambda: pyros.EllipsoidalSet(np.zeros(r.m), eye),
        "budget": lambda: pyros.IntersectionSet(
            cube=pyros.BoxSet([(-1, 1)] * r.m), octahedron=_octahedron(r.m, r.budget, pyros)
        ),
    }
    done = pyo.SolverFactory("pyros").solve(
        model=m,
        first_stage_variables=list(m.x.values()),
        second_stage_variables=[],
        uncertain_params=[m.y],
        uncertainty_set=sets[r.kind](),
        local_solver=pyo.SolverFactory("gurobi_direct"),
        global_solver=pyo.SolverFactory("gurobi_direct"),
        objective_focus="worst_case",
        solve_master_globally=True,
        bypass_local_separation=True,
        robust_feasibility_tolerance=TOL,
        time_limit=60,
        progress_logger=silent,
    )
    if "optimal" not in str(done.pyros_termination_condition):
        raise RuntimeError(str(done.pyros_termination_condition))
    return float(pyo.value(m.value))


def _octahedron(m: int, budget: float, pyros: Any) -> Any:
    """The l1 ball as PyROS can say it: all signs, which is feasible in few dimensions only."""
    if m > 10:
        raise NotImplementedError("PyROS has no l1 ball; its 2^m faces are too many here")
    signs = np.array(np.meshgrid(*[[-1, 1]] * m)).reshape(m, -1).T
    return pyros.PolyhedralSet(signs.tolist(), [budget] * len(signs))


TOOLS: dict[str, Callable[[Robust], float]] = {
    "lsip": by_lsip,
    "CVXPY, by hand": by_cvxpy,
    "RSOME": by_rsome,
    "PyROS": by_pyros,
}
LARGEST_PYROS = 20  # variables; beyond, a solve takes minutes
