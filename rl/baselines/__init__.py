"""What one would do without semi-infinite programming: the baselines that the paper compares with."""

from typing import TYPE_CHECKING, Any

from .discretise import Discretised, discretise

if TYPE_CHECKING:
    from .crpo import CRPO

__all__ = ["CRPO", "Discretised", "discretise"]


def __getattr__(name: str) -> Any:
    if name == "CRPO":  # needs torch, which planning does not
        from .crpo import CRPO

        return CRPO
    raise AttributeError(name)
