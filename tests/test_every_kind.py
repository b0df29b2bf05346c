"""All that can be asked of a solution works for every kind of model, or is refused in a few plain words."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lsip
from lsip.expressions.affine import Constraint
from tests.kinds import KINDS, solved

HIDDEN = ("direction", "nothing", "once", "epigraph")  # coordinates and variables that nobody wrote


def statements(solution: Any) -> list[Any]:
    """The constraints of a declared model."""
    return list(solution.problem.constraints) if isinstance(solution.problem, lsip.Problem) else []


def texts(solution: Any, path: Path) -> None:
    """Everything that is printed, in terminals and notebooks."""
    for found in (str(solution), repr(solution), str(solution.problem), repr(solution.problem), solution._repr_html_()):
        assert found
    for method in ("_repr_latex_", "_repr_html_"):
        if hasattr(solution.problem, method):
            assert getattr(solution.problem, method)()
    assert all(str(a) for a in solution.active)


def variables(solution: Any, path: Path) -> None:
    frame = solution.to_frame()
    count = sum(v.size for v in solution.variables) or solution.program.n
    assert len(frame) == count == len(solution.x) == len(solution.all_reduced_costs())
    if solution.variables:
        assert list(dict.fromkeys(frame["variable"])) == [v.name for v in solution.variables]
    if solution.status not in (lsip.Status.INFEASIBLE, lsip.Status.UNBOUNDED):
        assert frame["value"].to_numpy() == pytest.approx(solution.x)


def active(solution: Any, path: Path) -> None:
    frame = solution.to_frame("active")
    assert frame["multiplier"].tolist() == [a.multiplier for a in solution.active]
    assert not set(HIDDEN) & set(frame.columns)
    for a in solution.active:
        family = solution.families[a.family]
        assert len(a.point) == family.shown == len(family.coordinates)
        inside = np.isfinite(a.point)
        assert (a.point >= family.visible.lower - 1e-9)[inside].all() if len(a.point) else True
        assert inside.all() == (a.direction is None)
        if len(a.point) and inside.all() and len(family.sets) < 2:
            close = family.visible.project(a.point[None])[0]
            assert close == pytest.approx(a.point, abs=1e-7)


def rows(solution: Any, path: Path) -> None:
    frame = solution.to_frame("rows")
    if isinstance(solution.problem, lsip.Problem):
        finite = [c for c in statements(solution) if isinstance(c, Constraint)]
        names = [c.name for c in finite if c.name]
        assert len(frame) >= sum(int(np.prod(c.shape)) for c in finite)
        assert all(any(str(label).startswith(name) for label in frame["constraint"]) for name in names)
        assert "objective" not in set(frame["constraint"])
    value = frame["value"].to_numpy(dtype=float)
    if solution.certified and solution.status is lsip.Status.OPTIMAL:
        assert (value >= frame["lower"].to_numpy() - 1e-6).all()
        assert (value <= frame["upper"].to_numpy() + 1e-6).all()
    assert len(solution.to_frame("history")) == len(solution.history)


def duals(solution: Any, path: Path) -> None:
    for c in statements(solution):
        found = solution.dual(c)
        if isinstance(c, Constraint):
            assert np.shape(found) == c.shape
        elif isinstance(found, tuple):
            assert all(any(a is b for b in solution.active) for a in found)
        if getattr(c, "name", None):
            again = solution.dual(c.name)
            assert again == found if isinstance(found, tuple) else np.array_equal(again, found)


def reduced_costs(solution: Any, path: Path) -> None:
    for variable in solution.variables:
        assert np.shape(solution.reduced_costs(variable)) == variable.shape
    assert np.isfinite(solution.all_reduced_costs()).all()


def plots(solution: Any, path: Path) -> None:
    solution.plot().savefig(BytesIO(), dpi=20)


def plots_of_variables(solution: Any, path: Path) -> None:
    assert solution.plot(kind="variables").axes


def plots_of_convergence(solution: Any, path: Path) -> None:
    assert solution.plot(kind="convergence").axes


def violations(solution: Any, path: Path) -> None:
    for f, family in enumerate(solution.families):
        points = family.drawn(np.zeros((0, family.shown))).spread(3) if family.shown else np.zeros((2, 0))
        assert solution.violation(f).values(points).shape == (len(points), len(family.labels))


def reports(solution: Any, path: Path) -> None:
    page = solution.report(path / "page.html").read_text(encoding="utf-8")
    assert "</html>" in page
    count = sum(v.size for v in solution.variables) or solution.program.n
    assert f"{count} variable" in page
    if isinstance(solution.problem, lsip.Problem):
        finite = [c for c in statements(solution) if isinstance(c, Constraint)]
        assert f"{len(solution.to_frame('rows'))} finite constraint" in page or not finite


def files(solution: Any, path: Path) -> None:
    solution.save(path / "s.npz")
    back = lsip.Solution.load(path / "s.npz", solution.problem, verify=False)
    same(solution, back)


def files_with_their_problem(solution: Any, path: Path) -> None:
    solution.save(path / "s.npz")
    back = lsip.load(path / "s.npz", verify=False)
    same(solution, back)


def pickles(solution: Any, path: Path) -> None:
    same(solution, pickle.loads(pickle.dumps(solution)))


def proofs(solution: Any, path: Path) -> None:
    solution.export(path / "proof.json")
    assert (path / "proof.json").stat().st_size


def checks(solution: Any, path: Path) -> None:
    solution.verify()


def relaxations(solution: Any, path: Path) -> None:
    solution.write(path / "model.mps")
    solution.write(path / "model.lp")


def same(solution: Any, back: Any) -> None:
    """What is read of a solution that was written."""
    assert back.status is solution.status
    assert back.value == solution.value or np.isnan(back.value)
    assert len(back.active) == len(solution.active)
    for a, b in zip(solution.active, back.active, strict=True):
        assert (a.multiplier, a.divided_by, a.family, a.component) == (
            b.multiplier,
            b.divided_by,
            b.family,
            b.component,
        )
        assert np.array_equal(a.point, b.point)
    assert back.all_reduced_costs() == pytest.approx(solution.all_reduced_costs())
    assert back.row_multipliers() == pytest.approx(solution.row_multipliers())


CALLS: tuple[Callable[[Any, Path], None], ...] = (
    texts,
    variables,
    active,
    rows,
    duals,
    reduced_costs,
    plots,
    plots_of_variables,
    plots_of_convergence,
    violations,
    reports,
    files,
    files_with_their_problem,
    pickles,
    proofs,
    checks,
    relaxations,
)


def refusals(name: str, solution: Any) -> Iterator[tuple[Callable[[Any, Path], None], str]]:
    """Which calls make no sense for a kind, and what is said instead."""
    if solution.status is lsip.Status.INFEASIBLE:
        yield plots, "infeasible: there is no solution"
        yield plots_of_variables, "infeasible: there is no solution"
    elif not any(family.shown for family in solution.families):
        yield plots, "no semi-infinite constraint to draw"
    if not solution.history:
        yield plots_of_convergence, "no iteration to draw"
    if name in ("decomposed", "through_cvxpy_convex"):
        for call in (files, files_with_their_problem):
            yield call, "is not saved"
        yield relaxations, "which no file can hold|which MPS and LP files do not know"
        yield proofs, "cannot be exported|which the format of proofs does not know"
    elif type(solution.model) is not lsip.Problem or name in ("functions_in_a_problem", "rules_in_pieces"):
        yield files_with_their_problem, "does not hold the problem"
    if name == "integer_counterpart":
        yield relaxations, "holds no rows at index points"
    if not solution.certified:
        yield proofs, "Only what is certified can be exported"
    elif name in ("counterpart", "integers"):
        yield proofs, "which the format of proofs does not know"


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.__name__)
@pytest.mark.parametrize("name", KINDS)
def test_every_call_on_every_kind(name: str, call: Callable[[Any, Path], None], tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    pytest.importorskip("matplotlib")
    solution = solved(name)
    expected = dict(refusals(name, solution)).get(call)
    if expected is None:
        call(solution, tmp_path)
        return
    with pytest.raises(lsip.LSIPError, match=expected) as caught:
        call(solution, tmp_path)
    assert len(str(caught.value)) < 400
