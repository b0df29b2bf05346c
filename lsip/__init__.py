"""Linear programs with a continuum of constraints: declared like the mathematics, solved with proof."""

from . import bases, catalogue, oracles, plotting, report  # noqa: F401  (each registers how it shows a solution)
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
from .errors import LSIPError, MissingExtraError, ModelError, NotAffineError, OutOfTime, ProofError
from .expressions import Constraint, DecisionRule, Expression, Index, Parameter, Region, Rule, Variable, spline
from .info import info
from .model import Family, Problem, Program, Status, WorstViolation, forall, maximize, minimize
from .solution import ActivePoint, Iterate, Solution
from .solver import Counterpart, Decomposition, Exchange, Extreme, Tuning, decompose, exchange
from .solver.linsip import linsip
from .version import __version__ as __version__

__all__ = [
    "ActivePoint",
    "Ball",
    "Box",
    "Budget",
    "Constraint",
    "Counterpart",
    "DecisionRule",
    "Decomposition",
    "Domain",
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
    "Variable",
    "WorstViolation",
    "bases",
    "catalogue",
    "decompose",
    "exchange",
    "forall",
    "info",
    "linsip",
    "maximize",
    "minimize",
    "oracles",
    "spline",
]


def __dir__() -> list[str]:
    """What users use; rooms that they need not know are left out."""
    return sorted([*__all__, "__version__"])
