"""Interrupts at any moment, and solves at the same time: neither leaves anything behind that proves what is false."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from types import CodeType, FrameType
from typing import Any

import numpy as np
import pytest

import lsip
from lsip.expressions.tape import Tape
from lsip.masters.elastic import ElasticMaster
from lsip.masters.highs import HighsProgram
from lsip.model import FamilyViolation
from lsip.oracles import BranchAndBound, Memory
from lsip.oracles.partition import BoxPartition
from lsip.solver.linear_master import LinearMaster

BEST = {"wavy": [0.92656993, -0.58413903, 0.11669588], "broken": [1.32330793, -0.30618622, 1.10565219]}  # about


def wavy(seed: int = 0) -> lsip.Program:
    """A parabola above a wavy curve: thousands of boxes, and maxima of nearly the same height."""
    w, phase, a = np.random.default_rng(seed).uniform([20, 0, 0.1], [60, 6, 0.3])
    x, u = lsip.Variable(3, name="x", lower=-50, upper=50), lsip.Index("u", lsip.Interval(0, 3))
    curve = np.sin(9 * u) * np.exp(-u) + a * np.cos(w * u + phase)
    above = lsip.forall(u, x[0] + x[1] * u + x[2] * u**2 >= curve)
    return lsip.Problem(lsip.minimize(3 * x[0] + 4.5 * x[1] + 9 * x[2]), [above]).compile()


def broken() -> lsip.Program:
    """Kinks and a jump, whose boxes come in pieces, over a disc, whose boxes may lie outside."""
    x, y = lsip.Variable(3, name="x", lower=-9, upper=9), lsip.Index("y", lsip.Ball([0, 0], 1))
    curve = np.abs(y[0] - 0.3) + np.where(3 * y[1] > 0.6, 0.5, np.sin(3 * y[1]))
    return lsip.Problem(lsip.minimize(x[0]), [lsip.forall(y, x[0] + x[1] * y[0] + x[2] * y[1] >= curve)]).compile()


@contextmanager
def interrupted(codes: set[CodeType], moment: int, event: str = "line") -> Iterator[list[int]]:
    """Raise KeyboardInterrupt at the given line, or opcode, of all that these functions run; counts them."""
    seen = [0]

    def local(frame: FrameType, what: str, _: Any) -> Callable[..., Any]:
        if what == event:
            seen[0] += 1
            if seen[0] == moment:
                sys.settrace(None)
                raise KeyboardInterrupt
        return local

    def entered(frame: FrameType, *_: Any) -> Callable[..., Any] | None:
        if frame.f_code not in codes:
            return None
        frame.f_trace_opcodes = event == "opcode"
        return local

    before = sys.gettrace()
    sys.settrace(entered)
    try:
        yield seen
    finally:
        sys.settrace(before)


REFINE = {f.__code__ for f in (BoxPartition.refine, BoxPartition._replace, BoxPartition.grow)}
KEEP = {f.__code__ for f in vars(Memory).values() if hasattr(f, "__code__")} | {BranchAndBound.maximise.__code__}
MASTER = {
    f.__code__
    for kind in (HighsProgram, ElasticMaster, LinearMaster)
    for f in vars(kind).values()
    if hasattr(f, "__code__")
}


def bound(program: lsip.Program, name: str) -> float:
    """Of the violation at a point that is almost the best: many boxes have to be split."""
    return BranchAndBound(tol=1e-7).maximise(FamilyViolation(program.families[0], np.array(BEST[name]))).bound


@pytest.mark.parametrize(("build", "moments"), [(wavy, 150), (broken, 30)])
@pytest.mark.parametrize("codes", [REFINE, KEEP], ids=["refine", "memory"])
def test_what_an_interrupted_search_leaves_proves_nothing_false(
    build: Callable[[], lsip.Program], moments: int, codes: set[CodeType]
) -> None:
    """At bytecodes all over a search: the next one finds the same supremum."""
    name, program = build.__name__, build()
    truth = bound(build(), name)
    with interrupted(codes, -1, "opcode") as seen:
        bound(program, name)
    for moment in np.unique(np.linspace(1, seen[0], moments).astype(int)):
        program.families[0].memory.forget()
        with pytest.raises(KeyboardInterrupt), interrupted(codes, int(moment), "opcode"):
            bound(program, name)
        assert bound(program, name) == pytest.approx(truth, abs=2e-7), f"interrupted at opcode {moment}"


@pytest.mark.parametrize("codes", [REFINE, MASTER], ids=["refine", "master"])
def test_a_program_whose_solve_was_interrupted_is_solved_like_a_fresh_one(codes: set[CodeType]) -> None:
    truth, probe = wavy().solve(verbose=False), wavy()
    with interrupted(codes, -1) as seen:
        probe.solve(verbose=False)
    for moment in np.unique(np.linspace(1, seen[0], 40).astype(int)):
        program, found = wavy(), []
        with suppress(KeyboardInterrupt), interrupted(codes, int(moment)):  # which is raised before the first step
            found.append(program.solve(verbose=False))
        found.append(program.solve(verbose=False))
        assert found[-1].certified
        for solution in found:
            assert max(solution.lower, truth.lower) <= min(solution.upper, truth.upper), f"interrupted at {moment}"


def test_constants_of_a_jump_are_known_all_or_not_at_all() -> None:
    """What was computed when the interrupt came must not count as everything."""
    codes, box = {Tape._still_doubts.__code__}, (np.array([[-0.5, -0.5]]), np.array([[0.5, 0.5]]))
    with interrupted(codes, -1) as seen:
        truth = broken().families[0].source.tape.enclose(*box)
    for moment in range(1, seen[0] + 1):
        tape = broken().families[0].source.tape
        with pytest.raises(KeyboardInterrupt), interrupted(codes, moment):
            tape.enclose(*box)
        again = tape.enclose(*box)
        assert np.array_equal([again.lo, again.hi], [truth.lo, truth.hi])


def test_threads_may_solve_one_program_at_the_same_time() -> None:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(4) as pool:
            for seed in range(5):
                truth, program = wavy(seed).solve(verbose=False), wavy(seed)
                runs = [pool.submit(program.solve, verbose=False) for _ in range(8)]
                for solution in [run.result() for run in runs] + [program.solve(verbose=False)]:
                    assert solution.status is truth.status
                    assert max(solution.lower, truth.lower) <= min(solution.upper, truth.upper)
                    assert solution.value == pytest.approx(truth.value, rel=2e-6)
    finally:
        sys.setswitchinterval(before)
