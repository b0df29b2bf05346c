"""Linear programs with a continuum of constraints: declared like the mathematics, solved with proof."""

from . import catalogue, oracles
from .decompose import Decomposition, Extreme, decompose
from .domains import Ball, Box, Budget, Domain, Finite, Interval, Polytope, Product, Simplex, Union
from .errors import LSIPError, MissingExtraError, ModelError, NotAffineError, ProofError
from .exchange import Exchange, exchange
from .expressions import Constraint, Expression, Index, Variable
from .family import Family
from .judge import WorstViolation
from .linsip import linsip
from .problem import Problem, forall, maximize, minimize
from .program import Program
from .solution import ActivePoint, Iterate, Solution
from .status import Status

__version__ = "0.1.0"

__all__ = [
    "ActivePoint",
    "Ball",
    "Box",
    "Budget",
    "Constraint",
    "Decomposition",
    "Domain",
    "Exchange",
    "Expression",
    "Extreme",
    "Family",
    "Finite",
    "Index",
    "Interval",
    "Iterate",
    "LSIPError",
    "MissingExtraError",
    "ModelError",
    "NotAffineError",
    "Polytope",
    "Problem",
    "Product",
    "Program",
    "ProofError",
    "Simplex",
    "Solution",
    "Status",
    "Union",
    "Variable",
    "WorstViolation",
    "catalogue",
    "decompose",
    "exchange",
    "forall",
    "linsip",
    "maximize",
    "minimize",
    "oracles",
]
