"""CRPO: the grids of the paper, and SI-CPO that looks at nothing else."""

from __future__ import annotations

import numpy as np
import pytest

import lsip
import rl
from tests.test_simulator import Hidden

torch = pytest.importorskip("torch")

from rl.baselines import FixedGrid  # noqa: E402
from tests.test_si_cpo import assert_same_run  # noqa: E402
from tests.test_updates import toy  # noqa: E402

Y = lsip.Index("y", lsip.Box([0, 0], [1, 1]))


def square() -> rl.SICMDP:
    cost = 1 / (1 + ((Y - np.array([[0.2, 0.3], [0.9, 0.6]])) ** 2).sum(axis=-1))
    return rl.SICMDP(toy().P, toy().r, cost, 1.4 + 0.2 * Y[0], Y, None, 0.5)


@pytest.mark.parametrize(
    ("points", "per_axis"), [(250, 16), (500, 23), (1000, 33), (256, 16), (529, 23), (1089, 33), (4, 2), (5, 3), (1, 1)]
)
def test_crpo_has_the_grids_of_the_paper(points, per_axis):
    made = rl.baselines.CRPO(square(), points)
    assert made.oracle == FixedGrid(per_axis)
    grid = made.specification.constraint.domain.grid(per_axis)
    assert grid.shape == (per_axis**2, 2)
    if per_axis > 1:
        np.testing.assert_allclose(np.unique(grid[:, 0]), np.linspace(0, 1, per_axis))


def test_crpo_counts_along_one_axis():
    assert rl.baselines.CRPO(toy(), 250).oracle == FixedGrid(250)


def test_a_fixed_grid_finds_its_worst_point():
    mdp = square()
    visits = mdp.visits(rl.uniform_policy(2, 2))
    found = FixedGrid(5).maximise(mdp.costs.violation(visits), seed=3)
    values = mdp.violations(rl.uniform_policy(2, 2), mdp.domain.grid(5))
    assert found.values[0] == pytest.approx(values.max())
    np.testing.assert_allclose(found.points[0], mdp.domain.grid(5)[values.argmax()])
    assert found.bound == np.inf
    with pytest.raises(lsip.ModelError, match="`per_axis` must be a whole number, at least 1; got 0"):
        FixedGrid(0)


def test_crpo_looks_at_its_grid_only():
    options = {"evaluation": rl.Exact(), "update": rl.NPG(samples=30, horizon=5)}
    made = rl.baselines.CRPO(square(), 9, **options).learn(5)
    for row in made.history:
        assert np.isin(row.y, [0, 0.5, 1]).all()
    # Apart from the oracle it is SI-CPO.
    other = rl.SICPO(square(), oracle=FixedGrid(3), **options).learn(5)
    assert_same_run(made, other)
    assert rl.baselines.CRPO(Hidden(square()), 9, update=rl.NPG(20, 5), evaluation=rl.MonteCarlo(50, 5)).learn(1)


def test_crpo_goes_on_from_its_checkpoint(tmp_path):
    options = {"evaluation": rl.MonteCarlo(100, 6), "update": rl.NPG(samples=30, horizon=5), "seed": 4}
    made = rl.baselines.CRPO(square(), 9, **options).learn(3)
    made.save(tmp_path / "c.npz")
    again = rl.baselines.CRPO.load(tmp_path / "c.npz", square())
    assert again.oracle == FixedGrid(3)
    assert_same_run(made.learn(3), again.learn(3))


def test_crpo_says_what_a_problem_is():
    with pytest.raises(lsip.ModelError, match=r"rl\.SICMDP"):
        rl.baselines.CRPO(None)
