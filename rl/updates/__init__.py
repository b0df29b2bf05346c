"""Policy updates, one a file behind one protocol."""

from .base import Learner, Update
from .fisher import FisherNPG
from .npg import NPG
from .pg import PolicyGradient
from .ppo import PPO
from .trpo import TRPO

__all__ = ["NPG", "PPO", "TRPO", "FisherNPG", "Learner", "PolicyGradient", "Update"]
