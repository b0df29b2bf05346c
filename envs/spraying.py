"""Agricultural Spraying: a vehicle with a nozzle crosses a field, next to a strip where nothing must be sprayed.

The state is the position s_t of the vehicle in [0, 1]², the action (drive, steer, flow): a step takes it 0.05 to 0.1
ahead, up to 0.1 to a side, and sprays the share `flow` of what the nozzle can. It starts at (0, 0.2), and the episode
ends when it has crossed the field. Every step costs 0.1, and as much for all that the nozzle can spray in it; arriving
adds 5. The place y receives

    d_y(s, a) = flow exp(-|y - s|² / (2 · 0.15²)),

and the sum over an episode must be at least 1 at every place of the crop, [0.15, 0.85] x [0, 0.4], and at most 0.06
at every place of the protected strip, [0, 1] x [0.6, 1]. Both are one continuum: Y is the union of crop and strip,
c_y = d_y and u_y = 0.06 on the strip, c_y = -d_y and u_y = -1 on the crop. Nothing is discounted. `import envs`
registers `lsip/Spraying-v0` with Gymnasium, alone and vectorised, with 25 steps at most.
"""

from __future__ import annotations

import math
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeAlias

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space
from numpy.typing import ArrayLike, NDArray

import lsip
import rl
from lsip.domains import as_points
from lsip.validation import Finite, Natural, Seed, checked, numbers
from rl import validation

from . import pictures

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "Spraying",
    "SprayingVector",
    "constraint",
    "draw",
    "optimised_route",
    "reference_route",
    "route",
    "violations",
]

Array = NDArray[np.float64]
Numbers: TypeAlias = Any  # arrays of NumPy, or tensors of torch
Single = NDArray[np.float32]
Flags = NDArray[np.bool_]

START = (0.0, 0.2)
SLOWEST, FASTEST, SIDEWAYS = 0.05, 0.1, 0.1  # a step, ahead and to a side
STEP_COST, LIQUID_COST, PRIZE = 0.1, 0.1, 5.0
SPREAD = 0.15  # of what the nozzle sprays
CROP, STRIP = 0.4, 0.6  # the crop is below, the strip above
EDGES = (0.15, 0.85)  # of the crop, along the way
LEAST, MOST = 1.0, 0.06  # doses: of the crop, and of the strip
MAX_STEPS = 25
REFERENCE = (  # (drive, steer, flow) of optimised_route(11, margin=4e-4, starts=6), rounded
    (1.0, -0.1206, 0.0001),
    (0.0, -0.112, 1.0),
    (1.0, -0.1352, 1.0),
    (1.0, 0.0627, 0.9787),
    (1.0, 0.181, 0.2836),
    (1.0, 0.0, 1.0),
    (1.0, -0.1811, 1.0),
    (1.0, -0.0627, 0.2836),
    (1.0, 0.1354, 0.9787),
    (0.0, 0.1118, 1.0),
    (1.0, -0.0641, 1.0),
)
LOW, HIGH = np.array([0.0, -1.0, 0.0]), np.array([1.0, 1.0, 1.0])
MESH, HOT = 121, 3.0  # of pictures: points along a side, and the dose with the darkest colour


def moved(positions: Numbers, actions: Numbers, m: ModuleType = np) -> Any:
    """Positions (n, 2) a step later; `m` is numpy, or torch for tensors."""
    ahead = positions[:, 0] + SLOWEST + (FASTEST - SLOWEST) * actions[:, 0]
    return m.stack([ahead.clip(max=1.0), (positions[:, 1] + SIDEWAYS * actions[:, 1]).clip(0.0, 1.0)], axis=1)


def _observed(positions: Array, steps: NDArray[np.int64]) -> Single:
    return np.column_stack([positions, steps / MAX_STEPS]).clip(0, 1).astype(np.float32)


def _taken(actions: ArrayLike, count: int) -> Array:
    """Actions (n, 3) as they are carried out."""
    moves = numbers(actions, "Actions", nan=True)
    if moves.shape != (count, 3):
        raise lsip.ModelError(f"Actions are (drive, steer, flow) for each vehicle, ({count}, 3); got {moves.shape}.")
    if not np.isfinite(moves).all():
        raise lsip.ModelError(f"Actions are finite numbers; got {moves[~np.isfinite(moves)][0]}.")
    return moves.clip(LOW, HIGH)


def spaces() -> tuple[gymnasium.spaces.Box[np.float32], gymnasium.spaces.Box[np.float32]]:
    """Observations and actions of a vehicle."""
    low, high = LOW.astype(np.float32), HIGH.astype(np.float32)
    return gymnasium.spaces.Box(0.0, 1.0, (3,), np.float32), gymnasium.spaces.Box(low, high, dtype=np.float32)


class SprayingVector(gymnasium.vector.VectorEnv[Single, Single, NDArray[Any]]):
    """Many vehicles at once, in arrays.

    In the step after an episode has ended, its copy is put back to the start whatever the action, with reward 0
    (Gymnasium's autoreset mode NEXT_STEP).

    Parameters
    ----------
    num_envs
        How many vehicles.
    max_episode_steps
        After so many steps an episode is truncated.
    """

    metadata: dict[str, Any] = {"render_modes": [], "autoreset_mode": AutoresetMode.NEXT_STEP}  # noqa: RUF012

    def __init__(self, num_envs: int = 1, *, max_episode_steps: int = MAX_STEPS) -> None:
        for name, count in (("num_envs", num_envs), ("max_episode_steps", max_episode_steps)):
            validation.count(name, count)
        self.num_envs, self.max_episode_steps = int(num_envs), int(max_episode_steps)
        self.single_observation_space, self.single_action_space = spaces()
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self._positions: Array | None = None
        self._steps = np.zeros(self.num_envs, dtype=np.int64)
        self._ended = np.zeros(self.num_envs, dtype=np.bool_)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Single, dict[str, Any]]:
        super().reset(seed=seed)
        self._positions = np.tile(START, (self.num_envs, 1))
        self._steps[:], self._ended[:] = 0, False
        return _observed(self._positions, self._steps), {}

    def step(self, actions: ArrayLike) -> tuple[Single, Array, Flags, Flags, dict[str, Any]]:
        if self._positions is None:
            raise gymnasium.error.ResetNeeded("The vehicles have not started yet: call `reset` first.")
        taken = _taken(actions, self.num_envs)
        there = np.where(self._ended[:, None], START, moved(self._positions, taken))
        self._steps = np.where(self._ended, 0, self._steps + 1)
        arrived = there[:, 0] >= 1.0
        rewards = -STEP_COST - LIQUID_COST * taken[:, 2] + PRIZE * arrived
        rewards = np.where(self._ended, 0.0, rewards)
        truncated = self._steps >= self.max_episode_steps
        self._positions, self._ended = there, arrived | truncated
        return _observed(there, self._steps), rewards, arrived, truncated, {}

    def constraint(self) -> rl.SemiInfiniteCost:
        """What the vehicles must keep to: `envs.spraying.constraint()`."""
        return constraint()


class Spraying(gymnasium.Env[Single, Single]):
    """One vehicle.

    Observations are the position (2) and the share of the time limit that has passed. Actions are (drive, steer, flow)
    in [0, 1] x [-1, 1] x [0, 1]; others are clipped. The limit of 25 steps comes with `gymnasium.make`, as usual.

    Parameters
    ----------
    render_mode
        "rgb_array": `render` gives a picture of the route so far, over the dose of every place.

    Examples
    --------
    >>> import gymnasium, envs
    >>> env = gymnasium.make("lsip/Spraying-v0")
    >>> observation, info = env.reset(seed=0)
    >>> observation, reward, terminated, truncated, info = env.step([1.0, -0.5, 0.8])
    >>> print(observation.round(3), round(reward, 4))
    [0.1  0.15 0.04] -0.18
    """

    metadata: dict[str, Any] = {"render_modes": pictures.MODES, "render_fps": 5}  # noqa: RUF012  (Gymnasium's type)

    def __init__(self, *, render_mode: str | None = None) -> None:
        self.render_mode = pictures.mode(render_mode)
        self.observation_space, self.action_space = spaces()
        self.positions: list[Array] = []  # s_0, …, s_t of this episode
        self.flows: list[float] = []

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Single, dict[str, Any]]:
        super().reset(seed=seed)
        self.positions, self.flows = [np.array(START)], []
        return self._observe(), {}

    def step(self, action: ArrayLike) -> tuple[Single, float, bool, bool, dict[str, Any]]:
        if not self.positions or self.positions[-1][0] >= 1.0:
            raise gymnasium.error.ResetNeeded("The vehicle has arrived, or not started yet: call `reset` first.")
        taken = _taken(np.asarray(action, dtype=float)[None], 1)
        self.positions.append(moved(self.positions[-1][None, :], taken)[0])
        self.flows.append(float(taken[0, 2]))
        arrived = bool(self.positions[-1][0] >= 1.0)
        reward = -STEP_COST - LIQUID_COST * self.flows[-1] + PRIZE * arrived
        return self._observe(), reward, arrived, False, {}

    def _observe(self) -> Single:
        return _observed(self.positions[-1][None, :], np.array([len(self.flows)]))[0]

    def constraint(self) -> rl.SemiInfiniteCost:
        """What the vehicle must keep to: `envs.spraying.constraint()`."""
        return constraint()

    def render(self) -> Any:
        """The picture, uint8 of shape (480, 480, 3), where `render_mode` asks for it; it needs matplotlib."""
        return pictures.picture(
            self.render_mode,
            self.positions,
            lambda axes: draw(axes, np.array(self.positions), np.array(self.flows)),
        )


# ---- the constraint --------------------------------------------------------------------------------------------------


def constraint(*, gamma: float = 1.0) -> rl.SemiInfiniteCost:
    """The continuum of constraints: doses of all places of the crop and of the strip.

    Examples
    --------
    >>> c = constraint()
    >>> c.bounds(np.array([[0.5, 0.2], [0.5, 0.8]])).tolist()
    [-1.0, 0.06]
    >>> places, seen, done = [[0.0, 0.2], [0.0, 0.65]], [[0.0, 0.2, 0.0]], [[1.0, 0.0, 0.5]]
    >>> c.steps(*map(np.array, (places, seen, done))).round(4).tolist()
    [[-0.5], [0.0056]]
    """
    crop, strip = lsip.Box([EDGES[0], 0], [EDGES[1], CROP]), lsip.Box([0, STRIP], [1, 1])
    gap = STRIP - CROP  # a dose changes sign across it, and changes at most by its largest slope elsewhere
    slope = max(2.0 / gap, math.sqrt(2) * math.exp(-0.5) / SPREAD)
    slopes = slope, (LEAST + MOST) / gap
    return rl.SemiInfiniteCost(
        crop | strip, _cost, _bound, gamma=gamma, range=(-1.0, 1.0), lipschitz=slopes, candidates=_candidates
    )


def _candidates(observations: NDArray[Any]) -> Array:
    """The edges of crop and strip, where too little and too much come first."""
    return _lines(0.0, CROP, STRIP)


def _lines(*edges: float) -> Array:
    """Places along some lines of crop and strip."""
    ends = {edge: EDGES if edge <= CROP else (0.0, 1.0) for edge in edges}
    return np.concatenate([np.column_stack([np.linspace(*ends[e], 41), np.full(41, e)]) for e in edges])


def _cost(y: Array, observations: Array, actions: Array) -> Array:
    if isinstance(observations, np.ndarray):
        observations, actions = observations.astype(float), actions.astype(float)
    positions, flows = observations[:, :2], np.clip(actions[:, 2], 0.0, 1.0)
    distances = ((y.reshape(len(y), 1, 2) - positions) ** 2).sum(axis=-1)
    return _sign(y).reshape(len(y), 1) * (flows * np.exp(-distances / (2 * SPREAD**2)))


def _sign(y: Array) -> Array:
    """1 on the strip, -1 on the crop."""
    return np.where(y[:, 1] < 0.5 * (CROP + STRIP), -1.0, 1.0)


def _bound(y: Array) -> Array:
    return np.where(y[:, 1] < 0.5 * (CROP + STRIP), -LEAST, MOST)


# ---- routes ----------------------------------------------------------------------------------------------------------


def route(actions: ArrayLike) -> tuple[Array, Array, float]:
    """Drive by a list of actions (T, 3), until the field is crossed or the list ends.

    Returns
    -------
    The positions s_0, …, s_T (T + 1, 2), the flows (T,), and the sum of rewards.
    """
    vehicle, total = Spraying(), 0.0
    vehicle.reset()
    for action in as_points(actions, 3)[:MAX_STEPS]:
        _, reward, arrived, _, _ = vehicle.step(action)
        total += reward
        if arrived:
            break
    return np.array(vehicle.positions), np.array(vehicle.flows), total


def violations(positions: ArrayLike, flows: ArrayLike, y: ArrayLike) -> Array:
    """V_{c_y} - u_y at places y (N, 2) of crop and strip, for a route s_0, …, s_T and its flows (T,)."""
    places = as_points(y, 2)
    return _cost(places, *_steps(positions, flows)).sum(axis=1) - _bound(places)


def _steps(positions: ArrayLike, flows: ArrayLike) -> tuple[Array, Array]:
    """Positions (T, 2) from which a route sprayed, and its actions (T, 3)."""
    places, sprayed = as_points(positions, 2), numbers(flows, "Flows")
    if sprayed.shape != (len(places) - 1,):
        raise lsip.ModelError(f"A route of {len(places)} positions has {len(places) - 1} flows; got {sprayed.shape}.")
    return places[:-1], np.column_stack([np.zeros((len(sprayed), 2)), sprayed])


@checked(steps=Natural, margin=Finite, starts=Natural, seed=Seed)
def optimised_route(steps: int, *, margin: float = 1e-3, starts: int = 3, seed: int = 0) -> Array:
    """Actions (steps, 3) of a good open-loop route with so many steps, by sequential quadratic programming.

    The least liquid that keeps doses by `margin` at places along the edges of crop and strip, and inside; it is a local
    optimum, the best from several starts. `reference_route` is what it found.
    """
    from scipy.optimize import minimize

    places = _lines(0.0, 0.5 * CROP, CROP, STRIP)
    sign, bound = _sign(places), _bound(places)

    def path(flat: Array) -> tuple[Array, Array, Array]:
        actions = flat.reshape(steps, 3)
        ahead = np.cumsum(SLOWEST + (FASTEST - SLOWEST) * actions[:, 0])
        aside = START[1] + np.cumsum(SIDEWAYS * actions[:, 1])
        return np.append(0.0, ahead), np.append(START[1], aside), actions[:, 2]

    def room(flat: Array) -> Array:
        x, z, flows = path(flat)
        at = np.exp(-((places[:, :1] - x[:-1]) ** 2 + (places[:, 1:] - z[:-1]) ** 2) / (2 * SPREAD**2))
        return np.concatenate(
            [bound - margin - sign * (at @ flows), [x[-1] - 1.0 - 1e-6, 1.0 - 1e-3 - x[-2]], z, CROP - z]
        )

    best, least = None, np.inf
    rng = np.random.default_rng(seed)
    for _ in range(starts):
        drive = (1 / steps - SLOWEST) / (FASTEST - SLOWEST)
        first = np.column_stack([np.full(steps, drive), np.zeros(steps), np.full(steps, 0.9)])
        first = (first + 0.05 * rng.normal(size=first.shape)).clip(LOW, HIGH)
        result = minimize(
            lambda flat: flat[2::3].sum(),
            first.ravel(),
            jac=lambda flat: np.tile([0.0, 0.0, 1.0], steps),
            method="SLSQP",
            bounds=list(zip(np.tile(LOW, steps), np.tile(HIGH, steps), strict=True)),
            constraints={"type": "ineq", "fun": room},
            options={"maxiter": 300, "ftol": 1e-7},
        )
        if room(result.x).min() >= -1e-6 and result.fun < least:
            best, least = result.x, float(result.fun)
    if best is None:
        raise lsip.ModelError(f"No route of {steps} steps was found that keeps all doses; try more steps.")
    return best.reshape(steps, 3)


def reference_route() -> Array:
    """Actions (T, 3) of the best route that `optimised_route` found: it keeps all doses; its return is the aim."""
    return np.array(REFERENCE)


@checked(axes=rl.plotting.Panel)
def draw(axes: Axes, positions: Array, flows: Array) -> None:
    """The route over the dose of every place; circles are as large as what was sprayed there."""
    side = np.linspace(0, 1, MESH)
    mesh = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    positions, (sprayed, actions) = as_points(positions, 2), _steps(positions, flows)
    dose = np.abs(_cost(mesh, sprayed, actions)).sum(axis=1).reshape(MESH, MESH)
    axes.pcolormesh(side, side, dose, shading="gouraud", cmap="Greens", vmin=0.0, vmax=HOT)
    axes.contour(side, side, dose, levels=[MOST, LEAST], colors=["#b91c1c", "#047857"], linewidths=1.0)
    left, right = EDGES
    axes.plot([left, left, right, right], [0, CROP, CROP, 0], "--", color="#047857", linewidth=1.0)
    axes.axhline(STRIP, color="#b91c1c", linestyle="--", linewidth=1.0)
    axes.text(left + 0.02, CROP - 0.02, "crop", va="top", color="#047857")
    axes.text(0.02, STRIP + 0.02, "protected strip", va="bottom", color="#b91c1c")
    axes.plot(*positions.T, "-", color=rl.plotting.BLUE, linewidth=1.5, clip_on=False)
    axes.scatter(
        sprayed[:, 0], sprayed[:, 1], s=10 + 60 * actions[:, 2], color=rl.plotting.BLUE, clip_on=False, zorder=3
    )
    axes.set(xlim=(0, 1), ylim=(0, 1), aspect="equal", xlabel="$y_1$", ylabel="$y_2$")
