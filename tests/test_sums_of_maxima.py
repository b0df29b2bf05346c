"""Sums of maxima, absolute values and norms for all y: convex in y, so known at vertices, or for choices of pieces."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import lsip
from lsip.domains.vertices import vertices
from lsip.oracles import BranchAndBound, supremum
from lsip.oracles.bounder import BoxView
from lsip.oracles.bounders import convex, without_boxes
from lsip.oracles.pieces import AffinePieces
from lsip.oracles.vertex_rows import VertexRows

from .checks import assert_certified

SETS = {
    "box": lsip.Box([-1.0, 0.5, -2.0], [1.0, 2.0, 0.25]),
    "budget": lsip.Budget(4, 1.5),
    "simplex": lsip.Simplex(4),
    "ball": lsip.Ball(np.array([1.0, -0.5, 0.0]), 1.5),
    "polytope": lsip.Polytope(np.vstack([np.eye(3), -np.eye(3), np.ones((1, 3))]), np.append(np.ones(6), 1.5)),
    "product": lsip.Ball(np.zeros(2), 1.0) * lsip.Interval(-1, 2),
    "union": lsip.Box([-1.0, -1.0], [0.0, 0.0]) | lsip.Ball(np.ones(2), 0.5),
    "points": lsip.Finite([[0.0, 1.0], [2.0, -1.0], [0.5, 0.5]]),
}


def inventory(periods, expanded):
    """Orders that follow demand; the cost of a period is the larger one of storage and backlog."""
    mean = 10 + 3 * np.sin(np.arange(periods))
    z, worst = lsip.Index("z", lsip.Budget(periods, 2)), lsip.Variable(name="worst")
    stock, cost, rows, levels = 5.0, 0, [], []
    for k in range(periods):
        order = lsip.Rule(of=z[:k], name=f"order{k}")
        rows += [order >= 0, order <= 20]
        stock = stock + order - mean[k] * (1 + 0.3 * z[k])
        cost = cost + order
        levels.append(stock)
    if expanded:
        signs = product([0.4, -2.0], repeat=periods)
        rows += [cost + sum(s * level for s, level in zip(each, levels, strict=True)) <= worst for each in signs]
    else:
        rows.append(cost + sum(np.maximum(0.4 * level, -2 * level) for level in levels) <= worst)
    return lsip.Problem(lsip.minimize(worst), [lsip.forall(z, rows)])


def test_an_inventory_is_that_of_all_its_rows():
    problem = inventory(5, expanded=False)
    solution = problem.solve(verbose=False)
    assert_certified(problem, solution, solution.tol)
    reference = inventory(5, expanded=True).solve(verbose=False)
    assert solution.value == pytest.approx(reference.value, rel=1e-7)
    solution.verify()


def drawn(domain, seed, norms=False):
    """A row of six pieces over a set, at some x: the family, the violation, and the row as a function of y."""
    rng = np.random.default_rng(seed)
    x, y = lsip.Variable(2, name="x"), lsip.Index("y", domain)

    def affine():
        A, a, b = (np.round(rng.normal(size=size), 2) for size in ((2, domain.dim), 2, domain.dim))
        return x @ (A @ y) + a @ x + b @ y + float(np.round(rng.normal(), 2))

    total = affine()
    for _ in range(3):
        total = total + abs(affine()) + np.maximum(affine(), np.maximum(affine(), affine()))
    if norms:
        total = total + np.linalg.norm(np.stack([affine(), affine()]))
    program = lsip.Problem(lsip.minimize(x[0]), [lsip.forall(y, total <= 1)]).compile()
    (family,), at = program.families, rng.normal(size=2)

    def row(points):
        a, b = family.source.entries.rows(points)
        return family.source.worst.value(np.einsum("npk,pk->np", a, at[family.source.entries.columns]) - b)[:, 0]

    return family, program.violation(0, at), row


@pytest.mark.parametrize("kind", SETS)
@pytest.mark.parametrize("seed", range(3))
def test_suprema_are_proven_and_attained(kind, seed):
    family, violation, row = drawn(SETS[kind], seed)
    assert convex(family)
    found = supremum(violation)
    assert found.bound == pytest.approx(found.worst, abs=1e-7)
    points = np.concatenate([SETS[kind].sample(2000, seed=seed), SETS[kind].grid(3)])
    assert row(points).max() <= found.bound + 1e-12
    assert violation.at(found.points, found.components) == pytest.approx(found.values, abs=1e-12)


@pytest.mark.parametrize("kind", ["box", "budget", "simplex", "points"])
def test_both_ways_agree(kind):
    family, violation, _ = drawn(SETS[kind], 7)
    corners, pieces = (bounder.of(family.source, SETS[kind]) for bounder in (VertexRows, AffinePieces))
    bounds = []
    for bounder in (corners, pieces):
        columns = bounder.enclose(bounder.cell.lower, bounder.cell.upper, None)
        bounds.append((bounder, columns))
    exact = supremum(violation).worst
    for bounder, columns in bounds:
        view = BoxView(columns, len(columns["lower"]))
        assert bounder.proven(bounder.bound(view, violation.weights, None).upper) >= exact - 1e-12


def test_norms_are_largest_at_vertices():
    family, violation, row = drawn(SETS["budget"], 3, norms=True)
    assert isinstance(without_boxes(family.source, SETS["budget"]), VertexRows)
    found = BranchAndBound().maximise(violation)
    assert found.bound == pytest.approx(found.worst, abs=1e-9)
    assert row(vertices(SETS["budget"], 1e4)).max() == pytest.approx(found.worst, abs=1e-12)


@pytest.mark.parametrize("kind", ["box", "budget", "simplex", "points", "union"])
def test_sets_lie_in_the_hull_of_their_vertices(kind):
    """Every direction is at its largest at one of them."""
    domain = SETS[kind] if kind != "union" else SETS["budget"] | lsip.Simplex(4)
    corners = vertices(domain, 1e4)
    assert domain.contains(corners).all()
    d = np.random.default_rng(0).normal(size=(50, domain.dim))
    assert (d @ corners.T).max(axis=1) == pytest.approx(domain.support(d)[1], abs=1e-12)
    assert vertices(SETS["ball"], 1e4) is None
    assert vertices(lsip.Box(np.zeros(30), np.ones(30)), 1e4) is None


def test_rows_in_a_direction_are_enclosed_to_the_last_bit():
    family, _, _ = drawn(SETS["product"], 5)
    y = family.domain.sample(20, seed=1)
    component = np.zeros(20, dtype=np.intp)
    a, b = family.enclosed(y, y, component)
    exact = family.source.fractions(y, component)
    for n, row in enumerate(exact):
        for k, value in enumerate(row):
            assert Fraction(a.lo[n, k]) <= value <= Fraction(a.hi[n, k])
    assert (a.hi - a.lo <= 4 * np.spacing(np.abs(a.hi))).all()
    assert (b.hi - b.lo <= 4 * np.spacing(np.abs(b.hi))).all()
    known = family.chosen(y, component)
    assert ((known[0] >= a.lo - 1e-12) & (known[0] <= a.hi + 1e-12)).all()
