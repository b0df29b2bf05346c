"""The model with at most two successors per state-action pair that behaves like a given one.

Between a pair (s, a) and its successor, a binary tree of extra states decides one bit of the successor's number at a
time. It takes d = ceil(log2 S) steps instead of one, so the discount factor becomes gamma^(1/d); extra states pay and
cost nothing, and their actions do not matter. Every policy then has the same values in both models.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from .dataset import Dataset
from .policy_table import read_policy
from .sicmdp import SICMDP, Specification, as_model, as_specification

Array = NDArray[np.float64]


class BinaryModel:
    """The transformation for one specification.

    Extra states are numbered after the original ones: for every pair, level 1 to d - 1 of its tree, where level k
    holds one node for every k-bit beginning of a d-bit state number.

    Examples
    --------
    >>> import envs, rl
    >>> mdp = envs.sewage(states=5, actions=2, seed=0)
    >>> binary = rl.BinaryModel(mdp.specification)
    >>> bigger, policy = binary.model(mdp), rl.uniform_policy(5, 2)
    >>> bigger.states, abs(bigger.value(binary.lift(policy)) - mdp.value(policy)) < 1e-12
    (55, True)
    """

    def __init__(self, specification: Specification) -> None:
        self.original = specification = as_specification(specification)
        self.depth = max(int(np.ceil(np.log2(specification.states))), 1)
        self._tree = _Tree(specification.states, self.depth)

    @property
    def nodes(self) -> int:
        """Extra states of each pair."""
        return self._tree.nodes

    @cached_property
    def specification(self) -> Specification:
        """Everything but the transition probabilities, for the larger model."""
        old = self.original
        extra = old.states * old.actions * self.nodes
        return Specification(
            np.concatenate([old.r, np.zeros((extra, old.actions))]),
            old.constraint,
            np.concatenate([old.mu, np.zeros(extra)]),
            float(old.gamma ** (1 / self.depth)),
            old.idle + extra,
        )

    def model(self, mdp: SICMDP) -> SICMDP:
        """The larger model of a known one."""
        mdp = as_model(mdp)
        pair, child, weight = self._spread(np.asarray(mdp.P).reshape(-1, mdp.states))
        totals = np.zeros(self.specification.r.size)
        np.add.at(totals, pair, weight)
        # A node that is never reached goes to its first child.
        lone = totals[pair] == 0
        first = np.unique(pair[lone], return_index=True)[1]
        weight[np.flatnonzero(lone)[first]] = 1.0
        np.add.at(totals, pair[lone][first], 1.0)
        shape = (self.specification.r.size, self.specification.states)
        P = sparse.csr_matrix((weight / totals[pair], (pair, child)), shape=shape)
        return SICMDP.from_specification(P, self.specification)

    def data(self, data: Dataset) -> Dataset:
        """The transitions that the larger model would have shown; what its trees exclude is known to be impossible."""
        pair, child, count = self._spread(data.counts.reshape(-1, data.states).astype(float))
        S, A = self.specification.r.shape
        counts, possible = np.zeros((S * A, S), dtype=np.int64), np.zeros((S * A, S), dtype=bool)
        counts[pair, child] = count.astype(np.int64)
        possible[pair, child] = True
        return Dataset(counts.reshape(S, A, S), possible.reshape(S, A, S))

    def lift(self, policy: ArrayLike) -> Array:
        """A policy of the original model in the larger one."""
        old = self.original
        extra = np.full((old.states * old.actions * self.nodes, old.actions), 1 / old.actions)
        return np.concatenate([read_policy(policy, *old.r.shape), extra])

    def occupancy(self, larger: Array) -> Array:
        """q(s, a) of the original model, of sum one, from that of the larger one."""
        old, new = self.original, self.specification
        return larger[: old.states] * (1 - old.gamma) / (1 - new.gamma)

    def _spread(self, rows: Array) -> tuple[Any, Any, Array]:
        """Mass (pairs, S) of successors, laid on the edges of all trees: (pair, child, mass)."""
        S, A = self.original.r.shape
        base = S + np.arange(S * A) * self.nodes  # the first extra state of each pair
        before = np.concatenate([np.zeros((S * A, 1)), np.cumsum(rows, axis=1)], axis=1)
        pairs, children, masses = [], [], []
        for parent, child, low, high in self._tree.edges:
            mass = before[:, high] - before[:, low]
            target = np.full(S * A, child - self.nodes) if child >= self.nodes else base + child
            for action in range(A) if parent >= 0 else (0,):
                pairs.append((base + parent) * A + action if parent >= 0 else np.arange(S * A))
                children.append(target)
                masses.append(mass)
        return np.concatenate(pairs), np.concatenate(children), np.concatenate(masses)


class _Tree:
    """Edges (parent, child, low, high) of the tree over all states: parent -1 is the pair, leaves follow nodes."""

    def __init__(self, states: int, depth: int) -> None:
        sizes = [0] + [-(-states // 2 ** (depth - k)) for k in range(1, depth)]  # nodes of each level
        starts = np.cumsum(sizes)
        self.nodes = int(starts[-1])
        self.edges: list[tuple[int, int, int, int]] = []
        for level in range(depth):
            span = 2 ** (depth - level - 1)  # states below each child
            parents = [-1] if level == 0 else range(sizes[level])
            for p in parents:
                parent = -1 if level == 0 else int(starts[level - 1]) + p
                for bit in (0, 1):
                    c = (0 if level == 0 else 2 * p) + bit
                    low, high = c * span, min((c + 1) * span, states)
                    if low >= states:
                        continue
                    child = self.nodes + c if level == depth - 1 else int(starts[level]) + c
                    self.edges.append((parent, child, low, high))
