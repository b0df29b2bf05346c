"""Work in other processes: on the cores of this machine, or on a Ray cluster."""

from .cluster import import_ray, join, leave
from .opened import check_workers, opened
from .pool import Alone, Host, Shipped, WorkerLostError, WorkerPool, Workers, WorkerTuning, at_work, spread

__all__ = [
    "Alone",
    "Host",
    "Shipped",
    "WorkerLostError",
    "WorkerPool",
    "WorkerTuning",
    "Workers",
    "at_work",
    "check_workers",
    "import_ray",
    "join",
    "leave",
    "opened",
    "spread",
]
