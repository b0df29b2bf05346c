"""Many values of the parameters of one problem: a solution for each, in parts that know nothing of one another.

The first row is solved anew. All others are in parts of rows that follow each other: each part begins from the first
solution, and each row from the one before it. How long a part is depends on the number of rows alone, so that the
answers are the same whoever solves which part.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from math import ceil, sqrt
from typing import Any

from ..errors import LSIPError
from ..expressions.parameter import Parameter
from ..model.batch import read_rows, register_batch
from ..model.compilation import Parts
from ..model.problem import Problem
from ..model.status import Status
from ..progress import Bar
from ..solution.solution import Solution
from ..validation import Array, flag
from ..workers import Alone, Shipped, Workers, opened

Rows = tuple[int, list[list[Array]]]  # the number of the first one, and the values of each


@register_batch
def solve_many(
    problem: Problem, given: object, workers: Workers, options: dict[str, Any], verbose: bool
) -> list[Solution | None]:
    """A solution for each row; None for those that an interrupt has left."""
    flag("verbose", verbose)
    rows = read_rows(problem.parameters, given)
    found: list[Solution | None] = [None] * len(rows)
    parameters, values = list(rows[0]) if rows else [], [list(row.values()) for row in rows]
    size = ceil(sqrt(max(len(rows) - 1, 1)))
    parts: list[Rows] = [(k, values[k : k + size]) for k in range(1, len(rows), size)]
    bar = Bar() if verbose else None

    def took(start: int, solutions: Sequence[Solution]) -> None:
        found[start : start + len(solutions)] = solutions
        if bar is not None:
            bar.at(sum(s is not None for s in found), len(rows), problem.name)

    try:
        with _as_it_was(problem), suppress(KeyboardInterrupt), opened(workers) as pool:
            for first in RowsInTurn(problem, parameters, None, options).solved((0, values[:1])):
                took(0, [first])
                part = RowsInTurn(problem, parameters, first, options)
            if not parts:
                pass
            elif pool is None or isinstance(pool, Alone):
                for some in parts:
                    for k, solution in enumerate(part.solved(some), some[0]):
                        took(k, [solution])
            else:
                known = shared(problem)
                pool.map(
                    Shipped(part),
                    parts,
                    lambda k, data: took(parts[k][0], _SolutionReader(data, known).load()),
                    "batch",
                )
    finally:
        if bar is not None:
            bar.clear()
    return found


@contextmanager
def _as_it_was(problem: Problem) -> Iterator[None]:
    """Give parameters, variables and the problem back what they had."""
    last, parts = problem._last, problem._parts
    given, values = [(p, p._value) for p in problem.parameters], [(v, v.value) for v in problem.variables]
    try:
        yield
    finally:
        problem._last, problem._parts = last, parts
        for p, number in given:
            vars(p)["_value"] = number
        for v, value in values:
            v.found(value)


class RowsInTurn:
    """Solves rows one after the other, beginning from the first solution of all."""

    def __init__(
        self, problem: Problem, parameters: Sequence[Parameter], first: Solution | None, options: dict[str, Any]
    ) -> None:
        self.problem, self.parameters, self.first, self.options = problem, parameters, first, options

    def __getstate__(self) -> dict[str, Any]:
        """With what the first solve has kept for the next one, which a solution alone leaves behind."""
        return {**vars(self), "kept": None if self.first is None else self.first.kept}

    def __setstate__(self, state: dict[str, Any]) -> None:
        kept = state.pop("kept")
        vars(self).update(state)
        self.first = None if self.first is None else replace(self.first, kept=kept)

    def solved(self, rows: Rows) -> Iterator[Solution]:
        """One solution after the other; nothing is left of what was solved before."""
        problem, (start, values) = self.problem, rows
        problem._parts, problem._last = Parts(), self.first
        for k, row in enumerate(values, start):
            for p, value in zip(self.parameters, row, strict=True):
                p.value = value
            try:
                solution = problem.solve(verbose=False, **self.options)
            except LSIPError as error:
                error.add_note(f"It is row {k} of those given to solve_many.")
                raise
            assert isinstance(solution, Solution)
            yield solution
            if solution.status is Status.INTERRUPTED:
                raise KeyboardInterrupt

    def __call__(self, rows: Rows) -> bytes:
        """The solutions of some rows in bytes, without what whoever asks has already."""
        data = io.BytesIO()
        _SolutionWriter(data, shared(self.problem)).dump(list(self.solved(rows)))
        return data.getvalue()


def shared(problem: Problem) -> list[Any]:
    """What solutions are about, in the same order in every process: they are known by it."""
    return [problem, *problem.variables, *problem._hidden, *problem.parameters, *problem._statements()]


class _SolutionWriter(pickle.Pickler):
    def __init__(self, data: io.BytesIO, known: Sequence[Any]) -> None:
        super().__init__(data)
        self._places = {id(each): k for k, each in enumerate(known)}

    def persistent_id(self, obj: object) -> int | None:
        return self._places.get(id(obj))


class _SolutionReader(pickle.Unpickler):
    def __init__(self, data: bytes, known: Sequence[Any]) -> None:
        super().__init__(io.BytesIO(data))
        self._known = known

    def persistent_load(self, place: int) -> Any:
        return self._known[place]
