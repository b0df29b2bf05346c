"""Ship Route Planning: from one corner of the sea to the other, past a protected area that must not be polluted.

The state is the position s_t of the ship in [0, 1]^2, the action its heading a_t, an angle. It starts at O = (0, 0) and
sails 0.1 a step; what would leave the sea is clipped to its border. Every step costs r(s_t) = -0.1 (|s_t - D| + 1), and
reaching D = (1, 1), to within a step's length, ends the episode and adds 5. A ship at s pollutes the place y by

    c_y(s) = exp(-20 |y - s|),

and at every place y of the sea the expected sum over s_0, …, s_{T-1} must stay below

    u_y = 0.015 + 0.005 exp(20 |y - MPA|),

which is strict near the marine protected area MPA = (1/2, 1/2). Nothing is discounted. `import envs` registers
`lsip/ShipRoute-v0` with Gymnasium, alone and vectorised, with 100 steps at most.
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
from lsip.validation import Natural, checked, flag, numbers, shown
from rl import validation

from . import pictures

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["ShipRoute", "ShipRouteVector", "constraint", "draw", "reference_routes", "route", "violations"]

Array = NDArray[np.float64]
Numbers: TypeAlias = Any  # arrays of NumPy, or tensors of torch
Single = NDArray[np.float32]
Flags = NDArray[np.bool_]

GOAL, MPA = 1.0, 0.5  # both coordinates of D and of the MPA, which lie on the diagonal
TWICE = np.array([[2 * GOAL], [2 * MPA]])
SPEED, STEP_COST, PRIZE = 0.1, 0.1, 5.0
ARRIVAL = 0.1 + 1e-9  # a distance of 0.1 arrives, however it is rounded
DECAY, BASE, GROWTH = 20.0, 0.015, 0.005  # of c_y and of u_y
MAX_STEPS = 100
DIAGONAL = math.sqrt(2)
MESH, HOT = 121, 1.0  # of pictures: points along a side, and the violation with the darkest colour


def moved(x: Numbers, y: Numbers, heading: Numbers, m: ModuleType) -> tuple[Any, Any]:
    """A step ahead, of one ship (`m` is the module math) or of many (numpy, or torch)."""
    return x + SPEED * m.cos(heading), y + SPEED * m.sin(heading)


def bearing(x: Numbers, y: Numbers, twice: Numbers, m: ModuleType) -> tuple[Any, Any]:
    """Angle and distance to a point of the diagonal (twice its coordinate is given), over pi and over sqrt(2).

    Angles count from the course O -> D, to the left: so a mirrored position has the negative angle, and the angle to
    the MPA jumps only right behind it.
    """
    across, along = x - y, twice - (x + y)  # sqrt(2) times where the target lies: to the left, and ahead
    return m.atan2(across, along) / math.pi, m.sqrt(across * across + along * along) / 2


def spaces(symmetric: bool) -> tuple[gymnasium.spaces.Box[np.float32], gymnasium.spaces.Box[np.float32]]:
    """Observations and actions of a ship."""
    low = np.array([0, 0, -1, 0, -1, 0], dtype=np.float32)
    observations = gymnasium.spaces.Box(low, np.ones(6, dtype=np.float32))
    return observations, gymnasium.spaces.Box(0.0, math.pi / 2 if symmetric else 2 * math.pi, (1,), np.float32)


class ShipRoute(gymnasium.Env[Single, Single]):
    """One ship.

    Observations are six numbers: the position (2), then angle and distance to D, then angle and distance to the MPA.
    Angles are measured from the diagonal O -> D, positive to the left, and divided by pi; distances are divided by the
    length of the diagonal. Any real number is a heading, taken modulo 2 pi (`periodic_actions`). The limit of 100 steps
    comes with `gymnasium.make`, as usual; the bare class sails on.

    Parameters
    ----------
    symmetric
        Use that sea, costs and bounds are symmetric: headings are in [0, pi/2] (others are clipped) and positions are
        mirrored at the diagonal into the half y >= x.
    render_mode
        "rgb_array": `render` gives a picture of the route so far, over a map of the violation that it causes.

    Examples
    --------
    >>> import gymnasium, envs
    >>> env = gymnasium.make("lsip/ShipRoute-v0")
    >>> observation, info = env.reset(seed=0)
    >>> observation, reward, terminated, truncated, info = env.step([np.pi / 4])
    >>> print(observation.round(3))
    [0.071 0.071 0.    0.929 0.    0.429]
    >>> round(reward, 4), terminated, truncated, info
    (-0.2414, False, False, {})
    """

    metadata: dict[str, Any] = {"render_modes": pictures.MODES, "render_fps": 5}  # noqa: RUF012  (Gymnasium's type)

    def __init__(self, *, symmetric: bool = False, render_mode: str | None = None) -> None:
        self.render_mode = pictures.mode(render_mode)
        flag("symmetric", symmetric)
        self.symmetric, self.periodic_actions = bool(symmetric), not symmetric
        self.observation_space, self.action_space = spaces(self.symmetric)
        self.positions: list[tuple[float, float]] = []  # s_0, …, s_t of this episode
        self._to_goal, self._sailing = math.nan, False

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Single, dict[str, Any]]:
        super().reset(seed=seed)
        self.positions, self._sailing = [(0.0, 0.0)], True
        return self._observe(), {}

    def step(self, action: ArrayLike) -> tuple[Single, float, bool, bool, dict[str, Any]]:
        if not self._sailing:
            raise gymnasium.error.ResetNeeded("The ship has arrived, or not started yet: call `reset` first.")
        x, y = moved(*self.positions[-1], self._heading(action), math)
        x, y = min(max(x, 0.0), 1.0), min(max(y, 0.0), 1.0)
        self.positions.append((min(x, y), max(x, y)) if self.symmetric else (x, y))
        reward = -STEP_COST * DIAGONAL * self._to_goal - STEP_COST
        observation = self._observe()
        arrived = self._to_goal <= ARRIVAL / DIAGONAL
        self._sailing = not arrived
        return observation, reward + PRIZE if arrived else reward, arrived, False, {}

    def _heading(self, action: ArrayLike) -> float:
        angle = numbers(action, "A heading", nan=True)
        if angle.shape != (1,):
            raise lsip.ModelError(f"An action is one heading, shape (1,); got shape {angle.shape}.")
        heading = float(angle[0])
        if not math.isfinite(heading):
            raise lsip.ModelError(f"A heading is a finite angle; got {heading}.")
        return min(max(heading, 0.0), math.pi / 2) if self.symmetric else heading

    def _observe(self) -> Single:
        x, y = self.positions[-1]
        a, self._to_goal = bearing(x, y, 2 * GOAL, math)
        b, to_mpa = bearing(x, y, 2 * MPA, math)
        return np.array((x, y, a, self._to_goal, b, to_mpa), dtype=np.float32)

    def constraint(self) -> rl.SemiInfiniteCost:
        """What the ship must keep to: `envs.ship.constraint()`."""
        return constraint()

    def render(self) -> Any:
        """The picture, uint8 of shape (480, 480, 3), where `render_mode` asks for it; it needs matplotlib."""
        return pictures.picture(self.render_mode, self.positions, lambda axes: draw(axes, np.array(self.positions)))


class ShipRouteVector(gymnasium.vector.VectorEnv[Single, Single, NDArray[Any]]):
    """Many ships at once: the same as copies of `ShipRoute` with a limit of steps, in arrays.

    In the step after an episode has ended, its copy is put back to O whatever the action, with reward 0 (Gymnasium's
    autoreset mode NEXT_STEP). `reset` with `options={"reset_mask": mask}` puts only those copies back.

    Parameters
    ----------
    num_envs
        How many ships.
    max_episode_steps
        After so many steps an episode is truncated.
    symmetric
        As in `ShipRoute`.

    Examples
    --------
    >>> import gymnasium, envs
    >>> ships = gymnasium.make_vec("lsip/ShipRoute-v0", num_envs=64)
    >>> observations, infos = ships.reset(seed=0)
    >>> observations, rewards, terminated, truncated, infos = ships.step(ships.action_space.sample())
    >>> observations.shape, rewards.shape
    ((64, 6), (64,))
    """

    metadata: dict[str, Any] = {"render_modes": [], "autoreset_mode": AutoresetMode.NEXT_STEP}  # noqa: RUF012

    def __init__(self, num_envs: int = 1, *, max_episode_steps: int = MAX_STEPS, symmetric: bool = False) -> None:
        for name, count in (("num_envs", num_envs), ("max_episode_steps", max_episode_steps)):
            validation.count(name, count)
        self.num_envs, self.max_episode_steps = int(num_envs), int(max_episode_steps)
        flag("symmetric", symmetric)
        self.symmetric, self.periodic_actions = bool(symmetric), not symmetric
        self.single_observation_space, self.single_action_space = spaces(self.symmetric)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self._started = False
        self._position = np.zeros((2, self.num_envs))
        self._to_goal = np.zeros(self.num_envs)
        self._steps = np.zeros(self.num_envs, dtype=np.int64)
        self._ended = np.zeros(self.num_envs, dtype=np.bool_)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Single, dict[str, Any]]:
        super().reset(seed=seed)
        if options is not None and type(options) is not dict:
            raise lsip.ModelError(f"`options` is a dictionary, or None; got {shown(options)}.")
        mask = (options or {}).get("reset_mask")
        if mask is None:
            mask = np.ones(self.num_envs, dtype=np.bool_)
        elif np.shape(mask) != (self.num_envs,) or np.asarray(mask).dtype != np.bool_:
            raise lsip.ModelError(
                f'`options["reset_mask"]` is an array of {self.num_envs} booleans; got {np.asarray(mask).dtype} of '
                f"shape {np.shape(mask)}."
            )
        elif not self._started and not np.all(mask):
            raise gymnasium.error.ResetNeeded("The first `reset` is for all copies; leave out `reset_mask`.")
        self._started = True
        self._position[:, mask] = 0.0
        self._steps[mask] = 0
        self._ended[mask] = False
        return self._observe(), {}

    def step(self, actions: ArrayLike) -> tuple[Single, Array, Flags, Flags, dict[str, Any]]:
        if not self._started:
            raise gymnasium.error.ResetNeeded("The ships have not started yet: call `reset` first.")
        x, y = self._position
        position = np.array(moved(x, y, self._headings(actions), np))
        np.minimum(np.maximum(position, 0.0, out=position), 1.0, out=position)
        if self.symmetric:
            position.sort(axis=0)
        rewards = -STEP_COST * DIAGONAL * self._to_goal - STEP_COST
        self._steps += 1
        restarted = self._ended
        for values in (position, rewards, self._steps):
            np.copyto(values, 0, where=restarted)
        self._position = position
        observations = self._observe()
        terminated = self._to_goal <= ARRIVAL / DIAGONAL
        truncated = self._steps >= self.max_episode_steps
        np.add(rewards, PRIZE, out=rewards, where=terminated)
        self._ended = terminated | truncated
        return observations, rewards, terminated, truncated, {}

    def constraint(self) -> rl.SemiInfiniteCost:
        """What the ships must keep to: `envs.ship.constraint()`."""
        return constraint()

    def _headings(self, actions: ArrayLike) -> Array:
        angles = numbers(actions, "Headings", nan=True)
        if angles.shape != (self.num_envs, 1):
            raise lsip.ModelError(f"Actions are one heading a ship, shape ({self.num_envs}, 1); got {angles.shape}.")
        headings: Array = angles[:, 0]
        if not np.isfinite(headings).all():
            raise lsip.ModelError(f"Headings are finite angles; got {headings[~np.isfinite(headings)][0]}.")
        return headings.clip(0.0, math.pi / 2) if self.symmetric else headings

    def _observe(self) -> Single:
        x, y = self._position
        angles, distances = bearing(x, y, TWICE, np)  # (2, n): to D, to the MPA
        self._to_goal = distances[0]
        seen = np.empty((self.num_envs, 6), dtype=np.float32)
        seen[:, :2] = self._position.T
        seen[:, 2::2] = angles.T
        seen[:, 3::2] = distances.T
        return seen


# ---- the constraint --------------------------------------------------------------------------------------------------


@checked(most=Natural)
def constraint(*, gamma: float = 1.0, most: int = 500) -> rl.SemiInfiniteCost:
    """The continuum of constraints: c_y(s) and u_y for all places y of the sea.

    Parameters
    ----------
    gamma
        How costs are discounted.
    most
        The cost peaks where ships have been, and the bound is lowest at the MPA. These places are named as candidates
        for the worst one: the MPA, and at most so many of the positions, those nearest to it.

    Examples
    --------
    >>> c = constraint()
    >>> c.bounds(np.array([[0.5, 0.5]])).round(4).tolist()
    [0.02]
    >>> c.steps(np.array([[0.1, 0.0]]), np.zeros((1, 6)), np.zeros((1, 1))).round(4).tolist()
    [[0.1353]]
    """

    def candidates(observations: NDArray[Any]) -> Array:
        places = np.asarray(observations, dtype=float)[:, :2]
        distinct = np.unique(places @ np.array([1, 1j]))  # as complex numbers: much faster than by rows
        nearest = distinct[np.argsort(np.abs(distinct - complex(MPA, MPA)), kind="stable")[:most]]
        return np.concatenate([[(MPA, MPA)], np.stack([nearest.real, nearest.imag], axis=1)])

    domain = lsip.Box([0, 0], [1, 1])
    slopes = DECAY * DIAGONAL, GROWTH * DECAY * DIAGONAL * math.exp(DECAY / DIAGONAL)  # in the sup norm
    return rl.SemiInfiniteCost(
        domain, _cost, _bound, gamma=gamma, candidates=candidates, range=(0.0, 1.0), lipschitz=slopes
    )


def _cost(y: Array, observations: Array, actions: Array) -> Array:
    positions = observations[:, :2]
    return _pollution(y, positions.astype(float) if isinstance(positions, np.ndarray) else positions)


def _pollution(y: Array | lsip.Expression, positions: Array) -> Array:
    """c_y(s) for places (N, 2) and positions (B, 2): shape (N, B)."""
    if not isinstance(y, np.ndarray):  # an expression, or what is on a device
        return np.exp(-DECAY * np.linalg.norm(y.reshape(len(y), 1, 2) - positions, axis=-1))
    places = np.asarray(y, dtype=float)
    found = np.empty((len(places), len(positions)))
    across, along = np.ascontiguousarray(positions.T)
    work = np.empty(len(positions))
    for row, (u, v) in zip(found, places, strict=True):  # a row at a time stays in the cache, and needs no slow hypot
        np.subtract(across, u, out=row)
        np.multiply(row, row, out=row)
        np.subtract(along, v, out=work)
        np.multiply(work, work, out=work)
        np.add(row, work, out=row)
        np.sqrt(row, out=row)
        np.multiply(row, -DECAY, out=row)
        np.exp(row, out=row)
    return found


def _bound(y: Array) -> Array:
    return BASE + GROWTH * np.exp(DECAY * np.linalg.norm(y - MPA, axis=1))


# ---- routes ----------------------------------------------------------------------------------------------------------


def route(headings: ArrayLike) -> tuple[Array, float]:
    """Sail by a list of headings, until D, the end of the list or the hundredth step.

    Returns
    -------
    The positions s_0, …, s_T, shape (T + 1, 2), and the sum of rewards.

    Examples
    --------
    >>> positions, total = route(reference_routes()["straight line"])
    >>> len(positions) - 1, round(total, 3)
    (14, 2.53)
    """
    ship, total = ShipRoute(), 0.0
    ship.reset()
    for heading in numbers(headings, "Headings").ravel()[:MAX_STEPS]:
        _, reward, arrived, _, _ = ship.step([heading])
        total += reward
        if arrived:
            break
    return np.array(ship.positions), total


def violations(positions: ArrayLike, y: ArrayLike) -> Array:
    """V_{c_y} - u_y at places y (N, 2) for a route s_0, …, s_T (T + 1, 2); its last position pollutes no more."""
    places = as_points(y, 2)
    return _pollution(places, as_points(positions, 2)[:-1]).sum(axis=1) - _bound(places)


def reference_routes() -> dict[str, Array]:
    """Headings of two routes to compare with.

    The straight line is the shortest and pollutes the MPA; on the curve y = x^4 all positions meet the constraint.
    """
    return {"straight line": np.full(14, math.pi / 4), "curve y = x^4": _along_curve()}


def _along_curve() -> Array:
    """Headings from point to point of y = x^4, a step's length apart, until D is near."""
    from scipy.optimize import brentq

    x, headings = 0.0, []
    while math.hypot(1 - x, 1 - x**4) > ARRIVAL:
        here = x
        x = brentq(lambda u, here=here: math.hypot(u - here, u**4 - here**4) - SPEED, here, here + SPEED)
        headings.append(math.atan2(x**4 - here**4, x - here))
    return np.array(headings)


@checked(axes=rl.plotting.Panel)
def draw(axes: Axes, positions: Array) -> None:
    """The route, the MPA and D over a map of (V_{c_y} - u_y)_+."""
    side, positions = np.linspace(0, 1, MESH), as_points(positions, 2)
    if not len(positions):
        raise lsip.ModelError("`positions` are those of a route, (N, 2); got none.")
    mesh = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    heat = rl.plotting.heat(violations(positions, mesh), "positive").reshape(MESH, MESH)
    axes.pcolormesh(side, side, heat, shading="gouraud", cmap="OrRd", vmin=0.0, vmax=HOT)
    style: dict[str, Any] = {"clip_on": False, "linestyle": "none", "zorder": 4}
    axes.plot(*positions.T, "o-", color=rl.plotting.BLUE, markersize=4, linewidth=1.5, clip_on=False, zorder=3)
    axes.plot(*positions[-1], "o", color=rl.plotting.BLUE, markersize=8, markeredgecolor="white", **style)
    axes.plot(MPA, MPA, "P", color="#047857", markersize=9, markeredgecolor="white", label="MPA", **style)
    axes.plot(GOAL, GOAL, "*", color="#d97706", markersize=14, markeredgecolor="white", label="D", **style)
    axes.set(xlim=(0, 1), ylim=(0, 1), aspect="equal", xlabel="$y_1$", ylabel="$y_2$")
    axes.legend(loc="upper left")
