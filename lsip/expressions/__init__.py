"""The language: index expressions, decision variables, and the constraints that they form."""

from . import (  # noqa: F401  (each registers its rules)
    arithmetic,
    bessel,
    divided_differences,
    evaluation,
    pickling,
    products,
    removable,
    special,
    steps,
    structured,
)
from .affine import Affine, Constraint, Variable
from .arithmetic import norm1, norm_inf, sum_squares
from .convex import Convex
from .convex_rows import psd
from .decision_rule import DecisionRule
from .derivative import derivative, gradient
from .graph import Expression, Index
from .parameter import Parameter
from .parametric_region import ParametricRegion
from .region import Region
from .rule import Rule
from .splines import spline
from .substitution import substituted

__all__ = [
    "Affine",
    "Constraint",
    "Convex",
    "DecisionRule",
    "Expression",
    "Index",
    "Parameter",
    "ParametricRegion",
    "Region",
    "Rule",
    "Variable",
    "derivative",
    "gradient",
    "norm1",
    "norm_inf",
    "psd",
    "spline",
    "substituted",
    "sum_squares",
]
