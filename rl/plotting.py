"""Pictures of policies and experiments: the violation over the index set, and errors against effort.

The only file of `rl` that knows matplotlib, which is imported when a picture is asked for. Every function draws on
`axes` when some are given, and otherwise on a new figure; it returns the figure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

import lsip
from lsip.domains import as_points
from lsip.files import check_file, whole_file
from lsip.validation import (
    FileName,
    Finite,
    Flag,
    Natural,
    Positive,
    Seed,
    Words,
    answer,
    checked,
    choice,
    fits,
    having,
    is_mapping,
    numbers,
    shown,
)

from .dataset import Matrix
from .policy_table import PolicyLike
from .sicmdp import SICMDP

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.cm import ScalarMappable
    from matplotlib.figure import Figure

Array = NDArray[np.float64]
Colouring = str | Callable[[Array], Array]

Picture = Annotated[Any, partial(having, method="savefig", example="rl.plotting.figure()")]
Panel = Annotated[Any, partial(having, method="pcolormesh", example="figure.gca()")]
Image = Annotated[Any, partial(having, method="get_cmap", example="a panel's collections[0]")]
Limits = tuple[Finite, Finite]

FLOOR = 5e-6  # violations far below this one look like none in the paper's colouring
COLOURINGS = ("log", "positive", "signed")
HEAT, CROSS, OUTFALL, ARROW = "viridis", "#ff2d2d", "#ffffff", "#ffffff"
BLUE, RED, GREY = "#2b5c8a", "#c0392b", "#6b7280"
LINES = (BLUE, "#d97706", "#047857", "#7c3aed", RED)
MARKERS = ("o", "s", "^", "D", "v")
MESH, CURVE = 201, 1001  # points along a side of a heat map, and along a curve
STYLE: dict[str, Any] = {
    "font.size": 10,
    "axes.titlesize": 11,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#4b5563",
    "axes.labelcolor": "#1f2937",
    "xtick.color": "#4b5563",
    "ytick.color": "#4b5563",
    "legend.frameon": False,
    "savefig.dpi": 130,
}


@checked(columns=Natural, size=tuple[Positive, Positive])
def figure(columns: int = 1, *, size: tuple[float, float] = (5.6, 4.6)) -> Figure:
    """A figure with a row of panels, `figure.axes`, outside pyplot: no window opens. `size` is that of one panel.

    Raises
    ------
    MissingExtraError
        Without matplotlib; so this is also the way to find out before a long computation.
    """
    try:
        import matplotlib
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise lsip.MissingExtraError(
            'Pictures need matplotlib, which is not installed: pip install "lsip[plot]".'
        ) from error
    fits("A row of panels", columns, most=1000)
    style: Any = STYLE
    with matplotlib.rc_context(style):
        figure = Figure(figsize=(size[0] * columns, size[1]), layout="constrained")
        FigureCanvasAgg(figure)
        figure.subplots(1, columns)
    return figure


@checked(picture=Picture)
def save(picture: Figure, path: str | Path) -> Path:
    """Write a figure, whole or not at all; the ending of the name chooses the format."""
    formats = picture.canvas.get_supported_filetypes()
    target = check_file(path, "picture.png")
    if target.suffix.lstrip(".").lower() not in formats:
        raise lsip.ModelError(f"Pictures can be saved as {', '.join(sorted(formats))}; got the name {target.name}.")
    with whole_file(target, "picture.png") as part:
        picture.savefig(part, dpi=STYLE["savefig.dpi"], format=target.suffix.lstrip(".").lower())
    return target


def heat(violation: ArrayLike, colouring: Colouring = "log") -> Array:
    """What a heat map shows of violations V_{c_y} - u_y.

    Parameters
    ----------
    violation
        An array of any shape; nan where y is outside of Y.
    colouring
        "log" is the paper's, log(v_+ + 5e-6) - log 5e-6: zero without a violation, and one unit for every factor e
        above 5e-6. "positive" is v_+, "signed" is v itself. Or any function of the array.

    Examples
    --------
    >>> heat([-1.0, 0.0, 5e-6, 5e-3]).round(3).tolist()
    [0.0, 0.0, 0.693, 6.909]
    """
    v = numbers(violation, "`violation`", nan=True)
    if callable(colouring):
        colours = numbers(answer("colouring", colouring, v), "What a colouring makes of violations", nan=True)
        if colours.shape != v.shape:
            raise lsip.ModelError(f"A colouring gives a number for each violation, {v.shape}; got {colours.shape}.")
        return colours
    choice("colouring", colouring, COLOURINGS)
    if colouring == "log":
        return np.log(np.maximum(v, 0.0) + FLOOR) - np.log(FLOOR)
    if colouring == "positive":
        return np.maximum(v, 0.0)
    return v


@checked(mdp=SICMDP, axes=Panel | None, arrows=Flag, bar=Flag, title=Words, limits=Limits | None, path=FileName | None)
def violation_map(
    mdp: SICMDP,
    policy: PolicyLike,
    axes: Axes | None = None,
    *,
    points: ArrayLike | None = None,
    colouring: Colouring = "log",
    limits: tuple[float, float] | None = None,
    arrows: bool = True,
    bar: bool = True,
    title: str = "",
    path: str | Path | None = None,
) -> Figure:
    """A heat map of the violation of a policy over a two-dimensional index set Y.

    Parameters
    ----------
    points
        Index points (k, 2) to mark with red crosses, such as `plan.points`.
    colouring
        See `heat`.
    limits
        The two ends of the colour scale, so that several maps can share it.
    arrows
        From every outfall to its most likely successor under the policy, the broader the likelier; a ring where the
        outfall most likely stays active. Models that do not know `outfalls` are drawn without.
    bar
        Whether to draw the colour scale.
    """
    domain = mdp.domain
    if domain.dim != 2:
        raise lsip.ModelError(
            f"A heat map needs an index set of dimension 2; this one has {domain.dim}."
            + (" Use violation_curve." if domain.dim == 1 else "")
        )
    drawn, target = _target(axes)
    u, v = (np.linspace(low, high, MESH) for low, high in zip(domain.lower, domain.upper, strict=True))
    mesh = np.stack(np.meshgrid(u, v), axis=-1).reshape(-1, 2)
    inside = domain.contains(mesh)
    shown = np.full(len(mesh), np.nan)
    shown[inside] = heat(mdp.violations(policy, mesh[inside]), colouring)
    image = target.pcolormesh(
        u, v, shown.reshape(MESH, MESH), shading="nearest", rasterized=True, **_scale(shown, colouring, limits)
    )
    outfalls = getattr(mdp, "outfalls", None)
    if outfalls is not None:
        if arrows:
            _arrows(target, np.asarray(outfalls), mdp.chain(policy))
        target.plot(*np.asarray(outfalls).T, "o", color=OUTFALL, markeredgecolor="black", zorder=4, label="outfalls")
    marks = _marks(points, 2)
    if len(marks):
        style: dict[str, Any] = {"markersize": 8, "markeredgewidth": 2, "zorder": 5, "clip_on": False}
        target.plot(*marks.T, "x", color=CROSS, label="index points", **style)
    target.set(xlabel="$y_1$", ylabel="$y_2$", xlim=u[[0, -1]], ylim=v[[0, -1]], aspect="equal")
    target.set_title(title, loc="left")
    if bar:
        colour_bar(drawn, image, [target], colouring)
    return _done(drawn, path)


def _marks(points: ArrayLike | None, dim: int) -> Array:
    """Index points to mark; none, however that is written."""
    places = np.zeros(0) if points is None else numbers(points, "`points`")
    return as_points(places, dim) if places.size else np.zeros((0, dim))


@checked(drawn=Picture, image=Image)
def colour_bar(drawn: Figure, image: ScalarMappable, panels: Sequence[Axes], colouring: Colouring = "log") -> None:
    """One colour scale beside panels that share it; `image` is what a panel drew first, `panel.collections[0]`."""
    names = {
        "log": r"$\log((V_{c_y}-u_y)_+ + 5\cdot10^{-6}) - \log(5\cdot10^{-6})$",
        "positive": r"$(V_{c_y}-u_y)_+$",
        "signed": r"$V_{c_y}-u_y$",
    }
    if not isinstance(panels, list | tuple | np.ndarray) or not np.size(panels) or not np.ndim(panels):
        raise lsip.ModelError(f"`panels` are a list of axes; got {shown(panels)}.")
    for panel in panels:
        having("panels", panel, "get_figure", "figure.gca()")
    beside = drawn.colorbar(image, ax=list(panels), shrink=0.85, pad=0.02)
    beside.set_label(names.get(colouring, "") if isinstance(colouring, str) else "")


@checked(mdp=SICMDP, axes=Panel | None, label=Words, title=Words, path=FileName | None)
def violation_curve(
    mdp: SICMDP,
    policy: PolicyLike,
    axes: Axes | None = None,
    *,
    points: ArrayLike | None = None,
    label: str = "",
    title: str = "",
    path: str | Path | None = None,
) -> Figure:
    """The violation V_{c_y} - u_y of a policy over a one-dimensional index set, with index points as red crosses."""
    domain = mdp.domain
    if domain.dim != 1:
        raise lsip.ModelError(f"A curve needs an index set of dimension 1; this one has {domain.dim}.")
    drawn, target = _target(axes)
    y = np.linspace(domain.lower, domain.upper, CURVE)
    values = np.full(len(y), np.nan)
    inside = domain.contains(y)
    values[inside] = mdp.violations(policy, y[inside])
    target.plot(y[:, 0], values, linewidth=1.8, label=label or None)
    with np.errstate(invalid="ignore"):
        target.fill_between(y[:, 0], 0, values, where=values > 0, color=RED, alpha=0.3, linewidth=0)
    target.axhline(0, color=GREY, linewidth=1, linestyle=(0, (4, 3)), zorder=1)
    marks = _marks(points, 1)
    if len(marks):
        target.plot(marks[:, 0], mdp.violations(policy, marks), "x", color=CROSS, markersize=8, markeredgewidth=2)
    target.set(xlabel="$y$", ylabel="$V_{c_y} - u_y$")
    target.set_title(title, loc="left")
    if label:
        target.legend(frameon=False)
    return _done(drawn, path)


@checked(axes=Panel | None, xlabel=Words, ylabel=Words, title=Words, path=FileName | None)
def curves(
    series: Mapping[str, tuple[ArrayLike, ArrayLike]],
    axes: Axes | None = None,
    *,
    xlabel: str = "",
    ylabel: str = "",
    title: str = "",
    path: str | Path | None = None,
) -> Figure:
    """Lines through means over seeds, with one standard error on both sides: error against T or N, say.

    Parameters
    ----------
    series
        For every line, its label, the abscissas x (k,) and the values (seeds, k); nan where a seed has none. Both axes
        are logarithmic.
    """
    drawn, target = _target(axes)
    for i, (label, x, values) in enumerate(_lines(series)):
        mean, error = mean_and_error(values)
        low = np.minimum(error, 0.9 * mean)  # a bar that would reach zero has no end on a logarithmic axis
        style: dict[str, Any] = {"color": LINES[i % len(LINES)], "marker": MARKERS[i % len(MARKERS)]}
        target.errorbar(x, mean, (low, error), label=label, markersize=5, linewidth=1.6, capsize=3, **style)
    target.set(xscale="log", yscale="log", xlabel=xlabel, ylabel=ylabel)
    return _labelled(drawn, target, title, path)


@checked(resamples=Natural, seed=Seed)
def interquartile(values: ArrayLike, *, resamples: int = 2000, seed: int = 0) -> tuple[Array, Array, Array]:
    """Interquartile mean over seeds (k,) of values (seeds, k), and the ends of its 95 % bootstrap interval.

    The mean of the middle half of the seeds: a few seeds that fail, or that are lucky, do not move it much.

    Examples
    --------
    >>> middle, low, high = interquartile([[1.0], [2.0], [3.0], [100.0]])
    >>> float(middle[0]), bool(low[0] <= 2.5 <= high[0])
    (2.5, True)
    """
    table = _table(values)
    rng = np.random.default_rng(seed)
    again = table[rng.integers(len(table), size=(resamples, len(table)))]  # (resamples, seeds, k)
    low, high = np.quantile(_middle(again), [0.025, 0.975], axis=0)
    return _middle(table), low, high


def _middle(values: Array) -> Array:
    """The mean of what is left of the second last axis without its lowest and its highest quarter."""
    count = values.shape[-2]
    cut = count // 4
    return np.sort(values, axis=-2)[..., cut : count - cut, :].mean(axis=-2)


@checked(axes=Panel | None, xlabel=Words, ylabel=Words, title=Words, path=FileName | None)
def bands(
    series: Mapping[str, tuple[ArrayLike, ArrayLike]],
    axes: Axes | None = None,
    *,
    xlabel: str = "",
    ylabel: str = "",
    title: str = "",
    path: str | Path | None = None,
) -> Figure:
    """Learning curves: interquartile means over seeds with 95 % bootstrap intervals; for `series` see `curves`."""
    drawn, target = _target(axes)
    for i, (label, x, values) in enumerate(_lines(series)):
        middle, low, high = interquartile(values)
        colour = LINES[i % len(LINES)]
        target.plot(x, middle, label=label, color=colour, linewidth=1.6)
        target.fill_between(x, low, high, color=colour, alpha=0.2, linewidth=0)
    target.set(xlabel=xlabel, ylabel=ylabel)
    return _labelled(drawn, target, title, path)


def mean_and_error(values: ArrayLike) -> tuple[Array, Array]:
    """Mean over seeds (k,) of values (seeds, k), without nan, and its standard error; 0 for a single seed.

    Examples
    --------
    >>> mean, error = mean_and_error([[1.0, 5.0], [3.0, float("nan")]])
    >>> mean.tolist(), error.tolist()
    ([2.0, 5.0], [1.0, 0.0])
    """
    table = _table(values)
    known = np.isfinite(table)
    count = known.sum(axis=0)
    mean = np.where(known, table, 0.0).sum(axis=0) / np.where(count > 0, count, np.nan)
    spread = np.where(known, (table - mean) ** 2, 0.0).sum(axis=0) / np.maximum(count - 1, 1)
    return mean, np.sqrt(spread / np.maximum(count, 1))


def _table(values: ArrayLike) -> Array:
    """Values (seeds, k)."""
    table = np.atleast_2d(numbers(values, "Values of seeds", nan=True))
    if table.ndim != 2 or not len(table):
        raise lsip.ModelError(f"Values of seeds have the shape (seeds, k); got {table.shape}.")
    return table


def _lines(series: Mapping[str, tuple[ArrayLike, ArrayLike]]) -> Iterator[tuple[str, Array, Array]]:
    """Labels, abscissas (k,) and values (seeds, k) of lines."""
    if not is_mapping(series):
        raise lsip.ModelError(f"Lines are a dictionary of their labels, each with (x, values); got {shown(series)}.")
    for label, pair in series.items():
        if not isinstance(pair, list | tuple) or len(pair) != 2:
            raise lsip.ModelError(f"The line {shown(label)} is a pair (x, values); got {shown(pair)}.")
        x, values = numbers(pair[0], "Abscissas"), _table(pair[1])
        if x.shape != values.shape[1:]:
            raise lsip.ModelError(f"Values of the line {shown(label)} are (seeds, {x.size}); got {values.shape}.")
        yield str(label), x, values


def _target(axes: Axes | None) -> tuple[Figure, Axes]:
    if axes is None:
        drawn = figure()
        return drawn, drawn.axes[0]
    owner: Any = axes.get_figure()
    return owner, axes


def _labelled(drawn: Figure, axes: Axes, title: str, path: str | Path | None) -> Figure:
    """Title, grid and legend of a panel with lines."""
    axes.set_title(title, loc="left")
    axes.grid(color="#e5e7eb", linewidth=0.8)
    axes.set_axisbelow(True)
    if axes.get_legend_handles_labels()[0]:
        axes.legend(frameon=False)
    return _done(drawn, path)


def _done(drawn: Figure, path: str | Path | None) -> Figure:
    if path is not None:
        save(drawn, path)
    return drawn


def _scale(shown: Array, colouring: Colouring, limits: tuple[float, float] | None) -> dict[str, Any]:
    if colouring == "signed":
        reach = float(np.nanmax(np.abs(shown))) or 1.0
        low, high = limits or (-reach, reach)
        return {"cmap": "RdBu_r", "vmin": low, "vmax": high}
    low, high = limits or (0.0, max(float(np.nanmax(shown)), 1e-300))
    return {"cmap": HEAT, "vmin": low, "vmax": high}


def _arrows(axes: Axes, outfalls: Array, chain: Matrix) -> None:
    """The most likely transition from each outfall; chain (S, S), dense or sparse."""
    P = chain if isinstance(chain, np.ndarray) else chain.toarray()
    for s, t in enumerate(P.argmax(axis=1)):
        width = 0.4 + 2.0 * P[s, t]
        if s == t:
            axes.plot(*outfalls[s], "o", markersize=13, fillstyle="none", color=ARROW, markeredgewidth=width, zorder=3)
        else:
            axes.annotate(
                "",
                outfalls[t],
                outfalls[s],
                arrowprops={"arrowstyle": "-|>", "color": ARROW, "alpha": 0.8, "linewidth": width, "shrinkB": 4},
                zorder=3,
            )
