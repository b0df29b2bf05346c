"""How much a page holds, so that it stays below half a megabyte."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class PageTuning:
    """How much a page holds.

    Parameters
    ----------
    rows
        Rows of a table, and what is listed or drawn one by one: iterations, entries of x, active points. They are a
        quarter of the page, about 100 kB; bars of variables, heat maps and masks of index sets have as much each.
    pictures
        Families that are drawn, and variables; tables with more rows are folded away. Twice as many heat maps fit, half
        as many rows of one family besides the largest of all.
    """

    rows: int = 500
    pictures: int = 12

    @property
    def bars(self) -> int:
        """Entries of all variables that are drawn."""
        return 8 * self.rows

    @property
    def values(self) -> int:
        """Numbers of all heat maps together."""
        return 90 * self.rows

    @property
    def nodes(self) -> int:
        """Nodes of all masks together, which take half a byte each."""
        return 200 * self.rows


TUNING = PageTuning()
