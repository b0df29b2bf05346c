"""Every idiom in the table of docs/coming_from.md works as it is written there."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
import scipy.special
from scipy.interpolate import CubicSpline

import lsip

PAGE = (Path(__file__).parent.parent / "docs" / "coming_from.md").read_text(encoding="utf-8")
TABLE = PAGE.split("## What you type first")[1].split("\n## ")[0]
IDIOMS = re.findall(r"^\| (\w+) \| (.*?) \| `(.*)` \|$", TABLE, re.MULTILINE)
TOOLS = {"CVXPY", "JuMP", "InfiniteOpt", "Pyomo", "RSOME", "YALMIP", "SciPy"}


def names():
    """What the table speaks of."""
    x = lsip.Variable(3, name="x", lower=0, upper=1)
    cap = x.sum() <= 2
    return {
        "np": np,
        "lsip": lsip,
        "scipy": scipy,
        "CubicSpline": CubicSpline,
        "x": x,
        "cap": cap,
        "problem": lsip.Problem(lsip.maximize(x.sum()), [cap]),
        "s": lsip.Variable(name="s"),
        "X": lsip.Variable((3, 3), name="X", symmetric=True),
        "w": lsip.Variable(2, name="w", complex=True),
        "t": lsip.Index("t", lsip.Interval(0, 1)),
        "z": lsip.Index("z", lsip.Box([-1] * 3, [1] * 3)),
        "c": np.array([1.0, 2.0, 3.0]),
        "A": np.eye(3),
        "b": np.ones(3),
        "P": np.diag([1.0, 2.0, 3.0]),
    }


def test_the_table_is_as_long_as_it_says():
    assert len(IDIOMS) == TABLE.count("\n|") - 2 >= 40
    assert {tool for tool, _, _ in IDIOMS} == TOOLS


@pytest.mark.parametrize(("tool", "there", "here"), IDIOMS)
def test_idioms_work(tool, there, here):
    found = eval(here, names())
    assert found is not None or here.endswith("value"), (tool, there)


def test_a_solve_gives_what_the_table_says():
    known = names()
    assert eval("problem.value, x.value", known) == (None, None)
    solution = eval('problem.solve(master="highs", verbose=False)', known)
    assert known["problem"].value == pytest.approx(2.0)
    assert solution.dual(known["cap"]) == pytest.approx(1.0)
