"""How to add a bounder: this file is a complete one.

A bounder says how large rows a(y) x - b(y) may be over a box of index points; the box search does the rest.

1. Subclass `Bounder`, or `QuadraticBounder` where rows over a box are quadratics but for an error. `enclose` says what
   is kept of boxes whatever x is, at least `lower`, `upper`, `rough` and `pays`; `bound` gives, for the weights (x, -1)
   of every row and all others within their `spread`, bounds that hold on the whole box, and points where rows may be as
   large. It may return None: "not here"; then the search goes on with Taylor expansions.
2. Bounds are proofs: outward rounded, and never below a value that is attained. Points and models are guesses.
3. A bounder may ask another about the same boxes, and take the better bound of both, as here: what is kept of a box is
   shared. `Bernstein` does so with `Taylor`.
4. Put it in `lsip/oracles/<name>.py`, and say in `lsip/oracles/bounders.py` where it begins, or where it is sharper: by
   what it can do, not by sizes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lsip
from lsip.domains import Cell
from lsip.oracles import BranchAndBound
from lsip.oracles.base import Array, Pieces, Rows
from lsip.oracles.bounder import Bounder, BoxBounds, BoxView, swing
from lsip.oracles.partition import BoxPartition
from lsip.oracles.taylor import Taylor


class Natural(Bounder):
    """Enclosures of all coefficients over a box, times the weights: what interval arithmetic gives."""

    def enclose(self, lower: Array, upper: Array, pieces: Pieces) -> dict[str, Any]:
        return {"lower": lower, "upper": upper, "rough": np.zeros_like(lower), "pays": upper - lower}

    def bound(self, boxes: BoxView, weights: Array, spread: Array | None) -> BoxBounds | None:
        if self.cell.place is not None:
            return None  # boxes are not of the index, but of other coordinates
        (n, _), p = boxes["lower"].shape, self.p
        lower, upper = (np.repeat(boxes[end], p, axis=0) for end in ("lower", "upper"))
        component = np.tile(np.arange(p), n)
        a, b = self.family.enclosed(lower, upper, component)
        with np.errstate(all="ignore"):
            total = (a * weights[component, :-1]).sum() + b * weights[component, -1]
        top = total.hi if spread is None else total.hi + swing(self.family, boxes["lower"], boxes["upper"], spread)
        centre = 0.5 * boxes["lower"] + 0.5 * boxes["upper"]
        coefficients, rhs = self.family.rows(centre)
        model = (coefficients * weights[:, :-1]).sum(axis=-1) + rhs * weights[:, -1]
        known = np.where(np.isfinite(top), top, np.inf).reshape(n, p)
        return BoxBounds(np.nextafter(known, np.inf), np.repeat(centre[:, None], p, axis=1), model)

    def other(self, family: Rows) -> Natural:
        return Natural(family, self.cell)


class Better(Taylor):
    """The better one of both bounds on every box."""

    def bound(self, boxes: BoxView, weights: Array, spread: Array | None) -> BoxBounds | None:
        found = super().bound(boxes, weights, spread)
        other = Natural(self.family, self.cell).bound(boxes, weights, spread)
        if found is None or other is None:
            return found
        return found._replace(upper=np.minimum(found.upper, other.upper))


def problem() -> lsip.Problem:
    """The least line above a curve."""
    t, x = lsip.Index("t", lsip.Interval(0, 1)), lsip.Variable(2, name="x", lower=-9, upper=9)
    return lsip.Problem(lsip.minimize(x[0] + x[1] / 2), [lsip.forall(t, x[0] + x[1] * t >= np.exp(t) * np.sin(3 * t))])


@pytest.mark.parametrize("kind", [Natural, Better])
def test_bounds_hold_and_become_sharp(kind: type[Bounder]) -> None:
    family, rng = problem().compile().families[0], np.random.default_rng(0)
    boxes = BoxPartition(kind(family, family.domain.cells()[0]))
    for spread in (None, np.full((1, 3), 0.01)):
        weights = rng.normal(size=(1, 3))
        found = boxes.bounds(weights, spread=spread)
        assert found is not None
        y = boxes.lower + rng.random((50, boxes.n, 1)) * (boxes.upper - boxes.lower)
        a, b = family.rows(y.reshape(-1, 1))
        moved = weights if spread is None else weights + spread * rng.choice([-1.0, 1.0], size=(1, 3))
        values = (np.concatenate([a, b[..., None]], axis=-1) * moved).sum(axis=-1).reshape(50, -1)
        assert (values <= found.upper[:, 0]).all()
        assert (found.upper[:, 0] - values.max(axis=0)).max() < 1.0


@pytest.mark.parametrize("kind", [Natural, Better])
def test_the_template_proves_what_the_solver_asks(kind: type[Bounder], monkeypatch: pytest.MonkeyPatch) -> None:
    def chosen(family: Rows, domain: lsip.Domain) -> list[BoxPartition]:
        return [BoxPartition(kind(family, cell)) for cell in domain.flat_cells()]

    monkeypatch.setattr("lsip.oracles.memory.partitions", chosen)
    found, known = problem().solve(verbose=False, tol=1e-3), problem()
    program = known.compile()
    violation = program.violation(0, np.asarray(found.x))
    assert found.certified
    assert BranchAndBound().maximise(violation).bound <= found.max_violation + 1e-9
    assert found.value == pytest.approx(known.solve(verbose=False).value, abs=1e-2)


class Elsewhere(Natural):
    """One that knows nothing."""

    def bound(self, boxes: BoxView, weights: Array, spread: Array | None) -> BoxBounds | None:
        return None


def test_where_it_knows_nothing_the_search_goes_on_without_it(monkeypatch: pytest.MonkeyPatch) -> None:
    cells: list[Cell] = []

    def chosen(family: Rows, domain: lsip.Domain) -> list[BoxPartition]:
        cells.extend(domain.flat_cells())
        return [BoxPartition(Elsewhere(family, cell)) for cell in domain.flat_cells()]

    monkeypatch.setattr("lsip.oracles.memory.partitions", chosen)
    solution = problem().solve(verbose=False)
    assert cells
    assert solution.certified
