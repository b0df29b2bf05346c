"""Options that cannot mean anything: one sentence that names the option, and says what it should be."""

from __future__ import annotations

import dataclasses
import inspect
import pickle
from typing import Any

import numpy as np
import pytest

import lsip
from lsip.cli.arguments import Parser
from lsip.cli.solve import add as add_solve
from lsip.oracles import Grid, Multistart, ProjectedSubgradient, RandomSearch
from lsip.oracles.choice import ORACLES

X, T = lsip.Variable(2, name="x", lower=-9, upper=9), lsip.Index("t", lsip.Interval(0, 1))
PROBLEM = lsip.Problem(lsip.minimize(X[0] + X[1] / 2), [lsip.forall(T, X[0] + X[1] * T >= np.exp(T))])

WRONG: list[tuple[dict[str, Any], str]] = [
    ({"tol": "a"}, "`tol` is a relative gap between 0 and 1; got 'a'"),
    ({"tol": 2}, "`tol` is a relative gap between 0 and 1; got 2"),
    ({"tol": np.nan}, "`tol` is a relative gap"),
    ({"tol": None}, "`tol` is a relative gap"),
    (
        {"method": "x"},
        r"`method` must be an lsip\.Exchange or an lsip\.Counterpart, such as lsip\.Exchange\(oracle=…\); got 'x'",
    ),
    ({"max_iterations": 1e3}, r"`max_iterations` must be a whole number, at least 1; got 1000\.0; write 1000"),
    ({"max_iterations": 0}, "`max_iterations` must be a whole number, at least 1; got 0"),
    ({"max_iterations": True}, "`max_iterations` must be a whole number"),
    ({"time_limit": "a"}, "`time_limit` is a number of seconds, or None for no limit; got 'a'"),
    ({"time_limit": -1}, "`time_limit` is a number of seconds"),
    ({"warm_start": "a"}, "`warm_start` is the solution of a similar problem; got 'a'"),
    ({"callback": 3}, "`callback` is a function of an iterate; got 3"),
    ({"oracle": Grid}, r"`oracle` is a class; make one with parentheses: Grid\(\)"),
    ({"oracle": "x"}, r"There is no oracle called 'x'; choose from adaptive, branch-and-bound, grid, .*Grid\(points"),
    ({"oracle": 3}, r"`oracle` is a name, such as 'grid', or must have a method maximise.*Grid\(\).*got 3"),
    ({"seed": None}, "`seed` must be a whole number, at least 0; got None"),
    ({"seed": "a", "oracle": RandomSearch()}, "`seed` must be a whole number, at least 0; got 'a'"),
    ({"seed": -1, "oracle": RandomSearch()}, "`seed` must be a whole number, at least 0; got -1"),
    ({"tool": 1, "tol": "a"}, "Unknown option tool. The options of solve are oracle, .* tuning, method and verbose"),
]


@pytest.mark.parametrize(("options", "expected"), WRONG, ids=str)
def test_an_option_that_means_nothing_is_named(options: dict[str, Any], expected: str) -> None:
    for solve in (PROBLEM.solve, PROBLEM.compile().solve):
        with pytest.raises(lsip.ModelError, match=expected):
            solve(verbose=False, **options)
    if not {"method", "tool"} & set(options):
        with pytest.raises(lsip.ModelError, match=expected):
            lsip.Exchange(**options)


@pytest.mark.parametrize("given", [lsip.Exchange(tol=1e-6), 1e-6, None])
def test_options_need_their_names(given: Any) -> None:
    with pytest.raises(
        lsip.ModelError, match=r"by name, as in solve\(tol=1e-6\) or solve\(method=lsip\.Exchange\(\)\)"
    ):
        PROBLEM.solve(given)


def test_numpy_s_numbers_are_numbers() -> None:
    options = {
        "tol": np.float32(0.01),
        "max_iterations": np.int64(50),
        "seed": np.uint8(3),
        "time_limit": np.float64(60),
    }
    assert PROBLEM.solve(verbose=False, **options).certified


@pytest.mark.parametrize("wrong", [None, 3, "model.py"])
def test_only_models_can_be_solved(wrong: Any) -> None:
    with pytest.raises(lsip.ModelError, match=r"An lsip\.Problem or an lsip\.Program is needed; got"):
        next(lsip.exchange(wrong))
    with pytest.raises(lsip.ModelError, match=r"`method` must be an lsip\.Exchange"):
        next(lsip.exchange(PROBLEM, wrong or 3))


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda: RandomSearch("a"), "`points` must be a whole number, at least 1; got 'a'"),  # type: ignore[arg-type]
        (lambda: RandomSearch(0), "`points` must be a whole number, at least 1; got 0"),
        (lambda: Grid(points=None), "`points` must be a whole number"),  # type: ignore[arg-type]
        (lambda: Grid(cuts=2.5), "`cuts` must be a whole number"),  # type: ignore[arg-type]
        (lambda: Multistart(starts=2.0), r"`starts` must be a whole number, at least 1; got 2\.0; write 2"),  # type: ignore[arg-type]
        (lambda: ProjectedSubgradient(lipschitz="a"), "`lipschitz` must be positive and finite"),  # type: ignore[arg-type]
        (lambda: ProjectedSubgradient(iterations="a"), "`iterations` must be a whole number"),  # type: ignore[arg-type]
    ],
)
def test_settings_of_oracles_are_checked_when_they_are_made(make: Any, expected: str) -> None:
    with pytest.raises(lsip.ModelError, match=expected):
        make()


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda: lsip.Tuning(patience=2.5), "`patience` must be a whole number"),  # type: ignore[arg-type]
        (lambda: lsip.Tuning(visible=1), "`visible` is a factor above 1; got 1"),
        (lambda: lsip.Tuning(first_bounds=0), "`first_bounds` must be a whole number, at least 1; got 0"),
        (lambda: lsip.Tuning(least_points=-1), "`least_points` must be a whole number, at least 0; got -1"),
        (lambda: lsip.Tuning(points={1: 8}), "`points` is a tuple of numbers"),  # type: ignore[arg-type]
        (lambda: lsip.Tuning(points=(400, 0.5)), "`points` must be a whole"),  # type: ignore[arg-type]
        (lambda: lsip.Tuning(grace="a"), "`grace` is a number of seconds; got 'a'"),  # type: ignore[arg-type]
        (lambda: lsip.Tuning(share=np.nan), "`share` is a share between 0 and 1"),
    ],
)
def test_a_tuning_that_means_nothing_is_refused(make: Any, expected: str) -> None:
    with pytest.raises(lsip.ModelError, match=expected):
        make()


def test_a_tuning_is_a_value() -> None:
    tuning = lsip.Tuning(tries=5, least_points=48)
    assert tuning == pickle.loads(pickle.dumps(tuning)) != lsip.Tuning()
    assert eval(repr(tuning), {"Tuning": lsip.Tuning}) == tuning
    assert PROBLEM.solve(verbose=False, tuning=tuning).certified


def test_what_a_solution_and_a_problem_are_asked() -> None:
    solution = PROBLEM.solve(verbose=False)
    for wrong in (5, -1, "a", None):
        with pytest.raises(lsip.ModelError, match="`family`"):
            solution.violation(wrong)
    with pytest.raises(lsip.ModelError, match="x must be real numbers; got text, 'a'"):
        PROBLEM.worst_violation("a")
    with pytest.raises(lsip.ModelError, match="x must be real numbers; got text"):
        PROBLEM.worst_violation({X: "a"})
    with pytest.raises(lsip.ModelError, match="`tol` is how far"):
        PROBLEM.worst_violation([0, 0], tol="a")  # type: ignore[arg-type]


def test_python_and_the_command_line_have_the_same_words() -> None:
    """Every option of `Exchange` is a named parameter of `solve`, and a flag, but for what no command line can say."""
    fields = {f.name for f in dataclasses.fields(lsip.Exchange)}
    named = [p for p in inspect.signature(lsip.Problem.solve).parameters.values() if p.kind is p.KEYWORD_ONLY]
    assert {p.name for p in named} == {*fields, "method", "verbose"}
    assert lsip.Problem.solve is lsip.Program.solve
    assert all(f"{name}" in (lsip.Problem.solve.__doc__ or "") for name in fields)
    commands = Parser().add_subparsers()
    add_solve(commands)
    flags = {a.dest for a in commands.choices["solve"]._actions if a.option_strings}
    # Other processes cannot import the functions of a file that is run.
    assert fields - flags == {"callback", "start", "tuning", "workers"}
    assert flags - fields == {"help", "report", "plot", "save", "write", "json", "quiet"}


def test_an_option_that_is_not_given_is_the_method_s() -> None:
    method = lsip.Exchange(tol=1e-3, time_limit=50)
    assert PROBLEM.solve(method=method, verbose=False).tol == 1e-3
    assert PROBLEM.solve(method=method, tol=1e-5, verbose=False).tol == 1e-5


@pytest.mark.parametrize("name", sorted(ORACLES))
def test_oracles_have_names(name: str) -> None:
    problem = lsip.Problem(lsip.minimize(X[0]), [lsip.forall(T, X[0] + X[1] * T >= T), X[1] >= 0])
    kind = type(lsip.Exchange(oracle=name).oracle).__name__
    assert problem.solve(oracle=name, verbose=False, max_iterations=20).oracle == kind
