"""Index sets Y: the sets over which a constraint holds for every point."""

from .ball import Ball
from .base import Cell, Domain
from .box import Box
from .budget import Budget
from .ellipsoid import Ellipsoid
from .finite import Finite
from .intersection import Intersection
from .interval import Interval
from .points import as_points
from .polytope import Polytope
from .product import Product
from .simplex import Simplex
from .union import Union

__all__ = [
    "Ball",
    "Box",
    "Budget",
    "Cell",
    "Domain",
    "Ellipsoid",
    "Finite",
    "Intersection",
    "Interval",
    "Polytope",
    "Product",
    "Simplex",
    "Union",
    "as_points",
]
