"""How many samples SI-CRL needs, and what so many guarantee."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import SupportsFloat

from lsip import ModelError
from lsip.validation import Flag, Natural, checked, double, shown

from .arguments import count, discount, positive, probability, size
from .bound import Bound, bounded
from .logarithms import SNAP, times, whole


@dataclass(frozen=True)
class BinaryTree:
    """The size of a model with at most two successors that is equivalent to a given one; see `binary_tree`."""

    states: int
    actions: int
    depth: int
    gamma: float
    gap: float  # 1 - gamma, without cancellation


@checked(states=Natural, actions=Natural)
def optimistic_failure(states: int, actions: int, delta: float) -> Bound:
    """The probability 2 |S|^2 |A| delta that the true model is not in the optimistic set M_delta (Theorem_Feasible).

    Each of the |S|^2 |A| entries may fail Bernstein's or Hoeffding's inequality, with probability delta each. The
    width d_delta has P(1 - P) where the inequality has the sample variance, which is n/(n - 1) times larger; its
    second term 4 log(4/delta)/n has room for that. The theorem asks for n >= 3, which must mean samples of every pair;
    with fewer, the first width exceeds 1 and only Hoeffding's counts, so that one sample of each pair is enough.
    """
    tests = 2, count("states", states), states, count("actions", actions)
    value = min(1.0, times(probability("delta", delta), *tests))
    return bounded(value, "probability", "Theorem_Feasible", note="says nothing at this delta" if value == 1 else "")


@checked(states=Natural, actions=Natural)
def optimistic_delta(states: int, actions: int, failure: float) -> Bound:
    """The delta = failure / (2 |S|^2 |A|) at which M_delta misses the truth with probability `failure` at most.

    The inverse of `optimistic_failure` (Theorem_Feasible).

    >>> float(optimistic_delta(8, 4, 0.01)) == 0.005 / (8**2 * 4)
    True
    """
    tests = times(1.0, 2, count("states", states), states, count("actions", actions))
    return bounded(probability("failure", failure) / tests, "probability", "Theorem_Feasible")


@checked(states=Natural, actions=Natural, sharp=Flag)
def samples_two_successors(
    states: int, actions: int, *, gamma: float, eps: float, delta: float, sharp: bool = False
) -> Bound:
    """Samples n from a generative model that make SI-CRL (eps, delta)-optimal if pairs have at most two successors.

    Theorem_Sample_Complexity with the constants of Lemma_Bound_on_V: n = |S| |A| n_0 with the smallest whole n_0 for
    which, with L = log(4/delta') and delta' = delta / (2 |S|^2 |A|),

        n_0 > max{36 L / (1 - gamma)^2, 4 L / (1 - gamma)^3}   and   24 sqrt(L / (n_0 (1 - gamma)^3)) <= eps.

    The optimistic problem is solved exactly, and the optimistic set contains only models with the same two successors,
    which are known.

    Parameters
    ----------
    sharp
        Use 12 instead of 24. The 24 compares both policies in the optimistic model and takes for granted that pi* is
        feasible there. It need not be; but the true model with pi* is a feasible pair of the optimistic problem, so
        that V* is at most the optimistic value, and one comparison of 12 is enough.

    Notes
    -----
    The 12 of Lemma_Bound_on_V_Same_Pi_Leading holds, although its proof drops the factor sqrt(2) of
    Lemma_Bound_of_Weighted_Variance: the terms are 4 sqrt(2), (2^(5/4) + sqrt(24 sqrt(2))) / sqrt(6) and 2 sqrt(2) in
    units of sqrt(L / (n_0 (1 - gamma)^3)) when the 2^(5/4) of the proof of Lemma_Distance_between_P_tilde_P is kept
    (its statement rounds it to 4). They add up to less than 11.84.
    """
    states, actions, gap = count("states", states), count("actions", actions), 1 - discount(gamma)
    each = _samples_a_pair(states, actions, gap, positive("eps", eps), probability("delta", delta), sharp)
    note = f"{each:,.0f} of each pair" if each < 1e15 else ""
    return bounded(times(each, states, actions), "samples", "Theorem_Sample_Complexity", note=note)


@checked(states=Natural, actions=Natural, sharp=Flag)
def samples_general(states: int, actions: int, *, gamma: float, eps: float, delta: float, sharp: bool = False) -> Bound:
    """Samples n from a generative model that make the modified SI-CRL (eps, delta)-optimal, whatever the successors.

    Theorem_Sample_Complexity_General: `samples_two_successors` for the model of `binary_tree`, with its |S'| states,
    |A| actions and discount factor gamma' instead of |S|, |A| and gamma; at most

        O(|S|^2 |A|^2 (log2 |S|)^3 log(8 |S|^4 |A|^3 / delta) / (eps^2 (1 - gamma)^3)).

    Notes
    -----
    The samples are of the larger model: n / (|S'| |A|) of every inner node of every tree. A sample of the original
    model walks down one tree and passes only the nodes above its successor, so that nodes of small probability would
    need more of them; the proof does not say how many. It also counts |A| actions at inner nodes, where they do not
    matter.
    """
    tree = binary_tree(states, actions, gamma)
    each = _samples_a_pair(tree.states, actions, tree.gap, positive("eps", eps), probability("delta", delta), sharp)
    return bounded(
        times(each, tree.states, actions),
        "samples",
        "Theorem_Sample_Complexity_General",
        note=f"of the model with two successors: {tree.states:,} states, trees of depth {tree.depth}",
    )


@checked(states=Natural, actions=Natural, sharp=Flag)
def samples_measure(
    states: int, actions: int, *, gamma: float, eps: float, delta: float, nu_min: float, sharp: bool = False
) -> Bound:
    """Samples (s, a) ~ nu, s' ~ P(. | s, a) that make the modified SI-CRL (eps, delta)-optimal.

    Theorem_Sample_Complexity_General_Measure: with probability 1 - delta/2 every pair is drawn at least n nu_min / 2
    times, and these are the samples of a pair that `samples_general` asks for with the other delta/2:

        n = ceil(2 samples_general(eps, delta/2) / (|S| |A| nu_min)).

    The first needs n >= 2 / (1 - log 2) log(2 |S| |A| / delta) / nu_min, which is at most a tenth of that n.
    The proof goes on with n nu_min samples of each pair where its own inequality has half of them; the half is used.
    What `samples_general` says about samples of the larger model applies here too.

    Parameters
    ----------
    nu_min
        The smallest nu(s, a), at most 1 / (|S| |A|). The paper takes the minimum over pairs with nu(s, a) > 0, but
        about pairs that are never drawn nothing is learnt.
    """
    log_nu = math.log(_least_share(states, actions, nu_min))
    general = samples_general(states, actions, gamma=gamma, eps=eps, delta=probability("delta", delta) / 2, sharp=sharp)
    enough = math.log(2) + math.log(general.value) - math.log(states * actions) - log_nu
    return bounded(
        whole(enough),
        "samples",
        "Theorem_Sample_Complexity_General_Measure",
        note="samples of pairs, counted as those of their trees",
    )


@checked(states=Natural, actions=Natural, sharp=Flag)
def error_two_successors(
    states: int, actions: int, *, gamma: float, n: SupportsFloat, delta: float, sharp: bool = False
) -> Bound:
    """The eps for which n samples of a generative model make SI-CRL (eps, delta)-optimal: two successors.

    The inverse of `samples_two_successors`: 24 sqrt(L / (n_0 (1 - gamma)^3)) with n_0 = floor(n / (|S| |A|)). Below the
    least n_0, or if it is smaller, 1/(1 - gamma), which holds for every policy: values are between 0 and that, and a
    feasible model has u_y >= 0.
    """
    states, actions, gap = count("states", states), count("actions", actions), 1 - discount(gamma)
    return _error(
        states, actions, gap, size(n), probability("delta", delta), sharp, 1 / gap, "Theorem_Sample_Complexity"
    )


@checked(states=Natural, actions=Natural, sharp=Flag)
def error_general(
    states: int, actions: int, *, gamma: float, n: SupportsFloat, delta: float, sharp: bool = False
) -> Bound:
    """The eps for which n samples of the model of `binary_tree` make the modified SI-CRL (eps, delta)-optimal.

    The inverse of `samples_general` (Theorem_Sample_Complexity_General); at most 1/(1 - gamma), which always holds.
    """
    tree, theorem = binary_tree(states, actions, gamma), "Theorem_Sample_Complexity_General"
    return _error(tree.states, actions, tree.gap, size(n), probability("delta", delta), sharp, 1 / (1 - gamma), theorem)


@checked(states=Natural, actions=Natural, sharp=Flag)
def error_measure(
    states: int, actions: int, *, gamma: float, n: SupportsFloat, delta: float, nu_min: float, sharp: bool = False
) -> Bound:
    """The eps for which n samples drawn with the measure nu make the modified SI-CRL (eps, delta)-optimal.

    The inverse of `samples_measure` (Theorem_Sample_Complexity_General_Measure): `error_general` with delta/2 for
    n nu_min / 2 samples of each pair; at most 1/(1 - gamma), which always holds.
    """
    drawn = size(n) * _least_share(states, actions, nu_min) / 2 * (states * actions) * (1 + SNAP)
    tree, share = binary_tree(states, actions, gamma), probability("delta", delta) / 2
    theorem = "Theorem_Sample_Complexity_General_Measure"
    return _error(tree.states, actions, tree.gap, drawn, share, sharp, 1 / (1 - gamma), theorem)


@checked(states=Natural, actions=Natural)
def binary_tree(states: int, actions: int, gamma: float) -> BinaryTree:
    """The model with at most two successors that Theorem_Sample_Complexity_General puts in place of any other.

    Every pair (s, a) becomes the root of a balanced binary tree whose |S| leaves are the next states: |S| - 2 new
    states a pair. The depth is d = ceil(log2 |S|); leaves one level too high first pass a waiting state, and those
    2^d - |S| states are shared by all trees, so that every transition takes d steps. For |S| >= 2 this makes

        |S'| = |S| |A| (|S| - 2) + 2^d <= |S|^2 |A|   and   gamma' = gamma^(1/d), 1 - gamma' >= (1 - gamma)/d.

    New states have no reward and no cost, and all values are the same. (The proof says gamma' < gamma^d; with d steps
    for one, it is the d-th root that keeps values and gives the 1/(1 - gamma') that the proof goes on with.)
    """
    states, actions, gamma = count("states", states), count("actions", actions), discount(gamma)
    depth = max(1, (states - 1).bit_length())
    size = states * actions * (states - 2) + 2**depth if states >= 2 else states
    if gamma == 0:
        return BinaryTree(size, actions, depth, 0.0, 1.0)
    return BinaryTree(size, actions, depth, gamma ** (1 / depth), -math.expm1(math.log(gamma) / depth))


def log_tests(states: int, actions: int) -> float:
    """log(2 |S|^2 |A|): the inequalities in the union bound of Theorem_Feasible."""
    return math.log(2) + 2 * math.log(states) + math.log(actions)


def _log_confidence(states: int, actions: int, delta: float) -> float:
    """log L, L = log(4/delta') with delta' = delta / (2 |S|^2 |A|)."""
    return math.log(math.log(4) + log_tests(states, actions) - math.log(delta))


def _log_burn_in(states: int, actions: int, gap: float, delta: float) -> float:
    """The logarithm of max{36 L / (1 - gamma)^2, 4 L / (1 - gamma)^3}, which n_0 must exceed."""
    worst = max(math.log(36) - 2 * math.log(gap), math.log(4) - 3 * math.log(gap))
    return _log_confidence(states, actions, delta) + worst


def _samples_a_pair(states: int, actions: int, gap: float, eps: float, delta: float, sharp: bool) -> float:
    log_c = math.log(12 if sharp else 24)
    enough = 2 * (log_c - math.log(eps)) + _log_confidence(states, actions, delta) - 3 * math.log(gap)
    return max(whole(enough), whole(_log_burn_in(states, actions, gap, delta), strict=True))


def _error(
    states: int, actions: int, gap: float, n: float, delta: float, sharp: bool, trivial: float, theorem: str
) -> Bound:
    pairs = states * actions
    each = n // pairs if n >= pairs else 0.0
    if not each or math.log(each) <= _log_burn_in(states, actions, gap, delta):
        note = "too few samples for the theorem: this holds for every policy"
        return bounded(trivial, "discounted return", theorem, note=note)
    log_c = math.log(12 if sharp else 24)
    value = math.exp(log_c + (_log_confidence(states, actions, delta) - math.log(each) - 3 * math.log(gap)) / 2)
    note = "the theorem gives more: this holds for every policy" if value >= trivial else ""
    return bounded(min(value, trivial), "discounted return", theorem, note=note)


def _least_share(states: int, actions: int, nu_min: float) -> float:
    most = 1 / (count("states", states) * count("actions", actions))
    if not 0 < double(nu_min) <= most * (1 + 1e-9):
        raise ModelError(
            f"`nu_min` must be the smallest probability of a pair, in (0, 1/(|S||A|)] = (0, {most:g}]; got "
            f"{shown(nu_min)}. Every pair must be drawn: leave out pairs that never occur, or count them in nu."
        )
    return float(nu_min)
