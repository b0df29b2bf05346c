"""Underwater Drone: tasks at the bottom of the sea, and a battery that must do whatever the water turns out to be like.

The drone moves on a grid of cells, and state s = (cell, task) also tells where its present task is. When it has
surveyed that place it earns the value of the task, and the next task is drawn from the others. The water is unknown
when the policy is chosen. Its feature eps = (w, z) is a current w, in a disc, and the depth z of the thermocline, the
layer in which the current flows: a cell at depth h feels k_z(h) w with k_z(h) = exp(-((h - z) / thickness)^2). To go
at ground speed v_a takes thrust against the water, whose power grows with the cube of the speed through water,

    c_eps(s, a) = (idle + instruments [a = survey] + drag |v_a - k_z(h_s) w|^3) / most   in [0, 1],

where v_a is a unit vector for the four moves, and zero for a survey, in which the drone holds its place against the
current; `most` is the power of a move against the whole current. To rest is to lie on the ground, which takes `idle`
only. The battery is the weaker the more of the water is cold, which is when the thermocline is high (z = 0 is the
surface, z = 1 the deepest ground):

    u_eps = (e + battery (1 - e) (1 - fade (1 - z))) / (1 - gamma),   e = idle / most.

Rest for ever uses e / (1 - gamma). For every eps that is less than u_eps, by battery (1 - e) (1 - fade) / (1 - gamma)
or more, so the model is feasible by construction. Features are the index set E, a disc times an interval.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import lsip
import rl
from rl import validation
from rl.validation import Seed

Array = NDArray[np.float64]
ACTIONS = ("survey", "rest", "north", "east", "south", "west")
VELOCITY = np.array([[0, 0], [0, 0], [0, 1], [1, 0], [0, -1], [-1, 0]])  # (east, north) for each action
SURVEY, REST = 0, 1
IDLE, INSTRUMENTS, DRAG = 0.2, 0.3, 1.0  # power of the electronics, of the sensors, and at unit speed through water


class Drone(rl.SICMDP):
    """The model of `drone`, which also knows its map; state cell * tasks + task, cell = row * columns + column."""

    depths: Array  # (cells,), in [0, 1]
    tasks: NDArray[np.int64]  # (tasks,), the cell of each
    values: Array  # (tasks,), in [1/2, 1]


def drone(
    rows: int = 3,
    columns: int = 3,
    tasks: int = 3,
    gamma: float = 0.9,
    *,
    seed: Seed = 0,
    current: float = 0.5,
    thickness: float = 0.3,
    battery: float = 0.3,
    fade: float = 0.3,
    slip: float = 0.1,
) -> Drone:
    """Underwater Drone on a map at random.

    The actions are survey, rest, and moves to the north, east, south and west; a move off the map stays where it is.

    Parameters
    ----------
    rows, columns, tasks, gamma
        Size of the map, number of cells with a task (two or more), the discount factor: rows * columns * tasks states.
    seed
        An integer or a NumPy generator: depths of the cells, places and values of the tasks.
    current
        Largest speed of the current, in units of the drone's own speed: the radius of the disc.
    thickness
        Of the layer in which the current flows, in units of the largest depth.
    battery
        Mean power that the battery can give for ever in warm water, in (0, 1]: near 0 little but rest.
    fade
        Which share of it is lost when all of the water is cold, in [0, 1).
    slip
        Probability that a move fails, and that a survey does; the drone then stays, and its energy is spent.

    Examples
    --------
    >>> import envs
    >>> mdp = envs.drone(rows=2, columns=2, tasks=2)
    >>> mdp
    SICMDP with 8 states, 6 actions, discount 0.9, and a constraint for every y in B((0, 0), 0.5) × [0, 1]
    """
    rows, columns, tasks = _check(rows, columns, tasks)
    cells = rows * columns
    current = validation.number("current", current, "positive")
    thickness = validation.number("thickness", thickness, "positive")
    battery = validation.number("battery", battery)
    if not 0 < battery <= 1:
        raise lsip.ModelError(f"`battery` is a mean power, 0 < battery <= 1; got {battery}.")
    shares = {"fade": fade, "slip": slip, "gamma": gamma}
    fade, slip, gamma = (validation.number(name, share, "discount") for name, share in shares.items())
    validation.fits("The transition probabilities", cells, cells, 2**tasks if tasks < 64 else 2**64)
    rng = validation.generator(seed)
    depths = rng.uniform(size=cells)
    places = rng.choice(cells, size=tasks, replace=False)
    values = rng.uniform(0.5, 1, size=tasks)

    eps = lsip.Index("eps", lsip.Ball([0, 0], current) * lsip.Interval(0, 1))
    w, z = eps[:2], eps[2]
    felt = np.exp(-(((depths - z) / thickness) ** 2))[:, None, None] * w  # (cells, 1, 2)
    thrust = DRAG * ((VELOCITY - felt) ** 2).sum(axis=-1) ** 1.5  # (cells, actions)
    action = np.arange(len(ACTIONS))
    most = IDLE + DRAG * (1 + current) ** 3  # a move against the whole current
    power = (IDLE + INSTRUMENTS * (action == SURVEY) + (action != REST) * thrust) / most
    idle = IDLE / most
    bound = (idle + battery * (1 - idle) * (1 - fade * (1 - z))) / (1 - gamma)
    P, r = _transitions(rows, columns, places, values, slip)
    mdp = Drone(P, r, power[np.repeat(np.arange(cells), tasks)], bound, eps, None, gamma)
    mdp.depths, mdp.tasks, mdp.values = depths, places, values
    return mdp


def _check(rows: int, columns: int, tasks: int) -> tuple[int, int, int]:
    rows, columns = validation.count("rows", rows), validation.count("columns", columns)
    tasks = validation.count("tasks", tasks, 2)
    if tasks > rows * columns:
        raise lsip.ModelError(f"A map of {rows} x {columns} cells has no room for {tasks} tasks, each in its own cell.")
    return rows, columns, tasks


def _transitions(rows: int, columns: int, places: NDArray[np.int64], values: Array, slip: float) -> tuple[Array, Array]:
    """P (S, A, S) and r (S, A)."""
    cells, tasks = rows * columns, len(places)
    P, r = np.zeros((cells, tasks, len(ACTIONS), cells, tasks)), np.zeros((cells, tasks, len(ACTIONS)))
    t = np.arange(tasks)
    for cell in range(cells):
        row, column = divmod(cell, columns)
        for a, (east, north) in enumerate(VELOCITY):
            inside = 0 <= row + north < rows and 0 <= column + east < columns
            target = cell + north * columns + east if inside else cell
            P[cell, t, a, cell, t] += slip
            P[cell, t, a, target, t] += 1 - slip
    for task, place in enumerate(places):  # a survey in the right place: the next task is one of the others
        r[place, task, SURVEY] = (1 - slip) * values[task]
        P[place, task, SURVEY, place, task] = slip
        P[place, task, SURVEY, place, t != task] = (1 - slip) / (tasks - 1)
    states = cells * tasks
    return P.reshape(states, len(ACTIONS), states), r.reshape(states, len(ACTIONS))
