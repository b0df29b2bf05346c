"""What outer rooms do for inner ones: they register it when they are imported, so that no inner room imports them."""

from __future__ import annotations

from importlib import import_module
from typing import TypeVar

T = TypeVar("T")


class Registered(dict[str, T]):
    """Functions by name, each with the room that registers it, which is imported when the function is first needed."""

    def __init__(self, rooms: dict[str, str]) -> None:
        super().__init__()
        self._rooms = rooms

    def __missing__(self, name: str) -> T:
        import_module(f"{__package__}.{self._rooms[name]}")
        return dict(self)[name]  # not self[name], which would come here again
