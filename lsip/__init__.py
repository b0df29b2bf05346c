"""Linear programs with a continuum of constraints: declared like the mathematics, solved with proof.

Importing lsip costs next to nothing: a room is imported when the first of its names is used.
"""

from typing import TYPE_CHECKING, Any

from .version import __version__ as __version__

if TYPE_CHECKING:
    from .public import *  # noqa: F403
    from .public import __all__ as __all__


_MODULES = ("ambiguity", "bases", "catalogue", "oracles", "plotting", "report")
_ROOMS = {  # where the other names of `public.py` are, which imports all of them: to find a name there takes longer
    "about": "info",
    "ambiguity": "chance cvar scenario_count worst_expectation",
    "domains": "Ball Box Budget Domain Ellipsoid Finite Intersection Interval Polytope Product Simplex Union",
    "errors": "LSIPError MissingExtraError ModelError NotAffineError NotConvexError OutOfTime ProofError RoundingError "
    "UsageError",
    "expressions": "Constraint Convex DecisionRule Expression Index Parameter Region Rule Variable derivative gradient "
    "norm1 norm_inf psd spline sum_squares",
    "integrals": "expectation integral",
    "model": "Family Problem Program Status WorstViolation forall maximize minimize",
    "solution": "ActivePoint Effort Iterate Solution load",
    "solver": "Counterpart Decomposition Exchange Extreme Tuning decompose exchange",
    "solver.linsip": "linsip",
}


def __getattr__(name: str) -> Any:
    """A public name, on first use, from its own room; from then on it is here."""
    from importlib import import_module

    if name == "__all__":
        globals()[name] = import_module("lsip.public").__all__
    elif not name.startswith("_"):
        if name in _MODULES:
            globals()[name] = import_module(f".{name}", __name__)
        for room in (room for room, names in _ROOMS.items() if name in names.split()):
            globals()[name] = getattr(import_module(f".{room}", __name__), name)
        if name not in globals() and name in (public := import_module("lsip.public")).__all__:
            globals()[name] = getattr(public, name)
    if name in globals():
        return globals()[name]
    from .expressions.habits import NAMES, pointer

    raise AttributeError(f"module {__name__!r} has no attribute {name!r}.{pointer(NAMES, name)}")


def __dir__() -> list[str]:
    """What users use; rooms that they need not know are left out."""
    return sorted([*__getattr__("__all__"), "__version__"])
