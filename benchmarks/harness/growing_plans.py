"""Plans of decision processes for the benchmark `growth`, beside the same programs written down."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

import lsip
import rl
from rl.discounted_solve import iterate

from .growing import Rival, grows

ACTIONS, SUCCESSORS, GAMMA = 3, 9, 0.9
SLACK = 2.5  # over the number of states: the larger a random graph, the less policies differ in where they are
LP = "rl.plan, written down"


@dataclass(frozen=True)
class Planning:
    """A decision process with the face of a problem."""

    mdp: rl.SICMDP

    def solve(self, *, verbose: bool = False, time_limit: float | None = None) -> rl.Plan:
        """Plan by the method that is chosen."""
        return rl.plan(self.mdp, verbose=verbose, time_limit=time_limit)


def _written_down(build: Any) -> Rival:
    def solved(size: int) -> float:
        found = rl.plan(build(size).mdp, method="lp", time_limit=300.0)
        if not found.certified:
            raise ValueError(f"no proof: {found.status.name}")
        return found.value

    return solved


def random_graph(states: int, seed: int = 0) -> rl.SICMDP:
    """Sources of noise in a square, one at a time: no place may hear much more than under the uniform policy."""
    rng = np.random.default_rng(seed)
    pairs = states * ACTIONS
    following = rng.integers(states, size=(pairs, SUCCESSORS))
    chances = rng.dirichlet(np.ones(SUCCESSORS), size=pairs)
    rows = np.repeat(np.arange(pairs), SUCCESSORS)
    P = sparse.csr_matrix((chances.ravel(), (rows, following.ravel())), shape=(pairs, states))
    y = lsip.Index("y", lsip.Box([0, 0], [1, 1]))
    cost = 1 / (1 + ((y - rng.uniform(size=(states, 2))) ** 2).sum(axis=-1))
    mean = sparse.kron(sparse.eye(states), np.full((1, ACTIONS), 1 / ACTIONS)) @ P
    visits = iterate(sparse.csr_matrix(mean.T), GAMMA, np.full(states, 1 / states))
    bound = (1 + SLACK / states) * (visits @ cost)
    return rl.SICMDP(P, rng.uniform(size=(states, ACTIONS)), cost, bound, y, None, GAMMA)


def random_walk(steps: int, places: int, actions: int = 5) -> rl.SICMDP:
    """A random walk expanded in time: each state is a step and a place, and the last one ends it."""
    last = steps * places
    s, a = np.divmod(np.arange(last * actions), actions)
    t, place = np.divmod(s, places)
    rows, columns, chances = [], [], []
    for move, chance in ((np.ones_like(a), 0.5), (-a, 0.4), (np.zeros_like(a), 0.1)):
        rows.append(np.arange(last * actions))
        columns.append(np.where(t == steps - 1, last, (t + 1) * places + np.clip(place + move, 0, places - 1)))
        chances.append(np.full(last * actions, chance))
    rows.append(last * actions + np.arange(actions))
    columns.append(np.full(actions, last))
    chances.append(np.ones(actions))
    entries = np.concatenate(chances), (np.concatenate(rows), np.concatenate(columns))
    P = sparse.csr_matrix(entries, shape=((last + 1) * actions, last + 1))
    reward = np.zeros((last + 1, actions))
    reward[:last] = 1 - (np.arange(actions) / (actions - 1)) ** 2
    y = lsip.Index("y", lsip.Interval(0, places - 2.0))
    height = np.append(np.tile(np.arange(places), steps), -1.0)
    start = np.eye(1, last + 1, 3)[0]
    return rl.SICMDP(P, reward, np.maximum(height - y, 0) / steps, 3 * np.exp(-y / 3), y, start, 0.99)


def _graph(states: int) -> Planning:
    return Planning(random_graph(states))


def _walk(steps: int) -> Planning:
    return Planning(random_walk(steps, 5 * steps // 8))


@grows((20, 50, 100, 200, 500, 1000, 2000, 5000), "states", _written_down(_graph), LP, factor=2.0)
def plans_random(states: int) -> Planning:
    """Random graphs with nine successors a pair, whose factors would fill up."""
    return _graph(states)


@grows((4, 8, 16, 24, 40, 64, 96), "steps", _written_down(_walk), LP, factor=2.0)
def plans_in_time(steps: int) -> Planning:
    """Random walks expanded in time, with five places for eight steps."""
    return _walk(steps)
