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
from scipy.special import ndtr

import lsip
from lsip.expressions.arithmetic import register
from lsip.expressions.elementary import EVERYWHERE, Function, increasing
from lsip.expressions.functions import FUNCTIONS, exp, scaled
from lsip.expressions.interval import Interval
from lsip.expressions.jets import square
from lsip.expressions.operators import RULES

flint = pytest.importorskip("flint")

from .function_checks import check_function  # noqa: E402

ONE_OVER_ROOT_TWO_PI = 0.3989422804014327

NORMAL_DISTRIBUTION = Function(
    "ndtr",
    ndtr,
    increasing,
    lambda u, f: scaled(ONE_OVER_ROOT_TWO_PI, exp(-0.5 * square(u))),
    lambda u, f: scaled(-ONE_OVER_ROOT_TWO_PI, u * exp(-0.5 * square(u))),
    lambda u, f: scaled(ONE_OVER_ROOT_TWO_PI, (square(u) - 1.0) * exp(-0.5 * square(u))),
    image=(0.0, 1.0),
    ulps=4096.0,  # 1,000 were found: SciPy's kernel loses digits in the lower tail
    checked=EVERYWHERE,
)


def reference(u: Any) -> Any:
    """The same for a `flint.arb`."""
    return (-u / flint.arb(2).sqrt()).erfc() / 2


def series(u: Any) -> Any:
    """The same for a `flint.arb_series`, which has erf and erfc, too."""
    return (-u / flint.arb(2).sqrt()).erfc() / 2


def test_template_keeps_the_promises() -> None:
    error = check_function(NORMAL_DISTRIBUTION, reference, series)
    assert NORMAL_DISTRIBUTION.ulps >= 2 * error


@pytest.fixture
def registered() -> Iterator[None]:
    """The function as part of the language, for one test."""
    register(NORMAL_DISTRIBUTION)
    yield
    for table in (FUNCTIONS, RULES):
        del table["ndtr"]


@pytest.mark.usefixtures("registered")
def test_template_is_part_of_the_language() -> None:
    t, z = lsip.Index("t", lsip.Interval(-1, 2)), lsip.Variable(name="z")
    problem = lsip.Problem(lsip.minimize(z), [lsip.forall(t, z >= ndtr(t) - 0.1 * t)])
    solution = problem.solve(verbose=False)
    assert solution.certified
    top = np.sqrt(-2 * np.log(0.1 * np.sqrt(2 * np.pi)))  # where the density is 0.1
    assert solution.value == pytest.approx(ndtr(top) - 0.1 * top, abs=1e-7)
    assert "ndtr(t)" in str(problem)
    with pytest.raises(lsip.ModelError, match="part of the language already"):
        register(NORMAL_DISTRIBUTION)


def test_a_lie_about_the_error_is_found_out() -> None:
    with pytest.raises(
        AssertionError, match=r"ndtr\(-3.*\) is off by \d+\.\d units, more than the 4 that are declared"
    ):
        check_function(replace(NORMAL_DISTRIBUTION, ulps=4.0), reference, series)


def test_without_a_declared_error_there_is_no_function() -> None:
    with pytest.raises(
        lsip.ModelError, match=r"'ndtr' needs a declared error: `ulps`.*Measure it with `check_function`"
    ):
        Function("ndtr", ndtr, increasing, exp.first, exp.second, exp.third)


def test_beyond_the_checked_arguments_there_is_only_the_image() -> None:
    careful = replace(NORMAL_DISTRIBUTION, checked=(-5.0, 5.0))
    box = careful(Interval(np.array([-6.0, -4.0, -1.0]), np.array([-5.5, 6.0, 1.0])))
    np.testing.assert_array_equal(box.lo[:2], [0.0, 0.0])
    np.testing.assert_array_equal(box.hi[:2], [1.0, 1.0])
    assert 0.15 < box.lo[2] < box.hi[2] < 0.85
