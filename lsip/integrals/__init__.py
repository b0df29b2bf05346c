"""Integrals and expectations over index sets, with coefficients that are enclosed."""

from .integral import expectation, integral

__all__ = ["expectation", "integral"]
