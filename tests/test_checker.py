"""The second opinion: what the independent checker proves, refuses, and is not fooled by."""

from __future__ import annotations

import contextlib
import copy
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lsip
from benchmarks.check import CHECKER, accepts, fool, load_checker
from benchmarks.harness import mutants
from lsip import catalogue, cli
from lsip.expressions.index_sets import domain_data
from lsip.proof.export import _inequalities

pytest.importorskip("flint")

Data = dict[str, Any]
ENTRIES = (  # one or more of every status, kind of index set, and operation
    "abs_d2", "sqrt1000_d4", "oet1", "sipow1", "lukacs8", "cantelli", "scarf", "markov_inequality", "spike_d5",
    "monic4_two_bands", "parabola_on_integers", "scenarios_above", "robust_disc", "robust_union", "triangle_above",
    "watson8_2d", "cap_unbounded", "infeasible_abs", "infeasible_plane", "envelopes",
)  # fmt: skip
LINES = 700


@pytest.fixture(scope="module")
def checker() -> Any:
    return load_checker()


@pytest.fixture(autouse=True)
def _precision() -> Iterator[None]:
    """The checker is made for an interpreter of its own: python-flint has one precision for all."""
    import flint

    before = flint.ctx.prec, flint.ctx.cap
    yield
    flint.ctx.prec, flint.ctx.cap = before


@pytest.fixture(scope="module")
def honest() -> dict[str, Data]:
    return mutants.proofs()


@pytest.mark.parametrize("name", ENTRIES)
def test_certified_entries_are_proven_again(name: str, checker: Any) -> None:
    solution = catalogue.get(name).build().solve(verbose=False)
    assert solution.certified
    assert checker.check(json.loads(json.dumps(mutants.exported(solution)))).startswith("proven")


def test_functions_and_kinks(checker: Any) -> None:
    x, t = lsip.Variable(name="x"), lsip.Index("t", lsip.Interval(0.25, 0.75))
    functions = (np.sin, np.cos, np.tan, np.arcsin, np.arccos, np.arctan, np.exp, np.log, np.sqrt)
    functions += (np.square, np.reciprocal, np.abs, lambda u: u**-3, lambda u: u**1.5, lambda u: np.maximum(u, 1 - u))
    for f in functions:
        solution = lsip.Problem(lsip.minimize(x), [lsip.forall(t, x >= f(t))]).solve(verbose=False)
        assert solution.certified
        assert checker.check(mutants.exported(solution)).startswith("proven"), f


def test_the_verdict_has_the_sign_of_the_objective(checker: Any) -> None:
    """A program minimises; whoever asked for a maximum reads about that."""
    x, t = lsip.Variable(name="x", upper=9), lsip.Index("t", lsip.Interval(0, 1))
    bound = lsip.forall(t, x <= 3 + t * (1 - t))
    high = lsip.Problem(lsip.maximize(x), [bound]).solve(verbose=False)
    low = lsip.Problem(lsip.minimize(-x), [bound]).solve(verbose=False)
    for solution in (high, low):
        said = checker.check(mutants.exported(solution))
        assert said.startswith(f"proven: the optimal value is between {solution.lower!r} and {solution.upper!r} (tol")
    assert high.lower == -low.upper > 0
    free = lsip.Variable(name="free")
    endless = lsip.Problem(lsip.maximize(free), [lsip.forall(t, free >= t)]).solve(verbose=False)
    assert checker.check(mutants.exported(endless)).endswith("the objective improves without end from there")


@pytest.mark.parametrize(
    "domain",
    [
        lsip.Ball([0.5, -1], 2),
        lsip.Ellipsoid([0.5, -1], [[2, 0.5], [0.5, 1]]),
        lsip.Ellipsoid([0, 0, 1], [1, 2, 0.5]),
        lsip.Polytope.from_vertices([[0, 0], [1, 0], [0.3, 1], [0.2, 0.2]]),
        lsip.Simplex(2),
        lsip.Simplex(3),
        lsip.Budget(2, 1.5),
        lsip.Budget(3, 1.5),
        lsip.Budget(1, 0.5) * lsip.Interval(0, 1),
        lsip.Polytope([[1, 1, 1], [-1, 0, 0], [0, -1, 0], [0, 0, -1]], [1, 0, 0, 0]),
        lsip.Simplex(2) * lsip.Interval(0, 1),
        lsip.Polytope([[-1, 0], [0, -1], [1, 1], [1, -1]], [0, 0, 1, 0.5]),
        lsip.Box([0, 0, -1], [1, 2, 1]),
        lsip.Box([0, -1], [1, 1]) | lsip.Ball([3, 0], 1),
        lsip.Ball([0, 0], 1) * lsip.Interval(0, 1),
        lsip.Finite([[1, 2], [3, 4]]) * lsip.Interval(0, 1),
        lsip.Ball([0, 0], 1) & lsip.Box([0, 0], [1, 1]),
        lsip.Ball([0, 0], 1) & lsip.Ball([1, 0], 1),
        lsip.Ball([0, 0, 0], 1) & lsip.Box([-0.5, -0.5, -1], [0.5, 0.5, 1]),
        lsip.Ellipsoid([0.5, -1], [[2, 0.5], [0.5, 1]]) & lsip.Polytope([[1, 1], [-1, 0], [0, -1]], [0, 1, 2]),
        lsip.Box([0, -1], [1, 1]).where(lambda y: y[0] ** 3 >= y[1] ** 2),
        lsip.Interval(0, 2).where(lambda t: np.exp(t) <= 3),
        lsip.Ball([0, 0], 1).where(lambda y: [y[0] * y[1] >= 0.1, y[0] + y[1] <= 1]),
        lsip.Interval(0, 2).where(lambda t: np.exp(t) <= 3) * lsip.Interval(0, 1),
        lsip.Box([0, 0], [1, 1]).where(lambda y: y[0] + 2 * y[1] <= 1.5) | lsip.Ball([3, 0], 1),
        lsip.Box([0, 0], [2, 2]).where(lambda y: abs(y[0] - y[1]) <= 0.5),
    ],
    ids=str,
)
def test_index_sets(domain: lsip.Domain, checker: Any) -> None:
    x, y = lsip.Variable(name="x"), lsip.Index("y", domain)
    slopes, flat = np.arange(1.0, domain.dim + 1), np.reshape(y, (-1,))
    height = slopes @ flat - 0.6 * (flat**2).sum()
    solution = lsip.Problem(lsip.minimize(x), [lsip.forall(y, x >= height)]).solve(verbose=False)
    assert solution.certified
    data = mutants.exported(solution)
    assert checker.check(data).startswith("proven")
    for shift in (1e-6, 1.0):
        wrong = copy.deepcopy(data)
        wrong["point"]["x"][0] -= shift
        assert not accepts(checker, wrong)
        wrong = copy.deepcopy(data)
        wrong["claim"]["lower"] = wrong["claim"]["upper"] = data["claim"]["upper"] + shift
        assert not accepts(checker, wrong)


def test_equalities_that_follow_from_others(checker: Any) -> None:
    x, t = lsip.Variable((2, 2), name="x", lower=0), lsip.Index("t", lsip.Interval(0, 1))
    rows = [x[0].sum() == 0.1, x[1].sum() == 0.2, x[:, 0].sum() == 0.15, x[:, 1].sum() == 0.15]
    solution = lsip.Problem(
        lsip.minimize(x[0, 0] + 2 * x[0, 1] + 3 * x[1, 0]), [*rows, lsip.forall(t, x[0, 0] * t + x[1, 1] <= 1)]
    ).solve(verbose=False)
    assert solution.certified
    data = mutants.exported(solution)
    assert "rounding" in checker.check(data)
    data["model"]["rows"]["lower"][3] = data["model"]["rows"]["upper"][3] = 0.1500001
    assert not accepts(checker, data)


def test_no_false_mutant_is_accepted() -> None:
    found = fool(400, 0)
    assert found["false"] > 150
    assert found["false_accepted"] == 0
    assert set(found["kinds"]) >= set(mutants.KINDS)


def test_honest_proofs_are_accepted(checker: Any, honest: dict[str, Data]) -> None:
    assert {data["status"] for data in honest.values()} == {"OPTIMAL", "INFEASIBLE", "UNBOUNDED"}
    for data in honest.values():
        assert checker.check(data).startswith("proven")


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(p for key, part in inner for p in _places(part, (*path, key)))]


@pytest.mark.parametrize("junk", [None, "x", [], {}, -1, 1e308, True, [[]]], ids=str)
def test_malformed_files(junk: Any, checker: Any, honest: dict[str, Data]) -> None:
    """Whatever stands in the place of a part, the checker says one of its words, or proves what is then there."""
    data = honest["chord"]
    known = (checker.CheckError, TypeError, ValueError, LookupError)
    for path in _places(data)[1:]:
        broken = copy.deepcopy(data)
        place = broken
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = junk
        with contextlib.suppress(*known):
            assert checker.check(broken).startswith("proven")
            assert path[0] not in ("format", "version", "status", "tol", "claim"), path


def _changed(data: Data, change: Callable[[Data], None]) -> Data:
    found = copy.deepcopy(data)
    change(found)
    return found


def _unknown(data: Data) -> dict[str, Data]:
    def family(found: Data) -> Data:
        return found["model"]["families"][0]

    def function(found: Data) -> None:
        family(found)["steps"].append({"op": "gamma", "args": [0]})

    def exponent(found: Data) -> None:
        family(found)["steps"].append({"op": "power", "exponent": 0.3, "args": [0]})

    return {
        "function": _changed(data, function),
        "exponent": _changed(data, exponent),
        "domain": _changed(data, lambda d: family(d)["domain"].update(kind="Torus")),
        "coordinates": _changed(
            data, lambda d: family(d).update(domain={"kind": "Box", "arguments": [[0.0] * 4, [1.0] * 4]})
        ),
    }


@pytest.mark.parametrize("what", ["function", "exponent", "domain", "coordinates"])
def test_what_is_not_known_is_refused(what: str, honest: dict[str, Data], tmp_path: Path) -> None:
    path = tmp_path / "proof.json"
    path.write_text(json.dumps(_unknown(honest["hill"])[what]))
    assert cli.main(["check", str(path)]) == 3


def test_exit_codes(honest: dict[str, Data], tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "proof.json"
    for name, data in honest.items():
        path.write_text(json.dumps(data))
        assert cli.main(["check", str(path)]) == 0, name
        assert capfd.readouterr().out.startswith("proven")
    wrong = _changed(honest["hill"], lambda d: d["point"]["x"].__setitem__(0, 0.2))
    path.write_text(json.dumps(wrong))
    assert cli.main(["check", str(path)]) == 1
    assert capfd.readouterr().err.startswith("not proven: ")
    for text in ("", "[", "[]", "null", "NaN", '{"format": "lsip-proof", "version": 2}', "[" * 100_000):
        path.write_text(text)
        assert cli.main(["check", str(path)]) == 2, text[:20]
        assert "Traceback" not in capfd.readouterr().err
    assert cli.main(["check", str(tmp_path / "absent.json")]) == 2
    told = capfd.readouterr().err
    assert "There is no file" in told
    assert "Errno" not in told


@pytest.mark.parametrize(
    ("rows", "sides"),
    [
        ([[-1.0, 0.0], [0.0, -1.0], [0.0, 1.0]], [0.0, 0.0, 1.0]),  # its corners alone would not cover it
        ([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]], [0.0, -1.0, 1.0, 1.0]),  # nothing
        ([[1.0, 0.0], [-1.0, 0.0]], [1.0, 1.0]),  # a strip
        ([[1.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, -1.0, 0.0], [0.0, 0.0, -1.0]], [1.0, 0.0, 0.0, 0.0]),  # no lid
        ([[1.0, 0.0, 0.0, 0.0]], [1.0]),
    ],
)
def test_polytopes_that_are_empty_or_unbounded_are_refused(rows: Any, sides: Any, checker: Any) -> None:
    with pytest.raises(checker.CheckError, match="not known"):
        checker.read_set({"kind": "Polytope", "arguments": [rows, sides]})


@pytest.mark.parametrize("domain", [lsip.Budget(3, 1.5), lsip.Simplex(3), lsip.Ellipsoid([0, 1], [[2, 0.5], [0.5, 1]]),
    lsip.Polytope([[1, 0, 0], [-1, 0, 0], [0, 1, 0.5], [0, -1, 0.25], [0, 0, -1], [1, 1, 1]], [1, 1, 1, 1, 1, 1.5]),
    lsip.Ball([0, 0], 1) & lsip.Box([0, 0], [1, 1]), lsip.Interval(0, 2).where(lambda t: np.exp(t) <= 3),
    lsip.Box([0, 0], [1, 1]).where(lambda y: y[0] ** 3 >= y[1] ** 2) | lsip.Ball([2, 0], 0.5),
    lsip.Finite([0.25, 0.75]) * lsip.Interval(0, 1).where(lambda t: t <= 0.5)], ids=str)  # fmt: skip
def test_pieces_cover_the_set(domain: lsip.Domain, checker: Any) -> None:
    """Points of the set lie in one of the boxes and keep its cuts, and points outside of all break some side."""
    found = checker.read_set(json.loads(json.dumps(domain_data(domain, _inequalities))))
    points = np.concatenate(
        [domain.spread(200), domain.lower + (domain.upper - domain.lower) * np.linspace(-0.5, 1.5, 7)[:, None]]
    )
    for y in points:
        exact = [checker.number(float(v)) for v in y]
        inside = [
            all(
                a - 1e-9 <= float(v) <= b + 1e-9 for v, a, b in zip(y, map(_float, low), map(_float, high), strict=True)
            )
            and all(float(checker.ball(cut).mid()) >= -1e-9 for cut in cuts(exact))
            for low, high, cuts in found.pieces
        ]
        assert any(inside) == bool(domain.contains(y[None], 1e-8)[0])
        if _holds(found, exact):
            assert domain.contains(y[None], 1e-8)[0]


def _float(v: Any) -> float:
    return int(v.p) / int(v.q)


def _holds(found: Any, y: Any) -> bool:
    return all(side >= 0 for side in found.sides(y))


def test_membership_is_exact(checker: Any) -> None:
    fmpq = checker.fmpq
    disc = checker.read_set({"kind": "Ball", "arguments": [[0.0, 0.0], 1.0]})
    assert _holds(disc, (fmpq(3, 5), fmpq(4, 5)))
    assert not _holds(disc, (fmpq(3, 5), fmpq(4, 5) + fmpq(1, 10**60)))
    rows, sides = [[-1.0, 0.0], [0.0, -1.0], [0.1, 0.7]], [0.0, 0.0, 0.3]
    triangle = checker.read_set({"kind": "Polytope", "arguments": [rows, sides]})
    end = checker.number(0.3) / checker.number(0.1)
    assert _holds(triangle, (end, fmpq(0)))
    assert not _holds(triangle, (end, fmpq(1, 10**60)))
    finite, interval = {"kind": "Finite", "arguments": [[[1.0], [2.0]]]}, {"kind": "Interval", "arguments": [0, 1]}
    both = checker.read_set({"kind": "Product", "arguments": [finite, interval]})
    assert _holds(both, (fmpq(2), fmpq(1)))
    assert not _holds(both, (fmpq(2), 1 + fmpq(1, 10**60)))
    assert not _holds(both, (fmpq(3, 2), fmpq(1)))


def test_a_point_outside_of_the_set_is_never_an_atom(checker: Any, honest: dict[str, Data]) -> None:
    wrong = _changed(honest["hill"], lambda d: d["measure"]["atoms"][0].update(point=[1 + 2.0**-52]))
    with pytest.raises(checker.CheckError, match="not in the index set"):
        checker.check(wrong)


def test_a_denominator_that_may_vanish_is_no_number(checker: Any) -> None:
    one, wide = checker.fmpq(1), checker.arb(0, 1)
    series = checker.arb_series([wide, checker.arb(1)], 4)
    for a in (one, checker.arb(1), checker.arb_series([1, 1], 4)):
        for b in (checker.ZERO, wide, series):
            assert not checker.ball(checker.OPERATIONS["divide"](None, a, b)).is_finite()


def test_the_gap_is_relative_or_absolute(checker: Any, honest: dict[str, Data]) -> None:
    said = checker.check(honest["chord"])
    assert all(repr(honest["chord"][name]) in said for name in ("tol", "atol"))
    for tol, atol, closed in ((1e-30, 1.0, True), (0.5, 0.0, True), (1e-30, 1e-30, False), (0.5, -1.0, False)):
        assert accepts(checker, {**honest["chord"], "tol": tol, "atol": atol}) == closed


def test_a_root_at_the_end_of_an_interval(checker: Any) -> None:
    """Balls reach beyond the end by a rounding; that the root is defined is proven apart."""
    x, t = lsip.Variable(2, name="x"), lsip.Index("t", lsip.Interval(0.1, 0.7))
    model = [lsip.forall(t, x[0] + x[1] * t >= np.sqrt(t - 0.1))]
    solution = lsip.Problem(lsip.minimize(x[0] + 0.4 * x[1]), model).solve(verbose=False)
    assert solution.certified
    data = mutants.exported(solution)
    assert checker.check(data).startswith("proven")
    data["model"]["families"][0]["domain"]["arguments"][0] = 0.09
    assert not accepts(checker, data)


def test_it_shares_no_code() -> None:
    run = [sys.executable, "-I", "-c", f"import runpy, sys; runpy.run_path({str(CHECKER)!r}); print(*sys.modules)"]
    loaded = subprocess.run(run, capture_output=True, text=True, check=True).stdout.split()
    assert not {"numpy", "lsip", "scipy"} & set(loaded)


def test_it_is_short() -> None:
    assert len(CHECKER.read_text(encoding="utf-8").splitlines()) <= LINES
