"""The catalogue says what it should, and its declared models are what their entries claim."""

from __future__ import annotations

import dataclasses
from fractions import Fraction

import numpy as np
import pytest
from numpy.polynomial import Chebyshev, Polynomial, legendre

import lsip
from lsip import catalogue
from lsip.catalogue.entry import REGISTRY, known
from lsip.catalogue.large import scattered
from lsip.catalogue.networks import PowerGrid, Shipping
from lsip.errors import ModelError

ENTRIES = {entry.name: entry for entry in catalogue.entries()}
E = np.e


def largest_violation(program, x):
    """The worst row at x over points that are spread over every domain, and over the finite rows."""
    worst = program.finite_violation(x)
    for k, family in enumerate(program.families):
        size = 40 if family.columns.size > 500 else 2000
        y = np.vstack([family.domain.sample(size, seed=1), family.domain.grid(3)])
        worst = max(worst, program.violation(k, x).values(y).max())
    return worst


def objective(program, x):
    return (program.c @ x + program.constant) * (-1 if program.maximise else 1)


@pytest.mark.parametrize("name", ENTRIES)
def test_every_entry_builds_a_model_that_matches_its_facts(name):
    entry = ENTRIES[name]
    problem = entry.build()
    program = problem.compile()
    assert problem.name == name
    assert problem is not entry.build()
    assert program.families
    dimension = max(family.domain.dim for family in program.families)
    assert [tag for tag in ("2d", "3d", "4d", "5d") if tag in entry.tags] == (
        [f"{dimension}d"] if dimension > 1 else []
    )
    assert ("n>=1000" in entry.tags) == (program.n >= 1000)
    assert ("n>=50" in entry.tags) == (50 <= program.n < 1000)
    assert ("equality" in entry.tags) == bool((program.row_lower == program.row_upper).any())
    assert ("unbounded" in entry.tags) == (entry.status == "unbounded")
    assert ("infeasible" in entry.tags) == (entry.status == "infeasible")
    for family in program.families:
        a, b = family.rows(family.domain.sample(3, seed=0))
        assert np.isfinite(a).all()
        assert np.isfinite(b).all()


def test_every_entry_is_described():
    assert len(ENTRIES) == len(catalogue.names()) >= 100
    for entry in catalogue.entries():
        assert entry.title
        assert entry.source
        assert 0 <= entry.digits <= 12
        assert len(set(entry.tags)) == len(entry.tags)
        assert entry.slater == (entry.status not in ("infeasible", "gap"))


def composed(p, scale, shift):
    """The coefficients of p(scale t + shift)."""
    return p.convert(kind=Polynomial)(Polynomial([shift, scale])).coef


def gauss(f, n):
    """Gauss quadrature on [0, 1]."""
    nodes, weights = legendre.leggauss(n)
    return weights @ f((nodes + 1) / 2) / 2


def lobatto(f, n):
    """Lobatto quadrature on [0, 1], exact for degree 2n - 3."""
    p = legendre.Legendre.basis(n - 1)
    nodes = np.r_[-1, p.deriv().roots(), 1]
    weights = 2 / (n * (n - 1) * p(nodes) ** 2)
    return weights @ f((nodes + 1) / 2) / 2


def gauge(centre, axes, c):
    """The smallest factor by which an ellipsoid around `centre` must grow to contain c."""
    u, v = np.linalg.solve(axes, c), np.linalg.solve(axes, centre)
    return 1 / np.roots([u @ u, -2 * u @ v, v @ v - 1]).max()


def prolate(order):
    i = np.arange(order)[:, None] - np.arange(order)
    with np.errstate(invalid="ignore"):
        band = (np.sin(1.5 * np.pi * i) - np.sin(0.5 * np.pi * i)) / (2 * np.pi * i)
    return np.linalg.eigvalsh(np.where(i == 0, 0.5, band))[0]


A = 4 / 3
SHIFTED = np.array([0.6, 0.4, 0.3])  # the weights of simplex_entropy plus 0.1
CLOSED_FORMS = {
    "gg_exp_n2": (1 + E) / 2,
    "tfi2_tan_n3": (3 * np.tan(1 / 3) + np.tan(1)) / 4,
    "watson4b_tan_n6": lobatto(np.tan, 4),
    "watson4c_tan_n8": lobatto(np.tan, 5),
    "ks_sin_n10": gauss(np.sin, 5),
    "ks_inv_n10": lobatto(lambda t: 1 / (2 - t), 6),
    "ks_exp_n20": lobatto(np.exp, 11),
    "ks_tan_n20": lobatto(np.tan, 11),
    "sipow3": 4 - 2 * np.sqrt(3),
    "coleman_slepian": prolate(7),
    "dolph_20": np.cosh(19 * np.arccosh(1 / np.cos(np.pi / 10))),
    "reemtsen_inv_d3": (A - np.sqrt(A**2 - 1)) ** 3 / (3 * (A**2 - 1)),
    "fejer_n5": 2 * np.cos(np.pi / 7),
    "fejer_n40": 2 * np.cos(np.pi / 42),
    "extrap6": np.cosh(6 * np.arccosh(2)),
    "extrap10": np.cosh(10 * np.arccosh(2)),
    "scarf": (np.sqrt(5 / 4) - 1 / 2) / 2,
    "markov_cdf8": 289 / 450,
    "bifurcation": 236 / 135,
    "basket4": 9 / 80,
    "complex_alper": 1 / 48,
    "robust_ellipsoid3": gauge([0.2, 0.1, -0.1], [[1, 0.2, 0], [0, 0.5, 0.1], [0.1, 0, 0.25]], np.ones(3)),
    "robust_ellipsoid4": gauge([0.1, -0.1, 0.05, 0.02], np.diag([1, 0.5, 0.25, 0.1]) + 0.05, np.ones(4)),
    "monic6_zero": 2 / (1 + np.cos(np.pi / 12)) ** 6,
    "monic4_two_bands": 9 / 128,
    "sum_of_functions": ((E - 1) / 2) ** 2,
    "robust_disc": 4 / (4 + np.sqrt(2)),
    "robust_union": 5 / (3 + np.sqrt(3 / 2)),
    "triangle_above": (1 + E + E**2) / 6,
    "triangle_below": E / 2,
    "ball_below": np.sqrt(E),
    "simplex_entropy": -SHIFTED @ np.log(SHIFTED),
    "scenarios_above": (1 + E**3 / 3) / 2,
    "cylinder_above": 1 + E / 2,
    "envelopes": (1 / np.arange(1, 11)).sum() / E,
    "arches_1000": scattered(1000, 0.5, 1.5, 1) @ np.convolve(scattered(1001, 0.5, 1.5), [0.5, 0.5], "valid"),
}


@pytest.mark.parametrize("name", CLOSED_FORMS)
def test_the_value_is_its_closed_form(name):
    entry = ENTRIES[name]
    assert entry.value == pytest.approx(CLOSED_FORMS[name], rel=10.0**-entry.digits, abs=10.0**-entry.digits)


def delsarte(roots, dimension, degree):
    """The expansion of a polynomial with these roots, its first coefficient 1, in fractions."""
    basis = [[Fraction(1)], [Fraction(0), Fraction(1)]]  # of Gegenbauer polynomials, their monomials
    for k in range(1, degree):
        shifted, before = [Fraction(0), *basis[k]], [*basis[k - 1], Fraction(0), Fraction(0)]
        pairs = zip(shifted, before, strict=True)
        basis.append([((2 * k + dimension - 2) * u - k * v) / (k + dimension - 2) for u, v in pairs])
    left = [Fraction(1)]
    for root in roots:
        left = [u - Fraction(root) * v for u, v in zip([Fraction(0), *left], [*left, Fraction(0)], strict=True)]
    f = [Fraction(0)] * (degree + 1)
    for k in reversed(range(len(left))):
        f[k] = left[k] / basis[k][k]
        left = [u - f[k] * v for u, v in zip(left, basis[k], strict=False)]
    return np.array([float(v / f[0]) for v in f])


def lukacs():
    kernel = legendre.Legendre(np.arange(1, 10, 2) / 2).convert(kind=Polynomial)
    return (kernel**2 / kernel(1)).coef


MID = (1 + E) / 2
ZETA = np.cos(np.pi / 12)
STRETCHED = composed(Chebyshev.basis(6), (ZETA + 1) / 2, (ZETA - 1) / 2)
OPTIMA = {
    "gg_exp_n2": [1, E - 1],
    "watson9_2d": [3, 0, 0, 0, 0, 0],
    "sipow1": [0, -1],
    "sipow2": [0, -1],
    "monic8": np.r_[-Chebyshev.basis(8).convert(kind=Polynomial).coef[:8] / 128, 1 / 128],
    "monic6_zero": np.r_[-STRETCHED[:6] / STRETCHED[6], 1 / STRETCHED[6]],
    "monic4_two_bands": [-41 / 128, 0, 5 / 4, 0, 9 / 128],
    "abs_d2": [1 / 8, 0, 1, 1 / 8],
    "exact_fit": [1, 1, 0, -1, 0],
    "parabola_on_integers": [12.5, 0, 12.5],
    "sloss_1111": np.r_[np.zeros(35), 1],
    "disc_cubic": [0, 0, 0, 1 / 4, 0, 0, 1 / 4],
    "sum_of_functions": [-(MID**2), MID, MID, ((E - 1) / 2) ** 2],
    "markov10": Chebyshev.basis(10).convert(kind=Polynomial).coef,
    "extrap6": Chebyshev.basis(6).convert(kind=Polynomial).coef,
    "extrap10": Chebyshev.basis(10).convert(kind=Polynomial).coef,
    "copt_xy": [0, 0, 0, 0, 1, 0],
    "lukacs8": lukacs(),
    "kissing_dim8": delsarte([-1, -1 / 2, -1 / 2, 0, 0, 1 / 2], 8, 8),
    "kissing_dim24": delsarte([-1, -1 / 2, -1 / 2, -1 / 4, -1 / 4, 0, 0, 1 / 4, 1 / 4, 1 / 2], 24, 14),
    "cantelli": np.array([1 / 9, -2 / 3, 1]) * 36 / 169,
    "christoffel8": (Polynomial([1, 0, -14 / 3, 0, 21 / 5]) ** 2).coef,
    "markov_inequality": [0, 1 / 4],
    "ot_1d": [0, 0, -1, 0, 0, 1 / 2, 0],
    "ot_2d": [0, 0, 0, -1, -1, 0, 0, 0, 2.25, 2, 0.25],
    "robust_disc": np.full(2, 2 / (4 + np.sqrt(2))),
    "robust_budget": np.full(3, 2 / 9),
    "triangle_above": [1, E - 1, E**2 - 1],
    "triangle_below": [0, E, 2 * E],
    "ball_below": np.sqrt(E) * np.array([0.5, 1, 1, 1]),
    "simplex_entropy": -np.log(SHIFTED) - 0.1 * np.log(SHIFTED).sum(),
    "copositive_path3": np.full(3, 2),
    "copositive_cycle5": np.full(6, 2),
    "scenarios_above": [1, E**3 / 3 - 1],
    "cylinder_above": [1, E - 1, 1],
    "envelopes": 1 / (E * np.arange(1, 11)),
    "arches_1000": scattered(1001, 0.5, 1.5) ** 2,
    "ring_1000": scattered(1000, 1, 2),
    "shipping_100": Shipping.of_size(100).plan.ravel(),
    "power_grid_20": PowerGrid.of_size(20).flow.ravel(),
    "hyperbola_box": [0.001, 1000],
    "boundary_eval": np.exp(1 / 3) * np.array([7 / 9, 1 / 3, 1]),
    "boundary_eval_box": np.exp(1 / 3) * np.array([7 / 9, 1 / 3, 1]),
}


@pytest.mark.parametrize("name", OPTIMA)
def test_the_known_optimum_is_feasible_and_has_the_known_value(name):
    program = ENTRIES[name].build().compile()
    x = np.asarray(OPTIMA[name], dtype=float)
    assert objective(program, x) == pytest.approx(ENTRIES[name].value, rel=1e-11, abs=1e-12)
    assert largest_violation(program, x) <= 1e-11 * (1 + np.abs(x).max())


def test_four_corners_prove_that_no_plane_fits():
    program = ENTRIES["infeasible_plane"].build().compile()
    a, b = program.families[0].rows(np.array([[0.0, 0], [1, 1], [0, 1], [1, 0]]))
    chosen = ([0, 1, 2, 3], [0, 0, 1, 1])  # from below at two corners, from above at the two others
    np.testing.assert_allclose(a[chosen].sum(axis=0), 0, atol=1e-15)
    assert b[chosen].sum() < -0.1


def test_the_cap_lets_its_ray_escape():
    program = ENTRIES["cap_unbounded"].build().compile()
    ray = np.array([0.0, 0.0, 1.0])
    assert program.violation(0, ray, scale=0.0).values(program.families[0].domain.grid(30)).max() <= -0.49
    assert objective(program, ray) > 0


def test_get_finds_by_name():
    entry = catalogue.get("tfi2_tan_n3")
    assert entry.value == pytest.approx((3 * np.tan(1 / 3) + np.tan(1)) / 4)
    assert isinstance(entry.build(), lsip.Problem)
    with pytest.raises(dataclasses.FrozenInstanceError):
        entry.value = 0.0


@pytest.mark.parametrize(
    ("name", "advice"),
    [("kissing_dim9", "kissing_dim8"), ("robust", "robust_"), ("?", r"names\(\)"), ("", r"names\(\)")],
)
def test_unknown_names_are_answered_with_advice(name, advice):
    with pytest.raises(ModelError, match=advice):
        catalogue.get(name)


def test_search_by_words_and_tags():
    assert catalogue.search() == catalogue.entries()
    assert {"kissing_dim8", "kissing_dim24"} <= {entry.name for entry in catalogue.search("KISSING exactly")}
    assert all("2d" in entry.tags and "chebyshev" in entry.tags for entry in catalogue.search(tags=("2d", "chebyshev")))
    assert catalogue.search(tags="infeasible") == catalogue.search(tags=["infeasible"]) != ()
    assert [entry.name for entry in catalogue.search("reemtsen", tags=["tiny_value"])] == ["reemtsen1_d7"]
    assert catalogue.search("no such words anywhere") == ()
    assert {entry.status for entry in catalogue.entries()} == {"optimal", "infimum", "gap", "infeasible", "unbounded"}


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ({"status": "solved"}, "status must be one of"),
        ({"status": "infeasible", "slater": False}, "cannot have the value"),
        ({"value": np.nan, "status": "infeasible"}, "no Slater point"),
    ],
)
def test_contradictory_facts_are_refused(facts, message):
    with pytest.raises(ModelError, match=message):
        dataclasses.replace(ENTRIES["oet1"], **facts)


def test_registration_needs_a_new_name_and_a_title():
    def oet1():
        """A second one."""

    def untitled():
        pass

    for build, message in ((oet1, "already"), (untitled, "docstring")):
        with pytest.raises(ModelError, match=message):
            known(0.0, digits=1, source="nowhere")(build)
    assert "untitled" not in REGISTRY
