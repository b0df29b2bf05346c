"""The language: index expressions, decision variables, and the constraints that they form."""

from . import arithmetic as arithmetic
from . import evaluation as evaluation
from .affine import Affine, Constraint, Variable
from .graph import Expression, Index
from .parameter import Parameter

__all__ = ["Affine", "Constraint", "Expression", "Index", "Parameter", "Variable"]
