"""Whether a sum of products exceeds a side, decided exactly: against rational numbers, at ties and far from them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from lsip.proof.linear_algebra import exact_differences

numbers = st.floats(-1e12, 1e12, allow_subnormal=True) | st.floats(-1e-130, 1e-130) | st.floats(allow_nan=False)


@given(st.lists(st.tuples(numbers, numbers), max_size=6), st.integers(-2, 2))
def test_signs_are_those_of_rational_numbers(pairs: list[tuple[float, float]], ulps: int) -> None:
    a, v = (np.array([pair[k] for pair in pairs]) for k in (0, 1))
    if not (np.isfinite(a).all() and np.isfinite(v).all()):
        return
    exact = sum((Fraction(x) * Fraction(y) for x, y in pairs), Fraction(0))
    side = float(exact) if abs(exact) < Fraction(1e300) else 1.0
    side += ulps * float(np.spacing(side))
    found = exact_differences(a, v, side, np.inf, -np.inf)
    if found is not None:
        assert np.sign(found[0]) == (exact > Fraction(side)) - (exact < Fraction(side))
        assert found[1:] == [-np.inf, np.inf]


def test_products_that_lose_digits_are_not_decided() -> None:
    assert exact_differences(np.array([1e-160]), np.array([1e-160]), 0.0) is None
    assert exact_differences(np.array([1e200]), np.array([1e200]), 0.0) is None
    assert exact_differences(np.array([0.0, 3.0]), np.array([1e-160, 2.0]), 6.0) == [0.0]
