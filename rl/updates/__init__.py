"""Policy updates, one a file behind one protocol."""

from .base import Batch, Update
from .npg import NPG
from .pg import PolicyGradient
from .ppo import PPO
from .sampling import Pairs, Paths, Sample
from .trpo import TRPO

__all__ = ["NPG", "PPO", "TRPO", "Batch", "Pairs", "Paths", "PolicyGradient", "Sample", "Update"]
