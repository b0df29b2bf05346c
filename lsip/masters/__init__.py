"""Finite linear programs that grow by rows: one solver a file."""

from .base import Master, MasterResult, open_master
from .conditioning import Conditioning

__all__ = ["Conditioning", "Master", "MasterResult", "open_master"]
