"""Checking a proof again: from the certificate alone, against the program of the model as it was solved."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TypeVar

from ..deadline import check, within
from ..errors import OutOfTime, ProofError
from ..model.compilation import Written
from ..model.fingerprint import differing, fingerprint
from ..model.program import Compilable, Program
from ..oracles import Oracle
from ..reductions.chain import restate
from ..validation import having, real
from .result import Result
from .verify import verify

R = TypeVar("R", bound=Result)


def verified(result: R, tol: float | None, atol: float | None, oracle: Oracle | None, time_limit: float | None) -> R:
    """The result, if its proof holds; ProofError if not, OutOfTime if that could not be told in time."""
    for name, value in (("tol", tol), ("atol", atol)):
        if value is not None:
            real(name, value, "is a number >= 0", lambda v: v >= 0)
    if oracle is not None:
        having("oracle", oracle, "maximise", "lsip.oracles.BranchAndBound()")
    with limited(time_limit):
        violation = _violation(result, result.tol if tol is None else tol, atol, oracle)
    if result.checked:
        return result
    return replace(result, checked=True, certificate=replace(result.certificate, violation=violation))


@contextmanager
def limited(time_limit: float | None) -> Iterator[None]:
    """A check of a proof that has so many seconds, and says so where they are not enough."""
    if time_limit is None:
        yield
        return
    real("time_limit", time_limit, "is a number of seconds, or None for no limit", lambda v: v >= 0)
    try:
        with within(time_limit):
            yield
    except OutOfTime as late:
        raise OutOfTime(
            f"The proof could not be checked within {time_limit} seconds; nothing was found to be wrong with it."
        ) from late


def _violation(result: Result, tol: float, atol: float | None, oracle: Oracle | None) -> tuple[float, ...]:
    """The violation that is proven, family by family, of an answer whose proof holds."""
    program = compiled_again(result)
    oracles = (oracle,) * len(program.families) if oracle is not None else result.oracles or None
    try:
        return verify(program, result.certificate, result.status, tol, atol=atol, oracles=oracles)
    except ProofError:
        check("verification")  # a proof that was stopped is not as sharp
        raise


def compiled_again(result: Result, compile_: Callable[[Program | Compilable], Program] = restate) -> Program:
    """The program of the model as it was solved, with nothing that the solver remembered about its families.

    Compiled as the solver does, it has to be the program that is shown.
    """
    if result.model is None:
        for family in result.program.families:
            family.memory.forget()
        return result.program
    layout = result.program.layout
    owned = layout is not None and layout.owner is result.model  # which may have changed since
    written = layout.written if owned else result.model  # type: ignore[union-attr]
    program = compile_(written.anew() if isinstance(written, Written) else written)
    different = differing(fingerprint(program), fingerprint(result.program))
    if different:
        raise ProofError(f"The program of the solution is not that of its model: {', '.join(different)} differ.")
    return program
