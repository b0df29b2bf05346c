"""What the theorems assume of the index set and of the policies."""

from __future__ import annotations

import math
from dataclasses import dataclass

from lsip import ModelError
from lsip.validation import double, shown

from .arguments import count, positive


@dataclass(frozen=True)
class IndexSet:
    """The index set Y, and how c_y and u_y vary over it (Assumption_Lipschitz, Assumption_regular_maxima)."""

    dimension: int  # m
    diameter: float  # diam(Y) in the sup norm: the longest side of the bounding box
    lipschitz: float  # L_y: of every c_y(s, a) and of u_y, in the sup norm
    volume: float | None = None  # vol(Y); None for the most that it can be, diam(Y)^m
    interior: float = math.inf  # epsilon_0: a maximiser lies at least so deep in Y; inf for "deep enough"

    def __post_init__(self) -> None:
        count("dimension", self.dimension)
        positive("diameter", self.diameter)
        positive("lipschitz", self.lipschitz)
        if double(self.interior) != math.inf:
            positive("interior", self.interior)
        if self.volume is not None:
            positive("volume", self.volume)
            if math.log(self.volume) > self.dimension * math.log(self.diameter) + 1e-9:
                raise ModelError(
                    f"`volume` must be at most diameter ** dimension, since Y fits in a box of that size; got "
                    f"{self.volume:g} for {self.diameter:g} ** {self.dimension}. Give the diameter in the sup norm."
                )

    @property
    def log_volume(self) -> float:
        """The logarithm of vol(Y), or of its bound diam(Y)^m."""
        return self.dimension * math.log(self.diameter) if self.volume is None else math.log(self.volume)


@dataclass(frozen=True)
class PolicyClass:
    """The constants of the assumptions on the policy class and on the natural gradient of SI-CPO."""

    actions: int  # |A|; the first policy is uniform, so that its divergence from pi* is at most log |A|
    lipschitz: float  # L_pi: of log pi_theta(a | s) in theta
    smoothness: float  # beta: Lipschitz constant of the gradient of log pi_theta(a | s)
    fisher: float  # mu_F: least eigenvalue of the Fisher information
    weight: float  # W: largest norm of the weights of the compatible approximation
    bias: float = 0.0  # epsilon_bias: mean squared error of the best weights
    mismatch: float = 1.0  # sup nu*/nu_0, at least 1

    def __post_init__(self) -> None:
        count("actions", self.actions)
        for name in ("lipschitz", "fisher", "weight"):
            positive(name, getattr(self, name))
        for name, least in (("smoothness", 0.0), ("bias", 0.0), ("mismatch", 1.0)):
            value = getattr(self, name)
            if not least <= double(value) < math.inf:
                raise ModelError(f"`{name}` must be finite and at least {least:g}; got {shown(value)}.")
