"""Linear inequalities in exact rational arithmetic: for the few polytopes whose floats leave a question open."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

Form = list[Fraction]  # coefficients of z[0], …, z[k-1], then a constant


@dataclass(frozen=True)
class Deepest:
    """The largest t with slack_i(z) >= t for all i, and the proof: multipliers[i] slack_i(z) add up to t for all z."""

    depth: Fraction
    point: list[Fraction]
    multipliers: list[Fraction]  # >= 0; they add up to 1


def as_form(coefficients: Iterable[float], constant: float) -> Form:
    """Floats, as the rational numbers that they are."""
    return [*map(Fraction, map(float, coefficients)), Fraction(float(constant))]


def substitute(forms: list[Form], equation: Form, j: int) -> list[Form]:
    """The forms without z[j], which solves `equation` = 0 for the others."""
    ratio = [-value / equation[j] for value in equation]
    return [_without(form, form[j], ratio, j) for form in forms]


def _without(form: Form, weight: Fraction, ratio: Form, j: int) -> Form:
    kept = [a + weight * r if r and weight else a for a, r in zip(form, ratio, strict=True)]
    del kept[j]
    return kept


def deepest(slacks: list[Form], start: Iterable[float]) -> Deepest | None:
    """Maximise the least slack by the simplex method, from near `start`; None if it grows without bound.

    The dictionary has a row for every basic variable: its value as a form in the others, which are 0. Coordinates z
    are free: once basic, they stay. Bland's rule prevents cycles.
    """
    k, zero, one = len(slacks[0]) - 1, Fraction(0), Fraction(1)
    shift = list(map(Fraction, map(float, start)))
    moved = [[*form[:-1], sum((a * z for a, z in zip(form, shift, strict=False)), form[-1])] for form in slacks]
    worst = min(range(len(moved)), key=lambda i: moved[i][-1])
    # t = slack[worst](z) - s[worst], and all other s[i] = slack_i(z) - t. Columns are z, s[worst] and the constant.
    goal = [*moved[worst][:-1], -one, moved[worst][-1]]
    rows = {
        i: [a - b for a, b in zip([*form[:-1], zero, form[-1]], goal, strict=True)]
        for i, form in enumerate(moved)
        if i != worst
    }
    names: list[int] = [*(-1 - j for j in range(k)), worst]  # of the columns: coordinate j is -1 - j
    settled: dict[int, Form] = {}  # rows of basic coordinates
    while (column := _entering(goal, names)) is not None:
        upward = goal[column] > 0
        room = [
            (row[-1] / abs(row[column]), i) for i, row in rows.items() if row[column] and (row[column] < 0) == upward
        ]
        if not room:
            return None
        _, leaving = min(room)
        pivot = rows.pop(leaving)
        solved = [-a / pivot[column] for a in pivot]
        solved[column] = one / pivot[column]
        entering, names[column] = names[column], leaving
        for table in (rows, settled):
            for name, row in table.items():
                table[name] = _pivoted(row, solved, column)
        goal = _pivoted(goal, solved, column)
        (settled if entering < 0 else rows)[entering] = solved
    point = [shift[j] + (settled[-1 - j][-1] if -1 - j in settled else zero) for j in range(k)]
    multipliers = [zero] * len(slacks)
    for name, price in zip(names, goal, strict=False):
        if name >= 0:
            multipliers[name] = -price
    return Deepest(goal[-1], point, multipliers)


def _entering(goal: Form, names: list[int]) -> int | None:
    """A column whose variable raises the goal: a coordinate if there is one, else the first slack."""
    useful = [(name, c) for c, name in enumerate(names) if (goal[c] != 0 if name < 0 else goal[c] > 0)]
    return min(useful)[1] if useful else None


def _pivoted(row: Form, solved: Form, column: int) -> Form:
    weight = row[column]
    if not weight:
        return row
    kept = [a + weight * b if b else a for a, b in zip(row, solved, strict=True)]
    kept[column] = weight * solved[column]
    return kept
