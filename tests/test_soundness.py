"""Models that are made to be proven wrong: a claim that is certified must be true, and a forged one must be refused."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import lsip
from lsip.expressions.interval import Interval
from lsip.expressions.tape import Tape
from lsip.proof.certificate import Certificate, Support
from lsip.solution.verify import verify

UNIT, SQUARE = lsip.Interval(0, 1), lsip.Box([0, 0], [1, 1])


def least(bound, index, **options) -> lsip.Solution:
    """min x subject to x >= bound(y) for all y."""
    x = lsip.Variable(name="x", **options)
    return lsip.Problem(lsip.minimize(x), [lsip.forall(index, x >= bound)]).solve(verbose=False, time_limit=60)


def assert_true(solution: lsip.Solution, optimum: float) -> None:
    """Bounds hold; where it says OPTIMAL, to its tolerance."""
    assert solution.status not in (lsip.Status.INFEASIBLE, lsip.Status.UNBOUNDED)
    assert solution.lower <= optimum * (1 + 1e-12) + 1e-12
    assert solution.upper >= optimum * (1 - 1e-12) - 1e-12
    if solution.certified:
        assert solution.value == pytest.approx(optimum, rel=2e-8, abs=2e-8)
    solution.verify()


# ---- infeasible, unbounded -------------------------------------------------------------------------------------------

FAR = {
    "exp": (lambda t: np.exp(-t), lsip.Interval(0, 16), np.exp(16)),
    "pole": (lambda t: 1 / (t + 1e-7), UNIT, 1.0000001),
    "power": (lambda t: t**20, lsip.Interval(0.5, 2), 2.0**20),
    "higher power": (lambda t: t**30, lsip.Interval(0.5, 2), 2.0**30),
}


@pytest.mark.parametrize("lower", [-np.inf, 0.0])
@pytest.mark.parametrize("name", FAR)
def test_far_away_is_not_infeasible(name, lower):
    a, domain, optimum = FAR[name]
    x, t = lsip.Variable(name="x", lower=lower), lsip.Index("t", domain)
    solution = lsip.Problem(lsip.minimize(x), [lsip.forall(t, x * a(t) >= 1)]).solve(verbose=False)
    assert solution.certified or name == "higher power"  # over eighteen orders of magnitude
    assert_true(solution, optimum)


def test_a_sharp_peak_is_not_infeasible():
    p, y = lsip.Variable(name="p", lower=0), lsip.Index("y", SQUARE)
    problem = lsip.Problem(lsip.minimize(p), [lsip.forall(y, p / (1e-4 + (y**2).sum()) ** 2 >= 1)])
    assert_true(problem.solve(verbose=False), 2.0001**2)


@pytest.mark.parametrize("free", [True, False])
def test_infeasible_is_still_proven(free):
    z = lsip.Variable(2, name="z", lower=-np.inf if free else 0.0)
    t = lsip.Index("t", UNIT)
    row = z[0] * np.exp(t) + z[1] * np.sin(t)
    solution = lsip.Problem(lsip.minimize(z[0]), [lsip.forall(t, row >= 1), lsip.forall(t, row <= 0.9)])
    found = solution.solve(verbose=False)
    assert found.status is lsip.Status.INFEASIBLE
    assert found.certificate.radius > 1e10
    found.verify()


@pytest.mark.parametrize("lower", [-np.inf, 0.0])
def test_infeasible_is_still_proven_in_large_sparse_models(lower):
    x, t = lsip.Variable(1500, name="x", lower=lower), lsip.Index("t", UNIT)
    rows = [lsip.forall(t, x[0] >= 1 + 0.1 * np.sin(t)), x[1:] == x[:-1] * (0.999 / 0.9991)]
    problem = lsip.Problem(lsip.minimize(x[:20].sum()), [*rows, lsip.forall(t, x[15] <= 0.5 * t)])
    found = problem.solve(verbose=False)
    assert found.status is lsip.Status.INFEASIBLE
    assert found.certificate.radius > 1e9
    found.verify()


def test_a_combination_that_is_only_small_is_refused():
    x, t = lsip.Variable(name="x"), lsip.Index("t", lsip.Interval(0, 16))
    problem = lsip.Problem(lsip.minimize(x), [lsip.forall(t, x * np.exp(-t) >= 1)])
    forged = Certificate("infeasible", np.zeros(1), np.inf, np.inf, support=(Support(0, 0, np.array([16.0]), 1.0),))
    with pytest.raises(lsip.ProofError, match="does not contradict itself"):
        verify(problem.compile(), forged, lsip.Status.INFEASIBLE, 1e-8)


@pytest.mark.parametrize("small", [1e-12, 1e-9, 5e-8])
def test_small_coefficients_bound_a_direction(small):
    x, t = lsip.Variable(name="x"), lsip.Index("t", UNIT)
    problem = lsip.Problem(lsip.maximize(x), [lsip.forall(t, -x <= 1 + t), small * x <= 1])
    assert_true(problem.solve(verbose=False), 1 / small)
    forged = Certificate(
        "unbounded", np.zeros(1), -np.inf, 1e-9, violation=(-1.0,), direction=np.ones(1), drift=(-1.0,)
    )
    with pytest.raises(lsip.ProofError, match="direction is not proven"):
        verify(problem.compile(), forged, lsip.Status.UNBOUNDED, 1e-8)


def test_a_direction_that_leaks_is_none():
    x, t = lsip.Variable(name="x"), lsip.Index("t", UNIT)
    solution = lsip.Problem(lsip.maximize(x), [lsip.forall(t, x * (t - 1 + 1e-12) <= 1)]).solve(verbose=False)
    assert_true(solution, 1e12)


@pytest.mark.parametrize(("slope", "room"), [(1e12, 0.05), (1e6, 1e-8), (1e10, 1e-4)])
def test_a_direction_that_leaks_where_terms_are_small_is_none(slope, room):
    x, t = lsip.Variable(name="x"), lsip.Index("t", UNIT)
    problem = lsip.Problem(lsip.maximize(x), [lsip.forall(t, x * (slope * (t - 1) + room) <= 1)])
    assert_true(problem.solve(verbose=False), 1 / room)


@pytest.mark.parametrize(("rate", "tol"), [(30, 1e-8), (20, 1e-4), (33, 1e-8)])
def test_a_slope_is_not_charged_to_a_tiny_region(rate, tol):
    x, t = lsip.Variable(name="x"), lsip.Index("t", UNIT)
    problem = lsip.Problem(lsip.maximize(x), [lsip.forall(t, x * (1.05 - np.exp(rate * (1 - t))) <= 1)])
    solution = problem.solve(verbose=False, tol=tol)
    assert solution.lower <= 20 <= solution.upper
    assert solution.certified or rate == 33
    nothing = np.zeros(0, dtype=np.intp)
    empty = replace(solution.certificate, x=np.zeros(1), lower=-1e-9, upper=1e-9, support=(), basis=nothing)
    empty = replace(empty, balanced=nothing, violation=(-1.0,))
    with pytest.raises(lsip.ProofError, match="exceeds what the multipliers prove"):
        verify(problem.compile(), empty, lsip.Status.OPTIMAL, 1e-8)
    tiny = replace(empty, radius=10.0, units=np.full(1, 1e-12))
    with pytest.raises(lsip.ProofError, match="in a region only"):
        verify(problem.compile(), tiny, lsip.Status.OPTIMAL, 1e-8)


@pytest.mark.parametrize("extra", [False, True])
def test_unbounded_is_still_proven(extra):
    z, t = lsip.Variable(3, name="z"), lsip.Index("t", UNIT)
    rows = [lsip.forall(t, z[0] * t - z[1] * t + 0.3 * z[2] * np.sin(t) <= 1)]
    rows += [z[0] - z[1] <= 0.1, z[2] >= 0, z[2] <= 2] if extra else []
    solution = lsip.Problem(lsip.maximize(z[0]), rows).solve(verbose=False)
    assert solution.status is lsip.Status.UNBOUNDED
    solution.verify()


# ---- enclosures ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [0.1, 0.2, 0.7, -0.3])
def test_fractional_powers_whose_base_touches_zero(k):
    y, centre = lsip.Index("y", SQUARE), np.array([0.37, 0.4123])
    base = ((y - centre) ** 2).sum() + (1e-12 if k < 0 else 0.0)
    x = lsip.Variable(name="x")
    problem = lsip.Problem(lsip.minimize(x), [lsip.forall(y, x >= 1 - np.sign(k) * base**k)])
    at_centre = 1 - np.sign(k) * (0.0 if k > 0 else (1e-12) ** k)
    far = 1 - np.sign(k) * float(((np.ones(2) - centre) ** 2).sum()) ** k
    assert problem.worst_violation([0.9]).bound >= max(at_centre, far) - 0.9 - 1e-9


def test_a_product_with_an_unknown_end_is_unknown():
    half, whole = Interval(np.array([1.0]), np.array([np.nan])), Interval(np.array([2.0]), np.array([3.0]))
    for product in (half * whole, whole * half, half * 2.0, half * half):
        assert np.isnan(product.lo).all()
        assert np.isnan(product.hi).all()
    zero, any_size = Interval(np.array([0.0]), np.array([1.0])), Interval(np.array([1.0]), np.array([np.inf]))
    with np.errstate(invalid="ignore"):  # 0 * inf, as in every enclosure
        product = zero * any_size
    assert product.lo <= 0
    assert product.hi == np.inf


def test_overflow_proves_nothing():
    t = lsip.Index("t", lsip.Interval(720, 730))
    solution = least(1.8 - 2 * np.tanh(np.exp(t) * np.exp(-t)), t, lower=-1e6, upper=1e6)
    assert not solution.certified


def test_nested_where():
    t = lsip.Index("t", lsip.Interval(-1, 1))
    safe = np.where(t >= 0, np.sqrt(t), 0.0)
    spike = 5 * np.exp(-1e6 * (t + 0.637123) ** 2)
    assert_true(least(np.where(safe <= 0.5, spike, 0.0), t, lower=-100, upper=100), 5.0)
    assert_true(least(np.where(safe > 0.5, 0.0, spike), t, lower=-100, upper=100), 5.0)


@settings(deadline=None, max_examples=40)
@given(
    st.floats(-0.9, 0.9),
    st.sampled_from(["sqrt", "log", "arcsin"]),
    st.booleans(),
    st.floats(-0.5, 1.5),
    st.floats(-1, 1),
    st.floats(1e-9, 1),
)
def test_where_over_a_part_that_is_undefined(split, name, strict, level, corner, width):
    function = getattr(np, name)
    domain = lsip.Interval(-1, 1)
    t = lsip.Index("t", domain)
    inner = np.where(t > split, function(t * 1.5), 0.25)
    outer = np.where(inner > level, 3 + t, t) if strict else np.where(inner <= level, t, 3 + t)
    x = lsip.Variable(name="x")
    family = lsip.Problem(lsip.minimize(x), [lsip.forall(t, x >= outer)]).compile().families[0]
    low, high = np.array([[max(corner - width, -1)]]), np.array([[min(corner + width, 1)]])
    s = np.linspace(low[0, 0], high[0, 0], 41)
    with np.errstate(all="ignore"):
        parts = np.where(s > split, function(s * 1.5), 0.25)
        values = np.where(parts > level, 3 + s, s) if strict else np.where(parts <= level, s, 3 + s)
    found = Tape((outer,), (t,)).enclose(low, high)
    assert family.domain == domain
    assert not (found.lo[0, 0] > values.min() + 1e-12)
    assert not (found.hi[0, 0] < values.max() - 1e-12)


@pytest.mark.parametrize(
    ("domain", "make", "optimum"),
    [
        ((-1, 1.3), lambda t: np.where(np.sqrt(t) >= -1, 0.0, 5 * np.exp(-1e6 * (t + 0.005) ** 2)), 5.0),
        ((-0.15, 3), lambda t: np.where(np.sqrt(np.log(t + 0.19)) >= -0.71, 0.21 * t, t + 0.74), 1.55),
        ((-1, 1), lambda t: np.where(np.log(t) > 3, 1.0, np.where(np.arcsin(2 * t) <= 9, t, 2 - t)), 3.0),
    ],
)
def test_the_side_of_a_condition_that_is_undefined(domain, make, optimum):
    t = lsip.Index("t", lsip.Interval(*domain))
    solution = least(make(t), t, lower=-100, upper=100)
    assert_true(solution, optimum)
    x = lsip.Variable(name="x")
    problem = lsip.Problem(lsip.minimize(x), [lsip.forall(t, x >= make(t))])
    assert problem.worst_violation([0.5]).bound >= optimum - 0.5 - 1e-9


@pytest.mark.parametrize(
    "make",
    [
        lambda s: np.where(np.sin(1 / s) <= 2, 0.0, 5.0),
        lambda s: np.where(np.sin(s**-3) <= 2, 0.0, 5.0),
        lambda s: np.where(np.sinc(1 / s) <= 2, 0.0, 5.0),
        lambda s: np.where(s * np.sin(1 / s) <= 2, 0.0, 5.0),
    ],
)
def test_a_condition_at_a_pole(make):
    s, x = lsip.Index("s", UNIT), lsip.Variable(name="x")  # at 0, NumPy has nan, which is not below anything
    problem = lsip.Problem(lsip.minimize(x), [lsip.forall(s, x >= make(s))])
    assert problem.worst_violation([1.0]).bound >= 4


def test_a_condition_at_a_removable_end():
    """There, s log(s) is its limit 0 and not nan, as on both sides of every comparison."""
    s, x = lsip.Index("s", UNIT), lsip.Variable(name="x")
    problem = lsip.Problem(lsip.minimize(x), [lsip.forall(s, x >= np.where(s * np.log(s) <= 1, 0.0, 5.0))])
    assert problem.worst_violation([1.0]).value == -1.0
    problem = lsip.Problem(lsip.minimize(x), [lsip.forall(s, x >= np.where(s * np.log(s) < 0, 0.0, 5.0))])
    assert problem.worst_violation([1.0]).bound >= 4


def test_rounded_constants_stay_rounded():
    t = lsip.Index("t", lsip.Interval(500, 520))
    for base in (3.0, 1.5, 2.2):
        power = (np.full(3, base) ** (t * np.ones((2, 3))))[0, 0]
        found = Tape((power,), (t,)).enclose(np.array([[512.0]]), np.array([[512.0]]))
        numerator, denominator = base.as_integer_ratio()
        scaled = numerator**512 * 2**200 // denominator**512  # 2^200 times the exact power, rounded down
        low, high = (int(v) * 2**200 if v > 1e15 else int(v * 2.0**200) for v in (found.lo[0, 0], found.hi[0, 0]))
        assert low <= scaled <= high


def test_sparse_integers():
    y, matrix = lsip.Index("y", SQUARE), sparse.csr_matrix(np.full((2, 2), -128, dtype=np.int8))
    x = lsip.Variable(name="x")
    problem = lsip.Problem(lsip.minimize(x), [lsip.forall(y, x >= (np.sin(3 * y) @ matrix)[0])])
    assert problem.worst_violation([-0.5]).bound >= 0.5


def test_points_of_a_finite_set_are_never_merged():
    assert len(lsip.Finite([1e-13, 2e-13, 3e-13, 2e-13]).points) == 3
    k = lsip.Index("k", lsip.Finite([[1e14, 0.1], [1e14, 0.2]]))
    assert_true(least(25 * k[1], k), 5.0)


# ---- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda t, y: np.where(t == 1, 5.0, 0.0), "np.where takes <"),
        (lambda t, y: np.maximum.reduce(y, initial=10.0), "only `axis`"),
        (lambda t, y: np.add.reduce(y, where=[True, False]), "only `axis`"),
        (lambda t, y: np.inf * t, "infinite"),
        (lambda t, y: lsip.Interval(0, 1e200), "other units"),
        (lambda t, y: lsip.Ball([0, 0], 1e160), "other units"),
    ],
)
def test_what_would_be_misunderstood_is_refused(make, message):
    with pytest.raises(lsip.ModelError, match=message):
        make(lsip.Index("t", UNIT), lsip.Index("y", SQUARE))


def test_right_hand_sides_that_lp_solvers_take_for_infinite():
    x, t = lsip.Variable(name="x"), lsip.Index("t", UNIT)
    with pytest.raises(lsip.ModelError, match="Divide the constraint"):
        lsip.Problem(lsip.minimize(x), [lsip.forall(t, 1e300 * x >= 1e300 * np.exp(t))]).solve(verbose=False)


def test_harmless_extremes():
    t = lsip.Index("t", UNIT)
    y = lsip.Index("y", SQUARE)
    assert_true(least(np.clip(t, 0, np.inf), t), 1.0)
    assert_true(least((t ** np.array([1e9, 2.0])).sum(), t), 2.0)
    assert_true(least(y[:0].sum() + y[0], y), 1.0)


# ---- forged certificates ---------------------------------------------------------------------------------------------


def solved() -> lsip.Solution:
    t = lsip.Index("t", UNIT)
    return least(np.sin(t), t)


def test_a_forged_point_outside_the_index_set():
    y = lsip.Index("y", lsip.Box([0, 0], [1e9, 1]))
    honest = least(y[1] ** 2, y)
    atom = Support(0, 0, np.array([5e8, 1.9]), 1.0)
    forged = replace(honest.certificate, x=np.array([3.61]), lower=3.61, upper=3.61, support=(atom,))
    with pytest.raises(lsip.ProofError, match="is not in"):
        replace(honest, certificate=forged).verify()


def test_a_forged_pole():
    x, t = lsip.Variable(name="x", lower=0), lsip.Index("t", UNIT)
    problem = lsip.Problem(lsip.minimize(x), [lsip.forall(t, -x / np.sqrt(t) <= -1)])
    atom = Support(0, 0, np.zeros(1), 1.0)
    for kind, status in (("optimal", lsip.Status.ITERATION_LIMIT), ("infeasible", lsip.Status.INFEASIBLE)):
        forged = Certificate(kind, np.ones(1), 1e6, np.inf, np.inf, (atom,), violation=(np.inf,), units=np.ones(1))
        with pytest.raises(lsip.ProofError):
            verify(problem.compile(), forged, status, 1e-8)


def test_a_forged_point_hidden_by_a_large_variable():
    t, x = lsip.Index("t", UNIT), lsip.Variable(2, name="x")
    problem = lsip.Problem(lsip.minimize(x[0]), [lsip.forall(t, x[0] >= np.sin(t)), x[1] == 1e12])
    forged = Certificate("optimal", np.array([np.sin(1) - 0.05, 1e12]), -np.inf, np.inf, violation=(0.0,))
    with pytest.raises(lsip.ProofError, match="proven only"):
        verify(problem.compile(), forged, lsip.Status.STALLED, 1e-8)


def test_a_forged_tolerance():
    honest = solved()
    loose = replace(honest, tol=100.0, certificate=replace(honest.certificate, x=np.array([9.0]), upper=9.0 + 1e-14))
    loose = replace(loose, certificate=replace(loose.certificate, units=np.array([20.0])))
    with pytest.raises(lsip.ProofError):
        loose.verify(tol=1e-6)
    honest.verify(tol=1e-6)


# ---- decision processes ----------------------------------------------------------------------------------------------


def exact_value(P, policy, reward, mu, gamma) -> Fraction:
    """V(mu), solved in fractions."""
    S, A = policy.shape
    q = [[Fraction(float(v)) for v in row] for row in policy]
    rows = [
        [
            (Fraction(int(s == t)) - Fraction(gamma) * sum(q[s][a] * Fraction(float(P[s, a, t])) for a in range(A)))
            for t in range(S)
        ]
        + [sum(q[s][a] * Fraction(float(reward[s, a])) for a in range(A))]
        for s in range(S)
    ]
    for i in range(S):
        pivot = next(r for r in range(i, S) if rows[r][i])
        rows[i], rows[pivot] = rows[pivot], rows[i]
        rows[i] = [v / rows[i][i] for v in rows[i]]
        for r in range(S):
            if r != i:
                rows[r] = [v - rows[r][i] * w for v, w in zip(rows[r], rows[i], strict=True)]
    return sum((Fraction(float(m)) * row[-1] for m, row in zip(mu, rows, strict=True)), Fraction(0))


@pytest.mark.parametrize("k", [4, 10, 20, 30])
def test_violations_of_policies_are_bounded_in_exact_arithmetic(k):
    rl = pytest.importorskip("rl")
    y, gamma, (S, A) = lsip.Index("y", UNIT), 1 - 2.0**-k, (4, 2)
    rng = np.random.default_rng(k)
    for _ in range(10):
        P = rng.multinomial(64, np.ones(S) / S, size=(S, A)) / 64.0
        cost, policy = rng.integers(0, 16, (S, A)) / 16.0, rng.multinomial(8, [0.5, 0.5], size=S) / 8.0
        mu = np.full(S, 0.25)
        mdp = rl.SICMDP(P, cost, 0.5 * y + cost, 1.0 + 0 * y, y, mu, gamma)
        exact = exact_value(P, policy, cost + 0.5, mu, gamma) - 1  # costs are largest at y = 1
        worst = mdp.worst_violation(policy)
        assert Fraction(worst.bound) >= exact
        assert worst.bound <= float(exact) * (1 + 1e-4) + 1e-6


def test_transitions_that_sum_to_more_than_one():
    rl = pytest.importorskip("rl")
    y, more = lsip.Index("y", UNIT), 9e-10
    P = np.array([[[0.5, 0.5 + more]], [[0.5 + more, 0.5]]])
    with pytest.raises(lsip.ModelError, match="visits would grow without end"):
        rl.SICMDP(P, [[1.0], [1.0]], np.ones((2, 1)) * (1 + 0 * y), 5.0 + y, y, [0.5, 0.5], 1 - 1e-10)
    mdp = rl.SICMDP(P, [[1.0], [1.0]], np.ones((2, 1)) * (1 + 0 * y), 5.0 + y, y, [0.5, 0.5], 1 - 1e-8)
    assert not mdp.keeps(np.ones((2, 1)))
    assert mdp.worst_violation(np.ones((2, 1))).bound > 1e6


@pytest.mark.parametrize("gamma", [0.9, 0.999, 0.9999, 1 - 1e-8])
def test_a_plan_is_certified_for_its_policy(gamma):
    rl, envs = pytest.importorskip("rl"), pytest.importorskip("envs")
    mdp = envs.sewage(states=8, actions=4, gamma=gamma, seed=0)
    best = rl.plan(mdp)
    assert best.certified or gamma > 0.999
    assert best.lower <= best.upper
    if best.certified:
        assert mdp.worst_violation(best.policy).value <= 0
        assert best.lower <= mdp.value(best.policy) <= best.upper


@pytest.mark.parametrize("method", ["lp", "decompose"])
def test_a_forged_word_about_a_policy(method):
    rl, envs = pytest.importorskip("rl"), pytest.importorskip("envs")
    honest = rl.plan(envs.sewage(states=8, actions=4, gamma=0.9, seed=0), method=method)
    assert honest.certified
    honest.verify()
    with pytest.raises(lsip.ProofError):
        replace(honest, reached=honest.upper).verify()
    best = rl.plan(envs.sewage(states=8, actions=4, gamma=1 - 1e-8, seed=0), method=method)
    if not best.certified:
        for reached in (best.upper, None):
            with pytest.raises(lsip.ProofError):
                replace(best, reached=reached).verify()
