"""Coordinates in which the master is well scaled: x = T z, and the way back.

Monomials and other natural bases make rows that are nearly dependent (a Vandermonde matrix of degree 19 has condition
1e15). A QR factorisation of rows at sampled index points gives coordinates in which they are orthonormal on average.
Only free variables are mixed; bounded ones, and models with sparse rows, keep the units of the equilibrated program.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..masters.base import Matrix
from ..model.program import STORAGE, Program
from ..proof.certificate import Array
from ..proof.dual import TUNING as WEIGHING
from ..proof.linear_algebra import triangular
from .tuning import DEFAULTS, Tuning


@dataclass(frozen=True, eq=False)
class Conditioning:
    """z -> x: `scale` times z for every variable, and then a triangular factor for the mixed ones."""

    scale: Array  # (n,), x = scale * z outside the mixed block
    mixed: NDArray[np.intp]  # positions of the mixed variables
    factor: Array | None  # (k, k) upper triangular R with R x = scale * z in that block
    farthest: float  # how large x may become, in natural units, along a direction that no row sees

    @staticmethod
    def fit(program: Program, rows: Matrix, tuning: Tuning = DEFAULTS) -> Conditioning:
        """Choose coordinates from rows (N, n) seen at sampled index points, dense or sparse, and the finite ones."""
        free = np.flatnonzero(np.isinf(program.lower) & np.isinf(program.upper))
        filled = np.count_nonzero(rows) if isinstance(rows, np.ndarray) else rows.nnz
        if filled < 0.3 * rows.shape[0] * max(rows.shape[1], 1) or not 1 < len(free) <= STORAGE.most_dense:
            return Conditioning.none(program.n, tuning)
        parts = [
            part[:, free] if isinstance(part, np.ndarray) else part[:, free].toarray() for part in (rows, program.A)
        ]
        block = np.vstack(parts)
        block = block[(block**2).sum(axis=1) > 1e-200] / np.sqrt(max(len(block), 1))
        # Directions that rows hardly see are not blown up further.
        block = np.vstack([block, WEIGHING.likely * np.eye(len(free))])
        factor: Array = np.asarray(np.linalg.qr(block, mode="r"))
        diagonal = np.abs(np.diag(factor))
        if diagonal.min() > tuning.share**2 * diagonal.max():
            return Conditioning.none(program.n, tuning)
        return Conditioning(np.ones(program.n), free, factor, 1.0 / tuning.largest_margin)

    @staticmethod
    def none(n: int, tuning: Tuning = DEFAULTS) -> Conditioning:
        """The coordinates of the program itself, which is equilibrated."""
        return Conditioning(np.ones(n), np.zeros(0, dtype=np.intp), None, 1.0 / tuning.largest_margin)

    def rows(self, a: Matrix) -> Matrix:
        """Rows in x as rows in z; sparse rows stay sparse unless variables are mixed."""
        if not isinstance(a, np.ndarray):
            if self.factor is None:
                return sparse.csr_matrix(a @ sparse.diags_array(self.scale))
            a = a.toarray()
        out = a * self.scale
        if self.factor is not None and len(out):
            out[:, self.mixed] = self.scale[self.mixed] * triangular(self.factor, a[:, self.mixed].T, True).T
        return out

    def x(self, z: Array) -> Array:
        """A point in z as a point in x."""
        x: Array = self.scale * z
        if self.factor is not None:
            x[self.mixed] = triangular(self.factor, x[self.mixed])
        return x

    def stretched(self, grow: Array) -> Conditioning:
        """The same with each z_j in units `grow` times as large: room for x, and visible coefficients, far out."""
        return replace(self, scale=self.scale * grow)

    def basis(self) -> Matrix:
        """The matrix T of x = T z; sparse for large models, where nothing is mixed."""
        if len(self.scale) > STORAGE.most_dense:
            return sparse.diags(self.scale, format="csc")
        basis = np.diag(self.scale)
        if self.factor is not None:
            basis[np.ix_(self.mixed, self.mixed)] = triangular(self.factor, np.diag(self.scale[self.mixed]))
        return basis

    def reach(self, most: float) -> Array:
        """How far each z may go: `most`, but not far along directions that rows do not see at all."""
        reach = np.full(len(self.scale), most)
        if self.factor is not None:
            diagonal = np.abs(np.diag(self.factor) / self.scale[self.mixed])
            unseen = diagonal <= 3 * WEIGHING.likely * diagonal.max()
            reach[self.mixed] = np.where(unseen, np.minimum(most, self.farthest * diagonal), most)
        return reach

    def box(self, lower: Array, upper: Array, reach: Array) -> tuple[Array, Array]:
        """Bounds on z, with infinite ones replaced by `reach`."""
        lo, hi = lower / self.scale, upper / self.scale
        lo[self.mixed], hi[self.mixed] = -reach[self.mixed], reach[self.mixed]
        # A one-sided bound far from zero still leaves `reach` to the other side.
        far = np.minimum(-reach, hi - reach), np.maximum(reach, lo + reach)
        return np.where(np.isinf(lo), far[0], lo), np.where(np.isinf(hi), far[1], hi)
