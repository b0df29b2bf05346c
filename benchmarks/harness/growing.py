"""The models of the benchmark `growth`: each is one kind in many sizes, beside what a user would pick instead.

A `Series` has a function that builds the model of a size, and one that solves it with another tool. `@grows` puts it
into `SERIES`; nothing else has to be changed for a new one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

import lsip

from . import linear

Array = NDArray[np.float64]
Rival = Callable[[int], float]  # a size: the value that the other tool found
TARGET = 1e-8  # the violation at which an adaptive grid stops, which is the default tolerance of ours


@dataclass(frozen=True)
class Series:
    """One kind of model in many sizes."""

    name: str
    build: Callable[[int], Any]  # a size: what has a method `solve`
    sizes: tuple[int, ...]
    size: str  # what the size counts
    rival: Rival | None
    tool: str  # what the rival is
    exponent: float | None = None  # of processor time in the size, at most
    factor: float | None = None  # times the rival's processor time, at most, at the largest size


SERIES: dict[str, Series] = {}


def grows(
    sizes: tuple[int, ...], size: str, rival: Rival | None = None, tool: str = "", **goals: float
) -> Callable[[Callable[[int], Any]], Callable[[int], Any]]:
    """Add the decorated function, which builds the model of a size, under its name."""

    def register(build: Callable[[int], Any]) -> Callable[[int], Any]:
        SERIES[build.__name__] = Series(build.__name__, build, sizes, size, rival, tool, **goals)
        return build

    return register


def adaptive(
    c: Array, bounds: tuple[Array, Array], rows: Callable[[Array], tuple[Array, Array]], m: int, side: int = 31
) -> Array:
    """The point that an adaptive grid over the unit cube ends at: HiGHS, and the refined maxima of a fine grid.

    `rows(y)` are coefficients (N, n) and right-hand sides (N,) of rows a x <= b.
    """
    mesh = np.stack(np.meshgrid(*[np.linspace(0, 1, side)] * m, indexing="ij"), axis=-1).reshape(-1, m)
    known, free = rows(mesh), np.stack(np.meshgrid(*[np.linspace(-1, 1, 5)] * m, indexing="ij"), axis=-1).reshape(-1, m)
    a, b = (part[:: max(len(mesh) // 25, 1)] for part in known)
    for _ in range(200):
        sides = np.full(len(b), -np.inf), b
        status, x = linear.solve(c, bounds, linear.compressed(a), sides, linear.DEFAULT)
        if status != "optimal":
            raise ValueError(f"HiGHS ended with {status}")
        height = known[0] @ x - known[1]
        some = mesh[np.argsort(-height)[:40]]
        for width in 0.4 ** np.arange(12) / (side - 1):
            near = np.clip(some[:, None] + width * free, 0, 1)
            part = rows(near.reshape(-1, m))
            value = (part[0] @ x - part[1]).reshape(len(some), -1)
            some = near[np.arange(len(some)), value.argmax(axis=1)]
        if value.max() <= TARGET:
            return x
        best = np.unique(np.round(some[value.max(axis=1) > TARGET], 9), axis=0)
        more = rows(best)
        a, b = np.concatenate([a, more[0]]), np.concatenate([b, more[1]])
    raise ValueError("200 rounds did not do")


def _masts(n: int) -> Array:
    return np.random.default_rng(0).uniform(0, 1, (n, 2))


def _masts_by_grid(n: int) -> float:
    centres = _masts(n)

    def rows(y: Array) -> tuple[Array, Array]:
        apart = (y**2).sum(axis=1)[:, None] + (centres**2).sum(axis=1) - 2 * y @ centres.T
        return np.exp(-20 * apart), np.full(len(y), 3.0)

    return float(adaptive(-np.ones(n), (np.zeros(n), np.ones(n)), rows, 2).sum())


@grows((100, 200, 500, 1000, 2000, 5000), "columns", _masts_by_grid, "adaptive grid, HiGHS", exponent=1.3, factor=3.0)
def masts(n: int) -> lsip.Problem:
    """README's model: masts whose field stays below a limit everywhere."""
    centres, x = _masts(n), lsip.Variable(n, name="x", lower=0, upper=1)
    y = lsip.Index("y", lsip.Box([0, 0], [1, 1]))
    field = np.exp(-20 * ((y - centres) ** 2).sum(axis=-1)) @ x
    return lsip.Problem(lsip.maximize(x.sum()), [lsip.forall(y, field <= 3)])


def _fits_by_grid(k: int) -> float:
    speed, mesh = 3 + np.arange(k) / k, np.linspace(0, 1, 101)
    c = np.tile([1, 0.5, 1 / 3], k)
    matrix = sparse.csr_matrix((np.ones(k), (np.zeros(k, dtype=int), 3 * np.arange(k))), (1, 3 * k))
    own, t = np.repeat(np.arange(k), 5), np.tile(np.linspace(0, 1, 5), k)
    low, high = np.full(1, -np.inf), np.full(1, 2.0 * k)
    for _ in range(100):
        entries = np.stack([np.ones(len(t)), t, t**2], axis=1).ravel()
        columns = (3 * own[:, None] + np.arange(3)).ravel()
        rows = sparse.csr_matrix((entries, columns, np.arange(0, 3 * len(t) + 1, 3)), (len(t), 3 * k))
        matrix = sparse.vstack([matrix, rows], format="csr")
        low, high = np.append(low, np.sin(speed[own] * t)), np.append(high, np.full(len(t), np.inf))
        ends = np.full(3 * k, -np.inf), np.full(3 * k, np.inf)
        status, x = linear.solve(c, ends, matrix, (low, high), linear.DEFAULT)
        if status != "optimal":
            raise ValueError(f"HiGHS ended with {status}")
        fit = x.reshape(k, 3)

        def height(t: Array, fit: Array = fit) -> Array:
            return np.sin(speed[:, None] * t) - (fit[:, :1] + fit[:, 1:2] * t + fit[:, 2:] * t**2)

        worst = mesh[height(np.broadcast_to(mesh, (k, 101))).argmax(axis=1)]
        for width in 0.01 * 0.4 ** np.arange(12):
            near = np.clip(worst[:, None] + width * np.linspace(-1, 1, 5), 0, 1)
            worst = near[np.arange(k), height(near).argmax(axis=1)]
        own = np.flatnonzero(height(worst[:, None])[:, 0] > TARGET)
        if not len(own):
            return float(c @ x)
        t = worst[own]
    raise ValueError("100 rounds did not do")


@grows((30, 100, 300, 1000, 3000, 10_000), "fits", _fits_by_grid, "adaptive grid, HiGHS", exponent=1.2, factor=3.0)
def fits(k: int) -> lsip.Problem:
    """Independent fits from above of three coefficients each, and one row in which all of them occur."""
    x, t = lsip.Variable((k, 3), name="x"), lsip.Index("t", lsip.Interval(0, 1))
    above = [lsip.forall(t, x[i, 0] + x[i, 1] * t + x[i, 2] * t**2 >= np.sin((3 + i / k) * t)) for i in range(k)]
    return lsip.Problem(lsip.minimize((x @ np.array([1, 0.5, 1 / 3])).sum()), [*above, x[:, 0].sum() <= 2 * k])


def _by_clarabel(model: Callable[[int], Any]) -> Rival:
    """The value of a model in CVXPY, by Clarabel."""

    def solve(size: int) -> float:
        import cvxpy as cp

        problem = model(size)
        problem.solve(solver=cp.CLARABEL)
        return float(problem.value)

    return solve


def _regression(n: int) -> tuple[Array, Array]:
    rng = np.random.default_rng(3)
    return rng.normal(size=(5 * n, n)), rng.normal(size=5 * n)


def _least_squares(n: int) -> Any:
    import cvxpy as cp

    A, b = _regression(n)
    return cp.Problem(cp.Minimize(cp.norm(A @ cp.Variable(n) - b)))


@grows((20, 50, 100, 200), "columns", _by_clarabel(_least_squares), "CVXPY, Clarabel", factor=5.0)
def least_squares(n: int) -> lsip.Problem:
    """The norm of five times as many residuals as there are coefficients."""
    A, b = _regression(n)
    return lsip.Problem(lsip.minimize(np.linalg.norm(A @ lsip.Variable(n, name="x") - b)), [])


def _uncertain(n: int) -> tuple[Array, Array, Array]:
    rng, rows = np.random.default_rng(5), 5 * n // 2
    return rng.normal(size=(rows, n)), rng.normal(size=rows), 0.1 * rng.normal(size=(2, rows, n))


def _robust_least_squares(n: int) -> Any:
    import cvxpy as cp

    (A, b, moves), x = _uncertain(n), cp.Variable(n)
    corners = [(A + u * moves[0] + v * moves[1]) @ x - b for u in (-1, 1) for v in (-1, 1)]
    return cp.Problem(cp.Minimize(cp.maximum(*(cp.norm(corner) for corner in corners))))


@grows((10, 20, 40, 80), "columns", _by_clarabel(_robust_least_squares), "corners, Clarabel", factor=5.0)
def robust_least_squares(n: int) -> lsip.Problem:
    """Residuals whose data move with two coordinates of a box; the rival has its corners."""
    (A, b, moves), x, t = _uncertain(n), lsip.Variable(n, name="x"), lsip.Variable(name="t")
    u = lsip.Index("u", lsip.Box([-1, -1], [1, 1]))
    residual = A @ x - b + u[0] * (moves[0] @ x) + u[1] * (moves[1] @ x)
    return lsip.Problem(lsip.minimize(t), [lsip.forall(u, np.linalg.norm(residual) <= t)])


def _symmetric(k: int, n: int = 10) -> Array:
    M = np.random.default_rng(4).normal(size=(n + 1, k, k))
    return np.asarray((M + M.transpose(0, 2, 1)) / 2)


def _largest_eigenvalue(k: int) -> Any:
    import cvxpy as cp

    M, x = _symmetric(k), cp.Variable(10)
    return cp.Problem(cp.Minimize(cp.lambda_max(M[0] + sum(x[i] * M[i + 1] for i in range(10)))), [x >= -1, x <= 1])


@grows((10, 20, 40, 60), "rows of the matrix", _by_clarabel(_largest_eigenvalue), "CVXPY, Clarabel", factor=5.0)
def eigenvalue(k: int) -> lsip.Problem:
    """The least largest eigenvalue of matrices that are affine in ten variables."""
    M, x, e = _symmetric(k), lsip.Variable(10, name="x", lower=-1, upper=1), lsip.Variable(name="e")
    return lsip.Problem(lsip.minimize(e), [lsip.psd(e * np.eye(k) - (M[0] + sum(x[i] * M[i + 1] for i in range(10))))])


def _bars(free: int) -> tuple[Array, Array, Array]:
    """Stiffness of the bars of a truss in two rows of nodes, their lengths, and the load: `free` degrees of freedom."""
    across = free // 4 + 1
    nodes = np.array([(i, j) for i in range(across) for j in range(2)], dtype=float)
    pairs = [(a, b) for a in range(len(nodes)) for b in range(a) if np.abs(nodes[a] - nodes[b]).max() <= 1 and a > 1]
    rods = np.zeros((len(pairs), 2 * len(nodes)))
    for rod, (a, b) in zip(rods, pairs, strict=True):
        way = (nodes[a] - nodes[b]) / np.linalg.norm(nodes[a] - nodes[b])
        rod[2 * a : 2 * a + 2], rod[2 * b : 2 * b + 2] = way, -way
    load = np.zeros(2 * len(nodes))
    load[-1] = -1.0
    lengths = np.array([np.linalg.norm(nodes[a] - nodes[b]) for a, b in pairs])
    rods = rods[:, 4:]
    return rods[:, :, None] * rods[:, None, :] / lengths[:, None, None] ** 2, lengths, load[4:]


def _truss(free: int) -> Any:
    import cvxpy as cp

    stiff, _, load = _bars(free)
    x, tau = cp.Variable(len(stiff), nonneg=True), cp.Variable()
    K = sum(x[i] * stiff[i] for i in range(len(stiff)))
    matrix = cp.bmat([[cp.reshape(tau, (1, 1), order="C"), load[None]], [load[:, None], K]])
    return cp.Problem(cp.Minimize(tau), [matrix >> 0, cp.sum(x) <= 1])


@grows((8, 12, 18, 24), "degrees of freedom", _by_clarabel(_truss), "CVXPY, Clarabel", factor=5.0)
def truss(free: int) -> lsip.Problem:
    """The stiffest truss of a volume: one semidefinite matrix with a row more than there are degrees of freedom."""
    stiff, _, load = _bars(free)
    x, tau = lsip.Variable(len(stiff), name="x", lower=0), lsip.Variable(name="tau")
    size = len(load) + 1
    parts = np.zeros((len(stiff), size, size))
    parts[:, 1:, 1:] = stiff
    corner, fixed = np.zeros((size, size)), np.zeros((size, size))
    corner[0, 0], fixed[0, 1:], fixed[1:, 0] = 1.0, load, load
    matrix = tau * corner + fixed + sum(x[i] * parts[i] for i in range(len(stiff)))
    return lsip.Problem(lsip.minimize(tau), [lsip.psd(matrix), x.sum() <= 1])


def _remez(taps: int) -> float:
    from scipy.signal import remez

    h = remez(taps, [0, 0.2 * np.pi, 0.23 * np.pi, np.pi], [1, 0], fs=2 * np.pi, maxiter=100)
    w = np.linspace(0, 0.2 * np.pi, 4 * taps)
    return float(np.abs(np.abs(np.exp(-1j * np.outer(w, np.arange(taps))) @ h) - 1).max())


@grows((101, 201, 401, 601, 997, 999, 1501, 2001), "taps", _remez, "scipy.signal.remez")
def filters(taps: int) -> lsip.Problem:
    """Low-pass filters with linear phase between fixed bands, whose errors soon are below the rounding of doubles."""
    h, e, k = lsip.Variable((taps + 1) // 2, name="h"), lsip.Variable(name="e"), np.arange((taps + 1) // 2)
    u, v = lsip.Index("u", lsip.Interval(0, 0.2 * np.pi)), lsip.Index("v", lsip.Interval(0.23 * np.pi, np.pi))
    near_one, near_zero = abs(np.cos(k * u) @ h - 1), abs(np.cos(k * v) @ h)
    return lsip.Problem(lsip.minimize(e), [lsip.forall(u, near_one <= e), lsip.forall(v, near_zero <= e)])
