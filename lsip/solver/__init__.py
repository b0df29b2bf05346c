"""The exchange method: finite relaxations, separation, and what speeds them up, until the proof closes."""

from .decomposition import Atom, Decomposition, Extreme, Step, decompose
from .driver import Exchange, exchange, solve

__all__ = ["Atom", "Decomposition", "Exchange", "Extreme", "Step", "decompose", "exchange", "solve"]
