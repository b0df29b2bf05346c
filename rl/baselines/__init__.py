"""What one would do without semi-infinite programming: the baselines that the paper compares with."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

import lsip

from .discretise import Discretised, discretise

if TYPE_CHECKING:
    from .crpo import CRPO, FixedGrid

__all__ = ["CRPO", "Discretised", "FixedGrid", "discretise"]


def __getattr__(name: str) -> Any:
    if name in ("CRPO", "FixedGrid"):  # need torch, which planning does not
        try:
            return getattr(import_module(".crpo", __name__), name)
        except ModuleNotFoundError as error:
            if error.name != "torch":
                raise
            raise lsip.MissingExtraError(f"rl.baselines.{name} needs torch: pip install 'lsip[rl]'.") from error
    raise AttributeError(f"module 'rl.baselines' has no attribute {name!r}")
