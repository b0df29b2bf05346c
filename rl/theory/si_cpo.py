"""How SI-CPO is to be set."""

from __future__ import annotations

import math
from typing import SupportsFloat

from lsip.validation import checked

from .arguments import discount, positive, probability, size
from .assumptions import IndexSet, PolicyClass
from .bound import Bound, bounded
from .index_points import REGULAR, pga_steps, random_points
from .logarithms import LARGEST, log, log_sum, smallest, whole


@checked(policy=PolicyClass)
def tolerance_sicpo(policy: PolicyClass, *, gamma: float, eps: float) -> Bound:
    """The tolerance eta = eps + 4 (1 - gamma)^(-3/2) sqrt(mismatch * bias) of SI-CPO.

    With it and the other settings of this section, the policies of the good set are on average within
    eps/2 + 2 (1 - gamma)^(-3/2) sqrt(mismatch * bias) of the optimum, and none violates a constraint by more than
    eta + eps. Probability: 1 - 2 delta with random search (Theorem_random_search_SICPO), 1 - delta with projected
    subgradient ascent (Theorem_PGA_SICPO).

    The theorems have 1 for the 4, but Lemma_reward_bound, which proves them, needs the 4, and gives the average with 2.
    """
    log_gap, _ = _logs(gamma, eps)
    floor = math.log(4) - 1.5 * log_gap + (log(policy.mismatch) + log(policy.bias)) / 2
    value = eps + (math.exp(floor) if floor < LARGEST else math.inf)
    note = f"of which {value - eps:.4g} is the bias of the policy class" if policy.bias else ""
    return bounded(value, "discounted cost", "Lemma_reward_bound", note=note)


@checked(policy=PolicyClass)
def iterations_sicpo(policy: PolicyClass, *, gamma: float, eps: float) -> Bound:
    """Iterations T of SI-CPO with alpha = 1/sqrt(T), of the order of eps^-2 (1 - gamma)^-6.

    Half of eps in Lemma_reward_bound: the smallest T > 4 a^2 / eps^2, a = 4 log|A| / (1 - gamma) +
    2 beta W^2 / (1 - gamma)^3. The other half is for `sgd_steps_sicpo` and `horizon_sicpo`.

    The lemma takes the norm of the update as W / (1 - gamma) and its approximation error as that of the unscaled
    weights. This covers the algorithm as printed, which returns weights of norm W, and an update that scales them by
    1/(1 - gamma), as the text says.
    """
    value = whole(_log_iterations(policy, *_logs(gamma, eps)), strict=True)
    return bounded(value, "iterations", "Lemma_reward_bound")


@checked(policy=PolicyClass)
def learning_rate_sicpo(
    policy: PolicyClass, *, gamma: float, eps: float, iterations: SupportsFloat | None = None
) -> Bound:
    """The step alpha = 1/sqrt(T) of SI-CPO (Theorem_random_search_SICPO); T from `iterations_sicpo`, or as given."""
    log_t = _log_t(policy, gamma, eps, iterations)
    return bounded(math.exp(-log_t / 2), "step size", "Theorem_random_search_SICPO")


@checked(policy=PolicyClass)
def horizon_sicpo(policy: PolicyClass, *, gamma: float, eps: float) -> Bound:
    """The length H of the paths of SI-CPO, in steps.

    The smallest H with gamma^H / (1 - gamma) <= eps/4 (Lemma_WHP_Bound_Evaluation_Uniform_y) and
    4 gamma^H / (1 - gamma) (1/(1 - gamma) + W L_pi) <= e (Lemma_SGD_convergence), where 2 e = q^2 + 2 q sqrt(bias),
    q = eps (1 - gamma)^(3/2) / (8 sqrt(mismatch)): with as much for the error of SGD,
    4 (1 - gamma)^(-3/2) sqrt(mismatch (bias + 2 e)) is eps/2 more than without. (Lemma_reward_bound states H of the
    order of log(eta (1 - gamma) / gamma), which is negative for small eta; the theorems have the right order.)
    """
    log_gap, log_eps = _logs(gamma, eps)
    spread = log_sum(-log_gap, math.log(policy.weight) + math.log(policy.lipschitz))
    target = min(log_eps, _log_excess(policy, log_gap, log_eps) - spread) + log_gap - math.log(4)
    steps = target / math.log(gamma) if gamma > 0 else 0.0
    return bounded(whole(log(max(0.0, steps))), "steps", "Lemma_SGD_convergence")


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
    log_gap, log_eps = _logs(gamma, eps)
    tests = _log_t(policy, gamma, eps, iterations) - _log_share(delta, 4)
    slope = math.log(4) + math.log(index.diameter) + math.log(index.lipschitz)

    def log_error(log_k: float) -> float:
        half = (math.log(2) + log_k) / 2
        return math.log1p(math.sqrt(tests + index.dimension * log_sum(0.0, slope + half))) - log_gap - half

    value = smallest(log_error, log_eps - math.log(4))
    return bounded(value, "paths an iteration", "Lemma_WHP_Bound_Evaluation_Uniform_y")


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
    log_gap, log_eps, constant = *_logs(gamma, eps), positive("constant", constant)
    noise = log_sum(
        math.log(4) + 2 * math.log(policy.lipschitz) + math.log(policy.weight),
        math.log(8) + math.log(policy.lipschitz) - log_gap,
    )
    tests = _log_t(policy, gamma, eps, iterations) - _log_share(delta, 2)
    scale = math.log(constant) + 2 * noise - 2 * log_gap - math.log(policy.fisher)
    value = whole(scale + math.log(tests) - _log_excess(policy, log_gap, log_eps))
    note = f"with the paper's unknown universal constant taken as {constant:g}"
    return bounded(value, "steps an iteration", "Lemma_SGD_convergence", exact=False, note=note)


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
    log_gap, log_eps = _logs(gamma, eps)
    log_failure = _log_share(delta, 2) - _log_t(policy, gamma, eps, iterations)
    value = random_points(index, log_eps + log_gap - math.log(4) - math.log(index.lipschitz), log_failure)
    return bounded(value, "points", "Lemma_constraint_violation_random_search", note=REGULAR)


@checked(index=IndexSet)
def pga_steps_sicpo(index: IndexSet, *, gamma: float, eps: float) -> Bound:
    """Steps T_PGA of every projected subgradient ascent in SI-CPO, for c_y concave and u_y convex in y.

    Lemma_constraint_violation_PGA for accuracy eps/2: ceil(16 m diam(Y)^2 L_y^2 / (eps (1 - gamma))^2). The lemma lacks
    the m, for it takes the diameter in the sup norm where the Euclidean one is needed.
    """
    log_gap, _ = _logs(gamma, eps)
    log_beta = math.log(2) + math.log(index.lipschitz) - log_gap
    return pga_steps(index, log_beta, eps, "Lemma_constraint_violation_PGA")


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
    rounds = iterations_sicpo(policy, gamma=gamma, eps=eps).value if iterations is None else size(iterations)
    horizon = horizon_sicpo(policy, gamma=gamma, eps=eps).value
    value = rounds * (horizon * paths.value + sgd.value * (2 * horizon + gamma / (1 - gamma)))
    return bounded(value, "steps", "Corollary_Sample_Complexity_SICPO", exact=False, note=sgd.note)


def _logs(gamma: float, eps: float) -> tuple[float, float]:
    """log(1 - gamma) and log(eps)."""
    return math.log1p(-discount(gamma)), math.log(positive("eps", eps))


def _log_share(delta: float, parts: int) -> float:
    """The logarithm of one of so many equal parts of delta."""
    return math.log(probability("delta", delta)) - math.log(parts)


def _log_iterations(policy: PolicyClass, log_gap: float, log_eps: float) -> float:
    """The logarithm of the T of `iterations_sicpo`, before it is rounded up."""
    a = log_sum(
        math.log(4) + log(math.log(policy.actions)) - log_gap,
        math.log(2) + log(policy.smoothness) + 2 * math.log(policy.weight) - 3 * log_gap,
    )
    return 2 * (math.log(2) + a - log_eps)


def _log_t(policy: PolicyClass, gamma: float, eps: float, iterations: SupportsFloat | None) -> float:
    """The logarithm of T, as given or as in `iterations_sicpo`."""
    if iterations is not None:
        return math.log(size(iterations))
    log_t = _log_iterations(policy, *_logs(gamma, eps))
    return math.log(whole(log_t, strict=True)) if log_t < LARGEST else log_t


def _log_excess(policy: PolicyClass, log_gap: float, log_eps: float) -> float:
    """log e with 2 e = q^2 + 2 q sqrt(bias), q = eps (1 - gamma)^(3/2) / (8 sqrt(mismatch))."""
    log_q = log_eps + 1.5 * log_gap - math.log(8) - math.log(policy.mismatch) / 2
    return log_q + log_sum(log_q, math.log(2) + log(policy.bias) / 2) - math.log(2)
