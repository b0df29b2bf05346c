"""Environments with a continuum of cost constraints, one per file."""

from .sewage import sewage

__all__ = ["sewage"]
