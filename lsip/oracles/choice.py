"""The oracles by name, whose bounds are proofs, and which one suits a family of constraints."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..domains import Domain
from ..errors import ModelError
from ..validation import checked, shown
from .adaptive_search import AdaptiveSearch
from .base import Oracle, Rows, is_instant, visible
from .bounders import closed_form
from .branch_and_bound import BranchAndBound
from .grid import Grid
from .multistart import Multistart
from .partition import first_work
from .projected_subgradient import ProjectedSubgradient
from .random_search import RandomSearch
from .support_function import SupportFunction

ORACLES: dict[str, type] = {
    "adaptive": AdaptiveSearch,
    "branch-and-bound": BranchAndBound,
    "grid": Grid,
    "multistart": Multistart,
    "random": RandomSearch,
    "subgradient": ProjectedSubgradient,
    "support": SupportFunction,
}
# Finite bounds of these are outward rounded, and lsip's own proofs.
PROVERS: dict[str, type] = {kind.__name__: kind for kind in (BranchAndBound, SupportFunction, Grid)}


def open_oracle(name: str) -> Oracle:
    """The oracle of that name, with its usual numbers.

    >>> open_oracle("random")
    RandomSearch(points=100)
    """
    if name not in ORACLES:
        raise ModelError(
            f"There is no oracle called {name!r}; choose from {', '.join(ORACLES)}, or give one of lsip.oracles with "
            "numbers of your own, as in lsip.oracles.Grid(points=1000)."
        )
    made: Oracle = ORACLES[name]()
    return made


@dataclass(frozen=True)
class ChoiceTuning:
    """When a family is left to a search that proves nothing.

    Parameters
    ----------
    most_first_work
        Numbers that the first boxes of an index set may take for every coefficient, if a branch-and-bound is to be
        asked in every iteration. With more, local searches from a few hundred points are cheaper: they find what
        violates, and boxes only prove at the end that nothing does. Boxes with six coordinates take 1792, and are
        faster than searches; with seven, 4608, and both take as long.
    most_searched
        Up to so many, boxes of a black box can be sampled until they are resolved.
    """

    most_first_work: int = 2500
    most_searched: int = 3


TUNING = ChoiceTuning()


@checked(domain=Domain | None)
def prover(family: Rows, domain: Domain | None = None) -> Oracle | None:
    """The oracle that can prove something about the family, over its domain or a part of it; None if there is none."""
    if not hasattr(family, "enclosable"):
        raise ModelError(f"A family of rows is needed, such as problem.compile().families[0]; got {shown(family)}.")
    domain = family.domain if domain is None else domain
    if family.linear is not None and domain.support(np.zeros((1, domain.dim))) is not None:
        return SupportFunction()
    return BranchAndBound() if family.enclosable else None


def pick_oracle(family: Rows) -> Oracle:
    """The default oracle of a family: one that proves bounds if that is possible and cheap, else a search."""
    chosen = prover(family)
    if chosen is None and dimension(visible(family)) <= TUNING.most_searched:
        return AdaptiveSearch()
    if chosen is None:
        return Multistart()
    cheap = is_instant(chosen) or closed_form(family) or _first_work(family) <= TUNING.most_first_work
    return chosen if cheap else Multistart()


def _first_work(family: Rows) -> int:
    """What the first boxes cost, of the cell where they cost most."""
    return max((first_work(family, cell) for cell in visible(family).flat_cells()), default=0)


def dimension(domain: Domain) -> int:
    """How many coordinates a branch-and-bound splits."""
    return max(cell.lower.shape[1] for cell in domain.flat_cells())


def is_prover(oracle: Oracle) -> bool:
    """Whether finite bounds of this oracle are lsip's own proofs. A subclass may do as it likes, and does not count."""
    return PROVERS.get(type(oracle).__name__) is type(oracle)
