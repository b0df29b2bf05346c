"""Models of the first so many steps of another: their states are (step, state), or (step, state, total so far).

Each state is seen once at most, so occupancy measures follow from what was seen a step before, and policies may depend
on the time. Totals are summed exactly, as fractions, and states with the same total are one.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

import lsip

from . import validation
from .constraint import SemiInfiniteCost
from .dataset import Matrix
from .given_cost import called
from .sicmdp import SICMDP, Specification, as_model

Array = NDArray[np.float64]
Key = tuple[int, Fraction]  # a state, and the total so far
MOST_STATES = 100_000  # of the model, each of which has a row of the program


def finite_horizon(mdp: SICMDP, steps: int) -> SICMDP:
    """The first so many steps of a model, with rewards and costs as they are discounted there (not, if gamma is 1).

    Parameters
    ----------
    mdp
        A model. Costs of steps count as in `mdp`, or by their mean over all steps (`rl.dominance(table, u, y)`).
        For a constraint on totals (`rl.dominance(table, u, y, of="episode")`), states also know the total so far, of
        costs discounted by gamma.
    steps
        How many.

    Returns
    -------
    SICMDP
        With states t * S + s, so that `plan.policy.reshape(steps, S, A)` are the policies of all steps. With totals,
        states are first the totals at the end, then (step, state, total) in ascending order.

    Examples
    --------
    Ten steps between two states, of which the second pays 1 and costs 1: by the end, a total above y may be as likely
    as (10 - y) / 10.

    >>> import lsip, rl
    >>> y = lsip.Index("y", lsip.Interval(0, 10))
    >>> P = np.array([[[1, 0], [0, 1]], [[1, 0], [0, 1]]])  # action a leads to state a
    >>> limit = rl.chance([0, 1], 1 - y / 10, y, of="episode")
    >>> mdp = rl.finite_horizon(rl.Specification([[0, 0], [1, 1]], limit, [1, 0], 1.0).with_transitions(P), steps=10)
    >>> best = rl.plan(mdp)
    >>> best.certified, round(best.value, 5)
    (True, 4.5)
    """
    mdp, count = as_model(mdp), validation.count("steps", steps)
    spec = mdp.specification
    if spec.steps is not None:
        raise lsip.ModelError("This model ends already: give rl.finite_horizon the model that goes on.")
    if spec.idle:
        raise lsip.ModelError("A finite horizon needs a cost for every state: `idle` must be 0.")
    if spec.constraint.total is not None:
        return _with_totals(mdp, count)
    S, A = spec.r.shape
    validation.fits("A finite horizon", count * S, A)
    ahead = sparse.diags(np.ones(count - 1), 1, shape=(count, count))
    P = sparse.kron(ahead, sparse.csr_matrix(mdp.rows), format="csr")
    weights = spec.gamma ** np.arange(count)
    longer = Specification(
        np.tile(spec.r, (count, 1)),
        _repeated(spec, count),
        np.concatenate([spec.mu, np.zeros((count - 1) * S)]),
        spec.gamma,
        steps=float(weights.sum()),
    )
    return longer.with_transitions(P)


def _repeated(spec: Specification, count: int) -> SemiInfiniteCost:
    """The same costs at every step."""
    c, shape = spec.constraint, (spec.states,) if spec.costs.by_state else spec.r.shape
    again = np.tile(np.arange(spec.states), count)

    def rows(y: lsip.Index | Array) -> Any:
        return called("cost(y)", c.cost, y).reshape(len(y), *shape)[:, again]

    cost = rows if c.index is None else c.cost[again]
    return SemiInfiniteCost(
        c.domain if c.index is None else c.index, cost, c.bound, lipschitz=c.lipschitz, range=c.range, mean=c.mean
    )


def _with_totals(mdp: SICMDP, count: int) -> SICMDP:
    """States (step, state, total so far), after those of the totals at the end."""
    spec = mdp.specification
    total = spec.constraint.total
    assert total is not None
    S, A = spec.r.shape
    table = np.broadcast_to(total.cost[:, None] if np.ndim(total.cost) == 1 else total.cost, (S, A))
    layers: list[list[Key]] = [[(int(s), Fraction(0)) for s in np.flatnonzero(spec.mu)]]
    moves: list[list[tuple[int, int, Key, float]]] = []  # from which of a layer, by which action, to what, how likely
    rows = sparse.csr_matrix(mdp.rows)
    for t in range(count):
        weight = Fraction(spec.gamma) ** t
        costs = [[weight * Fraction(float(c)) for c in row] for row in table]
        moves.append([])
        for i, (s, so_far) in enumerate(layers[t]):
            for a in range(A):
                key = so_far + costs[s][a]
                if t == count - 1:  # whatever state follows
                    moves[t].append((i, a, (0, key), 1.0))
                    continue
                row = rows[s * A + a]
                moves[t].extend((i, a, (int(s2), key), float(p)) for s2, p in zip(row.indices, row.data, strict=True))
        layers.append(sorted({key for _, _, key, _ in moves[t]}))
        if sum(map(len, layers)) > MOST_STATES:
            raise lsip.ModelError(
                f"After {t + 1} steps there are more than {MOST_STATES:,} states with different totals: round the "
                "costs to multiples of one number, or take fewer steps."
            )
    ends = layers.pop()
    firsts = np.cumsum([len(ends), *map(len, layers)])  # of each layer; that of the last is the number of states
    places = [
        {key: int(first) + i for i, key in enumerate(layer)} for first, layer in zip(firsts, layers, strict=False)
    ]
    places.append({key: i for i, key in enumerate(ends)})
    entries = [((int(firsts[t]) + i) * A + a, places[t + 1][key], p) for t in range(count) for i, a, key, p in moves[t]]
    at, to, p = (np.array(part) for part in zip(*entries, strict=True))
    states = int(firsts[-1])
    P: Matrix = sparse.csr_matrix((p.astype(float), (at, to)), shape=(states * A, states))
    r, mu = np.zeros((states, A)), np.zeros(states)
    for t, layer in enumerate(layers):
        r[firsts[t] : firsts[t + 1]] = spec.gamma**t * spec.r[[s for s, _ in layer]]
    mu[firsts[0] : firsts[1]] = spec.mu[spec.mu > 0]
    charged = total.of_values(np.array([float(key) for _, key in ends]))
    longer = Specification(r, charged, mu, 1.0, states - len(ends), steps=count + 1)
    return longer.with_transitions(P)
