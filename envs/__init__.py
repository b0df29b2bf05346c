"""Environments with a continuum of cost constraints, one per file."""
