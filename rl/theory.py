"""The paper's guarantees as calculators: how many samples, iterations, paths or points give which accuracy.

| question | function |
| --- | --- |
| does the optimistic set contain the truth? | `optimistic_failure`, `optimistic_delta` |
| how many samples does SI-CRL need? | `samples_two_successors`, `samples_general`, `samples_measure` |
| what do n samples guarantee? | `error_two_successors`, `error_general`, `error_measure` |
| how large is the model with two successors? | `binary_tree` |
| how often does SI-CRL iterate, how fine is its search? | `iterations_sicrl`, `grid_size_sicrl`, `pga_steps_sicrl` |
| how is SI-CPO to be set? | `tolerance_sicpo`, `iterations_sicpo`, `learning_rate_sicpo`, `horizon_sicpo`, |
| | `evaluation_paths_sicpo`, `sgd_steps_sicpo`, `grid_size_sicpo`, `pga_steps_sicpo` |
| how often does SI-CPO touch the environment? | `interactions_sicpo` |
| points that are far apart; points that hit a box | `packing_number`, `grid_size` |

These are worst-case guarantees: sufficient, rarely necessary, often astronomically large. Rewards and costs lie in
[0, 1], so values lie in [0, 1/(1 - gamma)]; distances in Y are in the sup norm. Theorems are named by their labels in
the paper. Where a proof there has a slip, the function uses what the repaired proof gives, and its docstring says so.

`sharp=True` replaces a constant of the paper by a smaller one that is proven too.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import SupportsFloat, SupportsIndex

from lsip import ModelError
from lsip.validation import NO_NUMBERS, Flag, checked, double, shown

LARGEST = math.log(sys.float_info.max)
REGULAR = "if a maximiser lies that deep in Y (Assumption_regular_maxima)"
SNAP = 1e-12  # a number this close to a whole one, relatively, is that whole one and a rounding error


@dataclass(frozen=True)
class Bound:
    """A number that the theory gives, and where it comes from.

    >>> print(optimistic_failure(8, 4, 1e-5))
    0.00512 probability [Theorem_Feasible, explicit constants]
    """

    value: float
    units: str
    theorem: str  # the label in the paper
    exact: bool  # whether the proof gives every constant; otherwise only the order of growth is known
    note: str

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        plain = 1 <= self.value < 1e15 and self.value == round(self.value)
        number = f"{self.value:,.0f}" if plain else f"{self.value:.4g}"
        source = f"{self.theorem}, {'explicit constants' if self.exact else 'up to a constant'}"
        return f"{number} {self.units} [{source}]{': ' if self.note else ''}{self.note}"


@dataclass(frozen=True)
class IndexSet:
    """The index set Y, and how c_y and u_y vary over it (Assumption_Lipschitz, Assumption_regular_maxima)."""

    dimension: int  # m
    diameter: float  # diam(Y) in the sup norm: the longest side of the bounding box
    lipschitz: float  # L_y: of every c_y(s, a) and of u_y, in the sup norm
    volume: float | None = None  # vol(Y); None for the most that it can be, diam(Y)^m
    interior: float = math.inf  # epsilon_0: a maximiser lies at least so deep in Y; inf for "deep enough"

    def __post_init__(self) -> None:
        _count("dimension", self.dimension)
        _positive("diameter", self.diameter)
        _positive("lipschitz", self.lipschitz)
        if _real(self.interior) != math.inf:
            _positive("interior", self.interior)
        if self.volume is not None:
            _positive("volume", self.volume)
            if math.log(self.volume) > self.dimension * math.log(self.diameter) + 1e-9:
                raise ModelError(
                    f"`volume` must be at most diameter ** dimension, since Y fits in a box of that size; got "
                    f"{self.volume:g} for {self.diameter:g} ** {self.dimension}. Give the diameter in the sup norm."
                )

    @property
    def log_volume(self) -> float:
        """The logarithm of vol(Y), or of its bound diam(Y)^m."""
        return self.dimension * math.log(self.diameter) if self.volume is None else math.log(self.volume)


@dataclass(frozen=True)
class PolicyClass:
    """The constants of the assumptions on the policy class and on the natural gradient of SI-CPO."""

    actions: int  # |A|; the first policy is uniform, so that its divergence from pi* is at most log |A|
    lipschitz: float  # L_pi: of log pi_theta(a | s) in theta
    smoothness: float  # beta: Lipschitz constant of the gradient of log pi_theta(a | s)
    fisher: float  # mu_F: least eigenvalue of the Fisher information
    weight: float  # W: largest norm of the weights of the compatible approximation
    bias: float = 0.0  # epsilon_bias: mean squared error of the best weights
    mismatch: float = 1.0  # sup nu*/nu_0, at least 1

    def __post_init__(self) -> None:
        _count("actions", self.actions)
        for name in ("lipschitz", "fisher", "weight"):
            _positive(name, getattr(self, name))
        for name, least in (("smoothness", 0.0), ("bias", 0.0), ("mismatch", 1.0)):
            value = getattr(self, name)
            if not least <= _real(value) < math.inf:
                raise ModelError(f"`{name}` must be finite and at least {least:g}; got {shown(value)}.")


@dataclass(frozen=True)
class BinaryTree:
    """The size of a model with at most two successors that is equivalent to a given one; see `binary_tree`."""

    states: int
    actions: int
    depth: int
    gamma: float
    gap: float  # 1 - gamma, without cancellation


# --- the optimistic set -------------------------------------------------------------------------------------------


def optimistic_failure(states: int, actions: int, delta: float) -> Bound:
    """The probability 2 |S|^2 |A| delta that the true model is not in the optimistic set M_delta (Theorem_Feasible).

    Each of the |S|^2 |A| entries may fail Bernstein's or Hoeffding's inequality, with probability delta each. The
    width d_delta has P(1 - P) where the inequality has the sample variance, which is n/(n - 1) times larger; its
    second term 4 log(4/delta)/n has room for that. The theorem asks for n >= 3, which must mean samples of every pair;
    with fewer, the first width exceeds 1 and only Hoeffding's counts, so that one sample of each pair is enough.
    """
    tests = 2 * _count("states", states) ** 2 * _count("actions", actions)
    value = min(1.0, tests * _probability("delta", delta))
    return _bound(value, "probability", "Theorem_Feasible", note="says nothing at this delta" if value == 1 else "")


def optimistic_delta(states: int, actions: int, failure: float) -> Bound:
    """The delta = failure / (2 |S|^2 |A|) at which M_delta misses the truth with probability `failure` at most.

    The inverse of `optimistic_failure` (Theorem_Feasible).

    >>> float(optimistic_delta(8, 4, 0.01)) == 0.005 / (8**2 * 4)
    True
    """
    tests = 2 * _count("states", states) ** 2 * _count("actions", actions)
    return _bound(_probability("failure", failure) / tests, "probability", "Theorem_Feasible")


# --- samples for SI-CRL -------------------------------------------------------------------------------------------


@checked(sharp=Flag)
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
    states, actions, gap = _count("states", states), _count("actions", actions), 1 - _discount(gamma)
    each = _samples_a_pair(states, actions, gap, _positive("eps", eps), _probability("delta", delta), sharp)
    note = f"{each:,.0f} of each pair" if each < 1e15 else ""
    return _bound(_times(each, states, actions), "samples", "Theorem_Sample_Complexity", note=note)


@checked(sharp=Flag)
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
    each = _samples_a_pair(tree.states, actions, tree.gap, _positive("eps", eps), _probability("delta", delta), sharp)
    return _bound(
        _times(each, tree.states, actions),
        "samples",
        "Theorem_Sample_Complexity_General",
        note=f"of the model with two successors: {tree.states:,} states, trees of depth {tree.depth}",
    )


@checked(sharp=Flag)
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
    general = samples_general(
        states, actions, gamma=gamma, eps=eps, delta=_probability("delta", delta) / 2, sharp=sharp
    )
    enough = math.log(2) + math.log(general.value) - math.log(states * actions) - log_nu
    return _bound(
        _whole(enough),
        "samples",
        "Theorem_Sample_Complexity_General_Measure",
        note="samples of pairs, counted as those of their trees",
    )


@checked(sharp=Flag)
def error_two_successors(
    states: int, actions: int, *, gamma: float, n: SupportsFloat, delta: float, sharp: bool = False
) -> Bound:
    """The eps for which n samples of a generative model make SI-CRL (eps, delta)-optimal: two successors.

    The inverse of `samples_two_successors`: 24 sqrt(L / (n_0 (1 - gamma)^3)) with n_0 = floor(n / (|S| |A|)). Below the
    least n_0, or if it is smaller, 1/(1 - gamma), which holds for every policy: values are between 0 and that, and a
    feasible model has u_y >= 0.
    """
    states, actions, gap = _count("states", states), _count("actions", actions), 1 - _discount(gamma)
    return _error(
        states, actions, gap, _size(n), _probability("delta", delta), sharp, 1 / gap, "Theorem_Sample_Complexity"
    )


@checked(sharp=Flag)
def error_general(
    states: int, actions: int, *, gamma: float, n: SupportsFloat, delta: float, sharp: bool = False
) -> Bound:
    """The eps for which n samples of the model of `binary_tree` make the modified SI-CRL (eps, delta)-optimal.

    The inverse of `samples_general` (Theorem_Sample_Complexity_General); at most 1/(1 - gamma), which always holds.
    """
    tree, theorem = binary_tree(states, actions, gamma), "Theorem_Sample_Complexity_General"
    return _error(
        tree.states, actions, tree.gap, _size(n), _probability("delta", delta), sharp, 1 / (1 - gamma), theorem
    )


@checked(sharp=Flag)
def error_measure(
    states: int, actions: int, *, gamma: float, n: SupportsFloat, delta: float, nu_min: float, sharp: bool = False
) -> Bound:
    """The eps for which n samples drawn with the measure nu make the modified SI-CRL (eps, delta)-optimal.

    The inverse of `samples_measure` (Theorem_Sample_Complexity_General_Measure): `error_general` with delta/2 for
    n nu_min / 2 samples of each pair; at most 1/(1 - gamma), which always holds.
    """
    drawn = _size(n) * _least_share(states, actions, nu_min) / 2 * (states * actions) * (1 + SNAP)
    tree, share = binary_tree(states, actions, gamma), _probability("delta", delta) / 2
    theorem = "Theorem_Sample_Complexity_General_Measure"
    return _error(tree.states, actions, tree.gap, drawn, share, sharp, 1 / (1 - gamma), theorem)


def binary_tree(states: int, actions: int, gamma: float) -> BinaryTree:
    """The model with at most two successors that Theorem_Sample_Complexity_General puts in place of any other.

    Every pair (s, a) becomes the root of a balanced binary tree whose |S| leaves are the next states: |S| - 2 new
    states a pair. The depth is d = ceil(log2 |S|); leaves one level too high first pass a waiting state, and those
    2^d - |S| states are shared by all trees, so that every transition takes d steps. For |S| >= 2 this makes

        |S'| = |S| |A| (|S| - 2) + 2^d <= |S|^2 |A|   and   gamma' = gamma^(1/d), 1 - gamma' >= (1 - gamma)/d.

    New states have no reward and no cost, and all values are the same. (The proof says gamma' < gamma^d; with d steps
    for one, it is the d-th root that keeps values and gives the 1/(1 - gamma') that the proof goes on with.)
    """
    states, actions, gamma = _count("states", states), _count("actions", actions), _discount(gamma)
    depth = max(1, (states - 1).bit_length())
    size = states * actions * (states - 2) + 2**depth if states >= 2 else states
    if gamma == 0:
        return BinaryTree(size, actions, depth, 0.0, 1.0)
    return BinaryTree(size, actions, depth, gamma ** (1 / depth), -math.expm1(math.log(gamma) / depth))


# --- iterations of SI-CRL -----------------------------------------------------------------------------------------


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
    value = _power(_sides_sicrl(index, _log_beta(states, actions, index, gamma, sharp), eps), index.dimension)
    note = "with tolerance eta = eps/2 and inner accuracy eps/2"
    return _bound(value, "iterations", "Lemma_Iteration_Comlexity_General", note=note)


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
        log_t = math.log(_size(iterations))
    log_failure = math.log(_probability("delta", delta)) - log_t
    value = _grid_size(index, math.log(_positive("eps", eps)) - math.log(2) - log_beta, log_failure)
    return _bound(value, "points", "Theorem_Iteration_Complexity_Random_Search", note=REGULAR)


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
    return _pga_steps(index, log_beta, eps, "Theorem_Iteration_Complexity_Projected_GD")


@checked(index=IndexSet)
def packing_number(index: IndexSet, *, separation: float) -> Bound:
    """The most points in Y that are pairwise more than `separation` apart in the sup norm.

    ceil(diam(Y) / separation)^m, from the proof of Lemma_Iteration_Comlexity_General, rounded up. Attained on cubes.
    """
    sides = _whole(math.log(index.diameter) - math.log(_positive("separation", separation)))
    return _bound(_power(sides, index.dimension), "points", "Lemma_Iteration_Comlexity_General")


@checked(index=IndexSet)
def grid_size(index: IndexSet, *, radius: float, failure: float) -> Bound:
    """Uniform points M of which one is within `radius` of a given point, but for a probability of `failure`.

    The smallest M with (1 - p)^M <= failure and p = (2 radius)^m / vol(Y), from the proof of
    Theorem_Iteration_Complexity_Random_Search. The given point is at least `radius`, or `index.interior`, deep in Y.
    """
    log_failure = math.log(_probability("failure", failure))
    value = _grid_size(index, math.log(_positive("radius", radius)), log_failure)
    return _bound(value, "points", "Theorem_Iteration_Complexity_Random_Search", note=REGULAR)


# --- SI-CPO -------------------------------------------------------------------------------------------------------


@checked(policy=PolicyClass)
def tolerance_sicpo(policy: PolicyClass, *, gamma: float, eps: float) -> Bound:
    """The tolerance eta = eps + 4 (1 - gamma)^(-3/2) sqrt(mismatch * bias) of SI-CPO.

    With it and the other settings of this section, the policies of the good set are on average within
    eps/2 + 2 (1 - gamma)^(-3/2) sqrt(mismatch * bias) of the optimum, and none violates a constraint by more than
    eta + eps. Probability: 1 - 2 delta with random search (Theorem_random_search_SICPO), 1 - delta with projected
    subgradient ascent (Theorem_PGA_SICPO).

    The theorems have 1 for the 4, but Lemma_reward_bound, which proves them, needs the 4, and gives the average with 2.
    """
    log_gap = math.log1p(-_discount(gamma))
    floor = math.log(4) - 1.5 * log_gap + (_log(policy.mismatch) + _log(policy.bias)) / 2
    value = _positive("eps", eps) + (math.exp(floor) if floor < LARGEST else math.inf)
    note = f"of which {value - eps:.4g} is the bias of the policy class" if policy.bias else ""
    return _bound(value, "discounted cost", "Lemma_reward_bound", note=note)


@checked(policy=PolicyClass)
def iterations_sicpo(policy: PolicyClass, *, gamma: float, eps: float) -> Bound:
    """Iterations T of SI-CPO with alpha = 1/sqrt(T), of the order of eps^-2 (1 - gamma)^-6.

    Half of eps in Lemma_reward_bound: the smallest T > 4 a^2 / eps^2, a = 4 log|A| / (1 - gamma) +
    2 beta W^2 / (1 - gamma)^3. The other half is for `sgd_steps_sicpo` and `horizon_sicpo`.

    The lemma takes the norm of the update as W / (1 - gamma) and its approximation error as that of the unscaled
    weights. This covers the algorithm as printed, which returns weights of norm W, and an update that scales them by
    1/(1 - gamma), as the text says.
    """
    value = _whole(_log_iterations_sicpo(policy, _discount(gamma), _positive("eps", eps)), strict=True)
    return _bound(value, "iterations", "Lemma_reward_bound")


@checked(policy=PolicyClass)
def learning_rate_sicpo(
    policy: PolicyClass, *, gamma: float, eps: float, iterations: SupportsFloat | None = None
) -> Bound:
    """The step alpha = 1/sqrt(T) of SI-CPO (Theorem_random_search_SICPO); T from `iterations_sicpo`, or as given."""
    log_t = _log_t(policy, gamma, eps, iterations)
    return _bound(math.exp(-log_t / 2), "step size", "Theorem_random_search_SICPO")


@checked(policy=PolicyClass)
def horizon_sicpo(policy: PolicyClass, *, gamma: float, eps: float) -> Bound:
    """The length H of the paths of SI-CPO, in steps.

    The smallest H with gamma^H / (1 - gamma) <= eps/4 (Lemma_WHP_Bound_Evaluation_Uniform_y) and
    4 gamma^H / (1 - gamma) (1/(1 - gamma) + W L_pi) <= e (Lemma_SGD_convergence), where 2 e = q^2 + 2 q sqrt(bias),
    q = eps (1 - gamma)^(3/2) / (8 sqrt(mismatch)): with as much for the error of SGD,
    4 (1 - gamma)^(-3/2) sqrt(mismatch (bias + 2 e)) is eps/2 more than without. (Lemma_reward_bound states H of the
    order of log(eta (1 - gamma) / gamma), which is negative for small eta; the theorems have the right order.)
    """
    gamma, log_eps = _discount(gamma), math.log(_positive("eps", eps))
    log_gap = math.log1p(-gamma)
    spread = _log_sum(-log_gap, math.log(policy.weight) + math.log(policy.lipschitz))
    target = min(log_eps, _log_excess(policy, log_gap, log_eps) - spread) + log_gap - math.log(4)
    steps = target / math.log(gamma) if gamma > 0 else 0.0
    return _bound(_whole(_log(max(0.0, steps))), "steps", "Lemma_SGD_convergence")


@checked(index=IndexSet, policy=PolicyClass)
def evaluation_paths_sicpo(
    policy: PolicyClass,
    index: IndexSet,
    *,
    gamma: float,
    eps: float,
    delta: float,
    iterations: SupportsFloat | None = None,
) -> Bound:
    """Paths K_eval of every evaluation in SI-CPO, of the order of eps^-2 (1 - gamma)^-2.

    The smallest K with which, in all T iterations and at all y in Y, the mean is within eps/4 of its expectation, but
    for a probability of delta/2 (Lemma_WHP_Bound_Evaluation_Uniform_y):

        (1 + sqrt(log(4 T / delta) + m log(1 + 4 diam(Y) L_y sqrt(2 K)))) / ((1 - gamma) sqrt(2 K)) <= eps/4.

    The lemma has diam(Y) where the covering number has the 1; with a small Y its logarithm would be negative.
    """
    log_gap, log_target = math.log1p(-_discount(gamma)), math.log(_positive("eps", eps)) - math.log(4)
    tests = math.log(4) + _log_t(policy, gamma, eps, iterations) - math.log(_probability("delta", delta))
    slope = math.log(4) + math.log(index.diameter) + math.log(index.lipschitz)

    def log_error(log_k: float) -> float:
        half = (math.log(2) + log_k) / 2
        return math.log1p(math.sqrt(tests + index.dimension * _log_sum(0.0, slope + half))) - log_gap - half

    value = _smallest(log_error, log_target)
    return _bound(value, "paths an iteration", "Lemma_WHP_Bound_Evaluation_Uniform_y")


@checked(policy=PolicyClass)
def sgd_steps_sicpo(
    policy: PolicyClass,
    *,
    gamma: float,
    eps: float,
    delta: float,
    iterations: SupportsFloat | None = None,
    constant: float = 1.0,
) -> Bound:
    """Steps K_sgd of stochastic gradient descent for every natural gradient in SI-CPO, up to a constant.

    The smallest K with C (4 L_pi^2 W + 8 L_pi / (1 - gamma))^2 / ((1 - gamma)^2 mu_F) log(2 T / delta) / K <= e
    (Lemma_SGD_convergence), with the e of `horizon_sicpo`. The theorems have K_sgd of the order of
    bias^-2 (1 - gamma)^-4, whatever eps: there SGD may err as much as the bias (for which bias^-1 is enough), at the
    price of a larger factor than 4 in `tolerance_sicpo`. Here its error vanishes with eps, and the bias may be 0.

    Parameters
    ----------
    constant
        C, a universal constant that the paper takes from elsewhere and does not give. K_sgd is proportional to it.
    """
    log_gap = math.log1p(-_discount(gamma))
    noise = _log_sum(
        math.log(4) + 2 * math.log(policy.lipschitz) + math.log(policy.weight),
        math.log(8) + math.log(policy.lipschitz) - log_gap,
    )
    tests = math.log(2) + _log_t(policy, gamma, eps, iterations) - math.log(_probability("delta", delta))
    scale = math.log(_positive("constant", constant)) + 2 * noise - 2 * log_gap - math.log(policy.fisher)
    value = _whole(scale + math.log(tests) - _log_excess(policy, log_gap, math.log(_positive("eps", eps))))
    note = f"with the paper's unknown universal constant taken as {constant:g}"
    return _bound(value, "steps an iteration", "Lemma_SGD_convergence", exact=False, note=note)


@checked(index=IndexSet, policy=PolicyClass)
def grid_size_sicpo(
    policy: PolicyClass,
    index: IndexSet,
    *,
    gamma: float,
    eps: float,
    delta: float,
    iterations: SupportsFloat | None = None,
) -> Bound:
    """Points M of every random search in SI-CPO, of the order of (diam(Y) / (eps (1 - gamma)))^m.

    Lemma_constraint_violation_random_search for accuracy eps/2: a point must fall within eps (1 - gamma) / (4 L_y) of a
    maximiser in every iteration, but for a probability of delta/(2 T):

        M = ceil(log(delta / (2 T)) / log(1 - p)),   p = (eps (1 - gamma) / (2 L_y))^m / vol(Y).

    The lemma divides by (1 - gamma)^m and has 2 T / delta in the logarithm, which would make M negative; its proof has
    both right, but takes the half-width of the box for its side, which loses a factor of 2^m.
    """
    log_gap, log_eps = math.log1p(-_discount(gamma)), math.log(_positive("eps", eps))
    log_failure = math.log(_probability("delta", delta)) - math.log(2) - _log_t(policy, gamma, eps, iterations)
    value = _grid_size(index, log_eps + log_gap - math.log(4) - math.log(index.lipschitz), log_failure)
    return _bound(value, "points", "Lemma_constraint_violation_random_search", note=REGULAR)


@checked(index=IndexSet)
def pga_steps_sicpo(index: IndexSet, *, gamma: float, eps: float) -> Bound:
    """Steps T_PGA of every projected subgradient ascent in SI-CPO, for c_y concave and u_y convex in y.

    Lemma_constraint_violation_PGA for accuracy eps/2: ceil(16 m diam(Y)^2 L_y^2 / (eps (1 - gamma))^2). The lemma lacks
    the m, for it takes the diameter in the sup norm where the Euclidean one is needed.
    """
    log_beta = math.log(2) + math.log(index.lipschitz) - math.log1p(-_discount(gamma))
    return _pga_steps(index, log_beta, eps, "Lemma_constraint_violation_PGA")


@checked(index=IndexSet, policy=PolicyClass)
def interactions_sicpo(
    policy: PolicyClass,
    index: IndexSet,
    *,
    gamma: float,
    eps: float,
    delta: float,
    iterations: SupportsFloat | None = None,
    constant: float = 1.0,
) -> Bound:
    """Steps in the environment that SI-CPO takes in all, up to the constant of `sgd_steps_sicpo`.

    Corollary_Sample_Complexity_SICPO: T H (K_eval + K_sgd) in order. Counted out: a step of SGD takes two paths of H
    and on average gamma / (1 - gamma) steps to draw (s, a), so T (H K_eval + K_sgd (2 H + gamma / (1 - gamma))). The
    powers of 1/(1 - gamma) and of 1/eps are higher than the corollary's where K_sgd is (see there).
    """
    paths = evaluation_paths_sicpo(policy, index, gamma=gamma, eps=eps, delta=delta, iterations=iterations)
    sgd = sgd_steps_sicpo(policy, gamma=gamma, eps=eps, delta=delta, iterations=iterations, constant=constant)
    rounds = iterations_sicpo(policy, gamma=gamma, eps=eps).value if iterations is None else _size(iterations)
    horizon = horizon_sicpo(policy, gamma=gamma, eps=eps).value
    value = rounds * (horizon * paths.value + sgd.value * (2 * horizon + gamma / (1 - gamma)))
    return _bound(value, "steps", "Corollary_Sample_Complexity_SICPO", exact=False, note=sgd.note)


# --- what the formulas share --------------------------------------------------------------------------------------


def _log_tests(states: int, actions: int) -> float:
    """log(2 |S|^2 |A|): the inequalities in the union bound of Theorem_Feasible."""
    return math.log(2) + 2 * math.log(states) + math.log(actions)


def _log_confidence(states: int, actions: int, delta: float) -> float:
    """log L, L = log(4/delta') with delta' = delta / (2 |S|^2 |A|)."""
    return math.log(math.log(4) + _log_tests(states, actions) - math.log(delta))


def _log_burn_in(states: int, actions: int, gap: float, delta: float) -> float:
    """The logarithm of max{36 L / (1 - gamma)^2, 4 L / (1 - gamma)^3}, which n_0 must exceed."""
    worst = max(math.log(36) - 2 * math.log(gap), math.log(4) - 3 * math.log(gap))
    return _log_confidence(states, actions, delta) + worst


def _samples_a_pair(states: int, actions: int, gap: float, eps: float, delta: float, sharp: bool) -> float:
    log_c = math.log(12 if sharp else 24)
    enough = 2 * (log_c - math.log(eps)) + _log_confidence(states, actions, delta) - 3 * math.log(gap)
    return max(_whole(enough), _whole(_log_burn_in(states, actions, gap, delta), strict=True))


def _error(
    states: int, actions: int, gap: float, n: float, delta: float, sharp: bool, trivial: float, theorem: str
) -> Bound:
    pairs = states * actions
    each = n // pairs if n >= pairs else 0.0
    if not each or math.log(each) <= _log_burn_in(states, actions, gap, delta):
        note = "too few samples for the theorem: this holds for every policy"
        return _bound(trivial, "discounted return", theorem, note=note)
    log_c = math.log(12 if sharp else 24)
    value = math.exp(log_c + (_log_confidence(states, actions, delta) - math.log(each) - 3 * math.log(gap)) / 2)
    note = "the theorem gives more: this holds for every policy" if value >= trivial else ""
    return _bound(min(value, trivial), "discounted return", theorem, note=note)


def _least_share(states: int, actions: int, nu_min: float) -> float:
    most = 1 / (_count("states", states) * _count("actions", actions))
    if not 0 < _real(nu_min) <= most * (1 + 1e-9):
        raise ModelError(
            f"`nu_min` must be the smallest probability of a pair, in (0, 1/(|S||A|)] = (0, {most:g}]; got "
            f"{shown(nu_min)}. Every pair must be drawn: leave out pairs that never occur, or count them in nu."
        )
    return float(nu_min)


def _log_beta(states: int, actions: int, index: IndexSet, gamma: float, sharp: bool) -> float:
    """The logarithm of the Lipschitz constant in y of the violation that SI-CRL maximises."""
    states, actions, gamma = _count("states", states), _count("actions", actions), _discount(gamma)
    factor = math.log(2 - gamma) if sharp else _log_tests(states, actions)
    return factor + math.log(index.lipschitz) - math.log1p(-gamma)


def _sides_sicrl(index: IndexSet, log_beta: float, eps: float) -> float:
    """ceil(2 diam(Y) beta / eps): how many points more than eps/(2 beta) apart fit along a side of Y."""
    return _whole(math.log(2) + math.log(index.diameter) + log_beta - math.log(_positive("eps", eps)))


def _grid_size(index: IndexSet, log_radius: float, log_failure: float) -> float:
    log_p = index.dimension * (math.log(2) + min(log_radius, _log(index.interior))) - index.log_volume
    if log_p >= 0:
        return 1.0
    p = math.exp(log_p)
    log_miss = math.log(-math.log1p(-p)) if p > 1e-300 else log_p  # -log(1 - p) is p when p is tiny
    return _whole(math.log(-log_failure) - log_miss)


def _pga_steps(index: IndexSet, log_beta: float, eps: float, theorem: str) -> Bound:
    log_distance = math.log(index.dimension) / 2 + math.log(index.diameter)
    log_steps = 2 * (log_distance + log_beta + math.log(2) - math.log(_positive("eps", eps)))
    return _bound(_whole(log_steps), "steps", theorem, note="if c_y is concave and u_y convex in y")


def _log_iterations_sicpo(policy: PolicyClass, gamma: float, eps: float) -> float:
    log_gap = math.log1p(-gamma)
    a = _log_sum(
        math.log(4) + _log(math.log(policy.actions)) - log_gap,
        math.log(2) + _log(policy.smoothness) + 2 * math.log(policy.weight) - 3 * log_gap,
    )
    return 2 * (math.log(2) + a - math.log(eps))


def _log_t(policy: PolicyClass, gamma: float, eps: float, iterations: SupportsFloat | None) -> float:
    """The logarithm of T, as given or as in `iterations_sicpo`."""
    if iterations is not None:
        return math.log(_size(iterations))
    log_t = _log_iterations_sicpo(policy, _discount(gamma), _positive("eps", eps))
    return math.log(_whole(log_t, strict=True)) if log_t < LARGEST else log_t


def _log_excess(policy: PolicyClass, log_gap: float, log_eps: float) -> float:
    """log e with 2 e = q^2 + 2 q sqrt(bias), q = eps (1 - gamma)^(3/2) / (8 sqrt(mismatch))."""
    log_q = log_eps + 1.5 * log_gap - math.log(8) - math.log(policy.mismatch) / 2
    return log_q + _log_sum(log_q, math.log(2) + _log(policy.bias) / 2) - math.log(2)


def _smallest(log_error: Callable[[float], float], log_target: float) -> float:
    """The smallest whole K at which an error that falls with log K is at most the target."""
    low, high = 0.0, 1.0
    if log_error(low) <= log_target:
        return 1.0
    while log_error(high) > log_target:
        low, high = high, 2 * high
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (low, middle) if log_error(middle) <= log_target else (middle, high)
    return _whole(high)


# --- logarithms, rounding and arguments ---------------------------------------------------------------------------


def _round(x: float) -> float:
    """The nearest whole number, as a float; infinity stays."""
    return float(round(x)) if math.isfinite(x) else x


def _log(x: float) -> float:
    return math.log(x) if x > 0 else -math.inf


def _log_sum(a: float, b: float) -> float:
    """log(e^a + e^b)."""
    high, low = max(a, b), min(a, b)
    return high if low == -math.inf else high + math.log1p(math.exp(low - high))


def _whole(log_x: float, *, strict: bool = False) -> float:
    """The smallest whole number from 1 on that is at least x (more than x if `strict`); inf if no float holds it."""
    if log_x >= LARGEST:
        return math.inf
    x = math.exp(log_x)
    nearest = _round(x)
    if math.isclose(x, nearest, rel_tol=SNAP):
        return max(1.0, nearest + strict)
    return max(1.0, float(math.ceil(x)))


def _power(whole: float, exponent: int) -> float:
    return math.inf if exponent * math.log(whole) >= LARGEST else float(int(whole) ** exponent)


def _times(x: float, *counts: int) -> float:
    log_product = _log(x) + sum(math.log(count) for count in counts)
    return math.inf if log_product >= LARGEST else x * math.prod(counts)


def _bound(value: float, units: str, theorem: str, exact: bool = True, note: str = "") -> Bound:
    if value == math.inf:
        note = "; ".join(filter(None, [note, "more than any float can hold"]))
    return Bound(value, units, theorem, exact, note)


def _count(name: str, value: SupportsIndex) -> int:
    if isinstance(value, NO_NUMBERS) or not isinstance(value, Integral):
        raise ModelError(f"`{name}` must be a whole number; got {shown(value)}. Give an int.")
    count = int(value)
    if count < 1:
        raise ModelError(f"`{name}` must be at least 1; got {count}. Give the number of elements or dimensions.")
    return count


def _real(value: object) -> float:
    """A number as it is, and nan for anything else, which is in no range."""
    return double(value) if not isinstance(value, NO_NUMBERS) and isinstance(value, Real) else math.nan


def _positive(name: str, value: float) -> float:
    if not 0 < _real(value) < math.inf:
        raise ModelError(f"`{name}` must be positive and finite; got {shown(value)}. Give a number above 0.")
    return float(value)


def _probability(name: str, value: float) -> float:
    if not 0 < _real(value) < 1:
        raise ModelError(f"`{name}` is a probability, strictly between 0 and 1; got {shown(value)}. Try 0.05.")
    return float(value)


def _discount(gamma: float) -> float:
    if not 0 <= _real(gamma) < 1:
        raise ModelError(f"`gamma` must satisfy 0 <= gamma < 1; got {shown(gamma)}. Discount the problem.")
    return float(gamma)


def _size(value: SupportsFloat) -> float:
    try:
        size = math.nan if isinstance(value, str) else float(value)
    except (TypeError, ValueError, OverflowError):
        size = math.nan
    if not 1 <= size < math.inf:
        raise ModelError(
            f"A number of samples or iterations must be finite and at least 1; got {shown(value)}. "
            "Ask for less accuracy."
        )
    return size
