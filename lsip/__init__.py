"""Linear programs with a continuum of constraints: declared like the mathematics, solved with proof."""

from . import ambiguity, bases, catalogue, oracles, plotting, report  # noqa: F401  (each registers how it shows a solution)
from .ambiguity import chance, cvar, scenario_count, worst_expectation
from .domains import (
    Ball,
    Box,
    Budget,
    Domain,
    Ellipsoid,
    Finite,
    Intersection,
    Interval,
    Polytope,
    Product,
    Simplex,
    Union,
)
from .errors import (
    LSIPError,
    MissingExtraError,
    ModelError,
    NotAffineError,
    NotConvexError,
    OutOfTime,
    ProofError,
    UsageError,
)
from .expressions import (
    Constraint,
    Convex,
    DecisionRule,
    Expression,
    Index,
    Parameter,
    Region,
    Rule,
    Variable,
    norm1,
    norm_inf,
    psd,
    spline,
)
from .info import info
from .integrals import expectation, integral
from .model import Family, Problem, Program, Status, WorstViolation, forall, maximize, minimize
from .solution import ActivePoint, Effort, Iterate, Solution, load
from .solver import Counterpart, Decomposition, Exchange, Extreme, Tuning, decompose, exchange
from .solver.linsip import linsip
from .version import __version__ as __version__

__all__ = [
    "ActivePoint",
    "Ball",
    "Box",
    "Budget",
    "Constraint",
    "Convex",
    "Counterpart",
    "DecisionRule",
    "Decomposition",
    "Domain",
    "Effort",
    "Ellipsoid",
    "Exchange",
    "Expression",
    "Extreme",
    "Family",
    "Finite",
    "Index",
    "Intersection",
    "Interval",
    "Iterate",
    "LSIPError",
    "MissingExtraError",
    "ModelError",
    "NotAffineError",
    "NotConvexError",
    "OutOfTime",
    "Parameter",
    "Polytope",
    "Problem",
    "Product",
    "Program",
    "ProofError",
    "Region",
    "Rule",
    "Simplex",
    "Solution",
    "Status",
    "Tuning",
    "Union",
    "UsageError",
    "Variable",
    "WorstViolation",
    "ambiguity",
    "bases",
    "catalogue",
    "chance",
    "cvar",
    "decompose",
    "exchange",
    "expectation",
    "forall",
    "info",
    "integral",
    "linsip",
    "load",
    "maximize",
    "minimize",
    "norm1",
    "norm_inf",
    "oracles",
    "psd",
    "scenario_count",
    "spline",
    "worst_expectation",
]


def __dir__() -> list[str]:
    """What users use; rooms that they need not know are left out."""
    return sorted([*__all__, "__version__"])
