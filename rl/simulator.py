"""What learning without a model asks of the world: states to begin with, and a step; a known model gives both, fast."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

import lsip

from . import validation
from .errors import code_of
from .sicmdp import SICMDP, Specification, as_specification

Array = NDArray[np.float64]
Ints = NDArray[np.intp]


@dataclass(frozen=True)
class DrawTuning:
    """How tables are drawn from.

    Parameters
    ----------
    joint
        Numbers in tables that are made for one policy.
    few
        Outcomes with which aliases pay.
    block
        Steps for which noise is drawn at once.
    """

    joint: int = 100_000
    few: int = 64
    block: int = 16


TUNING = DrawTuning()


@runtime_checkable
class Simulator(Protocol):
    """Many copies of a finite environment that move at once. A class with these three names is a simulator."""

    specification: Specification

    def reset(self, count: int, rng: np.random.Generator) -> Ints:
        """First states of `count` copies: (count,)."""

    def step(self, states: Ints, actions: Ints, rng: np.random.Generator) -> Ints:
        """Next states: (count,)."""


class TabularSimulator:
    """A known model as a simulator. Evaluations may also use the model, for the same law at a lower cost."""

    def __init__(self, mdp: SICMDP) -> None:
        self.mdp = mdp
        self.specification = mdp.specification

    @cached_property
    def _successor(self) -> Draw:
        return Draw(self.mdp.P.reshape(-1, self.mdp.states))

    @cached_property
    def _first(self) -> Draw:
        return Draw(self.mdp.mu[None, :])

    def reset(self, count: int, rng: np.random.Generator) -> Ints:
        return self._first(np.zeros(count, dtype=np.intp), rng)

    def step(self, states: Ints, actions: Ints, rng: np.random.Generator) -> Ints:
        return self._successor(states * self.mdp.actions + actions, rng)


class Draw:
    """Random outcomes from a table of distributions (R, K).

    Small tables use aliases: every outcome k shares a cell of mass 1/K with one other, so that a draw is a cell and a
    comparison. Large ones are searched.
    """

    def __init__(self, rows: Array) -> None:
        R, self.outcomes = rows.shape
        self.aliased = self.outcomes <= TUNING.few and R * self.outcomes**2 <= TUNING.joint
        if self.aliased:
            self.keep, self.other = (table.ravel() for table in _aliases(rows))
            return
        ends = np.cumsum(rows, axis=1)
        # Beyond the last possible outcome everything is exactly one, so that rounding draws nothing impossible.
        last = self.outcomes - 1 - np.argmax(rows[:, ::-1] > 0, axis=1)
        ends = np.where(np.arange(self.outcomes) >= last[:, None], 1.0, np.minimum(ends, 1.0))
        self.ends, self.last = (ends + np.arange(R)[:, None]).ravel(), last

    def __call__(self, row: Ints, rng: np.random.Generator) -> Ints:
        """An outcome for every row asked for."""
        if not self.aliased:
            place = np.searchsorted(self.ends, row + rng.random(len(row)), side="right")
            return np.minimum(place - row * self.outcomes, self.last[row])
        return self._aliased(row, *self._cells(rng.random(len(row))))

    def chain(self, row: Ints, steps: int, rng: np.random.Generator) -> Iterator[Ints]:
        """So many outcomes one after another, each the row of the next; as many calls would give the same."""
        for start in range(0, steps, TUNING.block if self.aliased else 1):
            if not self.aliased:
                row = self(row, rng)
                yield row
                continue
            noise = rng.random((min(TUNING.block, steps - start), len(row)))
            for cell, left in zip(*self._cells(noise), strict=True):
                row = self._aliased(row, cell, left)
                yield row

    def _cells(self, u: Array) -> tuple[Ints, Array]:
        """Uniform numbers as cells, and where they are within them."""
        u *= self.outcomes
        cell = u.astype(np.intp)
        u -= cell
        return cell, u

    def _aliased(self, row: Ints, cell: Ints, left: Array) -> Ints:
        place = row * self.outcomes
        place += cell
        return np.where(left < self.keep.take(place), cell, self.other.take(place))


def _aliases(rows: Array) -> tuple[Array, Ints]:
    """How much of its own cell each outcome keeps, and who has the rest: the smallest takes from the largest."""
    R, K = rows.shape
    left = rows / rows.sum(axis=1, keepdims=True) * K
    keep, other = np.ones((R, K)), np.tile(np.arange(K), (R, 1))
    small, large = left.copy(), left.copy()
    r = np.arange(R)
    for _ in range(K - 1):
        i, j = small.argmin(axis=1), large.argmax(axis=1)
        share = small[r, i]
        keep[r, i], other[r, i] = np.minimum(share, 1.0), j
        rest = np.maximum(large[r, j] - (1.0 - share), 0.0)
        small[r, j] = large[r, j] = rest
        small[r, i], large[r, i] = np.inf, -np.inf
    return keep, other


class Checked:
    """A simulator of somebody's own, whose answers are looked at before they are used."""

    def __init__(self, simulator: Simulator) -> None:
        validation.call("reset", simulator.reset, "count", "rng")
        validation.call("step", simulator.step, "states", "actions", "rng")
        self.simulator = simulator
        self.specification = as_specification(simulator.specification)

    def reset(self, count: int, rng: np.random.Generator) -> Ints:
        with code_of("`reset(count, rng)` of the simulator"):
            states = np.asarray(self.simulator.reset(count, rng))
        return self._states("reset(count, rng)", states, count)

    def step(self, states: Ints, actions: Ints, rng: np.random.Generator) -> Ints:
        with code_of("`step(states, actions, rng)` of the simulator"):
            after = np.asarray(self.simulator.step(states, actions, rng))
        return self._states("step(states, actions, rng)", after, len(states))

    def _states(self, call: str, states: NDArray[np.generic], count: int) -> Ints:
        last = self.specification.states - 1
        whole = states.shape == (count,) and np.issubdtype(states.dtype, np.integer)
        if whole and (not count or (states.min() >= 0 and states.max() <= last)):
            return states.astype(np.intp, copy=False)
        came = f"from {states.min()} to {states.max()}" if whole else f"of shape {states.shape} and type {states.dtype}"
        raise lsip.ModelError(
            f"`{call}` of the simulator must give one state for each of {count} copies, integers from 0 to {last} in "
            f"an array of shape ({count},); got numbers {came}."
        )


def as_simulator(problem: SICMDP | Simulator) -> Simulator:
    """A model as a simulator; a simulator with its answers checked."""
    if isinstance(problem, SICMDP):
        as_specification(problem)
        return TabularSimulator(problem)
    if isinstance(problem, TabularSimulator | Checked):
        return problem
    if isinstance(problem, Simulator) and not isinstance(problem, type):
        return Checked(problem)
    raise lsip.ModelError(
        "The problem must be an rl.SICMDP, or an object with `specification`, `reset(count, rng)` and "
        f"`step(states, actions, rng)`; got {validation.shown(problem)}."
    )


def rollout(
    simulator: Simulator,
    policy: Array,
    horizon: int,
    rng: np.random.Generator,
    *,
    states: Ints | None = None,
    count: int | None = None,
    actions: Ints | None = None,
) -> Ints:
    """Paths under a policy (S, A), see `walk`: the pairs s * A + a that they visit, (horizon, count)."""
    return np.stack(list(walk(simulator, policy, horizon, rng, states=states, count=count, actions=actions)))


def walk(
    simulator: Simulator,
    policy: Array,
    horizon: int,
    rng: np.random.Generator,
    *,
    states: Ints | None = None,
    count: int | None = None,
    actions: Ints | None = None,
) -> Iterator[Ints]:
    """Paths under a policy (S, A), step by step: the pairs s * A + a that they are at, (count,) each.

    They begin in `states`, or in `count` first states of the simulator; `actions`, where it is not negative, gives
    their first actions.
    """
    S, A = policy.shape
    s = simulator.reset(int(count or 0), rng) if states is None else np.asarray(states)
    act = Draw(policy)
    a = act(s, rng) if actions is None else np.where(actions >= 0, actions, act(s, rng))
    pair = s * A + a
    yield pair
    if isinstance(simulator, TabularSimulator) and policy.size <= TUNING.few:
        follow = Draw((simulator.mdp.P.reshape(-1, S, 1) * policy).reshape(S * A, S * A))
        yield from follow.chain(pair, horizon - 1, rng)
        return
    for _ in range(1, horizon):
        s = simulator.step(s, a, rng)
        a = act(s, rng)
        pair = s * A + a
        yield pair
