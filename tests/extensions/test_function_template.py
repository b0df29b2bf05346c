"""How to add an elementary function: this file is a complete one.

1. Find its error with `check_function`, against python-flint: declare something large, and see what it returns.
2. Declare a `Function`: the kernel, its shape, three derivatives in terms of the argument u and the value f (written
   with operators and with functions of the table, `scaled` for irrational factors), where it is defined, what values it
   can have, at least twice the error found in `ulps`, and in `checked` the arguments for which that is true. Without a
   declared error there is no function; beyond the checked arguments its enclosure is its whole image.
3. `register` it. From then on the ufunc of that name works on index expressions.
4. Test it with `check_function`, as below. A built-in one is an entry of the table in `lsip/expressions/functions.py`;
   the tests of the table need its reference in `tests/test_functions.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.special import log_expit

import lsip
from lsip.expressions.arithmetic import register
from lsip.expressions.elementary import EVERYWHERE, Function, increasing
from lsip.expressions.functions import FUNCTIONS, exp, expit
from lsip.expressions.interval import Interval
from lsip.expressions.operators import RULES

flint = pytest.importorskip("flint")

from .function_checks import check_function  # noqa: E402

LOG_EXPIT = Function(
    "log_expit",
    log_expit,
    increasing,
    lambda u, f: expit(-u),
    lambda u, f: -expit(u) * expit(-u),
    lambda u, f: expit(u) * expit(-u) * (2.0 * expit(u) - 1.0),
    image=(-np.inf, 0.0),
    ulps=8.0,  # 2 were found
    checked=EVERYWHERE,
)


def reference(u: Any) -> Any:
    """The same for a `flint.arb`."""
    return -(-u).exp().log1p() if u > 0 else u - u.exp().log1p()


def series(u: Any) -> Any:
    """The same for a `flint.arb_series`."""
    return -(1 + (-u).exp()).log()


def test_template_keeps_the_promises() -> None:
    error = check_function(LOG_EXPIT, reference, series)
    assert LOG_EXPIT.ulps >= 2 * error


@pytest.fixture
def registered() -> Iterator[None]:
    """The function as part of the language, for one test."""
    register(LOG_EXPIT)
    yield
    for table in (FUNCTIONS, RULES):
        del table["log_expit"]


@pytest.mark.usefixtures("registered")
def test_template_is_part_of_the_language() -> None:
    t, z = lsip.Index("t", lsip.Interval(-1, 2)), lsip.Variable(name="z")
    problem = lsip.Problem(lsip.minimize(z), [lsip.forall(t, z >= log_expit(t) - 0.5 * t)])
    solution = problem.solve(verbose=False)
    assert solution.certified
    assert solution.value == pytest.approx(-np.log(2), abs=1e-7)  # at t = 0, where the slope is 1/2
    assert "log_expit(t)" in str(problem)
    with pytest.raises(lsip.ModelError, match="part of the language already"):
        register(LOG_EXPIT)


def test_a_lie_about_the_error_is_found_out() -> None:
    with pytest.raises(
        AssertionError, match=r"log_expit\(.*\) is off by \d+\.\d units, more than the 0.1 that are declared"
    ):
        check_function(replace(LOG_EXPIT, ulps=0.1), reference, series)


def test_without_a_declared_error_there_is_no_function() -> None:
    with pytest.raises(
        lsip.ModelError, match=r"'log_expit' needs a declared error: `ulps`.*Measure it with `check_function`"
    ):
        Function("log_expit", log_expit, increasing, exp.first, exp.second, exp.third)


def test_beyond_the_checked_arguments_there_is_only_the_image() -> None:
    careful = replace(LOG_EXPIT, checked=(-5.0, 5.0))
    box = careful(Interval(np.array([-6.0, -4.0, -1.0]), np.array([-5.5, 6.0, 1.0])))
    np.testing.assert_array_equal(box.lo[:2], [-np.inf, -np.inf])
    np.testing.assert_array_equal(box.hi[:2], [0.0, 0.0])
    assert -1.32 < box.lo[2] < box.hi[2] < -0.31
