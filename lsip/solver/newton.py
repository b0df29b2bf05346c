"""Newton's method on the reduced problem: once the active index points are known, a few steps reach machine precision.

Near the solution, the continuum of constraints is equivalent to finitely many: g(y_i(x); x) <= -margin, where y_i(x)
is the local maximiser that moves with x. The first-order conditions of that problem,

    c + sum lambda_i a(y_i) + A' mu = 0,    g(y_i; x) = -margin,    grad_y g(y_i; x) = 0 in the directions y_i can move,

are solved for x, the multipliers and the points at once; each step eliminates the points through their Hessians.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..deadline import PACE, afford, afford_factors, check
from ..domains import Domain
from ..errors import OutOfTime
from ..expressions.interval import TINY
from ..masters.base import Matrix
from ..model.families import RowFamily
from ..model.program import STORAGE, Program
from ..model.violation import contract
from ..oracles import Separation
from ..oracles.base import visible
from ..oracles.bounders import convex
from ..proof.certificate import Array, Support
from .certification import attempt
from .linear_master import LinearMaster
from .relaxation import Search
from .rows import Entries, cuts_at, scattered
from .state import End, Proposal
from .tuning import Tuning

Places = list[tuple[RowFamily, NDArray[np.intp], Array]]  # components (k,) and points (k, m), family by family


class Newton:
    """Tries Newton steps from a relaxation's point: one that can be certified ends the solve, its points help anyway.

    Parameters
    ----------
    held
        The finite program, whose cuts and coordinates it uses.
    tuning
        When to try, and how long.
    """

    def __init__(self, held: LinearMaster, tuning: Tuning) -> None:
        self.program, self.held, self.tuning = held.program, held, tuning
        self.wanted, self.due, self.tried = worth_polishing(held.program, tuning.least_points), 2, 0

    def __call__(self, search: Search, separations: list[Separation]) -> End | None:
        """The end, if the point that Newton finds is one."""
        state, tuning = search.state, self.tuning
        worst = max((s.worst for s in separations), default=-np.inf)
        if not self.wanted or not state.slater or not state.proposal.bounded or worst <= state.margin / tuning.share:
            return None
        if len(state.history) < self.due or worst >= tuning.share * (self.held.scale + abs(state.proposal.value)):
            return None
        # Newton that does not help yet will not help in the very next iteration either.
        self.tried += 1
        self.due = len(state.history) + 1 + self.tried // 2
        first = replace(state.proposal, support=cluster(self.program, state.proposal.support, separations))
        try:
            polished = polish(self.program, first, state.margin, self.held.conditioning.basis(), tuning.patience)
        except OutOfTime:
            check("exchange")
            self.wanted = False  # its factors do not fit into the time that is left
            return None
        return None if polished is None else attempt(search, polished, polished.support)


def worth_polishing(program: Program, widest: int) -> bool:
    """Whether the reduced system is of a size, or a sparsity, that can be solved quickly."""
    narrow = all(f.columns.shape[1] <= widest for f in program.families)
    # Where a constraint, or each of its pieces, is affine in an index from a polytope, maximisers do not move.
    moving = any(
        not (f.linear is not None or convex(f)) or visible(f).bend(visible(f).grid(1)) is not None
        for f in program.families
    )
    return moving and (program.n <= STORAGE.most_dense or narrow)


def cluster(program: Program, support: tuple[Support, ...], found: list[Separation]) -> tuple[Support, ...]:
    """One atom for every maximiser: those that the oracle found gather the mass around them, the rest stay."""
    mass: dict[tuple[int, int], list[Support]] = {}
    maximisers: dict[tuple[int, int], list[Array]] = {}
    for s in cuts_at(found):
        maximisers.setdefault((s.family, s.component), []).append(s.point)
    widths = [np.maximum(f.domain.upper - f.domain.lower, 1e-300) for f in program.families]
    for s in sorted(support, key=lambda s: -s.multiplier):
        row, width = (s.family, s.component), widths[s.family]
        atoms, rivals = mass.setdefault(row, []), maximisers.get(row, [])
        places = [a.point for a in atoms]
        near = _nearest(places, s.point, width, 0.02)
        if near is None:
            rival = _nearest(rivals, s.point, width, 0.1)
            s = s if rival is None else replace(s, point=rivals[rival])
            near = _nearest(places, s.point, width, 0.0)
        if near is None:
            atoms.append(s)
        else:
            atoms[near] = atoms[near].weighing(atoms[near].multiplier + s.multiplier)
    every = [a for atoms in mass.values() for a in atoms]
    least = 1e-9 * sum(a.multiplier for a in every)
    return tuple(a for a in every if a.multiplier > least)


def _nearest(points: list[Array], y: Array, width: Array, reach: float) -> int | None:
    """Which of some points is next to y, if it is within reach, relative to the width of the domain."""
    if not points:
        return None
    distance = np.abs((np.array(points) - y) / width).max(axis=1)
    nearest = int(distance.argmin())
    return nearest if distance[nearest] <= reach else None


def polish(
    program: Program,
    first: Proposal,
    margin: float,
    basis: Matrix,
    steps: int,
    near: float = 0.25,
    trusted: float = 0.0,
    free: NDArray[np.bool_] | None = None,
) -> Proposal | None:
    """Polish an approximate solution by so many steps at most; None when the reduced system is not well posed.

    `basis` (n, n), dense or sparse, gives well-scaled coordinates: x = basis z. A slope that would carry a point
    farther than `near`, relative to the index set, belongs to a kink or a curved boundary: the point stays. Where
    residuals are at most `trusted`, one step more is the last, and nobody measures what it leaves. With the variables
    that are `free` given, the others stay, and a step that leads to a bound is the last one as well; before one that
    makes multipliers negative, the atom whose multiplier vanishes first has none.
    """
    if not 0 < len(first.support) <= program.n:
        return None
    x, row_multipliers, support = first.x.copy(), first.rows, sorted(first.support, key=lambda s: s.family)
    places: Places = []
    for f in sorted({s.family for s in support}):
        mine = [s for s in support if s.family == f]
        components = np.array([s.component for s in mine], dtype=np.intp)
        places.append((program.families[f], components, np.array([s.point for s in mine])))
    weight = np.array([s.multiplier for s in support])
    active = np.flatnonzero(np.abs(row_multipliers) > 1e-9 * (1 + np.abs(row_multipliers).max(initial=0.0)))
    finite = program.A[active] if sparse.issparse(basis) else program.A.toarray()[active]
    side = np.where(row_multipliers[active] > 0, program.row_upper[active], program.row_lower[active])
    span = basis[:, np.flatnonzero(movable(program, x) if free is None else free)]
    mu = row_multipliers[active]
    starts, least = np.cumsum([len(y) for _, _, y in places])[:-1], np.inf
    best: tuple[Array, Array, Array, Places] | None = None

    def found(x: Array, weight: Array, mu: Array, places: Places) -> Proposal:
        mult = np.zeros_like(row_multipliers)
        mult[active] = mu
        points = [y for _, _, part in places for y in part]
        atoms = (
            Support(s.family, s.component, y, max(float(v), 0.0))
            for s, y, v in zip(support, points, weight, strict=True)
        )
        return Proposal(x, support=tuple(atoms), rows=program.admissible(mult))

    for _ in range(steps):
        check("Newton steps")
        local = local_system(program.n, places, x, near)
        if local is None:
            return None
        a, g, jac, slopes, inverse = local
        moving = [w[:, None, None] * h for w, h in zip(np.split(weight, starts), inverse, strict=True)]
        rows = sparse.vstack([a, finite], format="csr") if sparse.issparse(basis) else np.vstack([a, finite])
        residual = np.concatenate([-margin - g, side - finite @ x])
        stationary = program.c + a.T @ weight + finite.T @ mu
        still = _times(inverse, slopes)
        error = sum(float(np.abs(v).max(initial=0.0)) for v in (span.T @ stationary, residual, still))
        if error < least and weight.min() >= -1e-9 * weight.max():
            least, best = error, (x, weight, mu, places)
        elif best is not None:
            break
        if error <= 1e-13 * (1 + np.abs(program.c).max(initial=0.0) + np.abs(g).max(initial=0.0)):
            break
        # J' (lambda_i (-H_i)^-1) J is the curvature that moving points give to x.
        move_free, rows_free = jac @ span, rows @ span
        right = np.concatenate([-span.T @ (program.c + jac.T @ _times(moving, slopes)), residual])
        step = _solve(move_free.T @ _times(moving, move_free), rows_free, right)
        if step is None:
            return None
        before = weight
        dx, weight, mu = np.split(step, [span.shape[1], span.shape[1] + len(support)])
        if free is not None and weight.min() < -1e-9 * weight.max():
            return found(x, _without_one(before, weight), mu, places)
        dx = span @ dx
        change = np.split(_times(inverse, slopes + jac @ dx), np.cumsum([y.size for _, _, y in places])[:-1])
        places = [
            (family, component, family.domain.project(y + part.reshape(y.shape)))
            for (family, component, y), part in zip(places, change, strict=True)
        ]
        there = x + dx
        x = np.clip(there, program.lower, program.upper)
        if error <= trusted or (free is not None and (x != there).any()):
            return found(x, weight, mu, places)
    return None if best is None else found(*best)


def _without_one(before: Array, after: Array) -> Array:
    """Multipliers on the way to others, some of which are negative, where the first of these vanishes."""
    share = np.where(after < 0, before / np.maximum(before - after, TINY), np.inf)
    gone = share.argmin()
    weight = before + share[gone] * (after - before)
    weight[gone] = 0.0
    return weight


def _times(blocks: list[Array], right: Matrix) -> Matrix:
    """The block-diagonal matrix of blocks (k, m, m), family by family, times a vector or a matrix."""
    if sparse.issparse(right):
        each = [sparse.bsr_matrix((b, np.arange(len(b)), np.arange(len(b) + 1))) for b in blocks]
        return sparse.block_diag(each, format="csr") @ right
    made, start = np.empty_like(right), 0
    for b in blocks:
        part = slice(start, start := start + b.shape[0] * b.shape[1])
        made[part] = (b @ right[part].reshape(*b.shape[:2], -1)).reshape(right[part].shape)
    return made


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


def movable(program: Program, x: Array) -> NDArray[np.bool_]:
    """Variables that do not sit at one of their bounds."""
    near = 1e-9 * (1 + np.abs(x))
    return (x > program.lower + near) & (x < program.upper - near)


def local_system(
    n: int, places: Places, x: Array, near: float
) -> tuple[Matrix, Array, Matrix, Array, list[Array]] | None:
    """Rows (k, n), values g (k,), all da/dy stacked (sum of m, n), all grad_y g, and (-H)^-1 of a family's points."""
    values, slopes, inverse = [], [], []
    row_entries: Entries = []
    jac_entries: Entries = []
    count = moves = 0
    for family, component, y in places:
        (k, m), columns = y.shape, family.columns[component]
        weights = np.column_stack([x[columns], np.full(k, -1.0)])
        parts = family.chosen_derivatives(y, component)
        if parts is None:
            return None
        v, d, h = parts  # (k, K + 1), (m, k, K + 1), (m (m+1) / 2, k, K + 1)
        # Where there is no derivative the point stays where it is.
        smooth = np.asarray(np.isfinite(d).all(axis=(0, 2)) & np.isfinite(h).all(axis=(0, 2)))
        d, h = np.where(smooth[:, None], d, 0.0), np.where(smooth[:, None], h, 0.0)
        slope, hessian = contract(d, h, weights)
        values.append((v * weights).sum(axis=1))
        slopes.append(slope.ravel())
        inverse.append(_move(y, slope, hessian, family.domain, near))
        row_entries.append((v[:, :-1], np.arange(count, count + k)[:, None], columns))
        every = np.arange(moves, moves + k * m).reshape(k, m, 1)
        jac_entries.append((np.moveaxis(d, 0, 1)[..., :-1], every, columns[:, None, :]))
        count, moves = count + k, moves + k * m
    rows, jac = scattered(row_entries, (count, n)), scattered(jac_entries, (moves, n))
    return rows, np.concatenate(values), jac, np.concatenate(slopes), inverse


def _interior(y: Array, domain: Domain) -> NDArray[np.bool_]:
    """Which points (k, m) are away from the curved or slanted part of their domain's boundary."""
    cells = domain.cells()
    if len(cells) == 1 and cells[0].inside is None:
        return np.ones(len(y), dtype=bool)
    result, found = np.zeros((2, len(y)), dtype=bool)
    for cell in cells:
        boxes = (cell.lower <= y[:, None]) & (y[:, None] <= cell.upper)  # (k, boxes, m)
        here = np.any(boxes.all(axis=2), axis=1) & ~found
        found |= here
        if cell.inside is None:
            result |= here
        else:
            result[here] = [float(np.min(cell.inside(p))) > 1e-9 for p in y[here]]
    return result


def _inverted(h: Array) -> tuple[Array, NDArray[np.bool_]]:
    """Inverses of symmetric matrices (k, m, m), and which of them are positive definite; others mean nothing."""
    if h.shape[-1] == 1:
        proper = h[:, 0, 0] > 1e-300
        return 1.0 / np.where(proper[:, None, None], h, 1.0), proper
    w, v = np.linalg.eigh(h)
    proper = w[:, 0] > 1e-10 * np.maximum(np.abs(w[:, -1]), 1e-300)
    return np.einsum("kij,kj,klj->kil", v, 1.0 / np.where(proper[:, None], w, 1.0), v), proper


def _slide(slope: Array, hessian: Array, normal: Array, curvature: Array) -> Array:
    """(-H)^-1 within the tangent plane of a curved boundary, or in all directions where there is no normal.

    Along the boundary, g bends by its own Hessian and, since the boundary falls away, by the slope that pushes
    outwards times the curvature. Points that are not at a proper maximum stay: zero.
    """
    m = slope.shape[1]
    push = (slope * normal).sum(axis=1)
    tangent = np.eye(m) - normal[:, :, None] * normal[:, None, :]
    h = tangent @ ((push * curvature)[:, None, None] * np.eye(m) - hessian) @ tangent
    scale = np.abs(h).max(axis=(1, 2)) + 1e-300
    h += scale[:, None, None] * normal[:, :, None] * normal[:, None, :]
    inverse, proper = _inverted(h)
    proper &= (push > 0) | (normal == 0).all(axis=1)
    return np.where(proper[:, None, None], tangent @ inverse @ tangent, 0.0)


def _move(y: Array, slope: Array, hessian: Array, domain: Domain, near: float) -> Array:
    """(-H)^-1 on the coordinates inside their range, for proper maxima; zero for points that must stay: (k, m, m)."""
    lower, upper, width = domain.lower, domain.upper, domain.upper - domain.lower
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
    inverse, proper = _inverted(h)
    inverse = np.where(both & proper[:, None, None], inverse, 0.0)
    far = (np.abs(np.einsum("kij,kj->ki", inverse, slope)) > near * width).any(axis=1)
    return np.where(far[:, None, None], 0.0, inverse)
