"""What a person reads, plots and saves after a solve; bounds are rounded to the side on which they stay true."""

from . import frames, notebook  # noqa: F401  (each registers what it shows)
from .effort import Effort
from .opening import load
from .rounding import above, below
from .solution import ActivePoint, Iterate, Solution

__all__ = ["ActivePoint", "Effort", "Iterate", "Solution", "above", "below", "load"]
