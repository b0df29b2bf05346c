"""Models of other tools' documentation and tests, with what was published of them: one file a kind of source."""

from . import arrays, chebfun, codes, convex, filters, polynomials, robust, rules, sets, sollya
from .as_read import BY_HAND, READ
from .claims import MODELS, Claim, Model

__all__ = [
    "BY_HAND",
    "MODELS",
    "READ",
    "Claim",
    "Model",
    "arrays",
    "chebfun",
    "codes",
    "convex",
    "filters",
    "polynomials",
    "robust",
    "rules",
    "sets",
    "sollya",
]
