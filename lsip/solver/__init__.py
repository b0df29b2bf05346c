"""The exchange method: finite relaxations, separation, and what speeds them up, until the proof closes."""

from .clock import ClockTuning
from .conditioning import ConditioningTuning
from .counterpart import Counterpart, CounterpartTuning
from .decomposition import Decomposition, decompose
from .method import Exchange, exchange, solve
from .mixture import Atom, Extreme
from .remez import RemezTuning
from .sampling import SamplingTuning
from .tuning import (
    BoxTuning,
    DecompositionTuning,
    IntegerTuning,
    MarginTuning,
    MasterTuning,
    NewtonTuning,
    SmallerTuning,
    Tuning,
    ZoomTuning,
)

__all__ = [
    "Atom",
    "BoxTuning",
    "ClockTuning",
    "ConditioningTuning",
    "Counterpart",
    "CounterpartTuning",
    "Decomposition",
    "DecompositionTuning",
    "Exchange",
    "Extreme",
    "IntegerTuning",
    "MarginTuning",
    "MasterTuning",
    "NewtonTuning",
    "RemezTuning",
    "SamplingTuning",
    "SmallerTuning",
    "Tuning",
    "ZoomTuning",
    "decompose",
    "exchange",
    "solve",
]
