"""The Pyomo door: importing this module registers `SolverFactory("lsip")`."""

from .results import NoSolutionError
from .solver import LSIPSolver, register

register()

__all__ = ["LSIPSolver", "NoSolutionError"]
