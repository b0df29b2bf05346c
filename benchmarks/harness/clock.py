"""Wall-clock times of contestants that take turns, and where the time of one solve goes."""

from __future__ import annotations

import io
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from inspect import isfunction
from statistics import median
from typing import Any


def timed(run: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds, and what the call returned."""
    start = time.perf_counter()
    result = run()
    return time.perf_counter() - start, result


@contextmanager
def quiet() -> Iterator[None]:
    """Send what other tools print, compiled ones included, nowhere: standard output is for figures."""
    sys.stdout.flush()
    kept, nowhere = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    try:
        with redirect_stdout(io.StringIO()):
            yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)
        os.close(nowhere)


def forget() -> None:
    """Empty every cache of the package's functions, so that no solve profits from an earlier one."""
    for name, module in list(sys.modules.items()):
        if name == "lsip" or name.startswith("lsip."):
            for value in list(vars(module).values()):
                if callable(getattr(value, "cache_clear", None)):
                    value.cache_clear()


def interleave(
    contestants: dict[str, Callable[[], float]], repeats: int, budget: float, known: dict[str, float] | None = None
) -> dict[str, float]:
    """The median seconds of each contestant, all taking turns so that a busy moment of the machine hits them alike.

    A contestant is a call that does what it must and returns the seconds that count. One that has used up `budget`
    seconds sits out the next rounds; one whose time is `known` already to exceed it never starts.
    """
    samples: dict[str, list[float]] = {name: [] for name in contestants}
    known = known or {}
    for name, seconds in known.items():
        if seconds > budget:
            samples[name].append(seconds)
    for _ in range(repeats):
        for name, run in contestants.items():
            if sum(samples[name]) < budget:
                samples[name].append(run())
    return {name: median(values) for name, values in samples.items()}


@contextmanager
def phases() -> Iterator[dict[str, float]]:
    """Seconds spent in the parts of a solve: compiling, separation, and the linear programs of the master."""
    from lsip.masters.elastic import ElasticMaster
    from lsip.model.problem import Problem
    from lsip.oracles import BranchAndBound, Multistart

    spent = {"compile": 0.0, "separation": 0.0, "master": 0.0}
    master = [
        name
        for name, part in vars(ElasticMaster).items()
        if isfunction(part) and (name == "__init__" or name[0] != "_")
    ]
    parts = [("compile", Problem, "compile"), ("separation", BranchAndBound, "maximise")]
    parts += [("separation", Multistart, "maximise"), *(("master", ElasticMaster, name) for name in master)]
    originals = [(owner, name, vars(owner)[name]) for _, owner, name in parts]
    inside = False

    def watched(phase: str, original: Callable[..., Any]) -> Callable[..., Any]:
        def run(*args: Any, **options: Any) -> Any:
            nonlocal inside
            if inside:  # the outer call counts already
                return original(*args, **options)
            inside, start = True, time.perf_counter()
            try:
                return original(*args, **options)
            finally:
                inside = False
                spent[phase] += time.perf_counter() - start

        return run

    for (phase, owner, name), (_, _, original) in zip(parts, originals, strict=True):
        setattr(owner, name, watched(phase, original))
    try:
        yield spent
    finally:
        for owner, name, original in originals:
            setattr(owner, name, original)
