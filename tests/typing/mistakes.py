"""What a type checker refuses; `tests/test_typing.py` compares its complaints with the comments."""

from __future__ import annotations

import lsip

x, t = lsip.Variable(3, name="x"), lsip.Index("t", lsip.Interval(0, 1))
problem = lsip.Problem(lsip.minimize(x[0]), [lsip.forall(t, x[0] >= t)])
value = problem.solve(verbose=False).values  # attr-defined
x[0] + None  # operator
lsip.forall(t, 3)  # call-overload
found = (x[0] >= t).value  # attr-defined
lowest = x.lowest  # attr-defined
