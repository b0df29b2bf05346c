"""Linear semi-infinite programs with known optima, as declared models: for tests, benchmarks, docs and the curious."""

from . import (  # noqa: F401  (each import registers its problems, in this order)
    one_sided,
    cutest,
    chebyshev,
    multivariate,
    filters,
    extremal,
    kissing,
    moments,
    transport,
    robust,
    pde,
    shapes,
    large,
    networks,
    pathological,
)
from .entry import Entry
from .lookup import entries, get, names, search

__all__ = ["Entry", "entries", "get", "names", "search"]
