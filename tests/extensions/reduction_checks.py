"""The promises of a reduction, as one function. Call `check_reduction` in the test of a new one."""

from __future__ import annotations

from dataclasses import fields, replace
from unittest.mock import patch

import numpy as np

import lsip
from lsip.proof.certificate import Certificate
from lsip.reductions import chain
from lsip.reductions.reduction import Map, Reduction


def check_reduction(reduction: Reduction, program: lsip.Program) -> lsip.Solution:
    """Raise AssertionError if a program for which there is something to do is not solved as well with the reduction.

    Returns the answer. Its certificate is checked again without the reduction.
    """
    assert reduction.accepts(program), "the reduction has nothing to do"
    reduced = reduction.apply(program)
    assert reduced is not program, "the reduction has done nothing"
    *before, way = reduced.maps
    assert tuple(before) == program.maps, "maps of earlier reductions stay, and the new one is the last"
    assert isinstance(way, Map), "the way back is a `Map`"
    assert way.given is program, "the way leads back to the given program"
    expected = replace(program).solve(verbose=False)
    with patch.object(chain, "REDUCTIONS", (reduction, *chain.REDUCTIONS)):
        given = replace(program)  # of which nothing is known yet
        solution = given.solve(verbose=False)
        _check_answer(solution, expected, way)
        if np.isfinite(solution.upper):
            _check_answer(given.solve(verbose=False, warm_start=solution), expected, way)
    return solution


def _check_answer(answer: lsip.Solution, expected: lsip.Solution, way: Map) -> None:
    """It is about the given program, and proven."""
    program, certificate = way.given, answer.certificate
    assert answer.status is expected.status, f"the status is {answer.status.name}, not {expected.status.name}"
    assert len(certificate.x) == program.n, "the point is one of the reduced program"
    assert all(len(h.x) == program.n for h in answer.history), "iterates are points of the reduced program"
    assert len(certificate.row_multipliers) in (0, program.finite_rows), "multipliers are those of the reduced rows"
    answer.verify()
    _check_way(way, certificate)


def _check_way(way: Map, certificate: Certificate) -> None:
    """What is moved to the reduced program and back stays there when it is moved again."""
    moved = way.forward(certificate)
    again = way.forward(way.inverse(moved))
    for name in (field.name for field in fields(Certificate) if field.name != "support"):
        assert np.array_equal(getattr(moved, name), getattr(again, name)), f"there and back, `{name}` is another"
    atoms = ([(s.place, s.multiplier) for s in c.support] for c in (moved, again))
    assert next(atoms) == next(atoms), "there and back, `support` is another"
