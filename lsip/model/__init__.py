"""The model: what a person declares, and the program that solvers see of it."""

from .callables import Family
from .coefficients import largest_coefficient, steepest_coefficient
from .constraints import forall, maximize, minimize
from .discretisation import FiniteLP, FiniteSolution
from .families import RowFamily
from .method import Answer, Method
from .problem import Problem
from .program import Program
from .statements import ForAll, Objective
from .status import Status
from .violation import FamilyViolation
from .worst_violation import WorstViolation

__all__ = [
    "Answer",
    "Family",
    "FamilyViolation",
    "FiniteLP",
    "FiniteSolution",
    "ForAll",
    "Method",
    "Objective",
    "Problem",
    "Program",
    "RowFamily",
    "Status",
    "WorstViolation",
    "forall",
    "largest_coefficient",
    "maximize",
    "minimize",
    "steepest_coefficient",
]
