"""The corpus of models that every version has to answer as well as the one before: `CLASS/NAME` gives a model.

Limits are numbers of iterations and boxes, so that an answer does not depend on how busy the machine is.
"""

from functools import cache

from . import doors, written_for  # noqa: F401 - add to the drawn ones
from .drawn import DRAWN
from .grown import GROWN
from .items import Item
from .stored import stored

__all__ = ["Item", "corpus"]


@cache
def corpus() -> dict[str, Item]:
    """All models, by name."""
    return {**stored(), **DRAWN, **GROWN}
