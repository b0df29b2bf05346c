"""`lsip demo`: clean air over a whole town at least cost, from the model to a certified answer and a picture."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..domains import Box
from ..errors import MissingExtraError
from ..expressions import Index, Variable
from ..files import make_folder
from ..model.constraints import forall, minimize
from ..model.problem import Problem
from .arguments import tell

if TYPE_CHECKING:
    from ..model.method import Answer


def factories() -> NDArray[np.float64]:
    """Where five factories stand in a town [0, 1]^2."""
    return np.array([[0.15, 0.25], [0.35, 0.75], [0.55, 0.40], [0.80, 0.70], [0.85, 0.15]])


def clean_air() -> Problem:
    """Cut emissions by fractions x at least cost so that the concentration respects the limit at *every* point y.

    The concentration at y is the sum over factories of e_s (1 - x_s) / (1 + 30 |y - p_s|^2).
    """
    places = factories()
    emissions = np.array([1.0, 0.8, 1.2, 0.9, 0.7])
    costs = np.array([2.0, 3.0, 5.0, 2.5, 1.0])  # of cutting all of them
    school = np.array([0.62, 0.58])  # Around it the limit is stricter.
    x = Variable(len(places), name="x", lower=0, upper=1)
    y = Index("y", Box([0, 0], [1, 1]))
    reach = 1 / (1 + 30 * ((y - places) ** 2).sum(axis=-1))
    limit = 1 - 0.4 * np.exp(-12 * ((y - school) ** 2).sum())
    return Problem(minimize(costs @ x), [forall(y, (emissions * reach) @ (1 - x) <= limit)], name="clean air")


def run(out: Path) -> Answer:
    """Model, solve, verify, explain, and draw; returns the solution."""
    make_folder(out)
    problem = clean_air()
    tell("Clean air over a town: five factories may have to cut their emissions by fractions x, at least cost, so that")
    tell("the concentration stays below a limit at every point y of the town, stricter around a school.\n")
    tell(f"{problem}\n")
    solution = problem.solve()
    solution.verify()
    tell("\nThe proof was re-checked without the solver.\n")
    for s, (place, cut) in enumerate(zip(factories(), solution.x, strict=True)):
        tell(f"  factory {s} at ({place[0]:.2f}, {place[1]:.2f}) cuts {100 * cut:5.1f} % of its emissions")
    tell("\nWhat it costs to keep the limit, and where (the dual measure):")
    for active in solution.active:
        tell(f"  y = ({active.point[0]:.6f}, {active.point[1]:.6f})   multiplier {active.multiplier:.6f}")
    picture = out / "demo.png"
    try:
        solution.plot(picture)
        tell(f"\nA picture of the violation over the town, with these points, is in {picture}")
    except MissingExtraError as missing:
        tell(f"\nThere is no picture: {missing}")
    return solution
