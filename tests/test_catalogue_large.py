"""The large models are finite LPs in disguise: the rows at their known active indices already give the known value.

A relaxation bounds the value from below, and `test_catalogue_models` shows a feasible point that attains it.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linprog

from lsip import catalogue
from lsip.catalogue.large import scattered
from lsip.catalogue.networks import PowerGrid, Shipping


def arches():
    u = scattered(1001, 0.5, 1.5)
    return (u[:-1] / (u[:-1] + u[1:]))[:, None], np.arange(1000)


def ring():
    return np.stack([scattered(1000, 0.2, 0.8, 1), scattered(1000, 0.2, 0.8, 2)], axis=1), np.arange(1000)


def shipping():
    return Shipping.of_size(100).hours[:, None], np.zeros(3, dtype=int)


def power_grid():
    active, reactive = PowerGrid.of_size(20).flow
    return np.arctan2(reactive, active)[:, None], np.arange(len(active))


ACTIVE = {"arches_1000": arches, "ring_1000": ring, "shipping_100": shipping, "power_grid_20": power_grid}


@pytest.mark.parametrize("name", ACTIVE)
def test_the_rows_at_the_active_indices_prove_the_value(name):
    entry = catalogue.get(name)
    program = entry.build().compile()
    (family,) = program.families
    points, component = ACTIVE[name]()
    a, b = family.rows(points)
    k, width = np.arange(len(points)), family.columns.shape[1]
    rows = sparse.csr_array(
        (a[k, component].ravel(), (np.repeat(k, width), family.columns[component].ravel())),
        shape=(len(points), program.n),
    )
    finite = {"A_eq": program.A, "b_eq": program.row_upper} if program.A.shape[0] else {}
    bounds = np.stack([program.lower, program.upper], axis=1)
    relaxation = linprog(program.c, A_ub=rows, b_ub=b[k, component], bounds=bounds, method="highs", **finite)
    assert relaxation.fun == pytest.approx(entry.value, rel=1e-10)
