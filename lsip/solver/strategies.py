"""The strategies of the linear exchange: which are called after every iteration, and in which order.

Each is in a file of its own. It is made once a solve, may remember what it needs, and is called with the running solve
(`relaxation.Search`) and what was found at the current point. It may add cuts or propose a point, by `add_cuts` and
`attempt` of `certification`, and returns the end, if it leads there.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..oracles import Oracle, is_instant
from .averaged_iterate import AveragedIterate
from .face_centre import OptimalFaceCentre
from .linear_master import LinearMaster
from .newton import Newton
from .options import Options
from .relaxation import Strategy


def strategies(
    held: LinearMaster, oracles: Sequence[Oracle], options: Options, flat: OptimalFaceCentre
) -> tuple[Strategy, ...]:
    """Those that suit a program."""
    found: list[Strategy] = [AveragedIterate()] if all(is_instant(oracle) for oracle in oracles) else []
    found.append(flat)
    if options.polish:
        found.append(Newton(held, options.tuning))
    return tuple(found)
