"""Benchmarks by name, and the choice of problems on the command line."""

from __future__ import annotations

import pkgutil
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from importlib import import_module
from typing import Any

import benchmarks as package

Figures = dict[str, Any]


@dataclass(frozen=True)
class Options:
    """What the command line asks for."""

    only: str | None = None
    quick: bool = False
    tries: int | None = None  # of random models; the benchmark's own number when None
    seeds: int | None = None  # of learners; the benchmark's own number when None
    seed: int = 0  # of the first of them
    jobs: int = 1  # processes at a time, where no times are compared
    compare: str | None = None  # a file of figures to compare with
    keep: str | None = None  # a file that each run is added to when it is done

    def choose(self, names: Iterable[str]) -> list[str]:
        """The names that `only` selects: text matches anywhere in a name, shell patterns match all of it."""
        names = list(names)
        if self.only is None:
            return names
        patterns = [p.strip() for p in self.only.split(",")]
        found = [n for n in names if any(fnmatchcase(n, p) if set(p) & set("*?[") else p in n for p in patterns if p)]
        if not found:
            raise LookupError(f"--only {self.only} matches none of the {len(names)} problems.")
        return found


@dataclass(frozen=True)
class Benchmark:
    """A named measurement."""

    name: str
    title: str  # one line
    run: Callable[[Options], Figures]
    show: Callable[[Figures], str]  # the figures as a readable table


_REGISTRY: dict[str, Benchmark] = {}


def benchmark(
    name: str, title: str, show: Callable[[Figures], str]
) -> Callable[[Callable[[Options], Figures]], Callable[[Options], Figures]]:
    """Register the decorated function as a benchmark."""

    def register(run: Callable[[Options], Figures]) -> Callable[[Options], Figures]:
        _REGISTRY[name] = Benchmark(name, title, run, show)
        return run

    return register


def benchmarks() -> dict[str, Benchmark]:
    """All benchmarks: every module of the package is imported and registers its own."""
    for module in pkgutil.iter_modules(package.__path__):
        if not module.ispkg and module.name != "__main__":
            try:
                import_module(f"{package.__name__}.{module.name}")
            except ImportError as error:
                _REGISTRY[module.name] = _missing(module.name, str(error.name))
    return _REGISTRY


def _missing(name: str, needed: str) -> Benchmark:
    """A benchmark that says what it would need."""
    missing = f"needs {needed}, which is not installed: pip install '.[bench,rl]' ./lsip-rl"

    def run(_: Options) -> Figures:
        raise LookupError(f"The benchmark {name} {missing}")

    return Benchmark(name, f"not available here: {missing}", run, str)


def say(text: str) -> None:
    """Progress, on stderr: stdout is for figures."""
    print(text, file=sys.stderr, flush=True)
