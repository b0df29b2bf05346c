"""What is known of an object goes with it, and no Ctrl-C is lost meanwhile."""

from __future__ import annotations

import ast
import copy
import gc
import pickle
import weakref
from functools import partial
from pathlib import Path
from types import BuiltinFunctionType
from typing import Any

import numpy as np
import pytest

import lsip
from lsip.expressions import naming
from lsip.kernel import native
from lsip.lifetime import departing, remembered

LOSES = {"__del__", "WeakKeyDictionary", "WeakValueDictionary", "WeakSet", "finalize"}
GIVES_BACK = {"lsip/masters/gurobi.py"}  # licences, at once


class Thing:
    """Something of which something is known."""


def test_what_is_remembered_goes_with_its_object() -> None:
    known = remembered(lambda of: Thing())
    one, other = Thing(), Thing()
    gone = weakref.ref(known(one))
    assert known(one) is gone()
    assert known(other) is not gone()
    del one
    gc.collect()
    assert gone() is None


def test_a_value_may_hold_its_object() -> None:
    known = remembered(lambda of: {"of": [of]})
    one = Thing()
    assert known(one)["of"] == [one]
    gone = weakref.ref(one)
    del one
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda thing: pickle.loads(pickle.dumps(thing))])
def test_copies_start_with_nothing(copied: Any) -> None:
    known = remembered(lambda of: Thing())
    one = Thing()
    first = known(one)
    other = copied(one)
    assert known(other) is not first
    assert known(one) is first


def test_functions_know_nothing_of_each_other() -> None:
    one = Thing()
    assert remembered(lambda of: "first")(one) == "first"
    assert remembered(lambda of: "second")(one) == "second"


def test_nothing_is_known_where_it_could_not_be_found() -> None:
    fails = [True]

    @remembered
    def found(of: Thing) -> str:
        if fails.pop():
            raise ValueError
        return "found"

    one = Thing()
    with pytest.raises(ValueError):  # noqa: PT011
        found(one)
    fails.append(False)
    assert found(one) == "found"
    assert found(one) == "found"  # nor is it looked for again


def test_entries_depart_once() -> None:
    table: dict[str, Any] = {}
    thing = Thing()
    table["thing"] = departing(thing, table, "thing")
    assert table["thing"]() is thing
    table.clear()
    del thing  # its entry is gone already
    gc.collect()
    assert table == {}


def _model(n: int = 30) -> lsip.Problem:
    x, t = lsip.Variable(n, name="x", lower=0), lsip.Index("t", lsip.Interval(0, 1))
    return lsip.Problem(lsip.minimize(x.sum()), [lsip.forall(t, np.exp(np.linspace(0, 1, n) * t) @ x >= 1 + t)])


def _compiled(callback: Any) -> bool:
    while isinstance(callback, partial):
        callback = callback.func
    return isinstance(callback, BuiltinFunctionType)


def test_no_finaliser_of_a_solve_is_written_in_python() -> None:
    problem = _model()
    solution = problem.solve(verbose=False)
    assert solution.certified
    watched = [
        (type(thing).__name__, each.__callback__)
        for each in gc.get_objects()
        if issubclass(type(each), weakref.ref)
        and each.__callback__ is not None  # some warn where `isinstance` asks them
        for thing in [each()]
        if type(thing).__module__.startswith("lsip") or id(thing) in naming._NAMES
    ]
    assert "ndarray" in {name for name, _ in watched}
    assert [(name, callback) for name, callback in watched if not _compiled(callback)] == []


def test_none_is_written_anywhere_else() -> None:
    root = Path(lsip.__file__).parents[1]
    for path in root.glob("lsip/**/*.py"):
        name = path.relative_to(root).as_posix()
        if name not in GIVES_BACK:
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                names = {getattr(node, "name", None), getattr(node, "attr", None), getattr(node, "id", None)}
                assert not names & LOSES, f"{name} loses interrupts: {names & LOSES}; see lsip/lifetime.py"


def test_tapes_are_given_back() -> None:
    if native.kernel() is None:
        pytest.skip("NumPy does the work")
    held = []
    for _ in range(4):
        _model().compile()
        gc.collect()
        held.append(len(native._held))
    assert held[-1] == held[1]
