"""A conic program with cuts, solved by Clarabel a little inside of everything that has an inside.

A solver keeps constraints to some 1e-10, and a proof allows nothing. So every row in a cone keeps a distance, the
`inset`, from its boundary, and every multiplier one, the `outset`, from that of the dual cone:

    min (c + outset A' e) z   with   b - inset e - A z in K,     y = outset e + (the solver's multipliers),

where e is inside of both cones. What the insets cost in the objective is the sum of multipliers, what the outsets cost
that of slacks. All of this is in coordinates in which rows, blocks of rows and columns have entries about 1, so that
small units are not lost in the solver's tolerance; they are powers of two, and follow the last solution.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..cones import Semidefinite, grouped
from ..masters import MasterError
from ..masters.base import Backend
from ..masters.checked import open_program
from ..masters.clarabel import CLARABEL
from ..model.families import RowFamily
from ..model.program import Program
from ..proof.certificate import Array, Ints, Support
from .conic_form import ConicForm
from .rays import ROUNDED
from .rows import Known, cut_rows, first_cuts
from .tuning import Tuning

ACCURACY = np.sqrt(np.finfo(np.float64).epsneg)  # of interior-point methods: multipliers and slacks vanish together


@dataclass(frozen=True, eq=False)
class ConicAnswer:
    """What one solve says; nothing of it is proven."""

    status: str  # "optimal", "infeasible", "unbounded" or "failed"
    z: Array  # (n,), of the conic form
    rows: Array  # (q,), multipliers of its rows
    cuts: Array  # (k,), multipliers of the cuts
    value: float = np.nan  # of the objective
    price: float = 0.0  # what an inset of 1 costs
    slack: float = 0.0  # what an outset of 1 costs
    depth: float = 0.0  # how far inside of everything z is, in units of the rows
    at_artificial_bound: bool = False  # whether z touches the box


@dataclass(frozen=True, eq=False)
class _Scaled:
    """The canonical rows and the cuts in good units, with the factors that make them so."""

    A: sparse.csr_matrix
    b: Array
    cuts: sparse.csr_matrix
    rhs: Array
    factors: Array
    cut_factors: Array


class ConicCuts:
    """Constraints a(y) z <= b(y) at index points; they grow, and are forgotten when they have not mattered."""

    def __init__(self, form: ConicForm) -> None:
        program, self.form = form.program, form
        points = [
            np.zeros((0, family.domain.dim)) if f in form.families else _first_points(family)
            for f, family in enumerate(program.families)
        ]
        self.cuts = first_cuts(program, points)
        self.rows, self.rhs = self.coefficients(self.cuts)
        self.add(
            first_cuts(
                program,
                [
                    form.families[f].first_points() if f in form.families else np.zeros((0, 0))
                    for f in range(len(points))
                ],
            )
        )

    def __len__(self) -> int:
        return len(self.cuts) + sum(row.indexed for row in self.form.conic_rows)

    def coefficients(self, cuts: list[Support]) -> tuple[sparse.csr_matrix, Array]:
        """Coefficients (k, n) and right-hand sides (k,) over the columns of the conic form."""
        form = self.form
        rows, rhs = cut_rows(form.program, cuts)
        rows = sparse.csr_matrix(rows)
        more = sparse.csr_matrix((len(cuts), len(form.c) - len(form.free)))
        return sparse.csr_matrix(sparse.hstack([rows[:, form.free], more])), rhs - rows @ form.fixed

    def add(self, new: list[Support], known: Known | None = None) -> int:
        """Append constraints, as cones at index points where they are some; how many there were."""
        added = [s for s in new if s.family not in self.form.families]
        grown = self.form.grown(s for s in new if s.family in self.form.families)
        if grown is not self.form:
            wider = len(grown.c) - len(self.form.c)
            self.rows = sparse.csr_matrix(sparse.hstack([self.rows, sparse.csr_matrix((len(self.cuts), wider))]))
            self.form = grown
        if added:
            rows, rhs = self.coefficients(added)
            self.rows = sparse.csr_matrix(sparse.vstack([self.rows, rows]))
            self.rhs, self.cuts = np.concatenate([self.rhs, rhs]), self.cuts + added
        return len(new)

    def keep(self, mask: NDArray[np.bool_]) -> None:
        """Forget all others."""
        self.rows, self.rhs = self.rows[mask], self.rhs[mask]
        self.cuts = [s for s, kept in zip(self.cuts, mask, strict=True) if kept]

    @property
    def scale(self) -> float:
        """The size of the right-hand sides."""
        sizes = np.abs(self.rhs[self.rhs != 0])
        return float(np.median(sizes)) if len(sizes) else 1.0


def _first_points(family: RowFamily) -> Array:
    """Index points to begin with."""
    domain, k = family.domain, family.columns.shape[1]
    if domain.dim == 1:
        return domain.grid(int(np.clip(k + 1, 5, 50)))
    corners = [domain.grid(2)] if domain.dim <= 4 else []
    return np.concatenate([*corners, domain.spread(int(np.clip(2 * k, 8, 50)))])


class ConicMaster:
    """The relaxation of a run: its units, insets and outsets.

    Where the relaxation is unbounded, the `boxed` columns of the program, all by default, are given bounds.
    """

    def __init__(
        self, program: Program, tuning: Tuning, backend: Backend = CLARABEL, boxed: Ints | None = None
    ) -> None:
        self.tuning, self.most = tuning, ACCURACY / tuning.share**2  # of insets and outsets
        self.cuts, self.backend = ConicCuts(ConicForm.of(program)), backend
        free = self.cuts.form.free
        self.boxed = np.flatnonzero(np.isin(free, boxed)) if boxed is not None else np.arange(len(free))
        self.inset = self.outset = ACCURACY
        self.looks = self.rescales = 0
        self._shape(np.zeros(0))
        self.units = self.first = self._first_units()

    def add(self, new: list[Support], known: Known | None = None) -> int:
        """Append constraints at index points; how many there were."""
        count = self.cuts.add(new, known)
        if self.cuts.form is not self.form:
            units = self.units
            self._shape(self.turned[self.at :])
            self.first = self._first_units()
            self.units = np.concatenate([units, self.first[len(units) :]])
        return count

    def _shape(self, turned: Array) -> None:
        """What follows from the rows of the form; the factors of the first rows in cones are known."""
        self.form = form = self.cuts.form
        self.at = form.zero + form.nonneg
        self.centre = np.concatenate(
            [np.zeros(form.zero), np.ones(form.nonneg), *(cone.centre() for cone in form.cones)]
        )
        self.block = np.concatenate(
            [np.arange(self.at), *(np.full(cone.size, self.at + i) for i, cone in enumerate(form.cones))]
        ).astype(np.intp)
        self.turned = np.ones(len(form.b))  # factors of rows in semidefinite matrices M, as D M D has them
        self.turned[self.at : self.at + len(turned)] = turned

    # ---- the problems ---------------------------------------------------------------------------------------------

    def solve(self, margin: float, reach: float | None = None) -> ConicAnswer:
        """The relaxation with every cut kept by `margin` and, within `reach` units, the user's variables."""
        scaled = self._scaled(self.form.b - margin * self.form.kept, self.cuts.rows, self.cuts.rhs - margin)
        c = self.units * self.form.c
        size = float(np.abs(c).max(initial=0.0)) or 1.0
        n, k = len(c), len(self.cuts.cuts)
        box = sparse.csr_matrix((0, n))
        if reach is not None:
            box = sparse.eye_array(n, format="csr")[self.boxed]
            box = sparse.csr_matrix(sparse.vstack([box, -box]))
        rows = sparse.vstack([scaled.cuts, box])
        rhs = np.concatenate([scaled.rhs, np.full(box.shape[0], reach or 0.0)])
        status, z, y = self._run(c / size, scaled.A, scaled.b, rows, rhs, self.inset, self.outset)
        dual, weight = np.delete(y, np.s_[self.at : self.at + len(rhs)]), y[self.at : self.at + k]
        left = scaled.b - scaled.A @ z
        inside = self.centre != 0
        full = self.units * z
        return ConicAnswer(
            status,
            full,
            dual * scaled.factors * size,
            np.maximum(weight, 0.0) * scaled.cut_factors * size,
            float(self.form.c @ full) + self.form.constant,
            size * float(np.maximum(dual * self.centre, 0.0)[inside].sum()),
            size * float(np.maximum(left * self.centre, 0.0)[inside].sum()),
            at_artificial_bound=reach is not None and bool((np.abs(box @ z) >= 0.99 * reach).any()),
        )

    def deepest(self) -> ConicAnswer:
        """The point that is farthest inside of all rows and cuts at once, at most 1 in their units."""
        rows, cuts = np.ones(len(self.form.b)), np.ones(len(self.cuts.cuts))
        return self._deepest(self._scaled(self.form.b, self.cuts.rows, self.cuts.rhs), rows, 0.0 * rows, 0.0 * cuts)

    def contradiction(self, deepest: ConicAnswer) -> ConicAnswer:
        """The same where no point is inside, with multipliers that have room as far as they can.

        Along a direction in which points get farther inside of a row for ever, its multiplier has to vanish; of a cone
        they may only touch the boundary, if the direction does.
        """
        scaled = self._scaled(self.form.b, self.cuts.rows, self.cuts.rhs)
        wanted = 1e-2 * -deepest.depth / max(deepest.slack, 1.0)
        push = float(np.clip(wanted, ROUNDED, self.most / self.tuning.share))
        kept, pushed, cuts = np.ones(len(self.form.b)), self.centre != 0, np.ones(len(self.cuts.cuts), dtype=bool)
        idle = ACCURACY / self.tuning.share  # what a solver leaves, in good units, where it means zero
        for _ in range(self.tuning.patience):
            found = self._deepest(scaled, kept, push * pushed, push * cuts)
            if found.status != "unbounded":
                return found
            d = found.z / self.units
            d = d / (float(np.abs(d).max(initial=0.0)) or 1.0)
            growth = -(scaled.A @ d)
            deeper = np.where(self.centre != 0, growth, 0.0)
            for cone, rows in grouped(self.form.cones):
                deeper[self.at + rows] = -cone.shortfall(growth[self.at + rows])[:, None]
            grown = np.zeros(self.at + len(self.form.cones))
            np.add.at(grown, self.block, self.centre * growth)
            pushed = pushed & (grown <= idle)[self.block]
            kept = np.where(deeper > idle, 0.0, kept)
            cuts = cuts & (-(scaled.cuts @ d) <= idle)
        return deepest

    def _deepest(self, scaled: _Scaled, kept: Array, outset: Array, cut_outset: Array) -> ConicAnswer:
        """Rows that are not kept are replaced by ones that always hold."""
        n, k, e = len(self.units), len(self.cuts.cuts), self.centre
        A = sparse.hstack([sparse.diags_array(kept) @ scaled.A, -sparse.csr_matrix((kept * e)[:, None])])
        rows = sparse.vstack(
            [sparse.hstack([scaled.cuts, -np.ones((k, 1))]), sparse.csr_matrix(([-1.0], ([0], [n])), (1, n + 1))]
        )
        rhs, right = np.append(scaled.rhs, 1.0), np.where(kept > 0, scaled.b, e)
        tilt = rows.T @ np.append(cut_outset, 0.0)
        status, z, y = self._run(np.append(np.zeros(n), 1.0) + tilt, A, right, rows, rhs, 0.0, kept * outset)
        dual, weight = np.delete(y, np.s_[self.at : self.at + len(rhs)]), y[self.at : self.at + k] + cut_outset
        left = np.concatenate([e * (scaled.b - scaled.A @ z[:-1]), scaled.rhs - scaled.cuts @ z[:-1]])
        return ConicAnswer(
            status,
            self.units * z[:-1],
            np.where(kept > 0, dual * scaled.factors, 0.0),
            np.maximum(weight, 0.0) * scaled.cut_factors,
            slack=float(np.maximum(left, 0.0).sum()),
            depth=-float(z[-1]),
        )

    def direction(self, rows: sparse.csr_matrix, margin: float, inset: float) -> ConicAnswer:
        """The best direction of the cone of all rows, and of these further ones, within a unit box."""
        n = len(self.units)
        scaled = self._scaled(np.zeros(len(self.form.b)), rows, np.zeros(rows.shape[0]))
        box = sparse.vstack([sparse.eye_array(n), -sparse.eye_array(n)])
        rhs = np.concatenate([np.full(rows.shape[0], -margin), np.ones(2 * n)])
        c = self.units * self.form.c
        c = c / (float(np.abs(c).max(initial=0.0)) or 1.0)
        status, z, _ = self._run(c, scaled.A, scaled.b, sparse.vstack([scaled.cuts, box]), rhs, inset, 0.0)
        return ConicAnswer(status, self.units * z, np.zeros(0), np.zeros(0), float(c @ z))

    def _run(
        self,
        c: Array,
        A: sparse.csr_matrix,
        b: Array,
        rows: sparse.csr_matrix,
        rhs: Array,
        inset: float,
        outset: float | Array,
    ) -> tuple[str, Array, Array]:
        """Clarabel's answer a little inside: its status, z, and the multipliers of all rows."""
        at, e = self.at, self.centre
        data = sparse.vstack([sparse.csr_matrix(A)[:at], rows, sparse.csr_matrix(A)[at:]])
        right = b - inset * e
        everything = np.concatenate([right[:at], rhs, right[at:]])
        finite = self.form.finite(c + A.T @ (outset * e), sparse.csr_matrix(data), everything, len(rhs))
        z, y = np.zeros(len(c)), np.zeros(len(everything))
        try:
            found = open_program(self.backend, finite, ACCURACY).solve()
            status = found.status
            z, y = z if found.x is None else found.x, y if found.multipliers is None else found.multipliers.copy()
        except MasterError:
            status = "failed"
        k = len(rhs)
        y[:at] += (outset * e)[:at]
        y[at + k :] += (outset * e)[at:]
        return status, z, y

    # ---- units ----------------------------------------------------------------------------------------------------

    def _scaled(self, b: Array, cuts: sparse.csr_matrix, rhs: Array) -> _Scaled:
        """Rows, and all rows of a cone alike, with entries about 1."""
        A = sparse.csr_matrix(sparse.diags_array(self.turned) @ self.form.A @ sparse.diags_array(self.units))
        b = self.turned * b
        cuts = sparse.csr_matrix(cuts @ sparse.diags_array(self.units))
        sizes = np.zeros(self.at + len(self.form.cones))
        np.maximum.at(sizes, self.block, np.maximum(_largest(A), np.abs(b)))
        factors, cut_factors = _powers(sizes)[self.block], _powers(np.maximum(_largest(cuts), np.abs(rhs)))
        return _Scaled(
            sparse.csr_matrix(sparse.diags_array(factors) @ A),
            factors * b,
            sparse.csr_matrix(sparse.diags_array(cut_factors) @ cuts),
            cut_factors * rhs,
            factors * self.turned,
            cut_factors,
        )

    def rescale(self, found: ConicAnswer) -> bool:
        """Units after the sizes of a solution; whether it was found in units that were far off."""
        z = np.abs(found.z)
        self.looks += 1
        calm, tuning = -np.log2(self.tuning.share), self.tuning
        if self.looks > tuning.tries // 2 and (z <= self.units / tuning.share).all():
            return False
        form = self.form.boosted(found.z)
        boosted = form is not self.form
        self.form = self.cuts.form = form
        turned = self._turn(found) or boosted
        filling = self._filling(*self._terms(z))
        wanted = np.maximum(z, tuning.share**3 * np.maximum(filling, self.first))
        change = np.round(np.log2(wanted / self.units))
        self.units = np.where(np.abs(change) > calm, self.units * 2.0**change, self.units)
        moved = turned or bool((np.abs(change) > 2 * calm).any())
        self.rescales += moved
        return self.rescales <= tuning.tries and moved

    def _turn(self, found: ConicAnswer) -> bool:
        """Semidefinite matrices M as D M D, with diagonals like those of their multipliers; whether they were far off.

        An inset then costs no more than it has to, in all directions.
        """
        terms = _largest(sparse.csr_matrix(self.form.A @ sparse.diags_array(self.units)))
        left, calm, moved = np.abs(self.form.b - self.form.A @ found.z), -np.log2(self.tuning.share), False
        left = np.maximum(left, self.tuning.share**3 * terms)
        for cone, rows in grouped(self.form.cones):
            if not isinstance(cone, Semidefinite):
                continue
            column, row = np.tril_indices(cone.order)
            for mine in self.at + rows:
                sizes = [np.abs(part[mine[row == column]]) for part in (left, found.rows)]
                if not all(size.max() > 0 for size in sizes):
                    continue
                own, other = (np.log2(np.maximum(size, ACCURACY * size.max())) for size in sizes)
                power = np.round(0.25 * (other - own))
                turned = 2.0 ** (power[row] + power[column])
                if (np.abs(np.log2(turned / self.turned[mine])) > 2 * calm).any():
                    self.turned[mine], moved = turned, True
        return moved

    def _first_units(self) -> Array:
        """Units with which rows have terms of the size of their right-hand sides; 1 where that is near."""
        units = np.zeros(len(self.form.c))
        for _ in range(self.tuning.patience):
            units = np.where(units > 0, units, self._filling(*self._terms(units)))
            if (units > 0).all():
                break
        powers = np.round(np.log2(np.where(units > 0, units, 1.0)))
        return np.where(np.abs(powers) > -np.log2(self.tuning.share), 2.0**powers, 1.0)

    def _terms(self, sizes: Array) -> tuple[sparse.csr_matrix, Array]:
        """All rows, and the largest term of each, or of its cone, for variables of such sizes."""
        rows = sparse.csr_matrix(sparse.vstack([self.form.A, self.cuts.rows]))
        right = np.abs(np.concatenate([self.form.b, self.cuts.rhs]))
        terms = np.maximum(_largest(sparse.csr_matrix(rows @ sparse.diags_array(sizes))), right)
        blocks = np.zeros(self.at + len(self.form.cones))
        np.maximum.at(blocks, self.block, terms[: len(self.block)])
        terms[: len(self.block)] = blocks[self.block]
        # Rows such as x >= 0 tell nothing of the size of x.
        terms[: self.at][(np.diff(rows.indptr) <= 1)[: self.at] & (right[: self.at] == 0)] = 0.0
        return rows, terms

    def _filling(self, A: sparse.csr_matrix, terms: Array) -> Array:
        """How large each variable would have to be to fill its rows; zero where no row tells.

        A quartile is taken over its rows, because some terms vanish, as cosines do at some points.
        """
        i, j, entry = np.repeat(np.arange(A.shape[0]), np.diff(A.indptr)), A.indices, np.abs(A.data)
        telling = (entry > 0) & (terms[i] > 0)
        i, j, value = i[telling], j[telling], terms[i[telling]] / entry[telling]
        order = np.lexsort((value, j))
        names, starts, counts = np.unique(j[order], return_index=True, return_counts=True)
        filling = np.zeros(A.shape[1])
        filling[names] = value[order][starts + counts // 4]
        return filling

    def afford(self, found: ConicAnswer, budget: float) -> None:
        """Insets and outsets that cost about as much as the budget each."""
        self.inset = float(np.clip(budget / max(found.price, 1e-300), ROUNDED, self.most))
        self.outset = float(np.clip(budget / max(found.slack, 1e-300), ROUNDED, self.most))

    def margin_within(self, depth: float) -> float:
        """The margin of cuts, in their own units, that is so deep in those of the rows."""
        scaled = self._scaled(self.form.b, self.cuts.rows, self.cuts.rhs)
        factors = np.concatenate([scaled.cut_factors, scaled.factors * self.form.kept])
        return depth / float(factors.max(initial=1e-300))


def _largest(A: sparse.csr_matrix) -> Array:
    """The largest entry of every row."""
    found: Array = abs(A).max(axis=1).toarray().ravel() if A.shape[0] and A.shape[1] else np.zeros(A.shape[0])
    return found


def _powers(sizes: Array) -> Any:
    """Powers of two that bring sizes near 1."""
    found: Any = 2.0 ** -np.round(np.log2(np.where(sizes > 0, sizes, 1.0)))
    return found
