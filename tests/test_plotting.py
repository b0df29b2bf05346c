"""Pictures of solutions: every shape of index set can be drawn, and what is missing is said."""

from __future__ import annotations

import builtins
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import lsip
from lsip.domains import Ball, Box, Domain, Finite, Interval, Simplex
from lsip.errors import MissingExtraError, ModelError
from lsip.model.status import Status
from lsip.plotting import PlotTuning, plot_solution

pytest.importorskip("matplotlib")


def test_variables_are_bars_and_cells(tmp_path: Path) -> None:
    w, flow, t = lsip.Variable(4, name="w"), lsip.Variable((2, 3), name="flow"), lsip.Index("t", Interval(0, 1))
    rows = [lsip.forall(t, w[0] + w[1] * t >= t**2), flow >= 1, w >= -2]
    solution = lsip.Problem(lsip.minimize(w.sum() + flow.sum()), rows).solve(verbose=False)
    figure = solution.plot(tmp_path / "x.png", kind="variables")
    assert [axes.get_title(loc="left") for axes in figure.axes[:2]] == ["w", "flow"]
    heights = [bar.get_height() for bar in figure.axes[0].patches]
    np.testing.assert_allclose(heights, solution[w])
    np.testing.assert_allclose(figure.axes[1].images[0].get_array(), solution[flow])


@pytest.fixture(autouse=True)
def coarse(monkeypatch: pytest.MonkeyPatch) -> None:
    """Coarser pictures than people get, to be quick."""
    monkeypatch.setattr("lsip.plotting.TUNING", PlotTuning(mesh=41))


class Slope:
    """-|y - y*|^2 for each component, tight at y* = the lower corner."""

    def __init__(self, domain: Domain, components: int = 1) -> None:
        self.domain, self.components = domain, components
        self.family = SimpleNamespace(columns=np.zeros((components, domain.dim)))

    def values(self, y: np.ndarray) -> np.ndarray:
        assert self.domain.contains(y).all(), "nothing is asked outside the index set"
        return -((y - self.domain.lower) ** 2).sum(axis=1, keepdims=True) * np.arange(1, self.components + 1)


def solution(*domains: Domain, components: int = 1, iterations: int = 5, active: bool = True) -> Any:
    history = [
        SimpleNamespace(
            iteration=k,
            value=1.0,
            lower=1 - 4.0**-k,
            upper=np.inf if k < 3 else 1 + 9.0**-k,
            violation=3.0**-k,
            bound=np.inf,
        )
        for k in range(1, iterations + 1)
    ]
    points = [
        SimpleNamespace(point=d.project(d.lower)[0], multiplier=w, family=i, component=0)
        for i, d in enumerate(domains)
        for w in (1.0, 0.2)
    ]
    families = [
        SimpleNamespace(visible=d, drawn=lambda _, d=d: d, shown=d.dim, name=f"family {i}", labels=(f"row {i}",))
        for i, d in enumerate(domains)
    ]
    return SimpleNamespace(
        status=Status.OPTIMAL,
        program=SimpleNamespace(),
        families=families,
        violation=lambda i: Slope(domains[i], components),
        active=points if active else [],
        history=history,
        value=1.0,
    )


@pytest.mark.parametrize(
    "domain",
    [
        Interval(0, 1),
        Interval(0, 1) | Interval(2, 3),
        Finite([[0.0], [1.0], [3.0]]),
        Box([0, 0], [1, 2]),
        Box([0, 0], [1, 100]),
        Ball([0, 0], 1),
        Finite([[0.0, 1.0], [1.0, 1.0]]),
        Simplex(3),
        Box([0] * 4, [1] * 4),
        Ball([0, 0, 0], 2),
    ],
    ids=repr,
)
def test_every_index_set_can_be_drawn(domain: Domain, tmp_path: Path) -> None:
    path = tmp_path / "picture.png"
    figure = plot_solution(solution(domain, components=2), path)
    assert path.read_bytes().startswith(b"\x89PNG")
    assert figure.axes[0].get_title(loc="left") == "family 0"


@pytest.mark.parametrize(("components", "curves"), [(1, 1), (3, 3), (20, 1)])
def test_many_components_are_drawn_as_their_maximum(components: int, curves: int) -> None:
    axes = plot_solution(solution(Interval(0, 1), components=components)).axes[0]
    assert len(axes.lines) == curves + 1, "and the line at zero"


def test_constraints_over_one_index_are_told_apart() -> None:
    x, t = lsip.Variable(2, name="x"), lsip.Index("t", Interval(0, 1))
    rows = [lsip.forall(t, x[0] + x[1] * t >= t**2, name="above"), lsip.forall(t, x[1] * t <= 3, name="flat")]
    axes = lsip.Problem(lsip.minimize(x.sum()), rows).solve(verbose=False).plot().axes[0]
    legend = axes.get_legend()
    assert [text.get_text() for text in legend.get_texts()] == ["above", "flat"]
    assert len({line.get_color() for line in axes.lines}) == 3, "and the line at zero"
    assert plot_solution(solution(Interval(0, 1), components=3)).axes[0].get_legend() is None, "rows of one name"


def test_slices_say_so_and_colours_are_centred() -> None:
    figure = plot_solution(solution(Box([0] * 3, [1] * 3)))
    notes = [text.get_text() for text in figure.axes[0].texts]
    assert any("slice through the worst point" in note for note in notes)
    colours = figure.axes[0].collections[0]
    white = np.array(colours.cmap(colours.norm(0.0)))[:3]
    assert white.min() > 0.9


def test_families_are_chosen_by_index_or_name_and_limited() -> None:
    many = solution(*[Interval(0, 1)] * 8)
    assert sum(axes.axison for axes in plot_solution(many).axes) == 6
    assert plot_solution(many, family=3).axes[0].get_title(loc="left") == "family 3"
    assert plot_solution(many, family="family 7").axes[0].get_title(loc="left") == "family 7"
    for wrong in (8, -1, "no such family"):
        with pytest.raises(ModelError, match="family"):
            plot_solution(many, family=wrong)


def test_convergence_is_drawn_on_logarithmic_axes(tmp_path: Path) -> None:
    figure = plot_solution(solution(Interval(0, 1)), tmp_path / "c.pdf", kind="convergence")
    assert [axes.get_yscale() for axes in figure.axes] == ["log", "log"]
    with pytest.raises(ModelError, match="history is empty"):
        plot_solution(solution(Interval(0, 1), iterations=0), kind="convergence")
    with pytest.raises(ModelError, match="kind"):
        plot_solution(solution(Interval(0, 1)), kind="pie")  # type: ignore[arg-type]


def test_nothing_active_and_nothing_semi_infinite() -> None:
    assert plot_solution(solution(Box([0, 0], [1, 1]), active=False)).axes
    with pytest.raises(ModelError, match="no semi-infinite constraint"):
        plot_solution(solution())


def test_what_cannot_be_drawn_or_saved_is_said(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="saved as"):
        plot_solution(solution(Interval(0, 1)), tmp_path / "picture.bogus")
    infeasible = solution(Interval(0, 1))
    infeasible.status = Status.INFEASIBLE
    with pytest.raises(ModelError, match="infeasible"):
        plot_solution(infeasible)


def test_notebooks_show_the_figure() -> None:
    assert plot_solution(solution(Interval(0, 1)))._repr_png_().startswith(b"\x89PNG")  # type: ignore[attr-defined]


def test_without_matplotlib_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def fail(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.partition(".")[0] == "matplotlib":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", fail)
    with pytest.raises(MissingExtraError, match=r'pip install "lsip\[plot\]"'):
        plot_solution(solution(Interval(0, 1)))


def test_matrices_have_whole_ticks_and_shades_of_one_colour() -> None:
    x, t = lsip.Variable((3, 4), name="X", lower=0, upper=2), lsip.Index("t", lsip.Interval(0, 1))
    solution = lsip.Problem(lsip.maximize(x.sum()), [lsip.forall(t, x.sum() * t <= 4)]).solve(verbose=False)
    axes = plot_solution(solution, kind="variables").axes[0]
    for ticks in (axes.get_xticks(), axes.get_yticks()):
        assert (ticks == np.round(ticks)).all()
    assert axes.images[0].get_clim()[0] == 0, "no value is negative"
    convergence = plot_solution(solution, kind="convergence").axes
    for panel in convergence[:2]:
        low, high = panel.get_xlim()
        inside = [tick for tick in panel.get_xticks() if low <= tick <= high]
        assert inside == [round(tick) for tick in inside]


def test_a_wide_set_makes_a_low_picture() -> None:
    h, sizes = lsip.Variable(name="h"), []
    for domain in (lsip.Ellipsoid([0, 0], [4, 1]), lsip.Box([0, 0], [1, 1])):
        y = lsip.Index("y", domain)
        solution = lsip.Problem(lsip.minimize(h), [lsip.forall(y, h >= np.sin(y[0] + y[1]))]).solve(verbose=False)
        sizes.append(plot_solution(solution).get_size_inches())
    assert sizes[0][1] < 0.7 * sizes[1][1]
    assert sizes[0][0] == sizes[1][0]
