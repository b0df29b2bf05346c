"""Long runs, kept in files and shared among processes: what experiments over many seeds have in common."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from .registry import Progress, write_numbers

Result = dict[str, Any]


def kept(path: Path, settings: dict[str, Any], compute: Callable[[], Result]) -> Result:
    """What a run found: from its file, if that is of the same settings (its entry "run"), else computed and written."""
    if path.exists():
        result: Result = json.loads(path.read_text(encoding="utf-8"))
        if result["run"] == json.loads(json.dumps(settings)):
            return result
    path.parent.mkdir(parents=True, exist_ok=True)
    result = compute()
    write_numbers(path, result)
    return result


def spread(function: Callable[[Any], Any], items: Sequence[Any], workers: int, progress: Progress) -> None:
    """Call a function for all items, in processes if there is more than one core and item."""
    progress(0, len(items))
    for done, _ in enumerate(_each(function, items, min(workers, os.cpu_count() or 1, len(items))), 1):
        progress(done, len(items))


def _each(function: Callable[[Any], Any], items: Sequence[Any], workers: int) -> Iterator[Any]:
    if workers < 2:
        yield from map(function, items)
        return
    pool = ProcessPoolExecutor(workers, get_context("spawn"))
    try:
        for future in as_completed([pool.submit(function, item) for item in items]):
            yield future.result()
    finally:
        pool.shutdown(cancel_futures=True)


@contextmanager
def one_thread() -> Iterator[None]:
    """Keep torch to one thread: for small tables and networks, more of them only wait for each other."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
