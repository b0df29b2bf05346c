"""The finite linear program of an exchange: a master in well-scaled coordinates, with the cuts that it holds.

It begins with rows at a few index points, sampled so that most problems are bounded from the start, and grows with
what separation finds; cuts that have not mattered for long are forgotten.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import islice

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..deadline import EFFORT
from ..domains.lifted import lifted
from ..errors import ModelError
from ..expressions.interval import EPS
from ..masters import MasterResult, open_master
from ..masters.base import Capabilities, Master, Matrix
from ..masters.checked import linear_program
from ..masters.refined import Refined, products
from ..model.peaks import peaks
from ..model.program import STORAGE, Program
from ..oracles import Oracle, is_costly
from ..proof.certificate import Array, Support
from ..proof.dual import TUNING as WEIGHING
from ..validation import members, numbers, shown
from .conditioning import Conditioning
from .options import Options
from .rows import Known, cut_rows, first_cuts, scattered
from .sampling import SampledRows

ACCURACY = Capabilities.accuracy  # to which LP solvers keep rows


class LinearMaster:
    """A master, its cuts, and the sampled rows that it began with.

    Where an interrupt left the master with other rows than the cuts, it is built anew before it is used again.
    """

    def __init__(
        self, program: Program, oracles: list[Oracle], method: Options, earlier: Sequence[Support] = ()
    ) -> None:
        self.program, self.method, self.tuning = program, method, method.tuning
        self.sharp = False  # whether rows are evaluated with more digits than doubles need
        self.near: tuple[Array, Array] | None = None  # z and x of the point that is looked at, magnified
        first = self._given_points() or [
            np.concatenate([self._first_points(f), peaks(family)]) for f, family in enumerate(program.families)
        ]
        self.sampled = [
            SampledRows(family, points, self.tuning)
            if is_costly(oracle) and SampledRows.suits(family, self.tuning)
            else None
            for family, oracle, points in zip(program.families, oracles, first, strict=True)
        ]
        self.cuts = first_cuts(program, first)
        known = {f: sampled.first for f, sampled in enumerate(self.sampled) if sampled is not None}
        rows, rhs = self.matrix(self.cuts, known)
        if earlier:
            begun = {s.place for s in self.cuts}
            more = [s.weighing(0.0) for s in earlier if s.place not in begun]
            others, sides = self.matrix(more)
            rows = (
                sparse.vstack([rows, others], format="csr")
                if not isinstance(rows, np.ndarray)
                else np.concatenate([rows, others])
            )
            rhs, self.cuts = np.concatenate([rhs, sides]), self.cuts + more
        kept = self._movable(rows, rhs)
        rows, rhs, self.cuts = rows[kept], rhs[kept], [c for c, k in zip(self.cuts, kept, strict=True) if k]
        self.sample = self._sample_rows(rows)
        self.conditioning = Conditioning.fit(program, self.sample, method.tuning)
        self.grown, self.ill_scaled, self.inset = np.ones(program.n), False, self.tuning.visible * ACCURACY
        largest = float(np.abs(rhs).max(initial=0.0))
        if largest > 1 / EPS:
            raise ModelError(
                f"A right-hand side has the size {largest:.3g}, and LP solvers take numbers beyond 1e20 for infinite. "
                "Divide the constraint by a number of that size, or measure in other units."
            )
        self.scale = max(1.0, float(np.median(np.abs(rhs))) if len(rhs) else 1.0)
        self.reach = self.tuning.reach * max(1.0, largest)
        self._build(rows, rhs)

    @property
    def master(self) -> Master:
        """The live master, whose rows are the cuts."""
        if not self._whole:
            self._build(*self.matrix(self.cuts))
        return self._master

    def zoom(self, origin: Array, unit: float) -> None:
        """A fresh master that looks at a neighbourhood of a point, magnified, with rows as sharp as they can be had."""
        near = (origin, self.x(origin))
        self.sharp = True
        self._build(*self.matrix(self.cuts), near, unit)

    def _build(self, rows: Matrix, rhs: Array, near: tuple[Array, Array] | None = None, unit: float = 1.0) -> None:
        """A fresh master in the current coordinates, with these cuts; `near` a point, z and x, if there is a unit."""
        self._whole, self.near, program = False, near, self.program
        self.limit = self.conditioning.reach(self.reach)
        lower, upper = self.conditioning.box(program.lower, program.upper, self.limit)
        self.c = np.asarray(self.conditioning.rows(program.c[None, :])).ravel()
        self.finite, self.row_scale = program.A, np.ones(0)
        if program.A.shape[0]:
            finite = sparse.csr_matrix(self.conditioning.rows(program.A))
            largest = abs(finite).max(axis=1).toarray().ravel()
            self.row_scale = np.where(largest > 0, largest, 1.0)
            self.finite = sparse.csr_matrix(sparse.diags(1.0 / self.row_scale) @ finite)
        opened = open_master(self.method.master)
        if near is not None:
            opened = partial(Refined, make=opened, origin=near[0], unit=unit)
        self._master = opened(self.c, lower, upper, self.finite, *self.row_sides(), self.method.tol)
        conditioned = self.conditioning.rows(rows)
        self._master.add(conditioned, rhs + self._rounded_off(rows, conditioned))
        self.rhs = rhs
        self.idle = np.zeros(len(self.cuts), dtype=int)
        self._whole = True

    def _rounded_off(self, rows: Matrix, conditioned: Matrix) -> Array | float:
        """What rows in z and those in x differ by at the point that is looked at.

        Both are the same but for the rounding of coordinates, which is much beside a magnified margin.
        """
        if self.near is None:
            return 0.0
        z, x = self.near
        return np.asarray(products(conditioned, z) - products(rows, x), dtype=float)

    def row_sides(self) -> tuple[Array, Array]:
        """The sides of the finite rows as the master sees them: inequalities keep a little room.

        A solver keeps rows to its tolerance; a proof needs them to hold.
        """
        lower, upper = self.program.row_lower / self.row_scale, self.program.row_upper / self.row_scale
        if self.near is not None and len(self.row_scale):
            conditioned = sparse.csr_matrix(self.conditioning.rows(self.program.A))
            moved = self._rounded_off(self.program.A, conditioned) / self.row_scale
            lower, upper = lower + moved, upper + moved
        room = np.minimum(self.inset, 0.25 * np.where(upper > lower, upper - lower, 0.0))
        return lower + room, upper - room

    def release_rows(self) -> bool:
        """Let finite rows touch their sides, after all; whether they did not before."""
        if not self.inset or not self.program.A.shape[0]:
            return False
        self.inset = 0.0
        self._build(*self.matrix(self.cuts))
        return True

    def relax_rows(self, row_multipliers: Array, allowed: float) -> bool:
        """Give finite rows less room where it costs more than is `allowed`; whether that was needed."""
        cost = self.inset * float(np.abs(row_multipliers).sum())
        if not cost > allowed:  # nor where a master lied, so that nothing is known of it
            return False
        self.inset *= 0.5 * allowed / cost
        self._build(*self.matrix(self.cuts))
        return True

    def _given_points(self) -> list[Array] | None:
        """The first index points as the caller wants them, checked."""
        given, families = self.method.start, self.program.families
        if given is None:
            return None
        try:
            listed = islice(members("start", given, "arrays"), len(families) + 1)
            points = [np.atleast_2d(numbers(y, "`start`")) for y in listed]
        except (TypeError, ValueError):
            points = []
        fits = len(points) == len(families) and all(
            y.ndim == 2 and y.shape[1] == f.domain.dim and f.domain.contains(y).all()
            for y, f in zip(points, families, strict=True)
        )
        if not fits:
            raise ModelError(
                f"`start` needs an array (k, m) of index points for each of the {len(families)} families, inside "
                f"their domains; got {shown(given)}."
            )
        return points

    def _first_points(self, f: int) -> Array:
        """Enough index points to make the first relaxation bounded in most cases, few enough to be cheap."""
        family = self.program.families[f]
        domain, (p, k) = family.domain, family.columns.shape
        if family.linear is not None:  # the worst points come at the price of a product
            inside = [part.origin + part.place @ part.centre for part in lifted(domain) if not part.corners]
            return np.concatenate([domain.project(np.array(inside)) if inside else domain.grid(1), domain.spread(4)])
        if 2**domain.dim > STORAGE.most_dense:  # too many corners
            return domain.spread(int(np.clip(2 * k, 8, 200)))
        if p > 50 or k > STORAGE.most_dense:  # in large models the finite rows and bounds hold most variables
            return domain.grid((5 if p == 1 else 3) if domain.dim == 1 else 2)
        if domain.dim == 1:
            return domain.grid(int(np.clip(k + 1, 5, 200)))
        corners = domain.grid(3 if domain.dim == 2 else 2)
        return np.concatenate([corners, domain.spread(int(np.clip(2 * k, 8, 200)))])

    def _sample_rows(self, rows: Matrix) -> Matrix:
        """Rows at points of no period: those of a grid can make independent functions look alike."""
        if self.program.n > STORAGE.most_dense:
            return rows
        parts = [rows]
        for family, sampled in zip(self.program.families, self.sampled, strict=True):
            k = family.columns.shape[1]
            if sampled is not None:
                thin = max(sampled.table.shape[1] // int(np.clip(8 * k, 50, 400)), 1)
                table = sampled.table[:, ::thin, :-1]  # (p, N, K)
            elif len(family.columns) <= 50:
                table = np.moveaxis(family.rows(family.domain.spread(int(np.clip(2 * k, 10, 400))))[0], 1, 0)
            else:
                continue
            place = np.arange(table.shape[0] * table.shape[1]).reshape(*table.shape[:2], 1)
            parts.append(scattered([(table, place, family.columns[:, None, :])], (place.size, self.program.n)))
        return np.concatenate(parts)

    def matrix(self, cuts: list[Support], known: Known | None = None) -> tuple[Matrix, Array]:
        """Rows (k, n) and right-hand sides of cuts, as sharp as they are needed."""
        return cut_rows(self.program, cuts, known, self.sharp)

    def add(self, new: list[Support], known: Known | None = None) -> int:
        """Append cuts to the master; how many there were."""
        if not new:
            return 0
        rows, rhs = self.matrix(new, known)
        kept = self._movable(rows, rhs)
        rows, rhs, new = rows[kept], rhs[kept], [c for c, k in zip(new, kept, strict=True) if k]
        conditioned = self.conditioning.rows(rows)
        master, self._whole = self.master, False
        master.add(conditioned, rhs + self._rounded_off(rows, conditioned))
        self.cuts = self.cuts + new
        self.rhs = np.concatenate([self.rhs, rhs])
        self.idle = np.concatenate([self.idle, np.zeros(len(new), dtype=int)])
        self._whole = True
        if self.conditioning.factor is not None:
            self.ill_scaled = self.ill_scaled or bool(
                (np.abs(conditioned) > self.conditioning.farthest * self.grown).any()
            )
        return len(new)

    def _movable(self, rows: Matrix, rhs: Array) -> NDArray[np.bool_]:
        """Which rows some variable can move, or fixed ones break: what these satisfy needs no margin."""
        fixed = self.program.lower == self.program.upper
        if not fixed.any():
            return np.ones(len(rhs), dtype=bool)
        found: NDArray[np.bool_] = (abs(rows) @ (~fixed).astype(float) > 0) | (
            rows[:, fixed] @ self.program.lower[fixed] > rhs
        )
        return found

    def stretch(self, edge: NDArray[np.bool_]) -> None:
        """Begin anew in coordinates that reach farther out along those that lean on the box."""
        grow = np.where(edge, 1.0 / self.tuning.share, 1.0)
        self._whole = False
        self.grown = self.grown * grow
        self.conditioning = self.conditioning.stretched(grow)
        self._build(*self.matrix(self.cuts))

    def renew(self) -> None:
        """Begin anew in coordinates that fit the cuts as well, if some of them see what the sampled rows do not.

        Two kinks between neighbouring samples, say, differ only there; a master that takes the difference for nothing
        cannot tell them apart.
        """
        if not self.ill_scaled:
            return
        rows, rhs = self.matrix(self.cuts)
        self._whole = False
        self.sample, self.ill_scaled = np.concatenate([self.sample, rows]), False
        fitted = Conditioning.fit(self.program, self.sample, self.method.tuning)
        self.conditioning = fitted.stretched(self.grown)
        self._build(rows, rhs)

    def drop_slack(self, result: MasterResult, flat: bool) -> None:
        """Forget cuts that have not mattered for a while, once there are many.

        A cut matters by its multiplier, or by holding a variable that the objective does not see: without those that
        touch the last point, free variables would run off to the box again, and each would have to be found anew.
        """
        multipliers, tuning = result.cut_multipliers, self.tuning
        held = len(multipliers)  # cuts added since then are new, not idle
        self.idle[:held] = np.where(multipliers > 0, 0, self.idle[:held] + 1)
        # On a flat optimal face no multiplier tells which cuts hold the master in place.
        if flat or len(self.cuts) <= tuning.tries * self.program.n + STORAGE.most_dense:
            return
        keep = self.idle < tuning.tries
        if (~keep).sum() < tuning.share * len(keep):  # a smaller master costs a factorisation
            return
        keep[~keep] = self._touching([c for c, k in zip(self.cuts, keep, strict=True) if not k], self.x(result.z))
        if (~keep).sum() >= tuning.share * len(keep):
            master, self._whole = self.master, False
            master.drop(keep)
            self.cuts = [c for c, k in zip(self.cuts, keep, strict=True) if k]
            self.idle, self.rhs = self.idle[keep], self.rhs[keep]
            self._whole = True

    def _touching(self, cuts: list[Support], x: Array) -> NDArray[np.bool_]:
        """Which cuts hold with next to no room at x."""
        rows, rhs = self.matrix(cuts)
        touching: NDArray[np.bool_] = rhs - rows @ x <= WEIGHING.slope * (abs(rows) @ np.abs(x) + np.abs(rhs))
        return touching

    def x(self, z: Array) -> Array:
        """A point of the master as one of the problem, within its bounds."""
        z_near, x_near = self.near or (0.0, 0.0)
        return np.clip(x_near + self.conditioning.x(z - z_near), self.program.lower, self.program.upper)

    def smallest(self, margin: float, most: float, near: Array, moved: NDArray[np.bool_]) -> Array | None:
        """Of many optimal points, a small one: no variable is far out because nothing holds it.

        It has the least sum of |z| that keeps all cuts by `margin` and c x at most at `most`; the terms of a row are
        about 1 in z. Only some variables are `moved`; the others are what they are at the point z that it is `near`.
        """
        rows, rhs = self.matrix(self.cuts)
        parts = [self.c[None, :], self.conditioning.rows(rows), self.finite]
        A = sparse.vstack([sparse.csr_matrix(part) for part in parts], format="csr")
        if A.nnz > EFFORT.batch:
            return None
        lower, upper = self.conditioning.box(self.program.lower, self.program.upper, self.limit)
        lower, upper = np.where(moved, lower, near), np.where(moved, upper, near)
        least, largest = self.row_sides()
        found = linear_program(
            np.ones(2 * self.program.n),  # z = z+ - z-, both nonnegative
            np.concatenate([np.maximum(lower, 0.0), np.maximum(-upper, 0.0)]),
            np.concatenate([np.maximum(upper, 0.0), np.maximum(-lower, 0.0)]),
            sparse.csr_matrix(sparse.hstack([A, -A])),
            np.concatenate([np.full(1 + len(rhs), -np.inf), least]),
            np.concatenate([[most], rhs - margin, largest]),
        )
        return None if found is None else self.x(np.subtract(*np.split(found, 2))) + 0.0  # no negative zeros

    def terms(self, result: MasterResult) -> float:
        """What sides and bounds add up to without their signs, each times its multiplier."""
        sides = np.where(result.row_multipliers > 0, self.program.row_upper, self.program.row_lower)
        sides = np.where(np.isfinite(sides), sides, 0.0)  # some push a little against a side that is not there
        finite = float(np.abs(result.row_multipliers / self.row_scale) @ np.abs(sides))
        paid = float(np.abs(result.reduced_costs) @ np.abs(result.z))
        cuts = float(result.cut_multipliers @ np.abs(self.rhs[: len(result.cut_multipliers)]))
        return cuts + finite + paid + abs(self.program.constant)

    def atoms(self, result: MasterResult) -> tuple[tuple[Support, ...], Array]:
        """The multipliers of a master solution as a measure, and those of the finite rows."""
        used = np.flatnonzero(result.cut_multipliers > 0)
        support = tuple(self.cuts[i].weighing(float(result.cut_multipliers[i])) for i in used)
        return support, self.program.admissible(result.row_multipliers / self.row_scale)
