"""Workers elsewhere, and the work that is spread over them.

A pool takes a function and items, and gives the results in the order of the items. Who works on what depends on the
moment; so a function must not remember anything from one item to the next that shows in its results, and then they are
the same for every number of workers. A worker that is gone is replaced, and its item is given to another one.
Until the first worker is there, whoever asks works alone.
"""

from __future__ import annotations

import logging
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from itertools import count
from typing import Any, Protocol, TypeAlias

from ..deadline import PACE, check, left
from ..errors import LSIPError

log = logging.getLogger(__name__)
Workers: TypeAlias = int | str | None
Worker: TypeAlias = Any  # a process, or an actor of Ray
_ids = count()


class WorkerLostError(LSIPError, RuntimeError):
    """A worker is gone: killed, crashed, or on a machine that is no longer there."""


@dataclass(frozen=True)
class WorkerTuning:
    """When work is given up.

    Parameters
    ----------
    tries
        An item that takes its worker down so often in a row is not tried again; nor are starts that fail so often.
    """

    tries: int = 3


TUNING = WorkerTuning()


class Shipped:
    """A function that every worker is sent once."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self.id, self.function = next(_ids), function


class Host(Protocol):
    """Where workers are: each takes one function and item at a time."""

    def start(self, function: Shipped) -> Any:
        """A worker that is on its way; it answers once it is there and has the function.

        ModelError where the function cannot be sent.
        """

    def ask(self, worker: Worker, function: Shipped, item: object) -> None:
        """Give a worker something to do; WorkerLostError if it is gone."""

    def answered(self, workers: Sequence[Any], seconds: float) -> list[Any]:
        """Those of these workers that have answered, or are gone; none after so many seconds."""

    def answer(self, worker: Worker) -> Any:
        """What a worker said: its own errors are raised as they are, WorkerLostError if it is gone."""

    def stop(self, worker: Worker) -> None:
        """End a worker, whatever it is doing."""

    def close(self) -> None:
        """End what is left."""


class WorkerPool:
    """Up to so many workers, which are started when there is something to do for them."""

    def __init__(self, host: Host, size: int) -> None:
        self.host, self.size = host, size
        self._idle: list[Any] = []
        self._starting: list[Any] = []
        self._failed = 0  # starts in a row

    def map(
        self,
        function: Shipped,
        items: Sequence[Any],
        done: Callable[[int, Any], object] = lambda k, result: None,
        doing: str = "work in other processes",
    ) -> list[Any]:
        """The results, in the order of the items; `done` is called with each as soon as it is there."""
        found: dict[int, Any] = {}
        waiting, tries = deque(range(len(items))), Counter[int]()
        busy: list[tuple[Any, int]] = []
        try:
            while len(found) < len(items):
                check(doing)
                while self._failed < TUNING.tries and len(self._idle) + len(self._starting) + len(busy) < min(
                    self.size, len(items) - len(found)
                ):
                    self._starting.append(self.host.start(function))
                while waiting and self._idle:
                    busy.append((self._idle.pop(), waiting.popleft()))
                    self.host.ask(busy[-1][0], function, items[busy[-1][1]])
                mine = next((k for k in waiting if not tries[k]), None) if not busy else None
                if mine is not None:  # while the first one starts, or where none does
                    waiting.remove(mine)
                    found[mine] = function.function(items[mine])
                    done(mine, found[mine])
                others = [*(w for w, _ in busy), *self._starting]
                if mine is None and not others:
                    raise WorkerLostError("Work took its worker down, and no other worker can be started.")
                answered = self.host.answered(others, min(max(left(), 0.0), PACE.every) if mine is None else 0.0)
                for worker in answered:
                    if worker in self._starting:
                        self._started(worker)
                        continue
                    place = next(i for i, (w, _) in enumerate(busy) if w is worker)
                    k = busy[place][1]
                    try:
                        found[k] = self.host.answer(worker)
                    except WorkerLostError as lost:
                        del busy[place]
                        self._lost(worker, k, tries, lost)
                        waiting.appendleft(k)
                        continue
                    del busy[place]
                    self._idle.append(worker)
                    done(k, found[k])
        finally:
            for worker, _ in busy:  # after an error, a deadline or Ctrl-C
                self.host.stop(worker)
        return [found[k] for k in range(len(items))]

    def close(self) -> None:
        """End all workers."""
        for worker in (*self._idle, *self._starting):
            self.host.stop(worker)
        self._idle, self._starting = [], []
        self.host.close()

    def _started(self, worker: Worker) -> None:
        self._starting.remove(worker)
        try:
            self.host.answer(worker)
        except WorkerLostError:
            self.host.stop(worker)
            self._failed += 1
            if self._failed == TUNING.tries and not self._idle:
                log.warning("Workers cannot be started, so that all work is done here.")
        else:
            self._failed = 0
            self._idle.append(worker)

    def _lost(self, worker: Worker, k: int, tries: Counter[int], lost: WorkerLostError) -> None:
        self.host.stop(worker)  # it may only be out of reach, and must not come back
        tries[k] += 1
        if tries[k] >= TUNING.tries:
            raise WorkerLostError(
                f"The same work took {TUNING.tries} workers down in a row, the last one with: {lost} Leave out "
                "`workers` to see why; too little memory is a common cause."
            ) from lost


class Alone:
    """No other worker: the same work, in the same parts, in this process."""

    def map(
        self,
        function: Shipped,
        items: Sequence[Any],
        done: Callable[[int, Any], object] = lambda k, result: None,
        doing: str = "work in parts",
    ) -> list[Any]:
        """As `WorkerPool.map`."""
        found = []
        for k, item in enumerate(items):
            check(doing)
            found.append(function.function(item))
            done(k, found[-1])
        return found


_pool: ContextVar[WorkerPool | Alone | None] = ContextVar("pool", default=None)


@contextmanager
def at_work(pool: WorkerPool | Alone | None) -> Iterator[None]:
    """Let `spread` inside use these workers."""
    token = _pool.set(pool)
    try:
        yield
    finally:
        _pool.reset(token)


def spread(function: Callable[[], Shipped], items: Sequence[Any]) -> list[Any] | None:
    """The results of a function for all items, by the workers that there are; None without any."""
    pool = _pool.get()
    return None if pool is None or len(items) < 2 else pool.map(function(), items)
