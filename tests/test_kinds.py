"""Dominance, chance constraints for every threshold, CVaR for every level: against LPs that share no code with `rl`."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog

import lsip
import rl

S, A, GAMMA, STEPS = 5, 3, 0.9, 4
Y = lsip.Index("y", lsip.Interval(0, 4))
LEVEL = lsip.Index("a", lsip.Interval(0, 0.95))


def tables(seed):
    rng = np.random.default_rng(seed)
    P = rng.dirichlet(np.full(S, 0.5), (S, A))
    r = rng.random((S, A))
    return P, r, np.round(3.4 * r - rng.random((S, A)) / 2)


def flow(P, mu, kind):
    """Equalities of normalised occupancy measures over (t, s, a), or (s, a), and how many steps they stand for."""
    rows = P.reshape(S * A, S).T
    out = np.kron(np.eye(S), np.ones((1, A)))
    if kind == "discounted":
        return out - GAMMA * rows, (1 - GAMMA) * mu, 1 / (1 - GAMMA)
    if kind == "average":
        return np.vstack([out - rows, np.ones((1, S * A))]), np.append(np.zeros(S), 1.0), 1.0
    equal = np.kron(np.eye(STEPS), out) - np.kron(np.eye(STEPS, k=-1), rows)
    return equal, np.concatenate([mu, np.zeros((STEPS - 1) * S)]) / STEPS, float(STEPS)


# f and u at many points; P(c > y) counts with its limit from the left, P(c >= y), as u is continuous.
GRID = np.unique(np.concatenate([np.linspace(0, 4, 1_601), np.arange(5)]))
LEVELS = np.linspace(0, 0.95, 1_601)


KINDS = {
    "dominance": (
        lambda c, of: rl.dominance(c, 1.2 * np.exp(-Y / 2), Y, of=of),
        lambda c: np.maximum(c - GRID[:, None], 0),
        1.2 * np.exp(-GRID / 2),
    ),
    "chance": (
        lambda c, of: rl.chance(c, 1.05 - Y / 5, Y, of=of),
        lambda c: np.where(GRID[:, None] > 0, c >= GRID[:, None], c > 0),
        1.05 - GRID / 5,
    ),
    "cvar": (
        lambda c, of: rl.cvar(c, 1.5 + LEVEL, LEVEL, of=of),
        lambda c: np.maximum(c - (0.5 + 2 * LEVELS)[:, None], 0),  # t = u - (1 - a) u'
        (1 - LEVELS) ** 2,
    ),
}


def model(P, r, constraint, kind):
    gamma = GAMMA if kind == "discounted" else 1.0
    mdp = rl.Specification(r, constraint, None, gamma).with_transitions(P)
    return rl.finite_horizon(mdp, STEPS) if kind == "finite" else mdp


@pytest.mark.parametrize("kind", ["discounted", "average", "finite"])
@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("seed", [0, 1])
def test_the_cost_of_a_step_against_an_independent_lp(name, kind, seed):
    P, r, c = tables(seed)
    make, f, u = KINDS[name]
    equal, right, steps = flow(P, np.full(S, 1 / S), kind)
    repeats = equal.shape[1] // (S * A)
    rewards = np.tile(r.ravel(), repeats)
    best = linprog(-steps * rewards, np.tile(f(c.ravel()), repeats), u, equal, right)
    free = linprog(-steps * rewards, A_eq=equal, b_eq=right)
    mdp = model(P, r, make(c, "step"), kind)
    plan = rl.plan(mdp)
    assert plan.certified
    assert plan.lower <= plan.value <= plan.upper
    # The LP has finitely many rows, so that its optimum is above, by what they leave between them.
    assert -1e-6 <= -best.fun - plan.value <= 2e-4 * steps
    assert -free.fun > plan.value + 1e-3, "the constraint binds"
    assert mdp.worst_violation(plan).bound <= 0
    q = mdp.occupancy(plan.policy)
    assert (f(c.ravel()) @ q.reshape(repeats, S * A).sum(axis=0) <= u + 1e-9).all()
    assert rl.certify(mdp, plan).feasible
    assert plan.verify() is plan


def episodes_lp(P, r, c, f, u, steps):
    """The LP over (t, s, total): every pair flows into states of the next step, and the last into totals."""
    rows, columns = {}, []
    for t in range(steps):
        for s in range(S):
            for w in range(int(c.max()) * t + 1):
                rows[t, s, w] = len(rows)
                columns += [(t, s, w, a) for a in range(A)]
    equal, totals = np.zeros((len(rows), len(columns))), np.zeros((int(c.max()) * steps + 1, len(columns)))
    for j, (t, s, w, a) in enumerate(columns):
        equal[rows[t, s, w], j] += 1
        after = w + int(c[s, a])
        if t == steps - 1:
            totals[after, j] = 1
        else:
            for s2 in range(S):
                equal[rows[t + 1, s2, after], j] -= P[s, a, s2]
    right = np.array([1 / S if t == 0 else 0.0 for t, _, _ in rows])
    gains = np.array([r[s, a] for _, s, _, a in columns])
    found = linprog(-gains, f(np.arange(len(totals), dtype=float)) @ totals, u, equal, right)
    return -found.fun


@pytest.mark.parametrize(("name", "u", "low"), [("dominance", 3.0, 0.0), ("chance", 1.1, 0.5)])
def test_the_total_of_an_episode_against_an_independent_lp(name, u, low):
    P, r, c = tables(3)
    y = lsip.Index("y", lsip.Interval(low, 8))
    grid = np.unique(np.concatenate([np.linspace(low, 8, 1_501), np.arange(1, 9)]))
    if name == "dominance":
        constraint = rl.dominance(c, u * np.exp(-y / 4), y, of="episode")
        best = episodes_lp(P, r, c, lambda w: np.maximum(w - grid[:, None], 0), u * np.exp(-grid / 4), 3)
    else:
        constraint = rl.chance(c, u - y / 8, y, of="episode")
        best = episodes_lp(P, r, c, lambda w: w >= grid[:, None], u - grid / 8, 3)
    mdp = rl.Specification(r, constraint, None, 1.0).with_transitions(P)
    longer = rl.finite_horizon(mdp, 3)
    plan = rl.plan(longer)
    assert plan.certified
    assert -1e-6 <= best - plan.value <= 1e-3
    assert longer.worst_violation(plan).bound <= 0
    with pytest.raises(lsip.ModelError, match="finite_horizon"):
        rl.plan(mdp)


def test_totals_are_those_that_a_simulation_sees():
    P, r, c = tables(4)
    constraint = rl.dominance(c, 20.0, lsip.Interval(0, 9), of="episode")
    mdp = rl.Specification(r, constraint, None, 0.5).with_transitions(P)
    longer = rl.finite_horizon(mdp, 3)
    rng, n = np.random.default_rng(0), 40_000
    policy = rl.uniform_policy(longer.states, A)
    totals, states = np.zeros(n), rng.integers(S, size=n)
    rewards = np.zeros(n)
    for t in range(3):
        actions = rng.integers(A, size=n)
        totals += 0.5**t * c[states, actions]
        rewards += 0.5**t * r[states, actions]
        draws = (rng.random(n)[:, None] > P[states, actions].cumsum(axis=1)).sum(axis=1)
        states = np.minimum(draws, S - 1)
    seen = np.maximum(totals - 2.0, 0)
    exact = longer.cost_values(policy, [[2.0]])[0]
    assert abs(exact - seen.mean()) < 5 * seen.std() / np.sqrt(n)
    assert abs(longer.value(policy) - rewards.mean()) < 5 * rewards.std() / np.sqrt(n)


@pytest.mark.parametrize("threshold", [None, lambda a: 1.0 + a[:, 0]])
def test_cvar_is_below_its_bound_at_every_level(threshold):
    P, r, c = tables(5)
    made = rl.cvar(c, 2 + LEVEL, LEVEL, threshold=threshold)
    mdp = rl.Specification(r, made, None, GAMMA).with_transitions(P)
    q, costs = mdp.occupancy(rl.plan(mdp).policy).ravel(), c.ravel()
    for a in LEVELS[::50]:
        t = np.unique(costs)[:, None]  # the minimum over t is at one of the costs
        cvar = (t[:, 0] + np.maximum(costs - t, 0) @ q / (1 - a)).min()
        assert cvar <= 2 + a + 1e-9


def test_thresholds_of_a_benchmark_ask_for_no_more_than_its_cvar():
    """The theorem of `rl/kinds.py`, other direction: all CVaRs imply the rows with the default thresholds."""
    rng = np.random.default_rng(6)
    a = lsip.Index("a", lsip.Interval(0, 1))
    made, kept = None, 0
    for _ in range(300):
        c, q = rng.random(6) * 1.3, rng.dirichlet(np.ones(6))
        points = np.linspace(0, 0.999, 500)
        t = c[:, None]
        cvar = np.array([(t[:, 0] + np.maximum(c - t, 0) @ q / (1 - p)).min() for p in points])
        made = rl.cvar(c, (1 + a) / 2, a)  # of a uniform variable
        cost, bound = made.at(points[:, None], 6, 1)
        all_kept = bool((cvar <= (1 + points) / 2).all())
        kept += all_kept
        assert not all_kept or (cost @ q <= bound + 5e-3).all()
        assert (cost @ q > bound).any() or (cvar <= (1 + points) / 2 + 1e-12).all()
    assert kept > 10


def test_bounds_in_every_state_against_an_independent_lp():
    P, r, _ = tables(7)
    rng = np.random.default_rng(7)
    base, slope = rng.random((S, A)), rng.random((S, A))
    base[:, 0] = slope[:, 0] = 0  # one action is always allowed
    y = lsip.Index("y", lsip.Interval(0, 1))
    made = rl.statewise(base + slope * np.sin(3 * y), 0.4 + y**2 / 2, y)
    plan = rl.plan(rl.Specification(r, made, None, GAMMA).with_transitions(P))
    grid = np.linspace(0, 1, 501)
    excess = base + slope * np.sin(3 * grid)[:, None, None] - (0.4 + grid**2 / 2)[:, None, None]
    rows = np.concatenate([excess[:, s, None, :] * np.eye(S)[s][:, None] for s in range(S)]).reshape(-1, S * A)
    equal, right, steps = flow(P, np.full(S, 1 / S), "discounted")
    best = linprog(-steps * r.ravel(), rows, np.zeros(len(rows)), equal, right)
    assert plan.certified
    assert -1e-6 <= -best.fun - plan.value <= 1e-3
    assert (np.einsum("ysa,sa->ys", excess, plan.policy) <= 1e-6).all()


# ---- averages --------------------------------------------------------------------------------------------------------


def exact_stationary(chain):
    """By elimination in fractions; the last column gets what is missing."""
    n = len(chain)
    rows = [[Fraction(float(v)) for v in row[:-1]] for row in chain]
    rows = [[*row, 1 - sum(row)] for row in rows]
    m = [[rows[j][i] - (i == j) for j in range(n)] + [Fraction(0)] for i in range(n - 1)]
    m.append([Fraction(1)] * (n + 1))
    for k in range(n):
        p = next(i for i in range(k, n) if m[i][k])
        m[k], m[p] = m[p], m[k]
        for i in range(n):
            if i != k and m[i][k]:
                factor = m[i][k] / m[k][k]
                m[i] = [x - factor * z for x, z in zip(m[i], m[k], strict=True)]
    return [m[k][n] / m[k][k] for k in range(n)]


@pytest.mark.parametrize("seed", range(6))
def test_doubt_holds_for_averages(seed):
    rng = np.random.default_rng(seed)
    n = 6
    chain = rng.dirichlet(np.full(n, 0.3), n)
    if seed == 4:  # periodic
        chain = np.roll(np.eye(n), 1, axis=1)
    if seed == 5:  # two halves that hardly mix
        chain = np.kron(np.eye(2), np.full((3, 3), 1 / 3)) * (1 - 1e-6) + 1e-6 / n
    mdp = rl.SICMDP(chain[:, None, :], np.ones((n, 1)), np.ones(n), 2.0, lsip.Interval(0, 1), None, 1.0)
    pi = np.ones((n, 1))
    error = sum(abs(Fraction(float(v)) - e) for v, e in zip(mdp.visits(pi), exact_stationary(chain), strict=True))
    assert float(error) <= mdp.doubt(pi) < 1e-4


def test_averages_that_depend_on_the_start_are_never_certified():
    """Two closed states of which the first pays more and may be left: the start decides, where nobody leaves."""
    P = np.eye(2)[:, None, :].repeat(2, axis=1)
    mdp = rl.SICMDP(P, [1.0, 0.0], np.array([2.0, 0.0]), 1.0, lsip.Interval(0, 1), None, 1.0)
    assert not rl.plan(mdp).certified  # the program mixes both, which no start does
    with pytest.raises(lsip.ModelError, match="recurrent classes"):
        mdp.value([0, 0])
    P[0, 1] = [0.5, 0.5]
    left = rl.SICMDP(P, [1.0, 0.0], np.array([2.0, 0.0]), 1.0, lsip.Interval(0, 1), None, 1.0)
    assert left.value([1, 0]) == 0.0
    with pytest.raises(lsip.ModelError, match="no Q"):
        left.q_values([1, 0])


def test_learners_need_a_discount():
    P, r, c = tables(0)
    mdp = rl.Specification(r, rl.dominance(c, 2.0, lsip.Interval(0, 1)), None, 1.0).with_transitions(P)
    with pytest.raises(lsip.ModelError, match="discount below 1"):
        rl.si_crl(mdp.sample(per_pair=5, seed=0), mdp.specification, delta=0.1)
    with pytest.raises(lsip.ModelError, match="discount below 1"):
        rl.SICPO(mdp)
    with pytest.raises(lsip.ModelError, match='method="lp"'):
        rl.plan(mdp, method="decompose")


# ---- finite horizons -------------------------------------------------------------------------------------------------


def test_a_finite_horizon_is_the_sum_of_its_steps():
    P, r, c = tables(8)
    y = lsip.Index("y", lsip.Interval(0, 1))
    mdp = rl.SICMDP(P, r, c * (1 + y), 50.0, y, None, GAMMA)
    longer = rl.finite_horizon(mdp, STEPS)
    policy = np.random.default_rng(0).dirichlet(np.ones(A), (STEPS, S))
    d, value, cost = np.full(S, 1 / S), 0.0, 0.0
    for t in range(STEPS):
        pair = d[:, None] * policy[t]
        value, cost = value + GAMMA**t * (pair * r).sum(), cost + GAMMA**t * (pair * c).sum() * 1.5
        d = np.einsum("sa,sat->t", pair, P)
    flat = policy.reshape(-1, A)
    assert longer.value(flat) == pytest.approx(value, rel=1e-12)
    assert longer.cost_values(flat, [[0.5]])[0] == pytest.approx(cost, rel=1e-12)
    assert longer.occupancy(flat).sum() == pytest.approx(1.0, rel=1e-12)
    with pytest.raises(lsip.ModelError, match="ends already"):
        rl.finite_horizon(longer, 2)


def test_models_without_an_end_have_no_steps():
    P, r, c = tables(8)
    spec = rl.Specification(r, rl.dominance(c, 2.0, lsip.Interval(0, 1)), None, 1.0, steps=3.0)
    with pytest.raises(lsip.ModelError, match="seen again"):
        spec.with_transitions(P)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: rl.dominance([0, 1], -1.0, lsip.Interval(0, 2)), "negative"),
        (lambda: rl.dominance([0, 1], 1.0, lsip.Box([0, 0], [1, 1])), "interval"),
        (lambda: rl.dominance([0, 1], 1.0, "y"), "interval"),
        (lambda: rl.chance([0, np.nan], 1.0, Y), "finite"),
        (lambda: rl.chance([0, 1], 1.0, Y, gamma=0.9), "cannot be used"),
        (lambda: rl.chance(lambda o, a: o, 1.0, Y), "gamma=0.99"),
        (lambda: rl.chance(lambda o, a: o, 1.0, Y, gamma=0.9, steps=3), "gamma=0.99"),
        (lambda: rl.chance(lambda o, a: o, 1.0, Y, of="episode", steps=3), "RunningTotal"),
        (lambda: rl.chance([0, 1], 1.0, Y, of="total"), "step"),
        (lambda: rl.dominance([0, 1], 2 * LEVEL, Y), "no other"),
        (lambda: rl.dominance(lambda o: o, 1.0, Y, steps=1), "called as"),
        (lambda: rl.cvar([0, 1], 1.0, lsip.Interval(0, 2)), "within"),
        (lambda: rl.statewise([0, 1], 1.0, Y), "shape"),
        (lambda: rl.statewise([[0, 1]], [1.0, 2.0], Y), "one a state"),
        (lambda: rl.finite_horizon(3, 2), "known model"),
    ],
)
def test_what_is_wrong_is_said_shortly(call, words):
    with pytest.raises(lsip.ModelError, match=words) as caught:
        call()
    assert str(caught.value).count("\n") <= 2
