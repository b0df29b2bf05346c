"""Tables of the page that sort: the dual measure, and the solution."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..legible import html as escape
from ..legible import shortened
from ..model.status import Status
from ..solution.active import coordinates
from ..solution.duals import finite_rows
from . import charts
from .claims import brief, number
from .limits import TUNING
from .payload import violation_at

if TYPE_CHECKING:
    from ..solution.solution import Solution


@dataclass(frozen=True)
class AtomRow:
    """One constraint with its multiplier."""

    constraint: str
    point: str  # empty for a finite constraint
    multiplier: float
    value: float | None  # the violation there
    active: int | None  # its place in `solution.active`


def dual_title(solution: Solution) -> str:
    """What the multipliers are."""
    return "The contradiction" if solution.status is Status.INFEASIBLE else "The dual measure"


def dual_table(solution: Solution) -> str:
    """The active points and the finite constraints with a multiplier, heaviest first; the script sorts."""
    atoms = _atoms(solution)
    if not atoms:
        return "<p>No constraint has a positive multiplier.</p>"
    what = {
        Status.INFEASIBLE: "With these weights the constraints add up to a contradiction.",
        Status.OPTIMAL: "The points that hold the solution in place, and what one unit of room would be worth there.",
    }.get(solution.status, "The multipliers of the last relaxation; they prove its bound on the optimal value.")
    heads = [("constraint", "text"), ("index point", "text"), ("multiplier", "number")]
    measured = solution.status is not Status.INFEASIBLE
    if measured:
        heads.append(("violation", "number"))
    most = TUNING.rows
    lines = "".join(_line(atom, abs(atoms[0].multiplier), measured) for atom in atoms[:most])
    more = f'<p class="note">… and {len(atoms) - most} more.</p>' if len(atoms) > most else ""
    return f"<p>{what}</p>{_sortable(heads, lines)}{more}"


def _atoms(solution: Solution) -> list[AtomRow]:
    atoms = []
    for k, a in enumerate(solution.active):
        at = coordinates([number(float(v), 9) for v in a.point])
        place = f"({at})" if len(a.point) > 1 else at
        if len(a.point):  # those without an index are among the finite constraints
            atoms.append(AtomRow(a.row, place, float(a.multiplier), violation_at(solution, a), k))
    atoms += [AtomRow(row.label, "", row.multiplier, None, None) for row in finite_rows(solution) if row.multiplier]
    atoms.sort(key=lambda atom: -abs(atom.multiplier))
    return [atom for atom in atoms if atom.active is not None or abs(atom.multiplier) > 1e-9 * abs(atoms[0].multiplier)]


def _line(atom: AtomRow, heaviest: float, measured: bool) -> str:
    bar = charts.bar(abs(atom.multiplier) / heaviest if heaviest else 0.0)
    cells = [
        f'<td class="c">{escape(shortened(atom.constraint))}</td>',
        f'<td class="n" data-v="{escape(atom.point)}">{escape(atom.point) or "finite"}</td>',
        f'<td class="n" data-v="{atom.multiplier!r}">{bar}<span>{number(atom.multiplier, 9)}</span></td>',
    ]
    if measured:
        value = atom.value
        cells.append(
            '<td class="n">–</td>' if value is None else f'<td class="n" data-v="{value!r}">{brief(value)}</td>'
        )
    point = "" if atom.active is None else f' data-point="{atom.active}"'
    return f"<tr{point}>{''.join(cells)}</tr>"


def x_title(solution: Solution) -> str:
    """What x is."""
    return "A feasible point and the direction" if solution.status is Status.UNBOUNDED else "The solution x"


def x_table(solution: Solution) -> str:
    """Every entry of x, and of the direction of an unbounded problem."""
    names = _names(solution)
    heads, columns = [("variable", "text"), ("value", "number")], [solution.x]
    direction = solution.certificate.direction
    if solution.status is Status.UNBOUNDED and direction is not None:
        heads.append(("direction d", "number"))
        columns.append(direction[: len(solution.x)])
    most = TUNING.rows
    lines = "".join(
        f'<tr><td class="c">{escape(name)}</td>'
        + "".join(f'<td class="n" data-v="{float(c[i])!r}">{number(float(c[i]))}</td>' for c in columns)
        + "</tr>"
        for i, name in enumerate(names[:most])
    )
    more = f'<p class="note">… and {len(names) - most} more entries.</p>' if len(names) > most else ""
    table = _sortable(heads, lines) + more
    if len(names) > TUNING.pictures:
        table = f"<details><summary>All {len(names)} entries as a table</summary>{table}</details>"
    return charts.variables(solution) + table


def _names(solution: Solution) -> list[str]:
    """What every entry of x is called: the variable and the place in it."""
    if not solution.variables:
        return [f"x[{i}]" for i in range(solution.program.n)]
    return [variable.element(i) for variable in solution.variables for i in range(variable.size)]


def _sortable(heads: Sequence[tuple[str, str]], lines: str) -> str:
    cells = "".join(
        f'<th scope="col" data-sort="{kind}"{" class=n" if k else ""}><button type="button">{name}</button></th>'
        for k, (name, kind) in enumerate(heads)
    )
    table = f'<table class="sortable"><thead><tr>{cells}</tr></thead><tbody>{lines}</tbody></table>'
    return f'<div class="wide">{table}</div>'
