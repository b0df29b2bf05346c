"""Finite linear programs that grow by rows: one solver a file."""

from .base import LicenceError, Master, MasterError, MasterResult
from .registry import open_master

__all__ = ["LicenceError", "Master", "MasterError", "MasterResult", "open_master"]
