"""What a person reads, plots and saves after a solve; bounds are rounded to the side on which they stay true."""

from .active import ActivePoint
from .load import load
from .outward_rounding import above, below
from .result import Effort, Iterate
from .solution import Solution
from .verified import limited

__all__ = ["ActivePoint", "Effort", "Iterate", "Solution", "above", "below", "limited", "load"]
