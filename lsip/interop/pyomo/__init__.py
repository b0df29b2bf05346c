"""The Pyomo door: importing this module registers `SolverFactory("lsip")`."""

from .model import read
from .results import NoSolutionError
from .solver import LSIPSolver, register, solved

register()

__all__ = ["LSIPSolver", "NoSolutionError", "read", "solved"]
