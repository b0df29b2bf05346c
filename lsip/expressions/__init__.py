"""The language: index expressions, decision variables, and the constraints that they form."""

from . import arithmetic, bessel, evaluation, pickling, products, removable, special, steps  # noqa: F401  (each registers its rules)
from .affine import Affine, Constraint, Variable
from .graph import Expression, Index
from .parameter import Parameter
from .region import Region
from .splines import spline

__all__ = ["Affine", "Constraint", "Expression", "Index", "Parameter", "Region", "Variable", "spline"]
