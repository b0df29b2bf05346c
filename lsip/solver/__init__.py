"""The exchange method: finite relaxations, separation, and what speeds them up, until the proof closes."""

from .counterpart import Counterpart, CounterpartTuning
from .decomposition import Decomposition, decompose
from .method import Exchange, exchange, solve
from .mixture import Atom, Extreme
from .tuning import Tuning

__all__ = [
    "Atom",
    "Counterpart",
    "CounterpartTuning",
    "Decomposition",
    "Exchange",
    "Extreme",
    "Tuning",
    "decompose",
    "exchange",
    "solve",
]
