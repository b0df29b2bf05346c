"""Enclosures of tapes over boxes, compiled; NumPy is the reference, and does them where this is not built."""
