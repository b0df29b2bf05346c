"""Workers that are processes of this machine, each with a pipe of its own.

They are spawned, not forked: a process with threads, as those of HiGHS and of the kernel, cannot be forked safely. They
end with whoever started them, however that ends: a thread of each waits for it.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import threading
from collections.abc import Callable, Sequence
from multiprocessing import connection
from typing import Any

from ..errors import ModelError
from .pool import Shipped, WorkerLostError

UNGUARDED = 93  # the exit code of a process that was started while a script was imported


class Process:
    """A process, and the pipe to it."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, far = context.Pipe()
        self.process = context.Process(target=serve, args=(far,), daemon=True)
        self.process.start()
        far.close()
        self.known: set[int] = set()  # functions that it has


class Processes:
    """Where workers are processes."""

    def __init__(self) -> None:
        if getattr(multiprocessing.current_process(), "_inheriting", False):  # a worker that imports the script
            os._exit(UNGUARDED)

    def start(self, function: Shipped) -> Process:
        worker = Process()
        try:
            self.ask(worker, function)
        except ModelError:
            self.stop(worker)
            raise
        return worker

    def ask(self, worker: Process, function: Shipped, *items: object) -> None:
        new = None if function.id in worker.known else function.function
        worker.known.add(function.id)
        try:
            worker.pipe.send((function.id, new, items))
        except ConnectionError:
            pass  # it is gone, which its answer says
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise ModelError(
                f"Workers are other processes, and what they need cannot be sent there: {error}. Define functions with "
                "`def` at the top of a module (no lambda, none inside of another function), or leave out `workers`."
            ) from None

    def answered(self, workers: Sequence[Process], seconds: float) -> list[Process]:
        ready = connection.wait([w.pipe for w in workers], seconds)
        return [w for w in workers if w.pipe in ready]

    def answer(self, worker: Process) -> Any:
        try:
            error, result = worker.pipe.recv()
        except (EOFError, OSError):
            worker.process.join(1.0)
            code = worker.process.exitcode
            if code == UNGUARDED:
                raise ModelError(
                    "Workers import the script that starts them. Put what it runs under `if __name__ == "
                    '"__main__":`, so that they do not run it again.'
                ) from None
            raise WorkerLostError(f"A worker ended with the code {code}.") from None
        if error is not None:
            raise error
        return result

    def stop(self, worker: Process) -> None:
        worker.pipe.close()
        worker.process.kill()
        worker.process.join()
        worker.process.close()

    def close(self) -> None:
        pass


def serve(pipe: connection.Connection) -> None:
    """What a worker does: wait for functions and items, until nobody is left to ask."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for whoever started it
    threading.Thread(target=_end_with_parent, daemon=True).start()
    known: dict[int, Callable[[Any], Any]] = {}
    while True:
        try:
            number, new, items = pipe.recv()
        except (EOFError, OSError):
            return
        except Exception as error:  # of what is not there in this process
            _reply(pipe, _unreadable(error), None)
            continue
        try:
            known.setdefault(number, new)
            _reply(pipe, None, known[number](*items) if items else None)
        except Exception as error:
            _reply(pipe, error, None)


def _unreadable(error: Exception) -> ModelError:
    return ModelError(
        f"A worker could not read what it was sent: {error}. Functions must be in a module that other processes can "
        "import, which what is typed into a notebook or a prompt is not."
    )


def _reply(pipe: connection.Connection, error: Exception | None, result: object) -> None:
    try:
        pipe.send((error, result))
    except (BrokenPipeError, ConnectionError):
        os._exit(0)
    except Exception as unsent:  # an error or a result that cannot be sent
        said = f"{type(error).__name__}: {error}" if error is not None else f"{type(unsent).__name__}: {unsent}"
        pipe.send((ModelError(f"What a worker found cannot be sent back: {said}"), None))


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(0)
