"""Workers that are Ray actors: on the cores of this machine, or of a cluster.

Ray executes whatever code it is sent, and asks nobody who they are. A Ray that this process already uses is joined;
without one, and without an address, one is started on this machine, which listens on 127.0.0.1 alone and ends with the
last one who uses it.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from types import ModuleType
from typing import Any

from ..errors import MissingExtraError, ModelError
from .pool import Shipped, Worker, WorkerLostError

log = logging.getLogger(__name__)
LOOPBACK = "127.0.0.1"
NO_CLUSTER = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"  # "0" says, on any system, that there are no other machines
_users: set[object] = set()  # those on a Ray that this module has started; the last one shuts it down


class RayActor:
    """An actor, and the answer that it owes."""

    def __init__(self, handle: Worker) -> None:
        self.handle, self.owed = handle, None
        self.known: set[int] = set()  # functions that it has


class RayHost:
    """Where workers are Ray actors."""

    def __init__(self, address: str = "ray", cpus: float = 1.0, size: int | None = None) -> None:
        self._ray = import_ray()
        join(self._ray, self, None if address == "ray" else address, size)
        self._class = self._ray.remote(num_cpus=cpus, max_restarts=0)(Remote)
        self.room = max(int(self._ray.cluster_resources().get("CPU", 1.0) // cpus), 1)
        self._sent: dict[int, Any] = {}  # functions that Ray holds

    def start(self, function: Shipped) -> RayActor:
        worker = RayActor(self._class.remote())
        self.ask(worker, function)
        return worker

    def ask(self, worker: RayActor, function: Shipped, *items: object) -> None:
        if function.id not in self._sent:
            try:
                self._sent[function.id] = self._ray.put(function.function)
            except (TypeError, AttributeError) as error:
                what = str(error).strip().splitlines()[0]
                raise ModelError(f"What workers need cannot be sent to Ray: {what}. Leave out `workers`.") from None
        new = None if function.id in worker.known else self._sent[function.id]
        worker.known.add(function.id)
        worker.owed = worker.handle.work.remote(function.id, new, *items)

    def answered(self, workers: Sequence[RayActor], seconds: float) -> list[RayActor]:
        owed = {w.owed: w for w in workers}
        ready, _ = self._ray.wait(list(owed), num_returns=1, timeout=seconds)
        return [owed[answer] for answer in ready]

    def answer(self, worker: RayActor) -> Any:
        errors = self._ray.exceptions
        try:
            return self._ray.get(worker.owed)
        except errors.RayTaskError as error:
            raise error.cause from None
        except errors.RayError as error:
            raise WorkerLostError(str(error).strip().splitlines()[0]) from error

    def stop(self, worker: RayActor) -> None:
        if self._ray.is_initialized():
            self._ray.kill(worker.handle)

    def close(self) -> None:
        leave(self._ray, self)


class Remote:
    """What runs in an actor."""

    def __init__(self) -> None:
        self.known: dict[int, Callable[[Any], Any]] = {}

    def work(self, number: int, new: Callable[[Any], Any] | None, *items: object) -> Any:
        """The result for one item; without any, the function is only taken over."""
        if new is not None:
            self.known[number] = new
        return self.known[number](*items) if items else None


def import_ray() -> ModuleType:
    """Ray, or a MissingExtraError."""
    try:
        import ray
        import ray.exceptions
    except ModuleNotFoundError as error:
        if error.name != "ray":
            raise
        raise MissingExtraError("workers=\"ray\" needs Ray: pip install 'lsip[ray]'.") from error
    return ray


def join(ray: ModuleType, user: object, address: str | None = None, processors: int | None = None) -> None:
    """Use a Ray: the one that there is, that at an address, or one that is started here with so many processors."""
    if ray.is_initialized():
        if _users:
            _users.add(user)
        return
    address = address or os.environ.get("RAY_ADDRESS")  # the latter is how Ray tells its jobs where they are
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR, "address": address}
    if address is None:
        options |= {"address": "local", "include_dashboard": False, "_node_ip_address": LOOPBACK}
        if processors is not None:
            options["num_cpus"] = processors
    try:
        with nullcontext() if address else _loopback():
            ray.init(**options)
    except (ConnectionError, ValueError, RuntimeError) as error:
        what = f"The Ray at {address!r} cannot be joined" if address else "Ray cannot be started"
        raise ModelError(f"{what}: {error}") from error
    _users.add(user)
    reached = {node["NodeManagerAddress"] for node in ray.nodes()}
    if address is None and reached != {LOOPBACK}:
        log.warning("Ray listens on %s, not on this machine alone: keep others from its ports.", ", ".join(reached))


def leave(ray: ModuleType, user: object) -> None:
    """End a Ray that was started here, with the last one who uses it."""
    if user in _users:
        _users.discard(user)
        if not _users:
            ray.shutdown()


@contextmanager
def _loopback() -> Iterator[None]:
    """While Ray is started: let it listen to this machine alone.

    By default its servers (GCS, raylet, object manager, every worker, the driver) listen on all interfaces. They listen
    on 127.0.0.1 alone if that is the address of the node; but Ray replaces 127.0.0.1 by an address that others can
    reach, unless it was told that there are no other machines. It reads that from the environment when it is imported,
    which may have been long ago.
    """
    from ray._private import ray_constants

    before, known = os.environ.get(NO_CLUSTER), getattr(ray_constants, "ENABLE_RAY_CLUSTER", True)
    os.environ[NO_CLUSTER], ray_constants.ENABLE_RAY_CLUSTER = "0", False
    try:
        yield
    finally:
        ray_constants.ENABLE_RAY_CLUSTER = known
        if before is None:
            del os.environ[NO_CLUSTER]
        else:
            os.environ[NO_CLUSTER] = before
