"""How much a page holds, so that it stays below half a megabyte."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class PageTuning:
    """How much a page holds.

    Parameters
    ----------
    most_rows
        Rows of a table of multipliers or iterations, and iterations that are drawn, evenly chosen.
    most_entries
        Entries of x in its table, and active points in pictures.
    most_pictures
        Families that are drawn, and variables; tables with more rows are folded away.
    most_lines
        Rows of one family that are drawn one by one, besides the largest of all; coordinates of a point.
    most_bars
        Entries of all variables that are drawn.
    most_maps
        Heat maps of all families together.
    most_values, map_side
        Numbers of all heat maps together, about 240 kB of the page; points along a side, at least and at most.
    most_nodes, mask_side
        Nodes of all masks together, about 67 kB of the page; points along a side, at least and at most.
    """

    most_rows: int = 500
    most_entries: int = 200
    most_pictures: int = 12
    most_lines: int = 6
    most_bars: int = 4000
    most_maps: int = 24
    most_values: int = 45_000
    map_side: tuple[int, int] = (29, 161)
    most_nodes: int = 100_000
    mask_side: tuple[int, int] = (60, 240)


TUNING = PageTuning()
