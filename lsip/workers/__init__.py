"""Work in other processes: on the cores of this machine, or on a Ray cluster."""

from .cluster import import_ray, join, leave
from .pool import Alone, Host, Pool, Shipped, WorkerLostError, Workers, at_work, check_workers, opened, spread

__all__ = [
    "Alone",
    "Host",
    "Pool",
    "Shipped",
    "WorkerLostError",
    "Workers",
    "at_work",
    "check_workers",
    "import_ray",
    "join",
    "leave",
    "opened",
    "spread",
]
