"""Decision problems as linear semi-infinite programs over occupancy measures.

A known model gives a program in q(s, a), the occupancy of state-action pairs:

    max q . r / (1 - gamma)   with   q . c_y / (1 - gamma) <= u_y for all y,
                                     sum_a q(s, a) = (1 - gamma) mu(s) + gamma sum_xb P(s | x, b) q(x, b).

A set of models, lo <= P'(s' | s, a) <= hi, gives an extended program in z(s, a, s') = q(s, a) P'(s' | s, a), which
chooses the model together with the policy. It is written sparsely: with z = lo q + w, every w(s, a, s') lies between 0
and (hi - lo) q(s, a), the constraints for all y involve q alone, and there is no w where the set leaves no choice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

import lsip
from lsip.expressions import Affine

from . import validation
from .dataset import OptimisticSet
from .sicmdp import SICMDP, Specification
from .transitions import horizon

Array = NDArray[np.float64]


@dataclass(frozen=True)
class OccupancyTuning:
    """How programs of occupancies are written.

    Parameters
    ----------
    ample
        Upper bounds are so many times what shares of visits can be: the room beyond lets exact flows be proven next to
        a share that is 1.
    """

    ample: float = 2.0


TUNING = OccupancyTuning()


@dataclass(frozen=True, eq=False)
class OccupancyProgram:
    """An LSIP over occupancies, and how to read q and P' from its solution."""

    problem: lsip.Problem
    specification: Specification
    models: OptimisticSet | None = None  # None for a known model
    form: str = "sparse"
    choices: NDArray[np.intp] | None = None  # where w has a column, in the flattened (S, A, S)

    def occupancy(self, x: Array) -> Array:
        """q(s, a), shape (S, A)."""
        shape = self.specification.r.shape
        if self.form == "literal":
            return x.reshape(*shape, shape[0]).sum(axis=2)
        return x[: self.specification.r.size].reshape(shape)

    def model(self, x: Array) -> Array | None:
        """P'(s' | s, a), shape (S, A, S): z / q, and any member of the set where q vanishes."""
        if self.models is None:
            return None
        q = self.occupancy(x)[:, :, None]
        lower, upper = self.models.lower, self.models.upper
        if self.form == "literal":
            z = x.reshape(lower.shape)
        else:
            w = np.zeros(lower.size)
            w[self.choices] = x[len(x) - len(w[self.choices]) :]
            z = lower * q + w.reshape(lower.shape)
        seen = q > 1e-12
        filled = fill(lower, upper, np.arange(lower.shape[2]))
        P = np.clip(np.where(seen, z / np.where(seen, q, 1.0), filled), lower, upper)
        return P / P.sum(axis=2, keepdims=True)


def fill(lower: Array, upper: Array, order: NDArray[np.intp]) -> Array:
    """The members of a box of distributions that put all they can on the outcomes that come first in `order`.

    `lower` and `upper` have shape (..., S); what `lower` leaves of the unit mass goes to outcome order[0] up to its
    upper bound, then to order[1], and so on.
    """
    room = (upper - lower)[..., order]
    left = np.maximum(1.0 - lower.sum(axis=-1, keepdims=True), 0.0)
    before = np.cumsum(room, axis=-1) - room
    P = np.array(lower)
    P[..., order] += np.clip(left - before, 0.0, room)
    return P


def most_share(spec: Specification, visits: float) -> float:
    """An upper bound of every share of visits, where there are at most so many from one start."""
    return TUNING.ample * spec.share * float(spec.mu.sum()) * visits


def planning_program(mdp: SICMDP) -> OccupancyProgram:
    """The LSIP of a known model."""
    spec = mdp.specification
    S, A, gamma, start = spec.states, spec.actions, spec.gamma, spec.start
    pairs, costs = S * A, spec.costs
    sums = sparse.kron(sparse.eye(S), np.ones((1, A)), format="csr")  # (S, S * A): sum over actions
    inflow = gamma * sparse.csr_matrix(mdp.rows.T)
    if spec.average:  # the flow into the last state follows from the others; occupancies sum to one instead
        inflow, start = sparse.vstack([inflow[:-1], sums[-1:] - np.ones((1, pairs))], format="csr"), np.eye(S)[-1]
    most = most_share(spec, mdp.horizon)
    x = lsip.Variable(pairs + (S if costs.by_state else 0), lower=0.0, upper=most, name="q")
    constraints: list[Any] = []
    if costs.by_state:  # the occupancy d of states has columns of its own, so that a row has S entries, not S * A
        eye = sparse.eye(S)
        constraints.append(sparse.hstack([sums, -eye], format="csr") @ x == np.zeros(S))
        constraints.append(sparse.hstack([-inflow, eye], format="csr") @ x == start)
        weighed = x[pairs : pairs + costs.size]
    else:
        constraints.append((sums - inflow) @ x == start)
        weighed = x[: costs.size]
    constraints.append(costs.on(weighed, 1 / spec.share))
    objective = lsip.maximize((spec.r.ravel() / spec.share) @ x[:pairs])
    return OccupancyProgram(lsip.Problem(objective, constraints, name="SICMDP"), spec)


def optimistic_program(spec: Specification, models: OptimisticSet, form: str = "sparse") -> OccupancyProgram:
    """The extended LSIP over a set of models; `form="literal"` writes it in z, as in the paper."""
    if not isinstance(models, OptimisticSet):
        raise lsip.ModelError(f"`models` is an rl.OptimisticSet; got {validation.shown(models)}.")
    validation.choice("form", form, ("sparse", "literal"))
    return _sparse_program(spec, models) if form == "sparse" else _literal_program(spec, models)


def _sparse_program(spec: Specification, models: OptimisticSet) -> OccupancyProgram:
    S, A, gamma = spec.states, spec.actions, spec.gamma
    pairs, costs = S * A, spec.costs
    lower = models.lower.reshape(pairs, S)
    room = models.upper.reshape(pairs, S) - lower
    left = np.where(room.any(axis=1), np.maximum(1.0 - lower.sum(axis=1), 0.0), 0.0)  # to be distributed
    pair, target = np.nonzero(np.minimum(room, left[:, None]) > 0)
    k = len(pair)
    eye, sums = sparse.eye(S), sparse.kron(sparse.eye(S), np.ones((1, A)), format="csr")
    one = np.ones(k)
    from_pair = sparse.csr_matrix((one, (pair, np.arange(k))), shape=(pairs, k))
    into = sparse.csr_matrix((one, (target, np.arange(k))), shape=(S, k))
    capped = np.flatnonzero(room[pair, target] < left[pair])  # elsewhere sum_s' w <= left q says it already
    cap = sparse.csr_matrix(
        (-room[pair[capped], target[capped]], (np.arange(len(capped)), pair[capped])), shape=(len(capped), pairs)
    )
    pick = sparse.csr_matrix((one[: len(capped)], (np.arange(len(capped)), capped)), shape=(len(capped), k))
    x = lsip.Variable(pairs + S + k, lower=0.0, upper=most_share(spec, horizon(gamma, lower, left)), name="z")
    constraints: list[Any] = [
        sparse.hstack([sums, -eye, sparse.csr_matrix((S, k))], format="csr") @ x == np.zeros(S),
        sparse.hstack([sparse.diags(-left), sparse.csr_matrix((pairs, S)), from_pair], format="csr") @ x
        == np.zeros(pairs),
        sparse.hstack([sparse.csr_matrix(-gamma * lower.T), eye, -gamma * into], format="csr") @ x
        == (1 - gamma) * spec.mu,
    ]
    if len(capped):
        constraints.append(
            sparse.hstack([cap, sparse.csr_matrix((len(capped), S)), pick], format="csr") @ x <= np.zeros(len(capped))
        )
    weighed = x[pairs : pairs + costs.size] if costs.by_state else x[: costs.size]
    constraints.append(costs.on(weighed, 1 / (1 - gamma)))
    objective = lsip.maximize((spec.r.ravel() / (1 - gamma)) @ x[:pairs])
    problem = lsip.Problem(objective, constraints, name="optimistic SICMDP")
    return OccupancyProgram(problem, spec, models, "sparse", (pair * S + target).astype(np.intp))


def _literal_program(spec: Specification, models: OptimisticSet) -> OccupancyProgram:
    S, A, gamma = spec.states, spec.actions, spec.gamma
    pairs, costs, size = S * A, spec.costs, S * A * S
    every = sparse.kron(sparse.eye(pairs), np.ones((1, S)), format="csr")  # q = every @ z
    spread = sparse.csr_matrix(every.T)
    upper = sparse.diags(models.upper.ravel()) @ spread @ every
    lower = sparse.diags(models.lower.ravel()) @ spread @ every
    out = sparse.kron(sparse.eye(S), np.ones((1, A * S)), format="csr")
    into = sparse.csr_matrix(np.tile(np.eye(S), pairs))
    # Whatever flows into a state flows out of it, so that probabilities of sum one are all that is chosen from.
    z = lsip.Variable(size, lower=0.0, upper=most_share(spec, horizon(gamma, np.ones((1, 1)))), name="z")
    eye = sparse.eye(size, format="csr")
    weighed = (out if costs.by_state else every)[: costs.size] @ z
    kept = np.setdiff1d(np.arange(size), _implied(models))
    constraints = [
        (eye - upper)[kept] @ z <= np.zeros(len(kept)),
        (lower - eye)[kept] @ z <= np.zeros(len(kept)),
        (out - gamma * into) @ z == (1 - gamma) * spec.mu,
        _expanded(spec, weighed),
    ]
    objective = lsip.maximize((np.repeat(spec.r.ravel(), S) / (1 - gamma)) @ z)
    return OccupancyProgram(
        lsip.Problem(objective, constraints, name="optimistic SICMDP in z"), spec, models, "literal"
    )


def _implied(models: OptimisticSet) -> NDArray[np.intp]:
    """Where z = p q follows from the other successors of a pair, because the set leaves that pair no choice.

    In floats, probabilities that sum to one up to rounding would contradict each other. The likeliest successor takes
    what the others leave.
    """
    S = models.lower.shape[2]
    lower, upper = models.lower.reshape(-1, S), models.upper.reshape(-1, S)
    fixed = np.flatnonzero((lower == upper).all(axis=1))
    return fixed * S + lower[fixed].argmax(axis=1)


def _expanded(spec: Specification, weighed: Affine) -> Any:
    """The constraint with its coefficients repeated for every z; it needs a cost that is an expression."""
    if spec.constraint.index is None:
        raise lsip.ModelError('The literal form needs a cost written as an index expression; use form="sparse".')
    return spec.costs.on(weighed, 1 / (1 - spec.gamma))
