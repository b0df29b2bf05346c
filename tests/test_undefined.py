"""One meaning of undefined: what NumPy has at a point is what enclosures hold, also where it is infinite or nan."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import erfc, expit

import lsip
from lsip.errors import ModelError
from lsip.expressions.defined import MAYBE, NEVER, SURE, WILD, either, worst
from lsip.expressions.graph import as_expression
from lsip.expressions.kinks import Select
from lsip.expressions.tape import Tape

from .graphs import disagreements

Array = NDArray[np.float64]

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # NumPy says that 1 / 0 is inf


@pytest.mark.parametrize("part", range(6))
def test_enclosures_hold_what_numpy_computes(part: int) -> None:
    """Random graphs of partial functions, poles, overflow and nested np.where over points and small boxes."""
    counts: dict[str, int] = {}
    found = [what for seed in range(50 * part, 50 * part + 50) for what in disagreements(seed, counts)]
    assert not found, found[0]
    assert counts["graphs"] >= 45
    assert counts["values"] > 1000


def test_the_comparison_with_numpy_can_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    """If conditions are taken for defined wherever their enclosure is, the random graphs show it."""
    monkeypatch.setattr(Select, "_doubtful", lambda self, u, doubt: u)
    assert any(list(disagreements(seed, {})) for seed in range(120))


# ---- conditions at points where they are infinite or nan -----------------------------------------------------------

CONDITIONS: dict[str, tuple[Callable[[Any], Any], float]] = {
    "log 0 is -inf": (lambda y: np.where(np.log(y) < -100, -5.0, 1.0), 0.0),
    "log 0 is not above": (lambda y: np.where(np.log(y) > -100, -5.0, 1.0), 0.0),
    "log2 0": (lambda y: np.where(np.log2(y) <= -1e308, -5.0, 1.0), 0.0),
    "log1p -1": (lambda y: np.where(np.log1p(y) < 0, -5.0, 1.0), -1.0),
    "arctanh 1 is inf": (lambda y: np.where(np.arctanh(y) > 1e300, -5.0, 1.0), 1.0),
    "the root of -inf": (lambda y: np.where(np.sqrt(np.log(y)) > 0, -5.0, 1.0), 0.0),
    "(-inf) ** 0.5": (lambda y: np.where(np.log(y) ** 0.5 > 0, -5.0, 1.0), 0.0),
    "exp of -inf": (lambda y: np.where(np.exp(np.log(y)) <= 0, -5.0, 1.0), 0.0),
    "1 / 0": (lambda y: np.where(1 / y > 5, -5.0, 1.0), 0.0),
    "1 / -0": (lambda y: np.where(1 / (-y) > 5, -5.0, 1.0), 0.0),
    "1 / (0 - y)": (lambda y: np.where(1 / (0 - y) > 5, -5.0, 1.0), 0.0),
    "0 ** -3": (lambda y: np.where(y**-3 <= 0, -5.0, 1.0), 0.0),
    "0 ** -2": (lambda y: np.where(y**-2 >= 1, -5.0, 1.0), 0.0),
    "inf - inf": (lambda y: np.where(np.log(y) - np.log(2 * y) <= 0, -5.0, 1.0), 0.0),
    "0 inf": (lambda y: np.where(y * np.sin(1 / y) <= 1, -5.0, 1.0), 0.0),
    "sin inf": (lambda y: np.where(np.sin(1 / y) <= 2, -5.0, 1.0), 0.0),
    "sinc inf": (lambda y: np.where(np.sinc(1 / y) <= 2, -5.0, 1.0), 0.0),
    "overflow over overflow": (lambda y: np.where(np.exp(y) / np.exp(y) <= 2, -5.0, 1.0), 800.0),
    "overflow less overflow": (lambda y: np.where(np.exp(y) - np.exp(y) <= 2, -5.0, 1.0), 800.0),
    "what vanishes is not positive": (lambda y: np.where(np.exp(-y) > 0, -5.0, 1.0), 800.0),
    "expit vanishes, too": (lambda y: np.where(expit(-y) > 0, -5.0, 1.0), 800.0),
    "so does erfc": (lambda y: np.where(erfc(y) > 0, -5.0, 1.0), 30.0),
    "tanh reaches 1": (lambda y: np.where(np.tanh(y) < 1, -5.0, 1.0), 40.0),
    "nan is not below": (lambda y: np.where(np.sqrt(y) <= 9, -5.0, 1.0), -1.0),
    "nor above": (lambda y: np.where(np.sqrt(y) > 9, -5.0, 1.0), -1.0),
    "nan ** 0 is 1": (lambda y: np.where(np.sqrt(y) ** 0 >= 1, -5.0, 1.0), -1.0),
    "1 ** nan is 1": (lambda y: np.where((2 + y) ** np.sqrt(y) >= 1, -5.0, 1.0), -1.0),
    "hypot(inf, nan) is inf": (lambda y: np.where(np.hypot(np.log(y), np.sqrt(y - 1)) > 1, -5.0, 1.0), 0.0),
    "a maximum with nan is nan": (lambda y: np.where(np.maximum(np.sqrt(y), 1.0) >= 0, -5.0, 1.0), -1.0),
    "so is a minimum": (lambda y: np.where(np.minimum(np.sqrt(y), 1.0) <= 2, -5.0, 1.0), -1.0),
    "and an absolute value": (lambda y: np.where(np.abs(np.sqrt(y)) >= 0, -5.0, 1.0), -1.0),
    "an angle on its cut": (lambda y: np.where(np.arctan2(-y, -1 + y) < 0, -5.0, 1.0), 0.0),
    "an angle at the origin": (lambda y: np.where(np.arctan2(y, -y) > 1, -5.0, 1.0), 0.0),
    "the branch that is taken": (lambda y: np.where(np.where(y >= 0, np.sqrt(y), 3.0) > 2, -5.0, 1.0), -1.0),
    "a branch that is undefined": (lambda y: np.where(np.where(y < 0, np.sqrt(y), 3.0) > 2, -5.0, 1.0), -1.0),
    "a sum with inf": (lambda y: np.where(np.stack([np.log(y), y]).sum() < 0, -5.0, 1.0), 0.0),
    "a matrix with a zero": (
        lambda y: np.where((np.array([[0.0, 1.0]]) @ np.stack([np.log(y), y]))[0] <= 0, -5.0, 1.0),
        0.0,
    ),
}


@pytest.mark.parametrize("name", CONDITIONS)
def test_violations_hold_at_points_where_a_condition_is_infinite_or_undefined(name: str) -> None:
    make, at = CONDITIONS[name]
    points = np.concatenate([[at], np.linspace(at + 1, at + 2, 300)])
    y, z = lsip.Index("y", lsip.Finite(points)), lsip.Variable(name="z")
    problem = lsip.Problem(lsip.maximize(z), [lsip.forall(y, z <= make(y[0]))])
    values = np.array([float(make(np.float64(p))) for p in points])
    assert problem.worst_violation([0.0]).bound >= (-values).max()
    family = problem.compile().families[0]
    box = family.source.tape.enclose(points[:1, None], points[:1, None])
    assert box.lo[0, -1] <= values[0] <= box.hi[0, -1]


@pytest.mark.parametrize(
    ("make", "branch"),
    [
        (lambda y: np.where(np.log(y) < -100, -5.0, 1.0), -5.0),  # -inf is below
        (lambda y: np.where(np.sqrt(y - 1) < 9, -5.0, 1.0), 1.0),  # nan is not
        (lambda y: np.where(np.sqrt(y - 1) <= 9, -5.0, 1.0), 1.0),
        (lambda y: np.where(np.exp(-np.log(y)) > 9, -5.0, 1.0), -5.0),
    ],
)
def test_decisions_that_can_be_made_are_made(make: Callable[[Any], Any], branch: float) -> None:
    y = lsip.Index("y", lsip.Interval(0, 1))
    box = Tape((as_expression(make(y)),), (y,)).enclose(np.zeros((1, 1)), np.zeros((1, 1)))
    assert box.lo == box.hi == branch


def test_doubts_add_up() -> None:
    a, b = np.meshgrid(np.arange(4, dtype=np.int8), np.arange(4, dtype=np.int8))
    np.testing.assert_array_equal(worst(a, b), np.maximum(a, b))
    np.testing.assert_array_equal(
        either(a, b),
        [[SURE, MAYBE, WILD, MAYBE], [MAYBE, MAYBE, WILD, MAYBE], [WILD] * 4, [MAYBE, MAYBE, WILD, NEVER]],
    )


# ---- values and enclosures -------------------------------------------------------------------------------------------


def test_an_angle_at_a_negative_zero_is_that_at_zero() -> None:
    """Reals have no negative zero: the values of the model and its enclosures agree about that."""
    y = lsip.Index("y", lsip.Box([-1, -1], [1, 1]))
    tape = Tape((np.arctan2(-y[0], -y[1]),), (y,))
    points = np.array([[0.0, 1.0], [0.0, 0.0], [0.0, -1.0], [-0.0, 1.0]])
    values, box = tape.values(points), tape.enclose(points, points)
    np.testing.assert_allclose(values[:, 0], [np.pi, 0.0, 0.0, np.pi])
    assert ((box.lo <= values) & (values <= box.hi)).all()


@pytest.mark.parametrize("name", ["fmax", "fmin"])
def test_operands_that_may_be_undefined_are_not_passed_over(name: str) -> None:
    t = lsip.Index("t", lsip.Interval(-1, 1))
    function = getattr(np, name)
    assert function(t, 0.5).shape == ()
    for operand in (np.sqrt(t), 1 / t, t**0.5, t**-1.5, 2 + np.exp(np.log(t))):
        with pytest.raises(ModelError, match=f"np.{name} passes over operands that are undefined"):
            function(operand, 0.5)
