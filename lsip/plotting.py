"""Pictures of a solution: the violation over the index set with its active points, the variables, and the convergence.

The only file that knows matplotlib, which is imported when a picture is asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from .domains import Domain
from .errors import MissingExtraError, ModelError
from .files import check_file, whole_file
from .legible import picture, shortened
from .model.status import Status
from .model.violation import Seen
from .solution import sampled_violation as sampled
from .solution.active import TUNING as READING
from .solution.solution import DRAWN, Solution
from .validation import choice, shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from .solution.written import WrittenFamily

Array = NDArray[np.float64]
Kind = Literal["violation", "convergence", "variables"]

SLACK, TIGHT, BROKEN, POINT = "#2b5c8a", "#6b7280", "#c0392b", "#f5b700"
CURVES = (SLACK, "#2a9d8f", "#7b5ea7", "#8a5a2b", "#4b9cd3", "#5f6b7a", "#b5698d", "#3d7a3d")  # of several constraints
MEANING = "violation  a(y) x − b(y)"  # plain: the parser of mathtext takes a sixth of a picture
STYLE: dict[str, Any] = {
    "font.size": 10,
    "axes.titlesize": 11,
    "axes.titlelocation": "left",
    "axes.titlepad": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#4b5563",
    "axes.labelcolor": "#1f2937",
    "xtick.color": "#4b5563",
    "ytick.color": "#4b5563",
    "legend.frameon": False,
    "savefig.dpi": 160,
    "text.usetex": False,  # names are text, not commands
}


@dataclass(frozen=True)
class PlotTuning:
    """How finely pictures are drawn.

    Parameters
    ----------
    most_panels
        Families in one picture, below which is said how many more there are; coordinates of a slice above it.
    mesh
        Points along a side of a heat map; a curved outline is as fine as they are.
    """

    most_panels: int = 6
    mesh: int = 301


TUNING = PlotTuning()


def plot_solution(
    solution: Solution, path: str | Path | None = None, family: int | str | None = None, kind: Kind | None = None
) -> Figure:
    """Draw the violation a(y) x - b(y) over the index set, the variables, or the convergence of the solve.

    One panel a family: a curve for one index, a heat map for two, and for more the two-dimensional slice through the
    worst point along which the violation varies most. Active points are marked, larger for larger multipliers. Of
    variables, vectors are bars, and matrices are cells.

    Parameters
    ----------
    path : where to save the picture (the ending chooses the format); nothing is saved when None
    family : the index or the name of one family of constraints; all of them when None, up to six
    kind : "violation" (the default), "variables" or "convergence"

    Returns
    -------
    The matplotlib figure; notebooks show it.
    """
    mpl = _matplotlib()
    target = None if path is None else check_file(path, "picture.png")
    if solution.status is Status.INFEASIBLE and kind != "convergence":
        raise ModelError("The problem is infeasible: there is no solution that could be drawn.")
    if kind is not None:
        choice("kind", kind, get_args(Kind))
    if family is not None and kind in ("variables", "convergence"):
        raise ModelError(f"`family` chooses what is drawn of the violation; leave it out of a picture of {kind}.")
    with mpl.rc_context(STYLE):
        if kind == "convergence":
            figure = _figure(1, 2)
            _draw_convergence(figure.axes, solution)
        elif kind == "variables":
            figure = _draw_variables(solution)
        else:
            chosen = _families(solution, family)
            shown = chosen[: TUNING.most_panels]
            columns = {1: 1, 2: 2, 4: 2}.get(len(shown), 3)
            figure = _figure(-(-len(shown) // columns), columns, [solution.families[i].visible for i in shown])
            for axes, i in zip(figure.axes, shown, strict=False):
                _draw_family(axes, solution, i)
            for axes in figure.axes[len(shown) : len(shown) + (-len(shown)) % columns]:
                axes.set_axis_off()
            if len(chosen) > len(shown):
                figure.supxlabel(f"{len(chosen) - len(shown)} more families: plot one with family=…", fontsize=9)
            if solution.active:
                handles, labels = _unique_labels(figure)
                figure.legend(handles, labels, loc="outside lower right", fontsize=9, handletextpad=0.3)
        if target is not None:
            _save(figure, target)
    return figure


DRAWN["plot"] = plot_solution


def _matplotlib() -> Any:
    try:
        import matplotlib
    except ImportError as error:
        raise MissingExtraError(
            'Pictures need matplotlib, which is not installed: pip install "lsip[plot]".'
        ) from error
    return matplotlib


def _figure(rows: int, columns: int, domains: Sequence[Domain] = ()) -> Figure:
    """A figure of its own canvas, outside pyplot: nothing opens a window, and no global state is left behind."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    class Picture(Figure):
        def _repr_png_(self) -> bytes:
            from io import BytesIO

            buffer = BytesIO()
            self.savefig(buffer, format="png", dpi=110)
            return buffer.getvalue()

    flat = all(domain.dim == 1 for domain in domains)
    size = (max(7.5, 4.8 * columns), 4.2 * rows) if flat else (6.6 * columns, 5.4 * rows)
    if not flat and rows == columns == 1 and domains[0].dim == 2:  # as low as a wide set is
        size = size[0], min(size[1], max(3.2, 4.6 / _shape(np.asarray(domains[0].upper - domains[0].lower)) + 1.1))
    picture = Picture(figsize=size, layout="constrained")
    FigureCanvasAgg(picture)
    picture.subplots(rows, columns)
    return picture


def _save(figure: Figure, path: Path) -> None:
    formats, ending = figure.canvas.get_supported_filetypes(), path.suffix.lstrip(".").lower()
    if ending not in formats:
        raise ModelError(f"Pictures can be saved as {', '.join(sorted(formats))}; got the name {path.name}.")
    with whole_file(path, "picture.png") as part:
        figure.savefig(part, format=ending)


def _families(solution: Solution, family: int | str | None) -> list[int]:
    """The indices of the families to draw."""
    families = solution.families
    if not any(each.shown for each in families):
        raise ModelError('The problem has no semi-infinite constraint to draw; try kind="convergence".')
    if family is None:
        return [i for i, each in enumerate(families) if each.shown]
    names = [str(each.name) for each in families]
    if isinstance(family, str):
        held = [i for i, each in enumerate(families) if family in each.labels]
        if family not in names and held:
            return held
        if family not in names:
            raise ModelError(f"There is no family named {family!r}; the names are {', '.join(names)}.")
        return [names.index(family)]
    if isinstance(family, bool) or not isinstance(family, int | np.integer) or not 0 <= family < len(families):
        raise ModelError(f"`family` must be between 0 and {len(families) - 1}, or a name; got {shown(family)}.")
    return [family]


def _draw_family(axes: Axes, solution: Solution, i: int) -> None:
    family = solution.families[i]
    violation: Any = solution.violation(i)
    active = [a for a in solution.active if a.family == i and np.isfinite(a.point).all()]
    points = np.array([a.point for a in active]).reshape(-1, family.shown)
    weights = np.array([abs(a.multiplier) for a in active])
    rows = np.array([a.component for a in active], dtype=np.intp)
    domain = family.drawn(points)
    heights = violation.values(points)[np.arange(len(points)), rows] if len(points) else np.empty(0)
    title = getattr(solution.program, "name", "problem") if len(solution.families) == 1 else "problem"
    room = 48 if family.visible.dim == 1 and len(solution.families) > 1 else 60
    axes.set_title(_short(str(family.name if title == "problem" else title), room))
    if family.visible.dim == 1:
        _draw_curve(axes, family, domain, violation, points)
        _mark(axes, points[:, 0], heights, weights)
        axes.set_xlabel(_axis_name(family, 0))
        axes.set_ylabel(MEANING)
    else:
        _draw_map(axes, family, domain, violation, points, weights)


def _draw_curve(axes: Axes, family: WrittenFamily, domain: Domain, violation: Seen, points: Array) -> None:
    """The components along one index, or their maximum when they are many; red where a constraint is violated."""
    if domain.measure[0] == 0:
        t = sampled.cloud(domain, points)
        for g in sampled.evaluate(violation, t, range(violation.components)):
            axes.vlines(t[:, 0], 0, g, color=SLACK, linewidth=0.8, alpha=0.6)
            axes.plot(t[:, 0], g, ".", color=SLACK, markersize=4)
    else:
        t = sampled.line(domain, points)
        curves = sampled.along(
            violation, t, range(violation.components) if violation.components <= len(CURVES) else [None]
        )
        names = [_short(str(name), 32) for name in family.labels]
        colours = CURVES if len(set(names)) == len(curves) else (SLACK,) * len(curves)
        lines = []
        for g, colour in zip(curves, colours, strict=False):
            lines += axes.plot(t[:, 0], g, color=colour, linewidth=1.8 if len(curves) == 1 else 1.2)
            with np.errstate(invalid="ignore"):
                axes.fill_between(t[:, 0], 0, g, where=g > 0, color=BROKEN, alpha=0.35, linewidth=0)
        if len(curves) == 1:
            axes.fill_between(t[:, 0], curves[0], 0, where=curves[0] <= 0, color=SLACK, alpha=0.08, linewidth=0)
        elif colours is CURVES:
            axes.legend(lines, names, loc="best", fontsize=8)
    axes.axhline(0, color=TIGHT, linewidth=1, linestyle=(0, (4, 3)), zorder=1)
    axes.margins(x=0.02)


def _draw_map(
    axes: Axes, family: WrittenFamily, domain: Domain, violation: Seen, points: Array, weights: Array
) -> None:
    """A heat map on the plane, or on a slice through the worst point; a cloud of points where the set has no area."""
    width = np.where(domain.upper > domain.lower, domain.upper - domain.lower, 1.0)
    note = ""
    if sampled.flat(domain):
        i, j = sorted(np.argsort(-(domain.upper - domain.lower), kind="stable")[:2].tolist())
        trial = sampled.cloud(domain, points)
        largest = sampled.evaluate(violation, trial, [None])[0]
        colours = _colours(largest)
        axes.scatter(trial[:, i], trial[:, j], c=largest, s=np.clip(2e4 / len(trial), 9, 60), linewidth=0, **colours)
        near: NDArray[np.bool_] = np.ones(len(points), dtype=bool)
        note = f"{len(np.unique(trial, axis=0))} points of the index set" + (
            ", seen along the other axes" if domain.dim > 2 else ""
        )
    else:
        cut = sampled.slices(violation, domain, points, 1)[0]
        (i, j), worst = cut.axes, cut.through
        side = TUNING.mesh
        u, v = np.linspace(cut.corners[0], cut.corners[1], side).T
        values = sampled.surface(violation, domain, cut, side)
        colours = _colours(values)
        _image(axes, u, v, values, colours)
        _contours(axes, u, v, values)
        others = [k for k in range(domain.dim) if k not in (i, j)]
        near = np.asarray((np.abs(points - worst)[:, others] <= 1e-3 * width[others]).all(axis=1))
        if others:
            shown = others if len(others) <= TUNING.most_panels else others[: TUNING.most_panels - 1]
            fixed = ", ".join(f"{_axis_name(family, k)} = {worst[k]:.4g}" for k in shown)
            more = f" and {len(others) - len(shown)} more" if len(shown) < len(others) else ""
            note = f"slice through the worst point\n{fixed}{more}"
            if not near.all():
                note += "\nfaint: active points off the slice"
        width[[i, j]] = np.ptp(u), np.ptp(v)
        seen = (points[:, i] >= u[0]) & (points[:, i] <= u[-1]) & (points[:, j] >= v[0]) & (points[:, j] <= v[-1])
        points, weights, near = points[seen], weights[seen], near[seen]
    if note:
        axes.annotate(note, (0, 1.01), xycoords="axes fraction", fontsize=8.5, color=TIGHT, va="bottom")
        axes.set_title(axes.get_title(loc="left"), pad=24 + 10 * note.count("\n"))
    _mark(axes, points[:, i], points[:, j], weights, near)
    axes.set_xlabel(_axis_name(family, i))
    axes.set_ylabel(_axis_name(family, j))
    axes.spines[["left", "bottom"]].set_visible(False)
    from matplotlib.cm import ScalarMappable

    figure = axes.get_figure()
    assert figure is not None
    if 0.6 < _shape(width[[i, j]]) < (5 if len(figure.axes) == 1 else 1.7):  # else most of the panel would be blank
        axes.set_aspect("equal")
    bar = figure.colorbar(ScalarMappable(**colours), ax=axes, shrink=0.9, pad=0.02)
    bar.set_label(MEANING, fontsize=9.5)
    bar.outline.set_visible(False)


def _shape(width: Array) -> float:
    """How many times as wide as high a plane set is."""
    return float(width[0] / width[1]) if width[1] > 0 and np.isfinite(width).all() else 1.0


def _image(axes: Axes, u: Array, v: Array, values: Array, colours: dict[str, Any]) -> None:
    """Values on a mesh, smooth unless some are missing: triangles look the same and cost far more."""
    across, up = (u[1] - u[0]) / 2, (v[1] - v[0]) / 2  # pixels are centred on the points of the mesh
    axes.imshow(
        values,
        extent=(u[0] - across, u[-1] + across, v[0] - up, v[-1] + up),
        origin="lower",
        aspect="auto",
        interpolation="bilinear" if np.isfinite(values).all() else "nearest",
        interpolation_stage="data",
        **colours,
    )
    axes.set(xlim=(u[0], u[-1]), ylim=(v[0], v[-1]))


def _colours(values: Array) -> dict[str, Any]:
    """A blue-white-red map with white at zero, cut to the range of the values: blue is slack, red is violated."""
    from matplotlib import colormaps
    from matplotlib.colors import ListedColormap, Normalize

    finite = values[np.isfinite(values)]
    low, high = min(float(finite.min()), 0.0), max(float(finite.max()), 0.0)
    reach = max(-low, high) or 1.0
    if high < 1e-3 * reach:
        high = 0.0
    if low > -1e-3 * reach:
        low = 0.0
    # A power below one opens up the shades near zero, where it is decided which points are active.
    share = np.linspace(low, high, 512) / reach
    shades = colormaps["RdBu_r"](0.5 + 0.47 * np.sign(share) * np.abs(share) ** 0.7)
    return {"cmap": ListedColormap(shades), "norm": Normalize(low, high)}


def _contours(axes: Axes, u: Array, v: Array, values: Array) -> None:
    finite = values[np.isfinite(values)]
    if np.ptp(finite) <= READING.vanishing * np.abs(finite).max():
        return
    axes.contour(u, v, values, levels=9, colors="white", linewidths=0.5, alpha=0.55, linestyles="solid")
    if finite.max() > 1e-3 * np.abs(finite).max() and finite.min() < 0:
        axes.contour(u, v, values, levels=[0.0], colors=BROKEN, linewidths=1.4)


def _mark(axes: Axes, u: Array, v: Array, weights: Array, near: NDArray[np.bool_] | None = None) -> None:
    """Active points, with an area that grows with the multiplier."""
    if not len(u):
        return
    size = 30 + 170 * weights / max(float(weights.max()), 1e-300)
    near = np.ones(len(u), dtype=bool) if near is None else near
    style: dict[str, Any] = {"color": POINT, "edgecolor": "#1f2937", "linewidth": 1.1, "zorder": 5, "clip_on": False}
    axes.scatter(u[near], v[near], s=size[near], label="active points (area: multiplier)", **style)
    axes.scatter(u[~near], v[~near], s=size[~near], alpha=0.3, **style)


def _unique_labels(figure: Figure) -> tuple[list[Any], list[str]]:
    """One legend entry for what several panels show."""
    named: dict[str, Any] = {}
    for axes in figure.axes:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            named.setdefault(label, handle)
    return list(named.values()), list(named)


def _short(title: str, most: int) -> str:
    return picture(shortened(title, most))


def _axis_name(family: WrittenFamily, k: int) -> str:
    """What the modeller calls coordinate k of the index."""
    names = getattr(family, "coordinates", None)
    if names is not None and len(names) > k:
        return _short(str(names[k]), 60)
    return "$t$" if family.visible.scalar else f"$y_{{{k + 1}}}$"


def _draw_variables(solution: Solution) -> Figure:
    """A panel a variable: bars that stand on zero, or a matrix of cells."""
    from matplotlib.ticker import MaxNLocator

    named = [(v.name, v.shape) for v in solution.variables] or [("x", (solution.program.n,))]
    starts = np.cumsum([0, *(int(np.prod(shape)) for _, shape in named)])
    shown = list(zip(named, starts, starts[1:], strict=False))[: TUNING.most_panels]
    columns = min(len(shown), 2)
    figure = _figure(-(-len(shown) // columns), columns, [])
    for axes, ((name, shape), start, end) in zip(figure.axes, shown, strict=False):
        values = solution.x[start:end]
        axes.set_title(_short(name, 60))
        if len(shape) == 2 and min(shape) > 1:
            drawn = axes.imshow(values.reshape(shape), aspect="auto", interpolation="nearest", **_cells(values))
            figure.colorbar(drawn, ax=axes, shrink=0.9, pad=0.02)
            axes.set(xlabel="column", ylabel="row")
            for axis in (axes.xaxis, axes.yaxis):
                axis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
            continue
        axes.bar(np.arange(len(values)), values, color=SLACK, width=0.8)
        axes.axhline(0, color=TIGHT, linewidth=1)
        axes.set_xlabel("entry")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    for axes in figure.axes[len(shown) : -(-len(shown) // columns) * columns]:
        axes.set_axis_off()
    if len(named) > len(shown):
        figure.supxlabel(f"{len(named) - len(shown)} more variables", fontsize=9)
    return figure


def _cells(values: Array) -> dict[str, Any]:
    """Shades of blue from zero on where values have one sign; else red above zero and blue below, white at it."""
    reach = float(np.abs(values).max()) or 1.0
    if values.min() >= 0:
        return {"cmap": "Blues", "vmin": 0.0, "vmax": reach}
    if values.max() <= 0:
        return {"cmap": "Blues_r", "vmin": -reach, "vmax": 0.0}
    return {"cmap": "RdBu_r", "vmin": -reach, "vmax": reach}


def _draw_convergence(panels: Sequence[Axes], solution: Solution) -> None:
    from matplotlib.ticker import MaxNLocator

    history = solution.history
    if not history:
        raise ModelError("There is no iteration to draw: the history is empty.")
    steps = np.array([row.iteration for row in history])

    def column(name: str) -> Array:
        values = np.array([getattr(row, name) for row in history], dtype=np.float64)
        return np.where(np.isfinite(values), values, np.nan)

    def line(axes: Axes, values: Array, label: str, **style: Any) -> None:
        shown = np.where(values > 0, values, np.nan)
        if np.isfinite(shown).any():
            axes.plot(steps, shown, marker="o", markersize=3.5, linewidth=1.5, label=label, **style)

    bounds, violations = panels
    line(bounds, solution.value - column("lower"), "value - lower bound", color=SLACK)
    line(bounds, column("upper") - solution.value, "upper bound - value", color=BROKEN)
    bounds.set_title(f"Bounds around {solution.value:.9g}")
    line(violations, column("violation"), "largest found", color=POINT)
    line(violations, column("bound"), "proven for all index points", color=SLACK, linestyle=(0, (4, 2)))
    violations.set_title("Violation")
    for axes in panels:
        axes.set_yscale("log")
        axes.set_xlabel("iteration")
        axes.set_xlim(steps[0] - 0.5, steps[-1] + 0.5)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
        low, high = axes.get_ylim()
        if high < 100 * low:  # else ticks are written with an offset
            axes.set_ylim(low / 10, high * 10)
        axes.grid(axis="y", color="#e5e7eb", linewidth=0.8)
        axes.set_axisbelow(True)
        if axes.get_legend_handles_labels()[0]:
            axes.legend()
        else:
            axes.text(0.5, 0.5, "exact from the start", transform=axes.transAxes, ha="center", color=TIGHT)
