"""What outer rooms do for inner ones: they register it when they are imported, so that no inner room imports them."""

from __future__ import annotations

import sys
from typing import TypeVar

T = TypeVar("T")


class Registered(dict[str, T]):
    """Functions by name. Where one is missing because inner rooms were imported alone, all rooms are, then."""

    def __missing__(self, name: str) -> T:
        dir(sys.modules[__package__])  # the package knows its names when it has imported its rooms
        if name not in self:
            raise KeyError(name)
        return self[name]
