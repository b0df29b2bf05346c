"""Enclosures of tapes over boxes, compiled; NumPy has the same, is the reference, and does it where this is not built."""
