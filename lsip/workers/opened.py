"""Workers for as long as they are needed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import current_process

from ..errors import ModelError
from ..validation import shown, whole
from .pool import Alone, WorkerPool, Workers


def check_workers(workers: Workers) -> None:
    """Refuse what is no number of workers, and no cluster."""
    if workers is None:
        return
    if isinstance(workers, str):
        if workers == "ray" or workers.startswith("ray://"):
            return
        raise ModelError(f'`workers` is a number of processes, "ray", or "ray://host:port"; got {shown(workers)}.')
    whole("workers", workers, 1)


@contextmanager
def opened(workers: Workers) -> Iterator[WorkerPool | Alone | None]:
    """A pool of so many processes, or on Ray, that ends with this; None if none are asked for."""
    check_workers(workers)
    if workers is None or workers == 1 or current_process().daemon:  # a worker has none of its own
        yield None if workers is None else Alone()
        return
    if isinstance(workers, str):
        from .cluster import RayHost

        cluster = RayHost(workers)
        pool = WorkerPool(cluster, cluster.room)
    else:
        from .processes import Processes

        pool = WorkerPool(Processes(), workers)
    try:
        yield pool
    finally:
        pool.close()
