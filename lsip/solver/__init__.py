"""The exchange method: finite relaxations, separation, and what speeds them up, until the proof closes."""

from . import batch  # noqa: F401  (it registers what `Problem.solve_many` does)
from .counterpart import CounterpartTuning
from .decomposition import Decomposition, decompose
from .method import Counterpart, Exchange, exchange, solve
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
