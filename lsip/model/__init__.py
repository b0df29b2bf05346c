"""The model: what a person declares, and the program that solvers see of it."""

from .callables import Family
from .discretisation import FiniteLP, FiniteSolution
from .families import FamilyViolation, RowFamily
from .method import Answer, Method
from .problem import Problem, forall, maximize, minimize
from .program import Program
from .statements import ForAll, Objective
from .status import Status
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
    "maximize",
    "minimize",
]
