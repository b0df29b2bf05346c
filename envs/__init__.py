"""Environments with a continuum of cost constraints, one per file."""

from .drone import drone
from .load_balancing import load_balancing
from .sewage import sewage

__all__ = ["drone", "load_balancing", "sewage"]
