"""Convex cones for the finite part of a program: b - A x lies in a product of them. One cone a file."""

from .base import Cone
from .exponential import Exponential
from .power import Power
from .rows import ConeRows, grouped
from .second_order import SecondOrder
from .semidefinite import Semidefinite

__all__ = ["Cone", "ConeRows", "Exponential", "Power", "SecondOrder", "Semidefinite", "grouped"]
