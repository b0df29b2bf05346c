"""Doors for models that were written with other tools."""
