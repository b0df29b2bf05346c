"""Reductions: programs that are easier to solve, and the way back to what was written."""
