"""How many index points a search over Y needs, and how often SI-CRL iterates."""

from __future__ import annotations

import math
from typing import SupportsFloat

from lsip.validation import Flag, checked

from .arguments import count, discount, positive, probability, size
from .assumptions import IndexSet
from .bound import Bound, bounded
from .logarithms import log, power, whole
from .samples import log_tests

REGULAR = "if a maximiser lies that deep in Y (Assumption_regular_maxima)"


@checked(index=IndexSet, sharp=Flag)
def iterations_sicrl(
    states: int, actions: int, index: IndexSet, *, gamma: float, eps: float, sharp: bool = False
) -> Bound:
    """Iterations T after which SI-CRL has stopped with an eps-optimal solution of the optimistic problem.

    Lemma_Iteration_Comlexity_General with tolerance eta = eps/2 and inner searches that are right within eps/2, as in
    Theorem_Iteration_Complexity_Random_Search and Theorem_Iteration_Complexity_Projected_GD: index points that are
    added before the end, and y_0, are more than eps/(2 beta) apart, so that

        T = ceil(2 diam(Y) beta / eps)^m,   beta = 2 |S|^2 |A| L_y / (1 - gamma).

    The proof has the packing number without rounding up, which misses the balls that stick out of Y: there is always
    room for one point. "eps-optimal" here means that no constraint is violated by more than eps and that the value is
    not below the optimum; the absolute values in Definition_Optimal_Solution are not what the lemma proves.

    Parameters
    ----------
    sharp
        Use beta = (2 - gamma) L_y / (1 - gamma). Since z sums to one, the violation z . c_y / (1 - gamma) - u_y is
        that Lipschitz, whatever the number of states.
    """
    value = power(_sides_sicrl(index, _log_beta(states, actions, index, gamma, sharp), eps), index.dimension)
    note = "with tolerance eta = eps/2 and inner accuracy eps/2"
    return bounded(value, "iterations", "Lemma_Iteration_Comlexity_General", note=note)


@checked(index=IndexSet, sharp=Flag)
def grid_size_sicrl(
    states: int,
    actions: int,
    index: IndexSet,
    *,
    gamma: float,
    eps: float,
    delta: float,
    iterations: SupportsFloat | None = None,
    sharp: bool = False,
) -> Bound:
    """Points M of every random search with which SI-CRL is right with probability 1 - delta.

    Theorem_Iteration_Complexity_Random_Search: in each of the T iterations a point must fall within eps/(2 beta) of a
    maximiser, but for a probability of delta/T:

        M = ceil(log(delta/T) / log(1 - p)),   p = (eps/beta)^m / vol(Y) >= (eps / (beta diam(Y)))^m.

    Parameters
    ----------
    iterations
        The number T of iterations to cover; None for that of `iterations_sicrl`.
    sharp
        As for `iterations_sicrl`.
    """
    log_beta = _log_beta(states, actions, index, gamma, sharp)
    if iterations is None:
        log_t = index.dimension * math.log(_sides_sicrl(index, log_beta, eps))
    else:
        log_t = math.log(size(iterations))
    log_failure = math.log(probability("delta", delta)) - log_t
    value = random_points(index, math.log(positive("eps", eps)) - math.log(2) - log_beta, log_failure)
    return bounded(value, "points", "Theorem_Iteration_Complexity_Random_Search", note=REGULAR)


@checked(index=IndexSet, sharp=Flag)
def pga_steps_sicrl(
    states: int, actions: int, index: IndexSet, *, gamma: float, eps: float, sharp: bool = False
) -> Bound:
    """Steps T_PGA of every projected subgradient ascent of SI-CRL, for c_y concave and u_y convex in y.

    Theorem_Iteration_Complexity_Projected_GD: accuracy eps/2 takes

        T_PGA = ceil(4 m diam(Y)^2 beta^2 / eps^2)   with steps sqrt(m) diam(Y) / (beta sqrt(T_PGA)).

    The proof puts the sup-norm radius diam(Y)/2 into a theorem that wants the Euclidean distance from the first point
    to the maximiser; from an arbitrary first point that is up to sqrt(m) diam(Y). The same holds for the step size in
    Algorithm_projected_GD, which also lacks the |S|, |A| and gamma of beta. `sharp` is as for `iterations_sicrl`.
    """
    log_beta = _log_beta(states, actions, index, gamma, sharp)
    return pga_steps(index, log_beta, eps, "Theorem_Iteration_Complexity_Projected_GD")


@checked(index=IndexSet)
def packing_number(index: IndexSet, *, separation: float) -> Bound:
    """The most points in Y that are pairwise more than `separation` apart in the sup norm.

    ceil(diam(Y) / separation)^m, from the proof of Lemma_Iteration_Comlexity_General, rounded up. Attained on cubes.
    """
    sides = whole(math.log(index.diameter) - math.log(positive("separation", separation)))
    return bounded(power(sides, index.dimension), "points", "Lemma_Iteration_Comlexity_General")


@checked(index=IndexSet)
def grid_size(index: IndexSet, *, radius: float, failure: float) -> Bound:
    """Uniform points M of which one is within `radius` of a given point, but for a probability of `failure`.

    The smallest M with (1 - p)^M <= failure and p = (2 radius)^m / vol(Y), from the proof of
    Theorem_Iteration_Complexity_Random_Search. The given point is at least `radius`, or `index.interior`, deep in Y.
    """
    log_failure = math.log(probability("failure", failure))
    value = random_points(index, math.log(positive("radius", radius)), log_failure)
    return bounded(value, "points", "Theorem_Iteration_Complexity_Random_Search", note=REGULAR)


def _log_beta(states: int, actions: int, index: IndexSet, gamma: float, sharp: bool) -> float:
    """The logarithm of the Lipschitz constant in y of the violation that SI-CRL maximises."""
    states, actions, gamma = count("states", states), count("actions", actions), discount(gamma)
    factor = math.log(2 - gamma) if sharp else log_tests(states, actions)
    return factor + math.log(index.lipschitz) - math.log1p(-gamma)


def _sides_sicrl(index: IndexSet, log_beta: float, eps: float) -> float:
    """ceil(2 diam(Y) beta / eps): how many points more than eps/(2 beta) apart fit along a side of Y."""
    return whole(math.log(2) + math.log(index.diameter) + log_beta - math.log(positive("eps", eps)))


def random_points(index: IndexSet, log_radius: float, log_failure: float) -> float:
    """How many random points hit a box of this radius around a maximiser, but for this probability."""
    log_p = index.dimension * (math.log(2) + min(log_radius, log(index.interior))) - index.log_volume
    if log_p >= 0:
        return 1.0
    p = math.exp(log_p)
    log_miss = math.log(-math.log1p(-p)) if p > 1e-300 else log_p  # -log(1 - p) is p when p is tiny
    return whole(math.log(-log_failure) - log_miss)


def pga_steps(index: IndexSet, log_beta: float, eps: float, theorem: str) -> Bound:
    """Steps of projected subgradient ascent on a function that is exp(log_beta)-Lipschitz."""
    log_distance = math.log(index.dimension) / 2 + math.log(index.diameter)
    log_steps = 2 * (log_distance + log_beta + math.log(2) - math.log(positive("eps", eps)))
    return bounded(whole(log_steps), "steps", theorem, note="if c_y is concave and u_y convex in y")
