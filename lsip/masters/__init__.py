"""Finite linear programs that grow by rows: one solver a file."""

from .base import LicenceError, Master, MasterError, MasterFactory, MasterResult
from .registry import master_name, open_master

__all__ = ["LicenceError", "Master", "MasterError", "MasterFactory", "MasterResult", "master_name", "open_master"]
