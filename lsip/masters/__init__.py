"""Finite linear programs that grow by rows: one solver a file."""

from .base import LicenceError, Master, MasterError, MasterResult, open_master
from .conditioning import Conditioning

__all__ = ["Conditioning", "LicenceError", "Master", "MasterError", "MasterResult", "open_master"]
