"""A small file asks for no large amount of memory or time: what it declares is refused before it is made."""

from __future__ import annotations

import copy
import json
import time
import tracemalloc
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest

import lsip

MOST_BYTES, MOST_SECONDS = 64 * 2**20, 20.0
LARGE = (19_000_000, 10**18)
SHAPES = (
    [19_000_000],
    [10**9],
    [10**5, 10**5],
    [19_000_000, 1],
    [4300, 4300],
    [0, 10**18],
    [1] * 70,
    [1] * 40 + [10**6],
)


@cache
def _problem() -> dict[str, Any]:
    x, z = lsip.Variable(2, name="x", lower=0, upper=9), lsip.Index("z", lsip.Simplex(2))
    t, a = lsip.Index("t", lsip.Interval(0, 1)), lsip.Parameter(3, name="a")
    rule = lsip.Rule(of=z, name="rule", degree=2)
    rows = [
        lsip.forall(t, x[0] + x[1] * t >= np.exp(t) * a[0]),
        lsip.forall(z, rule + x[0] >= z[0] ** 3),
        lsip.forall(t, abs(x[0] - t) <= 3),
    ]
    with TemporaryDirectory() as folder:
        path = Path(folder) / "problem.json"
        lsip.Problem(lsip.minimize(x[0] + x[1]), rows).save(path)
        found: dict[str, Any] = json.loads(path.read_text())
    return found


def _places(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    yield path, data
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in items:
        yield from _places(value, (*path, key))


def _changed(data: dict[str, Any], path: tuple[Any, ...], value: Any) -> dict[str, Any]:
    data = copy.deepcopy(data)
    inner: Any = data
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return data


def _mutants() -> Iterator[tuple[str, dict[str, Any]]]:
    for path, value in _places(_problem()):
        if isinstance(value, int) and not isinstance(value, bool) and path:
            yield from ((f"{path} = {large}", _changed(_problem(), path, large)) for large in LARGE)
        if isinstance(value, list) and all(type(v) is int for v in value) and path[-1] in ("shape", "rows", "args"):
            yield from ((f"{path} = {shape}", _changed(_problem(), path, shape)) for shape in SHAPES)


def test_no_number_in_a_problem_asks_for_much(tmp_path: Path) -> None:
    path, count, greedy = tmp_path / "problem.json", 0, []
    for what, data in _mutants():
        path.write_text(json.dumps(data))
        count += 1
        began = time.process_time()
        tracemalloc.start()
        try:
            str(lsip.load(path))
        except lsip.LSIPError:
            pass
        finally:
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
        if peak > MOST_BYTES or time.process_time() - began > MOST_SECONDS:
            greedy.append((what, peak))
    assert count > 100
    assert greedy == []


def test_arrays_with_empty_elements_are_read(tmp_path: Path) -> None:
    x = lsip.Variable(3, name="x", lower=0, upper=1)
    matrix = np.zeros((400, 3))
    matrix[7, 1] = 1.0
    problem = lsip.Problem(lsip.minimize(x.sum()), [matrix @ x <= 2, x[1] >= 0.5])
    problem.save(tmp_path / "problem.json")
    assert lsip.load(tmp_path / "problem.json").solve(verbose=False).value == pytest.approx(0.5)


def _proof() -> dict[str, Any]:
    t, x = lsip.Index("t", lsip.Interval(0, 1)), lsip.Variable(2, name="x", lower=-9, upper=9)
    problem = lsip.Problem(lsip.minimize(x[0] + x[1] / 2), [lsip.forall(t, x[0] + x[1] * t >= np.exp(t))])
    with TemporaryDirectory() as folder:
        path = Path(folder) / "proof.json"
        problem.solve(verbose=False).export(path)
        found: dict[str, Any] = json.loads(path.read_text())
    return found


INTERVALS = {"kind": "Union", "arguments": [{"kind": "Interval", "arguments": [k, k + 0.5]} for k in range(2)]}
SETS: dict[str, dict[str, Any]] = {
    "ball": {"kind": "Ball", "arguments": [[0.0] * 1500, 1.0]},
    "product": {"kind": "Product", "arguments": [INTERVALS] * 60},
    "simplex": {"kind": "Simplex", "arguments": [10**9]},
    "budget": {"kind": "Budget", "arguments": [30, 1.0]},
}


@pytest.mark.parametrize("name", SETS)
def test_the_checker_refuses_large_index_sets_at_once(name: str) -> None:
    checker = pytest.importorskip("lsip.proof.checker")
    proof = _proof()
    proof["model"]["families"][0]["domain"] = SETS[name]
    began = time.process_time()
    with pytest.raises(checker.CheckError):
        checker.check(proof)
    assert time.process_time() - began < MOST_SECONDS


def test_the_checker_computes_no_huge_fractions() -> None:
    checker = pytest.importorskip("lsip.proof.checker")
    index = checker.read_set({"kind": "Interval", "arguments": [0, 1]})
    steps: list[dict[str, Any]] = [{"op": "index", "args": [], "coordinate": 0}]
    steps += [{"op": "power", "args": [k], "exponent": 1000} for k in range(60)]  # t ** (1000 ** 60)
    checker.budget[0] = checker.TUNING.most_steps
    began = time.process_time()
    formula = checker.Formula(steps, index)
    formula.values([60], (checker.fmpq(1, 3),))
    assert time.process_time() - began < 2.0


def test_the_checker_gives_up_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    checker = pytest.importorskip("lsip.proof.checker")
    monkeypatch.setattr(checker, "TUNING", checker.TUNING._replace(most_steps=40, boxes=0))
    with pytest.raises(checker.CheckError, match="more work"):
        checker.check(_proof())
