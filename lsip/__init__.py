"""Linear programs with a continuum of constraints: declared like the mathematics, solved with proof.

Importing lsip costs next to nothing: its rooms are imported when the first of its names is used.
"""

from typing import TYPE_CHECKING, Any

from .version import __version__ as __version__

if TYPE_CHECKING:
    from .public import *  # noqa: F403
    from .public import __all__ as __all__


def __getattr__(name: str) -> Any:
    """A public name, on first use; from then on they are all here."""
    from importlib import import_module

    if name == "__all__" or not name.startswith("_"):
        public = vars(import_module("lsip.public"))
        found = {known: public[known] for known in ("__all__", *public.get("__all__", ())) if known in public}
        globals().update(found)
        if name in globals():
            return globals()[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """What users use; rooms that they need not know are left out."""
    return sorted([*__getattr__("__all__"), "__version__"])
