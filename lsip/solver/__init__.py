"""The exchange method: finite relaxations, separation, and what speeds them up, until the proof closes."""

from .decomposition import Atom, Decomposition, Extreme, Step, decompose
from .exchange import Exchange, exchange, solve
from .tuning import Tuning

__all__ = ["Atom", "Decomposition", "Exchange", "Extreme", "Step", "Tuning", "decompose", "exchange", "solve"]
