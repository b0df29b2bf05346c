"""The CVXPY door: a CVXPY model, with constraints that hold for every index, solved with proof."""

from .forall import ForAll, forall
from .index import Index
from .problem import Problem
from .rule import Rule
from .solution import ConvexSolution, ModelSolution

__all__ = ["ConvexSolution", "ForAll", "Index", "ModelSolution", "Problem", "Rule", "forall"]
