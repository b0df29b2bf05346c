"""Linear programs with a continuum of constraints: declared like the mathematics, solved with proof.

Importing lsip costs next to nothing: a room is imported when the first of its names is used.
"""

from functools import cache
from typing import TYPE_CHECKING, Any

from .version import __version__ as __version__

if TYPE_CHECKING:
    from .public import *  # noqa: F403
    from .public import __all__ as __all__


def __getattr__(name: str) -> Any:
    """A public name, on first use, from its own room; from then on it is here."""
    from importlib import import_module

    if name == "__all__":
        globals()[name] = import_module("lsip.public").__all__
    elif not name.startswith("_"):
        room, attribute = _homes().get(name, ("", None))
        if room:
            found = import_module(room, __name__)
            globals()[name] = found if attribute is None else getattr(found, attribute)
    if name in globals():
        return globals()[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


@cache
def _homes() -> dict[str, tuple[str, str | None]]:
    """The room of every public name, and what it is called there, as the imports of `public.py` say."""
    import ast
    from pathlib import Path

    homes: dict[str, tuple[str, str | None]] = {}
    for node in ast.parse(Path(__file__).with_name("public.py").read_bytes()).body:
        if isinstance(node, ast.ImportFrom):
            for name in node.names:
                home = (f".{name.name}", None) if node.module is None else (f".{node.module}", name.name)
                homes[name.asname or name.name] = home
    return homes


def __dir__() -> list[str]:
    """What users use; rooms that they need not know are left out."""
    return sorted([*__getattr__("__all__"), "__version__"])
