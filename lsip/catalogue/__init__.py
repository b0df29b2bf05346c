"""Linear semi-infinite programs with known optima, as declared models: for tests, benchmarks, docs and the curious."""

from . import (  # noqa: F401  (each import registers its problems)
    chebyshev,
    cutest,
    extremal,
    filters,
    kissing,
    large,
    moments,
    multivariate,
    networks,
    one_sided,
    pathological,
    pde,
    robust,
    shapes,
    transport,
)
from .entry import Entry
from .lookup import entries, get, names, search

__all__ = ["Entry", "entries", "get", "names", "search"]
