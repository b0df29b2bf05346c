"""The exchange method: finite relaxations, separation, and what speeds them up, until the proof closes."""

from . import batch  # noqa: F401  (it registers what `Problem.solve_many` does)
from .clock import ClockTuning
from .conditioning import ConditioningTuning
from .counterpart import Counterpart, CounterpartTuning
from .decomposition import Decomposition, decompose
from .method import Exchange, exchange, solve
from .mixture import Atom, Extreme
from .sampling import SamplingTuning
from .tuning import DecompositionTuning, IntegerTuning, Tuning

__all__ = [
    "Atom",
    "ClockTuning",
    "ConditioningTuning",
    "Counterpart",
    "CounterpartTuning",
    "Decomposition",
    "DecompositionTuning",
    "Exchange",
    "Extreme",
    "IntegerTuning",
    "SamplingTuning",
    "Tuning",
    "decompose",
    "exchange",
    "solve",
]
