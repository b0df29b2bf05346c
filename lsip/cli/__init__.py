"""The command line: `lsip demo`, `lsip solve model.py`, `lsip catalogue`, `lsip bench`, and what other packages add."""

from .entry import main

__all__ = ["main"]
