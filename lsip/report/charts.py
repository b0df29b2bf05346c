"""Small charts that need no script: bars of multipliers, the variables, the time; drawn as SVG."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..legible import html as escape
from ..legible import shortened
from ..model.status import Status
from .claims import brief
from .limits import TUNING

if TYPE_CHECKING:
    from ..solution.solution import Solution

Array = NDArray[np.float64]
BAR = 64  # pixels of the longest bar in a table
CHART_WIDTH, CHART_HEIGHT, WIDEST = 460, 120, 32.0  # pixels of the chart of a vector, and of a bar in it, at most
CELL, SHADES = (4, 26), 12  # pixels of an entry of a matrix, at least and at most; shades up to the largest size


def bar(share: float) -> str:
    """A bar in a cell of a table, from a baseline."""
    return (
        f'<svg class="bar" width="{BAR}" height="12" aria-hidden="true">'
        f'<rect y="2" width="{BAR * share:.1f}" height="8"/><rect class="base" width="1" height="12"/></svg>'
    )


def variables(solution: Solution) -> str:
    """A chart for every variable that is a vector or a matrix: bars from zero, or shaded cells."""
    if solution.status is Status.UNBOUNDED:
        return ""
    found = list(_charts(solution))[: TUNING.pictures]
    return f'<div class="variables">{"".join(found)}</div>' if found else ""


def _charts(solution: Solution) -> Iterator[str]:
    named = [(v.name, v.shape) for v in solution.variables] or [("x", (solution.program.n,))]
    start = drawn = 0
    for name, shape in named:
        size = int(np.prod(shape))
        values, start = solution.x[start : start + size], start + size
        if 2 < size <= TUNING.bars - drawn:
            drawn += size
            picture = _cells(values.reshape(shape)) if len(shape) == 2 and min(shape) > 1 else _bars(values)
            low, high = brief(float(values.min())), brief(float(values.max()))
            about = f"{size} entries between {low} and {high}"
            yield f"<figure><figcaption><b>{escape(shortened(name, 40))}</b> {about}</figcaption>{picture}</figure>"


def _bars(values: Array) -> str:
    """Bars that stand on zero, or hang from it."""
    low, high = min(float(values.min()), 0.0), max(float(values.max()), 0.0)
    scale, step = (CHART_HEIGHT - 2) / ((high - low) or 1.0), CHART_WIDTH / len(values)
    zero, wide = 1 + high * scale, min(0.8 * step, WIDEST)
    bars = "".join(f"M{(i + 0.5) * step:.1f} {zero:.1f}v{-v * scale:.1f}" for i, v in enumerate(values.tolist()))
    return (
        f'<svg class="entries" viewBox="0 0 {CHART_WIDTH} {CHART_HEIGHT}" role="img" '
        f'aria-label="bars of {len(values)} entries">'
        f'<path class="bars" d="{bars}" stroke-width="{wide:.2f}"/><path d="M0 {zero:.1f}H{CHART_WIDTH}"/></svg>'
    )


def _cells(values: Array) -> str:
    """A cell an entry, darker for larger ones; negative ones in the other colour."""
    rows, columns = values.shape
    cell = int(np.clip(CHART_WIDTH // columns, *CELL))
    shades = np.rint(SHADES * values / (float(np.abs(values).max()) or 1.0)).astype(int)
    paths = "".join(
        f'<path class="{"minus" if shade < 0 else "plus"}" fill-opacity="{abs(shade) / SHADES:.2f}" d="'
        + "".join(f"M{j * cell} {i * cell}h{cell}v{cell}h-{cell}z" for i, j in np.argwhere(shades == shade).tolist())
        + '"/>'
        for shade in np.unique(shades[shades != 0]).tolist()
    )
    width, height = columns * cell, rows * cell
    return (
        f'<svg class="entries" viewBox="-1 -1 {width + 2} {height + 2}" style="max-width:{width + 2}px" role="img" '
        f'aria-label="{rows} by {columns} cells">{paths}<path d="M0 0H{width}V{height}H0Z"/></svg>'
    )


def time(solution: Solution) -> str:
    """What the seconds were spent on: one bar in parts, and the parts by name."""
    spent = {part: seconds for part, seconds in solution.effort.seconds.items() if seconds > 0}
    total = sum(spent.values())
    if not total:
        return ""
    parts = "".join(
        f'<i class="{part}" style="width:{100 * seconds / total:.2f}%" title="{part} {brief(seconds)} s"></i>'
        for part, seconds in spent.items()
    )
    key = "".join(
        f'<span><i class="{part}"></i>{part} <b>{100 * seconds / total:.0f} %</b> {brief(seconds)} s</span>'
        for part, seconds in spent.items()
    )
    return f'<div class="split" role="img" aria-label="parts of the time">{parts}</div><p class="parts">{key}</p>'
