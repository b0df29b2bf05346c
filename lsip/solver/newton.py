"""Newton's method on the reduced problem: once the active index points are known, a few steps reach machine precision.

Near the solution, the continuum of constraints is equivalent to finitely many: g(y_i(x); x) <= -margin, where y_i(x)
is the local maximiser that moves with x. The first-order conditions of that problem,

    c + sum lambda_i a(y_i) + A' mu = 0,    g(y_i; x) = -margin,    grad_y g(y_i; x) = 0 in the directions y_i can move,

are solved for x, the multipliers and the points at once; each step eliminates the points through their Hessians.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..deadline import PACE, afford, afford_factors, check
from ..domains import Domain
from ..errors import OutOfTime
from ..masters.base import Matrix
from ..model.families import contract
from ..model.program import STORAGE, Program
from ..oracles import Separation
from ..proof.certificate import Support
from .relaxation import Search
from .state import End, Proposal
from .tuning import NewtonTuning

Array = NDArray[np.float64]


class Newton:
    """Tries Newton steps from a relaxation's point: one that can be certified ends the solve, its points help anyway.

    Parameters
    ----------
    program
        In good units.
    scale
        The size of its right-hand sides.
    basis
        Gives well-scaled coordinates, as `polish` asks for them.
    add
        Takes index points as cuts.
    tuning
        When to try, and how long.
    """

    def __init__(
        self,
        program: Program,
        scale: float,
        basis: Callable[[], Matrix],
        add: Callable[[list[Support]], int],
        tuning: NewtonTuning,
    ) -> None:
        self.program, self.scale, self.basis, self.add, self.tuning = program, scale, basis, add, tuning
        self.wanted, self.due, self.tried = worth_polishing(program, tuning.widest), 2, 0

    def __call__(self, run: Search, separations: list[Separation]) -> End | None:
        """The end, if the point that Newton finds is one."""
        state, tuning = run.state, self.tuning
        worst = max((s.worst for s in separations), default=-np.inf)
        if not self.wanted or not state.slater or not state.proposal.bounded or worst <= tuning.nearly * state.margin:
            return None
        if len(state.history) < self.due or worst >= tuning.close * (self.scale + abs(state.proposal.value)):
            return None
        # Newton that does not help yet will not help in the very next iteration either.
        self.tried += 1
        self.due = len(state.history) + 1 + self.tried // 2
        polished = self._polished(run, cluster(self.program, state.proposal.support, separations))
        if polished is None:
            return None
        point = Proposal(polished.x, support=polished.support, rows=polished.row_multipliers)
        found = run.separate(point)
        if max((s.bound for s in found), default=-np.inf) <= 0:
            end = run.certify(point, found)
            if end is not None:
                return end
        self.add([replace(s, multiplier=0.0) for s in polished.support])
        run.add(found)
        return None

    def _polished(self, run: Search, clusters: tuple[Support, ...]) -> Polished | None:
        state, steps = run.state, self.tuning.steps
        if len(clusters) > self.program.n:
            return None
        try:
            return polish(self.program, state.x, clusters, state.proposal.rows, state.margin, self.basis(), steps)
        except OutOfTime:
            check("exchange")
            self.wanted = False  # its factors do not fit into the time that is left
            return None


@dataclass(frozen=True, eq=False)
class Polished:
    """A stationary point of the reduced problem."""

    x: Array
    support: tuple[Support, ...]
    row_multipliers: Array


def worth_polishing(program: Program, widest: int) -> bool:
    """Whether the reduced system is of a size, or a sparsity, that can be solved quickly."""
    narrow = all(f.columns.shape[1] <= widest for f in program.families)
    # Where a constraint is affine in an index from a polytope, maximisers are corners and do not move.
    moving = any(f.linear is None or f.domain.bend(f.domain.grid(1)) is not None for f in program.families)
    return moving and (program.n <= STORAGE.most_dense or narrow)


def cluster(program: Program, support: tuple[Support, ...], found: list[Separation]) -> tuple[Support, ...]:
    """One atom for every maximiser: those that the oracle found gather the mass around them, the rest stay."""
    mass: dict[tuple[int, int], list[tuple[Array, float]]] = {}
    maximisers: dict[tuple[int, int], list[Array]] = {}
    for f, separation in enumerate(found):
        for y, c in zip(separation.points, separation.components, strict=True):
            maximisers.setdefault((f, int(c)), []).append(y)
    widths = [np.maximum(f.domain.upper - f.domain.lower, 1e-300) for f in program.families]
    for s in sorted(support, key=lambda s: -s.multiplier):
        row, width = (s.family, s.component), widths[s.family]
        atoms = mass.setdefault(row, [])
        near = [float(np.abs((y - s.point) / width).max()) for y, _ in atoms]
        if near and min(near) <= 0.02:
            i = int(np.argmin(near))
            atoms[i] = (atoms[i][0], atoms[i][1] + s.multiplier)
            continue
        place = s.point
        rivals = maximisers.get(row, [])
        distance = [float(np.abs((y - s.point) / width).max()) for y in rivals]
        if distance and min(distance) <= 0.1:
            place = rivals[int(np.argmin(distance))]
        same = [i for i, (y, _) in enumerate(atoms) if (y == place).all()]
        if same:
            atoms[same[0]] = (place, atoms[same[0]][1] + s.multiplier)
        else:
            atoms.append((place, s.multiplier))
    total = sum(weight for atoms in mass.values() for _, weight in atoms)
    return tuple(
        Support(f, c, y, weight) for (f, c), atoms in mass.items() for y, weight in atoms if weight > 1e-9 * total
    )


def polish(
    program: Program,
    x: Array,
    support: tuple[Support, ...],
    row_multipliers: Array,
    margin: float,
    basis: Matrix,
    steps: int,
    near: float = 0.25,
    trusted: float = 0.0,
) -> Polished | None:
    """Polish an approximate solution by so many steps at most; None when the reduced system is not well posed.

    `basis` (n, n), dense or sparse, gives well-scaled coordinates: x = basis z. A slope that would carry a point
    farther than `near`, relative to the index set, belongs to a kink or a curved boundary: the point stays. Where
    residuals are at most `trusted`, one step more is the last, and nobody measures what it leaves.
    """
    if not support:
        return None
    points = [s.point.copy() for s in support]
    weight = np.array([s.multiplier for s in support])
    active = np.flatnonzero(np.abs(row_multipliers) > 1e-9 * (1 + np.abs(row_multipliers).max(initial=0.0)))
    finite = program.A[active] if sparse.issparse(basis) else program.A[active].toarray()
    side = np.where(row_multipliers[active] > 0, program.row_upper[active], program.row_lower[active])
    free = basis[:, np.flatnonzero(_movable(program, x))]
    mu = row_multipliers[active]
    best: tuple[float, Polished] | None = None
    x = x.copy()

    def found() -> Polished:
        mult = np.zeros_like(row_multipliers)
        mult[active] = mu
        atoms = (
            Support(s.family, s.component, y.copy(), max(float(v), 0.0))
            for s, y, v in zip(support, points, weight, strict=True)
        )
        return Polished(x.copy(), tuple(atoms), program.admissible(mult))

    for _ in range(steps):
        check("Newton steps")
        local = _local(program, support, points, x, near)
        if local is None:
            return None
        a, g, jac, grad, inverse = local
        moving = _blocks([w * h for w, h in zip(weight, inverse, strict=True)], basis)
        rows = sparse.vstack([a, finite], format="csr") if sparse.issparse(basis) else np.vstack([a, finite])
        residual = np.concatenate([-margin - g, side - finite @ x])
        stationary = program.c + a.T @ weight + finite.T @ mu
        slopes = np.concatenate(grad)
        still = _blocks(inverse, basis) @ slopes
        error = sum(float(np.abs(v).max(initial=0.0)) for v in (free.T @ stationary, residual, still))
        if np.isfinite(error) and (best is None or error < best[0]) and weight.min() >= -1e-9 * weight.max():
            best = (error, found())
        elif best is not None:
            break
        if error <= 1e-13 * (1 + np.abs(program.c).max(initial=0.0) + np.abs(g).max(initial=0.0)):
            break
        # J' (lambda_i (-H_i)^-1) J is the curvature that moving points give to x.
        move_free, rows_free = jac @ free, rows @ free
        right = np.concatenate([-free.T @ (program.c + jac.T @ (moving @ slopes)), residual])
        step = _solve(move_free.T @ (moving @ move_free), rows_free, right)
        if step is None:
            return None
        n = free.shape[1]
        dx = free @ step[:n]
        weight, mu = step[n : n + len(points)], step[n + len(points) :]
        change, start = slopes + jac @ dx, 0
        for i, y in enumerate(points):
            points[i] = y + inverse[i] @ change[start : start + len(y)]
            start += len(y)
        _project(program, support, points)
        x = np.clip(x + dx, program.lower, program.upper)
        if error <= trusted:
            return found() if weight.min() >= -1e-9 * weight.max() else None
    return None if best is None else best[1]


def _project(program: Program, support: tuple[Support, ...], points: list[Array]) -> None:
    """Bring points that have moved, in place, back into their domains."""
    for f, family in enumerate(program.families):
        mine = [i for i, s in enumerate(support) if s.family == f]
        if mine:
            for i, y in zip(mine, family.domain.project(np.array([points[i] for i in mine])), strict=True):
                points[i] = y


def _blocks(parts: list[Array], like: Matrix) -> Matrix:
    """A block-diagonal matrix, dense or sparse as `like` is."""
    if sparse.issparse(like):
        if len({p.shape for p in parts}) > 1:
            return sparse.block_diag(parts, format="csr")
        count = len(parts)
        return sparse.bsr_matrix((np.array(parts), np.arange(count), np.arange(count + 1))).tocsr()
    size = sum(len(p) for p in parts)
    out, start = np.zeros((size, size)), 0
    for p in parts:
        out[start : start + len(p), start : start + len(p)] = p
        start += len(p)
    return out


def _solve(curvature: Matrix, rows: Matrix, right: Array) -> Array | None:
    """Solve [W R'; R 0] u = right; degenerate problems have many multipliers, and least squares takes the smallest."""
    if sparse.issparse(rows):
        return _solve_sparse(curvature, rows, right)
    n, k = rows.shape[1], rows.shape[0]
    system = np.zeros((n + k, n + k))
    system[:n, :n], system[:n, n:], system[n:, :n] = curvature, rows.T, rows
    if not (np.isfinite(system).all() and np.isfinite(right).all()):
        return None
    afford((n + k) ** 3 / PACE.dense, "Newton steps")
    size = np.sqrt(np.maximum(np.abs(system).max(axis=1), 1e-300))
    scaled, scaled_right = system / size[:, None] / size[None, :], right / size
    try:
        solution = np.linalg.solve(scaled, scaled_right)
        if np.abs(scaled @ solution - scaled_right).max() <= 1e-9 * np.abs(scaled_right).max():
            return solution / size
    except np.linalg.LinAlgError:
        pass
    try:
        return np.linalg.lstsq(scaled, scaled_right, rcond=1e-13)[0] / size
    except np.linalg.LinAlgError:
        return None


def _solve_sparse(curvature: Matrix, rows: sparse.csr_matrix, right: Array) -> Array | None:
    """The same for large models: a slightly regularised factorisation, refined twice."""
    from scipy.sparse.linalg import splu

    n, k = rows.shape[1], rows.shape[0]
    system = sparse.bmat([[curvature, rows.T], [rows, None]], format="csc")
    shift = sparse.diags(np.concatenate([np.full(n, 1e-10), np.full(k, -1e-10)]), format="csc")
    afford_factors(system)
    try:
        factors = splu(system + shift)
    except RuntimeError:
        return None
    solution = factors.solve(right)
    for _ in range(2):
        solution = solution + factors.solve(right - system @ solution)
    return solution if np.isfinite(solution).all() else None


def _movable(program: Program, x: Array) -> NDArray[np.bool_]:
    """Variables that do not sit at one of their bounds."""
    near = 1e-9 * (1 + np.abs(x))
    return (x > program.lower + near) & (x < program.upper - near)


def _local(
    program: Program, support: tuple[Support, ...], points: list[Array], x: Array, near: float
) -> tuple[Any, Array, Any, list[Array], list[Array]] | None:
    """Rows (k, n), values g (k,), all da/dy stacked (sum of m, n); grad_y g and (-H)^-1 of every point."""
    k = len(support)
    g = np.zeros(k)
    starts = np.concatenate([[0], np.cumsum([len(y) for y in points])])
    grad: list[Array] = [np.zeros(0)] * k
    inverse: list[Array] = [np.zeros((0, 0))] * k
    row_entries: list[tuple[Array, Any, Any]] = []
    jac_entries: list[tuple[Array, Any, Any]] = []
    for f, family in enumerate(program.families):
        mine = np.array([i for i, s in enumerate(support) if s.family == f], dtype=np.intp)
        if not len(mine):
            continue
        y = np.array([points[i] for i in mine])
        m = y.shape[1]
        component = np.array([support[i].component for i in mine], dtype=np.intp)
        columns = family.columns[component]
        weights = np.concatenate([x[columns], np.full((len(mine), 1), -1.0)], axis=1)
        parts = family.chosen_derivatives(y, component)
        if parts is None:
            return None
        v, d, h = parts  # (k, K + 1), (m, k, K + 1), (m (m+1) / 2, k, K + 1)
        # Where there is no derivative the point stays where it is.
        smooth = np.asarray(np.isfinite(d).all(axis=(0, 2)) & np.isfinite(h).all(axis=(0, 2)))
        d, h = np.where(smooth[:, None], d, 0.0), np.where(smooth[:, None], h, 0.0)
        g[mine] = (v * weights).sum(axis=1)
        slope, hessian = contract(d, h, weights)
        inverses = _move(y, slope, hessian, family.domain, near)
        for q, place in enumerate(mine):
            grad[place], inverse[place] = slope[q], inverses[q]
        row_entries.append((v[:, :-1].ravel(), np.repeat(mine, columns.shape[1]), columns.ravel()))
        jac_entries += [
            (d[axis, :, :-1].ravel(), np.repeat(starts[mine] + axis, columns.shape[1]), columns.ravel())
            for axis in range(m)
        ]
    rows = _matrix(row_entries, (k, program.n))
    return rows, g, _matrix(jac_entries, (int(starts[-1]), program.n)), grad, inverse


def _interior(y: Array, domain: Domain) -> NDArray[np.bool_]:
    """Which points (k, m) are away from the curved or slanted part of their domain's boundary."""
    result, found = np.zeros((2, len(y)), dtype=bool)
    for cell in domain.cells():
        boxes = (cell.lower <= y[:, None]) & (y[:, None] <= cell.upper)  # (k, boxes, m)
        here = np.any(boxes.all(axis=2), axis=1) & ~found
        found |= here
        if cell.inside is None:
            result |= here
        else:
            result[here] = [float(np.min(cell.inside(p))) > 1e-9 for p in y[here]]
    return result


def _matrix(entries: list[tuple[Array, Any, Any]], shape: tuple[int, int]) -> Matrix:
    """Triplets as a matrix: dense for small models, sparse for large ones; entries at one place are added up."""
    data, i, j = (np.concatenate(part) for part in zip(*entries, strict=True))
    if shape[1] <= STORAGE.most_dense:
        out = np.zeros(shape)
        np.add.at(out, (i, j), data)
        return out
    return sparse.csr_matrix((data, (i, j)), shape=shape)


def _slide(slope: Array, hessian: Array, normal: Array, curvature: Array) -> Array:
    """(-H)^-1 within the tangent plane of a curved boundary, or in all directions where there is no normal.

    Along the boundary, g bends by its own Hessian and, since the boundary falls away, by the slope that pushes
    outwards times the curvature. Points that are not at a proper maximum stay: zero.
    """
    m = slope.shape[1]
    push = (slope * normal).sum(axis=1)
    on = (normal != 0).any(axis=1)
    tangent = np.eye(m) - normal[:, :, None] * normal[:, None, :]
    h = tangent @ ((push * curvature)[:, None, None] * np.eye(m) - hessian) @ tangent
    scale = np.abs(h).max(axis=(1, 2)) + 1e-300
    h += scale[:, None, None] * normal[:, :, None] * normal[:, None, :]
    w, v = np.linalg.eigh(h)
    proper = (w[:, 0] > 1e-10 * np.maximum(np.abs(w[:, -1]), 1e-300)) & (~on | (push > 0))
    inverse = np.einsum("kij,kj,klj->kil", v, 1.0 / np.where(proper[:, None], w, 1.0), v)
    return np.where(proper[:, None, None], tangent @ inverse @ tangent, 0.0)


def _move(y: Array, slope: Array, hessian: Array, domain: Domain, near: float) -> Array:
    """(-H)^-1 on the coordinates inside their range, for proper maxima; zero for points that must stay: (k, m, m)."""
    lower, upper = domain.lower, domain.upper
    width = upper - lower
    curved = domain.bend(y)
    if curved is not None:
        return _slide(slope, hessian, *curved)
    inside = (y > lower + 1e-9 * width) & (y < upper - 1e-9 * width)
    inside &= _interior(y, domain)[:, None]
    diagonal = np.arange(y.shape[1])
    both = inside[:, :, None] & inside[:, None, :]
    h = np.where(both, -hessian, 0.0)
    # A coordinate at its end is decoupled, with a curvature that cannot spoil the test for a proper maximum.
    scale = np.abs(h).max(axis=(1, 2)) + 1e-300
    h[:, diagonal, diagonal] = np.where(inside, h[:, diagonal, diagonal], scale[:, None])
    w, v = np.linalg.eigh(h)
    proper = w[:, 0] > 1e-10 * np.maximum(np.abs(w[:, -1]), 1e-300)
    inverse = np.einsum("kij,kj,klj->kil", v, 1.0 / np.where(proper[:, None], w, 1.0), v)
    inverse = np.where(both & proper[:, None, None], inverse, 0.0)
    far = (np.abs(np.einsum("kij,kj->ki", inverse, slope)) > near * width).any(axis=1)
    return np.where(far[:, None, None], 0.0, inverse)
