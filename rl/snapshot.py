"""The state of a run between two iterations, so that an iteration that was interrupted can be undone."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch

from .policies import flat_parameters, set_flat_parameters


class Agent(Protocol):
    """What learns: its other attributes are asked for by name."""

    rng: np.random.Generator


@dataclass(frozen=True, eq=False)
class Snapshot:
    """What an iteration changes of an agent, as it was before."""

    agent: Agent
    rng: Mapping[str, Any]
    values: dict[str, Any]  # attributes that are replaced, never changed in place
    lengths: dict[str, int]  # of lists that only grow
    nets: tuple[tuple[torch.nn.Module, torch.Tensor], ...]
    optimisers: tuple[tuple[torch.optim.Optimizer, dict[str, Any]], ...]

    @classmethod
    def of(
        cls,
        agent: Agent,
        values: Iterable[str],
        lists: Iterable[str],
        nets: Iterable[torch.nn.Module],
        optimisers: Iterable[torch.optim.Optimizer] = (),
    ) -> Snapshot:
        """The agent as it is now."""
        return cls(
            agent,
            agent.rng.bit_generator.state,
            {name: getattr(agent, name) for name in values},
            {name: len(getattr(agent, name)) for name in lists},
            tuple((net, flat_parameters(net)) for net in nets),
            tuple((optimiser, copy.deepcopy(optimiser.state_dict())) for optimiser in optimisers),
        )

    def undo(self) -> None:
        """Put the agent back to where it was."""
        self.agent.rng.bit_generator.state = self.rng
        for name, value in self.values.items():
            setattr(self.agent, name, value)
        for name, length in self.lengths.items():
            del getattr(self.agent, name)[length:]
        for net, vector in self.nets:
            set_flat_parameters(net, vector)
        for optimiser, state in self.optimisers:
            optimiser.load_state_dict(state)
