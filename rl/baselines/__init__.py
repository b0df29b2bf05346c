"""What one would do without semi-infinite programming: the baselines that the paper compares with."""

from .discretise import Discretised, discretise

__all__ = ["Discretised", "discretise"]
