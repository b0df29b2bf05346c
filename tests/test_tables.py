"""Tables in and out: arrays of pandas and xarray in models, frames of solutions, and what a notebook shows."""

from __future__ import annotations

from html.parser import HTMLParser

import numpy as np
import pytest

import lsip
from lsip.errors import MissingExtraError


def solved(name: str = "x") -> tuple[lsip.Solution, lsip.Variable]:
    x, t = lsip.Variable(3, name=name, lower=-5, upper=[5, 5, 0.5]), lsip.Index("t", lsip.Interval(0, 1))
    y = lsip.Index("y", lsip.Box([0, 0], [1, 1]))
    limit = lsip.forall(t, x[0] + x[1] * t + x[2] * t**2 >= np.tan(t), name="limit")
    other = lsip.forall(y, x[0] + x[1] * y[0] + y[1] >= -10, name="other")
    problem = lsip.Problem(lsip.minimize(x[0] + x[1] / 2 + x[2] / 3), [limit, other, (x[0] >= 0.1).named("floor")])
    return problem.solve(verbose=False), x


def infeasible() -> lsip.Solution:
    z, t = lsip.Variable(name="z"), lsip.Index("t", lsip.Interval(0, 1))
    return lsip.Problem(lsip.minimize(z), [lsip.forall(t, z >= t), z <= 0.5]).solve(verbose=False)


# ---- frames ----------------------------------------------------------------------------------------------------------


def test_variables_as_a_frame():
    pytest.importorskip("pandas")
    solution, x = solved()
    frame = solution.to_frame()
    assert list(frame.columns) == ["variable", "index", "value", "lower", "upper", "reduced_cost"]
    assert frame["variable"].tolist() == ["x"] * 3
    assert frame["index"].tolist() == [0, 1, 2]
    np.testing.assert_array_equal(frame["value"], solution[x])
    np.testing.assert_array_equal(frame["reduced_cost"], solution.reduced_costs(x))
    assert frame.set_index(["variable", "index"]).loc[("x", 2), "upper"] == 0.5


def test_scalars_and_matrices_have_their_places():
    pytest.importorskip("pandas")
    z, w = lsip.Variable(name="z", lower=0), lsip.Variable((2, 2), name="w", lower=0)
    frame = lsip.Problem(lsip.minimize(z + w.sum()), [z + w[1, 0] >= 1]).solve(verbose=False).to_frame()
    assert frame["index"].tolist() == [(), (0, 0), (0, 1), (1, 0), (1, 1)]


def test_active_points_rows_and_history():
    pytest.importorskip("pandas")
    solution, _ = solved()
    active = solution.to_frame("active")
    assert active["multiplier"].tolist() == [a.multiplier for a in solution.active]
    assert set(active["constraint"]) == {"limit"}
    assert active["t"].tolist() == [float(a.point[0]) for a in solution.active]
    rows = solution.to_frame("rows")
    assert rows["constraint"].tolist() == ["floor"]
    assert rows["multiplier"].abs().tolist() == [solution.dual("floor")]
    assert len(solution.to_frame("history")) == len(solution.history)
    with pytest.raises(lsip.ModelError, match="`what` is one of 'variables', 'active', 'rows', 'history'"):
        solution.to_frame("duals")


def test_a_frame_without_a_solution_or_without_names():
    pytest.importorskip("pandas")
    assert infeasible().to_frame()["value"].isna().all()
    above = lsip.Family(lsip.Interval(0, 1), lambda y: -(y ** np.arange(3)), lambda y: -np.tan(y[:, 0]))
    found = lsip.linsip([1, 1 / 2, 1 / 3], [above], bounds=(None, None))
    assert found.to_frame()["variable"].tolist() == ["x[0]", "x[1]", "x[2]"]


def test_without_pandas_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'lsip\[pandas\]'"):
        solved()[0].to_frame()


# ---- arrays with labels ----------------------------------------------------------------------------------------------


def coefficients(constraint: lsip.Constraint) -> tuple[np.ndarray, np.ndarray]:
    """A and b of A x <= b."""
    x = constraint.body.terms[0].variable
    problem = lsip.Problem(lsip.minimize(x.sum()), [constraint])
    program = problem.compile()
    return program.A.toarray(), program.row_upper


def test_frames_in_a_model():
    pd = pytest.importorskip("pandas")
    x = lsip.Variable(3, name="x")
    values, right = np.arange(6.0).reshape(2, 3), np.array([1.0, 2.0])
    table, side = pd.DataFrame(values, columns=list("abc")), pd.Series(right, index=["u", "v"])
    for constraint in (x @ table.T <= side, side >= x @ table.T, np.dot(table, x) <= side):
        A, b = coefficients(constraint)
        np.testing.assert_array_equal(A, values)
        np.testing.assert_array_equal(b, right)
    z = lsip.Variable(name="z")
    for constraint in (table @ x <= z, z >= table @ x):
        assert constraint.shape == (2,)
    with pytest.raises(lsip.ModelError, match=r"write x @ df\.T <= b"):
        table @ x <= right  # noqa: B015
    assert x[pd.Series([True, False, True])].shape == (2,)
    assert str(x[pd.Series([2, 0])]) == "x[[2 0]]"


def test_xarray_on_the_left():
    xr = pytest.importorskip("xarray")
    x, t = lsip.Variable(3, name="x"), lsip.Index("t", lsip.Interval(0, 1))
    values = xr.DataArray([1.0, 2.0, 3.0], dims="k", coords={"k": list("abc")})
    problem = lsip.Problem(
        lsip.minimize((values * x).sum()), [values <= x, lsip.forall(t, values * t <= x), values >= x - 5]
    )
    assert [getattr(c, "constraint", c).shape for c in problem.constraints] == [(3,)] * 3
    solution = problem.solve(verbose=False)
    np.testing.assert_allclose(solution[x], [1, 2, 3], atol=1e-7)
    assert solution.value == pytest.approx(14)


# ---- notebooks -------------------------------------------------------------------------------------------------------


class Balanced(HTMLParser):
    """Whether every tag is closed, and the text in between."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.words: list[str] = []
        self.feed(page)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        assert tag in {"div", "b", "table", "thead", "tbody", "tr", "th", "td"}
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)


def test_a_solution_in_a_notebook():
    solution, _ = solved()
    words = Balanced(solution._repr_html_()).words
    for word in ("OPTIMAL", "value", f"{solution.value:.10g}", "bounds", "certified", "yes, for every index point",
                 "limit", f"{solution.active[0].multiplier:.6g}"):  # fmt: skip
        assert word in words
    assert "#" not in solution._repr_html_()  # colours are those of the page


def test_names_are_escaped():
    solution, x = solved("<script>alert(1)</script>")
    t = lsip.Index("<b>", lsip.Interval(0, 1))
    other = lsip.Problem(lsip.minimize(x[0]), [lsip.forall(t, x[0] >= t, name="<img src=x>")]).solve(verbose=False)
    p = lsip.Parameter(name="<i>", value=1)
    for page in (solution._repr_html_(), other._repr_html_(), x._repr_html_(), p._repr_html_()):
        Balanced(page)


def test_answers_without_a_value_in_a_notebook():
    words = Balanced(infeasible()._repr_html_()).words
    assert "INFEASIBLE" in words
    assert "value" not in words


def test_variables_and_parameters_in_a_notebook():
    x = lsip.Variable(3, name="x", lower=[0, 1, 2], upper=5)
    assert "0 to 5, 1 to 5, 2 to 5" in Balanced(x._repr_html_()).words
    assert "none yet" in Balanced(lsip.Parameter(2, name="p")._repr_html_()).words
    _, x = solved()
    assert "value" in Balanced(x._repr_html_()).words
