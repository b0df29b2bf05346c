"""Rows that are affine in the index: sparse slopes agree with values, and wide rows stand apart from narrow ones."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from lsip import Box, Index, Problem, Rule, Variable, forall, minimize
from lsip.model import compilation

Y = Index("y", Box([-1, 0, 2], [1, 2, 3]))
X = Variable((2, 3), name="x")
M = np.random.default_rng(0).normal(size=(4, 3))
BODIES: dict[str, Any] = {
    "slices": lambda: X[0] * Y + X[1, ::-1] / 7 <= Y[0],
    "matrix": lambda: (M @ Y)[:2] * X[:, 0] - 3 * Y[:2] <= M[:2] @ X[0],
    "sums": lambda: (X @ Y).sum() + Y.sum() * X[0, 0] - 2 * (X[0, 0] * Y[1]) <= 1.5,
    "rule": lambda: Rule((2, 2), of=Y[1:], name="r") + Y[0] * X[0, 0] <= X[1, 2] * (1 - Y[2]),
}


@pytest.mark.parametrize("name", BODIES)
def test_slopes_agree_with_values(name: str) -> None:
    program = Problem(minimize(X.sum()), [forall(Y, BODIES[name]())]).compile()
    family = program.families[0]
    form = family.linear
    assert form is not None
    points = Y.domain.sample(20)
    p, k = family.columns.shape
    flat = family.source.tape.values(points)
    expected = np.concatenate([flat[:, : p * k].reshape(20, p, k), flat[:, p * k :, None]], axis=2)
    np.testing.assert_allclose(form.table(points), expected, rtol=1e-13, atol=1e-13)
    component = np.arange(20) % p
    chosen = expected[np.arange(20), component]
    np.testing.assert_allclose(form.at(points, component), chosen, rtol=1e-13, atol=1e-13)
    box = form.enclosed(points, points, component)
    assert (box.lo <= form.at(points, component)).all()
    assert (form.at(points, component) <= box.hi).all()
    w = np.random.default_rng(1).normal(size=(p, k + 1))
    v, _, d, _ = form.weighted(w)
    np.testing.assert_allclose(v + points @ d.T, (expected * w).sum(axis=2), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    "body", [lambda: X[0] * Y**2 <= 1, lambda: X[0] * np.exp(Y) <= 1, lambda: X[0] * Y[0] * Y <= 1]
)
def test_what_is_not_affine_has_no_slopes(body: Any) -> None:
    assert Problem(minimize(X.sum()), [forall(Y, body())]).compile().families[0].linear is None


def test_constraints_of_different_widths_stand_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    x = Variable(40, name="x", lower=0)
    rows = [forall(Y, x.sum() >= Y.sum()), forall(Y, x >= Y[0] / 40, name="each"), x.sum() <= 100]
    whole = Problem(minimize(x.sum()), rows)
    assert len(whole.compile().families) == 1
    one = whole.solve(tol=1e-8, verbose=False)
    monkeypatch.setattr(compilation, "TUNING", replace(compilation.TUNING, most_padded=100))
    apart = Problem(minimize(x.sum()), rows)
    assert [f.columns.shape for f in apart.compile().families] == [(1, 40), (40, 1)]
    two = apart.solve(tol=1e-8, verbose=False)
    assert one.certified
    assert two.certified
    assert two.value == pytest.approx(one.value, rel=3e-8)
