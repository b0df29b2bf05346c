"""An average of the iterates: it lies further inside, where cuts are deeper."""

from __future__ import annotations

from ..oracles import Separation
from ..proof.certificate import Array
from .certification import add_cuts, ask_oracles
from .relaxation import Search
from .state import End, Proposal


class AveragedIterate:
    """Adds cuts at the average as well."""

    def __init__(self) -> None:
        self.trail: Array | None = None

    def __call__(self, search: Search, separations: list[Separation]) -> End | None:
        x = search.state.x
        self.trail = 0.5 * (x + (x if self.trail is None else self.trail))
        add_cuts(search, ask_oracles(search, Proposal(self.trail)))
        return None
