"""Load Balancing: traffic is handed over between cell sites, and no place may be left with too little capacity.

State s tells how `units` of traffic are spread over K sites at positions p_k; l_k(s) is the share at site k. A site
serves a place x at the rate log(1 + snr g_k(x)) of Shannon's formula, where the signal fades with distance,
g_k(x) = 1 / (1 + |x - p_k|^2 / reach^2), for as much of its time as traffic leaves free. The capacity at x, relative to
that of idle sites, and the cost are

    capacity_x(s) = sum_k w_k(x) (1 - l_k(s)),   w_k(x) = log(1 + snr g_k(x)) / sum_j log(1 + snr g_j(x)),
    c_x(s) = 1 - capacity_x(s) = sum_k w_k(x) l_k(s)   in [0, 1].

Sites differ in price, so the cheapest way to run the network is to put all traffic on one site, which starves the
places around it. At every place x of the region, the discounted capacity must stay above a threshold

    t_x = (1 - slack (1 - D(x) / 2)) C_x,   that is   u_x = 1 / (1 - gamma) - t_x,

with C_x the discounted capacity under the uniform policy and D(x) = exp(-|x - m|^2 / (2 (region / 4)^2)) the demand
around a town with its centre m in the middle: far from it a share `slack` may be lost, in it half of that. The uniform
policy keeps every constraint with the margin slack (1 - D(x) / 2) C_x > 0, so the model is feasible by construction.
Places are the index set X = [0, region]^2.
"""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

import lsip
import rl
from rl import validation
from rl.validation import Seed

Array = NDArray[np.float64]
LARGEST = 1000  # states: the table of transition probabilities has S * A * S entries, most of them zero


class LoadBalancing(rl.SICMDP):
    """The model of `load_balancing`, which also knows its sites and what its states mean."""

    sites: Array  # (K, 2), positions
    prices: Array  # (K,), of serving all traffic for one step
    loads: Array  # (S, K), the share of the traffic at each site


def load_balancing(
    sites: int = 4,
    units: int = 3,
    gamma: float = 0.9,
    *,
    seed: Seed = 0,
    region: float = 1.0,
    reach: float = 0.1,
    snr: float = 100.0,
    slack: float = 0.05,
    wander: float = 0.1,
    handover: float = 0.05,
) -> LoadBalancing:
    """Load Balancing with sites and prices at random.

    Action k < K steers towards site k: one unit moves there from the most loaded other site. Action K keeps the
    traffic where it is. The reward is the negative of what the step costs, in [-1, 0]: the prices of the sites, by
    their shares of the traffic, and `handover` if the agent moves a unit.

    Parameters
    ----------
    sites, units, gamma
        K >= 2 sites, units of traffic, the discount factor: comb(units + K - 1, K - 1) states and K + 1 actions.
    seed
        An integer or a NumPy generator: positions and prices of the sites.
    region, reach
        Side of the square in which the sites lie, and which is X; distance at which a signal has lost half its power.
    snr
        Ratio of signal to noise next to a site.
    slack
        Which share of the uniform policy's capacity may be lost far from the town, in (0, 1). Small: little is saved.
    wander
        Probability that users move before the agent does: a random unit goes to a random other site instead.
    handover
        What it costs the agent to move a unit, in [0, 1); prices are uniform on [0, 1 - handover].

    Examples
    --------
    >>> import envs
    >>> mdp = envs.load_balancing(sites=3, units=2)
    >>> mdp
    SICMDP with 6 states, 4 actions, discount 0.9, and a constraint for every y in [0, 1]²
    >>> mdp.loads[0].tolist()
    [0.0, 0.0, 1.0]
    """
    sites, units = _check(sites, units)
    lengths = {"region": region, "reach": reach, "snr": snr}
    region, reach, snr = (validation.number(name, value, "positive") for name, value in lengths.items())
    slack = validation.number("slack", slack)
    if not 0 < slack < 1:
        raise lsip.ModelError(f"`slack` must be above 0, so that there is room, and below 1; got {slack}.")
    shares = {"wander": wander, "handover": handover, "gamma": gamma}
    wander, handover, gamma = (validation.number(name, share, "discount") for name, share in shares.items())
    rng = validation.generator(seed)
    positions = rng.uniform(0, region, size=(sites, 2))
    prices = rng.uniform(0, 1 - handover, size=sites)
    counts = _spreads(units, sites)
    P, moved = _transitions(counts, wander)
    loads = counts / units

    x = lsip.Index("x", lsip.Box([0, 0], [region, region]))
    rate = np.log1p(snr / (1 + ((x - positions) ** 2).sum(axis=-1) / (reach * reach)))
    cost = loads @ (rate / rate.sum())
    states = len(counts)
    mu = np.full(states, 1 / states)
    d = np.linalg.solve(np.eye(states) - gamma * P.mean(axis=1).T, mu)  # discounted visits, of total 1 / (1 - gamma)
    demand = np.exp(-((x - region / 2) ** 2).sum() / (2 * (region / 4) ** 2))
    threshold = (1 - slack * (1 - demand / 2)) * (1 / (1 - gamma) - d @ cost)
    r = -(loads @ prices)[:, None] - (1 - wander) * handover * moved
    mdp = LoadBalancing(P, r, cost, 1 / (1 - gamma) - threshold, x, mu, gamma)
    mdp.sites, mdp.prices, mdp.loads = positions, prices, loads
    return mdp


def _check(sites: int, units: int) -> tuple[int, int]:
    sites, units = validation.count("sites", sites, 2), validation.count("units", units)
    sure = min(units, sites - 1) >= LARGEST  # there is no need to count
    states = math.inf if sure else math.comb(units + sites - 1, sites - 1)
    if states > LARGEST:
        ways, many, places = map(validation.shown, (states, units, sites))
        raise lsip.ModelError(
            f"There are {'far too many' if sure else ways} ways to spread {many} units over {places} sites, and at "
            f"most {LARGEST} states are allowed; choose fewer units or sites."
        )
    return sites, units


def _spreads(units: int, sites: int) -> NDArray[np.int64]:
    """All ways to spread the units over the sites, in lexicographic order: shape (S, K)."""
    # Stars and bars: K - 1 bars among units + K - 1 places, with the units of a site between two of them.
    bars = np.array(list(combinations(range(units + sites - 1), sites - 1)), dtype=np.int64)
    ends = np.full((len(bars), 1), units + sites - 1)
    return np.diff(np.hstack([np.full((len(bars), 1), -1), bars, ends]), axis=1) - 1


def _transitions(counts: NDArray[np.int64], wander: float) -> tuple[Array, Array]:
    """P (S, A, S), and whether the agent moves a unit (S, A)."""
    states, sites = counts.shape
    number = {tuple(row): s for s, row in enumerate(counts.tolist())}
    unit = np.eye(sites, dtype=np.int64)
    P, moved = np.zeros((states, sites + 1, states)), np.zeros((states, sites + 1))
    for s, row in enumerate(counts):
        P[s, sites, s] += 1 - wander
        for k in range(sites):
            others = np.where(unit[k], 0, row)
            sources = np.flatnonzero((others == others.max()) & (others > 0))  # if several, each is as likely
            moved[s, k] = len(sources) > 0
            if not len(sources):
                P[s, k, s] += 1 - wander
            for j in np.flatnonzero(others):
                after = number[tuple((row - unit[j] + unit[k]).tolist())]
                P[s, k, after] += (1 - wander) * (j in sources) / len(sources)
                P[s, :, after] += wander * row[j] / row.sum() / (sites - 1)
    return P, moved
