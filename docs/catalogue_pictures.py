"""The pictures of the catalogue: `python docs/catalogue_pictures.py` solves a problem of each file and draws it.

Each is `solution.plot` of the first problem with one or two coordinates that is solved soon.
"""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "_ext"))

import catalogue_tables  # noqa: E402

import lsip  # noqa: E402

FIGURES = HERE / "figures" / "catalogue"
LIMIT = 5.0  # seconds


def solved(entries: list[lsip.catalogue.Entry]) -> tuple[str, lsip.Solution] | None:
    """The first problem that makes a picture: the plane rather than the line."""
    found = None
    for entry in entries:
        if entry.status != "optimal" or "large" in entry.tags:
            continue
        problem = entry.build()
        families = problem.compile().families
        if len(families) != 1 or families[0].domain.dim > 2 or (found and families[0].domain.dim == 1):
            continue
        solution = problem.solve(verbose=False, time_limit=LIMIT)
        if solution.certified:
            found = entry.name, solution
            if families[0].domain.dim == 2:
                break
    return found


def main() -> None:
    """A picture a file."""
    FIGURES.mkdir(parents=True, exist_ok=True)
    for old in FIGURES.glob("*.png"):
        old.unlink()
    for _, _, entries in catalogue_tables.groups():
        found = solved(entries)
        if found is not None:
            name, solution = found
            figure = solution.plot(family=0)
            figure.savefig(FIGURES / f"{name}.png", dpi=72)


if __name__ == "__main__":
    main()
