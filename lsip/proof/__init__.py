"""Proofs: what a certificate says, how it is made, and how it is checked."""

from .certificate import Certificate, DataAssumption, RegionAssumption, Support, TrustAssumption
from .gap import closed, relative_gap

__all__ = ["Certificate", "DataAssumption", "RegionAssumption", "Support", "TrustAssumption", "closed", "relative_gap"]
