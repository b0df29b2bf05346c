"""Every walk over an expression takes each node once: 60 doublings are 60 nodes, though 2 ** 60 operands.

A walk that follows every path would not end, so each has a budget of processor time, which a signal enforces; none of
them needs a tenth of it.
"""

from __future__ import annotations

import copy
import json
import pickle
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import lsip
from lsip.expressions.addends import numbers_in, without_numbers
from lsip.expressions.polynomials import Polynomials
from lsip.expressions.substitution import substituted
from lsip.expressions.tape import Tape

BUDGET = 20.0  # seconds of processor time
LONGEST = 200_000  # characters of a formula that is printed
DOUBLINGS, DEGREE, LONG = 60, 200, 3_000

Graph = Callable[[], tuple[Any, Any]]


class TookForEver(BaseException):
    """No error that something could catch on the way."""


@contextmanager
def budget(seconds: float = BUDGET) -> Iterator[None]:
    if not hasattr(signal, "setitimer"):
        pytest.skip("There is no timer of processor time.")

    def stop(*_: object) -> None:
        raise TookForEver

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    except TookForEver:
        pytest.fail(f"It took more than {seconds:.0f} seconds.")
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def repeated(operation: Callable[[Any], Any], times: int = DOUBLINGS) -> Graph:
    def build() -> tuple[Any, Any]:
        t = lsip.Index("t", lsip.Interval(0, 1))
        u: Any = t
        for _ in range(times):
            u = operation(u)
        return t, u

    return build


def chebyshev() -> tuple[Any, Any]:
    t = lsip.Index("t", lsip.Interval(-1, 1))
    before, now = 1 + 0 * t, t
    for _ in range(DEGREE - 1):
        before, now = now, 2 * t * now - before
    return t, now


def vectors() -> tuple[Any, Any]:
    y = lsip.Index("y", lsip.Box([0, 0], [1, 1]))
    u: Any = y
    for _ in range(DOUBLINGS):
        u = (u + u[::-1]) / 2
    return y, u.sum()


def mapped() -> tuple[Any, Any]:
    y = lsip.Index("y", lsip.Box([0, 0], [1, 1]))
    u: Any = y
    for _ in range(DOUBLINGS):
        u = u * u
    return y, (sparse.csr_array(np.eye(2)) @ u).sum()


GRAPHS: dict[str, Graph] = {
    "u + u": repeated(lambda u: u + u),
    "u / 2 + u / 2": repeated(lambda u: 0.5 * u + 0.5 * u),
    "u - (u + 1) + u": repeated(lambda u: u - (u + 1) + u),
    "u u": repeated(lambda u: u * u),
    "2 u - u u": repeated(lambda u: 2 * u - u * u),
    "u / (1 + u)": repeated(lambda u: u / (1 + u)),
    "(sin u + u) / 2": repeated(lambda u: (np.sin(u) + u) / 2),
    "u exp(-u)": repeated(lambda u: u * np.exp(-u)),
    "max(u, u / 2)": repeated(lambda u: np.maximum(u, u / 2)),
    "where": repeated(lambda u: np.where(u >= 0.5, u, 1 - u)),
    "stack": repeated(lambda u: np.stack([u, u]) @ np.array([0.5, 0.5])),
    "sum": repeated(lambda u: np.stack([u, u]).sum() / 2),
    "vectors": vectors,
    "sparse map": mapped,
    "Chebyshev": chebyshev,
    "long chain": repeated(lambda u: np.sin(u) + 1, LONG),
    "long sum": repeated(lambda u: u + 1, LONG),
}


def _bounded(build: Graph) -> lsip.Problem:
    """z >= u."""
    index, u = build()
    z = lsip.Variable(name="z")
    return lsip.Problem(lsip.minimize(z), [lsip.forall(index, z >= u)])


def _multiplied(build: Graph) -> lsip.Problem:
    """The graph is a coefficient, too, and there is a parameter."""
    index, u = build()
    x, height = lsip.Variable(2, name="x", lower=-9, upper=9), lsip.Parameter(name="height", value=2.0)
    return lsip.Problem(lsip.minimize(x[0]), [lsip.forall(index, x[0] + u * x[1] >= height * u)])


def _convex(build: Graph) -> lsip.Problem:
    index, u = build()
    x = lsip.Variable(2, name="x", lower=-9, upper=9)
    return lsip.Problem(lsip.minimize(x[0]), [lsip.forall(index, abs(x[1] * u - u) <= x[0])])


def text(build: Graph, _: Path) -> None:
    assert len(str(build()[1])) < LONGEST


def latex(build: Graph, _: Path) -> None:
    assert len(build()[1]._repr_latex_()) < LONGEST


def printed_problem(build: Graph, _: Path) -> None:
    for model in (_bounded, _multiplied, _convex):
        problem = model(build)
        assert len(str(problem)) < LONGEST
        assert len(problem._repr_latex_()) < LONGEST


def pickled(build: Graph, _: Path) -> None:
    for model in (_bounded, _multiplied):
        assert len(pickle.dumps(pickle.loads(pickle.dumps(model(build))))) < 20_000_000


def copied(build: Graph, _: Path) -> None:
    copy.deepcopy(_multiplied(build))


def saved_and_loaded(build: Graph, folder: Path) -> None:
    for model in (_bounded, _multiplied, _convex):
        model(build).save(folder / "problem.json")
        loaded = lsip.load(folder / "problem.json")
        assert len(str(loaded)) < LONGEST
        assert len(loaded._repr_latex_()) < LONGEST
        loaded.save(folder / "again.json")
        assert (folder / "again.json").stat().st_size < 2 * (folder / "problem.json").stat().st_size + LONGEST


def compiled(build: Graph, _: Path) -> None:
    for model in (_bounded, _multiplied, _convex):
        model(build).compile()


def evaluated(build: Graph, _: Path) -> None:
    index, u = build()
    points = np.full((3, *index.shape), 0.25)
    assert np.isfinite(u.at({index: points})).all()


def written_out(build: Graph, _: Path) -> None:
    """Of degree 2 ** 60, it is found to be too large to write out."""
    index, u = build()
    Polynomials.of(Tape((u,), (index,)))


def replaced(build: Graph, _: Path) -> None:
    index, u = build()
    other = lsip.Index("other", index.domain)
    assert substituted(u, {index: other}).indices() == (other,)


def constants_taken_out(build: Graph, _: Path) -> None:
    _, u = build()
    numbers_in(u)
    without_numbers(u)


def solved_again(build: Graph, _: Path) -> None:
    problem = _multiplied(build)
    first = problem.solve(verbose=False, time_limit=2)
    problem.parameters[0].value = 3.0
    problem.solve(verbose=False, time_limit=2, warm_start=first)


def solved_and_told(build: Graph, folder: Path) -> None:
    problem = _bounded(build)
    solution = problem.solve(verbose=False, time_limit=2)
    assert len(str(solution)) < LONGEST
    solution.save(folder / "solution.npz")
    lsip.Solution.load(folder / "solution.npz", problem)
    solution.report(folder / "report.html")
    assert (folder / "report.html").stat().st_size < 5_000_000


def ruled(build: Graph, _: Path) -> None:
    index, u = build()
    z, rule = lsip.Variable(name="z"), lsip.Rule(of=index, name="r")
    rows = [lsip.forall(index, z >= u + rule), lsip.forall(index, rule >= 0)]
    lsip.Problem(lsip.minimize(z), rows).compile()


def cut_out(build: Graph, _: Path) -> None:
    """The graph cuts an index set."""
    index, u = build()
    region = index.domain.where(lambda y: substituted(u, {index: y}) <= 0.9)
    z, y = lsip.Variable(name="z"), lsip.Index("y", region)
    lsip.Problem(lsip.minimize(z), [lsip.forall(y, z >= (y if y.shape == () else y.sum()))]).compile()


WALKS = (
    text, latex, printed_problem, pickled, copied, saved_and_loaded, compiled, evaluated, written_out, replaced,
    constants_taken_out, solved_again, solved_and_told, ruled, cut_out,
)  # fmt: skip


SLOW = (solved_again, solved_and_told, cut_out)
FEW = ("u + u", "u u", "(sin u + u) / 2", "stack", "Chebyshev")
TRIED = [(graph, walk) for graph in GRAPHS for walk in WALKS if walk not in SLOW or graph in FEW]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("graph", "walk"), TRIED, ids=[f"{graph}: {walk.__name__}" for graph, walk in TRIED])
def test_no_walk_follows_every_path(graph: str, walk: Callable[[Graph, Path], None], tmp_path: Path) -> None:
    said = ""
    with budget():
        try:
            walk(GRAPHS[graph], tmp_path)
        except lsip.LSIPError as refused:  # one that is too wild to be solved is refused in a sentence
            said = str(refused)
    assert len(said) < LONGEST
    assert not said or walk not in (text, latex, pickled, copied, evaluated, replaced)


@pytest.mark.parametrize("graph", ["u + u", "u u", "(sin u + u) / 2", "u / (1 + u)", "max(u, u / 2)"])
def test_the_checker_takes_each_step_once(graph: str, tmp_path: Path) -> None:
    checker = pytest.importorskip("lsip.proof.checker")
    solution = _bounded(GRAPHS[graph]).solve(verbose=False)
    if not solution.certified:
        pytest.skip("There is no proof.")
    solution.export(tmp_path / "proof.json")
    with budget():
        assert checker.check(json.loads((tmp_path / "proof.json").read_text())).startswith("proven")


def test_the_checker_gives_up_on_too_much_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two hundred oscillations in a recurrence take balls many boxes; the work that is done for a proof is limited."""
    checker = pytest.importorskip("lsip.proof.checker")
    monkeypatch.setattr(checker, "TUNING", checker.TUNING._replace(most_steps=100_000, boxes=20))
    _bounded(chebyshev).solve(verbose=False).export(tmp_path / "proof.json")
    with budget(), pytest.raises(checker.CheckError, match="more work than is done"):
        checker.check(json.loads((tmp_path / "proof.json").read_text()))


def test_a_sum_that_is_doubled_keeps_its_numbers_apart() -> None:
    t, x = lsip.Index("t", lsip.Interval(0, 1)), lsip.Variable(name="x")
    u: Any = t + 1e16
    for _ in range(10):
        u = u + u
    (numbers,), several = numbers_in(u)
    assert several
    assert numbers.numbers.value.tolist() == [1024 * 1e16]
    left = x + u - 1024 * 1e16
    assert left.at({t: 0.5, x: 0.0}) == 512.0


def test_numbers_that_are_taken_away_again_are_gone() -> None:
    y, x = lsip.Index("y", lsip.Box([0, 0], [1, 1])), lsip.Variable(name="x")
    moved = y + 1e16
    assert (x + moved[0] - moved[1]).at({y: [0.75, 0.25], x: 0.0}) == 0.5
