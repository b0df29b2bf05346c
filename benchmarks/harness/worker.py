"""A process that measures one problem after the other: a hang, a crash or a flood of memory costs one problem only."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Iterator
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any

Measure = Callable[..., Iterator[dict[str, Any]]]
MEMORY = 0.6  # of the machine's, that a worker may use


class Worker:
    """Runs `measure(*args)` in another process and merges the parts that it yields into one dictionary."""

    def __init__(self, measure: Measure) -> None:
        self.measure = measure
        self._process: Any = None
        self._ours: Any = None

    @property
    def idle(self) -> bool:
        """Whether the next run starts a process."""
        return self._process is None

    def run(self, *args: Any, seconds: float) -> dict[str, Any]:
        """All parts, together with `failure` if the measurement failed or took longer than `seconds`."""
        if self._process is None:
            self._start()
        figures: dict[str, Any] = {}
        deadline = time.monotonic() + seconds
        self._ours.send(args)
        while True:
            try:
                if not self._ours.poll(max(deadline - time.monotonic(), 0.0)):
                    self.stop()
                    return figures | {"failure": f"stopped after {seconds:.0f} s"}
                part = self._ours.recv()
            except (EOFError, OSError):
                code = self._process.exitcode
                self.stop()
                return figures | {"failure": f"the process died (exit code {code})"}
            if part is None:
                return figures
            figures |= part

    def _start(self) -> None:
        context = get_context("spawn")
        self._ours, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, self.measure), daemon=True)
        self._process.start()
        theirs.close()

    def stop(self) -> None:
        """End the process; the next run starts another."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._ours.close()
            self._process = None


def _serve(theirs: Connection, measure: Measure) -> None:
    os.dup2(2, 1)  # whatever a solver prints must not end up among the figures
    _limit_memory()
    warnings.simplefilter("ignore")
    while True:
        try:
            args = theirs.recv()
        except (EOFError, KeyboardInterrupt):
            return
        try:
            for part in measure(*args):
                theirs.send(part)
        except KeyboardInterrupt:
            return
        except BaseException as error:  # whatever happens is a figure too
            theirs.send({"failure": f"{type(error).__name__}: {error}"})
        theirs.send(None)


def _limit_memory() -> None:
    try:
        import resource
    except ImportError:  # not on Windows
        return
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    resource.setrlimit(resource.RLIMIT_AS, (int(MEMORY * total), resource.getrlimit(resource.RLIMIT_AS)[1]))
